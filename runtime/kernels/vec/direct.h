/* direct.h — products that read b where it is, row by row (few rows of a) or as dot products (b transposed), for one element type:
 * included by direct_f32.c and direct_f64.c. */
#include "runtime/kernels/vec/tile.h"

/* the fewer rows, the wider the strip, to keep the accumulators busy; 1 vector at a time for what is left */
#define STRIPS(M, NV) case M: STRIP(M, NV) STRIP(M, 1) break;

static void G(strips)(long kn, const GT *a, long lda, const GT *b, long ldb, GT *c, long ldc, int m, long n, GT alpha, GT beta)
{
	const long bj = 1;
	long j = 0;
	switch (m) {
	STRIPS(1, 8) STRIPS(2, (VEC_BYTES == 64 ? 8 : 4)) STRIPS(3, (VEC_BYTES == 64 ? 6 : 3))
#if VEC_BYTES == 64
	STRIPS(4, 6) STRIPS(5, 4) STRIPS(6, 4) STRIPS(7, 3)
#endif
	default: G(rows)(kn, a, lda, b, bj, ldb, c, ldc, n, alpha, beta);
	}
}

/* n a multiple of VL */
void VEC(G(direct))(long kn, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta)
{
	for (long i = 0; i < m; i += TILE_ROWS)
		G(strips)(kn, (const GT *)a + i * (lda ? lda : kn), lda, b, ldb, (GT *)c + i * ldc, ldc, (int)min_l(TILE_ROWS, m - i), n, (GT)alpha, (GT)beta);
}

/* --- few rows against a transposed b: dot products ----------------------------------------------------------------- */

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
			HELD(x);
			UNROLL for (int r = 0; r < R; r++) acc[i][r] = GFMA(x, y[r], acc[i][r]);
		}
	}
	if (k < kn)
		for (int i = 0; i < M; i++)
			for (int r = 0; r < R; r++)
				acc[i][r] = GFMA(G(part)(a + i * lda + k, kn - k), G(part)(b + r * ldb + k, kn - k), acc[i][r]);
	/* sums of a row lie together, rows a power of two apart: which is whose is known here, and nothing is computed for it */
	const int step = R > 2 ? 4 : R;
	UNROLL for (int at = 0; at < M * step; at += VL) {
		VT x[VEC_BYTES / sizeof(GT)];
		_Alignas(64) GT sum[VEC_BYTES / sizeof(GT)];
		UNROLL for (int v = 0; v < VL; v++) x[v] = at + v < M * step && (at + v) % step < R ? acc[(at + v) / step][(at + v) % step] : (VT){ 0 };
		*(VT *)sum = G(sums)(x) * alpha;
		UNROLL for (int v = 0; v < VL; v++) {
			if (at + v >= M * step || (at + v) % step >= R) continue;
			GT *p = c + (at + v) / step * ldc + (at + v) % step;
			*p = beta == 0 ? sum[v] : sum[v] + beta * *p;
		}
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
	DOTS(5, 3) DOTS(6, 3) DOTS(7, 3) DOTS(8, 3)
#endif
	}
}

void VEC(G(direct_t))(long kn, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta)
{
	for (long i = 0; i < m; i += TILE_ROWS)
		G(dot_rows)(kn, (const GT *)a + i * lda, lda, b, ldb, (GT *)c + i * ldc, ldc, (int)min_l(TILE_ROWS, m - i), n, (GT)alpha, (GT)beta);
}
