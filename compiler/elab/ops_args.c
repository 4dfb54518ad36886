/* ops_args.c — arguments of ops that say two things at once, written out:
 *
 *   host_store(y, name = "y")           host_store(d2h_stream("y", y.spec), y)
 *   host_load(f32[8, 16], name = "x")   host_load(h2d_stream("x", f32[8, 16]))
 *   init(f32[2, 3])                     init([2, 3], f32)
 */
#include "compiler/elab/eval.h"

#include <string.h>

static int param_of_kind(const OpDef *d, ParamKind kind)
{
	for (int i = 0; d->params[i].kind != P_END; i++)
		if (d->params[i].kind == kind) return i;
	return -1;
}

static const Arg *named_arg(const Args *a, const char *name)
{
	for (int i = 0; i < a->named.n; i++)
		if (!strcmp(a->named.at[i].name, name)) return &a->named.at[i];
	return NULL;
}

static const Arg *of_kind(const Args *a, VKind kind)
{
	for (int i = 0; i < a->pos.n; i++)
		if (a->pos.at[i].v.kind == kind) return &a->pos.at[i];
	for (int i = 0; i < a->named.n; i++)
		if (a->named.at[i].v.kind == kind) return &a->named.at[i];
	return NULL;
}

/* --- streams -------------------------------------------------------------------------------------------------- */
/* what h2d_stream or d2h_stream gets: all arguments but the tensor, which gives the spec */
static Args stream_args(Elab *e, const Args *a, const Arg *t)
{
	Args s = { .at = a->at };
	if (t) args_add(e, &s, NULL, v_spec(e->mem, t->v.u.tensor->spec), t->at);
	for (int i = 0; i < a->pos.n; i++)
		if (&a->pos.at[i] != t) args_add(e, &s, NULL, a->pos.at[i].v, a->pos.at[i].at);
	for (int i = 0; i < a->named.n; i++)
		if (&a->named.at[i] != t) args_add(e, &s, a->named.at[i].name, a->named.at[i].v, a->named.at[i].at);
	return s;
}

static int make_stream(Elab *e, const OpDef *def, Args *a)
{
	int store = param_of_kind(def, P_TENSOR) >= 0, unnamed = !named_arg(a, "name") && !of_kind(a, V_STR);
	const Arg *t = store ? of_kind(a, V_TENSOR) : NULL;
	if (of_kind(a, V_STREAM) || (store ? !t : !of_kind(a, V_SPEC) && !of_kind(a, V_DTYPE))) return 1;
	if (unnamed) {
		Diag *d = fail_diag(e, E0203, a->at, "`%s` needs a stream, or a name for the one that it makes", def->name);
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "write `%s`", store ? "host_store(y, name = \"y\")" : "host_load(f32[8, 16], name = \"x\")");
		return 0;
	}
	Args s = stream_args(e, a, t), own = { .at = a->at };
	Value stream = call_builtin(e, &stream_builtins[store], v_unset(), &s);
	if (is_error(stream)) return 0;
	args_add(e, &own, NULL, stream, a->at);
	if (t) args_add(e, &own, NULL, t->v, t->at);
	*a = own;
	return 1;
}

/* --- specs ---------------------------------------------------------------------------------------------------- */
static int gives_dtype(const OpDef *def, const Args *a, int dtype, int at)
{
	if (named_arg(a, def->params[dtype].name) || named_arg(a, "dtype")) return 1;
	return a->pos.n > at + 1 && a->pos.at[at + 1].v.kind == V_DTYPE;
}

/* a spec where the op takes a shape and, somewhere, a dtype */
static int split_spec(Elab *e, const OpDef *def, Args *a)
{
	int shape = param_of_kind(def, P_SHAPE), dtype = param_of_kind(def, P_DTYPE), at = 0;
	if (shape < 0 || dtype < 0) return 1;
	while (op_param_at(def, at) != shape) at++;
	int by_position = at < a->pos.n, next = by_position && op_param_at(def, at + 1) == dtype;
	const Arg *given = by_position ? &a->pos.at[at] : named_arg(a, def->params[shape].name);
	if (!given || given->v.kind != V_SPEC) return 1;
	Spec s = *given->v.u.spec;
	Args own = { .at = a->at };
	if (gives_dtype(def, a, dtype, at)) {
		fail(e, E0204, given->at, "`%s` gets its dtype twice: the spec has one", def->name);
		return 0;
	}
	for (int i = 0; i < a->pos.n; i++) {
		const Arg *x = &a->pos.at[i];
		args_add(e, &own, NULL, x == given ? v_shape(e->mem, s.shape) : x->v, x->at);
		if (x == given && next) args_add(e, &own, NULL, v_dtype(s.dtype), x->at);
	}
	for (int i = 0; i < a->named.n; i++) {
		const Arg *x = &a->named.at[i];
		args_add(e, &own, x->name, x == given ? v_shape(e->mem, s.shape) : x->v, x->at);
	}
	if (!next) args_add(e, &own, def->params[dtype].name, v_dtype(s.dtype), given->at);
	int meta = s.has_meta && op_param(def, "meta_shape") >= 0 && !named_arg(a, "meta_shape");
	if (meta) args_add(e, &own, "meta_shape", v_shape(e->mem, s.meta), given->at);
	*a = own;
	return 1;
}

int op_arguments(Elab *e, const OpDef *def, Args *a)
{
	if (param_of_kind(def, P_STREAM) >= 0) return make_stream(e, def, a);
	return split_spec(e, def, a);
}
