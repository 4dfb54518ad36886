/* shape.c — ops that rearrange a tensor: the same elements in another shape or order.
 *
 * Each says by .view where its result would lie in the operand's storage, so that passes can drop the
 * copy; the emitters copy element by element between two strided layouts.  A gradient is the inverse
 * rearrangement. */
#include "compiler/ops/grad.h"
#include "compiler/ops/strided.h"

#include <inttypes.h>
#include <string.h>

/* --- shared with region.c ----------------------------------------------------------------------------- */

void row_major(Shape s, int64_t *stride)
{
	int64_t n = 1;
	for (int i = s.rank - 1; i >= 0; i--) {
		stride[i] = n;
		n *= s.dim[i];
	}
}

void emit_strided(Emit *e, const Op *op, int size, Shape s, const char *src, const int64_t *ss, const char *dst, const int64_t *ds)
{
	const char *d = emit_static(e, "struct pxlrt_copy", "{ %d, %d, %s, %s, %s }", size, s.rank,
	                            emit_longs(e, s.dim, s.rank), emit_longs(e, ds, s.rank), emit_longs(e, ss, s.rank));
	emit_rt(e, op, "copy(ln, &%s, %s, %s)", d, src, dst);
}

const char *emit_offset(Emit *e, const char *ptr, int64_t elements)
{
	return elements ? arena_printf(emit_mem(e), "(%s + %" PRId64 ")", ptr, elements) : ptr;
}

void emit_zero(Emit *e, const Op *op, int out)
{
	const Spec *s = &op->out.at[out]->spec;
	emit_line(e, "rt->memset(%s, 0, %" PRId64 ");", emit_out(e, op, out), shape_nelems(s->shape) * (int64_t)dtype_size(s->dtype));
}

/* Without elements any strides do.  Axes of length 1 have no stride worth keeping.  The rest is matched greedily: a run of old axes and a
 * run of new ones with equal products; within the old run each axis must step over the whole next one. */
int restride(Shape from, const int64_t *stride, Shape to, int64_t *out)
{
	int64_t dim[MAX_RANK], step[MAX_RANK];
	int n = 0, i = 0, j = 0;
	if (!shape_nelems(from)) return row_major(to, out), 1;
	for (int k = 0; k < from.rank; k++) {
		if (from.dim[k] == 1) continue;
		dim[n] = from.dim[k];
		step[n++] = stride[k];
	}
	while (i < n) {
		int i1 = i + 1, j1 = j;
		int64_t a = dim[i], b = 1;
		while (j1 < to.rank && (b < a || b == 1)) b *= to.dim[j1++];
		while (a != b) {
			if (a < b && i1 < n) a *= dim[i1++];
			else if (b < a && j1 < to.rank) b *= to.dim[j1++];
			else return 0;
		}
		for (int k = i; k + 1 < i1; k++)
			if (step[k] != dim[k + 1] * step[k + 1]) return 0;
		int64_t s = step[i1 - 1];
		for (int k = j1 - 1; k >= j; k--) {
			out[k] = s;
			s *= to.dim[k];
		}
		i = i1;
		j = j1;
	}
	for (; j < to.rank; j++) out[j] = 1;
	return 1;
}

static int view_restride(const Op *op, const Layout *in, Layout *out)
{
	out[0] = in[0];
	return restride(op->in.at[0]->spec.shape, in[0].stride, op->out.at[0]->spec.shape, out[0].stride);
}

/* --- reshape, flatten, squeeze --------------------------------------------------------------------------- */

static int shape_error(Infer *in, const char *why)
{
	const AttrVal *v = op_attr(in->op, "shape");
	Buf b = buf_new(in->b->ir->mem);
	for (int i = 0; i < v->ints.n; i++) buf_printf(&b, "%s%" PRId64, i ? ", " : "", v->ints.at[i]);
	Diag *d = infer_error(in, E0308, "`reshape` to [%s] is not possible", b.s);
	diag_label(in->b->ir->ds, d, "%s", why);
	return 0;
}

/* the one -1 from the rest; entries of `s` are checked */
static int infer_shape(Infer *in, Shape *s)
{
	const AttrVal *v = op_attr(in->op, "shape");
	int64_t total = shape_nelems(infer_in(in, 0).shape), known = 1;
	int hole = -1;
	Arena *a = in->b->ir->mem;
	if (v->ints.n > MAX_RANK) return shape_error(in, arena_printf(a, "a tensor has at most %d axes", MAX_RANK));
	s->rank = v->ints.n;
	for (int i = 0; i < s->rank; i++) {
		s->dim[i] = v->ints.at[i];
		if (s->dim[i] == -1 && hole >= 0) return shape_error(in, "only one entry can be -1");
		if (s->dim[i] == -1) hole = i;
		else if (s->dim[i] < 0) return shape_error(in, "entries are 0 or more, or one of them -1");
		else if (__builtin_mul_overflow(known, s->dim[i], &known)) return shape_error(in, "too many elements");
	}
	if (hole >= 0 && !known && !total) return shape_error(in, "the -1 is ambiguous: beside a 0 it may be any number");
	if (hole < 0 || !known ? total != known : total % known != 0) return shape_error(in, arena_printf(a, "the tensor has %" PRId64 " elements", total));
	if (hole >= 0) s->dim[hole] = total / known;
	return 1;
}

static int infer_reshape(Infer *in)
{
	Shape s = { 0 };
	if (!infer_shape(in, &s)) return 0;
	in->out[0] = (Spec){ .dtype = infer_in(in, 0).dtype, .shape = s };
	infer_set_ints(in, "shape", s.dim, s.rank);
	return 1;
}

static void grad_reshape(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, b_reshape(&gr->b, grad_of(gr, op, 0), op->in.at[0]->spec.shape));
}

static void emit_flat_copy(Emit *e, const Op *op)
{
	const Spec *s = &op->in.at[0]->spec;
	emit_line(e, "rt->memcpy(%s, %s, %" PRId64 ");", emit_out(e, op, 0), emit_in(e, op, 0), shape_nelems(s->shape) * (int64_t)dtype_size(s->dtype));
}

OPDEF(reshape, .type = "Reshape", .type_inplace = "ReshapeInplace", .family = "shape",
	.params = PARAMS({ "t", P_TENSOR }, { "shape", P_SHAPE }), .traits = PURE | MOVES, .inplace = VIEWS, .out_name = "%s_reshaped",
	.infer = infer_reshape, .view = view_restride, .grad = grad_reshape, .emit = emit_flat_copy, .sample = { -2, 2 },
	.doc = "The elements in row-major order in a new shape. One entry may be -1 and is computed from the rest; beside a 0 it would be ambiguous, "
	       "which is an error. 0 has no special meaning: only a tensor without elements has such a shape. Another number of elements is an error.",
	.formula = "y[unravel(i)] = x[unravel(i)], dx = reshape(g)");

static int infer_flatten(Infer *in)
{
	Spec x = infer_in(in, 0);
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = { .rank = 1, .dim = { shape_nelems(x.shape) } } };
	return 1;
}

OPDEF(flatten, .type = "Reshape", .type_inplace = "ReshapeInplace", .family = "shape", .params = PARAMS({ "t", P_TENSOR }),
	.traits = PURE | MOVES, .inplace = VIEWS, .out_name = "%s_reshaped", .infer = infer_flatten, .view = view_restride,
	.grad = grad_reshape, .emit = emit_flat_copy, .sample = { -2, 2 },
	.doc = "All elements in one axis, in row-major order. Always rank 1: there is no first axis to keep.", .formula = "y = reshape(x, [-1])");

static int infer_squeeze(Infer *in)
{
	Spec x = infer_in(in, 0);
	const AttrVal *v = op_attr(in->op, "axes");
	int64_t axes[MAX_RANK];
	unsigned mask = 0;
	int n = 0;
	if (v->set && !infer_axes(in, v, x.shape.rank, &mask)) return 0;
	in->out[0].dtype = x.dtype;
	for (int i = 0; i < x.shape.rank; i++) {
		int drop = v->set ? mask >> i & 1 : x.shape.dim[i] == 1;
		if (drop && x.shape.dim[i] != 1) {
			Diag *d = infer_error(in, E0310, "`squeeze` can't drop axis %d", i);
			diag_label(in->b->ir->ds, d, "it has length %" PRId64 ", not 1", x.shape.dim[i]);
			return 0;
		}
		if (drop) axes[n++] = i;
		else in->out[0].shape.dim[in->out[0].shape.rank++] = x.shape.dim[i];
	}
	infer_set_ints(in, "axes", axes, n);
	return 1;
}

OPDEF(squeeze, .type = "Squeeze", .family = "shape", .params = PARAMS({ "t", P_TENSOR }, { "axes", P_INTS, OPTIONAL }), .traits = PURE | MOVES,
	.infer = infer_squeeze, .view = view_restride, .grad = grad_reshape, .emit = emit_flat_copy, .sample = { -2, 2 },
	.doc = "Drops axes of length 1: those given, or all of them. An axis of another length, or one given twice, is an error.",
	.formula = "y = reshape(x)");

/* --- transpose ------------------------------------------------------------------------------------------- */

static int bad_permutation(Infer *in, const char *why, int64_t x)
{
	Diag *d = infer_error(in, E0309, "invalid permutation for `transpose`");
	diag_label(in->b->ir->ds, d, "%s %" PRId64, why, x);
	return 0;
}

static int infer_transpose(Infer *in)
{
	Spec x = infer_in(in, 0);
	const AttrVal *v = op_attr(in->op, "permutation");
	int64_t p[MAX_RANK];
	unsigned seen = 0;
	int r = x.shape.rank;
	if (v->set && v->ints.n != r) return bad_permutation(in, arena_printf(in->b->ir->mem, "it has length %d, the tensor has rank", v->ints.n), r);
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = { .rank = r } };
	for (int i = 0; i < r; i++) {
		int64_t k = v->set ? v->ints.at[i] : r - 1 - i;
		if (k < -r || k >= r) return bad_permutation(in, "there is no axis", k);
		p[i] = k < 0 ? k + r : k;
		if (seen >> p[i] & 1) return bad_permutation(in, "given twice: axis", p[i]);
		seen |= 1u << p[i];
		in->out[0].shape.dim[i] = x.shape.dim[p[i]];
	}
	infer_set_ints(in, "permutation", p, r);
	return 1;
}

static int view_transpose(const Op *op, const Layout *in, Layout *out)
{
	const AttrVal *p = op_attr(op, "permutation");
	out[0] = in[0];
	for (int i = 0; i < p->ints.n; i++) out[0].stride[i] = in[0].stride[p->ints.at[i]];
	return 1;
}

static void grad_transpose(Grad *gr, Op *op)
{
	const AttrVal *p = op_attr(op, "permutation");
	int back[MAX_RANK] = { 0 };
	for (int i = 0; i < p->ints.n; i++) back[p->ints.at[i]] = i;
	grad_add(gr, op, 0, b_transpose(&gr->b, grad_of(gr, op, 0), back));
}

static void emit_transpose(Emit *e, const Op *op)
{
	const Spec *y = &op->out.at[0]->spec;
	Layout x = emit_layout(e, op->in.at[0]), seen;
	int64_t ds[MAX_RANK];
	view_transpose(op, &x, &seen);
	row_major(y->shape, ds);
	emit_strided(e, op, (int)dtype_size(y->dtype), y->shape, emit_in(e, op, 0), seen.stride, emit_out(e, op, 0), ds);
}

OPDEF(transpose, .type = "Transpose", .type_inplace = "TransposeInplace", .family = "shape",
	.params = PARAMS({ "t", P_TENSOR }, { "permutation", P_INTS, OPTIONAL }), .traits = PURE | MOVES | STRIDED, .inplace = VIEWS, .out_name = "%s_T",
	.infer = infer_transpose, .view = view_transpose, .grad = grad_transpose, .emit = emit_transpose, .sample = { -2, 2 },
	.doc = "Axes in another order: axis i of the result is axis permutation[i] of the operand. Without a permutation all axes are reversed, as `.T` does.",
	.formula = "y.shape[i] = x.shape[p[i]], dx = transpose(g) by the inverse");

/* --- concat, stack, split ------------------------------------------------------------------------------------------ */

static int join_mismatch(Infer *in, int i, DiagCode code, const char *what)
{
	Ir *ir = in->b->ir;
	Spec a = infer_in(in, 0), b = infer_in(in, i);
	Diag *d = infer_error(in, code, "tensors of `%s` have different %s", in->def->name, what);
	diag_label(ir->ds, d, "%s against %s", spec_str(ir->mem, a.dtype, a.shape), spec_str(ir->mem, b.dtype, b.shape));
	return 0;
}

static Shape with_axis(Shape s, int axis, int64_t len)
{
	memmove(s.dim + axis + 1, s.dim + axis, (size_t)(s.rank - axis) * sizeof *s.dim);
	s.dim[axis] = len;
	s.rank++;
	return s;
}

static int infer_concat(Infer *in)
{
	int axis;
	if (!in->op->in.n) return infer_error(in, E0314, "`concat` needs at least one tensor"), 0;
	Spec x = infer_in(in, 0);
	if (!infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank, &axis)) return 0;
	for (int i = 1; i < in->op->in.n; i++) {
		Spec t = infer_in(in, i);
		if (t.dtype != x.dtype) return join_mismatch(in, i, E0303, "element types");
		if (t.shape.rank != x.shape.rank) return join_mismatch(in, i, E0313, "ranks");
		for (int k = 0; k < x.shape.rank; k++)
			if (k != axis && t.shape.dim[k] != x.shape.dim[k]) return join_mismatch(in, i, E0311, "lengths beside the joined axis");
		if (__builtin_add_overflow(x.shape.dim[axis], t.shape.dim[axis], &x.shape.dim[axis])) x.shape.dim[axis] = INT64_MAX;
	}
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = x.shape };
	infer_set_int(in, "axis", axis);
	return 1;
}

static void grad_concat(Grad *gr, Op *op)
{
	int axis = (int)op_attr(op, "axis")->i;
	int64_t at = 0;
	for (int i = 0; i < op->in.n; i++) {
		int64_t end = at + op->in.at[i]->spec.shape.dim[axis];
		if (grad_wanted(gr, op, i)) grad_add(gr, op, i, b_slice(&gr->b, grad_of(gr, op, 0), axis, at, end));
		at = end;
	}
}

/* the operands, one behind the other along the axis; one that they lack is 1 long in each */
static void emit_join(Emit *e, const Op *op)
{
	const Spec *y = &op->out.at[0]->spec;
	int axis = (int)op_attr(op, "axis")->i;
	int64_t ds[MAX_RANK], at = 0;
	row_major(y->shape, ds);
	for (int i = 0; i < op->in.n; i++) {
		Layout x = emit_layout(e, op->in.at[i]);
		Shape s = op->in.at[i]->spec.shape;
		if (s.rank < y->shape.rank) {
			s = with_axis(s, axis, 1);
			memmove(x.stride + axis + 1, x.stride + axis, (size_t)(s.rank - 1 - axis) * sizeof *x.stride);
			x.stride[axis] = 0;
		}
		emit_strided(e, op, (int)dtype_size(y->dtype), s, emit_in(e, op, i), x.stride, emit_offset(e, emit_out(e, op, 0), at * ds[axis]), ds);
		at += s.dim[axis];
	}
}

/* one operand lies in the result as it is; several would have to be placed there beforehand */
static int view_concat(const Op *op, const Layout *in, Layout *out)
{
	out[0] = in[0];
	return op->in.n == 1;
}

OPDEF(concat, .type = "Concat", .type_inplace = "ConcatInplace", .family = "shape",
	.params = PARAMS({ "ts", P_TENSORS }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }), .traits = PURE | MOVES | STRIDED, .inplace = VIEWS,
	.infer = infer_concat, .view = view_concat, .grad = grad_concat, .emit = emit_join, .sample = { -2, 2 },
	.doc = "Tensors joined along an axis. They agree in dtype, rank and every other axis. What is written through the result of `concat_` goes to the tensors it "
	       "shows, which may be parts of one tensor; none may be a constant, and no element may be shown twice.",
	.formula = "y = t0 | t1 | …, dti = the part of g where ti lies");

static int infer_stack(Infer *in)
{
	int axis, n = in->op->in.n;
	if (!n) return infer_error(in, E0314, "`stack` needs at least one tensor"), 0;
	Spec x = infer_in(in, 0);
	if (x.shape.rank == MAX_RANK) return infer_error(in, E0313, "`stack` adds an axis, and a tensor has at most %d", MAX_RANK), 0;
	if (!infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank + 1, &axis)) return 0;
	for (int i = 1; i < n; i++) {
		if (infer_in(in, i).dtype != x.dtype) return join_mismatch(in, i, E0303, "element types");
		if (!shape_eq(infer_in(in, i).shape, x.shape)) return join_mismatch(in, i, E0311, "shapes");
	}
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = with_axis(x.shape, axis, n) };
	infer_set_int(in, "axis", axis);
	return 1;
}

static void grad_stack(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	int axis = (int)op_attr(op, "axis")->i;
	for (int i = 0; i < op->in.n; i++) {
		if (!grad_wanted(gr, op, i)) continue;
		Tensor *part = b_slice(b, grad_of(gr, op, 0), axis, i, i + 1);
		grad_add(gr, op, i, b_reshape(b, part, op->in.at[i]->spec.shape));
	}
}

OPDEF(stack, .type = "Stack", .family = "shape",
	.params = PARAMS({ "ts", P_TENSORS }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }), .traits = PURE | MOVES | STRIDED,
	.infer = infer_stack, .grad = grad_stack, .emit = emit_join, .sample = { -2, 2 },
	.doc = "Tensors of one dtype and shape, one behind the other along a new axis; `axis` is its place in the result. "
	       "`concat` joins along an axis that is there.",
	.formula = "y[…, i, …] = ti, dti = g[…, i, …]");

static int bad_split(Infer *in, const char *label)
{
	Diag *d = infer_error(in, E0316, "invalid `splits` for `split`");
	diag_label(in->b->ir->ds, d, "%s", label);
	return 0;
}

/* sizes of the parts, as an arena array; NULL after a diagnostic */
static int64_t *split_sizes(Infer *in, int64_t len, int *n)
{
	const AttrVal *v = op_attr(in->op, "splits");
	Arena *a = in->b->ir->mem;
	int64_t sum = 0, parts = v->ints.n ? v->ints.at[0] : 0;
	int counted = v->ints.n == 1 && v->i;        /* one int is a number of equal parts */
	if (counted && (parts < 1 || len % parts)) {
		bad_split(in, arena_printf(a, "%" PRId64 " equal parts of an axis of length %" PRId64, parts, len));
		return 0;
	}
	*n = counted ? (int)parts : v->ints.n;
	int64_t *size = NEWN(a, int64_t, *n + 1);
	for (int i = 0; i < *n; i++) {
		size[i] = counted ? len / parts : v->ints.at[i];
		if (size[i] < 0) return bad_split(in, "sizes are 0 or more"), NULL;
		if (size[i] > len - sum) return bad_split(in, arena_printf(a, "sizes add up to more than the axis: %" PRId64, len)), NULL;
		sum += size[i];
	}
	if (sum != len) return bad_split(in, arena_printf(a, "sizes add up to %" PRId64 ", the axis has %" PRId64, sum, len)), NULL;
	return size;
}

static int infer_split(Infer *in)
{
	Spec x = infer_in(in, 0);
	int axis, n = 0;
	if (!infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank, &axis)) return 0;
	int64_t *size = split_sizes(in, x.shape.dim[axis], &n);
	if (!size) return 0;
	in->nout = n;
	in->many = NEWN(in->b->ir->mem, Spec, n + 1);
	for (int i = 0; i < n; i++) {
		in->many[i] = (Spec){ .dtype = x.dtype, .shape = x.shape };
		in->many[i].shape.dim[axis] = size[i];
	}
	infer_set_ints(in, "splits", size, n);
	in->op->attr[op_param(in->def, "splits")].i = 0;
	infer_set_int(in, "axis", axis);
	return 1;
}

static int view_split(const Op *op, const Layout *in, Layout *out)
{
	int axis = (int)op_attr(op, "axis")->i;
	int64_t at = 0;
	for (int i = 0; i < op->out.n; i++) {
		out[i] = in[0];
		out[i].offset += at * in[0].stride[axis];
		at += op->out.at[i]->spec.shape.dim[axis];
	}
	return 1;
}

/* parts that received nothing count as zeros, which is what grad_of gives for them */
static void grad_split(Grad *gr, Op *op)
{
	Tensor **g = NEWN(gr->b.ir->mem, Tensor *, op->out.n);
	for (int i = 0; i < op->out.n; i++) g[i] = grad_of(gr, op, i);
	grad_add(gr, op, 0, b_concat(&gr->b, g, op->out.n, (int)op_attr(op, "axis")->i));
}

static void emit_split(Emit *e, const Op *op)
{
	int axis = (int)op_attr(op, "axis")->i;
	Layout x = emit_layout(e, op->in.at[0]);
	int64_t ds[MAX_RANK], at = 0;
	for (int i = 0; i < op->out.n; i++) {
		const Spec *y = &op->out.at[i]->spec;
		row_major(y->shape, ds);
		emit_strided(e, op, (int)dtype_size(y->dtype), y->shape, emit_offset(e, emit_in(e, op, 0), at * x.stride[axis]), x.stride, emit_out(e, op, i), ds);
		at += y->shape.dim[axis];
	}
}

OPDEF(split, .type = "Split", .family = "shape",
	.params = PARAMS({ "t", P_TENSOR }, { "splits", P_INTS }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }), .nout = -2, .traits = PURE | MOVES | STRIDED,
	.infer = infer_split, .view = view_split, .grad = grad_split, .emit = emit_split, .sample = { -2, 2 },
	.doc = "Parts of a tensor along an axis, as a list. An int is the number of equal parts (it must divide the axis), a list gives the sizes "
	       "(0 or more, adding up to the axis).",
	.formula = "y0 | y1 | … = x, dx = concat(g0, g1, …)");

/* --- expand ---------------------------------------------------------------------------------------------------- */

static int bad_expand(Infer *in, const char *label)
{
	Diag *d = infer_error(in, E0310, "invalid `shape` for `expand`");
	diag_label(in->b->ir->ds, d, "%s", label);
	return 0;
}

/* -1 is the length that the operand has there, counted from the last axis as broadcasting does */
static int expand_shape(Infer *in, Shape *s)
{
	const AttrVal *v = op_attr(in->op, "shape");
	Arena *a = in->b->ir->mem;
	Shape x = infer_in(in, 0).shape;
	if (v->ints.n > MAX_RANK) return bad_expand(in, arena_printf(a, "a tensor has at most %d axes", MAX_RANK));
	s->rank = v->ints.n;
	for (int i = 0; i < s->rank; i++) {
		int at = i - s->rank + x.rank;
		s->dim[i] = v->ints.at[i];
		if (s->dim[i] < -1) return bad_expand(in, "entries are lengths, or -1");
		if (s->dim[i] == -1 && at < 0) return bad_expand(in, arena_printf(a, "-1 keeps the length of an axis, and axis %d is new", i));
		if (s->dim[i] == -1) s->dim[i] = x.dim[at];
	}
	return 1;
}

static int infer_expand(Infer *in)
{
	Spec x = infer_in(in, 0);
	Shape s, sum;
	if (!expand_shape(in, &s)) return 0;
	if (!shape_broadcast(x.shape, s, &sum)) {
		Ir *ir = in->b->ir;
		Diag *d = infer_error(in, E0302, "shape %s does not broadcast to %s", shape_str(ir->mem, x.shape), shape_str(ir->mem, s));
		diag_help(ir->ds, d, (Span){ 0, 0, 0 }, "shapes are aligned at their last axes; only axes of length 1 are repeated, and new ones in front");
		return 0;
	}
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = sum };
	infer_set_ints(in, "shape", sum.dim, sum.rank);
	return 1;
}

static int view_expand(const Op *op, const Layout *in, Layout *out)
{
	Shape from = op->in.at[0]->spec.shape, to = op->out.at[0]->spec.shape;
	int extra = to.rank - from.rank;
	out[0] = in[0];
	for (int i = 0; i < to.rank; i++)
		out[0].stride[i] = i < extra || from.dim[i - extra] != to.dim[i] ? 0 : in[0].stride[i - extra];
	return 1;
}

static void grad_expand(Grad *gr, Op *op)
{
	grad_add(gr, op, 0, grad_of(gr, op, 0));
}

/* of float8, which no formula computes with */
static void emit_expand(Emit *e, const Op *op)
{
	const Spec *y = &op->out.at[0]->spec;
	Layout x = emit_layout(e, op->in.at[0]), seen;
	int64_t ds[MAX_RANK];
	view_expand(op, &x, &seen);
	row_major(y->shape, ds);
	emit_strided(e, op, (int)dtype_size(y->dtype), y->shape, emit_in(e, op, 0), seen.stride, emit_out(e, op, 0), ds);
}

OPDEF(expand, .type = "Expand", .family = "shape", .alias = "broadcast_to",
	.params = PARAMS({ "t", P_TENSOR }, { "shape", P_SHAPE }), .traits = PURE | ELTWISE | MOVES, .infer = infer_expand,
	.view = view_expand, .grad = grad_expand, .emit = emit_expand, .expr = "t", .sample = { -2, 2 },
	.doc = "The values repeated along axes of length 1 and along new axes in front. The result has the shape that the operand's "
	       "shape and `shape` broadcast to; an entry of -1 keeps the operand's length, and so does 1.",
	.formula = "y = x, dx = sum of g over stretched axes");

/* --- copy (made by passes) ---------------------------------------------------------------------------------------- */

static void grad_copy(Grad *gr, Op *op) { grad_add(gr, op, 0, grad_of(gr, op, 0)); }

static void emit_copy(Emit *e, const Op *op)
{
	const Spec *y = &op->out.at[0]->spec;
	Layout x = emit_layout(e, op->in.at[0]);
	int64_t ds[MAX_RANK];
	row_major(y->shape, ds);
	emit_strided(e, op, (int)dtype_size(y->dtype), y->shape, emit_in(e, op, 0), x.stride, emit_out(e, op, 0), ds);
}

OPDEF(copy, .type = "Copy", .family = "shape", .params = PARAMS({ "t", P_TENSOR }), .traits = PURE | STRIDED | INTERNAL,
	.infer = infer_same, .grad = grad_copy, .emit = emit_copy, .sample = { -2, 2 },
	.doc = "The elements of any layout laid out contiguously.", .formula = "y = x, dx = g");
