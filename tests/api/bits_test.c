/* bits_test.c — the number of threads, and who compiles the emitted C, do not show in any bit of a training run.
 * tests/run: on one processor too */
#define _GNU_SOURCE                          /* cpu_set_t */
#include <sched.h>
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

typedef struct Net { const char *file, *program, *set, *value; int steps; } Net;
typedef struct Bits { unsigned char *at; size_t n; } Bits;

/* A session has no more threads than processors: whatever machine this is, it has 16, and threads need not stay on one of them. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	CPU_ZERO_S(size, set);
	for (int i = 0; i < 16; i++) CPU_SET_S(i, size, set);
	return 0;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	(void)pid, (void)size, (void)set;
	return 0;
}

static void fill(pxl_session *s, int index, const pxl_info *i)
{
	char *data = calloc(1, i->bytes + 1);
	for (size_t k = 0; k < i->nelem; k++) {
		double v = i->dtype == PXL_F32 ? (double)(k * 2654435761u % 1000) / 500 - 1 : (double)(k % 10);
		pxl_convert(i->dtype, data + k * pxl_dtype_size(i->dtype), PXL_F64, &v, 1);
	}
	CHECK("", pxl_write(s, index, data, i->bytes) == PXL_OK);
	free(data);
}

/* inputs from a formula, some steps, then every output and variable one after another */
static Bits train(const Net *net, pxl_jit jit, int threads, pxl_matmul matmul)
{
	pxl_ctx *cx;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	pxl_set set = { net->set, net->value };
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_info i;
	Bits b = { NULL, 0 };
	po.name = net->program;
	po.jit = jit;
	po.matmul = matmul;
	po.sets = &set;
	po.nset = 1;
	so.threads = threads;
	CHECK("", pxl_ctx_new(NULL, &cx) == PXL_OK && pxl_compile_file(cx, net->file, &m) == PXL_OK);
	if (pxl_program_new(m, &po, &p) != PXL_OK || pxl_session_new(p, &so, &s) != PXL_OK) printf("%s\n", pxl_errmsg(cx));
	CHECK("", pxl_session_threads(s) == threads);
	for (int k = 0; s && pxl_get_info(p, k, &i); k++)
		if (i.kind == PXL_INPUT) fill(s, k, &i);
	int ok = s && pxl_run(s, (size_t)net->steps) == PXL_OK;
	for (int k = 0; ok && pxl_get_info(p, k, &i); k++) {
		if (i.kind == PXL_INPUT) continue;
		b.at = realloc(b.at, b.n + i.bytes + 1);
		ok = pxl_read(s, k, b.at + b.n, i.bytes) == PXL_OK;
		b.n += i.bytes;
	}
	CHECK("", ok);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return b;
}

static int same(Bits a, Bits b)
{
	int yes = a.n && a.n == b.n && !memcmp(a.at, b.at, a.n);
	free(b.at);
	return yes;
}

int main(void)
{
	static const Net nets[] = {
		{ "examples/mnist.pxl", "train", "batch", "8", 3 }, { "examples/mnist.pxl", "train", "batch", "96", 2 },
		{ "tests/bench/chains.pxl", "lenet", "batch", "12", 2 }, { "tests/bench/chains.pxl", "norm", "rows", "300", 1 },
		{ "tests/bench/chains.pxl", "soft", "rows", "300", 1 }, { "tests/bench/chains.pxl", "chain", "n", "100000", 1 },
		{ "examples/gpt.pxl", "train", "batch", "1", 2 },
	};
	static const int threads[] = { 2, 3, 8, 16 };
	for (size_t k = 0; k < sizeof nets / sizeof *nets; k++)
		for (pxl_matmul m = PXL_MATMUL_F32; m <= PXL_MATMUL_BF16; m++) {
			Bits one = train(&nets[k], PXL_JIT_TCC, 1, m);
			for (int t = 0; t < 4; t++) CHECK("", same(one, train(&nets[k], PXL_JIT_TCC, threads[t], m)));
			CHECK("", same(one, train(&nets[k], PXL_JIT_CC, 2, m)));
			free(one.at);
		}
	return check_done();
}
