/* vec.h — the blocked primitives, as loops the compiler vectorises.  Included by vec_*.c, each of which
 * compiles it for one instruction set and names the result with VEC_NAME.
 *
 * y may be any operand, exactly: elements are read before they are written, so `ivdep` is true.
 * Two-way choices are written as selects, and reductions as 64 explicit lanes combined in one order, so
 * that every instruction set gives the same bits. */
#include "runtime/kernels/loops.h"

/* sine and cosine: the fast loop, then libm for the rare arguments its reduction is too short for */
#define SINCOS(S, T, name, turn) \
	static void S##_##name(T *y, const T *a, long n) \
	{ \
		T keep[PXLRT_BLOCK]; \
		for (long at = 0; at < n; at += PXLRT_BLOCK) { \
			long m = min_l(PXLRT_BLOCK, n - at); \
			int far = 0; \
			for (long i = 0; i < m; i++) far |= abs_##S(keep[i] = a[at + i]) > (T)SINCOS_MAX; \
			for (long i = 0; i < m; i++) y[at + i] = sincos_##S(keep[i], turn); \
			for (long i = 0; far && i < m; i++) \
				if (abs_##S(keep[i]) > (T)SINCOS_MAX) y[at + i] = (T)name(keep[i]); \
		} \
	}
SINCOS(f32, float, sin, 0)
SINCOS(f32, float, cos, 1)
SINCOS(f64, double, sin, 0)
SINCOS(f64, double, cos, 1)

/* --- the table of pxlrt.h, once for each class --------------------------------------------------------------- */

#define erf_f64 erf
#define pow_f64 pow
#define FILL(S, T) static void S##_fill(T *y, T x, long n) { for (long i = 0; i < n; i++) y[i] = x; }
FILL(f32, float) FILL(f64, double) FILL(i64, i64) FILL(u64, u64)

#define ALL1(name, f, i, u, slope) LOOP1(f32, float, name, f)
#define ALL2(name, f, i, u, slope) LOOP2(f32, float, name, f)
#define ALL3(name, f, i, u, slope) LOOP3(f32, float, name, f)
#define FLOAT1(name, f, slope) LOOP1(f32, float, name, f)
#define FLOAT2(name, f, slope) LOOP2(f32, float, name, f)
#define FLOAT3(name, f, slope) LOOP3(f32, float, name, f)
#define OF(name) name##_f32
#define LIBM(name) name##f
PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) PXLRT_VEC1_FLOAT(FLOAT1) PXLRT_VEC2_FLOAT(FLOAT2) PXLRT_VEC3_FLOAT(FLOAT3)
#undef ALL1
#undef ALL2
#undef ALL3
#undef FLOAT1
#undef FLOAT2
#undef FLOAT3
#undef OF
#undef LIBM
#define ALL1(name, f, i, u, slope) LOOP1(f64, double, name, f) LOOP1(i64, i64, name, i) LOOP1(u64, u64, name, u)
#define ALL2(name, f, i, u, slope) LOOP2(f64, double, name, f) LOOP2(i64, i64, name, i) LOOP2(u64, u64, name, u)
#define ALL3(name, f, i, u, slope) LOOP3(f64, double, name, f) LOOP3(i64, i64, name, i) LOOP3(u64, u64, name, u)
#define FLOAT1(name, f, slope) LOOP1(f64, double, name, f)
#define FLOAT2(name, f, slope) LOOP2(f64, double, name, f)
#define FLOAT3(name, f, slope) LOOP3(f64, double, name, f)
#define OF(name) name##_f64
#define LIBM(name) name
PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) PXLRT_VEC1_FLOAT(FLOAT1) PXLRT_VEC2_FLOAT(FLOAT2) PXLRT_VEC3_FLOAT(FLOAT3)

/* remainders whose quotient is large are libm's: the exact value, as those of the fast loop are */
#define MODS(S, T) \
	static void S##_mod_block(T *y, const T *a, const T *b, long n) \
	{ \
		T z[PXLRT_BLOCK]; \
		for (long at = 0; at < n; at += PXLRT_BLOCK) { \
			long m = min_l(PXLRT_BLOCK, n - at); \
			int near = 1; \
			for (long i = 0; i < m; i++) near &= mod_is_near_##S(a[at + i], b[at + i]), z[i] = mod_near_##S(a[at + i], b[at + i]); \
			for (long i = 0; !near && i < m; i++) \
				if (!mod_is_near_##S(a[at + i], b[at + i])) S##_mod(z + i, a + at + i, b + at + i, 1); \
			memcpy(y + at, z, (size_t)m * sizeof *y); \
		} \
	}
MODS(f32, float)
MODS(f64, double)
#define f32_mod f32_mod_block
#define f64_mod f64_mod_block

/* --- storage ↔ blocks: one row of T (storage), C (class), how to read, how to write ---------------------------- */

#define STORAGE(X) STORAGE_INT(X) STORAGE_FLOAT(X)
#define STORAGE_INT(X) \
	X(BOOL, unsigned char, i64, v != 0, v != 0) \
	X(I8,  signed char, i64, v, (signed char)v)        X(I16, short, i64, v, (short)v) \
	X(I32, int, i64, v, (int)v)                        X(I64, i64, i64, v, v) \
	X(U8,  unsigned char, i64, v, (unsigned char)v)    X(U16, unsigned short, i64, v, (unsigned short)v) \
	X(U32, unsigned, i64, v, (unsigned)v)              X(U64, u64, u64, v, v)
#define STORAGE_FLOAT(X) \
	X(F8_143, unsigned char, float, f8_143_load(v), f8_143_store(v, 0x80)) \
	X(F8_152, unsigned char, float, f8_152_load(v), f8_152_store(v, 0x80)) \
	X(F16, unsigned short, float, half_load(v), half_store(v)) \
	X(BF16, unsigned short, float, brain_load(v), brain_store(v)) \
	X(F32, float, float, v, v)                         X(F64, double, double, v, v)

#define LOAD_STORE(D, T, C, get, put) \
	static void ld_##D(void *block, const void *src, long stride, long n) \
	{ \
		C *y = block; \
		const T *x = src; \
		if (stride == 1) { \
			EACH(n) { T v = x[i]; y[i] = (get); } \
		} else if (stride == 0) { \
			T v = *x; \
			C one = (get); \
			for (long i = 0; i < n; i++) y[i] = one; \
		} else if (stride == 2) { \
			EACH(n) { T v = x[2 * i]; y[i] = (get); } \
		} else { \
			for (long i = 0; i < n; i++) { T v = x[i * stride]; y[i] = (get); } \
		} \
	} \
	static void st_##D(void *dst, long stride, const void *block, long n) STRIDED_STORE(T, C, put) \
	static inline C round_##D(C w) { C v0; { C v = w; T s = (T)(put); { T v = s; v0 = (get); } } return v0; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
STORAGE(LOAD_STORE)
#pragma GCC diagnostic pop

#define NORM(D, C) static void norm_##D(void *block, long n) { C *y = block; EACH(n) y[i] = round_##D(y[i]); }
NORM(BOOL, i64) NORM(I8, i64) NORM(I16, i64) NORM(I32, i64) NORM(U8, i64) NORM(U16, i64) NORM(U32, i64)
NORM(F8_143, float) NORM(F8_152, float) NORM(F16, float) NORM(BF16, float)

/* --- casts: class of the source × dtype of the result ------------------------------------------------------------ */

/* float to integer: toward zero, saturating, NaN gives 0.  Of 32 bits and less by conversions of int, from the largest float or double below
 * 2^31 down; a wider bound is exact in double */
#define SATURATE(S, T, below31) \
	static inline int clip_##S(T v, T lo, T hi) \
	{ \
		v = v != v ? 0 : v; \
		v = v < lo ? lo : v; \
		return (int)(v > hi ? hi : v); \
	} \
	static inline int to_i32_##S(T v) { int y = clip_##S(v, (T)-0x1p31, (T)(below31)); return v >= (T)0x1p31 ? INT_MAX : y; } \
	static inline unsigned to_u32_##S(T v) \
	{ \
		unsigned low = (unsigned)clip_##S(v, 0, (T)(below31)), high = (unsigned)clip_##S(v - (T)0x1p31, 0, (T)(below31)) + (1u << 31); \
		unsigned y = v >= (T)0x1p31 ? high : low; \
		return v >= (T)0x1p32 ? UINT_MAX : y; \
	}
SATURATE(F32, float, 0x1.fffffep30)
SATURATE(F64, double, INT_MAX)
static inline i64 sat_i64(double v) { return v != v ? 0 : v <= -0x1p63 ? LLONG_MIN : v >= 0x1p63 ? LLONG_MAX : (i64)v; }
static inline u64 sat_u64(double v) { return !(v > 0) ? 0 : v >= 0x1p64 ? ULLONG_MAX : (u64)v; }

#define CVT_TO_INT(FROM, F) \
	CVT(FROM, F, BOOL, unsigned char, v != 0) \
	CVT(FROM, F, I8,  signed char, clip_##FROM(v, SCHAR_MIN, SCHAR_MAX)) \
	CVT(FROM, F, I16, short, clip_##FROM(v, SHRT_MIN, SHRT_MAX)) \
	CVT(FROM, F, I32, int, to_i32_##FROM(v)) \
	CVT(FROM, F, I64, i64, sat_i64(v)) \
	CVT(FROM, F, U8,  unsigned char, clip_##FROM(v, 0, UCHAR_MAX)) \
	CVT(FROM, F, U16, unsigned short, clip_##FROM(v, 0, USHRT_MAX)) \
	CVT(FROM, F, U32, unsigned, to_u32_##FROM(v)) \
	CVT(FROM, F, U64, u64, sat_u64(v))
CVT_TO_INT(F32, float)
CVT_TO_INT(F64, double)
CVT_INT_TO_INT(I64, i64)
CVT_INT_TO_INT(U64, u64)

CVT_TO_FLOAT(F32, float, v)
CVT_TO_FLOAT(F64, double, f32_odd(v))
CVT_TO_FLOAT(I64, i64, f32_odd(i64_odd(v)))
CVT_TO_FLOAT(U64, u64, f32_odd(u64_odd(v)))

/* --- reductions of one block ---------------------------------------------------------------------------------------- */

enum { LANES = 64 };

/* all of x[0, n), element i + j by lane j */
#define LANES_DO(n, ...) \
	{ \
		long i = 0; \
		for (; i + LANES <= (n); i += LANES) \
			_Pragma("GCC ivdep") for (int j = 0; j < LANES; j++) __VA_ARGS__ \
		for (int j = 0; i + j < (n); j++) __VA_ARGS__ \
	}
/* lane j takes j + 32, j + 16, … */
#define TREE(...) \
	HALVE(32, __VA_ARGS__) HALVE(16, __VA_ARGS__) HALVE(8, __VA_ARGS__) HALVE(4, __VA_ARGS__) HALVE(2, __VA_ARGS__) HALVE(1, __VA_ARGS__)
#define HALVE(W, ...) { enum { w = W }; EACH_LANE(W) __VA_ARGS__ }
#define EACH_LANE(W) _Pragma("GCC ivdep") for (int j = 0; j < W; j++)

#define FOLD(S, T, name, start, step) \
	static T S##_fold_##name(const T *x, long n) \
	{ \
		T lane[LANES]; \
		for (int j = 0; j < LANES; j++) lane[j] = (start); \
		LANES_DO(n, { T p = lane[j], q = x[i + j]; lane[j] = (step); }) \
		TREE({ T p = lane[j], q = lane[j + w]; lane[j] = (step); }) \
		return lane[0]; \
	}
/* an extreme of floats: numbers fold as one instruction does it, and whether there is a NaN is asked of two lanes at once */
#define FOLD_EXTREME(S, T, name, start, OP) \
	static T S##_fold_##name(const T *x, long n) \
	{ \
		enum { HALF = LANES / 2 }; \
		T lane[LANES]; \
		int nan[HALF] = { 0 }, any = 0; \
		long i = 0; \
		for (int j = 0; j < LANES; j++) lane[j] = (start); \
		for (; i + LANES <= n; i += LANES) \
			_Pragma("GCC ivdep") for (int j = 0; j < HALF; j++) { \
				T p = x[i + j], q = x[i + j + HALF]; \
				lane[j] = lane[j] OP p ? lane[j] : p; \
				lane[j + HALF] = lane[j + HALF] OP q ? lane[j + HALF] : q; \
				nan[j] |= __builtin_isunordered(p, q); \
			} \
		for (int j = 0; i + j < n; j++) lane[j] = lane[j] OP x[i + j] ? lane[j] : x[i + j], nan[j % HALF] |= x[i + j] != x[i + j]; \
		TREE({ T p = lane[j], q = lane[j + w]; lane[j] = p OP q ? p : q; }) \
		for (int j = 0; j < HALF; j++) any |= nan[j]; \
		return any ? (T)NAN : lane[0]; \
	}
#define FOLDS_TO(S, T, AS) \
	static void sum_##S(Acc *out, const void *x, long n) { out->AS = S##_fold_sum(x, n); } \
	static void prod_##S(Acc *out, const void *x, long n) { out->AS = S##_fold_prod(x, n); } \
	static void max_##S(void *out, const void *x, long n) { *(T *)out = S##_fold_max(x, n); } \
	static void min_##S(void *out, const void *x, long n) { *(T *)out = S##_fold_min(x, n); }
#define FLOAT_FOLDS(S, T) \
	FOLD(S, T, sum, 0, p + q) FOLD(S, T, prod, 1, p * q) \
	FOLD_EXTREME(S, T, max, -(T)INFINITY, >) FOLD_EXTREME(S, T, min, (T)INFINITY, <) FOLDS_TO(S, T, f)
#define INT_FOLDS(S, T, lowest, highest) \
	FOLD(S, T, sum, 0, (T)((u64)p + (u64)q)) FOLD(S, T, prod, 1, (T)((u64)p * (u64)q)) \
	FOLD(S, T, max, lowest, p > q ? p : q) FOLD(S, T, min, highest, p < q ? p : q) FOLDS_TO(S, T, u)
FLOAT_FOLDS(f32, float)
FLOAT_FOLDS(f64, double)
INT_FOLDS(i64, i64, LLONG_MIN, LLONG_MAX)
INT_FOLDS(u64, u64, 0, ULLONG_MAX)

/* sums of 16-bit floats: `load` says what one is */
#define HALF_SUMS(D, load) \
	static void half_sum_##D(Acc *out, const void *src, long n) \
	{ \
		const uint16_t *x = src; \
		float lane[LANES] = { 0 }; \
		LANES_DO(n, { lane[j] += load(x[i + j]); }) \
		TREE({ lane[j] += lane[j + w]; }) \
		out->f = (double)lane[0]; \
	} \
	static void half_add_rows_##D(float *y, const void *rows, long stride, long n) \
	{ \
		const uint16_t *x = rows; \
		EACH(n) { \
			float p = y[i]; \
			for (long k = 0; k < BUNDLE; k++) p += load(x[k * stride + i]); \
			y[i] = p; \
		} \
	}
HALF_SUMS(F16, half_load)
HALF_SUMS(BF16, brain_load)
#include "runtime/kernels/half_vec.h"

/* sums of what is made of each element */
#define FOLD_MAPPED(S, T, name, map) \
	static void name##_##S(Acc *out, const void *block, long n) \
	{ \
		const T *x = block; \
		T lane[LANES] = { 0 }; \
		LANES_DO(n, { T q = x[i + j]; lane[j] += (map); }) \
		TREE({ lane[j] += lane[j + w]; }) \
		out->f = (double)lane[0]; \
	}
FOLD_MAPPED(f32, float, l1, abs_f32(q)) FOLD_MAPPED(f32, float, sumsq, q * q)
FOLD_MAPPED(f64, double, l1, abs_f64(q)) FOLD_MAPPED(f64, double, sumsq, q * q)

/* rows into an accumulator that is read and written once for all of them; an extreme of floats keeps a NaN beside it */
#define ROW_STEP(k, step) { T q = x[k * stride + i]; step; }
#define FOLD_ROWS(S, TYPE, name, step, value) \
	static void name##_rows_##S(void *acc, const void *rows, long stride, long n) \
	{ \
		typedef TYPE T; \
		T *y = acc; \
		const T *x = rows; \
		EACH(n) { \
			T p = y[i], nan = p; \
			ROW_STEP(0, step) ROW_STEP(1, step) ROW_STEP(2, step) ROW_STEP(3, step) ROW_STEP(4, step) ROW_STEP(5, step) ROW_STEP(6, step) \
			(void)nan; \
			y[i] = value; \
		} \
	}
_Static_assert(BUNDLE == 7, "as many steps");
#define FLOAT_ROWS(S, T) \
	FOLD_ROWS(S, T, add, p += q, p) FOLD_ROWS(S, T, mul, p *= q, p) \
	FOLD_ROWS(S, T, max, { nan = q == q ? nan : q; p = p > q ? p : q; }, nan == nan ? p : nan) \
	FOLD_ROWS(S, T, min, { nan = q == q ? nan : q; p = p < q ? p : q; }, nan == nan ? p : nan)
#define INT_ROWS(S, T) \
	FOLD_ROWS(S, T, add, p = (T)((u64)p + (u64)q), p) FOLD_ROWS(S, T, mul, p = (T)((u64)p * (u64)q), p) \
	FOLD_ROWS(S, T, max, p = p > q ? p : q, p) FOLD_ROWS(S, T, min, p = p < q ? p : q, p)
FLOAT_ROWS(f32, float)
FLOAT_ROWS(f64, double)
INT_ROWS(i64, i64)
INT_ROWS(u64, u64)

/* whole rows: block sums are added up in double */
#define EXP_SUM(S, T) \
	static double exp_sum_##S(T *y, const T *x, T m, long n) \
	{ \
		double sum = 0; \
		for (long at = 0; at < n; at += BLOCK_MAX) { \
			long k = min_l(BLOCK_MAX, n - at); \
			EACH(k) y[at + i] = exp_##S(x[at + i] - m); \
			sum += S##_fold_sum(y + at, k); \
		} \
		return sum; \
	}
EXP_SUM(f32, float)
EXP_SUM(f64, double)

#define SCALE_BACK(S, T) \
	static void scale_##S(T *y, const T *x, T s, long n) { EACH(n) y[i] = x[i] * s; } \
	static void back_##S(T *dx, const T *y, const T *g, T dot, long n) { EACH(n) dx[i] = y[i] * (g[i] - dot); }
SCALE_BACK(f32, float)
SCALE_BACK(f64, double)

/* --- order: 32 keys at a time against all ------------------------------------------------------------------------ */

static void above(int *out, const int *key, long n)
{
	enum { GROUP = 32, VECS = 4 * GROUP / VEC_BYTES };
	typedef int Keys __attribute__((vector_size(VEC_BYTES)));
	for (long i = 0; i < n; i += GROUP) {
		Keys k[VECS], count[VECS] = { { 0 } };
		memcpy(k, key + i, sizeof k);
		for (long j = 0; j < n; j++)
			for (int v = 0; v < VECS; v++) count[v] -= key[j] > k[v];
		memcpy(out + i, count, sizeof count);
	}
}

/* --- norms of groups: h = (x - mean) inv; sums over 64 lanes as above ------------------------------------------------- */

#include "runtime/kernels/stream.h"

/* y[i] = value, and the same past the caches, to whole lines */
#define NEAR_AND_FAR(S, T, name, args, y, value) \
	static void name##_##S args { EACH(n) y[i] = (value); } \
	static void name##_far_##S args \
	{ \
		enum { W = VEC_BYTES / sizeof(T) }; \
		for (long at = 0; at < n; at += W) { \
			T v[W]; \
			for (long i = at; i < at + W; i++) v[i - at] = (value); \
			STREAM(y + at, v); \
		} \
	}

#define GROUP_NORMS(S, T) \
	static inline T add_lanes_##S(T *lane) \
	{ \
		TREE({ lane[j] += lane[j + w]; }) \
		return lane[0]; \
	} \
	static double spread_##S(const T *x, T mean, long n) \
	{ \
		T lane[LANES] = { 0 }; \
		LANES_DO(n, { T d = x[i + j] - mean; lane[j] += d * d; }) \
		return (double)add_lanes_##S(lane); \
	} \
	NEAR_AND_FAR(S, T, normed, (T *y, const T *x, const T *w, const T *b, T mean, T inv, long n), y, (x[i] - mean) * inv * w[i] + b[i]) \
	static void norm_dots_##S(double *out, const T *x, const T *g, T mean, T inv, long n) \
	{ \
		T one[LANES] = { 0 }, two[LANES] = { 0 }; \
		LANES_DO(n, { T h = (x[i + j] - mean) * inv, q = g[i + j]; one[j] += q; two[j] += q * h; }) \
		out[0] = (double)add_lanes_##S(one), out[1] = (double)add_lanes_##S(two); \
	} \
	static void norm_sums_##S(double *out, T *restrict dw, T *restrict db, const T *restrict x, const T *restrict g, const T *restrict w, T mean, T inv, long n) \
	{ \
		T one[LANES] = { 0 }, two[LANES] = { 0 }; \
		LANES_DO(n, { \
			T h = (x[i + j] - mean) * inv, q = g[i + j], p = q * w[i + j]; \
			dw[i + j] += q * h; \
			db[i + j] += q; \
			one[j] += p; \
			two[j] += p * h; \
		}) \
		out[0] = (double)add_lanes_##S(one), out[1] = (double)add_lanes_##S(two); \
	} \
	NEAR_AND_FAR(S, T, norm_back, (T *dx, const T *x, const T *g, const T *w, T mean, T inv, T mp, T mph, long n), dx, \
		inv * (g[i] * w[i] - mp - (x[i] - mean) * inv * mph))
GROUP_NORMS(f32, float)
GROUP_NORMS(f64, double)

/* --- random numbers: Philox 4×32, ten rounds; word j of counter c + i goes to out[j · DRAW + i] -------------------- */

static void philox_words(uint32_t *out, const uint32_t *key, uint64_t c, uint32_t tag, long n)
{
	EACH(n) {
		uint32_t x0 = (uint32_t)(c + (uint64_t)i), x1 = (uint32_t)((c + (uint64_t)i) >> 32), x2 = tag, x3 = 0, k0 = key[0], k1 = key[1];
		for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
			uint64_t a = (uint64_t)0xD2511F53u * x0, b = (uint64_t)0xCD9E8D57u * x2;
			x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
			x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
			x1 = (uint32_t)b;
			x3 = (uint32_t)a;
		}
		out[i] = x0, out[DRAW + i] = x1, out[2 * DRAW + i] = x2, out[3 * DRAW + i] = x3;
	}
}

/* Box and Muller: √(-2 ln u) (cos, sin)(2πv), u in (0, 1]; v as an angle in [-⅛, ⅛) turns and a quadrant */
static void normal_pairs_f32(float *y, const uint32_t *w, float mean, float std, long n)
{
	EACH(n) {
		float r = __builtin_sqrtf(-2.0f * log_f32(((float)w[i] + 0.5f) * 0x1p-32f));
		uint32_t v = w[DRAW + i], q = (v + 0x20000000u) >> 30;
		float t = (float)(int32_t)(v - (q << 30)) * 1.462918079e-9f;      /* 2π / 2^32 */
		float s = sin_near_f32(t), c = cos_near_f32(t);
		float cx = q & 1 ? s : c, sx = q & 1 ? c : s;
		cx = f32_bits(bits_f32(cx) ^ ((q + 1) & 2) << 30);
		sx = f32_bits(bits_f32(sx) ^ (q & 2) << 30);
		y[i] = mean + std * (r * cx);
		y[DRAW + i] = mean + std * (r * sx);
	}
}

static void normals_f32(float *y, const uint32_t *w, float mean, float std, long n)
{
	normal_pairs_f32(y, w, mean, std, n);
	normal_pairs_f32(y + 2 * DRAW, w + 2 * DRAW, mean, std, n);
}

static inline double unit_f64(uint32_t hi, uint32_t lo) { return (double)(int64_t)(((uint64_t)hi << 32 | lo) >> 11) * 0x1p-53; }

static void normals_f64(double *y, const uint32_t *w, double mean, double std, long n)
{
	EACH(n) {
		double r = __builtin_sqrt(-2.0 * log_f64(1.0 - unit_f64(w[i], w[DRAW + i])));
		double a = unit_f64(w[2 * DRAW + i], w[3 * DRAW + i]) * 6.28318530717958647693;
		y[i] = mean + std * (r * sincos_f64(a, 1));
		y[DRAW + i] = mean + std * (r * sincos_f64(a, 0));
	}
}

#if VEC_BYTES == 64
#include "runtime/kernels/vec512.h"
#else
#define EXP_SUM_F32 exp_sum_f32
#endif


/* --- the tables ---------------------------------------------------------------------------------------------------- */

#include "runtime/kernels/gemm.h"
#include "runtime/kernels/gemm_bf16.h"
#include "runtime/kernels/pool.h"
#include "runtime/kernels/blocks.h"
#include "runtime/kernels/depth.h"

#define F32_SLOT(n, ...) .n = f32_##n,
#define F64_SLOT(n, ...) .n = f64_##n,
#define I64_SLOT(n, ...) .n = i64_##n,
#define U64_SLOT(n, ...) .n = u64_##n,
#define MEMBERS_ALL(X) PXLRT_VEC1_ALL(X) PXLRT_VEC2_ALL(X) PXLRT_VEC3_ALL(X) X(fill, )
#define MEMBERS_FLOAT(X) MEMBERS_ALL(X) PXLRT_VEC1_LOOP(X) PXLRT_VEC1_FLOAT(X) PXLRT_VEC2_FLOAT(X) PXLRT_VEC3_FLOAT(X)
#define LD_SLOT(D, ...) [DT_##D] = ld_##D,
#define ST_SLOT(D, ...) [DT_##D] = st_##D,
#define BY_CLASS(f) { [PXLRT_F32] = f##_f32, [PXLRT_F64] = f##_f64, [PXLRT_I64] = f##_i64, [PXLRT_U64] = f##_u64 }

static CvtRow cvt_F32 = CVT_ROW(F32), cvt_F64 = CVT_ROW(F64), cvt_I64 = CVT_ROW(I64), cvt_U64 = CVT_ROW(U64);

#define TABLE(label, bf16) { \
	.pub = { \
		.abi = PXLRT_ABI, \
		.f32 = { MEMBERS_FLOAT(F32_SLOT) }, .f64 = { MEMBERS_FLOAT(F64_SLOT) }, \
		.i64 = { MEMBERS_ALL(I64_SLOT) }, .u64 = { MEMBERS_ALL(U64_SLOT) }, \
		.ld = { STORAGE(LD_SLOT) }, .st = { STORAGE(ST_SLOT) }, \
		.norm = { \
			[DT_BOOL] = norm_BOOL, [DT_I8] = norm_I8, [DT_I16] = norm_I16, [DT_I32] = norm_I32, [DT_U8] = norm_U8, \
			[DT_U16] = norm_U16, [DT_U32] = norm_U32, [DT_F8_143] = norm_F8_143, [DT_F8_152] = norm_F8_152, \
			[DT_F16] = norm_F16, [DT_BF16] = norm_BF16 }, \
		.get = { OWN_GETS, STORAGE_FLOAT(LD_SLOT) }, .put = { OWN_PUTS, STORAGE_FLOAT(ST_SLOT) }, \
		.cvt = { [PXLRT_F32] = cvt_F32, [PXLRT_F64] = cvt_F64, [PXLRT_I64] = cvt_I64, [PXLRT_U64] = cvt_U64, INTS_CVT }, \
		INTS_PRIMS, \
		.each = k_each, .fold = k_fold, .matmul = k_matmul, .reduce = k_reduce, .copy = k_copy, .argmax = k_argmax, \
		.topk = k_topk, .median = k_median, .histogram = k_histogram, \
		.softmax = k_softmax, .softmax_grad = k_softmax_grad, .cumsum = k_cumsum, .group_norm = k_group_norm, .group_norm_back = k_group_norm_back, \
		.attention = k_attention, .attention_back = k_attention_back, \
		.gather = k_gather, .scatter_add = k_scatter_add, .scatter = k_scatter, .window_copy = k_window_copy, \
		.conv = k_conv, .conv_turn = k_conv_turn, .conv_data = k_conv_data, .conv_weight = k_conv_weight, .blocks = k_blocks, \
		.pool = k_pool, .average_back = k_average_back, .max_back = k_max_back, .resize = k_resize, .roi = k_roi, \
		.nll = k_nll, .nll_grad = k_nll_grad, .softmax_nll = k_softmax_nll, \
		.random_normal = k_random_normal, .random_uniform = k_random_uniform, .dropout_mask = k_dropout_mask, \
		.split_seed = k_split_seed, \
		.host_load = lane_host_load, .host_store = lane_host_store, .host_room = lane_host_room, .remote_load = lane_remote_load, .remote_store = lane_remote_store, \
		.exchange = lane_exchange, .collective = lane_collective, .code_load = lane_code_load, .print = lane_print, .host_op = lane_host_op, \
		.divcheck = k_divcheck, .powcheck = k_powcheck, .pow2 = k_pow2, .fault = lane_fault_at, .at = lane_at, \
		.memcpy = k_memcpy, .memset = k_memset, \
	}, \
	.isa = { \
		.name = label, .sum = BY_CLASS(sum), .prod = BY_CLASS(prod), .max = BY_CLASS(max), .min = BY_CLASS(min), \
		.l1 = { l1_f32, l1_f64 }, .sumsq = { sumsq_f32, sumsq_f64 }, \
		.half_sum = { half_sum_F16, half_sum_BF16 }, .half_add_rows = { half_add_rows_F16, half_add_rows_BF16 }, \
		.add_rows = BY_CLASS(add_rows), .mul_rows = BY_CLASS(mul_rows), .max_rows = BY_CLASS(max_rows), .min_rows = BY_CLASS(min_rows), \
		.exp_sum_f32 = EXP_SUM_F32, .exp_sum_f64 = exp_sum_f64, .philox = philox_words, .above = above, \
		.scale_f32 = scale_f32, .scale_f64 = scale_f64, .back_f32 = back_f32, .back_f64 = back_f64, \
		.group_f32 = { spread_f32, { normed_f32, normed_far_f32 }, norm_dots_f32, norm_sums_f32, { norm_back_f32, norm_back_far_f32 } }, \
		.group_f64 = { spread_f64, { normed_f64, normed_far_f64 }, norm_dots_f64, norm_sums_f64, { norm_back_f64, norm_back_far_f64 } }, \
		.pool_f32 = { pool_max_f32, pool_sum_f32, pool_divide_f32, pool_max_back_f32, pool_mean_back_f32 }, \
		.pool_f64 = { pool_max_f64, pool_sum_f64, pool_divide_f64, pool_max_back_f64, pool_mean_back_f64 }, \
		.depth_stage = depth_stage, .depth_plane = depth_plane, \
		.normal_f32 = normals_f32, .normal_f64 = normals_f64, \
		.stream = stream, .stream_end = stream_end, \
		.gemm_f32 = &gemm_isa_f32, .gemm_f64 = &gemm_isa_f64, .gemm_bf16 = &bf16, .blocks = &block_isa, \
	} }

const KernelTable VEC_NAME = TABLE(VEC_LABEL, bf16_isa);
