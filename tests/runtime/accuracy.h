/* accuracy.h — float primitives against the bounds of accuracy.def.
 *
 * f32 is measured against the f64 primitive of the same name, whose own error is nothing beside it, so that every f32 can be gone
 * through; f64 against formulas in long double, below: one for each primitive, or this does not compile. */
#ifndef TESTS_ACCURACY_H
#define TESTS_ACCURACY_H

#include "tests/runtime/kernels.h"

#include <float.h>
#undef isnan
#undef isinf

typedef long double Wide;
typedef struct Bound { const char *name; double f32, f64, below; const char *note; } Bound;
static const Bound bounds[] = {
#define ACCURACY(name, f32, f64, below, note) { #name, f32, f64, below, note },
#include "runtime/kernels/accuracy.def"
#undef ACCURACY
};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

/* --- exact values ------------------------------------------------------------------------------------------------- */
static Wide wide_sigmoid(Wide x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static Wide wide_phi(Wide x) { return erfcl(-x * 0.707106781186547524400844362104849L) / 2; }
#define GELU_U(x) (1.59576912160573071175978423973752747L * ((x) + 0.044715L * (x) * (x) * (x)))
#define GELU_DU(x) (1.59576912160573071175978423973752747L * (1 + 3 * 0.044715L * (x) * (x)))

#define WIDE1(name, expr) static Wide exact_##name(Wide x, Wide q) { (void)q; return (expr); }
#define WIDE2(name, expr) static Wide exact_##name(Wide p, Wide q) { return (expr); }
WIDE1(neg, -x) WIDE1(abs, fabsl(x)) WIDE1(sign, (x > 0) - (x < 0)) WIDE1(not, x == 0) WIDE1(sin, sinl(x)) WIDE1(cos, cosl(x))
WIDE1(exp, expl(x)) WIDE1(log, logl(x)) WIDE1(sqrt, sqrtl(x)) WIDE1(tanh, tanhl(x)) WIDE1(erf, erfl(x))
WIDE1(asin, asinl(x)) WIDE1(acos, acosl(x)) WIDE1(atan, atanl(x)) WIDE1(softplus, x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)))
WIDE1(floor, floorl(x)) WIDE1(ceil, ceill(x)) WIDE1(recip, 1 / x) WIDE1(relu, x <= 0 ? 0 : x)
WIDE1(gelu, x < -200 ? x / (Wide)INFINITY : x > 200 ? x : x * wide_sigmoid(GELU_U(x)))
WIDE1(geluerf, x * wide_phi(x)) WIDE1(sigmoid, wide_sigmoid(x)) WIDE1(swish, x * wide_sigmoid(x)) WIDE1(isnan, x != x) WIDE1(isinf, fabsl(x) == (Wide)INFINITY)
WIDE2(add, p + q) WIDE2(sub, p - q) WIDE2(mul, p * q) WIDE2(div, p / q) WIDE2(mod, fmodl(p, q)) WIDE2(pow, powl(p, q))
WIDE2(min, p != p ? p : p < q ? p : q) WIDE2(max, p != p ? p : p > q ? p : q)
WIDE2(eq, p == q) WIDE2(ne, p != q) WIDE2(lt, p < q) WIDE2(le, p <= q) WIDE2(gt, p > q) WIDE2(ge, p >= q)
WIDE2(and, p != 0 && q != 0) WIDE2(or, p != 0 || q != 0)
WIDE2(relu_grad, q > 0 ? p : 0) WIDE2(tanh_grad, p * (1 - q * q))
static Wide gelu_slope(Wide x)
{
	Wide s = wide_sigmoid(GELU_U(x));
	return x > 200 ? 1 : x < -200 ? 0 : s + x * s * wide_sigmoid(-GELU_U(x)) * GELU_DU(x);
}
static Wide swish_slope(Wide x) { return x > 1e5 ? 1 : x < -1e5 ? 0 : wide_sigmoid(x) * (1 + x * wide_sigmoid(-x)); }
static Wide geluerf_slope(Wide x) { return x > 200 ? 1 : x < -200 ? 0 : wide_phi(x) + x * expl(-x * x / 2) * 0.398942280401432677939946059934381868L; }
WIDE2(gelu_grad, p * gelu_slope(q)) WIDE2(geluerf_grad, p * geluerf_slope(q)) WIDE2(swish_grad, p * swish_slope(q))

/* --- the table, whatever is in it ---------------------------------------------------------------------------------- */
typedef void (*Loop1_f32)(float *, const float *, long);
typedef void (*Loop2_f32)(float *, const float *, const float *, long);
typedef void (*Loop1_f64)(double *, const double *, long);
typedef void (*Loop2_f64)(double *, const double *, const double *, long);
typedef struct Prim { const char *name; int arity, slope; size_t f32, f64; Wide (*exact)(Wide, Wide); } Prim;
#define PRIM_ROW(n, arity, slope) { #n, arity, slope, offsetof(struct pxlrt_f32, n), offsetof(struct pxlrt_f64, n), exact_##n },
#define PRIM1(n, ...) PRIM_ROW(n, 1, 0)
#define PRIM2(n, ...) PRIM_ROW(n, 2, 0)
#define SLOPE(n, ...) PRIM_ROW(n, 2, 1)
static const Prim prims[] = { PXLRT_VEC1_ALL(PRIM1) PXLRT_VEC1_LOOP(PRIM1) PXLRT_VEC1_FLOAT(PRIM1) PXLRT_VEC2_ALL(PRIM2) PXLRT_VEC2_FLOAT(SLOPE) };
enum { PRIMS = sizeof prims / sizeof *prims };

/* p is not looked at by primitives of one operand */
#define CALL(S, T) \
static inline void prim_##S(const struct pxlrt *rt, const Prim *f, T *y, const T *p, const T *q, long n) \
{ \
	const char *at = (const char *)rt->S + f->S; \
	if (f->arity == 1) (*(const Loop1_##S *)(const void *)at)(y, q, n); \
	else (*(const Loop2_##S *)(const void *)at)(y, p, q, n); \
}
CALL(f32, float)
CALL(f64, double)

/* --- errors, in units of the last place --------------------------------------------------------------------------- */
static inline double bits_double(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }
static inline uint64_t double_bits(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }

/* without branches: every f32 passes here */
static inline double error_f32(float got, double want, double below)
{
	double y = (double)got, top = 0x1p128, w = want > top ? top : want < -top ? -top : want;
	y = y > top ? top : y < -top ? -top : y;
	double a = fabs(w), size = a > below ? a : below;
	size = size < 0x1p-126 ? 0x1p-126 : size >= top ? 0x1p127 : size;
	double per = bits_double((2046ull << 52) - (double_bits(size) & 0x7ff0000000000000u)) * 0x1p23;
	double err = fabs(y - w) * per;
	return y != y || w != w ? ((y != y) == (w != w) ? 0 : 1e9) : err;
}

static inline double error_f64(double got, Wide want, double below)
{
	if (want != want || got != got) return (want != want) == (got != got) ? 0 : 1e9;
	Wide top = ldexpl(1, 1024), w = want > top ? top : want < -top ? -top : want, y = got > DBL_MAX ? top : got < -DBL_MAX ? -top : (Wide)got;
	Wide size = fabsl(w) > (Wide)below ? fabsl(w) : (Wide)below;
	int e;
	frexpl(size, &e);
	e = size == 0 || e - 1 < -1022 ? -1022 : e > 1024 ? 1023 : e - 1;
	return (double)(fabsl(y - w) * ldexpl(1, 52 - e));
}

typedef struct Worst { double err[BOUNDS], at[BOUNDS], with[BOUNDS]; int same; } Worst;

static inline void judge_f32(Worst *w, const Prim *f, const float *y, const double *want, const float *p, const float *q, long n)
{
	for (int b = 0; b < BOUNDS; b++) {
		if (strcmp(bounds[b].name, f->name)) continue;
		double worst = 0, below = bounds[b].below;
		for (long i = 0; i < n; i++) {
			double e = error_f32(y[i], want[i], below);
			worst = worst > e ? worst : e;
		}
		if (worst <= w->err[b]) continue;
		w->err[b] = worst;
		for (long i = 0; i < n; i++)
			if (error_f32(y[i], want[i], below) == worst) w->at[b] = (double)q[i], w->with[b] = (double)p[i];
	}
}

/* one chunk: the last table by its bounds, the others by its bits */
enum { CHUNK = 4096 };
static inline void chunk_f32(Worst *w, const struct pxlrt *const *rts, int nrt, const Prim *f, const float *p, const float *q, long n)
{
	static float y[CHUNK], z[CHUNK];
	static double pd[CHUNK], qd[CHUNK], want[CHUNK];
	const struct pxlrt *rt = rts[nrt - 1];
	prim_f32(rt, f, y, p, q, n);
	for (long i = 0; i < n; i++) pd[i] = (double)p[i], qd[i] = (double)q[i];
	prim_f64(rt, f, want, pd, qd, n);
	judge_f32(w, f, y, want, p, q, n);
	for (int t = 0; t < nrt - 1; t++) {
		int bad = 0;
		prim_f32(rts[t], f, z, p, q, n);
		for (long i = 0; i < n; i++) {
			uint32_t a, b;
			memcpy(&a, &y[i], 4), memcpy(&b, &z[i], 4);
			bad |= (a != b) & !((y[i] != y[i]) & (z[i] != z[i]));
		}
		w->same &= !bad;
	}
}

/* does the primitive keep to its rows, of which there must be one */
static inline int report(const Worst *w, const Prim *f, int wide)
{
	int ok = w->same, rows = 0;
	if (!w->same) printf("%s: instruction sets differ\n", f->name);
	for (int b = 0; b < BOUNDS; b++) {
		if (strcmp(bounds[b].name, f->name)) continue;
		double bound = wide ? bounds[b].f64 : bounds[b].f32;
		rows++;
		ok &= w->err[b] <= bound;
		if (bound > 0.5 || w->err[b] > bound)
			printf("%s %s: %.3g of %.3g ulp from %.3g up, at %.9g (%.9g)\n", wide ? "f64" : "f32", f->name, w->err[b], bound, bounds[b].below, w->at[b], w->with[b]);
	}
	return ok && rows;
}

#endif
