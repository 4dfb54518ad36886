/* half_vec.h — f16 by the processor's own conversions, where the instruction set has them: the bits of half.h, NaNs included,
 * in a tenth of the instructions.  The last elements of a row go through half.h itself. */
#define HAS_HALVES (VEC_BYTES >= 32)
#if VEC_BYTES >= 32
#if VEC_BYTES == 64
typedef __m512 Floats;
#define HALF_LOAD(p)     _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define HALF_STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtps_ph((v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#define HALF_ROUND(v)    _mm512_cvtph_ps(_mm512_cvtps_ph((v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#define FLOATS(p)        _mm512_loadu_ps(p)
#define PUT_FLOATS(p, v) _mm512_storeu_ps((p), (v))
#else
typedef __m256 Floats;
#define HALF_LOAD(p)     _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define HALF_STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm256_cvtps_ph((v), _MM_FROUND_TO_NEAREST_INT))
#define HALF_ROUND(v)    _mm256_cvtph_ps(_mm256_cvtps_ph((v), _MM_FROUND_TO_NEAREST_INT))
#define FLOATS(p)        _mm256_loadu_ps(p)
#define PUT_FLOATS(p, v) _mm256_storeu_ps((p), (v))
#endif
enum { HALVES = VEC_BYTES / 4 };
#endif
