/* tier_test.c — two compilers for one program: the same bits whoever's code runs, and nothing left behind whatever happens
 * while the second one is at work. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <time.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

typedef struct Heard { char text[4096]; size_t n; } Heard;
typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; Heard h; } World;

static char dir[] = "/tmp/pxl-tier-XXXXXX", cc_path[64], tmp_path[64], pid_path[64];

/* a step of it makes so many calls that compiling it pays at once */
static const char heavy[] =
	"program heavy(n: int = 1000000) {\n"
	"    x = variable(uniform(-1, 1), f32[n], name = \"x\")\n"
	"    host_store(d2h_stream(\"y\", f32[]), (gelu(x * 2.0 + 0.5) * x + 1.0).sum())\n"
	"}\n";

static void hear(void *user, const char *text, size_t len)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	Heard *h = user;
	pthread_mutex_lock(&lock);
	if (h->n + len < sizeof h->text) {
		memcpy(h->text + h->n, text, len);
		h->text[h->n += len] = 0;
	}
	pthread_mutex_unlock(&lock);
}

static int heard(const World *w, const char *what)
{
	int n = 0;
	for (const char *at = w->h.text; (at = strstr(at, what)); at++) n++;
	return n;
}

static void world_free(World *w)
{
	pxl_session_free(w->s);
	pxl_program_free(w->p);
	pxl_model_free(w->m);
	pxl_ctx_free(w->cx);
}

static void open_world(World *w, const char *file, const char *program, pxl_jit jit, int64_t swap, const char *cache)
{
	pxl_options o = PXL_OPTIONS_INIT;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	*w = (World){ 0 };
	o.cache_dir = cache;
	o.log = hear;
	o.log_user = &w->h;
	po.name = program;
	po.jit = jit;
	po.swap_after = swap;
	so.threads = file ? 2 : 1;
	int ok = !pxl_ctx_new(&o, &w->cx) && !(file ? pxl_compile_file(w->cx, file, &w->m) : pxl_compile_memory(w->cx, "heavy.pxl", heavy, sizeof heavy - 1, &w->m)) &&
	         !pxl_program_new(w->m, &po, &w->p) && !pxl_session_new(w->p, &so, &w->s);
	CHECK("", ok);
	if (!ok) printf("%s\n", pxl_errmsg(w->cx));
}

static void fill(pxl_session *s, pxl_program *p)
{
	pxl_info i;
	for (int k = 0; pxl_get_info(p, k, &i); k++) {
		if (i.kind != PXL_INPUT) continue;
		char *data = calloc(1, i.bytes + 1);
		for (size_t n = 0; n < i.nelem; n++) {
			double v = i.dtype == PXL_F32 ? (double)(n * 2654435761u % 1000) / 500 - 1 : (double)(n % 10);
			pxl_convert(i.dtype, data + n * pxl_dtype_size(i.dtype), PXL_F64, &v, 1);
		}
		CHECK("", pxl_write(s, k, data, i.bytes) == PXL_OK);
		free(data);
	}
}

/* every output and variable, one after another; none if one cannot be read (threads call it, which must not count checks) */
static unsigned char *bits(pxl_session *s, pxl_program *p, size_t *n)
{
	unsigned char *b = NULL;
	pxl_info i;
	*n = 0;
	for (int k = 0; pxl_get_info(p, k, &i); k++) {
		if (i.kind == PXL_INPUT) continue;
		b = realloc(b, *n + i.bytes + 1);
		if (!b || pxl_read(s, k, b + *n, i.bytes)) {
			free(b);
			*n = 0;
			return NULL;
		}
		*n += i.bytes;
	}
	return b;
}

enum { BEFORE = 3, AFTER = 3 };

static unsigned char *trained(const char *file, const char *program, pxl_jit jit, size_t *n)
{
	World w;
	open_world(&w, file, program, jit, jit == PXL_JIT_AUTO ? BEFORE : 0, NULL);
	fill(w.s, w.p);
	CHECK("", pxl_run(w.s, BEFORE) == PXL_OK);
	CHECK_STR("", pxl_session_jit(w.s), jit == PXL_JIT_CC ? "cc" : "tcc");
	CHECK("", pxl_run(w.s, AFTER) == PXL_OK);
	CHECK_STR("", pxl_session_jit(w.s), jit == PXL_JIT_TCC ? "tcc" : "cc");
	unsigned char *b = bits(w.s, w.p, n);
	world_free(&w);
	return b;
}

/* some steps with the one, some with the other: as if it had always been either */
static void same_bits(const char *file, const char *program)
{
	size_t n, n2, n3;
	unsigned char *tcc = trained(file, program, PXL_JIT_TCC, &n), *cc = trained(file, program, PXL_JIT_CC, &n2);
	unsigned char *both = trained(file, program, PXL_JIT_AUTO, &n3);
	CHECK("", n && n == n2 && !memcmp(tcc, cc, n));
	CHECK("", n && n == n3 && !memcmp(tcc, both, n));
	free(tcc);
	free(cc);
	free(both);
}

/* --- sessions of one program in several threads ------------------------------------------------------------------- */
enum { THREADS = 4 };
typedef struct Worker { pthread_t thread; pxl_program *p; unsigned char *bits; size_t n; int cc; } Worker;

/* how long a busy machine may take to compile in the background */
enum { PATIENCE = 120 };
static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *work(void *arg)
{
	Worker *w = arg;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_session *s;
	so.threads = 1;
	if (pxl_session_new(w->p, &so, &s)) return NULL;
	for (double end = seconds() + PATIENCE; seconds() < end && !w->cc; ) {          /* until the background has caught up with it */
		if (pxl_run(s, 1)) break;
		w->cc = !strcmp(pxl_session_jit(s), "cc");
	}
	if (pxl_run(s, 1) == PXL_OK) w->bits = bits(s, w->p, &w->n);
	pxl_session_free(s);
	return NULL;
}

static void several_threads(void)
{
	static Worker w[THREADS];
	World one;
	open_world(&one, NULL, "heavy", PXL_JIT_AUTO, 0, NULL);
	for (int i = 0; i < THREADS; i++) {
		w[i].p = one.p;
		CHECK("", !pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
	for (int i = 0; i < THREADS; i++) pthread_join(w[i].thread, NULL);
	for (int i = 0; i < THREADS; i++) CHECK("", w[i].cc && w[i].n == w[0].n && w[i].n && !memcmp(w[i].bits, w[0].bits, w[0].n));
	for (int i = 0; i < THREADS; i++) free(w[i].bits);
	world_free(&one);
}

/* --- ends and failures ------------------------------------------------------------------------------------------------ */
static int files(const char *where)
{
	int n = 0;
	DIR *d = opendir(where);
	for (struct dirent *f; d && (f = readdir(d));) n += strcmp(f->d_name, ".") && strcmp(f->d_name, "..");
	if (d) closedir(d);
	return n;
}

/* a compiler that says its version, and then does `then` */
static void compiler(const char *then)
{
	unlink(cc_path);
	FILE *f = fopen(cc_path, "w");
	fprintf(f, "#!/bin/sh\ncase $1 in --version) echo 1; exit 0;; esac\n%s\n", then);
	fclose(f);
	chmod(cc_path, 0700);
	setenv("PXL_CC", cc_path, 1);
}

/* steps until the log has it; 0: it never did */
static int run_until(World *w, const char *what)
{
	for (double end = seconds() + PATIENCE; seconds() < end && !heard(w, what); )
		if (pxl_run(w->s, 1)) return 0;
	return heard(w, what);
}

static int pid_written(void)
{
	int pid = 0;
	for (int i = 0; i < 500 && !pid; i++) {
		FILE *f = fopen(pid_path, "r");
		if (f && fscanf(f, "%d", &pid) != 1) pid = 0;
		if (f) fclose(f);
		if (!pid) usleep(10000);
	}
	return pid;
}

/* one whose parent is gone may still be listed, as ended */
static int is_running(int pid)
{
	char path[40], state = 'Z';
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1) state = 'Z';
	if (f) fclose(f);
	return state != 'Z' && state != 'X';
}

static void freed_while_compiling(void)
{
	char then[200];
	World w;
	snprintf(then, sizeof then, "echo left > $TMPDIR/left; sleep 100 & echo $! > %s; wait", pid_path);
	compiler(then);
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 0, NULL);
	CHECK("", run_until(&w, "compiler is started"));
	int pid = 0;
	for (double end = seconds() + PATIENCE; seconds() < end && access(pid_path, F_OK); ) CHECK("", pxl_run(w.s, 1) == PXL_OK);
	CHECK("", (pid = pid_written()) > 0 && files(tmp_path) == 1);
	CHECK_STR("", pxl_session_jit(w.s), "tcc");
	pxl_session_free(w.s);
	w.s = NULL;
	CHECK("", files(tmp_path) == 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	for (int i = 0; i < 100 && is_running(pid); i++) usleep(10000);
	CHECK("", !is_running(pid));
	unlink(pid_path);
	world_free(&w);
}

static void no_compiler(void)
{
	World w;
	char *path = strdup(getenv("PATH"));
	unsetenv("PXL_CC");
	setenv("PATH", "/nonexistent", 1);
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 2, NULL);
	CHECK("", pxl_run(w.s, 5) == PXL_OK && heard(&w, "there is no C compiler") == 1 && !heard(&w, "WARN"));
	CHECK_STR("", pxl_session_jit(w.s), "tcc");
	world_free(&w);
	setenv("PATH", path, 1);
	free(path);
}

static void one_that_fails(const char *then, const char *why)
{
	World w;
	compiler(then);
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 2, NULL);
	CHECK("", pxl_run(w.s, 5) == PXL_OK && heard(&w, "WARN") == 1 && heard(&w, why) == 1);
	CHECK_STR("", pxl_session_jit(w.s), "tcc");
	world_free(&w);
	CHECK("", files(tmp_path) == 0);
}

/* the parent's compile is no affair of a fork's */
static void fork_while_compiling(void)
{
	World w;
	int status = -1;
	compiler("sleep 1; exec cc \"$@\"");
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 0, NULL);
	CHECK("", run_until(&w, "compiler is started"));
	pid_t pid = fork();
	if (pid == 0) {
		pxl_session_free(w.s);
		pxl_program_free(w.p);
		_exit(0);
	}
	CHECK("", pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	CHECK("", run_until(&w, "code of cc"));
	CHECK_STR("", pxl_session_jit(w.s), "cc");
	world_free(&w);
	CHECK("", files(tmp_path) == 0);
}

static void children_ignored(void)
{
	World w;
	unsetenv("PXL_CC");
	signal(SIGCHLD, SIG_IGN);
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 2, NULL);
	CHECK("", pxl_run(w.s, 3) == PXL_OK && heard(&w, "code of cc from run 3 on") == 1);
	world_free(&w);
	signal(SIGCHLD, SIG_DFL);
}

/* --- on disk ----------------------------------------------------------------------------------------------------------- */
static void kept_in_cache(void)
{
	char cache[64], command[100];
	World w;
	snprintf(cache, sizeof cache, "%s/cache", dir);
	unsetenv("PXL_CC");
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 1, cache);
	CHECK("", pxl_run(w.s, 2) == PXL_OK && heard(&w, "WARN") == 0);
	CHECK_STR("", pxl_session_jit(w.s), "cc");
	world_free(&w);
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 1, cache);
	CHECK_STR("R313", pxl_session_jit(w.s), "cc (cached)");      /* from the first step on */
	CHECK("R313", pxl_run(w.s, 2) == PXL_OK && heard(&w, "a serialized executable is loaded") == 1 && !heard(&w, "compiler is started"));
	world_free(&w);
	compiler("exec cc \"$@\"");                            /* another compiler: what it would make is not there */
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 1, cache);
	CHECK_STR("R315", pxl_session_jit(w.s), "tcc");
	world_free(&w);
	snprintf(command, sizeof command, "rm -r %s", cache);
	CHECK("", system(command) == 0);
}

static void as_asked(void)
{
	World w;
	unsetenv("PXL_CC");
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, -1, NULL);
	CHECK("", pxl_run(w.s, 700) == PXL_OK && !heard(&w, "compiler is started"));
	world_free(&w);
	setenv("PXL_JIT_SWAP", "2", 1);
	open_world(&w, NULL, "heavy", PXL_JIT_AUTO, 0, NULL);
	CHECK("", pxl_run(w.s, 3) == PXL_OK && heard(&w, "code of cc from run 3 on") == 1);
	world_free(&w);
	unsetenv("PXL_JIT_SWAP");
}

int main(void)
{
	if (!mkdtemp(dir)) return 1;
	snprintf(cc_path, sizeof cc_path, "%s/compiler", dir);
	snprintf(tmp_path, sizeof tmp_path, "%s/tmp", dir);
	snprintf(pid_path, sizeof pid_path, "%s/pid", dir);
	if (mkdir(tmp_path, 0700)) return 1;
	setenv("TMPDIR", tmp_path, 1);
	setenv("PXL_LOG_LEVEL", "DEBUG", 1);
	setenv("PXL_LOG_FORMAT", "%l %v", 1);
	unsetenv("PXL_CACHE_DIR");
	same_bits("examples/mnist.pxl", "train");
	same_bits("tests/bench/chains.pxl", "lenet");
	several_threads();
	freed_while_compiling();
	no_compiler();
	one_that_fails("echo not today >&2; exit 1", "refused the emitted C: not today");
	one_that_fails("kill -9 $$", "was stopped by signal 9");
	setenv("PXL_CC", "/nonexistent", 1);
	fork_while_compiling();
	children_ignored();
	kept_in_cache();
	as_asked();
	CHECK("", files(tmp_path) == 0);
	unlink(cc_path);
	rmdir(tmp_path);
	CHECK("", rmdir(dir) == 0);
	return check_done();
}
