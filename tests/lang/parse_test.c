/* parse_test.c — every tests/lang/x.pxl against x.ast (its tree) or x.err (its diagnostics, whole text),
 * and the formatter on every .pxl of the repository: same tree, and a second time no change.
 * BLESS=1 rewrites the goldens.  A .pxl that parses and has an .err is a test of later phases. */
#include "lang/lang.h"
#include "tests/check.h"

#include <dirent.h>
#include <stdlib.h>

typedef struct Parsed { Ast *file; Sources srcs; Diags ds; uint32_t src; } Parsed;

static Arena mem;
static Intern names;

static char *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	if (!f) return NULL;
	Buf b = buf_new(&mem);
	char chunk[4096];
	size_t got;
	while ((got = fread(chunk, 1, sizeof chunk, f)) > 0) buf_put(&b, chunk, got);
	fclose(f);
	*n = b.n;
	return b.s;
}

static void write_file(const char *path, const char *s)
{
	FILE *f = fopen(path, "wb");
	if (f) fputs(s, f), fclose(f);
}

static Parsed *parse(const char *name, const char *text, size_t n)
{
	Parsed *p = NEW(&mem, Parsed);
	p->srcs.mem = &mem;
	p->ds = (Diags){ .mem = &mem, .srcs = &p->srcs, .max_errors = 1000 };
	p->src = source_add(&p->srcs, name, NULL, text, n);
	p->file = lang_parse(&mem, &names, &p->ds, p->src);
	return p;
}

static char *tree_text(const Ast *a)
{
	Buf b = buf_new(&mem);
	ast_print(a, &b);
	return b.s;
}

static char *diag_text(const Parsed *p)
{
	Buf b = buf_new(&mem);
	for (int i = 0; i < p->ds.at.n; i++) diag_render(&p->ds, p->ds.at.at[i], 0, &b);
	return b.s;
}

static int ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n > m && !strcmp(s + n - m, end);
}

/* paths of the .pxl files below dir, in order */
typedef struct Paths { char **at; int n, cap; } Paths;
static void collect(const char *dir, Paths *out)
{
	DIR *d = opendir(dir);
	if (!d) return;
	for (struct dirent *e; (e = readdir(d));) {
		char *path = arena_printf(&mem, "%s/%s", dir, e->d_name);
		if (ends_with(path, ".pxl")) vec_push(&mem, out, path);
		else if (!strchr(e->d_name, '.')) collect(path, out);
	}
	closedir(d);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static Paths pxl_files(const char *dir)
{
	Paths p = { 0 };
	collect(dir, &p);
	if (p.n) qsort(p.at, (size_t)p.n, sizeof *p.at, by_name);
	return p;
}

static void golden(const char *pxl, const char *end, const char *got)
{
	char *path = arena_printf(&mem, "%.*s%s", (int)strlen(pxl) - 4, pxl, end);
	if (getenv("BLESS")) write_file(path, got);
	size_t n;
	char *want = read_file(path, &n);
	if (!want) printf("%s is missing: make bless\n", path);
	CHECK("", want != NULL);
	if (want && strcmp(want, got) != 0) printf("in %s:\n", path);
	if (want) CHECK_STR("", got, want);
}

/* each code of this folder's range must have been seen in some .err */
static void note_codes(const Parsed *p, char *seen)
{
	for (int i = 0; i < p->ds.at.n; i++) seen[p->ds.at.at[i]->code] = 1;
}

static void test_goldens(void)
{
	char seen[DIAG_COUNT] = { 0 };
	Paths p = pxl_files("tests/lang");
	CHECK("", p.n > 20);
	for (int i = 0; i < p.n; i++) {
		if (strchr(p.at[i] + strlen("tests/lang/"), '/')) continue;       /* folders have tests of their own */
		size_t n;
		char *text = read_file(p.at[i], &n);
		Parsed *r = parse(strrchr(p.at[i], '/') + 1, text, n);
		note_codes(r, seen);
		char *err = arena_printf(&mem, "%.*s.err", (int)strlen(p.at[i]) - 4, p.at[i]);
		size_t unused;
		if (r->ds.at.n) golden(p.at[i], ".err", diag_text(r));
		else if (!read_file(err, &unused)) golden(p.at[i], ".ast", tree_text(r->file));
	}
	for (int i = 0; i < DIAG_COUNT; i++)
		if (!strncmp(diag_table[i].code, "E00", 3) && !seen[i]) {
			printf("no test shows %s\n", diag_table[i].code);
			CHECK("", seen[i]);
		}
}

static char *formatted(const Parsed *p, int width)
{
	Buf b = buf_new(&mem);
	ast_format(p->file, source_get(&p->srcs, p->src), width, &b);
	return b.s;
}

/* Every character that is not blank, in order: formatting only moves them.  So each comment stays behind the same code. */
static char *without_blanks(const char *s)
{
	Buf b = buf_new(&mem);
	buf_puts(&b, "");
	for (; *s; s++)
		if (!strchr(" \t\r\n", *s)) buf_putc(&b, *s);
	return b.s;
}

/* A line whose code is too long has no comma with more code behind it: there it would have been broken. */
static int may_be_long(const char *s, size_t n, int width)
{
	int columns = 0, seen = 0, quoted = 0, after_comma = 0, broke = 0;
	for (size_t i = 0; i < n && (quoted || s[i] != '#'); i++) {
		if (s[i] != ' ') broke |= after_comma && !strchr(")]}", s[i]);
		if (s[i] != ' ') after_comma = !quoted && s[i] == ',';
		if (s[i] == '"' && (!i || s[i - 1] != '\\')) quoted = !quoted;
		seen += (s[i] & 0xc0) != 0x80;
		if (s[i] != ' ') columns = seen;
	}
	return columns <= width || !broke;
}

static void check_widths(const char *path, const char *text, int width)
{
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, "\n");
		int ok = may_be_long(s, n, width);
		if (!ok) printf("in %s, at width %d: %.*s\n", path, width, (int)n, s);
		CHECK("", ok);
		s += n + (s[n] == '\n');
	}
}

static void test_format_keeps_tree(const char *path, int width)
{
	size_t n;
	char *text = read_file(path, &n);
	Parsed *a = parse(path, text, n);
	if (a->ds.errors) return;
	char *once = formatted(a, width);
	Parsed *b = parse(path, once, strlen(once));
	char *twice = formatted(b, width);
	if (b->ds.errors || strcmp(once, twice) != 0) printf("in %s at width %d:\n", path, width);
	CHECK("", b->ds.errors == 0);
	CHECK_STR("", tree_text(b->file), tree_text(a->file));
	CHECK_STR("", twice, once);
	CHECK_STR("", without_blanks(once), without_blanks(text));
	check_widths(path, once, width);
}

/* narrow widths break lines wherever they can break */
static void test_format(void)
{
	static const char *const dirs[] = { "tests", "examples", "lang/std", "docs" };
	static const int widths[] = { FORMAT_WIDTH, 60, 24, 0 };
	for (size_t d = 0; d < sizeof dirs / sizeof *dirs; d++) {
		Paths p = pxl_files(dirs[d]);
		for (int i = 0; i < p.n; i++)
			for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) test_format_keeps_tree(p.at[i], widths[w]);
	}
}

/* what the layout itself is */
static void test_format_layout(void)
{
	size_t n, m;
	Paths p = pxl_files("tests/lang/format");
	CHECK("", p.n >= 3);
	for (int i = 0; i < p.n; i++) {
		char *in = read_file(p.at[i], &n), *out = arena_printf(&mem, "%.*s.out", (int)strlen(p.at[i]) - 4, p.at[i]), *want = read_file(out, &m);
		char *got = formatted(parse(p.at[i], in, n), FORMAT_WIDTH);
		if (getenv("BLESS")) write_file(out, want = got);
		if (!want) printf("%s is missing: make bless\n", out);
		CHECK("", want != NULL);
		if (want) CHECK_STR("", got, want);
	}
}

static Ast *parse_expr(const char *text, char **err)
{
	Parsed *p = NEW(&mem, Parsed);
	p->srcs.mem = &mem;
	p->ds = (Diags){ .mem = &mem, .srcs = &p->srcs };
	p->src = source_add(&p->srcs, "--set", NULL, text, strlen(text));
	Ast *a = lang_parse_expr(&mem, &names, &p->ds, p->src);
	*err = diag_text(p);
	return a;
}

static void test_expr(void)
{
	char *err;
	Ast *a = parse_expr("[1, 0.5]", &err);
	CHECK("", a != NULL);
	if (a) CHECK_STR("", tree_text(a), "(list\n  (int 1)\n  (float 0.5))\n");
	a = parse_expr("-2\n", &err);
	CHECK("", a && a->kind == A_UNARY);
	CHECK("", !parse_expr("", &err) && strstr(err, "unexpected end of file"));
	CHECK("", !parse_expr("1 2", &err) && strstr(err, "unexpected `2`"));
	CHECK("", !parse_expr("x = 1", &err) && strstr(err, "unexpected `=`"));
	CHECK("", !parse_expr("99999999999999999999", &err) && strstr(err, "64 bits"));
}

/* n times `part`, then 1: a tree, or one clear message, on whatever stack this test has */
static void deep(const char *head, const char *part, int n)
{
	Buf b = buf_new(&mem);
	buf_puts(&b, head);
	for (int i = 0; i < n; i++) buf_puts(&b, part);
	buf_puts(&b, "1\n");
	Parsed *p = parse("deep.pxl", b.s, b.n);
	tree_text(p->file);
	if (p->ds.errors != 1 || p->ds.at.at[0]->code != E0008) printf("for `%s`:\n%s", part, diag_text(p));
	CHECK("", p->ds.errors == 1 && p->ds.at.at[0]->code == E0008);
	CHECK("", p->file->depth <= AST_MAX_DEPTH + 1);
}

static void test_depth(void)
{
	static const char *const parts[] = { "(", "[", "-", "not ", "{1: ", "a(", "x if c else ", "2 ** ", "fn() = ", "\"{", "~", "a + ", "a[", "[*", "fn() with a = ", "[b for a in ", "{1: 2 for a in " };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) deep("x = ", parts[i], 50000);
	deep("", "if a { ", 50000);
	deep("", "if a { } else ", 50000);
	deep("x = a", ".b", 50000);
}

/* texts that are no models: the code of the one message each gets */
static void one_error(DiagCode code, const char *text, size_t n)
{
	Parsed *p = parse("junk.pxl", text, n);
	if (p->ds.errors != 1 || p->ds.at.at[0]->code != code) printf("for `%.40s`:\n%s", text, diag_text(p));
	CHECK("", p->ds.errors == 1 && p->ds.at.at[0]->code == code);
}

static void test_junk(void)
{
	one_error(E0002, "x = 1\0y = 2\n", 12);
	one_error(E0002, "\x7f" "ELF\x02\x01\x01\0\0\0", 10);
	one_error(E0002, "x = \"\xff\"\n", 8);
	one_error(E0002, "x = \"\xed\xa0\x80\"\n", 10);
	one_error(E0002, "x = \"\xc0\xaf\"\n", 9);
	one_error(E0003, "x = \"abc", 8);
	one_error(E0003, "x = \"a{b", 8);
	one_error(E0003, "x = \"a{\"b", 9);
	one_error(E0003, "x = \"\\", 6);
	one_error(E0006, "x = (", 5);
	one_error(E0006, "module M() {", 12);
	one_error(E0006, "x = 1)\ny = 2\n", 13);
	Parsed *p = parse("empty.pxl", "", 0);
	CHECK("", p->ds.errors == 0 && p->file->u.list.n == 0);
	p = parse("bom.pxl", "\xef\xbb\xbfx = 1\r\n\r\n", 12);
	CHECK("", p->ds.errors == 0 && p->file->u.list.n == 1);
}

/* a length that is only claimed: the text itself is never looked at */
static void test_too_long(void)
{
	Parsed *p = parse("long.pxl", "x = 1\n", 6);
	p->srcs.at.at[0]->len = (size_t)1 << 30;
	Ast *a = lang_parse(&mem, &names, &p->ds, p->src);
	CHECK("", p->ds.errors == 1 && p->ds.at.at[0]->code == E0008 && a->u.list.n == 0);
}

static void test_long_line(void)
{
	Buf b = buf_new(&mem);
	buf_puts(&b, "x = [");
	for (int i = 0; i < 200000; i++) buf_puts(&b, "1, 2, ");
	buf_puts(&b, "3 4]\n");
	Parsed *p = parse("long.pxl", b.s, b.n);
	CHECK("", p->ds.errors == 1 && strlen(diag_text(p)) < 400);
}

static void parse_in(Arena *small, const char *text, size_t n)
{
	Intern own;
	intern_init(&own, small);
	Sources srcs = { .mem = small };
	Diags ds = { .mem = small, .srcs = &srcs };
	uint32_t src = source_add(&srcs, "m.pxl", NULL, text, n);
	Ast *a = lang_parse(small, &own, &ds, src);
	Buf b = buf_new(small);
	ast_print(a, &b);
	ast_format(a, source_get(&srcs, src), FORMAT_WIDTH, &b);
	CHECK("", ds.errors == 0);
}

static int fits(size_t limit, const char *text, size_t n)
{
	Arena small;
	jmp_buf oom;
	arena_init(&small, NULL, NULL);
	small.limit = limit;
	small.oom = &oom;
	int ok = !setjmp(oom);
	if (ok) parse_in(&small, text, n);
	arena_free(&small);
	return ok;
}

/* Memory runs out at every point in turn: the jump arrives, and all is given back (a leak checker looks on). */
static void test_no_memory(void)
{
	size_t n, limit = 256;
	char *text = read_file("tests/lang/statements.pxl", &n);
	while (!fits(limit, text, n) && limit < ((size_t)1 << 22)) limit += 256;
	CHECK("", limit > 50 * 256 && limit < ((size_t)1 << 22));
}

static void test_std(void)
{
	size_t n;
	CHECK("", lang_std("no such module", &n) == NULL);
	for (int i = 0; lang_std_name(i); i++) {
		const char *text = lang_std(lang_std_name(i), &n);
		CHECK("", text && strlen(text) == n);
		Parsed *p = parse(lang_std_name(i), text, n);
		if (p->ds.errors) printf("%s", diag_text(p));
		CHECK("", p->ds.errors == 0);
		CHECK("", i == 0 || strcmp(lang_std_name(i - 1), lang_std_name(i)) < 0);
	}
}

int main(void)
{
	jmp_buf oom;
	arena_init(&mem, NULL, NULL);
	if (setjmp(oom)) return 1;
	mem.oom = &oom;
	intern_init(&names, &mem);
	test_goldens();
	test_format();
	test_format_layout();
	test_expr();
	test_depth();
	test_junk();
	test_too_long();
	test_long_line();
	test_no_memory();
	test_std();
	arena_free(&mem);
	return check_done();
}
