/* context.c — what `with` takes: ordering, placement, names, and graphs to build in. */
#include "compiler/elab/eval.h"

#include <string.h>

static Value context(Elab *e, Context c) { return v_of(V_CONTEXT, arena_dup(e->mem, &c, sizeof c)); }

/* in_sequence(), in_sequence(false), in_sequence("pass") (R198) */
static Value do_sequence(Elab *e, Call *c)
{
	Value v = c->arg[0];
	Context x = { .kind = CTX_SEQUENCE, .seq = SEQ_TRUE };
	if (v.kind == V_BOOL) x.seq = v.u.b ? SEQ_TRUE : SEQ_FALSE;
	else if (v.kind == V_STR && !strcmp(v.u.str->s, "pass")) x.seq = SEQ_PASS;
	else if (v.kind != V_UNSET) return fail(e, v.kind == V_NONE ? E0206 : E0114, c->at, "`in_sequence` takes true, false or \"pass\", not %s", v_text(e, v));
	return context(e, x);
}

static Value do_ipu(Elab *e, Call *c)
{
	Context x = { .kind = CTX_IPU };
	if (!want_int(e, c->arg[0], c->at, "the number of an IPU", &x.n)) return v_error();
	if (x.n < 0 || x.n > 4095) return fail(e, E0114, c->at, "there is no IPU %lld", (long long)x.n);
	return context(e, x);
}

static Value do_io_tiles(Elab *e, Call *c)
{
	(void)c;
	return context(e, (Context){ .kind = CTX_IO_TILES });
}

static Value do_scope(Elab *e, Call *c)
{
	Context x = { .kind = CTX_SCOPE };
	if (!want_str(e, c->arg[0], c->at, "a name scope", &x.name)) return v_error();
	return *x.name ? context(e, x) : fail(e, E0114, c->at, "a name scope must not be empty");
}

static Value do_debug(Elab *e, Call *c)
{
	Context x = { .kind = CTX_DEBUG };
	return want_str(e, c->arg[0], c->at, "the name of a debug context", &x.name) ? context(e, x) : v_error();
}

static Value do_merge(Elab *e, Call *c)
{
	(void)c;
	return context(e, (Context){ .kind = CTX_MERGE });
}

static Value do_exchange(Elab *e, Call *c)
{
	int verify = 1;
	if (is_given(c->arg[0]) && !want_bool(e, c->arg[0], c->at, "`verify_overlap`", &verify)) return v_error();
	return context(e, (Context){ .kind = CTX_IO_EXCHANGE, .n = verify });
}

const Builtin context_builtins[] = {
	{ "in_sequence", "mode?", do_sequence }, { "ipu", "n", do_ipu }, { "io_tiles", "", do_io_tiles }, { "name_scope", "name", do_scope },
	{ "op_debug_context", "name", do_debug }, { "merge_exchange", "", do_merge }, { "io_tile_exchange", "verify_overlap?", do_exchange },
	{ NULL, NULL, NULL }
};

Context *context_of(Elab *e, Value v, Span at)
{
	Context x = { .kind = CTX_GRAPH };
	if (v.kind == V_CONTEXT) return v.u.context;
	if (v.kind == V_GRAPH) x.graph = v.u.graph;
	else if (v.kind == V_NAMED) x.graph = v.u.named->graph;
	else {
		fail(e, E0433, at, "`with` does not take %s", v_describe(e, v));
		return NULL;
	}
	if (!building(e, at, "a graph is entered")) return NULL;
	if (x.graph->ir == e->b.ir) return arena_dup(e->mem, &x, sizeof x);
	fail(e, E0428, at, "%s belongs to another program", graph_title(x.graph));
	return NULL;
}
