/* array_shape.c — host arrays put together and taken apart: transpose, concatenate, split, tile.
 *
 * Each is one walk over the result's elements that asks where the element comes from. */
#include "compiler/elab/eval.h"

#include <string.h>

/* result element at `pos` is element from[...] of the source; negative steps are not needed here */
typedef struct Walk { HostArray *from; int64_t start[MAX_RANK], stride[MAX_RANK], wrap[MAX_RANK]; } Walk;

static Walk walk_of(HostArray *a)
{
	Walk w = { .from = a };
	int64_t stride = 1;
	for (int k = a->shape.rank - 1; k >= 0; k--) {
		w.stride[k] = stride;
		w.wrap[k] = a->shape.dim[k];
		stride *= a->shape.dim[k];
	}
	return w;
}

/* writes elements of `shape` at to_start along `axis` of `to` */
static int run_walk(Elab *e, const Walk *w, Shape shape, HostArray *to, int axis, int64_t to_start, Span at)
{
	const char *src = array_bytes(e, w->from, at);
	char *dst = src ? array_bytes(e, to, at) : NULL;
	size_t size = dtype_size(to->dtype);
	if (!dst) return 0;
	for (int64_t i = 0, n = shape_nelems(shape); i < n; i++) {
		int64_t rest = i, off = 0, out = 0, out_stride = 1;
		for (int k = shape.rank - 1; k >= 0; k--) {
			int64_t pos = rest % shape.dim[k];
			rest /= shape.dim[k];
			off += (w->start[k] + pos) % w->wrap[k] * w->stride[k];
			out += (pos + (k == axis ? to_start : 0)) * out_stride;
			out_stride *= to->shape.dim[k];
		}
		memcpy(dst + (size_t)out * size, src + (size_t)off * size, size);
	}
	return 1;
}

static int axis_of(Elab *e, Value v, int rank, Span at, int *axis)
{
	int64_t k = 0;
	if (is_given(v) && !want_int(e, v, at, "`axis`", &k)) return 0;
	*axis = (int)(k < 0 ? k + rank : k);
	if (k >= -rank && k < rank) return 1;
	fail(e, E0104, at, "an array of %d dimensions has no axis %lld", rank, (long long)k);
	return 0;
}

/* --- transpose ------------------------------------------------------------------------------------------------------------ */
static int permutation(Elab *e, Value v, int rank, Span at, int *perm)
{
	int64_t *given;
	int n, seen = 0;
	for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
	if (!is_given(v)) return 1;
	if (!want_ints(e, v, at, "the permutation", &given, &n)) return 0;
	for (int i = 0; i < n && n == rank; i++) {
		perm[i] = (int)(given[i] < 0 ? given[i] + rank : given[i]);
		if (given[i] >= -rank && given[i] < rank) seen |= 1 << perm[i];
	}
	if (n == rank && seen == (1 << rank) - 1) return 1;
	fail(e, E0114, at, "a permutation names each of the %d axes once", rank);
	return 0;
}

Value array_transpose(Elab *e, HostArray *a, Value perm, Span at)
{
	Walk w = walk_of(a), t = w;
	Shape s = { .rank = a->shape.rank };
	int p[MAX_RANK];
	if (!permutation(e, perm, s.rank, at, p)) return v_error();
	for (int k = 0; k < s.rank; k++) {
		s.dim[k] = a->shape.dim[p[k]];
		t.stride[k] = w.stride[p[k]];
		t.wrap[k] = w.wrap[p[k]];
	}
	HostArray *r = array_new(e, a->dtype, s, at);
	return r && run_walk(e, &t, s, r, -1, 0, at) ? v_of(V_ARRAY, r) : v_error();
}

/* --- concatenate, split, tile ---------------------------------------------------------------------------------------------- */
static HostArray *joined(Elab *e, const List *parts, int axis, Span at)
{
	HostArray *first = parts->at[0].u.array;
	Shape s = first->shape;
	for (int i = 1; i < parts->n; i++) {
		HostArray *a = parts->at[i].u.array;
		Shape rest = a->shape;
		if (rest.rank != s.rank) break;
		s.dim[axis] += rest.dim[axis];
		rest.dim[axis] = s.dim[axis];
		if (shape_eq(rest, s) && a->dtype == first->dtype) continue;
		fail(e, E0114, at, "arrays %s and %s do not join along axis %d", spec_str(e->mem, first->dtype, first->shape), spec_str(e->mem, a->dtype, a->shape), axis);
		return NULL;
	}
	return array_new(e, first->dtype, s, at);
}

static Value do_concatenate(Elab *e, Call *c)
{
	List parts = { 0 };
	int axis;
	int64_t start = 0;
	if (!items_of(e, c->arg[0], c->at, &parts)) return v_error();
	if (!parts.n) return fail(e, E0114, c->at, "`concatenate` needs at least one array");
	for (int i = 0; i < parts.n; i++) {
		HostArray *a = array_of(e, parts.at[i], -1, 1, c->at);
		if (!a) return v_error();
		parts.at[i] = v_of(V_ARRAY, a);
		if (a->shape.rank != parts.at[0].u.array->shape.rank) return fail(e, E0114, c->at, "arrays of %d and %d dimensions do not join", parts.at[0].u.array->shape.rank, a->shape.rank);
	}
	if (!axis_of(e, c->arg[1], parts.at[0].u.array->shape.rank, c->at, &axis)) return v_error();
	HostArray *r = joined(e, &parts, axis, c->at);
	for (int i = 0; r && i < parts.n; i++) {
		HostArray *a = parts.at[i].u.array;
		Walk w = walk_of(a);
		if (!run_walk(e, &w, a->shape, r, axis, start, c->at)) return v_error();
		start += a->shape.dim[axis];
	}
	return r ? v_of(V_ARRAY, r) : v_error();
}

/* a number of equal parts, or a list of sizes */
Value array_split(Elab *e, HostArray *a, Value parts, Value axis_value, Span at)
{
	int64_t *sizes, count = 1, start = 0, total = 0;
	int n, axis, equal = parts.kind == V_INT;
	Value out = v_list(e->mem);
	if (!axis_of(e, axis_value, a->shape.rank, at, &axis)) return v_error();
	if (!equal && !want_ints(e, parts, at, "the sizes", &sizes, &n)) return v_error();
	if (equal) {
		count = parts.u.i;
		if (count < 1 || a->shape.dim[axis] % count) return fail(e, E0114, at, "%lld elements do not split into %lld equal parts", (long long)a->shape.dim[axis], (long long)count);
		n = (int)count;
	}
	for (int i = 0; i < n; i++) total += equal ? a->shape.dim[axis] / count : sizes[i] < 0 ? -total - 1 : sizes[i];
	if (total != a->shape.dim[axis]) return fail(e, E0114, at, "the sizes do not add up to %lld", (long long)a->shape.dim[axis]);
	for (int i = 0; i < n; i++) {
		Shape s = a->shape;
		Walk w = walk_of(a);
		s.dim[axis] = equal ? a->shape.dim[axis] / count : sizes[i];
		w.start[axis] = start;
		HostArray *r = array_new(e, a->dtype, s, at);
		if (!r || !run_walk(e, &w, s, r, -1, 0, at)) return v_error();
		list_push(e->mem, out.u.list, v_of(V_ARRAY, r));
		start += s.dim[axis];
	}
	return out;
}

static Value do_tile(Elab *e, Call *c)
{
	HostArray *a = array_of(e, c->arg[0], -1, 1, c->at);
	int64_t *times;
	int n;
	if (!a || !want_ints(e, c->arg[1], c->at, "how often to repeat", &times, &n)) return v_error();
	if (n != a->shape.rank) return fail(e, E0114, c->at, "an array of %d dimensions is tiled by as many numbers, not %d", a->shape.rank, n);
	Shape s = a->shape;
	Walk w = walk_of(a);
	for (int k = 0; k < n; k++)
		if (times[k] < 0 || __builtin_mul_overflow(s.dim[k], times[k], &s.dim[k])) return fail(e, E0114, c->at, "an array cannot be repeated %lld times", (long long)times[k]);
	HostArray *r = array_new(e, a->dtype, s, c->at);
	return r && run_walk(e, &w, s, r, -1, 0, c->at) ? v_of(V_ARRAY, r) : v_error();
}

const Builtin array_builtins[] = { { "concatenate", "arrays axis?", do_concatenate }, { "tile", "array times", do_tile }, { NULL, NULL, NULL } };
