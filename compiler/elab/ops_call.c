/* ops_call.c — any op of the table called from the language, by name or as a method.
 *
 * The op's parameter list says it all: tensors become operands, host values in their place become constants
 * of the first tensor's dtype, the rest become attributes.  What the op itself demands of shapes and dtypes
 * is its shape rule's affair. */
#include "compiler/elab/eval.h"

#include <string.h>

/* what is known about one call while its arguments are sorted */
typedef struct OpCall {
	const OpDef *def;
	int inplace, np;
	Value *val;                          /* per parameter */
	AttrVal *attr;
	VEC(Tensor *) in;
	const char *name;                    /* of the result */
	const char *shown;                   /* "`add_`" */
	Span at;
	int dtype;                           /* of the first tensor operand; -1 */
} OpCall;

int building(Elab *e, Span at, const char *what)
{
	if (e->b.ir) return 1;
	fail(e, E0421, at, "%s outside a program", what);
	return 0;
}

int in_graph(Elab *e, const Tensor *t, Span at, const char *what)
{
	if (!building(e, at, what)) return 0;
	if (t->graph == e->b.g) return 1;
	Diag *d = fail_diag(e, E0420, at, "%s is a tensor of another %s", what, t->graph->ir == e->b.ir ? "graph" : "program");
	diag_label(e->ds, d, "`%s` belongs to %s; %s is being built", t->name, t->graph->ir->main == t->graph ? "the main graph" : graph_title(t->graph), graph_title(e->b.g));
	if (t->at.src) diag_note(e->ds, d, t->at, "it was made here");
	if (t->graph->ir == e->b.ir) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "pass it to the graph as an input");
	return 0;
}

Tensor *constant_of(Elab *e, Value v, int dtype, const char *name, Span at)
{
	if (!building(e, at, "a constant is made")) return NULL;
	HostArray *a = array_of(e, v, dtype, 1, at);
	if (!a) return NULL;
	e->b.at = at;
	return ir_constant(&e->b, a, name);
}

/* --- binding ------------------------------------------------------------------------------------------------------------ */
static int same_name(const char *want, const char *param)
{
	static const char *const pairs[][2] = { { "dim", "axis" }, { "axis", "dim" }, { "keepdim", "keepdims" }, { "keepdims", "keepdim" },
	                                        { "axis", "axes" }, { "dim", "axes" } };
	if (!strcmp(want, param)) return 1;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (!strcmp(want, pairs[i][0]) && !strcmp(param, pairs[i][1])) return 1;
	return 0;
}

static int find_param(const OpDef *d, const char *name)
{
	int i = op_param(d, name);
	if (name[0] == '_') return -1;               /* not of the language */
	for (int k = 0; i < 0 && d->params[k].kind != P_END; k++)
		if (same_name(name, d->params[k].name)) i = k;
	return i;
}

static void help_signature(Elab *e, const OpCall *c, Diag *d)
{
	Buf b = buf_new(e->mem);
	op_signature(c->def, c->inplace, &b);
	diag_help(e->ds, d, (Span){ 0, 0, 0 }, "it is `%s`", b.s);
}

/* The operands of a list parameter: one list of them, or the positional arguments from here on. Where the op
 * takes nothing after them every argument is one, numbers and lists too; else those that can only be operands. */
static Value gathered(Elab *e, const Args *args, int *k, int last)
{
	Value v = args->pos.at[*k].v;
	int alone = *k + 1 == args->pos.n || args->pos.at[*k + 1].v.kind == V_STR;
	if ((is_seq(v) && (alone || !last)) || v.kind == V_TREE || v.kind == V_DICT) {
		++*k;
		return v;
	}
	v = v_tuple(e->mem);
	for (; *k < args->pos.n; ++*k) {
		VKind kind = args->pos.at[*k].v.kind;
		if (last ? kind == V_STR : kind != V_TENSOR && kind != V_ARRAY) break;
		list_push(e->mem, v.u.list, args->pos.at[*k].v);
	}
	return v;
}

static int bind_positional(Elab *e, OpCall *c, const Args *args)
{
	int k = 0;
	for (int at = 0, i; (i = op_param_at(c->def, at)) >= 0 && k < args->pos.n; at++) {
		Value v = args->pos.at[k].v;
		if (c->def->params[i].kind == P_TENSORS) c->val[i] = gathered(e, args, &k, op_param_at(c->def, at + 1) < 0);
		else if (c->def->params[i].kind == P_OPT_TENSOR && v.kind == V_STR) break;
		else { c->val[i] = v; k++; }
	}
	/* host_load(stream, "x"): a string at the end, where the op takes none, names the result */
	if (k == args->pos.n - 1 && args->pos.at[k].v.kind == V_STR && want_str(e, args->pos.at[k].v, args->pos.at[k].at, "`name`", &c->name)) k++;
	if (k == args->pos.n) return 1;
	Diag *d = fail_diag(e, E0201, args->pos.at[k].at, "too many arguments for %s", c->shown);
	help_signature(e, c, d);
	return 0;
}

static int unknown_keyword(Elab *e, const OpCall *c, const Arg *a)
{
	const char **known = NEWN(e->mem, const char *, c->np + 1);
	int n = 0;
	for (int i = 0; i < c->np; i++)
		if (c->def->params[i].name[0] != '_') known[n++] = c->def->params[i].name;
	Diag *d = fail_diag(e, E0202, a->at, "%s has no parameter `%s`", c->shown, a->name);
	const char *near = nearest(a->name, known, n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	else help_signature(e, c, d);
	return 0;
}

static int bind_named(Elab *e, OpCall *c, const Args *args)
{
	for (int k = 0; k < args->named.n; k++) {
		const Arg *a = &args->named.at[k];
		int i = find_param(c->def, a->name);
		if (i < 0 && !strcmp(a->name, "name")) {
			if (is_given(a->v) && !want_str(e, a->v, a->at, "`name`", &c->name)) return 0;
			continue;
		}
		if (i < 0) return unknown_keyword(e, c, a);
		if (c->val[i].kind != V_UNSET) {
			fail(e, E0204, a->at, "%s gets `%s` twice", c->shown, a->name);
			return 0;
		}
		c->val[i] = a->v;
	}
	return 1;
}

static int bind(Elab *e, OpCall *c, const Args *args)
{
	for (int i = 0; i < c->np; i++) c->val[i] = v_unset();
	if (!bind_positional(e, c, args) || !bind_named(e, c, args)) return 0;
	for (int i = 0; i < c->np; i++) {
		const Param *p = &c->def->params[i];
		if (c->val[i].kind != V_UNSET || p->optional == OPTIONAL || p->kind == P_OPT_TENSOR || p->kind == P_HINT) continue;
		Diag *d = fail_diag(e, E0203, args->at, "%s needs an argument for `%s`", c->shown, p->name);
		help_signature(e, c, d);
		return 0;
	}
	return 1;
}

/* --- operands ------------------------------------------------------------------------------------------------------------ */
static void note_dtype(OpCall *c, Value v)
{
	if (c->dtype < 0 && v.kind == V_TENSOR) c->dtype = (int)v.u.tensor->spec.dtype;
}

/* operands whose dtype says nothing about the others': of any op, or of one */
static int stands_apart(const OpDef *d, const char *param)
{
	static const char *const names[] = { "condition", "indices", "labels", "label", "batch_index", "log2_scale", "seed", "seed_tensor", "offset" };
	static const struct { OpCode op; const char *param; } of_one[] = { { OP_onehot, "t" }, { OP_onehot, "values" } };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(param, names[i])) return 1;
	for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
		if (d == op_table[of_one[i].op] && !strcmp(param, of_one[i].param)) return 1;
	return 0;
}

static void find_dtype(OpCall *c)
{
	for (int i = 0; i < c->np; i++) {
		if (stands_apart(c->def, c->def->params[i].name)) continue;
		note_dtype(c, c->val[i]);
		if (c->def->params[i].kind == P_TENSORS && is_seq(c->val[i]))
			for (int k = 0; k < c->val[i].u.list->n; k++) note_dtype(c, c->val[i].u.list->at[k]);
	}
}

/* R331: a number for an offset is a u32; a negative one is left as it is, for the op to refuse */
static int constant_dtype(const OpCall *c, Value v, const char *param)
{
	if (!strcmp(param, "offset") && v.kind == V_INT && v.u.i >= 0) return DT_U32;
	return stands_apart(c->def, param) ? -1 : c->dtype;
}

static int add_operand(Elab *e, OpCall *c, Value v, const char *param)
{
	Tensor *t = NULL;
	const char *what = arena_printf(e->mem, "`%s` of %s", param, c->shown);
	if (v.kind == V_TENSOR) t = v.u.tensor;
	else if (is_number(v) || is_seq(v) || v.kind == V_ARRAY || v.kind == V_RANGE) t = constant_of(e, v, constant_dtype(c, v, param), NULL, c->at);
	else want_kind(e, v, V_TENSOR, c->at, what);
	if (!t || !in_graph(e, t, c->at, what)) return 0;
	vec_push(e->mem, &c->in, t);
	return 1;
}

static int add_operands(Elab *e, OpCall *c, Value v, const char *param)
{
	List items = { 0 };
	if (v.kind == V_TREE || v.kind == V_DICT) {
		Tree *t = want_tree(e, v, c->at, arena_printf(e->mem, "`%s` of %s", param, c->shown));
		if (!t) return 0;
		Leaves l = tree_leaves(e, t);
		for (int i = 0; i < l.at.n; i++) list_push(e->mem, &items, l.at.at[i].v);
	} else if (v.kind == V_TENSOR) list_push(e->mem, &items, v);
	else if (!items_of(e, v, c->at, &items)) return 0;
	for (int i = 0; i < items.n; i++)
		if (!add_operand(e, c, items.at[i], param)) return 0;
	return 1;
}

/* --- attributes ------------------------------------------------------------------------------------------------------------ */
static int ints_attr(Elab *e, Value v, Span at, const char *what, AttrVal *out)
{
	List items = { 0 };
	out->i = v.kind == V_INT;
	if (v.kind == V_INT) list_push(e->mem, &items, v);
	else if (!is_seq(v) && v.kind != V_RANGE) return want_int(e, v, at, what, &out->i);
	else if (!items_of(e, v, at, &items)) return 0;
	int64_t *x = NEWN(e->mem, int64_t, items.n + 1);
	for (int i = 0; i < items.n; i++) {
		x[i] = NO_INT;
		if (items.at[i].kind != V_NONE && !want_int(e, items.at[i], at, what, &x[i])) return 0;
	}
	out->ints.at = x;
	out->ints.n = items.n;
	return 1;
}

static int floats_attr(Elab *e, Value v, Span at, const char *what, AttrVal *out)
{
	List items = { 0 };
	if (!is_seq(v) && v.kind != V_RANGE) list_push(e->mem, &items, v);
	else if (!items_of(e, v, at, &items)) return 0;
	double *x = NEWN(e->mem, double, items.n + 1);
	for (int i = 0; i < items.n; i++)
		if (!want_float(e, items.at[i], at, what, &x[i])) return 0;
	out->floats.at = x;
	out->floats.n = items.n;
	return 1;
}

static int array_attr(Elab *e, Value v, Span at, AttrVal *out)
{
	out->p = array_of(e, v, -1, 1, at);
	return out->p != NULL;
}

static int stream_attr(Elab *e, Value v, Span at, const char *what, AttrVal *out)
{
	if (!want_kind(e, v, V_STREAM, at, what)) return 0;
	out->p = v.u.stream;
	if (v.u.stream->ir == e->b.ir) return 1;
	fail(e, E0420, at, "%s is a stream of another program", what);
	return 0;
}

static int attr_of(Elab *e, const Param *p, Value v, Span at, const char *what, AttrVal *out)
{
	DType t;
	int b = 0;
	out->set = 1;
	switch (p->kind) {
	case P_INT: case P_COUNT: return want_int(e, v, at, what, &out->i);
	case P_SCALAR: case P_FLOAT: return want_float(e, v, at, what, &out->f);
	case P_BOOL:
		if (!want_bool(e, v, at, what, &b)) return 0;
		out->i = b;
		return 1;
	case P_STR:    return want_str(e, v, at, what, &out->s);
	case P_DTYPE:
		if (!want_dtype(e, v, at, what, &t)) return 0;
		out->i = (int64_t)t;
		return 1;
	case P_INTS: case P_SHAPE: return ints_attr(e, v, at, what, out);
	case P_FLOATS: return floats_attr(e, v, at, what, out);
	case P_ARRAY:  return array_attr(e, v, at, out);
	case P_STREAM: return stream_attr(e, v, at, what, out);
	case P_BUFFER:
		out->p = v.u.buffer;
		return want_kind(e, v, V_BUFFER, at, what);
	case P_GROUP:
		if (!want_kind(e, v, V_GROUPING, at, what)) return 0;
		out->i = v.u.grouping->index;
		return v.u.grouping->ir == e->b.ir || (fail(e, E0420, at, "%s are groups of another program's replicas", what), 0);
	case P_GRAPH:
		out->p = want_graph(e, v, at, what);
		return out->p != NULL;
	default:
		fail(e, E0206, at, "%s cannot be given here", what);
		return 0;
	}
}

/* reductions that people take for ops of several operands */
static const struct { OpCode op; const char *by_element; } extremes[] = { { OP_max, "maximum" }, { OP_min, "minimum" } };

void help_by_element(Elab *e, Diag *d, const char *op, const char *operands)
{
	for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++)
		if (!strcmp(op_table[extremes[i].op]->name, op))
			diag_help(e->ds, d, (Span){ 0, 0, 0 }, "element by element it is `%s(%s)`", extremes[i].by_element, operands);
}

/* max(x, 0.0), x.max(y): an operand where an axis belongs; 0 after a diagnostic */
static int is_axis(Elab *e, const OpCall *c, const Param *p, Value v, const char *what)
{
	int axis = p->kind == P_INTS && (!strcmp(p->name, "axis") || !strcmp(p->name, "axes"));
	if (!axis || (!is_number(v) && v.kind != V_TENSOR && v.kind != V_ARRAY) || v.kind == V_INT) return 1;
	Diag *d = fail_diag(e, E0206, c->at, "%s must be an int or a list of ints, not %s", what, v_describe(e, v));
	help_by_element(e, d, c->def->name, arena_printf(e->mem, "a, %s", is_number(v) ? v_text(e, v) : "b"));
	return 0;
}

/* one parameter: an operand slot, an attribute, or (P_SCALAR, P_COUNT) one of each */
static int place(Elab *e, OpCall *c, int i)
{
	const Param *p = &c->def->params[i];
	Value v = c->val[i];
	Tensor *hole = NULL;
	const char *what = arena_printf(e->mem, "`%s` of %s", p->name, c->shown);
	if ((p->kind == P_HINT || p->kind == P_STR) && !strcmp(p->name, "name") && is_given(v)) return want_str(e, v, c->at, what, &c->name);
	switch (p->kind) {
	case P_HINT:    return 1;
	case P_TENSOR:  return add_operand(e, c, v, p->name);
	case P_TENSORS: return add_operands(e, c, v, p->name);
	case P_OPT_TENSOR:
		if (is_given(v)) return add_operand(e, c, v, p->name);
		vec_push(e->mem, &c->in, hole);
		return 1;
	case P_SCALAR: case P_COUNT:
		if (v.kind == V_TENSOR) return add_operand(e, c, v, p->name);
		vec_push(e->mem, &c->in, hole);
		break;
	default: break;
	}
	if (v.kind == V_UNSET || (v.kind == V_NONE && p->optional == OPTIONAL)) {
		c->attr[i] = p->init;
		if (v.kind == V_NONE) c->attr[i].set = 0;
		return 1;
	}
	return is_axis(e, c, p, v, what) && attr_of(e, p, v, c->at, what, &c->attr[i]);
}

Value op_results(Elab *e, Op *op, int n)
{
	for (int i = 0; i < op->out.n; i++)
		if (op->out.at[i]->poison) return v_error();
	if (n == 0) return v_none();
	return n == 1 ? v_of(V_TENSOR, op->out.at[0]) : v_tensors(e->mem, op->out.at, n);
}

/* loads: the plain form makes the tensor that it fills, the other is given it */
static int own_operand(Elab *e, OpCall *c)
{
	Diag *d;
	if (!c->inplace == !c->in.at[0]) {
		if (!c->inplace) c->in.at[0] = c->def->buffer(&e->b, c->in.at, c->attr, c->name);
		return 1;
	}
	if (c->inplace) d = fail_diag(e, E0203, c->at, "%s needs a tensor to load into", c->shown);
	else d = fail_diag(e, E0201, c->at, "%s makes its own tensor", c->shown);
	help_signature(e, c, d);
	return 0;
}

/* the op itself, of arguments that are bound */
static Value apply(Elab *e, OpCall *c)
{
	const OpDef *def = c->def;
	find_dtype(c);
	for (int i = 0; i < c->np; i++)
		if (!place(e, c, i)) return v_error();
	e->b.at = c->at;
	if (def->buffer && !own_operand(e, c)) return v_error();
	Op *op = (c->inplace ? ir_op_inplace : ir_op)(&e->b, (int)def->id, c->in.at, c->in.n, c->attr, c->name);
	if (op_transfers(op)) order_after_exchanges(op);
	if (def->nout == -2) {
		Value v = op_results(e, op, op->out.n);
		return v.kind == V_TENSOR ? v_tensors(e->mem, op->out.at, 1) : v;
	}
	return op_results(e, op, op->out.n - def->hidden);
}

/* --- numbers alone (numbers.c) --------------------------------------------------------------------------------------------- */
/* numbers, beside strings and none */
static int count_numbers(const Arg *at, int n)
{
	int numbers = 0;
	for (int i = 0; i < n; i++) {
		if (!is_number(at[i].v) && at[i].v.kind != V_STR && at[i].v.kind != V_NONE) return -1;
		numbers += is_number(at[i].v);
	}
	return numbers;
}

static int all_numbers(const OpDef *def, int inplace, const Args *args)
{
	if (inplace || !op_takes_numbers(def)) return 0;
	int pos = count_numbers(args->pos.at, args->pos.n), named = count_numbers(args->named.at, args->named.n);
	return pos >= 0 && named >= 0 && pos + named > 0;
}

/* What the op demands of its attributes is its own rule's affair: it is made, in a program that nobody sees. */
static int attributes_fit(Elab *e, OpCall *c)
{
	int needed = 0;
	for (int i = 0; i < c->np; i++) needed |= c->def->params[i].kind == P_FLOAT || c->def->params[i].kind == P_INT;
	if (!needed) return 1;
	Build was = e->b;
	e->b = ir_build(ir_new(e->mem, e->names, e->ds, 1)->main);
	e->b.chain = was.chain;
	c->dtype = DT_F64;
	Value v = apply(e, c);
	e->b = was;
	return !is_error(v);
}

static Value of_numbers(Elab *e, OpCall *c)
{
	int i = op_param(c->def, "name"), named = c->name || (i >= 0 && is_given(c->val[i]));
	if (!named) return attributes_fit(e, c) ? op_of_numbers(e, c->def, c->val, c->at) : v_error();
	Diag *d = fail_diag(e, E0206, c->at, "%s of numbers is a number, which has no name", c->shown);
	diag_help(e->ds, d, (Span){ 0, 0, 0 }, "`constant(2.0, f32, name = \"x\")` is a tensor with a name");
	return v_error();
}

Value call_op(Elab *e, const OpDef *def, int inplace, Args *given)
{
	Args own = *given, *args = &own;
	if (!op_arguments(e, def, args)) return v_error();
	OpCall c = { .def = def, .inplace = inplace, .at = args->at, .dtype = -1 };
	while (def->params[c.np].kind != P_END) c.np++;
	c.shown = arena_printf(e->mem, "`%s`", op_spelled(def, inplace));
	c.val = NEWN(e->mem, Value, c.np + 1);
	c.attr = NEWN(e->mem, AttrVal, c.np + 1);
	int numbers = all_numbers(def, inplace, args);
	if (!numbers && !building(e, args->at, arena_printf(e->mem, "the op %s is used", c.shown))) return v_error();
	if (!bind(e, &c, args)) return v_error();
	return numbers ? of_numbers(e, &c) : apply(e, &c);
}

Value op_by_name(Elab *e, const char *name, Span at, int n, ...)
{
	Args args = { 0 };
	args.at = at;
	va_list ap;
	va_start(ap, n);
	for (int i = 0; i < n; i++) args_add(e, &args, NULL, va_arg(ap, Value), at);
	va_end(ap);
	int inplace = 0;
	const OpDef *def = op_find(name, &inplace);
	return def ? call_op(e, def, inplace, &args) : fail(e, E0122, at, "the op `%s` is not available yet", name);
}
