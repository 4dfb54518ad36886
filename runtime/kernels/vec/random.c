/* random.c — random words and normals.  Words are Philox 4×32, ten rounds; word j of counter c + i goes to out[j · DRAW + i]. */
#include "runtime/kernels/vec/vec.h"

static void philox_words(uint32_t *out, const uint32_t *key, uint64_t c, uint32_t tag, long n)
{
	EACH(n) {
		uint32_t x0 = (uint32_t)(c + (uint64_t)i), x1 = (uint32_t)((c + (uint64_t)i) >> 32), x2 = tag, x3 = 0, k0 = key[0], k1 = key[1];
		for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
			uint64_t a = (uint64_t)0xD2511F53u * x0, b = (uint64_t)0xCD9E8D57u * x2;
			x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
			x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
			x1 = (uint32_t)b;
			x3 = (uint32_t)a;
		}
		out[i] = x0, out[DRAW + i] = x1, out[2 * DRAW + i] = x2, out[3 * DRAW + i] = x3;
	}
}

/* Box and Muller: √(-2 ln u) (cos, sin)(2πv), u in (0, 1]; v as an angle in [-⅛, ⅛) turns and a quadrant */
static void normal_pairs_f32(float *y, const uint32_t *w, float mean, float std, long n)
{
	EACH(n) {
		float r = __builtin_sqrtf(-2.0f * log_f32(((float)w[i] + 0.5f) * 0x1p-32f));
		uint32_t v = w[DRAW + i], q = (v + 0x20000000u) >> 30;
		float t = (float)(int32_t)(v - (q << 30)) * 1.462918079e-9f;      /* 2π / 2^32 */
		float s = sin_near_f32(t), c = cos_near_f32(t);
		float cx = q & 1 ? s : c, sx = q & 1 ? c : s;
		cx = f32_bits(bits_f32(cx) ^ ((q + 1) & 2) << 30);
		sx = f32_bits(bits_f32(sx) ^ (q & 2) << 30);
		y[i] = mean + std * (r * cx);
		y[DRAW + i] = mean + std * (r * sx);
	}
}

static void normals_f32(float *y, const uint32_t *w, float mean, float std, long n)
{
	normal_pairs_f32(y, w, mean, std, n);
	normal_pairs_f32(y + 2 * DRAW, w + 2 * DRAW, mean, std, n);
}

static inline double unit_f64(uint32_t hi, uint32_t lo) { return (double)(int64_t)(((uint64_t)hi << 32 | lo) >> 11) * 0x1p-53; }

static void normals_f64(double *y, const uint32_t *w, double mean, double std, long n)
{
	EACH(n) {
		double r = __builtin_sqrt(-2.0 * log_f64(1.0 - unit_f64(w[i], w[DRAW + i])));
		double a = unit_f64(w[2 * DRAW + i], w[3 * DRAW + i]) * 6.28318530717958647693;
		y[i] = mean + std * (r * sincos_f64(a, 1));
		y[DRAW + i] = mean + std * (r * sincos_f64(a, 0));
	}
}

const RandomIsa VEC(random) = { philox_words, normals_f32, normals_f64 };
