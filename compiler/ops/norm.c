/* norm.c — normalisation over groups of channels, and by statistics that are given.
 *
 * layer_norm is group_norm with one group: it runs over all axes but the first, and scales by axis 1.  The
 * gradient takes the statistics anew from x, which is cheaper than keeping them: a group stays in cache. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>

/* operands first … last are [channels] of t's dtype */
static int check_channels(Infer *in, int first, int last)
{
	Spec x = infer_in(in, 0);
	for (int i = first; i <= last; i++) {
		Spec s = infer_in(in, i);
		const char *name = in->def->params[i].name;
		Arena *a = in->b->ir->mem;
		if (s.dtype == x.dtype && s.shape.rank == 1 && s.shape.dim[0] == x.shape.dim[1]) continue;
		Diag *d = infer_error(in, s.dtype != x.dtype ? E0303 : E0311, "`%s` of `%s` must be %s[%" PRId64 "]", name, in->def->name,
		                      dtype_info[x.dtype].name, x.shape.dim[1]);
		diag_label(in->b->ir->ds, d, "got %s", spec_str(a, s.dtype, s.shape));
		return 0;
	}
	return 1;
}

static int check_rank(Infer *in, int least)
{
	if (!infer_need_float(in, 0)) return 0;
	if (infer_in(in, 0).shape.rank >= least) return 1;
	infer_error(in, E0311, "`%s` needs a tensor of at least %d axes: batch and channels%s", in->def->name, least, least > 2 ? ", then others" : "");
	return 0;
}

static int64_t groups_of(const Op *op)
{
	return op_param(op_def(op), "num_groups") < 0 ? 1 : op_attr(op, "num_groups")->i;
}

static int infer_norm(Infer *in)
{
	int64_t n = groups_of(in->op), c;
	if (!check_rank(in, 2)) return 0;
	c = infer_in(in, 0).shape.dim[1];
	if (n < 1 || c % n) {
		infer_error(in, E0310, "`num_groups` of `%s` is %" PRId64 ", which does not divide %" PRId64 " channels", in->def->name, n, c);
		return 0;
	}
	return check_channels(in, 1, in->op->in.n > 2 && in->def->id != OP_group_norm_grad ? 2 : 1) && infer_same(in);
}

static int infer_norm_grad(Infer *in)
{
	in->out[1] = infer_in(in, 0);
	return infer_need_float(in, 2) && infer_equal_shapes(in, 0, 2) && infer_norm(in);
}

/* dx from the kernel, which gives x̂ besides: weight and bias sum over all axes but that of channels */
static void grad_norm(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *in[] = { grad_fwd(gr, op->in.at[0]), grad_fwd(gr, op->in.at[1]), g };
	AttrVal *v = b_attrs(b, OP_group_norm_grad, "num_groups", attr_int(groups_of(op)), "eps", *op_attr(op, "eps"), NULL);
	unsigned others = ((1u << g->spec.shape.rank) - 1) & ~2u;
	Op *back = ir_op(b, OP_group_norm_grad, in, 3, v, 0);
	grad_add(gr, op, 0, back->out.at[0]);
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, b_sum(b, b_op2(b, OP_mul, g, back->out.at[1]), others, 0));
	if (grad_wanted(gr, op, 2)) grad_add(gr, op, 2, b_sum(b, g, others, 0));
}

static const char *emit_norm_desc(Emit *e, const Op *op)
{
	Spec x = op->in.at[0]->spec;
	int64_t inner = 1, per = x.shape.dim[1] / groups_of(op);
	for (int i = 2; i < x.shape.rank; i++) inner *= x.shape.dim[i];
	return emit_static(e, "struct pxlrt_norm", "{ %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %.17g }", x.dtype, x.shape.dim[0],
	                   groups_of(op), per, inner, op_attr(op, "eps")->f);
}

static void emit_norm(Emit *e, const Op *op)
{
	emit_rt(e, op, "group_norm(ln, &%s, %s, %s, %s, %s)", emit_norm_desc(e, op), emit_in(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 2), emit_out(e, op, 0));
}

static void emit_norm_grad(Emit *e, const Op *op)
{
	emit_rt(e, op, "group_norm_grad(ln, &%s, %s, %s, %s, %s, %s)", emit_norm_desc(e, op), emit_in(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 2),
	        emit_out(e, op, 0), emit_out(e, op, 1));
}

#define A_NORM .family = "norm", .infer = infer_norm, .grad = grad_norm, .emit = emit_norm, .traits = PURE, .flops = 8, .sample = { -2, 2 }
#define SCALED { "t", P_TENSOR }, { "weight", P_TENSOR }, { "bias", P_TENSOR }
#define EPS { "eps", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1e-5) }
#define NORM_FORMULA "y = h * weight + bias, h = (x - mean) * r, r = 1 / sqrt(var + eps); p = g * weight, dx = r * (p - mean p - h * mean(p h)), " \
	"dweight = sum g h, dbias = sum g"

OPDEF(group_norm, .type = "GroupNormalization", A_NORM, .params = PARAMS(SCALED, { "num_groups", P_INT }, EPS), .formula = NORM_FORMULA,
	.doc = "Cuts the channels (axis 1) of each item of the batch (axis 0) into `num_groups` neighbouring blocks, brings each block, with all later axes, to "
	       "mean 0 and variance 1 (the biased one, plus `eps`), then scales and shifts by channel. `num_groups` must divide the channels.");
OPDEF(layer_norm, .type = "GroupNormalization", A_NORM, .params = PARAMS(SCALED, EPS), .formula = NORM_FORMULA,
	.doc = "`group_norm` with one group: it normalises over all axes but the first, and scales and shifts by axis 1. To normalise the last axis alone, "
	       "reshape to two axes first.");
OPDEF(group_norm_grad, .type = "GroupNormalizationGrad", .family = "norm", .nout = 2,
	.params = PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, { "g", P_TENSOR }, { "num_groups", P_INT }, EPS),
	.infer = infer_norm_grad, .emit = emit_norm_grad, .traits = PURE | INTERNAL | GRAD_ERROR, .flops = 12, .sample = { -2, 2 },
	.doc = "Gradient of `group_norm` for its tensor, and the normalised tensor.", .formula = "dx = r * (p - mean p - h * mean(p h)), h = (x - mean) * r");

/* --- by given statistics ---------------------------------------------------------------------------------- */

static int infer_batch_norm(Infer *in)
{
	return check_rank(in, 3) && check_channels(in, 1, 4) && infer_same(in);
}

/* norms are computed in f32 at least, and rounded once */
static Tensor *wide(Build *b, Tensor *x) { return b_cast(b, x, x->spec.dtype == DT_F64 ? DT_F64 : DT_F32); }
static Tensor *by_channel(Build *b, const Op *op, int i)
{
	return wide(b, b_keepdims(b, op->in.at[i], op->in.at[0]->spec.shape, ~2u));
}

/* elementwise ops, which fuse into one pass */
static int lower_batch_norm(Build *b, Op *op, Tensor **out)
{
	Tensor *var = by_channel(b, op, 4);
	Tensor *root = b_op1(b, OP_sqrt, b_op2(b, OP_add, var, b_like(b, var, op_attr(op, "epsilon")->f)));
	Tensor *h = b_op2(b, OP_div, b_op2(b, OP_sub, wide(b, op->in.at[0]), by_channel(b, op, 3)), root);
	h = b_op2(b, OP_add, b_op2(b, OP_mul, h, by_channel(b, op, 1)), by_channel(b, op, 2));
	out[0] = b_cast(b, h, op->in.at[0]->spec.dtype);
	return 1;
}

OPDEF(batch_norm_inference, .type = "BatchNormalization", .family = "norm",
	.params = PARAMS({ "t", P_TENSOR }, { "scale", P_TENSOR }, { "bias", P_TENSOR }, { "mean", P_TENSOR }, { "var", P_TENSOR },
		{ "epsilon", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1e-5) }, { "momentum", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(0.9) }),
	.infer = infer_batch_norm, .lower = lower_batch_norm, .traits = PURE | GRAD_ERROR, .flops = 5, .sample = { 0.5, 2 },
	.doc = "Normalises each channel (axis 1 of at least 3) by a mean and a variance that are given, then scales and shifts it. `momentum` has no effect. "
	       "A gradient cannot pass.",
	.formula = "y = (t - mean) / sqrt(var + epsilon) * scale + bias");
