/* fold.h — rows of the grid that fold, order or add up along axes. */
#ifndef TESTS_OPS_GRID_FOLD_H
#define TESTS_OPS_GRID_FOLD_H

#include "tests/ops/grid/each.h"

#define FORMS(...) (const Form[]){ __VA_ARGS__, { 0, 0 } }
#define WHOLE(name) static void w_##name(Unit *u)
#define ROW(name, ref, mask, list, ...) { .op = name, .types = mask, .whole = w_##ref, .forms = list, __VA_ARGS__ }
#define TYPE(i) (u->in[i].spec.dtype)

/* --- reductions over axes: which result element k of operand 0 belongs to ------------------------------------------------ */

static size_t group_of(Unit *u, size_t k)
{
	const AttrVal *axis = ATTR("axis");
	int c[MAX_RANK];
	size_t at = 0;
	coords(SX(0), k, c);
	for (int i = 0; i < SX(0).rank; i++) {
		int gone = 0;
		for (int j = 0; j < axis->ints.n; j++) gone |= axis->ints.at[j] == i;
		if (!gone) at = at * (size_t)SX(0).dim[i] + (size_t)c[i];
	}
	return at;
}

typedef Num (*Fold)(Num acc, Num x);
static void fold(Unit *u, Num start, Fold f)
{
	for (size_t k = 0; k < NY(0); k++) Y(0, k) = start;
	for (size_t k = 0; k < NX(0); k++) {
		size_t at = group_of(u, k);
		Y(0, at) = f(Y(0, at), X(0, k));
		M(0, at) += fabsl(X(0, k));
	}
}
static Num a_add(Num a, Num x)  { return a + x; }
static Num a_mul(Num a, Num x)  { return a * x; }
static Num a_abs(Num a, Num x)  { return a + fabsl(x); }
static Num a_sq(Num a, Num x)   { return a + x * x; }
static Num a_exp(Num a, Num x)  { return a + expl(x); }
static Num a_max(Num a, Num x)  { return a != a || x != x ? NAN : x > a ? x : a; }
static Num a_min(Num a, Num x)  { return a != a || x != x ? NAN : x < a ? x : a; }

/* whole numbers, in 64 bits that wrap */
static void ring_fold(Unit *u, uint64_t start, int product)
{
	for (size_t k = 0; k < NY(0); k++) Y(0, k) = ring(DT_U64, start);
	for (size_t k = 0; k < NX(0); k++) {
		Num *y = &Y(0, group_of(u, k));
		*y = ring(DT_U64, product ? bits_of(*y) * bits_of(X(0, k)) : bits_of(*y) + bits_of(X(0, k)));
	}
	for (size_t k = 0; k < NY(0); k++) Y(0, k) = ring(TYPE(0), bits_of(Y(0, k)));
}
static void each_result(Unit *u, Num (*f)(Num)) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = f(Y(0, k)); }
static Num lowest(DType t)  { return is_real(t) ? -INFINITY : least(t); }
static Num highest(DType t) { return is_real(t) ? INFINITY : most(t); }

WHOLE(sum)  { if (is_real(TYPE(0))) fold(u, 0, a_add); else ring_fold(u, 0, 0); }
WHOLE(prod)
{
	if (is_real(TYPE(0))) fold(u, 1, a_mul);
	else ring_fold(u, 1, 1);
	for (size_t k = 0; k < NY(0); k++) M(0, k) = fabsl(Y(0, k)) * (Num)NX(0) / (Num)NY(0);
}
WHOLE(max)  { fold(u, lowest(TYPE(0)), a_max); }
WHOLE(min)  { fold(u, highest(TYPE(0)), a_min); }
WHOLE(l1)   { fold(u, 0, a_abs); }
WHOLE(l2)   { fold(u, 0, a_sq); each_result(u, sqrtl); }
WHOLE(sumsquare) { fold(u, 0, a_sq); }
WHOLE(logsum) { fold(u, 0, a_add); each_result(u, logl); }
WHOLE(logsumexp) { fold(u, 0, a_exp); each_result(u, logl); }
WHOLE(mean)
{
	Num n = NY(0) ? (Num)NX(0) / (Num)NY(0) : 1;
	fold(u, 0, a_add);
	for (size_t k = 0; k < NY(0); k++) Y(0, k) = is_real(TYPE(0)) ? Y(0, k) / n : floorl(Y(0, k) / n);
}
WHOLE(lamb_square) { for (size_t k = 0; k < NX(0); k++) Y(0, 0) += X(0, k) * X(0, k); }

/* --- along one axis: operand 0 as [outer, n, inner] -------------------------------------------------------------------------- */

typedef struct Lines { size_t outer, n, inner; } Lines;
static Lines lines_of(Shape s, int axis)
{
	Lines l = { 1, (size_t)s.dim[axis], 1 };
	for (int i = 0; i < s.rank; i++) {
		if (i < axis) l.outer *= (size_t)s.dim[i];
		if (i > axis) l.inner *= (size_t)s.dim[i];
	}
	return l;
}
static size_t on_line(Lines l, size_t o, size_t i, size_t k) { return (o * l.n + k) * l.inner + i; }
#define EACH_LINE for (size_t o = 0; o < l.outer; o++) for (size_t i = 0; i < l.inner; i++)

static void position(Unit *u, Num turn)
{
	Lines l = lines_of(SX(0), (int)ATTR("dim")->i);
	EACH_LINE {
		size_t best = 0;
		for (size_t k = 1; k < l.n; k++)
			if (turn * X(0, on_line(l, o, i, k)) > turn * X(0, on_line(l, o, i, best))) best = k;
		Y(0, o * l.inner + i) = (Num)best;
	}
}
WHOLE(argmax) { position(u, 1); }
WHOLE(argmin) { position(u, -1); }

static void running(Unit *u, int back)
{
	Lines l = lines_of(SX(0), (int)ATTR("dim")->i);
	EACH_LINE {
		Num s = 0, m = 0;
		for (size_t k = 0; k < l.n; k++) {
			size_t at = on_line(l, o, i, back ? l.n - 1 - k : k);
			s = is_real(TYPE(0)) ? s + X(0, at) : ring(TYPE(0), bits_of(s) + bits_of(X(0, at)));
			m += fabsl(s);                    /* every addition rounds a sum */
			Y(0, at) = s;
			M(0, at) = m;
		}
	}
}
WHOLE(cumsum) { running(u, (int)ATTR("reverse")->i); }

static void soft(Num *y, const Num *x, Lines l, size_t o, size_t i)
{
	Num m = -INFINITY, s = 0;
	for (size_t k = 0; k < l.n; k++) m = a_max(m, x[on_line(l, o, i, k)]);
	for (size_t k = 0; k < l.n; k++) s += y[on_line(l, o, i, k)] = expl(x[on_line(l, o, i, k)] - m);
	for (size_t k = 0; k < l.n; k++) y[on_line(l, o, i, k)] /= s;
}
WHOLE(softmax)
{
	Lines l = lines_of(SX(0), (int)ATTR("axis")->i);
	EACH_LINE soft(u->want[0], u->in[0].x, l, o, i);
}
WHOLE(log_softmax)
{
	Lines l = lines_of(SX(0), (int)ATTR("axis")->i);
	EACH_LINE {
		Num m = -INFINITY, s = 0;
		for (size_t k = 0; k < l.n; k++) m = a_max(m, X(0, on_line(l, o, i, k)));
		for (size_t k = 0; k < l.n; k++) s += expl(X(0, on_line(l, o, i, k)) - m);
		for (size_t k = 0; k < l.n; k++) {
			size_t at = on_line(l, o, i, k);
			Y(0, at) = X(0, at) - m - logl(s);
			M(0, at) = fabsl(X(0, at) - m) + logl(s) + 1;
		}
	}
}
WHOLE(softmax_grad)
{
	Lines l = lines_of(SX(0), (int)ATTR("axis")->i);
	EACH_LINE {
		Num s = 0, m = 0;
		for (size_t k = 0; k < l.n; k++) s += X(0, on_line(l, o, i, k)) * X(1, on_line(l, o, i, k)), m += fabsl(X(0, on_line(l, o, i, k)) * X(1, on_line(l, o, i, k)));
		for (size_t k = 0; k < l.n; k++) {
			size_t at = on_line(l, o, i, k);
			Y(0, at) = X(0, at) * (X(1, at) - s);
			M(0, at) = fabsl(X(0, at)) * (fabsl(X(1, at)) + m);
		}
	}
}

/* --- rows ---------------------------------------------------------------------------------------------------------------------- */

#define SOME_AXES { "T[]", "" }, { "T[1]", "" }, { "T[17]", "" }, { "T[1000]", "" }, { "T[70]", "axis = []" }, { "T[3, 5, 2]", "" }, { "T[3, 5, 2]", "axis = [1, -3]" }, \
	{ "T[3, 5, 2]", "axis = 1, keepdims = true" }, { "T[33, 17]", "axis = 0" }, { "T[33, 17]", "axis = 1" }, { "T[16, 31]", "axis = -1" }, { "T[2, 2, 3, 2]", "axis = [0, 2]" }, \
	{ "T[2, 1, 2, 3, 2]", "axis = [1, 3]" }, { "T[2, 1, 3, 1, 2, 1, 2, 2]", "axis = [0, 2, 4, 6]" }, { "T[0, 3]", "axis = 1" }, { "T[2, 3, 0]", "axis = 1" }
#define LONG_AXES { "T[300, 211]", "" }, { "T[4, 9001]", "axis = 1" }, { "T[9001, 3]", "axis = 0" }
#define OF_NOTHING { "T[0]", "" }, { "T[3, 0, 2]", "axis = 1" }
#define SOME_LINES(a) { "T[1]", a " = 0" }, { "T[17]", a " = 0" }, { "T[1000]", a " = 0" }, { "T[33, 8]", a " = 1" }, { "T[8, 33]", a " = 0" }, { "T[3, 5, 2]", a " = -2" }, \
	{ "T[2, 3, 2, 15]", a " = 3" }, { "T[2, 1, 3, 1, 2, 1, 2, 2]", a " = 2" }, { "T[300, 31]", a " = 1" }, { "T[31, 301]", a " = 0" }

static const Row fold_rows[] = {
	ROW("sum", sum, T_NUMBER, FORMS(SOME_AXES, LONG_AXES, OF_NOTHING), .sums = 10), ROW("mean", mean, T_NUMBER, FORMS(SOME_AXES, LONG_AXES), .sums = 10, .top = 1000),
	ROW("max", max, T_NUMBER, FORMS(SOME_AXES, LONG_AXES)), ROW("min", min, T_NUMBER, FORMS(SOME_AXES, LONG_AXES)),
	ROW("prod", prod, T_NUMBER, FORMS(SOME_AXES, OF_NOTHING), .sums = 1, .lo = 0.9, .hi = 1.1), ROW("l1", l1, T_F, FORMS(SOME_AXES, LONG_AXES, OF_NOTHING), .sums = 10),
	ROW("l2", l2, T_F, FORMS(SOME_AXES, LONG_AXES, OF_NOTHING), .ulps = 10), ROW("sumsquare", sumsquare, T_F, FORMS(SOME_AXES, LONG_AXES, OF_NOTHING), .ulps = 10),
	ROW("logsum", logsum, T_F, FORMS(SOME_AXES, LONG_AXES), .ulps = 8, .lo = 0.5, .hi = 2), ROW("logsumexp", logsumexp, T_F, FORMS(SOME_AXES, LONG_AXES), .ulps = 4, .sums = 2),
	ROW("argmax", argmax, T_NUMBER, FORMS(SOME_LINES("dim"), { "T[4, 5]", "dim = 1, keepdim = true" }), .top = 20), ROW("argmin", argmin, T_NUMBER, FORMS(SOME_LINES("dim")), .top = 20),
	ROW("cumsum", cumsum, T_F | BIT(I32) | BIT(I64) | BIT(U32) | BIT(U64), FORMS(SOME_LINES("dim"), { "T[5, 9]", "dim = 1, reverse = true" }, { "T[0, 3]", "dim = 0" }), .sums = 1),
	ROW("lamb_square", lamb_square, T_F, FORMS({ "T[]", "" }, { "T[33]", "" }, { "T[3, 4, 5]", "" }, { "T[70, 301]", "" }, { "T[0]", "" }), .ulps = 10),
	ROW("softmax", softmax, T_F, FORMS(SOME_LINES("axis"), { "T[0, 3]", "axis = 1" }), .ulps = 12, .lo = -4, .hi = 4),
	ROW("log_softmax", log_softmax, T_F, FORMS(SOME_LINES("axis"), { "T[3, 5]", "" }, { "T[2, 3000]", "" }, { "T[0, 3]", "axis = 1" }), .sums = 10, .lo = -50, .hi = 50),
	ROW("softmax_grad", softmax_grad, T_F, FORMS({ "T[17] T[17]", "axis = 0" }, { "T[3, 33] T[3, 33]", "axis = 1" }, { "T[33, 8] T[33, 8]", "axis = 0" }, { "T[3, 5, 2] T[3, 5, 2]", "axis = 1" }, { "T[70, 301] T[70, 301]", "axis = 1" }), .any = T_ALL, .sums = 10),
};

#endif
