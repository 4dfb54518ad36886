/* unary.c — elementwise ops of one tensor: result of the operand's shape and dtype, no broadcasting.
 *
 * What an op computes is its .expr; gradients are built from other ops of the table. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/formula.h"
#include "compiler/ops/grad.h"

#include <math.h>
#include <string.h>

#define ONE_TENSOR PARAMS({ "t", P_TENSOR })

static int infer_float(Infer *in)  { return infer_need_float(in, 0) && infer_same(in); }
static int infer_number(Infer *in) { return infer_need_number(in, 0) && infer_same(in); }

static Tensor *x_of(Grad *gr, Op *op) { return grad_fwd(gr, op->in.at[0]); }
static Tensor *y_of(Grad *gr, Op *op) { return grad_fwd(gr, op->out.at[0]); }

/* the derivative is the one that the vector-maths table has, over the operand */
static void grad_prim(Grad *gr, Op *op, FusePrim p, const char *name)
{
	Arena *mem = gr->b.ir->mem;
	grad_formula(gr, op, name, formula_prim(mem, p, formula_arg(mem, 0, 0), NULL, NULL));
}

/* the function is constant almost everywhere */
static void grad_zero(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, b_zeros(&gr->b, op->in.at[0]->spec));
}

/* --- signs and rounding -------------------------------------------------------------------------------- */

static int infer_signed(Infer *in)
{
	DType t = infer_in(in, 0).dtype;
	if (!infer_need_number(in, 0)) return 0;
	if (dtype_info[t].cls != 'u') return infer_same(in);
	infer_error(in, E0304, "`abs` needs a signed tensor, got %s", dtype_info[t].name);
	return 0;
}

static void grad_abs(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	grad_add(gr, op, 0, b_op2(b, OP_mul, grad_of(gr, op, 0), b_op1(b, OP_sign, x_of(gr, op))));
}

OPDEF(abs, .type = "Abs", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_signed, .grad = grad_abs, .expr = "abs(t)", .flops = 1, .sample = { -2, 2 },
	.doc = "Absolute value of each element. The most negative integer wraps to itself; unsigned tensors are an error.",
	.formula = "y = |x|, dx = g * sign(x)");

OPDEF(ceil, .type = "Ceil", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_zero, .expr = "ceil(t)", .flops = 1, .sample = { -2, 2 },
	.doc = "Least whole number that is not below the element. NaN and infinities pass. Its gradient is zero.",
	.formula = "y = ceil(x), dx = 0");

OPDEF(floor, .type = "Floor", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_zero, .expr = "floor(t)", .flops = 1, .sample = { -2, 2 },
	.doc = "Greatest whole number that is not above the element. NaN and infinities pass. Its gradient is zero.",
	.formula = "y = floor(x), dx = 0");

OPDEF(sign, .type = "Sign", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_number, .grad = grad_zero, .expr = "sign(t)", .flops = 1, .sample = { -2, 2 },
	.doc = "-1, 0 or 1 by the sign of the element; NaN gives 0. Its gradient is zero.",
	.formula = "y = (x > 0) - (x < 0), dx = 0");

static void grad_negate(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, b_op1(&gr->b, OP_negate, grad_of(gr, op, 0)));
}

OPDEF(negate, .type = "Neg", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_number, .grad = grad_negate, .expr = "neg(t)", .flops = 1, .sample = { -2, 2 },
	.doc = "The element with its sign turned, as unary `-` does; integers wrap.",
	.formula = "y = -x, dx = -g");

/* --- analysis ------------------------------------------------------------------------------------------- */

static void grad_sin(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	grad_add(gr, op, 0, b_op2(b, OP_mul, grad_of(gr, op, 0), b_op1(b, OP_cos, x_of(gr, op))));
}

OPDEF(sin, .type = "Sin", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_sin, .expr = "sin(t)", .flops = 12, .sample = { -3, 3 },
	.doc = "Sine of each element, in radians.", .formula = "y = sin(x), dx = g * cos(x)");

static void grad_cos(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *slope = b_op1(b, OP_negate, b_op1(b, OP_sin, x_of(gr, op)));
	grad_add(gr, op, 0, b_op2(b, OP_mul, grad_of(gr, op, 0), slope));
}

OPDEF(cos, .type = "Cos", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_cos, .expr = "cos(t)", .flops = 12, .sample = { -3, 3 },
	.doc = "Cosine of each element, in radians.", .formula = "y = cos(x), dx = -g * sin(x)");

static void grad_asin(Grad *gr, Op *op) { grad_prim(gr, op, FP_asin, "AsinGrad"); }
static void grad_acos(Grad *gr, Op *op) { grad_prim(gr, op, FP_acos, "AcosGrad"); }
static void grad_atan(Grad *gr, Op *op) { grad_prim(gr, op, FP_atan, "AtanGrad"); }

OPDEF(asin, .type = "Asin", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_asin, .expr = "asin(t)", .flops = 14, .sample = { -0.9, 0.9 },
	.doc = "Inverse sine, in radians from -pi/2 to pi/2; NaN outside [-1, 1]. Its gradient is infinite at -1 and 1.",
	.formula = "y = asin(x), dx = g / sqrt((1 - x) (1 + x))");

OPDEF(acos, .type = "Acos", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_acos, .expr = "acos(t)", .flops = 14, .sample = { -0.9, 0.9 },
	.doc = "Inverse cosine, in radians from 0 to pi; NaN outside [-1, 1]. Its gradient is infinite at -1 and 1.",
	.formula = "y = acos(x), dx = -g / sqrt((1 - x) (1 + x))");

OPDEF(atan, .type = "Atan", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_atan, .expr = "atan(t)", .flops = 14, .sample = { -3, 3 },
	.doc = "Inverse tangent, in radians from -pi/2 to pi/2, which infinities give.",
	.formula = "y = atan(x), dx = g / (1 + x^2)");

static void grad_exp(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, b_op2(&gr->b, OP_mul, grad_of(gr, op, 0), y_of(gr, op)));
}

OPDEF(exp, .type = "Exp", .type_inplace = "ExpInplace", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.inplace = MODIFIES, .infer = infer_float, .grad = grad_exp, .expr = "exp(t)", .flops = 8, .sample = { -2, 2 },
	.doc = "The exponential of each element.", .formula = "y = e^x, dx = g * y");

static void grad_log(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, b_op2(&gr->b, OP_div, grad_of(gr, op, 0), x_of(gr, op)));
}

OPDEF(log, .type = "Log", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_log, .expr = "log(t)", .flops = 10, .sample = { 0.2, 3 },
	.doc = "Natural logarithm of each element: minus infinity at 0, NaN below.", .formula = "y = ln x, dx = g / x");

#define LN2 0.693147180559945309417232121458176568

static void grad_log2(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *x = x_of(gr, op);
	grad_add(gr, op, 0, b_op2(b, OP_div, grad_of(gr, op, 0), b_op2(b, OP_mul, x, b_like(b, x, LN2))));
}

OPDEF(log2, .type = "Log2", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_log2, .expr = "log(t) / 0.693147180559945309417232121458176568", .flops = 14,
	.sample = { 0.2, 3 },
	.doc = "Logarithm of base 2, computed as ln x / ln 2.", .formula = "y = ln x / ln 2, dx = g / (x * ln 2)");

static void grad_sqrt(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *y = y_of(gr, op);
	grad_add(gr, op, 0, b_op2(b, OP_div, grad_of(gr, op, 0), b_op2(b, OP_add, y, y)));
}

OPDEF(sqrt, .type = "Sqrt", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_sqrt, .expr = "sqrt(t)", .flops = 4, .sample = { 0.2, 3 },
	.doc = "Square root of each element; NaN below zero. Its gradient is infinite at 0.",
	.formula = "y = sqrt(x), dx = g / (2 * y)");

static void grad_tanh(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, b_op2(&gr->b, OP_tanh_grad, grad_of(gr, op, 0), y_of(gr, op)));
}

OPDEF(tanh, .type = "Tanh", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_tanh, .expr = "tanh(t)", .flops = 10, .sample = { -2, 2 },
	.doc = "Hyperbolic tangent of each element.", .formula = "y = tanh x, dx = g * (1 - y^2)");

static void grad_erf(Grad *gr, Op *op) { grad_prim(gr, op, FP_erf, "ErfGrad"); }

OPDEF(erf, .type = "Erf", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_erf, .expr = "erf(t)", .flops = 16, .sample = { -2, 2 },
	.doc = "Error function of each element: between -1 and 1.",
	.formula = "y = 2/sqrt(pi) * integral of e^(-t^2), t = 0 … x; dx = g * 2/sqrt(pi) * e^(-x^2)");

static void grad_recip(Grad *gr, Op *op)
{
	Tensor *in[] = { grad_of(gr, op, 0), y_of(gr, op) };
	grad_add(gr, op, 0, b_formula(&gr->b, "ReciprocalGrad", "neg(mul(ts0, mul(ts1, ts1)))", in, 2));
}

OPDEF(recip, .type = "Reciprocal", .family = "unary", .alias = "reciprocal", .params = ONE_TENSOR, .traits = PURE | ELTWISE,
	.infer = infer_float, .grad = grad_recip, .expr = "recip(t)", .flops = 4, .sample = { 0.3, 3 },
	.doc = "One divided by the element: an infinity with the sign of a zero.", .formula = "y = 1 / x, dx = -g * y^2");

/* --- copies ------------------------------------------------------------------------------------------------ */

static void grad_identity(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, grad_of(gr, op, 0));
}

OPDEF(identity, .type = "Identity", .family = "unary", .alias = "rename", .traits = PURE | ELTWISE | MOVES,
	.params = PARAMS({ "t", P_TENSOR }, { "output_name", P_STR, OPTIONAL }),
	.infer = infer_same, .grad = grad_identity, .expr = "t", .sample = { -2, 2 },
	.doc = "A copy, under the name `output_name` if one is given.", .formula = "y = x, dx = g");

static int view_same(const Op *op, const Layout *in, Layout *out)
{
	(void)op;
	out[0] = in[0];
	return 1;
}

OPDEF(detach, .type = "Detach", .type_inplace = "DetachInplace", .family = "unary", .params = ONE_TENSOR,
	.traits = PURE | ELTWISE | MOVES | NO_GRAD, .inplace = VIEWS, .view = view_same, .infer = infer_same, .expr = "t",
	.doc = "The same values, but no gradient passes: the path back ends here.", .formula = "y = x, dx: none");

/* --- tests on numbers --------------------------------------------------------------------------------------- */

static int infer_float_test(Infer *in)
{
	if (!infer_need_float(in, 0) || !infer_same(in)) return 0;
	in->out[0].dtype = DT_BOOL;
	return 1;
}

OPDEF(isnan, .type = "IsNaN", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE | NO_GRAD,
	.infer = infer_float_test, .expr = "isnan(t)", .flops = 1,
	.doc = "True where the element is not a number.", .formula = "y = (x is NaN)");

OPDEF(isinf, .type = "IsInf", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE | NO_GRAD,
	.infer = infer_float_test, .expr = "isinf(t)", .flops = 1,
	.doc = "True where the element is an infinity of either sign.", .formula = "y = (|x| = inf)");

OPDEF(isfinite, .type = "IsFinite", .family = "unary", .params = ONE_TENSOR, .traits = PURE | ELTWISE | NO_GRAD,
	.infer = infer_float_test, .expr = "isnan(t) + isinf(t) == 0", .flops = 3,
	.doc = "True where the element is neither NaN nor infinite.", .formula = "y = not (isnan(x) or isinf(x))");

/* any tensor is read as truth values */
static int infer_any_test(Infer *in)
{
	infer_same(in);
	in->out[0].dtype = DT_BOOL;
	return 1;
}

OPDEF(logical_not, .type = "Not", .family = "compare", .params = ONE_TENSOR, .traits = PURE | ELTWISE | GRAD_ERROR,
	.infer = infer_any_test, .expr = "t == 0", .flops = 1,
	.doc = "True where the element is zero, as `~` does: the operand is read as a truth value first.",
	.formula = "y = (x = 0)");

/* --- clip, increment_mod -------------------------------------------------------------------------------------- */

/* of integers, a bound is one of them, or missing; from 2^53 on whole numbers are not exact as they come here */
static int bound_fits(Infer *in, const char *name, double missing)
{
	double x = op_attr(in->op, name)->f;
	if (!dtype_is_int(infer_in(in, 0).dtype) || x == missing) return 1;
	if (!infer_fits(in, name)) return 0;
	if (x == trunc(x) && fabs(x) < 9007199254740992.0) return 1;
	Buf b = buf_new(in->b->ir->mem);
	buf_float(&b, x);
	Diag *d = infer_error(in, E0310, "`%s` of `clip` of integers must be a whole number below 2^53", name);
	diag_label(in->b->ir->ds, d, "got %s", b.s);
	return 0;
}

static double clamp16(double x) { return x < -65504 ? -65504 : x > 65504 ? 65504 : x; }

static int infer_clip(Infer *in)
{
	AttrVal *lo = &in->op->attr[op_param(in->def, "min")], *hi = &in->op->attr[op_param(in->def, "max")];
	if (!infer_need_number(in, 0) || !bound_fits(in, "min", -INFINITY) || !bound_fits(in, "max", INFINITY)) return 0;
	if (!(lo->f <= hi->f)) {
		infer_error(in, E0310, "`min` of `clip` is above `max`");
		return 0;
	}
	if (infer_in(in, 0).dtype == DT_F16) {       /* half precision has no larger finite numbers */
		lo->f = clamp16(lo->f);
		hi->f = clamp16(hi->f);
	}
	return infer_same(in);
}

/* g where y is strictly inside the bounds; a bound itself passes nothing */
static void grad_clip(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *y = y_of(gr, op), *g = grad_of(gr, op, 0);
	Tensor *inside = b_op2(b, OP_logical_and, b_op2(b, OP_not_equal, y, b_like(b, y, op_attr(op, "min")->f)),
	                       b_op2(b, OP_not_equal, y, b_like(b, y, op_attr(op, "max")->f)));
	grad_add(gr, op, 0, b_op3(b, OP_where, inside, g, b_like(b, g, 0)));
}

OPDEF(clip, .type = "Clip", .family = "unary", .alias = "clamp", .traits = PURE | ELTWISE,
	.params = PARAMS({ "t", P_TENSOR }, { "min", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(-INFINITY) }, { "max", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(INFINITY) }),
	.infer = infer_clip, .grad = grad_clip, .expr = "clamp(t, min, max)",           /* a NaN, and a zero with its sign, come out as they are */
	.flops = 2, .sample = { -2, 2 },
	.doc = "Each element brought into [min, max]; NaN stays NaN. Bounds of an f16 tensor are first brought into the range of f16; "
	       "those of an integer tensor are whole numbers of its type. "
	       "No gradient passes where the result equals a bound. `min` above `max` is an error.",
	.formula = "y = min(max(x, lo), hi), dx = g where y is neither bound, else 0");

static int infer_increment_mod(Infer *in)
{
	DType t = infer_in(in, 0).dtype;
	double m = op_attr(in->op, "modulus")->f;
	if (!infer_need_number(in, 0) || !infer_fits(in, "increment") || !infer_fits(in, "modulus")) return 0;
	if (m != m || (dtype_is_int(t) ? m > -1 && m < 1 : m == 0)) {
		infer_error(in, E0310, m != m ? "`modulus` of `increment_mod` is not a number" : "`modulus` of `increment_mod` is zero");
		return 0;
	}
	return infer_same(in);
}

OPDEF(increment_mod, .type = "IncrementMod", .type_inplace = "IncrementModInplace", .family = "unary",
	.params = PARAMS({ "t", P_TENSOR }, { "increment", P_FLOAT }, { "modulus", P_FLOAT }),
	.traits = PURE | ELTWISE | NO_GRAD, .inplace = MODIFIES, .infer = infer_increment_mod, .expr = "mod(wrap(t + increment), modulus)",
	.flops = 4, .sample = { 0, 4 },
	.doc = "Adds `increment` and takes the remainder by `modulus`, both converted to the tensor's dtype (one that an integer dtype does not hold is an error). The remainder is that of C: "
	       "it has the sign of the dividend. A modulus of 0 is an error.",
	.formula = "y = fmod(x + increment, modulus)");

/* --- print_tensor ------------------------------------------------------------------------------------------------ */

static const char *const float_formats[] = { "auto", "fixed", "scientific", "none", 0 };

static int one_char(Infer *in, const char *name)
{
	const char *s = op_attr(in->op, name)->s;
	if (s && s[0] > 0 && !s[1]) return 1;
	infer_error(in, E0310, "`%s` of `print_tensor` must be exactly one ASCII character", name);
	return 0;
}

static int not_negative(Infer *in, const char *name)
{
	if (op_attr(in->op, name)->i >= 0) return 1;
	infer_error(in, E0310, "`%s` of `print_tensor` is negative", name);
	return 0;
}

static int infer_print(Infer *in)
{
	return infer_word(in, "float_format", float_formats) >= 0
	    && one_char(in, "separator") && one_char(in, "open_bracket") && one_char(in, "close_bracket")
	    && not_negative(in, "summarise_threshold") && not_negative(in, "edge_items")
	    && not_negative(in, "max_line_width") && not_negative(in, "digits") && infer_same(in);
}

static const char *print_title(Arena *a, const Op *op)
{
	const char *t = op_attr(op, "title")->s;
	return t && op_attr(op, "title")->set ? t : arena_printf(a, "print_%s", op->in.at[0]->name);
}

/* the gradient is printed by a print_tensor of its own, in the gradient graph */
static void grad_print(Grad *gr, Op *op)
{
	Tensor *g = grad_of(gr, op, 0);
	if (op_attr(op, "print_gradient")->i) {
		Arena *a = gr->b.ir->mem;
		int n = 0;
		while (op_def(op)->params[n].kind != P_END) n++;
		AttrVal *v = arena_dup(a, op->attr, (size_t)n * sizeof *v);
		v[op_param(op_def(op), "title")] = attr_str(arena_printf(a, "%s_gradient", print_title(a, op)));
		v[op_param(op_def(op), "print_gradient")] = attr_int(0);
		v[op_param(op_def(op), "print_self")] = attr_int(1);
		g = ir_op(&gr->b, OP_print_tensor, &g, 1, v, 0)->out.at[0];
	}
	grad_add(gr, op, 0, g);
}

static void emit_print(Emit *e, const Op *op)
{
	const Tensor *x = op->in.at[0];
	const Shape *s = &x->spec.shape;
	emit_line(e, "rt->memcpy(%s, %s, %lld);", emit_out(e, op, 0), emit_in(e, op, 0),
	          (long long)shape_nelems(*s) * (long long)dtype_size(x->spec.dtype));
	if (!op_attr(op, "print_self")->i) return;
	int format = 0;
	while (strcmp(float_formats[format], op_attr(op, "float_format")->s)) format++;
	const char *d = emit_static(e, "struct pxlrt_print", "{ %d, %d, %s, %s, %lld, %lld, %lld, %d, %d, %d, %d, %d }",
		x->spec.dtype, s->rank, emit_longs(e, s->dim, s->rank), emit_cstr(e, print_title(emit_mem(e), op)),
		(long long)op_attr(op, "summarise_threshold")->i, (long long)op_attr(op, "edge_items")->i,
		(long long)op_attr(op, "max_line_width")->i, (int)op_attr(op, "digits")->i, format,
		op_attr(op, "separator")->s[0], op_attr(op, "open_bracket")->s[0], op_attr(op, "close_bracket")->s[0]);
	emit_rt(e, op, "print(ln, &%s, %s)", d, emit_in(e, op, 0));
}

OPDEF(print_tensor, .type = "PrintTensor", .family = "unary", .traits = EFFECT,
	.params = PARAMS({ "t", P_TENSOR }, { "title", P_STR, OPTIONAL }, { "print_self", P_BOOL, OPTIONAL, INT_DEFAULT(1) },
		{ "print_gradient", P_BOOL, OPTIONAL, INT_DEFAULT(0) }, { "summarise_threshold", P_INT, OPTIONAL, INT_DEFAULT(1000) },
		{ "edge_items", P_INT, OPTIONAL, INT_DEFAULT(3) }, { "max_line_width", P_INT, OPTIONAL, INT_DEFAULT(75) },
		{ "digits", P_INT, OPTIONAL, INT_DEFAULT(8) }, { "float_format", P_STR, OPTIONAL, STR_DEFAULT("auto") },
		{ "separator", P_STR, OPTIONAL, STR_DEFAULT(" ") }, { "open_bracket", P_STR, OPTIONAL, STR_DEFAULT("[") },
		{ "close_bracket", P_STR, OPTIONAL, STR_DEFAULT("]") }),
	.infer = infer_print, .grad = grad_print, .emit = emit_print, .sample = { -2, 2 },
	.doc = "Writes `title: values` to the diagnostic stream each time it runs, and returns a copy; it runs even if nobody reads the copy. "
	       "Without a title it is `print_<name>`. With `print_gradient` the incoming gradient is printed as `<title>_gradient`. "
	       "More than `summarise_threshold` elements (0: never) are abridged to `edge_items` at each end of an axis; lines wrap at "
	       "`max_line_width` (0: never); `digits` are significant digits (0: unaligned). `float_format` is auto, fixed, scientific or none. "
	       "Separator and brackets are one ASCII character each.",
	.formula = "y = x, dx = g");
