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

/* the condition of a where, say */
static int stops_at(const Op *op, int i) { return i < 32 && op_def(op)->stops >> i & 1; }

/* float8 has no gradients, but a refusal goes on through it: what it was made of has one */
static void mark(Run *run, Reach *r, Tensor *t, Op *refusal)
{
	if (!t || !(dtype_is_float(t->spec.dtype) || (refusal && dtype_is_f8(t->spec.dtype)))) return;
	map_set(run->mem, &r->leads, t, t);
	if (refusal && !map_has(&r->refuses, t)) map_set(run->mem, &r->refuses, t, refusal);
}

Op *ad_refusal(const Reach *r, const Tensor *t)
{
	return map_get(&r->refuses, t);
}

static int feeds(Run *run, const Graph *g, const Tensor *from, const Tensor *to)
{
	Map behind = { 0 };

	map_set(run->mem, &behind, from, (void *)from);
	for (int i = 0; i < g->ops.n; i++) {
		const Op *op = g->ops.at[i];
		int reads = 0;
		for (int k = 0; k < op->in.n; k++) reads |= op->in.at[k] && map_has(&behind, op->in.at[k]);
		for (int k = 0; reads && k < op->out.n; k++) map_set(run->mem, &behind, op->out.at[k], op->out.at[k]);
	}
	return map_has(&behind, to);
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

/* which input of which callee operand i of a call feeds; NULL: the condition of a branch */
static Graph *fed(const Op *op, int i, int *k)
{
	int n = op->callee[0]->inputs.n;

	*k = i;
	if (op->code != OP_conditional) return op->callee[0];
	*k = i > n ? i - 1 - n : i - 1;
	return i ? op->callee[i > n] : NULL;
}

static void mark_operands(Run *run, Reach *r, Op *op, Op *refusal)
{
	if (op->code == OP_repeat && !op_attr(op, "repeat_count")->i) {      /* values pass as they are */
		for (int i = 0; i < op->callee[0]->written_outputs; i++) mark(run, r, op->in.at[i], refusal);
		return;
	}
	for (int i = 0, k; i < op->in.n; i++) {
		Graph *c = op_is(op, CALLS) ? fed(op, i, &k) : NULL;
		if (c) mark_call_input(run, r, op, i, c, k, refusal);
		else if (!op_is(op, CALLS) && !stops_at(op, i)) mark(run, r, op->in.at[i], refusal);
	}
}

/* a call's float8 result through which a gradient is asked for, made of this input of callee c */
static Op *refused_float8(Run *run, const Reach *r, const Op *op, const Graph *c, const Tensor *input)
{
	for (int k = 0; k < op->out.n && k < c->outputs.n; k++) {
		const Tensor *t = op->out.at[k];
		if (dtype_is_f8(t->spec.dtype) && ad_refusal(r, t) && feeds(run, c, input, c->outputs.at[k])) return ad_refusal(r, t);
	}
	return NULL;
}

static void refuse_through_float8(Run *run, Reach *r, Op *op)
{
	for (int i = 0, k; i < op->in.n; i++) {
		Graph *c = fed(op, i, &k);
		Op *refusal = c ? refused_float8(run, r, op, c, c->inputs.at[k]) : NULL;
		if (refusal) mark(run, r, op->in.at[i], refusal);
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

		if (op_is(op, CALLS)) refuse_through_float8(run, r, op);
		for (int k = 0; k < op->out.n; k++) {
			if (!map_has(&r->leads, op->out.at[k]) || (op_is(op, CALLS) && dtype_is_f8(op->out.at[k]->spec.dtype))) continue;
			arrives = 1;
			if (!refusal) refusal = ad_refusal(r, op->out.at[k]);
		}
		if (!arrives || !ad_passes(op)) continue;
		if (!refusal && !op_is(op, CALLS) && (op_is(op, GRAD_ERROR) || !op_def(op)->grad)) refusal = op;
		mark_operands(run, r, op, refusal);
	}
	return r;
}

/* has op a result that gradients can come in at: that of a comparison has none */
static int gives_float(const Op *op)
{
	for (int k = 0; k < op->out.n; k++)
		if (dtype_is_float(op->out.at[k]->spec.dtype)) return 1;
	return 0;
}

/* the first op behind t that lets no gradient pass: why there is none */
Op *ad_dead_end(Run *run, const Graph *g, const Tensor *t)
{
	Map behind = { 0 };

	map_set(run->mem, &behind, t, (void *)t);
	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		int reads = 0, lets = 0;
		for (int k = 0; k < op->in.n; k++) {
			if (!op->in.at[k] || !map_has(&behind, op->in.at[k])) continue;
			reads = 1;
			lets |= ad_passes(op) && !stops_at(op, k) && gives_float(op);
		}
		if (!reads) continue;
		if (!lets) return op;
		for (int k = 0; k < op->out.n; k++)
			if (dtype_is_float(op->out.at[k]->spec.dtype)) map_set(run->mem, &behind, op->out.at[k], op->out.at[k]);
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
