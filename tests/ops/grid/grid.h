/* grid.h — the grid of generated tests: op × element type × shape class, many of them in one program.
 *
 * A row says of an op which element types it takes and what it computes; a unit is one point of the grid: the op on
 * operands that lie plainly or are views of something larger.  Units are built side by side into one program, so that
 * the system's compiler is called once for a hundred of them; it runs under libtcc and under the system's compiler, and
 * what comes out is compared with the row's reference and, bit by bit, between the two. */
#ifndef TESTS_OPS_GRID_GRID_H
#define TESTS_OPS_GRID_GRID_H

#include "tests/ops/grid/num.h"
#include "tests/ops/views.h"

enum { GRID_IN = 8, GRID_OUT = 4, GRID_UNITS = 256 };

typedef struct Unit Unit;
typedef struct Form { const char *operands, *attrs; } Form;
typedef struct Row {
	const char *op;
	unsigned types;                          /* bit per DType of the operands spelled T */
	int arity;                               /* elementwise: operands, all of any shapes that broadcast */
	Num (*each)(const Num *x, DType t);      /* elementwise: one element from those of the operands; t: type of the first */
	void (*whole)(Unit *u);                  /* else: fills Y from X; M(i, k) is the sum of the sizes of what was added up */
	const Form *forms;                       /* operands and attributes, up to one without operands */
	const char *attrs;
	double ulps;                             /* more than the half of rounding; of f32 where f16 and bf16 compute in it */
	double sums;                             /* roundings of the accumulator (f32, or f64 for f64), of M */
	double lo, hi, lo1, hi1;                 /* floats are in [lo, hi), those of later operands in [lo1, hi1); 0, 0: -2 to 2, and as the first */
	int top, top1;                           /* integers are up to this (and down to its negative); 0: any */
	int first_bool;                          /* elementwise: the first operand is of bool, whatever the others are */
	int plain_numbers;                       /* no infinities and NaN: the page leaves them open */
	int tame;                                /* nor numbers whose squares are too large */
	int single;                              /* sums and factors are f32 even where the result is f64 */
	int plain_target;                        /* it does not write through views (an error that says so) */
	int nonzero;                             /* integers of the second operand are not 0 */
	int same_shapes;                         /* nothing is broadcast */
	unsigned any;                            /* more types that are neither tested nor refused */
	int exact;                               /* values are moved: the sign of 0 counts */
} Row;

typedef struct Value {
	Spec spec;                               /* as the op sees it */
	View view;
	Shape base;                              /* of what the view shows */
	size_t n, nbase;
	Num *x, *all;                            /* the op's elements; the base's */
	void *raw;                               /* the base as a stream holds it */
	int stream;
} Value;

struct Unit {
	const Row *row;
	const char *attrs;
	int special, bounds[GRID_IN], nin, nout;
	Value in[GRID_IN], out[GRID_OUT + 1];    /* one more result: what a view written through has become */
	int base_out;                            /* its index, or 0 */
	Num *want[GRID_OUT + 1], *size[GRID_OUT + 1];
	void *other[GRID_OUT + 1];               /* results of the other compiler */
	Op *op;
};

#define X(i, k) (u->in[i].x[k])
#define Y(i, k) (u->want[i][k])
#define M(i, k) (u->size[i][k])
#define NX(i) (u->in[i].n)
#define NY(i) (u->out[i].n)
#define SX(i) (u->in[i].spec.shape)
#define SY(i) (u->out[i].spec.shape)
#define ATTR(name) op_attr(u->op, name)

/* --- positions ------------------------------------------------------------------------------------------------------- */

static inline void coords(Shape s, size_t k, int *c)
{
	for (int i = s.rank - 1; i >= 0; i--) c[i] = (int)(k % (size_t)s.dim[i]), k /= (size_t)s.dim[i];
}
static inline size_t flat(Shape s, const int *c)
{
	size_t k = 0;
	for (int i = 0; i < s.rank; i++) k = k * (size_t)s.dim[i] + (size_t)c[i];
	return k;
}
/* place in an operand of shape s that broadcasting pairs with place k of a result of shape y */
static inline size_t paired(Shape s, Shape y, size_t k)
{
	int c[MAX_RANK], d[MAX_RANK];
	coords(y, k, c);
	for (int i = 0; i < s.rank; i++) d[i] = s.dim[i] == 1 ? 0 : c[y.rank - s.rank + i];
	return flat(s, d);
}

static inline size_t base_place(View v, Shape s, Shape base, size_t k)
{
	int c[MAX_RANK], d[MAX_RANK];
	coords(s, k, c);
	for (int i = 0; i < s.rank; i++) {
		int n = (int)s.dim[i];
		d[i] = v == TURNED ? c[s.rank - 1 - i] : v == BACKWARD ? n - 1 - c[i] : v == SKIPPED ? 2 * c[i] : v == PART ? c[i] + 1 : v == EXPANDED && !i ? 0 : c[i];
	}
	return flat(base, d);
}

/* --- building ------------------------------------------------------------------------------------------------------------ */

typedef struct Grid {
	Bench t;
	Unit *u[GRID_UNITS];
	int n;
	size_t elements;
	const char *tag;                         /* "tcc -O2" */
	void *consts;
} Grid;

static inline void grid_open(Grid *g)
{
	memset(g, 0, sizeof *g);
	bench_open(&g->t);
	g->t.b = ir_build(g->t.ir->main);
}

static inline Value value_of(Grid *g, Spec s, View v)
{
	Value x = { .spec = s, .view = v, .base = base_shape(v, s.shape) };
	Arena *a = &g->t.mem;
	x.n = (size_t)shape_nelems(s.shape);
	x.nbase = (size_t)shape_nelems(x.base);
	x.x = NEWN(a, Num, x.n + 1);
	x.all = NEWN(a, Num, x.nbase + 1);
	x.raw = arena_alloc(a, (x.nbase + 1) * 8);
	g->elements += x.nbase;
	return x;
}

static inline Tensor *grid_load(Grid *g, Value *x)
{
	Build *b = &g->t.b;
	Stream *st = ir_stream(b, 1, (Spec){ .dtype = x->spec.dtype, .shape = x->base }, 0);
	x->stream = st->index;
	return ir_op(b, OP_host_load, 0, 0, b_attrs(b, OP_host_load, "h2d_stream", attr_ptr(st), NULL), 0)->out.at[0];
}

static inline void grid_store(Grid *g, Unit *u, Tensor *t, Op *after)
{
	Build *b = &g->t.b;
	Stream *st = ir_stream(b, 0, t->spec, 0);
	Value *y = &u->out[u->nout++];
	*y = value_of(g, t->spec, PLAIN);
	y->stream = st->index;
	Op *store = ir_op(b, OP_host_store, &t, 1, b_attrs(b, OP_host_store, "d2h_stream", attr_ptr(st), NULL), 0);
	if (after) ir_run_after(store, after);
}

static inline void unit_print(const Unit *u)
{
	printf("%s(", u->row->op);
	for (int i = 0; i < u->nin; i++) {
		if (u->in[i].spec.dtype == DT_COUNT) continue;
		printf("%s%s%s[", i ? ", " : "", view_name[u->in[i].view], dtype_info[u->in[i].spec.dtype].name);
		for (int k = 0; k < SX(i).rank; k++) printf("%s%d", k ? "," : "", (int)SX(i).dim[k]);
		printf("]");
	}
	printf("; %s)", u->attrs);
}

/* a unit of the row: operands `specs` lying so; 0 after diagnostics */
static inline Unit *grid_add(Grid *g, const Row *r, const char *attrs, const Spec *specs, const View *views, int n)
{
	Unit *u = NEW(&g->t.mem, Unit);
	Tensor *in[GRID_IN], *base = 0;
	int inplace;
	const OpDef *d = def_by_name(r->op, &inplace);
	u->row = r;
	u->attrs = attrs;
	u->nin = n;
	for (int i = 0; i < n; i++) {
		u->in[i].spec = specs[i];
		in[i] = 0;
		if (specs[i].dtype == DT_COUNT) continue;           /* left out */
		u->in[i] = value_of(g, specs[i], views[i]);
		in[i] = grid_load(g, &u->in[i]);
		if (!i) base = in[0];
		in[i] = view_op(&g->t.b, views[i], specs[i].shape, in[i]);
	}
	AttrVal *v = scan_attrs(&g->t, d, attrs);
	u->op = inplace ? ir_op_inplace(&g->t.b, d->id, in, n, v, 0) : ir_op(&g->t.b, d->id, in, n, v, 0);
	if (g->t.ds.errors) {
		unit_print(u);
		printf(" is not built\n%s", bench_text(&g->t));
		return 0;
	}
	for (int i = 0; i < u->op->out.n; i++) grid_store(g, u, u->op->out.at[i], 0);
	if (inplace && d->inplace == MODIFIES && views[0] != PLAIN) u->base_out = u->nout, grid_store(g, u, base, u->op);
	for (int i = 0; i < u->nout; i++) {
		u->want[i] = NEWN(&g->t.mem, Num, u->out[i].n + 1);
		u->other[i] = arena_alloc(&g->t.mem, (u->out[i].n + 1) * 8);
		u->size[i] = NEWN(&g->t.mem, Num, u->out[i].n + 1);
	}
	return g->u[g->n++] = u;
}

/* --- operands' values -------------------------------------------------------------------------------------------------------- */

static inline uint64_t grid_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	uint64_t z = *state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* a unit's numbers are its own, whatever else is in the program */
static inline uint64_t unit_seed(const Unit *u)
{
	uint64_t h = hash_bytes(u->row->op, strlen(u->row->op)) ^ hash_bytes(u->attrs, strlen(u->attrs)) * 3;
	for (int i = 0; i < u->nin; i++) h = h * 31 + hash_bytes(&u->in[i].spec.dtype, sizeof(DType)) + hash_bytes(SX(i).dim, sizeof(SX(i).dim)) + (uint64_t)u->in[i].view;
	return h;
}

static inline Num some_number(const Unit *u, int i, uint64_t *state)
{
	const Row *r = u->row;
	DType t = u->in[i].spec.dtype;
	uint64_t z = grid_random(state);
	double lo = i && (r->lo1 || r->hi1) ? r->lo1 : r->lo, hi = i && (r->lo1 || r->hi1) ? r->hi1 : r->hi;
	int top = i && r->top1 ? r->top1 : r->top;
	if (u->bounds[i]) return (Num)(z % (uint64_t)u->bounds[i]);
	if (!lo && !hi) lo = -2, hi = 2;
	if (is_real(t)) return round_to(t, lo + (hi - lo) * ldexp((double)(z >> 11), -53));
	if (t == DT_BOOL) return z >> 63;
	if (!top || top > most(t)) return ring(t, z);
	Num v = (Num)(z >> 8 & 0xffffff) - (is_signed(t) ? 0x800000 : 0);
	return rintl(v / (is_signed(t) ? 0x800000 : 0xffffff) * top);
}

enum { SPECIALS = 16 };

/* the k-th of the numbers where something changes */
static inline Num special_number(DType t, int k)
{
	Format f = format_of(t);
	Num tiny = ldexpl(1, f.low - f.digits + 1), normal = ldexpl(1, f.low), big = ldexpl(2, f.high - 1) - ldexpl(1, f.high - f.digits);
	const Num real[SPECIALS] = { 0, -0.0L, INFINITY, -INFINITY, NAN, tiny, -tiny, normal, -normal, big, -big, 1, -1, 0.5L, normal - tiny, -1.5L };
	const Num whole[SPECIALS] = { 0, 1, -1, least(t), most(t), least(t) + 1, most(t) - 1, 2, -2, 3, -3, 7, -7, 64, -64, 5 };
	if (is_real(t)) return dtype_is_f8(t) ? round_to(t, real[k]) : real[k];
	return t == DT_BOOL ? k & 1 : ring(t, bits_of(whole[k]));
}

static inline void fill_operand(Unit *u, int i, uint64_t *state)
{
	Value *x = &u->in[i];
	DType t = x->spec.dtype;
	for (size_t k = 0; k < x->nbase; k++) {
		int at = (int)(i == 0 ? k % SPECIALS : k / SPECIALS % SPECIALS);
		Num v = u->special ? special_number(t, at) : some_number(u, i, state);
		if ((u->row->plain_numbers || u->row->tame) && is_real(t) && (v != v || isinf(v))) v = 1.25L;
		if (u->row->tame && is_real(t) && fabsl(v) > 60000) v = copysignl(1.75L, v);
		if (i && u->row->nonzero && v == 0 && !is_real(t)) v = 1;
		if (i && u->row->top1 && v < 0) v = -v;
		x->all[k] = v;
		num_put(t, x->raw, k, v);
	}
	for (size_t k = 0; k < x->n; k++) x->x[k] = x->all[base_place(x->view, x->spec.shape, x->base, k)];
}

static inline void expect(Unit *u)
{
	const Row *r = u->row;
	size_t n = 0;
	for (int i = 0; i < u->op->out.n; i++) n += NY(i);
	if (r->whole && n) r->whole(u);          /* references divide by what results with elements have some of */
	for (size_t k = 0; r->each && k < NY(0); k++) {
		Num x[GRID_IN];
		for (int i = 0; i < u->nin; i++) {
			x[i] = X(i, paired(SX(i), SY(0), k));
			M(0, k) += fabsl(x[i]);
		}
		Y(0, k) = r->each(x, u->in[r->first_bool].spec.dtype);
	}
	if (!u->base_out) return;
	Value *x = &u->in[0];
	memcpy(u->want[u->base_out], x->all, x->nbase * sizeof(Num));
	for (size_t k = 0; k < x->n; k++) {
		size_t at = base_place(x->view, x->spec.shape, x->base, k);
		Y(u->base_out, at) = Y(0, k);
		M(u->base_out, at) = M(0, k);
	}
}

/* --- running ---------------------------------------------------------------------------------------------------------------- */

static inline int grid_fail(Grid *g, const char *where, const RtErr *e)
{
	printf("%s: %s: %s\n%s", g->tag, where, e->text, bench_text(&g->t));
	return 0;
}

typedef struct Code { Plan *plan; Module *m; } Code;
static inline int grid_code(Grid *g, int level, Code *c)
{
	RtErr none = { 0 };
	Ir *ir = ir_clone(g->t.ir, &g->t.mem, 0);
	if (!passes_run(ir, &(PassOptions){ .level = level, .verify = 1 })) return grid_fail(g, "passes", &none);
	c->plan = memplan(ir, &g->t.mem);
	c->m = c->plan ? codegen(ir, c->plan, &g->t.mem) : 0;
	return c->m ? 1 : grid_fail(g, "codegen", &none);
}

static inline int grid_bind(Grid *g, RtBind *bind)
{
	int n = 0;
	for (int i = 0; i < g->n; i++) {
		for (int k = 0; k < g->u[i]->nin; k++)
			if (g->u[i]->in[k].raw) bind[n++] = (RtBind){ g->u[i]->in[k].stream, g->u[i]->in[k].raw, g->u[i]->in[k].nbase };
		for (int k = 0; k < g->u[i]->nout; k++) bind[n++] = (RtBind){ g->u[i]->out[k].stream, g->u[i]->out[k].raw, g->u[i]->out[k].n };
	}
	return n;
}

/* results are in out[].raw afterwards */
static inline int grid_run(Grid *g, const Code *c, JitKind kind, int threads)
{
	RtErr e = { 0 };
	Jit *jit = 0;
	RtSession *s = 0;
	RtBind *bind = NEWN(&g->t.mem, RtBind, (size_t)g->n * (GRID_IN + GRID_OUT + 1));
	const Module *m = c->m;
	if (jit_compile(m, &(JitOptions){ .kind = kind, .alloc = { prog_alloc, 0 } }, &jit, &e)) return grid_fail(g, "compiler", &e);
	RtProgram p = { .name = "grid", .main = jit_entry(jit), .replicas = 1, .transfers = 1, .frame_bytes = c->plan->frame_bytes, .var_bytes = c->plan->var_bytes,
	                .const_bytes = c->plan->const_bytes, .consts = m->consts, .nvar = m->nvar, .nstream = m->nstream, .nsite = m->nsite,
	                .vars = m->vars, .streams = m->streams, .sites = m->sites };
	int bad = rt_session_new(&p, &(RtOptions){ .threads = threads, .alloc = { prog_alloc, 0 } }, &s, &e);
	bad = bad || rt_session_run(s, bind, grid_bind(g, bind), &e);
	rt_session_free(s);
	jit_free(jit);
	return bad ? grid_fail(g, "running", &e) : 1;
}

/* --- comparing ------------------------------------------------------------------------------------------------------------- */

static inline int near_enough(const Row *r, DType t, Num got, Num want, Num size)
{
	Num half = dtype_is_float(t) && t < DT_F32 ? 0.02L : 1, eps = t == DT_F64 && !r->single ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
	if (want != want) return got != got;
	if (!is_real(t)) return got == want;
	if (r->exact && want == 0) return got == 0 && !signbit(got) == !signbit(want);
	Num room = (0.501L + r->ulps * half) * ulp_of(t, want) + (r->sums ? (Num)r->sums * eps * size : 0);
	if (isinf(round_to(t, want))) return got == round_to(t, want);
	return fabsl(got - want) <= room || (isinf(got) && isinf(round_to(t, want + copysignl(room, want))));
}

static inline int unit_right(Grid *g, Unit *u)
{
	for (int i = 0; i < u->nout; i++)
		for (size_t k = 0; k < u->out[i].n; k++) {
			DType t = u->out[i].spec.dtype;
			Num got = num_get(t, u->out[i].raw, k);
			if (near_enough(u->row, t, got, u->want[i][k], u->size[i][k])) continue;
			unit_print(u);
			printf(" under %s: result %d[%zu] is %.20Lg, not %.20Lg", g->tag, i, k, got, u->want[i][k]);
			for (int j = 0; j < u->nin; j++)
				if (u->row->each && k < NY(0)) printf(", x%d = %.20Lg", j, X(j, paired(SX(j), SY(0), k)));
			printf("\n");
			return 0;
		}
	return 1;
}

/* keeps results, or compares them with those kept */
static inline void grid_keep(Grid *g)
{
	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < g->u[i]->nout; k++) memcpy(g->u[i]->other[k], g->u[i]->out[k].raw, g->u[i]->out[k].n * dtype_size(g->u[i]->out[k].spec.dtype));
}
static inline int unit_same(Grid *g, Unit *u)
{
	for (int i = 0; i < u->nout; i++) {
		DType t = u->out[i].spec.dtype;
		size_t w = dtype_size(t);
		for (size_t k = 0; k < u->out[i].n; k++) {
			const char *a = (const char *)u->other[i] + k * w, *b = (const char *)u->out[i].raw + k * w;
			if (!memcmp(a, b, w) || (num_get(t, a, 0) != num_get(t, a, 0) && num_get(t, b, 0) != num_get(t, b, 0))) continue;
			unit_print(u);
			printf(": result %d[%zu] has other bits under %s\n", i, k, g->tag);
			return 0;
		}
	}
	return 1;
}

static inline void grid_forget(Grid *g)
{
	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < g->u[i]->nout; k++) memset(g->u[i]->out[k].raw, 0xa5, (g->u[i]->out[k].n + 1) * 8);
}

/* one way of running it: every unit right; `same`: with the bits of the run before */
static inline void grid_check(Grid *g, const Code *c, JitKind kind, int threads, const char *tag, int same)
{
	g->tag = tag;
	grid_forget(g);
	int ok = grid_run(g, c, kind, threads);
	for (int i = 0; ok && i < g->n; i++) CHECK("", unit_right(g, g->u[i]) && (!same || unit_same(g, g->u[i])));
	if (!ok && g->n) printf("first unit: "), unit_print(g->u[0]), printf("\n");
	CHECK("", ok);
	grid_keep(g);
}

static inline void grid_close(Grid *g) { bench_close(&g->t); }

#endif
