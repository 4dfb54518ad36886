/* safetensors.c — named tensors in one file.
 *
 * The file is the length of a JSON header (8 bytes, little-endian), the header, and the data.  The header
 * is one object: `__metadata__` maps strings to strings, every other name is a tensor with `dtype`, `shape`
 * and `data_offsets`.  That is all the JSON read here, strictly: no other keys, nothing twice, valid UTF-8.
 * The tensors must cover the data exactly, without gaps and without sharing bytes; a file that says
 * otherwise was damaged or made to mislead.
 *
 * Only the header is held in memory; a tensor is read from its place when asked for. */
#include "runtime/formats/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_MAX ((uint64_t)100 << 20)
#define DTYPE_KEY  "pxl.dtype."                  /* metadata: what a U8 tensor of this name really is */

struct StFile {
	const RtAlloc *al;
	int fd;                                  /* -1: memory */
	const unsigned char *mem;
	uint64_t size;
	char name[320];                          /* as messages show it */
	char *header, *strings;                  /* strings: names, keys and values, decoded */
	size_t used;
	StEntry *entry;
	int nentry, room;
	StMeta *meta;
	int nmeta, meta_room, has_meta;
};

static const struct { const char *name; DType t; } types[] = {
	{ "BOOL", DT_BOOL }, { "I8", DT_I8 }, { "I16", DT_I16 }, { "I32", DT_I32 }, { "I64", DT_I64 },
	{ "U8", DT_U8 }, { "U16", DT_U16 }, { "U32", DT_U32 }, { "U64", DT_U64 },
	{ "F16", DT_F16 }, { "BF16", DT_BF16 }, { "F32", DT_F32 }, { "F64", DT_F64 },
};
enum { NTYPE = sizeof types / sizeof *types };

/* --- UTF-8 ------------------------------------------------------------------------------------------------- */

static size_t utf8_put(char *out, uint32_t c)
{
	if (c < 0x80) return out[0] = (char)c, 1;
	if (c < 0x800) return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3f)), 2;
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		return out[2] = (char)(0x80 | (c & 0x3f)), 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	return out[3] = (char)(0x80 | (c & 0x3f)), 4;
}

/* --- the header's JSON ---------------------------------------------------------------------------------------- */

typedef struct Json { const char *start, *at, *end; StFile *f; RtErr *e; } Json;

static int bad(const Json *j, const char *why)
{
	return rt_fail(j->e, RT_EIO, "`%s` is not a usable safetensors file: %s (byte %zu of its header)", j->f->name, why, (size_t)(j->at - j->start));
}

static void blanks(Json *j) { while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r')) j->at++; }

static int take(Json *j, char c)
{
	blanks(j);
	if (j->at >= j->end || *j->at != c) return 0;
	j->at++;
	return 1;
}

static int hex4(Json *j, uint32_t *out)
{
	*out = 0;
	if (j->end - j->at < 4) return 0;
	for (int i = 0; i < 4; i++, j->at++) {
		char c = *j->at;
		int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
		if (d < 0) return 0;
		*out = *out << 4 | (uint32_t)d;
	}
	return 1;
}

/* after the backslash; 0 when it is no valid escape. A zero character is refused: names are C strings here. */
static int escape(Json *j, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	uint32_t c, low;
	if (j->at >= j->end) return 0;
	char k = *j->at++;
	const char *s = strchr(from, k);
	if (k && s) return *(*to)++ = into[s - from], 1;
	if (k != 'u' || !hex4(j, &c) || !c || (c >= 0xdc00 && c <= 0xdfff)) return 0;
	if (c >= 0xd800 && c <= 0xdbff) {
		if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u') return 0;
		j->at += 2;
		if (!hex4(j, &low) || low < 0xdc00 || low > 0xdfff) return 0;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	*to += utf8_put(*to, c);
	return 1;
}

/* into the file's strings, which have room for the whole header: decoding never makes a text longer,
 * and the quotes pay for the final zero */
static int take_string(Json *j, const char **out)
{
	char *to = j->f->strings + j->f->used;
	*out = to;
	if (!take(j, '"')) return bad(j, "a string is missing");
	while (j->at < j->end && *j->at != '"') {
		if (*j->at == '\\') {
			j->at++;
			if (!escape(j, &to)) return bad(j, "a string has an invalid escape");
			continue;
		}
		size_t n = utf8_length((const unsigned char *)j->at, (const unsigned char *)j->end);
		if (!n || (unsigned char)*j->at < ' ') return bad(j, "a string has a control character or invalid UTF-8");
		while (n--) *to++ = *j->at++;
	}
	if (j->at >= j->end) return bad(j, "a string does not end");
	j->at++;
	*to++ = 0;
	j->f->used = (size_t)(to - j->f->strings);
	return RT_OK;
}

static int take_number(Json *j, int64_t *out)                  /* a size: digits alone, no sign, fraction or leading zero */
{
	int64_t v = 0;
	const char *s;
	blanks(j);
	for (s = j->at; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *j->at - '0', &v)) return bad(j, "a number is too large");
	if (j->at == s || (*s == '0' && j->at - s > 1)) return bad(j, "a size is not a plain whole number");
	*out = v;
	return RT_OK;
}

/* [n, n, …]; more than max is an error */
static int take_numbers(Json *j, int64_t *out, int max, int *n)
{
	*n = 0;
	if (!take(j, '[')) return bad(j, "a list of numbers is missing");
	if (take(j, ']')) return RT_OK;
	do {
		if (*n == max) return bad(j, "a list has more numbers than it may");
		int st = take_number(j, &out[(*n)++]);
		if (st) return st;
	} while (take(j, ','));
	return take(j, ']') ? RT_OK : bad(j, "a list does not end properly");
}

/* the list with room for one more of size bytes, or NULL */
static void *grow(const StFile *f, void *list, int n, int *room, size_t size, RtErr *e)
{
	if (n < *room) return list;
	int more = *room ? 2 * *room : 32;
	void *p = rt_alloc(f->al, (size_t)more * size);
	if (!p) return rt_fail(e, RT_ENOMEM, "out of memory while reading `%s`", f->name), NULL;
	if (n) memcpy(p, list, (size_t)n * size);
	rt_free(f->al, list);
	*room = more;
	return p;
}

static int scan_pair(Json *j)
{
	StFile *f = j->f;
	StMeta m, *more;
	int st = take_string(j, &m.key);
	if (st) return st;
	if (!take(j, ':')) return bad(j, "a `:` is missing");
	if ((st = take_string(j, &m.value))) return st;
	if (!(more = grow(f, f->meta, f->nmeta, &f->meta_room, sizeof m, j->e))) return RT_ENOMEM;
	f->meta = more;
	f->meta[f->nmeta++] = m;
	return RT_OK;
}

static int scan_metadata(Json *j)
{
	int st;
	if (j->f->has_meta) return bad(j, "`__metadata__` occurs twice");
	j->f->has_meta = 1;
	if (!take(j, '{')) return bad(j, "`__metadata__` is not an object");
	if (take(j, '}')) return RT_OK;
	do
		if ((st = scan_pair(j))) return st;
	while (take(j, ','));
	return take(j, '}') ? RT_OK : bad(j, "`__metadata__` does not end properly");
}

static int find_type(const Json *j, const StEntry *t, const char *name, DType *out)
{
	for (int i = 0; i < NTYPE; i++)
		if (!strcmp(name, types[i].name)) return *out = types[i].t, RT_OK;
	return rt_fail(j->e, RT_EIO, "`%s`: tensor `%s` has elements of type %.32s, which pxl does not read%s", j->f->name, t->name, name,
	               !strcmp(name, "C64") || !strcmp(name, "C128") ? ": there are no complex numbers here" : "");
}

/* the value of one of a tensor's three keys */
static int scan_field(Json *j, StEntry *t, int64_t at[2], int *seen)
{
	const char *key, *type;
	int n, bit, st = take_string(j, &key);
	if (st) return st;
	bit = !strcmp(key, "dtype") ? 1 : !strcmp(key, "shape") ? 2 : !strcmp(key, "data_offsets") ? 4 : 0;
	if (!bit || *seen & bit) return bad(j, bit ? "a tensor has a key twice" : "a tensor has a key other than dtype, shape and data_offsets");
	*seen |= bit;
	if (!take(j, ':')) return bad(j, "a `:` is missing");
	if (bit == 1) return (st = take_string(j, &type)) ? st : find_type(j, t, type, &t->dtype);
	if (bit == 2) return take_numbers(j, t->dim, MAX_RANK, &t->rank);
	if ((st = take_numbers(j, at, 2, &n))) return st;
	return n == 2 ? RT_OK : bad(j, "`data_offsets` is not a pair");
}

static int scan_tensor(Json *j, const char *name)
{
	StFile *f = j->f;
	int seen = 0, st;
	int64_t at[2] = { 0, 0 };
	StEntry *t = grow(f, f->entry, f->nentry, &f->room, sizeof *t, j->e);
	if (!t) return RT_ENOMEM;
	f->entry = t;
	t += f->nentry;
	*t = (StEntry){ .name = name };
	if (!take(j, '{')) return bad(j, "a tensor is not an object");
	do
		if ((st = scan_field(j, t, at, &seen))) return st;
	while (take(j, ','));
	if (!take(j, '}') || seen != 7) return bad(j, "a tensor lacks one of dtype, shape and data_offsets");
	if (!array_size(t->dtype, t->rank, t->dim, &t->nelem, &t->bytes) || at[1] < at[0] || (uint64_t)(at[1] - at[0]) != t->bytes)
		return rt_fail(j->e, RT_EIO, "`%s`: tensor `%s` has %" PRId64 " bytes of data, which is not what its shape and type want",
			f->name, name, at[1] - at[0]);
	t->offset = (uint64_t)at[0];                          /* within the data, for now */
	f->nentry++;
	return RT_OK;
}

static int scan_header(Json *j)
{
	const char *name;
	int st;
	if (!take(j, '{')) return bad(j, "its header is not an object");
	if (!take(j, '}')) {
		do {
			if ((st = take_string(j, &name))) return st;
			if (!take(j, ':')) return bad(j, "a `:` is missing");
			if ((st = strcmp(name, "__metadata__") ? scan_tensor(j, name) : scan_metadata(j))) return st;
		} while (take(j, ','));
		if (!take(j, '}')) return bad(j, "its header does not end properly");
	}
	blanks(j);
	return j->at == j->end ? RT_OK : bad(j, "something follows the header's object");
}

/* --- checks over the whole -------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(((const StEntry *)a)->name, ((const StEntry *)b)->name); }
static int by_key(const void *a, const void *b) { return strcmp(((const StMeta *)a)->key, ((const StMeta *)b)->key); }
static int by_place(const void *a, const void *b)
{
	const StEntry *x = a, *y = b;
	if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
	return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : strcmp(x->name, y->name);
}

static int check_places(StFile *f, uint64_t start, RtErr *e)
{
	uint64_t at = 0, have = f->size - start;
	if (f->nentry) qsort(f->entry, (size_t)f->nentry, sizeof *f->entry, by_place);
	for (int i = 0; i < f->nentry; i++) {
		StEntry *t = &f->entry[i];
		if (t->offset > have || t->bytes > have - t->offset)
			return rt_fail(e, RT_EIO, "`%s` ends early: tensor `%s` needs bytes up to %" PRIu64 " of the data, there are %" PRIu64,
				f->name, t->name, t->offset + t->bytes, have);
		if (t->offset != at)
			return rt_fail(e, RT_EIO, "`%s` is damaged: tensor `%s` %s", f->name, t->name,
				t->offset < at ? "shares bytes with another" : "follows bytes that belong to no tensor");
		at += t->bytes;
		t->offset += start;
	}
	if (at == have) return RT_OK;
	return rt_fail(e, RT_EIO, "`%s` goes on after its last tensor: %" PRIu64 " bytes of data, tensors end at %" PRIu64, f->name, have, at);
}

static int check_names(StFile *f, RtErr *e)
{
	if (f->nentry) qsort(f->entry, (size_t)f->nentry, sizeof *f->entry, by_name);
	if (f->nmeta) qsort(f->meta, (size_t)f->nmeta, sizeof *f->meta, by_key);
	for (int i = 1; i < f->nentry; i++)
		if (!strcmp(f->entry[i - 1].name, f->entry[i].name))
			return rt_fail(e, RT_EIO, "`%s` is damaged: tensor `%s` occurs twice", f->name, f->entry[i].name);
	for (int i = 1; i < f->nmeta; i++)
		if (!strcmp(f->meta[i - 1].key, f->meta[i].key))
			return rt_fail(e, RT_EIO, "`%s` is damaged: metadata `%s` occurs twice", f->name, f->meta[i].key);
	return RT_OK;
}

static void restore_types(StFile *f)
{
	for (int i = 0; i < f->nmeta; i++) {
		const char *key = f->meta[i].key;
		if (strncmp(key, DTYPE_KEY, sizeof DTYPE_KEY - 1)) continue;
		StEntry *t = (StEntry *)(uintptr_t)st_find(f, key + sizeof DTYPE_KEY - 1);
		int type = dtype_find(f->meta[i].value);
		if (t && t->dtype == DT_U8 && type >= 0 && dtype_is_f8((DType)type)) t->dtype = (DType)type;
	}
}

/* --- opening and reading ------------------------------------------------------------------------------------------ */

/* n bytes at `at`; the caller has checked that the file had them */
static int read_at(const StFile *f, uint64_t at, void *out, size_t n, RtErr *e)
{
	char *to = out;
	if (f->fd < 0) {
		if (n) memcpy(out, f->mem + at, n);
		return RT_OK;
	}
	while (n) {
		ssize_t r = pread(f->fd, to, n < 1 << 30 ? n : 1 << 30, (off_t)at);
		if (r < 0 && errno == EINTR) continue;
		if (r < 0) return rt_fail(e, RT_EIO, "cannot read `%s`: %s", f->name, strerror(errno));
		if (!r) return rt_fail(e, RT_EIO, "`%s` became shorter while it was read", f->name);
		to += r, at += (uint64_t)r, n -= (size_t)r;
	}
	return RT_OK;
}

static int load(StFile *f, RtErr *e)
{
	unsigned char b[8];
	uint64_t len = 0;
	int st;
	if (f->size < 8) return rt_fail(e, RT_EIO, "`%s` is not a safetensors file: it has %" PRIu64 " bytes", f->name, f->size);
	if ((st = read_at(f, 0, b, 8, e))) return st;
	for (int i = 7; i >= 0; i--) len = len << 8 | b[i];
	if (len > f->size - 8 || len > HEADER_MAX)
		return rt_fail(e, RT_EIO, "`%s` is not a safetensors file, or ends early: it claims a header of %" PRIu64 " bytes", f->name, len);
	f->header = rt_alloc(f->al, len + 1);
	f->strings = rt_alloc(f->al, len + 1);
	if (!f->header || !f->strings) return rt_fail(e, RT_ENOMEM, "out of memory while reading `%s`", f->name);
	if ((st = read_at(f, 8, f->header, len, e))) return st;
	Json j = { f->header, f->header, f->header + len, f, e };
	if ((st = scan_header(&j)) || (st = check_places(f, 8 + len, e)) || (st = check_names(f, e))) return st;
	restore_types(f);
	rt_free(f->al, f->header);
	f->header = NULL;
	return RT_OK;
}

static StFile *file_new(const char *name, const RtAlloc *al, RtErr *e)
{
	StFile *f = rt_alloc(al, sizeof *f);
	if (!f) return rt_fail(e, RT_ENOMEM, "out of memory while opening `%s`", name), NULL;
	f->al = al;
	f->fd = -1;
	reach_show(name, f->name, sizeof f->name);
	return f;
}

static int file_done(StFile *f, int st, StFile **out)
{
	if (st) st_close(f);
	else *out = f;
	return st;
}

/* takes over fd, whatever happens; only a regular file can be read here and there */
static int open_fd(int fd, const char *path, const RtAlloc *al, StFile **out, RtErr *e)
{
	struct stat info;
	StFile *f = file_new(path, al, e);
	if (!f) return close(fd), RT_ENOMEM;
	f->fd = fd;
	if (fstat(fd, &info))
		return file_done(f, rt_fail(e, RT_EIO, "cannot open `%s`: %s", path, strerror(errno)), out);
	if (!S_ISREG(info.st_mode))
		return file_done(f, rt_fail(e, RT_EIO, "cannot read `%s`: it is not a regular file", path), out);
	f->size = (uint64_t)info.st_size;
	return file_done(f, load(f, e), out);
}

/* A pipe that nobody writes to must not make it wait. */
int st_open(const RtPlace *p, const RtAlloc *al, StFile **out, RtErr *e)
{
	int fd = p->reach ? reach_open(p, al, e) : open(p->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return p->reach ? e->status
				: rt_fail(e, RT_EIO, "cannot open `%s`: %s", SHOWN(p->path), strerror(errno));
	return open_fd(fd, p->path, al, out, e);
}

static int begins_as_safetensors(int fd, const RtAlloc *al)
{
	StFile *f;
	int own = dup(fd);
	if (own < 0 || open_fd(own, "", al, &f, NULL)) return 0;
	st_close(f);
	return 1;
}

const RtFormat st_format = { "safetensors", (const char *const[]){ ".safetensors", ".st", NULL },
	begins_as_safetensors };

int st_memory(const void *p, size_t n, const char *name, const RtAlloc *al, StFile **out, RtErr *e)
{
	StFile *f = file_new(name, al, e);
	if (!f) return RT_ENOMEM;
	f->mem = p;
	f->size = n;
	return file_done(f, load(f, e), out);
}

void st_close(StFile *f)
{
	if (!f) return;
	if (f->fd >= 0) close(f->fd);
	rt_free(f->al, f->header);
	rt_free(f->al, f->strings);
	rt_free(f->al, f->entry);
	rt_free(f->al, f->meta);
	rt_free(f->al, f);
}

int st_count(const StFile *f) { return f->nentry; }
const StEntry *st_entry(const StFile *f, int i) { return i >= 0 && i < f->nentry ? &f->entry[i] : NULL; }
const StEntry *st_find(const StFile *f, const char *name)
{
	StEntry key = { .name = name };
	return f->nentry ? bsearch(&key, f->entry, (size_t)f->nentry, sizeof key, by_name) : NULL;
}

const char *st_meta(const StFile *f, const char *key)
{
	StMeta want = { key, NULL };
	const StMeta *m = f->nmeta ? bsearch(&want, f->meta, (size_t)f->nmeta, sizeof want, by_key) : NULL;
	return m ? m->value : NULL;
}

int st_read(const StFile *f, const StEntry *t, void *out, RtErr *e) { return read_at(f, t->offset, out, t->bytes, e); }

/* --- writing --------------------------------------------------------------------------------------------------------- */

/* Text is measured first and then written: the same calls with out NULL, then with room. */
typedef struct Text { char *out; size_t n; } Text;

static void add(Text *t, const char *s, size_t n)
{
	if (t->out) memcpy(t->out + t->n, s, n);
	t->n += n;
}

static void add_text(Text *t, const char *s)
{
	char u[8];
	for (; *s; s++)
		if (*s == '"' || *s == '\\') add(t, (char[]){ '\\', *s }, 2);
		else if ((unsigned char)*s < ' ') add(t, u, (size_t)snprintf(u, sizeof u, "\\u%04x", (unsigned)*s));
		else add(t, s, 1);
}

static void add_quoted(Text *t, const char *prefix, const char *s)
{
	add(t, "\"", 1);
	add_text(t, prefix);
	add_text(t, s);
	add(t, "\"", 1);
}

static const char *type_name(DType t)
{
	for (int i = 0; i < NTYPE; i++) if (types[i].t == t) return types[i].name;
	return "U8";                                          /* 8-bit floats; the metadata says which */
}

static void add_pair(Text *t, int *first, const char *prefix, const char *key, const char *value)
{
	if (!*first) add(t, ",", 1);
	*first = 0;
	add_quoted(t, prefix, key);
	add(t, ":", 1);
	add_quoted(t, "", value);
}

static void add_metadata(Text *t, const StItem *items, int n, const StMeta *meta, int nmeta)
{
	int first = 1;
	add_quoted(t, "", "__metadata__");
	add(t, ":{", 2);
	for (int i = 0; i < nmeta; i++) add_pair(t, &first, "", meta[i].key, meta[i].value);
	for (int i = 0; i < n; i++)
		if (dtype_is_f8(items[i].dtype)) add_pair(t, &first, DTYPE_KEY, items[i].name, dtype_info[items[i].dtype].name);
	add(t, "}", 1);
}

static void add_item(Text *t, const StItem *x, size_t at, size_t bytes)
{
	char num[64];
	add_quoted(t, "", x->name);
	add(t, ":{\"dtype\":", 10);
	add_quoted(t, "", type_name(x->dtype));
	add(t, ",\"shape\":[", 10);
	for (int i = 0; i < x->rank; i++) add(t, num, (size_t)snprintf(num, sizeof num, "%s%" PRId64, i ? "," : "", x->dim[i]));
	add(t, num, (size_t)snprintf(num, sizeof num, "],\"data_offsets\":[%zu,%zu]}", at, at + bytes));
}

static void make_header(Text *t, const StItem *items, int n, const StMeta *meta, int nmeta)
{
	size_t at = 0, nelem, bytes;
	int f8 = 0;
	for (int i = 0; i < n; i++) f8 |= dtype_is_f8(items[i].dtype);
	add(t, "{", 1);
	if (nmeta || f8) add_metadata(t, items, n, meta, nmeta);
	for (int i = 0; i < n; i++) {
		if (i || nmeta || f8) add(t, ",", 1);
		array_size(items[i].dtype, items[i].rank, items[i].dim, &nelem, &bytes);
		add_item(t, &items[i], at, bytes);
		at += bytes;
	}
	add(t, "}", 1);
	while (t->n % 8) add(t, " ", 1);
}

static int valid_text(const char *s)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + strlen(s);
	for (size_t n; p < end; p += n) if (!(n = utf8_length(p, end))) return 0;
	return 1;
}

static int item_order(const void *a, const void *b) { return strcmp(((const StItem *)a)->name, ((const StItem *)b)->name); }

static int check_items(const char *path, const StItem *items, int n, const StMeta *meta, int nmeta, RtErr *e)
{
	size_t nelem, bytes, all = 0;
	for (int i = 0; i < n; i++) {
		const StItem *x = &items[i];
		if (!valid_text(x->name) || !strcmp(x->name, "__metadata__") || (i && !strcmp(x[-1].name, x->name)))
			return rt_fail(e, RT_EINVAL, "cannot write `%s`: the tensor name `%s` is %s", path, x->name,
				valid_text(x->name) ? "taken" : "not UTF-8");
		if (x->rank < 0 || x->rank > MAX_RANK || !array_size(x->dtype, x->rank, x->dim, &nelem, &bytes) ||
		    __builtin_add_overflow(all, bytes, &all))
			return rt_fail(e, RT_EINVAL, "cannot write `%s`: tensor `%s` has a wrong shape", path, x->name);
	}
	for (int i = 0; i < nmeta; i++)
		if (!valid_text(meta[i].key) || !valid_text(meta[i].value) || (i && !strcmp(meta[i - 1].key, meta[i].key)) ||
		    !strncmp(meta[i].key, DTYPE_KEY, sizeof DTYPE_KEY - 1))
			return rt_fail(e, RT_EINVAL, "cannot write `%s`: metadata `%s` is taken or not UTF-8", path, meta[i].key);
	return RT_OK;
}

static int write_all(const RtPlace *p, const StItem *items, int n, const Text *t, const RtAlloc *al, RtErr *e)
{
	unsigned char len[8];
	size_t nelem, bytes;
	RtSink s;
	int st = sink_open(&s, p, &st_format, al, e);
	for (int i = 0; i < 8; i++) len[i] = (unsigned char)((uint64_t)t->n >> 8 * i);
	if (st || (st = sink_write(&s, len, 8, e)) || (st = sink_write(&s, t->out, t->n, e))) return st;
	for (int i = 0; i < n; i++) {
		array_size(items[i].dtype, items[i].rank, items[i].dim, &nelem, &bytes);
		if ((st = sink_write(&s, items[i].data, bytes, e))) return st;
	}
	return sink_commit(&s, e);
}

int st_write(const RtPlace *p, const StItem *items, int n, const StMeta *meta, int nmeta, const RtAlloc *al, RtErr *e)
{
	Text t = { NULL, 0 };
	StItem *sorted = rt_alloc(al, (size_t)n * sizeof *sorted);
	StMeta *keys = rt_alloc(al, (size_t)nmeta * sizeof *keys);
	int st = sorted && keys ? RT_OK : rt_fail(e, RT_ENOMEM, "out of memory while writing `%s`", p->path);
	if (!st) {
		if (n) memcpy(sorted, items, (size_t)n * sizeof *sorted), qsort(sorted, (size_t)n, sizeof *sorted, item_order);
		if (nmeta) memcpy(keys, meta, (size_t)nmeta * sizeof *keys), qsort(keys, (size_t)nmeta, sizeof *keys, by_key);
		st = check_items(p->path, sorted, n, keys, nmeta, e);
	}
	if (!st) {
		make_header(&t, sorted, n, keys, nmeta);
		if (!(t.out = rt_alloc(al, t.n)))
			st = rt_fail(e, RT_ENOMEM, "out of memory while writing `%s`", p->path);
	}
	if (!st) {
		t.n = 0;
		make_header(&t, sorted, n, keys, nmeta);
		st = write_all(p, sorted, n, &t, al, e);
	}
	rt_free(al, t.out);
	rt_free(al, sorted);
	rt_free(al, keys);
	return st;
}
