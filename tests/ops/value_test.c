/* value_test.c — ops compiled and run against plain C in double precision: attributes, corners, faults, random numbers.
 *
 * A case is an op, its operands as text, and a reference that fills the expected results from the same
 * numbers.  Each runs at -O0 and -O2.  Types and shapes in all their combinations are the grid's (tests/ops/grid). */
#include "tests/ops/run.h"

typedef struct Case {
	const char *ids, *op, *operands, *attrs;
	void (*ref)(Prog *p, const Op *op);          /* fills p->out[i].raw as doubles: see want() */
	double (*f1)(double);                        /* or: elementwise, one operand */
	double (*f2)(double, double);                /* elementwise, two operands of any broadcastable shapes */
	int top;                                     /* integer operands are below this; 0: 5 */
	double lo, hi, tol;                          /* 0: the op's sample range; tolerance by dtype */
} Case;

/* --- expected values ----------------------------------------------------------------------------------------- */

static double expected[PROG_STREAMS][4096];

#define X(i, k) (p->in[i].v[k])
#define Y(i, k) (expected[i][k])
#define NX(i) (p->in[i].n)
#define NY(i) (p->out[i].n)

/* flat index into operand i for flat index k of a result of shape s: broadcasting from the right */
static int at_broadcast(const Array *x, Shape s, int k)
{
	int at = 0, step = 1;
	for (int i = s.rank - 1, j = x->shape.rank - 1; i >= 0; i--, j--) {
		int c = (int)(k % s.dim[i]);
		k = (int)(k / s.dim[i]);
		if (j < 0) continue;
		if (x->shape.dim[j] != 1) at += c * step;
		step *= (int)x->shape.dim[j];
	}
	return at;
}

static double xb(const Prog *p, int i, int k) { return p->in[i].v[at_broadcast(&p->in[i], p->out[0].shape, k)]; }

static double f_sign(double x) { return (x > 0) - (x < 0); }
static double f_neg(double x) { return -x; }
static double f_relu(double x) { return x > 0 ? x : 0; }
static double f_gelu(double x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
static double f_geluerf(double x) { return x * 0.5 * (1 + erf(x / sqrt(2))); }
static double f_swish(double x) { return x / (1 + exp(-x)); }
static double f_same(double x) { return x; }
static double f_nan(double x) { return x != x; }
static double f_inf(double x) { return x == INFINITY || x == -INFINITY; }
static double f_finite(double x) { return !f_nan(x) && !f_inf(x); }
static double f_not(double x) { return x == 0; }
static double f_clip(double x) { return x < -1 ? -1 : x > 0.5 ? 0.5 : x; }
static double f_incmod(double x) { return fmod(x + 2, 3); }
static double f_zero(double x) { (void)x; return 0; }
static double f_half(double x) { return x * 0.5; }
static double f_trunc(double x) { return (double)(int)x; }

static double f_add(double a, double b) { return a + b; }
static double f_sub(double a, double b) { return a - b; }
static double f_mul(double a, double b) { return a * b; }
static double f_div(double a, double b) { return a / b; }
static double f_eq(double a, double b) { return a == b; }
static double f_ne(double a, double b) { return a != b; }
static double f_gt(double a, double b) { return a > b; }
static double f_ge(double a, double b) { return a >= b; }
static double f_lt(double a, double b) { return a < b; }
static double f_le(double a, double b) { return a <= b; }
static double f_and(double a, double b) { return a != 0 && b != 0; }
static double f_or(double a, double b) { return a != 0 || b != 0; }
static double f_scaled2(double a, double b) { return ldexp(a, (int)b); }
static double f_scaled(double a, double b) { return 2 * a - 0.5 * b; }
static double f_acc_sq(double a, double b) { return a + 0.5 * b * b; }
static double f_acc_f(double a, double b) { return a + 0.25 * b; }
static double f_mean3(double a, double b) { return 0.75 * a + 0.25 * b; }
static double f_second(double a, double b) { (void)a; return b; }
static double f_ema(double a, double b) { return 0.75 * a + 0.25 * b; }
static double f_ema_sq(double a, double b) { return 0.75 * a + 0.25 * b * b; }
static double f_mask(double a, double b) { return b != 0 ? a * b : 0; }

/* derivative by differences that are good to about 1e-9: references for the gradient ops */
static double slope(double (*f)(double), double x)
{
	double h = 1e-4;
	return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}
static double f_relu_grad(double g, double y) { return y > 0 ? g : 0; }
static double f_gelu_grad(double g, double x) { return g * slope(f_gelu, x); }
static double f_geluerf_grad(double g, double x) { return g * slope(f_geluerf, x); }
static double f_swish_grad(double g, double x) { return g * slope(f_swish, x); }
static double f_tanh_grad(double g, double y) { return g * (1 - y * y); }

/* --- references that see the whole op ------------------------------------------------------------------------------ */

static void r_where(Prog *p, const Op *op)
{
	(void)op;
	for (int k = 0; k < NY(0); k++) Y(0, k) = xb(p, 0, k) != 0 ? xb(p, 1, k) : xb(p, 2, k);
}

static void r_maximum(Prog *p, const Op *op)
{
	for (int k = 0; k < NY(0); k++) {
		Y(0, k) = xb(p, 0, k);
		for (int i = 1; i < op->in.n; i++) Y(0, k) = fmax(Y(0, k), xb(p, i, k));
	}
}

static void r_sum_n(Prog *p, const Op *op)
{
	for (int k = 0; k < NY(0); k++) {
		Y(0, k) = 0;
		for (int i = 0; i < op->in.n; i++) Y(0, k) += xb(p, i, k);
	}
}

/* visit elements of operand 0 with the flat index of the group they fold into */
typedef void (*Fold)(double x, double *acc);
static void fold(Prog *p, const Op *op, double start, Fold f)
{
	const AttrVal *axis = op_attr(op, "axis");
	Shape s = p->in[0].shape;
	for (int k = 0; k < NY(0); k++) Y(0, k) = start;
	for (int k = 0; k < NX(0); k++) {
		int c[MAX_RANK], rest = k, at = 0;
		for (int i = s.rank - 1; i >= 0; i--) c[i] = (int)(rest % s.dim[i]), rest = (int)(rest / s.dim[i]);
		for (int i = 0; i < s.rank; i++) {
			int gone = 0;
			for (int j = 0; j < axis->ints.n; j++) gone |= axis->ints.at[j] == i;
			if (!gone) at = at * (int)s.dim[i] + c[i];
		}
		f(X(0, k), &Y(0, at));
	}
}
static void add_to(double x, double *a) { *a += x; }
static void mul_to(double x, double *a) { *a *= x; }
static void abs_to(double x, double *a) { *a += fabs(x); }
static void sq_to(double x, double *a)  { *a += x * x; }
static void exp_to(double x, double *a) { *a += exp(x); }
static void max_to(double x, double *a) { *a = fmax(*a, x); }
static void min_to(double x, double *a) { *a = fmin(*a, x); }
static void each(Prog *p, double (*f)(double)) { for (int k = 0; k < NY(0); k++) Y(0, k) = f(Y(0, k)); }
static void r_sum(Prog *p, const Op *op)  { fold(p, op, 0, add_to); }
static void r_mean(Prog *p, const Op *op) { fold(p, op, 0, add_to); for (int k = 0; k < NY(0); k++) Y(0, k) /= (double)NX(0) / NY(0); }
static void r_imean(Prog *p, const Op *op) { r_mean(p, op); each(p, floor); }
static void r_max(Prog *p, const Op *op)  { fold(p, op, -INFINITY, max_to); }
static void r_min(Prog *p, const Op *op)  { fold(p, op, INFINITY, min_to); }
static void r_prod(Prog *p, const Op *op) { fold(p, op, 1, mul_to); }
static void r_l1(Prog *p, const Op *op)   { fold(p, op, 0, abs_to); }
static void r_l2(Prog *p, const Op *op)   { fold(p, op, 0, sq_to); each(p, sqrt); }
static void r_sumsq(Prog *p, const Op *op) { fold(p, op, 0, sq_to); }
static void r_logsum(Prog *p, const Op *op) { fold(p, op, 0, add_to); each(p, log); }
static void r_lse(Prog *p, const Op *op)  { fold(p, op, 0, exp_to); each(p, log); }
static void r_lamb(Prog *p, const Op *op) { (void)op; Y(0, 0) = 0; for (int k = 0; k < NX(0); k++) Y(0, 0) += X(0, k) * X(0, k); }

/* operand 0 as [outer, n, inner] along an axis */
typedef struct Lines { int outer, n, inner; } Lines;
static Lines lines(const Array *x, int axis)
{
	Lines l = { 1, (int)x->shape.dim[axis], 1 };
	for (int i = 0; i < x->shape.rank; i++) {
		if (i < axis) l.outer *= (int)x->shape.dim[i];
		if (i > axis) l.inner *= (int)x->shape.dim[i];
	}
	return l;
}
#define LINE(o, i, k) (((o) * l.n + (k)) * l.inner + (i))
#define EACH_LINE for (int o = 0; o < l.outer; o++) for (int i = 0; i < l.inner; i++)

static void position(Prog *p, const Op *op, double turn)
{
	Lines l = lines(&p->in[0], (int)op_attr(op, "dim")->i);
	EACH_LINE {
		int best = 0;
		for (int k = 1; k < l.n; k++)
			if (turn * X(0, LINE(o, i, k)) > turn * X(0, LINE(o, i, best))) best = k;
		Y(0, o * l.inner + i) = best;
	}
}
static void r_argmax(Prog *p, const Op *op) { position(p, op, 1); }
static void r_argmin(Prog *p, const Op *op) { position(p, op, -1); }

static void r_cumsum(Prog *p, const Op *op)
{
	Lines l = lines(&p->in[0], (int)op_attr(op, "dim")->i);
	int back = (int)op_attr(op, "reverse")->i;
	EACH_LINE {
		double s = 0;
		for (int k = 0; k < l.n; k++) {
			int at = LINE(o, i, back ? l.n - 1 - k : k);
			Y(0, at) = s += X(0, at);
		}
	}
}

static void softmax(const double *x, double *y, Lines l)
{
	EACH_LINE {
		double s = 0;
		for (int k = 0; k < l.n; k++) s += exp(x[LINE(o, i, k)]);
		for (int k = 0; k < l.n; k++) y[LINE(o, i, k)] = exp(x[LINE(o, i, k)]) / s;
	}
}
static void r_softmax(Prog *p, const Op *op) { softmax(p->in[0].v, expected[0], lines(&p->in[0], (int)op_attr(op, "axis")->i)); }

static void r_softmax_grad(Prog *p, const Op *op)
{
	Lines l = lines(&p->in[0], (int)op_attr(op, "axis")->i);
	EACH_LINE {
		double s = 0;
		for (int k = 0; k < l.n; k++) s += X(0, LINE(o, i, k)) * X(1, LINE(o, i, k));
		for (int k = 0; k < l.n; k++) Y(0, LINE(o, i, k)) = X(0, LINE(o, i, k)) * (X(1, LINE(o, i, k)) - s);
	}
}

static void r_flat(Prog *p, const Op *op) { (void)op; for (int k = 0; k < NY(0); k++) Y(0, k) = X(0, k); }
static void r_broadcast(Prog *p, const Op *op) { (void)op; for (int k = 0; k < NY(0); k++) Y(0, k) = xb(p, 0, k); }

static void coords(Shape s, int k, int *c)
{
	for (int i = s.rank - 1; i >= 0; i--) c[i] = (int)(k % s.dim[i]), k = (int)(k / s.dim[i]);
}
static int flat(Shape s, const int *c)
{
	int k = 0;
	for (int i = 0; i < s.rank; i++) k = k * (int)s.dim[i] + c[i];
	return k;
}

static void r_transpose(Prog *p, const Op *op)
{
	int c[MAX_RANK], d[MAX_RANK];
	for (int k = 0; k < NX(0); k++) {
		coords(p->in[0].shape, k, c);
		for (int i = 0; i < p->in[0].shape.rank; i++) d[i] = c[op_attr(op, "permutation")->ints.at[i]];
		Y(0, flat(p->out[0].shape, d)) = X(0, k);
	}
}

static void r_concat(Prog *p, const Op *op)
{
	int axis = (int)op_attr(op, "axis")->i, at = 0, c[MAX_RANK];
	for (int i = 0; i < p->nin; i++) {
		for (int k = 0; k < NX(i); k++) {
			coords(p->in[i].shape, k, c);
			c[axis] += at;
			Y(0, flat(p->out[0].shape, c)) = X(i, k);
		}
		at += (int)p->in[i].shape.dim[axis];
	}
}

static void r_split(Prog *p, const Op *op)
{
	int axis = (int)op_attr(op, "axis")->i, at = 0, c[MAX_RANK];
	for (int i = 0; i < p->nout; i++) {
		for (int k = 0; k < NY(i); k++) {
			coords(p->out[i].shape, k, c);
			c[axis] += at;
			Y(i, k) = X(0, flat(p->in[0].shape, c));
		}
		at += (int)p->out[i].shape.dim[axis];
	}
}

/* y[c] = x[start + c * step] along each axis */
static void region(Prog *p, const int *start, const int *step)
{
	int c[MAX_RANK];
	for (int k = 0; k < NY(0); k++) {
		coords(p->out[0].shape, k, c);
		for (int i = 0; i < p->in[0].shape.rank; i++) c[i] = start[i] + c[i] * step[i];
		Y(0, k) = X(0, flat(p->in[0].shape, c));
	}
}
static void r_slice_a(Prog *p, const Op *op) { (void)op; region(p, (int[]){ 1, 0 }, (int[]){ 1, 1 }); }
static void r_slice_b(Prog *p, const Op *op) { (void)op; region(p, (int[]){ 4, 3 }, (int[]){ -1, -1 }); }
static void r_subsample(Prog *p, const Op *op) { (void)op; region(p, (int[]){ 0, 0 }, (int[]){ 2, 3 }); }
static void r_pick(Prog *p, const Op *op) { (void)op; region(p, (int[]){ 5, 0 }, (int[]){ -2, 1 }); }

static void r_place(Prog *p, const Op *op)
{
	(void)op;
	int c[MAX_RANK];
	for (int k = 0; k < NY(0); k++) Y(0, k) = 0;
	for (int k = 0; k < NX(0); k++) {
		coords(p->in[0].shape, k, c);
		Y(0, flat(p->out[0].shape, (int[]){ 4 - 2 * c[0], 1 + c[1] })) = X(0, k);
	}
}

static void r_gather(Prog *p, const Op *op)
{
	int axis = (int)op_attr(op, "axis")->i;
	Lines l = lines(&p->in[0], axis);
	int count = NX(1);
	for (int o = 0; o < l.outer; o++)
		for (int j = 0; j < count; j++)
			for (int i = 0; i < l.inner; i++) {
				int idx = (int)X(1, j);
				Y(0, (o * count + j) * l.inner + i) = idx < l.n ? X(0, LINE(o, i, idx)) : 0;
			}
}

static void r_scatter_add(Prog *p, const Op *op)
{
	(void)op;
	for (int k = 0; k < NY(0); k++) Y(0, k) = 0;
	for (int j = 0; j < NX(1); j++)
		for (int i = 0; i < 3; i++)
			if (X(1, j) < 5) Y(0, (int)X(1, j) * 3 + i) += X(0, j * 3 + i);
}

static void r_onehot(Prog *p, const Op *op)
{
	(void)op;
	for (int i = 0; i < NX(0); i++)
		for (int k = 0; k < 4; k++) Y(0, i * 4 + k) = X(1, X(0, i) == k);
}

static void r_init(Prog *p, const Op *op) { (void)op; for (int k = 0; k < NY(0); k++) Y(0, k) = 0; }

/* products with NumPy's shapes; operand numbers of the sides */
static void product(Prog *p, int a, int b, double alpha, double *y)
{
	Array l = p->in[a], r = p->in[b];
	if (l.shape.rank == 1) l.shape = (Shape){ 2, { 1, l.shape.dim[0] } };
	if (r.shape.rank == 1) r.shape = (Shape){ 2, { r.shape.dim[0], 1 } };
	Shape bl = l.shape, br = r.shape, batch;
	int m = (int)l.shape.dim[l.shape.rank - 2], n = (int)r.shape.dim[r.shape.rank - 1], k = (int)l.shape.dim[l.shape.rank - 1];
	bl.rank -= 2;
	br.rank -= 2;
	shape_broadcast(bl, br, &batch);
	l.shape = bl;
	r.shape = br;
	for (int q = 0; q < (int)shape_nelems(batch); q++) {
		const double *x = l.v + at_broadcast(&l, batch, q) * m * k, *w = r.v + at_broadcast(&r, batch, q) * k * n;
		for (int i = 0; i < m; i++)
			for (int j = 0; j < n; j++) {
				double s = 0;
				for (int z = 0; z < k; z++) s += x[i * k + z] * w[z * n + j];
				y[(q * m + i) * n + j] = alpha * s;
			}
	}
}
static void r_matmul8(Prog *p, const Op *op)
{
	(void)op;
	product(p, 0, 1, 1, expected[0]);
	for (int k = 0; k < NY(0); k++) Y(0, k) = ldexp(Y(0, k), (int)X(2, 0));
}
static void r_matmul(Prog *p, const Op *op) { (void)op; product(p, 0, 1, 1, expected[0]); }
static void r_gemm_acc(Prog *p, const Op *op)
{
	product(p, 1, 2, op_attr(op, "alpha")->f, expected[0]);
	for (int k = 0; k < NY(0); k++) Y(0, k) += op_attr(op, "beta")->f * X(0, k);
}

/* losses: x [rows, K], labels; the factor G of the gradient; ignored rows */
static int reduction(const Op *op) { return op_attr(op, "reduction")->s[0]; }
static int kept(Prog *p, const Op *op, int r)
{
	const AttrVal *i = op_attr(op, "ignore_index");
	return !i->set || X(1, r) != (double)i->i;
}
static double items(Prog *p, const Op *op)
{
	double n = 0;
	if (reduction(op) != 'm') return 1;
	for (int r = 0; r < NX(1); r++) n += kept(p, op, r);
	return n < 1 ? 1 : n;
}
static void losses(Prog *p, const Op *op, const double *prob, double add, double floor_, double (*value)(double))
{
	int rows = NX(1), classes = NX(0) / rows;
	double sum = 0;
	for (int r = 0; r < rows; r++) {
		double q = prob[r * classes + (int)X(1, r)];
		double l = kept(p, op, r) ? -value(fmax(q + add, floor_)) : 0;
		if (reduction(op) == 'n') Y(0, r) = l;
		sum += l;
	}
	if (reduction(op) != 'n') Y(0, 0) = sum / items(p, op);
}
static double factor_of(Prog *p, const Op *op, int row, double number)
{
	double k = p->nin < 3 ? number : NX(2) == 1 ? X(2, 0) : X(2, row);
	return k / items(p, op);
}
/* (prob - onehot) G into y */
static void residual(Prog *p, const Op *op, const double *prob, double number, double *y)
{
	int rows = NX(1), classes = NX(0) / rows;
	for (int r = 0; r < rows; r++)
		for (int k = 0; k < classes; k++)
			y[r * classes + k] = kept(p, op, r) ? (prob[r * classes + k] - (k == (int)X(1, r))) * factor_of(p, op, r, number) : 0;
}
static double probs[4096];
static void row_softmax(Prog *p) { softmax(p->in[0].v, probs, (Lines){ NX(1), NX(0) / NX(1), 1 }); }

static void r_nll(Prog *p, const Op *op) { losses(p, op, p->in[0].v, 0, 1e-7, log); }
static void r_nll_log(Prog *p, const Op *op) { losses(p, op, p->in[0].v, 0, -INFINITY, f_same); }
static void r_nll_grad(Prog *p, const Op *op)
{
	int rows = NX(1), classes = NX(0) / rows;
	for (int k = 0; k < NY(0); k++) Y(0, k) = 0;
	for (int r = 0; r < rows; r++) {
		int at = r * classes + (int)X(1, r);
		if (kept(p, op, r)) Y(0, at) = -factor_of(p, op, r, 1) / X(0, at);
	}
}
static void r_nll_with(Prog *p, const Op *op)
{
	losses(p, op, p->in[0].v, 1e-7, 0, log);
	residual(p, op, p->in[0].v, op_attr(op, "loss_grad")->f, expected[1]);
}
static void r_ce(Prog *p, const Op *op) { row_softmax(p); losses(p, op, probs, 0, 1e-7, log); }
static void r_ce_grad(Prog *p, const Op *op) { row_softmax(p); residual(p, op, probs, 1, expected[0]); }
static void r_ce_with(Prog *p, const Op *op) { r_ce(p, op); residual(p, op, probs, op_attr(op, "loss_scaling")->f, expected[1]); }

static void r_adam(Prog *p, const Op *op)
{
	(void)op;
	double n = X(3, 0) + 1;
	for (int k = 0; k < NY(0); k++)
		Y(0, k) = X(0, k) / (1 - pow(0.9f, n)) / (sqrt(X(1, k) / (1 - pow(0.999f, n))) + 1e-7f) + 0.01f * X(2, k);
}
static void r_adam_plain(Prog *p, const Op *op) { (void)op; for (int k = 0; k < NY(0); k++) Y(0, k) = X(0, k) / (sqrt(X(1, k)) + 1e-7f); }
static void r_adamax(Prog *p, const Op *op) { (void)op; for (int k = 0; k < NY(0); k++) Y(0, k) = X(0, k) / (1 - pow(0.9f, X(2, 0) + 1)) / (X(1, k) + 1e-7f); }
static void r_step(Prog *p, const Op *op) { (void)op; for (int k = 0; k < NY(0); k++) Y(0, k) = X(0, k) * X(2, 0) / (sqrt(X(1, k) * X(3, 0)) + X(4, 0)); }
static void r_max_step(Prog *p, const Op *op) { (void)op; for (int k = 0; k < NY(0); k++) Y(0, k) = X(0, k) * X(2, 0) / (X(1, k) + X(4, 0)); }
static void r_var_update(Prog *p, const Op *op)
{
	(void)op;
	double cap = sqrt(X(2, 0)) < 0.5 ? sqrt(X(2, 0)) : 0.5;
	for (int k = 0; k < NY(0); k++) Y(0, k) = X(0, k) - 0.1f * cap / sqrt(X(3, 0)) * X(1, k);
}

/* --- the cases --------------------------------------------------------------------------------------------------------- */

#define UNARY(op, f) { "", op, "f32[5, 7]", "", .f1 = f }, { "", op, "f64[300]", "", .f1 = f }
#define BINARY(op, f) { "", op, "f32[3, 5] f32[5]", "", .f2 = f }, { "", op, "f64[2, 1, 4] f64[3, 1]", "", .f2 = f }, { "", op, "f32[] f32[4]", "", .f2 = f }
#define TEST(op, f) BINARY(op, f), { "", op, "i32[6] i32[6]", "", .f2 = f, .top = 3 }
#define REDUCE(op, r) { "", op, "f32[3, 5, 2]", "", .ref = r }, { "", op, "f64[3, 5, 2]", "axis = [1, -3]", .ref = r }, { "", op, "f32[3, 5, 2]", "axis = 1, keepdims = true", .ref = r }, { "", op, "f64[70]", "axis = []", .ref = r }
#define LOSS(op, r) { "A230", op, "f64[4, 6] i32[4]", "", .ref = r }, { "A231", op, "f64[2, 3, 6] u32[2, 3]", "reduction = sum", .ref = r }, \
	{ "A231", op, "f32[8, 6] i32[8]", "ignore_index = 1", .ref = r, .top = 3 }, { "A231", op, "f32[4, 6] i32[4]", "reduction = none, ignore_index = 2", .ref = r, .top = 4 }

static const Case cases[] = {
	UNARY("abs", fabs), UNARY("ceil", ceil), UNARY("floor", floor), UNARY("sign", f_sign), UNARY("cos", cos), UNARY("sin", sin), UNARY("exp", exp), UNARY("log", log),
	UNARY("log2", log2), UNARY("sqrt", sqrt), UNARY("tanh", tanh), UNARY("negate", f_neg), UNARY("relu", f_relu), UNARY("gelu", f_gelu), UNARY("geluerf", f_geluerf), UNARY("swish", f_swish),
	UNARY("identity", f_same), UNARY("detach", f_same), UNARY("isnan", f_nan), UNARY("isinf", f_inf), UNARY("isfinite", f_finite), UNARY("logical_not", f_not), UNARY("print_tensor", f_same),
	UNARY("copy", f_same), { "R119", "ipu_copy", "f32[5, 7]", "destination = 1", .f1 = f_same }, { "", "io_tile_copy", "f16[5]", "", .f1 = f_same }, { "", "abs", "i8[9]", "", .f1 = fabs }, { "", "clip", "f32[40]", "min = -1, max = 0.5", .f1 = f_clip }, { "", "increment_mod", "i32[9]", "increment = 2, modulus = 3", .f1 = f_incmod },
	{ "", "increment_mod", "f64[9]", "increment = 2, modulus = 3", .f1 = f_incmod },
	{ "R140", "exp_", "f32[4]", "", .f1 = exp }, { "R140", "gelu_", "f64[4]", "", .f1 = f_gelu }, { "R140", "relu_", "f32[200]", "", .f1 = f_relu }, { "R139", "detach_", "f32[3]", "", .f1 = f_same },
	{ "", "float8_values", "f8_143[40]", "", .f1 = f_same, .tol = 1e-9 }, { "", "float8_round", "f32[40]", "data_type = f8_152", .f1 = f_same, .tol = 0.13 },
	{ "R93", "pow2scale_then_cast", "f32[200] i32[]", "data_type = f8_143", .f2 = f_scaled2, .tol = 0.07 }, { "R93", "pow2scale_then_cast", "f16[3, 5] i32[]", "data_type = f8_152", .f2 = f_scaled2, .tol = 0.13 },
	{ "R93", "cast_then_pow2scale", "f8_152[200] i32[]", "data_type = f32", .f2 = f_scaled2, .tol = 1e-9 }, { "R93", "cast_then_pow2scale", "f8_143[] i32[]", "data_type = f16", .f2 = f_scaled2, .tol = 1e-9 },
	{ "R100", "matmul_pow2scaled", "f8_143[3, 5] f8_152[5, 4] i32[]", "", r_matmul8, .tol = 1e-9 }, { "R100", "matmul_pow2scaled", "f8_143[2, 3, 5] f8_143[5, 4] i32[]", "", r_matmul8, .tol = 1e-9 },
	 { "", "power_of_2", "i32[]", "", .f1 = exp2, .top = 30 }, { "", "cast", "f32[40]", "data_type = f64", .f1 = f_same }, { "", "cast", "f32[9]", "data_type = i32", .f1 = f_trunc, .lo = -4, .hi = 4 }, { "", "cast", "i32[9]", "data_type = f16", .f1 = f_same },
	BINARY("add", f_add), BINARY("sub", f_sub), BINARY("mul", f_mul), BINARY("div", f_div), BINARY("fmod", fmod), BINARY("pow", pow), { "", "add", "i64[5] i64[5]", "", .f2 = f_add },
	{ "", "pow", "i32[6] i32[6]", "", .f2 = pow, .top = 4 },
	{ "R140", "add_", "f32[3, 5] f32[5]", "", .f2 = f_add }, { "", "maximum", "f32[3, 1] f32[4] f32[]", "", .ref = r_maximum }, { "", "sum_n", "f64[7] f64[7] f64[7]", "", .ref = r_sum_n },
	{ "", "scaled_add", "f32[6] f32[6]", "a = 2, b = -0.5", .f2 = f_scaled }, { "R140", "scaled_add_", "f64[6] f32[6]", "a = 2, b = -0.5", .f2 = f_scaled },
	BINARY("relu_grad", f_relu_grad), BINARY("gelu_grad", f_gelu_grad), BINARY("geluerf_grad", f_geluerf_grad), BINARY("swish_grad", f_swish_grad), BINARY("tanh_grad", f_tanh_grad), BINARY("apply_mask", f_mask),
	TEST("equal", f_eq), TEST("not_equal", f_ne), TEST("greater", f_gt), TEST("greater_equal", f_ge), TEST("less", f_lt), TEST("less_equal", f_le), TEST("logical_and", f_and), TEST("logical_or", f_or),
	{ "", "where", "bool[4, 1] f32[3] f32[]", "", .ref = r_where, .top = 2 }, { "", "where", "f32[6] i32[6] i32[6]", "", .ref = r_where },
	REDUCE("sum", r_sum), REDUCE("mean", r_mean), REDUCE("max", r_max), REDUCE("min", r_min), REDUCE("prod", r_prod), REDUCE("l1", r_l1), REDUCE("l2", r_l2), REDUCE("sumsquare", r_sumsq),
	REDUCE("logsum", r_logsum), REDUCE("logsumexp", r_lse), { "", "mean", "i32[7]", "", .ref = r_imean }, { "", "argmax", "f32[3, 5, 2]", "dim = 1", .ref = r_argmax }, { "", "argmax", "i32[9]", "", .ref = r_argmax, .top = 3 },
	{ "", "argmin", "f64[3, 5]", "dim = -1, keepdim = true", .ref = r_argmin }, { "", "cumsum", "f64[3, 5, 2]", "dim = 1", .ref = r_cumsum }, { "", "cumsum", "i32[6]", "reverse = true", .ref = r_cumsum },
	{ "", "lamb_square", "f32[3, 4]", "", .ref = r_lamb }, { "", "lamb_square", "f16[3, 4]", "", .ref = r_lamb, .tol = 1e-2 },
	{ "", "reshape", "f32[3, 4]", "shape = [2, -1]", .ref = r_flat }, { "R139", "reshape_", "f32[3, 4]", "shape = [12]", .ref = r_flat }, { "", "flatten", "f64[3, 4]", "", .ref = r_flat }, { "", "squeeze", "f32[1, 4, 1]", "", .ref = r_flat },
	{ "R115", "transpose", "f32[2, 3, 4]", "permutation = [1, 2, 0]", .ref = r_transpose }, { "R115 R139", "transpose_", "f64[3, 4]", "", .ref = r_transpose }, { "", "transpose", "bool[2, 3, 4]", "", .ref = r_transpose, .top = 2 },
	{ "", "concat", "f32[2, 3] f32[1, 3] f32[4, 3]", "", .ref = r_concat }, { "", "concat", "f64[2, 3] f64[2, 1]", "axis = -1", .ref = r_concat }, { "", "split", "f32[4, 3]", "splits = 2", .ref = r_split },
	{ "", "split", "f32[4, 3]", "splits = [1, 2], axis = 1", .ref = r_split }, { "", "expand", "f32[3, 1]", "shape = [2, 3, 4]", .ref = r_broadcast },
	{ "", "slice", "f32[5, 4]", "start = [1, none], stop = [4, -1]", .ref = r_slice_a }, { "", "slice", "f32[5, 4]", "step = [-1, -1]", .ref = r_slice_b }, { "R139", "slice_", "f32[5, 4]", "start = 1", .ref = r_slice_a },
	{ "", "subsample", "f64[5, 4]", "strides = [2, 3]", .ref = r_subsample }, { "", "pick", "f32[6, 4]", "start = [5, 0], step = [-2, 1], shape = [3, 4]", .ref = r_pick },
	{ "", "place", "f32[3, 2]", "start = [4, 1], step = [-2, 1], shape = [5, 4]", .ref = r_place }, { "R149", "init", "", "shape = [5], dtype = f32", .ref = r_init },
	{ "", "gather", "f32[5, 3] i32[2, 2]", "", .ref = r_gather }, { "", "gather", "f32[2, 5, 3] u32[4]", "axis = 1", .ref = r_gather }, { "", "gather", "f32[5] i64[9]", "zero_OOR = true", .ref = r_gather, .top = 9 },
	{ "", "tied_gather", "f16[5, 3] i32[4]", "", .ref = r_gather, .tol = 1e-2 }, { "", "scatter_add", "f64[6, 3] i32[6]", "shape = [5, 3], zero_OOR = true", .ref = r_scatter_add, .top = 7 }, { "", "onehot", "i32[6] - f32[2]", "num_classes = 4, axis = -1", .ref = r_onehot },
	{ "", "matmul", "f32[3, 5] f32[5, 4]", "", .ref = r_matmul }, { "", "matmul", "f64[5] f64[5, 4]", "", .ref = r_matmul }, { "", "matmul", "f32[3, 5] f32[5]", "", .ref = r_matmul }, { "", "matmul", "f32[5] f32[5]", "", .ref = r_matmul },
	{ "", "matmul", "f32[2, 3, 5] f32[5, 4]", "", .ref = r_matmul }, { "", "matmul", "f64[2, 1, 3, 5] f64[4, 5, 2]", "", .ref = r_matmul }, { "", "matmul", "f32[6, 5] f32[2, 5, 3]", "", .ref = r_matmul },
	{ "", "matmul", "f16[3, 5] f16[5, 4]", "output_type = f32", .ref = r_matmul, .tol = 1e-2 },
	{ "", "gemm_acc", "f32[3, 4] f32[3, 5] f32[5, 4]", "alpha = -0.5", .ref = r_gemm_acc },
	{ "", "softmax", "f32[3, 5]", "axis = -1", .ref = r_softmax }, { "", "softmax", "f64[3, 5, 2]", "axis = 1", .ref = r_softmax }, { "", "softmax_grad", "f64[3, 5, 2] f64[3, 5, 2]", "axis = 1", .ref = r_softmax_grad },
	LOSS("nll_loss", r_nll), LOSS("cross_entropy", r_ce), { "", "nll_loss", "f32[4, 6] i32[4]", "log_prob = true", .ref = r_nll_log },
	{ "", "nll_loss_grad", "f64[4, 6] i32[4] f64[]", "", .ref = r_nll_grad }, { "", "nll_loss_grad", "f64[4, 6] i32[4] f64[4]", "reduction = none", .ref = r_nll_grad },
	{ "", "nll_loss_with_softmax_grad", "f64[4, 6] i32[4]", "loss_grad = 3", .ref = r_nll_with }, { "", "nll_loss_with_softmax_grad", "f64[4, 6] i32[4] f32[1]", "ignore_index = 1", .ref = r_nll_with },
	{ "", "nll_loss_with_softmax_grad", "f32[4, 6] i32[4] f32[4]", "reduction = none", .ref = r_nll_with }, { "", "nll_loss_with_softmax_grad", "f32[4, 6] i32[4]", "reduction = none, loss_grad = 2", .ref = r_nll_with },
	{ "A232", "cross_entropy_with_grad", "f64[4, 6] i32[4]", "", .ref = r_ce_with }, { "A232", "cross_entropy_with_grad", "f32[4, 6] u32[4] f32[]", "reduction = sum", .ref = r_ce_with },
	{ "A232", "cross_entropy_with_grad", "f32[4, 6] i32[4]", "ignore_index = 0, loss_scaling = 8", .ref = r_ce_with }, { "", "cross_entropy_grad", "f64[4, 6] i32[4] f64[]", "", .ref = r_ce_grad },
	{ "R140", "accumulate_", "f32[6] f32[6]", "", .f2 = f_add }, { "R140", "accumulate_", "f64[6] f64[6]", "f = 0.25", .f2 = f_acc_f }, { "R140", "accumulate_square_", "f32[6] f64[6]", "f = 0.5", .f2 = f_acc_sq },
	{ "R140", "accumulate_mean_", "f32[6] f32[6]", "step = 3", .f2 = f_mean3 }, { "R140", "accumulate_mean_", "f32[6] f32[6]", "step = 0", .f2 = f_second }, { "R140", "accumulate_moving_average_", "f32[6] f32[6]", "f = 0.75", .f2 = f_ema },
	{ "R140", "accumulate_moving_average_square_", "f64[6] f32[6]", "f = 0.75", .f2 = f_ema_sq }, { "", "blend", "f32[6] f32[6]", "keep = 0.75, take = 0.25", .f2 = f_ema },
	{ "R140", "accumulator_scale_", "f32[6]", "f = 0.5", .f1 = f_half }, { "R140", "accumulator_scale_", "f32[6]", "f = 0", .f1 = f_zero }, { "R140", "accumulator_zero_", "i32[6]", "", .f1 = f_zero },
	{ "R140", "copy_var_update_", "f32[6] f32[6]", "", .f2 = f_second }, { "", "adam_updater", "f32[6] f32[6] f32[6] f32[]", "beta1 = 0.9, beta2 = 0.999, weight_decay = 0.01", .ref = r_adam, .tol = 1e-3 },
	{ "", "lamb_updater", "f32[6] f32[6] f32[6] u32[]", "beta1 = 0.9, beta2 = 0.999, weight_decay = 0.01", .ref = r_adam, .tol = 1e-3 }, { "", "adam_updater", "f32[6] f32[6]", "", .ref = r_adam_plain },
	{ "", "adamax_updater", "f32[6] f32[6] - u32[]", "", .ref = r_adamax, .tol = 1e-4 }, { "", "adam_step", "f32[6] f32[6] f32[] f32[] f32[]", "dtype = f32", .ref = r_step }, { "", "adamax_step", "f32[6] f32[6] f32[] f32[] f32[]", "dtype = f32", .ref = r_max_step },
	{ "", "adam_var_update", "f32[6] f32[6] f32[] f32[]", "learning_rate = 0.1, max_weight_norm = 0.5", .ref = r_var_update },
};

static double tolerance(const Case *c, DType t)
{
	if (c->tol) return c->tol;
	return t == DT_F64 ? 1e-7 : t == DT_F16 ? 2e-3 : t == DT_BF16 ? 2e-2 : t == DT_F32 ? 2e-5 : 0;
}

static void expect(const Case *c, Prog *p, const Op *op)
{
	if (c->ref) c->ref(p, op);
	for (int k = 0; k < NY(0) && !c->ref; k++) Y(0, k) = c->f1 ? c->f1(X(0, k)) : c->f2(xb(p, 0, k), xb(p, 1, k));
}

static int close_to(double got, double want, double tol)
{
	return got == want || (got != got && want != want) || fabs(got - want) <= tol * (1 + fabs(want));
}

static int compare(const Case *c, Prog *p, int level)
{
	for (int i = 0; i < p->nout; i++)
		for (int k = 0; k < NY(i); k++) {
			if (close_to(p->out[i].v[k], Y(i, k), tolerance(c, p->out[i].dtype))) continue;
			printf("%s(%s; %s) at -O%d: result %d[%d] is %.17g, not %.17g\n", c->op, c->operands, c->attrs, level, i, k, p->out[i].v[k], Y(i, k));
			return 0;
		}
	return 1;
}

static int run(const Case *c, int level)
{
	Prog p;
	prog_open(&p);
	Op *op = prog_op(&p, c->op, c->operands, c->attrs);
	const OpDef *d = op_def(op);
	int ok = prog_compile(&p, level);
	prog_fill(&p, c->hi ? c->lo : d->sample.lo, c->hi ? c->hi : d->sample.hi, c->top ? c->top : 5, 1);
	if (ok) expect(c, &p, op);
	ok = ok && prog_run(&p);
	if (!ok) printf("%s(%s; %s) at -O%d does not run: %s\n", c->op, c->operands, c->attrs, level, p.err.text);
	ok = ok && compare(c, &p, level);
	prog_close(&p);
	return ok;
}

/* --- numbers with corners ------------------------------------------------------------------------------------------------ */

/* one op on given numbers: result 0 must be exactly `want` (NaN matches NaN) */
static void exact(const char *ids, const char *op, const char *operands, const char *attrs, const double *in, const double *want)
{
	Prog p;
	int ok = prog_given(&p, op, operands, attrs, in);
	ok = ok && prog_run(&p);
	if (!ok) printf("%s(%s): %s\n", op, operands, p.err.text);
	for (int k = 0; ok && k < p.out[0].n; k++) {
		if (p.out[0].v[k] == want[k] || (p.out[0].v[k] != p.out[0].v[k] && want[k] != want[k])) continue;
		printf("%s(%s)[%d] is %.9g, not %.9g\n", op, operands, k, p.out[0].v[k], want[k]);
		ok = 0;
	}
	CHECK(ids, ok);
	prog_close(&p);
}
#define N(...) (const double[]){ __VA_ARGS__ }

static void corners(void)
{
	exact("", "div", "i32[4] i32[4]", "", N(-7, 7, -7, 7, 2, 2, -2, -2), N(-4, 3, 3, -4));
	exact("", "fmod", "i32[4] i32[4]", "", N(-7, 7, -7, 7, 2, 2, -2, -2), N(-1, 1, -1, 1));
	exact("", "fmod", "f32[4] f32[4]", "", N(-7, 7, 5, 1, 2, -2, INFINITY, 0), N(-1, 1, 5, NAN));
	exact("", "sign", "f32[4]", "", N(NAN, -0.0, -3, INFINITY), N(0, 0, -1, 1));
	exact("", "maximum", "f32[2] f32[2]", "", N(NAN, 1, 1, NAN), N(NAN, NAN));
	exact("", "max", "f32[3]", "", N(1, NAN, 2), N(NAN));
	exact("", "min", "f32[3]", "", N(1, NAN, -2), N(NAN));
	exact("", "relu", "f32[3]", "", N(NAN, -1, 2), N(NAN, 0, 2));
	exact("", "clip", "f32[3]", "min = -1, max = 1", N(NAN, -INFINITY, 2), N(NAN, -1, 1));
	exact("", "clip", "f16[2]", "min = -1e9, max = 1e9", N(-INFINITY, INFINITY), N(-65504, 65504));
	exact("", "abs", "i8[2]", "", N(-128, -3), N(-128, 3));
	exact("", "add", "i8[1] i8[1]", "", N(100, 100), N(-56));
	exact("", "add", "u8[1] u8[1]", "", N(200, 100), N(44));
	exact("", "sum", "i8[3]", "", N(100, 100, 100), N(44));
	exact("", "mean", "i32[2]", "", N(-3, 0), N(-2));
	exact("", "equal", "f32[2] f32[2]", "", N(NAN, -0.0, NAN, 0), N(0, 1));
	exact("", "not_equal", "f32[1] f32[1]", "", N(NAN, NAN), N(1));
	exact("", "greater_equal", "f32[1] f32[1]", "", N(NAN, 1), N(0));
	exact("", "logical_and", "f32[2] i32[2]", "", N(0.25, NAN, 1, 2), N(1, 1));
	exact("", "where", "f32[2] i32[2] i32[2]", "", N(0.25, 0, 16777217, 1, 2, 16777219), N(16777217, 16777219));
	exact("", "where", "bool[2] f32[2] f32[2]", "", N(1, 0, 1, INFINITY, NAN, 2), N(1, 2));
	exact("", "pow", "f32[4] f32[4]", "", N(0, -2, -2, 2, 0, 0.5, 3, -1), N(1, NAN, -8, 0.5));
	exact("", "logsumexp", "f32[2]", "", N(-INFINITY, -INFINITY), N(-INFINITY));
	exact("", "logsumexp", "f32[2]", "", N(1000, -INFINITY), N(1000));
	exact("", "argmax", "f32[4]", "", N(1, NAN, 5, NAN), N(1));
	exact("", "argmax", "f32[4]", "", N(5, 1, 5, 2), N(0));
	exact("", "argmin", "i32[4]", "", N(5, 1, 5, 1), N(1));
	exact("", "cumsum", "f32[4]", "", N(1, NAN, 1, INFINITY), N(1, NAN, NAN, NAN));
	exact("R93 R95", "pow2scale_then_cast", "f32[9] i32[]", "data_type = f8_143", N(0.75, 250, -250, INFINITY, NAN, -0.0, -1e-9, 240, 0x1p-10, 0), N(0.75, NAN, NAN, NAN, NAN, 0, 0, 240, 0x1p-10));
	exact("R93 R95", "pow2scale_then_cast", "f32[2] i32[]", "data_type = f8_143", N(0.75, 1e38, 31), N(NAN, NAN));
	exact("R93 R95", "pow2scale_then_cast", "f16[3] i32[]", "data_type = f8_152", N(70000, 0.25, 57344, 0), N(NAN, 0.25, 57344));
	exact("R93", "cast_then_pow2scale", "f8_152[4] i32[]", "data_type = f16", N(57344, -57344, 0x1p-17, NAN, 1), N(INFINITY, -INFINITY, 0x1p-16, NAN));
	exact("R103", "identity", "f8_143[3]", "", N(NAN, 240, -0x1p-10), N(NAN, 240, -0x1p-10));
	exact("", "cast", "f32[5]", "data_type = i8", N(-1.9, 1.9, 300, -300, NAN), N(-1, 1, 127, -128, 0));
	exact("", "cast", "i32[2]", "data_type = i8", N(130, -129), N(-126, 127));
	exact("", "cast", "f32[3]", "data_type = bool", N(0.25, 0, NAN), N(1, 0, 1));
	exact("", "increment_mod", "i32[2]", "increment = -5, modulus = 3", N(1, 9), N(-1, 1));
	exact("", "onehot", "i32[3] - f32[2]", "num_classes = 2, axis = -1", N(-1, 2, 1, 7, 9), N(7, 7, 7, 7, 7, 9));
	exact("", "accumulator_scale_", "f32[3]", "f = 0", N(NAN, INFINITY, 1), N(0, 0, 0));
	exact("", "accumulate_mean_", "f32[2] f32[2]", "step = 0", N(NAN, INFINITY, 1, 2), N(1, 2));
	/* integers with factors that are none: computed as they are, cut off once */
	exact("", "accumulate_moving_average_", "i32[3] i32[3]", "f = 0.75", N(10, -10, 7, 1, 2, 8), N(7, -7, 7));
	exact("", "accumulate_moving_average_", "u8[2] f32[2]", "f = 0.5", N(200, 3, 254.5, 4.5), N(227, 3));
	exact("", "accumulate_moving_average_square_", "i64[2] i32[2]", "f = 0.5", N(10, -9, 3, 5), N(9, 8));
	exact("", "accumulate_mean_", "i16[2] i16[2]", "step = 1", N(10, -7, 3, 4), N(6, -1));
	exact("", "accumulate_mean_", "i8[2] i8[2]", "step = 0", N(100, -7, 3, 4), N(3, 4));
	exact("A333", "accumulate_moving_average_", "f16[1] f32[1]", "f = 0.9", N(0, 0.1), N(0.0099945068359375));
	exact("A333", "accumulate_moving_average_square_", "f32[1] f32[1]", "f = 0.999", N(0, 0.1f), N(9.9998715e-06f));
	exact("", "scaled_add_", "i32[2] i32[2]", "a = 2, b = -1", N(3, 4, 1, 1), N(5, 7));
	exact("", "adam_var_update", "f32[1] f32[1] f32[] f32[]", "learning_rate = 0.5", N(1, 1, 0, 4), N(0.5));
	exact("", "mul", "f16[2] f32[]", "", N(1, 3, 0.5), N(0.5, 1.5));
}

static void faults(void)
{
	fault("pow2scale_then_cast", "f32[1] i32[]", "data_type = f8_143", N(1, 32), "log2_scale is 32");          /* R99 */
	fault("cast_then_pow2scale", "f8_143[1] i32[]", "data_type = f32", N(1, -33), "log2_scale is -33");
	fault("matmul_pow2scaled", "f8_143[1] f8_143[1] i32[]", "", N(1, 1, 32), "log2_scale is 32");
	fault("div", "i32[2] i32[2]", "", N(1, 2, 1, 0), "zero");
	fault("fmod", "u8[2] u8[]", "", N(1, 2, 0), "zero");
	fault("gather", "f32[3] i32[2]", "", N(1, 2, 3, 0, 3), "3");
	fault("gather", "f32[3] i32[2]", "", N(1, 2, 3, 0, -1), "-1");
	fault("nll_loss", "f32[1, 2] i32[1]", "", N(0.5, 0.5, 2), "label 2");
	fault("pow", "i32[1] i32[1]", "", N(2, -1), "negative");
}

/* --- random ops: moments, reproducibility ------------------------------------------------------------------------------------ */

static void moments(const char *op, const char *attrs, double mean, double dev)
{
	Prog p;
	prog_open(&p);
	prog_op(&p, op, "u32[2]", attrs);
	int ok = prog_compile(&p, 2);
	double s = 0, q = 0, first = 0;
	if (ok) p.in[0].v[0] = 7, p.in[0].v[1] = 9;
	ok = ok && prog_run(&p);
	for (int k = 0; ok && k < p.out[0].n; k++) s += p.out[0].v[k], q += p.out[0].v[k] * p.out[0].v[k];
	int n = ok ? p.out[0].n : 1;
	s /= n;
	if (ok) first = p.out[0].v[0];
	CHECK("R444", ok && fabs(s - mean) < 0.08 && fabs(sqrt(q / n - s * s) - dev) < 0.08);
	CHECK("", ok && prog_run(&p) && p.out[0].v[0] == first);
	if (ok) p.in[0].v[1] = 10;
	CHECK("", ok && prog_run(&p) && p.out[0].v[0] != first);
	prog_close(&p);
}

static void dropped(const char *op, const char *attrs, int each_row)
{
	Prog p;
	prog_open(&p);
	prog_op(&p, op, "f32[20, 50] u32[2]", attrs);
	int ok = prog_compile(&p, 2), zeros = 0, right = 1, same = 1;
	for (int k = 0; ok && k < 1000; k++) p.in[0].v[k] = 3;
	if (ok) p.in[1].v[0] = 1, p.in[1].v[1] = 2;
	ok = ok && prog_run(&p);
	for (int k = 0; ok && k < 1000; k++) {
		zeros += p.out[0].v[k] == 0;
		right = right && (p.out[0].v[k] == 0 || fabs(p.out[0].v[k] - 4) < 1e-5);
		same = same && (k < 50 || p.out[0].v[k] == p.out[0].v[k - 50]);
	}
	CHECK("", ok && right && zeros > 100 && zeros < 400);
	CHECK("R442", same == each_row);
	prog_close(&p);
}

static void seeds(void)
{
	double parts[6];
	Prog p;
	prog_open(&p);
	prog_op(&p, "split_random_seed", "u32[2]", "n = 3");
	int ok = prog_compile(&p, 2);
	if (ok) p.in[0].v[0] = 5, p.in[0].v[1] = 6;
	ok = ok && prog_run(&p);
	for (int i = 0; ok && i < 6; i++) parts[i] = p.out[i / 2].v[i % 2];
	prog_close(&p);
	CHECK("R437", ok && parts[1] != parts[3] && parts[3] != parts[5] && parts[1] != parts[5]);
	if (ok) exact("", "create_random_seed", "u32[2] u32[]", "", N(5, 6, 2), N(parts[4], parts[5]));
}

int main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (!cases[i].ref && !cases[i].f1 && !cases[i].f2) continue;
		CHECK(cases[i].ids, run(&cases[i], 0));
		CHECK(cases[i].ids, run(&cases[i], 2));
	}
	corners();
	faults();
	moments("random_normal", "shape = [4000], mean = 1, std = 2", 1, 2);
	moments("random_uniform", "shape = [4000], low = -1, high = 1", 0, 0.577);
	dropped("dropout", "p = 0.25", 0);
	dropped("shaped_dropout", "shape = [50], ratio = 0.25", 1);
	seeds();
	return check_done();
}
