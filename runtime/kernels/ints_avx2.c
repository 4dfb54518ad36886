/* ints_avx2.c — small integers for x86 with AVX2, FMA and F16C. */
#include "runtime/kernels/kernels.h"
#if defined __x86_64__
#pragma GCC target("avx2,fma,f16c,bmi2")
#define VEC_SET avx2
#include "runtime/kernels/vec_ints.h"
#endif
