/* fail.c — diagnostics of the evaluator: each says where, and through which calls the program got there. */
#include "compiler/elab/eval.h"

#include <string.h>

static Diag *vfail(Elab *e, DiagCode code, Span at, const char *fmt, va_list ap)
{
	Diag *d = diag(e->ds, code, at, "%s", arena_vprintf(e->mem, fmt, ap));
	diag_chain(e->ds, d, e->b.chain);
	return d;
}

Diag *fail_diag(Elab *e, DiagCode code, Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	Diag *d = vfail(e, code, at, fmt, ap);
	va_end(ap);
	return d;
}

Value fail(Elab *e, DiagCode code, Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfail(e, code, at, fmt, ap);
	va_end(ap);
	return v_error();
}

static Diag *unknown(Elab *e, DiagCode code, Span at, const char *noun, const char *name, const char *const *known, int n)
{
	Diag *d = fail_diag(e, code, at, "unknown %s `%s`", noun, name);
	const char *near = nearest(name, known, n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	return d;
}

Value fail_unknown(Elab *e, DiagCode code, Span at, const char *noun, const char *name, const char *const *known, int n)
{
	unknown(e, code, at, noun, name, known, n);
	return v_error();
}

Value fail_unknown_of(Elab *e, DiagCode code, Span at, const char *noun, const char *name, const char *const *known, int n)
{
	Diag *d = unknown(e, code, at, noun, name, known, n);
	Buf b = buf_new(e->mem);
	for (int i = 0; i < n; i++) buf_printf(&b, "%s`%s`", i ? ", " : "", known[i]);
	if (n) diag_note(e->ds, d, (Span){ 0, 0, 0 }, "the %ss are %s", noun, b.s);
	return v_error();
}

const char *dtype_help(Elab *e, const char *name)
{
	int t = dtype_find(name);
	if (!strcmp(name, "complex64") || !strcmp(name, "complex128")) return "there are no complex element types: keep real and imaginary parts in two tensors";
	return t < 0 ? NULL : arena_printf(e->mem, "here it is `%s`", dtype_info[t].name);
}

const char *v_describe(Elab *e, Value v)
{
	if (v.kind == V_TENSOR)
		return arena_printf(e->mem, "a tensor %s", spec_str(e->mem, v.u.tensor->spec.dtype, v.u.tensor->spec.shape));
	if (v.kind == V_ARRAY) return arena_printf(e->mem, "an array %s", spec_str(e->mem, v.u.array->dtype, v.u.array->shape));
	if (v.kind == V_INSTANCE) return arena_printf(e->mem, "a `%s`", v.u.inst->cls->name);
	return vkind_name[v.kind];
}

const char *v_text(Elab *e, Value v)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	value_show(e, v, 1, &b);
	if (b.n <= 60) return b.s;
	return arena_printf(e->mem, "%.57s...", b.s);
}
