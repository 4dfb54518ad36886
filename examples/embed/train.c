/* train.c — trains a model that the program carries as a string, and saves what it learned.
 *
 *   cc train.c $(pkg-config --cflags --libs pxl) -o train && ./train
 *
 * The model fits y = 2x − 1 by gradient descent; data goes into the session's streams without copies. */
#include <pxl.h>
#include <stdio.h>
#include <string.h>

static const char model_text[] =
	"module Line() {\n"
	"    build(x) {\n"
	"        a = param(\"a\", f32[], zeros())\n"
	"        b = param(\"b\", f32[], zeros())\n"
	"        return a * x + b\n"
	"    }\n"
	"}\n"
	"program fit(n: int = 16, lr: float = 0.1) {\n"
	"    x = host_load(h2d_stream(\"x\", f32[n]))\n"
	"    y = host_load(h2d_stream(\"y\", f32[n]))\n"
	"    facts, line = Line().create_graph(x)\n"
	"    grad    = autodiff(line, grads_required = line.args.tensors)\n"
	"    weights = facts.init()\n"
	"    fwd     = line.bind(weights).call_with_info(x)\n"
	"    error   = fwd.outputs[0] - y\n"
	"    bwd     = grad.call_with_info(error * (2.0 / n), args = grad.info.inputs_dict(fwd))\n"
	"    grads   = grad.info.fwd_parent_ins_to_grad_parent_outs(fwd, bwd)\n"
	"    for w in weights.tensors { scaled_add_(w, grads[w], b = -lr) }\n"
	"    loss = (error * error).mean()\n"
	"    host_store(d2h_stream(\"loss\", loss.spec), loss)\n"
	"}\n";

static int fail(pxl_ctx *cx, pxl_status st)
{
	fprintf(stderr, "%s: %s\n", pxl_strstatus(st), pxl_errmsg(cx));
	for (size_t i = 0; i < pxl_diag_count(cx); i++) fputs(pxl_diag_text(cx, i, PXL_DIAG_FULL), stderr);
	pxl_ctx_free(cx);
	return 1;
}

/* runs until the loss is small; returns it */
static float fit(pxl_program *p, pxl_session *s)
{
	float x[16], y[16], loss = 1;
	for (int i = 0; i < 16; i++) {
		x[i] = (float)i / 8 - 1;
		y[i] = 2 * x[i] - 1;
	}
	if (pxl_bind(s, pxl_find(p, PXL_INPUT, "x"), x, sizeof x) || pxl_bind(s, pxl_find(p, PXL_INPUT, "y"), y, sizeof y) ||
	    pxl_bind(s, pxl_find(p, PXL_OUTPUT, "loss"), &loss, sizeof loss)) return -1;
	for (int step = 0; step < 1000 && loss > 1e-10f; step++)
		if (pxl_run(s, 1) != PXL_OK) return -1;
	return loss;
}

int main(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	pxl_session *s;
	float a, b;
	pxl_status st = pxl_ctx_new(NULL, &cx);
	if (st != PXL_OK) return 1;
	if ((st = pxl_compile_memory(cx, "line.pxl", model_text, strlen(model_text), &m)) != PXL_OK) return fail(cx, st);
	if ((st = pxl_program_new(m, NULL, &p)) != PXL_OK) return fail(cx, st);
	if ((st = pxl_session_new(p, NULL, &s)) != PXL_OK) return fail(cx, st);
	float loss = fit(p, s);
	if (loss < 0 || pxl_read(s, pxl_find(p, PXL_VARIABLE, "a"), &a, sizeof a) != PXL_OK ||
	    pxl_read(s, pxl_find(p, PXL_VARIABLE, "b"), &b, sizeof b) != PXL_OK || pxl_save(s, "line.safetensors") != PXL_OK) {
		fprintf(stderr, "%s\n", pxl_session_errmsg(s));
		return 1;
	}
	printf("y = %.3f x + %.3f, after %llu steps\n", a, b, (unsigned long long)pxl_runs(s));
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return 0;
}
