/* kernels_ints.c — integers of 32 bits and less in types of their own: each primitive gives what i64 and a wrap give, for every pair of
 * 8-bit operands, and for ends of ranges, neighbours of powers and random ones of the wider types; on every instruction set. */
#include "tests/runtime/kernels.h"

enum { N = 1 << 16 };
static i64 wa[N], wb[N], wc[N], wy[N];
static unsigned char z[N * 4];

/* operand i of a pair by the bits of i for 8-bit types, else a mix */
static uint32_t pick(int bytes, unsigned long i, int which)
{
	static const uint32_t ends[] = { 0, 1, 2, 3, 7, 0x7f, 0x80, 0xff, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xffff, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff };
	enum { ENDS = sizeof ends / sizeof *ends };
	if (bytes == 1) return (uint32_t)(which == 1 ? i >> 8 : which ? i * 37 + 5 : i);
	if (i < ENDS * ENDS) return ends[(which == 1 ? i / ENDS : i) % ENDS];
	uint32_t r = (uint32_t)(int64_t)(noise(3 * i + (unsigned long)which) * 0x1p40);
	return i % 3 ? r : r >> (i / 3 % 32);
}

#define SAME(n) do { \
	rt->st[d](z, 1, wy, N); \
	int same = !memcmp(z, y, sizeof y); \
	if (!same) printf("%s.%s\n", dtype_info[d].name, n); \
	CHECK("", same); } while (0)
#define ONE(n, ...) rt->i64->n(wy, wa, N), own->n(y, a, N); SAME(#n);
#define TWO(n, ...) rt->i64->n(wy, wa, wb, N), own->n(y, a, b, N); SAME(#n);
#define THREE(n, ...) rt->i64->n(wy, wa, wb, wc, N), own->n(y, a, b, c, N); SAME(#n);

#define OWN_TYPE(S, T, D) \
static void check_##S(const struct pxlrt *rt) \
{ \
	static T a[N], b[N], c[N], y[N]; \
	const struct pxlrt_##S *own = rt->S; \
	const int d = D; \
	for (unsigned long i = 0; i < N; i++) a[i] = (T)pick(sizeof(T), i, 0), b[i] = (T)pick(sizeof(T), i, 1), c[i] = (T)pick(sizeof(T), i, 2); \
	rt->ld[d](wa, a, 1, N), rt->ld[d](wb, b, 1, N), rt->ld[d](wc, c, 1, N); \
	PXLRT_VEC1_ALL(ONE) PXLRT_VEC2_ALL(TWO) PXLRT_VEC3_ALL(THREE) PXLRT_VEC1_INT(ONE) PXLRT_VEC2_INT(TWO) \
	own->fill(y, (T)-3, N); \
	CHECK("", y[0] == (T)-3 && y[N - 1] == (T)-3); \
}
OWN_TYPE(i8, signed char, DT_I8)
OWN_TYPE(i16, short, DT_I16)
OWN_TYPE(i32, int, DT_I32)
OWN_TYPE(u8, unsigned char, DT_U8)
OWN_TYPE(u16, unsigned short, DT_U16)
OWN_TYPE(u32, unsigned, DT_U32)

/* own blocks hold what memory holds, whatever the stride; a byte that is not 0 is true */
static void blocks(const struct pxlrt *rt, DType t)
{
	size_t size = dtype_size(t);
	unsigned char mem[3 * 70 * 4], block[70 * 4], back[3 * 70 * 4];
	int ok = 1;
	for (size_t i = 0; i < sizeof mem; i++) mem[i] = (unsigned char)(i * 89 % 7 * (i % 3));
	for (long stride = 0; stride <= 3; stride++) {
		rt->get[t](block, mem, stride, 67);
		for (size_t i = 0; i < 67; i++) {
			const unsigned char *x = mem + i * (size_t)stride * size;
			ok &= t == DT_BOOL ? block[i] == (*x != 0) : !memcmp(block + i * size, x, size);
		}
		memset(back, 0, sizeof back);
		if (stride) rt->put[t](back, stride, block, 67);
		for (size_t i = 0; stride && i < 67; i++) ok &= !memcmp(back + i * (size_t)stride * size, block + i * size, size);
		for (size_t i = 67 * (size_t)stride * size; stride && i < sizeof back; i++) ok &= !back[i];
	}
	CHECK("", ok);
}

int main(void)
{
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int t = 0; t < nrt; t++) {
		check_i8(rts[t]);
		check_i16(rts[t]);
		check_i32(rts[t]);
		check_u8(rts[t]);
		check_u16(rts[t]);
		check_u32(rts[t]);
		for (int d = DT_BOOL; d <= DT_U32; d++)
			if (d != DT_I64) blocks(rts[t], (DType)d);
	}
	return check_done();
}
