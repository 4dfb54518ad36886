/* reduce.c — reductions over any set of axes of a strided tensor.
 *
 * The axes are first brought to a short form: size-1 axes go, neighbours of one kind that lie in one run
 * merge.  What is left is a list of kept and a list of reduced axes, and two ways to walk:
 *   rows     the last axis is reduced (or nothing is kept): each result folds pieces of rows;
 *   columns  the last axis is kept: a block of neighbouring results is accumulated together.  Short rows that lie one behind the
 *            other are taken several at a time, as one, and what belongs together is added at the end.
 * A fold is cut into pieces of FOLD_PIECE elements (rows) or FOLD_BAND rows (columns) whose partial results are added in
 * order, in double for floats; a long fold's pieces are spread over the pool.  16-bit floats are
 * widened first.  l1, l2, sumsquare and logsumexp transform the block and are then sums.  Folds of what a loop makes do the same
 * with what it leaves in the cache: fold.c. */
#include "runtime/kernels/fold.h"
#include "runtime/kernels/half.h"

#include <limits.h>
#include <string.h>

/* --- short form ------------------------------------------------------------------------------------------------ */

static void axes_push(Axes *a, long dim, long stride, int merge)
{
	a->count *= dim;
	if (merge && a->n && a->stride[a->n - 1] == stride * dim) {
		a->dim[a->n - 1] *= dim;
		a->stride[a->n - 1] = stride;
		return;
	}
	a->dim[a->n] = dim;
	a->stride[a->n++] = stride;
}

static void fold_axes(Fold *f, const struct pxlrt_reduce *d)
{
	int last = -1;
	f->kept = f->red = (Axes){ .count = 1 };
	for (int i = 0; i < d->rank; i++) {
		int r = d->mask >> i & 1;
		if (d->dim[i] == 1) continue;
		axes_push(r ? &f->red : &f->kept, d->dim[i], d->stride[i], last == r);
		last = r;
	}
}

/* offset of index i, row-major over the axes */
static long axes_at(const Axes *a, long i)
{
	long o = 0;
	if (a->n == 1) return i * a->stride[0];
	for (int x = a->n - 1; x >= 0; x--) o += i % a->dim[x] * a->stride[x], i /= a->dim[x];
	return o;
}

/* --- partial results: an Acc for sums and products, a value of the class for extremes -------------------------------- */

static int is_extreme(int op) { return op == PXLRT_MAX || op == PXLRT_MIN; }

Acc fold_start(const Fold *f)
{
	int isf = f->cls == PXLRT_F32 || f->cls == PXLRT_F64;
	Acc a = { .u = 0 };
	if (f->op == PXLRT_PROD) { if (isf) a.f = 1; else a.u = 1; }
	if (f->op == PXLRT_MAX) { if (isf) a.f = -INFINITY; else a.u = f->cls == PXLRT_U64 ? 0 : (u64)LLONG_MIN; }
	if (f->op == PXLRT_MIN) { if (isf) a.f = INFINITY; else a.u = f->cls == PXLRT_U64 ? ULLONG_MAX : (u64)LLONG_MAX; }
	return a;
}

/* a op= b; of equal extremes (0 and -0) the later one stays, and of NaNs, so that the cut cannot be seen */
void fold_add(const Fold *f, Acc *a, const Acc *b)
{
	int isf = f->cls == PXLRT_F32 || f->cls == PXLRT_F64, is_max = f->op == PXLRT_MAX;
	if (is_extreme(f->op)) {
		int take;
		if (isf) take = b->f != b->f || (a->f == a->f && (is_max ? b->f >= a->f : b->f <= a->f));
		else if (f->cls == PXLRT_U64) take = is_max ? b->u > a->u : b->u < a->u;
		else take = is_max ? (i64)b->u > (i64)a->u : (i64)b->u < (i64)a->u;
		if (take) *a = *b;
	} else if (f->op == PXLRT_PROD) {
		if (isf) a->f *= b->f;
		else a->u *= b->u;
	} else {
		if (isf) a->f += b->f;
		else a->u += b->u;
	}
}

/* block → Acc: the class's own fold, its result widened */
static Acc block_fold(const Fold *f, const void *x, long n)
{
	Acc a = { .u = 0 };
	if (f->op == PXLRT_L1) f->isa->fold->l1[f->cls == PXLRT_F64](&a, x, n);
	else if (f->op == PXLRT_SUMSQ) f->isa->fold->sumsq[f->cls == PXLRT_F64](&a, x, n);
	else if (f->op == PXLRT_PROD) f->isa->fold->prod[f->cls](&a, x, n);
	else if (!is_extreme(f->op)) f->isa->fold->sum[f->cls](&a, x, n);
	else {
		Block b;
		(f->op == PXLRT_MAX ? f->isa->fold->max : f->isa->fold->min)[f->cls](&b, x, n);
		if (f->cls == PXLRT_F32) a.f = (double)b.f32[0];
		else if (f->cls == PXLRT_F64) a.f = b.f64[0];
		else a.u = b.u[0];
	}
	return a;
}

/* what is summed in columns: |x|, x², e^(x - m); of rows the folds make it */
static void block_map(const Fold *f, Block *b, long n, const Block *m)
{
	if (f->op != PXLRT_L1 && f->op != PXLRT_SUMSQ && f->op != FOLD_SUMEXP) return;
#define MAP(S) \
	if (f->op == PXLRT_L1) f->rt->S->abs(b->S, b->S, n); \
	else if (f->op == PXLRT_SUMSQ) f->rt->S->mul(b->S, b->S, b->S, n); \
	else f->rt->S->sub(b->S, b->S, m->S, n), f->rt->S->exp(b->S, b->S, n)
	if (f->cls == PXLRT_F64) { MAP(f64); }
	else { MAP(f32); }
}

static int is_mapped(const Fold *f) { return f->op == PXLRT_L1 || f->op == PXLRT_SUMSQ || f->op == FOLD_SUMEXP; }

/* sums of 16-bit floats, which are widened on the way */
static int is_half_sum(const Fold *f) { return f->op == PXLRT_SUM && (f->dtype == DT_F16 || f->dtype == DT_BF16); }

static Acc half_fold(const Fold *f, const void *x, long n)
{
	Acc a;
	f->isa->fold->half_sum[f->dtype == DT_BF16](&a, x, n);
	return a;
}

/* --- finishing: from the fold to the value, in the class, stored ------------------------------------------------------- */

static i64 floor_div(i64 s, i64 n) { return s / n - ((s % n != 0) & (s < 0)); }

/* n <= BLOCK_MAX at once */
static void finish_floats(const Fold *f, const Acc *a, const double *m, long n, double *v)
{
	double by = f->final == PXLRT_MEAN ? (double)f->total : 1;
	for (long j = 0; j < n; j++) v[j] = a[j].f / by;
	if (f->final == PXLRT_L2) f->rt->f64->sqrt(v, v, n);
	if (f->final == PXLRT_LOGSUM || f->final == PXLRT_LOGSUMEXP) f->rt->f64->log(v, v, n);
	for (long j = 0; f->final == PXLRT_LOGSUMEXP && j < n; j++) v[j] = abs_f64(m[j]) <= DBL_MAX ? m[j] + v[j] : m[j];
}

void fold_store(const Fold *f, const Acc *a, const double *m, long n, long at)
{
	Block b, v;
	int mean = f->final == PXLRT_MEAN;
	float *y = f->dtype == DT_F32 ? (float *)(void *)f->y + at : b.f32;      /* the most common by far */
	switch (f->cls) {
	case PXLRT_F32:
		finish_floats(f, a, m, n, v.f64);
		for (long j = 0; j < n; j++) y[j] = (float)v.f64[j];
		break;
	case PXLRT_F64: finish_floats(f, a, m, n, b.f64); break;
	case PXLRT_U64:
		for (long j = 0; j < n; j++) b.u[j] = mean ? a[j].u / (u64)f->total : a[j].u;
		break;
	default:
		for (long j = 0; j < n; j++) b.i[j] = mean ? floor_div((i64)a[j].u, f->total) : (i64)a[j].u;
	}
	if (f->dtype != DT_F32) f->rt->st[f->dtype](at_elem_mut(f->y, f->dtype, at), 1, &b, n);
}

/* --- rows ------------------------------------------------------------------------------------------------------------------ */

/* a stretch of one axis: n > 0 elements, stride apart */
Acc fold_stretch(const Fold *f, const char *x, long stride, long n, const void *m)
{
	Block b;
	Acc a = fold_start(f);
	int half = stride == 1 && is_half_sum(f), direct = half || (stride == 1 && is_native(f->dtype));
	if (direct && !half && n <= BLOCK_MAX && f->op != FOLD_SUMEXP) return block_fold(f, x, n);
	long block = direct && is_extreme(f->op) ? n : BLOCK_MAX;      /* an extreme is the same in one go */
	for (long at = 0; at < n; at += block) {
		long k = min_l(block, n - at);
		const void *src = at_elem(x, f->dtype, at * stride);
		Acc p;
		if (!direct) f->rt->ld[f->dtype](&b, src, stride, k), src = &b;
		if (half) p = half_fold(f, src, k);
		else if (f->op != FOLD_SUMEXP) p = block_fold(f, src, k);
		else if (f->cls == PXLRT_F64) p.f = f->isa->row->exp_sum_f64(b.f64, src, *(const double *)m, k);
		else p.f = f->isa->row->exp_sum_f32(b.f32, src, *(const float *)m, k);
		fold_add(f, &a, &p);
	}
	return a;
}

/* elements [lo, hi) of the reduced index space, from base */
static Acc row_range(const Fold *f, const char *base, long lo, long hi, const void *m)
{
	int last = f->red.n - 1;
	long dim = f->red.n ? f->red.dim[last] : 1, stride = f->red.n ? f->red.stride[last] : 1;
	Acc a = fold_start(f);
	if (f->red.n == 1) return fold_stretch(f, at_elem(base, f->dtype, lo * stride), stride, hi - lo, m);
	while (lo < hi) {
		long in = lo % dim, n = min_l(dim - in, hi - lo);
		Acc p = fold_stretch(f, at_elem(base, f->dtype, axes_at(&f->red, lo)), stride, n, m);
		fold_add(f, &a, &p);
		lo += n;
	}
	return a;
}

static Acc row_pieces(const Fold *f, const char *base, const void *m)
{
	Acc a = fold_start(f);
	if (f->red.count <= FOLD_PIECE) return row_range(f, base, 0, f->red.count, m);
	for (long lo = 0; lo < f->red.count; lo += FOLD_PIECE) {
		Acc p = row_range(f, base, lo, min_l(lo + FOLD_PIECE, f->red.count), m);
		fold_add(f, &a, &p);
	}
	return a;
}

/* the maximum as a value of the class, 0 where e^(x - m) would meet inf - inf */
static double max_value(Fold *f, const char *base, void *m)
{
	int op = f->op;
	f->op = PXLRT_MAX;
	Acc a = row_pieces(f, base, NULL);
	f->op = op;
	double safe = abs_f64(a.f) <= DBL_MAX ? a.f : 0;
	if (f->cls == PXLRT_F64) *(double *)m = safe;
	else *(float *)m = (float)safe;
	return a.f;
}

/* contiguous rows of a block's length; results go in blocks too */
static int is_short(const Fold *f)
{
	return f->cls == PXLRT_F32 && f->red.n == 1 && f->red.stride[0] == 1 && f->red.count <= BLOCK_MAX;
}

static double short_row(const Fold *f, const void *row, double *max)
{
	long n = f->red.count;
	float m;
	Block x;
	if (is_half_sum(f)) return half_fold(f, row, n).f;
	if (f->dtype != DT_F32) f->rt->ld[f->dtype](&x, row, 1, n), row = &x;
	if (f->op != FOLD_SUMEXP) return block_fold(f, row, n).f;
	f->isa->fold->max[PXLRT_F32](&m, row, n);
	*max = (double)m;
	return f->isa->row->exp_sum_f32(x.f32, row, abs_f32(m) <= FLT_MAX ? m : 0, n);
}

static void short_rows(const Fold *f, long lo, long hi)
{
	double max[BLOCK_MAX];
	Acc v[BLOCK_MAX];
	for (; lo < hi; lo += BLOCK_MAX) {
		long k = min_l(BLOCK_MAX, hi - lo);
		for (long i = 0; i < k; i++) v[i].f = short_row(f, at_elem(f->x, f->dtype, axes_at(&f->kept, lo + i)), &max[i]);
		fold_store(f, v, max, k, lo);
	}
}

static int rows_body(RtLane *ln, void *ctx, long lo, long hi)
{
	Fold f = *(Fold *)ctx;
	(void)ln;
	if (is_short(&f)) {
		short_rows(&f, lo, hi);
		return 0;
	}
	for (long i = lo; i < hi; i++) {
		double m[1] = { 0 }, max = 0;
		const char *base = at_elem(f.x, f.dtype, axes_at(&f.kept, i));
		if (f.op == FOLD_SUMEXP) max = max_value(&f, base, m);
		Acc a = row_pieces(&f, base, m);
		fold_store(&f, &a, &max, 1, i);
	}
	return 0;
}

/* few results and long folds: spread the pieces */
static int pieces_body(RtLane *ln, void *ctx, long lo, long hi)
{
	Fold *f = ctx;
	(void)ln;
	for (long i = lo; i < hi; i++)
		((Acc *)f->part)[i] = row_range(f, f->x, i * FOLD_PIECE, min_l((i + 1) * FOLD_PIECE, f->red.count), NULL);
	return 0;
}

static int one_result(RtLane *ln, Fold *f)
{
	long n = (f->red.count + FOLD_PIECE - 1) / FOLD_PIECE;
	f->part = ln->scratch;
	span_run(ln, pieces_body, f, n, piece_of(n, FOLD_PIECE * 0.1));
	Acc a = fold_start(f);
	for (long i = 0; i < n; i++) fold_add(f, &a, (Acc *)f->part + i);
	fold_store(f, &a, NULL, 1, 0);
	return 0;
}

static int fold_rows(RtLane *ln, Fold *f)
{
	long pieces = (f->red.count + FOLD_PIECE - 1) / FOLD_PIECE;
	if (f->kept.count == 1 && pieces > 1 && f->op != FOLD_SUMEXP && pieces * (long)sizeof(Acc) <= RT_SCRATCH_BYTES) return one_result(ln, f);
	return span_run(ln, rows_body, f, f->kept.count, piece_of(f->kept.count, 5 + (double)f->red.count * 0.3));
}

/* --- columns ------------------------------------------------------------------------------------------------------------------ */

/* acc op= x on blocks of the class */
static void column_step(const Fold *f, Block *acc, const void *x, long n)
{
#define STEP(S, M) \
	(f->op == PXLRT_MAX ? f->rt->S->max : f->op == PXLRT_MIN ? f->rt->S->min : f->op == PXLRT_PROD ? f->rt->S->mul : f->rt->S->add) \
		(acc->M, acc->M, x, n)
	switch (f->cls) {
	case PXLRT_F32: STEP(f32, f32); break;
	case PXLRT_F64: STEP(f64, f64); break;
	case PXLRT_U64: STEP(u64, u); break;
	default: STEP(i64, i);
	}
}

static Acc block_get(const Fold *f, const Block *b, long i)
{
	Acc a = { .u = 0 };
	if (f->cls == PXLRT_F32) a.f = (double)b->f32[i];
	else if (f->cls == PXLRT_F64) a.f = b->f64[i];
	else a.u = b->u[i];
	return a;
}

/* acc op= count rows, stride elements of the class apart */
static void column_rows(const Fold *f, Block *acc, const char *rows, long stride, long count, long n)
{
	long step = stride * (long)class_size(f->cls);
	if (count < BUNDLE) {
		for (long r = 0; r < count; r++) column_step(f, acc, rows + r * step, n);
		return;
	}
	(f->op == PXLRT_MAX ? f->isa->fold->max_rows : f->op == PXLRT_MIN ? f->isa->fold->min_rows : f->op == PXLRT_PROD ? f->isa->fold->mul_rows : f->isa->fold->add_rows)
		[f->cls](acc, rows, stride, n);
}

static const char *column_row(const Fold *f, const char *base, long r) { return at_elem(base, f->dtype, axes_at(&f->red, r)); }

/* rows lie far apart: the next few are asked for early */
static void fetch_rows(const Fold *f, const char *base, long lo, long hi, long n)
{
	for (long r = lo; r < hi; r++) {
		const char *row = column_row(f, base, r);
		for (long at = 0; at < n * dtype_info[f->dtype].size; at += 64) __builtin_prefetch(row + at);
	}
}

/* rows that need neither widening nor mapping are used where they are */
void fold_band(const Fold *f, const char *base, long stride, long n, long lo, long hi, const Block *m, int more, Block *acc)
{
	Block room[2];
	_Static_assert(BUNDLE * FOLD_COLS * sizeof(double) <= sizeof room, "rows fit");
	long row = FOLD_COLS * (long)class_size(f->cls);
	int alone = stride == 1 && !is_mapped(f) && f->red.n == 1, direct = alone && is_native(f->dtype), half = alone && is_half_sum(f);
	if (!more) {
		f->rt->ld[f->dtype](acc, column_row(f, base, lo++), stride, n);
		block_map(f, acc, n, m);
	}
	for (long r = lo; r < hi; r += BUNDLE) {
		long k = min_l(BUNDLE, hi - r);
		if (stride == 1 && !f->near) fetch_rows(f, base, r + k, min_l(r + k + BUNDLE, f->red.count), n);
		if (half && k == BUNDLE) {
			f->isa->fold->half_add_rows[f->dtype == DT_BF16](acc->f32, column_row(f, base, r), f->red.stride[0], n);
			continue;
		}
		for (long i = 0; i < k && !direct; i++) {
			Block *to = (Block *)(void *)((char *)room + i * row);
			f->rt->ld[f->dtype](to, column_row(f, base, r + i), stride, n);
			block_map(f, to, n, m);
		}
		column_rows(f, acc, direct ? column_row(f, base, r) : (char *)room, direct ? f->red.stride[0] : FOLD_COLS, k, n);
	}
}

void fold_add_block(const Fold *f, Acc *out, const Block *b, long n)
{
	if (f->cls == PXLRT_F32 && f->op != PXLRT_PROD && !is_extreme(f->op)) {
		for (long j = 0; j < n; j++) out[j].f += (double)b->f32[j];
		return;
	}
	for (long j = 0; j < n; j++) {
		Acc p = block_get(f, b, j);
		fold_add(f, &out[j], &p);
	}
}

/* extremes need no other type than their own, and so no bands */
static long band_of(const Fold *f) { return is_extreme(f->op) ? f->red.count : FOLD_BAND; }

static void columns_fold(const Fold *f, const char *base, long stride, long n, const Block *m, Acc *out)
{
	Block acc;
	long band = band_of(f);
	for (long j = 0; j < n; j++) out[j] = fold_start(f);
	for (long r = 0; r < f->red.count; r += band) {
		fold_band(f, base, stride, n, r, min_l(r + band, f->red.count), m, 0, &acc);
		fold_add_block(f, out, &acc, n);
	}
}

/* the rows that were taken as one */
void fold_add_beside(const Fold *f, Acc *out, long n)
{
	for (long i = n; i < n * f->beside; i++) fold_add(f, &out[i % n], &out[i]);
}

/* results [at, at + n), neighbours on the last kept axis */
static void columns_block(Fold *f, long at, long stride, long n)
{
	Acc out[FOLD_COLS], max[FOLD_COLS];
	double top[FOLD_COLS];
	Block m;
	const char *base = at_elem(f->x, f->dtype, axes_at(&f->kept, at));
	int mean = f->final == PXLRT_MEAN && f->cls == PXLRT_F32;
	if (f->beside == 1 && f->red.count <= band_of(f) && (f->final == f->op || mean) && f->op != FOLD_SUMEXP) {      /* the one band is the result */
		fold_band(f, base, stride, n, 0, f->red.count, NULL, 0, &m);
		for (long j = 0; mean && j < n; j++) m.f32[j] /= (float)f->total;
		f->rt->st[f->dtype](at_elem_mut(f->y, f->dtype, at), 1, &m, n);
		return;
	}
	memset(max, 0, sizeof max);
	if (f->op == FOLD_SUMEXP) {
		f->op = PXLRT_MAX;
		columns_fold(f, base, stride, n, NULL, max);
		f->op = FOLD_SUMEXP;
		for (long j = 0; j < n; j++) {
			double safe = abs_f64(max[j].f) <= DBL_MAX ? max[j].f : 0;
			if (f->cls == PXLRT_F64) m.f64[j] = safe;
			else m.f32[j] = (float)safe;
		}
	}
	columns_fold(f, base, stride, n * f->beside, f->op == FOLD_SUMEXP ? &m : NULL, out);
	fold_add_beside(f, out, n);
	for (long j = 0; j < n; j++) top[j] = max[j].f;
	fold_store(f, out, top, n, at);
}

static int columns_body(RtLane *ln, void *ctx, long lo, long hi)
{
	Fold f = *(Fold *)ctx;
	int last = f.kept.n - 1;
	long dim = f.kept.dim[last], per = (dim + FOLD_COLS - 1) / FOLD_COLS;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long j = i % per * FOLD_COLS;
		columns_block(&f, i / per * dim + j, f.kept.stride[last], min_l(FOLD_COLS, dim - j));
	}
	return 0;
}

/* as many short rows of a long fold as fit and divide the innermost reduced axis */
static void take_together(Fold *f)
{
	long n = f->kept.dim[f->kept.n - 1], k = FOLD_COLS / n, *dim, *stride;
	if (f->red.count <= FOLD_BAND || f->op == FOLD_SUMEXP || f->kept.stride[f->kept.n - 1] != 1) return;
	dim = &f->red.dim[f->red.n - 1];
	stride = &f->red.stride[f->red.n - 1];
	if (*stride != n) return;
	while (k > 1 && *dim % k) k--;
	if (k <= 1) return;
	f->beside = k;
	*dim /= k;
	*stride *= k;
	f->red.count /= k;
}

static int fold_columns(RtLane *ln, Fold *f)
{
	long dim = f->kept.dim[f->kept.n - 1], n = f->kept.count / dim * ((dim + FOLD_COLS - 1) / FOLD_COLS);
	take_together(f);
	return span_run(ln, columns_body, f, n, piece_of(n, (double)(min_l(dim, FOLD_COLS) * f->total) * 0.3));
}

Fold fold_of(RtLane *ln, int op, int dtype, const void *x, void *y)
{
	Fold f = { .rt = table_of(ln), .isa = isa_of(ln), .op = op, .dtype = dtype, .cls = class_of(dtype), .x = x, .y = y, .final = op, .beside = 1 };
	if (op == PXLRT_MEAN || op == PXLRT_LOGSUM) f.op = PXLRT_SUM;
	if (op == PXLRT_L2) f.op = PXLRT_SUMSQ;
	if (op == PXLRT_LOGSUMEXP) f.op = FOLD_SUMEXP;
	return f;
}

/* --- entry ------------------------------------------------------------------------------------------------------------------------ */

int k_reduce(struct pxlrt_lane *lane, const struct pxlrt_reduce *d, const void *x, void *y)
{
	RtLane *ln = rt_lane(lane);
	Fold f = fold_of(ln, d->op, d->dtype, x, y);
	fold_axes(&f, d);
	f.total = f.red.count;
	if (f.kept.count == 0) return 0;
	if (f.red.count == 0 && d->op == PXLRT_MEAN && class_of(d->dtype) >= PXLRT_I64) return lane_fault(ln, "mean of no integers");
	int last = d->rank - 1;
	while (last >= 0 && d->dim[last] == 1) last--;
	int columns = last >= 0 && !(d->mask >> last & 1) && f.red.count > 0;
	return columns ? fold_columns(ln, &f) : fold_rows(ln, &f);
}
