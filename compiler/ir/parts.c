/* parts.c — do two tensors that share memory, or two ops that touch them, meet there?  (semantics.md R162)
 *
 * Asked of calls that take operands by reference and count as writing only what the callee writes, and of the operands of a
 * view that strides cannot express.  A part is a box: along each axis of the storage root a range of indices, `step` apart.
 * A part that is no box lies between two elements of the root; where that does not tell parts apart either, the answer
 * errs on the side of "yes". */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

#include <stdlib.h>

typedef struct Box {
	int64_t lo[MAX_RANK], hi[MAX_RANK], step[MAX_RANK];  /* hi is within; step: at least 1 */
	int64_t first, last;                                 /* the least and the largest position in the root's memory */
	int exact;                                           /* it holds these elements and no others */
} Box;
typedef VEC(Box) BoxList;

static Box whole(const Tensor *root)
{
	Box b = { .last = shape_nelems(root->spec.shape) - 1 };
	for (int j = 0; j < root->spec.shape.rank; j++) {
		b.hi[j] = root->spec.shape.dim[j] - 1;
		b.step[j] = 1;
	}
	return b;
}

/* the axis of the root that steps of this many elements go along; -1: none alone */
static int axis_of(Shape root, int64_t step)
{
	int64_t below = 1;
	int found = -1;
	for (int j = root.rank - 1; j >= 0 && below <= step; j--) {
		if (root.dim[j] > 1 && step % below == 0) found = step / below < root.dim[j] ? j : found;
		below *= root.dim[j];
	}
	return found;
}

static int64_t elements_below(Shape s, int axis)
{
	int64_t n = 1;
	for (int j = axis + 1; j < s.rank; j++) n *= s.dim[j];
	return n;
}

static int64_t common(int64_t a, int64_t b) { return b ? common(b, a % b) : a; }

/* the box grows along axis j of its root by n steps of `by`; 0: it leaves the axis */
static int grow(Box *b, Shape root, int j, int64_t by, int64_t n)
{
	b->exact &= b->lo[j] == b->hi[j];
	b->step[j] = b->lo[j] == b->hi[j] ? llabs(by) : common(b->step[j], llabs(by));
	if (by > 0) b->hi[j] += by * n;
	else b->lo[j] += by * n;
	return b->lo[j] >= 0 && b->hi[j] < root.dim[j];
}

/* where a tensor with elements lies in its root */
static Box box_of(Tensor *t)
{
	Layout l = layout_of(t);
	Shape root = l.root->spec.shape;
	Box b = { .first = l.offset, .last = l.offset, .exact = 1 }, all = whole(l.root);
	int64_t rest = l.offset;
	int is_box = 1;
	for (int j = 0; j < root.rank; j++) {
		int64_t below = elements_below(root, j);
		b.lo[j] = b.hi[j] = below ? rest / below : 0;
		b.step[j] = 1;
		rest -= b.lo[j] * below;
	}
	for (int k = 0; k < t->spec.shape.rank; k++) {
		int64_t step = l.stride[k], n = t->spec.shape.dim[k] - 1;
		if (n == 0 || step == 0) continue;
		if (step > 0) b.last += step * n;
		else b.first += step * n;
		int j = axis_of(root, step < 0 ? -step : step);
		is_box = is_box && j >= 0 && grow(&b, root, j, step / elements_below(root, j), n);
	}
	if (is_box) return b;
	all.first = b.first;
	all.last = b.last;
	return all;
}

/* have two ranges of indices one in common; the one with the larger steps is walked */
static int ranges_meet(const Box *a, const Box *b, int j)
{
	if (a->step[j] < b->step[j]) return ranges_meet(b, a, j);
	int64_t lo = a->lo[j] > b->lo[j] ? a->lo[j] : b->lo[j], hi = a->hi[j] < b->hi[j] ? a->hi[j] : b->hi[j];
	int64_t x = a->lo[j] + (lo - a->lo[j] + a->step[j] - 1) / a->step[j] * a->step[j];
	for (int64_t i = 0; i < b->step[j] && x <= hi; i++, x += a->step[j])
		if ((x - b->lo[j]) % b->step[j] == 0) return 1;
	return 0;
}

static int boxes_meet(const Box *a, const Box *b, int rank)
{
	if (a->last < b->first || b->last < a->first) return 0;
	for (int j = 0; j < rank; j++)
		if (!ranges_meet(a, b, j)) return 0;
	return 1;
}

int tensors_meet(Tensor *x, Tensor *y, int *sure)
{
	Tensor *root = storage_root(x);
	*sure = 1;
	if (storage_root(y) != root || !shape_nelems(x->spec.shape) || !shape_nelems(y->spec.shape)) return 0;
	Box a = box_of(x), b = box_of(y);
	int64_t all = shape_nelems(root->spec.shape);
	*sure = (a.exact && b.exact) || shape_nelems(x->spec.shape) == all || shape_nelems(y->spec.shape) == all;
	return boxes_meet(&a, &b, root->spec.shape.rank);
}

/* what ops behind the input of a graph write of it, through its views; 0: it cannot be told */
static int written_boxes(Tensor *input, BoxList *out)
{
	VEC(Tensor *) todo = { 0 };
	Arena *mem = input->graph->ir->mem;
	vec_push(mem, &todo, input);
	while (todo.n) {
		Tensor *x = todo.at[--todo.n];
		for (int k = 0; k < x->uses.n; k++) {
			const Op *op = x->uses.at[k].op;
			int i = x->uses.at[k].index;
			if (op_view_fails(op) || layout_of(x).root != input) return 0;
			if (op_modifies(op, i) && shape_nelems(x->spec.shape)) vec_push(mem, out, box_of(x));
			for (int o = 0; o < op->out.n; o++)
				if (op_shares(op, o) == i) vec_push(mem, &todo, op->out.at[o]);
		}
	}
	return 1;
}

int op_writes_parts(const Op *op)
{
	for (int i = 0; op->callee[0] && i < op->modified.n; i++)
		if (op->modified.at[i] == BY_REF) return 1;
	return 0;
}

/* does what `w` writes of its operand i meet operand k of u? Both are of one graph and one class of shared memory. */
int op_parts_meet(const Op *w, int i, const Op *u, int k)
{
	Tensor *x = w->in.at[i], *y = u->in.at[k];
	const Tensor *root = storage_root(x);
	BoxList boxes = { 0 };
	if (!shape_nelems(x->spec.shape) || !shape_nelems(y->spec.shape)) return 0;
	if (storage_root(y) != root) return 1;
	if (!shape_nelems(x->spec.shape) || !shape_nelems(y->spec.shape)) return 0;
	Layout l = layout_of(x);
	Tensor *input = w->callee[0] && i < w->modified.n && w->modified.at[i] == BY_REF ? callee_input(w, i) : NULL;
	int is_root = l.offset == 0 && shape_eq(x->spec.shape, root->spec.shape) && layout_contiguous(&l, x->spec.shape);
	if (!input || !is_root || !written_boxes(input, &boxes)) {
		boxes.n = 0;
		vec_push(x->graph->ir->mem, &boxes, box_of(x));
	}
	Box there = box_of(y);
	for (int b = 0; b < boxes.n; b++)
		if (boxes_meet(&boxes.at[b], &there, root->spec.shape.rank)) return 1;
	return 0;
}
