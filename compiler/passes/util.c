/* util.c — questions and small edits that several passes share. */
#include "compiler/passes/pass.h"

#include <string.h>

int output_position(const Tensor *t)
{
	for (int i = 0; i < t->graph->outputs.n; i++)
		if (t->graph->outputs.at[i] == t) return i;
	return -1;
}

int is_output(const Tensor *t) { return output_position(t) >= 0; }
int sole_user(const Tensor *t) { return t->uses.n == 1 && !is_output(t); }
int is_used(const Tensor *t) { return t->uses.n > 0 || is_output(t); }

int op_modifies_any(const Op *op)
{
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && op_modifies(op, i)) return 1;
	return 0;
}

int same_layout(const Layout *a, Shape as, const Layout *b, Shape bs)
{
	if (a->root != b->root || a->offset != b->offset || !shape_eq(as, bs)) return 0;
	for (int i = 0; i < as.rank; i++)
		if (as.dim[i] != 1 && a->stride[i] != b->stride[i]) return 0;
	return 1;
}

int plain_product(const Op *op)
{
	const Tensor *a = op->in.at[0], *b = op->in.at[1];
	DType t = op->out.at[0]->spec.dtype;

	return (t == DT_F32 || t == DT_F64) && a->spec.dtype == t && a->spec.shape.rank >= 2 && b->spec.shape.rank >= 2;
}

/* --- attributes ------------------------------------------------------------------------------------------------ */

static int same_attr(const Param *p, const AttrVal *a, const AttrVal *b)
{
	if (a->set != b->set) return 0;
	if (!a->set) return 1;
	switch (p->kind) {
	case P_INT: case P_COUNT: case P_BOOL: case P_DTYPE: case P_GROUP: return a->i == b->i;
	case P_FLOAT: case P_SCALAR: return !memcmp(&a->f, &b->f, sizeof a->f);
	case P_STR: return a->s == b->s || (a->s && b->s && !strcmp(a->s, b->s));
	case P_INTS: case P_SHAPE:
		return a->ints.n == b->ints.n && (!a->ints.n || !memcmp(a->ints.at, b->ints.at, (size_t)a->ints.n * sizeof *a->ints.at));
	case P_FLOATS:
		return a->floats.n == b->floats.n && (!a->floats.n || !memcmp(a->floats.at, b->floats.at, (size_t)a->floats.n * sizeof *a->floats.at));
	case P_HINT: return 1;
	default: return a->p == b->p;
	}
}

int same_attrs(const Op *a, const Op *b)
{
	const Param *p = op_def(a)->params;

	for (int i = 0; p && p[i].kind != P_END; i++)
		if (!same_attr(&p[i], &a->attr[i], &b->attr[i])) return 0;
	return 1;
}

/* --- constants --------------------------------------------------------------------------------------------------- */

int constant_value(const Tensor *t, double *x)
{
	int64_t n = shape_nelems(t->spec.shape);
	const void *bytes;

	if (t->kind != T_CONSTANT || !t->data || n < 1 || dtype_is_f8(t->spec.dtype)) return 0;
	if (t->data->init.kind != INIT_DATA && t->data->init.kind != INIT_ZEROS && t->data->init.kind != INIT_FULL) return 0;
	if (t->data->init.kind == INIT_ZEROS) return *x = 0, 1;
	if (n > 64) return 0;                            /* not worth looking at */
	bytes = host_bytes(t->graph->ir->mem, t->data, t->graph->ir->seed);
	*x = rt_get(t->spec.dtype, bytes, 0);
	for (int64_t i = 1; i < n; i++) {
		double y = rt_get(t->spec.dtype, bytes, (size_t)i);
		if (memcmp(&y, x, sizeof y)) return 0;
	}
	return 1;
}

int bind_alone(Arena *mem, Pattern *p, const Op *op)
{
	int *node = NEWN(mem, int, op->in.n + 1);

	*p = (Pattern){ .shape = op->out.at[0]->spec.shape };
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i]) node[i] = fuse_load(mem, p, i, op->in.at[i]->spec.dtype, op->at);
	return fuse_bind(mem, p, op, node, NULL);
}

/* a constant divisor other than 0, or a constant exponent that is not negative */
static int harmless(const FuseNode *n, const Op *op, int power)
{
	double x = (double)n->i;

	if (n->kind != FUSE_CONST && (n->kind != FUSE_LOAD || !constant_value(op->in.at[n->operand], &x))) return 0;
	return power ? x >= 0 : x != 0;
}

int pattern_fails(const Pattern *p, const Op *op)
{
	for (int i = 0; i < p->nodes.n; i++) {
		const FuseNode *n = &p->nodes.at[i];
		int power = n->prim == FP_pow;
		if (n->kind != FUSE_PRIM || n->cls == PXLRT_F32 || n->cls == PXLRT_F64) continue;
		if (n->prim != FP_div && n->prim != FP_mod && !power) continue;
		if (!harmless(&p->nodes.at[n->arg[1]], op, power)) return 1;
	}
	return 0;
}

int same_place(const Op *a, const Op *b)
{
	return a->ipu == b->ipu && a->tiles == b->tiles && a->exec == b->exec;
}

/* --- edits ---------------------------------------------------------------------------------------------------------- */

Build build_at(const Op *op)
{
	Build b = ir_build(op->graph);

	b.at = op->at;
	b.chain = op->chain;
	b.ipu = op->ipu;
	b.tiles = op->tiles;
	b.exec = op->exec;
	return b;
}

const char *take_name(Tensor *old)
{
	const char *name = old->name;

	map_del(&old->graph->names, name);
	old->name = "";
	return name;
}

void set_viewing(Op *op, int viewing)
{
	op->inplace = viewing;
	op->graph->ir->stamp++;
	op->graph->ir->moved++;
}

/* The copy reads in site's stead, so it keeps site's place in the order of accesses. */
Tensor *insert_copy(const Op *site, Tensor *t)
{
	Build b = build_at(site);
	Op *copy = ir_op(&b, OP_copy, &t, 1, NULL, arena_printf(b.ir->mem, "%s_copy", t->name));

	for (int i = 0; i < site->after.n; i++) run_after(copy, site->after.at[i]);
	return copy->out.at[0];
}

/* --- rewriting ---------------------------------------------------------------------------------------------------------- */

Rewrite rewrite_begin(PassCx *cx, Graph *g)
{
	return (Rewrite){ cx, g, { 0 } };
}

int rewrite_has(const Rewrite *rw, const Op *op)
{
	return map_has(&rw->moved, op);
}

void rewrite_replace_by(Rewrite *rw, Op *op, Tensor *const *with, OpList *made)
{
	for (int i = 0; i < made->n; i++)
		for (int k = 0; k < op->after.n; k++) run_after(made->at[i], op->after.at[k]);
	for (int i = 0; i < op->out.n; i++)
		if (with[i]) ir_replace_uses(op->out.at[i], with[i]);
	map_set(rw->cx->mem, &rw->moved, op, made);
}

void rewrite_replace(Rewrite *rw, Op *op, Tensor *const *with, int mark)
{
	OpList *made = NEW(rw->cx->mem, OpList);

	for (int i = mark; i < rw->g->ops.n; i++) vec_push(rw->cx->mem, made, rw->g->ops.at[i]);
	rewrite_replace_by(rw, op, with, made);
}

/* what stands for op now: itself, or what it became, however often that was replaced again */
static void resolve(const Rewrite *rw, Op *op, OpList *out)
{
	const OpList *made = map_get(&rw->moved, op);

	if (!made) vec_push(rw->cx->mem, out, op);
	for (int i = 0; made && i < made->n; i++) resolve(rw, made->at[i], out);
}

static void move_constraints(const Rewrite *rw, Op *op)
{
	OpList now = { 0 };

	for (int i = 0; i < op->after.n; i++) {
		OpList *made = map_get(&rw->moved, op->after.at[i]);
		if (made && !made->n) vec_push(rw->cx->mem, &now, op->after.at[i]);      /* removal passes its own on */
		else resolve(rw, op->after.at[i], &now);
	}
	op->after.n = 0;
	for (int i = 0; i < now.n; i++) run_after(op, now.at[i]);
}

void rewrite_end(Rewrite *rw)
{
	char *dead = NEWN(rw->cx->mem, char, rw->g->ops.n + 1);

	if (!rw->moved.n) return;
	for (int i = 0; i < rw->g->ops.n; i++) {
		Op *op = rw->g->ops.at[i];
		dead[i] = (char)rewrite_has(rw, op);
		if (!dead[i]) move_constraints(rw, op);
	}
	ir_remove_ops(rw->g, dead);
}

int rewrite_ops(PassCx *cx, void (*rule)(Rewrite *rw, const Written *w, Op *op))
{
	for (int i = 0; i < cx->ir->graphs.n; i++) {
		Graph *g = cx->ir->graphs.at[i];
		Rewrite rw = rewrite_begin(cx, g);
		Written w = written_roots(cx, g);
		int n = g->ops.n;

		for (int k = 0; k < n; k++)
			if (!rewrite_has(&rw, g->ops.at[k])) rule(&rw, &w, g->ops.at[k]);
		rewrite_end(&rw);
	}
	return 1;
}

/* --- whole graphs ----------------------------------------------------------------------------------------------------- */

Written written_roots(PassCx *cx, Graph *g)
{
	Written w = { 0 };

	for (int i = 0; i < g->ops.n; i++) {
		Op *op = g->ops.at[i];
		for (int k = 0; k < op->in.n; k++)
			if (op->in.at[k] && op_modifies(op, k)) map_set(cx->mem, &w.root, storage_root(op->in.at[k]), g);
	}
	return w;
}

int is_written(const Written *w, Tensor *t)
{
	return w->root.n && map_has(&w->root, storage_root(t));
}

static int reads_written(const Written *w, const Op *op)
{
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && is_written(w, op->in.at[i])) return 1;
	return 0;
}

int may_move(const Written *w, const Op *op, const Op *user, Tensor *bias)
{
	if (!reads_written(w, op)) return 1;
	return !user->after.n && (!bias || !storage_root(bias)->def);
}

void rewrite_join(Rewrite *rw, const Written *w, Op *op, Tensor *const *with, int mark)
{
	rewrite_replace(rw, op, with, reads_written(w, op) ? mark : rw->g->ops.n);
}

/* Depth first with a list of its own, since calls may nest deeply. */
Graph **callees_first(Ir *ir, Arena *mem)
{
	Graph **order = NEWN(mem, Graph *, ir->graphs.n + 1);
	char *state = NEWN(mem, char, ir->graphs.n + 1);         /* 1: on the list, 2: done */
	VEC(Graph *) todo = { 0 };
	int n = 0;

	for (int i = ir->graphs.n - 1; i >= 0; i--) vec_push(mem, &todo, ir->graphs.at[i]);
	while (todo.n) {
		Graph *g = vec_last(&todo);
		if (state[g->index]) {
			if (state[g->index] == 1) order[n++] = g;
			state[g->index] = 2;
			todo.n--;
			continue;
		}
		state[g->index] = 1;
		for (int i = g->ops.n - 1; i >= 0; i--)
			for (int k = 0; k < 2; k++) {
				Graph *c = g->ops.at[i]->callee[k];
				if (c && !state[c->index]) vec_push(mem, &todo, c);
			}
	}
	return order;
}

/* effects of graphs, callees first, so that shared callees are looked at once */
char *graph_effects(Ir *ir, Arena *mem)
{
	Graph **order = callees_first(ir, mem);
	char *effect = NEWN(mem, char, ir->graphs.n + 1);

	for (int i = 0; i < ir->graphs.n; i++)
		for (int k = 0; k < order[i]->ops.n && !effect[order[i]->index]; k++)
			effect[order[i]->index] = (char)op_has_effect(order[i]->ops.at[k], effect);
	return effect;
}

/* Must it run although nobody reads its results?  Writing to memory that others see counts; inside a
 * graph, writing to an input by value does not leave it, but dce keeps that too, for simplicity. */
int op_has_effect(const Op *op, const char *graph_effect)
{
	if (op_is(op, EFFECT) || op_modifies_any(op)) return 1;
	for (int k = 0; k < 2; k++)
		if (op->callee[k] && graph_effect[op->callee[k]->index]) return 1;
	return 0;
}
