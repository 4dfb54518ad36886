/* scatter.c — elements moved to, added up at, or taken from computed positions along one axis; and windows at computed places.
 *
 * Only the coordinate along the axis is computed, so two elements can meet only within one line along it.  Lines are spread
 * over the pool and each is walked in order: sums and the last writer do not depend on the number of threads.  Neighbouring
 * lines with the same indices (whole rows, most often) are walked together. */
#include "runtime/kernels/kernels.h"

#include <inttypes.h>
#include <string.h>

enum { BAND = 256 };                     /* lines walked together, so that there are bands enough to spread */

/* run: neighbouring lines with the same indices, which are the axes from `rank` on */
typedef struct Scatter { const struct pxlrt_scatter *d; const char *small; const void *idx; char *big; int rank; long run, bands; } Scatter;
typedef struct Line { long small, big, idx, small_step, n; } Line;

static void find_run(Scatter *s)
{
	const struct pxlrt_scatter *d = s->d;
	s->run = s->bands = 1;
	for (s->rank = d->rank; s->rank - 1 > d->axis; s->rank--) {
		int k = s->rank - 1;
		if (d->dim[k] != 1 && (d->step[k] || d->stride[k] != s->run)) break;
		s->run *= d->dim[k];
	}
	for (int k = 0; k < s->rank; k++)
		if (k != d->axis) s->bands *= d->dim[k];
	s->bands *= (s->run + BAND - 1) / BAND;
}

/* where band i begins on all three sides, and how many lines it has */
static Line line_at(const Scatter *s, long i)
{
	const struct pxlrt_scatter *d = s->d;
	long stride = s->run, per = (s->run + BAND - 1) / BAND, first = i % per * BAND;
	Line l = { first, first, 0, 1, min_l(BAND, s->run - first) };
	i /= per;
	for (int k = s->rank - 1; k >= 0; k--) {
		if (k == d->axis) {
			l.small_step = stride;
		} else {
			long pos = i % d->dim[k];
			i /= d->dim[k];
			l.small += pos * stride;
			l.big += pos * d->stride[k];
			l.idx += pos * d->step[k];
		}
		stride *= d->dim[k];
	}
	return l;
}

/* the extremes take NaN for larger than everything else */
#define LARGER(a, b)  ((a) > (b) || (a) != (a))
#define SMALLER(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

#define ALONG _Pragma("GCC ivdep") for (long j = 0; j < l.n; j++)

#define LINE(NAME, T, U) \
static long NAME(const Scatter *s, long number) \
{ \
	const struct pxlrt_scatter *d = s->d; \
	Line l = line_at(s, number); \
	T *small = (T *)(void *)(uintptr_t)s->small + l.small, *big = (T *)(void *)s->big + l.big; \
	for (long i = 0; i < d->dim[d->axis]; i++, small += l.small_step) { \
		i64 at = rt_get_int((DType)d->idx_dtype, s->idx, (size_t)(l.idx + i * d->step[d->axis])); \
		if (at < 0 || at >= d->limit) { \
			if (!d->lenient) return l.idx + i * d->step[d->axis]; \
			if (d->mode == PXLRT_SCATTER_READ) memset(small, 0, (size_t)l.n * sizeof(T)); \
			continue; \
		} \
		T *y = big + at * d->stride[d->axis]; \
		switch (d->mode) { \
		case PXLRT_SCATTER_READ: ALONG small[j] = y[j]; break; \
		case PXLRT_SCATTER_WRITE: ALONG y[j] = small[j]; break; \
		case PXLRT_SCATTER_SUM: ALONG y[j] = (T)((U)y[j] + (U)small[j]); break; \
		case PXLRT_SCATTER_MAX: ALONG y[j] = LARGER(small[j], y[j]) ? small[j] : y[j]; break; \
		default: ALONG y[j] = SMALLER(small[j], y[j]) ? small[j] : y[j]; \
		} \
	} \
	return -1; \
}
LINE(line_f32, float, float)
LINE(line_f64, double, double)
LINE(line_i8, int8_t, uint8_t)
LINE(line_i16, int16_t, uint16_t)
LINE(line_i32, int32_t, uint32_t)
LINE(line_i64, int64_t, uint64_t)
LINE(line_u8, uint8_t, uint8_t)
LINE(line_u16, uint16_t, uint16_t)
LINE(line_u32, uint32_t, uint32_t)
LINE(line_u64, uint64_t, uint64_t)

/* half floats are only moved; sums and extremes of them are made in f32 */
static long (*const line_of[DT_COUNT])(const Scatter *, long) = {
	[DT_BOOL] = line_u8, [DT_I8] = line_i8, [DT_I16] = line_i16, [DT_I32] = line_i32, [DT_I64] = line_i64, [DT_U8] = line_u8,
	[DT_U16] = line_u16, [DT_U32] = line_u32, [DT_U64] = line_u64, [DT_F8_143] = line_u8, [DT_F8_152] = line_u8,
	[DT_F16] = line_u16, [DT_BF16] = line_u16, [DT_F32] = line_f32, [DT_F64] = line_f64,
};

static int scatter_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Scatter *s = ctx;
	for (long i = lo; i < hi; i++) {
		long wrong = line_of[s->d->dtype](s, i);
		if (wrong >= 0)
			return lane_fault(ln, "index %lld is out of range for an axis of %ld",
				(i64)rt_get_int((DType)s->d->idx_dtype, s->idx, (size_t)wrong), s->d->limit);
	}
	return 0;
}

int k_scatter(struct pxlrt_lane *lane, const struct pxlrt_scatter *d, void *small, const void *idx, void *big)
{
	Scatter s = { .d = d, .small = small, .idx = idx, .big = big };
	if (!d->dim[d->axis]) return 0;
	find_run(&s);
	return span_run(rt_lane(lane), scatter_body, &s, s.bands, piece_of(s.bands, (double)d->dim[d->axis] * (4 + 0.2 * (double)min_l(s.run, BAND))));
}

/* --- windows ------------------------------------------------------------------------------------------------- */

int k_window_copy(struct pxlrt_lane *lane, const struct pxlrt_dynamic *d, const void *index, void *big, void *window)
{
	RtLane *ln = rt_lane(lane);
	const struct pxlrt *rt = table_of(ln);
	struct pxlrt_copy c = { .size = d->size, .rank = d->rank };
	long at = 0, stride = 1;
	for (int k = d->rank - 1; k >= 0; k--) {
		c.dim[k] = d->window[k];
		c.src[k] = d->stride[k];
		c.dst[k] = stride;
		stride *= d->window[k];
	}
	for (int i = 0; i < d->n; i++) {
		int k = d->axis[i];
		i64 from = rt_get_int((DType)d->idx_dtype, index, (size_t)i);
		if (from < 0 || from > d->limit[k] - d->window[k])
			return lane_fault(ln, "a window of %ld from %lld on does not lie in an axis of %ld", d->window[k], from, d->limit[k]);
		at += (long)from * d->stride[k];
	}
	char *place = (char *)big + at * d->size;
	if (!d->write) return rt->copy(lane, &c, place, window);
	struct pxlrt_copy back = c;
	memcpy(back.src, c.dst, sizeof c.dst);
	memcpy(back.dst, c.src, sizeof c.src);
	return rt->copy(lane, &back, window, place);
}
