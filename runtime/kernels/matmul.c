/* matmul.c — matrix products in C with the inner loops of vec/gemm.h: those that pack nothing, and the entry of all.
 *
 * A row-major b that stays in the second cache is streamed where it stands, since packing it would only cost, and so is
 * any b for few rows.  Few rows against a transposed b are dot products, and so are narrow results, for which a row-major
 * b, being small, is turned over first.  The rest is packed.c. */
#include "runtime/kernels/matmul.h"

#include <string.h>

/* Dot products shorter than DOT_LEAST are not worth their final
 * sums; of WIDE columns and few rows a stretch of WIDE_K stays in the pages that are open; DOT_K is as far as the rows of a tile
 * stay in the first cache; NARROW × DOT_K elements fit the scratch.  STAYS_B elements of b leave room beside them in the second
 * cache; rows of a come back to STRIP_N columns of b soon enough. */
enum { FEW_ROWS = 16, DOT_ROWS = 96, PLACED_K = 2048, DOT_LEAST = 48, DOT_K = 800, NARROW = 12, LITTLE = 64, WIDE = 1536, WIDE_K = 8 };
enum { STAYS_B = 1 << 18, STRIP_N = 288 };

static const GemmIsa *loops_of(RtLane *ln, int dtype) { return dtype == DT_F64 ? isa_of(ln)->gemm_f64 : isa_of(ln)->gemm_f32; }

long gemm_batch(const struct pxlrt_gemm *d)
{
	long n = 1;
	for (int i = 0; i < d->nb; i++) n *= d->bdim[i];
	return n;
}

GemmItem gemm_item(const GemmCall *x, long i)
{
	const struct pxlrt_gemm *d = x->d;
	long oa = 0, ob = 0, oc = 0;
	for (int k = d->nb - 1; k >= 0; k--) {
		long at = i % d->bdim[k];
		i /= d->bdim[k];
		oa += at * d->sa[k], ob += at * d->sb[k], oc += at * d->sc[k];
	}
	int t = d->dtype;
	return (GemmItem){ d, at_elem(x->a, t, oa), at_elem(x->b, t, ob), at_elem_mut(x->c, t, oc), x->tail ? oc / d->ldc : 0, x->tail, x->p };
}

/* --- cutting ------------------------------------------------------------------------------------------------ */

static int is_column(const struct pxlrt_gemm *d) { return d->n == 1 && (d->tb || d->ldb == 1); }
static int is_narrow(const struct pxlrt_gemm *d)
{
	return !gemm_is_bf16(d) && !d->ta && ((d->n <= NARROW && d->k >= DOT_LEAST) || (is_column(d) && d->k >= NARROW));
}

/* rows that fill no whole vector would be a waste of lanes if c were made turned over, as packed.c does it */
static int is_dots(const struct pxlrt_gemm *d)
{
	if (is_narrow(d)) return 1;
	return d->tb && !d->ta && d->k >= DOT_LEAST && (d->m <= FEW_ROWS || (d->m <= DOT_ROWS && d->m % 16 && d->k >= 256));
}

/* a transposed b that is turned over faster than a packed product begins */
static int is_little(const struct pxlrt_gemm *d) { return d->tb && d->k < DOT_LEAST && d->m <= LITTLE && d->n <= LITTLE; }

static int is_placed(const struct pxlrt_gemm *d)
{
	if (d->tb) return is_little(d);
	return d->m <= FEW_ROWS || (!d->ta && d->n >= 16 && d->m <= PLACED_ROWS && (double)d->k * (double)d->n <= PLACED_B);
}

/* 16 pieces are enough for any pool; a piece is worth at least a quarter of a million multiply-adds.  Pieces of columns share
 * nothing of b; those of operands rounded to bf16 pack their own, in scratch, and so are cut both ways.  Many rows against a b that
 * stays are cut into rows: a piece of c is one stretch of memory then, for what follows too. */
static GemmCut cut_of(const struct pxlrt_gemm *d, const GemmIsa *isa)
{
	int narrow = is_narrow(d), both = gemm_is_bf16(d), unit = is_dots(d) && !both ? isa->lanes : isa->cols;
	int rows = !narrow && !both && d->m >= 256 && (double)d->k * (double)d->n <= STAYS_B;
	GemmCut c = { narrow ? even_piece(d->m, 1024, isa->rows) : both ? even_piece(d->m, TILE_M, isa->rows) : d->m,
	              narrow ? d->n : even_piece(d->n, both && d->k >= DOT_LEAST ? TILE_N : 1024, unit), 1, 1 };
	for (;;) {
		c.rows = (d->m + c.m - 1) / c.m, c.cols = (d->n + c.n - 1) / c.n;
		if (c.rows * c.cols >= 16 || (double)c.m * (double)c.n * (double)d->k <= 5e5) return c;
		long m = even_piece(c.m, (c.m + 1) / 2, isa->rows), n = even_piece(c.n, (c.n + 1) / 2, unit);
		if ((rows || (both && d->k < DOT_LEAST)) && m < c.m && m >= 32) c.m = m;
		else if (!narrow && n < c.n && n >= (both ? 3 : 2) * isa->cols) c.n = n;
		else if ((narrow || both) && m < c.m && m >= 64) c.m = m;
		else return c;
	}
}

/* --- what follows ------------------------------------------------------------------------------------------------ */

int gemm_epilogue(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n)
{
	return g->tail ? g->tail(table_of(ln), &ln->pub, g->p, g->row + i0, g->row + i0 + m, j0, j0 + n) : 0;
}

/* --- nothing packed --------------------------------------------------------------------------------------------------- */

/* n columns of c from a strip of b that is a vector wide, of which they are those from `at` on */
static void direct_strip(const GemmIsa *isa, size_t size, long k, const char *a, long lda, const char *b, long ldb, char *c, long ldc,
                         long m, long at, long n, double alpha, double beta, char *room)
{
	long w = isa->lanes;
	char *out = room + (size_t)at * size;
	for (long i = 0; beta != 0 && i < m; i++) memcpy(out + (size_t)(i * w) * size, c + (size_t)(i * ldc) * size, (size_t)n * size);
	isa->direct(k, a, lda, b, ldb, room, w, m, w, alpha, beta);
	for (long i = 0; i < m; i++) memcpy(c + (size_t)(i * ldc) * size, out + (size_t)(i * w) * size, (size_t)n * size);
}

/* The last n columns of b that fill no whole vector: in one with those before them, or, where there are none, copied. */
static void direct_rest(const GemmIsa *isa, size_t size, long k, const char *a, long lda, const char *b, long ldb, char *c, long ldc,
                        long m, long before, long n, double alpha, double beta, char *room)
{
	long w = isa->lanes, at = before ? w - n : 0;
	if (!before) {
		memset(room, 0, (size_t)(k * w) * size);
		for (long i = 0; i < k; i++) memcpy(room + (size_t)(i * w) * size, b + (size_t)(i * ldb) * size, (size_t)n * size);
		b = room, ldb = w, room += (size_t)(k * w) * size;
	}
	direct_strip(isa, size, k, a, lda, b - (size_t)at * size, ldb, c, ldc, m, at, n, alpha, beta, room);
}

/* a transposed b, turned over into panels as wide as a vector */
static void direct_little(const GemmIsa *isa, size_t size, long k, const char *a, long lda, const char *b, long ldb, char *c, long ldc,
                          long m, long n, double alpha, double beta, char *room)
{
	long w = isa->lanes, whole = n - n % w;
	char *out = room + (size_t)((n + w) * k) * size;
	isa->pack(room, b, (int)w, ldb, 1, n, k);
	for (long j = 0; j < whole; j += w) isa->direct(k, a, lda, room + (size_t)(j * k) * size, w, c + (size_t)j * size, ldc, m, w, alpha, beta);
	if (whole < n)
		direct_strip(isa, size, k, a, lda, room + (size_t)(whole * k) * size, w, c + (size_t)whole * size, ldc, m, 0, n - whole, alpha, beta, out);
}

/* one stretch of k, b where it stands or little.  Few rows, if a is transposed: they are packed */
static void placed_k(RtLane *ln, const GemmItem *g, const GemmIsa *isa, long k0, long k, long i0, long m, long j0, long n, double beta)
{
	const struct pxlrt_gemm *d = g->d;
	size_t s = dtype_size(d->dtype);
	long whole = n - n % isa->lanes;
	const char *a = at_elem(g->a, d->dtype, d->ta ? k0 * d->lda + i0 : i0 * d->lda + k0), *b = at_elem(g->b, d->dtype, d->tb ? j0 * d->ldb + k0 : k0 * d->ldb + j0);
	char *c = at_elem_mut(g->c, d->dtype, i0 * d->ldc + j0), *room = ln->scratch;
	if (d->ta) {
		isa->pack(room, a, isa->rows, 1, d->lda, m, k);
		a = room, room += (size_t)((m + isa->rows) * k) * s;
	}
	long lda = d->ta ? 0 : d->lda;
	if (d->tb) {
		direct_little(isa, s, k, a, lda, b, d->ldb, c, d->ldc, m, n, d->alpha, beta, room);
		return;
	}
	isa->direct(k, a, lda, b, d->ldb, c, d->ldc, m, whole, d->alpha, beta);
	if (whole < n)
		direct_rest(isa, s, k, a, lda, b + (size_t)whole * s, d->ldb, c + (size_t)whole * s, d->ldc, m, whole, n - whole, d->alpha, beta, room);
}

/* the same by dot products: rows of bᵀ where they stand, or turned over */
static void dots_k(RtLane *ln, const GemmItem *g, const GemmIsa *isa, long k0, long k, long i0, long m, long j0, long n, double beta)
{
	const struct pxlrt_gemm *d = g->d;
	const char *a = at_elem(g->a, d->dtype, i0 * d->lda + k0), *b = at_elem(g->b, d->dtype, d->tb ? j0 * d->ldb + k0 : k0 * d->ldb + j0);
	long ldb = d->ldb;
	if (!d->tb && (n > 1 || ldb > 1)) {
		isa->turned(ln->scratch, DOT_K, b, ldb, n, k, 0);
		b = ln->scratch, ldb = DOT_K;
	}
	isa->direct_t(k, a, d->lda, b, ldb, at_elem_mut(g->c, d->dtype, i0 * d->ldc + j0), d->ldc, m, n, d->alpha, beta);
}

int gemm_tile(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n)
{
	const struct pxlrt_gemm *d = g->d;
	const GemmIsa *isa = loops_of(ln, d->dtype);
	int dots = is_dots(d), wide = m <= 4 && n >= WIDE;
	long k = 0, strip = m > FEW_ROWS ? STRIP_N : n;
	long most = dots ? even_piece(max_l(d->k, 1), DOT_K, isa->lanes) : wide ? WIDE_K : PLACED_K;
	do {
		long kn = min_l(most, d->k - k);
		if (dots) dots_k(ln, g, isa, k, kn, i0, m, j0, n, k ? 1 : d->beta);
		else for (long j = 0; j < n; j += strip) placed_k(ln, g, isa, k, kn, i0, m, j0 + j, min_l(strip, n - j), k ? 1 : d->beta);
		k += kn;
	} while (k < d->k);
	return gemm_epilogue(ln, g, i0, m, j0, n);
}

/* bf16 in memory: the tile is accumulated in f32 at the end of scratch, then rounded once */
static int bf16_tile(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n)
{
	const struct pxlrt_gemm *d = g->d;
	const struct pxlrt *rt = table_of(ln);
	float *acc = (float *)(void *)((char *)ln->scratch + RT_SCRATCH_BYTES) - m * n;
	if (d->dtype == DT_F32) gemm_bf16_part(ln, g, i0, m, j0, n, at_elem_mut(g->c, DT_F32, i0 * d->ldc + j0), d->ldc, d->beta);
	else {
		for (long i = 0; d->beta != 0 && i < m; i++) rt->ld[d->dtype](acc + i * n, at_elem(g->c, d->dtype, (i0 + i) * d->ldc + j0), 1, n);
		gemm_bf16_part(ln, g, i0, m, j0, n, (char *)acc, n, d->beta);
		for (long i = 0; i < m; i++) rt->st[d->dtype](at_elem_mut(g->c, d->dtype, (i0 + i) * d->ldc + j0), 1, acc + i * n, n);
	}
	return gemm_epilogue(ln, g, i0, m, j0, n);
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

typedef struct GemmRun { const GemmCall *call; GemmCut cut; } GemmRun;

static int run_tiles(RtLane *ln, void *ctx, long lo, long hi)
{
	const GemmRun *r = ctx;
	const struct pxlrt_gemm *d = r->call->d;
	long per = r->cut.rows * r->cut.cols;
	int st = 0;
	for (long i = lo; i < hi && !st; i++) {
		GemmItem g = gemm_item(r->call, i / per);
		long i0 = i % per / r->cut.cols * r->cut.m, j0 = i % per % r->cut.cols * r->cut.n;
		st = (gemm_is_bf16(d) ? bf16_tile : gemm_tile)(ln, &g, i0, min_l(r->cut.m, d->m - i0), j0, min_l(r->cut.n, d->n - j0));
	}
	return st;
}

/* One column of a product with a transposed a: as the transposed product it is one row, and a is read where it stands. */
static int is_row_turned(const struct pxlrt_gemm *d)
{
	return d->n == 1 && d->m > 1 && d->ta && (d->tb || d->ldb == 1) && d->ldc == 1;
}

static struct pxlrt_gemm row_turned(const struct pxlrt_gemm *d)
{
	struct pxlrt_gemm t = *d;
	t.ta = t.tb = 0;
	t.m = 1, t.n = d->m;
	t.lda = d->k, t.ldb = d->lda, t.ldc = d->m;
	memcpy(t.sa, d->sb, sizeof t.sa);
	memcpy(t.sb, d->sa, sizeof t.sb);
	return t;
}

int k_matmul(struct pxlrt_lane *lane, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, pxlrt_rows tail, void *const *p)
{
	GemmCall x = { d, a, b, c, tail, p };
	RtLane *ln = rt_lane(lane);
	const GemmIsa *isa = loops_of(ln, d->dtype);
	if (d->m <= 0 || d->n <= 0) return 0;
	if (!tail && is_row_turned(d)) {
		struct pxlrt_gemm t = row_turned(d);
		return k_matmul(lane, &t, b, a, c, NULL, NULL);
	}
	if (gemm_is_thin(d)) return gemm_thin(ln, &x);
	if (!gemm_is_bf16(d) && (d->dtype < DT_F32 || !(is_dots(d) || is_placed(d)))) return gemm_packed(ln, &x, isa);
	GemmRun r = { &x, cut_of(d, isa) };
	double ns = (double)r.cut.m * (double)r.cut.n * (double)(d->k + 4) * 0.02;
	long n = gemm_batch(d) * r.cut.rows * r.cut.cols;
	return span_run(ln, run_tiles, &r, n, piece_of(n, ns));
}
