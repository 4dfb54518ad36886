/* codegen.h — scheduled IR → C text → machine code. */
#ifndef COMPILER_CODEGEN_CODEGEN_H
#define COMPILER_CODEGEN_CODEGEN_H

#include "compiler/passes/plan.h"

typedef struct Module {
	const char *text;            /* one C file; entry point `int pxl_main(const struct pxlrt *, struct pxlrt_lane *)` */
	size_t len;
	uint64_t hash;               /* of text and everything else that changes machine code */
	RtSite *sites;               /* source places faults refer to */
	int nsite;
	RtVar *vars; int nvar;
	RtStream *streams; int nstream;
	RtBuffer *buffers; int nbuffer;
	RtHost *hosts; int nhost;    /* calls of functions of the host, which are not part of the text */
	void *consts;                /* contents of the constant region, plan->const_bytes */
	const char *options;         /* what it was made under and the text need not show, for the cache's key; or NULL */
	double calls;                /* that the text makes in one step, about: what a compiler that optimises can make cheaper */
} Module;

/* Deterministic: the same IR and plan give the same bytes. NULL after an internal-error diagnostic. */
Module *codegen(Ir *ir, const Plan *plan, Arena *mem);

/* JIT_AUTO: what the system's compiler has made before, if the cache has it, else libtcc at once */
typedef enum JitKind { JIT_TCC, JIT_CC, JIT_AUTO } JitKind;
typedef struct Jit Jit;                              /* owns machine code; outlives the arena */
typedef struct JitOptions {
	JitKind kind;
	const char *cache_dir;                       /* NULL: cc's products go to a private temporary directory */
	RtAlloc alloc;
} JitOptions;
/* thread-safe (libtcc under one lock, its memory from a region reserved beforehand). RT_OK, RT_ENOMEM, RT_EIO (no compiler, disk), RT_EINTERNAL */
int     jit_compile(const Module *m, const JitOptions *o, Jit **out, RtErr *e);
RtEntry jit_entry(const Jit *j);
int     jit_is_cc(const Jit *j);                     /* else libtcc's */
const char *jit_kind(const Jit *j);                  /* "tcc", "cc", "cc (cached)" */
const char *jit_warning(const Jit *j);               /* of the cache, when something in it was passed over; or NULL */
void    jit_free(Jit *j);

/* A module on its way through the system's compiler in processes of their own, looked at now and then by whoever runs it.
 * m and o->cache_dir must stay until jit_swap_free. */
typedef struct JitSwap JitSwap;
enum { JIT_BUSY = -1, JIT_NONE = -2 };               /* not ready; there is no compiler */
int  jit_swap_begin(const Module *m, const JitOptions *o, JitSwap **out, RtErr *e);
int  jit_swap_step(JitSwap *s, int wait, Jit **out, RtErr *e);       /* once it is not JIT_BUSY: free */
void jit_swap_free(JitSwap *s);                                      /* stops what is still at work */

#endif
