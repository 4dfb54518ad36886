/* finish.c — what follows a convolution in blocks, while its result is in registers.
 *
 * conv_run + add of a number per channel becomes a convolution with a bias, and a relu behind that its end; relu's gradient of
 * max_pool's becomes part of that.  Each saves going over the images once more; the bits are the same.  Runs behind `layout`:
 * only results in blocks can have it, and only what that pass has touched lies so.
 * After: as before, with fewer ops; a convolution or gradient with other readers is left alone. */
#include "compiler/passes/pass.h"

#include "compiler/ops/blocks.h"

#include <string.h>

/* the op of this code that makes t in blocks for one reader; NULL: there is none */
static Op *made_by(const Rewrite *rw, const Written *w, Tensor *t, int code)
{
	Op *op = t->def;

	if (!op || op->code != code || t->def_index != 0 || !lies_blocked(op, BLOCKED_OUT) || op_attr(op, "_relu")->i) return NULL;
	return sole_user(t) && !is_written(w, t) && !rewrite_has(rw, op) ? op : NULL;
}

static int has_bias(const Op *conv) { return conv->in.n > 2 && conv->in.at[2]; }

/* one number per channel, in the order of the channels */
static int is_bias(Tensor *t, const Tensor *images)
{
	Shape s = images->spec.shape, b = t->spec.shape;
	Layout l = layout_of(t);

	if (t->spec.dtype != DT_F32 || b.rank != s.rank || !layout_contiguous(&l, b)) return 0;
	for (int i = 0; i < b.rank; i++)
		if (b.dim[i] != (i == 1 || i == b.rank - 1 ? s.dim[i] : 1)) return 0;
	return 1;
}

/* first, made anew with `bias` (NULL: as it is) and its relu, stands for both */
static void join(Rewrite *rw, const Written *w, Op *first, Tensor *bias, int relu, Op *second)
{
	const OpDef *d = op_def(first);
	Build b = build_at(second);
	Tensor *in[4] = { 0 };
	int mark = rw->g->ops.n, n = 0;

	while (d->params[n].kind != P_END) n++;
	AttrVal *v = NEWN(rw->cx->mem, AttrVal, n + 1);
	memcpy(v, first->attr, (size_t)n * sizeof *v);
	v[op_param(d, "_relu")] = attr_int(relu);
	for (int i = 0; i < first->in.n; i++) in[i] = first->in.at[i];
	if (bias) in[2] = bias;
	Op *made = ir_op(&b, first->code, in, bias && first->in.n < 3 ? 3 : first->in.n, v, second->out.at[0]->name);
	made->instead = op_said(second);
	rewrite_replace(rw, second, made->out.at, mark);
	rewrite_join(rw, w, first, made->out.at, mark);
}

static void add_bias(Rewrite *rw, const Written *w, Op *op)
{
	if (op->code != OP_add || op->inplace) return;
	for (int i = 0; i < 2; i++) {
		Tensor *y = op->in.at[i], *bias = op->in.at[1 - i];
		Op *conv = made_by(rw, w, y, OP_conv_run);

		if (!conv || has_bias(conv) || !is_bias(bias, y) || !shape_eq(y->spec.shape, op->out.at[0]->spec.shape) || !may_move(w, conv, op, bias)) continue;
		join(rw, w, conv, bias, 0, op);
		return;
	}
}

static void add_relu(Rewrite *rw, const Written *w, Op *op)
{
	Op *first;

	if (op->inplace || !op->in.n) return;
	if (op->code == OP_relu && (first = made_by(rw, w, op->in.at[0], OP_conv_run)) && may_move(w, first, op, NULL)) join(rw, w, first, NULL, 1, op);
	if (op->code == OP_relu_grad && (first = made_by(rw, w, op->in.at[0], OP_max_pool_grad)) && first->in.at[0] == op->in.at[1]) join(rw, w, first, NULL, 1, op);
}

int pass_finish(PassCx *cx) { return rewrite_ops(cx, add_bias) && rewrite_ops(cx, add_relu); }
