/* sum.c — sums of many tensors as chains of adds.
 *
 * A sum needs all its operands at once.  A chain needs the partial sum and one operand, if it takes them as they become ready: so
 * they are ordered by the number of ops that must run before each (its earliest place in any schedule), ties in the order of the
 * sum (semantics.md R256).  What makes a term runs after the add before it, so that no schedule keeps terms waiting.  That is
 * never a circle: what the earlier terms need has fewer ops before it.
 *
 * The chain starts from zeros, as PopXL's does, and adds in place: nothing else sees the partial sum. */
#include "compiler/transforms/transforms.h"

#include "compiler/ops/grad.h"

typedef struct Term { Tensor *t; int earliest; } Term;

static int count_before(Graph *g, const Op *op, char *seen)
{
	int n = 0;
	VEC(const Op *) todo = { 0 };
	Arena *mem = g->ir->mem;
	for (int i = 0; i < g->ops.n; i++) seen[i] = 0;
	if (op) vec_push(mem, &todo, op);
	while (todo.n) {
		const Op *x = todo.at[--todo.n];
		if (seen[x->mark]) continue;
		seen[x->mark] = 1;
		n++;
		for (int i = 0; i < x->in.n; i++)
			if (x->in.at[i] && x->in.at[i]->def) vec_push(mem, &todo, x->in.at[i]->def);
		for (int i = 0; i < x->after.n; i++) vec_push(mem, &todo, x->after.at[i]);
	}
	return n;
}

/* the terms in the order of the chain; n is small, so they are inserted one by one */
static Term *ordered_terms(Graph *g, const Op *sum)
{
	Term *at = NEWN(g->ir->mem, Term, sum->in.n);
	char *seen = NEWN(g->ir->mem, char, g->ops.n + 1);
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < sum->in.n; i++) {
		Term t = { sum->in.at[i], count_before(g, sum->in.at[i]->def, seen) };
		int k = i;
		for (; k > 0 && at[k - 1].earliest > t.earliest; k--) at[k] = at[k - 1];
		at[k] = t;
	}
	return at;
}

static Build build_beside(Build *at, const Op *op)
{
	Build b = *at;
	b.g = op->graph;
	b.at = op->at;
	b.chain = op->chain;
	b.scope = "";                            /* the sum's name has its scope already */
	b.ipu = op->ipu;
	b.tiles = op->tiles;
	b.exec = op->exec;
	b.seq = SEQ_NONE;
	return b;
}

/* the producer of term i may run after the adds of the terms before it: none of them is or needs that producer */
static int may_wait(const Op *sum, const Term *at, int i)
{
	const Op *op = at[i].t->def;
	for (int k = 0; k < i; k++)
		if (op == at[k].t->def) return 0;
	return op != NULL && op->exec == sum->exec;
}

void sum_as_chain(Build *at, Op *sum)
{
	Graph *g = sum->graph;
	Arena *mem = g->ir->mem;
	Build b = build_beside(at, sum);
	Term *term = ordered_terms(g, sum);
	Tensor *y = sum->out.at[0];
	int n = sum->in.n;
	AttrVal *v = b_attrs(&b, OP_init, "shape", attr_ints(mem, y->spec.shape.dim, y->spec.shape.rank), "dtype", attr_int(y->spec.dtype), NULL);
	Op *op = ir_op(&b, OP_init, NULL, 0, v, arena_printf(mem, "%s_init", y->name));
	for (int i = 0; i < n; i++) {
		if (i && may_wait(sum, term, i)) ir_run_after(term[i].t->def, op);
		op = ir_op_inplace(&b, OP_add, (Tensor *[]){ op->out.at[0], term[i].t }, 2, NULL, arena_printf(mem, "%s_%d", y->name, i));
	}
	ir_take_place(op, sum);
	ir_sort_ops(g);
}

void decompose_sum(Build *at, Graph *g)
{
	VEC(Op *) sums = { 0 };
	for (int i = 0; i < g->ops.n; i++)
		if (g->ops.at[i]->code == OP_sum_n && g->ops.at[i]->in.n > 2) vec_push(g->ir->mem, &sums, g->ops.at[i]);
	for (int i = 0; i < sums.n; i++) sum_as_chain(at, sums.at[i]);
}
