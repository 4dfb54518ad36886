/* softmax.c — softmax along one axis, its gradient, and its logarithm, which is x - m - ln Σ e^(x - m) of the maximum m.
 *
 * A line is x[o, :, i].  Lines that are contiguous (inner = 1) are taken one by one, f32 and f64 in place of
 * storage, 16-bit floats through blocks (if there is more than one,
 * exponentials are taken twice rather than kept).  Otherwise
 * neighbouring lines go together, row by row.  Sums are in double. */
#include "runtime/kernels/kernels.h"

typedef struct Soft {
	const struct pxlrt *rt;
	const Isa *isa;
	const struct pxlrt_axis *d;
	int log;                             /* the logarithm is wanted */
	const char *x, *g;                   /* softmax: input; gradient: output of softmax, and incoming gradient */
	char *y;
} Soft;

static double log_of(const Soft *s, double sum)
{
	s->rt->f64->log(&sum, &sum, 1);
	return sum;
}

/* --- contiguous lines ---------------------------------------------------------------------------------------------- */

#define SOFT_LINE(S, T, CLS) \
static void log_line_##S(const Soft *s, T *y, const T *x, T m, long n) \
{ \
	double sum = 0; \
	Block e; \
	for (long i = 0; i < n; i += BLOCK_MAX) sum += s->isa->row->exp_sum_##S(e.S, x + i, m, min_l(BLOCK_MAX, n - i)); \
	s->isa->row->shift_##S(y, x, m, (T)log_of(s, sum), n); \
} \
static void soft_line_##S(const Soft *s, long at, long n) \
{ \
	const T *x = (const T *)(const void *)s->x + at; \
	T *y = (T *)(void *)s->y + at, m = -(T)__builtin_inff(), b; \
	for (long i = 0; i < n; i += BLOCK_MAX) { \
		s->isa->fold->max[CLS](&b, x + i, min_l(BLOCK_MAX, n - i)); \
		m = b > m || b != b ? b : m; \
	} \
	if (s->log) log_line_##S(s, y, x, m, n); \
	else s->isa->row->scale_##S(y, y, (T)(1 / s->isa->row->exp_sum_##S(y, x, m, n)), n); \
} \
static void back_line_##S(const Soft *s, long at, long n) \
{ \
	const T *y = (const T *)(const void *)s->x + at, *g = (const T *)(const void *)s->g + at; \
	T *dx = (T *)(void *)s->y + at; \
	double dot = 0; \
	Block b; \
	Acc a; \
	for (long i = 0; i < n; i += BLOCK_MAX) { \
		long k = min_l(BLOCK_MAX, n - i); \
		s->rt->S->mul(b.S, y + i, g + i, k); \
		s->isa->fold->sum[CLS](&a, &b, k); \
		dot += a.f; \
	} \
	s->isa->row->back_##S(dx, y, g, (T)dot, n); \
}
SOFT_LINE(f32, float, PXLRT_F32)
SOFT_LINE(f64, double, PXLRT_F64)

static const void *elem(const Soft *s, const char *p, long at) { return at_elem(p, s->d->dtype, at); }

/* a line of one block: its exponentials are kept */
static void soft_block_half(const Soft *s, long at, long n)
{
	int t = s->d->dtype;
	float m;
	Block b, e;
	s->rt->ld[t](&b, elem(s, s->x, at), 1, n);
	s->isa->fold->max[PXLRT_F32](&m, &b, n);
	double sum = s->isa->row->exp_sum_f32(e.f32, b.f32, m, n);
	if (s->log) s->isa->row->shift_f32(b.f32, b.f32, m, (float)log_of(s, sum), n);
	else s->isa->row->scale_f32(b.f32, e.f32, (float)(1 / sum), n);
	s->rt->st[t](at_elem_mut(s->y, t, at), 1, &b, n);
}

static void soft_line_half(const Soft *s, long at, long n)
{
	int t = s->d->dtype;
	float m = -__builtin_inff(), v;
	double sum = 0;
	Block b;
	for (long i = 0; i < n; i += BLOCK_MAX) {
		long k = min_l(BLOCK_MAX, n - i);
		s->rt->ld[t](&b, elem(s, s->x, at + i), 1, k);
		s->isa->fold->max[PXLRT_F32](&v, &b, k);
		m = v > m || v != v ? v : m;
	}
	for (int pass = 0; pass < 2; pass++)
		for (long i = 0; i < n; i += BLOCK_MAX) {
			long k = min_l(BLOCK_MAX, n - i);
			s->rt->ld[t](&b, elem(s, s->x, at + i), 1, k);
			double part = pass == 0 || !s->log ? s->isa->row->exp_sum_f32(b.f32, b.f32, m, k) : 0;
			if (pass == 0) sum += part;
			else if (s->log) s->isa->row->shift_f32(b.f32, b.f32, m, (float)log_of(s, sum), k);
			else s->isa->row->scale_f32(b.f32, b.f32, (float)(1 / sum), k);
			if (pass) s->rt->st[t](at_elem_mut(s->y, t, at + i), 1, &b, k);
		}
}

static void back_line_half(const Soft *s, long at, long n)
{
	int t = s->d->dtype;
	double dot = 0;
	Block y, g, p;
	Acc a;
	for (int pass = 0; pass < 2; pass++)
		for (long i = 0; i < n; i += BLOCK_MAX) {
			long k = min_l(BLOCK_MAX, n - i);
			s->rt->ld[t](&y, elem(s, s->x, at + i), 1, k);
			s->rt->ld[t](&g, elem(s, s->g, at + i), 1, k);
			if (pass == 0) {
				s->rt->f32->mul(p.f32, y.f32, g.f32, k);
				s->isa->fold->sum[PXLRT_F32](&a, &p, k);
				dot += a.f;
			} else {
				s->isa->row->back_f32(y.f32, y.f32, g.f32, (float)dot, k);
				s->rt->st[t](at_elem_mut(s->y, t, at + i), 1, &y, k);
			}
		}
}

/* --- strided lines, n of them from `base`, row by row --------------------------------------------------------------------- */

/* row r: where it lies, or in the class's block */
static const void *row_of(const Soft *s, Block *room, const char *p, long base, long r, long n)
{
	int t = s->d->dtype;
	const void *row = elem(s, p, base + r * s->d->inner);
	if (is_native(t)) return row;
	s->rt->ld[t](room, row, 1, n);
	return room;
}

/* row r of the result is made where it is to be, or in a block that row_done stores */
static void *row_to(const Soft *s, Block *room, long base, long r)
{
	return is_native(s->d->dtype) ? (void *)at_elem_mut(s->y, s->d->dtype, base + r * s->d->inner) : room;
}

static void row_done(const Soft *s, const Block *room, long base, long r, long n)
{
	int t = s->d->dtype;
	if (!is_native(t)) s->rt->st[t](at_elem_mut(s->y, t, base + r * s->d->inner), 1, room, n);
}

static void add_wide(const Soft *s, double *sum, int cls, const void *x, long n)
{
	double wide[BLOCK_MAX];
	s->rt->cvt[cls][DT_F64](wide, x, n);
	s->rt->f64->add(sum, sum, wide, n);
}

/* the exponentials of a softmax stay in y where that holds them unrounded */
#define SOFT_COLUMNS(S, T, CLS) \
static void soft_columns_##S(const Soft *s, long base, long n) \
{ \
	Block room, m, by; \
	double sum[BLOCK_MAX] = { 0 }; \
	int keep = is_native(s->d->dtype) && !s->log; \
	s->rt->ld[s->d->dtype](&m, elem(s, s->x, base), 1, n); \
	for (long r = 1; r < s->d->n; r++) s->rt->S->max(m.S, m.S, row_of(s, &room, s->x, base, r, n), n); \
	for (long r = 0; r < s->d->n; r++) { \
		T *y = keep ? row_to(s, &room, base, r) : room.S; \
		s->rt->S->sub(y, row_of(s, &room, s->x, base, r, n), m.S, n); \
		s->rt->S->exp(y, y, n); \
		add_wide(s, sum, CLS, y, n); \
	} \
	if (s->log) s->rt->f64->log(sum, sum, n); \
	for (long j = 0; j < n; j++) by.S[j] = (T)(s->log ? sum[j] : 1 / sum[j]); \
	for (long r = 0; r < s->d->n; r++) { \
		T *y = row_to(s, &room, base, r); \
		if (!keep) s->rt->S->sub(y, row_of(s, &room, s->x, base, r, n), m.S, n); \
		if (s->log) s->rt->S->sub(y, y, by.S, n); \
		else { \
			if (!keep) s->rt->S->exp(y, y, n); \
			s->rt->S->mul(y, y, by.S, n); \
		} \
		row_done(s, &room, base, r, n); \
	} \
} \
static void back_columns_##S(const Soft *s, long base, long n) \
{ \
	Block room, other, dot; \
	double sum[BLOCK_MAX] = { 0 }; \
	for (long r = 0; r < s->d->n; r++) { \
		s->rt->S->mul(dot.S, row_of(s, &room, s->x, base, r, n), row_of(s, &other, s->g, base, r, n), n); \
		add_wide(s, sum, CLS, dot.S, n); \
	} \
	for (long j = 0; j < n; j++) dot.S[j] = (T)sum[j]; \
	for (long r = 0; r < s->d->n; r++) { \
		const T *y = row_of(s, &room, s->x, base, r, n); \
		T *dx = row_to(s, &other, base, r); \
		s->rt->S->sub(other.S, row_of(s, &other, s->g, base, r, n), dot.S, n); \
		s->rt->S->mul(dx, y, other.S, n); \
		row_done(s, &other, base, r, n); \
	} \
}
SOFT_COLUMNS(f32, float, PXLRT_F32)
SOFT_COLUMNS(f64, double, PXLRT_F64)

/* --- entries ------------------------------------------------------------------------------------------------------------------ */

/* columns that go together: memory likes long runs, threads like pieces */
static long strip(const struct pxlrt_axis *d) { return d->outer * d->inner < 4 * BLOCK_MAX ? BLOCK_MAX / 2 : BLOCK_MAX; }

static int soft_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Soft *s = ctx;
	long inner = s->d->inner, n = s->d->n, wide = strip(s->d), per = (inner + wide - 1) / wide;
	int t = s->d->dtype, back = s->g != NULL;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long j = i % per * wide, base = i / per * n * inner + j, cols = min_l(wide, inner - j);
		if (inner > 1 && t == DT_F64) (back ? back_columns_f64 : soft_columns_f64)(s, base, cols);
		else if (inner > 1) (back ? back_columns_f32 : soft_columns_f32)(s, base, cols);
		else if (t == DT_F32) (back ? back_line_f32 : soft_line_f32)(s, base, n);
		else if (t == DT_F64) (back ? back_line_f64 : soft_line_f64)(s, base, n);
		else (back ? back_line_half : n <= BLOCK_MAX ? soft_block_half : soft_line_half)(s, base, n);
	}
	return 0;
}

static int soft_run(RtLane *ln, const struct pxlrt_axis *d, int log, const void *x, const void *g, void *y)
{
	if (d->n <= 0 || d->inner <= 0) return 0;
	Soft s = { table_of(ln), isa_of(ln), d, log, x, g, y };
	long wide = strip(d), n = d->outer * ((d->inner + wide - 1) / wide);
	return span_run(ln, soft_body, &s, n, piece_of(n, (double)(min_l(wide, d->inner) * d->n) * 0.5));
}

int k_softmax(struct pxlrt_lane *ln, const struct pxlrt_axis *d, int log, const void *x, void *y)
{
	return soft_run(rt_lane(ln), d, log, x, NULL, y);
}

int k_softmax_grad(struct pxlrt_lane *ln, const struct pxlrt_axis *d, const void *y, const void *dy, void *dx)
{
	return soft_run(rt_lane(ln), d, 0, y, dy, dx);
}
