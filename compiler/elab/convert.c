/* convert.c — what built-ins ask of their arguments: the value they need, or a diagnostic that names the argument. */
#include "compiler/elab/eval.h"

#include <string.h>

static int wrong(Elab *e, Value v, Span at, const char *what, const char *needed)
{
	if (!is_error(v)) {
		if (v.kind == V_UNSET || v.kind == V_NONE) fail(e, E0206, at, "%s must be %s", what, needed);
		else fail(e, E0206, at, "%s must be %s, not %s", what, needed, v_describe(e, v));
	}
	return 0;
}

int want_int(Elab *e, Value v, Span at, const char *what, int64_t *out)
{
	if (v.kind != V_INT) return wrong(e, v, at, what, "an int");
	*out = v.u.i;
	return 1;
}

int want_float(Elab *e, Value v, Span at, const char *what, double *out)
{
	if (!is_number(v)) return wrong(e, v, at, what, "a number");
	*out = v_number(v);
	return 1;
}

int want_bool(Elab *e, Value v, Span at, const char *what, int *out)
{
	if (v.kind != V_BOOL) return wrong(e, v, at, what, "a bool");
	*out = v.u.b;
	return 1;
}

int want_str(Elab *e, Value v, Span at, const char *what, const char **out)
{
	if (v.kind != V_STR) return wrong(e, v, at, what, "a string");
	if (strlen(v.u.str->s) != (size_t)v.u.str->len) {
		fail(e, E0114, at, "%s must not contain a NUL byte", what);
		return 0;
	}
	*out = v.u.str->s;
	return 1;
}

int want_dtype(Elab *e, Value v, Span at, const char *what, DType *out)
{
	int t = v.kind == V_DTYPE ? (int)v.u.dtype : v.kind == V_STR ? dtype_find(v.u.str->s) : -1;
	if (v.kind == V_BUILTIN) t = !strcmp(v.u.builtin->name, "int") ? DT_I64 : !strcmp(v.u.builtin->name, "float") ? DT_F32 : -1;
	if (v.kind == V_STR && t < 0) {
		const char *help = dtype_help(e, v.u.str->s);
		Diag *d = fail_diag(e, E0114, at, "no dtype is named %s", v_text(e, v));
		if (help) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "%s", help);
		return 0;
	}
	if (t < 0) return wrong(e, v, at, what, "a dtype such as f32");
	*out = (DType)t;
	return 1;
}

int want_ints(Elab *e, Value v, Span at, const char *what, int64_t **out, int *n)
{
	if (v.kind == V_INT) {
		*out = arena_dup(e->mem, &v.u.i, sizeof v.u.i);
		*n = 1;
		return 1;
	}
	List items = { 0 };
	if (!is_seq(v) && v.kind != V_RANGE) return wrong(e, v, at, what, "an int or a list of ints");
	if (!items_of(e, v, at, &items)) return 0;
	*n = items.n;
	*out = NEWN(e->mem, int64_t, items.n + 1);
	for (int i = 0; i < items.n; i++)
		if (!want_int(e, items.at[i], at, what, &(*out)[i])) return 0;
	return 1;
}

int want_shape(Elab *e, Value v, Span at, const char *what, Shape *out)
{
	int64_t *dims;
	int n;
	if (v.kind == V_SPEC) { *out = v.u.spec->shape; return 1; }
	if (!want_ints(e, v, at, what, &dims, &n)) return 0;
	if (n > MAX_RANK) {
		fail(e, E0804, at, "%s has %d dimensions, more than %d", what, n, MAX_RANK);
		return 0;
	}
	out->rank = n;
	for (int i = 0; i < n; i++) {
		if (dims[i] < 0) {
			fail(e, E0114, at, "%s has a negative dimension, %lld", what, (long long)dims[i]);
			return 0;
		}
		out->dim[i] = dims[i];
	}
	return 1;
}

int want_tensor(Elab *e, Value v, Span at, const char *what, Tensor **out)
{
	if (v.kind != V_TENSOR) return wrong(e, v, at, what, "a tensor");
	*out = v.u.tensor;
	return in_graph(e, v.u.tensor, at, what);
}

int want_tensors(Elab *e, Value v, Span at, const char *what, Tensor ***out, int *n)
{
	List items = { 0 };
	if (v.kind == V_TENSOR) list_push(e->mem, &items, v);
	else if (v.kind == V_TREE || v.kind == V_DICT) {
		Tree *t = want_tree(e, v, at, what);
		if (!t) return 0;
		Leaves l = tree_leaves(e, t);
		for (int i = 0; i < l.at.n; i++) list_push(e->mem, &items, l.at.at[i].v);
	} else if (!is_seq(v)) return wrong(e, v, at, what, "a list of tensors");
	else if (!items_of(e, v, at, &items)) return 0;
	*n = items.n;
	*out = NEWN(e->mem, Tensor *, items.n + 1);
	for (int i = 0; i < items.n; i++) {
		if (items.at[i].kind != V_TENSOR) return wrong(e, items.at[i], at, what, "a list of tensors");
		(*out)[i] = items.at[i].u.tensor;
	}
	return 1;
}

int want_spec(Elab *e, Value v, Span at, const char *what, Spec *out)
{
	if (v.kind == V_SPEC) *out = *v.u.spec;
	else if (v.kind == V_TENSOR) *out = v.u.tensor->spec;
	else return wrong(e, v, at, what, "a spec such as f32[2, 4], or a tensor");
	return 1;
}

int want_kind(Elab *e, Value v, VKind kind, Span at, const char *what)
{
	return v.kind == kind ? 1 : wrong(e, v, at, what, vkind_name[kind]);
}
