/* kernels_matmul.c — matrix products against plain C in double: every type, transposition, odd size, batch and
 * epilogue; the two providers agree; bits do not depend on the number of threads. */
#include "tests/runtime/kernels.h"

typedef struct Case { DType t; long m, n, k; int ta, tb, act, bias; double alpha, beta; int nb; long bdim[2]; long pad; int bcast_b; } Case;

static double ref_act(int act, double x)
{
	if (act == PXLRT_ACT_RELU) return x > 0 ? x : 0;
	return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

typedef struct Data { void *a, *b, *c0, *bias; long na, nb, nc, batch; struct pxlrt_gemm d; } Data;

static Data make(const Case *c)
{
	Data x = { 0 };
	long lda = (c->ta ? c->m : c->k) + c->pad, ldb = (c->tb ? c->k : c->n) + c->pad, ldc = c->n + c->pad;
	long ra = c->ta ? c->k : c->m, rb = c->tb ? c->n : c->k;
	x.d = (struct pxlrt_gemm){ (int)c->t, c->ta, c->tb, c->act, c->nb, c->m, c->n, c->k, lda, ldb, ldc, c->alpha, c->beta, { 0 }, { 0 }, { 0 }, { 0 } };
	x.na = lda * ra, x.nb = ldb * rb, x.nc = ldc * c->m, x.batch = 1;
	for (int i = c->nb - 1; i >= 0; i--) {
		x.d.bdim[i] = c->bdim[i];
		x.d.sa[i] = x.na * x.batch, x.d.sb[i] = c->bcast_b ? 0 : x.nb * x.batch, x.d.sc[i] = x.nc * x.batch;
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

static double dot(const Case *c, const Data *x, long ba, long bb, long i, long j)
{
	double s = 0;
	for (long k = 0; k < c->k; k++)
		s += rt_get(c->t, x->a, (size_t)(ba + (c->ta ? k * x->d.lda + i : i * x->d.lda + k))) *
		     rt_get(c->t, x->b, (size_t)(bb + (c->tb ? j * x->d.ldb + k : k * x->d.ldb + j)));
	return s;
}

/* a sample of the elements, corners included, so that large products stay quick */
static int right(const Case *c, const Data *x, const void *got_c, const void *got_y)
{
	int ok = 1;
	double eps = c->t == DT_F64 ? 1e-15 : 6e-8, tol = eps * (double)(c->k + 8) * 2 + 3 * eps_of(c->t);
	for (long b = 0; b < x->batch; b++) {
		long bb = c->bcast_b ? 0 : b * x->nb;
		for (long i = 0; i < c->m; i += c->m > 40 && i + 7 < c->m ? 7 : 1)
			for (long j = 0; j < c->n; j += c->n > 40 && j + 5 < c->n ? 5 : 1) {
				size_t at = (size_t)(b * x->nc + i * x->d.ldc + j);
				double want = c->alpha * dot(c, x, b * x->na, bb, i, j);
				if (c->beta != 0) want += c->beta * rt_get(c->t, x->c0, at);
				if (c->bias) want += rt_get(c->t, x->bias, (size_t)j);
				double slack = tol * (1 + fabs(want));
				ok &= near(rt_get(c->t, got_c, at), want, slack);
				if (c->act) ok &= near(rt_get(c->t, got_y, at), ref_act(c->act, want), 2 * slack);
			}
	}
	return ok;
}

static void run(const Case *c, Data *x, const struct pxlrt *rt, int threads, void *out, void *y)
{
	TestLane t;
	lane_open(&t, threads, rt);
	memcpy(out, x->c0, (size_t)(x->nc * x->batch) * dtype_size(c->t));
	rt->matmul(&t.lane.pub, &x->d, x->a, x->b, out, c->bias ? x->bias : NULL, y);
	lane_close(&t);
}

static void one(const Case *c, const struct pxlrt *const *rts, int nrt, int many_threads)
{
	Data x = make(c);
	size_t bytes = (size_t)(x.nc * x.batch) * dtype_size(c->t);
	char *got = rt_alloc(NULL, bytes + 64), *first = rt_alloc(NULL, bytes + 64), *y = rt_alloc(NULL, bytes + 64);
	for (int r = 0; r < nrt; r++) {
		run(c, &x, rts[r], 1, first, y);
		if (!right(c, &x, first, y)) printf("m %ld n %ld k %ld ta %d tb %d type %s table %d\n", c->m, c->n, c->k, c->ta, c->tb, dtype_info[c->t].name, r);
		CHECK("", right(c, &x, first, y));
		for (int t = 2; many_threads && t <= 8; t = t == 2 ? 3 : t == 3 ? 8 : 9) {
			run(c, &x, rts[r], t, got, y);
			CHECK("", !memcmp(got, first, bytes));
		}
		/* nothing is written between the rows */
		int clean = 1;
		for (long i = 0; c->pad && i < c->m * x.batch; i++)
			clean &= !memcmp(first + (size_t)(i * x.d.ldc + c->n) * dtype_size(c->t), (char *)x.c0 + (size_t)(i * x.d.ldc + c->n) * dtype_size(c->t), dtype_size(c->t));
		CHECK("", clean);
	}
	rt_free(NULL, got), rt_free(NULL, first), rt_free(NULL, y);
	drop(&x);
}

int main(void)
{
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	static const long sizes[][3] = { { 1, 1, 1 }, { 1, 10, 33 }, { 2, 5, 0 }, { 3, 17, 7 }, { 5, 48, 31 }, { 7, 130, 16 }, { 8, 64, 50 }, { 13, 33, 19 }, { 16, 100, 65 }, { 17, 49, 40 }, { 40, 23, 300 }, { 65, 97, 11 } };
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (int form = 0; form < 16; form++) {
			static const DType types[] = { DT_F32, DT_F64, DT_F16, DT_BF16 };
			Case c = { types[form >> 2], sizes[s][0], sizes[s][1], sizes[s][2], form & 1, form >> 1 & 1, (int)(s % 3), (int)(s & 1), form & 1 ? 1 : -0.5, form & 2 ? 0 : s & 2 ? 1 : 0.5, 0, { 0 }, (long)(s & 3), 0 };
			one(&c, rts, nrt, 0);
		}
	for (int form = 0; form < 4; form++) {
		one(&(Case){ DT_F32, 8, 512, 784, form & 1, form >> 1, PXLRT_ACT_GELU, 1, 1, 0, 0, { 0 }, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 784, 512, 8, form & 1, form >> 1, 0, 0, -0.05, 1, 0, { 0 }, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 200, 400, 300, form & 1, form >> 1, PXLRT_ACT_RELU, 1, 1, 0, 0, { 0 }, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F16, 70, 200, 300, form & 1, form >> 1, PXLRT_ACT_RELU, 1, 1, 0, 0, { 0 }, 0, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 20, 30, 40, form & 1, form >> 1, 0, 0, 1, 0, 2, { 3, 5 }, 2, form & 1 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 257, 131, 129, form & 1, form >> 1, PXLRT_ACT_RELU, 1, 1, -0.5, 0, { 0 }, 3, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F64, 61, 99, 2100, form & 1, form >> 1, 0, 1, 0.5, 1, 0, { 0 }, 1, 0 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 128, 67, 64, form & 1, form >> 1, 0, 0, 1, 1, 1, { 3 }, 1, form & 1 }, rts, nrt, 1);
		one(&(Case){ DT_F32, 2, 33, 9000, form & 1, form >> 1, 0, 0, 2, 1, 0, { 0 }, 0, 0 }, rts, nrt, 1);
	}
	for (int form = 0; form < 16; form++) {                /* few rows: cut along k */
		long m = form % 5 + 1, n = (long[]){ 512, 1000, 657, 1024 }[form & 3];
		one(&(Case){ form & 4 ? DT_F64 : DT_F32, m, n, 700 + form, form & 1, 0, form % 3, form & 1, form & 2 ? -0.5 : 1, form & 8 ? 0.5 : 0, 0, { 0 }, form & 3, 0 }, rts, nrt, 1);
	}
	return check_done();
}
