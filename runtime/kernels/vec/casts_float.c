/* casts_float.c — casts from f32 and f64 to every dtype. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/half_vec.h"

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
CVT_TO_FLOAT(F32, float, v)
CVT_TO_FLOAT(F64, double, f32_odd(v))

#if HAS_HALVES
static void round_half(void *dst, const void *src, long n)
{
	float *y = dst;
	const float *x = src;
	long i = 0;
	for (; i + HALVES <= n; i += HALVES) PUT_FLOATS(y + i, HALF_ROUND(FLOATS(x + i)));
	cvt_F32_F16(y + i, x + i, n - i);
}
#define cvt_F32_F16 round_half
#endif

const pxlrt_cast VEC(cvt_f32)[PXLRT_NDTYPE] = CVT_ROW(F32);
const pxlrt_cast VEC(cvt_f64)[PXLRT_NDTYPE] = CVT_ROW(F64);
