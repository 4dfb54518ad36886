/* kernels_pooling.c — means and maxima over windows and their gradients, against loops over all taps, on every table;
 * blocked tensors give the bits of plain ones. */
#include "tests/runtime/kernels.h"

enum { CASES = 400, MOST = 4096 };

typedef struct Case { struct pxlrt_window d; long xn, yn; } Case;

static long below(unsigned long *salt, long n) { return (long)((noise((*salt)++) + 1) / 2 * (double)n); }

/* windows of which none lies wholly in padding; pairs and rows of many lengths come often */
static Case draw(unsigned long *salt)
{
	Case c = { .d = { .rank = 1 + (int)below(salt, 3), .images = 1 + below(salt, 2), .m = 1 } };
	c.d.xtype = c.d.ytype = below(salt, 2) ? DT_F32 : DT_F64;
	c.d.groups = c.d.c = 1 + below(salt, 3);
	c.xn = c.yn = c.d.images * c.d.groups;
	for (int i = 0; i < c.d.rank; i++) {
		int last = i == c.d.rank - 1, pairs = below(salt, 2) == 0;
		long x = 1 + below(salt, last ? (c.d.rank == 1 ? 200 : 70) : 7), k = min_l(x, pairs ? 2 : 1 + below(salt, 5));
		c.d.x[i] = x, c.d.k[i] = k, c.d.dilation[i] = 1;
		c.d.stride[i] = pairs ? 2 : 1 + below(salt, 4);
		c.d.pad[i] = below(salt, 3) ? 0 : below(salt, k);
		long end = below(salt, 3) ? 0 : below(salt, k);          /* padding behind */
		c.d.y[i] = (x + c.d.pad[i] + end - k) / c.d.stride[i] + 1;
		while ((c.d.y[i] - 1) * c.d.stride[i] - c.d.pad[i] >= x) c.d.y[i]--;
		c.xn *= c.d.x[i], c.yn *= c.d.y[i];
	}
	return c;
}

/* what they should be, in double */
typedef struct Ref { double x[MOST], y[MOST], g[MOST], dx[MOST]; int largest; } Ref;

/* indices in x of the taps of window j that are no padding */
static long taps_of(const Case *c, long j, long *at)
{
	long n = 1, first[PXLRT_MAXSPACE], len[PXLRT_MAXSPACE], channel, rest = j;
	for (int i = c->d.rank - 1; i >= 0; i--) {
		long from = rest % c->d.y[i] * c->d.stride[i] - c->d.pad[i], to = min_l(from + c->d.k[i], c->d.x[i]);
		first[i] = max_l(from, 0), len[i] = to - first[i];
		n *= len[i], rest /= c->d.y[i];
	}
	channel = rest;
	for (long k = 0; k < n; k++) {
		long left = k, pos = 0, scale = 1;
		for (int i = c->d.rank - 1; i >= 0; i--) pos += (first[i] + left % len[i]) * scale, scale *= c->d.x[i], left /= len[i];
		at[k] = channel * scale + pos;
	}
	return n;
}

static void reference(const Case *c, Ref *r)
{
	static long at[4096];
	memset(r->dx, 0, sizeof r->dx);
	for (long j = 0; j < c->yn; j++) {
		long n = taps_of(c, j, at);
		double v = r->largest ? -INFINITY : 0;
		for (long k = 0; k < n; k++) v = !r->largest ? v + r->x[at[k]] / (double)n : isnan(r->x[at[k]]) || isnan(v) ? NAN : fmax(v, r->x[at[k]]);
		r->y[j] = v;
		for (long k = 0; k < n; k++) r->dx[at[k]] += !r->largest ? r->g[j] / (double)n : r->x[at[k]] == v ? r->g[j] : 0;
	}
}

static int same(DType t, const void *got, const double *want, long n, double tol)
{
	for (long i = 0; i < n; i++)
		if (!near(rt_get(t, got, (size_t)i), want[i], tol)) return 0;
	return rt_get(t, got, (size_t)n) == 77;          /* nothing was written behind the end */
}

static void check(const struct pxlrt *rt, const Case *c, unsigned long salt, int largest, int threads)
{
	static Ref r;
	DType t = (DType)c->d.xtype;
	double tol = 64 * eps_of(t);
	void *x = noise_array(t, c->xn, 1, salt), *g = noise_array(t, c->yn, 1, salt + 7), *y = noise_array(t, c->yn, 0, 0), *dx = noise_array(t, c->xn, 0, 0);
	TestLane l;
	for (long i = 0; i < c->xn; i++)                 /* ties, and here and there no number */
		if (i % 3 == 0) rt_set(t, x, (size_t)i, largest && (salt + (unsigned long)i) % 41 == 0 ? NAN : 0.5);
	for (long i = 0; i < c->xn; i++) r.x[i] = rt_get(t, x, (size_t)i);
	for (long i = 0; i < c->yn; i++) r.g[i] = rt_get(t, g, (size_t)i);
	r.largest = largest;
	reference(c, &r);
	rt_set(t, y, (size_t)c->yn, 77), rt_set(t, dx, (size_t)c->xn, 77);
	lane_open(&l, threads, rt);
	CHECK("", !rt->pool(&l.lane.pub, &c->d, largest, x, y) && same(t, y, r.y, c->yn, tol));
	CHECK("", !(largest ? rt->max_back(&l.lane.pub, &c->d, x, y, g, dx) : rt->average_back(&l.lane.pub, &c->d, g, dx)) && same(t, dx, r.dx, c->xn, tol * 8));
	lane_close(&l);
	rt_free(NULL, x), rt_free(NULL, g), rt_free(NULL, y), rt_free(NULL, dx);
}

/* rows that do not fit a lane's scratch */
static void long_rows(const struct pxlrt *rt)
{
	enum { W = 1100000 };
	struct pxlrt_window d = { DT_F32, DT_F32, 2, 1, 1, 1, 1, { 2, W }, { 1, W / 2 }, { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 }, 0, 0, 0 };
	float *x = noise_array(DT_F32, 2 * W, 1, 3), *y = noise_array(DT_F32, W / 2, 0, 0);
	TestLane l;
	int ok = 1;
	lane_open(&l, 1, rt);
	CHECK("", !rt->pool(&l.lane.pub, &d, 1, x, y));
	for (long j = 0; j < W / 2; j++) ok &= y[j] == fmaxf(fmaxf(x[2 * j], x[2 * j + 1]), fmaxf(x[W + 2 * j], x[W + 2 * j + 1]));
	CHECK("", ok);
	lane_close(&l);
	rt_free(NULL, x), rt_free(NULL, y);
}

enum { X, Y, DY, DX, ARRAYS };

/* behind a relu the gradient passes where x is positive */
static void relu_back(TestLane *l, struct pxlrt_window d, float *const *block, float *got, long n)
{
	int same = 1;
	d.relu = 1;
	CHECK("", l->lane.rt->max_back(&l->lane.pub, &d, block[X], block[Y], block[DY], got) == 0);
	for (long i = 0; i < n; i++) same = same && got[i] == (block[X][i] > 0 ? block[DX][i] : 0);
	CHECK("", same);
}

/* plain against blocked, which is turned back */
static void blocked(const struct pxlrt *rt, Case c, unsigned long salt, int largest, int threads)
{
	struct pxlrt_window d = c.d;
	long size[ARRAYS];
	float *plain[ARRAYS], *block[ARRAYS], *back[ARRAYS];
	TestLane l;
	d.xtype = d.ytype = DT_F32, d.images = 2, d.groups = d.c = 32;
	c.xn = c.xn / c.d.images / c.d.groups, c.yn = c.yn / c.d.images / c.d.groups;
	lane_open(&l, threads, rt);
	for (int i = 0; i < ARRAYS; i++) {
		size[i] = 64 * (i == X || i == DX ? c.xn : c.yn);
		plain[i] = noise_array(DT_F32, size[i], 1, salt + (unsigned long)i), block[i] = noise_array(DT_F32, size[i], 1, 9), back[i] = noise_array(DT_F32, size[i], 1, 8);
		for (long k = 0; i == X && k < size[i]; k++)
			if (k % 3 == 0) plain[i][k] = largest && k % 41 == 0 ? NAN : 0.5f;
	}
	CHECK("", rt_pool_blocks(&d));
	rt->blocks(&l.lane.pub, DT_F32, 1, 2, 32, c.xn, plain[X], block[X]);
	rt->blocks(&l.lane.pub, DT_F32, 1, 2, 32, c.yn, plain[DY], block[DY]);
	for (int k = 0; k < 2; k++) {
		float **t = k ? block : plain;
		d.xblock = d.yblock = k ? PXLRT_CHANNELS : 0;
		rt->pool(&l.lane.pub, &d, largest, t[X], t[Y]);
		if (largest) rt->max_back(&l.lane.pub, &d, t[X], t[Y], t[DY], t[DX]);
		else rt->average_back(&l.lane.pub, &d, t[DY], t[DX]);
	}
	for (int i = 0; i < ARRAYS; i++) {
		rt->blocks(&l.lane.pub, DT_F32, 0, 2, 32, i == X || i == DX ? c.xn : c.yn, block[i], back[i]);
		CHECK("", !memcmp(back[i], plain[i], (size_t)size[i] * 4));
	}
	if (largest) relu_back(&l, d, block, back[DX], size[DX]);
	lane_close(&l);
	for (int i = 0; i < ARRAYS; i++) rt_free(NULL, plain[i]), rt_free(NULL, block[i]), rt_free(NULL, back[i]);
}

int main(void)
{
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int k = 0; k < nrt; k++) {
		unsigned long salt = 1;
		for (int i = 0; i < CASES; i++) {
			Case c = draw(&salt);
			if (c.xn > MOST - 1 || c.yn > MOST - 1) continue;
			check(rts[k], &c, salt, i % 2, i % 5 ? 1 : 3);
			if (i < CASES / 2) blocked(rts[k], c, salt, i % 2, i % 5 ? 1 : 3);
		}
		long_rows(rts[k]);
	}
	return check_done();
}
