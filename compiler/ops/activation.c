/* activation.c — relu, gelu, swish, sigmoid, softplus, and the internal ops that are the gradients of some.
 *
 * The gradient of an activation is one elementwise op (gelu_grad(g, x) …) so that the backward pass
 * reads each tensor once; those ops have gradients too, built from plain arithmetic. */
#include "compiler/ops/formula.h"
#include "compiler/ops/grad.h"

#include <math.h>

#define ONE_TENSOR PARAMS({ "t", P_TENSOR })
#define GRAD_AND(x) PARAMS({ "g", P_TENSOR }, { x, P_TENSOR })

static int infer_float(Infer *in)   { return infer_need_float(in, 0) && infer_same(in); }
static int infer_float2(Infer *in)  { return infer_need_float(in, 0) && infer_broadcast(in); }

static Tensor *mul(Build *b, Tensor *x, Tensor *y) { return b_op2(b, OP_mul, x, y); }
static Tensor *add(Build *b, Tensor *x, Tensor *y) { return b_op2(b, OP_add, x, y); }
static Tensor *scale(Build *b, Tensor *x, double k) { return mul(b, x, b_like(b, x, k)); }
static Tensor *one_minus(Build *b, Tensor *x) { return b_op2(b, OP_sub, b_like(b, x, 1), x); }

/* dx of an activation: `op_grad(g, v)` with v the forward input or result */
static void from_input(Grad *gr, Op *op, OpCode code)
{
	grad_add(gr, op, 0, b_op2(&gr->b, code, grad_of(gr, op, 0), grad_fwd(gr, op->in.at[0])));
}
static void from_output(Grad *gr, Op *op, OpCode code)
{
	grad_add(gr, op, 0, b_op2(&gr->b, code, grad_of(gr, op, 0), grad_fwd(gr, op->out.at[0])));
}

/* z = g * f'(v): dg = dz * f'(v), the same op again; dv = dz * g * f''(v) */
static void second_order(Grad *gr, Op *op, Tensor *(*f2)(Build *, Tensor *))
{
	Build *b = &gr->b;
	Tensor *dz = grad_of(gr, op, 0), *v = grad_fwd(gr, op->in.at[1]);
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, b_op2(b, (OpCode)op->code, dz, v));
	if (f2 && grad_wanted(gr, op, 1))
		grad_add(gr, op, 1, mul(b, mul(b, dz, grad_fwd(gr, op->in.at[0])), f2(b, v)));
}

/* --- relu ------------------------------------------------------------------------------------------------ */

static void grad_relu(Grad *gr, Op *op) { from_output(gr, op, OP_relu_grad); }

OPDEF(relu, .type = "Relu", .type_inplace = "ReluInplace", .family = "activation", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.inplace = MODIFIES, .infer = infer_float, .grad = grad_relu, .expr = "relu(t)", .flops = 1, .sample = { -2, 2 },
	.doc = "The element where it is positive, else 0; NaN stays NaN. No gradient passes at exactly 0, nor at NaN.",
	.formula = "y = max(x, 0), dx = g where y > 0, else 0");

static void grad_relu_grad(Grad *gr, Op *op)
{
	second_order(gr, op, 0);
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, b_zeros(&gr->b, op->in.at[1]->spec));
}

OPDEF(relu_grad, .type = "ReluGrad", .family = "activation", .params = GRAD_AND("y"), .traits = PURE | ELTWISE | INTERNAL,
	.infer = infer_float2, .grad = grad_relu_grad, .expr = "relu_grad(g, y)", .flops = 1, .sample = { -2, 2 },
	.doc = "Gradient of relu from its result y.", .formula = "g where y > 0, else 0");

/* --- gelu ------------------------------------------------------------------------------------------------ */

static void grad_gelu(Grad *gr, Op *op) { from_input(gr, op, OP_gelu_grad); }

OPDEF(gelu, .type = "Gelu", .type_inplace = "GeluInplace", .family = "activation", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.inplace = MODIFIES, .infer = infer_float, .grad = grad_gelu, .expr = "gelu(t)", .flops = 20, .sample = { -3, 3 },
	.doc = "Gaussian error linear unit in its tanh approximation; `geluerf` is the exact one.",
	.formula = "y = x/2 * (1 + tanh u), u = sqrt(2/pi) * (x + 0.044715 x^3)");

#define GELU_C 0.797884560802865355879892119868763737     /* sqrt(2/pi) */
#define GELU_A 0.044715

/* with t = tanh u, s = 1 - t²: f'' = s u' + x/2 (s u'' - 2 t s u'²), u' = c(1 + 3a x²), u'' = 6 c a x */
static Tensor *gelu_second(Build *b, Tensor *x)
{
	Tensor *x2 = mul(b, x, x);
	Tensor *u = mul(b, x, add(b, b_like(b, x, GELU_C), scale(b, x2, GELU_C * GELU_A)));
	Tensor *u1 = add(b, b_like(b, x, GELU_C), scale(b, x2, 3 * GELU_C * GELU_A));
	Tensor *t = b_op1(b, OP_tanh, u), *s = one_minus(b, mul(b, t, t));
	Tensor *inner = b_op2(b, OP_sub, scale(b, x, 3 * GELU_C * GELU_A), mul(b, t, mul(b, u1, u1)));
	return mul(b, s, add(b, u1, mul(b, x, inner)));
}
static void grad_gelu_grad(Grad *gr, Op *op) { second_order(gr, op, gelu_second); }

OPDEF(gelu_grad, .type = "GeluGrad", .family = "activation", .params = GRAD_AND("x"), .traits = PURE | ELTWISE | INTERNAL,
	.infer = infer_float2, .grad = grad_gelu_grad, .expr = "gelu_grad(g, x)", .flops = 26, .sample = { -3, 3 },
	.doc = "Gradient of gelu at x.",
	.formula = "g * (1/2 (1 + tanh u) + x/2 (1 - tanh^2 u) * sqrt(2/pi) * (1 + 3 * 0.044715 x^2))");

/* --- geluerf --------------------------------------------------------------------------------------------- */

static void grad_geluerf(Grad *gr, Op *op) { from_input(gr, op, OP_geluerf_grad); }

OPDEF(geluerf, .type = "GeluErf", .type_inplace = "GeluErfInplace", .family = "activation", .params = ONE_TENSOR,
	.traits = PURE | ELTWISE, .inplace = MODIFIES, .infer = infer_float, .grad = grad_geluerf, .expr = "geluerf(t)", .flops = 20,
	.sample = { -3, 3 },
	.doc = "Gaussian error linear unit, exact: the element times the standard normal distribution function.",
	.formula = "y = x * Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2");

#define INV_SQRT_2PI 0.398942280401432677939946059934381868

/* f'' = phi(x) (2 - x²), phi(x) = e^(-x²/2) / sqrt(2 pi) */
static Tensor *geluerf_second(Build *b, Tensor *x)
{
	Tensor *x2 = mul(b, x, x), *phi = scale(b, b_op1(b, OP_exp, scale(b, x2, -0.5)), INV_SQRT_2PI);
	return mul(b, phi, b_op2(b, OP_sub, b_like(b, x, 2), x2));
}
static void grad_geluerf_grad(Grad *gr, Op *op) { second_order(gr, op, geluerf_second); }

OPDEF(geluerf_grad, .type = "GeluErfGrad", .family = "activation", .params = GRAD_AND("x"), .traits = PURE | ELTWISE | INTERNAL,
	.infer = infer_float2, .grad = grad_geluerf_grad, .expr = "geluerf_grad(g, x)", .flops = 26, .sample = { -3, 3 },
	.doc = "Gradient of geluerf at x.", .formula = "g * (Phi(x) + x * e^(-x^2/2) / sqrt(2 pi))");

/* --- swish ----------------------------------------------------------------------------------------------- */

static void grad_swish(Grad *gr, Op *op) { from_input(gr, op, OP_swish_grad); }

OPDEF(swish, .type = "Swish", .type_inplace = "SwishInplace", .family = "activation", .params = ONE_TENSOR,
	.traits = PURE | ELTWISE, .inplace = MODIFIES, .infer = infer_float, .grad = grad_swish, .expr = "swish(t)", .flops = 10,
	.sample = { -3, 3 },
	.doc = "The element times its logistic sigmoid (also called SiLU).", .formula = "y = x * s, s = 1 / (1 + e^-x)");

/* f' = s + x s (1 - s), so f'' = s (1 - s) (2 + x (1 - 2 s)) */
static Tensor *swish_second(Build *b, Tensor *x)
{
	Tensor *s = b_op1(b, OP_sigmoid, x);
	Tensor *inner = add(b, b_like(b, x, 2), mul(b, x, one_minus(b, add(b, s, s))));
	return mul(b, mul(b, s, one_minus(b, s)), inner);
}
static void grad_swish_grad(Grad *gr, Op *op) { second_order(gr, op, swish_second); }

OPDEF(swish_grad, .type = "SwishGrad", .family = "activation", .params = GRAD_AND("x"), .traits = PURE | ELTWISE | INTERNAL,
	.infer = infer_float2, .grad = grad_swish_grad, .expr = "swish_grad(g, x)", .flops = 14, .sample = { -3, 3 },
	.doc = "Gradient of swish at x.", .formula = "g * (s + x * s * (1 - s)), s = 1 / (1 + e^-x)");

/* --- sigmoid, softplus ----------------------------------------------------------------------------------- */

static void grad_sigmoid(Grad *gr, Op *op)
{
	Tensor *in[] = { grad_of(gr, op, 0), grad_fwd(gr, op->out.at[0]) };
	grad_add(gr, op, 0, b_formula(&gr->b, "SigmoidGrad", "mul(ts0, mul(ts1, sub(1.0, ts1)))", in, 2));
}

OPDEF(sigmoid, .type = "Sigmoid", .type_inplace = "SigmoidInplace", .family = "activation", .params = ONE_TENSOR,
	.traits = PURE | ELTWISE, .inplace = MODIFIES, .infer = infer_float, .grad = grad_sigmoid, .expr = "sigmoid(t)",
	.flops = 10, .sample = { -3, 3 },
	.doc = "Logistic function: between 0 and 1.", .formula = "y = 1 / (1 + e^-x), dx = g * y * (1 - y)");

static double number_of(const Op *op, const char *name) { return op_attr(op, name)->f; }

static int infer_softplus(Infer *in)
{
	double beta = number_of(in->op, "beta"), threshold = number_of(in->op, "threshold");
	if (!infer_float(in)) return 0;
	if (beta != 0 && isfinite(beta) && !isnan(threshold)) return 1;
	if (isnan(threshold)) infer_error(in, E0310, "`threshold` of `softplus` is not a number");
	else infer_error(in, E0310, "`beta` of `softplus` must be a finite number other than 0");
	return 0;
}

static void grad_softplus(Grad *gr, Op *op)
{
	Arena *a = gr->b.ir->mem;
	const Formula *x = formula_arg(a, 0, 0), *beta = formula_number(a, number_of(op, "beta"), 0);
	const Formula *bx = formula_prim(a, FP_mul, beta, x, NULL);
	const Formula *linear = formula_prim(a, FP_gt, bx, formula_number(a, number_of(op, "threshold"), 0), NULL);
	const Formula *soft = formula_prim(a, FP_div, formula_prim(a, FP_softplus, bx, NULL, NULL), beta, NULL);
	grad_formula(gr, op, "SoftplusGrad", formula_prim(a, FP_sel, linear, x, soft));
}

OPDEF(softplus, .type = "Softplus", .type_inplace = "SoftplusInplace", .family = "activation",
	.params = PARAMS({ "t", P_TENSOR }, { "beta", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1) },
		{ "threshold", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(20) }),
	.traits = PURE | ELTWISE, .inplace = MODIFIES, .infer = infer_softplus, .grad = grad_softplus,
	.expr = "t if beta * t > threshold else softplus(t) if beta == 1 else softplus(beta * t) / beta",
	.flops = 18, .sample = { -3, 3 },
	.doc = "A smooth maximum of the element and 0, sharper with a larger `beta`. Where `beta` times the element is above "
	       "`threshold`, the result is the element itself, as in PyTorch; with the defaults it differs there from the formula by "
	       "less than 2.1e-9. `threshold = inf` computes the formula everywhere. A `beta` of 0 is an error.",
	.formula = "y = ln(1 + e^(beta x)) / beta, dx = g / (1 + e^(-beta x)); above the threshold y = x, dx = g");

/* --- tanh's gradient ---------------------------------------------------------------------------------------- */

static Tensor *tanh_second(Build *b, Tensor *y) { return scale(b, y, -2); }
static void grad_tanh_grad(Grad *gr, Op *op) { second_order(gr, op, tanh_second); }

OPDEF(tanh_grad, .type = "TanhGrad", .family = "activation", .params = GRAD_AND("y"), .traits = PURE | ELTWISE | INTERNAL,
	.infer = infer_float2, .grad = grad_tanh_grad, .expr = "tanh_grad(g, y)", .flops = 3, .sample = { -0.9, 0.9 },
	.doc = "Gradient of tanh from its result y.", .formula = "g * (1 - y^2)");
