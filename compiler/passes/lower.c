/* lower.c — make explicit what emitters take for granted.
 *
 * After:
 *   - ops without an emitter of their own are expressed by others (OpDef.lower);
 *   - what writes its operand as one piece of memory and got a scattered view writes a copy, and that goes back;
 *   - a viewing op that strides cannot express is a plain, copying op;
 *   - operands are contiguous, unless the op reads them through strides;
 *   - what host_load hands out is written by nobody: it may be the caller's array;
 *   - a callee writes only inputs that were passed by reference, so by-value operands it writes are copies;
 *   - an output of a subgraph is memory of its own, made in that graph: not an input, a constant, a view,
 *     what a stream handed out, or another output. */
#include "compiler/passes/pass.h"

/* --- ops in terms of others ---------------------------------------------------------------------------------- */

/* what loads filled before they handed out memory of their own, and numbers spread once more to be written over */
static void drop_unread_fills(PassCx *cx, Graph *g)
{
	char *dead = NEWN(cx->mem, char, g->ops.n + 1);
	int any = 0;

	for (int i = 0; i < g->ops.n; i++) {
		OpCode code = g->ops.at[i]->code;
		dead[i] = (code == OP_init || code == OP_expand) && !is_used(g->ops.at[i]->out.at[0]);
		any |= dead[i];
	}
	if (any) ir_remove_ops(g, dead);
}

/* does op write its operand as one piece of memory, which lies scattered */
static int writes_scattered(const Op *op)
{
	if (!op->inplace || op_def(op)->inplace != MODIFIES || op_is(op, ELTWISE | CALLS) || !op->in.at[0]->def) return 0;
	Layout l = layout_of(op->in.at[0]);
	return !layout_contiguous(&l, op->in.at[0]->spec.shape) && !reads_strides(op, 0, &l);
}

static int write_copy_back(Build *b, Op *op, Tensor **out)
{
	Tensor *view = op->in.at[0], **in = arena_dup(b->ir->mem, op->in.at, (size_t)op->in.n * sizeof *in);
	in[0] = b_op1(b, OP_copy, view);
	Tensor *written = ir_op_inplace(b, op->code, in, op->in.n, op->attr, NULL)->out.at[0];
	out[0] = ir_op_inplace(b, OP_copy_var_update, (Tensor *[]){ view, written }, 2, NULL, NULL)->out.at[0];
	return 1;
}

static int lower_op(Build *b, Op *op, Tensor **out)
{
	if (op_def(op)->lower && op_def(op)->lower(b, op, out)) return 1;
	return writes_scattered(op) && write_copy_back(b, op, out);
}

static int is_arithmetic(const Op *op) { return op_is(op, ELTWISE) || op_def(op)->inplace == VIEWS; }

/* is there memory that both use and one writes */
static int meet(const Op *a, const Op *b)
{
	for (int i = 0; i < a->in.n; i++)
		for (int k = 0; k < b->in.n; k++)
			if (a->in.at[i] && b->in.at[k] && (op_modifies(a, i) || op_modifies(b, k)) && storage_root(a->in.at[i]) == storage_root(b->in.at[k])) return 1;
	return 0;
}

/* What an op is made of inherits its place in the order; arithmetic between others' memory needs none of it, and may then be fused. */
static void forget_idle_order(Op *op)
{
	int kept = 0;

	if (!is_arithmetic(op)) return;
	for (int i = 0; i < op->after.n; i++) {
		Op *first = op->after.at[i];
		if (!is_arithmetic(first) || meet(op, first)) op->after.at[kept++] = first;
	}
	op->after.n = kept;
}

/* results may want lowering again: new ops come at the end of g->ops, where the loop finds them */
static void lower_ops(PassCx *cx, Graph *g)
{
	Rewrite rw = rewrite_begin(cx, g);
	int ids = g->ir->next_op;

	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		Build b = build_at(op);
		Tensor **with = NEWN(cx->mem, Tensor *, op->out.n + 1);
		int mark = g->ops.n;

		if (!lower_op(&b, op, with)) continue;
		for (int k = mark; k < g->ops.n; k++) g->ops.at[k]->instead = op_said(op);
		rewrite_replace(&rw, op, with, mark);
	}
	rewrite_end(&rw);
	for (int i = 0; i < g->ops.n; i++)
		if (g->ops.at[i]->id >= ids) forget_idle_order(g->ops.at[i]);
	drop_unread_fills(cx, g);
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

/* op writes a copy of the view, and that goes back before anything that comes after op */
static void give_back(Op *op, int i)
{
	Graph *g = op->graph;
	Build b = build_at(op);
	Tensor *view = op->in.at[i], *copy = insert_copy(op, view);
	int n = g->ops.n;

	ir_set_input(op, i, copy);
	Op *back = ir_op_inplace(&b, OP_copy_var_update, (Tensor *[]){ view, copy }, 2, NULL, NULL);
	back->instead = op_said(op);
	for (int k = 0; k < op->out.n; k++)
		if (op_output_aliases(op, k) == i) ir_replace_uses(op->out.at[k], back->out.at[0]);
	for (int k = 0; k < n; k++) {
		Op *later = g->ops.at[k];
		int follows = 0;
		for (int j = 0; j < later->after.n; j++) follows |= later->after.at[j] == op;
		for (int j = 0; j < later->in.n; j++) follows |= later->in.at[j] && later->in.at[j]->def == op;
		if (follows) run_after(later, back);
	}
	run_after(back, op);
}

static void make_contiguous(Op *op)
{
	int view = op->inplace && op_def(op)->inplace != MODIFIES && !op_is(op, ONLY_INPLACE);

	for (int i = 0; i < op->in.n && !view; i++) {
		Tensor *t = op->in.at[i];
		Layout l;

		if (!t || !t->def) continue;             /* inputs, variables and constants lie as their shape says */
		l = layout_of(t);
		if (layout_contiguous(&l, t->spec.shape) || reads_strides(op, i, &l)) continue;
		if (op_modifies(op, i)) give_back(op, i);
		else ir_set_input(op, i, insert_copy(op, t));
	}
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
	int first = cx->ir->next_op;

	for (int k = 0; k < cx->ir->graphs.n; k++) {
		Graph *g = cx->ir->graphs.at[k];
		lower_ops(cx, g);
		if (cx->level > 0) remove_dead(cx, g, effects);      /* what only the old forms read, such as room for host_load */
		if (cx->level > 0 && !views_since(cx, g, first)) return 0;
		settle_views(g);
	}
	for (int k = 0; k < cx->ir->graphs.n; k++) {
		Graph *g = cx->ir->graphs.at[k];
		int n = g->ops.n;

		own_loads(cx, g);
		for (int i = 0; i < n; i++)
			if (op_is(g->ops.at[i], CALLS)) copy_operands(g->ops.at[i]);
		for (int i = 0; i < n; i++) {
			make_contiguous(g->ops.at[i]);
			part_operands(g->ops.at[i]);
		}
		if (g != cx->ir->main) own_outputs(g);
	}
	return 1;
}
