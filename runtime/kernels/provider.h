/* provider.h — matrix products: how a product is cut, and what its two providers share.
 *
 * portable.c does everything with the loops of gemm.h.  onednn.c hands large f32 products to oneDNN, which
 * is loaded when first wanted, and everything else to the portable one.  Both cut the result into tiles by
 * shape alone and hand tiles to the pool; oneDNN itself runs on one thread. */
#ifndef KERNELS_PROVIDER_H
#define KERNELS_PROVIDER_H

#include "runtime/kernels/kernels.h"

enum { PACK_K = 256 };             /* k that is packed at a time */

/* inner loops; pointers are to the element type (f32 or f64) unless said otherwise */
typedef struct GemmIsa {
	int rows, cols, lanes;      /* the register tile, and elements of a vector */
	/* c[m, n] = alpha a b + beta c on packed b, k <= PACK_K; a packed (lda 0) or row-major */
	void (*block)(long k, const void *a, long lda, const void *b, void *c, long ldc, long m, long n, double alpha, double beta);
	void (*pack)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);
	void (*pack_f16)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);
	void (*pack_bf16)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);
	/* a row-major, b where it stands: row-major (n a multiple of lanes), or transposed */
	void (*direct)(long k, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta);
	void (*direct_t)(long k, const void *a, long lda, const void *b, long ldb, void *c, long ldc, long m, long n, double alpha, double beta);
	/* windows (conv.h): row k of b stands at b + off[k]; c += a b, or c = a b.  n is rounded up to whole vectors, in b and in c */
	void (*taps)(long k, const void *a, long lda, const void *b, const long *off, void *c, long ldc, long m, long n, int add);
	/* c[i, r] += Σ_p g[i, p] b[off[r] + p], p < count, a multiple of lanes */
	void (*taps_back)(long count, const void *g, long ldg, const void *b, const long *off, void *c, long ldc, long m, long n);
	/* the same with g packed, vecs vectors wide ([count][vecs·lanes], up to cols / lanes of them): c[r, j] += Σ_p b[off[r] + p] g[p, j] */
	void (*taps_wide)(long count, const void *g, int vecs, const void *b, const long *off, void *c, long ldc, long n);
} GemmIsa;

/* the same of operands rounded to bf16 (gemm_bf16.h).  Panels are over pairs of k, [panel][pair][width], `wide` wide for a and `cols` for b */
typedef struct GemmBf16 {
	int wide, cols;
	/* half: the operand is bf16, else f32; one of sw and sk is 1 */
	void (*pack)(void *dst, const void *src, int half, int width, long sw, long sk, long wn, long kn);
	void (*block)(long kn, const void *a, const void *b, float *c, long ldc, long m, long n, double alpha, double beta);
	/* b f32, row-major, where it stands, kn even; NULL: packing does as well */
	void (*direct)(long kn, const void *a, const float *b, long ldb, float *c, long ldc, long m, long n, double alpha, double beta);
} GemmBf16;

/* one product of a batch: d with this item's operands */
typedef struct GemmItem { const struct pxlrt_gemm *d; const char *a, *b; char *c; const char *bias; char *y; } GemmItem;

/* item i of the batch, i counting row-major over d->bdim; y follows c's strides */
GemmItem gemm_item(const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y, long i);
long gemm_batch(const struct pxlrt_gemm *d);

/* bias and activation on the rectangle [i0, i0 + m) × [j0, j0 + n) of a finished c */
void gemm_epilogue(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n);

/* a rectangle of c, whole k, on the caller's thread */
void gemm_portable_tile(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n);

/* the same, c = alpha a b + beta c in f32 (f64 where d is that) and no epilogue; operands rounded to bf16 */
void gemm_bf16_part(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n, char *c, long ldc, double beta);
/* does d ask for that? */
static inline int gemm_is_bf16(const struct pxlrt_gemm *d) { return d->bf16 && (d->dtype == DT_F32 || d->dtype == DT_BF16); }

/* few rows, or a small b, and b row-major: the portable loops need no packing and run at the machine's peak */
int gemm_is_direct(const struct pxlrt_gemm *d);

/* how c is cut: pieces of m × n; few rows are not cut */
typedef struct GemmCut { long m, n, rows, cols; } GemmCut;     /* piece sizes, and their numbers */
GemmCut gemm_cut(const struct pxlrt_gemm *d, const GemmIsa *isa);

/* so few rows that it is cut along k (thin.c) */
int gemm_is_thin(const struct pxlrt_gemm *d);
int gemm_thin(RtLane *ln, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y);

typedef void (*GemmTileFn)(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n);
/* every tile of every item, over the pool */
int gemm_run(RtLane *ln, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y, GemmTileFn tile);

#endif
