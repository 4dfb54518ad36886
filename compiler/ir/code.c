/* code.c — when the code of which graph has to be in the device's memory (semantics.md R365–R369).
 *
 * It is liveness, as for registers: calling a graph uses its code, loading it defines it.  A graph's body sums up to two sets, the code it
 * wants to find and the code it certainly leaves loaded; one walk backwards over a schedule then tells what is live before each op.
 *
 *   call         wants the callee and what its body wants; leaves what the body leaves
 *   conditional  wants what either branch wants; leaves what both leave (R367)
 *   repeat       the body, whose end is followed by its beginning
 *
 * The report speaks of steps of the main graph; what happens inside a call happens at the call (R366).  Code that nothing loads is
 * there always, and so is code whose load and call nothing orders: the call may come first (R368). */
#include "compiler/ir/ir.h"

#include "compiler/ops/op.h"

#include <string.h>

typedef struct Sets { char *wants, *leaves; int known; } Sets;       /* by graph index */

typedef struct CodeWalk {
	Ir *ir;
	Arena *mem;
	int n;                       /* graphs */
	Sets *body;                  /* by graph index */
	char *uses;                  /* [graph * n + g]: running it may call g, somewhere below */
	char *loads;                 /* … may load g */
} CodeWalk;

static char *new_set(const CodeWalk *w) { return NEWN(w->mem, char, w->n + 1); }

static int loads(const Op *op, int graph)
{
	for (int i = 0; i < op_transfers(op); i++) {
		Transfer t = op_transfer(op, i);
		if (t.kind == MOVE_CODE_LOAD && t.code == graph) return 1;
	}
	return 0;
}

static void set_loaded(const Op *op, char *set, char to)
{
	for (int i = 0; i < op_transfers(op); i++) {
		Transfer t = op_transfer(op, i);
		if (t.kind == MOVE_CODE_LOAD) set[t.code] = to;
	}
}

static int runs_body(const Op *op) { return op->code != OP_repeat || op_attr(op, "repeat_count")->i > 0; }

/* --- what bodies want and leave ------------------------------------------------------------------------------------ */

static Sets *body_of(CodeWalk *w, Graph *g);

static void wanted_by_call(CodeWalk *w, const Graph *callee, const Sets *body, char *live)
{
	for (int i = 0; i < w->n; i++) live[i] = body->wants[i] || (live[i] && !body->leaves[i]);
	live[callee->index] = 1;
}

/* live after op → live before it */
static void step_back(CodeWalk *w, Op *op, char *live)
{
	set_loaded(op, live, 0);
	if (!op->callee[0] || !runs_body(op)) return;
	char *other = new_set(w), *after = new_set(w);
	memcpy(after, live, (size_t)w->n);
	wanted_by_call(w, op->callee[0], body_of(w, op->callee[0]), live);
	if (op->code == OP_repeat) {                         /* the end of a turn is followed by the next, or by what follows */
		for (int i = 0; i < w->n; i++) live[i] |= after[i];
		wanted_by_call(w, op->callee[0], body_of(w, op->callee[0]), live);
	}
	if (!op->callee[1]) return;
	memcpy(other, after, (size_t)w->n);
	wanted_by_call(w, op->callee[1], body_of(w, op->callee[1]), other);
	for (int i = 0; i < w->n; i++) live[i] |= other[i];
}

static void mark_leaves(CodeWalk *w, Op *op, char *leaves)
{
	set_loaded(op, leaves, 1);
	if (!op->callee[0] || !runs_body(op)) return;
	const Sets *a = body_of(w, op->callee[0]), *b = op->callee[1] ? body_of(w, op->callee[1]) : a;
	for (int i = 0; i < w->n; i++) leaves[i] |= a->leaves[i] && b->leaves[i];
}

static void mark_below(CodeWalk *w, const Graph *g, const Op *op)
{
	set_loaded(op, w->loads + g->index * w->n, 1);
	for (int k = 0; k < 2 && op->callee[k] && runs_body(op); k++) {
		const Graph *c = op->callee[k];
		w->uses[g->index * w->n + c->index] = 1;
		for (int i = 0; i < w->n; i++) {
			w->uses[g->index * w->n + i] |= w->uses[c->index * w->n + i];
			w->loads[g->index * w->n + i] |= w->loads[c->index * w->n + i];
		}
	}
}

static Sets *body_of(CodeWalk *w, Graph *g)
{
	Sets *s = &w->body[g->index];
	if (s->known) return s;
	Op **order = schedule(g, w->mem);
	*s = (Sets){ new_set(w), new_set(w), 1 };
	for (int i = g->ops.n - 1; order && i >= 0; i--) {
		step_back(w, order[i], s->wants);
		mark_leaves(w, order[i], s->leaves);
		mark_below(w, g, order[i]);
	}
	return s;
}

/* --- order of loads and calls --------------------------------------------------------------------------------------- */

static int touches(const CodeWalk *w, const Op *op, int g, int load)
{
	if (load && loads(op, g)) return 1;
	for (int k = 0; k < 2 && op->callee[k] && runs_body(op); k++) {
		int c = op->callee[k]->index;
		if (load ? w->loads[c * w->n + g] : c == g || w->uses[c * w->n + g]) return 1;
	}
	return 0;
}

/* ops that come after `first` by edges; by place in g->ops */
static char *after_op(CodeWalk *w, Graph *g, const Op *first)
{
	char *late = NEWN(w->mem, char, g->ops.n + 1);
	Op **order = schedule(g, w->mem);
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	late[first->mark] = 1;
	for (int i = 0; order && i < g->ops.n; i++) {
		const Op *op = order[i];
		for (int k = 0; k < op->in.n; k++)
			if (op->in.at[k] && op->in.at[k]->def && late[op->in.at[k]->def->mark]) late[op->mark] = 1;
		for (int k = 0; k < op->after.n; k++)
			if (late[op->after.at[k]->mark]) late[op->mark] = 1;
	}
	return late;
}

static int ordered_in(CodeWalk *w, Graph *g, int code)
{
	for (int i = 0; i < g->ops.n; i++) {
		Op *load = g->ops.at[i];
		if (!touches(w, load, code, 1)) continue;
		char *late = after_op(w, g, load);
		for (int k = 0; k < g->ops.n; k++) {
			Op *call = g->ops.at[k];
			if (call == load || !touches(w, call, code, 0) || late[k]) continue;
			if (!after_op(w, g, call)[i]) return 0;
		}
	}
	return 1;
}

static int reached(const CodeWalk *w, int g) { return g == w->ir->main->index || w->uses[w->ir->main->index * w->n + g]; }

static int ordered(CodeWalk *w, int code)
{
	for (int i = 0; i < w->n; i++)
		if (reached(w, i) && !ordered_in(w, w->ir->graphs.at[i], code)) return 0;
	return 1;
}

/* --- the report ------------------------------------------------------------------------------------------------------- */

static void add_step(CodeReport *r, Arena *mem, int step, int fresh)
{
	if (!fresh && r->live.n && vec_last(&r->live).last + 1 >= step) vec_last(&r->live).last = step;
	else vec_push(mem, &r->live, ((CodeSpan){ step, step }));
}

/* rows[step]: live before it; what is loaded in a step for later is there in that step */
static void find_spans(CodeWalk *w, CodeReport *r, Op **order, char *const *before, int code)
{
	int n = w->ir->main->ops.n;
	for (int i = 0; i < n; i++) {
		int inside = touches(w, order[i], code, 0), loaded = touches(w, order[i], code, 1);
		if (loaded) vec_push(w->mem, &r->loads, i);
		if (before[i][code] || inside || (loaded && before[i + 1][code])) add_step(r, w->mem, i, loaded && !before[i][code]);
	}
}

static CodeState state_of(CodeWalk *w, int code)
{
	int main = w->ir->main->index;
	if (!w->uses[main * w->n + code]) return CODE_NEVER;
	if (!w->loads[main * w->n + code]) return CODE_ALWAYS;
	return ordered(w, code) ? CODE_LOADED : CODE_UNORDERED;
}

CodeReport *ir_code(Ir *ir, Arena *mem)
{
	CodeWalk w = { .ir = ir, .mem = mem, .n = ir->graphs.n };
	Graph *main = ir->main;
	int steps = main->ops.n;
	CodeReport *r = NEWN(mem, CodeReport, w.n + 1);
	char **before = NEWN(mem, char *, steps + 1);
	w.body = NEWN(mem, Sets, w.n + 1);
	w.uses = NEWN(mem, char, w.n * w.n + 1);
	w.loads = NEWN(mem, char, w.n * w.n + 1);
	body_of(&w, main);
	Op **order = schedule(main, mem);
	before[steps] = new_set(&w);
	for (int i = steps - 1; order && i >= 0; i--) {
		before[i] = new_set(&w);
		memcpy(before[i], before[i + 1], (size_t)w.n);
		step_back(&w, order[i], before[i]);
	}
	for (int g = 0; order && g < w.n; g++) {
		r[g].state = state_of(&w, g);
		if (r[g].state == CODE_LOADED) find_spans(&w, &r[g], order, before, g);
	}
	return r;
}

static void put_graph(const CodeReport *r, const Graph *g, Buf *out)
{
	static const char *const text[] = { [CODE_NEVER] = "never called", [CODE_ALWAYS] = "always live: nothing loads it",
	                                    [CODE_UNORDERED] = "always live: its load and its call are not ordered", [CODE_LOADED] = "live" };
	buf_printf(out, "  %s: %s", g->id, text[r->state]);
	for (int i = 0; i < r->live.n; i++) buf_printf(out, "%s %d-%d", i ? "," : "", r->live.at[i].first, r->live.at[i].last);
	for (int i = 0; i < r->loads.n; i++) buf_printf(out, "%s %d", i ? "," : "; loaded in", r->loads.at[i]);
	buf_putc(out, '\n');
}

void code_print(Ir *ir, Buf *out)
{
	CodeReport *r = ir_code(ir, out->mem);
	buf_printf(out, "code, by steps of the main graph (%d)\n", ir->main->ops.n);
	for (int i = 0; i < ir->graphs.n; i++)
		if (ir->graphs.at[i] != ir->main) put_graph(&r[i], ir->graphs.at[i], out);
}
