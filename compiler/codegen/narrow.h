/* narrow.h — the pattern of a group as emitted loops compute it: small integers in types of their own. */
#ifndef COMPILER_CODEGEN_NARROW_H
#define COMPILER_CODEGEN_NARROW_H

#include "compiler/passes/fuse.h"

const Pattern *narrow_pattern(Arena *mem, const Op *op);       /* of an op that has one; classes are those of rt_own_class, no integer has a norm */

#endif
