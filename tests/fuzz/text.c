/* text.c — fuzz target: any bytes as a model's text.
 * Parsing must end without a crash; what parses must print, format to the same tree, and format stably;
 * every diagnostic must render in each form. */
#include "lang/lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text { Arena *mem; Intern names; Sources srcs; Diags ds; uint32_t src; Ast *file; } Text;

static Text *parse(Arena *mem, const char *s, size_t n)
{
	Text *t = NEW(mem, Text);
	t->mem = mem;
	intern_init(&t->names, mem);
	t->srcs.mem = mem;
	t->ds = (Diags){ .mem = mem, .srcs = &t->srcs };
	t->src = source_add(&t->srcs, "fuzz.pxl", NULL, s, n);
	t->file = lang_parse(mem, &t->names, &t->ds, t->src);
	return t;
}

static void render_all(Text *t)
{
	Buf b = buf_new(t->mem);
	for (int i = 0; i < t->ds.at.n; i++) {
		diag_render(&t->ds, t->ds.at.at[i], 0, &b);
		diag_render(&t->ds, t->ds.at.at[i], DIAG_SHORT | DIAG_COLOR, &b);
		diag_render_json(&t->ds, t->ds.at.at[i], &b);
	}
}

static Buf printed(Text *t)
{
	Buf b = buf_new(t->mem);
	ast_print(t->file, &b);
	return b;
}

static Buf formatted(Text *t)
{
	Buf b = buf_new(t->mem);
	ast_format(t->file, source_get(&t->srcs, t->src), FORMAT_WIDTH, &b);
	return b;
}

static void must(int ok, const char *what)
{
	if (ok) return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void check(Arena *mem, const char *s, size_t n)
{
	Text *a = parse(mem, s, n);
	render_all(a);
	Buf tree = printed(a);
	lang_parse_expr(mem, &a->names, &a->ds, a->src);
	Buf once = formatted(a);
	if (a->ds.errors && parse(mem, s, n)->ds.errors) return;
	Text *b = parse(mem, once.s, once.n);
	must(b->ds.errors == 0, "formatted text does not parse");
	Buf again = printed(b), twice = formatted(b);
	must(!strcmp(tree.s, again.s), "formatting changed the tree");
	must(!strcmp(once.s, twice.s), "formatting twice differs");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	Arena mem;
	jmp_buf oom;
	arena_init(&mem, NULL, NULL);
	mem.limit = (size_t)1 << 30;
	mem.oom = &oom;
	if (!setjmp(oom)) check(&mem, (const char *)data, n);
	arena_free(&mem);
	return 0;
}
