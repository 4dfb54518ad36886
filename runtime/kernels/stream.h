/* stream.h — results that no cache would hold till they are read go past it: memory is written without being read first, and what
 * is in cache stays there.  Included by vec.h.
 *
 * Such stores fill whole lines and are seen by other threads only behind a fence: a piece of work that made any ends with
 * stream_end.  The rest of a line before the first and behind the last whole one is stored as ever.
 *
 * It pays where little is computed between two stores: norms, which store straight from registers (STREAM),
 * gain a half, softmax and fused loops nothing or less. */

#if defined __x86_64__
#include <immintrin.h>
#if VEC_BYTES == 64
#define STREAM(to, from) _mm512_stream_si512((__m512i *)(to), _mm512_loadu_si512(from))
#elif VEC_BYTES == 32
#define STREAM(to, from) _mm256_stream_si256((__m256i *)(to), _mm256_loadu_si256((const __m256i *)(from)))
#else
#define STREAM(to, from) _mm_stream_si128((__m128i *)(to), _mm_loadu_si128((const __m128i *)(from)))
#endif

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
#define STREAM(to, from) memcpy(to, from, VEC_BYTES)
static void stream(void *dst, const void *src, long bytes) { memcpy(dst, src, (size_t)bytes); }
static void stream_end(void) { }
#endif
