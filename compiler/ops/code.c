/* code.c — loading the code of graphs (semantics.md R362–R371).
 *
 * A load changes no value; when code has to be there is computed in compiler/ir/code.c.  Passes put graphs into each
 * other, so the lowered copy names a numbered segment in the place of a graph. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <string.h>

static int check_destination(Infer *in)
{
	const char *to = op_attr(in->op, "destination")->s;
	if (!strcmp(to, "executable")) return 1;
	if (!strcmp(to, "compute_buffer") || !strcmp(to, "io_buffer")) return infer_error(in, E0646, "code cannot be loaded to \"%s\"", to), 0;
	Diag *d = infer_error(in, E0645, "code has no destination \"%s\"", to);
	diag_label(in->b->ir->ds, d, "it goes to \"executable\"");
	return 0;
}

static int infer_code_load(Infer *in)
{
	const Graph *g = op_attr(in->op, "graph")->p, *here = in->b->g;
	const char *why = NULL;
	if (!g) why = "no graph is given";
	else if (g->ir != here->ir) why = "it belongs to another program";
	else if (g == here->ir->main) why = "it is the main graph, which is always there";
	else if (g == here) why = "it is the graph being built, which is there when this op runs";
	if (!why) return check_destination(in);
	Diag *d = infer_error(in, E0645, "the code of %s cannot be loaded here", g ? graph_title(g) : "nothing");
	diag_label(here->ir->ds, d, "%s", why);
	return 0;
}

/* only where no pass has numbered the segments */
static void emit_code_load(Emit *e, const Op *op)
{
	emit_rt(e, op, "code_load(ln, %d)", op_transfer(op, 0).code);
}

OPDEF(remote_code_load, .type = "RemoteCodeLoad", .family = "control",
	.params = PARAMS({ "graph", P_GRAPH }, { "destination", P_STR, OPTIONAL, STR_DEFAULT("executable") }), .nout = -1,
	.traits = EFFECT | NO_GRAD, .infer = infer_code_load, .emit = emit_code_load,
	.doc = "Copies the code of a graph into the device's memory. It changes no value; `pxlc emit code` shows when which code has to be there. Order it before the call with "
	       "`in_sequence`.",
	.formula = "code of graph := remote memory");

static void emit_load_segment(Emit *e, const Op *op)
{
	emit_rt(e, op, "code_load(ln, %d)", (int)op_attr(op, "segment")->i);
}

OPDEF(load_segment, .type = "RemoteCodeLoad", .family = "control", .params = PARAMS({ "segment", P_INT }), .nout = -1,
	.traits = EFFECT | NO_GRAD | INTERNAL, .infer = infer_nothing, .emit = emit_load_segment,
	.doc = "A code load when graphs may have been put into each other: what it loads has a number.", .formula = "code := remote memory");

static int infer_code_copy(Infer *in)
{
	infer_error(in, E0646, "`code_copy` is not available");
	return 0;
}

OPDEF(code_copy, .type = "CodeCopy", .family = "control",
	.params = PARAMS({ "graph", P_GRAPH }, { "source", P_STR }, { "destination", P_STR }), .nout = -1,
	.traits = EFFECT | NO_GRAD, .infer = infer_code_copy,
	.doc = "Always an error, as in PopXL, which names it but does not have it.", .formula = "none");
