/* vec512.h — loops around the exponential by hand, for AVX-512.  Included by vec.h behind the loops that these stand in for.
 *
 * The exponential's last step, times 2^n, is one instruction here: it rounds once, as the two factors of vmath.h do, and minima and
 * maxima take one where a compiler that must keep NaNs takes two.  Every operation else is the same in the same order, so the
 * bits are those of the plain loops: tests compare all instruction sets. */

static inline __m512 exp_16(__m512 x)
{
	const __m512 round = _mm512_set1_ps(ROUND_F32);
	x = _mm512_max_ps(_mm512_set1_ps(-104.0f), x);                                 /* the second one where either is a NaN */
	__m512 n = _mm512_sub_ps(_mm512_fmadd_ps(x, _mm512_set1_ps(1.44269504f), round), round);
	n = _mm512_min_ps(_mm512_set1_ps(129.0f), n);
	__m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4f), _mm512_fmadd_ps(n, _mm512_set1_ps(-0.693359375f), x));
	__m512 p = _mm512_fmadd_ps(_mm512_set1_ps(0.008312435768f), r, _mm512_set1_ps(0.0418914362f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.1666711942f));
	p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.4999922277f));
	p = _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r), _mm512_set1_ps(1.0f));
	return _mm512_scalef_ps(p, n);
}

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

/* lanes j and j + 64 i, as in FOLD */
typedef struct Lanes { __m512 at[4]; } Lanes;

static inline Lanes lanes_of(float x)
{
	__m512 v = _mm512_set1_ps(x);
	return (Lanes){ { v, v, v, v } };
}

static inline float lane_sum(Lanes l)
{
	float lane[16];
	_mm512_storeu_ps(lane, _mm512_add_ps(_mm512_add_ps(l.at[0], l.at[2]), _mm512_add_ps(l.at[1], l.at[3])));
	for (int w = 8; w; w /= 2)
		for (int j = 0; j < w; j++) lane[j] += lane[j + w];
	return lane[0];
}

static inline __mmask16 first_of(long n) { return (__mmask16)(n < 16 ? (1 << n) - 1 : 0xffff); }

static double exp_sum_512(float *y, const float *x, float m, long n)
{
	const __m512 less = _mm512_set1_ps(m);
	double sum = 0;
	if (n < 16) return exp_sum_f32(y, x, m, n);
	for (long at = 0; at < n; at += BLOCK_MAX) {
		long end = at + min_l(BLOCK_MAX, n - at), i = at;
		Lanes l = lanes_of(0);
		for (; i + LANES <= end; i += LANES)
			for (int v = 0; v < 4; v++) {
				__m512 e = exp_16(_mm512_sub_ps(_mm512_loadu_ps(x + i + 16 * v), less));
				_mm512_storeu_ps(y + i + 16 * v, e);
				l.at[v] = _mm512_add_ps(l.at[v], e);
			}
		for (int v = 0; i < end; v++, i += 16) {
			__mmask16 k = first_of(end - i);
			__m512 e = exp_16(_mm512_sub_ps(_mm512_maskz_loadu_ps(k, x + i), less));
			_mm512_mask_storeu_ps(y + i, k, e);
			l.at[v] = _mm512_mask_add_ps(l.at[v], k, l.at[v], e);
		}
		sum += (double)lane_sum(l);
	}
	return sum;
}

#define f32_exp exp_512
#define f32_gelu gelu_512
#define f32_geluerf geluerf_512
#define EXP_SUM_F32 exp_sum_512
