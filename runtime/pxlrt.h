/* pxlrt.h — all that emitted C may call, as one table.  Includes nothing; libtcc parses this very text.
 *
 * An emitted function takes the table `rt`, its lane `ln` (one replica's memory and streams) and a
 * frame, and returns a status: 0, or what a failing entry returned (the message is kept by the lane).
 * Pointers are to contiguous row-major data unless a descriptor carries strides (in elements). */
#ifndef PXLRT_H
#define PXLRT_H

#define PXLRT_ABI 17
#define PXLRT_BLOCK 128                  /* elements a blocked loop handles at a time */

struct pxlrt;
struct pxlrt_lane {                      /* the public head of a lane; the session keeps more behind it */
	char *vars;                      /* variables: base of their region */
	const char *consts;              /* constants */
	char *frame;                     /* arena of the main graph */
	int replica, ipu;
	char *const *fixed;              /* variables that the program never writes: each where its one copy lies */
};

/* --- blocked elementwise primitives ------------------------------------------------------------
 * Four compute classes: f32 (also f16, bf16), f64, i64 (bool and every integer but u64), u64.
 * y may equal any operand.  Comparisons give 1 or 0 in the same class; sel(c,a,b) = c != 0 ? a : b.
 * Integer arithmetic wraps; div and mod by zero are reported by `rt->fault` before the block runs:
 * see divcheck. */

/* The vector-maths table: a row is all there is to a primitive, but for sin and cos, whose loops are longer (kernels/vec/float_loops.h).
 * Columns: name; the formula over x, over p and q, or over p, q and r, for floats (OF(exp): exp_f32 or exp_f64, LIBM(fmod): fmodf
 * or fmod), for i64 and for u64; and the derivative, in the language of `.expr`, over the operands, the result y and the
 * incoming gradient g: a part for each operand, apart by `;`.  "truth": it gives truth values; "": compiler/ops/formula.c has it. */
#define PXLRT_VEC1_ALL(X) \
	X(neg, -x, (i64)(0 - (u64)x), 0 - x, "neg(g)") \
	X(abs, OF(abs)(x), (i64)(x < 0 ? 0 - (u64)x : (u64)x), x, "mul(g, sign(x))") \
	X(sign, (x > 0) - (x < 0), (x > 0) - (x < 0), x > 0, "0.0") \
	X(not, x == 0, x == 0, x == 0, "truth")
/* integers alone: no formula for floats, which have none of these */
#define PXLRT_VEC1_INT(X) \
	X(bitwise_not, ~x, ~x, "0.0")
#define PXLRT_VEC2_INT(X) \
	X(bitwise_and, p & q, p & q, "0.0; 0.0") \
	X(bitwise_or, p | q, p | q, "0.0; 0.0") \
	X(bitwise_xor, p ^ q, p ^ q, "0.0; 0.0")
#define PXLRT_VEC1_LOOP(X) \
	X(sin, "mul(g, cos(x))") \
	X(cos, "mul(g, neg(sin(x)))")
#define PXLRT_VEC1_FLOAT(X) \
	X(exp, OF(exp)(x), "mul(g, y)") \
	X(log, OF(log)(x), "div(g, x)") \
	X(sqrt, LIBM(sqrt)(x), "div(g, add(y, y))") \
	X(tanh, OF(tanh)(x), "tanh_grad(g, y)") \
	X(asin, OF(asin)(x), "div(g, sqrt(mul(sub(1.0, x), add(1.0, x))))") \
	X(acos, OF(acos)(x), "neg(div(g, sqrt(mul(sub(1.0, x), add(1.0, x)))))") \
	X(atan, OF(atan)(x), "div(g, add(1.0, mul(x, x)))") \
	X(erf, OF(erf)(x), "mul(g, mul(1.1283791670955126, exp(neg(mul(x, x)))))") \
	X(floor, LIBM(floor)(x), "0.0") \
	X(ceil, LIBM(ceil)(x), "0.0") \
	X(recip, 1 / x, "mul(g, neg(mul(y, y)))") \
	X(relu, x <= 0 ? 0 : x, "relu_grad(g, y)")                        /* keeps a NaN; its gradient is 0 there */ \
	X(gelu, OF(gelu)(x), "gelu_grad(g, x)") \
	X(geluerf, x * OF(phi)(x), "geluerf_grad(g, x)") \
	X(sigmoid, OF(sigmoid)(x), "mul(g, mul(y, sub(1.0, y)))") \
	X(softplus, OF(softplus)(x), "mul(g, sigmoid(x))") \
	X(swish, x * OF(sigmoid)(x), "swish_grad(g, x)") \
	X(isnan, x != x, "truth") \
	X(isinf, OF(abs)(x) == INFINITY, "truth")
/* integer division and remainder by zero give 0 here (see divcheck); min and max hand on a NaN of either side */
#define PXLRT_VEC2_ALL(X) \
	X(add, p + q, (i64)((u64)p + (u64)q), p + q, "g; g") \
	X(sub, p - q, (i64)((u64)p - (u64)q), p - q, "g; neg(g)") \
	X(mul, p * q, (i64)((u64)p * (u64)q), p * q, "mul(g, q); mul(g, p)") \
	X(div, p / q, div_i64(p, q), q ? p / q : 0, "div(g, q); neg(mul(g, div(y, q)))") \
	X(mod, LIBM(fmod)(p, q), mod_i64(p, q), q ? p % q : 0, "g; neg(mul(g, mul(sign(div(p, q)), floor(abs(div(p, q))))))") \
	X(pow, OF(pow)(p, q), pow_i64(p, q), pow_u64(p, q), "") \
	X(min, p != p ? p : p < q ? p : q, p < q ? p : q, p < q ? p : q, "sel(eq(p, y), g, 0.0); sel(eq(q, y), g, 0.0)") \
	X(max, p != p ? p : p > q ? p : q, p > q ? p : q, p > q ? p : q, "sel(eq(p, y), g, 0.0); sel(eq(q, y), g, 0.0)") \
	X(eq, p == q, p == q, p == q, "truth") X(ne, p != q, p != q, p != q, "truth") \
	X(lt, p < q, p < q, p < q, "truth") X(le, p <= q, p <= q, p <= q, "truth") \
	X(gt, p > q, p > q, p > q, "truth") X(ge, p >= q, p >= q, p >= q, "truth") \
	X(and, (p != 0) & (q != 0), (p != 0) & (q != 0), (p != 0) & (q != 0), "truth") \
	X(or, (p != 0) | (q != 0), (p != 0) | (q != 0), (p != 0) | (q != 0), "truth")
/* incoming gradient times derivative: gelu_grad(g, x) and kin take the operand, relu_grad(g, y) and tanh_grad(g, y) the result */
#define PXLRT_VEC2_FLOAT(X) \
	X(relu_grad, q > 0 ? p : 0, "relu_grad(g, q); 0.0") \
	X(tanh_grad, p * (1 - q * q), "tanh_grad(g, q); mul(g, mul(p, mul(-2.0, q)))") \
	X(gelu_grad, p * OF(gelu_slope)(q), "") \
	X(geluerf_grad, p * OF(geluerf_slope)(q), "geluerf_grad(g, q); mul(g, mul(p, mul(mul(0.3989422804014327, exp(mul(-0.5, mul(q, q)))), sub(2.0, mul(q, q)))))") \
	X(swish_grad, p * OF(swish_slope)(q), "swish_grad(g, q); " \
	  "mul(g, mul(p, mul(mul(sigmoid(q), sub(1.0, sigmoid(q))), add(2.0, mul(q, sub(1.0, mul(2.0, sigmoid(q))))))))")
#define PXLRT_VEC3_ALL(X) \
	X(sel, p != 0 ? q : r, p != 0 ? q : r, p != 0 ? q : r, "") \
	X(clamp, AT_MOST(AT_LEAST(p, q), r), AT_MOST(AT_LEAST(p, q), r), AT_MOST(AT_LEAST(p, q), r),              /* keeps a NaN p */ \
	  "sel(and(ge(p, q), le(p, r)), g, 0.0); sel(and(lt(p, q), le(q, r)), g, 0.0); sel(gt(max(p, q), r), g, 0.0)") \
	X(fma, p * q + r, (i64)((u64)p * (u64)q + (u64)r), p * q + r, "mul(g, q); mul(g, p); g")      /* rounded twice: same bits everywhere */
/* several steps of an optimiser in one loop, each rounded */
#define PXLRT_VEC3_FLOAT(X) \
	X(root, LIBM(sqrt)(p * q) + r, "mul(g, div(mul(0.5, q), sub(y, r))); mul(g, div(mul(0.5, p), sub(y, r))); g") \
	X(ratio, p * q / r, "mul(g, div(q, r)); mul(g, div(p, r)); neg(mul(g, div(y, r)))")

#define PXLRT_M1(n, ...) void (*n)(PXLRT_T *y, const PXLRT_T *a, long count);
#define PXLRT_M2(n, ...) void (*n)(PXLRT_T *y, const PXLRT_T *a, const PXLRT_T *b, long count);
#define PXLRT_M3(n, ...) void (*n)(PXLRT_T *y, const PXLRT_T *a, const PXLRT_T *b, const PXLRT_T *c, long count);
#define PXLRT_MEMBERS_ALL PXLRT_VEC1_ALL(PXLRT_M1) PXLRT_VEC2_ALL(PXLRT_M2) PXLRT_VEC3_ALL(PXLRT_M3) \
	void (*fill)(PXLRT_T *y, PXLRT_T x, long count);
#define PXLRT_MEMBERS_INT PXLRT_MEMBERS_ALL PXLRT_VEC1_INT(PXLRT_M1) PXLRT_VEC2_INT(PXLRT_M2)
#define PXLRT_MEMBERS_FLOAT PXLRT_MEMBERS_ALL PXLRT_VEC1_LOOP(PXLRT_M1) PXLRT_VEC1_FLOAT(PXLRT_M1) PXLRT_VEC2_FLOAT(PXLRT_M2) PXLRT_VEC3_FLOAT(PXLRT_M3)

#define PXLRT_T float
struct pxlrt_f32 { PXLRT_MEMBERS_FLOAT };
#undef PXLRT_T
#define PXLRT_T double
struct pxlrt_f64 { PXLRT_MEMBERS_FLOAT };
#undef PXLRT_T
#define PXLRT_T long long
struct pxlrt_i64 { PXLRT_MEMBERS_INT };
#undef PXLRT_T
#define PXLRT_T unsigned long long
struct pxlrt_u64 { PXLRT_MEMBERS_INT };
#undef PXLRT_T
/* integers of 32 bits and less in their own types, where that gives what i64 and a wrap would (compiler/codegen/narrow.c) */
#define PXLRT_T signed char
struct pxlrt_i8 { PXLRT_MEMBERS_INT };
#undef PXLRT_T
#define PXLRT_T short
struct pxlrt_i16 { PXLRT_MEMBERS_INT };
#undef PXLRT_T
#define PXLRT_T int
struct pxlrt_i32 { PXLRT_MEMBERS_INT };
#undef PXLRT_T
#define PXLRT_T unsigned char
struct pxlrt_u8 { PXLRT_MEMBERS_INT };
#undef PXLRT_T
#define PXLRT_T unsigned short
struct pxlrt_u16 { PXLRT_MEMBERS_INT };
#undef PXLRT_T
#define PXLRT_T unsigned
struct pxlrt_u32 { PXLRT_MEMBERS_INT };
#undef PXLRT_T

enum { PXLRT_F32, PXLRT_F64, PXLRT_I64, PXLRT_U64, PXLRT_NCLASS };
enum { PXLRT_I8 = PXLRT_NCLASS, PXLRT_I16, PXLRT_I32, PXLRT_U8, PXLRT_U16, PXLRT_U32, PXLRT_NOWN };       /* own types; bool is a u8 of 0 or 1 */
enum { PXLRT_NDTYPE = 15 };              /* numbered as in dtype.def */

/* memory to a block, a block to memory, a block as storing and loading would leave it, a block to a block of another type; tables of
 * them are indexed by dtype */
typedef void (*pxlrt_load)(void *block, const void *src, long stride, long n);
typedef void (*pxlrt_store)(void *dst, long stride, const void *block, long n);
typedef void (*pxlrt_norm_block)(void *block, long n);
typedef void (*pxlrt_cast)(void *dst, const void *src, long n);

/* --- descriptors: emitted as static const data --------------------------------------------------- */
enum { PXLRT_MAXRANK = 8 };

/* c[b] = alpha * op(a[b]) @ op(b[b]) + beta * c[b]:
 * op(a) is m×k with leading dimension lda, transposed in memory when ta. Batches nest: nb of them with
 * counts bdim and element strides (0: broadcast). f16, bf16 accumulate in f32; f64 in f64.
 * bf16: f32 operands are rounded to bf16 on their way (and bf16 ones summed as those are); see kernels/gemm_bf16.c. */
struct pxlrt_gemm {
	int dtype, ta, tb, bf16, nb;
	long m, n, k, lda, ldb, ldc;
	double alpha, beta;
	long bdim[PXLRT_MAXRANK], sa[PXLRT_MAXRANK], sb[PXLRT_MAXRANK], sc[PXLRT_MAXRANK];
};

/* y = reduction of x over the axes whose bit is set in mask; strides of x in elements, y contiguous */
enum { PXLRT_SUM, PXLRT_MEAN, PXLRT_MAX, PXLRT_MIN, PXLRT_PROD, PXLRT_L1, PXLRT_L2, PXLRT_SUMSQ, PXLRT_LOGSUM, PXLRT_LOGSUMEXP };
struct pxlrt_reduce { int op, dtype, rank; unsigned mask; long dim[PXLRT_MAXRANK], stride[PXLRT_MAXRANK]; };

/* A loop that ends in folds, over a space of dim[0] × dim[1] × dim[2] × dim[3] elements: the first and the third are folded, the others
 * kept.  The loop sees rows of `width`, which divides dim[3], or dim[2] where dim[3] is 1.  It is asked for rows [lo, hi), columns [from, to)
 * of them, in pieces that depend on the space alone, and leaves the values to be folded where p[end.at] says, one row behind the other, unless it
 * stores all of them at p[end.from] anyhow (else -1); what the folds give goes to where the caller's p[end.at] points. */
enum { PXLRT_FOLDS = 4, PXLRT_FOLD_POINTERS = 64 };
struct pxlrt_fold {
	long dim[4], width, grain;       /* grain: elements that are worth a thread's while */
	int pointers, folds;             /* of p, and how many of the ends there are */
	struct { int op, dtype, at, from; } end[PXLRT_FOLDS];
};
typedef int (*pxlrt_rows)(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, long lo, long hi, long from, long to);

/* element copy between two strided layouts of one shape */
struct pxlrt_copy { int size /* bytes per element */, rank; long dim[PXLRT_MAXRANK], dst[PXLRT_MAXRANK], src[PXLRT_MAXRANK]; };

/* Among the members of a group of replicas: those stride apart from this one, `size` of them.  A tensor is [outer, n] elements,
 * or (reduce_scatter, own) the whole of which n are a member's part; total: elements of the whole, where a part may go past it. */
enum { PXLRT_ALL_REDUCE, PXLRT_REDUCE_SCATTER, PXLRT_ALL_GATHER, PXLRT_OWN };
struct pxlrt_collective { int kind, how, dtype, stride, size; long outer, n, total; };

/* x seen as [outer, n, inner], working along n */
struct pxlrt_axis { int dtype; long outer, n, inner; };

/* between `small`, contiguous of shape dim, and `big`, strides as given: small[p] and big[p with p[axis] := index of p] meet, for each p.
 * step: strides of the indices, 0 where they repeat.  An index not below `limit` is a fault, or, if lenient, meets nothing (reading gives 0). */
enum { PXLRT_SCATTER_READ, PXLRT_SCATTER_WRITE, PXLRT_SCATTER_SUM, PXLRT_SCATTER_MAX, PXLRT_SCATTER_MIN };
struct pxlrt_scatter {
	int dtype, idx_dtype, mode, lenient, rank, axis;
	long limit, dim[PXLRT_MAXRANK], stride[PXLRT_MAXRANK], step[PXLRT_MAXRANK];
};

/* a window of a tensor of `limit`, beginning at index[i] along axis[i] and at 0 along the others; out of it, or (write) into it */
struct pxlrt_dynamic {
	int size /* bytes per element */, idx_dtype, write, rank, n, axis[PXLRT_MAXRANK];
	long limit[PXLRT_MAXRANK], window[PXLRT_MAXRANK], stride[PXLRT_MAXRANK];
};

/* windows over n images of `groups` times c (x side) or m (y side) channels: position i of y and tap k meet
 * position i·stride + k·dilation - pad of x, which may lie outside.  x[images, groups·c, x…], y[images, groups·m, y…].
 * xblock, yblock: 0, or PXLRT_CHANNELS where that side is blocked: [images, channels / 16, space…, 16] in memory */
enum { PXLRT_MAXSPACE = PXLRT_MAXRANK - 2, PXLRT_CHANNELS = 16 };
struct pxlrt_window {
	int xtype, ytype, rank;
	long images, groups, c, m;
	long x[PXLRT_MAXSPACE], y[PXLRT_MAXSPACE], k[PXLRT_MAXSPACE], stride[PXLRT_MAXSPACE], pad[PXLRT_MAXSPACE], dilation[PXLRT_MAXSPACE];
	int xblock, yblock;
	int relu;                        /* conv: then relu; max_back: x came out of a relu, whose gradient is applied as well; both blocked */
};

/* one axis of `size` samples made from axis.n: where each comes from, and from how many */
enum { PXLRT_NEAREST, PXLRT_LINEAR, PXLRT_CUBIC };
enum { PXLRT_PREFER_FLOOR, PXLRT_PREFER_CEIL, PXLRT_FLOOR, PXLRT_CEIL };
enum { PXLRT_HALF_PIXEL, PXLRT_PYTORCH_HALF_PIXEL, PXLRT_ALIGN_CORNERS, PXLRT_ASYMMETRIC };
struct pxlrt_resize { struct pxlrt_axis axis; int mode, nearest, coord; long size; double factor; };

/* r regions of n images [c, h, w], to grids of ph × pw bins; ratio samples per bin and axis, 0: as many as it takes */
struct pxlrt_roi { int dtype, index_dtype; long n, c, h, w, r, ph, pw, ratio; double scale; };

/* x [n, groups, per, inner], normalised over the last two axes; weight and bias are [groups, per], their gradients sums over parts of
 * `rows` items */
struct pxlrt_norm { int dtype; long n, groups, per, inner, rows; double eps; };

/* For each of a batch of items: queries [lq, d] against keys [lk, d] and values [lk, dv], rows contiguous in themselves.  Rows are r… apart
 * and items as bdim and s… say; the mask [lq, lk] may lie in any way.  causal: query i sees the keys up to i + lk - lq.  Results, and what
 * the gradient is given of them, are contiguous.  g: the gradient that comes in for the result */
struct pxlrt_attention {
	int dtype, causal, nb;
	long lq, lk, d, dv, rq, rk, rv, rg, mask_row, mask_col;
	double scale;
	long bdim[PXLRT_MAXRANK], sq[PXLRT_MAXRANK], sk[PXLRT_MAXRANK], sv[PXLRT_MAXRANK], sg[PXLRT_MAXRANK], sm[PXLRT_MAXRANK];
};

/* classification losses: probs or logits [rows, classes], labels [rows] of an integer type */
enum { PXLRT_MEAN_LOSS, PXLRT_SUM_LOSS, PXLRT_NO_REDUCTION };
struct pxlrt_nll { int dtype, label_dtype, reduction, has_ignore, log_prob; long rows, classes; long long ignore; double eps, eps_grad; };

/* Something that moves between the device and a stream (index) or an entry of a remote buffer (index). With each go two pointers:
 * to the data (of a host load: to the pointer that it sets), and to the number of the entry, an integer of type `offset`. */
enum { PXLRT_HOST_LOAD, PXLRT_HOST_STORE, PXLRT_REMOTE_LOAD, PXLRT_REMOTE_STORE, PXLRT_CODE_LOAD, PXLRT_MOVES };
struct pxlrt_transfer { int kind, index, offset, site; };

/* width of 0 never wraps; digits of 0: unaligned, format ignored; threshold of 0 never abridges */
enum { PXLRT_FORMAT_AUTO, PXLRT_FORMAT_FIXED, PXLRT_FORMAT_SCIENTIFIC, PXLRT_FORMAT_NONE };
struct pxlrt_print { int dtype, rank; long dim[PXLRT_MAXRANK]; const char *title; long threshold, edge, width; int digits, format; char sep, open, close; };

/* --- the table -------------------------------------------------------------------------------------- */
struct pxlrt {
	int abi;
	const struct pxlrt_f32 *f32;
	const struct pxlrt_f64 *f64;
	const struct pxlrt_i64 *i64;
	const struct pxlrt_u64 *u64;
	const struct pxlrt_i8 *i8;
	const struct pxlrt_i16 *i16;
	const struct pxlrt_i32 *i32;
	const struct pxlrt_u8 *u8;
	const struct pxlrt_u16 *u16;
	const struct pxlrt_u32 *u32;
	/* block of class(dtype) ← n elements of dtype, stride apart (0 repeats one); and back.
	 * st rounds or wraps to the storage type. */
	const pxlrt_load *ld;
	const pxlrt_store *st;
	/* make a block hold what storing and loading would give: rounds f16/bf16, wraps small integers; NULL: nothing to do */
	const pxlrt_norm_block *norm;
	/* the same between memory and blocks of own types: floats and 64-bit integers as ld and st do it */
	const pxlrt_load *get;
	const pxlrt_store *put;
	/* the `cast` op: block of a class or an own type → block of dtype's own type, or of f32 that holds values of dtype */
	const pxlrt_cast *cvt[PXLRT_NOWN];

	/* run body over [0, n) in pieces of at least grain, possibly in parallel; p is handed through.
	 * Pieces depend on n and grain alone, so results do not depend on the number of threads. */
	int (*each)(struct pxlrt_lane *ln, int (*body)(const struct pxlrt *, struct pxlrt_lane *, void *const *p, long lo, long hi),
	            void *const *p, long n, long grain);

	/* the same for a loop that ends in folds, with what they give */
	int (*fold)(struct pxlrt_lane *ln, const struct pxlrt_fold *d, pxlrt_rows body, void *const *p);

	/* tail: what becomes of a part of c that is done, while it is in the caches: rows of c, those of batches one below the other, and columns.
	 * c is contiguous then, and p handed through.  NULL: nothing */
	int (*matmul)(struct pxlrt_lane *ln, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, pxlrt_rows tail, void *const *p);
	int (*reduce)(struct pxlrt_lane *ln, const struct pxlrt_reduce *d, const void *x, void *y);
	int (*copy)(struct pxlrt_lane *ln, const struct pxlrt_copy *d, const void *src, void *dst);
	int (*argmax)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, int smallest, const void *x, int *y);
	/* lines are contiguous (inner 1); the k best first, lower positions first among equals */
	int (*topk)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, long k, int smallest, const void *x, void *y, int *index);
	int (*median)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, const void *x, void *y, int *index);
	int (*histogram)(struct pxlrt_lane *ln, int dtype, int absolute, int nlevel, const double *level, const void *x, long n, unsigned *y);
	/* log: its logarithm */
	int (*softmax)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, int log, const void *x, void *y);
	int (*softmax_grad)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, const void *y, const void *dy, void *dx);
	/* h w + b of h = (x - mean) / sqrt(var + eps).  back: the gradient of x, and for each part a row of Σ g h (dw) and of Σ g (db), f32 or f64 */
	int (*group_norm)(struct pxlrt_lane *ln, const struct pxlrt_norm *d, const void *x, const void *w, const void *b, void *y);
	int (*group_norm_back)(struct pxlrt_lane *ln, const struct pxlrt_norm *d, const void *x, const void *w, const void *g, void *dx, void *dw, void *db);
	/* softmax(scale q kᵀ + mask) v, and for each query the log of what softmax divides by, f32 or f64 (-inf: it sees nothing).
	 * back: x holds q, k, v, mask, y, lse, and what comes in for y and for lse; dx takes what goes to q, k, v and the scores (before the
	 * scale).  mask, the last of x and the last of dx may be NULL */
	int (*attention)(struct pxlrt_lane *ln, const struct pxlrt_attention *d, const void *q, const void *k, const void *v, const void *mask, void *y, void *lse);
	int (*attention_back)(struct pxlrt_lane *ln, const struct pxlrt_attention *d, const void *const *x, void *const *dx);
	int (*cumsum)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, int reverse, const void *x, void *y);
	/* gather: y[outer, i, inner] = x[outer, idx[i], inner]; d->n is x's axis, count the number of indices.
	 * Out of range: zeros when zero_oor, else a fault.  scatter_add is its transpose (y must be zeroed); with zero_oor it
	 * leaves out what is out of range. */
	int (*gather)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, int idx_dtype, long count, int zero_oor, const void *x, const void *idx, void *y);
	int (*scatter_add)(struct pxlrt_lane *ln, const struct pxlrt_axis *d, int idx_dtype, long count, int zero_oor, const void *g, const void *idx, void *y);

	int (*scatter)(struct pxlrt_lane *ln, const struct pxlrt_scatter *d, void *small, const void *idx, void *big);
	/* without a window the place alone is checked */
	int (*window_copy)(struct pxlrt_lane *ln, const struct pxlrt_dynamic *d, const void *index, void *big, void *window);

	/* convolutions; w[groups·m, c, k…] and what is summed up are of class f32 (f64 for f64).  conv: y from x and w.
	 * conv_data: x from y and w as conv_turn lays it out.  conv_weight: `parts` sums over parts of the images, to be added.
	 * room: memory of w's size for the weights in yet another order, or NULL; blocked sides need it.  Blocked: see rt_conv_blocks.
	 * bias: groups·m f32, or NULL; only where y is blocked */
	int (*conv)(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *x, const void *w, const void *bias, void *y, void *room);
	int (*conv_turn)(struct pxlrt_lane *ln, const struct pxlrt_window *d, int wtype, const void *w, void *turned);
	int (*conv_data)(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *y, const void *turned, void *x, void *room);
	int (*conv_weight)(struct pxlrt_lane *ln, const struct pxlrt_window *d, long parts, const void *x, const void *y, void *w);
	/* f32 [images, channels, space], channels in whole blocks: from plain to blocked, or back */
	int (*blocks)(struct pxlrt_lane *ln, int dtype, int to_blocks, long images, long channels, long space, const void *src, void *dst);
	/* pooling, f32 and f64 (the largest: i64 and u64 too), groups = c = channels, m = 1; back: the gradient of x from that of y (max: and x and y).
	 * f32 may be blocked, all sides alike (xblock == yblock) */
	int (*pool)(struct pxlrt_lane *ln, const struct pxlrt_window *d, int largest, const void *x, void *y);
	int (*average_back)(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *dy, void *dx);
	int (*max_back)(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *x, const void *y, const void *dy, void *dx);

	int (*resize)(struct pxlrt_lane *ln, const struct pxlrt_resize *d, int back, const void *x, void *y);       /* back: the transpose */
	/* x: the images, or (back) the gradient of the grids; y the other */
	int (*roi)(struct pxlrt_lane *ln, const struct pxlrt_roi *d, int back, const void *x, const void *rois, const void *index, void *y);

	int (*nll)(struct pxlrt_lane *ln, const struct pxlrt_nll *d, const void *probs, const void *labels, void *loss);
	int (*nll_grad)(struct pxlrt_lane *ln, const struct pxlrt_nll *d, const void *probs, const void *labels, const void *g, void *dprobs);
	/* loss and (probs - onehot) * scale; `scale` points to one element of dtype (or labels-shaped for no reduction).
	 * With from_logits, x holds logits and the softmax is taken on the way (loss = -log max(p, eps)),
	 * otherwise x is a softmax output (loss = -log(p + eps)). */
	int (*softmax_nll)(struct pxlrt_lane *ln, const struct pxlrt_nll *d, int from_logits, const void *x, const void *labels, const void *scale, void *loss, void *dx);

	/* numbers are a pure function of (seed, index, distribution): any split of the range gives the same */
	int (*random_normal)(struct pxlrt_lane *ln, int dtype, const unsigned *seed, double mean, double std, void *y, long n);
	int (*random_uniform)(struct pxlrt_lane *ln, int dtype, const unsigned *seed, double low, double high, void *y, long n);
	int (*dropout_mask)(struct pxlrt_lane *ln, int dtype, const unsigned *seed, double p, void *y, long n);     /* 0 or 1/(1-p) */
	void (*split_seed)(const unsigned *seed, unsigned i, unsigned *out);

	/* next entry of a stream; loads hand out a pointer into the caller's array or an internal one, valid for this run */
	int (*host_load)(struct pxlrt_lane *ln, int stream, const void **out);
	int (*host_store)(struct pxlrt_lane *ln, int stream, const void *x);
	/* where the next store of this stream goes: the caller's array, or `own` where it cannot be written before the store; a
	 * store of what lies there already copies nothing */
	void *(*host_room)(struct pxlrt_lane *ln, int stream, void *own);
	/* entries of remote buffers; the number of the entry is an integer of offset_dtype; out of range is a fault */
	int (*remote_load)(struct pxlrt_lane *ln, int buffer, int offset_dtype, const void *offset, void *y);
	int (*remote_store)(struct pxlrt_lane *ln, int buffer, int offset_dtype, const void *offset, const void *x);
	/* n transfers in one step, loads first; p holds two pointers for each */
	int (*exchange)(struct pxlrt_lane *ln, const struct pxlrt_transfer *t, int n, void *const *p);
	int (*code_load)(struct pxlrt_lane *ln, int segment);
	int (*collective)(struct pxlrt_lane *ln, const struct pxlrt_collective *d, const void *x, void *y);
	/* a function that the host registered; number of the call, pointers to contiguous operands and results */
	int (*host_op)(struct pxlrt_lane *ln, int host, const void *const *in, void *const *out);
	int (*print)(struct pxlrt_lane *ln, const struct pxlrt_print *d, const void *x);

	/* integer division: fault when any of n divisors is zero */
	int (*divcheck)(struct pxlrt_lane *ln, int dtype, const void *b, long n, int site);
	/* integer pow: fault when any of n exponents is negative */
	int (*powcheck)(struct pxlrt_lane *ln, int dtype, const void *e, long n, int site);
	/* the factor of a scale, 2^s: fault unless -32 <= s < 32 */
	int (*pow2)(struct pxlrt_lane *ln, const int *s, float *y);
	/* record a run-time fault; returns its status. site indexes the program's table of source places */
	int (*fault)(struct pxlrt_lane *ln, int site, const char *what);
	void (*at)(struct pxlrt_lane *ln, int site);          /* faults of the next calls happen at this place */
	void *(*memcpy)(void *, const void *, unsigned long);
	void *(*memset)(void *, int, unsigned long);
};

#endif
