/* clone_graph.c — copies of graphs and of their ops, for passes that treat call sites differently. */
#include "compiler/passes/pass.h"

static Tensor *mapped(Build *b, Map *map, Tensor *t)
{
	Tensor *m = t ? map_get(map, t) : NULL;

	if (!t || m) return m;
	m = ir_constant(b, t->data, t->name);            /* what is no input and has no producer is a constant */
	map_set(b->ir->mem, map, t, m);
	return m;
}

static Op *clone_op(Build *at, Op *op, Map *map)
{
	Build b = *at;
	Arena *mem = b.ir->mem;
	Tensor **in = NEWN(mem, Tensor *, op->in.n + 1);
	const char *name = op->out.n == 1 ? op->out.at[0]->name : NULL;
	Op *c;

	b.at = op->at;
	b.chain = op->chain;
	b.ipu = op->ipu;
	b.tiles = op->tiles;
	b.exec = op->exec;
	for (int i = 0; i < op->in.n; i++) in[i] = mapped(&b, map, op->in.at[i]);
	if (op_is(op, CALLS)) c = ir_call(&b, op->code, op->callee[0], op->callee[1], in, op->in.n, op->attr);
	else if (op->inplace) c = ir_op_inplace(&b, op->code, in, op->in.n, op->attr, name);
	else c = ir_op(&b, op->code, in, op->in.n, op->attr, name);
	c->instead = op->instead;
	c->modified.n = 0;
	for (int i = 0; i < op->modified.n; i++) vec_push(mem, &c->modified, op->modified.at[i]);
	for (int i = 0; i < op->out.n; i++) map_set(mem, map, op->out.at[i], c->out.at[i]);
	return c;
}

void clone_ops(Build *b, Graph *from, Map *map, OpList *seq)
{
	Arena *mem = b->ir->mem;
	Op **order = schedule(from, mem);
	int n = from->ops.n;
	Map ops = { 0 };

	for (int i = 0; order && i < n; i++) {
		Op *c = clone_op(b, order[i], map);
		for (int k = 0; k < order[i]->after.n; k++) {
			Op *first = map_get(&ops, order[i]->after.at[k]);
			if (first) run_after(c, first);
		}
		map_set(mem, &ops, order[i], c);
		vec_push(mem, seq, c);
	}
}

Graph *clone_graph(Graph *g)
{
	Graph *c = ir_graph_with_id(g->ir, g->id);
	Build b = ir_build(c);
	Map map = { 0 };
	OpList seq = { 0 };

	c->name = g->name;
	c->at = g->at;
	c->chain = g->chain;
	for (int i = 0; i < g->inputs.n; i++) {
		Tensor *t = g->inputs.at[i];
		b.at = t->at;
		map_set(g->ir->mem, &map, t, ir_input(&b, t->spec, t->name, t->by_ref));
	}
	clone_ops(&b, g, &map, &seq);
	for (int i = 0; i < g->outputs.n; i++) ir_output(&b, mapped(&b, &map, g->outputs.at[i]));
	c->written_outputs = g->written_outputs;
	return c;
}

void set_callee(Op *op, int k, Graph *g)
{
	Graph *old = op->callee[k];
	int n = 0, other = op->callee[!k] == old;

	if (!other) {
		for (int i = 0; i < old->calls.n; i++)
			if (old->calls.at[i] != op) old->calls.at[n++] = old->calls.at[i];
		old->calls.n = n;
	}
	op->callee[k] = g;
	if (op->callee[!k] != g) vec_push(g->ir->mem, &g->calls, op);
	g->ir->stamp++;
}
