/* random_test.c — random numbers as a host sees them: the same bits for any number of threads, replicas and runs; what differs
 * differs by its seed alone. */
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

enum { N = 50021, LANES = 3 };

static const char model[] =
	"fn give(name, t) { host_store(d2h_stream(name, t.spec), t) }\n"
	"program p() {\n"
	"    s = host_load(h2d_stream(\"seed\", u32[2]))\n"
	"    x = constant(arange(1.0, 50022.0))\n"
	"    g = graph(fn(x, s) = dropout(x, s, 0.3), x, s)\n"
	"    d = autodiff(g, grads_required = [g.inputs[0]])\n"
	"    f = call_with_info(g, x, s)\n"
	"    give(\"dropped\", f.outputs[0])\n"
	"    give(\"gradient\", call_with_info(d.graph, x, inputs_dict = d.inputs_dict(f)).outputs[0])\n"
	"    give(\"normal\", random_normal(s, [50021]))\n"
	"    give(\"uniform\", random_uniform(s, [50021], dtype = f16).cast(f32))\n"
	"}\n";
static const char *const outputs[] = { "dropped", "gradient", "normal", "uniform" };
enum { OUTPUTS = sizeof outputs / sizeof *outputs };

typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; } World;

static void world_open(World *w, int replicas, int level)
{
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.replicas = replicas;
	po.level = level;
	po.jit = PXL_JIT_TCC;
	int ok = pxl_ctx_new(NULL, &w->cx) == PXL_OK && pxl_compile_memory(w->cx, "random.pxl", model, sizeof model - 1, &w->m) == PXL_OK
	      && pxl_program_new(w->m, &po, &w->p) == PXL_OK;
	if (!ok) printf("%s\n", pxl_diag_text(w->cx, 0, 0));
	CHECK("", ok);
}

static void world_close(World *w)
{
	pxl_program_free(w->p);
	pxl_model_free(w->m);
	pxl_ctx_free(w->cx);
}

/* all outputs one after the other, each with a lane per replica; malloc'ed */
static float *run(const World *w, int threads, int lanes, const unsigned *seeds, int runs)
{
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_session *s = NULL;
	float *y = calloc((size_t)(OUTPUTS * lanes) * N, sizeof *y);
	so.threads = threads;
	int ok = pxl_session_new(w->p, &so, &s) == PXL_OK && pxl_write(s, pxl_find(w->p, PXL_INPUT, "seed"), seeds, (size_t)lanes * 8) == PXL_OK
	      && pxl_run(s, (size_t)runs) == PXL_OK;
	for (int i = 0; ok && i < OUTPUTS; i++)
		ok = pxl_read(s, pxl_find(w->p, PXL_OUTPUT, outputs[i]), y + (size_t)(i * lanes) * N, (size_t)lanes * N * sizeof *y) == PXL_OK;
	CHECK("", ok);
	pxl_session_free(s);
	return y;
}

static const unsigned seeds[2 * LANES] = { 42, 7, 42, 7, 43, 7 };

static void threads_and_runs(const World *w)
{
	float *one = run(w, 1, 1, seeds, 1);
	static const int how[][2] = { { 2, 1 }, { 3, 1 }, { 5, 1 }, { 2, 3 } };
	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		float *y = run(w, how[i][0], 1, seeds, how[i][1]);
		CHECK("R435", !memcmp(one, y, OUTPUTS * N * sizeof *y));
		free(y);
	}
	int zeros = 0, same = 1;
	for (int i = 0; i < N; i++) {
		zeros += one[i] == 0;
		same &= (one[i] == 0) == (one[N + i] == 0);
	}
	CHECK("R440", same);
	CHECK("R439", zeros > N / 5 && zeros < N);
	free(one);
}

/* replicas with one seed draw the same, and another seed's lane something else */
static void replicas(const World *w, const World *single)
{
	float *one = run(single, 2, 1, seeds, 1), *y = run(w, 2, LANES, seeds, 1);
	for (int i = 0; i < OUTPUTS; i++) {
		const float *lane = y + (size_t)(i * LANES) * N;
		int differ = 0;
		CHECK("R435 R441", !memcmp(lane, one + (size_t)i * N, N * sizeof *y) && !memcmp(lane, lane + N, N * sizeof *y));
		for (int k = 0; k < N; k++) differ += lane[k] != lane[2 * N + k];
		CHECK("R436", i >= 2 ? differ > N * 9 / 10 : differ > N / 10);
	}
	free(one);
	free(y);
}

int main(void)
{
	World fast, plain, several;
	world_open(&fast, 1, 2);
	world_open(&plain, 1, 0);
	world_open(&several, LANES, 2);
	threads_and_runs(&fast);
	threads_and_runs(&plain);
	replicas(&several, &fast);
	float *a = run(&fast, 2, 1, seeds, 1), *b = run(&plain, 1, 1, seeds, 1);
	CHECK("R441", !memcmp(a, b, OUTPUTS * N * sizeof *a));
	free(a);
	free(b);
	world_close(&fast);
	world_close(&plain);
	world_close(&several);
	return check_done();
}
