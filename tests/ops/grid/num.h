/* num.h — numbers of every element type, for references: exact values, rounding, and the distance to the next number.
 *
 * Values are long doubles, which hold every 64-bit integer and leave room below f64; formats are described here once
 * more, so that a mistake in the product's conversions cannot hide itself. */
#ifndef TESTS_OPS_GRID_NUM_H
#define TESTS_OPS_GRID_NUM_H

#include "runtime/base.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if LDBL_MANT_DIG < 64
#error "the grid needs a long double that holds every 64-bit integer"
#endif

typedef long double Num;

/* --- floating point: digits, exponents of the least normal number and of the first one too large ------------------- */

typedef struct Format { int digits, low, high; } Format;

static inline Format format_of(DType t)
{
	switch (t) {
	case DT_F16:    return (Format){ 11, -14, 16 };
	case DT_BF16:   return (Format){ 8, -126, 128 };
	case DT_F32:    return (Format){ 24, -126, 128 };
	case DT_F8_143: return (Format){ 4, -7, 8 };
	case DT_F8_152: return (Format){ 3, -15, 16 };
	default:        return (Format){ 53, -1022, 1024 };
	}
}
static inline int is_real(DType t)   { return dtype_is_float(t) || dtype_is_f8(t); }
static inline int is_signed(DType t) { return dtype_info[t].cls == 'i'; }
static inline int width_of(DType t)  { return 8 * dtype_info[t].size; }

/* the step between numbers of a format at x */
static inline Num ulp_of(DType t, Num x)
{
	Format f = format_of(t);
	int e = x == 0 || x != x || isinf(x) ? f.low : ilogbl(x);
	return ldexpl(1, (e < f.low ? f.low : e) - f.digits + 1);
}

/* nearest even; float8 has no infinity and no -0 */
static inline Num round_to(DType t, Num x)
{
	Num u = ulp_of(t, x), y = x != x || isinf(x) ? x : rintl(x / u) * u, limit = ldexpl(1, format_of(t).high);
	if (fabsl(y) >= limit) y = copysignl(INFINITY, y);
	if (dtype_is_f8(t)) return isinf(y) ? NAN : y + 0.0L;
	return y;
}

/* --- integers: the ring of their width --------------------------------------------------------------------------------- */

static inline uint64_t bits_of(Num x) { return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x; }
static inline Num ring(DType t, uint64_t v)
{
	int w = width_of(t);
	if (t == DT_BOOL) return v != 0;
	if (w < 64) v &= (1ull << w) - 1;
	if (is_signed(t) && v >> (w - 1)) return w < 64 ? (Num)v - ldexpl(1, w) : (Num)(int64_t)v;
	return (Num)v;
}
static inline Num least(DType t)   { return is_signed(t) ? -ldexpl(1, width_of(t) - 1) : 0; }
static inline Num most(DType t)    { return t == DT_BOOL ? 1 : is_signed(t) ? ldexpl(1, width_of(t) - 1) - 1 : ldexpl(1, width_of(t)) - 1; }

/* --- storage ------------------------------------------------------------------------------------------------------------- */

/* sign, biased exponent, fraction: x is a number of the format */
static inline unsigned pack(DType t, Num x)
{
	Format f = format_of(t);
	int width = width_of(t), fraction = f.digits - 1;
	unsigned sign = signbit(x) ? 1u << (width - 1) : 0, top = 1u << (width - 1), m;
	if (dtype_is_f8(t) && x != x) return 0x80;
	if (x != x) return top - 1;
	if (isinf(x)) return sign | (top - (1u << fraction));
	if (x == 0) return dtype_is_f8(t) ? 0 : sign;
	m = (unsigned)(fabsl(x) / ulp_of(t, x));
	int e = ilogbl(x);
	return sign | (e < f.low ? m : (unsigned)(e - f.low + 1) << fraction | (m & ((1u << fraction) - 1)));
}

static inline Num unpack(DType t, unsigned b)
{
	Format f = format_of(t);
	int width = width_of(t), fraction = f.digits - 1;
	unsigned top = 1u << (width - 1), m = b & ((1u << fraction) - 1), e = (b & (top - 1)) >> fraction;
	Num sign = b & top ? -1 : 1;
	if (dtype_is_f8(t) && b == 0x80) return NAN;
	if (!dtype_is_f8(t) && e == (top - 1) >> fraction) return m ? NAN : sign * INFINITY;
	return sign * ldexpl(e ? m | 1u << fraction : m, (e ? (int)e - 1 : 0) + f.low - fraction);
}

static inline void num_put(DType t, void *to, size_t i, Num x)
{
	char *at = (char *)to + i * dtype_size(t);
	if (t == DT_F32) memcpy(at, &(float){ (float)x }, 4);
	else if (t == DT_F64) memcpy(at, &(double){ (double)x }, 8);
	else {
		uint64_t v = is_real(t) ? pack(t, round_to(t, x)) : bits_of(x);
		uint8_t v1 = (uint8_t)v;
		uint16_t v2 = (uint16_t)v;
		uint32_t v4 = (uint32_t)v;
		int n = dtype_info[t].size;
		memcpy(at, n == 1 ? (void *)&v1 : n == 2 ? (void *)&v2 : n == 4 ? (void *)&v4 : (void *)&v, (size_t)n);
	}
}

static inline Num num_get(DType t, const void *from, size_t i)
{
	const char *at = (const char *)from + i * dtype_size(t);
	uint8_t v1;
	uint16_t v2;
	uint32_t v4;
	uint64_t v8;
	float f;
	double d;
	if (t == DT_F32) return memcpy(&f, at, 4), (Num)f;
	if (t == DT_F64) return memcpy(&d, at, 8), (Num)d;
	switch (dtype_info[t].size) {
	case 1: memcpy(&v1, at, 1); v8 = v1; break;
	case 2: memcpy(&v2, at, 2); v8 = v2; break;
	case 4: memcpy(&v4, at, 4); v8 = v4; break;
	default: memcpy(&v8, at, 8);
	}
	return is_real(t) ? unpack(t, (unsigned)v8) : t == DT_BOOL ? (Num)v8 : ring(t, v8);
}

#endif
