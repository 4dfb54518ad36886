/* layout.c — channels in blocks, from one convolution to the next.
 *
 * Kernels of convolutions want 16 channels of a place side by side (compiler/ops/blocks.h).  A convolution between plain
 * tensors turns them over and back itself; this pass finds regions in which everything lies in blocks, so that only what
 * enters or leaves a region is turned over, once.
 *
 * A region is a set of tensors tied by ops that do not care how their operands lie as long as all lie alike: elementwise
 * ops, pooling, and their gradients.  Convolutions are its reason: each operand or result that one takes in blocks saves
 * a pass over that tensor.  A border costs one: a tensor made elsewhere, or read by somebody who needs it plain, which
 * includes a graph's outputs, views, calls and stores.  Folds that leave no part of space without the rest read either
 * layout.  A region is made blocked when it saves more than its borders cost.
 *
 * What is smaller than the images and spread over them, such as a bias per channel, is looked at as a view of another
 * shape.  Memory that somebody writes keeps its layout, and so does what an op in place touches.  Graphs are looked at
 * one by one: inputs and outputs of those that are still called lie plain.
 * After: as before; sums over space may go through their elements in another order. */
#include "compiler/passes/pass.h"

#include "compiler/ops/blocks.h"

#include <string.h>

typedef struct Region { int64_t saved, cost; int stuck; } Region;       /* bytes; stuck: a border cannot be crossed */

/* what an op has to do with blocks: bits of operands and the result, as in blocks.h */
typedef struct Role { Blocking how; int bits; } Role;

typedef struct Assign {
	PassCx *cx;
	Graph *g;
	Written w;
	int *up;                     /* by tensor index: union-find */
	Region *region;              /* by tensor index of a root */
	Role *role;                  /* by op id, of those that were there before */
	int ids;
	Map blocked;                 /* Tensor * → the same in blocks */
} Assign;

/* --- tensors --------------------------------------------------------------------------------------------------------- */

static int lies_contiguous(Tensor *t)
{
	Layout l = layout_of(t);

	return layout_contiguous(&l, t->spec.shape);
}

static int64_t bytes_of(const Tensor *t) { return shape_nelems(t->spec.shape) * (int64_t)dtype_size(t->spec.dtype); }

static int may_turn(const Tensor *t) { return t->spec.dtype == DT_F32; }         /* the kernel turns nothing else over */

/* values repeated by strides of 0: could as well be computed */
static int is_broadcast_view(const Op *op) { return op && op->inplace && op_def(op)->inplace != MODIFIES && op_is(op, ELTWISE); }

static int may_block(Assign *a, Tensor *t)
{
	return shape_has_blocks(t->spec.shape) && !is_written(&a->w, t) && (lies_contiguous(t) || is_broadcast_view(t->def));
}

/* --- operands that are spread over the images ------------------------------------------------------------------------- */

typedef enum Spread { SPREAD_ONE, SPREAD_VIEW, SPREAD_TURNED, SPREAD_NOT } Spread;

static Shape padded(Shape s, int rank)
{
	Shape p = { .rank = rank };

	for (int i = 0; i < rank; i++) p.dim[i] = i < rank - s.rank ? 1 : s.dim[i - (rank - s.rank)];
	return p;
}

static int space_of(Shape s)
{
	int64_t n = 1;

	for (int i = 2; i < s.rank; i++) n *= s.dim[i];
	return n > 1;
}

/* how t is read beside blocked images of `rank` axes before they were blocked */
static Spread spread_of(Assign *a, Tensor *t, int rank)
{
	Shape p = padded(t->spec.shape, rank);

	if (shape_nelems(p) == 1) return SPREAD_ONE;
	if (!lies_contiguous(t)) return SPREAD_NOT;
	if (p.dim[1] == 1 || !space_of(p)) return SPREAD_VIEW;
	return may_turn(t) && !is_written(&a->w, t) ? SPREAD_TURNED : SPREAD_NOT;
}

/* --- ops ---------------------------------------------------------------------------------------------------------------- */

/* lists of numbers among the attributes speak of axes; a shape may only be the result's */
static int says_axes(const Op *op)
{
	const Param *p = op_def(op)->params;
	Shape s = op->out.at[0]->spec.shape;

	for (int i = 0; p && p[i].kind != P_END; i++) {
		const AttrVal *v = &op->attr[i];
		if (p[i].kind == P_INTS) return 1;
		if (p[i].kind == P_SHAPE && (v->ints.n != s.rank || memcmp(v->ints.at, s.dim, (size_t)s.rank * sizeof *s.dim))) return 1;
	}
	return 0;
}

static int images_of(const Op *op)
{
	int bits = BLOCKED_OUT;

	for (int i = 0; i < op->in.n && i < 8; i++)
		if (op->in.at[i] && shape_eq(op->in.at[i]->spec.shape, op->out.at[0]->spec.shape)) bits |= 1 << i;
	return bits;
}

static Role elementwise_role(Assign *a, Op *op)
{
	Role r = { BLOCKS_ALIKE, images_of(op) };
	Tensor *y = op->out.at[0];

	if ((op->inplace && !is_broadcast_view(op)) || op->out.n != 1 || op->in.n > 8 || !may_block(a, y) || says_axes(op)) return (Role){ NO_BLOCKS, 0 };
	for (int i = 0; i < op->in.n; i++) {
		Tensor *t = op->in.at[i];
		if (!t) continue;
		if (r.bits >> i & 1 ? !may_block(a, t) : spread_of(a, t, y->spec.shape.rank) == SPREAD_NOT) return (Role){ NO_BLOCKS, 0 };
	}
	return r;
}

static Role alike_role(Assign *a, Op *op)
{
	Role r = { BLOCKS_ALIKE, BLOCKED_OUT | ((1 << op->in.n) - 1) };

	for (int i = 0; i < op->in.n; i++)
		if (!may_block(a, op->in.at[i])) return (Role){ NO_BLOCKS, 0 };
	return may_block(a, op->out.at[0]) && op_def(op)->takes_blocks(op, r.bits) ? r : (Role){ NO_BLOCKS, 0 };
}

static Tensor *side(const Op *op, int bit)
{
	for (int i = 0; i < op->in.n; i++)
		if (bit == 1 << i) return op->in.at[i];
	return op->out.at[0];
}

/* sides are taken one by one, each as long as it goes with those before */
static Role each_role(Assign *a, Op *op)
{
	Role r = { BLOCKS_EACH, 0 };

	for (int bit = 1; bit <= BLOCKED_OUT; bit <<= 1) {
		int there = bit == BLOCKED_OUT || bit < 1 << op->in.n;
		if (there && side(op, bit) && may_block(a, side(op, bit)) && op_def(op)->takes_blocks(op, bit) && op_def(op)->takes_blocks(op, r.bits | bit)) r.bits |= bit;
	}
	return r;
}

/* what is left of [N, C / 16, D…, 16] is what is left of [N, C, D…], in order */
static Role folded_role(Assign *a, const Op *op)
{
	Shape s = op->in.at[0]->spec.shape;
	unsigned axes = op_axes(op);
	int left = 0;

	for (int i = 2; i < s.rank; i++) left |= !(axes >> i & 1) && s.dim[i] != 1;
	if (!may_block(a, op->in.at[0]) || (!(axes & 2) && left)) return (Role){ NO_BLOCKS, 0 };
	return (Role){ BLOCKS_FOLDED, 1 };
}

static Role role_of(Assign *a, Op *op)
{
	const OpDef *d = op_def(op);

	if (!op_is(op, PURE) || op_is(op, RANDOM | CALLS) || op->out.n < 1 || op_modifies_any(op)) return (Role){ NO_BLOCKS, 0 };
	if (op_is(op, ELTWISE)) return elementwise_role(a, op);
	switch (d->blocking) {
	case BLOCKS_ALIKE:  return alike_role(a, op);
	case BLOCKS_EACH:   return each_role(a, op);
	case BLOCKS_FOLDED: return folded_role(a, op);
	case NO_BLOCKS:     break;
	}
	return (Role){ NO_BLOCKS, 0 };
}

/* --- regions -------------------------------------------------------------------------------------------------------------- */

static int find(Assign *a, int i)
{
	while (a->up[i] != i) i = a->up[i] = a->up[a->up[i]];
	return i;
}

static Region *region_of(Assign *a, const Tensor *t) { return &a->region[find(a, t->index)]; }

static void tie(Assign *a, const Op *op, Role r)
{
	for (int i = 0; r.how == BLOCKS_ALIKE && i < op->in.n; i++)
		if (r.bits >> i & 1) a->up[find(a, op->in.at[i]->index)] = find(a, op->out.at[0]->index);
}

static int bits_of(Assign *a, const Op *op) { return op->id < a->ids ? a->role[op->id].bits : 0; }

static int made_in_blocks(Assign *a, const Tensor *t) { return t->def && t->def_index == 0 && bits_of(a, t->def) & BLOCKED_OUT; }

static int read_by(Assign *a, const Tensor *t, int blocked)
{
	for (int i = 0; i < t->uses.n; i++) {
		Use u = t->uses.at[i];
		if ((u.index < 8 && bits_of(a, u.op) >> u.index & 1) == blocked) return 1;
	}
	return 0;
}

static int needed_plain(Assign *a, const Tensor *t) { return is_output(t) || read_by(a, t, 0); }

static void count_border(Assign *a, Tensor *t)
{
	Region *r = region_of(a, t);
	int made = made_in_blocks(a, t);

	if (made ? !needed_plain(a, t) : !read_by(a, t, 1)) return;
	if (is_broadcast_view(t->def) && made) return;           /* the view stays for those */
	r->cost += bytes_of(t);
	r->stuck |= !may_turn(t) || (!made && !lies_contiguous(t));
}

static void count_op(Assign *a, const Op *op, Role r)
{
	for (int bit = 1; r.how == BLOCKS_EACH && bit <= BLOCKED_OUT; bit <<= 1)
		if (r.bits & bit) region_of(a, side(op, bit))->saved += bytes_of(side(op, bit));
	for (int i = 0; r.how == BLOCKS_ALIKE && i < op->in.n; i++) {
		Tensor *t = op->in.at[i];
		if (t && !(r.bits >> i & 1) && spread_of(a, t, op->out.at[0]->spec.shape.rank) == SPREAD_TURNED) region_of(a, op->out.at[0])->cost += bytes_of(t);
	}
}

static int pays(Assign *a, const Tensor *t)
{
	const Region *r = region_of(a, t);

	return !r->stuck && r->saved > r->cost;
}

/* which bits are left of each op's when regions that do not pay are plain; 0: none at all */
static int choose(Assign *a)
{
	int any = 0;

	for (int k = 0; k < a->g->ops.n; k++) {
		const Op *op = a->g->ops.at[k];
		Role *r = &a->role[op->id];
		for (int bit = 1; bit <= BLOCKED_OUT; bit <<= 1)
			if (r->bits & bit && !pays(a, side(op, bit))) r->bits &= ~bit;
		any |= r->bits;
	}
	return any;
}

static int assign(Assign *a)
{
	Graph *g = a->g;
	int seeds = 0;

	for (int k = 0; k < g->ops.n; k++) seeds |= op_def(g->ops.at[k])->blocking == BLOCKS_EACH;
	if (!seeds) return 0;
	a->w = written_roots(a->cx, g);
	a->up = NEWN(a->cx->mem, int, a->cx->ir->ntensor + 1);
	a->region = NEWN(a->cx->mem, Region, a->cx->ir->ntensor + 1);
	a->ids = a->cx->ir->next_op;
	a->role = NEWN(a->cx->mem, Role, a->ids + 1);
	for (int i = 0; i < g->tensors.n; i++) a->up[g->tensors.at[i]->index] = g->tensors.at[i]->index;
	for (int k = 0; k < g->ops.n; k++) tie(a, g->ops.at[k], a->role[g->ops.at[k]->id] = role_of(a, g->ops.at[k]));
	for (int i = 0; i < g->tensors.n; i++) count_border(a, g->tensors.at[i]);
	for (int k = 0; k < g->ops.n; k++) count_op(a, g->ops.at[k], a->role[g->ops.at[k]->id]);
	return choose(a);
}

/* --- rewriting --------------------------------------------------------------------------------------------------------------- */

/* t in other clothes; memory of its own where somebody else decides about it */
static Tensor *seen_as(Build *b, Tensor *t, Shape s, int own)
{
	Tensor *v = b_reshape(b, t, s);

	if (v != t && !own) set_viewing(v->def, 1);
	return v;
}

static Tensor *in_blocks(Assign *a, Build *b, Tensor *t)
{
	Tensor *y = map_get(&a->blocked, t);

	if (!y) map_set(a->cx->mem, &a->blocked, t, y = b_op1(b, OP_to_blocks, t));
	return y;
}

/* a smaller operand beside blocked images */
static Tensor *spread(Assign *a, Build *b, Tensor *t, int rank)
{
	Shape p = padded(t->spec.shape, rank);

	switch (spread_of(a, t, rank)) {
	case SPREAD_VIEW:
		if (p.dim[1] > 1) p = shape_blocked(p);
		else p.dim[p.rank++] = 1;
		return seen_as(b, t, p, 0);
	case SPREAD_TURNED: return in_blocks(a, b, seen_as(b, t, p, 0));
	case SPREAD_ONE: case SPREAD_NOT: break;
	}
	return t;
}

/* attributes as they are for blocked operands */
static AttrVal *attrs_in_blocks(Assign *a, const Op *op, Role r)
{
	const OpDef *d = op_def(op);
	Arena *mem = a->cx->mem;
	int n = 0, flag = op_param(d, "_blocked"), rank = op->in.n && op->in.at[0] ? op->in.at[0]->spec.shape.rank : 0;

	while (d->params && d->params[n].kind != P_END) n++;
	AttrVal *v = NEWN(mem, AttrVal, n + 1);
	if (n) memcpy(v, op->attr, (size_t)n * sizeof *v);
	if (flag >= 0) v[flag] = attr_int(r.bits);
	for (int i = 0; r.how == BLOCKS_ALIKE && i < n; i++) {
		Shape s = shape_blocked(op->out.at[0]->spec.shape);
		if (d->params[i].kind == P_SHAPE) v[i] = attr_ints(mem, s.dim, s.rank);
	}
	if (r.how == BLOCKS_FOLDED && op_axes(op) & 2) {         /* channels are two axes now */
		AttrVal *axis = &v[op_param(d, "axis")];
		int64_t *axes = NEWN(mem, int64_t, axis->ints.n + 1);
		memcpy(axes, axis->ints.at, (size_t)axis->ints.n * sizeof *axes);
		axes[axis->ints.n] = rank;
		*axis = attr_ints(mem, axes, axis->ints.n + 1);
	}
	return v;
}

/* operands that are to be turned over are so before op's own constraints apply: others read them as well */
static Tensor **operands(Assign *a, Build *b, Op *op, Role r, int *mark)
{
	Tensor **in = NEWN(a->cx->mem, Tensor *, op->in.n + 1);
	int rank = op->out.at[0]->spec.shape.rank;

	for (int i = 0; i < op->in.n; i++) in[i] = r.bits >> i & 1 && i < 8 ? in_blocks(a, b, op->in.at[i]) : op->in.at[i];
	*mark = a->g->ops.n;
	for (int i = 0; r.how == BLOCKS_ALIKE && i < op->in.n; i++)
		if (in[i] && !(r.bits >> i & 1)) in[i] = spread(a, b, in[i], rank);
	return in;
}

/* what those read who know nothing of blocks; NULL: there are none */
static Tensor *result_plain(Assign *a, Build *b, Role r, Tensor *old, Tensor *made)
{
	Tensor *y;

	if (r.how == BLOCKS_FOLDED) return seen_as(b, made, old->spec.shape, is_output(old) || is_written(&a->w, old));
	if (!(r.bits & BLOCKED_OUT)) return made;
	map_set(a->cx->mem, &a->blocked, old, made);
	if (!needed_plain(a, old)) return NULL;
	y = b_op1(b, OP_from_blocks, made);
	map_set(a->cx->mem, &a->blocked, y, made);
	return y;
}

static void rewrite(Assign *a, Rewrite *rw, Op *op)
{
	Role r = a->role[op->id];
	Build b = build_at(op);
	int first = a->g->ops.n, mark, stays;
	Tensor **in, **with = NEWN(a->cx->mem, Tensor *, op->out.n + 1), *old = op->out.at[0], *made;

	in = operands(a, &b, op, r, &mark);
	made = ir_op(&b, op->code, in, op->in.n, attrs_in_blocks(a, op, r), old->name)->out.at[0];
	stays = is_broadcast_view(op) && needed_plain(a, old);
	if (stays) map_set(a->cx->mem, &a->blocked, old, made);
	else with[0] = result_plain(a, &b, r, old, made);
	for (int k = first; k < a->g->ops.n; k++) a->g->ops.at[k]->instead = op_said(op);
	if (!stays) rewrite_replace(rw, op, with, mark);
}

static int layout_graph(PassCx *cx, Graph *g)
{
	Assign a = { .cx = cx, .g = g };
	Rewrite rw = rewrite_begin(cx, g);
	int n = g->ops.n;
	Op **seq;

	if (!assign(&a)) return 1;
	if (!(seq = schedule(g, cx->mem))) return 0;
	for (int k = 0; k < n; k++)
		if (bits_of(&a, seq[k])) rewrite(&a, &rw, seq[k]);
	rewrite_end(&rw);
	return 1;
}

int pass_layout(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++)
		if (!layout_graph(cx, cx->ir->graphs.at[i])) return 0;
	return 1;
}
