/* dynamic.c — windows of a tensor whose place is computed while the program runs. */
#include "compiler/ops/grad.h"
#include "compiler/ops/strided.h"

#include <inttypes.h>

static int wrong(Infer *in, DiagCode code, const char *what, const char *why)
{
	Diag *d = infer_error(in, code, "%s of `%s` does not fit", what, op_said(in->op));
	diag_label(in->b->ir->ds, d, "%s", why);
	return 0;
}

/* the window's shape; axes are replaced by positive ones */
static int window_of(Infer *in, Shape *window)
{
	Arena *mem = in->b->ir->mem;
	const AttrVal *axes = op_attr(in->op, "axes"), *sizes = op_attr(in->op, "sizes");
	Spec t = infer_in(in, 0), index = infer_in(in, 1);
	int64_t at[MAX_RANK];
	unsigned mask;
	if (!infer_need_int(in, 1) || !infer_axes(in, axes, t.shape.rank, &mask)) return 0;
	if (axes->ints.n != sizes->ints.n) return wrong(in, E0310, "`sizes`", arena_printf(mem, "%d sizes for %d axes", sizes->ints.n, axes->ints.n));
	if (index.shape.rank != 1 || index.shape.dim[0] != axes->ints.n)
		return wrong(in, E0311, "`index`", arena_printf(mem, "one number for each of %d axes, got %s", axes->ints.n, shape_str(mem, index.shape)));
	*window = t.shape;
	for (int i = 0; i < axes->ints.n; i++) {
		int k = (int)(axes->ints.at[i] < 0 ? axes->ints.at[i] + t.shape.rank : axes->ints.at[i]);
		int64_t n = sizes->ints.at[i];
		if (n < 0 || n > t.shape.dim[k]) return wrong(in, E0310, "`sizes`", arena_printf(mem, "%" PRId64 " of an axis of %" PRId64, n, t.shape.dim[k]));
		window->dim[k] = n;
		at[i] = k;
	}
	infer_set_ints(in, "axes", at, axes->ints.n);
	return 1;
}

static const char *window_static(Emit *e, const AttrVal *axes, const Spec *big, DType index, Shape window, int write)
{
	int64_t stride[MAX_RANK];
	Shape s = big->shape;
	row_major(s, stride);
	return emit_static(e, "struct pxlrt_dynamic", "{ %d, %d, %d, %d, %d, %s, %s, %s, %s }", (int)dtype_size(big->dtype), index, write, s.rank, axes->ints.n,
		emit_longs(e, axes->ints.at, axes->ints.n), emit_longs(e, s.dim, s.rank), emit_longs(e, window.dim, s.rank), emit_longs(e, stride, s.rank));
}

static void emit_window(Emit *e, const Op *op, const Tensor *big, Shape window, int write, const char *bigs, const char *windows)
{
	const char *d = window_static(e, op_attr(op, "axes"), &big->spec, op->in.at[1]->spec.dtype, window, write);
	emit_rt(e, op, "window_copy(ln, &%s, %s, (void *)%s, (void *)%s)", d, emit_in(e, op, 1), bigs, windows);
}

static AttrVal *same_place(Build *b, const Op *op, OpCode code)
{
	return b_attrs(b, code, "axes", *op_attr(op, "axes"), "sizes", *op_attr(op, "sizes"), "no_overlap", *op_attr(op, "no_overlap"), NULL);
}

/* --- check_window: what is left of both ops when nothing reads their results ------------------------------------ */

static void emit_check_window(Emit *e, const Op *op)
{
	const AttrVal *axes = op_attr(op, "axes"), *sizes = op_attr(op, "sizes"), *shape = op_attr(op, "shape");
	Spec big = { .dtype = DT_U8, .shape = { .rank = shape->ints.n } };
	for (int i = 0; i < big.shape.rank; i++) big.shape.dim[i] = shape->ints.at[i];
	Shape window = big.shape;
	for (int i = 0; i < axes->ints.n; i++) window.dim[axes->ints.at[i]] = sizes->ints.at[i];
	const char *d = window_static(e, axes, &big, op->in.at[0]->spec.dtype, window, 0);
	emit_rt(e, op, "window_copy(ln, &%s, %s, 0, 0)", d, emit_in(e, op, 0));
}

OPDEF(check_window, .type = "CheckWindow", .family = "index", .nout = -1,
	.params = PARAMS({ "index", P_TENSOR }, { "axes", P_INTS }, { "sizes", P_INTS }, { "shape", P_SHAPE }),
	.traits = INTERNAL | NO_GRAD, .infer = infer_nothing, .fails = fails_always, .emit = emit_check_window, .sample = { 0, 1 },
	.doc = "A window that does not lie in a tensor of `shape` is a run-time error.", .formula = "no result");

static void check_place(Build *b, const Op *op)
{
	Shape s = op->in.at[0]->spec.shape;
	AttrVal *v = b_attrs(b, OP_check_window, "axes", *op_attr(op, "axes"), "sizes", *op_attr(op, "sizes"), "shape", attr_ints(b->ir->mem, s.dim, s.rank), NULL);
	ir_op(b, OP_check_window, &op->in.at[1], 1, v, NULL);
}

/* --- dynamic_slice ------------------------------------------------------------------------------------------------- */

static int infer_dynamic_slice(Infer *in)
{
	in->out[0].dtype = infer_in(in, 0).dtype;
	return window_of(in, &in->out[0].shape);
}

static void emit_dynamic_slice(Emit *e, const Op *op)
{
	emit_window(e, op, op->in.at[0], op->out.at[0]->spec.shape, 0, emit_in(e, op, 0), emit_out(e, op, 0));
}

static void grad_dynamic_slice(Grad *gr, Op *op)
{
	Tensor *in[] = { b_zeros(&gr->b, op->in.at[0]->spec), grad_fwd(gr, op->in.at[1]), grad_of(gr, op, 0) };
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, ir_op(&gr->b, OP_dynamic_update, in, 3, same_place(&gr->b, op, OP_dynamic_update), 0)->out.at[0]);
}

#define PLACE_PARAMS { "axes", P_INTS }, { "sizes", P_INTS }, { "no_overlap", P_BOOL, OPTIONAL, INT_DEFAULT(0) }
#define PLACE_DOC "`index` holds one integer for each of `axes`; the window is `sizes` long along these and whole along the others. A window that does not lie in the " \
	"tensor is a run-time error. `no_overlap` promises that windows never overlap, and changes no value."

OPDEF(dynamic_slice, .type = "DynamicSlice", .family = "scatter", .params = PARAMS({ "t", P_TENSOR }, { "index", P_TENSOR }, PLACE_PARAMS), .traits = PURE | MOVES,
	.infer = infer_dynamic_slice, .fails = fails_always, .check = check_place, .grad = grad_dynamic_slice, .emit = emit_dynamic_slice, .sample = { -2, 2 },
	.doc = "A window of the tensor, at a place computed while the program runs. " PLACE_DOC, .formula = "y = t[index_i : index_i + sizes_i], dt = g in the window, else 0");

/* --- dynamic_update -------------------------------------------------------------------------------------------------- */

static int infer_dynamic_update(Infer *in)
{
	Spec t = infer_in(in, 0), u = infer_in(in, 2);
	Shape window;
	if (!window_of(in, &window)) return 0;
	if (t.dtype != u.dtype) {
		Diag *d = infer_error(in, E0303, "operands of `%s` have different element types", op_said(in->op));
		diag_label(in->b->ir->ds, d, "%s against %s", dtype_info[t.dtype].name, dtype_info[u.dtype].name);
		return 0;
	}
	if (!shape_eq(u.shape, window)) return wrong(in, E0311, "`t_update`", arena_printf(in->b->ir->mem, "the window is %s", shape_str(in->b->ir->mem, window)));
	return infer_same(in);
}

static void emit_dynamic_update(Emit *e, const Op *op)
{
	const Spec *s = &op->out.at[0]->spec;
	const char *y = emit_out(e, op, 0);
	if (!op->inplace) emit_line(e, "rt->memcpy(%s, %s, %" PRId64 ");", y, emit_in(e, op, 0), shape_nelems(s->shape) * (int64_t)dtype_size(s->dtype));
	emit_window(e, op, op->out.at[0], op->in.at[2]->spec.shape, 1, op->inplace ? emit_in(e, op, 0) : y, emit_in(e, op, 2));
}

static void grad_dynamic_update(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *index = grad_fwd(gr, op->in.at[1]);
	Tensor *in[] = { g, index, b_zeros(b, op->in.at[2]->spec) };
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, ir_op(b, OP_dynamic_update, in, 3, same_place(b, op, OP_dynamic_update), 0)->out.at[0]);
	if (grad_wanted(gr, op, 2)) grad_add(gr, op, 2, ir_op(b, OP_dynamic_slice, in, 2, same_place(b, op, OP_dynamic_slice), 0)->out.at[0]);
}

OPDEF(dynamic_update, .type = "DynamicUpdate", .type_inplace = "DynamicUpdateInplace", .family = "scatter", .inplace = MODIFIES,
	.params = PARAMS({ "t", P_TENSOR }, { "index", P_TENSOR }, { "t_update", P_TENSOR }, PLACE_PARAMS), .traits = PURE | MOVES,
	.infer = infer_dynamic_update, .fails = fails_always, .check = check_place, .grad = grad_dynamic_update, .emit = emit_dynamic_update, .sample = { -2, 2 },
	.doc = "A copy of the tensor with a window replaced by `t_update`, at a place computed while the program runs. " PLACE_DOC,
	.formula = "y = t, y[index_i : index_i + sizes_i] = t_update; dt = g with the window 0, dt_update = the window of g");
