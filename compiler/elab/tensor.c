/* tensor.c — tensors in expressions: operators, indexing, properties.  Everything becomes ops. */
#include "compiler/elab/eval.h"

#include <string.h>

static const char *const binary_op[AO_COUNT] = {
	[AO_EQ] = "equal", [AO_NE] = "not_equal", [AO_LT] = "less", [AO_LE] = "less_equal", [AO_GT] = "greater", [AO_GE] = "greater_equal",
	[AO_BITOR] = "logical_or", [AO_BITAND] = "logical_and", [AO_ADD] = "add", [AO_SUB] = "sub", [AO_MUL] = "mul", [AO_DIV] = "div",
	[AO_MOD] = "fmod", [AO_MATMUL] = "matmul", [AO_POW] = "pow",
};

static int may_join(Value v) { return v.kind == V_TENSOR || is_number(v) || is_seq(v) || v.kind == V_ARRAY; }

Value tensor_binary(Elab *e, AstOp op, Value a, Value b, Span at)
{
	Span was = e->b.at;
	if (!binary_op[op] || !may_join(a) || !may_join(b))
		return fail(e, E0107, at, "`%s` does not apply to %s and %s", ast_op_text[op], v_describe(e, a), v_describe(e, b));
	Value v = op_by_name(e, binary_op[op], at, 2, a, b);
	e->b.at = was;
	return v;
}

Value tensor_unary(Elab *e, AstOp op, Value a, Span at)
{
	if (op == AO_NEG) return op_by_name(e, "negate", at, 1, a);
	if (op == AO_INVERT) return op_by_name(e, "logical_not", at, 1, a);
	return fail(e, E0107, at, "`%s` does not apply to a tensor", ast_op_text[op]);
}

/* --- indexing: ints and slices become one slice, a subsample where steps ask for it, and a reshape that drops axes -------- */
typedef struct Slices { Value start, stop, step, axis, stride; int strided, drops; Shape kept; } Slices;

static int add_slice(Elab *e, Slices *s, int axis, Value lo, Value hi, int64_t by)
{
	list_push(e->mem, s->start.u.list, lo);
	list_push(e->mem, s->stop.u.list, hi);
	list_push(e->mem, s->step.u.list, v_int(by < 0 ? -1 : 1));
	list_push(e->mem, s->axis.u.list, v_int(axis));
	return 1;
}

static int index_int(Elab *e, Slices *s, const Tensor *t, int axis, int64_t i, Span at)
{
	int64_t d = t->spec.shape.dim[axis], pos = i < 0 ? i + d : i;
	if (pos < 0 || pos >= d) {
		fail(e, E0104, at, "index %lld is out of range for axis %d of %s", (long long)i, axis, v_describe(e, v_of(V_TENSOR, (void *)(uintptr_t)t)));
		return 0;
	}
	s->drops = 1;
	return add_slice(e, s, axis, v_int(pos), v_int(pos + 1), 1);
}

static int index_slice(Elab *e, Slices *s, int axis, Value key, Span at)
{
	const Value *p = key.u.list->at;
	int64_t by = 1;
	for (int i = 0; i < 2; i++) {
		int64_t bound;
		if (p[i].kind != V_NONE && !want_int(e, p[i], at, "a bound of a slice", &bound)) return 0;
	}
	if (p[2].kind != V_NONE && !want_int(e, p[2], at, "the step of a slice", &by)) return 0;
	if (by == 0 || by == INT64_MIN) {
		fail(e, E0114, at, "the step of a slice must not be %s", by ? "so large" : "zero");
		return 0;
	}
	s->stride.u.list->at[axis] = v_int(by < 0 ? -by : by);
	s->strided |= by > 1 || by < -1;
	if (p[0].kind == V_NONE && p[1].kind == V_NONE && by > 0) return 1;
	return add_slice(e, s, axis, p[0], p[1], by);
}

static Value apply_slices(Elab *e, Tensor *t, const Slices *s, const int *drop, Span at)
{
	Value v = v_of(V_TENSOR, t);
	if (!s->start.u.list->n && !s->strided) return op_by_name(e, "slice", at, 1, v);      /* all of it: still no alias */
	if (s->start.u.list->n) v = op_by_name(e, "slice", at, 5, v, s->start, s->stop, s->step, s->axis);
	if (!is_error(v) && s->strided) v = op_by_name(e, "subsample", at, 2, v, s->stride);
	if (is_error(v) || !s->drops) return v;
	Value shape = v_list(e->mem);
	for (int i = 0; i < v.u.tensor->spec.shape.rank; i++)
		if (!drop[i]) list_push(e->mem, shape.u.list, v_int(v.u.tensor->spec.shape.dim[i]));
	return op_by_name(e, "reshape", at, 2, v, shape);
}

static int bad_key(Elab *e, Value key, Span at)
{
	Diag *d = fail_diag(e, E0206, at, "a tensor is indexed by ints, slices, or one tensor or array, not by %s", v_describe(e, key));
	if (key.kind == V_NONE) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "`reshape` makes an axis of one element");
	if (key.kind == V_TENSOR || key.kind == V_ARRAY || key.kind == V_LIST)
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "it stands alone, for the first axis; along another: `gather(t, indices, axis = 1)`");
	return 0;
}

static Value index_plain(Elab *e, Tensor *t, Value *subs, int n, Span at)
{
	Slices s = { v_list(e->mem), v_list(e->mem), v_list(e->mem), v_list(e->mem), v_list(e->mem), 0, 0, { 0 } };
	int drop[MAX_RANK] = { 0 };
	if (n > t->spec.shape.rank) return fail(e, E0104, at, "%d indices for %s", n, v_describe(e, v_of(V_TENSOR, t)));
	for (int i = 0; i < t->spec.shape.rank; i++) list_push(e->mem, s.stride.u.list, v_int(1));
	for (int i = 0; i < n; i++) {
		int ok;
		drop[i] = subs[i].kind == V_INT;
		if (subs[i].kind == V_INT) ok = index_int(e, &s, t, i, subs[i].u.i, at);
		else if (is_slice(subs[i])) ok = index_slice(e, &s, i, subs[i], at);
		else ok = bad_key(e, subs[i], at);
		if (!ok) return v_error();
	}
	return apply_slices(e, t, &s, drop, at);
}

static int keeps_shape(const Tensor *t, const Tensor *mask)
{
	Shape s;
	return shape_broadcast(t->spec.shape, mask->spec.shape, &s) && shape_eq(s, t->spec.shape);
}

Value tensor_index(Elab *e, Tensor *t, Value *subs, int n, Span at)
{
	if (!in_graph(e, t, at, "what is indexed")) return v_error();
	Value key = n == 1 ? subs[0] : v_unset();
	if (key.kind == V_TUPLE && !is_slice(key)) return index_plain(e, t, key.u.list->at, key.u.list->n, at);
	if (key.kind == V_LIST) {
		HostArray *a = array_of(e, key, -1, 1, at);
		if (a && !shape_nelems(a->shape)) a = array_of(e, key, DT_I32, 1, at);        /* no number says of which type it is */
		if (!a) return v_error();
		key = v_of(V_ARRAY, a);
	}
	if (key.kind != V_TENSOR && key.kind != V_ARRAY) return index_plain(e, t, subs, n, at);
	DType k = key.kind == V_TENSOR ? key.u.tensor->spec.dtype : key.u.array->dtype;
	if (key.kind == V_ARRAY) {
		Tensor *c = constant_of(e, key, (int)k, NULL, at);
		if (!c) return v_error();
		key = v_of(V_TENSOR, c);
	}
	if (k == DT_BOOL && !keeps_shape(t, key.u.tensor)) return fail(e, E0302, at, "%s, as a mask, does not broadcast to %s", v_describe(e, key), v_describe(e, v_of(V_TENSOR, t)));
	if (k == DT_BOOL) return op_by_name(e, "where", at, 3, key, v_of(V_TENSOR, t), v_int(0));
	if (!dtype_is_int(k)) return fail(e, E0206, at, "a tensor is indexed by integers or bools, not by %s", dtype_info[k].name);
	return op_by_name(e, "gather", at, 2, v_of(V_TENSOR, t), key);
}

/* --- properties ------------------------------------------------------------------------------------------------------------- */
#define T(c) ((c)->self.u.tensor)

static Value get_shape(Elab *e, Call *c) { return v_shape(e->mem, T(c)->spec.shape); }
static Value get_rank(Elab *e, Call *c)  { (void)e; return v_int(T(c)->spec.shape.rank); }
static Value get_nelms(Elab *e, Call *c) { (void)e; return v_int(shape_nelems(T(c)->spec.shape)); }
static Value get_dtype(Elab *e, Call *c) { (void)e; return v_dtype(T(c)->spec.dtype); }
static Value get_spec(Elab *e, Call *c)  { return v_spec(e->mem, T(c)->spec); }
static Value get_meta(Elab *e, Call *c)  { return v_shape(e->mem, T(c)->spec.has_meta ? T(c)->spec.meta : (Shape){ 0 }); }
static Value get_id(Elab *e, Call *c)    { return v_cstr(e->mem, tensor_id(e->mem, T(c))); }
static Value get_name(Elab *e, Call *c)  { return v_cstr(e->mem, T(c)->name); }
static Value get_scope(Elab *e, Call *c) { return v_cstr(e->mem, T(c)->graph->id); }
static Value get_graph(Elab *e, Call *c) { return v_graph(e, T(c)->graph); }
static Value get_ir(Elab *e, Call *c)    { (void)e; return v_ir(T(c)->graph->ir); }
static Value get_transposed(Elab *e, Call *c)    { return op_by_name(e, "transpose", c->at, 1, c->self); }
static Value get_transposed_in(Elab *e, Call *c) { return op_by_name(e, "transpose_", c->at, 1, c->self); }
static Value get_location(Elab *e, Call *c) { return tensor_location(e, T(c)); }
static Value get_by_ref(Elab *e, Call *c) { (void)e; return v_bool(T(c)->by_ref); }

static Value get_kind(Elab *e, Call *c)
{
	static const char *const names[] = { [T_TENSOR] = "Tensor", [T_VARIABLE] = "Variable", [T_CONSTANT] = "Constant" };
	return v_cstr(e->mem, names[T(c)->kind]);
}

static Value get_repr(Elab *e, Call *c) { return v_cstr(e->mem, tensor_repr(e->mem, T(c))); }

/* what only variables have */
static int is_variable(Elab *e, Call *c, const char *what)
{
	if (T(c)->kind == T_VARIABLE) return 1;
	fail(e, E0102, c->at, "`%s` is a property of variables, and `%s` is none", what, T(c)->name);
	return 0;
}

/* R130: N groups hold N values */
static Value get_on_host(Elab *e, Call *c)
{
	return is_variable(e, c, "shape_on_host") ? v_shape(e->mem, variable_host_shape(T(c))) : v_error();
}

static Value get_on_replica(Elab *e, Call *c) { return is_variable(e, c, "shape_on_replica") ? get_shape(e, c) : v_error(); }

static Value get_retrieval(Elab *e, Call *c)
{
	if (!is_variable(e, c, "retrieval_mode")) return v_error();
	return v_cstr(e->mem, T(c)->retrieval == ALL_REPLICAS ? "all_replicas" : "one_per_group");
}

static Value get_grouping(Elab *e, Call *c)
{
	GroupingOf g = { T(c)->graph->ir, T(c)->grouping };
	return is_variable(e, c, "replica_grouping") ? v_of(V_GROUPING, arena_dup(e->mem, &g, sizeof g)) : v_error();
}

static Value get_ipu(Elab *e, Call *c)
{
	int ipu = tensor_ipu(T(c));
	return ipu == IPU_UNKNOWN ? fail(e, E0114, c->at, "the IPU of `%s` is not determined by any op", T(c)->name) : v_int(ipu);
}

static Value get_tiles(Elab *e, Call *c)
{
	TileSet t = tensor_tiles(T(c));
	if (t == TILES_UNDEFINED) return fail(e, E0114, c->at, "the tile set of `%s` is not determined by any op", T(c)->name);
	return v_cstr(e->mem, t == TILES_IO ? "io" : "compute");
}

static Value do_strides(Elab *e, Call *c)
{
	Shape s = T(c)->spec.shape;
	if (is_given(c->arg[0]) && !want_shape(e, c->arg[0], c->at, "`shape`", &s)) return v_error();
	Shape out = { .rank = s.rank };
	int64_t step_by = (int64_t)dtype_size(T(c)->spec.dtype);
	for (int i = s.rank - 1; i >= 0; i--) {
		out.dim[i] = step_by;
		step_by *= s.dim[i];
	}
	return v_shape(e->mem, out);
}

/* every (columns + 1)th element, of no more rows than there are columns */
static Value do_diag(Elab *e, Call *c)
{
	Value t = c->self;
	Shape s = T(c)->spec.shape;
	if (s.rank != 2) return fail(e, E0114, c->at, "`diag` takes a tensor of rank 2, not %s", v_describe(e, c->self));
	if (s.dim[0] > s.dim[1] + 1) t = op_by_name(e, "slice", c->at, 3, t, v_int(0), v_int(s.dim[1]));
	Value flat = is_error(t) ? t : op_by_name(e, "flatten", c->at, 1, t);
	return is_error(flat) ? flat : op_by_name(e, "subsample", c->at, 2, flat, v_int(s.dim[1] + 1));
}

const Builtin tensor_methods[] = {
	{ "shape", NULL, get_shape }, { "rank", NULL, get_rank }, { "nelms", NULL, get_nelms }, { "dtype", NULL, get_dtype },
	{ "spec", NULL, get_spec }, { "meta_shape", NULL, get_meta }, { "id", NULL, get_id }, { "name", NULL, get_name },
	{ "scope", NULL, get_scope }, { "graph", NULL, get_graph }, { "ir", NULL, get_ir }, { "kind", NULL, get_kind }, { "repr", NULL, get_repr },
	{ "ipu", NULL, get_ipu }, { "tile_set", NULL, get_tiles }, { "by_ref", NULL, get_by_ref }, { "location_info", NULL, get_location }, { "T", NULL, get_transposed },
	{ "T_", NULL, get_transposed_in }, { "shape_on_host", NULL, get_on_host }, { "shape_on_replica", NULL, get_on_replica },
	{ "retrieval_mode", NULL, get_retrieval }, { "replica_grouping", NULL, get_grouping }, { "strides", "shape?", do_strides }, { "diag", "", do_diag }, { NULL, NULL, NULL }
};
