/* set_avx512_bf16.h — the same with a dot product of bf16 pairs.  Only gemm_bf16.c and table.c are compiled for it; the table
 * takes everything else from avx512. */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2,avx512bf16,prefer-vector-width=512")
#define VEC_SET avx512
#define BF16_SET avx512_bf16
#define VEC_LABEL "avx512+bf16"
#define VEC_BYTES 64
#define BF16_NATIVE
