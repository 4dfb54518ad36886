/* formula.c — building, differentiating, writing and reading formulas (formula.h). */
#include "compiler/ops/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const FusePrimInfo fuse_prim[FP_COUNT] = {
#define X(n) [FP_##n] = { #n, 1, 0 },
	PXLRT_VEC1_ALL(X)
#undef X
#define X(n) [FP_##n] = { #n, 1, 1 },
	PXLRT_VEC1_FLOAT(X)
#undef X
#define X(n) [FP_##n] = { #n, 2, 0 },
	PXLRT_VEC2_ALL(X)
#undef X
#define X(n) [FP_##n] = { #n, 2, 1 },
	PXLRT_VEC2_FLOAT(X)
#undef X
#define X(n) [FP_##n] = { #n, 3, 0 },
	PXLRT_VEC3_ALL(X)
#undef X
};

/* --- building ------------------------------------------------------------------------------------------ */
static const Formula *keep(Arena *a, Formula f) { return arena_dup(a, &f, sizeof f); }

const Formula *formula_number(Arena *a, double x, int truth)
{
	return keep(a, (Formula){ .kind = FORMULA_NUMBER, .x = x, .truth = truth, .size = 1, .depth = 1 });
}

const Formula *formula_arg(Arena *a, int operand, int truth)
{
	return keep(a, (Formula){ .kind = FORMULA_ARG, .arg = operand, .truth = truth, .size = 1, .depth = 1 });
}

int formula_is(const Formula *f, double x) { return f->kind == FORMULA_NUMBER && f->x == x; }

int formula_too_large(const Formula *f) { return f->size > FORMULA_SIZE || f->depth > FORMULA_DEPTH; }

static int gives_truth(FusePrim p)
{
	switch (p) {
	case FP_eq: case FP_ne: case FP_lt: case FP_le: case FP_gt: case FP_ge:
	case FP_and: case FP_or: case FP_not: case FP_isnan: case FP_isinf: return 1;
	default: return 0;
	}
}

static const Formula *node(Arena *a, FusePrim p, const Formula *x, const Formula *y, const Formula *z)
{
	Formula f = { .kind = FORMULA_PRIM, .prim = p, .a = { x, y, z }, .size = 1, .truth = gives_truth(p) || (p == FP_sel && y->truth && z->truth) };
	for (int i = 0; i < fuse_prim[p].arity; i++) {
		f.size += f.a[i]->size;
		if (f.size > FORMULA_SIZE) f.size = FORMULA_SIZE + 1;        /* more is no news, and sums stay small */
		if (f.depth < f.a[i]->depth) f.depth = f.a[i]->depth;
	}
	f.depth++;
	return keep(a, f);
}

static int both_numbers(const Formula *x, const Formula *y) { return x->kind == FORMULA_NUMBER && y->kind == FORMULA_NUMBER; }

const Formula *formula_prim(Arena *a, FusePrim p, const Formula *x, const Formula *y, const Formula *z)
{
	switch (p) {
	case FP_neg:
		if (x->kind == FORMULA_NUMBER) return formula_number(a, -x->x, 0);
		break;
	case FP_add:
		if (both_numbers(x, y)) return formula_number(a, x->x + y->x, 0);
		if (formula_is(x, 0)) return y;
		if (formula_is(y, 0)) return x;
		break;
	case FP_sub:
		if (both_numbers(x, y)) return formula_number(a, x->x - y->x, 0);
		if (formula_is(y, 0)) return x;
		break;
	case FP_mul:
		if (both_numbers(x, y)) return formula_number(a, x->x * y->x, 0);
		if (formula_is(x, 1)) return y;
		if (formula_is(y, 1)) return x;
		break;
	case FP_div:
		if (formula_is(y, 1)) return x;
		break;
	case FP_sel:
		if (x->kind == FORMULA_NUMBER) return x->x != 0 ? y : z;
		break;
	default: break;
	}
	return node(a, p, x, y, z);
}

/* --- derivatives ----------------------------------------------------------------------------------------- */
typedef struct Diff { Arena *a; int operand; } Diff;

static const Formula *num(Diff *d, double x) { return formula_number(d->a, x, 0); }
static const Formula *op1(Diff *d, FusePrim p, const Formula *x) { return formula_prim(d->a, p, x, NULL, NULL); }
static const Formula *op2(Diff *d, FusePrim p, const Formula *x, const Formula *y) { return formula_prim(d->a, p, x, y, NULL); }

/* slopes multiply; where nothing depends on the operand, nothing comes of it whatever the slope is */
static const Formula *times(Diff *d, const Formula *x, const Formula *slope)
{
	return formula_is(x, 0) ? x : formula_is(slope, 0) ? slope : op2(d, FP_mul, x, slope);
}

static const Formula *diff(Diff *d, const Formula *f);

static const Formula *choose(Diff *d, const Formula *c, const Formula *x, const Formula *y)
{
	return formula_is(x, 0) && formula_is(y, 0) ? x : formula_prim(d->a, FP_sel, c, x, y);
}

/* as `pow` has it: 0 where the exponent is 0, and by the exponent 0 where the base is 0 */
static const Formula *diff_pow(Diff *d, const Formula *f, const Formula *dt, const Formula *de)
{
	const Formula *t = f->a[0], *e = f->a[1], *zero = num(d, 0);
	const Formula *below = formula_is(e, 2) ? t : op2(d, FP_pow, t, op2(d, FP_sub, e, num(d, 1)));
	const Formula *by_t = op2(d, FP_mul, e, below);
	if (e->kind != FORMULA_NUMBER) by_t = choose(d, op2(d, FP_eq, e, zero), zero, by_t);
	if (formula_is(e, 0)) by_t = zero;
	const Formula *flat = op2(d, FP_and, op2(d, FP_eq, t, zero), op2(d, FP_ge, e, zero));
	const Formula *sum = times(d, dt, by_t);
	return formula_is(de, 0) ? sum : op2(d, FP_add, sum, times(d, de, choose(d, flat, zero, op2(d, FP_mul, f, op1(d, FP_log, t)))));
}

/* as `maximum` has it: whoever reaches the result gets the whole gradient */
static const Formula *diff_extreme(Diff *d, const Formula *f, const Formula *dx, const Formula *dy)
{
	const Formula *zero = num(d, 0);
	return op2(d, FP_add, choose(d, op2(d, FP_eq, f->a[0], f), dx, zero), choose(d, op2(d, FP_eq, f->a[1], f), dy, zero));
}

/* a - b trunc(a / b) */
static const Formula *diff_mod(Diff *d, const Formula *f, const Formula *dx, const Formula *dy)
{
	const Formula *q = op2(d, FP_div, f->a[0], f->a[1]);
	const Formula *whole = op2(d, FP_mul, op1(d, FP_sign, q), op1(d, FP_floor, op1(d, FP_abs, q)));
	return formula_is(dy, 0) ? dx : op2(d, FP_sub, dx, times(d, dy, whole));
}

static const Formula *diff_div(Diff *d, const Formula *f, const Formula *dx, const Formula *dy)
{
	const Formula *first = formula_is(dx, 0) ? dx : op2(d, FP_div, dx, f->a[1]);
	return formula_is(dy, 0) ? first : op2(d, FP_sub, first, times(d, dy, op2(d, FP_div, f, f->a[1])));
}

static const Formula *one_minus(Diff *d, const Formula *x) { return op2(d, FP_sub, num(d, 1), x); }

/* f'' of the activations whose f' is a primitive */
static const Formula *second(Diff *d, FusePrim p, const Formula *x)
{
	const Formula *x2 = op2(d, FP_mul, x, x), *two = num(d, 2);
	if (p == FP_swish_grad) {                /* s (1 - s) (2 + x (1 - 2 s)) */
		const Formula *s = op1(d, FP_sigmoid, x);
		return op2(d, FP_mul, op2(d, FP_mul, s, one_minus(d, s)), op2(d, FP_add, two, op2(d, FP_mul, x, one_minus(d, op2(d, FP_mul, two, s)))));
	}
	if (p == FP_geluerf_grad) {              /* phi(x) (2 - x^2) */
		const Formula *phi = op2(d, FP_mul, num(d, 0.398942280401432677939946059934), op1(d, FP_exp, op2(d, FP_mul, num(d, -0.5), x2)));
		return op2(d, FP_mul, phi, op2(d, FP_sub, two, x2));
	}
	/* gelu, with t = tanh u, u = c (x + k x^3): (1 - t^2) (u' + x (u'' / 2 - t u'^2)) */
	const double c = 0.797884560802865355879892119868763737, k = 0.044715;
	const Formula *u = op2(d, FP_mul, x, op2(d, FP_add, num(d, c), op2(d, FP_mul, num(d, c * k), x2)));
	const Formula *u1 = op2(d, FP_add, num(d, c), op2(d, FP_mul, num(d, 3 * c * k), x2)), *t = op1(d, FP_tanh, u);
	const Formula *inner = op2(d, FP_sub, op2(d, FP_mul, num(d, 3 * c * k), x), op2(d, FP_mul, t, op2(d, FP_mul, u1, u1)));
	return op2(d, FP_mul, one_minus(d, op2(d, FP_mul, t, t)), op2(d, FP_add, u1, op2(d, FP_mul, x, inner)));
}

/* g f'(v): dg by the primitive itself, dv by the second derivative */
static const Formula *diff_slope(Diff *d, const Formula *f, const Formula *dg, const Formula *dv)
{
	const Formula *g = f->a[0], *v = f->a[1], *by_v;
	const Formula *first = formula_is(dg, 0) ? dg : op2(d, f->prim, dg, v);
	if (formula_is(dv, 0) || f->prim == FP_relu_grad) return first;
	by_v = f->prim == FP_tanh_grad ? op2(d, FP_mul, num(d, -2), v) : second(d, f->prim, v);
	return op2(d, FP_add, first, times(d, dv, op2(d, FP_mul, g, by_v)));
}

static const Formula *diff_one(Diff *d, const Formula *f, const Formula *dx)
{
	const Formula *x = f->a[0];
	if (formula_is(dx, 0)) return dx;
	switch (f->prim) {
	case FP_neg:     return op1(d, FP_neg, dx);
	case FP_abs:     return times(d, dx, op1(d, FP_sign, x));
	case FP_exp:     return times(d, dx, f);
	case FP_log:     return op2(d, FP_div, dx, x);
	case FP_sqrt:    return op2(d, FP_div, dx, op2(d, FP_add, f, f));
	case FP_sin:     return times(d, dx, op1(d, FP_cos, x));
	case FP_cos:     return times(d, dx, op1(d, FP_neg, op1(d, FP_sin, x)));
	case FP_tanh:    return op2(d, FP_tanh_grad, dx, f);
	case FP_erf:     return times(d, dx, op2(d, FP_mul, num(d, 1.12837916709551257389615890312), op1(d, FP_exp, op1(d, FP_neg, op2(d, FP_mul, x, x)))));
	case FP_recip:   return times(d, dx, op1(d, FP_neg, op2(d, FP_mul, f, f)));
	case FP_relu:    return op2(d, FP_relu_grad, dx, f);
	case FP_gelu:    return op2(d, FP_gelu_grad, dx, x);
	case FP_geluerf: return op2(d, FP_geluerf_grad, dx, x);
	case FP_swish:   return op2(d, FP_swish_grad, dx, x);
	case FP_sigmoid: return times(d, dx, op2(d, FP_mul, f, one_minus(d, f)));
	default:         return num(d, 0);       /* steps, and truth values */
	}
}

static const Formula *diff_prim(Diff *d, const Formula *f)
{
	const Formula *x = diff(d, f->a[0]), *y, *z;
	if (fuse_prim[f->prim].arity == 1) return diff_one(d, f, x);
	y = diff(d, f->a[1]);
	z = fuse_prim[f->prim].arity > 2 ? diff(d, f->a[2]) : NULL;
	switch (f->prim) {
	case FP_add: return op2(d, FP_add, x, y);
	case FP_sub: return formula_is(x, 0) && formula_is(y, 0) ? x : op2(d, FP_sub, x, y);
	case FP_mul: return op2(d, FP_add, times(d, x, f->a[1]), times(d, y, f->a[0]));
	case FP_div: return diff_div(d, f, x, y);
	case FP_mod: return diff_mod(d, f, x, y);
	case FP_pow: return diff_pow(d, f, x, y);
	case FP_min: case FP_max: return diff_extreme(d, f, x, y);
	case FP_relu_grad: case FP_gelu_grad: case FP_geluerf_grad: case FP_swish_grad: case FP_tanh_grad: return diff_slope(d, f, x, y);
	case FP_sel: return choose(d, f->a[0], y, z);
	case FP_fma: return op2(d, FP_add, op2(d, FP_add, times(d, x, f->a[1]), times(d, y, f->a[0])), z);
	default:     return num(d, 0);
	}
}

static const Formula *diff(Diff *d, const Formula *f)
{
	if (f->truth || f->kind == FORMULA_NUMBER) return num(d, 0);
	if (f->kind == FORMULA_ARG) return num(d, f->arg == d->operand);
	return diff_prim(d, f);
}

const Formula *formula_diff(Arena *a, const Formula *f, int operand)
{
	return diff(&(Diff){ a, operand }, f);
}

/* --- text --------------------------------------------------------------------------------------------------- */
static void put_number(double x, Buf *out)
{
	double y = fabs(x);
	if (x != x) buf_puts(out, "nan");
	else {
		if (signbit(x)) buf_puts(out, "-");
		if (isinf(y)) buf_puts(out, "inf");
		else buf_float(out, y);
	}
}

void formula_put(const Formula *f, Buf *out)
{
	if (f->kind == FORMULA_NUMBER && f->truth) buf_puts(out, f->x != 0 ? "eq(1.0, 1.0)" : "eq(1.0, 0.0)");       /* text has no truth values */
	else if (f->kind == FORMULA_NUMBER) put_number(f->x, out);
	else if (f->kind == FORMULA_ARG) buf_printf(out, "ts%d", f->arg);
	else {
		buf_printf(out, "%s(", fuse_prim[f->prim].name);
		for (int i = 0; i < fuse_prim[f->prim].arity; i++) {
			if (i) buf_puts(out, ", ");
			formula_put(f->a[i], out);
		}
		buf_puts(out, ")");
	}
}

typedef struct Read { Arena *a; const char *s; int n, depth; const char *truth; } Read;

static int find_prim(const char *s, size_t n)
{
	for (int i = 0; i < FP_COUNT; i++)
		if (strlen(fuse_prim[i].name) == n && !memcmp(fuse_prim[i].name, s, n)) return i;
	return -1;
}

static int skip(Read *r, const char *tok)
{
	size_t n = strlen(tok);
	if (strncmp(r->s, tok, n)) return 0;
	r->s += n;
	return 1;
}

static const Formula *read_number(Read *r)
{
	int minus = skip(r, "-");
	size_t n = strspn(r->s, "0123456789.e+-");
	double x;
	if (skip(r, "inf")) x = (double)INFINITY;
	else if (skip(r, "nan")) x = (double)NAN;
	else if (!n || !text_float(r->s, n, &x)) return NULL;
	else r->s += n;
	return formula_number(r->a, minus ? -x : x, 0);
}

static const Formula *read_formula(Read *r);

static const Formula *read_call(Read *r, FusePrim p)
{
	const Formula *a[3] = { 0 };
	if (!skip(r, "(")) return NULL;
	for (int i = 0; i < fuse_prim[p].arity; i++)
		if ((i && !skip(r, ", ")) || !(a[i] = read_formula(r))) return NULL;
	return skip(r, ")") ? node(r->a, p, a[0], a[1], a[2]) : NULL;
}

static const Formula *read_formula(Read *r)
{
	size_t n = strspn(r->s, "abcdefghijklmnopqrstuvwxyz_");
	const Formula *f = NULL;
	int p = find_prim(r->s, n);
	if (++r->depth > FORMULA_DEPTH) return NULL;
	if (n == 2 && !strncmp(r->s, "ts", 2)) {
		size_t digits = strspn(r->s + 2, "0123456789");
		long i = digits && digits < 6 ? strtol(r->s + 2, NULL, 10) : -1;
		r->s += 2 + digits;
		if (i >= 0 && i < r->n) f = formula_arg(r->a, (int)i, r->truth[i]);
	} else if (p >= 0) {
		r->s += n;
		f = read_call(r, (FusePrim)p);
	} else f = read_number(r);
	r->depth--;
	return f;
}

const Formula *formula_parse(Arena *a, const char *text, int n, const char *truth)
{
	Read r = { a, text, n, 0, truth };
	const Formula *f = read_formula(&r);
	return f && !*r.s && !formula_too_large(f) ? f : NULL;
}

/* --- asking -------------------------------------------------------------------------------------------------- */
static void find_used(const Formula *f, char *used)
{
	if (f->kind == FORMULA_ARG) used[f->arg] = 1;
	for (int i = 0; f->kind == FORMULA_PRIM && i < fuse_prim[f->prim].arity; i++) find_used(f->a[i], used);
}

static const Formula *renumbered(Arena *a, const Formula *f, const int *to)
{
	const Formula *x[3] = { 0 };
	if (f->kind == FORMULA_ARG) return formula_arg(a, to[f->arg], f->truth);
	if (f->kind == FORMULA_NUMBER) return f;
	for (int i = 0; i < fuse_prim[f->prim].arity; i++) x[i] = renumbered(a, f->a[i], to);
	return node(a, f->prim, x[0], x[1], x[2]);
}

const Formula *formula_renumber(Arena *a, const Formula *f, int n, int *from, int *count)
{
	char *used = NEWN(a, char, n + 1);
	int *to = NEWN(a, int, n + 1);
	find_used(f, used);
	*count = 0;
	for (int i = 0; i < n; i++)
		if (used[i]) from[to[i] = (*count)++] = i;
	return renumbered(a, f, to);
}

const Formula *formula_not_whole(const Formula *f)
{
	const Formula *bad = NULL;
	if (f->kind == FORMULA_NUMBER) return f->x == floor(f->x) && fabs(f->x) <= 9007199254740992.0 ? NULL : f;
	if (f->kind != FORMULA_PRIM) return NULL;
	if (fuse_prim[f->prim].only_float) return f;
	for (int i = 0; i < fuse_prim[f->prim].arity && !bad; i++) bad = formula_not_whole(f->a[i]);
	return bad;
}
