/* order.c — order statistics: the k first of a line, the middle of a block, counts between levels.
 *
 * Lines are made contiguous first: the axes in question go last, as one.  Then a kernel needs no room of its own: topk keeps
 * its heap where the indices go, median finds its value digit by digit. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>

/* the permutation that puts the axes of `mask` last, in their order; and back */
static void last_axes(int rank, unsigned mask, int perm[MAX_RANK], int back[MAX_RANK])
{
	int n = 0;
	for (int want = 0; want < 2; want++)
		for (int i = 0; i < rank; i++)
			if ((int)(mask >> i & 1) == want) perm[n++] = i;
	for (int i = 0; i < rank; i++) back[perm[i]] = i;
}

static Tensor *move_last(Build *b, Tensor *x, unsigned mask)
{
	int perm[MAX_RANK], back[MAX_RANK];
	last_axes(x->spec.shape.rank, mask, perm, back);
	return b_transpose(b, x, perm);
}

static Tensor *move_back(Build *b, Tensor *x, unsigned mask)
{
	int perm[MAX_RANK], back[MAX_RANK];
	last_axes(x->spec.shape.rank, mask, perm, back);
	return b_transpose(b, x, back);
}

/* a tensor of `full`'s kind whose last axis has g where idx says, and zeros elsewhere */
static Tensor *put_at(Build *b, Tensor *g, Tensor *idx, int64_t n)
{
	int axis = g->spec.shape.rank - 1;
	AttrVal *v = b_attrs(b, OP_scatter_reduce, "reduction", attr_str("sum"), "axis", attr_int(axis), "axis_size", attr_int(n), NULL);
	return ir_op(b, OP_scatter_reduce, (Tensor *[]){ g, idx, 0 }, 2, v, 0)->out.at[0];
}

/* positions are i32 */
static int check_length(Infer *in, int64_t n)
{
	if (n <= INT32_MAX) return 1;
	infer_error(in, E0310, "`%s` counts positions in i32: %" PRId64 " are too many", in->def->name, n);
	return 0;
}

/* --- topk ------------------------------------------------------------------------------------------------------ */

static int infer_topk(Infer *in)
{
	Spec x = infer_in(in, 0);
	int64_t k = op_attr(in->op, "k")->i;
	int axis;
	if (!infer_need_number(in, 0) || !infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank, &axis)) return 0;
	if (k < 0 || k > x.shape.dim[axis]) {
		infer_error(in, E0310, "`k` of `topk` is %" PRId64 ": axis %d has 0 to %" PRId64 " elements to give", k, axis, x.shape.dim[axis]);
		return 0;
	}
	if (!check_length(in, x.shape.dim[axis])) return 0;
	in->out[0] = x;
	in->out[0].shape.dim[axis] = k;
	in->out[1] = in->out[0];
	in->out[1].dtype = DT_I32;
	infer_set_int(in, "axis", axis);
	return 1;
}

static int lower_topk(Build *b, Op *op, Tensor **out)
{
	Tensor *x = op->in.at[0];
	int axis = (int)op_attr(op, "axis")->i, last = x->spec.shape.rank - 1;
	if (axis == last) return 0;
	x = move_last(b, x, 1u << axis);
	AttrVal *v = b_attrs(b, OP_topk, "k", *op_attr(op, "k"), "axis", attr_int(last), "largest", *op_attr(op, "largest"), "sorted", *op_attr(op, "sorted"), NULL);
	Op *moved = ir_op(b, OP_topk, &x, 1, v, 0);
	for (int i = 0; i < 2; i++) out[i] = move_back(b, moved->out.at[i], 1u << axis);
	return 1;
}

static void grad_topk(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	unsigned mask = 1u << op_attr(op, "axis")->i;
	Tensor *g = move_last(b, grad_of(gr, op, 0), mask), *idx = move_last(b, grad_fwd(gr, op->out.at[1]), mask);
	grad_add(gr, op, 0, move_back(b, put_at(b, g, idx, op->in.at[0]->spec.shape.dim[op_attr(op, "axis")->i]), mask));
}

static void emit_topk(Emit *e, const Op *op)
{
	const char *d = emit_axis(e, op->in.at[0], (int)op_attr(op, "axis")->i);
	emit_rt(e, op, "topk(ln, &%s, %" PRId64 ", %d, %s, %s, %s)", d, op_attr(op, "k")->i, !op_attr(op, "largest")->i, emit_in(e, op, 0), emit_out(e, op, 0),
	        emit_out(e, op, 1));
}

OPDEF(topk, .type = "TopK", .family = "order", .nout = 2, .traits = PURE, .infer = infer_topk, .lower = lower_topk, .grad = grad_topk, .emit = emit_topk,
	.params = PARAMS({ "t", P_TENSOR }, { "k", P_INT }, { "axis", P_INT }, { "largest", P_BOOL }, { "sorted", P_BOOL }, { "available_memory_proportion", P_HINT, OPTIONAL }),
	.flops = 4, .sample = { -2, 2 },
	.doc = "The `k` largest (or smallest) elements along `axis`, best first whatever `sorted` says, and their positions as i32. Among equals the lower position "
	       "comes first; NaN counts as above infinity.",
	.formula = "values, indices = the first k of the sorted line; dx = g at the indices, else 0");

/* --- median ------------------------------------------------------------------------------------------------------ */

/* [what stays…, n]: each block that becomes one value is a line */
static Tensor *blocks_as_lines(Build *b, Tensor *x, unsigned mask)
{
	Shape s = { .rank = 0 };
	int64_t n = 1;
	for (int i = 0; i < x->spec.shape.rank; i++)
		if (mask >> i & 1) n *= x->spec.shape.dim[i];
		else s.dim[s.rank++] = x->spec.shape.dim[i];
	s.dim[s.rank++] = n;
	return b_reshape(b, move_last(b, x, mask), s);
}

static int infer_median(Infer *in)
{
	if (!infer_need_number(in, 0) || !infer_reduce(in)) return 0;
	Shape s = infer_in(in, 0).shape;
	int64_t n = 1;
	for (int i = 0; i < s.rank; i++) n *= op_axes(in->op) >> i & 1 ? s.dim[i] : 1;
	return infer_nonempty(in, op_axes(in->op)) && check_length(in, n);
}

static int lower_median(Build *b, Op *op, Tensor **out)
{
	Op *at = ir_op(b, OP_median_at, (Tensor *[]){ blocks_as_lines(b, op->in.at[0], op_axes(op)) }, 1, 0, 0);
	out[0] = b_reshape(b, at->out.at[0], op->out.at[0]->spec.shape);
	return 1;
}

static void grad_median(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	unsigned mask = op_axes(op);
	Tensor *x = grad_fwd(gr, op->in.at[0]), *lines = blocks_as_lines(b, x, mask), *idx = ir_op(b, OP_median_at, &lines, 1, 0, 0)->out.at[1];
	Tensor *g = b_reshape(b, grad_of(gr, op, 0), idx->spec.shape);
	Tensor *d = put_at(b, g, idx, lines->spec.shape.dim[lines->spec.shape.rank - 1]);
	int perm[MAX_RANK], back[MAX_RANK];
	Shape moved = { .rank = x->spec.shape.rank };
	last_axes(moved.rank, mask, perm, back);
	for (int i = 0; i < moved.rank; i++) moved.dim[i] = x->spec.shape.dim[perm[i]];
	grad_add(gr, op, 0, move_back(b, b_reshape(b, d, moved), mask));
}

OPDEF(median, .type = "Median", .family = "order", .traits = PURE, .infer = infer_median, .lower = lower_median, .grad = grad_median,
	.params = PARAMS({ "t", P_TENSOR }, { "axis", P_INTS, OPTIONAL }, { "keepdims", P_BOOL, OPTIONAL }), .flops = 8, .sample = { -2, 2 },
	.doc = "The lower median: of n elements in order the one at position (n - 1) / 2, rounded down; nothing is averaged. Of no elements there is none, which is an error. NaN counts as above infinity. Over all "
	       "axes, or those given; `keepdims` leaves them in place as 1. The gradient goes to the first element that has the value.",
	.formula = "y = sorted(x)[(n - 1) / 2], dx = g at the element, else 0");

static int infer_median_at(Infer *in)
{
	Spec x = infer_in(in, 0);
	x.shape.dim[x.shape.rank - 1] = 1;
	in->out[0] = in->out[1] = x;
	in->out[1].dtype = DT_I32;
	return infer_need_number(in, 0);
}

static void emit_median_at(Emit *e, const Op *op)
{
	const char *d = emit_axis(e, op->in.at[0], op->in.at[0]->spec.shape.rank - 1);
	emit_rt(e, op, "median(ln, &%s, %s, %s, %s)", d, emit_in(e, op, 0), emit_out(e, op, 0), emit_out(e, op, 1));
}

OPDEF(median_at, .type = "MedianAt", .family = "order", .nout = 2, .traits = PURE | INTERNAL | NO_GRAD, .infer = infer_median_at, .emit = emit_median_at,
	.params = PARAMS({ "t", P_TENSOR }), .flops = 8, .sample = { -2, 2 },
	.doc = "The lower median of each line of the last axis, and the first position that has it.", .formula = "y = sorted(x)[(n - 1) / 2]");

/* --- histogram ------------------------------------------------------------------------------------------------------ */

static void round_levels(Infer *in, const AttrVal *levels)
{
	double *at = arena_dup(in->b->ir->mem, levels->floats.at, (size_t)levels->floats.n * sizeof *at);
	for (int i = 0; i < levels->floats.n; i++) at[i] = (double)(float)at[i];
	in->op->attr[op_param(in->def, "levels")].floats.at = at;
}

static int infer_histogram(Infer *in)
{
	const AttrVal *levels = op_attr(in->op, "levels");
	if (!infer_need_float(in, 0)) return 0;
	if (!levels->floats.n) return infer_error(in, E0310, "`levels` of `histogram` is empty"), 0;
	for (int i = 0; i < levels->floats.n; i++) {
		double at = levels->floats.at[i];
		if (at == at && (!i || at > levels->floats.at[i - 1])) continue;
		infer_error(in, E0310, "`levels` of `histogram` must rise, but level %d is %g%s", i, at, at == at && i ? ", no more than the one before" : "");
		return 0;
	}
	if (infer_in(in, 0).dtype != DT_F64) round_levels(in, levels);
	in->out[0] = (Spec){ .dtype = DT_U32, .shape = { .rank = 1, .dim = { levels->floats.n + 1 } } };
	return 1;
}

static void emit_histogram(Emit *e, const Op *op)
{
	const AttrVal *levels = op_attr(op, "levels");
	const Spec *x = &op->in.at[0]->spec;
	const char *list = emit_doubles(e, levels->floats.at, levels->floats.n);
	emit_rt(e, op, "histogram(ln, %d, %d, %d, (const double[])%s, %s, %" PRId64 ", %s)", x->dtype, (int)op_attr(op, "absolute_of_input")->i,
	        levels->floats.n, list, emit_in(e, op, 0), shape_nelems(x->shape), emit_out(e, op, 0));
}

OPDEF(histogram, .type = "Histogram", .family = "order", .traits = PURE | NO_GRAD, .infer = infer_histogram, .emit = emit_histogram,
	.params = PARAMS({ "t", P_TENSOR }, { "levels", P_FLOATS }, { "absolute_of_input", P_BOOL }), .flops = 8, .sample = { -2, 2 },
	.doc = "Counts the elements below the first level, between each level and the next, and from the last on, as u32: one number more than there are levels. An "
	       "element equal to a level counts above it; NaN counts nowhere. `absolute_of_input` counts |t|. Levels have the precision of f32, of f64 for an f64 tensor.",
	.formula = "y_0 = #{x < l_0}, y_i = #{l_(i-1) <= x < l_i}, y_n = #{x >= l_(n-1)}");
