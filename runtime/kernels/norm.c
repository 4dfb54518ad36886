/* norm.c — normalisation of groups: each is contiguous, and its passes find it in cache.
 *
 * A group is `per` channels of `inner` elements.  Blocks never cross a channel's end unless inner is 1, so that weight
 * and bias of a block are a run of channels, or one repeated.  Sums are in double; groups are the pieces of work. */
#include "runtime/kernels/kernels.h"

#include <math.h>

typedef struct Norm {
	const struct pxlrt *rt;
	const Isa *isa;
	const struct pxlrt_norm *d;
	const char *x, *w, *b, *g;           /* g: of the gradient, which has no b */
	char *y, *h;
} Norm;

static long block_at(const Norm *s, long i)          /* elements of the block that begins at i */
{
	long run = s->d->inner == 1 ? s->d->per : s->d->inner;
	return min_l(BLOCK_MAX, run - i % run);
}

static void load(const Norm *s, Block *b, const char *p, long at, long k) { s->rt->ld[s->d->dtype](b, at_elem(p, s->d->dtype, at), 1, k); }
static void store(const Norm *s, char *p, long at, const Block *b, long k) { s->rt->st[s->d->dtype](at_elem_mut(p, s->d->dtype, at), 1, b, k); }

/* weight or bias of the block at i of a group */
static void channels(const Norm *s, Block *b, const char *p, long group, long i, long k)
{
	s->rt->ld[s->d->dtype](b, at_elem(p, s->d->dtype, group * s->d->per + i / s->d->inner), s->d->inner == 1, k);
}

#define NORM(S, T, CLS) \
static void fill_##S(Block *b, double v) { for (long i = 0; i < BLOCK_MAX; i++) b->S[i] = (T)v; } \
static double sum_##S(const Norm *s, const Block *b, long k) \
{ \
	Acc a; \
	s->isa->sum[CLS](&a, b, k); \
	return a.f; \
} \
static void centred_##S(const Norm *s, Block *x, const Block *mean, long at, long k) \
{ \
	load(s, x, s->x, at, k); \
	s->rt->S.sub(x->S, x->S, mean->S, k); \
} \
/* mean and 1/sqrt(var + eps) of the m elements from base, as blocks */ \
static void stats_##S(const Norm *s, long base, long m, Block *mean, Block *inv) \
{ \
	double sum = 0, squares = 0; \
	Block x; \
	for (long i = 0, k; i < m; i += k) k = min_l(BLOCK_MAX, m - i), load(s, &x, s->x, base + i, k), sum += sum_##S(s, &x, k); \
	fill_##S(mean, sum / (double)m); \
	for (long i = 0, k; i < m; i += k) { \
		k = min_l(BLOCK_MAX, m - i); \
		centred_##S(s, &x, mean, base + i, k); \
		s->rt->S.mul(x.S, x.S, x.S, k); \
		squares += sum_##S(s, &x, k); \
	} \
	fill_##S(inv, 1 / sqrt(squares / (double)m + s->d->eps)); \
} \
static void forward_##S(const Norm *s, long base, long m, long group) \
{ \
	Block mean, inv, x, c; \
	stats_##S(s, base, m, &mean, &inv); \
	for (long i = 0, k; i < m; i += k) { \
		k = block_at(s, i); \
		centred_##S(s, &x, &mean, base + i, k); \
		s->rt->S.mul(x.S, x.S, inv.S, k); \
		channels(s, &c, s->w, group, i, k); \
		s->rt->S.mul(x.S, x.S, c.S, k); \
		channels(s, &c, s->b, group, i, k); \
		s->rt->S.add(x.S, x.S, c.S, k); \
		store(s, s->y, base + i, &x, k); \
	} \
} \
static void backward_##S(const Norm *s, long base, long m, long group) \
{ \
	Block mean, inv, x, p, c, mp, mph; \
	double sp = 0, sph = 0; \
	stats_##S(s, base, m, &mean, &inv); \
	for (int pass = 0; pass < 2; pass++) { \
		if (pass) fill_##S(&mp, sp / (double)m), fill_##S(&mph, sph / (double)m); \
		for (long i = 0, k; i < m; i += k) { \
			k = block_at(s, i); \
			centred_##S(s, &x, &mean, base + i, k); \
			s->rt->S.mul(x.S, x.S, inv.S, k); \
			load(s, &p, s->g, base + i, k); \
			channels(s, &c, s->w, group, i, k); \
			s->rt->S.mul(p.S, p.S, c.S, k); \
			if (!pass) { \
				store(s, s->h, base + i, &x, k); \
				sp += sum_##S(s, &p, k); \
				s->rt->S.mul(x.S, x.S, p.S, k); \
				sph += sum_##S(s, &x, k); \
				continue; \
			} \
			s->rt->S.mul(x.S, x.S, mph.S, k); \
			s->rt->S.sub(p.S, p.S, mp.S, k); \
			s->rt->S.sub(p.S, p.S, x.S, k); \
			s->rt->S.mul(p.S, p.S, inv.S, k); \
			store(s, s->y, base + i, &p, k); \
		} \
	} \
}
NORM(f32, float, PXLRT_F32)
NORM(f64, double, PXLRT_F64)

static int norm_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Norm *s = ctx;
	long m = s->d->per * s->d->inner;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		if (s->d->dtype == DT_F64) (s->g ? backward_f64 : forward_f64)(s, i * m, m, i % s->d->groups);
		else (s->g ? backward_f32 : forward_f32)(s, i * m, m, i % s->d->groups);
	}
	return 0;
}

static int norm_run(RtLane *ln, Norm *s)
{
	long m = s->d->per * s->d->inner, n = s->d->n * s->d->groups;
	if (m <= 0 || n <= 0) return 0;
	return span_run(ln, norm_body, s, n, piece_of(n, (double)m * (s->g ? 2 : 1)));
}

int k_group_norm(struct pxlrt_lane *ln, const struct pxlrt_norm *d, const void *x, const void *w, const void *b, void *y)
{
	return norm_run(rt_lane(ln), &(Norm){ table_of(rt_lane(ln)), isa_of(rt_lane(ln)), d, x, w, b, NULL, y, NULL });
}

int k_group_norm_grad(struct pxlrt_lane *ln, const struct pxlrt_norm *d, const void *x, const void *w, const void *g, void *dx, void *h)
{
	return norm_run(rt_lane(ln), &(Norm){ table_of(rt_lane(ln)), isa_of(rt_lane(ln)), d, x, w, NULL, g, dx, h });
}
