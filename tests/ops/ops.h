/* ops.h — ops from text, for tests that walk the op table:
 *
 *   Bench t; bench_open(&t);
 *   Op *op = bench_op(&t, "sum", "f32[2, 3]", "axis = [1], keepdims = true");
 *   bench_specs(&t, op)  →  "f32[2, 1]"          bench_code(&t)  →  "E0305", or "" without a diagnostic
 *
 * Operands are graph inputs; `-` leaves an optional one out. */
#ifndef TESTS_OPS_H
#define TESTS_OPS_H

#include "compiler/ops/grad.h"
#include "tests/check.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct Bench {
	Arena mem;
	jmp_buf oom;
	Intern names;
	Sources srcs;
	Diags ds;
	Ir *ir;
	Build b;
	int inputs;
} Bench;

static inline void bench_open(Bench *t)
{
	memset(t, 0, sizeof *t);
	arena_init(&t->mem, alloc_libc, 0);
	t->mem.oom = &t->oom;
	intern_init(&t->names, &t->mem);
	t->srcs.mem = t->ds.mem = &t->mem;
	t->ds.srcs = &t->srcs;
	t->ds.max_errors = 1000;
	t->ir = ir_new(&t->mem, &t->names, &t->ds, 1);
	t->b = ir_build(ir_graph(t->ir, "bench"));
}

static inline void bench_close(Bench *t) { arena_free(&t->mem); }

static inline const char *skip_space(const char *s)
{
	while (*s == ' ' || *s == ',') s++;
	return s;
}

/* "[2, 3]" or "5": numbers into at; returns what follows */
static inline const char *scan_ints(const char *s, int64_t *at, int *n)
{
	int list = *s == '[';
	*n = 0;
	if (list) s++;
	while (*s && *s != ']') {
		char *end;
		s = skip_space(s);
		if (!strncmp(s, "none", 4)) at[(*n)++] = NO_INT, s += 4;
		else {
			at[(*n)++] = strtoll(s, &end, 10);
			if (end == s) break;
			s = end;
		}
		if (!list) return s;
	}
	return *s == ']' ? s + 1 : s;
}

static inline const char *scan_word(const char *s, char *out, size_t size)
{
	size_t n = 0;
	while ((isalnum((unsigned char)*s) || strchr("_.-+", *s)) && *s) {
		if (n + 1 < size) out[n++] = *s;
		s++;
	}
	out[n] = 0;
	return s;
}

/* the text with every whole number of that value written as 0 */
static inline const char *zero_numbers(Arena *a, const char *s, int64_t value)
{
	Buf b = buf_new(a);
	buf_puts(&b, "");
	while (*s) {
		char word[64], *end;
		const char *next = scan_word(s, word, sizeof word);
		if (next == s) buf_putc(&b, *s++);
		else if (strtoll(word, &end, 10) == value && !*end) buf_puts(&b, "0"), s = next;
		else buf_puts(&b, word), s = next;
	}
	return b.s;
}

/* "f32[2, 3]" */
static inline const char *scan_spec(const char *s, Spec *out)
{
	char name[32];
	int64_t at[32];
	int n = 0;
	s = scan_word(s, name, sizeof name);
	memset(out, 0, sizeof *out);
	out->dtype = (DType)dtype_find(name);
	if (*s == '[') s = scan_ints(s, at, &n);
	for (int i = 0; i < n && i < MAX_RANK; i++) out->shape.dim[out->shape.rank++] = at[i];
	return s;
}

static inline int scan_operands(Bench *t, const char *s, Tensor **in)
{
	int n = 0;
	for (s = skip_space(s); *s; s = skip_space(s)) {
		Spec spec;
		char name[16];
		if (*s == '-') {
			in[n++] = 0;
			s++;
			continue;
		}
		s = scan_spec(s, &spec);
		snprintf(name, sizeof name, "x%d", t->inputs++);
		in[n++] = ir_input(&t->b, spec, name, 0);
	}
	return n;
}

static inline const char *scan_floats(Bench *t, const char *s, AttrVal *v)
{
	double at[32];
	int n = 0;
	for (s = skip_space(s + (*s == '[')); *s && *s != ']'; s = skip_space(s)) {
		char *end;
		at[n++] = strtod(s, &end);
		if (end == s) break;
		s = end;
	}
	v->floats.at = arena_dup(&t->mem, at, (size_t)n * sizeof *at);
	v->floats.n = n;
	return *s == ']' ? s + 1 : s;
}

static inline const char *scan_value(Bench *t, ParamKind kind, const char *s, AttrVal *v)
{
	char word[64];
	int64_t at[32];
	int n;
	v->set = 1;
	if (kind == P_INTS || kind == P_SHAPE) {
		v->i = *s != '[';
		s = scan_ints(s, at, &n);
		AttrVal list = attr_ints(&t->mem, at, n);
		list.i = v->i;
		*v = list;
		return s;
	}
	if (kind == P_FLOATS) return scan_floats(t, s, v);
	s = scan_word(s, word, sizeof word);
	if (kind == P_STR) v->s = intern_str(&t->names, word);
	else if (kind == P_DTYPE) v->i = dtype_find(word);
	else if (kind == P_BOOL) v->i = !strcmp(word, "true");
	else if (kind == P_INT || kind == P_COUNT) v->i = strtoll(word, 0, 10);
	else v->f = strtod(word, 0);
	return s;
}

/* "axis = 1, reduction = sum" */
static inline AttrVal *scan_attrs(Bench *t, const OpDef *d, const char *s)
{
	AttrVal *v = b_attrs(&t->b, d->id, NULL);
	for (s = skip_space(s); *s; s = skip_space(s)) {
		char name[64];
		s = scan_word(s, name, sizeof name);
		while (*s == ' ' || *s == '=') s++;
		int i = op_param(d, name);
		if (i < 0) {
			printf("no parameter %s of %s\n", name, d->name);
			exit(2);
		}
		s = scan_value(t, d->params[i].kind, s, &v[i]);
	}
	return v;
}

static inline const OpDef *def_by_name(const char *name, int *inplace)
{
	const OpDef *d = op_find(name, inplace);
	for (int i = 0; !d && i < OP_COUNT; i++)
		if (!strcmp(op_table[i]->name, name)) d = op_table[i];
	if (!d) {
		printf("no op %s\n", name);
		exit(2);
	}
	return d;
}

static inline Op *bench_op(Bench *t, const char *name, const char *operands, const char *attrs)
{
	Tensor *in[32];
	int inplace, n = scan_operands(t, operands, in);
	const OpDef *d = def_by_name(name, &inplace);
	AttrVal *v = scan_attrs(t, d, attrs);
	return inplace ? ir_op_inplace(&t->b, d->id, in, n, v, 0) : ir_op(&t->b, d->id, in, n, v, 0);
}

static inline const char *bench_specs(Bench *t, const Op *op)
{
	Buf b = buf_new(&t->mem);
	buf_puts(&b, "");
	for (int i = 0; i < op->out.n; i++)
		buf_printf(&b, "%s%s", i ? " " : "", spec_str(&t->mem, op->out.at[i]->spec.dtype, op->out.at[i]->spec.shape));
	return b.s ? b.s : "";
}

static inline const char *bench_code(const Bench *t)
{
	return t->ds.at.n ? diag_table[t->ds.at.at[0]->code].code : "";
}

static inline const char *bench_text(Bench *t)
{
	Buf b = buf_new(&t->mem);
	buf_puts(&b, "");
	for (int i = 0; i < t->ds.at.n; i++) diag_render(&t->ds, t->ds.at.at[i], 0, &b);
	return b.s;
}

#endif
