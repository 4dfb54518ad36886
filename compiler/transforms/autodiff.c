/* autodiff.c — from a graph, the graph of its gradient.
 *
 * The gradient graph takes the gradients of the provided tensors, then the forward values it needs, and
 * gives one gradient per required tensor.  It is built by walking the forward ops backwards: when an op
 * is met, all users of its results have been met, so the gradients of its results are complete sums;
 * its rule (OpDef.grad) adds contributions to its operands.  Only operands that lead on to a required
 * tensor are served.  What the rules build and nothing uses is pruned; only then are the forward values
 * that are left made reachable (ad_fwd.c), so a gradient never keeps more of the forward graph alive
 * than it uses.  Nothing is added to the caller. */
#include "compiler/transforms/ad.h"

#include <string.h>

static const char prefix[] = "Gradient___";              /* R52, R236 */

Fwd *ad_state(Autodiff *ad, Tensor *t)
{
	Fwd *f = map_get(&ad->state, t);

	if (f) return f;
	f = NEW(ad->mem, Fwd);
	map_set(ad->mem, &ad->state, t, f);
	return f;
}

/* gradient ops stand where their forward op stands, on its ipu; ordering follows the request's context (R254) */
Build ad_build(Autodiff *ad, const Op *op)
{
	Build b = *ad->run->at;

	b.g = ad->gi->graph;
	b.scope = "";
	if (!op) return b;
	b.at = op->at;
	b.chain = op->chain;
	b.ipu = op->ipu;
	b.tiles = op->tiles;
	b.scope = op->scope;
	return b;
}

Build ad_beside(const Build *b, const Tensor *t)
{
	Build at = *b;
	int ipu = b->ir->placed ? tensor_ipu(t) : IPU_UNKNOWN;

	if (ipu == IPU_UNKNOWN) return at;
	at.ipu = ipu;
	at.tiles = tensor_tiles(t);
	return at;
}

/* g where b is: a call may have used a tensor on another IPU than the one that it is on, and so has its gradient */
static Tensor *brought(Build *b, Tensor *g)
{
	Build there = *b;

	if (!b->ir->placed || !g->def || tensor_ipu(g) == IPU_UNKNOWN) return g;
	there.tiles = tensor_tiles(g);
	if (tensor_ipu(g) != b->ipu)
		g = ir_op(&there, OP_ipu_copy, &g, 1, b_attrs(b, OP_ipu_copy, "destination", attr_int(b->ipu), NULL), NULL)->out.at[0];
	return (tensor_tiles(g) == TILES_IO) == (b->tiles == TILES_IO) ? g : b_op1(b, OP_io_tile_copy, g);
}

Spec ad_gradient_spec(const Tensor *t)
{
	return (Spec){ .dtype = t->spec.dtype, .shape = t->spec.shape };
}

static const char *grad_name(Autodiff *ad, const Tensor *t)
{
	return arena_printf(ad->mem, "%s%s", prefix, t->name);
}

static int is_gradient_name(const char *name)
{
	return !strncmp(name, prefix, sizeof prefix - 1);
}

/* a freshly computed tensor turns out to be the whole gradient of t: say so in its name */
static void rename_gradient(Autodiff *ad, Tensor *g, const Tensor *t)
{
	if (!g->def || g->graph != ad->gi->graph || is_gradient_name(g->name)) return;
	map_del(&g->graph->names, g->name);
	g->name = ir_name(g->graph, grad_name(ad, t));
}

/* the gradient of t, complete: the walk has passed all its users.  NULL: none came in */
static Tensor *total(Autodiff *ad, Build *at, Tensor *t)
{
	Fwd *f = ad_state(ad, t);
	Build b = ad_beside(at, t);

	if (f->sum || !f->parts.n) return f->sum;
	b.scope = "";                                    /* t's name has its scope already */
	for (int i = 0; i < f->parts.n; i++) f->parts.at[i] = brought(&b, f->parts.at[i]);
	if (f->parts.n == 1) rename_gradient(ad, f->sum = f->parts.at[0], t);
	else f->sum = ir_op(&b, OP_sum_n, f->parts.at, f->parts.n, NULL, grad_name(ad, t))->out.at[0];
	return f->sum;
}

/* --- what rules call (compiler/ops/grad.h) --------------------------------------------------------------- */

Tensor *grad_of(Grad *gr, Op *op, int out)
{
	Tensor *t = total(gr->ad, &gr->b, op->out.at[out]);
	Build b = ad_beside(&gr->b, op->out.at[out]);

	return t ? t : b_zeros(&b, op->out.at[out]->spec);
}

int grad_has(Grad *gr, Op *op, int out)
{
	return ad_state(gr->ad, op->out.at[out])->parts.n > 0;
}

Tensor *grad_fwd(Grad *gr, Tensor *fwd)
{
	return ad_value(gr->ad, &gr->b, fwd);
}

int grad_wanted(Grad *gr, Op *op, int in)
{
	return in < op->in.n && op->in.at[in] && ad_state(gr->ad, op->in.at[in])->wanted;
}

void grad_add(Grad *gr, Op *op, int in, Tensor *g)
{
	Tensor *t = in < op->in.n ? op->in.at[in] : NULL;

	if (!g || !grad_wanted(gr, op, in)) return;
	if (g->poison) {                                 /* a rule built something wrong: that was reported */
		gr->ad->failed = 1;
		return;
	}
	if (!shape_eq(g->spec.shape, t->spec.shape)) g = b_sum_to(&gr->b, g, t->spec.shape);
	g = b_cast(&gr->b, g, t->spec.dtype);
	vec_push(gr->ad->mem, &ad_state(gr->ad, t)->parts, g);
}

void grad_refuse(Grad *gr, Op *op, const char *why)
{
	Diags *ds = gr->b.ir->ds;
	Diag *d;

	gr->ad->failed = 1;
	d = diag(ds, E0504, op->at, "`%s` has no gradient: %s", op_said(op), why);
	diag_note(ds, d, gr->ad->run->at->at, "a gradient through it is needed for the differentiation of `%s`", gr->ad->fwd->id);
	diag_help(ds, d, (Span){ 0 }, "leave what lies behind it out of `grads_required`, or use `detach`");
}

/* --- checks ------------------------------------------------------------------------------------------------- */

static int modifies(const Op *op)
{
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && op_modifies(op, i)) return 1;
	return 0;
}

static int refuse_modifying(Run *run, Graph *g, Op *op)
{
	Diags *ds = g->ir->ds;
	const OpDef *def = op_def(op);
	Diag *d = diag(ds, E0502, op->at, "The graph %s contains a modifying op: `%s`", g->id, op_said(op));

	diag_label(ds, d, "this overwrites a value that gradients may need");
	diag_note(ds, d, run->at->at, "the graph is differentiated here");
	if (op->inplace && !(def->traits & ONLY_INPLACE))
		diag_help(ds, d, (Span){ 0 }, "use `%s`, which makes a new tensor", def->name);
	else diag_help(ds, d, (Span){ 0 }, "move the update out of the graph that is differentiated");
	return 0;
}

int ad_checks(Run *run, Graph *g)
{
	if (g == g->ir->main) {
		Diag *d = diag(g->ir->ds, E0501, run->at->at, "the main graph cannot be differentiated");
		diag_help(g->ir->ds, d, (Span){ 0 }, "put the forward pass into a graph of its own and call it");
		return 0;
	}
	for (int i = 0; i < g->ops.n; i++)
		if (modifies(g->ops.at[i])) return refuse_modifying(run, g, g->ops.at[i]);
	return 1;
}

/* the inputs whose gradient can be had, as the user would list them */
static const char *possible_inputs(Run *run, const Graph *g, const Reach *r)
{
	Buf b = buf_new(run->mem);

	for (int i = 0; i < g->inputs.n; i++) {
		const Tensor *t = g->inputs.at[i];
		if (map_has(&r->leads, t) && !ad_refusal(r, t)) buf_printf(&b, "%s`%s`", b.n ? ", " : "", t->name);
	}
	return b.n ? b.s : NULL;
}

static int unreached(Run *run, const Graph *g, const Reach *r, const Tensor *t)
{
	Diags *ds = g->ir->ds;
	const char *able = possible_inputs(run, g, r);
	const Op *end = dtype_is_float(t->spec.dtype) ? ad_dead_end(run, g, t) : NULL;
	Diag *d = diag(ds, E0503, run->at->at, "Unable to provide the required gradient of `%s`", t->name);

	if (!dtype_is_float(t->spec.dtype)) {
		diag_label(ds, d, "`%s` is %s: only floating-point tensors have gradients", t->name, dtype_info[t->spec.dtype].name);
	} else {
		diag_label(ds, d, "no path that gradients can take leads from `%s` to a provided output", t->name);
	}
	diag_note(ds, d, t->at, "`%s` is %s", t->name, spec_str(run->mem, t->spec.dtype, t->spec.shape));
	if (end) diag_note(ds, d, end->at, "`%s` lets no gradient pass", op_named(end));
	if (able) diag_help(ds, d, (Span){ 0 }, "leave it out of `grads_required`; gradients can be had for %s", able);
	else diag_help(ds, d, (Span){ 0 }, "leave it out of `grads_required`");
	return 0;
}

static int refused(Run *run, const Graph *g, const Tensor *t, const Op *op)
{
	Diags *ds = g->ir->ds;
	Diag *d = diag(ds, E0504, op->at, "`%s` has no gradient", op_said(op));

	diag_label(ds, d, "the gradient of `%s` would have to pass here", t->name);
	diag_note(ds, d, run->at->at, "required by differentiating `%s`", g->id);
	diag_help(ds, d, (Span){ 0 }, "leave `%s` out of `grads_required`, or use `detach` in front of `%s`", t->name, op_def(op)->name);
	return 0;
}

static int in_list(Tensor *const *list, int n, const Tensor *t)
{
	for (int i = 0; i < n; i++)
		if (list[i] == t) return 1;
	return 0;
}

static int bad_list(Run *run, Graph *g, Tensor *const *list, int n, const char *what)
{
	for (int i = 0; i < n; i++) {
		if (list[i]->graph == g) continue;
		diag(g->ir->ds, E0505, run->at->at, "`%s` in `%s` is not a tensor of graph `%s`", list[i]->name, what, g->id);
		return 1;
	}
	return 0;
}

static int check_request(Run *run, Graph *g, Tensor *const *req, int nreq, Tensor *const *prov, int nprov)
{
	if (bad_list(run, g, prov, nprov, "grads_provided") || bad_list(run, g, req, nreq, "grads_required")) return 0;
	if (!nreq) {
		diag(g->ir->ds, E0505, run->at->at, "no gradient is required of graph `%s`", g->id);
		return 0;
	}
	for (int i = 0; i < nprov; i++)
		if (!in_list(g->outputs.at, g->outputs.n, prov[i]))
			diag(g->ir->ds, W0502, run->at->at, "`%s` in `grads_provided` is not an output of graph `%s`", prov[i]->name, g->id);
	return 1;
}

static int check_required(Run *run, Graph *g, const Reach *r, Tensor *const *req, int n)
{
	int ok = 1;

	for (int i = 0; i < n; i++) {
		Op *op = ad_refusal(r, req[i]);
		if (op) ok &= refused(run, g, req[i], op);
		else if (!map_has(&r->leads, req[i]) && !(run->o->zeros && dtype_is_float(req[i]->spec.dtype)))
			ok &= unreached(run, g, r, req[i]);
	}
	return ok;
}

/* --- building ----------------------------------------------------------------------------------------------- */

/* mark what lies between required tensors and provided ones */
static void want(Autodiff *ad)
{
	for (int i = 0; i < ad->required.n; i++)
		if (map_has(&ad->reach->leads, ad->required.at[i])) ad_state(ad, ad->required.at[i])->wanted = 1;
	for (int i = 0; i < ad->fwd->ops.n; i++) {
		Op *op = ad->fwd->ops.at[i];
		int any = 0;

		for (int k = 0; k < op->in.n && !any; k++) any = op->in.at[k] && ad_state(ad, op->in.at[k])->wanted;
		if (!any || !ad_passes(op)) continue;
		for (int k = 0; k < op->out.n; k++)
			if (map_has(&ad->reach->leads, op->out.at[k]) && dtype_is_float(op->out.at[k]->spec.dtype)) ad_state(ad, op->out.at[k])->wanted = 1;
	}
}

static void make_provided_inputs(Autodiff *ad)
{
	for (int i = 0; i < ad->reach->provided.n; i++) {
		Tensor *t = ad->reach->provided.at[i];
		Build b = ad_build(ad, t->def);
		Expected e = { CONN_FWD_GRAD, t };
		Tensor *g;

		b.scope = "";
		g = ir_input(&b, ad_gradient_spec(t), grad_name(ad, t), 0);
		vec_push(ad->mem, &ad->gi->ins, e);
		if (dtype_is_float(t->spec.dtype)) vec_push(ad->mem, &ad_state(ad, t)->parts, g);
	}
	ad->nprovided = ad->reach->provided.n;
}

/* what faults of a rule's ops are called: they mean nothing to who reads the model */
static void name_after(const Grad *gr, const Op *op, int mark)
{
	const Graph *g = gr->b.g;
	const char *name = arena_printf(gr->b.ir->mem, "gradient of %s", op_said(op));

	for (int k = mark; k < g->ops.n; k++)
		if (!g->ops.at[k]->instead) g->ops.at[k]->instead = name;
}

static void op_grad(Autodiff *ad, Op *op)
{
	Grad gr = { ad_build(ad, op), ad };
	int arrives = 0, wanted = 0, mark = gr.b.g->ops.n;

	for (int i = 0; i < op->out.n; i++) arrives |= ad_state(ad, op->out.at[i])->parts.n > 0;
	for (int i = 0; i < op->in.n; i++) wanted |= grad_wanted(&gr, op, i);
	if (!arrives || !wanted || !ad_passes(op)) return;
	if (op_is(op, CALLS)) {
		ad_call_grad(&gr, op);
		return;
	}
	op_def(op)->grad(&gr, op);
	name_after(&gr, op, mark);
}

static int is_graph_output(const Graph *g, const Tensor *t)
{
	return in_list(g->outputs.at, g->outputs.n, t);
}

/* outputs are tensors of their own, named after what they are the gradient of */
static void make_output(Autodiff *ad, Tensor *t)
{
	Graph *g = ad->gi->graph;
	Build at = ad_build(ad, t->def), b = ad_beside(&at, t);
	Tensor *s = total(ad, &b, t);
	Expected e = { CONN_FWD_GRAD, t };
	const char *name = grad_name(ad, t);

	b.scope = "";
	if (!t->def) b.at = t->at;
	if (!s && ad->lenient) return;
	if (!s) {
		if (!ad->run->o->zeros) {
			ad->failed |= !unreached(ad->run, ad->fwd, ad->reach, t);
			return;
		}
		s = b_zeros(&b, t->spec);
		rename_gradient(ad, s, t);
	}
	if (!s->def || is_graph_output(g, s) || strncmp(s->name, name, strlen(name)))
		s = ir_op(&b, OP_identity, &s, 1, NULL, name)->out.at[0];
	ir_output(&b, s);
	vec_push(ad->mem, &ad->gi->outs, e);
}

static void warn_unused(Autodiff *ad)
{
	Graph *g = ad->gi->graph;

	for (int i = 0; i < ad->nprovided && !ad->lenient; i++) {
		Tensor *t = g->inputs.at[i];
		if (t->uses.n || is_graph_output(g, t)) continue;
		diag(g->ir->ds, W0501, ad->run->at->at, "the provided gradient of `%s` has no effect on the required ones", ad->gi->ins.at[i].fwd->name);
	}
}

static int uses_besides_calls(const Graph *g)
{
	for (int i = 0; i < g->calls.n; i++)
		if (g->calls.at[i]->code != OP_call) return 1;
	return 0;
}

GradInfo *ad_graph(Run *run, Graph *fwd, Reach *reach, Tensor *const *required, int n, int lenient)
{
	Autodiff ad = { .run = run, .mem = run->mem, .fwd = fwd, .reach = reach, .lenient = lenient };
	Ir *ir = fwd->ir;

	for (int i = 0; i < n; i++) vec_push(ad.mem, &ad.required, required[i]);
	ad.recompute = uses_besides_calls(fwd);
	ad.gi = NEW(ir->mem, GradInfo);
	ad.gi->fwd = fwd;
	want(&ad);
	if (!ad_callees(&ad)) return NULL;
	ad.gi->graph = ir_graph_with_id(ir, arena_printf(ir->mem, "%s_bwd", fwd->id));
	ad.gi->graph->at = run->at->at;
	ad.gi->graph->chain = run->at->chain;
	make_provided_inputs(&ad);
	for (int i = fwd->ops.n - 1; i >= 0 && !ad.failed; i--) op_grad(&ad, fwd->ops.at[i]);
	for (int i = 0; i < n && !ad.failed; i++) make_output(&ad, required[i]);
	if (ad.failed) return NULL;
	ad.gi->graph->written_outputs = ad.gi->graph->outputs.n;
	ad_prune(&ad);
	warn_unused(&ad);
	ad_stitch(&ad);
	map_set(run->mem, &run->done, fwd, ad.gi);
	return ad.gi;
}

static void publish(Run *run)
{
	const Map *given = run->o->called;

	if (!run->o->all) return;
	for (int i = 0; given && i < given->n; i++)
		if (given->at[i].key) map_set(run->mem, run->o->all, given->at[i].key, given->at[i].val);
	for (int i = 0; i < run->done.n; i++)
		if (run->done.at[i].key) map_set(run->mem, run->o->all, run->done.at[i].key, run->done.at[i].val);
}

GradInfo *autodiff(Build *at, Graph *fwd, const AutodiffOptions *o)
{
	Run run = { .at = at, .mem = at->ir->mem, .o = o };
	Tensor *const *prov = o->provided ? o->provided : fwd->outputs.at;
	Tensor *const *req = o->required ? o->required : fwd->inputs.at;
	int nprov = o->provided ? o->nprovided : fwd->written_outputs;
	int nreq = o->required ? o->nrequired : fwd->inputs.n;
	int clashes = at->ir->next_clash;        /* given back at the end: names that the user makes later must not depend on ours */
	Reach *reach;
	GradInfo *gi;

	if (!ad_checks(&run, fwd) || !check_request(&run, fwd, req, nreq, prov, nprov)) return NULL;
	reach = ad_reach(&run, fwd, prov, nprov);
	if (!check_required(&run, fwd, reach, req, nreq)) return NULL;
	gi = ad_graph(&run, fwd, reach, req, nreq, 0);
	at->ir->next_clash = clashes;
	if (gi) publish(&run);
	return gi;
}
