/* binary.c — arithmetic of two or more tensors, shapes broadcast.
 *
 * grad_add sums a gradient over the axes that broadcasting stretched, so the rules here write the
 * gradient at the result's shape and leave the rest to it. */
#include "compiler/ops/grad.h"

#define TWO_TENSORS PARAMS({ "lhs", P_TENSOR }, { "rhs", P_TENSOR })

static int infer_arith(Infer *in)
{
	return infer_need_number(in, 0) && infer_need_number(in, 1) && infer_broadcast(in);
}

static Tensor *fwd(Grad *gr, Op *op, int i) { return grad_fwd(gr, op->in.at[i]); }

/* --- add, sub, mul ---------------------------------------------------------------------------------------- */

static void grad_plus(Grad *gr, Op *op)
{
	Tensor *g = grad_of(gr, op, 0);
	for (int i = 0; i < op->in.n; i++) grad_add(gr, op, i, g);
}

OPDEF(add, .type = "Add", .type_inplace = "AddLhsInplace", .family = "binary", .params = TWO_TENSORS,
	.traits = PURE | ELTWISE | COMMUTES, .inplace = MODIFIES, .infer = infer_arith, .grad = grad_plus, .expr = "lhs + rhs",
	.flops = 1, .sample = { -2, 2 },
	.doc = "Sum, as `+` and, writing the left operand, `+=`. In place only the right operand may be broadcast.",
	.formula = "y = a + b, da = g, db = g, each summed over broadcast axes");

static void grad_sub(Grad *gr, Op *op)
{
	Tensor *g = grad_of(gr, op, 0);
	grad_add(gr, op, 0, g);
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, b_op1(&gr->b, OP_negate, g));
}

OPDEF(sub, .type = "Sub", .family = "binary", .params = TWO_TENSORS, .traits = PURE | ELTWISE, .infer = infer_arith,
	.grad = grad_sub, .expr = "lhs - rhs", .flops = 1, .sample = { -2, 2 },
	.doc = "Difference, as `-`.", .formula = "y = a - b, da = g, db = -g, each summed over broadcast axes");

/* f16 times one f32 number is f16: the one exception from equal dtypes */
static int infer_mul(Infer *in)
{
	Spec a = infer_in(in, 0), b = infer_in(in, 1);
	int left = a.dtype == DT_F16 && b.dtype == DT_F32 && shape_nelems(b.shape) == 1;
	int right = b.dtype == DT_F16 && a.dtype == DT_F32 && shape_nelems(a.shape) == 1;
	if (!left && !right) return infer_arith(in);
	in->out[0].dtype = DT_F16;
	return shape_broadcast(a.shape, b.shape, &in->out[0].shape);
}

/* the product with the other operand is taken in that operand's dtype; grad_add casts it back */
static void grad_mul(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0);
	for (int i = 0; i < 2; i++)
		if (grad_wanted(gr, op, i)) grad_add(gr, op, i, b_op2(b, OP_mul, g, fwd(gr, op, !i)));
}

OPDEF(mul, .type = "Mul", .family = "binary", .params = TWO_TENSORS, .traits = PURE | ELTWISE | COMMUTES, .infer = infer_mul,
	.grad = grad_mul, .expr = "lhs * rhs", .flops = 1, .sample = { -2, 2 },
	.doc = "Product, as `*`. An f16 tensor may be multiplied by an f32 tensor of one element; the result is f16.",
	.formula = "y = a * b, da = g * b, db = g * a, each summed over broadcast axes");

/* --- div, fmod, pow ----------------------------------------------------------------------------------------- */

static void grad_div(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *d = fwd(gr, op, 1), *da = b_op2(b, OP_div, g, d);
	grad_add(gr, op, 0, da);
	if (!grad_wanted(gr, op, 1)) return;
	Tensor *y = b_op2(b, OP_div, fwd(gr, op, 0), d);
	grad_add(gr, op, 1, b_op1(b, OP_negate, b_op2(b, OP_mul, da, y)));
}

OPDEF(div, .type = "Div", .family = "binary", .params = TWO_TENSORS, .traits = PURE | ELTWISE, .infer = infer_arith,
	.grad = grad_div, .expr = "lhs / rhs", .flops = 4, .sample = { 0.5, 2 },
	.doc = "Quotient, as `/`. On integers it is rounded down (-7 / 2 is -4), unlike `%`, which follows the dividend; "
	       "an integer divided by zero is a run-time error.",
	.formula = "y = a / b, da = g / b, db = -g * a / b^2, each summed over broadcast axes");

static void grad_fmod(Grad *gr, Op *op) { grad_add(gr, op, 0, grad_of(gr, op, 0)); }

OPDEF(fmod, .type = "Fmod", .family = "binary", .params = TWO_TENSORS, .traits = PURE | ELTWISE, .infer = infer_arith,
	.grad = grad_fmod, .stops = 1 << 1, .expr = "mod(lhs, rhs)", .flops = 6, .sample = { 0.5, 2 },
	.doc = "Remainder, as `%` on tensors: that of C, with the sign of the dividend. It does not pair with integer `/`, which rounds down. "
	       "A floating-point remainder by 0 is NaN, an integer one a run-time error. Only the dividend receives a gradient.",
	.formula = "y = a - b * trunc(a / b), da = g");

/* base: g e t^(e-1), 0 where e is 0; exponent: g y ln t, 0 where t is 0 and e >= 0 */
static void grad_pow(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *t = fwd(gr, op, 0), *e = fwd(gr, op, 1), *zero = b_like(b, t, 0);
	if (grad_wanted(gr, op, 0)) {
		Tensor *below = b_op2(b, OP_pow, t, b_op2(b, OP_sub, e, b_like(b, e, 1)));
		Tensor *slope = b_op2(b, OP_mul, e, below);
		grad_add(gr, op, 0, b_op3(b, OP_where, b_op2(b, OP_equal, e, zero), zero, b_op2(b, OP_mul, g, slope)));
	}
	if (grad_wanted(gr, op, 1)) {
		Tensor *y = grad_fwd(gr, op->out.at[0]);
		Tensor *flat = b_op2(b, OP_logical_and, b_op2(b, OP_equal, t, zero), b_op2(b, OP_greater_equal, e, zero));
		Tensor *slope = b_op2(b, OP_mul, y, b_op1(b, OP_log, t));
		grad_add(gr, op, 1, b_op3(b, OP_where, flat, zero, b_op2(b, OP_mul, g, slope)));
	}
}

static int infer_pow(Infer *in)
{
	if (!infer_need_number(in, 0)) return 0;
	return infer_arith(in);
}

OPDEF(pow, .type = "Pow", .family = "binary", .params = PARAMS({ "t", P_TENSOR }, { "e", P_TENSOR }), .traits = PURE | ELTWISE,
	.infer = infer_pow, .grad = grad_pow, .expr = "t ** e", .flops = 20, .sample = { 0.3, 2 },
	.doc = "Power, as `**`. A negative base with a fractional exponent gives NaN, 0 to the 0 is 1, and an integer base with a negative "
	       "exponent is a run-time error. The exponent's gradient is NaN where the base is negative.",
	.formula = "y = t^e, dt = g * e * t^(e-1), de = g * y * ln t (0 where t = 0 and e >= 0)");

/* --- several operands ------------------------------------------------------------------------------------------ */

static int some_tensors(Infer *in)
{
	if (in->op->in.n) return 1;
	infer_error(in, E0314, "`%s` needs at least one tensor", in->def->name);
	return 0;
}

static int infer_extreme(Infer *in)
{
	if (!some_tensors(in)) return 0;
	for (int i = 0; i < in->op->in.n; i++)
		if (!infer_need_number(in, i)) return 0;
	return infer_broadcast(in);
}

/* every operand that reaches the extreme receives the whole gradient */
static void grad_extreme(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *y = grad_fwd(gr, op->out.at[0]);
	for (int i = 0; i < op->in.n; i++) {
		if (!grad_wanted(gr, op, i)) continue;
		grad_add(gr, op, i, b_op3(b, OP_where, b_op2(b, OP_equal, fwd(gr, op, i), y), g, b_like(b, g, 0)));
	}
}

OPDEF(maximum, .type = "Max", .family = "binary", .params = PARAMS({ "ts", P_TENSORS }), .traits = PURE | ELTWISE,
	.infer = infer_extreme, .grad = grad_extreme, .expr = "fold(max, ts)", .flops = 1, .sample = { -2, 2 },
	.doc = "Largest of one or more tensors, element by element; NaN wins. Every operand that equals the maximum receives the whole gradient.",
	.formula = "y = max(t0, t1, …), dti = g where ti = y, else 0");

OPDEF(minimum, .type = "Min", .family = "binary", .params = PARAMS({ "ts", P_TENSORS }), .traits = PURE | ELTWISE,
	.infer = infer_extreme, .grad = grad_extreme, .expr = "fold(min, ts)", .flops = 1, .sample = { -2, 2 },
	.doc = "Smallest of one or more tensors, element by element; NaN wins. "
	       "Every operand that equals the minimum receives the whole gradient.",
	.formula = "y = min(t0, t1, …), dti = g where ti = y, else 0");

static int infer_sum_n(Infer *in)
{
	return some_tensors(in) && infer_broadcast(in);
}

OPDEF(sum_n, .type = "Sum", .family = "binary", .params = PARAMS({ "ts", P_TENSORS }), .traits = PURE | ELTWISE | INTERNAL,
	.infer = infer_sum_n, .grad = grad_plus, .expr = "fold(add, ts)", .flops = 1, .sample = { -2, 2 }, .out_name = "%s_sum",
	.doc = "Sum of several tensors, added from the left: where autodiff joins the gradients of a tensor with many users.",
	.formula = "y = t0 + t1 + …");

/* --- scaled_add --------------------------------------------------------------------------------------------------- */

static int infer_scaled_add(Infer *in)
{
	return infer_need_number(in, 0) && infer_need_number(in, 1) && infer_equal_shapes(in, 0, 1)
	    && infer_scalar(in, "a") && infer_scalar(in, "b") && infer_same(in);
}

/* dX = a g, dY = b g, in the operand's dtype; the factors receive nothing */
static void grad_scaled_add(Grad *gr, Op *op)
{
	static const char *const factor[] = { "a", "b" };
	Build *b = &gr->b;
	for (int i = 0; i < 2; i++) {
		if (!grad_wanted(gr, op, i)) continue;
		Tensor *g = grad_of(gr, op, 0), *k = op->in.n > i + 2 ? op->in.at[i + 2] : 0;
		k = k ? b_cast(b, grad_fwd(gr, k), g->spec.dtype) : b_like(b, g, op_attr(op, factor[i])->f);
		if (k->spec.shape.rank) k = b_reshape(b, k, (Shape){ .rank = 0 });
		grad_add(gr, op, i, b_op2(b, OP_mul, k, g));
	}
}

OPDEF(scaled_add, .type = "ScaledAdd", .type_inplace = "ScaledAddLhsInplace", .family = "binary",
	.params = PARAMS({ "X", P_TENSOR }, { "Y", P_TENSOR }, { "a", P_SCALAR, OPTIONAL, FLOAT_DEFAULT(1) }, { "b", P_SCALAR, OPTIONAL, FLOAT_DEFAULT(1) }),
	.traits = PURE | ELTWISE, .inplace = MODIFIES, .infer = infer_scaled_add, .grad = grad_scaled_add, .stops = 1 << 2 | 1 << 3,
	.expr = "a * X + b * Y", .flops = 3, .sample = { -2, 2 },
	.doc = "Sum of two tensors with factors, without broadcasting. The dtypes may differ; the result has that of X. "
	       "Each factor is a number or a tensor of one element. An integer X with a factor or a Y that is no integer is computed in f64 and cut off towards 0.",
	.formula = "y = a X + b Y, dX = a g, dY = b g");
