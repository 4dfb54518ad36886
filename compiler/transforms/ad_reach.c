/* ad_reach.c — where gradients can go.
 *
 * Gradients enter at the provided tensors and move from results to operands.  Before anything is
 * built, one backward walk over a graph marks each tensor they arrive at, and notes when an op without
 * a gradient lies on the way; asking for such a tensor's gradient is then an error that names the op
 * (R226, R229), while ops that nobody needs a gradient through do not matter.  A call passes a gradient
 * to an operand when the callee passes one to that input, so callees are walked first. */
#include "compiler/transforms/ad.h"

#include "compiler/ops/op.h"

int ad_passes(const Op *op)
{
	return op_is(op, CALLS) || !op_is(op, NO_GRAD);
}

static void mark(Run *run, Reach *r, Tensor *t, Op *refusal)
{
	if (!t || !dtype_is_float(t->spec.dtype)) return;
	map_set(run->mem, &r->leads, t, t);
	if (refusal && !map_has(&r->refuses, t)) map_set(run->mem, &r->refuses, t, refusal);
}

Op *ad_refusal(const Reach *r, const Tensor *t)
{
	return map_get(&r->refuses, t);
}

/* operand i of a call, when it feeds input k of callee c */
static void mark_call_input(Run *run, Reach *r, Op *op, int i, Graph *c, int k, Op *refusal)
{
	const GradInfo *given = run->o->called ? map_get(run->o->called, c) : NULL;

	if (given) {
		for (int j = 0; j < given->outs.n; j++)
			if (given->outs.at[j].fwd == c->inputs.at[k]) mark(run, r, op->in.at[i], refusal);
		return;
	}
	Reach *cr = ad_reach_callee(run, c);
	if (!map_has(&cr->leads, c->inputs.at[k])) return;
	Op *inner = ad_refusal(cr, c->inputs.at[k]);
	mark(run, r, op->in.at[i], refusal ? refusal : inner);
}

static void mark_operands(Run *run, Reach *r, Op *op, Op *refusal)
{
	if (op->code == OP_conditional) {
		int n = op->callee[0]->inputs.n;
		for (int i = 1; i < op->in.n; i++) {
			int other = i > n;
			mark_call_input(run, r, op, i, op->callee[other], other ? i - 1 - n : i - 1, refusal);
		}
	} else if (op->code == OP_repeat && !op_attr(op, "repeat_count")->i) {      /* values pass as they are */
		for (int i = 0; i < op->callee[0]->written_outputs; i++)
			mark(run, r, op->in.at[i], refusal);
	} else if (op_is(op, CALLS)) {
		for (int i = 0; i < op->in.n; i++)
			mark_call_input(run, r, op, i, op->callee[0], i, refusal);
	} else {
		for (int i = 0; i < op->in.n; i++)
			mark(run, r, op->in.at[i], refusal);
	}
}

Reach *ad_reach(Run *run, Graph *fwd, Tensor *const *provided, int n)
{
	Reach *r = NEW(run->mem, Reach);

	for (int i = 0; i < n; i++) {
		vec_push(run->mem, &r->provided, provided[i]);
		mark(run, r, provided[i], NULL);
	}
	for (int i = fwd->ops.n - 1; i >= 0; i--) {
		Op *op = fwd->ops.at[i], *refusal = NULL;
		int arrives = 0;

		for (int k = 0; k < op->out.n; k++) {
			if (!map_has(&r->leads, op->out.at[k])) continue;
			arrives = 1;
			if (!refusal) refusal = ad_refusal(r, op->out.at[k]);
		}
		if (!arrives || !ad_passes(op)) continue;
		if (!refusal && !op_is(op, CALLS) && (op_is(op, GRAD_ERROR) || !op_def(op)->grad)) refusal = op;
		mark_operands(run, r, op, refusal);
	}
	return r;
}

/* the first op behind t that lets no gradient pass: why there is none */
Op *ad_dead_end(Run *run, const Graph *g, const Tensor *t)
{
	Map behind = { 0 };

	map_set(run->mem, &behind, t, (void *)t);
	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		int reads = 0;
		for (int k = 0; k < op->in.n; k++) reads |= op->in.at[k] && map_has(&behind, op->in.at[k]);
		if (!reads) continue;
		if (!ad_passes(op)) return op;
		for (int k = 0; k < op->out.n; k++) map_set(run->mem, &behind, op->out.at[k], op->out.at[k]);
	}
	return NULL;
}

/* is result k of some call of g looked at: outputs that an earlier autodiff added mostly are not */
static int output_used(const Graph *g, int k)
{
	for (int c = 0; c < g->calls.n; c++) {
		const Op *op = g->calls.at[c];
		const Tensor *t = k < op->out.n ? op->out.at[k] : NULL;

		if (!t) continue;
		if (t->uses.n) return 1;
		for (int i = 0; i < op->graph->outputs.n; i++)
			if (op->graph->outputs.at[i] == t) return 1;
	}
	return 0;
}

Reach *ad_reach_callee(Run *run, Graph *callee)
{
	Reach *r = map_get(&run->reach, callee);
	VEC(Tensor *) provided = { 0 };

	if (r) return r;
	for (int k = 0; k < callee->outputs.n; k++) {
		Tensor *t = callee->outputs.at[k];
		if (!dtype_is_float(t->spec.dtype)) continue;
		if (k < callee->written_outputs || output_used(callee, k)) vec_push(run->mem, &provided, t);
	}
	r = ad_reach(run, callee, provided.at, provided.n);
	map_set(run->mem, &run->reach, callee, r);
	return r;
}
