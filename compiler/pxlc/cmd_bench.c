/* cmd_bench.c — `pxlc bench`: steps timed one by one inside the process, on inputs drawn once.
 *
 * Untimed steps come first: WARM_UP of them, or as many as begin within WARM_UP_SECONDS, at least one.  They bring code,
 * memory and threads into the state that later steps find.  A slow step thus costs one more, not twenty. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/pxlc/commands.h"

enum { DEFAULT_STEPS = 1000, WARM_UP = 20, WARM_UP_SECONDS = 1 };

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* floats in [-1, 1), integers 0 or 1: valid as labels and indices of anything with two classes */
static void draw(pxl_dtype t, void *data, size_t n, uint64_t *state)
{
	int is_float = t == PXL_F16 || t == PXL_BF16 || t == PXL_F32 || t == PXL_F64;
	for (size_t i = 0; i < n; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		float x = is_float ? (float)(*state >> 40) / (1 << 23) - 1 : (float)(*state >> 63);
		pxl_convert(t, (char *)data + i * pxl_dtype_size(t), PXL_F32, &x, 1);
	}
}

static int fill_inputs(Host *h)
{
	pxl_info info;
	uint64_t state = h->c->seed + 1;
	for (int i = 0; pxl_get_info(h->p, i, &info); i++) {
		if (info.kind != PXL_INPUT || !info.used) continue;
		void *data = malloc(info.bytes + 1);
		if (data) draw(info.dtype, data, info.nelem, &state);
		pxl_status st = data ? pxl_write(h->s, i, data, info.bytes) : PXL_ENOMEM;
		free(data);
		if (st != PXL_OK) return host_fail_session(h, st);
	}
	return 0;
}

static void report(Host *h, double *us, int64_t n, int warm)
{
	pxl_program_info p;
	pxl_program_get_info(h->p, &p);
	qsort(us, (size_t)n, sizeof *us, by_value);
	double median = us[n / 2], p20 = us[n / 5], p80 = us[n * 4 / 5];
	long long threads = h->c->threads ? h->c->threads : pxl_session_threads(h->s);
	if (h->c->json) {
		printf("{\"program\": ");
		json_string(stdout, p.name);
		printf(", \"us_median\": %.3f, \"us_p20\": %.3f, \"us_p80\": %.3f, \"steps\": %lld, \"warm_up\": %d, \"compile_ms\": %.3f, \"elaborate_ms\": %.3f, "
		       "\"passes_ms\": %.3f, \"codegen_ms\": %.3f, \"jit_ms\": %.3f, \"peak_bytes\": %zu, \"frame_bytes\": %zu, \"lower_bound\": %zu, "
		       "\"threads\": %lld, \"jit\": \"%s\"}\n",
		       median, p20, p80, (long long)n, warm, p.compile_ms, p.elaborate_ms, p.passes_ms, p.codegen_ms, p.jit_ms, p.peak_bytes,
		       p.frame_bytes, p.lower_bound, threads, pxl_session_jit(h->s));
		return;
	}
	printf("%s: median %.1f us, p20 %.1f, p80 %.1f over %lld steps after %d; compiled in %.2f ms (%s), peak %zu bytes, %lld thread%s\n",
	       p.name, median, p20, p80, (long long)n, warm, p.compile_ms, pxl_session_jit(h->s), p.peak_bytes, threads, threads == 1 ? "" : "s");
}

static pxl_status warm_up(Host *h, int *steps)
{
	double start = now_us();
	pxl_status st = PXL_OK;
	*steps = 0;
	while (st == PXL_OK && !interrupted() && *steps < WARM_UP && (!*steps || now_us() - start < WARM_UP_SECONDS * 1e6)) {
		st = pxl_run(h->s, 1);
		++*steps;
	}
	return st;
}

static int time_steps(Host *h)
{
	int warm;
	int64_t n = h->c->steps ? h->c->steps : DEFAULT_STEPS;
	double *us = malloc((size_t)n * sizeof *us);
	if (!us) return say("out of memory"), EXIT_FIT;
	interrupts_begin();                                  /* a compiler at work in the background is stopped and cleared away */
	pxl_status st = warm_up(h, &warm);
	for (int64_t i = 0; i < n && st == PXL_OK && !interrupted(); i++) {
		double start = now_us();
		st = pxl_run(h->s, 1);
		us[i] = now_us() - start;
	}
	if (st == PXL_OK && !interrupted()) report(h, us, n, warm);
	free(us);
	if (interrupted()) return EXIT_INTERRUPTED;
	return st == PXL_OK ? finish_output() : host_fail_session(h, st);
}

int cmd_bench(Cli *c)
{
	Host h;
	if (c->files.n != 1) return usage(c, "needs one model: pxlc bench FILE --program P");
	int code = host_context(&h, c);
	if (!code) code = host_model(&h, c->files.at[0]);
	if (!code) code = host_program(&h, PXL_STAGE_ALL);
	if (!code) code = host_session(&h, 1);
	if (!code) code = fill_inputs(&h);
	if (!code) code = time_steps(&h);
	host_close(&h);
	return code;
}
