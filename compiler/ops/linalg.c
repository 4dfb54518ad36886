/* linalg.c — matrix products.
 *
 * matmul follows NumPy: vectors get an axis of length 1 that is dropped again, axes before the last two
 * are batches and broadcast.  Its emitter reads operands through their strides, so transposes and
 * broadcasts cost nothing; gemm and gemm_acc are what passes make of it. */
#include "compiler/ops/grad.h"
#include "compiler/ops/strided.h"

#include <inttypes.h>
#include <string.h>

/* --- shapes ------------------------------------------------------------------------------------------------- */

/* the operands as matrices: vectors get their missing axis */
static Shape as_matrix(Shape s, int right)
{
	if (s.rank != 1) return s;
	return right ? (Shape){ .rank = 2, .dim = { s.dim[0], 1 } } : (Shape){ .rank = 2, .dim = { 1, s.dim[0] } };
}

static Shape batch_of(Shape s)
{
	s.rank -= 2;
	return s;
}

static int inner_error(Infer *in, Shape a, Shape b, int64_t k, int64_t n)
{
	Ir *ir = in->b->ir;
	Diag *d = infer_error(in, E0301, "inner dimensions of `%s` differ", in->def->name);
	diag_label(ir->ds, d, "%" PRId64 " columns against %" PRId64 " rows", k, n);
	if (b.rank >= 2 && b.dim[b.rank - 1] == k) diag_help(ir->ds, d, (Span){ 0, 0, 0 }, "transpose the right operand: `%s`", b.rank == 2 ? "x @ w.T" : "w.transpose(…)");
	else if (a.rank == 2 && a.dim[0] == n) diag_help(ir->ds, d, (Span){ 0, 0, 0 }, "transpose the left operand: `x.T @ w`");
	return 0;
}

/* shape of a @ b, all axes present; drop tells which of the last two go because they were added */
static int product_shape(Infer *in, int left, int right, Shape *y, int *drop)
{
	Ir *ir = in->b->ir;
	Shape a = infer_in(in, left).shape, b = infer_in(in, right).shape;
	if (!a.rank || !b.rank) return infer_error(in, E0313, "`%s` needs operands of rank 1 or more", in->def->name), 0;
	*drop = (a.rank == 1) | (b.rank == 1) << 1;
	a = as_matrix(a, 0);
	b = as_matrix(b, 1);
	int64_t k = a.dim[a.rank - 1], n = b.dim[b.rank - 2];
	if (k != n) return inner_error(in, infer_in(in, left).shape, infer_in(in, right).shape, k, n);
	if (!shape_broadcast(batch_of(a), batch_of(b), y) || y->rank + 2 > MAX_RANK) {
		Diag *d = infer_error(in, E0302, "batch axes of `%s` do not broadcast", in->def->name);
		diag_label(ir->ds, d, "%s against %s", shape_str(ir->mem, batch_of(a)), shape_str(ir->mem, batch_of(b)));
		return 0;
	}
	y->dim[y->rank++] = a.dim[a.rank - 2];
	y->dim[y->rank++] = b.dim[b.rank - 1];
	return 1;
}

static Shape dropped(Shape y, int drop)
{
	int r = y.rank;
	if (drop & 1) y.dim[r - 2] = y.dim[r - 1];
	y.rank -= (drop & 1) + (drop >> 1 & 1);
	return y;
}

static int equal_floats(Infer *in, int left, int right)
{
	DType a = infer_in(in, left).dtype, b = infer_in(in, right).dtype;
	if (!infer_need_float(in, left) || !infer_need_float(in, right)) return 0;
	if (a == b) return 1;
	Diag *d = infer_error(in, E0303, "operands of `%s` have different element types", in->def->name);
	diag_label(in->b->ir->ds, d, "%s against %s", dtype_info[a].name, dtype_info[b].name);
	diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, "convert one of them: `.cast(%s)`", dtype_info[a].name);
	return 0;
}

/* --- matmul ---------------------------------------------------------------------------------------------------- */

static int check_proportion(Infer *in)
{
	const AttrVal *amp = op_attr(in->op, "available_memory_proportion");
	if (!amp->set || (amp->f > 0 && amp->f <= 1)) return 1;
	infer_error(in, E0310, "`available_memory_proportion` is a number above 0 and up to 1");
	return 0;
}

static int check_hints(Infer *in)
{
	const AttrVal *part = op_attr(in->op, "partials_type"), *out = op_attr(in->op, "output_type");
	if (!check_proportion(in)) return 0;
	if (part->set && part->i != DT_F16 && part->i != DT_F32) return infer_error(in, E0310, "`partials_type` is f16 or f32"), 0;
	if (out->set && !dtype_is_float((DType)out->i)) return infer_error(in, E0304, "`output_type` is a floating-point type"), 0;
	return 1;
}

static int infer_matmul(Infer *in)
{
	Shape y = { 0 };
	int drop;
	if (!equal_floats(in, 0, 1) || !check_hints(in) || !product_shape(in, 0, 1, &y, &drop)) return 0;
	const AttrVal *t = op_attr(in->op, "output_type");
	in->out[0] = (Spec){ .dtype = t->set ? (DType)t->i : infer_in(in, 0).dtype, .shape = dropped(y, drop) };
	return 1;
}

/* a product in another type: computed in the wider one, rounded once */
static int lower_matmul(Build *b, Op *op, Tensor **out)
{
	DType t = op->out.at[0]->spec.dtype, x = op->in.at[0]->spec.dtype;
	if (t == x) return 0;
	DType wide = dtype_size(t) > dtype_size(x) ? t : x;
	out[0] = b_cast(b, b_matmul(b, b_cast(b, op->in.at[0], wide), b_cast(b, op->in.at[1], wide)), t);
	return 1;
}

static Tensor *swapped(Build *b, Tensor *x) { return b_transpose(b, x, 0); }

/* all axes but the last as one */
static Tensor *rows(Build *b, Tensor *x)
{
	Shape s = x->spec.shape;
	int64_t n = s.dim[--s.rank];
	return b_reshape(b, x, (Shape){ .rank = 2, .dim = { shape_nelems(s), n } });
}

/* dL = g @ rᵀ, dR = lᵀ @ g, summed over broadcast batches.  A matrix on the right of many is the usual
 * weight: its gradient is one product over all rows rather than a sum of small ones. */
static void grad_matmul(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Shape ls = op->in.at[0]->spec.shape, rs = op->in.at[1]->spec.shape, a = as_matrix(ls, 0), c = as_matrix(rs, 1), y = { 0 };
	shape_broadcast(batch_of(a), batch_of(c), &y);
	y.dim[y.rank++] = a.dim[a.rank - 2];
	y.dim[y.rank++] = c.dim[c.rank - 1];
	Tensor *g = b_reshape(b, b_cast(b, grad_of(gr, op, 0), op->in.at[0]->spec.dtype), y);
	if (grad_wanted(gr, op, 0)) {
		Tensor *r = b_reshape(b, grad_fwd(gr, op->in.at[1]), c);
		grad_add(gr, op, 0, b_reshape(b, b_sum_to(b, b_matmul(b, g, swapped(b, r)), a), ls));
	}
	if (grad_wanted(gr, op, 1)) {
		Tensor *l = b_reshape(b, grad_fwd(gr, op->in.at[0]), a);
		if (c.rank == 2 && a.rank > 2) {
			l = rows(b, l);
			g = rows(b, g);
		}
		grad_add(gr, op, 1, b_reshape(b, b_sum_to(b, b_matmul(b, swapped(b, l), g), c), rs));
	}
}

/* --- emission ---------------------------------------------------------------------------------------------------- */

/* one operand as the kernel sees it: rows × cols, leading dimension, is it transposed in memory */
typedef struct Side { int64_t rows, cols, ld; int trans, ok; Shape shape; int64_t stride[MAX_RANK]; } Side;

static Side side_of(Shape s, const int64_t *stride, int right)
{
	Side v = { .shape = as_matrix(s, right) };
	int r = v.shape.rank;
	for (int i = 0; i < s.rank; i++) v.stride[i] = stride[i];
	if (s.rank == 1) {
		v.stride[0] = right ? stride[0] : 0;
		v.stride[1] = right ? 0 : stride[0];
	}
	v.rows = v.shape.dim[r - 2];
	v.cols = v.shape.dim[r - 1];
	int64_t down = v.stride[r - 2], across = v.stride[r - 1];
	if ((across == 1 || v.cols == 1) && (down >= v.cols || v.rows == 1)) v.ok = 1, v.ld = v.rows == 1 ? v.cols : down;
	else if ((down == 1 || v.rows == 1) && (across >= v.rows || v.cols == 1)) v.ok = v.trans = 1, v.ld = v.cols == 1 ? v.rows : across;
	return v;
}

static int takes_matrix(const Op *op, int i, const Layout *l)
{
	int left = op->code == OP_gemm_acc ? 1 : 0;
	if (i < left || i > left + 1) return layout_contiguous(l, op->in.at[i]->spec.shape);
	return side_of(op->in.at[i]->spec.shape, l->stride, i == left + 1).ok;
}

typedef struct Gemm { Side a, b; int nb; int64_t m, bdim[MAX_RANK], sa[MAX_RANK], sb[MAX_RANK], sc[MAX_RANK]; double alpha, beta; } Gemm;

static int64_t batch_stride(const Side *v, int batch_rank, int i)
{
	int k = i - (batch_rank - (v->shape.rank - 2));
	return k < 0 || v->shape.dim[k] == 1 ? 0 : v->stride[k];
}

/* rows of consecutive batches are rows of one matrix when the right side is shared and nothing lies between them */
static void merge_rows(Gemm *g)
{
	while (g->nb && !g->a.trans && g->sb[g->nb - 1] == 0 && (g->sa[g->nb - 1] == g->m * g->a.ld || (g->m == 1 && g->sa[g->nb - 1] >= g->a.cols))) {
		if (g->m == 1) g->a.ld = g->sa[g->nb - 1];
		g->m *= g->bdim[--g->nb];
	}
}

static Gemm gemm_of(Emit *e, const Op *op, int left)
{
	const Tensor *x = op->in.at[left], *w = op->in.at[left + 1];
	Layout lx = emit_layout(e, x), lw = emit_layout(e, w);
	Gemm g = { .a = side_of(x->spec.shape, lx.stride, 0), .b = side_of(w->spec.shape, lw.stride, 1), .alpha = 1 };
	Shape batch = { 0 };
	shape_broadcast(batch_of(g.a.shape), batch_of(g.b.shape), &batch);
	g.m = g.a.rows;
	int64_t step = g.m * g.b.cols;
	for (int i = batch.rank - 1; i >= 0; i--) {
		g.bdim[i] = batch.dim[i];
		g.sa[i] = batch_stride(&g.a, batch.rank, i);
		g.sb[i] = batch_stride(&g.b, batch.rank, i);
		g.sc[i] = step;
		step *= batch.dim[i];
	}
	g.nb = batch.rank;
	merge_rows(&g);
	return g;
}

static const char *gemm_static(Emit *e, const Gemm *g, DType t)
{
	return emit_static(e, "struct pxlrt_gemm", "{ %d, %d, %d, %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
		", %s, %s, %s, %s, %s, %s }", t, g->a.trans, g->b.trans, emit_bf16(e, t), g->nb, g->m, g->b.cols, g->a.cols, g->a.ld, g->b.ld, g->b.cols,
		emit_float(e, g->alpha), emit_float(e, g->beta), emit_longs(e, g->bdim, g->nb), emit_longs(e, g->sa, g->nb), emit_longs(e, g->sb, g->nb),
		emit_longs(e, g->sc, g->nb));
}

static void emit_matmul(Emit *e, const Op *op)
{
	Gemm g = gemm_of(e, op, 0);
	emit_rt(e, op, "matmul(ln, &%s, %s, %s, %s, 0, 0)", gemm_static(e, &g, op->in.at[0]->spec.dtype), emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

OPDEF(matmul, .type = "MatMul", .family = "linalg",
	.params = PARAMS({ "lhs", P_TENSOR }, { "rhs", P_TENSOR }, { "available_memory_proportion", P_FLOAT, OPTIONAL },
		{ "output_type", P_DTYPE, OPTIONAL }, { "partials_type", P_DTYPE, OPTIONAL }),
	.traits = PURE | STRIDED, .infer = infer_matmul, .takes = takes_matrix, .lower = lower_matmul, .grad = grad_matmul, .emit = emit_matmul,
	.flops = 2, .sample = { -1, 1 },
	.doc = "Matrix product, as `@`, with NumPy's shapes: a vector on the left is a row, on the right a column, and the axis added for that is dropped "
	       "again; axes before the last two are batches and broadcast. Operands are floating-point and of one dtype; the result has it too unless "
	       "`output_type` says otherwise. f16 and bf16 accumulate in f32. Under `--matmul bf16` f32 operands are rounded to bf16 first. The other arguments are hints.",
	.formula = "y = a @ b, da = g @ b^T, db = a^T @ g, summed over broadcast batches");

/* --- float8 ----------------------------------------------------------------------------------------------------- */

static int infer_scaled(Infer *in)
{
	Shape y = { 0 };
	int drop;
	if (!infer_need_float8(in, 0) || !infer_need_float8(in, 1) || !infer_log2_scale(in, 2) || !check_proportion(in) || !product_shape(in, 0, 1, &y, &drop)) return 0;
	in->out[0] = (Spec){ .dtype = DT_F16, .shape = dropped(y, drop) };
	return 1;
}

/* values as f32, which holds sums and the scaled result; then rounded once */
static int lower_scaled(Build *b, Op *op, Tensor **out)
{
	Tensor *y = b_matmul(b, b_op1(b, OP_float8_values, op->in.at[0]), b_op1(b, OP_float8_values, op->in.at[1]));
	out[0] = b_cast(b, b_op2(b, OP_mul, y, b_op1(b, OP_power_of_2, op->in.at[2])), DT_F16);
	return 1;
}

static void check_scaled(Build *b, const Op *op) { b_check_scale(b, op->in.at[2]); }

OPDEF(matmul_pow2scaled, .type = "MatMulPow2Scaled", .family = "linalg",
	.params = PARAMS({ "lhs", P_TENSOR }, { "rhs", P_TENSOR }, { "log2_scale", P_TENSOR }, { "available_memory_proportion", P_FLOAT, OPTIONAL }),
	.traits = PURE | MOVES | GRAD_ERROR, .infer = infer_scaled, .lower = lower_scaled, .fails = fails_always, .check = check_scaled, .flops = 2, .sample = { -1, 1 },
	.doc = "Matrix product of float8 tensors, whose formats may differ, with the shapes of `matmul`: sums are in f32, scaled by 2^log2_scale and rounded to "
	       "f16. `log2_scale` is an i32 scalar from -32 to 31, checked when the program runs. No gradient passes.",
	.formula = "y = (lhs @ rhs) 2^log2_scale");

/* --- gemm: a product with what follows it --------------------------------------------------------------------------- */

static void emit_gemm(Emit *e, const Op *op)
{
	Gemm g = gemm_of(e, op, 0);
	EmitTail t = emit_tail(e, op);
	if (!t.name) return;                                 /* no elements: nothing to do */
	emit_line(e, "{");
	emit_line(e, "\tvoid *const p[] = { %s };", t.pointers);
	emit_rt(e, op, "matmul(ln, &%s, %s, %s, %s, %s, p)", gemm_static(e, &g, op->in.at[0]->spec.dtype), emit_in(e, op, 0), emit_in(e, op, 1),
	        emit_ptr(e, t.product), t.name);
	emit_line(e, "}");
}

OPDEF(gemm, .type = "Gemm", .family = "linalg",
	.params = PARAMS({ "pattern", P_PATTERN }, { "lhs", P_TENSOR }, { "rhs", P_TENSOR }, { "ts", P_TENSORS }),
	.nout = -2, .traits = STRIDED | INTERNAL | GRAD_ERROR, .infer = infer_pattern, .takes = takes_matrix, .emit = emit_gemm, .flops = 2,
	.doc = "A matrix product and the group of elementwise ops behind it, computed for each part of the product as soon as that is done.",
	.formula = "y = pattern(lhs @ rhs, t0, t1, …)");

static int infer_gemm_acc(Infer *in)
{
	Shape y = { 0 };
	int drop;
	if (!equal_floats(in, 1, 2) || !product_shape(in, 1, 2, &y, &drop)) return 0;
	y = dropped(y, drop);
	in->out[0] = infer_in(in, 0);
	if (shape_eq(y, in->out[0].shape) && in->out[0].dtype == infer_in(in, 1).dtype) return 1;
	return infer_error(in, E0311, "the product does not fit what it is added to"), 0;
}

static void emit_gemm_acc(Emit *e, const Op *op)
{
	Gemm g = gemm_of(e, op, 1);
	g.alpha = op_attr(op, "alpha")->f;
	g.beta = op_attr(op, "beta")->f;
	emit_rt(e, op, "matmul(ln, &%s, %s, %s, %s, 0, 0)", gemm_static(e, &g, op->in.at[1]->spec.dtype), emit_in(e, op, 1), emit_in(e, op, 2), emit_in(e, op, 0));
}

OPDEF(gemm_acc, .type = "GemmAcc", .type_inplace = "GemmAcc", .family = "linalg",
	.params = PARAMS({ "c", P_TENSOR }, { "lhs", P_TENSOR }, { "rhs", P_TENSOR }, { "alpha", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1) },
		{ "beta", P_FLOAT, OPTIONAL, FLOAT_DEFAULT(1) }),
	.traits = STRIDED | INTERNAL | ONLY_INPLACE | GRAD_ERROR, .inplace = MODIFIES, .infer = infer_gemm_acc, .takes = takes_matrix, .emit = emit_gemm_acc,
	.flops = 2, .sample = { -1, 1 },
	.doc = "A matrix product added to a tensor in place: what an optimiser's update of a weight becomes.", .formula = "c = alpha * a @ b + beta * c");
