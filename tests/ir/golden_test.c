/* golden_test.c — each tests/ir/X.ir runs through the passes that its first line names, and what comes out
 * must be X.out: either the program as text, or the messages.
 *
 *   # passes: cse,dce         verified after each; no names: the text is only read and printed
 *   # check: ambiguity        instead: the check of in-place programs
 *   # shows: R143             rules that a match shows
 *
 * BLESS=1 rewrites the .out files. */
#include "compiler/passes/plan.h"
#include "tests/ir/ir_test.h"

#include <dirent.h>

static char *read_file(Arena *a, const char *path)
{
	FILE *f = fopen(path, "rb");
	Buf b = buf_new(a);
	char part[4096];
	if (!f) return NULL;
	for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_put(&b, part, n);
	fclose(f);
	return b.n ? b.s : arena_str(a, "", 0);
}

/* the rest of the comment line that starts with `# key:`; NULL if there is none */
static const char *setting(Arena *a, const char *text, const char *key)
{
	const char *p = strstr(text, arena_printf(a, "# %s:", key));
	if (!p) return NULL;
	p += strlen(key) + 3;
	p += strspn(p, " ");
	return arena_str(a, p, strcspn(p, "\n"));
}

/* is `name` an item of the list "a,b,c" */
static int listed(const char *list, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == n && !strncmp(p, name, n)) return 1;
	return 0;
}

static int run_passes(Ir *ir, const char *list)
{
	PassOptions o = { .level = 2, .verify = 1, .alone = 1 };
	for (int i = 0; i < pass_count(); i++)
		if (!listed(list, pass_name(i))) o.disabled |= 1ul << i;
	return passes_run(ir, &o);
}

static const char *result(Bench *t, const char *name, const char *text)
{
	const char *passes = setting(&t->mem, text, "passes"), *check = setting(&t->mem, text, "check");
	Buf out = buf_new(&t->mem);
	Ir *ir = ir_parse(&t->mem, &t->names, &t->ds, source_add(&t->srcs, name, NULL, text, strlen(text)));
	if (ir && passes && !run_passes(ir, passes)) ir = NULL;
	if (ir && check && !ir_check_ambiguity(ir)) ir = NULL;
	if (ir) ir_print(ir, &out);
	for (int i = 0; i < t->ds.at.n; i++) diag_render(&t->ds, t->ds.at.at[i], 0, &out);
	return out.n ? out.s : "";
}

static void one(const char *name)
{
	Bench t;
	bench_open(&t);
	const char *path = arena_printf(&t.mem, "tests/ir/%s", name), *want_path = arena_printf(&t.mem, "%.*sout", (int)strlen(path) - 2, path);
	const char *text = read_file(&t.mem, path), *got = result(&t, name, text);
	if (getenv("BLESS")) {
		FILE *f = fopen(want_path, "wb");
		if (f) fputs(got, f), fclose(f);
	}
	const char *want = read_file(&t.mem, want_path), *shows = setting(&t.mem, text, "shows");
	if (!want || strcmp(got, want)) printf("%s:\n", path);
	CHECK_STR(shows ? shows : "", got, want ? want : "");
	bench_close(&t);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(void)
{
	char *names[512];
	int n = 0;
	DIR *d = opendir("tests/ir");
	for (struct dirent *e; d && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (len > 3 && !strcmp(e->d_name + len - 3, ".ir") && n < 512) names[n++] = strcpy(malloc(len + 1), e->d_name);
	}
	if (d) closedir(d);
	qsort(names, (size_t)n, sizeof *names, by_name);
	CHECK("", n > 0);
	for (int i = 0; i < n; i++) {
		one(names[i]);
		free(names[i]);
	}
	return check_done();
}
