/* resample.c — interpolate and roi_align.
 *
 * interpolate takes one axis after the other (resize); its gradient takes them back in the other order
 * (resize_grad, the transpose).  16-bit floats are widened for all of it and rounded once. */
#include "compiler/ops/grad.h"
#include "compiler/codegen/emit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const modes[] = { "nearest", "linear", "cubic", 0 };
static const char *const nearest_modes[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", 0 };
static const char *const coord_modes[] = { "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", 0 };

static int word(const Op *op, const char *name, const char *const *words)
{
	int i = 0;
	while (words[i + 1] && strcmp(words[i], op_attr(op, name)->s)) i++;
	return i;
}

/* the op on f32, its result rounded; for ops whose float operands are all of one type */
static int lower_wide(Build *b, Op *op, Tensor **out)
{
	Tensor *wide[3];
	DType t = op->out.at[0]->spec.dtype;
	if (t == DT_F32 || t == DT_F64) return 0;
	for (int i = 0; i < op->in.n; i++) wide[i] = dtype_is_float(op->in.at[i]->spec.dtype) ? b_cast(b, op->in.at[i], DT_F32) : op->in.at[i];
	out[0] = b_cast(b, ir_op(b, op->code, wide, op->in.n, op->attr, 0)->out.at[0], t);
	return 1;
}

/* --- one axis --------------------------------------------------------------------------------------------------------- */

#define RESIZE_PARAMS { "axis", P_INT }, { "size", P_INT }, { "factor", P_FLOAT }, { "mode", P_STR }, { "nearest_mode", P_STR }, { "coordinate_transformation_mode", P_STR }

static Tensor *resize(Build *b, OpCode code, const Op *like, Tensor *t, int axis, int64_t size, double factor)
{
	AttrVal *v = b_attrs(b, code, "axis", attr_int(axis), "size", attr_int(size), "factor", attr_float(factor), "mode", *op_attr(like, "mode"),
	                     "nearest_mode", *op_attr(like, "nearest_mode"), "coordinate_transformation_mode", *op_attr(like, "coordinate_transformation_mode"), NULL);
	return ir_op(b, (int)code, &t, 1, v, 0)->out.at[0];
}

static int infer_resize(Infer *in)
{
	infer_same(in);
	in->out[0].has_meta = 0;
	in->out[0].shape.dim[op_attr(in->op, "axis")->i] = op_attr(in->op, "size")->i;
	return 1;
}

static void grad_resize(Grad *gr, Op *op)
{
	int axis = (int)op_attr(op, "axis")->i;
	OpCode other = op->code == OP_resize ? OP_resize_grad : OP_resize;
	grad_add(gr, op, 0, resize(&gr->b, other, op, grad_of(gr, op, 0), axis, op->in.at[0]->spec.shape.dim[axis], op_attr(op, "factor")->f));
}

/* the descriptor is of the way there: from the smaller number's side to `size` samples, whichever way this op goes */
static void emit_resize(Emit *e, const Op *op)
{
	int axis = (int)op_attr(op, "axis")->i, back = op->code == OP_resize_grad;
	const Tensor *x = back ? op->out.at[0] : op->in.at[0], *y = back ? op->in.at[0] : op->out.at[0];
	int64_t outer = 1, inner = 1;
	for (int i = 0; i < x->spec.shape.rank; i++) *(i < axis ? &outer : &inner) *= i == axis ? 1 : x->spec.shape.dim[i];
	const char *d = emit_static(e, "struct pxlrt_resize", "{ { %d, %" PRId64 ", %" PRId64 ", %" PRId64 " }, %d, %d, %d, %" PRId64 ", %s }", x->spec.dtype, outer,
		x->spec.shape.dim[axis], inner, word(op, "mode", modes), word(op, "nearest_mode", nearest_modes),
		word(op, "coordinate_transformation_mode", coord_modes), y->spec.shape.dim[axis], emit_float(e, op_attr(op, "factor")->f));
	emit_rt(e, op, "resize(ln, &%s, %d, %s, %s)", d, back, emit_in(e, op, 0), emit_out(e, op, 0));
}

OPDEF(resize, .type = "ResizeAxis", .family = "window", .params = PARAMS({ "t", P_TENSOR }, RESIZE_PARAMS), .traits = PURE | INTERNAL,
	.infer = infer_resize, .grad = grad_resize, .lower = lower_wide, .emit = emit_resize, .flops = 4, .sample = { -1, 1 },
	.doc = "One axis of interpolate.", .formula = "y[i] = sum over k of w[i,k] t[k]");

OPDEF(resize_grad, .type = "ResizeAxisGrad", .family = "window", .params = PARAMS({ "g", P_TENSOR }, RESIZE_PARAMS), .traits = PURE | INTERNAL,
	.infer = infer_resize, .grad = grad_resize, .lower = lower_wide, .emit = emit_resize, .flops = 4, .sample = { -1, 1 },
	.doc = "Transpose of resize.", .formula = "dt[k] = sum over i of w[i,k] g[i]");

/* --- interpolate --------------------------------------------------------------------------------------------------------- */

static double factor_of(const Op *op, int axis)
{
	const AttrVal *v = op_attr(op, "scale_factor");
	return v->set && v->floats.n ? v->floats.at[axis] : 1;
}

static int scale_error(Infer *in, const char *why)
{
	Diag *d = infer_error(in, E0310, "invalid `scale_factor` for `%s`", in->def->name);
	diag_label(in->b->ir->ds, d, "%s", why);
	return 0;
}

static int scaled_size(Infer *in, int axis, int64_t *dim)
{
	Arena *a = in->b->ir->mem;
	Buf number = buf_new(a);
	double f = factor_of(in->op, axis), size = floor((double)*dim * f);
	buf_float(&number, f);
	if (!(f > 0) || isinf(f)) return scale_error(in, arena_printf(a, "factors are finite and above 0; that of axis %d is %s", axis, number.s));
	if (size < 1 && *dim) return scale_error(in, arena_printf(a, "nothing is left of axis %d: %" PRId64 " times %s", axis, *dim, number.s));
	if (size > 0x1p40) return infer_error(in, E0319, "the result of `%s` has too many elements", in->def->name), 0;
	*dim = (int64_t)size;
	return 1;
}

static int infer_interpolate(Infer *in)
{
	const AttrVal *v = op_attr(in->op, "scale_factor");
	int r = infer_in(in, 0).shape.rank;
	if (!infer_need_float(in, 0) || infer_word(in, "mode", modes) < 0 || infer_word(in, "nearest_mode", nearest_modes) < 0) return 0;
	if (infer_word(in, "coordinate_transformation_mode", coord_modes) < 0) return 0;
	if (v->set && v->floats.n && v->floats.n != r)
		return scale_error(in, arena_printf(in->b->ir->mem, "expected one factor for each of %d axes, images and channels included, got %d", r, v->floats.n));
	infer_same(in);
	in->out[0].has_meta = 0;
	for (int i = 0; i < r; i++)
		if (!scaled_size(in, i, &in->out[0].shape.dim[i])) return 0;
	return 1;
}

static void grad_interpolate(Grad *gr, Op *op)
{
	Tensor *g = grad_of(gr, op, 0);
	DType t = g->spec.dtype;
	if (t != DT_F64) g = b_cast(&gr->b, g, DT_F32);
	for (int i = g->spec.shape.rank - 1; i >= 0; i--)
		if (factor_of(op, i) != 1) g = resize(&gr->b, OP_resize_grad, op, g, i, op->in.at[0]->spec.shape.dim[i], factor_of(op, i));
	grad_add(gr, op, 0, b_cast(&gr->b, g, t));
}

static int lower_interpolate(Build *b, Op *op, Tensor **out)
{
	Tensor *t = op->in.at[0];
	DType d = t->spec.dtype;
	if (d != DT_F64) t = b_cast(b, t, DT_F32);
	for (int i = 0; i < t->spec.shape.rank; i++)
		if (factor_of(op, i) != 1) t = resize(b, OP_resize, op, t, i, op->out.at[0]->spec.shape.dim[i], factor_of(op, i));
	t = b_cast(b, t, d);
	out[0] = t == op->in.at[0] ? b_op1(b, OP_copy, t) : t;
	return 1;
}

OPDEF(interpolate, .type = "Resize", .family = "window",
	.params = PARAMS({ "t", P_TENSOR }, { "scale_factor", P_FLOATS, OPTIONAL }, { "mode", P_STR, OPTIONAL, STR_DEFAULT("nearest") },
		{ "nearest_mode", P_STR, OPTIONAL, STR_DEFAULT("round_prefer_floor") },
		{ "coordinate_transformation_mode", P_STR, OPTIONAL, STR_DEFAULT("half_pixel") }),
	.traits = PURE, .infer = infer_interpolate, .grad = grad_interpolate, .lower = lower_interpolate, .flops = 4, .sample = { -1, 1 },
	.doc = "The tensor sampled anew: axis i of D elements gets ⌊D f⌋, f = scale_factor[i] (one factor per axis, images and channels included; 1 unless given). "
	       "Result i of an axis comes from place c: (i + 0.5) / f - 0.5 for \"half_pixel\"; the same but 0 if D f <= 1 for \"pytorch_half_pixel\"; "
	       "i (D - 1) / (size - 1) for \"align_corners\"; i / f for \"asymmetric\". `mode` \"nearest\" takes one element, rounding c as `nearest_mode` says "
	       "(round_prefer_floor, round_prefer_ceil, floor, ceil); \"linear\" two; \"cubic\" four, with Keys' weights for A = -0.75. Places beyond an end count as "
	       "that end. Axes are taken one after the other.",
	.formula = "y = Wr … W1 t, one sparse matrix per axis; dt = W1^T … Wr^T g");

/* --- roi_align -------------------------------------------------------------------------------------------------------------- */

enum { MOST_SAMPLES = 1024 };

static int roi_rank(Infer *in, int i, int rank, const char *axes)
{
	if (infer_in(in, i).shape.rank == rank) return 1;
	Diag *d = infer_error(in, E0313, "`%s` of `%s` must have rank %d", in->def->params[i].name, in->def->name, rank);
	diag_label(in->b->ir->ds, d, "expected axes %s, got %d", axes, infer_in(in, i).shape.rank);
	return 0;
}

static int roi_operands(Infer *in, int first)
{
	Ir *ir = in->b->ir;
	Spec x = infer_in(in, first), r = infer_in(in, 1), k = infer_in(in, 2);
	if (!infer_need_float(in, first) || !roi_rank(in, 1, 2, "(R, 4)") || !roi_rank(in, 2, 1, "(R)")) return 0;
	if (r.dtype != x.dtype) {
		Diag *d = infer_error(in, E0303, "operands of `%s` have different element types", in->def->name);
		diag_label(ir->ds, d, "%s against %s", dtype_info[x.dtype].name, dtype_info[r.dtype].name);
		return 0;
	}
	if (!infer_need_int(in, 2)) return 0;
	if (r.shape.dim[1] == 4 && r.shape.dim[0] == k.shape.dim[0]) return 1;
	Diag *d = infer_error(in, E0311, "regions of `%s` do not fit", in->def->name);
	if (r.shape.dim[1] != 4) diag_label(ir->ds, d, "a region is x1, y1, x2, y2: 4 numbers, got %" PRId64, r.shape.dim[1]);
	else diag_label(ir->ds, d, "%" PRId64 " regions, and the image of %" PRId64, r.shape.dim[0], k.shape.dim[0]);
	return 0;
}

static int roi_error(Infer *in, const char *name, const char *why)
{
	Diag *d = infer_error(in, E0310, "invalid `%s` for `%s`", name, in->def->name);
	diag_label(in->b->ir->ds, d, "%s", why);
	return 0;
}

static int infer_roi_align(Infer *in)
{
	const AttrVal *size = op_attr(in->op, "output_size");
	int64_t ratio = op_attr(in->op, "sampling_ratio")->i;
	double scale = op_attr(in->op, "spatial_scale")->f;
	if (!roi_rank(in, 0, 4, "(N, C, H, W)") || !roi_operands(in, 0)) return 0;
	if (size->ints.n != 2 || size->ints.at[0] < 1 || size->ints.at[1] < 1) return roi_error(in, "output_size", "expected two positive numbers, of rows and columns");
	if (ratio < 0 || ratio > MOST_SAMPLES) return roi_error(in, "sampling_ratio", arena_printf(in->b->ir->mem, "expected 0 to %d, got %" PRId64, MOST_SAMPLES, ratio));
	if (!(fabs(scale) < INFINITY)) return roi_error(in, "spatial_scale", "the number is not finite");
	Shape x = infer_in(in, 0).shape;
	if (!x.dim[2] || !x.dim[3]) return roi_error(in, "t", "the images are empty");
	in->out[0] = (Spec){ .dtype = infer_in(in, 0).dtype, .shape = { 4, { infer_in(in, 1).shape.dim[0], x.dim[1], size->ints.at[0], size->ints.at[1] } } };
	return 1;
}

static const char *roi_static(Emit *e, const Op *op, Shape x, Shape y)
{
	return emit_static(e, "struct pxlrt_roi", "{ %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %s }",
		op->in.at[0]->spec.dtype, op->in.at[2]->spec.dtype, x.dim[0], x.dim[1], x.dim[2], x.dim[3], y.dim[0], y.dim[2], y.dim[3],
		op_attr(op, "sampling_ratio")->i, emit_float(e, op_attr(op, "spatial_scale")->f));
}

static void emit_roi(Emit *e, const Op *op)
{
	int back = op->code == OP_roi_align_grad;
	Shape a = op->in.at[0]->spec.shape, b = op->out.at[0]->spec.shape;
	emit_rt(e, op, "roi(ln, &%s, %d, %s, %s, %s, %s)", roi_static(e, op, back ? b : a, back ? a : b), back, emit_in(e, op, 0), emit_in(e, op, 1),
	        emit_in(e, op, 2), emit_out(e, op, 0));
}

static void grad_roi_align(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Shape x = op->in.at[0]->spec.shape;
	Tensor *in[] = { grad_of(gr, op, 0), grad_fwd(gr, op->in.at[1]), grad_fwd(gr, op->in.at[2]) };
	AttrVal *v = b_attrs(b, OP_roi_align_grad, "size", attr_ints(b->ir->mem, x.dim, 4), "spatial_scale", *op_attr(op, "spatial_scale"),
	                     "sampling_ratio", *op_attr(op, "sampling_ratio"), NULL);
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, ir_op(b, OP_roi_align_grad, in, 3, v, 0)->out.at[0]);
}

OPDEF(roi_align, .type = "RoiAlign", .family = "window",
	.params = PARAMS({ "t", P_TENSOR }, { "rois", P_TENSOR }, { "batch_index", P_TENSOR }, { "output_size", P_INTS }, { "spatial_scale", P_FLOAT }, { "sampling_ratio", P_INT }),
	.traits = PURE, .infer = infer_roi_align, .fails = fails_always, .grad = grad_roi_align, .lower = lower_wide, .emit = emit_roi, .flops = 16, .sample = { 0, 4 },
	.doc = "Regions of images (N, C, H, W), each pooled to `output_size` bins. Region r is x1, y1, x2, y2 in `rois` (R, 4), times `spatial_scale`, of image "
	       "`batch_index[r]`; it is at least 1 wide and high. A bin is the mean of sampling_ratio × sampling_ratio bilinear samples on a regular grid (0: as many as "
	       "the bin has elements, rounded up, along each axis; at most 1024). A sample more than 1 before or beyond the image counts 0. Images alone receive a "
	       "gradient. An image index out of range, or a coordinate that is not finite, is a run-time error.",
	.formula = "y[r,c,p,q] = mean of bilinear(t[batch_index[r],c], sample), dt = the weights times g, added up");

static int infer_roi_grad(Infer *in)
{
	const AttrVal *size = op_attr(in->op, "size");
	infer_same(in);
	for (int i = 0; i < 4; i++) in->out[0].shape.dim[i] = size->ints.at[i];
	return 1;
}

OPDEF(roi_align_grad, .type = "RoiAlignGrad", .family = "window",
	.params = PARAMS({ "g", P_TENSOR }, { "rois", P_TENSOR }, { "batch_index", P_TENSOR }, { "size", P_INTS }, { "spatial_scale", P_FLOAT }, { "sampling_ratio", P_INT }),
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_roi_grad, .fails = fails_always, .lower = lower_wide, .emit = emit_roi, .flops = 16, .sample = { 0, 4 },
	.doc = "Gradient of roi_align for the images.", .formula = "dt = the weights times g, added up");
