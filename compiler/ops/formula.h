/* formula.h — what a `kernel` computes for one element: a tree of primitives over its operands and numbers.
 *
 * A formula is made from the model's text (compiler/elab/kernel.c) or from another one by differentiation,
 * and stands in the IR as text: `sel(ge(ts0, 0), ts0, mul(0.01, ts0))`, where ts0 is the first operand.  It is never
 * pasted into C: fuse_expr.c reads that text, and nothing but names of primitives and numbers means anything to it. */
#ifndef COMPILER_OPS_FORMULA_H
#define COMPILER_OPS_FORMULA_H

#include "compiler/ops/op.h"

/* the primitives of elementwise code, by the names that runtime/pxlrt.h gives them */
typedef enum FusePrim {
#define X(n, ...) FP_##n,
	PXLRT_VEC1_ALL(X) PXLRT_VEC1_INT(X) PXLRT_VEC1_LOOP(X) PXLRT_VEC1_FLOAT(X)
	PXLRT_VEC2_ALL(X) PXLRT_VEC2_INT(X) PXLRT_VEC2_FLOAT(X) PXLRT_VEC3_ALL(X) PXLRT_VEC3_FLOAT(X)
#undef X
	FP_COUNT
} FusePrim;
typedef enum PrimTypes { OF_ALL, OF_INTS, OF_FLOATS } PrimTypes;     /* element types that a primitive is defined for */
typedef struct FusePrimInfo {
	const char *name;
	int arity;
	PrimTypes types;
	const char *slope;               /* as pxlrt.h says */
} FusePrimInfo;
extern const FusePrimInfo fuse_prim[FP_COUNT];           /* name: the member of struct pxlrt_f32 and kin */
int fuse_prim_find(const char *s, size_t n);             /* by a name of n bytes; -1: there is none */
int fuse_prim_truth(FusePrim p);                         /* it gives a truth value */
/* prim.c: y[i] = p(a[0][i], …), by the functions that emitted code calls; arrays have room for 8 elements more */
void prim_f32(FusePrim p, float *y, float *const *a, long count);
void prim_f64(FusePrim p, double *y, double *const *a, long count);
void prim_i64(FusePrim p, long long *y, long long *const *a, long count);
void prim_u64(FusePrim p, unsigned long long *y, unsigned long long *const *a, long count);

enum { FORMULA_SIZE = 4000, FORMULA_DEPTH = 150 };   /* nodes of the tree written out; their nesting */

typedef enum FormulaKind { FORMULA_NUMBER, FORMULA_ARG, FORMULA_PRIM } FormulaKind;
typedef struct Formula Formula;
struct Formula {
	FormulaKind kind;
	int truth;                       /* a truth value: a comparison, a bool operand */
	double x;                        /* NUMBER */
	int arg;                         /* ARG: operand */
	FusePrim prim;                   /* PRIM */
	const Formula *a[3];
	int size, depth;
};

const Formula *formula_number(Arena *a, double x, int truth);
const Formula *formula_arg(Arena *a, int operand, int truth);
/* simplified where that changes no value but 0 * infinity and 0 * nan, which derivatives are full of */
const Formula *formula_prim(Arena *a, FusePrim p, const Formula *x, const Formula *y, const Formula *z);
const Formula *formula_diff(Arena *a, const Formula *f, int operand);       /* the derivative by an operand */
int  formula_too_large(const Formula *f);
int  formula_is(const Formula *f, double x);                                /* it is this number */
void formula_put(const Formula *f, Buf *out);
/* NULL: it is no formula over n operands; truth[i]: operand i is a truth value */
const Formula *formula_parse(Arena *a, const char *text, int n, const char *truth);
/* operands that f reads, numbered afresh in order: from[new] = old; how many */
const Formula *formula_renumber(Arena *a, const Formula *f, int n, int *from, int *count);
/* adds the gradients of op, whose result is f of its operands, as ops that compute the derivatives; listings call them `name` */
void grad_formula(Grad *gr, Op *op, const char *name, const Formula *f);
/* the op that computes a formula, given as text, of n tensors */
Tensor *b_formula(Build *b, const char *name, const char *expr, Tensor *const *in, int n);
static inline int prim_takes(FusePrim p, int real) { return fuse_prim[p].types != (real ? OF_INTS : OF_FLOATS); }
/* what keeps f from being computed in floats (real) or in integers: a primitive that is not defined for them, in integers a
 * number that is not whole; NULL: nothing */
const Formula *formula_misfit(const Formula *f, int real);

#endif
