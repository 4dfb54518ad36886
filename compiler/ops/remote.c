/* remote.c — entries of remote buffers, loaded and stored (semantics.md R329–R333).
 *
 * As in PopXL the plain load fills a tensor made for it (operand 0); the variant with an underscore overwrites one
 * that the model gives.  The CPU's copy of the program drops that operand from plain loads. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>

const char *remote_name(Arena *a, const RemoteBuffer *b, const Tensor *offset)
{
	int64_t i;
	if (offset && constant_offset(offset, &i)) return arena_printf(a, "buffer_%d_%" PRId64, b->id + 1, i);
	return offset ? arena_printf(a, "buffer_%d_%s", b->id + 1, offset->name) : arena_printf(a, "buffer_%d", b->id + 1);
}

static const RemoteBuffer *buffer_of(const Op *op) { return op_attr(op, "remote_buffer")->p; }

static int check_buffer(Infer *in)
{
	const RemoteBuffer *b = buffer_of(in->op);
	if (!b) return infer_error(in, E0640, "`%s` needs a remote buffer", in->def->name), 0;
	if (b->ir == in->b->ir) return 1;
	infer_error(in, E0640, "remote buffer %d belongs to another program", b->id + 1);
	return 0;
}

static int check_match(Infer *in)
{
	const RemoteBuffer *b = buffer_of(in->op);
	Ir *ir = in->b->ir;
	if (!infer_tensor(in, 0)) return 1;
	Spec x = infer_in(in, 0);
	if (x.dtype == b->spec.dtype && shape_eq(x.shape, b->spec.shape)) return 1;
	Diag *d = infer_error(in, E0641, "the tensor of `%s` does not match buffer %d", op_said(in->op), b->id + 1);
	diag_label(ir->ds, d, "%s for an entry of %s", spec_str(ir->mem, x.dtype, x.shape), spec_str(ir->mem, b->spec.dtype, b->spec.shape));
	diag_note(ir->ds, d, b->at, "the buffer is made here");
	return 0;
}

static int check_offset(Infer *in)
{
	const RemoteBuffer *b = buffer_of(in->op);
	const Tensor *t = infer_tensor(in, 1);
	Ir *ir = in->b->ir;
	int64_t i;
	if (!t || !dtype_is_int(t->spec.dtype) || shape_nelems(t->spec.shape) != 1) {
		Diag *d = infer_error(in, E0642, "the offset of `%s` must be an integer, or an integer tensor of one element", in->def->name);
		if (t) diag_label(ir->ds, d, "got %s", spec_str(ir->mem, t->spec.dtype, t->spec.shape));
		return 0;
	}
	if (!constant_offset(t, &i) || (i >= 0 && i < b->entries)) return 1;
	Diag *d = infer_error(in, E0642, "buffer %d has no entry %" PRId64, b->id + 1, i);
	diag_label(ir->ds, d, "its entries are 0 to %" PRId64, b->entries - 1);
	diag_note(ir->ds, d, b->at, "the buffer is made here");
	return 0;
}

/* --- loads ------------------------------------------------------------------------------------------------------ */

static int infer_remote_load(Infer *in)
{
	if (!check_buffer(in) || !check_match(in) || !check_offset(in)) return 0;
	in->out[0] = buffer_of(in->op)->spec;
	return 1;
}

static Tensor *load_buffer(Build *b, Tensor *const *in, const AttrVal *attrs, const char *name)
{
	const RemoteBuffer *r = attrs[2].p;
	Arena *a = b->ir->mem;
	AttrVal *v = b_attrs(b, OP_init, "shape", attr_ints(a, r->spec.shape.dim, r->spec.shape.rank), "dtype", attr_int(r->spec.dtype), NULL);
	return ir_op(b, OP_init, 0, 0, v, arena_printf(a, "%s_remote_load", name ? name : remote_name(a, r, in[1])))->out.at[0];
}

static int lower_remote_load(Build *b, Op *op, Tensor **out)
{
	Tensor *in[] = { 0, op->in.at[1] };
	if (op->inplace || !op->in.at[0]) return 0;
	out[0] = ir_op(b, OP_remote_load, in, 2, op->attr, 0)->out.at[0];
	return 1;
}

/* "3, 8, offset": the buffer, and where to find the number of the entry */
static const char *place_text(Emit *e, const Op *op)
{
	return arena_printf(emit_mem(e), "%d, %d, %s", buffer_of(op)->id, (int)op->in.at[1]->spec.dtype, emit_in(e, op, 1));
}

static void emit_remote_load(Emit *e, const Op *op)
{
	emit_rt(e, op, "remote_load(ln, %s, %s)", place_text(e, op), emit_out(e, op, 0));
}

OPDEF(remote_load, .type = "RemoteLoad", .type_inplace = "RemoteLoad", .family = "host_io", .inplace = MODIFIES, .order = "remote_buffer offset t name",
	.params = PARAMS({ "t", P_OPT_TENSOR, OPTIONAL }, { "offset", P_TENSOR }, { "remote_buffer", P_BUFFER }, { "name", P_STR, OPTIONAL }),
	.traits = EFFECT | NO_GRAD | ACROSS, .out_name = "%s_remote_loaded", .infer = infer_remote_load, .buffer = load_buffer, .lower = lower_remote_load,
	.emit = emit_remote_load,
	.doc = "An entry of a remote buffer. The offset is an integer, or an integer tensor of one element that is read when the op runs; out of range is an error then. Only "
	       "`in_sequence` orders loads and stores of a buffer.",
	.formula = "y = remote_buffer[offset]");

/* --- stores ------------------------------------------------------------------------------------------------------- */

static int infer_remote_store(Infer *in) { return check_buffer(in) && check_match(in) && check_offset(in); }

static void emit_remote_store(Emit *e, const Op *op)
{
	emit_rt(e, op, "remote_store(ln, %s, %s)", place_text(e, op), emit_in(e, op, 0));
}

OPDEF(remote_store, .type = "RemoteStore", .family = "host_io", .order = "remote_buffer offset t",
	.params = PARAMS({ "t", P_TENSOR }, { "offset", P_TENSOR }, { "remote_buffer", P_BUFFER }), .nout = -1,
	.traits = EFFECT | NO_GRAD | ACROSS, .infer = infer_remote_store, .emit = emit_remote_store,
	.doc = "Overwrites an entry of a remote buffer with a tensor of its shape and dtype. The offset is as for `remote_load`.",
	.formula = "remote_buffer[offset] := t");
