/* trim.c — forget graphs that the main graph does not run.
 *
 * A model may make graphs only to look at them.  After: every graph is reached from main by calls, and
 * graph->calls holds the calls there are, so that a pass can tell from it who uses a graph.  Being the first
 * pass, it also drops what only the device knows: loads of code name a number, and everything is in one place. */
#include "compiler/passes/pass.h"

static void keep_live_calls(Graph *g, const char *live)
{
	int n = 0;

	for (int i = 0; i < g->calls.n; i++)
		if (live[g->calls.at[i]->graph->index]) g->calls.at[n++] = g->calls.at[i];
	g->calls.n = n;
}

/* the graph's number among those that some op loads */
static int segment_of(const Ir *ir, const Graph *g)
{
	char *loaded = NEWN(ir->mem, char, ir->graphs.n + 1);
	int n = 0;

	for (int i = 0; i < ir->graphs.n; i++)
		for (int k = 0; k < ir->graphs.at[i]->ops.n; k++) {
			const Op *op = ir->graphs.at[i]->ops.at[k];
			if (op->code == OP_remote_code_load) loaded[((const Graph *)op->attr[0].p)->index] = 1;
		}
	for (int i = 0; i < g->index; i++) n += loaded[i];
	return n;
}

/* Graphs will be forgotten, or put into others: loads of code name a number instead. */
static void number_segments(Ir *ir)
{
	VEC(Op *) loads = { 0 };
	VEC(int) segments = { 0 };

	for (int i = 0; i < ir->graphs.n; i++)
		for (int k = 0; k < ir->graphs.at[i]->ops.n; k++) {
			Op *op = ir->graphs.at[i]->ops.at[k];
			if (op->code != OP_remote_code_load) continue;
			vec_push(ir->mem, &loads, op);
			vec_push(ir->mem, &segments, segment_of(ir, op->attr[0].p));
		}
	for (int i = 0; i < loads.n; i++) {
		loads.at[i]->code = OP_load_segment;
		loads.at[i]->attr = NEWN(ir->mem, AttrVal, 1);
		loads.at[i]->attr[0] = attr_int(segments.at[i]);
	}
}

static void forget_places(Graph *g)
{
	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];

		op->ipu = 0;
		op->tiles = TILES_COMPUTE;
		if (op->code != OP_ipu_copy && op->code != OP_io_tile_copy) continue;
		op->code = OP_identity;
		op->attr = NEWN(g->ir->mem, AttrVal, 2);
	}
}

int pass_trim(PassCx *cx)
{
	Ir *ir = cx->ir;
	char *live = NEWN(cx->mem, char, ir->graphs.n + 1);
	VEC(Graph *) todo = { 0 };
	int n = 0;

	number_segments(ir);
	for (int i = 0; i < ir->graphs.n; i++) forget_places(ir->graphs.at[i]);
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
