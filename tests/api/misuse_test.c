/* misuse_test.c — a host that passes nothing where something is wanted, or nonsense: a status each time, never a crash. */
#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char text[] = "program main(n: int = 3) {\n"
                           "    x = host_load(h2d_stream(\"x\", f32[n]))\n"
                           "    w = variable(ones([n]), name = \"w\")\n"
                           "    host_store(d2h_stream(\"y\", f32[n]), x + w)\n"
                           "}\n"
                           "program bad() { y = nope }\n"
                           "task train {\n    program = main\n    data = { \"x\": array([[1.0, 2.0, 3.0]]) }\n}\n";
#define WRONG(call) CHECK("", (call) == PXL_EINVAL)

static void no_context(void)
{
	pxl_model *m;
	pxl_array a;
	pxl_diag d;
	const char *t;
	float x[3] = { 0 };
	WRONG(pxl_ctx_new(NULL, NULL));
	WRONG(pxl_compile_file(NULL, "x", &m));
	WRONG(pxl_compile_memory(NULL, "x", text, 3, &m));
	WRONG(pxl_format(NULL, "x", text, 3, &t));
	WRONG(pxl_describe(NULL, "ops", NULL, &t));
	WRONG(pxl_npy_read(NULL, "x", &a));
	WRONG(pxl_npy_write(NULL, "x", PXL_F32, 0, NULL, x));
	CHECK("", pxl_diag_count(NULL) == 0 && !pxl_diag_get(NULL, 0, &d) && pxl_errmsg(NULL) && pxl_diag_text(NULL, 0, 0));
	CHECK("", !pxl_nearest("x", NULL, 3) && !pxl_nearest(NULL, NULL, 0));
	pxl_array_free(NULL, &a);
	pxl_array_free(NULL, NULL);
	pxl_convert((pxl_dtype)99, x, PXL_F32, x, 3);
	pxl_convert(PXL_F32, NULL, PXL_F32, NULL, 3);
	CHECK("", pxl_element((pxl_dtype)99, x, 0) == 0 && pxl_element(PXL_F32, NULL, 0) == 0);
}

static void no_objects(void)
{
	pxl_info in;
	pxl_program *p;
	pxl_session *s;
	const pxl_result *r;
	const char *t;
	CHECK("", pxl_program_count(NULL) == 0 && pxl_task_count(NULL) == 0 && !pxl_program_name(NULL, 0) && !pxl_task_name(NULL, 0));
	CHECK("", !pxl_program_param(NULL, "main", 0) && pxl_count(NULL) == 0 && pxl_find(NULL, PXL_ANY, "x") == -1 && !pxl_get_info(NULL, 0, &in));
	WRONG(pxl_model_ast(NULL, &t));
	WRONG(pxl_program_new(NULL, NULL, &p));
	WRONG(pxl_emit(NULL, "c", NULL, &t));
	WRONG(pxl_ship(NULL, "x"));
	WRONG(pxl_session_new(NULL, NULL, &s));
	WRONG(pxl_task_run(NULL, NULL, &r));
	pxl_program_get_info(NULL, NULL);
}

static void no_session(void)
{
	float x[3];
	size_t n;
	pxl_array a = { .dtype = PXL_F32 };
	WRONG(pxl_write(NULL, 0, x, 12));
	WRONG(pxl_write_variables(NULL, NULL, 0));
	WRONG(pxl_view(NULL, 0, &(const void *){ NULL }));
	WRONG(pxl_read(NULL, 0, x, 12));
	WRONG(pxl_bind(NULL, 0, x, 12));
	WRONG(pxl_write_array(NULL, 0, &a));
	WRONG(pxl_run(NULL, 1));
	WRONG(pxl_load(NULL, "x", 0));
	WRONG(pxl_save(NULL, "x"));
	WRONG(pxl_copy_variables(NULL, NULL, &n));
	WRONG(pxl_attach(NULL));
	WRONG(pxl_detach(NULL, 1));
	WRONG(pxl_weights_to_host(NULL));
	WRONG(pxl_weights_from_host(NULL));
	CHECK("", pxl_session_threads(NULL) == 0 && pxl_runs(NULL) == 0 && !pxl_is_attached(NULL) && !pxl_in_sync(NULL) && pxl_session_errmsg(NULL));
	pxl_get_traffic(NULL, NULL);
}

static void nothing_in_context(pxl_ctx *cx)
{
	const char *t;
	int64_t dim[1] = { 3 };
	WRONG(pxl_describe(cx, NULL, NULL, &t));
	WRONG(pxl_describe(cx, "ops", NULL, NULL));
	WRONG(pxl_format(cx, NULL, NULL, 3, &t));
	WRONG(pxl_format(cx, "x", text, sizeof text - 1, NULL));
	WRONG(pxl_npy_read(cx, NULL, NULL));
	WRONG(pxl_npy_write(cx, NULL, PXL_F32, 0, NULL, &t));
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 1, NULL, &t));
	WRONG(pxl_npy_write(cx, "x.npy", PXL_F32, 1, dim, NULL));
	CHECK("", pxl_errmsg(cx)[0]);
}

static void nonsense_options(pxl_model *m)
{
	pxl_program *p;
	const pxl_result *r;
	pxl_set set = { NULL, NULL };
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	pxl_task_options to = PXL_TASK_OPTIONS_INIT;
	o.name = "main";
	o.nset = 1;
	WRONG(pxl_program_new(m, &o, &p));
	o.sets = &set;
	WRONG(pxl_program_new(m, &o, &p));
	set = (pxl_set){ "n", "4x" };
	WRONG(pxl_program_new(m, &o, &p));
	set = (pxl_set){ "q", "4" };
	WRONG(pxl_program_new(m, &o, &p));
	o.nset = 0;
	o.replicas = -5;
	WRONG(pxl_program_new(m, &o, &p));
	o.replicas = 0;
	o.matmul = (pxl_matmul)7;
	WRONG(pxl_program_new(m, &o, &p));
	to.epochs = -1;
	WRONG(pxl_task_run(m, &to, &r));
	to.epochs = 0;
	to.program.nset = 3;
	WRONG(pxl_task_run(m, &to, &r));
	CHECK("", !pxl_program_param(m, NULL, 0));
	WRONG(pxl_model_ast(m, NULL));
}

static void nothing_in_program(pxl_program *p)
{
	const char *t;
	WRONG(pxl_emit(p, NULL, NULL, &t));
	WRONG(pxl_emit(p, "c", NULL, NULL));
	WRONG(pxl_ship(p, NULL));
	CHECK("", pxl_find(p, PXL_INPUT, NULL) == -1 && !pxl_get_info(p, 0, NULL));
	pxl_program_get_info(p, NULL);
}

static void nothing_in_session(pxl_session *s, const pxl_program *p)
{
	int x = pxl_find(p, PXL_INPUT, "x"), w = pxl_find(p, PXL_VARIABLE, "w");
	size_t n;
	WRONG(pxl_write(s, x, NULL, 12));
	WRONG(pxl_write_variables(s, NULL, 1));
	WRONG(pxl_write_variables(s, &(pxl_value){ w, NULL, 12 }, 1));
	WRONG(pxl_write_variables(s, &(pxl_value){ -1, NULL, 12 }, 1));
	WRONG(pxl_view(s, x, &(const void *){ NULL }));
	WRONG(pxl_view(s, w, NULL));
	WRONG(pxl_write(s, w, NULL, 12));
	WRONG(pxl_read(s, w, NULL, 12));
	WRONG(pxl_save(s, NULL));
	WRONG(pxl_load(s, NULL, 0));
	WRONG(pxl_copy_variables(s, NULL, &n));
	pxl_get_traffic(s, NULL);
}

int main(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	pxl_session *s;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	o.name = "main";
	no_context();
	no_objects();
	no_session();
	if (pxl_ctx_new(NULL, &cx) || pxl_compile_memory(cx, "m", text, sizeof text - 1, &m)) return 1;
	nothing_in_context(cx);
	nonsense_options(m);
	if (pxl_program_new(m, &o, &p) || pxl_session_new(p, NULL, &s)) return 1;
	nothing_in_program(p);
	nothing_in_session(s, p);
	o.name = "bad";
	pxl_program *none;
	CHECK("", pxl_program_new(m, &o, &none) == PXL_EMODEL && !pxl_diag_get(cx, 0, NULL));
	pxl_ctx_free(cx);
	pxl_model_free(m);
	pxl_program_free(p);
	pxl_session_free(s);
	return check_done();
}
