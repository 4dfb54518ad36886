/* idx.c — the format of the MNIST files: two zero bytes, element type, number of dimensions, the
 * dimensions as 32-bit big-endian numbers, then the data, big-endian as well.  Plain or gzip. */
#include "runtime/formats/formats.h"

#include <string.h>

static int find_dtype(unsigned code, DType *t)
{
	switch (code) {
	case 0x08: *t = DT_U8; return 1;
	case 0x09: *t = DT_I8; return 1;
	case 0x0b: *t = DT_I16; return 1;
	case 0x0c: *t = DT_I32; return 1;
	case 0x0d: *t = DT_F32; return 1;
	case 0x0e: *t = DT_F64; return 1;
	}
	return 0;
}

static int read_header(RtSource *s, RtArray *a, RtErr *e)
{
	unsigned char h[4], d[4 * MAX_RANK];
	const char *name = source_name(s);
	size_t got;
	int st = source_read(s, h, 4, &got, e);
	if (st) return st;
	if (got < 4 || h[0] || h[1] || !find_dtype(h[2], &a->dtype))
		return rt_fail(e, RT_EIO, "`%s` is not an IDX file: %s", name,
			got < 4 ? "it is shorter than 4 bytes" : "it starts with neither 00 00 nor a known element type");
	if (h[3] > MAX_RANK) return rt_fail(e, RT_EIO, "`%s` has %d dimensions; %d is the most there can be", name, h[3], MAX_RANK);
	a->rank = h[3];
	if ((st = source_read(s, d, 4 * (size_t)a->rank, &got, e))) return st;
	if (got < 4 * (size_t)a->rank) return rt_fail(e, RT_EIO, "`%s` ends within its header", name);
	for (int i = 0; i < a->rank; i++)
		a->dim[i] = (int64_t)((uint32_t)d[4 * i] << 24 | (uint32_t)d[4 * i + 1] << 16 | (uint32_t)d[4 * i + 2] << 8 | d[4 * i + 3]);
	if (array_size(a->dtype, a->rank, a->dim, &a->nelem, &a->bytes)) return RT_OK;
	return rt_fail(e, RT_EIO, "`%s` claims a shape too large for any memory", name);
}

static void from_big_endian(RtArray *a)
{
	size_t size = dtype_size(a->dtype);
	unsigned char *p = a->data, b[8];
	for (size_t i = 0; size > 1 && i < a->nelem; i++, p += size) {
		memcpy(b, p, size);
		for (size_t j = 0; j < size; j++) p[j] = b[size - 1 - j];
	}
}

int idx_read_from(RtSource *s, const ArrayCheck *check, const RtAlloc *al, RtArray *out, RtErr *e)
{
	RtArray a = { 0 };
	const char *name = source_name(s);
	size_t got;
	char more;
	int st = read_header(s, &a, e);
	if (!st && check) st = check->fits(check->arg, &a, e);
	if (st || (st = source_block(s, a.bytes, 0, &a.data, &got, e))) return st;
	if (!a.data)
		return rt_fail(e, RT_EIO, "`%s` ends early: its header promises %zu bytes of data, it has %zu; fetch the file again", name, a.bytes, got);
	if (!(st = source_read(s, &more, 1, &got, e)) && got)
		st = rt_fail(e, RT_EIO, "`%s` goes on after the %zu bytes of data its header promises", name, a.bytes);
	if (st) return array_free(al, &a), st;
	from_big_endian(&a);
	*out = a;
	return RT_OK;
}

int idx_read(const char *path, const ArrayCheck *check, const RtAlloc *al, RtArray *out, RtErr *e)
{
	RtSource *s;
	int st = source_open(BY_USER(path), al, &s, e);
	if (st) return st;
	st = idx_read_from(s, check, al, out, e);
	source_close(s);
	return st;
}
