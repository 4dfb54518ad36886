/* sums.c — sums of many parts, as gradients of what was used many times are.
 *
 * Parts with zeros around them, the gradients of slices along one axis, become one tensor put together from the parts: no
 * part is spread over the whole first.  Products become one product along an inner axis that is as long as theirs together:
 * the weight of a recurrent net then has its gradient made at once, and no summand is stored.  What is left of a long sum and
 * made by no elementwise op is added up as it comes, so that few summands live at once.
 * Nothing moves past a write: operands that somebody writes stay as they are.
 * After: as before; sums may add their parts in another order, and zeros keep no sign. */
#include "compiler/passes/pass.h"

#include "compiler/transforms/transforms.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 4, MOST_STEPS = 1 << 26 };         /* as many summands are worth a chain; and as long may it take to order them */

typedef VEC(Tensor *) Tensors;
typedef struct Sum { PassCx *cx; const Written *w; Build b; Tensors parts; } Sum;       /* parts: what is still to be added */

static int removable(const Sum *s, Tensor *t, int code)
{
	return t->def && t->def->code == code && !t->def->inplace && sole_user(t) && !is_written(s->w, t) && !is_written(s->w, t->def->in.at[0]);
}

/* those of s->parts that a group took leave, and what stands for them comes in the place of the first */
static void take(Sum *s, const char *taken, Tensor *made)
{
	int kept = 0;

	for (int i = 0; i < s->parts.n; i++) {
		Tensor *t = taken[i] ? made : s->parts.at[i];
		if (taken[i]) made = NULL;
		if (t) s->parts.at[kept++] = t;
	}
	s->parts.n = kept;
}

/* --- parts with zeros around them --------------------------------------------------------------------------------------- */

typedef struct Piece { Tensor *t; int64_t start, n; int at; } Piece;

/* the only axis along which op adds zeros, with none in between; -1: there is no such axis */
static int placed_axis(const Op *op, Piece *p)
{
	const AttrVal *start = op_attr(op, "start"), *step = op_attr(op, "step");
	Shape part = op->in.at[0]->spec.shape, whole = op->out.at[0]->spec.shape;
	int axis = -1;

	for (int i = 0; i < whole.rank; i++) {
		if (part.dim[i] == whole.dim[i]) continue;
		if (axis >= 0 || step->ints.at[i] != 1) return -1;
		axis = i;
		*p = (Piece){ op->in.at[0], start->ints.at[i], part.dim[i], 0 };
	}
	return axis;
}

static int by_start(const void *x, const void *y)
{
	const Piece *a = x, *b = y;

	return a->start != b->start ? (a->start > b->start) - (a->start < b->start) : a->at - b->at;
}

static void push_zeros(Sum *s, Tensors *ts, Spec whole, int axis, int64_t n)
{
	whole.shape.dim[axis] = n;
	if (n > 0) vec_push(s->cx->mem, ts, b_zeros(&s->b, whole));
}

/* pieces in order, none of which begins before the last has ended, with zeros in the gaps */
static void put_together(Sum *s, const Piece *piece, int n, Spec whole, int axis)
{
	char *taken = NEWN(s->cx->mem, char, s->parts.n);
	Tensors ts = { 0 };
	int64_t end = 0;
	int count = 0;

	for (int i = 0; i < n; i++) {
		if (piece[i].start < end) continue;
		push_zeros(s, &ts, whole, axis, piece[i].start - end);
		vec_push(s->cx->mem, &ts, piece[i].t);
		end = piece[i].start + piece[i].n;
		taken[piece[i].at] = 1;
		count++;
	}
	push_zeros(s, &ts, whole, axis, whole.shape.dim[axis] - end);
	if (count > 1) take(s, taken, b_concat(&s->b, ts.at, ts.n, axis));
}

static void join_places(Sum *s, Spec whole)
{
	Piece *piece = NEWN(s->cx->mem, Piece, s->parts.n);

	for (int axis = 0; axis < whole.shape.rank; axis++) {
		int n = 0;
		for (int i = 0; i < s->parts.n; i++) {
			if (!removable(s, s->parts.at[i], OP_place) || placed_axis(s->parts.at[i]->def, &piece[n]) != axis) continue;
			piece[n++].at = i;
		}
		if (n < 2) continue;
		qsort(piece, (size_t)n, sizeof *piece, by_start);
		put_together(s, piece, n, whole, axis);
	}
}

/* --- products ------------------------------------------------------------------------------------------------------------- */

static int is_matrix_product(const Sum *s, Tensor *t)
{
	return removable(s, t, OP_matmul) && plain_product(t->def) && t->spec.shape.rank == 2 && !is_written(s->w, t->def->in.at[1]);
}

static int all_transposed(const Tensors *ts)
{
	for (int i = 0; i < ts->n; i++)
		if (!ts->at[i]->def || ts->at[i]->def->code != OP_transpose || ts->at[i]->def->inplace) return 0;
	return 1;
}

/* matrices side by side along an axis; transposes of the same as one transpose, which costs nothing */
static Tensor *side_by_side(Sum *s, Tensors *ts, int axis)
{
	int turned = all_transposed(ts);
	Tensor *y;

	for (int i = 0; turned && i < ts->n; i++) ts->at[i] = ts->at[i]->def->in.at[0];
	y = b_concat(&s->b, ts->at, ts->n, turned ? 1 - axis : axis);
	return turned ? b_transpose(&s->b, y, NULL) : y;
}

static void join_products(Sum *s, Shape y)
{
	char *taken = NEWN(s->cx->mem, char, s->parts.n + 1);
	Tensors a = { 0 }, b = { 0 };
	int64_t inner = 0;

	for (int i = 0; i < s->parts.n; i++) {
		if (!(taken[i] = (char)is_matrix_product(s, s->parts.at[i]))) continue;
		vec_push(s->cx->mem, &a, s->parts.at[i]->def->in.at[0]);
		vec_push(s->cx->mem, &b, s->parts.at[i]->def->in.at[1]);
		inner += a.at[a.n - 1]->spec.shape.dim[1];
	}
	if (a.n < 2 || inner * (y.dim[0] + y.dim[1]) > a.n * shape_nelems(y)) return;           /* copies would be more than the summands are */
	Tensor *left = side_by_side(s, &a, 1);
	take(s, taken, b_matmul(&s->b, left, side_by_side(s, &b, 0)));
}

/* --- the rest -------------------------------------------------------------------------------------------------------------- */

/* 16-bit types are rounded once in a sum, but in each link of a chain */
static int worth_a_chain(const Op *op)
{
	if (op->code != OP_sum_n || op->in.n < MANY || (int64_t)op->in.n * op->graph->ops.n > MOST_STEPS) return 0;
	for (int i = 0; i < op->in.n; i++)
		if (!op->in.at[i]->def || op_is(op->in.at[i]->def, ELTWISE)) return 0;
	return op->out.at[0]->spec.dtype == DT_F32 || op->out.at[0]->spec.dtype == DT_F64;
}

static void make_chains(PassCx *cx, Graph *g)
{
	VEC(Op *) sums = { 0 };
	Build b = ir_build(g);

	for (int i = 0; i < g->ops.n; i++)
		if (worth_a_chain(g->ops.at[i])) vec_push(cx->mem, &sums, g->ops.at[i]);
	for (int i = 0; i < sums.n; i++) sum_as_chain(&b, sums.at[i]);
}

static int may_rewrite(const Written *w, const Op *op)
{
	if (op->code != OP_sum_n || is_written(w, op->out.at[0])) return 0;
	for (int i = 0; i < op->in.n; i++)
		if (is_written(w, op->in.at[i]) || !shape_eq(op->in.at[i]->spec.shape, op->out.at[0]->spec.shape)) return 0;
	return 1;
}

static void rewrite(Rewrite *rw, const Written *w, Op *op)
{
	Sum s = { .cx = rw->cx, .w = w, .b = build_at(op) };
	int mark = rw->g->ops.n;
	Tensor *y;

	if (!may_rewrite(w, op)) return;
	for (int i = 0; i < op->in.n; i++) vec_push(rw->cx->mem, &s.parts, op->in.at[i]);
	join_places(&s, op->out.at[0]->spec);
	join_products(&s, op->out.at[0]->spec.shape);
	if (s.parts.n == op->in.n) return;
	y = s.parts.n == 1 ? s.parts.at[0] : ir_op(&s.b, OP_sum_n, s.parts.at, s.parts.n, NULL, NULL)->out.at[0];
	rewrite_replace(rw, op, &y, mark);
}

int pass_sums(PassCx *cx)
{
	rewrite_ops(cx, rewrite);
	for (int i = 0; i < cx->ir->graphs.n; i++) make_chains(cx, cx->ir->graphs.at[i]);
	return 1;
}
