/* ad_fwd.c — forward tensors, seen from the gradient graph.
 *
 * A gradient rule asks for the values it needs.  Inputs and outputs of the forward graph become inputs
 * of the gradient graph.  A value from the inside becomes an extra output of the forward graph, and
 * every call of it hands the value on (R223, R239) — unless the graph is used by a repeat or a
 * conditional: a loop would have to keep it for every turn, a branch to give it for the other branch too,
 * so there it is computed again from what the gradient graph has.  Only what comes out of an effect, a
 * transfer say, is handed on even there, since computing again must not repeat effects (R241).
 * Constants are repeated, and plain views are taken again rather than handed over, since they cost nothing. */
#include "compiler/transforms/ad.h"

#include <stdlib.h>

static int is_output(const Graph *g, const Tensor *t)
{
	for (int i = 0; i < g->outputs.n; i++)
		if (g->outputs.at[i] == t) return 1;
	return 0;
}

static Tensor *as_input(Autodiff *ad, Tensor *t)
{
	Build b = ad_build(ad, t->def);
	Expected e = { CONN_FWD, t };

	b.at = t->at;
	vec_push(ad->mem, &ad->gi->ins, e);
	return ir_input(&b, t->spec, t->name, 0);
}

/* one operand, and a plain view of it: cheaper to take again than to hand over */
static int is_view(const Op *op)
{
	return op && op_def(op)->inplace == VIEWS && op->in.n == 1;
}

/* does running g again do something besides computing; remembered, since graphs share callees */
static int has_effect(Run *run, const Graph *g)
{
	void *known = map_get(&run->effect, g);
	int found = 0;

	if (known) return known == run;
	for (int i = 0; i < g->ops.n && !found; i++)
		found = ad_has_effect(run, g->ops.at[i]);
	map_set(run->mem, &run->effect, g, found ? (void *)run : (void *)&run->effect);
	return found;
}

int ad_has_effect(Run *run, const Op *op)
{
	if (op_is(op, EFFECT)) return 1;
	for (int k = 0; k < 2; k++)
		if (op->callee[k] && has_effect(run, op->callee[k])) return 1;
	return 0;
}

/* the value, if nothing has to be computed for it; else NULL */
static Tensor *direct(Autodiff *ad, Build *b, Tensor *t)
{
	Fwd *f = ad_state(ad, t);
	int out = is_output(ad->fwd, t);

	if (f->seen) return f->seen;
	if (t->kind == T_CONSTANT && !out) return f->seen = ir_constant(b, t->data, t->name);
	if (!t->def || out) return f->seen = as_input(ad, t);
	if (!ad->recompute && !is_view(t->def)) return f->seen = as_input(ad, t);
	if (t->def->code != OP_print_tensor && ad_has_effect(ad->run, t->def)) return f->seen = as_input(ad, t);
	return NULL;
}

static void recompute(Autodiff *ad, const Build *at, Op *op)
{
	Build b = *at;
	Tensor **in = NEWN(ad->mem, Tensor *, op->in.n + 1);
	Op *copy;

	for (int i = 0; i < op->in.n; i++)
		in[i] = op->in.at[i] ? ad_state(ad, op->in.at[i])->seen : NULL;
	if (op->code == OP_print_tensor) {               /* printing is not repeated */
		ad_state(ad, op->out.at[0])->seen = in[0];
		return;
	}
	b.at = op->at;
	b.chain = op->chain;
	b.ipu = op->ipu;
	b.tiles = op->tiles;
	if (op_is(op, CALLS)) copy = ir_call(&b, op->code, op->callee[0], op->callee[1], in, op->in.n, op->attr);
	else copy = ir_op(&b, op->code, in, op->in.n, op->attr, op->out.n ? op->out.at[0]->name : NULL);
	copy->instead = op_said(op);
	for (int i = 0; i < op->out.n && i < copy->out.n; i++) {
		Fwd *f = ad_state(ad, op->out.at[i]);
		if (!f->seen) f->seen = copy->out.at[i];
	}
}

static int by_id(const void *a, const void *b)
{
	const Op *x = *(Op *const *)a, *y = *(Op *const *)b;
	return (x->id > y->id) - (x->id < y->id);
}

/* Chains may be long, so what must be computed again is collected with a list, not by recursion. */
Tensor *ad_value(Autodiff *ad, Build *b, Tensor *t)
{
	VEC(Tensor *) todo = { 0 };
	VEC(Op *) ops = { 0 };
	Map seen = { 0 };

	vec_push(ad->mem, &todo, t);
	while (todo.n) {
		Tensor *x = todo.at[--todo.n];
		if (direct(ad, b, x) || map_has(&seen, x->def)) continue;
		map_set(ad->mem, &seen, x->def, x->def);
		vec_push(ad->mem, &ops, x->def);
		for (int i = x->def->in.n - 1; i >= 0; i--)
			if (x->def->in.at[i]) vec_push(ad->mem, &todo, x->def->in.at[i]);
	}
	if (ops.n > 1) qsort(ops.at, (size_t)ops.n, sizeof *ops.at, by_id);      /* operands come before their users */
	for (int i = 0; i < ops.n; i++) recompute(ad, b, ops.at[i]);
	return ad_state(ad, t)->seen;
}

/* --- afterwards ------------------------------------------------------------------------------------------ */

void ad_stitch(Autodiff *ad)
{
	Map outputs = ad_outputs(ad->fwd, ad->mem);

	for (int i = 0; i < ad->gi->ins.n; i++) {
		Expected e = ad->gi->ins.at[i];
		if (e.type != CONN_FWD || e.fwd->input_index >= 0 || map_has(&outputs, e.fwd)) continue;
		ir_add_output(ad->fwd, e.fwd, "autodiff_output");
		map_set(ad->mem, &outputs, e.fwd, e.fwd);
	}
}

/* The gradient graph has no callers yet, so an input may simply be taken out. */
static void drop_input(Autodiff *ad, int i)
{
	Graph *g = ad->gi->graph;
	Tensor *t = g->inputs.at[i];
	int n = 0;

	for (int k = i; k + 1 < g->inputs.n; k++) {
		g->inputs.at[k] = g->inputs.at[k + 1];
		g->inputs.at[k]->input_index = k;
		ad->gi->ins.at[k] = ad->gi->ins.at[k + 1];
	}
	g->inputs.n--;
	ad->gi->ins.n--;
	map_del(&g->names, t->name);
	for (int k = 0; k < g->tensors.n; k++)
		if (g->tensors.at[k] != t) g->tensors.at[n++] = g->tensors.at[k];
	g->tensors.n = n;
}

/* ops by position: not needed by an output, nor by an op with effects */
static char *dead_ops(Autodiff *ad, Graph *g)
{
	char *dead = NEWN(ad->mem, char, g->ops.n + 1);
	VEC(Op *) todo = { 0 };

	for (int i = 0; i < g->ops.n; i++) {
		g->ops.at[i]->mark = i;
		dead[i] = 1;
		if (ad_has_effect(ad->run, g->ops.at[i])) vec_push(ad->mem, &todo, g->ops.at[i]);
	}
	for (int i = 0; i < g->outputs.n; i++)
		if (g->outputs.at[i]->def) vec_push(ad->mem, &todo, g->outputs.at[i]->def);
	while (todo.n) {
		Op *op = todo.at[--todo.n];
		if (!dead[op->mark]) continue;
		dead[op->mark] = 0;
		for (int i = 0; i < op->in.n; i++)
			if (op->in.at[i] && op->in.at[i]->def) vec_push(ad->mem, &todo, op->in.at[i]->def);
	}
	return dead;
}

void ad_prune(Autodiff *ad)
{
	Graph *g = ad->gi->graph;

	ir_remove_ops(g, dead_ops(ad, g));
	for (int i = g->inputs.n - 1; i >= ad->nprovided; i--)
		if (!g->inputs.at[i]->uses.n && !is_output(g, g->inputs.at[i])) drop_input(ad, i);
}
