/* resize.c — one axis sampled anew (interpolate takes its axes one after the other), and the transpose of that.
 *
 * An element of the result is a sum of one, two or four elements of the source, with weights that depend on its place
 * alone; the transpose adds to the same places.  Rows of `inner` elements are taken together, COLS at a time. */
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { COLS = 1024 };

typedef struct Sample { int n; long at[4]; double w[4]; } Sample;
typedef struct Resize { const struct pxlrt *rt; const struct pxlrt_resize *d; const char *x; char *y; } Resize;

static double place_of(const struct pxlrt_resize *d, long i)
{
	switch (d->coord) {
	case PXLRT_ALIGN_CORNERS: return d->size > 1 ? (double)i * (double)(d->axis.n - 1) / (double)(d->size - 1) : 0;
	case PXLRT_ASYMMETRIC: return (double)i / d->factor;
	case PXLRT_PYTORCH_HALF_PIXEL:
		if ((double)d->axis.n * d->factor <= 1) return 0;
	}
	return ((double)i + 0.5) / d->factor - 0.5;
}

static double nearest_of(const struct pxlrt_resize *d, double c)
{
	switch (d->nearest) {
	case PXLRT_PREFER_FLOOR: return ceil(c - 0.5);
	case PXLRT_PREFER_CEIL: return round(c);
	case PXLRT_FLOOR: return floor(c);
	default: return ceil(c);
	}
}

/* a place beyond the ends is at the end */
static long inside(const struct pxlrt_resize *d, double c)
{
	return c <= 0 ? 0 : c >= (double)(d->axis.n - 1) ? d->axis.n - 1 : (long)c;
}

static double cubic_far(double u)  { return ((-0.75 * u + 3.75) * u - 6) * u + 3; }       /* 1 <= u <= 2 */
static double cubic_near(double u) { return (1.25 * u - 2.25) * u * u + 1; }              /* 0 <= u <= 1 */

static Sample sample_of(const struct pxlrt_resize *d, long i)
{
	double c = place_of(d, i), lo = floor(c), u = c - lo;
	if (d->mode == PXLRT_NEAREST) return (Sample){ 1, { inside(d, nearest_of(d, c)) }, { 1 } };
	if (d->mode == PXLRT_LINEAR) {
		double w = c > 0 ? u : 0;
		return (Sample){ 2, { inside(d, lo), inside(d, ceil(c)) }, { 1 - w, w } };
	}
	return (Sample){ 4, { inside(d, lo - 1), inside(d, lo), inside(d, lo + 1), inside(d, lo + 2) },
	                 { cubic_far(u + 1), cubic_near(u), cubic_near(1 - u), cubic_far(2 - u) } };
}

/* one sample per element of the result, in the lane's scratch; NULL: it is too small, and each is found when it is wanted */
static const Sample *sample_table(RtLane *ln, const struct pxlrt_resize *d)
{
	Sample *s = ln->scratch;
	if ((size_t)d->size > RT_SCRATCH_BYTES / sizeof *s) return NULL;
	for (long i = 0; i < d->size; i++) s[i] = sample_of(d, i);
	return s;
}

static const Sample *sample(const Resize *r, const Sample *table, long i, Sample *own)
{
	if (table) return &table[i];
	*own = sample_of(r->d, i);
	return own;
}

#define RESIZE(S, T) \
/* y (+)= w x, through a block of w's */ \
static void scaled_##S(const struct pxlrt *rt, T *y, const T *x, T w, int add, long n) \
{ \
	T all[COLS], part[COLS]; \
	if (!add && w == 1) { \
		memcpy(y, x, (size_t)n * sizeof(T)); \
		return; \
	} \
	rt->S->fill(all, w, n); \
	rt->S->mul(add ? part : y, x, all, n); \
	if (add) rt->S->add(y, y, part, n); \
} \
static void line_##S(const Resize *r, const Sample *table, long o) \
{ \
	const struct pxlrt_resize *d = r->d; \
	const T *x = (const T *)(const void *)r->x + o * d->axis.n; \
	T *y = (T *)(void *)r->y + o * d->size; \
	for (long i = 0; i < d->size; i++) { \
		Sample own; \
		const Sample *s = sample(r, table, i, &own); \
		double v = s->w[0] * (double)x[s->at[0]]; \
		for (int k = 1; k < s->n; k++) v += s->w[k] * (double)x[s->at[k]]; \
		y[i] = (T)v; \
	} \
} \
static int forward_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Resize *r = ctx; \
	const struct pxlrt_axis *a = &r->d->axis; \
	const Sample *table = sample_table(ln, r->d); \
	for (long i = lo; i < hi; i++) { \
		if (a->inner == 1) line_##S(r, table, i); \
		else for (long j = 0; j < r->d->size; j++) { \
			Sample own; \
			const Sample *s = sample(r, table, j, &own); \
			for (long c = 0; c < a->inner; c += COLS) \
				for (int k = 0; k < s->n; k++) \
					scaled_##S(r->rt, (T *)(void *)r->y + (i * r->d->size + j) * a->inner + c, \
					           (const T *)(const void *)r->x + (i * a->n + s->at[k]) * a->inner + c, (T)s->w[k], k, min_l(COLS, a->inner - c)); \
		} \
	} \
	return 0; \
} \
static int back_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Resize *r = ctx; \
	const struct pxlrt_axis *a = &r->d->axis; \
	long blocks = (a->inner + COLS - 1) / COLS; \
	const Sample *table = sample_table(ln, r->d); \
	for (long i = lo; i < hi; i++) { \
		long o = i / blocks, c = i % blocks * COLS, n = min_l(COLS, a->inner - c); \
		T *y = (T *)(void *)r->y + o * a->n * a->inner + c; \
		const T *g = (const T *)(const void *)r->x + o * r->d->size * a->inner + c; \
		for (long j = 0; j < a->n; j++) memset(y + j * a->inner, 0, (size_t)n * sizeof(T)); \
		for (long j = 0; j < r->d->size; j++) { \
			Sample own; \
			const Sample *s = sample(r, table, j, &own); \
			for (int k = 0; k < s->n; k++) \
				if (n == 1) y[s->at[k] * a->inner] += g[j * a->inner] * (T)s->w[k]; \
				else scaled_##S(r->rt, y + s->at[k] * a->inner, g + j * a->inner, (T)s->w[k], 1, n); \
		} \
	} \
	return 0; \
}
RESIZE(f32, float)
RESIZE(f64, double)

int k_resize(struct pxlrt_lane *lane, const struct pxlrt_resize *d, int back, const void *x, void *y)
{
	RtLane *ln = rt_lane(lane);
	Resize r = { table_of(ln), d, x, y };
	int f64 = d->axis.dtype == DT_F64;
	if (d->axis.inner <= 0) return 0;
	long n = back ? d->axis.outer * ((d->axis.inner + COLS - 1) / COLS) : d->axis.outer;
	double row = (double)min_l(d->axis.inner, back ? COLS : d->axis.inner), ns = d->axis.inner == 1 ? 2 : 5 + 0.3 * row;
	return span_run(ln, back ? f64 ? back_f64 : back_f32 : f64 ? forward_f64 : forward_f32, &r, n, piece_of(n, (double)d->size * ns));
}
