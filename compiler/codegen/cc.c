/* cc.c — the system's C compiler at work: text in a directory of its own, an object out of it, loaded from there.
 *
 * Two processes come one after the other, `cc --version` and the compile. They are looked at, not listened for: no signal
 * handler, no thread, and waiting for nobody but them. A compile in the background runs in a process group of its own,
 * which the terminal's Ctrl-C does not reach and which can be stopped as a whole, at a low priority.
 *
 * No shell is involved: the compiler is one program, $PXL_CC or the first of cc, gcc, clang, started
 * with a fixed list of arguments.  With a cache directory the object is kept there under a key that covers
 * the text, the compiler's version, the flags and the ABI (cache.c). */
#define _DEFAULT_SOURCE
#include "compiler/codegen/cc.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_FLAGS = 32, CANNOT_START = 127, SIGNALLED = 1000 };

static int io_error(RtErr *e, const char *what, const char *path)
{
	return rt_fail(e, RT_EIO, "cannot %s `%s`: %s", what, path, strerror(errno));
}

static int join(char *out, const char *dir, const char *name)
{
	int n = snprintf(out, CACHE_PATH, "%s/%s", dir, name);
	return n > 0 && n < CACHE_PATH;
}

static int work_begin(CcWork *w, const char *dir, const char *header, RtErr *e)
{
	const char *tmp = dir ? dir : getenv("TMPDIR");
	if (!tmp || !tmp[0]) tmp = "/tmp";
	if (!join(w->dir, tmp, ".pxl-XXXXXX") || !mkdtemp(w->dir)) {
		w->dir[0] = 0;
		return io_error(e, "make a directory in", tmp);
	}
	if (join(w->c, w->dir, "model.c") && join(w->so, w->dir, "model.so") && join(w->log, w->dir, "log") && (!header || join(w->header, w->dir, header))) return RT_OK;
	rmdir(w->dir);
	w->dir[0] = 0;
	return rt_fail(e, RT_EIO, "the path `%s` is too long", tmp);
}

/* The compiler's own temporary files are here too when it was stopped. */
static void work_end(CcWork *w)
{
	char path[CACHE_PATH];
	DIR *d = w->dir[0] ? opendir(w->dir) : NULL;
	for (struct dirent *f; d && (f = readdir(d));)
		if (strcmp(f->d_name, ".") && strcmp(f->d_name, "..") && join(path, w->dir, f->d_name)) unlink(path);
	if (d) closedir(d);
	if (w->dir[0]) rmdir(w->dir);
	w->dir[0] = 0;
}

static int write_file(const char *path, const char *text, size_t len, RtErr *e)
{
	FILE *f = fopen(path, "w");
	if (!f) return io_error(e, "write", path);
	int bad = fwrite(text, 1, len, f) != len;
	bad |= fclose(f) != 0;
	return bad ? io_error(e, "write", path) : RT_OK;
}

/* --- one process ------------------------------------------------------------------------------------------------- */
/* environ with TMPDIR as given, so that what a stopped compiler leaves behind is found; NULL: no memory */
static char **environment(char *tmpdir)
{
	size_t n = 0, k = 0;
	while (environ && environ[n]) n++;
	char **out = malloc((n + 2) * sizeof *out);
	for (size_t i = 0; out && i < n; i++)
		if (strncmp(environ[i], "TMPDIR=", 7)) out[k++] = environ[i];
	if (!out) return NULL;
	out[k++] = tmpdir;
	out[k] = NULL;
	return out;
}

/* what the host ignores or blocks is not the compiler's affair: it waits for processes of its own */
static int attributes(posix_spawnattr_t *at, int background)
{
	sigset_t none, normal;
	sigemptyset(&none);
	sigemptyset(&normal);
	sigaddset(&normal, SIGCHLD);
	sigaddset(&normal, SIGPIPE);
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (background ? POSIX_SPAWN_SETPGROUP : 0);
	return posix_spawnattr_setsigmask(at, &none) || posix_spawnattr_setsigdefault(at, &normal) || posix_spawnattr_setflags(at, flags);
}

static int spawn(const CcRun *r, const char *const *argv, char **env, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	if (posix_spawn_file_actions_init(&fa)) return 0;
	if (posix_spawnattr_init(&at)) return posix_spawn_file_actions_destroy(&fa), 0;
	int bad = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0) ||
	          posix_spawn_file_actions_addopen(&fa, 1, r->work.log, O_WRONLY | O_CREAT | O_TRUNC, 0600) ||
	          posix_spawn_file_actions_adddup2(&fa, 1, 2) || attributes(&at, r->job.background);
	if (!bad) bad = posix_spawnp(pid, argv[0], &fa, &at, (char *const *)(uintptr_t)argv, env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	return !bad;
}

/* What it says goes to the log. One that cannot be started counts as one that has ended so. */
static void start(CcRun *r, const char *const *argv)
{
	char tmpdir[CACHE_PATH + 8];
	snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", r->work.dir);
	char **env = r->job.background ? environment(tmpdir) : environ;
	r->pid = 0;
	r->status = CANNOT_START;
	if (env && !spawn(r, argv, env, &r->pid)) r->pid = 0;
	if (env != environ) free(env);
	if (r->pid && r->job.background) setpriority(PRIO_PROCESS, (id_t)r->pid, 10);
}

/* its exit status, or CC_BUSY */
static int look(CcRun *r, int wait)
{
	int status = 0;
	if (!r->pid) return r->status;
	pid_t got;
	do got = waitpid(r->pid, &status, wait ? 0 : WNOHANG);
	while (got < 0 && errno == EINTR);
	if (got == 0) return CC_BUSY;
	r->pid = 0;
	/* the host ignores its children, or has asked for all of them: the product tells */
	r->status = got < 0 ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
	return r->status;
}

static size_t read_log(const CcWork *w, char *out, size_t size)
{
	FILE *f = fopen(w->log, "r");
	size_t n = f ? fread(out, 1, size - 1, f) : 0;
	if (f) fclose(f);
	while (n && out[n - 1] == '\n') n--;
	out[n] = 0;
	return n;
}

/* --- which compiler ------------------------------------------------------------------------------------------------ */
static const char *const names[] = { "cc", "gcc", "clang" };
enum { NNAMES = sizeof names / sizeof *names };

static void ask_version(CcRun *r)
{
	const char *argv[] = { r->only ? r->cc : names[r->name], "--version", NULL };
	start(r, argv);
}

static int no_compiler(const CcRun *r, RtErr *e)
{
	if (r->only) return rt_fail(e, RT_EIO, "the C compiler `%s` (PXL_CC) does not run", r->cc);
	rt_fail(e, RT_EIO, "no C compiler found (tried cc, gcc, clang): install one, set PXL_CC, or use --jit tcc");
	return CC_NONE;
}

/* The first compiler that answers; its version goes into the key. CC_BUSY: the next one is being asked */
static int identify(CcRun *r, int status, RtErr *e)
{
	char version[512];
	if (status) {
		if (r->only || ++r->name == NNAMES) return no_compiler(r, e);
		ask_version(r);
		return CC_BUSY;
	}
	size_t n = read_log(&r->work, version, sizeof version);
	if (!r->only) snprintf(r->cc, sizeof r->cc, "%s", names[r->name]);
	cache_mix(&r->key, r->cc, strlen(r->cc));
	cache_mix(&r->key, version, n);
	r->known = 1;
	return RT_OK;
}

/* --- compiling and loading -------------------------------------------------------------------------------------------- */
static void begin_compile(CcRun *r)
{
	const CcJob *job = &r->job;
	const char *argv[MOST_FLAGS + 8] = { r->cc };
	int n = 1;
	if (job->header) {
		argv[n++] = "-I";
		argv[n++] = r->work.dir;
	}
	for (int last = 0; last < 2; last++) {
		for (int i = 0; i < job->nflag; i++)
			if ((strncmp(job->flags[i], "-l", 2) == 0) == last) argv[n++] = job->flags[i];
		if (last) break;
		argv[n++] = "-o";
		argv[n++] = r->work.so;
		argv[n++] = r->work.c;
	}
	start(r, argv);
}

static int load(CcLoaded *out, const char *path, RtErr *e)
{
	out->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return out->dl ? RT_OK : rt_fail(e, RT_EIO, "cannot load compiled code: %s", dlerror());
}

/* the compiler is known: what it made earlier, or CC_BUSY while it makes it now */
static int find_or_build(CcRun *r, RtErr *e)
{
	char path[CACHE_PATH];
	const CcJob *job = &r->job;
	r->made.kind = "cc (cached)";
	int found = r->dir ? cache_find(r->dir, r->key, path) : 0;
	if (found > 0 && !load(&r->made, path, NULL)) return RT_OK;
	if (found) r->made.warning = "a damaged or foreign file in the cache is passed over, and its program compiled";
	if (job->only_cached) return CC_NONE;
	r->made.kind = "cc";
	int st = job->header ? write_file(r->work.header, job->header_text, job->header_len, e) : RT_OK;
	if (!st) st = write_file(r->work.c, job->text, job->len, e);
	if (st) return st;
	begin_compile(r);
	return CC_BUSY;
}

static int take(CcRun *r, int status, RtErr *e)
{
	char path[CACHE_PATH], text[400];
	if (status == CANNOT_START) return rt_fail(e, RT_EIO, "the C compiler `%s` cannot be started", r->cc);
	read_log(&r->work, text, sizeof text);
	if (status >= SIGNALLED) return rt_fail(e, RT_EIO, "`%s` was stopped by signal %d", r->cc, status - SIGNALLED);
	if (status) return rt_fail(e, RT_EINTERNAL, "`%s` refused the %s: %s", r->cc, r->job.what, text);
	if (access(r->work.so, R_OK)) return rt_fail(e, RT_EIO, "`%s` made no object: %s", r->cc, text);
	if (!r->dir || !cache_store(r->dir, r->key, r->work.so, path)) return load(&r->made, r->work.so, e);     /* the mapping stays when the file goes */
	cache_mark(r->dir, r->text_key);
	return load(&r->made, path, e);
}

/* --- from beginning to end ---------------------------------------------------------------------------------------------- */
static CacheKey key_of(const CcJob *job)
{
	CacheKey k = { 0 };
	cache_mix(&k, job->text, job->len);
	if (job->header) cache_mix(&k, job->header_text, job->header_len);
	cache_mix(&k, &job->abi, sizeof job->abi);
	if (job->options) cache_mix(&k, job->options, strlen(job->options));
	for (int i = 0; i < job->nflag; i++) cache_mix(&k, job->flags[i], strlen(job->flags[i]));
	return k;
}

int cc_begin(CcRun *r, const CcJob *job, RtErr *e)
{
	const char *own = getenv("PXL_CC");
	memset(r, 0, sizeof *r);
	r->job = *job;
	r->dir = cache_dir_usable(job->cache_dir) ? job->cache_dir : NULL;
	r->only = own && own[0];
	r->owner = getpid();
	if (job->nflag > MOST_FLAGS) return rt_fail(e, RT_EINTERNAL, "too many flags for the C compiler");
	if (job->cache_dir && !r->dir) r->made.warning = "the cache is not used: it must be a folder of yours that nobody else may write to";
	r->key = r->text_key = key_of(job);
	if (job->only_cached && !(r->dir && cache_is_marked(r->dir, r->key))) return CC_NONE;
	if (r->only && snprintf(r->cc, sizeof r->cc, "%s", own) >= (int)sizeof r->cc) return rt_fail(e, RT_EIO, "PXL_CC is too long");
	int st = work_begin(&r->work, r->dir, job->header, e);
	if (!st) ask_version(r);
	return st;
}

int cc_step(CcRun *r, int wait, RtErr *e)
{
	if (r->owner != getpid()) return CC_NONE;            /* a fork of the host: the process and its files are the parent's */
	for (;;) {
		int status = look(r, wait), st;
		if (status == CC_BUSY) return CC_BUSY;
		if (r->known) st = take(r, status, e);
		else if (!(st = identify(r, status, e))) st = find_or_build(r, e);
		if (st == CC_BUSY) continue;
		work_end(&r->work);
		return st;
	}
}

void cc_cancel(CcRun *r)
{
	if (r->owner != getpid()) return;
	if (look(r, 0) == CC_BUSY) {
		kill(r->job.background ? -r->pid : r->pid, SIGKILL);
		look(r, 1);
	}
	work_end(&r->work);
}

int cc_load(const CcJob *job, CcLoaded *out, RtErr *e)
{
	CcRun r;
	int st = cc_begin(&r, job, e);
	if (!st) st = cc_step(&r, 1, e);
	*out = r.made;
	return st == CC_NONE ? RT_EIO : st;
}
