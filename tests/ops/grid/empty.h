/* empty.h — operands without elements: every form of every row once more with axes of length 0.
 *
 * For each length that a form's operands have, all axes of that length become 0, since axes that must agree then still do,
 * and numbers of that value in the attributes too where the op refuses without (the shape that a reshape asks for).  What
 * the op refuses both ways is passed over, but each op must take some form.  The reference says what comes out. */
#ifndef TESTS_OPS_GRID_EMPTY_H
#define TESTS_OPS_GRID_EMPTY_H

#include "tests/ops/grid/whole.h"

enum { MAX_LENGTHS = GRID_IN * MAX_RANK };

typedef struct Operands { Spec spec[GRID_IN]; int bounds[GRID_IN], n; } Operands;

/* lengths of the operands' axes, each once */
static int lengths_of(const Operands *o, int64_t *out)
{
	int n = 0;
	for (int i = 0; i < o->n; i++)
		for (int k = 0; o->spec[i].dtype != DT_COUNT && k < o->spec[i].shape.rank; k++) {
			int known = 0;
			for (int j = 0; j < n; j++) known |= out[j] == o->spec[i].shape.dim[k];
			if (!known) out[n++] = o->spec[i].shape.dim[k];
		}
	return n;
}

/* 0: an index would have to be below 0 */
static int zero_length(Operands *o, int64_t length)
{
	for (int i = 0; i < o->n; i++) {
		Shape *s = &o->spec[i].shape;
		if (o->spec[i].dtype == DT_COUNT) continue;
		for (int k = 0; k < s->rank; k++)
			if (s->dim[k] == length) s->dim[k] = 0;
		if (o->bounds[i] == length && shape_nelems(*s)) return 0;
	}
	return 1;
}

static int takes(const Row *r, const Operands *o, const char *attrs)
{
	Bench b;
	Tensor *in[GRID_IN];
	int inplace;
	bench_open(&b);
	for (int i = 0; i < o->n; i++) in[i] = o->spec[i].dtype == DT_COUNT ? 0 : ir_input(&b.b, o->spec[i], "x", 0);
	const OpDef *d = def_by_name(r->op, &inplace);
	AttrVal *v = scan_attrs(&b, d, attrs);
	if (inplace) ir_op_inplace(&b.b, d->id, in, o->n, v, 0);
	else ir_op(&b.b, d->id, in, o->n, v, 0);
	int ok = !b.ds.errors;
	bench_close(&b);
	return ok;
}

#endif
