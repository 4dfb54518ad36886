/* empty_test.c — arrays without elements between a host and a program: NULL as their data, files of them, replicas. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"program p() replicas 2 {\n"
	"    x = host_load(h2d_stream(\"x\", f32[0, 3]))\n"
	"    w = variable(zeros([0, 3]), name = \"w\")\n"
	"    one = variable(1.0, name = \"one\")\n"
	"    w += x\n"
	"    piece = replica_sharded_slice(w)\n"
	"    host_store(d2h_stream(\"y\", f32[0, 3]), replicated_all_reduce(w) * 2.0)\n"
	"    host_store(d2h_stream(\"whole\", f32[0, 3]), replicated_all_gather(replicated_reduce_scatter(w, configure_output_for_replicated_tensor_sharding = true)))\n"
	"    host_store(d2h_stream(\"pieces\", piece.spec), piece)\n"
	"    host_store(d2h_stream(\"sum\", f32[]), w.sum() + one)\n"
	"}\n";

typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; } World;

static int opened(World *w, pxl_jit jit, int level)
{
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.name = "p", po.jit = jit, po.level = level;
	int ok = pxl_ctx_new(NULL, &w->cx) == PXL_OK && pxl_compile_memory(w->cx, "empty.pxl", model, sizeof model - 1, &w->m) == PXL_OK
	      && pxl_program_new(w->m, &po, &w->p) == PXL_OK && pxl_session_new(w->p, NULL, &w->s) == PXL_OK;
	if (!ok && w->cx) printf("%s\n%s\n", pxl_errmsg(w->cx), pxl_diag_count(w->cx) ? pxl_diag_text(w->cx, 0, PXL_DIAG_FULL) : "");
	return ok;
}

static void shut(World *w)
{
	pxl_session_free(w->s);
	pxl_program_free(w->p);
	pxl_model_free(w->m);
	pxl_ctx_free(w->cx);
}

static void streams(pxl_jit jit, int level)
{
	World w = { 0 };
	char none[1];
	float sum[2] = { 0 };
	const void *seen = none;
	CHECK("", opened(&w, jit, level));
	if (w.s) {
		int x = pxl_find(w.p, PXL_INPUT, "x"), y = pxl_find(w.p, PXL_OUTPUT, "y"), v = pxl_find(w.p, PXL_VARIABLE, "w");
		pxl_array a = { .dtype = PXL_F32, .rank = 2, .dim = { 0, 3 } }, b = { .dtype = PXL_F64, .rank = 3, .dim = { 2, 0, 3 } };
		CHECK("", pxl_bind(w.s, x, NULL, 0) == PXL_OK && pxl_run(w.s, 1) == PXL_OK && pxl_write(w.s, x, NULL, 0) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
		CHECK("", pxl_read(w.s, y, NULL, 0) == PXL_OK && pxl_read(w.s, y, none, 0) == PXL_OK);
		CHECK("", pxl_read(w.s, pxl_find(w.p, PXL_OUTPUT, "sum"), sum, sizeof sum) == PXL_OK && sum[0] == 1 && sum[1] == 1);
		CHECK("", pxl_write(w.s, v, NULL, 0) == PXL_OK && pxl_read(w.s, v, NULL, 0) == PXL_OK && pxl_view(w.s, v, &seen) == PXL_OK);
		CHECK("", pxl_write_variables(w.s, &(pxl_value){ v, NULL, 0 }, 1) == PXL_OK);
		CHECK("", pxl_write_array(w.s, v, &a) == PXL_OK && pxl_write_array(w.s, x, &b) == PXL_OK);
		CHECK("", pxl_bind(w.s, x, none, 0) == PXL_OK && pxl_bind(w.s, y, none, 0) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
		CHECK("", pxl_bind(w.s, x, NULL, 0) == PXL_OK && pxl_bind(w.s, y, NULL, 0) == PXL_OK && pxl_run(w.s, 1) == PXL_OK);
		CHECK("", pxl_write(w.s, x, none, 4) == PXL_EINVAL && strstr(pxl_session_errmsg(w.s), "4 bytes were given, its array has 0"));
	}
	shut(&w);
}

static void files(void)
{
	World w = { 0 };
	char folder[] = "/tmp/pxl-empty-XXXXXX", path[64];
	CHECK("", mkdtemp(folder) && opened(&w, PXL_JIT_TCC, 2));
	if (w.s) {
		float got = 0;
		snprintf(path, sizeof path, "%s/w.safetensors", folder);
		CHECK("", pxl_save(w.s, path) == PXL_OK && pxl_write(w.s, pxl_find(w.p, PXL_VARIABLE, "one"), &(float){ 7 }, 4) == PXL_OK);
		CHECK("", pxl_load(w.s, path, 0) == PXL_OK && pxl_read(w.s, pxl_find(w.p, PXL_VARIABLE, "one"), &got, 4) == PXL_OK && got == 1);
		unlink(path);
		snprintf(path, sizeof path, "%s/a.npy", folder);
		CHECK("", pxl_npy_write(w.cx, path, PXL_F32, 2, (int64_t[]){ 0, 3 }, NULL) == PXL_OK);
		pxl_array a = { .rank = 9 };
		CHECK("", pxl_npy_read(w.cx, path, &a) == PXL_OK && a.rank == 2 && a.dim[0] == 0 && a.dim[1] == 3 && a.nelem == 0 && a.bytes == 0);
		CHECK("", pxl_write_array(w.s, pxl_find(w.p, PXL_VARIABLE, "w"), &a) == PXL_OK);
		pxl_array_free(w.cx, &a);
		unlink(path);
	}
	rmdir(folder);
	shut(&w);
}

int main(void)
{
	for (int level = 0; level <= 2; level++) streams(PXL_JIT_TCC, level);
	streams(PXL_JIT_CC, 2);
	files();
	return check_done();
}
