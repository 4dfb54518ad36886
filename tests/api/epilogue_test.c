/* epilogue_test.c — what follows a product has the same bits as a loop of its own: for every element type, kind of product and kind of
 * follower, at any number of threads, with either compiler; the plan does not grow; and what must stay apart does. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

typedef struct Model { const char *name, *text; int least, most; } Model;           /* products that get a tail: how many depends on what lives when */

/* x [r, k] @ w [k, n] and what they meet: b [n], z [r, n] */
static const char start[] =
	"fn var(name: str, shape) = variable(normal(0, 1), %s[shape], name = name)\n"
	"fn out(name: str, t) { host_store(d2h_stream(name, t.spec), t) }\n"
	"program main(r: int, k: int, n: int) {\n"
	"    x = var(\"x\", [r, k])\n"
	"    w = var(\"w\", [k, n])\n"
	"    b = var(\"b\", [n])\n"
	"    z = var(\"z\", [r, n])\n";

static const Model models[] = {
	{ "bias", "    out(\"y\", x @ w + b)\n", 1, 1 },
	{ "bias and residual", "    out(\"y\", z + (x @ w + b))\n", 1, 1 },
	{ "activation and residual", "    out(\"y\", gelu(x @ w + b) + z)\n", 1, 1 },
	{ "both sides of an activation", "    s = x @ w + b\n    out(\"s\", s)\n    out(\"y\", relu(s))\n", 1, 1 },
	{ "gradients of activations",
	  "    fn net(x, w, b, u, v) = swish(gelu(tanh(x @ w + b) @ u) @ v)\n"
	  "    u = var(\"u\", [n, k])\n"
	  "    g = graph(net, x, w, b, u, w)\n"
	  "    d = autodiff(g)\n"
	  "    f = call_with_info(g, x, w, b, u, w)\n"
	  "    e = call_with_info(d.graph, f.outputs[0], inputs_dict = d.inputs_dict(f)).outputs\n"
	  "    for i in range(len(e)) { out(\"d{i}\", e[i]) }\n", 2, 5 },
	{ "rows, columns, scalars", "    out(\"y\", (x @ w * 0.5 + var(\"c\", [r, 1])) * b / var(\"f\", []))\n", 1, 1 },
	{ "a batch", "    out(\"y\", tanh(var(\"q\", [3, r, k]) @ var(\"v\", [3, k, n])) + var(\"t\", [3, r, n]) * b)\n", 1, 1 },
	{ "a batch and one matrix", "    out(\"y\", var(\"t\", [3, 1, n]) + var(\"q\", [3, r, k]) @ w)\n", 1, 1 },
	{ "two products", "    out(\"y\", relu(x @ w) + x @ var(\"v\", [k, n]))\n", 1, 1 },
	{ "transposed", "    out(\"y\", var(\"u\", [k, r]).T @ var(\"v\", [n, k]).T - z)\n", 1, 1 },
	{ "another type", "    out(\"y\", clip(x @ w, min = -100.0, max = 100.0).cast(i32))\n", 1, 1 },
	{ "through a reshape", "    out(\"y\", (x @ w).reshape([1, r, n]) * b)\n", 1, 1 },
	{ "written over something else", "    with in_sequence() {\n        add_(z, sin(x @ w))\n        out(\"y\", z)\n    }\n", 1, 1 },
	{ "read elsewhere", "    s = x @ w\n    out(\"s\", s.sum(0))\n    out(\"y\", relu(s))\n", 0, 0 },
	{ "its operand is written in between", "    with in_sequence() {\n        s = x @ w\n        add_(w, w)\n        out(\"y\", s + b * w.sum())\n    }\n", 0, 0 },
	{ "its operand is written behind it", "    q = var(\"q\", [n, n])\n    with in_sequence() {\n        add_(q, sin(q @ q))\n        out(\"y\", q)\n    }\n", 0, 0 },
	{ "other rows", "    out(\"y\", (x @ w).reshape([n, r]) + b.reshape([n, 1]))\n", 0, 0 },
};

/* --- running --------------------------------------------------------------------------------------------------------- */

typedef struct Way { const char *no_pass; int threads; pxl_jit jit; pxl_matmul matmul; } Way;
typedef struct Shot { unsigned char *at; size_t n, frame; int joined; } Shot;

/* products that are called with a tail and its list of pointers */
static int count(pxl_program *p)
{
	const char *c = "";
	int n = 0;
	CHECK("", pxl_emit(p, "c", NULL, &c) == PXL_OK);
	for (const char *q = c; (q = strstr(q, "rt->matmul(")); q++) {
		const char *end = strstr(q, "))) return st;");
		n += end && !strncmp(end - 3, ", p", 3);
	}
	return n;
}

/* all that comes out of two steps, one after another */
static Shot shoot(const char *text, const long *size, Way way)
{
	char number[3][24];
	pxl_set set[3] = { { "r", number[0] }, { "k", number[1] }, { "n", number[2] } };
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_program_info pi = { .name = NULL };
	pxl_info i;
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	Shot b = { 0 };
	for (int k = 0; k < 3; k++) snprintf(number[k], sizeof number[k], "%ld", size[k]);
	po.sets = set, po.nset = 3, po.no_pass = way.no_pass, po.jit = way.jit, po.matmul = way.matmul;
	so.threads = way.threads;
	CHECK("", pxl_ctx_new(NULL, &cx) == PXL_OK);
	int ok = pxl_compile_memory(cx, "m.pxl", text, strlen(text), &m) == PXL_OK && pxl_program_new(m, &po, &p) == PXL_OK && pxl_session_new(p, &so, &s) == PXL_OK;
	for (size_t d = 0; d < pxl_diag_count(cx); d++) printf("%s\n", pxl_diag_text(cx, d, PXL_DIAG_SHORT));
	ok = ok && pxl_run(s, 2) == PXL_OK;
	for (int k = 0; ok && pxl_get_info(p, k, &i); k++) {
		b.at = realloc(b.at, b.n + i.bytes + 1);
		ok = pxl_read(s, k, b.at + b.n, i.bytes) == PXL_OK;
		b.n += i.bytes;
	}
	CHECK("", ok && b.n);
	if (ok) {
		pxl_program_get_info(p, &pi);
		b.frame = pi.frame_bytes;
		b.joined = count(p);
	}
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return b;
}

static void same(const Shot *a, Shot b)
{
	CHECK("", a->n == b.n && !memcmp(a->at, b.at, a->n));
	free(b.at);
}

static void compare(const Model *model, const char *type, const long *size, int thorough)
{
	static const int threads[] = { 2, 3, 8, 16 };
	char text[4096];
	int n = snprintf(text, sizeof text, start, type);
	snprintf(text + n, sizeof text - (size_t)n, "%s}\n", model->text);
	check_where = model->name;
	Shot apart = shoot(text, size, (Way){ "epilogue", 1, PXL_JIT_TCC, PXL_MATMUL_F32 });
	Shot one = shoot(text, size, (Way){ NULL, 1, PXL_JIT_TCC, PXL_MATMUL_F32 });
	CHECK("", one.joined >= model->least && one.joined <= model->most && !apart.joined);
	CHECK("", one.frame <= apart.frame);
	same(&one, apart);
	for (int t = 0; thorough && t < 4; t++) same(&one, shoot(text, size, (Way){ NULL, threads[t], PXL_JIT_TCC, PXL_MATMUL_F32 }));
	if (thorough) {
		Shot rounded = shoot(text, size, (Way){ "epilogue", 1, PXL_JIT_TCC, PXL_MATMUL_BF16 });
		same(&one, shoot(text, size, (Way){ NULL, 2, PXL_JIT_CC, PXL_MATMUL_F32 }));
		same(&rounded, shoot(text, size, (Way){ NULL, 3, PXL_JIT_TCC, PXL_MATMUL_BF16 }));
		free(rounded.at);
	}
	free(one.at);
	check_where = NULL;
}

int main(void)
{
	/* one row; rows fewer and more than a tile's, dot products, cut along k, b where it stands, all packed, several rounds */
	static const long sizes[][3] = { { 1, 7, 5 }, { 5, 33, 70 }, { 90, 256, 11 }, { 8, 1024, 400 }, { 130, 60, 300 }, { 600, 40, 50 } };
	static const char *const types[] = { "f32", "f64", "f16", "bf16" };
	for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) compare(&models[m], "f32", sizes[s], 0);
		for (int t = 0; t < 4; t++) compare(&models[m], types[t], sizes[4], t == 0);
	}
	return check_done();
}
