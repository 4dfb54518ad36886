/* weigh.c — how much of a step is emitted code: an estimate of the calls it makes.
 *
 * Emitted code does little but call: a kernel for an op, a primitive for every block and node of a fused group. What a compiler
 * that optimises saves is a part of what stands around each call. */
#include "compiler/codegen/module.h"
#include "compiler/passes/pass.h"

static double weigh_op(const Op *op, const double *callee)
{
	double calls = 1;
	for (int c = 0; c < 2; c++)
		if (op->callee[c]) calls += callee[op->callee[c]->index];
	if (op->code == OP_repeat) return calls * (double)op_attr(op, "repeat_count")->i;
	const Pattern *p = op_pattern(op);
	if (!p) return calls;
	double blocks = (double)((shape_nelems(p->shape) + PXLRT_BLOCK - 1) / PXLRT_BLOCK);
	return calls + blocks * p->nodes.n;
}

double weigh(Ir *ir, const Plan *plan, Arena *mem)
{
	Graph **order = callees_first(ir, mem);
	double *calls = NEWN(mem, double, ir->graphs.n + 1);
	for (int i = 0; i < ir->graphs.n; i++) {
		const GraphPlan *gp = &plan->graph[order[i]->index];
		for (int k = 0; k < gp->nop; k++) calls[order[i]->index] += weigh_op(gp->order[k], calls);
	}
	return calls[ir->main->index];
}
