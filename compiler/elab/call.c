/* call.c — calling things: binding arguments to parameters, defaults and types, closures, the chain of frames. */
#include "compiler/elab/eval.h"

#include <string.h>

void args_add(Elab *e, Args *args, const char *name, Value v, Span at)
{
	Arg a = { name ? intern_str(e->names, name) : NULL, v, at };
	if (name) vec_push(e->mem, &args->named, a);
	else vec_push(e->mem, &args->pos, a);
}

Value call1(Elab *e, Value fn, Value x, Span at)
{
	Args args = { 0 };
	args.at = at;
	args_add(e, &args, NULL, x, at);
	return call_value(e, fn, &args);
}

/* --- binding ---------------------------------------------------------------------------------------------------------- */
static void note_decl(Elab *e, Diag *d, const Params *p)
{
	if (p->decl.src) diag_note(e->ds, d, p->decl, "%s is declared here", p->what);
}

static int bind_positional(Elab *e, const Params *p, Args *args, Value *out)
{
	int i = 0, k = 0;
	for (; i < p->n && k < args->pos.n && p->at[i].star == NO_STAR; i++) out[i] = args->pos.at[k++].v;
	for (; i < p->n && p->at[i].star != STAR; i++) { }
	if (i < p->n) {
		out[i] = v_tuple(e->mem);
		while (k < args->pos.n) list_push(e->mem, out[i].u.list, args->pos.at[k++].v);
	}
	if (k == args->pos.n) return 1;
	Diag *d = fail_diag(e, E0201, args->pos.at[k].at, "%s takes %d positional argument%s, %d given", p->what, k, k == 1 ? "" : "s", args->pos.n);
	note_decl(e, d, p);
	return 0;
}

static int param_index(const Params *p, const char *name)
{
	for (int i = 0; i < p->n; i++)
		if (p->at[i].star == NO_STAR && p->at[i].name == name) return i;
	return -1;
}

static int unknown_keyword(Elab *e, const Params *p, const Arg *a)
{
	const char **known = NEWN(e->mem, const char *, p->n + 1);
	for (int i = 0; i < p->n; i++) known[i] = p->at[i].name;
	Diag *d = fail_diag(e, E0202, a->at, "%s has no parameter `%s`", p->what, a->name);
	const char *near = nearest(a->name, known, p->n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	note_decl(e, d, p);
	return 0;
}

static int bind_named(Elab *e, const Params *p, Args *args, Value *out)
{
	int rest = -1, ok = 1;
	for (int i = 0; i < p->n; i++)
		if (p->at[i].star == STAR_STAR) rest = i;
	if (rest >= 0) out[rest] = v_dict(e->mem);
	for (int k = 0; k < args->named.n; k++) {
		const Arg *a = &args->named.at[k];
		int i = param_index(p, a->name);
		if (i < 0 && rest >= 0) {
			Value key = v_cstr(e->mem, a->name);
			dict_set(e->mem, out[rest].u.dict, dict_key(e->names, key), key, a->v);
		} else if (i < 0) ok = unknown_keyword(e, p, a);
		else if (out[i].kind != V_UNSET) {
			fail(e, E0204, a->at, "%s gets `%s` twice", p->what, a->name);
			ok = 0;
		} else out[i] = a->v;
	}
	return ok;
}

int bind_args(Elab *e, const Params *p, Args *args, Value *out)
{
	for (int i = 0; i < p->n; i++) out[i] = v_unset();
	if (!bind_positional(e, p, args, out) || !bind_named(e, p, args, out)) return 0;
	for (int i = 0; i < p->n; i++) {
		if (out[i].kind != V_UNSET || p->at[i].optional || p->at[i].star) continue;
		Diag *d = fail_diag(e, E0203, args->at, "%s needs an argument for `%s`", p->what, p->at[i].name);
		note_decl(e, d, p);
		return 0;
	}
	return 1;
}

/* --- functions of the model --------------------------------------------------------------------------------------------- */
typedef struct TypeName { const char *name; VKind kinds[6]; } TypeName;
static const TypeName type_names[] = {
	{ "int", { V_INT } }, { "float", { V_FLOAT } }, { "bool", { V_BOOL } }, { "str", { V_STR } },
	{ "list", { V_LIST, V_TUPLE } }, { "tuple", { V_TUPLE, V_LIST } }, { "dict", { V_DICT, V_TREE } },
	{ "fn", { V_FN, V_BUILTIN, V_OPFN, V_METHOD, V_CLASS, V_INSTANCE } }, { "tensor", { V_TENSOR, V_SPEC } },
	{ "spec", { V_SPEC, V_TENSOR } }, { "dtype", { V_DTYPE } }, { "array", { V_ARRAY } },
	{ "graph", { V_GRAPH, V_NAMED, V_BOUND } }, { "module", { V_INSTANCE, V_CLASS } }, { "tree", { V_TREE } },
	{ "ref", { V_UNSET } }, { "any", { V_UNSET } },
};

static const TypeName *type_find(const Ast *type)
{
	for (size_t i = 0; type->kind == A_NAME && i < sizeof type_names / sizeof *type_names; i++)
		if (!strcmp(type->u.name, type_names[i].name)) return &type_names[i];
	return NULL;
}

int param_by_ref(const Ast *param)
{
	const Ast *t = param->u.param.type;
	return t && t->kind == A_NAME && !strcmp(t->u.name, "ref");
}

static int unknown_type(Elab *e, const Ast *type)
{
	const char *known[sizeof type_names / sizeof *type_names];
	int n = (int)(sizeof type_names / sizeof *type_names);
	for (int i = 0; i < n; i++) known[i] = type_names[i].name;
	if (type->kind == A_NAME) fail_unknown(e, E0207, type->at, "parameter type", type->u.name, known, n);
	else fail(e, E0207, type->at, "a parameter's type is a name");
	return 0;
}

/* none always passes: it is how a parameter says "not given" */
static int check_kind(Elab *e, const char *what, const Ast *param, const TypeName *t, Value *v, Span at)
{
	if (v->kind == V_NONE || t->kinds[0] == V_UNSET) return 1;
	if (v->kind == V_INT && t->kinds[0] == V_FLOAT) *v = v_float((double)v->u.i);
	if (v->kind == V_DICT && t->kinds[0] == V_TREE) {
		Tree *made = want_tree(e, *v, at, what);
		if (!made) return 0;
		*v = v_tree(made);
	}
	for (size_t i = 0; i < sizeof t->kinds / sizeof *t->kinds && t->kinds[i] != V_ERROR; i++)
		if (v->kind == t->kinds[i]) return 1;
	Diag *d = fail_diag(e, E0206, at, "`%s` of %s must be %s %s, not %s", param->u.param.name, what,
	                    strchr("aeiou", t->name[0]) ? "an" : "a", t->name, v_describe(e, *v));
	diag_note(e->ds, d, param->at, "the parameter is declared here");
	return 0;
}

/* the type of `*rest` and `**named` is that of each of their items */
static int check_type(Elab *e, const char *what, const Ast *param, Value *v, Span at)
{
	const Ast *type = param->u.param.type;
	if (!type) return 1;
	const TypeName *t = type_find(type);
	if (!t) return unknown_type(e, type);
	int ok = 1;
	if (param->u.param.star == NO_STAR) return check_kind(e, what, param, t, v, at);
	if (v->kind == V_TUPLE)
		for (int i = 0; i < v->u.list->n; i++) ok &= check_kind(e, what, param, t, &v->u.list->at[i], at);
	else DICT_EACH(v->u.dict, x) ok &= check_kind(e, what, param, t, &x->val, at);
	return ok;
}

static Params params_of(Elab *e, const char *name, const AstList *list)
{
	Params p = { .what = arena_printf(e->mem, "`%s`", name ? name : "fn"), .n = list->n };
	p.at = NEWN(e->mem, ParamInfo, list->n + 1);
	for (int i = 0; i < list->n; i++) {
		const Ast *a = list->at[i];
		p.at[i] = (ParamInfo){ a->u.param.name, a->u.param.star, a->u.param.init != NULL };
	}
	if (list->n) p.decl = span_join(list->at[0]->at, list->at[list->n - 1]->at);
	return p;
}

Value *bind_fn(Elab *e, const Fn *fn, Args *args)
{
	Params p = params_of(e, fn->name, fn->params);
	Value *out = NEWN(e->mem, Value, p.n + 1);
	if (!bind_args(e, &p, args, out)) return NULL;
	Env *env = env_new(e, fn->env);          /* a default may name the parameters before it */
	for (int i = 0; i < p.n; i++) {
		const Ast *a = fn->params->at[i];
		if (out[i].kind == V_UNSET) out[i] = eval(e, env, a->u.param.init);
		if (is_error(out[i]) || !check_type(e, p.what, a, &out[i], args->at)) return NULL;
		map_set(e->mem, &env->vars, p.at[i].name, &out[i]);
	}
	return out;
}

static int open_within(Elab *e, Contexts *cs, const Within *w, Span at)
{
	return !w || (open_within(e, cs, w->outer, at) && context_open(e, cs, w->c, at));
}

static const Within *within_outside(Elab *e, const Within *in, const Within *w)
{
	Within x = { in->c, in->outer ? within_outside(e, in->outer, w) : arena_dup(e->mem, w, sizeof *w) };
	return arena_dup(e->mem, &x, sizeof x);
}

/* in_sequence()(f): f with its body under the context (R204) */
static Value fn_within(Elab *e, const Context *c, Args *args)
{
	Value f = args->pos.n == 1 && !args->named.n ? args->pos.at[0].v : v_unset();
	if (!want_kind(e, f, V_FN, args->at, "what a context is put around")) return v_error();
	Fn *fn = arena_dup(e->mem, f.u.fn, sizeof *fn);
	const Within *in = f.u.fn->within;       /* what it has already stays inside */
	Within w = { c, NULL };
	fn->within = in ? within_outside(e, in, &w) : arena_dup(e->mem, &w, sizeof w);
	return v_of(V_FN, fn);
}

static Value run_body(Elab *e, const Fn *fn, Env *env)
{
	if (fn->kernel) return run_kernel(e, fn, env);
	if (fn->is_expr) return eval(e, env, fn->body);
	e->ret = v_none();
	int errors = e->ds->errors;
	Flow f = exec_block(e, env, fn->body);
	Value v = f == FLOW_RETURN ? e->ret : v_none();
	e->ret = v_none();
	/* what a function gives after a mistake inside it means nothing */
	return f == FLOW_STOP || (e->ds->errors != errors && v.kind == V_NONE) ? v_error() : v;
}

Value call_bound(Elab *e, Fn *fn, Value *argv, Span at)
{
	e->calls++;
	if (!enter(e, at)) {
		e->calls--;
		return v_error();
	}
	Frame *frame = NEW(e->mem, Frame);
	*frame = (Frame){ fn->name ? fn->name : "fn", at, e->b.chain, 0 };
	const Frame *chain = e->b.chain;
	int loops = e->loops;
	Env *env = env_new(e, fn->env);
	for (int i = 0; i < fn->params->n; i++)
		map_set(e->mem, &env->vars, fn->params->at[i]->u.param.name, arena_dup(e->mem, &argv[i], sizeof *argv));
	Contexts cs = contexts_begin(e);
	e->b.chain = frame;
	e->loops = 0;
	Value v = open_within(e, &cs, fn->within, at) ? run_body(e, fn, env) : v_error();
	e->loops = loops;
	if (fn->within) contexts_end(e, &cs);
	e->b.chain = chain;
	e->calls--;
	leave(e);
	return v;
}

Value call_fn(Elab *e, Fn *fn, Args *args)
{
	Value *argv = bind_fn(e, fn, args);
	return argv ? call_bound(e, fn, argv, args->at) : v_error();
}

/* --- built-ins -------------------------------------------------------------------------------------------------------------- */
static Params params_of_sig(Elab *e, const Builtin *f)
{
	Params p = { .what = arena_printf(e->mem, "`%s`", f->name) };
	p.at = NEWN(e->mem, ParamInfo, strlen(f->sig) + 1);
	for (const char *s = f->sig; *s;) {
		size_t n = strcspn(s, " ");
		ParamInfo *x = &p.at[p.n++];
		size_t stars = strspn(s, "*"), opt = n && s[n - 1] == '?';
		*x = (ParamInfo){ intern(e->names, s + stars, n - stars - opt), stars == 2 ? STAR_STAR : stars ? STAR : NO_STAR, (int)opt };
		s += n;
		s += strspn(s, " ");
	}
	return p;
}

Value call_builtin(Elab *e, const Builtin *f, Value self, Args *args)
{
	Params p = params_of_sig(e, f);
	Value *out = NEWN(e->mem, Value, p.n + 1);
	if (!bind_args(e, &p, args, out)) return v_error();
	Call c = { self, out, args, args->at };
	return f->fn(e, &c);
}

static Value call_method(Elab *e, const Method *m, Args *args)
{
	if (m->fn) return call_builtin(e, m->fn, m->self, args);
	Args with_self = { 0 };
	with_self.at = args->at;
	args_add(e, &with_self, NULL, m->self, args->at);
	for (int i = 0; i < args->pos.n; i++) args_add(e, &with_self, NULL, args->pos.at[i].v, args->pos.at[i].at);
	with_self.named.at = args->named.at;
	with_self.named.n = with_self.named.cap = args->named.n;
	return call_op(e, m->op.def, m->op.inplace, &with_self);
}

static Value call_own(Elab *e, Value obj, Args *args)
{
	Value m = get_field(e, obj, intern_str(e->names, "call"), args->at);
	return is_error(m) ? m : call_value(e, m, args);
}

Value call_value(Elab *e, Value fn, Args *args)
{
	switch (fn.kind) {
	case V_FN:       return call_fn(e, fn.u.fn, args);
	case V_BUILTIN:  return call_builtin(e, fn.u.builtin, v_unset(), args);
	case V_METHOD:   return call_method(e, fn.u.method, args);
	case V_OPFN:     return call_op(e, fn.u.opfn->def, fn.u.opfn->inplace, args);
	case V_CLASS:    return instantiate(e, fn.u.cls, args);
	case V_INSTANCE: return instance_call(e, fn.u.inst, args);
	case V_NAMED: case V_BOUND: return call_own(e, fn, args);
	case V_CONTEXT:  return fn_within(e, fn.u.context, args);
	case V_ERROR:    return fn;
	default: {
		Diag *d = fail_diag(e, E0205, args->at, "%s cannot be called", v_describe(e, fn));
		if (fn.kind == V_GRAPH) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "write `call(graph, ...)`");
		return v_error();
	}
	}
}
