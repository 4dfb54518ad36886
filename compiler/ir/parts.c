/* parts.c — do two ops that share memory touch the same part of it?  (semantics.md R162)
 *
 * Asked of calls that take operands by reference and count as writing only what the callee writes.  A part is a box: a range
 * of indices along each axis of the storage root.  Whatever is no box (a reshape of a slice, a view that strides cannot say)
 * counts as all of it, so the answer errs on the side of "yes". */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

typedef struct Box { int64_t lo[MAX_RANK], hi[MAX_RANK]; } Box;      /* hi is within */
typedef VEC(Box) BoxList;

static Box whole(const Tensor *root)
{
	Box b = { 0 };
	for (int j = 0; j < root->spec.shape.rank; j++) b.hi[j] = root->spec.shape.dim[j] - 1;
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

/* where a tensor lies in its root */
static Box box_of(Tensor *t)
{
	Layout l = layout_of(t);
	Shape root = l.root->spec.shape;
	Box b = { 0 };
	int64_t rest = l.offset;
	if (shape_nelems(t->spec.shape) == 0 || rest < 0) return whole(l.root);
	for (int j = 0; j < root.rank; j++) {
		int64_t below = elements_below(root, j);
		b.lo[j] = b.hi[j] = below ? rest / below : 0;
		rest -= b.lo[j] * below;
	}
	for (int k = 0; k < t->spec.shape.rank; k++) {
		int64_t step = l.stride[k], n = t->spec.shape.dim[k] - 1;
		if (n == 0 || step == 0) continue;
		int j = axis_of(root, step < 0 ? -step : step);
		if (j < 0) return whole(l.root);
		int64_t far = step / elements_below(root, j) * n;
		if (far > 0) b.hi[j] += far;
		else b.lo[j] += far;
		if (b.lo[j] < 0 || b.hi[j] >= root.dim[j]) return whole(l.root);
	}
	return b;
}

static int boxes_meet(const Box *a, const Box *b, int rank)
{
	for (int j = 0; j < rank; j++)
		if (a->hi[j] < b->lo[j] || b->hi[j] < a->lo[j]) return 0;
	return 1;
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
			if (op_modifies(op, i)) vec_push(mem, out, box_of(x));
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
	if (storage_root(y) != root) return 1;
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
