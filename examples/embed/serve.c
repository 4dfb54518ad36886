/* serve.c — one compiled model, several threads, a session each.
 *
 *   cc serve.c $(pkg-config --cflags --libs pxl) -lpthread -o serve && ./serve
 *
 * The program is compiled once; each thread owns a session, so nothing is shared while running. */
#include <pthread.h>
#include <pxl.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, REQUESTS = 200 };

static const char model_text[] =
	"program norm() {\n"
	"    x = host_load(h2d_stream(\"x\", f32[64]))\n"
	"    y = softmax(x, axis = -1)\n"
	"    host_store(d2h_stream(\"y\", y.spec), y)\n"
	"}\n";

typedef struct Worker { pxl_session *s; int x, y, first, bad; pthread_t thread; } Worker;

/* every answer must be a distribution whose largest element is where the request's is */
static int answer(Worker *w, int request)
{
	float x[64], y[64], sum = 0;
	int top = 0;
	for (int i = 0; i < 64; i++) x[i] = i == request % 64 ? 5.0f : 0.0f;
	if (pxl_write(w->s, w->x, x, sizeof x) || pxl_run(w->s, 1) || pxl_read(w->s, w->y, y, sizeof y)) return 0;
	for (int i = 0; i < 64; i++) {
		sum += y[i];
		if (y[i] > y[top]) top = i;
	}
	return top == request % 64 && sum > 0.999f && sum < 1.001f;
}

static void *work(void *arg)
{
	Worker *w = arg;
	for (int i = 0; i < REQUESTS; i++) w->bad += !answer(w, w->first + i);
	return NULL;
}

static int fail(pxl_ctx *cx)
{
	fprintf(stderr, "%s\n", pxl_errmsg(cx));
	for (size_t i = 0; i < pxl_diag_count(cx); i++) fputs(pxl_diag_text(cx, i, PXL_DIAG_FULL), stderr);
	return 1;
}

int main(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	Worker w[THREADS] = { { 0 } };
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	int bad = 0;
	so.threads = 1;                          /* the threads are ours */
	if (pxl_ctx_new(NULL, &cx) != PXL_OK) return 1;
	if (pxl_compile_memory(cx, "norm.pxl", model_text, strlen(model_text), &m) != PXL_OK || pxl_program_new(m, NULL, &p) != PXL_OK) return fail(cx);
	for (int i = 0; i < THREADS; i++) {
		if (pxl_session_new(p, &so, &w[i].s) != PXL_OK) return fail(cx);
		w[i].x = pxl_find(p, PXL_INPUT, "x");
		w[i].y = pxl_find(p, PXL_OUTPUT, "y");
		w[i].first = i * 1000;
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&w[i].thread, NULL, work, &w[i])) return 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		bad += w[i].bad;
		pxl_session_free(w[i].s);
	}
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	printf("%d answers from %d threads, %d wrong\n", THREADS * REQUESTS, THREADS, bad);
	return bad != 0;
}
