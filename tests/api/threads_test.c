/* threads_test.c — several models and sessions in one process: each thread with its own, and sessions of one program in several
 * threads at once.
 * tests/run: on one processor too */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

enum { THREADS = 4, ROUNDS = 3, RUNS = 50 };

static const char model[] =
	"program p(k: float = 1.0) {\n"
	"    x = host_load(h2d_stream(\"x\", f32[64]))\n"
	"    w = variable(normal(0, 1), f32[64, 64], name = \"w\")\n"
	"    s = variable(zeros([64]), name = \"s\")\n"
	"    s += relu(x.reshape([1, 64]) @ w).reshape([64]) * k\n"
	"    host_store(d2h_stream(\"y\", f32[64]), s)\n"
	"}\n";

typedef struct Worker {
	pthread_t thread;
	int id;
	pxl_program *shared;         /* or NULL: it compiles its own */
	float y[64];
	pxl_status st;
} Worker;

static pxl_status steps(pxl_program *p, const float *x, float *y)
{
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_session *s;
	so.threads = 2;
	pxl_status st = pxl_session_new(p, &so, &s);
	if (st != PXL_OK) return st;
	st = pxl_write(s, pxl_find(p, PXL_INPUT, "x"), x, 64 * sizeof *x);
	if (st == PXL_OK) st = pxl_run(s, RUNS);
	if (st == PXL_OK) st = pxl_read(s, pxl_find(p, PXL_OUTPUT, "y"), y, 64 * sizeof *y);
	pxl_session_free(s);
	return st;
}

static pxl_status compile(int id, pxl_ctx **cx, pxl_model **m, pxl_program **p)
{
	char k[8];
	pxl_set set = { "k", k };
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	snprintf(k, sizeof k, "%d.0", id);
	po.sets = &set;
	po.nset = 1;
	pxl_status st = pxl_ctx_new(NULL, cx);
	if (st == PXL_OK) st = pxl_compile_memory(*cx, "threads.pxl", model, sizeof model - 1, m);
	return st == PXL_OK ? pxl_program_new(*m, &po, p) : st;
}

static void *work(void *arg)
{
	Worker *w = arg;
	float x[64];
	for (int i = 0; i < 64; i++) x[i] = (float)(i % 7) - 3;
	for (int r = 0; r < ROUNDS && w->st == PXL_OK; r++) {
		pxl_ctx *cx = NULL;
		pxl_model *m = NULL;
		pxl_program *p = NULL;
		if (w->shared) {
			w->st = steps(w->shared, x, w->y);
			continue;
		}
		w->st = compile(w->id, &cx, &m, &p);
		if (w->st == PXL_OK) w->st = steps(p, x, w->y);
		pxl_program_free(p);
		pxl_model_free(m);
		pxl_ctx_free(cx);
	}
	return NULL;
}

static void all_at_once(Worker *w, pxl_program *shared)
{
	for (int i = 0; i < THREADS; i++) {
		w[i] = (Worker){ .id = i + 1, .shared = shared, .st = PXL_OK };
		CHECK("", !pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		CHECK("R270", w[i].st == PXL_OK);
	}
}

int main(void)
{
	static Worker own[THREADS], one[THREADS];
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	int near = 0;
	all_at_once(own, NULL);
	for (int i = 1; i < THREADS; i++)
		for (int k = 0; k < 64; k++) near += fabsf(own[i].y[k] - own[0].y[k] * (float)(i + 1)) <= 1e-4f * (1 + fabsf(own[i].y[k]));
	CHECK("", near == (THREADS - 1) * 64);
	CHECK("", own[0].y[0] != own[0].y[1] || own[0].y[1] != own[0].y[2]);
	CHECK("", compile(1, &cx, &m, &p) == PXL_OK);
	all_at_once(one, p);
	for (int i = 0; i < THREADS; i++) CHECK("R270", !memcmp(one[i].y, own[0].y, sizeof own[0].y));
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return check_done();
}
