/* reduce.c — ops that fold axes of a tensor into one value, and running sums.
 *
 * Gradients are built at the operand's shape: the reduced axes of g and y come back as 1 and broadcast. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <math.h>

/* --- axis reductions ------------------------------------------------------------------------------------ */

int infer_reduce(Infer *in)
{
	Spec x = infer_in(in, 0);
	const AttrVal *axis = op_attr(in->op, "axis");
	unsigned mask;
	int64_t axes[MAX_RANK];
	int n = 0;
	if (!infer_axes(in, axis, x.shape.rank, &mask)) return 0;
	in->out[0].dtype = x.dtype;
	for (int i = 0; i < x.shape.rank; i++) {
		int gone = mask >> i & 1;
		if (gone) axes[n++] = i;
		if (!gone || op_attr(in->op, "keepdims")->i)
			in->out[0].shape.dim[in->out[0].shape.rank++] = gone ? 1 : x.shape.dim[i];
	}
	infer_set_ints(in, "axis", axes, n);
	return 1;
}
static int infer_number(Infer *in) { return infer_need_number(in, 0) && infer_reduce(in); }

int infer_nonempty(Infer *in, unsigned axes)
{
	Shape s = infer_in(in, 0).shape;
	for (int i = 0; i < s.rank; i++)
		if (axes >> i & 1 && !s.dim[i]) return infer_error(in, E0311, "`%s` of no elements: axis %d is empty", in->def->name, i), 0;
	return 1;
}
static int infer_extreme(Infer *in) { return infer_number(in) && infer_nonempty(in, op_axes(in->op)); }
/* the mean of no floats is NaN, which integers do not have */
static int infer_mean(Infer *in) { return infer_number(in) && (!dtype_is_int(infer_in(in, 0).dtype) || infer_nonempty(in, op_axes(in->op))); }
static int infer_float(Infer *in)  { return infer_need_float(in, 0) && infer_reduce(in); }

unsigned op_axes(const Op *op)
{
	const AttrVal *a = op_attr(op, "axis");
	unsigned mask = 0;
	for (int i = 0; i < a->ints.n; i++) mask |= 1u << a->ints.at[i];
	return mask;
}

int reduce_kind(const Op *op)
{
	switch (op->code) {
	case OP_sum:       return PXLRT_SUM;
	case OP_mean:      return PXLRT_MEAN;
	case OP_max:       return PXLRT_MAX;
	case OP_min:       return PXLRT_MIN;
	case OP_prod:      return PXLRT_PROD;
	case OP_l1:        return PXLRT_L1;
	case OP_l2:        return PXLRT_L2;
	case OP_sumsquare: return PXLRT_SUMSQ;
	case OP_logsum:    return PXLRT_LOGSUM;
	case OP_logsumexp: return PXLRT_LOGSUMEXP;
	default:           return -1;
	}
}

static void emit_reduce(Emit *e, const Op *op)
{
	const Spec *x = &op->in.at[0]->spec;
	Layout l = emit_layout(e, op->in.at[0]);
	const char *d = emit_static(e, "struct pxlrt_reduce", "{ %d, %d, %d, %uu, %s, %s }", reduce_kind(op), x->dtype, x->shape.rank, op_axes(op),
	                            emit_longs(e, x->shape.dim, x->shape.rank), emit_longs(e, l.stride, x->shape.rank));
	emit_rt(e, op, "reduce(ln, &%s, %s, %s)", d, emit_in(e, op, 0), emit_out(e, op, 0));
}

static Tensor *x_of(Grad *gr, Op *op) { return grad_fwd(gr, op->in.at[0]); }

/* v, of the result's shape, with the reduced axes put back as 1 */
static Tensor *spread(Grad *gr, Op *op, Tensor *v)
{
	return b_keepdims(&gr->b, v, op->in.at[0]->spec.shape, op_axes(op));
}
static Tensor *g_of(Grad *gr, Op *op) { return spread(gr, op, grad_of(gr, op, 0)); }
static Tensor *y_of(Grad *gr, Op *op) { return spread(gr, op, grad_fwd(gr, op->out.at[0])); }

static int64_t reduced_count(const Op *op)
{
	int64_t n = 1;
	for (int i = 0; i < op->in.at[0]->spec.shape.rank; i++)
		if (op_axes(op) >> i & 1) n *= op->in.at[0]->spec.shape.dim[i];
	return n;
}

static Tensor *mul(Grad *gr, Tensor *x, Tensor *y) { return b_op2(&gr->b, OP_mul, x, y); }

static void grad_sum(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, b_broadcast(&gr->b, g_of(gr, op), op->in.at[0]->spec.shape));
}

static void grad_mean(Grad *gr, Op *op)
{
	Tensor *g = g_of(gr, op);
	g = mul(gr, g, b_like(&gr->b, g, 1.0 / (double)reduced_count(op)));
	grad_add(gr, op, 0, b_broadcast(&gr->b, g, op->in.at[0]->spec.shape));
}

/* every element that equals the extreme receives the whole gradient */
static void grad_extreme(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = g_of(gr, op);
	grad_add(gr, op, 0, b_op3(b, OP_where, b_op2(b, OP_equal, x_of(gr, op), y_of(gr, op)), g, b_like(b, g, 0)));
}

static void grad_l1(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, mul(gr, b_op1(&gr->b, OP_sign, x_of(gr, op)), g_of(gr, op)));
}

/* x g / y, and 0 where the norm is 0 */
static void grad_l2(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = g_of(gr, op), *y = y_of(gr, op), *zero = b_like(b, y, 0);
	Tensor *slope = b_op3(b, OP_where, b_op2(b, OP_equal, y, zero), zero, b_op2(b, OP_div, g, y));
	grad_add(gr, op, 0, mul(gr, x_of(gr, op), slope));
}

static void grad_sumsquare(Grad *gr, Op *op)
{
	Tensor *g = g_of(gr, op);
	grad_add(gr, op, 0, mul(gr, x_of(gr, op), b_op2(&gr->b, OP_add, g, g)));
}

static void grad_logsum(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = b_op2(b, OP_div, g_of(gr, op), b_op1(b, OP_exp, y_of(gr, op)));
	grad_add(gr, op, 0, b_broadcast(b, g, op->in.at[0]->spec.shape));
}

/* g e^(x-y); where all of a group is -inf, so is y, and the weights are 0 rather than NaN */
static void grad_logsumexp(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *y = y_of(gr, op);
	Tensor *safe = b_op3(b, OP_where, b_op2(b, OP_equal, y, b_like(b, y, -INFINITY)), b_like(b, y, 0), y);
	grad_add(gr, op, 0, mul(gr, b_op1(b, OP_exp, b_op2(b, OP_sub, x_of(gr, op), safe)), g_of(gr, op)));
}

/* --- prod -------------------------------------------------------------------------------------------------- */

/* x moved along its last axis by n places (n < 0: to the left), ones coming in */
static Tensor *shifted(Build *b, Tensor *x, int64_t n)
{
	int axis = x->spec.shape.rank - 1;
	int64_t len = x->spec.shape.dim[axis], k = n < 0 ? -n : n;
	Shape s = x->spec.shape;
	s.dim[axis] = k < len ? k : len;
	Tensor *ones = b_broadcast(b, b_like(b, x, 1), s);
	if (k >= len) return ones;
	Tensor *part = n < 0 ? b_slice(b, x, axis, k, len) : b_slice(b, x, axis, 0, len - k);
	return b_concat(b, n < 0 ? (Tensor *[]){ part, ones } : (Tensor *[]){ ones, part }, 2, axis);
}

/* products of all that comes before each element of the last axis (dir 1), or after it (dir -1):
 * log n rounds of multiplying by itself shifted */
static Tensor *products_beside(Build *b, Tensor *x, int dir)
{
	int64_t len = x->spec.shape.dim[x->spec.shape.rank - 1];
	Tensor *p = shifted(b, x, dir);
	for (int64_t k = 1; k < len; k *= 2) p = b_op2(b, OP_mul, p, shifted(b, p, dir * k));
	return p;
}

/* g times the product of the other elements: nothing is divided, so zeros are safe.
 * The reduced axes are brought to the end and flattened into one. */
static void grad_prod(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Shape s = op->in.at[0]->spec.shape, moved = { 0 }, flat = { 0 };
	int perm[MAX_RANK], back[MAX_RANK], n = 0;
	for (int last = 0; last < 2; last++)
		for (int i = 0; i < s.rank; i++)
			if ((int)(op_axes(op) >> i & 1) == last) perm[n++] = i;
	for (int i = 0; i < s.rank; i++) {
		back[perm[i]] = i;
		moved.dim[moved.rank++] = s.dim[perm[i]];
		if (!(op_axes(op) >> perm[i] & 1)) flat.dim[flat.rank++] = s.dim[perm[i]];
	}
	flat.dim[flat.rank++] = reduced_count(op);
	Tensor *x = b_reshape(b, b_transpose(b, x_of(gr, op), perm), flat);
	Tensor *others = mul(gr, products_beside(b, x, 1), products_beside(b, x, -1));
	others = b_transpose(b, b_reshape(b, others, moved), back);
	grad_add(gr, op, 0, mul(gr, others, g_of(gr, op)));
}

/* --- the blocks -------------------------------------------------------------------------------------------- */

#define REDUCE_PARAMS PARAMS({ "t", P_TENSOR }, { "axis", P_INTS, OPTIONAL }, { "keepdims", P_BOOL, OPTIONAL, INT_DEFAULT(0) })
#define A_REDUCTION .family = "reduce", .params = REDUCE_PARAMS, .traits = PURE | STRIDED, .blocking = BLOCKS_FOLDED, .emit = emit_reduce
#define AXES_DOC " Over all axes, or those given (negative ones count from the end; an empty list reduces nothing); `keepdims` leaves them in place as 1."

OPDEF(sum, .type = "ReduceSum", A_REDUCTION, .infer = infer_number, .grad = grad_sum, .flops = 1, .sample = { -2, 2 },
	.doc = "Sum of elements, in the tensor's own dtype." AXES_DOC, .formula = "y = sum x, dx = g");
OPDEF(mean, .type = "ReduceMean", A_REDUCTION, .infer = infer_mean, .grad = grad_mean, .flops = 1, .sample = { -2, 2 },
	.doc = "Mean of elements; on integers it is rounded down, and their sum taken in 64 bits. The mean of no floats is NaN, that of no integers an error." AXES_DOC, .formula = "y = sum x / n, dx = g / n");
OPDEF(max, .type = "ReduceMax", A_REDUCTION, .infer = infer_extreme, .grad = grad_extreme, .flops = 1, .sample = { -2, 2 },
	.doc = "Largest element; NaN wins. An axis of length 0 has none, which is an error. Every element that equals it receives the whole gradient." AXES_DOC,
	.formula = "y = max x, dx = g where x = y, else 0");
OPDEF(min, .type = "ReduceMin", A_REDUCTION, .infer = infer_extreme, .grad = grad_extreme, .flops = 1, .sample = { -2, 2 },
	.doc = "Smallest element; NaN wins. An axis of length 0 has none, which is an error. Every element that equals it receives the whole gradient." AXES_DOC,
	.formula = "y = min x, dx = g where x = y, else 0");
OPDEF(prod, .type = "ReduceProd", A_REDUCTION, .infer = infer_number, .grad = grad_prod, .flops = 1, .sample = { 0.5, 1.5 },
	.doc = "Product of elements. The gradient multiplies the other elements and never divides, so zeros are safe." AXES_DOC,
	.formula = "y = prod x, dx_i = g * prod of x_j, j != i");
OPDEF(l1, .type = "ReduceL1", A_REDUCTION, .infer = infer_float, .grad = grad_l1, .flops = 2, .sample = { -2, 2 },
	.doc = "Sum of absolute values." AXES_DOC, .formula = "y = sum |x|, dx = g * sign(x)");
OPDEF(l2, .type = "ReduceL2", A_REDUCTION, .infer = infer_float, .grad = grad_l2, .flops = 2, .sample = { -2, 2 },
	.doc = "Euclidean norm; its gradient is 0 where the norm is 0." AXES_DOC, .formula = "y = sqrt(sum x^2), dx = g * x / y");
OPDEF(sumsquare, .type = "ReduceSumSquare", A_REDUCTION, .infer = infer_float, .grad = grad_sumsquare, .flops = 2,
	.sample = { -2, 2 }, .doc = "Sum of squares." AXES_DOC, .formula = "y = sum x^2, dx = 2 x g");
OPDEF(logsum, .type = "ReduceLogSum", A_REDUCTION, .infer = infer_float, .grad = grad_logsum, .flops = 1,
	.sample = { 0.2, 2 }, .doc = "Logarithm of the sum." AXES_DOC, .formula = "y = ln sum x, dx = g / e^y");
OPDEF(logsumexp, .type = "ReduceLogSumExp", A_REDUCTION, .infer = infer_float, .grad = grad_logsumexp, .flops = 10,
	.sample = { -2, 2 }, .doc = "Logarithm of the sum of exponentials, with the maximum taken out first." AXES_DOC,
	.formula = "y = m + ln sum e^(x-m), m = max x, dx = g * e^(x-y)");

/* --- positions ----------------------------------------------------------------------------------------------- */

static int infer_position(Infer *in)
{
	Spec x = infer_in(in, 0);
	int axis;
	if (!infer_need_number(in, 0) || !infer_axis(in, op_attr(in->op, "dim")->i, x.shape.rank, &axis)) return 0;
	in->out[0].dtype = DT_I32;
	for (int i = 0; i < x.shape.rank; i++)
		if (i != axis || op_attr(in->op, "keepdim")->i)
			in->out[0].shape.dim[in->out[0].shape.rank++] = i == axis ? 1 : x.shape.dim[i];
	infer_set_int(in, "dim", axis);
	return infer_nonempty(in, 1u << axis);
}

static void emit_position(Emit *e, const Op *op, int smallest)
{
	const char *d = emit_axis(e, op->in.at[0], (int)op_attr(op, "dim")->i);
	emit_rt(e, op, "argmax(ln, &%s, %d, %s, %s)", d, smallest, emit_in(e, op, 0), emit_out(e, op, 0));
}
static void emit_argmax(Emit *e, const Op *op) { emit_position(e, op, 0); }
static void emit_argmin(Emit *e, const Op *op) { emit_position(e, op, 1); }

#define POSITION_PARAMS PARAMS({ "t", P_TENSOR }, { "dim", P_INT, OPTIONAL, INT_DEFAULT(0) }, { "keepdim", P_BOOL, OPTIONAL, INT_DEFAULT(0) })

OPDEF(argmax, .type = "ArgMax", .family = "reduce", .params = POSITION_PARAMS, .traits = PURE | NO_GRAD, .infer = infer_position,
	.emit = emit_argmax, .flops = 1, .sample = { -2, 2 },
	.doc = "Position of the largest element along `dim` as i32, the lowest among equals; the first NaN counts as largest. An axis of length 0 is an error.",
	.formula = "y = argmax_i x_i");
OPDEF(argmin, .type = "ArgMin", .family = "reduce", .params = POSITION_PARAMS, .traits = PURE | NO_GRAD, .infer = infer_position,
	.emit = emit_argmin, .flops = 1, .sample = { -2, 2 },
	.doc = "Position of the smallest element along `dim` as i32, the lowest among equals. An axis of length 0 is an error.", .formula = "y = argmin_i x_i");

/* --- cumsum ------------------------------------------------------------------------------------------------------ */

static int infer_cumsum(Infer *in)
{
	Spec x = infer_in(in, 0);
	int axis;
	if (!infer_need_number(in, 0)) return 0;
	if (!dtype_is_float(x.dtype) && dtype_size(x.dtype) < 4) {
		infer_error(in, E0304, "`cumsum` needs integers of 32 or 64 bits, got %s", dtype_info[x.dtype].name);
		return 0;
	}
	if (!infer_axis(in, op_attr(in->op, "dim")->i, x.shape.rank, &axis)) return 0;
	infer_set_int(in, "dim", axis);
	return infer_same(in);
}

static void grad_cumsum(Grad *gr, Op *op)
{
	Tensor *g = grad_of(gr, op, 0);
	AttrVal *v = b_attrs(&gr->b, OP_cumsum, "dim", *op_attr(op, "dim"), "reverse", attr_int(!op_attr(op, "reverse")->i), NULL);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_cumsum, &g, 1, v, 0)->out.at[0]);
}

static void emit_cumsum(Emit *e, const Op *op)
{
	const char *d = emit_axis(e, op->in.at[0], (int)op_attr(op, "dim")->i);
	emit_rt(e, op, "cumsum(ln, &%s, %d, %s, %s)", d, (int)op_attr(op, "reverse")->i, emit_in(e, op, 0), emit_out(e, op, 0));
}

OPDEF(cumsum, .type = "CumSum", .family = "reduce",
	.params = PARAMS({ "t", P_TENSOR }, { "dim", P_INT, OPTIONAL, INT_DEFAULT(0) }, { "reverse", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE, .infer = infer_cumsum, .grad = grad_cumsum, .emit = emit_cumsum, .flops = 1, .sample = { -2, 2 },
	.doc = "Running sum along `dim`, each element included; `reverse` sums from the end.",
	.formula = "y_i = sum of x_j, j <= i; dx_i = sum of g_j, j >= i");

/* --- lamb_square --------------------------------------------------------------------------------------------------- */

static int infer_lamb_square(Infer *in)
{
	in->out[0].dtype = DT_F32;
	return infer_need_float(in, 0);
}

static int lower_lamb_square(Build *b, Op *op, Tensor **out)
{
	Tensor *x = b_cast(b, op->in.at[0], DT_F32);
	out[0] = b_reduce_op(b, OP_sumsquare, x, (1u << x->spec.shape.rank) - 1, 0);
	return 1;
}

OPDEF(lamb_square, .type = "LambSquare", .family = "reduce", .params = PARAMS({ "t", P_TENSOR }), .traits = PURE | NO_GRAD,
	.infer = infer_lamb_square, .lower = lower_lamb_square, .flops = 2, .sample = { -2, 2 },
	.doc = "Sum of squares of all elements as an f32 scalar, whatever the operand's dtype: what `adam_var_update` takes as r1 and r2.",
	.formula = "y = sum x^2");
