/* random.c — random numbers and dropout.
 *
 * Every op is a pure function of its seed, u32[2], and its attributes: the same seed gives the same
 * numbers in forward and gradient graphs, so dropout's gradient draws its mask again. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

/* --- distributions -------------------------------------------------------------------------------------------- */

static int infer_draw(Infer *in)
{
	DType t = (DType)op_attr(in->op, "dtype")->i;
	if (!infer_seed(in, 0)) return 0;
	if (!dtype_is_float(t)) return infer_error(in, E0304, "`%s` draws floating-point numbers, not %s", in->def->name, dtype_info[t].name), 0;
	in->out[0].dtype = t;
	return infer_dims(in, "shape", &in->out[0].shape);
}

/* a number that the dtype holds */
static int check_holds(Infer *in, const char *name)
{
	DType t = (DType)op_attr(in->op, "dtype")->i;
	double x = op_attr(in->op, name)->f;
	char held[8];
	rt_convert(t, held, DT_F64, &x, 1);
	if (isfinite(rt_get(t, held, 0))) return 1;
	Buf b = buf_new(in->b->ir->mem);
	buf_float(&b, x);
	Diag *d = infer_error(in, E0310, "`%s` of `%s` must be a finite number of %s", name, in->def->name, dtype_info[t].name);
	diag_label(in->b->ir->ds, d, "got %s", b.s);
	return 0;
}

static int infer_normal(Infer *in)
{
	if (!(op_attr(in->op, "std")->f >= 0)) return infer_error(in, E0310, "`std` of `random_normal` is negative"), 0;
	return infer_draw(in) && check_holds(in, "mean") && check_holds(in, "std");
}

static int infer_uniform(Infer *in)
{
	if (!(op_attr(in->op, "low")->f <= op_attr(in->op, "high")->f)) return infer_error(in, E0310, "`low` of `random_uniform` is above `high`"), 0;
	return infer_draw(in) && check_holds(in, "low") && check_holds(in, "high");
}

static void emit_draw(Emit *e, const Op *op, const char *entry, const char *a, const char *b)
{
	const Spec *y = &op->out.at[0]->spec;
	emit_rt(e, op, "%s(ln, %d, %s, %s, %s, %s, %" PRId64 ")", entry, y->dtype, emit_in(e, op, 0), emit_float(e, op_attr(op, a)->f),
	        emit_float(e, op_attr(op, b)->f), emit_out(e, op, 0), shape_nelems(y->shape));
}
static void emit_normal(Emit *e, const Op *op)  { emit_draw(e, op, "random_normal", "mean", "std"); }
static void emit_uniform(Emit *e, const Op *op) { emit_draw(e, op, "random_uniform", "low", "high"); }

OPDEF(random_normal, .type = "RandomNormal", .family = "random",
	.params = PARAMS({ "seed_tensor", P_TENSOR }, { "shape", P_SHAPE }, { "mean", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(0) },
		{ "std", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1) }, { "dtype", P_DTYPE, OPTIONAL, INT_DEFAULT(DT_F32) }),
	.traits = PURE | RANDOM | NO_GRAD, .infer = infer_normal, .emit = emit_normal, .flops = 20,
	.doc = "Normal random numbers. The seed is a u32[2] tensor; the same seed and arguments give the same numbers.", .formula = "y ~ N(mean, std^2)");

OPDEF(random_uniform, .type = "RandomUniform", .family = "random",
	.params = PARAMS({ "seed_tensor", P_TENSOR }, { "shape", P_SHAPE }, { "low", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(0) },
		{ "high", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1) }, { "dtype", P_DTYPE, OPTIONAL, INT_DEFAULT(DT_F32) }),
	.traits = PURE | RANDOM | NO_GRAD, .infer = infer_uniform, .emit = emit_uniform, .flops = 10,
	.doc = "Uniform random numbers in [low, high). The seed is a u32[2] tensor; the same seed and arguments give the same numbers.",
	.formula = "y ~ U[low, high)");

/* --- dropout ---------------------------------------------------------------------------------------------------- */

static int check_ratio(Infer *in, const char *name)
{
	double p = op_attr(in->op, name)->f;
	if (p >= 0 && p < 1) return 1;
	Diag *d = infer_error(in, E0310, "`%s` of `%s` must be at least 0 and below 1", name, in->def->name);
	Buf b = buf_new(in->b->ir->mem);
	buf_float(&b, p);
	diag_label(in->b->ir->ds, d, "got %s", b.s);
	return 0;
}

static int infer_dropout(Infer *in)
{
	return infer_need_float(in, 0) && infer_seed(in, 1) && check_ratio(in, "p") && infer_same(in);
}

static int infer_shaped_dropout(Infer *in)
{
	const AttrVal *v = op_attr(in->op, "shape");
	Shape x = infer_in(in, 0).shape, s = { .rank = v->ints.n }, sum;
	if (!infer_need_float(in, 0) || !infer_seed(in, 1) || !check_ratio(in, "ratio")) return 0;
	for (int i = 0; i < s.rank && i < MAX_RANK; i++) s.dim[i] = v->ints.at[i];
	if (s.rank <= x.rank && shape_broadcast(s, x, &sum) && shape_eq(sum, x)) return infer_same(in);
	Diag *d = infer_error(in, E0302, "`shape` of `shaped_dropout` does not broadcast to the tensor");
	if (s.rank <= MAX_RANK) diag_label(in->b->ir->ds, d, "%s against %s", shape_str(in->b->ir->mem, s), shape_str(in->b->ir->mem, x));
	return 0;
}

/* the same op on the gradient: the same seed gives the same mask */
static void grad_dropout(Grad *gr, Op *op)
{
	Tensor *in[] = { grad_of(gr, op, 0), grad_fwd(gr, op->in.at[1]) };
	grad_add(gr, op, 0, ir_op(&gr->b, op->code, in, 2, op->attr, 0)->out.at[0]);
}

static Tensor *masked(Build *b, Op *op, Shape s, double p)
{
	DType t = op->in.at[0]->spec.dtype;
	AttrVal *v = b_attrs(b, OP_dropout_mask, "shape", attr_ints(b->ir->mem, s.dim, s.rank), "p", attr_float(p), "dtype", attr_int(t), NULL);
	Tensor *mask = ir_op(b, OP_dropout_mask, &op->in.at[1], 1, v, 0)->out.at[0];
	return b_op2(b, OP_apply_mask, op->in.at[0], mask);
}

static int lower_dropout(Build *b, Op *op, Tensor **out)
{
	double p = op_attr(op, "p")->f;
	out[0] = p == 0 ? b_op1(b, OP_identity, op->in.at[0]) : masked(b, op, op->in.at[0]->spec.shape, p);
	return 1;
}

static int lower_shaped_dropout(Build *b, Op *op, Tensor **out)
{
	const AttrVal *v = op_attr(op, "shape");
	Shape s = { .rank = v->ints.n };
	double p = op_attr(op, "ratio")->f;
	for (int i = 0; i < s.rank; i++) s.dim[i] = v->ints.at[i];
	out[0] = p == 0 ? b_op1(b, OP_identity, op->in.at[0]) : masked(b, op, s, p);
	return 1;
}

OPDEF(dropout, .type = "Dropout", .family = "random", .params = PARAMS({ "t", P_TENSOR }, { "seed_tensor", P_TENSOR }, { "p", P_FLOAT }),
	.traits = PURE | RANDOM, .infer = infer_dropout, .lower = lower_dropout, .grad = grad_dropout, .flops = 12, .sample = { -2, 2 },
	.doc = "Each element is 0 with probability `p`, else divided by 1 - p. It is always active. The gradient uses the same mask, drawn again from the same seed.",
	.formula = "y = x m, m = 0 or 1 / (1 - p), dx = g m");

OPDEF(shaped_dropout, .type = "ShapedDropout", .family = "random",
	.params = PARAMS({ "t", P_TENSOR }, { "seed_tensor", P_TENSOR }, { "shape", P_SHAPE }, { "ratio", P_FLOAT }),
	.traits = PURE | RANDOM, .infer = infer_shaped_dropout, .lower = lower_shaped_dropout, .grad = grad_dropout, .flops = 12, .sample = { -2, 2 },
	.doc = "Dropout with a mask of the given shape, which is broadcast to the tensor.", .formula = "y = x m, m = 0 or 1 / (1 - ratio), dx = g m");

static int infer_mask(Infer *in) { return check_ratio(in, "p") && infer_draw(in); }

static void emit_mask(Emit *e, const Op *op)
{
	const Spec *y = &op->out.at[0]->spec;
	emit_rt(e, op, "dropout_mask(ln, %d, %s, %s, %s, %" PRId64 ")", y->dtype, emit_in(e, op, 0), emit_float(e, op_attr(op, "p")->f),
	        emit_out(e, op, 0), shape_nelems(y->shape));
}

OPDEF(dropout_mask, .type = "DropoutMask", .family = "random",
	.params = PARAMS({ "seed_tensor", P_TENSOR }, { "shape", P_SHAPE }, { "p", P_FLOAT }, { "dtype", P_DTYPE }),
	.traits = PURE | RANDOM | NO_GRAD | INTERNAL, .infer = infer_mask, .emit = emit_mask, .flops = 10,
	.doc = "0 with probability p, else 1 / (1 - p).", .formula = "m = 0 or 1 / (1 - p)");

/* selects rather than multiplies: a dropped infinity is 0 */
OPDEF(apply_mask, .type = "ApplyMask", .family = "random", .params = PARAMS({ "t", P_TENSOR }, { "mask", P_TENSOR }),
	.traits = PURE | ELTWISE | GRAD_ERROR | INTERNAL, .infer = infer_broadcast, .expr = "t * mask if mask != 0 else 0", .flops = 2, .sample = { -2, 2 },
	.doc = "A tensor times a dropout mask; where the mask is 0, so is the result.", .formula = "y = m != 0 ? x m : 0");

/* --- seeds --------------------------------------------------------------------------------------------------------- */

static const Spec seed_spec = { .dtype = DT_U32, .shape = { .rank = 1, .dim = { 2 } } };

static int infer_split_seed(Infer *in)
{
	int64_t n = op_attr(in->op, "n")->i;
	if (!infer_seed(in, 0)) return 0;
	if (n < 1) {
		Diag *d = infer_error(in, E0310, "`n` of `split_random_seed` must be at least 1");
		diag_label(in->b->ir->ds, d, "got %" PRId64, n);
		return 0;
	}
	if (n > INT_MAX) return infer_error(in, E0319, "`split_random_seed` gives more seeds than any memory holds: %" PRId64, n), 0;
	in->nout = (int)n;
	in->many = NEWN(in->b->ir->mem, Spec, n);
	for (int i = 0; i < in->nout; i++) in->many[i] = seed_spec;
	return 1;
}

static void emit_split_seed(Emit *e, const Op *op)
{
	for (int i = 0; i < op->out.n; i++) emit_line(e, "rt->split_seed(%s, %d, %s);", emit_in(e, op, 0), i, emit_out(e, op, i));
}

OPDEF(split_random_seed, .type = "SplitRandomSeed", .family = "random", .nout = -2,
	.params = PARAMS({ "seed", P_TENSOR }, { "n", P_INT, OPTIONAL, INT_DEFAULT(2) }),
	.traits = PURE | RANDOM | NO_GRAD, .infer = infer_split_seed, .emit = emit_split_seed,
	.doc = "Independent seeds from one; do not use the one again. The i-th is `create_random_seed(seed, i)`.", .formula = "y_i = create_random_seed(seed, i)");

static int infer_create_seed(Infer *in)
{
	Spec m = infer_in(in, 1);
	in->out[0] = seed_spec;
	if (!infer_seed(in, 0)) return 0;
	if (m.dtype == DT_U32 && shape_nelems(m.shape) == 1) return 1;
	Diag *d = infer_error(in, E0317, "the modifier of `create_random_seed` must be a u32 scalar");
	diag_label(in->b->ir->ds, d, "got %s", spec_str(in->b->ir->mem, m.dtype, m.shape));
	return 0;
}

static void emit_create_seed(Emit *e, const Op *op)
{
	emit_line(e, "rt->split_seed(%s, *%s, %s);", emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

OPDEF(create_random_seed, .type = "ModifyRandomSeed", .family = "random", .params = PARAMS({ "seed", P_TENSOR }, { "modifier", P_TENSOR }),
	.traits = PURE | RANDOM | NO_GRAD, .infer = infer_create_seed, .emit = emit_create_seed,
	.doc = "A seed made from a seed and a number, which is a u32 scalar. As 64-bit words: mix(seed + (modifier + 1) 0x9e3779b97f4a7c15), where mix is SplitMix64's, a "
	       "bijection. So the seeds made from one differ from each other and from it.",
	.formula = "y = mix(seed + (modifier + 1) 0x9e3779b97f4a7c15), mod 2^64");
