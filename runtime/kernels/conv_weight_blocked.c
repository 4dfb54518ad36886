/* conv_weight_blocked.c — gradients of convolutions for the weights, where rows of g come in blocks of 16.
 *
 * A block of g and a number of the source meet at each place: sums[rows / 16][channels·taps][16] are kept in scratch, over all
 * images of a part, box after box in one order, and turned over into rows of weights at the end.  A plain g is brought
 * into blocks a box at a time. */
#include "runtime/kernels/blocked.h"

typedef struct Back { Conv *c; const float *g; float *dw; int gblock; long parts, per; /* images of a part */ } Back;
typedef struct Piece { long part, group, row, rows, chan, chans; } Piece;

static long row_blocks(const Conv *c) { return ceil_div(c->rows, c->row_block); }
static long chan_blocks(const Conv *c) { return ceil_div(c->chans, c->chan_block); }

static Piece piece_at(const Back *w, long i)
{
	const Conv *c = w->c;
	Piece p = { .row = i % row_blocks(c) * c->row_block, .chan = i / row_blocks(c) % chan_blocks(c) * c->chan_block };
	i /= row_blocks(c) * chan_blocks(c);
	p.group = i % c->groups, p.part = i / c->groups;
	p.rows = min_l(c->row_block, c->rows - p.row);
	p.chans = min_l(c->chan_block, c->chans - p.chan);
	return p;
}

/* g of a box: where it is, distances in floats along the axes and between blocks */
typedef struct Given { const float *at; long pitch[2], block; } Given;

static Given g_of(const Back *w, RtLane *ln, const ConvBox *b, const Piece *p)
{
	const ConvAxis *a = w->c->axis;
	long size = a[0].columns * a[1].columns * a[2].columns, deep = b->n[1] * b->n[2] * PXLRT_CHANNELS, block = b->n[0] * deep;
	const float *from = w->g + ((b->image * w->c->groups + p->group) * w->c->rows + p->row) * size;
	if (w->gblock) {
		long wide = a[2].columns * PXLRT_CHANNELS;
		return (Given){ from + (b->at[0] * a[1].columns + b->at[1]) * wide + b->at[2] * PXLRT_CHANNELS, { a[1].columns * wide, wide }, size * PXLRT_CHANNELS };
	}
	float *to = (float *)(void *)((char *)ln->scratch + ROOM_PLANES + ROOM_SUMS + ROOM_OFFSETS);
	for (long r = 0; r < p->rows; r += PXLRT_CHANNELS)
		for (long i = 0; i < b->n[0] * b->n[1]; i++) {
			long at = ((b->at[0] + i / b->n[1]) * a[1].columns + b->at[1] + i % b->n[1]) * a[2].columns + b->at[2];
			w->c->isa->pack(to + r / PXLRT_CHANNELS * block + i * b->n[2] * PXLRT_CHANNELS, from + r * size + at, PXLRT_CHANNELS, size, 1,
			                min_l(PXLRT_CHANNELS, p->rows - r), b->n[2]);
		}
	return (Given){ to, { deep, b->n[2] * PXLRT_CHANNELS }, block };
}

static void add_box(const Back *w, RtLane *ln, const ConvBox *b, const Piece *p, float *sums)
{
	const Conv *c = w->c;
	float *planes = ln->scratch;
	long *off = (long *)(void *)((char *)ln->scratch + ROOM_PLANES + ROOM_SUMS), kn = p->chans * c->taps;
	BlockSource s = blocked_source(c, b, p->group, p->chan, p->chans, planes);
	Given g = g_of(w, ln, b, p);
	blocked_offsets(c, &s, p->chans, off);
	BlockBack k = { .kn = kn, .blocks = ceil_div(p->rows, PXLRT_CHANNELS), .rows = b->n[1], .n = b->n[2], .sums = sums, .off = off,
	                .xrow = c->axis[1].step * s.pitch[1], .xstep = c->axis[2].step * s.pitch[2], .gblock = g.block, .grow = g.pitch[1], .sblock = kn * PXLRT_CHANNELS };
	for (long i = 0; i < b->n[0]; i++) {
		k.x = s.at + i * c->axis[0].step * s.pitch[0];
		k.g = g.at + i * g.pitch[0];
		isa_of(ln)->blocks->back(&k);
	}
}

static void give(const Back *w, RtLane *ln, const Piece *p, const float *sums)
{
	const Conv *c = w->c;
	long depth = c->chans * c->taps, kn = p->chans * c->taps;
	float *to = w->dw + ((p->part * c->groups + p->group) * c->rows + p->row) * depth + p->chan * c->taps;
	for (long r = 0; r < p->rows; r += PXLRT_CHANNELS, sums += kn * PXLRT_CHANNELS, to += PXLRT_CHANNELS * depth) {
		if (p->rows - r >= PXLRT_CHANNELS) isa_of(ln)->blocks->open(to, depth, sums, kn);
		else for (long i = 0; i < p->rows - r; i++)
			for (long k = 0; k < kn; k++) to[i * depth + k] = sums[k * PXLRT_CHANNELS + i];
	}
}

static int piece(RtLane *ln, void *ctx, long lo, long hi)
{
	const Back *w = ctx;
	float *sums = (float *)(void *)((char *)ln->scratch + ROOM_PLANES);
	long boxes = conv_boxes(w->c) / max_l(w->c->images, 1);
	for (long i = lo; i < hi; i++) {
		Piece p = piece_at(w, i);
		memset(sums, 0, (size_t)(ceil_div(p.rows, PXLRT_CHANNELS) * PXLRT_CHANNELS * p.chans * w->c->taps) * sizeof(float));
		for (long box = p.part * w->per * boxes, end = min_l((p.part + 1) * w->per, w->c->images) * boxes; box < end; box++) {
			ConvBox b = conv_box(w->c, box);
			add_box(w, ln, &b, &p, sums);
		}
		give(w, ln, &p, sums);
	}
	return 0;
}

/* blocks whose sums, and rows of a plain g, fit */
static void cut(const Back *w)
{
	Conv *c = w->c;
	long unit = c->from_block ? c->from_block : 1;
	blocked_cut(c);
	c->row_block = min_l(c->rows, 16 * PXLRT_CHANNELS);
	while (!w->gblock && (double)(c->row_block + PXLRT_CHANNELS) * (double)(c->axis[0].tile * c->axis[1].tile * c->axis[2].tile) * sizeof(float) > ROOM_ROWS)
		if (!blocked_halve(c)) break;
	for (;;) {
		double sums = (double)(c->row_block + PXLRT_CHANNELS) * (double)(c->chan_block * c->taps) * sizeof(float);
		if (sums <= AIM_SUMS && row_blocks(c) * chan_blocks(c) * c->groups * w->parts >= 8) return;
		if (c->chan_block > unit && (sums > AIM_SUMS || c->chan_block * c->taps >= 512)) c->chan_block = ceil_div(c->chan_block, 2 * unit) * unit;
		else if (c->row_block > 4 * PXLRT_CHANNELS || (sums > AIM_SUMS && c->row_block > PXLRT_CHANNELS)) c->row_block = ceil_div(c->row_block, 2 * PXLRT_CHANNELS) * PXLRT_CHANNELS;
		else return;
	}
}

int blocked_weight(RtLane *ln, Conv *c, int gblock, long parts, const float *g, float *dw)
{
	Back w = { c, g, dw, gblock, parts, ceil_div(c->images, parts) };
	double work = (double)w.per;
	cut(&w);
	for (int i = 0; i < c->rank; i++) work *= (double)c->axis[i].columns;
	long n = row_blocks(c) * chan_blocks(c) * c->groups * parts;
	return span_run(ln, piece, &w, n, piece_of(n, 0.02 * work * (double)(c->row_block * c->chan_block * c->taps)));
}
