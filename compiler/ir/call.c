/* call.c — call, repeat and conditional: the ops whose operands and results mirror graphs.
 *
 * Operands of call and repeat follow the inputs of the graph; those of conditional are the condition, the
 * inputs of the first branch, the inputs of the second.  Results follow the outputs, the added ones too,
 * and take their names (R50).  A repeat calls the user's graph itself; PopXL's wrapper around it is but an
 * id, kept for listings. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

#include <string.h>

/* --- which operand is which input ------------------------------------------------------------------------- */

static int is_conditional(const Op *op) { return op->callee[1] != NULL; }
static int is_repeat(const Op *op) { return op->loop != NULL; }
static int first_operand(const Op *op) { return is_conditional(op); }

Tensor *callee_input(const Op *op, int i)
{
	i -= first_operand(op);
	for (int k = 0; k < 2 && op->callee[k] && i >= 0; k++) {
		if (i < op->callee[k]->inputs.n) return op->callee[k]->inputs.at[i];
		i -= op->callee[k]->inputs.n;
	}
	return NULL;
}

Tensor *parent_of_input(const Op *op, const Tensor *input)
{
	int first = first_operand(op);
	for (int k = 0; k < 2 && op->callee[k]; k++) {
		int i = first + input->input_index;
		if (input->graph == op->callee[k]) return i < op->in.n ? op->in.at[i] : NULL;
		first += op->callee[k]->inputs.n;
	}
	return NULL;
}

/* --- rows of a repeat --------------------------------------------------------------------------------------- */

int op_rows(const Op *op, int i)
{
	const AttrVal *rows = is_repeat(op) ? op_attr(op, "_rows") : NULL;
	return rows && i < rows->ints.n ? (int)rows->ints.at[i] : 0;
}

Spec spec_rows(Spec one, int64_t n)
{
	Spec s = { .dtype = one.dtype, .shape = one.shape };
	if (s.shape.rank == MAX_RANK) {
		if (__builtin_mul_overflow(s.shape.dim[0], n, &s.shape.dim[0])) s.shape.dim[0] = INT64_MAX;
		return s;
	}
	memmove(s.shape.dim + 1, s.shape.dim, (size_t)s.shape.rank * sizeof *s.shape.dim);
	s.shape.dim[0] = n;
	s.shape.rank++;
	return s;
}

Spec op_operand_spec(const Op *op, int i)
{
	Spec s = callee_input(op, i)->spec;
	return op_rows(op, i) ? spec_rows(s, op_attr(op, "repeat_count")->i) : s;
}

Spec op_result_spec(const Op *op, int i)
{
	const Graph *g = op->callee[0];
	Spec s = g->outputs.at[i]->spec;
	return is_repeat(op) && i >= g->written_outputs ? spec_rows(s, op_attr(op, "repeat_count")->i) : s;
}

int op_by_ref(const Op *op, int i)
{
	return i < op->modified.n && op->modified.at[i] != BY_VALUE;
}

/* a graph that is called already lifts its callers */
int raise_depth(Graph *g, int depth)
{
	if (depth > MOST_CALL_LEVELS) return 0;
	if (depth <= g->depth) return 1;
	g->depth = depth;
	for (int i = 0; i < g->calls.n; i++)
		if (!raise_depth(g->calls.at[i]->graph, depth + 1)) return 0;
	return 1;
}

/* --- checks ------------------------------------------------------------------------------------------------ */

/* the graph that operand i goes to: both branches may be the same graph */
static const char *graph_word(const Op *op, int i)
{
	if (!is_conditional(op)) return "graph";
	return i - 1 < op->callee[0]->inputs.n ? "then graph" : "else graph";
}

static int check_callee(Infer *in, const Graph *g)
{
	Graph *here = in->b->g;
	const char *why = NULL;
	if (g->ir != here->ir) why = "it belongs to another program";
	else if (g == here->ir->main) why = "it is the main graph";
	else if (g == here) why = "it is the graph being built";
	else if (graph_calls(g, here)) why = "it calls the graph being built: graphs cannot be recursive";
	if (!why && !raise_depth(here, g->depth + 1)) why = arena_printf(here->ir->mem, "calls would be nested more than %d levels deep", MOST_CALL_LEVELS);
	if (!why) return 1;
	Diag *d = infer_error(in, E0428, "`%s` cannot call %s", in->def->name, graph_title(g));
	diag_label(here->ir->ds, d, "%s", why);
	return 0;
}

static int check_count(Infer *in)
{
	const Op *op = in->op;
	int need = first_operand(op), holes = 0;
	for (int k = 0; k < 2 && op->callee[k]; k++) need += op->callee[k]->inputs.n;
	for (int i = 0; i < op->in.n; i++) holes += !op->in.at[i];
	if (op->in.n == need && !holes) return 1;
	int many = op->in.n > need;
	infer_error(in, many ? E0422 : E0423, "%s inputs for `%s` of %s: %d needed, %d given", many ? "too many" : "not enough",
	            in->def->name, graph_title(op->callee[0]), need, op->in.n - holes);
	return 0;
}

/* An input that does not say what it is a shard of takes any tensor of its shape. */
static int fits_input(Spec a, Spec input)
{
	return a.dtype == input.dtype && shape_eq(a.shape, input.shape) && (!input.has_meta || (a.has_meta && shape_eq(a.meta, input.meta)));
}

/* shards of other tensors look alike without the shape of the whole */
static const char *full_spec(Arena *a, Spec s)
{
	const char *own = spec_str(a, s.dtype, s.shape);
	return s.has_meta ? arena_printf(a, "%s of %s", own, shape_str(a, s.meta)) : own;
}

static int check_input(Infer *in, int i)
{
	const Tensor *parent = in->op->in.at[i], *input = callee_input(in->op, i);
	Arena *a = in->b->ir->mem;
	if (!input || parent->poison || input->poison || fits_input(parent->spec, op_operand_spec(in->op, i))) return 1;
	Diag *d = infer_error(in, E0425, "input `%s` of the %s does not match", input->name, graph_word(in->op, i));
	diag_label(in->b->ir->ds, d, "%s against %s", full_spec(a, parent->spec), full_spec(a, op_operand_spec(in->op, i)));
	diag_note(in->b->ir->ds, d, input->at, "%s expects %s", graph_title(input->graph), spec_str(a, input->spec.dtype, input->spec.shape));
	return 0;
}

/* R190 */
static int check_branch_refs(Infer *in)
{
	const Op *op = in->op;
	for (int i = 1; is_conditional(op) && i < op->in.n; i++) {
		const Tensor *input = callee_input(op, i);
		if (!input || !input->by_ref) continue;
		infer_error(in, E0441, "input `%s` of the %s is by reference: inputs of a conditional are passed by value", input->name, graph_word(op, i));
		return 0;
	}
	return 1;
}

static int check_call(Infer *in)
{
	const Op *op = in->op;
	for (int k = 0; k < 2 && op->callee[k]; k++)
		if (!check_callee(in, op->callee[k])) return 0;
	if (!check_count(in)) return 0;
	int ok = check_branch_refs(in);
	for (int i = 0; i < op->in.n; i++) ok &= check_input(in, i);
	return ok;
}

/* --- results ------------------------------------------------------------------------------------------------- */

static const char *call_result_name(const Build *b, const Op *op, int i)
{
	const char *name = op->callee[0]->outputs.at[i]->name;
	if (is_repeat(op)) return name_suffixed(b->g, ir_scoped(b, name));
	if (is_conditional(op) && i < op->callee[1]->outputs.n)
		name = arena_printf(b->ir->mem, "%s_or_%s", name, op->callee[1]->outputs.at[i]->name);
	return ir_name(b->g, ir_scoped(b, name));
}

static void add_call_results(const Build *b, Op *op)
{
	const Graph *g = op->callee[0];
	for (int i = 0; i < g->outputs.n; i++) {
		Tensor *t = add_result(b, op, op_result_spec(op, i), call_result_name(b, op, i));
		t->poison = g->outputs.at[i]->poison;
	}
}

/* --- by reference ---------------------------------------------------------------------------------------------- */

static void set_passing(Ir *ir, Op *op, int i, Passing how)
{
	while (op->modified.n < op->in.n) vec_push(ir->mem, &op->modified, BY_VALUE);
	op->modified.at[i] = (char)how;
}

/* A carried input of a repeat is replaced in every turn, so by-ref always writes the parent (R181). */
static void mark_by_ref_inputs(Ir *ir, Op *op)
{
	for (int i = 0; i < op->in.n; i++) {
		const Tensor *input = callee_input(op, i);
		if (!input || !input->by_ref || is_conditional(op)) continue;
		int carried = is_repeat(op) && i < op->callee[0]->written_outputs;
		set_passing(ir, op, i, carried ? BY_REF_WHOLE : BY_REF);
	}
}

int ir_mark_modified(Build *b, Op *call, int i, int infer)
{
	Ir *ir = b->ir;
	Diag *d = NULL;
	if (is_conditional(call)) d = diag(ir->ds, E0441, b->at, "inputs of a conditional are passed by value");
	else if (i < 0 || i >= call->in.n) d = diag(ir->ds, E0432, b->at, "not an input of the call");
	else if (call->in.at[i] && call->in.at[i]->kind == T_CONSTANT) d = diag(ir->ds, E0404, b->at, "a constant cannot be modified");
	if (d) diag_note(ir->ds, d, call->at, "the call stands here");
	if (d) return 0;
	set_passing(ir, call, i, infer ? BY_REF : BY_REF_WHOLE);
	ir->stamp++;
	return 1;
}

/* --- the op ------------------------------------------------------------------------------------------------------ */

static void set_callees(Op *op, Graph *then, Graph *other)
{
	const Param *p = op_table[op->code]->params;
	op->callee[0] = then;
	op->callee[1] = other;
	for (int i = 0, k = 0; p[i].kind != P_END && k < 2; i++)
		if (p[i].kind == P_GRAPH) op->attr[i] = (AttrVal){ .set = 1, .p = op->callee[k++] };
}

static const Spec *callee_specs(Ir *ir, const Op *op)
{
	const Graph *g = op->callee[0];
	Spec *s = NEWN(ir->mem, Spec, g->outputs.n ? g->outputs.n : 1);
	for (int i = 0; i < g->outputs.n; i++) s[i] = op_result_spec(op, i);
	return s;
}

Op *ir_call(Build *b, int code, Graph *then, Graph *other, Tensor *const *in, int nin, const AttrVal *attrs)
{
	Ir *ir = b->ir;
	int ok = ir_writable(b, "an op");
	Op *op = new_op(b, code, 0, in, nin, attrs);
	set_callees(op, then, other);
	if (!strcmp(op_table[code]->name, "repeat"))
		op->loop = intern_str(ir->names, arena_printf(ir->mem, "%s__loop_wrapper_subgraph(%d)", then->id, ir->next_graph++));
	Infer infer = { .b = b, .op = op, .def = op_table[code], .nout = then->outputs.n, .many = (Spec *)callee_specs(ir, op) };
	ok = ok && check_call(&infer);
	if (!ok) op->callee[0] = op->callee[1] = NULL;      /* so that nobody walks into a graph that does not fit */
	if (ok && !infer_run(&infer)) ok = 0;
	if (op->callee[0]) {
		add_call_results(b, op);
		mark_by_ref_inputs(ir, op);
	} else {
		for (int i = 0; i < then->outputs.n; i++) add_result(b, op, then->outputs.at[i]->spec, ir_name(b->g, "t"));
	}
	if (!ok) poison_results(op);
	enter_op(b, op);
	return op;
}
