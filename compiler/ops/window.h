/* window.h — what ops with windows share (conv.c, pooling.c): their arguments along the spatial axes, resolved.
 *
 * Layout is (images, channels, D1 … Dn).  Lists have one entry per spatial axis, padding all begins and then all ends;
 * a list left out is neutral, and a number stands for every axis. */
#ifndef COMPILER_OPS_WINDOW_H
#define COMPILER_OPS_WINDOW_H

#include "compiler/codegen/emit.h"
#include "compiler/ops/blocks.h"

enum { MAX_SPACE = MAX_RANK - 2, MOST_WINDOW = 1 << 18 };

typedef struct Windows {
	int n;                                       /* spatial axes */
	int64_t x[MAX_SPACE], y[MAX_SPACE], k[MAX_SPACE], stride[MAX_SPACE], dilation[MAX_SPACE], begin[MAX_SPACE], end[MAX_SPACE];
	int xblock, yblock;                          /* 0, or BLOCK_CHANNELS where that side lies in blocks */
	int relu;                                    /* as pxlrt_window's */
} Windows;

/* a list argument of n entries, each at least `least`: 1, or 0 after a diagnostic */
int window_list(Infer *in, const char *name, int n, int64_t least, int64_t neutral, int64_t *out);
int window_rank(Infer *in, int operand);         /* number of spatial axes of an operand of rank 3 or more; 0 after a diagnostic */
/* x, k, stride, dilation, and padding as given are set: resolves `how` (argument `name`) into begin, end and y.
 * ceil: sizes are rounded up and end grows.  0 after a diagnostic */
int window_sizes(Infer *in, Windows *w, const char *name, int ceil);
/* struct pxlrt_window for images × (groups × c) channels on the x side, groups × m on the y side */
struct pxlrt_window window_struct(const Windows *w, DType x, DType y, int64_t images, int64_t groups, int64_t c, int64_t m);
const char *window_static(Emit *e, const Windows *w, DType x, DType y, int64_t images, int64_t groups, int64_t c, int64_t m);

#endif
