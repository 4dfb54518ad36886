/* loss.c — softmax and the losses over classes.
 *
 * Scores x are [..., classes], labels an integer tensor of the same shape without the last axis.  The
 * kernels work on [rows, classes]; one descriptor (struct pxlrt_nll) serves all of them. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>
#include <string.h>

/* --- softmax ------------------------------------------------------------------------------------------------- */

static int infer_softmax(Infer *in)
{
	int axis;
	if (!infer_need_float(in, 0) || !infer_axis(in, op_attr(in->op, "axis")->i, infer_in(in, 0).shape.rank, &axis)) return 0;
	infer_set_int(in, "axis", axis);
	return infer_same(in);
}

static Tensor *softmax_grad(Build *b, Tensor *y, Tensor *dy, const AttrVal *axis)
{
	return ir_op(b, OP_softmax_grad, (Tensor *[]){ y, dy }, 2, b_attrs(b, OP_softmax_grad, "axis", *axis, NULL), 0)->out.at[0];
}

static void grad_softmax(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, softmax_grad(&gr->b, grad_fwd(gr, op->out.at[0]), grad_of(gr, op, 0), op_attr(op, "axis")));
}

static void emit_soft(Emit *e, const Op *op, int log)
{
	const char *d = emit_axis(e, op->in.at[0], (int)op_attr(op, "axis")->i);
	emit_rt(e, op, "softmax(ln, &%s, %d, %s, %s)", d, log, emit_in(e, op, 0), emit_out(e, op, 0));
}
static void emit_softmax(Emit *e, const Op *op) { emit_soft(e, op, 0); }
static void emit_log_softmax(Emit *e, const Op *op) { emit_soft(e, op, 1); }

OPDEF(softmax, .type = "Softmax", .family = "loss", .params = PARAMS({ "t", P_TENSOR }, { "axis", P_INT }), .traits = PURE,
	.infer = infer_softmax, .grad = grad_softmax, .emit = emit_softmax, .flops = 12, .sample = { -2, 2 },
	.doc = "Exponentials along one axis divided by their sum, with the maximum taken out first.",
	.formula = "y = e^(x-m) / sum e^(x-m), m = max x, dx = y * (g - sum g y)");

/* z = y (d - s), s = sum d y: dd = softmax_grad(y, dz), dy = dz (d - s) - d sum(dz y) */
static void grad_softmax_grad(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *dz = grad_of(gr, op, 0), *y = grad_fwd(gr, op->in.at[0]), *d = grad_fwd(gr, op->in.at[1]);
	unsigned axis = 1u << op_attr(op, "axis")->i;
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, softmax_grad(b, y, dz, op_attr(op, "axis")));
	if (!grad_wanted(gr, op, 0)) return;
	Tensor *s = b_sum(b, b_op2(b, OP_mul, d, y), axis, 1), *u = b_sum(b, b_op2(b, OP_mul, dz, y), axis, 1);
	Tensor *left = b_op2(b, OP_mul, dz, b_op2(b, OP_sub, d, s));
	grad_add(gr, op, 0, b_op2(b, OP_sub, left, b_op2(b, OP_mul, d, u)));
}

static void emit_softmax_grad(Emit *e, const Op *op)
{
	const char *d = emit_axis(e, op->in.at[0], (int)op_attr(op, "axis")->i);
	emit_rt(e, op, "softmax_grad(ln, &%s, %s, %s, %s)", d, emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

static int infer_softmax_grad(Infer *in)
{
	return infer_softmax(in) && infer_equal_shapes(in, 0, 1);
}

OPDEF(softmax_grad, .type = "SoftmaxGrad", .family = "loss", .params = PARAMS({ "y", P_TENSOR }, { "dy", P_TENSOR }, { "axis", P_INT }),
	.traits = PURE | INTERNAL, .infer = infer_softmax_grad, .grad = grad_softmax_grad, .emit = emit_softmax_grad, .flops = 4, .sample = { -2, 2 },
	.doc = "Gradient of softmax from its result.", .formula = "y * (dy - sum dy y)");

/* dx = g - e^y sum g */
static void grad_log_softmax(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *p = b_op1(b, OP_exp, grad_fwd(gr, op->out.at[0]));
	Tensor *sum = b_sum(b, g, 1u << op_attr(op, "axis")->i, 1);
	grad_add(gr, op, 0, b_op2(b, OP_sub, g, b_op2(b, OP_mul, p, sum)));
}

OPDEF(log_softmax, .type = "LogSoftmax", .family = "loss",
	.params = PARAMS({ "t", P_TENSOR }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(-1) }), .traits = PURE,
	.infer = infer_softmax, .grad = grad_log_softmax, .emit = emit_log_softmax, .flops = 12, .sample = { -2, 2 },
	.doc = "Logarithm of `softmax`, by default along the last axis; accurate also where the softmax itself would round to 0.",
	.formula = "y = x - m - ln sum e^(x-m), m = max x, dx = g - e^y * sum g");

/* --- what losses share ------------------------------------------------------------------------------------------ */

static const char *const reductions[] = { "mean", "sum", "none", 0 };
enum { MEAN, SUM, NONE };

static int reduction_of(const Op *op)
{
	int i = 0;
	while (reductions[i + 1] && strcmp(reductions[i], op_attr(op, "reduction")->s)) i++;
	return i;
}

static int check_labels(Infer *in)
{
	Ir *ir = in->b->ir;
	Spec x = infer_in(in, 0), l = infer_in(in, 1);
	if (!infer_need_float(in, 0)) return 0;
	if (!x.shape.rank) return infer_error(in, E0313, "`%s` needs scores with an axis of classes, got a scalar", in->def->name), 0;
	if (!dtype_is_int(l.dtype)) {
		Diag *d = infer_error(in, E0304, "labels of `%s` must be integers, got %s", in->def->name, dtype_info[l.dtype].name);
		diag_help(ir->ds, d, (Span){ 0, 0, 0 }, "convert them: `.cast(i32)`");
		return 0;
	}
	Shape want = x.shape;
	want.rank--;
	if (shape_eq(want, l.shape)) return 1;
	Diag *d = infer_error(in, E0318, "labels of `%s` do not fit the scores", in->def->name);
	diag_label(ir->ds, d, "expected labels of shape %s, got %s", shape_str(ir->mem, want), shape_str(ir->mem, l.shape));
	return 0;
}

/* result 0: the loss */
static int infer_loss(Infer *in)
{
	int r = infer_word(in, "reduction", reductions);
	if (r < 0 || !check_labels(in)) return 0;
	in->out[0] = (Spec){ .dtype = infer_in(in, 0).dtype };
	if (r == NONE) in->out[0].shape = infer_in(in, 1).shape;
	return 1;
}

/* result 1: the gradient of the scores */
static int infer_loss_and_grad(Infer *in)
{
	if (!infer_loss(in)) return 0;
	in->out[1] = (Spec){ .dtype = infer_in(in, 0).dtype, .shape = infer_in(in, 0).shape };
	const Tensor *k = infer_tensor(in, 2);
	if (!k) return 1;
	if (k->spec.dtype != in->out[0].dtype && k->spec.dtype != DT_F32) {
		Diag *d = infer_error(in, E0303, "the factor of `%s` has the scores' element type, or f32", in->def->name);
		diag_label(in->b->ir->ds, d, "it is %s, the scores are %s", dtype_info[k->spec.dtype].name, dtype_info[in->out[0].dtype].name);
		return 0;
	}
	if (shape_nelems(k->spec.shape) == 1) return 1;
	if (reduction_of(in->op) == NONE && shape_eq(k->spec.shape, infer_in(in, 1).shape)) return 1;
	Diag *d = infer_error(in, E0312, "the factor of `%s` must be a number or a tensor of one element", in->def->name);
	diag_label(in->b->ir->ds, d, "it has shape %s; with reduction \"none\" it may have that of the labels", shape_str(in->b->ir->mem, k->spec.shape));
	return 0;
}

/* the least number has no literal of its own in C */
static const char *emit_long(Emit *e, int64_t x)
{
	return x == INT64_MIN ? "(-9223372036854775807LL - 1)" : arena_printf(emit_mem(e), "%" PRId64 "LL", x);
}

static const char *nll_static(Emit *e, const Op *op, int log_prob)
{
	static const int kind[] = { PXLRT_MEAN_LOSS, PXLRT_SUM_LOSS, PXLRT_NO_REDUCTION };
	const Spec *x = &op->in.at[0]->spec, *l = &op->in.at[1]->spec;
	const AttrVal *ignore = op_attr(op, "ignore_index");
	int half = x->dtype == DT_F16;
	int64_t rows = shape_nelems(l->shape), classes = x->shape.dim[x->shape.rank - 1];
	return emit_static(e, "struct pxlrt_nll", "{ %d, %d, %d, %d, %d, %" PRId64 ", %" PRId64 ", %s, %s, %s }", x->dtype, l->dtype,
		kind[reduction_of(op)], ignore->set, log_prob, rows, classes, emit_long(e, ignore->set ? ignore->i : 0),
		emit_float(e, half ? 6.104e-5 : 1e-7), emit_float(e, half ? 6.104e-5 : 1e-10));
}

#define LOSS_OPTIONS { "ignore_index", P_INT, OPTIONAL }, { "reduction", P_STR, OPTIONAL, STR_DEFAULT("mean") }

/* the options of a loss, for the op that is its gradient */
static Tensor *loss_gradient(Build *b, OpCode code, const Op *op, Tensor *x, Tensor *labels, Tensor *g)
{
	AttrVal *v = b_attrs(b, code, "ignore_index", *op_attr(op, "ignore_index"), "reduction", *op_attr(op, "reduction"),
	                     "log_prob", *op_attr(op, "log_prob"), NULL);
	return ir_op(b, (int)code, (Tensor *[]){ x, labels, g }, 3, v, 0)->out.at[0];
}

/* --- nll_loss ------------------------------------------------------------------------------------------------------ */

static void grad_nll_loss(Grad *gr, Op *op)
{
	if (!grad_wanted(gr, op, 0)) return;
	grad_add(gr, op, 0, loss_gradient(&gr->b, OP_nll_loss_grad, op, grad_fwd(gr, op->in.at[0]), grad_fwd(gr, op->in.at[1]), grad_of(gr, op, 0)));
}

static void emit_nll_loss(Emit *e, const Op *op)
{
	const char *d = nll_static(e, op, (int)op_attr(op, "log_prob")->i);
	emit_rt(e, op, "nll(ln, &%s, %s, %s, %s)", d, emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

OPDEF(nll_loss, .type = "Nll", .family = "loss",
	.params = PARAMS({ "probs", P_TENSOR }, { "labels", P_TENSOR }, LOSS_OPTIONS, { "log_prob", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE, .infer = infer_loss, .fails = fails_always, .grad = grad_nll_loss, .emit = emit_nll_loss, .flops = 1, .sample = { 0.1, 1 },
	.doc = "Negative logarithm of the probability given to each label, which is kept from going below 1e-7 (6.104e-5 in f16). `probs` are "
	       "probabilities, or with `log_prob` their logarithms. `reduction` is mean, sum or none; items whose label is `ignore_index` count 0, and the "
	       "mean is then over the rest (0 if there are none). The mean over no items is NaN. A label out of range is a run-time error.",
	.formula = "l = -ln(max(p[label], eps)), dp[label] = -G / max(p[label], 1e-10), G = g or g / items");

static int infer_loss_gradient(Infer *in)
{
	if (infer_word(in, "reduction", reductions) < 0 || !check_labels(in)) return 0;
	in->out[0] = (Spec){ .dtype = infer_in(in, 0).dtype, .shape = infer_in(in, 0).shape };
	return 1;
}

static void emit_nll_loss_grad(Emit *e, const Op *op)
{
	const char *d = nll_static(e, op, (int)op_attr(op, "log_prob")->i);
	emit_rt(e, op, "nll_grad(ln, &%s, %s, %s, %s, %s)", d, emit_in(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 2), emit_out(e, op, 0));
}

OPDEF(nll_loss_grad, .type = "NllGrad", .family = "loss",
	.params = PARAMS({ "probs", P_TENSOR }, { "labels", P_TENSOR }, { "g", P_TENSOR }, LOSS_OPTIONS, { "log_prob", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_loss_gradient, .fails = fails_always, .emit = emit_nll_loss_grad, .flops = 1, .sample = { 0.1, 1 },
	.doc = "Gradient of nll_loss.", .formula = "dp[label] = -G / max(p[label], 1e-10), 0 elsewhere");

/* --- losses that give the gradient along -------------------------------------------------------------------------------- */

/* The kernels take the factor as a tensor: one element of the scores' dtype, or one per label. */
static int lower_factor(Build *b, Op *op, Tensor **out)
{
	const char *name = op_def(op)->params[2].name;
	Tensor *x = op->in.at[0], *labels = op->in.at[1], *k = op->in.n > 2 ? op->in.at[2] : 0;
	Shape s = reduction_of(op) == NONE ? labels->spec.shape : (Shape){ .rank = 0 };
	if (k && k->spec.dtype == x->spec.dtype && shape_eq(k->spec.shape, s)) return 0;
	k = k ? b_cast(b, k, x->spec.dtype) : b_scalar(b, x->spec.dtype, op_attr(op, name)->f);
	if (!shape_eq(k->spec.shape, s)) k = b_broadcast(b, b_reshape(b, k, (Shape){ .rank = 0 }), s);
	Op *same = ir_op(b, op->code, (Tensor *[]){ x, labels, k }, 3, op->attr, 0);
	out[0] = same->out.at[0];
	out[1] = same->out.at[1];
	return 1;
}

static void emit_fused_loss(Emit *e, const Op *op, int from_logits)
{
	emit_rt(e, op, "softmax_nll(ln, &%s, %d, %s, %s, %s, %s, %s)", nll_static(e, op, 0), from_logits, emit_in(e, op, 0), emit_in(e, op, 1),
	        emit_in(e, op, 2), emit_out(e, op, 0), emit_out(e, op, 1));
}
static void emit_from_probs(Emit *e, const Op *op)  { emit_fused_loss(e, op, 0); }
static void emit_from_logits(Emit *e, const Op *op) { emit_fused_loss(e, op, 1); }

OPDEF(nll_loss_with_softmax_grad, .type = "NlllWithSoftmaxGradDirect", .family = "loss", .nout = 2,
	.params = PARAMS({ "probs", P_TENSOR }, { "labels", P_TENSOR }, { "loss_grad", P_SCALAR, OPTIONAL, FLOAT_DEFAULT(1) }, LOSS_OPTIONS),
	.traits = PURE | NO_GRAD, .infer = infer_loss_and_grad, .lower = lower_factor, .fails = fails_always, .emit = emit_from_probs, .flops = 3, .sample = { 0.1, 1 },
	.doc = "Loss and gradient at once: `probs` are the result of a softmax, and the second result is the gradient of that softmax's operand, times "
	       "`loss_grad`. The loss adds 1e-7 (6.104e-5 in f16) to the probability before its logarithm.",
	.formula = "l = -ln(p[label] + eps), dx = (p - onehot(label)) * G, G = loss_grad or loss_grad / items");

OPDEF(cross_entropy_with_grad, .type = "CrossEntropyWithGrad", .family = "loss", .nout = 2,
	.params = PARAMS({ "x", P_TENSOR }, { "labels", P_TENSOR }, { "loss_scaling", P_SCALAR, OPTIONAL, FLOAT_DEFAULT(1) }, LOSS_OPTIONS),
	.traits = PURE | NO_GRAD, .infer = infer_loss_and_grad, .lower = lower_factor, .fails = fails_always, .emit = emit_from_logits, .flops = 14, .sample = { -2, 2 },
	.doc = "Cross entropy of scores with labels, and its gradient with respect to the scores times `loss_scaling`; the loss itself is not scaled.",
	.formula = "p = softmax(x), l = -ln(max(p[label], eps)), dx = (p - onehot(label)) * loss_scaling / items");

/* --- cross_entropy ------------------------------------------------------------------------------------------------------- */

static void grad_cross_entropy(Grad *gr, Op *op)
{
	if (!grad_wanted(gr, op, 0)) return;
	grad_add(gr, op, 0, loss_gradient(&gr->b, OP_cross_entropy_grad, op, grad_fwd(gr, op->in.at[0]), grad_fwd(gr, op->in.at[1]), grad_of(gr, op, 0)));
}

static void emit_cross_entropy(Emit *e, const Op *op)
{
	emit_rt(e, op, "softmax_nll(ln, &%s, 1, %s, %s, 0, %s, 0)", nll_static(e, op, 0), emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

OPDEF(cross_entropy, .type = "CrossEntropy", .family = "loss", .params = PARAMS({ "x", P_TENSOR }, { "labels", P_TENSOR }, LOSS_OPTIONS),
	.traits = PURE, .infer = infer_loss, .fails = fails_always, .grad = grad_cross_entropy, .emit = emit_cross_entropy, .flops = 14, .sample = { -2, 2 },
	.doc = "Cross entropy of scores with labels: softmax over the last axis, then the negative logarithm of the label's probability, which is kept from "
	       "going below 1e-7 (6.104e-5 in f16). `reduction` and `ignore_index` are those of `nll_loss`.",
	.formula = "p = softmax(x), l = -ln(max(p[label], eps)), dx = (p - onehot(label)) * g / items");

static void emit_cross_entropy_grad(Emit *e, const Op *op)
{
	emit_rt(e, op, "softmax_nll(ln, &%s, 1, %s, %s, %s, 0, %s)", nll_static(e, op, 0), emit_in(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 2),
	        emit_out(e, op, 0));
}

OPDEF(cross_entropy_grad, .type = "CrossEntropyGrad", .family = "loss",
	.params = PARAMS({ "x", P_TENSOR }, { "labels", P_TENSOR }, { "g", P_TENSOR }, LOSS_OPTIONS),
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_loss_gradient, .fails = fails_always, .emit = emit_cross_entropy_grad, .flops = 14, .sample = { -2, 2 },
	.doc = "Gradient of cross_entropy.", .formula = "(softmax(x) - onehot(label)) * g / items");
