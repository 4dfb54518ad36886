/* fold.c — compute on constants now.
 *
 * An elementwise op all of whose operands are small constants becomes a constant.  Its expression is
 * bound to a pattern, as fusing does, and the pattern is run with the very primitives that emitted code
 * calls, so the bits are those the program would have computed.  What can fail at run time, as dividing
 * integers, is left to run time.
 * After: no such op has only constant operands of up to MAX_ELEMS elements. */
#include "compiler/passes/pass.h"

enum { MAX_ELEMS = 4096 };

/* one node's value: count elements of its class, 8 bytes at most each */
typedef union Block { float *f32; double *f64; long long *i64; unsigned long long *u64; void *any; } Block;

static void run_prim(const struct pxlrt *rt, const FuseNode *n, const Block *v, Block y, long count)
{
	Block a[3];

	for (int i = 0; i < 3; i++) a[i] = v[n->arg[i]];
	switch (n->cls) {
	case PXLRT_F32: prim_f32(n->prim, y.f32, (float *[]){ a[0].f32, a[1].f32, a[2].f32 }, count); break;
	case PXLRT_F64: prim_f64(n->prim, y.f64, (double *[]){ a[0].f64, a[1].f64, a[2].f64 }, count); break;
	case PXLRT_I64: prim_i64(n->prim, y.i64, (long long *[]){ a[0].i64, a[1].i64, a[2].i64 }, count); break;
	default: prim_u64(n->prim, y.u64, (unsigned long long *[]){ a[0].u64, a[1].u64, a[2].u64 }, count); break;
	}
	if (n->norm && rt->norm[n->dtype]) rt->norm[n->dtype](y.any, count);
}

/* a cast gives integers in their own type, and here they are all wide */
static void run_cvt(Arena *mem, const Pattern *p, const FuseNode *n, const Block *v, Block y, long count)
{
	const struct pxlrt *rt = rt_table();
	void *own = dtype_is_float(n->dtype) || dtype_is_f8(n->dtype) ? y.any : arena_allocn(mem, (size_t)count + 8, 8);
	rt->cvt[p->nodes.at[n->arg[0]].cls][n->dtype](own, v[n->arg[0]].any, count);
	if (own != y.any) rt->ld[n->dtype](y.any, own, 1, count);
}

static void fill(const FuseNode *n, Block y, long count)
{
	for (long i = 0; i < count; i++) {
		if (n->cls == PXLRT_F32) y.f32[i] = (float)n->f;
		else if (n->cls == PXLRT_F64) y.f64[i] = n->f;
		else y.i64[i] = n->i;
	}
}

/* element i of the iteration, seen in an operand of shape x that is broadcast to shape s */
static int64_t broadcast_index(int64_t i, Shape s, Shape x)
{
	int64_t at = 0, step = 1;

	for (int k = s.rank - 1, q = x.rank - 1; k >= 0; k--, q--) {
		int64_t c = i % s.dim[k];
		i /= s.dim[k];
		if (q < 0) continue;
		if (x.dim[q] != 1) at += c * step;
		step *= x.dim[q];
	}
	return at;
}

static void read_constant(const struct pxlrt *rt, Tensor *t, Shape s, Block y, long count)
{
	const char *bytes = host_bytes(t->graph->ir->mem, t->data, t->graph->ir->seed);
	size_t size = dtype_size(t->spec.dtype);
	int wide = dtype_class(t->spec.dtype) == PXLRT_F32 ? 4 : 8;

	if (shape_eq(s, t->spec.shape)) {
		rt->ld[t->spec.dtype](y.any, bytes, 1, count);
		return;
	}
	for (long i = 0; i < count; i++)
		rt->ld[t->spec.dtype]((char *)y.any + (size_t)i * (size_t)wide, bytes + (size_t)broadcast_index(i, s, t->spec.shape) * size, 1, 1);
}

static HostArray *evaluate(Arena *mem, const Op *op, const Pattern *p, int root)
{
	const struct pxlrt *rt = rt_table();
	const Spec *spec = &op->out.at[0]->spec;
	long count = (long)shape_nelems(spec->shape);
	Block *v = NEWN(mem, Block, p->nodes.n + 1);
	HostArray *h = host_new(mem, spec->dtype, spec->shape);

	for (int i = 0; i < p->nodes.n; i++) {
		const FuseNode *n = &p->nodes.at[i];
		v[i].any = arena_allocn(mem, (size_t)count + 8, 8);
		switch (n->kind) {
		case FUSE_LOAD: read_constant(rt, op->in.at[n->operand], spec->shape, v[i], count); break;
		case FUSE_CONST: fill(n, v[i], count); break;
		case FUSE_CVT: run_cvt(mem, p, n, v, v[i], count); break;
		case FUSE_PRIM: run_prim(rt, n, v, v[i], count); break;
		}
	}
	rt->st[spec->dtype](host_bytes(mem, h, 0), 1, v[root].any, count);
	return h;
}

static int foldable(const Written *w, const Op *op)
{
	int64_t n;

	if (!op_is(op, ELTWISE) || !op_is(op, PURE) || op->inplace || op->out.n != 1) return 0;
	n = shape_nelems(op->out.at[0]->spec.shape);
	if (n < 1 || n > MAX_ELEMS || dtype_is_f8(op->out.at[0]->spec.dtype)) return 0;
	if (is_written(w, op->out.at[0])) return 0;
	for (int i = 0; i < op->in.n; i++) {
		const Tensor *t = op->in.at[i];
		if (t && (t->kind != T_CONSTANT || !t->data || dtype_is_f8(t->spec.dtype))) return 0;
	}
	return 1;
}

static Tensor *fold(PassCx *cx, Op *op)
{
	Pattern p;
	int root = bind_alone(cx->mem, &p, op);
	Build b = build_at(op);

	if (root < 0 || pattern_fails(&p, op)) return NULL;
	return ir_constant(&b, evaluate(cx->mem, op, &p, root), op->out.at[0]->name);
}

int pass_fold(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++) {
		Graph *g = cx->ir->graphs.at[i];
		Rewrite rw = rewrite_begin(cx, g);
		Written w = written_roots(cx, g);
		Op **order = schedule(g, cx->mem);
		int n = g->ops.n;

		if (!order) return 0;
		for (int k = 0; k < n; k++) {
			Tensor *t = foldable(&w, order[k]) ? fold(cx, order[k]) : NULL;
			if (t) rewrite_replace(&rw, order[k], &t, g->ops.n);
		}
		rewrite_end(&rw);
	}
	return 1;
}
