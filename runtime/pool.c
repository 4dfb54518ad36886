/* pool.c — the threads of a session.
 *
 * A job is n indices, as many shares of them as there are threads.  Each thread goes through its own share first, which the
 * next op's share often follows in memory: what it left in its cache is found there, and not another core's to give up.
 * Then it helps with the others' shares, at once with those that are behind.  Indices are handed out one by one, so a preempted
 * worker delays nobody by more than one.
 * The submitting thread works on its own job and then waits for the pieces others still hold; jobs of
 * several lanes stand in one list and workers take the oldest with work left.  Everything about a job that is
 * not an atomic counter is guarded by the pool's mutex.  Waiting spins a little first: the next job of a
 * step usually comes within microseconds, and waking a thread costs tens of them.  A spinning thread keeps
 * offering its processor to others, and a worker that was woken on its submitter's processor moves to another one:
 * schedulers leave two threads that mostly wait for each other together for a long time.
 *
 * Results cannot depend on who runs a piece; of several faults that of the lowest index is kept, and it is
 * always found: a fault only stops higher indices, and the submitting thread goes through the shares from the first to the last. */
#define _GNU_SOURCE                          /* sched_getcpu, sched_setaffinity */
#include "runtime/lane.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHARES = 64 };                /* more threads than that share shares */

/* indices not handed out yet, and whether the thread that they are meant for has come */
typedef struct Share { _Alignas(64) atomic_long next; long begin, end; atomic_int begun; } Share;

typedef struct Job {
	RtLane *ln;
	RtPoolBody body;
	void *ctx;
	long n;
	int nshare;
	atomic_int users;                    /* workers inside; changed under the mutex */
	int cpu;                             /* where the submitter ran */
	atomic_long failed;                  /* lowest failed index, or n; changed under the mutex */
	RtErr err;
	struct Job *link;
	Share share[SHARES];
} Job;

typedef struct Worker { RtPool *pool; pthread_t thread; void *scratch; int64_t aside; int number; } Worker;      /* number: from 1 */

struct RtPool {
	const RtAlloc *alloc;
	RtAlloc alloc_copy;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	atomic_uint posted;                  /* counts submissions: what a spinning worker watches */
	atomic_int stop;
	int sleeping, spin, nworker;
	Job *jobs;
	Worker *workers;
};

enum { SPINS = 2000, SPINS_PER_YIELD = 50, ASIDE_NS = 1000000 };

static inline void relax(int i)
{
#if defined __x86_64__
	__builtin_ia32_pause();
#endif
	if (i % SPINS_PER_YIELD == SPINS_PER_YIELD - 1) sched_yield();
}

/* leave this processor for any other the process may use; at most once in ASIDE_NS, for on a full machine it is no use */
static void step_aside(int cpu, int64_t *last)
{
#if defined __linux__
	struct timespec t;
	cpu_set_t all, others;
	clock_gettime(CLOCK_MONOTONIC, &t);
	int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (now - *last < ASIDE_NS || sched_getaffinity(0, sizeof all, &all)) return;
	*last = now;
	others = all;
	CPU_CLR(cpu, &others);
	if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others)) sched_setaffinity(0, sizeof all, &all);
#else
	(void)cpu, (void)last;
#endif
}

int rt_processors(void)
{
#if defined __linux__
	cpu_set_t mine;
	if (!sched_getaffinity(0, sizeof mine, &mine)) return CPU_COUNT(&mine);
#endif
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : (int)n;
}

static int this_cpu(void)
{
#if defined __linux__
	return sched_getcpu();
#else
	return -1;
#endif
}

static void job_init(Job *j, RtLane *ln, RtPoolBody body, void *ctx, long n)
{
	long shares = ln->pool->nworker + 1;
	if (shares > n) shares = n;
	if (shares > SHARES) shares = SHARES;
	j->ln = ln, j->body = body, j->ctx = ctx, j->n = n;
	j->cpu = this_cpu();
	j->nshare = (int)shares;
	j->link = NULL;
	atomic_init(&j->users, 0);
	atomic_init(&j->failed, n);
	for (long k = 0; k < shares; k++) {
		atomic_init(&j->share[k].next, n * k / shares);
		j->share[k].begin = n * k / shares, j->share[k].end = n * (k + 1) / shares;
		atomic_init(&j->share[k].begun, 0);
	}
}

static long left(Share *s)
{
	long n = s->end - atomic_load_explicit(&s->next, memory_order_relaxed);
	return n > 0 ? n : 0;
}

/* its thread has not come, or has most of it still to do */
static int is_behind(Share *s) { return !atomic_load_explicit(&s->begun, memory_order_relaxed) || 2 * left(s) > s->end - s->begin; }

/* what is left of one share, or while it is behind; 0 when a piece failed, and then nothing of it is left */
static int share_work(RtPool *p, Job *j, Share *s, RtLane *lane, int all)
{
	while (left(s) && (all || is_behind(s))) {
		long i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
		if (i >= s->end) break;
		if (i >= atomic_load_explicit(&j->failed, memory_order_relaxed)) atomic_store(&s->next, s->end);
		else {
			int st = j->body(lane, j->ctx, i);
			if (!st) continue;
			if (!lane->err.status) rt_fail(&lane->err, st, "a parallel piece failed");
			atomic_store(&s->next, s->end);
			pthread_mutex_lock(&p->lock);
			if (i < atomic_load(&j->failed)) atomic_store(&j->failed, i), j->err = lane->err;
			pthread_mutex_unlock(&p->lock);
			return 0;
		}
	}
	return 1;
}

static int job_is_open(Job *j)
{
	for (int k = 0; k < j->nshare; k++)
		if (left(&j->share[k])) return 1;
	return 0;
}

/* what is left of the shares after a thread's own */
static int job_help(RtPool *p, Job *j, RtLane *lane, int thread, int all)
{
	for (int k = 1; k <= j->nshare; k++)
		if (!share_work(p, j, &j->share[(thread + k) % j->nshare], lane, all)) return 0;
	return 1;
}

/* Run pieces until none is left; `lane` is the thread's copy.  A share whose thread is nearly done is left to it for a while: it
 * would have to fetch what others take of it from their caches in the next op, be late again, and so on for ever. */
static void job_work(RtPool *p, Job *j, RtLane *lane, int thread)
{
	if (thread < j->nshare) {
		atomic_store_explicit(&j->share[thread].begun, 1, memory_order_relaxed);
		if (!share_work(p, j, &j->share[thread], lane, 1)) return;
	}
	if (!job_help(p, j, lane, thread, 0)) return;
	for (int i = 0; i < p->spin && job_is_open(j); i++) relax(i);
	job_help(p, j, lane, thread, 1);
}

/* a lane for pieces: nothing nested spreads again, and faults stay here */
static RtLane piece_lane(const RtLane *ln, void *scratch)
{
	RtLane l;
	memcpy(&l, ln, offsetof(RtLane, err));
	l.err.status = 0;
	l.err.text[0] = 0;
	l.pool = NULL;
	l.scratch = scratch;
	return l;
}

static Job *job_find(RtPool *p)
{
	Job *j = p->jobs;
	while (j && !job_is_open(j)) j = j->link;
	return j;
}

/* under the mutex: the next job, or NULL when the pool ends */
static Job *worker_wait(RtPool *p)
{
	for (;;) {
		Job *j = job_find(p);
		if (j || atomic_load(&p->stop)) return j;
		unsigned seen = atomic_load(&p->posted);
		pthread_mutex_unlock(&p->lock);
		for (int i = 0; i < p->spin && atomic_load_explicit(&p->posted, memory_order_relaxed) == seen; i++) relax(i);
		pthread_mutex_lock(&p->lock);
		if (atomic_load(&p->posted) != seen || atomic_load(&p->stop)) continue;
		p->sleeping++;
		pthread_cond_wait(&p->work, &p->lock);
		p->sleeping--;
	}
}

static void *worker_main(void *arg)
{
	Worker *w = arg;
	RtPool *p = w->pool;
	pthread_mutex_lock(&p->lock);
	for (Job *j; (j = worker_wait(p));) {
		atomic_fetch_add(&j->users, 1);
		pthread_mutex_unlock(&p->lock);
		int cpu = this_cpu();
		if (cpu >= 0 && cpu == j->cpu && p->spin) step_aside(cpu, &w->aside);
		RtLane lane = piece_lane(j->ln, w->scratch);
		job_work(p, j, &lane, w->number);
		pthread_mutex_lock(&p->lock);
		if (atomic_fetch_sub(&j->users, 1) == 1) pthread_cond_broadcast(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void job_post(RtPool *p, Job *j)
{
	pthread_mutex_lock(&p->lock);
	Job **at = &p->jobs;
	while (*at) at = &(*at)->link;
	*at = j;
	atomic_fetch_add(&p->posted, 1);
	if (p->sleeping) pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

/* take the job off the list, so that nobody enters any more, and wait for those inside */
static void job_finish(RtPool *p, Job *j)
{
	pthread_mutex_lock(&p->lock);
	Job **at = &p->jobs;
	while (*at != j) at = &(*at)->link;
	*at = j->link;
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->spin && atomic_load_explicit(&j->users, memory_order_relaxed); i++) relax(i);
	pthread_mutex_lock(&p->lock);
	while (atomic_load(&j->users)) pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

int rt_pool_run(RtLane *ln, RtPoolBody body, void *ctx, long n)
{
	RtPool *p = ln->pool;
	if (!p || !p->nworker || n <= 1) {
		for (long i = 0; i < n; i++) {
			int st = body(ln, ctx, i);
			if (st) return st;
		}
		return 0;
	}
	Job j;
	job_init(&j, ln, body, ctx, n);
	RtLane mine = piece_lane(ln, ln->scratch);
	job_post(p, &j);
	job_work(p, &j, &mine, 0);
	job_finish(p, &j);
	if (atomic_load(&j.failed) == n) return 0;
	if (!ln->err.status) ln->err = j.err;
	return j.err.status;
}

int rt_pool_threads(const RtPool *p) { return p ? p->nworker + 1 : 1; }

static int workers_start(RtPool *p, int n)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);    /* workers take no signals of the host's */
	int ok = 1;
	for (int i = 0; i < n && ok; i++) {
		Worker *w = &p->workers[i];
		w->pool = p;
		w->number = i + 1;
		w->scratch = rt_alloc(p->alloc, RT_SCRATCH_BYTES);
		ok = w->scratch && !pthread_create(&w->thread, NULL, worker_main, w);
		if (ok) p->nworker++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ok;
}

RtPool *rt_pool_new(int threads, const RtAlloc *alloc, RtErr *e)
{
	int n = threads > 1 ? threads - 1 : 0;
	RtPool *p = rt_alloc(alloc, sizeof *p);
	Worker *w = p ? rt_alloc(alloc, sizeof *w * (size_t)(n + 1)) : NULL;
	if (!w) {
		rt_free(alloc, p);
		rt_fail(e, RT_ENOMEM, "out of memory for %d threads", threads);
		return NULL;
	}
	if (alloc) p->alloc_copy = *alloc, p->alloc = &p->alloc_copy;
	p->workers = w;
	p->spin = rt_processors() >= threads ? SPINS : 0;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	if (workers_start(p, n)) return p;
	int got = p->nworker;
	rt_pool_free(p);
	rt_fail(e, RT_ENOMEM, "cannot start thread %d of %d", got + 2, threads);
	return NULL;
}

void rt_pool_free(RtPool *p)
{
	if (!p) return;
	pthread_mutex_lock(&p->lock);
	atomic_store(&p->stop, 1);
	atomic_fetch_add(&p->posted, 1);
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->nworker; i++) pthread_join(p->workers[i].thread, NULL);
	for (int i = 0; i < p->nworker + 1; i++) rt_free(p->alloc, p->workers[i].scratch);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	RtAlloc a = p->alloc_copy;
	const RtAlloc *alloc = p->alloc ? &a : NULL;
	rt_free(alloc, p->workers);
	rt_free(alloc, p);
}
