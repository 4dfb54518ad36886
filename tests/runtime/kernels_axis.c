/* kernels_axis.c — softmax and its gradient, argmax, running sums, gather and scatter_add, against plain C;
 * the same bits for any number of threads. */
#include "tests/runtime/kernels.h"

static const long shapes[][3] = { { 1, 1, 1 }, { 3, 10, 1 }, { 2, 1500, 1 }, { 70, 33, 1 }, { 2, 7, 5 }, { 3, 40, 300 }, { 1, 5000, 2 }, { 0, 4, 1 }, { 2, 3, 0 } };
enum { NSHAPE = sizeof shapes / sizeof *shapes, NLANE = 4 };
static TestLane lanes[NLANE];

static const int lane_threads[NLANE] = { 1, 2, 3, 8 };

static double *doubles(DType t, const void *p, long n)
{
	double *v = malloc(sizeof *v * (size_t)(n + 1));
	for (long i = 0; i < n; i++) v[i] = rt_get(t, p, (size_t)i);
	return v;
}

#define LINES(d) for (long o = 0; o < (d).outer; o++) for (long i = 0; i < (d).inner; i++)
#define AT(d, r) ((o * (d).n + (r)) * (d).inner + i)

/* x - m - ln Σ e^(x - m), in place too */
static void log_softmax(DType t, const long *s)
{
	struct pxlrt_axis d = { (int)t, s[0], s[1], s[2] };
	long n = s[0] * s[1] * s[2];
	void *x = noise_array(t, n, 6, 1), *y = noise_array(t, n, 0, 3), *z = noise_array(t, n, 0, 3);
	int ok = 1;
	for (int k = 0; k < NLANE; k++) {
		lanes[k].lane.rt->softmax(&lanes[k].lane.pub, &d, 1, x, k ? z : y);
		CHECK("", !k || !memcmp(y, z, (size_t)n * dtype_size(t)));
	}
	double *xv = doubles(t, x, n), *yv = doubles(t, y, n);
	LINES(d) {
		double m = -1e300, sum = 0;
		for (long r = 0; r < d.n; r++) m = fmax(m, xv[AT(d, r)]);
		for (long r = 0; r < d.n; r++) sum += exp(xv[AT(d, r)] - m);
		for (long r = 0; r < d.n; r++) { double w = xv[AT(d, r)] - m - log(sum); ok &= near(yv[AT(d, r)], w, eps_of(t) * (4 + 2 * fabs(w))); }
	}
	CHECK("", ok);
	lanes[0].lane.rt->softmax(&lanes[0].lane.pub, &d, 1, x, x);
	CHECK("", !memcmp(x, y, (size_t)n * dtype_size(t)));
	free(xv), free(yv);
	rt_free(NULL, x), rt_free(NULL, y), rt_free(NULL, z);
}

static void softmax(DType t, const long *s)
{
	struct pxlrt_axis d = { (int)t, s[0], s[1], s[2] };
	long n = s[0] * s[1] * s[2];
	void *x = noise_array(t, n, 6, 1), *g = noise_array(t, n, 1, 2), *y = noise_array(t, n, 0, 3), *z = noise_array(t, n, 0, 3), *dx = noise_array(t, n, 0, 3);
	size_t bytes = (size_t)n * dtype_size(t);
	for (int k = 0; k < NLANE; k++) {
		lanes[k].lane.rt->softmax(&lanes[k].lane.pub, &d, 0, x, k ? z : y);
		CHECK("", !k || !memcmp(y, z, bytes));
	}
	double *xv = doubles(t, x, n), *yv = doubles(t, y, n), *gv = doubles(t, g, n), tol = 10 * eps_of(t);        /* x - m is rounded at up to 12 */
	int ok = 1, back = 1;
	LINES(d) {
		double m = -1e300, sum = 0;
		for (long r = 0; r < d.n; r++) m = fmax(m, xv[AT(d, r)]);
		for (long r = 0; r < d.n; r++) sum += exp(xv[AT(d, r)] - m);
		for (long r = 0; r < d.n; r++) { double w = exp(xv[AT(d, r)] - m) / sum; ok &= near(yv[AT(d, r)], w, tol * w + (t == DT_F16 ? 6e-8 : 1e-40)); }
	}
	CHECK("", ok);
	for (int k = 0; k < NLANE; k++) {
		lanes[k].lane.rt->softmax_grad(&lanes[k].lane.pub, &d, y, g, k ? z : dx);
		CHECK("", !k || !memcmp(dx, z, bytes));
	}
	double *dv = doubles(t, dx, n);
	LINES(d) {
		double dot = 0;
		for (long r = 0; r < d.n; r++) dot += yv[AT(d, r)] * gv[AT(d, r)];
		for (long r = 0; r < d.n; r++) { double w = yv[AT(d, r)] * (gv[AT(d, r)] - dot); back &= near(dv[AT(d, r)], w, tol * yv[AT(d, r)] + (t == DT_F16 ? 6e-8 : 1e-40)); }
	}
	CHECK("", back);
	lanes[0].lane.rt->softmax(&lanes[0].lane.pub, &d, 0, x, x);          /* in place */
	CHECK("", !memcmp(x, y, bytes));
	free(xv), free(yv), free(gv), free(dv);
	rt_free(NULL, x), rt_free(NULL, g), rt_free(NULL, y), rt_free(NULL, z), rt_free(NULL, dx);
}

static void extremes(DType t, const long *s, int smallest)
{
	struct pxlrt_axis d = { (int)t, s[0], s[1], s[2] };
	long n = s[0] * s[1] * s[2], m = s[0] * s[2];
	void *x = noise_array(t, n, 20, 5);
	for (long i = 0; i < n; i++) rt_set(t, x, (size_t)i, floor(rt_get(t, x, (size_t)i)));        /* ties */
	int *y = malloc(sizeof *y * (size_t)(m + 1)), *z = malloc(sizeof *z * (size_t)(m + 1)), ok = 1;
	for (int k = 0; k < NLANE; k++) {
		lanes[k].lane.rt->argmax(&lanes[k].lane.pub, &d, smallest, x, k ? z : y);
		CHECK("", !k || !memcmp(y, z, sizeof *y * (size_t)m));
	}
	LINES(d) {
		long best = 0;
		for (long r = 1; r < d.n; r++) {
			double p = rt_get(t, x, (size_t)AT(d, r)), q = rt_get(t, x, (size_t)AT(d, best));
			if (smallest ? p < q : p > q) best = r;
		}
		ok &= y[o * d.inner + i] == best;
	}
	CHECK("", ok);
	free(y), free(z), rt_free(NULL, x);
}

static void nan_extremes(void)
{
	const struct pxlrt *rt = lanes[0].lane.rt;
	float a[5] = { 1, NAN, INFINITY, NAN, 0 }, b[10] = { 1, 1, NAN, 2, INFINITY, 3, NAN, 2, 0, 9 };
	int y[2];
	rt->argmax(&lanes[0].lane.pub, &(struct pxlrt_axis){ DT_F32, 1, 5, 1 }, 0, a, y);
	CHECK("", y[0] == 1);
	rt->argmax(&lanes[0].lane.pub, &(struct pxlrt_axis){ DT_F32, 1, 5, 1 }, 1, a, y);
	CHECK("", y[0] == 4);
	rt->argmax(&lanes[0].lane.pub, &(struct pxlrt_axis){ DT_F32, 1, 5, 2 }, 0, b, y);
	CHECK("", y[0] == 1 && y[1] == 4);
	u64 u[2] = { 1, 1ull << 63 };
	rt->argmax(&lanes[0].lane.pub, &(struct pxlrt_axis){ DT_U64, 1, 2, 1 }, 0, u, y);
	CHECK("", y[0] == 1);
	CHECK("", rt->argmax(&lanes[0].lane.pub, &(struct pxlrt_axis){ DT_F32, 1, 0, 1 }, 0, a, y) == RT_ERUN);
	lanes[0].lane.err.status = 0;
}

static void running(DType t, const long *s, int reverse)
{
	struct pxlrt_axis d = { (int)t, s[0], s[1], s[2] };
	long n = s[0] * s[1] * s[2];
	void *x = noise_array(t, n, 3, 6), *y = noise_array(t, n, 0, 0), *z = noise_array(t, n, 0, 0);
	int ok = 1;
	for (int k = 0; k < NLANE; k++) {
		lanes[k].lane.rt->cumsum(&lanes[k].lane.pub, &d, reverse, x, k ? z : y);
		CHECK("", !k || !memcmp(y, z, (size_t)n * dtype_size(t)));
	}
	LINES(d) {
		double sum = 0, mag = 0;
		for (long r = 0; r < d.n; r++) {
			size_t at = (size_t)AT(d, reverse ? d.n - 1 - r : r);
			sum += rt_get(t, x, at), mag += fabs(rt_get(t, x, at));
			if (dtype_is_float(t)) ok &= near(rt_get(t, y, at), sum, eps_of(t) * fabs(sum) + 1e-15 * mag);
			else { char b[8]; int64_t w = (int64_t)sum; rt_convert(t, b, DT_I64, &w, 1); ok &= rt_get(t, y, at) == rt_get(t, b, 0); }
		}
	}
	CHECK("", ok);
	rt_free(NULL, x), rt_free(NULL, y), rt_free(NULL, z);
}

/* --- gather, scatter_add ------------------------------------------------------------------------------------------ */

static void gathers(DType t, DType it, const long *s, int oor)
{
	enum { COUNT = 50 };
	struct pxlrt_axis d = { (int)t, s[0], s[1], s[2] };
	long n = s[0] * s[1] * s[2], m = s[0] * COUNT * s[2];
	void *x = noise_array(t, n, 50, 7), *y = noise_array(t, m, 0, 0), *z = noise_array(t, n, 0, 0), *w = noise_array(t, n, 0, 0), *idx = noise_array(it, COUNT, 0, 0);
	int64_t at[COUNT];
	for (int i = 0; i < COUNT; i++) {
		at[i] = (int64_t)((noise((unsigned long)i) + 1) / 2 * (double)s[1]);
		if (oor && i % 9 == 4) at[i] = i & 1 && dtype_info[it].cls == 'i' ? -1 : s[1] < 100 ? 120 : s[1];
		rt_convert(it, (char *)idx + (size_t)i * dtype_size(it), DT_I64, &at[i], 1);
		at[i] = rt_get_int(it, idx, (size_t)i);
	}
	int ok = 1, st = 0;
	for (int k = 0; k < NLANE; k++) st |= lanes[k].lane.rt->gather(&lanes[k].lane.pub, &d, (int)it, COUNT, oor, x, idx, y);
	for (long o = 0; o < s[0]; o++)
		for (int i = 0; i < COUNT; i++)
			for (long j = 0; j < s[2]; j++) {
				double want = at[i] < 0 || at[i] >= s[1] ? 0 : rt_get(t, x, (size_t)((o * s[1] + at[i]) * s[2] + j));
				ok &= rt_get(t, y, (size_t)((o * COUNT + i) * s[2] + j)) == want;
			}
	CHECK("", ok && !st);
	for (int k = 0; k < NLANE; k++) {
		memset(k ? w : z, 0, (size_t)n * dtype_size(t));
		lanes[k].lane.rt->scatter_add(&lanes[k].lane.pub, &d, (int)it, COUNT, oor, y, idx, k ? w : z);
		CHECK("", !k || !memcmp(z, w, (size_t)n * dtype_size(t)));
	}
	for (long o = 0; o < s[0]; o++)
		for (long r = 0; r < s[1]; r++)
			for (long j = 0; j < s[2]; j++) {
				double sum = 0, mag = 0;
				for (int i = 0; i < COUNT; i++)
					if (at[i] == r) sum += rt_get(t, y, (size_t)((o * COUNT + i) * s[2] + j)), mag += fabs(rt_get(t, y, (size_t)((o * COUNT + i) * s[2] + j)));
				double got = rt_get(t, z, (size_t)((o * s[1] + r) * s[2] + j));
				if (dtype_is_float(t)) ok &= near(got, sum, eps_of(t) * fabs(sum) + (t == DT_F64 ? 1e-15 : 3e-6) * mag);
				else { char b[8]; int64_t v = (int64_t)sum; rt_convert(t, b, DT_I64, &v, 1); ok &= got == rt_get(t, b, 0); }
			}
	CHECK("", ok);
	rt_free(NULL, x), rt_free(NULL, y), rt_free(NULL, z), rt_free(NULL, w), rt_free(NULL, idx);
}

static void bad_gathers(void)
{
	float x[6] = { 1, 2, 3, 4, 5, 6 }, y[6] = { 0 };
	struct pxlrt_axis d = { DT_F32, 1, 3, 2 };
	for (int k = 0; k < NLANE; k++) {
		lanes[k].lane.err.status = 0;
		CHECK("", lanes[k].lane.rt->gather(&lanes[k].lane.pub, &d, DT_I32, 3, 0, x, (int[]){ 0, 3, -1 }, y) == RT_ERUN);
		CHECK("", strstr(lanes[k].lane.err.text, "index 3 is out of range for an axis of 3") != NULL);
		lanes[k].lane.err.status = 0;
	}
	CHECK("", lanes[0].lane.rt->gather(&lanes[0].lane.pub, &d, DT_U64, 1, 0, x, (u64[]){ ~0ull }, y) == RT_ERUN && strstr(lanes[0].lane.err.text, "18446744073709551615"));
	lanes[0].lane.err.status = 0;
	/* adding rows reports what taking them does: in f32 straight, in f16 through scratch or, where that is too small, through blocks */
	static const struct { DType t; long n; } sums[] = { { DT_F32, 3 }, { DT_F64, 3 }, { DT_I16, 3 }, { DT_F16, 3 }, { DT_BF16, 1000000 }, { DT_F32, 0 }, { DT_F16, 0 } };
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		struct pxlrt_axis to = { (int)sums[i].t, 1, sums[i].n, 1 };
		char *sum = calloc((size_t)sums[i].n + 1, 8), want[99];
		snprintf(want, sizeof want, "index -1 is out of range for an axis of %ld", sums[i].n);
		for (int k = 0; k < NLANE; k++) {
			CHECK("", lanes[k].lane.rt->scatter_add(&lanes[k].lane.pub, &to, DT_I32, 1, 0, x, (int[]){ -1 }, sum) == RT_ERUN);
			CHECK("", strstr(lanes[k].lane.err.text, want) != NULL);
			lanes[k].lane.err.status = 0;
			CHECK("", lanes[k].lane.rt->scatter_add(&lanes[k].lane.pub, &to, DT_I32, 1, 1, x, (int[]){ -1 }, sum) == 0);
		}
		free(sum);
	}
	/* the lowest failing piece is the one reported, whatever the number of threads */
	enum { MANY = 100000 };
	int *idx = calloc(MANY, sizeof *idx);
	float *out = calloc(MANY, sizeof *out);
	for (int i = 40000; i < MANY; i += 1000) idx[i] = i;
	for (int k = 0; k < NLANE; k++) {
		CHECK("", lanes[k].lane.rt->gather(&lanes[k].lane.pub, &(struct pxlrt_axis){ DT_F32, 1, 3, 1 }, DT_I32, MANY, 0, x, idx, out) == RT_ERUN);
		CHECK("", strstr(lanes[k].lane.err.text, "index 40000 ") != NULL);
		lanes[k].lane.err.status = 0;
	}
	free(idx), free(out);
}

int main(void)
{
	static const DType floats[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int k = 0; k < NLANE; k++) lane_open(&lanes[k], lane_threads[k], rts[k % nrt]);
	for (int s = 0; s < NSHAPE; s++) {
		for (int f = 0; f < 4; f++) softmax(floats[f], shapes[s]), log_softmax(floats[f], shapes[s]);
		for (int t = DT_I8; t < DT_COUNT; t++) {
			if (dtype_is_f8((DType)t)) continue;
			extremes((DType)t, shapes[s], 0), extremes((DType)t, shapes[s], 1);
			running((DType)t, shapes[s], 0), running((DType)t, shapes[s], 1);
			if (s < 6) gathers((DType)t, DT_I32, shapes[s], 0), gathers((DType)t, DT_I64, shapes[s], 1);
		}
		if (s < 6) gathers(DT_F32, DT_U32, shapes[s], 1);
	}
	nan_extremes();
	bad_gathers();
	for (int k = 0; k < NLANE; k++) lane_close(&lanes[k]);
	return check_done();
}
