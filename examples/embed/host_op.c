/* host_op.c — a function of this program as an op of its model, with a gradient.
 *
 *   cc host_op.c $(pkg-config --cflags --libs pxl) -o host_op && ./host_op */
#include <pxl.h>
#include <stdio.h>
#include <string.h>

static const char model_text[] =
	"program main() {\n"
	"    x = host_load(h2d_stream(\"x\", f32[4]))\n"
	"    g = graph(fn(t) = host_op(\"leaky\", t, alpha = 0.02), x)\n"
	"    y = call(g, x)\n"
	"    dx = call(autodiff(g).graph, ones(f32[4]), x)\n"
	"    host_store(d2h_stream(\"y\", f32[4]), y)\n"
	"    host_store(d2h_stream(\"dx\", f32[4]), dx)\n"
	"}\n";

static int leaky(pxl_host_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data, alpha = (float)c->numbers[0];
	for (size_t i = 0; i < c->in[0].nelem; i++) y[i] = x[i] >= 0 ? x[i] : alpha * x[i];
	return 0;
}

static int leaky_grad(pxl_host_call *c)
{
	const float *x = c->in[0].data, *dy = c->in[1].data;
	float *dx = c->out[0].data, alpha = (float)c->numbers[0];
	for (size_t i = 0; i < c->in[0].nelem; i++) dx[i] = x[i] >= 0 ? dy[i] : alpha * dy[i];
	return 0;
}

/* results are like the first operand, so neither op needs a rule for shapes; but both are written for f32 */
static int only_f32(pxl_host_call *c)
{
	if (c->in[0].dtype == PXL_F32) return 0;
	snprintf(c->why, c->why_size, "it computes in f32, not in %s", pxl_dtype_name(c->in[0].dtype));
	return 1;
}

static int add_ops(pxl_ctx *cx)
{
	static const pxl_host_param params[] = { { "alpha", 1, 0.01, PXL_PARAM_FLOAT } };
	pxl_host_op op = PXL_HOST_OP_INIT, grad = PXL_HOST_OP_INIT;
	op.name = "leaky";
	op.run = leaky;
	op.grad = "leaky_grad";
	op.grad_in = "x0 dy0";
	grad.name = "leaky_grad";
	grad.nin = 2;
	grad.run = leaky_grad;
	op.infer = grad.infer = only_f32;
	op.params = grad.params = params;
	op.nparam = grad.nparam = 1;
	return pxl_register_op(cx, &op) || pxl_register_op(cx, &grad);
}

static int fail(pxl_ctx *cx)
{
	fprintf(stderr, "%s\n", pxl_errmsg(cx));
	for (size_t i = 0; i < pxl_diag_count(cx); i++) fputs(pxl_diag_text(cx, i, PXL_DIAG_FULL), stderr);
	pxl_ctx_free(cx);
	return 1;
}

int main(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	pxl_session *s;
	float x[4] = { -1, 0, 2, -50 }, y[4], dx[4];
	if (pxl_ctx_new(NULL, &cx)) return 1;
	if (add_ops(cx) || pxl_compile_memory(cx, "model", model_text, strlen(model_text), &m) || pxl_program_new(m, NULL, &p) || pxl_session_new(p, NULL, &s)) return fail(cx);
	if (pxl_write(s, pxl_find(p, PXL_INPUT, "x"), x, sizeof x) || pxl_run(s, 1) || pxl_read(s, pxl_find(p, PXL_OUTPUT, "y"), y, sizeof y) ||
	    pxl_read(s, pxl_find(p, PXL_OUTPUT, "dx"), dx, sizeof dx)) return fail(cx);
	for (int i = 0; i < 4; i++) printf("x %g: y %g, slope %g\n", x[i], y[i], dx[i]);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return 0;
}
