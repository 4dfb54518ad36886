/* exec.h — run an Ir made in a test: passes, plan, C, machine code, session. */
#ifndef TESTS_IR_EXEC_H
#define TESTS_IR_EXEC_H

#include "compiler/codegen/codegen.h"
#include "compiler/ops/grad.h"
#include "tests/check.h"

typedef struct World { Arena mem; Intern names; Sources srcs; Diags ds; Ir *ir; jmp_buf oom; } World;

static inline void world_begin(World *w)
{
	memset(w, 0, sizeof *w);
	arena_init(&w->mem, alloc_libc, NULL);
	w->mem.oom = &w->oom;
	intern_init(&w->names, &w->mem);
	w->srcs.mem = &w->mem;
	w->ds = (Diags){ .mem = &w->mem, .srcs = &w->srcs };
	w->ir = ir_new(&w->mem, &w->names, &w->ds, 1);
}

static inline void world_end(World *w) { arena_free(&w->mem); }

static inline void show_diags(World *w)
{
	for (int i = 0; i < w->ds.at.n; i++) printf("%s\n", w->ds.at.at[i]->text);
}

static inline Spec spec(DType t, int rank, int64_t a, int64_t b)
{
	return (Spec){ .dtype = t, .shape = { .rank = rank, .dim = { a, b } } };
}

/* a model input, fed by stream; and an output */
static inline Tensor *load(Build *b, const char *name, Spec s)
{
	AttrVal *a = b_attrs(b, OP_host_load, "h2d_stream", attr_ptr(ir_stream(b, 1, s, name)), NULL);
	return ir_op(b, OP_host_load, NULL, 0, a, NULL)->out.at[0];
}

static inline void store(Build *b, const char *name, Tensor *t)
{
	AttrVal *a = b_attrs(b, OP_host_store, "d2h_stream", attr_ptr(ir_stream(b, 0, t->spec, name)), NULL);
	ir_op(b, OP_host_store, &t, 1, a, NULL);
}

static inline Tensor *var_of(World *w, Build *b, const char *name, int n, const float *x)
{
	HostArray *h = host_new(&w->mem, DT_F32, (Shape){ .rank = 1, .dim = { n } });
	memcpy(host_bytes(&w->mem, h, 0), x, (size_t)n * sizeof *x);
	return ir_variable(b, h, name);
}

typedef struct Feed { const char *stream; void *data; size_t count; } Feed;

static inline RtProgram describe(const Ir *ir, const Plan *p, const Module *m, Jit *j)
{
	return (RtProgram){ .name = "test", .main = jit_entry(j), .replicas = ir->local_replicas, .transfers = ir->transfers,
		.frame_bytes = p->frame_bytes, .var_bytes = p->var_bytes, .const_bytes = p->const_bytes, .consts = m->consts,
		.nvar = m->nvar, .nstream = m->nstream, .nsite = m->nsite, .vars = m->vars, .streams = m->streams, .sites = m->sites };
}

typedef struct Ran { int ok; Plan *plan; Ir *ir; const char *text; } Ran;

static inline int run_session(const RtProgram *rp, const Feed *f, int n, int runs)
{
	RtErr e = { 0 };
	RtOptions o = { .threads = 1, .alloc = { alloc_libc, NULL } };
	RtSession *s = NULL;
	RtBind binds[16];
	int nb = 0, st = rt_session_new(rp, &o, &s, &e);

	for (int i = 0; i < n; i++)
		for (int k = 0; k < rp->nstream; k++)
			if (!strcmp(rp->streams[k].name, f[i].stream)) binds[nb++] = (RtBind){ k, f[i].data, f[i].count };
	for (int i = 0; !st && i < runs; i++) st = rt_session_run(s, binds, nb, &e);
	if (st) printf("run: %s\n", e.text);
	rt_session_free(s);
	return !st;
}

/* compile a copy of w->ir at the given level and run it */
static inline Ran run_ir(World *w, int level, const Feed *f, int n, int runs)
{
	Ran r = { 0 };
	RtErr e = { 0 };
	Jit *j = NULL;
	Module *m;
	RtProgram rp;

	r.ir = ir_clone(w->ir, &w->mem, NULL);
	if (!passes_run(r.ir, &(PassOptions){ .level = level, .verify = 1 })) return show_diags(w), r;
	if (!(r.plan = memplan(r.ir, &w->mem)) || !(m = codegen(r.ir, r.plan, &w->mem))) return show_diags(w), r;
	r.text = m->text;
	if (jit_compile(m, &(JitOptions){ .kind = JIT_TCC, .alloc = { alloc_libc, NULL } }, &j, &e)) {
		printf("jit: %s\n%s\n", e.text, m->text);
		return r;
	}
	rp = describe(r.ir, r.plan, m, j);
	r.ok = run_session(&rp, f, n, runs);
	jit_free(j);
	return r;
}

#endif
