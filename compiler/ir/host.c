/* host.c — compile-time arrays: bytes, or a recipe that becomes bytes when somebody looks.
 *
 * A recipe stays a recipe as long as nobody reads elements: a weight of a hundred megabytes costs
 * nothing while a model is being built, and the session fills it in place. */
#include "compiler/ir/ir.h"

HostArray *host_new(Arena *a, DType t, Shape s)
{
	HostArray *h = NEW(a, HostArray);
	h->dtype = t;
	h->shape = s;
	h->init.kind = INIT_ZEROS;
	return h;
}

/* a size no memory has, for shapes whose size does not fit: allocating it reports out of memory */
size_t host_size(const HostArray *h)
{
	int64_t n = shape_nelems(h->shape);
	size_t bytes;
	if (n < 0 || __builtin_mul_overflow((size_t)n, dtype_size(h->dtype), &bytes)) return SIZE_MAX;
	return bytes;
}

void *host_bytes(Arena *a, HostArray *h, uint64_t seed)
{
	if (h->init.kind == INIT_DATA) return (void *)h->init.data;
	size_t bytes = host_size(h);
	void *p = arena_alloc(a, bytes ? bytes : 1);
	if (h->init.kind != INIT_ZEROS) rt_init_fill(&h->init, seed, h->dtype, p, (size_t)shape_nelems(h->shape));
	h->init.kind = INIT_DATA;
	h->init.data = p;
	return p;
}

HostArray *host_scalar(Arena *a, DType t, double x)
{
	HostArray *h = host_new(a, t, (Shape){ 0 });
	rt_set(t, host_bytes(a, h, 0), 0, x);
	return h;
}
