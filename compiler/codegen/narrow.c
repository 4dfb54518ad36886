/* narrow.c — integers of 32 bits and less in types of their own.
 *
 * A pattern computes every integer but u64 as i64 and brings a whole op's value back to its type.  Where the operands of a primitive are of
 * one small type, and what it gives is of that type or wrapped to it at once, computing in the type gives the same value with two to
 * eight times as many elements in a vector.  This makes the pattern over in those terms: values are of their own type from where they are
 * loaded, and a cast stands where one has to be another, or i64 in the middle of a formula. */
#include "compiler/codegen/narrow.h"

#include <string.h>

typedef struct Held { int node; DType t; } Held;       /* where a value is in the new pattern, and the type it is of; node -1: a number */
typedef struct Narrow { Arena *mem; const Pattern *from; Pattern *to; Held *held; } Narrow;

static int is_small(DType t) { return rt_own_class(t) >= PXLRT_NCLASS; }
static int is_truth(FusePrim p) { return !strcmp(fuse_prim[p].slope, "truth"); }

static int fits(int64_t x, DType t)
{
	int bits = (int)dtype_size(t) * 8;
	if (t == DT_BOOL) return x == 0 || x == 1;
	if (dtype_info[t].cls == 'u') return x >= 0 && x < (int64_t)1 << bits;
	return x >= -((int64_t)1 << (bits - 1)) && x < (int64_t)1 << (bits - 1);
}

static int push(Narrow *w, FuseNode n)
{
	vec_push(w->mem, &w->to->nodes, n);
	return w->to->nodes.n - 1;
}

static int number(Narrow *w, const FuseNode *c, DType t)
{
	int cls = rt_own_class(t);
	for (int i = 0; i < w->to->nodes.n; i++) {
		const FuseNode *n = &w->to->nodes.at[i];
		if (n->kind == FUSE_CONST && n->cls == cls && n->i == c->i) return i;
	}
	FuseNode n = *c;
	n.cls = cls;
	n.dtype = t;
	return push(w, n);
}

static int cast(Narrow *w, int node, DType t, Span at)
{
	for (int i = node + 1; i < w->to->nodes.n; i++) {
		const FuseNode *n = &w->to->nodes.at[i];
		if (n->kind == FUSE_CVT && n->arg[0] == node && n->dtype == t) return i;
	}
	return push(w, (FuseNode){ .kind = FUSE_CVT, .cls = rt_own_class(t), .dtype = t, .arg = { node }, .at = at });
}

static int is_number(const Narrow *w, int i) { return w->held[i].node < 0; }

/* node i of the old pattern as an integer of type t */
static int as(Narrow *w, int i, DType t)
{
	const FuseNode *n = &w->from->nodes.at[i];
	if (is_number(w, i)) return number(w, n, t);
	return w->held[i].t == t ? w->held[i].node : cast(w, w->held[i].node, t, n->at);
}

/* is its value of the operands' type whatever they are, or else wrapped to it */
static int stays(const FuseNode *n, DType t)
{
	switch (n->prim) {
	case FP_sel: case FP_min: case FP_max: case FP_mod: case FP_sign:
	case FP_bitwise_and: case FP_bitwise_or: case FP_bitwise_xor: return !n->norm || n->dtype == t;
	default: return is_truth(n->prim) || (n->norm && n->dtype == t && t != DT_BOOL);
	}
}

/* 1 and the type that primitive n, of class i64, may be computed in */
static int small_type(const Narrow *w, const FuseNode *n, DType *t)
{
	int first = n->prim == FP_sel, arity = fuse_prim[n->prim].arity, found = 0;
	for (int k = first; k < arity; k++) {
		const Held *h = &w->held[n->arg[k]];
		if (is_number(w, n->arg[k])) continue;
		if (!is_small(h->t) || (found && h->t != *t)) return 0;
		*t = h->t;
		found = 1;
	}
	if (!found || !stays(n, *t)) return 0;
	for (int k = 0; k < arity; k++)
		if (is_number(w, n->arg[k]) && !fits(w->from->nodes.at[n->arg[k]].i, *t)) return 0;
	return !first || is_number(w, n->arg[0]) || w->held[n->arg[0]].t == *t || w->held[n->arg[0]].t == DT_BOOL;
}

static Held put_integer(Narrow *w, FuseNode n)
{
	DType t = DT_I64, whole = n.dtype;
	int norm = n.norm, small = small_type(w, &n, &t);
	if (!small) t = DT_I64;
	for (int k = 0; k < fuse_prim[n.prim].arity; k++) n.arg[k] = as(w, n.arg[k], t);
	n.cls = rt_own_class(t);
	n.dtype = t;
	n.norm = 0;
	Held h = { push(w, n), t };
	return norm && whole != t ? (Held){ cast(w, h.node, whole, n.at), whole } : h;
}

/* the truth value of class cls that node i is, or of which it is made a bool: -1 if it is none */
static int truth_of(const Narrow *w, int i, int cls)
{
	const FuseNode *n = &w->to->nodes.at[i];
	if (n->kind == FUSE_CVT && n->dtype == DT_BOOL) i = n->arg[0], n = &w->to->nodes.at[i];
	return n->kind == FUSE_PRIM && n->cls == cls && is_truth(n->prim) ? i : -1;
}

static Held put_float(Narrow *w, FuseNode n)
{
	const FuseNode *zero = &w->from->nodes.at[n.arg[1]];
	for (int k = 0; k < fuse_prim[n.prim].arity; k++) n.arg[k] = w->held[n.arg[k]].node;
	if (n.prim == FP_ne && zero->kind == FUSE_CONST && zero->f == 0 && zero->i == 0 && truth_of(w, n.arg[0], n.cls) == n.arg[0])
		return (Held){ n.arg[0], n.dtype };
	return (Held){ push(w, n), n.dtype };
}

/* a comparison's 0 or 1 that became a bool and is wanted as the float it was is there already */
static Held put_cvt(Narrow *w, const FuseNode *n)
{
	int from = is_number(w, n->arg[0]) ? as(w, n->arg[0], DT_I64) : w->held[n->arg[0]].node, truth = -1;
	if (n->dtype == DT_F32 || n->dtype == DT_F64) truth = truth_of(w, from, n->cls);
	if (truth >= 0) return (Held){ truth, n->dtype };
	if (is_small(n->dtype) && !is_number(w, n->arg[0]) && w->held[n->arg[0]].t == n->dtype) return w->held[n->arg[0]];
	if (n->dtype == DT_F32 && w->to->nodes.at[from].cls == PXLRT_F32) return (Held){ from, n->dtype };      /* what blocks hold of any narrow float */
	return (Held){ cast(w, from, n->dtype, n->at), n->dtype };
}

static Held put(Narrow *w, const FuseNode *n)
{
	FuseNode copy = *n;
	switch (n->kind) {
	case FUSE_CONST: return (Held){ n->cls == PXLRT_I64 ? -1 : push(w, copy), n->dtype };
	case FUSE_CVT: return put_cvt(w, n);
	case FUSE_PRIM: return n->cls == PXLRT_I64 ? put_integer(w, copy) : put_float(w, copy);
	case FUSE_LOAD: break;
	}
	copy.cls = rt_own_class(n->dtype);
	return (Held){ push(w, copy), n->dtype };
}

const Pattern *narrow_pattern(Arena *mem, const Op *op)
{
	const Pattern *p = op_pattern(op);
	Pattern *to = NEW(mem, Pattern);
	if (!p || p->outs.n > op->out.n) return NULL;
	Narrow w = { mem, p, to, NEWN(mem, Held, p->nodes.n + 1) };
	to->shape = p->shape;
	to->label = p->label;
	to->flops = p->flops;
	to->folded = p->folded;
	to->product = p->product;
	for (int i = 0; i < p->nodes.n; i++) w.held[i] = put(&w, &p->nodes.at[i]);
	for (int i = 0; i < p->outs.n; i++) {
		FuseOut out = p->outs.at[i];
		DType t = op->out.at[i]->spec.dtype;
		out.node = is_small(t) || t == DT_I64 ? as(&w, out.node, t) : w.held[out.node].node;
		vec_push(mem, &to->outs, out);
	}
	return to;
}
