/* eval_stmt.c — statements.  After an error the next statement runs; what could not be computed is V_ERROR. */
#include "compiler/elab/eval.h"

#include <string.h>

/* --- assignment ------------------------------------------------------------------------------------------------------ */
static int is_starred(const Ast *t) { return t->kind == A_ARG && t->u.arg.star == STAR; }

/* are there as many values as targets, or enough for all but the one with a star? */
static int values_suffice(Elab *e, const Ast *target, int n, int star)
{
	int need = target->u.list.n - (star >= 0);
	if (star < 0 ? n == need : n >= need) return 1;
	Diag *d = fail_diag(e, E0103, target->at, "%d names for %d value%s", target->u.list.n, n, n == 1 ? "" : "s");
	if (star >= 0)
		diag_label(e->ds, d, "at least %d value%s needed: only the name with a star may get none", need, need == 1 ? " is" : "s are");
	return 0;
}

static void assign_each(Elab *e, Env *env, const Ast *target, Value v)
{
	const AstList *to = &target->u.list;
	List got = { 0 };
	int star = -1;
	for (int i = 0; i < to->n; i++)
		if (is_starred(to->at[i])) star = i;
	int ok = !is_error(v) && items_of(e, v, target->at, &got) && values_suffice(e, target, got.n, star);
	for (int i = 0, k = 0; i < to->n; i++) {
		Value x = v_error();
		if (ok && i == star) {
			x = v_list(e->mem);
			for (int m = got.n - (to->n - 1); m > 0; m--) list_push(e->mem, x.u.list, got.at[k++]);
		} else if (ok) x = got.at[k++];
		assign(e, env, i == star ? to->at[i]->u.arg.val : to->at[i], x);
	}
}

void assign_names(Elab *e, Env *env, const AstList *names, Value item)
{
	if (names->n == 1) {
		assign(e, env, names->at[0], item);
		return;
	}
	Ast pattern = { .kind = A_TUPLE, .at = span_join(names->at[0]->at, names->at[names->n - 1]->at), .u.list = *names };
	assign(e, env, &pattern, item);
}

static void assign_index(Elab *e, Env *env, const Ast *t, Value v)
{
	Value obj = eval(e, env, t->u.index.obj);
	if (t->u.index.subs.n != 1 || t->u.index.subs.at[0]->kind == A_SLICE) {
		if (!is_error(obj)) fail(e, E0113, t->at, "only one item at a time can be assigned");
		return;
	}
	Value key = eval(e, env, t->u.index.subs.at[0]);
	if (!is_error(obj) && !is_error(key) && !is_error(v)) set_index(e, obj, key, v, t->at);
}

void assign(Elab *e, Env *env, const Ast *t, Value v)
{
	switch (t->kind) {
	case A_NAME:
		e->at = t->at;
		env_set(e, env, t->u.name, v);
		return;
	case A_TUPLE: case A_LIST:
		assign_each(e, env, t, v);
		return;
	case A_INDEX:
		assign_index(e, env, t, v);
		return;
	case A_FIELD: {
		Value obj = eval(e, env, t->u.field.obj);
		if (!is_error(obj)) set_field(e, obj, t->u.field.name, v, t->at);
		return;
	}
	case A_ERROR:
		return;
	default:
		fail(e, E0113, t->at, "cannot assign to this");
	}
}

/* x op= y: on tensors `+=` is add_ and the name then denotes its result; lists grow in place; all else rebinds */
static Value updated(Elab *e, AstOp op, Value x, Value y, Span at)
{
	if (op == AO_ADD && x.kind == V_TENSOR) return op_by_name(e, "add_", at, 2, x, y);
	if (op != AO_ADD || x.kind != V_LIST) return eval_binary(e, op, x, y, at);
	if (x.u.list->busy) return fail(e, E0111, at, "this list is being walked by a loop, so it cannot grow");
	List more = { 0 };
	if (!items_of(e, y, at, &more)) return v_error();
	for (int i = 0; i < more.n; i++) list_push(e->mem, x.u.list, more.at[i]);
	return x;
}

static void exec_update(Elab *e, Env *env, const Ast *a)
{
	Value x = eval(e, env, a->u.op.a), y = eval(e, env, a->u.op.b);
	Span was = e->b.at;
	e->b.at = a->at;
	Value v = is_error(x) || is_error(y) ? v_error() : updated(e, a->u.op.op, x, y, a->at);
	e->b.at = was;
	assign(e, env, a->u.op.a, v);
}

/* --- loops and branches --------------------------------------------------------------------------------------------------- */
static Flow exec_if(Elab *e, Env *env, const Ast *a)
{
	int c = eval_bool(e, eval(e, env, a->u.cond.cond), a->u.cond.cond->at, "the condition of `if`");
	if (c < 0) {
		env_poison(e, env, a);
		return FLOW_NEXT;
	}
	const Ast *next = c ? a->u.cond.then : a->u.cond.other;
	if (!next) return FLOW_NEXT;
	return next->kind == A_IF ? exec(e, env, next) : exec_block(e, env, next);
}

static int *busy_of(Value v)
{
	switch (v.kind) {
	case V_LIST: return &v.u.list->busy;
	case V_DICT: return &v.u.dict->busy;
	case V_TREE: return &v.u.tree->busy;
	default:     return NULL;
	}
}

static Flow turn(Elab *e, Env *env, const Ast *a, Value item)
{
	if (!step(e, a->at)) return FLOW_STOP;
	assign_names(e, env, &a->u.loop.names, item);
	return exec_block(e, env, a->u.loop.body);
}

static Flow exec_for(Elab *e, Env *env, const Ast *a)
{
	Value iter = eval(e, env, a->u.loop.iter);
	List items = { 0 };
	if (is_error(iter) || !loop_items(e, iter, a->u.loop.names.n, a->u.loop.iter->at, &items)) {
		env_poison(e, env, a);
		return FLOW_NEXT;
	}
	int *busy = busy_of(iter);
	Flow f = FLOW_NEXT;
	e->loops++;
	if (busy) ++*busy;
	for (int i = 0; i < items.n && (f == FLOW_NEXT || f == FLOW_CONTINUE); i++) f = turn(e, env, a, items.at[i]);
	if (busy) --*busy;
	e->loops--;
	return f == FLOW_RETURN || f == FLOW_STOP ? f : FLOW_NEXT;
}

static Flow exec_while(Elab *e, Env *env, const Ast *a)
{
	Flow f = FLOW_NEXT;
	e->loops++;
	while (f == FLOW_NEXT || f == FLOW_CONTINUE) {
		if (!step(e, a->at)) { f = FLOW_STOP; break; }
		int errors = e->ds->errors;
		int c = eval_bool(e, eval(e, env, a->u.loop.iter), a->u.loop.iter->at, "the condition of `while`");
		if (c < 0) env_poison(e, env, a);
		if (c <= 0) break;
		f = exec_block(e, env, a->u.loop.body);
		if (e->ds->errors != errors) break;              /* a broken turn may never end the loop */
	}
	e->loops--;
	return f == FLOW_RETURN || f == FLOW_STOP ? f : FLOW_NEXT;
}

static void exec_assert(Elab *e, Env *env, const Ast *a)
{
	int c = eval_bool(e, eval(e, env, a->u.check.cond), a->u.check.cond->at, "the condition of `assert`");
	if (c != 0) return;
	Value msg = a->u.check.msg ? eval(e, env, a->u.check.msg) : v_none();
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	if (is_given(msg)) value_show(e, msg, 0, &b);
	if (b.n) fail(e, E0112, a->u.check.cond->at, "assertion failed: %s", b.s);
	else fail(e, E0112, a->u.check.cond->at, "assertion failed");
}

/* --- with ------------------------------------------------------------------------------------------------------------------ */
static void enter_context(Elab *e, const Context *c)
{
	switch (c->kind) {
	case CTX_SEQUENCE: e->b.seq = c->seq; break;
	case CTX_IPU:      e->b.ipu = (int)c->n; break;
	case CTX_IO_TILES: e->b.tiles = TILES_IO; break;
	case CTX_GRAPH:    e->b.g = c->graph; break;
	case CTX_MERGE:    break;                            /* what matters is its end */
	case CTX_IO_EXCHANGE:
		e->b.tiles = TILES_IO;
		e->b.seq = SEQ_FALSE;
		break;
	case CTX_SCOPE:
		e->b.scope = e->b.scope && e->b.scope[0] ? arena_printf(e->mem, "%s/%s", e->b.scope, c->name) : c->name;
		break;
	case CTX_DEBUG: {
		Frame *f = NEW(e->mem, Frame);
		*f = (Frame){ c->name, e->b.at, e->b.chain, 1 };
		e->b.chain = f;
		break;
	}
	}
}

static int is_exchange(const Context *c) { return c->kind == CTX_MERGE || c->kind == CTX_IO_EXCHANGE; }

Contexts contexts_begin(Elab *e) { return (Contexts){ .was = e->b, .errors = e->ds->errors }; }

int context_open(Elab *e, Contexts *cs, const Context *c, Span at)
{
	Opened o = { c, e->b, e->b.ir ? e->b.ir->next_op : 0, at };
	if (is_exchange(c) && !building(e, at, "an exchange is made")) return 0;
	vec_push(e->mem, &cs->open, o);
	e->exchanges += is_exchange(c);
	e->b.at = at;
	enter_context(e, c);
	return 1;
}

/* Exchanges are made at their end, of what was built inside; in another one that is merged as well, at the end of that. */
static void end_exchange(Elab *e, const Opened *o)
{
	Build b = o->before;
	b.at = o->at;
	if (e->exchanges && o->c->kind == CTX_MERGE) return;
	merge_exchange(&b, b.g, o->first_op);
	if (o->c->kind == CTX_IO_EXCHANGE && o->c->n) check_one_exchange(&b, b.g, o->first_op);
}

/* Outside every in_sequence block the order starts anew (R201). */
void contexts_end(Elab *e, const Contexts *cs)
{
	for (int i = cs->open.n - 1; i >= 0; i--) {
		if (!is_exchange(cs->open.at[i].c)) continue;
		e->exchanges--;
		if (e->ds->errors == cs->errors) end_exchange(e, &cs->open.at[i]);
	}
	e->b = cs->was;
	if (e->b.seq == SEQ_NONE && e->b.ir) ir_end_sequence(e->b.ir);
}

static Flow exec_with(Elab *e, Env *env, const Ast *a)
{
	Contexts cs = contexts_begin(e);
	int ok = 1;
	for (int i = 0; i < a->u.with.items.n && ok; i++) {
		const Ast *item = a->u.with.items.at[i];
		Value v = eval(e, env, item->u.withitem.expr);
		Context *c = is_error(v) ? NULL : context_of(e, v, item->at);
		ok = c && context_open(e, &cs, c, item->at);
		if (ok && item->u.withitem.name) env_set(e, env, item->u.withitem.name, v);
	}
	Flow f = FLOW_NEXT;
	if (ok) f = exec_block(e, env, a->u.with.body);
	else env_poison(e, env, a);
	contexts_end(e, &cs);
	return f;
}

/* --- all of them -------------------------------------------------------------------------------------------------------------- */
static Flow out_of_loop(Elab *e, const Ast *a, Flow f)
{
	if (e->loops) return f;
	fail(e, E0116, a->at, "`%s` outside a loop", ast_kind_name[a->kind]);
	return FLOW_NEXT;
}

static Flow exec_return(Elab *e, Env *env, const Ast *a)
{
	Value v = a->u.expr ? eval(e, env, a->u.expr) : v_none();
	if (e->calls == 0) {
		fail(e, E0116, a->at, "`return` outside a function");
		return FLOW_NEXT;
	}
	e->ret = v;
	return FLOW_RETURN;
}

Flow exec(Elab *e, Env *env, const Ast *a)
{
	if (!step(e, a->at)) return FLOW_STOP;
	switch (a->kind) {
	case A_EXPR:     eval(e, env, a->u.expr); break;
	case A_ASSIGN:   assign(e, env, a->u.assign.target, eval(e, env, a->u.assign.val)); break;
	case A_UPDATE:   exec_update(e, env, a); break;
	case A_IF:       return exec_if(e, env, a);
	case A_FOR:      return exec_for(e, env, a);
	case A_WHILE:    return exec_while(e, env, a);
	case A_WITH:     return exec_with(e, env, a);
	case A_BREAK:    return out_of_loop(e, a, FLOW_BREAK);
	case A_CONTINUE: return out_of_loop(e, a, FLOW_CONTINUE);
	case A_RETURN:   return exec_return(e, env, a);
	case A_ASSERT:   exec_assert(e, env, a); break;
	case A_FN:       env_set(e, env, a->u.fn.name, eval(e, env, a)); break;
	case A_BLOCK:    return exec_block(e, env, a);
	case A_ERROR:    break;
	default:         fail(e, E0116, a->at, "a %s declaration stands at the top of a file", ast_kind_name[a->kind]);
	}
	return e->stop ? FLOW_STOP : FLOW_NEXT;
}

Flow exec_block(Elab *e, Env *env, const Ast *block)
{
	if (!enter(e, block->at)) return FLOW_STOP;
	Flow f = FLOW_NEXT;
	for (int i = 0; i < block->u.list.n && f == FLOW_NEXT; i++) f = exec(e, env, block->u.list.at[i]);
	leave(e);
	return f;
}
