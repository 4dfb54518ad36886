/* reduce.c — reductions as the ends of the loops before them.
 *
 * A sum, mean, maximum … of what a fused loop makes is folded while it is made, a few thousand elements at a time (runtime/kernels/fold.c):
 * what only reductions read is never stored, and what others read too is read back once less.  A loop takes up to PXLRT_FOLDS of them, all
 * over the same axes; a reduction reads nothing else, so it may always move to where its operand is made.
 * After: as before, with fewer ops.  A loop's row need not end where a piece of a plain reduction does, so last bits may differ. */
#include "compiler/passes/pass.h"

#include "runtime/runtime.h"

#include <string.h>

typedef struct End { Op *op; int out; } End;             /* op reduces result `out` of the loop */
typedef VEC(End) Ends;

/* no order but that of the data */
static int follows_only(const Op *op, const Op *loop)
{
	for (int i = 0; i < op->after.n; i++)
		if (op->after.at[i] != loop) return 0;
	return 1;
}

static int may_end(const Op *loop, const Op *op)
{
	Shape s = op_pattern(loop)->shape;
	struct pxlrt_fold d = { .width = 1, .folds = PXLRT_FOLDS };
	int64_t dim[4];
	int kind = reduce_kind(op);

	if (kind < 0 || kind == PXLRT_LOGSUMEXP || !same_place(loop, op) || !follows_only(op, loop) || !fold_space(s, op_axes(op), dim)) return 0;
	for (int i = 0; i < 4; i++) d.dim[i] = dim[i];
	return rt_fold_fits(&d);
}

static Ends ends_of(PassCx *cx, const Op *loop)
{
	Ends ends = { 0 };

	for (int k = 0; k < loop->out.n; k++) {
		const Tensor *t = loop->out.at[k];
		for (int i = 0; i < t->uses.n && ends.n < PXLRT_FOLDS; i++) {
			Op *op = t->uses.at[i].op;
			if (may_end(loop, op) && (!ends.n || op_axes(op) == op_axes(ends.at[0].op))) vec_push(cx->mem, &ends, ((End){ op, k }));
		}
	}
	return ends;
}

/* does anybody but the ends read result k */
static int is_stored(const Op *loop, int k, const Ends *ends)
{
	const Tensor *t = loop->out.at[k];
	int folded = 0;

	for (int i = 0; i < ends->n; i++) folded += ends->at[i].out == k;
	return op_pattern(loop)->outs.at[k].into >= 0 || t->uses.n > folded || is_output(t);
}

static Tensor *add_result(PassCx *cx, Op *loop, FuseOut out, Tensor *old)
{
	vec_push(cx->mem, &op_pattern(loop)->outs, out);
	return ir_new_result(loop, old->spec, take_name(old));
}

static void add_ends(Rewrite *rw, Op *loop, const Ends *ends)
{
	PassCx *cx = rw->cx;
	const Pattern *was = op_pattern(loop);
	Pattern *p = NEW(cx->mem, Pattern);
	AttrVal attrs[2] = { attr_ptr(p), { 0 } };
	Tensor **with = NEWN(cx->mem, Tensor *, loop->out.n);
	Build b = build_at(ends->at[0].op);
	OpList *made = NEW(cx->mem, OpList);

	*p = *was;
	memset(&p->outs, 0, sizeof p->outs);
	p->folded = op_axes(ends->at[0].op);
	Op *op = ir_op(&b, OP_fused, loop->in.at, loop->in.n, attrs, NULL);
	vec_push(cx->mem, made, op);
	for (int k = 0; k < loop->out.n; k++)
		if (is_stored(loop, k, ends)) with[k] = add_result(cx, op, was->outs.at[k], loop->out.at[k]);
	for (int i = 0; i < ends->n; i++) {
		Op *r = ends->at[i].op;
		Tensor *y = add_result(cx, op, (FuseOut){ was->outs.at[ends->at[i].out].node, -1, 1 + reduce_kind(r) }, r->out.at[0]);
		rewrite_replace_by(rw, r, &y, made);
		p->label = arena_printf(cx->mem, "%s %s.%d", p->label, op_type_name(r), r->id);
		p->flops += op_def(r)->flops;
	}
	rewrite_replace_by(rw, loop, with, made);
}

static void find_ends(Rewrite *rw, const Written *w, Op *op)
{
	(void)w;
	if (op->code != OP_fused || op->in.n + op->out.n + PXLRT_FOLDS > PXLRT_FOLD_POINTERS || !shape_nelems(op_pattern(op)->shape)) return;
	Ends ends = ends_of(rw->cx, op);
	if (ends.n) add_ends(rw, op, &ends);
}

int pass_reduce(PassCx *cx) { return rewrite_ops(cx, find_ends); }
