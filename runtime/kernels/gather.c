/* gather.c — rows taken by index, and its transpose, rows added up by index.
 *
 * scatter_add is split over columns (outer × inner), never over indices, so contributions arrive in order of
 * the indices whatever the number of threads.  16-bit floats accumulate in f32 in scratch as far as it reaches. */
#include "runtime/kernels/kernels.h"

#include <string.h>

typedef struct Gather {
	const struct pxlrt *rt;
	const struct pxlrt_axis *d;
	int idx_dtype, zero_oor;
	long count, cols;                    /* cols: columns of a piece of scatter_add */
	const char *x;
	const void *idx;
	char *y;
} Gather;

/* a u64 too large for a long comes out negative, which is out of range as it should be */
static long index_at(const Gather *g, long i) { return (long)rt_get_int((DType)g->idx_dtype, g->idx, (size_t)i); }
static int in_range(const Gather *g, long at) { return at >= 0 && at < g->d->n; }

static int bad_index(RtLane *ln, const Gather *g, long i)
{
	if (g->idx_dtype == DT_U64) return lane_fault(ln, "index %llu is out of range for an axis of %ld", (u64)index_at(g, i), g->d->n);
	return lane_fault(ln, "index %ld is out of range for an axis of %ld", index_at(g, i), g->d->n);
}

static int gather_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Gather *g = ctx;
	size_t row = (size_t)g->d->inner * dtype_size(g->d->dtype);
	for (long i = lo; i < hi; i++) {
		long o = i / g->count, at = index_at(g, i % g->count);
		char *to = g->y + (size_t)i * row;
		if (in_range(g, at)) memcpy(to, g->x + (size_t)(o * g->d->n + at) * row, row);
		else if (g->zero_oor) memset(to, 0, row);
		else return bad_index(ln, g, i % g->count);
	}
	return 0;
}

int k_gather(struct pxlrt_lane *lane, const struct pxlrt_axis *d, int idx_dtype, long count, int zero_oor, const void *x, const void *idx, void *y)
{
	RtLane *ln = rt_lane(lane);
	Gather g = { table_of(ln), d, idx_dtype, zero_oor, count, 0, x, idx, y };
	long n = d->outer * count;
	return span_run(ln, gather_body, &g, n, piece_of(n, 4 + (double)d->inner * 0.1));
}

/* --- scatter_add ------------------------------------------------------------------------------------------------------- */

/* y[at] += v on n neighbouring elements, through blocks */
static void add_row(const Gather *g, char *y, const char *v, long n)
{
	int t = g->d->dtype;
	Block a, b;
	for (long j = 0; j < n; j += BLOCK_MAX) {
		long k = min_l(BLOCK_MAX, n - j);
		g->rt->ld[t](&a, at_elem(y, t, j), 1, k);
		g->rt->ld[t](&b, at_elem(v, t, j), 1, k);
		switch (class_of(t)) {
		case PXLRT_F32: g->rt->f32.add(a.f32, a.f32, b.f32, k); break;
		case PXLRT_F64: g->rt->f64.add(a.f64, a.f64, b.f64, k); break;
		default: g->rt->u64.add(a.u, a.u, b.u, k);
		}
		g->rt->st[t](at_elem_mut(y, t, j), 1, &a, k);
	}
}

static void add_plain(const Gather *g, long o, long j, long n)
{
	int t = g->d->dtype;
	for (long i = 0; i < g->count; i++) {
		long at = index_at(g, i);
		if (!in_range(g, at)) continue;
		char *y = at_elem_mut(g->y, t, (o * g->d->n + at) * g->d->inner + j);
		const char *v = at_elem(g->x, t, (o * g->count + i) * g->d->inner + j);
		if (t == DT_F32) g->rt->f32.add((float *)(void *)y, (float *)(void *)y, (const float *)(const void *)v, n);
		else add_row(g, y, v, n);
	}
}

/* all rows of these columns as f32 in scratch */
static void add_wide(RtLane *ln, const Gather *g, long o, long j, long n)
{
	int t = g->d->dtype;
	float *acc = ln->scratch;
	Block b;
	for (long r = 0; r < g->d->n; r++) g->rt->ld[t](acc + r * n, at_elem(g->y, t, (o * g->d->n + r) * g->d->inner + j), 1, n);
	for (long i = 0; i < g->count; i++) {
		long at = index_at(g, i);
		if (!in_range(g, at)) continue;
		g->rt->ld[t](&b, at_elem(g->x, t, (o * g->count + i) * g->d->inner + j), 1, n);
		g->rt->f32.add(acc + at * n, acc + at * n, b.f32, n);
	}
	for (long r = 0; r < g->d->n; r++) g->rt->st[t](at_elem_mut(g->y, t, (o * g->d->n + r) * g->d->inner + j), 1, acc + r * n, n);
}

static int is_half(int t) { return t == DT_F16 || t == DT_BF16; }

static int scatter_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Gather *g = ctx;
	long per = (g->d->inner + g->cols - 1) / g->cols;
	for (long i = lo; i < hi; i++) {
		long o = i / per, j = i % per * g->cols, n = min_l(g->cols, g->d->inner - j);
		if (is_half(g->d->dtype) && g->d->n * n * 4 <= RT_SCRATCH_BYTES) add_wide(ln, g, o, j, n);
		else add_plain(g, o, j, n);
	}
	return 0;
}

int k_scatter_add(struct pxlrt_lane *lane, const struct pxlrt_axis *d, int idx_dtype, long count, const void *v, const void *idx, void *y)
{
	RtLane *ln = rt_lane(lane);
	if (d->inner <= 0 || d->n <= 0) return 0;
	long cols = is_half(d->dtype) ? max_l(1, min_l(BLOCK_MAX, RT_SCRATCH_BYTES / 4 / d->n)) : 128;
	Gather g = { table_of(ln), d, idx_dtype, 1, count, cols, v, idx, y };
	long n = d->outer * ((d->inner + cols - 1) / cols);
	return span_run(ln, scatter_body, &g, n, piece_of(n, (double)count * (5 + (double)min_l(cols, d->inner) * 0.2)));
}
