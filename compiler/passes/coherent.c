/* coherent.c — views that are copies, kept in step with what they show.
 *
 * concat_, or a reshape_ of a transpose, cannot lie in its operands' memory as strides say.  Such a view
 * becomes a copy; then, following one order that obeys the rules, every write to the copy is followed by
 * ops that put the parts back, and every write to an operand by one that brings the copy up to date.  The
 * check of in-place programs has made sure that every reader is ordered against every writer of these.
 * After: no view is written, or shows memory that is, without lying in it; order is explicit. */
#include "compiler/passes/pass.h"

typedef struct Sync { PassCx *cx; OpList views; OpList seq; VEC(Tensor *) changed; } Sync;

static int is_copying_view(const Op *op)
{
	return op->inplace && op_def(op)->inplace == VIEWS && op->out.n == 1 && op_output_aliases(op, 0) < 0;
}

static void put_back(Sync *s, Build *b, Tensor *t, Tensor *x)
{
	Op *op = ir_op(b, OP_copy_var_update, (Tensor *[]){ t, x }, 2, NULL, NULL);

	vec_push(s->cx->mem, &s->seq, x->def);
	vec_push(s->cx->mem, &s->seq, op);
}

static void note_change(Sync *s, Tensor *t)
{
	Tensor *root = storage_root(t);

	for (int i = 0; i < s->changed.n; i++)
		if (s->changed.at[i] == root) return;
	vec_push(s->cx->mem, &s->changed, root);
}

/* the view was written: its operands follow */
static void spread_parts(Sync *s, Build *b, const Op *view)
{
	int64_t at = 0;

	for (int i = 0; i < view->in.n; i++) {
		Tensor *t = view->in.at[i], *y = view->out.at[0];
		if (view->code == OP_concat) {
			int axis = (int)op_attr(view, "axis")->i;
			int64_t end = at + t->spec.shape.dim[axis];
			put_back(s, b, t, b_slice(b, y, axis, at, end));
			at = end;
		} else {
			AttrVal *as = b_attrs(b, OP_reshape, "shape", attr_ints(s->cx->mem, t->spec.shape.dim, t->spec.shape.rank), NULL);
			put_back(s, b, t, ir_op(b, OP_reshape, &y, 1, as, NULL)->out.at[0]);
		}
		note_change(s, t);
	}
}

/* an operand was written: the view follows */
static void refresh(Sync *s, Build *b, const Op *view)
{
	Op *again = ir_op(b, view->code, view->in.at, view->in.n, view->attr, NULL);

	put_back(s, b, view->out.at[0], again->out.at[0]);
	note_change(s, view->out.at[0]);
}

static int shows(const Op *view, Tensor *root)
{
	for (int i = 0; i < view->in.n; i++)
		if (storage_root(view->in.at[i]) == root) return 1;
	return 0;
}

/* Each view is settled once per write: the side that follows does not lead. */
static void settle(Sync *s, Op *writer)
{
	Build b = build_at(writer);
	char *done = NEWN(s->cx->mem, char, s->views.n + 1);

	for (int c = 0; c < s->changed.n; c++)
		for (int v = 0; v < s->views.n; v++) {
			Op *view = s->views.at[v];
			int written = storage_root(view->out.at[0]) == s->changed.at[c];
			if (done[v] || (!written && !shows(view, s->changed.at[c]))) continue;
			done[v] = 1;
			if (written) spread_parts(s, &b, view);
			else refresh(s, &b, view);
		}
	s->changed.n = 0;
}

static int any_copying(const Graph *g)
{
	int writes = 0, copies = 0;

	for (int i = 0; i < g->ops.n && !(writes && copies); i++) {
		writes |= op_modifies_any(g->ops.at[i]);
		copies |= is_copying_view(g->ops.at[i]);
	}
	return writes && copies;
}

static int coherent(PassCx *cx, Graph *g)
{
	Sync s = { .cx = cx };
	Op **order;
	int n = g->ops.n;

	if (!any_copying(g)) return 1;
	if (!(order = schedule(g, cx->mem))) return 0;
	for (int i = 0; i < n; i++) {
		Op *op = order[i];
		vec_push(cx->mem, &s.seq, op);
		if (is_copying_view(op)) {
			vec_push(cx->mem, &s.views, op);
			set_viewing(op, 0);
			continue;
		}
		if (!s.views.n) continue;
		for (int k = 0; k < op->in.n; k++)
			if (op->in.at[k] && op_modifies(op, k)) note_change(&s, op->in.at[k]);
		settle(&s, op);
	}
	order_accesses(cx, g, s.seq.at, s.seq.n);
	return 1;
}

int pass_coherent(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++)
		if (!coherent(cx, cx->ir->graphs.at[i])) return 0;
	return 1;
}
