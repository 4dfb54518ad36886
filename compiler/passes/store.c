/* store.c — what the host is given is computed in its arrays.
 *
 * A stream to the host has an array of the caller's, and a store copies a tensor to its next entry.  Where nobody can tell the
 * difference the tensor's memory is that entry from the start, and the store has nothing left to do.  The pass marks tensors
 * that are stored whole; when a graph has its schedule, marks are taken back from those
 *   - that are written after the store: the host is owed what was stored;
 *   - between whose first step and whose store the stream gets another entry, here or in a graph that is called.
 * What a mark allows, a run may decline: the caller may have bound one array twice, or none, or made room for fewer
 * entries.  So the tensor keeps its place in the frame too, and `pxlrt.host_room` says which of the two it is.
 *
 * After: Tensor.host is set on storage roots alone, to a stream that the root is stored to. */
#include "compiler/passes/pass.h"

static int is_store(const Transfer *t) { return t->kind == MOVE_HOST_STORE && t->stream && t->t; }

static int is_whole(Tensor *t, const Layout *l)
{
	const Tensor *root = l->root;

	return layout_contiguous(l, t->spec.shape) && !l->offset && root->spec.dtype == t->spec.dtype &&
	       shape_nelems(root->spec.shape) == shape_nelems(t->spec.shape);
}

static void mark(const Transfer *t)
{
	Layout l = layout_of(t->t);

	if (l.root->kind != T_TENSOR || !l.root->def || op_hands_out(l.root->def, l.root->def_index)) return;
	if (is_output(l.root) && l.root->graph != l.root->graph->ir->main) return;       /* its caller says where it lies */
	if (is_whole(t->t, &l) && shape_nelems(t->t->spec.shape) > 0) l.root->host = t->stream;
}

int pass_store(PassCx *cx)
{
	for (int k = 0; k < cx->ir->graphs.n; k++) {
		Graph *g = cx->ir->graphs.at[k];
		for (int i = 0; i < g->ops.n; i++)
			for (int n = op_transfers(g->ops.at[i]); n > 0; n--) {
				Transfer t = op_transfer(g->ops.at[i], n - 1);
				if (is_store(&t)) mark(&t);
			}
	}
	return 1;
}

/* --- with the schedule -------------------------------------------------------------------------------------------- */

static int stores_itself(const Op *op)
{
	for (int n = op_transfers(op); n > 0; n--)
		if (op_transfer(op, n - 1).kind == MOVE_HOST_STORE) return 1;
	return 0;
}

static int calls_a_store(const Op *op, const char *in_graph)
{
	return (op->callee[0] && in_graph[op->callee[0]->index]) || (op->callee[1] && in_graph[op->callee[1]->index]);
}

struct Stores {
	Ir *ir;
	const GraphPlan *gp;
	char *in_graph;              /* per graph: running it stores something */
	int *written;                /* per tensor index of a root: the last step that writes its memory once it is there, or -1 */
	int *stored;                 /* per stream: the last step so far that stored to it, or -1 */
	int called;                  /* the last step so far that called a graph that stores, or -1 */
	char *fine;                  /* per tensor index: the mark stays */
};

Stores *stores_begin(Ir *ir, Arena *mem)
{
	Graph **order = callees_first(ir, mem);
	Stores *s = NEW(mem, Stores);

	s->ir = ir;
	s->in_graph = NEWN(mem, char, ir->graphs.n + 1);
	s->written = NEWN(mem, int, ir->ntensor + 1);
	s->fine = NEWN(mem, char, ir->ntensor + 1);
	s->stored = NEWN(mem, int, ir->streams.n + 1);
	for (int i = 0; i < ir->graphs.n; i++) {
		const Graph *g = order[i];
		for (int k = 0; k < g->ops.n && !s->in_graph[g->index]; k++)
			s->in_graph[g->index] = (char)(stores_itself(g->ops.at[k]) || calls_a_store(g->ops.at[k], s->in_graph));
	}
	return s;
}

static void begin_graph(Stores *s, const GraphPlan *gp)
{
	s->gp = gp;
	s->called = -1;
	for (int i = 0; i < s->ir->streams.n; i++) s->stored[i] = -1;
}

static void find_writes(Stores *s, const Graph *g)
{
	for (int i = 0; i < g->tensors.n; i++) s->written[g->tensors.at[i]->index] = -1;
	for (int k = 0; k < s->gp->nop; k++) {
		const Op *op = s->gp->order[k];
		for (int i = 0; i < op->in.n; i++)
			if (op->in.at[i] && op_modifies(op, i)) s->written[storage_root(op->in.at[i])->index] = k;
	}
}

static void settle_one(Stores *s, const Transfer *t, int step)
{
	Tensor *root = storage_root(t->t);
	int first = s->gp->first[root->index];

	if (root->host == t->stream && s->written[root->index] < step && s->stored[t->stream->index] < first && s->called < first)
		s->fine[root->index] = 1;
	s->stored[t->stream->index] = step;
}

static void settle_step(Stores *s, int step)
{
	const Op *op = s->gp->order[step];
	int n = op_transfers(op);

	for (int i = 0; i < n; i++) {
		Transfer t = op_transfer(op, i);
		if (is_store(&t)) settle_one(s, &t, step);
	}
	if (calls_a_store(op, s->in_graph)) s->called = step;
}

void stores_settle(Stores *s, Graph *g, const GraphPlan *gp)
{
	if (!s->in_graph[g->index]) return;
	begin_graph(s, gp);
	find_writes(s, g);
	for (int k = 0; k < gp->nop; k++) settle_step(s, k);
	for (int i = 0; i < g->tensors.n; i++)
		if (!s->fine[g->tensors.at[i]->index]) g->tensors.at[i]->host = NULL;
}
