/* attention.c — softmax(scale q kᵀ + mask) v by blocks, forward and backward: the scores are never there as a whole.
 *
 * Forward, a piece is a block of queries.  It goes over the blocks of keys with a maximum and a sum for each query, and
 * scales what it has when the maximum rises.  Of each query the log of the sum is kept, so that backward a block of
 * probabilities is one product and one exponential again.  There a piece is a whole item if there are enough of those;
 * else the queries' gradients are made by blocks of queries, and then those of keys and values by blocks of keys: two
 * more products for each block, but no two pieces write one place.  Blocks and pieces follow from shapes alone.
 *
 * Numbers are computed in f32 (f64 for f64), sums of exponentials in double.  A query that sees no key gives 0. */
#include "runtime/kernels/matmul.h"
#include "runtime/kernels/vmath.h"

#include <string.h>

enum { Q, K, V, MASK, Y, LSE, G, GLSE, INPUTS };
enum { DQ, DK, DV, DS, RESULTS };
enum { ROWS = 128, STRIP = 32, WIDE_HEAD = 256, ENOUGH_ITEMS = 8, FEW = 8 };

typedef struct Item Item;
typedef struct Room { char *at; char *a, *b; } Room;       /* scratch; a, b: packed operands of a product */

typedef struct Attend {
	const struct pxlrt *rt;
	const Isa *isa;
	const GemmIsa *gemm;
	const struct pxlrt_attention *d;
	const char *in[INPUTS];
	char *out[RESULTS];                  /* forward: y and lse */
	int wide;                            /* f64 */
	size_t size;                         /* of a number that is computed with */
	long rows;                           /* of a block */
	void (*block)(const Item *, Room, long at, long n);
	long along;
} Attend;

/* one item: where its operands begin */
struct Item { const Attend *s; long at; const char *q, *k, *v, *mask, *g; };

/* a block of numbers to compute with, rows `ld` apart */
typedef struct Tile { void *p; long ld; } Tile;

/* --- numbers --------------------------------------------------------------------------------------------------------- */

static void *nth(const Attend *s, const void *p, long i) { return (char *)(uintptr_t)p + i * (long)s->size; }
static void *row(const Attend *s, Tile t, long i) { return nth(s, t.p, i * t.ld); }
static double get(const Attend *s, const void *p, long i) { return s->wide ? ((const double *)p)[i] : (double)((const float *)p)[i]; }
static void put(const Attend *s, void *p, long i, double x)
{
	if (s->wide) ((double *)p)[i] = x;
	else ((float *)p)[i] = (float)x;
}
static int class_here(const Attend *s) { return s->wide ? PXLRT_F64 : PXLRT_F32; }

static double row_max(const Attend *s, const void *x, long n)
{
	Block b;
	s->isa->fold->max[class_here(s)](&b, x, n);
	return get(s, &b, 0);
}
static double row_exp(const Attend *s, void *x, double less, long n)
{
	return s->wide ? s->isa->row->exp_sum_f64(x, x, less, n) : s->isa->row->exp_sum_f32(x, x, (float)less, n);
}
static void row_scale(const Attend *s, void *x, double by, long n)
{
	if (s->wide) s->isa->row->scale_f64(x, x, by, n);
	else s->isa->row->scale_f32(x, x, (float)by, n);
}
static void row_add(const Attend *s, void *x, const void *y, long n)
{
	if (s->wide) s->rt->f64->add(x, x, y, n);
	else s->rt->f32->add(x, x, y, n);
}
/* p (g - dot) into g */
static void row_back(const Attend *s, const void *p, void *g, double dot, long n)
{
	if (s->wide) s->isa->row->back_f64(g, p, g, dot, n);
	else s->isa->row->back_f32(g, p, g, (float)dot, n);
}
static double row_dot(const Attend *s, const void *x, const void *y, long n)
{
	Block p;
	Acc a;
	if (s->wide) s->rt->f64->mul(p.f64, x, y, n);
	else s->rt->f32->mul(p.f32, x, y, n);
	s->isa->fold->sum[class_here(s)](&a, &p, n);
	return a.f;
}

/* --- memory ------------------------------------------------------------------------------------------------------------ */

static void *take(Room *r, const Attend *s, long n)
{
	char *p = r->at;
	r->at += ((size_t)n * s->size + 63) / 64 * 64;
	return p;
}

static long longest(const Attend *s) { return max_l(max_l(s->d->d, s->d->dv), 1); }

static Room room_of(RtLane *ln, const Attend *s)
{
	Room r = { .at = ln->scratch };
	long cols = s->gemm->cols, rows = s->gemm->rows;
	r.a = take(&r, s, s->rows * (s->rows + rows));
	r.b = take(&r, s, max_l(PACK_K * (s->rows + cols), s->rows * (longest(s) + cols)));
	return r;
}

static Item item_of(const Attend *s, long i)
{
	const struct pxlrt_attention *d = s->d;
	long q = 0, k = 0, v = 0, m = 0, g = 0;
	Item it = { .s = s, .at = i };
	for (int x = d->nb - 1; x >= 0; i /= d->bdim[x--]) {
		long at = i % d->bdim[x];
		q += at * d->sq[x], k += at * d->sk[x], v += at * d->sv[x], m += at * d->sm[x], g += at * d->sg[x];
	}
	it.q = at_elem(s->in[Q], d->dtype, q);
	it.k = at_elem(s->in[K], d->dtype, k);
	it.v = at_elem(s->in[V], d->dtype, v);
	if (s->in[MASK]) it.mask = at_elem(s->in[MASK], d->dtype, m);
	if (s->in[G]) it.g = at_elem(s->in[G], d->dtype, g);
	return it;
}

static long items_of(const struct pxlrt_attention *d)
{
	long n = 1;
	for (int x = 0; x < d->nb; x++) n *= d->bdim[x];
	return n;
}

/* m rows of an operand from i0 on: where they stand, or (16-bit floats) widened into room */
static Tile operand_rows(const Attend *s, Room *r, const char *p, long stride, long i0, long m, long width)
{
	int t = s->d->dtype;
	const char *from = at_elem(p, t, i0 * stride);
	if (is_native(t)) return (Tile){ (void *)(uintptr_t)from, max_l(stride, 1) };
	Tile y = { take(r, s, m * max_l(width, 1)), max_l(width, 1) };
	for (long i = 0; i < m; i++) s->rt->ld[t](row(s, y, i), at_elem(from, t, i * stride), 1, width);
	return y;
}

static Tile zeros(const Attend *s, Room *r, long m, long width)
{
	Tile y = { take(r, s, m * width), width };
	memset(y.p, 0, (size_t)(m * width) * s->size);
	return y;
}

static void store_rows(const Attend *s, char *to, long at, Tile x, long m, long width)
{
	int t = s->d->dtype;
	for (long i = 0; i < m; i++) s->rt->st[t](at_elem_mut(to, t, (at + i) * width), 1, row(s, x, i), width);
}

/* --- products ------------------------------------------------------------------------------------------------------------ */

/* keys that query i sees: the first so many */
static long seen(const struct pxlrt_attention *d, long i)
{
	return d->causal ? min_l(d->lk, max_l(0, i + 1 + d->lk - d->lq)) : d->lk;
}

/* m queries from i0 against n keys from k0.  Under `causal` products go by strips of queries, each as far as its last one sees. */
typedef struct Area { const struct pxlrt_attention *d; long i0, m, k0, n; } Area;

static long reach(const Area *a, long i) { return max_l(0, min_l(a->n, seen(a->d, a->i0 + i) - a->k0)); }
static long first_to_see(const Area *a, long j) { return a->d->causal ? max_l(0, a->k0 + j - a->d->lk + a->d->lq - a->i0) : 0; }
static long strip(const Area *a) { return a->d->causal ? STRIP : a->m; }

/* an operand of the model as the right side: element (k, j) at k·down + j·across */
typedef struct Right { const char *p; long down, across; } Right;

static void pack_right(const Attend *s, const Room *r, Right b, long at, long n, long k)
{
	int t = s->d->dtype;
	void (*pack)(void *, const void *, int, long, long, long, long) = t == DT_F16 ? s->gemm->pack_f16 : t == DT_BF16 ? s->gemm->pack_bf16 : s->gemm->pack;
	pack(r->b, at_elem(b.p, t, at * b.down), s->gemm->cols, b.across, b.down, n, k);
}

/* for a few queries packing costs more than the product: keys and values are read where they stand */
static int in_place(const Attend *s, const Area *w) { return w->m <= FEW && is_native(s->d->dtype); }

/* c[m, n] = alpha a b: rows of queries times rows of keys, `width` of numbers */
static void onto_keys(const Attend *s, const Room *r, const Area *w, Tile a, Right b, long width, Tile c, double alpha)
{
	long at = 0;
	if (in_place(s, w)) {
		s->gemm->direct_t(width, a.p, a.ld, b.p, b.across, c.p, c.ld, w->m, reach(w, w->m - 1), alpha, 0);
		return;
	}
	do {
		long kn = min_l(PACK_K, width - at);
		pack_right(s, r, b, at, w->n, kn);
		for (long i = 0, m; i < w->m; i += m) {
			m = min_l(strip(w), w->m - i);
			s->gemm->block(kn, nth(s, a.p, i * a.ld + at), a.ld, r->b, row(s, c, i), c.ld, m, reach(w, i + m - 1), alpha, at > 0);
		}
		at += kn;
	} while (at < width);
}

/* c += alpha a b with both packed, or a row by row (lda > 0), for the k from `from` on out of `kn` that were packed */
static void by_panels(const Attend *s, const Room *r, const char *a, long lda, Tile c, long m, long width, long from, long k, long kn, double alpha)
{
	long cols = k == kn ? max_l(width, 1) : s->gemm->cols;
	for (long j = 0; k > 0 && j < width; j += cols)
		s->gemm->block(k, a, lda, nth(s, r->b, j * kn + from * cols), nth(s, c.p, j), c.ld, m, min_l(cols, width - j), alpha, 1);
}

/* the last columns, that fill no whole vector, are made with some that were made before, and only they are added */
static void over_few_keys(const Attend *s, long k, long m, Tile a, Right b, long width, Tile c, double alpha)
{
	long lanes = s->gemm->lanes, rest = width % lanes;
	double room[FEW * CACHE_LINE / sizeof(double)];
	s->gemm->direct(k, a.p, a.ld, b.p, b.down, c.p, c.ld, m, width - rest, alpha, 1);
	if (!rest) return;
	s->gemm->direct(k, a.p, a.ld, nth(s, b.p, width - lanes), b.down, room, lanes, m, lanes, alpha, 0);
	for (long i = 0; i < m; i++) row_add(s, nth(s, row(s, c, i), width - rest), nth(s, room, i * lanes + lanes - rest), rest);
}

/* c[m, width] += alpha a b: sums over keys; b has a row for each */
static void over_keys(const Attend *s, const Room *r, const Area *w, Tile a, Right b, long width, Tile c, double alpha)
{
	if (in_place(s, w) && width >= s->gemm->lanes) {
		over_few_keys(s, reach(w, w->m - 1), w->m, a, b, width, c, alpha);
		return;
	}
	pack_right(s, r, b, 0, width, w->n);
	for (long i = 0, m; i < w->m; i += m) {
		m = min_l(strip(w), w->m - i);
		by_panels(s, r, row(s, a, i), a.ld, (Tile){ row(s, c, i), c.ld }, m, width, 0, reach(w, i + m - 1), w->n, alpha);
	}
}

/* c[n, width] += alpha aᵀ b: sums over queries; b has a row for each */
static void over_queries(const Attend *s, const Room *r, const Area *w, Tile a, Right b, long width, Tile c, double alpha)
{
	long some = w->d->causal ? s->gemm->rows : w->n;
	s->gemm->pack(r->a, a.p, s->gemm->rows, 1, a.ld, w->n, w->m);
	pack_right(s, r, b, 0, width, w->m);
	for (long j = 0; j < w->n; j += some) {
		long from = first_to_see(w, j);
		by_panels(s, r, nth(s, r->a, j * w->m + from * some), 0, (Tile){ row(s, c, j), c.ld }, min_l(some, w->n - j), width, from, w->m - from, w->m, alpha);
	}
}

/* scores of an area's queries q; what one does not see is left as it is */
static void scores(const Item *it, const Room *r, const Area *w, Tile q, Tile y)
{
	const Attend *s = it->s;
	const struct pxlrt_attention *d = s->d;
	onto_keys(s, r, w, q, (Right){ at_elem(it->k, d->dtype, w->k0 * d->rk), 1, d->rk }, d->d, y, d->scale);
	for (long i = 0; it->mask && i < w->m; i++) {
		Block b;
		s->rt->ld[d->dtype](&b, at_elem(it->mask, d->dtype, (w->i0 + i) * d->mask_row + w->k0 * d->mask_col), d->mask_col, reach(w, i));
		row_add(s, row(s, y, i), &b, reach(w, i));
	}
}

/* what query i does not see of its row is nothing */
static void row_clear(const Attend *s, const Area *w, Tile x, long i)
{
	long n = reach(w, i);
	memset(nth(s, row(s, x, i), n), 0, (size_t)(w->n - n) * s->size);
}

/* --- forward --------------------------------------------------------------------------------------------------------------- */

/* what a query has seen so far: the largest score, and the sum of exponentials below it */
typedef struct Seen { double top[ROWS], sum[ROWS]; } Seen;

static double finite_top(double x) { return x == -INFINITY ? 0 : x; }

/* scores to exponentials; what was summed up below a lower maximum is scaled */
static void exponentials(const Attend *s, Seen *w, const Area *a, Tile x, Tile y)
{
	for (long i = 0; i < a->m; i++) {
		long n = reach(a, i);
		double top = row_max(s, row(s, x, i), n), old = w->top[i];
		w->top[i] = top > old || top != top ? top : old;
		double base = finite_top(w->top[i]), part = row_exp(s, row(s, x, i), base, n);
		if (w->sum[i] != 0 && old != w->top[i]) {
			double less = exp_f64(old - base);
			w->sum[i] *= less;
			row_scale(s, row(s, y, i), less, s->d->dv);
		}
		w->sum[i] += part;
		row_clear(s, a, x, i);
	}
}

static void forward(const Item *it, Room r, long i0, long m)
{
	const Attend *s = it->s;
	const struct pxlrt_attention *d = s->d;
	Seen w;
	Tile q = operand_rows(s, &r, it->q, d->rq, i0, m, d->d), x = { take(&r, s, m * s->rows), s->rows }, y = zeros(s, &r, m, max_l(d->dv, 1));
	for (long i = 0; i < m; i++) w.top[i] = -INFINITY, w.sum[i] = 0;
	for (long k0 = 0, end = seen(d, i0 + m - 1); k0 < end; k0 += s->rows) {
		Area a = { d, i0, m, k0, min_l(s->rows, end - k0) };
		scores(it, &r, &a, q, x);
		exponentials(s, &w, &a, x, y);
		over_keys(s, &r, &a, x, (Right){ at_elem(it->v, d->dtype, k0 * d->rv), d->rv, 1 }, d->dv, y, 1);
	}
	for (long i = 0; i < m; i++) {
		row_scale(s, row(s, y, i), w.sum[i] == 0 ? 0 : 1 / w.sum[i], d->dv);
		put(s, s->out[1], it->at * d->lq + i0 + i, w.sum[i] == 0 ? -INFINITY : w.top[i] + log_f64(w.sum[i]));
	}
	store_rows(s, s->out[0], it->at * d->lq + i0, y, m, d->dv);
}

static long blocks_of(const Attend *s, long n) { return (n + s->rows - 1) / s->rows; }

/* a piece is a block of the rows that `along` counts, of one item */
static int blocks_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Attend *s = ctx;
	long per = blocks_of(s, s->along);
	for (long i = lo; i < hi; i++) {
		Item it = item_of(s, i / per);
		long at = i % per * s->rows;
		s->block(&it, room_of(ln, s), at, min_l(s->rows, s->along - at));
	}
	return 0;
}

/* --- backward ---------------------------------------------------------------------------------------------------------------- */

/* Probabilities into x and the scores' gradient into ds. */
static void area_back(const Item *it, const Room *r, const Area *w, Tile q, Tile g, Tile x, Tile ds)
{
	const Attend *s = it->s;
	const struct pxlrt_attention *d = s->d;
	int t = d->dtype;
	scores(it, r, w, q, x);
	onto_keys(s, r, w, g, (Right){ at_elem(it->v, t, w->k0 * d->rv), 1, d->rv }, d->dv, ds, 1);
	for (long i = 0; i < w->m; i++) {
		long at = it->at * d->lq + w->i0 + i, n = reach(w, i);
		Block y;
		s->rt->ld[t](&y, at_elem(s->in[Y], t, at * d->dv), 1, d->dv);
		double dot = row_dot(s, &y, row(s, g, i), d->dv) - (s->in[GLSE] ? get(s, s->in[GLSE], at) : 0);
		row_exp(s, row(s, x, i), finite_top(get(s, s->in[LSE], at)), n);
		row_back(s, row(s, x, i), row(s, ds, i), dot, n);
		row_clear(s, w, x, i);
		row_clear(s, w, ds, i);
	}
}

/* what the area gives: to its queries (dq), or to its keys and values (dk, dv), or both */
static void area_add(const Item *it, Room r, Area w, Tile dq, Tile dk, Tile dv)
{
	const Attend *s = it->s;
	const struct pxlrt_attention *d = s->d;
	int t = d->dtype;
	Tile q = operand_rows(s, &r, it->q, d->rq, w.i0, w.m, d->d), g = operand_rows(s, &r, it->g, d->rg, w.i0, w.m, d->dv);
	Tile x = { take(&r, s, w.m * s->rows), s->rows }, ds = { take(&r, s, w.m * s->rows), s->rows };
	area_back(it, &r, &w, q, g, x, ds);
	if (dq.p) over_keys(s, &r, &w, ds, (Right){ at_elem(it->k, t, w.k0 * d->rk), d->rk, 1 }, d->d, dq, d->scale);
	if (dv.p) over_queries(s, &r, &w, x, (Right){ at_elem(it->g, t, w.i0 * d->rg), d->rg, 1 }, d->dv, dv, 1);
	if (dk.p) over_queries(s, &r, &w, ds, (Right){ at_elem(it->q, t, w.i0 * d->rq), d->rq, 1 }, d->d, dk, d->scale);
	for (long i = 0; dq.p && s->out[DS] && i < w.m; i++)
		s->rt->st[t](at_elem_mut(s->out[DS], t, (it->at * d->lq + w.i0 + i) * d->lk + w.k0), 1, row(s, ds, i), w.n);
}

/* n keys from k0, against all queries that see them; all: the item's dq grows where it stands */
static void back_all(const Item *it, Room r, long k0, long n, int all)
{
	const Attend *s = it->s;
	const struct pxlrt_attention *d = s->d;
	long wk = max_l(d->d, 1), wv = max_l(d->dv, 1);
	Tile dk = zeros(s, &r, n, wk), dv = zeros(s, &r, n, wv);
	for (long i0 = 0; i0 < d->lq; i0 += s->rows) {
		long m = min_l(s->rows, d->lq - i0);
		Tile dq = { all ? nth(s, s->out[DQ], (it->at * d->lq + i0) * d->d) : NULL, wk };
		if (seen(d, i0 + m - 1) > k0) area_add(it, r, (Area){ d, i0, m, k0, n }, dq, dk, dv);
	}
	store_rows(s, s->out[DK], it->at * d->lk + k0, dk, n, d->d);
	store_rows(s, s->out[DV], it->at * d->lk + k0, dv, n, d->dv);
}

static void back_keys(const Item *it, Room r, long k0, long n) { back_all(it, r, k0, n, 0); }

static void back_queries(const Item *it, Room r, long i0, long m)
{
	const Attend *s = it->s;
	const struct pxlrt_attention *d = s->d;
	Tile dq = zeros(s, &r, m, max_l(d->d, 1)), none = { 0 };
	for (long k0 = 0, end = seen(d, i0 + m - 1); k0 < end; k0 += s->rows) area_add(it, r, (Area){ d, i0, m, k0, min_l(s->rows, end - k0) }, dq, none, none);
	store_rows(s, s->out[DQ], it->at * d->lq + i0, dq, m, d->d);
}

static int items_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Attend *s = ctx;
	long per = s->d->lq * s->d->d;
	for (long i = lo; i < hi; i++) {
		Item it = item_of(s, i);
		memset(nth(s, s->out[DQ], i * per), 0, (size_t)per * s->size);
		for (long k0 = 0; k0 < s->d->lk; k0 += s->rows) back_all(&it, room_of(ln, s), k0, min_l(s->rows, s->d->lk - k0), 1);
	}
	return 0;
}

/* --- entries ------------------------------------------------------------------------------------------------------------------ */

static Attend attend(RtLane *ln, const struct pxlrt_attention *d)
{
	int wide = d->dtype == DT_F64;
	return (Attend){
		.rt = table_of(ln), .isa = isa_of(ln), .gemm = wide ? isa_of(ln)->gemm_f64 : isa_of(ln)->gemm_f32, .d = d, .wide = wide,
		.size = wide ? 8 : 4, .rows = max_l(d->d, d->dv) > WIDE_HEAD ? ROWS / 2 : ROWS,
	};
}

/* n pieces, each `rows` against all `others` */
static int run(RtLane *ln, SpanBody body, Attend *s, long n, long rows, long others, double products)
{
	double ns = (double)rows * (double)others * ((double)(s->d->d + s->d->dv) * 0.01 * products + 1);
	return n > 0 ? span_run(ln, body, s, n, piece_of(n, ns)) : 0;
}

static int run_blocks(RtLane *ln, Attend *s, void (*block)(const Item *, Room, long, long), long along, long others, double products)
{
	s->block = block;
	s->along = along;
	return run(ln, blocks_body, s, items_of(s->d) * blocks_of(s, along), min_l(s->rows, along), others, products);
}

int k_attention(struct pxlrt_lane *lane, const struct pxlrt_attention *d, const void *q, const void *k, const void *v, const void *mask, void *y, void *lse)
{
	RtLane *ln = rt_lane(lane);
	Attend s = attend(ln, d);
	s.in[Q] = q, s.in[K] = k, s.in[V] = v, s.in[MASK] = mask;
	s.out[0] = y, s.out[1] = lse;
	return run_blocks(ln, &s, forward, d->lq, d->lk, 1);
}

int k_attention_back(struct pxlrt_lane *lane, const struct pxlrt_attention *d, const void *const *x, void *const *dx)
{
	RtLane *ln = rt_lane(lane);
	Attend s = attend(ln, d);
	long n = items_of(d);
	for (int i = 0; i < INPUTS; i++) s.in[i] = x[i];
	for (int i = 0; i < RESULTS; i++) s.out[i] = dx[i];
	if (s.out[DS]) memset(s.out[DS], 0, (size_t)(n * d->lq * d->lk) * dtype_size((DType)d->dtype));
	if (n >= ENOUGH_ITEMS && is_native(d->dtype)) return run(ln, items_body, &s, n, d->lq, d->lk, 2.5);
	int bad = run_blocks(ln, &s, back_queries, d->lq, d->lk, 1.5);
	return bad ? bad : run_blocks(ln, &s, back_keys, d->lk, d->lq, 2);
}
