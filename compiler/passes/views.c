/* views.c — moving no bytes where looking at them differently will do.
 *
 * transpose, slice, reshape and kin have a viewing form.  The plain form may become it when nobody writes
 * the result, and whoever writes the operand's memory later can wait for the view's readers: a weight's
 * transpose is read by the backward pass before the optimiser updates the weight.  It pays when the
 * readers read through strides anyway, or the result lies contiguously.
 * After: such ops are views; what could not be one is as it was. */
#include "compiler/passes/pass.h"

static int users_read(const Tensor *t, const Layout *l)
{
	if (layout_contiguous(l, t->spec.shape)) return 1;
	for (int i = 0; i < t->uses.n; i++)
		if (!reads_strides(t->uses.at[i].op, t->uses.at[i].index, l)) return 0;
	return 1;
}

static int candidate(const Op *op)
{
	return op_def(op)->view && !op->inplace && op_is(op, PURE) && op_def(op)->inplace != MODIFIES && op->in.n >= 1 && op->in.at[0];
}

static int pays(Op *op)
{
	for (int i = 0; i < op->out.n; i++) {
		Tensor *t = op->out.at[i];
		Layout l = layout_of(t);

		if (l.root == t || is_output(t) || !users_read(t, &l)) return 0;
	}
	return op->out.n > 0;
}

/* --- writers that must wait ------------------------------------------------------------------------------------ */

enum { MAX_SEARCH = 20000 };     /* ops of a graph in which paths are looked for */

typedef struct Search { PassCx *cx; Graph *g; Written w; Map writers; int *pos, *seen, round; } Search;

static Search search_begin(PassCx *cx, Graph *g, Op *const *order)
{
	Search s = { .cx = cx, .g = g, .w = written_roots(cx, g) };

	s.pos = NEWN(cx->mem, int, cx->ir->next_op + 1);
	s.seen = NEWN(cx->mem, int, cx->ir->next_op + 1);
	for (int i = 0; i < g->ops.n; i++) {
		s.pos[order[i]->id] = i;
		for (int k = 0; k < order[i]->in.n; k++) {
			Tensor *root;
			OpList *l;

			if (!order[i]->in.at[k] || !op_modifies(order[i], k)) continue;
			root = storage_root(order[i]->in.at[k]);
			if (!(l = map_get(&s.writers, root))) map_set(cx->mem, &s.writers, root, l = NEW(cx->mem, OpList));
			vec_push(cx->mem, l, order[i]);
		}
	}
	return s;
}

/* does op need, by any path, the results or the running of `first` */
static int needs(Search *s, Op *op, const Op *first)
{
	OpList todo = { 0 };

	s->round++;
	vec_push(s->cx->mem, &todo, op);
	while (todo.n) {
		Op *x = todo.at[--todo.n];
		if (x == first) return 1;
		if (s->seen[x->id] == s->round) continue;
		s->seen[x->id] = s->round;
		for (int i = 0; i < x->in.n; i++)
			if (x->in.at[i] && x->in.at[i]->def) vec_push(s->cx->mem, &todo, x->in.at[i]->def);
		for (int i = 0; i < x->after.n; i++) vec_push(s->cx->mem, &todo, x->after.at[i]);
	}
	return 0;
}

/* Readers of op's results run before everybody who writes the memory later; 0: some of them cannot. */
static int hold_writers(Search *s, Op *op, int really)
{
	OpList *writers = map_get(&s->writers, storage_root(op->in.at[0]));

	for (int i = 0; writers && i < writers->n; i++) {
		Op *w = writers->at[i];
		if (s->pos[w->id] < s->pos[op->id]) continue;
		for (int k = 0; k < op->out.n; k++)
			for (int u = 0; u < op->out.at[k]->uses.n; u++) {
				Op *reader = op->out.at[k]->uses.at[u].op;
				if (really) run_after(w, reader);
				else if (reader == w || needs(s, reader, w)) return 0;
			}
	}
	return 1;
}

static int undisturbed(Search *s, Op *op)
{
	for (int i = 0; i < op->out.n; i++)
		if (is_written(&s->w, op->out.at[i])) return 0;
	if (!is_written(&s->w, op->in.at[0])) return 1;
	return s->g->ops.n <= MAX_SEARCH && hold_writers(s, op, 0);
}

static void become_view(Search *s, Op *op)
{
	set_viewing(op, 1);
	if (!pays(op)) set_viewing(op, 0);
	else if (is_written(&s->w, op->in.at[0])) hold_writers(s, op, 1);
}

static int views_of(PassCx *cx, Graph *g)
{
	Op **order = schedule(g, cx->mem);
	Search s;

	if (!order) return 0;
	s = search_begin(cx, g, order);
	for (int i = 0; i < g->ops.n; i++)
		if (candidate(order[i]) && undisturbed(&s, order[i])) become_view(&s, order[i]);
	return 1;
}

int pass_views(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++)
		if (!views_of(cx, cx->ir->graphs.at[i])) return 0;
	return 1;
}
