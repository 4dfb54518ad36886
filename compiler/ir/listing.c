/* listing.c — print_schedule: a graph as the tutorials show it (semantics.md R56–R64, addons.md A81–A87).
 *
 * The text is fixed to the byte, the missing newline at the end included.  Values are numbered from 1 in
 * the order in which the text mentions them: inputs, then per op operands and results, then outputs. */
#include "compiler/ir/ir.h"

#include "compiler/ops/op.h"

typedef struct Listing { Arena *mem; Map number; Buf *out; } Listing;

static int number_of(Listing *l, const Tensor *t)
{
	intptr_t n = (intptr_t)map_get(&l->number, t);
	if (!n) {
		n = l->number.n + 1;
		map_set(l->mem, &l->number, t, (void *)n);
	}
	return (int)n;
}

static void put_values(Listing *l, Tensor *const *at, int n)
{
	int any = 0;
	buf_putc(l->out, '(');
	for (int i = 0; i < n; i++) {
		if (!at[i]) continue;
		buf_printf(l->out, "%s%%%d [%s %s]", any ? ", " : "", number_of(l, at[i]), shape_tuple(l->mem, at[i]->spec.shape), dtype_info[at[i]->spec.dtype].popxl);
		any = 1;
	}
	buf_putc(l->out, ')');
}

static void put_op(Listing *l, const Op *op)
{
	buf_printf(l->out, "    %s.%d", op_type_name(op), op->id);
	if (op->callee[0] && !op->callee[1]) buf_printf(l->out, "(%s)", op->loop ? op->loop : op->callee[0]->id);
	buf_putc(l->out, ' ');
	put_values(l, op->in.at, op->in.n);
	buf_puts(l->out, " -> ");
	put_values(l, op->out.at, op->out.n);
	buf_putc(l->out, '\n');
}

static void put_header(Listing *l, Graph *g, const Map *arg_names)
{
	for (int i = 0; i < g->inputs.n; i++) {
		const char *name = map_get(arg_names, g->inputs.at[i]);
		buf_printf(l->out, "%s%s%s%%%d", i ? ", " : "", name ? name : "", name ? "=" : "", number_of(l, g->inputs.at[i]));
	}
}

static void put_outputs(Listing *l, const Graph *g)
{
	for (int i = 0; i < g->outputs.n; i++) buf_printf(l->out, "%s%%%d", i ? ", " : "", number_of(l, g->outputs.at[i]));
}

/* The outputs stand in the second line but are numbered last: the lines of ops are written aside first. */
void print_schedule(Graph *g, const Map *arg_names, Buf *out)
{
	Listing l = { .mem = out->mem };
	Buf body = buf_new(out->mem);
	Op **order = schedule(g, out->mem);
	l.out = out;
	buf_printf(out, "Graph : %s\n  (", g->id);
	put_header(&l, g, arg_names ? arg_names : &g->args);
	l.out = &body;
	for (int i = 0; order && i < g->ops.n; i++) put_op(&l, order[i]);
	if (!g->ops.n) buf_puts(&body, "    \n");
	l.out = out;
	buf_puts(out, ") -> (");
	put_outputs(&l, g);
	buf_puts(out, ") {\n");
	if (body.n) buf_put(out, body.s, body.n);
	buf_puts(out, "  }");
}
