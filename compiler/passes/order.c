/* order.c — the order of reads and writes of one memory, as constraints.
 *
 * In the user's IR an op that overwrites memory is ordered against its other users by whatever path
 * leads from one to the other (semantics.md R142, R143).  Passes move and replace ops, and such paths
 * do not survive that.  So, following one order that obeys the rules, each write is made to run after
 * the reads since the last write, and each read after the last write: direct constraints, which passes
 * hand on when they replace an op. */
#include "compiler/passes/pass.h"

typedef struct Access { Op *writer; OpList readers; } Access;

static void note(PassCx *cx, Access *a, Op *op, int writes)
{
	if (a->writer) run_after(op, a->writer);
	if (!writes) {
		if (!a->readers.n || vec_last(&a->readers) != op) vec_push(cx->mem, &a->readers, op);
		return;
	}
	for (int i = 0; i < a->readers.n; i++) run_after(op, a->readers.at[i]);
	a->readers.n = 0;
	a->writer = op;
}

static int any_writes(const Graph *g)
{
	for (int i = 0; i < g->ops.n; i++)
		if (op_modifies_any(g->ops.at[i])) return 1;
	return 0;
}

void order_accesses(PassCx *cx, Graph *g, Op *const *seq, int n)
{
	Written w;
	Map access = { 0 };

	if (!any_writes(g)) return;
	w = written_roots(cx, g);
	for (int i = 0; i < n; i++)
		for (int pass = 0; pass < 2; pass++)             /* an op reads before it writes */
			for (int k = 0; k < seq[i]->in.n; k++) {
				Tensor *t = seq[i]->in.at[k], *root;
				Access *a;

				if (!t || op_modifies(seq[i], k) != pass || !is_written(&w, t)) continue;
				root = storage_root(t);
				if (!(a = map_get(&access, root))) map_set(cx->mem, &access, root, a = NEW(cx->mem, Access));
				note(cx, a, seq[i], pass);
			}
}

int pass_order(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++) {
		Graph *g = cx->ir->graphs.at[i];
		Op **seq;

		if (!any_writes(g)) continue;
		seq = schedule(g, cx->mem);
		if (!seq) return 0;
		order_accesses(cx, g, seq, g->ops.n);
	}
	return 1;
}
