/* cache.c — shared objects on disk, found by what they were made from.
 *
 * An entry is a file named by its key.  Behind the object's own bytes stands a seal: key, length and
 * hash of what comes before; loaders ignore bytes behind the object.  An entry without an intact
 * seal was cut short or changed and is removed.  Entries appear by rename, so readers see all or none. */
#include "compiler/codegen/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lang/base/map.h"

typedef struct Seal { char magic[8]; CacheKey key; uint64_t len, sum; } Seal;
static const char magic[8] = "pxlseal";
enum { LARGEST = 64 << 20 };

void cache_mix(CacheKey *k, const void *p, size_t n)
{
	uint64_t h = hash_bytes(p, n);
	uint64_t a[3] = { k->hi, h, n }, b[3] = { h, k->lo, ~(uint64_t)n };
	k->hi = hash_bytes(a, sizeof a);
	k->lo = hash_bytes(b, sizeof b);
}

static int make_dirs(const char *dir)
{
	char s[CACHE_PATH];
	int n = snprintf(s, sizeof s, "%s", dir);
	if (n <= 0 || n >= CACHE_PATH) return 0;
	for (char *c = s + 1; *c; c++) {
		if (*c != '/') continue;
		*c = 0;
		if (mkdir(s, 0700) && errno != EEXIST) return 0;
		*c = '/';
	}
	return !mkdir(s, 0700) || errno == EEXIST;
}

int cache_dir_usable(const char *dir)
{
	struct stat st;
	if (!dir || !dir[0] || !make_dirs(dir) || stat(dir, &st) || !S_ISDIR(st.st_mode)) return 0;
	return st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) && !access(dir, W_OK);
}

static int key_path(const char *dir, const char *front, CacheKey k, const char *end, char path[CACHE_PATH])
{
	int n = snprintf(path, CACHE_PATH, "%s/%s%016" PRIx64 "%016" PRIx64 "%s", dir, front, k.hi, k.lo, end);
	return n > 0 && n < CACHE_PATH;
}

static int entry_path(const char *dir, CacheKey k, char path[CACHE_PATH]) { return key_path(dir, "", k, ".so", path); }

/* NULL: not readable, or not of a size that can be right */
static char *slurp(const char *path, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return NULL;
	char *p = NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < LARGEST) p = malloc((size_t)st.st_size);
	size_t n = 0;
	while (p && n < (size_t)st.st_size) {
		ssize_t got = read(fd, p + n, (size_t)st.st_size - n);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) break;
		n += (size_t)got;
	}
	close(fd);
	*len = n;
	return p;
}

static int is_sealed(const char *bytes, size_t len, CacheKey k)
{
	Seal s;
	if (len < sizeof s) return 0;
	memcpy(&s, bytes + len - sizeof s, sizeof s);
	len -= sizeof s;
	return !memcmp(s.magic, magic, sizeof magic) && s.key.hi == k.hi && s.key.lo == k.lo && s.len == len && s.sum == hash_bytes(bytes, len);
}

int cache_find(const char *dir, CacheKey k, char path[CACHE_PATH])
{
	size_t len;
	if (!entry_path(dir, k, path)) return 0;
	char *bytes = slurp(path, &len);
	if (!bytes) return access(path, F_OK) ? 0 : -1;
	int good = is_sealed(bytes, len, k);
	free(bytes);
	if (good) return 1;
	unlink(path);
	return -1;
}

static int append(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0) return 0;
	int ok = write(fd, p, n) == (ssize_t)n && !fsync(fd);
	return !close(fd) && ok;
}

int cache_store(const char *dir, CacheKey k, const char *made, char path[CACHE_PATH])
{
	size_t len;
	char *bytes = slurp(made, &len);
	if (!bytes) return 0;
	Seal s = { .key = k, .len = len, .sum = hash_bytes(bytes, len) };
	memcpy(s.magic, magic, sizeof magic);
	free(bytes);
	return append(made, &s, sizeof s) && entry_path(dir, k, path) && !rename(made, path);
}

void cache_mark(const char *dir, CacheKey k)
{
	char path[CACHE_PATH];
	int fd = key_path(dir, ".", k, "", path) ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd >= 0) close(fd);
}

int cache_is_marked(const char *dir, CacheKey k)
{
	char path[CACHE_PATH];
	return key_path(dir, ".", k, "", path) && !access(path, F_OK);
}
