/* fuse.c — elementwise ops become loops.
 *
 * Every elementwise op ends up in an OP_fused; at -O2 ops of one shape that feed each other share one.
 * The unit of thought is a set of ops that run together.  Walking a valid order, an op joins the units
 * that produce its operands unless that could close a cycle: a path from the unit through some other op
 * back into it.  Two facts keep that cheap.  A unit is open while nothing outside uses it; open units and
 * an op that follows can always be joined.  And each unit has a level above those of all units it needs;
 * one that is not open may still take an op whose other needs are on lower levels, since none of these
 * can depend on it.
 *
 * Memory: an in-place op is a member like any other, its result stored over its operand.  It may share a
 * loop with another user of that memory only if both see the same element at the same iteration.
 * After: no ELTWISE op is left; results that only members of the group read are gone. */
#include "compiler/passes/pass.h"

#include <string.h>

enum { MAX_MEMBERS = 40 };

typedef struct Unit {
	OpList members;              /* in the order of the walk */
	Shape shape;
	int level, closed, fusable, writes;
	int into;                    /* merged into that unit; -1: alive */
} Unit;

/* member → its result's stand-in, or NULL if nobody reads it.  Done last: moving uses makes layouts unknown again. */
typedef struct Swap { Op *op; Tensor *with; OpList *made; } Swap;

typedef struct Fuse {
	PassCx *cx;
	Graph *g;
	Rewrite rw;
	VEC(Unit) units;
	int *unit_of, ids;           /* by op id: -1 unknown; ids there were before this pass */
	VEC(struct Swap) swaps;
} Fuse;

/* --- what may be fused ----------------------------------------------------------------------------------------- */

static int is_view_form(const Op *op)
{
	return op->inplace && op_def(op)->inplace == VIEWS;
}

/* a loop would convert every value to f32 and back, which is exact but slow */
static int copies_f8(const Op *op)
{
	return dtype_is_f8(op->in.at[0]->spec.dtype) && !strcmp(op_def(op)->expr, "t") && shape_eq(op->in.at[0]->spec.shape, op->out.at[0]->spec.shape);
}

static int fusable(const Op *op)
{
	return op_is(op, ELTWISE) && !is_view_form(op) && op->out.n == 1 && !copies_f8(op);
}

/* --- units ------------------------------------------------------------------------------------------------------- */

static int find(Fuse *f, int u)
{
	while (f->units.at[u].into >= 0) u = f->units.at[u].into;
	return u;
}

static int unit_of_op(Fuse *f, const Op *op)
{
	int u = op->id < f->ids ? f->unit_of[op->id] : -1;

	return u < 0 ? -1 : (f->unit_of[op->id] = find(f, u));
}

static int producer_unit(Fuse *f, const Tensor *t)
{
	return t && t->def ? unit_of_op(f, t->def) : -1;
}

/* units that op needs, each once */
typedef VEC(int) Units;

static void add_unit(Fuse *f, Units *us, int u)
{
	for (int i = 0; i < us->n; i++)
		if (us->at[i] == u) return;
	if (u >= 0) vec_push(f->cx->mem, us, u);
}

static Units needs_of(Fuse *f, const Op *op)
{
	Units us = { 0 };

	for (int i = 0; i < op->in.n; i++) add_unit(f, &us, producer_unit(f, op->in.at[i]));
	for (int i = 0; i < op->after.n; i++) add_unit(f, &us, unit_of_op(f, op->after.at[i]));
	return us;
}

static int fits(Fuse *f, int u, const Op *op)
{
	const Unit *x = &f->units.at[u];

	return x->fusable && shape_eq(x->shape, op->out.at[0]->spec.shape) && same_place(x->members.at[0], op);
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

static int is_member(Fuse *f, const Units *us, const Op *op)
{
	int u = op ? unit_of_op(f, op) : -1;

	for (int i = 0; i < us->n; i++)
		if (us->at[i] == u) return u >= 0;
	return 0;
}

typedef struct Touch { Layout at; Shape shape; int writes; } Touch;
typedef VEC(Touch) Touches;

static void touches_of(Fuse *f, const Units *us, const Op *op, Touches *out)
{
	for (int i = 0; i < op->in.n; i++) {
		Tensor *t = op->in.at[i];
		Touch x;

		if (!t) continue;
		x = (Touch){ layout_of(t), t->spec.shape, op_modifies(op, i) };
		if (x.at.root->def && is_member(f, us, x.at.root->def)) continue;       /* made in the group: no memory yet */
		vec_push(f->cx->mem, out, x);
	}
}

/* whoever meets memory that the group writes must meet it element for element */
static int memory_agrees(Fuse *f, const Units *us, const Op *op)
{
	Touches all = { 0 };
	int writes = op_modifies_any(op);

	for (int i = 0; i < us->n; i++) writes |= f->units.at[us->at[i]].writes;
	if (!writes) return 1;
	for (int i = 0; i < us->n; i++)
		for (int k = 0; k < f->units.at[us->at[i]].members.n; k++)
			touches_of(f, us, f->units.at[us->at[i]].members.at[k], &all);
	touches_of(f, us, op, &all);
	for (int i = 0; i < all.n; i++)
		for (int k = 0; all.at[i].writes && k < all.n; k++)
			if (all.at[k].at.root == all.at[i].at.root && !same_layout(&all.at[i].at, all.at[i].shape, &all.at[k].at, all.at[k].shape)) return 0;
	return 1;
}

/* --- joining --------------------------------------------------------------------------------------------------------- */

static int level_above(Fuse *f, const Units *needs, const Units *except)
{
	int level = 0;

	for (int i = 0; i < needs->n; i++) {
		int skip = 0;
		for (int k = 0; except && k < except->n; k++) skip |= except->at[k] == needs->at[i];
		if (!skip && f->units.at[needs->at[i]].level >= level) level = f->units.at[needs->at[i]].level + 1;
	}
	return level;
}

static int size_of(Fuse *f, const Units *us)
{
	int n = 1;

	for (int i = 0; i < us->n; i++) n += f->units.at[us->at[i]].members.n;
	return n;
}

/* may the closed unit `old` take op and the open units us: what they need besides lies below it */
static int may_take(Fuse *f, int old, const Units *us, const Units *all, const Units *needs)
{
	int level = f->units.at[old].level;

	for (int i = 0; i < us->n; i++)
		if (f->units.at[us->at[i]].level >= level) return 0;
	return level_above(f, needs, all) <= level;
}

/* Open units that feed op, and behind them at most one that is not open but whose level allows it. */
static Units choose(Fuse *f, const Op *op, const Units *needs)
{
	Units us = { 0 }, all = { 0 };
	int old = -1;

	for (int i = 0; i < op->in.n; i++) {
		int u = producer_unit(f, op->in.at[i]);
		if (u < 0 || !fits(f, u, op)) continue;
		if (!f->units.at[u].closed) add_unit(f, &us, u);
		else if (old < 0) old = u;
	}
	while (us.n && (size_of(f, &us) > MAX_MEMBERS || !memory_agrees(f, &us, op))) us.n--;
	if (old < 0) return us;
	for (int i = 0; i < us.n; i++) vec_push(f->cx->mem, &all, us.at[i]);
	vec_push(f->cx->mem, &all, old);
	if (!may_take(f, old, &us, &all, needs) || size_of(f, &all) > MAX_MEMBERS || !memory_agrees(f, &all, op)) return us;
	return all;
}

static int new_unit(Fuse *f, Op *op, int level)
{
	Unit u = { .level = level, .fusable = fusable(op), .into = -1, .writes = op_modifies_any(op) };

	if (u.fusable) u.shape = op->out.at[0]->spec.shape;
	vec_push(f->cx->mem, &u.members, op);
	vec_push(f->cx->mem, &f->units, u);
	return f->units.n - 1;
}

/* members stay in the order of the walk: ids of units grow along it, members are merged by position */
static void merge(Fuse *f, int to, int from, const int *pos)
{
	Unit *a = &f->units.at[to], *b = &f->units.at[from];
	OpList all = { 0 };
	int i = 0, k = 0;

	while (i < a->members.n || k < b->members.n) {
		int left = k == b->members.n || (i < a->members.n && pos[a->members.at[i]->id] < pos[b->members.at[k]->id]);
		Op *op = left ? a->members.at[i++] : b->members.at[k++];
		vec_push(f->cx->mem, &all, op);
	}
	a->members = all;
	a->writes |= b->writes;
	b->into = to;
}

static void visit(Fuse *f, Op *op, const int *pos)
{
	Units needs = needs_of(f, op), us = { 0 };
	int u;

	if (f->cx->level >= 2 && fusable(op)) us = choose(f, op, &needs);
	u = new_unit(f, op, level_above(f, &needs, &us));
	f->unit_of[op->id] = u;
	if (us.n) {
		int to = vec_last(&us), level = f->units.at[u].level;     /* a closed unit, if any, is last and keeps its level */
		if (f->units.at[to].closed) level = f->units.at[to].level;
		for (int i = 0; i < us.n; i++)
			if (f->units.at[us.at[i]].level > level) level = f->units.at[us.at[i]].level;
		merge(f, to, u, pos);
		for (int i = 0; i + 1 < us.n; i++) merge(f, to, us.at[i], pos);
		f->units.at[to].level = level;
		u = to;
	}
	for (int i = 0; i < needs.n; i++)
		if (find(f, needs.at[i]) != u) f->units.at[find(f, needs.at[i])].closed = 1;
}

/* --- building ------------------------------------------------------------------------------------------------------------ */

/* one value that lives in one place: memory from outside, or a result to be */
typedef struct Store { int slot; int node; Layout at; VEC(Tensor *) names; } Store;

typedef struct Group {
	Fuse *f;
	Unit *u;
	Pattern *p;
	VEC(Tensor *) operands;
	VEC(Store) stores;
	Map store_of;                /* Tensor * of a member → index into stores, plus 1 */
	Buf label;
	int failed;
} Group;

static int slot_of(Group *gr, Tensor *t)
{
	for (int i = 0; i < gr->operands.n; i++)
		if (gr->operands.at[i] == t) return i;
	vec_push(gr->f->cx->mem, &gr->operands, t);
	return gr->operands.n - 1;
}

static Store *member_store(Group *gr, const Tensor *t)
{
	intptr_t i = (intptr_t)map_get(&gr->store_of, t);

	return i ? &gr->stores.at[i - 1] : NULL;
}

/* memory from outside that the group has written already */
static Store *written_store(Group *gr, Tensor *t)
{
	Layout l;

	if (!gr->u->writes) return NULL;
	l = layout_of(t);
	for (int i = 0; i < gr->stores.n; i++)
		if (gr->stores.at[i].slot >= 0 && gr->stores.at[i].at.root == l.root) return &gr->stores.at[i];
	return NULL;
}

static int read_node(Group *gr, Op *op, Tensor *t)
{
	Arena *mem = gr->f->cx->mem;
	Store *s = member_store(gr, t);
	double x;

	if (s || (s = written_store(gr, t))) return s->node;
	if (constant_value(t, &x) && shape_nelems(t->spec.shape) == 1 && x > -9e15 && x < 9e15) return fuse_const(mem, gr->p, t->spec.dtype, x, op->at);
	return fuse_load(mem, gr->p, slot_of(gr, t), t->spec.dtype, op->at);
}

static int new_store(Group *gr, int slot, Layout at)
{
	Store s = { .slot = slot, .at = at };

	vec_push(gr->f->cx->mem, &gr->stores, s);
	return gr->stores.n - 1;
}

/* where the result of a member goes: a new value, or over its first operand */
static int result_store(Group *gr, Op *op)
{
	Tensor *t = op->in.n ? op->in.at[0] : NULL;
	Store *s;

	if (!t || !op_modifies(op, 0)) return new_store(gr, -1, (Layout){ 0 });
	if ((s = member_store(gr, t)) || (s = written_store(gr, t))) return (int)(s - gr->stores.at);
	return new_store(gr, slot_of(gr, t), layout_of(t));
}

static void bind_member(Group *gr, Op *op)
{
	Arena *mem = gr->f->cx->mem;
	int *node = NEWN(mem, int, op->in.n + 1), n, s;
	Buf why = buf_new(mem);

	for (int i = 0; i < op->in.n; i++) node[i] = op->in.at[i] ? read_node(gr, op, op->in.at[i]) : -1;
	n = fuse_bind(mem, gr->p, op, node, &why);
	if (n < 0) {
		gr->failed = 1;
		pass_bug(gr->f->g->ir, op->at, "fuse: %s", why.s);
		return;
	}
	s = result_store(gr, op);
	gr->stores.at[s].node = n;
	vec_push(mem, &gr->stores.at[s].names, op->out.at[0]);
	map_set(mem, &gr->store_of, op->out.at[0], (void *)(intptr_t)(s + 1));
	buf_printf(&gr->label, "%s%s.%d", gr->label.n ? " " : "", op_type_name(op), op->id);
}

static int read_outside(Group *gr, const Tensor *t)
{
	for (int i = 0; i < t->uses.n; i++) {
		int u = unit_of_op(gr->f, t->uses.at[i].op);
		if (u < 0 || &gr->f->units.at[u] != gr->u) return 1;
	}
	return is_output(t);
}

static int is_result(Group *gr, const Store *s)
{
	if (s->slot >= 0) return 1;
	for (int i = 0; i < s->names.n; i++)
		if (read_outside(gr, s->names.at[i])) return 1;
	return 0;
}

static void make_results(Group *gr, Op *fused, Map *with)
{
	Arena *mem = gr->f->cx->mem;
	VEC(Store *) kept = { 0 };

	for (int i = 0; i < gr->stores.n; i++) {
		Store *s = &gr->stores.at[i];
		if (!is_result(gr, s)) continue;
		vec_push(mem, &gr->p->outs, ((FuseOut){ s->node, s->slot, 0 }));
		vec_push(mem, &kept, s);
	}
	for (int i = 0; i < kept.n; i++) {
		Tensor *last = vec_last(&kept.at[i]->names);
		Tensor *t = ir_new_result(fused, last->spec, take_name(last));
		for (int k = 0; k < kept.at[i]->names.n; k++) map_set(mem, with, kept.at[i]->names.at[k], t);
	}
}

static int build_group(Fuse *f, Unit *u)
{
	Arena *mem = f->cx->mem;
	Group gr = { .f = f, .u = u, .p = NEW(mem, Pattern), .label = buf_new(mem) };
	Build b = build_at(vec_last(&u->members));
	AttrVal attrs[2] = { attr_ptr(gr.p), { 0 } };
	Map with = { 0 };
	OpList *made = NEW(mem, OpList);
	Op *fused;

	gr.p->shape = u->shape;
	for (int i = 0; i < u->members.n && !gr.failed; i++) bind_member(&gr, u->members.at[i]);
	if (gr.failed) return 0;
	gr.p->label = gr.label.s;
	fused = ir_op(&b, OP_fused, gr.operands.at, gr.operands.n, attrs, NULL);
	make_results(&gr, fused, &with);
	vec_push(mem, made, fused);
	for (int i = 0; i < u->members.n; i++)
		vec_push(mem, &f->swaps, ((Swap){ u->members.at[i], map_get(&with, u->members.at[i]->out.at[0]), made }));
	return 1;
}

static void copy_f8(Fuse *f, Op *op)
{
	Build b = build_at(op);
	int mark = f->g->ops.n;
	Tensor *t;

	if (!op_is(op, ELTWISE) || is_view_form(op) || !copies_f8(op) || op_def(op)->emit) return;
	t = ir_op(&b, OP_copy, op->in.at, 1, NULL, NULL)->out.at[0];
	rewrite_replace(&f->rw, op, &t, mark);
}

/* pos, unit_of: room for each op there was before the pass; unit_of is -1 */
static int fuse_graph(PassCx *cx, Graph *g, int *pos, int *unit_of, int ids)
{
	Fuse f = { .cx = cx, .g = g, .rw = rewrite_begin(cx, g), .unit_of = unit_of, .ids = ids };
	Op **seq = schedule(g, cx->mem);
	int n = g->ops.n;

	if (!seq) return 0;
	for (int i = 0; i < n; i++) pos[seq[i]->id] = i;
	for (int i = 0; i < n; i++) visit(&f, seq[i], pos);
	for (int i = 0; i < f.units.n; i++)
		if (f.units.at[i].into < 0 && f.units.at[i].fusable && !build_group(&f, &f.units.at[i])) return 0;
	for (int i = 0; i < f.swaps.n; i++) rewrite_replace_by(&f.rw, f.swaps.at[i].op, &f.swaps.at[i].with, f.swaps.at[i].made);
	for (int i = 0; i < n; i++) copy_f8(&f, seq[i]);
	rewrite_end(&f.rw);
	return 1;
}

int pass_fuse(PassCx *cx)
{
	int ids = cx->ir->next_op, *pos = NEWN(cx->mem, int, ids + 1), *unit_of = NEWN(cx->mem, int, ids + 1);

	for (int i = 0; i < ids; i++) unit_of[i] = -1;
	for (int i = 0; i < cx->ir->graphs.n; i++)
		if (!fuse_graph(cx, cx->ir->graphs.at[i], pos, unit_of, ids)) return 0;
	return 1;
}
