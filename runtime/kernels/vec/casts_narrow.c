/* casts_narrow.c — casts from integers of 8, 16 and 32 bits to every dtype.  8 and 16 bits are exact in f32. */
#include "runtime/kernels/vec/vec.h"

#define CVT_FROM(FROM, F, ODD) CVT_INT_TO_INT(FROM, F) CVT_TO_FLOAT(FROM, F, ODD)
CVT_FROM(I8, signed char, (float)v)
CVT_FROM(I16, short, (float)v)
CVT_FROM(I32, int, f32_odd((double)v))
CVT_FROM(U8, unsigned char, (float)v)
CVT_FROM(U16, unsigned short, (float)v)
CVT_FROM(U32, unsigned, f32_odd((double)v))
const pxlrt_cast VEC(cvt_i8)[PXLRT_NDTYPE] = CVT_ROW(I8);
const pxlrt_cast VEC(cvt_i16)[PXLRT_NDTYPE] = CVT_ROW(I16);
const pxlrt_cast VEC(cvt_i32)[PXLRT_NDTYPE] = CVT_ROW(I32);
const pxlrt_cast VEC(cvt_u8)[PXLRT_NDTYPE] = CVT_ROW(U8);
const pxlrt_cast VEC(cvt_u16)[PXLRT_NDTYPE] = CVT_ROW(U16);
const pxlrt_cast VEC(cvt_u32)[PXLRT_NDTYPE] = CVT_ROW(U32);
