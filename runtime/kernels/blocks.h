/* blocks.h — inner loops on blocked tensors (f32, 16 channels of a place side by side), for one instruction set.
 *
 * Sixteen floats are one to four vectors (NB), so that memory looks the same whatever the instruction set. */
#include "runtime/kernels/blocked.h"

typedef gvec_f32 BV;
typedef gvec_unaligned_f32 BU;
enum { BL = VEC_BYTES / 4, NB = 16 / BL };

/* [space][16] to [16][space]: squares turned over in registers */
static void block_open(float *dst, const float *src, long space)
{
	for (long at = 0; at < space; at += BL)
		for (int c = 0; c < 16; c += BL) {
			BV x[BL];
			long n = min_l(BL, space - at);
			for (int v = 0; v < BL; v++) x[v] = v < n ? (BV)*(const BU *)(src + (at + v) * 16 + c) : (BV){ 0 };
			turn_f32(x);
			float *d = dst + c * space + at;
			if (n == BL) UNROLL for (int v = 0; v < BL; v++) *(BU *)(d + v * space) = x[v];
			else for (int v = 0; v < BL; v++) memcpy(d + v * space, &x[v], (size_t)n * sizeof(float));
		}
}

static const BlockIsa block_isa = { .open = block_open };
