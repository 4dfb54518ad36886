/* onednn.h — what we call of oneDNN, resolved when first wanted: products (onednn.c) and convolutions (onednn_conv.c).
 *
 * The library is opened at run time, so its types are opaque here.  Names are those of its second version; the third
 * has another interface for convolutions, and these are then done by our own loops. */
#ifndef KERNELS_ONEDNN_H
#define KERNELS_ONEDNN_H

#include "runtime/kernels/provider.h"

/* dnnl_sgemm of dnnl.h, C linkage; dnnl_dim_t is a 64-bit integer */
typedef int (*SgemmFn)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

typedef struct DnnArg { int which; void *memory; } DnnArg;

#define ONEDNN_CONV(X) \
	X(engine_create, (void **, int kind, size_t index)) \
	X(stream_create, (void **, void *engine, unsigned flags)) X(stream_destroy, (void *)) \
	X(memory_desc_init_by_strides, (void *desc, int rank, const int64_t *dims, int type, const int64_t *strides)) \
	X(memory_desc_init_by_tag, (void *desc, int rank, const int64_t *dims, int type, int tag)) \
	X(memory_create, (void **, const void *desc, void *engine, void *data)) X(memory_destroy, (void *)) \
	X(dilated_convolution_forward_desc_init, (void *desc, int kind, int how, const void *src, const void *weights, const void *bias, const void *dst, \
	                                          const int64_t *strides, const int64_t *dilations, const int64_t *before, const int64_t *after)) \
	X(primitive_attr_create, (void **)) X(primitive_attr_destroy, (void *)) X(primitive_attr_set_scratchpad_mode, (void *, int mode)) \
	X(primitive_desc_create, (void **, const void *desc, const void *attr, void *engine, const void *hint)) X(primitive_desc_destroy, (void *)) \
	X(reorder_primitive_desc_create, (void **, const void *from, void *engine, const void *to, void *to_engine, const void *attr)) \
	X(primitive_create, (void **, const void *desc)) X(primitive_destroy, (void *)) \
	X(primitive_execute, (const void *, void *stream, int n, const DnnArg *))

typedef struct OneDnn {
	SgemmFn sgemm;
	int (*threads_get)(void);            /* of OpenMP, for the calling thread */
	void (*threads_set)(int);
#define ONEDNN_FIELD(name, args) int (*name) args;
	ONEDNN_CONV(ONEDNN_FIELD)
#undef ONEDNN_FIELD
	const void *(*primitive_desc_query_md)(const void *, int what, int index);
	size_t (*memory_desc_get_size)(const void *);
	void *engine;                        /* NULL: no convolutions */
} OneDnn;

const OneDnn *onednn(void);              /* never NULL; a member that is NULL is not there */

#endif
