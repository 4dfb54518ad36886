/* pad.c — elements added before and behind the axes of a tensor, or removed.
 *
 * `padding` holds the counts of all begins, then those of all ends; negative counts remove elements, before any are added.
 * With n elements of an axis kept, the added element i places before them is the constant, or kept element i (reflect),
 * 0 (edge) or n - i (wrap); behind them the same from the other end.
 *
 * The emitter copies the kept elements into place.  Then it fills both sides of one axis after the other: over the whole
 * length of the axes before, which are complete, and over the kept part of those behind. */
#include "compiler/ops/grad.h"
#include "compiler/ops/strided.h"

#include <inttypes.h>
#include <string.h>

typedef enum PadMode { CONSTANT, REFLECT, EDGE, WRAP } PadMode;
static const char *const modes[] = { "constant", "reflect", "edge", "wrap", 0 };

/* of one axis: how many elements are cut off and added on either side, and how many are kept between */
typedef struct Margin { int64_t cut[2], add[2], kept; } Margin;

static PadMode mode_of(const Op *op)
{
	int m = 0;
	while (modes[m + 1] && strcmp(modes[m], op_attr(op, "mode")->s)) m++;
	return (PadMode)m;
}

static Margin margin_of(int64_t len, int64_t before, int64_t behind)
{
	Margin m = { .kept = len };
	int64_t n[] = { before, behind };
	for (int side = 0; side < 2; side++) {
		if (n[side] > 0) m.add[side] = n[side];
		else m.cut[side] = -n[side], m.kept += n[side];
	}
	return m;
}

static Margin margin(const Op *op, int axis)
{
	const Shape *s = &op->in.at[0]->spec.shape;
	const int64_t *p = op_attr(op, "padding")->ints.at;
	return margin_of(s->dim[axis], p[axis], p[s->rank + axis]);
}

/* --- arguments --------------------------------------------------------------------------------------------------- */

static int bad_pad(Infer *in, const char *label)
{
	Diag *d = infer_error(in, E0310, "invalid `padding` for `pad`");
	diag_label(in->b->ir->ds, d, "%s", label);
	return 0;
}

/* the numbers for every axis; 0 after a diagnostic */
static int read_padding(Infer *in, int64_t *pads)
{
	const AttrVal *v = op_attr(in->op, "padding"), *axis = op_attr(in->op, "axis");
	Arena *a = in->b->ir->mem;
	int rank = infer_in(in, 0).shape.rank, n = axis->set ? axis->ints.n : rank, one = v->i && v->ints.n == 1;
	unsigned mask;
	if (!infer_axes(in, axis, rank, &mask)) return 0;
	if (!one && v->ints.n != 2 * n)
		return bad_pad(in, arena_printf(a, "%s %d numbers, all begins and then all ends, or one number for all; got %d",
		                                n == 1 ? "1 axis takes" : arena_printf(a, "%d axes take", n), 2 * n, v->ints.n));
	for (int i = 0; i < 2 * rank; i++) pads[i] = 0;
	for (int i = 0; i < n; i++) {
		int64_t at = axis->set ? axis->ints.at[i] : i, before = v->ints.at[one ? 0 : i], behind = v->ints.at[one ? 0 : n + i];
		if (before == NO_INT || behind == NO_INT) return bad_pad(in, "entries are numbers");
		at += at < 0 ? rank : 0;
		pads[at] = before;
		pads[rank + at] = behind;
	}
	return 1;
}

/* modes that take from what is kept: is there enough of it */
static int has_enough(Infer *in, int mode, int axis, const Margin *m)
{
	int64_t wanted = m->add[0] > m->add[1] ? m->add[0] : m->add[1], most = INT64_MAX;
	if (mode == WRAP || (mode == EDGE && !m->kept)) most = m->kept;
	if (mode == REFLECT) most = m->kept ? m->kept - 1 : 0;
	if (wanted <= most) return 1;
	return bad_pad(in, arena_printf(in->b->ir->mem, "\"%s\" adds at most %" PRId64 " elements to a side of axis %d, which keeps %" PRId64
	                                "; %" PRId64 " are wanted", modes[mode], most, axis, m->kept, wanted));
}

static int pad_axis(Infer *in, int mode, int axis, int64_t before, int64_t behind, int64_t *dim)
{
	Arena *a = in->b->ir->mem;
	int64_t len = *dim;
	if (before < -len || behind < -len || (before < 0 && behind < 0 && before + behind < -len))
		return bad_pad(in, arena_printf(a, "more is cut off axis %d than the %" PRId64 " elements that it has", axis, len));
	Margin m = margin_of(len, before, behind);
	if (!has_enough(in, mode, axis, &m)) return 0;
	if (__builtin_add_overflow(m.kept, m.add[0], dim) || __builtin_add_overflow(*dim, m.add[1], dim)) *dim = INT64_MAX;
	return 1;
}

static int check_value(Infer *in)
{
	const Tensor *value = infer_tensor(in, 1);
	DType t = infer_in(in, 0).dtype;
	if (!value) return infer_fits(in, "value");
	if (!infer_scalar(in, "value")) return 0;
	if (value->spec.dtype == t) return 1;
	Diag *d = infer_error(in, E0303, "`value` of `pad` has another element type than the tensor");
	diag_label(in->b->ir->ds, d, "%s against %s", dtype_info[value->spec.dtype].name, dtype_info[t].name);
	diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, "convert it: `.cast(%s)`", dtype_info[t].name);
	return 0;
}

static int infer_pad(Infer *in)
{
	int64_t pads[2 * MAX_RANK];
	int mode = infer_word(in, "mode", modes), rank = infer_in(in, 0).shape.rank;
	if (mode < 0 || !read_padding(in, pads) || !check_value(in)) return 0;
	in->out[0] = (Spec){ .dtype = infer_in(in, 0).dtype, .shape = infer_in(in, 0).shape };
	for (int i = 0; i < rank; i++)
		if (!pad_axis(in, mode, i, pads[i], pads[rank + i], &in->out[0].shape.dim[i])) return 0;
	infer_set_ints(in, "padding", pads, 2 * rank);
	in->op->attr[op_param(in->def, "padding")].i = 0;
	in->op->attr[op_param(in->def, "axis")] = (AttrVal){ 0 };
	return 1;
}

/* --- emission ---------------------------------------------------------------------------------------------------- */

static int is_filled(const Op *op)       /* with the constant, somewhere */
{
	int any = 0;
	for (int i = 0; i < op->in.at[0]->spec.shape.rank; i++) any |= margin(op, i).add[0] || margin(op, i).add[1];
	return any && mode_of(op) == CONSTANT;
}

/* the emitter takes the value as a tensor of the operand's type, from where it is wanted */
static int lower_pad(Build *b, Op *op, Tensor **out)
{
	Tensor *value = op->in.n > 1 ? op->in.at[1] : 0;
	if (!is_filled(op) == !value) return 0;
	value = is_filled(op) ? b_like(b, op->in.at[0], op_attr(op, "value")->f) : 0;
	out[0] = ir_op(b, OP_pad, (Tensor *[]){ op->in.at[0], value }, 2, op->attr, 0)->out.at[0];
	return 1;
}

/* where the elements on one side of an axis come from, as places of that axis in the result: the first, and the step */
static void source_of(PadMode mode, const Margin *m, int side, int64_t *from, int64_t *step)
{
	int64_t first = m->add[0], last = m->add[0] + m->kept - 1;
	*step = mode == REFLECT ? -1 : mode == WRAP;
	if (mode == REFLECT) *from = side ? last - 1 : 2 * first;
	else if (mode == WRAP) *from = side ? first : m->kept;
	else *from = side ? last : first;
}

/* one side of an axis; `box` is what is filled of the other axes, from `at` on */
static void emit_side(Emit *e, const Op *op, int axis, int side, Shape box, int64_t at, const int64_t *stride)
{
	Margin m = margin(op, axis);
	int64_t ss[MAX_RANK] = { 0 }, from, step;
	int size = (int)dtype_size(op->out.at[0]->spec.dtype);
	const char *y = emit_out(e, op, 0);
	box.dim[axis] = m.add[side];
	if (!m.add[side]) return;
	int64_t to = at + (side ? (m.add[0] + m.kept) * stride[axis] : 0);
	if (mode_of(op) == CONSTANT) {
		emit_strided(e, op, size, box, emit_in(e, op, 1), ss, emit_offset(e, y, to), stride);
		return;
	}
	source_of(mode_of(op), &m, side, &from, &step);
	for (int i = 0; i < box.rank; i++) ss[i] = i == axis ? step * stride[i] : stride[i];
	emit_strided(e, op, size, box, emit_offset(e, y, at + from * stride[axis]), ss, emit_offset(e, y, to), stride);
}

static void emit_pad(Emit *e, const Op *op)
{
	const Spec *y = &op->out.at[0]->spec;
	Layout x = emit_layout(e, op->in.at[0]);
	Shape box = y->shape;
	int64_t stride[MAX_RANK], from = 0, at = 0;
	row_major(y->shape, stride);
	for (int i = 0; i < box.rank; i++) {
		Margin m = margin(op, i);
		box.dim[i] = m.kept;
		from += m.cut[0] * x.stride[i];
		at += m.add[0] * stride[i];
	}
	if (!shape_nelems(y->shape)) return;
	const char *src = emit_offset(e, emit_in(e, op, 0), from);
	emit_strided(e, op, (int)dtype_size(y->dtype), box, src, x.stride, emit_offset(e, emit_out(e, op, 0), at), stride);
	for (int i = 0; i < box.rank; i++) {
		at -= margin(op, i).add[0] * stride[i];
		for (int side = 0; side < 2; side++) emit_side(e, op, i, side, box, at, stride);
		box.dim[i] = y->shape.dim[i];
	}
}

/* --- the gradient: zeros for removed elements; that of added ones is added where they came from ---------------------- */

static Tensor *with_zeros(Build *b, Tensor *x, const int64_t *pads)
{
	AttrVal *v = b_attrs(b, OP_pad, "padding", attr_ints(b->ir->mem, pads, 2 * x->spec.shape.rank), NULL);
	return ir_op(b, OP_pad, (Tensor *[]){ x, 0 }, 2, v, 0)->out.at[0];
}

static Tensor *reversed(Build *b, Tensor *x, int axis)
{
	Arena *a = b->ir->mem;
	int64_t k = axis, step = -1;
	AttrVal *v = b_attrs(b, OP_slice, "step", attr_ints(a, &step, 1), "axis", attr_ints(a, &k, 1), NULL);
	return ir_op(b, OP_slice, &x, 1, v, 0)->out.at[0];
}

/* part of g that lies on one side of an axis, at the places of what was kept that it was taken from */
static Tensor *give_back(Build *b, Tensor *g, PadMode mode, int axis, const Margin *m, int side)
{
	int64_t start = side ? m->add[0] + m->kept : 0, n = m->add[side], from, step, pads[2 * MAX_RANK] = { 0 };
	int rank = g->spec.shape.rank;
	Tensor *part = b_slice(b, g, axis, start, start + n);
	source_of(mode, m, side, &from, &step);
	from -= m->add[0];
	if (!step) part = b_sum(b, part, 1u << axis, 1);
	if (step < 0) part = reversed(b, part, axis), from -= n - 1;
	pads[axis] = from;
	pads[rank + axis] = m->kept - from - part->spec.shape.dim[axis];
	return with_zeros(b, part, pads);
}

static void grad_pad(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	int rank = op->in.at[0]->spec.shape.rank;
	int64_t back[2 * MAX_RANK];
	Tensor *g = grad_of(gr, op, 0);
	for (int i = 0; i < rank; i++) {
		Margin m = margin(op, i);
		back[i] = m.cut[0], back[rank + i] = m.cut[1];
		if (!m.add[0] && !m.add[1]) continue;
		if (mode_of(op) == CONSTANT) {
			back[i] -= m.add[0], back[rank + i] -= m.add[1];
			continue;
		}
		Tensor *sum = b_slice(b, g, i, m.add[0], m.add[0] + m.kept);
		for (int side = 0; side < 2; side++)
			if (m.add[side]) sum = b_op2(b, OP_add, sum, give_back(b, g, mode_of(op), i, &m, side));
		g = sum;
	}
	grad_add(gr, op, 0, with_zeros(b, g, back));
}

OPDEF(pad, .type = "Pad", .family = "shape",
	.params = PARAMS({ "t", P_TENSOR }, { "padding", P_INTS }, { "mode", P_STR, OPTIONAL, STR_DEFAULT("constant") },
		{ "value", P_SCALAR, OPTIONAL, FLOAT_DEFAULT(0) }, { "axis", P_INTS, OPTIONAL }),
	.traits = PURE | MOVES | STRIDED, .stops = 1 << 1, .infer = infer_pad, .lower = lower_pad, .grad = grad_pad, .emit = emit_pad,
	.sample = { -2, 2 },
	.doc = "Adds elements before and behind each axis. `padding` lists the counts of all begins, then those of all ends, as in "
	       "ONNX (PyTorch lists pairs, last axis first); one number stands for all of them. With `axis` the list is for those "
	       "axes alone. Negative counts remove elements, before any are added. `mode` says what is added. \"constant\": `value`, a "
	       "number or a tensor of one element, which receives no gradient. \"reflect\": the neighbours of the end in reverse, "
	       "without the end itself, so at most all elements but one. \"edge\": the end repeated (PyTorch: \"replicate\"). "
	       "\"wrap\": elements from the other end, at most all of them (PyTorch: \"circular\").",
	.formula = "y_i = x_(i - before), outside of x by mode; dx_i = sum of g where x_i stands in y");
