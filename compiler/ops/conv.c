/* conv.c — convolutions.
 *
 * Three maps, each linear in both operands, are all there is: conv_forward (x, w → y), conv_data (y, w → x) and
 * conv_weight (x, y → w), where a place i of y and a tap k meet place i·stride + k·dilation - begin of x.  Each one's
 * gradients are the other two.  The ops of models are made of them, and products of matrices where a window is
 * one element, or all of x.  `size` is the spatial size of the result.  Weights are [channels of y, channels of x / groups, taps…]. */
#include "compiler/ops/grad.h"
#include "compiler/ops/window.h"

#include <inttypes.h>
#include <string.h>

#define MAP_PARAMS { "size", P_INTS }, { "stride", P_INTS }, { "begin", P_INTS }, { "dilation", P_INTS }, { "groups", P_INT }

/* --- the maps: geometry ---------------------------------------------------------------------------------------------- */

typedef struct Map3 { Windows w; int64_t images, groups, c, m; } Map3;       /* c, m: channels of x, y per group */

static Map3 map_of(const Op *op, Shape x, Shape y, Shape k)
{
	Map3 g = { .w.n = x.rank - 2, .groups = op_attr(op, "groups")->i };
	g.images = x.dim[0];
	g.c = x.dim[1] / g.groups;
	g.m = y.dim[1] / g.groups;
	for (int i = 0; i < g.w.n; i++) {
		g.w.x[i] = x.dim[i + 2];
		g.w.y[i] = y.dim[i + 2];
		g.w.k[i] = k.dim[i + 2];
		g.w.stride[i] = op_attr(op, "stride")->ints.at[i];
		g.w.begin[i] = op_attr(op, "begin")->ints.at[i];
		g.w.dilation[i] = op_attr(op, "dilation")->ints.at[i];
	}
	return g;
}

static const char *map_static(Emit *e, const Map3 *g, DType x, DType y)
{
	return window_static(e, &g->w, x, y, g->images, g->groups, g->c, g->m);
}

static int blocked_side(const Op *op, int bit) { return lies_blocked(op, bit) ? BLOCK_CHANNELS : 0; }

/* may the sides x and y of a map lie so */
static int sides_blocked(Map3 g, const Tensor *x, const Tensor *y, int map, int xblock, int yblock)
{
	g.w.xblock = xblock ? BLOCK_CHANNELS : 0;
	g.w.yblock = yblock ? BLOCK_CHANNELS : 0;
	struct pxlrt_window d = window_struct(&g.w, x->spec.dtype, y->spec.dtype, g.images, g.groups, g.c, g.m);
	return rt_conv_blocks(&d, map);
}

/* a map built from another op's arguments */
static Tensor *map(Build *b, OpCode code, const Op *like, Tensor *p, Tensor *q, const int64_t *size)
{
	int n = p->spec.shape.rank - 2;
	AttrVal *v = b_attrs(b, code, "size", attr_ints(b->ir->mem, size, n), "stride", *op_attr(like, "stride"), "begin", *op_attr(like, "begin"),
	                     "dilation", *op_attr(like, "dilation"), "groups", *op_attr(like, "groups"), NULL);
	return ir_op(b, (int)code, (Tensor *[]){ p, q }, 2, v, 0)->out.at[0];
}

static Shape seen(const Infer *in, int i) { return shape_seen(in->op, in->op->in.at[i], 1 << i); }

static Spec map_result(Infer *in, int64_t first, int64_t second)
{
	Spec s = { .dtype = infer_in(in, 0).dtype, .shape = seen(in, 0) };
	s.shape.dim[0] = first;
	s.shape.dim[1] = second;
	for (int i = 2; i < s.shape.rank; i++) s.shape.dim[i] = op_attr(in->op, "size")->ints.at[i - 2];
	if (lies_blocked(in->op, BLOCKED_OUT)) s.shape = shape_blocked(s.shape);
	return s;
}

/* kernels on blocks have an order of their own for the weights as well */
static int results_with_room(const Op *op) { return op_attr(op, "room")->i || op_attr(op, "_blocked")->i ? 2 : 1; }

/* sums are in f32, or f64 */
static DType wide(DType t) { return t == DT_F64 ? DT_F64 : DT_F32; }

/* windows of one element that touch every place once: then a map is a product of matrices */
static int is_product(const Map3 *g)
{
	for (int i = 0; i < g->w.n; i++)
		if (g->w.k[i] != 1 || g->w.stride[i] != 1 || g->w.begin[i] != 0 || g->w.x[i] != g->w.y[i]) return 0;
	return g->groups == 1 && g->images > 0;
}

/* one window, which is all of x: then an image is a row of a matrix, and so is what comes of it */
static int is_whole(const Map3 *g, const Tensor *p, const Tensor *q)
{
	for (int i = 0; i < g->w.n; i++)
		if (g->w.y[i] != 1 || g->w.begin[i] != 0 || g->w.k[i] != g->w.x[i] || (g->w.k[i] != 1 && g->w.dilation[i] != 1)) return 0;
	return g->groups == 1 && g->images > 0 && p->spec.dtype == q->spec.dtype;
}

/* results in whole blocks of channels (rows: those of a group) want the weights in an order of their own (runtime/kernels/conv_blocked.c) */
static int wants_room(const Map3 *g, int64_t rows, DType t) { return t == DT_F32 && rows % PXLRT_CHANNELS == 0 && g->w.n <= 3; }

static Tensor *flat(Build *b, Tensor *t, int from)       /* axes from `from` on as one */
{
	Shape s = t->spec.shape;
	for (int i = from + 1; i < s.rank; i++) s.dim[from] *= s.dim[i];
	s.rank = from + 1;
	return b_reshape(b, t, s);
}

/* --- forward ------------------------------------------------------------------------------------------------------------ */

static int infer_forward(Infer *in)
{
	in->out[0] = map_result(in, infer_in(in, 0).shape.dim[0], infer_in(in, 1).shape.dim[0]);
	return 1;
}

static void grad_forward(Grad *gr, Op *op)
{
	Tensor *x = op->in.at[0], *w = op->in.at[1];
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, map(&gr->b, OP_conv_data, op, grad_of(gr, op, 0), grad_fwd(gr, w), x->spec.shape.dim + 2));
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, map(&gr->b, OP_conv_weight, op, grad_fwd(gr, x), grad_of(gr, op, 0), w->spec.shape.dim + 2));
}

static int lower_forward(Build *b, Op *op, Tensor **out)
{
	Tensor *x = op->in.at[0], *w = op->in.at[1];
	Shape y = op->out.at[0]->spec.shape;
	Map3 g = map_of(op, x->spec.shape, y, w->spec.shape);
	if (is_product(&g)) {
		out[0] = b_reshape(b, b_matmul(b, flat(b, w, 1), flat(b, x, 2)), y);
		return 1;
	}
	if (is_whole(&g, x, w)) {
		out[0] = b_reshape(b, b_matmul(b, flat(b, x, 1), b_transpose(b, flat(b, w, 1), 0)), y);
		return 1;
	}
	AttrVal *v = b_attrs(b, OP_conv_run, "size", *op_attr(op, "size"), "stride", *op_attr(op, "stride"), "begin", *op_attr(op, "begin"),
	                     "dilation", *op_attr(op, "dilation"), "groups", *op_attr(op, "groups"), "room", attr_int(wants_room(&g, g.m, x->spec.dtype)), NULL);
	out[0] = ir_op(b, OP_conv_run, (Tensor *[]){ x, b_cast(b, w, wide(x->spec.dtype)) }, 2, v, 0)->out.at[0];
	return 1;
}

OPDEF(conv_forward, .type = "ConvForward", .family = "window", .params = PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, MAP_PARAMS),
	.traits = PURE | INTERNAL, .infer = infer_forward, .grad = grad_forward, .lower = lower_forward, .flops = 2, .sample = { -1, 1 },
	.doc = "The map of a convolution, padding resolved: places beyond the ends count 0.", .formula = "y[n,m,i] = sum t[n,c,i s + k d - begin] w[m,c,k]");

/* the same with weights as wide as the sums, and room for them in the provider's own order as a second result */
static int infer_run_conv(Infer *in)
{
	const Tensor *bias = infer_tensor(in, 2);
	infer_forward(in);
	if (bias && (!lies_blocked(in->op, BLOCKED_OUT) || shape_nelems(bias->spec.shape) != infer_in(in, 1).shape.dim[0]))
		return infer_error(in, E0310, "invalid bias for `%s`", in->def->name), 0;
	in->nout = results_with_room(in->op);
	in->out[1] = infer_in(in, 1);
	return 1;
}

static const char *room_of(Emit *e, const Op *op) { return op->out.n > 1 ? emit_out(e, op, 1) : "0"; }

static Map3 run_map(const Op *op)
{
	Map3 g = map_of(op, shape_seen(op, op->in.at[0], 1), shape_seen(op, op->out.at[0], BLOCKED_OUT), op->in.at[1]->spec.shape);
	g.w.xblock = blocked_side(op, 1);
	g.w.yblock = blocked_side(op, BLOCKED_OUT);
	g.w.relu = (int)op_attr(op, "_relu")->i;
	return g;
}

static int run_takes_blocks(const Op *op, int which)
{
	return !(which & ~(1 | BLOCKED_OUT)) && sides_blocked(run_map(op), op->in.at[0], op->out.at[0], RT_CONV, which & 1, which & BLOCKED_OUT);
}

static void emit_run(Emit *e, const Op *op)
{
	const Tensor *x = op->in.at[0], *y = op->out.at[0];
	Map3 g = run_map(op);
	emit_rt(e, op, "conv(ln, &%s, %s, %s, %s, %s, %s)", map_static(e, &g, x->spec.dtype, y->spec.dtype), emit_in(e, op, 0), emit_in(e, op, 1),
	        op->in.n > 2 && op->in.at[2] ? emit_in(e, op, 2) : "0", emit_out(e, op, 0),
	        room_of(e, op));
}

OPDEF(conv_run, .type = "ConvRun", .family = "window",
	.params = PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, { "bias", P_OPT_TENSOR, OPTIONAL }, MAP_PARAMS, { "room", P_BOOL }, BLOCKED_PARAM, RELU_PARAM), .nout = -2,
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_run_conv, .emit = emit_run, .blocking = BLOCKS_EACH, .takes_blocks = run_takes_blocks, .flops = 2, .sample = { -1, 1 },
	.doc = "conv_forward as it is run; a second result, if asked for, is memory for the run. Into blocks, with a bias per channel and a relu if wanted.", .formula = "as conv_forward");

/* --- data: the same map read from y to x ---------------------------------------------------------------------------------- */

static int infer_data(Infer *in)
{
	in->out[0] = map_result(in, infer_in(in, 0).shape.dim[0], infer_in(in, 1).shape.dim[1] * op_attr(in->op, "groups")->i);
	return 1;
}

static void grad_data(Grad *gr, Op *op)
{
	Tensor *y = op->in.at[0], *w = op->in.at[1];
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, map(&gr->b, OP_conv_forward, op, grad_of(gr, op, 0), grad_fwd(gr, w), y->spec.shape.dim + 2));
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, map(&gr->b, OP_conv_weight, op, grad_of(gr, op, 0), grad_fwd(gr, y), w->spec.shape.dim + 2));
}

static AttrVal *turned_attrs(Build *b, OpCode code, const Op *op, const Tensor *y, const Tensor *x, const Tensor *w)
{
	Arena *a = b->ir->mem;
	int n = y->spec.shape.rank - 2;
	return b_attrs(b, code, "size", attr_ints(a, x->spec.shape.dim + 2, n), "stride", *op_attr(op, "stride"), "begin", *op_attr(op, "begin"), "dilation",
	               *op_attr(op, "dilation"), "groups", *op_attr(op, "groups"), "from", attr_ints(a, y->spec.shape.dim + 2, n),
	               "window", attr_ints(a, w->spec.shape.dim + 2, n), "dtype", attr_int(wide(y->spec.dtype)), NULL);
}

static int lower_data(Build *b, Op *op, Tensor **out)
{
	Tensor *y = op->in.at[0], *w = op->in.at[1], *x = op->out.at[0];
	Map3 g = map_of(op, x->spec.shape, y->spec.shape, w->spec.shape);
	if (is_product(&g) && w->spec.dtype == x->spec.dtype) {
		out[0] = b_reshape(b, b_matmul(b, b_transpose(b, flat(b, w, 1), 0), flat(b, y, 2)), x->spec.shape);
		return 1;
	}
	if (is_whole(&g, y, w)) {
		out[0] = b_reshape(b, b_matmul(b, flat(b, y, 1), flat(b, w, 1)), x->spec.shape);
		return 1;
	}
	Tensor *turned = ir_op(b, OP_conv_turn, &w, 1, turned_attrs(b, OP_conv_turn, op, y, x, w), 0)->out.at[0];
	AttrVal *v = turned_attrs(b, OP_conv_gather, op, y, x, w);
	v[op_param(op_table[OP_conv_gather], "room")] = attr_int(wants_room(&g, g.c, x->spec.dtype));
	out[0] = ir_op(b, OP_conv_gather, (Tensor *[]){ y, turned }, 2, v, 0)->out.at[0];
	return 1;
}

OPDEF(conv_data, .type = "ConvDataGrad", .family = "window", .params = PARAMS({ "g", P_TENSOR }, { "weight", P_TENSOR }, MAP_PARAMS),
	.traits = PURE | INTERNAL, .infer = infer_data, .grad = grad_data, .lower = lower_data, .flops = 2, .sample = { -1, 1 },
	.doc = "Gradient of a convolution for the data, and the map of conv_transpose.", .formula = "x[n,c,p] = sum over i s + k d - begin = p of g[n,m,i] w[m,c,k]");

/* conv_data in two steps: the weights in the order of its sums, then the sums */
#define TURN_PARAMS MAP_PARAMS, { "from", P_INTS }, { "window", P_INTS }, { "dtype", P_DTYPE }

static Map3 turned_map(const Op *op, int64_t images, int64_t c, int64_t m)
{
	Shape x = { .dim = { images, c } }, y = { .dim = { images, m } }, k = { 0 };
	x.rank = y.rank = k.rank = op_attr(op, "size")->ints.n + 2;
	for (int i = 2; i < x.rank; i++) {
		x.dim[i] = op_attr(op, "size")->ints.at[i - 2];
		y.dim[i] = op_attr(op, "from")->ints.at[i - 2];
		k.dim[i] = op_attr(op, "window")->ints.at[i - 2];
	}
	return map_of(op, x, y, k);
}

static int infer_turn(Infer *in)
{
	infer_same(in);
	in->out[0].dtype = (DType)op_attr(in->op, "dtype")->i;
	return 1;
}

static void emit_turn(Emit *e, const Op *op)
{
	Shape w = op->in.at[0]->spec.shape;
	Map3 g = turned_map(op, 1, w.dim[1] * op_attr(op, "groups")->i, w.dim[0]);
	DType t = op->out.at[0]->spec.dtype;
	emit_rt(e, op, "conv_turn(ln, &%s, %d, %s, %s)", map_static(e, &g, t, t), op->in.at[0]->spec.dtype, emit_in(e, op, 0), emit_out(e, op, 0));
}

OPDEF(conv_turn, .type = "ConvTurn", .family = "window", .params = PARAMS({ "weight", P_TENSOR }, TURN_PARAMS),
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_turn, .emit = emit_turn, .flops = 1, .sample = { -1, 1 },
	.doc = "Weights in the order in which conv_gather sums: by phase of the stride, group, channel of the result.", .formula = "a permutation");

static int infer_gather(Infer *in)
{
	in->out[0] = map_result(in, infer_in(in, 0).shape.dim[0], infer_in(in, 1).shape.dim[1] * op_attr(in->op, "groups")->i);
	in->nout = results_with_room(in->op);
	in->out[1] = infer_in(in, 1);
	return 1;
}

static Map3 gather_map(const Op *op)
{
	Shape y = shape_seen(op, op->in.at[0], 1), x = shape_seen(op, op->out.at[0], BLOCKED_OUT);
	Map3 g = turned_map(op, x.dim[0], x.dim[1], y.dim[1]);
	g.w.xblock = blocked_side(op, BLOCKED_OUT);
	g.w.yblock = blocked_side(op, 1);
	return g;
}

static int gather_takes_blocks(const Op *op, int which)
{
	return !(which & ~(1 | BLOCKED_OUT)) && sides_blocked(gather_map(op), op->out.at[0], op->in.at[0], RT_CONV_DATA, which & BLOCKED_OUT, which & 1);
}

static void emit_gather(Emit *e, const Op *op)
{
	const Tensor *y = op->in.at[0], *x = op->out.at[0];
	Map3 g = gather_map(op);
	emit_rt(e, op, "conv_data(ln, &%s, %s, %s, %s, %s)", map_static(e, &g, x->spec.dtype, y->spec.dtype), emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0),
	        room_of(e, op));
}

OPDEF(conv_gather, .type = "ConvGather", .family = "window", .params = PARAMS({ "g", P_TENSOR }, { "turned", P_TENSOR }, TURN_PARAMS, { "room", P_BOOL }, BLOCKED_PARAM), .nout = -2,
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_gather, .emit = emit_gather, .blocking = BLOCKS_EACH, .takes_blocks = gather_takes_blocks, .flops = 2, .sample = { -1, 1 },
	.doc = "conv_data with weights laid out by conv_turn.", .formula = "as conv_data");

/* --- weights ------------------------------------------------------------------------------------------------------------------ */

static int infer_weight(Infer *in)
{
	in->out[0] = map_result(in, seen(in, 1).dim[1], seen(in, 0).dim[1] / op_attr(in->op, "groups")->i);
	return 1;
}

static void grad_weight(Grad *gr, Op *op)
{
	Tensor *x = op->in.at[0], *y = op->in.at[1];
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, map(&gr->b, OP_conv_data, op, grad_fwd(gr, y), grad_of(gr, op, 0), x->spec.shape.dim + 2));
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, map(&gr->b, OP_conv_forward, op, grad_fwd(gr, x), grad_of(gr, op, 0), y->spec.shape.dim + 2));
}

/* Small weights leave few pieces to hand out: then images are summed in parts.  Follows from the shape alone. */
static int64_t parts_of(const Map3 *g)
{
	double taps = 1, places = 1;
	for (int i = 0; i < g->w.n; i++) taps *= (double)g->w.k[i], places *= (double)g->w.y[i];
	double rows = (double)(g->m * g->groups), blocks = ((double)g->c * taps / 512 + 1) * (rows / 64 + (double)g->groups);
	double work = (double)g->images * places * taps * (double)g->c * rows;
	return blocks >= 8 || work < 2e6 || g->images < 2 ? 1 : g->images < 8 ? g->images : 8;
}

static int lower_weight(Build *b, Op *op, Tensor **out)
{
	Tensor *x = op->in.at[0], *y = op->in.at[1], *w = op->out.at[0];
	Map3 g = map_of(op, x->spec.shape, y->spec.shape, w->spec.shape);
	if (is_whole(&g, x, y) && w->spec.dtype == x->spec.dtype) {
		out[0] = b_reshape(b, b_matmul(b, b_transpose(b, flat(b, y, 1), 0), flat(b, x, 1)), w->spec.shape);
		return 1;
	}
	AttrVal *v = b_attrs(b, OP_conv_parts, "size", *op_attr(op, "size"), "stride", *op_attr(op, "stride"), "begin", *op_attr(op, "begin"),
	                     "dilation", *op_attr(op, "dilation"), "groups", *op_attr(op, "groups"), "parts", attr_int(parts_of(&g)), NULL);
	Tensor *parts = ir_op(b, OP_conv_parts, (Tensor *[]){ x, y }, 2, v, 0)->out.at[0];
	Tensor *sum = parts_of(&g) == 1 ? parts : b_sum(b, parts, 1, 0);
	out[0] = b_cast(b, b_reshape(b, sum, w->spec.shape), w->spec.dtype);
	return 1;
}

OPDEF(conv_weight, .type = "ConvWeightsGrad", .family = "window", .params = PARAMS({ "t", P_TENSOR }, { "g", P_TENSOR }, MAP_PARAMS),
	.traits = PURE | INTERNAL, .infer = infer_weight, .grad = grad_weight, .lower = lower_weight, .flops = 2, .sample = { -1, 1 },
	.doc = "Gradient of a convolution for the weights.", .formula = "w[m,c,k] = sum g[n,m,i] t[n,c,i s + k d - begin]");

/* the parts stand one after the other along the first axis */
static int infer_parts(Infer *in)
{
	int64_t parts = op_attr(in->op, "parts")->i;
	infer_weight(in);
	Shape w = in->out[0].shape, flat_w = { .rank = 2, .dim = { parts, shape_nelems(w) } };
	in->out[0].shape = flat_w;
	in->out[0].dtype = wide(in->out[0].dtype);
	return 1;
}

static Map3 parts_map(const Op *op)
{
	Shape x = shape_seen(op, op->in.at[0], 1), k = x;
	for (int i = 2; i < k.rank; i++) k.dim[i] = op_attr(op, "size")->ints.at[i - 2];
	Map3 g = map_of(op, x, shape_seen(op, op->in.at[1], 2), k);
	g.w.xblock = blocked_side(op, 1);
	g.w.yblock = blocked_side(op, 2);
	return g;
}

static int parts_takes_blocks(const Op *op, int which)
{
	return !(which & ~3) && sides_blocked(parts_map(op), op->in.at[0], op->in.at[1], RT_CONV_WEIGHT, which & 1, which & 2);
}

static void emit_parts(Emit *e, const Op *op)
{
	const Tensor *x = op->in.at[0], *y = op->in.at[1];
	Map3 g = parts_map(op);
	emit_rt(e, op, "conv_weight(ln, &%s, %" PRId64 ", %s, %s, %s)", map_static(e, &g, x->spec.dtype, y->spec.dtype), op_attr(op, "parts")->i,
	        emit_in(e, op, 0), emit_in(e, op, 1), emit_out(e, op, 0));
}

OPDEF(conv_parts, .type = "ConvWeightsParts", .family = "window", .params = PARAMS({ "t", P_TENSOR }, { "g", P_TENSOR }, MAP_PARAMS, { "parts", P_INT }, BLOCKED_PARAM),
	.traits = PURE | INTERNAL | GRAD_ERROR, .infer = infer_parts, .emit = emit_parts, .blocking = BLOCKS_EACH, .takes_blocks = parts_takes_blocks, .flops = 2, .sample = { -1, 1 },
	.doc = "conv_weight over parts of the images, a row each.", .formula = "as conv_weight");

/* --- conv ---------------------------------------------------------------------------------------------------------------------------- */

/* float8 of either format, and a scale that is known when the program runs */
static int scaled_operands(Infer *in) { return infer_need_float8(in, 0) && infer_need_float8(in, 1) && infer_log2_scale(in, 2); }

static int is_scaled(const OpDef *d) { return op_param(d, "log2_scale") >= 0; }

static int same_dtype(Infer *in)
{
	DType a = infer_in(in, 0).dtype, b = infer_in(in, 1).dtype;
	if (is_scaled(in->def)) return scaled_operands(in);
	if (!infer_need_float(in, 0) || !infer_need_float(in, 1)) return 0;
	if (a == b) return 1;
	Diag *d = infer_error(in, E0303, "operands of `%s` have different element types", in->def->name);
	diag_label(in->b->ir->ds, d, "%s against %s", dtype_info[a].name, dtype_info[b].name);
	diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, "convert one of them: `.cast(%s)`", dtype_info[a].name);
	return 0;
}

static int same_rank(Infer *in)
{
	int r = infer_in(in, 0).shape.rank, k = infer_in(in, 1).shape.rank;
	if (r == k) return 1;
	Diag *d = infer_error(in, E0313, "operands of `%s` have different ranks", in->def->name);
	diag_label(in->b->ir->ds, d, "%d against %d; a weight has one axis per spatial axis, and two for channels", r, k);
	return 0;
}

static int channels(Infer *in, const char *fmt, int64_t a, int64_t b)
{
	Diag *d = infer_error(in, E0311, "channels of `%s` do not fit", in->def->name);
	diag_label(in->b->ir->ds, d, fmt, a, b);
	return 0;
}

/* what both directions check; sets groups */
static int open_conv(Infer *in, Windows *w, int64_t *groups)
{
	int n = window_rank(in, 0);
	if (!n || !same_rank(in) || !same_dtype(in)) return 0;
	*groups = op_attr(in->op, "groups")->i;
	if (*groups < 1) {
		Diag *d = infer_error(in, E0310, "invalid `groups` for `%s`", in->def->name);
		diag_label(in->b->ir->ds, d, "expected 1 or more, got %" PRId64, *groups);
		return 0;
	}
	int64_t pads[2 * MAX_SPACE];
	w->n = n;
	if (!window_list(in, "stride", n, 1, 1, w->stride) || !window_list(in, "dilation", n, 1, 1, w->dilation) || !window_list(in, "padding", 2 * n, 0, 0, pads)) return 0;
	for (int i = 0; i < n; i++) {
		w->begin[i] = pads[i];
		w->end[i] = pads[n + i];
		w->k[i] = infer_in(in, 1).shape.dim[i + 2];
		if (w->k[i] < 1) return infer_error(in, E0310, "the window of `%s` is empty", in->def->name), 0;
	}
	return 1;
}

static void set_windows(Infer *in, const Windows *w, const char *pad_type)
{
	int64_t pads[2 * MAX_SPACE];
	for (int i = 0; i < w->n; i++) pads[i] = w->begin[i], pads[w->n + i] = w->end[i];
	infer_set_ints(in, "stride", w->stride, w->n);
	infer_set_ints(in, "dilation", w->dilation, w->n);
	infer_set_ints(in, "padding", pads, 2 * w->n);
	in->op->attr[op_param(in->def, pad_type)].s = "not_set";
}

static int conv_channels(Infer *in, int64_t groups)
{
	int64_t c = infer_in(in, 0).shape.dim[1], m = infer_in(in, 1).shape.dim[0], per = infer_in(in, 1).shape.dim[1];
	if (c % groups) return channels(in, "%" PRId64 " channels cannot be cut into %" PRId64 " groups", c, groups);
	if (c / groups != per) return channels(in, "a group has %" PRId64 " channels, the weight takes %" PRId64, c / groups, per);
	if (m % groups) return channels(in, "%" PRId64 " results cannot be cut into %" PRId64 " groups", m, groups);
	return 1;
}

static Spec conv_spec(const Infer *in)
{
	return (Spec){ .dtype = is_scaled(in->def) ? DT_F16 : infer_in(in, 0).dtype, .shape = infer_in(in, 0).shape };
}

static int infer_conv(Infer *in)
{
	Windows w = { 0 };
	int64_t groups;
	if (!open_conv(in, &w, &groups) || !conv_channels(in, groups)) return 0;
	in->out[0] = conv_spec(in);
	in->out[0].shape.dim[1] = infer_in(in, 1).shape.dim[0];
	for (int i = 0; i < w.n; i++) w.x[i] = infer_in(in, 0).shape.dim[i + 2];
	if (!window_sizes(in, &w, "pad_type", 0)) return 0;
	for (int i = 0; i < w.n; i++) in->out[0].shape.dim[i + 2] = w.y[i];
	set_windows(in, &w, "pad_type");
	return 1;
}

/* the map of an op whose padding is resolved */
static Tensor *map_with(Build *b, OpCode code, const Op *op, Tensor *p, Tensor *q, const int64_t *size)
{
	int n = p->spec.shape.rank - 2;
	AttrVal *v = b_attrs(b, code, "size", attr_ints(b->ir->mem, size, n), "stride", *op_attr(op, "stride"),
	                     "begin", attr_ints(b->ir->mem, op_attr(op, "padding")->ints.at, n), "dilation", *op_attr(op, "dilation"), "groups", *op_attr(op, "groups"), NULL);
	return ir_op(b, (int)code, (Tensor *[]){ p, q }, 2, v, 0)->out.at[0];
}

static void grad_conv(Grad *gr, Op *op)
{
	Tensor *x = op->in.at[0], *w = op->in.at[1];
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, map_with(&gr->b, OP_conv_data, op, grad_of(gr, op, 0), grad_fwd(gr, w), x->spec.shape.dim + 2));
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, map_with(&gr->b, OP_conv_weight, op, grad_fwd(gr, x), grad_of(gr, op, 0), w->spec.shape.dim + 2));
}

static int lower_conv(Build *b, Op *op, Tensor **out)
{
	out[0] = map_with(b, OP_conv_forward, op, op->in.at[0], op->in.at[1], op->out.at[0]->spec.shape.dim + 2);
	return 1;
}

#define CONV_PARAMS { "stride", P_INTS, OPTIONAL }, { "padding", P_INTS, OPTIONAL }, { "dilation", P_INTS, OPTIONAL }, \
	{ "groups", P_INT, OPTIONAL, INT_DEFAULT(1) }, { "pad_type", P_STR, OPTIONAL, STR_DEFAULT("not_set") }
#define CONV_HINTS { "available_memory_proportions", P_HINT, OPTIONAL }, { "partials_types", P_HINT, OPTIONAL }, { "enable_conv_dithering", P_HINT, OPTIONAL }

OPDEF(conv, .type = "Conv", .family = "window", .params = PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, CONV_PARAMS, CONV_HINTS),
	.traits = PURE, .infer = infer_conv, .grad = grad_conv, .lower = lower_conv, .flops = 2, .sample = { -1, 1 },
	.doc = "Cross-correlation of images (N, C, D1…Dn) with windows (M, C / groups, k1…kn); there is no bias. Images and channels may number 0, a spatial axis is at least 1 long. `stride` and `dilation` have an entry per spatial "
	       "axis, `padding` all begins and then all ends; each may be a number for all. `pad_type` \"same_upper\" and \"same_lower\" pad so that ⌈D / stride⌉ "
	       "places come out, an odd place more at the end or at the begin; \"valid\" pads nothing; the windows' dilation counts. f16 and bf16 accumulate in f32. "
	       "The other arguments are hints.",
	.formula = "y[n,m,o] = sum over c, k of t[n, c, o s + k d - begin] weight[m, c, k], places outside count 0");

/* --- conv_transpose ----------------------------------------------------------------------------------------------------------------------- */

/* output_shape: its spatial numbers, with or without images and channels before them */
static int given_shape(Infer *in, const Windows *w, int64_t channels_out, const int64_t **size)
{
	const AttrVal *v = op_attr(in->op, "output_shape");
	Shape x = infer_in(in, 0).shape;
	*size = 0;
	if (!v->set || !v->ints.n) return 1;
	if (v->ints.n == w->n) *size = v->ints.at;
	if (v->ints.n == w->n + 2 && v->ints.at[0] == x.dim[0] && v->ints.at[1] == channels_out) *size = v->ints.at + 2;
	for (int i = 0; *size && i < w->n; i++)
		if ((*size)[i] < 1) *size = 0;
	if (*size) return 1;
	Diag *d = infer_error(in, E0310, "invalid `output_shape` for `%s`", in->def->name);
	diag_label(in->b->ir->ds, d, "expected %d positive spatial sizes, alone or after [%" PRId64 ", %" PRId64 "]", w->n, x.dim[0], channels_out);
	return 0;
}

static int transpose_error(Infer *in, const char *name, const char *why)
{
	Diag *d = infer_error(in, E0310, "invalid `%s` for `%s`", name, in->def->name);
	diag_label(in->b->ir->ds, d, "%s", why);
	return 0;
}

/* pads that give the size asked for; `past`: how far it goes past what windows reach */
static int pads_for(Infer *in, Windows *w, int i, int64_t size, int how, int64_t *past)
{
	int64_t p;
	if (__builtin_mul_overflow(w->stride[i], w->y[i] - 1, &p)) return infer_error(in, E0319, "the result of `%s` has too many elements", in->def->name), 0;
	p += w->k[i] - size;
	*past = p < 0 ? -p : 0;
	p += *past;
	w->begin[i] = how == 1 ? (p + 1) / 2 : p / 2;
	w->end[i] = p - w->begin[i];
	w->x[i] = size;
	return 1;
}

static int transposed_size(Infer *in, Windows *w, int i, int64_t extra)
{
	if (__builtin_mul_overflow(w->stride[i], w->y[i] - 1, &w->x[i])) return infer_error(in, E0319, "the result of `%s` has too many elements", in->def->name), 0;
	w->x[i] += extra + w->k[i] - w->begin[i] - w->end[i];
	if (w->x[i] >= 1) return 1;
	return transpose_error(in, "padding", arena_printf(in->b->ir->mem, "nothing is left of spatial axis %d: its size would be %" PRId64, i, w->x[i]));
}

/* y is the operand, x the result; `extra`: output_padding, `past`: what `output_shape` asked for beyond the windows */
static int transposed(Infer *in, Windows *w, int64_t channels_out, int64_t *extra, int64_t *past)
{
	static const char *const pad_types[] = { "not_set", "same_upper", "same_lower", "valid", 0 };
	const int64_t *size;
	int how = infer_word(in, "pad_type", pad_types), more = 0;
	if (how < 0 || !window_list(in, "output_padding", w->n, 0, 0, extra) || !window_list(in, "_past", w->n, 0, 0, past) || !given_shape(in, w, channels_out, &size)) return 0;
	if (size && how == 3) return transpose_error(in, "pad_type", "\"valid\" pads nothing, but `output_shape` asks for padding to be found");
	for (int i = 0; i < w->n; i++) {
		if (w->dilation[i] != 1) return transpose_error(in, "dilation", "only 1 is defined for a transposed convolution");
		if (extra[i] >= w->stride[i]) return transpose_error(in, "output_padding", "entries are less than the stride");
		more |= extra[i] != 0;
	}
	if (size && more) return transpose_error(in, "output_padding", "`output_shape` is given already");
	for (int i = 0; i < w->n; i++)
		if (!(size ? pads_for(in, w, i, size[i], how, &past[i]) : transposed_size(in, w, i, extra[i] + past[i]))) return 0;
	return 1;
}

static int infer_conv_transpose(Infer *in)
{
	Windows w = { 0 };
	int64_t groups;
	if (!open_conv(in, &w, &groups)) return 0;
	int64_t c = infer_in(in, 0).shape.dim[1], rows = infer_in(in, 1).shape.dim[0], m = infer_in(in, 1).shape.dim[1];
	if (c != rows) return channels(in, "there are %" PRId64 ", the weight takes %" PRId64 ": its first axis counts the operand's channels", c, rows);
	if (c % groups) return channels(in, "%" PRId64 " channels cannot be cut into %" PRId64 " groups", c, groups);
	in->out[0] = conv_spec(in);
	if (__builtin_mul_overflow(m, groups, &in->out[0].shape.dim[1])) return infer_error(in, E0319, "the result of `%s` has too many channels", in->def->name), 0;
	for (int i = 0; i < w.n; i++) w.y[i] = infer_in(in, 0).shape.dim[i + 2];
	int64_t extra[MAX_SPACE], past[MAX_SPACE];
	if (!transposed(in, &w, m * groups, extra, past)) return 0;
	for (int i = 0; i < w.n; i++) in->out[0].shape.dim[i + 2] = w.x[i];
	set_windows(in, &w, "pad_type");
	infer_set_ints(in, "output_padding", extra, w.n);
	infer_set_ints(in, "_past", past, w.n);
	in->op->attr[op_param(in->def, "output_shape")].set = 0;
	return 1;
}

static void grad_conv_transpose(Grad *gr, Op *op)
{
	Tensor *t = op->in.at[0], *w = op->in.at[1];
	if (grad_wanted(gr, op, 0)) grad_add(gr, op, 0, map_with(&gr->b, OP_conv_forward, op, grad_of(gr, op, 0), grad_fwd(gr, w), t->spec.shape.dim + 2));
	if (grad_wanted(gr, op, 1)) grad_add(gr, op, 1, map_with(&gr->b, OP_conv_weight, op, grad_of(gr, op, 0), grad_fwd(gr, t), w->spec.shape.dim + 2));
}

static int lower_conv_transpose(Build *b, Op *op, Tensor **out)
{
	out[0] = map_with(b, OP_conv_data, op, op->in.at[0], op->in.at[1], op->out.at[0]->spec.shape.dim + 2);
	return 1;
}

#define PAST_PARAM { "_past", P_INTS, OPTIONAL }       /* a resolved `output_shape`: how many places of each axis no window reaches */

OPDEF(conv_transpose, .type = "ConvTranspose", .family = "window", .params = PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, CONV_PARAMS,
		{ "output_padding", P_INTS, OPTIONAL }, { "output_shape", P_INTS, OPTIONAL }, CONV_HINTS, PAST_PARAM),
	.traits = PURE, .infer = infer_conv_transpose, .grad = grad_conv_transpose, .lower = lower_conv_transpose, .flops = 2, .sample = { -1, 1 },
	.doc = "The transpose of `conv`: every element of (N, C, D1…Dn) spreads a window of (C, M / groups, k1…kn), `stride` apart; note that the weight's first "
	       "axis counts the operand's channels. Padding crops the result. A size is stride (D - 1) + output_padding + k - begin - end; `output_padding` is less "
	       "than the stride and adds at the end. With `output_shape` (spatial sizes, or the whole shape) padding is found instead: half at each end, an odd "
	       "place at the begin for \"same_upper\" and at the end otherwise; what is asked for beyond the windows is 0, and at the end. `dilation` must be 1.",
	.formula = "y[n,m,o] = sum over i s + k - begin = o of t[n,c,i] weight[c,m,k]");

/* --- float8 -------------------------------------------------------------------------------------------------------------------------------- */

/* values as f32, which holds sums and the scaled result; then rounded once */
static int lower_scaled(Build *b, Op *op, Tensor **out)
{
	Tensor *x = b_op1(b, OP_float8_values, op->in.at[0]), *w = b_op1(b, OP_float8_values, op->in.at[1]);
	OpCode code = op->code == OP_conv_pow2scaled ? OP_conv_forward : OP_conv_data;
	Tensor *y = map_with(b, code, op, x, w, op->out.at[0]->spec.shape.dim + 2);
	out[0] = b_cast(b, b_op2(b, OP_mul, y, b_op1(b, OP_power_of_2, op->in.at[2])), DT_F16);
	return 1;
}

static void check_scaled(Build *b, const Op *op) { b_check_scale(b, op->in.at[2]); }

#define SCALED_RULES " on float8 operands, whose formats may differ: sums are in f32, scaled by 2^log2_scale and rounded to f16. `log2_scale` is an i32 scalar from -32 to 31, " \
	"checked when the program runs. No gradient passes."

OPDEF(conv_pow2scaled, .type = "ConvPow2Scaled", .family = "window",
	.params = PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, { "log2_scale", P_TENSOR }, CONV_PARAMS, CONV_HINTS),
	.traits = PURE | MOVES | GRAD_ERROR, .infer = infer_conv, .lower = lower_scaled, .fails = fails_always, .check = check_scaled, .flops = 2, .sample = { -1, 1 },
	.doc = "`conv`" SCALED_RULES, .formula = "y = conv(t, weight) 2^log2_scale");

OPDEF(conv_transpose_pow2scaled, .type = "ConvTransposePow2Scaled", .family = "window",
	.params = PARAMS({ "t", P_TENSOR }, { "weight", P_TENSOR }, { "log2_scale", P_TENSOR }, CONV_PARAMS, { "output_padding", P_INTS, OPTIONAL },
		{ "output_shape", P_INTS, OPTIONAL }, CONV_HINTS, PAST_PARAM),
	.traits = PURE | MOVES | GRAD_ERROR, .infer = infer_conv_transpose, .lower = lower_scaled, .fails = fails_always, .check = check_scaled, .flops = 2, .sample = { -1, 1 },
	.doc = "`conv_transpose`" SCALED_RULES, .formula = "y = conv_transpose(t, weight) 2^log2_scale");
