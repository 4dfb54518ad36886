/* pooling.c — means and maxima over windows, and their gradients.
 *
 * Work goes row by row of the last axis: the rows that the other axes' windows take in are combined element by element,
 * then the last axis' windows slide over what came out.  Padding counts for nothing; no window lies in it wholly.
 * The gradient of a mean takes the same two steps backwards; that of a maximum looks at every tap, for each that is equal
 * to the maximum receives all of its gradient. */
#include "runtime/kernels/kernels.h"

#include <string.h>

typedef struct Pool {
	const struct pxlrt *rt;
	const struct pxlrt_window *d;
	int largest;
	const char *x, *y, *dy;
	char *to;
	long xs, ys;                         /* elements of a channel of x, of y */
} Pool;

/* a box of outer positions, all axes but the last */
typedef struct Outer { long lo[PXLRT_MAXSPACE], n[PXLRT_MAXSPACE]; } Outer;

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

/* positions of the outer axes from a row's number, and the channel */
static long outer_at(const struct pxlrt_window *d, const long *dim, long row, long *at)
{
	for (int i = d->rank - 2; i >= 0; i--) at[i] = row % dim[i], row /= dim[i];
	return row;
}

/* row number of place k (row-major) of a box, and how many elements a window there has outside the last axis */
static long outer_row(const struct pxlrt_window *d, const long *dim, const Outer *o, long k, long *count)
{
	long row = 0, scale = 1;
	*count = 1;
	for (int i = d->rank - 2; i >= 0; i--) {
		long at = o->lo[i] + k % o->n[i], lo, n;
		k /= o->n[i];
		row += at * scale;
		scale *= dim[i];
		window_of(d, i, at, &lo, &n);
		*count *= n;
	}
	return row;
}

static long outer_count(const struct pxlrt_window *d, const Outer *o)
{
	long n = 1;
	for (int i = 0; i < d->rank - 1; i++) n *= o->n[i];
	return n;
}

/* windows of the last axis that a stretch of scratch is good for; wider ones are refused when the op is built */
enum { STRETCH = 1 << 16 };

#define POOL(S, T) \
/* rows of the box, elements [from, from + n) combined into acc */ \
static void gather_##S(const Pool *p, const T *x, const Outer *o, T *acc, long from, long n) \
{ \
	const struct pxlrt_window *d = p->d; \
	long w = d->x[d->rank - 1], unused; \
	for (long k = 0, rows = outer_count(d, o); k < rows; k++) { \
		const T *row = x + outer_row(d, d->x, o, k, &unused) * w + from; \
		if (k == 0) memcpy(acc, row, (size_t)n * sizeof(T)); \
		else if (p->largest) p->rt->S.max(acc, acc, row, n); \
		else p->rt->S.add(acc, acc, row, n); \
	} \
} \
static void slide_##S(const Pool *p, const T *acc, long base, T *y, long j0, long j1, long count) \
{ \
	const struct pxlrt_window *d = p->d; \
	for (long j = j0; j < j1; j++) { \
		long lo, n; \
		window_of(d, d->rank - 1, j, &lo, &n); \
		const T *a = acc + lo - base; \
		T v = a[0]; \
		if (p->largest) for (long k = 1; k < n; k++) v = (v > a[k]) | (v != v) ? v : a[k]; \
		else for (long k = 1; k < n; k++) v += a[k]; \
		y[j] = p->largest ? v : v / (T)(n * count); \
	} \
} \
static int rows_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Pool *p = ctx; \
	const struct pxlrt_window *d = p->d; \
	int last = d->rank - 1; \
	for (long r = lo; r < hi; r++) { \
		Outer o; \
		long at[PXLRT_MAXSPACE], from, n, end, count = 1, channel = outer_at(d, d->y, r, at); \
		for (int i = 0; i < last; i++) { \
			window_of(d, i, at[i], &o.lo[i], &o.n[i]); \
			count *= o.n[i]; \
		} \
		for (long j = 0, step = max_l(1, STRETCH / d->stride[last]); j < d->y[last]; j += step) { \
			long stop = min_l(j + step, d->y[last]); \
			window_of(d, last, j, &from, &n); \
			window_of(d, last, stop - 1, &end, &n); \
			gather_##S(p, (const T *)(const void *)p->x + channel * p->xs, &o, ln->scratch, from, end + n - from); \
			slide_##S(p, ln->scratch, from, (T *)(void *)p->to + r * d->y[last], j, stop, count); \
		} \
	} \
	return 0; \
} \
static void add_mean_##S(const Pool *p, const T *dy, T *dx, T part) \
{ \
	const struct pxlrt_window *d = p->d; \
	for (long j = 0; j < d->y[d->rank - 1]; j++) { \
		long lo, n; \
		window_of(d, d->rank - 1, j, &lo, &n); \
		T v = dy[j] * (part / (T)n); \
		for (long k = 0; k < n; k++) dx[lo + k] += v; \
	} \
} \
static void add_max_##S(const Pool *p, const T *x, const T *y, const T *dy, T *dx) \
{ \
	const struct pxlrt_window *d = p->d; \
	for (long j = 0; j < d->y[d->rank - 1]; j++) { \
		long lo, n; \
		window_of(d, d->rank - 1, j, &lo, &n); \
		for (long k = lo; k < lo + n; k++) dx[k] += x[k] == y[j] ? dy[j] : 0; \
	} \
} \
static int back_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Pool *p = ctx; \
	const struct pxlrt_window *d = p->d; \
	int last = d->rank - 1; \
	(void)ln; \
	for (long r = lo; r < hi; r++) { \
		Outer o; \
		long at[PXLRT_MAXSPACE], channel = outer_at(d, d->x, r, at), count; \
		T *dx = (T *)(void *)p->to + r * d->x[last]; \
		const T *dy = (const T *)(const void *)p->dy + channel * p->ys, *y = (const T *)(const void *)p->y + channel * p->ys; \
		memset(dx, 0, (size_t)d->x[last] * sizeof(T)); \
		for (int i = 0; i < last; i++) windows_at(d, i, at[i], &o.lo[i], &o.n[i]); \
		for (long k = 0, n = outer_count(d, &o); k < n; k++) { \
			long row = outer_row(d, d->y, &o, k, &count) * d->y[last]; \
			if (p->largest) add_max_##S(p, (const T *)(const void *)p->x + r * d->x[last], y + row, dy + row, dx); \
			else add_mean_##S(p, dy + row, dx, 1 / (T)count); \
		} \
	} \
	return 0; \
}
POOL(f32, float)
POOL(f64, double)

/* rows of the side with these extents, over the pool; ns: of one element of a row */
static int run(RtLane *ln, Pool *p, const long *dim, SpanBody f32, SpanBody f64, double ns)
{
	const struct pxlrt_window *d = p->d;
	long rows = d->images * d->groups;
	p->xs = p->ys = 1;
	for (int i = 0; i < d->rank; i++) p->xs *= d->x[i], p->ys *= d->y[i];
	for (int i = 0; i < d->rank - 1; i++) rows *= dim[i];
	return span_run(ln, d->xtype == DT_F64 ? f64 : f32, p, rows, piece_of(rows, 20 + ns * (double)dim[d->rank - 1]));
}

static double taps_of(const struct pxlrt_window *d)
{
	double n = 1;
	for (int i = 0; i < d->rank; i++) n *= (double)d->k[i];
	return n;
}

int k_pool(struct pxlrt_lane *lane, const struct pxlrt_window *d, int largest, const void *x, void *y)
{
	RtLane *ln = rt_lane(lane);
	Pool p = { .rt = table_of(ln), .d = d, .largest = largest, .x = x, .to = y };
	return run(ln, &p, d->y, rows_f32, rows_f64, taps_of(d) * 0.5);
}

int k_average_back(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *dy, void *dx)
{
	RtLane *ln = rt_lane(lane);
	Pool p = { .rt = table_of(ln), .d = d, .dy = dy, .to = dx, .y = dy };
	return run(ln, &p, d->x, back_f32, back_f64, taps_of(d));
}

int k_max_back(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *x, const void *y, const void *dy, void *dx)
{
	RtLane *ln = rt_lane(lane);
	Pool p = { .rt = table_of(ln), .d = d, .largest = 1, .x = x, .y = y, .dy = dy, .to = dx };
	return run(ln, &p, d->x, back_f32, back_f64, taps_of(d));
}
