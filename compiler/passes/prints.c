/* prints.c — what is printed comes in the order of the text.
 *
 * Nothing else orders ops that print, so the schedule would be free to print a gradient before the value
 * it belongs to.  After: of two ops of a graph and of one kind of execution that print, or call a graph
 * that does, the one made later runs later.  Only transforms make ops later than others that need them;
 * a graph where that is so is left alone. */
#include "compiler/passes/pass.h"

/* per graph index: does running it print */
static char *printing_graphs(PassCx *cx)
{
	Graph **order = callees_first(cx->ir, cx->mem);
	char *prints = NEWN(cx->mem, char, cx->ir->graphs.n + 1);

	for (int i = 0; i < cx->ir->graphs.n; i++)
		for (int k = 0; k < order[i]->ops.n; k++) {
			const Op *op = order[i]->ops.at[k];
			prints[order[i]->index] |= op->code == OP_print_tensor;
			for (int c = 0; c < 2; c++) prints[order[i]->index] |= op->callee[c] && prints[op->callee[c]->index];
		}
	return prints;
}

static int op_prints(const Op *op, const char *prints)
{
	return op->code == OP_print_tensor || (op->callee[0] && prints[op->callee[0]->index]) || (op->callee[1] && prints[op->callee[1]->index]);
}

/* no op needs one that was made after it */
static int made_in_order(const Graph *g)
{
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < g->ops.n; i++) {
		const Op *op = g->ops.at[i];
		for (int k = 0; k < op->in.n; k++)
			if (op->in.at[k] && op->in.at[k]->graph == g && op->in.at[k]->def && op->in.at[k]->def->mark > i) return 0;
		for (int k = 0; k < op->after.n; k++)
			if (op->after.at[k]->graph == g && op->after.at[k]->mark > i) return 0;
	}
	return 1;
}

int pass_prints(PassCx *cx)
{
	char *prints = printing_graphs(cx);

	for (int i = 0; i < cx->ir->graphs.n; i++) {
		Graph *g = cx->ir->graphs.at[i];
		Op *last[EXEC_COUNT] = { 0 };
		if (!prints[g->index] || !made_in_order(g)) continue;
		for (int k = 0; k < g->ops.n; k++) {
			Op *op = g->ops.at[k];
			if (!op_prints(op, prints)) continue;
			if (last[op->exec]) run_after(op, last[op->exec]);
			last[op->exec] = op;
		}
	}
	return 1;
}
