/* half_vec.h — halves by the processor's own conversions, where the instruction set of this vec_*.c has them: the bits of half.h, NaNs
 * included, in a tenth of the instructions.  The last elements of a row go through half.h itself. */
#if VEC_BYTES >= 32
#include <immintrin.h>

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

static void ld_half(void *block, const void *src, long stride, long n)
{
	float *y = block;
	const uint16_t *x = src;
	long i = 0;
	for (; stride == 1 && i + HALVES <= n; i += HALVES) PUT_FLOATS(y + i, HALF_LOAD(x + i));
	ld_F16(y + i, x + i * stride, stride, n - i);
}

static void st_half(void *dst, long stride, const void *block, long n)
{
	uint16_t *y = dst;
	const float *x = block;
	long i = 0;
	for (; stride == 1 && i + HALVES <= n; i += HALVES) HALF_STORE(y + i, FLOATS(x + i));
	st_F16(y + i * stride, stride, x + i, n - i);
}

static void round_half(void *dst, const void *src, long n)
{
	float *y = dst;
	const float *x = src;
	long i = 0;
	for (; i + HALVES <= n; i += HALVES) PUT_FLOATS(y + i, HALF_ROUND(FLOATS(x + i)));
	cvt_F32_F16(y + i, x + i, n - i);
}

static void norm_half(void *block, long n) { round_half(block, block, n); }

/* sums, element i + j by lane j as in vec.h: what is left over goes through there, added to what came before it */
static void sum_half(Acc *out, const void *src, long n)
{
	const uint16_t *x = src;
	float lane[LANES] = { 0 };
	Floats sum[LANES / HALVES] = { { 0 } };
	long i = 0;
	for (; i + LANES <= n; i += LANES)
		for (int v = 0; v < LANES / HALVES; v++) sum[v] += HALF_LOAD(x + i + v * HALVES);
	memcpy(lane, sum, sizeof lane);
	for (int j = 0; i + j < n; j++) lane[j] += half_load(x[i + j]);
	TREE({ lane[j] += lane[j + w]; })
	out->f = (double)lane[0];
}

static void add_rows_half(float *y, const void *rows, long stride, long n)
{
	const uint16_t *x = rows;
	long i = 0;
	for (; i + HALVES <= n; i += HALVES) {
		Floats p = FLOATS(y + i);
		for (long k = 0; k < BUNDLE; k++) p += HALF_LOAD(x + k * stride + i);
		PUT_FLOATS(y + i, p);
	}
	half_add_rows_F16(y + i, x + i, stride, n - i);
}

/* the table takes these instead; norm_F16 is not needed then */
static inline void half_unused(void) { (void)norm_F16, (void)half_sum_F16; }
#define ld_F16      ld_half
#define st_F16      st_half
#define norm_F16    norm_half
#define cvt_F32_F16 round_half
#define half_sum_F16 sum_half
#define half_add_rows_F16 add_rows_half
#endif
