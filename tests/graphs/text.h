/* text.h — a random graph as a program: functions of the graph's own, and one that feeds it, runs it and stores what it gives.
 *
 * `outline` says whether functions are called as graphs or written out in place.  A graph with slopes also
 * gives the gradients of its loss. */
#ifndef TESTS_GRAPHS_TEXT_H
#define TESTS_GRAPHS_TEXT_H

#include "tests/graphs/random.h"

static const char graph_prelude[] =
	"# Between lo and hi, whatever x is.\n"
	"fn within(x, lo, hi) = tanh(x) * ((hi - lo) / 2) + (hi + lo) / 2\n"
	"fn nonzero(x) = x + (x == 0).cast(x.dtype)\n";

static inline void put_val(Buf *b, const Gen *g, Val v)
{
	buf_printf(b, "t%d", v.node);
	if (g->node[v.node].nout > 1) buf_printf(b, "_%d", v.out);
}

static inline void put_operand(Buf *b, const Gen *g, const Node *n, int i)
{
	double lo = n->d ? n->d->sample.lo : 0, hi = n->d ? n->d->sample.hi : 0;
	int whole = !dtype_is_float(val_tensor(g, n->in[i])->spec.dtype);
	if (lo >= hi) lo = -2, hi = 2;
	if (n->squeeze[i]) buf_puts(b, whole ? "nonzero(" : "within(");
	put_val(b, g, n->in[i]);
	if (n->squeeze[i] && !whole) buf_printf(b, ", %.17g, %.17g", lo, hi);
	if (n->squeeze[i]) buf_putc(b, ')');
}

static inline void put_op(Buf *b, const Gen *g, const Node *n)
{
	int only = n->d->traits & ONLY_INPLACE, len = (int)strlen(n->d->name), placed = 1, place = 0;
	buf_printf(b, "%s%s(", n->d->name, n->inplace && !(only && n->d->name[len - 1] == '_') ? "_" : "");
	for (int i = 0; i < n->nin; i++) {
		int first = i == 0 || n->param[i] != n->param[i - 1];
		buf_puts(b, i ? ", " : "");
		placed &= !first || op_param_at(n->d, place++) == n->param[i];
		if (first && !placed) buf_printf(b, "%s = ", n->d->params[n->param[i]].name);
		if (first && i >= n->listed) buf_putc(b, '[');
		put_operand(b, g, n, i);
		if (i >= n->listed && (i + 1 == n->nin || n->param[i + 1] != n->param[i])) buf_putc(b, ']');
	}
	buf_printf(b, "%s%s)%s", n->attrs[0] && n->nin ? ", " : "", n->attrs, n->nout == 1 && n->d->nout == -2 ? "[0]" : "");
}

static inline void put_use(Buf *b, const Gen *g, const Node *n)
{
	Buf x = buf_new(&g->t->mem), y = buf_new(&g->t->mem), s = buf_new(&g->t->mem), o = buf_new(&g->t->mem);
	put_val(&x, g, n->in[0]);
	put_val(&y, g, n->in[1]);
	buf_printf(&s, "s%llu_%d", (unsigned long long)g->seed, n->sub[0]);
	buf_printf(&o, "s%llu_%d", (unsigned long long)g->seed, n->sub[1]);
	if (n->kind == NODE_BRANCH) {
		buf_printf(b, "conditional(%s.cast(f32).mean() > 0.01, graph(%s, %s, %s), graph(%s, %s, %s), [%s, %s], [%s, %s])",
		           y.s, s.s, x.s, y.s, o.s, x.s, y.s, x.s, y.s, x.s, y.s);
		return;
	}
	if (n->kind == NODE_CALL) buf_printf(b, "call(graph(%s, %s, %s), %s, %s)", s.s, x.s, y.s, x.s, y.s);
	else buf_printf(b, "repeat(graph(%s, %s, %s), %d, %s, %s)", s.s, x.s, y.s, n->count, x.s, y.s);
	if (g->kind == WRITES) return;                           /* what is called by value may not be written out: it might be modified later */
	buf_puts(b, " if outline else ");
	int turns = n->kind == NODE_CALL ? 1 : n->count;
	for (int i = 0; i < turns; i++) buf_printf(b, "%s(", s.s);
	buf_puts(b, x.s);
	for (int i = 0; i < turns; i++) buf_printf(b, ", %s)", y.s);
}

static inline void put_nodes(Buf *b, const Gen *g, const char *pad)
{
	for (int i = 0; i < g->n; i++) {
		const Node *n = &g->node[i];
		if (n->gone || n->kind == NODE_INPUT) continue;
		buf_puts(b, pad);
		for (int k = 0; k < n->nout; k++) {
			buf_puts(b, k ? ", " : "");
			put_val(b, g, (Val){ i, k });
		}
		buf_puts(b, " = ");
		if (n->kind == NODE_OP) put_op(b, g, n);
		else put_use(b, g, n);
		buf_putc(b, '\n');
	}
}

static inline int node_used(const Gen *g, int node)
{
	for (int i = node + 1; i < g->n; i++)
		for (int k = 0; k < g->node[i].nin; k++)
			if (!g->node[i].gone && g->node[i].in[k].node == node) return 1;
	return 0;
}

/* the values that nothing reads, or (every) all that were computed */
static inline int leaves(const Gen *g, Val *out)
{
	int n = 0;
	for (int i = 0; i < g->n; i++) {
		if (g->node[i].gone || g->node[i].kind == NODE_INPUT || node_used(g, i)) continue;
		for (int k = 0; k < g->node[i].nout; k++) out[n++] = (Val){ i, k };
	}
	return n;
}

static inline void put_params(Buf *b, const Gen *g)
{
	int any = 0;
	for (int i = 0; i < g->n; i++)
		if (g->node[i].kind == NODE_INPUT && !g->node[i].gone) buf_printf(b, "%st%d", any++ ? ", " : "", i);
}

/* the mean of no elements is NaN, and would hide all else */
static inline const char *average(const Tensor *t) { return shape_nelems(t->spec.shape) ? "mean" : "sum"; }

static inline void put_sub(Buf *b, const Gen *g, int k)
{
	const Gen *s = &g->sub[k];
	Val r = { s->n - 1, 0 };
	const Tensor *x = s->node[0].out[0], *y = val_tensor(s, r);
	buf_printf(b, "fn s%llu_%d(t0, t1) {\n", (unsigned long long)g->seed, k);
	put_nodes(b, s, "    ");
	buf_puts(b, "    return within(");
	if (x->spec.dtype != y->spec.dtype || !shape_eq(x->spec.shape, y->spec.shape)) buf_puts(b, "t0 + ");
	put_val(b, s, r);
	if (x->spec.dtype != y->spec.dtype || !shape_eq(x->spec.shape, y->spec.shape)) buf_printf(b, ".cast(%s).%s()", dtype_info[x->spec.dtype].name, average(y));
	buf_puts(b, ", -2, 2)\n}\n");
}

static inline void put_loss(Buf *b, const Gen *g)
{
	Val out[MAX_NODES * NODE_OUTS];
	int n = leaves(g, out);
	buf_puts(b, "    loss = constant(0.0, f64)\n");
	for (int i = 0; i < n; i++) {
		buf_puts(b, "    loss = loss + ");
		put_val(b, g, out[i]);
		buf_printf(b, ".cast(f64).%s()\n", average(val_tensor(g, out[i])));
	}
	for (int i = 0; i < g->n; i++)                          /* every input is reached */
		if (g->node[i].kind == NODE_INPUT && !g->node[i].gone && dtype_is_float(g->node[i].out[0]->spec.dtype))
			buf_printf(b, "    loss = loss + t%d.cast(f64).%s() * 0.125\n", i, average(g->node[i].out[0]));
}

static inline void put_outputs(Buf *b, const Gen *g)
{
	Val out[MAX_NODES * NODE_OUTS];
	int n = leaves(g, out), first = g->kind == WRITES;
	buf_puts(b, "    return [");
	if (!first) buf_puts(b, "loss");
	for (int i = 0; i < n; i++) {
		if (i || !first) buf_puts(b, ", ");
		put_val(b, g, out[i]);
	}
	buf_puts(b, n || !first ? "]\n}\n" : "t0]\n}\n");
}

static inline void put_input(Buf *b, const Gen *g, int i)
{
	const Node *n = &g->node[i];
	Spec s = n->out[0]->spec;
	const char *shape = shape_str(&g->t->mem, s.shape), *t = dtype_info[s.dtype].name, *make = n->constant ? "constant" : "variable";
	int whole = !dtype_is_float(s.dtype);
	buf_printf(b, "    t%d = %s(", i, make);
	if (spec_is_seed(s)) buf_printf(b, "[%llu, %d], u32", (unsigned long long)(g->seed & 0xffff), i);
	else if (s.dtype == DT_BOOL) buf_printf(b, "uniform(-1, 1, %s) > 0, bool", shape);
	else buf_printf(b, "uniform(%s, %s), %s", whole ? "0, 1.999" : "-1.5, 1.5", shape, t);
	if (n->constant) buf_puts(b, ")\n");
	else buf_printf(b, ", name = \"x%llu_%d\")\n", (unsigned long long)g->seed, i);
}

static inline void put_runner(Buf *b, const Gen *g)
{
	unsigned long long id = (unsigned long long)g->seed;
	Buf p = buf_new(&g->t->mem);
	put_params(&p, g);
	buf_printf(b, "fn r%llu(outline) {\n", id);
	for (int i = 0; i < g->n; i++)
		if (g->node[i].kind == NODE_INPUT && !g->node[i].gone) put_input(b, g, i);
	if (g->kind == WRITES) {
		buf_puts(b, "    with in_sequence() {\n");
		buf_printf(b, "    if outline { outs = call_with_info(graph(fn(%s) = g%llu(true, %s), %s), %s).outputs\n", p.s, id, p.s, p.s, p.s);
		buf_printf(b, "    } else { outs = g%llu(false, %s) }\n", id, p.s);
	} else {
		buf_printf(b, "    g = graph(fn(%s) = g%llu(outline, %s), %s)\n", p.s, id, p.s, p.s);
		buf_puts(b, "    n = len(g.outputs)\n");
		buf_puts(b, "    info = autodiff(g, grads_provided = [g.outputs[0]], grads_required = [t for t in g.inputs if t.dtype in [f64, f32, f16, bf16]])\n");
		buf_printf(b, "    fwd = call_with_info(g, %s)\n", p.s);
		buf_puts(b, "    outs = [fwd.outputs[i] for i in range(n)]\n");
		buf_puts(b, "    for t in call_with_info(info.graph, constant(1.0, f64), inputs_dict = info.inputs_dict(fwd)).outputs { outs = outs + [t] }\n");
	}
	buf_printf(b, "    for i, t in enumerate(outs) { host_store(d2h_stream(\"y%llu_{i}\", t.spec), t) }\n%s}\n", id, g->kind == WRITES ? "    }\n" : "");
}

static inline void put_graph(Buf *b, const Gen *g)
{
	for (int k = 0; k < g->nsub; k++) put_sub(b, g, k);
	buf_printf(b, "fn g%llu(outline%s", (unsigned long long)g->seed, g->n ? ", " : "");
	put_params(b, g);
	buf_puts(b, ") {\n");
	if (g->kind == WRITES) {
		buf_puts(b, "    with in_sequence() {\n");
		put_nodes(b, g, "        ");
		buf_puts(b, "    }\n");
	} else {
		put_nodes(b, g, "    ");
		put_loss(b, g);
	}
	put_outputs(b, g);
	put_runner(b, g);
}

/* a program that runs them all */
static inline const char *graphs_text(Arena *a, Gen *const *g, int n)
{
	Buf b = buf_new(a);
	buf_puts(&b, graph_prelude);
	for (int i = 0; i < n; i++) put_graph(&b, g[i]);
	buf_puts(&b, "program random(outline: bool = false) {\n");
	for (int i = 0; i < n; i++) buf_printf(&b, "    r%llu(outline)\n", (unsigned long long)g[i]->seed);
	buf_puts(&b, "}\n");
	return b.s;
}

#endif
