/* scatter.c — elements put, added up or compared at computed positions of an axis.
 *
 * Two internal ops do all the work: scatter_into combines elements into a copy of a tensor, read_at takes elements from one.
 * Their indices have the rank of the elements; an axis of length 1 repeats.  Where duplicates overwrite each other the last
 * in row-major order wins, and it alone gets the gradient. */
#include "compiler/ops/grad.h"
#include "compiler/ops/strided.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { READ, WRITE, SUM, MAX, MIN };                    /* as runtime/pxlrt.h counts them */
static const char *const modes[] = { "read", "none", "sum", "max", "min", 0 };

static int mode_of(const Op *op)
{
	int i = 0;
	while (modes[i + 1] && strcmp(modes[i], op_attr(op, "mode")->s)) i++;
	return i;
}

static const char *scatter_static(Emit *e, const Op *op, const Spec *small, const Spec *idx, const Spec *big, int mode, int lenient)
{
	int64_t stride[MAX_RANK], step[MAX_RANK];
	int axis = (int)op_attr(op, "axis")->i;
	row_major(big->shape, stride);
	row_major(idx->shape, step);
	for (int i = 0; i < idx->shape.rank; i++)
		if (idx->shape.dim[i] == 1) step[i] = 0;
	return emit_static(e, "struct pxlrt_scatter", "{ %d, %d, %d, %d, %d, %d, %" PRId64 ", %s, %s, %s }", small->dtype, idx->dtype, mode,
		lenient, small->shape.rank, axis, big->shape.dim[axis], emit_longs(e, small->shape.dim, small->shape.rank),
		emit_longs(e, stride, small->shape.rank), emit_longs(e, step, small->shape.rank));
}

/* --- the internal ops --------------------------------------------------------------------------------------------- */

static int is_half(DType t) { return t == DT_F16 || t == DT_BF16; }

static Tensor *into(Build *b, Tensor *big, Tensor *idx, Tensor *small, int64_t axis, const char *mode, int lenient)
{
	AttrVal *v = b_attrs(b, OP_scatter_into, "axis", attr_int(axis), "mode", attr_str(mode), "lenient", attr_int(lenient), NULL);
	return ir_op(b, OP_scatter_into, (Tensor *[]){ big, idx, small }, 3, v, 0)->out.at[0];
}

static Tensor *read(Build *b, Tensor *big, Tensor *idx, Shape s, int64_t axis, int lenient)
{
	AttrVal *v = b_attrs(b, OP_read_at, "shape", attr_ints(b->ir->mem, s.dim, s.rank), "axis", attr_int(axis), "lenient", attr_int(lenient), NULL);
	return ir_op(b, OP_read_at, (Tensor *[]){ big, idx }, 2, v, 0)->out.at[0];
}

/* of elements that overwrite each other, those that last: each writes its position, and looks whose is there */
static Tensor *winners(Build *b, Tensor *big, Tensor *idx, Shape s, int64_t axis)
{
	Shape along = { .rank = s.rank }, one = { .rank = 1, .dim = { s.dim[axis] } };
	HostArray *h = host_new(b->ir->mem, DT_I64, one);
	h->init = (RtInit){ .kind = INIT_ARANGE, .a = 0, .b = 1 };
	for (int i = 0; i < s.rank; i++) along.dim[i] = i == axis ? s.dim[i] : 1;
	Tensor *position = b_broadcast(b, b_reshape(b, ir_constant(b, h, 0), along), s);
	Tensor *none = b_zeros(b, (Spec){ .dtype = DT_I64, .shape = big->spec.shape });
	Tensor *there = read(b, into(b, none, idx, position, axis, "none", 1), idx, s, axis, 1);
	return b_op2(b, OP_equal, there, position);
}

static Tensor *only(Build *b, Tensor *where, Tensor *x) { return b_op3(b, OP_where, where, x, b_like(b, x, 0)); }

/* indices of the rank of `small`, each axis as long or 1; beside the axis `small` is no longer than `big` */
static int infer_parts(Infer *in, Shape big, Shape small)
{
	Shape idx = infer_in(in, 1).shape;
	int axis, ok = idx.rank == small.rank && big.rank == small.rank;
	if (!infer_axis(in, op_attr(in->op, "axis")->i, big.rank, &axis)) return 0;
	for (int i = 0; ok && i < small.rank; i++)
		ok = (idx.dim[i] == 1 || idx.dim[i] == small.dim[i]) && (i == axis || small.dim[i] <= big.dim[i]);
	return ok || (infer_error(in, E0311, "operands of `%s` do not fit", in->def->name), 0);
}

static int infer_scatter_into(Infer *in) { return infer_same(in) && infer_parts(in, infer_in(in, 0).shape, infer_in(in, 2).shape); }

/* all of these ops: operand 1 holds indices, the elements that are moved are those of `moved`, positions are of an axis of `big` */
static void check_positions(Build *b, const Op *op, const Tensor *big)
{
	b_check_indices(b, op->in.at[1], big->spec.shape.dim[op_attr(op, "axis")->i]);
}

static int is_strict(const Op *op, const char *attr, const Tensor *moved) { return !op_attr(op, attr)->i && shape_nelems(moved->spec.shape); }

static int into_fails(const Op *op) { return is_strict(op, "lenient", op->in.at[2]); }
static int read_fails(const Op *op) { return is_strict(op, "lenient", op->out.at[0]); }
static void check_writing(Build *b, const Op *op) { check_positions(b, op, op->out.at[0]); }
static void check_reading(Build *b, const Op *op) { check_positions(b, op, op->in.at[0]); }

/* memory of its own that holds what t does: a number spread over a shape is spread once more, not copied */
static Tensor *own_copy(Build *b, Tensor *t)
{
	if (t->def && t->def->code == OP_expand) return b_broadcast(b, t->def->in.at[0], t->spec.shape);
	return b_op1(b, OP_copy, t);
}

static int lower_scatter_into(Build *b, Op *op, Tensor **out)
{
	DType t = op->out.at[0]->spec.dtype;
	if (op->inplace) return 0;
	if (!is_half(t) || mode_of(op) == WRITE) {
		Tensor *own[] = { own_copy(b, op->in.at[0]), op->in.at[1], op->in.at[2] };
		out[0] = ir_op_inplace(b, OP_scatter_into, own, 3, op->attr, 0)->out.at[0];
		return 1;
	}
	Tensor *wide[] = { b_cast(b, op->in.at[0], DT_F32), op->in.at[1], b_cast(b, op->in.at[2], DT_F32) };
	out[0] = b_cast(b, ir_op(b, OP_scatter_into, wide, 3, op->attr, 0)->out.at[0], t);
	return 1;
}

static void emit_scatter_into(Emit *e, const Op *op)
{
	const char *d = scatter_static(e, op, &op->in.at[2]->spec, &op->in.at[1]->spec, &op->out.at[0]->spec, mode_of(op), (int)op_attr(op, "lenient")->i);
	emit_rt(e, op, "scatter(ln, &%s, (void *)%s, %s, %s)", d, emit_in(e, op, 2), emit_in(e, op, 1), emit_in(e, op, 0));
}

static void grad_scatter_into(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	int mode = mode_of(op);
	int64_t axis = op_attr(op, "axis")->i;
	int lenient = (int)op_attr(op, "lenient")->i;
	Shape s = op->in.at[2]->spec.shape;
	Tensor *g = grad_of(gr, op, 0), *idx = grad_fwd(gr, op->in.at[1]), *back = read(b, g, idx, s, axis, lenient);
	if (mode == SUM) {
		grad_add(gr, op, 0, g);
		grad_add(gr, op, 2, back);
	} else if (mode == WRITE) {
		grad_add(gr, op, 0, into(b, g, idx, b_zeros(b, (Spec){ .dtype = g->spec.dtype, .shape = s }), axis, "none", lenient));
		grad_add(gr, op, 2, only(b, winners(b, op->in.at[0], idx, s, axis), back));
	} else {
		Tensor *y = grad_fwd(gr, op->out.at[0]);
		if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, only(b, b_op2(b, OP_equal, y, grad_fwd(gr, op->in.at[0])), g));
		if (grad_wanted(gr, op, 2)) grad_add(gr, op, 2, only(b, b_op2(b, OP_equal, read(b, y, idx, s, axis, lenient), grad_fwd(gr, op->in.at[2])), back));
	}
}

OPDEF(scatter_into, .type = "ScatterInto", .family = "scatter",
	.params = PARAMS({ "big", P_TENSOR }, { "indices", P_TENSOR }, { "small", P_TENSOR }, { "axis", P_INT }, { "mode", P_STR }, { "lenient", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE | INTERNAL, .inplace = MODIFIES, .type_inplace = "ScatterInto", .infer = infer_scatter_into, .lower = lower_scatter_into,
	.fails = into_fails, .check = check_writing, .grad = grad_scatter_into, .emit = emit_scatter_into, .sample = { -2, 2 },
	.doc = "A copy of `big` into which the elements of `small` are written, added up or compared at computed positions of an axis.",
	.formula = "y = big, y[p with p[axis] := indices[p]] combined with small[p]");

static int infer_read_at(Infer *in)
{
	in->out[0].dtype = infer_in(in, 0).dtype;
	return infer_dims(in, "shape", &in->out[0].shape) && infer_parts(in, infer_in(in, 0).shape, in->out[0].shape);
}

static void emit_read_at(Emit *e, const Op *op)
{
	const char *d = scatter_static(e, op, &op->out.at[0]->spec, &op->in.at[1]->spec, &op->in.at[0]->spec, READ, (int)op_attr(op, "lenient")->i);
	emit_rt(e, op, "scatter(ln, &%s, %s, %s, (void *)%s)", d, emit_out(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 0));
}

static void grad_read_at(Grad *gr, Op *op)
{
	Tensor *zero = b_zeros(&gr->b, op->in.at[0]->spec);
	if (grad_wanted(gr, op, 0))
		grad_add(gr, op, 0, into(&gr->b, zero, grad_fwd(gr, op->in.at[1]), grad_of(gr, op, 0), op_attr(op, "axis")->i, "sum",
		                           (int)op_attr(op, "lenient")->i));
}

OPDEF(read_at, .type = "ReadAt", .family = "scatter",
	.params = PARAMS({ "big", P_TENSOR }, { "indices", P_TENSOR }, { "shape", P_SHAPE }, { "axis", P_INT }, { "lenient", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE | INTERNAL, .infer = infer_read_at, .fails = read_fails, .check = check_reading, .grad = grad_read_at, .emit = emit_read_at, .sample = { -2, 2 },
	.doc = "One element of `big` for each element of the result, from a computed position of an axis.",
	.formula = "y[p] = big[p with p[axis] := indices[p]]");

/* --- scatter --------------------------------------------------------------------------------------------------------- */

static int same_dtype(Infer *in, int i, int j)
{
	DType a = infer_in(in, i).dtype, b = infer_in(in, j).dtype;
	if (a == b) return 1;
	Diag *d = infer_error(in, E0303, "operands of `%s` have different element types", op_said(in->op));
	diag_label(in->b->ir->ds, d, "%s against %s", dtype_info[a].name, dtype_info[b].name);
	return 0;
}

static int wrong_indices(Infer *in, const char *why)
{
	Diag *d = infer_error(in, E0311, "`indices` of `%s` do not fit", op_said(in->op));
	diag_label(in->b->ir->ds, d, "%s", why);
	return 0;
}

static int infer_scatter(Infer *in)
{
	Spec t = infer_in(in, 0), idx = infer_in(in, 1), v = infer_in(in, 2);
	int axis;
	if (!infer_need_int(in, 1) || !same_dtype(in, 0, 2) || !infer_axis(in, op_attr(in->op, "axis")->i, t.shape.rank, &axis)) return 0;
	if (!shape_eq(idx.shape, v.shape)) return wrong_indices(in, "they have the shape of `values`");
	if (idx.shape.rank != t.shape.rank) return wrong_indices(in, "they have the rank of the tensor");
	for (int i = 0; i < t.shape.rank; i++)
		if (i != axis && idx.shape.dim[i] > t.shape.dim[i]) return wrong_indices(in, arena_printf(in->b->ir->mem, "axis %d is longer than the tensor's", i));
	infer_set_int(in, "axis", axis);
	return infer_same(in);
}

static int lower_scatter(Build *b, Op *op, Tensor **out)
{
	out[0] = into(b, op->in.at[0], op->in.at[1], op->in.at[2], op_attr(op, "axis")->i, "none", 0);
	return 1;
}

static void grad_scatter(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	int64_t axis = op_attr(op, "axis")->i;
	Spec v = op->in.at[2]->spec;
	Tensor *g = grad_of(gr, op, 0), *idx = grad_fwd(gr, op->in.at[1]);
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, into(b, g, idx, b_zeros(b, v), axis, "none", 0));
	if (grad_wanted(gr, op, 2)) grad_add(gr, op, 2, only(b, winners(b, op->in.at[0], idx, v.shape, axis), read(b, g, idx, v.shape, axis, 0)));
}

static int scatter_fails(const Op *op) { return shape_nelems(op->in.at[2]->spec.shape) > 0; }

OPDEF(scatter, .type = "Scatter", .family = "scatter",
	.params = PARAMS({ "t", P_TENSOR }, { "indices", P_TENSOR }, { "values", P_TENSOR }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) },
		{ "available_memory_proportion", P_HINT, OPTIONAL }),
	.traits = PURE | MOVES, .infer = infer_scatter, .lower = lower_scatter, .fails = scatter_fails, .check = check_writing, .grad = grad_scatter, .sample = { -2, 2 },
	.doc = "A copy of the tensor with elements of `values` written at computed positions of an axis. `indices` has the shape of `values`, which is no longer than "
	       "the tensor on the other axes. Where an index occurs more than once the last in row-major order wins, and alone receives a gradient. An index outside "
	       "the axis, negative ones included, is a run-time error.",
	.formula = "y = t, y[p with p[axis] := indices[p]] = values[p]; dt = g with those places 0, dvalues[p] = g[p with p[axis] := indices[p]]");

/* --- scatter_reduce, grouped_scatter_reduce ------------------------------------------------------------------------------ */

enum { DATA, INDICES, INITIAL };

static int64_t groups_of(const Op *op)
{
	return op_param(op_def(op), "group_size") < 0 ? 1 : op_attr(op, "group_size")->i;
}

/* one list of indices for all lines (of a group) */
static int is_list(const Op *op, Shape x, Shape idx, int axis)
{
	int lead = groups_of(op) != 1;
	return op_attr(op, "enable_index_broadcast")->i && !shape_eq(x, idx) && idx.rank == 1 + lead && idx.dim[lead] == x.dim[axis];
}

static int check_indices(Infer *in, int axis)
{
	Shape x = infer_in(in, DATA).shape, idx = infer_in(in, INDICES).shape;
	if (shape_eq(x, idx) || is_list(in->op, x, idx, axis)) return 1;
	if (op_attr(in->op, "enable_index_broadcast")->i)
		return wrong_indices(in, "they have the shape of `data`, or one axis as long as the one that is reduced");
	if (idx.rank != x.rank) return wrong_indices(in, "without broadcasting they have the rank of `data`");
	for (int i = 0; i < x.rank; i++)
		if (idx.dim[i] > x.dim[i]) return wrong_indices(in, arena_printf(in->b->ir->mem, "axis %d is longer than that of `data`", i));
	return 1;
}

/* the part of data that has an index: its corner when indices are fewer */
static Shape corner_of(const Op *op)
{
	Shape x = op->in.at[DATA]->spec.shape, idx = op->in.at[INDICES]->spec.shape;
	return is_list(op, x, idx, (int)op_attr(op, "axis")->i) ? x : idx;
}

/* along the other axes elements go to the positions that they have in the data */
static int check_initial(Infer *in, int axis, int64_t groups)
{
	Shape s = infer_in(in, INITIAL).shape, x = corner_of(in->op);
	const char *why = NULL;
	for (int i = 0; i < x.rank && s.rank == x.rank && !why; i++) {
		if (i == 0 && groups > 1 && s.dim[0] != groups) why = "axis 0 counts the groups";
		else if (i != axis && x.dim[i] > s.dim[i]) why = arena_printf(in->b->ir->mem, "axis %d is shorter than that of `data`", i);
	}
	if (s.rank != x.rank) why = "they have the rank of `data`";
	if (!why) return 1;
	Diag *d = infer_error(in, E0311, "`initial_values` of `%s` do not fit", op_said(in->op));
	diag_label(in->b->ir->ds, d, "%s", why);
	return 0;
}

static int infer_scatter_reduce(Infer *in)
{
	static const char *const reductions[] = { "none", "sum", "max", "min", 0 };
	Spec x = infer_in(in, DATA);
	const Tensor *initial = infer_tensor(in, INITIAL);
	const AttrVal *size = op_attr(in->op, "axis_size");
	int64_t groups = groups_of(in->op);
	int axis;
	if (!infer_need_int(in, INDICES) || infer_word(in, "reduction", reductions) < 0 || !infer_need_number(in, DATA)) return 0;
	if (!infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank, &axis)) return 0;
	infer_set_int(in, "axis", axis);
	if (groups < 0 || (groups != 1 && (axis == 0 || x.shape.dim[0] != groups || infer_in(in, INDICES).shape.dim[0] != groups)))
		return infer_error(in, E0310, "`group_size` of `%s` is the length of axis 0 of data and indices, and another axis is reduced", op_said(in->op)), 0;
	if (!check_indices(in, axis)) return 0;
	if (!initial && !size->set) return infer_error(in, E0310, "`%s` needs `initial_values` or `axis_size`", op_said(in->op)), 0;
	if (size->set && size->i < 0) return infer_error(in, E0310, "`axis_size` of `%s` is negative", op_said(in->op)), 0;
	if (initial && (!same_dtype(in, DATA, INITIAL) || !check_initial(in, axis, groups))) return 0;
	in->out[0] = x;
	if (initial) in->out[0].shape = initial->spec.shape;
	else in->out[0].shape.dim[axis] = size->i;
	return 1;
}

/* with the rank of the data, a list spread along its axis */
static Tensor *indices_beside(Build *b, const Op *op, Tensor *idx)
{
	Shape x = op->in.at[DATA]->spec.shape, s = { .rank = x.rank };
	int axis = (int)op_attr(op, "axis")->i;
	if (!is_list(op, x, idx->spec.shape, axis)) return idx;
	for (int i = 0; i < x.rank; i++) s.dim[i] = i == axis ? x.dim[i] : i == 0 ? groups_of(op) : 1;
	return b_reshape(b, idx, s);
}

static Tensor *cut(Build *b, Tensor *x, Shape s)
{
	for (int i = 0; i < s.rank; i++)
		if (s.dim[i] != x->spec.shape.dim[i]) x = b_slice(b, x, i, 0, s.dim[i]);
	return x;
}

static Tensor *pad(Build *b, Tensor *x, Shape s)
{
	for (int i = 0; i < s.rank; i++) {
		Spec rest = x->spec;
		rest.shape.dim[i] = s.dim[i] - x->spec.shape.dim[i];
		if (rest.shape.dim[i]) x = b_concat(b, (Tensor *[]){ x, b_zeros(b, rest) }, 2, i);
	}
	return x;
}

/* what an extreme starts from: below, or above, every value of the type; NaN is above all */
static Tensor *lowest(Build *b, Spec s, int largest)
{
	int bits = 8 * (int)dtype_size(s.dtype);
	HostArray *h = host_new(b->ir->mem, s.dtype, (Shape){ .rank = 0 });
	double limit = dtype_is_float(s.dtype) ? NAN : dtype_info[s.dtype].cls == 'u' ? ldexp(1, bits) - 1 : ldexp(1, bits - 1) - 1;
	double floor = dtype_is_float(s.dtype) ? -INFINITY : dtype_info[s.dtype].cls == 'u' ? 0 : -ldexp(1, bits - 1);
	h->init = (RtInit){ .kind = INIT_FULL, .a = largest ? floor : limit };
	return b_broadcast(b, ir_constant(b, h, 0), s.shape);
}

static int lower_scatter_reduce(Build *b, Op *op, Tensor **out)
{
	const char *mode = op_attr(op, "reduction")->s;
	int64_t axis = op_attr(op, "axis")->i;
	Spec s = op->out.at[0]->spec;
	Tensor *initial = op->in.n > INITIAL ? op->in.at[INITIAL] : NULL, *x = cut(b, op->in.at[DATA], corner_of(op));
	Tensor *idx = indices_beside(b, op, op->in.at[INDICES]);
	int extreme = mode[0] == 'm';
	Tensor *start = initial ? initial : extreme ? lowest(b, s, mode[1] == 'a') : b_zeros(b, s);
	out[0] = into(b, start, idx, x, axis, mode, 0);
	if (initial || !extreme) return 1;
	/* places that nothing fell on are 0: whole slices, where one list serves all lines */
	Spec seen = { .dtype = DT_BOOL, .shape = idx->spec.shape }, hit = { .dtype = DT_BOOL, .shape = idx->spec.shape };
	seen.shape.dim[axis] = s.shape.dim[axis];
	HostArray *h = host_new(b->ir->mem, DT_BOOL, hit.shape);
	h->init = (RtInit){ .kind = INIT_FULL, .a = 1 };
	out[0] = only(b, into(b, b_zeros(b, seen), idx, ir_constant(b, h, 0), axis, "none", 0), out[0]);
	return 1;
}

static void grad_scatter_reduce(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	const char *mode = op_attr(op, "reduction")->s;
	int64_t axis = op_attr(op, "axis")->i;
	Shape corner = corner_of(op), full = op->in.at[DATA]->spec.shape;
	Tensor *g = grad_of(gr, op, 0), *idx = indices_beside(b, op, grad_fwd(gr, op->in.at[INDICES])), *dx = read(b, g, idx, corner, axis, 0), *di = g;
	if (mode[0] == 'n') {
		dx = only(b, winners(b, op->out.at[0], idx, corner, axis), dx);
		di = into(b, g, idx, b_zeros(b, (Spec){ .dtype = g->spec.dtype, .shape = corner }), axis, "none", 0);
	} else if (mode[0] == 'm') {
		Tensor *y = grad_fwd(gr, op->out.at[0]), *x = cut(b, grad_fwd(gr, op->in.at[DATA]), corner);
		dx = only(b, b_op2(b, OP_equal, read(b, y, idx, corner, axis, 0), x), dx);
		if (op->in.n > INITIAL && op->in.at[INITIAL]) di = only(b, b_op2(b, OP_equal, y, grad_fwd(gr, op->in.at[INITIAL])), g);
	}
	if (grad_wanted(gr, op, DATA)) grad_add(gr, op, DATA, pad(b, dx, full));
	if (op->in.n > INITIAL && op->in.at[INITIAL] && grad_wanted(gr, op, INITIAL)) grad_add(gr, op, INITIAL, di);
}

#define REDUCE_PARAMS { "data", P_TENSOR }, { "indices", P_TENSOR }, { "reduction", P_STR }, { "initial_values", P_OPT_TENSOR, OPTIONAL }, \
	{ "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }, { "axis_size", P_INT, OPTIONAL }, { "enable_index_broadcast", P_BOOL, OPTIONAL, INT_DEFAULT(1) }, \
	{ "available_memory_proportion", P_HINT, OPTIONAL }
static int reduce_fails(const Op *op) { return shape_nelems(op->in.at[INDICES]->spec.shape) && shape_nelems(op->in.at[DATA]->spec.shape); }

#define REDUCE .family = "scatter", .traits = PURE, .infer = infer_scatter_reduce, .lower = lower_scatter_reduce, .fails = reduce_fails, .check = check_writing, .grad = grad_scatter_reduce, .sample = { -2, 2 }
#define REDUCE_DOC "Elements of `data` combined at computed positions of an axis: \"sum\", \"max\", \"min\", or \"none\", which overwrites (the last in row-major order " \
	"wins). The result begins as `initial_values`, which on the other axes are as long as the data or longer, or has `axis_size` places along the axis; then sums begin at 0, and a place that no element falls on is 0. Indices have " \
	"the shape of `data`, or one axis for all lines; without `enable_index_broadcast` they may be fewer, for a corner of the data. Extremes give every tied element " \
	"the whole gradient. An index outside the axis is a run-time error."
#define REDUCE_FORMULA "y[p with p[axis] := indices[p]] = combination of data[p]"

OPDEF(scatter_reduce, .type = "ScatterReduce", REDUCE, .params = PARAMS(REDUCE_PARAMS), .doc = REDUCE_DOC, .formula = REDUCE_FORMULA);
OPDEF(grouped_scatter_reduce, .type = "GroupedScatterReduce", REDUCE, .params = PARAMS(REDUCE_PARAMS, { "group_size", P_INT, OPTIONAL, INT_DEFAULT(1) }),
	.doc = REDUCE_DOC " Axis 0 counts `group_size` groups, each with indices of its own.", .formula = REDUCE_FORMULA);

/* --- groupedgather ------------------------------------------------------------------------------------------------------------- */

static int infer_groupedgather(Infer *in)
{
	Spec t = infer_in(in, 0), idx = infer_in(in, 1);
	int64_t groups = op_attr(in->op, "group_size")->i;
	int axis, lead = groups != 1;
	if (!infer_need_indices(in, 1) || !infer_axis(in, op_attr(in->op, "axis")->i, t.shape.rank, &axis)) return 0;
	if (groups < 0 || (lead && (axis == 0 || idx.shape.rank < 1 || t.shape.dim[0] != groups || idx.shape.dim[0] != groups)))
		return infer_error(in, E0310, "`group_size` of `groupedgather` is the length of axis 0 of tensor and indices, and another axis is gathered"), 0;
	if (t.shape.rank - 1 + idx.shape.rank - lead > MAX_RANK) return infer_error(in, E0313, "the result of `groupedgather` would have more than %d axes", MAX_RANK), 0;
	in->out[0].dtype = t.dtype;
	Shape *y = &in->out[0].shape;
	for (int i = 0; i < axis; i++) y->dim[y->rank++] = t.shape.dim[i];
	for (int i = lead; i < idx.shape.rank; i++) y->dim[y->rank++] = idx.shape.dim[i];
	for (int i = axis + 1; i < t.shape.rank; i++) y->dim[y->rank++] = t.shape.dim[i];
	infer_set_int(in, "axis", axis);
	return 1;
}

/* the gathered shape with the axes of the indices as one, and the indices beside it */
static Tensor *flat_indices(Build *b, const Op *op, Tensor *idx, Shape *flat)
{
	int axis = (int)op_attr(op, "axis")->i, lead = op_attr(op, "group_size")->i != 1;
	Shape s = { .rank = op->in.at[0]->spec.shape.rank };
	int64_t n = 1;
	for (int i = lead; i < idx->spec.shape.rank; i++) n *= idx->spec.shape.dim[i];
	*flat = op->in.at[0]->spec.shape;
	flat->dim[axis] = n;
	for (int i = 0; i < s.rank; i++) s.dim[i] = i == axis ? n : i == 0 && lead ? flat->dim[0] : 1;
	return b_reshape(b, idx, s);
}

static int lower_groupedgather(Build *b, Op *op, Tensor **out)
{
	Shape flat;
	Tensor *idx = flat_indices(b, op, op->in.at[1], &flat);
	out[0] = b_reshape(b, read(b, op->in.at[0], idx, flat, op_attr(op, "axis")->i, (int)op_attr(op, "zero_OOR")->i), op->out.at[0]->spec.shape);
	return 1;
}

static void grad_groupedgather(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Shape flat;
	Tensor *idx = flat_indices(b, op, grad_fwd(gr, op->in.at[1]), &flat);
	if (grad_wanted(gr, op, 0))
		grad_add(gr, op, 0, into(b, b_zeros(b, op->in.at[0]->spec), idx, b_reshape(b, grad_of(gr, op, 0), flat), op_attr(op, "axis")->i, "sum",
		                           (int)op_attr(op, "zero_OOR")->i));
}

static int groupedgather_fails(const Op *op) { return is_strict(op, "zero_OOR", op->out.at[0]); }

OPDEF(groupedgather, .type = "GroupedGather", .family = "scatter",
	.params = PARAMS({ "t", P_TENSOR }, { "indices", P_TENSOR }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }, { "group_size", P_INT, OPTIONAL, INT_DEFAULT(1) },
		{ "available_memory_proportion", P_HINT, OPTIONAL }, { "zero_OOR", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE | MOVES, .infer = infer_groupedgather, .lower = lower_groupedgather, .fails = groupedgather_fails, .check = check_reading, .grad = grad_groupedgather, .sample = { -2, 2 },
	.doc = "`gather` for each of `group_size` groups, which axis 0 of tensor and indices counts. With one group it is `gather`.",
	.formula = "y[b] = gather(t[b], indices[b], axis - 1)");

/* --- sparse_accumulate_ ------------------------------------------------------------------------------------------------------------ */

static int infer_sparse_accumulate(Infer *in)
{
	Spec t = infer_in(in, 0), x = infer_in(in, 1), idx = infer_in(in, 2);
	int axis;
	Shape want = t.shape;
	if (!infer_need_number(in, 0) || !infer_need_number(in, 1) || !infer_need_int(in, 2) || !infer_scalar(in, "f")) return 0;
	if (!infer_axis(in, op_attr(in->op, "axis")->i, t.shape.rank, &axis)) return 0;
	if (idx.shape.rank != 1) return wrong_indices(in, "they are a list: one axis");
	want.dim[axis] = idx.shape.dim[0];
	if (!shape_eq(x.shape, want)) {
		Diag *d = infer_error(in, E0311, "`X` of `sparse_accumulate_` does not fit");
		diag_label(in->b->ir->ds, d, "expected %s, got %s", shape_str(in->b->ir->mem, want), shape_str(in->b->ir->mem, x.shape));
		return 0;
	}
	infer_set_int(in, "axis", axis);
	return infer_same(in);
}

/* f X in the dtype that t is added up in; half floats go by way of f32 and are rounded once */
static int lower_sparse_accumulate(Build *b, Op *op, Tensor **out)
{
	Tensor *t = op->in.at[0], *x = op->in.at[1], *idx = op->in.at[2], *f = op->in.n > 3 ? op->in.at[3] : NULL;
	const AttrVal *number = op_attr(op, "f");
	int half = is_half(t->spec.dtype);
	DType wide = half ? DT_F32 : t->spec.dtype;
	int64_t axis = op_attr(op, "axis")->i;
	Shape s = { .rank = t->spec.shape.rank };
	if (!half && x->spec.dtype == wide && !f && !number->set) return 0;
	x = b_cast(b, x, wide);
	if (f) x = b_op2(b, OP_mul, x, b_reshape(b, b_cast(b, f, wide), (Shape){ .rank = 0 }));
	else if (number->set) x = b_op2(b, OP_mul, x, b_cast(b, b_scalar(b, t->spec.dtype, number->f), wide));
	if (!half) {
		AttrVal *v = b_attrs(b, OP_sparse_accumulate, "axis", attr_int(axis), NULL);
		out[0] = ir_op_inplace(b, OP_sparse_accumulate, (Tensor *[]){ t, x, idx }, 3, v, 0)->out.at[0];
		return 1;
	}
	for (int i = 0; i < s.rank; i++) s.dim[i] = i == axis ? idx->spec.shape.dim[0] : 1;
	Tensor *sum = into(b, b_cast(b, t, DT_F32), b_reshape(b, idx, s), x, axis, "sum", 0);
	out[0] = ir_op_inplace(b, OP_copy_var_update, (Tensor *[]){ t, b_cast(b, sum, t->spec.dtype) }, 2, NULL, 0)->out.at[0];
	return 1;
}

static void emit_sparse_accumulate(Emit *e, const Op *op)
{
	Spec idx = op->in.at[2]->spec;
	int axis = (int)op_attr(op, "axis")->i;
	Shape s = { .rank = op->in.at[0]->spec.shape.rank };
	for (int i = 0; i < s.rank; i++) s.dim[i] = i == axis ? idx.shape.dim[0] : 1;
	idx.shape = s;
	const char *d = scatter_static(e, op, &op->in.at[1]->spec, &idx, &op->in.at[0]->spec, SUM, 0);
	emit_rt(e, op, "scatter(ln, &%s, (void *)%s, %s, %s)", d, emit_in(e, op, 1), emit_in(e, op, 2), emit_in(e, op, 0));
}

OPDEF(sparse_accumulate, .type = "SparseAccumulate", .type_inplace = "SparseAccumulate", .family = "update", .traits = ONLY_INPLACE | GRAD_ERROR, .inplace = MODIFIES,
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }, { "indices", P_TENSOR }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }, { "f", P_SCALAR, OPTIONAL },
		{ "W", P_HINT, OPTIONAL }),
	.infer = infer_sparse_accumulate, .lower = lower_sparse_accumulate, .emit = emit_sparse_accumulate, .sample = { -2, 2 },
	.doc = "Adds slices of X, times a factor if one is given, to the tensor at the positions of an axis that `indices` lists; positions that occur twice get both. X has "
	       "the tensor's shape but for that axis, which is as long as `indices`. An index outside the axis is a run-time error.",
	.formula = "t[a, indices[i], b] += f X[a, i, b]");
