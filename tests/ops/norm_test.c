/* norm_test.c — norms and order statistics against plain loops in double precision, and their gradients. */
#include "tests/ops/grad_run.h"

typedef struct Case { const char *op, *operands, *attrs, *want; int top; double tol; } Case;

static double y[3][1 << 16];

static int number(const Op *op, const char *name) { return op_param(op_def(op), name) < 0 ? 1 : (int)op_attr(op, name)->i; }
static double factor(const Op *op, const char *name) { return op_attr(op, name)->f; }

/* --- norms -------------------------------------------------------------------------------------------------------- */

typedef struct Group { int m, inner, per; double mean, inv; } Group;

static Group group_at(const Array *x, int i, int groups, double eps)
{
	Group g = { .inner = 1, .per = (int)x->shape.dim[1] / groups };
	double s = 0, q = 0;
	for (int k = 2; k < x->shape.rank; k++) g.inner *= (int)x->shape.dim[k];
	g.m = g.per * g.inner;
	for (int k = 0; k < g.m; k++) s += x->v[i * g.m + k];
	g.mean = s / g.m;
	for (int k = 0; k < g.m; k++) q += (x->v[i * g.m + k] - g.mean) * (x->v[i * g.m + k] - g.mean);
	g.inv = 1 / sqrt(q / g.m + eps);
	return g;
}

static void r_norm(Prog *p, const Op *op)
{
	const Array *x = &p->in[0];
	int n = number(op, "num_groups"), back = op->out.n == 2;
	for (int i = 0; i < x->shape.dim[0] * n; i++) {
		Group g = group_at(x, i, n, factor(op, "eps"));
		double sp = 0, sph = 0;
		for (int k = 0; k < g.m; k++) {
			int at = i * g.m + k, c = i % n * g.per + k / g.inner;
			double h = (x->v[at] - g.mean) * g.inv, w = p->in[1].v[c];
			if (!back) y[0][at] = h * w + p->in[2].v[c];
			else y[1][at] = h, sp += p->in[2].v[at] * w, sph += p->in[2].v[at] * w * h;
		}
		for (int k = 0; back && k < g.m; k++) {
			int at = i * g.m + k, c = i % n * g.per + k / g.inner;
			y[0][at] = g.inv * (p->in[2].v[at] * p->in[1].v[c] - sp / g.m - y[1][at] * sph / g.m);
		}
	}
}

static void r_batch(Prog *p, const Op *op)
{
	Group g = group_at(&p->in[0], 0, 1, 0);
	for (int k = 0; k < p->in[0].n; k++) {
		int c = k / g.inner % (int)p->in[0].shape.dim[1];
		y[0][k] = (p->in[0].v[k] - p->in[3].v[c]) / sqrt(p->in[4].v[c] + factor(op, "epsilon")) * p->in[1].v[c] + p->in[2].v[c];
	}
}

/* --- order -------------------------------------------------------------------------------------------------------- */

static double rank_of(double x) { return x != x ? INFINITY : x; }
static int before(const double *v, int a, int b, int largest)
{
	double p = rank_of(v[a]), q = rank_of(v[b]);
	int nan = (v[a] != v[a]) - (v[b] != v[b]);
	if (nan) return largest ? nan > 0 : nan < 0;
	return p != q ? (largest ? p > q : p < q) : a < b;
}

/* positions of v in order; insertion is enough here */
static void sorted(const double *v, int n, int largest, int *at)
{
	for (int i = 0; i < n; i++) {
		int j = i;
		for (; j > 0 && before(v, i, at[j - 1], largest); j--) at[j] = at[j - 1];
		at[j] = i;
	}
}

static void r_topk(Prog *p, const Op *op)
{
	const Array *x = &p->in[0];
	int axis = number(op, "axis"), k = number(op, "k"), n = (int)x->shape.dim[axis], inner = 1, at[4096];
	double line[4096];
	for (int i = axis + 1; i < x->shape.rank; i++) inner *= (int)x->shape.dim[i];
	for (int r = 0; r < x->n / (n ? n : 1); r++) {
		int o = r / inner, i = r % inner;
		for (int j = 0; j < n; j++) line[j] = x->v[(o * n + j) * inner + i];
		sorted(line, n, number(op, "largest"), at);
		for (int j = 0; j < k; j++) y[0][(o * k + j) * inner + i] = line[at[j]], y[1][(o * k + j) * inner + i] = at[j];
	}
}

/* element k of x belongs to element which(k) of the result; blocks keep the order of x */
static int result_of(const Array *x, unsigned mask, int k)
{
	int at = 0, step = 1;
	for (int i = x->shape.rank - 1; i >= 0; i--) {
		int c = (int)(k % x->shape.dim[i]);
		k = (int)(k / x->shape.dim[i]);
		if (mask >> i & 1) continue;
		at += c * step;
		step *= (int)x->shape.dim[i];
	}
	return at;
}

static void r_median(Prog *p, const Op *op)
{
	const Array *x = &p->in[0];
	unsigned mask = op_param(op_def(op), "axis") < 0 ? 1u << (x->shape.rank - 1) : op_axes(op);
	double block[4096];
	int at[4096];
	for (int r = 0; r < p->out[0].n; r++) {
		int n = 0;
		for (int k = 0; k < x->n; k++)
			if (result_of(x, mask, k) == r) block[n++] = x->v[k];
		sorted(block, n, 0, at);
		double v = y[0][r] = block[at[(n - 1) / 2]];
		for (y[1][r] = 0; block[(int)y[1][r]] != v && v == v; y[1][r]++) { }
	}
}

static void r_histogram(Prog *p, const Op *op)
{
	const AttrVal *l = op_attr(op, "levels");
	for (int i = 0; i <= l->floats.n; i++) y[0][i] = 0;
	for (int k = 0; k < p->in[0].n; k++) {
		double v = p->in[0].v[k];
		int bin = 0;
		if (number(op, "absolute_of_input")) v = fabs(v);
		while (bin < l->floats.n && v >= l->floats.at[bin]) bin++;
		if (v == v) y[0][bin]++;
	}
}

/* --- values ------------------------------------------------------------------------------------------------------- */

#define NORMS(t, tol) \
	{ "layer_norm", #t "[4, 6] " #t "[6] " #t "[6]", "", #t "[4, 6]", 0, tol }, { "layer_norm", #t "[2, 700] " #t "[700] " #t "[700]", "eps = 0.1", #t "[2, 700]", 0, tol }, \
	{ "group_norm", #t "[2, 6, 5] " #t "[6] " #t "[6]", "num_groups = 3", #t "[2, 6, 5]", 0, tol }, \
	{ "group_norm", #t "[2, 4, 3, 200] " #t "[4] " #t "[4]", "num_groups = 2, eps = 1e-3", #t "[2, 4, 3, 200]", 0, tol }, \
	{ "group_norm_grad", #t "[2, 4, 9] " #t "[4] " #t "[2, 4, 9]", "num_groups = 2", #t "[2, 4, 9] " #t "[2, 4, 9]", 0, 4 * tol }, \
	{ "batch_norm_inference", #t "[2, 3, 5] " #t "[3] " #t "[3] " #t "[3] " #t "[3]", "epsilon = 1e-3", #t "[2, 3, 5]", 0, tol }
#define ORDER(t, top) \
	{ "topk", #t "[4, 9]", "k = 3, axis = 1, largest = true, sorted = true", #t "[4, 3] i32[4, 3]", top }, { "topk", #t "[5, 3, 2]", "k = 5, axis = -3, largest = false, sorted = true", #t "[5, 3, 2] i32[5, 3, 2]", top }, \
	{ "topk", #t "[2, 1500]", "k = 40, axis = -1, largest = true, sorted = false", #t "[2, 40] i32[2, 40]", top }, \
	{ "median", #t "[3, 8]", "", #t "[]", top }, { "median", #t "[3, 8, 5]", "axis = [0, -1]", #t "[8]", top }, { "median", #t "[2, 1201]", "axis = 1, keepdims = true", #t "[2, 1]", top }

static const Case cases[] = {
	NORMS(f32, 2e-5), NORMS(f64, 1e-12), NORMS(f16, 4e-3), NORMS(bf16, 3e-2),
	{ "layer_norm", "f32[3, 0] f32[0] f32[0]", "", "f32[3, 0]" }, { "layer_norm", "f32[0, 3] f32[3] f32[3]", "", "f32[0, 3]" },
	{ "layer_norm", "f32[4] f32[4] f32[4]", "", "E0311" }, { "layer_norm", "f32[4, 6] f32[5] f32[6]", "", "E0311" }, { "layer_norm", "f32[4, 6] f32[6] f32[1, 6]", "", "E0311" },
	{ "layer_norm", "f32[4, 6] f16[6] f32[6]", "", "E0303" }, { "layer_norm", "i32[4, 6] i32[6] i32[6]", "", "E0304" },
	{ "group_norm", "f32[4, 6] f32[6] f32[6]", "num_groups = 4", "E0310" }, { "group_norm", "f32[4, 6] f32[6] f32[6]", "num_groups = 0", "E0310" },
	{ "batch_norm_inference", "f32[4, 6] f32[6] f32[6] f32[6] f32[6]", "", "E0311" }, { "batch_norm_inference", "f32[4, 6, 1] f32[6] f32[6] f32[5] f32[6]", "", "E0311" },
	ORDER(f32, 0), ORDER(f64, 0), ORDER(f16, 0), ORDER(bf16, 0), ORDER(i8, 100), ORDER(i16, 300), ORDER(i32, 9), ORDER(i64, 5000), ORDER(u8, 200), ORDER(u16, 4), ORDER(u32, 9), ORDER(u64, 99),
	{ "topk", "f32[4]", "k = 0, axis = 0, largest = true, sorted = true", "f32[0] i32[0]" }, { "topk", "f32[0, 3]", "k = 2, axis = 1, largest = true, sorted = true", "f32[0, 2] i32[0, 2]" },
	{ "topk", "f32[4]", "k = 5, axis = 0, largest = true, sorted = true", "E0310" }, { "topk", "f32[4]", "k = -1, axis = 0, largest = true, sorted = true", "E0310" },
	{ "topk", "f32[4]", "k = 1, axis = 1, largest = true, sorted = true", "E0305" }, { "topk", "f32[]", "k = 1, axis = 0, largest = true, sorted = true", "E0305" },
	{ "topk", "bool[4]", "k = 1, axis = 0, largest = true, sorted = true", "E0304" },
	{ "median", "f32[]", "", "f32[]" }, { "median", "f32[3]", "axis = []", "f32[3]" }, { "median", "f32[3, 0]", "axis = 1", "E0311" }, { "median", "f32[0, 3]", "axis = 1", "f32[0]" },
	{ "median", "f32[3]", "axis = [0, -1]", "E0306" }, { "median_at", "f32[3, 4]", "", "f32[3, 1] i32[3, 1]" },
	{ "histogram", "f32[4, 300]", "levels = [-1, 0, 0.5], absolute_of_input = false", "u32[4]" }, { "histogram", "f16[700]", "levels = [0.1, 1], absolute_of_input = true", "u32[3]" },
	{ "histogram", "f64[50]", "levels = [0], absolute_of_input = false", "u32[2]" }, { "histogram", "bf16[]", "levels = [0], absolute_of_input = false", "u32[2]" },
	{ "histogram", "f32[0]", "levels = [0, 1], absolute_of_input = false", "u32[3]" }, { "histogram", "f32[3]", "levels = [], absolute_of_input = false", "E0310" },
	{ "histogram", "f32[3]", "levels = [1, 1], absolute_of_input = false", "E0310" }, { "histogram", "i32[3]", "levels = [1], absolute_of_input = false", "E0304" },
};

static int compare(const Case *c, Prog *p, const Op *op)
{
	const char *f = op_def(op)->name;
	(strcmp(f, "topk") ? strncmp(f, "median", 6) ? strcmp(f, "histogram") ? strcmp(f, "batch_norm_inference") ? r_norm : r_batch : r_histogram : r_median : r_topk)(p, op);
	for (int i = 0; i < p->nout; i++)
		for (int k = 0; k < p->out[i].n; k++) {
			double got = p->out[i].v[k], want = y[i][k];
			if (fabs(got - want) <= c->tol * (1 + fabs(want))) continue;
			printf("%s(%s; %s): result %d at %d is %.9g, not %.9g\n", c->op, c->operands, c->attrs, i, k, got, want);
			return 0;
		}
	return 1;
}

static int run(const Case *c, int level)
{
	Prog p;
	prog_open(&p);
	Op *op = prog_op(&p, c->op, c->operands, c->attrs);
	int n = p.t.ds.at.n;
	const char *spec = c->want[0] == 'E' && n ? diag_table[p.t.ds.at.at[n - 1]->code].code : bench_specs(&p.t, op);
	int ok = !strcmp(spec, c->want) || (printf("%s(%s; %s): got %s, want %s\n%s", c->op, c->operands, c->attrs, spec, c->want, bench_text(&p.t)), 0);
	if (ok && c->want[0] != 'E') {
		const OpDef *d = op_def(op);
		ok = prog_compile(&p, level);
		if (ok) prog_fill(&p, d->sample.lo, d->sample.hi, c->top ? c->top : 5, 11);
		if (ok) prog_round(&p);
		ok = ok && prog_run(&p) && compare(c, &p, op);
	}
	if (!ok) printf("%s(%s; %s) at -O%d failed %s\n", c->op, c->operands, c->attrs, level, p.err.text);
	prog_close(&p);
	return ok;
}

/* --- gradients ------------------------------------------------------------------------------------------------------ */

static const GradCase grads[] = {
	{ "layer_norm", "f64[3, 5] f64[5] f64[5]", "", 7 }, { "group_norm", "f64[2, 6, 3] f64[6] f64[6]", "num_groups = 3, eps = 0.01", 7 },
	{ "group_norm", "f64[2, 4] f64[4] f64[4]", "num_groups = 2, eps = 0.1", 1 }, { "group_norm", "f64[1, 2, 2, 3] f64[2] f64[2]", "num_groups = 1", 2 },
	{ "topk", "f64[3, 7]", "k = 3, axis = 1, largest = true, sorted = true" }, { "topk", "f64[4, 3, 2]", "k = 2, axis = 0, largest = false, sorted = true" },
	{ "median", "f64[3, 4]", "" }, { "median", "f64[3, 4, 2]", "axis = [0, 2]" }, { "median", "f64[3, 5]", "axis = -1, keepdims = true" },
};

/* --- corners --------------------------------------------------------------------------------------------------------- */

#define N(...) (const double[]){ __VA_ARGS__ }

/* the results of an op on these numbers, one after another */
static int gives(const char *op, const char *operands, const char *attrs, const double *in, const double *want)
{
	Prog p;
	prog_open(&p);
	prog_op(&p, op, operands, attrs);
	int ok = prog_compile(&p, 2);
	for (int i = 0; ok && i < p.nin; i++)
		for (int k = 0; k < p.in[i].n; k++) p.in[i].v[k] = *in++;
	ok = ok && prog_run(&p);
	for (int i = 0; ok && i < p.nout; i++)
		for (int k = 0; ok && k < p.out[i].n; k++, want++) {
			double got = p.out[i].v[k];
			ok = got == *want || (got != got && *want != *want);
			if (!ok) printf("%s(%s; %s): result %d at %d is %g, not %g\n", op, operands, attrs, i, k, got, *want);
		}
	prog_close(&p);
	return ok;
}

static void corners(void)
{
	/* NaN above infinity, lower positions first, the zeros equal */
	CHECK("", gives("topk", "f32[6]", "k = 6, axis = 0, largest = true, sorted = true", N(1, NAN, INFINITY, 1, -INFINITY, NAN), N(NAN, NAN, INFINITY, 1, 1, -INFINITY, 1, 5, 2, 0, 3, 4)));
	CHECK("", gives("topk", "f16[6]", "k = 6, axis = 0, largest = false, sorted = true", N(1, NAN, INFINITY, 1, -INFINITY, NAN), N(-INFINITY, 1, 1, INFINITY, NAN, NAN, 4, 0, 3, 2, 1, 5)));
	CHECK("", gives("topk", "f64[3]", "k = 2, axis = 0, largest = true, sorted = true", N(-0.0, 0.0, -1), N(0, 0, 0, 1)));
	CHECK("", gives("topk", "i8[4]", "k = 2, axis = 0, largest = false, sorted = false", N(127, -128, -1, 0), N(-128, -1, 1, 2)));
	CHECK("", gives("topk", "u64[3]", "k = 1, axis = 0, largest = true, sorted = true", N(1, 9223372036854775808.0, 2), N(9223372036854775808.0, 1)));
	CHECK("", gives("median", "f32[4]", "", N(4, 1, 3, 2), N(2)) && gives("median", "f32[3]", "", N(NAN, 1, NAN), N(NAN)) && gives("median", "f32[4]", "", N(NAN, 1, 3, NAN), N(3)));
	CHECK("", gives("median", "i64[5]", "", N(-5, 7, -9, 0, -5), N(-5)));
	CHECK("", gives("histogram", "f32[6]", "levels = [0, 1], absolute_of_input = false", N(-1, 0, 0.5, 1, NAN, INFINITY), N(1, 2, 2)));
	CHECK("", gives("histogram", "f32[3]", "levels = [0.1, 0.7], absolute_of_input = true", N(-0.1, 0.7, 0), N(1, 1, 1)));
	CHECK("", gives("layer_norm", "f32[1, 3] f32[3] f32[3]", "", N(7, 7, 7, 1, 2, 3, 4, 5, 6), N(4, 5, 6)));
	/* ties: the gradient goes to the first */
	grad_exact("", &(const GradCase){ "median", "f64[4]", "" }, N(2, 1, 2, 3), N(1, 0, 0, 0));
	grad_exact("", &(const GradCase){ "topk", "f64[4]", "k = 2, axis = 0, largest = true, sorted = true" }, N(2, 3, 3, 3), N(0, 1, 1, 0));
}

static int in_family(int id) { return !strcmp(op_table[id]->family, "norm") || !strcmp(op_table[id]->family, "order"); }

static void covered(void)
{
	for (int id = 0; id < OP_COUNT; id++) {
		int found = !in_family(id), slope = !in_family(id) || !op_table[id]->grad, inplace;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) found |= def_by_name(cases[i].op, &inplace)->id == (OpCode)id;
		for (size_t i = 0; i < sizeof grads / sizeof *grads; i++) slope |= def_by_name(grads[i].op, &inplace)->id == (OpCode)id;
		if (!found || !slope) printf("no case for %s\n", op_table[id]->name);
		CHECK("A113", found && slope);
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int level = 0; level <= 2; level += 2) CHECK("", run(&cases[i], level));
	grad_cases("A113", grads, sizeof grads / sizeof *grads);
	corners();
	covered();
	return check_done();
}
