/* prims_f32.c — the primitives of pxlrt.h on blocks of float. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/float_loops.h"

#define ALL1(name, f, i, u, slope) LOOP1(f32, float, name, f)
#define ALL2(name, f, i, u, slope) LOOP2(f32, float, name, f)
#define ALL3(name, f, i, u, slope) LOOP3(f32, float, name, f)
#define FLOAT1(name, f, slope) LOOP1(f32, float, name, f)
#define FLOAT2(name, f, slope) LOOP2(f32, float, name, f)
#define FLOAT3(name, f, slope) LOOP3(f32, float, name, f)
#define OF(name) name##_f32
#define LIBM(name) name##f
PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) PXLRT_VEC1_FLOAT(FLOAT1) PXLRT_VEC2_FLOAT(FLOAT2) PXLRT_VEC3_FLOAT(FLOAT3)
FILL(f32, float)
SINCOS(f32, float, sin, 0)
SINCOS(f32, float, cos, 1)
MODS(f32, float)
#define f32_mod f32_mod_block

#if VEC_BYTES == 64
#include "runtime/kernels/vec/exp512.h"

static inline __m512 gelu_16(__m512 x)
{
	__m512 u = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_set1_ps((float)GELU_2CA), x), x, _mm512_set1_ps((float)GELU_2C));
	__m512 e = exp_16(_mm512_mul_ps(_mm512_xor_ps(x, _mm512_set1_ps(-0.0f)), u));
	return _mm512_div_ps(x, _mm512_add_ps(_mm512_set1_ps(1.0f), e));
}

static inline __m512 geluerf_16(__m512 x)
{
	const __m512 one = _mm512_set1_ps(1.0f);
	__m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(_mm512_set1_ps(0.35f), _mm512_abs_ps(x), one)), q = _mm512_setzero_ps();
#define STEP(c) q = _mm512_fmadd_ps(q, t, _mm512_set1_ps(c));
	PHI_Q(STEP)
#undef STEP
	__m512 h = _mm512_mul_ps(_mm512_mul_ps(exp_16(_mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(-0.5f), x), x)), t), q);
	return _mm512_mul_ps(x, _mm512_mask_sub_ps(h, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLT_UQ), one, h));
}

#define LOOP_16(name) \
	static void name##_512(float *y, const float *a, long n) \
	{ \
		long i = 0; \
		for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, name##_16(_mm512_loadu_ps(a + i))); \
		if (i < n) f32_##name(y + i, a + i, n - i); \
	}
LOOP_16(exp)
LOOP_16(gelu)
LOOP_16(geluerf)
#define f32_exp exp_512
#define f32_gelu gelu_512
#define f32_geluerf geluerf_512
#endif

#define SLOT(n, ...) .n = f32_##n,
const struct pxlrt_f32 VEC(prims_f32) = {
	PXLRT_VEC1_ALL(SLOT) PXLRT_VEC2_ALL(SLOT) PXLRT_VEC3_ALL(SLOT) SLOT(fill, )
	PXLRT_VEC1_LOOP(SLOT) PXLRT_VEC1_FLOAT(SLOT) PXLRT_VEC2_FLOAT(SLOT) PXLRT_VEC3_FLOAT(SLOT)
};
