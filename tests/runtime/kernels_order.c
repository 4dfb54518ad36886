/* kernels_order.c — topk and median of lines of every length class and type, with many equals, NaNs and both zeros: against sorting. */
#include "tests/runtime/kernels.h"

#include <math.h>

typedef struct Value { double v; int at, flip; } Value;

static double place(const Value *a) { return a->v != a->v ? INFINITY : a->v; }

/* best first: NaN above infinity, lower positions first among equals */
static int better(const void *p, const void *q)
{
	const Value *a = p, *b = q;
	int nan = (b->v != b->v) - (a->v != a->v), less = place(a) < place(b) ? 1 : place(a) > place(b) ? -1 : 0;
	int way = nan ? nan : less;
	return way ? (a->flip ? -way : way) : a->at - b->at;
}

/* few == 1: eleven different values, some of them special */
static void *line_of(DType t, long n, int few, unsigned long salt)
{
	static const double special[] = { 0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 2, 0.5, -0.5, 3 };
	int is_float = dtype_info[t].cls == 'f';
	char *x = rt_alloc(NULL, dtype_size(t) * (size_t)n);
	for (long i = 0; i < n; i++) {
		double u = noise((unsigned long)i + salt * 7919), v = few ? special[(int)((u + 1) * 5.49)] : u;
		rt_set(t, x, (size_t)i, is_float ? v : few ? floor((u + 1) * 5) : floor((u + 1) * 60));
	}
	return x;
}

static void one(TestLane *t, DType dt, long n, long k, int smallest, int few)
{
	enum { LINES = 3 };
	struct pxlrt_axis d = { dt, LINES, n, 1 };
	char *x = line_of(dt, LINES * n, few, (unsigned long)n), *y = rt_alloc(NULL, dtype_size(dt) * (size_t)(LINES * k));
	int *index = rt_alloc(NULL, sizeof *index * (size_t)(LINES * k)), right = 1, middle[LINES];
	Value *v = rt_alloc(NULL, sizeof *v * (size_t)n);
	char medians[LINES * 8];
	t->lane.rt->topk(&t->lane.pub, &d, k, smallest, x, y, index);
	t->lane.rt->median(&t->lane.pub, &d, x, medians, middle);
	for (long r = 0; r < LINES; r++) {
		for (long i = 0; i < n; i++) v[i] = (Value){ rt_get(dt, x, (size_t)(r * n + i)), (int)i, smallest };
		qsort(v, (size_t)n, sizeof *v, better);
		for (long i = 0; i < k; i++) {
			right &= index[r * k + i] == v[i].at;
			right &= !memcmp(at_elem(y, dt, r * k + i), at_elem(x, dt, r * n + v[i].at), dtype_size(dt));
		}
		long m = smallest ? (n - 1) / 2 : n - 1 - (n - 1) / 2;
		while (m > 0 && v[m - 1].at < v[m].at && !better(&(Value){ v[m - 1].v, 0, 0 }, &(Value){ v[m].v, 0, 0 })) m--;
		right &= middle[r] == v[m].at && !memcmp(medians + (size_t)r * dtype_size(dt), at_elem(x, dt, r * n + v[m].at), dtype_size(dt));
	}
	CHECK("", right);
	rt_free(NULL, x), rt_free(NULL, y), rt_free(NULL, index), rt_free(NULL, v);
}

int main(void)
{
	static const DType types[] = { DT_F32, DT_F16, DT_BF16, DT_F64, DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64 };
	static const long lengths[] = { 1, 5, 31, 32, 33, 64, 127, 128, 129, 512, 1000 };
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts) / 2;
	for (int i = 0; i < nrt; i++) {
		TestLane t;
		lane_open(&t, 1 + i, rts[i]);
		for (size_t d = 0; d < sizeof types / sizeof *types; d++)
			for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
				for (int how = 0; how < 4; how++) {
					long n = lengths[l], some = n < 40 ? (n + 1) / 2 : how & 1 ? 7 : 40;
					one(&t, types[d], n, n, how & 1, how >> 1);
					one(&t, types[d], n, some, how & 1, how >> 1);
				}
		one(&t, DT_F32, RT_SCRATCH_BYTES / 16, 200, 0, 0);      /* the longest that fits the scratch, and the shortest that does not */
		one(&t, DT_F32, RT_SCRATCH_BYTES / 16 + 1, 5, 0, 0);
		lane_close(&t);
	}
	return check_done();
}
