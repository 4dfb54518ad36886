/* pool_blocked.c — pooling of blocked tensors and its gradients: what pooling.c does, a vector of 16 channels for each place.
 *
 * Results are made row by row along the last axis, each from the rows of the source that its windows see; gradients row by
 * row of the source, from the windows in their order.  Sums go the way they go in plain layout, so bits are the same. */
#include "runtime/kernels/blocked.h"

enum { AXES = 3 };

typedef struct Pool { const BlockIsa *isa; PoolAxis axis[AXES]; const float *x, *y, *dy; float *to; int largest, relu; } Pool;

static Pool pool_open(RtLane *ln, const struct pxlrt_window *d, int largest)
{
	Pool p = { .isa = isa_of(ln)->blocks, .largest = largest };
	int more = AXES - d->rank;
	for (int i = 0; i < AXES; i++) {
		int k = i - more;
		p.axis[i] = k < 0 ? (PoolAxis){ 1, 1, 1, 1, 0 } : (PoolAxis){ d->x[k], d->y[k], d->k[k], d->stride[k], d->pad[k] };
	}
	return p;
}

static long pitch(long places) { return places * PXLRT_CHANNELS; }

/* the first index of the source that a window sees, and how many */
static long first_of(const PoolAxis *a, long at) { return max_l(0, at * a->stride - a->pad); }

static int forward(RtLane *ln, void *ctx, long lo, long hi)
{
	const Pool *p = ctx;
	const PoolAxis *a = p->axis;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long at[2] = { i / a[1].y % a[0].y, i % a[1].y };
		BlockRows r = { .axis = &a[2], .planes = pool_taps(&a[0], at[0]), .rows = pool_taps(&a[1], at[1]), .plane = pitch(a[1].x * a[2].x), .row = pitch(a[2].x) };
		const float *x = p->x + i / a[1].y / a[0].y * a[0].x * r.plane + first_of(&a[0], at[0]) * r.plane + first_of(&a[1], at[1]) * r.row;
		(p->largest ? p->isa->pool_max : p->isa->pool_mean)(p->to + i * pitch(a[2].y), x, &r);
	}
	return 0;
}

/* windows that see index `at`: from the first up to behind the last */
static void windows_at(const PoolAxis *a, long at, long *lo, long *hi)
{
	long below = at + a->pad - a->k;
	*lo = below < 0 ? 0 : below / a->stride + 1;
	*hi = max_l(*lo, min_l((at + a->pad) / a->stride + 1, a->y));
}

static int back(RtLane *ln, void *ctx, long lo, long hi)
{
	const Pool *p = ctx;
	const PoolAxis *a = p->axis;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long l0, h0, l1, h1, begun = 0, from = i * pitch(a[2].x), block = i / a[1].x / a[0].x;
		windows_at(&a[0], i / a[1].x % a[0].x, &l0, &h0);
		windows_at(&a[1], i % a[1].x, &l1, &h1);
		if (l0 == h0 || l1 == h1) memset(p->to + from, 0, (size_t)pitch(a[2].x) * sizeof(float));
		for (long j = l0; j < h0; j++)
			for (long k = l1; k < h1; k++, begun = 1) {
				long at = ((block * a[0].y + j) * a[1].y + k) * pitch(a[2].y);
				if (p->largest) p->isa->max_back(p->to + from, p->x + from, p->y + at, p->dy + at, &a[2], (int)begun, p->relu);
				else p->isa->mean_back(p->to + from, p->dy + at, &a[2], pool_taps(&a[0], j) * pool_taps(&a[1], k), (int)begun);
			}
	}
	return 0;
}

/* rows of the side that is made */
static int run(RtLane *ln, Pool *p, const struct pxlrt_window *d, int gradient)
{
	const PoolAxis *a = p->axis;
	long rows = d->images * d->groups / PXLRT_CHANNELS * (gradient ? a[0].x * a[1].x : a[0].y * a[1].y);
	double taps = (double)(a[0].k * a[1].k * a[2].k);
	return span_run(ln, gradient ? back : forward, p, rows, piece_of(rows, 5 + taps * (double)(gradient ? a[2].x : a[2].y)));
}

int blocked_pool(struct pxlrt_lane *lane, const struct pxlrt_window *d, int largest, const void *x, void *y)
{
	Pool p = pool_open(rt_lane(lane), d, largest);
	p.x = x, p.to = y;
	return run(rt_lane(lane), &p, d, 0);
}

int blocked_average_back(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *dy, void *dx)
{
	Pool p = pool_open(rt_lane(lane), d, 0);
	p.dy = dy, p.to = dx;
	return run(rt_lane(lane), &p, d, 1);
}

int blocked_max_back(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *x, const void *y, const void *dy, void *dx)
{
	Pool p = pool_open(rt_lane(lane), d, 1);
	p.x = x, p.y = y, p.dy = dy, p.to = dx, p.relu = d->relu;
	return run(rt_lane(lane), &p, d, 1);
}

int rt_pool_blocks(const struct pxlrt_window *d)
{
	return d->xtype == DT_F32 && d->ytype == DT_F32 && d->rank <= AXES && d->groups % PXLRT_CHANNELS == 0;
}
