/* stream.h — a store of one vector that goes past the caches: memory is written without being read first, and what is in
 * cache stays there.
 *
 * Such stores fill whole lines.  Other threads see them only behind a fence: a piece of work that made any ends with
 * StreamIsa's `end`.
 *
 * It pays where little is computed between two stores: norms, which store straight from registers, gain a half; softmax and
 * fused loops gain nothing or less. */
#ifndef KERNELS_STREAM_H
#define KERNELS_STREAM_H

#if defined __x86_64__
#if VEC_BYTES == 64
#define STREAM(to, from) _mm512_stream_si512((__m512i *)(to), _mm512_loadu_si512(from))
#elif VEC_BYTES == 32
#define STREAM(to, from) _mm256_stream_si256((__m256i *)(to), _mm256_loadu_si256((const __m256i *)(from)))
#else
#define STREAM(to, from) _mm_stream_si128((__m128i *)(to), _mm_loadu_si128((const __m128i *)(from)))
#endif
#else
#define STREAM(to, from) memcpy(to, from, VEC_BYTES)
#endif

#endif
