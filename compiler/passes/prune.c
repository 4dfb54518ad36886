/* prune.c — drop results of calls that nobody reads, and what only they needed.
 *
 * Callers of one graph may read different results: the gradient with respect to a model's input is
 * rarely wanted, that of its layers is.  Calls that read the same results share a graph; where they
 * differ, the graph is cloned for each set.  Then outputs that no call of a graph reads go, with the ops
 * behind them and the inputs only those read.  Callers first, so that what a pruned graph no longer asks
 * of its own calls is seen.  Only graphs used by plain calls alone: the others' outputs mean more.  Of
 * graphs that loops use, outputs that autodiff added go, since they are kept for every turn, and inputs
 * that are not carried.
 * After: every output of a graph used by plain calls is read by every call of it, and every input by an op
 * or output. */
#include "compiler/passes/pass.h"

#include <string.h>

enum { MAX_CLONES = 4 };

static int calls_only(const Graph *g, int loops_too)
{
	for (int i = 0; i < g->calls.n; i++)
		if (g->calls.at[i]->code != OP_call && !(loops_too && g->calls.at[i]->code == OP_repeat)) return 0;
	return g->calls.n > 0;
}

static int plain_calls_only(const Graph *g) { return calls_only(g, 0); }

static char *results_read(PassCx *cx, const Op *call)
{
	char *read = NEWN(cx->mem, char, call->out.n + 1);

	for (int i = 0; i < call->out.n; i++) read[i] = (char)is_used(call->out.at[i]);
	return read;
}

/* a clone for every set of results but the first, as long as there are few sets */
static void split_by_use(PassCx *cx, Graph *g)
{
	struct { char *read; Graph *g; } set[MAX_CLONES];
	OpList calls = { 0 };
	size_t n = (size_t)g->outputs.n;
	int sets = 0, which;

	for (int i = 0; i < g->calls.n; i++) vec_push(cx->mem, &calls, g->calls.at[i]);
	for (int i = 0; i < calls.n; i++) {
		char *read = results_read(cx, calls.at[i]);
		for (which = 0; which < sets && memcmp(set[which].read, read, n); which++) {}
		if (which == MAX_CLONES) return;         /* too many: all of them read the union */
		if (which < sets) continue;
		set[sets].read = read;
		set[sets++].g = NULL;
	}
	for (int i = 0; sets > 1 && i < calls.n; i++) {
		char *read = results_read(cx, calls.at[i]);
		for (which = 0; memcmp(set[which].read, read, n); which++) {}
		if (!which) continue;
		if (!set[which].g) set[which].g = clone_graph(g);
		set_callee(calls.at[i], 0, set[which].g);
	}
}

static int drop_outputs(Graph *g, int from)
{
	int dropped = 0;

	for (int k = g->outputs.n - 1; k >= from; k--) {
		int read = 0;
		for (int i = 0; i < g->calls.n && !read; i++) read = is_used(g->calls.at[i]->out.at[k]);
		if (read) continue;
		ir_remove_output(g, k);
		dropped = 1;
	}
	return dropped;
}

/* how the operands behind i are read moves with them */
static void drop_rows(Op *loop, int i)
{
	AttrVal *rows = &loop->attr[op_param(op_def(loop), "_rows")];
	int64_t *at = arena_dup(loop->graph->ir->mem, rows->ints.at, (size_t)rows->ints.n * sizeof *at);

	if (rows->ints.n <= i) return;
	memmove(at + i, at + i + 1, (size_t)(rows->ints.n - i - 1) * sizeof *at);
	rows->ints.at = at;
	rows->ints.n--;
}

static void drop_operand(Op *call, int i)
{
	if (call->code == OP_repeat && op_attr(call, "_rows")->ints.n) drop_rows(call, i);
	for (int k = i; k + 1 < call->in.n; k++) ir_set_input(call, k, call->in.at[k + 1]);
	ir_set_input(call, call->in.n - 1, NULL);
	call->in.n--;
	if (call->modified.n <= i) return;
	memmove(call->modified.at + i, call->modified.at + i + 1, (size_t)(call->modified.n - i - 1));
	call->modified.n--;
}

static void drop_input(Graph *g, int i)
{
	Tensor *t = g->inputs.at[i];
	int n = 0;

	for (int k = 0; k < g->calls.n; k++) drop_operand(g->calls.at[k], i);
	for (int k = i; k + 1 < g->inputs.n; k++) {
		g->inputs.at[k] = g->inputs.at[k + 1];
		g->inputs.at[k]->input_index = k;
	}
	g->inputs.n--;
	map_del(&g->names, t->name);
	for (int k = 0; k < g->tensors.n; k++)
		if (g->tensors.at[k] != t) g->tensors.at[n++] = g->tensors.at[k];
	g->tensors.n = n;
	g->ir->stamp++;
}

static void prune_graph(PassCx *cx, Graph *g, const char *effects)
{
	int plain = plain_calls_only(g);

	if (calls_only(g, 1) && drop_outputs(g, plain ? 0 : g->written_outputs)) remove_dead(cx, g, effects);
	if (!calls_only(g, 1)) return;
	for (int i = g->inputs.n - 1; i >= (plain ? 0 : g->written_outputs); i--)
		if (!is_used(g->inputs.at[i])) drop_input(g, i);
}

int pass_prune(PassCx *cx)
{
	Graph **order = callees_first(cx->ir, cx->mem);
	char *effects = graph_effects(cx->ir, cx->mem);
	int n = cx->ir->graphs.n, before = n;

	for (int i = 0; i < n; i++) remove_dead(cx, cx->ir->graphs.at[i], effects);
	for (int i = n - 1; i >= 0; i--) {               /* callers first */
		before = cx->ir->graphs.n;
		if (plain_calls_only(order[i])) split_by_use(cx, order[i]);
		effects = before == cx->ir->graphs.n ? effects : graph_effects(cx->ir, cx->mem);
		for (int k = before; k < cx->ir->graphs.n; k++) prune_graph(cx, cx->ir->graphs.at[k], effects);
		prune_graph(cx, order[i], effects);
	}
	return pass_trim(cx);
}
