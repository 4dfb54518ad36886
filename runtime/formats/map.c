/* map.c — files as memory: the host's copy of a variable that lives in a file.
 *
 * A file is either nothing but the bytes of the variable, or a .npy file in C order with the machine's own
 * byte order: mapped bytes are used as they are, nothing is converted.  A new file grows under another name
 * and gets its own when its values are in it, so that an interrupted start leaves no file of zeros to be
 * taken for weights; its blocks are allocated at once, because a full disk under a mapping is a signal,
 * not an error. */
#include "runtime/formats/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *verb, const char *path, int err, RtErr *e)
{
	return rt_fail(e, RT_EIO, "cannot %s `%s`: %s", verb, SHOWN(path), strerror(err));
}

static int wrong_size(const FileMap *m, const RtArray *want, size_t have, RtErr *e)
{
	return rt_fail(e, RT_EIO, "`%s` has %zu bytes: it is neither the %zu bytes of %s that its variable has, nor a .npy file of it", m->path, have,
	               want->bytes, dtype_info[want->dtype].name);
}

static int same_shape(const RtArray *a, const RtArray *b)
{
	return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

/* where the data begins: 0 in a file of bare bytes */
static int find_data(
	const FileMap *m, int fd, const RtArray *want, size_t have, const RtAlloc *al, size_t *offset, RtErr *e)
{
	NpyLayout l;
	*offset = 0;
	if (have == want->bytes) return RT_OK;
	RtSource *s;
	int own = dup(fd), st = own < 0 ? failed("open", m->path, errno, e) : source_fd(own, m->path, al, &s, e);
	if (st) return st;
	st = npy_layout(s, al, &l, e);
	source_close(s);
	if (st) return wrong_size(m, want, have, e);
	if (!npy_bits(want->dtype, l.array.dtype) || !same_shape(want, &l.array) || l.swapped || (l.fortran && want->rank > 1))
		return rt_fail(e, RT_EIO, "`%s` cannot be mapped: it must hold %s in the variable's shape, in C order and this machine's byte order",
		               m->path, dtype_info[want->dtype].name);
	if (have != l.offset + want->bytes) return wrong_size(m, want, have, e);
	*offset = l.offset;
	return RT_OK;
}

static int map_fd(FileMap *m, int fd, size_t size, RtErr *e)
{
	void *base = mmap(NULL, size, m->read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) return failed("map", m->path, errno, e);
	m->base = base;
	m->size = size;
	return RT_OK;
}

/* The whole file is mapped: a mapping begins at a page, data may not. */
static int map_there(FileMap *m, int fd, const RtArray *want, const RtAlloc *al, RtErr *e)
{
	struct stat info;
	size_t offset;
	if (fstat(fd, &info)) return failed("look at", m->path, errno, e);
	m->device = info.st_dev;
	m->inode = info.st_ino;
	if (!S_ISREG(info.st_mode)) return rt_fail(e, RT_EIO, "cannot map `%s`: it is not a file", m->path);
	if (m->name && !m->read_only && info.st_nlink > 1)
		return rt_fail(e, RT_EIO,
			"`%s` is not written: it has another name (a hard link), whose file would change along; --map "
			"NAME=FILE names it all the same",
			m->path);
	int st = find_data(m, fd, want, (size_t)info.st_size, al, &offset, e);
	if (st || !want->bytes) return st;
	int err = m->read_only ? 0 : posix_fallocate(fd, 0, info.st_size);      /* its holes too */
	if (err) return failed("make room for", m->path, err, e);
	if ((st = map_fd(m, fd, (size_t)info.st_size, e))) return st;
	m->data = (char *)m->base + offset;
	if (offset % dtype_size(want->dtype) == 0) return RT_OK;
	map_close(m);
	return rt_fail(e, RT_EIO, "`%s` cannot be mapped: its data do not begin at a multiple of an element's size", m->path);
}

/* Not kept open, so not locked for long: variables may be more than a process can have files. */
static int map_new(FileMap *m, const RtArray *want, RtErr *e)
{
	int fd = temp_open(m->folder, m->path + m->name, m->temp, sizeof m->temp, O_RDWR, 0666);
	if (fd < 0) return m->temp[0] = 0, failed("make", m->path, errno, e);
	int err = want->bytes ? posix_fallocate(fd, 0, (off_t)want->bytes) : 0;
	int st = err ? failed("make room for", m->path, err, e) : want->bytes ? map_fd(m, fd, want->bytes, e) : RT_OK;
	close(fd);
	m->data = m->base;
	m->fresh = 1;
	if (st) map_close(m);
	return st;
}

int map_open(FileMap *m, int folder, const char *path, size_t name, const RtArray *want, int read_existing,
	const RtAlloc *al, RtErr *e)
{
	*m = (FileMap){ .read_only = read_existing, .folder = folder, .name = name };
	if (snprintf(m->path, sizeof m->path, "%s", path) >= (int)sizeof m->path) return failed("map", path, ENAMETOOLONG, e);
	int links = name && !read_existing ? O_NOFOLLOW : 0;
	int fd = openat(folder, path + name, (read_existing ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | links);
	if (fd < 0 && errno == ELOOP && links)
		return rt_fail(
			e, RT_EIO, "`%s` is not written: it is a link; --map NAME=FILE names it all the same", path);
	if (fd < 0 && errno != ENOENT) return failed("open", path, errno, e);
	if (fd < 0) {
		m->read_only = 0;
		return map_new(m, want, e);
	}
	int st = map_there(m, fd, want, al, e);
	close(fd);
	return st;
}

int map_publish(FileMap *m, RtErr *e)
{
	if (!m->temp[0]) return RT_OK;
	if (m->size && msync(m->base, m->size, MS_SYNC)) return failed("write", m->path, errno, e);
	const char *name = m->path + m->name;
	int linked = !linkat(m->folder, m->temp, m->folder, name, 0);
	if (!linked && errno == EEXIST) return rt_fail(e, RT_EIO, "cannot make `%s`: such a file has been made meanwhile, by somebody else or for another variable", m->path);
	if (linked ? unlinkat(m->folder, m->temp, 0) : renameat(m->folder, m->temp, m->folder, name))
		return failed("make", m->path, errno, e); /* not every file system has links */
	m->temp[0] = 0;
	return RT_OK;
}

void map_close(FileMap *m)
{
	if (m->base) munmap(m->base, m->size);
	if (m->temp[0]) unlinkat(m->folder, m->temp, 0);
	m->temp[0] = 0;
	m->base = m->data = NULL;
}
