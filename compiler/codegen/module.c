/* module.c — a whole C file from the scheduled IR and its memory plan.
 *
 * One function per graph that main reaches, in creation order behind a list of prototypes; main is
 * pxl_main.  A function takes a pointer per input and output and keeps its other tensors in its
 * frame.  It is straight-line code: every op is a call, or a few, whose status is checked.
 * Beside the text stand the tables that the session needs: variables, streams, source places, and
 * the contents of the constant region. */
#include "compiler/codegen/module.h"
#include "compiler/ops/host_op.h"

#include <string.h>

/* --- which graphs, under which names ------------------------------------------------------------------------- */
static int never_calls(const Op *op) { return op->code == OP_repeat && op_attr(op, "repeat_count")->i == 0; }

/* Callees may have been created before or after their callers, so reachability is a worklist. */
static void name_functions(Emit *e)
{
	VEC(Graph *) todo = { 0 };
	vec_push(e->mem, &todo, e->ir->main);
	e->fn_name[e->ir->main->index] = intern_str(e->ir->names, "pxl_main");
	for (int k = 0; k < todo.n; k++) {
		const GraphPlan *gp = &e->plan->graph[todo.at[k]->index];
		for (int i = 0; i < gp->nop; i++)
			for (int c = 0; c < 2; c++) {
				Graph *g = gp->order[i]->callee[c];
				if (!g || e->fn_name[g->index] || never_calls(gp->order[i])) continue;
				const char *s = arena_printf(e->mem, "%s_%d", safe_name(e->mem, g->name), g->index);
				e->fn_name[g->index] = intern_str(e->ir->names, s);
				vec_push(e->mem, &todo, g);
			}
	}
	for (int i = 0; i < e->ir->graphs.n; i++)
		if (e->fn_name[i]) map_set(e->mem, &e->functions, e->fn_name[i], e->ir->graphs.at[i]);
}

/* --- signatures -------------------------------------------------------------------------------------------------- */
/* With names, every input and output gets its pointer; without, the signature is a prototype. */
static void put_param(Emit *e, Buf *b, Tensor *t, const char *cv, const char *name)
{
	if (name) {
		e->name[t->index] = name;
		vec_push(e->mem, &e->named, t->index);
	}
	buf_printf(b, ",\n\t%s%s *%s", cv, emit_ctype(t->spec.dtype), name ? name : "");
}

/* libtcc holds a call's arguments on a stack of 256, so from some number on they are handed over in an array */
int packed_params(const Graph *g) { return g->inputs.n + g->outputs.n > 100; }

static void unpack_params(Emit *e, Buf *b, Graph *g)
{
	for (int i = 0; i < g->inputs.n + g->outputs.n; i++) {
		int out = i >= g->inputs.n;
		Tensor *t = out ? g->outputs.at[i - g->inputs.n] : g->inputs.at[i];
		const char *cv = out || graph_modifies_input(g, i) ? "" : "const ";
		buf_printf(b, "\t%s%s *%s = pointers[%d];\n", cv, emit_ctype(t->spec.dtype), e->name[t->index], i);
	}
}

static void put_signature(Emit *e, Buf *b, Graph *g, int names)
{
	Buf dropped = buf_new(e->mem);
	if (g == e->ir->main) {
		buf_puts(b, "int pxl_main(const struct pxlrt *rt, struct pxlrt_lane *ln)");
		return;
	}
	buf_printf(b, "static int %s(const struct pxlrt *rt, struct pxlrt_lane *ln, char *fr", e->fn_name[g->index]);
	if (packed_params(g)) {
		buf_printf(b, ", void *const *%s)", names ? emit_name(e, "pointers") : "pointers");     /* the first name given out: as it is */
		b = &dropped;                                /* the names are still given out below */
	}
	for (int i = 0; i < g->inputs.n; i++) {
		Tensor *t = g->inputs.at[i];
		put_param(e, b, t, graph_modifies_input(g, i) ? "" : "const ", names ? emit_name(e, t->name) : NULL);
	}
	for (int i = 0; i < g->outputs.n; i++) {
		Tensor *t = g->outputs.at[i];
		if (names && e->name[t->index]) emit_fail(e, t->def, "output `%s` is an input or another output as well", t->name);
		else put_param(e, b, t, "", names ? emit_name(e, t->name) : NULL);
	}
	buf_putc(b, ')');
}

/* An output must be memory of its own, or what the caller sees would be somebody else's. */
static void check_outputs(Emit *e, Graph *g)
{
	if (g == e->ir->main) return;
	for (int i = 0; i < g->outputs.n; i++) {
		Tensor *t = g->outputs.at[i];
		if (storage_root(t) != t || e->plan->place[t->index].space != SPACE_PARAM)
			emit_fail(e, t->def, "output `%s` of `%s` is not placed as a parameter", t->name, g->id);
	}
}

/* --- ops ---------------------------------------------------------------------------------------------------------- */
static void dispatch(Emit *e, const Op *op, size_t frame)
{
	switch (op->code) {
	case OP_fused:       emit_fused(e, op); break;
	case OP_call:        emit_call(e, op, frame); break;
	case OP_repeat:      emit_repeat(e, op, frame); break;
	case OP_conditional: emit_conditional(e, op, frame); break;
	default:
		if (op_def(op)->emit) op_def(op)->emit(e, op);
		else emit_fail(e, op, "`%s` has no emitter", op_def(op)->name);
	}
}

static void buf_clear(Buf *b)
{
	b->n = 0;
	if (b->s) b->s[0] = 0;
}

static void put(Buf *to, const Buf *from) { if (from->n) buf_put(to, from->s, from->n); }

static void emit_op(Emit *e, const Op *op, size_t frame)
{
	int named = e->named.n;
	buf_clear(&e->decl);
	buf_clear(&e->op);
	dispatch(e, op, frame);
	if (!e->op.n) {                                      /* nothing happens when it runs: its declarations are not needed */
		while (e->named.n > named) e->name[e->named.at[--e->named.n]] = NULL;
		return;
	}
	emit_at(e, &e->fn, op->at);
	emit_comment(&e->fn, "\t", op_comment(e, op));
	put(&e->fn, &e->decl);
	put(&e->fn, &e->op);
}

/* Views have no code of their own: the first user declares their pointer. */
static int is_view(const Op *op)
{
	return op->out.n && !op_is(op, CALLS) && !op_pattern(op) && op_output_aliases(op, 0) >= 0 && !op_modifies(op, 0);
}

/* A pure op whose results have no elements computes nothing, so no kernel sees a result without elements. */
static int does_nothing(const Op *op)
{
	for (int i = 0; i < op->out.n; i++)
		if (shape_nelems(op->out.at[i]->spec.shape)) return 0;
	return op->out.n && op_is(op, PURE) && !op_is(op, EFFECT | CALLS);
}

static int is_read(const Tensor *t)
{
	for (int i = 0; i < t->uses.n; i++)
		if (!does_nothing(t->uses.at[i].op)) return 1;
	return 0;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */
static void put_unused(Emit *e, Buf *b, Graph *g)
{
	if (g == e->ir->main) {
		if (e->uses_fr) buf_puts(b, "\tchar *fr = ln->frame;\n");
	} else if (!e->uses_fr) buf_puts(b, "\t(void)fr;\n");
	if (e->uses_st) buf_puts(b, "\tint st;\n");
	for (int i = 0; g != e->ir->main && i < g->inputs.n; i++)
		if (!is_read(g->inputs.at[i])) buf_printf(b, "\t(void)%s;\n", e->name[g->inputs.at[i]->index]);
	if (!e->uses_st) buf_puts(b, g == e->ir->main && e->uses_fr ? "\t(void)rt; (void)fr;\n" : "\t(void)rt; (void)ln;\n");
}

static void begin_function(Emit *e, Graph *g)
{
	for (int i = 0; i < e->named.n; i++) e->name[e->named.at[i]] = NULL;
	e->named.n = 0;
	e->taken = (Map){ 0 };
	e->g = g;
	e->uses_st = e->uses_fr = 0;
	e->line = (Span){ 0 };
	buf_clear(&e->fn);
	buf_clear(&e->extra);
}

static void emit_graph(Emit *e, Graph *g)
{
	const GraphPlan *gp = &e->plan->graph[g->index];
	Buf sig = buf_new(e->mem);
	begin_function(e, g);
	put_signature(e, &sig, g, 1);
	check_outputs(e, g);
	for (int i = 0; i < gp->nop && !e->broken; i++)
		if (!is_view(gp->order[i]) && !does_nothing(gp->order[i])) emit_op(e, gp->order[i], gp->call_frame ? gp->call_frame[i] : 0);
	if (e->extra.n && e->extra.s[0] != '\n') buf_putc(&e->out, '\n');
	put(&e->out, &e->extra);
	buf_putc(&e->out, '\n');
	emit_comment(&e->out, "", arena_printf(e->mem, "%s: %d inputs, %d outputs, %zu bytes of frame", g == e->ir->main ? "main" : g->id,
	                                       g->inputs.n, g->outputs.n, gp->frame_bytes));
	put(&e->out, &sig);
	buf_puts(&e->out, "\n{\n");
	if (g != e->ir->main && packed_params(g)) unpack_params(e, &e->out, g);
	put_unused(e, &e->out, g);
	put(&e->out, &e->fn);
	buf_puts(&e->out, "\treturn 0;\n}\n");
}

static void put_prototypes(Emit *e)
{
	for (int i = 0; i < e->ir->graphs.n; i++) {
		Graph *g = e->ir->graphs.at[i];
		if (!e->fn_name[i] || g == e->ir->main) continue;
		put_signature(e, &e->out, g, 0);
		buf_puts(&e->out, ";\n");
	}
	put_signature(e, &e->out, e->ir->main, 0);
	buf_puts(&e->out, ";\n");
}

/* --- tables -------------------------------------------------------------------------------------------------------- */
static RtVar variable_row(const Tensor *t, const Place *p)
{
	RtVar v = { .name = t->name, .dtype = t->spec.dtype, .rank = t->spec.shape.rank, .offset = p->space == SPACE_VARS ? p->offset : 0,
	            .nelem = (size_t)shape_nelems(t->spec.shape), .init = t->data->init, .state = t->state };
	memcpy(v.dim, t->spec.shape.dim, sizeof v.dim);
	v.bytes = v.nelem * dtype_size(v.dtype);
	if (p->space == SPACE_FIXED) v.fixed = p->param + 1;
	if (!v.init.name) v.init.name = t->name;
	if (t->remote) {
		v.buffer = t->remote->id + 1;
		v.entry = t->entry;
	}
	return v;
}

static void list_vars(Emit *e, Module *m)
{
	Graph *g = e->ir->main;
	m->vars = NEWN(e->mem, RtVar, g->tensors.n + 1);
	for (int i = 0; i < g->tensors.n; i++) {
		Tensor *t = g->tensors.at[i];
		const Place *p = &e->plan->place[t->index];
		if (t->kind != T_VARIABLE || (p->space != SPACE_VARS && p->space != SPACE_FIXED && p->space != SPACE_REMOTE)) continue;
		m->vars[m->nvar++] = variable_row(t, p);
	}
}

static void list_buffers(Emit *e, Module *m)
{
	m->nbuffer = e->ir->buffers.n;
	m->buffers = NEWN(e->mem, RtBuffer, m->nbuffer + 1);
	for (int i = 0; i < m->nbuffer; i++) {
		const RemoteBuffer *b = e->ir->buffers.at[i];
		RtBuffer *r = &m->buffers[i];
		*r = (RtBuffer){ .dtype = b->spec.dtype, .rank = b->spec.shape.rank, .offset = e->plan->buffer[i], .entries = b->entries };
		memcpy(r->dim, b->spec.shape.dim, sizeof r->dim);
		r->bytes = (size_t)shape_nelems(b->spec.shape) * dtype_size(r->dtype);
	}
}

static void mark_used_streams(Module *m, const Op *op)
{
	for (int i = 0; i < op_transfers(op); i++) {
		const Stream *s = op_transfer(op, i).stream;
		if (s) m->streams[s->index].used = 1;
	}
}

/* How often a name is wanted by streams of one direction, as written or as made unique. */
static Map count_names(Emit *e, int is_input)
{
	Map n = { 0 };
	for (int i = 0; i < e->ir->streams.n; i++) {
		const Stream *s = e->ir->streams.at[i];
		if (s->is_input != is_input) continue;
		map_set(e->mem, &n, s->name, (void *)((intptr_t)map_get(&n, s->name) + 1));
		if (s->asked && s->asked != s->name) map_set(e->mem, &n, s->asked, (void *)((intptr_t)map_get(&n, s->asked) + 1));
	}
	return n;
}

/* The host knows a stream by the name that the model gives it, although a tensor may have had that name first; where two streams
 * of one direction ask for the same, by their unique names. */
static const char **stream_host_names(Emit *e)
{
	const char **name = NEWN(e->mem, const char *, e->ir->streams.n + 1);
	const Map wanted[2] = { count_names(e, 0), count_names(e, 1) };
	for (int i = 0; i < e->ir->streams.n; i++) {
		const Stream *s = e->ir->streams.at[i];
		int alone = s->asked && (intptr_t)map_get(&wanted[s->is_input], s->asked) == 1;
		name[i] = alone ? s->asked : s->name;
	}
	return name;
}

static void list_streams(Emit *e, Module *m)
{
	const char **name = stream_host_names(e);
	m->nstream = e->ir->streams.n;
	m->streams = NEWN(e->mem, RtStream, m->nstream + 1);
	for (int i = 0; i < m->nstream; i++) {
		const Stream *s = e->ir->streams.at[i];
		RtStream *r = &m->streams[i];
		*r = (RtStream){ .name = name[i], .is_input = s->is_input, .dtype = s->spec.dtype, .rank = s->spec.shape.rank,
		                 .nelem = (size_t)shape_nelems(s->spec.shape) };
		memcpy(r->dim, s->spec.shape.dim, sizeof r->dim);
		r->bytes = r->nelem * dtype_size(r->dtype);
	}
	for (int g = 0; g < e->ir->graphs.n; g++) {
		if (!e->fn_name[g]) continue;
		const GraphPlan *gp = &e->plan->graph[g];
		for (int i = 0; i < gp->nop; i++) mark_used_streams(m, gp->order[i]);
	}
}

static const RtHostArg *host_args(Emit *e, Tensor *const *t, int n)
{
	RtHostArg *a = NEWN(e->mem, RtHostArg, n + 1);
	for (int i = 0; i < n; i++) {
		a[i] = (RtHostArg){ .dtype = t[i]->spec.dtype, .rank = t[i]->spec.shape.rank, .nelem = (size_t)shape_nelems(t[i]->spec.shape) };
		memcpy(a[i].dim, t[i]->spec.shape.dim, sizeof a[i].dim);
	}
	return a;
}

int emit_host(Emit *e, const Op *op, const HostOp *h)
{
	const AttrVal *x = op_attr(op, "numbers");
	RtHost r = { .op = h, .run = h->run, .nin = op->in.n, .nout = op->out.n, .nnumber = x->floats.n, .numbers = x->floats.at,
	             .in = host_args(e, op->in.at, op->in.n), .out = host_args(e, op->out.at, op->out.n) };
	vec_push(e->mem, &e->hosts, r);
	return e->hosts.n - 1;
}

static void fill_consts(Emit *e, Module *m)
{
	char *base = arena_alloc(e->mem, e->plan->const_bytes + 1);
	for (int g = 0; g < e->ir->graphs.n; g++)
		for (int i = 0; i < e->ir->graphs.at[g]->tensors.n; i++) {
			Tensor *t = e->ir->graphs.at[g]->tensors.at[i];
			const Place *p = &e->plan->place[t->index];
			if (t->kind == T_CONSTANT && p->space == SPACE_CONSTS && host_size(t->data))
				memcpy(base + p->offset, host_bytes(e->mem, t->data, e->ir->seed), host_size(t->data));
		}
	m->consts = base;
}

static uint64_t mix(uint64_t h, uint64_t x) { return hash_bytes((uint64_t[]){ h, x }, 16); }

static Emit begin(Ir *ir, const Plan *plan, Arena *mem)
{
	Emit e = { .mem = mem, .ir = ir, .plan = plan };
	e.out = buf_new(mem);
	e.fn = buf_new(mem);
	e.decl = buf_new(mem);
	e.op = buf_new(mem);
	e.extra = buf_new(mem);
	e.fn_name = NEWN(mem, const char *, ir->graphs.n);
	e.name = NEWN(mem, const char *, ir->ntensor + 1);
	return e;
}

Module *codegen(Ir *ir, const Plan *plan, Arena *mem)
{
	Emit e = begin(ir, plan, mem);
	Module *m = NEW(mem, Module);
	name_functions(&e);
	buf_puts(&e.out, "#include \"runtime/pxlrt.h\"\n\n");
	put_prototypes(&e);
	for (int i = 0; i < ir->graphs.n && !e.broken; i++)
		if (e.fn_name[i]) emit_graph(&e, ir->graphs.at[i]);
	if (e.broken) {
		diag(ir->ds, E0999, (Span){ 0 }, "while writing C: %s", e.broken);
		return NULL;
	}
	list_vars(&e, m);
	list_buffers(&e, m);
	list_streams(&e, m);
	fill_consts(&e, m);
	m->text = e.out.s;
	m->len = e.out.n;
	m->sites = e.sites.at;
	m->nsite = e.sites.n;
	m->hosts = e.hosts.at;
	m->nhost = e.hosts.n;
	m->calls = weigh(ir, plan, mem);
	m->hash = mix(mix(hash_bytes(m->text, m->len), PXLRT_ABI), mix(plan->frame_bytes, plan->var_bytes));
	return m;
}
