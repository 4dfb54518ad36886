/* verify.c — is the program what ir.h says it is?
 *
 * Run after every pass in tests, and on every textual IR before anybody trusts it.  The first broken
 * rule ends the walk; the text names graph, op or tensor. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

typedef struct Verify { const Ir *ir; Arena *mem; Buf *why; Map ids; char *tensor_seen; int *operand_count; } Verify;

static const char *graph_id(const Graph *g)
{
	return !g ? "?" : g->id[0] ? g->id : "main";
}

static int wrong_graph(const Verify *v, const Graph *g, const char *what)
{
	buf_printf(v->why, "graph `%s`: %s", graph_id(g), what);
	return 0;
}

static int wrong_tensor(const Verify *v, const Tensor *t, const char *what)
{
	buf_printf(v->why, "graph `%s`: tensor `%s` (%%%d): %s", graph_id(t->graph), t->name, t->index, what);
	return 0;
}

static int wrong_op(const Verify *v, const Op *op, const char *what, int i)
{
	buf_printf(v->why, "graph `%s`: op %d (`%s`): ", graph_id(op->graph), op->id, op->code >= 0 && op->code < OP_COUNT ? op_table[op->code]->name : "?");
	buf_printf(v->why, what, i);
	return 0;
}

/* --- tensors --------------------------------------------------------------------------------------------------- */

static int check_origin(const Verify *v, const Graph *g, const Tensor *t)
{
	if (t->def && (t->def->graph != g || t->def_index >= t->def->out.n || t->def->out.at[t->def_index] != t))
		return wrong_tensor(v, t, "its producer does not make it");
	if (t->input_index >= 0 && (t->input_index >= g->inputs.n || g->inputs.at[t->input_index] != t))
		return wrong_tensor(v, t, "it is not the input that it says");
	if ((t->def != NULL) + (t->input_index >= 0) + (t->kind != T_TENSOR) != 1)
		return wrong_tensor(v, t, "it must have one origin: an op, the graph's inputs, or host data");
	if (t->kind != T_TENSOR && !t->data) return wrong_tensor(v, t, "it has no host data");
	if (t->kind == T_VARIABLE && g != v->ir->main) return wrong_tensor(v, t, "variables live in the main graph");
	if (t->remote && (t->kind != T_VARIABLE || t->uses.n || t->entry < 0 || t->entry >= t->remote->entries || t->spec.dtype != t->remote->spec.dtype ||
	                  !shape_eq(t->spec.shape, t->remote->spec.shape))) return wrong_tensor(v, t, "it cannot stand for that entry of a remote buffer");
	if (t->kind == T_VARIABLE && (t->grouping < 0 || t->grouping >= v->ir->groupings.n)) return wrong_tensor(v, t, "no such grouping");
	if (t->data && (t->data->dtype != t->spec.dtype || !shape_eq(t->data->shape, variable_host_shape(t))))
		return wrong_tensor(v, t, "its host data has another shape or dtype");
	return 1;
}

static int check_tensor(Verify *v, const Graph *g, const Tensor *t)
{
	if (t->graph != g) return wrong_tensor(v, t, "it belongs to another graph");
	if (t->index < 0 || t->index >= v->ir->ntensor || v->tensor_seen[t->index]++) return wrong_tensor(v, t, "its index is taken or out of range");
	if (t->poison) return wrong_tensor(v, t, "it was made by an op that failed");
	if (t->spec.dtype >= DT_COUNT || !shape_legal(t->spec.shape))
		return wrong_tensor(v, t, "its shape is impossible");
	if (!map_has(&g->names, t->name)) return wrong_tensor(v, t, "its name is not registered");
	for (int i = 0; i < t->uses.n; i++) {
		Use u = t->uses.at[i];
		if (u.op->graph != g || u.index >= u.op->in.n || u.op->in.at[u.index] != t) return wrong_tensor(v, t, "a use is not an operand");
	}
	return check_origin(v, g, t);
}

static int check_tensors(Verify *v, const Graph *g)
{
	Map names = { 0 };
	for (int i = 0; i < g->tensors.n; i++) {
		const Tensor *t = g->tensors.at[i];
		if (!check_tensor(v, g, t)) return 0;
		if (i && t->index <= g->tensors.at[i - 1]->index) return wrong_tensor(v, t, "tensors are not in creation order");
		if (map_has(&names, t->name)) return wrong_tensor(v, t, "another tensor has its name");
		map_set(v->mem, &names, t->name, (void *)t);
	}
	for (int i = 0; i < g->inputs.n; i++)
		if (g->inputs.at[i]->graph != g || g->inputs.at[i]->input_index != i) return wrong_graph(v, g, "an input is not one");
	for (int i = 0; i < g->outputs.n; i++)
		if (g->outputs.at[i]->graph != g) return wrong_graph(v, g, "an output belongs to another graph");
	if (g->written_outputs < 0 || g->written_outputs > g->outputs.n) return wrong_graph(v, g, "more written outputs than outputs");
	return 1;
}

/* --- ops ---------------------------------------------------------------------------------------------------------- */

static int check_attr(const Verify *v, const Op *op, const Param *p, int i)
{
	const AttrVal *a = &op->attr[i];
	if (p->kind >= P_INT && p->kind <= P_BUFFER && !p->optional && !a->set) return wrong_op(v, op, "required attribute %d is not set", i);
	if (!a->set) return 1;
	if (p->kind == P_DTYPE && (a->i < 0 || a->i >= DT_COUNT)) return wrong_op(v, op, "attribute %d is not a dtype", i);
	if (p->kind == P_GROUP && (a->i < 0 || a->i >= v->ir->groupings.n)) return wrong_op(v, op, "attribute %d is no grouping of this program", i);
	if (p->kind == P_STREAM) {
		const Stream *s = a->p;
		if (!s || s->index >= v->ir->streams.n || v->ir->streams.at[s->index] != s) return wrong_op(v, op, "attribute %d is no stream of this program", i);
	}
	if (p->kind == P_BUFFER) {
		const RemoteBuffer *b = a->p;
		if (!b || b->id >= v->ir->buffers.n || v->ir->buffers.at[b->id] != b) return wrong_op(v, op, "attribute %d is no buffer of this program", i);
	}
	if (p->kind == P_STR && !a->s) return wrong_op(v, op, "attribute %d has no text", i);
	if ((p->kind == P_ARRAY || p->kind == P_PATTERN || p->kind == P_GRAPH) && !a->p) return wrong_op(v, op, "attribute %d is empty", i);
	return 1;
}

static int check_signature(const Verify *v, const Op *op)
{
	const OpDef *d = op_table[op->code];
	int operand = 0, list = 0;
	for (int i = 0; d->params[i].kind != P_END; i++) {
		ParamKind k = d->params[i].kind;
		list |= k == P_TENSORS;
		if (!check_attr(v, op, &d->params[i], i)) return 0;
		if (k != P_TENSOR && k != P_OPT_TENSOR && !param_is_scalar(k)) continue;
		if (operand >= op->in.n || (k == P_TENSOR && !op->in.at[operand])) return wrong_op(v, op, "operand %d is missing", operand);
		if (param_is_scalar(k) && !d->params[i].optional && !op->in.at[operand] && !op->attr[i].set) return wrong_op(v, op, "scalar %d has no value", i);
		operand++;
	}
	if (op->in.n > operand && !list) return wrong_op(v, op, "it has more operands than the table says: %d", op->in.n);
	if (d->nout >= 0 && op->out.n != (d->nout ? d->nout : 1) && !(d->traits & CALLS)) return wrong_op(v, op, "it has %d results", op->out.n);
	if (d->nout == -1 && op->out.n) return wrong_op(v, op, "it has %d results, but should have none", op->out.n);
	return 1;
}

static int calls_site(const Graph *g, const Op *op)
{
	for (int i = 0; i < g->calls.n; i++)
		if (g->calls.at[i] == op) return 1;
	return 0;
}

static int check_callees(const Verify *v, Op *op)
{
	int need = op->callee[1] != NULL;
	for (int k = 0; k < 2 && op->callee[k]; k++) {
		const Graph *g = op->callee[k];
		if (g->ir != v->ir || g->index >= v->ir->graphs.n || v->ir->graphs.at[g->index] != g) return wrong_op(v, op, "callee %d is not of this program", k);
		if (!calls_site(g, op)) return wrong_op(v, op, "callee %d does not know this call", k);
		if (g->outputs.n != op->out.n) return wrong_op(v, op, "callee %d has another number of outputs", k);
		for (int i = 0; i < op->out.n; i++) {
			Spec a = op->out.at[i]->spec, b = k ? g->outputs.at[i]->spec : op_result_spec(op, i);
			if (a.dtype != b.dtype || !shape_eq(a.shape, b.shape)) return wrong_op(v, op, "result %d differs from the callee's output", i);
		}
		need += g->inputs.n;
	}
	if (!op->callee[0]) return (op_is(op, CALLS)) ? wrong_op(v, op, "it calls nothing (%d)", 0) : 1;
	if (op->in.n != need) return wrong_op(v, op, "it should have %d operands", need);
	for (int i = 0; i < op->in.n; i++) {
		const Tensor *a = op->in.at[i];
		if (!a) return wrong_op(v, op, "operand %d is missing", i);
		if (!callee_input(op, i)) continue;
		Spec want = op_operand_spec(op, i);
		if (a->spec.dtype != want.dtype || !shape_eq(a->spec.shape, want.shape)) return wrong_op(v, op, "operand %d differs from the callee's input", i);
	}
	return op->modified.n == 0 || op->modified.n == op->in.n ? 1 : wrong_op(v, op, "it says how %d operands are passed", op->modified.n);
}

static int check_op(Verify *v, const Graph *g, Op *op)
{
	if (op->code < 0 || op->code >= OP_COUNT) return wrong_op(v, op, "no such op code: %d", op->code);
	if (op->graph != g) return wrong_op(v, op, "it belongs to another graph (%d)", g->index);
	if (op->id >= v->ir->next_op) return wrong_op(v, op, "its id was never given out: %d", op->id);
	if (map_has(&v->ids, (void *)(intptr_t)(op->id + 1))) return wrong_op(v, op, "its id is taken: %d", op->id);
	map_set(v->mem, &v->ids, (void *)(intptr_t)(op->id + 1), op);
	if (op->exec >= EXEC_COUNT) return wrong_op(v, op, "no such kind of execution: %d", (int)op->exec);
	for (int i = 0; i < op->in.n; i++) {
		if (!op->in.at[i]) continue;
		if (op->in.at[i]->graph != g) return wrong_op(v, op, "operand %d belongs to another graph", i);
		v->operand_count[op->in.at[i]->index]++;
	}
	for (int i = 0; i < op->out.n; i++)
		if (op->out.at[i]->graph != g || op->out.at[i]->def != op || op->out.at[i]->def_index != i) return wrong_op(v, op, "result %d is not its own", i);
	for (int i = 0; i < op->after.n; i++)
		if (!op->after.at[i] || op->after.at[i]->graph != g) return wrong_op(v, op, "constraint %d leads out of the graph", i);
	return check_signature(v, op) && check_callees(v, op);
}

/* --- the whole ------------------------------------------------------------------------------------------------------- */

/* Ops come out as their operands are made; what never comes out is in, or behind, a circle. */
static int check_acyclic(const Verify *v, const Graph *g)
{
	int n = g->ops.n, done = 0;
	int *waits = NEWN(v->mem, int, n + 1), *todo = NEWN(v->mem, int, n + 1), ntodo = 0;
	for (int i = 0; i < n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < n; i++) {
		const Op *op = g->ops.at[i];
		for (int k = 0; k < op->in.n; k++) waits[i] += op->in.at[k] && op->in.at[k]->def;
		if (!waits[i]) todo[ntodo++] = i;
	}
	for (; done < ntodo; done++) {
		const Op *op = g->ops.at[todo[done]];
		for (int k = 0; k < op->out.n; k++)
			for (int u = 0; u < op->out.at[k]->uses.n; u++)
				if (--waits[op->out.at[k]->uses.at[u].op->mark] == 0) todo[ntodo++] = op->out.at[k]->uses.at[u].op->mark;
	}
	return done == n ? 1 : wrong_graph(v, g, "data edges form a circle");
}

static int check_graph(Verify *v, Graph *g, int i)
{
	if (g->ir != v->ir || g->index != i) return wrong_graph(v, g, "its index is wrong");
	if (map_get(&v->ir->ids, g->id) != g) return wrong_graph(v, g, "its id is not registered");
	if (!check_tensors(v, g)) return 0;
	for (int k = 0; k < g->ops.n; k++)
		if (!check_op(v, g, g->ops.at[k])) return 0;
	for (int k = 0; k < g->tensors.n; k++)
		if (v->operand_count[g->tensors.at[k]->index] != g->tensors.at[k]->uses.n) return wrong_tensor(v, g->tensors.at[k], "its uses are not all operands of ops");
	for (int k = 0; k < g->calls.n; k++)
		if (g->calls.at[k]->callee[0] != g && g->calls.at[k]->callee[1] != g) return wrong_graph(v, g, "a call site calls another graph");
	if (graph_calls(g, g)) return wrong_graph(v, g, "it calls itself");
	return check_acyclic(v, g);
}

int ir_verify(const Ir *ir, Buf *why)
{
	Verify v = { .ir = ir, .mem = why->mem, .why = why, .tensor_seen = NEWN(why->mem, char, ir->ntensor + 1), .operand_count = NEWN(why->mem, int, ir->ntensor + 1) };
	for (int i = 0; i < ir->graphs.n; i++)
		if (!check_graph(&v, ir->graphs.at[i], i)) return 0;
	return 1;
}
