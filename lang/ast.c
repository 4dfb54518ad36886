/* ast.c — the tree as text: one S-expression per line, indented by depth.
 *
 *   (assign
 *     (name y)
 *     (binary @
 *       (name x)
 *       (name w)))
 *
 * It says all that the tree says but the places, so two texts mean the same when they print the same.
 * Walks recurse: the parser has bounded the depth. */
#include "lang/ast.h"

#include <inttypes.h>
#include <string.h>

const char *const ast_op_text[AO_COUNT] = {
#define OP(id, text) [AO_##id] = text,
	AST_OPS(OP)
#undef OP
};
const char *const ast_kind_name[A_COUNT] = {
#define AST(k, name) [A_##k] = name,
	AST_KINDS(AST)
#undef AST
};

typedef struct Print { Buf *out; int depth; } Print;

static void child(const Print *p, const Ast *a);

static void children(const Print *p, const AstList *list)
{
	for (int i = 0; i < list->n; i++) child(p, list->at[i]);
}

/* a role that has a line of its own, where position alone would not tell */
static void role(const Print *p, const char *name, const AstList *list)
{
	if (!list->n) return;
	buf_putc(p->out, '\n');
	buf_pad(p->out, ' ', 2 * p->depth);
	buf_printf(p->out, "(%s", name);
	Print in = { p->out, p->depth + 1 };
	children(&in, list);
	buf_putc(p->out, ')');
}

static void role_one(const Print *p, const char *name, Ast *a)
{
	AstList list = { &a, 1, 1 };
	if (a) role(p, name, &list);
}

static void word(const Print *p, const char *s)
{
	if (s) buf_printf(p->out, " %s", s);
}

static const char *const star_text[] = { [NO_STAR] = "", [STAR] = "*", [STAR_STAR] = "**" };

static void print_leaf(const Print *p, const Ast *a)
{
	switch (a->kind) {
	case A_BOOL: word(p, a->u.b ? "true" : "false"); break;
	case A_INT: buf_printf(p->out, " %" PRId64, a->u.i); break;
	case A_FLOAT: buf_putc(p->out, ' '); buf_float(p->out, a->u.f); break;
	case A_TEXT: buf_putc(p->out, ' '); buf_json(p->out, a->u.text.s, (size_t)a->u.text.len); break;
	case A_NAME: word(p, a->u.name); break;
	default: break;
	}
}

static void print_expr(const Print *p, const Ast *a)
{
	switch (a->kind) {
	case A_STR: case A_LIST: case A_TUPLE: case A_DICT: children(p, &a->u.list); break;
	case A_ITEM: child(p, a->u.item.key); child(p, a->u.item.val); break;
	case A_COMP:
		child(p, a->u.comp.body);
		role(p, "names", &a->u.comp.names);
		child(p, a->u.comp.iter);
		role_one(p, "cond", a->u.comp.cond);
		break;
	case A_CALL: child(p, a->u.call.fn); children(p, &a->u.call.args); break;
	case A_ARG:
		if (a->u.arg.star) word(p, star_text[a->u.arg.star]);
		word(p, a->u.arg.name);
		child(p, a->u.arg.val);
		break;
	case A_INDEX: child(p, a->u.index.obj); role(p, "at", &a->u.index.subs); break;
	case A_SLICE:
		role_one(p, "lo", a->u.slice.lo);
		role_one(p, "hi", a->u.slice.hi);
		role_one(p, "step", a->u.slice.step);
		break;
	case A_FIELD: word(p, a->u.field.name); child(p, a->u.field.obj); break;
	case A_UNARY: case A_BINARY: case A_UPDATE:
		word(p, ast_op_text[a->u.op.op]);
		child(p, a->u.op.a);
		child(p, a->u.op.b);
		break;
	case A_COND: child(p, a->u.cond.cond); child(p, a->u.cond.then); child(p, a->u.cond.other); break;
	default: print_leaf(p, a); break;
	}
}

static void print_fn(const Print *p, const Ast *a)
{
	word(p, a->u.fn.name);
	role(p, "params", &a->u.fn.params);
	child(p, a->u.fn.body);
}

static void print_statement(const Print *p, const Ast *a)
{
	switch (a->kind) {
	case A_FN: case A_KERNEL: case A_BUILD: print_fn(p, a); break;
	case A_PARAM:
		buf_printf(p->out, " %s%s", star_text[a->u.param.star], a->u.param.name);
		role_one(p, "type", a->u.param.type);
		role_one(p, "init", a->u.param.init);
		break;
	case A_EXPR: case A_RETURN: case A_NATIVE: child(p, a->u.expr); break;
	case A_ASSIGN: child(p, a->u.assign.target); child(p, a->u.assign.val); break;
	case A_IF: child(p, a->u.cond.cond); child(p, a->u.cond.then); role_one(p, "else", a->u.cond.other); break;
	case A_FOR: case A_WHILE:
		role(p, "names", &a->u.loop.names);
		child(p, a->u.loop.iter);
		child(p, a->u.loop.body);
		break;
	case A_ASSERT: child(p, a->u.check.cond); child(p, a->u.check.msg); break;
	case A_WITH: children(p, &a->u.with.items); child(p, a->u.with.body); break;
	case A_WITHITEM: word(p, a->u.withitem.name); child(p, a->u.withitem.expr); break;
	case A_BLOCK: case A_FILE: case A_USE: children(p, &a->u.list); break;
	default: print_expr(p, a); break;
	}
}

static void print_node(const Print *p, const Ast *a)
{
	switch (a->kind) {
	case A_MODULE:
		word(p, a->u.module.name);
		role(p, "params", &a->u.module.params);
		children(p, &a->u.module.members);
		child(p, a->u.module.build);
		child(p, a->u.module.build_grad);
		break;
	case A_PROGRAM:
		word(p, a->u.program.name);
		role(p, "params", &a->u.program.params);
		role(p, "settings", &a->u.program.settings);
		child(p, a->u.program.body);
		break;
	case A_SETTING: word(p, a->u.setting.name); child(p, a->u.setting.val); break;
	case A_TASK: case A_DEVICE: word(p, a->u.task.name); children(p, &a->u.task.fields); break;
	default: print_statement(p, a); break;
	}
}

static void child(const Print *p, const Ast *a)
{
	if (!a) return;
	buf_putc(p->out, '\n');
	buf_pad(p->out, ' ', 2 * p->depth);
	buf_printf(p->out, "(%s", ast_kind_name[a->kind]);
	Print in = { p->out, p->depth + 1 };
	print_node(&in, a);
	buf_putc(p->out, ')');
}

void ast_print(const Ast *a, Buf *out)
{
	Print p = { out, 1 };
	buf_printf(out, "(%s", ast_kind_name[a->kind]);
	print_node(&p, a);
	buf_puts(out, ")\n");
}
