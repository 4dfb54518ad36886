/* build.c — short ways to build ops, for gradient rules, transforms and passes (grad.h). */
#include "compiler/ops/grad.h"

#include <stdarg.h>
#include <string.h>

static Tensor *first(Op *op) { return op->out.at[0]; }

Tensor *b_op1(Build *b, OpCode op, Tensor *x)
{
	return first(ir_op(b, op, &x, 1, 0, 0));
}

Tensor *b_op2(Build *b, OpCode op, Tensor *x, Tensor *y)
{
	return first(ir_op(b, op, (Tensor *[]){ x, y }, 2, 0, 0));
}

Tensor *b_op3(Build *b, OpCode op, Tensor *x, Tensor *y, Tensor *z)
{
	return first(ir_op(b, op, (Tensor *[]){ x, y, z }, 3, 0, 0));
}

/* --- attributes -------------------------------------------------------------------------------------- */

static int param_count(const OpDef *d)
{
	int n = 0;
	while (d->params[n].kind != P_END) n++;
	return n;
}

AttrVal *b_attrs(Build *b, OpCode op, ...)
{
	const OpDef *d = op_table[op];
	int n = param_count(d);
	AttrVal *v = NEWN(b->ir->mem, AttrVal, n + 1);
	const char *name;
	va_list ap;
	for (int i = 0; i < n; i++) v[i] = d->params[i].init;
	va_start(ap, op);
	while ((name = va_arg(ap, const char *))) {
		AttrVal a = va_arg(ap, AttrVal);
		int i = op_param(d, name);
		if (i >= 0) v[i] = a;
	}
	va_end(ap);
	return v;
}

AttrVal attr_ints(Arena *a, const int64_t *at, int n)
{
	AttrVal v = { .set = 1 };
	v.ints.at = arena_dup(a, at, (size_t)n * sizeof *at);
	v.ints.n = n;
	return v;
}

static AttrVal attr_shape(Arena *a, Shape s) { return attr_ints(a, s.dim, s.rank); }

static AttrVal attr_mask(Arena *a, unsigned axes)
{
	int64_t at[MAX_RANK];
	int n = 0;
	for (int i = 0; i < MAX_RANK; i++)
		if (axes >> i & 1) at[n++] = i;
	return attr_ints(a, at, n);
}

/* --- constants --------------------------------------------------------------------------------------- */

Tensor *b_scalar(Build *b, DType t, double x)
{
	return ir_constant(b, host_scalar(b->ir->mem, t, x), 0);
}

Tensor *b_like(Build *b, Tensor *like, double x)
{
	return b_scalar(b, like->spec.dtype, x);
}

Tensor *b_zeros(Build *b, Spec s)
{
	return b_broadcast(b, b_scalar(b, s.dtype, 0), s.shape);
}

/* --- shapes ------------------------------------------------------------------------------------------ */

Tensor *b_reshape(Build *b, Tensor *x, Shape s)
{
	if (shape_eq(x->spec.shape, s)) return x;
	return first(ir_op(b, OP_reshape, &x, 1, b_attrs(b, OP_reshape, "shape", attr_shape(b->ir->mem, s), NULL), 0));
}

Tensor *b_broadcast(Build *b, Tensor *x, Shape s)
{
	if (shape_eq(x->spec.shape, s)) return x;
	return first(ir_op(b, OP_expand, &x, 1, b_attrs(b, OP_expand, "shape", attr_shape(b->ir->mem, s), NULL), 0));
}

Tensor *b_keepdims(Build *b, Tensor *reduced, Shape full, unsigned axes)
{
	for (int i = 0; i < full.rank; i++)
		if (axes >> i & 1) full.dim[i] = 1;
	return b_reshape(b, reduced, full);
}

Tensor *b_transpose(Build *b, Tensor *x, const int *perm)
{
	int r = x->spec.shape.rank;
	int64_t p[MAX_RANK];
	if (r < 2) return x;
	for (int i = 0; i < r; i++) p[i] = perm ? perm[i] : i;
	if (!perm) {
		p[r - 2] = r - 1;
		p[r - 1] = r - 2;
	}
	return first(ir_op(b, OP_transpose, &x, 1, b_attrs(b, OP_transpose, "permutation", attr_ints(b->ir->mem, p, r), NULL), 0));
}

Tensor *b_slice(Build *b, Tensor *x, int axis, int64_t start, int64_t stop)
{
	Arena *a = b->ir->mem;
	int64_t k = axis, one = 1;
	return first(ir_op(b, OP_slice, &x, 1, b_attrs(b, OP_slice, "start", attr_ints(a, &start, 1), "stop", attr_ints(a, &stop, 1),
	                                               "step", attr_ints(a, &one, 1), "axis", attr_ints(a, &k, 1), NULL), 0));
}

Tensor *b_concat(Build *b, Tensor *const *xs, int n, int axis)
{
	return first(ir_op(b, OP_concat, xs, n, b_attrs(b, OP_concat, "axis", attr_int(axis), NULL), 0));
}

/* --- reductions, products, casts ----------------------------------------------------------------------- */

Tensor *b_reduce_op(Build *b, OpCode op, Tensor *x, unsigned axes, int keepdims)
{
	return first(ir_op(b, op, &x, 1, b_attrs(b, op, "axis", attr_mask(b->ir->mem, axes), "keepdims", attr_int(keepdims), NULL), 0));
}

Tensor *b_sum(Build *b, Tensor *x, unsigned axes, int keepdims)
{
	return b_reduce_op(b, OP_sum, x, axes, keepdims);
}

Tensor *b_sum_to(Build *b, Tensor *x, Shape s)
{
	Shape full = x->spec.shape;
	unsigned axes = 0;
	int extra = full.rank - s.rank;
	for (int i = 0; i < full.rank; i++)
		if (i < extra || (s.dim[i - extra] == 1 && full.dim[i] != 1)) axes |= 1u << i;
	if (axes) x = b_sum(b, x, axes, 0);
	return b_reshape(b, x, s);
}

Tensor *b_matmul(Build *b, Tensor *x, Tensor *y)
{
	return b_op2(b, OP_matmul, x, y);
}

Tensor *b_cast(Build *b, Tensor *x, DType t)
{
	if (x->spec.dtype == t) return x;
	return first(ir_op(b, OP_cast, &x, 1, b_attrs(b, OP_cast, "data_type", attr_int(t), NULL), 0));
}
