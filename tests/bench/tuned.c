/* tuned.c — what makes Debian's PyTorch an honest peer, preloaded into its process: its f32 products go to oneDNN, which is faster
 * than the BLAS it is linked with.  (Its memory is kept by MALLOC_… in the environment: bench.py.) */
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

/* Fortran's matrices lie by columns, oneDNN's by rows: the transposed product, with the operands exchanged. */
__attribute__((visibility("default"))) void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha, const float *a,
            const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc);
void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha, const float *a,
            const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc)
{
	if (*m <= 0 || *n <= 0) return;
	dnnl_status_t st = dnnl_sgemm(*tb, *ta, *n, *m, *k, *alpha, b, *ldb, a, *lda, *beta, c, *ldc);
	if (st == dnnl_success) return;
	fprintf(stderr, "tuned.c: oneDNN refused a product of %d x %d x %d\n", *m, *k, *n);
	abort();
}
