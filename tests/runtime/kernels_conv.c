/* kernels_conv.c — convolutions, in both directions and for the weights, against plain C in double: from one to four
 * spatial axes, groups, strides, dilations and uneven padding, every type, images folded together and images cut into
 * boxes; bits do not depend on the number of threads.  Where kernels take blocked sides, the same with each side plain or
 * blocked. */
#include "tests/runtime/kernels.h"

typedef struct Case { DType t; struct pxlrt_window d; } Case;
typedef struct Ref { double *y, *x, *w; } Ref;

static long volume(const long *dim, int n)
{
	long v = 1;
	for (int i = 0; i < n; i++) v *= dim[i];
	return v;
}

/* every meeting of a place of y, a tap, and the place of x they share adds to all three results */
static void meet(const Case *c, const void *x, const void *w, const void *g, Ref *r)
{
	const struct pxlrt_window *d = &c->d;
	long nx = volume(d->x, d->rank), ny = volume(d->y, d->rank), nk = volume(d->k, d->rank);
	DType wt = c->t == DT_F64 ? DT_F64 : DT_F32;
	for (long o = 0; o < ny; o++)
		for (long k = 0; k < nk; k++) {
			long p = 0, scale = 1, ro = o, rk = k, in = 1;
			for (int i = d->rank - 1; i >= 0; i--) {
				long at = ro % d->y[i] * d->stride[i] + rk % d->k[i] * d->dilation[i] - d->pad[i];
				in = in && at >= 0 && at < d->x[i];
				p += at * scale;
				scale *= d->x[i], ro /= d->y[i], rk /= d->k[i];
			}
			if (!in) continue;
			for (long n = 0; n < d->images; n++)
				for (long q = 0; q < d->groups; q++)
					for (long m = 0; m < d->m; m++)
						for (long ch = 0; ch < d->c; ch++) {
							long ix = ((n * d->groups + q) * d->c + ch) * nx + p, iy = ((n * d->groups + q) * d->m + m) * ny + o;
							long iw = ((q * d->m + m) * d->c + ch) * nk + k;
							double a = rt_get(c->t, x, (size_t)ix), b = rt_get(wt, w, (size_t)iw), e = rt_get(c->t, g, (size_t)iy);
							r->y[iy] += a * b;
							r->x[ix] += e * b;
							r->w[iw] += a * e;
						}
		}
}

static int same(const char *what, const Case *c, int table, DType t, const void *got, const double *want, long n, double terms)
{
	double tol = (c->t == DT_F64 ? 1e-15 : 2e-7) * (terms + 8) + 3 * eps_of(t);
	for (long i = 0; i < n; i++) {
		double v = rt_get(t, got, (size_t)i);
		if (near(v, want[i], tol * (1 + fabs(want[i])))) continue;
		printf("%s, table %d, %s%s%s, x %ldx%ld k %ldx%ld stride %ld images %ld groups %ld c %ld m %ld: [%ld] is %.9g, not %.9g\n", what, table, dtype_info[c->t].name,
		       c->d.xblock ? " x blocked" : "", c->d.yblock ? " y blocked" : "",
		       c->d.x[0], c->d.x[1], c->d.k[0], c->d.k[1], c->d.stride[0], c->d.images, c->d.groups, c->d.c, c->d.m, i, v, want[i]);
		return 0;
	}
	return 1;
}

static void *room(long n, size_t size) { return rt_alloc(NULL, (size_t)(n + 16) * size); }

typedef struct Sizes { long x, y, w; } Sizes;
typedef struct Got { void *y, *x, *w, *turned, *room; } Got;
enum { PARTS = 3 };

/* to blocks or back, if that side is blocked; in a new array, or the old one */
static void *laid(TestLane *t, const struct pxlrt_window *d, int y, int to_blocks, void *data)
{
	long channels = d->groups * (y ? d->m : d->c), space = volume(y ? d->y : d->x, d->rank);
	if (!(y ? d->yblock : d->xblock)) return data;
	void *to = room(d->images * channels * space, 4);
	t->lane.rt->blocks(&t->lane.pub, DT_F32, to_blocks, d->images, channels, space, data, to);
	return to;
}

static void take_back(TestLane *t, const struct pxlrt_window *d, int y, void *data)
{
	long n = d->images * d->groups * (y ? d->m * volume(d->y, d->rank) : d->c * volume(d->x, d->rank));
	void *plain = laid(t, d, y, 0, data);
	if (plain != data) memcpy(data, plain, (size_t)n * 4), rt_free(NULL, plain);
}

/* a bias and a relu give the bits of what they give by themselves; y is blocked */
static void check_finished(TestLane *t, const struct pxlrt_window *d, const void *x, const void *w, const float *y, void *weights)
{
	long channels = d->groups * d->m, space = volume(d->y, d->rank), n = d->images * channels * space;
	float *bias = room(channels, 4), *got = room(n, 4);
	int same = 1;
	struct pxlrt_window with = *d;
	for (long i = 0; i < channels; i++) bias[i] = (float)(i % 7 - 3) * 0.3f;
	with.relu = 1;
	CHECK("", t->lane.rt->conv(&t->lane.pub, &with, x, w, bias, got, weights) == 0);
	for (long i = 0; i < n; i++) {
		float want = y[i] + bias[i / 16 / space * 16 % channels + i % 16];
		same = same && got[i] == (want <= 0 ? 0 : want);
	}
	CHECK("", same);
	rt_free(NULL, bias), rt_free(NULL, got);
}

static void run(const Case *c, const struct pxlrt *rt, int threads, void *px, const void *w, void *pg, Got *o)
{
	const struct pxlrt_window *d = &c->d;
	int plain = !d->xblock && !d->yblock;
	TestLane t;
	lane_open(&t, threads, rt);
	void *x = laid(&t, d, 0, 1, px), *g = laid(&t, d, 1, 1, pg);
	if (plain || rt_conv_blocks(d, RT_CONV)) {
		rt->conv(&t.lane.pub, d, x, w, NULL, o->y, o->room);
		if (d->yblock) check_finished(&t, d, x, w, o->y, o->room);
		take_back(&t, d, 1, o->y);
	}
	rt->conv_turn(&t.lane.pub, d, c->t == DT_F64 ? DT_F64 : DT_F32, w, o->turned);
	if (plain || rt_conv_blocks(d, RT_CONV_DATA)) {
		rt->conv_data(&t.lane.pub, d, g, o->turned, o->x, o->room);
		take_back(&t, d, 0, o->x);
	}
	if (plain || rt_conv_blocks(d, RT_CONV_WEIGHT)) rt->conv_weight(&t.lane.pub, d, PARTS, x, g, o->w);
	if (x != px) rt_free(NULL, x);
	if (g != pg) rt_free(NULL, g);
	lane_close(&t);
}

static void add_parts(DType t, void *w, long n)
{
	for (long i = 0; i < n; i++) {
		double s = 0;
		for (long p = 0; p < PARTS; p++) s += rt_get(t, w, (size_t)(p * n + i));
		rt_set(t, w, (size_t)i, s);
	}
}

static Got got_new(const Sizes *s) { return (Got){ room(s->y, 8), room(s->x, 8), room(s->w * PARTS, 8), room(s->w, 8), room(s->w, 8) }; }
static void got_free(Got *g) { rt_free(NULL, g->y), rt_free(NULL, g->x), rt_free(NULL, g->w), rt_free(NULL, g->turned), rt_free(NULL, g->room); }

/* on one table; what the kernels refuse is not looked at */
static void check(const Case *c, const struct pxlrt *const *rts, int k, int many_threads, void *x, const void *w, void *g, const Sizes *s, const Ref *r)
{
	const struct pxlrt_window *d = &c->d;
	int plain = !d->xblock && !d->yblock;
	DType wt = c->t == DT_F64 ? DT_F64 : DT_F32;
	Got a = got_new(s), b = got_new(s);
	run(c, rts[k], 1, x, w, g, &a);
	for (int t = 0; many_threads && t < 4; t++) {
		run(c, rts[k], (int[]){ 2, 3, 8, 16 }[t], x, w, g, &b);
		CHECK("", !memcmp(a.y, b.y, (size_t)s->y * dtype_size(c->t)) && !memcmp(a.x, b.x, (size_t)s->x * dtype_size(c->t)) &&
		          !memcmp(a.w, b.w, (size_t)(s->w * PARTS) * dtype_size(wt)));
	}
	add_parts(wt, a.w, s->w);
	double taps = (double)volume(d->k, d->rank);
	if (plain || rt_conv_blocks(d, RT_CONV)) CHECK("", same("result", c, k, c->t, a.y, r->y, s->y, taps * (double)d->c));
	if (plain || rt_conv_blocks(d, RT_CONV_DATA)) CHECK("", same("data", c, k, c->t, a.x, r->x, s->x, taps * (double)d->m));
	if (plain || rt_conv_blocks(d, RT_CONV_WEIGHT)) CHECK("", same("weight", c, k, wt, a.w, r->w, s->w, (double)(d->images * volume(d->y, d->rank))));
	got_free(&a), got_free(&b);
}

static void one(const Case *given, const struct pxlrt *const *rts, int nrt, int many_threads)
{
	Case c = *given;
	struct pxlrt_window *d = &c.d;
	d->xtype = d->ytype = (int)c.t;
	Sizes s = { d->images * d->groups * d->c * volume(d->x, d->rank), d->images * d->groups * d->m * volume(d->y, d->rank), d->groups * d->m * d->c * volume(d->k, d->rank) };
	DType wt = c.t == DT_F64 ? DT_F64 : DT_F32;
	void *x = noise_array(c.t, s.x, 1, 1), *w = noise_array(wt, s.w, 1, 2), *g = noise_array(c.t, s.y, 1, 3);
	Ref r = { calloc((size_t)s.y + 1, 8), calloc((size_t)s.x + 1, 8), calloc((size_t)s.w + 1, 8) };
	meet(&c, x, w, g, &r);
	for (int k = 0; k < nrt; k++)
		for (int sides = 0; sides < 4; sides++) {
			d->xblock = sides & 1 ? PXLRT_CHANNELS : 0, d->yblock = sides & 2 ? PXLRT_CHANNELS : 0;
			if (!sides || rt_conv_blocks(d, RT_CONV_WEIGHT)) check(&c, rts, k, many_threads, x, w, g, &s, &r);
		}
	free(r.y), free(r.x), free(r.w);
	rt_free(NULL, x), rt_free(NULL, w), rt_free(NULL, g);
}

static long size_of(long x, long pb, long pe, long k, long s, long d) { return (x + pb + pe - d * (k - 1) - 1) / s + 1; }

/* one rule along every axis, sizes one apart */
static Case even(DType t, int rank, long images, long groups, long c, long m, long x, long k, long stride, long dilation, long pb, long pe)
{
	Case r = { t, { .rank = rank, .images = images, .groups = groups, .c = c, .m = m } };
	for (int i = 0; i < rank; i++) {
		r.d.x[i] = x + i, r.d.k[i] = k, r.d.stride[i] = stride, r.d.dilation[i] = dilation, r.d.pad[i] = pb;
		r.d.y[i] = size_of(x + i, pb, pe, k, stride, dilation);
	}
	return r;
}

static void shapes(const struct pxlrt *const *rts, int nrt)
{
	static const DType types[] = { DT_F32, DT_F64, DT_F16, DT_BF16 };
	/* rank images groups c m x k stride dilation pb pe */
	static const int s[][11] = {
		{ 1, 2, 1, 3, 5, 17, 3, 1, 1, 1, 1 }, { 1, 1, 2, 2, 3, 40, 5, 3, 2, 4, 0 }, { 1, 3, 1, 1, 1, 1, 1, 1, 1, 0, 0 },
		{ 2, 2, 1, 3, 4, 7, 3, 1, 1, 1, 1 }, { 2, 1, 1, 8, 9, 12, 3, 2, 1, 1, 0 }, { 2, 3, 2, 2, 2, 9, 2, 3, 1, 0, 1 },
		{ 2, 1, 5, 1, 1, 11, 3, 1, 2, 2, 2 }, { 2, 2, 3, 1, 2, 10, 4, 2, 3, 5, 4 }, { 2, 5, 1, 4, 3, 5, 5, 1, 1, 0, 0 },
		{ 2, 40, 1, 3, 10, 3, 3, 1, 1, 1, 1 }, { 2, 1, 1, 2, 17, 6, 1, 1, 1, 0, 0 }, { 2, 2, 1, 3, 3, 8, 1, 3, 1, 0, 0 },
		{ 2, 1, 1, 1, 2, 6, 3, 4, 2, 3, 3 }, { 3, 1, 1, 2, 3, 5, 3, 1, 1, 1, 1 }, { 3, 2, 2, 1, 2, 6, 2, 2, 2, 1, 1 },
		{ 3, 9, 1, 2, 2, 3, 3, 2, 1, 1, 0 }, { 4, 1, 1, 2, 2, 4, 2, 2, 1, 0, 1 }, { 2, 1, 1, 1, 1, 4, 3, 1, 1, 6, 6 },
		{ 2, 2, 1, 2, 2, 5, 3, 6, 4, 5, 5 }, { 2, 7, 1, 5, 1, 8, 7, 1, 1, 3, 3 },
		{ 2, 2, 4, 1, 1, 28, 3, 1, 1, 1, 1 }, { 2, 1, 2, 1, 2, 70, 3, 1, 1, 1, 1 }, { 2, 1, 3, 1, 1, 67, 5, 2, 1, 2, 2 }, { 2, 1, 2, 1, 1, 41, 3, 1, 2, 2, 2 }, { 1, 70, 1, 3, 9, 20, 3, 2, 1, 1, 1 },
	};
	for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
		const int *v = s[i];
		for (int t = 0; t < (i % 3 ? 2 : 4); t++) {
			Case c = even(types[t], v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]);
			one(&c, rts, nrt, 0);
		}
	}
}

/* large enough to be cut: into boxes, blocks of rows, blocks of channels; and windows wider than scratch */
static void large(const struct pxlrt *const *rts, int nrt)
{
	Case c[] = {
		even(DT_F32, 2, 1, 1, 2, 3, 190, 3, 1, 1, 1, 1), even(DT_F32, 2, 2, 1, 40, 70, 13, 3, 1, 1, 1, 1), even(DT_F32, 2, 1, 1, 3, 600, 6, 3, 1, 1, 1, 1),
		even(DT_F32, 2, 1, 1, 300, 5, 9, 3, 2, 1, 1, 1), even(DT_F64, 3, 1, 1, 3, 9, 24, 3, 1, 1, 1, 1), even(DT_F32, 1, 2, 1, 2, 3, 30000, 5, 2, 1, 2, 2),
		even(DT_F16, 2, 3, 1, 16, 24, 20, 3, 2, 1, 1, 1), even(DT_F32, 2, 1, 24, 1, 1, 40, 3, 1, 1, 1, 1), even(DT_F32, 2, 12, 1, 6, 16, 14, 5, 1, 1, 0, 0),
		even(DT_F32, 2, 1, 1, 2, 2, 150, 2, 1, 140, 0, 0), even(DT_F32, 1, 1, 1, 1, 1, 450000, 2, 1, 440000, 0, 0), even(DT_F32, 1, 1, 1, 1, 1, 450300, 2, 1, 450000, 0, 0),
		even(DT_F32, 1, 1, 1, 1, 1, 17100, 17000, 1, 1, 0, 0), even(DT_F64, 1, 1, 1, 1, 1, 20000, 400, 50, 1, 0, 0),
	};
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) one(&c[i], rts, nrt, 1);
}

/* whole blocks of channels, plain and blocked */
static void whole_blocks(const struct pxlrt *const *rts, int nrt)
{
	Case c[] = {
		even(DT_F32, 2, 3, 1, 32, 48, 12, 3, 1, 1, 1, 1), even(DT_F32, 2, 16, 1, 16, 32, 9, 3, 2, 1, 1, 0), even(DT_F32, 2, 1, 1, 64, 32, 16, 3, 1, 2, 2, 1),
		even(DT_F32, 1, 9, 1, 32, 32, 200, 5, 1, 1, 4, 0), even(DT_F32, 3, 2, 1, 16, 16, 8, 3, 1, 1, 1, 1), even(DT_F32, 2, 8, 1, 16, 16, 14, 3, 1, 1, 3, 3),
	};
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) one(&c[i], rts, nrt, 1);
}

/* whole blocks of channels on one side or both: all that windows can be */
static void blocked(const struct pxlrt *const *rts, int nrt)
{
	/* rank images groups c m x k stride dilation pb pe */
	static const int s[][11] = {
		{ 1, 2, 1, 16, 16, 17, 3, 1, 1, 1, 1 }, { 1, 1, 1, 32, 16, 40, 5, 3, 2, 4, 0 }, { 1, 3, 1, 16, 48, 1, 1, 1, 1, 0, 0 }, { 1, 1, 1, 3, 16, 300, 7, 2, 1, 3, 3 },
		{ 2, 2, 1, 1, 32, 28, 3, 1, 1, 1, 1 }, { 2, 2, 1, 3, 16, 15, 7, 2, 1, 3, 3 }, { 2, 3, 1, 32, 64, 14, 3, 1, 1, 1, 1 }, { 2, 2, 1, 16, 80, 7, 3, 2, 1, 1, 0 },
		{ 2, 1, 1, 64, 16, 9, 3, 3, 1, 0, 1 }, { 2, 1, 2, 16, 32, 6, 3, 1, 2, 2, 2 }, { 2, 2, 3, 16, 16, 5, 4, 2, 3, 5, 4 }, { 2, 2, 1, 48, 16, 33, 1, 1, 1, 0, 0 },
		{ 2, 9, 1, 16, 32, 4, 3, 1, 1, 1, 1 }, { 2, 2, 1, 16, 5, 8, 3, 1, 1, 1, 1 }, { 2, 2, 1, 5, 16, 8, 3, 1, 1, 1, 1 }, { 2, 1, 1, 16, 16, 6, 3, 4, 2, 3, 3 },
		{ 2, 2, 1, 16, 16, 5, 3, 6, 4, 5, 5 }, { 2, 1, 1, 16, 16, 4, 3, 1, 1, 6, 6 }, { 2, 1, 1, 16, 16, 8, 1, 3, 1, 0, 0 }, { 2, 1, 1, 32, 32, 20, 5, 1, 1, 2, 2 },
		{ 3, 1, 1, 16, 16, 5, 3, 1, 1, 1, 1 }, { 3, 2, 1, 2, 16, 6, 2, 2, 2, 1, 1 }, { 3, 2, 1, 32, 16, 3, 3, 2, 1, 1, 0 }, { 2, 1, 1, 16, 16, 70, 3, 1, 1, 1, 1 },
	};
	for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
		const int *v = s[i];
		Case c = even(DT_F32, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]);
		one(&c, rts, nrt, i % 4 == 0);
	}
}

/* cut along every axis, into blocks of channels on either side; and what cannot be cut to fit is refused */
static void large_blocked(const struct pxlrt *const *rts, int nrt)
{
	Case c[] = {
		even(DT_F32, 2, 1, 1, 1040, 16, 19, 3, 1, 1, 1, 1), even(DT_F32, 2, 1, 1, 16, 528, 24, 3, 1, 1, 1, 1), even(DT_F32, 1, 1, 1, 16, 16, 20000, 3, 2, 1, 1, 1),
		even(DT_F32, 3, 1, 1, 16, 16, 20, 3, 1, 1, 1, 1), even(DT_F32, 2, 1, 1, 16, 16, 150, 2, 1, 140, 0, 0), even(DT_F32, 2, 1, 1, 16, 16, 24, 22, 1, 1, 0, 0),
	};
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) one(&c[i], rts, nrt, i < 2);
	struct pxlrt_window far = even(DT_F32, 1, 1, 1, 16, 16, 45000, 2, 1, 44000, 0, 0).d, many = even(DT_F32, 2, 1, 1, 16, 16, 40, 33, 1, 1, 0, 0).d;
	far.xblock = far.yblock = many.xblock = many.yblock = PXLRT_CHANNELS;
	far.xtype = far.ytype = many.xtype = many.ytype = DT_F32;
	for (int map = RT_CONV; map <= RT_CONV_WEIGHT; map++) CHECK("", !rt_conv_blocks(&far, map) && !rt_conv_blocks(&many, map));
}

int main(void)
{
	const struct pxlrt *all[8], *rts[8];
	int n = all_tables(all);
	for (int i = 0; i < n; i++) rts[i] = all[i];
	shapes(rts, n);
	large(rts + n - 1, 1);
	whole_blocks(all, n);
	blocked(all, n);
	large_blocked(all + (n > 1), (int)min_l(2, n - (n > 1)));
	return check_done();
}
