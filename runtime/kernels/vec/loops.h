/* loops.h — how a formula becomes a loop; integer formulas that are longer than a line; conversions between element types. */
#ifndef KERNELS_LOOPS_H
#define KERNELS_LOOPS_H

#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

#include <limits.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

#define EACH(n) _Pragma("GCC ivdep") for (long i = 0; i < (n); i++)

#define LOOP1(S, T, name, expr) static void S##_##name(T *y, const T *a, long n) { EACH(n) { T x = a[i]; y[i] = (expr); } }
#define LOOP2(S, T, name, expr) \
	static void S##_##name(T *y, const T *a, const T *b, long n) { EACH(n) { T p = a[i], q = b[i]; y[i] = (expr); } }
#define LOOP3(S, T, name, expr) \
	static void S##_##name(T *y, const T *a, const T *b, const T *c, long n) \
	{ EACH(n) { T p = a[i], q = b[i], r = c[i]; y[i] = (expr); } }

/* one instruction each, in this order: a NaN x comes out */
#define AT_LEAST(x, low) ((low) > (x) ? (low) : (x))
#define AT_MOST(x, high) ((high) < (x) ? (high) : (x))

/* n elements of a block of C to memory of T, stride apart; `put` says how in terms of v */
#define STRIDED_STORE(T, C, put) \
	{ \
		T *y = dst; \
		const C *x = block; \
		if (stride == 1) { \
			EACH(n) { C v = x[i]; y[i] = (T)(put); } \
		} else { \
			for (long i = 0; i < n; i++) { C v = x[i]; y[i * stride] = (T)(put); } \
		} \
	}

/* --- integers: division floors, remainder follows the dividend; by zero they give 0 (see divcheck) ------------ */

static inline i64 div_i64(i64 a, i64 b)
{
	if (b == 0) return 0;
	if (b == -1) return (i64)(0 - (u64)a);       /* the one quotient that overflows */
	i64 q = a / b;
	return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline i64 mod_i64(i64 a, i64 b) { return b == 0 || b == -1 ? 0 : a % b; }

static inline u64 pow_u64(u64 x, u64 e)
{
	u64 y = 1;
	for (; e; e >>= 1, x *= x)
		if (e & 1) y *= x;
	return y;
}
/* negative exponents, refused by powcheck, give the truncated value */
static inline i64 pow_i64(i64 x, i64 e)
{
	if (e >= 0) return (i64)pow_u64((u64)x, (u64)e);
	return x == 1 ? 1 : x == -1 ? (e & 1 ? -1 : 1) : 0;
}

/* --- casts: class of the source × dtype of the result, each a type of its own --------------------------------------- */

#define CVT(FROM, F, D, C, expr) \
	static void cvt_##FROM##_##D(void *dst, const void *src, long n) { C *y = dst; const F *a = src; EACH(n) { F v = a[i]; y[i] = (C)(expr); } }

#define CVT_INT_TO_INT(FROM, F) \
	CVT(FROM, F, BOOL, unsigned char, v != 0) \
	CVT(FROM, F, I8, signed char, v) CVT(FROM, F, I16, short, v) CVT(FROM, F, I32, int, v) CVT(FROM, F, I64, i64, v) \
	CVT(FROM, F, U8, unsigned char, v) CVT(FROM, F, U16, unsigned short, v) CVT(FROM, F, U32, unsigned, v) CVT(FROM, F, U64, u64, v)

/* to the narrow floats by way of an f32 (or a double) rounded to odd, so that only one rounding is seen */
#define CVT_TO_FLOAT(FROM, F, ODD) \
	CVT(FROM, F, F64, double, v) CVT(FROM, F, F32, float, v) \
	CVT(FROM, F, F16, float, half_load(half_store(ODD))) CVT(FROM, F, BF16, float, brain_load(brain_store(ODD))) \
	CVT(FROM, F, F8_143, float, f8_143_load(f8_143_store(ODD, 0x80))) CVT(FROM, F, F8_152, float, f8_152_load(f8_152_store(ODD, 0x80)))

#define CVT_ROW(C) { \
	[DT_BOOL] = cvt_##C##_BOOL, [DT_I8] = cvt_##C##_I8, [DT_I16] = cvt_##C##_I16, [DT_I32] = cvt_##C##_I32, [DT_I64] = cvt_##C##_I64, \
	[DT_U8] = cvt_##C##_U8, [DT_U16] = cvt_##C##_U16, [DT_U32] = cvt_##C##_U32, [DT_U64] = cvt_##C##_U64, \
	[DT_F8_143] = cvt_##C##_F8_143, [DT_F8_152] = cvt_##C##_F8_152, \
	[DT_F16] = cvt_##C##_F16, [DT_BF16] = cvt_##C##_BF16, [DT_F32] = cvt_##C##_F32, [DT_F64] = cvt_##C##_F64 }

#endif
