/* onednn.h — what we call of oneDNN, opened at run time and resolved when first wanted: its types are opaque here. */
#ifndef KERNELS_ONEDNN_H
#define KERNELS_ONEDNN_H

#include "runtime/kernels/provider.h"

/* dnnl_sgemm of dnnl.h, C linkage; dnnl_dim_t is a 64-bit integer */
typedef int (*SgemmFn)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

typedef struct OneDnn {
	SgemmFn sgemm;
	int (*threads_get)(void);            /* of OpenMP, for the calling thread */
	void (*threads_set)(int);
} OneDnn;

const OneDnn *onednn(void);              /* never NULL; a member that is NULL is not there */

#endif
