/* kernels_matmul.c — matrix products against plain C in double: every type, transposition, odd size and batch, and a tail that
 * sees each element once; bits do not depend on the number of threads.  Operands rounded to bf16: a tighter bound, and
 * the same bits from every instruction set.
 * tests/run: on one processor too */
#include "tests/runtime/kernels.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"     /* cases leave out what does not apply */

typedef struct Case { DType t; long m, n, k; int ta, tb, act, bias; double alpha, beta; int nb; long bdim[2]; long pad; int bcast_b, bf16, bcast_a; long gap[3]; } Case;     /* gap: besides pad, between the rows of a, b, c */

enum { NONE, RELU, GELU };

static double ref_act(int act, double x)
{
	if (act == RELU) return x > 0 ? x : 0;
	return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

typedef struct Data { void *a, *b, *c0, *bias; long na, nb, nc, batch; struct pxlrt_gemm d; } Data;

static Data make(const Case *c)
{
	Data x = { 0 };
	long lda = (c->ta ? c->m : c->k) + c->pad + c->gap[0], ldb = (c->tb ? c->k : c->n) + c->pad + c->gap[1], ldc = c->n + c->pad + c->gap[2];
	long ra = c->ta ? c->k : c->m, rb = c->tb ? c->n : c->k;
	x.d = (struct pxlrt_gemm){ (int)c->t, c->ta, c->tb, c->bf16, c->nb, c->m, c->n, c->k, lda, ldb, ldc, c->alpha, c->beta, { 0 }, { 0 }, { 0 }, { 0 } };
	x.na = lda * ra, x.nb = ldb * rb, x.nc = ldc * c->m, x.batch = 1;
	for (int i = c->nb - 1; i >= 0; i--) {
		x.d.bdim[i] = c->bdim[i];
		x.d.sa[i] = c->bcast_a ? 0 : x.na * x.batch, x.d.sb[i] = c->bcast_b ? 0 : x.nb * x.batch, x.d.sc[i] = x.nc * x.batch;
		x.batch *= c->bdim[i];
	}
	x.a = noise_array(c->t, x.na * x.batch, 1, 1);
	x.b = noise_array(c->t, x.nb * x.batch, 1, 2);
	x.c0 = noise_array(c->t, x.nc * x.batch, 1, 3);
	x.bias = noise_array(c->t, c->n, 1, 4);
	if (c->beta == 0) rt_set(c->t, x.c0, 0, (double)NAN);      /* beta = 0 must not read c */
	return x;
}

static void drop(Data *x) { rt_free(NULL, x->a); rt_free(NULL, x->b); rt_free(NULL, x->c0); rt_free(NULL, x->bias); }

/* to 8 bits, ties to even */
static double rounded(double x)
{
	int e;
	double m = frexp(x, &e);
	return ldexp(nearbyint(ldexp(m, 8)), e - 8);
}

/* size: the sum of the magnitudes */
static double dot(const Case *c, const Data *x, long ba, long bb, long i, long j, double *size)
{
	double s = *size = 0;
	for (long k = 0; k < c->k; k++) {
		double p = rt_get(c->t, x->a, (size_t)(ba + (c->ta ? k * x->d.lda + i : i * x->d.lda + k)));
		double q = rt_get(c->t, x->b, (size_t)(bb + (c->tb ? j * x->d.ldb + k : k * x->d.ldb + j)));
		if (c->bf16) p = rounded(p), q = rounded(q);
		s += p * q;
		*size += fabs(p * q);
	}
	return s;
}

/* a sample of the elements, corners included, so that large products stay quick */
static int right(const Case *c, const Data *x, const void *got_c, const void *got_y)
{
	int ok = 1;
	double eps = c->t == DT_F64 ? 1e-15 : 6e-8, tol = eps * (double)(c->k + 8) * 2 + 3 * eps_of(c->t);
	for (long b = 0; b < x->batch; b++) {
		long bb = c->bcast_b ? 0 : b * x->nb, ba = c->bcast_a ? 0 : b * x->na;
		for (long i = 0; i < c->m; i += c->m > 40 && i + 7 < c->m ? 7 : 1)
			for (long j = 0; j < c->n; j += c->n > 40 && j + 5 < c->n ? 5 : 1) {
				size_t at = (size_t)(b * x->nc + i * x->d.ldc + j);
				double size, want = c->alpha * dot(c, x, ba, bb, i, j, &size), was = 0, bias = 0;
				if (c->beta != 0) want += was = c->beta * rt_get(c->t, x->c0, at);
				if (c->bias) want += bias = rt_get(c->t, x->bias, (size_t)j);
				double slack = tol * (1 + fabs(want));
				/* a rounding for each of k products, each stretch of 256, and what follows: of partial sums no larger than all magnitudes together */
				if (c->bf16) slack = (0x1p-24 * (double)(c->k + c->k / 128 + 6) + eps_of(c->t) * (c->t == DT_BF16)) * (fabs(c->alpha) * size + fabs(was) + fabs(bias));
				ok &= near(rt_get(c->t, got_c, at), want, slack);
				if (c->act) ok &= near(rt_get(c->t, got_y, at), ref_act(c->act, want), 2 * slack);
			}
	}
	return ok;
}

/* bias, added where the product stands, and what act makes of that */
static int tail(const struct pxlrt *rt, struct pxlrt_lane *ln, void *const *p, long lo, long hi, long from, long to)
{
	const Case *c = p[0];
	const Data *x = p[1];
	(void)rt, (void)ln;
	for (long i = lo; i < hi; i++)
		for (long j = from; j < to; j++) {
			size_t at = (size_t)(i * x->d.ldc + j);
			if (c->bias) rt_set(c->t, p[2], at, rt_get(c->t, p[2], at) + rt_get(c->t, x->bias, (size_t)j));
			if (c->act) rt_set(c->t, p[3], at, ref_act(c->act, rt_get(c->t, p[2], at)));
		}
	return 0;
}

static void run(const Case *c, Data *x, const struct pxlrt *rt, int threads, void *out, void *y)
{
	TestLane t;
	lane_open(&t, threads, rt);
	memcpy(out, x->c0, (size_t)(x->nc * x->batch) * dtype_size(c->t));
	void *const p[] = { (void *)(uintptr_t)c, x, out, y };
	CHECK("", !rt->matmul(&t.lane.pub, &x->d, x->a, x->b, out, c->bias || c->act ? tail : NULL, p));
	lane_close(&t);
}

static void one(const Case *c, const struct pxlrt *const *rts, int nrt, int many_threads)
{
	Data x = make(c);
	size_t bytes = (size_t)(x.nc * x.batch) * dtype_size(c->t);
	char *got = rt_alloc(NULL, bytes + 64), *first = rt_alloc(NULL, bytes + 64), *y = rt_alloc(NULL, bytes + 64);
	for (int r = 0; r < nrt; r++) {
		run(c, &x, rts[r], 1, first, y);
		if (c->bf16 && !r) memcpy(got, first, bytes);
		CHECK("", !c->bf16 || !memcmp(got, first, bytes));
		int ok = (c->bf16 && r) || right(c, &x, first, y);
		if (!ok) printf("m %ld n %ld k %ld ta %d tb %d lda %ld ldb %ld ldc %ld type %s table %d\n", c->m, c->n, c->k, c->ta, c->tb, x.d.lda, x.d.ldb, x.d.ldc, dtype_info[c->t].name, r);
		CHECK("", ok);
		for (int t = 2; many_threads && t <= 8; t = t == 2 ? 3 : t == 3 ? 8 : 9) {
			run(c, &x, rts[r], t, got, y);
			CHECK("", !memcmp(got, first, bytes));
		}
		if (c->bf16) memcpy(got, first, bytes);
		/* nothing is written between the rows */
		int clean = 1;
		for (long i = 0; c->pad + c->gap[2] && i < c->m * x.batch; i++)
			clean &= !memcmp(first + (size_t)(i * x.d.ldc + c->n) * dtype_size(c->t), (char *)x.c0 + (size_t)(i * x.d.ldc + c->n) * dtype_size(c->t), dtype_size(c->t));
		CHECK("", clean);
	}
	rt_free(NULL, got), rt_free(NULL, first), rt_free(NULL, y);
	drop(&x);
}

/* Numbers at the ends of f32's range, and none at all: products overflow, or fall below what is normal.  Without a fused multiply-add
 * that is another matter, so the baseline stays out. */
static void extremes(const struct pxlrt *const *rts, int nrt)
{
	enum { M = 19, N = 53, K = 37 };
	static const float odd[] = { 0x1p-140f, -0x1.fep-127f, 0x1p-126f, -0.0f, 0x1.01p-64f, 0x1.03p-63f, -0x1.01p-63f, 0x1.ffp127f, -0x1.fffffep127f, INFINITY, NAN, 0x1.0101p60f };
	for (int form = 0; form < 4; form++) {
		Case c = { DT_F32, M, N, K, form & 1, form >> 1, 0, 0, 1, 0, 0, { 0 }, 0, 0, 1 };
		Data x = make(&c);
		float *a = x.a, *b = x.b, got[M * N], first[M * N];
		/* in every 200th place whatever it is, and small numbers, whose products are at the edge, elsewhere */
		for (long i = 0; i < x.na; i++) a[i] = i % 200 == 7 ? odd[i / 200 % 12] : i % 7 == 6 ? odd[i % 7] : a[i] * 0x1p-61f;
		for (long i = 0; i < x.nb; i++) b[i] = i % 700 == 9 ? odd[7 + i / 700 % 5] : i % 11 == 3 ? odd[i % 7] : b[i] * 0x1p-64f;
		int seen = 0, finite = 0;
		for (int r = 0; r < nrt; r++) {
			if (rts[r] == &table_base.pub) continue;
			float *to = seen++ ? got : first;
			run(&c, &x, rts[r], 1, to, NULL);
			int same = 1, flushed = 1;
			for (long i = 0; i < M * N; i++) {
				same &= !memcmp(&to[i], &first[i], 4) || (isnan(to[i]) && isnan(first[i]));
				flushed &= fpclassify(to[i]) != FP_SUBNORMAL;
				finite += to[i] != 0 && isfinite(to[i]);
			}
			CHECK("", same);
			CHECK("", flushed);
		}
		CHECK("", !seen || finite > M * N * seen / 8);
		drop(&x);
	}
}

/* cases of operands rounded to bf16, stored as f32 or bf16 */
static void rounded_products(const struct pxlrt *const *rts, int nrt)
{
	static const long sizes[][3] = { { 1, 1, 1 }, { 1, 50, 34 }, { 3, 17, 2 }, { 4, 16, 0 }, { 8, 96, 30 }, { 15, 49, 258 }, { 17, 47, 65 }, { 33, 130, 97 } };
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int form = 0; form < 8; form++)
			one(&(Case){ form & 4 ? DT_BF16 : DT_F32, sizes[s][0], sizes[s][1], sizes[s][2], form & 1, form >> 1 & 1, (int)(s % 3), (int)(s & 1), form & 1 ? 1 : -0.3,
			             s & 2 ? 0.7 : form & 2 ? 0 : 1, 0, { 0 }, (long)(s & 3), 0, 1 }, rts, nrt, 0);
	for (int form = 0; form < 4; form++) {
		one(&(Case){ DT_F32, 8, 512, 784, form & 1, form >> 1, GELU, 1, 1, 0, 0, { 0 }, 0, 0, 1 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 300, 260, 40, form & 1, form >> 1, 0, 0, -0.05, 1, 0, { 0 }, 0, 0, 1 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 130, 400, 333, form & 1, form >> 1, RELU, 1, 1.7, -0.5, 0, { 0 }, 3, 0, 1 }, rts, nrt, 1);
		one(&(Case){ DT_BF16, 70, 200, 300, form & 1, form >> 1, RELU, 1, 1, 0, 0, { 0 }, 0, 0, 1 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 20, 30, 41, form & 1, form >> 1, 0, 0, 1, 0, 2, { 3, 5 }, 2, form & 1, 1 }, rts, nrt, 1);
	}
}

/* f16 and f64 take no notice */
static void others(const struct pxlrt *const *rts, int nrt)
{
	for (int r = 0; r < nrt; r++)
		for (int t = 0; t < 2; t++) {
			Case c = { t ? DT_F64 : DT_F16, 9, 33, 70, 0, 1, 0, 0, 1, 0, 0, { 0 }, 0, 0, 0 };
			Data x = make(&c);
			double plain[9 * 33], asked[9 * 33];
			run(&c, &x, rts[r], 1, plain, NULL);
			x.d.bf16 = 1;
			run(&c, &x, rts[r], 1, asked, NULL);
			CHECK("", !memcmp(plain, asked, (size_t)x.nc * dtype_size(c.t)));
			drop(&x);
		}
}

/* what is packed once for all tiles: in one round, several items at once, or in rounds over k, columns and rows */
static void packed_products(const struct pxlrt *const *rts, int nrt)
{
	for (int form = 0; form < 4; form++) {
		int ta = form & 1, tb = form >> 1;
		one(&(Case){ DT_F32, 33, 200, 301, ta, tb, GELU, 1, -0.7, 0.5, 0, { 0 }, 1, 0, 0 }, rts, nrt, 1);       /* few rows: made turned over */
		one(&(Case){ DT_F64, 50, 130, 90, ta, tb, RELU, 1, 1.5, 1, 2, { 2, 3 }, 2, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 90, 40, 70, ta, tb, 0, 1, 1, 0, 1, { 90 }, 0, form & 1, 0 }, rts, nrt, 1);                      /* more items than the room holds */
		one(&(Case){ DT_F64, 24, 77, 1700, ta, tb, GELU, 1, 0.5, -1, 0, { 0 }, 3, 0, 0 }, rts, nrt, 1);           /* stretches of dot products */
	}
	/* more than the room holds, for one type each: over k; over k and columns; and rows; with sums kept meanwhile */
	one(&(Case){ DT_F32, 70, 530, 2600, 0, 1, RELU, 1, 0.5, 1, 0, { 0 }, 1, 0, 0 }, rts + nrt - 1, 1, 1);
	one(&(Case){ DT_F64, 40, 2300, 300, 0, 1, 0, 1, 1, 0.5, 0, { 0 }, 0, 0, 0 }, rts + nrt - 1, 1, 1);
	one(&(Case){ DT_F64, 1500, 1400, 260, 1, 1, 0, 1, 1, -0.5, 0, { 0 }, 0, 0, 0 }, rts + nrt - 1, 1, 1);
	one(&(Case){ DT_F16, 1100, 1050, 300, 0, 0, RELU, 1, 1, 0.5, 0, { 0 }, 0, 0, 0 }, rts + nrt - 1, 1, 1);
	one(&(Case){ DT_F32, 20, 4100, 600, 0, 1, 0, 1, 2, 0.5, 0, { 0 }, 0, 0, 0 }, rts + nrt - 1, 1, 1);
	one(&(Case){ DT_BF16, 50, 70, 9000, 1, 1, 0, 1, 1, 1, 0, { 0 }, 0, 0, 0 }, rts + nrt - 1, 1, 1);
	for (int form = 0; form < 4; form++)                    /* narrow: dot products, a row-major b turned over */
		for (long n = 1; n <= 13; n += 3)
			one(&(Case){ form & 2 ? DT_F64 : DT_F32, 33, n, form & 2 ? 1000 : 70, 0, form & 1, n % 3 ? RELU : 0, 1, 0.5, n & 2 ? 0 : 1, n & 4 ? 2 : 0, { 2, 2 }, n & 1, 0, 0 }, rts, nrt, 1);
	for (int form = 0; form < 2; form++)                    /* a packed, b where it stands but for the columns that fill no vector */
		one(&(Case){ DT_F32, 40, 90 + 6 * form, 600, 1, 0, GELU, 1, 1, 0.5, 0, { 0 }, 1, 0, 0 }, rts, nrt, 1);
}

/* sizes, often 1; forms; gaps between rows, of each matrix for itself; batches, of which either side may be one for all; what follows */
static void drawn_products(const struct pxlrt *const *rts, int nrt)
{
	static const long sizes[] = { 1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 48, 64, 70, 100 };
	static const DType types[] = { DT_F32, DT_F32, DT_F64, DT_F16, DT_BF16 };
	unsigned long salt = 23;
#define BELOW(n) ((long)((noise(salt++) + 1) / 2 * (double)(n)))
	for (int i = 0; i < 700; i++) {
		long m = sizes[BELOW(19)], n = sizes[BELOW(19)], k = sizes[BELOW(19)];
		Case c = { .t = types[BELOW(5)], .m = m, .n = n, .k = k, .ta = BELOW(2) != 0, .tb = BELOW(2) != 0, .alpha = BELOW(2) ? 1 : -0.5, .beta = BELOW(3) ? 0 : 0.5 };
		for (int g = 0; g < 3; g++) c.gap[g] = BELOW(2) ? 0 : 1 + BELOW(4);
		if (!BELOW(3)) c.act = (int)BELOW(3), c.bias = BELOW(2) != 0;
		if (!BELOW(3)) c.nb = 1 + (int)BELOW(2), c.bdim[0] = 1 + BELOW(3), c.bdim[1] = 1 + BELOW(3), c.bcast_a = !BELOW(3), c.bcast_b = !BELOW(3);
		c.bf16 = (c.t == DT_F32 || c.t == DT_BF16) && !BELOW(4);
		one(&c, rts, nrt, i % 16 == 0);
	}
}

int main(void)
{
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	static const long sizes[][3] = { { 1, 1, 1 }, { 1, 10, 33 }, { 2, 5, 0 }, { 3, 17, 7 }, { 5, 48, 31 }, { 7, 130, 16 }, { 8, 64, 50 }, { 13, 33, 19 }, { 16, 100, 65 }, { 17, 49, 40 }, { 40, 23, 300 }, { 65, 97, 11 } };
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int form = 0; form < 16; form++) {
			static const DType types[] = { DT_F32, DT_F64, DT_F16, DT_BF16 };
			Case c = { types[form >> 2], sizes[s][0], sizes[s][1], sizes[s][2], form & 1, form >> 1 & 1, (int)(s % 3), (int)(s & 1), form & 1 ? 1 : -0.5, form & 2 ? 0 : s & 2 ? 1 : 0.5, 0, { 0 }, (long)(s & 3), 0, 0 };
			one(&c, rts, nrt, 0);
		}
	for (int form = 0; form < 4; form++) {
		one(&(Case){ DT_F32, 8, 512, 784, form & 1, form >> 1, GELU, 1, 1, 0, 0, { 0 }, 0, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 784, 512, 8, form & 1, form >> 1, 0, 0, -0.05, 1, 0, { 0 }, 0, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 200, 400, 300, form & 1, form >> 1, RELU, 1, 1, 0, 0, { 0 }, 0, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F16, 70, 200, 300, form & 1, form >> 1, RELU, 1, 1, 0, 0, { 0 }, 0, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 20, 30, 40, form & 1, form >> 1, 0, 0, 1, 0, 2, { 3, 5 }, 2, form & 1, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 257, 131, 129, form & 1, form >> 1, RELU, 1, 1, -0.5, 0, { 0 }, 3, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F64, 61, 99, 2100, form & 1, form >> 1, 0, 1, 0.5, 1, 0, { 0 }, 1, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 128, 67, 64, form & 1, form >> 1, 0, 0, 1, 1, 1, { 3 }, 1, form & 1, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 2, 33, 9000, form & 1, form >> 1, 0, 0, 2, 1, 0, { 0 }, 0, 0, 0 }, rts, nrt, 1);
	}
	for (int form = 0; form < 16; form++) {                /* few rows: cut along k */
		long m = form % 5 + 1, n = (long[]){ 512, 1000, 657, 1024 }[form & 3];
		one(&(Case){ form & 4 ? DT_F64 : DT_F32, m, n, 700 + form, form & 1, 0, form % 3, form & 1, form & 2 ? -0.5 : 1, form & 8 ? 0.5 : 0, 0, { 0 }, form & 3, 0, 0 }, rts, nrt, 1);
	}
	for (int form = 0; form < 16; form++) {                /* one column, a transposed: made as a row */
		static const DType types[] = { DT_F32, DT_F64, DT_F16, DT_BF16 };
		one(&(Case){ types[form & 3], 70, 1, form & 8 ? 3000 : 90, 1, form >> 2 & 1, 0, 0, -0.5, form & 4 ? 0.5 : 0, form & 8 ? 0 : 2, { 3, 2 }, 0, form >> 2 & 1, 0 }, rts, nrt, 1);
	}
	drawn_products(rts, nrt);
	packed_products(rts, nrt);
	rounded_products(rts, nrt);
	extremes(rts, nrt);
	others(rts, nrt);
	return check_done();
}
