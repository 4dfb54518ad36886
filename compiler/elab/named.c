/* named.c — graphs with named inputs, bound graphs, and the cache of graphs (addons.md sections 6 and 7). */
#include "compiler/elab/eval.h"

#include <string.h>

#define N(c) ((c)->self.u.named)
#define B(c) ((c)->self.u.bound)

/* --- binding --------------------------------------------------------------------------------------------------------------- */
static Value bound_of(Elab *e, Named *n)
{
	Bound *b = NEW(e->mem, Bound);
	b->named = n;
	return v_of(V_BOUND, b);
}

/* names present in both are paired; the rest is skipped silently (A72); 0 after a diagnostic */
static int bind_tree(Elab *e, Bound *b, const Tree *from, Span at)
{
	Leaves names = tree_leaves(e, b->named->args), given = tree_leaves(e, from);
	Map by = { 0 };
	for (int i = 0; i < given.at.n; i++) map_set(e->mem, &by, intern_str(e->names, given.at.at[i].name), &given.at.at[i].v);
	for (int i = 0; i < names.at.n; i++) {
		const char *name = names.at.at[i].name;
		Value *v = map_get(&by, intern_str(e->names, name)), input = names.at.at[i].v;
		if (!v || input.kind != V_TENSOR) continue;
		if (!want_kind(e, *v, V_TENSOR, at, arena_printf(e->mem, "what `bind` gives for `%s`", name))) return 0;
		map_set(e->mem, &b->map, input.u.tensor, v->u.tensor);
	}
	return 1;
}

/* a map of the graph's inputs to tensors, or names of them; 0 after a diagnostic */
static int bind_dict(Elab *e, Bound *b, const Dict *d, Span at)
{
	Value names = v_dict(e->mem);
	DICT_EACH(d, x) {
		if (x->key.kind != V_TENSOR) dict_set(e->mem, names.u.dict, dict_key(e->names, x->key), x->key, x->val);
		else if (!want_kind(e, x->val, V_TENSOR, at, arena_printf(e->mem, "what `bind` gives for `%s`", x->key.u.tensor->name))) return 0;
		else map_set(e->mem, &b->map, x->key.u.tensor, x->val.u.tensor);
	}
	Tree *t = want_tree(e, names, at, "`variables`");
	return t && bind_tree(e, b, t, at);
}

static Value bind(Elab *e, Bound *b, Value from, Span at)
{
	if (from.kind == V_TREE || from.kind == V_DICT) {
		if (!(from.kind == V_TREE ? bind_tree(e, b, from.u.tree, at) : bind_dict(e, b, from.u.dict, at))) return v_error();
	} else if (is_given(from)) return fail(e, E0206, at, "`bind` takes a tree or dict of tensors, not %s", v_describe(e, from));
	return v_of(V_BOUND, b);
}

static Value do_bind(Elab *e, Call *c)
{
	Value b = bound_of(e, N(c));
	return bind(e, b.u.bound, c->arg[0], c->at);
}

static Value do_rebind(Elab *e, Call *c)
{
	Value b = bound_of(e, B(c)->named);
	for (int i = 0; i < B(c)->map.n; i++)
		if (B(c)->map.at[i].key) map_set(e->mem, &b.u.bound->map, B(c)->map.at[i].key, B(c)->map.at[i].val);
	return bind(e, b.u.bound, c->arg[0], c->at);
}

/* --- calling ----------------------------------------------------------------------------------------------------------------- */
static Op *call_op_of(Elab *e, Call *c)
{
	Graph *g = c->self.kind == V_BOUND ? B(c)->named->graph : N(c)->graph;
	Value dict = is_given(c->arg[1]) ? c->arg[1] : c->arg[2];
	Tensor **in = graph_operands(e, g, c->self.kind == V_BOUND ? &B(c)->map : NULL, c->arg[0].u.list, dict, 1, c->at);
	return in ? invoke(e, g, in, c->at) : NULL;
}

static Value do_call(Elab *e, Call *c)
{
	Op *op = call_op_of(e, c);
	return op ? call_outputs(e, op) : v_error();
}

static Value do_call_info(Elab *e, Call *c)
{
	Op *op = call_op_of(e, c);
	return op ? v_call(e, op) : v_error();
}

/* --- questions ---------------------------------------------------------------------------------------------------------------- */
static Named *named(Call *c) { return c->self.kind == V_BOUND ? B(c)->named : N(c); }

static Value of_graph(Elab *e, Call *c, const char *name)
{
	return get_field(e, v_graph(e, named(c)->graph), intern_str(e->names, name), c->at);
}

static Value get_graph(Elab *e, Call *c)   { return v_graph(e, named(c)->graph); }
static Value get_args(Elab *e, Call *c)    { (void)e; return v_tree(named(c)->args); }
static Value get_inputs(Elab *e, Call *c)  { return of_graph(e, c, "inputs"); }
static Value get_outputs(Elab *e, Call *c) { return of_graph(e, c, "outputs"); }
static Value get_name(Elab *e, Call *c)    { return of_graph(e, c, "name"); }
static Value get_id(Elab *e, Call *c)      { return of_graph(e, c, "id"); }
static Value do_schedule(Elab *e, Call *c) { return call_value(e, of_graph(e, c, "print_schedule"), &(Args){ .at = c->at }); }

static Value get_called(Elab *e, Call *c)  { return records_of(e, N(c)->called); }

static Value get_info(Elab *e, Call *c)
{
	if (N(c)->info) return v_of(V_GRAD, N(c)->info);
	return fail(e, E0102, c->at, "%s is not a gradient graph, so it has no `info`", graph_title(N(c)->graph));
}

static Value get_origin(Elab *e, Call *c)  { (void)e; return N(c)->origin; }
static Value get_applied(Elab *e, Call *c) { (void)e; return v_bool(N(c)->differentiated); }
static Value get_by_hand(Elab *e, Call *c) { (void)e; return v_bool(N(c)->aux != NULL); }

/* what build kept for build_grad */
static Value get_aux(Elab *e, Call *c)
{
	Value d = v_dict(e->mem);
	for (int i = 0; N(c)->aux && i < N(c)->aux->n; i++) {
		if (!N(c)->aux->at[i].key) continue;
		Value k = v_cstr(e->mem, N(c)->aux->at[i].key);
		dict_set(e->mem, d.u.dict, dict_key(e->names, k), k, *(Value *)N(c)->aux->at[i].val);
	}
	return d;
}

static Value do_copy(Elab *e, Call *c)
{
	Named *n = arena_dup(e->mem, N(c), sizeof *n);
	n->args = tree_copy(e, N(c)->args);
	return v_of(V_NAMED, n);
}

static Value do_autodiff(Elab *e, Call *c)
{
	Args args = *c->args;
	Args with = { 0 };
	with.at = args.at;
	args_add(e, &with, NULL, c->self, args.at);
	for (int i = 0; i < args.pos.n; i++) args_add(e, &with, NULL, args.pos.at[i].v, args.pos.at[i].at);
	for (int i = 0; i < args.named.n; i++) args_add(e, &with, args.named.at[i].name, args.named.at[i].v, args.named.at[i].at);
	return call_builtin(e, &grad_builtins[0], v_unset(), &with);
}

/* inputs → what the bound map and the arguments give them, outputs → the tensors of `outs` (A77) */
static Value do_io_map(Elab *e, Call *c)
{
	Graph *g = B(c)->named->graph;
	Tensor **in = graph_operands(e, g, &B(c)->map, c->arg[0].u.list, c->arg[1], 1, c->at), **outs = NULL;
	Map m = { 0 };
	int n = 0;
	if (!in || (is_given(c->arg[2]) && !want_tensors(e, c->arg[2], c->at, "`outs`", &outs, &n))) return v_error();
	if (n > g->outputs.n) return fail(e, E0432, c->at, "%d outputs are given, %s has %d", n, graph_title(g), g->outputs.n);
	for (int i = 0; i < g->inputs.n; i++) map_set(e->mem, &m, g->inputs.at[i], in[i]);
	for (int i = 0; i < n; i++) map_set(e->mem, &m, g->outputs.at[i], outs[i]);
	return map_to_dict(e, &m);
}

static Value get_map(Elab *e, Call *c) { return map_to_dict(e, &B(c)->map); }

#define CALL_SIG "*inputs args? inputs_dict?"
const Builtin named_methods[] = {
	{ "bind", "variables?", do_bind }, { "call", CALL_SIG, do_call }, { "call_with_info", CALL_SIG, do_call_info },
	{ "print_schedule", "", do_schedule }, { "graph", NULL, get_graph }, { "args", NULL, get_args }, { "inputs", NULL, get_inputs },
	{ "outputs", NULL, get_outputs }, { "name", NULL, get_name }, { "id", NULL, get_id }, { "info", NULL, get_info },
	{ "grad_graph_info", NULL, get_info }, { "called_graphs_grad_info", NULL, get_called }, { "copy", "", do_copy },
	{ "module", NULL, get_origin }, { "aux", NULL, get_aux }, { "has_build_grad", NULL, get_by_hand }, { "autodiff_applied", NULL, get_applied },
	 { "autodiff", "*args **named", do_autodiff }, { NULL, NULL, NULL }
};

const Builtin bound_methods[] = {
	{ "bind", "variables?", do_rebind }, { "call", CALL_SIG, do_call }, { "call_with_info", CALL_SIG, do_call_info },
	{ "print_schedule", "", do_schedule }, { "graph", NULL, get_graph }, { "args", NULL, get_args }, { "inputs", NULL, get_inputs },
	{ "outputs", NULL, get_outputs }, { "name", NULL, get_name }, { "map", NULL, get_map },
	{ "subgraph_io_map", "*inputs args? outs?", do_io_map }, { NULL, NULL, NULL }
};

/* --- the cache: one graph per callable, place and specs of the arguments (A65) --------------------------------------------------- */
static int key_value(Elab *e, Buf *b, Value v, int depth)
{
	Spec s = v.kind == V_TENSOR ? v.u.tensor->spec : v.kind == V_SPEC ? *v.u.spec : (Spec){ 0 };
	if (depth > 64 || b->n > 1 << 16) return 0;
	if (v.kind == V_TENSOR || v.kind == V_SPEC) {
		buf_printf(b, "%s;", spec_str(e->mem, s.dtype, s.shape));
		if (s.has_meta) buf_printf(b, "meta%s;", shape_str(e->mem, s.meta));
		return 1;
	}
	if (is_seq(v)) {
		buf_putc(b, '[');
		for (int i = 0; i < v.u.list->n; i++)
			if (!key_value(e, b, v.u.list->at[i], depth + 1)) return 0;
		buf_putc(b, ']');
		return 1;
	}
	if (v.kind == V_DICT) {
		buf_putc(b, '{');
		DICT_EACH(v.u.dict, x)
			if (!key_value(e, b, x->key, depth + 1) || !key_value(e, b, x->val, depth + 1)) return 0;
		buf_putc(b, '}');
		return 1;
	}
	if (v.kind == V_NAMED) v = v_graph(e, v.u.named->graph);
	const void *key = dict_key(e->names, v);                 /* names are interned: equal values, equal pointers */
	buf_printf(b, "%p;", (void *)(uintptr_t)key);            /* as text: keys are interned, and those end at a zero byte */
	return key != NULL;
}

/* A module stands for itself, unless its `cache_key` says which others it equals (A64). */
static int key_callable(Elab *e, Buf *b, Value fn, Span at)
{
	Value *own = fn.kind == V_INSTANCE ? map_get(&fn.u.inst->fields, intern_str(e->names, "cache_key")) : NULL;
	Value v = own && own->kind == V_FN ? call_fn(e, own->u.fn, &(Args){ .at = at }) : fn;
	if (is_error(v)) return 0;
	const void *p = own ? (const void *)fn.u.inst->cls : fn.u.p;
	buf_printf(b, "%p ", (void *)(uintptr_t)p);
	if (!own || key_value(e, b, v, 0)) return 1;
	fail(e, E0121, at, "`cache_key` gives %s, which cannot be part of a cache's key", v_describe(e, v));
	return 0;
}

/* arguments with defaults filled in, so that f(x) and f(x, 2) share a graph when 2 is the default */
static const char *cache_key(Elab *e, Value fn, Args *args)
{
	Buf b = buf_new(e->mem);
	Fn *f = fn.kind == V_FN ? fn.u.fn : fn.kind == V_INSTANCE ? build_of(e, fn.u.inst) : NULL;
	Value *argv = f ? bind_fn(e, f, args) : NULL;
	if (!argv) return NULL;
	if (!key_callable(e, &b, fn, args->at)) return NULL;
	buf_printf(&b, "ir%d ipu%d tiles%d:", e->b.ir->number, e->b.ipu, (int)e->b.tiles);
	for (int i = 0; i < f->params->n; i++)
		if (!key_value(e, &b, argv[i], 0)) {
			fail(e, E0121, args->at, "`%s` is %s, which cannot be part of a cache's key", f->params->at[i]->u.param.name, v_describe(e, argv[i]));
			return NULL;
		}
	return intern(e->names, b.s, b.n);
}

static Value fresh(Elab *e, Value made)
{
	if (made.kind != V_TUPLE) return made;
	Value t = v_tuple(e->mem);
	Named *n = arena_dup(e->mem, made.u.list->at[1].u.named, sizeof *n);
	n->args = tree_copy(e, n->args);
	list_push(e->mem, t.u.list, v_tree(tree_copy(e, made.u.list->at[0].u.tree)));
	list_push(e->mem, t.u.list, v_of(V_NAMED, n));
	return t;
}

Value cached_graph(Elab *e, Cache *k, Value fn, Args *args)
{
	if (!building(e, args->at, "a graph is made")) return v_error();
	const char *key = cache_key(e, fn, args);
	if (!key) return e->ds->errors ? v_error() : fail(e, E0206, args->at, "a graph is made from a function or a module, not from %s", v_describe(e, fn));
	for (int i = 0; i < k->at.n; i++)
		if (k->at.at[i].key == key) return fresh(e, k->at.at[i].result);
	Value v;
	if (fn.kind == V_INSTANCE) v = outlined(e, fn, args);
	else {
		Graph *g = graph_from(e, fn, args);
		v = g ? v_graph(e, g) : v_error();
	}
	if (is_error(v)) return v;
	CacheEntry entry = { key, NULL, v };
	vec_push(e->mem, &k->at, entry);
	return fresh(e, v);
}

static Value do_cached(Elab *e, Call *c)
{
	Args rest = *c->args;
	if (!rest.pos.n) return fail(e, E0203, c->at, "`create_graph` needs a function or a module");
	Value fn = rest.pos.at[0].v;
	rest.pos.at++;
	rest.pos.n--;
	return cached_graph(e, c->self.u.cache, fn, &rest);
}

const Builtin cache_methods[] = { { "create_graph", "*args **named", do_cached }, { NULL, NULL, NULL } };

static Value do_cache(Elab *e, Call *c) { (void)c; return v_of(V_CACHE, NEW(e->mem, Cache)); }
const Builtin cache_builtins[] = { { "GraphCache", "", do_cache }, { NULL, NULL, NULL } };
