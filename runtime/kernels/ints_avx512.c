/* ints_avx512.c — small integers for x86 with AVX-512 F, BW, DQ and VL. */
#include "runtime/kernels/kernels.h"
#if defined __x86_64__
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2,prefer-vector-width=512")
#define VEC_SET avx512
#include "runtime/kernels/vec_ints.h"
#endif
