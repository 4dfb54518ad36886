/* npy.c — NumPy's array files.
 *
 * A file is "\x93NUMPY", two bytes of version, the header's length (2 bytes little-endian in version 1, 4
 * after), the header, and the data.  The header is the text of a Python dict with exactly the keys `descr`,
 * `fortran_order` and `shape`; a small scanner reads that dict and nothing else of Python. */
#include "runtime/formats/formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_MAX = 1 << 20 };                   /* far more than any honest header */

typedef struct Header { char descr[32]; int fortran, rank, seen; int64_t dim[MAX_RANK]; } Header;
enum { SEEN_DESCR = 1, SEEN_FORTRAN = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

/* --- the header's dict ------------------------------------------------------------------------------------ */

typedef struct Scan { const char *at, *end, *file; RtErr *e; } Scan;

static int bad(const Scan *s, const char *why)
{
	return rt_fail(s->e, RT_EIO, "`%s` is not a usable .npy file: its header %s", s->file, why);
}

static void blanks(Scan *s) { while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r')) s->at++; }

static int take(Scan *s, char c)
{
	blanks(s);
	if (s->at >= s->end || *s->at != c) return 0;
	s->at++;
	return 1;
}

static int take_word(Scan *s, const char *w)
{
	size_t n = strlen(w);
	blanks(s);
	if ((size_t)(s->end - s->at) < n || memcmp(s->at, w, n)) return 0;
	s->at += n;
	return 1;
}

static int take_string(Scan *s, char *out, size_t size)
{
	size_t n = 0;
	blanks(s);
	if (s->at >= s->end || (*s->at != '\'' && *s->at != '"')) return 0;
	char quote = *s->at++;
	while (s->at < s->end && *s->at != quote) {
		if (*s->at == '\\' || n + 1 >= size) return 0;
		out[n++] = *s->at++;
	}
	out[n] = 0;
	return take(s, quote);
}

/* Python 2 wrote long integers as 3L */
static int take_dim(Scan *s, int64_t *out)
{
	int64_t v = 0;
	const char *start;
	blanks(s);
	for (start = s->at; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s->at - '0', &v)) return 0;
	if (s->at == start) return 0;
	if (s->at < s->end && *s->at == 'L') s->at++;
	*out = v;
	return 1;
}

static int scan_shape(Scan *s, Header *h)
{
	if (!take(s, '(')) return bad(s, "has no tuple as `shape`");
	h->rank = 0;
	while (!take(s, ')')) {
		if (h->rank == MAX_RANK) return rt_fail(s->e, RT_EIO, "`%s` has more than %d dimensions, the most there can be", s->file, MAX_RANK);
		if (!take_dim(s, &h->dim[h->rank++])) return bad(s, "has a `shape` that is not a tuple of sizes");
		if (take(s, ',')) continue;
		if (h->rank == 1 || !take(s, ')')) return bad(s, "has a `shape` that does not end properly");
		break;
	}
	return RT_OK;
}

static int scan_item(Scan *s, Header *h)
{
	char key[32];
	int what;
	if (!take_string(s, key, sizeof key) || !take(s, ':')) return bad(s, "is not a dict of three keys");
	what = !strcmp(key, "descr") ? SEEN_DESCR : !strcmp(key, "fortran_order") ? SEEN_FORTRAN : !strcmp(key, "shape") ? SEEN_SHAPE : 0;
	if (!what || h->seen & what) return bad(s, what ? "has a key twice" : "has a key other than descr, fortran_order and shape");
	h->seen |= what;
	if (what == SEEN_SHAPE) return scan_shape(s, h);
	if (what == SEEN_DESCR) {
		if (take_string(s, h->descr, sizeof h->descr)) return RT_OK;
		return bad(s, "describes records rather than one element type; save one plain array");
	}
	h->fortran = take_word(s, "True");
	return h->fortran || take_word(s, "False") ? RT_OK : bad(s, "has a `fortran_order` that is neither True nor False");
}

static int scan_header(Scan *s, Header *h)
{
	if (!take(s, '{')) return bad(s, "is not a dict");
	while (!take(s, '}')) {
		int st = scan_item(s, h);
		if (st) return st;
		if (take(s, ',')) continue;
		if (!take(s, '}')) return bad(s, "is not a dict of three keys");
		break;
	}
	blanks(s);
	if (s->at != s->end) return bad(s, "goes on after its dict");
	return h->seen == SEEN_ALL ? RT_OK : bad(s, "lacks one of descr, fortran_order and shape");
}

/* --- element types ------------------------------------------------------------------------------------------- */

/* "<f4": order, kind, bytes */
static const struct { char kind, size; DType t; } kinds[] = {
	{ 'b', '1', DT_BOOL }, { 'i', '1', DT_I8 }, { 'i', '2', DT_I16 }, { 'i', '4', DT_I32 }, { 'i', '8', DT_I64 },
	{ 'u', '1', DT_U8 }, { 'u', '2', DT_U16 }, { 'u', '4', DT_U32 }, { 'u', '8', DT_U64 },
	{ 'f', '2', DT_F16 }, { 'f', '4', DT_F32 }, { 'f', '8', DT_F64 },
};

static int find_dtype(const Header *h, DType *t, int *swap)
{
	const char *d = h->descr;
	if (strlen(d) != 3 || !strchr("<>|=", d[0])) return 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (d[1] == kinds[i].kind && d[2] == kinds[i].size) {
			*t = kinds[i].t;
			*swap = d[0] == '>';
			return d[0] != '|' || d[2] == '1';
		}
	return 0;
}

int npy_bits(DType want, DType got)
{
	return want == got || (want == DT_BF16 && got == DT_U16) || (dtype_is_f8(want) && got == DT_U8);
}

static void swap_bytes(void *data, size_t n, size_t size)
{
	unsigned char *p = data;
	for (size_t i = 0; i < n; i++, p += size)
		for (size_t j = 0; j < size / 2; j++) {
			unsigned char c = p[j];
			p[j] = p[size - 1 - j];
			p[size - 1 - j] = c;
		}
}

/* anything but 0 is true; ours are 0 and 1 */
static void clean_bools(unsigned char *p, size_t n) { for (size_t i = 0; i < n; i++) p[i] = p[i] != 0; }

/* first index fastest → last index fastest */
static int from_fortran(RtArray *a, const RtAlloc *al)
{
	size_t size = dtype_size(a->dtype), step[MAX_RANK], at = 0;
	int64_t i[MAX_RANK] = { 0 };
	if (a->rank < 2 || !a->nelem) return RT_OK;
	char *to = rt_alloc(al, a->bytes);
	if (!to) return RT_ENOMEM;
	for (int k = 0; k < a->rank; k++) step[k] = k ? step[k - 1] * (size_t)a->dim[k - 1] : 1;
	for (size_t n = 0; n < a->nelem; n++) {
		memcpy(to + n * size, (char *)a->data + at * size, size);
		for (int k = a->rank - 1; k >= 0; k--) {
			at += step[k];
			if (++i[k] < a->dim[k]) break;
			at -= step[k] * (size_t)a->dim[k];
			i[k] = 0;
		}
	}
	rt_free(al, a->data);
	a->data = to;
	return RT_OK;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

static int read_header(RtSource *s, const RtAlloc *al, Header *h, size_t *size, RtErr *e)
{
	unsigned char pre[12];
	const char *name = source_name(s);
	size_t got, len;
	void *text;
	int st = source_read(s, pre, 10, &got, e);
	if (st) return st;
	if (got < 10 || memcmp(pre, "\x93NUMPY", 6))
		return rt_fail(e, RT_EIO, "`%s` is not a .npy file: it does not start with NumPy's mark", name);
	if (pre[6] < 1 || pre[6] > 3 || pre[7])
		return rt_fail(e, RT_EIO, "`%s` has .npy version %d.%d; versions 1.0 to 3.0 can be read", name, pre[6], pre[7]);
	len = pre[8] | (size_t)pre[9] << 8;
	if (pre[6] > 1) {
		if ((st = source_read(s, pre + 10, 2, &got, e))) return st;
		len |= (size_t)pre[10] << 16 | (size_t)pre[11] << 24;
	}
	if (len > HEADER_MAX) return rt_fail(e, RT_EIO, "`%s` is not a usable .npy file: its header claims %zu bytes", name, len);
	if ((st = source_block(s, len, 0, &text, &got, e))) return st;
	if (!text) return rt_fail(e, RT_EIO, "`%s` ends within its header: %zu of %zu bytes", name, got, len);
	*size = (pre[6] > 1 ? 12 : 10) + len;
	Scan scan = { text, (char *)text + len, name, e };
	st = scan_header(&scan, h);
	rt_free(al, text);
	return st;
}

/* all: the file holds this array, of which l has the beginning; wanted: nothing else may come of it */
static int read_data(RtSource *s, const RtAlloc *al, const RtArray *all, int wanted, NpyLayout *l, RtErr *e)
{
	RtArray *a = &l->array;
	int part = a->bytes != all->bytes,
	    first = part && l->fortran && a->rank > 1; /* the beginning is spread over all of the data */
	RtArray ends = *a;
	if (first) *a = *all;
	const char *name = source_name(s);
	size_t got;
	char more;
	int st = source_block(s, a->bytes, wanted, &a->data, &got, e);
	if (st) return st;
	if (!a->data) return rt_fail(e, RT_EIO, "`%s` ends early: its shape wants %zu bytes of data, it has %zu", name, a->bytes, got);
	if (part && !first) got = 0;
	else if ((st = source_read(s, &more, 1, &got, e))) return st;
	if (got) return rt_fail(e, RT_EIO, "`%s` goes on after the %zu bytes of data its shape wants", name, a->bytes);
	if (l->swapped) swap_bytes(a->data, a->nelem, dtype_size(a->dtype));
	if (a->dtype == DT_BOOL) clean_bools(a->data, a->nelem);
	if (l->fortran && from_fortran(a, al)) return rt_fail(e, RT_ENOMEM, "out of memory while reading `%s`", name);
	ends.data = a->data;
	*a = ends;
	return RT_OK;
}

int npy_layout(RtSource *s, const RtAlloc *al, NpyLayout *out, RtErr *e)
{
	Header h = { .rank = 0 };
	RtArray a = { 0 };
	*out = (NpyLayout){ .offset = 0 };
	int st = read_header(s, al, &h, &out->offset, e);
	if (st) return st;
	if (!find_dtype(&h, &a.dtype, &out->swapped))
		return rt_fail(e, RT_EIO, "`%s` has elements of type '%s'; bool, int8–int64, uint8–uint64 and float16–float64 can be read%s",
			source_name(s), h.descr, strchr(h.descr, 'c') ? "; complex numbers have no type here: save real and imaginary parts apart" : "");
	out->fortran = h.fortran;
	a.rank = h.rank;
	memcpy(a.dim, h.dim, sizeof a.dim);
	if (!array_size(a.dtype, a.rank, a.dim, &a.nelem, &a.bytes))
		return rt_fail(e, RT_EIO, "`%s` claims a shape too large for any memory", source_name(s));
	out->array = a;
	return RT_OK;
}

int npy_read_from(RtSource *s, const ArrayCheck *check, const RtAlloc *al, RtArray *out, RtErr *e)
{
	NpyLayout l;
	int st = npy_layout(s, al, &l, e);
	if (st) return st;
	RtArray all = l.array;
	if (check && (st = check->fits(check->arg, &l.array, e))) return st;
	st = read_data(s, al, &all, check != NULL, &l, e);
	if (st) array_free(al, &l.array);
	else *out = l.array;
	return st;
}

int npy_read(const char *path, const RtAlloc *al, RtArray *out, RtErr *e)
{
	RtSource *s;
	int st = source_open(BY_USER(path), al, &s, e);
	if (st) return st;
	st = npy_read_from(s, NULL, al, out, e);
	source_close(s);
	return st;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static const char *descr_of(DType t)
{
	static const char *const descr[DT_COUNT] = {
		[DT_BOOL] = "|b1", [DT_I8] = "|i1", [DT_I16] = "<i2", [DT_I32] = "<i4", [DT_I64] = "<i8",
		[DT_U8] = "|u1", [DT_U16] = "<u2", [DT_U32] = "<u4", [DT_U64] = "<u8",
		[DT_F8_143] = "|u1", [DT_F8_152] = "|u1", [DT_F16] = "<f2", [DT_BF16] = "<u2", [DT_F32] = "<f4", [DT_F64] = "<f8",
	};
	return descr[t];
}

/* A one-dimensional shape is written (n,), as Python has it; the whole header is a multiple of 64 bytes. */
static size_t make_header(char *out, size_t size, DType t, int rank, const int64_t *dim)
{
	size_t n = 10 + (size_t)snprintf(out + 10, size - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(t));
	for (int i = 0; i < rank; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%" PRId64 "%s", i ? ", " : "", dim[i], rank == 1 ? "," : "");
	n += (size_t)snprintf(out + n, size - n, "), }");
	while ((n + 1) % 64) out[n++] = ' ';
	out[n++] = '\n';
	memcpy(out, "\x93NUMPY\x01\x00", 8);
	out[8] = (char)((n - 10) & 255);
	out[9] = (char)((n - 10) >> 8);
	return n;
}

static int begins_as_npy(int fd, const RtAlloc *al)
{
	RtSource *s;
	NpyLayout l;
	int own = dup(fd), st = own < 0 ? RT_EIO : source_fd(own, "", al, &s, NULL);
	if (st) return 0;
	st = npy_layout(s, al, &l, NULL);
	source_close(s);
	return !st;
}

const RtFormat npy_format = { ".npy", (const char *const[]){ ".npy", NULL }, begins_as_npy };

int npy_write(const RtPlace *p, DType t, int rank, const int64_t *dim, const void *data, const RtAlloc *al, RtErr *e)
{
	char header[512];
	size_t nelem, bytes;
	RtSink s;
	int st;
	if (rank < 0 || rank > MAX_RANK || !array_size(t, rank, dim, &nelem, &bytes))
		return rt_fail(e, RT_EINVAL, "cannot write `%s`: the array's shape is wrong", p->path);
	if ((st = sink_open(&s, p, &npy_format, al, e))) return st;
	if ((st = sink_write(&s, header, make_header(header, sizeof header, t, rank, dim), e))) return st;
	if ((st = sink_write(&s, data, bytes, e))) return st;
	return sink_commit(&s, e);
}
