/* lang.h — text to tree: all that other folders include of lang/, with base/. */
#ifndef LANG_LANG_H
#define LANG_LANG_H

#include "lang/ast.h"
#include "lang/base/diag.h"
#include "lang/base/intern.h"
#include "lang/base/map.h"

/* Parse source `src` of `ds->srcs`.  Always returns a FILE node; what could not be parsed is missing
 * from it and has its diagnostics in ds.  No limits are needed by the caller: deep nesting, long
 * lines and binary bytes all end in diagnostics. */
Ast *lang_parse(Arena *mem, Intern *names, Diags *ds, uint32_t src);

/* one expression, as in `--set lr=0.1`; NULL after a diagnostic */
Ast *lang_parse_expr(Arena *mem, Intern *names, Diags *ds, uint32_t src);

/* The standard library (lang/std), embedded at build time: text of `name`.pxl, or NULL. */
const char *lang_std(const char *name, size_t *len);
const char *lang_std_name(int i);                           /* names in alphabetical order; NULL after the last */

#endif
