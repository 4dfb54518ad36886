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

typedef struct Search { PassCx *cx; Graph *g; Written w; Map writers; int *seen, round; } Search;

static Search search_begin(PassCx *cx, Graph *g, Op *const *order)
{
	Search s = { .cx = cx, .g = g, .w = written_roots(cx, g) };

	s.seen = NEWN(cx->mem, int, cx->ir->next_op + 1);
	for (int i = 0; i < g->ops.n; i++)
		for (int k = 0; k < order[i]->in.n; k++) {
			Tensor *root;
			OpList *l;

			if (!order[i]->in.at[k] || !op_modifies(order[i], k)) continue;
			root = storage_root(order[i]->in.at[k]);
			if (!(l = map_get(&s.writers, root))) map_set(cx->mem, &s.writers, root, l = NEW(cx->mem, OpList));
			vec_push(cx->mem, l, order[i]);
		}
	return s;
}

/* find op and all whose results or running it needs, by any path */
static void find_needed(Search *s, Op *op)
{
	OpList todo = { 0 };

	s->round++;
	vec_push(s->cx->mem, &todo, op);
	while (todo.n) {
		Op *x = todo.at[--todo.n];
		if (s->seen[x->id] == s->round) continue;
		s->seen[x->id] = s->round;
		for (int i = 0; i < x->in.n; i++)
			if (x->in.at[i] && x->in.at[i]->def) vec_push(s->cx->mem, &todo, x->in.at[i]->def);
		for (int i = 0; i < x->after.n; i++) vec_push(s->cx->mem, &todo, x->after.at[i]);
	}
}

static int is_found(const Search *s, const Op *op) { return s->seen[op->id] == s->round; }

/* Whoever writes the memory of op's operand, but for those that op itself waits for.  Where ops stand in a schedule would not say
 * it: that op became a reader of this memory only when what makes its operand became a view. */
static OpList later_writers(Search *s, Op *op)
{
	OpList *all = map_get(&s->writers, storage_root(op->in.at[0])), later = { 0 };

	if (all) find_needed(s, op);
	for (int i = 0; all && i < all->n; i++)
		if (!is_found(s, all->at[i])) vec_push(s->cx->mem, &later, all->at[i]);
	return later;
}

/* who reads op's results, also through views of them */
static void add_readers(Search *s, Op *op, OpList *readers)
{
	for (int k = 0; k < op->out.n; k++)
		for (int u = 0; u < op->out.at[k]->uses.n; u++) {
			Op *reader = op->out.at[k]->uses.at[u].op;
			vec_push(s->cx->mem, readers, reader);
			if (reader->out.n && storage_root(reader->out.at[0]) == storage_root(op->out.at[k])) add_readers(s, reader, readers);
		}
}

/* Readers of op's results run before everybody who writes the memory later; 0: some of them cannot. */
static int hold_writers(Search *s, Op *op, int really)
{
	OpList later = later_writers(s, op), readers = { 0 };

	if (later.n) add_readers(s, op, &readers);
	for (int u = 0; u < readers.n; u++) {
		if (!really) find_needed(s, readers.at[u]);
		for (int i = 0; i < later.n; i++) {
			if (really) run_after(later.at[i], readers.at[u]);
			else if (is_found(s, later.at[i])) return 0;
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
