/* conv_weight.c — gradients of convolutions for the weights.
 *
 * dw[m, c, tap] is the dot product of row m of g with the staged row of x that the tap sees (conv.h): g is laid out
 * over the columns of the box, with zeros where a column is dropped.  A piece is a block of rows and of channels, over
 * all images of one part, box after box in one order; parts are added up by who asked for them. */
#include "runtime/kernels/blocked.h"
#include "runtime/kernels/conv.h"

enum {
	STRIP = 512,               /* columns at a time: eight rows of g stay in the first cache */
	WIDE_STRIP = 256           /* the same for columns of g, all of the panel's */
};

/* wide: sums are turned over, [channels·taps][rows], so that rows of g fill vectors: panels of `vecs` of them */
typedef struct Back { Conv c; const char *g; char *dw; int gtype, wide, vecs; long parts, per; /* images of a part */ } Back;

/* --- one piece ----------------------------------------------------------------------------------------------------- */

typedef struct Rows { const Back *w; char *to; long ldg, rows, chan, size; } Rows;

static void take_run(void *ctx, long column, long image, const long *at, long n)
{
	const Rows *r = ctx;
	const Back *w = r->w;
	long from = 0;
	for (int i = 0; i < w->c.rank; i++) from = from * w->c.axis[i].columns + at[i];
	from += (image * w->c.groups * w->c.rows + r->chan) * r->size;
	for (long i = 0; i < r->rows; i++) {
		char *to = r->to + (size_t)(i * r->ldg + column) * w->c.size;
		const char *g = at_elem(w->g, w->gtype, from + i * r->size);
		if (is_native(w->gtype)) copy_elements(to, g, (size_t)n * w->c.size);
		else w->c.rt->ld[w->gtype](to, g, 1, n);
	}
}

typedef struct Piece { long group, row, rows, chan, chans; } Piece;

static long ldc_of(const Back *w, long rows) { return ceil_div(rows, w->c.isa->lanes * w->vecs) * w->c.isa->lanes * w->vecs; }

/* a strip of columns of g at a time, turned over into panels behind the rows */
static void add_wide(const Back *w, const Rows *r, long columns, long n, const char *planes, const long *off, char *sums)
{
	const Conv *c = &w->c;
	int width = c->isa->lanes * w->vecs;
	long ldc = ldc_of(w, r->rows);
	char *panels = r->to + (size_t)(r->rows * r->ldg) * c->size;
	for (long at = 0; at < columns; at += WIDE_STRIP) {
		long count = min_l(WIDE_STRIP, columns - at);
		c->isa->pack(panels, r->to + (size_t)at * c->size, width, r->ldg, 1, r->rows, count);
		for (long m = 0; m < r->rows; m += width)
			c->isa->taps_wide(count, panels + (size_t)(m * count) * c->size, w->vecs, planes + (size_t)at * c->size, off,
			                  sums + (size_t)m * c->size, ldc, n);
	}
}

static void add_box(const Back *w, RtLane *ln, const ConvBox *b, const Piece *k, const long *off, char *sums)
{
	const Conv *c = &w->c;
	char *planes = ln->scratch, *g = planes + ROOM_PLANES + ROOM_SUMS + ROOM_OFFSETS;
	long columns = conv_columns(c, b), size = 1, n = k->chans * c->taps;
	for (int i = 0; i < c->rank; i++) size *= c->axis[i].columns;
	Rows r = { w, g, ceil_div(columns, 16) * 16, k->rows, k->group * c->rows + k->row, size };
	conv_stage(c, b, k->group, k->chan, k->chans, planes);
	memset(g, 0, (size_t)(r.rows * r.ldg) * c->size);
	conv_runs(c, b, take_run, &r);
	if (w->wide) add_wide(w, &r, columns, n, planes, off, sums);
	else for (long at = 0; at < r.ldg; at += STRIP)
		c->isa->taps_back(min_l(STRIP, r.ldg - at), g + (size_t)at * c->size, r.ldg, planes + (size_t)at * c->size, off, sums, n, r.rows, n);
}

static Piece block_of(const Conv *c, long i)
{
	long rows = ceil_div(c->rows, c->row_block), chans = ceil_div(c->chans, c->chan_block);
	Piece b = { .row = i % rows * c->row_block, .chan = i / rows % chans * c->chan_block, .group = i / rows / chans % c->groups };
	b.rows = min_l(c->row_block, c->rows - b.row);
	b.chans = min_l(c->chan_block, c->chans - b.chan);
	return b;
}

static long blocks_of(const Conv *c) { return ceil_div(c->rows, c->row_block) * ceil_div(c->chans, c->chan_block) * c->groups; }

static void column(const Conv *c, char *to, const char *from, long ld, long n)
{
	if (c->size == 4) for (long i = 0; i < n; i++) ((float *)(void *)to)[i] = ((const float *)(const void *)from)[i * ld];
	else for (long i = 0; i < n; i++) ((double *)(void *)to)[i] = ((const double *)(const void *)from)[i * ld];
}

static int piece(RtLane *ln, void *ctx, long lo, long hi)
{
	const Back *w = ctx;
	char *sums = (char *)ln->scratch + ROOM_PLANES;
	long *off = (long *)(void *)(sums + ROOM_SUMS);
	for (long i = lo; i < hi; i++) {
		Piece k = block_of(&w->c, i);
		Conv c = w->c;
		long part = i / blocks_of(&c), first = part * w->per, n = k.chans * c.taps;
		c.images = max_l(0, min_l(w->per, w->c.images - first));
		memset(sums, 0, (size_t)((w->wide ? ldc_of(w, k.rows) : k.rows) * n) * c.size);
		conv_offsets(&c, 0, n, off);
		for (long box = 0, boxes = conv_boxes(&c); box < boxes; box++) {
			ConvBox b = conv_box(&c, box);
			b.image += first;
			add_box(w, ln, &b, &k, off, sums);
		}
		for (long r = 0; r < k.rows; r++) {
			long to = (((part * c.groups + k.group) * c.rows + k.row + r) * c.chans + k.chan) * c.taps;
			if (w->wide) column(&c, w->dw + (size_t)to * c.size, sums + (size_t)r * c.size, ldc_of(w, k.rows), n);
			else memcpy(w->dw + (size_t)to * c.size, sums + (size_t)(r * n) * c.size, (size_t)n * c.size);
		}
	}
	return 0;
}

/* --- where scratch is too small: one element at a time ------------------------------------------------------------------ */

static double element(const Back *w, long image, long row, long chan, long group, const long *tap)
{
	const Conv *c = &w->c;
	long columns = 1, size = 1;
	double sum = 0;
	for (int i = 0; i < c->rank; i++) columns *= c->axis[i].columns, size *= c->axis[i].source;
	for (long j = 0; j < columns; j++) {
		long rest = j, from = 0, scale = 1, in = 1;
		for (int i = c->rank - 1; i >= 0; i--) {
			const ConvAxis *a = &c->axis[i];
			long p = rest % a->columns * a->step + a->off0 + tap[i] * a->doff;
			rest /= a->columns;
			in = in && p >= 0 && p < a->source;
			from += p * scale;
			scale *= a->source;
		}
		if (!in) continue;
		sum += rt_get((DType)c->xtype, c->x, (size_t)(((image * c->groups + group) * c->chans + chan) * size + from)) *
		       rt_get((DType)w->gtype, w->g, (size_t)(((image * c->groups + group) * c->rows + row) * columns + j));
	}
	return sum;
}

static int plain(RtLane *ln, void *ctx, long lo, long hi)
{
	const Back *w = ctx;
	const Conv *c = &w->c;
	(void)ln;
	for (long i = lo; i < hi; i++) {
		long rest = i, tap[PXLRT_MAXSPACE];
		for (int d = c->rank - 1; d >= 0; d--) tap[d] = rest % c->axis[d].taps, rest /= c->axis[d].taps;
		long chan = rest % c->chans, row = rest / c->chans % c->rows, group = rest / c->chans / c->rows % c->groups;
		long part = rest / c->chans / c->rows / c->groups;
		double sum = 0;
		for (long m = part * w->per; m < min_l(c->images, (part + 1) * w->per); m++) sum += element(w, m, row, chan, group, tap);
		rt_set(c->cls == PXLRT_F64 ? DT_F64 : DT_F32, w->dw, (size_t)i, sum);
	}
	return 0;
}

/* --- running ----------------------------------------------------------------------------------------------------------------- */

/* channels of a piece: planes near the aim, sums and distances that fit */
static long chans_of(const Conv *c)
{
	long plane = c->planes * c->volume, n = (long)((AIM_PLANES / c->size - SLACK) / (size_t)plane);
	n = min_l(n, (long)(ROOM_SUMS / c->size) / ((c->row_block + 64) * c->taps));
	return min_l(c->chans, max_l(1, min_l(n, MOST_OFFSETS / c->taps)));
}

static int fits(const Conv *c)
{
	return (double)(c->row_block + 64) * (double)c->taps * (double)c->size <= ROOM_SUMS && c->taps <= MOST_OFFSETS &&
	       ((double)(conv_most_columns(c) + 16) * (double)c->row_block + WIDE_STRIP * (double)(c->row_block + 64)) * (double)c->size <= ROOM_ROWS;
}

int k_conv_weight(struct pxlrt_lane *lane, const struct pxlrt_window *d, long parts, const void *x, const void *g, void *dw)
{
	RtLane *ln = rt_lane(lane);
	Back w = { .g = g, .dw = dw, .gtype = d->ytype, .parts = parts, .per = ceil_div(d->images, parts) };
	Conv *c = &w.c;
	conv_open(c, ln, d);
	conv_windows(c, d);
	c->x = x;
	double work = 0.02 * (double)d->images, all = (double)parts * (double)(d->groups * d->m * d->c);
	for (int i = 0; i < c->rank; i++) work *= (double)d->y[i], all *= (double)d->k[i];
	if (all < 1) return 0;
	if ((d->m >= PXLRT_CHANNELS || is_blocked(d)) && blocked_suits(c)) return blocked_weight(ln, c, d->yblock, parts, g, dw);
	if (is_blocked(d)) return RT_EINTERNAL;              /* rt_conv_blocks says no */
	c->row_block = min_l(c->rows, 64);
	if (!conv_cut(c, c->row_block * 2) || !fits(c)) return span_run(ln, plain, &w, (long)all, piece_of((long)all, work * 200));
	c->chan_block = chans_of(c);
	while (blocks_of(c) * parts < 8 && c->chan_block * c->taps >= 512 && c->chan_block > 1) c->chan_block = (c->chan_block + 1) / 2;
	while (blocks_of(c) * parts < 8 && c->row_block >= 64) c->row_block = ceil_div(c->row_block, 16) * 8;
	long vectors = ceil_div(c->row_block, c->isa->lanes), panels = ceil_div(vectors * c->isa->lanes, c->isa->cols);
	w.vecs = (int)ceil_div(vectors, panels);
	w.wide = c->row_block * 3 >= vectors * c->isa->lanes * 2;
	long pieces = blocks_of(c) * parts;
	return span_run(ln, piece, &w, pieces, piece_of(pieces, work * all / (double)parts / (double)pieces));
}
