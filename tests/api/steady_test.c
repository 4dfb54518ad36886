/* steady_test.c — steady steps allocate nothing and touch no page for the first time: malloc and minor faults are counted while a session runs. */
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

#include <stdatomic.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__)
int main(void) { return 0; }                         /* the sanitizer owns malloc */
#else

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
static atomic_long calls;

void *malloc(size_t n) { atomic_fetch_add(&calls, 1); return __libc_malloc(n); }
void *calloc(size_t n, size_t size) { atomic_fetch_add(&calls, 1); return __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { atomic_fetch_add(&calls, 1); return __libc_realloc(p, n); }
void *aligned_alloc(size_t align, size_t n) { atomic_fetch_add(&calls, 1); return __libc_memalign(align, n); }
int posix_memalign(void **out, size_t align, size_t n)
{
	atomic_fetch_add(&calls, 1);
	*out = __libc_memalign(align, n);
	return *out ? 0 : 12;
}

enum { STEPS = 10 };

static long faults;

static long minor_faults(void)
{
	struct rusage u;
	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_minflt;
}

/* what is counted while a session that has run a little goes on */
static long count(pxl_session *s)
{
	long before = atomic_load(&calls), touched = minor_faults(), n = -1;
	if (pxl_run(s, STEPS) == PXL_OK) n = atomic_load(&calls) - before;
	faults = minor_faults() - touched;
	return n;
}

/* Large results are computed in the host's array: the session's own, or one that is bound, or one that is an input as well and so
 * gets a copy. */
static long steady_stores(int how)
{
	enum { N = 1 << 20 };
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.name = "chain";
	po.sets = &(pxl_set){ "n", "1048576" };
	po.nset = 1;
	float *x = calloc(N, 4), *y = calloc(N, 4);
	long n = -1;
	for (int i = 0; i < N; i++) y[i] = x[i] = (float)(i % 7);          /* touched */
	if (x && y && pxl_ctx_new(NULL, &cx) == PXL_OK && pxl_compile_file(cx, "tests/bench/chains.pxl", &m) == PXL_OK &&
	    pxl_program_new(m, &po, &p) == PXL_OK && pxl_session_new(p, NULL, &s) == PXL_OK &&
	    pxl_bind(s, pxl_find(p, PXL_INPUT, "x"), x, N * 4) == PXL_OK &&
	    (!how || pxl_bind(s, pxl_find(p, PXL_OUTPUT, "y"), how == 1 ? y : x, N * 4) == PXL_OK) && pxl_run(s, 3) == PXL_OK) n = count(s);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	free(x);
	free(y);
	return n;
}

static long steady_calls(int threads)
{
	pxl_ctx *cx;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	po.name = "train";
	so.threads = threads;
	if (pxl_ctx_new(NULL, &cx) != PXL_OK) return -1;
	if (pxl_compile_file(cx, "examples/mnist.pxl", &m) != PXL_OK || pxl_program_new(m, &po, &p) != PXL_OK || pxl_session_new(p, &so, &s) != PXL_OK) {
		printf("%s\n", pxl_errmsg(cx));
		return -1;
	}
	float *image = calloc(8 * 784, 4);
	int label[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	long n = -1;
	if (pxl_write(s, pxl_find(p, PXL_INPUT, "image"), image, 8 * 784 * 4) == PXL_OK &&
	    pxl_write(s, pxl_find(p, PXL_INPUT, "label"), label, sizeof label) == PXL_OK && pxl_run(s, 3) == PXL_OK) n = count(s);
	free(image);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return n;
}

int main(void)
{
	for (int threads = 1; threads <= 2; threads++) {
		CHECK("", steady_calls(threads) == 0);
		CHECK("", faults < STEPS);                   /* the kernel may move a page now and then, but no step needs one */
	}
	for (int how = 0; how < 3; how++) {
		CHECK("", steady_stores(how) == 0);
		CHECK("", faults < STEPS);
	}
	return check_done();
}
#endif
