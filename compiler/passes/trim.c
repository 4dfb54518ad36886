/* trim.c — forget graphs that the main graph does not run.
 *
 * A model may make graphs only to look at them.  After: every graph is reached from main by calls, and
 * graph->calls holds the calls there are, so that a pass can tell from it who uses a graph. */
#include "compiler/passes/pass.h"

static void keep_live_calls(Graph *g, const char *live)
{
	int n = 0;

	for (int i = 0; i < g->calls.n; i++)
		if (live[g->calls.at[i]->graph->index]) g->calls.at[n++] = g->calls.at[i];
	g->calls.n = n;
}

int pass_trim(PassCx *cx)
{
	Ir *ir = cx->ir;
	char *live = NEWN(cx->mem, char, ir->graphs.n + 1);
	VEC(Graph *) todo = { 0 };
	int n = 0;

	live[ir->main->index] = 1;
	vec_push(cx->mem, &todo, ir->main);
	while (todo.n) {
		Graph *g = todo.at[--todo.n];
		for (int i = 0; i < g->ops.n; i++)
			for (int k = 0; k < 2; k++) {
				Graph *c = g->ops.at[i]->callee[k];
				if (!c || live[c->index]) continue;
				live[c->index] = 1;
				vec_push(cx->mem, &todo, c);
			}
	}
	for (int i = 0; i < ir->graphs.n; i++) keep_live_calls(ir->graphs.at[i], live);
	for (int i = 0; i < ir->graphs.n; i++) {
		Graph *g = ir->graphs.at[i];
		if (!live[i]) map_del(&ir->ids, g->id);
		else ir->graphs.at[n++] = g;
	}
	ir->graphs.n = n;
	for (int i = 0; i < n; i++) ir->graphs.at[i]->index = i;
	ir->stamp++;
	return 1;
}
