/* loss.c — negative log likelihood, its gradient, and both at once behind a softmax.
 *
 * Rows are independent; their losses are added in groups of neighbouring rows, one double per group in the
 * caller's scratch, then in order.  A label outside [0, classes) that is not the ignored one is a fault. */
#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

#include <string.h>

typedef struct Loss {
	const struct pxlrt *rt;
	const Isa *isa;
	const struct pxlrt_nll *d;
	const char *x;                       /* probabilities, or logits */
	const void *labels, *g;              /* g: one incoming gradient, or one per row without reduction */
	char *loss, *dx;                     /* either may be NULL */
	int kind;
	double divisor;
	long group;                          /* rows whose losses share a partial sum */
	double *sums;
} Loss;
enum { LOSS_NLL, LOSS_NLL_GRAD, LOSS_PROBS, LOSS_LOGITS };

static double value(const Loss *l, const void *p, long i)
{
	Block b;
	l->rt->ld[l->d->dtype](&b, at_elem(p, l->d->dtype, i), 1, 1);
	return l->d->dtype == DT_F64 ? b.f64[0] : (double)b.f32[0];
}

static void put(const Loss *l, void *p, long i, double v)
{
	Block b;
	if (l->d->dtype == DT_F64) b.f64[0] = v;
	else b.f32[0] = (float)v;
	l->rt->st[l->d->dtype](at_elem_mut(p, l->d->dtype, i), 1, &b, 1);
}

static double floor_at(double p, double eps) { return p < eps ? eps : p; }       /* a NaN stays */

static double row_grad(const Loss *l, long row)
{
	return value(l, l->g, l->d->reduction == PXLRT_NO_REDUCTION ? row : 0) / l->divisor;
}

/* label of a row: 1 counted, 0 ignored, -1 a fault */
static int row_label(RtLane *ln, const Loss *l, long row, long *label)
{
	int64_t v = rt_get_int((DType)l->d->label_dtype, l->labels, (size_t)row);
	*label = (long)v;
	if (l->d->has_ignore && v == l->d->ignore) return 0;
	if (v >= 0 && v < l->d->classes) return 1;
	if (l->d->label_dtype == DT_U64) lane_fault(ln, "label %llu of row %ld is not one of the %ld classes", (u64)v, row, l->d->classes);
	else lane_fault(ln, "label %lld of row %ld is not one of the %ld classes", (i64)v, row, l->d->classes);
	return -1;
}

/* --- a row through the softmax: dx = (p - onehot) G; returns p at the label ------------------------------------------- */

/* the largest of a row, and Σ e^(x - max) */
static double row_sum(const Loss *l, const char *x, double *max)
{
	const struct pxlrt_nll *d = l->d;
	int cls = class_of(d->dtype);
	double m = -(double)INFINITY, sum = 0;
	Block b, v;
	for (int pass = 0; pass < 2; pass++)
		for (long i = 0; i < d->classes; i += BLOCK_MAX) {
			long k = min_l(BLOCK_MAX, d->classes - i);
			l->rt->ld[d->dtype](&b, at_elem(x, d->dtype, i), 1, k);
			if (pass == 0) {
				l->isa->fold->max[cls](&v, &b, k);
				double w = cls == PXLRT_F64 ? v.f64[0] : (double)v.f32[0];
				m = w > m || w != w ? w : m;
			} else if (cls == PXLRT_F64) sum += l->isa->row->exp_sum_f64(b.f64, b.f64, m, k);
			else sum += l->isa->row->exp_sum_f32(b.f32, b.f32, (float)m, k);
		}
	*max = m;
	return sum;
}

/* dx = e^(x - m) scale, or x scale for probabilities */
static void row_scaled(const Loss *l, const char *x, long at, double m, double scale)
{
	const struct pxlrt_nll *d = l->d;
	int wide = d->dtype == DT_F64;
	Block b;
	for (long i = 0; i < d->classes; i += BLOCK_MAX) {
		long k = min_l(BLOCK_MAX, d->classes - i);
		l->rt->ld[d->dtype](&b, at_elem(x, d->dtype, i), 1, k);
		if (l->kind == LOSS_LOGITS && wide) l->isa->row->exp_sum_f64(b.f64, b.f64, m, k);
		else if (l->kind == LOSS_LOGITS) l->isa->row->exp_sum_f32(b.f32, b.f32, (float)m, k);
		if (wide) l->isa->row->scale_f64(b.f64, b.f64, scale, k);
		else l->isa->row->scale_f32(b.f32, b.f32, (float)scale, k);
		l->rt->st[d->dtype](at_elem_mut(l->dx, d->dtype, at + i), 1, &b, k);
	}
}

/* f32 logits: the exponentials are made in dx and scaled there */
static double softmax_row_f32(const Loss *l, long row, long label)
{
	long at = row * l->d->classes, n = l->d->classes;
	const float *x = (const float *)(const void *)l->x + at;
	float *dx = (float *)(void *)l->dx + at, m = -INFINITY, b;
	for (long i = 0; i < n; i += BLOCK_MAX) {
		l->isa->fold->max[PXLRT_F32](&b, x + i, min_l(BLOCK_MAX, n - i));
		m = b > m || b != b ? b : m;
	}
	double z = (double)(x[label] - m), g = row_grad(l, row), inv = 1 / l->isa->row->exp_sum_f32(dx, x, m, n), p = exp_f64(z) * inv;
	l->isa->row->scale_f32(dx, dx, (float)(inv * g), n);
	dx[label] = (float)((p - 1) * g);
	return p;
}

static double softmax_row(const Loss *l, long row, long label, int counted)
{
	if (counted && l->kind == LOSS_LOGITS && l->d->dtype == DT_F32 && l->dx) return softmax_row_f32(l, row, label);
	const struct pxlrt_nll *d = l->d;
	long at = row * d->classes;
	const char *x = at_elem(l->x, d->dtype, at);
	double m = 0, inv = 1, p = 0, g = counted && l->dx ? row_grad(l, row) : 0;
	if (counted) {
		if (l->kind == LOSS_LOGITS) inv = 1 / row_sum(l, x, &m);
		p = value(l, x, label);
		if (l->kind == LOSS_LOGITS) p = exp_f64(p - m) * inv;
	}
	if (!l->dx) return p;
	if (!counted) {
		memset(at_elem_mut(l->dx, d->dtype, at), 0, (size_t)d->classes * dtype_size(d->dtype));
		return p;
	}
	row_scaled(l, x, at, m, inv * g);
	put(l, l->dx, at + label, (p - 1) * g);
	return p;
}

/* --- one row of any kind: returns its loss -------------------------------------------------------------------------------- */

static double grad_row(const Loss *l, long row, long label, int counted)
{
	const struct pxlrt_nll *d = l->d;
	long at = row * d->classes;
	double p = counted ? value(l, l->x, at + label) : 0;
	memset(at_elem_mut(l->dx, d->dtype, at), 0, (size_t)d->classes * dtype_size(d->dtype));
	if (counted) put(l, l->dx, at + label, d->log_prob ? -row_grad(l, row) : -row_grad(l, row) / floor_at(p, d->eps_grad));
	return 0;
}

static double any_row(const Loss *l, long row, long label, int counted)
{
	const struct pxlrt_nll *d = l->d;
	double p = 0;
	if (l->kind == LOSS_NLL_GRAD) return grad_row(l, row, label, counted);
	if (l->kind != LOSS_NLL) p = softmax_row(l, row, label, counted);
	if (!counted) return 0;
	if (l->kind == LOSS_PROBS) return -log_f64(p + d->eps);
	if (l->kind == LOSS_LOGITS) return -log_f64(floor_at(p, d->eps));
	p = value(l, l->x, row * d->classes + label);
	return d->log_prob ? -p : -log_f64(floor_at(p, d->eps));
}

static int group_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Loss *l = ctx;
	for (long i = lo; i < hi; i++) {
		double sum = 0;
		for (long r = i * l->group; r < min_l((i + 1) * l->group, l->d->rows); r++) {
			long label;
			int counted = row_label(ln, l, r, &label);
			if (counted < 0) return RT_ERUN;
			double v = any_row(l, r, label, counted);
			if (l->loss && l->d->reduction == PXLRT_NO_REDUCTION) put(l, l->loss, r, v);
			sum += v;
		}
		l->sums[i] = sum;
	}
	return 0;
}

/* mean over the rows that are not ignored, at least 1 */
static double divisor(const struct pxlrt_nll *d, const void *labels)
{
	long n = d->rows;
	if (d->reduction != PXLRT_MEAN_LOSS) return 1;
	if (!d->has_ignore) return (double)n;
	for (long i = 0; i < d->rows; i++) n -= rt_get_int((DType)d->label_dtype, labels, (size_t)i) == d->ignore;
	return (double)max_l(n, 1);
}

static int loss_run(RtLane *ln, const struct pxlrt_nll *d, int kind, const void *x, const void *labels, const void *g, void *loss, void *dx)
{
	Loss l = { table_of(ln), isa_of(ln), d, x, labels, g, loss, dx, kind, divisor(d, labels), 0, ln->scratch };
	l.group = max_l(8, (d->rows + RT_SCRATCH_BYTES / 8 - 1) / (RT_SCRATCH_BYTES / 8));
	long n = (d->rows + l.group - 1) / l.group;
	double ns = kind == LOSS_NLL ? 20 : kind == LOSS_NLL_GRAD ? 20 + (double)d->classes * 0.1 : 40 + (double)d->classes * 0.6;
	int st = span_run(ln, group_body, &l, n, piece_of(n, ns * (double)l.group));
	if (st || !loss || d->reduction == PXLRT_NO_REDUCTION) return st;
	double sum = 0;
	for (long i = 0; i < n; i++) sum += l.sums[i];
	put(&l, loss, 0, sum / l.divisor);
	return 0;
}

int k_nll(struct pxlrt_lane *ln, const struct pxlrt_nll *d, const void *probs, const void *labels, void *loss)
{
	return loss_run(rt_lane(ln), d, LOSS_NLL, probs, labels, NULL, loss, NULL);
}

int k_nll_grad(struct pxlrt_lane *ln, const struct pxlrt_nll *d, const void *probs, const void *labels, const void *g, void *dprobs)
{
	return loss_run(rt_lane(ln), d, LOSS_NLL_GRAD, probs, labels, g, NULL, dprobs);
}

int k_softmax_nll(struct pxlrt_lane *ln, const struct pxlrt_nll *d, int from_logits, const void *x, const void *labels, const void *scale, void *loss, void *dx)
{
	return loss_run(rt_lane(ln), d, from_logits ? LOSS_LOGITS : LOSS_PROBS, x, labels, scale, loss, dx);
}
