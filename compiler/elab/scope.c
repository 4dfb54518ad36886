/* scope.c — what a name means: the innermost scope outwards, then the file, what it uses, built-ins, ops. */
#include "compiler/elab/eval.h"

#include <string.h>

Env *env_new(Elab *e, Env *up)
{
	Env *env = NEW(e->mem, Env);
	env->up = up;
	env->file = up ? up->file : NULL;
	return env;
}

static Map *names_of(Env *env) { return env->inst ? &env->inst->fields : &env->vars; }

void env_set(Elab *e, Env *env, const char *name, Value v)
{
	if (env->inst) {
		instance_assign(e, env->inst, name, v, e->at);
		return;
	}
	Value *slot = map_get(&env->vars, name);
	if (slot) *slot = v;
	else map_set(e->mem, &env->vars, name, arena_dup(e->mem, &v, sizeof v));
}

static Value *find(Elab *e, Env *env, const char *name)
{
	Value *v = NULL;
	File *file = env->file;
	for (; env && !v; env = env->up) v = map_get(names_of(env), name);
	if (v) return v;
	Import *im = file ? map_get(&file->imports, name) : NULL;
	return im ? &im->v : map_get(&e->builtins, name);
}

enum { MAX_OPS = 512 };

static int find_op(const char *name, OpFn *out)
{
	out->def = op_find(name, &out->inplace);
	return out->def && !(out->def->traits & (INTERNAL | CALLS));
}

int env_has(Elab *e, Env *env, const char *name)
{
	OpFn op;
	return find(e, env, name) != NULL || find_op(name, &op);
}

/* every name that can be seen from here, for suggestions */
static int visible(Elab *e, Env *env, const char **out, int max)
{
	int n = 0;
	File *file = env->file;
	for (; env; env = env->up)
		for (int i = 0; i < names_of(env)->n && n < max; i++)
			if (names_of(env)->at[i].key) out[n++] = names_of(env)->at[i].key;
	for (int i = 0; file && i < file->imports.n && n < max; i++) out[n++] = file->imports.at[i].key;
	for (int i = 0; i < e->builtins.n && n < max; i++) out[n++] = e->builtins.at[i].key;
	OpName *ops = NEWN(e->mem, OpName, MAX_OPS);
	int nop = op_names(ops, MAX_OPS);
	for (int i = 0; i < nop && i < MAX_OPS && n < max; i++) out[n++] = ops[i].name;
	return n;
}

Value env_get(Elab *e, Env *env, const char *name, Span at)
{
	Value *v = find(e, env, name);
	if (v) return *v;
	OpFn op;
	if (find_op(name, &op)) return v_of(V_OPFN, arena_dup(e->mem, &op, sizeof op));
	if (env->file && env->file->failed) return v_error();     /* it may well be in what could not be read */
	const char *help = dtype_help(e, name);
	if (!help) help = library_help(e, name);
	if (help) {
		diag_help(e->ds, fail_diag(e, E0101, at, "unknown name `%s`", name), (Span){ 0, 0, 0 }, "%s", help);
		return v_error();
	}
	enum { MAX = 1024 };
	const char **known = NEWN(e->mem, const char *, MAX);
	return fail_unknown(e, E0101, at, "name", name, known, visible(e, env, known, MAX));
}

/* PopXL's groups of ops, unless the model gives the word a meaning of its own */
Value env_group_op(Elab *e, Env *env, const char *group, const char *name, Span at)
{
	OpFn op;
	const char *family = op_group_family(group);
	if (!family || env_has(e, env, group)) return v_unset();
	if (find_op(arena_printf(e->mem, "%s.%s", group, name), &op)) return v_of(V_OPFN, arena_dup(e->mem, &op, sizeof op));
	if (find_op(name, &op)) {
		diag_help(e->ds, fail_diag(e, E0101, at, "`%s` is no op of `%s`", name, group), (Span){ 0, 0, 0 }, "write `%s` alone", name);
		return v_error();
	}
	OpName ops[MAX_OPS];
	const char *known[MAX_OPS];
	int n = op_names(ops, MAX_OPS), few = 0;
	for (int i = 0; i < n && i < MAX_OPS; i++)
		if (!strcmp(ops[i].def->family, family)) known[few++] = ops[i].name;
	return fail_unknown(e, E0101, at, arena_printf(e->mem, "op of `%s`:", group), name, known, few);
}

/* --- names that skipped statements would have bound ---------------------------------------------------------------- */
static void poison_list(Elab *e, Env *env, const AstList *l)
{
	for (int i = 0; i < l->n; i++) env_poison(e, env, l->at[i]);
}

static void poison_name(Elab *e, Env *env, const char *name)
{
	if (!map_has(names_of(env), name)) env_set(e, env, name, v_error());
}

static void poison_target(Elab *e, Env *env, const Ast *t)
{
	if (t->kind == A_NAME) poison_name(e, env, t->u.name);
	else if (t->kind == A_ARG) poison_target(e, env, t->u.arg.val);
	else if (t->kind == A_TUPLE || t->kind == A_LIST)
		for (int i = 0; i < t->u.list.n; i++) poison_target(e, env, t->u.list.at[i]);
}

void env_poison(Elab *e, Env *env, const Ast *a)
{
	if (!a) return;
	switch (a->kind) {
	case A_ASSIGN: poison_target(e, env, a->u.assign.target); break;
	case A_BLOCK:  poison_list(e, env, &a->u.list); break;
	case A_IF:     env_poison(e, env, a->u.cond.then); env_poison(e, env, a->u.cond.other); break;
	case A_FOR: case A_WHILE:
		for (int i = 0; a->kind == A_FOR && i < a->u.loop.names.n; i++) poison_target(e, env, a->u.loop.names.at[i]);
		env_poison(e, env, a->u.loop.body);
		break;
	case A_WITH:
		for (int i = 0; i < a->u.with.items.n; i++)
			if (a->u.with.items.at[i]->u.withitem.name) poison_name(e, env, a->u.with.items.at[i]->u.withitem.name);
		env_poison(e, env, a->u.with.body);
		break;
	case A_FN:
		if (a->u.fn.name) poison_name(e, env, a->u.fn.name);
		break;
	default: break;
	}
}
