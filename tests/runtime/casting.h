/* casting.h — every cast against its definition, one element at a time: integers wrap, floats drop their fraction and stop at the
 * ends of the range, NaN is 0, narrower floats round to nearest even, anything that is not 0 is true.
 *
 * An element is its value in the widest type of its class, so nothing is lost before the one rounding. */
#ifndef TESTS_CASTING_H
#define TESTS_CASTING_H

#include "tests/runtime/narrowing.h"

#define MINUS_1 UINT64_MAX

/* the bits of a NaN of any kind, as what is compared */
static inline uint64_t plain_nan(DType t, uint64_t bits)
{
	if (t == DT_F64) return (bits & ~(1ull << 63)) > 0x7ff0000000000000u ? MINUS_1 : bits;
	if (t == DT_F32) return (bits & 0x7fffffff) > 0x7f800000 ? MINUS_1 : bits;
	if (t == DT_F16) return (bits & 0x7fff) > 0x7c00 ? MINUS_1 : bits;
	if (t == DT_BF16) return (bits & 0x7fff) > 0x7f80 ? MINUS_1 : bits;
	return dtype_is_f8(t) && bits == 0x80 ? MINUS_1 : bits;
}

static inline uint64_t element_bits(DType t, const void *p, size_t i)
{
	uint64_t x = 0;
	memcpy(&x, (const char *)p + i * dtype_size(t), dtype_size(t));
	return plain_nan(t, x);
}

/* a double as the code of a narrow float: a multiple of the quantum at its exponent, the even one of two as near */
static inline uint64_t narrow_bits(const Narrow *w, double v)
{
	double a = fabs(v);
	int e;
	if (isnan(v)) return MINUS_1;
	frexp(a, &e);
	e = e - 1 < 1 - w->bias ? 1 - w->bias : e - 1;
	double steps = nearbyint(ldexp(a, w->man - e)), one = ldexp(1, w->man);
	unsigned code = steps < one ? (unsigned)steps : w->top + 1;
	if (steps >= one && e <= w->bias + 1) code = ((unsigned)(e + w->bias) << w->man) + (unsigned)(steps - one);
	if (isinf(a) || code > w->top) code = w->top + 1;
	return plain_nan(w->t, narrow_signed(w, code, signbit(v) != 0));
}

static inline uint64_t float_as(DType to, double v)
{
	static const struct { double low, above; } range[DT_COUNT] = {
		[DT_I8] = { -0x1p7, 0x1p7 }, [DT_I16] = { -0x1p15, 0x1p15 }, [DT_I32] = { -0x1p31, 0x1p31 }, [DT_I64] = { -0x1p63, 0x1p63 },
		[DT_U8] = { 0, 0x1p8 }, [DT_U16] = { 0, 0x1p16 }, [DT_U32] = { 0, 0x1p32 }, [DT_U64] = { 0, 0x1p64 },
	};
	uint64_t bits = 0, mask = dtype_size(to) == 8 ? MINUS_1 : (1ull << 8 * dtype_size(to)) - 1;
	int is_signed = dtype_info[to].cls == 'i';
	float f = (float)v;
	for (size_t i = 0; i < sizeof narrows / sizeof *narrows; i++)
		if (narrows[i].t == to) return narrow_bits(&narrows[i], v);
	if (to == DT_F64) return memcpy(&bits, &v, 8), plain_nan(to, bits);
	if (to == DT_F32) return memcpy(&bits, &f, 4), plain_nan(to, bits);
	if (to == DT_BOOL) return v != 0;
	if (isnan(v)) return 0;
	if (v <= range[to].low) return (uint64_t)(is_signed ? (int64_t)range[to].low : 0) & mask;
	if (v >= range[to].above) return is_signed ? mask >> 1 : mask;
	return (v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v) & mask;
}

/* the bits of a 64-bit integer of either kind; a double that keeps a lost bit in its last place rounds as the whole would */
static inline uint64_t int_as(DType to, uint64_t x, int negative)
{
	uint64_t bits = 0, size = negative ? 0 - x : x, cut = 0;
	float f = negative ? (float)(int64_t)x : (float)x;
	double d = negative ? (double)(int64_t)x : (double)x;
	if (to == DT_BOOL) return x != 0;
	if (to == DT_F32) return memcpy(&bits, &f, 4), bits;
	if (to == DT_F64) return memcpy(&bits, &d, 8), bits;
	if (!dtype_is_float(to) && !dtype_is_f8(to)) return dtype_size(to) == 8 ? x : x & ((1ull << 8 * dtype_size(to)) - 1);
	for (; size >> 53; size >>= 1) cut++, bits |= size & 1;
	d = ldexp((double)(size | bits), (int)cut);
	return float_as(to, negative ? -d : d);
}

static inline uint64_t cast_as(DType to, DType from, const void *p, size_t i)
{
	if (dtype_is_float(from) || dtype_is_f8(from)) return float_as(to, rt_get(from, p, i));
	int64_t x = rt_get_int(from, p, i);
	return int_as(to, (uint64_t)x, dtype_info[from].cls == 'i' && x < 0);
}

enum { CASTS = 4096 };
static inline int casts_agree(const struct pxlrt *rt, DType to, DType from, const void *src, size_t n)
{
	static uint64_t dst[CASTS];
	for (size_t at = 0; at < n; at += CASTS) {
		size_t k = n - at < CASTS ? n - at : CASTS;
		k_convert(rt, to, dst, from, (const char *)src + at * dtype_size(from), k);
		for (size_t i = 0; i < k; i++) {
			if (element_bits(to, dst, i) == cast_as(to, from, src, at + i)) continue;
			printf("%s %llx to %s: %llx, not %llx\n", dtype_info[from].name, (unsigned long long)element_bits(from, src, at + i), dtype_info[to].name,
			       (unsigned long long)element_bits(to, dst, i), (unsigned long long)cast_as(to, from, src, at + i));
			return 0;
		}
	}
	return 1;
}

/* bits of sources worth a look: for integers all that have few ones or few zeros next to a power; for floats what lies at and
 * beside every number and every middle between neighbours of each narrower type, and at and beside the ends of integers */
typedef struct Picks { uint64_t *at; size_t n, room; } Picks;

static inline void pick_bits(Picks *p, DType t, uint64_t x)
{
	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 4096;
		p->at = realloc(p->at, p->room * sizeof *p->at);
	}
	memset(&p->at[p->n], 0, 8);
	memcpy((char *)p->at + p->n++ * dtype_size(t), &x, dtype_size(t));
}

static inline void pick_float(Picks *p, DType t, double x)
{
	for (int sign = 0; sign < 2; sign++, x = -x) {
		float f = (float)x;
		uint64_t bits = 0;
		if (t == DT_F32) memcpy(&bits, &f, 4);
		else memcpy(&bits, &x, 8);
		for (int d = -1; d <= 1; d++) pick_bits(p, t, bits + (uint64_t)d);
	}
}

static inline Picks picks_of(DType t, long random)
{
	Picks p = { 0 };
	int is_float = dtype_is_float(t);
	for (int k = 0; k < 64; k++)
		for (int d = -3; d <= 3; d++) {
			pick_bits(&p, t, (1ull << k) + (uint64_t)d);
			pick_bits(&p, t, 0 - (1ull << k) + (uint64_t)d);
			for (int m = 0; m < k && d == 0; m++) pick_bits(&p, t, (1ull << k) + (1ull << m)), pick_bits(&p, t, (1ull << k) - (1ull << m));
		}
	for (int k = -1; is_float && k <= 64; k++)
		for (int h = -4; h <= 4; h++) pick_float(&p, t, ldexp(1, k) + h / 4.0);
	for (size_t i = 0; is_float && i < sizeof narrows / sizeof *narrows; i++)
		for (unsigned c = 0; c <= narrows[i].top; c++) {
			double v = narrow_value(&narrows[i], c);
			pick_float(&p, t, v);
			pick_float(&p, t, (v + narrow_value(&narrows[i], c + 1)) / 2);
		}
	for (int e = -1074; t == DT_F64 && e < 1024; e++) {
		pick_float(&p, t, ldexp(1, e));
		for (int c = 0; c < 8; c++) pick_float(&p, t, ldexp((double)((1 << 23) + c * 1048573) + 0.5, e < 900 ? e : 900));
	}
	uint64_t z = 88172645463325252u;
	for (long i = 0; i < random; i++) {
		z ^= z << 13, z ^= z >> 7, z ^= z << 17;
		pick_bits(&p, t, i & 1 ? z : z >> (i / 2 % 64));
	}
	return p;
}

#endif
