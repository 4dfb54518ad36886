/* gradinfo.c — from a gradient graph's record and its call sites to tensors of the caller (R232–R235). */
#include "compiler/ops/op.h"
#include "compiler/transforms/ad.h"

/* the calls must be plain ones of the right graph */
static int check_site(Build *at, const Op *call, const Graph *want, const char *role)
{
	const Graph *got = call->callee[0];
	Diag *d;

	if (call->code == OP_call && got == want) return 1;
	d = diag(at->ir->ds, E0507, at->at, "this is not a call of the %s graph `%s`", role, want->id);
	if (call->code != OP_call) diag_label(at->ir->ds, d, "it was made by `%s`, not by `call`", op_def(call)->name);
	else diag_label(at->ir->ds, d, "it calls `%s`", got->id);
	diag_note(at->ir->ds, d, call->at, "the call was made here");
	return 0;
}

Map ad_outputs(const Graph *g, Arena *mem)
{
	Map m = { 0 };

	for (int i = 0; i < g->outputs.n; i++)
		if (!map_has(&m, g->outputs.at[i])) map_set(mem, &m, g->outputs.at[i], &g->outputs.at[i]);
	return m;
}

Map *gradinfo_inputs_dict(Build *at, const GradInfo *gi, Op *call)
{
	Map *m = NEW(at->ir->mem, Map), outputs;

	if (!check_site(at, call, gi->fwd, "forward")) return NULL;
	outputs = ad_outputs(gi->fwd, at->ir->mem);
	for (int i = 0; i < gi->ins.n; i++) {
		Tensor *t = gi->ins.at[i].fwd;
		Tensor **out = t->input_index >= 0 ? NULL : map_get(&outputs, t);
		int k = out ? (int)(out - gi->fwd->outputs.at) : -1;

		if (gi->ins.at[i].type != CONN_FWD) continue;
		if (t->input_index < 0 && (k < 0 || k >= call->out.n)) {      /* A102 */
			Diag *d = diag(at->ir->ds, E0507, at->at, "the call has no value for `%s`, which the gradient graph needs", t->name);
			diag_note(at->ir->ds, d, call->at, "the call was made here");
			diag_help(at->ir->ds, d, (Span){ 0 }, "differentiate before calling");
			return NULL;
		}
		map_set(at->ir->mem, m, gi->graph->inputs.at[i], k < 0 ? call->in.at[t->input_index] : call->out.at[k]);
	}
	return m;
}

Map *gradinfo_fwd_graph_ins(Build *at, const GradInfo *gi, Op *grad_call)
{
	Map *m = NEW(at->ir->mem, Map);

	if (!check_site(at, grad_call, gi->graph, "gradient")) return NULL;
	for (int i = 0; i < gi->outs.n; i++)
		map_set(at->ir->mem, m, gi->outs.at[i].fwd, grad_call->out.at[i]);
	return m;
}

Map *gradinfo_fwd_parent_ins(Build *at, const GradInfo *gi, Op *fwd_call, Op *grad_call)
{
	Map *m = NEW(at->ir->mem, Map);

	if (!check_site(at, fwd_call, gi->fwd, "forward") || !check_site(at, grad_call, gi->graph, "gradient")) return NULL;
	for (int i = 0; i < gi->outs.n; i++) {
		Tensor *t = gi->outs.at[i].fwd;
		/* one parent tensor in two places: the later gradient wins (R235) */
		if (t->input_index >= 0) map_set(at->ir->mem, m, fwd_call->in.at[t->input_index], grad_call->out.at[i]);
	}
	return m;
}
