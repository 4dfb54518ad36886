/* memplan.c — give every value an address.
 *
 * Each graph is scheduled; the value of a storage root lives from the step that makes it to the last
 * step that reads it, through any view.  A fused result may take the place of an operand that dies at
 * that step, so the two share a block.  Blocks of a graph's frame are placed by best fit: walking the
 * steps, a new block takes the smallest hole that holds it, else the end grows.  Where that wastes room and few
 * enough blocks live together, placing them by falling size, and by size times lifetime, is tried as well, and the
 * smallest frame wins.  A callee's frame is a block of its caller that lives for one step, so frames are planned callees first.
 *
 * After: every storage root that code touches has a Place, no two blocks that live at one step
 * overlap, and frame_bytes >= lower_bound, the most bytes that live at any one step. */
#include "compiler/passes/pass.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, BIN = 64, PAIRS_MAX = 8000000 };

typedef struct Block {
	size_t bytes, offset;
	int first, last;             /* steps */
	int call;                    /* position in order of the call whose frame it is, or -1 */
	int step;                    /* of the walk: order of appearance, for ties */
} Block;

typedef struct FramePlan {
	Ir *ir;
	Arena *mem;
	Plan *plan;
	Graph *g;
	GraphPlan *gp;
	int *block_of;               /* per tensor index: block of a root, or -1 */
	VEC(Block) blocks;
} FramePlan;

static size_t round_up(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static size_t tensor_bytes(const Tensor *t)
{
	size_t n = (size_t)shape_nelems(t->spec.shape) * dtype_size(t->spec.dtype);

	return n ? n : 1;
}

/* --- regions ------------------------------------------------------------------------------------------------ */

/* those that nothing writes are read where the host has them: no copy on the device */
static void place_variables(Ir *ir, Plan *p, Arena *mem)
{
	Written w = written_roots(&(PassCx){ ir, mem, 0 }, ir->main);

	for (int i = 0; i < ir->main->tensors.n; i++) {
		const Tensor *t = ir->main->tensors.at[i];
		if (t->kind != T_VARIABLE || t->remote) continue;
		if (!map_has(&w.root, t)) {
			p->place[t->index] = (Place){ SPACE_FIXED, 0, tensor_bytes(t), p->nfixed++ };
			p->fixed_bytes += round_up(tensor_bytes(t));
			continue;
		}
		p->place[t->index] = (Place){ SPACE_VARS, p->var_bytes, tensor_bytes(t), 0 };
		p->var_bytes += round_up(tensor_bytes(t));
	}
}

static size_t entry_bytes(const RemoteBuffer *b) { return (size_t)shape_nelems(b->spec.shape) * dtype_size(b->spec.dtype); }

/* buffers one behind the other, each a row of entries; variables that stand for entries lie in them */
static void place_buffers(const Ir *ir, Plan *p, Arena *mem)
{
	p->buffer = NEWN(mem, size_t, ir->buffers.n + 1);
	for (int i = 0; i < ir->buffers.n; i++) {
		p->buffer[i] = p->remote_bytes;
		p->remote_bytes += round_up(entry_bytes(ir->buffers.at[i]) * (size_t)ir->buffers.at[i]->entries);
	}
	for (int i = 0; i < ir->main->tensors.n; i++) {
		const Tensor *t = ir->main->tensors.at[i];
		if (!t->remote) continue;
		p->place[t->index] = (Place){ SPACE_REMOTE, p->buffer[t->remote->id] + entry_bytes(t->remote) * (size_t)t->entry, tensor_bytes(t), 0 };
	}
}

/* graphs that repeat a constant, as gradient graphs do, share its bytes */
static void place_constants(const Ir *ir, Plan *p, Arena *mem)
{
	Map known = { 0 };

	for (int k = 0; k < ir->graphs.n; k++) {
		const Graph *g = ir->graphs.at[k];
		for (int i = 0; i < g->tensors.n; i++) {
			const Tensor *t = g->tensors.at[i], *same;
			if (t->kind != T_CONSTANT || !is_used(t)) continue;
			if ((same = map_get(&known, t->data))) {
				p->place[t->index] = p->place[same->index];
				continue;
			}
			p->place[t->index] = (Place){ SPACE_CONSTS, p->const_bytes, tensor_bytes(t), 0 };
			p->const_bytes += round_up(tensor_bytes(t));
			map_set(mem, &known, t->data, (void *)(uintptr_t)t);
		}
	}
}

/* --- lifetimes ---------------------------------------------------------------------------------------------- */

static void uses_until(FramePlan *f, Tensor *t, int step)
{
	Tensor *root = storage_root(t);

	if (f->gp->last[root->index] < step) f->gp->last[root->index] = step;
	if (f->gp->last[t->index] < step) f->gp->last[t->index] = step;
}

static void find_lifetimes(FramePlan *f)
{
	Graph *g = f->g;

	for (int i = 0; i < g->tensors.n; i++) f->gp->first[g->tensors.at[i]->index] = f->gp->last[g->tensors.at[i]->index] = 0;
	for (int s = 0; s < f->gp->nop; s++) {
		Op *op = f->gp->order[s];
		for (int i = 0; i < op->in.n; i++)
			if (op->in.at[i]) uses_until(f, op->in.at[i], s);
		for (int i = 0; i < op->out.n; i++) {
			f->gp->first[op->out.at[i]->index] = s;
			uses_until(f, op->out.at[i], s);
		}
	}
	for (int i = 0; i < g->outputs.n; i++) uses_until(f, g->outputs.at[i], f->gp->nop);
}

/* --- blocks -------------------------------------------------------------------------------------------------- */

static int new_block(FramePlan *f, size_t bytes, int first, int last, int call)
{
	Block b = { round_up(bytes), 0, first, last, call, f->blocks.n };

	vec_push(f->mem, &f->blocks, b);
	return f->blocks.n - 1;
}

/* May result k of a fused op be stored over operand i?  Element for element, if the operand is read in
 * just the order in which the result is written, and nobody reads it later. */
static int can_replace(FramePlan *f, const Op *op, int k, int i, int step)
{
	Tensor *y = op->out.at[k], *x = op->in.at[i];
	Layout l = layout_of(x);

	if (op_pattern(op)->outs.at[k].fold || f->block_of[l.root->index] < 0 || f->gp->last[l.root->index] != step) return 0;
	if (dtype_size(x->spec.dtype) != dtype_size(y->spec.dtype) || !shape_eq(x->spec.shape, y->spec.shape)) return 0;
	if (!layout_contiguous(&l, x->spec.shape) || l.offset) return 0;
	return tensor_bytes(l.root) == tensor_bytes(x);
}

/* operands of a fused op must be read in one way only for their memory to be taken */
static int read_once(const Op *op, int i)
{
	const Tensor *root = storage_root(op->in.at[i]);

	for (int k = 0; k < op->in.n; k++)
		if (k != i && op->in.at[k] && storage_root(op->in.at[k]) == root) return 0;
	return 1;
}

static int take_over(FramePlan *f, const Op *op, int k, int step, char *taken)
{
	const Pattern *p = op_pattern(op);
	int from = op->code == OP_gemm ? 2 : 0;          /* a product reads its operands to the end, and its memory is written before any other */

	if (!p || (op->code == OP_gemm && (k == p->product || k >= p->outs.n))) return -1;
	for (int i = from; i < op->in.n; i++) {
		Tensor *root;
		if (!op->in.at[i] || taken[i] || !can_replace(f, op, k, i, step) || !read_once(op, i)) continue;
		if (pattern_writes(p, i)) continue;      /* that memory gets another result */
		taken[i] = 1;
		root = storage_root(op->in.at[i]);
		return f->block_of[root->index];
	}
	return -1;
}

static void place_result(FramePlan *f, Op *op, int k, int step, char *taken)
{
	Tensor *t = op->out.at[k];
	int pos, b;

	if (storage_root(t) != t) return;
	if (op_hands_out(op, k)) {
		f->plan->place[t->index] = (Place){ SPACE_STREAM, 0, tensor_bytes(t), 0 };
		return;
	}
	pos = f->g == f->ir->main ? -1 : output_position(t);
	if (pos >= 0) {
		f->plan->place[t->index] = (Place){ SPACE_PARAM, 0, tensor_bytes(t), f->g->inputs.n + pos };
		return;
	}
	b = take_over(f, op, k, step, taken);
	if (b < 0) b = new_block(f, tensor_bytes(t), step, f->gp->last[t->index], -1);
	else if (f->blocks.at[b].last < f->gp->last[t->index]) f->blocks.at[b].last = f->gp->last[t->index];
	f->block_of[t->index] = b;
}

static void make_blocks(FramePlan *f)
{
	Graph *g = f->g;

	for (int i = 0; i < g->tensors.n; i++) f->block_of[g->tensors.at[i]->index] = -1;
	for (int i = 0; i < g->inputs.n; i++) {
		Tensor *t = g->inputs.at[i];
		f->plan->place[t->index] = (Place){ SPACE_PARAM, 0, tensor_bytes(t), i };
	}
	for (int s = 0; s < f->gp->nop; s++) {
		Op *op = f->gp->order[s];
		char *taken = NEWN(f->mem, char, op->in.n + 1);
		size_t bytes = op_is(op, CALLS) ? call_bytes(op, f->plan) : 0;

		for (int k = 0; k < op->out.n; k++) place_result(f, op, k, s, taken);
		if (bytes) new_block(f, bytes, s, s, s);
	}
}

/* --- bounds ---------------------------------------------------------------------------------------------------- */

static void find_bound(FramePlan *f)
{
	size_t *born = NEWN(f->mem, size_t, f->gp->nop + 2), *dead = NEWN(f->mem, size_t, f->gp->nop + 2), live = 0;

	for (int i = 0; i < f->blocks.n; i++) {
		born[f->blocks.at[i].first] += f->blocks.at[i].bytes;
		dead[f->blocks.at[i].last + 1] += f->blocks.at[i].bytes;
	}
	for (int s = 0; s <= f->gp->nop; s++) {
		live += born[s];
		live -= dead[s];
		if (live <= f->gp->lower_bound) continue;
		f->gp->lower_bound = live;
		f->gp->peak_step = s;
	}
}

/* --- best fit, step by step ------------------------------------------------------------------------------------ */

typedef struct Hole { size_t offset, bytes; } Hole;
typedef VEC(Hole) Holes;

static size_t take_hole(Holes *h, size_t bytes, size_t *end)
{
	int best = -1;
	size_t at;

	for (int i = 0; i < h->n; i++)
		if (h->at[i].bytes >= bytes && (best < 0 || h->at[i].bytes < h->at[best].bytes)) best = i;
	if (best >= 0) {
		at = h->at[best].offset;
		h->at[best].offset += bytes;
		h->at[best].bytes -= bytes;
		if (!h->at[best].bytes) memmove(h->at + best, h->at + best + 1, (size_t)(--h->n - best) * sizeof *h->at);
		return at;
	}
	at = *end;
	if (h->n && vec_last(h).offset + vec_last(h).bytes == *end) at = h->at[--h->n].offset;     /* the last hole grows */
	*end = at + bytes;
	return at;
}

static void give_back(Arena *mem, Holes *h, size_t offset, size_t bytes)
{
	int i = h->n;

	vec_push(mem, h, ((Hole){ 0, 0 }));
	while (i > 0 && h->at[i - 1].offset > offset) i--;
	memmove(h->at + i + 1, h->at + i, (size_t)(h->n - 1 - i) * sizeof *h->at);
	h->at[i] = (Hole){ offset, bytes };
	if (i + 1 < h->n && h->at[i].offset + h->at[i].bytes == h->at[i + 1].offset) {
		h->at[i].bytes += h->at[i + 1].bytes;
		memmove(h->at + i + 1, h->at + i + 2, (size_t)(--h->n - i - 1) * sizeof *h->at);
	}
	if (i > 0 && h->at[i - 1].offset + h->at[i - 1].bytes == h->at[i].offset) {
		h->at[i - 1].bytes += h->at[i].bytes;
		memmove(h->at + i, h->at + i + 1, (size_t)(--h->n - i) * sizeof *h->at);
	}
}

static int by_last(const void *a, const void *b)
{
	const Block *x = *(Block *const *)a, *y = *(Block *const *)b;

	if (x->last != y->last) return x->last < y->last ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* blocks are in order of their first step already */
static size_t fit_by_step(FramePlan *f)
{
	Block **ends = NEWN(f->mem, Block *, f->blocks.n + 1);
	Holes holes = { 0 };
	size_t end = 0;
	int e = 0;

	for (int i = 0; i < f->blocks.n; i++) ends[i] = &f->blocks.at[i];
	if (f->blocks.n > 1) qsort(ends, (size_t)f->blocks.n, sizeof *ends, by_last);
	for (int i = 0; i < f->blocks.n; i++) {
		Block *b = &f->blocks.at[i];
		for (; e < f->blocks.n && ends[e]->last < b->first; e++) give_back(f->mem, &holes, ends[e]->offset, ends[e]->bytes);
		b->offset = take_hole(&holes, b->bytes, &end);
	}
	return end;
}

/* --- in another order: every block into the smallest gap between those placed before that live while it does -------- */

/* Blocks are in order of their first step: those that begin while b lives stand side by side.  Those that lived
 * before are found from the nearest step in front whose number is a multiple of BIN. */
typedef struct Lives {
	Block *at;
	int n;
	int *begins;                 /* per step: the first block that begins there or later */
	int *from, *alive;           /* per bin: where in `alive` the blocks begin that live on from before its first step */
} Lives;

static int bin_after(int step) { return step / BIN + 1; }

/* the work that pairs of blocks living together make, or that listing them takes */
static double count_pairs(const FramePlan *f, int *alive)
{
	int *begun = NEWN(f->mem, int, f->gp->nop + 3), *ended = NEWN(f->mem, int, f->gp->nop + 3);
	double pairs = 0;

	*alive = 0;
	for (int i = 0; i < f->blocks.n; i++) {
		begun[f->blocks.at[i].first + 1]++;
		ended[f->blocks.at[i].last + 1]++;
		if (*alive < PAIRS_MAX) *alive += f->blocks.at[i].last / BIN - f->blocks.at[i].first / BIN;
	}
	for (int s = 0; s <= f->gp->nop + 1; s++) {
		begun[s + 1] += begun[s];
		ended[s + 1] += ended[s];
	}
	for (int i = 0; i < f->blocks.n; i++) pairs += begun[f->blocks.at[i].last + 1] - ended[f->blocks.at[i].first];
	return pairs;
}

static Lives list_lives(FramePlan *f, int alive)
{
	int nbin = f->gp->nop / BIN + 2;
	Lives l = { f->blocks.at, f->blocks.n, NEWN(f->mem, int, f->gp->nop + 3), NEWN(f->mem, int, nbin + 2), NEWN(f->mem, int, alive + 1) };

	for (int i = 0; i < l.n; i++) {
		l.begins[l.at[i].first + 1]++;
		for (int b = bin_after(l.at[i].first); b * BIN <= l.at[i].last; b++) l.from[b + 1]++;
	}
	for (int s = 0; s <= f->gp->nop + 1; s++) l.begins[s + 1] += l.begins[s];
	for (int b = 0; b <= nbin; b++) l.from[b + 1] += l.from[b];
	int *next = NEWN(f->mem, int, nbin + 2);
	for (int b = 0; b <= nbin; b++) next[b] = l.from[b];
	for (int i = 0; i < l.n; i++)
		for (int b = bin_after(l.at[i].first); b * BIN <= l.at[i].last; b++) l.alive[next[b]++] = i;
	return l;
}

static void add_neighbour(const Lives *l, int i, const Block *b, const char *placed, Block **out, int *n)
{
	if (placed[i] && l->at[i].last >= b->first) out[(*n)++] = &l->at[i];
}

/* blocks that are placed and live at a step at which b does */
static int neighbours(const Lives *l, const Block *b, const char *placed, Block **out)
{
	int bin = b->first / BIN, n = 0;

	for (int i = l->from[bin]; i < l->from[bin + 1]; i++) add_neighbour(l, l->alive[i], b, placed, out, &n);
	for (int i = l->begins[bin * BIN]; i < l->begins[b->last + 1]; i++) add_neighbour(l, i, b, placed, out, &n);
	return n;
}

static int by_offset(const void *a, const void *b)
{
	const Block *x = *(Block *const *)a, *y = *(Block *const *)b;

	if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static size_t find_gap(Block **placed, int n, const Block *b)
{
	size_t end = 0, best = SIZE_MAX, at = SIZE_MAX;

	if (n > 1) qsort(placed, (size_t)n, sizeof *placed, by_offset);
	for (int i = 0; i < n; i++) {
		const Block *p = placed[i];
		if (p->offset >= end + b->bytes && p->offset - end < best) {
			best = p->offset - end;
			at = end;
		}
		if (p->offset + p->bytes > end) end = p->offset + p->bytes;
	}
	return at == SIZE_MAX ? end : at;
}

static int by_size(const void *a, const void *b)
{
	const Block *x = *(Block *const *)a, *y = *(Block *const *)b;

	if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static double area(const Block *b) { return (double)b->bytes * (b->last - b->first + 1); }

static int by_area(const void *a, const void *b)
{
	const Block *x = *(Block *const *)a, *y = *(Block *const *)b;

	if (area(x) != area(y)) return area(x) > area(y) ? -1 : 1;
	return by_size(a, b);
}

typedef int (*BlockOrder)(const void *, const void *);

static size_t fit_in_order(FramePlan *f, const Lives *l, BlockOrder order)
{
	Block **todo = NEWN(f->mem, Block *, l->n + 1), **near = NEWN(f->mem, Block *, l->n + 1);
	char *placed = NEWN(f->mem, char, l->n + 1);
	size_t end = 0;

	for (int i = 0; i < l->n; i++) todo[i] = &l->at[i];
	qsort(todo, (size_t)l->n, sizeof *todo, order);
	for (int i = 0; i < l->n; i++) {
		Block *b = todo[i];

		b->offset = find_gap(near, neighbours(l, b, placed, near), b);
		placed[b - l->at] = 1;
		if (b->offset + b->bytes > end) end = b->offset + b->bytes;
	}
	return end;
}

/* the first order that is best; very large graphs are left as they are */
static void fit(FramePlan *f)
{
	static const BlockOrder orders[] = { by_size, by_area };
	size_t best = fit_by_step(f);
	int chosen = -1, last = -1, alive;
	Lives l;

	f->gp->frame_bytes = best;
	if (best == f->gp->lower_bound || count_pairs(f, &alive) > PAIRS_MAX || alive >= PAIRS_MAX) return;
	l = list_lives(f, alive);
	for (int i = 0; i < 2 && best > f->gp->lower_bound; i++) {
		size_t bytes = fit_in_order(f, &l, orders[i]);
		last = i;
		if (bytes >= best) continue;
		best = bytes;
		chosen = i;
	}
	f->gp->frame_bytes = best;
	if (chosen < 0) fit_by_step(f);
	else if (chosen != last) fit_in_order(f, &l, orders[chosen]);
}

/* --- putting it together ------------------------------------------------------------------------------------------ */

static int plan_graph(Plan *p, Ir *ir, Graph *g, Arena *mem, int *block_of, Stores *stores)
{
	FramePlan f = { .ir = ir, .mem = mem, .plan = p, .g = g, .gp = &p->graph[g->index], .block_of = block_of };

	f.gp->order = schedule(g, mem);
	if (!f.gp->order) return 0;
	f.gp->nop = g->ops.n;
	f.gp->call_frame = NEWN(mem, size_t, f.gp->nop + 1);
	find_lifetimes(&f);
	stores_settle(stores, g, f.gp);
	make_blocks(&f);
	find_bound(&f);
	fit(&f);
	for (int i = 0; i < g->tensors.n; i++) {
		Tensor *t = g->tensors.at[i];
		int b = block_of[t->index];
		if (b >= 0)
			p->place[t->index] = (Place){ t->host ? SPACE_HOST : SPACE_FRAME, f.blocks.at[b].offset, tensor_bytes(t), t->host ? t->host->index : 0 };
	}
	for (int i = 0; i < f.blocks.n; i++)
		if (f.blocks.at[i].call >= 0) f.gp->call_frame[f.blocks.at[i].call] = f.blocks.at[i].offset;
	return 1;
}

Plan *memplan(Ir *ir, Arena *mem)
{
	Plan *p = NEW(mem, Plan);
	Graph **order = callees_first(ir, mem);
	int *first = NEWN(mem, int, ir->ntensor + 1), *last = NEWN(mem, int, ir->ntensor + 1);
	int *block_of = NEWN(mem, int, ir->ntensor + 1);
	Stores *stores = stores_begin(ir, mem);

	p->place = NEWN(mem, Place, ir->ntensor + 1);
	p->graph = NEWN(mem, GraphPlan, ir->graphs.n + 1);
	place_variables(ir, p, mem);
	place_buffers(ir, p, mem);
	place_constants(ir, p, mem);
	for (int i = 0; i < ir->graphs.n; i++) {
		p->graph[order[i]->index].first = first;
		p->graph[order[i]->index].last = last;
		if (!plan_graph(p, ir, order[i], mem, block_of, stores)) return NULL;
	}
	p->frame_bytes = p->graph[ir->main->index].frame_bytes;
	return p;
}
