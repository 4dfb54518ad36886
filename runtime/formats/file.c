/* file.c — bytes in and bytes out.
 *
 * A source reads a file or a piece of memory in steps and gunzips it when it starts with gzip's two bytes,
 * however many members follow one another.  A sink collects a file under a temporary name beside the real
 * one and moves it there when all of it is on the disk, so a reader sees the old file or the new one and a
 * full disk costs nothing.  What a process that was killed has left of a file goes when that file is written next. */
#define _GNU_SOURCE                          /* realpath, flock, O_PATH, renameat2 */
#include "runtime/formats/formats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* --- arrays --------------------------------------------------------------------------------------------- */

void array_free(const RtAlloc *al, RtArray *a)
{
	rt_free(al, a->data);
	*a = (RtArray){ 0 };
}

int array_size(DType t, int rank, const int64_t *dim, size_t *nelem, size_t *bytes)
{
	size_t n = 1;
	for (int i = 0; i < rank; i++)
		if (dim[i] < 0 || __builtin_mul_overflow(n, (size_t)dim[i], &n)) return 0;
	*nelem = n;
	return !__builtin_mul_overflow(n, dtype_size(t), bytes) && *bytes <= PTRDIFF_MAX;
}

/* --- sources ---------------------------------------------------------------------------------------------- */

enum { CHUNK = 64 << 10 };

struct RtSource {
	int fd;                                  /* -1: memory */
	const unsigned char *next;               /* what is at hand, as stored */
	size_t left, stored;                     /* stored: size of the whole, as far as known */
	int ended;                               /* nothing follows what is at hand */
	int gzip, between;                       /* between: a member ended, another may follow */
	z_stream z;
	const RtAlloc *al;
	char name[320];                          /* as messages show it */
	unsigned char buf[CHUNK];
};

const char *source_name(const RtSource *s) { return s->name; }

static voidpf z_alloc(voidpf al, uInt items, uInt size)
{
	size_t n;
	return __builtin_mul_overflow((size_t)items, (size_t)size, &n) ? NULL : rt_alloc(al, n);
}

static void z_release(voidpf al, voidpf p) { rt_free(al, p); }

static int source_more(RtSource *s, RtErr *e)                 /* fetch the next chunk when nothing is at hand */
{
	if (s->left || s->ended) return RT_OK;
	ssize_t n;
	do n = read(s->fd, s->buf, CHUNK); while (n < 0 && errno == EINTR);
	if (n < 0) return rt_fail(e, RT_EIO, "cannot read `%s`: %s", s->name, strerror(errno));
	s->next = s->buf;
	s->left = (size_t)n;
	s->ended = n == 0;
	return RT_OK;
}

static int source_start(RtSource *s, const char *name, RtErr *e)
{
	reach_show(name, s->name, sizeof s->name);
	int st = source_more(s, e);
	if (st || s->left < 2 || s->next[0] != 0x1f || s->next[1] != 0x8b) return st;
	s->z.zalloc = z_alloc;
	s->z.zfree = z_release;
	s->z.opaque = (voidpf)(uintptr_t)s->al;
	if (inflateInit2(&s->z, 15 + 16) != Z_OK) return rt_fail(e, RT_ENOMEM, "out of memory while opening `%s`", name);
	s->gzip = 1;
	return RT_OK;
}

static RtSource *source_new(const RtAlloc *al, RtErr *e)
{
	RtSource *s = rt_alloc(al, sizeof *s);
	if (!s) rt_fail(e, RT_ENOMEM, "out of memory while opening a file");
	else s->al = al, s->fd = -1;
	return s;
}

static int source_done(RtSource *s, int st, RtSource **out)
{
	if (st) source_close(s);
	else *out = s;
	return st;
}

int source_fd(int fd, const char *name, const RtAlloc *al, RtSource **out, RtErr *e)
{
	struct stat info;
	RtSource *s = source_new(al, e);
	if (!s) return close(fd), RT_ENOMEM;
	s->fd = fd;
	int known = !fstat(s->fd, &info);
	if (known && S_ISREG(info.st_mode)) s->stored = (size_t)info.st_size;
	if (known && S_ISDIR(info.st_mode))
		return source_done(s, rt_fail(e, RT_EIO, "cannot read `%s`: it is a directory", name), out);
	return source_done(s, source_start(s, name, e), out);
}

int source_open(const RtPlace *p, const RtAlloc *al, RtSource **out, RtErr *e)
{
	int fd = p->reach ? reach_open(p, al, e) : open(p->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return p->reach ? e->status
				: rt_fail(e, RT_EIO, "cannot open `%s`: %s", SHOWN(p->path), strerror(errno));
	return source_fd(fd, p->path, al, out, e);
}

int source_memory(const void *p, size_t n, const char *name, const RtAlloc *al, RtSource **out, RtErr *e)
{
	RtSource *s = source_new(al, e);
	if (!s) return RT_ENOMEM;
	s->next = p;
	s->left = s->stored = n;
	s->ended = 1;
	return source_done(s, source_start(s, name, e), out);
}

void source_close(RtSource *s)
{
	if (!s) return;
	if (s->gzip) inflateEnd(&s->z);
	if (s->fd >= 0) close(s->fd);
	rt_free(s->al, s);
}

static int broken_gzip(const RtSource *s, const char *why, RtErr *e)
{
	return rt_fail(e, RT_EIO, "`%s` is damaged: its gzip data %s; fetch the file again", s->name, why);
}

/* One step of inflating into out; *got may be 0 while nothing has come out yet. 1 in *end: no more. */
static int inflate_step(RtSource *s, unsigned char *out, size_t n, size_t *got, int *end, RtErr *e)
{
	if (s->between) {
		if (!s->left) return *end = 1, RT_OK;
		if (inflateReset(&s->z) != Z_OK) return broken_gzip(s, "cannot be restarted", e);
		s->between = 0;
	}
	if (!s->left) return broken_gzip(s, "ends early", e);
	uInt in = s->left > UINT_MAX ? UINT_MAX : (uInt)s->left, room = n > UINT_MAX ? UINT_MAX : (uInt)n;
	s->z.next_in = (unsigned char *)(uintptr_t)s->next;
	s->z.avail_in = in;
	s->z.next_out = out;
	s->z.avail_out = room;
	int r = inflate(&s->z, Z_NO_FLUSH);
	s->next += in - s->z.avail_in;
	s->left -= in - s->z.avail_in;
	*got = room - s->z.avail_out;
	if (r == Z_MEM_ERROR) return rt_fail(e, RT_ENOMEM, "out of memory while reading `%s`", s->name);
	if (r == Z_STREAM_END) s->between = 1;
	else if (r != Z_OK && r != Z_BUF_ERROR) return broken_gzip(s, "does not decode", e);
	return RT_OK;
}

static int plain_step(RtSource *s, unsigned char *out, size_t n, size_t *got, int *end)
{
	*got = n < s->left ? n : s->left;
	*end = !s->left;
	if (*got) memcpy(out, s->next, *got);
	s->next += *got;
	s->left -= *got;
	return RT_OK;
}

int source_read(RtSource *s, void *out, size_t n, size_t *got, RtErr *e)
{
	*got = 0;
	while (*got < n) {
		size_t step = 0;
		int end = 0, st = source_more(s, e);
		unsigned char *to = (unsigned char *)out + *got;
		if (!st) st = s->gzip ? inflate_step(s, to, n - *got, &step, &end, e) : plain_step(s, to, n - *got, &step, &end);
		if (st) return st;
		*got += step;
		if (end) break;
	}
	return RT_OK;
}

/* Begins with what the file's size makes likely (gzip rarely packs better than 32 to 1), then doubles: the
 * file must have held half of what is asked for before it is asked for. */
static size_t first_room(const RtSource *s, size_t n)
{
	size_t likely;
	if (__builtin_mul_overflow(s->stored, s->gzip ? 32u : 1u, &likely)) likely = 0;
	if (likely < 1 << 20) likely = 1 << 20;
	return n < likely ? n : likely;
}

/* More than the machine has is not begun, unless the file shows by its size that it does not hold that much. */
static int check_memory(const RtSource *s, size_t n, RtErr *e)
{
	if (n < (size_t)256 << 20 || (s->al && s->al->fn) || (s->stored && !s->gzip && n > s->stored)) return RT_OK;
	size_t have = rt_memory_free();
	if (n <= have) return RT_OK;
	return rt_fail(e, RT_ENOMEM, "`%s` holds %.1f GB by its header, and %.1f GB of memory are available", s->name,
		(double)n / 1e9, (double)have / 1e9);
}

int source_block(RtSource *s, size_t n, int wanted, void **out, size_t *got, RtErr *e)
{
	size_t room = wanted ? n : first_room(s, n), have = 0, step;
	*out = NULL;
	*got = 0;
	if (check_memory(s, n, e)) return e->status;
	char *block = rt_alloc(s->al, room ? room : 1);
	int st = block ? RT_OK : RT_ENOMEM;
	while (!st && !(st = source_read(s, block + have, room - have, &step, e))) {
		have += step;
		if (have < room || room == n) break;
		room = n - room < room ? n : 2 * room;
		char *bigger = rt_alloc(s->al, room);
		if (bigger) memcpy(bigger, block, have);
		else st = RT_ENOMEM;
		rt_free(s->al, block);
		block = bigger;
	}
	if (st == RT_ENOMEM) rt_fail(e, st, "out of memory while reading %zu bytes of `%s`", n, s->name);
	*got = have;
	if (st || have < n) rt_free(s->al, block), block = NULL;
	*out = block;
	return st;
}

/* --- writing -------------------------------------------------------------------------------------------------- */

static void only_size_limit(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
}

void size_limit_begin(SizeLimit *l)
{
	sigset_t limit, now;
	int err = errno;
	only_size_limit(&limit);
	sigemptyset(&now);
	sigpending(&now);
	l->pending = sigismember(&now, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &l->mask);
	errno = err;
}

/* The signal that a write has raised is taken back. */
void size_limit_end(SizeLimit *l)
{
	sigset_t limit;
	int err = errno;
	only_size_limit(&limit);
	if (!l->pending)
		while (sigtimedwait(&limit, NULL, &(struct timespec){ 0, 0 }) < 0 && errno == EINTR) continue;
	pthread_sigmask(SIG_SETMASK, &l->mask, NULL);
	errno = err;
}

static int write_all(int fd, const char *c, size_t n)
{
	SizeLimit l;
	ssize_t w = 0;
	size_limit_begin(&l);
	while (n) {
		w = write(fd, c, n < 1 << 30 ? n : 1 << 30);
		if (w < 0 && errno == EINTR) continue;
		if (w < 0) break;
		c += w;
		n -= (size_t)w;
	}
	size_limit_end(&l);
	return n ? -1 : 0;
}

int file_put(int folder, const char *path, const void *bytes, size_t n)
{
	int fd = openat(folder, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) return -1;
	int bad = write_all(fd, bytes, n), err = errno;
	if (close(fd) && !bad) return -1;
	errno = err;
	return bad;
}

/* --- temporary files --------------------------------------------------------------------------------------------- */

/* `.name.tmp-PID-K` of this name: the process, else 0 */
static long owner_of(const char *file, const char *base)
{
	char begin[256], *end;
	int n = snprintf(begin, sizeof begin, ".%.200s.tmp-", base);
	if (strncmp(file, begin, (size_t)n) || file[n] < '1' || file[n] > '9') return 0;
	long pid = strtol(file + n, &end, 10);
	if (*end != '-' || !end[1] || end[1 + strspn(end + 1, "0123456789")]) return 0;
	return pid;
}

/* Nobody is at work on it: its process is gone, and on a disk that machines share no other one holds its lock. */
static int is_stale(int dir, const char *file, long pid)
{
	if (pid > INT_MAX || !kill((pid_t)pid, 0) || errno != ESRCH) return 0;
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int stale = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB);
	if (fd >= 0) close(fd);
	return stale;
}

/* the folder of a file whose own name begins at `base` */
static void folder_of(const char *path, const char *base, char *out)
{
	size_t n = (size_t)(base - path);
	memcpy(out, n ? path : ".", n ? n : 1);
	out[n ? n : 1] = 0;
}

static void remove_stale(int at, const char *folder, const char *base)
{
	int fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0) close(fd);
	for (struct dirent *f; d && (f = readdir(d));) {
		long pid = owner_of(f->d_name, base);
		if (pid && is_stale(dirfd(d), f->d_name, pid)) unlinkat(dirfd(d), f->d_name, 0);
	}
	if (d) closedir(d);
}

/* `dir/.name.tmp-PID-K`, the first K that is free */
int temp_open(int at, const char *path, char *temp, size_t size, int flags, mode_t mode)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	int fd = -1;
	folder_of(path, base, temp);
	remove_stale(at, temp, base);
	for (int k = 0; k < 100; k++) {
		snprintf(temp, size, "%.*s.%.200s.tmp-%ld-%d", (int)(base - path), path, base, (long)getpid(), k);
		fd = openat(at, temp, flags | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST) break;
	}
	if (fd >= 0) flock(fd, LOCK_EX | LOCK_NB);            /* some file systems have no locks */
	return fd;
}

/* --- sinks -------------------------------------------------------------------------------------------------------- */

static void sink_end(RtSink *s)
{
	if (s->fd >= 0) close(s->fd);
	if (s->folder >= 0) close(s->folder);
	rt_free(s->al, s->path);
	*s = (RtSink){ .fd = -1, .folder = -1 };
}

void sink_abort(RtSink *s)
{
	if (s->temp && *s->temp) unlinkat(s->folder, s->temp, 0);
	sink_end(s);
}

static int sink_failed(RtSink *s, const char *what, RtErr *e)
{
	int err = errno;
	rt_fail(e, RT_EIO, "cannot %s `%s`: %s%s", what, SHOWN(s->path), strerror(err),
		s->direct ? "" : "; nothing was changed");
	sink_abort(s);
	return RT_EIO;
}

/* path, name and room for the temporary one, in one piece of memory */
static int sink_names(RtSink *s, const char *path, const char *name, RtErr *e)
{
	size_t n = strlen(path) + 1, m = strlen(name) + 1;
	char *text = rt_alloc(s->al, n + 2 * m + TEMP_MORE);
	if (!text) return sink_abort(s), rt_fail(e, RT_ENOMEM, "out of memory while writing `%s`", path);
	s->path = memcpy(text, path, n);
	s->name = memcpy(text + n, name, m);
	s->temp = text + n + m;
	return RT_OK;
}

/* Writing to a link that the user names replaces what it leads to, not the link. */
static int sink_by_user(RtSink *s, const char *path, struct stat *info, RtErr *e)
{
	char *real = realpath(path, NULL), folder[PATH_MAX];  /* NULL when there is no such file yet */
	const char *use = real ? real : path, *slash = strrchr(use, '/'), *base = slash ? slash + 1 : use;
	int st = RT_OK, err = 0;
	s->there = !stat(path, info);
	s->direct = s->there && !S_ISREG(info->st_mode);
	if (s->direct) {
		if ((s->fd = open(path, O_WRONLY | O_CLOEXEC)) < 0) err = errno;
	} else if (base - use >= PATH_MAX) {
		err = ENAMETOOLONG;
	} else {
		folder_of(use, base, folder);
		if ((s->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) err = errno;
	}
	if (err) st = rt_fail(e, RT_EIO, "cannot write `%s`: %s", SHOWN(path), strerror(err)), sink_abort(s);
	else st = sink_names(s, path, base, e);
	free(real);
	return st;
}

static int sink_by_model(RtSink *s, const RtPlace *p, const RtFormat *f, struct stat *info, RtErr *e)
{
	RtSpot at;
	int st = reach_spot(p, f, s->al, &at, e);
	if (st) return st;
	s->format = f;
	s->folder = at.folder;
	s->there = at.there;
	*info = at.info;
	return sink_names(s, p->path, at.name, e);
}

int sink_open(RtSink *s, const RtPlace *p, const RtFormat *f, const RtAlloc *al, RtErr *e)
{
	struct stat info;
	*s = (RtSink){ .fd = -1, .folder = -1, .al = al };
	int st = p->reach ? sink_by_model(s, p, f, &info, e) : sink_by_user(s, p->path, &info, e);
	if (st || s->direct) return st;
	s->fd = temp_open(s->folder, s->name, s->temp, strlen(s->name) + TEMP_MORE, O_WRONLY, 0666);
	if (s->fd < 0) {
		*s->temp = 0;                                 /* nothing to remove */
		s->direct = 1;                                /* nothing was to be changed yet */
		return sink_failed(s, "write", e);
	}
	if (s->there) fchmod(s->fd, info.st_mode & 07777);
	return RT_OK;
}

int sink_write(RtSink *s, const void *p, size_t n, RtErr *e)
{
	return write_all(s->fd, p, n) ? sink_failed(s, "write", e) : RT_OK;
}

static void sync_folder(const RtSink *s)                      /* makes the rename last; not every file system can */
{
	int fd = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) return;
	fsync(fd);
	close(fd);
}

/* --- the new file gets its name ---------------------------------------------------------------------------------- */

static int exchange(const RtSink *s)
{
	return (int)syscall(SYS_renameat2, s->folder, s->temp, s->folder, s->name, RENAME_EXCHANGE);
}

/* what a system or a file system says that has no such call */
static int is_unknown(int err) { return err == ENOSYS || err == EINVAL || err == EPERM; }

static int rename_new(RtSink *s, RtErr *e)
{
	if (!syscall(SYS_renameat2, s->folder, s->temp, s->folder, s->name, RENAME_NOREPLACE)) return RT_OK;
	if (is_unknown(errno) && !linkat(s->folder, s->temp, s->folder, s->name, 0))
		return unlinkat(s->folder, s->temp, 0), RT_OK;
	if (errno == EEXIST)
		return rt_fail(e, RT_EIO, "cannot make `%s`: such a file has been made meanwhile; nothing was changed",
			SHOWN(s->path));
	if (!is_unknown(errno) || renameat(s->folder, s->temp, s->folder, s->name)) return sink_failed(s, "make", e);
	return RT_OK;
}

/* The two files change places, so that what is removed is what was looked at. `own` tells ours from what others put
 * there. */
static int rename_over(RtSink *s, const struct stat *own, RtErr *e)
{
	RtSpot old = { .folder = s->folder };
	struct stat left;
	snprintf(old.name, sizeof old.name, "%s", s->temp);
	if (exchange(s)) {
		if (!is_unknown(errno) || renameat(s->folder, s->temp, s->folder, s->name))
			return sink_failed(s, "replace", e);
		return RT_OK;
	}
	int st = fstatat(s->folder, s->temp, &old.info, AT_SYMLINK_NOFOLLOW)
			 ? rt_fail(e, RT_EIO, "cannot replace `%s`: %s", SHOWN(s->path), strerror(errno))
			 : reach_may_replace(BY_USER(s->path), &old, s->format, s->al, e);
	if (!st) unlinkat(s->folder, s->temp, 0);
	else if (exchange(s) || fstatat(s->folder, s->temp, &left, AT_SYMLINK_NOFOLLOW) || left.st_ino != own->st_ino)
		*s->temp = 0;
	return st;
}

static int publish(RtSink *s, const struct stat *own, RtErr *e)
{
	if (s->format) return s->there ? rename_over(s, own, e) : rename_new(s, e);
	return renameat(s->folder, s->temp, s->folder, s->name) ? sink_failed(s, "replace", e) : RT_OK;
}

int sink_commit(RtSink *s, RtErr *e)
{
	if (s->fd < 0) return rt_fail(e, RT_EIO, "writing had failed before");
	if (!s->direct) {
		struct stat own;
		if (fstat(s->fd, &own) || fsync(s->fd)) return sink_failed(s, "write", e);
		int fd = s->fd, st;
		s->fd = -1;
		if (close(fd)) return sink_failed(s, "write", e);
		if ((st = publish(s, &own, e))) return sink_abort(s), st;
		sync_folder(s);
	}
	sink_end(s);
	return RT_OK;
}
