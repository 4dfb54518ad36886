/* norm.c — normalisation of groups: each is contiguous, and once read it is found in cache.
 *
 * A group is `per` channels of `inner` elements.  Its statistics come from one pass: sum and spread of each block, combined
 * in double.  Blocks end where a channel does unless inner is 1, so that weights are a run of channels, or one repeated.
 * 16-bit floats go through blocks of f32, f32 and f64 are used in place.  A piece of the gradient is one group of `rows`
 * items of the batch, and has sums for its channels of its own. */
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { FAR_BYTES = 16 << 20 };

typedef struct Norm {
	const struct pxlrt *rt;
	const Isa *isa;
	const struct pxlrt_norm *d;
	const char *x, *w, *b, *g;           /* b: forward; g: gradient */
	char *y, *dw, *db;
	int far;                             /* y goes past the caches */
} Norm;

/* elements of the block that begins at i of a group */
static long block_at(const struct pxlrt_norm *d, long i)
{
	long run = d->inner == 1 ? d->per : d->inner;
	return min_l(BLOCK_MAX, run - i % run);
}

/* k elements from p[at], converted into `room` if they must be */
static const void *get(const Norm *s, Block *room, const char *p, long at, long k)
{
	int t = s->d->dtype;
	if (is_native(t)) return at_elem(p, t, at);
	s->rt->ld[t](room, at_elem(p, t, at), 1, k);
	return room;
}

/* weights of the k elements from i of a group */
static const void *channels(const Norm *s, Block *room, const char *p, long group, long i, long k)
{
	long at = group * s->d->per + i / s->d->inner;
	if (s->d->inner == 1) return get(s, room, p, at, k);
	s->rt->ld[s->d->dtype](room, at_elem(p, s->d->dtype, at), 0, k);
	return room;
}

/* where k elements of y are computed: in place, or in `room`, from where put_done brings them there */
static void *put(const Norm *s, Block *room, long at, long k)
{
	int t = s->d->dtype;
	char *y = at_elem_mut(s->y, t, at);
	int lines = (uintptr_t)y % CACHE_LINE == 0 && k * (long)dtype_info[t].size % CACHE_LINE == 0;
	return is_native(t) && (lines || !s->far) ? (void *)y : room;
}

static int is_past(const Norm *s, const void *to, const Block *room) { return s->far && to != room; }

static void put_done(const Norm *s, const void *to, const Block *room, long at, long k)
{
	int t = s->d->dtype;
	if (to != room) return;
	if (!is_native(t)) s->rt->st[t](at_elem_mut(s->y, t, at), 1, room, k);
	else s->isa->stream->store(at_elem_mut(s->y, t, at), room, k * (long)dtype_info[t].size);
}

#define NORM(S, T, CLS) \
/* mean and 1 / sqrt(var + eps) of the m elements from base */ \
static void stats_##S(const Norm *s, long base, long m, T *mean, T *inv) \
{ \
	double mu = 0, squares = 0; \
	Block room; \
	Acc a; \
	for (long i = 0; i < m; i += BLOCK_MAX) { \
		long k = min_l(BLOCK_MAX, m - i); \
		const T *x = get(s, &room, s->x, base + i, k); \
		s->isa->fold->sum[CLS](&a, x, k); \
		double own = a.f / (double)k, off = (double)(T)own - own, step = own - mu, part = (double)k / (double)(i + k); \
		squares += s->isa->group_##S->spread(x, (T)own, k) - off * off * (double)k + step * step * (double)i * part; \
		mu += step * part; \
	} \
	*mean = (T)mu; \
	*inv = (T)(1 / sqrt((squares < 0 ? 0 : squares) / (double)m + s->d->eps)); \
} \
static void forward_##S(const Norm *s, long base, long m, long group) \
{ \
	T mean, inv; \
	Block x, w, b, y; \
	stats_##S(s, base, m, &mean, &inv); \
	for (long i = 0, k; i < m; i += k) { \
		k = block_at(s->d, i); \
		T *to = put(s, &y, base + i, k); \
		s->isa->group_##S->normed[is_past(s, to, &y)](to, get(s, &x, s->x, base + i, k), channels(s, &w, s->w, group, i, k), \
			channels(s, &b, s->b, group, i, k), mean, inv, k); \
		put_done(s, to, &y, base + i, k); \
	} \
} \
/* Σ p and Σ p h of a group into out, and into dw and db what it adds to its channels */ \
static void sums_##S(const Norm *s, long base, long m, long group, T mean, T inv, T *dw, T *db, double *out) \
{ \
	Block xs, gs, w; \
	double part[2]; \
	out[0] = out[1] = 0; \
	for (long i = 0, k; i < m; i += k) { \
		k = block_at(s->d, i); \
		const T *x = get(s, &xs, s->x, base + i, k), *g = get(s, &gs, s->g, base + i, k); \
		if (s->d->inner == 1) { \
			s->isa->group_##S->sums(part, dw + i, db + i, x, g, channels(s, &w, s->w, group, i, k), mean, inv, k); \
		} else { \
			long c = i / s->d->inner; \
			double of_channel = (double)*(const T *)channels(s, &w, s->w, group, i, 1); \
			s->isa->group_##S->dots(part, x, g, mean, inv, k); \
			db[c] += (T)part[0]; \
			dw[c] += (T)part[1]; \
			part[0] *= of_channel; \
			part[1] *= of_channel; \
		} \
		out[0] += part[0]; \
		out[1] += part[1]; \
	} \
} \
static void backward_##S(const Norm *s, long base, long m, long group, T *dw, T *db) \
{ \
	T mean, inv; \
	double sum[2]; \
	Block x, g, w, y; \
	stats_##S(s, base, m, &mean, &inv); \
	sums_##S(s, base, m, group, mean, inv, dw, db, sum); \
	for (long i = 0, k; i < m; i += k) { \
		k = block_at(s->d, i); \
		T *to = put(s, &y, base + i, k); \
		s->isa->group_##S->back[is_past(s, to, &y)](to, get(s, &x, s->x, base + i, k), get(s, &g, s->g, base + i, k), \
			channels(s, &w, s->w, group, i, k), mean, inv, (T)(sum[0] / (double)m), (T)(sum[1] / (double)m), k); \
		put_done(s, to, &y, base + i, k); \
	} \
} \
static void part_##S(const Norm *s, long part, long group) \
{ \
	const struct pxlrt_norm *d = s->d; \
	long at = (part * d->groups + group) * d->per, m = d->per * d->inner; \
	T *dw = (T *)(void *)s->dw + at, *db = (T *)(void *)s->db + at; \
	memset(dw, 0, (size_t)d->per * sizeof *dw); \
	memset(db, 0, (size_t)d->per * sizeof *db); \
	for (long i = part * d->rows; m && i < min_l(d->n, (part + 1) * d->rows); i++) \
		backward_##S(s, (i * d->groups + group) * m, m, group, dw, db); \
}
NORM(f32, float, PXLRT_F32)
NORM(f64, double, PXLRT_F64)

static int forward_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Norm *s = ctx;
	long m = s->d->per * s->d->inner;
	(void)ln;
	for (long i = lo; i < hi; i++) (s->d->dtype == DT_F64 ? forward_f64 : forward_f32)(s, i * m, m, i % s->d->groups);
	if (s->far) s->isa->stream->end();
	return 0;
}

static int part_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Norm *s = ctx;
	(void)ln;
	for (long i = lo; i < hi; i++) (s->d->dtype == DT_F64 ? part_f64 : part_f32)(s, i / s->d->groups, i % s->d->groups);
	if (s->far) s->isa->stream->end();
	return 0;
}

/* results so large would push each other and the operands out of the cache before anybody reads them */
static int y_is_far(const struct pxlrt_norm *d) { return d->n * d->groups * d->per * d->inner * (long)dtype_info[d->dtype].size >= FAR_BYTES; }

int k_group_norm(struct pxlrt_lane *lane, const struct pxlrt_norm *d, const void *x, const void *w, const void *b, void *y)
{
	RtLane *ln = rt_lane(lane);
	long m = d->per * d->inner, n = d->n * d->groups;
	Norm s = { table_of(ln), isa_of(ln), d, x, w, b, NULL, y, NULL, NULL, y_is_far(d) };
	return m > 0 && n > 0 ? span_run(ln, forward_body, &s, n, piece_of(n, (double)m * 0.5)) : 0;
}

int k_group_norm_back(struct pxlrt_lane *lane, const struct pxlrt_norm *d, const void *x, const void *w, const void *g, void *dx, void *dw, void *db)
{
	RtLane *ln = rt_lane(lane);
	long n = (d->n + d->rows - 1) / d->rows * d->groups;
	Norm s = { table_of(ln), isa_of(ln), d, x, w, NULL, g, dx, dw, db, y_is_far(d) };
	return d->per > 0 && n > 0 ? span_run(ln, part_body, &s, n, piece_of(n, (double)(d->rows * d->per * d->inner))) : 0;
}
