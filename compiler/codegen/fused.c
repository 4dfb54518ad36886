/* fused.c — an elementwise group as one blocked loop.
 *
 * A group becomes a function of its own, `fuse_N(rt, ln, p, lo, hi)`, that computes a range of units
 * and is run through rt->each, so that large groups spread over threads.  Inside, values live in blocks of
 * PXLRT_BLOCK elements (more of them where all are small) that stay in the first cache; every node of the pattern is one call of a
 * primitive compiled ahead of time, integers in types of their own (narrow.c).  libtcc does not optimise, so no scalar loop is ever emitted.
 *
 * The iteration space is first collapsed: dimensions that all operands walk as one are merged.  Then
 *   one dimension     a unit is an element
 *   wide rows         a unit is a row, or a piece of it, cut into blocks
 *   narrow rows       a unit is a row; a block holds as many rows as fit, gathered and scattered row by row
 * An operand is read
 *   FLAT     at the position of the iteration: straight from memory when its type is its class's own
 *   SCALAR   one element for all: a block filled before the loop
 *   ROWS     by a row offset and an inner stride; when the row does not matter (a bias) offset 0
 *   TILED    a few elements over and over (a bias of channels in blocks), in a block that holds them as often as they fit
 * What follows a product (OP_gemm) is the same function of wide rows, called by the product for each part that it has done.
 * A result is computed straight into its memory unless a later load of the block may see it there.
 *
 * Operands are a, b, c …, results y, z …: groups that do the same work on the same shapes (one per layer, say)
 * share one function, and the caller's list of pointers shows what it works on. */
#include "compiler/codegen/fused.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* an index into the tables by dtype, with its name in a comment */
static const char *dt(const Fuse *f, DType t) { return arena_printf(f->e->mem, "%d /* %s */", (int)t, dtype_info[t].name); }

static int is_float(int cls) { return cls == PXLRT_F32 || cls == PXLRT_F64; }

static const char *new_block(Fuse *f, int cls)
{
	const char *name = emit_name(f->e, arena_printf(f->e->mem, "t%d", f->slots.n + 1));
	vec_push(f->e->mem, &f->slots, ((Slot){ cls, 1, name }));
	return name;
}

/* libtcc ignores alignment of local variables, and a vector that straddles cache lines costs double. */
static void declare_blocks(Fuse *f)
{
	int at = 0;
	if (!f->slots.n) return;
	for (int i = 0; i < f->slots.n; i++) at += own_class[f->slots.at[i].cls].bytes;
	buf_printf(&f->head, "\tchar room[%" PRId64 " + 64], *blocks = room + (-(unsigned long)room & 63);\n", at * f->block);
	at = 0;
	for (int i = 0; i < f->slots.n; i++) {
		const Slot *s = &f->slots.at[i];
		buf_printf(&f->head, "\t%s *%s = (%s *)(blocks + %" PRId64 ");\n", own_class[s->cls].ctype, s->name, own_class[s->cls].ctype, at * f->block);
		at += own_class[s->cls].bytes;
	}
}

static int take_slot(Fuse *f, int cls)
{
	for (int i = 0; i < f->slots.n; i++)
		if (f->slots.at[i].cls == cls && !f->slots.at[i].busy) return f->slots.at[i].busy = 1, i;
	new_block(f, cls);
	return f->slots.n - 1;
}

/* --- text: operands ------------------------------------------------------------------------------------------- */
/* "x + i", "x_row + i": where a block of this operand or result lies */
static const char *address(Fuse *f, const Access *a)
{
	Arena *mem = f->e->mem;
	if (f->mode == LINE)
		return a->inner == 1 ? arena_printf(mem, "%s + i", a->name) : arena_printf(mem, "%s + i * %" PRId64, a->name, a->inner);
	if (f->mode == NARROW_ROWS) return arena_printf(mem, a->window ? "%s + (u - lo) * %" PRId64 : "%s + u * %" PRId64, a->name, f->width);
	const char *row = a->walk == FLAT || a->moves ? a->row : a->name;
	return a->inner == 1 ? arena_printf(mem, "%s + i", row) : arena_printf(mem, "%s + i * %" PRId64, row, a->inner);
}

static void put_term(Buf *b, const char *name, int64_t stride)
{
	if (stride == 0) return;
	if (b->n) buf_puts(b, " + ");
	buf_puts(b, name);
	if (stride != 1) buf_printf(b, " * %" PRId64, stride);
}

/* "row * 512", "i0 * 4 + i1 * 512": where a row of it starts, for ROWS and FLAT */
static const char *row_offset(Fuse *f, const Access *a)
{
	Buf b = buf_new(f->e->mem);
	if (a->window) return "(row - lo) * (to - from) - from";
	if (a->walk == FLAT) put_term(&b, "row", f->width);
	else if (f->rank == 2) put_term(&b, "row", a->stride[0]);
	else for (int d = 0; d < f->rank - 1; d++) put_term(&b, f->index[d], a->stride[d]);
	return b.s;
}

static int moves_along(const Fuse *f, int d)
{
	for (int i = 0; i < f->nin + f->nout; i++)
		if (f->in[i].t && f->in[i].walk >= ROWS && f->in[i].stride[d]) return 1;
	return 0;
}

static int needs_index(const Fuse *f)
{
	for (int i = 0; f->rank > 2 && i < f->nin + f->nout; i++)
		if (f->in[i].t && f->in[i].walk >= ROWS && f->in[i].moves) return 1;
	return 0;
}

/* coordinates of the row: i0 = row / 12, i1 = row / 4 % 3, i2 = row % 4 */
static void put_index(Fuse *f, Buf *b, const char *pad)
{
	int64_t below = f->rows;
	for (int d = 0; d < f->rank - 1; d++) {
		below /= f->dim[d];
		if (!moves_along(f, d)) continue;
		buf_printf(b, "%slong %s = row", pad, f->index[d]);
		if (below > 1) buf_printf(b, " / %" PRId64, below);
		if (d) buf_printf(b, " %% %" PRId64, f->dim[d]);
		buf_puts(b, ";\n");
	}
}

static void hoist_const(Fuse *f, int i)
{
	const FuseNode *n = &f->p->nodes.at[i];
	const char *x, *name = new_block(f, n->cls);
	Arena *mem = f->e->mem;
	if (is_float(n->cls)) x = arena_printf(mem, n->cls == PXLRT_F32 ? "(float)%s" : "%s", emit_float(f->e, n->f));
	else if (n->cls == PXLRT_U64) x = arena_printf(mem, "%" PRIu64 "ULL", (uint64_t)n->i);
	else if (n->i == INT64_MIN) x = "(-9223372036854775807LL - 1)";
	else x = arena_printf(mem, "%" PRId64 "LL", n->i);
	buf_printf(&f->body, "\trt->%s->fill(%s, %s, %" PRId64 ");\n", own_class[n->cls].member, name, x, f->block);
	f->v[i].at = name;
}

static void fill_tiles(Fuse *f, const Access *a, const char *from, const char *pad)
{
	buf_printf(&f->body, "%sfor (long r = 0; r < %" PRId64 "; r += %" PRId64 ") rt->get[%s](%s + r, %s, %" PRId64 ", %" PRId64 ");\n", pad, f->block, a->tile,
	           dt(f, a->dtype), a->block, from, a->inner, a->tile);
}

/* A block that is the same in every turn: a scalar, or in narrow rows a bias repeated. */
static void hoist_operand(Fuse *f, Access *a)
{
	if (a->walk == SCALAR) {
		a->block = new_block(f, rt_own_class(a->dtype));
		buf_printf(&f->body, "\trt->get[%s](%s, %s, 0, %" PRId64 ");\n", dt(f, a->dtype), a->block, a->name, f->block);
	} else if (a->walk == TILED && !a->moves) {
		a->block = new_block(f, rt_own_class(a->dtype));
		fill_tiles(f, a, a->name, "\t");
	} else if (f->mode == NARROW_ROWS && a->walk == ROWS && !a->moves) {
		a->block = new_block(f, rt_own_class(a->dtype));
		buf_printf(&f->body, "\tfor (long r = 0; r < %" PRId64 "; r++)\n\t\trt->get[%s](%s + r * %" PRId64 ", %s, %" PRId64 ", %" PRId64 ");\n",
		           f->block_rows, dt(f, a->dtype), a->block, f->width, a->name, a->inner, f->width);
	}
	a->hoisted = a->block != NULL;
}

/* Rows of an operand brought together in a block of narrow rows. */
static void gather_rows(Fuse *f)
{
	int any = 0;
	for (int i = 0; i < f->nin; i++) {
		Access *a = &f->in[i];
		if (!a->t || a->hoisted || a->walk != ROWS) continue;
		if (!any++) buf_puts(&f->body, "\t\tfor (long r = 0; r < rows; r++) {\n\t\t\tlong row = u + r;\n");
		if (any == 1 && needs_index(f)) put_index(f, &f->body, "\t\t\t");
		a->block = new_block(f, rt_own_class(a->dtype));
		buf_printf(&f->body, "\t\t\trt->get[%s](%s + r * %" PRId64 ", %s + %s, %" PRId64 ", %" PRId64 ");\n", dt(f, a->dtype), a->block,
		           f->width, a->name, row_offset(f, a), a->inner, f->width);
	}
	if (any) buf_puts(&f->body, "\t\t}\n");
}

static void scatter_rows(Fuse *f)
{
	int any = 0;
	for (int i = 0; i < f->nout; i++) {
		Access *a = &f->out[i];
		if (!a->t || a->walk == FLAT) continue;
		if (!any++) buf_puts(&f->body, "\t\tfor (long r = 0; r < rows; r++) {\n\t\t\tlong row = u + r;\n");
		if (any == 1 && needs_index(f)) put_index(f, &f->body, "\t\t\t");
		buf_printf(&f->body, "\t\t\trt->put[%s](%s + %s, %" PRId64 ", %s + r * %" PRId64 ", %" PRId64 ");\n", dt(f, a->dtype), a->name,
		           a->moves ? row_offset(f, a) : "0", a->inner, f->v[f->p->outs.at[i].node].at, f->width, f->width);
	}
	if (any) buf_puts(&f->body, "\t\t}\n");
}

/* Row pointers of wide rows, and blocks filled once per row (one element of a column repeated). */
static void start_row(Fuse *f)
{
	if (needs_index(f)) put_index(f, &f->body, "\t\t");
	for (int i = 0; i < f->nin + f->nout; i++) {
		Access *a = &f->in[i];
		if (!a->t || a->hoisted || (a->walk == ROWS && !a->moves)) continue;
		const char *cv = i < f->nin ? "const " : "";
		a->row = emit_name(f->e, arena_printf(f->e->mem, "%s_row", a->name));
		buf_printf(&f->body, "\t\t%s%s *%s = %s + %s;\n", cv, emit_ctype(a->dtype), a->row, a->name, row_offset(f, a));
	}
	for (int i = 0; i < f->nin; i++) {
		Access *a = &f->in[i];
		if (!a->t || a->hoisted || (a->walk != TILED && (a->walk != ROWS || a->inner != 0))) continue;
		a->block = new_block(f, rt_own_class(a->dtype));
		if (a->walk == TILED) {
			fill_tiles(f, a, a->row, "\t\t");
			continue;
		}
		buf_printf(&f->body, "\t\trt->get[%s](%s, %s, 0, %" PRId64 ");\n", dt(f, a->dtype), a->block, a->row, f->block);
	}
}

/* --- text: nodes ---------------------------------------------------------------------------------------------- */
/* An operand that is also a result as it is must not be read after another result was stored over it. */
static int is_endangered(const Fuse *f, int i, const Access *a)
{
	if (f->v[i].last < f->p->nodes.n) return 0;
	for (int k = 0; k < f->nout; k++)
		if (f->out[k].t && overlap(f->e, a->t, f->out[k].t)) return 1;
	return 0;
}

static void place_value(Fuse *f, int i)
{
	Value *v = &f->v[i];
	if (v->direct >= 0) {
		v->at = address(f, &f->out[v->direct]);
		return;
	}
	v->slot = take_slot(f, f->p->nodes.at[i].cls);
	v->at = f->slots.at[v->slot].name;
}

static void put_load(Fuse *f, int i)
{
	const FuseNode *n = &f->p->nodes.at[i];
	const Access *a = &f->in[n->operand];
	Value *v = &f->v[i];
	if (a->block) v->at = a->block;
	else if (reads_as_is(f, i) && a->inner == 1 && !is_endangered(f, i, a)) v->at = address(f, a);
	else {
		place_value(f, i);
		buf_printf(&f->body, "%srt->get[%s](%s, %s, %" PRId64 ", n);\n", f->pad, dt(f, a->dtype), v->at, address(f, a), a->inner);
	}
}

static void release(Fuse *f, int node, int now)
{
	Value *v = &f->v[node];
	if (v->slot >= 0 && v->last == now) f->slots.at[v->slot].busy = 0;
}

static void put_check(Fuse *f, const FuseNode *n)
{
	const char *check = node_check(f->p, n);
	if (!check) return;
	buf_printf(&f->body, "%sif ((st = rt->%s(ln, %d, %s, n, %d))) return st;\n", f->pad, check, (int)own_class[n->cls].native,
	           f->v[n->arg[1]].at, site_at(f->e, n->at, fuse_prim[n->prim].name));
	f->uses_st = 1;
}

static void put_norm(Fuse *f, int i)
{
	const FuseNode *n = &f->p->nodes.at[i];
	if (n->norm && !is_native(n->dtype) && !f->v[i].left_to_store)
		buf_printf(&f->body, "%srt->norm[%s](%s, n);\n", f->pad, dt(f, n->dtype), f->v[i].at);
}

static void put_prim(Fuse *f, int i)
{
	const FuseNode *n = &f->p->nodes.at[i], *m = f->v[i].fma >= 0 ? &f->p->nodes.at[f->v[i].fma] : NULL;
	int arg[3] = { n->arg[0], n->arg[1], n->arg[2] }, na = nargs(n);
	if (m) {
		arg[2] = n->arg[0] == f->v[i].fma ? n->arg[1] : n->arg[0];
		arg[0] = m->arg[0];
		arg[1] = m->arg[1];
		na = 3;
	}
	put_check(f, n);
	for (int k = 0; k < na; k++) release(f, arg[k], i);
	place_value(f, i);
	buf_printf(&f->body, "%srt->%s->%s(%s", f->pad, own_class[n->cls].member, m ? "fma" : fuse_prim[n->prim].name, f->v[i].at);
	for (int k = 0; k < na; k++) buf_printf(&f->body, ", %s", f->v[arg[k]].at);
	buf_puts(&f->body, ", n);\n");
	put_norm(f, i);
}

static void put_cvt(Fuse *f, int i)
{
	const FuseNode *n = &f->p->nodes.at[i], *a = &f->p->nodes.at[n->arg[0]];
	if (f->v[i].left_to_store) {
		f->v[i].at = f->v[n->arg[0]].at;
		return;
	}
	place_value(f, i);                                   /* first: the classes may differ in size */
	buf_printf(&f->body, "%srt->cvt[PXLRT_%s][%s](%s, %s, n);\n", f->pad, own_class[a->cls].name, dt(f, n->dtype), f->v[i].at, f->v[n->arg[0]].at);
	release(f, n->arg[0], i);
}

static void put_nodes(Fuse *f)
{
	for (int i = 0; i < f->p->nodes.n; i++) {
		if (!f->v[i].needed || f->v[i].absorbed) continue;
		switch (f->p->nodes.at[i].kind) {
		case FUSE_LOAD:  put_load(f, i); break;
		case FUSE_CONST: break;
		case FUSE_PRIM:  put_prim(f, i); break;
		case FUSE_CVT:   put_cvt(f, i); break;
		}
	}
}

static void put_stores(Fuse *f)
{
	for (int i = 0; i < f->nout; i++) {
		const Access *a = &f->out[i];
		const Value *v = &f->v[f->p->outs.at[i].node];
		if (!a->t || v->direct == i || (f->mode == NARROW_ROWS && a->walk != FLAT)) continue;
		buf_printf(&f->body, "%srt->put[%s](%s, %" PRId64 ", %s, n);\n", f->pad, dt(f, a->dtype), address(f, a), a->inner, v->at);
	}
	if (f->mode == NARROW_ROWS) scatter_rows(f);
}

/* rows [lo, hi) and columns [from, to) of them are asked for, by who folds what is made or by the product before it */
static int is_asked(const Fuse *f) { return f->tail || f->p->folded; }

/* --- text: loops ----------------------------------------------------------------------------------------------- */
/* One primitive from memory to memory: nothing is kept in a block, so a piece is one call. */
static int is_one_call(const Fuse *f)
{
	int calls = 0;
	for (int i = 0; i < f->p->nodes.n; i++) {
		const FuseNode *n = &f->p->nodes.at[i];
		const Access *a = &f->in[n->operand];
		if (!f->v[i].needed) continue;
		if (n->kind == FUSE_CONST) return 0;
		if (n->kind != FUSE_LOAD || f->v[i].direct >= 0) calls++;
		else if (a->walk != FLAT || !reads_as_is(f, i) || is_endangered(f, i, a)) return 0;
		if (n->kind != FUSE_LOAD && f->v[i].direct < 0 && (n->kind != FUSE_CVT || !f->v[i].left_to_store)) return 0;
	}
	return calls == 1;
}

static void put_line(Fuse *f)
{
	int whole = is_one_call(f);
	if (whole) buf_puts(&f->body, "\tlong i = lo, n = hi - lo;\n");
	else buf_printf(&f->body, "\tfor (long i = lo; i < hi; i += %" PRId64 ") {\n\t\tlong n = hi - i < %" PRId64 " ? hi - i : %" PRId64 ";\n", f->block, f->block, f->block);
	f->pad = whole ? "\t" : "\t\t";
	put_nodes(f);
	put_stores(f);
	if (!whole) buf_puts(&f->body, "\t}\n");
}

/* Very wide rows are cut: a unit is a row and the part of it between `from` and `to`.  Who asks for parts says where to cut. */
static void put_wide(Fuse *f)
{
	int64_t wide = f->piece, pieces = is_asked(f) ? 1 : (f->width + wide - 1) / wide;
	int cut = pieces > 1 || is_asked(f);
	const char *from = cut ? "from" : "0", *to = cut ? "to" : arena_printf(f->e->mem, "%" PRId64, f->width);
	if (pieces > 1)
		buf_printf(&f->body, "\tfor (long u = lo; u < hi; u++) {\n\t\tlong row = u / %" PRId64 ", from = u %% %" PRId64 " * %" PRId64
		           ";\n\t\tlong to = from + %" PRId64 " < %" PRId64 " ? from + %" PRId64 " : %" PRId64 ";\n", pieces, pieces, wide, wide,
		           f->width, wide, f->width);
	else buf_puts(&f->body, "\tfor (long row = lo; row < hi; row++) {\n");
	start_row(f);
	if (f->p->folded && is_one_call(f)) buf_puts(&f->body, "\t\t{\n\t\t\tlong i = from, n = to - from;\n");
	else buf_printf(&f->body, "\t\tfor (long i = %s; i < %s; i += %" PRId64 ") {\n"
	           "\t\t\tlong n = %s - i < %" PRId64 " ? %s - i : %" PRId64 ";\n", from, to, f->block, to, f->block, to, f->block);
	f->pad = "\t\t\t";
	put_nodes(f);
	put_stores(f);
	buf_puts(&f->body, "\t\t}\n\t}\n");
}

static void put_narrow(Fuse *f)
{
	buf_printf(&f->body, "\tfor (long u = lo; u < hi; u += %" PRId64 ") {\n"
	           "\t\tlong rows = hi - u < %" PRId64 " ? hi - u : %" PRId64 ", n = rows * %" PRId64 ";\n",
	           f->block_rows, f->block_rows, f->block_rows, f->width);
	f->pad = "\t\t";
	if (f->p->folded) buf_puts(&f->head, "\t(void)from; (void)to;\n");
	gather_rows(f);
	put_nodes(f);
	put_stores(f);
	buf_puts(&f->body, "\t}\n");
}

/* the first few have letters of their own, the rest numbers: x_2, x_3 … */
static const char *local_name(const Fuse *f, int i)
{
	static const char *const ins[] = { "a", "b", "c", "d", "e", "f", "g", "h" }, *const outs[] = { "y", "z", "v", "w" };
	if (i < f->nin) return i < 8 ? ins[i] : "x";
	return i - f->nin < 4 ? outs[i - f->nin] : "y";
}

/* what the pointers p of operand or result i point to; NULL: there is none */
static const Tensor *pointed(const Fuse *f, int i)
{
	int out = i - f->nin;
	return f->in[i].t || out < 0 || !f->p->outs.at[out].fold ? f->in[i].t : f->op->out.at[out];
}

/* how many pointers stand before that of operand or result i */
static int pointer_of(const Fuse *f, int i)
{
	int n = 0;
	while (i-- > 0) n += pointed(f, i) != NULL;
	return n;
}

static void put_body(Fuse *f)
{
	for (int i = 0, k = 0; i < f->nin + f->nout; k += pointed(f, i++) != NULL) {
		Access *a = &f->in[i];
		if (!a->t) continue;
		a->name = emit_name(f->e, local_name(f, i));
		buf_printf(&f->head, "\t%s%s *%s = p[%d];\n", i < f->nin ? "const " : "", emit_ctype(a->dtype), a->name, k);
	}
	for (int d = 0; d < f->rank - 1; d++) f->index[d] = emit_name(f->e, arena_printf(f->e->mem, "i%d", d));
	for (int i = 0; i < f->p->nodes.n; i++)
		if (f->v[i].needed && f->p->nodes.at[i].kind == FUSE_CONST) hoist_const(f, i);
	for (int i = 0; i < f->nin; i++)
		if (f->in[i].t) hoist_operand(f, &f->in[i]);
	if (f->mode == LINE) put_line(f);
	else if (f->mode == WIDE) put_wide(f);
	else put_narrow(f);
	declare_blocks(f);
}

/* Number of the function that does this work: one written before, or a new one. */
static int put_function(Fuse *f)
{
	Emit *e = f->e;
	Map taken = e->taken;
	e->taken = (Map){ 0 };                               /* the body has names of its own */
	put_body(f);
	e->taken = taken;
	const char *units = is_asked(f) ? "long lo, long hi, long from, long to" : "long lo, long hi";
	const char *key = intern_str(e->ir->names, arena_printf(e->mem, "%s%s%s", units, f->head.s, f->body.s));
	intptr_t number = (intptr_t)map_get(&e->fused, key);
	if (number) return (int)number;
	number = ++e->nfused;
	map_set(e->mem, &e->fused, key, (void *)number);
	Buf *b = &e->extra;
	buf_putc(b, '\n');
	e->line = (Span){ 0 };
	emit_at(e, b, f->op->at);
	e->line = (Span){ 0 };
	emit_comment(b, "", arena_printf(e->mem, "%s over %s", f->p->label ? f->p->label : "fused", shape_str(e->mem, f->p->shape)));
	buf_printf(b, "static int fuse_%d(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, %s)\n{\n", (int)number, units);
	buf_put(b, f->head.s, f->head.n);
	buf_puts(b, f->uses_st ? "\tint st;\n" : "\t(void)ln;\n");
	buf_put(b, f->body.s, f->body.n);
	buf_puts(b, "\treturn 0;\n}\n");
	return (int)number;
}

/* what the runtime must know to ask for windows and fold them */
static const char *fold_descriptor(Fuse *f)
{
	Emit *e = f->e;
	Buf ends = buf_new(e->mem);
	int64_t dim[4];
	int folds = 0;
	for (int i = 0; i < f->nout; i++) {
		int from = fold_source(f, i);
		if (!f->p->outs.at[i].fold) continue;
		buf_printf(&ends, "%s{ %d, %d, %d, %d }", folds++ ? ", " : "", f->p->outs.at[i].fold - 1, (int)f->op->out.at[i]->spec.dtype,
		           pointer_of(f, f->nin + i), from < 0 ? -1 : pointer_of(f, f->nin + from));
	}
	fold_space(f->p->shape, f->p->folded, dim);
	return emit_static(e, "struct pxlrt_fold", "{ %s, %" PRId64 ", %" PRId64 ", %d, %d, { %s } }", emit_longs(e, dim, 4), f->width, f->grain,
	                   pointer_of(f, f->nin + f->nout), folds, ends.s);
}

static const char *pointers(Fuse *f)
{
	Emit *e = f->e;
	Buf args = buf_new(e->mem);
	for (int i = 0; i < f->nin + f->nout; i++) {
		const Tensor *t = pointed(f, i);
		if (!t) continue;
		const char *cast = i < f->nin && tensor_is_const(e, t) ? "(void *)" : "";
		buf_printf(&args, "%s%s%s", args.n ? ", " : "", cast, emit_ptr(e, t));
	}
	return args.s;
}

static void put_call(Fuse *f, int number)
{
	Emit *e = f->e;
	emit_line(e, "{");
	emit_line(e, "\tvoid *const p[] = { %s };", pointers(f));
	if (f->p->folded) emit_line(e, "\tif ((st = rt->fold(ln, &%s, fuse_%d, p))) return st;", fold_descriptor(f), number);
	else if (f->units <= f->grain) emit_line(e, "\tif ((st = fuse_%d(rt, ln, p, 0, %" PRId64 "))) return st;", number, f->units);
	else emit_line(e, "\tif ((st = rt->each(ln, fuse_%d, p, %" PRId64 ", %" PRId64 "))) return st;", number, f->units, f->grain);
	emit_line(e, "}");
	e->uses_st = 1;
}

void emit_fused(Emit *e, const Op *op)
{
	Fuse f = { .e = e, .op = op, .p = narrow_pattern(e->mem, op), .head = buf_new(e->mem), .body = buf_new(e->mem) };
	if (!f.p) {
		emit_fail(e, op, "a fused group without its pattern");
		return;
	}
	if (!fuse_plan(&f)) return;                          /* no elements: nothing to do */
	put_call(&f, put_function(&f));
}

EmitTail emit_tail(Emit *e, const Op *op)
{
	Fuse f = { .e = e, .op = op, .p = narrow_pattern(e->mem, op), .tail = 1, .head = buf_new(e->mem), .body = buf_new(e->mem) };
	EmitTail t = { 0 };
	if (!f.p) emit_fail(e, op, "a product without its pattern");
	else if (fuse_plan(&f)) t = (EmitTail){ arena_printf(e->mem, "fuse_%d", put_function(&f)), pointers(&f), op->out.at[f.p->product] };
	return t;
}
