/* kernels.h — what the kernel files share: the table with its private tail, classes, splitting.
 *
 * Inner loops live in vec/, compiled once per instruction set into an Isa; the entries of `struct pxlrt` are ordinary C on top of them and find theirs through the lane's table.
 * Every loop order depends on shapes alone, never on the instruction set or the number of threads. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "runtime/lane.h"

typedef long long i64;
typedef unsigned long long u64;

enum { CACHE_LINE = 64 };
enum { BLOCK_MAX = 1024 };                   /* elements a block on the stack holds, of the widest class */
enum { DRAW = 256 };                         /* counters drawn at a time: four words each fill a block */
enum { BUNDLE = 7 };                         /* rows that reductions take at a time: after the first, nine times so many are a band */
typedef union Block { float f32[BLOCK_MAX]; double f64[BLOCK_MAX]; i64 i[BLOCK_MAX]; u64 u[BLOCK_MAX]; } Block;

/* accumulator of a sum or product: floats in double, integers wrap */
typedef union Acc { double f; u64 u; } Acc;

/* norms of groups, h = (x - mean) inv, over n <= BLOCK_MAX elements; see norm.c.  The second of two goes past the caches, to whole lines */
#define GROUP_ISA(S, T) \
typedef struct GroupIsa_##S { \
	double (*spread)(const T *x, T mean, long n);                                                  /* Σ (x - mean)² */ \
	void (*normed[2])(T *y, const T *x, const T *w, const T *b, T mean, T inv, long n);           /* h w + b */ \
	void (*dots)(double *out, const T *x, const T *g, T mean, T inv, long n);                     /* Σ g, Σ g h */ \
	/* Σ p, Σ p h of p = g w; dw += g h, db += g */ \
	void (*sums)(double *out, T *dw, T *db, const T *x, const T *g, const T *w, T mean, T inv, long n); \
	void (*back[2])(T *dx, const T *x, const T *g, const T *w, T mean, T inv, T mp, T mph, long n);  /* inv (p - mp - h mph) */ \
} GroupIsa_##S;
GROUP_ISA(f32, float)
GROUP_ISA(f64, double)

/* pooling of the last two axes; see vec/pool.h */
typedef struct PoolAxis { long x, y, k, stride, pad; } PoolAxis;
typedef struct PoolPlane { PoolAxis axis[2]; } PoolPlane;
/* taps of window `at` that are not padding */
static inline long pool_taps(const PoolAxis *a, long at)
{
	long from = at * a->stride - a->pad, to = from + a->k;
	return (to < a->x ? to : a->x) - (from > 0 ? from : 0);
}
#define POOL_ISA(S, T) \
typedef struct PoolIsa_##S { \
	/* rows [i0, i1) of plane y; more: y holds what other planes gave.  acc: a row of x, or NULL if that is too long */ \
	void (*max)(T *y, const T *x, const PoolPlane *p, long i0, long i1, T *acc, int more); \
	void (*sum)(T *y, const T *x, const PoolPlane *p, long i0, long i1, T *acc, int more); \
	void (*divide)(T *y, const PoolPlane *p, long i0, long i1, long count);                        /* windows have `count` planes */ \
	/* rows [r0, r1) of dx += the gradients of windows */ \
	void (*max_back)(T *dx, const T *x, const T *y, const T *g, const PoolPlane *p, long r0, long r1); \
	void (*mean_back)(T *dx, const T *g, const PoolPlane *p, long r0, long r1, long count); \
} PoolIsa_##S;
POOL_ISA(f32, float)
POOL_ISA(f64, double)

/* windows over one channel, f32; see vec/depth.c: tap b of a row is tap[b] from the window's first column */
enum { DEPTH_COLUMNS = 32, DEPTH_TAPS = 32 };
typedef struct DepthPlane { long x[2], y[2], k[2], step[2], off[2], gap, part, tap[DEPTH_TAPS]; } DepthPlane;

/* reductions of n <= BLOCK_MAX contiguous elements over 64 lanes in a fixed order, by class; see vec/folds.c */
typedef struct FoldIsa {
	void (*sum[PXLRT_NCLASS])(Acc *out, const void *x, long n);
	void (*prod[PXLRT_NCLASS])(Acc *out, const void *x, long n);
	/* extremes come in element 0 of `out` */
	void (*max[PXLRT_NCLASS])(void *out, const void *x, long n);
	void (*min[PXLRT_NCLASS])(void *out, const void *x, long n);
	/* Σ |x| and Σ x², f32 and f64 */
	void (*l1[2])(Acc *out, const void *x, long n);
	void (*sumsq[2])(Acc *out, const void *x, long n);
	/* sum of f16 (0) and bf16 (1); acc += BUNDLE rows of them */
	void (*half_sum[2])(Acc *out, const void *x, long n);
	void (*half_add_rows[2])(float *acc, const void *rows, long stride, long n);
	/* acc op= each of BUNDLE rows of n elements, one after the other */
	void (*add_rows[PXLRT_NCLASS])(void *acc, const void *rows, long stride, long n);
	void (*mul_rows[PXLRT_NCLASS])(void *acc, const void *rows, long stride, long n);
	void (*max_rows[PXLRT_NCLASS])(void *acc, const void *rows, long stride, long n);
	void (*min_rows[PXLRT_NCLASS])(void *acc, const void *rows, long stride, long n);
} FoldIsa;

/* rows of any length; see vec/rows.c */
typedef struct RowIsa {
	/* y = e^(x - m), returns Σ y; y may be x */
	double (*exp_sum_f32)(float *y, const float *x, float m, long n);
	double (*exp_sum_f64)(double *y, const double *x, double m, long n);
	/* y = x - m - l;  y = x s;  dx = y (g - dot) */
	void (*shift_f32)(float *y, const float *x, float m, float l, long n);
	void (*shift_f64)(double *y, const double *x, double m, double l, long n);
	void (*scale_f32)(float *y, const float *x, float s, long n);
	void (*scale_f64)(double *y, const double *x, double s, long n);
	void (*back_f32)(float *dx, const float *y, const float *g, float dot, long n);
	void (*back_f64)(double *dx, const double *y, const double *g, double dot, long n);
} RowIsa;

/* windows over one channel: stage a plane, then compute the result's; see vec/depth.c */
typedef struct DepthIsa {
	void (*stage)(const DepthPlane *d, const float *x, float *room);
	void (*plane)(const DepthPlane *d, const float *room, const float *w, float *y);
} DepthIsa;

/* random words and normals of n <= DRAW counters from c; see random.c */
typedef struct RandomIsa {
	void (*philox)(uint32_t *out, const uint32_t *key, uint64_t c, uint32_t tag, long n);
	void (*normal_f32)(float *y, const uint32_t *words, float mean, float std, long n);
	void (*normal_f64)(double *y, const uint32_t *words, double mean, double std, long n);
} RandomIsa;

/* bytes past the caches; end: before another thread may read them.  See vec/stream.h */
typedef struct StreamIsa {
	void (*store)(void *dst, const void *src, long bytes);
	void (*end)(void);
} StreamIsa;

/* how many of n keys, a multiple of 32, are above each */
typedef struct OrderIsa { void (*above)(int *out, const int *key, long n); } OrderIsa;

/* the inner loops of one instruction set, a table for each file of vec/ */
struct GemmIsa;
struct GemmBf16;
struct BlockIsa;
typedef struct Isa {
	const char *name;
	const FoldIsa *fold;
	const RowIsa *row;
	const GroupIsa_f32 *group_f32;
	const GroupIsa_f64 *group_f64;
	const PoolIsa_f32 *pool_f32;
	const PoolIsa_f64 *pool_f64;
	const DepthIsa *depth;
	const RandomIsa *random;
	const StreamIsa *stream;
	const OrderIsa *order;
	const struct GemmIsa *gemm_f32, *gemm_f64;   /* see matmul.h */
	const struct GemmBf16 *gemm_bf16;
	const struct BlockIsa *blocks;               /* blocked layout: see blocked.h */
} Isa;

typedef struct KernelTable { struct pxlrt pub; Isa isa; } KernelTable;

static inline const struct pxlrt *table_of(RtLane *ln) { return ln->rt; }
static inline const Isa *isa_of(RtLane *ln) { return &((const KernelTable *)(const void *)ln->rt)->isa; }

/* class of a dtype's blocks */
static inline int class_of(int dtype)
{
	if (dtype == DT_F64) return PXLRT_F64;
	if (dtype == DT_U64) return PXLRT_U64;
	return dtype_info[dtype].cls == 'f' || dtype_info[dtype].cls == '8' ? PXLRT_F32 : PXLRT_I64;
}
static inline size_t class_size(int cls) { return cls == PXLRT_F32 ? 4 : 8; }
/* elements of this dtype are blocks of their class as they stand */
static inline int is_native(int dtype) { return dtype == DT_F32 || dtype == DT_F64 || dtype == DT_I64 || dtype == DT_U64; }

static inline long min_l(long a, long b) { return a < b ? a : b; }
static inline long max_l(long a, long b) { return a > b ? a : b; }
static inline long ceil_div(long a, long b) { return (a + b - 1) / b; }
static inline const char *at_elem(const void *p, int dtype, long i) { return (const char *)p + i * dtype_info[dtype].size; }
static inline char *at_elem_mut(void *p, int dtype, long i) { return (char *)p + i * dtype_info[dtype].size; }

/* work, in rough nanoseconds on one core, that is worth a piece of its own */
enum { PIECE_NS = 8000 };
/* pieces of about PIECE_NS when each of n items costs ns */
static inline long piece_of(long n, double ns)
{
	double g = PIECE_NS / (ns > 0.01 ? ns : 0.01);
	return g >= (double)n ? max_l(n, 1) : g < 1 ? 1 : (long)g;
}
/* body over [lo, hi) pieces of `grain` items; returns the first fault's status */
typedef int (*SpanBody)(RtLane *ln, void *ctx, long lo, long hi);
int span_run(RtLane *ln, SpanBody body, void *ctx, long n, long grain);

/* rt_convert on a table of one's choice; see convert.c */
void k_convert(const struct pxlrt *rt, DType to, void *dst, DType from, const void *src, size_t n);

/* n indices, from number `at` on and `step` apart, as long; gives whether one is outside [lo, hi).  See gather.c */
int k_indices(int dtype, const void *idx, long at, long step, long n, long lo, long hi, long *out);
static inline int is_outside(long at, long lo, long hi) { return (unsigned long)at - (unsigned long)lo >= (unsigned long)(hi - lo); }

/* --- entries of the table, one file each ------------------------------------------------------------------ */
int k_each(struct pxlrt_lane *, int (*)(const struct pxlrt *, struct pxlrt_lane *, void *const *, long, long), void *const *, long, long);
int k_fold(struct pxlrt_lane *, const struct pxlrt_fold *, pxlrt_rows, void *const *);
int k_matmul(struct pxlrt_lane *, const struct pxlrt_gemm *, const void *, const void *, void *, pxlrt_rows, void *const *);
int k_reduce(struct pxlrt_lane *, const struct pxlrt_reduce *, const void *, void *);
int k_copy(struct pxlrt_lane *, const struct pxlrt_copy *, const void *, void *);
int k_argmax(struct pxlrt_lane *, const struct pxlrt_axis *, int, const void *, int *);
int k_topk(struct pxlrt_lane *, const struct pxlrt_axis *, long, int, const void *, void *, int *);
int k_median(struct pxlrt_lane *, const struct pxlrt_axis *, const void *, void *, int *);
int k_histogram(struct pxlrt_lane *, int, int, int, const double *, const void *, long, unsigned *);
int k_softmax(struct pxlrt_lane *, const struct pxlrt_axis *, int, const void *, void *);
int k_softmax_grad(struct pxlrt_lane *, const struct pxlrt_axis *, const void *, const void *, void *);
int k_group_norm(struct pxlrt_lane *, const struct pxlrt_norm *, const void *, const void *, const void *, void *);
int k_group_norm_back(struct pxlrt_lane *, const struct pxlrt_norm *, const void *, const void *, const void *, void *, void *, void *);
int k_attention(struct pxlrt_lane *, const struct pxlrt_attention *, const void *, const void *, const void *, const void *, void *, void *);
int k_attention_back(struct pxlrt_lane *, const struct pxlrt_attention *, const void *const *, void *const *);
int k_cumsum(struct pxlrt_lane *, const struct pxlrt_axis *, int, const void *, void *);
int k_gather(struct pxlrt_lane *, const struct pxlrt_axis *, int, long, int, const void *, const void *, void *);
int k_scatter_add(struct pxlrt_lane *, const struct pxlrt_axis *, int, long, int, const void *, const void *, void *);
int k_scatter(struct pxlrt_lane *, const struct pxlrt_scatter *, void *, const void *, void *);
int k_window_copy(struct pxlrt_lane *, const struct pxlrt_dynamic *, const void *, void *, void *);
int k_conv(struct pxlrt_lane *, const struct pxlrt_window *, const void *, const void *, const void *, void *, void *);
int k_conv_turn(struct pxlrt_lane *, const struct pxlrt_window *, int, const void *, void *);
int k_conv_data(struct pxlrt_lane *, const struct pxlrt_window *, const void *, const void *, void *, void *);
int k_conv_weight(struct pxlrt_lane *, const struct pxlrt_window *, long, const void *, const void *, void *);
int k_blocks(struct pxlrt_lane *, int, int, long, long, long, const void *, void *);
int k_pool(struct pxlrt_lane *, const struct pxlrt_window *, int, const void *, void *);
int k_average_back(struct pxlrt_lane *, const struct pxlrt_window *, const void *, void *);
int k_max_back(struct pxlrt_lane *, const struct pxlrt_window *, const void *, const void *, const void *, void *);
int k_resize(struct pxlrt_lane *, const struct pxlrt_resize *, int, const void *, void *);
int k_roi(struct pxlrt_lane *, const struct pxlrt_roi *, int, const void *, const void *, const void *, void *);
int k_nll(struct pxlrt_lane *, const struct pxlrt_nll *, const void *, const void *, void *);
int k_nll_grad(struct pxlrt_lane *, const struct pxlrt_nll *, const void *, const void *, const void *, void *);
int k_softmax_nll(struct pxlrt_lane *, const struct pxlrt_nll *, int, const void *, const void *, const void *, void *, void *);
int k_random_normal(struct pxlrt_lane *, int, const unsigned *, double, double, void *, long);
int k_random_uniform(struct pxlrt_lane *, int, const unsigned *, double, double, void *, long);
int k_dropout_mask(struct pxlrt_lane *, int, const unsigned *, double, void *, long);
void k_split_seed(const unsigned *, unsigned, unsigned *);
int k_divcheck(struct pxlrt_lane *, int, const void *, long, int);
int k_pow2(struct pxlrt_lane *, const int *, float *);
int k_powcheck(struct pxlrt_lane *, int, const void *, long, int);
void *k_memcpy(void *, const void *, unsigned long);
void *k_memset(void *, int, unsigned long);

/* the tables that vec/table.c makes */
extern const KernelTable table_base;
#if defined __x86_64__
extern const KernelTable table_avx2, table_avx512, table_avx512_bf16;
#endif
/* those that this machine can run, baseline first; returns how many */
enum { K_TABLES = 4 };
int k_tables(const KernelTable **out);

#endif
