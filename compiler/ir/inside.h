/* inside.h — what the files of compiler/ir share and nobody else needs. */
#ifndef COMPILER_IR_INSIDE_H
#define COMPILER_IR_INSIDE_H

#include "compiler/ir/ir.h"

/* a tensor at the builder's place; `unique` is its final name, already taken in the graph */
Tensor *new_tensor(const Build *b, TensorKind kind, Spec spec, const char *unique);
const char *name_suffixed(Graph *g, const char *want);       /* always with __t<n> */
int     ir_writable(const Build *b, const char *what);       /* 0 after a diagnostic: frozen */

/* building an op in steps: operands and attributes; results; into the graph, with its order and hooks */
Op     *new_op(const Build *b, int code, int inplace, Tensor *const *in, int nin, const AttrVal *attrs);
Tensor *add_result(const Build *b, Op *op, Spec spec, const char *unique);
void    poison_results(Op *op);
void    enter_op(const Build *b, Op *op);
void    run_hooks(Graph *g, Op *op);                         /* an op was made (R212) */

/* output at position pos, and a result at every call site; site_name NULL: named as calls name results */
void    insert_output(Graph *g, int pos, Tensor *t, const char *site_name);

const char *op_title(Arena *a, const Op *op);                /* "`add_` (op 103)": for messages */

/* call sites: operand i of a call, repeat or conditional against the callee's inputs */
Tensor *callee_input(const Op *op, int i);                   /* NULL: the condition, or out of range */
Tensor *parent_of_input(const Op *op, const Tensor *input);  /* operand given for a callee's input; NULL: none */
int     raise_depth(Graph *g, int depth);                     /* g has calls `depth` levels deep; 0: too many */
int     op_by_ref(const Op *op, int i);                      /* passed by reference to a call or repeat */

/* parts.c: is a call among them that counts as writing only what its callee writes; does what w writes of operand i meet u's operand k */
int     op_writes_parts(const Op *op);
int     tensors_meet(Tensor *x, Tensor *y, int *sure);       /* have they an element in common; if not sure, a "yes" may be wrong */
int     op_parts_meet(const Op *w, int i, const Op *u, int k);

/* which operand's storage result `out` takes over, judged by the op alone; -1: none */
int     op_shares(const Op *op, int out);
/* a viewing op whose result lies nowhere in its operand's storage (strides cannot say where) */
int     op_view_fails(const Op *op);

#endif
