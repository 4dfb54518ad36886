/* conv_plan.c — cutting a convolution into boxes, and staging a box's part of the source: see conv.h. */
#include "runtime/kernels/conv.h"

/* --- taps along one axis --------------------------------------------------------------------------------------- */

static long gcd(long a, long b)
{
	a = a < 0 ? -a : a;
	while (b) {
		long r = a % b;
		a = b;
		b = r;
	}
	return a;
}

static long offset_of(const ConvAxis *a, long tap) { return a->off0 + tap * a->doff; }
static long last_of(const ConvAxis *a, long kind) { return kind + (a->taps - 1 - kind) / a->kinds * a->kinds; }

/* the source index of a plane's first element, for columns from 0 */
static long start_of(const ConvAxis *a, long kind) { return min_l(offset_of(a, kind), offset_of(a, last_of(a, kind))); }

static long kind_of(const ConvAxis *a, long tap) { return tap % a->kinds; }
static long place_of(const ConvAxis *a, long tap) { return (offset_of(a, tap) - start_of(a, kind_of(a, tap))) / a->step; }

/* the first kind has the most taps */
static long margin_of(const ConvAxis *a)
{
	long d = offset_of(a, last_of(a, 0)) - offset_of(a, 0);
	return (d < 0 ? -d : d) / a->step;
}

/* --- boxes -------------------------------------------------------------------------------------------------------- */

void conv_open(Conv *c, RtLane *ln, const struct pxlrt_window *d)
{
	memset(c, 0, sizeof *c);
	c->cls = d->xtype == DT_F64 ? PXLRT_F64 : PXLRT_F32;
	if (ln) {
		c->rt = table_of(ln);
		c->isa = c->cls == PXLRT_F64 ? isa_of(ln)->gemm_f64 : isa_of(ln)->gemm_f32;
	}
	c->size = class_size(c->cls);
	c->rank = d->rank;
	c->images = d->images;
	c->groups = d->groups;
}

void conv_windows(Conv *c, const struct pxlrt_window *d)
{
	c->xtype = d->xtype, c->ytype = d->ytype;
	c->rows = d->m, c->chans = d->c;
	c->from_block = d->xblock, c->to_block = d->yblock;
	for (int i = 0; i < d->rank; i++)
		c->axis[i] = (ConvAxis){ .source = d->x[i], .columns = d->y[i], .step = d->stride[i], .taps = d->k[i], .off0 = -d->pad[i],
		                         .doff = d->dilation[i], .every = 1, .result = d->y[i] };
}

static void measure(Conv *c)
{
	c->planes = 1;
	c->volume = c->fold;
	for (int i = 0; i < c->rank; i++) {
		ConvAxis *a = &c->axis[i];
		a->len = a->tile + (a->spread ? 0 : margin_of(a));
		c->planes *= a->kinds;
		c->volume *= a->len;
	}
}

static void spread(ConvAxis *a)
{
	a->spread = 1;
	a->kinds = a->taps;
}

/* few columns: all axes are spread and images share a box; else an axis whose margin would be large */
static void choose(Conv *c)
{
	long all = 1;
	c->fold = c->taps = 1;
	for (int i = 0; i < c->rank; i++) {
		ConvAxis *a = &c->axis[i];
		a->kinds = min_l(a->taps, a->step / gcd(a->doff, a->step));
		a->tile = a->columns;
		a->spread = 0;
		c->taps *= a->taps;
		all *= a->columns;
	}
	int few = all <= 36 && c->images > 1;
	if (few) c->fold = min_l(c->images, 256 / all);
	for (int i = 0; i < c->rank; i++) {
		ConvAxis *a = &c->axis[i];
		if (few || (i && a->columns * 10 < 7 * (a->columns + margin_of(a)))) spread(a);
	}
	measure(c);
}

long conv_most_columns(const Conv *c)
{
	long n = 1, pitch = 1;
	for (int i = c->rank - 1; i >= 0; i--) {
		n += (c->axis[i].tile - 1) * pitch;
		pitch *= c->axis[i].len;
	}
	return n + (c->fold - 1) * pitch;
}

static long halved(long whole, long piece) { return ceil_div(whole, ceil_div(whole, piece) * 2); }

void conv_halve(Conv *c)
{
	int i = 0;
	if (c->fold > 1) c->fold = halved(c->images, c->fold);
	else {
		while (i < c->rank && c->axis[i].tile == 1) i++;
		if (i < c->rank) c->axis[i].tile = halved(c->axis[i].columns, c->axis[i].tile);
	}
	measure(c);
}

static double bytes(const Conv *c, double elements) { return elements * (double)c->size; }
static double plane_bytes(const Conv *c) { return bytes(c, (double)c->planes * (double)c->volume + SLACK); }

int conv_cut(Conv *c, long rows)
{
	choose(c);
	for (;;) {
		long n = conv_most_columns(c);
		if (plane_bytes(c) <= AIM_PLANES && bytes(c, (double)n * (double)rows) <= AIM_SUMS) return 1;
		conv_halve(c);
		if (conv_most_columns(c) == n) return plane_bytes(c) <= ROOM_PLANES && bytes(c, (double)(n + SLACK) * (double)rows) <= ROOM_SUMS;
	}
}

long conv_boxes(const Conv *c)
{
	long n = ceil_div(c->images, c->fold);
	for (int i = 0; i < c->rank; i++) n *= ceil_div(c->axis[i].columns, c->axis[i].tile);
	return n;
}

ConvBox conv_box(const Conv *c, long k)
{
	ConvBox b;
	for (int i = c->rank - 1; i >= 0; i--) {
		const ConvAxis *a = &c->axis[i];
		long pieces = ceil_div(a->columns, a->tile);
		b.at[i] = k % pieces * a->tile;
		b.n[i] = min_l(a->tile, a->columns - b.at[i]);
		k /= pieces;
	}
	b.image = k * c->fold;
	b.images = min_l(c->fold, c->images - b.image);
	return b;
}

long conv_columns(const Conv *c, const ConvBox *b)
{
	long n = 1, pitch = 1;
	for (int i = c->rank - 1; i >= 0; i--) {
		n += (b->n[i] - 1) * pitch;
		pitch *= c->axis[i].len;
	}
	return n + (b->images - 1) * pitch;
}

void conv_runs(const Conv *c, const ConvBox *b, ConvRun run, void *ctx)
{
	long at[PXLRT_MAXSPACE] = { 0 };
	int last = c->rank - 1;
	for (long image = 0; image < b->images; image++)
		for (int i = 0; i >= 0;) {
			long column = image, pos[PXLRT_MAXSPACE];
			for (i = 0; i <= last; i++) {
				column = column * c->axis[i].len + at[i];
				pos[i] = b->at[i] + at[i];
			}
			run(ctx, column, b->image + image, pos, b->n[last]);
			for (i = last - 1; i >= 0 && ++at[i] == b->n[i]; i--) at[i] = 0;
		}
}

/* --- staging --------------------------------------------------------------------------------------------------------- */

/* lo, hi: the part of a row of the last axis that lies in the source, from `from` on */
typedef struct Stage { const Conv *c; const ConvBox *b; long kind[PXLRT_MAXSPACE], size[PXLRT_MAXSPACE], pitch[PXLRT_MAXSPACE], lo, hi, from; } Stage;

/* how many of `n` places from `at` on, `step` apart, lie below `source` */
static long before(long at, long step, long source, long n)
{
	return at >= source ? 0 : min_l(n, ceil_div(source - at, step));
}

/* margins are a few elements: a loop beats a call */
static void clear(const Conv *c, char *to, long n)
{
	if (n > 16) memset(to, 0, (size_t)n * c->size);
	else if (c->size == 4) for (long i = 0; i < n; i++) ((float *)(void *)to)[i] = 0;
	else for (long i = 0; i < n; i++) ((double *)(void *)to)[i] = 0;
}

static void last_row(Stage *s)
{
	int i = s->c->rank - 1;
	const ConvAxis *a = &s->c->axis[i];
	long at = s->b->at[i] * a->step + start_of(a, s->kind[i]);
	s->lo = before(at, a->step, 0, a->len);
	s->hi = before(at, a->step, a->source, a->len);
	s->from = at + s->lo * a->step;
}

static void stage_row(const Stage *s, const char *from, char *to)
{
	const Conv *c = s->c;
	const ConvAxis *a = &c->axis[c->rank - 1];
	size_t e = c->size;
	long n = s->hi - s->lo;
	if (s->lo) clear(c, to, s->lo);
	if (n > 0 && a->step == 1 && is_native(c->xtype)) copy_elements(to + (size_t)s->lo * e, at_elem(from, c->xtype, s->from), (size_t)n * e);
	else if (n > 0) c->rt->ld[c->xtype](to + (size_t)s->lo * e, at_elem(from, c->xtype, s->from), a->step, n);
	if (s->hi < a->len) clear(c, to + (size_t)s->hi * e, a->len - s->hi);
}

/* one image's part of a plane, axis by axis; from: element 0 of what is left of the source */
static void stage_axis(const Stage *s, int i, const char *from, char *to)
{
	const Conv *c = s->c;
	const ConvAxis *a = &c->axis[i];
	if (i == c->rank - 1) {
		stage_row(s, from, to);
		return;
	}
	long at = s->b->at[i] * a->step + start_of(a, s->kind[i]);
	for (long l = 0; l < a->len; l++, at += a->step, to += s->pitch[i] * (long)c->size) {
		if (at < 0 || at >= a->source) memset(to, 0, (size_t)s->pitch[i] * c->size);
		else stage_axis(s, i + 1, at_elem(from, c->xtype, at * s->size[i]), to);
	}
}

void conv_stage(const Conv *c, const ConvBox *b, long group, long chan, long n, char *planes)
{
	Stage s = { .c = c, .b = b };
	long size = 1, pitch = 1;
	for (int i = c->rank - 1; i >= 0; i--) {
		s.size[i] = size, s.pitch[i] = pitch;
		size *= c->axis[i].source, pitch *= c->axis[i].len;
	}
	for (long ch = 0; ch < n; ch++)
		for (long k = 0; k < c->planes; k++) {
			long rest = k;
			for (int i = c->rank - 1; i >= 0; i--) s.kind[i] = rest % c->axis[i].kinds, rest /= c->axis[i].kinds;
			last_row(&s);
			for (long m = 0; m < b->images; m++) {
				const char *from = at_elem(c->x, c->xtype, (((b->image + m) * c->groups + group) * c->chans + chan + ch) * size);
				stage_axis(&s, 0, from, planes + ((ch * c->planes + k) * c->volume + m * pitch) * (long)c->size);
			}
		}
	memset(planes + n * c->planes * c->volume * (long)c->size, 0, SLACK * c->size);
}

static long tap_distance(const Conv *c, long tap)
{
	long plane = 0, place = 0, scale = 1, pitch = 1;
	for (int i = c->rank - 1; i >= 0; i--) {
		const ConvAxis *a = &c->axis[i];
		long t = tap % a->taps;
		tap /= a->taps;
		plane += kind_of(a, t) * scale;
		place += a->spread ? 0 : place_of(a, t) * pitch;
		scale *= a->kinds;
		pitch *= a->len;
	}
	return plane * c->volume + place;
}

/* taps row by row of the last axis */
static void tap_distances(const Conv *c, long *off)
{
	const ConvAxis *a = &c->axis[c->rank - 1];
	for (long i = 0; i < c->taps; i += a->taps) {
		off[i] = tap_distance(c, i);
		for (long t = 1; t < a->taps; t++) {
			long kinds = kind_of(a, t) - kind_of(a, 0), place = a->spread ? 0 : place_of(a, t) - place_of(a, 0);
			off[i + t] = off[i] + kinds * c->volume + place;
		}
	}
}

void conv_offsets(const Conv *c, long k0, long n, long *off)
{
	long chan = c->planes * c->volume, i = 0;
	if (k0 == 0 && n >= c->taps) {
		tap_distances(c, off);
		i = c->taps;
	}
	for (; i < n; i++) off[i] = i >= c->taps ? off[i - c->taps] + chan : tap_distance(c, (k0 + i) % c->taps) + (k0 + i) / c->taps * chan;
}
