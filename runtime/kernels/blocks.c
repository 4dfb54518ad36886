/* blocks.c — between plain and blocked layout (blocked.h): a block of channels is a matrix, turned over square by square. */
#include "runtime/kernels/blocked.h"

#include <string.h>

typedef struct Blocks { const float *src; float *dst; long space; int to_blocks; } Blocks;

static int turn_blocks(RtLane *ln, void *ctx, long lo, long hi)
{
	const Blocks *b = ctx;
	for (long i = lo; i < hi; i++) {
		long at = i * PXLRT_CHANNELS * b->space;
		if (b->to_blocks) isa_of(ln)->gemm_f32->pack(b->dst + at, b->src + at, PXLRT_CHANNELS, b->space, 1, PXLRT_CHANNELS, b->space);
		else isa_of(ln)->blocks->open(b->dst + at, b->src + at, b->space);
	}
	return 0;
}

int k_blocks(struct pxlrt_lane *lane, int dtype, int to_blocks, long images, long channels, long space, const void *src, void *dst)
{
	(void)dtype;
	Blocks b = { src, dst, space, to_blocks };
	long n = images * (channels / PXLRT_CHANNELS);
	return span_run(rt_lane(lane), turn_blocks, &b, n, piece_of(n, (double)space * PXLRT_CHANNELS * 0.2));
}

static long space_of(const struct pxlrt_window *d, const long *dim)
{
	long n = 1;
	for (int i = 0; i < d->rank; i++) n *= dim[i];
	return n;
}

static void *plain_of(struct pxlrt_lane *ln, const struct pxlrt_window *d, int blocked, long per, const long *dim, const void *t, int given)
{
	long channels = d->groups * per, space = space_of(d, dim);
	float *p = rt_alloc(NULL, (size_t)(d->images * channels * space) * 4 + 64);
	if (!given) return p;
	if (blocked) k_blocks(ln, DT_F32, 0, d->images, channels, space, t, p);
	else memcpy(p, t, (size_t)(d->images * channels * space) * 4);
	return p;
}

static void give(struct pxlrt_lane *ln, const struct pxlrt_window *d, int blocked, long per, const long *dim, void *p, void *t)
{
	long channels = d->groups * per, space = space_of(d, dim);
	if (blocked) k_blocks(ln, DT_F32, 1, d->images, channels, space, p, t);
	else memcpy(t, p, (size_t)(d->images * channels * space) * 4);
}

#define PLAIN_X(t, given) plain_of(ln, d, d->xblock, d->c, d->x, t, given)
#define PLAIN_Y(t, given) plain_of(ln, d, d->yblock, d->m, d->y, t, given)

int blocked_conv(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *x, const void *w, void *y, void *room)
{
	struct pxlrt_window p = *d;
	p.xblock = p.yblock = 0;
	void *px = PLAIN_X(x, 1), *py = PLAIN_Y(y, 0);
	k_conv(ln, &p, px, w, py, room);
	give(ln, d, d->yblock, d->m, d->y, py, y);
	return rt_free(NULL, px), rt_free(NULL, py), 0;
}

int blocked_data(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *y, const void *turned, void *x, void *room)
{
	struct pxlrt_window p = *d;
	p.xblock = p.yblock = 0;
	void *px = PLAIN_X(x, 0), *py = PLAIN_Y(y, 1);
	k_conv_data(ln, &p, py, turned, px, room);
	give(ln, d, d->xblock, d->c, d->x, px, x);
	return rt_free(NULL, px), rt_free(NULL, py), 0;
}

int blocked_weight(struct pxlrt_lane *ln, const struct pxlrt_window *d, long parts, const void *x, const void *y, void *w)
{
	struct pxlrt_window p = *d;
	p.xblock = p.yblock = 0;
	void *px = PLAIN_X(x, 1), *py = PLAIN_Y(y, 1);
	k_conv_weight(ln, &p, parts, px, py, w);
	return rt_free(NULL, px), rt_free(NULL, py), 0;
}

#undef PLAIN_Y
#define PLAIN_Y(t, given) plain_of(ln, d, d->yblock, 1, d->y, t, given)
#undef PLAIN_X
#define PLAIN_X(t, given) plain_of(ln, d, d->xblock, 1, d->x, t, given)

int blocked_pool(struct pxlrt_lane *ln, const struct pxlrt_window *d, int largest, const void *x, void *y)
{
	struct pxlrt_window p = *d;
	p.xblock = p.yblock = 0;
	void *px = PLAIN_X(x, 1), *py = PLAIN_Y(y, 0);
	k_pool(ln, &p, largest, px, py);
	give(ln, d, d->yblock, 1, d->y, py, y);
	return rt_free(NULL, px), rt_free(NULL, py), 0;
}

int blocked_average_back(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *dy, void *dx)
{
	struct pxlrt_window p = *d;
	p.xblock = p.yblock = 0;
	void *px = PLAIN_X(dx, 0), *py = PLAIN_Y(dy, 1);
	k_average_back(ln, &p, py, px);
	give(ln, d, d->xblock, 1, d->x, px, dx);
	return rt_free(NULL, px), rt_free(NULL, py), 0;
}

int blocked_max_back(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *x, const void *y, const void *dy, void *dx)
{
	struct pxlrt_window p = *d;
	p.xblock = p.yblock = 0;
	void *px = PLAIN_X(x, 1), *py = PLAIN_Y(y, 1), *pg = PLAIN_Y(dy, 1), *pd = PLAIN_X(dx, 0);
	k_max_back(ln, &p, px, py, pg, pd);
	give(ln, d, d->xblock, 1, d->x, pd, dx);
	return rt_free(NULL, px), rt_free(NULL, py), rt_free(NULL, pg), rt_free(NULL, pd), 0;
}

/* --- what may be blocked ----------------------------------------------------------------------------------------------- */

static int whole(long per, long groups) { return per % PXLRT_CHANNELS == 0 && groups > 0; }

int rt_conv_blocks(const struct pxlrt_window *d, int map)
{
	if (d->xtype != DT_F32 || d->ytype != DT_F32 || d->rank > 3 || (d->xblock && !whole(d->c, d->groups)) || (d->yblock && !whole(d->m, d->groups))) return 0;
	if (map == RT_CONV) return whole(d->m, d->groups);
	if (map == RT_CONV_DATA) return whole(d->c, d->groups);
	return 1;
}

int rt_pool_blocks(const struct pxlrt_window *d)
{
	return d->xtype == DT_F32 && d->ytype == DT_F32 && d->rank <= 3 && whole(d->groups, 1);
}
