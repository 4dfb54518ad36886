/* tree.c — building nodes, and the rules that a grammar cannot say: what may be assigned to, which
 * parameters and arguments go together, how deep a tree may be.
 *
 * Every node is made here.  A child is taken over by adopt(), which keeps count of the depth and cuts a
 * branch that gets too deep; so whoever walks the tree later may recurse without fear. */
#include "lang/parse.h"

static Ast *adopt(Parse *p, Ast *a, Ast *child)
{
	if (!child) return NULL;
	if (child->depth >= AST_MAX_DEPTH) {
		syntax_too_deep(p, child->at);
		child = tree_node(p, A_ERROR, child->at);
	}
	if (a->depth <= child->depth) a->depth = child->depth + 1;
	return child;
}

static AstList adopt_all(Parse *p, Ast *a, AstList list)
{
	for (int i = 0; i < list.n; i++) list.at[i] = adopt(p, a, list.at[i]);
	return list;
}

Ast *tree_node(Parse *p, AstKind kind, Span at)
{
	Ast *a = NEW(p->mem, Ast);
	a->kind = kind;
	a->depth = 1;
	a->at = at;
	return a;
}

Ast *tree_list(Parse *p, AstKind kind, Span at, AstList list)
{
	Ast *a = tree_node(p, kind, at);
	a->u.list = adopt_all(p, a, list);
	return a;
}

Ast *tree_name(Parse *p, const char *name, Span at)
{
	Ast *a = tree_node(p, A_NAME, at);
	a->u.name = name;
	return a;
}

Ast *tree_unary(Parse *p, AstOp op, Ast *x, Span at, Span op_at)
{
	Ast *a = tree_node(p, A_UNARY, at);
	a->u.op.op = op;
	a->u.op.op_at = op_at;
	a->u.op.a = adopt(p, a, x);
	return a;
}

static const char *kind_text(AstKind k)
{
	switch (k) {
	case A_CALL: return "a call";
	case A_BOOL: case A_INT: case A_FLOAT: case A_STR: case A_NONE: return "a constant";
	case A_DICT: return "a dict";
	case A_FN: return "a function";
	case A_COND: return "a conditional expression";
	case A_COMP: return "a comprehension";
	case A_TUPLE: case A_LIST: return "an empty list of names";
	default: return "the result of an operation";
	}
}

static int is_starred(const Ast *a) { return a->kind == A_ARG && a->u.arg.star == STAR; }

/* one name takes what the others leave: there cannot be two */
static void check_stars(Parse *p, AstList list)
{
	const Ast *first = NULL;
	for (int i = 0; i < list.n; i++) {
		const Ast *a = list.at[i];
		if (is_starred(a) && first) {
			Diag *d = diag(p->ds, E0010, a->at, "two targets of one list have a star");
			diag_label(p->ds, d, "it is open how many values this one takes");
			diag_note(p->ds, d, first->at, "this one takes all that the others leave");
			return;
		}
		if (is_starred(a)) first = a;
	}
}

static void check_target(Parse *p, const Ast *t, int several);

static void check_targets(Parse *p, AstList list)
{
	check_stars(p, list);
	for (int i = 0; i < list.n; i++) {
		const Ast *a = list.at[i];
		check_target(p, is_starred(a) ? a->u.arg.val : a, 1);
	}
}

/* names, fields, elements, and tuples or lists of these */
static void check_target(Parse *p, const Ast *t, int several)
{
	if (t->kind == A_NAME || t->kind == A_FIELD || t->kind == A_INDEX || t->kind == A_ERROR) return;
	int list = t->kind == A_TUPLE || t->kind == A_LIST;
	if (list && several && t->u.list.n) {
		check_targets(p, t->u.list);
		return;
	}
	if (list && t->u.list.n) {
		diag(p->ds, E0010, t->at, "in-place operators take one target");
		return;
	}
	Diag *d = diag(p->ds, E0010, t->at, "cannot assign to %s", kind_text(t->kind));
	if (several && t->kind == A_BINARY && t->u.op.op == AO_EQ) diag_help(p->ds, d, t->u.op.op_at, "`==` compares; `=` assigns");
	else diag_help(p->ds, d, (Span){0}, "assign to a name, a field `self.f`, an element `a[i]`, or several of these: `a, b = f(x)`");
}

Ast *tree_binary(Parse *p, AstKind kind, AstOp op, Ast *x, Ast *y, Span op_at)
{
	Ast *a = tree_node(p, kind, span_join(x->at, y->at));
	a->u.op.op = op;
	a->u.op.op_at = op_at;
	if (kind == A_UPDATE) check_target(p, x, 0);
	a->u.op.a = adopt(p, a, x);
	a->u.op.b = adopt(p, a, y);
	return a;
}

Ast *tree_assign(Parse *p, Ast *target, Ast *val)
{
	Ast *a = tree_node(p, A_ASSIGN, span_join(target->at, val->at));
	check_target(p, target, 1);
	a->u.assign.target = adopt(p, a, target);
	a->u.assign.val = adopt(p, a, val);
	return a;
}

Ast *tree_cond(Parse *p, AstKind kind, Span at, Ast *cond, Ast *then, Ast *other)
{
	Ast *a = tree_node(p, kind, at);
	a->u.cond.cond = adopt(p, a, cond);
	a->u.cond.then = adopt(p, a, then);
	a->u.cond.other = adopt(p, a, other);
	return a;
}

static void check_repeated_param(Parse *p, const AstList *params, int i)
{
	const Ast *a = params->at[i];
	for (int j = 0; j < i; j++)
		if (params->at[j]->u.param.name == a->u.param.name) {
			Diag *d = diag(p->ds, E0013, a->u.param.name_at, "parameter `%s` is declared twice", a->u.param.name);
			diag_note(p->ds, d, params->at[j]->u.param.name_at, "first declared here");
			return;
		}
}

/* plain, then with defaults, then *rest, then by name only, then **named */
static void check_params(Parse *p, AstList params)
{
	const Ast *defaulted = NULL, *rest = NULL, *named = NULL;
	for (int i = 0; i < params.n; i++) {
		const Ast *a = params.at[i];
		if (i < 1000) check_repeated_param(p, &params, i);
		const char *wrong = NULL;
		if (named) wrong = "a parameter follows `**named`, which takes all that is left";
		else if (a->u.param.star == STAR && rest) wrong = "a second `*` parameter";
		else if (a->u.param.star == NO_STAR && !a->u.param.init && defaulted && !rest)
			wrong = "a parameter without a default follows one with a default";
		if (wrong) {
			diag(p->ds, E0014, a->at, "%s", wrong);
			return;
		}
		if (a->u.param.star == STAR) rest = a;
		if (a->u.param.star == STAR_STAR) named = a;
		if (a->u.param.init) defaulted = a;
	}
}

/* { with around { body } }: an expression is what the body returns */
static Ast *body_around(Parse *p, AstList around, Ast *body, int is_expr)
{
	Ast *inner = is_expr ? tree_expr(p, A_RETURN, body->at, body) : body;
	AstList one = { 0 }, outer = { 0 };
	vec_push(p->mem, &one, inner);
	if (is_expr) inner = tree_list(p, A_BLOCK, body->at, one);
	Ast *with = tree_with(p, span_join(around.at[0]->at, body->at), around, inner);
	vec_push(p->mem, &outer, with);
	return tree_list(p, A_BLOCK, with->at, outer);
}

Ast *tree_fn(Parse *p, AstKind kind, Span at, const char *name, Span name_at, AstList params, AstList around, Ast *body, int is_expr)
{
	Ast *a = tree_node(p, kind, at);
	check_params(p, params);
	if (around.n) {
		body = body_around(p, around, body, is_expr);
		is_expr = 0;
	}
	a->u.fn.name = name;
	a->u.fn.name_at = name_at;
	a->u.fn.params = adopt_all(p, a, params);
	a->u.fn.body = adopt(p, a, body);
	a->u.fn.is_expr = is_expr;
	return a;
}

Ast *tree_build(Parse *p, Span at, const char *name, Span name_at, AstList params, AstList around, Ast *body, int is_expr)
{
	return tree_fn(p, A_BUILD, at, intern_str(p->names, name), name_at, params, around, body, is_expr);
}

Ast *tree_param(Parse *p, Span at, const char *name, Span name_at, Star star, Ast *type, Ast *init)
{
	Ast *a = tree_node(p, A_PARAM, at);
	a->u.param.name = name;
	a->u.param.name_at = name_at;
	a->u.param.star = star;
	a->u.param.type = adopt(p, a, type);
	a->u.param.init = adopt(p, a, init);
	return a;
}

Ast *tree_arg(Parse *p, Span at, const char *name, Star star, Ast *val)
{
	Ast *a = tree_node(p, A_ARG, at);
	a->u.arg.name = name;
	a->u.arg.star = star;
	a->u.arg.val = adopt(p, a, val);
	return a;
}

static void check_repeated_arg(Parse *p, const AstList *args, int i)
{
	const Ast *a = args->at[i];
	for (int j = 0; j < i && a->u.arg.name; j++)
		if (args->at[j]->u.arg.name == a->u.arg.name) {
			Diag *d = diag(p->ds, E0013, a->at, "argument `%s` is given twice", a->u.arg.name);
			diag_note(p->ds, d, args->at[j]->at, "first given here");
			return;
		}
}

static void check_args(Parse *p, AstList args)
{
	const Ast *named = NULL;
	for (int i = 0; i < args.n; i++) {
		const Ast *a = args.at[i];
		if (i < 1000) check_repeated_arg(p, &args, i);
		if (named && !a->u.arg.name && a->u.arg.star == NO_STAR) {
			Diag *d = diag(p->ds, E0014, a->at, "an argument by position follows one by name");
			diag_note(p->ds, d, named->at, "arguments by name come last");
			return;
		}
		if (a->u.arg.name || a->u.arg.star == STAR_STAR) named = a;
	}
}

Ast *tree_call(Parse *p, Span at, Ast *fn, AstList args)
{
	Ast *a = tree_node(p, A_CALL, at);
	check_args(p, args);
	a->u.call.fn = adopt(p, a, fn);
	a->u.call.args = adopt_all(p, a, args);
	return a;
}

Ast *tree_index(Parse *p, Span at, Ast *obj, AstList subs)
{
	Ast *a = tree_node(p, A_INDEX, at);
	a->u.index.obj = adopt(p, a, obj);
	a->u.index.subs = adopt_all(p, a, subs);
	return a;
}

Ast *tree_slice(Parse *p, Span at, Ast *lo, Ast *hi, Ast *step)
{
	Ast *a = tree_node(p, A_SLICE, at);
	a->u.slice.lo = adopt(p, a, lo);
	a->u.slice.hi = adopt(p, a, hi);
	a->u.slice.step = adopt(p, a, step);
	return a;
}

Ast *tree_field(Parse *p, Span at, Ast *obj, const char *name, Span name_at)
{
	Ast *a = tree_node(p, A_FIELD, at);
	a->u.field.obj = adopt(p, a, obj);
	a->u.field.name = name;
	a->u.field.name_at = name_at;
	return a;
}

Ast *tree_item(Parse *p, Ast *key, Ast *val)
{
	Ast *a = tree_node(p, A_ITEM, span_join(key->at, val->at));
	a->u.item.key = adopt(p, a, key);
	a->u.item.val = adopt(p, a, val);
	return a;
}

/* `*rest` alone: neither a value nor a target, as nothing says that there is a list */
static Ast *lone(Parse *p, Ast *a, const char *help)
{
	if (!is_starred(a)) return a;
	Diag *d = diag(p->ds, E0001, a->at, "a star without a list around it");
	diag_help(p->ds, d, (Span){0}, "%s", help);
	return tree_node(p, A_ERROR, a->at);
}

Ast *tree_lone(Parse *p, Ast *elem)
{
	return lone(p, elem, "a star spreads values in a list, `[*xs, y]`, and among names takes what is left, `x, *rest = xs`");
}

/* the names of a loop or comprehension */
static AstList loop_names(Parse *p, Ast *a, AstList names)
{
	if (names.n == 1) names.at[0] = lone(p, names.at[0], "`for x in xs` gives each value whole; `for x, *rest in xs` takes it apart");
	check_targets(p, names);
	return adopt_all(p, a, names);
}

Ast *tree_comp(Parse *p, Span at, Ast *body, AstList names, Ast *iter, Ast *cond)
{
	Ast *a = tree_node(p, A_COMP, at);
	a->u.comp.body = adopt(p, a, body);
	a->u.comp.names = loop_names(p, a, names);
	a->u.comp.iter = adopt(p, a, iter);
	a->u.comp.cond = adopt(p, a, cond);
	return a;
}

Ast *tree_expr(Parse *p, AstKind kind, Span at, Ast *expr)
{
	Ast *a = tree_node(p, kind, at);
	a->u.expr = adopt(p, a, expr);
	return a;
}

Ast *tree_loop(Parse *p, AstKind kind, Span at, AstList names, Ast *iter, Ast *body)
{
	Ast *a = tree_node(p, kind, at);
	a->u.loop.names = loop_names(p, a, names);
	a->u.loop.iter = adopt(p, a, iter);
	a->u.loop.body = adopt(p, a, body);
	return a;
}

Ast *tree_assert(Parse *p, Span at, Ast *cond, Ast *msg)
{
	Ast *a = tree_node(p, A_ASSERT, at);
	a->u.check.cond = adopt(p, a, cond);
	a->u.check.msg = adopt(p, a, msg);
	return a;
}

Ast *tree_with(Parse *p, Span at, AstList items, Ast *body)
{
	Ast *a = tree_node(p, A_WITH, at);
	a->u.with.items = adopt_all(p, a, items);
	a->u.with.body = adopt(p, a, body);
	return a;
}

Ast *tree_withitem(Parse *p, Span at, Ast *expr, const char *name, Span name_at)
{
	Ast *a = tree_node(p, A_WITHITEM, at);
	a->u.withitem.expr = adopt(p, a, expr);
	a->u.withitem.name = name;
	a->u.withitem.name_at = name_at;
	return a;
}

static void set_build(Parse *p, Ast *m, Ast **slot, Ast *build)
{
	if (!*slot) {
		*slot = adopt(p, m, build);
		return;
	}
	Diag *d = diag(p->ds, E0013, build->u.fn.name_at, "module `%s` has two `%s`", m->u.module.name, build->u.fn.name);
	diag_note(p->ds, d, (*slot)->u.fn.name_at, "the first is here");
}

Ast *tree_module(Parse *p, Span at, const char *name, Span name_at, AstList params, AstList members)
{
	Ast *a = tree_node(p, A_MODULE, at);
	check_params(p, params);
	a->u.module.name = name;
	a->u.module.name_at = name_at;
	a->u.module.params = adopt_all(p, a, params);
	for (int i = 0; i < members.n; i++) {
		Ast *m = members.at[i];
		if (m->kind != A_BUILD) {
			m = adopt(p, a, m);
			vec_push(p->mem, &a->u.module.members, m);
		} else {
			set_build(p, a, m->u.fn.name[5] ? &a->u.module.build_grad : &a->u.module.build, m);
		}
	}
	return a;
}

Ast *tree_program(Parse *p, Span at, const char *name, Span name_at, AstList params, AstList settings, Ast *body)
{
	Ast *a = tree_node(p, A_PROGRAM, at);
	check_params(p, params);
	a->u.program.name = name;
	a->u.program.name_at = name_at;
	a->u.program.params = adopt_all(p, a, params);
	a->u.program.settings = adopt_all(p, a, settings);
	a->u.program.body = adopt(p, a, body);
	return a;
}

Ast *tree_setting(Parse *p, Span at, const char *name, Span name_at, Ast *val)
{
	Ast *a = tree_node(p, A_SETTING, at);
	a->u.setting.name = name;
	a->u.setting.name_at = name_at;
	a->u.setting.val = adopt(p, a, val);
	return a;
}

Ast *tree_fields(Parse *p, AstKind kind, Span at, const char *name, Span name_at, AstList fields)
{
	Ast *a = tree_node(p, kind, at);
	a->u.task.name = name;
	a->u.task.name_at = name_at;
	a->u.task.fields = adopt_all(p, a, fields);
	for (int i = 1; i < fields.n && i < 1000; i++)
		for (int j = 0; j < i; j++)
			if (fields.at[j]->u.setting.name == fields.at[i]->u.setting.name) {
				Diag *d = diag(p->ds, E0013, fields.at[i]->u.setting.name_at, "`%s` is set twice", fields.at[i]->u.setting.name);
				diag_note(p->ds, d, fields.at[j]->u.setting.name_at, "first set here");
				break;
			}
	return a;
}
