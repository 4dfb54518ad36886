/* pool.h — the inner loops of pooling, for one element type (PT, PS): included by pool_f32.c and pool_f64.c.
 *
 * One call does rows of one plane, which is the last two axes.  Columns whose windows lie wholly in the row are done
 * in vectors, the few others element by element.  Rows are often shorter than a few vectors: pairs, the most common
 * windows, have loops by hand where there are masks for what is left over.
 * A sum is taken down the rows first, then along. */
#define PCAT2(a, b) a##_##b
#define PCAT(a, b) PCAT2(a, b)
#define P(name) PCAT(name, PS)

VM PT P(joined)(PT p, PT q, const int max) { return max ? p != p ? p : p > q ? p : q : p + q; }

/* the first and behind the last window along an axis that lies wholly in it */
VM void P(inside)(const PoolAxis *a, long *lo, long *hi)
{
	long room = a->x + a->pad - a->k;
	*hi = room < 0 ? 0 : min_l(room / a->stride + 1, a->y);
	*lo = min_l((a->pad + a->stride - 1) / a->stride, *hi);
}

/* rows [r0, r1), tap by tap: windows over an edge, and rows too long for scratch */
VM void P(pool_one)(PT *y, const PT *x, const PoolPlane *p, long r0, long r1, long j, const int max, int more)
{
	const PoolAxis *a = &p->axis[1];
	long from = j * a->stride - a->pad, to = min_l(from + a->k, a->x);
	PT v = y[j];
	for (from = max_l(from, 0); from < to; from++) {
		PT down = x[r0 * a->x + from];
		for (long r = r0 + 1; r < r1; r++) down = P(joined)(down, x[r * a->x + from], max);
		v = more ? P(joined)(v, down, max) : down;
		more = 1;
	}
	y[j] = v;
}

#if VEC_BYTES == 64
enum { P(LANES) = 64 / sizeof(PT) };
typedef __typeof__(PM(setzero)()) P(lanes);

VM unsigned P(first)(long n) { return n >= P(LANES) ? (1u << P(LANES)) - 1 : n > 0 ? (1u << n) - 1 : 0; }

VM __m512i P(ramp)(int step, int from, int half)
{
	_Alignas(64) PINT at[P(LANES)];
	for (int i = 0; i < P(LANES); i++) at[i] = (i * step + from) >> half;
	return _mm512_load_si512(at);
}

VM P(lanes) P(joined_lanes)(P(lanes) p, P(lanes) q, const int max)
{
	return max ? PM(mask_mov)(q, PCMP(p, q, _CMP_GT_OQ) | PCMP(p, p, _CMP_UNORD_Q), p) : PM(add)(p, q);
}

/* n pairs from x on, down the rows at once */
VM void P(pairs)(PT *y, const PT *x, long w, long rows, long n, const int max)
{
	__m512i even = P(ramp)(2, 0, 0), odd = P(ramp)(2, 1, 0);
	for (long j = 0; j < n; j += P(LANES)) {
		unsigned m0 = P(first)(2 * (n - j)), m1 = P(first)(2 * (n - j) - P(LANES));
		const PT *row = x + 2 * j;
		P(lanes) p = PM(maskz_loadu)(m0, row), q = PM(maskz_loadu)(m1, row + P(LANES));
		for (long r = 1; r < rows; r++) {
			row += w;
			p = P(joined_lanes)(p, PM(maskz_loadu)(m0, row), max);
			q = P(joined_lanes)(q, PM(maskz_loadu)(m1, row + P(LANES)), max);
		}
		PM(mask_storeu)(y + j, P(first)(n - j), P(joined_lanes)(PM(permutex2var)(p, even, q), PM(permutex2var)(p, odd, q), max));
	}
}

VM void P(back_pairs)(PT *dx, const PT *x, const PT *y, const PT *g, long n, const int max, PT share)
{
	__m512i twice[2] = { P(ramp)(1, 0, 1), P(ramp)(1, P(LANES), 1) };
	for (long j = 0; j < n; j += P(LANES)) {
		P(lanes) v = PM(maskz_loadu)(P(first)(n - j), y + j), q = PM(maskz_loadu)(P(first)(n - j), g + j);
		for (int h = 0; h < 2; h++) {
			long at = 2 * j + h * P(LANES);
			unsigned m = P(first)(2 * n - at);
			P(lanes) part = PM(permutexvar)(twice[h], q);
			if (max) part = PM(maskz_mov)(PCMP(PM(maskz_loadu)(m, x + at), PM(permutexvar)(twice[h], v), _CMP_EQ_OQ), part);
			else part = PM(mul)(part, PM(set1)(share));
			PM(mask_storeu)(dx + at, m, PM(add)(PM(maskz_loadu)(m, dx + at), part));
		}
	}
}
#endif

/* whole windows of the combined row x, which starts at the first one's first tap */
VM void P(slide)(PT *restrict y, const PT *restrict x, long k, const long stride, long n, const int max, int more)
{
	if (k == 2 && !more) {
		EACH(n) y[i] = P(joined)(x[i * stride], x[i * stride + 1], max);
		return;
	}
	if (!more) EACH(n) y[i] = x[i * stride];
	for (long t = !more; t < k; t++) EACH(n) y[i] = P(joined)(y[i], x[i * stride + t], max);
}

VM void P(pool_row)(PT *y, const PT *x, const PoolAxis *a, long n, const int max, int more)
{
	if (a->stride == 1) P(slide)(y, x, a->k, 1, n, max, more);
	else if (a->stride == 2) P(slide)(y, x, a->k, 2, n, max, more);
	else P(slide)(y, x, a->k, a->stride, n, max, more);
}

/* rows of x [r0, r1) as one row in acc, or where it stands */
VM const PT *P(combine)(PT *restrict acc, const PT *restrict x, long w, long r0, long r1, const int max)
{
	const PT *row = x + r0 * w;
	if (r1 - r0 == 1) return row;
	EACH(w) acc[i] = P(joined)(row[i], row[i + w], max);
	for (long r = r0 + 2; r < r1; r++) {
		row = x + r * w;
		EACH(w) acc[i] = P(joined)(acc[i], row[i], max);
	}
	return acc;
}

VM void P(pool)(PT *y, const PT *x, const PoolPlane *p, long i0, long i1, PT *acc, const int max, int more)
{
	const PoolAxis *v = &p->axis[0], *h = &p->axis[1];
	long lo, hi;
	P(inside)(h, &lo, &hi);
	for (long i = i0; i < i1; i++) {
		long from = i * v->stride - v->pad, r0 = max_l(from, 0), r1 = min_l(from + v->k, v->x);
		PT *to = y + i * h->y;
		int whole = acc || r1 - r0 == 1;
		long l = whole ? lo : h->y, u = whole ? hi : h->y;
		for (long j = 0; j < l; j++) P(pool_one)(to, x, p, r0, r1, j, max, more);
#if VEC_BYTES == 64
		if (h->k == 2 && h->stride == 2 && !more) {
			P(pairs)(to + l, x + r0 * h->x + l * 2 - h->pad, h->x, r1 - r0, u - l, max);
			l = u;
		}
#endif
		if (l < u) P(pool_row)(to + l, P(combine)(acc, x, h->x, r0, r1, max) + l * h->stride - h->pad, h, u - l, max, more);
		for (long j = u; j < h->y; j++) P(pool_one)(to, x, p, r0, r1, j, max, more);
	}
}

static void P(pool_max)(PT *y, const PT *x, const PoolPlane *p, long i0, long i1, PT *acc, int more) { P(pool)(y, x, p, i0, i1, acc, 1, more); }
static void P(pool_sum)(PT *y, const PT *x, const PoolPlane *p, long i0, long i1, PT *acc, int more) { P(pool)(y, x, p, i0, i1, acc, 0, more); }

/* --- gradients: a window's goes to those taps that are equal to its maximum, or a share to each ------------------------ */

#define PART(at, j) (max ? (x[at] == y[j] ? g[j] : 0) : g[j] * share)

VM void P(back_one)(PT *dx, const PT *x, const PT *y, const PT *g, const PoolAxis *a, long j, const int max, PT share)
{
	long from = max_l(j * a->stride - a->pad, 0), to = min_l(j * a->stride - a->pad + a->k, a->x);
	share /= (PT)(to - from);
	for (long at = from; at < to; at++) dx[at] += PART(at, j);
}

/* n whole windows, dx and x at the first one's first tap; each place takes from windows in their order */
VM void P(back_slide)(PT *restrict dx, const PT *restrict x, const PT *restrict y, const PT *restrict g, long k, const long stride, long n,
                      const int max, PT share)
{
	if (stride == 2 && k == 2)
		EACH(n) {
			dx[2 * i] += PART(2 * i, i);
			dx[2 * i + 1] += PART(2 * i + 1, i);
		}
	else for (long t = k - 1; t >= 0; t--) EACH(n) dx[i * stride + t] += PART(i * stride + t, i);
}

VM void P(back_row)(PT *dx, const PT *x, const PT *y, const PT *g, const PoolAxis *a, long lo, long hi, const int max, PT share)
{
	long at = lo * a->stride - a->pad, n = hi - lo;
	PT each = share / (PT)a->k;
	for (long j = 0; j < lo; j++) P(back_one)(dx, x, y, g, a, j, max, share);
#if VEC_BYTES == 64
	if (a->stride == 2 && a->k == 2) P(back_pairs)(dx + at, x + at, y + lo, g + lo, n, max, each);
	else
#endif
	if (a->stride == 1) P(back_slide)(dx + at, x + at, y + lo, g + lo, a->k, 1, n, max, each);
	else if (a->stride == 2) P(back_slide)(dx + at, x + at, y + lo, g + lo, a->k, 2, n, max, each);
	else P(back_slide)(dx + at, x + at, y + lo, g + lo, a->k, a->stride, n, max, each);
	for (long j = hi; j < a->y; j++) P(back_one)(dx, x, y, g, a, j, max, share);
}
#undef PART

/* rows [r0, r1) of dx; a mean's windows have `count` planes */
VM void P(pool_back)(PT *dx, const PT *x, const PT *y, const PT *g, const PoolPlane *p, long r0, long r1, const int max, long count)
{
	const PoolAxis *v = &p->axis[0], *h = &p->axis[1];
	long lo, hi;
	P(inside)(h, &lo, &hi);
	for (long r = r0; r < r1; r++) {
		long below = r + v->pad - v->k, last = min_l((r + v->pad) / v->stride, v->y - 1);
		for (long i = below < 0 ? 0 : below / v->stride + 1; i <= last; i++)
			P(back_row)(dx + r * h->x, x + r * h->x, y + i * h->y, g + i * h->y, h, lo, hi, max, 1 / (PT)(count * pool_taps(v, i)));
	}
}

static void P(pool_max_back)(PT *dx, const PT *x, const PT *y, const PT *g, const PoolPlane *p, long r0, long r1) { P(pool_back)(dx, x, y, g, p, r0, r1, 1, 1); }
static void P(pool_mean_back)(PT *dx, const PT *g, const PoolPlane *p, long r0, long r1, long count) { P(pool_back)(dx, g, g, g, p, r0, r1, 0, count); }

/* sums to means, rows [i0, i1) */
static void P(pool_divide)(PT *y, const PoolPlane *p, long i0, long i1, long count)
{
	const PoolAxis *h = &p->axis[1];
	long lo, hi;
	P(inside)(h, &lo, &hi);
	for (long i = i0; i < i1; i++) {
		long rows = count * pool_taps(&p->axis[0], i);
		PT *to = y + i * h->y, all = (PT)(rows * h->k);
		for (long j = 0; j < lo; j++) to[j] /= (PT)(rows * pool_taps(h, j));
		for (long j = lo; j < hi; j++) to[j] /= all;
		for (long j = hi; j < h->y; j++) to[j] /= (PT)(rows * pool_taps(h, j));
	}
}

const P(PoolIsa) VEC(P(pool)) = { P(pool_max), P(pool_sum), P(pool_divide), P(pool_max_back), P(pool_mean_back) };
