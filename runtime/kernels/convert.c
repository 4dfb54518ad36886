/* convert.c — scalar conversions between storage formats, and whole arrays by the rules of `cast`. */
#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

#include <string.h>

float    f16_to_f32(uint16_t h)  { return half_load(h); }
uint16_t f32_to_f16(float x)     { return half_store(x); }
float    bf16_to_f32(uint16_t h) { return brain_load(h); }
uint16_t f32_to_bf16(float x)    { return brain_store(x); }

/* --- float8: sign, exponent, `man` bits of mantissa; 0x80 is the only NaN, there is no infinity and no -0 ------- */

static int f8_man(DType t) { return t == DT_F8_143 ? 3 : 2; }
static int f8_bias(DType t) { return t == DT_F8_143 ? 8 : 16; }

float f8_to_f32(DType t, uint8_t b)
{
	if (b == 0x80) return NAN;
	int man = f8_man(t), e = (b & 0x7f) >> man, m = b & ((1 << man) - 1);
	float v = e ? ldexpf((float)(m + (1 << man)), e - f8_bias(t) - man) : ldexpf((float)m, 1 - f8_bias(t) - man);
	return b & 0x80 ? -v : v;
}

uint8_t f32_to_f8(DType t, float x, int nan_on_overflow)
{
	if (!(abs_f32(x) <= FLT_MAX)) return 0x80;
	if (x == 0) return 0;
	int man = f8_man(t), e;
	frexpf(x, &e);                                       /* |x| in [2^(e-1), 2^e) */
	int unit = (e - 1 < 1 - f8_bias(t) ? 1 - f8_bias(t) : e - 1) - man;
	float q = ldexpf(abs_f32(x), -unit), r = q + 8388608.0f - 8388608.0f;    /* q < 2^4: rounded to nearest even */
	int code = (int)r + ((unit + man + f8_bias(t) - 1) << man);              /* a carry moves into the exponent */
	if (code > 0x7f) return nan_on_overflow ? 0x80 : x < 0 ? 0xff : 0x7f;
	return (uint8_t)(code && x < 0 ? code | 0x80 : code);
}

/* --- one element, any type ------------------------------------------------------------------------------------------ */

double rt_get(DType t, const void *p, size_t i)
{
	const char *at = (const char *)p + i * dtype_size(t);
	Block b;
	rt_table(1)->ld[t](&b, at, 1, 1);
	switch (class_of((int)t)) {
	case PXLRT_F32: return (double)b.f32[0];
	case PXLRT_F64: return b.f64[0];
	case PXLRT_U64: return (double)b.u[0];
	default: return (double)b.i[0];
	}
}

#define GET_INT(D, T) case DT_##D: { T v; memcpy(&v, (const char *)p + i * sizeof v, sizeof v); return (int64_t)v; }
int64_t rt_get_int(DType t, const void *p, size_t i)
{
	switch (t) {
	GET_INT(BOOL, unsigned char) GET_INT(I8, signed char) GET_INT(I16, short) GET_INT(I32, int) GET_INT(I64, i64)
	GET_INT(U8, unsigned char) GET_INT(U16, unsigned short) GET_INT(U32, unsigned) GET_INT(U64, u64)
	default: return 0;
	}
}

void rt_set(DType t, void *p, size_t i, double x) { rt_convert(t, (char *)p + i * dtype_size(t), DT_F64, &x, 1); }

void rt_convert(DType to, void *dst, DType from, const void *src, size_t n)
{
	const struct pxlrt *rt = rt_table(1);
	int cls = class_of((int)from);
	Block a, b;
	for (size_t at = 0; at < n; at += BLOCK_MAX) {
		long k = (long)(n - at < BLOCK_MAX ? n - at : BLOCK_MAX);
		rt->ld[from](&a, (const char *)src + at * dtype_size(from), 1, k);
		rt->cvt[cls][to](&b, &a, k);
		rt->st[to]((char *)dst + at * dtype_size(to), 1, &b, k);
	}
}
