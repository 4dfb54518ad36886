/* rewrite.c — changing a program after it was built.
 *
 * Uses always mirror operands, results of calls always mirror the outputs of the graph they call: every
 * function here keeps both, in time proportional to what it touches. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/grad.h"

#include <string.h>

#define vec_insert(a, v, pos, x) \
	(vec_push((a), (v), (x)), memmove(&(v)->at[(pos) + 1], &(v)->at[pos], (size_t)((v)->n - 1 - (pos)) * sizeof *(v)->at), \
	 (v)->at[pos] = (x))
#define vec_remove(v, pos) \
	(memmove(&(v)->at[pos], &(v)->at[(pos) + 1], (size_t)((v)->n - 1 - (pos)) * sizeof *(v)->at), (v)->n--)

/* --- uses ------------------------------------------------------------------------------------------------- */

/* from the end: what is taken away was mostly put there last */
static void drop_use(Tensor *t, const Op *op, int index)
{
	for (int i = t->uses.n - 1; i >= 0; i--) {
		if (t->uses.at[i].op != op || t->uses.at[i].index != index) continue;
		vec_remove(&t->uses, i);
		return;
	}
}

void ir_set_input(Op *op, int i, Tensor *t)
{
	Ir *ir = op->graph->ir;
	if (op->in.at[i] == t) return;
	if (op->in.at[i]) drop_use(op->in.at[i], op, i);
	op->in.at[i] = t;
	if (t) vec_push(ir->mem, &t->uses, ((Use){ op, i }));
	ir->stamp++;
	ir->moved++;
}

void ir_replace_uses(Tensor *old, Tensor *with)
{
	Graph *g = old->graph;
	int kept = 0;
	for (int i = 0; i < old->uses.n; i++) {
		Use u = old->uses.at[i];
		if (u.op == with->def) {
			old->uses.at[kept++] = u;
			continue;
		}
		u.op->in.at[u.index] = with;
		vec_push(g->ir->mem, &with->uses, u);
	}
	old->uses.n = kept;
	for (int i = 0; i < g->outputs.n; i++)
		if (g->outputs.at[i] == old) g->outputs.at[i] = with;
	g->ir->stamp++;
	g->ir->moved++;
}

/* --- outputs ------------------------------------------------------------------------------------------------ */

static void insert_result(Op *op, int pos, Spec spec, const char *unique)
{
	Build b = ir_build(op->graph);
	b.at = op->at;
	b.chain = op->chain;
	Tensor *t = add_result(&b, op, spec, unique);
	op->out.n--;
	vec_insert(op->graph->ir->mem, &op->out, pos, t);
	for (int i = pos; i < op->out.n; i++) op->out.at[i]->def_index = i;
	if (shape_legal(spec.shape)) return;
	diag(op->graph->ir->ds, E0319, op->at, "what a gradient needs of every turn of this `%s` has too many elements: %s", op_said(op), shape_str(op->graph->ir->mem, spec.shape));
	t->poison = 1;
}

void insert_output(Graph *g, int pos, Tensor *t, const char *site_name)
{
	vec_insert(g->ir->mem, &g->outputs, pos, t);
	for (int i = 0; i < g->calls.n; i++) {
		Op *site = g->calls.at[i];
		if (site->callee[1] && site->callee[0] != g) continue;          /* its results follow the first branch */
		insert_result(site, pos, op_result_spec(site, pos), site_name ? name_suffixed(site->graph, site_name) : ir_name(site->graph, t->name));
	}
	g->ir->stamp++;
}

static void pad_output(Graph *g, Spec s, const char *site_name)
{
	Build b = ir_build(g);
	b.at = g->at;
	insert_output(g, g->outputs.n, b_zeros(&b, s), site_name);
}

/* Branches of a conditional have equally many outputs: what shares one with g, or with such a graph, gets an output too. */
void ir_add_output(Graph *g, Tensor *t, const char *site_name)
{
	VEC(Graph *) todo = { 0 };
	int n = g->outputs.n + 1;
	insert_output(g, g->outputs.n, t, site_name);
	vec_push(g->ir->mem, &todo, g);
	for (int i = 0; i < todo.n; i++)
		for (int k = 0; k < todo.at[i]->calls.n; k++) {
			const Op *site = todo.at[i]->calls.at[k];
			for (int c = 0; c < 2 && site->callee[1]; c++) {
				if (site->callee[c]->outputs.n >= n) continue;
				pad_output(site->callee[c], t->spec, site_name);
				vec_push(g->ir->mem, &todo, site->callee[c]);
			}
		}
}

static int is_output(const Tensor *t)
{
	for (int i = 0; i < t->graph->outputs.n; i++)
		if (t->graph->outputs.at[i] == t) return 1;
	return 0;
}

static void forget_tensor(Tensor *t)
{
	Graph *g = t->graph;
	map_del(&g->names, t->name);
	for (int i = g->tensors.n - 1; i >= 0; i--) {
		if (g->tensors.at[i] != t) continue;
		vec_remove(&g->tensors, i);
		return;
	}
}

static void remove_result(Op *op, int i)
{
	Tensor *t = op->out.at[i];
	vec_remove(&op->out, i);
	for (int k = i; k < op->out.n; k++) op->out.at[k]->def_index = k;
	forget_tensor(t);
}

void ir_remove_output(Graph *g, int i)
{
	for (int k = 0; k < g->calls.n; k++) {
		Tensor *t = g->calls.at[k]->out.at[i];
		if (t->uses.n || is_output(t)) return;
	}
	vec_remove(&g->outputs, i);
	if (i < g->written_outputs) g->written_outputs--;
	for (int k = 0; k < g->calls.n; k++) remove_result(g->calls.at[k], i);
	g->ir->stamp++;
}

/* --- removing ops --------------------------------------------------------------------------------------------- */

/* the removed ops that others still wait for, directly or through more of them */
static char *dead_in_order(Graph *g, const char *dead)
{
	char *in_order = NEWN(g->ir->mem, char, g->ops.n + 1);
	VEC(Op *) todo = { 0 };
	for (int i = 0; i < g->ops.n; i++)
		if (!dead[i]) vec_push(g->ir->mem, &todo, g->ops.at[i]);
	while (todo.n) {
		Op *op = todo.at[--todo.n];
		for (int k = 0; k < op->after.n; k++) {
			Op *first = op->after.at[k];
			if (!dead[first->mark] || in_order[first->mark]) continue;
			in_order[first->mark] = 1;
			vec_push(g->ir->mem, &todo, first);
		}
	}
	return in_order;
}

/* What ran after a removed op runs after what that op ran after.  Each op is visited once per list. */
static void inherit_order(Graph *g, const char *dead)
{
	int *seen = NEWN(g->ir->mem, int, g->ops.n + 1);
	char *in_order = dead_in_order(g, dead);
	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		int kept = 0;
		if (dead[i] && !in_order[i]) continue;
		for (int k = 0; k < op->after.n; k++) {
			Op *first = op->after.at[k];
			if (seen[first->mark] == i + 1) continue;
			seen[first->mark] = i + 1;
			if (!dead[first->mark]) continue;
			for (int m = 0; m < first->after.n; m++) vec_push(g->ir->mem, &op->after, first->after.at[m]);
		}
		for (int k = 0; k < op->after.n; k++) {
			Op *first = op->after.at[k];
			if (dead[first->mark] || seen[first->mark] != i + 1) continue;
			seen[first->mark] = 0;
			op->after.at[kept++] = first;
		}
		op->after.n = kept;
	}
}

static void leave_lists(Op *op)
{
	for (int e = 0; e < EXEC_COUNT; e++)
		for (int i = 0; i < op->graph->seq[e].n; i++)
			if (op->graph->seq[e].at[i] == op) op->graph->seq[e].at[i] = NULL;
	for (int k = 0; k < 2; k++) {
		Graph *c = op->callee[k];
		for (int i = c ? c->calls.n - 1 : -1; i >= 0; i--)
			if (c->calls.at[i] == op) vec_remove(&c->calls, i);
	}
}

static void detach(Op *op)
{
	leave_lists(op);
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i]) drop_use(op->in.at[i], op, i);
}

/* the same for many, in one sweep: a tensor may have as many readers as there are ops */
static void detach_all(Graph *g, const char *dead)
{
	for (int i = g->ops.n - 1; i >= 0; i--)
		if (dead[i]) leave_lists(g->ops.at[i]);
	for (int i = 0; i < g->tensors.n; i++) {
		Tensor *t = g->tensors.at[i];
		int kept = 0;
		for (int u = 0; u < t->uses.n; u++)
			if (!dead[t->uses.at[u].op->mark]) t->uses.at[kept++] = t->uses.at[u];
		t->uses.n = kept;
	}
}

void ir_remove_ops(Graph *g, const char *dead)
{
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	inherit_order(g, dead);
	detach_all(g, dead);
	int kept = 0;
	for (int i = 0; i < g->tensors.n; i++) {
		Tensor *t = g->tensors.at[i];
		if (t->def && dead[t->def->mark]) map_del(&g->names, t->name);
		else g->tensors.at[kept++] = t;
	}
	g->tensors.n = kept;
	kept = 0;
	for (int i = 0; i < g->ops.n; i++)
		if (!dead[i]) g->ops.at[kept++] = g->ops.at[i];
	g->ops.n = kept;
	g->ir->stamp++;
}

static int has_followers(const Op *op)
{
	for (int i = 0; i < op->graph->ops.n; i++)
		for (int k = 0; k < op->graph->ops.at[i]->after.n; k++)
			if (op->graph->ops.at[i]->after.at[k] == op) return 1;
	return 0;
}

/* One op: the arrays are searched from the end, and nothing is rebuilt unless others waited for it. */
void ir_remove_op(Op *op)
{
	Graph *g = op->graph;
	int at = g->ops.n - 1;
	while (at >= 0 && g->ops.at[at] != op) at--;
	if (at < 0) return;
	if (has_followers(op)) {
		char *dead = NEWN(g->ir->mem, char, g->ops.n);
		dead[at] = 1;
		ir_remove_ops(g, dead);
		return;
	}
	detach(op);
	while (op->out.n) remove_result(op, op->out.n - 1);
	vec_remove(&g->ops, at);
	g->ir->stamp++;
}

/* --- one op for others ------------------------------------------------------------------------------------------ */

void ir_run_after(Op *later, Op *first)
{
	for (int i = 0; i < later->after.n; i++)
		if (later->after.at[i] == first) return;
	if (later != first) vec_push(later->graph->ir->mem, &later->after, first);
}

/* marked: places of old in g->ops; each constraint on one of them becomes one on op */
static void hand_over_order(Graph *g, const char *old, Op *op)
{
	for (int i = 0; i < g->ops.n; i++) {
		Op *later = g->ops.at[i];
		int kept = 0, moved = 0;
		for (int k = 0; k < later->after.n; k++) {
			if (old[later->after.at[k]->mark]) moved = 1;
			else later->after.at[kept++] = later->after.at[k];
		}
		later->after.n = kept;
		if (moved) ir_run_after(later, op);
	}
}

static void hand_over_sequence(Graph *g, const char *old, Op *op)
{
	for (int e = 0; e < EXEC_COUNT; e++)
		for (int i = 0, done = 0; i < g->seq[e].n; i++) {
			if (!g->seq[e].at[i] || !old[g->seq[e].at[i]->mark]) continue;
			g->seq[e].at[i] = done ? NULL : op;
			done = 1;
		}
}

static void adopt_result(Op *op, Tensor *t)
{
	t->def = op;
	t->def_index = op->out.n;
	vec_push(op->graph->ir->mem, &op->out, t);
}

static void adopt_after(Op *op, const Op *from, const char *old)
{
	for (int k = 0; k < from->after.n; k++)
		if (!old[from->after.at[k]->mark]) ir_run_after(op, from->after.at[k]);
}

static void remove_marked(Graph *g, const char *old)
{
	int kept = 0;
	for (int i = 0; i < g->ops.n; i++) {
		if (old[i]) detach(g->ops.at[i]);
		else g->ops.at[kept++] = g->ops.at[i];
	}
	g->ops.n = kept;
	g->ir->stamp++;
	g->ir->moved++;
}

static char *mark_ops(Graph *g, Op *const *ops, int n)
{
	char *old = NEWN(g->ir->mem, char, g->ops.n + 1);
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < n; i++) old[ops[i]->mark] = 1;
	return old;
}

void ir_take_place(Op *op, Op *old)
{
	Graph *g = op->graph;
	char *marked = mark_ops(g, &old, 1);
	while (op->out.n) remove_result(op, op->out.n - 1);
	for (int i = 0; i < old->out.n; i++) adopt_result(op, old->out.at[i]);
	old->out.n = 0;
	hand_over_order(g, marked, op);
	hand_over_sequence(g, marked, op);
	adopt_after(op, old, marked);
	remove_marked(g, marked);
}

/* the next thing that op waits for and that is not out yet; NULL: none */
static Op *waits_for(const Op *op, const char *out)
{
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && op->in.at[i]->def && !out[op->in.at[i]->def->mark]) return op->in.at[i]->def;
	for (int i = 0; i < op->after.n; i++)
		if (!out[op->after.at[i]->mark]) return op->after.at[i];
	return NULL;
}

/* Each op comes out when all that it waits for has, which is fetched first; in a circle, as it stands. */
void ir_sort_ops(Graph *g)
{
	Arena *mem = g->ir->mem;
	int n = g->ops.n, done = 0;
	char *out = NEWN(mem, char, n + 1), *open = NEWN(mem, char, n + 1);
	Op **order = NEWN(mem, Op *, n + 1), *next;
	VEC(Op *) todo = { 0 };
	for (int i = 0; i < n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < n; i++) {
		if (!out[i]) vec_push(mem, &todo, g->ops.at[i]);
		while (todo.n) {
			Op *op = vec_last(&todo);
			open[op->mark] = 1;
			next = waits_for(op, out);
			if (next && !open[next->mark]) {
				vec_push(mem, &todo, next);
				continue;
			}
			todo.n--;
			out[op->mark] = 1;
			order[done++] = op;
		}
	}
	if (n) memcpy(g->ops.at, order, (size_t)n * sizeof *order);
}

Op *ir_join_ops(Build *b, int code, Op *const *ops, int n, const AttrVal *attrs)
{
	Graph *g = b->g;
	VEC(Tensor *) in = { 0 };
	for (int i = 0; i < n; i++)
		for (int k = 0; k < ops[i]->in.n; k++) vec_push(b->ir->mem, &in, ops[i]->in.at[k]);
	char *old = mark_ops(g, ops, n);
	Op *op = new_op(b, code, 0, in.at, in.n, attrs);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < ops[i]->out.n; k++) adopt_result(op, ops[i]->out.at[k]);
		adopt_after(op, ops[i], old);
		ops[i]->out.n = 0;
	}
	hand_over_order(g, old, op);
	hand_over_sequence(g, old, op);
	remove_marked(g, old);
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i]) vec_push(b->ir->mem, &op->in.at[i]->uses, ((Use){ op, i }));
	vec_push(b->ir->mem, &g->ops, op);
	ir_sort_ops(g);
	run_hooks(g, op);
	return op;
}
