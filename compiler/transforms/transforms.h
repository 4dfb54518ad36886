/* transforms.h — the transforms that rewrite a graph in place (semantics.md R255–R264). */
#ifndef COMPILER_TRANSFORMS_TRANSFORMS_H
#define COMPILER_TRANSFORMS_TRANSFORMS_H

#include "compiler/ir/ir.h"

/* Sums of more than two tensors of g become chains of adds, in the order in which the tensors can be ready. */
void decompose_sum(Build *at, Graph *g);
void sum_as_chain(Build *at, Op *sum);                   /* the same for one */

/* Transfers among the ops of g that were made since op number `from` become exchanges. */
void merge_exchange(Build *at, Graph *g, int from);
/* op was just made: it comes after the exchanges that move something of a stream of its own (R262). */
void order_after_exchanges(Op *op);
/* At most one of those ops may be left, inits aside; 0 after a diagnostic. */
int  check_one_exchange(Build *at, const Graph *g, int from);

#endif
