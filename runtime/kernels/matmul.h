/* matmul.h — matrix products: how one is cut, and what the files that make them share.
 *
 * matmul.c is the entry: it knows what needs no packing, and the epilogue.  packed.c packs operands for all tiles of a product,
 * thin.c cuts products of a few rows along k, gemm_bf16.c rounds operands to bf16.  Inner loops are vec/gemm.h's.  Cuts follow from
 * shapes alone. */
#ifndef KERNELS_MATMUL_H
#define KERNELS_MATMUL_H

#include "runtime/kernels/kernels.h"

enum { PACK_K = 256, SHORT_K = 48 };                     /* k that is packed at a time; where it is shorter, c is what moves */
enum { TILE_M = 512, TILE_N = 384 };                     /* the most rows and columns of a piece of c */
enum { PLACED_ROWS = 512, PLACED_B = 1 << 19 };          /* rows, and elements of a b whose part for a tile fits the second cache: it is read where it stands */

/* inner loops; pointers are to the element type (f32 or f64) unless said otherwise */
typedef struct GemmIsa {
	int rows, cols, lanes;      /* the register tile, and elements of a vector */
	/* c[m, n] = alpha a b + beta c on packed b, k <= PACK_K; a packed (lda 0) or row-major */
	void (*block)(long k, const void *a, long lda, const void *b, void *c, long ldc, long m, long n, double alpha, double beta);
	void (*pack)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);
	void (*pack_f16)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);
	void (*pack_bf16)(void *dst, const void *src, int width, long sw, long sk, long wn, long kn);
	/* c[m, n] = beta c + srcᵀ */
	void (*turned)(void *c, long ldc, const void *src, long lds, long m, long n, double beta);
	/* b where it stands: row-major (n a multiple of lanes; a as in block), or transposed (a row-major) */
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

/* what `matmul` is called with */
typedef struct GemmCall { const struct pxlrt_gemm *d; const void *a, *b; void *c; pxlrt_rows tail; void *const *p; } GemmCall;

/* one product of a batch: d with this item's operands; its first row is row `row` of c */
typedef struct GemmItem { const struct pxlrt_gemm *d; const char *a, *b; char *c; long row; pxlrt_rows tail; void *const *p; } GemmItem;

/* item i of the batch, i counting row-major over d->bdim */
GemmItem gemm_item(const GemmCall *x, long i);
long gemm_batch(const struct pxlrt_gemm *d);

/* the tail on the rectangle [i0, i0 + m) × [j0, j0 + n) of a finished c */
int gemm_epilogue(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n);

/* a rectangle of c, whole k, on the caller's thread, b where it stands; ln->scratch is used up to its middle */
int gemm_tile(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n);

/* the same, c = alpha a b + beta c in f32 (f64 where d is that) and no epilogue; operands rounded to bf16 */
void gemm_bf16_part(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n, char *c, long ldc, double beta);
/* asked for, or bf16 as it is */
static inline int gemm_is_bf16(const struct pxlrt_gemm *d) { return d->dtype == DT_BF16 || (d->bf16 && d->dtype == DT_F32); }

/* so few rows that it is cut along k (thin.c) */
int gemm_is_thin(const struct pxlrt_gemm *d);
int gemm_thin(RtLane *ln, const GemmCall *x);

/* n in equal pieces of at most `most`, each a multiple of unit */
static inline long even_piece(long n, long most, long unit)
{
	long pieces = (n + most - 1) / most, p = (n + pieces - 1) / pieces;
	return (p + unit - 1) / unit * unit;
}

/* how c is cut: pieces of m × n, and how many there are along each */
typedef struct GemmCut { long m, n, rows, cols; } GemmCut;

/* what is packed: see packed.c */
int gemm_packed(RtLane *ln, const GemmCall *x, const GemmIsa *isa);

#endif
