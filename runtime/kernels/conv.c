/* conv.c — convolutions and their gradients for the data.
 *
 * A result is, per group, the product of the weights (rows × channels·taps) and the staged source (conv.h).  The
 * gradient for the data is of the same kind with g as the source: places of x that agree modulo the stride see the
 * same taps, one step of g apart, so each such phase is a convolution with stride 1 on its part of the taps;
 * conv_turn puts the weights in that order.  Products are summed a block of channels at a time. */
#include "runtime/kernels/blocked.h"
#include "runtime/kernels/conv.h"

/* --- one piece: a box, for a block of rows of a group --------------------------------------------------------------- */

typedef struct Out { const Conv *c; const char *sums; long ldc, rows, chan, size; } Out;

/* a run of columns of every row, to where it belongs */
static void put_run(void *ctx, long column, long image, const long *at, long n)
{
	const Out *o = ctx;
	const Conv *c = o->c;
	long to = 0;
	for (int i = 0; i < c->rank; i++) to = to * c->axis[i].result + c->axis[i].first + c->axis[i].every * at[i];
	to += (image * c->groups * c->rows + o->chan) * o->size;
	long every = c->axis[c->rank - 1].every;
	int plain_copy = every == 1 && is_native(c->ytype);
	for (long r = 0; r < o->rows; r++) {
		const char *from = o->sums + (size_t)(r * o->ldc + column) * c->size;
		char *y = at_elem_mut(c->y, c->ytype, to + r * o->size);
		if (plain_copy) copy_elements(y, from, (size_t)n * c->size);
		else c->rt->st[c->ytype](y, every, from, n);
	}
}

static void multiply(const Conv *c, RtLane *ln, const ConvBox *b, long group, long row, long rows, char *sums, long ldc)
{
	char *planes = ln->scratch;
	long *off = (long *)(void *)(planes + ROOM_PLANES + ROOM_SUMS);
	long depth = c->chans * c->taps, columns = conv_columns(c, b);
	for (long chan = 0; chan < c->chans; chan += c->chan_block) {
		long n = min_l(c->chan_block, c->chans - chan), most = n * c->taps;
		conv_stage(c, b, group, chan, n, planes);
		for (long k = 0; k < most; k += MOST_OFFSETS) {
			long kn = min_l(MOST_OFFSETS, most - k);
			conv_offsets(c, k, kn, off);
			const char *w = c->w + (size_t)((group * c->rows + row) * depth + chan * c->taps + k) * c->size;
			c->isa->taps(kn, w, depth, planes, off, sums, ldc, rows, columns, chan || k);
		}
	}
}

static int piece(RtLane *ln, void *ctx, long lo, long hi)
{
	const Conv *c = ctx;
	long blocks = ceil_div(c->rows, c->row_block), boxes = conv_boxes(c), size = 1;
	char *sums = (char *)ln->scratch + ROOM_PLANES;
	for (int i = 0; i < c->rank; i++) size *= c->axis[i].result;
	for (long i = lo; i < hi; i++) {
		long block = i % blocks, group = i / blocks % c->groups, row = block * c->row_block;
		ConvBox b = conv_box(c, i / blocks / c->groups % boxes);
		Out o = { c, sums, ceil_div(conv_columns(c, &b), 16) * 16, min_l(c->row_block, c->rows - row), group * c->rows + row, size };
		if (c->chans * c->taps == 0) memset(sums, 0, (size_t)(o.rows * o.ldc) * c->size);
		else multiply(c, ln, &b, group, row, o.rows, sums, o.ldc);
		conv_runs(c, &b, put_run, &o);
	}
	return 0;
}

/* --- where not even a column's windows fit the scratch: one element at a time ------------------------------------------ */

static double window(const Conv *c, long image, long group, long row, const long *at)
{
	double sum = 0;
	long size = 1;
	for (int i = 0; i < c->rank; i++) size *= c->axis[i].source;
	for (long tap = 0; tap < c->taps; tap++) {
		long from = 0, scale = 1, rest = tap, in = 1;
		for (int i = c->rank - 1; i >= 0; i--) {
			const ConvAxis *a = &c->axis[i];
			long p = at[i] * a->step + a->off0 + rest % a->taps * a->doff;
			rest /= a->taps;
			in = in && p >= 0 && p < a->source;
			from += p * scale;
			scale *= a->source;
		}
		for (long ch = 0; in && ch < c->chans; ch++)
			sum += rt_get((DType)c->xtype, c->x, (size_t)(((image * c->groups + group) * c->chans + ch) * size + from)) *
			       rt_get(c->cls == PXLRT_F64 ? DT_F64 : DT_F32, c->w, (size_t)(((group * c->rows + row) * c->chans + ch) * c->taps + tap));
	}
	return sum;
}

static int plain(RtLane *ln, void *ctx, long lo, long hi)
{
	const Conv *c = ctx;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long rest = i, at[PXLRT_MAXSPACE], to = 0;
		for (int d = c->rank - 1; d >= 0; d--) at[d] = rest % c->axis[d].columns, rest /= c->axis[d].columns;
		long row = rest % c->rows, group = rest / c->rows % c->groups, image = rest / c->rows / c->groups;
		for (int d = 0; d < c->rank; d++) to = to * c->axis[d].result + c->axis[d].first + c->axis[d].every * at[d];
		for (int d = 0; d < c->rank; d++) rest *= c->axis[d].result;
		rt_set((DType)c->ytype, c->y, (size_t)(rest + to), window(c, image, group, row, at));
	}
	return 0;
}

/* --- running -------------------------------------------------------------------------------------------------------------- */

static long even_rows(long rows, long most) { return ceil_div(ceil_div(rows, ceil_div(rows, most)), 8) * 8; }

/* 16 pieces are enough for any pool, and one is worth half a million multiply-adds at least */
static void spread_out(Conv *c, double depth)
{
	for (;;) {
		long n = conv_most_columns(c), pieces = conv_boxes(c) * c->groups * ceil_div(c->rows, c->row_block);
		if (pieces >= 16 || (double)n * depth * (double)c->row_block < 1e6) return;
		if (n >= 192) conv_halve(c);
		if (conv_most_columns(c) < n) continue;
		if (c->row_block < 32) return;
		c->row_block = even_rows(c->rows, (c->row_block + 1) / 2);
	}
}

static int run(RtLane *ln, Conv *c)
{
	double depth = 1, all = (double)c->images * (double)c->groups * (double)c->rows;
	for (int i = 0; i < c->rank; i++) depth *= (double)c->axis[i].taps, all *= (double)c->axis[i].columns;
	depth *= (double)c->chans;
	if (all < 1) return 0;
	if (blocked_can_run(c)) return blocked_run(ln, c);
	if (c->from_block || c->to_block || c->bias || c->relu) return RT_EINTERNAL;       /* rt_conv_blocks says no */
	if (depthwise_fits(c)) return depthwise_run(ln, c);
	c->row_block = min_l(c->rows, even_rows(c->rows, 512));
	if (!conv_cut(c, c->row_block)) return span_run(ln, plain, c, (long)all, piece_of((long)all, depth * 20));
	spread_out(c, depth);
	c->chan_block = max_l(1, min_l(c->chans, (long)((AIM_PLANES / c->size - SLACK) / (size_t)(c->planes * c->volume))));
	long pieces = conv_boxes(c) * c->groups * ceil_div(c->rows, c->row_block);
	return span_run(ln, piece, c, pieces, piece_of(pieces, all / (double)pieces * (depth + 8) * 0.02));
}

int k_conv(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *x, const void *w, const void *bias, void *y, void *room)
{
	RtLane *ln = rt_lane(lane);
	Conv c;
	conv_open(&c, ln, d);
	conv_windows(&c, d);
	c.x = x, c.w = w, c.y = y, c.room = room, c.bias = bias, c.relu = d->relu;
	return run(ln, &c);
}

/* --- the other direction -----------------------------------------------------------------------------------------------------
 * Taps a stride's length of dilations apart meet the same places of x: along an axis there are min(k, apart) phases that
 * see any taps, numbered by their first one.  Places of other phases receive nothing. */

static long apart_of(const struct pxlrt_window *d, int i)
{
	long n = 1, s = d->stride[i], step = d->dilation[i] % s;
	for (long at = step; at; at = (at + step) % s) n++;
	return n;
}

typedef struct Phase { long first[PXLRT_MAXSPACE], apart[PXLRT_MAXSPACE], taps[PXLRT_MAXSPACE], all; } Phase;

static long phases_of(const struct pxlrt_window *d)
{
	long n = 1;
	for (int i = 0; i < d->rank; i++) n *= min_l(d->k[i], apart_of(d, i));
	return n;
}

static Phase phase_of(const struct pxlrt_window *d, long number)
{
	Phase p = { .all = 1 };
	for (int i = d->rank - 1; i >= 0; i--) {
		p.apart[i] = apart_of(d, i);
		long n = min_l(d->k[i], p.apart[i]);
		p.first[i] = number % n;
		p.taps[i] = (d->k[i] - 1 - p.first[i]) / p.apart[i] + 1;
		p.all *= p.taps[i];
		number /= n;
	}
	return p;
}

static ConvAxis phase_axis(const struct pxlrt_window *d, const Phase *p, int i)
{
	long s = d->stride[i], meets = p->first[i] * d->dilation[i] - d->pad[i], at = (meets % s + s) % s, step = p->apart[i] * d->dilation[i] / s;
	return (ConvAxis){ .source = d->y[i], .columns = at < d->x[i] ? ceil_div(d->x[i] - at, s) : 0, .step = 1, .taps = p->taps[i],
	                   .off0 = (at - meets) / s - (p->taps[i] - 1) * step, .doff = step, .first = at, .every = s, .result = d->x[i] };
}

static void phase_windows(Conv *c, const struct pxlrt_window *d, const Phase *p)
{
	c->xtype = d->ytype, c->ytype = d->xtype;
	c->rows = d->c, c->chans = d->m;
	c->from_block = d->yblock, c->to_block = d->xblock;
	for (int i = 0; i < d->rank; i++) c->axis[i] = phase_axis(d, p, i);
}

/* are there places that no phase covers */
static int leaves_places(const struct pxlrt_window *d)
{
	for (int i = 0; i < d->rank; i++)
		if (min_l(d->k[i], apart_of(d, i)) < d->stride[i]) return 1;
	return d->m == 0;
}

int k_conv_data(struct pxlrt_lane *lane, const struct pxlrt_window *d, const void *y, const void *turned, void *x, void *room)
{
	RtLane *ln = rt_lane(lane);
	size_t at = 0, all = (size_t)(d->images * d->groups * d->c);
	for (int i = 0; i < d->rank; i++) all *= (size_t)d->x[i];
	if (leaves_places(d)) memset(x, 0, all * dtype_size((DType)d->xtype));
	for (long i = 0, n = phases_of(d); i < n; i++) {
		Phase p = phase_of(d, i);
		Conv c;
		conv_open(&c, ln, d);
		phase_windows(&c, d, &p);
		c.x = y, c.y = x, c.w = (const char *)turned + at * c.size;
		c.room = room ? (float *)room + at : NULL;
		at += (size_t)(c.groups * c.rows * c.chans * p.all);
		int st = run(ln, &c);
		if (st) return st;
	}
	return 0;
}

/* phase by phase and group by group: row c, then m, then the phase's taps from the last to the first */
typedef struct Turn { const struct pxlrt *rt; const struct pxlrt_window *d; int wtype; const char *w; char *to; size_t size; long taps; } Turn;

enum { TAPS = 256 };             /* taps of a phase numbered at a time */

/* numbers of a phase's taps, from the given place in the phase on; returns how many */
static long phase_taps(const struct pxlrt_window *d, const Phase *p, long from, long *taps)
{
	long n = min_l(TAPS, p->all - from);
	for (long k = 0; k < n; k++) {
		long rest = from + k, scale = 1;
		taps[k] = 0;
		for (int i = d->rank - 1; i >= 0; i--) {
			taps[k] += (p->first[i] + (p->taps[i] - 1 - rest % p->taps[i]) * p->apart[i]) * scale;
			rest /= p->taps[i];
			scale *= d->k[i];
		}
	}
	return n;
}

static void turn_taps(const Turn *t, const long *taps, long n, long from, char *to)
{
	const float *w = (const float *)(const void *)t->w + from;
	if (t->wtype == DT_F32 && t->size == 4) for (long k = 0; k < n; k++) ((float *)(void *)to)[k] = w[taps[k]];
	else for (long k = 0; k < n; k++) t->rt->ld[t->wtype](to + (size_t)k * t->size, at_elem(t->w, t->wtype, from + taps[k]), 1, 1);
}

enum { TURN = 8 };               /* rows of w at a time, so that their pages stay at hand */

static void turn_phase(const Turn *t, const Phase *p, char *to, long lo, long hi)
{
	const struct pxlrt_window *d = t->d;
	long taps[TAPS], n;
	for (long k = 0; k < p->all; k += n) {
		n = phase_taps(d, p, k, taps);
		for (long m = 0; m < d->m; m += TURN)
			for (long r = lo; r < hi; r++)
				for (long i = m; i < min_l(m + TURN, d->m); i++)
					turn_taps(t, taps, n, ((r / d->c * d->m + i) * d->c + r % d->c) * t->taps, to + (size_t)((r * d->m + i) * p->all + k) * t->size);
	}
}

static int turn_rows(RtLane *ln, void *ctx, long lo, long hi)
{
	const Turn *t = ctx;
	const struct pxlrt_window *d = t->d;
	size_t at = 0;
	(void)ln;
	for (long i = 0, n = phases_of(d); i < n; i++) {
		Phase p = phase_of(d, i);
		turn_phase(t, &p, t->to + at * t->size, lo, hi);
		at += (size_t)(d->groups * d->c * d->m * p.all);
	}
	return 0;
}

int k_conv_turn(struct pxlrt_lane *lane, const struct pxlrt_window *d, int wtype, const void *w, void *turned)
{
	RtLane *ln = rt_lane(lane);
	Turn t = { table_of(ln), d, wtype, w, turned, class_size(d->ytype == DT_F64 ? PXLRT_F64 : PXLRT_F32), 1 };
	for (int i = 0; i < d->rank; i++) t.taps *= d->k[i];
	long n = d->groups * d->c;
	return span_run(ln, turn_rows, &t, n, piece_of(n, (double)(d->m * t.taps) * 8));
}

/* --- asked by the compiler --------------------------------------------------------------------------------------------------- */

int rt_conv_blocks(const struct pxlrt_window *d, int map)
{
	Conv c;
	long sides = map == RT_CONV ? d->m : map == RT_CONV_DATA ? d->c : PXLRT_CHANNELS;
	if (sides % PXLRT_CHANNELS || (d->xblock && d->c % PXLRT_CHANNELS) || (d->yblock && d->m % PXLRT_CHANNELS)) return 0;
	conv_open(&c, NULL, d);
	if (map != RT_CONV_DATA) {
		conv_windows(&c, d);
		return blocked_suits(&c);
	}
	int all = 1;
	for (long i = 0, n = phases_of(d); i < n && all; i++) {
		Phase p = phase_of(d, i);
		phase_windows(&c, d, &p);
		all = blocked_suits(&c);
	}
	return all;
}
