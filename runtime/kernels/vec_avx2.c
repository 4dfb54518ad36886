/* vec_avx2.c — the primitives for x86 with AVX2, FMA and F16C. */
#include "runtime/kernels/kernels.h"
#if defined __x86_64__
#pragma GCC target("avx2,fma,f16c,bmi2")
#define VEC_SET avx2
#define VEC_NAME table_avx2
#define VEC_LABEL "avx2"
#define VEC_BYTES 32
#include "runtime/kernels/vec.h"
#endif
