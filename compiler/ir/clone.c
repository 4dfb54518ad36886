/* clone.c — a copy of a whole program, for passes to change.
 *
 * Ids, names, indices and orders are those of the original, so that what is said about the copy (a plan,
 * emitted code, a message) can be said in the user's terms.  Everything is found by position: graphs,
 * streams, buffers and groupings have an index, tensors have one too, ops are numbered through `mark`. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

typedef struct Copy {
	Arena *mem;
	const Ir *from;
	Ir *to;
	Tensor **tensor;             /* by index */
	Map ops;                     /* Op → copy */
	Map host;                    /* HostArray → copy: shared ones stay shared */
} Copy;

#define copy_vec(c, v, f) \
	do { \
		int copied_n = (v)->n; \
		void *copied_from = (v)->at; \
		(v)->at = arena_dup((c)->mem, copied_from, (size_t)copied_n * sizeof *(v)->at); \
		(v)->cap = copied_n; \
		for (int copied_i = 0; copied_i < copied_n; copied_i++) (v)->at[copied_i] = f((c), (v)->at[copied_i]); \
	} while (0)

static Tensor *tensor_of(const Copy *c, Tensor *t) { return t ? c->tensor[t->index] : NULL; }
static Graph *graph_of(const Copy *c, const Graph *g) { return g ? c->to->graphs.at[g->index] : NULL; }
static Op *op_of(const Copy *c, const Op *op) { return op ? map_get(&c->ops, op) : NULL; }
static Use use_of(const Copy *c, Use u) { return (Use){ op_of(c, u.op), u.index }; }
static char same_char(const Copy *c, char x) { return (void)c, x; }

static HostArray *host_of(Copy *c, HostArray *h)
{
	if (!h) return NULL;
	HostArray *copy = map_get(&c->host, h);
	if (!copy) map_set(c->mem, &c->host, h, copy = arena_dup(c->mem, h, sizeof *h));
	return copy;
}

/* --- first round: things exist ------------------------------------------------------------------------------ */

static void make_tensors(Copy *c, const Graph *g, Map *tensor_map)
{
	for (int i = 0; i < g->tensors.n; i++) {
		Tensor *t = g->tensors.at[i], *copy = arena_dup(c->mem, t, sizeof *t);
		copy->seen = copy->written = copy->written_at = 0;
		copy->lies = NULL;
		copy->lies_at = 0;
		copy->data = host_of(c, t->data);
		if (t->remote) copy->remote = c->to->buffers.at[t->remote->id];
		c->tensor[t->index] = copy;
		if (tensor_map) map_set(c->mem, tensor_map, t, copy);
	}
}

static void make_graph(Copy *c, const Graph *g, Map *tensor_map)
{
	Graph *copy = arena_dup(c->mem, g, sizeof *g);
	copy->ir = c->to;
	copy->seen = 0;
	copy->hooks.at = NULL;
	copy->hooks.n = copy->hooks.cap = 0;
	vec_push(c->mem, &c->to->graphs, copy);
	make_tensors(c, g, tensor_map);
	for (int i = 0; i < g->ops.n; i++) map_set(c->mem, &c->ops, g->ops.at[i], arena_dup(c->mem, g->ops.at[i], sizeof(Op)));
}

static void make_globals(Copy *c)
{
	Ir *to = c->to;
	for (int i = 0; i < to->streams.n; i++) (to->streams.at[i] = arena_dup(c->mem, to->streams.at[i], sizeof(Stream)))->ir = to;
	for (int i = 0; i < to->buffers.n; i++) (to->buffers.at[i] = arena_dup(c->mem, to->buffers.at[i], sizeof(RemoteBuffer)))->ir = to;
}

/* --- second round: they refer to each other ------------------------------------------------------------------ */

static void *attr_target(Copy *c, ParamKind kind, void *p)
{
	if (!p) return NULL;
	switch (kind) {
	case P_STREAM: return c->to->streams.at[((Stream *)p)->index];
	case P_BUFFER: return c->to->buffers.at[((RemoteBuffer *)p)->id];
	case P_GRAPH: return graph_of(c, p);
	case P_ARRAY: return host_of(c, p);
	default: return p;
	}
}

static void link_attrs(Copy *c, Op *op)
{
	const Param *p = op_table[op->code]->params;
	int n = 0;
	while (p[n].kind != P_END) n++;
	op->attr = arena_dup(c->mem, op->attr, (size_t)n * sizeof *op->attr);
	for (int i = 0; i < n; i++) op->attr[i].p = attr_target(c, p[i].kind, op->attr[i].p);
}

static Op *link_op(Copy *c, Op *from)
{
	Op *op = op_of(c, from);
	op->graph = graph_of(c, from->graph);
	copy_vec(c, &op->in, tensor_of);
	copy_vec(c, &op->out, tensor_of);
	copy_vec(c, &op->modified, same_char);
	copy_vec(c, &op->after, op_of);
	for (int k = 0; k < 2; k++) op->callee[k] = graph_of(c, from->callee[k]);
	link_attrs(c, op);
	return op;
}

static void link_tensor(Copy *c, Tensor *t)
{
	t->graph = graph_of(c, t->graph);
	t->def = op_of(c, t->def);
	copy_vec(c, &t->uses, use_of);
}

static Map copy_map(Copy *c, const Map *from, int tensors)
{
	Map m = { 0 };
	for (int i = 0; i < from->n; i++) {
		const void *key = from->at[i].key;
		if (key) map_set(c->mem, &m, tensors ? tensor_of(c, (Tensor *)key) : key, from->at[i].val);
	}
	return m;
}

static void link_graph(Copy *c, Graph *g)
{
	copy_vec(c, &g->inputs, tensor_of);
	copy_vec(c, &g->outputs, tensor_of);
	copy_vec(c, &g->tensors, tensor_of);
	for (int i = 0; i < g->tensors.n; i++) link_tensor(c, g->tensors.at[i]);
	copy_vec(c, &g->ops, link_op);
	copy_vec(c, &g->calls, op_of);
	for (int e = 0; e < EXEC_COUNT; e++) copy_vec(c, &g->seq[e], op_of);
	g->names = copy_map(c, &g->names, 0);
	g->args = copy_map(c, &g->args, 1);
}

static void *keep(Copy *c, void *p) { return (void)c, p; }

Ir *ir_clone(const Ir *ir, Arena *mem, Map *tensor_map)
{
	Copy c = { .mem = mem, .from = ir, .to = arena_dup(mem, ir, sizeof *ir), .tensor = NEWN(mem, Tensor *, ir->ntensor + 1) };
	Ir *to = c.to;
	to->mem = mem;
	to->frozen = 0;
	to->ids = (Map){ 0 };
	to->graphs.at = NULL;
	to->graphs.n = to->graphs.cap = 0;
	copy_vec(&c, &to->streams, keep);
	copy_vec(&c, &to->buffers, keep);
	copy_vec(&c, &to->groupings, keep);
	make_globals(&c);
	for (int i = 0; i < ir->graphs.n; i++) make_graph(&c, ir->graphs.at[i], tensor_map);
	for (int i = 0; i < to->graphs.n; i++) link_graph(&c, to->graphs.at[i]);
	for (int i = 0; i < to->graphs.n; i++) map_set(mem, &to->ids, to->graphs.at[i]->id, to->graphs.at[i]);
	to->main = to->graphs.at[0];
	copy_vec(&c, &to->sequenced, graph_of);
	return to;
}
