/* autodiff.h — a graph in, its gradient graph out (semantics.md R214–R254, addons.md A100–A110). */
#ifndef COMPILER_TRANSFORMS_AUTODIFF_H
#define COMPILER_TRANSFORMS_AUTODIFF_H

#include "compiler/ir/ir.h"

typedef enum Connection { CONN_FWD, CONN_FWD_GRAD } Connection;
typedef struct Expected { Connection type; Tensor *fwd; } Expected;
typedef struct GradInfo {
	Graph *graph, *fwd;
	VEC(Expected) ins, outs;             /* one per input and output of graph, in order */
} GradInfo;

typedef struct AutodiffOptions {
	Tensor *const *provided; int nprovided;      /* provided NULL: the outputs the user wrote */
	Tensor *const *required; int nrequired;      /* required NULL: all inputs */
	const Map *called;                           /* Graph * → GradInfo * to use instead of differentiating, or NULL */
	Map *all;                                    /* receives Graph * → GradInfo * of everything differentiated, or NULL */
	int zeros;                                   /* unreached required inputs get zeros (addons layer) instead of an error */
} AutodiffOptions;

/* `at` gives place, chain and the context gradient ops are made in; NULL after diagnostics */
GradInfo *autodiff(Build *at, Graph *fwd, const AutodiffOptions *o);

/* the three maps; call sites are ops. Keys are in order. NULL after a diagnostic (call of another graph, or one
 * made with no activations, R232, A102) */
Map *gradinfo_inputs_dict(Build *at, const GradInfo *gi, Op *fwd_call);             /* gradient graph input → parent tensor */
Map *gradinfo_fwd_graph_ins(Build *at, const GradInfo *gi, Op *grad_call);          /* forward graph tensor → gradient in the parent */
Map *gradinfo_fwd_parent_ins(Build *at, const GradInfo *gi, Op *fwd_call, Op *grad_call);   /* parent tensor → gradient */

#endif
