/* half.h — 16-bit floats to f32 and back, exact and to nearest even, without branches (loops over these
 * vectorise).  A NaN stays a NaN and keeps its sign and the top of its payload, made quiet. */
#ifndef KERNELS_HALF_H
#define KERNELS_HALF_H

#include "runtime/kernels/vmath.h"

VM float half_load(uint16_t h)
{
	uint32_t m = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
	/* 2^112 moves the exponent's bias from 15 to 127 and makes denormals normal */
	float small = f32_bits(m << 13) * 0x1p112f;
	uint32_t big = (m << 13) | 0x7f800000u | (m > 0x7c00u) << 22;
	return f32_bits((m >= 0x7c00u ? big : bits_f32(small)) | sign);
}

VM uint16_t half_store(float x)
{
	uint32_t u = bits_f32(x), m = u & 0x7fffffffu, sign = u >> 16 & 0x8000u;
	/* normal: round at bit 13 by adding just under a half, or a half if odd; carries go into the exponent */
	uint32_t normal = (m + 0xfffu + (m >> 13 & 1) - (112u << 23)) >> 13;
	/* denormal: adding 0.5 leaves the value in units of 2^-24 in the low bits, rounded by the addition */
	uint32_t small = bits_f32(f32_bits(m) + 0.5f) - 0x3f000000u;
	uint32_t h = m < 0x38800000u ? small : normal;
	h = m >= 0x477ff000u ? 0x7c00u : h;
	h = m > 0x7f800000u ? 0x7e00u | (m >> 13 & 0x3ffu) : h;
	return (uint16_t)(h | sign);
}

VM float brain_load(uint16_t h) { return f32_bits((uint32_t)h << 16); }

VM uint16_t brain_store(float x)
{
	uint32_t u = bits_f32(x), r = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
	return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16 | 0x40u) : r);
}

/* --- float8: sign, exponent with a bias of 8 or 16, `man` bits of mantissa; 0x80 is the only NaN, there is no infinity and no -0 */

VM float eighth_load(int man, int bias, uint8_t b)
{
	uint32_t m = b & 0x7fu, sign = (uint32_t)(b & 0x80u) << 24;
	/* as for halves: 2^(127 - bias) moves the bias and makes denormals normal */
	float v = f32_bits(m << (23 - man)) * f32_bits((uint32_t)(254 - bias) << 23);
	uint32_t u = bits_f32(v) | sign;
	return f32_bits(b == 0x80 ? 0x7fc00000u : u);
}

/* over: what finite values become that are too large, 0x80 or 0x7f.  Infinities and NaNs come out above the top code by themselves. */
VM uint8_t eighth_store(int man, int bias, float x, uint32_t over)
{
	uint32_t u = bits_f32(x), m = u & 0x7fffffffu, cut = 23u - (uint32_t)man, low = (uint32_t)(127 - bias) << 23;
	uint32_t normal = (m + (m >> cut & 1) + ((1u << (cut - 1)) - 1 - low)) >> cut;
	/* denormals are in units of 2^(1 - bias - man): adding 2^23 of them leaves their number in the low bits */
	uint32_t unit = (uint32_t)(151 - bias - man) << 23, small = bits_f32(f32_bits(m) + f32_bits(unit)) - unit;
	uint32_t c = (int32_t)m < (int32_t)(low + (1u << 23)) ? small : normal;
	uint32_t top = over == 0x80 || m >= 0x7f800000u ? 0x80 : over, code = c < top ? c : top;
	return (uint8_t)(code | (u >> 24 & (code + 0x7f) & 0x80));        /* a 0 has no sign */
}

#define F8_143 3, 8
#define F8_152 2, 16
VM float   f8_143_load(uint8_t b)                { return eighth_load(F8_143, b); }
VM float   f8_152_load(uint8_t b)                { return eighth_load(F8_152, b); }
VM uint8_t f8_143_store(float x, uint32_t over)  { return eighth_store(F8_143, x, over); }
VM uint8_t f8_152_store(float x, uint32_t over)  { return eighth_store(F8_152, x, over); }
#undef F8_143
#undef F8_152

/* a double as a float rounded to odd: rounding that to a half gives what rounding the double would */
VM float f32_odd(double x)
{
	float f = (float)x;
	uint32_t u = bits_f32(f);
	int inexact = (double)f != x && x == x;
	u -= inexact && abs_f64((double)f) > abs_f64(x);
	return f32_bits(u | (uint32_t)inexact);
}

/* a 64-bit integer as a double rounded to odd */
VM double u64_odd(uint64_t x)
{
	uint64_t cut = x >> 11 << 11 | (uint64_t)((x & 0x7ff) != 0) << 11;
	return (double)(x >> 53 ? cut : x);
}

VM double i64_odd(int64_t x) { return x < 0 ? -u64_odd(0 - (uint64_t)x) : u64_odd((uint64_t)x); }

#endif
