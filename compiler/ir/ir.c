/* ir.c — the program as data: making graphs, tensors and streams, and what can be asked of them.
 *
 * Names (R44–R53): a graph's id carries a number of one counter, a tensor keeps the name it asks for
 * unless its graph has it already, then `__t<n>` of one counter over all clashes is appended.  All
 * names are interned, so they compare by pointer. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

#include <string.h>

/* --- making ---------------------------------------------------------------------------------------------- */

static Graph *new_graph(Ir *ir, const char *id, const char *name)
{
	Graph *g = NEW(ir->mem, Graph);
	g->ir = ir;
	g->index = ir->graphs.n;
	g->id = intern_str(ir->names, id);
	g->name = intern_str(ir->names, name);
	vec_push(ir->mem, &ir->graphs, g);
	map_set(ir->mem, &ir->ids, g->id, g);
	return g;
}

Ir *ir_new(Arena *mem, Intern *names, Diags *ds, int replicas)
{
	Ir *ir = NEW(mem, Ir);
	ir->mem = mem;
	ir->names = names;
	ir->ds = ds;
	ir->next_op = 100;
	ir->replicas = ir->local_replicas = replicas < 1 ? 1 : replicas;
	ir->transfers = 1;
	ir->main = new_graph(ir, "", "");
	Grouping *all = NEW(mem, Grouping);
	*all = (Grouping){ .stride = 1, .size = ir->replicas, .count = 1, .is_const = 1 };
	vec_push(mem, &ir->groupings, all);
	return ir;
}

void ir_set_replicas(Ir *ir, int replicas)
{
	ir->replicas = ir->local_replicas = ir->groupings.at[0]->size = replicas;
}

static int id_taken(Ir *ir, const char *id) { return map_has(&ir->ids, intern_str(ir->names, id)); }

Graph *ir_graph(Ir *ir, const char *name)
{
	const char *id;
	do id = arena_printf(ir->mem, "%s_subgraph(%d)", name, ir->next_graph++);
	while (id_taken(ir, id));
	return new_graph(ir, id, name);
}

Graph *ir_graph_with_id(Ir *ir, const char *id)
{
	const char *want = id;
	for (int n = 0; id_taken(ir, want); n++) want = arena_printf(ir->mem, "%s_%d", id, n);
	return new_graph(ir, want, id);
}

Build ir_build(Graph *g)
{
	return (Build){ .ir = g->ir, .g = g, .at = g->at, .chain = g->chain, .scope = "", .tiles = TILES_COMPUTE };
}

/* --- names ------------------------------------------------------------------------------------------------ */

static const char *take(Graph *g, const char *name)
{
	map_set(g->ir->mem, &g->names, name, (void *)name);
	return name;
}

const char *name_suffixed(Graph *g, const char *want)
{
	Ir *ir = g->ir;
	const char *name;
	do name = intern_str(ir->names, arena_printf(ir->mem, "%s__t%d", want, ir->next_clash++));
	while (map_has(&g->names, name));
	return take(g, name);
}

const char *ir_name(Graph *g, const char *want)
{
	const char *name = intern_str(g->ir->names, want);
	return map_has(&g->names, name) ? name_suffixed(g, want) : take(g, name);
}

const char *ir_scoped(const Build *b, const char *name)
{
	return b->scope && b->scope[0] ? arena_printf(b->ir->mem, "%s/%s", b->scope, name) : name;
}

/* --- tensors ---------------------------------------------------------------------------------------------- */

Tensor *new_tensor(const Build *b, TensorKind kind, Spec spec, const char *unique)
{
	Tensor *t = NEW(b->ir->mem, Tensor);
	t->index = b->ir->ntensor++;
	t->kind = kind;
	t->graph = b->g;
	t->name = unique;
	t->spec = spec;
	t->input_index = -1;
	t->at = b->at;
	t->chain = b->chain;
	vec_push(b->ir->mem, &b->g->tensors, t);
	b->ir->stamp++;
	return t;
}

/* R7.  Reported once per thing added; what was asked for is made all the same, so that building goes on. */
int ir_writable(const Build *b, const char *what)
{
	if (!b->ir->frozen) return 1;
	Diag *d = diag(b->ir->ds, E0402, b->at, "%s added to a program that a session owns", what);
	diag_chain(b->ir->ds, d, b->chain);
	return 0;
}

Tensor *ir_input(Build *b, Spec spec, const char *name, int by_ref)
{
	ir_writable(b, "an input");
	if (b->g->calls.n) {
		Diag *d = diag(b->ir->ds, E0403, b->at, "input added to %s after it was called", graph_title(b->g));
		diag_note(b->ir->ds, d, b->g->calls.at[0]->at, "called here without it");
		diag_chain(b->ir->ds, d, b->chain);
	}
	Tensor *t = new_tensor(b, T_TENSOR, spec, ir_name(b->g, ir_scoped(b, name ? name : "t")));
	t->input_index = b->g->inputs.n;
	t->by_ref = by_ref;
	vec_push(b->ir->mem, &b->g->inputs, t);
	return t;
}

static Tensor *host_tensor(Build *b, TensorKind kind, HostArray *data, const char *name)
{
	Spec spec = { .dtype = data->dtype, .shape = data->shape };
	Tensor *t = new_tensor(b, kind, spec, ir_name(b->g, ir_scoped(b, name ? name : "t")));
	t->data = data;
	return t;
}

Tensor *ir_constant(Build *b, HostArray *data, const char *name)
{
	ir_writable(b, "a constant");
	return host_tensor(b, T_CONSTANT, data, name);
}

Tensor *ir_variable(Build *b, HostArray *data, const char *name)
{
	if (!ir_writable(b, "a variable")) return NULL;
	if (b->g == b->ir->main) return host_tensor(b, T_VARIABLE, data, name);
	Diag *d = diag(b->ir->ds, E0401, b->at, "variable made in %s", graph_title(b->g));
	diag_help(b->ir->ds, d, (Span){ 0 }, "make it in the program's main graph and pass it in: `graph_input(spec, \"name\", by_ref = true)`");
	diag_chain(b->ir->ds, d, b->chain);
	return NULL;
}

void ir_output(Build *b, Tensor *t)
{
	Graph *g = b->g;
	if (t->graph != g) {
		Diag *d = diag(b->ir->ds, E0420, b->at, "`%s` cannot be an output of another graph", t->name);
		diag_label(b->ir->ds, d, "building %s, the tensor is of %s", graph_title(g), graph_title(t->graph));
		diag_note(b->ir->ds, d, t->at, "`%s` is made here", t->name);
		diag_chain(b->ir->ds, d, b->chain);
		return;
	}
	if (!ir_writable(b, "an output")) return;
	for (int i = 0; i < g->calls.n; i++) {
		if (!g->calls.at[i]->callee[1] && !g->calls.at[i]->loop) continue;
		Diag *d = diag(b->ir->ds, E0403, b->at, "output added to %s after it was used by a `%s`", graph_title(g), op_table[g->calls.at[i]->code]->name);
		diag_note(b->ir->ds, d, g->calls.at[i]->at, "used here");
		return;
	}
	insert_output(g, g->written_outputs++, t, NULL);
}

/* R33: a stream is a tensor of the main graph to the users of its name, wherever it is made */
Stream *ir_stream(Build *b, int is_input, Spec spec, const char *name)
{
	Ir *ir = b->ir;
	ir_writable(b, "a stream");
	Stream *s = NEW(ir->mem, Stream);
	s->index = ir->streams.n;
	s->name = ir_name(ir->main, name ? name : is_input ? "h2d_stream" : "d2h_stream");
	s->asked = name ? intern_str(ir->names, name) : NULL;
	s->is_input = is_input;
	s->spec = spec;
	s->ir = ir;
	s->at = b->at;
	vec_push(ir->mem, &ir->streams, s);
	return s;
}

/* --- questions -------------------------------------------------------------------------------------------- */

const char *tensor_id(Arena *a, const Tensor *t)
{
	return t->graph->id[0] ? arena_printf(a, "%s/%s", t->graph->id, t->name) : t->name;
}

const char *tensor_repr(Arena *a, const Tensor *t)
{
	static const char *const kind[] = { "Tensor", "Variable", "Constant" };
	return arena_printf(a, "%s[%s popxl.dtypes.%s %s]", kind[t->kind], tensor_id(a, t), dtype_info[t->spec.dtype].popxl, shape_tuple(a, t->spec.shape));
}

const char *graph_repr(Arena *a, const Graph *g)
{
	return arena_printf(a, "Graph[id=%s name=%s]", g->id, g->id);
}

const char *graph_title(const Graph *g) { return g == g->ir->main ? "the main graph" : g->id; }

Tensor *graph_find(const Graph *g, const char *id)
{
	size_t n = strlen(g->id);
	if (n && (strncmp(id, g->id, n) || id[n] != '/')) return NULL;
	const char *name = id + (n ? n + 1 : 0);
	for (int i = 0; i < g->tensors.n; i++)
		if (!strcmp(g->tensors.at[i]->name, name)) return g->tensors.at[i];
	return NULL;
}

/* Upwards from the callee: a graph being built, which most questions are about, has few callers. */
static int called_from(const Graph *callee, const Graph *g, int epoch)
{
	for (int i = 0; i < callee->calls.n; i++) {
		Graph *caller = callee->calls.at[i]->graph;
		if (caller == g) return 1;
		if (caller->seen == epoch) continue;
		caller->seen = epoch;
		if (called_from(caller, g, epoch)) return 1;
	}
	return 0;
}

int graph_calls(const Graph *g, const Graph *callee)
{
	return called_from(callee, g, ++g->ir->epoch);
}

/* --- places (R116, R117) ---------------------------------------------------------------------------------- */

typedef struct Place { int ipu; TileSet tiles; } Place;      /* both unknown together */

static Place place_of(Tensor *t, int depth, int epoch);
enum { FAR_ENOUGH = 1000 };              /* steps through calls after which a place counts as unknown */
static const Place nowhere = { IPU_UNKNOWN, TILES_UNDEFINED };

static Place op_place(const Op *op)
{
	return (Place){ op->ipu, op->tiles == TILES_IO ? TILES_IO : TILES_COMPUTE };
}

static Place result_place(const Tensor *t, int depth, int epoch)
{
	const Op *op = t->def;
	Place p = nowhere;
	if (op->callee[0] && t->def_index < op->callee[0]->outputs.n)
		p = place_of(op->callee[0]->outputs.at[t->def_index], depth + 1, epoch);
	if (p.ipu == IPU_UNKNOWN) p = op_place(op);
	const OpDef *d = op_table[op->code];
	if (d->ipu) p.ipu = d->ipu(op, t->def_index);
	return p;
}

static Place use_place(const Use *u, int depth, int epoch)
{
	if (!strcmp(op_table[u->op->code]->name, "io_tile_copy"))    /* which says where it goes: the operand is not there */
		return (Place){ u->op->ipu, u->op->tiles == TILES_IO ? TILES_COMPUTE : TILES_IO };
	if (!u->op->callee[0]) return op_place(u->op);
	Tensor *in = callee_input(u->op, u->index);
	return in ? place_of(in, depth + 1, epoch) : op_place(u->op);
}

static Place place_of(Tensor *t, int depth, int epoch)
{
	Place p = nowhere;
	if (t->seen == epoch || depth > FAR_ENOUGH) return p;
	t->seen = epoch;
	if (t->def) return result_place(t, depth, epoch);
	for (int i = 0; i < t->uses.n && p.ipu == IPU_UNKNOWN; i++) p = use_place(&t->uses.at[i], depth, epoch);
	if (t->input_index < 0) return p;
	for (int i = 0; i < t->graph->calls.n && p.ipu == IPU_UNKNOWN; i++) {
		Tensor *parent = parent_of_input(t->graph->calls.at[i], t);
		if (parent) p = place_of(parent, depth + 1, epoch);
	}
	return p;
}

/* Where nothing was ever placed, what has a producer or a consumer is on the compute tiles of IPU 0. */
int tensor_ipu(const Tensor *t) { return place_of((Tensor *)t, 0, ++t->graph->ir->epoch).ipu; }
TileSet tensor_tiles(const Tensor *t) { return place_of((Tensor *)t, 0, ++t->graph->ir->epoch).tiles; }
