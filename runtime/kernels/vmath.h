/* vmath.h — the elementary functions, one element at a time and without branches, so that the loops of
 * vec/ vectorise them.
 *
 * Only + - * / sqrt, explicit fma, compares, selects and integer operations on the bits: with contraction off
 * every instruction set rounds the same way, so results have the same bits on every machine.  The polynomials
 * are minimax fits (Remez exchange, 50 digits) made for this file.  accuracy.def states how close results are, and tests hold it true.
 * Arguments of sin and cos beyond SINCOS_MAX are for the caller (vec/float_loops.h) to hand to libm. */
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

/* a b + c rounded once.  Where there is no instruction for it f32 goes through double, rounded to odd so that
 * the second rounding does no harm; f64 is left to libm. */
VM float fma_f32(float a, float b, float c)
{
#if defined __FMA__ || !defined __x86_64__
	return __builtin_fmaf(a, b, c);
#else
	double p = (double)a * (double)b, s = p + (double)c, v = s - p, e = (p - (s - v)) + ((double)c - v);
	uint64_t u = bits_f64(s), away = (e > 0) == (s > 0);
	return (float)f64_bits((~u & 1) & ((e > 0) | (e < 0)) ? u + 2 * away - 1 : u);
#endif
}

VM double fma_f64(double a, double b, double c)
{
#if defined __FMA__ || !defined __x86_64__
	return __builtin_fma(a, b, c);
#else
	return fma(a, b, c);
#endif
}

/* adding 1.5·2^(mantissa bits) leaves the nearest integer in the low bits of the sum */
#define ROUND_F32 12582912.0f
#define ROUND_F64 6755399441055744.0
#define SINCOS_MAX 1e5

/* --- exponential: x = n ln2 + r, e^x = 2^n e^r; 2^n in two factors so that denormals come out right ------ */

/* p 2^k: exponents e1 + e2 = k + 254, e1 the lower half */
VM float scaled_f32(float p, int32_t k)
{
	uint32_t e = (uint32_t)(k + 254), e1 = e << 22 & 0x7f800000u, e2 = (e << 23) - e1;
	return p * f32_bits(e1) * f32_bits(e2);
}

/* e^(x + lo), lo small against x.  n is bounded as an integer; where that leaves r large, x > 88.8, the result is
 * infinite all the same. */
VM float exp2part_f32(float x, float lo)
{
	x = x < -104.0f ? -104.0f : x;
	int32_t k = (int32_t)(bits_f32(fma_f32(x, 1.44269504f, ROUND_F32)) - bits_f32(ROUND_F32));
	k = k < 129 ? k : 129;
	float n = (float)k, r = fma_f32(n, 2.12194440e-4f, fma_f32(n, -0.693359375f, x)) + lo;
	float p = 0.008312435768f;
	p = fma_f32(p, r, 0.0418914362f);
	p = fma_f32(p, r, 0.1666711942f);
	p = fma_f32(p, r, 0.4999922277f);
	p = fma_f32(r * r, p, r) + 1.0f;
	return scaled_f32(p, k);
}

VM float exp_f32(float x) { return exp2part_f32(x, -0.0f); }

VM double exp2part_f64(double x, double lo)
{
	x = x > 710.0 ? 710.0 : x;
	x = x < -746.0 ? -746.0 : x;
	double t = fma_f64(x, 1.4426950408889634074, ROUND_F64), n = t - ROUND_F64;
	double r = fma_f64(n, -1.90821492927058770002e-10, fma_f64(n, -6.93147180369123816490e-01, x)) + lo;
	double p = 2.50000950474758035e-8;
	p = fma_f64(p, r, 2.7630234331356206e-7);
	p = fma_f64(p, r, 2.75575861837065007e-6);
	p = fma_f64(p, r, 0.00002480149313512039);
	p = fma_f64(p, r, 0.000198412695068894775);
	p = fma_f64(p, r, 0.00138888889435986607);
	p = fma_f64(p, r, 0.00833333333349427062);
	p = fma_f64(p, r, 0.0416666666665302626);
	p = fma_f64(p, r, 0.166666666666664129);
	p = fma_f64(p, r, 0.500000000000001062);
	p = fma_f64(r * r, p, r) + 1.0;
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
	p = fma_f32(p, f, 0.1276173599f);
	p = fma_f32(p, f, -0.1316015139f);
	p = fma_f32(p, f, 0.1420173098f);
	p = fma_f32(p, f, -0.1662335778f);
	p = fma_f32(p, f, 0.200012283f);
	p = fma_f32(p, f, -0.2500082106f);
	p = fma_f32(p, f, 0.3333333168f);
	float y = fma_f32(z, -0.5f, fma_f32(f * z, p, e * -2.12194440e-4f));
	y = fma_f32(e, 0.693359375f, f + y);
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
	p = fma_f64(p, z, 0.153111235519881915);
	p = fma_f64(p, z, 0.181836727457766875);
	p = fma_f64(p, z, 0.222221966117741013);
	p = fma_f64(p, z, 0.285714287601738696);
	p = fma_f64(p, z, 0.399999999993412987);
	p = fma_f64(p, z, 0.666666666666674436);
	/* log m = f - f²/2 + s (f²/2 + z p): the large terms are exact or nearly so */
	double y = e * 6.93147180369123816490e-01 - ((h - (s * (h + z * p) + e * 1.90821492927058770002e-10)) - f);
	y = x < 0.0 ? (double)NAN : y;
	y = x == 0.0 ? -(double)INFINITY : y;
	return x <= DBL_MAX ? y : x;
}

/* --- power: 2^(y log2 x), the logarithm and its product with y as sums of two floats ------------------------ */

/* x, or 0; a select that a compiler doesn't take for a branch */
VM float only_f32(int given, float x) { return f32_bits(bits_f32(x) & -(uint32_t)given); }

/* log2 a of a positive a is the result and *lo; of 0 and infinity it is all in the result.  a = 2^e m as above, s = (m - 1) / (m + 1):
 * log2 m = s (K + z (C + z p)), z = s².  What rounding takes from s, z and each sum and product that counts is kept beside it */
VM float log2_pair_f32(float a, float *lo)
{
	const float K = 2.88539004f, K_rest = 3.85192598e-8f, C = 0.9617967f, C_rest = -2.17617345e-8f;
	int tiny = a < FLT_MIN;
	uint32_t u = bits_f32(tiny ? a * 8388608.0f : a) + (0x3f800000u - 0x3f3504f3u);
	float e = (float)((int32_t)(u >> 23) - (tiny ? 150 : 127)), m = f32_bits((u & 0x7fffffu) + 0x3f3504f3u);
	float f = m - 1.0f, d = m + 1.0f, d_rest = m - (d - 1.0f), r = 1.0f / d;
	float s = f * r, s_rest = fma_f32(-s, d_rest, fma_f32(-s, d, f)) * r;
	float z = s * s, z_rest = fma_f32(s + s, s_rest, fma_f32(s, s, -z));
	float p = 0.340218574543f;
	p = fma_f32(p, z, 0.411706332292f);
	p = fma_f32(p, z, 0.577082852192f);
	float q = fma_f32(p, z, C_rest), w = C + q, w_rest = q - (w - C);
	float t = z * w, t_rest = fma_f32(z, w, -t) + fma_f32(z, w_rest, z_rest * w);
	float v = K + t, v_rest = t - (v - K) + (t_rest + K_rest);
	float l = s * v, l_rest = fma_f32(s, v, -l) + fma_f32(s, v_rest, s_rest * v);
	float y = e + l;
	*lo = l - (y - e) + l_rest;
	y = a == 0.0f ? -INFINITY : y;
	return a <= FLT_MAX ? y : a;
}

VM float exp2pair_f32(float x, float lo)
{
	x = x < -152.0f ? -152.0f : x;
	x = x > 152.0f ? 152.0f : x;
	float t = x + ROUND_F32, r = x - (t - ROUND_F32) + lo;
	float p = 0.000155954820814f;
	p = fma_f32(p, r, 0.00134069505612f);
	p = fma_f32(p, r, 0.00961768930586f);
	p = fma_f32(p, r, 0.0555030970676f);
	p = fma_f32(p, r, 0.240226528093f);
	p = fma_f32(p, r, 0.693147215403f);
	return scaled_f32(fma_f32(p, r, 1.0f), (int32_t)(bits_f32(t) - bits_f32(ROUND_F32)));
}

/* all of C's special cases: x^0 and 1^y are 1, NaNs or not; only whole powers of negative numbers are numbers, odd ones negative */
VM float pow_f32(float x, float y)
{
	float a = abs_f32(x), lo, hi = log2_pair_f32(a, &lo), t = y * hi;
	float rest = only_f32(abs_f32(t) < 152.0f, fma_f32(y, hi, -t) + y * lo);
	float b = exp2pair_f32(only_f32((a != 1.0f) & (y != 0.0f), t), rest);
	float c = only_f32(abs_f32(y) < 0x1p24f, y);           /* beyond, all are even */
	int32_t i = (int32_t)c;
	int whole = (float)i == c;
	uint32_t sign = bits_f32(x) & (uint32_t)(i & whole) << 31;
	int none = ((x < 0.0f) & (a <= FLT_MAX) & !whole) | ((x != x) & (y != 0.0f)) | ((y != y) & (x != 1.0f));
	return f32_bits(bits_f32(b) | sign | (none ? 0x7fc00000u : 0));
}

/* --- tanh, sigmoid ---------------------------------------------------------------------------------------- */

VM float tanh_f32(float x)
{
	float a = abs_f32(x), z = x * x;
	float p = -0.005895147328f;
	p = fma_f32(p, z, 0.0207959649f);
	p = fma_f32(p, z, -0.05378382953f);
	p = fma_f32(p, z, 0.1333192414f);
	p = fma_f32(p, z, -0.33333298f);
	float big = with_sign_f32(1.0f - 2.0f / (exp_f32(a + a) + 1.0f), x);
	return a < 0.6f ? fma_f32(x * z, p, x) : big;
}

VM double tanh_f64(double x)
{
	double a = abs_f64(x), z = x * x;
	double p = 0.0000454412741202309458;
	p = fma_f64(p, z, -0.000201584259579416962);
	p = fma_f64(p, z, 0.000573357564925817785);
	p = fma_f64(p, z, -0.00145110094309350274);
	p = fma_f64(p, z, 0.00359125342373671326);
	p = fma_f64(p, z, -0.00886313128967316172);
	p = fma_f64(p, z, 0.0218694808085324095);
	p = fma_f64(p, z, -0.0539682536378302168);
	p = fma_f64(p, z, 0.13333333332631797);
	p = fma_f64(p, z, -0.333333333333281643);
	double big = with_sign_f64(1.0 - 2.0 / (exp_f64(a + a) + 1.0), x);
	return a < 0.6 ? fma_f64(x * z, p, x) : big;
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

/* --- softplus: ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|); ln(1 + e) = w + w z P(z), w = e/(1 + e/2), z = w² ----------- */

VM float log1p_near_f32(float z)
{
	float p = 0.0005471091135f;
	p = fma_f32(p, z, 0.002187641105f);
	p = fma_f32(p, z, 0.01250672713f);
	return fma_f32(p, z, 0.08333302289f);
}

VM double log1p_near_f64(double z)
{
	double p = 8.11088566930220376e-08;
	p = fma_f64(p, z, 1.59167667872851381e-07);
	p = fma_f64(p, z, 9.23534030463724406e-07);
	p = fma_f64(p, z, 4.05918009669110587e-06);
	p = fma_f64(p, z, 1.87824077091362315e-05);
	p = fma_f64(p, z, 8.87780492136608661e-05);
	p = fma_f64(p, z, 0.000434027811594720218);
	p = fma_f64(p, z, 0.00223214285532171482);
	p = fma_f64(p, z, 0.0125000000000484741);
	return fma_f64(p, z, 0.0833333333333328846);
}

#define SOFTPLUS(T, S) \
VM T softplus_##S(T x) \
{ \
	T e = exp_##S(-abs_##S(x)), w = e / fma_##S((T)0.5, e, (T)1), z = w * w; \
	return (x > 0 ? x : (T)0) + fma_##S(w * z, log1p_near_##S(z), w); \
}
SOFTPLUS(float, f32)
SOFTPLUS(double, f64)

/* --- erf: a polynomial near 0; else 1 - e^(-a²) t Q(t), t = 1/(1 + a/2).  e^(-a²) takes a² as a short
 * square, exact, and a rest. ------------------------------------------------------------------------------- */

/* erfc(a) for a >= 0.45 */
VM float erfc_tail_f32(float a)
{
	float t = 1.0f / (1.0f + 0.5f * a), s = f32_bits(bits_f32(a) & 0xfffff000u);
	float q = -0.02781101208f;
	q = fma_f32(q, t, 0.0570162291f);
	q = fma_f32(q, t, 0.07910648111f);
	q = fma_f32(q, t, -0.2864885141f);
	q = fma_f32(q, t, 0.1601667958f);
	q = fma_f32(q, t, 0.01584836509f);
	q = fma_f32(q, t, 0.193560312f);
	q = fma_f32(q, t, 0.2441686655f);
	q = fma_f32(q, t, 0.2823239804f);
	q = fma_f32(q, t, 0.2820863854f);
	return exp2part_f32(-s * s, -(a - s) * (a + s)) * t * q;
}

VM float erf_near_f32(float x)
{
	float z = x * x, p = 7.853843946e-5f;
	p = fma_f32(p, z, -0.0008010189215f);
	p = fma_f32(p, z, 0.005188327315f);
	p = fma_f32(p, z, -0.02685381184f);
	p = fma_f32(p, z, 0.1128358515f);
	p = fma_f32(p, z, -0.3761262583f);
	return fma_f32(x * z, p, x * 1.128379166f);
}

VM float erf_f32(float x)
{
	float a = abs_f32(x), c = a > 10.0f ? 10.0f : a;
	float far = with_sign_f32(1.0f - erfc_tail_f32(c), x);
	return a < 0.9f ? erf_near_f32(x) : far;
}

/* f64: near is |x| < 1, with 2/√π - 1 in the polynomial; t = 1/(1 + 0.4 a).  erf is 1 from 5.92 on. */
VM double erf_near_f64(double x)
{
	double z = x * x, p = -7.79524492329474874e-10;
	p = fma_f64(p, z, 1.37200844616206495e-08);
	p = fma_f64(p, z, -1.62085984213775215e-07);
	p = fma_f64(p, z, 1.64474584316309711e-06);
	p = fma_f64(p, z, -1.4924741667481158e-05);
	p = fma_f64(p, z, 0.000120552952969287392);
	p = fma_f64(p, z, -0.000854832599533485388);
	p = fma_f64(p, z, 0.00522397760774457112);
	p = fma_f64(p, z, -0.0268661706433556934);
	p = fma_f64(p, z, 0.112837916709462138);
	p = fma_f64(p, z, -0.376126389031835984);
	p = fma_f64(p, z, 0.128379167095512574);
	return fma_f64(x, p, x);
}

VM double erf_f64(double x)
{
	double a = abs_f64(x), c = a > 6.0 ? 6.0 : a, t = 1.0 / fma_f64(0.4, c, 1.0);
	double q = 0.0310881425810280894;
	q = fma_f64(q, t, -0.221162327285751192);
	q = fma_f64(q, t, 0.667003831567470784);
	q = fma_f64(q, t, -1.08271379749828167);
	q = fma_f64(q, t, 1.02654774801918958);
	q = fma_f64(q, t, -0.686900633692550722);
	q = fma_f64(q, t, 0.407472431421788961);
	q = fma_f64(q, t, 0.00364886716805434006);
	q = fma_f64(q, t, 0.200312256526016419);
	q = fma_f64(q, t, 0.202906848819668889);
	q = fma_f64(q, t, 0.226141959749825899);
	q = fma_f64(q, t, 0.225654762407884957);
	double far = with_sign_f64(1.0 - exp_f64(-c * c) * t * q, x);
	return a < 1.0 ? erf_near_f64(x) : far;
}

/* Φ(-|x|) = e^(-x²/2) t Q(t), t = 1/(1 + 0.35 |x|): good to 2e-8, and to 1e-5 of itself where it is small */
#define PHI_Q(X) X(0.0453607166f) X(-0.187185147f) X(0.215095434f) X(0.00603248233f) X(0.144219228f) X(0.136689908f) X(0.139787444f)
VM float phi_f32(float x)
{
	float t = 1.0f / fma_f32(0.35f, abs_f32(x), 1.0f), q = 0;
#define STEP(c) q = fma_f32(q, t, c);
	PHI_Q(STEP)
#undef STEP
	float h = exp_f32(-0.5f * x * x) * t * q;
	return x < 0.0f ? h : 1.0f - h;
}

VM double phi_f64(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/* --- sine and cosine of r in [-π/4, π/4], and of any |x| <= SINCOS_MAX -------------------------------------- */

VM float sin_near_f32(float r)
{
	float z = r * r, p = -0.0001951202987f;
	p = fma_f32(p, z, 0.008332137163f);
	p = fma_f32(p, z, -0.1666665424f);
	return fma_f32(r * z, p, r);
}

VM float cos_near_f32(float r)
{
	float z = r * r, p = 2.44348563e-5f;
	p = fma_f32(p, z, -0.001388733718f);
	p = fma_f32(p, z, 0.04166664627f);
	return fma_f32(z * z, p, fma_f32(z, -0.5f, 1.0f));
}

VM double sin_near_f64(double r)
{
	double z = r * r, p = 1.5894603751623955e-10;
	p = fma_f64(p, z, -2.50507203910148724e-8);
	p = fma_f64(p, z, 2.75573134512800633e-6);
	p = fma_f64(p, z, -0.000198412698291138953);
	p = fma_f64(p, z, 0.0083333333333215444);
	p = fma_f64(p, z, -0.166666666666666285);
	return fma_f64(r * z, p, r);
}

VM double cos_near_f64(double r)
{
	double z = r * r, p = -1.13585643887264969e-11;
	p = fma_f64(p, z, 2.08757029829102225e-9);
	p = fma_f64(p, z, -2.75573142080913764e-7);
	p = fma_f64(p, z, 0.0000248015872890017625);
	p = fma_f64(p, z, -0.00138888888888733877);
	p = fma_f64(p, z, 0.0416666666666665954);
	double h = 0.5 * z, w = 1.0 - h;
	return w + fma_f64(z * z, p, (1.0 - w) - h);
}

/* x - n π/2 with π/2 in parts of 33 bits, so that the first two products are exact; quadrant in *q */
VM double quadrant(double x, uint64_t *q)
{
	double t = fma_f64(x, 0.63661977236758134308, ROUND_F64), n = t - ROUND_F64;
	*q = bits_f64(t);
	return fma_f64(n, -2.02226624879595063154e-21, fma_f64(n, -6.07710050630396597660e-11, fma_f64(n, -1.57079632673412561417e+00, x)));
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

/* --- inverse sine, cosine, tangent: x + x z P(z) of z = x² near 0, to which larger arguments are reduced -------------- */

VM float sqrt_f32(float x) { return __builtin_sqrtf(x); }
VM double sqrt_f64(double x) { return __builtin_sqrt(x); }

VM float asin_near_f32(float z)          /* z <= 1/4 */
{
	float p = 0.04216630757f;
	p = fma_f32(p, z, 0.0241795145f);
	p = fma_f32(p, z, 0.04547037557f);
	p = fma_f32(p, z, 0.07495297492f);
	return fma_f32(p, z, 0.166667521f);
}

VM double asin_near_f64(double z)
{
	double p = 0.0319122047608967618;
	p = fma_f64(p, z, -0.0162241591055049608);
	p = fma_f64(p, z, 0.0195282067719964383);
	p = fma_f64(p, z, 0.00652799593826461095);
	p = fma_f64(p, z, 0.0121692070676223899);
	p = fma_f64(p, z, 0.013885236128837547);
	p = fma_f64(p, z, 0.0173597046989020787);
	p = fma_f64(p, z, 0.0223717580546283351);
	p = fma_f64(p, z, 0.030381959136790454);
	p = fma_f64(p, z, 0.0446428568283328067);
	p = fma_f64(p, z, 0.0750000000033700792);
	return fma_f64(p, z, 0.166666666666654084);
}

VM float atan_near_f32(float z)          /* z <= tan² π/8 */
{
	float p = -0.06078219414f;
	p = fma_f32(p, z, 0.1059381291f);
	p = fma_f32(p, z, -0.1424353272f);
	p = fma_f32(p, z, 0.1999847144f);
	return fma_f32(p, z, -0.3333331645f);
}

VM double atan_near_f64(double z)
{
	double p = -0.0179050455301729659;
	p = fma_f64(p, z, 0.0380621455574626441);
	p = fma_f64(p, z, -0.0503919065574919625);
	p = fma_f64(p, z, 0.0584785932612212761);
	p = fma_f64(p, z, -0.0666309921131665456);
	p = fma_f64(p, z, 0.0769205971812455119);
	p = fma_f64(p, z, -0.0909089772529288048);
	p = fma_f64(p, z, 0.11111110782156533);
	p = fma_f64(p, z, -0.142857142801665948);
	p = fma_f64(p, z, 0.199999999999532468);
	return fma_f64(p, z, -0.333333333333331983);
}

/* HALF_PI + REST is π/2 in twice the digits.  Above 1/2, asin x = π/2 - 2 asin √((1 - x)/2), where 1 - x is exact */
#define ARCS(T, S, HALF_PI, REST) \
VM T arc_##S(T a) \
{ \
	T z = a > (T)0.5 ? fma_##S((T)-0.5, a, (T)0.5) : a * a, s = a > (T)0.5 ? sqrt_##S(z) : a; \
	return fma_##S(s * z, asin_near_##S(z), s); \
} \
VM T asin_##S(T x) \
{ \
	T a = abs_##S(x), q = arc_##S(a), far = HALF_PI - (q + q) + REST; \
	return with_sign_##S(a > (T)0.5 ? far : q, x); \
} \
VM T acos_##S(T x) \
{ \
	T a = abs_##S(x), q = arc_##S(a), part = HALF_PI - ((a > (T)0.5 ? q : with_sign_##S(q, x)) - REST); \
	T far = x < 0 ? part : q; \
	return a > (T)0.5 ? far + far : part; \
} \
/* atan a = π/2 - atan 1/a; with n/d the smaller of both, above tan π/8: atan n/d = π/4 + atan (n - d)/(n + d) */ \
VM T atan_##S(T x) \
{ \
	T a = abs_##S(x), n = a > 1 ? (T)1 : a, d = a > 1 ? a : (T)1; \
	int mid = n > (T)0.41421356237309504880 * d; \
	T t = (mid ? n - d : n) / (mid ? n + d : d), z = t * t, q = fma_##S(t * z, atan_near_##S(z), t); \
	T quarters = mid ? (T)0.5 : a > 1 ? (T)1 : (T)0; \
	return with_sign_##S(quarters * HALF_PI + (a > 1 ? -q : q) + quarters * REST, x); \
}
ARCS(float, f32, 1.57079637f, -4.371139e-8f)
ARCS(double, f64, 1.57079632679489662, 6.12323399573676588613e-17)

/* --- remainder: x - q y for the whole part q of |x / y|.  Below MOD_MAX a rounded quotient is at most the next whole number, so that the
 * remainder, exact in one fma, is at most |y| too small -------------------------------------------------------------------- */

#define MOD_MAX 0x1p22
#define WHOLE_F32 0x1p23f                /* added and taken away again: the nearest whole number */
#define WHOLE_F64 0x1p52

#define REMAINDERS(T, S, WHOLE) \
VM int mod_is_near_##S(T x, T y) { return (abs_##S(x) / abs_##S(y) < (T)MOD_MAX) & (abs_##S(y) < (T)INFINITY); } \
VM T mod_near_##S(T x, T y) \
{ \
	T a = abs_##S(x), b = abs_##S(y), q = a / b, t = q + WHOLE - WHOLE; \
	T r = fma_##S(-(t > q ? t - 1 : t), b, a); \
	return with_sign_##S(r < 0 ? r + b : r, x); \
}
REMAINDERS(float, f32, WHOLE_F32)
REMAINDERS(double, f64, WHOLE_F64)

/* --- activations; T selects f32 or f64 ------------------------------------------------------------------------
 * gelu: ½x(1 + tanh u) = x σ(2u), u = c (x + 0.044715 x³), c = √(2/π) */
#define GELU_2C  1.59576912160573071176
#define GELU_2CA 0.071354816272600248776      /* 2c · 0.044715 */

#define ACTIVATIONS(T, S) \
VM T gelu_##S(T x) { return x / ((T)1 + exp_##S(-x * fma_##S((T)GELU_2CA * x, x, (T)GELU_2C))); } \
/* σ(2u) + x σ(2u) (1 - σ(2u)) 2u'; beyond |x| = 10 that is 0 or 1, so x is clamped there */ \
VM T gelu_slope_##S(T x) \
{ \
	T c = x > (T)10 ? (T)10 : x; \
	c = c < (T)-10 ? (T)-10 : c; \
	T cc = c * c, w = -c * fma_##S((T)GELU_2CA, cc, (T)GELU_2C); \
	T t = exp_##S(w), s = (T)1 / ((T)1 + t); \
	return fma_##S(c * (t * s * s), fma_##S((T)(3 * GELU_2CA), cc, (T)GELU_2C), s); \
} \
VM T geluerf_slope_##S(T x) \
{ \
	T c = x > (T)64 ? (T)64 : x; \
	c = c < (T)-64 ? (T)-64 : c; \
	return phi_##S(c) + c * exp_##S((T)-0.5 * c * c) * (T)0.39894228040143267794; \
} \
/* s + x s (1 - s) of s = σ(x); s and 1 - s are 1 and e^-|x| over their sum, one way round or the other */ \
VM T swish_slope_##S(T x) \
{ \
	T c = x < (T)-1e6 ? (T)-1e6 : x; \
	c = c > (T)1e6 ? (T)1e6 : c; \
	T e = exp_##S(-abs_##S(c)), r = 1 / (1 + e); \
	return (x < 0 ? e : (T)1) * r + c * (e * r * r); \
}
ACTIVATIONS(float, f32)
ACTIVATIONS(double, f64)

#endif
