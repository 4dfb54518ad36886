/* onednn.c — f32 products by oneDNN.
 *
 * The library is loaded when a large product is first wanted; where it is missing, or refuses, the portable
 * loops serve.  It is built on OpenMP, whose pools belong to the calling thread: each call first sets the
 * thread's OpenMP to one thread (and puts it back, for the host may use OpenMP too), so that only our own
 * pool makes threads.  Tiles are cut by shape alone, so bits don't depend on the number of threads.
 *
 * Left to the portable provider: other types, small products, and those whose b is row-major and
 * needs no packing (gemm_is_direct). */
#include "runtime/kernels/onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* resolved once per process, then only read */
static OneDnn dnnl;
static pthread_once_t dnnl_once = PTHREAD_ONCE_INIT;

static int symbol(void *lib, const char *name, void *to)
{
	void *p = dlsym(lib, name);
	memcpy(to, &p, sizeof p);
	return p != NULL;
}

static void dnnl_load(void)
{
	static const char *const names[] = { "libdnnl.so.2", "libdnnl.so.3", "libdnnl.so" };
	void *lib = NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++) lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib) return;
	symbol(lib, "omp_get_max_threads", &dnnl.threads_get);
	symbol(lib, "omp_set_num_threads", &dnnl.threads_set);
	if (!dnnl.threads_get || !dnnl.threads_set) return;
	symbol(lib, "dnnl_sgemm", &dnnl.sgemm);
}

const OneDnn *onednn(void)
{
	pthread_once(&dnnl_once, dnnl_load);
	return &dnnl;
}

static int sgemm_tile(const GemmItem *g, long i0, long m, long j0, long n)
{
	const struct pxlrt_gemm *d = g->d;
	const float *a = (const float *)(const void *)g->a + (d->ta ? i0 : i0 * d->lda);
	const float *b = (const float *)(const void *)g->b + (d->tb ? j0 * d->ldb : j0);
	int had = dnnl.threads_get();
	dnnl.threads_set(1);
	int st = dnnl.sgemm(d->ta ? 'T' : 'N', d->tb ? 'T' : 'N', m, n, d->k, (float)d->alpha, a, d->lda, b, d->ldb, (float)d->beta,
	                    (float *)(void *)g->c + i0 * d->ldc + j0, d->ldc);
	dnnl.threads_set(had);
	return st;
}

static void tile(RtLane *ln, const GemmItem *g, long i0, long m, long j0, long n)
{
	if (sgemm_tile(g, i0, m, j0, n)) gemm_portable_tile(ln, g, i0, m, j0, n);
	else gemm_epilogue(ln, g, i0, m, j0, n);
}

/* more than a few rows against a transposed b go faster through our own packing */
static int suits(const struct pxlrt_gemm *d)
{
	if (gemm_is_bf16(d) || (d->tb && d->m > 16)) return 0;
	return d->dtype == DT_F32 && !gemm_is_direct(d) && d->n >= 16 && (double)d->m * (double)d->n * (double)d->k >= 1e6;
}

int k_matmul_onednn(struct pxlrt_lane *ln, const struct pxlrt_gemm *d, const void *a, const void *b, void *c, const void *bias, void *y)
{
	GemmTileFn fn = gemm_portable_tile;
	if (suits(d) && onednn()->sgemm) fn = tile;
	return gemm_run(rt_lane(ln), d, a, b, c, bias, y, fn);
}
