/* world.h — a program built through the IR's own interface, compiled and run: what tests of code generation share. */
#ifndef TESTS_API_WORLD_H
#define TESTS_API_WORLD_H

#include <stdlib.h>

#include "compiler/codegen/codegen.h"
#include "compiler/ops/grad.h"
#include "tests/check.h"

/* --- a program under construction, and what it gave ------------------------------------------------------------ */
enum { MAXIO = 12 };
typedef struct World {
	Arena mem;
	Intern names;
	Sources srcs;
	Diags ds;
	jmp_buf oom;
	Ir *ir;
	Build b;
	void *data[MAXIO];           /* per stream */
	size_t bytes[MAXIO];
	Module *mod;
	Plan *plan;
	char error[512];             /* of the last run; empty: none */
} World;

static inline World *world_new(void)
{
	World *w = calloc(1, sizeof *w);
	arena_init(&w->mem, NULL, NULL);
	w->mem.oom = &w->oom;
	intern_init(&w->names, &w->mem);
	w->srcs = (Sources){ .mem = &w->mem };
	w->ds = (Diags){ .mem = &w->mem, .srcs = &w->srcs };
	static const char text[] = "line 1\nline 2\nline 3\n";
	source_add(&w->srcs, "te\"st*/.pxl", NULL, text, sizeof text - 1);
	w->ir = ir_new(&w->mem, &w->names, &w->ds, 1);
	w->b = ir_build(w->ir->main);
	w->b.at = (Span){ 1, 8, 10 };
	return w;
}

static inline void world_free(World *w)
{
	for (int i = 0; i < MAXIO; i++) free(w->data[i]);
	arena_free(&w->mem);
	free(w);
}

static inline void complain(World *w)
{
	Buf b = buf_new(&w->mem);
	for (int i = 0; i < w->ds.at.n; i++) diag_render(&w->ds, w->ds.at.at[i], 0, &b);
	printf("%s\n", b.n ? b.s : "(no diagnostics)");
}

static inline Spec spec(DType t, int rank, const int64_t *dim)
{
	Spec s = { .dtype = t, .shape = { .rank = rank } };
	for (int i = 0; i < rank; i++) s.shape.dim[i] = dim[i];
	return s;
}
#define SPEC(t, ...) spec(t, (int)(sizeof (int64_t[]){ __VA_ARGS__ } / 8), (int64_t[]){ __VA_ARGS__ })
#define SCALAR(t) spec(t, 0, NULL)

/* an input stream with values lo, lo + step, … and the tensor it loads */
static inline Tensor *input(World *w, Spec s, double lo, double step)
{
	Stream *st = ir_stream(&w->b, 1, s, "in");
	size_t n = (size_t)shape_nelems(s.shape);
	w->bytes[st->index] = n * dtype_size(s.dtype);
	w->data[st->index] = calloc(n + 1, 8);
	for (size_t i = 0; i < n; i++) rt_set(s.dtype, w->data[st->index], i, lo + step * (double)i);
	return ir_op(&w->b, OP_host_load, NULL, 0, b_attrs(&w->b, OP_host_load, "h2d_stream", attr_ptr(st), NULL), NULL)->out.at[0];
}

static inline int output(World *w, Tensor *t)
{
	Stream *st = ir_stream(&w->b, 0, t->spec, "out");
	size_t n = (size_t)shape_nelems(t->spec.shape);
	w->bytes[st->index] = n * dtype_size(t->spec.dtype);
	w->data[st->index] = calloc(n + 1, 8);
	ir_op(&w->b, OP_host_store, &t, 1, b_attrs(&w->b, OP_host_store, "d2h_stream", attr_ptr(st), NULL), NULL);
	return st->index;
}

static inline Module *compile(World *w, int level)
{
	Ir *copy = ir_clone(w->ir, &w->mem, NULL);
	PassOptions o = { .level = level, .verify = 1 };
	if (w->ds.errors || !passes_run(copy, &o) || !(w->plan = memplan(copy, &w->mem)) || !(w->mod = codegen(copy, w->plan, &w->mem))) {
		complain(w);
		return NULL;
	}
	return w->mod;
}

static inline RtProgram program(const World *w, RtEntry entry)
{
	const Module *m = w->mod;
	return (RtProgram){ .name = "test", .main = entry, .replicas = 1, .transfers = 1, .frame_bytes = w->plan->frame_bytes,
	                    .var_bytes = w->plan->var_bytes, .const_bytes = w->plan->const_bytes, .consts = m->consts, .nvar = m->nvar,
	                    .nstream = m->nstream, .nsite = m->nsite, .vars = m->vars, .streams = m->streams, .sites = m->sites };
}

static inline int run_code(World *w, RtEntry entry, int threads)
{
	const Module *m = w->mod;
	RtProgram p = program(w, entry);
	RtOptions o = { .threads = threads};
	RtSession *s = NULL;
	RtErr e = { 0 };
	RtBind bind[MAXIO];
	int n = 0, st = rt_session_new(&p, &o, &s, &e);
	for (int i = 0; i < m->nstream; i++)
		if (m->streams[i].used) bind[n++] = (RtBind){ i, w->data[i], m->streams[i].nelem };
	if (!st) st = rt_session_run(s, bind, n, &e);
	snprintf(w->error, sizeof w->error, "%s", e.text);
	rt_session_free(s);
	return st;
}

static inline int run_with(World *w, JitKind kind, int threads)
{
	JitOptions o = { .kind = kind };
	RtErr e = { 0 };
	Jit *j = NULL;
	if (jit_compile(w->mod, &o, &j, &e)) {
		printf("%s\n%s\n", e.text, w->mod->text);
		return -1;
	}
	int st = run_code(w, jit_entry(j), threads);
	jit_free(j);
	return st;
}

/* the outputs' bytes, to compare runs */
static inline uint64_t digest(const World *w)
{
	uint64_t h = 0;
	for (int i = 0; i < w->ir->streams.n; i++)
		if (!w->ir->streams.at[i]->is_input) h = h * 31 + hash_bytes(w->data[i], w->bytes[i]);
	return h;
}

static inline void forget(World *w)
{
	for (int i = 0; i < w->ir->streams.n; i++)
		if (!w->ir->streams.at[i]->is_input) memset(w->data[i], 0xee, w->bytes[i]);
}

#define F32(w, i, k) (((float *)(w)->data[i])[k])
static inline Tensor *op2(World *w, OpCode c, Tensor *x, Tensor *y) { return b_op2(&w->b, c, x, y); }
static inline Tensor *op1(World *w, OpCode c, Tensor *x) { return b_op1(&w->b, c, x); }

#endif
