/* compare.c — comparisons, logic, bits and selection. Results of comparisons are bool tensors. */
#include "compiler/ops/grad.h"

#define TWO_TENSORS PARAMS({ "lhs", P_TENSOR }, { "rhs", P_TENSOR })
#define A_TEST .family = "compare", .traits = PURE | ELTWISE | GRAD_ERROR, .flops = 1, .sample = { -2, 2 }
#define A_SYMMETRIC_TEST .family = "compare", .traits = PURE | ELTWISE | COMMUTES | GRAD_ERROR, .flops = 1, .sample = { -2, 2 }

OPDEF(equal, .type = "Equal", A_SYMMETRIC_TEST, .params = TWO_TENSORS, .infer = infer_compare, .expr = "lhs == rhs",
	.doc = "True where the operands are equal, as `==`. NaN equals nothing; -0 equals 0.", .formula = "y = (a = b)");

OPDEF(not_equal, .type = "NotEqual", A_SYMMETRIC_TEST, .params = TWO_TENSORS, .infer = infer_compare, .expr = "lhs != rhs",
	.doc = "True where the operands differ, as `!=`. NaN differs from everything.", .formula = "y = not (a = b)");

OPDEF(greater, .type = "Greater", A_TEST, .params = PARAMS({ "input", P_TENSOR }, { "other", P_TENSOR }), .infer = infer_compare,
	.expr = "input > other",
	.doc = "True where the first operand is above the second, as `>`; false with NaN.", .formula = "y = (a > b)");

OPDEF(greater_equal, .type = "GreaterOrEqual", A_TEST, .params = TWO_TENSORS, .infer = infer_compare, .expr = "lhs >= rhs",
	.doc = "True where the first operand is not below the second, as `>=`; false with NaN.", .formula = "y = (a >= b)");

OPDEF(less, .type = "Less", A_TEST, .params = TWO_TENSORS, .infer = infer_compare, .expr = "lhs < rhs",
	.doc = "True where the first operand is below the second, as `<`; false with NaN.", .formula = "y = (a < b)");

OPDEF(less_equal, .type = "LessOrEqual", A_TEST, .params = TWO_TENSORS, .infer = infer_compare, .expr = "lhs <= rhs",
	.doc = "True where the first operand is not above the second, as `<=`; false with NaN.", .formula = "y = (a <= b)");

/* operands are read as truth values, so their dtypes need not agree: only the shapes count */
static int infer_logic(Infer *in)
{
	Shape a = infer_in(in, 0).shape, b = infer_in(in, 1).shape;
	if (!shape_broadcast(a, b, &in->out[0].shape)) {
		Arena *mem = in->b->ir->mem;
		Diag *d = infer_error(in, E0302, "shapes of the operands of `%s` do not broadcast", in->def->name);
		diag_label(in->b->ir->ds, d, "%s against %s", shape_str(mem, a), shape_str(mem, b));
		return 0;
	}
	in->out[0].dtype = DT_BOOL;
	return 1;
}

OPDEF(logical_and, .type = "And", A_SYMMETRIC_TEST, .params = TWO_TENSORS, .infer = infer_logic, .expr = "lhs and rhs",
	.doc = "True where both operands are non-zero, as `&`.", .formula = "y = (a != 0 and b != 0)");

OPDEF(logical_or, .type = "Or", A_SYMMETRIC_TEST, .params = TWO_TENSORS, .infer = infer_logic, .expr = "lhs or rhs",
	.doc = "True where at least one operand is non-zero, as `|`.", .formula = "y = (a != 0 or b != 0)");

/* --- bits: integers, and bool as numbers of one bit ------------------------------------------------------------ */

static int infer_bits(Infer *in) { return infer_need_bits(in, 0) && infer_need_bits(in, 1) && infer_broadcast(in); }

static int infer_bitwise_not(Infer *in)
{
	if (!infer_need_bits(in, 0)) return 0;
	infer_set_int(in, "_truth", infer_in(in, 0).dtype == DT_BOOL);
	return infer_same(in);
}

#define A_BIT_OP .params = TWO_TENSORS, .infer = infer_bits, A_SYMMETRIC_TEST
#define BITS_DOC " Both are integers of one type (negative ones in two's complement), or both bools."

OPDEF(bitwise_and, .type = "BitwiseAnd", A_BIT_OP, .expr = "bitwise_and(lhs, rhs)",
	.doc = "The bits that both operands have." BITS_DOC " `&` is `logical_and`, which asks whether numbers are zero.",
	.formula = "y = a and b, bit by bit");

OPDEF(bitwise_or, .type = "BitwiseOr", A_BIT_OP, .expr = "bitwise_or(lhs, rhs)",
	.doc = "The bits that at least one operand has." BITS_DOC " `|` is `logical_or`.", .formula = "y = a or b, bit by bit");

OPDEF(bitwise_xor, .type = "BitwiseXor", A_BIT_OP, .expr = "bitwise_xor(lhs, rhs)",
	.doc = "The bits that exactly one operand has." BITS_DOC, .formula = "y = a xor b, bit by bit");

OPDEF(bitwise_not, .type = "BitwiseNot", A_TEST,
	.params = PARAMS({ "t", P_TENSOR }, { "_truth", P_BOOL, OPTIONAL, INT_DEFAULT(0) }), .infer = infer_bitwise_not,
	.expr = "t == 0 if _truth else bitwise_not(t)",
	.doc = "Every bit inverted: -x - 1 for a signed integer, the opposite for a bool. `~` is `logical_not`.",
	.formula = "y = not x, bit by bit");

/* --- where ------------------------------------------------------------------------------------------------- */

static int infer_where(Infer *in)
{
	Ir *ir = in->b->ir;
	Spec c = infer_in(in, 0), a = infer_in(in, 1), b = infer_in(in, 2);
	Diag *d;
	if (dtype_is_f8(c.dtype)) {
		infer_error(in, E0304, "the condition of `where` cannot be %s", dtype_info[c.dtype].name);
		return 0;
	}
	if (a.dtype != b.dtype) {
		d = infer_error(in, E0303, "both choices of `where` must have the same element type");
		diag_label(ir->ds, d, "%s against %s", dtype_info[a.dtype].name, dtype_info[b.dtype].name);
		return 0;
	}
	if (!shape_broadcast(a.shape, b.shape, &in->out[0].shape) || !shape_broadcast(c.shape, in->out[0].shape, &in->out[0].shape)) {
		d = infer_error(in, E0302, "shapes of the operands of `where` do not broadcast");
		diag_label(ir->ds, d, "%s, %s and %s", shape_str(ir->mem, c.shape), shape_str(ir->mem, a.shape), shape_str(ir->mem, b.shape));
		return 0;
	}
	in->out[0].dtype = a.dtype;
	return 1;
}

/* a condition of another kind becomes a truth value first, or it would decide the class the choices are handled in */
static int lower_where(Build *b, Op *op, Tensor **out)
{
	if (op->in.at[0]->spec.dtype == DT_BOOL) return 0;
	out[0] = b_op3(b, OP_where, b_cast(b, op->in.at[0], DT_BOOL), op->in.at[1], op->in.at[2]);
	return 1;
}

/* selects rather than multiplies by a mask: inf * 0 must not leak */
static void grad_where(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *zero = b_like(b, g, 0), *c = grad_fwd(gr, op->in.at[0]);
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, b_op3(b, OP_where, c, g, zero));
	if (grad_wanted(gr, op, 2)) grad_add(gr, op, 2, b_op3(b, OP_where, c, zero, g));
}

OPDEF(where, .type = "Where", .family = "compare", .params = PARAMS({ "condition", P_TENSOR }, { "lhs", P_TENSOR }, { "rhs", P_TENSOR }),
	.traits = PURE | ELTWISE | MOVES, .infer = infer_where, .lower = lower_where, .grad = grad_where, .stops = 1 << 0, .expr = "lhs if condition != 0 else rhs", .flops = 1,
	.sample = { -2, 2 },
	.doc = "Elements of `lhs` where the condition is non-zero, else of `rhs`; all three broadcast together, and the choices have one dtype. "
	       "The condition receives no gradient.",
	.formula = "y = c ? a : b, da = c ? g : 0, db = c ? 0 : g");
