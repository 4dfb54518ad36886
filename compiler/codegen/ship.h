/* ship.h — a compiled program as files: C, header, library, example caller, for use without the compiler. */
#ifndef COMPILER_CODEGEN_SHIP_H
#define COMPILER_CODEGEN_SHIP_H

#include "compiler/codegen/codegen.h"

int ship(const Module *m, const RtProgram *p, const char *dir, Arena *mem, RtErr *e);

#endif
