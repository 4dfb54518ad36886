/* ambiguity.c — refuse programs whose result would depend on the order of unordered ops (R143–R148).
 *
 * Per graph: if an op writes memory that another op reads or writes, one of the two must come before
 * the other by edges.  Tensors are put into classes that share memory; only classes with a writer are
 * looked at, and a graph without writers costs one pass over its ops.
 *
 * "Before" is answered for 64 writers at a time: one pass forwards gives each op the set of those that
 * come before it, one backwards the set of those that come after; a reader in whose two sets a writer
 * of its class is missing is unordered against it.  O(ops * writers / 64). */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

#include <string.h>

typedef struct Touch { int op, cls; char writes; } Touch;    /* op by place in the order; one per (op, class) */

/* A view that strides cannot express is a copy, kept in step with what it shows: `shown`, in the end tensors with memory of
 * their own or strided views of such.  Why nothing may be written through it: one of them is a constant (b is NULL), or two
 * have elements in common, for all one can tell. */
typedef struct CopyView { Op *op; VEC(Tensor *) shown; Tensor *a, *b; int sure; } CopyView;

typedef struct Check {
	Graph *g;
	Arena *mem;
	Op **order;
	int n;
	int *cls;                    /* per tensor: union-find parent */
	const Tensor **root;         /* per tensor: where its memory begins */
	CopyView **copy_view;        /* per tensor: the view that it is the root of */
	char *written;               /* per class */
	VEC(Touch) touch;
	uint64_t *before, *after, *own;      /* per op: sets of up to 64 writers */
	uint64_t *mask;                      /* per class: those that write it */
	int bad;
} Check;

/* operand k, if it is a tensor of this graph */
static Tensor *operand(const Check *c, const Op *op, int k)
{
	Tensor *t = op->in.at[k];
	return t && t->graph == c->g ? t : NULL;
}

/* --- classes of tensors that share memory --------------------------------------------------------------------- */

static int find_class(Check *c, int t)
{
	while (c->cls[t] != t) t = c->cls[t] = c->cls[c->cls[t]];
	return t;
}

static int class_of(Check *c, const Tensor *t) { return find_class(c, t->mark); }

static void join(Check *c, const Tensor *a, const Tensor *b)
{
	int x = class_of(c, a), y = class_of(c, b);
	c->cls[y] = x;
}

static int is_pure_view(const Op *op) { return op->inplace && op_table[op->code]->inplace != MODIFIES; }

static const CopyView *view_below(const Check *c, const Tensor *t) { return c->copy_view[c->root[t->mark]->mark]; }

static int shows_all(const Check *c, const Tensor *t) { return shape_nelems(t->spec.shape) == shape_nelems(c->root[t->mark]->spec.shape); }

/* what an operand shows; one that is part of a copying view counts as all of it */
static Tensor *const *shown_by(const Check *c, Tensor *const *operand, int *n)
{
	const CopyView *below = view_below(c, *operand);
	*n = below ? below->shown.n : 1;
	return below ? below->shown.at : operand;
}

static void note_meeting(CopyView *v, Tensor *a, Tensor *b, int sure)
{
	int exact;
	if (v->a || !tensors_meet(a, b, &exact)) return;
	v->a = a;
	v->b = b;
	v->sure = sure && exact;
}

static void compare_operands(Check *c, CopyView *v, Tensor *const *x, Tensor *const *y)
{
	int n, m, sure = shows_all(c, *x) && shows_all(c, *y);
	Tensor *const *p = shown_by(c, x, &n), *const *q = shown_by(c, y, &m);
	if (c->root[(*x)->mark] == c->root[(*y)->mark]) note_meeting(v, *x, *y, 1);
	else
		for (int i = 0; i < n; i++)
			for (int k = 0; k < m; k++) note_meeting(v, p[i], q[k], sure);
}

static void note_copy_view(Check *c, Op *op)
{
	CopyView *v = NEW(c->mem, CopyView);
	v->op = op;
	for (int i = 0; i < op->in.n; i++) {
		Tensor *t = operand(c, op, i);
		const CopyView *below = t ? view_below(c, t) : NULL;
		int n = 0;
		if (!t) continue;
		if (!v->a && c->root[t->mark]->kind == T_CONSTANT) v->a = t;
		if (!v->a && below && below->a) v->a = below->a, v->b = below->b, v->sure = below->sure;
		for (int k = 0; k < i; k++)
			if (operand(c, op, k)) compare_operands(c, v, &op->in.at[k], &op->in.at[i]);
		Tensor *const *shown = shown_by(c, &op->in.at[i], &n);
		for (int k = 0; k < n; k++) vec_push(c->mem, &v->shown, shown[k]);
	}
	c->copy_view[op->out.at[0]->mark] = v;
}

/* A view that strides cannot express joins all its operands, as concat_ means to show them all. */
static void join_results(Check *c, Op *op)
{
	int fails = is_pure_view(op) && op_view_fails(op);
	for (int o = 0; o < op->out.n; o++) {
		int i = op_shares(op, o);
		if (i < 0 || !operand(c, op, i)) continue;
		join(c, op->in.at[i], op->out.at[o]);
		if (!fails) c->root[op->out.at[o]->mark] = c->root[op->in.at[i]->mark];
	}
	if (!fails) return;
	for (int i = 0; i < op->in.n; i++)
		if (operand(c, op, i)) join(c, op->in.at[i], op->out.at[0]);
	note_copy_view(c, op);
}

static int writes_any(const Op *op)
{
	for (int i = 0; i < op->in.n; i++)
		if (op_modifies(op, i)) return 1;
	return 0;
}

/* A view reads nothing itself: what reads through it does. */
static void list_touches(Check *c)
{
	for (int i = 0; i < c->n; i++) {
		Op *op = c->order[i];
		int first = c->touch.n;
		for (int k = 0; k < op->in.n && !is_pure_view(op); k++) {
			if (!operand(c, op, k)) continue;
			int cls = class_of(c, op->in.at[k]), at = first;
			if (!c->written[cls]) continue;
			while (at < c->touch.n && c->touch.at[at].cls != cls) at++;
			if (at == c->touch.n) vec_push(c->mem, &c->touch, ((Touch){ i, cls, 0 }));
			c->touch.at[at].writes |= (char)op_modifies(op, k);
		}
	}
}

/* --- messages ------------------------------------------------------------------------------------------------------ */

static const Tensor *touched(Check *c, const Op *op, int cls)
{
	const Tensor *t = NULL;
	for (int i = 0; i < op->in.n; i++)
		if (operand(c, op, i) && class_of(c, op->in.at[i]) == cls && (!t || op_modifies(op, i))) t = op->in.at[i];
	return t;
}

static void report_pair(Check *c, const Touch *w, const Touch *u)
{
	Diags *ds = c->g->ir->ds;
	if (u->writes && c->order[u->op]->id < c->order[w->op]->id) {        /* of two writers the first made is told first */
		const Touch *swap = w;
		w = u;
		u = swap;
	}
	const Op *a = c->order[w->op], *b = c->order[u->op];
	const Tensor *t = touched(c, a, w->cls);
	Diag *d = diag(ds, E0406, a->at, "Inplacing ambiguity detected. %s changes `%s` in place, and nothing orders it against %s, which %s the same memory",
	               op_title(c->mem, a), t->name, op_title(c->mem, b), u->writes ? "changes" : "reads");
	diag_label(ds, d, "changes `%s`", t->name);
	diag_note(ds, d, b->at, "%s stands here", op_title(c->mem, b));
	diag_help(ds, d, (Span){ 0 }, "use the result of the modifying op from then on, or put both under `with in_sequence()`");
	diag_chain(ds, d, a->chain);
	c->bad = 1;
}

static void report_copy_view(Check *c, const Op *writer, const CopyView *v)
{
	Diags *ds = c->g->ir->ds;
	const char *write = op_title(c->mem, writer), *view = op_title(c->mem, v->op);
	const Tensor *root = c->root[v->a->mark];
	Diag *d = v->b ? diag(ds, E0407, writer->at, "%s writes through %s, which %s elements of `%s` twice", write, view, v->sure ? "shows" : "may show", root->name)
	               : diag(ds, E0407, writer->at, "%s writes through %s, which shows the constant `%s`", write, view, root->name);
	diag_note(ds, d, v->op->at, "the view is made here");
	if (v->b && v->a != v->b) diag_note(ds, d, v->b->at, "`%s` and `%s` are parts of `%s` that %s", v->a->name, v->b->name, root->name, v->sure ? "overlap" : "cannot be told apart");
	diag_help(ds, d, v->op->at, "write `%s` without the underscore", op_table[v->op->code]->name);
	diag_chain(ds, d, writer->chain);
	c->bad = 1;
}

static void report_constant(Check *c, const Op *op, const Tensor *t)
{
	Diag *d = diag(c->g->ir->ds, E0404, op->at, "%s modifies the constant `%s`", op_title(c->mem, op), t->name);
	diag_note(c->g->ir->ds, d, t->at, "the constant is made here");
	diag_chain(c->g->ir->ds, d, op->chain);
	c->bad = 1;
}

/* --- one op by itself ------------------------------------------------------------------------------------------------- */

/* The same memory given twice by reference, and written: which of the callee's inputs wins? */
static void check_twice(Check *c, Op *op, int i)
{
	for (int k = 0; k < op->in.n; k++) {
		if (k == i || !operand(c, op, k) || !op_by_ref(op, k) || class_of(c, op->in.at[k]) != class_of(c, op->in.at[i])) continue;
		Diag *d = diag(c->g->ir->ds, E0406, op->at, "Inplacing ambiguity detected. %s gets `%s` by reference twice, and changes it", op_title(c->mem, op), op->in.at[i]->name);
		diag_chain(c->g->ir->ds, d, op->chain);
		c->bad = 1;
		return;
	}
}

static void check_writer(Check *c, Op *op)
{
	for (int i = 0; i < op->in.n; i++) {
		if (!operand(c, op, i) || !op_modifies(op, i)) continue;
		int cls = class_of(c, op->in.at[i]);
		c->written[cls] = 1;
		const Tensor *root = c->root[op->in.at[i]->mark];
		if (c->copy_view[root->mark] && c->copy_view[root->mark]->a) report_copy_view(c, op, c->copy_view[root->mark]);
		if (root->kind == T_CONSTANT) report_constant(c, op, root);
		if (op->callee[0]) check_twice(c, op, i);
	}
}

/* --- before and after -------------------------------------------------------------------------------------------------- */

/* before[i]: writers that come before op i; after[i]: those that come after it */
static void spread(Check *c)
{
	for (int i = 0; i < c->n; i++) {
		const Op *op = c->order[i];
		uint64_t m = 0;
		for (int k = 0; k < op->in.n; k++)
			if (operand(c, op, k) && op->in.at[k]->def) m |= c->before[op->in.at[k]->def->mark] | c->own[op->in.at[k]->def->mark];
		for (int k = 0; k < op->after.n; k++)
			if (op->after.at[k]->graph == c->g) m |= c->before[op->after.at[k]->mark] | c->own[op->after.at[k]->mark];
		c->before[i] = m;
	}
	for (int i = c->n - 1; i >= 0; i--) {
		const Op *op = c->order[i];
		uint64_t m = c->after[i] | c->own[i];
		for (int k = 0; k < op->in.n; k++)
			if (operand(c, op, k) && op->in.at[k]->def) c->after[op->in.at[k]->def->mark] |= m;
		for (int k = 0; k < op->after.n; k++)
			if (op->after.at[k]->graph == c->g) c->after[op->after.at[k]->mark] |= m;
	}
}

typedef struct Writers { int touch[64]; int n; } Writers;

/* does `a` write what `b` touches? */
static int writes_into(Check *c, const Op *a, const Op *b, int cls)
{
	for (int i = 0; i < a->in.n; i++) {
		if (!operand(c, a, i) || !op_modifies(a, i) || class_of(c, a->in.at[i]) != cls) continue;
		for (int k = 0; k < b->in.n; k++)
			if (operand(c, b, k) && class_of(c, b->in.at[k]) == cls && op_parts_meet(a, i, b, k)) return 1;
	}
	return 0;
}

/* Calls that write parts of what they are given may leave another op's part alone (R162). */
static int meet(Check *c, const Touch *w, const Touch *u)
{
	const Op *a = c->order[w->op], *b = c->order[u->op];
	if (!op_writes_parts(a) && !op_writes_parts(b)) return 1;
	return writes_into(c, a, b, w->cls) || (u->writes && writes_into(c, b, a, w->cls));
}

static int unordered(const Check *c, const Touch *w, const Touch *u, uint64_t known, int bit)
{
	return w->op != u->op && !(known >> bit & 1) && c->order[w->op]->exec == c->order[u->op]->exec;
}

/* one message per class; a pair of writers is met twice, and told once */
static void check_batch(Check *c, const Writers *w, char *told)
{
	memset(c->after, 0, (size_t)c->n * sizeof *c->after);
	memset(c->own, 0, (size_t)c->n * sizeof *c->own);
	memset(c->mask, 0, (size_t)c->g->tensors.n * sizeof *c->mask);
	for (int b = 0; b < w->n; b++) {
		const Touch *t = &c->touch.at[w->touch[b]];
		c->own[t->op] |= (uint64_t)1 << b;
		c->mask[t->cls] |= (uint64_t)1 << b;
	}
	spread(c);
	for (int i = 0; i < c->touch.n; i++) {
		const Touch *u = &c->touch.at[i];
		uint64_t known = c->before[u->op] | c->after[u->op] | c->own[u->op];
		if (told[u->cls] || !(c->mask[u->cls] & ~known)) continue;
		for (int b = 0; b < w->n && !told[u->cls]; b++) {
			const Touch *t = &c->touch.at[w->touch[b]];
			if (t->cls != u->cls || !unordered(c, t, u, known, b) || !meet(c, t, u)) continue;
			told[u->cls] = 1;
			report_pair(c, t, u);
		}
	}
}

static void check_pairs(Check *c)
{
	Writers w = { .n = 0 };
	char *told = NEWN(c->mem, char, c->g->tensors.n + 1);
	c->before = NEWN(c->mem, uint64_t, c->n);
	c->after = NEWN(c->mem, uint64_t, c->n);
	c->own = NEWN(c->mem, uint64_t, c->n);
	c->mask = NEWN(c->mem, uint64_t, c->g->tensors.n);
	for (int i = 0; i < c->touch.n; i++) {
		if (!c->touch.at[i].writes) continue;
		w.touch[w.n++] = i;
		if (w.n < 64) continue;
		check_batch(c, &w, told);
		w.n = 0;
	}
	if (w.n) check_batch(c, &w, told);
}

static int check_graph(Graph *g, Arena *mem)
{
	Check c = { .g = g, .mem = mem, .n = g->ops.n };
	int writers = 0, nt = g->tensors.n;
	for (int i = 0; i < g->ops.n && !writers; i++) writers = writes_any(g->ops.at[i]);
	if (!writers) return 1;
	c.order = schedule(g, mem);
	if (!c.order) return 0;
	c.cls = NEWN(mem, int, nt + 1);
	c.copy_view = NEWN(mem, CopyView *, nt + 1);
	c.written = NEWN(mem, char, nt + 1);
	c.root = NEWN(mem, const Tensor *, nt + 1);
	for (int i = 0; i < nt; i++) {
		g->tensors.at[i]->mark = c.cls[i] = i;
		c.root[i] = g->tensors.at[i];
	}
	for (int i = 0; i < c.n; i++) c.order[i]->mark = i;
	for (int i = 0; i < c.n; i++) join_results(&c, c.order[i]);
	for (int i = 0; i < c.n; i++) check_writer(&c, c.order[i]);
	list_touches(&c);
	check_pairs(&c);
	return !c.bad;
}

int ir_check_ambiguity(Ir *ir)
{
	int ok = 1;
	for (int i = 0; i < ir->graphs.n; i++) ok &= check_graph(ir->graphs.at[i], ir->mem);
	return ok;
}
