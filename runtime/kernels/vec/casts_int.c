/* casts_int.c — casts from 64-bit integers to every dtype. */
#include "runtime/kernels/vec/vec.h"

CVT_INT_TO_INT(I64, i64)
CVT_INT_TO_INT(U64, u64)
CVT_TO_FLOAT(I64, i64, f32_odd(i64_odd(v)))
CVT_TO_FLOAT(U64, u64, f32_odd(u64_odd(v)))

const pxlrt_cast VEC(cvt_i64)[PXLRT_NDTYPE] = CVT_ROW(I64);
const pxlrt_cast VEC(cvt_u64)[PXLRT_NDTYPE] = CVT_ROW(U64);
