/* gemm.h — the inner loops of matrix products, for one element type: included by gemm_f32.c and gemm_f64.c.  Products that read
 * b in place are in direct.h, so that each compiles in seconds.  matmul.h tells how they are put together.
 *
 * Every element of the result is one chain of multiply-adds over k in order (dot products: `lanes` chains added in one order), so
 * neither the tile an element falls in nor the number of threads shows in it. */

#include "runtime/kernels/vec/tile.h"

/* --- packing -------------------------------------------------------------------------------------------------------
 * Panels of `width` rows (w) over k, zeros where the operand ends: dst[panel][k][w] = src[w·sw + k·sk]. */

/* rows of the operand run along w: k by k, all panels of a row, so that reads are long */
#define PACK_ROWS(name, S, get) \
static void G(name##_rows)(GT *dst, const S *src, int width, long sk, long wn, long kn) \
{ \
	for (long k = 0; k < kn; k++) { \
		const S *r = src + k * sk; \
		GT *d = dst + k * width; \
		long at = 0; \
		for (; at + width <= wn; at += width, d += kn * width) \
			EACH(width) { S v = r[at + i]; d[i] = (get); } \
		if (at == wn) continue; \
		EACH(wn - at) { S v = r[at + i]; d[i] = (get); } \
		memset(d + (wn - at), 0, (size_t)(width - (wn - at)) * sizeof(GT)); \
	} \
}
PACK_ROWS(pack, GT, v)
PACK_ROWS(pack_f16, uint16_t, half_load(v))
PACK_ROWS(pack_bf16, uint16_t, brain_load(v))

/* P whole panels of W, k by k: rows lie far apart, so each is called for in time.  Few panels at once: they are written at
 * the same distance from each other, which many lines of the first cache don't bear. */
VM void G(pack_strip)(const int W, const int P, GT *dst, const GT *src, long sk, long kn)
{
	for (long k = 0; k < kn; k++, src += sk, dst += W) {
		UNROLL for (int i = 0; i < W * P; i += 64 / (int)sizeof(GT)) __builtin_prefetch(src + 16 * sk + i);
		UNROLL for (int p = 0; p < P; p++) memcpy(dst + p * kn * W, src + p * W, (size_t)W * sizeof(GT));
	}
}
#define PACK_STRIPS(W, P) for (; at + W * P <= wn; at += W * P) G(pack_strip)(W, P, dst + at * kn, src + at, sk, kn)

static void G(pack_strips)(GT *dst, const GT *src, int width, long sk, long wn, long kn)
{
	long at = 0;
	if (width == TILE_VECS * VL) PACK_STRIPS(TILE_VECS * VL, 1);
	else if (width == TILE_ROWS) { PACK_STRIPS(TILE_ROWS, 4); PACK_STRIPS(TILE_ROWS, 1); }
	if (at < wn) G(pack_rows)(dst + at * kn, src + at, width, sk, wn - at, kn);
}

/* VL rows from src on, turned over: kn rows of dst, `width` apart; rows that are not there are zeros */
VM void G(turn_rows)(GT *dst, const GT *src, const int width, long sw, long rows, long kn)
{
	long k = 0;
	VT x[VEC_BYTES / sizeof(GT)];
	for (; rows >= VL && k + VL <= kn; k += VL) {
		UNROLL for (int v = 0; v < VL; v++) x[v] = *(const VU *)(src + v * sw + k);
		G(turn)(x);
		UNROLL for (int v = 0; v < VL; v++) *(VU *)(dst + (k + v) * width) = x[v];
	}
	for (; k < kn; k += VL) {
		for (int v = 0; v < VL; v++) x[v] = v < rows ? G(part)(src + v * sw + k, min_l(VL, kn - k)) : (VT){ 0 };
		G(turn)(x);
		for (int v = 0; v < min_l(VL, kn - k); v++) *(VU *)(dst + (k + v) * width) = x[v];
	}
}

/* Rows of the operand run along k.  Nothing is called for ahead: the processor sees that itself where rows are long, and where they
 * are a page apart what comes early is driven out again. */
static void G(pack_turned)(GT *dst, const GT *src, int width, long sw, long wn, long kn)
{
	for (long at = 0; at < wn; at += width, dst += kn * width)
		for (long w = 0; w < width; w += VL) {
			const GT *s = src + (at + w) * sw;
			if (width == TILE_VECS * VL) G(turn_rows)(dst + w, s, TILE_VECS * VL, sw, wn - at - w, kn);
			else G(turn_rows)(dst + w, s, width, sw, wn - at - w, kn);
		}
}

/* c = beta c + srcᵀ: squares of src turned over; c is m × n */
static void G(turned)(void *pc, long ldc, const void *psrc, long lds, long m, long n, double beta)
{
	GT *c = pc;
	const GT *src = psrc;
	for (long j = 0; j < n; j += VL)
		for (long i = 0; i < m; i += VL) {
			VT x[VEC_BYTES / sizeof(GT)];
			long rows = min_l(VL, m - i), cols = min_l(VL, n - j);
			for (int v = 0; v < VL; v++) x[v] = v < cols ? G(part)(src + (j + v) * lds + i, rows) : (VT){ 0 };
			G(turn)(x);
			for (int v = 0; v < rows; v++)
				G(put_part)(c + (i + v) * ldc + j, x[v], cols, (GT)beta);
		}
}

#define PACK_ELEMENTS(name, S, get) \
static void G(name##_elements)(GT *dst, const S *src, int width, long sw, long sk, long wn, long kn) \
{ \
	for (long at = 0; at < wn; at += width, dst += kn * width) \
		for (long k0 = 0; k0 < kn; k0 += 16) \
			for (long i = 0; i < width; i++) \
				for (long k = k0; k < min_l(kn, k0 + 16); k++) { \
					S v = at + i < wn ? src[(at + i) * sw + k * sk] : 0; \
					dst[k * width + i] = (get); \
				} \
}
PACK_ELEMENTS(pack, GT, v)
PACK_ELEMENTS(pack_f16, uint16_t, half_load(v))
PACK_ELEMENTS(pack_bf16, uint16_t, brain_load(v))

/* few rows that run along k: turning them over one by one is sooner done */
static void G(pack_few)(GT *dst, const GT *src, int width, long sw, long wn, long kn)
{
	memset(dst, 0, (size_t)(kn * width) * sizeof *dst);
	for (long i = 0; i < wn; i++)
		for (long k = 0; k < kn; k++) dst[k * width + i] = src[i * sw + k];
}

static void G(pack)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn)
{
	if (sk == 1 && wn <= width && wn * kn <= 64) G(pack_few)(dst, src, width, sw, wn, kn);
	else if (sw == 1) G(pack_strips)(dst, src, width, sk, wn, kn);
	else if (sk == 1 && width % VL == 0) G(pack_turned)(dst, src, width, sw, wn, kn);
	else G(pack_elements)(dst, src, width, sw, sk, wn, kn);
}
#define PACK_HALF(name) \
static void G(name)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn) \
{ \
	if (sw == 1) G(name##_rows)(dst, src, width, sk, wn, kn); \
	else G(name##_elements)(dst, src, width, sw, sk, wn, kn); \
}
PACK_HALF(pack_f16)
PACK_HALF(pack_bf16)

/* --- packed operands: b as [k][TILE_VECS·VL]; a as [k][TILE_ROWS], or rows where they stand (lda > 0) ------------ */

VM void G(packed)(const int NV, long kn, const GT *a, long lda, const GT *b, GT *c, long ldc, GT alpha, GT beta)
{
	if (lda) G(tile)(TILE_ROWS, NV, kn, a, lda, 1, b, TILE_VECS * VL, c, ldc, alpha, beta);
	else G(tile)(TILE_ROWS, NV, kn, a, 1, TILE_ROWS, b, TILE_VECS * VL, c, ldc, alpha, beta);
}

static void G(packed_vecs)(int nv, long kn, const GT *a, long lda, const GT *b, GT *c, long ldc, GT alpha, GT beta)
{
	if (nv == 1) G(packed)(1, kn, a, lda, b, c, ldc, alpha, beta);
	else if (nv == 2) G(packed)(2, kn, a, lda, b, c, ldc, alpha, beta);
	else G(packed)(TILE_VECS, kn, a, lda, b, c, ldc, alpha, beta);
}

/* a tile that sticks out of c is made in a buffer */
static void G(packed_edge)(int nv, long kn, const GT *a, long lda, const GT *b, GT *c, long ldc, long m, long n, GT alpha, GT beta)
{
	_Alignas(64) GT buf[TILE_ROWS * TILE_VECS * (VEC_BYTES / sizeof(GT))];
	G(packed_vecs)(nv, kn, a, lda, b, buf, TILE_VECS * VL, alpha, 0);
	for (long i = 0; i < m; i++)
		for (long j = 0; j < n; j++) {
			GT v = buf[i * TILE_VECS * VL + j];
			c[i * ldc + j] = beta == 0 ? v : v + c[i * ldc + j] * beta;
		}
}

/* one register tile's worth of c, whole or sticking out */
static void G(block_tile)(long kn, const GT *a, long lda, const GT *b, GT *c, long ldc, long m, long n, GT alpha, GT beta)
{
	long mm = min_l(TILE_ROWS, m), nn = min_l(TILE_VECS * VL, n);
	int nv = (int)((nn + VL - 1) / VL);
	if (mm == TILE_ROWS && nn % VL == 0) G(packed_vecs)(nv, kn, a, lda, b, c, ldc, alpha, beta);
	else G(packed_edge)(nv, kn, a, lda, b, c, ldc, mm, nn, alpha, beta);
}

/* --- rows of c, from the first column to the last ---------------------------------------------------------------------- */

/* A panel of b stays in the first cache while all rows of a pass by it.  When k is short c is what moves, so its
 * rows are then finished one after the other. */
static void G(block)(long kn, const void *pa, long lda, const void *pb, void *pc, long ldc, long m, long n, double alpha, double beta)
{
	_Alignas(64) GT rest[TILE_ROWS * PACK_K];
	const GT *a = pa, *b = pb;
	GT *c = pc;
	long whole = m - m % TILE_ROWS, row = lda ? lda : kn, cols = TILE_VECS * VL, done = 0;
	if (lda && whole < m) G(pack)(rest, a + whole * lda, TILE_ROWS, lda, 1, m - whole, kn);
	if (kn < SHORT_K) {
		done = n % VL ? n - n % cols : n;
		for (long i = 0; i < whole; i += TILE_ROWS) G(rows)(kn, a + i * row, lda, b, kn, cols, c + i * ldc, ldc, done, (GT)alpha, (GT)beta);
	}
	for (long j = 0; j < n; j += cols)
		for (long i = j < done ? whole : 0; i < m; i += TILE_ROWS) {
			int last = lda && i == whole;
			G(block_tile)(kn, last ? rest : a + i * row, last ? 0 : lda, b + j * kn, c + i * ldc + j, ldc, m - i, n - j, (GT)alpha, (GT)beta);
		}
}

/* --- windows: rows of b lie anywhere ---------------------------------------------------------------------------------- */

/* c[M, NV·VL] (+)= Σ_k a[i, k] b[off[k] + j] */
VM void G(tap_tile)(const int M, const int NV, long kn, const GT *a, long lda, const GT *b, const long *off, GT *c, long ldc, int add)
{
	VT acc[TILE_ROWS][8];
	G(step)(M, NV, 1, acc, a, lda, b + off[0]);
	for (long k = 1; k < kn; k++) G(step)(M, NV, 0, acc, a + k, lda, b + off[k]);
	UNROLL for (int i = 0; i < M; i++) {
		UNROLL for (int j = 0; j < NV; j++) {
			VU *p = (VU *)(c + j * VL);
			*p = add ? (VT)*p + acc[i][j] : acc[i][j];
		}
		NEXT_ROW(c, ldc);
	}
}

#define TAP_STRIP(M, NV) if (nv >= NV) { G(tap_tile)(M, NV, kn, a, lda, b, off, c, ldc, add); return NV; }
#define TAP_CASE(M, W4, W3, W2) case M: TAP_STRIP(M, W4) TAP_STRIP(M, W3) TAP_STRIP(M, W2) TAP_STRIP(M, 1) break;

/* one tile of at most nv vectors: how many it took; the fewer rows, the wider */
static int G(tap_rows)(long m, long nv, long kn, const GT *a, long lda, const GT *b, const long *off, GT *c, long ldc, int add)
{
	switch (m) {
	TAP_CASE(1, 8, 4, 2) TAP_CASE(2, (VEC_BYTES == 64 ? 8 : 4), 4, 2) TAP_CASE(3, (VEC_BYTES == 64 ? 6 : TILE_VECS), 3, 2)
	TAP_CASE(4, (VEC_BYTES == 64 ? 6 : TILE_VECS), TILE_VECS, 2)
#if VEC_BYTES == 64
	TAP_CASE(5, 4, 3, 2) TAP_CASE(6, 4, 3, 2) TAP_CASE(7, 3, 3, 2) TAP_CASE(8, 3, 3, 2)
#endif
	}
	return 1;
}

/* strips of columns, as wide as the whole row blocks want them; their part of b stays in the first cache */
static void G(taps)(long kn, const void *pa, long lda, const void *pb, const long *off, void *pc, long ldc, long m, long n, int add)
{
	const GT *a = pa, *b = pb;
	GT *c = pc;
	long nv = (n + VL - 1) / VL, wide = m >= TILE_ROWS ? TILE_VECS : 8;
	for (long j = 0; j < nv; j += wide)
		for (long i = 0; i < m; i += TILE_ROWS)
			for (long at = j, end = min_l(j + wide, nv); at < end;)
				at += G(tap_rows)(min_l(TILE_ROWS, m - i), end - at, kn, a + i * lda, lda, b + at * VL, off, c + i * ldc + at * VL, ldc, add);
}

/* c[M, R] += dot products of rows of g with rows of b */
VM void G(tap_dots)(const int M, const int R, long count, const GT *g, long ldg, const GT *b, const long *off, GT *c, long ldc)
{
	VT acc[TILE_ROWS][8];
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int r = 0; r < R; r++) acc[i][r] = (VT){ 0 };
	for (long p = 0; p < count; p += VL) {
		VT y[8];
		UNROLL for (int r = 0; r < R; r++) y[r] = *(const VU *)(b + off[r] + p);
		UNROLL for (int i = 0; i < M; i++) {
			VT x = *(const VU *)(g + i * ldg + p);
			UNROLL for (int r = 0; r < R; r++) acc[i][r] = GFMA(x, y[r], acc[i][r]);
		}
	}
	UNROLL for (int at = 0; at < M * R; at += VL) {
		VT x[VEC_BYTES / sizeof(GT)];
		_Alignas(64) GT sum[VEC_BYTES / sizeof(GT)];
		UNROLL for (int v = 0; v < VL; v++) x[v] = at + v < M * R ? acc[(at + v) / R][(at + v) % R] : (VT){ 0 };
		*(VT *)sum = G(sums)(x);
		for (int v = 0; v < VL && at + v < M * R; v++) c[(at + v) / R * ldc + (at + v) % R] += sum[v];
	}
}

#define TAP_DOTS(M, R) case M: \
	for (; r + R <= n; r += R) G(tap_dots)(M, R, count, g, ldg, b, off + r, c + r, ldc); \
	for (; r < n; r++) G(tap_dots)(M, 1, count, g, ldg, b, off + r, c + r, ldc); \
	break;

static void G(tap_dot_rows)(long m, long count, const GT *g, long ldg, const GT *b, const long *off, GT *c, long ldc, long n)
{
	long r = 0;
	switch (m) {
	TAP_DOTS(1, 8) TAP_DOTS(2, 4) TAP_DOTS(3, (VEC_BYTES == 64 ? 4 : 3)) TAP_DOTS(4, (VEC_BYTES == 64 ? 4 : 2))
#if VEC_BYTES == 64
	TAP_DOTS(5, 4) TAP_DOTS(6, 4) TAP_DOTS(7, 3) TAP_DOTS(8, 3)
#endif
	}
}

static void G(taps_back)(long count, const void *g, long ldg, const void *b, const long *off, void *c, long ldc, long m, long n)
{
	for (long i = 0; i < m; i += TILE_ROWS)
		G(tap_dot_rows)(min_l(TILE_ROWS, m - i), count, (const GT *)g + i * ldg, ldg, b, off, (GT *)c + i * ldc, ldc, n);
}

VM void G(tap_wide)(const int M, const int NV, long count, const GT *g, const GT *b, const long *off, GT *c, long ldc)
{
	VT acc[TILE_ROWS][8];
	const GT *x[TILE_ROWS];
	UNROLL for (int i = 0; i < M; i++) x[i] = b + off[i];
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int j = 0; j < NV; j++) acc[i][j] = *(const VU *)(c + i * ldc + j * VL);
	for (long p = 0; p < count; p++, g += NV * VL) {
		VT row[8];
		UNROLL for (int j = 0; j < NV; j++) row[j] = *(const VU *)(g + j * VL);
		UNROLL for (int i = 0; i < M; i++) {
			VT y = x[i][p] - (VT){ 0 };
			UNROLL for (int j = 0; j < NV; j++) acc[i][j] = GFMA(y, row[j], acc[i][j]);
		}
	}
	UNROLL for (int i = 0; i < M; i++)
		UNROLL for (int j = 0; j < NV; j++) *(VU *)(c + i * ldc + j * VL) = acc[i][j];
}

#define TAP_WIDE(NV) case NV: \
	for (; r + TILE_ROWS <= n; r += TILE_ROWS) G(tap_wide)(TILE_ROWS, NV, count, g, b, off + r, c + r * ldc, ldc); \
	for (; r + 3 <= n; r += 3) G(tap_wide)(3, NV, count, g, b, off + r, c + r * ldc, ldc); \
	for (; r < n; r++) G(tap_wide)(1, NV, count, g, b, off + r, c + r * ldc, ldc); \
	break;

static void G(taps_wide)(long count, const void *pg, int vecs, const void *pb, const long *off, void *pc, long ldc, long n)
{
	const GT *g = pg, *b = pb;
	GT *c = pc;
	long r = 0;
	switch (vecs) {
	TAP_WIDE(1) TAP_WIDE(2)
#if VEC_BYTES >= 32
	TAP_WIDE(3)
#endif
	}
}

const GemmIsa VEC(G(gemm)) = {
	.rows = TILE_ROWS, .cols = TILE_VECS * (VEC_BYTES / (int)sizeof(GT)), .lanes = VEC_BYTES / (int)sizeof(GT),
	.block = G(block), .pack = G(pack), .pack_f16 = G(pack_f16), .pack_bf16 = G(pack_bf16),
	.turned = G(turned), .direct = VEC(G(direct)), .direct_t = VEC(G(direct_t)), .taps = G(taps), .taps_back = G(taps_back), .taps_wide = G(taps_wide),
};
