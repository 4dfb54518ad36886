/* portable.c — matrix products in C with the inner loops of gemm.h.
 *
 * A row-major b that stays in the second cache is streamed where it stands, since packing it would only cost
 * (rows of a are gathered first if a is transposed), and so is any b for few rows.  Otherwise the tile's part
 * of a and b is packed, PACK_K of k at a time, into the lane's scratch, and multiplied there.  16-bit floats are
 * widened when packed and accumulate in f32 in scratch. */
#include "runtime/kernels/provider.h"

#include <string.h>

/* dot products shorter than SHORT_K are not worth their final sums: b is packed.  GATHER_ROWS × DIRECT_K elements of a, gathered, fit the
 * scratch; a tile's part of a b of up to DIRECT_B elements fits the second cache */
enum { FEW_ROWS = 16, GATHER_ROWS = 96, DIRECT_ROWS = 512, SHORT_K = 48, TILE_M = 512, TILE_N = 384, DIRECT_K = 2048, DIRECT_B = 1 << 19 };

static const GemmIsa *loops_of(RtLane *ln, int dtype) { return dtype == DT_F64 ? isa_of(ln)->gemm_f64 : isa_of(ln)->gemm_f32; }

long gemm_batch(const struct pxlrt_gemm *d)
{
	long n = 1;
	for (int i = 0; i < d->nb; i++) n *= d->bdim[i];
	return n;
}

GemmItem gemm_item(const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y, long i)
{
	long oa = 0, ob = 0, oc = 0;
	for (int x = d->nb - 1; x >= 0; x--) {
		long at = i % d->bdim[x];
		i /= d->bdim[x];
		oa += at * d->sa[x], ob += at * d->sb[x], oc += at * d->sc[x];
	}
	int t = d->dtype;
	return (GemmItem){ d, at_elem(a, t, oa), at_elem(b, t, ob), at_elem_mut(c, t, oc), bias, y ? at_elem_mut(y, t, oc) : NULL };
}

/* --- cutting ------------------------------------------------------------------------------------------------ */

static long even_piece(long n, long most, long unit)
{
	long pieces = (n + most - 1) / most, p = (n + pieces - 1) / pieces;
	return (p + unit - 1) / unit * unit;
}

/* 16 pieces are enough for any pool; a piece is worth at least a quarter of a million multiply-adds */
static int worth_halving(const struct pxlrt_gemm *d, const GemmCut *c)
{
	long pieces = ((d->m + c->m - 1) / c->m) * ((d->n + c->n - 1) / c->n);
	return pieces < 16 && (double)c->m * (double)c->n * (double)d->k > 5e5;
}

int gemm_is_direct(const struct pxlrt_gemm *d)
{
	if (d->tb || d->dtype < DT_F32) return 0;
	return d->m <= FEW_ROWS || (!d->ta && d->n >= 32 && d->m <= DIRECT_ROWS && (double)d->k * (double)d->n <= DIRECT_B);
}

/* b is read where it stands */
static int is_few(const struct pxlrt_gemm *d)
{
	if (gemm_is_bf16(d)) return 0;
	if (d->tb) return d->m <= FEW_ROWS && d->k >= SHORT_K && d->dtype >= DT_F32;
	return gemm_is_direct(d) || (d->m <= GATHER_ROWS && d->n >= 32 && d->dtype >= DT_F32);
}

/* columns first: pieces of one column share nothing of b, those of one row would each pack the same part of it.
 * When k is short c is what moves: whole rows of it, then. */
GemmCut gemm_cut(const struct pxlrt_gemm *d, const GemmIsa *isa)
{
	int few = is_few(d);
	GemmCut c = { few ? d->m : even_piece(d->m, TILE_M, isa->rows), even_piece(d->n, few || d->k < SHORT_K ? 1024 : TILE_N, isa->cols), 0, 0 };
	while (worth_halving(d, &c)) {
		long m = even_piece(c.m, (c.m + 1) / 2, isa->rows), n = even_piece(c.n, (c.n + 1) / 2, isa->cols);
		if (d->k < SHORT_K && !few && m < c.m && m >= 32) c.m = m;
		else if (n < c.n && n >= (few ? 2 : 3) * isa->cols) c.n = n;         /* narrower ones cost oneDNN half its speed */
		else if (m < c.m && m >= 64) c.m = m;
		else break;
	}
	c.rows = (d->m + c.m - 1) / c.m;
	c.cols = (d->n + c.n - 1) / c.n;
	return c;
}

typedef struct GemmRun {
	const struct pxlrt_gemm *d;
	const void *a, *b, *bias;
	void *c, *y;
	GemmCut cut;
	GemmTileFn tile;
} GemmRun;

static int run_tiles(RtLane *ln, void *ctx, long lo, long hi)
{
	GemmRun *r = ctx;
	long per = r->cut.rows * r->cut.cols;
	for (long i = lo; i < hi; i++) {
		GemmItem g = gemm_item(r->d, r->a, r->b, r->c, r->bias, r->y, i / per);
		long i0 = i % per / r->cut.cols * r->cut.m, j0 = i % per % r->cut.cols * r->cut.n;
		r->tile(ln, &g, i0, min_l(r->cut.m, r->d->m - i0), j0, min_l(r->cut.n, r->d->n - j0));
	}
	return 0;
}

int gemm_run(RtLane *ln, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y, GemmTileFn tile)
{
	if (d->m <= 0 || d->n <= 0) return 0;
	if (gemm_is_thin(d)) return gemm_thin(ln, d, a, b, c, bias, y);
	GemmRun r = { d, a, b, bias, c, y, gemm_cut(d, loops_of(ln, d->dtype)), tile };
	double ns = (double)r.cut.m * (double)r.cut.n * (double)(d->k + 4) * 0.02;
	long n = gemm_batch(d) * r.cut.rows * r.cut.cols;
	return span_run(ln, run_tiles, &r, n, piece_of(n, ns));
}

/* --- bias and activation -------------------------------------------------------------------------------------- */

/* a row's piece in class blocks; 16-bit floats go through a block and are rounded after each of the two steps */
static void epilogue_row(const struct pxlrt *rt, const GemmItem *g, long at, long j, long n)
{
	int t = g->d->dtype, act = g->d->act;
	float c[PXLRT_BLOCK], b[PXLRT_BLOCK];
	rt->ld[t](c, at_elem(g->c, t, at), 1, n);
	if (g->bias) {
		rt->ld[t](b, at_elem(g->bias, t, j), 1, n);
		rt->f32.add(c, c, b, n);
		rt->st[t](at_elem_mut(g->c, t, at), 1, c, n);
		if (rt->norm[t]) rt->norm[t](c, n);
	}
	if (act == PXLRT_ACT_NONE) return;
	(act == PXLRT_ACT_RELU ? rt->f32.relu : rt->f32.gelu)(c, c, n);
	rt->st[t](at_elem_mut(g->y, t, at), 1, c, n);
}

#define EPILOGUE_ROW(S, T) \
static void epilogue_row_##S(const struct pxlrt *rt, const GemmItem *g, long at, long j, long n) \
{ \
	T *c = (T *)(void *)g->c + at; \
	if (g->bias) rt->S.add(c, c, (const T *)(const void *)g->bias + j, n); \
	if (g->d->act == PXLRT_ACT_RELU) rt->S.relu((T *)(void *)g->y + at, c, n); \
	if (g->d->act == PXLRT_ACT_GELU) rt->S.gelu((T *)(void *)g->y + at, c, n); \
}
EPILOGUE_ROW(f32, float)
EPILOGUE_ROW(f64, double)

void gemm_epilogue(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n)
{
	const struct pxlrt *rt = table_of(ln);
	int t = g->d->dtype;
	if (!g->bias && g->d->act == PXLRT_ACT_NONE) return;
	for (long i = i0; i < i0 + m; i++) {
		if (t == DT_F32) epilogue_row_f32(rt, g, i * g->d->ldc + j0, j0, n);
		else if (t == DT_F64) epilogue_row_f64(rt, g, i * g->d->ldc + j0, j0, n);
		else for (long j = j0; j < j0 + n; j += PXLRT_BLOCK) epilogue_row(rt, g, i * g->d->ldc + j, j, min_l(PXLRT_BLOCK, j0 + n - j));
	}
}

/* --- few rows ----------------------------------------------------------------------------------------------------- */

/* columns that fill no whole vector: that strip of b is copied into a padded one */
static void direct_rest(const GemmIsa *isa, size_t size, long k, const char *a, long lda, const char *b, long ldb, char *c, long ldc,
                        long m, long n, double alpha, double beta, char *room)
{
	long w = isa->lanes;
	char *strip = room, *out = room + (size_t)(k * w) * size;
	memset(strip, 0, (size_t)(k * w) * size);
	for (long i = 0; i < k; i++) memcpy(strip + (size_t)(i * w) * size, b + (size_t)(i * ldb) * size, (size_t)n * size);
	if (beta != 0)
		for (long i = 0; i < m; i++) memcpy(out + (size_t)(i * w) * size, c + (size_t)(i * ldc) * size, (size_t)n * size);
	isa->direct(k, a, lda, strip, w, out, w, m, w, alpha, beta);
	for (long i = 0; i < m; i++) memcpy(c + (size_t)(i * ldc) * size, out + (size_t)(i * w) * size, (size_t)n * size);
}

/* one stretch of k */
static void few_rows_k(RtLane *ln, const GemmItem *g, const GemmIsa *isa, long k0, long k, long i0, long m, long j0, long n, double beta)
{
	const struct pxlrt_gemm *d = g->d;
	size_t s = dtype_size(d->dtype);
	char *room = ln->scratch, *c = at_elem_mut(g->c, d->dtype, i0 * d->ldc + j0);
	const char *a = at_elem(g->a, d->dtype, d->ta ? k0 * d->lda + i0 : i0 * d->lda + k0);
	long lda = d->lda;
	if (d->ta) {
		long wide = (k + isa->lanes - 1) / isa->lanes * isa->lanes;       /* as rows: one panel over m */
		isa->pack(room, a, (int)wide, lda, 1, k, m);
		a = room, lda = wide;
		room += (size_t)(m * wide) * s;
	}
	if (d->tb) {
		isa->direct_t(k, a, lda, at_elem(g->b, d->dtype, j0 * d->ldb + k0), d->ldb, c, d->ldc, m, n, d->alpha, beta);
		return;
	}
	long whole = n - n % isa->lanes;
	const char *b = at_elem(g->b, d->dtype, k0 * d->ldb + j0);
	isa->direct(k, a, lda, b, d->ldb, c, d->ldc, m, whole, d->alpha, beta);
	if (whole < n)
		direct_rest(isa, s, k, a, lda, b + (size_t)whole * s, d->ldb, c + (size_t)whole * s, d->ldc, m, n - whole, d->alpha, beta, room);
}

static void few_rows(RtLane *ln, const GemmItem *g, const GemmIsa *isa, long i0, long m, long j0, long n)
{
	long k = 0;
	do {
		long kn = min_l(DIRECT_K, g->d->k - k);
		few_rows_k(ln, g, isa, k, kn, i0, m, j0, n, k ? 1 : g->d->beta);
		k += kn;
	} while (k < g->d->k);
}

/* --- packed ---------------------------------------------------------------------------------------------------------- */

typedef void (*PackFn)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);

static PackFn pack_of(const GemmIsa *isa, int dtype)
{
	return dtype == DT_F16 ? isa->pack_f16 : dtype == DT_BF16 ? isa->pack_bf16 : isa->pack;
}

static void packed(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n, char *c, long ldc, double beta)
{
	const struct pxlrt_gemm *d = g->d;
	const GemmIsa *isa = loops_of(ln, d->dtype);
	PackFn pack = pack_of(isa, d->dtype);
	size_t s = d->dtype == DT_F64 ? 8 : 4;
	char *pa = ln->scratch, *pb = pa + (size_t)((m + isa->rows) * PACK_K) * s;
	long ai = d->ta ? 1 : d->lda, ak = d->ta ? d->lda : 1, bj = d->tb ? d->ldb : 1, bk = d->tb ? 1 : d->ldb;
	int in_place = !d->ta && (d->dtype == DT_F32 || d->dtype == DT_F64);      /* rows of a need no packing */
	long k = 0;
	do {
		long kn = min_l(PACK_K, d->k - k);
		pack(pb, at_elem(g->b, d->dtype, k * bk + j0 * bj), isa->cols, bj, bk, n, kn);
		const char *a = at_elem(g->a, d->dtype, i0 * ai + k * ak);
		if (!in_place) pack(pa, a, isa->rows, ai, ak, m, kn), a = pa;
		isa->block(kn, a, in_place ? d->lda : 0, pb, c, ldc, m, n, d->alpha, k ? 1 : beta);
		k += kn;
	} while (k < d->k);
}

/* 16-bit: the tile is accumulated in f32 at the end of scratch, then rounded once */
typedef void (*PartFn)(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n, char *c, long ldc, double beta);

static void in_half(RtLane *ln, const GemmItem *g, PartFn part, long i0, long m, long j0, long n)
{
	const struct pxlrt_gemm *d = g->d;
	const struct pxlrt *rt = table_of(ln);
	float *acc = (float *)(void *)((char *)ln->scratch + RT_SCRATCH_BYTES) - m * n;
	if (d->beta != 0)
		for (long i = 0; i < m; i++) rt->ld[d->dtype](acc + i * n, at_elem(g->c, d->dtype, (i0 + i) * d->ldc + j0), 1, n);
	part(ln, g, i0, m, j0, n, (char *)acc, n, d->beta);
	for (long i = 0; i < m; i++) rt->st[d->dtype](at_elem_mut(g->c, d->dtype, (i0 + i) * d->ldc + j0), 1, acc + i * n, n);
}

void gemm_portable_tile(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n)
{
	const struct pxlrt_gemm *d = g->d;
	PartFn part = gemm_is_bf16(d) ? gemm_bf16_part : packed;
	if (d->dtype == DT_F16 || d->dtype == DT_BF16) in_half(ln, g, part, i0, m, j0, n);
	else if (is_few(d)) few_rows(ln, g, loops_of(ln, d->dtype), i0, m, j0, n);
	else part(ln, g, i0, m, j0, n, at_elem_mut(g->c, d->dtype, i0 * d->ldc + j0), d->ldc, d->beta);
	gemm_epilogue(ln, g, i0, m, j0, n);
}

int k_matmul_portable(struct pxlrt_lane *ln, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y)
{
	return gemm_run(rt_lane(ln), d, a, b, c, bias, y, gemm_portable_tile);
}
