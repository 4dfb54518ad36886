/* prim_test.c — every row of the vector-maths table: its derivative is a formula, and the slope of its own loop by central
 * differences. */
#include "compiler/ops/formula.h"
#include "runtime/runtime.h"
#include "tests/check.h"

#define CALL1(n, ...) case FP_##n: (k->n)(&y, &x[0], 1); break;
#define CALL2(n, ...) case FP_##n: (k->n)(&y, &x[0], &x[1], 1); break;
#define CALL3(n, ...) case FP_##n: (k->n)(&y, &x[0], &x[1], &x[2], 1); break;

static double value(const Formula *f, const double *arg)
{
	const struct pxlrt_f64 *k = rt_table()->f64;
	double x[3] = { 0 }, y = 0;
	if (f->kind == FORMULA_NUMBER) return f->x;
	if (f->kind == FORMULA_ARG) return arg[f->arg];
	for (int i = 0; i < fuse_prim[f->prim].arity; i++) x[i] = value(f->a[i], arg);
	switch (f->prim) {
	PXLRT_VEC1_ALL(CALL1) PXLRT_VEC1_LOOP(CALL1) PXLRT_VEC1_FLOAT(CALL1) PXLRT_VEC2_ALL(CALL2) PXLRT_VEC2_FLOAT(CALL2) PXLRT_VEC3_ALL(CALL3) PXLRT_VEC3_FLOAT(CALL3)
	default: break;
	}
	return y;
}

static void slope(Arena *mem, FusePrim p, const double *at)
{
	const Formula *x[3];
	for (int i = 0; i < 3; i++) x[i] = formula_arg(mem, i, 0);
	const Formula *f = formula_prim(mem, p, x[0], x[1], x[2]);
	for (int i = p == FP_sel; i < fuse_prim[p].arity; i++) {
		double arg[3] = { at[0], at[1], at[2] }, h = 1e-6, got = value(formula_diff(mem, f, i), arg);
		arg[i] = at[i] + h;
		double hi = value(f, arg);
		arg[i] = at[i] - h;
		double want = f->truth ? 0 : (hi - value(f, arg)) / (2 * h);
		int ok = fabs(got - want) <= 1e-6 * (1 + fabs(want));
		CHECK("R446", ok);
		if (!ok) printf("%s by operand %d: %g, central differences %g\n", fuse_prim[p].name, i, got, want);
	}
}

int main(void)
{
	static const double points[][3] = { { 0.7, 1.3, -0.4 }, { 1.6, 0.3, 0.9 }, { 2.2, -1.4, 0.5 } }, negative[3] = { -0.6, 1.7, 0.8 };
	Arena mem;
	jmp_buf oom;
	arena_init(&mem, NULL, NULL);
	mem.oom = &oom;
	if (setjmp(oom)) return 1;
	for (int p = 0; p < FP_COUNT; p++) {
		for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
			double third[3] = { points[i][0] / 3, points[i][1] / 3, points[i][2] / 3 };
			int narrow = p == FP_asin || p == FP_acos;
			if (p != FP_root || points[i][1] > 0) slope(&mem, (FusePrim)p, narrow ? third : points[i]);
		}
		if (p != FP_log && p != FP_sqrt && p != FP_pow && p != FP_root) slope(&mem, (FusePrim)p, negative);
	}
	arena_free(&mem);
	return check_done();
}
