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

enum { CHUNK = 2048 };                   /* indices looked at together */

/* a u64 too large for a long comes out negative, which is out of range as it should be */
int k_indices(int dtype, const void *idx, long at, long step, long n, long lo, long hi, long *out)
{
	unsigned long outside = 0;
#define TAKE(T) { const T *from = (const T *)idx + at; for (long i = 0; i < n; i++) out[i] = (long)from[i * step]; break; }
	switch (dtype) {
	case DT_I8:  TAKE(int8_t)
	case DT_I16: TAKE(int16_t)
	case DT_I32: TAKE(int32_t)
	case DT_I64: TAKE(int64_t)
	case DT_U16: TAKE(uint16_t)
	case DT_U32: TAKE(uint32_t)
	case DT_U64: TAKE(uint64_t)
	default:     TAKE(uint8_t)
	}
	for (long i = 0; i < n; i++) outside |= ((u64)out[i] - (u64)lo) | ((u64)hi - 1 - (u64)out[i]);
	return outside >> 63;
}

static long index_at(const Gather *g, long i) { return (long)rt_get_int((DType)g->idx_dtype, g->idx, (size_t)i); }
static int in_range(const Gather *g, long at) { return !is_outside(at, 0, g->d->n); }

static int bad_index(RtLane *ln, const Gather *g, long i)
{
	if (g->idx_dtype == DT_U64) return lane_fault(ln, "index %llu is out of range for an axis of %ld", (u64)index_at(g, i), g->d->n);
	return lane_fault(ln, "index %ld is out of range for an axis of %ld", index_at(g, i), g->d->n);
}

/* row i of y is row at[i] of x; rows are short, most often */
#define ROWS_OF(BYTES) case BYTES: for (long i = 0; i < n; i++) memcpy(y + i * BYTES, x + at[i] * BYTES, BYTES); break;
static void take_rows(char *y, const char *x, const long *at, long n, long bytes)
{
	switch (bytes) {
	ROWS_OF(1) ROWS_OF(2) ROWS_OF(4) ROWS_OF(8) ROWS_OF(16) ROWS_OF(32) ROWS_OF(64) ROWS_OF(128) ROWS_OF(256)
	default: for (long i = 0; i < n; i++) memcpy(y + i * bytes, x + at[i] * bytes, (size_t)bytes);
	}
}

static int gather_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Gather *g = ctx;
	long row = g->d->inner * (long)dtype_size(g->d->dtype), at[CHUNK], first = -1, m, seen = 0;
	int outside = 0;
	for (long i = lo; i < hi; i += m) {
		long o = i / g->count, begin = i % g->count;
		const char *x = g->x + o * g->d->n * row;
		char *y = g->y + i * row;
		m = min_l(min_l(CHUNK, g->count - begin), hi - i);
		if (first != begin || seen < m) outside = k_indices(g->idx_dtype, g->idx, begin, 1, m, 0, g->d->n, at), first = begin, seen = m;
		if (!outside) take_rows(y, x, at, m, row);
		for (long j = 0; outside && j < m; j++) {
			if (in_range(g, at[j])) memcpy(y + j * row, x + at[j] * row, (size_t)row);
			else if (g->zero_oor) memset(y + j * row, 0, (size_t)row);
			else return bad_index(ln, g, begin + j);
		}
	}
	return 0;
}

int k_gather(struct pxlrt_lane *lane, const struct pxlrt_axis *d, int idx_dtype, long count, int zero_oor, const void *x, const void *idx, void *y)
{
	RtLane *ln = rt_lane(lane);
	Gather g = { table_of(ln), d, idx_dtype, zero_oor, count, 0, x, idx, y };
	long n = d->outer * count;
	return span_run(ln, gather_body, &g, n, piece_of(n, 1 + (double)d->inner * 0.1));
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
		case PXLRT_F32: g->rt->f32->add(a.f32, a.f32, b.f32, k); break;
		case PXLRT_F64: g->rt->f64->add(a.f64, a.f64, b.f64, k); break;
		default: g->rt->u64->add(a.u, a.u, b.u, k);
		}
		g->rt->st[t](at_elem_mut(y, t, j), 1, &a, k);
	}
}

static int add_plain(RtLane *ln, const Gather *g, long o, long j, long n)
{
	int t = g->d->dtype;
	for (long i = 0; i < g->count; i++) {
		long at = index_at(g, i);
		if (!in_range(g, at)) {
			if (g->zero_oor) continue;
			return bad_index(ln, g, i);
		}
		char *y = at_elem_mut(g->y, t, (o * g->d->n + at) * g->d->inner + j);
		const char *v = at_elem(g->x, t, (o * g->count + i) * g->d->inner + j);
		if (t == DT_F32) g->rt->f32->add((float *)(void *)y, (float *)(void *)y, (const float *)(const void *)v, n);
		else add_row(g, y, v, n);
	}
	return 0;
}

/* all rows of these columns as f32 in scratch */
static int add_wide(RtLane *ln, const Gather *g, long o, long j, long n)
{
	int t = g->d->dtype;
	float *acc = ln->scratch;
	Block b;
	for (long r = 0; r < g->d->n; r++) g->rt->ld[t](acc + r * n, at_elem(g->y, t, (o * g->d->n + r) * g->d->inner + j), 1, n);
	for (long i = 0; i < g->count; i++) {
		long at = index_at(g, i);
		if (!in_range(g, at)) {
			if (g->zero_oor) continue;
			return bad_index(ln, g, i);
		}
		g->rt->ld[t](&b, at_elem(g->x, t, (o * g->count + i) * g->d->inner + j), 1, n);
		g->rt->f32->add(acc + at * n, acc + at * n, b.f32, n);
	}
	for (long r = 0; r < g->d->n; r++) g->rt->st[t](at_elem_mut(g->y, t, (o * g->d->n + r) * g->d->inner + j), 1, acc + r * n, n);
	return 0;
}

static int is_half(int t) { return t == DT_F16 || t == DT_BF16; }

static int scatter_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Gather *g = ctx;
	long per = (g->d->inner + g->cols - 1) / g->cols;
	for (long i = lo; i < hi; i++) {
		long o = i / per, j = i % per * g->cols, n = min_l(g->cols, g->d->inner - j);
		int wide = is_half(g->d->dtype) && g->d->n * n * 4 <= RT_SCRATCH_BYTES;
		int st = wide ? add_wide(ln, g, o, j, n) : add_plain(ln, g, o, j, n);
		if (st) return st;
	}
	return 0;
}

int k_scatter_add(struct pxlrt_lane *lane, const struct pxlrt_axis *d, int idx_dtype, long count, int zero_oor, const void *v, const void *idx, void *y)
{
	RtLane *ln = rt_lane(lane);
	if (d->inner <= 0) return 0;
	long cols = is_half(d->dtype) ? max_l(1, min_l(BLOCK_MAX, RT_SCRATCH_BYTES / 4 / max_l(1, d->n))) : 128;
	Gather g = { table_of(ln), d, idx_dtype, zero_oor, count, cols, v, idx, y };
	long n = d->outer * ((d->inner + cols - 1) / cols);
	return span_run(ln, scatter_body, &g, n, piece_of(n, (double)count * (5 + (double)min_l(cols, d->inner) * 0.2)));
}
