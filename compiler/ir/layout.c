/* layout.c — which tensors share memory, and who writes it (semantics.md 2.10).
 *
 * A result shares storage with an operand in two cases: a modifying op gives back its first operand,
 * a viewing op shows part of it.  Following that from result to operand ends at a storage root; how a
 * tensor lies in its root is a Layout.  A view that strides cannot express (a reshape of a transpose,
 * concat_) is its own root: the lowering copies it, and ir_check_ambiguity refuses writes through it that cannot be brought back. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

/* a fused group may hold modifying ops: its pattern says which results are stored over which operands */
static int is_modifier(const Op *op)
{
	const OpDef *d = op_table[op->code];
	return op_pattern(op) || d->shares || (op->inplace && d->inplace == MODIFIES);
}
static int is_view(const Op *op) { return op->inplace && op_table[op->code]->inplace != MODIFIES; }

int op_shares(const Op *op, int out)
{
	if (op_pattern(op)) return pattern_alias(op_pattern(op), out);
	if (op_table[op->code]->shares) return op_table[op->code]->shares(op, out);
	if (!op->in.n || !op->in.at[0]) return -1;
	if (is_modifier(op)) return out == 0 ? 0 : -1;
	return is_view(op) ? 0 : -1;
}

static Layout own_layout(Tensor *t)
{
	Layout l = { .root = t };
	int64_t step = 1;
	for (int i = t->spec.shape.rank - 1; i >= 0; i--) {
		l.stride[i] = step;
		step *= t->spec.shape.dim[i];
	}
	return l;
}

/* where result `out` of a viewing op lies, given where its operand lies; 0: strides cannot say */
static int view_step(const Op *op, int out, const Layout *in, Layout *result)
{
	const OpDef *d = op_table[op->code];
	if (!d->view) return 0;
	Layout few[8] = { { 0 } };
	Layout *all = op->out.n <= 8 ? few : NEWN(op->graph->ir->mem, Layout, op->out.n);
	for (int i = 0; i < op->out.n; i++) all[i].root = in->root;
	if (!d->view(op, in, all)) return 0;
	*result = all[out];
	result->root = in->root;
	return 1;
}

/* the tensor whose memory t takes over or looks into; NULL: it has its own */
static Tensor *above(const Tensor *t)
{
	int i = t->def ? op_shares(t->def, t->def_index) : -1;
	return i >= 0 ? t->def->in.at[i] : NULL;
}

static Layout layout_below(Tensor *t, const Layout *up)
{
	Layout l;
	if (is_modifier(t->def)) return *up;
	return view_step(t->def, t->def_index, up, &l) ? l : own_layout(t);
}

static const Layout *known(const Tensor *t)
{
	return t->lies_at == t->graph->ir->moved + 1 ? t->lies : NULL;      /* 0: never asked */
}

static void remember(Tensor *t, Layout l)
{
	Ir *ir = t->graph->ir;
	if (!t->lies) t->lies = NEW(ir->mem, Layout);
	*t->lies = l;
	t->lies_at = ir->moved + 1;
}

/* Asked anew only after something changed: along a chain of in-place ops the answers build on each other. */
Layout layout_of(Tensor *t)
{
	VEC(Tensor *) chain = { 0 };
	Tensor *up = above(t);
	if (!up) return own_layout(t);
	if (known(t)) return *known(t);
	for (Tensor *x = t; up; x = up, up = above(x)) {
		vec_push(t->graph->ir->mem, &chain, x);
		if (known(up)) break;
	}
	up = above(vec_last(&chain));
	Layout l = known(up) ? *known(up) : own_layout(up);
	for (int i = chain.n - 1; i >= 0; i--) remember(chain.at[i], l = layout_below(chain.at[i], &l));
	return l;
}

int op_view_fails(const Op *op)
{
	if (!is_view(op) || !op->out.n || !op->in.n || !op->in.at[0]) return 0;
	Layout in = layout_of(op->in.at[0]), out;
	return !view_step(op, 0, &in, &out);
}

int layout_contiguous(const Layout *l, Shape s)
{
	int64_t step = 1;
	if (!shape_nelems(s)) return 1;              /* there is nothing that could lie elsewhere */
	for (int i = s.rank - 1; i >= 0; i--) {
		if (s.dim[i] != 1 && l->stride[i] != step) return 0;
		step *= s.dim[i];
	}
	return 1;
}

Tensor *storage_root(Tensor *t) { return layout_of(t).root; }

int op_output_aliases(const Op *op, int out)
{
	int i = op_shares(op, out);
	return i >= 0 && is_view(op) && op_view_fails(op) ? -1 : i;
}

/* --- who writes ------------------------------------------------------------------------------------------- */

int op_modifies(const Op *op, int i)
{
	if (i < 0 || i >= op->in.n || !op->in.at[i]) return 0;
	if (op->callee[0]) {
		if (!op_by_ref(op, i)) return 0;
		return op->modified.at[i] == BY_REF_WHOLE || graph_modifies_input(op->callee[0], i);
	}
	if (op_pattern(op)) return pattern_writes(op_pattern(op), i);
	if (op_table[op->code]->modifies) return op_table[op->code]->modifies(op, i);
	return (i == 0 && is_modifier(op)) || (i < 32 && (op_table[op->code]->writes >> i & 1));
}

/* Follows the input through its views.  Writes behind a view that strides cannot express count too. */
static int written_below(const Tensor *t)
{
	VEC(const Tensor *) todo = { 0 };
	Arena *mem = t->graph->ir->mem;
	vec_push(mem, &todo, t);
	while (todo.n) {
		const Tensor *x = todo.at[--todo.n];
		for (int k = 0; k < x->uses.n; k++) {
			const Op *op = x->uses.at[k].op;
			int i = x->uses.at[k].index;
			if (op_modifies(op, i)) return 1;
			int joined = op_view_fails(op);          /* concat_ shows all its operands */
			for (int o = 0; o < op->out.n; o++)
				if (joined || op_shares(op, o) == i) vec_push(mem, &todo, op->out.at[o]);
		}
	}
	return 0;
}

/* Asked anew only after something changed: nested calls would otherwise be walked once per path. */
int graph_modifies_input(const Graph *g, int i)
{
	if (i < 0 || i >= g->inputs.n) return 0;
	Tensor *t = g->inputs.at[i];
	int now = g->ir->stamp + 1;                  /* 0 is never a stamp: a new tensor's answer is unknown */
	if (t->written_at == now) return t->written;
	t->written = written_below(t);
	t->written_at = now;
	return t->written;
}
