/* grad.c — autodiff from the language, and what a gradient's record answers (R214–R238, A79, A100–A107). */
#include "compiler/elab/eval.h"

#include <string.h>

Value map_to_dict(Elab *e, const Map *m)
{
	Value d = v_dict(e->mem);
	for (int i = 0; i < m->n; i++) {
		if (!m->at[i].key) continue;
		Value k = v_of(V_TENSOR, (void *)(uintptr_t)m->at[i].key);
		dict_set(e->mem, d.u.dict, dict_key(e->names, k), k, v_of(V_TENSOR, m->at[i].val));
	}
	return d;
}

static GradInfo *info_of(Elab *e, Value v, Span at)
{
	if (v.kind == V_GRAD) return v.u.grad;
	if (v.kind == V_NAMED && v.u.named->info) return v.u.named->info;
	fail(e, E0206, at, "a gradient's record is needed, not %s", v_describe(e, v));
	return NULL;
}

/* called_graphs_grad_info: graph → record */
static Map *called_map(Elab *e, Value v, Span at)
{
	Map *m = NEW(e->mem, Map);
	if (!want_kind(e, v, V_DICT, at, "`called_graphs_grad_info`")) return NULL;
	DICT_EACH(v.u.dict, x) {
		Graph *g = want_graph(e, x->key, at, "a key of `called_graphs_grad_info`");
		GradInfo *gi = g ? info_of(e, x->val, at) : NULL;
		if (!gi) return NULL;
		map_set(e->mem, m, g, gi);
	}
	return m;
}

Value records_of(Elab *e, const Map *m)
{
	Value d = v_dict(e->mem);
	for (int i = 0; m && i < m->n; i++) {
		if (!m->at[i].key) continue;
		Value k = v_graph(e, (Graph *)(uintptr_t)m->at[i].key);
		dict_set(e->mem, d.u.dict, dict_key(e->names, k), k, v_of(V_GRAD, m->at[i].val));
	}
	return d;
}

static int tensor_list(Elab *e, Call *c, int i, const char *what, Tensor *const **out, int *n)
{
	Tensor **ts;
	if (!is_given(c->arg[i])) return 1;
	if (!want_tensors(e, c->arg[i], c->at, what, &ts, n)) return 0;
	*out = ts;
	return 1;
}

static Value named_grad(Elab *e, GradInfo *gi)
{
	Named *n = NEW(e->mem, Named);
	n->graph = gi->graph;
	n->args = tree_new(e, TREE_TENSORS);
	n->info = gi;
	return v_of(V_NAMED, n);
}

/* a second application would differentiate what the first one added (A79) */
static int may_differentiate(Elab *e, Call *c, Named *n)
{
	int force = 0;
	if (is_given(c->arg[5]) && !want_bool(e, c->arg[5], c->at, "`force`", &force)) return 0;
	if (!n || !n->differentiated || force) return 1;
	Diag *d = fail_diag(e, E0428, c->at, "%s was differentiated already", graph_title(n->graph));
	diag_help(e->ds, d, (Span){ 0, 0, 0 }, "keep the first result, or say `force = true`");
	return 0;
}

static int has_build_grad(const Named *n)
{
	return n && n->origin.kind == V_INSTANCE && n->origin.u.inst->hand;
}

/* `by_hand`: the module's own gradient is what is wanted (A79) */
static int method_fits(Elab *e, Call *c, const Named *n, int *by_hand)
{
	const char *m = "auto";
	*by_hand = 0;
	if (is_given(c->arg[6]) && !want_str(e, c->arg[6], c->at, "`method`", &m)) return 0;
	if (!strcmp(m, "autodiff")) return 1;
	*by_hand = has_build_grad(n);
	if (!strcmp(m, "auto") || (*by_hand && !strcmp(m, "build_grad"))) return 1;
	if (!strcmp(m, "build_grad")) fail(e, E0509, c->at, "`method` is \"build_grad\", but no module with a `build_grad` made the graph");
	else fail(e, E0114, c->at, "`method` is \"auto\", \"autodiff\" or \"build_grad\"");
	return 0;
}

/* what was registered while the graph was built; what the call gives wins (A63) */
static Map *registered(Elab *e, const Named *n, Map *given)
{
	if (!n || !n->called || !n->called->n) return given;
	Map *m = given ? given : NEW(e->mem, Map);
	for (int i = 0; i < n->called->n; i++)
		if (n->called->at[i].key && !map_has(m, n->called->at[i].key)) map_set(e->mem, m, n->called->at[i].key, n->called->at[i].val);
	return m;
}

static int options(Elab *e, Call *c, AutodiffOptions *o, int *return_all)
{
	*return_all = 0;
	if (!tensor_list(e, c, 1, "`grads_provided`", &o->provided, &o->nprovided)) return 0;
	if (!tensor_list(e, c, 2, "`grads_required`", &o->required, &o->nrequired)) return 0;
	Map *called = NULL;
	if (is_given(c->arg[3]) && !(called = called_map(e, c->arg[3], c->at))) return 0;
	o->called = registered(e, c->arg[0].kind == V_NAMED ? c->arg[0].u.named : NULL, called);
	if (is_given(c->arg[4]) && !want_bool(e, c->arg[4], c->at, "`return_all_grad_graphs`", return_all)) return 0;
	if (*return_all) o->all = NEW(e->mem, Map);
	return 1;
}

static Value do_autodiff(Elab *e, Call *c)
{
	Named *n = c->arg[0].kind == V_NAMED ? c->arg[0].u.named : NULL;
	AutodiffOptions o = { .zeros = n != NULL };
	int all, by_hand;
	Graph *g = building(e, c->at, "a graph is differentiated") ? want_graph(e, c->arg[0], c->at, "the argument of `autodiff`") : NULL;
	if (!g || !may_differentiate(e, c, n) || !options(e, c, &o, &all) || !method_fits(e, c, n, &by_hand)) return v_error();
	e->b.at = c->at;
	int errors = e->ds->errors;
	GradInfo *gi = by_hand ? hand_gradient(e, n, &o, c->at) : autodiff(&e->b, g, &o);
	if (!gi || e->ds->errors != errors) return v_error();
	if (n) n->differentiated = 1;
	if (all && by_hand) map_set(e->mem, o.all, g, gi);
	if (all) return records_of(e, o.all);
	return n ? named_grad(e, gi) : v_of(V_GRAD, gi);
}

/* register_grad(graph, gradient): the differentiation of what is being built, and of all that contains it, uses this
 * record for calls of the graph; a module's own word wins over its submodules' (A62, A63) */
static Value do_register(Elab *e, Call *c)
{
	Graph *g = want_graph(e, c->arg[0], c->at, "the first argument of `register_grad`");
	GradInfo *gi = g ? info_of(e, c->arg[1], c->at) : NULL;
	const Map *inner = c->arg[0].kind == V_NAMED ? c->arg[0].u.named->called : NULL;
	if (!gi) return v_error();
	if (!e->self) return fail(e, E0437, c->at, "`register_grad` works inside a module's `build`");
	for (Instance *in = e->self; in; in = in->parent) {
		if (in == e->self || !map_has(&in->grads, g)) map_set(e->mem, &in->grads, g, gi);
		for (int i = 0; inner && i < inner->n; i++)
			if (inner->at[i].key && !map_has(&in->grads, inner->at[i].key)) map_set(e->mem, &in->grads, inner->at[i].key, inner->at[i].val);
	}
	return v_none();
}

/* R257: gives the graph back */
static Value do_decompose(Elab *e, Call *c)
{
	Graph *g = building(e, c->at, "a graph is transformed") ? want_graph(e, c->arg[0], c->at, "the argument of `decompose_sum`") : NULL;
	if (!g) return v_error();
	if (g->ir != e->b.ir) return fail(e, E0428, c->at, "%s belongs to another program", graph_title(g));
	e->b.at = c->at;
	decompose_sum(&e->b, g);
	return c->arg[0];
}

const Builtin grad_builtins[] = {
	{ "autodiff", "graph grads_provided? grads_required? called_graphs_grad_info? return_all_grad_graphs? force? method?", do_autodiff },
	{ "register_grad", "graph gradient", do_register }, { "decompose_sum", "graph", do_decompose }, { NULL, NULL, NULL }
};

/* --- the record --------------------------------------------------------------------------------------------------------------- */
#define I(c) ((c)->self.u.grad)

static Op *record(Elab *e, Call *c, int i, const char *what)
{
	return want_kind(e, c->arg[i], V_CALL, c->at, what) ? c->arg[i].u.op : NULL;
}

static Value as_dict(Elab *e, Map *m) { return m ? map_to_dict(e, m) : v_error(); }

static Value do_inputs_dict(Elab *e, Call *c)
{
	Op *fwd = record(e, c, 0, "the forward call");
	e->b.at = c->at;
	return fwd ? as_dict(e, gradinfo_inputs_dict(&e->b, I(c), fwd)) : v_error();
}

static Value do_graph_ins(Elab *e, Call *c)
{
	Op *bwd = record(e, c, 0, "the gradient's call");
	e->b.at = c->at;
	return bwd ? as_dict(e, gradinfo_fwd_graph_ins(&e->b, I(c), bwd)) : v_error();
}

static Value do_parent_ins(Elab *e, Call *c)
{
	Op *fwd = record(e, c, 0, "the forward call"), *bwd = fwd ? record(e, c, 1, "the gradient's call") : NULL;
	e->b.at = c->at;
	return bwd ? as_dict(e, gradinfo_fwd_parent_ins(&e->b, I(c), fwd, bwd)) : v_error();
}

static Value get_graph(Elab *e, Call *c)   { return v_graph(e, I(c)->graph); }
static Value get_forward(Elab *e, Call *c) { return v_graph(e, I(c)->fwd); }

static Value connections(Elab *e, Expected *at, int n, int tensors)
{
	Value t = v_tuple(e->mem);
	for (int i = 0; i < n; i++) list_push(e->mem, t.u.list, tensors ? v_of(V_TENSOR, at[i].fwd) : v_of(V_EXPECTED, &at[i]));
	return t;
}

static Value get_ins(Elab *e, Call *c)      { return connections(e, I(c)->ins.at, I(c)->ins.n, 0); }
static Value get_outs(Elab *e, Call *c)     { return connections(e, I(c)->outs.at, I(c)->outs.n, 0); }
static Value get_inputs(Elab *e, Call *c)   { return connections(e, I(c)->ins.at, I(c)->ins.n, 1); }
static Value get_outputs(Elab *e, Call *c)  { return connections(e, I(c)->outs.at, I(c)->outs.n, 1); }

const Builtin grad_methods[] = {
	{ "graph", NULL, get_graph }, { "forward_graph", NULL, get_forward }, { "expected_inputs", NULL, get_ins },
	{ "expected_outputs", NULL, get_outs }, { "inputs", NULL, get_inputs }, { "outputs", NULL, get_outputs },
	{ "inputs_dict", "fwd_call", do_inputs_dict }, { "fwd_graph_ins_to_grad_parent_outs", "grad_call", do_graph_ins },
	{ "fwd_parent_ins_to_grad_parent_outs", "fwd_call grad_call", do_parent_ins }, { NULL, NULL, NULL }
};

static Value get_type(Elab *e, Call *c)   { return v_cstr(e->mem, c->self.u.expected->type == CONN_FWD ? "Fwd" : "FwdGrad"); }
static Value get_tensor(Elab *e, Call *c) { (void)e; return v_of(V_TENSOR, c->self.u.expected->fwd); }

const Builtin expected_methods[] = {
	{ "connection_type", NULL, get_type }, { "fwd_tensor", NULL, get_tensor }, { NULL, NULL, NULL }
};
