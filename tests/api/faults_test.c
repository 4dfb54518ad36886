/* faults_test.c — what fails while running fails alike at every -O and under both compilers, whether or not something
 * reads the result.
 *
 * Each op that can fail has a row: operands, a call, and what the run reports.  The call stands in the program, in a
 * graph that is called, and in a graph of which only the gradient is used; each time nothing reads the result itself. */
#include "compiler/api/pxl.h"
#include "compiler/ops/op.h"
#include "tests/check.h"

typedef struct Row {
	const char *op, *operands, *names, *call, *says;
	int grad;                                    /* how many gradients a use has: 1, or 0 if none passes */
} Row;

#define F32(name, values) "    " name " = variable(" values ", f32)\n"
#define I32(name, values) "    " name " = variable(" values ", i32)\n"
#define F8(name, values)  "    " name " = variable(" values ", f8_143)\n"
#define THREE F32("x", "[1.0, 2.0, 3.0]")
#define SIX   F32("x", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]")
#define PROBS F32("x", "[[0.25, 0.75], [0.5, 0.5]]") I32("i", "[1, 2]")
#define LABEL "label 2 of row 1 is not one of the 2 classes"
#define SCALE "log2_scale is 32, not from -32 to 31"

static const Row rows[] = {
	{ "gather", THREE I32("i", "[0, 3]"), "x, i", "gather(x, i)", "index 3 is out of range for an axis of 3", 1 },
	{ "gather", SIX I32("i", "[0, -1]"), "x, i", "gather(x, i, axis = 1)", "index -1 is out of range for an axis of 3", 1 },
	{ "tied_gather", THREE I32("i", "[0, 3]"), "x, i", "tied_gather(x, i)", "index 3 is out of range for an axis of 3", 1 },
	{ "groupedgather", SIX I32("i", "[[0, 1], [2, 7]]"), "x, i", "groupedgather(x, i, axis = 1, group_size = 2)", "index 7 is out of range for an axis of 3", 1 },
	{ "scatter", THREE I32("i", "[0, 5]") F32("v", "[1.0, 2.0]"), "x, i, v", "scatter(x, i, v)", "index 5 is out of range for an axis of 3", 1 },
	{ "scatter_reduce", THREE I32("i", "[0, 5, 1]"), "x, i", "scatter_reduce(x, i, \"sum\", axis_size = 4)", "index 5 is out of range for an axis of 4", 1 },
	{ "scatter_reduce", THREE I32("i", "[0, 5, 1]"), "x, i", "scatter_reduce(x, i, \"max\", axis_size = 4)", "index 5 is out of range for an axis of 4", 1 },
	{ "scatter_reduce", THREE I32("i", "[0, -5, 1]"), "x, i", "scatter_reduce(x, i, \"none\", axis_size = 4)", "index -5 is out of range for an axis of 4", 1 },
	{ "grouped_scatter_reduce", SIX I32("i", "[[0, 1, 9], [2, 7, 0]]"), "x, i", "grouped_scatter_reduce(x, i, \"sum\", axis = 1, axis_size = 4, group_size = 2)",
	  "index 9 is out of range for an axis of 4", 1 },
	{ "dynamic_slice", SIX I32("i", "[2]"), "x, i", "dynamic_slice(x, i, [1], [2])", "a window of 2 from 2 on does not lie in an axis of 3", 1 },
	{ "dynamic_update", SIX I32("i", "[-1]") F32("u", "[[1.0, 2.0, 3.0]]"), "x, i, u", "dynamic_update(x, i, u, [0], [1])",
	  "a window of 1 from -1 on does not lie in an axis of 2", 1 },
	{ "nll_loss", PROBS, "x, i", "nll_loss(x, i)", LABEL, 1 },
	{ "cross_entropy", PROBS, "x, i", "cross_entropy(x, i)", LABEL, 1 },
	{ "nll_loss_with_softmax_grad", PROBS, "x, i", "nll_loss_with_softmax_grad(x, i)[0]", LABEL, 0 },
	{ "cross_entropy_with_grad", PROBS, "x, i", "cross_entropy_with_grad(x, i)[0]", LABEL, 0 },
	{ "div", I32("x", "[1, 2]") I32("i", "[1, 0]"), "x, i", "x / i", "integer division by zero", 0 },
	{ "fmod", I32("x", "[1, 2]") I32("i", "[1, 0]"), "x, i", "x % i", "integer division by zero", 0 },
	{ "pow", I32("x", "[1, 2]") I32("i", "[1, -1]"), "x, i", "x ** i", "integer power with a negative exponent", 0 },
	{ "equal", I32("x", "[1, 2]") I32("i", "[1, 0]"), "x, i", "(x / i == x).cast(f32)", "integer division by zero", 0 },
	{ "pow2scale_then_cast", THREE I32("i", "32"), "x, i", "pow2scale_then_cast(x, i, f8_143)", SCALE, 0 },
	{ "cast_then_pow2scale", F8("x", "[1.0, 2.0]") I32("i", "32"), "x, i", "cast_then_pow2scale(x, i, f32)", SCALE, 0 },
	{ "matmul_pow2scaled", F8("x", "[[1.0, 2.0]]") F8("w", "[[1.0], [2.0]]") I32("i", "32"), "x, w, i", "matmul_pow2scaled(x, w, i)", SCALE, 0 },
	{ "conv_pow2scaled", F8("x", "[[[1.0, 2.0]]]") F8("w", "[[[1.0]]]") I32("i", "32"), "x, w, i", "conv_pow2scaled(x, w, i)", SCALE, 0 },
	{ "conv_transpose_pow2scaled", F8("x", "[[[1.0, 2.0]]]") F8("w", "[[[1.0]]]") I32("i", "32"), "x, w, i", "conv_transpose_pow2scaled(x, w, i)", SCALE, 0 },
	{ "roi_align", F32("x", "[[[[1.0, 2.0], [3.0, 4.0]]]]") F32("r", "[[0.0, 0.0, 1.0, 1.0]]") I32("i", "[1]"), "x, r, i", "roi_align(x, r, i, [1, 1], 1.0, 1)",
	  "batch index 1 of region 0 is out of range for 1 images", 1 },
};
enum { NROWS = sizeof rows / sizeof *rows };

typedef enum Form { DEAD, CALLED, GRADIENT, NFORMS } Form;

/* what a run of the model says: the message of its fault, or "ran" */
static void outcome(const char *model, int level, pxl_jit jit, char *out, size_t room)
{
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	pxl_options o = PXL_OPTIONS_INIT;
	o.verify = 1;
	po.level = level;
	po.jit = jit;
	int ok = pxl_ctx_new(&o, &cx) == PXL_OK && pxl_compile_memory(cx, "m.pxl", model, strlen(model), &m) == PXL_OK
	      && pxl_program_new(m, &po, &p) == PXL_OK && pxl_session_new(p, NULL, &s) == PXL_OK;
	pxl_status st = ok ? pxl_run(s, 1) : PXL_EMODEL;
	snprintf(out, room, "%s", st == PXL_OK ? "ran" : st == PXL_ERUN ? pxl_session_errmsg(s) : "does not build");
	for (size_t i = 0; !ok && i < pxl_diag_count(cx); i++) printf("%s\n", pxl_diag_text(cx, i, PXL_DIAG_FULL));
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
}

static void write_model(const Row *r, Form form, char *model, size_t room)
{
	static const char tail[] = "    host_store(d2h_stream(\"z\", f32[]), variable(1.0, f32))\n}\n";
	if (form == DEAD) snprintf(model, room, "program p() {\n%s    y = %s\n%s", r->operands, r->call, tail);
	else if (form == CALLED)
		snprintf(model, room, "program p() {\n%s    fn f(%s) = %s\n    y = call(graph(f, %s), %s)\n%s", r->operands, r->names, r->call, r->names, r->names, tail);
	else
		snprintf(model, room, "program p() {\n%s    fn f(%s) = %s\n    g = graph(f, %s)\n    d = autodiff(g, grads_required = [g.inputs[0]])\n"
		         "    fwd = call_with_info(g, %s)\n    dx = call(d.graph, constant(ones(fwd.outputs[0].shape), f32), inputs_dict = d.inputs_dict(fwd))\n"
		         "    host_store(d2h_stream(\"dx\", dx.spec), dx)\n}\n", r->operands, r->names, r->call, r->names, r->names);
}

static void same_at_all_levels(const Row *r, Form form)
{
	static char model[4096], first[512], got[512];
	write_model(r, form, model, sizeof model);
	outcome(model, 0, PXL_JIT_TCC, first, sizeof first);
	size_t n = strlen(first), k = strlen(r->says);
	int said = n > k && !strcmp(first + n - k, r->says) && !strncmp(first, "m.pxl:", 6);
	if (!said) printf("%s\n%s: says \"%s\"\n", model, r->op, first);
	CHECK("", said);
	for (int level = 1; level <= 3; level++) {
		outcome(model, level < 3 ? level : 2, level < 3 ? PXL_JIT_TCC : PXL_JIT_CC, got, sizeof got);
		if (strcmp(got, first)) printf("%s\n%s: -O0 says \"%s\", -O%d \"%s\"\n", model, r->op, first, level, got);
		CHECK("", !strcmp(got, first));
	}
}

/* Every op of the language that says it can fail has a row, and every row with a gradient an op that has one. */
static void rows_are_complete(void)
{
	for (int id = 0; id < OP_COUNT; id++) {
		int found = 0;
		if (!op_table[id]->fails || op_is(&(Op){ .code = id }, INTERNAL)) continue;
		for (int i = 0; i < NROWS; i++) found |= !strcmp(rows[i].op, op_table[id]->name);
		if (!found) printf("`%s` can fail and has no row\n", op_table[id]->name);
		CHECK("", found);
	}
	for (int i = 0; i < NROWS; i++) {
		int inplace;
		const OpDef *d = op_find(rows[i].op, &inplace);
		int passes = d && d->grad && !(d->traits & (NO_GRAD | GRAD_ERROR | ELTWISE));
		if (passes != rows[i].grad) printf("`%s`: a gradient passes, or not\n", rows[i].op);
		CHECK("", passes == rows[i].grad);
	}
}

/* a dead op that cannot fail goes, one that can leaves its check alone, and a live one is itself its check */
static void what_is_left(const char *body, const char *op, int ops, int checks)
{
	char model[1024];
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	const char *ir = "";
	int n = 0, k = 0, found = 0;
	snprintf(model, sizeof model, "program p() {\n    x = variable([4, 2, 3], i32)\n    i = variable([0, 1], i32)\n%s"
	         "    host_store(d2h_stream(\"z\", f32[]), variable(1.0, f32))\n}\n", body);
	int ok = pxl_ctx_new(NULL, &cx) == PXL_OK && pxl_compile_memory(cx, "m.pxl", model, strlen(model), &m) == PXL_OK
	      && pxl_program_new(m, NULL, &p) == PXL_OK && pxl_emit(p, "ir", "dce", &ir) == PXL_OK;
	for (const char *at = ir; (at = strstr(at, op)); at++) n++;
	for (const char *at = ir; (at = strstr(at, "check_")); at++) k++;
	for (const char *at = ir; (at = strstr(at, "host_store")); at++) found++;
	if (n != ops || k != checks) printf("%s\n%s", model, ir);
	CHECK("", ok && found && n == ops && k == checks);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
}

static void what_cannot_fail_goes(void)
{
	what_is_left("    y = gather(x, i)\n", "gather.", 0, 1);
	what_is_left("    y = gather(x, i, zero_OOR = true)\n", "gather.", 0, 0);
	what_is_left("    y = gather(x, i)\n    host_store(d2h_stream(\"y\", y.spec), y)\n", "gather.", 1, 0);
	what_is_left("    y = gather(x, i)[0:1]\n", "gather.", 0, 1);
	what_is_left("    y = dynamic_slice(x, i[0:1], [0], [2])\n", "dynamic_slice.", 0, 1);
	what_is_left("    y = x / i[0:1]\n", "div.", 1, 0);
	what_is_left("    y = x / constant(2, i32)\n", "div.", 0, 0);
	what_is_left("    y = x / constant(0, i32)\n", "div.", 1, 0);
	what_is_left("    y = x ** constant([3, 3, 3], i32)\n", "pow.", 0, 0);
	what_is_left("    y = x ** constant([3, -1, 3], i32)\n", "pow.", 1, 0);
	what_is_left("    y = x.cast(f32) / i[0:1].cast(f32)\n", "div.", 0, 0);
}

int main(void)
{
	rows_are_complete();
	for (int i = 0; i < NROWS; i++)
		for (int form = 0; form < NFORMS; form++)
			if (form != GRADIENT || rows[i].grad) same_at_all_levels(&rows[i], (Form)form);
	what_cannot_fail_goes();
	return check_done();
}
