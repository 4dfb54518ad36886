/* kernels_pool.c — each and the pool: pieces, faults, nesting, several lanes at once, and no threads but ours;
 * print_tensor's text; the checks of integer operands.
 * tests/run: on one processor too */
#include "tests/runtime/kernels.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static int threads_now(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
	if (d) closedir(d);
	return n;
}

/* --- each ---------------------------------------------------------------------------------------------------------- */

static int mark(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, long lo, long hi)
{
	int *hit = p[0];
	long *cuts = p[1];
	(void)rt, (void)ln;
	for (long i = lo; i < hi; i++) hit[i]++;
	cuts[lo] = hi;
	return 0;
}

static int fail_late(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, long lo, long hi)
{
	(void)hi;
	if (lo < *(long *)p[0]) return 0;
	char what[40];
	snprintf(what, sizeof what, "piece at %ld", lo);
	return rt->fault(ln, -1, what);
}

/* a piece that spreads work of its own runs it where it is */
static int nest(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, long lo, long hi)
{
	long cuts[64] = { 0 };
	void *q[2] = { (int *)p[0] + lo * 8, cuts };
	return rt->each(ln, mark, q, (hi - lo) * 8, 1);
}

static void each(int threads)
{
	enum { N = 10007 };
	static int hit[N];
	static long cuts[N], first[N];
	const struct pxlrt *rt = rt_table();
	TestLane t;
	lane_open(&t, threads, rt);
	CHECK("", rt_pool_threads(t.lane.pool) == threads);
	void *p[2] = { hit, cuts };
	memset(hit, 0, sizeof hit), memset(cuts, 0, sizeof cuts);
	CHECK("", rt->each(&t.lane.pub, mark, p, N, 128) == 0);
	int ok = 1;
	for (int i = 0; i < N; i++) ok &= hit[i] == 1 && cuts[i] == (i % 128 ? 0 : i + 128 < N ? i + 128 : N);
	CHECK("", ok);
	if (threads == 1) memcpy(first, cuts, sizeof first);
	CHECK("", !memcmp(first, cuts, sizeof first));              /* the pieces are the same for every number of threads */
	CHECK("", rt->each(&t.lane.pub, mark, p, 0, 128) == 0 && rt->each(&t.lane.pub, mark, p, 1, 1 << 20) == 0);
	long from = 5000;
	for (int again = 0; again < 20; again++) {
		t.lane.err.status = 0;
		CHECK("", rt->each(&t.lane.pub, fail_late, (void *[]){ &from }, N, 10) == RT_ERUN);
		CHECK("", strstr(t.lane.err.text, "piece at 5000") != NULL);
	}
	memset(hit, 0, sizeof hit);
	CHECK("", rt->each(&t.lane.pub, nest, p, 1000, 3) == 0);
	for (int i = 0; i < 8000; i++) ok &= hit[i] == 1;
	CHECK("", ok);
	lane_close(&t);
}

/* a piece that is not the submitter's waits for all others, up to ten seconds */
typedef struct Held { pthread_t submitter; atomic_int done, late; } Held;

static int hold(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, long lo, long hi)
{
	Held *h = p[0];
	const struct timespec tick = { 0, 1000000 };
	(void)rt, (void)ln, (void)lo, (void)hi;
	for (int ms = 0; !pthread_equal(pthread_self(), h->submitter) && atomic_load(&h->done) < 7; ms++) {
		if (ms == 10000) return atomic_store(&h->late, 1), 0;
		nanosleep(&tick, NULL);
	}
	atomic_fetch_add(&h->done, 1);
	return 0;
}

/* who holds a piece is waited for, but what is left of its share is not: two threads, eight pieces */
static void held(void)
{
	TestLane t;
	lane_open(&t, 2, rt_table());
	for (int again = 0; again < 50; again++) {
		Held h = { .submitter = pthread_self() };
		CHECK("", t.lane.rt->each(&t.lane.pub, hold, (void *[]){ &h }, 8, 1) == 0);
		CHECK("", atomic_load(&h.done) == 8 && !atomic_load(&h.late));
	}
	lane_close(&t);
}

typedef struct Replica { RtLane lane; pthread_t thread; int sums; } Replica;

static void *replica_main(void *arg)
{
	Replica *r = arg;
	static const long n = 4096;
	int *hit = calloc((size_t)n, sizeof *hit);
	long *cuts = calloc((size_t)n, sizeof *cuts);
	for (int k = 0; k < 200; k++) r->lane.rt->each(&r->lane.pub, mark, (void *[]){ hit, cuts }, n, 64);
	for (long i = 0; i < n; i++) r->sums += hit[i] == 200;
	free(hit), free(cuts);
	return NULL;
}

static void replicas(void)
{
	TestLane t;
	Replica r[3];
	lane_open(&t, 3, rt_table());
	for (int i = 0; i < 3; i++) {
		r[i].lane = t.lane;
		r[i].lane.scratch = rt_alloc(NULL, RT_SCRATCH_BYTES);
		r[i].sums = 0;
		pthread_create(&r[i].thread, NULL, replica_main, &r[i]);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(r[i].thread, NULL);
		CHECK("", r[i].sums == 4096);
		rt_free(NULL, r[i].lane.scratch);
	}
	lane_close(&t);
}

/* products and convolutions of the default provider on a pool of 3: three threads, and none left afterwards */
static void only_our_threads(void)
{
	int before = threads_now();
	TestLane t;
	lane_open(&t, 3, rt_table());
	float *a = noise_array(DT_F32, 512 * 512, 1, 1), *b = noise_array(DT_F32, 512 * 512, 1, 2), *c = noise_array(DT_F32, 512 * 512, 0, 0);
	struct pxlrt_gemm d = { .dtype = DT_F32, .m = 512, .n = 512, .k = 512, .lda = 512, .ldb = 512, .ldc = 512, .alpha = 1 };
	for (int i = 0; i < 3; i++) t.lane.rt->matmul(&t.lane.pub, &d, a, b, c, NULL, NULL);
	float *room = noise_array(DT_F32, 64 * 64 * 9, 0, 0);
	struct pxlrt_window w = { DT_F32, DT_F32, 2, 4, 1, 64, 64, { 28, 28 }, { 28, 28 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 0, 0, 0 };
	for (int i = 0; i < 3; i++) t.lane.rt->conv(&t.lane.pub, &w, a, b, NULL, c, room);
	CHECK("", threads_now() <= before + 2);
	lane_close(&t);
	CHECK("", threads_now() == before);
	rt_free(NULL, a), rt_free(NULL, b), rt_free(NULL, c), rt_free(NULL, room);
}

/* --- integer checks -------------------------------------------------------------------------------------------------- */

static void integer_checks(void)
{
	const struct pxlrt *rt = rt_table();
	TestLane t;
	lane_open(&t, 1, rt);
	short d[3] = { 1, -2, 0 };
	CHECK("", rt->divcheck(&t.lane.pub, DT_I16, d, 2, 0) == 0 && rt->divcheck(&t.lane.pub, DT_I16, d, 3, 0) == RT_ERUN);
	CHECK("", strstr(t.lane.err.text, "integer division by zero") != NULL);
	t.lane.err.status = 0;
	CHECK("", rt->powcheck(&t.lane.pub, DT_I16, d, 1, 0) == 0 && rt->powcheck(&t.lane.pub, DT_I16, d, 2, 0) == RT_ERUN);
	CHECK("", rt->powcheck(&t.lane.pub, DT_U64, (u64[]){ ~0ull }, 1, 0) == 0);
	lane_close(&t);
}

/* --- print_tensor ------------------------------------------------------------------------------------------------------ */

static char printed[8000];
static void collect(void *user, const char *s, size_t n) { (void)user; strncat(printed, s, n); }

static const char *print(const struct pxlrt_print *d, const void *x)
{
	printed[0] = 0;
	rt_print_tensor(d, x, collect, NULL);
	return printed;
}

static struct pxlrt_print form(DType t, int rank, long a, long b)
{
	return (struct pxlrt_print){ (int)t, rank, { a, b }, "x", 1000, 3, 75, 8, PXLRT_FORMAT_AUTO, ' ', '[', ']' };
}

static void prints(void)
{
	float f[6] = { 1, -2.5f, 3, 1000, 0.125f, NAN };
	int i[6] = { 1, 20, -300, 4, 5, 6 }, many[40];
	for (int k = 0; k < 40; k++) many[k] = k;
	struct pxlrt_print d = form(DT_F32, 1, 3, 0);
	CHECK_STR("", print(&d, f), "x: [ 1.0000000 -2.5000000  3.0000000]\n");
	d = form(DT_F32, 2, 2, 3);
	CHECK_STR("", print(&d, f), "x: \n[[   1.0000   -2.5000    3.0000]\n [1000.0000    0.1250       nan]]\n");
	d = form(DT_I32, 2, 2, 3);
	CHECK_STR("", print(&d, i), "x: \n[[   1   20 -300]\n [   4    5    6]]\n");
	d = form(DT_F32, 0, 0, 0);
	CHECK_STR("", print(&d, f + 1), "x: -2.5000000\n");
	d = form(DT_F32, 1, 0, 0);
	CHECK_STR("", print(&d, f), "x: []\n");
	d = form(DT_I32, 1, 40, 0);
	d.threshold = 10, d.edge = 2, d.sep = ',', d.open = '(', d.close = ')';
	CHECK_STR("", print(&d, many), "x: ( 0, 1,...,38,39)\n");
	d = form(DT_I32, 1, 40, 0);
	d.width = 30;
	CHECK_STR("", print(&d, many), "x: [ 0  1  2  3  4  5  6  7  8  9\n 10 11 12 13 14 15 16 17 18 19\n 20 21 22 23 24 25 26 27 28 29\n 30 31 32 33 34 35 36 37 38 39]\n");
	d = form(DT_F32, 1, 2, 0);
	d.format = PXLRT_FORMAT_SCIENTIFIC, d.digits = 3;
	CHECK_STR("", print(&d, f), "x: [ 1.00e+00 -2.50e+00]\n");
	d.digits = 0;
	CHECK_STR("", print(&d, f), "x: [1 -2.5]\n");
	d = form(DT_F32, 1, 2, 0);
	CHECK_STR("", print(&d, (float[]){ 1e-6f, 1e20f }), "x: [1.0000000e-06 1.0000000e+20]\n");
	d = form(DT_U64, 1, 1, 0);
	CHECK_STR("", print(&d, (u64[]){ ~0ull }), "x: [18446744073709551615]\n");
	d = form(DT_BOOL, 1, 2, 0);
	CHECK_STR("", print(&d, (unsigned char[]){ 1, 0 }), "x: [1 0]\n");
	d = form(DT_I32, 2, 8, 5);
	d.threshold = 10, d.edge = 1;
	CHECK_STR("", print(&d, many), "x: \n[[ 0 ...  4]\n ...\n [35 ... 39]]\n");
}

int main(void)
{
	for (int threads = 1; threads <= 8; threads += threads == 1 ? 1 : threads == 2 ? 1 : 5) each(threads);
	held();
	replicas();
	only_our_threads();
	integer_checks();
	prints();
	return check_done();
}
