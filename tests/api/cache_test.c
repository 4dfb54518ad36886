/* cache_test.c — compiled programs on disk (when they are found again and when not), the library's log, float8 streams. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"program add(n: int = 3, start: float = 1.0, drop: bool = false) {\n"
	"    w = variable(full([n], start), name = \"w\")\n"
	"    host_store(d2h_stream(\"y\", f32[n]), w * 2.0)\n"
	"}\n"
	"program eighths() {\n"
	"    x = host_load(h2d_stream(\"x\", f8_143[4]))\n"
	"    host_store(d2h_stream(\"y\", f8_143[4]), x)\n"
	"}\n";

typedef struct Heard { char text[4096]; size_t n; } Heard;

static void hear(void *user, const char *text, size_t len)
{
	Heard *h = user;
	if (h->n + len >= sizeof h->text) return;
	memcpy(h->text + h->n, text, len);
	h->text[h->n += len] = 0;
}

/* compiles `add` in a world of its own, runs it; how it was compiled, and the first output */
static const char *once(const char *dir, Heard *h, pxl_set *set, int level, float *y)
{
	static char kind[32];
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	pxl_session *s;
	pxl_program_info info;
	float out[8];
	pxl_info o;
	pxl_options opt = PXL_OPTIONS_INIT;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	opt.cache_dir = dir;
	opt.log = hear;
	opt.log_user = h;
	*h = (Heard){ .n = 0 };
	po.name = "add";
	po.jit = PXL_JIT_CC;
	po.level = level;
	po.sets = set;
	po.nset = set ? 1 : 0;
	if (pxl_ctx_new(&opt, &cx) || pxl_compile_memory(cx, "cache.pxl", model, sizeof model - 1, &m)) return "no model";
	if (pxl_program_new(m, &po, &p) || pxl_session_new(p, NULL, &s) || pxl_run(s, 1)) return pxl_errmsg(cx);
	int i = pxl_find(p, PXL_OUTPUT, "y");
	if (!pxl_get_info(p, i, &o) || pxl_read(s, i, out, o.bytes)) return "no output";
	*y = out[0];
	pxl_program_get_info(p, &info);
	snprintf(kind, sizeof kind, "%s", info.jit);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return kind;
}

static int files(const char *dir, char *path, size_t size)
{
	int n = 0;
	DIR *d = opendir(dir);
	for (struct dirent *f; d && (f = readdir(d));) {
		if (f->d_name[0] == '.') continue;
		n++;
		snprintf(path, size, "%s/%.200s", dir, f->d_name);
	}
	if (d) closedir(d);
	return n;
}

static void forget_environment(void)
{
	static const char *const names[] = { "PXL_CACHE_DIR", "POPXL_CACHE_DIR", "POPART_CACHE_DIR", "PXL_LOG_LEVEL", "POPART_LOG_LEVEL",
	                                     "PXL_LOG_FORMAT", "POPART_LOG_FORMAT", "PXL_LOG_CONFIG", "POPART_LOG_CONFIG" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

static void test_hits_and_misses(const char *dir)
{
	char path[600];
	Heard h;
	float y;
	pxl_set longer = { "n", "4" }, later = { "start", "5.0" };
	setenv("PXL_LOG_LEVEL", "INFO", 1);
	CHECK_STR("R313", once(dir, &h, NULL, 2, &y), "cc");
	CHECK("R312 R313", files(dir, path, sizeof path) == 1 && !h.n);
	CHECK_STR("R313 R314", once(dir, &h, NULL, 2, &y), "cc (cached)");
	CHECK("R313", y == 2 && strstr(h.text, "a serialized executable is loaded") && strstr(h.text, dir));
	/* values of variables are not part of the key: the same code, another start */
	CHECK_STR("R313", once(dir, &h, &later, 2, &y), "cc (cached)");
	CHECK("R313", y == 10);
	CHECK_STR("R315", once(dir, &h, &longer, 2, &y), "cc");
	CHECK("R315 R317", files(dir, path, sizeof path) == 2);
	CHECK_STR("R315", once(dir, &h, &longer, 2, &y), "cc (cached)");
	/* another option is another entry, even where the emitted C may be the same */
	CHECK_STR("R315", once(dir, &h, NULL, 1, &y), "cc");
	CHECK("R315", files(dir, path, sizeof path) == 3 && !unlink(path));
}

static void test_wrong_files(const char *dir)
{
	char path[600], other[700];
	Heard h;
	float y;
	unsetenv("PXL_LOG_LEVEL");
	CHECK("", files(dir, path, sizeof path) == 1 && truncate(path, 100) == 0);
	CHECK_STR("R315", once(dir, &h, NULL, 2, &y), "cc");
	CHECK("R315", y == 2 && strstr(h.text, "damaged or foreign file") && strstr(h.text, "pxl: "));
	CHECK_STR("R315", once(dir, &h, NULL, 2, &y), "cc (cached)");
	CHECK("R315 R318", !h.n);                                   /* nothing to warn of, and notices are not asked for */
	/* a changed byte that a loader would not notice */
	FILE *f = fopen(path, "r+b");
	CHECK("", f && !fseek(f, -1, SEEK_END) && fputc(0x5a, f) != EOF && !fclose(f));
	CHECK_STR("R315", once(dir, &h, NULL, 2, &y), "cc");
	CHECK("R315", strstr(h.text, "damaged or foreign file") != NULL);
	/* something else stands where the entry should: passed over, and left alone */
	CHECK("", !unlink(path) && !mkdir(path, 0700));
	snprintf(other, sizeof other, "%s/keep", path);
	CHECK("", !mkdir(other, 0700));
	CHECK_STR("R315", once(dir, &h, NULL, 2, &y), "cc");
	CHECK("R315", y == 2 && strstr(h.text, "damaged or foreign file") && !access(other, F_OK));
	CHECK("", !chmod(dir, 0777));
	CHECK_STR("R315", once(dir, &h, NULL, 2, &y), "cc");
	CHECK("R315", strstr(h.text, "the cache is not used") != NULL);
	CHECK("", !chmod(dir, 0700));
}

static void test_where(const char *dir)
{
	char a[200], b[200], path[600];
	Heard h;
	float y;
	snprintf(a, sizeof a, "%s/made/here", dir);
	snprintf(b, sizeof b, "%s/other", dir);
	CHECK_STR("R312", once(NULL, &h, NULL, 2, &y), "cc");
	CHECK_STR("R312", once(NULL, &h, NULL, 2, &y), "cc");      /* no folder: no caching */
	setenv("POPART_CACHE_DIR", b, 1);
	CHECK_STR("R312 R319 R320", once(NULL, &h, NULL, 2, &y), "cc");
	CHECK("R312 R319 R320", files(b, path, sizeof path) == 1);
	setenv("POPXL_CACHE_DIR", a, 1);
	CHECK_STR("R312 R319 R320", once(NULL, &h, NULL, 2, &y), "cc");
	CHECK("R312 R319", files(a, path, sizeof path) == 1);
	setenv("PXL_CACHE_DIR", b, 1);
	CHECK_STR("R312 R320", once(NULL, &h, NULL, 2, &y), "cc (cached)");
	CHECK("R312", !unlink(path));
	CHECK_STR("R312 R320", once(NULL, &h, NULL, 2, &y), "cc (cached)");   /* ours goes before theirs */
	forget_environment();
}

/* --- the log ------------------------------------------------------------------------------------------------ */
static int with_session;
static void log_of(Heard *h, const char *level, const char *alias, const char *format)
{
	pxl_ctx *cx;
	pxl_options o = PXL_OPTIONS_INIT;
	pxl_model *m;
	pxl_program *p;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	if (level) setenv("PXL_LOG_LEVEL", level, 1);
	if (alias) setenv("POPART_LOG_LEVEL", alias, 1);
	if (format) setenv("PXL_LOG_FORMAT", format, 1);
	*h = (Heard){ .n = 0 };
	o.log = hear;
	o.log_user = h;
	po.name = "add";
	po.jit = PXL_JIT_TCC;
	CHECK("", !pxl_ctx_new(&o, &cx) && !pxl_compile_memory(cx, "log.pxl", model, sizeof model - 1, &m) && !pxl_program_new(m, &po, &p));
	pxl_session *s = NULL;
	if (with_session) CHECK("", !pxl_session_new(p, NULL, &s));
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	forget_environment();
}

static void test_log(void)
{
	Heard h;
	log_of(&h, NULL, NULL, NULL);
	CHECK_STR("R318", h.text, "");
	log_of(&h, "INFO", NULL, NULL);
	CHECK_STR("R318", h.text, "");
	log_of(&h, "DEBUG", NULL, NULL);
	CHECK_STR("R318", h.text, "pxl: program `add`: compiled by tcc\n");
	log_of(&h, "TRACE", NULL, "[%n %l] 100%% %v %q");
	CHECK_STR("R318", h.text, "[pxl DEBUG] 100% program `add`: compiled by tcc %q\n");
	log_of(&h, NULL, "DEBUG", NULL);
	CHECK("R320", h.n > 0);
	log_of(&h, "ERR", "DEBUG", NULL);
	CHECK_STR("R320", h.text, "");
	log_of(&h, "LOUD", NULL, NULL);
	CHECK("R320", strstr(h.text, "no log level `LOUD`") && !strstr(h.text, "compiled"));
	log_of(&h, "OFF", NULL, NULL);
	CHECK_STR("R318", h.text, "");
}

/* levels of single modules, from a file that holds `json` */
static void configured(Heard *h, const char *level, const char *variable, const char *json)
{
	char path[] = "/tmp/pxl_levels_XXXXXX";
	int fd = mkstemp(path);
	CHECK("", fd >= 0 && write(fd, json, strlen(json)) == (ssize_t)strlen(json) && !close(fd));
	setenv(variable, path, 1);
	log_of(h, level, NULL, "%m %l: %v");
	unlink(path);
}

static void test_log_modules(void)
{
	static const char said[] = "compile DEBUG: program `add`: compiled by tcc\n", opened[] = "session DEBUG: program `add`: a session of 1 replica, attached\n";
	char both[256];
	Heard h;
	snprintf(both, sizeof both, "%s%s", said, opened);
	with_session = 1;
	log_of(&h, "DEBUG", NULL, "%m %l: %v");
	CHECK_STR("R318", h.text, both);
	configured(&h, "DEBUG", "PXL_LOG_CONFIG", "{ \"compile\": \"OFF\" }\n");
	CHECK_STR("R318", h.text, opened);
	configured(&h, "OFF", "PXL_LOG_CONFIG", "{\"compile\":\"DEBUG\",\n \"session\": \"INFO\"}");
	CHECK_STR("R318", h.text, said);
	configured(&h, NULL, "POPART_LOG_CONFIG", "{\"session\": \"TRACE\"}");
	CHECK_STR("R318 R320", h.text, opened);
	configured(&h, "DEBUG", "PXL_LOG_CONFIG", "{}");
	CHECK_STR("R318", h.text, both);
	/* what is wrong with it is said, and the rest of it counts */
	configured(&h, NULL, "PXL_LOG_CONFIG", "{\"devicex\": \"DEBUG\", \"session\": \"LOUD\", \"compile\": \"DEBUG\"}");
	CHECK("R320", strstr(h.text, "sets the log level of `devicex`; modules are compile, ") && strstr(h.text, "sets the log level `LOUD`, which is none"));
	CHECK("R320", strstr(h.text, said) && !strstr(h.text, opened));
	static const char *const wrong[] = { "", "[]", "{\"compile\"}", "{\"compile\": 1}", "{\"compile\": \"DEBUG\"", "{\"compile\": \"DEBUG\"} x", "{\"co" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		configured(&h, NULL, "PXL_LOG_CONFIG", wrong[i]);
		CHECK("R320", strstr(h.text, "does not hold modules and their log levels") != NULL);
	}
	setenv("PXL_LOG_CONFIG", "/nowhere/levels", 1);
	log_of(&h, NULL, NULL, NULL);
	CHECK_STR("R320", h.text, "pxl: levels of the log: cannot open `/nowhere/levels`: No such file or directory\n");
	with_session = 0;
}

/* --- float8 ------------------------------------------------------------------------------------------------- */
static void test_float8(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	pxl_session *s;
	pxl_info i;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	unsigned char in[4] = { 0x00, 0x38, 0xc4, 0x7e }, out[4] = { 0 };
	float plain[4] = { 1, 2, 3, 4 };
	po.name = "eighths";
	CHECK("", !pxl_ctx_new(NULL, &cx) && !pxl_compile_memory(cx, "f8.pxl", model, sizeof model - 1, &m) && !pxl_program_new(m, &po, &p) && !pxl_session_new(p, NULL, &s));
	int x = pxl_find(p, PXL_INPUT, "x"), y = pxl_find(p, PXL_OUTPUT, "y");
	pxl_array a = { .dtype = PXL_F8_143, .rank = 1, .dim = { 4 }, .nelem = 4, .bytes = 4, .data = in };
	CHECK("R304", pxl_get_info(p, y, &i) && i.dtype == PXL_F8_143 && i.bytes == 4);
	CHECK("R304", pxl_write_array(s, x, &a) == PXL_OK && pxl_run(s, 1) == PXL_OK && pxl_read(s, y, out, 4) == PXL_OK && !memcmp(in, out, 4));
	a = (pxl_array){ .dtype = PXL_F32, .rank = 1, .dim = { 4 }, .nelem = 4, .bytes = 16, .data = plain };
	CHECK("R304", pxl_write_array(s, x, &a) == PXL_EINVAL);
	a.dtype = PXL_F8_152;
	a.bytes = 4;
	a.data = in;
	CHECK("R304", pxl_write_array(s, x, &a) == PXL_EINVAL);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
}

int main(void)
{
	char dir[] = "/tmp/pxl_cache_XXXXXX", command[96], code[64];
	forget_environment();
	test_log();
	test_log_modules();
	test_float8();
	if (system("cc --version > /dev/null 2>&1") || !mkdtemp(dir)) return check_done();
	snprintf(code, sizeof code, "%s/code", dir);
	test_hits_and_misses(code);
	snprintf(command, sizeof command, "rm -rf '%s'", code);
	CHECK("", !system(command));
	Heard h;
	float y;
	CHECK_STR("", once(code, &h, NULL, 2, &y), "cc");
	test_wrong_files(code);
	test_where(dir);
	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	CHECK("", !system(command));
	return check_done();
}
