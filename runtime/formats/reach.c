/* reach.c — opens what a model names without ever leaving the folders that it may reach.
 *
 * The path is first made absolute as text: `.` and `..` go, starting from the real path of the folder that it is
 * relative to.  The root is the deepest reachable folder above it.  Below the root the kernel follows no link:
 * openat2() with RESOLVE_BENEATH opens the file's folder, or, where there is no such call, one openat() per name.  A
 * link on the way is read, and the path goes on with what it holds, as if the model had named that: so a link out is
 * refused like a path out. What was checked is a descriptor, and that descriptor is what is used: a name that changes
 * meanwhile changes nothing. */
#define _GNU_SOURCE                          /* O_PATH, syscall, realpath */
#include "runtime/formats/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437                      /* on every architecture */
#endif

enum { MAX_LINKS = 40, LINK = -1, FOLDER_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC, PATH_BYTES = 4096 };
enum { BENEATH = 0x08, NO_SYMLINKS = 0x04, NO_MAGICLINKS = 0x02 };       /* RESOLVE_… of linux/openat2.h */

typedef struct Walk {
	const RtPlace *p;
	const char *verb;                    /* for messages: what is to be done with the file */
	RtErr *e;
	const RtRoot *root, *base;
	size_t below;                        /* path + below: what lies below the root; anchored: below the base */
	int anchored;                        /* the real path of the base is too long to be known: the path begins there */
	int names_folder;                    /* the path ends in `/`, `.` or `..` */
	int links;
	char current[PATH_BYTES];            /* real path of the current folder; "": not known */
	char path[2 * PATH_BYTES], next[2 * PATH_BYTES], target[PATH_BYTES];
} Walk;

/* --- messages --------------------------------------------------------------------------------------------- */

size_t utf8_length(const unsigned char *p, const unsigned char *end)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *p < 0x80 ? 1 : *p >= 0xf0 && *p < 0xf8 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 0;
	if (n == 1) return 1;
	if (!n || *p >= 0xf8 || (size_t)(end - p) < n) return 0;
	uint32_t c = *p & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 0;
}

/* A long path keeps its end, which tells files apart. */
const char *reach_show(const char *path, char *out, size_t size)
{
	size_t n = 0, len = strlen(path), most = size / 2;
	const unsigned char *s = (const unsigned char *)path, *end = s + len;
	if (len > most) {
		s += len - most;
		while ((*s & 0xc0) == 0x80) s++;
		n = (size_t)snprintf(out, size, "…");
	}
	while (*s && n + 5 < size) {
		size_t k = utf8_length(s, end);
		if (!k || *s < 0x20 || *s == 0x7f) n += (size_t)snprintf(out + n, size - n, "\\x%02x", *s++);
		else for (; k; k--) out[n++] = (char)*s++;
	}
	out[n] = 0;
	return out;
}

static int refuse(const Walk *w, const char *why)
{
	return rt_fail(w->e, RT_EMODEL, "`%s` %s", SHOWN(w->p->path), why);
}

static int failed(const Walk *w, int err)
{
	return rt_fail(w->e, RT_EIO, "cannot %s `%s`: %s", w->verb, SHOWN(w->p->path), strerror(err));
}

static int out_of_reach(const Walk *w)
{
	const char *rule = "it is not below the model's folder, the current folder or an allowed one";
	if (!w->links) return rt_fail(w->e, RT_EMODEL, "`%s` is out of the model's reach: %s", SHOWN(w->p->path), rule);
	return rt_fail(w->e, RT_EMODEL, "`%s` is out of the model's reach: a link leads to `%s`, and %s",
		SHOWN(w->p->path), SHOWN(w->path), rule);
}

/* --- the path as text ---------------------------------------------------------------------------------------- */

static int has_control(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) return 1;
	return 0;
}

/* Some file systems ignore these characters in names (U+200C to F, U+202A to E, U+206A to F, U+FEFF), and so find
 * `.git` by them. */
static size_t ignored(const char *s)
{
	unsigned char a = (unsigned char)s[0], b = a ? (unsigned char)s[1] : 0, c = b ? (unsigned char)s[2] : 0;
	if (a == 0xe2 && b == 0x80) return (c >= 0x8c && c <= 0x8f) || (c >= 0xaa && c <= 0xae) ? 3 : 0;
	if (a == 0xe2 && b == 0x81) return c >= 0xaa && c <= 0xaf ? 3 : 0;
	return a == 0xef && b == 0xbb && c == 0xbf ? 3 : 0;
}

static int is_hidden(const char *name)
{
	for (size_t n; (n = ignored(name));) name += n;
	return *name == '.';
}

static int push_name(Walk *w, const char *name, size_t n)
{
	size_t len = strlen(w->path);
	w->names_folder = n == 0 || (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')));
	if (n == 2 && w->names_folder) {
		char *slash = strrchr(w->path, '/');
		if (slash) *slash = 0;
		else if (w->anchored) return out_of_reach(w);
		return RT_OK;
	}
	if (w->names_folder) return RT_OK;
	if (has_control(name, n)) return refuse(w, "has a control character in it");
	if (n >= REACH_NAME || len + n + 2 > sizeof w->path) return failed(w, ENAMETOOLONG);
	w->path[len] = '/';
	memcpy(w->path + len + 1, name, n);
	w->path[len + 1 + n] = 0;
	return RT_OK;
}

static int push(Walk *w, const char *text)
{
	int st = RT_OK;
	for (const char *s = text; !st && *s;) {
		size_t n = strcspn(s, "/");
		st = push_name(w, s, n);
		s += n;
		if (*s == '/' && !*++s) w->names_folder = 1;
	}
	return st;
}

static const char *real_of(const Walk *w, const RtRoot *r)    /* NULL: not known */
{
	if (!r->path) return NULL;
	return r->real ? r->real : w->current[0] ? w->current : NULL;
}

/* length of the folder's path if w->path lies below it, else -1 */
static long above(const Walk *w, const char *folder)
{
	size_t n = folder ? strlen(folder) : 0;
	while (n && folder[n - 1] == '/') n--;
	return folder && folder[0] == '/' && !strncmp(w->path, folder, n) && w->path[n] == '/' ? (long)n : -1;
}

/* from the folder's name as it was typed to its real path */
static int use_real(Walk *w, size_t typed, const char *real)
{
	size_t n = strcmp(real, "/") ? strlen(real) : 0, rest = strlen(w->path + typed);
	if (n + rest >= sizeof w->path) return failed(w, ENAMETOOLONG);
	memmove(w->path + n, w->path + typed, rest + 1);
	memcpy(w->path, real, n);
	w->below = n + 1;
	return RT_OK;
}

/* The deepest root counts: below it fewer names can begin with a dot. */
static int find_root(Walk *w)
{
	const RtReach *reach = w->p->reach;
	long deepest = -1, typed = -1;
	w->root = w->anchored ? w->base : NULL;
	w->below = 1;
	for (int i = 0; i < reach->n && !w->anchored; i++) {
		const char *real = real_of(w, &reach->root[i]);
		long n = above(w, real), named = real ? above(w, reach->root[i].path) : -1,
		     most = n > named ? n : named;
		if (most > deepest) deepest = most, typed = named > n ? named : -1, w->root = &reach->root[i];
	}
	if (!w->root) return w->names_folder ? refuse(w, "names a folder, not a file") : out_of_reach(w);
	if (w->names_folder || !w->path[0]) return refuse(w, "names a folder, not a file");
	if (w->anchored) return RT_OK;
	return use_real(w, (size_t)(typed >= 0 ? typed : deepest), real_of(w, w->root));
}

static int check_names(const Walk *w)
{
	for (const char *s = w->path + w->below; *s; s += strcspn(s, "/"), s += *s == '/')
		if (is_hidden(s))
			return refuse(w, "goes through a name that begins with a dot, which models may not use");
	return RT_OK;
}

static int start(Walk *w)
{
	const RtReach *r = w->p->reach;
	const char *path = w->p->path;
	w->base = &r->root[w->p->base];
	if (!w->base->path) w->base = &r->root[REACH_CURRENT];
	if (!realpath(".", w->current)) w->current[0] = 0;
	if (!*path) return rt_fail(w->e, RT_EMODEL, "the path of the file is empty");
	if (strlen(path) >= PATH_BYTES) return failed(w, ENAMETOOLONG);
	const char *from = real_of(w, w->base);
	if (path[0] != '/' && from && strcmp(from, "/")) snprintf(w->path, sizeof w->path, "%s", from);
	w->anchored = path[0] != '/' && !from;
	return push(w, path);
}

/* --- the way down --------------------------------------------------------------------------------------------- */

static int open_root(const Walk *w)
{
	struct stat info;
	const RtRoot *r = w->root;
	int fd = open(r->real ? r->real : r->path, FOLDER_FLAGS);
	if (fd < 0 || fstat(fd, &info)) {
		failed(w, errno);
	} else if (r->inode && (info.st_dev != r->device || info.st_ino != r->inode)) {
		refuse(w, "cannot be reached: its folder is another one than when the model was read");
	} else {
		return fd;
	}
	if (fd >= 0) close(fd);
	return -1;
}

/* The path goes on with what a link holds: behind path[0 … keep) if that is relative, then with `rest`. */
static int follow(Walk *w, size_t keep, const char *rest)
{
	snprintf(w->next, sizeof w->next, "%s", rest);
	w->path[w->target[0] == '/' ? 0 : keep] = 0;
	if (w->target[0] == '/' && w->anchored) return w->links++, out_of_reach(w);
	if (++w->links > MAX_LINKS) return failed(w, ELOOP);
	int st = push(w, w->target);
	if (!st && *w->next) st = push(w, w->next);
	return st ? st : LINK;
}

/* LINK: `name` was a link, and is followed; RT_OK: it is none */
static int try_link(Walk *w, int at, char *name, const char *rest)
{
	ssize_t n = readlinkat(at, name, w->target, sizeof w->target);
	if (n < 0) return RT_OK;
	if (n == 0 || (size_t)n >= sizeof w->target) return failed(w, ENAMETOOLONG);
	w->target[n] = 0;
	return follow(w, (size_t)(name - w->path) - 1, rest);
}

/* The next folder on the way, which `at` is exchanged for. */
static int step_down(Walk *w, int *at, char *name, char *slash)
{
	int err, st;
	*slash = 0;
	int fd = openat(*at, name, FOLDER_FLAGS | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT && w->p->make_folders && (!mkdirat(*at, name, 0777) || errno == EEXIST))
		fd = openat(*at, name, FOLDER_FLAGS | O_NOFOLLOW);
	err = errno;
	if (fd < 0) {
		st = try_link(w, *at, name, slash + 1);
		return st ? st : failed(w, err);
	}
	*slash = '/';
	close(*at);
	*at = fd;
	return RT_OK;
}

static int walk_down(Walk *w, int *at)
{
	char *name = w->path + w->below;
	for (char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		int st = step_down(w, at, name, slash);
		if (st) return st;
	}
	return RT_OK;
}

/* All of the way in one call. Whatever goes wrong is found out step by step. */
static int jump_down(Walk *w, int *at)
{
	struct { uint64_t flags, mode, resolve; } how = { FOLDER_FLAGS, 0, BENEATH | NO_SYMLINKS | NO_MAGICLINKS };
	char *first = w->path + w->below, *last = strrchr(w->path, '/');
	if (last < first) return RT_OK;
	*last = 0;
	int fd = (int)syscall(SYS_openat2, *at, first, &how, sizeof how);
	*last = '/';
	if (fd < 0) return walk_down(w, at);
	close(*at);
	*at = fd;
	return RT_OK;
}

/* one that is no link any more is looked at again */
static int last_link(Walk *w, int at, char *name)
{
	int st = try_link(w, at, name, "");
	if (st) return st;
	return ++w->links > MAX_LINKS ? failed(w, ELOOP) : LINK;
}

/* the file's folder and name; what has the name now, which is no link */
static int look(Walk *w, RtSpot *out)
{
	int st = find_root(w);
	if (st || (st = check_names(w))) return st;
	int at = open_root(w);
	if (at < 0) return w->e->status;
	st = jump_down(w, &at);
	char *name = strrchr(w->path, '/') + 1;
	if (!st) {
		out->there = !fstatat(at, name, &out->info, AT_SYMLINK_NOFOLLOW);
		if (!out->there && errno != ENOENT) st = failed(w, errno);
		else if (out->there && S_ISLNK(out->info.st_mode)) st = last_link(w, at, name);
	}
	if (st) return close(at), st;
	out->folder = at;
	snprintf(out->name, sizeof out->name, "%s", name);
	return RT_OK;
}

static int find(const RtPlace *p, const char *verb, const RtAlloc *al, RtSpot *out, RtErr *e)
{
	Walk *w = rt_alloc(al, sizeof *w);
	if (!w) return rt_fail(e, RT_ENOMEM, "out of memory while opening a file");
	w->p = p;
	w->verb = verb;
	w->e = e;
	int st = start(w);
	if (!st) do st = look(w, out); while (st == LINK);
	rt_free(al, w);
	return st;
}

/* --- files ------------------------------------------------------------------------------------------------------ */

static const char *sort_of(mode_t mode)
{
	if (S_ISDIR(mode)) return "a folder";
	if (S_ISFIFO(mode)) return "a pipe";
	if (S_ISSOCK(mode)) return "a socket";
	return S_ISLNK(mode) ? "a link that has just been made" : "a device";
}

static int not_regular(const char *path, mode_t mode, RtErr *e)
{
	return rt_fail(e, RT_EMODEL, "`%s` is %s; models may name ordinary files alone", SHOWN(path), sort_of(mode));
}

/* A pipe does not block, and a link that has come meanwhile is not followed. */
static int open_spot(const RtPlace *p, const RtSpot *at, RtErr *e)
{
	struct stat info;
	if (!S_ISREG(at->info.st_mode)) return not_regular(p->path, at->info.st_mode, e), -1;
	int fd = openat(at->folder, at->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &info) && S_ISREG(info.st_mode)) return fd;
	if (fd >= 0) not_regular(p->path, info.st_mode, e);
	else rt_fail(e, RT_EIO, "cannot open `%s`: %s", SHOWN(p->path), strerror(errno));
	if (fd >= 0) close(fd);
	return -1;
}

int reach_open(const RtPlace *p, const RtAlloc *al, RtErr *e)
{
	RtSpot at;
	if (find(p, "open", al, &at, e)) return -1;
	int fd = -1;
	if (at.there) fd = open_spot(p, &at, e);
	else rt_fail(e, RT_EIO, "cannot open `%s`: %s", SHOWN(p->path), strerror(ENOENT));
	close(at.folder);
	return fd;
}

static int has_extension(const char *name, const RtFormat *f)
{
	size_t n = strlen(name);
	for (const char *const *x = f->extensions; *x; x++)
		if (n > strlen(*x) && !strcmp(name + n - strlen(*x), *x)) return 1;
	return 0;
}

static int wrong_extension(const RtPlace *p, const RtFormat *f, RtErr *e)
{
	char list[64] = "";
	for (const char *const *x = f->extensions; *x; x++) {
		size_t n = strlen(list);
		snprintf(list + n, sizeof list - n, "%s`%s`", n ? " or " : "", *x);
	}
	return rt_fail(e, RT_EMODEL, "`%s` may not be written: a model writes %s files, whose names end in %s",
		SHOWN(p->path), f->name, list);
}

int reach_may_replace(const RtPlace *p, const RtSpot *at, const RtFormat *f, const RtAlloc *al, RtErr *e)
{
	int fd = open_spot(p, at, e);
	if (fd < 0) return e->status;
	int ours = f->holds(fd, al);
	close(fd);
	if (ours) return RT_OK;
	return rt_fail(e, RT_EMODEL,
		"`%s` may not be replaced: it exists and is no %s file, so no model has written it", SHOWN(p->path),
		f->name);
}

int reach_spot(const RtPlace *p, const RtFormat *f, const RtAlloc *al, RtSpot *out, RtErr *e)
{
	int st = find(p, "write", al, out, e);
	if (st) return st;
	if (!has_extension(out->name, f)) st = wrong_extension(p, f, e);
	else if (out->there) st = reach_may_replace(p, out, f, al, e);
	if (st) close(out->folder);
	return st;
}

/* --- roots ------------------------------------------------------------------------------------------------------- */

static int no_folder(const char *path, int err, RtErr *e)
{
	return rt_fail(e, RT_EIO, "cannot use the folder `%s`: %s", SHOWN(path), strerror(err));
}

/* the folder that is open now, and its path as far as that is still the same one */
static int root_of(int fd, const char *path, const RtAlloc *al, RtRoot *out, RtErr *e)
{
	struct stat info, now;
	char *real = realpath(path, NULL);
	if (!real || fstat(fd, &info) || stat(real, &now) || info.st_dev != now.st_dev || info.st_ino != now.st_ino) {
		int err = real ? ESTALE : errno;
		free(real);
		return no_folder(path, err, e);
	}
	size_t n = strlen(path) + 1, m = strlen(real) + 1;
	char *text = rt_alloc(al, n + m);
	if (text) {
		memcpy(text, path, n);
		memcpy(text + n, real, m);
		*out = (RtRoot){ text, text + n, info.st_dev, info.st_ino };
	}
	free(real);
	return text ? RT_OK : rt_fail(e, RT_ENOMEM, "out of memory for the path of a folder");
}

int root_open(const char *path, const RtAlloc *al, RtRoot *out, int *fd, RtErr *e)
{
	*fd = open(path, FOLDER_FLAGS);
	if (*fd < 0) return no_folder(path, errno, e);
	int st = root_of(*fd, path, al, out, e);
	if (st) close(*fd);
	return st;
}

void root_free(RtRoot *r, const RtAlloc *al)
{
	rt_free(al, (char *)(uintptr_t)r->path);
	*r = (RtRoot){ .path = NULL };
}
