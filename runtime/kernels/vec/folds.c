/* folds.c — reductions of one block, and of bundles of rows into an accumulator. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/lanes.h"
#include "runtime/kernels/vec/half_vec.h"

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
#if HAS_HALVES

/* sums, element i + j by lane j as in HALF_SUMS */
static void sum_half(Acc *out, const void *src, long n)
{
	const uint16_t *x = src;
	float lane[LANES] = { 0 };
	Floats sum[LANES / HALVES] = { { 0 } };
	long i = 0;
	for (; i + LANES <= n; i += LANES)
		for (int v = 0; v < LANES / HALVES; v++) sum[v] += HALF_LOAD(x + i + v * HALVES);
	memcpy(lane, sum, sizeof lane);
	for (int j = 0; i + j < n; j++) lane[j] += half_load(x[i + j]);
	TREE({ lane[j] += lane[j + w]; })
	out->f = (double)lane[0];
}

static void add_rows_half(float *y, const void *rows, long stride, long n)
{
	const uint16_t *x = rows;
	long i = 0;
	for (; i + HALVES <= n; i += HALVES) {
		Floats p = FLOATS(y + i);
		for (long k = 0; k < BUNDLE; k++) p += HALF_LOAD(x + k * stride + i);
		PUT_FLOATS(y + i, p);
	}
	half_add_rows_F16(y + i, x + i, stride, n - i);
}

/* this takes the place of the plain loop */
static inline void half_unused(void) { (void)half_sum_F16; }
#define half_sum_F16 sum_half
#define half_add_rows_F16 add_rows_half
#endif

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

#define BY_CLASS(f) { [PXLRT_F32] = f##_f32, [PXLRT_F64] = f##_f64, [PXLRT_I64] = f##_i64, [PXLRT_U64] = f##_u64 }
const FoldIsa VEC(fold) = {
	.sum = BY_CLASS(sum), .prod = BY_CLASS(prod), .max = BY_CLASS(max), .min = BY_CLASS(min),
	.l1 = { l1_f32, l1_f64 }, .sumsq = { sumsq_f32, sumsq_f64 },
	.half_sum = { half_sum_F16, half_sum_BF16 }, .half_add_rows = { half_add_rows_F16, half_add_rows_BF16 },
	.add_rows = BY_CLASS(add_rows), .mul_rows = BY_CLASS(mul_rows), .max_rows = BY_CLASS(max_rows), .min_rows = BY_CLASS(min_rows),
};
