/* exp512.h — e^x of a vector for AVX-512.
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
