/* check_graphs.h — many random graphs at once: compiled in batches, since a C compiler costs most by the call.
 *
 * Graphs that cannot run at all (an index that is out of range, say) are left out first; they must say so
 * properly.  Of a batch that does not agree, each graph is looked at alone, and the smallest part of it that
 * still fails is printed as a program to save and run. */
#ifndef TESTS_GRAPHS_CHECK_GRAPHS_H
#define TESTS_GRAPHS_CHECK_GRAPHS_H

#include "tests/graphs/run.h"

typedef struct Tally { int graphs, ops, unrun, slopes, wrong; } Tally;

/* --- gradients against central differences --------------------------------------------------------------------------- */
typedef struct Live { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; } Live;

static inline int live_open(Live *l, const char *text)
{
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	*l = (Live){ 0 };
	o.jit = PXL_JIT_TCC, o.seed = 5, so.threads = 1;
	return !pxl_ctx_new(NULL, &l->cx) && !pxl_compile_memory(l->cx, "random.pxl", text, strlen(text), &l->m) && !pxl_program_new(l->m, &o, &l->p) && !pxl_session_new(l->p, &so, &l->s);
}

static inline void live_close(Live *l)
{
	pxl_session_free(l->s);
	pxl_program_free(l->p);
	pxl_model_free(l->m);
	pxl_ctx_free(l->cx);
}

/* an f64 array of the program, read; its length, or -1 */
static inline int live_read(Live *l, pxl_kind kind, const Gen *g, const char *letter, int i, double *out)
{
	char name[48];
	pxl_info info;
	snprintf(name, sizeof name, "%s%llu_%d", letter, (unsigned long long)g->seed, i);
	int at = pxl_find(l->p, kind, name);
	if (at < 0 || !pxl_get_info(l->p, at, &info) || info.nelem > MAX_ELEMENTS || info.dtype != PXL_F64) return -1;
	return pxl_read(l->s, at, out, info.bytes) ? -1 : (int)info.nelem;
}

/* the loss with input i moved by h along dir */
static inline double loss_at(Live *l, const Gen *g, int i, const double *x, const double *dir, int n, double h)
{
	char name[48];
	double y[MAX_ELEMENTS], loss;
	snprintf(name, sizeof name, "x%llu_%d", (unsigned long long)g->seed, i);
	for (int k = 0; k < n; k++) y[k] = x[k] + h * dir[k];
	if (pxl_write(l->s, pxl_find(l->p, PXL_VARIABLE, name), y, (size_t)n * 8) || pxl_run(l->s, 1)) return NAN;
	return live_read(l, PXL_OUTPUT, g, "y", 0, &loss) == 1 ? loss : NAN;
}

/* 0: the slope of the loss along a direction is not what the gradient says, though the loss has one there */
static inline int slope_holds(Live *l, Gen *g, int i, int out, char *why, size_t size)
{
	double x[MAX_ELEMENTS], dx[MAX_ELEMENTS], dir[MAX_ELEMENTS], says = 0, step[] = { 1e-4, 1e-5, 1e-6 };
	int n = live_read(l, PXL_VARIABLE, g, "x", i, x);
	if (n < 0) return 1;
	for (int k = 0; k < n; k++) dir[k] = gen_below(g, 2001) / 1000.0 - 1;
	double at = loss_at(l, g, i, x, dir, n, 0);
	if (live_read(l, PXL_OUTPUT, g, "y", out, dx) != n) return 1;
	for (int k = 0; k < n; k++) says += dx[k] * dir[k];
	for (int k = 0; k < 3; k++) {
		double up = loss_at(l, g, i, x, dir, n, step[k]), down = loss_at(l, g, i, x, dir, n, -step[k]);
		double is = (up - down) / (2 * step[k]), bend = fabs((up - at) - (at - down)) / step[k], room = 2e-3 * (fabs(says) + fabs(is)) + 1e-4 + 1e-9 / step[k] * fabs(at);
		snprintf(why, size, "input t%d: the gradient says %.9g, differences %.9g", i, says, is);
		if (!isfinite(is) || !isfinite(says) || fabs(is - says) <= room || bend > room) return loss_at(l, g, i, x, dir, n, 0), 1;
	}
	loss_at(l, g, i, x, dir, n, 0);
	return 0;
}

static inline int slopes_hold(Gen *g, const char *text, char *why, size_t size)
{
	Live l;
	Val out[MAX_NODES * NODE_OUTS];
	int at = 1 + leaves(g, out), ok = 1;
	if (live_open(&l, text))
		for (int i = 0; i < g->n && ok; i++) {
			const Node *n = &g->node[i];
			if (n->kind != NODE_INPUT || n->gone || !dtype_is_float(n->out[0]->spec.dtype)) continue;
			if (!n->constant) ok = slope_holds(&l, g, i, at, why, size);
			at++;
		}
	live_close(&l);
	return ok;
}

/* --- one graph --------------------------------------------------------------------------------------------------------- */
static inline int graph_holds(Gen *g, int last, char *why, size_t size)
{
	const char *text = graphs_text(&g->t->mem, &g, 1);
	int ok = text_agrees(text, last, why, size);
	return ok != 1 ? ok : g->kind != SMOOTH || slopes_hold(g, text, why, size);
}

/* take the node out: unused, or with another value of its kind in its place */
static inline int drop_node(Gen *g, int i)
{
	for (int v = 0; v < i || !node_used(g, i); v++) {
		if (!node_used(g, i)) return g->node[i].gone = 1;
		const Node *n = &g->node[v];
		if (n->gone || n->nout != 1 || g->node[i].nout != 1 || !shape_eq(n->out[0]->spec.shape, g->node[i].out[0]->spec.shape) || n->out[0]->spec.dtype != g->node[i].out[0]->spec.dtype) continue;
		for (int k = i + 1; k < g->n; k++)
			for (int m = 0; m < g->node[k].nin; m++)
				if (g->node[k].in[m].node == i) g->node[k].in[m] = (Val){ v, 0 };
	}
	return 0;
}

static inline void shrink(Gen *g, int last, char *why, size_t size)
{
	char now[1000];
	for (int again = 1; again;) {
		again = 0;
		for (int i = g->n - 1; i >= 0; i--) {
			Gen was = *g;
			if (g->node[i].gone) continue;
			if (drop_node(g, i) && graph_holds(g, last, now, sizeof now) == 0) {
				snprintf(why, size, "%s", now);
				again = 1;
			} else *g = was;
		}
	}
}

static inline void report(Gen *g, int last, char *why, size_t size)
{
	printf("seed %llu: %s\n", (unsigned long long)g->seed, why);
	shrink(g, last, why, size);
	printf("what is left of it: %s\n%s\n", why, graphs_text(&g->t->mem, &g, 1));
	fflush(stdout);
}

/* --- batches ------------------------------------------------------------------------------------------------------------- */
enum { MOST_BATCH = 64 };

static inline int runs_alone(Gen *g, Tally *all)
{
	char why[1000] = "";
	int ok = text_agrees(graphs_text(&g->t->mem, &g, 1), 1, why, sizeof why);
	if (ok < 0) all->unrun++;
	if (ok < 0 && strncmp(why, "run: ", 5)) {
		printf("seed %llu is no valid graph: %s\n", (unsigned long long)g->seed, why);
		all->wrong++;
	} else if (ok == 0) {
		report(g, 1, why, sizeof why);
		all->wrong++;
	}
	return ok == 1;
}

/* each graph as a program of its own; in one with others it draws other constants, and one may be out of range for an index */
static inline void check_alone(Gen **g, int n, int last, Tally *all)
{
	for (int i = 0; i < n; i++) {
		char how[1000] = "";
		if (graph_holds(g[i], last, how, sizeof how)) continue;
		report(g[i], last, how, sizeof how);
		all->wrong++;
	}
}

/* all of `last` configurations on the batch as one program, then slopes; one by one where that fails or cannot run */
static inline void check_batch(uint64_t seed, int n, int least, int most, int last, Tally *all)
{
	Bench t;
	char why[1000] = "";
	Gen *g[MOST_BATCH];
	volatile int kept = 0;
	int wrong = all->wrong;
	bench_open(&t);
	if (setjmp(t.oom)) return;
	for (int i = 0; i < n; i++) {
		g[kept] = NEW(&t.mem, Gen);
		gen_graph(g[kept], &t, seed + (uint64_t)i, least, most);
		all->ops += g[kept]->n;
		kept += runs_alone(g[kept], all);
	}
	all->graphs += n;
	int ok = kept ? text_agrees(graphs_text(&t.mem, g, kept), last, why, sizeof why) : 1;
	if (ok != 1) check_alone(g, kept, last, all);
	if (ok == 0 && wrong == all->wrong) {
		printf("seeds %llu to %llu fail together, not one by one: %s\n", (unsigned long long)seed, (unsigned long long)seed + (unsigned)n - 1, why);
		all->wrong++;
	}
	for (int i = 0; i < kept; i++) {
		char how[1000] = "";
		if (g[i]->kind != SMOOTH) continue;
		all->slopes++;
		if (slopes_hold(g[i], graphs_text(&t.mem, &g[i], 1), how, sizeof how)) continue;
		report(g[i], 1, how, sizeof how);
		all->wrong++;
	}
	bench_close(&t);
}

#endif
