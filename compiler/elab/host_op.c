/* host_op.c — `host_op("name", x, y, alpha = 2.0)`: a call of an op that the host registered before it compiled the model. */
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
	else diag_help(e->ds, d, (Span){ 0, 0, 0 }, "a program registers its ops with `pxl_register_op` before it compiles the model; `pxlc` has none");
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

/* numbers in the order of registration; 0 after a diagnostic */
static int numbers(Elab *e, const HostOp *h, const Args *args, double *out)
{
	char given[MOST_HOST_ARGS] = { 0 };
	for (int k = 0; k < args->named.n; k++) {
		const Arg *a = &args->named.at[k];
		if (!strcmp(a->name, "op")) continue;
		int i = param_of(h, a->name);
		if (i < 0) return unknown(e, h, a);
		if (!want_float(e, a->v, a->at, arena_printf(e->mem, "`%s` of `%s`", a->name, h->name), &out[i])) return 0;
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

static Value do_host_op(Elab *e, Call *c)
{
	const char *name;
	if (!want_str(e, c->arg[0], c->at, "the name of the op", &name) || !building(e, c->at, arena_printf(e->mem, "the host's op `%s` is used", name))) return v_error();
	const HostOp *h = find(e, name, c->at);
	double *x = NEWN(e->mem, double, MOST_HOST_ARGS);
	if (!h || !numbers(e, h, c->args, x)) return v_error();
	Tensor **in = operands(e, h, c->arg[1].u.list, c->at);
	if (!in) return v_error();
	e->b.at = c->at;
	AttrVal all = { .set = 1, .floats = { x, h->nparam } };
	Op *op = ir_op(&e->b, OP_host_op, in, c->arg[1].u.list->n, b_attrs(&e->b, OP_host_op, "name", attr_str(h->name), "numbers", all, NULL),
	               arena_printf(e->mem, "%s_out", h->name));
	return op_results(e, op, op->out.n);
}

const Builtin host_op_builtins[] = { { "host_op", "op *operands **numbers", do_host_op }, { NULL, NULL, NULL } };
