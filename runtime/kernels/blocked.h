/* blocked.h — tensors whose channels lie in blocks of 16: [images, channels / 16, space, 16], f32. */
#ifndef KERNELS_BLOCKED_H
#define KERNELS_BLOCKED_H

#include "runtime/kernels/provider.h"

/* inner loops: blocks.h */
typedef struct BlockIsa {
	void (*open)(float *dst, const float *src, long space);        /* a block, [space][16], to [16][space] */
} BlockIsa;

int blocked_conv(struct pxlrt_lane *, const struct pxlrt_window *, const void *x, const void *w, void *y, void *room);
int blocked_data(struct pxlrt_lane *, const struct pxlrt_window *, const void *y, const void *turned, void *x, void *room);
int blocked_weight(struct pxlrt_lane *, const struct pxlrt_window *, long parts, const void *x, const void *y, void *w);
int blocked_pool(struct pxlrt_lane *, const struct pxlrt_window *, int largest, const void *x, void *y);
int blocked_average_back(struct pxlrt_lane *, const struct pxlrt_window *, const void *dy, void *dx);
int blocked_max_back(struct pxlrt_lane *, const struct pxlrt_window *, const void *x, const void *y, const void *dy, void *dx);

static inline int is_blocked(const struct pxlrt_window *d) { return d->xblock || d->yblock; }

#endif
