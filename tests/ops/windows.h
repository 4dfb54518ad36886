/* windows.h — what convolutions and pooling mean, in plain C: every pair of a position of y and an element of the window.
 *
 * Shapes are (images, channels, space …); x, y and w are in double.  A stride or dilation of 0 stands for 1. */
#ifndef TESTS_WINDOWS_H
#define TESTS_WINDOWS_H

#include "tests/ops/run.h"

typedef struct Geometry { int stride[4], begin[4], dilation[4], groups; } Geometry;

/* --- positions -------------------------------------------------------------------------------------------------------- */

static inline void split(Shape s, int k, int *at)
{
	for (int i = s.rank - 1; i >= 0; i--) at[i] = (int)(k % s.dim[i]), k = (int)(k / s.dim[i]);
}
static inline int join(Shape s, const int *at)
{
	int k = 0;
	for (int i = 0; i < s.rank; i++) k = k * (int)s.dim[i] + at[i];
	return k;
}
static inline int inside(Shape s, const int *at)
{
	for (int i = 0; i < s.rank; i++)
		if (at[i] < 0 || at[i] >= s.dim[i]) return 0;
	return 1;
}
static inline int step_of(const int *v, int i) { return v[i] ? v[i] : 1; }

/* --- convolutions: every pair of a place of y and a weight ------------------------------------------------------------- */

enum { FORWARD, DATA, WEIGHT };

static inline void meet(const Geometry *g, Shape xs, Shape ys, Shape ws, const double *x, const double *y, const double *w, double *to, int way)
{
	int groups = g->groups ? g->groups : 1, o[MAX_RANK], k[MAX_RANK], p[MAX_RANK];
	for (int i = 0; i < (int)shape_nelems(ys); i++)
		for (int j = 0; j < (int)shape_nelems(ws); j++) {
			split(ys, i, o);
			split(ws, j, k);
			if (k[0] != o[1]) continue;
			p[0] = o[0];
			p[1] = o[1] / (int)(ws.dim[0] / groups) * (int)ws.dim[1] + k[1];
			for (int d = 2; d < xs.rank; d++) p[d] = o[d] * step_of(g->stride, d - 2) + k[d] * step_of(g->dilation, d - 2) - g->begin[d - 2];
			if (!inside(xs, p)) continue;
			int q = join(xs, p);
			if (way == FORWARD) to[i] += x[q] * w[j];
			if (way == DATA) to[q] += y[i] * w[j];
			if (way == WEIGHT) to[j] += x[q] * y[i];
		}
}
/* --- pooling: one window -------------------------------------------------------------------------------------------------- */

typedef struct Fold { double sum, max; int n; } Fold;

/* of the window of place o, of `dilation` elements along each axis */
static inline Fold window(const Geometry *g, Shape xs, const double *x, const int *o, const double *y, double dy, double *dx)
{
	Fold f = { 0, -INFINITY, 0 };
	Shape ks = { xs.rank - 2, { 0 } };
	for (int d = 0; d < ks.rank; d++) ks.dim[d] = g->dilation[d];
	for (int pass = 0; pass < (dx ? 2 : 1); pass++)
		for (int j = 0; j < (int)shape_nelems(ks); j++) {
			int k[MAX_RANK], p[MAX_RANK] = { o[0], o[1] };
			split(ks, j, k);
			for (int d = 0; d < ks.rank; d++) p[d + 2] = o[d + 2] * step_of(g->stride, d) + k[d] - g->begin[d];
			if (!inside(xs, p)) continue;
			int q = join(xs, p);
			if (pass) dx[q] += !y ? dy / f.n : x[q] == *y ? dy : 0;
			else f.n++, f.sum += x ? x[q] : 0, f.max = x && x[q] > f.max ? x[q] : f.max;
		}
	return f;
}

#endif
