/* narrowing.h — narrow floats by their definition, and every f32 (or every so many) against them.
 *
 * Rounding is monotone: walking the positive floats upwards, the expected code goes up by one at each middle
 * between neighbours, which is exact in double.  So 2^31 values are checked as fast as they are converted. */
#ifndef TESTS_NARROWING_H
#define TESTS_NARROWING_H

#include "tests/runtime/kernels.h"

typedef struct Narrow { DType t; int exp_bits, man, bias; unsigned top; } Narrow;      /* top: code of the largest number */
static const Narrow narrows[] = {
	{ DT_F16, 5, 10, 15, 0x7bff }, { DT_BF16, 8, 7, 127, 0x7f7f }, { DT_F8_143, 4, 3, 8, 0x7f }, { DT_F8_152, 5, 2, 16, 0x7f },
};

static inline double narrow_value(const Narrow *w, unsigned code)        /* of a positive code; also of the one above the top */
{
	int e = (int)(code >> w->man), m = (int)code & ((1 << w->man) - 1);
	return e ? ldexp(m + (1 << w->man), e - w->bias - w->man) : ldexp(m, 1 - w->bias - w->man);
}

static inline unsigned narrow_code(const Narrow *w, const void *p, long i) { return w->man > 3 ? ((const uint16_t *)p)[i] : ((const uint8_t *)p)[i]; }

/* what a positive code is for a number of either sign; above the top: infinity, or NaN where there is none */
static inline unsigned narrow_signed(const Narrow *w, unsigned code, int negative)
{
	if (w->man > 3) return code | (negative ? 0x8000u : 0);
	return code > w->top ? 0x80 : code && negative ? code | 0x80 : code;
}

/* f32 with bits from, from + step, … of both signs; `wrong` gets the first that fails. Every code's middle must be passed. */
static inline int narrow_all(const Narrow *w, uint32_t step, uint32_t *wrong)
{
	enum { N = 4096 };
	static float x[2][N];
	static uint16_t y[2][N];
	unsigned c = 0;
	double middle = narrow_value(w, 1) / 2;
	for (uint64_t u = 0; u < 0x7f800000u; ) {
		long n = 0;
		for (; n < N && u < 0x7f800000u; n++, u += step) {
			uint32_t bits = (uint32_t)u, minus = bits | 0x80000000u;
			memcpy(&x[0][n], &bits, 4);
			memcpy(&x[1][n], &minus, 4);
		}
		rt_convert(w->t, y[0], DT_F32, x[0], (size_t)n);
		rt_convert(w->t, y[1], DT_F32, x[1], (size_t)n);
		for (long i = 0; i < n; i++) {
			while (c <= w->top && ((double)x[0][i] > middle || ((double)x[0][i] == middle && c & 1))) {
				c++;
				middle = (narrow_value(w, c) + narrow_value(w, c + 1)) / 2;
			}
			if (narrow_code(w, y[0], i) == narrow_signed(w, c, 0) && narrow_code(w, y[1], i) == narrow_signed(w, c, 1)) continue;
			memcpy(wrong, &x[0][i], 4);
			return 0;
		}
	}
	return 1;
}

/* the floats just below, at and just above every middle between neighbours, and every code itself */
static inline int narrow_boundaries(const Narrow *w)
{
	int ok = 1;
	for (unsigned c = 0; c <= w->top; c++) {
		double v = narrow_value(w, c), middle = (v + narrow_value(w, c + 1)) / 2;
		float x[4] = { (float)v, nextafterf((float)middle, 0), (float)middle, nextafterf((float)middle, INFINITY) };
		unsigned want[4] = { c, c, c + (c & 1), c + 1 };
		uint16_t y[4];
		if ((double)x[2] != middle) continue;            /* among the smallest of bf16 there is no float between */
		rt_convert(w->t, y, DT_F32, x, 4);
		for (int i = 0; i < 4; i++) ok &= narrow_code(w, y, i) == narrow_signed(w, want[i], 0);
		for (int i = 0; i < 4; i++) x[i] = -x[i];
		rt_convert(w->t, y, DT_F32, x, 4);
		for (int i = 0; i < 4; i++) ok &= narrow_code(w, y, i) == narrow_signed(w, want[i], 1);
	}
	return ok;
}

#endif
