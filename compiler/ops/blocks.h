/* blocks.h — images whose channels lie in blocks: [N, C / 16, D1 … Dn, 16] in the place of [N, C, D1 … Dn].
 *
 * To the IR such a tensor is one of that shape, so ops that go element by element, fusion and the memory plan know nothing of
 * it.  Ops with windows have an attribute `_blocked`, bits that say which of their operands and results lie so: bit i is
 * operand i, BLOCKED_OUT the first result.  The pass `layout` sets it. */
#ifndef COMPILER_OPS_BLOCKS_H
#define COMPILER_OPS_BLOCKS_H

#include "compiler/ops/op.h"

enum { BLOCK_CHANNELS = PXLRT_CHANNELS, BLOCKED_OUT = 1 << 8 };
#define RELU_PARAM { "_relu", P_BOOL, OPTIONAL, INT_DEFAULT(0) }
#define BLOCKED_PARAM { "_blocked", P_INT, OPTIONAL, INT_DEFAULT(0) }

int   shape_has_blocks(Shape plain);                     /* one to three axes of space, and whole blocks of channels */
Shape shape_blocked(Shape plain);
Shape shape_plain(Shape blocked);
static inline int lies_blocked(const Op *op, int bit) { return (op_attr(op, "_blocked")->i & bit) != 0; }
Shape shape_seen(const Op *op, const Tensor *t, int bit);        /* t's shape as the op counts: [N, C, D1 … Dn] */

#endif
