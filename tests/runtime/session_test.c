/* session_test.c — sessions on programs written by hand: streams, when weights move, replicas, faults.
 * tests/run: on one processor too */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lane.h"
#include "tests/check.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNT_MALLOC 1
void *__libc_malloc(size_t n);
static long mallocs;
void *malloc(size_t n) { __atomic_add_fetch(&mallocs, 1, __ATOMIC_RELAXED); return __libc_malloc(n); }
#endif

/* --- a program: w (2,4) += x each run; y = w.  `unused` is touched by no op. ------------------------------- */

enum { X, Y, IDLE, NSTREAM };
enum { W, UNUSED, NVAR };

static int add_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	const void *x;
	float *w = (float *)(void *)ln->vars;
	int st;
	rt->at(ln, 0);
	if ((st = rt->host_load(ln, X, &x))) return st;
	for (int i = 0; i < 8; i++) w[i] += ((const float *)x)[i];
	rt->at(ln, 1);
	return rt->host_store(ln, Y, w);
}

static const float eight[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static const RtVar vars[NVAR] = {
	{ "w", DT_F32, 2, { 2, 4 }, 8, 32, 0, { .kind = INIT_DATA, .data = eight }, 0, 0, 0, 0 },
	{ "unused", DT_I32, 1, { 4 }, 4, 16, 64, { .kind = INIT_ARANGE, .a = 5, .b = 2 }, 0, 0, 0, 0 },
};
static const RtStream streams[NSTREAM] = {
	{ "x", 1, DT_F32, 2, { 2, 4 }, 8, 32, 1 },
	{ "y", 0, DT_F32, 2, { 2, 4 }, 8, 32, 1 },
	{ "idle", 1, DT_F32, 0, { 0 }, 1, 4, 0 },
};
static const RtSite sites[] = { { "add.pxl", 3, 9, "host_load" }, { "add.pxl", 5, 5, "host_store" } };

static RtProgram program(RtEntry entry, int replicas, int transfers)
{
	return (RtProgram){ .name = "p", .main = entry, .replicas = replicas, .transfers = transfers, .var_bytes = 128, .frame_bytes = 1024,
		.nvar = NVAR, .nstream = NSTREAM, .nsite = 2, .vars = vars, .streams = streams, .sites = sites };
}

static RtSession *session(const RtProgram *p)
{
	RtOptions o = { .seed = 1, .threads = 1 };
	RtErr e = { 0 };
	RtSession *s = NULL;
	int st = rt_session_new(p, &o, &s, &e);
	if (st) printf("%s\n", e.text), exit(1);
	return s;
}

static int run(RtSession *s, float *x, size_t nx, float *y, size_t ny, RtErr *e)
{
	RtBind b[2] = { { X, x, nx }, { Y, y, ny } };
	return rt_session_run(s, b, y ? 2 : 1, e);
}

static float first(RtSession *s)
{
	float w[8];
	RtErr e;
	return rt_session_read(s, W, w, sizeof w, &e) ? NAN : w[0];
}

/* --- variables and transfers --------------------------------------------------------------------------------- */

static void test_moves(void)
{
	RtProgram p = program(add_main, 1, 1);
	RtSession *s = session(&p);
	RtErr e;
	float x[8] = { 10 }, y[8], w[8] = { 100 };
	int32_t u[4];
	CHECK("R133", rt_session_synced(s) && rt_session_attached(s));
	CHECK("R280 R271", rt_session_transfers(s, 1) == 0 && rt_session_transfers(s, 0) == 1);
	CHECK("R77", !rt_session_read(s, UNUSED, u, sizeof u, &e) && u[0] == 5 && u[3] == 11);
	CHECK("R287", first(s) == 1 && rt_session_transfers(s, 1) == 0);
	CHECK("R287 R133", !rt_session_write(s, W, w, sizeof w, &e) && rt_session_synced(s) && first(s) == 100 && rt_session_transfers(s, 1) == 0);
	CHECK("R285", rt_session_transfers(s, 0) == 2);
	CHECK("R134", !run(s, x, 8, y, 8, &e) && y[0] == 110);
	CHECK("R133 R283", !rt_session_synced(s) && rt_session_transfers(s, 1) == 0);
	CHECK("R133 R134 R284", first(s) == 110 && rt_session_transfers(s, 1) == 1 && rt_session_synced(s));
	CHECK("R287", first(s) == 110 && first(s) == 110 && rt_session_transfers(s, 1) == 1);
	CHECK("R286 R282", !rt_session_weights_to_host(s, &e) && rt_session_transfers(s, 1) == 2);
	CHECK("R310", !run(s, x, 8, NULL, 0, &e) && !run(s, x, 8, NULL, 0, &e) && first(s) == 130 && rt_session_runs(s) == 3);
	/* R281: sending leaves the flag alone, and what is sent is the host's old copy */
	CHECK("R281", !run(s, x, 8, NULL, 0, &e) && !rt_session_weights_from_host(s, &e) && !rt_session_synced(s) && first(s) == 130);
	const float *v = rt_session_view(s, W, &e);
	CHECK("R291 A282", v && v[0] == 130 && !run(s, x, 8, NULL, 0, &e) && v[0] == 130 && rt_session_view(s, W, &e) == v && v[0] == 140);
	rt_session_free(s);
}

/* Writing one variable while the device is ahead must not take the others back. */
static void test_write_out_of_sync(void)
{
	RtProgram p = program(add_main, 1, 1);
	RtSession *s = session(&p);
	RtErr e;
	float x[8] = { 10 };
	int32_t u[4] = { 7, 7, 7, 7 }, back[4] = { 0 };
	CHECK("", !run(s, x, 8, NULL, 0, &e) && !rt_session_write(s, UNUSED, u, sizeof u, &e));
	CHECK("R285", !rt_session_synced(s));
	CHECK("R288", first(s) == 11);
	CHECK("R288", !rt_session_read(s, UNUSED, back, sizeof back, &e) && back[0] == 7);
	rt_session_free(s);
}

static void test_attach(void)
{
	RtProgram p = program(add_main, 1, 1);
	RtSession *s = session(&p);
	RtErr e;
	float x[8] = { 10 }, w[8] = { 50 };
	CHECK("R274", !rt_session_attach(s, &e) && rt_session_transfers(s, 0) == 1);          /* attached already: nothing */
	CHECK("R275", !run(s, x, 8, NULL, 0, &e) && !rt_session_detach(s, 1, &e) && rt_session_transfers(s, 1) == 1 && !rt_session_attached(s));
	CHECK("R279", first(s) == 11 && rt_session_transfers(s, 1) == 1);
	CHECK("R279", run(s, x, 8, NULL, 0, &e) == RT_EINVAL && strstr(e.text, "detached"));
	CHECK("R279", rt_session_weights_to_host(s, &e) == RT_EINVAL && rt_session_weights_from_host(s, &e) == RT_EINVAL);
	CHECK("R279 R288", !rt_session_write(s, W, w, sizeof w, &e) && rt_session_transfers(s, 0) == 1 && first(s) == 50);
	CHECK("R278 R288", !rt_session_attach(s, &e) && rt_session_transfers(s, 0) == 2 && !run(s, x, 8, NULL, 0, &e) && first(s) == 60);
	/* leaving without fetching: the host keeps what it had, and the device's values are gone */
	CHECK("R276 R277", !run(s, x, 8, NULL, 0, &e) && !rt_session_detach(s, 0, &e) && first(s) == 60);
	CHECK("R289 R278", !rt_session_attach(s, &e) && !run(s, x, 8, NULL, 0, &e) && first(s) == 70);
	CHECK("R275", !rt_session_detach(s, 1, &e) && !rt_session_detach(s, 1, &e) && rt_session_transfers(s, 1) == 4);
	rt_session_free(s);
}

static void test_wrong_variable(void)
{
	RtProgram p = program(add_main, 1, 1);
	RtSession *s = session(&p), *other = session(&p);
	RtErr e;
	float x[8] = { 10 }, w[8] = { 9 };
	CHECK("R294", rt_session_write(s, W, w, 31, &e) == RT_EINVAL);
	CHECK_STR("R294", e.text, "variable `w` is f32[2, 4], 32 bytes; got 31");
	CHECK("R290", rt_session_read(s, NVAR, w, 32, &e) == RT_EINVAL && !rt_session_view(s, -1, &e) && rt_session_write(s, 99, w, 32, &e) == RT_EINVAL);
	CHECK("", first(s) == 1);
	CHECK("R270 A283 R296", !run(s, x, 8, NULL, 0, &e) && first(s) == 11 && first(other) == 1);
	rt_session_free(s);
	rt_session_free(other);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* per iteration: load x once, idle twice, store x[i] + idle[2i] + idle[2i+1]: ten times */
static int uneven_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	const void *x, *a, *b;
	int st;
	for (int i = 0; i < 10; i++) {
		if ((st = rt->host_load(ln, X, &x)) || (st = rt->host_load(ln, IDLE, &a)) || (st = rt->host_load(ln, IDLE, &b))) return st;
		float y = *(const float *)x + *(const float *)a + *(const float *)b;
		if ((st = rt->host_store(ln, Y, &y))) return st;
	}
	return 0;
}

static void test_cursors(void)
{
	RtStream one[NSTREAM] = { { "x", 1, DT_F32, 0, { 0 }, 1, 4, 1 }, { "y", 0, DT_F32, 0, { 0 }, 1, 4, 1 }, { "idle", 1, DT_F32, 0, { 0 }, 1, 4, 1 } };
	float x[25], z[25], y[25];
	RtErr e = { 0 };
	RtProgram p = program(uneven_main, 1, 20);
	p.streams = one;
	RtSession *s = session(&p);
	for (int i = 0; i < 25; i++) x[i] = (float)i, z[i] = (float)(100 * i), y[i] = -1;
	for (int again = 0; again < 2; again++) {
		CHECK("R308 R307 R305", !rt_session_run(s, (RtBind[]){ { X, x, 20 }, { IDLE, z, 25 }, { Y, y, 20 } }, 3, &e));
		int good = 1;
		for (int i = 0; i < 10; i++) good &= y[i] == (float)(i + 100 * (2 * i) + 100 * (2 * i + 1));
		CHECK("R308 R305 R302", good && y[10] == -1);
	}
	CHECK("R302 A224", rt_session_run(s, (RtBind[]){ { X, x, 19 }, { IDLE, z, 20 }, { Y, y, 20 } }, 3, &e) == RT_EINVAL);
	CHECK_STR("R301 A224", e.text, "input stream `x` expects f32[20], 20 elements; got 19");
	rt_session_free(s);
	p.transfers = 19;
	s = session(&p);
	CHECK("R306", rt_session_run(s, (RtBind[]){ { X, x, 19 }, { IDLE, z, 19 }, { Y, y, 19 } }, 3, &e) == RT_ERUN);
	CHECK("R306", strstr(e.text, "unable to fetch input data of stream `idle`: load number 20") || strstr(e.text, "input stream `idle`"));
	CHECK("R306", strstr(e.text, "number 20 of this run, but a run has 19") != NULL);
	rt_session_free(s);
	/* more than a run takes is left alone, but only whole transfers of 8 elements are */
	float many[32] = { 0 };
	RtProgram two = program(add_main, 1, 2);
	s = session(&two);
	CHECK("R302", rt_session_run(s, (RtBind[]){ { X, many, 20 } }, 1, &e) == RT_EINVAL);
	CHECK_STR("R301", e.text, "input stream `x` expects f32[2, 2, 4], 16 elements; got 20");
	CHECK("R302", rt_session_run(s, (RtBind[]){ { X, many, 17 } }, 1, &e) == RT_EINVAL && rt_session_run(s, (RtBind[]){ { X, many, 8 } }, 1, &e) == RT_EINVAL);
	CHECK("R302", !rt_session_run(s, (RtBind[]){ { X, many, 16 } }, 1, &e) && !rt_session_run(s, (RtBind[]){ { X, many, 32 } }, 1, &e));
	CHECK("R302", rt_session_run(s, (RtBind[]){ { X, many, 16 }, { Y, many, 25 } }, 2, &e) == RT_EINVAL);
	rt_session_free(s);
	p.transfers = 0;
	CHECK("R309", rt_session_new(&p, NULL, &s, &e) == RT_EINVAL && strstr(e.text, "host_transfers (0)"));
}

static int store_twice_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	int st = rt->host_store(ln, Y, ln->vars);
	rt->at(ln, 1);
	return st ? st : rt->host_store(ln, Y, ln->vars);
}

static int careful_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	const void *x;
	int st = rt->host_load(ln, X, &x);
	return st ? st : *(const float *)x < 0 ? rt->fault(ln, 1, "negative") : 0;
}

/* A failed run is over: the next one starts clean. */
static void test_after_failure(void)
{
	RtProgram p = program(careful_main, 1, 1);
	RtSession *s = session(&p);
	RtErr e;
	float x[8] = { -1 };
	CHECK("", run(s, x, 8, NULL, 0, &e) == RT_ERUN && strstr(e.text, "add.pxl:5:5: host_store: negative"));
	x[0] = 1;
	CHECK("R310", !run(s, x, 8, NULL, 0, &e) && rt_session_runs(s) == 1);
	rt_session_free(s);
}

static void test_binding(void)
{
	RtProgram p = program(add_main, 1, 1), twice = program(store_twice_main, 1, 1);
	RtStream only_out[NSTREAM];
	RtSession *s = session(&p);
	RtErr e;
	float x[9] = { 1 }, y[9] = { 0 };
	CHECK("R300 R299", rt_session_run(s, NULL, 0, &e) == RT_EINVAL && strstr(e.text, "missing `x`") && !strstr(e.text, "idle"));
	CHECK("R300 R299", rt_session_run(s, (RtBind[]){ { X, x, 8 }, { IDLE, x, 1 } }, 2, &e) == RT_EINVAL && strstr(e.text, "`idle`") && !strstr(e.text, "missing"));
	CHECK("R300", rt_session_run(s, (RtBind[]){ { IDLE, x, 1 } }, 1, &e) == RT_EINVAL && strstr(e.text, "missing `x`; never"));
	CHECK("R302", run(s, x, 9, NULL, 0, &e) == RT_EINVAL && run(s, x, 7, NULL, 0, &e) == RT_EINVAL && run(s, x, 16, NULL, 0, &e) == RT_EINVAL);
	CHECK_STR("R302", e.text, "input stream `x` expects f32[2, 4], 8 elements; got 16");
	CHECK("", rt_session_run(s, (RtBind[]){ { X, x, 8 }, { X, x, 8 } }, 2, &e) == RT_EINVAL && strstr(e.text, "given twice"));
	CHECK("", rt_session_run(s, (RtBind[]){ { 7, x, 8 } }, 1, &e) == RT_EINVAL && rt_session_run(s, (RtBind[]){ { -1, x, 8 } }, 1, &e) == RT_EINVAL);
	CHECK("", run(s, NULL, 8, NULL, 0, &e) == RT_EINVAL && strstr(e.text, "no array"));
	CHECK("", run(s, (float *)(void *)((char *)x + 1), 8, NULL, 0, &e) == RT_EINVAL && strstr(e.text, "not aligned"));
	CHECK("", first(s) == 1 && rt_session_runs(s) == 0);                           /* none of these ran */
	CHECK("R298 R301", !run(s, x, 8, y, 8, &e) && y[0] == 2 && y[7] == 8);
	x[0] = 5;
	CHECK("R311", !run(s, x, 8, y, 8, &e) && y[0] == 7);
	rt_session_free(s);
	memcpy(only_out, streams, sizeof streams);
	only_out[X].used = 0;
	twice.streams = only_out;
	s = session(&twice);
	CHECK("R306 R310", rt_session_run(s, NULL, 0, &e) == RT_ERUN);
	CHECK_STR("R306", e.text, "add.pxl:5:5: host_store: no room in stream `y`: store number 2 of this run, but a run has 1 (setting `host_transfers`)");
	CHECK("", rt_session_runs(s) == 0 && !rt_session_synced(s));
	rt_session_free(s);
}

/* --- replicas ------------------------------------------------------------------------------------------------------- */

static pthread_barrier_t together;

static int replica_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	pthread_barrier_wait(&together);                       /* passed only when every lane has a thread */
	int st = add_main(rt, ln);
	return st ? st : add_main(rt, ln);
}

static int failing_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	pthread_barrier_wait(&together);
	if (ln->replica == 5) return rt->fault(ln, 0, "the early one");
	if (ln->replica == 3) {
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
		rt->fault(ln, 1, "index 9 is out of range");
		return rt->fault(ln, 0, "a second fault");
	}
	return 0;
}

static void test_replicas(void)
{
	enum { D = 2, R = 6 };
	float x[D * R * 8] = { 0 }, y[D * R * 8] = { 0 };
	RtErr e = { 0 };
	RtProgram p = program(replica_main, R, D);
	pthread_barrier_init(&together, NULL, R);
	RtSession *s = session(&p);
	for (int d = 0; d < D; d++) for (int r = 0; r < R; r++) x[(d * R + r) * 8] = (float)(10 * (r + 1) + 1000 * d);
	CHECK("R301 R305", !run(s, x, D * R * 8, y, D * R * 8, &e));
	int good = 1;
	for (int r = 0; r < R; r++) good &= y[r * 8] == 1 + 10 * (r + 1) && y[(R + r) * 8] == 1 + 20 * (r + 1) + 1000;
	CHECK("R305 R374 R325 R372", good);
	CHECK("R373", first(s) == y[R * 8]);                   /* lane 0 speaks for the variable; lanes have drifted apart */
	CHECK("R305", !run(s, x, D * R * 8, y, D * R * 8, &e) && y[8] == 1 + 2 * 20 + 1000 + 20);
	CHECK("R301 R302", run(s, x, D * 8, y, D * R * 8, &e) == RT_EINVAL && strstr(e.text, "f32[2, 6, 2, 4], 96 elements; got 16"));
	rt_session_free(s);
	p.main = failing_main;
	s = session(&p);
	for (int again = 0; again < 3; again++) {
		CHECK("", run(s, x, D * R * 8, y, D * R * 8, &e) == RT_ERUN);
		CHECK_STR("", e.text, "add.pxl:5:5: host_store: index 9 is out of range (replica 3)");
	}
	rt_session_free(s);
	pthread_barrier_destroy(&together);
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

typedef struct Counter { long calls, live, fail_at; } Counter;

static void *counted(void *user, void *old, size_t n)
{
	Counter *c = user;
	if (!n) { c->live--; free(old); return NULL; }
	if (++c->calls == c->fail_at) return NULL;
	c->live++;
	return realloc(old, n);
}

static void test_memory(void)
{
	RtProgram p = program(add_main, 3, 1);
	Counter c = { 0, 0, 0 };
	RtOptions o = { .threads = 2, .alloc = { counted, &c } };
	RtSession *s = NULL;
	RtErr e = { 0 };
	float x[24] = { 1 }, y[24];
	CHECK("", !rt_session_new(&p, &o, &s, &e) && c.live > 0);
	CHECK("", !run(s, x, 24, y, 24, &e));
	long before = c.calls;
#ifdef COUNT_MALLOC
	long plain = mallocs;
#endif
	for (int i = 0; i < 100; i++) if (run(s, x, 24, y, 24, &e)) break;
	CHECK("", rt_session_runs(s) == 101 && c.calls == before);
#ifdef COUNT_MALLOC
	CHECK("", mallocs == plain);
#endif
	rt_session_free(s);
	CHECK("", c.live == 0);
	int failed = 0;
	for (c = (Counter){ 0, 0, 1 }; ; c.fail_at++, c.calls = 0) {
		int st = rt_session_new(&p, &o, &s, &e);
		if (!st) break;
		failed += st == RT_ENOMEM && c.live == 0;
	}
	rt_session_free(s);
	CHECK("", failed >= 10 && failed == c.fail_at - 1 && c.live == 0);
	p.frame_bytes = (size_t)1 << 60;
	CHECK("", rt_session_new(&p, NULL, &s, &e) == RT_EFIT && strstr(e.text, "are available"));
	p.frame_bytes = SIZE_MAX - 8;
	CHECK("", rt_session_new(&p, NULL, &s, &e) == RT_EFIT);
}

static int align_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	(void)rt;
	if ((uintptr_t)ln->frame % 64 || (uintptr_t)ln->vars % 64 || (uintptr_t)ln->consts % 64) return 1;
	return memcmp(ln->consts, "constants", 9) ? 1 : 0;
}

/* --- printing --------------------------------------------------------------------------------------------------------- */

typedef struct Printed { char text[4096]; size_t n; } Printed;

static void collect(void *user, const char *text, size_t n)
{
	Printed *p = user;
	size_t at = p->n;
	if (at + n >= sizeof p->text) return;
	nanosleep(&(struct timespec){ 0, 50000 }, NULL);       /* room for another lane to come between, if it could */
	memcpy(p->text + at, text, n);
	p->text[p->n = at + n] = 0;
}

static int print_main(const struct pxlrt *rt, struct pxlrt_lane *ln)
{
	static const struct pxlrt_print d = { .dtype = DT_F32, .rank = 1, .dim = { 4 }, .title = "w", .threshold = 1000, .edge = 3, .width = 75,
		.digits = 1, .sep = ' ', .open = '[', .close = ']' };
	pthread_barrier_wait(&together);
	for (int i = 0; i < 8; i++) rt->print(ln, &d, ln->vars);
	return 0;
}

/* Replicas print at the same time; each text comes out whole. */
static void test_print(void)
{
	RtProgram p = program(print_main, 4, 1);
	RtStream none[NSTREAM];
	Printed all = { .n = 0 };
	RtOptions o = { .threads = 1, .print = collect, .print_user = &all };
	RtSession *s = NULL;
	RtErr e;
	memcpy(none, streams, sizeof none);
	none[X].used = none[Y].used = 0;
	p.streams = none;
	pthread_barrier_init(&together, NULL, 4);
	CHECK("", !rt_session_new(&p, &o, &s, &e) && !rt_session_run(s, NULL, 0, &e));
	size_t line = strcspn(all.text, "\n") + 1, good = line > 8 && all.n == 32 * line;
	for (int i = 0; good && i < 32; i++) good = !memcmp(all.text, all.text + (size_t)i * line, line);
	CHECK("", good);
	rt_session_free(s);
	o.print = NULL;
	all.n = 0;
	CHECK("", !rt_session_new(&p, &o, &s, &e) && !rt_session_run(s, NULL, 0, &e) && all.n == 0);
	rt_session_free(s);
	pthread_barrier_destroy(&together);
}

static void test_regions(void)
{
	RtProgram p = program(align_main, 1, 1);
	RtStream none[NSTREAM];
	RtErr e;
	memcpy(none, streams, sizeof none);
	none[X].used = none[Y].used = 0;
	p.streams = none;
	p.consts = "?constants" + 1;
	p.const_bytes = 9;
	RtSession *s = session(&p);
	CHECK("", !rt_session_run(s, NULL, 0, &e));
	rt_session_free(s);
	p.const_bytes = 0;
	s = session(&p);
	CHECK("", rt_session_run(s, NULL, 0, &e) == RT_EINTERNAL);
	rt_session_free(s);
	p = (RtProgram){ .name = "empty", .main = store_twice_main, .replicas = 1, .transfers = 1 };
	s = session(&p);
	CHECK("R78", s != NULL);                               /* nothing at all is still a session */
	CHECK("", rt_session_run(s, NULL, 0, &e) == RT_ERUN && strstr(e.text, "program `empty`: there is no stream"));
	rt_session_free(s);
}

int main(void)
{
	alarm(60);                                             /* a lane that hangs must not hang the tests */
	test_moves();
	test_write_out_of_sync();
	test_attach();
	test_wrong_variable();
	test_cursors();
	test_binding();
	test_after_failure();
	test_replicas();
	test_memory();
	test_print();
	test_regions();
	return check_done();
}
