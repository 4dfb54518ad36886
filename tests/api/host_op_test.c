/* host_op_test.c — functions of the host as ops: registered, called, differentiated, refused, failing. */
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const pxl_host_param alpha[] = { { "alpha", 0, 0, PXL_PARAM_FLOAT } };

/* y = alpha x; fails on a negative element */
static int scale(pxl_host_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	for (size_t i = 0; i < c->in[0].nelem; i++) {
		if (x[i] < 0) return snprintf(c->why, c->why_size, "element %d is negative", (int)i), 1;
		y[i] = (float)c->numbers[0] * x[i];
	}
	return 0;
}

static int scale_grad(pxl_host_call *c)
{
	const float *g = c->in[0].data;
	float *dx = c->out[0].data;
	for (size_t i = 0; i < c->in[0].nelem; i++) dx[i] = (float)c->numbers[0] * g[i];
	return 0;
}

static int infer_f32(pxl_host_call *c)
{
	if (c->in[0].dtype == PXL_F32) return 0;
	snprintf(c->why, c->why_size, "it computes in f32");
	return 1;
}

/* results of other shapes and types than the operand's: length as i32[], and the ends as f32[2] */
static int infer_ends(pxl_host_call *c)
{
	c->out[0].dtype = PXL_I32;
	c->out[0].rank = 0;
	c->out[1].rank = 1;
	c->out[1].dim[0] = c->numbers[0] < 0 ? -3 : 2;
	return 0;
}

static int ends(pxl_host_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[1].data;
	*(int32_t *)c->out[0].data = (int32_t)c->in[0].nelem;
	y[0] = x[0];
	y[1] = x[c->in[0].nelem - 1];
	return 0;
}

static pxl_host_op op_of(const char *name, pxl_host_fn run, pxl_host_fn infer)
{
	pxl_host_op o = PXL_HOST_OP_INIT;
	o.name = name;
	o.run = run;
	o.infer = infer;
	o.params = alpha;
	o.nparam = 1;
	return o;
}

static pxl_ctx *begin(void)
{
	pxl_ctx *cx;
	pxl_host_op s = op_of("scale", scale, infer_f32), g = op_of("scale_grad", scale_grad, NULL), e = op_of("ends", ends, infer_ends);
	s.grad = "scale_grad";
	s.grad_in = "dy0";
	e.nout = 2;
	if (pxl_ctx_new(NULL, &cx)) exit(1);
	CHECK("R445", !pxl_register_op(cx, &s) && !pxl_register_op(cx, &g) && !pxl_register_op(cx, &e));
	return cx;
}

/* the whole text of the first diagnostic of a model that is refused; "" if it is not */
static const char *refusal(pxl_ctx *cx, const char *text)
{
	pxl_model *m;
	pxl_program *p;
	if (pxl_compile_memory(cx, "m.pxl", text, strlen(text), &m)) return pxl_diag_text(cx, 0, PXL_DIAG_SHORT);
	int bad = pxl_program_new(m, NULL, &p) != PXL_OK;
	if (!bad) pxl_program_free(p);
	pxl_model_free(m);
	return bad ? pxl_diag_text(cx, 0, PXL_DIAG_SHORT) : "";
}

static const char head[] = "program main() {\n    x = host_load(h2d_stream(\"x\", f32[2]))\n    ";
static const char *refused_line(pxl_ctx *cx, const char *line)
{
	char text[400];
	snprintf(text, sizeof text, "%s%s\n}\n", head, line);
	return refusal(cx, text);
}

static void registering(void)
{
	pxl_ctx *cx = begin();
	pxl_host_op none = PXL_HOST_OP_INIT;
	CHECK("", pxl_register_op(NULL, &none) == PXL_EINVAL && pxl_register_op(cx, NULL) == PXL_EINVAL && pxl_register_op(cx, &none) == PXL_EINVAL);
	pxl_host_op o = op_of("scale", scale, NULL);
	CHECK("R448", pxl_register_op(cx, &o) == PXL_EINVAL);
	CHECK_STR("R448", pxl_errmsg(cx), "the op `scale` is registered already");
	o.name = "later";
	o.abi = PXL_HOST_ABI + 1;
	CHECK("R449", pxl_register_op(cx, &o) == PXL_EINVAL);
	CHECK_STR("R449", pxl_errmsg(cx), "an op for version 3 of the interface; this library has 2");
	o.abi = PXL_HOST_ABI;
	o.name = "x(); system(\"true\"); /*";
	CHECK("", pxl_register_op(cx, &o) == PXL_EINVAL);
	o.name = "later";
	o.grad = "scale_grad";
	o.grad_in = "x0 dy9";
	CHECK("R446", pxl_register_op(cx, &o) == PXL_EINVAL);
	o.grad_in = NULL;
	CHECK("R449", pxl_register_op(cx, &o) == PXL_OK);
	pxl_ctx_free(cx);
}

static void refusing(void)
{
	pxl_ctx *cx = begin();
	const char *const wrong[][2] = {
		{ "host_op(\"scal\", x, alpha = 1)", "the host has registered no op `scal`" }, { "host_op(\"scale\", x)", "`scale` needs an argument for `alpha`" },
		{ "host_op(\"scale\", x, beta = 1)", "`scale` has no parameter `beta`" }, { "host_op(\"scale\", x, alpha = \"1\")", "`alpha` of `scale`" },
		{ "host_op(\"scale\", x, x, alpha = 1)", "`scale` takes 1 operand, 2 given" }, { "host_op(\"scale\", x.cast(i32), alpha = 1)", "`scale` refuses its operands: it computes in f32" },
		{ "host_op(\"ends\", x, alpha = -1)", "the host gave result 1 of `ends` no possible shape" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const char *got = refused_line(cx, wrong[i][0]);
		CHECK("R448", strstr(got, wrong[i][1]) != NULL);
		if (!strstr(got, wrong[i][1])) printf("got: %s\n", got);
	}
	CHECK("R446", strstr(refused_line(cx, "g = graph(fn(t) = host_op(\"ends\", t, alpha = 1), x)\n    autodiff(g, grads_provided = [g.outputs[1]])"), "no gradient") != NULL);
	pxl_ctx_free(cx);
}

static const char model[] =
	"program main() replicas 2 {\n"
	"    x = host_load(h2d_stream(\"x\", f32[2]))\n"
	"    g = graph(fn(t) = host_op(\"scale\", t, alpha = 3), x)\n"
	"    y = repeat(g, 2, x)\n"
	"    dx = call(autodiff(g).graph, ones(f32[2]))\n"
	"    n, e = host_op(\"ends\", call(g, x), alpha = 0)\n"
	"    host_store(d2h_stream(\"y\", f32[2]), y)\n"
	"    host_store(d2h_stream(\"dx\", f32[2]), dx)\n"
	"    host_store(d2h_stream(\"n\", i32[]), n)\n"
	"    host_store(d2h_stream(\"e\", f32[2]), e)\n"
	"}\n";

static void running(pxl_jit jit, int level)
{
	pxl_ctx *cx = begin();
	pxl_model *m;
	pxl_program *p;
	pxl_session *s;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	o.jit = jit;
	o.level = level;
	float x[4] = { 1, 2, 3, 4 }, y[4], dx[4], e[4];
	int32_t n[2];
	if (pxl_compile_memory(cx, "m.pxl", model, strlen(model), &m) || pxl_program_new(m, &o, &p) || pxl_session_new(p, NULL, &s)) {
		CHECK("R452", !"it builds");
		printf("%s\n%s\n", pxl_errmsg(cx), pxl_diag_count(cx) ? pxl_diag_text(cx, 0, 0) : "");
		return;
	}
	int in = pxl_find(p, PXL_INPUT, "x");
	CHECK("", !pxl_write(s, in, x, sizeof x) && !pxl_run(s, 1));
	CHECK("", !pxl_read(s, pxl_find(p, PXL_OUTPUT, "y"), y, sizeof y) && !pxl_read(s, pxl_find(p, PXL_OUTPUT, "dx"), dx, sizeof dx));
	CHECK("", !pxl_read(s, pxl_find(p, PXL_OUTPUT, "n"), n, sizeof n) && !pxl_read(s, pxl_find(p, PXL_OUTPUT, "e"), e, sizeof e));
	CHECK("R452", y[0] == 9 && y[1] == 18 && y[2] == 27 && y[3] == 36);
	CHECK("R446 R452", dx[0] == 3 && dx[3] == 3);
	CHECK("R445", n[0] == 2 && n[1] == 2 && e[0] == 3 && e[1] == 6 && e[2] == 9 && e[3] == 12);
	const char *text;
	CHECK("R447", !pxl_emit(p, "schedule", NULL, &text) && strstr(text, "scale."));
	CHECK("", pxl_ship(p, "never-made") == PXL_EINVAL);
	CHECK("", strstr(pxl_errmsg(cx), ", an op of the host program: what is built to run by itself has no such function") != NULL);
	x[3] = -1;
	CHECK("", !pxl_write(s, in, x, sizeof x) && pxl_run(s, 1) == PXL_ERUN);
	CHECK_STR("", pxl_session_errmsg(s), "m.pxl:3:23: scale: element 1 is negative (replica 1)");
	x[3] = 4;
	CHECK("", !pxl_write(s, in, x, sizeof x) && !pxl_run(s, 1));
	pxl_ctx_free(cx);                                /* in any order */
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
}

int main(void)
{
	registering();
	refusing();
	running(PXL_JIT_TCC, 2);
	running(PXL_JIT_TCC, 0);
	running(PXL_JIT_CC, 2);
	return check_done();
}
