/* dot_test.c — drawings: which checkpoints are drawn, where the files go, and what is in them. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[4096];                  /* the first diagnostic of the last draw() */
static char base[] = "/tmp/pxl_dot_XXXXXX";

static const char two_checks[] =
	"program main() {\n"
	"    x = host_load(h2d_stream(\"x\", f32[2]))\n"
	"    dot_checkpoint(\"Foo\")\n"
	"    y = x + 1.0\n"
	"    dot_checkpoint(\"Bar\")\n"
	"    host_store(d2h_stream(\"y\", f32[2]), y)\n"
	"}\n";

static int count_files(const char *dir, int really_remove)
{
	char path[600];
	int n = 0;
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (e->d_name[0] == '.' || stat(path, &st)) continue;
		if (S_ISDIR(st.st_mode)) {
			if (really_remove) count_files(path, 1), rmdir(path);
			continue;
		}
		n++;
		if (really_remove) remove(path);
	}
	if (d) closedir(d);
	return n;
}

static int exists(const char *name)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", base, name);
	return access(path, R_OK) == 0;
}

static const char *content(const char *name)
{
	static char text[1 << 16];
	char path[600];
	snprintf(path, sizeof path, "%s/%s", base, name);
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = 0;
	if (f) fclose(f);
	return text;
}

static int count(const char *text, const char *part)
{
	int n = 0;
	for (const char *p = text; (p = strstr(p, part)); p++) n++;
	return n;
}

/* builds the program and makes a session; the last status */
static pxl_status draw(const char *text, const pxl_program_options *o)
{
	pxl_ctx *cx;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	if (pxl_ctx_new(NULL, &cx)) abort();
	pxl_status st = pxl_compile_memory(cx, "model.pxl", text, strlen(text), &m);
	if (!st) st = pxl_program_new(m, o, &p);
	if (!st) st = pxl_session_new(p, NULL, &s);
	snprintf(said, sizeof said, "%s", st ? pxl_diag_text(cx, 0, PXL_DIAG_FULL) : "");
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return st;
}

static pxl_program_options options(const char *dir, const char *checks)
{
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	o.jit = PXL_JIT_TCC;
	o.dot_dir = dir;
	o.dot_checks = checks;
	count_files(base, 1);
	return o;
}

/* files drawn with the environment and the list so (NULL: not set) */
static int drawn(const char *env, const char *checks)
{
	pxl_program_options o = options(base, checks);
	if (env) setenv("PXL_DOT_CHECKS", env, 1);
	else unsetenv("PXL_DOT_CHECKS");
	pxl_status st = draw(two_checks, &o);
	unsetenv("PXL_DOT_CHECKS");
	return st ? -1 : count_files(base, 0);
}

static void active_set(void)
{
	CHECK("R66 R68", drawn("", NULL) == 0);
	CHECK("R66 R67 R68", drawn("FINAL", NULL) == 1 && exists("Final_r.dot"));
	CHECK("R65 R66 R68 R69", drawn("FOO:BAR", NULL) == 2 && exists("Foo_r.dot") && exists("Bar_r.dot"));
	CHECK("R66 R68", drawn("ALL", NULL) == 3);
	CHECK("R66 R67 R68", drawn(NULL, NULL) == 3 && exists("Foo_r.dot") && exists("Bar_r.dot") && exists("Final_r.dot"));
	CHECK("R66", drawn("foo", "bAr") == 2 && exists("Foo_r.dot") && exists("Bar_r.dot"));
	CHECK("R66", drawn("", "final") == 1 && drawn(NULL, "Foo") == 1 && drawn(NULL, "all") == 3 && drawn("Other", NULL) == 0);
	CHECK("R66", drawn("Fo", NULL) == 0 && drawn("Foo2", NULL) == 0);
	pxl_program_options o = options(NULL, "ALL");
	CHECK("R65", draw(two_checks, &o) == PXL_OK && count_files(base, 0) == 0);
}

static void where(void)
{
	static const char moves[] =
		"program main() {\n"
		"    x = variable([1.0, 2.0])\n"
		"    dot_checkpoint(\"One\")\n"
		"    current_ir().dot_checkpoint(\"Two\", \"deep/down\")\n"
		"    y = x + 1.0\n"
		"    dot_checkpoint(\"Three\")\n"
		"}\n";
	char made[600];
	pxl_program_options o = options(NULL, NULL);
	snprintf(made, sizeof made, "%s/made/here", base);
	o.dot_dir = made;
	CHECK("R65", draw(moves, &o) == PXL_OK && exists("made/here/One_r.dot") && exists("made/here/deep/down/Two_r.dot"));
	CHECK("R65 R67", exists("made/here/deep/down/Three_r.dot") && exists("made/here/deep/down/Final_r.dot") && !exists("made/here/Three_r.dot"));
	CHECK("R65", count(content("made/here/deep/down/Two_r.dot"), "shape=box") == 0 && count(content("made/here/deep/down/Three_r.dot"), "shape=box") == 1);
	snprintf(made, sizeof made, "%s/file", base);
	o = options(made, NULL);
	fclose(fopen(made, "w"));
	CHECK("R65", draw(moves, &o) == PXL_EMODEL);
	char want[1024];
	snprintf(want, sizeof want,
		"error[E0901]: checkpoint `One` cannot be drawn: cannot use the folder `%s`: Not a directory\n --> "
		"model.pxl:3:5\n"
		"  |\n3 |     dot_checkpoint(\"One\")\n  |     ^^^^^^^^^^^^^^^^^^^^^\n",
		made);
	CHECK_STR("R65", said, want);
	static const char nothing[] = "program main() { x = variable(1.0) }\n";
	CHECK("R67", draw(nothing, &o) == PXL_EIO);
}

static void graphs(void)
{
	static const char calls[] =
		"program main() {\n"
		"    x = variable([1.0, 2.0])\n"
		"    g = graph(fn(a) = a * a, x)\n"
		"    autodiff(g)\n"
		"    y = call(g, x)\n"
		"}\n";
	pxl_program_options o = options(base, NULL);
	CHECK("R69", draw(calls, &o) == PXL_OK && count_files(base, 0) == 3 && exists("Final_r.dot") && exists("Final_0.dot") && exists("Final_0_bwd.dot"));
	CHECK("R69 R70", count(content("Final_r.dot"), "Call.") == 1 && count(content("Final_r.dot"), "fn_subgraph(0)") == 1 && count(content("Final_0.dot"), "Mul.") == 1);
}

static void slices(void)
{
	pxl_program_options o = options(base, "Final");
	CHECK("R71", draw(two_checks, &o) == PXL_OK && count(content("Final_r.dot"), "shape=box") == 4);
	o.dot_first = 1;
	o.dot_count = 2;
	CHECK("R71", draw(two_checks, &o) == PXL_OK && count(content("Final_r.dot"), "shape=box") == 2);
	CHECK("R71", count(content("Final_r.dot"), "1: HostLoad.") == 1 && count(content("Final_r.dot"), "2: Add.") == 1 && !strstr(content("Final_r.dot"), "HostStore"));
	o.dot_first = 3;
	o.dot_count = 0;
	CHECK("R71", draw(two_checks, &o) == PXL_OK && count(content("Final_r.dot"), "shape=box") == 1 && strstr(content("Final_r.dot"), "3: HostStore."));
}

int main(void)
{
	if (!mkdtemp(base)) return 1;
	active_set();
	where();
	graphs();
	slices();
	count_files(base, 1);
	rmdir(base);
	return check_done();
}
