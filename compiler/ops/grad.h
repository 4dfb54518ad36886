/* grad.h — what gradient rules are written with.
 *
 * A rule gets the forward op and builds, in the gradient graph, what its operands receive:
 *
 *   static void grad_tanh(Grad *gr, Op *op)
 *   {
 *           Tensor *y = grad_fwd(gr, op->out.at[0]), *dy = grad_of(gr, op, 0);
 *           grad_add(gr, op, 0, b_op2(&gr->b, OP_mul, dy, b_op2(&gr->b, OP_sub, b_like(&gr->b, y, 1), b_op2(&gr->b, OP_mul, y, y))));
 *   }
 */
#ifndef COMPILER_OPS_GRAD_H
#define COMPILER_OPS_GRAD_H

#include "compiler/ops/op.h"

struct Grad {
	Build b;                                 /* builds in the gradient graph, at the forward op's place */
	struct Autodiff *ad;                     /* compiler/transforms/autodiff.c */
};

Tensor *grad_of(Grad *gr, Op *op, int out);          /* incoming gradient of a result; zeros if none came in */
int     grad_has(Grad *gr, Op *op, int out);         /* did one come in */
Tensor *grad_fwd(Grad *gr, Tensor *fwd);             /* a forward tensor, seen from the gradient graph */
int     grad_wanted(Grad *gr, Op *op, int in);       /* does operand `in` lead to a required gradient */
/* contribute to operand `in`; sums over broadcast axes and casts to the operand's dtype as needed; ignored if not wanted */
void    grad_add(Grad *gr, Op *op, int in, Tensor *g);
/* refuse: the headline is completed by the op and the tensor that needed it */
void    grad_refuse(Grad *gr, Op *op, const char *why);

/* --- short ways to build ops (compiler/ops/build.c); they also serve transforms and passes --------------- */
Tensor *b_op1(Build *b, OpCode op, Tensor *x);
Tensor *b_op2(Build *b, OpCode op, Tensor *x, Tensor *y);
Tensor *b_op3(Build *b, OpCode op, Tensor *x, Tensor *y, Tensor *z);
Tensor *b_scalar(Build *b, DType t, double x);               /* a constant of rank 0 */
Tensor *b_like(Build *b, Tensor *like, double x);            /* a rank-0 constant of like's dtype */
Tensor *b_zeros(Build *b, Spec s);
Tensor *b_sum(Build *b, Tensor *x, unsigned axes, int keepdims);
Tensor *b_reduce_op(Build *b, OpCode op, Tensor *x, unsigned axes, int keepdims);
Tensor *b_sum_to(Build *b, Tensor *x, Shape s);              /* red(x → s): undo broadcasting */
Tensor *b_broadcast(Build *b, Tensor *x, Shape s);           /* values repeated to shape s */
Tensor *b_reshape(Build *b, Tensor *x, Shape s);
Tensor *b_keepdims(Build *b, Tensor *reduced, Shape full, unsigned axes);   /* put the reduced axes back as 1 */
Tensor *b_transpose(Build *b, Tensor *x, const int *perm);   /* perm NULL: swap the last two axes */
Tensor *b_matmul(Build *b, Tensor *x, Tensor *y);
Tensor *b_cast(Build *b, Tensor *x, DType t);                /* x itself if it has that dtype */
Tensor *b_slice(Build *b, Tensor *x, int axis, int64_t start, int64_t stop);
Tensor *b_concat(Build *b, Tensor *const *xs, int n, int axis);
void    b_check_scale(Build *b, Tensor *log2_scale);                 /* a fault if it is outside [-32, 32) */
void    b_check_indices(Build *b, Tensor *idx, int64_t limit);       /* a fault if one is outside [0, limit) */
/* attributes by name, for ops with few: `b_attrs(b, OP_softmax, "axis", attr_int(-1), NULL)` gives an array for ir_op */
AttrVal *b_attrs(Build *b, OpCode op, ...);
static inline AttrVal attr_int(int64_t i)    { return (AttrVal){ .set = 1, .i = i }; }
static inline AttrVal attr_float(double f)   { return (AttrVal){ .set = 1, .f = f }; }
static inline AttrVal attr_str(const char *s) { return (AttrVal){ .set = 1, .s = s }; }
static inline AttrVal attr_ptr(void *p)      { return (AttrVal){ .set = 1, .p = p }; }
AttrVal attr_ints(Arena *a, const int64_t *at, int n);

#endif
