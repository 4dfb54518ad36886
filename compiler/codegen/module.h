/* module.h — private to codegen: the state of a module being written.
 *
 * Text is written in three layers.  `op` collects the lines of the op at hand; when it ends, the
 * pointers it asked for are declared and its comment is put in front, into `fn`, the body of the
 * current function; when the graph ends, descriptors and fused loops it needed and then the
 * function itself go to `out`.  So a declaration always comes before its use and at function level. */
#ifndef COMPILER_CODEGEN_MODULE_H
#define COMPILER_CODEGEN_MODULE_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/emit.h"
#include "compiler/passes/fuse.h"

struct Emit {
	Arena *mem;
	Ir *ir;
	const Plan *plan;
	Buf out, fn, decl, op;
	Buf extra;                           /* descriptors and fused bodies of the current function */
	Graph *g;
	const char **fn_name;                /* by graph index; NULL: not reachable from main */
	Map functions;                       /* those names, interned: no local may hide them */
	const char **name;                   /* by tensor index: its pointer in the current function, NULL: not yet declared */
	VEC(int) named;                      /* tensor indices with a name: to forget them at the function's end */
	Map taken;                           /* interned names of the current function */
	Map statics;                         /* interned "type value" → name */
	Map fused;                           /* interned body of a fused function → its number */
	Map site_of;                         /* interned "file:line:col:op" → site + 1 */
	VEC(RtSite) sites;
	VEC(RtHost) hosts;
	int nstatic, nfused;
	int uses_st, uses_fr;
	Span line;                           /* where the last #line pointed */
	const char *broken;                  /* our own fault: the module is refused with this text */
};

/* emit.c */
void emit_fail(Emit *e, const Op *op, const char *fmt, ...) __attribute__((format(printf, 3, 4)));   /* keeps the first */
const char *safe_name(Arena *a, const char *want);               /* a C identifier that is no keyword, macro or name of ours */
void emit_comment(Buf *b, const char *indent, const char *text); /* wrapped; nothing in it can end the comment */
void emit_at(Emit *e, Buf *b, Span at);                          /* a #line directive, if the place changed */
int  tensor_is_const(Emit *e, const Tensor *t);                  /* its memory may not be written through its pointer */
const char *base_ptr(Emit *e, const Tensor *root);               /* C expression: char * or typed pointer to a root's memory */
const char *op_comment(Emit *e, const Op *op);                   /* "MatMul.100 (x, w) -> y [8, 512] f32" */

/* fused.c */
void emit_fused(Emit *e, const Op *op);
int  packed_params(const Graph *g);                              /* module.c: its pointers are handed over in an array */
/* weigh.c */
double weigh(Ir *ir, const Plan *plan, Arena *mem);              /* calls that main makes in one run, about */
/* control.c */
void emit_call(Emit *e, const Op *op, size_t frame);
void emit_repeat(Emit *e, const Op *op, size_t frame);
void emit_conditional(Emit *e, const Op *op, size_t frame);

#endif
