/* ir.c — the program being built as a value: its number, its settings, its streams, groups of its replicas, drawings of it. */
#include "compiler/elab/eval.h"

#include <ctype.h>
#include <string.h>

Value v_ir(Ir *ir) { return v_of(V_IR, ir); }

static Value do_current(Elab *e, Call *c) { return building(e, c->at, "the current program is asked for") ? v_ir(e->b.ir) : v_error(); }

/* --- settings (R5–R9) ------------------------------------------------------------------------------------------------------ */
#define I(c) ((c)->self.u.ir)

static Value get_id(Elab *e, Call *c)        { (void)e; return v_int(I(c)->number); }
static Value get_main(Elab *e, Call *c)      { return v_graph(e, I(c)->main); }
static Value get_replicas(Elab *e, Call *c)  { (void)e; return v_int(I(c)->replicas); }
static Value get_local(Elab *e, Call *c)     { (void)e; return v_int(I(c)->local_replicas); }
static Value get_transfers(Elab *e, Call *c) { (void)e; return v_int(I(c)->transfers); }

static int setting_value(Elab *e, Value v, const char *name, int64_t max, Span at, int *out)
{
	int64_t n;
	if (!want_int(e, v, at, arena_printf(e->mem, "`%s`", name), &n)) return 0;
	*out = (int)n;
	if (n >= 1 && n <= max) return 1;
	fail(e, E0114, at, "`%s` must be from 1 to %lld, not %lld", name, (long long)max, (long long)n);
	return 0;
}

/* --replicas on the command line wins over what the model says, here too */
static void set_replicas(Elab *e, Ir *ir, Value v, Span at)
{
	int n;
	if (!setting_value(e, v, "replication_factor", MOST_REPLICAS, at, &n) || e->replicas_given) return;
	if (ir->groupings.n > 1) fail(e, E0114, at, "`replication_factor` is set before the replicas are grouped");
	else ir_set_replicas(ir, n);
}

void ir_set_field(Elab *e, Ir *ir, const char *name, Value v, Span at)
{
	if (ir != e->b.ir || ir->frozen) fail(e, E0402, at, "this program is built already");
	else if (!strcmp(name, "replication_factor")) set_replicas(e, ir, v, at);
	else if (!strcmp(name, "num_host_transfers")) setting_value(e, v, name, MOST_TRANSFERS, at, &ir->transfers);
	else fail(e, E0113, at, "`%s` of a program cannot be assigned", name);
}

/* those that an op of any graph reads or writes */
static Value streams(Elab *e, Call *c, int is_input)
{
	Value v = v_list(e->mem);
	const Ir *ir = I(c);
	char *used = NEWN(e->mem, char, ir->streams.n + 1);
	for (int g = 0; g < ir->graphs.n; g++)
		for (int i = 0; i < ir->graphs.at[g]->ops.n; i++) {
			const Op *op = ir->graphs.at[g]->ops.at[i];
			for (int k = 0; k < op_transfers(op); k++)
				if (op_transfer(op, k).stream) used[op_transfer(op, k).stream->index] = 1;
		}
	for (int i = 0; i < ir->streams.n; i++)
		if (used[i] && ir->streams.at[i]->is_input == is_input) list_push(e->mem, v.u.list, v_of(V_STREAM, ir->streams.at[i]));
	return v;
}

static Value do_h2d(Elab *e, Call *c) { return streams(e, c, 1); }
static Value do_d2h(Elab *e, Call *c) { return streams(e, c, 0); }

/* --- groups of replicas (8.2, 8.3) ------------------------------------------------------------------------------------------- */
static Value v_grouping(Elab *e, Ir *ir, int i, const char *why, Span at)
{
	GroupingOf g = { ir, i };
	if (i < 0) return fail(e, E0114, at, "no such groups of %d replicas: %s", ir->replicas, why);
	return v_of(V_GROUPING, arena_dup(e->mem, &g, sizeof g));
}

static Value do_grouping(Elab *e, Call *c)
{
	const char *why;
	int64_t stride = 1, size;
	if (is_given(c->arg[0]) && !want_int(e, c->arg[0], c->at, "`stride`", &stride)) return v_error();
	size = stride > 0 ? I(c)->replicas / stride : 0;
	if (is_given(c->arg[1]) && !want_int(e, c->arg[1], c->at, "`group_size`", &size)) return v_error();
	int i = grouping_const(I(c), stride, size, &why);
	return v_grouping(e, I(c), i, why, c->at);
}

static Value do_assignments(Elab *e, Call *c)
{
	const char *why;
	int64_t *x;
	int n, *group;
	if (!want_ints(e, c->arg[0], c->at, "`assignments`", &x, &n)) return v_error();
	group = NEWN(e->mem, int, n + 1);
	for (int i = 0; i < n; i++) group[i] = x[i] < 0 || x[i] > n ? -1 : (int)x[i];
	int i = grouping_from(I(c), group, n, &why);
	return v_grouping(e, I(c), i, why, c->at);
}

/* R401: the groups that PopXL has names for */
static Value do_comm_group(Elab *e, Call *c)
{
	const char *kind, *why;
	int64_t n = 0;
	if (!building(e, c->at, "a group of replicas is made") || !want_str(e, c->arg[0], c->at, "`type`", &kind)) return v_error();
	if (is_given(c->arg[1]) && !want_int(e, c->arg[1], c->at, "`size`", &n)) return v_error();
	int64_t stride = 1, size = e->b.ir->replicas;
	if (!strcmp(kind, "none")) size = 1;
	else if (!strcmp(kind, "consecutive")) size = n;
	else if (!strcmp(kind, "orthogonal")) stride = n > 1 ? size / n : 1, size = n;
	else if (strcmp(kind, "all")) return fail(e, E0114, c->at, "a `CommGroup` is \"all\", \"consecutive\", \"orthogonal\" or \"none\", not \"%s\"", kind);
	int i = grouping_const(e->b.ir, stride, size, &why);
	return v_grouping(e, e->b.ir, i, why, c->at);
}

#define G(c) ((c)->self.u.grouping->ir->groupings.at[(c)->self.u.grouping->index])
static Value gr_size(Elab *e, Call *c)  { (void)e; return v_int(G(c)->size); }
static Value gr_count(Elab *e, Call *c) { (void)e; return v_int(G(c)->count); }
static Value gr_const(Elab *e, Call *c) { (void)e; return v_bool(G(c)->is_const); }

static Value gr_stride(Elab *e, Call *c)
{
	return G(c)->is_const ? v_int(G(c)->stride) : fail(e, E0122, c->at, "these groups have no single stride");
}

static Value gr_assignment(Elab *e, Call *c)
{
	Value v = v_list(e->mem);
	for (int i = 0; i < c->self.u.grouping->ir->replicas; i++) list_push(e->mem, v.u.list, v_int(grouping_at(G(c), i)));
	return v;
}

/* the groups of those who are first in theirs, second, and so on: each replica of one group meets one of every other */
static Value gr_transpose(Elab *e, Call *c)
{
	Ir *ir = c->self.u.grouping->ir;
	const Grouping *g = G(c);
	const char *why;
	int *seen = NEWN(e->mem, int, g->count), *rank = NEWN(e->mem, int, ir->replicas);
	for (int i = 0; i < ir->replicas; i++) rank[i] = seen[grouping_at(g, i)]++;
	int i = grouping_from(ir, rank, ir->replicas, &why);
	return v_grouping(e, ir, i, why, c->at);
}

/* R402: in this order */
static Value gr_comm_group(Elab *e, Call *c)
{
	const Grouping *g = G(c);
	const char *kind = g->size == 1 ? "none" : g->count == 1 ? "all" : !g->is_const ? NULL : g->stride == g->count ? "orthogonal" : g->stride == 1 ? "consecutive" : NULL;
	if (!kind) return fail(e, E0114, c->at, "no kind of `CommGroup` describes these groups of replicas");
	Value v = v_tuple(e->mem);
	list_push(e->mem, v.u.list, v_cstr(e->mem, kind));
	list_push(e->mem, v.u.list, v_int(g->size));
	return v;
}

const Builtin grouping_methods[] = {
	{ "stride", NULL, gr_stride }, { "group_size", NULL, gr_size }, { "num_groups", NULL, gr_count }, { "is_const", NULL, gr_const },
	{ "assignment", NULL, gr_assignment }, { "comm_group", NULL, gr_comm_group }, { "transpose", "", gr_transpose }, { NULL, NULL, NULL }
};

void grouping_show(const GroupingOf *of, Buf *out)
{
	const Grouping *g = of->ir->groupings.at[of->index];
	if (g->is_const) {
		buf_printf(out, "ReplicaGrouping(num_replicas=%d, stride=%d, group_size=%d, num_groups=%d)", of->ir->replicas, g->stride, g->size, g->count);
		return;
	}
	buf_puts(out, "ReplicaGrouping(assignment=[");
	for (int i = 0; i < of->ir->replicas; i++) buf_printf(out, "%s%d", i ? ", " : "", grouping_at(g, i));
	buf_puts(out, "])");
}

/* --- drawings (R65–R71) --------------------------------------------------------------------------------------------------------- */
static int plain_name(const char *s)
{
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-') return 0;
	return *s != 0;
}

/* below the folder that the host gave, and never out of it */
static int plain_dir(const char *s)
{
	if (!*s || *s == '/') return 0;
	for (const char *p = s; *p; p += strcspn(p, "/"), p += *p == '/')
		if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2])) return 0;
	return 1;
}

static Value checkpoint(Elab *e, Ir *ir, Call *c)
{
	const char *name, *dir = NULL;
	Buf why = buf_new(e->mem);
	if (!want_str(e, c->arg[0], c->at, "the name of a checkpoint", &name)) return v_error();
	if (is_given(c->arg[1]) && !want_str(e, c->arg[1], c->at, "`save_dir`", &dir)) return v_error();
	if (!plain_name(name)) return fail(e, E0114, c->at, "a checkpoint's name is made of letters, digits, _ and -, not `%s`", name);
	if (dir && !plain_dir(dir)) return fail(e, E0114, c->at, "`save_dir` lies below the folder that the command line names, not at `%s`", dir);
	if (e->o.checkpoint && !e->o.checkpoint(e->o.user, ir, name, dir, &why)) return fail(e, E0901, c->at, "checkpoint `%s` cannot be drawn: %s", name, why.s);
	return v_none();
}

static Value do_checkpoint(Elab *e, Call *c) { return checkpoint(e, I(c), c); }

static Value current_checkpoint(Elab *e, Call *c)
{
	return building(e, c->at, "a checkpoint is drawn") ? checkpoint(e, e->b.ir, c) : v_error();
}

const Builtin ir_methods[] = {
	{ "id", NULL, get_id }, { "main_graph", NULL, get_main }, { "replication_factor", NULL, get_replicas },
	{ "instance_replication_factor", NULL, get_local }, { "num_host_transfers", NULL, get_transfers },
	{ "get_all_h2d_streams", "", do_h2d }, { "get_all_d2h_streams", "", do_d2h },
	{ "replica_grouping", "stride? group_size?", do_grouping }, { "replica_grouping_from_assignments", "assignments", do_assignments },
	{ "dot_checkpoint", "name save_dir?", do_checkpoint }, { NULL, NULL, NULL }
};

const Builtin ir_builtins[] = {
	{ "current_ir", "", do_current }, { "gir", "", do_current }, { "CommGroup", "type size?", do_comm_group }, { "dot_checkpoint", "name save_dir?", current_checkpoint }, { NULL, NULL, NULL }
};
