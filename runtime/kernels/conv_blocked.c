/* conv_blocked.c — convolutions whose results come in blocks of 16 channels: the loops of vec/blocks.c on sources and results of
 * either layout.
 *
 * A piece is a box of one image's places (conv.h) and some blocks of the result's channels.  The part of the source that
 * the box needs is read where it stands if all of it exists, else copied with zeros around it; a tap is then a constant
 * distance.  Weights are brought into blocks of 16 rows first, in the caller's room.  A result that is to be plain is
 * made in blocks in scratch, and turned over. */
#include "runtime/kernels/blocked.h"

enum { AXES = 3, FEW_PLACES = 256 };

/* --- boxes -------------------------------------------------------------------------------------------------------------- */

static long reach_of(const ConvAxis *a) { return (a->taps - 1) * (a->doff < 0 ? -a->doff : a->doff); }
static long lowest(const ConvAxis *a) { return min_l(a->off0, a->off0 + (a->taps - 1) * a->doff); }
static long length_of(const ConvAxis *a, long n) { return (n - 1) * a->step + reach_of(a) + 1; }
static long unit_of(const Conv *c) { return c->from_block ? c->from_block : 1; }

static double plane_bytes(const Conv *c)
{
	double n = sizeof(float);
	for (int i = 0; i < AXES; i++) n *= (double)length_of(&c->axis[i], c->axis[i].tile);
	return n;
}

static long places_of(const Conv *c) { return c->axis[0].tile * c->axis[1].tile * c->axis[2].tile; }

int blocked_halve(Conv *c)
{
	for (int i = 0; i < AXES; i++) {
		ConvAxis *a = &c->axis[i];
		if (a->tile == 1) continue;
		a->tile = ceil_div(a->columns, ceil_div(a->columns, a->tile) * 2);
		return 1;
	}
	return 0;
}

/* three axes, whole */
static void three_axes(Conv *c)
{
	int more = AXES - c->rank;
	memmove(c->axis + more, c->axis, (size_t)c->rank * sizeof *c->axis);
	for (int i = 0; i < more; i++) c->axis[i] = (ConvAxis){ .source = 1, .columns = 1, .step = 1, .taps = 1, .doff = 1, .every = 1, .result = 1 };
	c->rank = AXES;
	c->fold = c->taps = 1;
	for (int i = 0; i < AXES; i++) {
		c->axis[i].tile = c->axis[i].columns;
		c->taps *= c->axis[i].taps;
	}
}

int blocked_cut(Conv *c)
{
	three_axes(c);
	long unit = unit_of(c);
	if (c->taps * unit > MOST_OFFSETS / 2) return 0;           /* sums of weights must fit too */
	while (plane_bytes(c) * (double)c->chans > AIM_PLANES && places_of(c) > FEW_PLACES)
		if (!blocked_halve(c)) break;
	while (plane_bytes(c) * (double)unit > ROOM_PLANES)
		if (!blocked_halve(c)) return 0;
	c->chan_block = max_l(unit, (long)(AIM_PLANES / plane_bytes(c)) / unit * unit);
	c->chan_block = min_l(c->chans, min_l(c->chan_block, MOST_OFFSETS / c->taps / unit * unit));
	return 1;
}

/* --- the source ----------------------------------------------------------------------------------------------------------- */

typedef struct Copy { const float *from; float *to; long unit, start[AXES], len[AXES]; const Conv *c; } Copy;

static void copy_row(const Copy *k, const float *from, float *to)
{
	size_t e = (size_t)k->unit * sizeof(float);
	long last = AXES - 1, start = k->start[last], len = k->len[last];
	long lo = max_l(0, min_l(-start, len)), hi = max_l(lo, min_l(k->c->axis[last].source - start, len));
	memset(to, 0, (size_t)lo * e);
	copy_elements((char *)(to + lo * k->unit), (const char *)(from + (start + lo) * k->unit), (size_t)(hi - lo) * e);
	memset(to + hi * k->unit, 0, (size_t)(len - hi) * e);
}

/* one channel, or a block of them */
static void copy_plane(const Copy *k, const float *from, float *to)
{
	const ConvAxis *a = k->c->axis;
	long row = k->len[2] * k->unit;
	for (long i = k->start[0]; i < k->start[0] + k->len[0]; i++)
		for (long j = k->start[1]; j < k->start[1] + k->len[1]; j++, to += row) {
			if (i < 0 || i >= a[0].source || j < 0 || j >= a[1].source) memset(to, 0, (size_t)row * sizeof(float));
			else copy_row(k, from + (i * a[1].source + j) * a[2].source * k->unit, to);
		}
}

BlockSource blocked_source(const Conv *c, const ConvBox *b, long group, long chan, long n, float *planes)
{
	Copy k = { .unit = unit_of(c), .c = c };
	BlockSource s;
	long size = 1, all = k.unit, len = k.unit, inside = 1, first = 0;
	for (int i = AXES - 1; i >= 0; i--) {
		const ConvAxis *a = &c->axis[i];
		k.start[i] = b->at[i] * a->step + lowest(a);
		k.len[i] = length_of(a, b->n[i]);
		inside = inside && k.start[i] >= 0 && k.start[i] + k.len[i] <= a->source;
		first += k.start[i] * all;
		s.pitch[i] = len;
		size *= a->source, all *= a->source, len *= k.len[i];
	}
	const float *from = (const float *)(const void *)c->x + ((b->image * c->groups + group) * c->chans + chan) * size;
	if (inside) {
		s = (BlockSource){ from + first, { c->axis[1].source * c->axis[2].source * k.unit, c->axis[2].source * k.unit, k.unit }, all };
		return s;
	}
	s.at = planes, s.chan = len;
	for (long i = 0; i < n; i += k.unit, from += all, planes += len) copy_plane(&k, from, planes);
	return s;
}

/* of tap and channel: channel by channel */
void blocked_offsets(const Conv *c, const BlockSource *s, long n, long *off)
{
	const ConvAxis *a = c->axis;
	long unit = unit_of(c), k = 0;
	for (long i = 0; i < a[0].taps; i++)
		for (long j = 0; j < a[1].taps; j++)
			for (long l = 0; l < a[2].taps; l++)
				off[k++] = (a[0].off0 + i * a[0].doff - lowest(&a[0])) * s->pitch[0] + (a[1].off0 + j * a[1].doff - lowest(&a[1])) * s->pitch[1] +
				           (a[2].off0 + l * a[2].doff - lowest(&a[2])) * s->pitch[2];
	for (long ch = 1; ch < n; ch++)
		for (long t = 0; t < c->taps; t++) off[ch * c->taps + t] = off[t] + ch / unit * s->chan + ch % unit;
}

/* --- one piece -------------------------------------------------------------------------------------------------------------- */

/* where a box's result goes: in place, or to scratch.  Distances in floats: of places along the axes, of blocks */
typedef struct Target { float *at; long pitch[AXES], block; } Target;

static long result_size(const Conv *c) { return c->axis[0].result * c->axis[1].result * c->axis[2].result; }

static Target in_place(const Conv *c, const ConvBox *b, long group, long row)
{
	const ConvAxis *a = c->axis;
	long size = result_size(c), wide = a[2].result * PXLRT_CHANNELS, deep = a[1].result * wide;
	Target t = { (float *)(void *)c->y + ((b->image * c->groups + group) * c->rows + row) * size,
	             { a[0].every * deep, a[1].every * wide, a[2].every * PXLRT_CHANNELS }, size * PXLRT_CHANNELS };
	t.at += (a[0].first + a[0].every * b->at[0]) * deep + (a[1].first + a[1].every * b->at[1]) * wide + (a[2].first + a[2].every * b->at[2]) * PXLRT_CHANNELS;
	return t;
}

static Target in_scratch(const ConvBox *b, float *sums)
{
	long wide = b->n[2] * PXLRT_CHANNELS, deep = b->n[1] * wide;
	return (Target){ sums, { deep, wide, PXLRT_CHANNELS }, b->n[0] * deep };
}

/* a row of a block's places to 16 plain rows */
static void spread_row(float *to, long size, long every, const float *from, long n)
{
	for (long ch = 0; ch < PXLRT_CHANNELS; ch++)
		for (long i = 0; i < n; i++) to[ch * size + i * every] = from[i * PXLRT_CHANNELS + ch];
}

static void make_plain(const Conv *c, RtLane *ln, const ConvBox *b, long group, long row, long blocks, const Target *t)
{
	const ConvAxis *a = c->axis;
	long size = result_size(c);
	for (long k = 0; k < blocks; k++)
		for (long i = 0; i < b->n[0]; i++)
			for (long j = 0; j < b->n[1]; j++) {
				const float *from = t->at + k * t->block + i * t->pitch[0] + j * t->pitch[1];
				long at = ((a[0].first + a[0].every * (b->at[0] + i)) * a[1].result + a[1].first + a[1].every * (b->at[1] + j)) * a[2].result;
				float *to = (float *)(void *)c->y + ((b->image * c->groups + group) * c->rows + row + k * PXLRT_CHANNELS) * size + at +
				            a[2].first + a[2].every * b->at[2];
				if (a[2].every == 1) isa_of(ln)->blocks->open(to, size, from, b->n[2]);
				else spread_row(to, size, a[2].every, from, b->n[2]);
			}
}

static void multiply(const Conv *c, RtLane *ln, const ConvBox *b, long group, long row, long blocks, const Target *t)
{
	float *planes = ln->scratch;
	long *off = (long *)(void *)((char *)ln->scratch + ROOM_PLANES + ROOM_SUMS), depth = c->chans * c->taps, chan = 0;
	do {
		long n = min_l(c->chan_block, c->chans - chan);
		int last = chan + n == c->chans;
		BlockSource s = blocked_source(c, b, group, chan, n, planes);
		blocked_offsets(c, &s, n, off);
		BlockConv k = { .kn = n * c->taps, .blocks = blocks, .rows = b->n[1], .n = b->n[2], .off = off, .wblock = depth * PXLRT_CHANNELS, .add = chan > 0,
		                .w = c->room + (group * c->rows + row) * depth + chan * c->taps * PXLRT_CHANNELS, .xrow = c->axis[1].step * s.pitch[1],
		                .xstep = c->axis[2].step * s.pitch[2], .yblock = t->block, .yrow = t->pitch[1], .ystep = t->pitch[2],
		                .bias = last && c->bias ? c->bias + group * c->rows + row : NULL, .relu = last && c->relu };
		for (long i = 0; i < b->n[0]; i++) {
			k.x = s.at + i * c->axis[0].step * s.pitch[0];
			k.y = t->at + i * t->pitch[0];
			isa_of(ln)->blocks->conv(&k);
		}
		chan += n;
	} while (chan < c->chans);
}

static int piece(RtLane *ln, void *ctx, long lo, long hi)
{
	const Conv *c = ctx;
	long blocks = ceil_div(c->rows, c->row_block), boxes = conv_boxes(c);
	float *sums = (float *)(void *)((char *)ln->scratch + ROOM_PLANES);
	for (long i = lo; i < hi; i++) {
		long row = i % blocks * c->row_block, group = i / blocks % c->groups, n = min_l(c->row_block, c->rows - row) / PXLRT_CHANNELS;
		ConvBox b = conv_box(c, i / blocks / c->groups % boxes);
		Target t = c->to_block ? in_place(c, &b, group, row) : in_scratch(&b, sums);
		multiply(c, ln, &b, group, row, n, &t);
		if (!c->to_block) make_plain(c, ln, &b, group, row, n, &t);
	}
	return 0;
}

/* --- running ------------------------------------------------------------------------------------------------------------------ */

static int pack(RtLane *ln, void *ctx, long lo, long hi)
{
	const Conv *c = ctx;
	long depth = c->chans * c->taps, n = PXLRT_CHANNELS * depth;
	for (long i = lo; i < hi; i++)
		c->isa->pack(c->room + i * n, c->w + (size_t)(i * n) * sizeof(float), PXLRT_CHANNELS, depth, 1, PXLRT_CHANNELS, depth);
	(void)ln;
	return 0;
}

static double work_of(const Conv *c) { return (double)places_of(c) * (double)c->row_block * (double)c->chans * (double)c->taps; }
static long pieces_of(const Conv *c) { return conv_boxes(c) * c->groups * ceil_div(c->rows, c->row_block); }
static long half_rows(long rows) { return ceil_div(rows, 4 * PXLRT_CHANNELS) * 2 * PXLRT_CHANNELS; }

/* 16 pieces are enough for any pool, and one is worth half a million multiply-adds at least */
static void spread_out(Conv *c)
{
	while (pieces_of(c) < 16 && work_of(c) >= 1e6) {
		if (places_of(c) >= 96) blocked_halve(c);
		else if (c->row_block > 2 * PXLRT_CHANNELS) c->row_block = half_rows(c->row_block);
		else return;
	}
}

static int whole(long channels) { return channels % PXLRT_CHANNELS == 0; }

int blocked_suits(const Conv *c)
{
	Conv k = *c;
	return c->cls == PXLRT_F32 && c->xtype == DT_F32 && c->ytype == DT_F32 && c->rank <= AXES && (!c->from_block || whole(c->chans)) && blocked_cut(&k);
}

int blocked_can_run(const Conv *c) { return c->room && whole(c->rows) && blocked_suits(c); }

int blocked_run(RtLane *ln, Conv *c)
{
	long blocks = c->groups * c->rows / PXLRT_CHANNELS, depth;
	blocked_cut(c);
	c->row_block = c->rows;
	while (!c->to_block && (double)places_of(c) * (double)c->row_block * sizeof(float) > AIM_SUMS) {
		if (c->row_block > 2 * PXLRT_CHANNELS) c->row_block = half_rows(c->row_block);
		else blocked_halve(c);
	}
	spread_out(c);
	depth = c->chans * c->taps;
	span_run(ln, pack, c, blocks, piece_of(blocks, (double)depth * 4));
	long pieces = pieces_of(c);
	return span_run(ln, piece, c, pieces, piece_of(pieces, work_of(c) * 0.02));
}
