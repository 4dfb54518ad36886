/* gemm.h — the inner loops of matrix products, for one instruction set and both element types: includes
 * itself for f32 and f64 (GT, GS).  provider.h tells how they are put together.
 *
 * Every element of the result is one chain of multiply-adds over k in order (dot products: `lanes` chains
 * added in one order), so neither the tile an element falls in nor the number of threads shows in it. */
#ifndef GT

#if VEC_BYTES >= 32
#include <immintrin.h>
#endif
#include "runtime/kernels/provider.h"

#define UNROLL _Pragma("GCC unroll 32")
#define GT float
#define GS f32
#define GI int32_t
#if VEC_BYTES == 64
#define GFMA(a, b, c) ((VT)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif VEC_BYTES == 32
#define GFMA(a, b, c) ((VT)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define GFMA(a, b, c) ((a) * (b) + (c))
#endif
#include "runtime/kernels/gemm.h"
#undef GT
#undef GS
#undef GI
#undef GFMA
#define GT double
#define GS f64
#define GI int64_t
#if VEC_BYTES == 64
#define GFMA(a, b, c) ((VT)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif VEC_BYTES == 32
#define GFMA(a, b, c) ((VT)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define GFMA(a, b, c) ((a) * (b) + (c))
#endif
#include "runtime/kernels/gemm.h"

#else

#define GCAT2(a, b) a##_##b
#define GCAT(a, b) GCAT2(a, b)
#define G(name) GCAT(name, GS)
#define VT G(gvec)
#define VU G(gvec_unaligned)
#define VL ((int)(VEC_BYTES / sizeof(GT)))

typedef GT VT __attribute__((vector_size(VEC_BYTES)));
typedef GT VU __attribute__((vector_size(VEC_BYTES), aligned(sizeof(GT)), may_alias));
typedef GI G(gmask) __attribute__((vector_size(VEC_BYTES)));

/* the register tile: 24 accumulators of 32 registers, or 12 of 16 */
#ifndef TILE_SHAPE
#define TILE_SHAPE
enum { TILE_ROWS = VEC_BYTES == 64 ? 8 : 4, TILE_VECS = VEC_BYTES == 64 ? 3 : VEC_BYTES == 32 ? 3 : 2 };
#endif

/* c[M, NV·VL] = alpha Σ_k a[i, k] b[k, j] + beta c; element (i, k) of a is at i·ai + k·ak.  Inlined with constant M, NV. */
VM void G(tile)(const int M, const int NV, long kn, const GT *a, long ai, long ak, const GT *b, long ldb,
                GT *c, long ldc, GT alpha, GT beta)
{
	VT acc[TILE_ROWS][8];
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (VT){ 0 };
	for (long k = 0; k < kn; k++, a += ak, b += ldb) {
		VT row[8];
		UNROLL for (int j = 0; j < NV; j++) row[j] = *(const VU *)(b + j * VL);
		UNROLL for (int i = 0; i < M; i++) {
			VT x = a[i * ai] - (VT){ 0 };
			UNROLL for (int j = 0; j < NV; j++) acc[i][j] = GFMA(x, row[j], acc[i][j]);
		}
	}
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int j = 0; j < NV; j++) {
			VU *p = (VU *)(c + i * ldc + j * VL);
			VT v = acc[i][j] * alpha;
			*p = beta == 0 ? v : v + *p * beta;
		}
}

/* --- packed operands: a as [k][TILE_ROWS], b as [k][TILE_VECS·VL] ------------------------------------------- */

VM void G(packed)(const int NV, long kn, const GT *a, const GT *b, GT *c, long ldc, GT alpha, GT beta)
{
	G(tile)(TILE_ROWS, NV, kn, a, 1, TILE_ROWS, b, TILE_VECS * VL, c, ldc, alpha, beta);
}

static void G(packed_vecs)(int nv, long kn, const GT *a, const GT *b, GT *c, long ldc, GT alpha, GT beta)
{
	if (nv == 1) G(packed)(1, kn, a, b, c, ldc, alpha, beta);
	else if (nv == 2) G(packed)(2, kn, a, b, c, ldc, alpha, beta);
	else G(packed)(TILE_VECS, kn, a, b, c, ldc, alpha, beta);
}

/* a tile that sticks out of c is made in a buffer */
static void G(packed_edge)(int nv, long kn, const GT *a, const GT *b, GT *c, long ldc, long m, long n, GT alpha, GT beta)
{
	_Alignas(64) GT buf[TILE_ROWS * TILE_VECS * (VEC_BYTES / sizeof(GT))];
	G(packed_vecs)(nv, kn, a, b, buf, TILE_VECS * VL, alpha, 0);
	for (long i = 0; i < m; i++)
		for (long j = 0; j < n; j++) {
			GT v = buf[i * TILE_VECS * VL + j];
			c[i * ldc + j] = beta == 0 ? v : v + c[i * ldc + j] * beta;
		}
}

static void G(block)(long kn, const void *pa, const void *pb, void *pc, long ldc, long m, long n, double alpha, double beta)
{
	const GT *a = pa, *b = pb;
	GT *c = pc;
	for (long i = 0; i < m; i += TILE_ROWS)
		for (long j = 0; j < n; j += TILE_VECS * VL) {
			long mm = min_l(TILE_ROWS, m - i), nn = min_l(TILE_VECS * VL, n - j);
			int nv = (int)((nn + VL - 1) / VL);
			if (mm == TILE_ROWS && nn % VL == 0) G(packed_vecs)(nv, kn, a + i * kn, b + j * kn, c + i * ldc + j, ldc, (GT)alpha, (GT)beta);
			else G(packed_edge)(nv, kn, a + i * kn, b + j * kn, c + i * ldc + j, ldc, mm, nn, (GT)alpha, (GT)beta);
		}
}

/* panels of `width` rows (w) over k, zeros where the operand ends: dst[panel][k][w] = src[w·sw + k·sk] */
#define PACK(name, S, get) \
static void G(name)(void *to, const void *from, int width, long sw, long sk, long wn, long kn) \
{ \
	GT *dst = to; \
	const S *src = from; \
	for (long at = 0; at < wn; at += width, dst += width * kn) { \
		long w = min_l(width, wn - at); \
		const S *s = src + at * sw; \
		if (w < width) memset(dst, 0, (size_t)(width * kn) * sizeof *dst); \
		if (sw == 1) { \
			for (long k = 0; k < kn; k++) { \
				const S *r = s + k * sk; \
				GT *d = dst + k * width; \
				if (w == width) { EACH(width) { S v = r[i]; d[i] = (get); } } \
				else { EACH(w) { S v = r[i]; d[i] = (get); } } \
			} \
		} else { \
			for (long k0 = 0; k0 < kn; k0 += 16) \
				for (long i = 0; i < w; i++) { \
					const S *r = s + i * sw; \
					long k1 = min_l(kn, k0 + 16); \
					for (long k = k0; k < k1; k++) { S v = r[k * sk]; dst[k * width + i] = (get); } \
				} \
		} \
	} \
}
PACK(pack, GT, v)
PACK(pack_f16, uint16_t, half_load(v))
PACK(pack_bf16, uint16_t, brain_load(v))

/* --- few rows: b is read where it stands, row by row ------------------------------------------------------------ */

#define STRIP(M, NV) \
	for (; j + NV * VL <= n; j += NV * VL) G(tile)(M, NV, kn, a, lda, 1, b + j, ldb, c + j, ldc, alpha, beta);
/* the fewer rows, the wider the strip, to keep the accumulators busy; 1 vector at a time for what is left */
#define STRIPS(M, NV) case M: STRIP(M, NV) STRIP(M, 1) break;

static void G(strips)(long kn, const GT *a, long lda, const GT *b, long ldb, GT *c, long ldc, int m, long n, GT alpha, GT beta)
{
	long j = 0;
	switch (m) {
	STRIPS(1, 8) STRIPS(2, (VEC_BYTES == 64 ? 8 : 4)) STRIPS(3, (VEC_BYTES == 64 ? 6 : 3)) STRIPS(4, (VEC_BYTES == 64 ? 6 : TILE_VECS))
#if VEC_BYTES == 64
	STRIPS(5, 4) STRIPS(6, 4) STRIPS(7, 3) STRIPS(8, 3)
#endif
	}
}

/* n a multiple of VL */
static void G(direct)(long kn, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta)
{
	for (long i = 0; i < m; i += TILE_ROWS)
		G(strips)(kn, (const GT *)a + i * lda, lda, b, ldb, (GT *)c + i * ldc, ldc, (int)min_l(TILE_ROWS, m - i), n, (GT)alpha, (GT)beta);
}

/* --- few rows against a transposed b: dot products ----------------------------------------------------------------- */

VM GT G(lane_sum)(VT v)
{
	_Alignas(64) GT x[VEC_BYTES / sizeof(GT)];
	*(VT *)x = v;
	for (int w = VL / 2; w; w /= 2)
		for (int j = 0; j < w; j++) x[j] += x[j + w];
	return x[0];
}

/* the first `n` elements, zeros behind */
VM VT G(part)(const GT *p, long n)
{
	_Alignas(64) GT x[VEC_BYTES / sizeof(GT)] = { 0 };
	for (long i = 0; i < n; i++) x[i] = p[i];
	return *(VT *)x;
}

VM void G(dots)(const int M, const int R, long kn, const GT *a, long lda, const GT *b, long ldb, GT *c, long ldc, GT alpha, GT beta)
{
	VT acc[TILE_ROWS][4];
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int r = 0; r < R; r++) acc[i][r] = (VT){ 0 };
	long k = 0;
	for (; k + VL <= kn; k += VL) {
		VT y[4];
		UNROLL for (int r = 0; r < R; r++) y[r] = *(const VU *)(b + r * ldb + k);
		UNROLL for (int i = 0; i < M; i++) {
			VT x = *(const VU *)(a + i * lda + k);
			UNROLL for (int r = 0; r < R; r++) acc[i][r] = GFMA(x, y[r], acc[i][r]);
		}
	}
	if (k < kn)
		for (int i = 0; i < M; i++)
			for (int r = 0; r < R; r++)
				acc[i][r] = GFMA(G(part)(a + i * lda + k, kn - k), G(part)(b + r * ldb + k, kn - k), acc[i][r]);
	for (int i = 0; i < M; i++)
		for (int r = 0; r < R; r++) {
			GT v = alpha * G(lane_sum)(acc[i][r]);
			c[i * ldc + r] = beta == 0 ? v : v + beta * c[i * ldc + r];
		}
}

#define DOTS(M, R) case M: \
	for (; j + R <= n; j += R) G(dots)(M, R, kn, a, lda, b + j * ldb, ldb, c + j, ldc, alpha, beta); \
	for (; j < n; j++) G(dots)(M, 1, kn, a, lda, b + j * ldb, ldb, c + j, ldc, alpha, beta); \
	break;

static void G(dot_rows)(long kn, const GT *a, long lda, const GT *b, long ldb, GT *c, long ldc, int m, long n, GT alpha, GT beta)
{
	long j = 0;
	switch (m) {
	DOTS(1, 4) DOTS(2, 4) DOTS(3, (VEC_BYTES == 64 ? 4 : 3)) DOTS(4, (VEC_BYTES == 64 ? 4 : 2))
#if VEC_BYTES == 64
	DOTS(5, 3) DOTS(6, 3) DOTS(7, 2) DOTS(8, 2)
#endif
	}
}

static void G(direct_t)(long kn, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta)
{
	for (long i = 0; i < m; i += TILE_ROWS)
		G(dot_rows)(kn, (const GT *)a + i * lda, lda, b, ldb, (GT *)c + i * ldc, ldc, (int)min_l(TILE_ROWS, m - i), n, (GT)alpha, (GT)beta);
}

static const GemmIsa G(gemm_isa) = {
	.rows = TILE_ROWS, .cols = TILE_VECS * (VEC_BYTES / (int)sizeof(GT)), .lanes = VEC_BYTES / (int)sizeof(GT),
	.block = G(block), .pack = G(pack), .pack_f16 = G(pack_f16), .pack_bf16 = G(pack_bf16),
	.direct = G(direct), .direct_t = G(direct_t),
};
#endif
