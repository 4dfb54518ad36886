/* index.c — creating tensors, and reading or adding at computed positions. */
#include "compiler/ops/grad.h"
#include "compiler/ops/strided.h"

#include <inttypes.h>

/* --- init --------------------------------------------------------------------------------------------------- */

static int infer_init(Infer *in)
{
	static const char *const types[] = { "zero", "undef", 0 };
	in->out[0].dtype = (DType)op_attr(in->op, "dtype")->i;
	in->out[0].has_meta = op_attr(in->op, "meta_shape")->set;
	return infer_word(in, "init_type", types) >= 0 && infer_dims(in, "shape", &in->out[0].shape) && infer_dims(in, "meta_shape", &in->out[0].meta);
}

/* undefined contents are zeros too: a program that reads them by mistake stays deterministic */
static void emit_init(Emit *e, const Op *op) { emit_zero(e, op, 0); }

OPDEF(init, .type = "Init", .family = "index",
	.params = PARAMS({ "shape", P_SHAPE }, { "dtype", P_DTYPE }, { "name", P_STR, OPTIONAL }, { "init_type", P_STR, OPTIONAL, STR_DEFAULT("zero") },
		{ "meta_shape", P_SHAPE, OPTIONAL }),
	.traits = NO_GRAD, .infer = infer_init, .emit = emit_init,
	.doc = "A new tensor: of zeros, or with `init_type = \"undef\"` of contents that must be written before they are read. A spec may stand for shape and dtype: `init(f32[2, 3])`.",
	.formula = "y = 0");

/* --- checking indices: what is left of ops that take some when nothing reads their results ------------------------- */

/* a gather of rows without elements, which only looks at the indices */
static void emit_check_indices(Emit *e, const Op *op)
{
	const Spec *idx = &op->in.at[0]->spec;
	const char *d = emit_static(e, "struct pxlrt_axis", "{ %d, 1, %" PRId64 ", 0 }", (int)DT_U8, op_attr(op, "limit")->i);
	const char *at = emit_in(e, op, 0);
	emit_rt(e, op, "gather(ln, &%s, %d, %" PRId64 ", 0, %s, %s, (void *)%s)", d, idx->dtype, shape_nelems(idx->shape), at, at, at);
}

OPDEF(check_indices, .type = "CheckIndices", .family = "index", .params = PARAMS({ "indices", P_TENSOR }, { "limit", P_INT }), .nout = -1,
	.traits = INTERNAL | NO_GRAD, .infer = infer_nothing, .fails = fails_always, .emit = emit_check_indices, .sample = { 0, 1 },
	.doc = "An index outside [0, limit) is a run-time error.", .formula = "no result");

void b_check_indices(Build *b, Tensor *idx, int64_t limit)
{
	ir_op(b, OP_check_indices, &idx, 1, b_attrs(b, OP_check_indices, "limit", attr_int(limit), NULL), NULL);
}

/* --- random-access reading ------------------------------------------------------------------------------------ */

/* x with `axis` replaced by the axes of the indices */
static Shape gathered(Shape x, int axis, Shape idx)
{
	Shape y = { .rank = 0 };
	for (int i = 0; i < axis; i++) y.dim[y.rank++] = x.dim[i];
	for (int i = 0; i < idx.rank; i++) y.dim[y.rank++] = idx.dim[i];
	for (int i = axis + 1; i < x.rank; i++) y.dim[y.rank++] = x.dim[i];
	return y;
}

static int infer_gather(Infer *in)
{
	Spec x = infer_in(in, 0), idx = infer_in(in, 1);
	int axis;
	if (!infer_need_indices(in, 1) || !infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank, &axis)) return 0;
	if (x.shape.rank - 1 + idx.shape.rank > MAX_RANK) {
		infer_error(in, E0313, "the result of `%s` would have more than %d axes", in->def->name, MAX_RANK);
		return 0;
	}
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = gathered(x.shape, axis, idx.shape) };
	infer_set_int(in, "axis", axis);
	return 1;
}

static void grad_gather(Grad *gr, Op *op)
{
	Shape s = op->in.at[0]->spec.shape;
	Tensor *in[] = { grad_of(gr, op, 0), grad_fwd(gr, op->in.at[1]) };
	AttrVal *v = b_attrs(&gr->b, OP_scatter_add, "shape", attr_ints(gr->b.ir->mem, s.dim, s.rank), "axis", *op_attr(op, "axis"),
	                     "zero_OOR", *op_attr(op, "zero_OOR"), NULL);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_scatter_add, in, 2, v, 0)->out.at[0]);
}

static void emit_gather(Emit *e, const Op *op)
{
	const Spec *idx = &op->in.at[1]->spec;
	if (!shape_nelems(op->out.at[0]->spec.shape)) return;
	const char *d = emit_axis(e, op->in.at[0], (int)op_attr(op, "axis")->i);
	emit_rt(e, op, "gather(ln, &%s, %d, %" PRId64 ", %d, %s, %s, %s)", d, idx->dtype, shape_nelems(idx->shape),
	        (int)op_attr(op, "zero_OOR")->i, emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

static int gather_fails(const Op *op) { return !op_attr(op, "zero_OOR")->i && shape_nelems(op->out.at[0]->spec.shape); }

static void check_gather(Build *b, const Op *op)
{
	b_check_indices(b, op->in.at[1], op->in.at[0]->spec.shape.dim[op_attr(op, "axis")->i]);
}

#define GATHER .family = "index", .traits = PURE | MOVES, .infer = infer_gather, .grad = grad_gather, .fails = gather_fails, .check = check_gather, \
	.emit = emit_gather, .sample = { -2, 2 }, \
	.params = PARAMS({ "t", P_TENSOR }, { "indices", P_TENSOR }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }, \
		{ "available_memory_proportion", P_HINT, OPTIONAL }, { "zero_OOR", P_BOOL, OPTIONAL, INT_DEFAULT(0) })
#define GATHER_DOC "Slices of the tensor at the given positions of an axis, which the axes of `indices` replace (a scalar index drops it). " \
	"Indices are i32, u32 or i64 and never wrap: one outside the axis, negative ones included, is a run-time error, or gives zeros with `zero_OOR`. " \
	"The gradient adds up where an index occurs more than once; indices receive none."
#define GATHER_FORMULA "y[a, i, b] = x[a, indices[i], b], dx[a, indices[i], b] += g[a, i, b]"

OPDEF(gather, .type = "Gather", GATHER, .doc = GATHER_DOC, .formula = GATHER_FORMULA);
OPDEF(tied_gather, .type = "TiedGather", GATHER, .doc = GATHER_DOC " `tied_gather` says that the tensor is a matmul's weight too; values are the same.",
	.formula = GATHER_FORMULA);

/* --- adding at positions (the gradient of gather) ---------------------------------------------------------------- */

static int infer_scatter_add(Infer *in)
{
	Spec g = infer_in(in, 0), idx = infer_in(in, 1);
	Shape *y = &in->out[0].shape;
	int axis;
	in->out[0].dtype = g.dtype;
	if (!infer_dims(in, "shape", y) || !infer_axis(in, op_attr(in->op, "axis")->i, y->rank, &axis)) return 0;
	if (y->rank - 1 + idx.shape.rank <= MAX_RANK && shape_eq(g.shape, gathered(*y, axis, idx.shape))) return 1;
	return infer_error(in, E0311, "`g` of `scatter_add` is not what a gather from `shape` gives"), 0;
}

static void grad_scatter_add(Grad *gr, Op *op)
{
	Tensor *in[] = { grad_of(gr, op, 0), grad_fwd(gr, op->in.at[1]) };
	AttrVal *v = b_attrs(&gr->b, OP_gather, "axis", *op_attr(op, "axis"), "zero_OOR", *op_attr(op, "zero_OOR"), NULL);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_gather, in, 2, v, 0)->out.at[0]);
}

static void emit_scatter_add(Emit *e, const Op *op)
{
	const Spec *idx = &op->in.at[1]->spec;
	const char *d = emit_axis(e, op->out.at[0], (int)op_attr(op, "axis")->i);
	emit_zero(e, op, 0);
	emit_rt(e, op, "scatter_add(ln, &%s, %d, %" PRId64 ", %d, %s, %s, %s)", d, idx->dtype, shape_nelems(idx->shape), (int)op_attr(op, "zero_OOR")->i,
	        emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

static int scatter_add_fails(const Op *op) { return !op_attr(op, "zero_OOR")->i && shape_nelems(op->in.at[0]->spec.shape); }

static void check_scatter_add(Build *b, const Op *op)
{
	b_check_indices(b, op->in.at[1], op->out.at[0]->spec.shape.dim[op_attr(op, "axis")->i]);
}

OPDEF(scatter_add, .type = "ScatterAdd", .family = "index",
	.params = PARAMS({ "g", P_TENSOR }, { "indices", P_TENSOR }, { "shape", P_SHAPE }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) },
		{ "zero_OOR", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE | INTERNAL, .infer = infer_scatter_add, .fails = scatter_add_fails, .check = check_scatter_add, .grad = grad_scatter_add, .emit = emit_scatter_add, .sample = { -2, 2 },
	.doc = "Zeros of `shape` to which slices of g are added at positions of an axis; a position outside is a run-time error, or left out with `zero_OOR`.",
	.formula = "y[a, indices[i], b] += g[a, i, b]");

/* --- onehot -------------------------------------------------------------------------------------------------------- */

/* given as a number, or as a constant tensor whose value is known now; -1 if neither */
static int64_t class_count(Infer *in)
{
	const Tensor *t = infer_tensor(in, 1);
	const AttrVal *v = op_attr(in->op, "num_classes");
	if (!t) return v->set ? v->i : -1;
	if (t->kind != T_CONSTANT || !t->data || t->spec.shape.rank || !dtype_is_int(t->spec.dtype)) return -1;
	return rt_get_int(t->spec.dtype, host_bytes(in->b->ir->mem, t->data, in->b->ir->seed), 0);
}

static int infer_onehot(Infer *in)
{
	Spec x = infer_in(in, 0), values = infer_in(in, 2);
	int64_t n = class_count(in);
	int axis;
	if (!infer_need_int(in, 0)) return 0;
	if (n < 0) return infer_error(in, E0310, "`num_classes` of `onehot` must be an int of 0 or more, or a constant scalar"), 0;
	if (values.shape.rank != 1 || values.shape.dim[0] != 2) return infer_error(in, E0311, "`values` of `onehot` must have two elements: off and on"), 0;
	if (x.shape.rank == MAX_RANK) return infer_error(in, E0313, "the result of `onehot` would have more than %d axes", MAX_RANK), 0;
	if (!infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank + 1, &axis)) return 0;
	in->out[0] = (Spec){ .dtype = values.dtype, .shape = { .rank = x.shape.rank + 1 } };
	for (int i = 0; i <= x.shape.rank; i++) in->out[0].shape.dim[i] = i < axis ? x.shape.dim[i] : i == axis ? n : x.shape.dim[i - 1];
	infer_set_int(in, "axis", axis);
	return 1;
}

/* where(t == [0 … n-1], on, off) */
static int lower_onehot(Build *b, Op *op, Tensor **out)
{
	Tensor *t = op->in.at[0], *values = op->in.at[2];
	int axis = (int)op_attr(op, "axis")->i;
	Shape s = op->out.at[0]->spec.shape, at = s, along = { .rank = s.rank };
	HostArray *h = host_new(b->ir->mem, DT_I64, (Shape){ .rank = 1, .dim = { s.dim[axis] } });
	h->init = (RtInit){ .kind = INIT_ARANGE, .a = 0, .b = 1 };
	for (int i = 0; i < s.rank; i++) along.dim[i] = i == axis ? s.dim[i] : 1;
	at.dim[axis] = 1;
	Tensor *hit = b_op2(b, OP_equal, b_cast(b, b_reshape(b, t, at), DT_I64), b_reshape(b, ir_constant(b, h, 0), along));
	Tensor *off = b_reshape(b, b_slice(b, values, 0, 0, 1), (Shape){ .rank = 0 });
	Tensor *on = b_reshape(b, b_slice(b, values, 0, 1, 2), (Shape){ .rank = 0 });
	out[0] = b_op3(b, OP_where, hit, on, off);
	return 1;
}

/* [sum of g where off, sum of g where on]: with h the same onehot of 0 and 1, on = sum(g h), off = sum(g) - on */
static void grad_onehot(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0);
	Shape one = { .rank = 1, .dim = { 1 } };
	unsigned all = (1u << g->spec.shape.rank) - 1;
	if (!grad_wanted(gr, op, 2)) return;
	Tensor *zero_one[] = { b_reshape(b, b_like(b, g, 0), one), b_reshape(b, b_like(b, g, 1), one) };
	Tensor *in[] = { grad_fwd(gr, op->in.at[0]), op->in.at[1] ? grad_fwd(gr, op->in.at[1]) : 0, b_concat(b, zero_one, 2, 0) };
	Tensor *h = ir_op(b, OP_onehot, in, 3, op->attr, 0)->out.at[0];
	Tensor *on = b_sum(b, b_op2(b, OP_mul, g, h), all, 0), *off = b_op2(b, OP_sub, b_sum(b, g, all, 0), on);
	grad_add(gr, op, 2, b_concat(b, (Tensor *[]){ b_reshape(b, off, one), b_reshape(b, on, one) }, 2, 0));
}

OPDEF(onehot, .type = "OneHot", .family = "index",
	.params = PARAMS({ "t", P_TENSOR }, { "num_classes", P_COUNT }, { "values", P_TENSOR }, { "axis", P_INT }),
	.traits = PURE | MOVES, .infer = infer_onehot, .lower = lower_onehot, .grad = grad_onehot, .sample = { -2, 2 },
	.doc = "A new axis of length `num_classes` (an int or a constant scalar) holding values[1] at the index and values[0] elsewhere; an index outside "
	       "[0, num_classes), negative ones included, is nowhere. The dtype is that of `values`. Only they receive a gradient.",
	.formula = "y[a, k, b] = values[t[a, b] = k]");
