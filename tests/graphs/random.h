/* random.h — random valid graphs, as text of the language.
 *
 * A graph is a list of nodes: inputs, ops, and uses of small functions (called, repeated, chosen by a condition).
 * Ops come from the op table: operands are drawn from what is there, attributes by their kind, and the op's own
 * shape rule says whether the draw fits, so that a new op joins by itself.  What an op's `sample` says of its
 * operands is kept by squeezing them into that range.  The same seed gives the same graph.
 *
 *   writes   views and ops in place, in sequence; never differentiated
 *   slopes   ops with gradients; ends in a loss
 *   smooth   the same in f64 alone, without ops that let no gradient through: fit for central differences */
#ifndef TESTS_GRAPHS_RANDOM_H
#define TESTS_GRAPHS_RANDOM_H

#include "tests/ops/ops.h"

typedef enum GraphKind { WRITES, SLOPES, SMOOTH, GRAPH_KINDS } GraphKind;
typedef enum NodeKind { NODE_INPUT, NODE_OP, NODE_CALL, NODE_REPEAT, NODE_BRANCH } NodeKind;
enum { MAX_NODES = 64, MAX_SUBS = 3, NODE_INS = 8, NODE_OUTS = 4, NODE_ATTRS = 200, MAX_ELEMENTS = 600 };

typedef struct Val { int node, out; } Val;
typedef struct Node {
	NodeKind kind;
	const OpDef *d;
	int inplace, nin, nout, squeeze[NODE_INS], listed;       /* listed: operands from here on are a list */
	int param[NODE_INS];                     /* which parameter an operand is for */
	Val in[NODE_INS];
	Tensor *out[NODE_OUTS];
	char attrs[NODE_ATTRS];
	int sub[2], count;
	int constant, small;                     /* small: integers that are 0 or 1 */
	int gone;                                /* left out by shrinking */
} Node;
typedef struct Gen Gen;
struct Gen {
	GraphKind kind;
	uint64_t seed, state;
	Bench *t;
	Graph *g;
	Node node[MAX_NODES];
	int n, nsub;
	Gen *sub;                                /* MAX_SUBS */
};

/* --- chance -------------------------------------------------------------------------------------------------- */
static inline uint64_t gen_next(Gen *g)
{
	uint64_t x = g->state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}
static inline int gen_below(Gen *g, int n) { return (int)(gen_next(g) % (uint64_t)n); }
static inline int gen_chance(Gen *g, int percent) { return gen_below(g, 100) < percent; }
static inline DType gen_dtype(Gen *g)
{
	static const DType often[] = { DT_F32, DT_F32, DT_F32, DT_F32, DT_F64, DT_F64, DT_F16, DT_F16, DT_BF16, DT_I32, DT_I32, DT_I64, DT_U8, DT_I8, DT_U32, DT_I16, DT_BOOL };
	return g->kind == SMOOTH ? DT_F64 : often[gen_below(g, (int)(sizeof often / sizeof *often))];
}
static inline Shape gen_shape(Gen *g)
{
	static const int64_t sides[] = { 1, 2, 2, 3, 3, 4, 5, 7, 16, 33 };
	Shape s = { .rank = gen_below(g, 4) };
	for (int i = 0; i < s.rank; i++) s.dim[i] = sides[gen_below(g, s.rank > 2 ? 6 : 10)];
	if (s.rank && gen_chance(g, 5)) s.dim[gen_below(g, s.rank)] = 0;
	return s;
}

/* --- values -------------------------------------------------------------------------------------------------- */
static inline Tensor *val_tensor(const Gen *g, Val v) { return g->node[v.node].out[v.out]; }

static inline Node *gen_node(Gen *g, NodeKind kind)
{
	Node *n = &g->node[g->n];
	memset(n, 0, sizeof *n);
	n->kind = kind;
	n->listed = NODE_INS;
	return n;
}

static inline int spec_is_seed(Spec s) { return s.dtype == DT_U32 && s.shape.rank == 1 && s.shape.dim[0] == 2; }

static inline void gen_input(Gen *g, Spec s, int constant)
{
	Node *n = gen_node(g, NODE_INPUT);
	Build b = ir_build(g->g);
	n->constant = constant;
	n->small = !dtype_is_float(s.dtype) && !spec_is_seed(s);
	n->out[0] = ir_input(&b, s, "x", 0);
	n->nout = 1;
	g->n++;
}

static inline int val_pick(Gen *g, Val *v, int want, DType t)
{
	for (int k = 0; k < 30; k++) {
		v->node = gen_chance(g, 50) ? gen_below(g, g->n) : g->n - 1 - gen_below(g, g->n < 6 ? g->n : 6);
		const Node *n = &g->node[v->node];
		if (!n->nout) continue;
		v->out = gen_below(g, n->nout);
		if (!want || val_tensor(g, *v)->spec.dtype == t) return 1;
	}
	return 0;
}

/* --- attributes ---------------------------------------------------------------------------------------------- */
static inline int64_t *gen_ints(Gen *g, int n) { return NEWN(&g->t->mem, int64_t, n + 1); }

static inline AttrVal gen_shape_attr(Gen *g, const Tensor *t)
{
	Shape s = gen_shape(g);
	if (t && gen_chance(g, 70)) {                    /* the elements of t in other places */
		int64_t n = shape_nelems(t->spec.shape);
		s.rank = 0;
		if (!n) s.dim[s.rank++] = 0;
		while (n > 1 && s.rank < 3) {
			int64_t f = 2 + gen_below(g, 6);
			if (n % f) f = n;
			s.dim[s.rank++] = f;
			n /= f;
		}
		if (n > 1) s.dim[s.rank - 1] *= n;
	} else if (t && gen_chance(g, 50)) s = t->spec.shape;
	return attr_ints(&g->t->mem, s.dim, s.rank);
}

static inline AttrVal gen_ints_attr(Gen *g, const Tensor *t)
{
	int rank = t ? t->spec.shape.rank : 2, n = gen_chance(g, 40) ? rank : 1 + gen_below(g, rank ? rank : 1);
	int64_t *at = gen_ints(g, n);
	int perm = gen_chance(g, 40), from = gen_below(g, 4);
	for (int i = 0; i < n; i++) at[i] = perm ? i : gen_below(g, 4) - (gen_chance(g, 30) ? 2 : 0);
	for (int i = 0; perm && i < from && n > 1; i++) {
		int a = gen_below(g, n), b = gen_below(g, n);
		int64_t x = at[a];
		at[a] = at[b];
		at[b] = x;
	}
	return attr_ints(&g->t->mem, at, n);
}

static inline AttrVal gen_attr(Gen *g, const Param *p, const Tensor *t)
{
	static const double numbers[] = { 0.5, 0.25, 1.5, 2, -0.75, 0.1, 1, 3 };
	static const char *const words[] = { "sum", "mean", "none", "max", "min", "mul", "add", "linear", "nearest", "valid", "same_upper" };
	double x = numbers[gen_below(g, 8)];
	switch (p->kind) {
	case P_INT: case P_COUNT: return attr_int(gen_below(g, 6) - 2);
	case P_BOOL: return attr_int(gen_below(g, 2));
	case P_DTYPE: return attr_int(gen_dtype(g));
	case P_FLOAT: case P_SCALAR: return attr_float(x);
	case P_STR: return attr_str(words[gen_below(g, (int)(sizeof words / sizeof *words))]);
	case P_INTS: return gen_ints_attr(g, t);
	case P_SHAPE: return gen_shape_attr(g, t);
	case P_FLOATS: {
		AttrVal v = { .set = 1 };
		v.floats.at = arena_dup(&g->t->mem, &x, sizeof x);
		v.floats.n = 1;
		return v;
	}
	default: return p->init;
	}
}

static inline void attr_text(const Param *p, const AttrVal *v, char *out, size_t size)
{
	size_t n = strlen(out);
	n += (size_t)snprintf(out + n, size - n, "%s%s = ", n ? ", " : "", p->name);
	switch (p->kind) {
	case P_INT: case P_COUNT: snprintf(out + n, size - n, "%lld", (long long)v->i); return;
	case P_BOOL: snprintf(out + n, size - n, "%s", v->i ? "true" : "false"); return;
	case P_DTYPE: snprintf(out + n, size - n, "%s", dtype_info[v->i].name); return;
	case P_STR: snprintf(out + n, size - n, "\"%s\"", v->s); return;
	case P_FLOAT: case P_SCALAR: snprintf(out + n, size - n, "%.17g%s", v->f, v->f == (double)(int)v->f ? ".0" : ""); return;
	case P_FLOATS: snprintf(out + n, size - n, "%.17g", v->floats.at[0]); return;
	default: break;
	}
	n += (size_t)snprintf(out + n, size - n, "[");
	for (int i = 0; i < v->ints.n; i++) n += (size_t)snprintf(out + n, size - n, "%s%lld", i ? ", " : "", (long long)v->ints.at[i]);
	snprintf(out + n, size - n, "]");
}

/* --- ops ------------------------------------------------------------------------------------------------------ */
/* ops whose gradient is not calculus, on purpose: ties get all of it, a divisor none */
static inline int own_rules(const OpDef *d)
{
	static const char *const names[] = { "max", "min", "maximum", "minimum", "max_pool", "scatter_reduce", "grouped_scatter_reduce", "fmod", "median", "topk", "interpolate" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(d->name, names[i])) return 1;
	return 0;
}

static inline int op_takes_part(const Gen *g, const OpDef *d)
{
	static const char *const outside[] = { "place", "collective", "collectives", "host_io", "remote", "code", "control" };
	if (d->traits & (INTERNAL | EFFECT | CALLS) || !op_find(d->name, &(int){ 0 })) return 0;
	if (g->kind == SMOOTH && own_rules(d)) return 0;
	if ((d->traits & ONLY_INPLACE || d->writes || d->modifies) && g->kind != WRITES) return 0;
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		if (!strcmp(d->family, outside[i])) return 0;
	for (const Param *p = d->params; p->kind != P_END; p++)
		if ((p->kind == P_ARRAY || p->kind == P_STREAM || p->kind == P_BUFFER || p->kind == P_GRAPH || p->kind == P_PATTERN) && !p->optional) return 0;
	return d->nout >= -2 && d->nout != -1 && !strstr(d->name, "print");
}

/* integers that say where: only those that are surely inside */
static inline int operand_fits(const Gen *g, const Node *n, Val v, int i)
{
	const Tensor *t = val_tensor(g, v);
	if (g->node[v.node].constant && i == 0 && (n->inplace || n->d->traits & ONLY_INPLACE)) return 0;
	if (i == 0 || dtype_is_float(t->spec.dtype) || n->d->traits & ELTWISE || t->spec.dtype == DT_BOOL) return 1;
	return g->node[v.node].small;
}

static inline int add_operand(Gen *g, Node *n, int param)
{
	Val v;
	DType t = n->nin ? val_tensor(g, n->in[0])->spec.dtype : DT_F32;
	int like = n->nin && gen_chance(g, 75);
	if (n->nin == NODE_INS || !val_pick(g, &v, like, t) || !operand_fits(g, n, v, n->nin)) return 0;
	n->param[n->nin] = param;
	n->in[n->nin++] = v;
	return 1;
}

/* operands and attributes; tensors: as ir_op takes them */
static inline int draw_op(Gen *g, Node *n, Tensor **in, int *nin, AttrVal *v)
{
	const Param *p = n->d->params;
	*nin = 0;
	for (int i = 0; p[i].kind != P_END; i++) {
		int more = p[i].kind == P_TENSORS ? 1 + gen_below(g, 3) : 1;
		v[i] = p[i].init;
		switch (p[i].kind) {
		case P_OPT_TENSOR:
			if (gen_chance(g, 60)) {
				in[(*nin)++] = NULL;
				continue;
			}                                        /* fall through */
		case P_TENSORS: case P_TENSOR:
			if (p[i].kind == P_TENSORS) n->listed = n->nin;
			while (more--) {
				if (!add_operand(g, n, i)) return 0;
				in[(*nin)++] = val_tensor(g, n->in[n->nin - 1]);
			}
			break;
		case P_SCALAR: case P_COUNT: in[(*nin)++] = NULL;              /* fall through */
		default:
			if (p[i].kind == P_HINT || p[i].name[0] == '_' || (p[i].optional && (p[i].kind == P_STR || gen_chance(g, 50)))) continue;
			v[i] = gen_attr(g, &p[i], n->nin ? val_tensor(g, n->in[0]) : NULL);
			attr_text(&p[i], &v[i], n->attrs, sizeof n->attrs);
		}
		if (*nin > NODE_INS) return 0;
	}
	return 1;
}

static inline int result_fits(const Gen *g, const Node *n, const Tensor *t)
{
	int64_t e = shape_nelems(t->spec.shape);
	int is_float = dtype_is_float(t->spec.dtype);
	if (t->poison || e < 0 || e > MAX_ELEMENTS || t->spec.dtype == DT_F8_143 || t->spec.dtype == DT_F8_152) return 0;
	if (g->kind == WRITES || !is_float) return 1;
	if (g->kind == SMOOTH && t->spec.dtype != DT_F64) return 0;
	return n->d->grad || (g->kind == SLOPES && n->d->traits & NO_GRAD);
}

static inline void squeeze_operands(Gen *g, Node *n)
{
	double lo = n->d->sample.lo, hi = n->d->sample.hi;
	int narrow = lo < hi && (lo > -1.5 || hi < 1.5);
	for (int i = 0; i < n->nin; i++) {
		const Tensor *t = val_tensor(g, n->in[i]);
		if (dtype_is_float(t->spec.dtype)) n->squeeze[i] = narrow || gen_chance(g, n->d->traits & ELTWISE ? 15 : 40);
		if (i == 0 && (n->inplace || n->d->traits & ONLY_INPLACE)) n->squeeze[i] = 0;
		/* whole numbers that divide must not be 0 */
		if (i && !dtype_is_float(t->spec.dtype) && n->d->traits & ELTWISE && (n->d->id == OP_div || n->d->id == OP_fmod)) n->squeeze[i] = 1;
	}
}

static inline int draw_variant(Gen *g, Node *n)
{
	int inplace = n->d->inplace != NO_INPLACE && g->kind == WRITES && gen_chance(g, 50);
	if (n->d->traits & ONLY_INPLACE) return 1;
	if (n->d->inplace == VIEWS && n->d->params[0].kind == P_TENSORS) inplace = 0;
	return inplace;
}

static inline int gen_op(Gen *g, const OpDef *d)
{
	Tensor *in[2 * NODE_INS + 8];
	AttrVal v[32];
	Node *n = gen_node(g, NODE_OP);
	Build b = ir_build(g->g);
	int nin, errors = g->t->ds.errors, ok;
	n->d = d;
	n->inplace = draw_variant(g, n);
	if (!draw_op(g, n, in, &nin, v)) return 0;
	Op *op = n->inplace ? ir_op_inplace(&b, d->id, in, nin, v, 0) : ir_op(&b, d->id, in, nin, v, 0);
	ok = g->t->ds.errors == errors && op->out.n > 0 && op->out.n <= NODE_OUTS;
	g->t->ds.errors = errors;
	for (int i = 0; ok && i < op->out.n - n->d->hidden; i++) {
		ok = result_fits(g, n, op->out.at[i]);
		n->out[n->nout++] = op->out.at[i];
	}
	if (!ok) return 0;
	n->small = d->inplace == VIEWS && n->nin == 1 && g->node[n->in[0].node].small;
	squeeze_operands(g, n);
	g->n++;
	return 1;
}

static inline void gen_some_op(Gen *g)
{
	for (int k = 0; k < 400; k++) {
		const OpDef *d = op_table[gen_below(g, OP_COUNT)];
		if (!op_takes_part(g, d)) continue;
		for (int i = 0; i < 6; i++)
			if (gen_op(g, d)) return;
	}
}

/* --- functions, and their uses ---------------------------------------------------------------------------------- */
static inline void gen_sub(Gen *g, Gen *s, Spec x, Spec y)
{
	*s = (Gen){ .kind = g->kind == WRITES ? SLOPES : g->kind, .state = gen_next(g), .t = g->t, .g = ir_graph(g->t->ir, "sub") };
	gen_input(s, x, 0);
	gen_input(s, y, 0);
	for (int i = 0, n = 1 + gen_below(g, 4); i < n; i++) gen_some_op(s);
}

/* a use of one or two functions of (x, y) that give something like x */
static inline void gen_use(Gen *g)
{
	Val x, y;
	NodeKind kind = NODE_CALL + (NodeKind)gen_below(g, 3);
	if (!val_pick(g, &x, 1, g->kind == SMOOTH ? DT_F64 : DT_F32) || !val_pick(g, &y, 0, DT_F32)) return;
	if (g->nsub + 2 > MAX_SUBS) return;
	Node *n = gen_node(g, kind);
	Spec sx = val_tensor(g, x)->spec, sy = val_tensor(g, y)->spec;
	n->in[0] = x;
	n->in[1] = y;
	n->nin = 2;
	n->count = gen_below(g, 4);
	n->sub[0] = n->sub[1] = g->nsub++;
	gen_sub(g, &g->sub[n->sub[0]], sx, sy);
	if (kind == NODE_BRANCH) gen_sub(g, &g->sub[n->sub[1] = g->nsub++], sx, sy);
	Build b = ir_build(g->g);
	n->out[0] = ir_input(&b, sx, "u", 0);
	n->nout = 1;
	g->n++;
}

static inline void gen_graph(Gen *g, Bench *t, uint64_t seed, int least, int most)
{
	*g = (Gen){ .seed = seed, .state = seed * 0x2545f4914f6cdd1du + 1, .t = t, .g = ir_graph(t->ir, "random") };
	g->sub = NEWN(&t->mem, Gen, MAX_SUBS);
	g->kind = (GraphKind)gen_below(g, GRAPH_KINDS);
	int inputs = 2 + gen_below(g, 4), ops = least + gen_below(g, most - least + 1);
	for (int i = 0; i < inputs; i++) {
		Shape s = gen_shape(g);
		DType d = i ? gen_dtype(g) : g->kind == SMOOTH ? DT_F64 : DT_F32;
		if (i && gen_chance(g, 40)) s = g->node[gen_below(g, i)].out[0]->spec.shape;
		gen_input(g, (Spec){ .dtype = d, .shape = s }, i && dtype_is_float(d) && gen_chance(g, 20));
	}
	gen_input(g, (Spec){ .dtype = DT_U32, .shape = { .rank = 1, .dim = { 2 } } }, 0);      /* a seed */
	if (g->kind != SMOOTH) gen_input(g, (Spec){ .dtype = DT_I32, .shape = gen_shape(g) }, 0);
	ops += g->n;
	for (int tries = 0; g->n < ops && g->n < MAX_NODES - 1 && tries < 4 * ops; tries++) {
		if (gen_chance(g, 8)) gen_use(g);
		else gen_some_op(g);
	}
}

#endif
