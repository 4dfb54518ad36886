/* rows.c — what softmax and its logarithm do with a row. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/lanes.h"

FOLD(f32, float, sum, 0, p + q)
FOLD(f64, double, sum, 0, p + q)

/* whole rows: block sums are added up in double */
#define EXP_SUM(S, T) \
	static double exp_sum_##S(T *y, const T *x, T m, long n) \
	{ \
		double sum = 0; \
		for (long at = 0; at < n; at += BLOCK_MAX) { \
			long k = min_l(BLOCK_MAX, n - at); \
			EACH(k) y[at + i] = exp_##S(x[at + i] - m); \
			sum += S##_fold_sum(y + at, k); \
		} \
		return sum; \
	}
EXP_SUM(f32, float)
EXP_SUM(f64, double)

#define SHIFT_SCALE_BACK(S, T) \
	static void shift_##S(T *y, const T *x, T m, T l, long n) { EACH(n) y[i] = x[i] - m - l; } \
	static void scale_##S(T *y, const T *x, T s, long n) { EACH(n) y[i] = x[i] * s; } \
	static void back_##S(T *dx, const T *y, const T *g, T dot, long n) { EACH(n) dx[i] = y[i] * (g[i] - dot); }
SHIFT_SCALE_BACK(f32, float)
SHIFT_SCALE_BACK(f64, double)

#if VEC_BYTES == 64
#include "runtime/kernels/vec/exp512.h"

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
#define exp_sum_f32 exp_sum_512
#endif

const RowIsa VEC(row) = { exp_sum_f32, exp_sum_f64, shift_f32, shift_f64, scale_f32, scale_f64, back_f32, back_f64 };
