/* vec_avx512.c — the primitives for x86 with AVX-512 F, BW, DQ and VL; and the same with the products of processors that
 * multiply bf16. */
#include "runtime/kernels/kernels.h"
#if defined __x86_64__
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2,prefer-vector-width=512")
#define VEC_SET avx512
#define VEC_NAME table_avx512
#define VEC_LABEL "avx512"
#define VEC_BYTES 64
#include "runtime/kernels/vec.h"

#pragma GCC target("avx512bf16")
#define BF16_NATIVE
#include "runtime/kernels/gemm_bf16.h"
const KernelTable table_avx512_bf16 = TABLE("avx512, bf16", bf16_native_isa);
#endif
