/* forget.c — forget what only the device knows.
 *
 * The CPU has one place and all code at hand.  After: every op is on the compute tiles of IPU 0, copies between
 * places are identities, and loads of code name a numbered segment, since graphs may be trimmed or put
 * into each other from here on. */
#include "compiler/passes/pass.h"

/* by graph index: its number among the graphs that some op loads */
static int *segment_numbers(const Ir *ir)
{
	int *number = NEWN(ir->mem, int, ir->graphs.n + 1), n = 0;

	for (int i = 0; i < ir->graphs.n; i++)
		for (int k = 0; k < ir->graphs.at[i]->ops.n; k++) {
			const Op *op = ir->graphs.at[i]->ops.at[k];
			for (int t = 0; t < op_transfers(op); t++)
				if (op_transfer(op, t).kind == MOVE_CODE_LOAD) number[op_transfer(op, t).code] = 1;
		}
	for (int i = 0; i < ir->graphs.n; i++) number[i] = number[i] ? n++ : 0;
	return number;
}

static void number_loads(Op *op, const int *number)
{
	for (int t = 0; op->code == OP_multi_exchange && t < op_transfers(op); t++)
		if (op_transfer(op, t).kind == MOVE_CODE_LOAD) exchange_set_code(op, t, number[op_transfer(op, t).code]);
	if (op->code != OP_remote_code_load) return;
	AttrVal *segment = NEWN(op->graph->ir->mem, AttrVal, 1);
	*segment = attr_int(number[op_transfer(op, 0).code]);
	op->code = OP_load_segment;
	op->attr = segment;
}

static void number_segments(Ir *ir)
{
	int *number = segment_numbers(ir);

	for (int i = 0; i < ir->graphs.n; i++)
		for (int k = 0; k < ir->graphs.at[i]->ops.n; k++) number_loads(ir->graphs.at[i]->ops.at[k], number);
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

int pass_forget(PassCx *cx)
{
	number_segments(cx->ir);
	for (int i = 0; i < cx->ir->graphs.n; i++) forget_places(cx->ir->graphs.at[i]);
	cx->ir->stamp++;
	return 1;
}
