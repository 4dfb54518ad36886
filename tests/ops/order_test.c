/* order_test.c — topk, median and histogram: against sorting and counting in plain C, corners by hand, gradients, what is refused. */
#include "tests/ops/case_run.h"

static int number(const Op *op, const char *name) { return op_param(op_def(op), name) < 0 ? 1 : (int)op_attr(op, name)->i; }

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

static void r_topk(Prog *p, const Op *op, double *const *y)
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

static void r_median(Prog *p, const Op *op, double *const *y)
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
		for (int i = 0; op->out.n > 1 && block[i] != v; i++) y[1][r] = i + 1;
	}
}

static void r_histogram(Prog *p, const Op *op, double *const *y)
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

static void expect(Prog *p, const Op *op, double *const *y)
{
	const char *name = op_def(op)->name;
	(strcmp(name, "topk") ? strcmp(name, "histogram") ? r_median : r_histogram : r_topk)(p, op, y);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

#define ORDER(t, top) \
	{ "topk", #t "[4, 9]", "k = 3, axis = 1, largest = true, sorted = true", #t "[4, 3] i32[4, 3]", top }, { "topk", #t "[5, 3, 2]", "k = 5, axis = -3, largest = false, sorted = true", #t "[5, 3, 2] i32[5, 3, 2]", top }, \
	{ "topk", #t "[2, 1500]", "k = 40, axis = -1, largest = true, sorted = false", #t "[2, 40] i32[2, 40]", top }, \
	{ "median", #t "[3, 8]", "", #t "[]", top }, { "median", #t "[3, 8, 5]", "axis = [0, -1]", #t "[8]", top }, { "median", #t "[2, 1201]", "axis = 1, keepdims = true", #t "[2, 1]", top }

static const OpCase cases[] = {
	ORDER(f32, 0), ORDER(f64, 0), ORDER(f16, 0), ORDER(bf16, 0), ORDER(i8, 100), ORDER(i16, 300), ORDER(i32, 9), ORDER(i64, 5000), ORDER(u8, 200), ORDER(u16, 4), ORDER(u32, 9), ORDER(u64, 99),
	{ "topk", "f32[4]", "k = 0, axis = 0, largest = true, sorted = true", "f32[0] i32[0]" }, { "topk", "f32[0, 3]", "k = 2, axis = 1, largest = true, sorted = true", "f32[0, 2] i32[0, 2]" },
	{ "topk", "f32[4]", "k = 5, axis = 0, largest = true, sorted = true", "E0310" }, { "topk", "f32[4]", "k = -1, axis = 0, largest = true, sorted = true", "E0310" },
	{ "topk", "f32[4]", "k = 1, axis = 1, largest = true, sorted = true", "E0305" }, { "topk", "f32[]", "k = 1, axis = 0, largest = true, sorted = true", "E0305" },
	{ "topk", "bool[4]", "k = 1, axis = 0, largest = true, sorted = true", "E0304" },
	{ "median", "f32[]", "", "f32[]" }, { "median", "f32[3]", "axis = []", "f32[3]" }, { "median", "f32[3, 0]", "axis = 1", "E0311" }, { "median", "f32[0, 3]", "axis = 1", "f32[0]" },
	{ "median", "f32[3]", "axis = [0, -1]", "E0306" }, { "median_at", "f32[3, 4]", "", "f32[3, 1] i32[3, 1]" },
	{ "topk", "i8[1, 2, 1, 9, 1, 2, 1, 1]", "k = 3, axis = 3, largest = true, sorted = true", "i8[1, 2, 1, 3, 1, 2, 1, 1] i32[1, 2, 1, 3, 1, 2, 1, 1]", 4 },
	{ "topk", "f32[2, 0]", "k = 0, axis = 1, largest = true, sorted = true", "f32[2, 0] i32[2, 0]" }, { "median", "f32[2, 1, 3, 1, 2, 1, 1, 2]", "axis = [0, 4, 7]", "f32[1, 3, 1, 1, 1]" },
	{ "median", "f16[2, 1, 3, 1, 2, 1, 1, 2]", "axis = [1]", "f16[2, 3, 1, 2, 1, 1, 2]" }, { "median", "bool[3]", "", "E0304" }, { "histogram", "f32[2, 1, 3, 1, 2, 2, 1, 2]", "levels = [0.5, 1, 1.5], absolute_of_input = true", "u32[4]" },
	{ "histogram", "f32[4]", "levels = [1, nan], absolute_of_input = false", "E0310" }, { "histogram", "f32[4]", "levels = [nan], absolute_of_input = false", "E0310" },
	{ "histogram", "f32[4, 300]", "levels = [-1, 0, 0.5], absolute_of_input = false", "u32[4]" }, { "histogram", "f16[700]", "levels = [0.1, 1], absolute_of_input = true", "u32[3]" },
	{ "histogram", "f64[50]", "levels = [0], absolute_of_input = false", "u32[2]" }, { "histogram", "bf16[]", "levels = [0], absolute_of_input = false", "u32[2]" },
	{ "histogram", "f32[0]", "levels = [0, 1], absolute_of_input = false", "u32[3]" }, { "histogram", "f32[3]", "levels = [], absolute_of_input = false", "E0310" },
	{ "histogram", "f32[3]", "levels = [1, 1], absolute_of_input = false", "E0310" }, { "histogram", "i32[3]", "levels = [1], absolute_of_input = false", "E0304" },
};

/* --- gradients ------------------------------------------------------------------------------------------------------ */

static const GradCase grads[] = {
	{ "topk", "f64[3, 7]", "k = 3, axis = 1, largest = true, sorted = true" }, { "topk", "f64[4, 3, 2]", "k = 2, axis = 0, largest = false, sorted = true" },
	{ "median", "f64[3, 4]", "" }, { "median", "f64[3, 4, 2]", "axis = [0, 2]" }, { "median", "f64[3, 5]", "axis = -1, keepdims = true" },
};

/* --- corners --------------------------------------------------------------------------------------------------------- */

#define N(...) (const double[]){ __VA_ARGS__ }

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
	CHECK("", gives("topk", "u8[5]", "k = 5, axis = 0, largest = true, sorted = true", N(127, 128, 0, 255, 128), N(255, 128, 128, 127, 0, 3, 1, 4, 0, 2)));
	CHECK("", gives("topk", "bf16[5]", "k = 5, axis = 0, largest = true, sorted = true", N(-1, -2, -3, -4, -5), N(-1, -2, -3, -4, -5, 0, 1, 2, 3, 4)));
	CHECK("", gives("median", "f32[2]", "", N(-0.0, 0.0), N(0)) && gives("median", "f32[4]", "", N(NAN, 1, -INFINITY, NAN), N(1)));
	CHECK("", gives("histogram", "f32[4]", "levels = [1, 2], absolute_of_input = true", N(-1, -2, -INFINITY, NAN), N(0, 1, 2)));
	CHECK("", gives("histogram", "f16[3]", "levels = [-1e6, 1e6], absolute_of_input = false", N(-INFINITY, 65504, INFINITY), N(1, 1, 1)));
	/* ties: the gradient goes to the first */
	grad_exact("", &(const GradCase){ "median", "f64[4]", "" }, N(2, 1, 2, 3), N(1, 0, 0, 0));
	grad_exact("", &(const GradCase){ "median", "f64[3]", "" }, N(NAN, NAN, 1), N(1, 0, 0));
	grad_exact("", &(const GradCase){ "topk", "f64[2]", "k = 0, axis = 0, largest = false, sorted = false" }, N(5, 1), N(0, 0));
	grad_exact("", &(const GradCase){ "topk", "f64[4]", "k = 2, axis = 0, largest = true, sorted = true" }, N(2, 3, 3, 3), N(0, 1, 1, 0));
}

/* positions are i32 */
static void too_long(void)
{
	Bench t;
	bench_open(&t);
	bench_op(&t, "topk", "i8[3000000000]", "k = 1, axis = 0, largest = true, sorted = true");
	CHECK_STR("", bench_code(&t), "E0310");
	bench_op(&t, "median", "f16[3, 1500000000]", "axis = 1");
	CHECK("", t.ds.at.n == 1);
	bench_op(&t, "median", "f16[2, 1500000000]", "");
	CHECK("", t.ds.at.n == 2);
	bench_close(&t);
}

int main(void)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int level = 0; level <= 2; level += 2) CHECK("", case_run(&cases[i], level, expect));
	grad_cases("A113", grads, COUNT_OF(grads));
	corners();
	too_long();
	CHECK("A113", family_covered("order", cases, COUNT_OF(cases), grads, COUNT_OF(grads)));
	return check_done();
}
