/* thin.c — products of few rows with a row-major b: their time is b's way through the caches, so they are cut along k, where
 * each piece of b is one stretch of memory.  A layer's gradient and its weights' update are cut there too, so that each thread
 * finds its part of the weights in its own cache.
 *
 * The first piece is computed in c, the others in the submitter's scratch, and added in their order. */
#include "runtime/kernels/matmul.h"

enum { THIN_ROWS = 32, THIN_COLS = 1024, PIECE_BYTES = 384 << 10, MOST_PIECES = 16 };
enum { SUMS_BYTES = RT_SCRATCH_BYTES / 2 };          /* the other half is what a piece packs */

typedef struct Thin { GemmItem g; long pieces, k; char *sums; } Thin;

/* one product, not a batch, whose b is row-major and wanted by few rows */
static long pieces_of(const struct pxlrt_gemm *d)
{
	long size = dtype_info[d->dtype].size;
	if (d->tb || d->dtype < DT_F32 || gemm_is_bf16(d) || d->m > THIN_ROWS || d->m * d->n > THIN_ROWS * THIN_COLS || gemm_batch(d) != 1) return 1;
	return min_l(min_l(MOST_PIECES, d->k * d->n * size / PIECE_BYTES), SUMS_BYTES / (max_l(d->m * d->n, 1) * size));
}

int gemm_is_thin(const struct pxlrt_gemm *d) { return pieces_of(d) > 1; }

/* sums of piece i, i > 0: m rows of n */
static char *sums_of(const Thin *t, long i) { return at_elem_mut(t->sums, t->g.d->dtype, (i - 1) * t->g.d->m * t->g.d->n); }

static int piece(RtLane *ln, void *ctx, long i)
{
	const Thin *t = ctx;
	struct pxlrt_gemm d = *t->g.d;
	long at = i * t->k;
	GemmItem g = { .d = &d, .a = at_elem(t->g.a, d.dtype, d.ta ? at * d.lda : at), .b = at_elem(t->g.b, d.dtype, at * d.ldb), .c = t->g.c };
	d.k = min_l(t->k, d.k - at);
	if (i) g.c = sums_of(t, i), d.ldc = d.n, d.beta = 0;
	return gemm_tile(ln, &g, 0, d.m, 0, d.n);
}

/* rows [lo, hi): all pieces are there */
static int add_up(RtLane *ln, void *ctx, long lo, long hi)
{
	const Thin *t = ctx;
	const struct pxlrt *rt = table_of(ln);
	const struct pxlrt_gemm *d = t->g.d;
	for (long i = lo; i < hi; i++)
		for (long p = 1; p < t->pieces; p++) {
			void *row = at_elem_mut(t->g.c, d->dtype, i * d->ldc);
			const void *sums = at_elem(sums_of(t, p), d->dtype, i * d->n);
			if (d->dtype == DT_F64) rt->f64->add(row, row, sums, d->n);
			else rt->f32->add(row, row, sums, d->n);
		}
	return gemm_epilogue(ln, &t->g, lo, hi - lo, 0, d->n);
}

int gemm_thin(RtLane *ln, const GemmCall *x)
{
	const struct pxlrt_gemm *d = x->d;
	long pieces = pieces_of(d), k = (d->k + pieces - 1) / pieces;
	Thin t = { gemm_item(x, 0), (d->k + k - 1) / k, k, (char *)ln->scratch + RT_SCRATCH_BYTES - SUMS_BYTES };
	int st = rt_pool_run(ln, piece, &t, t.pieces);
	return st ? st : span_run(ln, add_up, &t, d->m, piece_of(d->m, (double)d->n * 0.5));
}
