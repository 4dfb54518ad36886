/* attention.c — softmax(scale q kᵀ + mask) v as one op, whose scores are never there as a whole.
 *
 * The second result, the log of what each query's softmax divided by, is there for the gradient: with it a block of
 * probabilities is made again from a block of scores.  The language hands out the first alone. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_HEAD = 1024 };                /* numbers in a row: what a thread's scratch memory has room for */
enum { Q, K, V, MASK, Y, LSE, G, GLSE, OPERANDS };

/* --- shapes ------------------------------------------------------------------------------------------------------- */

static int64_t rows_of(Shape s) { return s.dim[s.rank - 2]; }
static int64_t cols_of(Shape s) { return s.dim[s.rank - 1]; }

/* s with other rows and columns */
static Shape sized(Shape s, int64_t rows, int64_t cols)
{
	s.dim[s.rank - 2] = rows;
	s.dim[s.rank - 1] = cols;
	return s;
}

static int needs(Infer *in, int i, DType t, Shape want)
{
	Spec s = infer_in(in, i);
	Arena *mem = in->b->ir->mem;
	if (s.dtype == t && shape_eq(s.shape, want)) return 1;
	Diag *d = infer_error(in, s.dtype != t ? E0303 : E0311, "`%s` of `%s` must be %s", in->def->params[i].name, in->def->name, spec_str(mem, t, want));
	diag_label(in->b->ir->ds, d, "got %s", spec_str(mem, s.dtype, s.shape));
	return 0;
}

static int check_mask(Infer *in, Shape scores)
{
	Tensor *mask = infer_tensor(in, MASK);
	Shape y;
	if (!mask || (mask->spec.dtype == infer_in(in, Q).dtype && shape_broadcast(mask->spec.shape, scores, &y) && shape_eq(y, scores))) return 1;
	Arena *mem = in->b->ir->mem;
	Diag *d = infer_error(in, mask->spec.dtype != infer_in(in, Q).dtype ? E0303 : E0302, "`mask` of `%s` must be %s, or broadcast to it", in->def->name,
	                      spec_str(mem, infer_in(in, Q).dtype, scores));
	diag_label(in->b->ir->ds, d, "got %s", spec_str(mem, mask->spec.dtype, mask->spec.shape));
	return 0;
}

/* queries, keys, values and the mask; `scores` is their common shape */
static int check_operands(Infer *in, Shape *scores)
{
	Spec q = infer_in(in, Q), k = infer_in(in, K), v = infer_in(in, V);
	if (!infer_need_float(in, Q)) return 0;
	for (int i = Q; i <= V; i++)
		if (infer_in(in, i).shape.rank < 2) return infer_error(in, E0313, "`%s` of `%s` needs rows and columns", in->def->params[i].name, in->def->name), 0;
	if (k.shape.rank != q.shape.rank) return needs(in, K, q.dtype, q.shape);
	if (!needs(in, K, q.dtype, sized(q.shape, rows_of(k.shape), cols_of(q.shape)))) return 0;
	if (v.shape.rank != q.shape.rank) return needs(in, V, q.dtype, k.shape);
	if (!needs(in, V, q.dtype, sized(k.shape, rows_of(k.shape), cols_of(v.shape)))) return 0;
	if (cols_of(q.shape) > MOST_HEAD || cols_of(v.shape) > MOST_HEAD)
		return infer_error(in, E0310, "rows of `%s` have up to %d numbers; write it with `matmul` and `softmax`", in->def->name, MOST_HEAD), 0;
	*scores = sized(q.shape, rows_of(q.shape), rows_of(k.shape));
	return check_mask(in, *scores);
}

static Spec sums_spec(Spec q)
{
	q.shape.rank--;
	if (q.dtype != DT_F64) q.dtype = DT_F32;
	return q;
}

static Spec result_spec(const Infer *in)
{
	Spec q = infer_in(in, Q);
	q.shape = sized(q.shape, rows_of(q.shape), cols_of(infer_in(in, V).shape));
	return q;
}

static int infer_attention(Infer *in)
{
	Shape scores;
	if (!check_operands(in, &scores)) return 0;
	in->out[0] = result_spec(in);
	in->out[1] = sums_spec(infer_in(in, Q));
	return 1;
}

static int infer_attention_grad(Infer *in)
{
	Shape scores;
	if (!check_operands(in, &scores)) return 0;
	Spec y = result_spec(in), sums = sums_spec(infer_in(in, Q));
	if (!needs(in, Y, y.dtype, y.shape) || !needs(in, LSE, sums.dtype, sums.shape) || !needs(in, G, y.dtype, y.shape)) return 0;
	if (infer_tensor(in, GLSE) && !needs(in, GLSE, sums.dtype, sums.shape)) return 0;
	for (int i = Q; i <= V; i++) in->out[i] = infer_in(in, i);
	in->out[3] = (Spec){ .dtype = y.dtype, .shape = scores };
	in->nout = op_attr(in->op, "scores")->i ? 4 : 3;
	return 1;
}

/* --- gradient ------------------------------------------------------------------------------------------------------- */

static Tensor *mask_of(const Op *op) { return op->in.n > MASK ? op->in.at[MASK] : 0; }

static void grad_attention(Grad *gr, Op *op)
{
	Tensor *mask = mask_of(op), *in[OPERANDS] = { 0 };
	int wanted = mask && grad_wanted(gr, op, MASK);
	for (int i = Q; i <= V; i++) in[i] = grad_fwd(gr, op->in.at[i]);
	if (mask) in[MASK] = grad_fwd(gr, mask);
	in[Y] = grad_fwd(gr, op->out.at[0]);
	in[LSE] = grad_fwd(gr, op->out.at[1]);
	in[G] = grad_of(gr, op, 0);
	if (grad_has(gr, op, 1)) in[GLSE] = grad_of(gr, op, 1);
	AttrVal *v = b_attrs(&gr->b, OP_attention_grad, "scale", *op_attr(op, "scale"), "causal", *op_attr(op, "causal"), "scores", attr_int(wanted), NULL);
	Op *back = ir_op(&gr->b, OP_attention_grad, in, in[GLSE] ? OPERANDS : GLSE, v, 0);
	for (int i = 0; i < back->out.n; i++) grad_add(gr, op, i, back->out.at[i]);
}

/* --- emission --------------------------------------------------------------------------------------------------------- */

/* rows that are contiguous in themselves and lie behind one another */
static int takes_rows(const Op *op, int i, const Layout *l)
{
	Shape s = op->in.at[i]->spec.shape;
	if (i == MASK) return 1;
	if (i == Y || i == LSE || i == GLSE) return layout_contiguous(l, s);
	return (l->stride[s.rank - 1] == 1 || cols_of(s) <= 1) && (l->stride[s.rank - 2] >= cols_of(s) || rows_of(s) <= 1);
}

/* strides of an operand that broadcasts to shape `s` */
static void spread(Emit *e, const Tensor *t, Shape s, int64_t *stride)
{
	Layout l = emit_layout(e, t);
	int skip = s.rank - t->spec.shape.rank;
	for (int i = 0; i < s.rank; i++) stride[i] = i < skip || t->spec.shape.dim[i - skip] == 1 ? 0 : l.stride[i - skip];
}

static double scale_of(const Op *op)
{
	const AttrVal *v = op_attr(op, "scale");
	int64_t d = cols_of(op->in.at[Q]->spec.shape);
	return v->set ? v->f : d ? 1 / sqrt((double)d) : 1;
}

/* one row lies behind nothing: any distance will do, and its length is one that kernels take */
static int64_t row_step(const Tensor *t, const int64_t *stride)
{
	Shape s = t->spec.shape;
	return rows_of(s) <= 1 ? cols_of(s) : stride[s.rank - 2];
}

static const char *emit_attention_of(Emit *e, const Op *op, const Tensor *g)
{
	const Tensor *q = op->in.at[Q], *k = op->in.at[K], *v = op->in.at[V], *mask = mask_of(op);
	Shape s = q->spec.shape;
	int64_t sq[MAX_RANK], sk[MAX_RANK], sv[MAX_RANK], sg[MAX_RANK] = { 0 }, sm[MAX_RANK] = { 0 };
	int nb = s.rank - 2;
	spread(e, q, s, sq);
	spread(e, k, k->spec.shape, sk);
	spread(e, v, v->spec.shape, sv);
	if (g) spread(e, g, g->spec.shape, sg);
	if (mask) spread(e, mask, sized(s, rows_of(s), rows_of(k->spec.shape)), sm);
	return emit_static(e, "struct pxlrt_attention", "{ %d, %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
		", %" PRId64 ", %" PRId64 ", %s, %s, %s, %s, %s, %s, %s }", q->spec.dtype, (int)op_attr(op, "causal")->i, nb, rows_of(s), rows_of(k->spec.shape), cols_of(s),
		cols_of(v->spec.shape), row_step(q, sq), row_step(k, sk), row_step(v, sv), g ? row_step(g, sg) : 0, sm[nb], sm[nb + 1], emit_float(e, scale_of(op)),
		emit_longs(e, s.dim, nb), emit_longs(e, sq, nb), emit_longs(e, sk, nb), emit_longs(e, sv, nb), emit_longs(e, sg, nb), emit_longs(e, sm, nb));
}

static const char *operand(Emit *e, const Op *op, int i) { return i < op->in.n && op->in.at[i] ? emit_in(e, op, i) : "0"; }

static void emit_attention(Emit *e, const Op *op)
{
	emit_rt(e, op, "attention(ln, &%s, %s, %s, %s, %s, %s, %s)", emit_attention_of(e, op, 0), emit_in(e, op, Q), emit_in(e, op, K), emit_in(e, op, V),
	        operand(e, op, MASK), emit_out(e, op, 0), emit_out(e, op, 1));
}

static void emit_attention_grad(Emit *e, const Op *op)
{
	Buf in = buf_new(emit_mem(e)), out = buf_new(emit_mem(e));
	const char *x = emit_name(e, "operands"), *dx = emit_name(e, "results");
	for (int i = 0; i < OPERANDS; i++) buf_printf(&in, "%s%s", i ? ", " : "", operand(e, op, i));
	for (int i = 0; i < 4; i++) buf_printf(&out, "%s%s", i ? ", " : "", i < op->out.n ? emit_out(e, op, i) : "0");
	emit_line(e, "const void *const %s[] = { %s };", x, in.s);
	emit_line(e, "void *const %s[] = { %s };", dx, out.s);
	emit_rt(e, op, "attention_back(ln, &%s, %s, %s)", emit_attention_of(e, op, op->in.at[G]), x, dx);
}

#define SIDES { "q", P_TENSOR }, { "k", P_TENSOR }, { "v", P_TENSOR }, { "mask", P_OPT_TENSOR, OPTIONAL }
#define HOW { "scale", P_FLOAT, OPTIONAL }, { "causal", P_BOOL, OPTIONAL, INT_DEFAULT(0) }

OPDEF(attention, .type = "Attention", .family = "attention", .nout = 2, .hidden = 1, .params = PARAMS(SIDES, HOW), .traits = PURE | STRIDED,
	.infer = infer_attention, .takes = takes_rows, .grad = grad_attention, .emit = emit_attention, .flops = 100, .sample = { -2, 2 },
	.doc = "Scaled dot-product attention: each query, a row of q [..., queries, d], weighs the rows of v [..., keys, n] by a softmax over its products with "
	       "the rows of k [..., keys, d]. Axes before the last two, such as batch and heads, are equal in all three. `scale` multiplies the products; without it, "
	       "1 / sqrt(d). `mask` is added to them, and broadcasts to [..., queries, keys]. With `causal` the last query sees all keys, and each one before it a "
	       "key less. A query that sees no key, or only keys whose mask is -inf, gives 0. It is computed block by block, so memory for the products of all "
	       "pairs is never needed; d and n are at most 1024. 16-bit floats are computed in f32. The gradient can't be differentiated again. This op is ours; "
	       "PopXL has none.",
	.formula = "y = softmax(scale q k^T + mask) v; p = softmax(...), dp = g v^T, ds = p (dp - sum g y), dv = p^T g, dq = scale ds k, dk = scale ds^T q, dmask = ds");

OPDEF(attention_grad, .type = "AttentionGrad", .family = "attention", .nout = -2,
	.params = PARAMS(SIDES, { "y", P_TENSOR }, { "lse", P_TENSOR }, { "g", P_TENSOR }, { "glse", P_OPT_TENSOR, OPTIONAL }, HOW,
		{ "scores", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.traits = PURE | STRIDED | INTERNAL | GRAD_ERROR, .infer = infer_attention_grad, .takes = takes_rows, .emit = emit_attention_grad, .flops = 250, .sample = { -2, 2 },
	.doc = "Gradient of `attention` for q, k and v, and with `scores` for the products under the mask.", .formula = "dq, dk, dv, ds as in attention");
