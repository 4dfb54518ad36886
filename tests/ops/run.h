/* run.h — compiles a small Ir through the whole pipeline and runs it on arrays of doubles.
 *
 *   Prog p; prog_open(&p);  … build p.t.b in the main graph, prog_load() and prog_store() …
 *   if (prog_compile(&p, level)) { prog_run(&p); … p.out[i].v … }   prog_close(&p);
 *
 * Whatever the dtypes of streams are, the test sees doubles. */
#ifndef TESTS_RUN_H
#define TESTS_RUN_H

#include "compiler/codegen/codegen.h"
#include "tests/ops/ops.h"

#ifndef PROG_STREAMS
#define PROG_STREAMS 16
#endif
typedef struct Array { DType dtype; Shape shape; int n; double *v; void *raw; int stream; } Array;

typedef struct Prog {
	Bench t;
	Array in[PROG_STREAMS], out[PROG_STREAMS];
	int nin, nout;
	JitKind kind;                /* set before prog_compile; libtcc if not */
	Jit *jit;
	RtProgram rt;
	RtSession *s;
	RtErr err;
} Prog;

static inline void prog_open(Prog *p)
{
	memset(p, 0, sizeof *p);
	bench_open(&p->t);
	p->t.b = ir_build(p->t.ir->main);
}

static inline void prog_close(Prog *p)
{
	if (p->s) rt_session_free(p->s);
	if (p->jit) jit_free(p->jit);
	bench_close(&p->t);
}

static inline Array array_new(Arena *a, Spec s, int stream)
{
	int n = (int)shape_nelems(s.shape);
	return (Array){ s.dtype, s.shape, n, NEWN(a, double, n + 1), arena_alloc(a, (size_t)(n + 1) * 8), stream };
}

static inline Tensor *prog_load(Prog *p, Spec s)
{
	Build *b = &p->t.b;
	Stream *st = ir_stream(b, 1, s, 0);
	p->in[p->nin++] = array_new(&p->t.mem, s, st->index);
	return ir_op(b, OP_host_load, 0, 0, b_attrs(b, OP_host_load, "h2d_stream", attr_ptr(st), NULL), 0)->out.at[0];
}

static inline void prog_store(Prog *p, Tensor *x)
{
	Build *b = &p->t.b;
	Stream *st = ir_stream(b, 0, x->spec, 0);
	p->out[p->nout++] = array_new(&p->t.mem, x->spec, st->index);
	ir_op(b, OP_host_store, &x, 1, b_attrs(b, OP_host_store, "d2h_stream", attr_ptr(st), NULL), 0);
}

static inline void *prog_alloc(void *user, void *old, size_t size)
{
	void *p = 0;
	(void)user;
	if (!size) return free(old), (void *)0;
	if (old) return realloc(old, size);
	return posix_memalign(&p, 64, (size + 63) / 64 * 64) ? 0 : p;
}

static inline int prog_fail(Prog *p, const char *where)
{
	printf("%s: %s\n%s", where, p->err.text, bench_text(&p->t));
	return 0;
}

static inline int prog_compile(Prog *p, int level)
{
	Arena *a = &p->t.mem;
	if (p->t.ds.errors) return prog_fail(p, "building");
	Ir *ir = ir_clone(p->t.ir, a, 0);
	if (!passes_run(ir, &(PassOptions){ .level = level, .verify = 1 })) return prog_fail(p, "passes");
	Plan *plan = memplan(ir, a);
	Module *m = plan ? codegen(ir, plan, a) : 0;
	if (!m) return prog_fail(p, "codegen");
	JitOptions jo = { .kind = p->kind, .alloc = { prog_alloc, 0 } };
	if (jit_compile(m, &jo, &p->jit, &p->err)) return printf("%s\n", m->text), prog_fail(p, "jit");
	if (getenv("PROG_C")) printf("%s\n", m->text);
	p->rt = (RtProgram){ .name = "test", .main = jit_entry(p->jit), .replicas = 1, .transfers = 1, .frame_bytes = plan->frame_bytes,
	                     .var_bytes = plan->var_bytes, .const_bytes = plan->const_bytes, .consts = m->consts, .nvar = m->nvar,
	                     .nstream = m->nstream, .nsite = m->nsite, .vars = m->vars, .streams = m->streams, .sites = m->sites };
	if (rt_session_new(&p->rt, &(RtOptions){ .threads = 1, .alloc = { prog_alloc, 0 } }, &p->s, &p->err)) return prog_fail(p, "session");
	return 1;
}

static inline int prog_run(Prog *p)
{
	RtBind bind[2 * PROG_STREAMS];
	int n = 0;
	for (int i = 0; i < p->nin; i++) {
		Array *x = &p->in[i];
		for (int k = 0; k < x->n; k++) rt_set(x->dtype, x->raw, (size_t)k, x->v[k]);
		bind[n++] = (RtBind){ x->stream, x->raw, (size_t)x->n };
	}
	for (int i = 0; i < p->nout; i++) bind[n++] = (RtBind){ p->out[i].stream, p->out[i].raw, (size_t)p->out[i].n };
	p->err.text[0] = 0;
	if (rt_session_run(p->s, bind, n, &p->err)) return 0;
	for (int i = 0; i < p->nout; i++)
		for (int k = 0; k < p->out[i].n; k++) p->out[i].v[k] = rt_get(p->out[i].dtype, p->out[i].raw, (size_t)k);
	return 1;
}

/* the operands of a text as streams, then the op on them, then its results as streams; returns the op */
static inline Op *prog_op(Prog *p, const char *name, const char *operands, const char *attrs)
{
	Tensor *in[PROG_STREAMS];
	int inplace, n = 0;
	for (const char *s = skip_space(operands); *s; s = skip_space(s)) {
		Spec spec;
		if (*s == '-') in[n++] = 0, s++;
		else {
			s = scan_spec(s, &spec);
			in[n++] = prog_load(p, spec);
		}
	}
	const OpDef *d = def_by_name(name, &inplace);
	AttrVal *v = scan_attrs(&p->t, d, attrs);
	Op *op = inplace ? ir_op_inplace(&p->t.b, d->id, in, n, v, 0) : ir_op(&p->t.b, d->id, in, n, v, 0);
	for (int i = 0; i < op->out.n; i++) prog_store(p, op->out.at[i]);
	return op;
}

/* ops of a family whose tests are in a file of their own: window_test.c, scatter_test.c, norm_test.c, order_test.c,
 * tests/api/collective_test.c */
static inline int own_test(int id)
{
	static const char *const families[] = { "window", "scatter", "norm", "order", "collective" };
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (!strcmp(op_table[id]->family, families[i])) return 1;
	return 0;
}

/* a number in [lo, hi), the same on every machine */
static inline double prog_random(unsigned *state, double lo, double hi)
{
	*state = *state * 1664525u + 1013904223u;
	return lo + (hi - lo) * (double)(*state >> 8) / 16777216.0;
}

/* floats from the op's sample range, whole numbers below `top` for the rest */
static inline void prog_fill(Prog *p, double lo, double hi, int top, unsigned seed)
{
	unsigned state = seed * 7919u + 17u;
	for (int i = 0; i < p->nin; i++)
		for (int k = 0; k < p->in[i].n; k++) {
			double x = prog_random(&state, lo, hi);
			p->in[i].v[k] = dtype_is_float(p->in[i].dtype) ? x : floor(prog_random(&state, 0, top));
		}
}

/* operands are what their dtype holds */
static inline void prog_round(Prog *p)
{
	for (int i = 0; i < p->nin; i++)
		for (int k = 0; k < p->in[i].n; k++) {
			char x[8];
			rt_set(p->in[i].dtype, x, 0, p->in[i].v[k]);
			p->in[i].v[k] = rt_get(p->in[i].dtype, x, 0);
		}
}

/* a program of one op on these numbers, operand after operand, open and not yet run; 0: it does not compile */
static inline int prog_given(Prog *p, const char *op, const char *operands, const char *attrs, const double *in)
{
	prog_open(p);
	prog_op(p, op, operands, attrs);
	if (!prog_compile(p, 2)) return 0;
	for (int i = 0; i < p->nin; i++)
		for (int k = 0; k < p->in[i].n; k++) p->in[i].v[k] = *in++;
	return 1;
}

/* it compiles, and running it on these numbers is a fault whose text has `word` */
static inline void fault(const char *op, const char *operands, const char *attrs, const double *in, const char *word)
{
	Prog p;
	int ok = prog_given(&p, op, operands, attrs, in);
	int ran = ok && prog_run(&p);
	if (!ok || ran || !strstr(p.err.text, word)) printf("%s(%s): %s\n", op, operands, p.err.text);
	CHECK("", ok && !ran && strstr(p.err.text, word));
	prog_close(&p);
}

#endif
