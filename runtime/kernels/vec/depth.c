/* depth.c — windows over one channel each.
 *
 * The plane is staged once: its rows between zeros and, where windows are more than a column apart, parted by the residue of the column,
 * so that each tap reads whole vectors.  Sums run over the taps in order and go straight to the result. */

#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/vector_f32.h"

enum { DEPTH_LANES = VEC_BYTES / 4 };
#if VEC_BYTES == 64
#define DEPTH_FMA(a, b, c) ((gvec_f32)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif VEC_BYTES == 32
#define DEPTH_FMA(a, b, c) ((gvec_f32)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define DEPTH_FMA(a, b, c) ((a) * (b) + (c))
#endif
#define DEPTH_VEC(p) (*(gvec_unaligned_f32 *)(p))
#define DEPTH_CONST_VEC(p) (*(const gvec_unaligned_f32 *)(p))

/* to[i] = from[i · step], the last vector over what is there already */
static void depth_copy(float *to, const float *from, long step, long n)
{
	if (step > 1) {
		VEC(ld)[DT_F32](to, from, step, n);
		return;
	}
	if (n < DEPTH_LANES) {
		for (long i = 0; i < n; i++) to[i] = from[i];
		return;
	}
	for (long i = 0; i + DEPTH_LANES < n; i += DEPTH_LANES) DEPTH_VEC(to + i) = DEPTH_CONST_VEC(from + i);
	DEPTH_VEC(to + n - DEPTH_LANES) = DEPTH_CONST_VEC(from + n - DEPTH_LANES);
}

static void depth_stage(const DepthPlane *d, const float *x, float *room)
{
	long step = d->step[1];
	for (long row = 0; row < d->x[0]; row++, x += d->x[1])
		for (long kind = 0; kind < step; kind++, room += d->part) {
			long at = kind + d->off[1], lo = at < 0 ? (-at + step - 1) / step : 0, hi = at < d->x[1] ? (d->x[1] - at + step - 1) / step : 0;
			lo = min_l(lo, d->part), hi = max_l(lo, min_l(hi, d->part));
			for (long p = 0; p < lo; p++) room[p] = 0;
			if (hi > lo) depth_copy(room + lo, x + at + lo * step, step, hi - lo);
			for (long p = hi; p < d->part; p += DEPTH_LANES) DEPTH_VEC(room + p) = (gvec_f32){ 0 };
		}
}

/* R rows of results, two vectors of each, y rows apart: what is read once goes into all of them */
static inline __attribute__((always_inline)) void depth_sums(const DepthPlane *d, const float *rows, const float *w, long first, const int R, gvec_f32 acc[][2])
{
	long pitch = d->gap * d->step[1] * d->part, most = (R - 1) * d->step[0] + d->k[0];
	long t0 = first < 0 ? (-first + d->gap - 1) / d->gap : 0, t1 = first >= d->x[0] ? 0 : min_l(most, (d->x[0] - first + d->gap - 1) / d->gap);
	for (int q = 0; q < R; q++) acc[q][0] = acc[q][1] = (gvec_f32){ 0 };
	for (long t = t0; t < t1; t++)
		for (long b = 0; b < d->k[1]; b++) {
			const float *x = rows + t * pitch + d->tap[b];
			gvec_f32 x0 = DEPTH_CONST_VEC(x), x1 = DEPTH_CONST_VEC(x + DEPTH_LANES);
			for (int q = 0; q < R; q++) {
				long a = t - q * d->step[0];
				if (a < 0 || a >= d->k[0]) continue;
				gvec_f32 one = (gvec_f32){ 0 } + w[a * d->k[1] + b];
				acc[q][0] = DEPTH_FMA(one, x0, acc[q][0]);
				acc[q][1] = DEPTH_FMA(one, x1, acc[q][1]);
			}
		}
}

/* rows [i, i + R); what a narrow row's vectors write behind it, the next row writes anew */
static inline __attribute__((always_inline)) void depth_rows(const DepthPlane *d, const float *room, const float *w, float *y, long i, const int R)
{
	enum { COLUMNS = 2 * DEPTH_LANES };
	long all = d->y[0] * d->y[1], first = i * d->step[0] + d->off[0];
	const float *rows = room + first * d->step[1] * d->part;
	for (long next = 0; next < d->y[1]; next += COLUMNS) {
		gvec_f32 acc[4][2];
		long j = max_l(0, min_l(next, d->y[1] - COLUMNS));       /* the last ones once more rather than part of a vector */
		depth_sums(d, rows + j, w, first, R, acc);
		for (int q = 0; q < R; q++) {
			long at = (i + q) * d->y[1] + j;
			if (at + COLUMNS <= all) memcpy(y + at, acc[q], sizeof acc[q]);
			else memcpy(y + at, acc[q], (size_t)(all - at) * sizeof *y);
		}
	}
}

static void depth_plane(const DepthPlane *d, const float *room, const float *w, float *y)
{
	long i = 0;
	for (; d->gap == 1 && i + 4 <= d->y[0]; i += 4) depth_rows(d, room, w, y, i, 4);
	for (; i < d->y[0]; i++) depth_rows(d, room, w, y, i, 1);
}

const DepthIsa VEC(depth) = { depth_stage, depth_plane };
