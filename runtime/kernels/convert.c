/* convert.c — scalar conversions between storage formats, and whole arrays by the rules of `cast`. */
#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

#include <string.h>

float    f16_to_f32(uint16_t h)  { return half_load(h); }
uint16_t f32_to_f16(float x)     { return half_store(x); }
float    bf16_to_f32(uint16_t h) { return brain_load(h); }
uint16_t f32_to_bf16(float x)    { return brain_store(x); }

float f8_to_f32(DType t, uint8_t b) { return t == DT_F8_143 ? f8_143_load(b) : f8_152_load(b); }

uint8_t f32_to_f8(DType t, float x, int nan_on_overflow)
{
	uint32_t over = nan_on_overflow ? 0x80 : 0x7f;
	return t == DT_F8_143 ? f8_143_store(x, over) : f8_152_store(x, over);
}

/* --- one element, any type ------------------------------------------------------------------------------------------ */

double rt_get(DType t, const void *p, size_t i)
{
	const char *at = (const char *)p + i * dtype_size(t);
	Block b;
	rt_table()->ld[t](&b, at, 1, 1);
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

int rt_own_class(DType t)
{
	static const signed char of[DT_COUNT] = { [DT_BOOL] = PXLRT_U8, [DT_I8] = PXLRT_I8, [DT_I16] = PXLRT_I16, [DT_I32] = PXLRT_I32,
	                                          [DT_U8] = PXLRT_U8, [DT_U16] = PXLRT_U16, [DT_U32] = PXLRT_U32 };
	return of[t] ? of[t] : class_of((int)t);
}

void k_convert(const struct pxlrt *rt, DType to, void *dst, DType from, const void *src, size_t n)
{
	int cls = rt_own_class(from), in_place = rt_own_class(to) != PXLRT_F32 || to == DT_F32;
	Block a, b;
	for (size_t at = 0; at < n; at += BLOCK_MAX) {
		long k = (long)(n - at < BLOCK_MAX ? n - at : BLOCK_MAX);
		void *y = (char *)dst + at * dtype_size(to);
		rt->get[from](&a, (const char *)src + at * dtype_size(from), 1, k);
		rt->cvt[cls][to](in_place ? y : &b, &a, k);
		if (!in_place) rt->put[to](y, 1, &b, k);
	}
}

void rt_convert(DType to, void *dst, DType from, const void *src, size_t n) { k_convert(rt_table(), to, dst, from, src, n); }
