/* gemm_bf16.c — products whose operands are rounded to bf16 on their way (pxlrt_gemm.bf16): both are packed, PACK_K of k at a
 * time, by the loops of gemm_bf16.h.
 *
 * The sum, whatever the instruction set, the cut and the threads: for each stretch of PACK_K of k a chain from zero, step by step; then
 * c = chain alpha + beta c, three roundings, with beta 1 for all stretches but the first.  Denormals are zeros. */
#include "runtime/kernels/matmul.h"

#if defined __x86_64__
#include <immintrin.h>

/* denormals are zeros where they are read, and where they would be written */
static unsigned flush_denormals(void)
{
	unsigned was = _mm_getcsr();
	_mm_setcsr(was | 0x8040);
	return was;
}
static void flush_as_before(unsigned was) { _mm_setcsr(was); }
#else
static unsigned flush_denormals(void) { return 0; }
static void flush_as_before(unsigned was) { (void)was; }
#endif

enum { BF16_FEW = 128 };             /* so few rows that a row-major b is rounded once more for each tile of them, not packed */

void gemm_bf16_part(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n, char *c, long ldc, double beta)
{
	const struct pxlrt_gemm *d = g->d;
	const GemmBf16 *isa = isa_of(ln)->gemm_bf16;
	int half = d->dtype == DT_BF16, few = isa->direct && !d->tb && !half && m <= BF16_FEW;
	char *pa = ln->scratch, *pb = pa + (size_t)((m + isa->wide) * PACK_K) * sizeof(float);
	long ai = d->ta ? 1 : d->lda, ak = d->ta ? d->lda : 1, bj = d->tb ? d->ldb : 1, bk = d->tb ? 1 : d->ldb, k = 0;
	unsigned was = flush_denormals();
	do {
		long kn = min_l(PACK_K, d->k - k);
		const char *b = at_elem(g->b, d->dtype, k * bk + j0 * bj);
		double be = k ? 1 : beta;
		isa->pack(pa, at_elem(g->a, d->dtype, i0 * ai + k * ak), half, isa->wide, ai, ak, m, kn);
		if (few && kn % 2 == 0) {
			isa->direct(kn, pa, (const float *)(const void *)b, bk, (float *)(void *)c, ldc, m, n, d->alpha, be);
		} else {
			isa->pack(pb, b, half, isa->cols, bj, bk, n, kn);
			isa->block(kn, pa, pb, (float *)(void *)c, ldc, m, n, d->alpha, be);
		}
		k += kn;
	} while (k < d->k);
	flush_as_before(was);
}
