/* exec_test.c — whole programs: every model in tests/exec and examples/guide, run as its comments say and compared.
 *
 * A comment that is a word and a colon must be one of these; anything else is refused, so that no expectation is lost to a typo.
 *
 *   # program: p               begins a case; without it the only program is meant
 *   # set: n = 3               a parameter
 *   # in: x = 1 2 3            an input stream, in order of elements ([ ] and , are decoration)
 *   # var: w = 0.5             write a variable before the first run
 *   # runs: 2                  how often to run (1); 0: build it, and say no more
 *   # expect: y = 3 ~1e-5      an output stream, or a variable, afterwards; tolerance relative to 1 + |want| (1e-6)
 *   # fails: text              running fails with this in its message
 *   # error: E0301 7           building fails with this code at this line (the line may be left out)
 *
 * `# shows: R175 A50` at the end of an expect, fails or error line, of a line that begins with `assert`, or (where there is a
 * FILE.out) with `print`, says which rules that line shows.  It may stand nowhere else.
 *
 * What the model prints is compared with FILE.out where there is one (BLESS=1 rewrites it).
 * Every case runs unoptimised and optimised under libtcc, and optimised under the system's compiler. */
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

#include <dirent.h>

enum { MAX_CASE = 64, MAX_LINE = 64, MAX_VALUES = 4096 };

typedef struct Case {
	char program[64], fails[200], error[16];
	int error_line, runs, nset, nline;
	pxl_set set[16];
	char names[16][64], values[16][200];
	char *line[MAX_LINE];                /* "in: …", "var: …", "expect: …" */
	const char *ids[MAX_LINE], *outcome; /* rules that each line shows, and that failing as expected shows */
} Case;

static char asserted[4096], prints[4096];    /* rules that the file's asserts and its printed text show */
static char printed[1 << 16];

static void on_print(void *user, const char *text, size_t len)
{
	size_t n = strlen(user);
	if (n + len < sizeof printed) memcpy((char *)user + n, text, len), ((char *)user)[n + len] = 0;
}

/* --- reading the comments ------------------------------------------------------------------------------- */
static char *slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) return NULL;
	char *text = calloc(1, 1 << 20);
	size_t n = fread(text, 1, (1 << 20) - 1, f);
	text[n] = 0;
	fclose(f);
	return text;
}

static int directive(const char *line, const char *name, const char **rest)
{
	size_t n = strlen(name);
	if (strncmp(line, "# ", 2) || strncmp(line + 2, name, n) || line[2 + n] != ':') return 0;
	*rest = line + n + 3;
	while (**rest == ' ') ++*rest;
	return 1;
}

static void add_set(Case *c, const char *rest)
{
	sscanf(rest, "%63[^ =] = %199[^\n]", c->names[c->nset], c->values[c->nset]);
	c->set[c->nset] = (pxl_set){ c->names[c->nset], c->values[c->nset] };
	c->nset++;
}

/* `# word: …` that is none of the above */
static int is_unknown(const char *line)
{
	size_t n = !strncmp(line, "# ", 2) ? strspn(line + 2, "abcdefghijklmnopqrstuvwxyz_") : 0;
	return n && line[2 + n] == ':';
}

/* takes a `# shows: …` from the end of the line, and gives the rules it names */
static const char *cut_mark(char *line)
{
	char *mark = strstr(line, "# shows: ");
	if (!mark) return "";
	*mark = 0;
	for (char *end = mark; end > line && end[-1] == ' '; ) *--end = 0;
	return mark + 9;
}

static void append(char *list, size_t size, const char *ids)
{
	size_t n = strlen(list);
	if (*ids) snprintf(list + n, size - n, "%s%s", n ? " " : "", ids);
}

static int begins(const char *line, const char *with)
{
	while (*line == ' ') line++;
	return !strncmp(line, with, strlen(with));
}

static int read_cases(char *text, Case *cases)
{
	int n = 0, begun = 0;
	const char *rest;
	memset(cases, 0, sizeof *cases * MAX_CASE);
	cases[0].runs = 1;
	cases[0].outcome = "";
	asserted[0] = prints[0] = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		Case *c = &cases[n];
		const char *ids = cut_mark(line);
		if (directive(line, "program", &rest)) {
			if (begun && ++n == MAX_CASE) abort();
			begun = 1;
			cases[n].runs = 1;
			cases[n].outcome = "";
			snprintf(cases[n].program, sizeof cases[n].program, "%s", rest);
		} else if (directive(line, "set", &rest)) add_set(c, rest);
		else if (directive(line, "runs", &rest)) c->runs = atoi(rest);
		else if (directive(line, "fails", &rest)) snprintf(c->fails, sizeof c->fails, "%s", rest), c->outcome = ids, ids = "";
		else if (directive(line, "error", &rest)) sscanf(rest, "%15s %d", c->error, &c->error_line), c->outcome = ids, ids = "";
		else if (directive(line, "expect", &rest)) c->ids[c->nline] = ids, c->line[c->nline++] = line + 2, ids = "";
		else if (directive(line, "in", &rest) || directive(line, "var", &rest)) c->line[c->nline++] = line + 2;
		else if (is_unknown(line)) printf("%s: unknown directive: %s\n", check_where, line), CHECK("", !"every directive is known");
		else if (begins(line, "assert ")) append(asserted, sizeof asserted, ids), ids = "";
		else if (begins(line, "print(")) append(prints, sizeof prints, ids), ids = "";
		if (*ids) printf("%s: %s\n", check_where, ids), CHECK("", !"rules are named where something is expected");
	}
	return n + 1;
}

static int read_values(const char *text, double *v, double *tol)
{
	int n = 0;
	*tol = 1e-6;
	while (*text && n < MAX_VALUES) {
		char *end;
		if (strchr(" ,[]\t", *text)) { text++; continue; }
		if (*text == '~') { *tol = strtod(text + 1, &end); text = end; continue; }
		if (!strncmp(text, "true", 4)) { v[n++] = 1; text += 4; continue; }
		if (!strncmp(text, "false", 5)) { v[n++] = 0; text += 5; continue; }
		v[n++] = strtod(text, &end);
		if (end == text) return -1;
		text = end;
	}
	return n;
}

/* --- running ------------------------------------------------------------------------------------------------ */
typedef struct Run { const char *file; const Case *c; pxl_ctx *cx; pxl_program *p; pxl_session *s; } Run;

static void complain(const Run *r, const char *what, const char *why)
{
	printf("%s %s: %s: %s\n", r->file, r->c->program, what, why);
	CHECK("", !"case holds");
}

static int put(Run *r, const char *name, const char *text)
{
	static double v[MAX_VALUES];
	double tol;
	pxl_info info;
	int i = pxl_find(r->p, PXL_INPUT, name), n = read_values(text, v, &tol);
	if (i < 0) i = pxl_find(r->p, PXL_VARIABLE, name);
	if (!pxl_get_info(r->p, i, &info)) return complain(r, name, "no such input or variable"), 0;
	if ((size_t)n != info.nelem) return complain(r, name, "wrong number of values"), 0;
	void *data = calloc(1, info.bytes + 1);
	pxl_convert(info.dtype, data, PXL_F64, v, info.nelem);
	pxl_status st = pxl_write(r->s, i, data, info.bytes);
	free(data);
	if (st != PXL_OK) complain(r, name, pxl_session_errmsg(r->s));
	return st == PXL_OK;
}

static int close_to(double got, double want, double tol)
{
	if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
	if (isinf(want)) return got == want;
	return fabs(got - want) <= tol * (1 + fabs(want));
}

static void compare(Run *r, const char *ids, const char *name, const char *text)
{
	static double v[MAX_VALUES];
	double tol;
	char why[200];
	pxl_info info;
	int i = pxl_find(r->p, PXL_OUTPUT, name), n = read_values(text, v, &tol);
	if (i < 0) i = pxl_find(r->p, PXL_VARIABLE, name);
	if (!pxl_get_info(r->p, i, &info)) { complain(r, name, "no such output or variable"); return; }
	if ((size_t)n != info.nelem) {
		snprintf(why, sizeof why, "%d values expected, it has %zu", n, info.nelem);
		complain(r, name, why);
		return;
	}
	void *data = calloc(1, info.bytes + 1);
	if (pxl_read(r->s, i, data, info.bytes) != PXL_OK) complain(r, name, pxl_session_errmsg(r->s));
	for (int k = 0; k < n; k++) {
		double got = pxl_element(info.dtype, data, (size_t)k);
		snprintf(why, sizeof why, "element %d is %.9g, expected %.9g", k, got, v[k]);
		if (!close_to(got, v[k], tol)) complain(r, name, why);
		else CHECK(ids, 1);
	}
	free(data);
}

static void each_line(Run *r, const char *kind, int is_expect)
{
	size_t n = strlen(kind);
	for (int i = 0; i < r->c->nline; i++) {
		char name[128];
		const char *line = r->c->line[i], *eq = strchr(line, '=');
		if (strncmp(line, kind, n) || line[n] != ':' || !eq) continue;
		sscanf(line + n + 1, " %127[^ =]", name);
		if (is_expect) compare(r, r->c->ids[i], name, eq + 1);
		else put(r, name, eq + 1);
	}
}

static void run_case(Run *r)
{
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	so.threads = 2;
	if (pxl_session_new(r->p, &so, &r->s) != PXL_OK) { complain(r, "session", pxl_errmsg(r->cx)); return; }
	each_line(r, "var", 0);
	each_line(r, "in", 0);
	pxl_status st = r->c->runs ? pxl_run(r->s, (size_t)r->c->runs) : PXL_OK;
	if (r->c->fails[0]) {
		if (st == PXL_ERUN && strstr(pxl_session_errmsg(r->s), r->c->fails)) CHECK(r->c->outcome, 1);
		else complain(r, "expected to fail while running", pxl_session_errmsg(r->s));
	} else if (st != PXL_OK) complain(r, "run", pxl_session_errmsg(r->s));
	else each_line(r, "expect", 1);
	pxl_session_free(r->s);
}

static void expect_error(Run *r, pxl_status st)
{
	pxl_diag d;
	for (size_t i = 0; i < pxl_diag_count(r->cx); i++)
		if (pxl_diag_get(r->cx, i, &d) && !strcmp(d.code, r->c->error) && (!r->c->error_line || d.line == r->c->error_line)) {
			CHECK(r->c->outcome, st == PXL_EMODEL);
			return;
		}
	printf("%s %s: expected %s at line %d, got:\n", r->file, r->c->program, r->c->error, r->c->error_line);
	for (size_t i = 0; i < pxl_diag_count(r->cx); i++) fputs(pxl_diag_text(r->cx, i, PXL_DIAG_FULL), stdout);
	CHECK(r->c->outcome, !"the error is given");
}

static void show_diags(Run *r, pxl_status st)
{
	printf("%s %s: %s: %s\n", r->file, r->c->program, pxl_strstatus(st), pxl_errmsg(r->cx));
	for (size_t i = 0; i < pxl_diag_count(r->cx); i++) fputs(pxl_diag_text(r->cx, i, PXL_DIAG_FULL), stdout);
	CHECK("", !"builds");
}

static void build_case(Run *r, pxl_model *m, int level, pxl_jit jit)
{
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.name = r->c->program[0] ? r->c->program : NULL;
	po.sets = r->c->set;
	po.nset = (size_t)r->c->nset;
	po.level = level;
	po.jit = jit;
	r->p = NULL;
	pxl_status st = pxl_program_new(m, &po, &r->p);
	if (r->c->error[0]) expect_error(r, st);
	else if (st != PXL_OK) show_diags(r, st);
	else {
		CHECK(asserted, 1);
		run_case(r);
	}
	pxl_program_free(r->p);
}

static void check_printed(const char *path)
{
	char out[600];
	snprintf(out, sizeof out, "%.*s.out", (int)strlen(path) - 4, path);
	char *want = slurp(out);
	if (getenv("BLESS") && want) {
		FILE *f = fopen(out, "wb");
		fputs(printed, f);
		fclose(f);
	} else if (want) {
		printf("%s\n", path);
		CHECK_STR(prints, printed, want);
	}
	free(want);
}

static void one_file(const char *path, int level, pxl_jit jit)
{
	static Case cases[MAX_CASE];
	char *text = slurp(path);
	check_where = path;
	int n = read_cases(text, cases);
	pxl_options o = PXL_OPTIONS_INIT;
	o.print = on_print;
	o.print_user = printed;
	o.log = on_print;
	o.log_user = printed;
	o.verify = 1;
	printed[0] = 0;
	for (int i = 0; i < n; i++) {
		pxl_model *m = NULL;
		Run r = { .file = path, .c = &cases[i] };
		if (pxl_ctx_new(&o, &r.cx) != PXL_OK) abort();
		pxl_status st = pxl_compile_file(r.cx, path, &m);
		if (st == PXL_OK) build_case(&r, m, level, jit);
		else if (cases[i].error[0]) expect_error(&r, st);
		else show_diags(&r, st);
		pxl_model_free(m);
		pxl_ctx_free(r.cx);
	}
	check_printed(path);
	free(text);
}

static int ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n > k && !strcmp(s + n - k, end);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int list_models(const char *folder, const char *only, char **paths, int max)
{
	int n = 0;
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d)) && n < max;) {
		char path[600];
		if (!ends_with(e->d_name, ".pxl") || !strstr(e->d_name, only)) continue;
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		paths[n++] = strdup(path);
	}
	if (d) closedir(d);
	qsort(paths, (size_t)n, sizeof *paths, by_name);
	return n;
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	char *paths[1000];
	int n = list_models("tests/exec", only, paths, 500);
	n += list_models("examples/guide", only, paths + n, 500);
	CHECK("", n > 0);
	for (int i = 0; i < n; i++) {
		one_file(paths[i], 0, PXL_JIT_TCC);
		one_file(paths[i], 2, PXL_JIT_TCC);
		one_file(paths[i], 2, PXL_JIT_CC);
		free(paths[i]);
	}
	return check_done();
}
