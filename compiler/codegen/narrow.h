/* narrow.h — the pattern of a group as emitted loops compute it: small integers in types of their own. */
#ifndef COMPILER_CODEGEN_NARROW_H
#define COMPILER_CODEGEN_NARROW_H

#include "compiler/passes/fuse.h"

int narrow_class(DType t);                                     /* PXLRT_I8 … for integers of 32 bits and less, U8 for bool; else the class */
const Pattern *narrow_pattern(Arena *mem, const Op *op);       /* of an OP_fused; classes are those of narrow_class, no integer has a norm */

#endif
