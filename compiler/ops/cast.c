/* cast.c — conversion between element types. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>

static int infer_cast(Infer *in)
{
	DType from = infer_in(in, 0).dtype, to = (DType)op_attr(in->op, "data_type")->i;
	if (dtype_is_f8(from) || dtype_is_f8(to)) {
		Diag *d = infer_error(in, E0304, "`cast` does not convert %s %s", dtype_is_f8(to) ? "to" : "from", dtype_info[dtype_is_f8(to) ? to : from].name);
		diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, dtype_is_f8(to) ? "use `pow2scale_then_cast`" : "use `cast_then_pow2scale`");
		return 0;
	}
	infer_same(in);
	in->out[0].dtype = to;
	return 1;
}

/* through whole numbers nothing flows: the path ends there */
static void grad_cast(Grad *gr, Op *op)
{
	if (dtype_is_float(op->out.at[0]->spec.dtype)) grad_add(gr, op, 0, grad_of(gr, op, 0));
}

OPDEF(cast, .type = "Cast", .family = "cast", .params = PARAMS({ "t", P_TENSOR }, { "data_type", P_DTYPE }),
	.traits = PURE | ELTWISE | MOVES, .infer = infer_cast, .grad = grad_cast, .expr = "cast(t)", .flops = 1, .out_name = "%s_%t", .sample = { -2, 2 },
	.doc = "The tensor in another element type. Floats become integers by dropping the fraction, saturating at the ends of the range, NaN as 0; "
	       "anything becomes a bool by being non-zero; narrower floats round to nearest even; narrower integers wrap. float8 has ops of its own. "
	       "The gradient is cast back; none passes through integers.",
	.formula = "y = (data_type) x, dx = g");

/* --- what ops with scaled float8 operands are made of --------------------------------------------------------------- */

static int infer_f32(Infer *in)
{
	infer_same(in);
	in->out[0].dtype = DT_F32;
	return 1;
}

OPDEF(float8_values, .type = "Float8Values", .family = "cast", .params = PARAMS({ "t", P_TENSOR }), .traits = PURE | ELTWISE | INTERNAL | GRAD_ERROR,
	.infer = infer_f32, .expr = "cast(t)", .flops = 1, .sample = { -2, 2 }, .doc = "The values of a float8 tensor.", .formula = "y = t");

static int infer_round(Infer *in)
{
	infer_same(in);
	in->out[0].dtype = (DType)op_attr(in->op, "data_type")->i;
	return 1;
}

OPDEF(float8_round, .type = "Float8Round", .family = "cast", .params = PARAMS({ "t", P_TENSOR }, { "data_type", P_DTYPE }),
	.traits = PURE | ELTWISE | INTERNAL | GRAD_ERROR, .infer = infer_round, .expr = "cast(t)", .flops = 1, .sample = { -2, 2 },
	.doc = "f32 as float8: nearest, ties to even, NaN for what is too large.", .formula = "y = round(t)");

static void emit_power(Emit *e, const Op *op) { emit_rt(e, op, "pow2(ln, %s, %s)", emit_in(e, op, 0), emit_out(e, op, 0)); }

OPDEF(power_of_2, .type = "PowerOf2", .family = "cast", .params = PARAMS({ "log2_scale", P_TENSOR }), .traits = PURE | INTERNAL | GRAD_ERROR,
	.infer = infer_f32, .fails = fails_always, .emit = emit_power, .flops = 1, .sample = { -2, 2 }, .doc = "The factor of a scale: a number out of -32 to 31 is a run-time error.",
	.formula = "y = 2^log2_scale");

void b_check_scale(Build *b, Tensor *log2_scale) { b_op1(b, OP_power_of_2, log2_scale); }

/* --- the ops themselves ------------------------------------------------------------------------------------------------ */

static int infer_encode(Infer *in)
{
	DType from = infer_in(in, 0).dtype, to = (DType)op_attr(in->op, "data_type")->i;
	if (!dtype_is_f8(to)) infer_error(in, E0304, "`%s` makes float8 tensors, not %s", in->def->name, dtype_info[to].name);
	else if (from != DT_F16 && from != DT_F32) infer_error(in, E0304, "`%s` takes f16 and f32, got %s", in->def->name, dtype_info[from].name);
	else return infer_log2_scale(in, 1) && infer_round(in);
	return 0;
}

static int infer_decode(Infer *in)
{
	DType to = (DType)op_attr(in->op, "data_type")->i;
	if (!infer_need_float8(in, 0)) return 0;
	if (to == DT_F16 || to == DT_F32) return infer_log2_scale(in, 1) && infer_round(in);
	infer_error(in, E0304, "`%s` makes f16 and f32, not %s", in->def->name, dtype_info[to].name);
	return 0;
}

/* Products with a power of 2 are exact in f32, except below what any float8 holds and above it, where NaN is the answer. */
static int lower_encode(Build *b, Op *op, Tensor **out)
{
	Tensor *x = b_op2(b, OP_mul, b_cast(b, op->in.at[0], DT_F32), b_op1(b, OP_power_of_2, op->in.at[1]));
	AttrVal *v = b_attrs(b, OP_float8_round, "data_type", *op_attr(op, "data_type"), NULL);
	out[0] = ir_op(b, OP_float8_round, &x, 1, v, 0)->out.at[0];
	return 1;
}

static int lower_decode(Build *b, Op *op, Tensor **out)
{
	Tensor *x = b_op2(b, OP_mul, b_op1(b, OP_float8_values, op->in.at[0]), b_op1(b, OP_power_of_2, op->in.at[1]));
	out[0] = b_cast(b, x, op->out.at[0]->spec.dtype);
	return 1;
}

static void check_scale(Build *b, const Op *op) { b_check_scale(b, op->in.at[1]); }

#define SCALE_PARAMS PARAMS({ "t", P_TENSOR }, { "log2_scale", P_TENSOR }, { "data_type", P_DTYPE })

OPDEF(pow2scale_then_cast, .type = "Pow2ScaleThenCast", .family = "cast", .alias = "pow2scale_cast_to_fp8", .params = SCALE_PARAMS,
	.traits = PURE | GRAD_ERROR, .infer = infer_encode, .lower = lower_encode, .fails = fails_always, .check = check_scale, .flops = 2, .out_name = "%s_%t", .sample = { -2, 2 },
	.doc = "f16 or f32 to float8: times 2^log2_scale, then rounded to nearest even. NaN, infinities and what is too large become NaN. `log2_scale` is an i32 "
	       "scalar from -32 to 31, checked when the program runs. Undo it with `cast_then_pow2scale` and the negated scale. No gradient passes.",
	.formula = "y = float8(t 2^log2_scale)");

OPDEF(cast_then_pow2scale, .type = "CastThenPow2Scale", .family = "cast", .alias = "pow2scale_cast_from_fp8", .params = SCALE_PARAMS,
	.traits = PURE | MOVES | GRAD_ERROR, .infer = infer_decode, .lower = lower_decode, .fails = fails_always, .check = check_scale, .flops = 2, .out_name = "%s_%t", .sample = { -2, 2 },
	.doc = "float8 to f16 or f32: the value times 2^log2_scale, infinite where f16 does not reach. `log2_scale` is an i32 scalar from -32 to 31, checked when "
	       "the program runs. No gradient passes.",
	.formula = "y = value(t) 2^log2_scale");
