/* case_run.h — an op on operands from text, against a reference in double precision, or refused with a code.
 *
 * A test lists OpCases, gives a Reference that fills the expected results, and runs each at -O0 and -O2. */
#ifndef TESTS_CASE_RUN_H
#define TESTS_CASE_RUN_H

#include "tests/ops/grad_run.h"

/* want: specs of the results, or a code; top: integer operands are below it; lo, hi: range of the floats (0: the op's sample range) */
typedef struct OpCase { const char *op, *operands, *attrs, *want; int top; double tol, lo, hi; } OpCase;
typedef void (*Reference)(Prog *p, const Op *op, double *const *y);

static inline double case_tolerance(const OpCase *c, DType t)
{
	return c->tol ? c->tol : t == DT_F64 ? 1e-12 : t == DT_F16 ? 2e-3 : t == DT_BF16 ? 1e-2 : dtype_is_float(t) ? 1e-6 : 0;
}

static inline int case_agrees(const OpCase *c, Prog *p, double *const *y)
{
	for (int i = 0; i < p->nout; i++)
		for (int k = 0; k < p->out[i].n; k++) {
			if (fabs(p->out[i].v[k] - y[i][k]) <= case_tolerance(c, p->out[i].dtype) * (1 + fabs(y[i][k]))) continue;
			printf("%s(%s; %s): result %d[%d] is %.9g, not %.9g\n", c->op, c->operands, c->attrs, i, k, p->out[i].v[k], y[i][k]);
			return 0;
		}
	return 1;
}

static inline int case_values(const OpCase *c, int level, Prog *p, const Op *op, Reference ref)
{
	const OpDef *d = op_def(op);
	double *y[PROG_STREAMS];
	if (!prog_compile(p, level)) return 0;
	for (int i = 0; i < p->nout; i++) y[i] = NEWN(&p->t.mem, double, p->out[i].n + 1);
	prog_fill(p, c->hi ? c->lo : d->sample.lo, c->hi ? c->hi : d->sample.hi, c->top ? c->top : 5, 7);
	prog_round(p);
	ref(p, op, y);
	return prog_run(p) && case_agrees(c, p, y);
}

static inline int case_run(const OpCase *c, int level, Reference ref)
{
	Prog p;
	prog_open(&p);
	Op *op = prog_op(&p, c->op, c->operands, c->attrs);
	int n = p.t.ds.at.n;
	const char *spec = c->want[0] == 'E' && n ? diag_table[p.t.ds.at.at[n - 1]->code].code : bench_specs(&p.t, op);
	int ok = !strcmp(spec, c->want) || (printf("%s(%s; %s): got %s, want %s\n%s", c->op, c->operands, c->attrs, spec, c->want, bench_text(&p.t)), 0);
	ok = ok && (c->want[0] == 'E' || case_values(c, level, &p, op, ref));
	if (!ok) printf("%s(%s; %s) at -O%d failed %s\n", c->op, c->operands, c->attrs, level, p.err.text);
	prog_close(&p);
	return ok;
}

/* does each op of the family have a case, and each that has a gradient a case of that */
static inline int family_covered(const char *family, const OpCase *cases, size_t n, const GradCase *grads, size_t ngrad)
{
	int all = 1, inplace;
	for (int id = 0; id < OP_COUNT; id++) {
		int found = strcmp(op_table[id]->family, family) != 0, slope = found || !op_table[id]->grad;
		for (size_t i = 0; i < n; i++) found |= def_by_name(cases[i].op, &inplace)->id == (OpCode)id;
		for (size_t i = 0; i < ngrad; i++) slope |= def_by_name(grads[i].op, &inplace)->id == (OpCode)id;
		if (!found || !slope) printf("no case for %s\n", op_table[id]->name);
		all &= found && slope;
	}
	return all;
}
#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

/* the results of an op on these numbers, one after another, are exactly `want` (NaN matches NaN) */
static inline int gives(const char *op, const char *operands, const char *attrs, const double *in, const double *want)
{
	Prog p;
	int ok = prog_given(&p, op, operands, attrs, in);
	ok = ok && prog_run(&p);
	for (int i = 0; ok && i < p.nout; i++)
		for (int k = 0; ok && k < p.out[i].n; k++, want++) {
			double got = p.out[i].v[k];
			ok = got == *want || (got != got && *want != *want);
			if (!ok) printf("%s(%s; %s): result %d at %d is %.9g, not %.9g\n", op, operands, attrs, i, k, got, *want);
		}
	prog_close(&p);
	return ok;
}

#endif
