/* norm_test.c — layer_norm, group_norm and batch_norm_inference: values against plain loops in double precision, gradients of the
 * first and second order against central differences, what is refused. */
#include "tests/ops/case_run.h"

static int named(const Op *op, const char *name) { return !strcmp(op_def(op)->name, name); }

/* --- the reference: element k of x is in a group, and has a channel ------------------------------------------------ */

typedef struct Cut { int n, c, inner, groups, m; } Cut;

static Cut cut_of(const Prog *p, const Op *op)
{
	const Array *x = &p->in[0];
	Cut c = { (int)x->shape.dim[0], (int)x->shape.dim[1], 1, op_param(op_def(op), "num_groups") < 0 ? 1 : (int)op_attr(op, "num_groups")->i, 0 };
	for (int i = 2; i < x->shape.rank; i++) c.inner *= (int)x->shape.dim[i];
	c.m = c.c / c.groups * c.inner;
	return c;
}
static int channel(Cut c, int k) { return k / c.inner % c.c; }

static void stats(Cut c, const double *x, double eps, double *h, double *inv)
{
	for (int g = 0; g < c.n * c.groups; g++) {
		double mean = 0, var = 0;
		for (int k = g * c.m; k < (g + 1) * c.m; k++) mean += x[k] / c.m;
		for (int k = g * c.m; k < (g + 1) * c.m; k++) var += (x[k] - mean) * (x[k] - mean) / c.m;
		inv[g] = 1 / sqrt(var + eps);
		for (int k = g * c.m; k < (g + 1) * c.m; k++) h[k] = (x[k] - mean) * inv[g];
	}
}

static void r_forward(const Prog *p, Cut c, const double *h, double *const *y)
{
	for (int k = 0; k < p->in[0].n; k++) y[0][k] = h[k] * p->in[1].v[channel(c, k)] + p->in[2].v[channel(c, k)];
}

static void r_backward(const Prog *p, Cut c, const double *h, const double *inv, double *const *y)
{
	const double *w = p->in[1].v, *g = p->in[2].v;
	int rows = p->out[1].shape.rank == 1 ? c.n : c.m * c.groups > 32768 ? 1 : 64;         /* of a part: see the cases */
	for (int i = 1; i < 3; i++) memset(y[i], 0, sizeof(double) * (size_t)p->out[i].n);
	for (int j = 0; j < c.n * c.groups; j++) {
		double mp = 0, mph = 0;
		for (int k = j * c.m; k < (j + 1) * c.m; k++) mp += g[k] * w[channel(c, k)] / c.m, mph += g[k] * w[channel(c, k)] * h[k] / c.m;
		for (int k = j * c.m; k < (j + 1) * c.m; k++) {
			int at = j / c.groups / rows * c.c + channel(c, k);
			y[0][k] = inv[j] * (g[k] * w[channel(c, k)] - mp - h[k] * mph);
			y[1][at] += g[k] * h[k];
			y[2][at] += g[k];
		}
	}
}

static void r_batch(const Prog *p, const Op *op, Cut c, double *const *y)
{
	for (int k = 0; k < p->in[0].n; k++) {
		int i = channel(c, k);
		y[0][k] = (p->in[0].v[k] - p->in[3].v[i]) / sqrt(p->in[4].v[i] + op_attr(op, "epsilon")->f) * p->in[1].v[i] + p->in[2].v[i];
	}
}

static void expect(Prog *p, const Op *op, double *const *y)
{
	Cut c = cut_of(p, op);
	double *h = NEWN(&p->t.mem, double, p->in[0].n + 1), *inv = NEWN(&p->t.mem, double, c.n * c.groups + 1);
	if (named(op, "batch_norm_inference")) {
		r_batch(p, op, c, y);
		return;
	}
	stats(c, p->in[0].v, op_attr(op, "eps")->f, h, inv);
	if (strstr(op_def(op)->name, "_grad") || strstr(op_def(op)->name, "_parts")) r_backward(p, c, h, inv, y);
	else r_forward(p, c, h, y);
}

/* --- cases: all dtypes, ranks 2 to 8, blocks that end within a channel and with it, nothing at all ------------------------ */

#define GROUP(t, shape, c, attrs, ...) { "group_norm", t shape " " t c " " t c, attrs, t shape, 0, __VA_ARGS__, 0.25, 2.5 }, \
	{ "group_norm_grad", t shape " " t c " " t shape, attrs, t shape " " t c " " t c, 0, __VA_ARGS__, 0.25, 2.5 }
#define EACH_TYPE(shape, c, attrs) GROUP("f32", shape, c, attrs, 1e-5), GROUP("f64", shape, c, attrs, 1e-11), GROUP("f16", shape, c, attrs, 0), GROUP("bf16", shape, c, attrs, 0)

static const OpCase cases[] = {
	EACH_TYPE("[5, 24]", "[24]", "num_groups = 3"), EACH_TYPE("[70, 8, 3]", "[8]", "num_groups = 2"), EACH_TYPE("[2, 4, 5, 67]", "[4]", "num_groups = 4, eps = 0.1"),
	EACH_TYPE("[3, 2600]", "[2600]", "num_groups = 2"), EACH_TYPE("[2, 2, 1500]", "[2]", "num_groups = 1"), EACH_TYPE("[2, 6, 1, 3, 1, 2, 1, 2]", "[6]", "num_groups = 3"),
	EACH_TYPE("[1, 1]", "[1]", "num_groups = 1"), GROUP("f32", "[3, 4, 2, 2, 3]", "[4]", "num_groups = 2", 1e-5), GROUP("f32", "[0, 4]", "[4]", "num_groups = 2", 1e-5),
	GROUP("f32", "[3, 4, 0]", "[4]", "num_groups = 2", 1e-5), GROUP("f64", "[3, 0]", "[0]", "num_groups = 2", 1e-11),
	{ "layer_norm", "f32[4, 1024] f32[1024] f32[1024]", "", "f32[4, 1024]", 0, 1e-5, 0.25, 2.5 }, { "layer_norm", "f16[3, 5, 7] f16[5] f16[5]", "eps = 0.001", "f16[3, 5, 7]", 0, 0, 0.25, 2.5 },
	{ "layer_norm", "f64[3, 5, 2, 2] f64[5] f64[5]", "", "f64[3, 5, 2, 2]", 0, 1e-11, 0.25, 2.5 }, { "layer_norm", "bf16[3, 130] bf16[130] bf16[130]", "", "bf16[3, 130]", 0, 0, 0.25, 2.5 },
	{ "group_norm_parts", "f32[150, 40] f32[40] f32[150, 40]", "num_groups = 2", "f32[150, 40] f32[3, 40] f32[3, 40]", 0, 1e-5, 0.25, 2.5 },
	{ "group_norm_parts", "f16[3, 2, 20000] f16[2] f16[3, 2, 20000]", "num_groups = 1", "f16[3, 2, 20000] f32[3, 2] f32[3, 2]", 0, 2e-3, 0.25, 2.5 },
	{ "batch_norm_inference", "f32[3, 4, 5] f32[4] f32[4] f32[4] f32[4]", "", "f32[3, 4, 5]", 0, 1e-5, 0.25, 2.5 }, { "batch_norm_inference", "f64[2, 3, 2, 2] f64[3] f64[3] f64[3] f64[3]", "epsilon = 0.5, momentum = 0.1", "f64[2, 3, 2, 2]", 0, 1e-11, 0.25, 2.5 },
	{ "batch_norm_inference", "f16[3, 4, 5] f16[4] f16[4] f16[4] f16[4]", "", "f16[3, 4, 5]", 0, 0, 0.25, 2.5 }, { "batch_norm_inference", "bf16[2, 4, 1, 2, 1, 2, 1, 2] bf16[4] bf16[4] bf16[4] bf16[4]", "", "bf16[2, 4, 1, 2, 1, 2, 1, 2]", 0, 0, 0.25, 2.5 },
	{ "batch_norm_inference", "f32[0, 4, 5] f32[4] f32[4] f32[4] f32[4]", "", "f32[0, 4, 5]", 0, 1e-5, 0.25, 2.5 },
	/* refused */
	{ "group_norm", "f32[3] f32[3] f32[3]", "num_groups = 1", "E0313" }, { "layer_norm", "f32[] f32[1] f32[1]", "", "E0313" }, { "group_norm", "i32[3, 4] f32[4] f32[4]", "num_groups = 1", "E0304" },
	{ "group_norm", "f32[3, 4] f32[4] f32[4]", "num_groups = 0", "E0310" }, { "group_norm", "f32[3, 4] f32[4] f32[4]", "num_groups = -2", "E0310" }, { "group_norm", "f32[3, 4] f32[4] f32[4]", "num_groups = 3", "E0310" },
	{ "layer_norm", "f32[3, 4] f32[3] f32[4]", "", "E0311" }, { "layer_norm", "f32[3, 4] f32[4] f32[1, 4]", "", "E0311" }, { "layer_norm", "f16[3, 4] f32[4] f16[4]", "", "E0303" },
	{ "batch_norm_inference", "f32[3, 4] f32[4] f32[4] f32[4] f32[4]", "", "E0313" }, { "batch_norm_inference", "f32[3, 4, 1] f32[4] f32[4] f32[4] f32[3]", "", "E0311" },
	{ "batch_norm_inference", "f32[3, 4, 1] f32[4] f16[4] f32[4] f32[4]", "", "E0303" }, { "batch_norm_inference", "u8[3, 4, 1] u8[4] u8[4] u8[4] u8[4]", "", "E0304" },
};

/* --- gradients: of a gradient op they are those of the second order -------------------------------------------------------- */

static const GradCase grads[] = {
	{ "layer_norm", "f64[3, 5] f64[5] f64[5]", "", 7 }, { "layer_norm", "f64[2, 3, 4] f64[3] f64[3]", "eps = 0.1", 7 }, { "group_norm", "f64[2, 6] f64[6] f64[6]", "num_groups = 2", 7 },
	{ "group_norm", "f64[2, 4, 2, 3] f64[4] f64[4]", "num_groups = 2", 7 }, { "group_norm", "f64[2, 4, 1, 3, 2] f64[4] f64[4]", "num_groups = 4, eps = 0.01", 7 },
	{ "group_norm", "f64[3, 4] f64[4] f64[4]", "num_groups = 1", 1 }, { "group_norm", "f64[3, 4] f64[4] f64[4]", "num_groups = 1", 6 },
	{ "group_norm_grad", "f64[2, 6] f64[6] f64[2, 6]", "num_groups = 2", 7 }, { "group_norm_grad", "f64[2, 4, 3] f64[4] f64[2, 4, 3]", "num_groups = 2, eps = 0.1", 7 },
};

/* a tensor that another view shows: no layout but its own reaches the kernel */
static void strided(void)
{
	Prog p;
	prog_open(&p);
	Build *b = &p.t.b;
	Tensor *x = prog_load(&p, (Spec){ .dtype = DT_F32, .shape = { 2, { 4, 3 } } });
	Tensor *in[] = { b_transpose(b, x, NULL), b_broadcast(b, b_scalar(b, DT_F32, 2), (Shape){ 1, { 4 } }), b_broadcast(b, b_scalar(b, DT_F32, 1), (Shape){ 1, { 4 } }) };
	prog_store(&p, ir_op(b, OP_layer_norm, in, 3, b_attrs(b, OP_layer_norm, NULL), 0)->out.at[0]);
	int ok = prog_compile(&p, 2);
	for (int k = 0; k < 12; k++) p.in[0].v[k] = k % 3 + (k / 3 < 2 ? 10 : 12);          /* each column: a, a, a + 2, a + 2 */
	ok = ok && prog_run(&p);
	for (int k = 0; ok && k < 12; k++) ok = fabs(p.out[0].v[k] - (k % 4 < 2 ? -1 : 3)) < 1e-4;
	CHECK("", ok);
	prog_close(&p);
}

/* a mean far from 0 costs no more than the rounding of x; one value that is no number spoils its group alone */
static void corners(void)
{
	Prog p;
	prog_open(&p);
	prog_op(&p, "layer_norm", "f32[2, 2000] f32[2000] f32[2000]", "eps = 0");
	int ok = prog_compile(&p, 2);
	for (int k = 0; k < 4000; k++) p.in[0].v[k] = 1000000 + (k % 2 ? 1 : -1);
	for (int k = 0; k < 2000; k++) p.in[1].v[k] = 1;
	ok = ok && prog_run(&p);
	for (int k = 0; ok && k < 4000; k++) ok = fabs(p.out[0].v[k] - (k % 2 ? 1 : -1)) < 1e-3;
	CHECK("", ok);
	p.in[0].v[7] = INFINITY;
	ok = ok && prog_run(&p);
	CHECK("", ok && p.out[0].v[0] != p.out[0].v[0] && p.out[0].v[2000] == p.out[0].v[2000]);
	prog_close(&p);
}

static void no_gradient_of_batch_norm(void)
{
	Prog p;
	Tensor *req[PROG_STREAMS], *in[5];
	prog_open(&p);
	Graph *g = ir_graph(p.t.ir, "fwd");
	Build b = ir_build(g);
	for (int i = 0; i < 5; i++) in[i] = ir_input(&b, (Spec){ .dtype = DT_F64, .shape = { i ? 1 : 3, { i ? 3 : 2, 3, 2 } } }, "x", 0);
	ir_output(&b, ir_op(&b, OP_batch_norm_inference, in, 5, b_attrs(&b, OP_batch_norm_inference, NULL), 0)->out.at[0]);
	req[0] = in[0];
	GradInfo *gi = autodiff(&p.t.b, g, &(AutodiffOptions){ .required = req, .nrequired = 1 });
	CHECK("", !gi && p.t.ds.at.n == 1);
	prog_close(&p);
}

int main(void)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int level = 0; level <= 2; level += 2) CHECK("", case_run(&cases[i], level, expect));
	grad_cases("A113", grads, COUNT_OF(grads));
	strided();
	corners();
	no_gradient_of_batch_norm();
	CHECK("A113", family_covered("norm", cases, COUNT_OF(cases), grads, COUNT_OF(grads)));
	return check_done();
}
