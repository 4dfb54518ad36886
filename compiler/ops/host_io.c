/* host_io.c — streams between the host and the program. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

static const char *direction(const Stream *s) { return s->is_input ? "to the program" : "to the host"; }

static int check_stream(Infer *in, const Stream *s, int is_input)
{
	if (!s) return infer_error(in, E0324, "`%s` needs a stream", in->def->name), 0;
	if (s->ir != in->b->ir) return infer_error(in, E0324, "stream `%s` belongs to another program", s->name), 0;
	if (s->is_input == is_input) return 1;
	Diag *d = infer_error(in, E0324, "stream `%s` runs the other way", s->name);
	diag_label(in->b->ir->ds, d, "it goes %s", direction(s));
	diag_note(in->b->ir->ds, d, s->at, "the stream is made here");
	return 0;
}

static int infer_host_load(Infer *in)
{
	const Stream *s = op_attr(in->op, "h2d_stream")->p;
	if (!check_stream(in, s, 1)) return 0;
	in->out[0] = s->spec;
	return 1;
}

/* The tensor that PopXL fills is an op of its own (R51).  Ours point into the stream instead, so the
 * lowered copy has neither. */
static Tensor *load_buffer(Build *b, Tensor *const *in, const AttrVal *attrs, const char *name)
{
	(void)in;
	const Stream *s = attrs[0].p;
	Arena *a = b->ir->mem;
	AttrVal *v = b_attrs(b, OP_init, "shape", attr_ints(a, s->spec.shape.dim, s->spec.shape.rank), "dtype", attr_int(s->spec.dtype), NULL);
	return ir_op(b, OP_init, 0, 0, v, arena_printf(a, "%s_init", name ? name : s->name))->out.at[0];
}

static int lower_host_load(Build *b, Op *op, Tensor **out)
{
	if (!op->in.at[0]) return 0;
	out[0] = ir_op(b, OP_host_load, 0, 0, op->attr, 0)->out.at[0];
	return 1;
}

static void emit_host_load(Emit *e, const Op *op)
{
	const Stream *s = op_attr(op, "h2d_stream")->p;
	emit_rt(e, op, "host_load(ln, %d, (const void **)&%s)", s->index, emit_out(e, op, 0));
}

OPDEF(host_load, .type = "HostLoad", .family = "host_io",
	.params = PARAMS({ "h2d_stream", P_STREAM }, { "name", P_STR, OPTIONAL }, { "init", P_OPT_TENSOR, OPTIONAL }),
	.traits = EFFECT | NO_GRAD, .out_name = "%s_hostload", .infer = infer_host_load, .buffer = load_buffer, .lower = lower_host_load, .emit = emit_host_load,
	.doc = "The next entry of a stream from the host; each execution takes one. `host_load(f32[8, 16], name = \"x\")` makes the stream, of what `h2d_stream` takes.", .formula = "y = next(h2d_stream)");

static int infer_host_store(Infer *in)
{
	const Stream *s = op_attr(in->op, "d2h_stream")->p;
	Spec x = infer_in(in, 0);
	Ir *ir = in->b->ir;
	if (!check_stream(in, s, 0)) return 0;
	if (x.dtype == s->spec.dtype && shape_eq(x.shape, s->spec.shape)) return 1;
	Diag *d = infer_error(in, E0324, "the tensor does not fit stream `%s`", s->name);
	diag_label(ir->ds, d, "%s into a stream of %s", spec_str(ir->mem, x.dtype, x.shape), spec_str(ir->mem, s->spec.dtype, s->spec.shape));
	diag_note(ir->ds, d, s->at, "the stream is made here");
	return 0;
}

static void emit_host_store(Emit *e, const Op *op)
{
	const Stream *s = op_attr(op, "d2h_stream")->p;
	emit_rt(e, op, "host_store(ln, %d, %s)", s->index, emit_in(e, op, 0));
}

OPDEF(host_store, .type = "HostStore", .family = "host_io", .params = PARAMS({ "d2h_stream", P_STREAM }, { "t", P_TENSOR }), .nout = -1,
	.traits = EFFECT | NO_GRAD, .infer = infer_host_store, .emit = emit_host_store,
	.doc = "Appends a tensor to a stream to the host. Shape and dtype are exactly the stream's. `host_store(y, name = \"y\")` makes the stream, of the tensor's spec.", .formula = "d2h_stream << t");
