/* kernels_random.c — random tensors: pieces agree with the whole, bits are fixed, moments and ranges are right. */
#include "tests/runtime/kernels.h"

enum { N = 200000, NLANE = 4 };
static TestLane lanes[NLANE];
static const unsigned seed[2] = { 12345, 678 };

typedef int (*Draw)(struct pxlrt_lane *, int, const unsigned *, double, double, void *, long);

static int mask(struct pxlrt_lane *ln, int t, const unsigned *s, double p, double unused, void *y, long n)
{
	(void)unused;
	return rt_lane(ln)->rt->dropout_mask(ln, t, s, p, y, n);
}

static double *draw(Draw d, DType t, double a, double b)
{
	static double v[N];
	char *y = rt_alloc(NULL, N * 8), *z = rt_alloc(NULL, N * 8);
	for (int k = 0; k < NLANE; k++) {
		d(&lanes[k].lane.pub, (int)t, seed, a, b, k ? z : y, N);
		CHECK("", !k || !memcmp(y, z, N * dtype_size(t)));
	}
	memset(z, 0, N * 8);
	d(&lanes[0].lane.pub, (int)t, seed, a, b, z, 1001);                     /* a shorter tensor is a prefix */
	CHECK("", !memcmp(y, z, 1001 * dtype_size(t)) && z[1001 * dtype_size(t)] == 0);
	for (long i = 0; i < N; i++) v[i] = rt_get(t, y, (size_t)i);
	rt_free(NULL, y), rt_free(NULL, z);
	return v;
}

static void moments(const double *v, double *mean, double *var, double *lag)
{
	*mean = *var = *lag = 0;
	for (long i = 0; i < N; i++) *mean += v[i] / N;
	for (long i = 0; i < N; i++) *var += (v[i] - *mean) * (v[i] - *mean) / N;
	for (long i = 1; i < N; i++) *lag += (v[i] - *mean) * (v[i - 1] - *mean) / N / *var;
}

static void distributions(DType t)
{
	const struct pxlrt *rt = lanes[0].lane.rt;
	double mean, var, lag, *v = draw(rt->random_uniform, t, -1, 3);
	int ok = 1;
	long bins[8] = { 0 };
	for (long i = 0; i < N; i++) ok &= v[i] >= -1 && v[i] < 3, bins[(int)((v[i] + 1) * 2)]++;
	for (int i = 0; i < 8; i++) ok &= labs(bins[i] - N / 8) < 900;
	moments(v, &mean, &var, &lag);
	CHECK("", ok && fabs(mean - 1) < 0.02 && fabs(var - 16.0 / 12) < 0.02 && fabs(lag) < 0.01);
	v = draw(rt->random_normal, t, 2, 3);
	moments(v, &mean, &var, &lag);
	long tail = 0;
	for (long i = 0; i < N; i++) tail += fabs(v[i] - 2) > 6;
	CHECK("", fabs(mean - 2) < 0.03 && fabs(var - 9) < 0.15 && fabs(lag) < 0.01 && labs(tail - 9100) < 500);
	v = draw(mask, t, 0.25, 0);
	long zeros = 0;
	for (long i = 0; i < N; i++) zeros += v[i] == 0, ok &= v[i] == 0 || fabs(v[i] * 0.75 - 1) < 4 * eps_of(t);
	CHECK("", ok && labs(zeros - N / 4) < 1000);
	v = draw(mask, t, 0, 0);
	for (long i = 0; i < N; i++) ok &= v[i] == 1;
	CHECK("", ok);
	/* high is never reached, however coarse the type; an empty range gives its one value */
	v = draw(rt->random_uniform, t, 0, 0.001);
	for (long i = 0; i < N; i++) ok &= v[i] < 0.001;
	v = draw(rt->random_uniform, t, -4, -3.999);
	for (long i = 0; i < N; i++) ok &= v[i] < -3.999;
	v = draw(rt->random_uniform, t, 1.5, 1.5);
	for (long i = 0; i < N; i++) ok &= v[i] == 1.5;
	CHECK("", ok);
}

static void fixed_bits(void)
{
	const struct pxlrt *rt = lanes[0].lane.rt;
	/* the published answers of Philox 4×32-10 */
	uint32_t w[4 * DRAW], zero[2] = { 0, 0 };
	((const KernelTable *)(const void *)rt)->isa.random->philox(w, zero, 0, 0, 1);
	CHECK("", w[0] == 0x6627e8d5u && w[DRAW] == 0xe169c58du && w[2 * DRAW] == 0xbc57ac4cu && w[3 * DRAW] == 0x9b00dbd8u);
	unsigned a[2], b[2], c[2];
	rt->split_seed(seed, 0, a), rt->split_seed(seed, 1, b), rt->split_seed(seed, 0, c);
	CHECK("R437", a[0] == 1423440686u && a[1] == 1101425091u && b[0] == 910071560u && b[1] == 3139301819u && !memcmp(a, c, sizeof a));
	rt->split_seed(seed, 4294967295u, c);
	CHECK("R437", c[0] == 161768307u && c[1] == 152652752u);
	float x[4], y[4];
	rt->random_normal(&lanes[0].lane.pub, DT_F32, a, 0, 1, x, 4);
	rt->random_normal(&lanes[0].lane.pub, DT_F32, b, 0, 1, y, 4);
	CHECK("", x[0] != y[0] && x[1] != y[1]);
}

/* different numbers give different seeds, none of them the parent, even where words of 32 bits would collide */
static void split_apart(void)
{
	enum { SEEDS = 1 << 18, SLOTS = 1 << 20 };
	uint64_t *set = rt_alloc(NULL, SLOTS * 8), parent = (uint64_t)seed[0] << 32 | seed[1];
	int apart = 1;
	memset(set, 0, SLOTS * 8);
	for (unsigned i = 0; i < SEEDS; i++) {
		unsigned s[2];
		lanes[0].lane.rt->split_seed(seed, i, s);
		uint64_t w = (uint64_t)s[0] << 32 | s[1], at = w % SLOTS;
		while (set[at] && set[at] != w) at = (at + 1) % SLOTS;
		apart &= !set[at] && w != parent;
		set[at] = w;
	}
	CHECK("R437", apart);
	rt_free(NULL, set);
}

int main(void)
{
	static const DType floats[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int k = 0; k < NLANE; k++) lane_open(&lanes[k], 1 + k, rts[k % nrt]);
	for (int f = 0; f < 4; f++) distributions(floats[f]);
	fixed_bits();
	split_apart();
	for (int k = 0; k < NLANE; k++) lane_close(&lanes[k]);
	return check_done();
}
