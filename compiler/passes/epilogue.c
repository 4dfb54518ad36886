/* epilogue.c — bias and activation as part of the matrix product.
 *
 * matmul + add of a vector along the last axis becomes a gemm with a bias; a relu or gelu of that becomes
 * its second result, the first staying for the gradient.  The product is still in the cache then.
 * Only for f32 and f64: 16-bit types round between the steps, and a pass never changes results.
 * After: as before, with fewer ops; a product with other users is left alone. */
#include "compiler/passes/pass.h"

#include <string.h>

static int wide_float(const Tensor *t)
{
	return t->spec.dtype == DT_F32 || t->spec.dtype == DT_F64;
}

/* a plain product of matrices, whose result nobody writes */
static int plain_matmul(const Written *w, const Tensor *t)
{
	return t->def && t->def->code == OP_matmul && plain_product(t->def) && !is_written(w, t->def->out.at[0]);
}

static int is_bias(const Tensor *bias, const Tensor *product)
{
	Shape s = product->spec.shape;

	return bias->spec.shape.rank == 1 && bias->spec.shape.dim[0] == s.dim[s.rank - 1] && bias->spec.dtype == product->spec.dtype;
}

static Op *make_gemm(Build *b, const Op *product, Tensor *bias, const char *act, const char *name)
{
	Tensor *in[3] = { product->in.at[0], product->in.at[1], bias };
	AttrVal *attrs = b_attrs(b, OP_gemm, "act", attr_str(act), "alpha", attr_float(1), NULL);

	return ir_op(b, OP_gemm, in, 3, attrs, name);
}

static void add_bias(Rewrite *rw, const Written *w, Op *op)
{
	for (int i = 0; i < 2; i++) {
		Tensor *p = op->in.at[i], *bias = op->in.at[1 - i], *with;
		Build b = build_at(op);
		int mark = rw->g->ops.n;

		if (!plain_matmul(w, p) || !sole_user(p) || !is_bias(bias, p) || rewrite_has(rw, p->def)) continue;
		if (!shape_eq(p->spec.shape, op->out.at[0]->spec.shape) || !may_move(w, p->def, op, bias)) continue;
		with = make_gemm(&b, p->def, bias, "none", NULL)->out.at[0];
		for (int k = 0; k < p->def->after.n; k++) run_after(with->def, p->def->after.at[k]);
		rewrite_replace(rw, op, &with, mark);
		rewrite_join(rw, w, p->def, &(Tensor *){ with }, mark);
		return;
	}
}

static void add_act(Rewrite *rw, const Written *w, Op *op, const char *act)
{
	Tensor *p = op->in.at[0];
	Build b = build_at(op);
	int mark = rw->g->ops.n, gemm = p->def && p->def->code == OP_gemm && p->def->out.n == 1;
	Op *made;

	if (op->inplace || (!gemm && !plain_matmul(w, p)) || rewrite_has(rw, p->def) || !wide_float(p)) return;
	if (is_written(w, p) || !may_move(w, p->def, op, NULL)) return;
	if (op->after.n && !sole_user(p)) return;        /* it may wait for another user of the product */
	made = make_gemm(&b, p->def, gemm && p->def->in.n > 2 ? p->def->in.at[2] : NULL, act, NULL);
	rewrite_replace(rw, op, &made->out.at[1], mark);
	rewrite_join(rw, w, p->def, &made->out.at[0], mark);
}

static void join(PassCx *cx, Graph *g, int second)
{
	Rewrite rw = rewrite_begin(cx, g);
	Written w = written_roots(cx, g);
	int n = g->ops.n;

	for (int i = 0; i < n; i++) {
		Op *op = g->ops.at[i];
		if (rewrite_has(&rw, op)) continue;
		if (!second && op->code == OP_add && !op->inplace) add_bias(&rw, &w, op);
		else if (second && op->code == OP_relu) add_act(&rw, &w, op, "relu");
		else if (second && op->code == OP_gelu) add_act(&rw, &w, op, "gelu");
	}
	rewrite_end(&rw);
}

int pass_epilogue(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++) {
		join(cx, cx->ir->graphs.at[i], 0);
		join(cx, cx->ir->graphs.at[i], 1);
	}
	return 1;
}
