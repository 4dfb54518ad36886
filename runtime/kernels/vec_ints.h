/* vec_ints.h — integers of 8, 16 and 32 bits, each in its own type: as many elements to a vector as there are, where the wide class i64 has
 * eight at most.  Included by ints_*.c, once for each instruction set.
 *
 * The formulas are those of the table's i64, with the type itself in its place: what wraps in the end is the same value. */
#include "runtime/kernels/loops.h"

/* --- blocks: every stride-th element, stride 0 repeats one ------------------------------------------------------------ */
#define MOVES(name, T, get) \
	void INTS(get_##name)(void *block, const void *src, long stride, long n) \
	{ \
		T *y = block; \
		const T *x = src; \
		if (stride == 1) { \
			EACH(n) { T v = x[i]; y[i] = (T)(get); } \
		} else { \
			for (long i = 0; i < n; i++) { T v = x[i * stride]; y[i] = (T)(get); } \
		} \
	} \
	void INTS(put_##name)(void *dst, long stride, const void *block, long n) STRIDED_STORE(T, T, get)
MOVES(1, unsigned char, v)
MOVES(2, unsigned short, v)
MOVES(4, unsigned, v)
MOVES(bool, unsigned char, v != 0)

/* --- casts: 8 and 16 bits are whole numbers of f32 --------------------------------------------------------------------- */
#define CVT_FROM(FROM, F, ODD) CVT_INT_TO_INT(FROM, F) CVT_TO_FLOAT(FROM, F, ODD)
CVT_FROM(I8, signed char, (float)v)
CVT_FROM(I16, short, (float)v)
CVT_FROM(I32, int, f32_odd((double)v))
CVT_FROM(U8, unsigned char, (float)v)
CVT_FROM(U16, unsigned short, (float)v)
CVT_FROM(U32, unsigned, f32_odd((double)v))
CvtRow INTS(cvt)[6] = { CVT_ROW(I8), CVT_ROW(I16), CVT_ROW(I32), CVT_ROW(U8), CVT_ROW(U16), CVT_ROW(U32) };

/* --- primitives: arithmetic in `unsigned`, which wraps ---------------------------------------------------------------- */
#define OWN_LOOP1(S, T, name, expr) LOOP1(S, T, name, expr)
#define OWN_LOOP2(S, T, name, expr) LOOP2(S, T, name, expr)
#define OWN_LOOP3(S, T, name, expr) LOOP3(S, T, name, expr)
#define ALL1(name, f, i, u, slope) OWN_LOOP1(OWN, i64, name, i)
#define ALL2(name, f, i, u, slope) OWN_LOOP2(OWN, i64, name, i)
#define ALL3(name, f, i, u, slope) OWN_LOOP3(OWN, i64, name, i)
#define SLOT(n, ...) .n = JOIN(OWN, _##n),
#define LOOPS PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) static void JOIN(OWN, _fill)(i64 *y, i64 x, long n) { EACH(n) y[i] = x; }
#define SLOTS { PXLRT_VEC1_ALL(SLOT) PXLRT_VEC2_ALL(SLOT) PXLRT_VEC3_ALL(SLOT) SLOT(fill) }
#define u64 unsigned

#define OWN i8
#define i64 signed char
LOOPS
const struct pxlrt_i8 INTS(i8) = SLOTS;
#undef OWN
#undef i64

#define OWN i16
#define i64 short
LOOPS
const struct pxlrt_i16 INTS(i16) = SLOTS;
#undef OWN
#undef i64

#define OWN i32
#define i64 int
LOOPS
const struct pxlrt_i32 INTS(i32) = SLOTS;
#undef OWN
#undef i64

#pragma GCC diagnostic ignored "-Wtype-limits"          /* "x < 0" of what has no sign */
#define OWN u8
#define i64 unsigned char
LOOPS
const struct pxlrt_u8 INTS(u8) = SLOTS;
#undef OWN
#undef i64

#define OWN u16
#define i64 unsigned short
LOOPS
const struct pxlrt_u16 INTS(u16) = SLOTS;
#undef OWN
#undef i64

#define OWN u32
#define i64 unsigned
LOOPS
const struct pxlrt_u32 INTS(u32) = SLOTS;
#undef OWN
#undef i64
