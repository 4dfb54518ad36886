/* vector_f64.h — vectors of f64 (vector.h). */
#define GT double
#define GS f64
#define GI int64_t
#if VEC_BYTES == 64
#define GLANES LANES_8
#define GFMA(a, b, c) ((VT)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#elif VEC_BYTES == 32
#define GLANES LANES_4
#define GFMA(a, b, c) ((VT)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define GLANES LANES_2
#define GFMA(a, b, c) ((a) * (b) + (c))
#endif
#define GPART(mask, p) ((VT)_mm512_maskz_loadu_pd((__mmask8)(mask), p))
#include "runtime/kernels/vec/vector.h"
