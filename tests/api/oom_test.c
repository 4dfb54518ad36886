/* oom_test.c — every allocation of compile-and-run fails once: an error each time, never an exit, a crash or a leak.
 * libtcc's memory comes from the same hook, so its allocations are among them. */
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"module Linear(n: int) {\n"
	"    build(x) {\n"
	"        w = param(\"w\", x.dtype[x.shape[-1], n], normal(0, 0.1))\n"
	"        return gelu(x @ w)\n"
	"    }\n"
	"}\n"
	"program step() {\n"
	"    x = host_load(h2d_stream(\"x\", f32[2, 4]))\n"
	"    facts, g = Linear(3).create_graph(x)\n"
	"    grad = autodiff(g)\n"
	"    ws = facts.init()\n"
	"    fwd = g.bind(ws).call_with_info(x)\n"
	"    bwd = grad.call_with_info(fwd.outputs[0], args = grad.info.inputs_dict(fwd))\n"
	"    d = grad.info.fwd_parent_ins_to_grad_parent_outs(fwd, bwd)\n"
	"    for w in ws.tensors { scaled_add_(w, d[w], b = -0.1) }\n"
	"    host_store(d2h_stream(\"y\", f32[2, 3]), fwd.outputs[0])\n"
	"}\n";

typedef struct Heap { long countdown, live, calls; } Heap;

static void *hook(void *user, void *old, size_t size)
{
	Heap *h = user;
	if (size == 0) {
		if (old) h->live--;
		free(old);
		return NULL;
	}
	h->calls++;
	if (h->countdown && --h->countdown == 0) return NULL;
	if (!old) h->live++;
	return realloc(old, size);
}

static pxl_status once(Heap *h)
{
	pxl_options o = PXL_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	float x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	o.alloc = hook;
	o.alloc_user = h;
	so.threads = 1;
	po.jit = PXL_JIT_TCC;
	pxl_status st = pxl_ctx_new(&o, &cx);
	if (st == PXL_OK) st = pxl_compile_memory(cx, "oom.pxl", model, sizeof model - 1, &m);
	if (st == PXL_OK) st = pxl_program_new(m, &po, &p);
	if (st == PXL_OK) st = pxl_session_new(p, &so, &s);
	if (st == PXL_OK) st = pxl_write(s, pxl_find(p, PXL_INPUT, "x"), x, sizeof x);
	if (st == PXL_OK) st = pxl_run(s, 2);
	if (st == PXL_ENOMEM && cx) CHECK("", strstr(s ? pxl_session_errmsg(s) : pxl_errmsg(cx), "memory") != NULL);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return st;
}

int main(void)
{
	Heap whole = { 0, 0, 0 };
	CHECK("", once(&whole) == PXL_OK);
	CHECK("", whole.live == 0);
	printf("%ld allocations\n", whole.calls);
	for (long n = 1; n <= whole.calls; n++) {
		Heap h = { n, 0, 0 };
		pxl_status st = once(&h);
		CHECK("", st == PXL_ENOMEM);
		CHECK("", h.live == 0);
		if (st != PXL_ENOMEM || h.live) printf("allocation %ld: %s, %ld blocks left\n", n, pxl_strstatus(st), h.live);
	}
	return check_done();
}
