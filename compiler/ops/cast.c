/* cast.c — conversion between element types. */
#include "compiler/ops/grad.h"

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
