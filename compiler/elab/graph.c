/* graph.c — subgraphs: create_graph from functions and modules, inputs and outputs, questions about graphs. */
#include "compiler/elab/eval.h"

#include <string.h>

Value v_graph(Elab *e, Graph *g) { (void)e; return v_of(V_GRAPH, g); }

Entered graph_enter(Elab *e, Graph *g)
{
	Entered was = { e->b, e->self, e->owner };
	e->b.g = g;
	return was;
}

void graph_leave(Elab *e, const Entered *was)
{
	e->b = was->b;
	e->self = was->self;
	e->owner = was->owner;
}

Graph *want_graph(Elab *e, Value v, Span at, const char *what)
{
	if (v.kind == V_GRAPH) return v.u.graph;
	if (v.kind == V_NAMED) return v.u.named->graph;
	if (v.kind == V_BOUND) return v.u.bound->named->graph;
	if (v.kind == V_GRAD) return v.u.grad->graph;
	want_kind(e, v, V_GRAPH, at, what);
	return NULL;
}

/* --- arguments become inputs (R16–R24) -------------------------------------------------------------------------------------- */
static int is_input(Value v) { return v.kind == V_TENSOR || v.kind == V_SPEC; }

static Value input_of(Elab *e, Value v, const char *name, int by_ref)
{
	Spec s = v.kind == V_SPEC ? *v.u.spec : v.u.tensor->spec;
	return v_of(V_TENSOR, ir_input(&e->b, s, name, by_ref));
}

/* how many of the items are tensors; -1 after a diagnostic: all or none must be */
static int count_inputs(Elab *e, const List *l, const char *param, Span at)
{
	int n = 0;
	for (int i = 0; i < l->n; i++) n += is_input(l->at[i]);
	if (!n || n == l->n) return n;
	fail(e, E0435, at, "`%s` mixes tensors and other values", param);
	return -1;
}

static Value list_inputs(Elab *e, Value v, const char *param, int by_ref, Span at)
{
	int n = count_inputs(e, v.u.list, param, at);
	if (n < 0) return v_error();
	if (!n) return v;
	Value out = v.kind == V_LIST ? v_list(e->mem) : v_tuple(e->mem);
	for (int i = 0; i < v.u.list->n; i++)
		list_push(e->mem, out.u.list, input_of(e, v.u.list->at[i], arena_printf(e->mem, "%s_%d", param, i), by_ref));
	return out;
}

static Value named_inputs(Elab *e, Value v, const char *param, int by_ref, Span at)
{
	List vals = { 0 };
	DICT_EACH(v.u.dict, x) list_push(e->mem, &vals, x->val);
	int n = count_inputs(e, &vals, param, at);
	if (n <= 0) return n < 0 ? v_error() : v;
	Value out = v_dict(e->mem);
	DICT_EACH(v.u.dict, x)
		dict_set(e->mem, out.u.dict, dict_key(e->names, x->key), x->key, input_of(e, x->val, x->key.u.str->s, by_ref));
	return out;
}

static int make_inputs(Elab *e, const Fn *fn, Value *argv, Span at)
{
	for (int i = 0; i < fn->params->n; i++) {
		const Ast *p = fn->params->at[i];
		int by_ref = param_by_ref(p);
		if (is_input(argv[i])) argv[i] = input_of(e, argv[i], p->u.param.name, by_ref);
		else if (is_seq(argv[i])) argv[i] = list_inputs(e, argv[i], p->u.param.name, by_ref, at);
		else if (argv[i].kind == V_DICT && p->u.param.star == STAR_STAR) argv[i] = named_inputs(e, argv[i], p->u.param.name, by_ref, at);
		if (is_error(argv[i])) return 0;
	}
	return 1;
}

/* --- what the body returns becomes outputs (R25) ------------------------------------------------------------------------------ */
static int make_outputs(Elab *e, Value v, Span at)
{
	List items = { 0 };
	if (v.kind == V_NONE) return 1;
	if (v.kind == V_TENSOR) list_push(e->mem, &items, v);
	else if (is_seq(v)) {
		items = *v.u.list;
		e->b.g->form = v.kind == V_LIST ? RESULT_LIST : RESULT_TUPLE;
	} else {
		if (!is_error(v)) fail(e, E0427, at, "what builds a graph returns tensors, not %s", v_describe(e, v));
		return 0;
	}
	for (int i = 0; i < items.n; i++) {
		if (items.at[i].kind != V_TENSOR) {
			fail(e, E0427, at, "what builds a graph returns tensors; result %d is %s", i, v_describe(e, items.at[i]));
			return 0;
		}
		if (!in_graph(e, items.at[i].u.tensor, at, arena_printf(e->mem, "result %d", i))) return 0;
		ir_output(&e->b, items.at[i].u.tensor);
	}
	return 1;
}

static Fn *body_of(Elab *e, Value fn, Span at)
{
	if (fn.kind == V_FN) return fn.u.fn;
	if (fn.kind == V_INSTANCE) return build_of(e, fn.u.inst);
	if (fn.kind == V_CLASS) {
		Diag *d = fail_diag(e, E0206, at, "a graph is made from an instance of a module");
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "write `%s(...)` with its parameters", fn.u.cls->name);
	} else if (fn.kind == V_OPFN || fn.kind == V_BUILTIN) {
		Diag *d = fail_diag(e, E0206, at, "a graph is made from a function of the model or a module, not from %s", fn.kind == V_OPFN ? "an op" : "a built-in function");
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "`fn(x) = f(x)` is a function that calls it");
	} else fail(e, E0206, at, "a graph is made from a function or a module, not from %s", v_describe(e, fn));
	return NULL;
}

/* the built-in functions and ops have no body to run */
Graph *graph_from(Elab *e, Value fn, Args *args)
{
	if (!building(e, args->at, "a graph is made")) return NULL;
	Fn *f = body_of(e, fn, args->at);
	Value *argv = f ? bind_fn(e, f, args) : NULL;
	if (!argv) return NULL;
	Instance *in = fn.kind == V_INSTANCE ? fn.u.inst : NULL;
	e->b.at = args->at;
	Graph *g = ir_graph(e->b.ir, in ? in->cls->name : f->name ? f->name : "fn");
	g->at = args->at;
	g->chain = e->b.chain;
	if (in && in->cls->ast->u.module.build_grad) g->not_differentiable = 1;
	Entered was = graph_enter(e, g);
	int ok = make_inputs(e, f, argv, args->at);
	e->self = e->owner = in;
	if (in) in->core = g;
	Value v = !ok ? v_error() : in ? run_build(e, in, argv, args->at) : call_bound(e, f, argv, args->at);
	ok = !is_error(v) && make_outputs(e, v, args->at);
	graph_leave(e, &was);
	return ok ? g : NULL;
}

/* --- built-ins -------------------------------------------------------------------------------------------------------------- */
/* the arguments after the first, which names what is built */
static Args rest_of(const Call *c, int skip)
{
	Args a = *c->args;
	a.pos.at += skip < a.pos.n ? skip : a.pos.n;
	a.pos.n -= skip < a.pos.n ? skip : a.pos.n;
	return a;
}

static Value do_graph(Elab *e, Call *c)
{
	Args rest = rest_of(c, 1);
	if (!c->args->pos.n) return fail(e, E0203, c->at, "`graph` needs a function or a module");
	Graph *g = graph_from(e, c->args->pos.at[0].v, &rest);
	return g ? v_graph(e, g) : v_error();
}

static Value do_empty(Elab *e, Call *c)
{
	const char *name = "graph";
	if (!building(e, c->at, "a graph is made")) return v_error();
	if (is_given(c->arg[0]) && !want_str(e, c->arg[0], c->at, "`name`", &name)) return v_error();
	Graph *g = ir_graph(e->b.ir, name);
	g->at = c->at;
	return v_graph(e, g);
}

static Value do_input(Elab *e, Call *c)
{
	Spec s;
	const char *name = NULL;
	int by_ref = 0;
	if (!building(e, c->at, "an input is made") || !want_spec(e, c->arg[0], c->at, "the first argument of `graph_input`", &s)) return v_error();
	if (is_given(c->arg[1]) && !want_str(e, c->arg[1], c->at, "`name`", &name)) return v_error();
	if (is_given(c->arg[2]) && !want_bool(e, c->arg[2], c->at, "`by_ref`", &by_ref)) return v_error();
	if (is_given(c->arg[3])) s.has_meta = 1;
	if (s.has_meta && is_given(c->arg[3]) && !want_shape(e, c->arg[3], c->at, "`meta_shape`", &s.meta)) return v_error();
	if (e->b.g == e->b.ir->main) return fail(e, E0421, c->at, "the main graph has no inputs: use streams and variables");
	return v_of(V_TENSOR, ir_input(&e->b, s, name, by_ref));
}

static Value do_output(Elab *e, Call *c)
{
	Tensor *t;
	if (!want_tensor(e, c->arg[0], c->at, "the argument of `graph_output`", &t)) return v_error();
	ir_output(&e->b, t);
	return v_none();
}

static Value do_current(Elab *e, Call *c) { return building(e, c->at, "the current graph is asked for") ? v_graph(e, e->b.g) : v_error(); }
static Value do_main(Elab *e, Call *c)    { return building(e, c->at, "the main graph is asked for") ? v_graph(e, e->b.ir->main) : v_error(); }

const Builtin graph_builtins[] = {
	{ "graph", "*args **named", do_graph }, { "create_graph", "*args **named", do_graph },
	{ "create_empty_graph", "name?", do_empty }, { "graph_input", "spec name? by_ref? meta_shape?", do_input },
	{ "graph_output", "t", do_output }, { "current_graph", "", do_current }, { "main_graph", "", do_main },
	{ "get_current_graph", "", do_current }, { "gcg", "", do_current }, { "get_main_graph", "", do_main }, { "gmg", "", do_main }, { NULL, NULL, NULL }
};

/* --- questions ---------------------------------------------------------------------------------------------------------------- */
#define G(c) ((c)->self.u.graph)

static Value get_inputs(Elab *e, Call *c)  { return v_tensors(e->mem, G(c)->inputs.at, G(c)->inputs.n); }
static Value get_outputs(Elab *e, Call *c) { return v_tensors(e->mem, G(c)->outputs.at, G(c)->outputs.n); }
static Value get_id(Elab *e, Call *c)      { return v_cstr(e->mem, G(c)->id); }
static Value get_ir(Elab *e, Call *c)      { (void)e; return v_ir(G(c)->ir); }
static Value get_main(Elab *e, Call *c)    { return v_graph(e, G(c)->ir->main); }

static Value get_by_name(Elab *e, Call *c)
{
	Value d = v_dict(e->mem);
	for (int i = 0; i < G(c)->inputs.n; i++) {
		Tensor *t = G(c)->inputs.at[i];
		const char *slash = strrchr(t->name, '/');
		Value k = v_cstr(e->mem, slash ? slash + 1 : t->name);
		dict_set(e->mem, d.u.dict, dict_key(e->names, k), k, v_of(V_TENSOR, t));
	}
	return d;
}

/* all of a kind (-1: any), sorted by id (R38) */
static Value tensors_of(Elab *e, const Call *c, int kind)
{
	Value v = v_tuple(e->mem);
	List *l = v.u.list;
	for (int i = 0; i < G(c)->tensors.n; i++) {
		Tensor *t = G(c)->tensors.at[i];
		if (kind >= 0 && (int)t->kind != kind) continue;
		list_push(e->mem, l, v_of(V_TENSOR, t));
		for (int k = l->n - 1; k > 0 && strcmp(l->at[k].u.tensor->name, l->at[k - 1].u.tensor->name) < 0; k--) {
			Value x = l->at[k];
			l->at[k] = l->at[k - 1];
			l->at[k - 1] = x;
		}
	}
	return v;
}

static Value get_tensors(Elab *e, Call *c)   { return tensors_of(e, c, -1); }
static Value get_variables(Elab *e, Call *c) { return tensors_of(e, c, T_VARIABLE); }
static Value get_constants(Elab *e, Call *c) { return tensors_of(e, c, T_CONSTANT); }

static Value do_get_tensor(Elab *e, Call *c)
{
	const char *id;
	if (!want_str(e, c->arg[0], c->at, "the id", &id)) return v_error();
	Tensor *t = graph_find(G(c), id);
	return t ? v_of(V_TENSOR, t) : fail(e, E0105, c->at, "no tensor `%s` in %s", id, graph_title(G(c)));
}

static Value get_called(Elab *e, Call *c)
{
	Value v = v_list(e->mem);
	for (int i = 0; i < G(c)->ops.n; i++)
		for (int k = 0; k < 2; k++) {
			Value g = v_of(V_GRAPH, G(c)->ops.at[i]->callee[k]);
			if (g.u.graph && !eval_binary(e, AO_IN, g, v, c->at).u.b) list_push(e->mem, v.u.list, g);
		}
	return v;
}

static Value get_ops(Elab *e, Call *c)
{
	Value v = v_list(e->mem);
	for (int i = 0; i < G(c)->ops.n; i++) list_push(e->mem, v.u.list, v_of(V_OP, G(c)->ops.at[i]));
	return v;
}

static Value do_count(Elab *e, Call *c)
{
	const char *type;
	int n = 0;
	if (!want_str(e, c->arg[0], c->at, "the op's type", &type)) return v_error();
	for (int i = 0; i < G(c)->ops.n; i++) n += !strcmp(op_type_name(G(c)->ops.at[i]), type);
	return v_int(n);
}

static Value do_schedule(Elab *e, Call *c)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	print_schedule(G(c), &G(c)->args, &b);
	return v_str(e->mem, b.s, b.n);
}

/* hooks: a closure called with each op made from now on */
typedef struct HookFn { Elab *e; Value fn; Span at; } HookFn;
static void run_hook(void *user, Op *op)
{
	HookFn *h = user;
	Build was = h->e->b;
	call1(h->e, h->fn, v_of(V_OP, op), h->at);
	h->e->b = was;
}

static Value do_hook(Elab *e, Call *c)
{
	HookFn h = { e, c->arg[0], c->at };
	if (!want_kind(e, c->arg[0], V_FN, c->at, "a hook")) return v_error();
	return v_int(ir_add_hook(G(c), run_hook, arena_dup(e->mem, &h, sizeof h)));
}

static Value do_unhook(Elab *e, Call *c)
{
	int64_t h;
	if (!want_int(e, c->arg[0], c->at, "a handle", &h)) return v_error();
	if (h < 0 || h > INT32_MAX || !ir_remove_hook(G(c), (int)h)) return fail(e, E0114, c->at, "no hook has the handle %lld", (long long)h);
	return v_none();
}

const Builtin graph_methods[] = {
	{ "inputs", NULL, get_inputs }, { "outputs", NULL, get_outputs }, { "name", NULL, get_id }, { "id", NULL, get_id },
	{ "ir", NULL, get_ir }, { "main_graph", NULL, get_main },
	{ "inputs_by_name", NULL, get_by_name }, { "tensors", NULL, get_tensors }, { "variables", NULL, get_variables },
	{ "constants", NULL, get_constants }, { "get_tensor", "id", do_get_tensor }, { "called_graphs", NULL, get_called },
	{ "ops", NULL, get_ops }, { "count", "type", do_count }, { "print_schedule", "", do_schedule },
	{ "register_op_created_hook", "fn", do_hook }, { "remove_op_created_hook", "handle", do_unhook }, { NULL, NULL, NULL }
};

/* --- ops as values: for hooks and counting ---------------------------------------------------------------------------------------- */
#define O(c) ((c)->self.u.op)
static Value op_id(Elab *e, Call *c)      { (void)e; return v_int(O(c)->id); }
static Value op_type_of(Elab *e, Call *c) { return v_cstr(e->mem, op_type_name(O(c))); }
static Value op_context(Elab *e, Call *c)
{
	static const char *const names[EXEC_COUNT] = { "Normal", "WeightsFromHostFragment", "WeightsToHostFragment", "AccumulateOuterFragment" };
	return v_cstr(e->mem, names[O(c)->exec]);
}
static Value op_outs(Elab *e, Call *c)    { return v_tensors(e->mem, O(c)->out.at, O(c)->out.n); }
static Value op_ins(Elab *e, Call *c)
{
	Value v = v_tuple(e->mem);
	for (int i = 0; i < O(c)->in.n; i++)
		if (O(c)->in.at[i]) list_push(e->mem, v.u.list, v_of(V_TENSOR, O(c)->in.at[i]));
	return v;
}

/* ids of the ops that must run before this one, beyond those that make its inputs */
static Value op_after(Elab *e, Call *c)
{
	Value v = v_list(e->mem);
	for (int i = 0; i < O(c)->after.n; i++) list_push(e->mem, v.u.list, v_int(O(c)->after.at[i]->id));
	return v;
}

const Builtin op_methods[] = {
	{ "id", NULL, op_id }, { "type", NULL, op_type_of }, { "execution_context", NULL, op_context }, { "inputs", NULL, op_ins }, { "outputs", NULL, op_outs },
	{ "after", NULL, op_after }, { NULL, NULL, NULL }
};
