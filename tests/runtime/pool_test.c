/* pool_test.c — jobs of a pool: every piece once, and of those that fail the lowest is reported, whichever ends last.
 * tests/run: on one processor too */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/lane.h"
#include "tests/check.h"

/* a lane as far as a pool needs one */
static RtLane *lane_new(int threads)
{
	static const RtAlloc alloc;
	RtErr e = { 0 };
	RtLane *ln = rt_alloc(&alloc, sizeof *ln);
	ln->scratch = rt_alloc(&alloc, RT_SCRATCH_BYTES);
	ln->pool = rt_pool_new(threads, NULL, &e);
	CHECK("", ln->pool && rt_pool_threads(ln->pool) == threads);
	return ln;
}

static void lane_free(RtLane *ln)
{
	static const RtAlloc alloc;
	rt_pool_free(ln->pool);
	rt_free(&alloc, ln->scratch);
	rt_free(&alloc, ln);
}

/* --- every piece once ------------------------------------------------------------------------------------------ */
enum { MOST = 1000 };
static atomic_int done[MOST];

static int count(RtLane *ln, void *ctx, long i)
{
	(void)ln, (void)ctx;
	atomic_fetch_add(&done[i], 1);
	return 0;
}

static void test_all(RtLane *ln)
{
	static const long sizes[] = { 0, 1, 2, 3, 7, 64, 65, MOST };
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		int right = 1;
		for (int i = 0; i < MOST; i++) atomic_store(&done[i], 0);
		CHECK("", rt_pool_run(ln, count, NULL, sizes[k]) == 0);
		for (int i = 0; i < MOST; i++) right &= atomic_load(&done[i]) == (i < sizes[k]);
		CHECK("", right && !ln->err.status);
	}
}

/* --- faults ---------------------------------------------------------------------------------------------------------- */
/* Pieces `low` and `high` wait for each other and fail, so both always do; the one named by `late` takes longer to. */
typedef struct Faults { long low, high, late; atomic_int waiting; } Faults;

static int fails(RtLane *ln, void *ctx, long i)
{
	Faults *f = ctx;
	if (i != f->low && i != f->high) return 0;
	atomic_fetch_add(&f->waiting, 1);
	while (atomic_load(&f->waiting) < 2) sched_yield();
	for (int k = 0; k < 20 && i == f->late; k++) sched_yield();
	return rt_fail(&ln->err, i == f->low ? RT_ERUN : RT_EIO, "piece %ld", i);
}

static void test_lowest(RtLane *ln)
{
	enum { ROUNDS = 60 };
	int right = 0;
	for (int k = 0; k < ROUNDS; k++) {
		Faults f = { .low = 1, .high = 5, .late = k % 2 ? 1 : 5 };
		ln->err = (RtErr){ 0 };
		right += rt_pool_run(ln, fails, &f, 8) == RT_ERUN && ln->err.status == RT_ERUN && !strcmp(ln->err.text, "piece 1");
	}
	CHECK("", right == ROUNDS);
	CHECK("", rt_pool_run(ln, count, NULL, 8) == 0);             /* and the next job runs as ever */
}

static int fails_alone(RtLane *ln, void *ctx, long i)
{
	(void)ctx;
	return i < 3 ? 0 : i == 4 ? 7 : rt_fail(&ln->err, RT_EIO, "piece %ld", i);
}

static int fails_silently(RtLane *ln, void *ctx, long i)
{
	(void)ln, (void)ctx;
	return i == 4 ? RT_EIO : 0;
}

/* without other threads pieces go in order; one that gives no reason gets one */
static void test_alone(RtLane *ln)
{
	RtPool *pool = ln->pool;
	ln->err = (RtErr){ 0 };
	ln->pool = NULL;
	CHECK("", rt_pool_run(ln, fails_alone, NULL, 8) == RT_EIO && !strcmp(ln->err.text, "piece 3"));
	ln->pool = pool;
	ln->err = (RtErr){ 0 };
	CHECK("", rt_pool_run(ln, fails_silently, NULL, 8) == RT_EIO && !strcmp(ln->err.text, "a parallel piece failed"));
	ln->err = (RtErr){ .status = RT_ERUN, .text = "earlier" };   /* the first fault of a run stays */
	CHECK("", rt_pool_run(ln, fails_alone, NULL, 8) == RT_EIO && !strcmp(ln->err.text, "earlier"));
}

int main(void)
{
	CHECK("", rt_pool_threads(NULL) == 1 && rt_processors() >= 1);
	for (int threads = 2; threads <= 4; threads++) {
		RtLane *ln = lane_new(threads);
		test_all(ln);
		if (threads == 2) test_lowest(ln);                   /* whose shares are 0…3 and 4…7: each thread meets one of the two */
		test_alone(ln);
		lane_free(ln);
	}
	rt_pool_free(NULL);
	return check_done();
}
