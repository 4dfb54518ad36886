/* count.c — one step of a program under callgrind, and nothing else of the process: `make count` says how it is called.
 *
 *   valgrind --tool=callgrind --instr-atstart=no build/b/count MODEL PROGRAM [NAME=VALUE…]
 *
 * Kernels of our own on one thread, code of libtcc; a step is made before, since the first one also resolves symbols. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/callgrind.h>

#include "compiler/api/pxl.h"

static int wrong(pxl_ctx *cx)
{
	fprintf(stderr, "count: %s\n", cx ? pxl_errmsg(cx) : "no memory");
	return 1;
}

/* floats in [-1, 1), integers 0 and 1, which are labels and indices of anything with two classes */
static pxl_status draw(pxl_session *s, int i, const pxl_info *info)
{
	int whole = info->dtype != PXL_F16 && info->dtype != PXL_BF16 && info->dtype != PXL_F32 && info->dtype != PXL_F64;
	char *data = malloc(info->bytes + 1);
	if (!data) return PXL_ENOMEM;
	for (size_t k = 0; k < info->nelem; k++) {
		float x = whole ? (float)(k * 7 / 3 % 2) : (float)(k * 37 % 256) / 128 - 1;
		pxl_convert(info->dtype, data + k * pxl_dtype_size(info->dtype), PXL_F32, &x, 1);
	}
	pxl_status st = pxl_write(s, i, data, info->bytes);
	free(data);
	return st;
}

static pxl_status fill(pxl_program *p, pxl_session *s)
{
	pxl_info info;
	pxl_status st = PXL_OK;
	for (int i = 0; st == PXL_OK && pxl_get_info(p, i, &info); i++)
		if (info.kind == PXL_INPUT && info.used) st = draw(s, i, &info);
	return st;
}

int main(int argc, char **argv)
{
	enum { MOST = 16 };
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p;
	pxl_session *s;
	pxl_set set[MOST];
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	if (argc < 3 || argc > 3 + MOST) return fprintf(stderr, "count MODEL PROGRAM [NAME=VALUE…]\n"), 2;
	for (int i = 3; i < argc; i++) {
		char *eq = strchr(argv[i], '=');
		if (!eq) return fprintf(stderr, "count: `%s` is not NAME=VALUE\n", argv[i]), 2;
		*eq = 0;
		set[po.nset++] = (pxl_set){ argv[i], eq + 1 };
	}
	po.name = argv[2], po.sets = set, po.jit = PXL_JIT_TCC;
	so.threads = 1;
	if (pxl_ctx_new(NULL, &cx) || pxl_compile_file(cx, argv[1], &m) || pxl_program_new(m, &po, &p) || pxl_session_new(p, &so, &s) || fill(p, s) || pxl_run(s, 1))
		return wrong(cx);
	CALLGRIND_START_INSTRUMENTATION;
	pxl_status st = pxl_run(s, 1);
	CALLGRIND_STOP_INSTRUMENTATION;
	if (st) return wrong(cx);
	pxl_session_free(s), pxl_program_free(p), pxl_model_free(m), pxl_ctx_free(cx);
	return 0;
}
