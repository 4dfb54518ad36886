/* ship.h — a compiled program as files: C, header, library, example caller, for use without the compiler. */
#ifndef COMPILER_CODEGEN_SHIP_H
#define COMPILER_CODEGEN_SHIP_H

#include "compiler/codegen/codegen.h"

struct NativeFile;
/* where the function of m->hosts[i] is: a C file with a table pxl_native_ops, and its place there */
typedef struct ShipHost { const struct NativeFile *file; int at; } ShipHost;
int ship(const Module *m, const RtProgram *p, const ShipHost *hosts, const char *dir, Arena *mem, RtErr *e);

#endif
