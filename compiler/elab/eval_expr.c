/* eval_expr.c — expressions to values. */
#include "compiler/elab/eval.h"

#include <string.h>

static Value eval_str(Elab *e, Env *env, const Ast *a)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	for (int i = 0; i < a->u.list.n; i++) {
		const Ast *part = a->u.list.at[i];
		if (part->kind == A_TEXT) {
			buf_put(&b, part->u.text.s, (size_t)part->u.text.len);
			continue;
		}
		Value v = eval(e, env, part);
		if (is_error(v)) return v;
		value_show(e, v, 0, &b);
	}
	return v_str(e->mem, b.s, b.n);
}

/* [a, *bs]: the star is an ARG in lists too */
static int eval_items(Elab *e, Env *env, const AstList *list, List *out)
{
	int ok = 1;
	for (int i = 0; i < list->n; i++) {
		const Ast *a = list->at[i];
		Value v = eval(e, env, a->kind == A_ARG ? a->u.arg.val : a);
		if (is_error(v)) ok = 0;
		else if (a->kind == A_ARG && a->u.arg.star) ok = items_of(e, v, a->at, out) && ok;
		else list_push(e->mem, out, v);
	}
	return ok;
}

static Value eval_list(Elab *e, Env *env, const Ast *a)
{
	Value v = a->kind == A_TUPLE ? v_tuple(e->mem) : v_list(e->mem);
	return eval_items(e, env, &a->u.list, v.u.list) ? v : v_error();
}

static int add_item(Elab *e, Env *env, const Ast *item, Dict *out)
{
	Value k = eval(e, env, item->u.item.key), v = eval(e, env, item->u.item.val);
	if (is_error(k) || is_error(v)) return 0;
	const void *key = dict_key(e->names, k);
	if (key) dict_set(e->mem, out, key, k, v);
	else fail(e, E0121, item->u.item.key->at, "%s cannot be a key", v_describe(e, k));
	return key != NULL;
}

static Value eval_dict(Elab *e, Env *env, const Ast *a)
{
	Value d = v_dict(e->mem);
	for (int i = 0; i < a->u.list.n; i++)
		if (!add_item(e, env, a->u.list.at[i], d.u.dict)) return v_error();
	return d;
}

/* one value of a comprehension, behind those before it: 0 after a diagnostic */
static int comp_turn(Elab *e, Env *env, const Ast *a, Value item, Value out)
{
	int errors = e->ds->errors;
	if (!step(e, a->at)) return 0;
	assign_names(e, env, &a->u.comp.names, item);
	if (e->ds->errors != errors) return 0;
	if (a->u.comp.cond) {
		int c = eval_bool(e, eval(e, env, a->u.comp.cond), a->u.comp.cond->at, "the filter of a comprehension");
		if (c <= 0) return c == 0;
	}
	if (out.kind == V_DICT) return add_item(e, env, a->u.comp.body, out.u.dict);
	Value v = eval(e, env, a->u.comp.body);
	if (!is_error(v)) list_push(e->mem, out.u.list, v);
	return !is_error(v);
}

static Value eval_comp(Elab *e, Env *env, const Ast *a)
{
	Value iter = eval(e, env, a->u.comp.iter), out = a->u.comp.body->kind == A_ITEM ? v_dict(e->mem) : v_list(e->mem);
	List items = { 0 };
	if (is_error(iter) || !loop_items(e, iter, a->u.comp.names.n, a->u.comp.iter->at, &items)) return v_error();
	Env *in = env_new(e, env);
	for (int i = 0; i < items.n; i++)
		if (!comp_turn(e, in, a, items.at[i], out)) return v_error();
	return out;
}

int eval_bool(Elab *e, Value v, Span at, const char *where)
{
	if (v.kind == V_BOOL) return v.u.b;
	if (is_error(v)) return -1;
	if (v.kind == V_TENSOR) {
		Diag *d = fail_diag(e, E0117, at, "a tensor has no value while the model is built, so it cannot be %s", where);
		diag_label(e->ds, d, "this is %s", v_describe(e, v));
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "use `&`, `|`, `~` and comparisons as ops, `where` to select elements, or `conditional` to choose a graph");
	} else {
		Diag *d = fail_diag(e, E0106, at, "%s must be a bool", where);
		diag_label(e->ds, d, "this is %s", v_describe(e, v));
	}
	return -1;
}

static Value eval_logic(Elab *e, Env *env, const Ast *a)
{
	AstOp op = a->u.op.op;
	const char *where = op == AO_AND ? "an operand of `and`" : op == AO_OR ? "an operand of `or`" : "the operand of `not`";
	int x = eval_bool(e, eval(e, env, a->u.op.a), a->u.op.a->at, where);
	if (x < 0) return v_error();
	if (op == AO_NOT) return v_bool(!x);
	if (x == (op == AO_OR)) return v_bool(x);
	x = eval_bool(e, eval(e, env, a->u.op.b), a->u.op.b->at, where);
	return x < 0 ? v_error() : v_bool(x);
}

static Value eval_op(Elab *e, Env *env, const Ast *a)
{
	AstOp op = a->u.op.op;
	if (op == AO_AND || op == AO_OR || op == AO_NOT) return eval_logic(e, env, a);
	Value x = eval(e, env, a->u.op.a);
	if (a->kind == A_UNARY) return is_error(x) ? x : eval_unary(e, op, x, a->at);
	Value y = eval(e, env, a->u.op.b);
	return is_error(x) || is_error(y) ? v_error() : eval_binary(e, op, x, y, a->at);
}

static Value eval_cond(Elab *e, Env *env, const Ast *a)
{
	int c = eval_bool(e, eval(e, env, a->u.cond.cond), a->u.cond.cond->at, "the condition of `if`");
	if (c < 0) return v_error();
	return eval(e, env, c ? a->u.cond.then : a->u.cond.other);
}

static Value eval_sub(Elab *e, Env *env, const Ast *a)
{
	if (a->kind != A_SLICE) return eval(e, env, a);
	Value part[3];
	const Ast *src[3] = { a->u.slice.lo, a->u.slice.hi, a->u.slice.step };
	for (int i = 0; i < 3; i++) {
		part[i] = src[i] ? eval(e, env, src[i]) : v_none();
		if (is_error(part[i])) return v_error();
	}
	return make_slice(e, part[0], part[1], part[2]);
}

static Value eval_subs(Elab *e, Env *env, const Ast *a)
{
	Value obj = eval(e, env, a->u.index.obj);
	int n = a->u.index.subs.n, ok = !is_error(obj);
	Value *subs = NEWN(e->mem, Value, n + 1);
	for (int i = 0; i < n; i++) {
		subs[i] = eval_sub(e, env, a->u.index.subs.at[i]);
		ok = ok && !is_error(subs[i]);
	}
	return ok ? eval_index(e, obj, subs, n, a->at) : v_error();
}

static int dict_args(Elab *e, Value v, Span at, Args *args)
{
	if (v.kind == V_TREE) v = tree_dict(e, v.u.tree);
	if (v.kind != V_DICT) {
		fail(e, E0206, at, "`**` takes a dict, not %s", v_describe(e, v));
		return 0;
	}
	int ok = 1;
	DICT_EACH(v.u.dict, x) {
		if (x->key.kind == V_STR) args_add(e, args, x->key.u.str->s, x->val, at);
		else ok = 0;
	}
	if (!ok) fail(e, E0206, at, "`**` takes a dict whose keys are strings");
	return ok;
}

static int eval_args(Elab *e, Env *env, const AstList *list, Args *args)
{
	int ok = 1;
	for (int i = 0; i < list->n; i++) {
		const Ast *a = list->at[i];
		Value v = eval(e, env, a->u.arg.val);
		if (is_error(v)) { ok = 0; continue; }
		if (a->u.arg.star == STAR_STAR) { ok = dict_args(e, v, a->at, args) && ok; continue; }
		if (a->u.arg.star == NO_STAR) { args_add(e, args, a->u.arg.name, v, a->at); continue; }
		List more = { 0 };
		ok = items_of(e, v, a->at, &more) && ok;
		for (int k = 0; k < more.n; k++) args_add(e, args, NULL, more.at[k], a->at);
	}
	return ok;
}

static void taint(Value v)
{
	if (v.kind == V_METHOD) v = v.u.method->self;
	if (v.kind == V_INSTANCE) v.u.inst->tainted = 1;
}

/* a call that an error kept from happening: what it would have set in its modules is not there */
static Value skipped(Value fn, const Args *args)
{
	taint(fn);
	for (int i = 0; i < args->pos.n; i++) taint(args->pos.at[i].v);
	for (int i = 0; i < args->named.n; i++) taint(args->named.at[i].v);
	return v_error();
}

static Value eval_call(Elab *e, Env *env, const Ast *a)
{
	Value fn = eval(e, env, a->u.call.fn);
	Args args = { 0 };
	args.at = a->at;
	int ok = eval_args(e, env, &a->u.call.args, &args);
	if (is_error(fn) || !ok || !step(e, a->at)) return skipped(fn, &args);
	Span was = e->at;
	e->at = e->b.at = a->at;
	Value v = call_value(e, fn, &args);
	e->at = e->b.at = was;
	return is_error(v) ? skipped(fn, &args) : v;
}

static Value eval_fn(Elab *e, Env *env, const Ast *a)
{
	Fn *f = NEW(e->mem, Fn);
	*f = (Fn){ a->u.fn.name, &a->u.fn.params, a->u.fn.body, a->u.fn.is_expr, env, NULL };
	for (Env *s = env; s && !f->self; s = s->up) f->self = s->inst;
	return v_of(V_FN, f);
}

static Value eval_field(Elab *e, Env *env, const Ast *a)
{
	const Ast *of = a->u.field.obj;
	Span at = a->u.field.name_at.src ? a->u.field.name_at : a->at;
	Value v = of->kind == A_NAME ? env_group_op(e, env, of->u.name, a->u.field.name, at) : v_unset();
	if (v.kind != V_UNSET) return v;
	Value obj = eval(e, env, of);
	return is_error(obj) ? obj : get_field(e, obj, a->u.field.name, at);
}

static Value eval_here(Elab *e, Env *env, const Ast *a)
{
	switch (a->kind) {
	case A_NONE:  return v_none();
	case A_BOOL:  return v_bool(a->u.b);
	case A_INT:   return v_int(a->u.i);
	case A_FLOAT: return v_float(a->u.f);
	case A_STR:   return eval_str(e, env, a);
	case A_TEXT:  return v_str(e->mem, a->u.text.s, (size_t)a->u.text.len);
	case A_NAME:  return env_get(e, env, a->u.name, a->at);
	case A_LIST: case A_TUPLE: return eval_list(e, env, a);
	case A_DICT:  return eval_dict(e, env, a);
	case A_COMP:  return eval_comp(e, env, a);
	case A_CALL:  return eval_call(e, env, a);
	case A_INDEX: return eval_subs(e, env, a);
	case A_UNARY: case A_BINARY: return eval_op(e, env, a);
	case A_COND:  return eval_cond(e, env, a);
	case A_FN:    return eval_fn(e, env, a);
	case A_FIELD: return eval_field(e, env, a);
	case A_ERROR: return v_error();
	default:      return fail(e, E0116, a->at, "a %s does not stand in an expression", ast_kind_name[a->kind]);
	}
}

Value eval(Elab *e, Env *env, const Ast *a)
{
	if (!a || !enter(e, a->at)) return v_error();
	Value v = eval_here(e, env, a);
	leave(e);
	return v;
}
