/* idx.c — any bytes as an IDX file, plain or gzip. */
#include "tests/fuzz/fuzz.h"

static void one(const uint8_t *data, size_t size, const RtAlloc *al)
{
	RtSource *s;
	RtErr e = { 0 };
	RtArray a = { 0 };
	int st = source_memory(data, size, "input-idx", al, &s, &e);
	if (st) { check_error(st, &e); return; }
	if ((st = idx_read_from(s, NULL, al, &a, &e))) {
		check_error(st, &e);
		MUST(!a.data);
	} else {
		size_t nelem, bytes;
		MUST(array_size(a.dtype, a.rank, a.dim, &nelem, &bytes) && nelem == a.nelem && bytes == a.bytes);
		MUST(touch(a.data, a.bytes) + 1 > 0 || a.bytes);
		array_free(al, &a);
	}
	source_close(s);
}

FUZZ_READER(one)
