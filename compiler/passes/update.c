/* update.c — the optimiser's step as part of the gradient's matrix product.
 *
 * scaled_add_(w, x.T @ dy, b = -lr) becomes a product that adds -lr times itself to w: the gradient is never
 * stored, nor read again.  So do add_ and accumulate_.  Only where the product has no other user, in f32 and
 * f64, and where w is one contiguous piece of memory.
 * After: as before, but the sum is rounded once less. */
#include "compiler/passes/pass.h"

/* how op adds its second operand to its first: w = beta * w + alpha * g; 0: it is no such op */
static int step_of(const Op *op, double *alpha, double *beta)
{
	*alpha = *beta = 1;
	if (!op->inplace || op->in.n < 2 || !op->in.at[1]) return 0;
	if (op->code == OP_add) return 1;
	for (int i = 2; i < op->in.n; i++)
		if (op->in.at[i]) return 0;              /* a factor that is a tensor is known only later */
	if (op->code == OP_accumulate) {
		const AttrVal *f = op_attr(op, "f");
		if (f->set) *alpha = f->f;
		return 1;
	}
	if (op->code != OP_scaled_add) return 0;
	*alpha = op_attr(op, "b")->f;
	*beta = op_attr(op, "a")->f;
	return 1;
}

static int fits(const Written *w, const Op *op)
{
	const Tensor *c = op->in.at[0], *g = op->in.at[1];
	const Op *p = g->def;
	Layout l;

	if (!p || p->code != OP_matmul || g->uses.n != 1 || is_output(g)) return 0;
	if (c->spec.dtype != DT_F32 && c->spec.dtype != DT_F64) return 0;
	if (g->spec.dtype != c->spec.dtype || p->in.at[0]->spec.dtype != c->spec.dtype || !shape_eq(c->spec.shape, g->spec.shape)) return 0;
	if (p->in.at[0]->spec.shape.rank < 2 || p->in.at[1]->spec.shape.rank < 2) return 0;
	for (int i = 0; i < 2; i++)                      /* it will be read later than it was */
		if (is_written(w, p->in.at[i])) return 0;
	l = layout_of(op->in.at[0]);
	return layout_contiguous(&l, c->spec.shape);
}

static void join(Rewrite *rw, const Written *w, Op *op)
{
	double alpha, beta;
	int mark = rw->g->ops.n;
	Build b = build_at(op);
	Tensor *in[3], *with;
	Op *p;

	if (!step_of(op, &alpha, &beta) || !fits(w, op)) return;
	p = op->in.at[1]->def;
	in[0] = op->in.at[0];
	in[1] = p->in.at[0];
	in[2] = p->in.at[1];
	with = ir_op_inplace(&b, OP_gemm_acc, in, 3, b_attrs(&b, OP_gemm_acc, "alpha", attr_float(alpha), "beta", attr_float(beta), NULL), NULL)->out.at[0];
	rewrite_replace(rw, op, &with, mark);
	rewrite_join(rw, w, p, &(Tensor *){ NULL }, mark);
}

int pass_update(PassCx *cx) { return rewrite_ops(cx, join); }
