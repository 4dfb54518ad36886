/* kernels_vec.c — blocked primitives on every instruction set of this machine: slopes, pairs of operands and their ends, integers,
 * storage.  kernels_accuracy.c measures how close the floating-point ones come. */
#include "tests/runtime/kernels.h"

#include <limits.h>

/* --- gradients: against central differences of the references ---------------------------------------------------- */

static double ref_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double ref_gelu(double x)
{
	double u = 2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x);
	return x / (1 + exp(-u));
}
static double ref_geluerf(double x) { return x * 0.5 * erfc(-x / sqrt(2)); }
static double ref_swish(double x) { return x * ref_sigmoid(x); }

static void slopes(const struct pxlrt *rt)
{
	static const struct { double (*ref)(double); int which; } g[] = { { ref_gelu, 0 }, { ref_geluerf, 1 }, { ref_swish, 2 } };
	for (int k = 0; k < 3; k++) {
		int ok = 1;
		for (int i = -1200; i <= 1200; i++) {
			float x = (float)i * 0.01f, one = 2, y;
			double xd = i * 0.01, g64 = 2, y64, h = 1e-5, want = 2 * (g[k].ref(xd + h) - g[k].ref(xd - h)) / (2 * h);
			(k == 0 ? rt->f32->gelu_grad : k == 1 ? rt->f32->geluerf_grad : rt->f32->swish_grad)(&y, &one, &x, 1);
			(k == 0 ? rt->f64->gelu_grad : k == 1 ? rt->f64->geluerf_grad : rt->f64->swish_grad)(&y64, &g64, &xd, 1);
			ok &= near((double)y, want, 4e-6) && near(y64, want, 1e-8);
		}
		CHECK("", ok);
	}
	float edge[5] = { 1e20f, -1e20f, 0, NAN, INFINITY }, ones[5] = { 1, 1, 1, 1, 1 }, y[5];
	rt->f32->gelu_grad(y, ones, edge, 5);
	CHECK("", y[0] == 1 && fabsf(y[1]) < 1e-20f && y[2] == 0.5f && isnan(y[3]) && y[4] == 1);
	rt->f32->relu_grad(y, ones, edge, 5);
	CHECK("", y[0] == 1 && y[1] == 0 && y[2] == 0 && y[3] == 0 && y[4] == 1);
	rt->f32->tanh_grad(y, ones, (float[]){ 0.5f, 1, 0, -1, NAN }, 5);
	CHECK("", y[0] == 0.75f && y[1] == 0 && y[2] == 1 && y[3] == 0 && isnan(y[4]));
}

/* --- two and three operands -------------------------------------------------------------------------------------------- */

/* within two units of the last place of an f32, of a denormal too */
static int is_power(double y, double want) { return fabs(y - want) <= 0x1p-22 * fabs(want) + 0x1p-149; }

#define BINARY(T, S, name, expr) do { \
	rt->S->name(y, a, b, n); \
	int ok = 1; \
	for (long i = 0; i < n; i++) { T p = a[i], q = b[i], w = (T)(expr); ok &= y[i] == w || (y[i] != y[i] && w != w); } \
	CHECK("", ok); \
	memcpy(z, a, sizeof z); rt->S->name(z, z, b, n); ok = !memcmp(z, y, (size_t)n * sizeof *z); \
	memcpy(z, b, sizeof z); rt->S->name(z, a, z, n); ok &= !memcmp(z, y, (size_t)n * sizeof *z); \
	CHECK("", ok); } while (0)

#define FLOAT_PAIRS(T, S, F) \
static void pairs_##S(const struct pxlrt *rt) \
{ \
	static const T v[] = { 0, (T)-0.0, 1, -1, (T)2.5, (T)-2.5, 7, (T)1e30, (T)-1e30, (T)INFINITY, (T)-INFINITY, (T)NAN, (T)1e-40, 3, (T)0.5 }; \
	enum { K = sizeof v / sizeof *v }; \
	T a[K * K], b[K * K], y[K * K], z[K * K]; \
	long n = K * K; \
	for (int i = 0; i < K * K; i++) a[i] = v[i / K], b[i] = v[i % K]; \
	BINARY(T, S, add, p + q); BINARY(T, S, sub, p - q); BINARY(T, S, mul, p * q); BINARY(T, S, div, p / q); \
	BINARY(T, S, mod, fmod##F(p, q)); BINARY(T, S, pow, is_power((double)y[i], (double)pow##F(p, q)) ? y[i] : pow##F(p, q)); \
	BINARY(T, S, max, p != p || q != q ? (T)NAN : p > q ? p : q); BINARY(T, S, min, p != p || q != q ? (T)NAN : p < q ? p : q); \
	BINARY(T, S, eq, p == q); BINARY(T, S, ne, p != q); BINARY(T, S, lt, p < q); BINARY(T, S, le, p <= q); \
	BINARY(T, S, gt, p > q); BINARY(T, S, ge, p >= q); BINARY(T, S, and, p != 0 && q != 0); BINARY(T, S, or, p != 0 || q != 0); \
	rt->S->sel(y, a, b, a, n); \
	int ok = 1; \
	for (long i = 0; i < n; i++) { T w = a[i] != 0 ? b[i] : a[i]; ok &= !memcmp(&y[i], &w, sizeof w); } \
	CHECK("", ok); \
	ok = 1; \
	rt->S->fma(y, a, b, b, n); \
	for (long i = 0; i < n; i++) { volatile T m = a[i] * b[i]; T w = m + b[i]; ok &= y[i] == w || (y[i] != y[i] && w != w); } \
	CHECK("", ok); \
	rt->S->clamp(y, a, (T[K * K]){ 0 }, b, n); \
	for (long i = 0; i < n; i++) { T w = a[i] < 0 ? 0 : a[i]; w = w > b[i] ? b[i] : w; ok &= !memcmp(&y[i], &w, sizeof w) || (y[i] != y[i] && w != w); } \
	CHECK("", ok); \
	rt->S->fill(y, 3, n); \
	CHECK("", y[0] == 3 && y[n - 1] == 3); \
}
FLOAT_PAIRS(float, f32, f)
FLOAT_PAIRS(double, f64, )

static i64 floor_quotient(i64 p, i64 q)
{
	if (q == 0) return 0;
	__int128 a = p, b = q, d = a / b;
	if (a % b != 0 && (a < 0) != (b < 0)) d--;
	return (i64)(u64)d;
}

static void pairs_i64(const struct pxlrt *rt)
{
	static const i64 v[] = { 0, 1, -1, 2, -2, 7, -7, 3, 100, LLONG_MAX, LLONG_MIN, LLONG_MIN + 1, 1ll << 40 };
	enum { K = sizeof v / sizeof *v };
	i64 a[K * K], b[K * K], y[K * K], z[K * K];
	long n = K * K;
	for (int i = 0; i < K * K; i++) a[i] = v[i / K], b[i] = v[i % K];
	BINARY(i64, i64, add, (u64)p + (u64)q); BINARY(i64, i64, sub, (u64)p - (u64)q); BINARY(i64, i64, mul, (u64)p * (u64)q);
	BINARY(i64, i64, div, floor_quotient(p, q)); BINARY(i64, i64, mod, q == 0 ? 0 : (i64)((__int128)p % q));
	BINARY(i64, i64, max, p > q ? p : q); BINARY(i64, i64, min, p < q ? p : q);
	BINARY(i64, i64, lt, p < q); BINARY(i64, i64, ge, p >= q); BINARY(i64, i64, and, p && q); BINARY(i64, i64, or, p || q);
	rt->i64->pow(y, (i64[]){ 3, -2, 2, 0, 5 }, (i64[]){ 4, 3, 64, 0, 0 }, 5);
	CHECK("", y[0] == 81 && y[1] == -8 && y[2] == 0 && y[3] == 1 && y[4] == 1);
	rt->i64->abs(y, v, K);
	CHECK("", y[2] == 1 && y[10] == LLONG_MIN);
	rt->i64->neg(y, v, K);
	CHECK("", y[1] == -1 && y[10] == LLONG_MIN);
	rt->i64->sign(y, v, K);
	CHECK("", y[0] == 0 && y[1] == 1 && y[2] == -1 && y[10] == -1);
}

static void pairs_u64(const struct pxlrt *rt)
{
	static const u64 v[] = { 0, 1, 2, 7, 100, ULLONG_MAX, 1ull << 63 };
	enum { K = sizeof v / sizeof *v };
	u64 a[K * K], b[K * K], y[K * K], z[K * K];
	long n = K * K;
	for (int i = 0; i < K * K; i++) a[i] = v[i / K], b[i] = v[i % K];
	BINARY(u64, u64, add, p + q); BINARY(u64, u64, sub, p - q); BINARY(u64, u64, mul, p * q);
	BINARY(u64, u64, div, q ? p / q : 0); BINARY(u64, u64, mod, q ? p % q : 0);
	BINARY(u64, u64, max, p > q ? p : q); BINARY(u64, u64, lt, p < q);
	rt->u64->sign(y, v, K);
	CHECK("", y[0] == 0 && y[5] == 1);
}

/* --- storage: strides, and norm = store then load -------------------------------------------------------------------------- */

static void storage(const struct pxlrt *rt)
{
	for (int t = 0; t < DT_COUNT; t++) {
		int cls = class_of(t), ok = 1;
		Block b, c, back;
		char mem[3 * 67 * 8];
		double xs[67];
		for (int i = 0; i < 67; i++) xs[i] = noise((unsigned long)i) * 100;
		rt_convert(cls == PXLRT_F32 ? DT_F32 : cls == PXLRT_F64 ? DT_F64 : cls == PXLRT_U64 ? DT_U64 : DT_I64, &b, DT_F64, xs, 67);
		for (int stride = 1; stride <= 3; stride++) {
			memset(mem, 0, sizeof mem);
			rt->st[t](mem, stride, &b, 67);
			rt->ld[t](&back, mem, stride, 67);
			memcpy(&c, &b, sizeof c);
			if (rt->norm[t]) rt->norm[t](&c, 67);
			for (int i = 0; i < 67 * (int)class_size(cls); i += (int)class_size(cls)) {
				double p = cls == PXLRT_F32 ? (double)back.f32[i / 4] : 0, q = cls == PXLRT_F32 ? (double)c.f32[i / 4] : 0;
				ok &= p == q && (cls == PXLRT_F32 || !memcmp((char *)&back + i, (char *)&c + i, 8));
			}
		}
		rt->ld[t](&back, mem, 0, 5);
		ok &= !memcmp((char *)&back, (char *)&back + 4 * class_size(cls), class_size(cls));
		rt->st[t](mem, 1, &b, 0);
		CHECK("", ok);
	}
}

int main(void)
{
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int t = 0; t < nrt; t++) {
		slopes(rts[t]);
		pairs_f32(rts[t]);
		pairs_f64(rts[t]);
		pairs_i64(rts[t]);
		pairs_u64(rts[t]);
		storage(rts[t]);
	}
	return check_done();
}
