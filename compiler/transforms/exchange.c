/* exchange.c — several transfers in one step.
 *
 * Transfers are taken in the order in which they were made.  One joins the exchange being collected unless a path leads to it from there:
 * then one of them waits for another, and they cannot be one op.  In that case the exchange is closed and the transfer opens the next, so the
 * transfers of one stream keep their order; with other ops on a stream an exchange is ordered as its parts were made, since the scheduler sees a
 * larger op now.  Ops stay sorted by dependence all the time, so one walk forwards tells what can be reached. */
#include "compiler/transforms/transforms.h"

#include "compiler/ops/op.h"

typedef struct Merge {
	Build *at;
	Graph *g;
	VEC(Op *) part;              /* of the exchange being collected */
	VEC(Op *) made;              /* exchanges so far: their parts stand before those of the next */
} Merge;

/* --- can it join ----------------------------------------------------------------------------------------------- */

static int waits_for(const Graph *g, const Op *op, const char *marked)
{
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && op->in.at[i]->def && marked[op->in.at[i]->def->mark]) return 1;
	for (int i = 0; i < op->after.n; i++)
		if (op->after.at[i]->graph == g && marked[op->after.at[i]->mark]) return 1;
	return 0;
}

static int reached(const Merge *m, const Op *op)
{
	Graph *g = m->g;
	char *marked = NEWN(g->ir->mem, char, g->ops.n + 1);
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < m->part.n; i++) marked[m->part.at[i]->mark] = 1;
	for (int i = m->part.at[0]->mark; i < op->mark; i++)
		if (!marked[i]) marked[i] = (char)waits_for(g, g->ops.at[i], marked);
	return waits_for(g, op, marked);
}

/* one overwrites memory that the other touches: as one op they would have an order, which nothing asked for */
static int clash(const Op *a, const Op *b)
{
	for (int i = 0; i < a->in.n; i++)
		for (int k = 0; k < b->in.n; k++) {
			if (!a->in.at[i] || !b->in.at[k] || !(op_modifies(a, i) || op_modifies(b, k))) continue;
			if (storage_root(a->in.at[i]) == storage_root(b->in.at[k])) return 1;
		}
	return 0;
}

static int may_join(const Merge *m, const Op *op)
{
	const Op *first = m->part.at[0];
	for (int i = 0; i < m->part.n; i++)
		if (clash(m->part.at[i], op)) return 0;
	return op->exec == first->exec && op->ipu == first->ipu && op->tiles == first->tiles && !reached(m, op);
}

/* --- joining ----------------------------------------------------------------------------------------------------- */

static int same_entry(const Transfer *a, const Transfer *b)
{
	int64_t x, y;
	if (a->kind != MOVE_REMOTE_LOAD || b->kind != MOVE_REMOTE_STORE || a->buffer != b->buffer) return 0;
	return a->offset == b->offset || (constant_offset(a->offset, &x) && constant_offset(b->offset, &y) && x == y);
}

/* R261: what is loaded is the old value, whatever the order in the text */
static void warn_same_entry(const Merge *m, const Transfer *load, const Transfer *store)
{
	Diags *ds = m->g->ir->ds;
	if (!same_entry(load, store)) return;
	Diag *d = diag(ds, W0640, store->at, "one exchange loads and stores the same entry of remote buffer %d", store->buffer->id + 1);
	diag_label(ds, d, "loads come first: they do not see what is stored here");
	diag_note(ds, d, load->at, "the entry is loaded here");
}

static void warn_same_entries(const Merge *m)
{
	VEC(Transfer) all = { 0 };
	for (int i = 0; i < m->part.n; i++)
		for (int k = 0; k < op_transfers(m->part.at[i]); k++) vec_push(m->g->ir->mem, &all, op_transfer(m->part.at[i], k));
	for (int i = 0; i < all.n; i++)
		for (int k = 0; k < all.n; k++) warn_same_entry(m, &all.at[i], &all.at[k]);
}

static int share_stream(const Op *a, const Op *b)
{
	for (int i = 0; i < op_transfers(a); i++)
		for (int k = 0; k < op_transfers(b); k++) {
			const Stream *s = op_transfer(a, i).stream;
			if (s && s == op_transfer(b, k).stream) return 1;
		}
	return 0;
}

static int is_made(const Merge *m, const Op *op)
{
	for (int i = 0; i < m->made.n; i++)
		if (m->made.at[i] == op) return 1;
	return 0;
}

/* first: number of the first of its parts */
static void keep_stream_order(const Merge *m, Op *exchange, int first)
{
	Graph *g = m->g;
	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		if (op == exchange || !share_stream(op, exchange)) continue;
		if (op->id < first || is_made(m, op)) ir_run_after(exchange, op);
		else ir_run_after(op, exchange);
	}
	ir_sort_ops(g);
}

void order_after_exchanges(Op *op)
{
	Graph *g = op->graph;
	for (int i = 0; g->ir->merged && i < g->ops.n; i++)
		if (g->ops.at[i] != op && g->ops.at[i]->code == OP_multi_exchange && share_stream(op, g->ops.at[i])) ir_run_after(op, g->ops.at[i]);
}

static void close_exchange(Merge *m)
{
	Build b = *m->at;
	int n = m->part.n;
	if (n > 1) {
		AttrVal parts[] = { transfer_parts(m->g->ir->mem, m->part.at, n), { 0 } };
		const Op *first = m->part.at[0];
		b.g = m->g;
		b.at = first->at;
		b.chain = first->chain;
		b.scope = first->scope;
		b.ipu = first->ipu;
		b.tiles = first->tiles;
		b.exec = first->exec;
		int number = first->id;
		warn_same_entries(m);
		Op *op = ir_join_ops(&b, OP_multi_exchange, m->part.at, n, parts);
		keep_stream_order(m, op, number);
		vec_push(m->g->ir->mem, &m->made, op);
		m->g->ir->merged = 1;
	}
	m->part.n = 0;
}

void merge_exchange(Build *at, Graph *g, int from)
{
	Merge m = { .at = at, .g = g };
	VEC(Op *) all = { 0 };
	for (int i = 0; i < g->ops.n; i++)
		if (g->ops.at[i]->id >= from && op_transfers(g->ops.at[i])) vec_push(g->ir->mem, &all, g->ops.at[i]);
	for (int i = 0; i < all.n; i++) {
		if (m.part.n && !may_join(&m, all.at[i])) close_exchange(&m);
		vec_push(g->ir->mem, &m.part, all.at[i]);
	}
	close_exchange(&m);
}

int check_one_exchange(Build *at, const Graph *g, int from)
{
	const Op *first = NULL;
	for (int i = 0; i < g->ops.n; i++) {
		const Op *op = g->ops.at[i];
		if (op->id < from || op->code == OP_init) continue;
		if (!first) {
			first = op;
			continue;
		}
		Diag *d = diag(g->ir->ds, E0440, at->at, "the ops of this `io_tile_exchange` do not become one exchange");
		diag_note(g->ir->ds, d, first->at, "`%s` is one of them", op_def(first)->name);
		diag_note(g->ir->ds, d, op->at, "`%s` is another", op_def(op)->name);
		diag_help(g->ir->ds, d, (Span){ 0 }, "only loads and stores that do not wait for each other overlap; `verify_overlap = false` accepts the rest");
		return 0;
	}
	return 1;
}
