/* fuse.h — elementwise groups: what one fused loop computes.
 *
 * An elementwise op is written once, as text in the language of `kernel` (OpDef.expr).  Before
 * emission every such op is part of an OP_fused, if only a group of one; its attribute 0 (AttrVal.p)
 * is a Pattern: a list of nodes over the operands of the OP_fused, arguments before their users.
 *
 * What codegen may rely on:
 *   - `shape` is the iteration space; every result of the OP_fused has exactly this shape, unless it is a fold;
 *   - operand i is read as its layout says, broadcast to `shape` from the right (strides 0);
 *   - result i is the value of node outs[i].node. With `into` >= 0 it is not new memory: it is stored
 *     over operand `into` (same shape and dtype; the result's layout is that operand's);
 *   - operand memory that a group writes is read by it only at the element being written, so within a
 *     block all loads come before the first store, and blocks may run in any order;
 *   - a fold is new memory, written when its values are made; all folds of a pattern go over the same axes of `shape`, and
 *     fold_space() can say how;
 *   - in an OP_gemm operands 0 and 1 are those of a product, and a load of operand 0 is of that product, which lies
 *     contiguously in result `product` until the pattern's value for that result, if it has one, is stored over it;
 *   - a result may share memory with an operand of equal element size and layout (the memory plan
 *     does that when the operand dies), under the same rule.
 *
 * Rounding: inside one op values keep the precision of their class; the op's own value is brought to
 * its dtype (`norm`: rt->norm[dtype], nothing when that entry is NULL; FUSE_CVT: rt->cvt) before
 * anybody uses it, so that fusing never changes a result.
 *
 * The language of .expr: operand and attribute names, numbers, `inf`, `nan`; + - * / // % ** and
 * comparisons, and or not, `a if c else b`, parentheses; a call of any primitive of runtime/pxlrt.h
 * by name (`exp(x)`, `gelu_grad(g, x)`, `sel(c, a, b)`); and
 *   cast(e)        convert to the result's dtype by the rules of the `cast` op
 *   ts0, ts1 …     an item of the list operand `ts`
 *   wrap(e)        the same for integers, which must wrap before they are used further; floats stay as they are
 *   fold(p, ts)    a list operand combined from the left: ((t0 p t1) p t2) …, p of two arguments
 *   set(name)      1 if the optional operand or attribute is given, else 0, known when binding
 *   fixed(name)    1 if a P_SCALAR is a number, 0 if it is a tensor, known when binding
 * A condition known when binding picks its branch there, so the other one may name what is not set.
 * All of an op's operands are brought to one class, the widest of theirs (i64 < u64 < f32 < f64);
 * P_SCALAR operands and attributes are first rounded to the dtype of operand 0, unless that is of integers and one
 * of them, or another operand, is not: such an op computes in f64 (2 * 0.5 is 1, not 0).  A result of another class, as a
 * comparison of floats has, is converted at the end. */
#ifndef COMPILER_PASSES_FUSE_H
#define COMPILER_PASSES_FUSE_H

#include "compiler/ops/formula.h"

typedef enum FuseKind { FUSE_LOAD, FUSE_CONST, FUSE_PRIM, FUSE_CVT } FuseKind;
typedef struct FuseNode {
	FuseKind kind;
	int cls;                 /* PXLRT_F32 …: class of the value */
	DType dtype;             /* LOAD: of the operand; CVT: converted to; PRIM: brought to, if norm */
	int norm;                /* PRIM: the value of a whole op: rt->norm[dtype] applies */
	FusePrim prim;           /* PRIM */
	int arg[3];              /* PRIM, CVT: nodes with smaller indices; PRIM's are of class cls */
	int operand;             /* LOAD */
	double f;                /* CONST of classes f32 and f64 */
	int64_t i;               /* CONST of classes i64 and u64 (its bits) */
	Span at;                 /* place of the op it came from: comments, faults */
} FuseNode;

/* into: operand written, or -1: new memory; fold: 0, or 1 + PXLRT_SUM …: not the value, but the values folded */
typedef struct FuseOut { int node, into, fold; } FuseOut;

struct Pattern {
	Shape shape;
	VEC(FuseNode) nodes;
	VEC(FuseOut) outs;       /* one per result of the OP_fused */
	unsigned folded;         /* axes that folds go over */
	const char *label;       /* what was fused, for comments: "Add.101 Gelu.103" */
	double flops;            /* per element */
	int product;             /* of an OP_gemm: result in whose memory the product is made; behind `outs` there may be one just for that */
};

int dtype_class(DType t);                                /* PXLRT_F32 …; float8 loads as f32 */
int fuse_load(Arena *a, Pattern *p, int operand, DType t, Span at);      /* the node of a load, shared per operand */
int fuse_const(Arena *a, Pattern *p, DType t, double x, Span at);        /* x rounded to t */
/* Append the expression of an ELTWISE op; node[i] stands for op->in.at[i] (ignored where absent).
 * Returns the node of its value, or -1 with the reason in why (our own fault: a bad .expr). */
int fuse_bind(Arena *a, Pattern *p, const Op *op, const int *node, Buf *why);

int  fold_space(Shape s, unsigned axes, int64_t dim[4]); /* s as pxlrt_fold.dim; 0: it has more parts than that, or none is folded */
void pattern_print(const Pattern *p, Buf *out);          /* "n2 = add.f32(n0, n1); out0 = n2": in textual IR and comments */

#endif
