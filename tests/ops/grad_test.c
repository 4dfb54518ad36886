/* grad_test.c — gradients from autodiff against central differences (grad_run.h), for every op that has one;
 * those of windows are in window_grad.c. */
#include "tests/ops/grad_run.h"

#define UNARY(op) { op, "f64[3, 4]", "" }
#define REDUCE(op) { op, "f64[2, 3, 4]", "" }, { op, "f64[2, 3, 4]", "axis = [0, -1]" }, { op, "f64[2, 3, 4]", "axis = 1, keepdims = true" }, { op, "f64[5]", "axis = []" }
#define BINARY(op, w) { op, "f64[3, 4] f64[3, 4]", "", w }, { op, "f64[2, 1, 4] f64[3, 1]", "", w }, { op, "f64[] f64[4]", "", w }
#define LOSS(op) { op, "f64[5, 4] i32[5]", "", .top = 4 }, { op, "f64[5, 4] i32[5]", "reduction = sum, ignore_index = 1", .top = 4 }, \
	{ op, "f64[5, 4] i32[5]", "ignore_index = 2", .top = 4 }, { op, "f64[2, 3, 4] u32[2, 3]", "reduction = none", .top = 4 }

static const GradCase cases[] = {
	UNARY("abs"), UNARY("ceil"), UNARY("floor"), UNARY("sign"), UNARY("cos"), UNARY("sin"), UNARY("exp"), UNARY("log"), UNARY("log2"), UNARY("sqrt"), UNARY("tanh"), UNARY("asin"), UNARY("acos"), UNARY("atan"), UNARY("erf"), UNARY("recip"), UNARY("sigmoid"), UNARY("softplus"),
	{ "softplus", "f64[3, 4]", "beta = 3, threshold = 4" }, { "softplus", "f64[5]", "beta = -0.5" }, UNARY("negate"),
	UNARY("relu"), UNARY("gelu"), UNARY("geluerf"), UNARY("swish"), UNARY("identity"), UNARY("print_tensor"), UNARY("copy"), { "ipu_copy", "f64[3]", "destination = 1, source = 0" }, UNARY("io_tile_copy"), { "cast", "f64[4]", "data_type = f64" },
	{ "clip", "f64[3, 4]", "min = -1, max = 0.5" },
	BINARY("add", 3), BINARY("sub", 3), BINARY("mul", 3), BINARY("div", 3), { "fmod", "f64[3] f64[3]", "", 1 }, { "fmod", "f64[2, 3] f64[3]", "", 1 }, BINARY("pow", 3),
	{ "maximum", "f64[3, 1] f64[4] f64[3, 4]", "", 7 }, { "maximum", "f64[4]", "" }, { "minimum", "f64[3, 1] f64[4] f64[3, 4]", "", 7 }, { "sum_n", "f64[4] f64[4] f64[4]", "", 7 }, { "scaled_add", "f64[4] f64[4]", "a = 2, b = -0.5", 3 },
	{ "scaled_add", "f64[4] f64[4] f64[1] f64[]", "", 3 },
	BINARY("relu_grad", 3), BINARY("gelu_grad", 3), BINARY("geluerf_grad", 3), BINARY("swish_grad", 3), BINARY("tanh_grad", 3),
	{ "where", "bool[4, 1] f64[3] f64[]", "", 6, 2 },
	REDUCE("sum"), REDUCE("mean"), REDUCE("max"), REDUCE("min"), REDUCE("prod"), REDUCE("l1"), REDUCE("l2"), REDUCE("sumsquare"), REDUCE("logsum"), REDUCE("logsumexp"),
	{ "prod", "f64[7, 2]", "axis = 0" }, { "cumsum", "f64[3, 4, 2]", "dim = 1" }, { "cumsum", "f64[5]", "reverse = true" },
	{ "reshape", "f64[3, 4]", "shape = [2, -1]" }, { "reshape_", "f64[3, 4]", "shape = [12]" }, { "flatten", "f64[3, 2]", "" }, { "squeeze", "f64[1, 3, 1]", "" },
	{ "transpose", "f64[2, 3, 4]", "permutation = [1, 2, 0]" }, { "transpose_", "f64[2, 3]", "" }, { "concat", "f64[2, 3] f64[2, 1] f64[2, 2]", "axis = 1", 7 }, { "split", "f64[5, 2]", "splits = [2, 3]" },
	{ "expand", "f64[3, 1]", "shape = [2, -1, 4]" }, { "expand", "f64[3]", "shape = [3]" }, { "stack", "f64[2, 3] f64[2, 3] f64[2, 3]", "axis = 1", 7 }, { "stack", "f64[] f64[]", "", 3 },
	{ "pad", "f64[3, 4]", "padding = [1, -1, 2, 3], value = 5" }, { "pad", "f64[3, 4] f64[]", "padding = [1, 0, 0, 2]" }, { "pad", "f64[3, 4, 2]", "padding = [2, -1, 0, 1, 2, 1], mode = reflect" },
	{ "pad", "f64[3, 4]", "padding = [2, -1, -1, 3], mode = edge" }, { "pad", "f64[3, 4]", "padding = [2, -1, -1, 2], mode = wrap" }, { "slice", "f64[5, 4]", "start = [1, none], stop = [4, -1]" }, { "slice", "f64[5, 4]", "step = [-1, -1]" }, { "slice_", "f64[5]", "start = 2" },
	{ "subsample", "f64[5, 4]", "strides = [2, 3]" }, { "pick", "f64[6, 4]", "start = [5, 0], step = [-2, 1], shape = [3, 4]" }, { "place", "f64[3, 2]", "start = [4, 1], step = [-2, 1], shape = [5, 4]" },
	{ "gather", "f64[5, 3] i32[2, 4]", "" }, { "gather", "f64[2, 5, 3] u32[7]", "axis = 1" }, { "gather", "f64[5] i32[9]", "zero_OOR = true", .top = 8 }, { "tied_gather", "f64[5, 3] i32[6]", "" },
	{ "scatter_add", "f64[6, 3] i32[6]", "shape = [5, 3], zero_OOR = true", .top = 7 }, { "scatter_add", "f64[2, 6] i32[6]", "shape = [2, 4], axis = 1", .top = 4 }, { "onehot", "i32[6] - f64[2]", "num_classes = 4, axis = -1", 2 },
	{ "matmul", "f64[3, 5] f64[5, 4]", "", 3 }, { "matmul", "f64[5] f64[5, 4]", "", 3 }, { "matmul", "f64[3, 5] f64[5]", "", 3 }, { "matmul", "f64[5] f64[5]", "", 3 }, { "matmul", "f64[2, 3, 5] f64[5, 4]", "", 3 },
	{ "matmul", "f64[2, 1, 3, 2] f64[3, 2, 2]", "", 3 }, { "matmul", "f64[3, 2] f64[2, 2, 3]", "", 3 }, { "matmul", "f64[2, 3, 5] f64[5]", "", 3 },
	{ "softmax", "f64[3, 4]", "axis = -1" }, { "softmax", "f64[3, 4, 2]", "axis = 1" }, { "log_softmax", "f64[3, 4]", "" }, { "log_softmax", "f64[3, 4, 2]", "axis = 1" }, { "softmax_grad", "f64[3, 4] f64[3, 4]", "axis = 1", 3 },
	{ "attention", "f64[2, 3, 4] f64[2, 5, 4] f64[2, 5, 3]", "", 7 }, { "attention", "f64[8, 5, 3] f64[8, 5, 3] f64[8, 5, 3]", "causal = true, scale = 0.7", 7 },
	{ "attention", "f64[2, 2, 3, 4] f64[2, 2, 5, 4] f64[2, 2, 5, 3] f64[2, 1, 1, 5]", "", 15 }, { "attention", "f64[3, 3] f64[4, 3] f64[4, 3] f64[4]", "causal = true", 15 }, { "attention", "f64[3, 2] f64[3, 2] f64[3, 1] f64[3, 3]", "", 8 },
	LOSS("nll_loss"), LOSS("cross_entropy"), { "nll_loss", "f64[4, 6] i32[4]", "log_prob = true" },
	{ "all_reduce", "f64[3, 2] f64[3, 2] f64[3, 2]", "ipus = [0, 0, 0]", 7 }, { "all_reduce", "f64[4]", "ipus = [0]" },      /* with more replicas: tests/api/collective_test.c */
	UNARY("replicated_all_reduce"), { "replicated_all_gather", "f64[2, 3]", "axis = 1" }, { "replicated_all_gather", "f64[2, 3]", "output_shape = new_axis" },
	UNARY("replica_sharded_slice"), { "replicated_slice", "f64[2, 3]", "axis = 1" }, { "replicated_slice", "f64[1, 3]", "" },
	{ "dropout", "f64[20] u32[2]", "p = 0.4" }, { "shaped_dropout", "f64[4, 5] u32[2]", "shape = [5], ratio = 0.4" },
};

/* --- where rules say more than calculus ------------------------------------------------------------------------------ */

#define N(...) (const double[]){ __VA_ARGS__ }
#define ON(...) &(const GradCase){ __VA_ARGS__ }

static void corners(void)
{
	grad_exact("", ON("abs", "f64[3]", ""), N(0, -1, 2), N(0, -1, 1));
	grad_exact("", ON("relu", "f64[3]", ""), N(0, NAN, 2), N(0, 0, 1));
	grad_exact("", ON("sqrt", "f64[1]", ""), N(0), N(INFINITY));
	grad_exact("", ON("clip", "f64[4]", "min = -1, max = 1"), N(-1, 1, 0.5, 3), N(0, 0, 1, 0));
	grad_exact("", ON("max", "f64[4]", ""), N(1, 3, 3, 2), N(0, 1, 1, 0));
	grad_exact("", ON("min", "f64[3]", ""), N(1, 3, 1), N(1, 0, 1));
	grad_exact("", ON("maximum", "f64[2] f64[2]", "", 3), N(1, 2, 1, 3), N(1, 0, 1, 1));
	grad_exact("", ON("minimum", "f64[2] f64[2]", "", 3), N(1, 3, 1, 2), N(1, 0, 1, 1));
	grad_exact("", ON("asin", "f64[3]", ""), N(1, -1, 2), N(INFINITY, INFINITY, NAN));
	grad_exact("", ON("acos", "f64[2]", ""), N(1, -1), N(-INFINITY, -INFINITY));
	grad_exact("", ON("atan", "f64[2]", ""), N(INFINITY, -1e300), N(0, 0));
	grad_exact("", ON("erf", "f64[2]", ""), N(-INFINITY, 30), N(0, 0));
	grad_exact("", ON("recip", "f64[2]", ""), N(0, INFINITY), N(-INFINITY, -0.0));
	grad_exact("", ON("sigmoid", "f64[3]", ""), N(-INFINITY, INFINITY, 0), N(0, 0, 0.25));
	grad_exact("", ON("softplus", "f64[4]", ""), N(-INFINITY, INFINITY, 0, 1000), N(0, 1, 0.5, 1));
	grad_exact("", ON("softplus", "f64[3]", "beta = 2, threshold = 3"), N(1.5, 1.75, 0), N(1 / (1 + exp(-3)), 1, 0.5));
	grad_exact("", ON("prod", "f64[3]", ""), N(0, 2, 3), N(6, 0, 0));
	grad_exact("", ON("prod", "f64[3]", ""), N(0, 0, 3), N(0, 0, 0));
	grad_exact("", ON("l2", "f64[2]", ""), N(0, 0), N(0, 0));
	grad_exact("", ON("l1", "f64[2]", ""), N(0, -4), N(0, -1));
	grad_exact("", ON("logsumexp", "f64[2]", ""), N(-INFINITY, -INFINITY), N(0, 0));
	grad_exact("", ON("pow", "f64[4] f64[4]", "", 3), N(0, 0, 3, -2, 0, 2, 2, 2), N(0, 0, 6, -4, 0, 0, 9 * log(3), NAN));
	grad_exact("", ON("where", "bool[2] f64[2] f64[2]", "", 6), N(1, 0, INFINITY, NAN, NAN, INFINITY), N(1, 0, 0, 1));
	grad_exact("", ON("gather", "f64[3] i32[4]", ""), N(1, 2, 3, 2, 0, 2, 2), N(1, 0, 3));
	grad_exact("", ON("nll_loss", "f64[2, 2] i32[2]", "reduction = sum"), N(0.5, 0.5, 0, 1, 0, 0), N(-2, 0, -1e10, 0));
	grad_exact("", ON("fmod", "f64[2] f64[2]", "", 1), N(5, -5, 3, 3), N(1, 1));
}

/* an op that refuses, or that ends the path, gives no gradient: with a message that names it */
static void refused(const char *op, const char *operands, const char *attrs)
{
	Prog p;
	Tensor *req[PROG_STREAMS];
	int nreq, ny;
	Op *made;
	GradCase c = { op, operands, attrs, .wrt = 1 };
	prog_open(&p);
	Graph *g = ir_graph(p.t.ir, "fwd");
	Build b = ir_build(g);
	graph_of(&p, &c, PLAIN, g, &made);
	(void)b;
	nreq = required_of(g, 1, req);
	ny = p.t.ds.at.n;
	GradInfo *gi = autodiff(&p.t.b, g, &(AutodiffOptions){ .required = req, .nrequired = nreq });
	if (gi || ny || !p.t.ds.at.n) printf("%s is differentiated\n%s", op, bench_text(&p.t));
	CHECK("", !gi && !ny && p.t.ds.at.n);
	prog_close(&p);
}

static void refusals(void)
{
	refused("equal", "f64[2] f64[2]", "");
	refused("logical_not", "f64[2]", "");
	refused("detach", "f64[2]", "");
	refused("isnan", "f64[2]", "");
	refused("bitwise_and", "i32[2] i32[2]", "");
	refused("argmax", "f64[2]", "");
	refused("lamb_square", "f64[2]", "");
	refused("batch_norm_inference", "f64[2, 3, 1] f64[3] f64[3] f64[3] f64[3]", "");
	refused("histogram", "f64[2]", "levels = [0], absolute_of_input = false");
	refused("cross_entropy_with_grad", "f64[2, 3] i32[2]", "");
	refused("relu_", "f64[2]", "");
	refused("increment_mod", "f64[2]", "increment = 1, modulus = 3");
	refused("cast", "f64[2]", "data_type = i32");
	refused("pow2scale_then_cast", "f32[2] i32[]", "data_type = f8_143");      /* R104 */
}

static void covered(void)
{
	for (int id = 0; id < OP_COUNT; id++) {
		int found = !op_table[id]->grad || id == OP_kernel /* tests/exec/kernel.pxl */ || id == OP_host_op || own_test(id), inplace;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) found |= def_by_name(cases[i].op, &inplace)->id == (OpCode)id;
		if (!found) printf("no case for %s\n", op_table[id]->name);
		CHECK("A113", found);
	}
}

int main(void)
{
	grad_cases("A113", cases, sizeof cases / sizeof *cases);
	corners();
	refusals();
	covered();
	return check_done();
}
