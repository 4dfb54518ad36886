/* array.c — host arrays: making them from values, elementwise operators, indexing, printing.
 *
 * Arrays are small data of the compile: everything here goes element by element through double, or through
 * int64 where both sides are integers, so that no integer is rounded. */
#include "compiler/elab/eval.h"

#include <math.h>
#include <string.h>

int shape_fits(Elab *e, DType t, Shape s, Span at)
{
	static const int64_t max_bytes = (int64_t)1 << 40;
	if (shape_legal(s) && shape_nelems(s) <= max_bytes / (int64_t)dtype_size(t)) return 1;
	fail(e, E0804, at, "%s is larger than any memory", spec_str(e->mem, t, s));
	return 0;
}

void *array_bytes(Elab *e, HostArray *a, Span at)
{
	if (a->init.kind != INIT_DATA && !may_take(e, host_size(a), at)) return NULL;
	return host_bytes(e->mem, a, e->o.seed);
}

HostArray *array_new(Elab *e, DType t, Shape s, Span at)
{
	if (!shape_fits(e, t, s, at) || !may_take(e, (uint64_t)shape_nelems(s) * dtype_size(t), at)) return NULL;
	HostArray *a = host_new(e->mem, t, s);
	host_bytes(e->mem, a, e->o.seed);
	return a;
}

static void set_int(DType t, void *p, int64_t i, int64_t x)
{
	switch (t) {
	case DT_I64: ((int64_t *)p)[i] = x; break;
	case DT_U64: ((uint64_t *)p)[i] = (uint64_t)x; break;
	default:     rt_set(t, p, (size_t)i, (double)x);
	}
}

/* --- from values --------------------------------------------------------------------------------------------------------- */
typedef struct Nest { Shape shape; int floats, ints, bools; } Nest;

static int measure(Elab *e, Value v, int depth, Nest *n, Span at)
{
	if (!step(e, at)) return 0;
	if (v.kind == V_BOOL) n->bools = 1;
	else if (v.kind == V_INT) n->ints = 1;
	else if (v.kind == V_FLOAT) n->floats = 1;
	if (is_number(v)) {
		if (n->shape.rank < 0) n->shape.rank = depth;
		if (n->shape.rank == depth) return 1;
		fail(e, E0206, at, "the lists have different depths");
		return 0;
	}
	List items = { 0 };
	if (!is_seq(v) && v.kind != V_RANGE && v.kind != V_ARRAY) {
		if (!is_error(v)) fail(e, E0206, at, "an array is made of numbers and lists of them, not of %s", v_describe(e, v));
		return 0;
	}
	if (depth >= MAX_RANK) {
		fail(e, E0804, at, "lists are nested more than %d deep", MAX_RANK);
		return 0;
	}
	if (!items_of(e, v, at, &items)) return 0;
	if (n->shape.dim[depth] >= 0 && n->shape.dim[depth] != items.n) {
		fail(e, E0206, at, "lists of %lld and %d items do not make an array", (long long)n->shape.dim[depth], items.n);
		return 0;
	}
	n->shape.dim[depth] = items.n;
	if (!items.n && n->shape.rank < 0) n->shape.rank = depth + 1;
	for (int i = 0; i < items.n; i++)
		if (!measure(e, items.at[i], depth + 1, n, at)) return 0;
	return 1;
}

static int has_sign(DType t) { return dtype_info[t].cls == 'i'; }

/* An integer type never takes what it cannot hold for something else; fractions are cut off. */
static int int_fits(DType t, int64_t x)
{
	int bits = 8 * (int)dtype_size(t) - 1;
	if (!dtype_is_int(t) || t == DT_I64) return 1;
	if (!has_sign(t)) return x >= 0 && (t == DT_U64 || x >> (bits + 1) == 0);
	return x >= -(INT64_C(1) << bits) && x < INT64_C(1) << bits;
}

static int float_fits(DType t, double x)
{
	double end = ldexp(1, 8 * (int)dtype_size(t) - has_sign(t));
	return !dtype_is_int(t) || (trunc(x) >= (has_sign(t) ? -end : 0) && x < end);
}

static int misfit(Elab *e, Value v, DType t, int chosen, Span at)
{
	Diag *d = fail_diag(e, E0108, at, "%s does not fit in %s", v_text(e, v), dtype_info[t].name);
	if (chosen) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "give a dtype: i64");
	return 0;
}

typedef struct Fill { DType t; void *p; int64_t i; int chosen; } Fill;      /* chosen: by us, not by the model */

static int fill(Elab *e, Value v, Fill *f, Span at)
{
	if (is_number(v)) {
		int64_t x = v.kind == V_INT ? v.u.i : v.u.b;
		if (v.kind == V_FLOAT ? !float_fits(f->t, v.u.f) : !int_fits(f->t, x)) return misfit(e, v, f->t, f->chosen, at);
		if (v.kind == V_FLOAT) rt_set(f->t, f->p, (size_t)f->i++, v.u.f);
		else set_int(f->t, f->p, f->i++, x);
		return 1;
	}
	List items = { 0 };
	if (!items_of(e, v, at, &items)) return 0;
	for (int k = 0; k < items.n; k++)
		if (!fill(e, items.at[k], f, at)) return 0;
	return 1;
}

static DType narrowed(DType t)
{
	return t == DT_F64 ? DT_F32 : t == DT_I64 ? DT_I32 : t == DT_U64 ? DT_U32 : t;
}

HostArray *array_cast(Elab *e, HostArray *a, DType t)
{
	if (a->dtype == t) return a;
	HostArray *b = array_new(e, t, a->shape, e->at);
	const void *from = b ? array_bytes(e, a, e->at) : NULL;
	if (!from) return NULL;
	int64_t n = shape_nelems(a->shape);
	rt_convert(t, host_bytes(e->mem, b, e->o.seed), a->dtype, from, (size_t)n);
	return b;
}

static int number_fits(Elab *e, double x, DType t, Span at) { return float_fits(t, x) || misfit(e, v_float(x), t, 0, at); }

static int element_fits(Elab *e, DType from, const void *p, size_t i, DType t, Span at)
{
	if (dtype_is_float(from)) return number_fits(e, rt_get(from, p, i), t, at);
	int64_t x = rt_get_int(from, p, i);
	if (from == DT_U64 && x < 0) return t == DT_U64 || number_fits(e, (double)(uint64_t)x, t, at);
	return int_fits(t, x) || misfit(e, v_int(x), t, 0, at);
}

static int array_fits(Elab *e, HostArray *a, DType t, Span at)
{
	const RtInit *r = &a->init;
	int64_t n = shape_nelems(a->shape);
	if (!dtype_is_int(t) || a->dtype == t || a->dtype == DT_BOOL || dtype_is_f8(a->dtype) || !n || r->kind == INIT_ZEROS) return 1;
	if (r->kind == INIT_FULL || r->kind == INIT_ARANGE)
		return number_fits(e, r->a, t, at) && (r->kind == INIT_FULL || number_fits(e, r->a + r->b * (double)(n - 1), t, at));
	const void *p = r->kind == INIT_DATA ? array_bytes(e, a, at) : NULL;
	for (int64_t i = 0; p && i < n; i++)
		if (!element_fits(e, a->dtype, p, (size_t)i, t, at)) return 0;
	return 1;
}

/* a recipe keeps its kind; only its dtype changes */
static HostArray *from_array(Elab *e, HostArray *a, int dtype, int narrow, Span at)
{
	DType t = dtype >= 0 ? (DType)dtype : narrow ? narrowed(a->dtype) : a->dtype;
	if (!array_fits(e, a, t, at)) return NULL;
	if (a->init.kind == INIT_DATA || dtype_is_float(a->dtype) != dtype_is_float(t)) return array_cast(e, a, t);
	HostArray *b = arena_dup(e->mem, a, sizeof *a);
	b->dtype = t;
	return b;
}

HostArray *array_of(Elab *e, Value v, int dtype, int narrow, Span at)
{
	if (v.kind == V_ARRAY) return from_array(e, v.u.array, dtype, narrow, at);
	Nest n = { .shape = { .rank = -1 } };
	for (int i = 0; i < MAX_RANK; i++) n.shape.dim[i] = -1;
	if (!measure(e, v, 0, &n, at)) return NULL;
	DType t = n.floats || !(n.ints || n.bools) ? (narrow ? DT_F32 : DT_F64) : n.ints ? (narrow ? DT_I32 : DT_I64) : DT_BOOL;
	if (dtype >= 0) t = (DType)dtype;
	HostArray *a = array_new(e, t, n.shape, at);
	Fill f = { .t = t, .chosen = dtype < 0 };
	if (a) f.p = host_bytes(e->mem, a, e->o.seed);
	return a && fill(e, v, &f, at) ? a : NULL;
}

/* --- elementwise --------------------------------------------------------------------------------------------------------- */
static DType promoted(AstOp op, DType a, DType b)
{
	DType t = a == b ? a : dtype_is_float(a) != dtype_is_float(b) ? (dtype_is_float(a) ? a : b) : dtype_size(a) >= dtype_size(b) ? a : b;
	if ((op == AO_DIV || op == AO_POW) && !dtype_is_float(t)) return op == AO_DIV ? DT_F32 : t;
	return t == DT_BOOL && op != AO_BITAND && op != AO_BITOR ? DT_I32 : t;
}

static int is_compare(AstOp op) { return op >= AO_EQ && op <= AO_GE; }

static double float_op(AstOp op, double x, double y)
{
	switch (op) {
	case AO_ADD: return x + y;
	case AO_SUB: return x - y;
	case AO_MUL: return x * y;
	case AO_DIV: return x / y;
	case AO_IDIV: return floor(x / y);
	case AO_MOD: { double r = fmod(x, y); return r != 0 && (r < 0) != (y < 0) ? r + y : r; }
	case AO_POW: return pow(x, y);
	case AO_EQ:  return x == y;
	case AO_NE:  return x != y;
	case AO_LT:  return x < y;
	case AO_LE:  return x <= y;
	case AO_GT:  return x > y;
	default:     return x >= y;
	}
}

/* element offset of result position i in an operand of shape s, broadcast to `to` */
static int64_t place(Shape s, Shape to, int64_t i)
{
	int64_t at = 0, stride = 1;
	for (int k = to.rank - 1; k >= 0; k--) {
		int64_t pos = i % to.dim[k];
		int m = k - (to.rank - s.rank);
		i /= to.dim[k];
		if (m < 0) continue;
		if (s.dim[m] != 1) at += pos * stride;
		stride *= s.dim[m];
	}
	return at;
}

static int int_element(Elab *e, AstOp op, int64_t x, int64_t y, Span at, int64_t *out)
{
	if (op == AO_EQ || op == AO_NE || is_compare(op)) {
		*out = (int64_t)(op == AO_EQ ? x == y : op == AO_NE ? x != y : op == AO_LT ? x < y : op == AO_LE ? x <= y : op == AO_GT ? x > y : x >= y);
		return 1;
	}
	Value v = eval_binary(e, op, v_int(x), v_int(y), at);
	*out = v.kind == V_INT ? v.u.i : v.kind == V_FLOAT ? (int64_t)v.u.f : 0;
	return !is_error(v);
}

/* an element as an int of the language, which has a sign */
static int to_int(Elab *e, DType t, const void *p, size_t i, Span at, int64_t *out)
{
	*out = rt_get_int(t, p, i);
	if (t != DT_U64 || *out >= 0) return 1;
	fail(e, E0108, at, "%llu does not fit in an int", (unsigned long long)*out);
	return 0;
}

static HostArray *operand(Elab *e, Value v, Value other, Span at)
{
	if (v.kind == V_ARRAY) return v.u.array;
	/* a number takes the array's dtype, unless that would lose its fraction */
	int t = other.kind == V_ARRAY && is_number(v) ? (int)other.u.array->dtype : -1;
	if (v.kind == V_FLOAT && t >= 0 && !dtype_is_float((DType)t)) t = DT_F32;
	if (v.kind == V_INT && t >= 0 && !int_fits((DType)t, v.u.i)) t = DT_I64;
	return array_of(e, v, t, 1, at);
}

Value array_binary(Elab *e, AstOp op, Value a, Value b, Span at)
{
	HostArray *x = operand(e, a, b, at), *y = x ? operand(e, b, a, at) : NULL;
	Shape s;
	if (!x || !y) return v_error();
	if (op == AO_MATMUL || op < AO_EQ) return fail(e, E0107, at, "`%s` does not apply to arrays", ast_op_text[op]);
	if (!shape_broadcast(x->shape, y->shape, &s))
		return fail(e, E0107, at, "arrays of shapes %s and %s do not broadcast", shape_str(e->mem, x->shape), shape_str(e->mem, y->shape));
	DType t = promoted(op, x->dtype, y->dtype);
	int ints = !dtype_is_float(x->dtype) && !dtype_is_float(y->dtype) && !dtype_is_f8(x->dtype) && !dtype_is_f8(y->dtype) && op != AO_DIV;
	if (!ints && (op == AO_BITAND || op == AO_BITOR)) return fail(e, E0107, at, "`%s` takes integers or bools", ast_op_text[op]);
	HostArray *r = array_new(e, is_compare(op) ? DT_BOOL : t, s, at);
	const void *px = r ? array_bytes(e, x, at) : NULL, *py = px ? array_bytes(e, y, at) : NULL;
	if (!py) return v_error();
	void *pr = host_bytes(e->mem, r, e->o.seed);
	int same_bits = x->dtype == y->dtype && (op == AO_EQ || op == AO_NE);
	for (int64_t i = 0, n = shape_nelems(s), k, p, q; i < n; i++) {
		size_t ix = (size_t)place(x->shape, s, i), iy = (size_t)place(y->shape, s, i);
		if (!ints) {
			rt_set(r->dtype, pr, (size_t)i, float_op(op, rt_get(x->dtype, px, ix), rt_get(y->dtype, py, iy)));
			continue;
		}
		if (same_bits) p = rt_get_int(x->dtype, px, ix), q = rt_get_int(y->dtype, py, iy);
		else if (!to_int(e, x->dtype, px, ix, at, &p) || !to_int(e, y->dtype, py, iy, at, &q)) return v_error();
		if (!int_element(e, op, p, q, at, &k)) return v_error();
		set_int(r->dtype, pr, i, k);
	}
	return v_of(V_ARRAY, r);
}

Value array_unary(Elab *e, AstOp op, HostArray *a, Span at)
{
	if (op == AO_NEG) return array_binary(e, AO_SUB, v_int(0), v_of(V_ARRAY, a), at);
	if (a->dtype == DT_BOOL) return array_binary(e, AO_EQ, v_of(V_ARRAY, a), v_bool(0), at);
	return fail(e, E0107, at, "unary `%s` does not apply to this array", ast_op_text[op]);
}

/* --- indexing ------------------------------------------------------------------------------------------------------------- */
typedef struct Pick { int64_t start, step, n; int drop; } Pick;

static int pick_axis(Elab *e, Value key, int64_t d, Span at, Pick *p)
{
	*p = (Pick){ 0, 1, d, 0 };
	if (key.kind == V_INT) {
		int64_t i = key.u.i < 0 ? key.u.i + d : key.u.i;
		*p = (Pick){ i, 1, 1, 1 };
		if (i >= 0 && i < d) return 1;
		fail(e, E0104, at, "index %lld is out of range for a dimension of %lld", (long long)key.u.i, (long long)d);
		return 0;
	}
	if (!is_slice(key)) return want_int(e, key, at, "an index of an array", &p->start);
	Value all = v_list(e->mem);              /* slice 0..d as a list does */
	for (int64_t i = 0; i < d; i++) list_push(e->mem, all.u.list, v_int(i));
	Value got = eval_index(e, all, &key, 1, at);
	if (is_error(got)) return 0;
	const List *l = got.u.list;
	*p = (Pick){ l->n ? l->at[0].u.i : 0, l->n > 1 ? l->at[1].u.i - l->at[0].u.i : 1, l->n, 0 };
	return 1;
}

Value array_index(Elab *e, HostArray *a, Value *subs, int n, Span at)
{
	Pick pick[MAX_RANK];
	Shape full = { 0 }, s = { 0 };
	if (n > a->shape.rank) return fail(e, E0104, at, "%d indices for an array of %d dimensions", n, a->shape.rank);
	for (int k = 0; k < a->shape.rank; k++) {
		if (k >= n) pick[k] = (Pick){ 0, 1, a->shape.dim[k], 0 };
		else if (!pick_axis(e, subs[k], a->shape.dim[k], at, &pick[k])) return v_error();
		full.dim[full.rank++] = pick[k].n;
		if (!pick[k].drop) s.dim[s.rank++] = pick[k].n;
	}
	HostArray *r = array_new(e, a->dtype, s, at);
	const char *from = r ? array_bytes(e, a, at) : NULL;
	if (!from) return v_error();
	char *to = host_bytes(e->mem, r, e->o.seed);
	size_t size = dtype_size(a->dtype);
	for (int64_t i = 0, count = shape_nelems(s); i < count; i++) {
		int64_t rest = i, off = 0, stride = 1;
		for (int k = full.rank - 1; k >= 0; k--) {
			off += (pick[k].start + rest % full.dim[k] * pick[k].step) * stride;
			rest /= full.dim[k];
			stride *= a->shape.dim[k];
		}
		memcpy(to + (size_t)i * size, from + (size_t)off * size, size);
	}
	if (s.rank) return v_of(V_ARRAY, r);
	if (a->dtype == DT_BOOL) return v_bool(to[0] != 0);
	if (dtype_is_float(a->dtype)) return v_float(rt_get(a->dtype, to, 0));
	int64_t x;
	return to_int(e, a->dtype, to, 0, at, &x) ? v_int(x) : v_error();
}

/* --- printing: nested brackets; long arrays show their ends -------------------------------------------------------------- */
static void show_element(const HostArray *a, const void *p, int64_t i, Buf *out)
{
	if (a->dtype == DT_BOOL) buf_puts(out, rt_get_int(a->dtype, p, (size_t)i) ? "true" : "false");
	else if (dtype_is_float(a->dtype) || dtype_is_f8(a->dtype)) {
		double x = rt_get(a->dtype, p, (size_t)i);
		size_t was = out->n;
		if (a->dtype == DT_F64) buf_float(out, x);
		else buf_printf(out, "%.7g", x);
		if (!strpbrk(out->s + was, ".en")) buf_puts(out, ".0");
	} else if (a->dtype == DT_U64) buf_printf(out, "%llu", (unsigned long long)rt_get_int(a->dtype, p, (size_t)i));
	else buf_printf(out, "%lld", (long long)rt_get_int(a->dtype, p, (size_t)i));
}

static void show_axis(const HostArray *a, const void *p, int axis, int64_t at, Buf *out)
{
	if (axis == a->shape.rank) {
		show_element(a, p, at, out);
		return;
	}
	int64_t n = a->shape.dim[axis], stride = 1;
	for (int k = axis + 1; k < a->shape.rank; k++) stride *= a->shape.dim[k];
	buf_putc(out, '[');
	for (int64_t i = 0; i < n; i++) {
		if (i) buf_puts(out, ", ");
		if (n > 12 && i == 3) {
			buf_puts(out, "..., ");
			i = n - 3;
		}
		show_axis(a, p, axis + 1, at + i * stride, out);
	}
	buf_putc(out, ']');
}

void array_show(Elab *e, HostArray *a, Buf *out)
{
	const void *p = array_bytes(e, a, e->at);
	if (p) show_axis(a, p, 0, 0, out);
}
