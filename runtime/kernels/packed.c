/* packed.c — matrix products whose operands are packed first, once for all tiles and threads.
 *
 * What is packed lies in the scratch of the lane that asks: the pool's threads pack it together, then make tiles
 * from it.  The operand along the lanes is packed in panels as wide as the register tile (turned over if need be);
 * the other one only if its rows don't run along k, for its numbers are taken one by one.  What does not fit is done
 * in rounds over k, columns and rows, so sizes have no limit.  Rounds and tiles are cut by shape alone.
 *
 * Few rows against a transposed b: the transposed product is made, bᵀ's rows where they stand, and turned over
 * when it is stored, for then the small operand is what is packed.  16-bit floats are widened when packed, and their
 * sums stay f32 until they are rounded once. */
#include "runtime/kernels/matmul.h"

enum { ROWS_AT_ONCE = 64, PIECES = 16, STRETCH = 1024 };

typedef void (*PackFn)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);

/* element (w, k) of an operand is at w·step + k·along */
typedef struct Side { const char *p; long step, along; } Side;

typedef struct Packed {
	RtLane *ln;
	const GemmCall *call;
	const struct pxlrt_gemm *d;
	const GemmIsa *isa;
	size_t size;                            /* of a number that is packed or summed up */
	int turned, sums, a_packed, b_packed;   /* sums: the result is gathered in the room, and stored in the last round */
	long m, n;                              /* of the product that is made */
	long each;                              /* room of an item */
	long item, items, i0, mn, j0, nn, k0, kn;       /* this round: items, rows, columns, stretch of k */
	GemmCut cut;
} Packed;

static long up_to(long n, long unit) { return (n + unit - 1) / unit * unit; }

/* --- the room ---------------------------------------------------------------------------------------------------- */

/* of an item, in elements: its sums (they outlast a stretch of k), b's panels, a's */
static long sums_stride(const Packed *r) { return up_to(r->nn, r->isa->lanes); }
static long b_begins(const Packed *r) { return r->sums ? up_to(r->mn * sums_stride(r), r->isa->lanes) : 0; }
/* columns of b that are packed: all, or those that fill no whole vector */
static long b_from(const Packed *r) { return r->b_packed ? 0 : r->nn - r->nn % r->isa->lanes; }
static long b_count(const Packed *r) { return r->nn - b_from(r); }
static long a_begins(const Packed *r) { return b_begins(r) + r->kn * up_to(b_count(r), r->isa->cols); }
static long item_room(const Packed *r) { return a_begins(r) + (r->a_packed ? r->kn * up_to(r->mn, r->isa->rows) : 0); }

static char *room_at(const Packed *r, long item, long at) { return (char *)r->ln->scratch + (size_t)((item - r->item) * r->each + at) * r->size; }

static long half(long n, long unit) { return up_to((n + 1) / 2, unit); }

static void fit(Packed *r)
{
	const GemmIsa *isa = r->isa;
	long most = RT_SCRATCH_BYTES / (long)r->size;
	r->mn = r->m, r->nn = r->n, r->kn = r->d->k;
	while (up_to(item_room(r), isa->lanes) > most) {
		if (r->kn > PACK_K && (r->kn > 4 * PACK_K || !r->sums || r->kn > max_l(r->mn, r->nn))) r->kn = half(r->kn, PACK_K);
		else if ((r->b_packed || r->sums) && (r->nn >= r->mn || !(r->a_packed || r->sums)) && r->nn > isa->cols) r->nn = half(r->nn, isa->cols);
		else if (r->mn > isa->rows) r->mn = half(r->mn, isa->rows);
		else r->kn = half(r->kn, PACK_K);
	}
	r->each = up_to(item_room(r), isa->lanes);
	r->items = max_l(1, most / max_l(r->each, 1));
}

/* --- operands ------------------------------------------------------------------------------------------------------ */

static Side side(const Packed *r, const char *p, int second)
{
	const struct pxlrt_gemm *d = r->d;
	long along_k = second == r->turned ? !d->ta : d->tb, ld = second == r->turned ? d->lda : d->ldb;
	return (Side){ p, along_k ? ld : 1, along_k ? 1 : ld };
}
/* rows of the product that is made are those of a, columns those of b: turned, the other way round */
static Side row_side(const Packed *r, const GemmItem *g) { return side(r, r->turned ? g->b : g->a, 0); }
static Side col_side(const Packed *r, const GemmItem *g) { return side(r, r->turned ? g->a : g->b, 1); }

static const char *side_at(const Packed *r, Side s, long w, long k) { return at_elem(s.p, r->d->dtype, w * s.step + k * s.along); }

static PackFn pack_of(const Packed *r)
{
	return r->d->dtype == DT_F16 ? r->isa->pack_f16 : r->isa->pack;           /* bf16 is gemm_bf16.c's */
}

static GemmItem item_of(const Packed *r, long i) { return gemm_item(r->call, i); }

/* --- stretches of k ---------------------------------------------------------------------------------------------------- */

/* A round's k in equal stretches: what is packed of b stays in the second cache then.  Where b is not packed they may be longer,
 * so that c is come back to less often. */
static long stretch(const Packed *r) { return even_piece(max_l(r->kn, 1), r->b_packed ? PACK_K : STRETCH, 1); }

/* --- packing --------------------------------------------------------------------------------------------------------- */

static long stretches(const Packed *r) { return r->kn ? (r->kn + stretch(r) - 1) / stretch(r) : 0; }
static long b_units(const Packed *r) { return (b_count(r) + r->isa->cols - 1) / r->isa->cols; }
static long a_units(const Packed *r) { return r->a_packed ? (r->mn + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE : 0; }

/* unit u of an item: some panels of b or a over one stretch of k */
static void pack_unit(const Packed *r, const GemmItem *g, long item, long u)
{
	long nb = b_units(r), per = nb + a_units(r), at = u / per * stretch(r), k = min_l(stretch(r), r->kn - at), w = u % per;
	int second = w < nb, width = second ? r->isa->cols : r->isa->rows;
	long count = second ? b_count(r) : r->mn, from = second ? w * width : (w - nb) * ROWS_AT_ONCE, first = second ? r->j0 + b_from(r) : r->i0;
	Side s = second ? col_side(r, g) : row_side(r, g);
	char *dst = room_at(r, item, (second ? b_begins(r) : a_begins(r)) + at * up_to(count, width) + from * k);
	pack_of(r)(dst, side_at(r, s, first + from, r->k0 + at), width, s.step, s.along, min_l(second ? width : ROWS_AT_ONCE, count - from), k);
}

static int pack_units(RtLane *ln, void *ctx, long lo, long hi)
{
	const Packed *r = ctx;
	long per = stretches(r) * (b_units(r) + a_units(r));
	for (long i = lo; i < hi; i++) {
		GemmItem g = item_of(r, r->item + i / per);
		pack_unit(r, &g, r->item + i / per, i % per);
	}
	(void)ln;
	return 0;
}

/* --- tiles ------------------------------------------------------------------------------------------------------------ */

static void load_sums(RtLane *ln, const Packed *r, const GemmItem *g, char *sums, long i, long m, long j, long n)
{
	int t = g->d->dtype;
	for (long x = 0; x < m; x++)
		table_of(ln)->ld[t]((float *)(void *)sums + x * sums_stride(r), at_elem(g->c, t, (r->i0 + i + x) * g->d->ldc + r->j0 + j), 1, n);
}

/* the rectangle is whole: to its place, if it is not there yet, and through the epilogue */
static int finish(RtLane *ln, const Packed *r, const GemmItem *g, const char *sums, long i, long m, long j, long n)
{
	const struct pxlrt_gemm *d = r->d;
	int t = d->dtype;
	i += r->i0, j += r->j0;
	if (r->turned) {
		r->isa->turned(at_elem_mut(g->c, t, j * d->ldc + i), d->ldc, sums, sums_stride(r), n, m, d->beta);
		return gemm_epilogue(ln, g, j, n, i, m);
	}
	for (long x = 0; r->sums && x < m; x++)
		table_of(ln)->st[t](at_elem_mut(g->c, t, (i + x) * d->ldc + j), 1, (const float *)(const void *)sums + x * sums_stride(r), n);
	return gemm_epilogue(ln, g, i, m, j, n);
}

/* rows [i, i + m), columns [j, j + n) of the round; i and j at the begin of panels */
static int tile(RtLane *ln, const Packed *r, long item, long i, long m, long j, long n)
{
	const struct pxlrt_gemm *d = r->d;
	GemmItem g = item_of(r, item);
	Side a = row_side(r, &g), b = col_side(r, &g);
	char *sums = room_at(r, item, i * sums_stride(r) + j);
	char *out = r->sums ? sums : at_elem_mut(g.c, d->dtype, (r->i0 + i) * d->ldc + r->j0 + j);
	long ldo = r->sums ? sums_stride(r) : d->ldc, at = 0;
	double beta = r->k0 ? 1 : r->turned ? 0 : d->beta;
	if (r->sums && !r->k0 && beta != 0) load_sums(ln, r, &g, sums, i, m, j, n);
	long from = max_l(b_from(r) - j, 0), there = min_l(from, n);            /* columns of b that are read where they stand */
	do {
		long k = min_l(stretch(r), r->kn - at), lda = r->a_packed ? 0 : a.step;
		const char *pa = r->a_packed ? room_at(r, item, a_begins(r) + at * up_to(r->mn, r->isa->rows) + i * k) : side_at(r, a, r->i0 + i, r->k0 + at);
		const char *pb = room_at(r, item, b_begins(r) + at * up_to(b_count(r), r->isa->cols) + max_l(j - b_from(r), 0) * k);
		if (there) r->isa->direct(k, pa, lda, side_at(r, b, r->j0 + j, r->k0 + at), b.along, out, ldo, m, there, d->alpha, at ? 1 : beta);
		if (there < n) r->isa->block(k, pa, lda, pb, out + (size_t)there * r->size, ldo, m, n - there, d->alpha, at ? 1 : beta);
		at += k;
	} while (at < r->kn);
	return r->k0 + r->kn >= d->k ? finish(ln, r, &g, sums, i, m, j, n) : 0;
}

static int tiles(RtLane *ln, void *ctx, long lo, long hi)
{
	const Packed *r = ctx;
	long per = r->cut.rows * r->cut.cols;
	int st = 0;
	for (long x = lo; x < hi && !st; x++) {
		long i = x % per / r->cut.cols * r->cut.m, j = x % per % r->cut.cols * r->cut.n;
		st = tile(ln, r, r->item + x / per, i, min_l(r->cut.m, r->mn - i), j, min_l(r->cut.n, r->nn - j));
	}
	return st;
}

/* enough tiles for any pool; one is worth at least a sixth of a million multiply-adds.  Where k is short c is what moves, and
 * where b is packed it is read in order: whole rows of c, then. */
static GemmCut cut_of(const Packed *r)
{
	const GemmIsa *isa = r->isa;
	GemmCut c = { even_piece(r->mn, TILE_M, isa->rows), even_piece(r->nn, r->kn < SHORT_K || r->b_packed ? 1024 : TILE_N, isa->cols), 0, 0 };
	for (;;) {
		c.rows = (r->mn + c.m - 1) / c.m, c.cols = (r->nn + c.n - 1) / c.n;
		if (r->items * c.rows * c.cols >= PIECES || (double)c.m * (double)c.n * (double)r->kn < 3.3e5) return c;
		long m = even_piece(c.m, (c.m + 1) / 2, isa->rows), n = even_piece(c.n, (c.n + 1) / 2, isa->cols);
		if (m < c.m && m >= 4 * isa->rows && (r->b_packed || c.m >= c.n || n == c.n)) c.m = m;
		else if (n < c.n) c.n = n;
		else return c;
	}
}

/* --- rounds ------------------------------------------------------------------------------------------------------------ */

static int run_round(Packed *r)
{
	double ns = (double)PACK_K * (double)r->isa->cols * 0.15;
	long units = r->items * stretches(r) * (b_units(r) + a_units(r));
	int st = span_run(r->ln, pack_units, r, units, piece_of(units, ns));
	if (st) return st;
	r->cut = cut_of(r);
	ns = (double)r->cut.m * (double)r->cut.n * (double)(r->kn + 4) * 0.02;
	long n = r->items * r->cut.rows * r->cut.cols;
	return span_run(r->ln, tiles, r, n, piece_of(n, ns));
}

/* stretches of k innermost: sums stay where they are until the last of them */
static int run_items(Packed *r)
{
	long mn = r->mn, nn = r->nn, kn = r->kn;
	for (r->i0 = 0; r->i0 < r->m; r->i0 += mn) {
		r->mn = min_l(mn, r->m - r->i0);
		for (r->j0 = 0; r->j0 < r->n; r->j0 += nn) {
			r->nn = min_l(nn, r->n - r->j0);
			r->k0 = 0;
			do {
				r->kn = min_l(kn, r->d->k - r->k0);
				int st = run_round(r);
				if (st) return st;
				r->k0 += kn;
			} while (r->k0 < r->d->k);
		}
	}
	r->mn = mn, r->nn = nn, r->kn = kn;
	return 0;
}

/* packing the few rows of a and turning c over is less than packing b */
static int is_turned(const struct pxlrt_gemm *d)
{
	return d->dtype >= DT_F32 && d->tb && (double)d->m * (double)(d->k + 2 * d->n) < (double)d->k * (double)d->n;
}

int gemm_packed(RtLane *ln, const GemmCall *x, const GemmIsa *isa)
{
	const struct pxlrt_gemm *d = x->d;
	int native = d->dtype >= DT_F32;
	Packed r = { .ln = ln, .call = x, .d = d, .isa = isa, .size = d->dtype == DT_F64 ? 8 : 4, .turned = is_turned(d) };
	r.sums = r.turned || !native;
	r.a_packed = !native || (!r.turned && d->ta);
	r.b_packed = !r.a_packed || !native || d->tb || d->m > PLACED_ROWS || (double)d->k * (double)d->n > PLACED_B;
	r.m = r.turned ? d->n : d->m, r.n = r.turned ? d->m : d->n;
	fit(&r);
	long batch = gemm_batch(d), some = r.items;
	for (r.item = 0; r.item < batch; r.item += some) {
		r.items = min_l(some, batch - r.item);
		int st = run_items(&r);
		if (st) return st;
	}
	return 0;
}
