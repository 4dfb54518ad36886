/* parse.c — the textual IR back into a program (print.c says how it reads).
 *
 * The text may name a tensor, an op or a graph before it is described, so operands, constraints and
 * callees are noted while reading and filled in at the end.  Then the program is checked as a stranger's:
 * first by the verifier, then by every op's shape rule, whose results must be what the text says; only
 * after that may a pass look at it. */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ir/scan.h"
#include "compiler/ir/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 1 << 24, MOST_OPS = 1 << 30 };

typedef struct Ref { int index; Span at; } Ref;              /* -1: absent */
typedef struct Refs { VEC(Ref) e; } Refs;
typedef struct OpNotes { Op *op; Refs in, after; const char *callee[2]; Span callee_at[2]; } OpNotes;
typedef struct GraphNotes { Graph *g; Refs inputs, outputs, added, args; VEC(const char *) arg_names; int listed; } GraphNotes;

typedef struct Parse {
	Scan s;
	Ir *ir;
	Map tensors, ops, codes;     /* index + 1 → Tensor; id + 1 → Op; interned name → OpDef */
	VEC(OpNotes) op_notes;
	VEC(GraphNotes) graph_notes;
	int next_op, next_graph, next_clash, ntensor;            /* as the header says; 0: not said */
} Parse;

static void *key_of(int n) { return (void *)(intptr_t)(n + 1); }

/* --- tensors ------------------------------------------------------------------------------------------------- */

static int scan_index(Parse *p)
{
	scan_expect(&p->s, '%');
	return (int)scan_int(&p->s, 0, MOST_TENSORS);
}

static void scan_refs(Parse *p, Refs *list)
{
	do {
		int i = scan_index(p);
		vec_push(p->s.mem, &list->e, ((Ref){ i, scan_span(&p->s, p->s.last) }));
	} while (!p->s.failed && scan_accept(&p->s, ','));
}

static const char *scan_name(Parse *p, Graph *g, int index)
{
	uint32_t lo = (scan_peek(&p->s), p->s.at);
	const char *name = scan_peek(&p->s) == '"' ? scan_string(&p->s) : intern_str(p->s.names, arena_printf(p->s.mem, "t%d", index));
	if (map_has(&g->names, name)) scan_error(&p->s, E0409, scan_span(&p->s, lo), "`%s` is taken in this graph", name);
	map_set(p->s.mem, &g->names, name, (void *)name);
	return name;
}

/* "%3 "name"": a new tensor without kind and spec */
static Tensor *scan_new_tensor(Parse *p, Graph *g)
{
	int index = scan_index(p);
	uint32_t lo = p->s.last;
	if (!p->s.failed && map_has(&p->tensors, key_of(index))) scan_error(&p->s, E0409, scan_span(&p->s, lo), "%%%d is described twice", index);
	Tensor *t = NEW(p->s.mem, Tensor);
	t->index = index;
	t->graph = g;
	t->name = scan_name(p, g, index);
	t->input_index = -1;
	t->at = scan_span(&p->s, lo);
	map_set(p->s.mem, &p->tensors, key_of(index), t);
	vec_push(p->s.mem, &g->tensors, t);
	if (index >= p->ir->ntensor) p->ir->ntensor = index + 1;
	return t;
}

/* "buffer 0 entry 2" of a remote variable */
static void scan_entry(Parse *p, Tensor *t)
{
	static const char *const entry[] = { "entry" };
	Scan *s = &p->s;
	int i = (int)scan_int(s, 0, p->ir->buffers.n - 1);
	scan_one_of(s, entry, 1, "`entry`");
	if (s->failed) return;
	t->remote = p->ir->buffers.at[i];
	t->entry = scan_int(s, 0, t->remote->entries - 1);
}

static void scan_origin(Parse *p, GraphNotes *n, Tensor *t, TensorKind kind)
{
	Scan *s = &p->s;
	t->kind = kind;
	t->spec = scan_spec(s);
	if (kind == T_TENSOR) {
		t->by_ref = scan_accept_word(s, "by_ref");
		t->input_index = n->g->inputs.n;
		vec_push(s->mem, &n->g->inputs, t);
		return;
	}
	if (scan_accept_word(s, "grouping")) t->grouping = (int)scan_int(s, 0, p->ir->groupings.n - 1);
	if (scan_accept_word(s, "all_replicas")) t->retrieval = ALL_REPLICAS;
	t->state = scan_accept_word(s, "state");
	if (scan_accept_word(s, "buffer")) scan_entry(p, t);
	scan_expect(s, '=');
	t->data = scan_host(s, (Spec){ .dtype = t->spec.dtype, .shape = variable_host_shape(t) });
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

static void scan_ints(Parse *p, AttrVal *a)
{
	VEC(int64_t) list = { 0 };
	scan_expect(&p->s, '[');
	if (!scan_accept(&p->s, ']')) {
		do vec_push(p->s.mem, &list, scan_int(&p->s, INT64_MIN, INT64_MAX));
		while (!p->s.failed && scan_accept(&p->s, ','));
		scan_expect(&p->s, ']');
	}
	a->ints.at = list.at;
	a->ints.n = list.n;
}

static void scan_floats(Parse *p, AttrVal *a)
{
	VEC(double) list = { 0 };
	scan_expect(&p->s, '[');
	if (!scan_accept(&p->s, ']')) {
		do vec_push(p->s.mem, &list, scan_float(&p->s));
		while (!p->s.failed && scan_accept(&p->s, ','));
		scan_expect(&p->s, ']');
	}
	a->floats.at = list.at;
	a->floats.n = list.n;
}

static HostArray *scan_array(Parse *p)
{
	Spec spec = scan_spec(&p->s);
	scan_expect(&p->s, '=');
	return scan_host(&p->s, spec);
}

static void scan_attr_value(Parse *p, ParamKind kind, AttrVal *a)
{
	static const char *const truth[] = { "false", "true" }, *const stream[] = { "stream" }, *const buffer[] = { "buffer" }, *const graph[] = { "graph" };
	Scan *s = &p->s;
	int i;
	a->set = 1;
	switch (kind) {
	case P_INT: case P_COUNT: a->i = scan_int(s, INT64_MIN, INT64_MAX); break;
	case P_GROUP: a->i = scan_int(s, 0, p->ir->groupings.n - 1); break;
	case P_BOOL: a->i = scan_one_of(s, truth, 2, "`true` or `false`"); break;
	case P_DTYPE: a->i = scan_dtype(s); break;
	case P_FLOAT: case P_SCALAR: a->f = scan_float(s); break;
	case P_STR: a->s = scan_string(s); break;
	case P_INTS: case P_SHAPE: scan_ints(p, a); break;
	case P_FLOATS: scan_floats(p, a); break;
	case P_ARRAY: a->p = scan_array(p); break;
	case P_STREAM:
		scan_one_of(s, stream, 1, "`stream` and its number");
		i = (int)scan_int(s, 0, p->ir->streams.n - 1);
		if (!s->failed) a->p = p->ir->streams.at[i];
		break;
	case P_BUFFER:
		scan_one_of(s, buffer, 1, "`buffer` and its number");
		i = (int)scan_int(s, 0, p->ir->buffers.n - 1);
		if (!s->failed) a->p = p->ir->buffers.at[i];
		break;
	case P_GRAPH:
		scan_one_of(s, graph, 1, "`graph` and its id");
		a->s = scan_string(s);                       /* the graph may follow: link_loaded finds it */
		break;
	default:
		scan_error(s, E0408, scan_span(s, s->at), "fused groups are made by the compiler and cannot be read back: read the IR as it is before `fuse`");
	}
}

static int find_attr(const Op *op, const char *name)
{
	const Param *params = op_table[op->code]->params;
	for (int i = 0; params[i].kind != P_END; i++)
		if (!strcmp(params[i].name, name)) return text_attr_kind(op, params[i].kind) ? i : -1;
	return -1;
}

static void scan_attrs(Parse *p, Op *op)
{
	const Param *params = op_table[op->code]->params;
	int n = 0;
	while (params[n].kind != P_END) n++;
	op->attr = NEWN(p->s.mem, AttrVal, n + 1);
	for (int i = 0; i < n; i++) op->attr[i] = params[i].init;
	if (!scan_accept(&p->s, '{')) return;
	do {
		const char *name = scan_word(&p->s, "an attribute");
		int i = name ? find_attr(op, name) : -1;
		if (name && i < 0) scan_error(&p->s, E0408, scan_span(&p->s, p->s.last), "`%s` has no attribute `%s`", op_table[op->code]->name, name);
		scan_expect(&p->s, '=');
		if (p->s.failed) return;
		op->attr[i] = (AttrVal){ 0 };
		if (!scan_accept_word(&p->s, "none")) scan_attr_value(p, params[i].kind, &op->attr[i]);
	} while (!p->s.failed && scan_accept(&p->s, ','));
	scan_expect(&p->s, '}');
}

/* --- ops ------------------------------------------------------------------------------------------------------------ */

static void unknown_op(Parse *p, const char *name)
{
	const char *names[OP_COUNT];
	for (int i = 0; i < OP_COUNT; i++) names[i] = op_table[i]->name;
	const char *near = nearest(name, names, OP_COUNT);
	Diag *d = scan_error(&p->s, E0408, scan_span(&p->s, p->s.last), "`%s` is no op", name);
	if (d && near) diag_help(p->s.ds, d, (Span){ 0 }, "did you mean `%s`?", near);
}

static void scan_code(Parse *p, Op *op)
{
	const char *name = scan_word(&p->s, "an op");
	size_t n = name ? strlen(name) : 0;
	if (!name) return;
	const OpDef *d = map_get(&p->codes, name);
	if (!d && n > 1 && name[n - 1] == '_') {
		d = map_get(&p->codes, intern(p->s.names, name, n - 1));
		op->inplace = 1;
	}
	if (!d) unknown_op(p, name);
	else if (op->inplace && d->inplace == NO_INPLACE && !d->view && !(d->traits & ONLY_INPLACE))
		scan_error(&p->s, E0408, scan_span(&p->s, p->s.last), "`%s` has no in-place variant", d->name);
	else if (!op->inplace && (d->traits & ONLY_INPLACE)) scan_error(&p->s, E0408, scan_span(&p->s, p->s.last), "`%s` is written `%s_`", d->name, d->name);
	else op->code = (int)d->id;
}

static void scan_id(Parse *p, Op *op)
{
	Ir *ir = p->ir;
	op->id = scan_accept(&p->s, '.') ? (int)scan_int(&p->s, 0, MOST_OPS) : ir->next_op;
	if (!p->s.failed && map_has(&p->ops, key_of(op->id))) scan_error(&p->s, E0409, scan_span(&p->s, p->s.last), "op %d is described twice", op->id);
	map_set(p->s.mem, &p->ops, key_of(op->id), op);
	if (op->id >= ir->next_op) ir->next_op = op->id + 1;
}

static void scan_operands(Parse *p, Refs *in)
{
	scan_expect(&p->s, '(');
	if (scan_accept(&p->s, ')')) return;
	do {
		if (scan_accept_word(&p->s, "_")) vec_push(p->s.mem, &in->e, ((Ref){ -1, { 0 } }));
		else {
			int i = scan_index(p);
			vec_push(p->s.mem, &in->e, ((Ref){ i, scan_span(&p->s, p->s.last) }));
		}
	} while (!p->s.failed && scan_accept(&p->s, ','));
	scan_expect(&p->s, ')');
}

static void scan_callees(Parse *p, OpNotes *n)
{
	for (int k = 0; k < 2; k++) {
		n->callee[k] = scan_string(&p->s);
		n->callee_at[k] = scan_span(&p->s, p->s.last);
		if (k == 0 && !scan_accept(&p->s, ',')) return;
	}
}

static void scan_modified(Parse *p, Op *op)
{
	scan_expect(&p->s, '[');
	do vec_push(p->s.mem, &op->modified, (char)scan_int(&p->s, BY_VALUE, BY_REF_WHOLE));
	while (!p->s.failed && scan_accept(&p->s, ','));
	scan_expect(&p->s, ']');
}

static void scan_after(Parse *p, Refs *after)
{
	do {
		int id = (int)scan_int(&p->s, 0, MOST_OPS);
		vec_push(p->s.mem, &after->e, ((Ref){ id, scan_span(&p->s, p->s.last) }));
	} while (!p->s.failed && scan_accept(&p->s, ','));
}

static void scan_clauses(Parse *p, OpNotes *n)
{
	Scan *s = &p->s;
	Op *op = n->op;
	while (!s->failed) {
		if (scan_accept_word(s, "calls")) scan_callees(p, n);
		else if (scan_accept_word(s, "loop")) op->loop = scan_string(s);
		else if (scan_accept_word(s, "modified")) scan_modified(p, op);
		else if (scan_accept_word(s, "ipu")) op->ipu = (int)scan_int(s, 0, INT_MAX);
		else if (scan_accept_word(s, "tiles")) op->tiles = (TileSet)scan_one_of(s, text_tiles, 3, "a tile set");
		else if (scan_accept_word(s, "exec")) op->exec = (ExecContext)scan_one_of(s, text_exec, EXEC_COUNT, "a kind of execution");
		else if (scan_accept_word(s, "scope")) op->scope = scan_string(s);
		else if (scan_accept_word(s, "after")) scan_after(p, &n->after);
		else return;
	}
}

static void add_result_tensor(Parse *p, Op *op, Tensor *t)
{
	t->spec = scan_spec(&p->s);
	t->def = op;
	t->def_index = op->out.n;
	vec_push(p->s.mem, &op->out, t);
}

static void scan_op(Parse *p, Graph *g, Op *op, uint32_t lo)
{
	OpNotes n = { .op = op };
	op->graph = g;
	op->scope = intern_str(p->s.names, "");
	op->tiles = TILES_COMPUTE;
	scan_code(p, op);
	op->at = scan_span(&p->s, lo);
	scan_id(p, op);
	scan_operands(p, &n.in);
	scan_attrs(p, op);
	scan_clauses(p, &n);
	for (int i = 0; i < op->out.n; i++) op->out.at[i]->at = op->at;
	if (op->ipu || op->tiles == TILES_IO) p->ir->placed = 1;
	vec_push(p->s.mem, &p->op_notes, n);
	vec_push(p->s.mem, &g->ops, op);
}

/* "%1 "a" spec, %2 "b" spec = op(…)" after the first tensor's name */
static void scan_results(Parse *p, Graph *g, Tensor *first, uint32_t lo)
{
	Op *op = NEW(p->s.mem, Op);
	add_result_tensor(p, op, first);
	while (!p->s.failed && scan_accept(&p->s, ',')) {
		Tensor *t = scan_new_tensor(p, g);
		add_result_tensor(p, op, t);
	}
	scan_expect(&p->s, '=');
	if (!p->s.failed) scan_op(p, g, op, lo);
}

/* --- graphs ----------------------------------------------------------------------------------------------------------- */

static void scan_arg(Parse *p, GraphNotes *n)
{
	int i = scan_index(p);
	vec_push(p->s.mem, &n->args.e, ((Ref){ i, scan_span(&p->s, p->s.last) }));
	vec_push(p->s.mem, &n->arg_names, scan_string(&p->s));
}

static void scan_statement(Parse *p, GraphNotes *n)
{
	Scan *s = &p->s;
	if (scan_peek(s) == '%') {
		uint32_t lo = s->at;
		Tensor *t = scan_new_tensor(p, n->g);
		if (scan_accept_word(s, "input")) scan_origin(p, n, t, T_TENSOR);
		else if (scan_accept_word(s, "variable")) scan_origin(p, n, t, T_VARIABLE);
		else if (scan_accept_word(s, "constant")) scan_origin(p, n, t, T_CONSTANT);
		else scan_results(p, n->g, t, lo);
	} else if (scan_accept_word(s, "inputs")) {
		n->listed = 1;
		scan_refs(p, &n->inputs);
	} else if (scan_accept_word(s, "outputs")) scan_refs(p, &n->outputs);
	else if (scan_accept_word(s, "added")) scan_refs(p, &n->added);
	else if (scan_accept_word(s, "arg")) scan_arg(p, n);
	else {
		uint32_t lo = s->at;
		scan_op(p, n->g, NEW(s->mem, Op), lo);
	}
}

static Graph *scan_graph_head(Parse *p, uint32_t lo)
{
	Ir *ir = p->ir;
	Scan *s = &p->s;
	const char *id = scan_accept_word(s, "main") ? "" : scan_string(s);
	id = intern_str(s->names, id);
	int first = !p->graph_notes.n;
	if (!s->failed && first != !id[0]) scan_error(s, E0409, scan_span(s, lo), "the main graph stands first, and its id is empty");
	if (!s->failed && !first && map_has(&ir->ids, id)) scan_error(s, E0409, scan_span(s, lo), "graph `%s` is described twice", id);
	if (s->failed) return ir->main;
	Graph *g = first ? ir->main : ir_graph_with_id(ir, id);
	const char *end = strstr(id, "_subgraph(");
	g->name = intern(s->names, id, end ? (size_t)(end - id) : strlen(id));
	if (scan_accept_word(s, "name")) g->name = scan_string(s);
	g->not_differentiable = scan_accept_word(s, "not_differentiable");
	g->at = scan_span(s, lo);
	return g;
}

static void scan_graph(Parse *p)
{
	uint32_t lo = p->s.last;
	GraphNotes n = { .g = scan_graph_head(p, lo) };
	scan_expect(&p->s, '{');
	while (!p->s.failed && !scan_accept(&p->s, '}')) scan_statement(p, &n);
	vec_push(p->s.mem, &p->graph_notes, n);
}

/* --- what graphs share -------------------------------------------------------------------------------------------------- */

static void scan_stream(Parse *p)
{
	static const char *const way[] = { "in", "out" };
	Ir *ir = p->ir;
	Stream *t = NEW(p->s.mem, Stream);
	t->index = (int)scan_int(&p->s, ir->streams.n, ir->streams.n);
	t->is_input = !scan_one_of(&p->s, way, 2, "`in` or `out`");
	t->name = scan_name(p, ir->main, t->index);
	t->spec = scan_spec(&p->s);
	t->ir = ir;
	t->at = scan_span(&p->s, p->s.last);
	vec_push(p->s.mem, &ir->streams, t);
}

static void scan_buffer(Parse *p)
{
	static const char *const entries[] = { "entries" };
	Ir *ir = p->ir;
	RemoteBuffer *b = NEW(p->s.mem, RemoteBuffer);
	b->id = (int)scan_int(&p->s, ir->buffers.n, ir->buffers.n);
	scan_one_of(&p->s, entries, 1, "`entries`");
	b->entries = scan_int(&p->s, 1, INT64_MAX);
	b->spec = scan_spec(&p->s);
	b->ir = ir;
	vec_push(p->s.mem, &ir->buffers, b);
}

static void scan_grouping(Parse *p)
{
	Scan *s = &p->s;
	Ir *ir = p->ir;
	Grouping *g = NEW(s->mem, Grouping);
	int i = (int)scan_int(s, 0, ir->groupings.n);
	g->stride = g->size = g->count = 1;      /* unless the line says otherwise */
	if (scan_accept_word(s, "stride")) g->stride = (int)scan_int(s, 1, INT_MAX);
	if (scan_accept_word(s, "size")) g->size = (int)scan_int(s, 1, INT_MAX);
	if (scan_accept_word(s, "count")) g->count = (int)scan_int(s, 1, INT_MAX);
	g->is_const = scan_accept_word(s, "const");
	if (scan_accept_word(s, "assignment")) {
		scan_expect(s, '[');
		do vec_push(s->mem, &g->assignment, (int)scan_int(s, 0, INT_MAX));
		while (!s->failed && scan_accept(s, ','));
		scan_expect(s, ']');
	}
	if (i < ir->groupings.n) ir->groupings.at[i] = g;
	else vec_push(s->mem, &ir->groupings, g);
}

static void scan_header(Parse *p)
{
	Scan *s = &p->s;
	Ir *ir = p->ir;
	while (!s->failed) {
		if (scan_accept_word(s, "replicas")) ir->replicas = ir->groupings.at[0]->size = (int)scan_int(s, 1, INT_MAX);
		else if (scan_accept_word(s, "local")) ir->local_replicas = (int)scan_int(s, 1, INT_MAX);
		else if (scan_accept_word(s, "transfers")) ir->transfers = (int)scan_int(s, 1, INT_MAX);
		else if (scan_accept_word(s, "seed")) ir->seed = scan_bits(s, 1);
		else if (scan_accept_word(s, "ops")) p->next_op = (int)scan_int(s, 0, MOST_OPS);
		else if (scan_accept_word(s, "graphs")) p->next_graph = (int)scan_int(s, 0, INT_MAX);
		else if (scan_accept_word(s, "clashes")) p->next_clash = (int)scan_int(s, 0, INT_MAX);
		else if (scan_accept_word(s, "tensors")) p->ntensor = (int)scan_int(s, 0, MOST_TENSORS);
		else return;
	}
}

static void scan_program(Parse *p)
{
	static const char *const what[] = { "graph", "stream", "buffer", "grouping" };
	Scan *s = &p->s;
	if (scan_accept_word(s, "ir")) scan_header(p);
	while (!s->failed && scan_peek(s) >= 0) {
		switch (scan_one_of(s, what, 4, "`graph`, `stream`, `buffer` or `grouping`")) {
		case 0: if (!s->failed) scan_graph(p); break;
		case 1: scan_stream(p); break;
		case 2: scan_buffer(p); break;
		default: scan_grouping(p);
		}
	}
	if (!p->graph_notes.n) scan_expected(s, "a graph");
}

/* --- filling in ----------------------------------------------------------------------------------------------------------- */

static Tensor *tensor_at(Parse *p, const Graph *g, Ref r)
{
	if (r.index < 0 || p->s.failed) return NULL;
	Tensor *t = map_get(&p->tensors, key_of(r.index));
	if (!t) scan_error(&p->s, E0409, r.at, "%%%d is described nowhere", r.index);
	else if (t->graph != g) scan_error(&p->s, E0409, r.at, "%%%d belongs to another graph", r.index);
	return p->s.failed ? NULL : t;
}

static void link_callees(Parse *p, OpNotes *n)
{
	const Param *params = op_table[n->op->code]->params;
	Ir *ir = p->ir;
	for (int k = 0; k < 2 && n->callee[k] && !p->s.failed; k++) {
		Graph *g = map_get(&ir->ids, n->callee[k]);
		if (!g) scan_error(&p->s, E0409, n->callee_at[k], "no graph `%s`", n->callee[k]);
		else if (g == ir->main || !(op_table[n->op->code]->traits & CALLS)) scan_error(&p->s, E0409, n->callee_at[k], "`%s` cannot be called here", n->callee[k]);
		if (p->s.failed) return;
		n->op->callee[k] = g;
		if (k == 0 || n->op->callee[0] != g) vec_push(p->s.mem, &g->calls, n->op);
		if (!raise_depth(n->op->graph, g->depth + 1)) scan_error(&p->s, E0409, n->callee_at[k], "graphs call each other in a circle, or more than %d levels deep", MOST_CALL_LEVELS);
	}
	for (int i = 0, k = 0; params[i].kind != P_END && k < 2; i++)
		if (params[i].kind == P_GRAPH) n->op->attr[i] = (AttrVal){ .set = n->op->callee[k] != NULL, .p = n->op->callee[k] }, k++;
}

/* a graph that is named, not called */
static void link_loaded(Parse *p, Op *op)
{
	const Param *params = op_table[op->code]->params;
	for (int i = 0; params[i].kind != P_END && !op_is(op, CALLS); i++) {
		AttrVal *a = &op->attr[i];
		if (params[i].kind != P_GRAPH || p->s.failed) continue;
		a->p = a->s ? map_get(&p->ir->ids, a->s) : NULL;
		if (!a->p) scan_error(&p->s, E0409, op->at, "no graph `%s`", a->s ? a->s : "");
	}
}

static void link_op(Parse *p, OpNotes *n)
{
	Op *op = n->op;
	for (int i = 0; i < n->in.e.n && !p->s.failed; i++) {
		Tensor *t = tensor_at(p, op->graph, n->in.e.at[i]);
		vec_push(p->s.mem, &op->in, t);
		if (t) vec_push(p->s.mem, &t->uses, ((Use){ op, i }));
	}
	for (int i = 0; i < n->after.e.n && !p->s.failed; i++) {
		Op *first = map_get(&p->ops, key_of(n->after.e.at[i].index));
		if (!first || first->graph != op->graph) scan_error(&p->s, E0409, n->after.e.at[i].at, "op %d is not in this graph", n->after.e.at[i].index);
		else vec_push(p->s.mem, &op->after, first);
	}
	if (op_is(op, CALLS) || n->callee[0]) link_callees(p, n);
	else link_loaded(p, op);
}

static int by_index(const void *a, const void *b)
{
	int x = (*(Tensor *const *)a)->index, y = (*(Tensor *const *)b)->index;
	return (x > y) - (x < y);
}

static void list_inputs(Parse *p, GraphNotes *n)
{
	Graph *g = n->g;
	if (n->listed && n->inputs.e.n != g->inputs.n) scan_error(&p->s, E0409, g->at, "`inputs` does not name every input once");
	for (int i = 0; n->listed && i < g->inputs.n && !p->s.failed; i++) {
		Tensor *t = tensor_at(p, g, n->inputs.e.at[i]);
		if (t && t->input_index < 0) scan_error(&p->s, E0409, n->inputs.e.at[i].at, "%%%d is no input", t->index);
		if (p->s.failed) return;
		g->inputs.at[i] = t;
	}
	for (int i = 0; i < g->inputs.n; i++) g->inputs.at[i]->input_index = i;
}

static void link_graph(Parse *p, GraphNotes *n)
{
	Graph *g = n->g;
	list_inputs(p, n);
	for (int i = 0; i < n->outputs.e.n && !p->s.failed; i++) vec_push(p->s.mem, &g->outputs, tensor_at(p, g, n->outputs.e.at[i]));
	g->written_outputs = g->outputs.n;
	for (int i = 0; i < n->added.e.n && !p->s.failed; i++) vec_push(p->s.mem, &g->outputs, tensor_at(p, g, n->added.e.at[i]));
	for (int i = 0; i < n->args.e.n && !p->s.failed; i++) {
		Tensor *t = tensor_at(p, g, n->args.e.at[i]);
		if (t) map_set(p->s.mem, &g->args, t, (void *)n->arg_names.at[i]);
	}
	if (g->tensors.n) qsort(g->tensors.at, (size_t)g->tensors.n, sizeof *g->tensors.at, by_index);
}

static int at_least(int said, int used) { return said > used ? said : used; }

static void link_all(Parse *p)
{
	Ir *ir = p->ir;
	for (int i = 0; i < p->op_notes.n; i++) link_op(p, &p->op_notes.at[i]);
	for (int i = 0; i < p->graph_notes.n; i++) link_graph(p, &p->graph_notes.at[i]);
	ir->next_op = at_least(p->next_op, ir->next_op);
	ir->next_graph = p->next_graph;
	ir->next_clash = p->next_clash;
	ir->ntensor = at_least(p->ntensor, ir->ntensor);
}

/* --- trusting it ------------------------------------------------------------------------------------------------------------- */

/* The shape rule must say what the text says.  (Infer.b's place is the op's: messages point into the text.) */
static void check_op(Parse *p, Op *op)
{
	Build b = ir_build(op->graph);
	b.at = op->at;
	Infer in = { .b = &b, .op = op, .def = op_table[op->code], .made_before = 1 };
	if (!infer_run(&in)) {
		p->s.failed = 1;
		return;
	}
	const Spec *specs = in.many ? in.many : in.out;
	if (in.nout != op->out.n) scan_error(&p->s, E0409, op->at, "`%s` makes %d results, not %d", in.def->name, in.nout, op->out.n);
	for (int i = 0; i < op->out.n && !p->s.failed; i++) {
		Spec a = op->out.at[i]->spec, want = specs[i];
		if (a.dtype == want.dtype && shape_eq(a.shape, want.shape)) continue;
		scan_error(&p->s, E0409, op->at, "result %d of `%s` is %s, not %s", i, in.def->name, spec_str(p->s.mem, want.dtype, want.shape), spec_str(p->s.mem, a.dtype, a.shape));
	}
}

static void check_program(Parse *p)
{
	Buf why = buf_new(p->s.mem);
	if (!p->s.failed && !ir_verify(p->ir, &why)) scan_error(&p->s, E0409, (Span){ p->s.src, 0, p->s.end > 0 }, "%s", why.s);
	for (int i = 0; i < p->op_notes.n && !p->s.failed; i++) check_op(p, p->op_notes.at[i].op);
}

Ir *ir_parse(Arena *mem, Intern *names, Diags *ds, uint32_t src)
{
	const Source *text = source_get(ds->srcs, src);
	if (!text) return NULL;
	Parse p = { .s = { .mem = mem, .names = names, .ds = ds, .text = text->text, .src = src, .end = (uint32_t)text->len } };
	p.ir = ir_new(mem, names, ds, 1);
	for (int i = 0; i < OP_COUNT; i++) map_set(mem, &p.codes, intern_str(names, op_table[i]->name), (void *)op_table[i]);
	scan_program(&p);
	if (!p.s.failed) link_all(&p);
	check_program(&p);
	return p.s.failed ? NULL : p.ir;
}
