/* place.c — copies from one place of the device to another: between IPUs, and between the compute and the I/O tiles.
 *
 * A gradient goes the way back.  On the CPU a place is but a label: a pass (forget.c) makes these ops identities. */
#include "compiler/ops/grad.h"

#include <inttypes.h>

static int lower_to_copy(Build *b, Op *op, Tensor **out)
{
	out[0] = b_op1(b, OP_copy, op->in.at[0]);
	return 1;
}

/* --- between IPUs ------------------------------------------------------------------------------------------------ */

enum { MOST_IPUS = 4096 };               /* as the context `ipu` takes */

static int check_ipu(Infer *in, const char *name)
{
	int64_t i = op_attr(in->op, name)->i;
	if (i >= 0 && i < MOST_IPUS) return 1;
	infer_error(in, E0647, "`%s` of `ipu_copy`: there is no IPU %" PRId64, name, i);
	return 0;
}

/* R119 */
static int find_source(Infer *in, int *out)
{
	const Tensor *t = infer_tensor(in, 0);
	const AttrVal *given = op_attr(in->op, "source");
	int known = t->def || given->set ? tensor_ipu(t) : IPU_UNKNOWN;
	*out = given->set ? (int)given->i : known;
	if (!given->set && known == IPU_UNKNOWN) {
		Diag *d = infer_error(in, E0647, "where `%s` is cannot be told: no op makes it", t->name);
		diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, "say `source = n`");
		return 0;
	}
	if (!t->def || known == IPU_UNKNOWN || known == *out) return 1;
	infer_error(in, E0647, "`%s` is on IPU %d, not on %d", t->name, known, *out);
	return 0;
}

static int infer_ipu_copy(Infer *in)
{
	int source, destination = (int)op_attr(in->op, "destination")->i;
	if (!check_ipu(in, "destination") || (op_attr(in->op, "source")->set && !check_ipu(in, "source")) || !find_source(in, &source)) return 0;
	if (source == destination) {
		infer_error(in, E0647, "`%s` is on IPU %d already", infer_tensor(in, 0)->name, source);
		return 0;
	}
	infer_set_int(in, "source", source);
	in->op->ipu = source;
	in->b->ir->placed = 1;
	return infer_same(in);
}

static int destination_of(const Op *op, int out)
{
	(void)out;
	return (int)op_attr(op, "destination")->i;
}

static void grad_ipu_copy(Grad *gr, Op *op)
{
	AttrVal *v = b_attrs(&gr->b, OP_ipu_copy, "destination", *op_attr(op, "source"), "source", *op_attr(op, "destination"), NULL);
	Tensor *g = grad_of(gr, op, 0);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_ipu_copy, &g, 1, v, 0)->out.at[0]);
}

OPDEF(ipu_copy, .type = "IpuCopy", .family = "place", .alias = "copy_to_ipu", .out_name = "%s_c%d",
	.params = PARAMS({ "t", P_TENSOR }, { "destination", P_INT }, { "source", P_INT, OPTIONAL }), .traits = PURE | MOVES,
	.infer = infer_ipu_copy, .ipu = destination_of, .grad = grad_ipu_copy, .lower = lower_to_copy, .sample = { -2, 2 },
	.doc = "The same values on another IPU. `source` is where the tensor is; it may be left out when an op made the tensor, and must not contradict it.",
	.formula = "y = t on IPU destination, dt = g on IPU source");

/* --- between tile sets -------------------------------------------------------------------------------------------- */

static const char *const sets[] = { "compute", "io", 0 };

static int infer_io_tile_copy(Infer *in)
{
	int to = op_attr(in->op, "tile_set")->set ? infer_word(in, "tile_set", sets) : tensor_tiles(infer_tensor(in, 0)) != TILES_IO;
	if (to < 0) return 0;
	in->op->tiles = to ? TILES_IO : TILES_COMPUTE;
	in->b->ir->placed = 1;
	return infer_same(in);
}

static void grad_io_tile_copy(Grad *gr, Op *op)
{
	AttrVal *v = b_attrs(&gr->b, OP_io_tile_copy, "tile_set", attr_str(sets[op->tiles != TILES_IO]), NULL);
	Tensor *g = grad_of(gr, op, 0);
	grad_add(gr, op, 0, ir_op(&gr->b, OP_io_tile_copy, &g, 1, v, 0)->out.at[0]);
}

OPDEF(io_tile_copy, .type = "IoTileCopy", .family = "place", .out_name = "%s_iotilecopy",
	.params = PARAMS({ "t", P_TENSOR }, { "tile_set", P_STR, OPTIONAL }), .traits = PURE | MOVES,
	.infer = infer_io_tile_copy, .grad = grad_io_tile_copy, .lower = lower_to_copy, .sample = { -2, 2 },
	.doc = "The same values on the other tile set of the IPU: from the compute tiles to the I/O tiles or back. A tensor whose tile set nothing decides counts as on the compute "
	       "tiles; `tile_set = \"io\"` or `\"compute\"` says where it goes.",
	.formula = "y = t on the other tiles, dt = g on the tiles of t");
