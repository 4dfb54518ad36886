/* kernels_loss.c — negative log likelihood, its gradient, and the fused forms, against plain C. */
#include "tests/runtime/kernels.h"

enum { NLANE = 3 };
static TestLane lanes[NLANE];

typedef struct Loss { DType t; long rows, classes; int reduction, has_ignore, log_prob, fused; } Loss;    /* fused: 1 probabilities, 2 logits */

static double ref_p(const Loss *c, const double *x, long row, long k)
{
	double m = -1e300, sum = 0;
	if (c->fused != 2) return x[row * c->classes + k];
	for (long j = 0; j < c->classes; j++) m = fmax(m, x[row * c->classes + j]);
	for (long j = 0; j < c->classes; j++) sum += exp(x[row * c->classes + j] - m);
	return exp(x[row * c->classes + k] - m) / sum;
}

static void one(const Loss *c)
{
	long n = c->rows * c->classes;
	double eps = c->t == DT_F16 ? 6.104e-5 : 1e-7, eps_grad = c->t == DT_F16 ? 6.104e-5 : 1e-10, tol = 12 * eps_of(c->t);
	struct pxlrt_nll d = { (int)c->t, DT_I32, c->reduction, c->has_ignore, c->log_prob, c->rows, c->classes, 3, eps, eps_grad };
	void *x = noise_array(c->t, n, 4, 1), *dx = noise_array(c->t, n, 0, 0), *dz = noise_array(c->t, n, 0, 0), *loss = noise_array(c->t, c->rows + 1, 0, 0), *lz = noise_array(c->t, c->rows + 1, 0, 0), *g = noise_array(c->t, c->rows + 1, 1, 3);
	int *labels = malloc(sizeof *labels * (size_t)(c->rows + 1)), st = 0, ok = 1;
	for (long i = 0; i < c->rows; i++) labels[i] = (int)((noise((unsigned long)i + 5) + 1) / 2 * (double)c->classes);
	if (c->fused != 2)
		for (long i = 0; i < n; i++) rt_set(c->t, x, (size_t)i, c->log_prob ? -fabs(rt_get(c->t, x, (size_t)i)) : i % 7 == 0 ? 0 : fabs(rt_get(c->t, x, (size_t)i)) / 5);
	size_t nl = (size_t)(c->reduction == PXLRT_NO_REDUCTION ? c->rows : 1) * dtype_size(c->t), nx = (size_t)n * dtype_size(c->t);
	for (int k = 0; k < NLANE; k++) {
		struct pxlrt_lane *ln = &lanes[k].lane.pub;
		const struct pxlrt *rt = lanes[k].lane.rt;
		if (c->fused) st |= rt->softmax_nll(ln, &d, c->fused == 2, x, labels, g, k ? lz : loss, k ? dz : dx);
		else st |= rt->nll(ln, &d, x, labels, k ? lz : loss) | rt->nll_grad(ln, &d, x, labels, g, k ? dz : dx);
		CHECK("", !k || (!memcmp(loss, lz, nl) && !memcmp(dx, dz, nx)));
	}
	double *xv = malloc(sizeof *xv * (size_t)(n + 1)), total = 0, count = 0;
	for (long i = 0; i < n; i++) xv[i] = rt_get(c->t, x, (size_t)i);
	for (long i = 0; i < c->rows; i++) count += !(c->has_ignore && labels[i] == 3);
	double div = c->reduction == PXLRT_MEAN_LOSS ? (c->has_ignore ? fmax(count, 1) : (double)c->rows) : 1;
	for (long i = 0; i < c->rows; i++) {
		int ignored = c->has_ignore && labels[i] == 3;
		double p = ref_p(c, xv, i, labels[i]), G = ignored ? 0 : rt_get(c->t, g, (size_t)(c->reduction == PXLRT_NO_REDUCTION ? i : 0)) / div;
		double l = ignored ? 0 : c->log_prob && !c->fused ? -p : c->fused == 1 ? -log(p + eps) : -log(fmax(p, eps));
		total += l;
		if (c->reduction == PXLRT_NO_REDUCTION) ok &= near(rt_get(c->t, loss, (size_t)i), l, tol * (fabs(l) + 1));
		for (long j = 0; j < c->classes; j++) {
			double want = c->fused ? (ref_p(c, xv, i, j) - (j == labels[i])) * G : j != labels[i] ? 0 : c->log_prob ? -G : -G / fmax(p, eps_grad);
			ok &= near(rt_get(c->t, dx, (size_t)(i * c->classes + j)), want, tol * (fabs(want) + fabs(G) * (c->fused ? 1 : 0)) + (c->t == DT_F16 ? 6e-8 : 0)) || (c->t == DT_F16 && fabs(want) > 65000);
		}
	}
	if (c->reduction != PXLRT_NO_REDUCTION) ok &= near(rt_get(c->t, loss, 0), total / div, tol * (fabs(total / div) + 0.01));
	if (!ok || st) printf("loss %s rows %ld classes %ld reduction %d ignore %d log %d fused %d\n", dtype_info[c->t].name, c->rows, c->classes, c->reduction, c->has_ignore, c->log_prob, c->fused);
	CHECK("", ok && !st);
	free(xv), free(labels);
	rt_free(NULL, x), rt_free(NULL, dx), rt_free(NULL, dz), rt_free(NULL, loss), rt_free(NULL, lz), rt_free(NULL, g);
}

static void edges(void)
{
	TestLane *t = &lanes[0];
	const struct pxlrt *rt = t->lane.rt;
	struct pxlrt_nll d = { DT_F32, DT_U8, PXLRT_MEAN_LOSS, 1, 0, 2, 3, 7, 1e-7, 1e-10 };
	float p[6] = { 0.2f, 0.3f, 0.5f, 0, 0.5f, 0.5f }, loss = 9, g = 1, dx[6];
	unsigned char all_ignored[2] = { 7, 7 }, bad[2] = { 1, 5 };
	rt->nll(&t->lane.pub, &d, p, all_ignored, &loss);
	CHECK("", loss == 0);
	rt->softmax_nll(&t->lane.pub, &d, 0, p, all_ignored, &g, &loss, dx);
	CHECK("", loss == 0 && dx[0] == 0 && dx[5] == 0);
	CHECK("", rt->nll(&t->lane.pub, &d, p, bad, &loss) == RT_ERUN && strstr(t->lane.err.text, "label 5 of row 1 is not one of the 3 classes"));
	t->lane.err.status = 0;
	CHECK("", rt->nll_grad(&t->lane.pub, &d, p, bad, &g, dx) == RT_ERUN);
	t->lane.err.status = 0;
	struct pxlrt_nll w = { DT_F32, DT_I32, PXLRT_MEAN_LOSS, 0, 0, 2, 3, 0, 1e-7, 1e-10 };
	CHECK("", rt->softmax_nll(&t->lane.pub, &w, 1, p, (int[]){ 0, -1 }, &g, &loss, dx) == RT_ERUN);
	t->lane.err.status = 0;
	w.rows = 1;
	CHECK("", rt->softmax_nll(&t->lane.pub, &w, 1, (float[]){ 1000, 0, -1000 }, (int[]){ 0 }, &g, &loss, dx) == 0 && loss == 0 && dx[0] == 0 && dx[1] == 0);
	/* the clamp: p = 0 at the label */
	rt->nll(&t->lane.pub, &w, (float[]){ 0, 1, 0 }, (int[]){ 0 }, &loss);
	CHECK("", fabsf(loss - 16.118095f) < 1e-5f);
	rt->nll_grad(&t->lane.pub, &w, (float[]){ 0, 1, 0 }, (int[]){ 0 }, &g, dx);
	CHECK("", fabsf(dx[0] / -1e10f - 1) < 1e-6f && dx[1] == 0);
}

int main(void)
{
	static const DType floats[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
	static const long sizes[][2] = { { 1, 5 }, { 8, 10 }, { 100, 37 }, { 9, 1500 }, { 1000, 10 } };
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int k = 0; k < NLANE; k++) lane_open(&lanes[k], 1 + 2 * k, rts[k % nrt]);
	for (int s = 0; s < 5; s++)
		for (int f = 0; f < 4; f++)
			for (int form = 0; form < 18; form++)
				for (int log_prob = 0; log_prob < (form % 3 == 0 ? 2 : 1); log_prob++)
					one(&(Loss){ floats[f], sizes[s][0], sizes[s][1], form / 3 % 3, form / 9, log_prob, form % 3 });
	edges();
	for (int k = 0; k < NLANE; k++) lane_close(&lanes[k]);
	return check_done();
}
