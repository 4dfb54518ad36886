/* conv.h — how a convolution becomes products, shared by conv.c (results and data gradients) and conv_weight.c.
 *
 * Along each axis, tap i meets column j at source index step·j + off0 + i·doff.  The part of the source that a box
 * of columns needs is staged: for every residue of the offsets modulo the step there is a plane that holds each
 * step-th element, zeros outside, so that a tap is a constant distance into a plane and a row of columns is read where
 * it stands, unaligned: no matrix of windows is made.  Columns run through the plane with its pitch; those that fall
 * into its margin (where a row of taps wraps) are computed and dropped.  Where the margin would be large an axis
 * is spread: each tap gets a plane of its own, which is the classical unfolding; then images may be folded together.
 *
 * Boxes, blocks of rows and of channels follow from the shape alone, and so do the sums' orders. */
#ifndef KERNELS_CONV_H
#define KERNELS_CONV_H

#include "runtime/kernels/matmul.h"

#include <string.h>

enum {
	ROOM_PLANES = 1536 << 10, ROOM_SUMS = 1536 << 10, ROOM_ROWS = 768 << 10, ROOM_OFFSETS = 128 << 10,   /* of a lane's scratch */
	AIM_PLANES = 512 << 10, AIM_SUMS = 512 << 10,    /* what a piece should need: the second cache's */
	MOST_OFFSETS = ROOM_OFFSETS / (int)sizeof(long),
	SLACK = 64                                       /* elements that may be read behind the last plane */
};
_Static_assert(ROOM_PLANES + ROOM_SUMS + ROOM_ROWS + ROOM_OFFSETS <= RT_SCRATCH_BYTES, "the lane's scratch holds all of it");

typedef struct ConvAxis {
	long source, columns, step;
	long taps, off0, doff;
	long first, every, result;       /* column j is at first + every·j of the result's axis */
	long tile, kinds, len;           /* columns of a box; planes; a plane's length */
	int spread;
} ConvAxis;

typedef struct Conv {
	const struct pxlrt *rt;
	const GemmIsa *isa;
	int rank, xtype, ytype, cls;     /* element types of source and result; class of the sums */
	size_t size;                     /* of an element of the class */
	long images, groups, rows, chans;        /* rows: channels of the result, chans: of the source, per group */
	ConvAxis axis[PXLRT_MAXSPACE];
	long fold;                       /* images of a box */
	long row_block, chan_block;
	long taps, planes, volume;       /* products over the axes: taps, kinds, and elements of a plane (all images of a box) */
	const char *x, *w;
	char *y;
	int from_block, to_block;        /* 0, or PXLRT_CHANNELS where the source, the result is blocked (blocked.h) */
	float *room;                     /* for weights in another order; NULL: none */
	const float *bias;               /* of blocked results, added to the sums; NULL: none */
	int relu;                        /* of what comes out */
} Conv;

/* a box of columns: where it starts, and how large it is; image first */
typedef struct ConvBox { long image, images, at[PXLRT_MAXSPACE], n[PXLRT_MAXSPACE]; } ConvBox;

/* rows of a few elements: the two halves may overlap; n is a multiple of 4 */
static inline void copy_elements(char *to, const char *from, size_t n)
{
	if (n > 128) memcpy(to, from, n);
	else if (n >= 32) {
		for (size_t i = 0; i + 32 < n; i += 32) memcpy(to + i, from + i, 32);
		memcpy(to + n - 32, from + n - 32, 32);
	} else if (n >= 16) {
		memcpy(to, from, 16);
		memcpy(to + n - 16, from + n - 16, 16);
	} else for (size_t i = 0; i < n; i += 4) memcpy(to + i, from + i, 4);
}

void conv_open(Conv *c, RtLane *ln, const struct pxlrt_window *d);       /* what does not depend on the direction; ln NULL: not to be run */
void conv_windows(Conv *c, const struct pxlrt_window *d);                /* x is the source: results, and gradients for the weights */
/* cut: boxes whose sums (rows deep, if > 0) and planes are near the aims.  0: not even one column fits */
int  conv_cut(Conv *c, long rows);
long conv_boxes(const Conv *c);                                          /* over all images */
ConvBox conv_box(const Conv *c, long i);
long conv_columns(const Conv *c, const ConvBox *b);                      /* from the first to the last, dropped ones too */
long conv_most_columns(const Conv *c);
void conv_halve(Conv *c);                                                /* smaller boxes, if they can be */

/* planes of n channels of a group from chan on */
void conv_stage(const Conv *c, const ConvBox *b, long group, long chan, long n, char *planes);
/* distances of taps k0 … k0 + n of the channels staged, counted channel by channel */
void conv_offsets(const Conv *c, long k0, long n, long *off);
/* each run of kept columns of a box: `column` in the box, image, position along the axes (of the run's start), length */
typedef void (*ConvRun)(void *ctx, long column, long image, const long *at, long n);
void conv_runs(const Conv *c, const ConvBox *b, ConvRun run, void *ctx);

/* windows over one channel each; see depthwise.c */
int depthwise_fits(const Conv *c);
int depthwise_run(RtLane *ln, const Conv *c);

#endif
