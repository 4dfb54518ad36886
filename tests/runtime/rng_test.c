/* rng_test.c — initial values: the same bits for ever, independent streams, the right distributions. */

#include "runtime/runtime.h"
#include "tests/check.h"

enum { N = 1 << 20 };
static float x[N], y[N];

static void fill(RtInitKind kind, double a, double b, const char *name, uint32_t draw, uint64_t seed, float *out, size_t n)
{
	RtInit r = { kind, a, b, name, draw, NULL };
	rt_init_fill(&r, seed, DT_F32, out, n);
}

static uint64_t hash(const void *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (const unsigned char *c = p; n--; c++) h = (h ^ *c) * 0x100000001b3u;
	return h;
}

/* what was written by the first version: a change here changes every model trained from a seed */
static void test_bits(void)
{
	static const uint64_t want[] = { 0x2807bf1eb51df206u, 0x52c813a7ecf163au, 0x5d93b687de3fa83fu };
	for (int k = INIT_NORMAL; k <= INIT_TRUNCATED; k++) {
		fill((RtInitKind)k, 0, 1, "fc1.weight", 0, 42, x, 1000);
		uint64_t h = hash(x, 4000);
		CHECK("", h == want[k - INIT_NORMAL]);
		if (h != want[k - INIT_NORMAL]) printf("kind %d hash 0x%llx\n", k, (unsigned long long)h);
	}
}

/* number i depends on i, not on how many are drawn */
static void test_streams(void)
{
	for (int k = INIT_NORMAL; k <= INIT_TRUNCATED; k++) {
		fill((RtInitKind)k, 0, 1, "w", 0, 1, x, 1000);
		for (size_t n = 0; n < 300; n += 37) {
			memset(y, 0x55, sizeof *y * (n + 1));
			fill((RtInitKind)k, 0, 1, "w", 0, 1, y, n);
			uint32_t after;
			memcpy(&after, y + n, 4);
			CHECK("", !memcmp(x, y, n * sizeof *x) && after == 0x55555555);
		}
		for (int other = 0; other < 3; other++) {                     /* name, draw and seed each make another stream */
			fill((RtInitKind)k, 0, 1, other == 0 ? "v" : "w", other == 1, 1 + (uint64_t)(other == 2), y, 1000);
			int same = 0;
			for (int i = 0; i < 1000; i++) same += x[i] == y[i];
			CHECK("", same < 3);
		}
	}
}

typedef struct Moments { double mean, var, skew, kurt, min, max, lag; } Moments;

static Moments moments(const float *v, size_t n)
{
	Moments m = { .min = v[0], .max = v[0] };
	for (size_t i = 0; i < n; i++) m.mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		double d = v[i] - m.mean;
		m.var += d * d / (double)n;
		m.skew += d * d * d / (double)n;
		m.kurt += d * d * d * d / (double)n;
		if (i >= 64) m.lag += d * (v[i - 64] - m.mean) / (double)n;      /* 64 apart: the two halves of one pair */
		if (v[i] < m.min) m.min = v[i];
		if (v[i] > m.max) m.max = v[i];
	}
	return m;
}

/* largest distance between the empirical and the true distribution function, over a grid */
static double distance(const float *v, size_t n, double (*cdf)(double))
{
	double worst = 0;
	for (double at = -3; at <= 3; at += .125) {
		size_t below = 0;
		for (size_t i = 0; i < n; i++) below += v[i] < at;
		worst = fmax(worst, fabs((double)below / (double)n - cdf(at)));
	}
	return worst;
}

static double cdf_normal(double t) { return .5 * erfc(-t / sqrt(2)); }
static double cdf_uniform(double t) { return t < 0 ? 0 : t > 1 ? 1 : t; }
static double cdf_truncated(double t) { return t < -2 ? 0 : t > 2 ? 1 : (cdf_normal(t) - cdf_normal(-2)) / (cdf_normal(2) - cdf_normal(-2)); }

/* a million numbers: standard errors are about 0.001 to 0.01, tolerances some five of them */
static void test_distributions(void)
{
	fill(INIT_NORMAL, 0, 1, "w", 0, 3, x, N);
	Moments m = moments(x, N);
	CHECK("R444", fabs(m.mean) < .005 && fabs(m.var - 1) < .008 && fabs(m.skew) < .015 && fabs(m.kurt - 3) < .03);
	CHECK("", fabs(m.lag) < .005 && m.max > 4.2 && m.min < -4.2 && m.max < 7 && distance(x, N, cdf_normal) < .0025);
	fill(INIT_UNIFORM, 0, 1, "w", 0, 3, x, N);
	m = moments(x, N);
	CHECK("R444", m.min >= 0 && m.max < 1 && fabs(m.mean - .5) < .002 && fabs(m.var - 1 / 12.0) < .0005);
	CHECK("", fabs(m.lag) < .0005 && distance(x, N, cdf_uniform) < .0025);
	fill(INIT_TRUNCATED, 0, 1, "w", 0, 3, x, N);
	m = moments(x, N);
	CHECK("R444", m.min >= -2 && m.max <= 2 && m.max > 1.99 && fabs(m.mean) < .005 && fabs(m.var - .7737) < .005);
	CHECK("", fabs(m.lag) < .005 && distance(x, N, cdf_truncated) < .0025);
	fill(INIT_NORMAL, 10, .5, "w", 0, 3, x, 100000);
	m = moments(x, 100000);
	CHECK("R444", fabs(m.mean - 10) < .01 && fabs(m.var - .25) < .005);
	fill(INIT_UNIFORM, -3, -1, "w", 0, 3, x, 100000);
	m = moments(x, 100000);
	CHECK("R444", m.min >= -3 && m.max < -1 && fabs(m.mean + 2) < .01);
}

static void test_types(void)
{
	static const DType floats[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
	static char buf[8 * 20000];
	for (size_t k = 0; k < 4; k++) {
		DType t = floats[k];
		RtInit normal = { INIT_NORMAL, 0, 1, "w", 0, NULL }, low = { INIT_UNIFORM, -1, 0, "w", 0, NULL }, high = { INIT_UNIFORM, 1, 2, "w", 0, NULL };
		double mean = 0, var = 0, top = -9, top2 = -9;
		rt_init_fill(&normal, 5, t, buf, 20000);
		for (size_t i = 0; i < 20000; i++) mean += rt_get(t, buf, i) / 20000, var += rt_get(t, buf, i) * rt_get(t, buf, i) / 20000;
		CHECK("R444", fabs(mean) < .04 && fabs(var - 1) < .06);
		rt_init_fill(&low, 5, t, buf, 20000);
		for (size_t i = 0; i < 20000; i++) top = fmax(top, rt_get(t, buf, i));
		rt_init_fill(&high, 5, t, buf, 20000);
		for (size_t i = 0; i < 20000; i++) top2 = fmax(top2, rt_get(t, buf, i));
		CHECK("R444", top < 0 && top > -.01 && top2 < 2 && top2 > 1.98);   /* never reached, however coarse the type */
	}
	RtInit steps = { INIT_ARANGE, 3, -2, NULL, 0, NULL }, full = { INIT_FULL, 7, 0, NULL, 0, NULL }, zeros = { INIT_ZEROS, 9, 9, NULL, 0, NULL };
	for (int t = 0; t < DT_COUNT; t++) {
		if (dtype_is_f8((DType)t) || t == DT_BOOL) continue;
		rt_init_fill(&full, 0, (DType)t, buf, 300);
		CHECK("", rt_get((DType)t, buf, 0) == 7 && rt_get((DType)t, buf, 299) == 7);
		rt_init_fill(&zeros, 0, (DType)t, buf, 300);
		CHECK("", rt_get((DType)t, buf, 0) == 0 && rt_get((DType)t, buf, 299) == 0);
		if (dtype_info[t].cls == 'u' || t == DT_I8) continue;
		rt_init_fill(&steps, 0, (DType)t, buf, 100);
		CHECK("", rt_get((DType)t, buf, 0) == 3 && rt_get((DType)t, buf, 99) == -195);
	}
	RtInit data = { INIT_DATA, 0, 0, NULL, 0, "abcdefgh" };
	rt_init_fill(&data, 0, DT_F64, buf, 1);
	CHECK("", !memcmp(buf, "abcdefgh", 8));
	rt_init_fill(&data, 0, DT_F64, NULL, 0);
}

/* for timing: what is drawn repeats, the rest is as ever */
static void test_rough(void)
{
	enum { MORE = 2 * RT_ROUGH + 100 };
	static uint16_t a[MORE], b[MORE];
	static const RtInitKind drawn[] = { INIT_NORMAL, INIT_UNIFORM, INIT_TRUNCATED }, plain[] = { INIT_ZEROS, INIT_FULL, INIT_ARANGE };
	for (int k = 0; k < 3; k++) {
		RtInit r = { drawn[k], 0, 1, "w", 0, NULL }, p = { plain[k], 3, 0.5, "w", 0, NULL };
		rt_init_fill(&r, 1, DT_BF16, a, MORE);
		rt_init_fill_rough(&r, 1, DT_BF16, b, MORE);
		CHECK("", !memcmp(a, b, RT_ROUGH * sizeof *a) && memcmp(a, b, sizeof a));
		CHECK("", !memcmp(b, b + RT_ROUGH, RT_ROUGH * sizeof *b) && !memcmp(b, b + 2 * RT_ROUGH, 100 * sizeof *b));
		rt_init_fill(&p, 1, DT_BF16, a, MORE);
		rt_init_fill_rough(&p, 1, DT_BF16, b, MORE);
		CHECK("", !memcmp(a, b, sizeof a));
	}
}

int main(void)
{
	test_rough();
	test_bits();
	test_streams();
	test_distributions();
	test_types();
	return check_done();
}
