/* describe.c — what the library knows about itself, as text: ops, diagnostics, passes. */
#include "compiler/api/internal.h"
#include "lang/base/table.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ops/op.h"

enum { MAX_NAMES = 512 };

static int list_names(OpName names[MAX_NAMES])
{
	int n = op_names(names, MAX_NAMES);
	return n < MAX_NAMES ? n : MAX_NAMES;
}

/* no graph with a modifying op can be differentiated */
static int has_grad(const OpName *o) { return (o->def->grad || o->def->traits & CALLS) && !(o->inplace && o->def->inplace == MODIFIES); }
static int is_inplace(const OpName *o) { return o->inplace || (o->def->traits & ONLY_INPLACE); }

static void op_line(const OpName *o, Buf *b)
{
	size_t start = b->n;
	op_name_signature(o, b);
	int width = (int)(b->n - start);
	buf_pad(b, ' ', width < 70 ? 70 - width : 1);
	buf_printf(b, " %-9s %s%s\n", o->def->family, has_grad(o) ? "gradient" : "-       ", is_inplace(o) ? "  in place" : "");
}

static void op_json(const OpName *o, Buf *b)
{
	buf_puts(b, "{\"name\": ");
	buf_json(b, o->name, strlen(o->name));
	buf_puts(b, ", \"family\": ");
	buf_json(b, o->def->family, strlen(o->def->family));
	buf_printf(b, ", \"inplace\": %s, \"grad\": %s, \"signature\": ", is_inplace(o) ? "true" : "false", has_grad(o) ? "true" : "false");
	Buf sig = buf_new(b->mem);
	op_name_signature(o, &sig);
	buf_json(b, sig.s, sig.n);
	buf_puts(b, ", \"doc\": ");
	buf_json(b, o->def->doc, strlen(o->def->doc));
	buf_putc(b, '}');
}

static pxl_status all_ops(pxl_ctx *cx, const char *name, Buf *b)
{
	(void)cx, (void)name;
	OpName *names = NEWN(b->mem, OpName, MAX_NAMES);
	int n = list_names(names);
	for (int i = 0; i < n; i++) op_line(&names[i], b);
	return PXL_OK;
}

static pxl_status all_ops_json(pxl_ctx *cx, const char *name, Buf *b)
{
	(void)cx, (void)name;
	OpName *names = NEWN(b->mem, OpName, MAX_NAMES);
	int n = list_names(names);
	buf_puts(b, "[");
	for (int i = 0; i < n; i++) {
		buf_puts(b, i ? ",\n " : "");
		op_json(&names[i], b);
	}
	buf_puts(b, "]");
	return PXL_OK;
}

static pxl_status find_op(pxl_ctx *cx, const char *name, Arena *mem, OpName *out)
{
	OpName *names = NEWN(mem, OpName, MAX_NAMES);
	const char **known = NEWN(mem, const char *, MAX_NAMES);
	int n = list_names(names);
	out->def = name ? op_find(name, &out->inplace) : NULL;
	out->name = name;
	for (int i = 0; i < n; i++) {
		known[i] = names[i].name;
		if (name && !strcmp(known[i], name)) *out = names[i];
	}
	if (out->def) return PXL_OK;
	const char *near = name ? nearest(name, known, n) : NULL;
	if (near) return cx_fail(cx, PXL_EINVAL, "there is no op `%s`; did you mean `%s`?", name, near);
	return cx_fail(cx, PXL_EINVAL, "there is no op `%s`; `pxlc ops` lists them all", name ? name : "");
}

static pxl_status one_op(pxl_ctx *cx, const char *name, Buf *b)
{
	OpName o;
	pxl_status st = find_op(cx, name, b->mem, &o);
	if (st == PXL_OK) op_page(o.def, b);
	return st;
}

static pxl_status one_op_json(pxl_ctx *cx, const char *name, Buf *b)
{
	OpName o;
	pxl_status st = find_op(cx, name, b->mem, &o);
	if (st == PXL_OK) op_json(&o, b);
	return st;
}

static pxl_status manual(pxl_ctx *cx, const char *name, Buf *b)
{
	(void)cx, (void)name;
	const char *family = "";
	buf_puts(b, "# Ops\n\nMade from the op table by `make bless`; do not edit.\n");
	for (int i = 0; i < OP_COUNT; i++) {
		const OpDef *d = op_table[i];
		if (d->traits & INTERNAL) continue;
		if (strcmp(family, d->family)) buf_printf(b, "\n## %s\n", d->family);
		family = d->family;
		buf_putc(b, '\n');
		op_page(d, b);
	}
	return PXL_OK;
}

static pxl_status explain(pxl_ctx *cx, const char *name, Buf *b)
{
	char code[16] = "";
	const char *known[DIAG_COUNT];
	for (size_t k = 0; name && name[k] && k + 1 < sizeof code; k++) code[k] = name[k] >= 'a' && name[k] <= 'z' ? (char)(name[k] - 'a' + 'A') : name[k];
	int i = name && strlen(name) < sizeof code ? diag_find(code) : -1;
	if (i < 0) {
		for (int k = 0; k < DIAG_COUNT; k++) known[k] = diag_table[k].code;
		const char *near = name ? nearest(name, known, DIAG_COUNT) : NULL;
		return cx_fail(cx, PXL_EINVAL, "there is no diagnostic `%s`%s%s%s", name ? name : "", near ? "; the nearest is `" : "", near ? near : "", near ? "`" : "");
	}
	buf_printf(b, "%s (%s): %s\n\n%s\n", diag_table[i].code, diag_kind_name[diag_table[i].kind], diag_table[i].title, diag_table[i].text);
	return PXL_OK;
}

static pxl_status all_errors(pxl_ctx *cx, const char *name, Buf *b)
{
	(void)cx, (void)name;
	buf_puts(b, "# Diagnostics\n\nMade from `lang/base/diag.def` by `make bless`; do not edit. `pxlc explain CODE` prints one.\n");
	for (int i = 0; i < DIAG_COUNT; i++)
		buf_printf(b, "\n## %s: %s\n\n*%s.* %s\n", diag_table[i].code, diag_table[i].title, diag_kind_name[diag_table[i].kind], diag_table[i].text);
	return PXL_OK;
}

static pxl_status all_passes(pxl_ctx *cx, const char *name, Buf *b)
{
	(void)cx, (void)name;
	for (int i = 0; i < pass_count(); i++) buf_printf(b, "%-14s %s\n", pass_name(i), pass_doc(i));
	return PXL_OK;
}

static const struct { const char *what; pxl_status (*fn)(pxl_ctx *cx, const char *name, Buf *b); } texts[] = {
	{ "ops", all_ops }, { "ops.json", all_ops_json }, { "op", one_op }, { "op.json", one_op_json }, { "op.md", manual },
	{ "explain", explain }, { "errors.md", all_errors }, { "passes", all_passes },
};

pxl_status pxl_describe(pxl_ctx *cx, const char *what, const char *name, const char **out)
{
	jmp_buf oom;
	if (!cx) return PXL_EINVAL;
	if (!what || !out) return cx_fail(cx, PXL_EINVAL, "pxl_describe needs to know of what, and a place for the text");
	Arena *mem = cx_text(cx);
	mem->oom = &oom;
	if (setjmp(oom)) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (strcmp(texts[i].what, what)) continue;
		Buf b = buf_new(mem);
		pxl_status st = texts[i].fn(cx, name, &b);
		if (st == PXL_OK) *out = b.s;
		return st;
	}
	return cx_fail(cx, PXL_EINVAL, "nothing is known about `%s`", what);
}

const char *did_you_mean(Arena *mem, const char *word, const char *const *known, int n)
{
	const char *near = nearest(word, known, n);
	return near ? arena_printf(mem, "; did you mean `%s`?", near) : ";";
}

const char *pxl_nearest(const char *word, const char *const *known, int n)
{
	return word && known && n <= MOST_LISTED ? nearest(word, known, n) : NULL;
}

enum { MOST_CELLS = 1 << 24 };

const char *pxl_table(pxl_ctx *cx, const char *const *cells, int rows, int columns, const char *delimiter, int header)
{
	jmp_buf oom;
	if (!cx || !cells || rows < 1 || columns < 1 || rows > MOST_CELLS / columns) return "";
	for (int i = 0; i < rows * columns; i++)
		if (!cells[i]) return "";
	Arena *mem = cx_text(cx);
	mem->oom = &oom;
	if (setjmp(oom)) return "";
	Buf b = buf_new(mem);
	text_table(cells, rows, columns, delimiter ? delimiter : " | ", header, &b);
	return b.s;
}
