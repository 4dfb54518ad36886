/* lower.c — make explicit what emitters take for granted.
 *
 * After:
 *   - ops without an emitter of their own are expressed by others (OpDef.lower);
 *   - a viewing op that strides cannot express is a plain, copying op;
 *   - operands are contiguous, unless the op reads them through strides;
 *   - what host_load hands out is written by nobody: it may be the caller's array;
 *   - a callee writes only inputs that were passed by reference, so by-value operands it writes are copies;
 *   - an output of a subgraph is memory of its own, made in that graph: not an input, a constant, a view,
 *     what a stream handed out, or another output. */
#include "compiler/passes/pass.h"

/* --- ops in terms of others ---------------------------------------------------------------------------------- */

/* what loads filled before they handed out memory of their own */
static void drop_unread_inits(PassCx *cx, Graph *g)
{
	char *dead = NEWN(cx->mem, char, g->ops.n + 1);
	int any = 0;

	for (int i = 0; i < g->ops.n; i++) {
		dead[i] = g->ops.at[i]->code == OP_init && !is_used(g->ops.at[i]->out.at[0]);
		any |= dead[i];
	}
	if (any) ir_remove_ops(g, dead);
}

/* results may want lowering again: new ops come at the end of g->ops, where the loop finds them */
static void lower_ops(PassCx *cx, Graph *g)
{
	Rewrite rw = rewrite_begin(cx, g);

	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		Build b = build_at(op);
		Tensor **with = NEWN(cx->mem, Tensor *, op->out.n + 1);
		int mark = g->ops.n;

		if (!op_def(op)->lower || !op_def(op)->lower(&b, op, with)) continue;
		for (int k = mark; k < g->ops.n; k++) g->ops.at[k]->instead = op_said(op);
		rewrite_replace(&rw, op, with, mark);
	}
	rewrite_end(&rw);
	drop_unread_inits(cx, g);
}

/* --- views --------------------------------------------------------------------------------------------------------- */

static void settle_views(Graph *g)
{
	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		int shared = 0;

		if (!op->inplace || op_def(op)->inplace == MODIFIES || op_is(op, ONLY_INPLACE) || op->code == OP_fused) continue;
		for (int k = 0; k < op->out.n; k++) shared |= op_output_aliases(op, k) >= 0;
		if (!shared) set_viewing(op, 0);
	}
}

int reads_strides(const Op *op, int i, const Layout *l)
{
	if (op_is(op, ELTWISE) || (op->inplace && op_def(op)->inplace != MODIFIES)) return 1;
	if (!op_is(op, STRIDED)) return 0;
	return !op_def(op)->takes || op_def(op)->takes(op, i, l);
}

static int refuse_write(const Op *op, int i)
{
	Ir *ir = op->graph->ir;
	Diag *d = diag(ir->ds, E0450, op->at, "`%s` cannot write through the view `%s`", op_def(op)->name, op->in.at[i]->name);

	diag_label(ir->ds, d, "the view's elements do not lie side by side");
	diag_help(ir->ds, d, (Span){ 0 }, "work on a copy and write that back with `copy_var_update_`");
	return 0;
}

static int make_contiguous(Op *op)
{
	int view = op->inplace && op_def(op)->inplace != MODIFIES && !op_is(op, ONLY_INPLACE);

	for (int i = 0; i < op->in.n && !view; i++) {
		Tensor *t = op->in.at[i];
		Layout l;

		if (!t || !t->def) continue;             /* inputs, variables and constants lie as their shape says */
		l = layout_of(t);
		if (layout_contiguous(&l, t->spec.shape) || reads_strides(op, i, &l)) continue;
		if (op_modifies(op, i)) return refuse_write(op, i);
		ir_set_input(op, i, insert_copy(op, t));
	}
	return 1;
}

/* An op that writes operand i while reading the same memory in another order, or not element by element,
 * reads a copy instead. */
static void part_operands(Op *op)
{
	if (op_is(op, CALLS) || !op_modifies_any(op)) return;
	for (int i = 0; i < op->in.n; i++) {
		if (!op->in.at[i] || !op_modifies(op, i)) continue;
		Layout w = layout_of(op->in.at[i]);
		for (int k = 0; k < op->in.n; k++) {
			if (k == i || !op->in.at[k]) continue;
			Layout r = layout_of(op->in.at[k]);
			if (r.root != w.root) continue;
			if (op_is(op, ELTWISE) && same_layout(&r, op->in.at[k]->spec.shape, &w, op->in.at[i]->spec.shape)) continue;
			ir_set_input(op, k, insert_copy(op, op->in.at[k]));
		}
	}
}

/* --- calls ---------------------------------------------------------------------------------------------------------- */

static const Graph *callee_of_operand(const Op *op, int i, int *input)
{
	int first = op->code == OP_conditional, n = op->callee[0]->inputs.n;

	if (i < first) return NULL;
	*input = i - first < n ? i - first : i - first - n;
	return op->callee[i - first >= n];
}

static int by_ref(const Op *op, int i)
{
	return i < op->modified.n && op->modified.at[i] != BY_VALUE;
}

/* is operand i's memory written through another operand, passed by reference */
static int written_beside(const Op *op, int i)
{
	const Tensor *root;

	if (!op_modifies_any(op)) return 0;
	root = storage_root(op->in.at[i]);
	for (int k = 0; k < op->in.n; k++)
		if (k != i && op->in.at[k] && op_modifies(op, k) && storage_root(op->in.at[k]) == root) return 1;
	return 0;
}

/* A copy made before the callee is entered.  Of a repeat only a carried input is kept from the caller so:
 * the others start from the original value in every turn (R179), which the loop sees to. */
static void copy_operands(Op *op)
{
	for (int i = 0; i < op->in.n; i++) {
		int k;
		const Graph *c = callee_of_operand(op, i, &k);

		if (!c || by_ref(op, i)) continue;
		if (!(graph_modifies_input(c, k) && (op->code != OP_repeat || k < c->written_outputs)) && !written_beside(op, i)) continue;
		ir_set_input(op, i, insert_copy(op, op->in.at[i]));
	}
}

/* --- streams and outputs ---------------------------------------------------------------------------------------------- */

static void own_loads(PassCx *cx, Graph *g)
{
	Written w = written_roots(cx, g);
	int n = g->ops.n;

	for (int i = 0; i < n; i++) {
		Op *op = g->ops.at[i];

		for (int k = 0; k < op->out.n; k++)
			if (op_hands_out(op, k) && is_written(&w, op->out.at[k])) ir_replace_uses(op->out.at[k], insert_copy(op, op->out.at[k]));
	}
}

static int needs_own_memory(const Graph *g, int k)
{
	Tensor *t = g->outputs.at[k];

	if (!t->def || op_hands_out(t->def, t->def_index) || storage_root(t) != t) return 1;
	for (int i = 0; i < k; i++)
		if (g->outputs.at[i] == t) return 1;
	return 0;
}

/* the caller sees what is there at the end */
static void after_writers(Op *copy, Tensor *t)
{
	Graph *g = copy->graph;
	const Tensor *root = storage_root(t);

	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		for (int k = 0; k < op->in.n; k++)
			if (op->in.at[k] && op_modifies(op, k) && storage_root(op->in.at[k]) == root) run_after(copy, op);
	}
}

/* An output computed in place is copied as well; its memory may go on being used inside. */
static void own_outputs(Graph *g)
{
	for (int k = 0; k < g->outputs.n; k++) {
		Tensor *t = g->outputs.at[k];
		Build b = t->def ? build_at(t->def) : ir_build(g);
		Op *copy;

		if (!needs_own_memory(g, k)) continue;
		copy = ir_op(&b, OP_copy, &t, 1, NULL, arena_printf(b.ir->mem, "%s_out", t->name));
		g->outputs.at[k] = copy->out.at[0];
		after_writers(copy, t);
	}
	g->ir->stamp++;
}

int pass_lower(PassCx *cx)
{
	char *effects = graph_effects(cx->ir, cx->mem);

	for (int k = 0; k < cx->ir->graphs.n; k++) {
		Graph *g = cx->ir->graphs.at[k];
		lower_ops(cx, g);
		if (cx->level > 0) remove_dead(cx, g, effects);      /* what only the old forms read, such as room for host_load */
		settle_views(g);
	}
	for (int k = 0; k < cx->ir->graphs.n; k++) {
		Graph *g = cx->ir->graphs.at[k];
		int n = g->ops.n;

		own_loads(cx, g);
		for (int i = 0; i < n; i++)
			if (op_is(g->ops.at[i], CALLS)) copy_operands(g->ops.at[i]);
		for (int i = 0; i < n; i++) {
			if (!make_contiguous(g->ops.at[i])) return 0;
			part_operands(g->ops.at[i]);
		}
		if (g != cx->ir->main) own_outputs(g);
	}
	return 1;
}
