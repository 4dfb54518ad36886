/* jit_cc.c — the system's compiler: results, the cache (hits, damage, strangers' directories), and what happens without one. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/codegen/codegen.h"
#include "tests/check.h"

static const char text[] =
	"#include \"runtime/pxlrt.h\"\n"
	"int pxl_main(const struct pxlrt *rt, struct pxlrt_lane *ln)\n"
	"{\n"
	"\t*(double *)ln->frame = 0.1 + rt->abi;\n"
	"\treturn 7;\n"
	"}\n";

static int compile(const char *c, const char *dir, Jit **j, RtErr *e)
{
	Module m = { .text = c, .len = strlen(c) };
	JitOptions o = { .kind = JIT_CC, .cache_dir = dir };
	return jit_compile(&m, &o, j, e);
}

/* compiles, runs, says how it was made */
static const char *once(const char *dir)
{
	RtErr e = { 0 };
	Jit *j = NULL;
	if (compile(text, dir, &j, &e)) return printf("%s\n", e.text), "failed";
	double y = 0;
	struct pxlrt rt = { .abi = 1 };
	struct pxlrt_lane ln = { .frame = (char *)&y };
	const char *kind = jit_kind(j);
	int right = jit_entry(j)(&rt, &ln) == 7 && y == 1.1;
	jit_free(j);
	return right ? kind : "wrong";
}

/* number of files in dir; `path` gets the last one's */
static int files(const char *dir, char *path)
{
	int n = 0;
	DIR *d = opendir(dir);
	for (struct dirent *f; d && (f = readdir(d));) {
		if (f->d_name[0] == '.' && strncmp(f->d_name, ".pxl-", 5)) continue;      /* `.`, `..` and marks of the cache */
		n++;
		sprintf(path, "%s/%.200s", dir, f->d_name);
	}
	if (d) closedir(d);
	return n;
}

static void cache(const char *dir)
{
	char path[600];
	CHECK_STR("", once(dir), "cc");
	CHECK("", files(dir, path) == 1);            /* the object and nothing left behind */
	CHECK_STR("", once(dir), "cc (cached)");
	CHECK("", truncate(path, 1000) == 0);
	CHECK_STR("", once(dir), "cc");              /* cut short: made anew */
	CHECK_STR("", once(dir), "cc (cached)");
	FILE *f = fopen(path, "r+");
	fseek(f, 2000, SEEK_SET);
	fputs("\1\2\3\4\5\6\7", f);
	fclose(f);
	CHECK_STR("", once(dir), "cc");              /* a few bytes changed */
	chmod(dir, 0777);
	CHECK_STR("", once(dir), "cc");              /* others could write there: not used */
	chmod(dir, 0700);
	CHECK_STR("", once(dir), "cc (cached)");
	unlink(path);
}

static void errors(const char *dir)
{
	RtErr e = { 0 };
	Jit *j = NULL;
	char path[600];
	CHECK("", compile("int pxl_main(void) { return nowhere; }\n", dir, &j, &e) == RT_EINTERNAL && strstr(e.text, "nowhere"));
	CHECK("", compile("int other;\n", dir, &j, &e) == RT_EINTERNAL && strstr(e.text, "pxl_main"));
	CHECK("", files(dir, path) <= 1 && !j);
	if (files(dir, path)) unlink(path);
	setenv("PXL_CC", "no-such-compiler; touch here", 1);
	CHECK("", compile(text, dir, &j, &e) == RT_EIO && strstr(e.text, "PXL_CC"));
	CHECK("", access("here", F_OK) != 0);
	unsetenv("PXL_CC");
	char *old = strdup(getenv("PATH"));
	setenv("PATH", "/nonexistent", 1);
	CHECK("", compile(text, dir, &j, &e) == RT_EIO && strstr(e.text, "PXL_CC"));
	setenv("PATH", old, 1);
	free(old);
	setenv("TMPDIR", "/nonexistent", 1);
	CHECK("", compile(text, NULL, &j, &e) == RT_EIO && strstr(e.text, "/nonexistent"));
	unsetenv("TMPDIR");
}

int main(void)
{
	char dir[] = "/tmp/pxl-test-XXXXXX", sub[64];
	if (!mkdtemp(dir)) return 1;
	snprintf(sub, sizeof sub, "%s/a/b", dir);            /* made when missing */
	CHECK_STR("", once(NULL), "cc");
	CHECK_STR("", once("/proc/nowhere"), "cc");
	cache(sub);
	errors(sub);
	snprintf(sub, sizeof sub, "rm -r %s", dir);
	CHECK("", system(sub) == 0);
	return check_done();
}
