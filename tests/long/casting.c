/* casting.c — every f32 to every integer type, bool and f64; every i32 and u32 to every float; and of 64-bit sources boundaries and
 * sixteen million random ones to everything.  Loops are typed, so that the expected values cost little more than the casts;
 * narrower floats are walked upwards, as in narrowing.h. */
#include "tests/runtime/casting.h"

enum { N = 4096 };
static uint32_t src[N];
static uint64_t dst[N];

static const void *chunk(DType from, DType to, uint64_t at)
{
	for (uint64_t i = 0; i < N; i++) src[i] = (uint32_t)(at + i);
	rt_convert(to, dst, from, src, N);
	return dst;
}

#define EVERY(NAME, TO, T, FROM, S, WANT) \
	static int NAME(void) \
	{ \
		uint64_t wrong = 0; \
		for (uint64_t at = 0; at < 1ull << 32 && !wrong; at += N) { \
			const T *y = chunk(DT_##FROM, DT_##TO, at); \
			for (int i = 0; i < N; i++) { \
				S x; \
				T want; \
				memcpy(&x, &src[i], 4); \
				want = WANT; \
				wrong += want != y[i] && !(want != want && y[i] != y[i]); \
			} \
		} \
		printf("every " #FROM " to " #TO "\n"); \
		return !wrong; \
	}
#define TO_INT(TO, T, MIN, MAX, LOW, ABOVE) EVERY(f32_##TO, TO, T, F32, float, x != x ? 0 : x <= (LOW) ? (MIN) : x >= (ABOVE) ? (MAX) : (T)x)

TO_INT(I8, int8_t, INT8_MIN, INT8_MAX, -0x1p7f, 0x1p7f)
TO_INT(I16, int16_t, INT16_MIN, INT16_MAX, -0x1p15f, 0x1p15f)
TO_INT(I32, int32_t, INT32_MIN, INT32_MAX, -0x1p31f, 0x1p31f)
TO_INT(I64, int64_t, INT64_MIN, INT64_MAX, -0x1p63f, 0x1p63f)
TO_INT(U8, uint8_t, 0, UINT8_MAX, 0, 0x1p8f)
TO_INT(U16, uint16_t, 0, UINT16_MAX, 0, 0x1p16f)
TO_INT(U32, uint32_t, 0, UINT32_MAX, 0, 0x1p32f)
TO_INT(U64, uint64_t, 0, UINT64_MAX, 0, 0x1p64f)
EVERY(f32_BOOL, BOOL, uint8_t, F32, float, x != 0)
EVERY(f32_F64, F64, double, F32, float, (double)x)
EVERY(i32_F32, F32, float, I32, int32_t, (float)x)
EVERY(i32_F64, F64, double, I32, int32_t, (double)x)
EVERY(u32_F32, F32, float, U32, uint32_t, (float)x)
EVERY(u32_F64, F64, double, U32, uint32_t, (double)x)

/* integers upwards from 0: the code goes up by one at each middle between neighbours */
static int ints_narrow(const Narrow *w, DType from)
{
	unsigned c = 0;
	double middle = narrow_value(w, 1) / 2;
	uint64_t end = from == DT_I32 ? 1ull << 31 : 1ull << 32;
	int ok = 1;
	for (uint64_t at = 0; at < end && ok; at += N) {
		const uint16_t *y = chunk(from, w->t, at);
		for (uint64_t i = 0; i < N; i++) {
			double x = (double)(at + i);
			while (c <= w->top && (x > middle || (x == middle && c & 1))) {
				c++;
				middle = (narrow_value(w, c) + narrow_value(w, c + 1)) / 2;
			}
			ok &= y[i] == c;
		}
	}
	printf("every %s to %s\n", dtype_info[from].name, dtype_info[w->t].name);
	return ok;
}

/* and those below 0 against the same ones above */
static int minus_narrow(const Narrow *w)
{
	static uint16_t plus[N];
	int ok = 1;
	for (uint64_t at = 1; at < 1ull << 31 && ok; at += N) {
		memcpy(plus, chunk(DT_I32, w->t, at), sizeof plus);
		for (int i = 0; i < N; i++) src[i] = 0 - src[i];
		rt_convert(w->t, dst, DT_I32, src, N);
		for (int i = 0; i < N && at + (uint64_t)i < 1ull << 31; i++) ok &= ((const uint16_t *)dst)[i] == (plus[i] | 0x8000);
	}
	return ok;
}

static void wide_sources(void)
{
	static const DType wides[] = { DT_I32, DT_U32, DT_I64, DT_U64, DT_F64 };
	for (size_t f = 0; f < sizeof wides / sizeof *wides; f++) {
		Picks p = picks_of(wides[f], 1 << 24);
		for (int to = 0; to < DT_COUNT; to++) CHECK("", casts_agree(rt_table(), (DType)to, wides[f], p.at, p.n));
		printf("%zu of %s to every type\n", p.n, dtype_info[wides[f]].name);
		free(p.at);
	}
}

int main(void)
{
	static int (*const every[])(void) = { f32_I8, f32_I16, f32_I32, f32_I64, f32_U8, f32_U16, f32_U32, f32_U64, f32_BOOL, f32_F64, i32_F32, i32_F64, u32_F32, u32_F64 };
	wide_sources();
	for (int i = 0; i < 2; i++) {
		CHECK("", ints_narrow(&narrows[i], DT_I32) && minus_narrow(&narrows[i]));
		CHECK("", ints_narrow(&narrows[i], DT_U32));
	}
	for (size_t i = 0; i < sizeof every / sizeof *every; i++) CHECK("", every[i]());
	return check_done();
}
