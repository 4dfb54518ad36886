/* feed_test.c — sessions as PopXL's rules have them: when they begin, what arrays they take, what a cached program may do. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"program add() {\n"
	"    x = host_load(h2d_stream(\"x\", f32[3]))\n"
	"    k = host_load(h2d_stream(\"k\", i32[2]))\n"
	"    s = host_load(h2d_stream(\"s\", f32[]))\n"
	"    w = variable([1.0, 2.0, 3.0], name = \"w\")\n"
	"    w += x * s\n"
	"    host_store(d2h_stream(\"y\", f32[3]), w)\n"
	"    host_store(d2h_stream(\"n\", i32[2]), k + 1)\n"
	"}\n"
	"program often() host_transfers 2 {\n"
	"    s = h2d_stream(\"s\", f32[2])\n"
	"    o = d2h_stream(\"o\", f32[2])\n"
	"    fn body() { host_store(o, host_load(s) * 2.0) }\n"
	"    repeat(graph(body), 2)\n"
	"}\n"
	"program tangled() {\n"
	"    v = variable([1.0, 2.0], name = \"v\")\n"
	"    v += 1.0\n"
	"    u = variable([1.0, 2.0], name = \"u\")\n"
	"    accumulate_(u, v)\n"
	"    host_store(d2h_stream(\"y\", f32[2]), u)\n"
	"}\n"
	"program dropped() {\n"
	"    x = variable(ones([1000]), name = \"x\")\n"
	"    seed = host_load(h2d_stream(\"seed\", u32[2]))\n"
	"    host_store(d2h_stream(\"y\", f32[1000]), dropout(x, seed, p = 0.5))\n"
	"}\n"
	"program never() {\n"
	"    fn both(i, o) { host_store(d2h_stream(o, f32[]), host_load(h2d_stream(i, f32[]))) }\n"
	"    repeat(graph(both, \"loop_in\", \"loop_out\"), 0)\n"
	"    host_load(h2d_stream(\"dropped\", f32[]))\n"
	"    fn inner() { conditional(constant(false), graph(both, \"branch_in\", \"branch_out\"), graph(fn() = none)) }\n"
	"    call(graph(inner))\n"
	"    graph(both, \"uncalled_in\", \"uncalled_out\")\n"
	"    h2d_stream(\"idle_in\", f32[])\n"
	"    d2h_stream(\"idle_out\", f32[])\n"
	"}\n";

typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; } World;

static World open_with(const char *program, const char *cache, pxl_jit jit, int detached)
{
	World w = { 0 };
	pxl_options o = PXL_OPTIONS_INIT;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	o.cache_dir = cache;
	po.name = program;
	po.jit = jit;
	so.detached = detached;
	CHECK("", pxl_ctx_new(&o, &w.cx) == PXL_OK);
	CHECK("", pxl_compile_memory(w.cx, "feed.pxl", model, sizeof model - 1, &w.m) == PXL_OK);
	CHECK("", pxl_program_new(w.m, &po, &w.p) == PXL_OK);
	CHECK("", w.p && pxl_session_new(w.p, &so, &w.s) == PXL_OK);
	return w;
}

static World open_world(const char *program) { return open_with(program, NULL, PXL_JIT_TCC, 0); }

static void close_world(World *w)
{
	pxl_session_free(w->s);
	pxl_program_free(w->p);
	pxl_model_free(w->m);
	pxl_ctx_free(w->cx);
}

static pxl_array array_of(pxl_dtype t, int rank, int64_t a, int64_t b, void *data)
{
	pxl_array x = { .dtype = t, .rank = rank, .dim = { a, b }, .nelem = (size_t)(rank > 0 ? a : 1) * (size_t)(rank > 1 ? b : 1), .data = data };
	x.bytes = x.nelem * pxl_dtype_size(t);
	return x;
}

static pxl_status give(World *w, const char *name, pxl_array a) { return pxl_write_array(w->s, pxl_find(w->p, PXL_ANY, name), &a); }

/* --- where a session begins ------------------------------------------------------------------------------ */
static void test_detached(void)
{
	World w = open_with("add", NULL, PXL_JIT_TCC, 1);
	int v = pxl_find(w.p, PXL_VARIABLE, "w");
	float x[3] = { 1, 1, 1 }, s = 2, out[3], changed[3] = { 10, 20, 30 };
	int32_t k[2] = { 4, 5 };
	CHECK("R265 R280", !pxl_is_attached(w.s));
	CHECK("R279 R290", pxl_read(w.s, v, out, 12) == PXL_OK && out[0] == 1 && out[2] == 3);
	CHECK("", give(&w, "x", array_of(PXL_F32, 1, 3, 0, x)) == PXL_OK && give(&w, "s", array_of(PXL_F32, 0, 0, 0, &s)) == PXL_OK);
	CHECK("", give(&w, "k", array_of(PXL_I32, 1, 2, 0, k)) == PXL_OK);
	CHECK("R279", pxl_run(w.s, 1) == PXL_EINVAL && strstr(pxl_session_errmsg(w.s), "detached"));
	CHECK("R288", pxl_write(w.s, v, changed, 12) == PXL_OK && pxl_attach(w.s) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
	CHECK("R274", pxl_read(w.s, v, out, 12) == PXL_OK && out[0] == 12 && out[1] == 22 && out[2] == 32);
	close_world(&w);
}

/* what is wrong with a program shows before anything runs */
static void test_wrong_program(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p = NULL;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_diag d;
	CHECK("", pxl_ctx_new(NULL, &cx) == PXL_OK && pxl_compile_memory(cx, "feed.pxl", model, sizeof model - 1, &m) == PXL_OK);
	po.name = "tangled";
	CHECK("R269", pxl_program_new(m, &po, &p) == PXL_EMODEL && !p);
	CHECK("R269", pxl_diag_count(cx) == 1 && pxl_diag_get(cx, 0, &d) && !strcmp(d.code, "E0406") && d.line == 20);
	pxl_model_free(m);
	pxl_ctx_free(cx);
}

/* --- arrays ------------------------------------------------------------------------------------------------- */
static void test_narrowing(void)
{
	World w = open_world("add");
	double x[3] = { 0.1, 2, 3 }, s = 1;
	int64_t k[2] = { -7, 2147483646 }, large[2] = { 1, 1 + (int64_t)INT32_MAX };
	float out[3], wrong[3] = { 0 };
	int32_t n[2];
	CHECK("R303 A225", give(&w, "x", array_of(PXL_F64, 1, 3, 0, x)) == PXL_OK && give(&w, "s", array_of(PXL_F64, 0, 0, 0, &s)) == PXL_OK);
	CHECK("R303 A225", give(&w, "k", array_of(PXL_I64, 1, 2, 0, k)) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
	CHECK("R303 A225", pxl_read(w.s, pxl_find(w.p, PXL_OUTPUT, "y"), out, 12) == PXL_OK && out[0] == 1 + (float)0.1 && out[2] == 6);
	CHECK("R303 A225", pxl_read(w.s, pxl_find(w.p, PXL_OUTPUT, "n"), n, 8) == PXL_OK && n[0] == -6 && n[1] == 2147483647);
	CHECK("R303", give(&w, "k", array_of(PXL_I64, 1, 2, 0, large)) == PXL_EINVAL && strstr(pxl_session_errmsg(w.s), "element 1 is 2147483648"));
	CHECK("R303 A32", give(&w, "k", array_of(PXL_F32, 1, 2, 0, wrong)) == PXL_EINVAL && strstr(pxl_session_errmsg(w.s), "f32[2]"));
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_session *strict;
	so.exact_dtypes = 1;
	pxl_array wide = array_of(PXL_F64, 1, 3, 0, x), own = array_of(PXL_F32, 1, 3, 0, out);
	CHECK("", pxl_session_new(w.p, &so, &strict) == PXL_OK);
	CHECK("R303 A225", pxl_write_array(strict, pxl_find(w.p, PXL_INPUT, "x"), &wide) == PXL_EINVAL && strstr(pxl_session_errmsg(strict), "f64[3]"));
	CHECK("R303 A225", pxl_write_array(strict, pxl_find(w.p, PXL_INPUT, "x"), &own) == PXL_OK);
	pxl_session_free(strict);
	CHECK("R294", give(&w, "w", array_of(PXL_F64, 1, 3, 0, x)) == PXL_OK);
	CHECK("R294", pxl_read(w.s, pxl_find(w.p, PXL_VARIABLE, "w"), out, 12) == PXL_OK && out[0] == (float)0.1 && out[1] == 2);
	close_world(&w);
}

static void test_shapes(void)
{
	World w = open_world("add"), o = open_world("often");
	float x[6] = { 1, 2, 3, 4, 5, 6 }, out[4];
	int in = pxl_find(o.p, PXL_INPUT, "s"), to = pxl_find(o.p, PXL_OUTPUT, "o");
	CHECK("R302", give(&w, "x", array_of(PXL_F32, 2, 3, 1, x)) == PXL_OK && give(&w, "x", array_of(PXL_F32, 2, 1, 3, x)) == PXL_OK);
	CHECK("R302", give(&w, "s", array_of(PXL_F32, 2, 1, 1, x)) == PXL_OK);
	CHECK("R302", give(&w, "x", array_of(PXL_F32, 1, 4, 0, x)) == PXL_EINVAL && give(&w, "x", array_of(PXL_F32, 2, 3, 2, x)) == PXL_EINVAL);
	CHECK("R294 A32", give(&w, "w", array_of(PXL_F32, 1, 2, 0, x)) == PXL_EINVAL && strstr(pxl_session_errmsg(w.s), "variable `w` takes f32[3]"));
	CHECK("", give(&w, "y", array_of(PXL_F32, 1, 3, 0, x)) == PXL_EINVAL);
	/* of several transfers: more may be given, and fewer may not */
	CHECK("R302", give(&o, "s", array_of(PXL_F32, 2, 3, 2, x)) == PXL_OK && pxl_run(o.s, 1) == PXL_OK);
	CHECK("R302 R306", pxl_read(o.s, to, out, 16) == PXL_OK && out[0] == 2 && out[3] == 8);
	CHECK("R302", give(&o, "s", array_of(PXL_F32, 2, 1, 2, x)) == PXL_EINVAL && give(&o, "s", array_of(PXL_F32, 2, 3, 1, x)) == PXL_EINVAL);
	CHECK("R302", pxl_bind(o.s, in, x + 2, 16) == PXL_OK && pxl_run(o.s, 1) == PXL_OK && pxl_read(o.s, to, out, 16) == PXL_OK && out[0] == 6);
	CHECK("R302", pxl_bind(o.s, in, x, 24) == PXL_OK && pxl_run(o.s, 1) == PXL_OK && pxl_read(o.s, to, out, 16) == PXL_OK && out[0] == 2);
	CHECK("R302", pxl_bind(o.s, in, x, 8) == PXL_EINVAL);
	close_world(&w);
	close_world(&o);
}

/* --- the rest ------------------------------------------------------------------------------------------------- */
static void test_cached(void)
{
	char dir[] = "/tmp/pxl_feed_XXXXXX", command[64];
	float x[3] = { 0 }, s = 1, out[3], changed[3] = { 7, 8, 9 };
	int32_t k[2] = { 0 };
	pxl_program_info info;
	if (system("cc --version > /dev/null 2>&1") || !mkdtemp(dir)) return;
	World first = open_with("add", dir, PXL_JIT_CC, 0);
	close_world(&first);
	World w = open_with("add", dir, PXL_JIT_CC, 0);
	pxl_program_get_info(w.p, &info);
	CHECK_STR("", info.jit, "cc (cached)");
	CHECK("R297", pxl_write(w.s, pxl_find(w.p, PXL_VARIABLE, "w"), changed, 12) == PXL_OK);
	CHECK("", give(&w, "x", array_of(PXL_F32, 1, 3, 0, x)) == PXL_OK && give(&w, "s", array_of(PXL_F32, 0, 0, 0, &s)) == PXL_OK);
	CHECK("", give(&w, "k", array_of(PXL_I32, 1, 2, 0, k)) == PXL_OK);
	CHECK("R297", pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, pxl_find(w.p, PXL_OUTPUT, "y"), out, 12) == PXL_OK && out[0] == 7 && out[2] == 9);
	close_world(&w);
	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	CHECK("", !system(command));
}

/* there is no switch between training and inference: what drops, drops always */
static void test_no_training_mode(void)
{
	World w = open_world("dropped");
	uint32_t seed[2] = { 1, 2 };
	float y[1000];
	int zero = 0, two = 0;
	CHECK("", give(&w, "seed", array_of(PXL_U32, 1, 2, 0, seed)) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
	CHECK("", pxl_read(w.s, pxl_find(w.p, PXL_OUTPUT, "y"), y, sizeof y) == PXL_OK);
	for (int i = 0; i < 1000; i++) {
		zero += y[i] == 0;
		two += y[i] == 2;
	}
	CHECK("R273", zero + two == 1000 && zero > 400 && two > 400);
	close_world(&w);
}

/* expected is what a graph of the program loads or stores, at every level, though passes may find that it never happens; not what nobody calls */
static void test_expected(void)
{
	static const char *const used[] = { "loop_in", "loop_out", "dropped", "branch_in", "branch_out" };
	static const char *const idle[] = { "uncalled_in", "uncalled_out", "idle_in", "idle_out" };
	World w = open_world("never");
	pxl_info info;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_program *plain = NULL;
	float one = 1;
	po.name = "never";
	po.level = 0;
	CHECK("", pxl_program_new(w.m, &po, &plain) == PXL_OK);
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 2; k++) CHECK("R299", pxl_get_info(k ? plain : w.p, pxl_find(w.p, PXL_ANY, used[i]), &info) && info.used);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++) CHECK("R299", pxl_get_info(k ? plain : w.p, pxl_find(w.p, PXL_ANY, idle[i]), &info) && !info.used);
	CHECK("R299 R300", pxl_run(w.s, 1) == PXL_EINVAL && strstr(pxl_session_errmsg(w.s), "`loop_in`"));
	for (int i = 0; i < 5; i += i == 2 ? 1 : 2) CHECK("", give(&w, used[i], array_of(PXL_F32, 0, 0, 0, &one)) == PXL_OK);
	CHECK("R299 R306", pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, pxl_find(w.p, PXL_OUTPUT, "loop_out"), &one, 4) == PXL_OK);
	pxl_program_free(plain);
	close_world(&w);
}

int main(void)
{
	test_detached();
	test_expected();
	test_wrong_program();
	test_narrowing();
	test_shapes();
	test_cached();
	test_no_training_mode();
	return check_done();
}
