/* fused_plan.c — an elementwise group: its iteration space, how each operand walks through it, and where values live.  See fused.c. */
#include "compiler/codegen/fused.h"

enum { NARROW = PXLRT_BLOCK / 2, PIECE = 4096, PIECE_WORK = 131072 };

const OwnClass own_class[PXLRT_NOWN] = {
	[PXLRT_F32] = { "f32", "F32", "float", 4, DT_F32 }, [PXLRT_F64] = { "f64", "F64", "double", 8, DT_F64 },
	[PXLRT_I64] = { "i64", "I64", "long long", 8, DT_I64 }, [PXLRT_U64] = { "u64", "U64", "unsigned long long", 8, DT_U64 },
	[PXLRT_I8] = { "i8", "I8", "signed char", 1, DT_I8 }, [PXLRT_U8] = { "u8", "U8", "unsigned char", 1, DT_U8 },
	[PXLRT_I16] = { "i16", "I16", "short", 2, DT_I16 }, [PXLRT_U16] = { "u16", "U16", "unsigned short", 2, DT_U16 },
	[PXLRT_I32] = { "i32", "I32", "int", 4, DT_I32 }, [PXLRT_U32] = { "u32", "U32", "unsigned", 4, DT_U32 },
};

int is_native(DType t) { int c = rt_own_class(t); return c >= 0 && own_class[c].native == t; }

/* is node i looked at for nothing but whether it is zero */
static int is_only_truth(const Fuse *f, int i)
{
	for (int k = i + 1; k < f->p->nodes.n; k++) {
		const FuseNode *n = &f->p->nodes.at[k];
		int logic = n->kind == FUSE_PRIM && (n->prim == FP_and || n->prim == FP_or || n->prim == FP_not);
		for (int j = 0; f->v[k].needed && !logic && j < nargs(n); j++)
			if (n->arg[j] == i) return 0;
	}
	return f->v[i].last < f->p->nodes.n;
}

int reads_as_is(const Fuse *f, int i)
{
	DType t = f->p->nodes.at[i].dtype;
	return is_native(t) || (t == DT_BOOL && is_only_truth(f, i));
}

/* what is stored is what blocks hold; a bool that is read may be any byte */
static int stores_as_is(DType t) { return is_native(t) || t == DT_BOOL; }

/* --- the iteration space ------------------------------------------------------------------------------------ */
static void set_access(Fuse *f, Access *a, const Tensor *t)
{
	Layout l = emit_layout(f->e, t);
	Shape s = t->spec.shape;
	int lead = f->p->shape.rank - s.rank;
	*a = (Access){ .t = t, .dtype = t->spec.dtype };
	for (int i = 0; i < s.rank && lead >= 0; i++) a->stride[i + lead] = s.dim[i] == 1 ? 0 : l.stride[i];
}

static void set_window(Fuse *f, Access *a, const Tensor *t)
{
	int64_t step = 1;
	*a = (Access){ .t = t, .dtype = t->spec.dtype, .window = 1 };
	for (int i = f->p->shape.rank - 1; i >= 0; i--) {
		a->stride[i] = step;
		step *= f->p->shape.dim[i];
	}
}

static int dropped(const Fuse *f, int out)
{
	return f->p->outs.at[out].into < 0 && f->e->plan->place[storage_root(f->op->out.at[out])->index].space == SPACE_NONE;
}

/* the stored result that a reduction can read back; a cast between types of one class leaves the node as it is, so types may differ */
int fold_source(const Fuse *f, int out)
{
	const FuseOut *o = f->p->outs.at;
	DType read = f->op->out.at[out]->spec.dtype;
	for (int i = 0; i < out; i++)
		if (!o[i].fold && o[i].into < 0 && o[i].node == o[out].node && f->out[i].t && f->out[i].dtype == read) return i;
	return -1;
}

static void find_accesses(Fuse *f)
{
	f->nin = f->op->in.n;
	f->nout = f->p->outs.n;
	f->in = NEWN(f->e->mem, Access, f->nin + f->nout);
	f->out = f->in + f->nin;
	for (int i = 0; i < f->p->nodes.n; i++) {
		const FuseNode *n = &f->p->nodes.at[i];
		int product = f->tail && !n->operand;
		if (!f->v[i].needed || n->kind != FUSE_LOAD) continue;
		set_access(f, &f->in[n->operand], product ? f->op->out.at[f->p->product] : f->op->in.at[n->operand]);
		f->in[n->operand].dtype = n->dtype;          /* a product's memory may become another type's */
	}
	for (int i = 0; i < f->nout; i++) {
		int into = f->p->outs.at[i].into;
		if (f->p->outs.at[i].fold && fold_source(f, i) < 0) set_window(f, &f->out[i], f->op->out.at[i]);
		else if (!f->p->outs.at[i].fold && !dropped(f, i)) set_access(f, &f->out[i], into >= 0 ? f->op->in.at[into] : f->op->out.at[i]);
	}
}

/* do all walk dimensions a and b (b inside a) as one, and are both folded or kept */
static int merges(const Fuse *f, const int64_t *dim, int a, int b)
{
	if ((f->folded >> a & 1) != (f->folded >> b & 1)) return 0;
	for (int i = 0; i < f->nin + f->nout; i++)
		if (f->in[i].t && f->in[i].stride[a] != f->in[i].stride[b] * dim[b]) return 0;
	return 1;
}

/* An innermost dimension of a few elements, for which the one around it does not matter to some operands: blocks start at
 * multiples of those few, so the two are one dimension to all others. */
static int tiles(const Fuse *f, int n)
{
	if (n < 2 || PXLRT_BLOCK % f->dim[n - 1] || f->dim[n - 2] * f->dim[n - 1] <= NARROW) return 0;
	if ((f->folded >> (n - 2) & 1) != (f->folded >> (n - 1) & 1)) return 0;
	for (int i = 0; i < f->nin + f->nout; i++) {
		const Access *a = &f->in[i];
		int one = a->stride[n - 2] == a->stride[n - 1] * f->dim[n - 1];
		if (a->t && !one && (a->stride[n - 2] || i >= f->nin)) return 0;
	}
	return 1;
}

static void tile(Fuse *f, int n)
{
	for (int i = 0; i < f->nin + f->nout; i++) {
		Access *a = &f->in[i];
		if (a->stride[n - 2] == a->stride[n - 1] * f->dim[n - 1]) a->stride[n - 2] = a->stride[n - 1];
		else {
			a->tile = f->dim[n - 1];
			a->inner = a->stride[n - 1];
		}
	}
	f->dim[n - 2] *= f->dim[n - 1];
}

static void collapse(Fuse *f)
{
	int n = 0, last = f->tail ? f->p->shape.rank - 1 : -1;  /* of a product: rows and columns stay apart */
	for (int d = 0; d < f->p->shape.rank; d++) {
		int64_t size = f->p->shape.dim[d];
		if (size == 1) continue;
		if (d == last && !n) f->dim[n++] = 1;
		f->dim[n] = size;
		for (int i = 0; i < f->nin + f->nout; i++) f->in[i].stride[n] = f->in[i].stride[d];
		f->folded = (f->folded & ~(1u << n)) | (f->p->folded >> d & 1) << n;
		if (n && d != last && merges(f, f->dim, n - 1, n)) {
			f->dim[n - 1] *= size;
			for (int i = 0; i < f->nin + f->nout; i++) f->in[i].stride[n - 1] = f->in[i].stride[n];
		} else n++;
	}
	if (n == 0) {                                        /* one element: every operand is simply there */
		f->dim[n++] = 1;
		for (int i = 0; i < f->nin + f->nout; i++) f->in[i].stride[0] = 1;
	}
	if (!f->tail && tiles(f, n)) tile(f, n--);
	f->rank = n;
	f->width = f->dim[n - 1];
	f->rows = 1;
	for (int d = 0; d < n - 1; d++) f->rows *= f->dim[d];
}

static void classify(Fuse *f, Access *a)
{
	int64_t want = 1;
	int flat = 1, zero = 1;
	if (!a->tile) a->inner = a->stride[f->rank - 1];
	for (int d = f->rank - 1; d >= 0; d--) {
		flat &= a->stride[d] == want;
		zero &= a->stride[d] == 0;
		if (d < f->rank - 1) a->moves |= a->stride[d] != 0;
		want *= f->dim[d];
	}
	a->walk = a->tile ? TILED : flat ? FLAT : zero ? SCALAR : ROWS;
}

/* 128 of what has 8 bytes; up to eight times that of floats, as long as what a turn works on stays in the first cache; of what is
 * smaller as many bytes */
static int64_t choose_block(const Fuse *f)
{
	int bytes = 1, nodes = f->p->nodes.n;
	for (int i = 0; i < nodes; i++)
		if (f->v[i].needed && own_class[f->p->nodes.at[i].cls].bytes > bytes) bytes = own_class[f->p->nodes.at[i].cls].bytes;
	if (bytes < 4) return PXLRT_BLOCK * 8 / bytes;
	if (bytes > 4) return PXLRT_BLOCK;
	return PXLRT_BLOCK * (nodes <= 4 ? 8 : nodes <= 8 ? 4 : nodes <= 16 ? 2 : 1);
}

/* is a block filled anew for each row */
static int fills_blocks(const Fuse *f)
{
	for (int i = 0; i < f->nin; i++)
		if (f->in[i].t && f->in[i].moves && ((f->in[i].walk == ROWS && f->in[i].inner == 0) || f->in[i].walk == TILED)) return 1;
	return 0;
}

/* Pieces are cut by size and cost alone, so that results and speed do not depend on who runs them. */
static void choose_mode(Fuse *f)
{
	int64_t work = (int64_t)(PIECE_WORK / (4 + f->p->flops));
	if (work < 1024) work = 1024;
	f->mode = f->tail ? WIDE : f->rank == 1 ? LINE : f->width <= NARROW ? NARROW_ROWS : WIDE;
	f->block = choose_block(f);
	if (f->mode == WIDE && fills_blocks(f) && f->block > 2 * PXLRT_BLOCK) f->block = 2 * PXLRT_BLOCK;
	f->piece = f->width < 2 * PIECE ? f->width : PIECE;
	f->block_rows = f->mode == NARROW_ROWS ? f->block / f->width : 1;
	if (f->mode == LINE && f->p->folded) f->mode = WIDE;
	switch (f->mode) {
	case LINE:
		f->units = f->width;
		f->grain = work / f->block * f->block;
		break;
	case WIDE:
		f->units = f->rows * ((f->width + f->piece - 1) / f->piece);
		f->grain = work / f->piece + 1;
		break;
	case NARROW_ROWS:
		f->units = f->rows;
		f->grain = (work / f->width + f->block_rows) / f->block_rows * f->block_rows;
		break;
	}
	if (f->p->folded) f->grain = work;
}

/* --- which nodes, and where their values live ------------------------------------------------------------- */
static int fits_fma(const Fuse *f, int add, int k)
{
	const FuseNode *n = &f->p->nodes.at[add], *m = &f->p->nodes.at[n->arg[k]];
	return m->kind == FUSE_PRIM && m->prim == FP_mul && m->cls == n->cls && f->v[n->arg[k]].uses == 1 &&
	       f->v[n->arg[k]].last == add && (!m->norm || is_native(m->dtype));
}

int nargs(const FuseNode *n) { return n->kind == FUSE_PRIM ? fuse_prim[n->prim].arity : n->kind == FUSE_CVT; }

static int is_nonzero(const FuseNode *n) { return n->kind == FUSE_CONST && n->i != 0; }
static int is_not_negative(const FuseNode *n) { return n->kind == FUSE_CONST && n->i >= 0; }

const char *node_check(const Pattern *p, const FuseNode *n)
{
	if (n->kind != FUSE_PRIM || n->cls == PXLRT_F32 || n->cls == PXLRT_F64) return NULL;
	const FuseNode *d = &p->nodes.at[n->arg[1]];
	if ((n->prim == FP_div || n->prim == FP_mod) && !is_nonzero(d)) return "divcheck";
	if (n->prim == FP_pow && dtype_info[own_class[n->cls].native].cls == 'i' && !is_not_negative(d)) return "powcheck";
	return NULL;
}

/* what is stored, what can fail, and what they read */
static void find_needed(Fuse *f)
{
	int n = f->p->nodes.n;
	f->v = NEWN(f->e->mem, Value, n + 1);
	for (int i = 0; i < n; i++) f->v[i] = (Value){ .last = -1, .fma = -1, .direct = -1, .slot = -1 };
	for (int i = 0; i < f->p->outs.n; i++)
		if (!dropped(f, i)) f->v[f->p->outs.at[i].node].needed = 1, f->v[f->p->outs.at[i].node].last = n;
	for (int i = n - 1; i >= 0; i--) {
		const FuseNode *node = &f->p->nodes.at[i];
		f->v[i].needed |= node_check(f->p, node) != NULL;
		if (!f->v[i].needed) continue;
		for (int k = 0; k < nargs(node); k++) {
			Value *a = &f->v[node->arg[k]];
			a->needed = 1;
			a->uses++;
			if (a->last < i) a->last = i;
		}
	}
}

/* Storing rounds or wraps as norm and cvt do: a value that is stored, as what it is, and not used again needs neither.  The operand
 * of such a cast then lives to the end, which is sure of memory that other results may be stored to only if there are none. */
static void find_left_to_store(Fuse *f)
{
	for (int i = 0; i < f->p->nodes.n; i++) {
		const FuseNode *n = &f->p->nodes.at[i];
		Value *v = &f->v[i];
		int left = v->needed && !v->uses && (n->kind == FUSE_PRIM || n->kind == FUSE_CVT) && !stores_as_is(n->dtype);
		for (int k = 0; left && k < f->nout; k++) left = f->p->outs.at[k].node != i || !f->out[k].t || f->out[k].dtype == n->dtype;
		if (left && n->kind == FUSE_CVT) {
			left = f->nout == 1 && f->p->nodes.at[n->arg[0]].cls == n->cls;
			if (left) f->v[n->arg[0]].last = f->p->nodes.n;
		}
		v->left_to_store = left;
	}
}

/* a*b + c in one call: rounded twice, so the bits are those of mul and add */
static void find_fma(Fuse *f)
{
	for (int i = 0; i < f->p->nodes.n; i++) {
		const FuseNode *n = &f->p->nodes.at[i];
		if (!f->v[i].needed || n->kind != FUSE_PRIM || n->prim != FP_add) continue;
		for (int k = 0; k < 2 && f->v[i].fma < 0; k++) {
			if (!fits_fma(f, i, k)) continue;
			const FuseNode *m = &f->p->nodes.at[n->arg[k]];
			f->v[i].fma = n->arg[k];
			f->v[n->arg[k]].absorbed = 1;
			for (int j = 0; j < 2; j++)
				if (f->v[m->arg[j]].last < i) f->v[m->arg[j]].last = i;
		}
	}
}

int overlap(const Emit *e, const Tensor *a, const Tensor *b)
{
	const Tensor *ra = storage_root((Tensor *)(uintptr_t)a), *rb = storage_root((Tensor *)(uintptr_t)b);
	const Place *x = &e->plan->place[ra->index], *y = &e->plan->place[rb->index];
	if (ra == rb) return 1;
	if (!(in_frame(x) && in_frame(y)) && !(x->space == SPACE_VARS && y->space == SPACE_VARS)) return 0;
	return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

/* May node i be computed straight into result `out`: nothing that is read later in the block lies there. */
static int may_be_direct(const Fuse *f, int i, int out)
{
	const Access *a = &f->out[out];
	const FuseNode *n = &f->p->nodes.at[i];
	if (n->kind == FUSE_CONST || !stores_as_is(a->dtype)) return 0;
	if (n->kind == FUSE_LOAD && (is_native(n->dtype) || f->in[n->operand].walk != FLAT)) return 0;
	if (a->walk != FLAT && (f->mode == NARROW_ROWS || a->walk != ROWS || a->inner != 1)) return 0;
	for (int k = 0; k < f->p->nodes.n; k++) {
		const FuseNode *l = &f->p->nodes.at[k];
		if (!f->v[k].needed || l->kind != FUSE_LOAD || f->v[k].last <= i) continue;
		if (overlap(f->e, f->in[l->operand].t, a->t)) return 0;
	}
	return 1;
}

static void find_direct(Fuse *f)
{
	for (int i = 0; i < f->nout; i++) {
		Value *v = &f->v[f->p->outs.at[i].node];
		if (f->out[i].t && v->direct < 0 && may_be_direct(f, f->p->outs.at[i].node, i)) v->direct = i;
	}
}

int fuse_plan(Fuse *f)
{
	if (!shape_nelems(f->p->shape)) return 0;
	find_needed(f);
	find_accesses(f);
	collapse(f);
	for (int i = 0; i < f->nin + f->nout; i++)
		if (f->in[i].t) classify(f, &f->in[i]);
	choose_mode(f);
	find_left_to_store(f);
	find_fma(f);
	find_direct(f);
	return 1;
}
