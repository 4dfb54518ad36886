/* mnist_test.c — where the tutorial's network starts from: its weights, before a step is made. */
#include <math.h>
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

typedef struct Start { float *w[8]; size_t n[8]; } Start;
static const char *const names[8] = { "fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight", "fc3.bias", "fc3.weight", "fc4.bias", "fc4.weight" };

static Start start_of(const char *program, uint64_t seed)
{
	Start st = { { NULL }, { 0 } };
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	pxl_session *s;
	pxl_info info;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.name = program;
	po.seed = seed;
	CHECK("", pxl_ctx_new(NULL, &cx) == PXL_OK && pxl_compile_file(cx, "examples/mnist.pxl", &m) == PXL_OK);
	CHECK("", pxl_program_new(m, &po, &p) == PXL_OK && pxl_session_new(p, NULL, &s) == PXL_OK);
	for (int i = 0; i < 8; i++) {
		int v = pxl_find(p, PXL_VARIABLE, names[i]);
		if (!pxl_get_info(p, v, &info)) continue;
		st.n[i] = info.nelem;
		st.w[i] = malloc(info.bytes);
		CHECK("", pxl_read(s, v, st.w[i], info.bytes) == PXL_OK);
	}
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return st;
}

static void forget(Start *st)
{
	for (int i = 0; i < 8; i++) free(st->w[i]);
}

/* mean 0, deviation 0.02, and as many within one deviation as a bell has */
static int is_normal(const float *w, size_t n)
{
	double sum = 0, squares = 0;
	size_t within = 0, beyond = 0;
	for (size_t i = 0; i < n; i++) {
		sum += w[i];
		squares += (double)w[i] * w[i];
		within += fabsf(w[i]) < 0.02f;
		beyond += fabsf(w[i]) > 0.05f;
	}
	double count = (double)n, off = 6 / sqrt(count);
	return fabs(sum / count) < 0.02 * off && fabs(sqrt(squares / count) / 0.02 - 1) < off && fabs((double)within / count - 0.6827) < off &&
	       (n < 5000 || beyond > 0);
}

int main(void)
{
	Start a = start_of("train", 7), again = start_of("train", 7), other = start_of("train", 8), test = start_of("test", 7);
	size_t weights = 0, all = 0;
	for (int i = 0; i < 8; i++) {
		int weight = i % 2;
		all += a.n[i];
		weights += weight ? a.n[i] : 0;
		if (weight) {
			CHECK("A328", is_normal(a.w[i], a.n[i]));
			CHECK("A328", memcmp(a.w[i], other.w[i], a.n[i] * 4) != 0);
			CHECK("A328", i < 3 || memcmp(a.w[i], a.w[i - 2], 4000) != 0);
		} else {
			size_t zero = 0;
			for (size_t k = 0; k < a.n[i]; k++) zero += a.w[i][k] == 0;
			CHECK("A328", zero == a.n[i]);
		}
		CHECK("A328", !memcmp(a.w[i], again.w[i], a.n[i] * 4));
		CHECK("A328", test.n[i] == a.n[i] && !memcmp(a.w[i], test.w[i], a.n[i] * 4));
	}
	CHECK("A330", weights == 930816 && all == 932362);
	forget(&a);
	forget(&again);
	forget(&other);
	forget(&test);
	return check_done();
}
