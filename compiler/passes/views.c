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

enum { MOST_STEPS = 4000000 };   /* of all searches for paths in a graph; what would take more stays a copy */

typedef struct Search { PassCx *cx; Written w; Map writers; OpList todo, readers; int *seen, round; long steps; } Search;

static void search_begin(Search *s, Graph *g, Op *const *order)
{
	PassCx *cx = s->cx;

	s->w = written_roots(cx, g);
	s->writers = (Map){ 0 };
	s->steps = 0;
	if (s->w.root.n && !s->seen) s->seen = NEWN(cx->mem, int, cx->ir->next_op + 1);
	for (int i = 0; i < g->ops.n; i++)
		for (int k = 0; k < order[i]->in.n; k++) {
			Tensor *root;
			OpList *l;

			if (!order[i]->in.at[k] || !op_modifies(order[i], k)) continue;
			root = storage_root(order[i]->in.at[k]);
			if (!(l = map_get(&s->writers, root))) map_set(cx->mem, &s->writers, root, l = NEW(cx->mem, OpList));
			vec_push(cx->mem, l, order[i]);
		}
}

/* find op and all whose results or running it needs, by any path */
static void find_needed(Search *s, Op *op)
{
	OpList *todo = &s->todo;

	s->round++;
	vec_push(s->cx->mem, todo, op);
	while (todo->n) {
		Op *x = todo->at[--todo->n];
		s->steps++;
		if (s->seen[x->id] == s->round) continue;
		s->seen[x->id] = s->round;
		for (int i = 0; i < x->in.n; i++)
			if (x->in.at[i] && x->in.at[i]->def) vec_push(s->cx->mem, todo, x->in.at[i]->def);
		for (int i = 0; i < x->after.n; i++) vec_push(s->cx->mem, todo, x->after.at[i]);
	}
}

/* Who writes the memory of op's operand next: the first whom op does not wait for, since each writer waits for the one before it
 * (order.c). Where ops stand in a schedule would not say it: op became a reader of this memory only when what makes its operand
 * became a view. */
static Op *next_writer(Search *s, Op *op)
{
	OpList *all = map_get(&s->writers, storage_root(op->in.at[0]));

	if (all) find_needed(s, op);
	for (int i = 0; all && i < all->n; i++)
		if (s->seen[all->at[i]->id] != s->round) return all->at[i];
	return NULL;
}

/* who reads op's results, also through views of them */
static void add_readers(Search *s, Op *op)
{
	for (int k = 0; k < op->out.n; k++)
		for (int u = 0; u < op->out.at[k]->uses.n; u++) {
			Op *reader = op->out.at[k]->uses.at[u].op;
			vec_push(s->cx->mem, &s->readers, reader);
			if (reader->out.n && storage_root(reader->out.at[0]) == storage_root(op->out.at[k])) add_readers(s, reader);
		}
}

/* can op's results be read before the memory is written again */
static int next_writer_can_wait(Search *s, Op *op)
{
	Op *next = next_writer(s, op);

	s->readers.n = 0;
	if (next) add_readers(s, op);
	for (int i = 0; i < s->readers.n; i++) {
		find_needed(s, s->readers.at[i]);
		if (s->seen[next->id] == s->round) return 0;
	}
	return 1;
}

static void hold_next_writer(Search *s, Op *op)
{
	Op *next = next_writer(s, op);

	s->readers.n = 0;
	if (next) add_readers(s, op);
	for (int i = 0; i < s->readers.n; i++) run_after(next, s->readers.at[i]);
}

static int undisturbed(Search *s, Op *op)
{
	for (int i = 0; i < op->out.n; i++)
		if (is_written(&s->w, op->out.at[i])) return 0;
	if (!is_written(&s->w, op->in.at[0])) return 1;
	return s->steps < MOST_STEPS && next_writer_can_wait(s, op);
}

static void become_view(Search *s, Op *op)
{
	set_viewing(op, 1);
	if (!pays(op)) set_viewing(op, 0);
	else if (is_written(&s->w, op->in.at[0])) hold_next_writer(s, op);
}

static int views_of(Search *s, Graph *g, int first)
{
	Op **order;
	int any = 0;

	for (int i = 0; i < g->ops.n; i++) any |= g->ops.at[i]->id >= first && candidate(g->ops.at[i]);
	if (!any) return 1;
	if (!(order = schedule(g, s->cx->mem))) return 0;
	search_begin(s, g, order);
	for (int i = 0; i < g->ops.n; i++)
		if (order[i]->id >= first && candidate(order[i]) && undisturbed(s, order[i])) become_view(s, order[i]);
	return 1;
}

int views_since(PassCx *cx, Graph *g, int first)
{
	Search s = { .cx = cx };

	return views_of(&s, g, first);
}

int pass_views(PassCx *cx)
{
	Search s = { .cx = cx };

	for (int i = 0; i < cx->ir->graphs.n; i++)
		if (!views_of(&s, cx->ir->graphs.at[i], 0)) return 0;
	return 1;
}
