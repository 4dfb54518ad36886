/* pooling.c — means and maxima over windows of images.
 *
 * The kernels know f32, f64 and, for maxima, 64-bit integers; 16-bit floats are widened and the result rounded once, smaller
 * integers pass through a float type that holds them. */
#include "compiler/ops/grad.h"
#include "compiler/ops/window.h"

#include <inttypes.h>

/* --- arguments ------------------------------------------------------------------------------------------------------ */

static int only(Infer *in, const char *name, int n, int64_t value)
{
	int64_t v[2 * MAX_SPACE];
	if (!window_list(in, name, n, 0, value, v)) return 0;
	for (int i = 0; i < n; i++) {
		if (v[i] == value) continue;
		Diag *d = infer_error(in, E0310, "invalid `%s` for `%s`", name, in->def->name);
		diag_label(in->b->ir->ds, d, "only %" PRId64 " is defined, got %" PRId64, value, v[i]);
		return 0;
	}
	in->op->attr[op_param(in->def, name)].set = 0;
	return 1;
}

static int empty_window(Infer *in, const Windows *w, int i)
{
	Diag *d = infer_error(in, E0310, "a window of `%s` lies in padding only", in->def->name);
	diag_label(in->b->ir->ds, d, "spatial axis %d: windows of %" PRId64 ", %" PRId64 " apart, on %" PRId64 " elements after %" PRId64 " of padding", i, w->k[i],
	           w->stride[i], w->x[i], w->begin[i]);
	return 0;
}

static int check_windows(Infer *in, const Windows *w)
{
	for (int i = 0; i < w->n; i++) {
		if (w->k[i] > MOST_WINDOW) return infer_error(in, E0310, "the window of `%s` is larger than %d", in->def->name, MOST_WINDOW), 0;
		if (w->begin[i] >= w->k[i] || (w->y[i] - 1) * w->stride[i] - w->begin[i] >= w->x[i]) return empty_window(in, w, i);
	}
	return 1;
}

static int open_pool(Infer *in, Windows *w)
{
	int64_t pads[2 * MAX_SPACE];
	if (!(w->n = window_rank(in, 0))) return 0;
	w->n -= lies_blocked(in->op, 1);                     /* blocks put an axis behind those of space */
	if (!window_list(in, "kernel_size", w->n, 1, 1, w->k) || !window_list(in, "stride", w->n, 1, 1, w->stride) || !window_list(in, "padding", 2 * w->n, 0, 0, pads)) return 0;
	for (int i = 0; i < w->n; i++) {
		w->x[i] = infer_in(in, 0).shape.dim[i + 2];
		w->begin[i] = pads[i];
		w->end[i] = pads[w->n + i];
		w->dilation[i] = 1;
	}
	return only(in, "dilation", w->n, 1) && only(in, "in_dilations", w->n, 1) && only(in, "out_pads", 2 * w->n, 0);
}

static int infer_pool(Infer *in)
{
	Windows w = { 0 };
	int64_t pads[2 * MAX_SPACE];
	int ceil = (int)op_attr(in->op, "ceil_mode")->i;
	if (!open_pool(in, &w) || !window_sizes(in, &w, "auto_pad", ceil) || !check_windows(in, &w)) return 0;
	in->out[0] = infer_in(in, 0);
	in->out[0].has_meta = 0;
	for (int i = 0; i < w.n; i++) {
		in->out[0].shape.dim[i + 2] = w.y[i];
		pads[i] = w.begin[i];
		pads[w.n + i] = w.end[i];
	}
	infer_set_ints(in, "kernel_size", w.k, w.n);
	infer_set_ints(in, "stride", w.stride, w.n);
	infer_set_ints(in, "padding", pads, 2 * w.n);
	infer_set_int(in, "ceil_mode", 0);
	in->op->attr[op_param(in->def, "auto_pad")].s = "not_set";
	return 1;
}

static int infer_average_pool(Infer *in) { return infer_need_float(in, 0) && infer_pool(in); }

static int infer_max_pool(Infer *in)
{
	static const char *const orders[] = { "row", 0 };
	return infer_word(in, "storage_order", orders) >= 0 && infer_need_number(in, 0) && infer_pool(in);
}

/* --- emission --------------------------------------------------------------------------------------------------------- */

static Windows pool_windows(const Op *op, Shape x, Shape y)
{
	Windows w = { .n = x.rank - 2 };
	for (int i = 0; i < w.n; i++) {
		w.x[i] = x.dim[i + 2];
		w.y[i] = y.dim[i + 2];
		w.k[i] = op_attr(op, "kernel_size")->ints.at[i];
		w.stride[i] = op_attr(op, "stride")->ints.at[i];
		w.begin[i] = op_attr(op, "padding")->ints.at[i];
		w.dilation[i] = 1;
	}
	w.xblock = w.yblock = lies_blocked(op, 1) ? BLOCK_CHANNELS : 0;
	w.relu = (int)op_attr(op, "_relu")->i;
	return w;
}

static const char *pool_static(Emit *e, const Op *op, const Tensor *x, const Tensor *y)
{
	Shape s = shape_seen(op, x, 1);
	Windows w = pool_windows(op, s, shape_seen(op, y, 1));
	return window_static(e, &w, x->spec.dtype, y->spec.dtype, s.dim[0], s.dim[1], 1, 1);
}

/* forward or back */
static int takes_blocks(const Op *op, int which)
{
	const Tensor *first = op->in.at[0], *other = op->in.n > 1 ? op->in.at[1] : op->out.at[0];
	int back = op->code == OP_average_pool_grad;
	Shape x = (back ? other : first)->spec.shape, y = (back ? first : other)->spec.shape;
	Windows w = pool_windows(op, x, y);
	w.xblock = w.yblock = which ? BLOCK_CHANNELS : 0;
	struct pxlrt_window d = window_struct(&w, first->spec.dtype, first->spec.dtype, x.dim[0], x.dim[1], 1, 1);
	return rt_pool_blocks(&d);
}

static void emit_pool(Emit *e, const Op *op)
{
	emit_rt(e, op, "pool(ln, &%s, %d, %s, %s)", pool_static(e, op, op->in.at[0], op->out.at[0]), op->code == OP_max_pool, emit_in(e, op, 0), emit_out(e, op, 0));
}

static int lower_pool(Build *b, Op *op, Tensor **out)
{
	Tensor *wide[3];
	DType t = op->in.at[0]->spec.dtype, by = dtype_is_int(t) && dtype_size(t) == 4 ? DT_F64 : DT_F32;
	if (t == DT_F32 || dtype_size(t) == 8) return 0;
	for (int i = 0; i < op->in.n; i++) wide[i] = b_cast(b, op->in.at[i], by);
	out[0] = b_cast(b, ir_op(b, op->code, wide, op->in.n, op->attr, 0)->out.at[0], t);
	return 1;
}

/* --- gradients ---------------------------------------------------------------------------------------------------------- */

#define WINDOWS { "kernel_size", P_INTS }, { "stride", P_INTS }, { "padding", P_INTS }, BLOCKED_PARAM
#define IN_BLOCKS .blocking = BLOCKS_ALIKE, .takes_blocks = takes_blocks

static AttrVal *windows_of(Build *b, OpCode code, const Op *op)
{
	return b_attrs(b, code, "kernel_size", *op_attr(op, "kernel_size"), "stride", *op_attr(op, "stride"), "padding", *op_attr(op, "padding"), NULL);
}

static int infer_average_grad(Infer *in)
{
	const AttrVal *size = op_attr(in->op, "size");
	infer_same(in);
	for (int i = 0; i < size->ints.n; i++) in->out[0].shape.dim[i + 2] = size->ints.at[i];
	return 1;
}

static void grad_average_pool(Grad *gr, Op *op)
{
	AttrVal *v = windows_of(&gr->b, OP_average_pool_grad, op);
	Shape x = op->in.at[0]->spec.shape;
	v[op_param(op_table[OP_average_pool_grad], "size")] = attr_ints(gr->b.ir->mem, x.dim + 2, x.rank - 2);
	Tensor *g = grad_of(gr, op, 0);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_average_pool_grad, &g, 1, v, 0)->out.at[0]);
}

/* the map back is linear, and its transpose is the way there */
static void grad_average_grad(Grad *gr, Op *op)
{
	Tensor *g = grad_of(gr, op, 0);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_average_pool, &g, 1, windows_of(&gr->b, OP_average_pool, op), 0)->out.at[0]);
}

static void emit_average_grad(Emit *e, const Op *op)
{
	emit_rt(e, op, "average_back(ln, &%s, %s, %s)", pool_static(e, op, op->out.at[0], op->in.at[0]), emit_in(e, op, 0), emit_out(e, op, 0));
}

static void grad_max_pool(Grad *gr, Op *op)
{
	Tensor *in[] = { grad_fwd(gr, op->in.at[0]), grad_fwd(gr, op->out.at[0]), grad_of(gr, op, 0) };
	grad_add(gr, op, 0, ir_op(&gr->b, OP_max_pool_grad, in, 3, windows_of(&gr->b, OP_max_pool_grad, op), 0)->out.at[0]);
}

static void emit_max_grad(Emit *e, const Op *op)
{
	emit_rt(e, op, "max_back(ln, &%s, %s, %s, %s, %s)", pool_static(e, op, op->in.at[0], op->in.at[1]), emit_in(e, op, 0), emit_in(e, op, 1), emit_in(e, op, 2),
	        emit_out(e, op, 0));
}

/* --- the blocks ------------------------------------------------------------------------------------------------------------ */

#define POOL_PARAMS { "t", P_TENSOR }, { "kernel_size", P_INTS }, { "stride", P_INTS, OPTIONAL }, { "padding", P_INTS, OPTIONAL }, { "out_pads", P_INTS, OPTIONAL }, \
	{ "dilation", P_INTS, OPTIONAL }, { "in_dilations", P_INTS, OPTIONAL }, { "auto_pad", P_STR, OPTIONAL, STR_DEFAULT("not_set") }, { "ceil_mode", P_BOOL, OPTIONAL, INT_DEFAULT(0) }
#define POOL_RULES "`stride` is 1 unless given (not the window's size). `padding` lists all begins, then all ends; `auto_pad` is as `pad_type` of `conv`; `ceil_mode` rounds " \
	"sizes up, but for windows that would begin behind the last element. A window that lies in padding only is an error; so are dilations and `out_pads` other than neutral ones."

OPDEF(average_pool, .type = "AveragePool", .family = "window", .params = PARAMS(POOL_PARAMS, BLOCKED_PARAM), .traits = PURE, .infer = infer_average_pool, .grad = grad_average_pool,
	.lower = lower_pool, IN_BLOCKS, .emit = emit_pool, .flops = 1, .sample = { -1, 1 },
	.doc = "Mean over windows of images (N, C, D1…Dn), of the elements that are there: padding is never counted. " POOL_RULES,
	.formula = "y[n,c,o] = mean of t[n,c,i], i in window o; dt[i] = sum over windows that have i of g / their count");

OPDEF(max_pool, .type = "MaxPool", .family = "window", .params = PARAMS(POOL_PARAMS, { "storage_order", P_STR, OPTIONAL, STR_DEFAULT("row") }, BLOCKED_PARAM), .traits = PURE,
	.infer = infer_max_pool, .grad = grad_max_pool, .lower = lower_pool, IN_BLOCKS, .emit = emit_pool, .flops = 1, .sample = { -1, 1 },
	.doc = "Maximum over windows of images (N, C, D1…Dn) of floats or integers; a NaN is handed on. Every element that equals the "
	       "maximum receives its whole gradient. " POOL_RULES,
	.formula = "y[n,c,o] = max of t[n,c,i], i in window o; dt[i] = sum over windows that have i of g where t = y");

OPDEF(average_pool_grad, .type = "AveragePoolGrad", .family = "window", .params = PARAMS({ "g", P_TENSOR }, { "size", P_INTS }, WINDOWS), .traits = PURE | INTERNAL,
	.infer = infer_average_grad, .grad = grad_average_grad, .lower = lower_pool, IN_BLOCKS, .emit = emit_average_grad, .flops = 1, .sample = { -1, 1 },
	.doc = "Gradient of average_pool.", .formula = "dt[i] = sum over windows that have i of g / their count");

OPDEF(max_pool_grad, .type = "MaxPoolGrad", .family = "window", .params = PARAMS({ "t", P_TENSOR }, { "y", P_TENSOR }, { "g", P_TENSOR }, WINDOWS, RELU_PARAM),
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_same, .lower = lower_pool, IN_BLOCKS, .emit = emit_max_grad, .flops = 1, .sample = { -1, 1 },
	.doc = "Gradient of max_pool; `_relu`, in blocks: of max_pool of relu, t being what the relu gave.", .formula = "dt[i] = sum over windows that have i of g where t = y");
