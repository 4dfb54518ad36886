/* kernels.c — how fast the kernels are: GFLOP/s of matrix products, nanoseconds per element of
 * the rest.  `build/b/kernels [threads [convolution]]`; the best of several runs, so that a busy machine misleads least. */
#include "runtime/kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* best seconds of one call over about 60 ms; calls are timed one by one, so that some miss the scheduler's slices */
#define BEST(best, ...) do { \
	best = 1e9; \
	{ __VA_ARGS__; } \
	double stop_ = now() + 0.06; \
	do { \
		double t_ = now(); \
		{ __VA_ARGS__; } \
		t_ = now() - t_; \
		if (t_ < best) best = t_; \
	} while (now() < stop_); \
} while (0)

static float *floats(long n)
{
	float *p = rt_alloc(NULL, (size_t)n * 4);
	uint32_t z = (uint32_t)n;
	for (long i = 0; i < n; i++) {
		z = z * 1664525u + 1013904223u;
		p[i] = (float)(int32_t)z * 0x1p-31f;
	}
	return p;
}

static RtLane lane(const struct pxlrt *rt, RtPool *pool)
{
	RtLane l;
	memset(&l, 0, sizeof l);
	l.rt = rt, l.pool = pool;
	l.scratch = rt_alloc(NULL, RT_SCRATCH_BYTES);
	return l;
}

typedef struct Product { long m, n, k; int ta, tb; double beta; const char *what; } Product;
static const Product products[] = {
	{ 8, 512, 784, 0, 0, 0, "mlp b=8 forward 1" }, { 8, 512, 512, 0, 0, 0, "forward 2" }, { 8, 10, 512, 0, 0, 0, "forward 4" },
	{ 8, 512, 512, 0, 1, 0, "dy Wt" }, { 8, 512, 10, 0, 1, 0, "dy Wt 4" },
	{ 784, 512, 8, 1, 0, 1, "W += xt dy" }, { 512, 512, 8, 1, 0, 1, "W += xt dy 2" }, { 512, 10, 8, 1, 0, 1, "W += xt dy 4" },
	{ 1, 512, 784, 0, 0, 0, "b=1" }, { 80, 512, 784, 0, 0, 0, "b=80" },
	{ 32, 512, 784, 0, 0, 0, "b=32" }, { 32, 512, 512, 0, 1, 0, "b=32 dy Wt" }, { 784, 512, 32, 1, 0, 1, "b=32 xt dy" },
	{ 128, 512, 784, 0, 0, 0, "b=128" }, { 128, 512, 512, 0, 1, 0, "b=128 dy Wt" }, { 784, 512, 128, 1, 0, 1, "b=128 xt dy" },
	{ 512, 512, 784, 0, 0, 0, "b=512" }, { 512, 512, 512, 0, 1, 0, "b=512 dy Wt" }, { 784, 512, 512, 1, 0, 1, "b=512 xt dy" },
	{ 512, 1024, 256, 0, 0, 0, "gpt mlp" }, { 512, 256, 1024, 0, 0, 0, "gpt mlp 2" }, { 1024, 1024, 1024, 0, 0, 0, "square" },
};

static void bench_products(RtPool *pool)
{
	RtLane one = lane(rt_table(), pool);
	printf("%-20s %5s %5s %5s   %9s\n", "product", "m", "n", "k", "GFLOP/s");
	for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
		const Product *p = &products[i];
		struct pxlrt_gemm d = { .dtype = DT_F32, .ta = p->ta, .tb = p->tb, .m = p->m, .n = p->n, .k = p->k, .alpha = p->beta != 0 ? 1e-6 : 1, .beta = p->beta,
		                        .lda = p->ta ? p->m : p->k, .ldb = p->tb ? p->k : p->n, .ldc = p->n };
		float *a = floats(p->m * p->k), *b = floats(p->k * p->n), *c = floats(p->m * p->n);
		double t0, flop = 2e-9 * (double)p->m * (double)p->n * (double)p->k;
		BEST(t0, one.rt->matmul(&one.pub, &d, a, b, c, NULL, NULL));
		printf("%-20s %5ld %5ld %5ld   %9.1f  %8.1f us\n", p->what, p->m, p->n, p->k, flop / t0, t0 * 1e6);
		rt_free(NULL, a), rt_free(NULL, b), rt_free(NULL, c);
	}
	rt_free(NULL, one.scratch);
}

typedef struct ConvShape { long images, c, m, x, k, stride, pad, groups; const char *what; } ConvShape;
static const ConvShape convs[] = {
	{ 8, 1, 6, 28, 5, 1, 2, 1, "lenet 1, b=8" }, { 8, 6, 16, 14, 5, 1, 0, 1, "lenet 2, b=8" }, { 64, 1, 6, 28, 5, 1, 2, 1, "lenet 1, b=64" }, { 64, 6, 16, 14, 5, 1, 0, 1, "lenet 2, b=64" },
	{ 2, 64, 64, 56, 3, 1, 1, 1, "resnet 56" }, { 2, 128, 128, 28, 3, 1, 1, 1, "resnet 28" }, { 2, 256, 256, 14, 3, 1, 1, 1, "resnet 14" }, { 2, 512, 512, 7, 3, 1, 1, 1, "resnet 7" },
	{ 1, 3, 64, 224, 7, 2, 3, 1, "resnet first" }, { 2, 64, 128, 56, 3, 2, 1, 1, "stride 2" }, { 2, 64, 256, 56, 1, 1, 0, 1, "1x1" }, { 8, 128, 128, 28, 3, 1, 1, 128, "depthwise" },
};

static void bench_convs(RtPool *pool, const char *only)
{
	RtLane l = lane(rt_table(), pool);
	printf("%-16s %26s %26s %26s\n", "convolution", "forward", "data", "weight");
	for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
		const ConvShape *p = &convs[i];
		if (only && !strstr(p->what, only)) continue;
		long y = (p->x + 2 * p->pad - p->k) / p->stride + 1, parts = p->c * p->m > 256 ? 1 : p->images < 8 ? p->images : 8;
		struct pxlrt_window d = { DT_F32, DT_F32, 2, p->images, p->groups, p->c / p->groups, p->m / p->groups, { p->x, p->x }, { y, y }, { p->k, p->k },
		                          { p->stride, p->stride }, { p->pad, p->pad }, { 1, 1 }, 0, 0 };
		long nw = p->m * p->c / p->groups * p->k * p->k;
		float *a = floats(p->images * p->c * p->x * p->x), *b = floats(p->images * p->m * y * y), *w = floats(nw * parts), *t = floats(nw), *room = floats(nw);
		double f, g, h, flop = 2e-9 * (double)(p->images * nw * y * y);
		for (int blocked = 0; blocked < 2; blocked++) {
			d.xblock = blocked && p->c % (PXLRT_CHANNELS * p->groups) == 0 ? PXLRT_CHANNELS : 0, d.yblock = blocked ? PXLRT_CHANNELS : 0;
			if (blocked && !rt_conv_blocks(&d, RT_CONV)) continue;
			BEST(f, l.rt->conv(&l.pub, &d, a, t, NULL, b, room));
			BEST(g, l.rt->conv_turn(&l.pub, &d, DT_F32, w, t); if (!blocked || rt_conv_blocks(&d, RT_CONV_DATA)) l.rt->conv_data(&l.pub, &d, b, t, a, room));
			BEST(h, l.rt->conv_weight(&l.pub, &d, parts, a, b, w));
			printf("%-16s %10.1f us %6.1f GF/s %10.1f us %6.1f GF/s %10.1f us %6.1f GF/s\n", blocked ? "  blocked" : p->what, f * 1e6, flop / f, g * 1e6, flop / g,
			       h * 1e6, flop / h);
		}
		rt_free(NULL, a), rt_free(NULL, b), rt_free(NULL, w), rt_free(NULL, t), rt_free(NULL, room);
	}
	rt_free(NULL, l.scratch);
}

/* numbers as a network has them: with all-alike ones activations end as denormals, which are slow everywhere */
static float *weights(long n)
{
	float *p = floats(n);
	for (long i = 0; i < n; i++) p[i] *= 0.05f;
	return p;
}

static int biased_gelu(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, long lo, long hi, long from, long to)
{
	float *c = p[0], *y = p[2];
	const float *bias = p[1];
	const struct pxlrt_gemm *d = p[3];
	(void)ln;
	for (long i = lo; i < hi; i++) {
		rt->f32->add(c + i * d->n + from, c + i * d->n + from, bias + from, to - from);
		rt->f32->gelu(y + i * d->n + from, c + i * d->n + from, to - from);
	}
	return 0;
}

/* the eleven products of one step of the tutorial's network, weights and activations as they are in a step */
static void bench_step(RtPool *pool, int batch)
{
	RtLane l = lane(rt_table(), pool);
	static const long size[5] = { 784, 512, 512, 512, 10 };
	float *w[4], *x[5], *g = floats(batch * 784), *h = floats(batch * 784), *bias = floats(512), *pre = floats(batch * 512);
	double best;
	for (int i = 0; i < 5; i++) x[i] = floats(batch * size[i]);
	for (int i = 0; i < 4; i++) w[i] = weights(size[i] * size[i + 1]);
	BEST(best,
		for (int i = 0; i < 4; i++) {
			struct pxlrt_gemm d = { .dtype = DT_F32, .m = batch, .n = size[i + 1], .k = size[i], .lda = size[i], .ldb = size[i + 1], .ldc = size[i + 1], .alpha = 1 };
			void *const p[] = { pre, bias, x[i + 1], &d };
			l.rt->matmul(&l.pub, &d, x[i], w[i], pre, i < 3 ? biased_gelu : NULL, p);
		}
		for (int i = 3; i >= 0; i--) {
			struct pxlrt_gemm d = { .dtype = DT_F32, .tb = 1, .m = batch, .n = size[i], .k = size[i + 1], .lda = size[i + 1], .ldb = size[i + 1], .ldc = size[i], .alpha = 1 };
			struct pxlrt_gemm u = { .dtype = DT_F32, .ta = 1, .m = size[i], .n = size[i + 1], .k = batch, .lda = size[i], .ldb = size[i + 1], .ldc = size[i + 1], .alpha = -1e-7, .beta = 1 };
			if (i) l.rt->matmul(&l.pub, &d, g, w[i], h, NULL, NULL);
			l.rt->matmul(&l.pub, &u, x[i], g, w[i], NULL, NULL);
		});
	printf("step of the mlp, batch %d: %.0f us\n", batch, best * 1e6);
	for (int i = 0; i < 5; i++) rt_free(NULL, x[i]);
	for (int i = 0; i < 4; i++) rt_free(NULL, w[i]);
	rt_free(NULL, g), rt_free(NULL, h), rt_free(NULL, bias), rt_free(NULL, pre), rt_free(NULL, l.scratch);
}

#define SHOW(what, n, call) do { double took; BEST(took, call); printf("%-28s %8.3f ns/element %10.1f us\n", what, took * 1e9 / (double)(n), took * 1e6); } while (0)

static void bench_elements(void)
{
	enum { N = 4096 };
	const struct pxlrt *rt = rt_table();
	float *x = floats(N), *y = floats(N), *z = floats(N);
	double *xd = rt_alloc(NULL, N * 8), *yd = rt_alloc(NULL, N * 8);
	unsigned short *h = rt_alloc(NULL, N * 2);
	for (int i = 0; i < N; i++) xd[i] = (double)x[i];
#define UNARY(name) SHOW(#name, N, for (int i_ = 0; i_ < N; i_ += 128) rt->f32->name(y + i_, x + i_, 128))
	UNARY(neg); UNARY(relu); UNARY(exp); UNARY(log); UNARY(tanh); UNARY(erf); UNARY(gelu); UNARY(geluerf); UNARY(sigmoid); UNARY(softplus); UNARY(swish); UNARY(asin); UNARY(acos); UNARY(atan); UNARY(sin); UNARY(sqrt); UNARY(floor);
	SHOW("add", N, for (int i_ = 0; i_ < N; i_ += 128) rt->f32->add(z + i_, x + i_, y + i_, 128));
	SHOW("gelu_grad", N, for (int i_ = 0; i_ < N; i_ += 128) rt->f32->gelu_grad(z + i_, x + i_, y + i_, 128));
	SHOW("pow", N, rt->f32->pow(z, y, x, N));
	SHOW("exp f64", N, rt->f64->exp(yd, xd, N));
	SHOW("erf f64", N, rt->f64->erf(yd, xd, N));
	SHOW("atan f64", N, rt->f64->atan(yd, xd, N));
	SHOW("log f64", N, rt->f64->log(yd, xd, N));
	SHOW("tanh f64", N, rt->f64->tanh(yd, xd, N));
	SHOW("st f16", N, rt->st[DT_F16](h, 1, x, N));
	SHOW("ld f16", N, rt->ld[DT_F16](x, h, 1, N));
	SHOW("st bf16", N, rt->st[DT_BF16](h, 1, x, N));
	SHOW("ld i32", N, rt->ld[DT_I32](yd, x, 1, N));
	rt_free(NULL, x), rt_free(NULL, y), rt_free(NULL, z), rt_free(NULL, xd), rt_free(NULL, yd), rt_free(NULL, h);
}

static void bench_rows(RtPool *pool)
{
	enum { R = 4096, C = 1024 };
	const long n = (long)R * C;
	RtLane l = lane(rt_table(), pool);
	const struct pxlrt *rt = l.rt;
	struct pxlrt_lane *p = &l.pub;
	float *x = floats(n), *y = floats(n), *z = floats(n);
	unsigned seed[2] = { 1, 2 };
	struct pxlrt_axis rows = { DT_F32, R, C, 1 }, cols = { DT_F32, 1, R, C };
	SHOW("softmax 4096x1024", n, rt->softmax(p, &rows, 0, x, y));
	SHOW("log_softmax 4096x1024", n, rt->softmax(p, &rows, 1, x, y));
	SHOW("softmax_grad", n, rt->softmax_grad(p, &rows, y, x, z));
	SHOW("softmax axis 0", n, rt->softmax(p, &cols, 0, x, y));
	struct pxlrt_reduce red = { PXLRT_SUM, DT_F32, 2, 2, { R, C }, { C, 1 } };
	SHOW("sum last", n, rt->reduce(p, &red, x, y));
	red.mask = 1;
	SHOW("sum first", n, rt->reduce(p, &red, x, y));
	red.mask = 3;
	SHOW("sum all", n, rt->reduce(p, &red, x, y));
	red.op = PXLRT_MAX;
	SHOW("max all", n, rt->reduce(p, &red, x, y));
	red = (struct pxlrt_reduce){ PXLRT_SUM, DT_F32, 2, 1, { 8, 512 }, { 512, 1 } };
	SHOW("sum first 8x512", 8 * 512, rt->reduce(p, &red, x, y));
	struct pxlrt_copy t = { 4, 2, { C, R }, { R, 1 }, { 1, C } };
	SHOW("transpose", n, rt->copy(p, &t, x, y));
	SHOW("argmax last", n, rt->argmax(p, &rows, 0, x, (int *)(void *)y));
	SHOW("cumsum last", n, rt->cumsum(p, &rows, 0, x, y));
	SHOW("random_normal", n, rt->random_normal(p, DT_F32, seed, 0, 1, y, n));
	SHOW("random_uniform", n, rt->random_uniform(p, DT_F32, seed, 0, 1, y, n));
	int *labels = rt_alloc(NULL, R * 4);
	float loss, one = 1;
	struct pxlrt_nll nll = { DT_F32, DT_I32, PXLRT_MEAN_LOSS, 0, 0, R, C, 0, 1e-7, 1e-10 };
	SHOW("softmax_nll 4096x1024", n, rt->softmax_nll(p, &nll, 1, x, labels, &one, &loss, y));
	nll.rows = 8, nll.classes = 10;
	SHOW("softmax_nll 8x10", 80, rt->softmax_nll(p, &nll, 1, x, labels, &one, &loss, y));
	rt_free(NULL, x), rt_free(NULL, y), rt_free(NULL, z), rt_free(NULL, labels), rt_free(NULL, l.scratch);
}

int main(int argc, char **argv)
{
	RtErr e;
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	RtPool *pool = threads > 1 ? rt_pool_new(threads, NULL, &e) : NULL;
	printf("%s, %d threads\n", ((const KernelTable *)(const void *)rt_table())->isa.name, threads);
	bench_convs(pool, argc > 2 ? argv[2] : NULL);
	if (argc > 2) return 0;
	bench_products(pool);
	for (int b = 8; b <= 512; b *= 4) bench_step(pool, b);
	if (threads == 1) bench_elements();
	bench_rows(pool);
	rt_pool_free(pool);
	return 0;
}
