/* api_test.c — each function of pxl.h, used rightly and wrongly; when weights move. */
#include <unistd.h>
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"program add(n: int = 3) {\n"
	"    a = host_load(h2d_stream(\"a\", f32[n]))\n"
	"    w = variable(full([n], 1.0), name = \"w\")\n"
	"    v = variable(full([2], 7, i32), name = \"v\")\n"
	"    w += a\n"
	"    host_store(d2h_stream(\"y\", w.spec), w)\n"
	"}\n"
	"program twice() host_transfers 2 {\n"
	"    s = h2d_stream(\"s\", f32[2])\n"
	"    o = d2h_stream(\"o\", f32[2])\n"
	"    fn body() { host_store(o, host_load(s) * 2.0) }\n"
	"    repeat(graph(body), 2)\n"
	"}\n";

typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; } World;

static World world_of(const char *text, const char *program)
{
	World w = { 0 };
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.name = program;
	CHECK("", pxl_ctx_new(NULL, &w.cx) == PXL_OK);
	CHECK("", pxl_compile_memory(w.cx, "add.pxl", text, strlen(text), &w.m) == PXL_OK);
	CHECK("", pxl_program_new(w.m, &po, &w.p) == PXL_OK);
	CHECK("", w.p && pxl_session_new(w.p, NULL, &w.s) == PXL_OK);
	return w;
}

static World open_world(const char *program) { return world_of(model, program); }

static void close_world(World *w)
{
	/* any order is safe: the context first */
	pxl_ctx_free(w->cx);
	pxl_model_free(w->m);
	pxl_program_free(w->p);
	pxl_session_free(w->s);
}

static void test_questions(void)
{
	World w = open_world("add");
	pxl_info i;
	pxl_program_info pi;
	CHECK("", pxl_program_count(w.m) == 2);
	CHECK_STR("", pxl_program_name(w.m, 1), "twice");
	CHECK("", pxl_program_name(w.m, 2) == NULL);
	CHECK_STR("", pxl_program_param(w.m, "add", 0), "n: int = 3");
	CHECK("", pxl_program_param(w.m, "add", 1) == NULL);
	CHECK("", pxl_task_count(w.m) == 0);
	CHECK("R299", pxl_count(w.p) == 4);
	CHECK("", pxl_find(w.p, PXL_INPUT, "w") == -1);
	CHECK("", pxl_get_info(w.p, pxl_find(w.p, PXL_VARIABLE, "w"), &i) && i.rank == 1 && i.dim[0] == 3 && i.bytes == 12 && i.dtype == PXL_F32);
	CHECK("", !pxl_get_info(w.p, 99, &i));
	CHECK("", !pxl_get_info(w.p, -1, &i));
	pxl_program_get_info(w.p, &pi);
	CHECK("", pi.replicas == 1 && pi.transfers == 1 && pi.peak_bytes >= 12 + 8 && pi.compile_ms > 0);
	CHECK("", pxl_version() == PXL_VERSION_NUMBER);
	CHECK_STR("", pxl_strstatus(PXL_EIO), "input or output failed");
	CHECK_STR("", pxl_dtype_name(PXL_BF16), "bf16");
	CHECK("", pxl_session_threads(w.s) >= 1);
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;      /* more threads than processors only wake each other up */
	pxl_session *crowd = NULL;
	so.threads = 1000;
	CHECK("", pxl_session_new(w.p, &so, &crowd) == PXL_OK && pxl_session_threads(crowd) <= (int)sysconf(_SC_NPROCESSORS_ONLN));
	pxl_session_free(crowd);
	close_world(&w);
}

static void test_runs(void)
{
	World w = open_world("add");
	int a = pxl_find(w.p, PXL_INPUT, "a"), y = pxl_find(w.p, PXL_OUTPUT, "y"), v = pxl_find(w.p, PXL_VARIABLE, "w"), unused = pxl_find(w.p, PXL_VARIABLE, "v");
	float x[3] = { 1, 2, 3 }, out[3], bound[3] = { 0 };
	int i32[2];
	CHECK("R300", pxl_run(w.s, 1) == PXL_EINVAL);
	CHECK("R300", strstr(pxl_session_errmsg(w.s), "`a`") != NULL);
	CHECK("R302", pxl_write(w.s, a, x, 8) == PXL_EINVAL);
	CHECK("", pxl_write(w.s, y, x, 12) == PXL_EINVAL);
	CHECK("", pxl_write(w.s, 77, x, 12) == PXL_EINVAL);
	CHECK("", pxl_read(w.s, y, out, 12) == PXL_EINVAL);
	CHECK("", pxl_write(w.s, a, x, 12) == PXL_OK);
	x[0] = 100;                                                    /* copied before returning */
	CHECK("R298 R310", pxl_run(w.s, 2) == PXL_OK);
	CHECK("", pxl_runs(w.s) == 2);
	CHECK("R311", pxl_read(w.s, y, out, 12) == PXL_OK && out[0] == 3 && out[1] == 5 && out[2] == 7);
	CHECK("R134 R290 A283", pxl_read(w.s, v, out, 12) == PXL_OK && out[2] == 7);
	CHECK("R77", pxl_read(w.s, unused, i32, 8) == PXL_OK && i32[0] == 7 && i32[1] == 7);
	CHECK("", pxl_bind(w.s, y, bound, 12) == PXL_OK);
	CHECK("", pxl_bind(w.s, v, bound, 12) == PXL_EINVAL);
	CHECK("R298", pxl_run(w.s, 1) == PXL_OK && bound[2] == 10);
	CHECK("R294", pxl_write(w.s, v, x, 12) == PXL_OK && pxl_read(w.s, v, out, 12) == PXL_OK && !memcmp(out, x, 12));
	close_world(&w);
}

static void test_transfers(void)
{
	World w = open_world("twice");
	pxl_info i;
	float in[4] = { 1, 2, 3, 4 }, out[4];
	int s = pxl_find(w.p, PXL_INPUT, "s"), o = pxl_find(w.p, PXL_OUTPUT, "o");
	CHECK("R301 A224", pxl_get_info(w.p, s, &i) && i.rank == 2 && i.dim[0] == 2 && i.dim[1] == 2 && i.entry_rank == 1 && i.bytes == 16);
	CHECK("", pxl_write(w.s, s, in, 16) == PXL_OK);
	CHECK("R305 R307", pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, o, out, 16) == PXL_OK && out[0] == 2 && out[3] == 8);
	CHECK("R305", pxl_run(w.s, 1) == PXL_OK && pxl_read(w.s, o, out, 16) == PXL_OK && out[3] == 8);      /* cursors restart */
	close_world(&w);
}

static void test_attach(void)
{
	World w = open_world("add");
	int a = pxl_find(w.p, PXL_INPUT, "a"), v = pxl_find(w.p, PXL_VARIABLE, "w");
	float x[3] = { 1, 1, 1 }, out[3];
	CHECK("", pxl_write(w.s, a, x, 12) == PXL_OK);
	CHECK("R278", pxl_is_attached(w.s));
	CHECK("R275 R277", pxl_run(w.s, 1) == PXL_OK && pxl_detach(w.s, 0) == PXL_OK && !pxl_is_attached(w.s));
	CHECK("R277 R289", pxl_read(w.s, v, out, 12) == PXL_OK && out[0] == 1);      /* not fetched: the host's old value */
	CHECK("R279", pxl_run(w.s, 1) == PXL_EINVAL);
	CHECK("R279", pxl_weights_to_host(w.s) == PXL_EINVAL);
	CHECK("R279", pxl_weights_from_host(w.s) == PXL_EINVAL);
	x[0] = 5;
	CHECK("R288", pxl_write(w.s, v, x, 12) == PXL_OK && pxl_attach(w.s) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
	CHECK("R274 R278 R281", pxl_read(w.s, v, out, 12) == PXL_OK && out[0] == 6 && out[1] == 2);
	CHECK("R275 R282", pxl_run(w.s, 1) == PXL_OK && pxl_detach(w.s, 1) == PXL_OK && pxl_read(w.s, v, out, 12) == PXL_OK && out[0] == 7);
	CHECK("R133", pxl_attach(w.s) == PXL_OK && pxl_in_sync(w.s) && pxl_run(w.s, 1) == PXL_OK && !pxl_in_sync(w.s));
	CHECK("R133", pxl_weights_to_host(w.s) == PXL_OK && pxl_in_sync(w.s) && pxl_read(w.s, v, out, 12) == PXL_OK);
	CHECK("R133", pxl_write(w.s, v, out, 12) == PXL_OK && pxl_in_sync(w.s));
	close_world(&w);
}

static void test_independence(void)
{
	World a = open_world("add"), b = open_world("add");
	pxl_session *second;
	float x[3] = { 1, 1, 1 }, out[3];
	int in = pxl_find(a.p, PXL_INPUT, "a"), v = pxl_find(a.p, PXL_VARIABLE, "w");
	size_t copied;
	CHECK("", pxl_session_new(a.p, NULL, &second) == PXL_OK);
	CHECK("", pxl_write(a.s, in, x, 12) == PXL_OK && pxl_run(a.s, 4) == PXL_OK);
	CHECK("R4 R270 A283", pxl_read(second, v, out, 12) == PXL_OK && out[0] == 1);
	CHECK("R296", pxl_read(b.s, v, out, 12) == PXL_OK && out[0] == 1);
	CHECK("A326", pxl_copy_variables(b.s, a.s, &copied) == PXL_OK && copied == 2 && pxl_read(b.s, v, out, 12) == PXL_OK && out[0] == 5);
	pxl_session_free(second);
	close_world(&a);
	close_world(&b);
}

/* what a training keeps for itself starts anew where a file lacks it, whatever it was in the session */
static void test_state(const char *path)
{
	static const char text[] = "program plain() { host_store(d2h_stream(\"y\", f32[2]), variable([1.0, 2.0], name = \"w\") + 1.0) }\n"
		"program trained() {\n    n = variable([3.0, 4.0], name = \"n\", state = true)\n    n += variable([1.0, 2.0], name = \"w\")\n}\n";
	World plain = world_of(text, "plain"), trained = world_of(text, "trained");
	float x[2];
	int n = pxl_find(trained.p, PXL_VARIABLE, "n"), w = pxl_find(trained.p, PXL_VARIABLE, "w");
	CHECK("", pxl_save(plain.s, path) == PXL_OK && pxl_run(trained.s, 5) == PXL_OK);
	CHECK("", pxl_write(trained.s, w, (float[]){ 8, 9 }, 8) == PXL_OK);
	CHECK("", pxl_load(trained.s, path, 0) == PXL_EIO && strstr(pxl_session_errmsg(trained.s), "lacks 1 of the 2 variables of program `trained`: `n`"));
	CHECK("", pxl_read(trained.s, n, x, 8) == PXL_OK && x[0] == 8 && x[1] == 14);
	CHECK("", pxl_load(trained.s, path, PXL_SHARED) == PXL_OK && pxl_read(trained.s, n, x, 8) == PXL_OK && x[0] == 8);
	CHECK("", pxl_load(trained.s, path, PXL_NEEDED) == PXL_OK && pxl_read(trained.s, n, x, 8) == PXL_OK && x[0] == 3 && x[1] == 4);
	CHECK("", pxl_read(trained.s, w, x, 8) == PXL_OK && x[0] == 1 && x[1] == 2);
	close_world(&plain);
	close_world(&trained);
}

static void test_files(void)
{
	World w = open_world("add"), other = open_world("twice");
	int v = pxl_find(w.p, PXL_VARIABLE, "w");
	float x[3] = { 1.5f, -2, 1e-30f }, out[3];
	char path[] = "/tmp/pxl_api_XXXXXX";
	int64_t dim[2] = { 1, 3 };
	pxl_array a;
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fclose(f);
	CHECK("", pxl_write(w.s, v, x, 12) == PXL_OK && pxl_save(w.s, path) == PXL_OK);
	x[0] = 0;
	CHECK("", pxl_write(w.s, v, x, 12) == PXL_OK && pxl_load(w.s, path, 0) == PXL_OK);
	CHECK("A282", pxl_read(w.s, v, out, 12) == PXL_OK && out[0] == 1.5f && out[2] == 1e-30f);
	CHECK("", pxl_load(other.s, path, 0) == PXL_EIO && strstr(pxl_session_errmsg(other.s), "no such variable"));
	CHECK("", pxl_load(other.s, path, PXL_NEEDED) == PXL_OK);
	CHECK("", pxl_load(other.s, path, 1) == PXL_OK);
	test_state(path);
	CHECK("", pxl_load(w.s, "/no/such/file", 0) == PXL_EIO);
	CHECK("", pxl_save(w.s, "/no/such/dir/file") == PXL_EIO);
	CHECK("", pxl_npy_write(w.cx, path, PXL_F32, 2, dim, x) == PXL_OK && pxl_npy_read(w.cx, path, &a) == PXL_OK);
	CHECK("", a.rank == 2 && a.dim[1] == 3 && a.dtype == PXL_F32 && !memcmp(a.data, x, 12));
	pxl_array_free(w.cx, &a);
	CHECK("", pxl_load(w.s, path, 0) == PXL_EIO);
	remove(path);
	close_world(&w);
	close_world(&other);
}

typedef struct Seen { int n; char code[8]; int line; } Seen;
static void on_diag(void *user, const pxl_diag *d)
{
	Seen *s = user;
	if (!s->n++) snprintf(s->code, sizeof s->code, "%s", d->code), s->line = d->line;
}

static void test_errors(void)
{
	static const char bad[] = "program p() {\n    y = nosuch\n    z = alsonot\n}\n";
	pxl_options o = PXL_OPTIONS_INIT;
	pxl_ctx *cx;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_diag d;
	Seen seen = { 0 };
	const char *text;
	o.diag = on_diag;
	o.diag_user = &seen;
	CHECK("", pxl_ctx_new(&o, &cx) == PXL_OK);
	CHECK("", pxl_compile_file(cx, "/no/such.pxl", &m) == PXL_EIO && strstr(pxl_errmsg(cx), "/no/such.pxl"));
	CHECK("", pxl_compile_memory(cx, "bad.pxl", bad, sizeof bad - 1, &m) == PXL_OK);
	CHECK("A7", pxl_program_new(m, NULL, &p) == PXL_EMODEL && pxl_diag_count(cx) == 2);
	CHECK("A7", seen.n == 2 && !strcmp(seen.code, "E0101") && seen.line == 2);
	CHECK("A7", pxl_diag_get(cx, 1, &d) && d.line == 3 && d.column == 9 && !strcmp(d.file, "bad.pxl") && d.offset == 37 && d.length == 7);
	CHECK("", strstr(pxl_diag_text(cx, 0, PXL_DIAG_FULL), "bad.pxl:2:9") != NULL);
	CHECK("", strstr(pxl_diag_text(cx, 0, PXL_DIAG_SHORT), "bad.pxl:2:9: error[E0101]") != NULL);
	CHECK("", strstr(pxl_diag_text(cx, 0, PXL_DIAG_JSON), "\"code\":\"E0101\"") != NULL);
	CHECK_STR("", pxl_diag_text(cx, 9, 0), "");
	CHECK("", pxl_describe(cx, "explain", "E0101", &text) == PXL_OK && strstr(text, "E0101"));
	CHECK("", pxl_describe(cx, "explain", "X", &text) == PXL_EINVAL);
	CHECK("", pxl_describe(cx, "nothing", NULL, &text) == PXL_EINVAL);
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.name = "q";
	CHECK("", pxl_program_new(m, &po, &p) == PXL_EINVAL && strstr(pxl_errmsg(cx), "`p`"));
	CHECK("", pxl_compile_memory(cx, NULL, NULL, 0, &m) == PXL_EINVAL);
	pxl_session_free(NULL);
	pxl_program_free(NULL);
	pxl_ctx_free(NULL);
	pxl_model_free(m);
	pxl_model_free(NULL);
	pxl_ctx_free(cx);
}

int main(void)
{
	test_questions();
	test_runs();
	test_transfers();
	test_attach();
	test_independence();
	test_files();
	test_errors();
	return check_done();
}
