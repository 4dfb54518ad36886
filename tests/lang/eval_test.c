/* eval_test.c — models run by the evaluator alone: what they print and what is said about them.
 *
 * Each tests/lang/eval/NAME.pxl, and each example, is loaded and all its programs are built, in order; prints go to NAME.out, and
 * diagnostics to NAME.err (whole caret texts).  A file that is absent means: nothing.  BLESS=1 rewrites both.
 * `# shows: R48` names the rules that the model's expectations show, at the end of an assertion the rules of that line. */
#include <dirent.h>
#include <stdlib.h>

#include "compiler/elab/elab.h"
#include "tests/check.h"

typedef struct Run { Arena mem; Intern names; Sources srcs; Diags ds; Buf out; jmp_buf oom; } Run;

static void on_print(void *user, const char *text, size_t len) { buf_put(&((Run *)user)->out, text, len); }

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);
	if (f) {
		size_t n = fread(text, 1, (1 << 20) - 1, f);
		text[n] = 0;
		fclose(f);
	}
	return text;
}

/* `use` finds neighbours in the same directory */
static int read_module(void *user, const Source *from, const char *name, const char **path, const char **text, size_t *len, Buf *why)
{
	Run *r = user;
	(void)from, (void)why;
	*path = arena_printf(&r->mem, "tests/lang/eval/use/%s.pxl", name);
	FILE *f = fopen(*path, "rb");
	if (!f) return 0;
	fclose(f);
	char *s = slurp(*path);
	*text = arena_str(&r->mem, s, strlen(s));
	*len = strlen(s);
	free(s);
	*path = arena_printf(&r->mem, "%s.pxl", name);
	return 1;
}

/* the text that the example gpt.pxl may be given: rows of characters; other models read no files */
static int read_tokens(void *user, const char *path, HostArray **out, Buf *why)
{
	(void)why;
	*out = host_new(&((Run *)user)->mem, DT_I32, (Shape){ .rank = 2, .dim = { 64, 129 } });
	return !strcmp(path, "text.npy");
}

static void build_all(Run *r, const char *name, const char *text)
{
	Elab *e = elab_new(&(ElabOptions){ .mem = &r->mem, .names = &r->names, .srcs = &r->srcs, .ds = &r->ds, .seed = 1,
		.read_module = read_module, .read_array = strcmp(name, "gpt.pxl") ? NULL : read_tokens, .print = on_print, .user = r });
	uint32_t src = source_add(&r->srcs, name, NULL, text, strlen(text));
	if (!elab_file(e, src)) return;
	for (int i = 0; i < elab_program_count(e); i++) elab_program(e, elab_program_name(e, i), NULL, 0, 0);
	for (int i = 0; i < elab_task_count(e); i++) elab_task(e, elab_task_name(e, i));
}

/* what was printed, and the diagnostics; malloc'ed */
static void run_model(const char *name, const char *text, char **out, char **err)
{
	Run *r = calloc(1, sizeof *r);
	arena_init(&r->mem, alloc_libc, NULL);
	if (setjmp(r->oom)) {
		CHECK("", !"out of memory");
		return;
	}
	r->mem.oom = &r->oom;
	intern_init(&r->names, &r->mem);
	r->srcs.mem = r->ds.mem = &r->mem;
	r->ds.srcs = &r->srcs;
	r->out = buf_new(&r->mem);
	buf_puts(&r->out, "");
	build_all(r, name, text);
	Buf b = buf_new(&r->mem);
	buf_puts(&b, "");
	for (int i = 0; i < r->ds.at.n; i++) diag_render(&r->ds, r->ds.at.at[i], 0, &b);
	*out = strcpy(malloc(r->out.n + 1), r->out.s);
	*err = strcpy(malloc(b.n + 1), b.s);
	arena_free(&r->mem);
	free(r);
}

/* every `# shows:` comment of the text, those at the ends of lines too */
static void rules_of(const char *text, char *out, size_t max)
{
	size_t n = 0;
	out[0] = 0;
	for (const char *s = text; (s = strstr(s, "# shows:")) && n < max; s += 8)
		n += (size_t)snprintf(out + n, max - n, "%.*s", (int)strcspn(s + 8, "\n"), s + 8);
}

/* 1 when the text is the golden file's */
static int compare(const char *path, const char *suffix, const char *got)
{
	char file[512];
	snprintf(file, sizeof file, "%.*s%s", (int)(strlen(path) - 4), path, suffix);
	if (getenv("BLESS")) {
		FILE *f = *got ? fopen(file, "wb") : (remove(file), NULL);
		if (f) fputs(got, f), fclose(f);
	}
	char *want = slurp(file);
	int same = !strcmp(got, want);
	if (!same) printf("%s differs\n", file);
	CHECK_STR("", got, want);
	free(want);
	return same;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void run_dir(const char *dir, const char *filter)
{
	char *names[512], path[512], rules[4096];
	int n = 0;
	DIR *d = opendir(dir);
	for (struct dirent *f; d && (f = readdir(d)) && n < 512;) {
		size_t len = strlen(f->d_name);
		if (len > 4 && !strcmp(f->d_name + len - 4, ".pxl") && strstr(f->d_name, filter)) names[n++] = strcpy(malloc(len + 1), f->d_name);
	}
	if (d) closedir(d);
	CHECK("", n > 0 || *filter);
	if (n) qsort(names, (size_t)n, sizeof *names, by_name);
	for (int i = 0; i < n; i++) {
		char *out = NULL, *err = NULL;
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		char *text = slurp(path);
		rules_of(text, rules, sizeof rules);
		run_model(names[i], text, &out, &err);
		int same = compare(path, ".out", out) & compare(path, ".err", err);
		check_one(rules, same, "the model does what its files say", path, 1);
		free(text), free(out), free(err), free(names[i]);
	}
}

/* every ```pxl block of a page builds without a word; a ```text block right after it is what it prints */
static void run_page(const char *path)
{
	char *text = slurp(path), name[512];
	int blocks = 0;
	for (char *at = text; (at = strstr(at, "```pxl\n"));) {
		char *body = at + 7, *end = strstr(body, "\n```"), *out = NULL, *err = NULL;
		CHECK("", end != NULL);
		if (!end) break;
		at = end + 4 + (end[4] == '\n');
		end[1] = 0;
		snprintf(name, sizeof name, "%s block %d", path, ++blocks);
		run_model(name, body, &out, &err);
		CHECK_STR("", err, "");
		if (!strncmp(at, "```text\n", 8)) {
			char *want = at + 8, *stop = strstr(want, "```");
			if (stop) at = stop + 3, *stop = 0;
			CHECK_STR("", out, want);
		}
		free(out), free(err);
	}
	CHECK("", blocks > 0);
	free(text);
}

int main(int argc, char **argv)
{
	run_dir("tests/lang/eval", argc > 1 ? argv[1] : "");
	run_dir("examples", argc > 1 ? argv[1] : "");
	if (argc == 1) run_page("docs/language.md");
	return check_done();
}
