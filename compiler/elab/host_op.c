/* host_op.c — calls of functions in C: `host_op("name", x, y, alpha = 2.0)` of an op that the host registered before it compiled
 * the model, and `name(x, y, alpha = 2.0)` of one in a C file that the model names by `native "file.c"`. */
#include "compiler/elab/eval.h"
#include "compiler/ops/grad.h"
#include "compiler/ops/host_op.h"

#include <string.h>

static const HostOp *find(Elab *e, const char *name, Span at)
{
	const HostOp *h = host_op_find(e->o.hosts, name);
	const char *known[256];
	int n = 0;
	if (h) return h;
	for (h = e->o.hosts; h && n < 256; h = h->next) known[n++] = h->name;
	Diag *d = fail_diag(e, E0325, at, "the host has registered no op `%s`", name);
	const char *near = nearest(name, known, n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	else diag_help(e->ds, d, (Span){ 0, 0, 0 }, "a program registers its ops with `pxl_register_op` before it compiles the model, `pxlc` those of the C files that `--native` names");
	return NULL;
}

static int param_of(const HostOp *h, const char *name)
{
	for (int i = 0; i < h->nparam; i++)
		if (!strcmp(h->params[i].name, name)) return i;
	return -1;
}

/* 0 after a diagnostic */
static int unknown(Elab *e, const HostOp *h, const Arg *a)
{
	const char *known[MOST_HOST_ARGS];
	for (int i = 0; i < h->nparam; i++) known[i] = h->params[i].name;
	Diag *d = fail_diag(e, E0202, a->at, "`%s` has no parameter `%s`", h->name, a->name);
	const char *near = nearest(a->name, known, h->nparam);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	return 0;
}

static int number(Elab *e, const HostParam *p, const Arg *a, const char *what, double *out)
{
	int64_t i;
	int b;
	if (p->kind == HOST_FLOAT) return want_float(e, a->v, a->at, what, out);
	if (p->kind == HOST_BOOL) {
		if (!want_bool(e, a->v, a->at, what, &b)) return 0;
		*out = b;
		return 1;
	}
	if (!want_int(e, a->v, a->at, what, &i)) return 0;
	*out = (double)i;
	if (i >= -9007199254740992 && i <= 9007199254740992) return 1;
	fail(e, E0206, a->at, "%s is beyond 2^53, where not every whole number is a float", what);
	return 0;
}

/* numbers in the order of registration; 0 after a diagnostic */
static int numbers(Elab *e, const HostOp *h, const Args *args, double *out)
{
	char given[MOST_HOST_ARGS] = { 0 };
	for (int k = 0; k < args->named.n; k++) {
		const Arg *a = &args->named.at[k];
		if (!strcmp(a->name, "op")) continue;              /* how host_op takes its name */
		int i = param_of(h, a->name);
		if (i < 0) return unknown(e, h, a);
		if (!number(e, &h->params[i], a, arena_printf(e->mem, "`%s` of `%s`", a->name, h->name), &out[i])) return 0;
		given[i] = 1;
	}
	for (int i = 0; i < h->nparam; i++) {
		if (given[i]) continue;
		if (!h->params[i].optional) {
			fail(e, E0203, args->at, "`%s` needs an argument for `%s`", h->name, h->params[i].name);
			return 0;
		}
		out[i] = h->params[i].init;
	}
	return 1;
}

/* arrays and numbers beside tensors are constants of the first tensor's dtype */
static Tensor **operands(Elab *e, const HostOp *h, const List *xs, Span at)
{
	Tensor **in = NEWN(e->mem, Tensor *, xs->n + 1);
	int dtype = -1;
	for (int i = xs->n; i-- > 0;)
		if (xs->at[i].kind == V_TENSOR) dtype = (int)xs->at[i].u.tensor->spec.dtype;
	for (int i = 0; i < xs->n; i++) {
		Value v = xs->at[i];
		in[i] = v.kind == V_TENSOR ? v.u.tensor : constant_of(e, v, dtype, NULL, at);
		if (!in[i] || !in_graph(e, in[i], at, arena_printf(e->mem, "operand %d of `%s`", i, h->name))) return NULL;
	}
	return in;
}

/* the name that finds h among all that are registered: with its version where a later one has hidden it */
static const char *exact_name(Elab *e, const HostOp *h)
{
	if (host_op_find(e->o.hosts, h->name) == h) return h->name;
	return arena_printf(e->mem, "%s@%s", h->name, h->version ? h->version : "");
}

static Value call_host(Elab *e, const HostOp *h, const List *xs, const Args *args, Span at)
{
	double *x = NEWN(e->mem, double, MOST_HOST_ARGS);
	if (!numbers(e, h, args, x)) return v_error();
	Tensor **in = operands(e, h, xs, at);
	if (!in) return v_error();
	e->b.at = at;
	AttrVal all = { .set = 1, .floats = { x, h->nparam } };
	Op *op = ir_op(&e->b, OP_host_op, in, xs->n, b_attrs(&e->b, OP_host_op, "name", attr_str(exact_name(e, h)), "numbers", all, NULL),
	               arena_printf(e->mem, "%s_out", h->name));
	return op_results(e, op, op->out.n);
}

static Value do_host_op(Elab *e, Call *c)
{
	const char *name;
	if (!want_str(e, c->arg[0], c->at, "the name of the op", &name) || !building(e, c->at, arena_printf(e->mem, "the host's op `%s` is used", name))) return v_error();
	const HostOp *h = find(e, name, c->at);
	return h ? call_host(e, h, c->arg[1].u.list, c->args, c->at) : v_error();
}

const Builtin host_op_builtins[] = { { "host_op", "op *operands **numbers", do_host_op }, { NULL, NULL, NULL } };

/* --- native "file.c" ------------------------------------------------------------------------------------------------ */
static Value do_native(Elab *e, Call *c)
{
	const char *name = c->self.u.str->s;
	if (!building(e, c->at, arena_printf(e->mem, "the native op `%s` is used", name))) return v_error();
	return call_host(e, host_op_find(e->o.hosts, name), c->arg[0].u.list, c->args, c->at);
}

/* a function of the model's that knows which op it stands for */
static Value native_value(Elab *e, const HostOp *h)
{
	Builtin *b = NEW(e->mem, Builtin);
	*b = (Builtin){ h->name, "*operands **numbers", do_native };
	return v_method(e->mem, v_cstr(e->mem, arena_printf(e->mem, "%s@%s", h->name, h->version ? h->version : "")), b);
}

static int is_native(const Value *v, const char *name)
{
	return v->kind == V_METHOD && v->u.method->fn && v->u.method->fn->fn == do_native && !strcmp(v->u.method->fn->name, name);
}

/* of several versions the last in the file has the name; the same file may be named twice */
static void bind_native(Elab *e, Env *env, const Ast *a, const HostOp *const *ops, int n, int i)
{
	const char *name = intern_str(e->names, ops[i]->name);
	const Value *old = map_get(&env->vars, name);
	for (int k = i + 1; k < n; k++)
		if (!strcmp(ops[k]->name, name)) return;
	if (old && !is_native(old, name)) fail(e, E0115, a->u.expr->at, "`%s` is declared twice: here, and as an op of this file of native code", name);
	else env_set(e, env, name, native_value(e, ops[i]));
}

void declare_native(Elab *e, Env *env, const Ast *a)
{
	Value path = eval(e, env, a->u.expr);
	const HostOp *const *ops;
	Buf why = buf_new(e->mem);
	if (is_error(path)) return;
	if (!e->o.allow_native || !e->o.read_native) {
		Diag *d = fail_diag(e, E0902, a->at, "the model names native code, `%s`, and may not run any", path.u.str->s);
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "if you trust the file, allow it: `--allow-native`");
		return;
	}
	int n = e->o.read_native(e->o.user, path.u.str->s, &e->o.hosts, &ops, &why);
	if (n < 0) diag_note(e->ds, fail_diag(e, E0903, a->u.expr->at, "the native code in `%s` cannot be used", path.u.str->s), (Span){ 0, 0, 0 }, "%s", why.s);
	for (int i = 0; i < n; i++) bind_native(e, env, a, ops, n, i);
}
