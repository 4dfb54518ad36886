/* kernels_attention.c — attention by blocks: the same bits for any number of threads on every table of kernels, whichever way the
 * gradient is cut, and what a mask of -inf gives. */
#include "tests/runtime/kernels.h"

enum { NLANE = 4 };
static const int lane_threads[NLANE] = { 1, 2, 3, 8 };

/* items, queries, keys, d, n, causal */
static const long shapes[][6] = { { 16, 128, 128, 16, 16, 1 }, { 3, 300, 300, 33, 20, 1 }, { 9, 140, 270, 8, 24, 0 }, { 2, 257, 129, 20, 300, 0 } };

typedef struct Data { void *x[8], *y, *lse, *dx[4]; long size[6]; } Data;

static Data data_of(DType t, const struct pxlrt_attention *d, long items)
{
	DType wide = t == DT_F64 ? DT_F64 : DT_F32;
	long q = items * d->lq * d->d, k = items * d->lk * d->d, v = items * d->lk * d->dv, y = items * d->lq * d->dv, rows = items * d->lq;
	Data a = { .size = { y, rows, q, k, v, rows * d->lk } };
	const long n[] = { q, k, v, d->lq * d->lk };
	for (int i = 0; i < 4; i++) a.x[i] = noise_array(t, n[i], 2, (unsigned long)i);
	a.x[6] = noise_array(t, y, 1, 6);
	a.x[7] = noise_array(wide, rows, 1, 7);
	a.y = noise_array(t, y, 0, 0);
	a.lse = noise_array(wide, rows, 0, 0);
	for (int i = 0; i < 4; i++) a.dx[i] = noise_array(t, a.size[2 + i], 0, 0);
	a.x[4] = a.y;
	a.x[5] = a.lse;
	return a;
}

static void data_free(Data *a)
{
	for (int i = 0; i < 8; i++) rt_free(NULL, a->x[i]);
	for (int i = 0; i < 4; i++) rt_free(NULL, a->dx[i]);
}

static int equal(const Data *a, const Data *b, DType t)
{
	size_t wide = t == DT_F64 ? 8 : 4;
	int same = !memcmp(a->y, b->y, (size_t)a->size[0] * dtype_size(t)) && !memcmp(a->lse, b->lse, (size_t)a->size[1] * wide);
	for (int i = 0; i < 4; i++) same = same && !memcmp(a->dx[i], b->dx[i], (size_t)a->size[2 + i] * dtype_size(t));
	return same;
}

static void threads(DType t, const long *s, TestLane *lanes)
{
	struct pxlrt_attention d = { (int)t, (int)s[5], 1, s[1], s[2], s[3], s[4], s[3], s[3], s[4], s[4], s[2], 1, 0.25,
	                             { s[0] }, { s[1] * s[3] }, { s[2] * s[3] }, { s[2] * s[4] }, { s[1] * s[4] }, { 0 } };
	Data a[2] = { data_of(t, &d, s[0]), data_of(t, &d, s[0]) };
	for (int i = 0; i < NLANE; i++) {
		const struct pxlrt *rt = lanes[i].lane.rt;
		Data *b = &a[i > 0];
		int ok = !rt->attention(&lanes[i].lane.pub, &d, b->x[0], b->x[1], b->x[2], b->x[3], b->y, b->lse);
		ok = ok && !rt->attention_back(&lanes[i].lane.pub, &d, (const void *const *)b->x, b->dx);
		CHECK("", ok && (!i || equal(&a[0], &a[1], t)));
	}
	for (int i = 0; i < 2; i++) data_free(&a[i]);
}

/* what sees nothing gives nothing, and takes nothing back */
static void unseen(TestLane *l)
{
	enum { M = 3, N = 5 };
	struct pxlrt_attention d = { DT_F32, 0, 0, M, N, 2, 2, 2, 2, 2, 2, N, 1, 1, { 0 }, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } };
	Data a = data_of(DT_F32, &d, 1);
	float *mask = a.x[3], *y = a.y, *lse = a.lse;
	for (int j = 0; j < N; j++) mask[N + j] = -INFINITY;
	mask[2 * N + 1] = -INFINITY;
	mask[0] = NAN;
	const struct pxlrt *rt = l->lane.rt;
	CHECK("", !rt->attention(&l->lane.pub, &d, a.x[0], a.x[1], a.x[2], mask, y, lse));
	CHECK("", isnan(y[0]) && y[2] == 0 && y[3] == 0 && lse[1] == -INFINITY && isfinite(y[4]) && isfinite(lse[2]));
	mask[0] = 0;
	CHECK("", !rt->attention(&l->lane.pub, &d, a.x[0], a.x[1], a.x[2], mask, y, lse) && !rt->attention_back(&l->lane.pub, &d, (const void *const *)a.x, a.dx));
	const float *dq = a.dx[0], *dk = a.dx[1], *ds = a.dx[3];
	int finite = 1;
	for (int j = 0; j < 2 * N; j++) finite = finite && isfinite(dk[j]);
	CHECK("", finite && dq[2] == 0 && dq[3] == 0 && ds[N] == 0 && ds[2 * N + 1] == 0 && ds[0] != 0);
	data_free(&a);
}

int main(void)
{
	static const DType floats[] = { DT_F16, DT_BF16, DT_F32, DT_F64 };
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts);
	for (int r = 0; r < nrt; r++) {
		TestLane lanes[NLANE];
		for (int k = 0; k < NLANE; k++) lane_open(&lanes[k], lane_threads[k], rts[r]);
		for (int f = 0; f < 4; f++)
			for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) threads(floats[f], shapes[s], lanes);
		unseen(&lanes[0]);
		for (int k = 0; k < NLANE; k++) lane_close(&lanes[k]);
	}
	return check_done();
}
