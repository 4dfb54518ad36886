/* kernels_reduce.c — reductions and copies against plain C: every operation, type, set of axes, strides,
 * nothing, infinities and NaN; the same bits for any number of threads and on every instruction set.
 * Shape, order in memory, gaps, axes, operation and type are drawn independently as well. */
#include "tests/runtime/kernels.h"

#include <float.h>
#include <limits.h>

typedef struct Shape { int rank; long dim[4]; } Shape;

static double ref_fold(int op, const double *v, long n)
{
	double s = op == PXLRT_PROD ? 1 : op == PXLRT_MAX ? -(double)INFINITY : op == PXLRT_MIN ? (double)INFINITY : 0, m = -(double)INFINITY;
	for (long i = 0; i < n; i++) m = v[i] > m ? v[i] : m;
	for (long i = 0; i < n; i++)
		switch (op) {
		case PXLRT_MAX: s = v[i] > s || v[i] != v[i] ? (s != s ? s : v[i]) : s; break;
		case PXLRT_MIN: s = v[i] < s || v[i] != v[i] ? (s != s ? s : v[i]) : s; break;
		case PXLRT_PROD: s *= v[i]; break;
		case PXLRT_L1: s += fabs(v[i]); break;
		case PXLRT_L2: case PXLRT_SUMSQ: s += v[i] * v[i]; break;
		case PXLRT_LOGSUMEXP: s += isinf(m) ? 0 : exp(v[i] - m); break;
		default: s += v[i];
		}
	return op == PXLRT_MEAN ? s / (double)n : op == PXLRT_L2 ? sqrt(s) : op == PXLRT_LOGSUM ? log(s) : op == PXLRT_LOGSUMEXP ? (isinf(m) ? m : m + log(s)) : s;
}

/* strides[]: elements; a gap between rows and the axes stored in the given order */
static void strided(const Shape *s, int reversed, long *stride)
{
	long at = 1;
	for (int k = 0; k < s->rank; k++) {
		int i = reversed ? k : s->rank - 1 - k;
		stride[i] = at;
		at *= s->dim[i] + (k == 0 && reversed);
	}
}

typedef struct Run { struct pxlrt_reduce d; long in, out; void *x; double tol; } Run;

/* one result's inputs, in row-major order */
static long inputs(const Run *r, long o, double *v)
{
	long idx[4] = { 0 }, n = 0, total = 1;
	for (int i = r->d.rank - 1; i >= 0; i--) {
		if (r->d.mask >> i & 1) total *= r->d.dim[i];
		else idx[i] = o % r->d.dim[i], o /= r->d.dim[i];
	}
	for (long e = 0; e < total; e++) {
		long left = e, at = 0;
		for (int i = r->d.rank - 1; i >= 0; i--)
			if (r->d.mask >> i & 1) idx[i] = left % r->d.dim[i], left /= r->d.dim[i];
		for (int i = 0; i < r->d.rank; i++) at += idx[i] * r->d.stride[i];
		v[n++] = rt_get((DType)r->d.dtype, r->x, (size_t)at);
	}
	return n;
}

static int right(const Run *r, const void *y)
{
	double *v = malloc(sizeof *v * (size_t)(r->in + 1));
	int ok = 1, t = r->d.dtype;
	for (long o = 0; o < r->out; o++) {
		long n = inputs(r, o, v);
		double want = ref_fold(r->d.op, v, n), got = rt_get((DType)t, y, (size_t)o);
		if (!dtype_is_float((DType)t)) {
			int64_t w = (int64_t)(r->d.op == PXLRT_MEAN ? floor(want) : want);
			if (r->d.op == PXLRT_MAX || r->d.op == PXLRT_MIN) ok &= n == 0 || got == want;
			else { char b[8]; rt_convert((DType)t, b, DT_I64, &w, 1); ok &= got == rt_get((DType)t, b, 0); }
		} else {
			double mag = 0;
			for (long i = 0; i < n; i++) mag += fabs(v[i]);
			if (r->d.op == PXLRT_MEAN) mag /= (double)(n ? n : 1);
			if (r->d.op == PXLRT_LOGSUM || r->d.op == PXLRT_LOGSUMEXP) mag = 5;
			ok &= near(got, want, r->tol * (fabs(want) + (isfinite(mag) ? mag : 0) * 0.1) + r->tol * 0.01);
		}
	}
	free(v);
	return ok;
}

static void reduce(TestLane *t, const Run *r, void *y) { t->lane.rt->reduce(&t->lane.pub, &r->d, r->x, y); }

static void describe(const struct pxlrt_reduce *d)
{
	printf("op %d type %s mask %u:", d->op, dtype_info[d->dtype].name, d->mask);
	for (int i = 0; i < d->rank; i++) printf(" %ld by %ld", d->dim[i], d->stride[i]);
	printf("\n");
}

static void check(TestLane *lanes, int nrt, const struct pxlrt_reduce *d, double special)
{
	DType t = (DType)d->dtype;
	Run r = { *d, 1, 1, NULL, 8 * eps_of(t) };
	long extent = 1;
	for (int i = 0; i < d->rank; i++) r.in *= d->dim[i], r.out *= d->mask >> i & 1 ? 1 : d->dim[i], extent += d->dim[i] * d->stride[i];
	if (t == DT_F64 && r.out) r.tol *= 1 + (double)(r.in / r.out) / 64;          /* sums in double differ from the reference by their order */
	r.x = noise_array(t, extent, d->op == PXLRT_PROD ? 1.3 : d->op == PXLRT_LOGSUM ? 0.5 : 5, 9);
	for (long i = 0; d->op == PXLRT_LOGSUM && i < extent; i++) rt_set(t, r.x, (size_t)i, fabs(rt_get(t, r.x, (size_t)i)) + 0.1);
	if (special != 0 && r.in) rt_set(t, r.x, (size_t)(extent / 2), special);
	size_t bytes = (size_t)r.out * dtype_size(t);
	char *y = rt_alloc(NULL, bytes + 8), *z = rt_alloc(NULL, bytes + 8);
	reduce(&lanes[0], &r, y);
	int ok = right(&r, y);
	if (!ok) describe(d);
	CHECK("", ok);
	for (int k = 1; k < nrt; k++) {
		reduce(&lanes[k], &r, z);
		CHECK("", !memcmp(y, z, bytes) || (special != special && dtype_is_float(t)));
	}
	rt_free(NULL, y), rt_free(NULL, z), rt_free(NULL, r.x);
}

static void one(TestLane *lanes, int nrt, int op, DType t, const Shape *s, unsigned mask, int reversed, double special)
{
	struct pxlrt_reduce d = { op, (int)t, s->rank, mask, { 0 }, { 0 } };
	memcpy(d.dim, s->dim, sizeof s->dim);
	strided(s, reversed, d.stride);
	check(lanes, nrt, &d, special);
}

/* whole numbers stay exact in the reference, and have no logarithms */
static int refused(int op, DType t, long folded)
{
	return dtype_is_f8(t) || (!dtype_is_float(t) && (op >= PXLRT_L1 || (op == PXLRT_PROD && folded > 30)));
}

static void all_reductions(TestLane *lanes, int nrt)
{
	static const Shape shapes[] = { { 0, { 0 } }, { 1, { 7 } }, { 1, { 1500 } }, { 2, { 5, 300 } }, { 2, { 300, 5 } }, { 3, { 4, 5, 6 } }, { 3, { 3, 1, 70 } }, { 4, { 2, 3, 4, 5 } } };
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
		for (unsigned mask = 0; mask < 1u << shapes[s].rank; mask++)
			for (int op = PXLRT_SUM; op <= PXLRT_LOGSUMEXP; op++)
				for (int t = DT_I8; t < DT_COUNT; t++) {
					if (refused(op, (DType)t, shapes[s].dim[0] * shapes[s].dim[1])) continue;
					one(lanes, nrt, op, (DType)t, &shapes[s], mask, (int)(mask & 1), 0);
				}
}

/* --- everything drawn -------------------------------------------------------------------------------------------------- */

static long below(unsigned long *salt, long n) { return (long)((noise((*salt)++) + 1) / 2 * (double)n); }

/* dims: of all lengths, or a long fold of a few neighbours; in memory in any order, with gaps, some repeated */
static void draw(unsigned long *salt, struct pxlrt_reduce *d)
{
	static const long lengths[] = { 1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 64, 65, 130, 257 }, longs[] = { 65, 128, 200, 512, 600, 1024, 2100 };
	int order[4] = { 0, 1, 2, 3 }, tidy = below(salt, 2) == 0;
	long at = 1, all = 1;
	d->rank = 1 + (int)below(salt, 4);
	for (int i = 0; i < d->rank; i++) {
		do d->dim[i] = lengths[below(salt, sizeof lengths / sizeof *lengths)];
		while (all * d->dim[i] > 5000);
		all *= d->dim[i];
	}
	d->mask = (unsigned)below(salt, 1l << d->rank);
	if (d->rank > 1 && below(salt, 3) == 0) {
		for (int i = 0; i < d->rank; i++) d->dim[i] = 1 + below(salt, 3);
		d->dim[d->rank - 1] = 1 + below(salt, 9);
		d->dim[d->rank - 2] = longs[below(salt, sizeof longs / sizeof *longs)];
		d->mask = (d->mask | 1u << (d->rank - 2)) & ~(1u << (d->rank - 1));
	}
	for (int i = d->rank - 1; i > 0 && !tidy; i--) {
		long k = below(salt, i + 1);
		int swap = order[i];
		order[i] = order[k], order[k] = swap;
	}
	for (int i = d->rank - 1; i >= 0; i--) {
		int axis = order[i];
		d->stride[axis] = !tidy && below(salt, 10) == 0 ? 0 : at;
		at *= d->dim[axis] + (tidy || below(salt, 3) ? 0 : 1 + below(salt, 3));
	}
}

static void drawn_reductions(TestLane *lanes, int nrt)
{
	unsigned long salt = 17;
	for (int i = 0; i < 3000; i++) {
		struct pxlrt_reduce d = { .op = (int)below(&salt, PXLRT_LOGSUMEXP + 1), .dtype = DT_I8 + (int)below(&salt, DT_COUNT - DT_I8) };
		long folded = 1;
		draw(&salt, &d);
		for (int k = 0; k < d.rank; k++) folded *= d.mask >> k & 1 ? d.dim[k] : 1;
		if (!refused(d.op, (DType)d.dtype, folded)) check(lanes, nrt, &d, 0);
	}
}

static void special_reductions(TestLane *lanes, int nrt)
{
	static const double specials[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
	for (int k = 0; k < 3; k++)
		for (unsigned mask = 1; mask < 4; mask++)
			for (int t = DT_F16; t < DT_COUNT; t++) {
				one(lanes, nrt, PXLRT_MAX, (DType)t, &(Shape){ 2, { 30, 20 } }, mask, 0, specials[k]);
				one(lanes, nrt, PXLRT_MIN, (DType)t, &(Shape){ 2, { 30, 20 } }, mask, 0, specials[k]);
				one(lanes, nrt, PXLRT_SUM, (DType)t, &(Shape){ 2, { 30, 20 } }, mask, 0, specials[k]);
			}
	/* long folds: rows in pieces, columns in bands; accuracy holds */
	for (int t = DT_F16; t < DT_COUNT; t++) {
		one(lanes, nrt, PXLRT_SUM, (DType)t, &(Shape){ 1, { 200000 } }, 1, 0, 0);
		one(lanes, nrt, PXLRT_MEAN, (DType)t, &(Shape){ 2, { 40000, 3 } }, 1, 0, 0);
		one(lanes, nrt, PXLRT_LOGSUMEXP, (DType)t, &(Shape){ 2, { 2, 70000 } }, 2, 0, 0);
	}
}

static void edges(const struct pxlrt *rt)
{
	TestLane t;
	float x[4] = { -INFINITY, -INFINITY, 0, 0 }, y[4] = { 9, 9, 9, 9 };
	lane_open(&t, 1, rt);
	struct pxlrt_reduce d = { PXLRT_LOGSUMEXP, DT_F32, 1, 1, { 2 }, { 1 } };
	rt->reduce(&t.lane.pub, &d, x, y);
	CHECK("", y[0] == -INFINITY);
	d = (struct pxlrt_reduce){ PXLRT_SUM, DT_F32, 2, 2, { 3, 0 }, { 0, 1 } };
	rt->reduce(&t.lane.pub, &d, x, y);
	CHECK("", y[0] == 0 && y[2] == 0 && y[3] == 9);
	d = (struct pxlrt_reduce){ PXLRT_SUM, DT_F32, 2, 2, { 0, 3 }, { 3, 1 } };
	CHECK("", rt->reduce(&t.lane.pub, &d, x, y) == 0);
	int32_t i[2] = { -7, 0 }, m;
	d = (struct pxlrt_reduce){ PXLRT_MEAN, DT_I32, 1, 1, { 2 }, { 1 } };
	rt->reduce(&t.lane.pub, &d, i, &m);
	CHECK("", m == -4);
	d = (struct pxlrt_reduce){ PXLRT_MEAN, DT_I32, 1, 1, { 0 }, { 1 } };
	CHECK("", rt->reduce(&t.lane.pub, &d, i, &m) == RT_ERUN && strstr(t.lane.err.text, "mean of no integers"));
	/* stride 0: a broadcast axis */
	float one = 1.5f;
	d = (struct pxlrt_reduce){ PXLRT_SUM, DT_F32, 2, 3, { 10, 100 }, { 0, 0 } };
	rt->reduce(&t.lane.pub, &d, &one, y);
	CHECK("", y[0] == 1500);
	lane_close(&t);
}

/* --- copies ------------------------------------------------------------------------------------------------------ */

static void copy_one(const struct pxlrt *rt, int size, int rank, const long *dim, const int *dst_order, const int *src_order, int pad, int broadcast, int threads)
{
	struct pxlrt_copy d = { size, rank, { 0 }, { 0 }, { 0 } };
	long nd = 1, ns = 1, total = 1;
	for (int k = rank - 1; k >= 0; k--) {
		d.dim[k] = dim[k], total *= dim[k];
		int a = dst_order[k], b = src_order[k];
		d.dst[a] = nd, nd *= dim[a] + pad;
		d.src[b] = b == broadcast ? 0 : ns, ns *= dim[b] + pad;
	}
	unsigned char *x = malloc((size_t)(ns * size)), *y = malloc((size_t)(nd * size)), *want = malloc((size_t)(nd * size));
	for (long i = 0; i < ns * size; i++) x[i] = (unsigned char)(i * 7 + i / 256);
	memset(y, 0xAA, (size_t)(nd * size)), memset(want, 0xAA, (size_t)(nd * size));
	for (long e = 0; e < total; e++) {
		long left = e, po = 0, pi = 0;
		for (int k = rank - 1; k >= 0; k--) po += left % dim[k] * d.dst[k], pi += left % dim[k] * d.src[k], left /= dim[k];
		memcpy(want + po * size, x + pi * size, (size_t)size);
	}
	TestLane t;
	lane_open(&t, threads, rt);
	rt->copy(&t.lane.pub, &d, x, y);
	lane_close(&t);
	CHECK("", !memcmp(y, want, (size_t)(nd * size)));
	free(x), free(y), free(want);
}

/* every step-th element of 3 lines, backwards if step is negative, next to each other and apart */
static void copy_steps(const struct pxlrt *rt, int step)
{
	static unsigned char x[8 * 3 * 1000], y[8 * 3 * 1000];
	enum { N = 131 };
	TestLane t;
	lane_open(&t, 1, rt);
	for (size_t i = 0; i < sizeof x; i++) x[i] = (unsigned char)(i * 7 + i / 256);
	for (int size = 1; size <= 8; size *= 2)
		for (int apart = 1; apart < 4; apart++) {
			struct pxlrt_copy d = { size, 2, { 3, N }, { N * apart, apart }, { 1000, step } };
			const unsigned char *from = x + (step < 0 ? N * -step * size : 0);
			rt->copy(&t.lane.pub, &d, from, y);
			int same = 1;
			for (long r = 0; r < 3; r++)
				for (long i = 0; i < N; i++) same &= !memcmp(y + (r * N + i) * apart * size, from + (r * 1000 + i * step) * size, (size_t)size);
			CHECK("", same);
		}
	lane_close(&t);
}

static void copies(const struct pxlrt *rt)
{
	static const int orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 0, 2, 1, 3 }, { 1, 0, 3, 2 }, { 0, 1, 3, 2 } };
	static const long dims[4] = { 3, 37, 2, 41 };
	for (int size = 1; size <= 8; size *= 2)
		for (int a = 0; a < 5; a++)
			for (int b = 0; b < 5; b++)
				for (int pad = 0; pad < 2; pad++) copy_one(rt, size, 4, dims, orders[a], orders[b], pad, (a + b) % 5 - 1, 1);
	for (int size = 1; size <= 8; size *= 2)             /* whole squares and what is left of them */
		copy_one(rt, size, 3, (long[]){ 2, 70, 45 }, (int[]){ 0, 1, 2 }, (int[]){ 0, 2, 1 }, 0, -1, 1);
	copy_one(rt, 4, 2, (long[]){ 512, 300 }, (int[]){ 0, 1 }, (int[]){ 1, 0 }, 0, -1, 3);
	copy_one(rt, 4, 2, (long[]){ 1024, 128 }, (int[]){ 0, 1 }, (int[]){ 1, 0 }, 0, -1, 3);
	copy_one(rt, 4, 1, (long[]){ 65536 * 2 }, (int[]){ 0 }, (int[]){ 0 }, 0, -1, 3);
	copy_one(rt, 2, 2, (long[]){ 3, 40000 }, (int[]){ 0, 1 }, (int[]){ 0, 1 }, 5, -1, 3);
	for (int step = -3; step <= 3; step++) copy_steps(rt, step);
	copy_one(rt, 8, 0, NULL, NULL, NULL, 0, -1, 1);
	copy_one(rt, 8, 2, (long[]){ 1, 1 }, (int[]){ 0, 1 }, (int[]){ 1, 0 }, 0, -1, 1);
}

int main(void)
{
	const struct pxlrt *rts[8];
	int nrt = all_tables(rts) / 2;
	TestLane lanes[8];                           /* one per instruction set, each with more threads */
	for (int i = 0; i < nrt; i++) lane_open(&lanes[i], 1 + i, rts[i]);
	all_reductions(lanes, nrt);
	special_reductions(lanes, nrt);
	drawn_reductions(lanes, nrt);
	for (int i = 0; i < nrt; i++) lane_close(&lanes[i]);
	edges(rts[0]);
	copies(rts[0]);
	return check_done();
}
