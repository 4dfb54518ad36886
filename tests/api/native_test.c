/* native_test.c — C files with ops: loaded, called wherever an op may stand, refused, kept in the cache. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

#if defined __SANITIZE_ADDRESS__
#define SANFLAGS "-fsanitize=address,undefined"      /* the shipped library is the one of this build */
#else
#define SANFLAGS ""
#endif

static char dir[] = "/tmp/pxl-test-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	CHECK("", f && fputs(text, f) >= 0 && !fclose(f));
}

/* leaky and its gradient; `slope` is C text: the number that leaky multiplies alpha by */
static void put_leaky(const char *slope)
{
	char text[2000];
	snprintf(text, sizeof text,
		"#include <pxl.h>\n#include <stdio.h>\n"
		"static int only_f32(pxl_host_call *c)\n{\n"
		"\tif (c->in[0].dtype == PXL_F32) return 0;\n\tsnprintf(c->why, c->why_size, \"it computes in f32\");\n\treturn 1;\n}\n"
		"static int leaky(pxl_host_call *c)\n{\n\tconst float *x = c->in[0].data;\n\tfloat *y = c->out[0].data, a = (float)c->numbers[0] * %s;\n"
		"\tfor (size_t i = 0; i < c->in[0].nelem; i++) y[i] = x[i] < 0 ? a * x[i] : x[i];\n\treturn 0;\n}\n"
		"static int back(pxl_host_call *c)\n{\n\tconst float *x = c->in[0].data, *g = c->in[1].data;\n\tfloat *dx = c->out[0].data;\n"
		"\tfor (size_t i = 0; i < c->in[0].nelem; i++) dx[i] = x[i] < 0 ? (float)c->numbers[0] * g[i] : g[i];\n\treturn 0;\n}\n"
		"static const pxl_host_param alpha[] = { { \"alpha\", 1, 0.01, PXL_PARAM_FLOAT }, { \"times\", 1, 1, PXL_PARAM_INT }, { \"on\", 1, 1, PXL_PARAM_BOOL } };\n"
		"const pxl_host_op pxl_native_ops[] = {\n"
		"\t{ PXL_HOST_OP_HEAD, .name = \"leaky\", .version = \"1\", .nin = 1, .nout = 1, .params = alpha, .nparam = 3, .infer = only_f32, .run = leaky,\n"
		"\t  .grad = \"leaky_grad\", .grad_in = \"x0 dy0\", .grad_out = \"x0\" },\n"
		"\t{ PXL_HOST_OP_HEAD, .name = \"leaky_grad\", .nin = 2, .nout = 1, .params = alpha, .nparam = 3, .run = back },\n"
		"\t{ PXL_HOST_OP_HEAD, .name = \"old\", .version = \"1\", .nin = 1, .nout = 1, .params = alpha, .nparam = 3, .run = leaky },\n"
		"\tPXL_HOST_OP_END\n};\n", slope);
	put("leaky.c", text);
}

typedef struct Heard { char text[4096]; size_t n; } Heard;
static void hear(void *user, const char *text, size_t len)
{
	Heard *h = user;
	if (h->n + len >= sizeof h->text) return;
	memcpy(h->text + h->n, text, len);
	h->text[h->n += len] = 0;
}

static Heard heard;
static pxl_ctx *context(const char *cache, int allow)
{
	pxl_ctx *cx;
	pxl_options o = PXL_OPTIONS_INIT;
	o.cache_dir = cache;
	o.allow_native = allow;
	o.print = hear;
	o.print_user = &heard;
	heard = (Heard){ .n = 0 };
	if (pxl_ctx_new(&o, &cx)) exit(1);
	return cx;
}

/* `body` in a program behind `native "leaky.c"`, compiled from a file beside it */
static pxl_program *build(pxl_ctx *cx, const char *top, const char *body, pxl_jit jit, int level, int replicas)
{
	char text[3000], path[300];
	pxl_model *m;
	pxl_program *p = NULL;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	o.jit = jit;
	o.level = level;
	o.replicas = replicas;
	snprintf(text, sizeof text, "%s\nprogram main() {\n%s}\n", top, body);
	put("m.pxl", text);
	snprintf(path, sizeof path, "%s/m.pxl", dir);
	if (pxl_compile_file(cx, path, &m)) return NULL;
	if (pxl_program_new(m, &o, &p)) p = NULL;
	pxl_model_free(m);
	return p;
}

static const char named[] = "native \"leaky.c\"";

/* the outputs called `name` of one run; 0: it does not run */
static int run(pxl_program *p, const char *name, float *out, size_t size)
{
	pxl_session *s;
	if (!p || pxl_session_new(p, NULL, &s)) return 0;
	int ok = !pxl_run(s, 1) && !pxl_read(s, pxl_find(p, PXL_OUTPUT, name), out, size);
	if (!ok) printf("%s\n", pxl_session_errmsg(s));
	pxl_session_free(s);
	return ok;
}

/* --- what it computes ------------------------------------------------------------------------------------------- */
static void goldens(void)
{
	static const char body[] =
		"    x = constant([-1.0, 0.0, 2.0])\n    s = leaky(constant(0.01), alpha = 0.02)\n    assert s.shape == ()\n"
		"    g = graph(fn(t) = leaky(t, alpha = 0.02), f32[2])\n"
		"    y = leaky(x, alpha = 0.02)\n    assert y.shape == (3,)\n"
		"    dx = call(autodiff(g).graph, ones([2]), constant([-1.0, 2.0]))\n"
		"    for name, t in {\"y\": y, \"s\": s, \"dx\": dx, \"d\": leaky(x)} { host_store(d2h_stream(name, t.spec), t) }\n";
	pxl_ctx *cx = context(NULL, 1);
	pxl_program *p = build(cx, named, body, PXL_JIT_TCC, 2, 0);
	float y[3] = { 0 }, s[1] = { 0 }, dx[2] = { 0 }, d[3] = { 0 };
	CHECK("R449", p != NULL);
	CHECK("R451", run(p, "y", y, sizeof y) && y[0] == -0.02f && y[1] == 0 && y[2] == 2);
	CHECK("R451", run(p, "s", s, sizeof s) && s[0] == 0.01f);
	CHECK("R446 R451", run(p, "dx", dx, sizeof dx) && dx[0] == 0.02f && dx[1] == 1);
	CHECK("R445", run(p, "d", d, sizeof d) && d[0] == -0.01f);                     /* a default */
	pxl_program_free(p);
	pxl_ctx_free(cx);
}

/* called, repeated, in a branch, differentiated through all of them, on two replicas */
static void everywhere(pxl_jit jit, int level)
{
	static const char body[] =
		"    x = constant([-1.0, 2.0])\n"
		"    g = graph(fn(t) = leaky(t, alpha = 0.5), x)\n"
		"    c = call(g, x)\n"
		"    r = repeat(g, 3, x)\n"
		"    b = conditional(constant(true), g, graph(fn(t) = t * 7.0, x), then_inputs = [x], else_inputs = [x])\n"
		"    all = graph(fn(t) {\n        u = call(g, t)\n        v = repeat(g, 2, u)\n"
		"        return conditional(constant(true), g, graph(fn(w) = w * 7.0, v), then_inputs = [v], else_inputs = [v])\n    }, x)\n"
		"    d = autodiff(all)\n    f = call_with_info(all, x)\n"
		"    dx = call_with_info(d.graph, ones([2]), inputs_dict = d.inputs_dict(f)).outputs[0]\n"
		"    for name, t in {\"c\": c, \"r\": r, \"b\": b, \"dx\": dx} { host_store(d2h_stream(name, t.spec), t) }\n";
	pxl_ctx *cx = context(NULL, 1);
	pxl_program *p = build(cx, named, body, jit, level, 2);
	if (!p) printf("%s\n%s\n", pxl_errmsg(cx), pxl_diag_count(cx) ? pxl_diag_text(cx, 0, 0) : "");
	float y[4] = { 0 };
	CHECK("R452", run(p, "c", y, sizeof y) && y[0] == -0.5f && y[1] == 2 && y[2] == -0.5f && y[3] == 2);
	CHECK("R452", run(p, "r", y, sizeof y) && y[0] == -0.125f && y[1] == 2 && y[2] == -0.125f);
	CHECK("R452", run(p, "b", y, sizeof y) && y[0] == -0.5f && y[3] == 2);
	CHECK("R446 R452", run(p, "dx", y, sizeof y) && y[0] == 0.0625f && y[1] == 1 && y[2] == 0.0625f && y[3] == 1);
	pxl_program_free(p);
	pxl_ctx_free(cx);
}

/* --- contexts, hooks, listings ------------------------------------------------------------------------------------- */
static void contexts(void)
{
	static const char body[] =
		"    x = variable([-1.0, 2.0], name = \"x\")\n    seen = []\n"
		"    h = main_graph().register_op_created_hook(fn(op) = seen.append(op.type))\n"
		"    with name_scope(\"inner\"), ipu(1), io_tiles() { y = leaky(x) }\n"
		"    main_graph().remove_op_created_hook(h)\n"
		"    print(y.name, y.ipu, y.tile_set, seen)\n"
		"    with in_sequence() {\n        a = leaky(x)\n        x += 1.0\n        b = leaky(x)\n    }\n"
		"    host_store(d2h_stream(\"b\", b.spec), b)\n    host_store(d2h_stream(\"a\", a.spec), a)\n    host_store(d2h_stream(\"y\", y.spec), y)\n";
	pxl_ctx *cx = context(NULL, 1);
	pxl_program *p = build(cx, named, body, PXL_JIT_TCC, 2, 0);
	const char *text = "";
	float a[2] = { 0 }, b[2] = { 0 };
	/* y reads x too, in no order with its update */
	CHECK("R447", !p && pxl_diag_count(cx) && strstr(pxl_diag_text(cx, 0, PXL_DIAG_SHORT), "`leaky`"));
	CHECK_STR("R447", heard.text, "inner/leaky_out 1 io ['leaky']\n");
	pxl_ctx_free(cx);
	cx = context(NULL, 1);
	p = build(cx, named, "    x = variable([-1.0, 2.0], name = \"x\")\n"
		"    with in_sequence() {\n        a = leaky(x)\n        x += 1.0\n        b = leaky(x, alpha = 0.5)\n    }\n"
		"    host_store(d2h_stream(\"b\", b.spec), b)\n    host_store(d2h_stream(\"a\", a.spec), a)\n", PXL_JIT_TCC, 2, 0);
	CHECK("R447", run(p, "a", a, sizeof a) && a[0] == -0.01f && a[1] == 2);
	CHECK("R447", run(p, "b", b, sizeof b) && b[0] == 0 && b[1] == 3);
	CHECK("R447", p && !pxl_emit(p, "schedule", NULL, &text) && strstr(text, "    leaky.100 (%1 [(2,) float32]) -> (%2 [(2,) float32])"));
	CHECK("R447", p && !pxl_emit(p, "dot", NULL, &text) && strstr(text, ": leaky."));
	CHECK("R447", p && !pxl_emit(p, "debug", NULL, &text) && strstr(text, "{\"id\": 100, \"type\": \"leaky\", \"name\": \"leaky\", \"layer\": \"pxl\", \"graph\": \"\""));
	pxl_program_free(p);
	pxl_ctx_free(cx);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */
/* the first diagnostic of a model with this top line and this statement; "" if there is none */
static const char *refusal(pxl_ctx *cx, const char *top, const char *line, int how)
{
	char body[600];
	snprintf(body, sizeof body, "    x = constant([-1.0, 2.0])\n    %s\n", line);
	pxl_program *p = build(cx, top, body, PXL_JIT_TCC, 2, 0);
	if (!p) return pxl_diag_count(cx) ? pxl_diag_text(cx, 0, how) : pxl_errmsg(cx);
	pxl_program_free(p);
	return "";
}

static void has(const char *rule, const char *got, const char *want)
{
	CHECK(rule, strstr(got, want) != NULL);
	if (!strstr(got, want)) printf("got:  %s\nwant: %s\n", got, want);
}

static void refusing(void)
{
	static const char *const wrong[][2] = {
		{ "leaky(x, beta = 1.0)", "`leaky` has no parameter `beta`" }, { "leaky(x, alpha = \"1\")", "`alpha` of `leaky`" },
		{ "leaky(x, times = 0.5)", "`times` of `leaky` must be an int" }, { "leaky(x, on = 1)", "`on` of `leaky` must be a bool" },
		{ "leaky(x, times = 9007199254740993)", "`times` of `leaky` is beyond 2^53" },
		{ "leaky(x, x)", "`leaky` takes 1 operand, 2 given" }, { "leaky(x.cast(f16))", "`leaky` refuses its operands: it computes in f32" },
		{ "host_op(\"leaky@2\", x)", "the host has registered no op `leaky@2`" },
	};
	pxl_ctx *cx = context(NULL, 1);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) has("R448", refusal(cx, named, wrong[i][0], PXL_DIAG_SHORT), wrong[i][1]);
	CHECK_STR("R448", refusal(cx, named, "y = host_op(\"leaky@1\", x, times = 2, on = true)", PXL_DIAG_SHORT), "");
	has("R446", refusal(cx, named, "autodiff(graph(fn(t) = old(t), x))", PXL_DIAG_SHORT), "`old`");
	CHECK_STR("", refusal(cx, "native \"leaky.c\"\nnative \"leaky.c\"", "leaky(x)", PXL_DIAG_SHORT), "");
	has("", refusal(cx, "fn leaky(x) = x\nnative \"leaky.c\"", "leaky(x)", PXL_DIAG_SHORT), "`leaky` is declared twice");
	pxl_ctx_free(cx);
}

/* --- files that are not as they should be ---------------------------------------------------------------------------- */
static void put_op(const char *file, const char *row)
{
	char text[600];
	snprintf(text, sizeof text, "#include \"pxl.h\"\nstatic int f(pxl_host_call *c) { (void)c; return 0; }\nconst pxl_host_op pxl_native_ops[] = { %s PXL_HOST_OP_END };\n", row);
	put(file, text);
}

static void wrong_files(void)
{
	char fifo[300];
	pxl_ctx *cx = context(NULL, 1);
	put_op("old.c", "{ sizeof(pxl_host_op), 1, .name = \"f\", .nin = 1, .nout = 1, .run = f },");
	has("R449", refusal(cx, "native \"old.c\"", "", 0), "op 0 of its table is for version 1 of the interface; this library has 2");
	put_op("two.c", "{ PXL_HOST_OP_HEAD, .name = \"f\", .version = \"2\", .nin = 1, .nout = 1, .run = f }, { PXL_HOST_OP_HEAD, .name = \"f\", .version = \"2\", .nin = 1, .nout = 1, .run = f },");
	has("R448", refusal(cx, "native \"two.c\"", "", 0), "the op `f` version 2 is registered already");
	put_op("versions.c", "{ PXL_HOST_OP_HEAD, .name = \"f\", .version = \"2\", .nin = 1, .nout = 1, .run = f }, { PXL_HOST_OP_HEAD, .name = \"f\", .nin = 1, .nout = 1, .run = f },");
	CHECK_STR("R448", refusal(cx, "native \"versions.c\"", "y = f(x) + host_op(\"f@2\", x)", 0), "");
	put_op("none.c", "");
	has("", refusal(cx, "native \"none.c\"", "", 0), "its table `pxl_native_ops` is empty");
	put("table.c", "int x;\n");
	has("", refusal(cx, "native \"table.c\"", "", 0), "it has no table `pxl_native_ops`");
	put("missing.c", "extern int nowhere(void);\nint pxl_native_ops(void) { return nowhere(); }\n");
	has("", refusal(cx, "native \"missing.c\"", "", 0), "nowhere");
	has("", refusal(cx, "native \"no.c\"", "", 0), "no.c`: No such file or directory");
	has("", refusal(cx, "native \".\"", "", 0), "names a folder, not a file");
	put("wrong.c", "int\n");
	const char *got = refusal(cx, "native \"wrong.c\"", "", 0);
	has("", got, "error[E0903]: the native code in `wrong.c` cannot be used\n");
	has("", got, "native \"wrong.c\"\n");
	has("", got, "wrong.c:");
	pxl_ctx_free(cx);
	cx = context(NULL, 0);
	snprintf(fifo, sizeof fifo, "error[E0902]: the model names native code, `leaky.c`, and may not run any\n --> %s/m.pxl:1:1\n  |\n1 | native \"leaky.c\"\n"
	         "  | ^^^^^^^^^^^^^^^^\nhelp: if you trust the file, allow it: `--allow-native`\n", dir);
	CHECK_STR("", refusal(cx, named, "", 0), fifo);
	pxl_ctx_free(cx);
}

/* --- the cache --------------------------------------------------------------------------------------------------------- */
static int kept(const char *where)
{
	int n = 0;
	DIR *d = opendir(where);
	for (struct dirent *f; d && (f = readdir(d));) n += f->d_name[0] != '.';
	if (d) closedir(d);
	return n;
}

/* how the program was compiled, and what it gives for -1 */
static const char *cached(const char *cache, const char *slope, const char *alpha, float *y)
{
	static char kind[32];
	char body[300];
	float out[2] = { 0 };
	pxl_program_info info;
	pxl_ctx *cx = context(cache, 1);
	put_leaky(slope);
	snprintf(body, sizeof body, "    y = leaky(constant([-1.0, 2.0]), alpha = %s)\n    host_store(d2h_stream(\"y\", y.spec), y)\n", alpha);
	pxl_program *p = build(cx, named, body, PXL_JIT_CC, 2, 0);
	if (!p || !run(p, "y", out, sizeof out)) return pxl_errmsg(cx);
	pxl_program_get_info(p, &info);
	snprintf(kind, sizeof kind, "%s", info.jit);
	*y = out[0];
	pxl_program_free(p);
	pxl_ctx_free(cx);
	return kind;
}

static void in_cache(void)
{
	char cache[300];
	float y = 0;
	snprintf(cache, sizeof cache, "%s/cache", dir);
	CHECK_STR("R450", cached(cache, "1", "0.25", &y), "cc");
	CHECK("R450", y == -0.25f && kept(cache) == 2);                     /* the program's code, and the file's */
	CHECK_STR("R450", cached(cache, "1", "0.25", &y), "cc (cached)");
	CHECK("R450", y == -0.25f && kept(cache) == 2);
	CHECK_STR("R450", cached(cache, "1", "0.5", &y), "cc");              /* another parameter */
	CHECK("R450", y == -0.5f && kept(cache) == 3);
	CHECK_STR("R450", cached(cache, "3", "0.25", &y), "cc");             /* other code under the same name */
	CHECK("R450", y == -0.75f && kept(cache) == 5);
}

/* --- without the compiler ------------------------------------------------------------------------------------------------- */
static int shell(const char *fmt)
{
	char cmd[900];
	snprintf(cmd, sizeof cmd, fmt, dir);
	return system(cmd);
}

static int twice(pxl_host_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	for (size_t i = 0; i < c->in[0].nelem; i++) y[i] = 2 * x[i];
	return 0;
}

static void shipping(void)
{
	char out[300], file[300];
	pxl_ctx *cx = context(NULL, 1);
	pxl_host_op o = PXL_HOST_OP_INIT;
	o.name = "twice";
	o.run = twice;
	put_leaky("1");
	put("twice.c", "#include <pxl.h>\nstatic int twice(pxl_host_call *c)\n{\n\tconst float *x = c->in[0].data;\n\tfloat *y = c->out[0].data;\n"
	    "\tfor (size_t i = 0; i < c->in[0].nelem; i++) y[i] = 2 * x[i];\n\treturn 0;\n}\n"
	    "const pxl_host_op pxl_native_ops[] = { { PXL_HOST_OP_HEAD, .name = \"twice\", .nin = 1, .nout = 1, .run = twice }, PXL_HOST_OP_END };\n");
	CHECK("", !pxl_register_op(cx, &o));
	pxl_program *p = build(cx, named, "    y = host_op(\"twice\", leaky(constant([-1.0, 2.0]), alpha = 0.5))\n    host_store(d2h_stream(\"y\", y.spec), y)\n", PXL_JIT_TCC, 2, 0);
	if (!p) return CHECK("", !"it builds");
	snprintf(out, sizeof out, "%s/out", dir);
	snprintf(file, sizeof file, "%s/twice.c", dir);
	const char *files[] = { file };
	CHECK("", pxl_ship(p, out) == PXL_EINVAL && strstr(pxl_errmsg(cx), "calls `twice`, an op of the host program"));
	CHECK("", !pxl_ship_files(p, out, files, 1));
	CHECK("R449", !shell("make -s -C %s/out CFLAGS='-Wall -Wextra -Werror -Wno-missing-field-initializers " SANFLAGS "'"));
	CHECK("R449", !shell("cd %s/out && ./example | grep -qx 'y: -1 4'"));
	pxl_program_free(p);
	/* what the host names is registered for every model of the context */
	pxl_ctx_free(cx);
	cx = context(NULL, 0);
	CHECK("R449", !pxl_native_file(cx, file) && !pxl_native_file(cx, file));
	p = build(cx, "", "    y = host_op(\"twice\", constant([-1.0, 2.0]))\n    host_store(d2h_stream(\"y\", y.spec), y)\n", PXL_JIT_TCC, 2, 0);
	float y[2] = { 0 };
	CHECK("R449", run(p, "y", y, sizeof y) && y[0] == -2 && y[1] == 4);
	CHECK("", p && !pxl_ship(p, out));
	CHECK("", pxl_native_file(cx, "nowhere.c") == PXL_EIO && pxl_native_file(NULL, file) == PXL_EINVAL && pxl_native_file(cx, NULL) == PXL_EINVAL);
	CHECK("", pxl_ship_files(p, out, NULL, 1) == PXL_EINVAL);
	pxl_ctx_free(cx);
	pxl_program_free(p);                                 /* in any order: the code stays as long as the program */
}

int main(void)
{
	if (!mkdtemp(dir)) return 1;
	unsetenv("PXL_CACHE_DIR");
	put_leaky("1");
	goldens();
	everywhere(PXL_JIT_TCC, 2);
	everywhere(PXL_JIT_TCC, 0);
	everywhere(PXL_JIT_CC, 2);
	contexts();
	refusing();
	wrong_files();
	in_cache();
	shipping();
	shell("rm -r %s");
	return check_done();
}
