/* errors_doc_test.c — docs/errors.md is made from diag.def: this makes the page and compares; BLESS=1
 * (make bless) writes it. */
#include "lang/base/diag.h"
#include "tests/check.h"

#include <stdlib.h>

static const char path[] = "docs/errors.md";
static const char head[] =
	"# Errors and warnings\n\n"
	"Made from `lang/base/diag.def` by `make bless`; `pxlc explain CODE` prints the same. A code never changes its meaning. "
	"The name in parentheses is the kind of the error, as PopXL would raise it.\n";

typedef struct Section { const char *prefix, *title; } Section;
static const Section sections[] = {
	{ "E00", "Text and syntax" }, { "E01", "Names, values, evaluation" }, { "E02", "Calls, arguments, types" },
	{ "E03", "Shapes, element types, ops" }, { "E04", "Graphs, IR, ordering" }, { "E05", "Autodiff" },
	{ "E06", "Streams, variables, sessions" }, { "E07", "Tasks and data" }, { "E08", "Limits" },
	{ "E09", "Files, native code, our own faults" }, { "W", "Warnings" },
};

static int by_code(const void *a, const void *b)
{
	return strcmp((*(const DiagInfo *const *)a)->code, (*(const DiagInfo *const *)b)->code);
}

static void put_section(Buf *out, const Section *s, const DiagInfo **rows)
{
	int any = 0;
	for (int i = 0; i < DIAG_COUNT; i++) {
		if (strncmp(rows[i]->code, s->prefix, strlen(s->prefix)) != 0) continue;
		if (!any++) buf_printf(out, "\n## %s\n", s->title);
		buf_printf(out, "\n### %s: %s (%s)\n\n%s\n", rows[i]->code, rows[i]->title, diag_kind_name[rows[i]->kind], rows[i]->text);
	}
}

static char *page(Arena *mem)
{
	const DiagInfo *rows[DIAG_COUNT];
	for (int i = 0; i < DIAG_COUNT; i++) rows[i] = &diag_table[i];
	qsort(rows, DIAG_COUNT, sizeof *rows, by_code);
	Buf out = buf_new(mem);
	buf_puts(&out, head);
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) put_section(&out, &sections[i], rows);
	return out.s;
}

static char *read_all(Arena *mem)
{
	Buf b = buf_new(mem);
	FILE *f = fopen(path, "rb");
	for (int c; f && (c = getc(f)) != EOF;) buf_putc(&b, (char)c);
	if (f) fclose(f);
	return b.s;
}

int main(void)
{
	Arena mem;
	jmp_buf oom;
	arena_init(&mem, NULL, NULL);
	if (setjmp(oom)) return 1;
	mem.oom = &oom;
	char *want = page(&mem);
	FILE *f = getenv("BLESS") ? fopen(path, "wb") : NULL;
	if (f) fputs(want, f), fclose(f);
	if (strcmp(read_all(&mem), want) != 0) printf("%s is not what diag.def says: make bless\n", path);
	CHECK("", !strcmp(read_all(&mem), want));
	for (int i = 0; i < DIAG_COUNT; i++) CHECK("", strstr(want, diag_table[i].code) != NULL);
	arena_free(&mem);
	return check_done();
}
