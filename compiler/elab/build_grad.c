/* build_grad.c — gradients that a module writes itself (addons.md section 8).
 *
 * While `build` runs, `aux[key] = value` keeps what the gradient will need.  `build_grad` runs once, in a graph of
 * its own, with one gradient per provided output.  There a plain aux value is itself, and a tensor becomes an input
 * of the gradient graph when it is first read; the forward graph gets it as an extra output, as autodiff would have
 * done it.  What build_grad returns are the gradients of the required inputs that are no variables, in order; those
 * of variables are set by name, `var_grad.weight = …`, and follow. */
#include "compiler/elab/eval.h"

#include <string.h>

/* one run of build_grad */
typedef struct Making {
	Named *named;
	GradInfo *gi;
	Map seen;                            /* aux Tensor * → input of the gradient graph */
	Map grads;                           /* graph input of a variable → its gradient */
} Making;

struct Handmade {
	Instance *in;
	Map *aux;                            /* interned key → Value * */
	Making *making;                      /* while build_grad runs, else NULL */
};

void hand_new(Elab *e, Instance *in)
{
	Handmade *h = NEW(e->mem, Handmade);
	*h = (Handmade){ .in = in, .aux = NEW(e->mem, Map) };
	in->hand = h;
	Value aux = v_of(V_AUX, h), grads = v_of(V_VAR_GRAD, h);
	map_set(e->mem, &in->fields, intern_str(e->names, "aux"), arena_dup(e->mem, &aux, sizeof aux));
	map_set(e->mem, &in->fields, intern_str(e->names, "var_grad"), arena_dup(e->mem, &grads, sizeof grads));
}

/* The field `inlined` of a module says whether that is an error (as without it), worth a warning, or all right: none. */
int hand_may_inline(Elab *e, const Instance *in, Span at)
{
	Value *v = map_get(&in->fields, intern_str(e->names, "inlined"));
	const char *how = "error";
	if (!in->hand || (v && !want_str(e, *v, at, "`inlined`", &how))) return !in->hand;
	if (!strcmp(how, "none")) return 1;
	int refuse = !strcmp(how, "error");
	if (!refuse && strcmp(how, "warning")) {
		fail(e, E0114, at, "`inlined` is \"error\", \"warning\" or \"none\"");
		return 0;
	}
	Diag *d = fail_diag(e, refuse ? E0510 : W0503, at, "`%s` writes its gradient by hand, which is lost where it is inlined", in->cls->name);
	diag_help(e->ds, d, (Span){ 0, 0, 0 }, "outline it with `CallModule`; or give it a field `inlined = \"none\"`");
	return !refuse;
}

Map *hand_take(Elab *e, Instance *in, Map *put_back)
{
	if (!in->hand) return NULL;
	Map *was = in->hand->aux;
	in->hand->aux = put_back ? put_back : NEW(e->mem, Map);
	return was;
}

/* --- aux and var_grad --------------------------------------------------------------------------------------------------- */
static const char *key_of(Elab *e, Value key, Span at)
{
	const char *s;
	if (key.kind == V_INT) return intern_str(e->names, arena_printf(e->mem, "%lld", (long long)key.u.i));
	return want_str(e, key, at, "a name", &s) ? intern_str(e->names, s) : NULL;
}

void aux_set(Elab *e, Handmade *h, Value key, Value v, Span at)
{
	const char *k = key_of(e, key, at);
	if (!k || is_error(v)) return;
	if (!h->in->building || h->making) fail(e, E0509, at, "`aux` is written while `build` of `%s` runs", h->in->cls->name);
	else map_set(e->mem, h->aux, k, arena_dup(e->mem, &v, sizeof v));
}

static Value unknown_aux(Elab *e, Handmade *h, const char *name, Span at)
{
	const char **known = NEWN(e->mem, const char *, h->aux->n + 1);
	int n = 0;
	for (int i = 0; i < h->aux->n; i++)
		if (h->aux->at[i].key) known[n++] = h->aux->at[i].key;
	return fail_unknown(e, E0105, at, "entry of `aux`:", name, known, n);
}

static Value as_input(Elab *e, Making *m, Tensor *t)
{
	Tensor *in = map_get(&m->seen, t);
	if (in) return v_of(V_TENSOR, in);
	in = ir_input(&e->b, t->spec, t->name, 0);
	Expected x = { CONN_FWD, t };
	vec_push(e->mem, &m->gi->ins, x);
	map_set(e->mem, &m->seen, t, in);
	return v_of(V_TENSOR, in);
}

Value aux_get(Elab *e, Handmade *h, Value key, Span at)
{
	const char *k = key_of(e, key, at);
	if (!k) return v_error();
	if (!h->making) return fail(e, E0509, at, "`aux` is read only while `build_grad` of `%s` runs", h->in->cls->name);
	Value *v = map_get(h->aux, k);
	if (!v) return unknown_aux(e, h, k, at);
	if (v->kind != V_TENSOR) return *v;
	if (e->b.g != h->making->gi->graph) return fail(e, E0509, at, "the tensor `aux.%s` is read in another graph than that of `build_grad`", k);
	return as_input(e, h->making, v->u.tensor);
}

static int same_shape(Elab *e, const Tensor *g, const Tensor *t, Span at, const char *what)
{
	int meta = g->spec.has_meta == t->spec.has_meta && (!g->spec.has_meta || shape_eq(g->spec.meta, t->spec.meta));
	if (meta && g->spec.dtype == t->spec.dtype && shape_eq(g->spec.shape, t->spec.shape)) return 1;
	Diag *d = fail_diag(e, E0509, at, "the gradient of %s does not fit it", what);
	diag_label(e->ds, d, "%s against %s", spec_str(e->mem, g->spec.dtype, g->spec.shape), spec_str(e->mem, t->spec.dtype, t->spec.shape));
	diag_note(e->ds, d, t->at, "`%s` is made here", t->name);
	return 0;
}

void var_grad_set(Elab *e, Handmade *h, Value key, Value v, Span at)
{
	const char *k = key_of(e, key, at);
	Tensor *g;
	if (!k || is_error(v)) return;
	if (!h->making) {
		fail(e, E0509, at, "`var_grad` is set only while `build_grad` of `%s` runs", h->in->cls->name);
		return;
	}
	Leaves l = tree_leaves(e, h->making->named->args);
	const char **known = NEWN(e->mem, const char *, l.at.n + 1);
	for (int i = 0; i < l.at.n; i++) {
		known[i] = l.at.at[i].name;
		if (strcmp(known[i], k)) continue;
		if (!want_tensor(e, v, at, arena_printf(e->mem, "`var_grad.%s`", k), &g) || !in_graph(e, g, at, "a gradient")) return;
		if (same_shape(e, g, l.at.at[i].v.u.tensor, at, arena_printf(e->mem, "`%s`", k))) map_set(e->mem, &h->making->grads, l.at.at[i].v.u.tensor, g);
		return;
	}
	fail_unknown(e, E0105, at, "variable", k, known, l.at.n);
}

/* --- running it ------------------------------------------------------------------------------------------------------------ */
static int position_of(Tensor *const *list, int n, const Tensor *t)
{
	for (int i = 0; i < n; i++)
		if (list[i] == t) return i;
	return -1;
}

/* A93: every one is of the graph's list, and none comes twice */
static int list_fits(Elab *e, Tensor *const *list, int n, Tensor *const *all, int nall, const char *what, Span at)
{
	for (int i = 0; i < n; i++) {
		if (position_of(all, nall, list[i]) < 0) fail(e, E0505, at, "`%s` in `%s` is not an %s of the graph", list[i]->name, what, !strcmp(what, "grads_provided") ? "output" : "input");
		else if (position_of(list, i, list[i]) >= 0) fail(e, E0505, at, "`%s` is in `%s` twice", list[i]->name, what);
		else continue;
		return 0;
	}
	return 1;
}

static int is_variable(Elab *e, const Named *n, const Tensor *t)
{
	Leaves l = tree_leaves(e, n->args);
	for (int i = 0; i < l.at.n; i++)
		if (l.at.at[i].v.kind == V_TENSOR && l.at.at[i].v.u.tensor == t) return 1;
	return 0;
}

/* A90: one positional parameter per provided gradient */
static int params_fit(Elab *e, const Instance *in, int n, Span at)
{
	const AstList *p = &in->cls->ast->u.module.build_grad->u.fn.params;
	int plain = 1;
	for (int i = 0; i < p->n; i++) plain &= p->at[i]->u.param.star == NO_STAR && !p->at[i]->u.param.init;
	if (plain && p->n == n) return 1;
	if (!plain) fail(e, E0509, at, "`%s.build_grad` takes one parameter per provided gradient, without defaults and stars", in->cls->name);
	else fail(e, E0509, at, "`%s.build_grad` takes %d gradient%s, %d are provided", in->cls->name, p->n, p->n == 1 ? "" : "s", n);
	return 0;
}

static void add_gradient(Elab *e, Making *m, Tensor *g, Tensor *t, Span at)
{
	Graph *into = m->gi->graph;
	const char *name = arena_printf(e->mem, "Gradient___%s", t->name);
	e->b.at = at;
	if (!g->def || position_of(into->outputs.at, into->outputs.n, g) >= 0 || strncmp(g->name, name, strlen(name)))
		g = ir_op(&e->b, OP_identity, &g, 1, NULL, name)->out.at[0];
	ir_output(&e->b, g);
	Expected x = { CONN_FWD_GRAD, t };
	vec_push(e->mem, &m->gi->outs, x);
}

/* what build_grad returned, for the required inputs that are no variables (A90, A92) */
static int inputs_served(Elab *e, Making *m, Value v, const AutodiffOptions *o, Span at)
{
	List got = { 0 };
	int k = 0, need = 0;
	if (is_error(v)) return 0;
	if (v.kind == V_TENSOR) list_push(e->mem, &got, v);
	else if (v.kind != V_NONE && !items_of(e, v, at, &got)) return 0;
	for (int i = 0; i < o->nrequired; i++) need += !is_variable(e, m->named, o->required[i]);
	if (got.n != need) {
		fail(e, E0509, at, "`build_grad` gives %d gradient%s for %d required inputs", got.n, got.n == 1 ? "" : "s", need);
		return 0;
	}
	for (int i = 0; i < o->nrequired; i++) {
		Tensor *t = o->required[i], *g;
		if (is_variable(e, m->named, t)) continue;
		if (!want_tensor(e, got.at[k++], at, "a result of `build_grad`", &g) || !in_graph(e, g, at, "a gradient")) return 0;
		if (!same_shape(e, g, t, at, arena_printf(e->mem, "`%s`", t->name))) return 0;
		add_gradient(e, m, g, t, at);
	}
	return 1;
}

static int variables_served(Elab *e, Making *m, const AutodiffOptions *o, Span at)
{
	for (int i = 0; i < o->nrequired; i++) {
		if (!is_variable(e, m->named, o->required[i])) continue;
		Tensor *g = map_get(&m->grads, o->required[i]);
		if (!g) {
			Diag *d = fail_diag(e, E0509, at, "`build_grad` gives no gradient of the variable `%s`", o->required[i]->name);
			diag_help(e->ds, d, (Span){ 0, 0, 0 }, "set it in `var_grad`, or leave it out of `grads_required`");
			return 0;
		}
		add_gradient(e, m, g, o->required[i], at);
	}
	return 1;
}

/* A94: whoever calls the forward graph gets all that was kept */
static void hand_on(Elab *e, const Named *n)
{
	(void)e;
	for (int i = 0; i < n->aux->n; i++) {
		const Value *v = n->aux->at[i].key ? n->aux->at[i].val : NULL;
		if (!v || v->kind != V_TENSOR || v->u.tensor->graph != n->graph || v->u.tensor->input_index >= 0) continue;
		if (position_of(n->graph->outputs.at, n->graph->outputs.n, v->u.tensor) < 0) ir_add_output(n->graph, v->u.tensor, "autodiff_output");
	}
}

static int run(Elab *e, Making *m, const AutodiffOptions *o, Span at)
{
	Instance *in = m->named->origin.u.inst;
	const Ast *b = in->cls->ast->u.module.build_grad;
	Fn f = { .name = arena_printf(e->mem, "%s.build_grad", in->cls->name), .params = &b->u.fn.params, .body = b->u.fn.body,
		.is_expr = b->u.fn.is_expr, .env = in->env, .self = in };
	Value *argv = NEWN(e->mem, Value, o->nprovided + 1);
	for (int i = 0; i < o->nprovided; i++) {
		Expected x = { CONN_FWD_GRAD, o->provided[i] };
		argv[i] = v_of(V_TENSOR, ir_input(&e->b, o->provided[i]->spec, arena_printf(e->mem, "Gradient___%s", o->provided[i]->name), 0));
		vec_push(e->mem, &m->gi->ins, x);
	}
	e->self = e->owner = in;
	int errors = e->ds->errors;
	Value v = call_bound(e, &f, argv, at);
	return e->ds->errors == errors && inputs_served(e, m, v, o, at) && variables_served(e, m, o, at);
}

GradInfo *hand_gradient(Elab *e, Named *n, const AutodiffOptions *given, Span at)
{
	AutodiffOptions o = *given;
	Graph *g = n->graph;
	Handmade *h = n->origin.u.inst->hand;
	if (!o.provided) o.provided = g->outputs.at, o.nprovided = g->written_outputs;
	if (!o.required) o.required = g->inputs.at, o.nrequired = g->inputs.n;
	if (!list_fits(e, o.provided, o.nprovided, g->outputs.at, g->outputs.n, "grads_provided", at)) return NULL;
	if (!list_fits(e, o.required, o.nrequired, g->inputs.at, g->inputs.n, "grads_required", at)) return NULL;
	if (!params_fit(e, h->in, o.nprovided, at)) return NULL;
	Making m = { .named = n, .gi = NEW(e->mem, GradInfo) }, *outer = h->making;
	Map *aux = h->aux;
	*m.gi = (GradInfo){ .fwd = g, .graph = ir_graph_with_id(e->b.ir, arena_printf(e->mem, "%s_bwd", g->id)) };
	m.gi->graph->at = at;
	m.gi->graph->chain = e->b.chain;
	Entered was = graph_enter(e, m.gi->graph);
	h->making = &m;
	h->aux = n->aux;
	int errors = e->ds->errors, ok = run(e, &m, &o, at);
	h->making = outer;
	h->aux = aux;
	graph_leave(e, &was);
	if (!ok || e->ds->errors != errors) return NULL;
	hand_on(e, n);
	return m.gi;
}
