/* attend.c — attention that is written out becomes the op.
 *
 * softmax(q @ k.T * scale + mask, axis = -1) @ v, where the scores and what they become have no other reader: the matrix of
 * scores is then never stored.  The factor may be a number or a divisor, or missing, and so may the mask.  Not for 16-bit
 * types, which round between the steps, and not where a gradient wants the probabilities: a model that is
 * trained says `attention` itself.  A query all of whose scores are -inf gets 0, where the softmax gives NaN.
 * After: as before; what led to the softmax is dead. */
#include "compiler/passes/pass.h"

enum { MOST_HEAD = 1024 };                       /* what the op takes */

typedef struct Match { Tensor *q, *k, *v, *mask; double scale; } Match;

static int last_dim(const Tensor *t, int back)
{
	Shape s = t->spec.shape;

	return (int)s.dim[s.rank - back];
}

/* made by this op for one reader, and nobody writes it */
static const Op *step(const Written *w, Tensor *t, int code)
{
	const Op *op = t->def;

	if (!op || op->code != code || op->inplace || t->uses.n != 1 || is_output(t) || is_written(w, t)) return NULL;
	return op;
}

/* a product of matrices with equal batch axes */
static int batched_product(const Op *op)
{
	Shape s = op->in.at[0]->spec.shape, t = op->in.at[1]->spec.shape;

	if (!plain_product(op) || s.rank != t.rank) return 0;
	for (int i = 0; i < s.rank - 2; i++)
		if (s.dim[i] != t.dim[i]) return 0;
	return 1;
}

/* scores times a number */
static Tensor *less_scale(const Written *w, Tensor *s, Match *m)
{
	const Op *times = step(w, s, OP_mul), *by = step(w, s, OP_div);
	double x;

	m->scale = 1;
	for (int i = 0; times && i < 2; i++)
		if (constant_value(times->in.at[1 - i], &x) && shape_eq(times->in.at[i]->spec.shape, s->spec.shape)) return m->scale = x, times->in.at[i];
	if (by && constant_value(by->in.at[1], &x) && x != 0 && shape_eq(by->in.at[0]->spec.shape, s->spec.shape)) return m->scale = 1 / x, by->in.at[0];
	return s;
}

/* what the product of queries and keys lies behind: a factor, and a mask on either side of a sum, with no axis of its own */
static const Op *product_of(const Written *w, Tensor *s, Match *m)
{
	const Op *product = step(w, less_scale(w, s, m), OP_matmul), *sum = step(w, s, OP_add);

	for (int i = 0; !product && sum && i < 2; i++) {
		Tensor *x = sum->in.at[i];
		if (!shape_eq(x->spec.shape, s->spec.shape) || !(product = step(w, less_scale(w, x, m), OP_matmul))) continue;
		m->mask = sum->in.at[1 - i];
	}
	return product;
}

/* the operands are read later than they were */
static int unwritten(const Written *w, const Match *m)
{
	return !is_written(w, m->q) && !is_written(w, m->k) && !is_written(w, m->v) && (!m->mask || !is_written(w, m->mask));
}

/* m->k is still transposed */
static int matches(const Written *w, const Op *op, Match *m)
{
	const Op *soft, *product;

	*m = (Match){ .v = op->in.at[1] };
	if (!batched_product(op) || !(soft = step(w, op->in.at[0], OP_softmax))) return 0;
	if (op_attr(soft, "axis")->i != soft->out.at[0]->spec.shape.rank - 1) return 0;
	product = product_of(w, soft->in.at[0], m);
	if (!product || !batched_product(product)) return 0;
	m->q = product->in.at[0];
	m->k = product->in.at[1];
	return last_dim(m->q, 1) <= MOST_HEAD && last_dim(m->v, 1) <= MOST_HEAD && unwritten(w, m);
}

static void attend(Rewrite *rw, const Written *w, Op *op)
{
	Build b = build_at(op);
	int mark = rw->g->ops.n;
	Match m;
	AttrVal *how;

	if (op->code != OP_matmul || !matches(w, op, &m)) return;
	how = b_attrs(&b, OP_attention, "scale", attr_float(m.scale), NULL);
	Tensor *in[] = { m.q, b_transpose(&b, m.k, 0), m.v, m.mask };
	Op *made = ir_op(&b, OP_attention, in, m.mask ? 4 : 3, how, NULL);
	rewrite_replace(rw, op, &made->out.at[0], mark);
}

int pass_attend(PassCx *cx) { return rewrite_ops(cx, attend); }
