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
	.traits = PURE | ELTWISE, .infer = infer_cast, .grad = grad_cast, .expr = "cast(t)", .flops = 1, .out_name = "%s_%t", .sample = { -2, 2 },
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

/* what loads a block of float8 gives all of them */
static void emit_values(Emit *e, const Op *op)
{
	const Spec *s = &op->in.at[0]->spec;
	emit_line(e, "rt->ld[%d](%s, %s, 1, %" PRId64 ");", s->dtype, emit_out(e, op, 0), emit_in(e, op, 0), shape_nelems(s->shape));
}

OPDEF(float8_values, .type = "Float8Values", .family = "cast", .params = PARAMS({ "t", P_TENSOR }), .traits = PURE | INTERNAL | GRAD_ERROR,
	.infer = infer_f32, .emit = emit_values, .flops = 1, .sample = { -2, 2 }, .doc = "The values of a float8 tensor.", .formula = "y = t");

static void emit_power(Emit *e, const Op *op) { emit_rt(e, op, "pow2(ln, %s, %s)", emit_in(e, op, 0), emit_out(e, op, 0)); }

OPDEF(power_of_2, .type = "PowerOf2", .family = "cast", .params = PARAMS({ "log2_scale", P_TENSOR }), .traits = PURE | INTERNAL | GRAD_ERROR,
	.infer = infer_f32, .emit = emit_power, .flops = 1, .sample = { -2, 2 }, .doc = "The factor of a scale: a number out of -32 to 31 is a run-time error.",
	.formula = "y = 2^log2_scale");
