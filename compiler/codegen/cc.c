/* cc.c — the system's C compiler at work: text in a directory of its own, an object out of it, loaded from there.
 *
 * No shell is involved: the compiler is one program, $PXL_CC or the first of cc, gcc, clang, started
 * with a fixed list of arguments.  With a cache directory the object is kept there under a key that covers
 * the text, the compiler's version, the flags and the ABI (cache.c). */
#define _DEFAULT_SOURCE
#include "compiler/codegen/cc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/codegen/cache.h"

extern char **environ;

enum { MOST_FLAGS = 32 };

/* a private directory with the files of one compile */
typedef struct Work { char dir[CACHE_PATH], c[CACHE_PATH], so[CACHE_PATH], log[CACHE_PATH], header[CACHE_PATH]; } Work;

static int io_error(RtErr *e, const char *what, const char *path)
{
	return rt_fail(e, RT_EIO, "cannot %s `%s`: %s", what, path, strerror(errno));
}

static int join(char *out, const char *dir, const char *name)
{
	int n = snprintf(out, CACHE_PATH, "%s/%s", dir, name);
	return n > 0 && n < CACHE_PATH;
}

static int work_begin(Work *w, const char *dir, const char *header, RtErr *e)
{
	const char *tmp = dir ? dir : getenv("TMPDIR");
	if (!tmp || !tmp[0]) tmp = "/tmp";
	if (!join(w->dir, tmp, ".pxl-XXXXXX") || !mkdtemp(w->dir)) return io_error(e, "make a directory in", tmp);
	if (join(w->c, w->dir, "model.c") && join(w->so, w->dir, "model.so") && join(w->log, w->dir, "log") && (!header || join(w->header, w->dir, header))) return RT_OK;
	rmdir(w->dir);
	return rt_fail(e, RT_EIO, "the path `%s` is too long", tmp);
}

static void work_end(Work *w)
{
	unlink(w->c);
	unlink(w->so);
	unlink(w->log);
	if (w->header[0]) unlink(w->header);
	rmdir(w->dir);
}

static int write_file(const char *path, const char *text, size_t len, RtErr *e)
{
	FILE *f = fopen(path, "w");
	if (!f) return io_error(e, "write", path);
	int bad = fwrite(text, 1, len, f) != len;
	bad |= fclose(f) != 0;
	return bad ? io_error(e, "write", path) : RT_OK;
}

/* --- running the compiler ---------------------------------------------------------------------------------------- */
static int wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) return 0;        /* the host ignores its children: the product tells */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* 0: it ran and succeeded; -1: it could not be started; else its exit status. What it says goes to `log`. */
static int run(const char *const *argv, const char *log)
{
	posix_spawn_file_actions_t fa;
	pid_t pid;
	if (posix_spawn_file_actions_init(&fa)) return -1;
	int bad = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0) ||
	          posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) ||
	          posix_spawn_file_actions_adddup2(&fa, 1, 2);
	if (!bad) bad = posix_spawnp(&pid, argv[0], &fa, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (bad) return -1;
	int status = wait_for(pid);
	return status == 127 ? -1 : status;
}

static size_t read_log(const Work *w, char *out, size_t size)
{
	FILE *f = fopen(w->log, "r");
	size_t n = f ? fread(out, 1, size - 1, f) : 0;
	if (f) fclose(f);
	while (n && out[n - 1] == '\n') n--;
	out[n] = 0;
	return n;
}

/* The first compiler that answers; its version goes into the key. */
static const char *find_compiler(const Work *w, CacheKey *k, RtErr *e)
{
	const char *own = getenv("PXL_CC"), *const names[] = { own, "cc", "gcc", "clang" };
	int only = own && own[0];
	for (int i = !only; i < (only ? 1 : 4); i++) {
		const char *argv[] = { names[i], "--version", NULL };
		char version[512];
		if (run(argv, w->log)) continue;
		size_t n = read_log(w, version, sizeof version);
		cache_mix(k, names[i], strlen(names[i]));
		cache_mix(k, version, n);
		return names[i];
	}
	if (only) rt_fail(e, RT_EIO, "the C compiler `%s` (PXL_CC) does not run", own);
	else rt_fail(e, RT_EIO, "no C compiler found (tried cc, gcc, clang): install one, set PXL_CC, or use --jit tcc");
	return NULL;
}

static int compile(const CcJob *job, const Work *w, const char *cc, RtErr *e)
{
	const char *argv[MOST_FLAGS + 8] = { cc };
	int n = 1;
	if (job->header) {
		argv[n++] = "-I";
		argv[n++] = w->dir;
	}
	for (int last = 0; last < 2; last++) {
		for (int i = 0; i < job->nflag; i++)
			if ((strncmp(job->flags[i], "-l", 2) == 0) == last) argv[n++] = job->flags[i];
		if (last) break;
		argv[n++] = "-o";
		argv[n++] = w->so;
		argv[n++] = w->c;
	}
	int st = run(argv, w->log);
	if (st < 0) return rt_fail(e, RT_EIO, "the C compiler `%s` cannot be started", cc);
	char text[400];
	read_log(w, text, sizeof text);
	if (st) return rt_fail(e, RT_EINTERNAL, "`%s` refused the %s: %s", cc, job->what, text);
	if (access(w->so, R_OK)) return rt_fail(e, RT_EIO, "`%s` made no object: %s", cc, text);
	return RT_OK;
}

/* --- loading -------------------------------------------------------------------------------------------------------- */
static int load(CcLoaded *out, const char *path, RtErr *e)
{
	out->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return out->dl ? RT_OK : rt_fail(e, RT_EIO, "cannot load compiled code: %s", dlerror());
}

static int build(const CcJob *job, Work *w, const char *cc, RtErr *e)
{
	int st = job->header ? write_file(w->header, job->header_text, job->header_len, e) : RT_OK;
	if (!st) st = write_file(w->c, job->text, job->len, e);
	return st ? st : compile(job, w, cc, e);
}

static int build_and_load(const CcJob *job, Work *w, const char *dir, CacheKey k, const char *cc, CcLoaded *out, RtErr *e)
{
	char path[CACHE_PATH];
	out->kind = "cc (cached)";
	int found = dir ? cache_find(dir, k, path) : 0;
	if (found > 0 && !load(out, path, NULL)) return RT_OK;
	if (found) out->warning = "a damaged or foreign file in the cache is passed over, and its program compiled";
	out->kind = "cc";
	int st = build(job, w, cc, e);
	if (st) return st;
	if (dir && cache_store(dir, k, w->so, path)) return load(out, path, e);
	return load(out, w->so, e);                          /* the mapping stays when the file goes */
}

static CacheKey key_of(const CcJob *job)
{
	CacheKey k = { 0 };
	cache_mix(&k, job->text, job->len);
	if (job->header) cache_mix(&k, job->header_text, job->header_len);
	cache_mix(&k, &job->abi, sizeof job->abi);
	for (int i = 0; i < job->nflag; i++) cache_mix(&k, job->flags[i], strlen(job->flags[i]));
	return k;
}

int cc_load(const CcJob *job, CcLoaded *out, RtErr *e)
{
	const char *dir = cache_dir_usable(job->cache_dir) ? job->cache_dir : NULL;
	Work w = { 0 };
	*out = (CcLoaded){ 0 };
	if (job->nflag > MOST_FLAGS) return rt_fail(e, RT_EINTERNAL, "too many flags for the C compiler");
	if (job->cache_dir && !dir) out->warning = "the cache is not used: it must be a folder of yours that nobody else may write to";
	int st = work_begin(&w, dir, job->header, e);
	if (st) return st;
	CacheKey k = key_of(job);
	const char *cc = find_compiler(&w, &k, e);
	st = cc ? build_and_load(job, &w, dir, k, cc, out, e) : RT_EIO;
	work_end(&w);
	return st;
}
