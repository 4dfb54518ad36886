/* prims_narrow.c — the primitives of pxlrt.h on integers of 8, 16 and 32 bits, each in its own type: a vector holds as many
 * elements as there is room for, where the wide type i64 has eight at most.
 *
 * The formulas are those of i64 with the type itself in its place, and arithmetic in `unsigned`, which wraps: the same value
 * once it is wrapped to the type. */
#include "runtime/kernels/vec/vec.h"

#define OWN_LOOP1(S, T, name, expr) LOOP1(S, T, name, expr)
#define OWN_LOOP2(S, T, name, expr) LOOP2(S, T, name, expr)
#define OWN_LOOP3(S, T, name, expr) LOOP3(S, T, name, expr)
#define ALL1(name, f, i, u, slope) OWN_LOOP1(OWN, i64, name, i)
#define ALL2(name, f, i, u, slope) OWN_LOOP2(OWN, i64, name, i)
#define ALL3(name, f, i, u, slope) OWN_LOOP3(OWN, i64, name, i)
#define INT1(name, i, u, slope) OWN_LOOP1(OWN, i64, name, i)
#define INT2(name, i, u, slope) OWN_LOOP2(OWN, i64, name, i)
#define SLOT(n, ...) .n = JOIN(OWN, n),
#define LOOPS PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) PXLRT_VEC1_INT(INT1) PXLRT_VEC2_INT(INT2) \
	static void JOIN(OWN, fill)(i64 *y, i64 x, long n) { EACH(n) y[i] = x; }
#define SLOTS { PXLRT_VEC1_ALL(SLOT) PXLRT_VEC2_ALL(SLOT) PXLRT_VEC3_ALL(SLOT) PXLRT_VEC1_INT(SLOT) PXLRT_VEC2_INT(SLOT) SLOT(fill) }
#define u64 unsigned

#define OWN i8
#define i64 signed char
LOOPS
const struct pxlrt_i8 VEC(prims_i8) = SLOTS;
#undef OWN
#undef i64

#define OWN i16
#define i64 short
LOOPS
const struct pxlrt_i16 VEC(prims_i16) = SLOTS;
#undef OWN
#undef i64

#define OWN i32
#define i64 int
LOOPS
const struct pxlrt_i32 VEC(prims_i32) = SLOTS;
#undef OWN
#undef i64

#pragma GCC diagnostic ignored "-Wtype-limits"          /* "x < 0" of what has no sign */
#define OWN u8
#define i64 unsigned char
LOOPS
const struct pxlrt_u8 VEC(prims_u8) = SLOTS;
#undef OWN
#undef i64

#define OWN u16
#define i64 unsigned short
LOOPS
const struct pxlrt_u16 VEC(prims_u16) = SLOTS;
#undef OWN
#undef i64

#define OWN u32
#define i64 unsigned
LOOPS
const struct pxlrt_u32 VEC(prims_u32) = SLOTS;
#undef OWN
#undef i64
