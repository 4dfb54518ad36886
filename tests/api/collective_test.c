/* collective_test.c — what replicas do together, run with as many as the rules name; what goes wrong when they part. */
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

typedef struct Run { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; double out[512]; char why[1024]; } Run;

static void close_run(Run *r)
{
	pxl_session_free(r->s);
	pxl_program_free(r->p);
	pxl_model_free(r->m);
	pxl_ctx_free(r->cx);
}

/* Builds `body` for so many replicas, hands replica r the number r in every element of `x`, and collects `y`. */
static pxl_status run(Run *r, int replicas, int threads, const char *body)
{
	char text[4096];
	pxl_info x, y;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	memset(r, 0, sizeof *r);
	so.threads = threads;
	int n = snprintf(text, sizeof text, "program main() replicas %d {\n%s\n}\n", replicas, body);
	pxl_status st = pxl_ctx_new(NULL, &r->cx);
	if (st == PXL_OK) st = pxl_compile_memory(r->cx, "c.pxl", text, (size_t)n, &r->m);
	if (st == PXL_OK) st = pxl_program_new(r->m, NULL, &r->p);
	if (st == PXL_OK) st = pxl_session_new(r->p, &so, &r->s);
	snprintf(r->why, sizeof r->why, "%s", pxl_diag_count(r->cx) ? pxl_diag_text(r->cx, 0, PXL_DIAG_SHORT) : pxl_errmsg(r->cx));
	if (st != PXL_OK) return st;
	int in = pxl_find(r->p, PXL_INPUT, "x"), out = pxl_find(r->p, PXL_OUTPUT, "y");
	char *data = calloc(1, 1 << 16);
	if (pxl_get_info(r->p, in, &x)) {
		for (size_t i = 0; i < x.nelem; i++) {
			double v = (double)(i / (x.nelem / (size_t)replicas));
			pxl_convert(x.dtype, data + i * pxl_dtype_size(x.dtype), PXL_F64, &v, 1);
		}
		st = pxl_write(r->s, in, data, x.bytes);
	}
	if (st == PXL_OK) st = pxl_run(r->s, 1);
	snprintf(r->why, sizeof r->why, "%s", pxl_session_errmsg(r->s));
	if (st == PXL_OK && pxl_get_info(r->p, out, &y) && y.nelem <= 512 && (st = pxl_read(r->s, out, data, y.bytes)) == PXL_OK)
		pxl_convert(PXL_F64, r->out, y.dtype, data, y.nelem);
	free(data);
	return st;
}

static int gives(int replicas, const char *body, const double *want, int n)
{
	int ok = 1;
	for (int threads = 1; ok && threads <= 3; threads += 2) {
		Run r;
		ok = run(&r, replicas, threads, body) == PXL_OK;
		if (!ok) printf("%s\n%s\n", body, r.why);
		for (int i = 0; ok && i < n; i++) {
			ok = r.out[i] == want[i];
			if (!ok) printf("%s\nelement %d is %g, not %g\n", body, i, r.out[i], want[i]);
		}
		close_run(&r);
	}
	return ok;
}
#define GIVES(replicas, body, ...) gives(replicas, body, (const double[]){ __VA_ARGS__ }, (int)(sizeof(double[]){ __VA_ARGS__ } / sizeof(double)))
#define LOAD "    x = host_load(h2d_stream(\"x\", f32[1]))\n"
#define IDS(t, n) "    x = host_load(h2d_stream(\"x\", " t "[" n "]))\n"
#define GROUPS(stride, size) "    g = current_ir().replica_grouping(" #stride ", " #size ")\n"
#define STORE(spec, value) "    host_store(d2h_stream(\"y\", " spec "), " value ")\n"

/* --- reductions --------------------------------------------------------------------------------------------------- */
static void test_reduce(void)
{
	CHECK("R410", GIVES(8, LOAD GROUPS(1, 2) STORE("f32[1]", "replicated_all_reduce(x, \"add\", g)"), 1, 1, 5, 5, 9, 9, 13, 13));
	CHECK("R410", GIVES(8, LOAD GROUPS(4, 2) STORE("f32[1]", "replicated_all_reduce(x, group = g)"), 4, 6, 8, 10, 4, 6, 8, 10));
	CHECK("R410 R408", GIVES(8, LOAD STORE("f32[1]", "replicated_all_reduce(x)"), 28, 28, 28, 28, 28, 28, 28, 28));
	CHECK("R410", GIVES(8, LOAD STORE("f32[1]", "replicated_all_reduce(x, \"square_add\")"), 140, 140, 140, 140, 140, 140, 140, 140));
	CHECK("R410", GIVES(8, LOAD STORE("f32[1]", "replicated_all_reduce(x, \"mean\")"), 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5));
	CHECK("R409", GIVES(4, LOAD STORE("f32[1]", "replicated_all_reduce(x + 1.0, \"mul\")"), 24, 24, 24, 24));
	CHECK("R408", GIVES(4, LOAD STORE("f32[2]", "concat([replicated_all_reduce(x, \"min\"), replicated_all_reduce(x, \"max\")])"), 0, 3, 0, 3, 0, 3, 0, 3));
	CHECK("R408", GIVES(2, IDS("i32", "1") STORE("i32[2]", "concat([replicated_all_reduce(x * 5, \"and\"), replicated_all_reduce(x * 5, \"or\")])"), 0, 1, 0, 1));
	CHECK("R408", GIVES(2, IDS("i8", "1") STORE("i8[1]", "replicated_all_reduce(x - 2, \"mean\")"), -2, -2));           /* (-2 - 1) / 2, rounded down */
	CHECK("R408", GIVES(2, IDS("bool", "1") STORE("bool[1]", "replicated_all_reduce(x, \"or\")"), 1, 1));
	CHECK("R408", GIVES(3, IDS("f16", "5") STORE("f16[5]", "replicated_all_reduce_(x + 1.0)"), 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6));
	CHECK("R408", GIVES(2, IDS("u64", "1") STORE("u64[1]", "replicated_all_reduce(x, \"max\")"), 1, 1));
	CHECK("R418", GIVES(3, LOAD GROUPS(1, 1) STORE("f32[1]", "replicated_all_reduce(x, group = g)"), 0, 1, 2));
	CHECK("R418", GIVES(3, LOAD GROUPS(1, 1) STORE("f32[1]", "replicated_all_reduce(x, \"square_add\", g)"), 0, 1, 4));
	CHECK("R418", GIVES(1, LOAD STORE("f32[1]", "replicated_all_gather(replicated_reduce_scatter(x + 3.0))"), 3));
	/* long enough to be cut into pieces */
	CHECK("R408", GIVES(3, IDS("f32", "5000") STORE("f32[1]", "slice(replicated_all_reduce(x), [4999], [5000])"), 3, 3, 3));
}

/* --- gathering and scattering ------------------------------------------------------------------------------------------ */
static void test_move(void)
{
	CHECK("R411", GIVES(4, LOAD GROUPS(2, 2) STORE("f32[2]", "replicated_all_gather(x, 0, g)"), 0, 2, 1, 3, 0, 2, 1, 3));
	CHECK("R411", GIVES(2, LOAD STORE("f32[2, 1]", "replicated_all_gather(x, output_shape = \"new_axis\")"), 0, 1, 0, 1));
	CHECK("R411", GIVES(2, IDS("i16", "2, 2") STORE("i16[2, 4]", "replicated_all_gather(x + constant([[1, 2], [3, 4]], i16), -1)"), 1, 2, 2, 3, 3, 4, 4, 5, 1, 2, 2, 3, 3, 4, 4, 5));
	CHECK("R103", GIVES(2, IDS("f8_143", "3") STORE("f8_143[2, 3]", "replicated_all_gather(x, output_shape = \"new_axis\")"), 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1));
	CHECK("R103", GIVES(2, IDS("f8_152", "3") STORE("f8_152[3]", "replicated_all_gather(replica_sharded_slice(x))"), 0, 0, 1, 0, 0, 1));
	CHECK("R103", GIVES(2, IDS("f8_143", "4") STORE("f8_143[4]", "replicated_all_gather(replicated_slice(x))"), 0, 0, 1, 1, 0, 0, 1, 1));
	CHECK("R414", GIVES(4, LOAD GROUPS(1, 2) STORE("f32[1]", "replicated_reduce_scatter(x, group = g)"), 1, 0, 5, 0));
	CHECK("R357", GIVES(2, IDS("f32", "3") STORE("f32[2]", "replicated_reduce_scatter(x + constant([1.0, 2.0, 3.0]))"), 3, 5, 7, 0));
	CHECK("R358 R359", GIVES(2, IDS("f32", "3") "    s = replica_sharded_slice(x + constant([1.0, 2.0, 3.0]))\n    assert s.shape == (2,) and s.meta_shape == (3,)\n"
	                         STORE("f32[2]", "s"), 1, 2, 4, 0));
	CHECK("R359 R355", GIVES(2, IDS("f32", "3") STORE("f32[3]", "replicated_all_gather(replica_sharded_slice(constant([1.0, 2.0, 3.0])))"), 1, 2, 3, 1, 2, 3));
	CHECK("R360 R357", GIVES(2, IDS("f32", "3") "    w = replicated_reduce_scatter(x, configure_output_for_replicated_tensor_sharding = true)\n    assert w.meta_shape == (3,)\n"
	                         STORE("f32[3]", "replicated_all_gather(w)"), 1, 1, 1, 1, 1, 1));
	CHECK("R415", GIVES(2, IDS("f32", "4") STORE("f32[2]", "replicated_slice(x * 10.0 + constant([1.0, 2.0, 3.0, 4.0]))"), 1, 2, 13, 14));
	CHECK("R415", GIVES(2, IDS("f32", "3, 2") STORE("f32[3]", "replicated_slice(x + constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), axis = 1)"), 1, 3, 5, 3, 5, 7));
	CHECK("R412", GIVES(8, LOAD GROUPS(4, 2) STORE("f32[2, 1]", "replicated_all_gather(x, group = g, output_shape = \"new_axis\")"), 0, 4, 1, 5, 2, 6, 3, 7, 0, 4, 1, 5, 2, 6, 3, 7));
}

/* --- gradients ------------------------------------------------------------------------------------------------------------- */
#define SLOPE(fn, seed, spec) "    f = graph(fn(x) = " fn ", x)\n    d = autodiff(f)\n    y = call_with_info(f, x)\n" \
	STORE(spec, "call_with_info(d.graph, " seed ", inputs_dict = d.inputs_dict(y)).outputs[0]")

static void test_gradients(void)
{
	CHECK("R408 R249", GIVES(2, LOAD SLOPE("replicated_all_reduce(x)", "x + 1.0", "f32[1]"), 3, 3));
	CHECK("R413 R249", GIVES(2, LOAD SLOPE("replicated_all_gather(x, output_shape = \"new_axis\")", "constant([[5.0], [7.0]])", "f32[1]"), 5, 7));
	CHECK("R413 R249", GIVES(2, IDS("f32", "2, 1") SLOPE("replicated_all_gather(x, 1)", "constant([[1.0, 2.0], [3.0, 4.0]])", "f32[2, 1]"), 1, 3, 2, 4));
	CHECK("R413 R249", GIVES(2, IDS("f32", "3") SLOPE("replicated_all_gather(replica_sharded_slice(x))", "x + constant([1.0, 2.0, 3.0])", "f32[3]"), 1, 2, 4, 1, 2, 4));
	CHECK("R415 R249", GIVES(2, IDS("f32", "2, 3") SLOPE("replicated_slice(x)", "x.reshape([6]).slice(3) + 1.0", "f32[2, 3]"), 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
}

/* --- across the IPUs of one replica ------------------------------------------------------------------------------------------ */
#define TWO "    x = host_load(h2d_stream(\"x\", f32[1]))\n    a = x + 2.0\n    b = copy_to_ipu(x + 3.0, 1)\n"

static void test_ipus(void)
{
	CHECK("R417", GIVES(1, TWO "    u, v = all_reduce([a, b])\n    assert u.ipu == 0 and v.ipu == 1\n" STORE("f32[1]", "u * 100.0 + copy_to_ipu(v, 0)"), 505));
	CHECK("R417", GIVES(1, TWO STORE("f32[1]", "all_reduce([a, b], op = \"mul\")[0]"), 6));
	CHECK("R417", GIVES(1, TWO STORE("f32[1]", "all_reduce([a, b], op = \"square_add\")[0]"), 13));
	CHECK("R417", GIVES(1, TWO STORE("f32[1]", "all_reduce([a, b], op = \"min\")[0]"), 2));
	CHECK("R417", GIVES(1, TWO STORE("f32[1]", "all_reduce([a, b], op = \"mean\")[0]"), 2.5));
	CHECK("R417", GIVES(1, TWO STORE("f32[1]", "all_reduce([a, b], op = \"and\")[0]"), 1));
	CHECK("R417", GIVES(1, TWO STORE("f32[1]", "all_reduce_identical_inputs([a, b])[0]"), 2));
	CHECK("R417", GIVES(1, TWO STORE("f32[1]", "all_reduce_identical_grad_inputs([a, b])[0]"), 5));
	CHECK("R417 R250", GIVES(1, LOAD SLOPE("add(*all_reduce([x * 2.0, x * 3.0], [0, 0]))", "constant([1.0])", "f32[1]"), 10));
	CHECK("R417 R250", GIVES(1, LOAD SLOPE("add(*all_reduce_identical_inputs([x * 2.0, x * 3.0], [0, 0]))", "constant([1.0])", "f32[1]"), 10));
	CHECK("R417 R250", GIVES(1, LOAD SLOPE("add(*all_reduce_identical_grad_inputs([x * 2.0, x * 3.0], [0, 0]))", "constant([1.0])", "f32[1]"), 5));
}

/* --- what goes wrong while running; what is refused is in tests/wrong/collectives.pxl ------------------------------------------- */
static int fails(int replicas, const char *body, const char *why)
{
	Run r;
	pxl_status st = run(&r, replicas, 1, body);
	int ok = st == PXL_ERUN && !strcmp(r.why, why);
	if (!ok) printf("%s\n%d: %s\n", body, st, r.why);
	close_run(&r);
	return ok;
}

static void test_wrong(void)
{
	CHECK("R416", fails(2, LOAD "    f = graph(fn(x) = replicated_all_reduce(x), x)\n    g = graph(fn(x) = x * 2.0, x)\n    c = equal(x, 0.0).reshape([])\n"
	                    STORE("f32[1]", "conditional(c, f, g, [x], [x])"), "c.pxl:3:23: replicated_all_reduce: replica 1 ended before it came to this collective (replica 0)"));
	CHECK("R416", fails(2, LOAD "    f = graph(fn(x) = replicated_all_reduce(x), x)\n    g = graph(fn(x) = replicated_all_reduce(x, \"max\"), x)\n    c = equal(x, 0.0).reshape([])\n"
	                    STORE("f32[1]", "conditional(c, f, g, [x], [x])"), 
	                    "c.pxl:3:23: replicated_all_reduce: replica 1 is at another collective: all members of a group take the same branches up to here (replica 0)"));
	CHECK("R416", fails(3, IDS("i32", "1") "    y = constant([6]) / x\n" STORE("i32[1]", "replicated_all_reduce(y)"), "c.pxl:3:9: div: integer division by zero (replica 0)"));
}

int main(void)
{
	test_reduce();
	test_move();
	test_gradients();
	test_ipus();
	test_wrong();
	return check_done();
}
