/* plan.h — what the passes leave behind for codegen, and the pipeline itself.
 *
 * lower_program() takes a private copy of the IR to the form emitters understand:
 *   - views are explicit, non-contiguous operands of ops without STRIDED are copied first;
 *   - by-value call operands that the callee writes are copied; callee outputs that alias inputs are copied;
 *   - elementwise chains are OP_fused; dead outputs of calls are gone;
 *   - every graph has an order, and every tensor a place. */
#ifndef COMPILER_PASSES_PLAN_H
#define COMPILER_PASSES_PLAN_H

#include "compiler/ir/ir.h"

typedef enum Space {
	SPACE_NONE,                  /* never materialised (inside a fused group, or unused) */
	SPACE_FRAME,                 /* offset in the frame of its graph */
	SPACE_VARS, SPACE_CONSTS,    /* offset in the program's regions */
	SPACE_PARAM,                 /* handed in by the caller: graph inputs and outputs of subgraphs; index in `param` */
	SPACE_REMOTE,                /* offset in the remote region: a variable that stands for an entry of a remote buffer */
	SPACE_STREAM,                /* points into a stream's entry: known when host_load has run */
	SPACE_FIXED,                 /* a variable that nothing writes: number of its pointer in the lane, `param` */
	SPACE_HOST                   /* where the next entry of a stream to the host goes, `param`, or in the frame, as SPACE_FRAME */
} Space;

typedef struct Place { Space space; size_t offset, bytes; int param; } Place;    /* of a storage root; views add their layout */

static inline int in_frame(const Place *p) { return p->space == SPACE_FRAME || p->space == SPACE_HOST; }

typedef struct GraphPlan {
	Op **order;                  /* schedule */
	int nop;
	size_t frame_bytes;          /* own frame, frames of callees included */
	size_t lower_bound;          /* most live bytes at any step: no plan can do with less */
	int peak_step;
	size_t *call_frame;          /* per position in order: for CALLS ops, offset of call_bytes() that only the call uses */
	int *first, *last;           /* per tensor index - only those of the graph are set: steps it lives through */
} GraphPlan;

typedef struct Plan {
	Place *place;                /* by tensor index */
	GraphPlan *graph;            /* by graph index */
	size_t frame_bytes, var_bytes, const_bytes;
	int nfixed; size_t fixed_bytes;      /* variables that nothing writes: beside var_bytes */
	size_t remote_bytes;         /* of all remote buffers; the device's memory is the others */
	size_t *buffer;              /* by buffer id: offset in the remote region */
} Plan;

typedef struct PassOptions {
	int level;                   /* -O0 … -O2 */
	int verify;                  /* run ir_verify after every pass: tests and debug builds */
	const char *stop_after;      /* name of a pass: the pipeline ends there (`emit ir --after cse`) */
	unsigned long disabled;      /* bit i: pass number i of passes.def is left out, or does as at -O0 (`--no-pass fuse`) */
	int alone;                   /* those left out are left out, needed or not: tests of one pass */
	struct PassTime { const char *name; double ms; } *times;    /* one per pass, filled if not NULL */
} PassOptions;

/* 0 after diagnostics or an internal error (E… of kind K_INTERNAL). ir is changed. */
int   passes_run(Ir *ir, const PassOptions *o);
int   pass_count(void);
const char *pass_name(int i);
const char *pass_doc(int i);
Plan *memplan(Ir *ir, Arena *mem);
/* What a CALLS op wants at call_frame: the larger of its callees' frames, and behind it what the site itself keeps (the
 * other copy of a repeat's carried values). The callees' plans must be made. In compiler/codegen/control.c. */
size_t call_bytes(const Op *op, const Plan *p);
void  plan_print(const Ir *ir, const Plan *p, Buf *out);         /* `pxlc emit plan` */

#endif
