/* axis.c — along one axis: argmax, argmin and running sums.
 *
 * COLS neighbouring lines go together when the axis is not the last; a contiguous line is read in blocks. */
#include "runtime/kernels/kernels.h"

#include <string.h>

enum { COLS = 256 };

typedef struct Line {
	const struct pxlrt *rt;
	const Isa *isa;
	const struct pxlrt_axis *d;
	int flag;                            /* argmax: smallest; cumsum: reverse */
	const char *x;
	void *y;
} Line;

/* --- extremes: ties go to the lowest index; a NaN counts as above +inf ------------------------------------------------ */

static int above(double p, double q) { return p > q || (p != p && q == q); }

#define BEATS(P, Q) (smallest ? above(Q, P) : above(P, Q))
#define BEATS_INT(P, Q) (smallest ? (P) < (Q) : (P) > (Q))

enum { LOOK = 64 };                          /* elements compared at a time */

#define BEST(S, T, beats) \
static const T *line_part_##S(const Line *l, Block *room, long base, long at, int direct) \
{ \
	const char *x = at_elem(l->x, l->d->dtype, base + at); \
	if (direct) return (const T *)(const void *)x; \
	l->rt->ld[l->d->dtype](room, x, 1, min_l(BLOCK_MAX, l->d->n - at)); \
	return (const T *)room; \
} \
/* the first of n that is x, or a NaN if that is one; there is one */ \
static long first_##S(const T *v, T x, long n) \
{ \
	long i = 0; \
	for (int any = 0; i + LOOK <= n; i += LOOK) { \
		for (int j = 0; j < LOOK; j++) any |= (v[i + j] == x) | ((v[i + j] != v[i + j]) & (x != x)); \
		if (any) break; \
	} \
	while (!(v[i] == x || (v[i] != v[i] && x != x))) i++; \
	return i; \
} \
/* of n with NaNs, which are above any number */ \
static T least_##S(const T *v, long n) \
{ \
	const int smallest = 1; \
	T x = v[0]; \
	for (long i = 1; i < n; i++) x = beats(v[i], x) ? v[i] : x; \
	return x; \
} \
static void best_columns_##S(const Line *l, long base, long n, int *y) \
{ \
	const struct pxlrt_axis *d = l->d; \
	int smallest = l->flag; \
	Block b, x; \
	T *best = (T *)&b; \
	const T *v = (const T *)&x; \
	l->rt->ld[d->dtype](&b, at_elem(l->x, d->dtype, base), 1, n); \
	for (long j = 0; j < n; j++) y[j] = 0; \
	for (long r = 1; r < d->n; r++) { \
		l->rt->ld[d->dtype](&x, at_elem(l->x, d->dtype, base + r * d->inner), 1, n); \
		for (long j = 0; j < n; j++) if (beats(v[j], best[j])) best[j] = v[j], y[j] = (int)r; \
	} \
} \
/* the best of each block, then where in the best block it is */ \
static void best_line_##S(const Line *l, long base, int *y) \
{ \
	const struct pxlrt_axis *d = l->d; \
	int smallest = l->flag, direct = is_native(d->dtype), cls = class_of(d->dtype); \
	Block x; \
	T best = 0, top; \
	long in = 0; \
	for (long at = 0; at < d->n; at += BLOCK_MAX) { \
		const T *v = line_part_##S(l, &x, base, at, direct); \
		(smallest ? l->isa->fold->min : l->isa->fold->max)[cls](&top, v, min_l(BLOCK_MAX, d->n - at)); \
		if (top != top && smallest) top = least_##S(v, min_l(BLOCK_MAX, d->n - at)); \
		if (at == 0 || beats(top, best)) best = top, in = at; \
	} \
	const T *v = line_part_##S(l, &x, base, in, direct); \
	*y = (int)(in + first_##S(v, best, min_l(BLOCK_MAX, d->n - in))); \
}
BEST(f32, float, BEATS)
BEST(f64, double, BEATS)
BEST(i64, i64, BEATS_INT)
BEST(u64, u64, BEATS_INT)

static void (*const best_columns[PXLRT_NCLASS])(const Line *, long, long, int *) = { best_columns_f32, best_columns_f64, best_columns_i64, best_columns_u64 };
static void (*const best_line[PXLRT_NCLASS])(const Line *, long, int *) = { best_line_f32, best_line_f64, best_line_i64, best_line_u64 };

static int best_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Line *l = ctx;
	long inner = l->d->inner, per = (inner + COLS - 1) / COLS;
	int cls = class_of(l->d->dtype);
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long j = i % per * COLS, o = i / per;
		int *y = (int *)l->y + o * inner + j;
		if (inner == 1) best_line[cls](l, o * l->d->n, y);
		else best_columns[cls](l, o * l->d->n * inner + j, min_l(COLS, inner - j), y);
	}
	return 0;
}

static int line_run(RtLane *ln, SpanBody body, Line *l)
{
	long n = l->d->outer * ((l->d->inner + COLS - 1) / COLS);
	return span_run(ln, body, l, n, piece_of(n, (double)(l->d->n * min_l(COLS, l->d->inner))));
}

int k_argmax(struct pxlrt_lane *lane, const struct pxlrt_axis *d, int smallest, const void *x, int *y)
{
	RtLane *ln = rt_lane(lane);
	if (d->outer <= 0 || d->inner <= 0) return 0;
	if (d->n <= 0) return lane_fault(ln, "the largest of no elements");
	return line_run(ln, best_body, &(Line){ table_of(ln), isa_of(ln), d, smallest, x, y });
}

/* --- running sums: in double for floats, rounded when stored -------------------------------------------------------------- */

enum { SIDE = 4, SIDE_BLOCK = 256 };
#define UNROLL _Pragma("GCC unroll 4")

#define RUNNING(S, T, A) \
static void running_columns_##S(const Line *l, long base, long n) \
{ \
	const struct pxlrt_axis *d = l->d; \
	A sum[COLS] = { 0 }; \
	Block b; \
	T *v = (T *)&b; \
	for (long i = 0; i < d->n; i++) { \
		long at = base + (l->flag ? d->n - 1 - i : i) * d->inner; \
		l->rt->ld[d->dtype](&b, at_elem(l->x, d->dtype, at), 1, n); \
		for (long j = 0; j < n; j++) sum[j] += (A)v[j], v[j] = (T)sum[j]; \
		l->rt->st[d->dtype](at_elem_mut(l->y, d->dtype, at), 1, &b, n); \
	} \
} \
/* some lines side by side: each sum waits for itself alone */ \
static inline __attribute__((always_inline)) void running_lines_##S(const Line *l, long base, const int lines) \
{ \
	const struct pxlrt_axis *d = l->d; \
	A sum[SIDE] = { 0 }; \
	T v[SIDE][SIDE_BLOCK]; \
	for (long i = 0; i < d->n; i += SIDE_BLOCK) { \
		long k = min_l(SIDE_BLOCK, d->n - i), at = base + (l->flag ? d->n - i - k : i); \
		for (int g = 0; g < lines; g++) l->rt->ld[d->dtype](v[g], at_elem(l->x, d->dtype, at + g * d->n), 1, k); \
		for (long j = 0; j < k; j++) \
			UNROLL for (int g = 0; g < lines; g++) { \
				T *to = &v[g][l->flag ? k - 1 - j : j]; \
				*to = (T)(sum[g] += (A)*to); \
			} \
		for (int g = 0; g < lines; g++) l->rt->st[d->dtype](at_elem_mut(l->y, d->dtype, at + g * d->n), 1, v[g], k); \
	} \
} \
/* returns how many of n lines it took */ \
static long running_line_##S(const Line *l, long base, long n) \
{ \
	if (n >= SIDE) running_lines_##S(l, base, SIDE); \
	else running_lines_##S(l, base, 1); \
	return n >= SIDE ? SIDE : 1; \
}
RUNNING(f32, float, double)
RUNNING(f64, double, double)
RUNNING(u64, u64, u64)                       /* signed sums wrap the same way */

static int running_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Line *l = ctx;
	long inner = l->d->inner, per = (inner + COLS - 1) / COLS;
	int cls = class_of(l->d->dtype);
	(void)ln;
	for (long i = lo, step = 1; i < hi; i += step) {
		long j = i % per * COLS, base = i / per * l->d->n * inner + j, n = min_l(COLS, inner - j);
		if (inner == 1) step = (cls == PXLRT_F32 ? running_line_f32 : cls == PXLRT_F64 ? running_line_f64 : running_line_u64)(l, base, hi - i);
		else (cls == PXLRT_F32 ? running_columns_f32 : cls == PXLRT_F64 ? running_columns_f64 : running_columns_u64)(l, base, n);
	}
	return 0;
}

int k_cumsum(struct pxlrt_lane *lane, const struct pxlrt_axis *d, int reverse, const void *x, void *y)
{
	RtLane *ln = rt_lane(lane);
	if (d->outer <= 0 || d->inner <= 0 || d->n <= 0) return 0;
	return line_run(ln, running_body, &(Line){ table_of(ln), isa_of(ln), d, reverse, x, y });
}
