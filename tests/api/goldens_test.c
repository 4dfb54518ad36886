/* goldens_test.c — PopXL's integration tests of sessions: sizes of what goes in and out, uneven loads, carried state, what holds after leaving. */
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; int in, out; } World;

static int open_world(World *w, const char *text)
{
	*w = (World){ 0 };
	pxl_status st = pxl_ctx_new(NULL, &w->cx);
	if (st == PXL_OK) st = pxl_compile_memory(w->cx, "golden.pxl", text, strlen(text), &w->m);
	if (st == PXL_OK) st = pxl_program_new(w->m, NULL, &w->p);
	if (st == PXL_OK) st = pxl_session_new(w->p, NULL, &w->s);
	if (st != PXL_OK) printf("%s\n%s\n", text, pxl_diag_count(w->cx) ? pxl_diag_text(w->cx, 0, PXL_DIAG_FULL) : pxl_errmsg(w->cx));
	w->in = w->p ? pxl_find(w->p, PXL_INPUT, "x") : -1;
	w->out = w->p ? pxl_find(w->p, PXL_OUTPUT, "y") : -1;
	return st == PXL_OK;
}

static void close_world(World *w)
{
	pxl_session_free(w->s);
	pxl_program_free(w->p);
	pxl_model_free(w->m);
	pxl_ctx_free(w->cx);
}

static pxl_array array_f32(float *data, int rank, const int64_t *dim)
{
	pxl_array a = { .dtype = PXL_F32, .rank = rank, .nelem = 1, .data = data };
	for (int i = 0; i < rank; i++) a.nelem *= (size_t)(a.dim[i] = dim[i]);
	a.bytes = a.nelem * sizeof *data;
	return a;
}

/* --- sizes: [transfers][replicas] in front of a stream's shape, ones left out or kept ------------------------------- */
static int doubles(const char *shape, int n0, int n1, int d, int r)
{
	char text[512];
	World w;
	float *x = malloc(sizeof *x * (size_t)(d * r * n0 * n1) * 2), *y = x + d * r * n0 * n1;
	int n = d * r * n0 * n1, ok;
	snprintf(text, sizeof text, "program main() replicas %d, host_transfers %d {\n    i = h2d_stream(\"x\", f32[%s])\n    o = d2h_stream(\"y\", f32[%s])\n"
	         "    fn body() { host_store(o, host_load(i) * 2.0) }\n    repeat(graph(body), %d)\n}\n", r, d, shape, shape, d);
	for (int i = 0; i < n; i++) x[i] = (float)i;
	ok = open_world(&w, text);
	const int64_t whole[] = { d, r, n0, n1 }, squeezed[] = { d, r * n0 * n1 }, kept[] = { d, n0 };
	pxl_array a = array_f32(x, 4, whole), b = array_f32(x, r > 1 && n0 > 1 ? 4 : 2, r > 1 && n0 > 1 ? whole : squeezed);
	pxl_info info;
	ok = ok && pxl_get_info(w.p, w.out, &info) && info.rank == (d > 1) + (r > 1) + (n1 > 1 ? 2 : 1) && info.nelem == (size_t)n;
	pxl_array c = array_f32(x, r > 1 ? 3 : 2, r > 1 ? whole : kept);      /* [d, r, n0], or [d, n0]: the stream's own dimension of 1 is kept */
	ok = ok && (n1 == 1 || pxl_write_array(w.s, w.in, &a) == PXL_OK) && (n1 > 1 || pxl_write_array(w.s, w.in, &c) == PXL_OK);
	ok = ok && (n1 > 1 || pxl_write_array(w.s, w.in, &b) == PXL_OK);
	ok = ok && pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, w.out, y, sizeof *y * (size_t)n) == PXL_OK;
	for (int i = 0; ok && i < n; i++) ok = y[i] == 2 * x[i];
	if (!ok) printf("[%s], %d transfers, %d replicas: %s\n", shape, d, r, pxl_session_errmsg(w.s));
	close_world(&w);
	free(x);
	return ok;
}

static void test_sizes(void)
{
	static const struct { const char *text; int n0, n1; } shapes[] = { { "1", 1, 1 }, { "4", 4, 1 }, { "4, 4", 4, 4 } };
	for (int s = 0; s < 3; s++)
		for (int r = 1; r <= 4; r *= 2)
			for (int d = 2; d <= 32; d *= 16) CHECK("R301 R302 R305", doubles(shapes[s].text, shapes[s].n0, shapes[s].n1, d, r));
}

/* A once, B twice in each of ten turns: the number of transfers is that of the stream that has most */
static void test_uneven(void)
{
	World w;
	float a[20], b[20], y[20];
	CHECK("R308", open_world(&w, "program main() host_transfers 20 {\n    a = h2d_stream(\"a\", f32[])\n    b = h2d_stream(\"b\", f32[])\n    y = d2h_stream(\"y\", f32[])\n"
	                             "    fn body() {\n        with in_sequence() {\n            x = host_load(a)\n            u = host_load(b)\n            v = host_load(b)\n"
	                             "            host_store(y, x + u + v)\n        }\n    }\n    repeat(graph(body), 10)\n}\n"));
	for (int i = 0; i < 20; i++) a[i] = (float)(100 * i), b[i] = (float)i;
	CHECK("R308", pxl_bind(w.s, pxl_find(w.p, PXL_INPUT, "a"), a, sizeof a) == PXL_OK && pxl_bind(w.s, pxl_find(w.p, PXL_INPUT, "b"), b, sizeof b) == PXL_OK);
	CHECK("R308", pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, w.out, y, sizeof y) == PXL_OK);
	for (int i = 0; i < 10; i++) CHECK("R307 R308", y[i] == a[i] + b[2 * i] + b[2 * i + 1]);
	close_world(&w);
}

/* --- what a session takes ------------------------------------------------------------------------------------------------ */
static void test_kinds(void)
{
	World w;
	int32_t i = 3;
	int8_t yes = 1;
	double wide[4] = { 1, 2, 3, 4 }, half = 0.5;
	float y[4];
	CHECK("R303", open_world(&w, "program main() {\n    x = host_load(h2d_stream(\"x\", f32[4]))\n    i = host_load(h2d_stream(\"i\", i32[]))\n    f = host_load(h2d_stream(\"f\", f32[]))\n"
	                             "    b = host_load(h2d_stream(\"b\", bool[]))\n    host_store(d2h_stream(\"y\", f32[4]), x * i.cast(f32) + f * b.cast(f32))\n}\n"));
	pxl_array ai = { .dtype = PXL_I32, .nelem = 1, .bytes = 4, .data = &i }, ab = { .dtype = PXL_BOOL, .nelem = 1, .bytes = 1, .data = &yes };
	pxl_array ax = { .dtype = PXL_F64, .rank = 1, .dim = { 4 }, .nelem = 4, .bytes = 32, .data = wide }, af = { .dtype = PXL_F64, .nelem = 1, .bytes = 8, .data = &half };
	CHECK("R303", pxl_write_array(w.s, w.in, &ax) == PXL_OK && pxl_write_array(w.s, pxl_find(w.p, PXL_INPUT, "i"), &ai) == PXL_OK);
	CHECK("R303", pxl_write_array(w.s, pxl_find(w.p, PXL_INPUT, "f"), &af) == PXL_OK && pxl_write_array(w.s, pxl_find(w.p, PXL_INPUT, "b"), &ab) == PXL_OK);
	CHECK("R303", pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, w.out, y, sizeof y) == PXL_OK && y[0] == 3.5f && y[3] == 12.5f);
	close_world(&w);
}

/* weights carried through a loop unchanged: every turn computes its own entry with them */
static void test_turns(void)
{
	World w;
	float x[8][2][2], y[8][2][2];
	CHECK("R175 R305", open_world(&w, "program main() host_transfers 8 {\n    i = h2d_stream(\"x\", f32[2, 2])\n    o = d2h_stream(\"y\", f32[2, 2])\n"
	                                  "    w = variable([[1.0, 2.0], [3.0, 4.0]])\n    b = variable([10.0, 20.0])\n    fn body(w, b) {\n        host_store(o, host_load(i) @ w + b)\n        return w, b\n    }\n"
	                                  "    repeat(graph(body, w, b), 8, w, b)\n}\n"));
	for (int i = 0; i < 32; i++) x[i / 4][i / 2 % 2][i % 2] = (float)(i * 7 % 13);
	CHECK("", pxl_write(w.s, w.in, x, sizeof x) == PXL_OK && pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, w.out, y, sizeof y) == PXL_OK);
	for (int i = 0; i < 8; i++)
		for (int r = 0; r < 2; r++)
			CHECK("R175 R305", y[i][r][0] == x[i][r][0] + 3 * x[i][r][1] + 10 && y[i][r][1] == 2 * x[i][r][0] + 4 * x[i][r][1] + 20);
	close_world(&w);
}

static void test_write_many(void)
{
	World w;
	pxl_traffic t = PXL_TRAFFIC_INIT;
	float x[2] = { 5, 6 }, y = 7, a[2], b;
	CHECK("", open_world(&w, "program main() {\n    a = variable([1.0, 2.0], name = \"a\")\n    b = variable(3.0, name = \"b\")\n    a += b\n    i = host_load(h2d_stream(\"x\", f32[]))\n    host_store(d2h_stream(\"y\", f32[]), i)\n}\n"));
	int ia = pxl_find(w.p, PXL_VARIABLE, "a"), ib = pxl_find(w.p, PXL_VARIABLE, "b");
	pxl_value both[] = { { ia, x, sizeof x }, { ib, &y, sizeof y } }, wrong[] = { { ib, x, 4 }, { ia, x, 4 } }, stream[] = { { ib, x, 4 }, { w.in, x, 4 } };
	pxl_get_traffic(w.s, &t);
	uint64_t before = t.weights_from_host;
	CHECK("R285", pxl_write_variables(w.s, both, 2) == PXL_OK);
	pxl_get_traffic(w.s, &t);
	CHECK("R285 A282", t.weights_from_host == before + 1);
	CHECK("R294", pxl_write_variables(w.s, wrong, 2) == PXL_EINVAL && pxl_write_variables(w.s, stream, 2) == PXL_EINVAL && strstr(pxl_session_errmsg(w.s), "it is a stream"));
	CHECK("R285", pxl_write(w.s, w.in, &y, 4) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
	CHECK("R284 R285", pxl_read(w.s, ia, a, sizeof a) == PXL_OK && a[0] == 12 && a[1] == 13 && pxl_read(w.s, ib, &b, 4) == PXL_OK && b == 7);
	pxl_get_traffic(w.s, &t);
	CHECK("R284 R287", t.weights_to_host == 1);
	uint32_t odd[2] = { 0x7fc12345, 0x80000001 }, got[2] = { 0, 0 };           /* a NaN and a denormal: bits, not numbers */
	CHECK("", pxl_write_variables(w.s, &(pxl_value){ ia, odd, sizeof odd }, 1) == PXL_OK);
	CHECK("A282", pxl_read(w.s, ia, got, sizeof got) == PXL_OK && !memcmp(odd, got, sizeof odd));
	close_world(&w);
}

/* leaving with weights, or without */
static void test_leaving(void)
{
	World w;
	float v;
	CHECK("", open_world(&w, "program main() {\n    v = variable(1.0, name = \"v\")\n    v += 1.0\n}\n"));
	int i = pxl_find(w.p, PXL_VARIABLE, "v");
	CHECK("R275 R282", pxl_run(w.s, 1) == PXL_OK && pxl_detach(w.s, 1) == PXL_OK && pxl_read(w.s, i, &v, 4) == PXL_OK && v == 2);
	CHECK("R278", pxl_attach(w.s) == PXL_OK && pxl_run(w.s, 2) == PXL_OK);
	CHECK("R276 R277", pxl_detach(w.s, 0) == PXL_OK && pxl_read(w.s, i, &v, 4) == PXL_OK && v == 2);       /* what the device had is lost */
	CHECK("R277", pxl_attach(w.s) == PXL_OK && pxl_run(w.s, 1) == PXL_OK && pxl_weights_to_host(w.s) == PXL_OK && pxl_detach(w.s, 0) == PXL_OK);
	CHECK("R277", pxl_read(w.s, i, &v, 4) == PXL_OK && v == 3);
	close_world(&w);
}

/* nothing is acquired to compile: what is made apart from a device is attached when it is wanted, and is apart again afterwards */
static void test_apart(void)
{
	World w;
	pxl_session_options o = PXL_SESSION_OPTIONS_INIT;
	pxl_traffic t = PXL_TRAFFIC_INIT;
	float v;
	o.detached = 1;
	CHECK("", open_world(&w, "program main() {\n    v = variable(1.0, name = \"v\")\n    v += 1.0\n}\n"));
	int i = pxl_find(w.p, PXL_VARIABLE, "v");
	pxl_session_free(w.s);
	CHECK("R272", pxl_session_new(w.p, &o, &w.s) == PXL_OK && !pxl_is_attached(w.s) && pxl_run(w.s, 1) == PXL_EINVAL);
	pxl_get_traffic(w.s, &t);
	CHECK("R272 R280", t.weights_from_host == 0 && pxl_read(w.s, i, &v, 4) == PXL_OK && v == 1);
	CHECK("R272 R274", pxl_attach(w.s) == PXL_OK && pxl_is_attached(w.s) && pxl_run(w.s, 1) == PXL_OK);
	CHECK("R272 R275", pxl_detach(w.s, 1) == PXL_OK && !pxl_is_attached(w.s) && pxl_run(w.s, 1) == PXL_EINVAL && pxl_read(w.s, i, &v, 4) == PXL_OK && v == 2);
	close_world(&w);
}

/* the host finds a stream by the name written in the model, whatever else has that name; two that ask for one name keep it apart */
static void test_names(void)
{
	World w;
	float x = 5, y = 0, v = 0;
	CHECK("", open_world(&w, "program main() {\n    v = variable(1.0, name = \"x\")\n    y = constant(2.0, name = \"y\")\n    i = h2d_stream(\"x\", f32[])\n"
	                         "    assert i.name == \"x__t0\"\n    accumulate_(v, host_load(i) * y)\n    host_store(d2h_stream(\"y\", f32[]), y + 1.0)\n"
	                         "    host_store(d2h_stream(\"two\", f32[]), y)\n    host_store(d2h_stream(\"two\", f32[]), y)\n}\n"));
	int var = pxl_find(w.p, PXL_VARIABLE, "x");
	CHECK("R49 R300", w.in >= 0 && w.out >= 0 && var >= 0 && w.in != var && pxl_find(w.p, PXL_INPUT, "x__t0") == -1);
	CHECK("R49 R298", pxl_write(w.s, w.in, &x, 4) == PXL_OK && pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, w.out, &y, 4) == PXL_OK && y == 3);
	CHECK("R49 R290", pxl_read(w.s, var, &v, 4) == PXL_OK && v == 11);
	CHECK("R48", pxl_find(w.p, PXL_OUTPUT, "two") >= 0 && pxl_find(w.p, PXL_OUTPUT, "two__t2") >= 0);
	close_world(&w);
}

int main(void)
{
	test_names();
	test_apart();
	test_sizes();
	test_uneven();
	test_kinds();
	test_turns();
	test_write_many();
	test_leaving();
	return check_done();
}
