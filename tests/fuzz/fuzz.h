/* fuzz.h — what the fuzz targets of file readers share: an allocator that counts, is not endless, and can fail. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "runtime/formats/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond) do { if (!(cond)) __builtin_trap(); } while (0)

typedef struct Memory { long live, calls, fail_at; } Memory;

static void *fuzz_alloc(void *user, void *old, size_t n)
{
	Memory *m = user;
	if (!n) { m->live--; free(old); return NULL; }
	if (++m->calls == m->fail_at || n > (size_t)64 << 20) return NULL;
	m->live++;
	return malloc(n);
}

/* an error has a text and one of the statuses a reader may return */
static inline void check_error(int st, const RtErr *e)
{
	MUST(st == RT_EIO || st == RT_ENOMEM);
	MUST(e->status == st && *e->text && memchr(e->text, 0, sizeof e->text));
}

static inline unsigned touch(const void *p, size_t n)
{
	unsigned sum = 0;
	for (size_t i = 0; i < n; i++) sum += ((const unsigned char *)p)[i];
	return sum;
}

/* the same bytes with enough memory, then with one allocation failing */
#define FUZZ_READER(one) \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) \
	{ \
		for (long fail = 0; fail <= 1; fail++) { \
			Memory m = { 0, 0, fail ? 1 + (long)(size % 7) : 0 }; \
			RtAlloc al = { fuzz_alloc, &m }; \
			one(data, size, &al); \
			MUST(m.live == 0); \
		} \
		return 0; \
	}

#endif
