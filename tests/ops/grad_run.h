/* grad_run.h — gradients from autodiff against central differences, in f64.
 *
 * A case is an op on operands; `wrt` marks those whose gradient is asked for.  The op stands in a graph of
 * its own; the program calls it and then its gradient graph, with random weights dy as the incoming
 * gradient, so the number to differentiate is sum(dy * y).  Where a rule differs from calculus on purpose
 * (ties, bounds, corners) exact values are checked instead. */
#ifndef TESTS_GRAD_RUN_H
#define TESTS_GRAD_RUN_H

#include "tests/ops/run.h"

#include "compiler/transforms/autodiff.h"

typedef struct GradCase {
	const char *op, *operands, *attrs;
	unsigned wrt;                                /* bit i: operand i; 0: operand 0 */
	int top;
	double lo, hi, tol;
} GradCase;

/* --- a program: y = op(x…), dx… = gradients ------------------------------------------------------------------- */

static inline Tensor *graph_of(Prog *p, const GradCase *c, Graph *g, Op **op)
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
static inline int required_of(Graph *g, unsigned wrt, Tensor **out)
{
	int n = 0;
	for (int i = 0; i < g->inputs.n; i++)
		if ((wrt ? wrt : 1) >> i & 1) out[n++] = g->inputs.at[i];
	return n;
}

/* streams: operands, then one dy per result; results y…, then the gradients */
static inline int grad_program(Prog *p, const GradCase *c, Tensor **req, int *nreq, int *ny)
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

static inline double weighted(Prog *p, int nx, int ny)
{
	double s = 0;
	prog_run(p);
	for (int i = 0; i < ny; i++)
		for (int k = 0; k < p->out[i].n; k++) s += p->in[nx + i].v[k] * p->out[i].v[k];
	return s;
}

static inline double difference(Prog *p, double *x, int nx, int ny)
{
	double keep = *x, h = 1e-5, a, b;
	*x = keep + h;
	a = weighted(p, nx, ny);
	*x = keep - h;
	b = weighted(p, nx, ny);
	*x = keep;
	return (a - b) / (2 * h);
}

static inline int operand_of(Prog *p, Tensor *const *req, int i)      /* position of a graph input is that of its stream */
{
	(void)p;
	return req[i]->input_index;
}

static inline int agree(const GradCase *c, Prog *p, Tensor *const *req, int nreq, int ny)
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

static inline int grad_run(const GradCase *c)
{
	Prog p;
	Tensor *req[PROG_STREAMS];
	int nreq, ny, inplace;
	const OpDef *d = def_by_name(c->op, &inplace);
	prog_open(&p);
	int ok = grad_program(&p, c, req, &nreq, &ny) && prog_compile(&p, 2);
	prog_fill(&p, c->hi ? c->lo : d->sample.lo, c->hi ? c->hi : d->sample.hi, c->top ? c->top : 5, 3);
	ok = ok && agree(c, &p, req, nreq, ny);
	if (!ok) printf("%s(%s; %s) failed\n", c->op, c->operands, c->attrs);
	prog_close(&p);
	return ok;
}

/* --- where rules say more than calculus ------------------------------------------------------------------------------ */

/* gradient of operand 0 for incoming ones */
static inline void grad_exact(const char *ids, const GradCase *c, const double *in, const double *want)
{
	Prog p;
	Tensor *req[PROG_STREAMS];
	int nreq, ny;
	prog_open(&p);
	int ok = grad_program(&p, c, req, &nreq, &ny) && prog_compile(&p, 2);
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

#endif
