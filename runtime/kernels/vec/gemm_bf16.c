/* gemm_bf16.c — the inner loops of products whose operands are rounded to bf16; compiled once more with BF16_NATIVE for
 * processors that multiply bf16 (vdpbf16ps).
 *
 * What that instruction does is what all of them do: two neighbours along k are a step, of which the odd one is multiplied and
 * added first, then the even one, each rounding once, to nearest even, with denormals as zeros before and after.  A product
 * of two bf16 is exact in f32, so two multiply-adds under the processor's flush-to-zero mode (gemm_bf16.c) give the same bits.
 * Operands are packed in panels, [panel][step][width]: a step is one place, a pair with k in its low half, or else two, numbers
 * as f32; zeros where k ends. */

#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/vector_f32.h"

#ifdef BF16_NATIVE
#define B(name) bf16_native_##name
#define BF16_PLACES 1
#define BF16_WIDE 16                    /* panels of a */
#define BF16_SPLAT(p) ((gvec_f32)_mm512_set1_epi32(*(const int32_t *)(const void *)(p)))
#define BF16_STEP(x, y, acc) ((gvec_f32)_mm512_dpbf16_ps((__m512)(acc), (__m512bh)(x), (__m512bh)(y)))
#else
#define B(name) bf16_##name
#define BF16_PLACES 2
#define BF16_WIDE TILE_ROWS
#define BF16_SPLAT(p) (*(p) - (gvec_f32){ 0 })
#if VEC_BYTES == 64
#define BF16_STEP(x, y, acc) ((gvec_f32)_mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(acc)))
#elif VEC_BYTES == 32
#define BF16_STEP(x, y, acc) ((gvec_f32)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(acc)))
#else
#define BF16_STEP(x, y, acc) ((x) * (y) + (acc))
#endif
#endif
#define BF16_THIN (2 * TILE_VECS)         /* vectors of a tile of few rows */
#define BF16_LANES ((long)(VEC_BYTES / sizeof(float)))
#define BF16_COLS (TILE_VECS * BF16_LANES)

/* --- the register tile ---------------------------------------------------------------------------------------------- */

/* the first n elements; never a fused multiply-add, which some processors lack */
VM void B(put)(float *p, gvec_f32 v, long n, float alpha, float beta)
{
	v *= alpha;
	if (n >= BF16_LANES) {
		*(gvec_unaligned_f32 *)p = beta == 0 ? v : v + *(gvec_unaligned_f32 *)p * beta;
		return;
	}
	_Alignas(64) float x[VEC_BYTES / sizeof(float)];
	*(gvec_f32 *)x = v;
	for (long i = 0; i < n; i++) p[i] = beta == 0 ? x[i] : x[i] + p[i] * beta;
}

#ifdef BF16_NATIVE
/* pairs of 16 columns of two rows */
VM __m512i bf16_zip(__m512 even, __m512 odd)
{
	static const uint16_t order[32] __attribute__((aligned(64))) = { 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31 };
	return _mm512_permutexvar_epi16(*(const __m512i *)(const void *)order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}
#endif

/* a step of b: a vector of a panel, or of two rows of `left` columns where they stand, of which no more is read */
VM gvec_f32 B(row)(const int direct, const float *b, long ldb, long left)
{
#ifdef BF16_NATIVE
	if (direct) {
		__mmask16 k = (__mmask16)(left >= 16 ? 0xffff : (1 << left) - 1);
		return (gvec_f32)bf16_zip(_mm512_maskz_loadu_ps(k, b), _mm512_maskz_loadu_ps(k, b + ldb));
	}
#endif
	(void)direct, (void)ldb, (void)left;
	return *(const gvec_unaligned_f32 *)b;
}

/* c[m, n] of a tile of M rows and NV vectors; b packed, or (DIRECT) rows of f32.  Inlined with constant M, NV, DIRECT. */
VM void B(tile)(const int M, const int NV, const int DIRECT, long steps, const float *a, const float *b, long ldb, float *c, long ldc,
                long m, long n, float alpha, float beta)
{
	gvec_f32 acc[TILE_ROWS][BF16_THIN];
	const long step = DIRECT ? 2 * ldb : BF16_PLACES * BF16_COLS;
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (gvec_f32){ 0 };
	if (beta != 0)
		UNROLL for (int i = 0; i < M; i++)
			UNROLL for (int j = 0; j < NV; j++) __builtin_prefetch(c + i * ldc + (NV + j) * BF16_LANES, 1);
	for (long k = 0; k < steps; k++, a += BF16_PLACES * BF16_WIDE, b += step)
		UNROLL for (int at = BF16_PLACES - 1; at >= 0; at--) {
			gvec_f32 row[BF16_THIN];
			UNROLL for (int j = 0; j < NV; j++) row[j] = B(row)(DIRECT, b + at * BF16_COLS + j * BF16_LANES, ldb, j + 1 < NV ? BF16_LANES : n - j * BF16_LANES);
			UNROLL for (int i = 0; i < M; i++) {
				gvec_f32 x = BF16_SPLAT(a + at * BF16_WIDE + i);
				UNROLL for (int j = 0; j < NV; j++) acc[i][j] = BF16_STEP(x, row[j], acc[i][j]);
			}
		}
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int j = 0; j < NV; j++)
			if (i < m) B(put)(c + i * ldc + j * BF16_LANES, acc[i][j], n - j * BF16_LANES, alpha, beta);
}

#define BF16_TILE(M, NV, DIRECT) B(tile)(M, NV, DIRECT, steps, a, b, ldb, c, ldc, m, n, alpha, beta)
#define BF16_TILES(M, DIRECT) do { \
	if (n > 2 * BF16_LANES && TILE_VECS > 2) BF16_TILE(M, TILE_VECS, DIRECT); \
	else if (n > BF16_LANES) BF16_TILE(M, 2, DIRECT); \
	else BF16_TILE(M, 1, DIRECT); \
} while (0)

static void B(packed)(long steps, const float *a, const float *b, float *c, long ldc, long m, long n, float alpha, float beta)
{
	const long ldb = 0;
	BF16_TILES(TILE_ROWS, 0);
}

/* as in gemm.h: a panel of b stays in the first cache while all rows pass by it, or if k is short rows are finished one after the other */
static void B(block)(long kn, const void *pa, const void *pb, float *c, long ldc, long m, long n, double alpha, double beta)
{
	const float *a = pa, *b = pb;
	long steps = (kn + 1) / 2, places = steps * BF16_PLACES;
	int by_rows = kn < 96;
	for (long i = 0, j = 0; i < m && j < n;) {
		B(packed)(steps, a + i / BF16_WIDE * BF16_WIDE * places + i % BF16_WIDE, b + j * places, c + i * ldc + j, ldc, m - i, n - j, (float)alpha, (float)beta);
		if (by_rows && (j += BF16_COLS) >= n) j = 0, i += TILE_ROWS;
		if (!by_rows && (i += TILE_ROWS) >= m) i = 0, j += BF16_COLS;
	}
}

/* --- packing --------------------------------------------------------------------------------------------------------- */
#ifdef BF16_NATIVE

VM __mmask32 bf16_first(long n) { return n >= 32 ? 0xffffffffu : n > 0 ? (1u << n) - 1 : 0; }

/* pairs of 16 columns of two rows, the second one perhaps not there */
VM __m512i bf16_columns(const void *src, const int half, long even, long odd, long n)
{
	__mmask16 k = (__mmask16)bf16_first(min_l(n, 16)), k2 = odd < 0 ? 0 : k;
	if (!half) return bf16_zip(_mm512_maskz_loadu_ps(k, (const float *)src + even), _mm512_maskz_loadu_ps(k2, (const float *)src + odd));
	__m512i x = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(k, (const uint16_t *)src + even));
	__m512i y = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(k2, (const uint16_t *)src + odd));
	return _mm512_or_si512(x, _mm512_slli_epi32(y, 16));
}

/* a panel of W whole columns of f32; rows lie far apart, so each is called for in time */
VM void bf16_panel(const int W, float *dst, const float *src, long sk, long kn)
{
	for (long k = 0; k < kn; k += 2, src += 2 * sk, dst += W)
		UNROLL for (int w = 0; w < W; w += 16) {
			__builtin_prefetch(src + 16 * sk + w);
			__builtin_prefetch(src + 17 * sk + w);
			__m512 odd = k + 1 < kn ? _mm512_loadu_ps(src + sk + w) : _mm512_setzero_ps();
			_mm512_storeu_si512(dst + w, bf16_zip(_mm512_loadu_ps(src + w), odd));
		}
}

static void bf16_native_columns(float *dst, const void *src, int half, int width, long sk, long wn, long kn)
{
	long at = 0, size = (kn + 1) / 2 * width;
	for (; !half && width == BF16_COLS && at + width <= wn; at += width, dst += size) bf16_panel(BF16_COLS, dst, (const float *)src + at, sk, kn);
	for (; !half && width == BF16_WIDE && at + width <= wn; at += width, dst += size) bf16_panel(BF16_WIDE, dst, (const float *)src + at, sk, kn);
	for (; at < wn; at += width)
		for (long k = 0; k < kn; k += 2, dst += width)
			for (long w = 0; w < width; w += 16)
				_mm512_storeu_si512(dst + w, bf16_columns(src, half, k * sk + at + w, k + 1 < kn ? (k + 1) * sk + at + w : -1, wn - at - w));
}

/* 16 pairs along k */
VM __m512i bf16_line(const void *src, int half, long at, long n)
{
	if (half) return _mm512_maskz_loadu_epi16(bf16_first(n), (const uint16_t *)src + at);
	const float *p = (const float *)src + at;
	return (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps((__mmask16)bf16_first(max_l(n - 16, 0)), p + 16), _mm512_maskz_loadu_ps((__mmask16)bf16_first(min_l(n, 16)), p));
}

/* a square of 16 rows and pairs, whole or not, turned over */
VM void bf16_square(const int whole, float *dst, const void *src, int half, int width, long sw, long rows, long k)
{
	gvec_f32 x[16];
	UNROLL for (int v = 0; v < 16; v++) {
		if (!whole) x[v] = v < rows ? (gvec_f32)bf16_line(src, half, v * sw, k) : (gvec_f32){ 0 };
		else if (half) x[v] = (gvec_f32)_mm512_loadu_si512((const uint16_t *)src + v * sw);
		else x[v] = (gvec_f32)_mm512_cvtne2ps_pbh(_mm512_loadu_ps((const float *)src + v * sw + 16), _mm512_loadu_ps((const float *)src + v * sw));
	}
	turn_f32(x);
	UNROLL for (int v = 0; v < 16; v++)
		if (whole || v < (k + 1) / 2) *(gvec_unaligned_f32 *)(dst + v * width) = x[v];
}

static void bf16_native_lines(float *dst, const void *src, int half, int width, long sw, long wn, long kn)
{
	for (long at = 0; at < wn; at += width, dst += (kn + 1) / 2 * width)
		for (long w = 0; w < width; w += 16)
			for (long k = 0; k < kn; k += 32) {
				long from = (at + w) * sw + k, rows = wn - at - w;
				const void *s = half ? (const void *)((const uint16_t *)src + from) : (const void *)((const float *)src + from);
				float *d = dst + k / 2 * width + w;
				if (rows >= 16 && kn - k >= 32) bf16_square(1, d, s, half, width, sw, rows, 32);
				else bf16_square(0, d, s, half, width, sw, rows, min_l(32, kn - k));
			}
}

static void bf16_native_pack(void *dst, const void *src, int half, int width, long sw, long sk, long wn, long kn)
{
	if (sw == 1) bf16_native_columns(dst, src, half, width, sk, wn, kn);
	else bf16_native_lines(dst, src, half, width, sw, wn, kn);
}

/* a few rows against a row-major b where it stands: rounded on its way to the registers.  k is even. */
static void bf16_native_direct(long kn, const void *pa, const float *pb, long ldb, float *pc, long ldc, long rows, long cols, double al, double be)
{
	const float alpha = (float)al, beta = (float)be;
	const long steps = kn / 2, wide = BF16_THIN * BF16_LANES;
	for (long j = 0, step; j < cols; j += step)
		for (long i = step = 0; i < rows; i += TILE_ROWS) {
			const float *a = (const float *)pa + i / BF16_WIDE * BF16_WIDE * steps + i % BF16_WIDE, *b = pb + j;
			float *c = pc + i * ldc + j;
			long m = rows - i, n = cols - j;
			step = rows <= 4 && n >= wide ? wide : BF16_COLS;
			if (rows == 1 && step == wide) BF16_TILE(1, BF16_THIN, 1);
			else if (step == wide) BF16_TILE(4, BF16_THIN, 1);
			else if (m <= 4) BF16_TILES(4, 1);
			else BF16_TILES(8, 1);
		}
}
#define BF16_DIRECT bf16_native_direct

#else

/* to bf16 and back, denormals to zero */
VM float bf16_rounded(float x)
{
	uint32_t u = bits_f32(x), zero = u & 0x80000000u, r = (uint32_t)brain_store(x) << 16;
	return f32_bits((u & 0x7fffffffu) < 0x800000u ? zero : r);
}

/* panels of f32, whose numbers are then rounded */
static void bf16_pack(void *dst, const void *src, int half, int width, long sw, long sk, long wn, long kn)
{
	float *d = dst;
	for (long at = 0, places = (kn + 1) / 2 * 2; at < wn; at += width, d += places * width) {
		const void *from = (const char *)src + at * sw * (half ? 2 : 4);
		(half ? VEC(gemm_f32).pack_bf16 : VEC(gemm_f32).pack)(d, from, width, sw, sk, min_l(width, wn - at), kn);
		if (kn % 2) memset(d + kn * width, 0, (size_t)width * sizeof(float));
		EACH(kn * width) d[i] = bf16_rounded(d[i]);
	}
}
#define BF16_DIRECT NULL
#endif

const GemmBf16 JOIN(gemm_bf16, BF16_SET) = { .wide = BF16_WIDE, .cols = BF16_COLS, .pack = B(pack), .block = B(block), .direct = BF16_DIRECT };
