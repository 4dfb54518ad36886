/* module.c — modules: fields in order, build inlined or outlined, variables named by the path of fields.
 *
 * An instance has two trees: factories of the variables that its build asks for, and the inputs that stand for
 * them in the graph.  A submodule's trees are nodes of its parent's, linked when the field is assigned (A55). */
#include "compiler/elab/eval.h"

#include <string.h>

/* --- making an instance --------------------------------------------------------------------------------------------------- */
static void link_child(Elab *e, Instance *in, const char *name, Instance *child, Span at)
{
	if (child->parent || child == in || child->building) return;
	for (const Instance *up = in; up; up = up->parent)
		if (up == child) return;
	child->parent = in;
	child->field = name;
	child->facts->linked = child->args->linked = 1;
	if (!tree_insert_name(e, in->facts, name, v_tree(child->facts), 1, at)) return;
	tree_insert_name(e, in->args, name, v_tree(child->args), 1, at);
}

static void link_value(Elab *e, Instance *in, const char *name, Value v, Span at)
{
	if (v.kind == V_INSTANCE) link_child(e, in, name, v.u.inst, at);
	if (!is_seq(v)) return;
	for (int i = 0; i < v.u.list->n; i++)
		if (v.u.list->at[i].kind == V_INSTANCE) link_child(e, in, arena_printf(e->mem, "%s.%d", name, i), v.u.list->at[i].u.inst, at);
}

void instance_assign(Elab *e, Instance *in, const char *name, Value v, Span at)
{
	Value *old = map_get(&in->fields, name);
	if (old) *old = v;
	else map_set(e->mem, &in->fields, name, arena_dup(e->mem, &v, sizeof v));
	link_value(e, in, name, v, at);
}

static Instance *instance_new(Elab *e, Class *cls)
{
	Instance *in = NEW(e->mem, Instance);
	in->cls = cls;
	in->facts = tree_new(e, TREE_FACTORIES);
	in->args = tree_new(e, TREE_TENSORS);
	in->env = env_new(e, cls->env);
	in->env->inst = in;
	Value self = v_of(V_INSTANCE, in);
	map_set(e->mem, &in->fields, intern_str(e->names, "self"), arena_dup(e->mem, &self, sizeof self));
	if (cls->ast->u.module.build_grad) hand_new(e, in);
	return in;
}

/* a module whose field `cache` is true builds one graph for the same arguments, and hands out copies of its names (A67) */
static int caches(Elab *e, const Instance *in)
{
	Value *v = map_get(&in->fields, intern_str(e->names, "cache"));
	return v && v->kind == V_BOOL && v->u.b;
}

Value instantiate(Elab *e, Class *cls, Args *args)
{
	Fn ctor = { .name = cls->name, .params = &cls->ast->u.module.params, .env = cls->env };
	Value *argv = bind_fn(e, &ctor, args);
	if (!argv || !enter(e, args->at)) return v_error();
	Instance *in = instance_new(e, cls);
	Frame *frame = NEW(e->mem, Frame);
	*frame = (Frame){ cls->name, args->at, e->b.chain, 0 };
	const Frame *chain = e->b.chain;
	int calls = e->calls, errors = e->ds->errors;
	e->b.chain = frame;
	for (int i = 0; i < ctor.params->n; i++) instance_assign(e, in, ctor.params->at[i]->u.param.name, argv[i], args->at);
	e->calls = calls + 1;
	Flow f = FLOW_NEXT;
	for (int i = 0; i < cls->ast->u.module.members.n && f == FLOW_NEXT; i++) f = exec(e, in->env, cls->ast->u.module.members.at[i]);
	e->calls = calls;
	e->b.chain = chain;
	leave(e);
	if (e->stop || e->ds->errors != errors) return v_error();
	if (cls->ast->u.module.build_grad && caches(e, in))
		return fail(e, E0438, args->at, "`%s` writes its gradient by hand, so its graphs cannot be cached", cls->name);
	return v_of(V_INSTANCE, in);
}

/* --- build ------------------------------------------------------------------------------------------------------------------ */
Fn *build_of(Elab *e, Instance *in)
{
	const Ast *b = in->cls->ast->u.module.build;
	if (!b) {
		fail(e, E0205, e->at, "module `%s` has no `build`", in->cls->name);
		return NULL;
	}
	Fn *f = NEW(e->mem, Fn);
	*f = (Fn){ arena_printf(e->mem, "%s.build", in->cls->name), &b->u.fn.params, b->u.fn.body, b->u.fn.is_expr, in->env, in };
	return f;
}

Value run_build(Elab *e, Instance *in, Value *argv, Span at)
{
	Fn *f = build_of(e, in);
	if (!f) return v_error();
	if (in->building) return fail(e, E0428, at, "`%s` is being built already: a module cannot contain itself", in->cls->name);
	Instance *was = e->self;
	e->self = in;
	in->building = 1;
	Value v = call_bound(e, f, argv, at);
	in->building = 0;
	e->self = was;
	return v;
}

/* called inside a graph: its ops are made right there, under a name scope of the field's name (A57) */
Value instance_call(Elab *e, Instance *in, Args *args)
{
	Fn *f = build_of(e, in);
	if (!f || !building(e, args->at, "a module is built") || !hand_may_inline(e, in, args->at)) return v_error();
	Value *argv = bind_fn(e, f, args);
	if (!argv) return v_error();
	const char *scope = e->b.scope;
	if (in->field) e->b.scope = scope && *scope ? arena_printf(e->mem, "%s/%s", scope, in->field) : in->field;
	Value v = run_build(e, in, argv, args->at);
	e->b.scope = scope;
	return v;
}

/* --- variables ---------------------------------------------------------------------------------------------------------------- */
static const Instance *root_of(const Instance *in)
{
	while (in->parent) in = in->parent;
	return in;
}

/* does the graph being built belong to `in`, directly or as the parent of its parents? */
static int belongs(const Elab *e, const Instance *in)
{
	if (!e->owner || e->b.g == e->b.ir->main) return 1;
	for (; in; in = in->parent)
		if (in == e->owner) return 1;
	return 0;
}

static const char *path_of(Elab *e, const Instance *in, const char *name)
{
	for (; in && in->parent; in = in->parent) name = arena_printf(e->mem, "%s.%s", in->field, name);
	return name;
}

/* an input of the graph being built; in the main graph, which has none, the variable itself, under its whole path */
static Tensor *module_input(Elab *e, const Instance *in, Factory *f, const char *name, Span at)
{
	const char *scope = e->b.scope;
	e->b.at = at;
	if (e->b.g != e->b.ir->main) return factory_input(e, f, name);
	e->b.scope = "";
	Tensor *t = factory_variable(e, f, path_of(e, in, name), at);
	e->b.scope = scope;
	return t;
}

Value add_param(Elab *e, Instance *in, const char *name, Factory *f, int overwrite, Span at)
{
	if (!belongs(e, in)) {
		const Instance *root = root_of(in);
		Diag *d = fail_diag(e, E0434, at, "`%s` is not a field of `%s`, so its variable `%s` would have no name", root->cls->name, e->owner->cls->name, name);
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "assign the module to a field, or outline it with `create_graph` and `add_variable_inputs`");
		return v_error();
	}
	const char *first = intern(e->names, name, strcspn(name, "."));
	if (!overwrite && tree_child(in->facts, first)) {
		Diag *d = fail_diag(e, E0431, at, "`%s` already has a variable `%s`", in->cls->name, first);
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "a submodule is called once in a build: keep its result, or outline it to share its variables");
		return v_error();
	}
	Tensor *t = module_input(e, in, f, name, at);
	if (!t || !tree_insert_name(e, in->facts, name, v_of(V_FACTORY, f), 1, at)) return v_error();
	tree_insert_name(e, in->args, name, v_of(V_TENSOR, t), 1, at);
	return v_of(V_TENSOR, t);
}

static Instance *running(Elab *e, const Call *c, const char *what)
{
	if (c->self.kind == V_INSTANCE) return c->self.u.inst;
	if (e->self && e->self->building) return e->self;
	fail(e, E0437, c->at, "`%s` outside the build of a module", what);
	return NULL;
}

static int flag(Elab *e, const Call *c, int i, const char *what, int *out)
{
	*out = 0;
	return !is_given(c->arg[i]) || want_bool(e, c->arg[i], c->at, what, out);
}

/* param(name, spec, initial value) */
static Value do_param(Elab *e, Call *c)
{
	const char *name;
	Spec s;
	int by_ref, over, state;
	Instance *in = running(e, c, "param");
	if (!in || !want_str(e, c->arg[0], c->at, "the name", &name) || !want_spec(e, c->arg[1], c->at, "the spec", &s)) return v_error();
	if (!flag(e, c, 3, "`by_ref`", &by_ref) || !flag(e, c, 4, "`overwrite`", &over) || !flag(e, c, 5, "`state`", &state)) return v_error();
	Value source = is_given(c->arg[2]) ? c->arg[2] : v_of(V_INIT, arena_dup(e->mem, &(RtInit){ .kind = INIT_ZEROS }, sizeof(RtInit)));
	Factory *f = factory_new(e, name, s, source, by_ref, 1, c->at);
	if (!f) return v_error();
	f->state = state;
	return add_param(e, in, name, f, over, c->at);
}

/* add_variable_input(name, data, dtype): PopXL's form, where the data says the shape */
static Value do_variable_input(Elab *e, Call *c)
{
	const char *name;
	DType t;
	int by_ref, over, state;
	Instance *in = running(e, c, "add_variable_input");
	if (!in || !want_str(e, c->arg[0], c->at, "the name", &name)) return v_error();
	if (!flag(e, c, 3, "`by_ref`", &by_ref) || !flag(e, c, 4, "`overwrite`", &over) || !flag(e, c, 5, "`state`", &state)) return v_error();
	Factory *f = factory_new(e, name, (Spec){ 0 }, c->arg[1], by_ref, 0, c->at);
	if (!f || (is_given(c->arg[2]) && !want_dtype(e, c->arg[2], c->at, "`dtype`", &t))) return v_error();
	if (is_given(c->arg[2])) f->spec.dtype = t;
	f->state = state;
	return add_param(e, in, name, f, over, c->at);
}

/* a factory that there is already (A53) */
static Value do_variable_factory(Elab *e, Call *c)
{
	const char *name = NULL;
	int over;
	Instance *in = running(e, c, "add_variable_factory");
	if (!in || !want_kind(e, c->arg[0], V_FACTORY, c->at, "the factory") || !flag(e, c, 2, "`overwrite`", &over)) return v_error();
	if (is_given(c->arg[1]) && !want_str(e, c->arg[1], c->at, "the name", &name)) return v_error();
	Factory *f = c->arg[0].u.factory;
	return add_param(e, in, name ? name : f->name, f, over, c->at);
}

static int numbered(Elab *e, Call *c, Value *factories)
{
	if (!is_seq(*factories)) return 1;
	Tree *t = tree_new(e, TREE_FACTORIES);
	for (int i = 0; i < factories->u.list->n; i++)
		if (!tree_insert_name(e, t, arena_printf(e->mem, "%d", i), factories->u.list->at[i], 0, c->at)) return 0;
	*factories = v_tree(t);
	return 1;
}

/* one fresh input per factory, all under `name` (A54); those of a list are numbered (A60) */
static Value do_variable_inputs(Elab *e, Call *c)
{
	int over;
	Instance *in = running(e, c, "add_variable_inputs");
	Value key = c->arg[0];
	if (!in || !numbered(e, c, &c->arg[1]) || !flag(e, c, 2, "`overwrite`", &over)) return v_error();
	Tree *given = want_tree(e, c->arg[1], c->at, "the factories");
	if (!given) return v_error();
	Tree *facts = tree_copy(e, given), *args = tree_new(e, TREE_TENSORS);
	Leaves l = tree_leaves(e, facts);
	if (!belongs(e, in)) return fail(e, E0434, c->at, "`%s` is not being built here", in->cls->name);
	if (!building(e, c->at, "inputs are made") || !tree_insert(e, in->facts, key, v_tree(facts), over, c->at)) return v_error();
	e->b.at = c->at;
	for (int i = 0; i < l.at.n; i++) {
		if (l.at.at[i].v.kind != V_FACTORY) return fail(e, E0206, c->at, "`%s` is %s, not a variable factory", l.at.at[i].name, v_describe(e, l.at.at[i].v));
		Factory *f = l.at.at[i].v.u.factory;
		const char *full = arena_printf(e->mem, "%s.%s", key.kind == V_STR ? key.u.str->s : v_text(e, key), l.at.at[i].name);
		Tensor *t = module_input(e, in, f, full, c->at);
		if (!t) return v_error();
		tree_insert_name(e, args, l.at.at[i].name, v_of(V_TENSOR, t), 1, c->at);
	}
	tree_insert(e, in->args, key, v_tree(args), 1, c->at);
	return v_tree(args);
}

/* --- outlining: (factories, named graph) ---------------------------------------------------------------------------------------- */
static void name_inputs(Elab *e, Graph *g, const Tree *args)
{
	Leaves l = tree_leaves(e, args);
	for (int i = 0; i < l.at.n; i++)
		if (l.at.at[i].v.kind == V_TENSOR && l.at.at[i].v.u.tensor->graph == g)
			map_set(e->mem, &g->args, l.at.at[i].v.u.tensor, (void *)(uintptr_t)intern_str(e->names, l.at.at[i].name));
}

static Value named_of(Elab *e, Graph *g, Tree *args, Value origin)
{
	Named *n = NEW(e->mem, Named);
	n->graph = g;
	n->args = args;
	n->origin = origin;
	return v_of(V_NAMED, n);
}

static Value pair_of(Elab *e, Value a, Value b)
{
	Value t = v_tuple(e->mem);
	list_push(e->mem, t.u.list, a);
	list_push(e->mem, t.u.list, b);
	return t;
}

/* What was recorded by an inlined use of the same module is put aside: the new graph has names of its own. */
Value outlined(Elab *e, Value fn, Args *args)
{
	if (fn.kind != V_INSTANCE) {
		Graph *g = graph_from(e, fn, args);
		return g ? pair_of(e, v_tree(tree_new(e, TREE_FACTORIES)), named_of(e, g, tree_new(e, TREE_TENSORS), fn)) : v_error();
	}
	Instance *in = fn.u.inst;
	if (in->building) return fail(e, E0428, args->at, "`%s` is being built already: a module cannot contain itself", in->cls->name);
	Tree *facts_was = tree_copy(e, in->facts), *args_was = tree_copy(e, in->args);
	in->grads = (Map){ 0 };
	tree_clear_leaves(in->facts);
	tree_clear_leaves(in->args);
	Map *aux_was = hand_take(e, in, NULL);
	Graph *g = graph_from(e, fn, args);
	Map *aux = hand_take(e, in, aux_was);
	Tree *facts = tree_copy(e, in->facts), *names = tree_copy(e, in->args);
	tree_clear_leaves(in->facts);
	tree_clear_leaves(in->args);
	tree_merge(e, in->facts, facts_was);
	tree_merge(e, in->args, args_was);
	if (!g) return v_error();
	name_inputs(e, g, names);
	Value named = named_of(e, g, names, fn);
	named.u.named->called = arena_dup(e->mem, &in->grads, sizeof in->grads);
	named.u.named->aux = aux;
	return pair_of(e, v_tree(facts), named);
}

Value create_graph(Elab *e, Value fn, Args *args)
{
	Instance *in = fn.kind == V_INSTANCE ? fn.u.inst : NULL;
	if (!in || !caches(e, in) || in->building) return outlined(e, fn, args);
	if (!in->cache) in->cache = NEW(e->mem, Cache);
	return cached_graph(e, in->cache, fn, args);
}

static Value do_create_graph(Elab *e, Call *c) { return create_graph(e, c->self, c->args); }

const Builtin instance_methods[] = {
	{ "create_graph", "*args **named", do_create_graph },
	{ "add_variable_input", "name data dtype? by_ref? overwrite? state?", do_variable_input },
	{ "add_variable_inputs", "name factories overwrite?", do_variable_inputs },
	{ "add_variable_factory", "factory name? overwrite?", do_variable_factory },
	{ "param", "name spec data? by_ref? overwrite? state?", do_param }, { NULL, NULL, NULL }
};

const Builtin module_builtins[] = {
	{ "param", "name spec data? by_ref? overwrite? state?", do_param },
	{ "add_variable_input", "name data dtype? by_ref? overwrite? state?", do_variable_input },
	{ "add_variable_inputs", "name factories overwrite?", do_variable_inputs },
	{ "add_variable_factory", "factory name? overwrite?", do_variable_factory }, { NULL, NULL, NULL }
};
