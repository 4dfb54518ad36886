/* kernels_convert.c — conversions between storage formats: all 8- and 16-bit values, and the rules of `cast`. */
#include "tests/runtime/casting.h"

/* value of a small float by its definition */
static double small_value(unsigned bits, int exp_bits, int man)
{
	int bias = (1 << (exp_bits - 1)) - 1, e = (int)(bits >> man) & ((1 << exp_bits) - 1), m = (int)bits & ((1 << man) - 1);
	double s = bits >> (exp_bits + man) & 1 ? -1 : 1;
	if (e == (1 << exp_bits) - 1) return m ? (double)NAN : s * (double)INFINITY;
	return s * (e ? ldexp(1 + ldexp(m, -man), e - bias) : ldexp(m, 1 - bias - man));
}

/* nearest of two neighbours a < b to x, the even one on a tie */
static unsigned nearest(double x, unsigned a, double va, unsigned b, double vb)
{
	double da = x - va, db = vb - x;
	return da < db ? a : db < da ? b : a & 1 ? b : a;
}

static void halves(DType t, int exp_bits, int man)
{
	int ok = 1, mid = 1, wide = 1;
	unsigned inf = ((1u << exp_bits) - 1) << man;
	for (unsigned h = 0; h < 65536; h++) {
		double want = small_value(h, exp_bits, man), got = rt_get(t, &(uint16_t){ (uint16_t)h }, 0);
		ok &= isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want);
		uint16_t back = t == DT_F16 ? f32_to_f16((float)got) : f32_to_bf16((float)got);
		ok &= isnan(want) ? isnan(rt_get(t, &back, 0)) : back == h;
		if ((h & 0x7fff) >= inf) continue;
		/* between neighbours: quarter, half, three quarters; also through double, just beside the half */
		double next = (h & 0x7fff) + 1 == inf ? copysign(ldexp(2 - ldexp(1, -man), (1 << (exp_bits - 1)) - 1) + ldexp(1, (1 << (exp_bits - 1)) - 1 - man), want) : small_value(h + 1, exp_bits, man);
		for (int q = 0; q <= 4; q++) {
			double x = want + (next - want) * q / 4;
			unsigned to = want < next || !(h & 0x8000) ? nearest(fabs(x), h, fabs(want), h + 1, fabs(next)) : nearest(fabs(x), h, fabs(want), h + 1, fabs(next));
			uint16_t g = t == DT_F16 ? f32_to_f16((float)x) : f32_to_bf16((float)x);
			if ((double)(float)x == x) mid &= g == to;
			rt_convert(t, &g, DT_F64, &x, 1);
			wide &= g == to;
		}
		double beside = want + (next - want) * (0.5 + 0x1p-30);
		uint16_t g;
		rt_convert(t, &g, DT_F64, &beside, 1);
		wide &= g == h + 1;
	}
	CHECK("", ok);
	CHECK("", mid);
	CHECK("", wide);
	uint16_t big = t == DT_F16 ? f32_to_f16(1e30f) : f32_to_bf16(INFINITY);
	CHECK("", rt_get(t, &big, 0) == (double)INFINITY);
}

static double f8_value(DType t, unsigned b)
{
	int man = t == DT_F8_143 ? 3 : 2, bias = t == DT_F8_143 ? 8 : 16, e = (int)(b & 0x7f) >> man, m = (int)b & ((1 << man) - 1);
	if (b == 0x80) return (double)NAN;
	return (b & 0x80 ? -1 : 1) * (e ? ldexp(1 + ldexp(m, -man), e - bias) : ldexp(m, 1 - bias - man));
}

static void eighths(DType t)
{
	int ok = 1, mid = 1;
	for (unsigned b = 0; b < 256; b++) {
		double v = f8_value(t, b);
		ok &= near((double)f8_to_f32(t, (uint8_t)b), v, 0);
		ok &= f32_to_f8(t, (float)v, 1) == b;
		if ((b & 0x7f) == 0x7f || b == 0x80) continue;
		double n = f8_value(t, b + 1), half = (v + n) / 2;
		mid &= f32_to_f8(t, (float)half, 1) == (b & 1 ? b + 1 : (b == 0x80 ? 0 : b));
		mid &= f32_to_f8(t, (float)(v + (n - v) * 0.75), 1) == b + 1;
	}
	CHECK("R91 R92", ok);
	CHECK("R92", mid);
	CHECK("R94", f32_to_f8(t, INFINITY, 0) == 0x80 && f32_to_f8(t, NAN, 0) == 0x80);
	CHECK("R94", f32_to_f8(t, 1e9f, 0) == 0x7f && f32_to_f8(t, -1e9f, 0) == 0xff && f32_to_f8(t, 1e9f, 1) == 0x80);
	CHECK("R92 R96", f32_to_f8(t, -0.0f, 1) == 0 && f32_to_f8(t, -1e-30f, 1) == 0);
}

static void known_f8(void)
{
	CHECK("R95", f32_to_f8(DT_F8_143, 0.75f, 1) == 0x3C && f32_to_f8(DT_F8_143, 0.75f / 4, 1) == 0x2C && f32_to_f8(DT_F8_143, 1.5f, 1) == 0x44);
	CHECK("R95", f32_to_f8(DT_F8_143, 250, 0) == 0x7F && f32_to_f8(DT_F8_143, 250, 1) == 0x80);
	CHECK("R95", f32_to_f8(DT_F8_152, 0.25f, 1) == 0x38 && f32_to_f8(DT_F8_152, 0.25f / 8, 1) == 0x2C && f32_to_f8(DT_F8_152, 70000, 0) == 0x7F);
	CHECK("", (double)f8_to_f32(DT_F8_143, 0x7F) == 240 && (double)f8_to_f32(DT_F8_152, 0x7F) == 57344);
}

/* --- cast ------------------------------------------------------------------------------------------------------- */

static const double lows[DT_COUNT] = { [DT_I8] = -128, [DT_I16] = -32768, [DT_I32] = -2147483648.0, [DT_I64] = -0x1p63 };
static const double highs[DT_COUNT] = {
	[DT_I8] = 127, [DT_I16] = 32767, [DT_I32] = 2147483647, [DT_I64] = 0x1p63, [DT_U8] = 255, [DT_U16] = 65535, [DT_U32] = 4294967295.0, [DT_U64] = 0x1p64,
};

static void float_to_int(DType from, DType to)
{
	static const double xs[] = { 0, -0.0, 0.9, -0.9, 1.5, -1.5, 127.9, 128, -128.9, -129, 255.5, 256, 32768, 65536, 2147483648.0, 4294967296.0, 1e10, -1e10, 1e19, 1e30, -1e30, INFINITY, -INFINITY };
	int ok = 1;
	for (size_t i = 0; i < sizeof xs / sizeof *xs; i++) {
		char src[8], dst[8];
		rt_convert(from, src, DT_F64, &xs[i], 1);
		double x = rt_get(from, src, 0), want = trunc(x);
		want = want < lows[to] ? lows[to] : want > highs[to] ? highs[to] : want;
		rt_convert(to, dst, from, src, 1);
		ok &= rt_get(to, dst, 0) == want;
	}
	double nan = (double)NAN;
	char src[8], dst[8];
	rt_convert(from, src, DT_F64, &nan, 1);
	rt_convert(to, dst, from, src, 1);
	CHECK("", ok && rt_get(to, dst, 0) == 0);
}

static void int_to_int(DType from, DType to)
{
	static const int64_t xs[] = { 0, 1, -1, 127, 128, 255, 256, -128, -129, 65535, 65536, -32769, 2147483647, 2147483648, 4294967295, 4294967296, INT64_MAX, INT64_MIN };
	int ok = 1, bits = (int)dtype_size(to) * 8;
	for (size_t i = 0; i < sizeof xs / sizeof *xs; i++) {
		char src[8], dst[8];
		rt_convert(from, src, DT_I64, &xs[i], 1);
		uint64_t v = (uint64_t)rt_get_int(from, src, 0), w = bits == 64 ? v : v & ((1ull << bits) - 1);
		if (dtype_info[to].cls == 'i' && bits < 64 && w >> (bits - 1)) w |= ~0ull << bits;
		rt_convert(to, dst, from, src, 1);
		ok &= (uint64_t)rt_get_int(to, dst, 0) == w;
	}
	CHECK("", ok);
}

static void casts(void)
{
	static const DType floats[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
	for (int to = DT_I8; to <= DT_U64; to++) {
		for (int f = 0; f < 4; f++) float_to_int(floats[f], (DType)to);
		for (int from = DT_I8; from <= DT_U64; from++) int_to_int((DType)from, (DType)to);
	}
	for (int f = 0; f < 4; f++) {
		double xs[4] = { 0, -0.0, 0.25, (double)NAN };
		char src[32];
		unsigned char b[4];
		rt_convert(floats[f], src, DT_F64, xs, 4);
		rt_convert(DT_BOOL, b, floats[f], src, 4);
		CHECK("", b[0] == 0 && b[1] == 0 && b[2] == 1 && b[3] == 1);
		rt_convert(floats[f], src, DT_BOOL, b, 4);
		CHECK("", rt_get(floats[f], src, 1) == 0 && rt_get(floats[f], src, 2) == 1);
	}
	/* one rounding, not two */
	int64_t i = (1ll << 30) + (1ll << 22) + 1;
	uint64_t u = (1ull << 62) + (1ull << 54) + 1;
	uint16_t h;
	rt_convert(DT_BF16, &h, DT_I64, &i, 1);
	CHECK("", rt_get(DT_BF16, &h, 0) == 0x1p30 + 0x1p23);
	rt_convert(DT_BF16, &h, DT_U64, &u, 1);
	CHECK("", rt_get(DT_BF16, &h, 0) == 0x1p62 + 0x1p55);
}

/* every 8- and 16-bit value to every type, and of the wider types what lies at a boundary, on every table of this machine (the second half of them differs in products alone) */
static void every_cast(void)
{
	static uint16_t all[65536];
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int i = 0; i < 65536; i++) all[i] = (uint16_t)i;
	for (int from = 0; from < DT_COUNT; from++) {
		size_t size = dtype_size((DType)from);
		Picks p = size > 2 ? picks_of((DType)from, 4000) : (Picks){ 0 };
		unsigned char bytes[256];
		for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)(from == DT_BOOL ? i & 1 : i);
		const void *src = size > 2 ? (void *)p.at : size == 2 ? (void *)all : bytes;
		for (int to = 0; to < DT_COUNT; to++) {
			int ok = 1;
			for (int k = 0; k < nrt / 2; k++) ok &= casts_agree(rts[k], (DType)to, (DType)from, src, size > 2 ? p.n : size == 2 ? 65536 : 256);
			CHECK(dtype_is_f8((DType)from) || dtype_is_f8((DType)to) ? "R91 R92" : "", ok);
		}
		free(p.at);
	}
}

/* boundaries all, and one value in 257 of the rest; tests/long has every one */
static void narrowing(void)
{
	for (size_t i = 0; i < sizeof narrows / sizeof *narrows; i++) {
		uint32_t wrong = 0;
		int ok = narrow_all(&narrows[i], 257, &wrong);
		if (!ok) printf("f32 to %s: %08x\n", dtype_info[narrows[i].t].name, wrong);
		CHECK("", ok);
		CHECK("", narrow_boundaries(&narrows[i]));
	}
}

int main(void)
{
	narrowing();
	halves(DT_F16, 5, 10);
	halves(DT_BF16, 8, 7);
	eighths(DT_F8_143);
	eighths(DT_F8_152);
	known_f8();
	casts();
	every_cast();
	return check_done();
}
