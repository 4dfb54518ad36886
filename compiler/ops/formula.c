/* formula.c — building, differentiating, writing and reading formulas (formula.h). */
#include "compiler/ops/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const FusePrimInfo fuse_prim[FP_COUNT] = {
#define ALL1(n, f, i, u, slope) [FP_##n] = { #n, 1, OF_ALL, slope },
#define ALL2(n, f, i, u, slope) [FP_##n] = { #n, 2, OF_ALL, slope },
#define ALL3(n, f, i, u, slope) [FP_##n] = { #n, 3, OF_ALL, slope },
#define INT1(n, i, u, slope)    [FP_##n] = { #n, 1, OF_INTS, slope },
#define INT2(n, i, u, slope)    [FP_##n] = { #n, 2, OF_INTS, slope },
#define LOOP1(n, slope)         [FP_##n] = { #n, 1, OF_FLOATS, slope },
#define FLOAT1(n, f, slope)     [FP_##n] = { #n, 1, OF_FLOATS, slope },
#define FLOAT2(n, f, slope)     [FP_##n] = { #n, 2, OF_FLOATS, slope },
#define FLOAT3(n, f, slope)     [FP_##n] = { #n, 3, OF_FLOATS, slope },
	PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) PXLRT_VEC1_INT(INT1) PXLRT_VEC2_INT(INT2)
	PXLRT_VEC1_LOOP(LOOP1) PXLRT_VEC1_FLOAT(FLOAT1) PXLRT_VEC2_FLOAT(FLOAT2) PXLRT_VEC3_FLOAT(FLOAT3)
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

int fuse_prim_truth(FusePrim p) { return !strcmp(fuse_prim[p].slope, "truth"); }

static const Formula *node(Arena *a, FusePrim p, const Formula *x, const Formula *y, const Formula *z)
{
	Formula f = { .kind = FORMULA_PRIM, .prim = p, .a = { x, y, z }, .size = 1, .truth = fuse_prim_truth(p) || (p == FP_sel && y->truth && z->truth) };
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
		if (y->kind == FORMULA_PRIM && y->prim == FP_neg) return formula_prim(a, FP_sub, x, y->a[0], NULL);
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

/* gelu_grad by its second operand, with t = tanh u, u = c (x + k x^3): (1 - t^2) (u' + x (u'' / 2 - t u'^2)) */
static const Formula *gelu_second(Diff *d, const Formula *x)
{
	const double c = 0.797884560802865355879892119868763737, k = 0.044715;
	const Formula *x2 = op2(d, FP_mul, x, x);
	const Formula *u = op2(d, FP_mul, x, op2(d, FP_add, num(d, c), op2(d, FP_mul, num(d, c * k), x2)));
	const Formula *u1 = op2(d, FP_add, num(d, c), op2(d, FP_mul, num(d, 3 * c * k), x2)), *t = op1(d, FP_tanh, u);
	const Formula *inner = op2(d, FP_sub, op2(d, FP_mul, num(d, 3 * c * k), x), op2(d, FP_mul, t, op2(d, FP_mul, u1, u1)));
	return op2(d, FP_mul, op2(d, FP_sub, num(d, 1), op2(d, FP_mul, t, t)), op2(d, FP_add, u1, op2(d, FP_mul, x, inner)));
}

static const Formula *diff_gelu_slope(Diff *d, const Formula *f, const Formula *dg, const Formula *dv)
{
	const Formula *first = formula_is(dg, 0) ? dg : op2(d, f->prim, dg, f->a[1]);
	if (formula_is(dv, 0)) return first;
	return op2(d, FP_add, first, times(d, dv, op2(d, FP_mul, f->a[0], gelu_second(d, f->a[1]))));
}

/* --- derivatives that the table has as text: over the operands, the result and the incoming gradient ---------- */
enum { AT_RESULT = 3, AT_GRADIENT, LETTERS };
static const char letters[] = "pqryg";                  /* x is p */

static const Formula *filled(Diff *d, const Formula *t, const Formula *const *with)
{
	const Formula *x[3] = { 0 };
	if (t->kind == FORMULA_ARG) return with[t->arg];
	if (t->kind == FORMULA_NUMBER) return t;
	for (int i = 0; i < fuse_prim[t->prim].arity; i++) x[i] = filled(d, t->a[i], with);
	return t->prim == FP_mul ? times(d, x[0], x[1]) : formula_prim(d->a, t->prim, x[0], x[1], x[2]);
}

static const Formula *parse_slope(Arena *a, const char *s, size_t n);

static const Formula *diff_by_table(Diff *d, const Formula *f)
{
	const Formula *with[LETTERS] = { f->a[0], f->a[1], f->a[2], f }, *sum = num(d, 0);
	const char *text = fuse_prim[f->prim].slope;
	for (int i = 0; i < fuse_prim[f->prim].arity; i++) {
		size_t n = strcspn(text, ";");
		with[AT_GRADIENT] = diff(d, f->a[i]);
		if (!formula_is(with[AT_GRADIENT], 0)) sum = op2(d, FP_add, sum, filled(d, parse_slope(d->a, text, n), with));
		text += n + 2 * (text[n] == ';');
	}
	return sum;
}

static const Formula *diff_prim(Diff *d, const Formula *f)
{
	switch (f->prim) {
	case FP_pow:       return diff_pow(d, f, diff(d, f->a[0]), diff(d, f->a[1]));
	case FP_sel:       return choose(d, f->a[0], diff(d, f->a[1]), diff(d, f->a[2]));
	case FP_gelu_grad: return diff_gelu_slope(d, f, diff(d, f->a[0]), diff(d, f->a[1]));
	default:           return diff_by_table(d, f);
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

typedef struct Read { Arena *a; const char *s; int n, depth; const char *truth; const char *letters; } Read;      /* letters: names of operands, else ts0, ts1 … */

int fuse_prim_find(const char *s, size_t n)
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
	int p = fuse_prim_find(r->s, n);
	if (++r->depth > FORMULA_DEPTH) return NULL;
	if (n == 1 && r->letters && strchr(r->letters, *r->s == 'x' ? 'p' : *r->s)) {
		f = formula_arg(r->a, (int)(strchr(r->letters, *r->s == 'x' ? 'p' : *r->s) - r->letters), 0);
		r->s++;
	} else if (n == 2 && !strncmp(r->s, "ts", 2)) {
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
	Read r = { a, text, n, 0, truth, NULL };
	const Formula *f = read_formula(&r);
	return f && !*r.s && !formula_too_large(f) ? f : NULL;
}

/* the part of n characters; a row that does not parse is our own fault, which the gradient tests find: they go over the table */
static const Formula *parse_slope(Arena *a, const char *s, size_t n)
{
	Read r = { a, arena_str(a, s, n), LETTERS, 0, NULL, letters };
	const Formula *f = read_formula(&r);
	return f && !*r.s ? f : formula_number(a, (double)NAN, 0);
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

const Formula *formula_misfit(const Formula *f, int real)
{
	const Formula *bad = NULL;
	if (f->kind == FORMULA_NUMBER) return real || (f->x == floor(f->x) && fabs(f->x) <= 9007199254740992.0) ? NULL : f;
	if (f->kind != FORMULA_PRIM) return NULL;
	if (!prim_takes(f->prim, real)) return f;
	for (int i = 0; i < fuse_prim[f->prim].arity && !bad; i++) bad = formula_misfit(f->a[i], real);
	return bad;
}
