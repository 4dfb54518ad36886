/* kernels_norm.c — norms of groups, orders and counts: the same bits for any number of threads and any instruction set, and what a group
 * larger than a block gives against plain C. */
#include "tests/runtime/kernels.h"

enum { NLANE = 8 };
static TestLane lanes[NLANE];
static const int lane_threads[NLANE] = { 1, 2, 3, 8, 1, 2, 1, 4 };

static const struct pxlrt_norm shapes[] = {
	{ 0, 300, 1, 1000, 1, 32, 1e-5 }, { 0, 65, 4, 3, 1, 64, 1e-5 }, { 0, 7, 2, 3, 50, 2, 1e-3 }, { 0, 3, 1, 2, 3001, 1, 1e-5 }, { 0, 2, 3, 1, 1024, 16, 0.5 }, { 0, 1, 1, 2500, 1, 16, 1e-5 },
};

typedef struct Want { double *y, *dx, *dw, *db; } Want;

static double *reals(DType t, const void *p, long n)
{
	double *v = calloc((size_t)n + 1, sizeof *v);
	for (long i = 0; p && i < n; i++) v[i] = rt_get(t, p, (size_t)i);
	return v;
}

static void group(const struct pxlrt_norm *d, long j, const double *x, const double *w, const double *b, const double *g, Want *q)
{
	long m = d->per * d->inner, c0 = j % d->groups * d->per, part = j / d->groups / d->rows * d->groups * d->per;
	double mean = 0, var = 0, mp = 0, mph = 0;
	for (long k = 0; k < m; k++) mean += x[j * m + k] / (double)m;
	for (long k = 0; k < m; k++) var += (x[j * m + k] - mean) * (x[j * m + k] - mean) / (double)m;
	double inv = 1 / sqrt(var + d->eps);
	for (long k = 0; k < m; k++) {
		double h = (x[j * m + k] - mean) * inv, p = g[j * m + k] * w[c0 + k / d->inner];
		q->y[j * m + k] = h * w[c0 + k / d->inner] + b[c0 + k / d->inner];
		q->dw[part + c0 + k / d->inner] += g[j * m + k] * h;
		q->db[part + c0 + k / d->inner] += g[j * m + k];
		mp += p / (double)m;
		mph += p * h / (double)m;
	}
	for (long k = 0; k < m; k++) q->dx[j * m + k] = inv * (g[j * m + k] * w[c0 + k / d->inner] - mp - (x[j * m + k] - mean) * inv * mph);
}

static int all_near(DType t, const void *got, const double *want, long n, double tol)
{
	for (long i = 0; i < n; i++)
		if (!near(rt_get(t, got, (size_t)i), want[i], tol * (1 + fabs(want[i])))) return 0;
	return 1;
}

static void norms(DType t, struct pxlrt_norm d)
{
	d.dtype = (int)t;
	DType wide = t == DT_F64 ? DT_F64 : DT_F32;
	long c = d.groups * d.per, n = d.n * c * d.inner, parts = (d.n + d.rows - 1) / d.rows * c;
	void *x = noise_array(t, n, 3, 1), *w = noise_array(t, c, 2, 2), *b = noise_array(t, c, 1, 3), *g = noise_array(t, n, 1, 4);
	void *y[2], *dx[2], *dw[2], *db[2];
	for (int k = 0; k < 2; k++) y[k] = noise_array(t, n, 0, 0), dx[k] = noise_array(t, n, 0, 0), dw[k] = noise_array(wide, parts, 0, 0), db[k] = noise_array(wide, parts, 0, 0);
	for (int k = 0; k < NLANE; k++) {
		const struct pxlrt *rt = lanes[k].lane.rt;
		int j = k > 0, ok = !rt->group_norm(&lanes[k].lane.pub, &d, x, w, b, y[j]) && !rt->group_norm_back(&lanes[k].lane.pub, &d, x, w, g, dx[j], dw[j], db[j]);
		size_t bytes = (size_t)n * dtype_size(t), sums = (size_t)parts * dtype_size(wide);
		CHECK("", ok && (!j || (!memcmp(y[0], y[1], bytes) && !memcmp(dx[0], dx[1], bytes) && !memcmp(dw[0], dw[1], sums) && !memcmp(db[0], db[1], sums))));
	}
	double *xv = reals(t, x, n), *wv = reals(t, w, c), *bv = reals(t, b, c), *gv = reals(t, g, n), tol = 20 * eps_of(t);
	Want q = { reals(t, NULL, n), reals(t, NULL, n), reals(t, NULL, parts), reals(t, NULL, parts) };
	for (long j = 0; j < d.n * d.groups; j++) group(&d, j, xv, wv, bv, gv, &q);
	CHECK("", all_near(t, y[0], q.y, n, tol) && all_near(t, dx[0], q.dx, n, tol));
	CHECK("", all_near(wide, dw[0], q.dw, parts, 100 * eps_of(wide)) && all_near(wide, db[0], q.db, parts, 100 * eps_of(wide)));
	for (int k = 0; k < 2; k++) rt_free(NULL, y[k]), rt_free(NULL, dx[k]), rt_free(NULL, dw[k]), rt_free(NULL, db[k]);
	rt_free(NULL, x), rt_free(NULL, w), rt_free(NULL, b), rt_free(NULL, g);
	free(xv), free(wv), free(bv), free(gv), free(q.y), free(q.dx), free(q.dw), free(q.db);
}

static void orders(DType t)
{
	static const double level[] = { -20, 0, 10 };
	struct pxlrt_axis d = { (int)t, 120, 150, 1 };
	long n = 120 * 150, k = 9;
	void *x = noise_array(t, n, 50, 5), *y[2] = { noise_array(t, n, 0, 0), noise_array(t, n, 0, 0) };
	int *at[2] = { calloc((size_t)n, sizeof(int)), calloc((size_t)n, sizeof(int)) };
	unsigned bins[2][4] = { { 0 } };
	for (int i = 0; i < NLANE; i++) {
		const struct pxlrt *rt = lanes[i].lane.rt;
		struct pxlrt_lane *ln = &lanes[i].lane.pub;
		int j = i > 0, ok = !rt->topk(ln, &d, k, 1, x, y[j], at[j]);
		ok = ok && !rt->median(ln, &d, x, at_elem_mut(y[j], (int)t, 120 * k), at[j] + 120 * k);
		if (dtype_is_float(t)) ok = ok && !rt->histogram(ln, (int)t, 0, 3, level, x, n, bins[j]);
		ok = ok && !memcmp(y[0], y[j], (size_t)(120 * k + 120) * dtype_size(t)) && !memcmp(at[0], at[j], (size_t)(120 * k + 120) * sizeof(int));
		ok = ok && !memcmp(bins[0], bins[j], sizeof bins[0]);
		CHECK("", ok && (!dtype_is_float(t) || bins[j][0] + bins[j][1] + bins[j][2] + bins[j][3] == (unsigned)n));
	}
	rt_free(NULL, x), rt_free(NULL, y[0]), rt_free(NULL, y[1]);
	free(at[0]), free(at[1]);
}

/* more bins than a piece keeps for itself */
static void many_bins(void)
{
	enum { N = 50000, LEVELS = 2000 };
	static double level[LEVELS];
	static unsigned bins[LEVELS + 1], want[LEVELS + 1];
	void *x = noise_array(DT_F32, N, 1, 6);
	for (int i = 0; i < LEVELS; i++) level[i] = -1 + i * (2.0 / LEVELS);
	for (int i = 0; i < N; i++) {
		int at = 0;
		while (at < LEVELS && rt_get(DT_F32, x, (size_t)i) >= level[at]) at++;
		want[at]++;
	}
	for (int k = 0; k < NLANE; k++) {
		lanes[k].lane.rt->histogram(&lanes[k].lane.pub, DT_F32, 0, LEVELS, level, x, N, bins);
		CHECK("", !memcmp(bins, want, sizeof want));
	}
	rt_free(NULL, x);
}

/* stores past the caches: the bytes meant and no other, wherever they begin and end in a line */
static void streams(const struct pxlrt *rt)
{
	enum { ROOM = 512, MOST = 300 };
	const Isa *isa = &((const KernelTable *)(const void *)rt)->isa;
	static char from[MOST];
	char *to = rt_alloc(NULL, ROOM), want[ROOM];
	int ok = 1;
	for (int i = 0; i < MOST; i++) from[i] = (char)(i * 7 + 1);
	for (int at = 0; at < 70; at++)
		for (int n = 0; n <= MOST; n += n < 140 ? 1 : 37) {
			memset(to, 0, ROOM), memset(want, 0, ROOM);
			memcpy(want + at, from, (size_t)n);
			isa->stream->store(to + at, from, n);
			isa->stream->end();
			ok &= !memcmp(to, want, ROOM);
		}
	CHECK("", ok);
	rt_free(NULL, to);
}

int main(void)
{
	static const DType floats[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int k = 0; k < NLANE; k++) lane_open(&lanes[k], lane_threads[k], rts[k % nrt]);
	for (int f = 0; f < 4; f++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) norms(floats[f], shapes[s]);
	norms(DT_F64, (struct pxlrt_norm){ 0, 2051, 1, 1023, 1, 64, 1e-5 });          /* results of more than 16 MB, */
	norms(DT_F32, (struct pxlrt_norm){ 0, 4100, 1, 1024, 1, 64, 1e-5 });          /* also in whole lines */
	for (int i = 0; i < nrt; i++) streams(rts[i]);
	for (int t = DT_I8; t < DT_COUNT; t++)
		if (!dtype_is_f8((DType)t)) orders((DType)t);
	many_bins();
	for (int k = 0; k < NLANE; k++) lane_close(&lanes[k]);
	return check_done();
}
