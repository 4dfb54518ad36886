/* pass.h — what passes share.  A pass changes ir, which is a private copy of the user's, and returns
 * 0 only after a diagnostic.  Its file opens with what holds afterwards. */
#ifndef COMPILER_PASSES_PASS_H
#define COMPILER_PASSES_PASS_H

#include "compiler/ops/grad.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/plan.h"

typedef struct PassCx {
	Ir *ir;
	Arena *mem;                  /* ir->mem: passes live as long as the copy */
	int level;
} PassCx;

#define PASS(name, level, doc) int pass_##name(PassCx *cx);
#include "compiler/passes/passes.def"
#undef PASS

int   pass_bug(Ir *ir, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));   /* E0999; gives 0 */

/* --- util.c ------------------------------------------------------------------------------------------------- */
int   is_output(const Tensor *t);                        /* of its graph */
int   output_position(const Tensor *t);                  /* or -1 */
int   sole_user(const Tensor *t);                        /* one op reads it, and nobody else */
int   is_used(const Tensor *t);                          /* by an op or as an output */
int   op_modifies_any(const Op *op);
int   plain_product(const Op *matmul);                   /* of two matrices, in f32 or f64 throughout */
char *graph_effects(Ir *ir, Arena *mem);                 /* per graph index: does running it have effects */
int   op_has_effect(const Op *op, const char *graph_effect);     /* must run although nothing reads its results */
int   same_attrs(const Op *a, const Op *b);
/* the pattern of an elementwise op on its own: operand i is a load of operand i.  Gives the node of its value, or -1 */
int   bind_alone(Arena *mem, Pattern *p, const Op *op);
int   pattern_fails(const Pattern *p, const Op *op);     /* can it, so bound, divide an integer by zero or raise one to a negative power */
/* the number all elements of a constant have; 0: not a constant, or they differ */
int   constant_value(const Tensor *t, double *x);
int   same_layout(const Layout *a, Shape as, const Layout *b, Shape bs);      /* the same elements in the same order */
int   same_place(const Op *a, const Op *b);              /* may one loop do both */
const char *take_name(Tensor *old);                      /* for what takes old's place, so that listings and C keep the model's words */
Build build_at(const Op *op);                            /* builds in op's graph, in op's context */
void  set_viewing(Op *op, int viewing);                  /* the variant `name_` of a viewing op, or the plain one */
static inline void run_after(Op *later, Op *first) { ir_run_after(later, first); }
Tensor *insert_copy(const Op *site, Tensor *t);          /* a contiguous copy of t, made in site's context */

/* The tensors whose storage something writes: roots.  Good until the IR changes. */
typedef struct Written { Map root; } Written;
Written written_roots(PassCx *cx, Graph *g);
int     is_written(const Written *w, Tensor *t);
/* May op move to the place of its only user, which reads `bias` besides (NULL: nothing)?  If somebody writes what op reads, that is
 * a move past the write unless the user waits for nothing besides op. */
int     may_move(const Written *w, const Op *op, const Op *user, Tensor *bias);

/* order of graphs such that callees come before their callers; n = ir->graphs.n */
Graph **callees_first(Ir *ir, Arena *mem);

/* --- rewriting many ops of one graph: begin, replace as often as you like, end --------------------------------
 * New ops are those at the end of g->ops since `mark`.  Constraints follow: what ran after the old op runs after
 * what took its place.  When a result is replaced by a tensor that was there before, the caller has made sure
 * that nobody writes either. */
typedef VEC(Op *) OpList;
typedef struct Rewrite { PassCx *cx; Graph *g; Map moved; } Rewrite;
Rewrite rewrite_begin(PassCx *cx, Graph *g);
void    rewrite_replace(Rewrite *rw, Op *op, Tensor *const *with, int mark);    /* with: one per result */
void    rewrite_replace_by(Rewrite *rw, Op *op, Tensor *const *with, OpList *made);
/* op is part of what was made at the place of a later op.  A writer of what it read waits for that; who waited for it for the
 * sake of a sequence alone may stand between the two, and waits for what it waited for. */
void    rewrite_join(Rewrite *rw, const Written *w, Op *op, Tensor *const *with, int mark);
int     rewrite_has(const Rewrite *rw, const Op *op);                            /* replaced already */
void    rewrite_end(Rewrite *rw);
/* rule on every op that was there, of every graph */
int     rewrite_ops(PassCx *cx, void (*rule)(Rewrite *rw, const Written *w, Op *op));

/* --- dce.c: effects as from graph_effects; what can fail stays (OpDef.fails) */
void   remove_dead(PassCx *cx, Graph *g, const char *effects);

/* --- views.c: ops from id `first` on that move bytes for nothing become views; 0 only if there is no order */
int    views_since(PassCx *cx, Graph *g, int first);

/* --- lower.c: can op read operand i lying so, or would it get a contiguous copy */
int    reads_strides(const Op *op, int i, const Layout *l);

/* --- store.c: takes back the marks of pass_store that a graph's schedule does not allow */
typedef struct Stores Stores;
Stores *stores_begin(Ir *ir, Arena *mem);
void    stores_settle(Stores *s, Graph *g, const GraphPlan *gp);

/* --- order.c --------------------------------------------------------------------------------------------------- */
/* make the order in which seq reads and writes memory explicit, as constraints */
void   order_accesses(PassCx *cx, Graph *g, Op *const *seq, int n);

/* --- clone_graph.c ------------------------------------------------------------------------------------------ */
/* Copy the ops of `from` into b->g; map: Tensor * → Tensor *, preset for the inputs, receives the rest.
 * The new ops, in an order they can run in, are appended to seq. */
void   clone_ops(Build *b, Graph *from, Map *map, OpList *seq);
Graph *clone_graph(Graph *g);                            /* same inputs and outputs, no callers */
void   set_callee(Op *op, int k, Graph *g);              /* g has the same inputs and outputs */

#endif
