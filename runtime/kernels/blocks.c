/* blocks.c — between plain and blocked layout (blocked.h): a block of channels is a matrix, turned over square by square. */
#include "runtime/kernels/blocked.h"

typedef struct Blocks { const float *src; float *dst; long space; int to_blocks; } Blocks;

static int turn_blocks(RtLane *ln, void *ctx, long lo, long hi)
{
	const Blocks *b = ctx;
	for (long i = lo; i < hi; i++) {
		long at = i * PXLRT_CHANNELS * b->space;
		if (b->to_blocks) isa_of(ln)->gemm_f32->pack(b->dst + at, b->src + at, PXLRT_CHANNELS, b->space, 1, PXLRT_CHANNELS, b->space);
		else isa_of(ln)->blocks->open(b->dst + at, b->space, b->src + at, b->space);
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
