/* vector_f32.h — vectors of f32 (vector.h). */
#define GT float
#define GS f32
#define GI int32_t
#if VEC_BYTES == 64
#define GLANES LANES_16
#define GFMA(a, b, c) ((VT)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif VEC_BYTES == 32
#define GLANES LANES_8
#define GFMA(a, b, c) ((VT)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define GLANES LANES_4
#define GFMA(a, b, c) ((a) * (b) + (c))
#endif
#define GPART(mask, p) ((VT)_mm512_maskz_loadu_ps((__mmask16)(mask), p))
#include "runtime/kernels/vec/vector.h"
