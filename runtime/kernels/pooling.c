/* pooling.c — means and maxima over windows, and their gradients; of 64-bit integers maxima alone.
 *
 * The last two axes are a plane, whose rows vec/pool.h does; the other axes' windows say which planes come together.
 * A maximum or sum takes in plane after plane, and a mean divides at the end.  Padding counts for nothing; no window
 * lies in it wholly.  Gradients go row by row of the source, so that pieces share no memory. */
#include "runtime/kernels/blocked.h"

#include <string.h>

typedef struct Pool {
	const struct pxlrt_window *d;
	const Isa *isa;
	int largest, outer;                  /* outer axes: all but the plane's */
	PoolPlane plane;
	const char *x, *y, *dy;
	char *to;
	long xs, ys;                         /* elements of a channel of x, of y */
} Pool;

/* a box of positions of the outer axes */
typedef struct Box { long lo[PXLRT_MAXSPACE], n[PXLRT_MAXSPACE], all; } Box;

/* taps of window `at` that are in range: the first's index, and how many */
static void window_of(const struct pxlrt_window *d, int i, long at, long *lo, long *n)
{
	long from = at * d->stride[i] - d->pad[i], to = min_l(from + d->k[i], d->x[i]);
	*lo = max_l(from, 0);
	*n = max_l(to - *lo, 0);
}

/* windows that take in index `at`: the first, and how many */
static void windows_at(const struct pxlrt_window *d, int i, long at, long *lo, long *n)
{
	long s = d->stride[i], last = (at + d->pad[i]) / s, below = at + d->pad[i] - d->k[i];
	*lo = below < 0 ? 0 : below / s + 1;
	*n = max_l(min_l(last, d->y[i] - 1) - *lo + 1, 0);
}

/* what plane `at` of a side with these extents meets on the other one; its channel */
static long box_at(const Pool *p, const long *dim, long at, void (*meets)(const struct pxlrt_window *, int, long, long *, long *), Box *b)
{
	b->all = 1;
	for (int i = p->outer - 1; i >= 0; i--) {
		meets(p->d, i, at % dim[i], &b->lo[i], &b->n[i]);
		b->all *= b->n[i];
		at /= dim[i];
	}
	return at;
}

/* number of plane k (row-major) of a box in the channel's, and how many planes a window there has */
static long plane_of(const Pool *p, const long *dim, const Box *b, long k, long *count)
{
	long plane = 0, scale = 1;
	*count = 1;
	for (int i = p->outer - 1; i >= 0; i--) {
		long at = b->lo[i] + k % b->n[i], lo, n;
		k /= b->n[i];
		plane += at * scale;
		scale *= dim[i];
		window_of(p->d, i, at, &lo, &n);
		*count *= n;
	}
	return plane;
}

/* rows of a plane are numbered through all planes: the plane, and its rows from `lo` on up to `hi` */
typedef struct Rows { long plane, from, to; } Rows;
static Rows rows_at(long rows, long lo, long hi)
{
	Rows r = { lo / rows, lo % rows, 0 };
	r.to = min_l(rows, r.from + hi - lo);
	return r;
}

/* what windows take from plane x, in rows [i0, i1) of plane y; more: y holds what other planes gave */
#define INT_MAX_ROWS(S, T) \
static void max_rows_##S(T *y, const T *x, const PoolPlane *p, long i0, long i1, T *acc, int more) \
{ \
	const PoolAxis *v = &p->axis[0], *h = &p->axis[1]; \
	(void)acc; \
	for (long i = i0; i < i1; i++) \
		for (long j = 0; j < h->y; j++) { \
			long r0 = max_l(i * v->stride - v->pad, 0), r1 = min_l(i * v->stride - v->pad + v->k, v->x); \
			long c0 = max_l(j * h->stride - h->pad, 0), c1 = min_l(j * h->stride - h->pad + h->k, h->x); \
			T most = more ? y[i * h->y + j] : x[r0 * h->x + c0]; \
			for (long r = r0; r < r1; r++) \
				for (long c = c0; c < c1; c++) most = x[r * h->x + c] > most ? x[r * h->x + c] : most; \
			y[i * h->y + j] = most; \
		} \
}
INT_MAX_ROWS(i64, i64)
INT_MAX_ROWS(u64, u64)

/* `take` does rows of one plane, `divide` what is left when all planes are in */
#define POOL_PLANES(S, T, take, divide) \
static int pool_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Pool *p = ctx; \
	long rows = p->plane.axis[0].y, size = rows * p->plane.axis[1].y, from = p->plane.axis[0].x * p->plane.axis[1].x; \
	T *acc = (size_t)p->plane.axis[1].x * sizeof(T) <= RT_SCRATCH_BYTES ? ln->scratch : NULL; \
	while (lo < hi) { \
		Rows r = rows_at(rows, lo, hi); \
		Box b; \
		long unused, channel = box_at(p, p->d->y, r.plane, window_of, &b); \
		T *y = (T *)(void *)p->to + r.plane * size; \
		for (long k = 0; k < b.all; k++) { \
			const T *x = (const T *)(const void *)p->x + channel * p->xs + plane_of(p, p->d->x, &b, k, &unused) * from; \
			(take)(y, x, &p->plane, r.from, r.to, acc, k > 0); \
		} \
		divide; \
		lo += r.to - r.from; \
	} \
	return 0; \
}
POOL_PLANES(i64, i64, max_rows_i64, (void)0)
POOL_PLANES(u64, u64, max_rows_u64, (void)0)

#define POOL(S, T) \
POOL_PLANES(S, T, p->largest ? p->isa->pool_##S->max : p->isa->pool_##S->sum, \
            if (!p->largest) p->isa->pool_##S->divide(y, &p->plane, r.from, r.to, b.all)) \
static int back_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Pool *p = ctx; \
	(void)ln; \
	long rows = p->plane.axis[0].x, w = p->plane.axis[1].x, from = p->plane.axis[0].y * p->plane.axis[1].y; \
	memset(p->to + (size_t)(lo * w) * sizeof(T), 0, (size_t)((hi - lo) * w) * sizeof(T)); \
	while (lo < hi) { \
		Rows r = rows_at(rows, lo, hi); \
		Box b; \
		long count, channel = box_at(p, p->d->x, r.plane, windows_at, &b); \
		T *dx = (T *)(void *)p->to + r.plane * rows * w; \
		for (long k = 0; k < b.all; k++) { \
			long at = channel * p->ys + plane_of(p, p->d->y, &b, k, &count) * from; \
			const T *x = (const T *)(const void *)p->x + r.plane * rows * w, *y = (const T *)(const void *)p->y + at, *dy = (const T *)(const void *)p->dy + at; \
			if (p->largest) p->isa->pool_##S->max_back(dx, x, y, dy, &p->plane, r.from, r.to); \
			else p->isa->pool_##S->mean_back(dx, dy, &p->plane, r.from, r.to, count); \
		} \
		lo += r.to - r.from; \
	} \
	return 0; \
}
POOL(f32, float)
POOL(f64, double)

static Pool pool_open(RtLane *ln, const struct pxlrt_window *d, int largest)
{
	Pool p = { .d = d, .isa = isa_of(ln), .largest = largest, .outer = (int)max_l(d->rank - 2, 0), .xs = 1, .ys = 1 };
	p.plane.axis[0] = (PoolAxis){ 1, 1, 1, 1, 0 };
	for (int i = p.outer; i < d->rank; i++) p.plane.axis[i - d->rank + 2] = (PoolAxis){ d->x[i], d->y[i], d->k[i], d->stride[i], d->pad[i] };
	for (int i = 0; i < d->rank; i++) p.xs *= d->x[i], p.ys *= d->y[i];
	return p;
}

/* rows of the side with these extents, over the pool */
static int run(RtLane *ln, Pool *p, const long *dim, SpanBody body)
{
	const struct pxlrt_window *d = p->d;
	long rows = d->images * d->groups;
	double taps = 1;
	for (int i = 0; i < d->rank - 1; i++) rows *= dim[i];
	for (int i = 0; i < d->rank; i++) taps *= (double)d->k[i];
	return span_run(ln, body, p, rows, piece_of(rows, 5 + taps * 0.1 * (double)dim[d->rank - 1]));
}

int k_pool(struct pxlrt_lane *lane, const struct pxlrt_window *d, int largest, const void *x, void *y)
{
	if (is_blocked(d)) return blocked_pool(lane, d, largest, x, y);
	Pool p = pool_open(rt_lane(lane), d, largest);
	p.x = x, p.to = y;
	static const SpanBody of[PXLRT_NCLASS] = {
		[PXLRT_F32] = pool_f32, [PXLRT_F64] = pool_f64, [PXLRT_I64] = pool_i64, [PXLRT_U64] = pool_u64
	};
	return run(rt_lane(lane), &p, d->y, of[class_of(d->xtype)]);
}

int k_average_back(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *dy, void *dx)
{
	if (is_blocked(d)) return blocked_average_back(lane, d, dy, dx);
	Pool p = pool_open(rt_lane(lane), d, 0);
	p.dy = dy, p.to = dx;
	return run(rt_lane(lane), &p, d->x, d->xtype == DT_F64 ? back_f64 : back_f32);
}

int k_max_back(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *x, const void *y, const void *dy, void *dx)
{
	if (is_blocked(d)) return blocked_max_back(lane, d, x, y, dy, dx);
	if (d->relu) return RT_EINTERNAL;
	Pool p = pool_open(rt_lane(lane), d, 1);
	p.x = x, p.y = y, p.dy = dy, p.to = dx;
	return run(rt_lane(lane), &p, d->x, d->xtype == DT_F64 ? back_f64 : back_f32);
}
