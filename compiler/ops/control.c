/* control.c — ops that run other graphs, and the fused group that passes make.
 *
 * Operands follow the callee's inputs (conditional: the condition, then those of both branches); results
 * follow its outputs, the ones autodiff added included.  How they are differentiated is autodiff's
 * matter, how they are emitted codegen's: both need more than one op to look at. */
#include "compiler/ops/grad.h"

#include <inttypes.h>

static int spec_same(Spec a, Spec b) { return a.dtype == b.dtype && shape_eq(a.shape, b.shape); }

/* operands from `first` on fit the inputs of graph g */
static int check_inputs(Infer *in, const Graph *g, int first, const char *which)
{
	Ir *ir = in->b->ir;
	for (int i = 0; i < g->inputs.n; i++) {
		const Tensor *want = g->inputs.at[i], *t = infer_tensor(in, first + i);
		if (!t || spec_same(t->spec, op_operand_spec(in->op, first + i))) continue;
		Diag *d = infer_error(in, E0425, "input %d of %sdoes not fit %s", i, which, graph_title(g));
		diag_label(ir->ds, d, "%s expected, got %s", spec_str(ir->mem, want->spec.dtype, want->spec.shape), spec_str(ir->mem, t->spec.dtype, t->spec.shape));
		diag_note(ir->ds, d, want->at, "the graph's input `%s` is from here", want->name);
		return 0;
	}
	return 1;
}

static int results_of(Infer *in, const Graph *g)
{
	in->nout = g->outputs.n;
	in->many = NEWN(in->b->ir->mem, Spec, g->outputs.n + 1);
	for (int i = 0; i < g->outputs.n; i++) in->many[i] = op_result_spec(in->op, i);
	return 1;
}

static int infer_call(Infer *in)
{
	const Graph *g = in->op->callee[0];
	return check_inputs(in, g, 0, "the call ") && results_of(in, g);
}

OPDEF(call, .type = "Call", .family = "control", .informed = "call_with_info", .nout = -2,
	.params = PARAMS({ "graph", P_GRAPH }, { "inputs", P_TENSORS }), .traits = CALLS | ACROSS, .infer = infer_call,
	.doc = "Runs a graph once. Inputs are given by position or as a map from the graph's inputs to tensors, each exactly once, with equal shape and "
	       "dtype; numbers become constants. They are passed by value, except those marked by reference, which the graph may write.",
	.formula = "y = graph(inputs), dx = gradient graph(g, …)");

/* `_rows`, for the loops that autodiff makes: 1 where a pass reads one row of an operand, from the first on, -1 from the last.
 * Only what is not carried may be read so. */
static int check_rows(Infer *in, const Graph *g)
{
	const AttrVal *rows = op_attr(in->op, "_rows");
	int ok = rows->ints.n <= g->inputs.n;
	for (int i = 0; ok && i < rows->ints.n; i++)
		ok = rows->ints.at[i] == 0 || (i >= g->written_outputs && (rows->ints.at[i] == 1 || rows->ints.at[i] == -1));
	return ok ? 1 : (infer_error(in, E0429, "`_rows` of `repeat` does not fit its graph"), 0);
}

static int infer_repeat(Infer *in)
{
	const Graph *g = in->op->callee[0];
	Ir *ir = in->b->ir;
	int64_t count = op_attr(in->op, "repeat_count")->i;
	if (count < 0) return infer_error(in, E0429, "`repeat_count` is negative: %" PRId64, count), 0;
	if (g->written_outputs > g->inputs.n) return infer_error(in, E0429, "the graph of `repeat` has more outputs than inputs: %d and %d", g->written_outputs, g->inputs.n), 0;
	for (int i = 0; i < g->written_outputs; i++) {          /* what autodiff added is not carried */
		const Tensor *y = g->outputs.at[i], *x = g->inputs.at[i];
		if (spec_same(x->spec, y->spec)) continue;
		Diag *d = infer_error(in, E0429, "output %d of the graph of `repeat` does not fit its input %d", i, i);
		diag_label(ir->ds, d, "%s against %s", spec_str(ir->mem, y->spec.dtype, y->spec.shape), spec_str(ir->mem, x->spec.dtype, x->spec.shape));
		return 0;
	}
	return check_rows(in, g) && check_inputs(in, g, 0, "`repeat` ") && results_of(in, g);
}

OPDEF(repeat, .type = "Loop", .family = "control", .informed = "repeat_with_info",
	.params = PARAMS({ "graph", P_GRAPH }, { "repeat_count", P_INT }, { "inputs", P_TENSORS }, { "_rows", P_INTS, OPTIONAL }), .nout = -2,
	.traits = CALLS | ACROSS, .infer = infer_repeat,
	.doc = "Runs a graph `repeat_count` times. The first k inputs carry the k results of one pass to the next; the others are the same every time, "
	       "or, by reference, keep what the graph writes. A count of 0 returns the initial values.\n\n"
	       "The gradient is a loop over the passes from the last to the first. What it needs of a pass is kept as that pass leaves it, one row each, where it "
	       "is carried, or could not be computed again without repeating a transfer; all else is computed again.",
	.formula = "y = graph(graph(… (inputs)))");

static int check_condition(Infer *in)
{
	const Tensor *c = infer_tensor(in, 0);
	if (!c) return infer_error(in, E0430, "`conditional` needs a condition"), 0;
	if (c->spec.dtype == DT_BOOL && shape_nelems(c->spec.shape) == 1) return 1;
	Diag *d = infer_error(in, E0430, "the condition of `conditional` must be a bool tensor of one element");
	diag_label(in->b->ir->ds, d, "got %s", spec_str(in->b->ir->mem, c->spec.dtype, c->spec.shape));
	return 0;
}

static int infer_conditional(Infer *in)
{
	const Graph *a = in->op->callee[0], *b = in->op->callee[1];
	Ir *ir = in->b->ir;
	if (!check_condition(in)) return 0;
	if (a->outputs.n != b->outputs.n) return infer_error(in, E0430, "branches of `conditional` have %d and %d outputs", a->outputs.n, b->outputs.n), 0;
	for (int i = 0; i < a->outputs.n; i++) {
		Spec x = a->outputs.at[i]->spec, y = b->outputs.at[i]->spec;
		if (spec_same(x, y)) continue;
		Diag *d = infer_error(in, E0430, "output %d of the branches of `conditional` differs", i);
		diag_label(ir->ds, d, "%s against %s", spec_str(ir->mem, x.dtype, x.shape), spec_str(ir->mem, y.dtype, y.shape));
		return 0;
	}
	return check_inputs(in, a, 1, "the then branch ") && check_inputs(in, b, 1 + a->inputs.n, "the else branch ") && results_of(in, a);
}

OPDEF(conditional, .type = "If", .family = "control", .informed = "conditional_with_info",
	.params = PARAMS({ "then_branch", P_GRAPH }, { "else_branch", P_GRAPH }, { "cond", P_TENSOR }, { "inputs", P_TENSORS }), .nout = -2,
	.traits = CALLS | ACROSS, .infer = infer_conditional,
	.doc = "Runs one of two graphs, chosen by a bool tensor of one element; only its effects happen. Both return the same number of results with equal "
	       "shapes and dtypes. Inputs can't be passed by reference.",
	.formula = "y = cond ? then_branch(…) : else_branch(…)");

OPDEF(fused, .type = "Fused", .family = "control", .params = PARAMS({ "pattern", P_PATTERN }, { "ts", P_TENSORS }), .nout = -2,
	.traits = INTERNAL | STRIDED | GRAD_ERROR, .infer = infer_pattern,
	.doc = "A group of elementwise ops computed in one loop.", .formula = "y = pattern(t0, t1, …)");
