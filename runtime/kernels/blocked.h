/* blocked.h — tensors whose channels lie in blocks of 16: [images, channels / 16, space, 16], f32.
 *
 * A place's 16 channels are a vector: convolutions keep places × blocks of the result in registers and go over channels
 * and taps of the source one number at a time (conv_blocked.c); pooling takes vectors whole (pool_blocked.c). */
#ifndef KERNELS_BLOCKED_H
#define KERNELS_BLOCKED_H

#include "runtime/kernels/conv.h"

/* y[b][row, i][16] (+)= Σ_k x[off[k] + row, i] w[b][k][16], then + bias[b][16], then relu: `blocks` of them, rows of n places.
 * Distances in floats */
typedef struct BlockConv {
	long kn, blocks, rows, n;
	const float *w, *x;
	float *y;
	const float *bias;               /* NULL: none */
	const long *off;
	long wblock, xrow, xstep, yblock, yrow, ystep;
	int add, relu;
} BlockConv;

/* sums[b][k][16] += Σ x[off[k] + row, i] g[b][row, i][16] over rows of n places; places of g are 16 apart */
typedef struct BlockBack {
	long kn, blocks, rows, n;
	const float *x, *g;
	float *sums;
	const long *off;
	long xrow, xstep, gblock, grow, sblock;
} BlockBack;

/* rows of the source that a row of windows sees, and how they are cut along the last axis; distances in floats */
typedef struct BlockRows { const PoolAxis *axis; long planes, rows, plane, row; } BlockRows;

/* inner loops: vec/blocks.c */
typedef struct BlockIsa {
	void (*conv)(const BlockConv *c);
	void (*back)(const BlockBack *c);
	void (*pool_max)(float *y, const float *x, const BlockRows *r);
	void (*pool_mean)(float *y, const float *x, const BlockRows *r);
	/* a row of dx (+)= what a row of windows gives it, behind a relu what that lets pass; a mean's windows have `rows` rows */
	void (*max_back)(float *dx, const float *x, const float *y, const float *g, const PoolAxis *a, int add, int relu);
	void (*mean_back)(float *dx, const float *g, const PoolAxis *a, long rows, int add);
	void (*open)(float *dst, long row, const float *src, long n);          /* n places of a block to rows of 16 channels, `row` apart */
} BlockIsa;

/* the part of a box's source that `n` channels from `chan` on lie in: where it stands, or copied to `planes` with zeros around.
 * Distances in floats: between places along the axes, and between channels (blocks of them, if blocked) */
typedef struct BlockSource { const float *at; long pitch[3], chan; } BlockSource;
int  blocked_halve(Conv *c);                     /* boxes along the first axis that can be; 0: none can */
int  blocked_cut(Conv *c);                       /* three axes, boxes and channels whose planes fit; 0: not even one place does */
BlockSource blocked_source(const Conv *c, const ConvBox *b, long group, long chan, long n, float *planes);
void blocked_offsets(const Conv *c, const BlockSource *s, long n, long *off);
int  blocked_suits(const Conv *c);               /* f32, up to three axes, whole blocks where blocked, and cuts that fit */
int  blocked_can_run(const Conv *c);             /* and room, and whole blocks of results */
int  blocked_run(RtLane *ln, Conv *c);

/* gradients for the weights, sums over `parts` parts of the images: g is blocked, or not */
int  blocked_weight(RtLane *ln, Conv *c, int gblock, long parts, const float *g, float *dw);

int blocked_pool(struct pxlrt_lane *, const struct pxlrt_window *, int largest, const void *x, void *y);
int blocked_average_back(struct pxlrt_lane *, const struct pxlrt_window *, const void *dy, void *dx);
int blocked_max_back(struct pxlrt_lane *, const struct pxlrt_window *, const void *x, const void *y, const void *dy, void *dx);

static inline int is_blocked(const struct pxlrt_window *d) { return d->xblock || d->yblock; }

#endif
