/* npy.c — any bytes as a .npy file: an array that holds what its shape says, or an error with a text. */
#include "tests/fuzz/fuzz.h"

static void one(const uint8_t *data, size_t size, const RtAlloc *al)
{
	RtSource *s;
	RtErr e = { 0 };
	RtArray a = { 0 };
	int st = source_memory(data, size, "input.npy", al, &s, &e);
	if (st) { check_error(st, &e); return; }
	if ((st = npy_read_from(s, NULL, al, &a, &e))) {
		check_error(st, &e);
		MUST(!a.data);
	} else {
		size_t nelem, bytes;
		MUST(array_size(a.dtype, a.rank, a.dim, &nelem, &bytes) && nelem == a.nelem && bytes == a.bytes);
		for (size_t i = 0; a.dtype == DT_BOOL && i < bytes; i++) MUST(((unsigned char *)a.data)[i] <= 1);
		MUST(touch(a.data, a.bytes) + 1 > 0 || a.bytes);
		array_free(al, &a);
	}
	source_close(s);
}

FUZZ_READER(one)
