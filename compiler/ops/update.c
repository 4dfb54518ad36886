/* update.c — updates of variables, and the optimiser steps made of them.
 *
 * All but the updaters write their first operand and return an alias of it.  Factors are numbers or
 * tensors of one element; they are rounded to the dtype of t, the arithmetic is done in f32 (f64 if t is)
 * and the result rounded once.  1 - f and 1/(step + 1) are taken in f32 before that rounding, so ops that
 * need them are lowered to `blend`, which has both factors. */
#include "compiler/ops/grad.h"

#define UPDATE .family = "update", .inplace = MODIFIES, .sample = { -2, 2 }, .traits = ONLY_INPLACE | NO_GRAD

static int check_factor(Infer *in, const char *name)
{
	return op_param(in->def, name) < 0 || infer_scalar(in, name);
}

static int infer_update(Infer *in)
{
	return infer_need_number(in, 0) && infer_need_number(in, 1) && infer_equal_shapes(in, 0, 1)
	    && check_factor(in, "f") && check_factor(in, "step") && infer_same(in);
}

/* --- accumulate ------------------------------------------------------------------------------------------------- */

OPDEF(accumulate, .type = "Accumulate", .type_inplace = "Accumulate", UPDATE | ELTWISE,
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }, { "f", P_SCALAR, OPTIONAL }), .infer = infer_update,
	.expr = "t + f * X if set(f) else t + X", .flops = 2,
	.doc = "Adds a tensor of the same shape, times a factor if one is given.", .formula = "t := t + f X");

OPDEF(accumulate_square, .type = "Accumulate", .type_inplace = "Accumulate", UPDATE | ELTWISE,
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }, { "f", P_SCALAR, OPTIONAL, FLOAT_DEFAULT(1) }), .infer = infer_update,
	.expr = "t + f * (X * X)", .flops = 3,
	.doc = "Adds the squares of a tensor of the same shape, times a factor.", .formula = "t := t + f X^2");

/* --- averages ------------------------------------------------------------------------------------------------------ */

/* a factor that is a tensor, as a scalar to compute with; NULL for a number */
static Tensor *factor(Build *b, const Op *op, const char *name)
{
	int i = op_operand(op_def(op), op_param(op_def(op), name));
	Tensor *t = i < op->in.n ? op->in.at[i] : 0;
	DType wide = op->in.at[0]->spec.dtype == DT_F64 ? DT_F64 : DT_F32;
	return t ? b_reshape(b, b_cast(b, t, wide), (Shape){ .rank = 0 }) : 0;
}

static Tensor *blend(Build *b, const Op *op, AttrVal *v, Tensor *keep, Tensor *take)
{
	Tensor *in[] = { op->in.at[0], op->in.at[1], keep, take };
	return ir_op_inplace(b, OP_blend, in, 4, v, 0)->out.at[0];
}

/* keep t by f, take 1 - f of X */
static int lower_average(Build *b, const Op *op, int square, Tensor **out)
{
	Tensor *f = factor(b, op, "f");
	float k = (float)op_attr(op, "f")->f;
	double rest = op->in.at[0]->spec.dtype == DT_F64 ? 1 - op_attr(op, "f")->f : (double)(1.0f - k);
	AttrVal *v = b_attrs(b, OP_blend, "keep", attr_float(op_attr(op, "f")->f), "take", attr_float(rest), "square", attr_int(square), NULL);
	out[0] = blend(b, op, v, f, f ? b_op2(b, OP_sub, b_like(b, f, 1), f) : 0);
	return 1;
}
static int lower_moving_average(Build *b, Op *op, Tensor **out) { return lower_average(b, op, 0, out); }
static int lower_moving_square(Build *b, Op *op, Tensor **out)  { return lower_average(b, op, 1, out); }

/* take 1/(step + 1) of X; at step 0 nothing of t is left */
static int lower_mean(Build *b, Op *op, Tensor **out)
{
	Tensor *step = factor(b, op, "step"), *take = 0, *keep = 0;
	float part = 1.0f / ((float)op_attr(op, "step")->f + 1.0f);
	if (step) {
		Tensor *one = b_like(b, step, 1);
		take = b_op2(b, OP_div, one, b_op2(b, OP_add, step, one));
		keep = b_op2(b, OP_sub, one, take);
	}
	out[0] = blend(b, op, b_attrs(b, OP_blend, "keep", attr_float((double)(1.0f - part)), "take", attr_float((double)part), NULL), keep, take);
	return 1;
}

OPDEF(accumulate_mean, .type = "Accumulate", .type_inplace = "Accumulate", UPDATE,
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }, { "step", P_SCALAR }), .infer = infer_update, .lower = lower_mean, .flops = 3,
	.doc = "Running mean: `step` counts the values already in t. At step 0 t becomes X, whatever it held.",
	.formula = "t := (1 - b) t + b X, b = 1 / (step + 1)");

OPDEF(accumulate_moving_average, .type = "Accumulate", .type_inplace = "Accumulate", UPDATE,
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }, { "f", P_SCALAR }), .infer = infer_update, .lower = lower_moving_average, .flops = 3,
	.doc = "Moving average: keeps t by f and takes 1 - f of X.", .formula = "t := f t + (1 - f) X");

OPDEF(accumulate_moving_average_square, .type = "Accumulate", .type_inplace = "Accumulate", UPDATE,
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }, { "f", P_SCALAR }), .infer = infer_update, .lower = lower_moving_square, .flops = 4,
	.doc = "Moving average of squares: keeps t by f and takes 1 - f of X squared.", .formula = "t := f t + (1 - f) X^2");

static int infer_blend(Infer *in)
{
	return infer_equal_shapes(in, 0, 1) && infer_scalar(in, "keep") && infer_scalar(in, "take") && infer_same(in);
}

OPDEF(blend, .type = "Accumulate", .type_inplace = "Accumulate", .family = "update", .inplace = MODIFIES, .sample = { -2, 2 },
	.traits = ELTWISE | ONLY_INPLACE | NO_GRAD | INTERNAL,
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }, { "keep", P_SCALAR }, { "take", P_SCALAR }, { "square", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.infer = infer_blend, .expr = "(take * (X * X) if keep == 0 else keep * t + take * (X * X)) if square else (take * X if keep == 0 else keep * t + take * X)",
	.flops = 3, .doc = "A weighted sum in place; nothing of t is left, NaN included, when it is kept by 0.", .formula = "t := keep t + take X");

/* --- scale, zero, copy ------------------------------------------------------------------------------------------------ */

static int infer_scale(Infer *in)
{
	return infer_need_number(in, 0) && infer_scalar(in, "f") && infer_same(in);
}

OPDEF(accumulator_scale, .type = "AccumulatorScale", .type_inplace = "AccumulatorScale", UPDATE | ELTWISE,
	.params = PARAMS({ "t", P_TENSOR }, { "f", P_SCALAR }), .infer = infer_scale,
	.expr = "(f * t if f != 0 else 0) if fixed(f) else f * t", .flops = 1,
	.doc = "Multiplies by a factor. The number 0 writes zeros, which clears NaN and infinities too.", .formula = "t := f t");

OPDEF(accumulator_zero, .type = "AccumulatorZero", .type_inplace = "AccumulatorZero", UPDATE | ELTWISE, .params = PARAMS({ "t", P_TENSOR }),
	.infer = infer_same, .expr = "0", .doc = "Writes zeros.", .formula = "t := 0");

static int infer_copy_update(Infer *in)
{
	Spec a = infer_in(in, 0), b = infer_in(in, 1);
	if (!infer_equal_shapes(in, 0, 1)) return 0;
	if (a.dtype == b.dtype) return infer_same(in);
	Diag *d = infer_error(in, E0303, "`copy_var_update_` needs equal element types");
	diag_label(in->b->ir->ds, d, "%s against %s", dtype_info[a.dtype].name, dtype_info[b.dtype].name);
	return 0;
}

OPDEF(copy_var_update, .type = "CopyVarUpdate", .type_inplace = "CopyVarUpdate", UPDATE | ELTWISE | MOVES, .out_name = "updated__%s",
	.params = PARAMS({ "t", P_TENSOR }, { "X", P_TENSOR }), .infer = infer_copy_update, .expr = "X",
	.doc = "Overwrites t with a tensor of the same shape and dtype.", .formula = "t := X");

/* --- Adam and its family ------------------------------------------------------------------------------------------------
 * time_step is bumped first, through an in-place add whose result the rest reads; corrections are computed
 * once, as f32 scalars to multiply with, and the step itself is one elementwise op. */

static int infer_decay(Infer *in)
{
	const AttrVal *wd = op_attr(in->op, "weight_decay");
	int slot = op_operand(in->def, op_param(in->def, "weight_decay"));
	if (infer_tensor(in, 2)) return infer_equal_shapes(in, 0, 2) && infer_scalar(in, "weight_decay");
	if (!infer_tensor(in, slot) && (!wd->set || wd->f == 0)) return 1;
	return infer_error(in, E0310, "`weight_decay` of `%s` needs the `weight`", in->def->name), 0;
}

static int has_decay(const Op *op)
{
	const AttrVal *wd = op_attr(op, "weight_decay");
	int slot = op_operand(op_def(op), op_param(op_def(op), "weight_decay"));
	return op->in.at[2] && ((slot < op->in.n && op->in.at[slot]) || (wd->set && wd->f != 0));
}

static int has_scalar(Infer *in, const char *name)
{
	return op_attr(in->op, name)->set || infer_tensor(in, op_operand(in->def, op_param(in->def, name)));
}

static int infer_time_step(Infer *in)
{
	Spec n = infer_in(in, 3);
	if (shape_nelems(n.shape) == 1 && (n.dtype == DT_U32 || n.dtype == DT_F32)) return 1;
	Diag *d = infer_error(in, E0312, "`time_step` of `%s` must be a u32 or f32 tensor of one element", in->def->name);
	diag_label(in->b->ir->ds, d, "got %s", spec_str(in->b->ir->mem, n.dtype, n.shape));
	return 0;
}

static int infer_updater(Infer *in)
{
	if (!infer_need_float(in, 0) || !infer_need_float(in, 1) || !infer_equal_shapes(in, 0, 1) || !infer_decay(in)) return 0;
	if (infer_tensor(in, 3) && !infer_time_step(in)) return 0;
	infer_same(in);
	if (has_decay(in->op)) in->out[0].dtype = infer_in(in, 2).dtype;
	return 1;
}

static int infer_adam(Infer *in)
{
	if (infer_tensor(in, 3) && !(has_scalar(in, "beta1") && has_scalar(in, "beta2")))
		return infer_error(in, E0310, "`%s` with a `time_step` needs `beta1` and `beta2`", in->def->name), 0;
	return infer_updater(in) && infer_scalar(in, "beta1") && infer_scalar(in, "beta2");
}

static int infer_adamax(Infer *in)
{
	if (!infer_tensor(in, 3)) return infer_error(in, E0310, "`adamax_updater` needs a `time_step`"), 0;
	return infer_updater(in) && infer_scalar(in, "beta1");
}

/* a scalar parameter as an f32 tensor of rank 0 */
static Tensor *number(Build *b, const Op *op, const char *name)
{
	int i = op_operand(op_def(op), op_param(op_def(op), name));
	Tensor *t = i >= 0 && i < op->in.n ? op->in.at[i] : 0;
	return t ? b_reshape(b, b_cast(b, t, DT_F32), (Shape){ .rank = 0 }) : b_scalar(b, DT_F32, op_attr(op, name)->f);
}

/* 1 / (1 - beta^n), or 1 without a time step */
static Tensor *correction(Build *b, const Op *op, Tensor *n, const char *beta)
{
	Tensor *one = b_scalar(b, DT_F32, 1);
	if (!n) return one;
	return b_op2(b, OP_div, one, b_op2(b, OP_sub, one, b_op2(b, OP_pow, number(b, op, beta), n)));
}

static Tensor *bumped(Build *b, const Op *op)
{
	Tensor *n = op->in.n > 3 ? op->in.at[3] : 0;
	if (!n) return 0;
	n = ir_op_inplace(b, OP_add, (Tensor *[]){ n, b_like(b, n, 1) }, 2, 0, 0)->out.at[0];
	return b_reshape(b, b_cast(b, n, DT_F32), (Shape){ .rank = 0 });
}

static Tensor *step_of(Build *b, const Op *op, OpCode code, Tensor *c1, Tensor *c2)
{
	int decay = has_decay(op);
	Tensor *in[] = { op->in.at[0], op->in.at[1], c1, c2, b_scalar(b, DT_F32, op_attr(op, "epsilon")->f),
	                 decay ? op->in.at[2] : 0, decay ? number(b, op, "weight_decay") : 0 };
	AttrVal *v = b_attrs(b, code, "dtype", attr_int(op->out.at[0]->spec.dtype), NULL);
	return ir_op(b, (int)code, in, decay ? 7 : 5, v, 0)->out.at[0];
}

static int lower_adam(Build *b, Op *op, Tensor **out)
{
	Tensor *n = bumped(b, op);
	out[0] = step_of(b, op, OP_adam_step, correction(b, op, n, "beta1"), correction(b, op, n, "beta2"));
	return 1;
}

static int lower_adamax(Build *b, Op *op, Tensor **out)
{
	Tensor *c1 = correction(b, op, bumped(b, op), "beta1");
	out[0] = step_of(b, op, OP_adamax_step, c1, c1);
	return 1;
}

#define MOMENTS { "acc_first_order", P_TENSOR }, { "acc_second_order", P_TENSOR }, { "weight", P_OPT_TENSOR, OPTIONAL }, \
	{ "time_step", P_OPT_TENSOR, OPTIONAL }, { "weight_decay", P_SCALAR, OPTIONAL }
#define UPDATER .family = "update", .traits = NO_GRAD, .writes = 1 << 3, .sample = { 0.1, 2 }, .flops = 8
#define UPDATER_DOC " A `time_step` (u32 or f32, one element) is raised by 1 in place first, so it starts at 0; the corrections use the new value. " \
	"`weight_decay` needs the weight, and adds to the update rather than to the gradient. Nothing else is written."

OPDEF(adam_updater, .type = "AdamUpdater", UPDATER, .infer = infer_adam, .lower = lower_adam,
	.params = PARAMS(MOMENTS, { "beta1", P_SCALAR, OPTIONAL }, { "beta2", P_SCALAR, OPTIONAL }, { "epsilon", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1e-7) }),
	.doc = "The step of Adam from its moments; without a `time_step` there is no bias correction." UPDATER_DOC,
	.formula = "y = m' / (sqrt(v') + eps) + wd w, m' = m / (1 - beta1^n), v' = v / (1 - beta2^n)");

OPDEF(lamb_updater, .type = "LambUpdater", UPDATER, .infer = infer_adam, .lower = lower_adam,
	.params = PARAMS(MOMENTS, { "beta1", P_SCALAR, OPTIONAL }, { "beta2", P_SCALAR, OPTIONAL }, { "epsilon", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1e-7) }),
	.doc = "The step of LAMB before its trust ratio, which `adam_var_update` applies: the same values as `adam_updater`." UPDATER_DOC,
	.formula = "y = m' / (sqrt(v') + eps) + wd w, m' = m / (1 - beta1^n), v' = v / (1 - beta2^n)");

OPDEF(adamax_updater, .type = "AdamaxUpdater", UPDATER, .infer = infer_adamax, .lower = lower_adamax,
	.params = PARAMS(MOMENTS, { "beta1", P_SCALAR, OPTIONAL, FLOAT_DEFAULT(0.9) }, { "epsilon", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1e-7) }),
	.doc = "The step of Adamax from the first moment and the infinity norm, which the model keeps. `time_step` is required." UPDATER_DOC,
	.formula = "y = m / (1 - beta1^n) / (v + eps) + wd w");

/* factors are tensors here, so that they keep f32 whatever the moments are */
#define STEP_PARAMS PARAMS({ "m", P_TENSOR }, { "v", P_TENSOR }, { "c1", P_TENSOR }, { "c2", P_TENSOR }, { "eps", P_TENSOR }, \
	{ "w", P_OPT_TENSOR, OPTIONAL }, { "wd", P_OPT_TENSOR, OPTIONAL }, { "dtype", P_DTYPE })

static int infer_step(Infer *in)
{
	in->out[0] = (Spec){ .dtype = (DType)op_attr(in->op, "dtype")->i, .shape = infer_in(in, 0).shape };
	return 1;
}

OPDEF(adam_step, .type = "AdamStep", .family = "update", .traits = PURE | ELTWISE | NO_GRAD | INTERNAL, .params = STEP_PARAMS, .infer = infer_step,
	.expr = "ratio(c1, m, root(c2, v, eps)) + wd * w if set(w) else ratio(c1, m, root(c2, v, eps))", .flops = 8, .sample = { 0.1, 2 },
	.doc = "Adam's step with its corrections given.", .formula = "c1 m / (sqrt(c2 v) + eps) + wd w");

OPDEF(adamax_step, .type = "AdamaxStep", .family = "update", .traits = PURE | ELTWISE | NO_GRAD | INTERNAL, .params = STEP_PARAMS, .infer = infer_step,
	.expr = "c1 * m / (v + eps) + wd * w if set(w) else c1 * m / (v + eps)", .flops = 6, .sample = { 0.1, 2 },
	.doc = "Adamax's step with its correction given.", .formula = "c1 m / (v + eps) + wd w");

/* --- adam_var_update -------------------------------------------------------------------------------------------------- */

static int infer_var_update(Infer *in)
{
	for (int i = 2; i < 4; i++) {
		Spec r = infer_in(in, i);
		if (r.dtype == DT_F32 && shape_nelems(r.shape) == 1) continue;
		return infer_error(in, E0312, "`%s` of `adam_var_update` must be an f32 tensor of one element", in->def->params[i].name), 0;
	}
	return infer_need_float(in, 0) && infer_need_float(in, 1) && infer_equal_shapes(in, 0, 1)
	    && infer_scalar(in, "learning_rate") && infer_scalar(in, "max_weight_norm") && infer_same(in);
}

static Tensor *is_zero(Build *b, Tensor *x) { return b_op2(b, OP_equal, x, b_like(b, x, 0)); }

/* 1 where a norm or the cap is 0, else min(sqrt r1, cap) / sqrt r2; r1 and r2 are squared norms */
static Tensor *trust_ratio(Build *b, const Op *op)
{
	int slot = op_operand(op_def(op), op_param(op_def(op), "max_weight_norm"));
	int capped = op_attr(op, "max_weight_norm")->set || (slot < op->in.n && op->in.at[slot]);
	Shape scalar = { .rank = 0 };
	Tensor *r1 = b_reshape(b, op->in.at[2], scalar), *r2 = b_reshape(b, op->in.at[3], scalar), *one = b_scalar(b, DT_F32, 1);
	Tensor *w = b_op1(b, OP_sqrt, r1), *off = b_op2(b, OP_logical_or, is_zero(b, r1), is_zero(b, r2));
	if (capped) {
		Tensor *cap = number(b, op, "max_weight_norm");
		off = b_op2(b, OP_logical_or, off, is_zero(b, cap));
		w = b_op3(b, OP_where, b_op2(b, OP_less, cap, w), cap, w);
	}
	return b_op3(b, OP_where, off, one, b_op2(b, OP_div, w, b_op1(b, OP_sqrt, r2)));
}

static int lower_var_update(Build *b, Op *op, Tensor **out)
{
	Tensor *rate = b_op1(b, OP_negate, b_op2(b, OP_mul, number(b, op, "learning_rate"), trust_ratio(b, op)));
	Tensor *in[] = { op->in.at[0], op->in.at[1], 0, rate };
	out[0] = ir_op_inplace(b, OP_scaled_add, in, 4, 0, 0)->out.at[0];
	return 1;
}

OPDEF(adam_var_update, .type = "AdamVarUpdate", .type_inplace = "AdamVarUpdate", .family = "update", .alias = "adam_var_update",
	.inplace = MODIFIES, .sample = { 0.1, 2 }, .traits = ONLY_INPLACE | NO_GRAD, .flops = 2,
	.params = PARAMS({ "t", P_TENSOR }, { "x", P_TENSOR }, { "r1", P_TENSOR }, { "r2", P_TENSOR }, { "learning_rate", P_SCALAR },
		{ "max_weight_norm", P_SCALAR, OPTIONAL }),
	.infer = infer_var_update, .lower = lower_var_update,
	.doc = "Applies a step to a weight with LAMB's trust ratio; it writes t although its name has no underscore. r1 and r2 are squared norms of t and x, from "
	       "`lamb_square`. Without `max_weight_norm` there is no cap; 0 makes the ratio 1, as for plain Adam.",
	.formula = "t := t - lr * ratio * x, ratio = min(sqrt r1, cap) / sqrt r2, or 1 where any of them is 0");
