/* vmath.h — the elementary functions, one element at a time and without branches, so that the loops of
 * vec.h vectorise them.
 *
 * Only + - * / sqrt, compares, selects and integer operations on the bits: with contraction off every
 * instruction set rounds the same way, so results have the same bits on every machine.  The polynomials
 * are minimax fits (Remez exchange, 50 digits) made for this file.  Bounds, shown by tests/runtime:
 *   f32: exp log 2 ulp, tanh 3, sin cos 2, erf 3, sigmoid 4.   f64: exp log sin cos 2 ulp, tanh 4.
 * Arguments of sin and cos beyond SINCOS_MAX are for the caller (vec.h) to hand to libm. */
#ifndef KERNELS_VMATH_H
#define KERNELS_VMATH_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#define VM static inline __attribute__((always_inline))

VM uint32_t bits_f32(float x) { union { float f; uint32_t u; } v = { x }; return v.u; }
VM float    f32_bits(uint32_t u) { union { uint32_t u; float f; } v = { u }; return v.f; }
VM uint64_t bits_f64(double x) { union { double f; uint64_t u; } v = { x }; return v.u; }
VM double   f64_bits(uint64_t u) { union { uint64_t u; double f; } v = { u }; return v.f; }

VM float  abs_f32(float x) { return f32_bits(bits_f32(x) & 0x7fffffffu); }
VM double abs_f64(double x) { return f64_bits(bits_f64(x) & 0x7fffffffffffffffu); }
VM float  with_sign_f32(float y, float x) { return f32_bits((bits_f32(y) & 0x7fffffffu) | (bits_f32(x) & 0x80000000u)); }
VM double with_sign_f64(double y, double x)
{
	return f64_bits((bits_f64(y) & 0x7fffffffffffffffu) | (bits_f64(x) & 0x8000000000000000u));
}

/* adding 1.5·2^(mantissa bits) leaves the nearest integer in the low bits of the sum */
#define ROUND_F32 12582912.0f
#define ROUND_F64 6755399441055744.0
#define SINCOS_MAX 1e5

/* --- exponential: x = n ln2 + r, e^x = 2^n e^r; 2^n in two factors so that denormals come out right ------ */

/* e^(x + lo), lo small against x */
VM float exp2part_f32(float x, float lo)
{
	x = x > 89.0f ? 89.0f : x;
	x = x < -104.0f ? -104.0f : x;
	float t = x * 1.44269504f + ROUND_F32, n = t - ROUND_F32;
	float r = (x - n * 0.693359375f) - n * -2.12194440e-4f + lo;
	float p = 0.001381464171f;
	p = p * r + 0.008368709682f;
	p = p * r + 0.0416683869f;
	p = p * r + 0.1666652069f;
	p = p * r + 0.4999999345f;
	p = r * r * p + r + 1.0f;
	uint32_t k = bits_f32(t) - bits_f32(ROUND_F32) + 256, k1 = k >> 1, k2 = k - k1;
	return p * f32_bits((k1 - 1) << 23) * f32_bits((k2 - 1) << 23);
}

VM float exp_f32(float x) { return exp2part_f32(x, 0.0f); }

VM double exp2part_f64(double x, double lo)
{
	x = x > 710.0 ? 710.0 : x;
	x = x < -746.0 ? -746.0 : x;
	double t = x * 1.4426950408889634074 + ROUND_F64, n = t - ROUND_F64;
	double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10 + lo;
	double p = 2.50000950474758035e-8;
	p = p * r + 2.7630234331356206e-7;
	p = p * r + 2.75575861837065007e-6;
	p = p * r + 0.00002480149313512039;
	p = p * r + 0.000198412695068894775;
	p = p * r + 0.00138888889435986607;
	p = p * r + 0.00833333333349427062;
	p = p * r + 0.0416666666665302626;
	p = p * r + 0.166666666666664129;
	p = p * r + 0.500000000000001062;
	p = r * r * p + r + 1.0;
	uint64_t k = bits_f64(t) - bits_f64(ROUND_F64) + 2048, k1 = k >> 1, k2 = k - k1;
	return p * f64_bits((k1 - 1) << 52) * f64_bits((k2 - 1) << 52);
}

VM double exp_f64(double x) { return exp2part_f64(x, 0.0); }

/* --- logarithm: x = 2^e m with m in [√½, √2) ------------------------------------------------------------ */

VM float log_f32(float x)
{
	int tiny = x < FLT_MIN;
	uint32_t u = bits_f32(tiny ? x * 8388608.0f : x) + (0x3f800000u - 0x3f3504f3u);
	float e = (float)((int32_t)(u >> 23) - (tiny ? 150 : 127));
	float f = f32_bits((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f, z = f * f;
	float p = -0.07634765384f;
	p = p * f + 0.1276173599f;
	p = p * f - 0.1316015139f;
	p = p * f + 0.1420173098f;
	p = p * f - 0.1662335778f;
	p = p * f + 0.200012283f;
	p = p * f - 0.2500082106f;
	p = p * f + 0.3333333168f;
	float y = f * z * p + e * -2.12194440e-4f - 0.5f * z;
	y = f + y + e * 0.693359375f;
	y = x < 0.0f ? NAN : y;
	y = x == 0.0f ? -INFINITY : y;
	return x <= FLT_MAX ? y : x;
}

VM double log_f64(double x)
{
	int tiny = x < DBL_MIN;
	uint64_t u = bits_f64(tiny ? x * 4503599627370496.0 : x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
	double e = f64_bits((u >> 52) + bits_f64(ROUND_F64)) - ROUND_F64 - (tiny ? 1075.0 : 1023.0);
	double f = f64_bits((u & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
	double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
	double p = 0.14826659365432153;
	p = p * z + 0.153111235519881915;
	p = p * z + 0.181836727457766875;
	p = p * z + 0.222221966117741013;
	p = p * z + 0.285714287601738696;
	p = p * z + 0.399999999993412987;
	p = p * z + 0.666666666666674436;
	/* log m = f - f²/2 + s (f²/2 + z p): the large terms are exact or nearly so */
	double y = e * 6.93147180369123816490e-01 - ((h - (s * (h + z * p) + e * 1.90821492927058770002e-10)) - f);
	y = x < 0.0 ? (double)NAN : y;
	y = x == 0.0 ? -(double)INFINITY : y;
	return x <= DBL_MAX ? y : x;
}

/* --- tanh, sigmoid ---------------------------------------------------------------------------------------- */

VM float tanh_f32(float x)
{
	float a = abs_f32(x), z = x * x;
	float p = -0.005895147328f;
	p = p * z + 0.0207959649f;
	p = p * z - 0.05378382953f;
	p = p * z + 0.1333192414f;
	p = p * z - 0.33333298f;
	float big = with_sign_f32(1.0f - 2.0f / (exp_f32(a + a) + 1.0f), x);
	return a < 0.6f ? x + x * z * p : big;
}

VM double tanh_f64(double x)
{
	double a = abs_f64(x), z = x * x;
	double p = 0.0000454412741202309458;
	p = p * z - 0.000201584259579416962;
	p = p * z + 0.000573357564925817785;
	p = p * z - 0.00145110094309350274;
	p = p * z + 0.00359125342373671326;
	p = p * z - 0.00886313128967316172;
	p = p * z + 0.0218694808085324095;
	p = p * z - 0.0539682536378302168;
	p = p * z + 0.13333333332631797;
	p = p * z - 0.333333333333281643;
	double big = with_sign_f64(1.0 - 2.0 / (exp_f64(a + a) + 1.0), x);
	return a < 0.6 ? x + x * z * p : big;
}

VM float sigmoid_f32(float x)
{
	float e = exp_f32(-abs_f32(x)), d = 1.0f + e;
	return (x < 0.0f ? e : 1.0f) / d;
}

VM double sigmoid_f64(double x)
{
	double e = exp_f64(-abs_f64(x)), d = 1.0 + e;
	return (x < 0.0 ? e : 1.0) / d;
}

/* --- erf: a polynomial near 0; else 1 - e^(-a²) t Q(t), t = 1/(1 + a/2).  e^(-a²) takes a² as a short
 * square, exact, and a rest. ------------------------------------------------------------------------------- */

/* erfc(a) for a >= 0.45 */
VM float erfc_tail_f32(float a)
{
	float t = 1.0f / (1.0f + 0.5f * a), s = f32_bits(bits_f32(a) & 0xfffff000u);
	float q = -0.02781101208f;
	q = q * t + 0.0570162291f;
	q = q * t + 0.07910648111f;
	q = q * t - 0.2864885141f;
	q = q * t + 0.1601667958f;
	q = q * t + 0.01584836509f;
	q = q * t + 0.193560312f;
	q = q * t + 0.2441686655f;
	q = q * t + 0.2823239804f;
	q = q * t + 0.2820863854f;
	return exp2part_f32(-s * s, -(a - s) * (a + s)) * t * q;
}

VM float erf_near_f32(float x)
{
	float z = x * x, p = 7.853843946e-5f;
	p = p * z - 0.0008010189215f;
	p = p * z + 0.005188327315f;
	p = p * z - 0.02685381184f;
	p = p * z + 0.1128358515f;
	p = p * z - 0.3761262583f;
	return x * 1.128379166f + x * z * p;
}

VM float erf_f32(float x)
{
	float a = abs_f32(x), c = a > 10.0f ? 10.0f : a;
	float far = with_sign_f32(1.0f - erfc_tail_f32(c), x);
	return a < 0.9f ? erf_near_f32(x) : far;
}

/* Φ(x) = ½ erfc(-x/√2) */
VM float phi_f32(float x)
{
	float a = abs_f32(x) * 0.70710678f;
	a = a > 10.5f ? 10.5f : a;
	float h = 0.5f * erfc_tail_f32(a), far = x < 0.0f ? h : 1.0f - h;
	return a < 0.6f ? 0.5f + 0.5f * erf_near_f32(x * 0.70710678f) : far;
}

VM double phi_f64(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/* --- sine and cosine of r in [-π/4, π/4], and of any |x| <= SINCOS_MAX -------------------------------------- */

VM float sin_near_f32(float r)
{
	float z = r * r, p = -0.0001951202987f;
	p = p * z + 0.008332137163f;
	p = p * z - 0.1666665424f;
	return r + r * z * p;
}

VM float cos_near_f32(float r)
{
	float z = r * r, p = 2.44348563e-5f;
	p = p * z - 0.001388733718f;
	p = p * z + 0.04166664627f;
	return 1.0f - 0.5f * z + z * z * p;
}

VM double sin_near_f64(double r)
{
	double z = r * r, p = 1.5894603751623955e-10;
	p = p * z - 2.50507203910148724e-8;
	p = p * z + 2.75573134512800633e-6;
	p = p * z - 0.000198412698291138953;
	p = p * z + 0.0083333333333215444;
	p = p * z - 0.166666666666666285;
	return r + r * z * p;
}

VM double cos_near_f64(double r)
{
	double z = r * r, p = -1.13585643887264969e-11;
	p = p * z + 2.08757029829102225e-9;
	p = p * z - 2.75573142080913764e-7;
	p = p * z + 0.0000248015872890017625;
	p = p * z - 0.00138888888888733877;
	p = p * z + 0.0416666666666665954;
	double h = 0.5 * z, w = 1.0 - h;
	return w + (((1.0 - w) - h) + z * z * p);
}

/* x - n π/2 with π/2 in parts of 33 bits, so that the first two products are exact; quadrant in *q */
VM double quadrant(double x, uint64_t *q)
{
	double t = x * 0.63661977236758134308 + ROUND_F64, n = t - ROUND_F64;
	*q = bits_f64(t);
	return ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
}

/* turn: 0 for sine, 1 for cosine */
VM float sincos_f32(float x, uint32_t turn)
{
	uint64_t q64;
	float r = (float)quadrant(x, &q64);
	uint32_t q = (uint32_t)q64 + turn;
	float y = q & 1 ? cos_near_f32(r) : sin_near_f32(r);
	return f32_bits(bits_f32(y) ^ (q & 2) << 30);
}

VM double sincos_f64(double x, uint64_t turn)
{
	uint64_t q;
	double r = quadrant(x, &q);
	q += turn;
	double y = q & 1 ? cos_near_f64(r) : sin_near_f64(r);
	return f64_bits(bits_f64(y) ^ (q & 2) << 62);
}

/* --- activations; T selects f32 or f64 ------------------------------------------------------------------------
 * gelu: ½x(1 + tanh u) = x σ(2u), u = c (x + 0.044715 x³), c = √(2/π) */
#define GELU_2C  1.59576912160573071176
#define GELU_2CA 0.071354816272600248776      /* 2c · 0.044715 */

#define ACTIVATIONS(T, S) \
VM T gelu_##S(T x) { return x / ((T)1 + exp_##S(-x * ((T)GELU_2C + (T)GELU_2CA * x * x))); } \
/* σ(2u) + x σ(2u) (1 - σ(2u)) 2u'; beyond |x| = 32 the second term is 0, so x is clamped there */ \
VM T gelu_slope_##S(T x) \
{ \
	T c = x > (T)32 ? (T)32 : x; \
	c = c < (T)-32 ? (T)-32 : c; \
	T w = -c * ((T)GELU_2C + (T)GELU_2CA * c * c); \
	T t = exp_##S(w > (T)60 ? (T)60 : w), s = (T)1 / ((T)1 + t); \
	return s + c * (t * s * s) * ((T)GELU_2C + (T)(3 * GELU_2CA) * c * c); \
} \
VM T geluerf_slope_##S(T x) \
{ \
	T c = x > (T)64 ? (T)64 : x; \
	c = c < (T)-64 ? (T)-64 : c; \
	return phi_##S(c) + c * exp_##S((T)-0.5 * c * c) * (T)0.39894228040143267794; \
} \
VM T swish_slope_##S(T x) \
{ \
	T s = sigmoid_##S(x), c = x < (T)-1e6 ? (T)-1e6 : x; \
	return s + c * s * sigmoid_##S(-x); \
}
ACTIVATIONS(float, f32)
ACTIVATIONS(double, f64)

#endif
