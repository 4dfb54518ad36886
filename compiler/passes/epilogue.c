/* epilogue.c — what follows a matrix product is computed while the product is in the cache.
 *
 * A fused group that reads the result of a matmul, and is all that reads it, becomes a gemm with it: bias, activation, residual,
 * the gradient of an activation, a scale, a cast.  The group runs on each part of the product that is done, so its bits are those
 * it had.  The product lies in one of the group's results until that is stored over it, or, where none fits, in one of its own.
 *
 * The product moves down to its group.  That is fine where, in one order that is valid, nobody between the two writes what it
 * reads, and where it does not keep more memory alive on the way than it saves.
 * A group that ends in folds has its own caller.
 * After: a fused group reads a plain product only if something else does, too, or if one of these conditions fails. */
#include "compiler/passes/pass.h"

#include <string.h>

typedef struct Epilogue {
	PassCx *cx;
	Graph *g;
	Rewrite rw;
	Written w;
	int *pos, *waited, ids;      /* by op id: its place in the order, and that of the first op that waits for it */
	int *last;                   /* by tensor index of a root: the place of its last reader */
} Epilogue;

static size_t bytes_of(const Tensor *t) { return (size_t)shape_nelems(t->spec.shape) * dtype_size(t->spec.dtype); }

/* --- may the product move ------------------------------------------------------------------------------------------- */

static void look_around(Epilogue *x, Op **seq)
{
	Arena *mem = x->cx->mem;
	int n = x->g->ops.n;

	x->pos = NEWN(mem, int, x->ids + 1);
	x->waited = NEWN(mem, int, x->ids + 1);
	x->last = NEWN(mem, int, x->cx->ir->ntensor + 1);
	for (int i = 0; i < x->ids; i++) x->waited[i] = n;
	for (int i = n - 1; i >= 0; i--) {
		x->pos[seq[i]->id] = i;
		for (int k = 0; k < seq[i]->after.n; k++) x->waited[seq[i]->after.at[k]->id] = i;
		for (int k = 0; k < seq[i]->in.n; k++) {
			int *last = seq[i]->in.at[k] ? &x->last[storage_root(seq[i]->in.at[k])->index] : NULL;
			if (last && *last < i) *last = i;
		}
	}
	for (int i = 0; i < x->g->outputs.n; i++) x->last[storage_root(x->g->outputs.at[i])->index] = n;
}

/* bytes that would live longer: operands that nobody reads from `to` on, except those that live as long as the graph */
static size_t kept_alive(const Epilogue *x, const Op *product, int to)
{
	size_t bytes = 0;

	for (int i = 0; i < 2; i++) {
		const Tensor *root = storage_root(product->in.at[i]);
		if (root->def && x->last[root->index] < to) bytes += bytes_of(root);
	}
	return bytes;
}

/* the result in whose memory the product can lie: its own, as wide; if there is none, the number of results */
static int room_for(const Op *group, const Tensor *t)
{
	const Pattern *p = op_pattern(group);

	for (int i = 0; i < p->outs.n; i++)
		if (p->outs.at[i].into < 0 && dtype_size(group->out.at[i]->spec.dtype) == dtype_size(t->spec.dtype)) return i;
	return p->outs.n;
}

static int has_more_results(const Op *group, const Tensor *t)
{
	const Pattern *p = op_pattern(group);
	int room = room_for(group, t);

	for (int i = 0; i < p->outs.n; i++)
		if (i != room && p->outs.at[i].into < 0) return 1;
	return 0;
}

static int moves(const Epilogue *x, const Op *product, const Op *group)
{
	int from = x->pos[product->id], to = x->pos[group->id];
	size_t kept = kept_alive(x, product, to);

	for (int i = 0; i < 2; i++)
		if (is_written(&x->w, product->in.at[i]) && x->waited[product->id] < to) return 0;
	return !kept || (!has_more_results(group, product->out.at[0]) && (to == from + 1 || kept <= bytes_of(product->out.at[0])));
}

/* --- which product --------------------------------------------------------------------------------------------------- */

/* a product of matrices that reaches t through views that change its shape alone, for t's reader only */
static Op *product_behind(Tensor *t)
{
	Layout l = layout_of(t);

	if (!l.root->def || l.root->def->code != OP_matmul || !layout_contiguous(&l, t->spec.shape)) return NULL;
	if (shape_nelems(l.root->spec.shape) != shape_nelems(t->spec.shape)) return NULL;
	for (; t != l.root; t = t->def->in.at[0])
		if (!sole_user(t)) return NULL;
	return sole_user(t) ? t->def : NULL;
}

/* nothing that the group writes is read by the product */
static int writes_apart(const Op *group, const Op *product)
{
	for (int i = 0; i < group->in.n; i++)
		for (int k = 0; k < 2 && op_modifies(group, i); k++)
			if (storage_root(group->in.at[i]) == storage_root(product->in.at[k])) return 0;
	return 1;
}

static int fits(const Epilogue *x, const Op *group, int i)
{
	Tensor *t = group->in.at[i];
	Op *product = t ? product_behind(t) : NULL;
	Shape s = op_pattern(group)->shape, y;

	if (!product || op_modifies(group, i) || !shape_eq(t->spec.shape, s)) return 0;
	if (product->in.at[0]->spec.shape.rank < 2 || product->in.at[1]->spec.shape.rank < 2) return 0;
	y = product->out.at[0]->spec.shape;
	return s.dim[s.rank - 1] > 1 && s.dim[s.rank - 1] == y.dim[y.rank - 1] && writes_apart(group, product) && moves(x, product, group);
}

/* the operand that is made last among those that fit, or -1 */
static int choose(const Epilogue *x, const Op *group)
{
	int best = -1;

	for (int i = 0; i < group->in.n; i++)
		if (fits(x, group, i) && (best < 0 || x->pos[product_behind(group->in.at[i])->id] > x->pos[product_behind(group->in.at[best])->id])) best = i;
	return best;
}

/* --- joining ----------------------------------------------------------------------------------------------------------- */

/* operands are numbered anew: the product is 0, the others follow its two */
static void renumber(Pattern *p, int product)
{
	for (int i = 0; i < p->nodes.n; i++) {
		FuseNode *n = &p->nodes.at[i];
		if (n->kind == FUSE_LOAD) n->operand = n->operand == product ? 0 : n->operand + 1 + (n->operand < product);
	}
	for (int i = 0; i < p->outs.n; i++)
		if (p->outs.at[i].into >= 0) p->outs.at[i].into += 1 + (p->outs.at[i].into < product);
}

static Op *make_gemm(Epilogue *x, const Op *group, int at, const Op *product)
{
	Arena *mem = x->cx->mem;
	Build b = build_at(group);
	Pattern *p = op_pattern(group);
	Tensor **in = NEWN(mem, Tensor *, group->in.n + 2);
	int n = 2;
	Op *made;

	in[0] = product->in.at[0];
	in[1] = product->in.at[1];
	for (int i = 0; i < group->in.n; i++)
		if (i != at) in[n++] = group->in.at[i];
	renumber(p, at);
	p->product = room_for(group, product->out.at[0]);
	p->label = arena_printf(mem, "%s behind a product", p->label);
	made = ir_op(&b, OP_gemm, in, n, group->attr, NULL);
	for (int i = 0; i < group->out.n; i++) ir_new_result(made, group->out.at[i]->spec, take_name(group->out.at[i]));
	if (p->product == p->outs.n) ir_new_result(made, product->out.at[0]->spec, take_name(product->out.at[0]));
	return made;
}

static void join(Epilogue *x, Op *group)
{
	int at = op_pattern(group)->folded ? -1 : choose(x, group), mark = x->g->ops.n;
	Op *product, *made;

	if (at < 0) return;
	product = product_behind(group->in.at[at]);
	made = make_gemm(x, group, at, product);
	for (Tensor *t = group->in.at[at]; t != product->out.at[0]; t = t->def->in.at[0]) rewrite_join(&x->rw, &x->w, t->def, &(Tensor *){ NULL }, mark);
	rewrite_join(&x->rw, &x->w, product, &(Tensor *){ NULL }, mark);
	rewrite_replace(&x->rw, group, made->out.at, mark);
}

static int join_all(PassCx *cx, Graph *g)
{
	Epilogue x = { .cx = cx, .g = g, .rw = rewrite_begin(cx, g), .w = written_roots(cx, g), .ids = cx->ir->next_op };
	Op **seq = schedule(g, cx->mem);
	int n = g->ops.n;

	if (!seq) return 0;
	look_around(&x, seq);
	for (int i = 0; i < n; i++)
		if (seq[i]->code == OP_fused) join(&x, seq[i]);
	rewrite_end(&x.rw);
	return 1;
}

int pass_epilogue(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++)
		if (!join_all(cx, cx->ir->graphs.at[i])) return 0;
	return 1;
}
