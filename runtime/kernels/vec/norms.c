/* norms.c — norms of groups, h = (x - mean) inv; sums run over 64 lanes. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/lanes.h"
#include "runtime/kernels/vec/stream.h"

/* y[i] = value, and the same past the caches, to whole lines */
#define NEAR_AND_FAR(S, T, name, args, y, value) \
	static void name##_##S args { EACH(n) y[i] = (value); } \
	static void name##_far_##S args \
	{ \
		enum { W = VEC_BYTES / sizeof(T) }; \
		for (long at = 0; at < n; at += W) { \
			T v[W]; \
			for (long i = at; i < at + W; i++) v[i - at] = (value); \
			STREAM(y + at, v); \
		} \
	}

#define GROUP_NORMS(S, T) \
	static inline T add_lanes_##S(T *lane) \
	{ \
		TREE({ lane[j] += lane[j + w]; }) \
		return lane[0]; \
	} \
	static double spread_##S(const T *x, T mean, long n) \
	{ \
		T lane[LANES] = { 0 }; \
		LANES_DO(n, { T d = x[i + j] - mean; lane[j] += d * d; }) \
		return (double)add_lanes_##S(lane); \
	} \
	NEAR_AND_FAR(S, T, normed, (T *y, const T *x, const T *w, const T *b, T mean, T inv, long n), y, (x[i] - mean) * inv * w[i] + b[i]) \
	static void norm_dots_##S(double *out, const T *x, const T *g, T mean, T inv, long n) \
	{ \
		T one[LANES] = { 0 }, two[LANES] = { 0 }; \
		LANES_DO(n, { T h = (x[i + j] - mean) * inv, q = g[i + j]; one[j] += q; two[j] += q * h; }) \
		out[0] = (double)add_lanes_##S(one), out[1] = (double)add_lanes_##S(two); \
	} \
	static void norm_sums_##S(double *out, T *restrict dw, T *restrict db, const T *restrict x, const T *restrict g, const T *restrict w, T mean, T inv, long n) \
	{ \
		T one[LANES] = { 0 }, two[LANES] = { 0 }; \
		LANES_DO(n, { \
			T h = (x[i + j] - mean) * inv, q = g[i + j], p = q * w[i + j]; \
			dw[i + j] += q * h; \
			db[i + j] += q; \
			one[j] += p; \
			two[j] += p * h; \
		}) \
		out[0] = (double)add_lanes_##S(one), out[1] = (double)add_lanes_##S(two); \
	} \
	NEAR_AND_FAR(S, T, norm_back, (T *dx, const T *x, const T *g, const T *w, T mean, T inv, T mp, T mph, long n), dx, \
		inv * (g[i] * w[i] - mp - (x[i] - mean) * inv * mph))
GROUP_NORMS(f32, float)
GROUP_NORMS(f64, double)

const GroupIsa_f32 VEC(group_f32) = {
	spread_f32, { normed_f32, normed_far_f32 }, norm_dots_f32, norm_sums_f32, { norm_back_f32, norm_back_far_f32 },
};
const GroupIsa_f64 VEC(group_f64) = {
	spread_f64, { normed_f64, normed_far_f64 }, norm_dots_f64, norm_sums_f64, { norm_back_f64, norm_back_far_f64 },
};
