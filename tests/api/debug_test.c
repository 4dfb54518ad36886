/* debug_test.c — what `emit debug` says of ops and tensors: place, function, parents, values; not the library's own frames. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char model[] =
	"use nn\n"
	"module Net() {\n"
	"    fc = Linear(3, bias = false)\n"
	"    build(x) {\n"
	"        with op_debug_context(\"layer\") { y = fc(x) }\n"
	"        return relu(y)\n"
	"    }\n"
	"}\n"
	"kernel twice(x) = 2.0 * x\n"
	"program main() {\n"
	"    x = variable([[1.0, 2.0]], name = \"x\")\n"
	"    facts, net = Net().create_graph(x)\n"
	"    y = net.bind(facts.init()).call(x)\n"
	"    with op_debug_context(\"outer\"), op_debug_context(\"inner\") {\n"
	"        z = twice(y)\n"
	"    }\n"
	"    w = host_load(h2d_stream(\"s\", f32[]))\n"
	"}\n";

static char *text;

static void has(const char *want)
{
	CHECK("R211", strstr(text, want) != NULL);
	if (!strstr(text, want)) printf("missing: %s\n", want);
}

int main(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_program *p;
	const char *out = "";
	if (pxl_ctx_new(NULL, &cx) || pxl_compile_memory(cx, "m.pxl", model, sizeof model - 1, &m) || pxl_program_new(m, NULL, &p)) return 1;
	CHECK("R211", pxl_emit(p, "debug", NULL, &out) == PXL_OK);
	text = strdup(out);
	/* an op that the library makes, in a graph: the user's line, the function that stands there, and the block around it */
	has("{\"id\": 100, \"type\": \"MatMul\", \"name\": \"matmul\", \"layer\": \"pxl\", \"graph\": \"Net_subgraph(0)\", \"file\": \"m.pxl\", \"line\": 5, "
	    "\"column\": 46, \"function\": \"Net.build\", \"parent\": 2, \"inputs\": [\"x\", \"fc/weight\"], \"outputs\": [\"fc/matmul_out\"]}");
	has("{\"id\": 2, \"what\": \"layer\", \"file\": \"m.pxl\", \"line\": 5, \"column\": 14, \"function\": \"Net.build\", \"parent\": 3}");
	has("{\"id\": 3, \"what\": \"Net.build\", \"file\": \"m.pxl\", \"line\": 12, \"column\": 18, \"function\": \"program `main`\", \"parent\": 0}");
	has("{\"id\": 0, \"what\": \"program `main`\", \"file\": \"m.pxl\", \"line\": 10, \"column\": 9, \"function\": \"\", \"parent\": null}");
	/* nested blocks name their parents; a kernel has its own name */
	has("{\"id\": 103, \"type\": \"twice\", \"name\": \"twice\", \"layer\": \"pxl\", \"graph\": \"\", \"file\": \"m.pxl\", \"line\": 15, \"column\": 13, "
	    "\"function\": \"program `main`\", \"parent\": 1, \"inputs\": [\"relu_out\"], \"outputs\": [\"twice_out\"]}");
	has("{\"id\": 1, \"what\": \"inner\", \"file\": \"m.pxl\", \"line\": 14, \"column\": 37, \"function\": \"program `main`\", \"parent\": 4}");
	has("{\"id\": 4, \"what\": \"outer\", \"file\": \"m.pxl\", \"line\": 14, \"column\": 10, \"function\": \"program `main`\", \"parent\": 0}");
	/* every call that makes ops: graphs' calls, and the hidden op of a load; tensors too */
	has("\"type\": \"Call\", \"name\": \"call\"");
	has("\"type\": \"Init\"");
	has("{\"name\": \"x\", \"graph\": \"\", \"file\": \"m.pxl\", \"line\": 11, \"column\": 9, \"function\": \"program `main`\", \"parent\": 0}");
	CHECK("R211", !strstr(text, "<std>"));
	free(text);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return check_done();
}
