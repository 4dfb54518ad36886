/* ad.h — what the files of autodiff share.
 *
 * One Run serves one request and all graphs called on the way; one Autodiff is one graph being
 * differentiated.  ad_reach.c finds where gradients can go, autodiff.c walks the ops backwards,
 * ad_fwd.c brings forward tensors into the gradient graph, ad_calls.c handles call and conditional,
 * ad_loop.c repeat. */
#ifndef COMPILER_TRANSFORMS_AD_H
#define COMPILER_TRANSFORMS_AD_H

#include "compiler/ops/grad.h"
#include "compiler/transforms/autodiff.h"

/* Where gradients can flow in one graph, whatever is required: independent of callers. */
typedef struct Reach {
	Map leads;                   /* Tensor * → itself: a provided gradient arrives here */
	Map refuses;                 /* Tensor * → Op *: it arrives only past this op, which has no gradient */
	VEC(Tensor *) provided;
} Reach;

typedef struct Run {
	Build *at;                   /* the request's place and context */
	Arena *mem;
	const AutodiffOptions *o;
	Map reach;                   /* Graph * → Reach *, of callees */
	Map done;                    /* Graph * → GradInfo *, differentiated in this run */
	Map effect;                  /* const Graph * → does running it have effects */
} Run;

/* what is known of one forward tensor */
typedef struct Fwd {
	int wanted;                  /* leads on to a required gradient */
	int provided;                /* a gradient of it is an input */
	VEC(Tensor *) parts;         /* contributions so far */
	Tensor *sum;                 /* their sum, once asked for */
	Tensor *seen;                /* its value in the gradient graph */
} Fwd;

typedef struct Autodiff {
	Run *run;
	Arena *mem;
	Graph *fwd;
	Reach *reach;
	GradInfo *gi;
	Map state;                   /* Tensor * → Fwd * */
	VEC(Tensor *) required;
	int nprovided;               /* first inputs of the gradient graph */
	int lenient;                 /* a callee: every gradient that can be had, no complaint about others */
	int recompute;               /* interior tensors are computed again instead of becoming outputs (R239) */
	int failed;
} Autodiff;

Fwd      *ad_state(Autodiff *ad, Tensor *t);
Build     ad_build(Autodiff *ad, const Op *op);              /* in the gradient graph, at the op's place */
Build     ad_beside(const Build *b, const Tensor *t);        /* b on t's IPU and tiles, where they are known */
Spec      ad_gradient_spec(const Tensor *t);             /* of a gradient of t: it is not known to be a shard */
GradInfo *ad_graph(Run *run, Graph *fwd, Reach *reach, Tensor *const *required, int nrequired, int lenient);
int       ad_checks(Run *run, Graph *fwd);                   /* R225, R231: 0 after a diagnostic */

/* ad_reach.c */
Reach *ad_reach(Run *run, Graph *fwd, Tensor *const *provided, int n);
Reach *ad_reach_callee(Run *run, Graph *callee);             /* with its used outputs provided; remembered */
Op    *ad_refusal(const Reach *r, const Tensor *t);
Op    *ad_dead_end(Run *run, const Graph *g, const Tensor *t);
int    ad_passes(const Op *op);                              /* do gradients go through this op at all */

/* gradinfo.c */
Map     ad_outputs(const Graph *g, Arena *mem);              /* output → the place in g->outputs where it stands first */

/* ad_fwd.c */
Tensor *ad_value(Autodiff *ad, Build *b, Tensor *t);         /* poison and ad->failed after a diagnostic */
int     ad_has_effect(Run *run, const Op *op);               /* itself, or what it calls */
void    ad_stitch(Autodiff *ad);                             /* add the outputs that turned out to be needed */
void    ad_prune(Autodiff *ad);                              /* drop what no output of the gradient graph needs (R246) */

/* ad_calls.c */
int  ad_callees(Autodiff *ad);                               /* differentiate what is called on the way first; 0 after a diagnostic */
void ad_call_grad(Grad *gr, Op *op);
GradInfo *ad_info_of(Run *run, Graph *callee);               /* given or made; NULL: none yet */

/* one use of a graph by an op: where the operands of its gradient graph's call come from */
typedef struct Site {
	Grad *gr;
	Op *op;
	GradInfo *gi;
	int first_in;                /* operand of op that feeds input 0 */
	Tensor **value;              /* repeat: inputs of this turn instead of op's, then results; else NULL */
	Tensor **dout;               /* repeat: incoming gradients instead of op's results'; NULL: none came in */
} Site;
Tensor **ad_operands(Site *s);                               /* one per input of gi->graph */

/* ad_loop.c */
void ad_keep_turns(Autodiff *ad, Op *op);                    /* let a repeat's graph hand out what its gradient will need of every turn */
void ad_loop(Grad *gr, Op *op);

#endif
