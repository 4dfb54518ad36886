/* schedule.c — the order in which a graph's ops run.
 *
 * Only these order ops (R142): data edges, `after`, and the kinds of execution, whose ops run weights
 * from host first, then normal, accumulate outer, weights to host.  Among ops that could run next the
 * one that lets live memory grow least goes first, then the one made first; so a plain chain comes out
 * as written.
 *
 * An op's growth is the storage it makes less the storage it is the last to use.  It changes only when
 * the last but one user of some storage has run, once per storage: then the last user gets a new
 * entry in the heap, and its old one is ignored when it surfaces.  O((ops + edges) log ops). */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

typedef struct Ready { int64_t growth; int op; } Ready;
typedef struct Heap { VEC(Ready) e; } Heap;

/* lists of numbers, one per key: those of key k are at[start[k]] .. at[start[k + 1]] */
typedef struct Lists { int *start, *at; } Lists;

typedef struct Sched {
	Graph *g;
	Arena *mem;
	int n;                       /* ops */
	int *waits;                  /* per op: predecessors that have not run */
	Lists followers;             /* per op: ops with it in `after` */
	int *root;                   /* per tensor: tensor whose storage it shares */
	int64_t *bytes;              /* per root made here: its size; else 0 */
	int *left;                   /* per root: users that have not run */
	Lists roots, users;          /* per op: roots it touches; per root: ops that touch it */
	int64_t *growth;
	char *done;
	int remaining[EXEC_COUNT];
	Heap ready[EXEC_COUNT];
} Sched;

static const ExecContext exec_order[EXEC_COUNT] = {
	EXEC_WEIGHTS_FROM_HOST, EXEC_NORMAL, EXEC_ACCUMULATE_OUTER, EXEC_WEIGHTS_TO_HOST,
};

/* --- heap of ops that could run ---------------------------------------------------------------------------- */

static int sooner(const Sched *s, Ready a, Ready b)
{
	if (a.growth != b.growth) return a.growth < b.growth;
	int x = s->g->ops.at[a.op]->id, y = s->g->ops.at[b.op]->id;
	return x != y ? x < y : a.op < b.op;
}

static void heap_push(Sched *s, Heap *h, Ready r)
{
	vec_push(s->mem, &h->e, r);
	int i = h->e.n - 1;
	for (; i && sooner(s, r, h->e.at[(i - 1) / 2]); i = (i - 1) / 2) h->e.at[i] = h->e.at[(i - 1) / 2];
	h->e.at[i] = r;
}

static Ready heap_pop(Sched *s, Heap *h)
{
	Ready top = h->e.at[0], r = h->e.at[--h->e.n];
	int n = h->e.n, i = 0;
	for (int child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && sooner(s, h->e.at[child + 1], h->e.at[child])) child++;
		if (!sooner(s, h->e.at[child], r)) break;
		h->e.at[i] = h->e.at[child];
	}
	h->e.at[i] = r;
	return top;
}

static void make_ready(Sched *s, int op)
{
	heap_push(s, &s->ready[s->g->ops.at[op]->exec], (Ready){ s->growth[op], op });
}

/* --- what is known before the first op ------------------------------------------------------------------------ */

/* count[k] becomes the place where key k's list starts; filling moves each start to the next one's */
static Lists lists_new(Arena *mem, const int *count, int keys)
{
	Lists l = { NEWN(mem, int, keys + 2), NULL };
	for (int i = 0; i < keys; i++) l.start[i + 2] = l.start[i + 1] + count[i];
	l.at = NEWN(mem, int, l.start[keys + 1] + 1);
	return l;
}

static void lists_add(Lists *l, int key, int x) { l->at[l->start[key + 1]++] = x; }

static int here(const Sched *s, const Tensor *t) { return t && t->graph == s->g; }

static void number(Sched *s)
{
	for (int i = 0; i < s->n; i++) s->g->ops.at[i]->mark = i;
	for (int i = 0; i < s->g->tensors.n; i++) s->g->tensors.at[i]->mark = i;
}

static void count_edges(Sched *s)
{
	int *count = NEWN(s->mem, int, s->n + 1);
	for (int i = 0; i < s->n; i++) {
		const Op *op = s->g->ops.at[i];
		for (int k = 0; k < op->in.n; k++) s->waits[i] += here(s, op->in.at[k]) && op->in.at[k]->def;
		for (int k = 0; k < op->after.n; k++) {
			if (op->after.at[k]->graph != s->g) continue;
			s->waits[i]++;
			count[op->after.at[k]->mark]++;
		}
	}
	s->followers = lists_new(s->mem, count, s->n);
	for (int i = 0; i < s->n; i++)
		for (int k = 0; k < s->g->ops.at[i]->after.n; k++)
			if (s->g->ops.at[i]->after.at[k]->graph == s->g) lists_add(&s->followers, s->g->ops.at[i]->after.at[k]->mark, i);
}

static const Tensor *shares_with(const Sched *s, const Tensor *t)
{
	int i = t->def ? op_shares(t->def, t->def_index) : -1;
	return i >= 0 && here(s, t->def->in.at[i]) ? t->def->in.at[i] : NULL;
}

/* The walk ends after as many steps as there are tensors, should rewriting have made a circle. */
static void find_roots(Sched *s)
{
	int n = s->g->tensors.n;
	for (int i = 0; i < n; i++) s->root[i] = -1;
	for (int i = 0; i < n; i++) {
		const Tensor *t = s->g->tensors.at[i], *up;
		for (int steps = 0; s->root[t->mark] < 0 && steps < n && (up = shares_with(s, t)); steps++) t = up;
		int r = s->root[t->mark] < 0 ? t->mark : s->root[t->mark];
		for (t = s->g->tensors.at[i]; s->root[t->mark] < 0; t = up) {
			s->root[t->mark] = r;
			if (t->mark == r || !(up = shares_with(s, t))) break;
		}
	}
}

static int64_t tensor_bytes(const Tensor *t)
{
	int64_t n = shape_nelems(t->spec.shape);
	return n < 0 ? 0 : n * (int64_t)dtype_size(t->spec.dtype);
}

static void size_roots(Sched *s)
{
	for (int i = 0; i < s->g->tensors.n; i++) {
		const Tensor *t = s->g->tensors.at[i];
		if (s->root[i] == i && t->def) s->bytes[i] = tensor_bytes(t);
	}
	for (int i = 0; i < s->g->outputs.n; i++)            /* outputs stay */
		if (here(s, s->g->outputs.at[i])) s->left[s->root[s->g->outputs.at[i]->mark]]++;
}

/* Every root an op touches, once: counted in the first round, entered in the second. */
static void list_users(Sched *s)
{
	int nt = s->g->tensors.n;
	int *per_op = NEWN(s->mem, int, s->n + 1), *per_root = NEWN(s->mem, int, nt + 1), *seen = NEWN(s->mem, int, nt + 1);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < s->n; i++) {
			const Op *op = s->g->ops.at[i];
			for (int k = 0; k < op->in.n; k++) {
				int stamp = 2 * i + round + 1;
				if (!here(s, op->in.at[k])) continue;
				int r = s->root[op->in.at[k]->mark];
				if (seen[r] == stamp) continue;
				seen[r] = stamp;
				if (round) lists_add(&s->roots, i, r), lists_add(&s->users, r, i), s->left[r]++;
				else per_op[i]++, per_root[r]++;
			}
		}
		if (!round) s->roots = lists_new(s->mem, per_op, s->n), s->users = lists_new(s->mem, per_root, nt);
	}
}

static void first_growth(Sched *s)
{
	for (int i = 0; i < s->n; i++) {
		const Op *op = s->g->ops.at[i];
		for (int k = 0; k < op->out.n; k++) {
			int t = op->out.at[k]->mark;
			if (s->root[t] == t && s->left[t]) s->growth[i] += s->bytes[t];
		}
		for (int k = s->roots.start[i]; k < s->roots.start[i + 1]; k++)
			if (s->left[s->roots.at[k]] == 1) s->growth[i] -= s->bytes[s->roots.at[k]];
	}
}

static Sched prepare(Graph *g, Arena *mem)
{
	int n = g->ops.n, nt = g->tensors.n;
	Sched s = { .g = g, .mem = mem, .n = n, .waits = NEWN(mem, int, n + 1), .root = NEWN(mem, int, nt + 1),
		.bytes = NEWN(mem, int64_t, nt + 1), .left = NEWN(mem, int, nt + 1), .growth = NEWN(mem, int64_t, n + 1),
		.done = NEWN(mem, char, n + 1) };
	number(&s);
	count_edges(&s);
	find_roots(&s);
	size_roots(&s);
	list_users(&s);
	first_growth(&s);
	for (int i = 0; i < n; i++) {
		s.remaining[g->ops.at[i]->exec]++;
		if (!s.waits[i]) make_ready(&s, i);
	}
	return s;
}

/* --- running -------------------------------------------------------------------------------------------------- */

static void release(Sched *s, int op)
{
	if (--s->waits[op] == 0) make_ready(s, op);
}

static void last_user_changes(Sched *s, int root)
{
	for (int k = s->users.start[root]; k < s->users.start[root + 1]; k++) {
		int u = s->users.at[k];
		if (s->done[u]) continue;
		s->growth[u] -= s->bytes[root];
		if (!s->waits[u] && s->bytes[root]) make_ready(s, u);
		return;
	}
}

static void run(Sched *s, int i)
{
	const Op *op = s->g->ops.at[i];
	s->done[i] = 1;
	s->remaining[op->exec]--;
	for (int k = s->roots.start[i]; k < s->roots.start[i + 1]; k++)
		if (--s->left[s->roots.at[k]] == 1) last_user_changes(s, s->roots.at[k]);
	for (int k = 0; k < op->out.n; k++)
		for (int u = 0; u < op->out.at[k]->uses.n; u++)
			if (op->out.at[k]->uses.at[u].op->graph == s->g) release(s, op->out.at[k]->uses.at[u].op->mark);
	for (int k = s->followers.start[i]; k < s->followers.start[i + 1]; k++) release(s, s->followers.at[k]);
}

/* --- when nothing can run ---------------------------------------------------------------------------------------- */

/* an op that `op` waits for; `stuck` stands for all that an earlier kind of execution has left */
static const Op *blocker(const Sched *s, const Op *op, const Op *stuck)
{
	for (int k = 0; k < op->in.n; k++)
		if (here(s, op->in.at[k]) && op->in.at[k]->def && !s->done[op->in.at[k]->def->mark]) return op->in.at[k]->def;
	for (int k = 0; k < op->after.n; k++)
		if (op->after.at[k]->graph == s->g && !s->done[op->after.at[k]->mark]) return op->after.at[k];
	return stuck;
}

static void report_cycle(Sched *s, ExecContext exec)
{
	enum { NAMED = 8 };
	Diags *ds = s->g->ir->ds;
	const Op *stuck = NULL, *op;
	for (int i = s->n - 1; i >= 0; i--)
		if (!s->done[i] && s->g->ops.at[i]->exec == exec) stuck = s->g->ops.at[i];
	char *seen = NEWN(s->mem, char, s->n);
	for (op = stuck; !seen[op->mark]; op = blocker(s, op, stuck)) seen[op->mark] = 1;
	Diag *d = diag(ds, E0405, op->at, "the order of ops contradicts itself");
	const Op *first = op;
	for (int k = 0; k < NAMED; k++) {
		const Op *next = blocker(s, op, stuck);
		diag_note(ds, d, op->at, "%s waits for %s", op_title(s->mem, op), op_title(s->mem, next));
		op = next;
		if (op == first) break;
	}
	diag_chain(ds, d, first->chain);
}

const char *op_title(Arena *a, const Op *op)
{
	return arena_printf(a, "`%s` (op %d)", op_said(op), op->id);
}

Op **schedule(Graph *g, Arena *mem)
{
	Sched s = prepare(g, mem);
	Op **order = NEWN(mem, Op *, s.n + 1);
	int n = 0;
	for (int e = 0; e < EXEC_COUNT; e++) {
		ExecContext exec = exec_order[e];
		while (s.ready[exec].e.n) {
			Ready r = heap_pop(&s, &s.ready[exec]);
			if (s.done[r.op] || r.growth != s.growth[r.op]) continue;
			order[n++] = g->ops.at[r.op];
			run(&s, r.op);
		}
		if (!s.remaining[exec]) continue;
		report_cycle(&s, exec);
		return NULL;
	}
	return order;
}
