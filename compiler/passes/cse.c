/* cse.c — share equal pure ops.
 *
 * Two ops are equal when op, attributes, place and operands are; equal small constants count as one
 * operand, and so do results of ops found equal before.  Memory that somebody writes is never the same
 * twice, so ops that read or give such memory are left alone.
 * After: no two pure ops of a graph that read only unwritten memory are equal. */
#include "compiler/passes/pass.h"

#include <string.h>

typedef struct Entry { Op *op; struct Entry *next; } Entry;
typedef struct Cse { PassCx *cx; Graph *g; Written w; Entry **slot; int nslot; } Cse;

static uint64_t mix(uint64_t h, uint64_t x)
{
	h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
	return h * 0xff51afd7ed558ccdu;
}

/* Of attributes only whole numbers, such as where slices begin: a tensor may be cut into many. */
static uint64_t attrs_key(const Op *op, uint64_t h)
{
	const Param *p = op_def(op)->params;

	for (int i = 0; p && p[i].kind != P_END; i++) {
		if (!op->attr[i].set) continue;
		if (p[i].kind == P_INT) h = mix(h, (uint64_t)op->attr[i].i);
		if (p[i].kind == P_INTS)
			for (int k = 0; k < op->attr[i].ints.n; k++) h = mix(h, (uint64_t)op->attr[i].ints.at[k]);
	}
	return h;
}

static uint64_t key(const Op *op)
{
	uint64_t h = attrs_key(op, mix(0, (uint64_t)op->code));

	for (int i = 0; i < op->in.n; i++) h = mix(h, op->in.at[i] ? (uint64_t)op->in.at[i]->index + 1 : 0);
	for (int i = 0; i < op->out.n; i++) {
		const Spec *s = &op->out.at[i]->spec;
		h = mix(h, (uint64_t)s->dtype);
		for (int k = 0; k < s->shape.rank; k++) h = mix(h, (uint64_t)s->shape.dim[k]);
	}
	return h;
}

static int equal(const Op *a, const Op *b)
{
	if (a->code != b->code || a->in.n != b->in.n || a->out.n != b->out.n) return 0;
	if (a->ipu != b->ipu || a->tiles != b->tiles || a->exec != b->exec) return 0;
	for (int i = 0; i < a->in.n; i++)
		if (a->in.at[i] != b->in.at[i]) return 0;
	for (int i = 0; i < a->out.n; i++)
		if (a->out.at[i]->spec.dtype != b->out.at[i]->spec.dtype || !shape_eq(a->out.at[i]->spec.shape, b->out.at[i]->spec.shape)) return 0;
	return same_attrs(a, b);
}

static int shareable(Cse *c, Op *op)
{
	if (!op_is(op, PURE) || op->inplace || op_is(op, CALLS) || op->code == OP_fused || !op->out.n || op_modifies_any(op)) return 0;
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && is_written(&c->w, op->in.at[i])) return 0;
	for (int i = 0; i < op->out.n; i++)
		if (is_written(&c->w, op->out.at[i])) return 0;
	return 1;
}

/* two results that both leave the graph must stay two */
static int both_leave(const Op *a, const Op *b)
{
	for (int i = 0; i < a->out.n; i++)
		if (is_output(a->out.at[i]) && is_output(b->out.at[i])) return 1;
	return 0;
}

static Op *find_equal(Cse *c, Op *op)
{
	Entry **slot = &c->slot[key(op) % (uint64_t)c->nslot];

	for (Entry *e = *slot; e; e = e->next)
		if (equal(e->op, op) && !both_leave(e->op, op)) return e->op;
	Entry *e = NEW(c->cx->mem, Entry);
	*e = (Entry){ op, *slot };
	*slot = e;
	return NULL;
}

/* --- constants ------------------------------------------------------------------------------------------------- */

static int equal_constants(const Tensor *a, const Tensor *b)
{
	size_t n;

	if (a->data == b->data) return 1;
	if (a->spec.dtype != b->spec.dtype || !shape_eq(a->spec.shape, b->spec.shape)) return 0;
	n = host_size(a->data);
	if (n > 256) return 0;
	return !memcmp(host_bytes(a->graph->ir->mem, a->data, a->graph->ir->seed), host_bytes(b->graph->ir->mem, b->data, b->graph->ir->seed), n);
}

/* few constants are many: those of one size are compared with those before, up to a limit */
static void share_constants(Cse *c)
{
	VEC(Tensor *) known = { 0 };

	for (int i = 0; i < c->g->tensors.n; i++) {
		Tensor *t = c->g->tensors.at[i], *found = NULL;
		if (t->kind != T_CONSTANT || is_output(t) || !t->uses.n || !t->data) continue;
		for (int k = 0; k < known.n && !found; k++)
			if (equal_constants(known.at[k], t)) found = known.at[k];
		if (found) ir_replace_uses(t, found);
		else if (known.n < 200) vec_push(c->cx->mem, &known, t);
	}
}

int pass_cse(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++) {
		Graph *g = cx->ir->graphs.at[i];
		Cse c = { .cx = cx, .g = g };
		Rewrite rw = rewrite_begin(cx, g);
		Op **order;

		share_constants(&c);
		if (!(order = schedule(g, cx->mem))) return 0;
		c.w = written_roots(cx, g);
		c.nslot = g->ops.n * 2 + 1;
		c.slot = NEWN(cx->mem, Entry *, c.nslot);
		for (int k = 0; k < g->ops.n; k++) {
			Op *same = shareable(&c, order[k]) ? find_equal(&c, order[k]) : NULL;
			if (same) rewrite_replace(&rw, order[k], same->out.at, g->ops.n);
		}
		rewrite_end(&rw);
	}
	return 1;
}
