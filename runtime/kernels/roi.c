/* roi.c — regions of images, each pooled to a grid of bins by bilinear samples, and the gradient for the images.
 *
 * A bin's samples stand on a regular grid; those outside the image count as zeros, and of a region far larger than the
 * image only samples near it are visited.  The gradient goes image by image and channel by channel through all regions
 * in order, so that no two threads add to the same place. */
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

typedef struct Roi { const struct pxlrt_roi *d; const char *x, *rois; const void *index; char *y; } Roi;

/* samples of one bin along one axis: place i is at first + i·step for i in [lo, hi), of `count` */
typedef struct Line { double first, step, count; long lo, hi, extent; } Line;

static double number(int dtype, const void *p, long i) { return rt_get((DType)dtype, p, (size_t)i); }

/* bin b of `bins` along an axis whose region runs from `from` to `to` */
static Line line_of(const struct pxlrt_roi *d, double from, double to, long bins, long b, long extent)
{
	Line l = { .extent = extent };
	double length = to - from > 1 ? to - from : 1, bin = length / (double)bins;
	l.count = d->ratio ? (double)d->ratio : ceil(bin);
	l.step = bin / l.count;
	l.first = from + (double)b * bin + 0.5 * l.step;
	double lo = ceil((-1 - l.first) / l.step) - 1, hi = floor(((double)extent - l.first) / l.step) + 2;
	lo = lo < 0 ? 0 : lo;
	hi = hi > l.count ? l.count : hi;
	if (lo < hi) l.lo = (long)lo, l.hi = (long)hi;
	return l;
}

/* where a sample falls: two neighbours and the second's weight; 0: outside */
typedef struct Spot { long at[2]; double w[2]; } Spot;

static int spot_of(const Line *l, long i, Spot *s)
{
	double y = l->first + (double)i * l->step;
	if (!(y >= -1 && y <= (double)l->extent)) return 0;
	y = y < 0 ? 0 : y;
	long lo = (long)y, last = l->extent - 1;
	int end = lo >= last;
	s->at[0] = end ? last : lo;
	s->at[1] = end ? last : lo + 1;
	s->w[1] = end ? 0 : y - (double)lo;
	s->w[0] = 1 - s->w[1];
	return 1;
}

typedef struct Bin { Line y, x; } Bin;

static Bin bin_of(const Roi *r, long region, long p, long q)
{
	const struct pxlrt_roi *d = r->d;
	double c[4];
	for (int i = 0; i < 4; i++) c[i] = number(d->dtype, r->rois, region * 4 + i) * d->scale;
	return (Bin){ line_of(d, c[1], c[3], d->ph, p, d->h), line_of(d, c[0], c[2], d->pw, q, d->w) };
}

#define ROI(S, T) \
static double mean_##S(const Bin *b, const T *x, long width) \
{ \
	double sum = 0; \
	Spot u, v; \
	for (long i = b->y.lo; i < b->y.hi; i++) { \
		if (!spot_of(&b->y, i, &u)) continue; \
		const T *r0 = x + u.at[0] * width, *r1 = x + u.at[1] * width; \
		for (long j = b->x.lo; j < b->x.hi; j++) \
			if (spot_of(&b->x, j, &v)) \
				sum += u.w[0] * (v.w[0] * (double)r0[v.at[0]] + v.w[1] * (double)r0[v.at[1]]) + \
				       u.w[1] * (v.w[0] * (double)r1[v.at[0]] + v.w[1] * (double)r1[v.at[1]]); \
	} \
	return sum / (b->y.count * b->x.count); \
} \
static void add_##S(const Bin *b, T *x, long width, double g) \
{ \
	Spot u, v; \
	g /= b->y.count * b->x.count; \
	for (long i = b->y.lo; i < b->y.hi; i++) { \
		if (!spot_of(&b->y, i, &u)) continue; \
		for (long j = b->x.lo; j < b->x.hi; j++) \
			if (spot_of(&b->x, j, &v)) \
				for (int k = 0; k < 4; k++) x[u.at[k >> 1] * width + v.at[k & 1]] += (T)(g * u.w[k >> 1] * v.w[k & 1]); \
	} \
} \
/* i counts regions and channels */ \
static int forward_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Roi *r = ctx; \
	const struct pxlrt_roi *d = r->d; \
	(void)ln; \
	for (long i = lo; i < hi; i++) { \
		long region = i / d->c, image = (long)rt_get_int((DType)d->index_dtype, r->index, (size_t)region); \
		const T *x = (const T *)(const void *)r->x + (image * d->c + i % d->c) * d->h * d->w; \
		T *y = (T *)(void *)r->y + i * d->ph * d->pw; \
		for (long k = 0; k < d->ph * d->pw; k++) { \
			Bin b = bin_of(r, region, k / d->pw, k % d->pw); \
			y[k] = (T)mean_##S(&b, x, d->w); \
		} \
	} \
	return 0; \
} \
/* i counts images and channels */ \
static int back_##S(RtLane *ln, void *ctx, long lo, long hi) \
{ \
	const Roi *r = ctx; \
	const struct pxlrt_roi *d = r->d; \
	(void)ln; \
	for (long i = lo; i < hi; i++) { \
		T *dx = (T *)(void *)r->y + i * d->h * d->w; \
		memset(dx, 0, (size_t)(d->h * d->w) * sizeof(T)); \
		for (long region = 0; region < d->r; region++) { \
			if (rt_get_int((DType)d->index_dtype, r->index, (size_t)region) != i / d->c) continue; \
			const T *g = (const T *)(const void *)r->x + (region * d->c + i % d->c) * d->ph * d->pw; \
			for (long k = 0; k < d->ph * d->pw; k++) { \
				Bin b = bin_of(r, region, k / d->pw, k % d->pw); \
				add_##S(&b, dx, d->w, (double)g[k]); \
			} \
		} \
	} \
	return 0; \
}
ROI(f32, float)
ROI(f64, double)

static int check_regions(RtLane *ln, const Roi *r)
{
	const struct pxlrt_roi *d = r->d;
	for (long i = 0; i < d->r; i++) {
		i64 at = rt_get_int((DType)d->index_dtype, r->index, (size_t)i);
		if (at < 0 || at >= d->n) return lane_fault(ln, "batch index %lld of region %ld is out of range for %ld images", at, i, d->n);
		for (int k = 0; k < 4; k++)
			if (!isfinite(number(d->dtype, r->rois, i * 4 + k) * d->scale)) return lane_fault(ln, "a coordinate of region %ld is not finite", i);
	}
	return 0;
}

int k_roi(struct pxlrt_lane *lane, const struct pxlrt_roi *d, int back, const void *x, const void *rois, const void *index, void *y)
{
	RtLane *ln = rt_lane(lane);
	Roi r = { d, x, rois, index, y };
	int f64 = d->dtype == DT_F64, st = check_regions(ln, &r);
	if (st) return st;
	long n = (back ? d->n : d->r) * d->c;
	double samples = d->ratio ? (double)d->ratio * (double)d->ratio : 4;
	double ns = (double)(d->ph * d->pw) * samples * 10 * (back ? (double)d->r / (double)d->n : 1);
	return span_run(ln, back ? f64 ? back_f64 : back_f32 : f64 ? forward_f64 : forward_f32, &r, n, piece_of(n, ns));
}
