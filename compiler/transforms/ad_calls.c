/* ad_calls.c — gradients of call and conditional; those of repeat are in ad_loop.c.
 *
 * call         a call of the callee's gradient graph, which is built once and shared by all sites (R192)
 * conditional  a conditional on the same predicate; each branch calls its gradient graph and gives zeros
 *              for the other branch's inputs, paired by position (R195) */
#include "compiler/transforms/ad.h"

static int refuse_callee(Run *run, const Graph *callee, const Op *site)
{
	Diags *ds = callee->ir->ds;
	Diag *d = diag(ds, E0506, site->at, "graph `%s` is marked as unsafe to autodiff", callee->id);

	diag_label(ds, d, "its module writes its gradient by hand");
	diag_note(ds, d, run->at->at, "the graph that calls it is differentiated here");
	diag_help(ds, d, (Span){ 0 }, "give the callee's gradient information in `called_graphs_grad_info`");
	return 0;
}

GradInfo *ad_info_of(Run *run, Graph *callee)
{
	GradInfo *gi = run->o->called ? map_get(run->o->called, callee) : NULL;

	return gi ? gi : map_get(&run->done, callee);
}

/* differentiate one callee, asking for all that can be had (R252) */
static int need(Run *run, Graph *callee, const Op *site)
{
	VEC(Tensor *) required = { 0 };
	Reach *r;

	if (ad_info_of(run, callee)) return 1;
	if (callee->not_differentiable) return refuse_callee(run, callee, site);
	if (!ad_checks(run, callee)) return 0;
	r = ad_reach_callee(run, callee);
	for (int i = 0; i < callee->inputs.n; i++) {
		Tensor *t = callee->inputs.at[i];
		if (map_has(&r->leads, t) && !ad_refusal(r, t)) vec_push(run->mem, &required, t);
	}
	if (!required.n) return 1;
	return ad_graph(run, callee, r, required.at, required.n, 1) != NULL;
}

int ad_callees(Autodiff *ad)
{
	for (int i = 0; i < ad->fwd->ops.n; i++) {
		Op *op = ad->fwd->ops.at[i];
		int wanted = 0;

		if (!op_is(op, CALLS)) continue;
		for (int k = 0; k < op->out.n; k++) wanted |= ad_state(ad, op->out.at[k])->wanted;
		for (int k = 0; k < 2 && wanted; k++)
			if (op->callee[k] && !need(ad->run, op->callee[k], op)) return 0;
		if (wanted && op->code == OP_repeat) ad_keep_turns(ad, op);
	}
	return 1;
}

/* --- operands of a gradient graph's call ---------------------------------------------------------------- */

/* t: of the callee; its place is that of the gradient */
static Tensor *zeros_for(Site *s, const Tensor *t)
{
	Build b = ad_beside(&s->gr->b, t);

	return b_zeros(&b, t->spec);
}

static Tensor *incoming(Site *s, int k)
{
	if (s->dout) return s->dout[k] ? s->dout[k] : zeros_for(s, s->gi->fwd->outputs.at[k]);
	return grad_of(s->gr, s->op, k);
}

/* The nth of `total` provided gradients of t.  A tensor may be an output twice: gradients and outputs
 * pair in order, and the last takes what is left over. */
static Tensor *provided_grad(Site *s, const Tensor *t, int nth, int total)
{
	Graph *g = s->gi->fwd;
	Build b = ad_beside(&s->gr->b, t);
	Tensor *sum = NULL;

	for (int k = 0, seen = 0; k < g->outputs.n; k++) {
		if (g->outputs.at[k] != t) continue;
		if (seen == nth || (seen > nth && nth == total - 1)) {
			Tensor *x = incoming(s, k);
			sum = sum ? b_op2(&b, OP_add, sum, x) : x;
		}
		seen++;
	}
	return sum ? sum : zeros_for(s, t);
}

static Tensor *forward_value(Site *s, Tensor *t)
{
	Graph *g = s->gi->fwd;

	if (t->input_index >= 0) {
		if (s->value) return s->value[t->input_index];
		return grad_fwd(s->gr, s->op->in.at[s->first_in + t->input_index]);
	}
	for (int k = 0; k < g->outputs.n; k++) {
		if (g->outputs.at[k] != t) continue;
		if (!s->value) return grad_fwd(s->gr, s->op->out.at[k]);
		if (s->value[g->inputs.n + k]) return s->value[g->inputs.n + k];
	}
	s->gr->ad->failed = 1;
	grad_refuse(s->gr, s->op, "the gradient information given for what it calls needs a value the call does not have");
	return zeros_for(s, t);
}

Tensor **ad_operands(Site *s)
{
	GradInfo *gi = s->gi;
	Tensor **in = NEWN(s->gr->ad->mem, Tensor *, gi->ins.n + 1);

	for (int i = 0; i < gi->ins.n; i++) {
		Expected e = gi->ins.at[i];
		int nth = 0, total = 0;

		if (e.type == CONN_FWD) {
			in[i] = forward_value(s, e.fwd);
			continue;
		}
		for (int k = 0; k < gi->ins.n; k++) {
			int same = gi->ins.at[k].type == CONN_FWD_GRAD && gi->ins.at[k].fwd == e.fwd;
			total += same;
			nth += same && k < i;
		}
		in[i] = provided_grad(s, e.fwd, nth, total);
	}
	return in;
}

static void plain_call(Grad *gr, Op *op, GradInfo *gi)
{
	Site s = { gr, op, gi, 0, NULL, NULL };
	Tensor **in = ad_operands(&s);
	Op *call;

	if (gr->ad->failed) return;
	call = ir_call(&gr->b, OP_call, gi->graph, NULL, in, gi->ins.n, NULL);
	for (int j = 0; j < gi->outs.n; j++)
		if (gi->outs.at[j].fwd->input_index >= 0)
			grad_add(gr, op, gi->outs.at[j].fwd->input_index, call->out.at[j]);
}

/* --- conditional -------------------------------------------------------------------------------------------- */

/* Which operands of the conditional get a gradient: 1 for each, by either branch. */
static int served(const GradInfo *gi, const Graph *g, int input)
{
	for (int j = 0; gi && j < gi->outs.n; j++)
		if (gi->outs.at[j].fwd == g->inputs.at[input]) return 1;
	return 0;
}

/* a graph that calls gi's and gives gradients for every wanted operand of the conditional */
static Graph *branch_graph(Grad *gr, Op *op, int branch, GradInfo *const *gi)
{
	Graph *g = ir_graph_with_id(gr->b.ir, arena_printf(gr->b.ir->mem, "%s_branch", gi[branch] ? gi[branch]->graph->id : op->callee[branch]->id));
	Build b = gr->b;
	VEC(Tensor *) in = { 0 };
	Op *call = NULL;
	int n = op->callee[0]->inputs.n;

	b.g = g;
	g->at = op->at;
	for (int i = 0; gi[branch] && i < gi[branch]->graph->inputs.n; i++) {
		Tensor *t = gi[branch]->graph->inputs.at[i];
		vec_push(gr->ad->mem, &in, ir_input(&b, t->spec, t->name, 0));
	}
	if (gi[branch]) call = ir_call(&b, OP_call, gi[branch]->graph, NULL, in.at, in.n, NULL);
	for (int i = 1; i < op->in.n; i++) {
		int mine = (i > n) == branch, input = i > n ? i - 1 - n : i - 1;
		Tensor *out = NULL;

		if (!grad_wanted(gr, op, i) || !served(gi[i > n], op->callee[i > n], input)) continue;
		for (int j = 0; mine && j < gi[branch]->outs.n; j++)
			if (gi[branch]->outs.at[j].fwd->input_index == input) out = call->out.at[j];
		if (!out) {
			Build z = ad_beside(&b, op->in.at[i]);
			out = b_zeros(&z, op->in.at[i]->spec);
		}
		ir_output(&b, out);
	}
	g->written_outputs = g->outputs.n;
	return g;
}

static void conditional(Grad *gr, Op *op)
{
	GradInfo *gi[2] = { ad_info_of(gr->ad->run, op->callee[0]), ad_info_of(gr->ad->run, op->callee[1]) };
	int n = op->callee[0]->inputs.n, k = 0;
	VEC(Tensor *) in = { 0 };
	Graph *branch[2];
	Op *c;

	vec_push(gr->ad->mem, &in, grad_fwd(gr, op->in.at[0]));
	for (int side = 0; side < 2; side++) {
		Site s = { gr, op, gi[side], side ? 1 + n : 1, NULL, NULL };
		Tensor **x = gi[side] ? ad_operands(&s) : NULL;

		for (int i = 0; x && i < gi[side]->ins.n; i++) vec_push(gr->ad->mem, &in, x[i]);
	}
	if (gr->ad->failed) return;
	for (int side = 0; side < 2; side++) branch[side] = branch_graph(gr, op, side, gi);
	c = ir_call(&gr->b, OP_conditional, branch[0], branch[1], in.at, in.n, NULL);
	for (int i = 1; i < op->in.n; i++)
		if (grad_wanted(gr, op, i) && served(gi[i > n], op->callee[i > n], i > n ? i - 1 - n : i - 1))
			grad_add(gr, op, i, c->out.at[k++]);
}

void ad_call_grad(Grad *gr, Op *op)
{
	GradInfo *gi;

	if (op->code == OP_conditional) conditional(gr, op);
	else if (op->code == OP_repeat) ad_loop(gr, op);
	else if ((gi = ad_info_of(gr->ad->run, op->callee[0]))) plain_call(gr, op, gi);
}
