/* invoke.c — call, repeat, conditional, and the records of calls. */
#include "compiler/elab/eval.h"

#include <string.h>

/* --- operands ------------------------------------------------------------------------------------------------------------- */
/* one graph's inputs being collected; messages call the graph by its role in a conditional, where it has one (R191) */
typedef struct Operands { Elab *e; Graph *g; const char *who; Span at; Tensor **in; char *taken; } Operands;

static const char *graph_role(Elab *e, const Graph *g, const char *role)
{
	return role ? arena_printf(e->mem, "the %s graph %s", role, graph_title(g)) : graph_title(g);
}

static Tensor *operand_for(Operands *o, int i, Value v)
{
	Elab *e = o->e;
	const Tensor *input = o->g->inputs.at[i];
	const char *what = arena_printf(e->mem, "input `%s` of %s", input->name, o->who);
	if (v.kind == V_TENSOR) return in_graph(e, v.u.tensor, o->at, what) ? v.u.tensor : NULL;
	if (is_number(v) || is_seq(v) || v.kind == V_ARRAY) return constant_of(e, v, (int)input->spec.dtype, NULL, o->at);
	want_kind(e, v, V_TENSOR, o->at, what);
	return NULL;
}

static void list_inputs(Operands *o, Diag *d)
{
	Elab *e = o->e;
	for (int i = 0; i < o->g->inputs.n && i < 12; i++) {
		const Tensor *t = o->g->inputs.at[i];
		diag_note(e->ds, d, t->at, "input %d, `%s` %s%s", i, t->name, spec_str(e->mem, t->spec.dtype, t->spec.shape),
		          o->in[i] ? arena_printf(e->mem, ", gets `%s`", o->in[i]->name) : ", is not given");
	}
}

static int by_position(Operands *o, const List *pos)
{
	Elab *e = o->e;
	Graph *g = o->g;
	List flat = { 0 };
	for (int i = 0; i < pos->n; i++) {
		if (!is_seq(pos->at[i])) list_push(e->mem, &flat, pos->at[i]);
		else if (!items_of(e, pos->at[i], o->at, &flat)) return 0;
	}
	if (flat.n > g->inputs.n) {
		Diag *d = fail_diag(e, E0422, o->at, "too many inputs for %s: it has %d, %d are given", o->who, g->inputs.n, flat.n);
		if (g->at.src) diag_note(e->ds, d, g->at, "the graph is made here");
		return 0;
	}
	for (int i = 0; i < flat.n; i++)
		if (!(o->in[i] = operand_for(o, i, flat.at[i]))) return 0;
	return 1;
}

static int input_index(Operands *o, Value key)
{
	Elab *e = o->e;
	if (key.kind == V_TENSOR && key.u.tensor->graph == o->g && key.u.tensor->input_index >= 0) return key.u.tensor->input_index;
	Diag *d = fail_diag(e, E0426, o->at, "%s is not an input of %s", v_text(e, key), o->who);
	if (key.kind == V_TENSOR) diag_label(e->ds, d, "`%s` belongs to %s", key.u.tensor->name, graph_title(key.u.tensor->graph));
	return -1;
}

/* a value for input k that is not given by position; NULL after a diagnostic */
static int give(Operands *o, int k, Value v, const char *and_by)
{
	if (!o->taken[k]) return (o->in[k] = operand_for(o, k, v)) != NULL;
	fail(o->e, E0424, o->at, "input `%s` of %s is specified twice%s", o->g->inputs.at[k]->name, o->who, and_by);
	return 0;
}

/* the name of an input among those of its graph: that of the variable it stands for, or its own without scopes */
static const char *input_name(const Tensor *t)
{
	const char *own = map_get(&t->graph->args, t), *slash = strrchr(t->name, '/');
	return own ? own : slash ? slash + 1 : t->name;
}

static int unknown_input(Operands *o, const char *name)
{
	Elab *e = o->e;
	const char **known = NEWN(e->mem, const char *, o->g->inputs.n + 1);
	for (int i = 0; i < o->g->inputs.n; i++) known[i] = input_name(o->g->inputs.at[i]);
	Diag *d = fail_diag(e, E0426, o->at, "`%s` is not an input of %s", name, o->who);
	const char *near = nearest(name, known, o->g->inputs.n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	else list_inputs(o, d);
	return 0;
}

static int by_names(Operands *o, const Tree *t)
{
	Leaves l = tree_leaves(o->e, t);
	for (int k = 0; k < l.at.n; k++) {
		int i = 0;
		while (i < o->g->inputs.n && strcmp(input_name(o->g->inputs.at[i]), l.at.at[k].name)) i++;
		if (i == o->g->inputs.n) return unknown_input(o, l.at.at[k].name);
		if (!give(o, i, l.at.at[k].v, "")) return 0;
	}
	return 1;
}

/* inputs of the graph, or names of them, and what they get */
static int by_map(Operands *o, Value dict)
{
	Elab *e = o->e;
	if (!is_given(dict)) return 1;
	if (dict.kind == V_TREE) return by_names(o, dict.u.tree);
	if (dict.kind != V_DICT) {
		fail(e, E0206, o->at, "the map of inputs must be a dict or a tree, not %s", v_describe(e, dict));
		return 0;
	}
	Value names = v_dict(e->mem);
	DICT_EACH(dict.u.dict, x) {
		if (x->key.kind == V_STR || x->key.kind == V_INT) {
			dict_set(e->mem, names.u.dict, dict_key(e->names, x->key), x->key, x->val);
			continue;
		}
		int i = input_index(o, x->key);
		if (i < 0 || !give(o, i, x->val, "")) return 0;
	}
	Tree *t = want_tree(e, names, o->at, "the map of inputs");
	return t && by_names(o, t);
}

static int by_binding(Operands *o, const Map *bound)
{
	for (int i = 0; bound && i < bound->n; i++) {
		const Tensor *input = bound->at[i].key;
		if (!input || input->graph != o->g || input->input_index < 0) continue;
		if (!give(o, input->input_index, v_of(V_TENSOR, bound->at[i].val), ": by position and by `bind`")) return 0;
	}
	return 1;
}

static Tensor **operands(Elab *e, Graph *g, const char *role, const Map *bound, const List *pos, Value dict, int check, Span at)
{
	Operands o = { e, g, graph_role(e, g, role), at, NEWN(e->mem, Tensor *, g->inputs.n + 1), NEWN(e->mem, char, g->inputs.n + 1) };
	if (!building(e, at, "a graph is called") || !by_position(&o, pos)) return NULL;
	for (int i = 0; i < g->inputs.n; i++) o.taken[i] = o.in[i] != NULL;
	if (!by_binding(&o, bound) || !by_map(&o, dict)) return NULL;
	int missing = 0;
	for (int i = 0; i < g->inputs.n; i++) missing += !o.in[i];
	if (!missing || !check) return o.in;
	Diag *d = fail_diag(e, E0423, at, "not enough inputs for %s: %d of %d missing", o.who, missing, g->inputs.n);
	list_inputs(&o, d);
	return NULL;
}

Tensor **graph_operands(Elab *e, Graph *g, const Map *bound, const List *pos, Value dict, int check, Span at)
{
	return operands(e, g, NULL, bound, pos, dict, check, at);
}

static Op *emit(Elab *e, const char *name, Graph *g, Graph *other, Tensor **in, int n, AttrVal *attrs, Span at)
{
	int inplace;
	const OpDef *def = op_find(name, &inplace);
	if (!def) {
		fail(e, E0122, at, "the op `%s` is not available yet", name);
		return NULL;
	}
	e->b.at = at;
	int errors = e->ds->errors;
	Op *op = ir_call(&e->b, (int)def->id, g, other, in, n, attrs);
	return e->ds->errors == errors ? op : NULL;
}

Op *invoke(Elab *e, Graph *g, Tensor **in, Span at)
{
	return emit(e, "call", g, NULL, in, g->inputs.n, NULL, at);
}

Value v_call(Elab *e, Op *op) { (void)e; return v_of(V_CALL, op); }

/* of a conditional the then graph says whether the results are a list */
Value call_outputs(Elab *e, Op *op)
{
	const Graph *g = op->callee[0];
	Value v = op_results(e, op, g->written_outputs);
	if (is_error(v) || g->form == RESULT_PLAIN) return v;
	v = v_tensors(e->mem, op->out.at, g->written_outputs);
	if (g->form == RESULT_LIST) v.kind = V_LIST;
	return v;
}

/* --- call ------------------------------------------------------------------------------------------------------------------ */
static Op *do_invoke(Elab *e, Call *c, int check)
{
	Graph *g = want_graph(e, c->arg[0], c->at, "the first argument of `call`");
	const Map *bound = c->arg[0].kind == V_BOUND ? &c->arg[0].u.bound->map : NULL;
	Value dict = is_given(c->arg[2]) ? c->arg[2] : c->arg[3];
	Tensor **in = g ? graph_operands(e, g, bound, c->arg[1].u.list, dict, check, c->at) : NULL;
	return in ? invoke(e, g, in, c->at) : NULL;
}

static Value do_call(Elab *e, Call *c)
{
	Op *op = do_invoke(e, c, 1);
	return op ? call_outputs(e, op) : v_error();
}

static Value do_call_info(Elab *e, Call *c)
{
	int check = 1;
	if (is_given(c->arg[4]) && !want_bool(e, c->arg[4], c->at, "`check_inputs`", &check)) return v_error();
	Op *op = do_invoke(e, c, check);
	return op ? v_call(e, op) : v_error();
}

/* --- repeat ------------------------------------------------------------------------------------------------------------------ */
static int loop_fits(Elab *e, const Graph *g, int64_t count, Span at)
{
	if (count < 0) fail(e, E0429, at, "`repeat` of %lld turns", (long long)count);
	else if (g->written_outputs > g->inputs.n)
		fail(e, E0429, at, "%s has %d outputs for %d inputs: each output becomes an input of the next turn", graph_title(g), g->written_outputs, g->inputs.n);
	else return 1;
	return 0;
}

static int carried_fit(Elab *e, const Graph *g, Span at)
{
	for (int i = 0; i < g->written_outputs; i++) {
		const Tensor *in = g->inputs.at[i], *out = g->outputs.at[i];
		if (in->spec.dtype == out->spec.dtype && shape_eq(in->spec.shape, out->spec.shape)) continue;
		Diag *d = fail_diag(e, E0429, at, "output %d of %s cannot become its input %d", i, graph_title(g), i);
		diag_note(e->ds, d, out->at, "the output is %s", spec_str(e->mem, out->spec.dtype, out->spec.shape));
		diag_note(e->ds, d, in->at, "the input is %s", spec_str(e->mem, in->spec.dtype, in->spec.shape));
		return 0;
	}
	return 1;
}

static AttrVal *count_attr(Elab *e, int64_t count)
{
	int inplace, n = 0;
	const OpDef *def = op_find("repeat", &inplace);
	while (def && def->params[n].kind != P_END) n++;
	AttrVal *a = NEWN(e->mem, AttrVal, n + 1);
	for (int i = 0; i < n; i++) {
		a[i] = def->params[i].init;
		if (def->params[i].kind == P_INT) a[i] = (AttrVal){ .set = 1, .i = count };
	}
	return a;
}

static Op *repeat_op(Elab *e, Call *c)
{
	int64_t count;
	Graph *g = want_graph(e, c->arg[0], c->at, "the first argument of `repeat`");
	const Map *bound = c->arg[0].kind == V_BOUND ? &c->arg[0].u.bound->map : NULL;
	if (!g || !want_int(e, c->arg[1], c->at, "the count of `repeat`", &count)) return NULL;
	if (!loop_fits(e, g, count, c->at) || !carried_fit(e, g, c->at)) return NULL;
	Value dict = is_given(c->arg[3]) ? c->arg[3] : c->arg[4];
	Tensor **in = graph_operands(e, g, bound, c->arg[2].u.list, dict, 1, c->at);
	return in ? emit(e, "repeat", g, NULL, in, g->inputs.n, count_attr(e, count), c->at) : NULL;
}

static Value do_repeat(Elab *e, Call *c)
{
	Op *op = repeat_op(e, c);
	return op ? call_outputs(e, op) : v_error();
}

static Value do_repeat_info(Elab *e, Call *c)
{
	Op *op = repeat_op(e, c);
	return op ? v_call(e, op) : v_error();
}

/* --- conditional ---------------------------------------------------------------------------------------------------------------- */
static Tensor **branch_inputs(Elab *e, Graph *g, const char *role, Value list, Value dict, Span at)
{
	List pos = { 0 };
	if (list.kind == V_TENSOR) list_push(e->mem, &pos, list);
	else if (is_given(list) && !items_of(e, list, at, &pos)) return NULL;
	return operands(e, g, role, NULL, &pos, dict, 1, at);
}

static int branches_fit(Elab *e, const Graph *a, const Graph *b, Span at)
{
	if (a->written_outputs != b->written_outputs) {
		fail(e, E0430, at, "the branches have %d and %d outputs", a->written_outputs, b->written_outputs);
		return 0;
	}
	for (int i = 0; i < a->written_outputs; i++) {
		const Tensor *x = a->outputs.at[i], *y = b->outputs.at[i];
		if (x->spec.dtype == y->spec.dtype && shape_eq(x->spec.shape, y->spec.shape)) continue;
		Diag *d = fail_diag(e, E0430, at, "output %d differs between the branches", i);
		diag_note(e->ds, d, x->at, "the then branch gives %s", spec_str(e->mem, x->spec.dtype, x->spec.shape));
		diag_note(e->ds, d, y->at, "the else branch gives %s", spec_str(e->mem, y->spec.dtype, y->spec.shape));
		return 0;
	}
	return 1;
}

static int condition_fits(Elab *e, Value v, Span at, Tensor **cond)
{
	if (!want_tensor(e, v, at, "the condition", cond)) return 0;
	Spec s = (*cond)->spec;
	if (s.dtype == DT_BOOL && s.shape.rank <= 1 && shape_nelems(s.shape) == 1) return 1;
	fail(e, E0430, at, "the condition is a bool tensor of one element, not %s", v_describe(e, v));
	return 0;
}

/* R190 */
static int no_refs(Elab *e, const Graph *g, const char *role, Span at)
{
	for (int i = 0; i < g->inputs.n; i++)
		if (g->inputs.at[i]->by_ref) {
			Diag *d = fail_diag(e, E0441, at, "input `%s` of %s is by reference: inputs of a conditional are passed by value", g->inputs.at[i]->name, graph_role(e, g, role));
			diag_note(e->ds, d, g->inputs.at[i]->at, "the input is made here");
			return 0;
		}
	return 1;
}

/* Results of the branches pair by position, so outputs that autodiff added to one of them stay behind a call. */
static Graph *as_written(Elab *e, Graph *g, Span at)
{
	if (g->outputs.n == g->written_outputs) return g;
	Graph *w = ir_graph(e->b.ir, g->name);
	Tensor **in = NEWN(e->mem, Tensor *, g->inputs.n + 1);
	w->at = at;
	w->form = g->form;
	w->chain = e->b.chain;
	Entered was = graph_enter(e, w);
	for (int i = 0; i < g->inputs.n; i++) in[i] = ir_input(&e->b, g->inputs.at[i]->spec, g->inputs.at[i]->name, 0);
	Op *op = invoke(e, g, in, at);
	for (int i = 0; op && i < g->written_outputs; i++) ir_output(&e->b, op->out.at[i]);
	graph_leave(e, &was);
	return op ? w : NULL;
}

static Op *conditional_op(Elab *e, Call *c)
{
	Tensor *cond;
	Graph *a = want_graph(e, c->arg[1], c->at, "the then branch"), *b = a ? want_graph(e, c->arg[2], c->at, "the else branch") : NULL;
	if (!b || !condition_fits(e, c->arg[0], c->at, &cond) || !branches_fit(e, a, b, c->at)) return NULL;
	if (!no_refs(e, a, "then", c->at) || !no_refs(e, b, "else", c->at)) return NULL;
	Tensor **x = branch_inputs(e, a, "then", c->arg[3], c->arg[5], c->at), **y = x ? branch_inputs(e, b, "else", c->arg[4], c->arg[6], c->at) : NULL;
	if (!y) return NULL;
	Tensor **in = NEWN(e->mem, Tensor *, a->inputs.n + b->inputs.n + 1);
	in[0] = cond;
	for (int i = 0; i < a->inputs.n; i++) in[1 + i] = x[i];
	for (int i = 0; i < b->inputs.n; i++) in[1 + a->inputs.n + i] = y[i];
	if (!(a = as_written(e, a, c->at)) || !(b = as_written(e, b, c->at))) return NULL;
	return emit(e, "conditional", a, b, in, 1 + a->inputs.n + b->inputs.n, NULL, c->at);
}

static Value do_conditional(Elab *e, Call *c)
{
	Op *op = conditional_op(e, c);
	return op ? call_outputs(e, op) : v_error();
}

static Value do_conditional_info(Elab *e, Call *c)
{
	Op *op = conditional_op(e, c);
	return op ? v_call(e, op) : v_error();
}

#define COND_SIG "cond then_branch else_branch then_inputs? else_inputs? then_inputs_dict? else_inputs_dict?"
const Builtin call_builtins[] = {
	{ "call", "graph *inputs inputs_dict? args?", do_call },
	{ "call_with_info", "graph *inputs inputs_dict? args? check_inputs?", do_call_info },
	{ "repeat", "graph count *inputs inputs_dict? args?", do_repeat },
	{ "repeat_with_info", "graph count *inputs inputs_dict? args?", do_repeat_info },
	{ "conditional", COND_SIG, do_conditional }, { "conditional_with_info", COND_SIG, do_conditional_info }, { NULL, NULL, NULL }
};

/* --- records (R168–R173) ------------------------------------------------------------------------------------------------------------ */
#define R(c) ((c)->self.u.op)

static int is_conditional(const Op *op) { return op->callee[1] != NULL; }
static int first_of(const Op *op, int branch) { return !is_conditional(op) ? 0 : branch ? 1 + op->callee[0]->inputs.n : 1; }

static Value get_graph(Elab *e, Call *c)
{
	if (!is_conditional(R(c))) return v_graph(e, R(c)->callee[0]);
	Value t = v_tuple(e->mem);
	for (int i = 0; i < 2; i++) list_push(e->mem, t.u.list, v_graph(e, R(c)->callee[i]));
	return t;
}

static Value get_inputs(Elab *e, Call *c)
{
	Value t = v_tuple(e->mem);
	for (int i = 0; i < R(c)->in.n; i++)
		if (R(c)->in.at[i]) list_push(e->mem, t.u.list, v_of(V_TENSOR, R(c)->in.at[i]));
	return t;
}

static Value get_outputs(Elab *e, Call *c) { return v_tensors(e->mem, R(c)->out.at, R(c)->out.n); }

static int position(Elab *e, Call *c, int n, const char *what, int *out)
{
	int64_t i;
	if (!want_int(e, c->arg[0], c->at, "the position", &i)) return 0;
	*out = (int)i;
	if (i >= 0 && i < n) return 1;
	fail(e, E0104, c->at, "the call has %d %s, so there is no number %lld", n, what, (long long)i);
	return 0;
}

static Value parent_input(Elab *e, Call *c)
{
	int i;
	return position(e, c, R(c)->in.n, "inputs", &i) ? v_of(V_TENSOR, R(c)->in.at[i]) : v_error();
}

static Value parent_output(Elab *e, Call *c)
{
	int i;
	return position(e, c, R(c)->out.n, "outputs", &i) ? v_of(V_TENSOR, R(c)->out.at[i]) : v_error();
}

static Value graph_to_parent(Elab *e, Call *c)
{
	Op *op = R(c);
	if (!want_kind(e, c->arg[0], V_TENSOR, c->at, "the tensor")) return v_error();
	const Tensor *t = c->arg[0].u.tensor;
	for (int k = 0; k < 2 && op->callee[k]; k++) {
		if (op->callee[k] != t->graph) continue;
		if (t->input_index >= 0) return v_of(V_TENSOR, op->in.at[first_of(op, k) + t->input_index]);
		for (int i = 0; i < op->callee[k]->outputs.n && i < op->out.n; i++)
			if (op->callee[k]->outputs.at[i] == t) return v_of(V_TENSOR, op->out.at[i]);
	}
	return fail(e, E0432, c->at, "`%s` is neither an input nor an output of the called graph", t->name);
}

static Value parent_to_graph(Elab *e, Call *c)
{
	Op *op = R(c);
	if (!want_kind(e, c->arg[0], V_TENSOR, c->at, "the tensor")) return v_error();
	for (int k = 0; k < 2 && op->callee[k]; k++)
		for (int i = 0; i < op->callee[k]->inputs.n; i++)
			if (op->in.at[first_of(op, k) + i] == c->arg[0].u.tensor) return v_of(V_TENSOR, op->callee[k]->inputs.at[i]);
	return fail(e, E0432, c->at, "`%s` is not an input of the call", c->arg[0].u.tensor->name);
}

static Value no_branches(Elab *e, Span at) { return fail(e, E0432, at, "only the call of a conditional has branches"); }

/* R189: a predicate, and four index maps */
static Value in_then_branch(Elab *e, Call *c)
{
	int64_t i;
	Op *op = R(c);
	if (!is_conditional(op)) return no_branches(e, c->at);
	if (!want_int(e, c->arg[0], c->at, "the position", &i)) return v_error();
	if (i >= 1 && i < op->in.n) return v_bool(i < first_of(op, 1));
	return fail(e, E0104, c->at, "operand %lld belongs to no branch: those of branches are 1 to %d", (long long)i, op->in.n - 1);
}

/* *branch is the default where `then_branch` is not given; 0 after a diagnostic */
static int want_branch(Elab *e, Call *c, int *branch)
{
	int then;
	if (!is_given(c->arg[1])) return 1;
	if (!is_conditional(R(c))) return no_branches(e, c->at), 0;
	if (!want_bool(e, c->arg[1], c->at, "`then_branch`", &then)) return 0;
	*branch = !then;
	return 1;
}

static Value no_input(Elab *e, Call *c, int64_t i) { return fail(e, E0104, c->at, "there is no input number %lld here", (long long)i); }

static Value input_to_parent(Elab *e, Call *c)
{
	int64_t i;
	int branch = 0;
	if (!want_int(e, c->arg[0], c->at, "the position", &i) || !want_branch(e, c, &branch)) return v_error();
	return i >= 0 && i < R(c)->callee[branch]->inputs.n ? v_int(first_of(R(c), branch) + i) : no_input(e, c, i);
}

/* the position says which branch is meant */
static Value input_to_graph(Elab *e, Call *c)
{
	const Op *op = R(c);
	int64_t i;
	if (!want_int(e, c->arg[0], c->at, "the position", &i)) return v_error();
	int branch = is_conditional(op) && i >= first_of(op, 1);
	if (!want_branch(e, c, &branch)) return v_error();
	i -= first_of(op, branch);
	return i >= 0 && i < op->callee[branch]->inputs.n ? v_int(i) : no_input(e, c, i + first_of(op, branch));
}

/* branches share their results */
static Value output_same(Elab *e, Call *c)
{
	int i, branch = 0;
	return position(e, c, R(c)->out.n, "outputs", &i) && want_branch(e, c, &branch) ? v_int(i) : v_error();
}

static Value set_modified(Elab *e, Call *c)
{
	Op *op = R(c);
	int infer = 0;
	if (!want_kind(e, c->arg[0], V_TENSOR, c->at, "the tensor")) return v_error();
	if (is_given(c->arg[1]) && !want_bool(e, c->arg[1], c->at, "`infer_modified_regions`", &infer)) return v_error();
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] == c->arg[0].u.tensor) {
			e->b.at = c->at;
			return ir_mark_modified(&e->b, op, i, infer) ? v_none() : v_error();
		}
	return fail(e, E0432, c->at, "`%s` is not an input of the call", c->arg[0].u.tensor->name);
}

const Builtin call_methods[] = {
	{ "called_graph", NULL, get_graph }, { "graph", NULL, get_graph }, { "inputs", NULL, get_inputs }, { "outputs", NULL, get_outputs },
	{ "parent_input", "position", parent_input }, { "parent_output", "position", parent_output },
	{ "graph_to_parent", "t", graph_to_parent }, { "parent_to_graph", "t", parent_to_graph },
	{ "graph_to_parent_input_index", "position then_branch?", input_to_parent },
	{ "parent_to_graph_input_index", "position then_branch?", input_to_graph },
	{ "graph_to_parent_output_index", "position then_branch?", output_same }, { "parent_to_graph_output_index", "position then_branch?", output_same },
	{ "is_parent_index_in_then_branch", "position", in_then_branch }, { "is_in_then_branch", "position", in_then_branch },
	{ "set_parent_input_modified", "t infer_modified_regions?", set_modified }, { NULL, NULL, NULL }
};
