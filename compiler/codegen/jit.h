/* jit.h — private to the jit_*.c files: what machine code needs to be kept alive and let go. */
#ifndef COMPILER_CODEGEN_JIT_H
#define COMPILER_CODEGEN_JIT_H

#include "compiler/codegen/codegen.h"

struct Jit {
	RtAlloc alloc;
	RtEntry entry;
	const char *kind;            /* a literal */
	const char *warning;         /* a literal, or NULL */
	void *code; size_t size;     /* libtcc: pages of our own that hold the code */
	void *dl;                    /* cc: handle of the loaded object */
};

/* The text a compiler gets: pxlrt.h, then the module without its #include line. From alloc; NULL: no memory. */
char *jit_source(const Module *m, const RtAlloc *alloc, size_t *len);

int  jit_tcc(const Module *m, const RtAlloc *alloc, Jit *j, RtErr *e);
void jit_tcc_free(Jit *j);
int  jit_cc(const Module *m, const JitOptions *o, Jit *j, int only_cached, RtErr *e);     /* only_cached: fails rather than compile */
void jit_cc_free(Jit *j);

#endif
