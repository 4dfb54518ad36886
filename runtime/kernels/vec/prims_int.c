/* prims_int.c — the primitives of pxlrt.h on blocks of 64-bit integers. */
#include "runtime/kernels/vec/vec.h"

#define ALL1(name, f, i, u, slope) LOOP1(i64, i64, name, i) LOOP1(u64, u64, name, u)
#define ALL2(name, f, i, u, slope) LOOP2(i64, i64, name, i) LOOP2(u64, u64, name, u)
#define ALL3(name, f, i, u, slope) LOOP3(i64, i64, name, i) LOOP3(u64, u64, name, u)
#define INT1(name, i, u, slope) LOOP1(i64, i64, name, i) LOOP1(u64, u64, name, u)
#define INT2(name, i, u, slope) LOOP2(i64, i64, name, i) LOOP2(u64, u64, name, u)
#define FILL(S) static void S##_fill(S *y, S x, long n) { for (long i = 0; i < n; i++) y[i] = x; }
PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) PXLRT_VEC1_INT(INT1) PXLRT_VEC2_INT(INT2)
FILL(i64) FILL(u64)

#define I64_SLOT(n, ...) .n = i64_##n,
#define U64_SLOT(n, ...) .n = u64_##n,
#define MEMBERS(SLOT) PXLRT_VEC1_ALL(SLOT) PXLRT_VEC2_ALL(SLOT) PXLRT_VEC3_ALL(SLOT) PXLRT_VEC1_INT(SLOT) PXLRT_VEC2_INT(SLOT) SLOT(fill, )
const struct pxlrt_i64 VEC(prims_i64) = { MEMBERS(I64_SLOT) };
const struct pxlrt_u64 VEC(prims_u64) = { MEMBERS(U64_SLOT) };
