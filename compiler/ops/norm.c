/* norm.c — normalisation over groups of channels, and by statistics that are given.
 *
 * layer_norm is group_norm with one group: it runs over all axes but the first, and scales by axis 1.  The gradient takes
 * the statistics anew from x, which costs less than keeping them: a group is in cache anyway. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>

/* --- what they share ------------------------------------------------------------------------------------------- */

/* operands first … last are [channels] of t's dtype */
static int check_channels(Infer *in, int first, int last)
{
	Spec x = infer_in(in, 0);
	for (int i = first; i <= last; i++) {
		Spec s = infer_in(in, i);
		if (s.dtype == x.dtype && s.shape.rank == 1 && s.shape.dim[0] == x.shape.dim[1]) continue;
		Diag *d = infer_error(in, s.dtype != x.dtype ? E0303 : E0311, "`%s` of `%s` must be %s[%" PRId64 "]", in->def->params[i].name,
		                      in->def->name, dtype_info[x.dtype].name, x.shape.dim[1]);
		diag_label(in->b->ir->ds, d, "got %s", spec_str(in->b->ir->mem, s.dtype, s.shape));
		return 0;
	}
	return 1;
}

static int check_tensor(Infer *in, int least)
{
	int rank = infer_in(in, 0).shape.rank;
	if (!infer_need_float(in, 0)) return 0;
	if (rank >= least) return 1;
	Diag *d = infer_error(in, E0313, "`%s` needs a tensor of at least %d axes", in->def->name, least);
	diag_label(in->b->ir->ds, d, "expected batch, channels%s; it has rank %d", least > 2 ? ", and more" : "", rank);
	return 0;
}

static int64_t groups_of(const Op *op)
{
	return op_param(op_def(op), "num_groups") < 0 ? 1 : op_attr(op, "num_groups")->i;
}

static int check_groups(Infer *in)
{
	int64_t n = groups_of(in->op);
	if (!check_tensor(in, 2)) return 0;
	int64_t c = infer_in(in, 0).shape.dim[1];
	if (n >= 1 && c % n == 0) return 1;
	Diag *d = infer_error(in, E0310, "`num_groups` of `%s` must divide the channels", in->def->name);
	diag_label(in->b->ir->ds, d, "%" PRId64 " groups of %" PRId64 " channels", n, c);
	return 0;
}

/* [batch, groups · per, inner] */
typedef struct Cut { int64_t n, groups, per, inner; } Cut;

static Cut cut_of(const Op *op)
{
	Shape x = op->in.at[0]->spec.shape;
	Cut c = { x.dim[0], groups_of(op), x.dim[1] / groups_of(op), 1 };
	for (int i = 2; i < x.rank; i++) c.inner *= x.dim[i];
	return c;
}

/* Items of the batch that share sums for the weights: enough work for a piece, and few enough that the sums are small beside x. */
static int64_t rows_of(Cut c)
{
	int64_t item = c.groups * c.per * c.inner, rows = 32768 / (item > 0 ? item : 1), least = c.inner >= 16 ? 1 : 16;
	return rows > 64 ? 64 : rows < least ? least : rows;
}

static const char *emit_cut(Emit *e, const Op *op)
{
	Cut c = cut_of(op);
	return emit_static(e, "struct pxlrt_norm", "{ %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %s }", op->in.at[0]->spec.dtype,
	                   c.n, c.groups, c.per, c.inner, rows_of(c), emit_float(e, op_attr(op, "eps")->f));
}

/* --- group_norm, layer_norm -------------------------------------------------------------------------------------- */

static int infer_norm(Infer *in) { return check_groups(in) && check_channels(in, 1, 2) && infer_same(in); }

static void emit_norm(Emit *e, const Op *op)
{
	emit_rt(e, op, "group_norm(ln, &%s, %s, %s, %s, %s)", emit_cut(e, op), emit_in(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 2), emit_out(e, op, 0));
}

static void grad_norm(Grad *gr, Op *op)
{
	Tensor *in[] = { grad_fwd(gr, op->in.at[0]), grad_fwd(gr, op->in.at[1]), grad_of(gr, op, 0) };
	AttrVal *v = b_attrs(&gr->b, OP_group_norm_grad, "num_groups", attr_int(groups_of(op)), "eps", *op_attr(op, "eps"), NULL);
	Op *back = ir_op(&gr->b, OP_group_norm_grad, in, 3, v, 0);
	for (int i = 0; i < back->out.n; i++) grad_add(gr, op, i, back->out.at[i]);
}

#define A_NORM .type = "GroupNormalization", .family = "norm", .infer = infer_norm, .grad = grad_norm, .emit = emit_norm, .traits = PURE, \
	.flops = 8, .sample = { -2, 2 }, \
	.formula = "y = h w + b, h = (x - mean) r, r = 1 / sqrt(var + eps); p = g w, dx = r (p - mean p - h mean(p h)), dw = sum g h, db = sum g"
#define SCALED { "t", P_TENSOR }, { "weight", P_TENSOR }, { "bias", P_TENSOR }
#define EPS { "eps", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1e-5) }

OPDEF(group_norm, A_NORM, .params = PARAMS(SCALED, { "num_groups", P_INT }, EPS),
	.doc = "Cuts the channels (axis 1) of each item of the batch (axis 0) into `num_groups` neighbouring blocks, brings each block, with all later axes, to "
	       "mean 0 and variance 1 (the biased one, plus `eps`), then scales by `weight` and shifts by `bias`, which have one element for each channel. "
	       "`num_groups` divides the channels. 16-bit floats are computed in f32.");
OPDEF(layer_norm, A_NORM, .params = PARAMS(SCALED, EPS),
	.doc = "`group_norm` with one group: it normalises over all axes but the first, and scales and shifts by axis 1. To normalise the last axis alone, "
	       "reshape to two axes first.");

/* --- the gradient --------------------------------------------------------------------------------------------------- */

static int infer_norm_grad(Infer *in)
{
	if (!check_groups(in) || !check_channels(in, 1, 1) || !infer_equal_shapes(in, 0, 2)) return 0;
	in->out[1] = in->out[2] = infer_in(in, 1);
	return infer_same(in);
}

static int lower_norm_grad(Build *b, Op *op, Tensor **out)
{
	AttrVal *v = b_attrs(b, OP_group_norm_parts, "num_groups", *op_attr(op, "num_groups"), "eps", *op_attr(op, "eps"), NULL);
	Op *parts = ir_op(b, OP_group_norm_parts, op->in.at, 3, v, 0);
	out[0] = parts->out.at[0];
	for (int i = 1; i < 3; i++) out[i] = b_cast(b, b_sum(b, parts->out.at[i], 1, 0), out[0]->spec.dtype);
	return 1;
}

/* x as [batch, groups, elements of one], and what has one number for each group or channel beside it */
typedef struct View { Build *b; Shape x, grouped; Cut c; } View;

static Tensor *grouped(const View *v, Tensor *x) { return b_reshape(v->b, x, v->grouped); }
static Tensor *means(const View *v, Tensor *x)
{
	return b_reduce_op(v->b, OP_mean, x, 4, 1);
}
static Tensor *mul(const View *v, Tensor *x, Tensor *y) { return b_op2(v->b, OP_mul, x, y); }
static Tensor *sub(const View *v, Tensor *x, Tensor *y) { return b_op2(v->b, OP_sub, x, y); }
static Tensor *add(const View *v, Tensor *x, Tensor *y) { return b_op2(v->b, OP_add, x, y); }

/* one number for each channel, at every element of the groups */
static Tensor *spread(const View *v, Tensor *channels)
{
	Shape beside = { .rank = 4, .dim = { 1, v->c.groups, v->c.per, 1 } }, full = { .rank = 4, .dim = { v->c.n, v->c.groups, v->c.per, v->c.inner } };
	return grouped(v, b_broadcast(v->b, b_reshape(v->b, channels, beside), full));
}

static Tensor *by_channel(const View *v, Tensor *x)
{
	return b_sum(v->b, b_reshape(v->b, x, (Shape){ .rank = 3, .dim = { v->c.n, v->c.groups * v->c.per, v->c.inner } }), 1u | 4u, 0);
}

/* p less its mean and its part along h: what is left of a gradient behind h */
static Tensor *projected(const View *v, Tensor *p, Tensor *h)
{
	return sub(v, sub(v, p, means(v, p)), mul(v, h, means(v, mul(v, p, h))));
}

/* With u, a, c coming in for dx, dw, db, and P the projection, which is symmetric: p = g w receives r P(u), g besides a h + c.
 * h receives H = a g - r (u mean(p h) + p mean(u h)), and x of that r P(H), less h r² mean(u P(p)) by way of r. */
static void grad_norm_grad(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Cut c = cut_of(op);
	View v = { b, op->in.at[0]->spec.shape, { .rank = 3, .dim = { c.n, c.groups, c.per * c.inner } }, c };
	Tensor *x = grouped(&v, grad_fwd(gr, op->in.at[0])), *w = spread(&v, grad_fwd(gr, op->in.at[1])), *g = grouped(&v, grad_fwd(gr, op->in.at[2]));
	Tensor *u = grouped(&v, grad_of(gr, op, 0)), *dw = spread(&v, grad_of(gr, op, 1)), *db = spread(&v, grad_of(gr, op, 2));
	Tensor *d = sub(&v, x, means(&v, x)), *var = means(&v, mul(&v, d, d));
	Tensor *r = b_op2(b, OP_div, b_like(b, var, 1), b_op1(b, OP_sqrt, add(&v, var, b_like(b, var, op_attr(op, "eps")->f))));
	Tensor *h = mul(&v, d, r), *p = mul(&v, g, w), *q = mul(&v, r, projected(&v, u, h));
	grad_add(gr, op, 1, by_channel(&v, mul(&v, g, q)));
	grad_add(gr, op, 2, b_reshape(b, add(&v, add(&v, mul(&v, w, q), mul(&v, dw, h)), db), v.x));
	Tensor *along = add(&v, mul(&v, u, means(&v, mul(&v, p, h))), mul(&v, p, means(&v, mul(&v, u, h))));
	Tensor *of_h = sub(&v, mul(&v, dw, g), mul(&v, r, along));
	Tensor *of_r = mul(&v, mul(&v, r, r), means(&v, mul(&v, u, projected(&v, p, h))));
	grad_add(gr, op, 0, b_reshape(b, sub(&v, mul(&v, r, projected(&v, of_h, h)), mul(&v, h, of_r)), v.x));
}

#define BACK PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, { "g", P_TENSOR }, { "num_groups", P_INT }, EPS)

OPDEF(group_norm_grad, .type = "GroupNormalizationGrad", .family = "norm", .nout = 3, .params = BACK, .infer = infer_norm_grad,
	.lower = lower_norm_grad, .grad = grad_norm_grad, .traits = PURE | INTERNAL, .flops = 12, .sample = { -2, 2 },
	.doc = "Gradient of `group_norm` for its tensor, weight and bias.", .formula = "dx, dw, db as in group_norm");

static int infer_norm_parts(Infer *in)
{
	if (!infer_norm_grad(in)) return 0;
	Cut c = cut_of(in->op);
	int64_t rows = rows_of(c);
	in->out[1].shape = (Shape){ .rank = 2, .dim = { (c.n + rows - 1) / rows, c.groups * c.per } };
	if (in->out[1].dtype != DT_F64) in->out[1].dtype = DT_F32;
	in->out[2] = in->out[1];
	return 1;
}

static void emit_norm_parts(Emit *e, const Op *op)
{
	emit_rt(e, op, "group_norm_back(ln, &%s, %s, %s, %s, %s, %s, %s)", emit_cut(e, op), emit_in(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 2),
	        emit_out(e, op, 0), emit_out(e, op, 1), emit_out(e, op, 2));
}

OPDEF(group_norm_parts, .type = "GroupNormalizationGradParts", .family = "norm", .nout = 3, .params = BACK, .infer = infer_norm_parts,
	.emit = emit_norm_parts, .traits = PURE | INTERNAL | GRAD_ERROR, .flops = 12, .sample = { -2, 2 },
	.doc = "group_norm_grad, with the gradients of weight and bias as a row for each part of the batch.", .formula = "as group_norm_grad");

/* --- by given statistics ---------------------------------------------------------------------------------------------- */

static int infer_batch_norm(Infer *in) { return check_tensor(in, 3) && check_channels(in, 1, 4) && infer_same(in); }

/* what has one number for each channel is computed there; the rest is elementwise, and fuses into one pass */
static int lower_batch_norm(Build *b, Op *op, Tensor **out)
{
	DType t = op->in.at[0]->spec.dtype, wide = t == DT_F64 ? DT_F64 : DT_F32;
	Tensor *in[5];
	for (int i = 0; i < 5; i++) {
		in[i] = b_cast(b, op->in.at[i], wide);
		if (i) in[i] = b_keepdims(b, in[i], in[0]->spec.shape, ~2u);
	}
	Tensor *root = b_op1(b, OP_sqrt, b_op2(b, OP_add, in[4], b_like(b, in[4], op_attr(op, "epsilon")->f)));
	Tensor *scaled = b_op2(b, OP_mul, b_op2(b, OP_sub, in[0], in[3]), b_op2(b, OP_div, in[1], root));
	out[0] = b_cast(b, b_op2(b, OP_add, scaled, in[2]), t);
	return 1;
}

OPDEF(batch_norm_inference, .type = "BatchNormalization", .family = "norm",
	.params = PARAMS({ "t", P_TENSOR }, { "scale", P_TENSOR }, { "bias", P_TENSOR }, { "mean", P_TENSOR }, { "var", P_TENSOR },
		{ "epsilon", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1e-5) }, { "momentum", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(0.9) }),
	.infer = infer_batch_norm, .lower = lower_batch_norm, .traits = PURE | GRAD_ERROR, .flops = 5, .sample = { 0.5, 2 },
	.doc = "Normalises each channel (axis 1 of at least 3) by a mean and a variance that are given, then scales and shifts it. `momentum` has no effect. "
	       "No gradient can pass.",
	.formula = "y = (t - mean) / sqrt(var + epsilon) * scale + bias");
