/* region.c — parts of a tensor picked by start, step and length along each axis, and their inverse.
 *
 * slice and subsample are what a model says; pick is the general form, place its transpose: zeros with
 * the operand at the picked places.  Each is the gradient of the other. */
#include "compiler/ops/grad.h"
#include "compiler/ops/strided.h"

#include <inttypes.h>

typedef struct Region { int64_t start[MAX_RANK], step[MAX_RANK]; } Region;     /* length: the shape of the part */

static int view_region(const Op *op, const Region *r, const Layout *in, Layout *out)
{
	out[0] = in[0];
	for (int i = 0; i < op->in.at[0]->spec.shape.rank; i++) {
		out[0].offset += r->start[i] * in[0].stride[i];
		out[0].stride[i] = r->step[i] * in[0].stride[i];
	}
	return 1;
}

static void emit_region(Emit *e, const Op *op, const Region *r)
{
	const Spec *y = &op->out.at[0]->spec;
	Layout x = emit_layout(e, op->in.at[0]), seen;
	int64_t ds[MAX_RANK];
	view_region(op, r, &x, &seen);
	row_major(y->shape, ds);
	emit_strided(e, op, (int)dtype_size(y->dtype), y->shape, emit_offset(e, emit_in(e, op, 0), seen.offset - x.offset), seen.stride,
	             emit_out(e, op, 0), ds);
}

static void grad_region(Grad *gr, Op *op, const Region *r)
{
	Tensor *g = grad_of(gr, op, 0);
	Arena *a = gr->b.ir->mem;
	Shape s = op->in.at[0]->spec.shape;
	AttrVal *v = b_attrs(&gr->b, OP_place, "start", attr_ints(a, r->start, s.rank), "step", attr_ints(a, r->step, s.rank),
	                     "shape", attr_ints(a, s.dim, s.rank), NULL);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_place, &g, 1, v, 0)->out.at[0]);
}

/* view, gradient and emitter of an op whose region is computed by region_<name> */
#define REGION_RULES(name) \
	static int view_##name(const Op *op, const Layout *in, Layout *out) { Region r; region_##name(op, &r); return view_region(op, &r, in, out); } \
	static void grad_##name(Grad *gr, Op *op) { Region r; region_##name(op, &r); grad_region(gr, op, &r); } \
	static void emit_##name(Emit *e, const Op *op) { Region r; region_##name(op, &r); emit_region(e, op, &r); }

/* --- slice ------------------------------------------------------------------------------------------------ */

static int bad_slice(Infer *in, const char *label)
{
	Diag *d = infer_error(in, E0315, "invalid slice");
	diag_label(in->b->ir->ds, d, "%s", label);
	return 0;
}

/* entry i of a list attribute, or NO_INT where nothing is said */
static int64_t entry(const AttrVal *v, int i) { return v->set && i < v->ints.n ? v->ints.at[i] : NO_INT; }

/* how many axes are sliced: the common length of the lists; -1 after a diagnostic */
static int slice_count(Infer *in)
{
	static const char *const list[] = { "start", "stop", "step", "axis" };
	int n = -1;
	for (int i = 0; i < 4; i++) {
		const AttrVal *v = op_attr(in->op, list[i]);
		if (!v->set) continue;
		if (n >= 0 && v->ints.n != n) return bad_slice(in, "start, stop, step and axis must have one length"), -1;
		n = v->ints.n;
	}
	if (n > infer_in(in, 0).shape.rank) return bad_slice(in, "more entries than the tensor has axes"), -1;
	return n < 0 ? 0 : n;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }
static int64_t from_end(int64_t x, int64_t d) { return x < 0 ? x + d : x; }

/* bounds as Python reads them; stop of a backward slice stays NO_INT for "past the first". Returns the length */
static int64_t resolve(int64_t d, int64_t step, int64_t *start, int64_t *stop)
{
	int64_t end;
	if (step > 0) {
		*start = *start == NO_INT ? 0 : clamp(from_end(*start, d), 0, d);
		*stop = *stop == NO_INT ? d : clamp(from_end(*stop, d), 0, d);
		return *stop - *start;
	}
	*start = *start == NO_INT ? d - 1 : clamp(from_end(*start, d), -1, d - 1);
	end = *stop == NO_INT ? -1 : clamp(from_end(*stop, d), -1, d - 1);
	*stop = end < 0 ? NO_INT : end;
	return *start - end;
}

static int infer_slice(Infer *in)
{
	Spec x = infer_in(in, 0);
	int64_t start[MAX_RANK], stop[MAX_RANK], step[MAX_RANK], axis[MAX_RANK];
	unsigned seen = 0;
	int n = slice_count(in);
	if (n < 0) return 0;
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = x.shape };
	for (int i = 0, k; i < n; i++) {
		int64_t want = entry(op_attr(in->op, "axis"), i);
		if (!infer_axis(in, want == NO_INT ? i : want, x.shape.rank, &k)) return 0;
		if (seen >> k & 1) return infer_error(in, E0306, "axis %d is given twice to `slice`", k), 0;
		seen |= 1u << k;
		axis[i] = k;
		start[i] = entry(op_attr(in->op, "start"), i);
		stop[i] = entry(op_attr(in->op, "stop"), i);
		step[i] = entry(op_attr(in->op, "step"), i);
		if (step[i] == NO_INT) step[i] = 1;
		if (step[i] != 1 && step[i] != -1) return bad_slice(in, "steps are 1 or -1; use `subsample` or `x[::n]` for others");
		int64_t len = resolve(x.shape.dim[k], step[i], &start[i], &stop[i]);
		if (len <= 0) len = start[i] = stop[i] = 0, step[i] = 1;         /* one form for everything that is empty */
		in->out[0].shape.dim[k] = len;
	}
	infer_set_ints(in, "start", start, n);
	infer_set_ints(in, "stop", stop, n);
	infer_set_ints(in, "step", step, n);
	infer_set_ints(in, "axis", axis, n);
	return 1;
}

static void region_slice(const Op *op, Region *r)
{
	const AttrVal *axis = op_attr(op, "axis");
	for (int i = 0; i < MAX_RANK; i++) {
		r->start[i] = 0;
		r->step[i] = 1;
	}
	for (int i = 0; i < axis->ints.n; i++) {
		r->start[axis->ints.at[i]] = op_attr(op, "start")->ints.at[i];
		r->step[axis->ints.at[i]] = op_attr(op, "step")->ints.at[i];
	}
}
REGION_RULES(slice)

OPDEF(slice, .type = "Slice", .type_inplace = "SliceInplace", .family = "shape",
	.params = PARAMS({ "t", P_TENSOR }, { "start", P_INTS, OPTIONAL }, { "stop", P_INTS, OPTIONAL }, { "step", P_INTS, OPTIONAL }, { "axis", P_INTS, OPTIONAL }),
	.traits = PURE | MOVES | STRIDED, .inplace = VIEWS, .infer = infer_slice, .view = view_slice, .grad = grad_slice, .emit = emit_slice,
	.sample = { -2, 2 },
	.doc = "A part of the tensor: along each axis given (0, 1, … if none are) from `start` to before `stop`, in steps of 1 or -1. "
	       "Bounds are read as Python reads them: negative ones count from the end, they are clipped to the axis, and none means as far as it goes. "
	       "A start at or behind the stop leaves an axis of length 0. Lists of different lengths are an error, as is an axis given twice. Without bounds it is a copy.",
	.formula = "y_i = x_(start + i * step), dx = zeros with g at the places read");

/* --- subsample ----------------------------------------------------------------------------------------------- */

static int infer_subsample(Infer *in)
{
	Spec x = infer_in(in, 0);
	const AttrVal *v = op_attr(in->op, "strides");
	int64_t s[MAX_RANK];
	if (v->ints.n > x.shape.rank) {
		Diag *d = infer_error(in, E0310, "`subsample` has more strides than the tensor has axes");
		diag_label(in->b->ir->ds, d, "%d strides, rank %d", v->ints.n, x.shape.rank);
		return 0;
	}
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = x.shape };
	for (int i = 0; i < x.shape.rank; i++) {
		s[i] = i < v->ints.n ? v->ints.at[i] : 1;
		if (s[i] < 1) return infer_error(in, E0310, "strides of `subsample` are positive"), 0;
		in->out[0].shape.dim[i] = x.shape.dim[i] / s[i] + (x.shape.dim[i] % s[i] != 0);
	}
	infer_set_ints(in, "strides", s, x.shape.rank);
	return 1;
}

static void region_subsample(const Op *op, Region *r)
{
	const AttrVal *v = op_attr(op, "strides");
	for (int i = 0; i < MAX_RANK; i++) {
		r->start[i] = 0;
		r->step[i] = i < v->ints.n ? v->ints.at[i] : 1;
	}
}
REGION_RULES(subsample)

OPDEF(subsample, .type = "Subsample", .family = "shape", .params = PARAMS({ "t", P_TENSOR }, { "strides", P_INTS }), .traits = PURE | MOVES | STRIDED,
	.infer = infer_subsample, .view = view_subsample, .grad = grad_subsample, .emit = emit_subsample, .sample = { -2, 2 },
	.doc = "Every s-th element of each axis, the first included. A single int strides axis 0 only, a short list is filled up with 1.",
	.formula = "y_i = x_(i * s), dx = zeros with g at the places read");

/* --- pick and place (made by gradient rules) -------------------------------------------------------------------- */

static void region_pick(const Op *op, Region *r)
{
	for (int i = 0; i < op_attr(op, "start")->ints.n; i++) {
		r->start[i] = op_attr(op, "start")->ints.at[i];
		r->step[i] = op_attr(op, "step")->ints.at[i];
	}
}

/* do start + i*step, i < part, stay inside of whole */
static int region_fits(Infer *in, Shape whole, Shape part)
{
	const AttrVal *start = op_attr(in->op, "start"), *step = op_attr(in->op, "step");
	int ok = start->ints.n == whole.rank && step->ints.n == whole.rank && part.rank == whole.rank;
	for (int i = 0; ok && i < whole.rank; i++) {
		int64_t first = start->ints.at[i], last = first + (part.dim[i] - 1) * step->ints.at[i];
		ok = part.dim[i] == 0 || (part.dim[i] > 0 && first >= 0 && first < whole.dim[i] && last >= 0 && last < whole.dim[i]);
	}
	return ok ? 1 : bad_slice(in, "the region leaves the tensor");
}

static Shape attr_as_shape(const AttrVal *v)
{
	Shape s = { .rank = v->ints.n < MAX_RANK ? v->ints.n : MAX_RANK };
	for (int i = 0; i < s.rank; i++) s.dim[i] = v->ints.at[i];
	return s;
}

static int infer_pick(Infer *in)
{
	Spec x = infer_in(in, 0);
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = attr_as_shape(op_attr(in->op, "shape")) };
	return region_fits(in, x.shape, in->out[0].shape);
}
REGION_RULES(pick)

#define REGION_PARAMS PARAMS({ "t", P_TENSOR }, { "start", P_INTS }, { "step", P_INTS }, { "shape", P_SHAPE })

OPDEF(pick, .type = "Pick", .family = "shape", .params = REGION_PARAMS, .traits = PURE | STRIDED | INTERNAL,
	.infer = infer_pick, .view = view_pick, .grad = grad_pick, .emit = emit_pick, .sample = { -2, 2 },
	.doc = "Elements at start + i * step along each axis, `shape` of them.", .formula = "y_i = x_(start + i * step)");

static int infer_place(Infer *in)
{
	Spec x = infer_in(in, 0);
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = attr_as_shape(op_attr(in->op, "shape")) };
	return region_fits(in, in->out[0].shape, x.shape);
}

static void grad_place(Grad *gr, Op *op)
{
	Tensor *g = grad_of(gr, op, 0);
	Shape s = op->in.at[0]->spec.shape;
	AttrVal *v = b_attrs(&gr->b, OP_pick, "start", *op_attr(op, "start"), "step", *op_attr(op, "step"),
	                     "shape", attr_ints(gr->b.ir->mem, s.dim, s.rank), NULL);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_pick, &g, 1, v, 0)->out.at[0]);
}

static void emit_place(Emit *e, const Op *op)
{
	const Spec *x = &op->in.at[0]->spec;
	Layout from = emit_layout(e, op->in.at[0]);
	int64_t ds[MAX_RANK], at = 0;
	row_major(op->out.at[0]->spec.shape, ds);
	for (int i = 0; i < x->shape.rank; i++) {
		at += op_attr(op, "start")->ints.at[i] * ds[i];
		ds[i] *= op_attr(op, "step")->ints.at[i];
	}
	emit_zero(e, op, 0);
	emit_strided(e, op, (int)dtype_size(x->dtype), x->shape, emit_in(e, op, 0), from.stride, emit_offset(e, emit_out(e, op, 0), at), ds);
}

OPDEF(place, .type = "Place", .family = "shape", .params = REGION_PARAMS, .traits = PURE | STRIDED | INTERNAL,
	.infer = infer_place, .grad = grad_place, .emit = emit_place, .sample = { -2, 2 },
	.doc = "Zeros of `shape` with the operand at start + i * step along each axis.", .formula = "y_(start + i * step) = x_i, else 0");
