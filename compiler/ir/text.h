/* text.h — the words that print.c writes and parse.c reads. */
#ifndef COMPILER_IR_TEXT_H
#define COMPILER_IR_TEXT_H

#include "compiler/ops/op.h"

extern const char *const text_exec[EXEC_COUNT];
extern const char *const text_tiles[3];
extern const char *const text_init[INIT_ARANGE + 1];
int text_attr_kind(const Op *op, ParamKind kind);    /* does a parameter of this kind stand among the attributes */

#endif
