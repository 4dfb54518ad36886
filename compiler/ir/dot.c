/* dot.c — a graph as a Graphviz drawing (semantics.md R70).
 *
 * Boxes are ops: place in the schedule, type, id, callee, IPU and tile set.  Ovals are tensors.  An operand
 * that an op writes is drawn red, a result that shares its operand's memory blue, both purple; constraints
 * are dashed.  A slice of the schedule can be drawn alone (R71). */
#include "compiler/ir/ir.h"

#include "compiler/ops/op.h"

static const char *tensor_color(const Tensor *t)
{
	if (t->kind == T_VARIABLE) return "lightblue";
	if (t->kind == T_CONSTANT) return "lightgrey";
	return t->input_index >= 0 ? "palegreen" : "white";
}

static void put_quoted(Buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\') buf_putc(out, '\\');
		buf_putc(out, *s);
	}
}

static void put_tensor(const Tensor *t, Buf *out)
{
	buf_printf(out, "\tt%d [shape=oval, style=filled, fillcolor=%s, label=\"", t->index, tensor_color(t));
	put_quoted(out, t->name);
	buf_printf(out, "\\n%s\"];\n", spec_str(out->mem, t->spec.dtype, t->spec.shape));
}

static const char *edge_color(int writes, int shares)
{
	return writes && shares ? "purple" : writes ? "red" : shares ? "blue" : "black";
}

static int shared(const Op *op, int in)
{
	for (int k = 0; k < op->out.n; k++)
		if (op_output_aliases(op, k) == in) return 1;
	return 0;
}

/* constraints are drawn between ops of the slice; `drawn` is by position in g->ops */
static void put_edges(const Op *op, const char *drawn, Buf *out)
{
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i]) buf_printf(out, "\tt%d -> o%d [color=%s];\n", op->in.at[i]->index, op->id, edge_color(op_modifies(op, i), shared(op, i)));
	for (int i = 0; i < op->out.n; i++)
		buf_printf(out, "\to%d -> t%d [color=%s];\n", op->id, op->out.at[i]->index, edge_color(0, op_output_aliases(op, i) >= 0));
	for (int i = 0; i < op->after.n; i++)
		if (drawn[op->after.at[i]->mark]) buf_printf(out, "\to%d -> o%d [style=dashed];\n", op->after.at[i]->id, op->id);
}

/* streams stand apart: an op is joined to the one it names */
static void put_streams(const Op *op, Buf *out)
{
	const Param *p = op_table[op->code]->params;
	for (int i = 0; p[i].kind != P_END; i++) {
		const Stream *s = p[i].kind == P_STREAM ? op->attr[i].p : NULL;
		if (!s) continue;
		buf_printf(out, "\ts%d [shape=oval, style=filled, fillcolor=orange, label=\"", s->index);
		put_quoted(out, s->name);
		buf_puts(out, "\"];\n");
		if (s->is_input) buf_printf(out, "\ts%d -> o%d;\n", s->index, op->id);
		else buf_printf(out, "\to%d -> s%d;\n", op->id, s->index);
	}
}

static void put_op(const Op *op, int place, Buf *out)
{
	buf_printf(out, "\to%d [shape=box, label=\"%d: %s.%d", op->id, place, op_type_name(op), op->id);
	for (int k = 0; k < 2 && op->callee[k]; k++) {
		buf_puts(out, "\\n");
		put_quoted(out, op->callee[k]->id);
	}
	buf_printf(out, "\\nipu %d%s\"];\n", op->ipu, op->tiles == TILES_IO ? ", io tiles" : "");
}

/* the tensors that ops of the slice touch; all of them when the whole schedule is drawn */
static void put_tensors(const Graph *g, Op *const *order, int first, int last, Buf *out)
{
	char *drawn = NEWN(out->mem, char, g->ir->ntensor + 1);
	int whole = first <= 0 && last >= g->ops.n - 1;
	for (int i = first; i <= last; i++) {
		for (int k = 0; k < order[i]->in.n; k++)
			if (order[i]->in.at[k]) drawn[order[i]->in.at[k]->index] = 1;
		for (int k = 0; k < order[i]->out.n; k++) drawn[order[i]->out.at[k]->index] = 1;
	}
	for (int i = 0; i < g->tensors.n; i++)
		if (whole || drawn[g->tensors.at[i]->index]) put_tensor(g->tensors.at[i], out);
}

void ir_dot(const Graph *g, int first, int last, Buf *out)
{
	Op **order = schedule((Graph *)g, out->mem);
	if (!order) order = g->ops.at;
	if (first < 0) first = 0;
	if (last < 0 || last >= g->ops.n) last = g->ops.n - 1;
	buf_puts(out, "digraph \"");
	put_quoted(out, g->id[0] ? g->id : "main");
	buf_puts(out, "\" {\n");
	put_tensors(g, order, first, last, out);
	char *drawn = NEWN(out->mem, char, g->ops.n + 1);
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	for (int i = first; i <= last; i++) drawn[order[i]->mark] = 1;
	for (int i = first; i <= last; i++) {
		put_op(order[i], i, out);
		put_streams(order[i], out);
		put_edges(order[i], drawn, out);
	}
	buf_puts(out, "}\n");
}
