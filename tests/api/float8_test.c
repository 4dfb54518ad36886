/* float8_test.c — variables of float8 from a host: their bytes go in and out as they are, numbers of other types do not. */
#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"program p() {\n"
	"    v = variable([0.75, 1.0, -1.0], f8_143, name = \"v\")\n"
	"    host_store(d2h_stream(\"y\", v.spec), v)\n"
	"}\n";

int main(void)
{
	static const unsigned char first[3] = { 0x3c, 0x40, 0xc0 }, bytes[3] = { 0x01, 0x80, 0xff };
	unsigned char got[3], y[3];
	float number = 1, three[3] = { 1, 2, 3 };
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	int ok = pxl_ctx_new(NULL, &cx) == PXL_OK && pxl_compile_memory(cx, "float8.pxl", model, sizeof model - 1, &m) == PXL_OK
	      && pxl_program_new(m, NULL, &p) == PXL_OK && pxl_session_new(p, NULL, &s) == PXL_OK;
	CHECK("", ok);
	if (!ok) return check_done();
	int v = pxl_find(p, PXL_VARIABLE, "v");
	pxl_array one = { .dtype = PXL_F32, .rank = 0, .data = &number, .bytes = sizeof number };
	pxl_array many = { .dtype = PXL_F32, .rank = 1, .dim = { 3 }, .data = three, .bytes = sizeof three };
	CHECK("R106", pxl_read(s, v, got, 3) == PXL_OK && !memcmp(got, first, 3));
	CHECK("R106", pxl_write(s, v, bytes, 3) == PXL_OK && pxl_read(s, v, got, 3) == PXL_OK && !memcmp(got, bytes, 3));
	CHECK("R106", pxl_run(s, 1) == PXL_OK && pxl_read(s, pxl_find(p, PXL_OUTPUT, "y"), y, 3) == PXL_OK && !memcmp(y, bytes, 3));
	CHECK("R106", pxl_write_array(s, v, &one) == PXL_EINVAL && pxl_write_array(s, v, &many) == PXL_EINVAL);
	CHECK("R106", strstr(pxl_session_errmsg(s), "takes f8_143[3]") != NULL);
	CHECK("R106", pxl_read(s, v, got, 3) == PXL_OK && !memcmp(got, bytes, 3));
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return check_done();
}
