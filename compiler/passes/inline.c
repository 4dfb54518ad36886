/* inline.c — put graphs into their caller where that costs no code.
 *
 * A graph called once, or a small one called a few times, is spliced into its caller, so that the passes
 * behind see through the call: the optimiser's step can join the gradient's product, unread results fall
 * away.  Splicing loses the fact that a call runs as one, so the order in which memory is read and
 * written is taken from a schedule in which the spliced ops stand in the call's place, and made explicit
 * (order.c).
 * After: no plain call of a graph that has no other caller is left. */
#include "compiler/passes/pass.h"

enum { SMALL = 64 };             /* ops that copies of one graph may come to */

static int worth(const Op *op)
{
	const Graph *g = op->callee[0];

	return op->code == OP_call && (g->calls.n == 1 || g->ops.n * g->calls.n <= SMALL);
}

static int passed_by_ref(const Op *op, int i)
{
	return i < op->modified.n && op->modified.at[i] != BY_VALUE;
}

static void append_new(PassCx *cx, Graph *g, int from, OpList *seq)
{
	for (int i = from; i < g->ops.n; i++) vec_push(cx->mem, seq, g->ops.at[i]);
}

/* memory that the callee writes → the operand by which it does, or op itself where there are several */
static Map written_by(PassCx *cx, Op *op)
{
	Map m = { 0 };

	for (int i = 0; i < op->in.n; i++) {
		if (!op_modifies(op, i)) continue;
		Tensor *root = storage_root(op->in.at[i]);
		map_set(cx->mem, &m, root, map_has(&m, root) ? (void *)op : (void *)&op->in.at[i]);
	}
	return m;
}

/* is operand i's memory written by the callee through another operand */
static int written_beside(const Map *written, const Op *op, int i)
{
	const void *by = map_get(written, storage_root(op->in.at[i]));
	return by && by != (const void *)&op->in.at[i];
}

/* a result that is not memory of its own in the callee is a copy in the caller (R166) */
static Tensor *own_result(Build *b, const Graph *callee, int k, Tensor *t)
{
	Tensor *inner = callee->outputs.at[k];
	int own = inner->def && storage_root(inner) == inner;

	for (int i = 0; i < k && own; i++) own = callee->outputs.at[i] != inner;
	return own ? t : ir_op(b, OP_copy, &t, 1, NULL, NULL)->out.at[0];
}

static void splice(Rewrite *rw, Op *op, OpList *seq)
{
	PassCx *cx = rw->cx;
	Graph *callee = op->callee[0], *g = op->graph;
	Build b = build_at(op);
	Map map = { 0 }, written = written_by(cx, op);
	OpList cloned = { 0 };
	Tensor **with = NEWN(cx->mem, Tensor *, op->out.n + 1);
	int mark = g->ops.n, results;

	for (int i = 0; i < op->in.n; i++) {
		Tensor *t = op->in.at[i];
		int spoilt = graph_modifies_input(callee, i) || written_beside(&written, op, i);
		if (spoilt && !passed_by_ref(op, i)) t = insert_copy(op, t);
		map_set(cx->mem, &map, callee->inputs.at[i], t);
	}
	append_new(cx, g, mark, seq);
	clone_ops(&b, callee, &map, &cloned);
	for (int i = 0; i < cloned.n; i++) vec_push(cx->mem, seq, cloned.at[i]);
	results = g->ops.n;
	for (int k = 0; k < op->out.n; k++) {
		Tensor *t = map_get(&map, callee->outputs.at[k]);
		if (!t) t = ir_constant(&b, callee->outputs.at[k]->data, NULL);
		with[k] = own_result(&b, callee, k, t);
	}
	append_new(cx, g, results, seq);
	rewrite_replace(rw, op, with, mark);
}

static int any_worth(const Graph *g)
{
	for (int i = 0; i < g->ops.n; i++)
		if (op_is(g->ops.at[i], CALLS) && worth(g->ops.at[i])) return 1;
	return 0;
}

static int inline_into(PassCx *cx, Graph *g)
{
	Rewrite rw = rewrite_begin(cx, g);
	OpList seq = { 0 };
	Op **order;
	int n = g->ops.n;

	if (!any_worth(g)) return 1;
	if (!(order = schedule(g, cx->mem))) return 0;
	for (int i = 0; i < n; i++) {
		if (worth(order[i])) splice(&rw, order[i], &seq);
		else vec_push(cx->mem, &seq, order[i]);
	}
	rewrite_end(&rw);
	order_accesses(cx, g, seq.at, seq.n);
	return 1;
}

int pass_inline(PassCx *cx)
{
	Graph **order = callees_first(cx->ir, cx->mem);
	int n = cx->ir->graphs.n;

	for (int i = 0; i < n; i++)
		if (!inline_into(cx, order[i])) return 0;
	return pass_trim(cx);
}
