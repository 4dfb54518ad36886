/* dce.c — remove what has no effect.
 *
 * Ops with effects stay, writing to memory being one; so does what outputs of graphs need, and whatever
 * any of these read.  A constraint alone keeps nothing alive. */
#include "compiler/passes/pass.h"

static void keep(PassCx *cx, OpList *todo, char *live, Op *op)
{
	if (!op || live[op->mark]) return;
	live[op->mark] = 1;
	vec_push(cx->mem, todo, op);
}

void remove_dead(PassCx *cx, Graph *g, const char *effects)
{
	char *live = NEWN(cx->mem, char, g->ops.n + 1);
	OpList todo = { 0 };
	int dead = 0;

	for (int i = 0; i < g->ops.n; i++) g->ops.at[i]->mark = i;
	for (int i = 0; i < g->ops.n; i++)
		if (op_has_effect(g->ops.at[i], effects)) keep(cx, &todo, live, g->ops.at[i]);
	for (int i = 0; i < g->outputs.n; i++) keep(cx, &todo, live, g->outputs.at[i]->def);
	while (todo.n) {
		Op *op = todo.at[--todo.n];
		for (int i = 0; i < op->in.n; i++)
			if (op->in.at[i]) keep(cx, &todo, live, op->in.at[i]->def);
	}
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
