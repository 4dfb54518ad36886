/* grad_run.h — gradients from autodiff against central differences, in f64.
 *
 * A case is an op on operands; `wrt` marks those whose gradient is asked for.  The op stands in a graph of
 * its own; the program calls it and then its gradient graph, with random weights dy as the incoming
 * gradient, so the number to differentiate is sum(dy * y).  Cases are built side by side into one program, and all of
 * them are differenced at once.  Each is tried on plain operands and on views of larger ones, under libtcc and, plain and
 * one of the views, under the system's compiler.  Where a rule differs from calculus on purpose
 * (ties, bounds, corners) exact values are checked instead. */
#ifndef TESTS_GRAD_RUN_H
#define TESTS_GRAD_RUN_H

#define PROG_STREAMS 400
#include "tests/ops/views.h"

#include "compiler/transforms/autodiff.h"

typedef struct GradCase {
	const char *op, *operands, *attrs;
	unsigned wrt;                                /* bit i: operand i; 0: operand 0 */
	int top;
	double lo, hi, tol;
	int empty;                                   /* has an operand without elements: of what is NaN, no gradient is known */
} GradCase;

enum { GRAD_UNITS = 32, GRAD_WANTED = 8 };
typedef struct GradUnit {
	const GradCase *c;
	View view;
	int in, nx, ny, out;                         /* streams: operands from `in` on, then one dy per result; results from `out` on, then gradients */
	int nreq, wanted[GRAD_WANTED];               /* gradient i is of operand wanted[i] */
	double *grad[GRAD_WANTED], above;            /* as autodiff has them; the sum at x + h */
	int wrong;
} GradUnit;

/* --- a program: y = op(x…), dx… = gradients ------------------------------------------------------------------- */

static inline Tensor *graph_of(Prog *p, const GradCase *c, View view, Graph *g, Op **op)
{
	Tensor *in[PROG_STREAMS], *x;
	Build b = ir_build(g), keep = p->t.b;
	p->t.b = b;
	int inplace, n = 0;
	for (const char *s = skip_space(c->operands); *s; s = skip_space(s)) {
		Spec spec, base;
		if (*s == '-') {
			in[n++] = 0, s++;
			continue;
		}
		s = scan_spec(s, &spec);
		View v = spec.dtype == DT_F64 && view_fits(view, spec.shape) ? view : PLAIN;
		base = spec;
		base.shape = base_shape(v, spec.shape);
		x = ir_input(&p->t.b, base, arena_printf(&p->t.mem, "x%d", p->t.inputs++), 0);
		in[n++] = view_op(&p->t.b, v, spec.shape, x);
	}
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

static inline int grad_program(Prog *p, const GradCase *c, View view, GradUnit *u)
{
	Build *b = &p->t.b;
	Op *op;
	Graph *g = ir_graph(p->t.ir, "fwd");
	Tensor *in[PROG_STREAMS], *req[GRAD_WANTED], *gin[64];
	graph_of(p, c, view, g, &op);
	if (p->t.ds.errors) return prog_fail(p, "forward");
	*u = (GradUnit){ .c = c, .view = view, .in = p->nin, .nx = g->inputs.n, .ny = g->outputs.n, .out = p->nout };
	u->nreq = required_of(g, c->wrt, req);
	for (int i = 0; i < u->nreq; i++) u->wanted[i] = req[i]->input_index;
	for (int i = 0; i < g->inputs.n; i++) in[i] = prog_load(p, g->inputs.at[i]->spec);
	Op *call = ir_call(b, OP_call, g, 0, in, g->inputs.n, 0);
	AutodiffOptions o = { .required = req, .nrequired = u->nreq };
	GradInfo *gi = autodiff(b, g, &o);
	Map *m = gi ? gradinfo_inputs_dict(b, gi, call) : 0;
	if (!m) return prog_fail(p, "autodiff");
	for (int i = 0; i < gi->graph->inputs.n; i++) {
		gin[i] = map_get(m, gi->graph->inputs.at[i]);
		if (!gin[i]) gin[i] = prog_load(p, gi->graph->inputs.at[i]->spec);
	}
	Op *gcall = ir_call(b, OP_call, gi->graph, 0, gin, gi->graph->inputs.n, 0);
	for (int i = 0; i < u->ny; i++) prog_store(p, call->out.at[i]);
	for (int i = 0; i < u->nreq; i++) prog_store(p, gcall->out.at[i]);
	return 1;
}

/* --- central differences ----------------------------------------------------------------------------------------- */

static inline double weighted(const Prog *p, const GradUnit *u)
{
	double s = 0;
	for (int i = 0; i < u->ny; i++)
		for (int k = 0; k < p->out[u->out + i].n; k++) s += p->in[u->in + u->nx + i].v[k] * p->out[u->out + i].v[k];
	return s;
}

static inline void grad_fill(Prog *p, const GradUnit *u)
{
	const GradCase *c = u->c;
	unsigned state = 3 * 7919u + 17u;
	int inplace;
	const OpDef *d = def_by_name(c->op, &inplace);
	for (int i = u->in; i < u->in + u->nx + u->ny; i++)
		for (int k = 0; k < p->in[i].n; k++) {
			double x = prog_random(&state, c->hi ? c->lo : d->sample.lo, c->hi ? c->hi : d->sample.hi);
			p->in[i].v[k] = dtype_is_float(p->in[i].dtype) ? x : floor(prog_random(&state, 0, c->top ? c->top : 5));
		}
}

/* element k of the i-th wanted operand; NULL if there is none */
static inline double *grad_place(Prog *p, const GradUnit *u, int i, int k)
{
	Array *x = i < u->nreq ? &p->in[u->in + u->wanted[i]] : 0;
	return x && k < x->n ? &x->v[k] : 0;
}
static inline void grad_move(Prog *p, const GradUnit *u, int n, int i, int k, double h)
{
	for (int j = 0; j < n; j++)
		if (grad_place(p, &u[j], i, k)) *grad_place(p, &u[j], i, k) += h;
}

static inline void grad_compare(const Prog *p, GradUnit *u, int i, int k, double want)
{
	double got = u->grad[i][k], tol = u->c->tol ? u->c->tol : 2e-6;
	if (u->wrong || fabs(got - want) <= tol * (1 + fabs(want)) || (u->c->empty && want != want)) return;
	printf("%s(%s; %s) on %soperands under %s: gradient of operand %d at %d is %.12g, not %.12g\n", u->c->op, u->c->operands, u->c->attrs, view_name[u->view],
	       p->kind == JIT_CC ? "cc" : "tcc", u->wanted[i], k, got, want);
	u->wrong = 1;
}

/* all units differenced at element k of their i-th operand; 0: none has one */
static inline int grad_step(Prog *p, GradUnit *u, int n, int i, int k)
{
	double h = 1e-5;
	int any = 0;
	for (int j = 0; j < n; j++) any |= grad_place(p, &u[j], i, k) != 0;
	if (!any) return 0;
	grad_move(p, u, n, i, k, h);
	int ok = prog_run(p);
	for (int j = 0; j < n; j++) u[j].above = weighted(p, &u[j]);
	grad_move(p, u, n, i, k, -2 * h);
	ok = ok && prog_run(p);
	for (int j = 0; j < n; j++)
		if (grad_place(p, &u[j], i, k)) grad_compare(p, &u[j], i, k, ok ? (u[j].above - weighted(p, &u[j])) / (2 * h) : NAN);
	grad_move(p, u, n, i, k, h);
	return 1;
}

static inline int grad_batch(Prog *p, GradUnit *u, int n)
{
	for (int j = 0; j < n; j++) grad_fill(p, &u[j]);
	if (!prog_run(p)) return prog_fail(p, "running");
	for (int j = 0; j < n; j++)
		for (int i = 0; i < u[j].nreq; i++) {
			Array *g = &p->out[u[j].out + u[j].ny + i];
			u[j].grad[i] = arena_dup(&p->t.mem, g->v, (size_t)(g->n + 1) * sizeof(double));
		}
	for (int i = 0; i < GRAD_WANTED; i++)
		for (int k = 0; grad_step(p, u, n, i, k); k++) continue;
	return 1;
}

/* --- every case on every kind of operands ----------------------------------------------------------------------------- */

/* elements that are equal because they are one: whoever is the largest shares its gradient on purpose */
static inline int grad_ties(const GradCase *c)
{
	return strstr(c->op, "max") || strstr(c->op, "min") || strstr(c->op, "median") || strstr(c->op, "topk") || strstr(c->attrs, "max") || strstr(c->attrs, "min");
}
static inline int grad_takes(const GradCase *c, View view)
{
	Spec s;
	if (view == EXPANDED && grad_ties(c)) return 0;
	for (const char *o = skip_space(c->operands); *o; o = skip_space(o)) {
		if (*o == '-') {
			o++;
			continue;
		}
		o = scan_spec(o, &s);
		if (s.dtype == DT_F64 && view_fits(view, s.shape)) return 1;
	}
	return 0;
}

/* the cases from *at on that fit into a program; *at is where the next begins */
static inline void grad_some(const char *ids, const GradCase *c, size_t n, View view, JitKind kind, size_t *at)
{
	Prog p;
	GradUnit u[GRAD_UNITS];
	int m = 0, ok = 1;
	prog_open(&p);
	p.kind = kind;
	for (; ok && *at < n && m < GRAD_UNITS && p.nin < PROG_STREAMS - 32 && p.nout < PROG_STREAMS - 32; ++*at) {
		View v = kind == JIT_CC && view != PLAIN ? (View)(1 + *at % (VIEW_COUNT - 1)) : view;
		if (!grad_takes(&c[*at], v)) continue;
		ok = grad_program(&p, &c[*at], v, &u[m++]);
		if (!ok) printf("%s(%s; %s) on %soperands is not built\n", c[*at].op, c[*at].operands, c[*at].attrs, view_name[v]);
	}
	ok = ok && (!m || (prog_compile(&p, 2) && grad_batch(&p, u, m)));
	CHECK("", ok);
	for (int j = 0; ok && j < m; j++) CHECK(ids, !u[j].wrong);
	prog_close(&p);
}

/* --- without elements ------------------------------------------------------------------------------------------------------ */

/* The case with every axis of that length made 0.  0: the op refuses it, or would be given an index that is out of range, or is
 * an internal one, whose attributes nobody checks against its operands: the ops that it serves have cases. */
static inline int grad_zeroed(Arena *a, const GradCase *c, int64_t length, GradCase *out)
{
	Bench t;
	Spec s;
	int inplace, ok = !(def_by_name(c->op, &inplace)->traits & INTERNAL), some = 0;
	*out = *c;
	out->empty = 1;
	out->operands = zero_numbers(a, c->operands, length);
	for (const char *o = skip_space(out->operands); *o && ok; o = skip_space(o)) {
		if (*o == '-') {
			o++;
			continue;
		}
		o = scan_spec(o, &s);
		some |= !shape_nelems(s.shape);
		ok = dtype_is_float(s.dtype) || s.dtype == DT_BOOL || !shape_nelems(s.shape) || (s.dtype == DT_U32 && s.shape.rank == 1 && s.shape.dim[0] == 2);
	}
	for (int again = 0; ok && some && again < 2; again++) {
		out->attrs = again ? zero_numbers(a, c->attrs, length) : c->attrs;
		bench_open(&t);
		bench_op(&t, c->op, out->operands, out->attrs);
		int takes = !t.ds.at.n;
		bench_close(&t);
		if (takes) return 1;
	}
	return 0;
}

static inline size_t grad_zeroed_cases(Arena *a, const GradCase *c, size_t n, GradCase *out)
{
	size_t m = 0;
	for (size_t i = 0; i < n; i++)
		for (int64_t length = 1; length < 10; length++) m += (size_t)grad_zeroed(a, &c[i], length, &out[m]);
	return m;
}

static inline void grad_cases(const char *ids, const GradCase *c, size_t n)
{
	Arena mem;
	jmp_buf oom;
	arena_init(&mem, alloc_libc, 0);
	mem.oom = &oom;
	GradCase *empty = NEWN(&mem, GradCase, 9 * n + 1);
	size_t m = grad_zeroed_cases(&mem, c, n, empty);
	for (size_t at = 0; at < m;) grad_some("", empty, m, PLAIN, JIT_TCC, &at);
	for (size_t at = 0; at < m;) grad_some("", empty, m, PART, JIT_TCC, &at);
	CHECK("", m > 0);
	arena_free(&mem);
	for (View v = PLAIN; v < VIEW_COUNT; v++)
		for (size_t at = 0; at < n;) grad_some(ids, c, n, v, JIT_TCC, &at);
	for (View v = PLAIN; v <= TURNED; v++)                       /* TURNED: a view in turn */
		for (size_t at = 0; at < n;) grad_some(ids, c, n, v, JIT_CC, &at);
}

/* --- where rules say more than calculus ------------------------------------------------------------------------------ */

/* gradients for incoming ones */
static inline void grad_exact(const char *ids, const GradCase *c, const double *in, const double *want)
{
	Prog p;
	GradUnit u;
	prog_open(&p);
	int ok = grad_program(&p, c, PLAIN, &u) && prog_compile(&p, 2);
	for (int i = 0; ok && i < p.nin; i++)
		for (int k = 0; k < p.in[i].n; k++) p.in[i].v[k] = i < u.nx ? *in++ : 1;
	ok = ok && prog_run(&p);
	for (int i = 0; ok && i < u.nreq; i++)
		for (int k = 0; ok && k < p.out[u.ny + i].n; k++, want++) {
			double got = p.out[u.ny + i].v[k];
			if (fabs(got - *want) <= 1e-12 * fabs(*want) || got == *want || (got != got && *want != *want)) continue;
			printf("%s(%s; %s): gradient %d of operand %d is %.12g, not %.12g\n", c->op, c->operands, c->attrs, k, u.wanted[i], got, *want);
			ok = 0;
		}
	CHECK(ids, ok);
	prog_close(&p);
}

#endif
