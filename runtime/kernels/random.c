/* random.c — random tensors as pure functions of (seed, index, distribution).
 *
 * Philox 4×32-10 with the seed as its key turns a counter into four 32-bit words; a tag in the counter tells
 * distributions apart.  DRAW counters fill a group of 4 · DRAW elements: element i of the group takes word i / DRAW of
 * counter i % DRAW (an f64 takes two words, so its groups have 2 · DRAW).  A normal shares its words with the one DRAW
 * further on.  So any group can be made alone and is the same, and a shorter tensor is a prefix of a longer one. */
#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

enum { TAG_UNIFORM = 1, TAG_NORMAL, TAG_DROPOUT };

typedef struct Draw {
	const struct pxlrt *rt;
	const Isa *isa;
	int dtype, tag;
	uint32_t key[2];
	double a, b, below;                  /* mean and deviation; low, high and the last value under high; rate and scale */
	char *y;
} Draw;

static double unit(uint32_t hi, uint32_t lo) { return (double)(((uint64_t)hi << 32 | lo) >> 11) * 0x1p-53; }

/* low and high may be further apart than the type reaches */
static double between(const Draw *d, double u)
{
	double span = d->b - d->a;
	return isfinite(span) ? d->a + u * span : d->a * (1 - u) + d->b * u;
}

/* [low, high): what rounding has pushed up to high is pulled back under it */
static void uniform_block(const Draw *d, Block *b, const uint32_t *w, long n)
{
	float low = (float)d->a, span = (float)(d->b - d->a), below = (float)d->below;
	if (d->dtype == DT_F64) {
		for (long i = 0; i < n; i++) {
			double v = between(d, unit(w[i + i / DRAW * DRAW], w[i + i / DRAW * DRAW + DRAW]));
			b->f64[i] = v < d->b ? v : d->below;
		}
		return;
	}
	if (isfinite(span))
		for (long i = 0; i < n; i++) b->f32[i] = low + (float)(w[i] >> 8) * 0x1p-24f * span;
	else
		for (long i = 0; i < n; i++) b->f32[i] = (float)between(d, (double)(w[i] >> 8) * 0x1p-24);
	if (d->rt->norm[d->dtype]) d->rt->norm[d->dtype](b, n);
	for (long i = 0; i < n; i++) b->f32[i] = b->f32[i] > below ? below : b->f32[i];
}

static void dropout_block(const Draw *d, Block *b, const uint32_t *w, long n)
{
	int wide = d->dtype == DT_F64;
	double limit = d->a * 0x1p32;
	for (long i = 0; i < n; i++) {
		double v = (double)w[wide ? i + i / DRAW * DRAW : i] < limit ? 0 : d->b;
		if (wide) b->f64[i] = v;
		else b->f32[i] = (float)v;
	}
}

static int draw_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Draw *d = ctx;
	uint32_t w[4 * DRAW];
	Block b;
	long group = d->dtype == DT_F64 ? 2 * DRAW : 4 * DRAW;
	(void)ln;
	for (long at = lo; at < hi; at += group) {
		long k = min_l(group, hi - at), n = min_l(k, DRAW);
		d->isa->random->philox(w, d->key, (uint64_t)(at / group) * DRAW, (uint32_t)d->tag, n);
		if (d->tag == TAG_UNIFORM) uniform_block(d, &b, w, k);
		else if (d->tag == TAG_DROPOUT) dropout_block(d, &b, w, k);
		else if (d->dtype == DT_F64) d->isa->random->normal_f64(b.f64, w, d->a, d->b, n);
		else d->isa->random->normal_f32(b.f32, w, (float)d->a, (float)d->b, n);
		d->rt->st[d->dtype](at_elem_mut(d->y, d->dtype, at), 1, &b, k);
	}
	return 0;
}

static int draw_run(struct pxlrt_lane *lane, int dtype, int tag, const unsigned *seed, double a, double b, double below, void *y, long n)
{
	RtLane *ln = rt_lane(lane);
	Draw d = { table_of(ln), isa_of(ln), dtype, tag, { seed[0], seed[1] }, a, b, below, y };
	return span_run(ln, draw_body, &d, n, 8 * BLOCK_MAX);
}

int k_random_normal(struct pxlrt_lane *ln, int dtype, const unsigned *seed, double mean, double std, void *y, long n)
{
	return draw_run(ln, dtype, TAG_NORMAL, seed, mean, std, 0, y, n);
}

/* the largest value of dtype under high, or low if that is larger */
static double last_below(int dtype, double low, double high)
{
	uint16_t h;
	double v;
	if (dtype == DT_F64) return low < high ? nextafter(high, low) : low;
	if (dtype == DT_F32) {
		float f = (float)high;
		v = (double)((double)f < high ? f : nextafterf(f, -INFINITY));
	} else {
		rt_convert((DType)dtype, &h, DT_F64, &high, 1);
		v = rt_get((DType)dtype, &h, 0);
		if (v >= high) {
			h = (uint16_t)(v > 0 ? h - 1 : v == 0 ? 0x8001 : h + 1);
			v = rt_get((DType)dtype, &h, 0);
		}
	}
	return v < low ? low : v;
}

int k_random_uniform(struct pxlrt_lane *ln, int dtype, const unsigned *seed, double low, double high, void *y, long n)
{
	return draw_run(ln, dtype, TAG_UNIFORM, seed, low, high, last_below(dtype, low, high), y, n);
}

int k_dropout_mask(struct pxlrt_lane *ln, int dtype, const unsigned *seed, double p, void *y, long n)
{
	return draw_run(ln, dtype, TAG_DROPOUT, seed, p, 1 / (1 - p), 0, y, n);
}

/* Seeds are 64-bit words s; the i-th made of one is a bijection of s + (i + 1) G, so that different i give different seeds, and
 * so do different parents.  Should one be its parent, i = -1, which nobody asks for, gives another. */
static uint64_t split_word(uint64_t s, uint64_t i)
{
	uint64_t z = s + (i + 1) * 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void k_split_seed(const unsigned *seed, unsigned i, unsigned *out)
{
	uint64_t s = (uint64_t)seed[0] << 32 | seed[1], z = split_word(s, i);
	if (z == s) z = split_word(s, UINT64_MAX);
	out[0] = (unsigned)(z >> 32);
	out[1] = (unsigned)z;
}
