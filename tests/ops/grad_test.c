/* grad_test.c — gradients from autodiff against central differences, in f64, for every op that has one.
 *
 * A case is an op on operands; `wrt` marks those whose gradient is asked for.  The op stands in a graph of
 * its own; the program calls it and then its gradient graph, with random weights dy as the incoming
 * gradient, so the number to differentiate is sum(dy * y).  Where a rule differs from calculus on purpose
 * (ties, bounds, corners) exact values are checked instead. */
#include "tests/ops/run.h"

#include "compiler/transforms/autodiff.h"

typedef struct Case {
	const char *op, *operands, *attrs;
	unsigned wrt;                                /* bit i: operand i; 0: operand 0 */
	int top;
	double lo, hi, tol;
} Case;

/* --- a program: y = op(x…), dx… = gradients ------------------------------------------------------------------- */

static Tensor *graph_of(Prog *p, const Case *c, Graph *g, Op **op)
{
	Tensor *in[PROG_STREAMS];
	Build b = ir_build(g), keep = p->t.b;
	p->t.b = b;
	int inplace, n = scan_operands(&p->t, c->operands, in);
	const OpDef *d = def_by_name(c->op, &inplace);
	AttrVal *v = scan_attrs(&p->t, d, c->attrs);
	*op = inplace ? ir_op_inplace(&p->t.b, d->id, in, n, v, 0) : ir_op(&p->t.b, d->id, in, n, v, 0);
	for (int i = 0; i < (*op)->out.n; i++) ir_output(&p->t.b, (*op)->out.at[i]);
	p->t.b = keep;
	return (*op)->out.at[0];
}

/* floating-point inputs of the graph that are asked for; inputs count operands that are there */
static int required_of(Graph *g, unsigned wrt, Tensor **out)
{
	int n = 0;
	for (int i = 0; i < g->inputs.n; i++)
		if ((wrt ? wrt : 1) >> i & 1) out[n++] = g->inputs.at[i];
	return n;
}

/* streams: operands, then one dy per result; results y…, then the gradients */
static int program(Prog *p, const Case *c, Tensor **req, int *nreq, int *ny)
{
	Build *b = &p->t.b;
	Op *op;
	Graph *g = ir_graph(p->t.ir, "fwd");
	graph_of(p, c, g, &op);
	if (p->t.ds.errors) return prog_fail(p, "forward");
	*nreq = required_of(g, c->wrt, req);
	*ny = g->outputs.n;
	Tensor *in[PROG_STREAMS];
	for (int i = 0; i < g->inputs.n; i++) in[i] = prog_load(p, g->inputs.at[i]->spec);
	Op *call = ir_call(b, OP_call, g, 0, in, g->inputs.n, 0);
	AutodiffOptions o = { .required = req, .nrequired = *nreq };
	GradInfo *gi = autodiff(b, g, &o);
	Map *m = gi ? gradinfo_inputs_dict(b, gi, call) : 0;
	if (!m) return prog_fail(p, "autodiff");
	Tensor *gin[64];
	for (int i = 0; i < gi->graph->inputs.n; i++) {
		gin[i] = map_get(m, gi->graph->inputs.at[i]);
		if (!gin[i]) gin[i] = prog_load(p, gi->graph->inputs.at[i]->spec);
	}
	Op *gcall = ir_call(b, OP_call, gi->graph, 0, gin, gi->graph->inputs.n, 0);
	for (int i = 0; i < *ny; i++) prog_store(p, call->out.at[i]);
	for (int i = 0; i < *nreq; i++) prog_store(p, gcall->out.at[i]);
	return 1;
}

/* --- central differences ----------------------------------------------------------------------------------------- */

static double weighted(Prog *p, int nx, int ny)
{
	double s = 0;
	prog_run(p);
	for (int i = 0; i < ny; i++)
		for (int k = 0; k < p->out[i].n; k++) s += p->in[nx + i].v[k] * p->out[i].v[k];
	return s;
}

static double difference(Prog *p, double *x, int nx, int ny)
{
	double keep = *x, h = 1e-5, a, b;
	*x = keep + h;
	a = weighted(p, nx, ny);
	*x = keep - h;
	b = weighted(p, nx, ny);
	*x = keep;
	return (a - b) / (2 * h);
}

static int operand_of(Prog *p, Tensor *const *req, int i)      /* position of a graph input is that of its stream */
{
	(void)p;
	return req[i]->input_index;
}

static int agree(const Case *c, Prog *p, Tensor *const *req, int nreq, int ny)
{
	int nx = p->nin - ny;
	static double grad[4][512];
	if (!prog_run(p)) return prog_fail(p, "running");
	for (int i = 0; i < nreq; i++) memcpy(grad[i], p->out[ny + i].v, (size_t)p->out[ny + i].n * sizeof(double));
	for (int i = 0; i < nreq; i++) {
		Array *x = &p->in[operand_of(p, req, i)];
		for (int k = 0; k < x->n; k++) {
			double want = difference(p, &x->v[k], nx, ny), got = grad[i][k];
			if (fabs(got - want) <= (c->tol ? c->tol : 2e-6) * (1 + fabs(want))) continue;
			printf("%s(%s; %s): gradient of operand %d at %d is %.12g, not %.12g\n", c->op, c->operands, c->attrs, req[i]->input_index, k, got, want);
			return 0;
		}
	}
	return 1;
}

static int run(const Case *c)
{
	Prog p;
	Tensor *req[PROG_STREAMS];
	int nreq, ny, inplace;
	const OpDef *d = def_by_name(c->op, &inplace);
	prog_open(&p);
	int ok = program(&p, c, req, &nreq, &ny) && prog_compile(&p, 2);
	prog_fill(&p, c->hi ? c->lo : d->sample.lo, c->hi ? c->hi : d->sample.hi, c->top ? c->top : 5, 3);
	ok = ok && agree(c, &p, req, nreq, ny);
	if (!ok) printf("%s(%s; %s) failed\n", c->op, c->operands, c->attrs);
	prog_close(&p);
	return ok;
}

#define UNARY(op) { op, "f64[3, 4]", "" }
#define REDUCE(op) { op, "f64[2, 3, 4]", "" }, { op, "f64[2, 3, 4]", "axis = [0, -1]" }, { op, "f64[2, 3, 4]", "axis = 1, keepdims = true" }, { op, "f64[5]", "axis = []" }
#define BINARY(op, w) { op, "f64[3, 4] f64[3, 4]", "", w }, { op, "f64[2, 1, 4] f64[3, 1]", "", w }, { op, "f64[] f64[4]", "", w }
#define LOSS(op) { op, "f64[5, 4] i32[5]", "", .top = 4 }, { op, "f64[5, 4] i32[5]", "reduction = sum, ignore_index = 1", .top = 4 }, \
	{ op, "f64[5, 4] i32[5]", "ignore_index = 2", .top = 4 }, { op, "f64[2, 3, 4] u32[2, 3]", "reduction = none", .top = 4 }

static const Case cases[] = {
	UNARY("abs"), UNARY("ceil"), UNARY("floor"), UNARY("sign"), UNARY("cos"), UNARY("sin"), UNARY("exp"), UNARY("log"), UNARY("log2"), UNARY("sqrt"), UNARY("tanh"), UNARY("negate"),
	UNARY("relu"), UNARY("gelu"), UNARY("geluerf"), UNARY("swish"), UNARY("identity"), UNARY("print_tensor"), UNARY("copy"), { "cast", "f64[4]", "data_type = f64" },
	{ "clip", "f64[3, 4]", "min = -1, max = 0.5" },
	BINARY("add", 3), BINARY("sub", 3), BINARY("mul", 3), BINARY("div", 3), { "fmod", "f64[3] f64[3]", "", 1 }, { "fmod", "f64[2, 3] f64[3]", "", 1 }, BINARY("pow", 3),
	{ "maximum", "f64[3, 1] f64[4] f64[3, 4]", "", 7 }, { "maximum", "f64[4]", "" }, { "sum_n", "f64[4] f64[4] f64[4]", "", 7 }, { "scaled_add", "f64[4] f64[4]", "a = 2, b = -0.5", 3 },
	{ "scaled_add", "f64[4] f64[4] f64[1] f64[]", "", 3 },
	BINARY("relu_grad", 3), BINARY("gelu_grad", 3), BINARY("geluerf_grad", 3), BINARY("swish_grad", 3), BINARY("tanh_grad", 3),
	{ "where", "bool[4, 1] f64[3] f64[]", "", 6, 2 },
	REDUCE("sum"), REDUCE("mean"), REDUCE("max"), REDUCE("min"), REDUCE("prod"), REDUCE("l1"), REDUCE("l2"), REDUCE("sumsquare"), REDUCE("logsum"), REDUCE("logsumexp"),
	{ "prod", "f64[7, 2]", "axis = 0" }, { "cumsum", "f64[3, 4, 2]", "dim = 1" }, { "cumsum", "f64[5]", "reverse = true" },
	{ "reshape", "f64[3, 4]", "shape = [2, -1]" }, { "reshape_", "f64[3, 4]", "shape = [12]" }, { "flatten", "f64[3, 2]", "" }, { "squeeze", "f64[1, 3, 1]", "" },
	{ "transpose", "f64[2, 3, 4]", "permutation = [1, 2, 0]" }, { "transpose_", "f64[2, 3]", "" }, { "concat", "f64[2, 3] f64[2, 1] f64[2, 2]", "axis = 1", 7 }, { "split", "f64[5, 2]", "splits = [2, 3]" },
	{ "broadcast", "f64[3, 1]", "shape = [2, 3, 4]" }, { "slice", "f64[5, 4]", "start = [1, none], stop = [4, -1]" }, { "slice", "f64[5, 4]", "step = [-1, -1]" }, { "slice_", "f64[5]", "start = 2" },
	{ "subsample", "f64[5, 4]", "strides = [2, 3]" }, { "pick", "f64[6, 4]", "start = [5, 0], step = [-2, 1], shape = [3, 4]" }, { "place", "f64[3, 2]", "start = [4, 1], step = [-2, 1], shape = [5, 4]" },
	{ "gather", "f64[5, 3] i32[2, 4]", "" }, { "gather", "f64[2, 5, 3] u32[7]", "axis = 1" }, { "gather", "f64[5] i32[9]", "zero_OOR = true", .top = 8 }, { "tied_gather", "f64[5, 3] i32[6]", "" },
	{ "scatter_add", "f64[6, 3] i32[6]", "shape = [5, 3]", .top = 7 }, { "onehot", "i32[6] - f64[2]", "num_classes = 4, axis = -1", 2 },
	{ "matmul", "f64[3, 5] f64[5, 4]", "", 3 }, { "matmul", "f64[5] f64[5, 4]", "", 3 }, { "matmul", "f64[3, 5] f64[5]", "", 3 }, { "matmul", "f64[5] f64[5]", "", 3 }, { "matmul", "f64[2, 3, 5] f64[5, 4]", "", 3 },
	{ "matmul", "f64[2, 1, 3, 2] f64[3, 2, 2]", "", 3 }, { "matmul", "f64[3, 2] f64[2, 2, 3]", "", 3 }, { "matmul", "f64[2, 3, 5] f64[5]", "", 3 },
	{ "softmax", "f64[3, 4]", "axis = -1" }, { "softmax", "f64[3, 4, 2]", "axis = 1" }, { "softmax_grad", "f64[3, 4] f64[3, 4]", "axis = 1", 3 },
	LOSS("nll_loss"), LOSS("cross_entropy"), { "nll_loss", "f64[4, 6] i32[4]", "log_prob = true" },
	{ "dropout", "f64[20] u32[2]", "p = 0.4" }, { "shaped_dropout", "f64[4, 5] u32[2]", "shape = [5], ratio = 0.4" },
};

/* --- where rules say more than calculus ------------------------------------------------------------------------------ */

/* gradient of operand 0 for incoming ones */
static void exact(const char *ids, const Case *c, const double *in, const double *want)
{
	Prog p;
	Tensor *req[PROG_STREAMS];
	int nreq, ny;
	prog_open(&p);
	int ok = program(&p, c, req, &nreq, &ny) && prog_compile(&p, 2);
	for (int i = 0; ok && i < p.nin; i++)
		for (int k = 0; k < p.in[i].n; k++) p.in[i].v[k] = i < p.nin - ny ? *in++ : 1;
	ok = ok && prog_run(&p);
	for (int i = 0; ok && i < nreq; i++)
		for (int k = 0; ok && k < p.out[ny + i].n; k++, want++) {
			double got = p.out[ny + i].v[k];
			if (fabs(got - *want) <= 1e-12 * fabs(*want) || got == *want || (got != got && *want != *want)) continue;
			printf("%s(%s; %s): gradient %d of operand %d is %.12g, not %.12g\n", c->op, c->operands, c->attrs, k, req[i]->input_index, got, *want);
			ok = 0;
		}
	CHECK(ids, ok);
	prog_close(&p);
}
#define N(...) (const double[]){ __VA_ARGS__ }
#define ON(...) &(const Case){ __VA_ARGS__ }

static void corners(void)
{
	exact("", ON("abs", "f64[3]", ""), N(0, -1, 2), N(0, -1, 1));
	exact("", ON("relu", "f64[3]", ""), N(0, NAN, 2), N(0, 0, 1));
	exact("", ON("sqrt", "f64[1]", ""), N(0), N(INFINITY));
	exact("", ON("clip", "f64[4]", "min = -1, max = 1"), N(-1, 1, 0.5, 3), N(0, 0, 1, 0));
	exact("", ON("max", "f64[4]", ""), N(1, 3, 3, 2), N(0, 1, 1, 0));
	exact("", ON("min", "f64[3]", ""), N(1, 3, 1), N(1, 0, 1));
	exact("", ON("maximum", "f64[2] f64[2]", "", 3), N(1, 2, 1, 3), N(1, 0, 1, 1));
	exact("", ON("prod", "f64[3]", ""), N(0, 2, 3), N(6, 0, 0));
	exact("", ON("prod", "f64[3]", ""), N(0, 0, 3), N(0, 0, 0));
	exact("", ON("l2", "f64[2]", ""), N(0, 0), N(0, 0));
	exact("", ON("l1", "f64[2]", ""), N(0, -4), N(0, -1));
	exact("", ON("logsumexp", "f64[2]", ""), N(-INFINITY, -INFINITY), N(0, 0));
	exact("", ON("pow", "f64[4] f64[4]", "", 3), N(0, 0, 3, -2, 0, 2, 2, 2), N(0, 0, 6, -4, 0, 0, 9 * log(3), NAN));
	exact("", ON("where", "bool[2] f64[2] f64[2]", "", 6), N(1, 0, INFINITY, NAN, NAN, INFINITY), N(1, 0, 0, 1));
	exact("", ON("gather", "f64[3] i32[4]", ""), N(1, 2, 3, 2, 0, 2, 2), N(1, 0, 3));
	exact("", ON("nll_loss", "f64[2, 2] i32[2]", "reduction = sum"), N(0.5, 0.5, 0, 1, 0, 0), N(-2, 0, -1e10, 0));
	exact("", ON("fmod", "f64[2] f64[2]", "", 1), N(5, -5, 3, 3), N(1, 1));
}

/* an op that refuses, or that ends the path, gives no gradient: with a message that names it */
static void refused(const char *op, const char *operands, const char *attrs)
{
	Prog p;
	Tensor *req[PROG_STREAMS];
	int nreq, ny;
	Op *made;
	Case c = { op, operands, attrs, .wrt = 1 };
	prog_open(&p);
	Graph *g = ir_graph(p.t.ir, "fwd");
	Build b = ir_build(g);
	graph_of(&p, &c, g, &made);
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
	refused("argmax", "f64[2]", "");
	refused("lamb_square", "f64[2]", "");
	refused("cross_entropy_with_grad", "f64[2, 3] i32[2]", "");
	refused("relu_", "f64[2]", "");
	refused("increment_mod", "f64[2]", "increment = 1, modulus = 3");
	refused("cast", "f64[2]", "data_type = i32");
}

static void covered(void)
{
	for (int id = 0; id < OP_COUNT; id++) {
		int found = !op_table[id]->grad, inplace;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) found |= def_by_name(cases[i].op, &inplace)->id == (OpCode)id;
		if (!found) printf("no case for %s\n", op_table[id]->name);
		CHECK("", found);
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) CHECK("", run(&cases[i]));
	corners();
	refusals();
	covered();
	return check_done();
}
