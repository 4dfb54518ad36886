/* dce.c — remove what has no effect.
 *
 * Ops with effects stay, writing to memory being one; so does what outputs of graphs need, and whatever
 * any of these read.  A constraint alone keeps nothing alive.
 * An op that can fail (OpDef.fails) stays although nothing reads its results, or leaves a cheaper op that fails
 * in the same cases (OpDef.check), so that every -O reports the same errors. */
#include "compiler/passes/pass.h"

typedef struct Live {
	PassCx *cx;
	Graph *g;
	char *live;              /* by op->mark */
	OpList todo;
	char *failing;           /* per graph index: can running it fail; NULL: not asked yet */
} Live;

static void keep(Live *l, Op *op)
{
	if (!op || l->live[op->mark]) return;
	l->live[op->mark] = 1;
	vec_push(l->cx->mem, &l->todo, op);
}

static void spread(Live *l)
{
	while (l->todo.n) {
		Op *op = l->todo.at[--l->todo.n];
		for (int i = 0; i < op->in.n; i++)
			if (op->in.at[i]) keep(l, op->in.at[i]->def);
	}
}

/* --- what can fail ------------------------------------------------------------------------------------------ */

static int reads_integers(const Op *op)
{
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && dtype_is_int(op->in.at[i]->spec.dtype)) return 1;
	return 0;
}

static int eltwise_fails(PassCx *cx, const Op *op)
{
	Pattern p;

	return reads_integers(op) && shape_nelems(op->out.at[0]->spec.shape) && bind_alone(cx->mem, &p, op) >= 0 && pattern_fails(&p, op);
}

static int can_fail(PassCx *cx, const Op *op, const char *failing)
{
	const OpDef *d = op_def(op);

	for (int k = 0; k < 2; k++)
		if (op->callee[k] && failing[op->callee[k]->index]) return 1;
	return d->fails ? d->fails(op) : op_is(op, ELTWISE) && eltwise_fails(cx, op);
}

static char *failing_graphs(PassCx *cx)
{
	Graph **order = callees_first(cx->ir, cx->mem);
	char *failing = NEWN(cx->mem, char, cx->ir->graphs.n + 1);

	for (int i = 0; i < cx->ir->graphs.n; i++)
		for (int k = 0; k < order[i]->ops.n && !failing[order[i]->index]; k++)
			failing[order[i]->index] = (char)can_fail(cx, order[i]->ops.at[k], failing);
	return failing;
}

/* asked of dead ops only, so graphs are looked at only where a call is dead */
static int dead_can_fail(Live *l, const Op *op)
{
	if (op_is(op, CALLS) && !l->failing) l->failing = failing_graphs(l->cx);
	return can_fail(l->cx, op, l->failing);
}

/* --- the pass ------------------------------------------------------------------------------------------------- */

static char *live_ops(Live *l, const char *effects)
{
	Graph *g = l->g;

	l->live = NEWN(l->cx->mem, char, g->ops.n + 1);
	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < g->ops.n; i++)
		if (op_has_effect(g->ops.at[i], effects)) keep(l, g->ops.at[i]);
	for (int i = 0; i < g->outputs.n; i++) keep(l, g->outputs.at[i]->def);
	spread(l);
	for (int i = 0; i < g->ops.n; i++)
		if (!l->live[i] && !op_def(g->ops.at[i])->check && dead_can_fail(l, g->ops.at[i])) keep(l, g->ops.at[i]);
	spread(l);
	return l->live;
}

/* dead ops give way to what fails as they would */
static int leave_checks(Live *l, const char *live)
{
	Graph *g = l->g;
	Rewrite rw = rewrite_begin(l->cx, g);
	int n = g->ops.n, any = 0;

	for (int i = 0; i < n; i++) {
		Op *op = g->ops.at[i];
		Build b = build_at(op);
		int mark = g->ops.n;
		if (live[i] || !op_def(op)->check || !dead_can_fail(l, op)) continue;
		op_def(op)->check(&b, op);
		for (int k = mark; k < g->ops.n; k++) g->ops.at[k]->instead = op_said(op);
		rewrite_replace(&rw, op, NEWN(l->cx->mem, Tensor *, op->out.n + 1), mark);
		any = 1;
	}
	rewrite_end(&rw);
	return any;
}

void remove_dead(PassCx *cx, Graph *g, const char *effects)
{
	Live l = { .cx = cx, .g = g };
	char *live = live_ops(&l, effects);
	int dead = 0;

	if (leave_checks(&l, live)) live = live_ops(&l, effects);
	for (int i = 0; i < g->ops.n; i++) {
		live[i] = !live[i];
		dead |= live[i];
	}
	if (dead) ir_remove_ops(g, live);
}

int pass_dce(PassCx *cx)
{
	char *effects = graph_effects(cx->ir, cx->mem);

	for (int i = 0; i < cx->ir->graphs.n; i++) remove_dead(cx, cx->ir->graphs.at[i], effects);
	return 1;
}
