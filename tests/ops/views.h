/* views.h — operands that lie in memory otherwise than in rows: what a test loads, and the op that shows it so. */
#ifndef TESTS_OPS_VIEWS_H
#define TESTS_OPS_VIEWS_H

#include "tests/ops/run.h"

typedef enum View { PLAIN, TURNED, BACKWARD, SKIPPED, PART, EXPANDED, VIEW_COUNT } View;
static const char *const view_name[] = { "", "transposed ", "reversed ", "every other of ", "part of ", "expanded " };

static inline int view_fits(View v, Shape s)
{
	return v == PLAIN || (s.rank && (v != TURNED || s.rank > 1));
}

/* the shape of what the view shows */
static inline Shape base_shape(View v, Shape s)
{
	Shape b = s;
	for (int i = 0; i < s.rank; i++) {
		if (v == TURNED) b.dim[i] = s.dim[s.rank - 1 - i];
		if (v == SKIPPED) b.dim[i] = s.dim[i] ? s.dim[i] * 2 - 1 : 0;
		if (v == PART) b.dim[i] = s.dim[i] + 2;
		if (v == EXPANDED && i == 0) b.dim[i] = 1;
	}
	return b;
}

static inline AttrVal view_ints(Arena *a, View v, Shape s, int which)        /* slice's start, stop, step: 0, 1, 2 */
{
	int64_t at[MAX_RANK] = { 0 };
	for (int i = 0; i < s.rank; i++) at[i] = which == 2 ? (v == BACKWARD ? -1 : 1) : v == BACKWARD ? NO_INT : which ? s.dim[i] + 1 : 1;
	return attr_ints(a, at, s.rank);
}

/* t, of the base's shape, seen in shape s */
static inline Tensor *view_op(Build *b, View v, Shape s, Tensor *t)
{
	Arena *a = b->ir->mem;
	int64_t two[MAX_RANK] = { 2, 2, 2, 2, 2, 2, 2, 2 };
	switch (v) {
	case TURNED: return ir_op_inplace(b, OP_transpose, &t, 1, b_attrs(b, OP_transpose, NULL), 0)->out.at[0];
	case SKIPPED: return ir_op(b, OP_subsample, &t, 1, b_attrs(b, OP_subsample, "strides", attr_ints(a, two, s.rank), NULL), 0)->out.at[0];
	case EXPANDED: return b_broadcast(b, t, s);
	case BACKWARD: case PART:
		return ir_op_inplace(b, OP_slice, &t, 1, b_attrs(b, OP_slice, "start", view_ints(a, v, s, 0), "stop", view_ints(a, v, s, 1), "step", view_ints(a, v, s, 2), NULL), 0)->out.at[0];
	default: return t;
	}
}

#endif
