/* stream.c — bytes past the caches (stream.h).  The parts of a line before the first and behind the last whole one are stored
 * as usual. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/stream.h"

#if defined __x86_64__
static void stream(void *dst, const void *src, long bytes)
{
	char *to = dst;
	const char *from = src;
	long head = min_l(bytes, -(intptr_t)to & (CACHE_LINE - 1));
	memcpy(to, from, (size_t)head);
	for (to += head, from += head, bytes -= head; bytes >= CACHE_LINE; to += CACHE_LINE, from += CACHE_LINE, bytes -= CACHE_LINE)
		for (long i = 0; i < CACHE_LINE; i += VEC_BYTES) STREAM((void *)(to + i), (const void *)(from + i));
	memcpy(to, from, (size_t)bytes);
}

static void stream_end(void) { _mm_sfence(); }
#else
static void stream(void *dst, const void *src, long bytes) { memcpy(dst, src, (size_t)bytes); }
static void stream_end(void) { }
#endif

const StreamIsa VEC(stream) = { stream, stream_end };
