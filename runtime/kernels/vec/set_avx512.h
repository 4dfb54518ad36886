/* set_avx512.h — x86 with AVX-512 F, BW, DQ and VL. */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2,prefer-vector-width=512")
#define VEC_SET avx512
#define BF16_SET avx512
#define VEC_LABEL "avx512"
#define VEC_BYTES 64
