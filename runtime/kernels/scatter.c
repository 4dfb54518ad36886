/* scatter.c — elements moved to, added up at, or taken from computed positions along one axis; and windows at computed places.
 *
 * Only the coordinate along the axis is computed, so two elements can meet only within one line along it.  Neighbouring lines with the
 * same indices (whole rows, most often) are walked together, in bands.  Where bands are few, the positions are cut into parts as well:
 * who writes goes through all indices and takes those that fall into its part, who reads takes a part of the indices.  Elements that
 * meet are combined in the order of their indices, so sums and the last writer do not depend on the number of threads. */
#include "runtime/kernels/kernels.h"

#include <inttypes.h>
#include <string.h>

enum { CHUNK = 1024 };                   /* indices looked at together */
enum { PARTS = 8, FEW = 16 };            /* so many parts, at most, of fewer bands than that */

/* run: neighbouring lines, the axes from `rank` on, which all have the same indices or (own) one each beside the other */
typedef struct Scatter { const struct pxlrt *rt; const struct pxlrt_scatter *d; const char *small; const void *idx; char *big; int rank, own; long run, band, bands, parts; } Scatter;
/* along: how far apart the places of two neighbouring pairs would be if their indices were the same */
typedef struct Line { long small, big, idx, small_step, big_step, along, n; } Line;
/* n indices from number `first` on of those that begin at `line`; which: those taken, if not all are */
typedef struct Chunk { long line, first, n, taken; long to[CHUNK]; int which[CHUNK]; } Chunk;

static void find_run(Scatter *s)
{
	const struct pxlrt_scatter *d = s->d;
	s->run = s->bands = 1;
	for (s->rank = d->rank; s->rank - 1 > d->axis; s->rank--) {
		int k = s->rank - 1;
		int own = d->step[k] != 0;
		if (d->dim[k] != 1 && (d->stride[k] != s->run || (own && d->step[k] != s->run) || (s->run > 1 && own != s->own))) break;
		if (d->dim[k] != 1) s->own = own;
		s->run *= d->dim[k];
	}
	for (int k = 0; k < s->rank; k++)
		if (k != d->axis) s->bands *= d->dim[k];
	s->band = s->own ? min_l(CHUNK, max_l(32, s->run / PARTS)) : d->limit < FEW ? CHUNK : s->run;
	s->bands *= (s->run + s->band - 1) / s->band;
	s->parts = s->own || s->bands >= FEW ? 1 : max_l(1, min_l(PARTS, s->run / 16));
}

/* where band i begins on all three sides, and how many lines it has */
static Line line_at(const Scatter *s, long i)
{
	const struct pxlrt_scatter *d = s->d;
	long stride = s->run, per = (s->run + s->band - 1) / s->band, first = i % per * s->band;
	Line l = { first, first, s->own ? first : 0, 1, d->stride[d->axis], 0, min_l(s->band, s->run - first) };
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

/* --- pairs of elements that meet ------------------------------------------------------------------------------------ */

/* the extremes take NaN for larger than everything else */
#define LARGER(a, b)  ((a) > (b) || (a) != (a))
#define SMALLER(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

/* x and y: the rows of pair i, one element of them or l->n */
#define PAIRS(T, pair, count, ...) \
	for (long p = 0; p < c->taken; p++) { \
		long i = (pair); \
		T *restrict x = small + i * l->small_step, *restrict y = big + c->to[i] * l->big_step + i * l->along; \
		for (long j = 0; j < (count); j++) __VA_ARGS__ \
	}
#define COMBINE(T, ...) { \
	if (l->n == 1 && c->taken == c->n) PAIRS(T, p, 1, __VA_ARGS__) \
	else if (c->taken == c->n) PAIRS(T, p, l->n, __VA_ARGS__) \
	else PAIRS(T, c->which[p], l->n, __VA_ARGS__) \
	break; }

#define MEET(NAME, T, U) \
static void NAME(const Scatter *s, const Line *l, const Chunk *c) \
{ \
	T *small = (T *)(void *)(uintptr_t)s->small + l->small + c->first * l->small_step, *big = (T *)(void *)s->big + l->big; \
	switch (s->d->mode) { \
	case PXLRT_SCATTER_READ: COMBINE(T, x[j] = y[j];) \
	case PXLRT_SCATTER_WRITE: COMBINE(T, y[j] = x[j];) \
	case PXLRT_SCATTER_SUM: COMBINE(T, y[j] = (T)((U)y[j] + (U)x[j]);) \
	case PXLRT_SCATTER_MAX: COMBINE(T, y[j] = LARGER(x[j], y[j]) ? x[j] : y[j];) \
	default: COMBINE(T, y[j] = SMALLER(x[j], y[j]) ? x[j] : y[j];) \
	} \
}
MEET(meet_floats, float, float)
MEET(meet_f64, double, double)
MEET(meet_i8, int8_t, uint8_t)
MEET(meet_i16, int16_t, uint16_t)
MEET(meet_i32, int32_t, uint32_t)
MEET(meet_i64, int64_t, uint64_t)
MEET(meet_u8, uint8_t, uint8_t)
MEET(meet_u16, uint16_t, uint16_t)
MEET(meet_u32, uint32_t, uint32_t)
MEET(meet_u64, uint64_t, uint64_t)

/* rows that vectors pay for */
static void meet_f32(const Scatter *s, const Line *l, const Chunk *c)
{
	float *small = (float *)(void *)(uintptr_t)s->small + l->small + c->first * l->small_step, *big = (float *)(void *)s->big + l->big;
	void (*op)(float *, const float *, const float *, long) = s->d->mode == PXLRT_SCATTER_SUM ? s->rt->f32->add : s->rt->f32->max;
	if (l->n < 16 || (s->d->mode != PXLRT_SCATTER_SUM && s->d->mode != PXLRT_SCATTER_MAX)) {
		meet_floats(s, l, c);
		return;
	}
	for (long p = 0; p < c->taken; p++) {
		long i = c->taken < c->n ? c->which[p] : p;
		float *y = big + c->to[i] * l->big_step;
		op(y, small + i * l->small_step, y, l->n);
	}
}

/* half floats are only moved; sums and extremes of them are made in f32 */
static void (*const meet_of[DT_COUNT])(const Scatter *, const Line *, const Chunk *) = {
	[DT_BOOL] = meet_u8, [DT_I8] = meet_i8, [DT_I16] = meet_i16, [DT_I32] = meet_i32, [DT_I64] = meet_i64, [DT_U8] = meet_u8,
	[DT_U16] = meet_u16, [DT_U32] = meet_u32, [DT_U64] = meet_u64, [DT_F8_143] = meet_u8, [DT_F8_152] = meet_u8,
	[DT_F16] = meet_u16, [DT_BF16] = meet_u16, [DT_F32] = meet_f32, [DT_F64] = meet_f64,
};

/* --- lines ----------------------------------------------------------------------------------------------------------- */

/* the indices of c, of which those in [lo, hi) are taken; gives where one lies that is out of range, or -1 */
static long look(const Scatter *s, Chunk *c, long step, long lo, long hi)
{
	const struct pxlrt_scatter *d = s->d;
	long from = c->line + c->first * step, outside = k_indices(d->idx_dtype, s->idx, from, step, c->n, lo, hi, c->to);
	c->taken = outside ? 0 : c->n;
	for (int i = 0; outside && i < c->n; i++) {
		if (!d->lenient && is_outside(c->to[i], 0, d->limit)) return from + i * step;
		c->which[c->taken] = i;
		c->taken += !is_outside(c->to[i], lo, hi);
	}
	return -1;
}

/* what is read at an index that is out of range */
static void clear_others(const Scatter *s, const Line *l, const Chunk *c)
{
	long size = (long)dtype_size(s->d->dtype);
	char *row = (char *)(uintptr_t)s->small + (l->small + c->first * l->small_step) * size;
	for (long i = 0; i < c->n; i++)
		if (is_outside(c->to[i], 0, s->d->limit)) memset(row + i * l->small_step * size, 0, (size_t)(l->n * size));
}

/* pairs first … first + n - 1 of a line; c: the indices that were looked at last, the same ones for the next band */
static long meet(const Scatter *s, const Line *l, Chunk *c, long step, long first, long n, long lo, long hi)
{
	if (s->parts > 1 || s->own || c->line != l->idx || c->first != first) {
		c->line = l->idx, c->first = first, c->n = n;
		long wrong = look(s, c, step, lo, hi);
		if (wrong >= 0) return wrong;
	}
	meet_of[s->d->dtype](s, l, c);
	if (s->d->mode == PXLRT_SCATTER_READ && c->taken < n) clear_others(s, l, c);
	return -1;
}

/* band and part i */
static long walk(const Scatter *s, Chunk *c, long i)
{
	const struct pxlrt_scatter *d = s->d;
	Line l = line_at(s, i / s->parts);
	long part = i % s->parts, n = d->dim[d->axis], step = d->step[d->axis], lo = 0, hi = d->limit, from = 0, to = n, wrong = -1;
	if (d->mode == PXLRT_SCATTER_READ) from = n * part / s->parts, to = n * (part + 1) / s->parts;
	else lo = hi * part / s->parts, hi = hi * (part + 1) / s->parts;
	for (long at = from; !s->own && at < to && wrong < 0; at += CHUNK) wrong = meet(s, &l, c, step, at, min_l(CHUNK, to - at), lo, hi);
	for (long at = from; s->own && at < to && wrong < 0; at++) {
		Line across = { l.small + at * l.small_step, l.big, l.idx + at * step, 1, l.big_step, 1, 1 };
		wrong = meet(s, &across, c, 1, 0, l.n, lo, hi);
	}
	return wrong;
}

static int scatter_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Scatter *s = ctx;
	Chunk c;
	c.line = -1;
	for (long i = lo; i < hi; i++) {
		long wrong = walk(s, &c, i);
		if (wrong >= 0)
			return lane_fault(ln, "index %lld is out of range for an axis of %ld",
				(i64)rt_get_int((DType)s->d->idx_dtype, s->idx, (size_t)wrong), s->d->limit);
	}
	return 0;
}

int k_scatter(struct pxlrt_lane *lane, const struct pxlrt_scatter *d, void *small, const void *idx, void *big)
{
	Scatter s = { .rt = table_of(rt_lane(lane)), .d = d, .small = small, .idx = idx, .big = big };
	for (int k = 0; k < d->rank; k++)
		if (!d->dim[k]) return 0;
	find_run(&s);
	long n = s.bands * s.parts;
	return span_run(rt_lane(lane), scatter_body, &s, n, piece_of(n, (double)d->dim[d->axis] * (1 + (1 + 0.1 * (double)s.band) / (double)s.parts)));
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
	if (!window) return 0;
	char *place = (char *)big + at * d->size;
	if (!d->write) return rt->copy(lane, &c, place, window);
	struct pxlrt_copy back = c;
	memcpy(back.src, c.dst, sizeof c.dst);
	memcpy(back.dst, c.src, sizeof c.src);
	return rt->copy(lane, &back, window, place);
}
