/* blocks.c — from channels that lie plain to channels in blocks, and back (blocks.h). */
#include "compiler/ops/blocks.h"

#include "compiler/codegen/emit.h"

#include <inttypes.h>

enum { MOST_SPACE = 3 };

int shape_has_blocks(Shape s)
{
	return s.rank >= 3 && s.rank <= 2 + MOST_SPACE && s.dim[1] > 0 && s.dim[1] % BLOCK_CHANNELS == 0;
}

Shape shape_blocked(Shape s)
{
	s.dim[1] /= BLOCK_CHANNELS;
	s.dim[s.rank++] = BLOCK_CHANNELS;
	return s;
}

Shape shape_plain(Shape s)
{
	s.rank--;
	s.dim[1] *= BLOCK_CHANNELS;
	return s;
}

Shape shape_seen(const Op *op, const Tensor *t, int bit)
{
	return lies_blocked(op, bit) ? shape_plain(t->spec.shape) : t->spec.shape;
}

static int infer_to(Infer *in)
{
	in->out[0] = infer_in(in, 0);
	if (in->out[0].dtype != DT_F32 || !shape_has_blocks(in->out[0].shape))
		return infer_error(in, E0310, "`%s` takes f32 images with whole blocks of channels", in->def->name), 0;
	in->out[0].shape = shape_blocked(in->out[0].shape);
	return 1;
}

static int infer_from(Infer *in)
{
	Shape s = infer_in(in, 0).shape;
	in->out[0] = infer_in(in, 0);
	if (in->out[0].dtype != DT_F32 || s.rank < 4 || s.rank > 3 + MOST_SPACE || s.dim[s.rank - 1] != BLOCK_CHANNELS)
		return infer_error(in, E0310, "`%s` takes f32 images in blocks", in->def->name), 0;
	in->out[0].shape = shape_plain(s);
	return 1;
}

static void emit_blocks(Emit *e, const Op *op)
{
	int to = op->code == OP_to_blocks;
	Shape s = op->out.at[0]->spec.shape;
	int64_t space = 1;
	if (to) s = shape_plain(s);
	for (int i = 2; i < s.rank; i++) space *= s.dim[i];
	emit_rt(e, op, "blocks(ln, %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %s, %s)", (int)DT_F32, to, s.dim[0], s.dim[1], space, emit_in(e, op, 0),
	        emit_out(e, op, 0));
}

#define CONVERSION .family = "window", .params = PARAMS({ "t", P_TENSOR }), .traits = PURE | INTERNAL | GRAD_ERROR, .emit = emit_blocks, .flops = 1, .sample = { -1, 1 }

OPDEF(to_blocks, .type = "ToBlocks", CONVERSION, .infer = infer_to, .doc = "Images with their channels in blocks of 16.", .formula = "y[n,c/16,d,c%16] = t[n,c,d]");
OPDEF(from_blocks, .type = "FromBlocks", CONVERSION, .infer = infer_from, .doc = "Images in blocks as they lie plain.", .formula = "y[n,c,d] = t[n,c/16,d,c%16]");
