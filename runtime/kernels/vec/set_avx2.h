/* set_avx2.h — x86 with AVX2, FMA and F16C. */
#pragma GCC target("avx2,fma,f16c,bmi2")
#define VEC_SET avx2
#define BF16_SET avx2
#define VEC_LABEL "avx2"
#define VEC_BYTES 32
