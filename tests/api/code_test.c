/* code_test.c — when code has to be in memory, as `pxlc emit code` reports it (semantics.md R365–R369). */
#include "compiler/api/pxl.h"
#include "tests/check.h"

static const char head[] =
	"fn f(x) = x + 1.0\n"
	"fn g(x) = x * 2.0\n"
	"program main() {\n"
	"    x = variable(1.0)\n"
	"    c = variable(true)\n"
	"    a = graph(f, x)\n"
	"    b = graph(g, x)\n";

/* the lines about a and b (or more graphs), without the first line of the report */
static void report(const char *rules, const char *body, const char *want)
{
	char text[4096];
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	const char *got = "", *line;
	int n = snprintf(text, sizeof text, "%s%s}\n", head, body);
	int ok = pxl_ctx_new(NULL, &cx) == PXL_OK && pxl_compile_memory(cx, "m.pxl", text, (size_t)n, &m) == PXL_OK && pxl_program_new(m, &po, &p) == PXL_OK &&
	         pxl_emit(p, "code", NULL, &got) == PXL_OK;
	if (!ok) printf("%s%s\n", text, pxl_errmsg(cx));
	for (size_t i = 0; i < pxl_diag_count(cx); i++) printf("%s\n", pxl_diag_text(cx, i, PXL_DIAG_SHORT));
	CHECK("", ok && (line = strchr(got, '\n')));
	if (ok && (line = strchr(got, '\n'))) CHECK_STR(rules, line + 1, want);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
}

#define SEQ(text) "    with in_sequence() {\n" text "    }\n"
#define ALWAYS "always live: nothing loads it\n"

int main(void)
{
	/* never called, never loaded, loaded and called */
	report("R365", SEQ("call(a, x)\n"), "  f_subgraph(0): " ALWAYS "  g_subgraph(1): never called\n");
	report("R365", SEQ("remote_code_load(b)\n call(a, x)\n"), "  f_subgraph(0): " ALWAYS "  g_subgraph(1): never called\n");
	report("R365 R370", SEQ("remote_code_load(a)\n call(b, x)\n call(a, x)\n call(b, x)\n"),
	       "  f_subgraph(0): live 0-2; loaded in 0\n  g_subgraph(1): " ALWAYS);
	/* back to the load, or to the start; dead between the last call before a load and that load, and after the last call */
	report("R365", SEQ("call(b, x)\n call(a, x)\n call(b, x)\n remote_code_load(a)\n call(b, x)\n call(a, x)\n call(b, x)\n"),
	       "  f_subgraph(0): live 0-1, 3-5; loaded in 3\n  g_subgraph(1): " ALWAYS);
	report("R365", SEQ("remote_code_load(a)\n call(b, x)\n remote_code_load(a)\n call(a, x)\n call(a, x)\n remote_code_load(a)\n"),
	       "  f_subgraph(0): live 2-4; loaded in 0, 2, 5\n  g_subgraph(1): " ALWAYS);
	/* loading and calling below a call count at the call; what loads must be there itself */
	report("R366", "    h = graph(fn(x) { remote_code_load(a)\n return x + 3.0 }, x)\n" SEQ("call(b, x)\n remote_code_load(h)\n call(h, x)\n call(b, x)\n call(a, x)\n"),
	       "  f_subgraph(0): live 2-4; loaded in 2\n  g_subgraph(1): " ALWAYS "  fn_subgraph(2): live 1-2; loaded in 1\n");
	/* loading a graph does not load what it calls */
	report("R366", "    h = graph(fn(x) = call(a, x), x)\n" SEQ("call(b, x)\n remote_code_load(a)\n remote_code_load(h)\n call(h, x)\n remote_code_load(h)\n call(h, x)\n"),
	       "  f_subgraph(0): live 1-5; loaded in 1\n  g_subgraph(1): " ALWAYS "  fn_subgraph(2): live 2-3, 4-5; loaded in 2, 4\n");
	/* branches: both must load */
	report("R367", "    y = graph(fn() { remote_code_load(a) })\n    n = graph(fn() { remote_code_load(b) })\n"
	       SEQ("x + 0.0\n conditional(c, y, y)\n x + 0.0\n call(a, x)\n"), "  f_subgraph(0): live 1-3; loaded in 1\n  g_subgraph(1): never called\n  fn_subgraph(2): " ALWAYS
	       "  fn_subgraph(3): never called\n");
	report("R367", "    y = graph(fn() { remote_code_load(a) })\n    n = graph(fn() { remote_code_load(b) })\n"
	       SEQ("x + 0.0\n conditional(c, y, n)\n x + 0.0\n call(a, x)\n"), "  f_subgraph(0): live 0-3; loaded in 1\n  g_subgraph(1): never called\n  fn_subgraph(2): " ALWAYS
	       "  fn_subgraph(3): " ALWAYS);
	/* a loop: the load in one turn serves the next */
	report("R365", "    h = graph(fn(x) { with in_sequence() { y = call(a, x)\n remote_code_load(a) }\n return y }, x)\n" SEQ("x + 0.0\n repeat(h, 3, x)\n x + 0.0\n"),
	       "  f_subgraph(0): live 0-1; loaded in 1\n  g_subgraph(1): never called\n  fn_subgraph(2): " ALWAYS);
	/* without an order the call may come first */
	report("R368", "    remote_code_load(a)\n    call(a, x)\n", "  f_subgraph(0): always live: its load and its call are not ordered\n  g_subgraph(1): never called\n");
	report("R369", SEQ("remote_code_load(a)\n remote_code_load(b)\n call(a, x)\n call(b, x)\n"),
	       "  f_subgraph(0): live 0-2; loaded in 0\n  g_subgraph(1): live 1-3; loaded in 1\n");
	/* loads merged into one exchange are loads still */
	report("R371 R369", SEQ("with in_sequence(false), merge_exchange() {\n remote_code_load(a)\n remote_code_load(b)\n }\n call(a, x)\n call(b, x)\n"),
	       "  f_subgraph(0): live 0-1; loaded in 0\n  g_subgraph(1): live 0-2; loaded in 0\n");
	return check_done();
}
