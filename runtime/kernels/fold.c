/* fold.c — loops that end in folds: what a loop makes is folded while it is in the cache, and need not be stored.
 *
 * The space is dim[0] × dim[1] groups of dim[2] × dim[3] elements; a group gives dim[3] results, to be added over dim[0].  Several small
 * groups are a job, or a piece of a large one:
 *   rows (dim[3] is 1)   FOLD_PIECE elements of it
 *   columns              FOLD_BAND whole rows (of the first LARGE results, the next …), so that memory is read in order
 * The loop is asked for a window of a job at a time, about BLOCK_MAX elements of rows and SMALL of columns: memory goes on being read ahead
 * while so few are folded, and stands still while more are.
 * Values that the loop stores are folded from there.  What each piece gives is an Acc per result, kept in the lane's scratch and
 * added up in order at the end: by whom pieces are made cannot be seen.  Where one piece has all of a result, it is finished at
 * once.  A window is cut and folded as reduce.c does it. */
#include "runtime/kernels/fold.h"

/* columns: a window has as many rows as it takes to be SMALL, but at least 1 + BUNDLE if that is not beyond LARGE, which stays in the second cache.
 * Scratch holds partial results, and for each end its window and what a band has come to. */
enum { SMALL = 2048, LARGE = 32768, SIDE = LARGE * 8, ROOM = RT_SCRATCH_BYTES - 2 * PXLRT_FOLDS * SIDE };

typedef struct Run {
	const struct pxlrt_fold *d;
	pxlrt_rows body;
	void *const *p;
	Fold end[PXLRT_FOLDS];
	long groups, kept, r, c;             /* dim[0] · dim[1], dim[1], and what a group is; see beside */
	long beside;                         /* rows of columns that are taken as one, as reduce.c does */
	long lines;                          /* the loop's rows in one of the group's */
	long together;                       /* groups in a window; 0: a group takes several */
	long pieces;                         /* of a group, for each an Acc per column */
	long bands;                          /* columns: bands of a piece */
	long parts, part;                    /* columns: parts of a row, and how many of the loop's rows one is; 0: one is a part of such a row */
	long jobs;
	int at_once;                         /* a group's results need nobody else's */
} Run;

/* --- the cut ------------------------------------------------------------------------------------------------------ */

static long room_for(const Run *u) { return u->groups * u->pieces * u->c * u->d->folds * (long)sizeof(Acc); }

/* as many short rows of a long fold as fit: see take_together in reduce.c */
static void take_beside(Run *u)
{
	long k = FOLD_COLS / u->c;
	u->beside = 1;
	if (u->c == 1 || u->r <= FOLD_BAND) return;
	while (k > 1 && u->r % k) k--;
	if (k <= 1) return;
	u->beside = k;
	u->r /= k;
	u->c *= k;
}

static void cut_rows(Run *u)
{
	long lines = u->r / u->d->width;
	u->pieces = u->d->width <= FOLD_PIECE ? ceil_div(lines, FOLD_PIECE / u->d->width) : lines * ceil_div(u->d->width, FOLD_PIECE);
	u->parts = 1;
}

/* parts of whole rows of the loop where those are short; more bands to a piece where the room would not do */
static void cut_columns(Run *u)
{
	long bands = ceil_div(u->r, FOLD_BAND), width = u->d->width;
	u->part = width <= LARGE ? min_l(u->lines, LARGE / width) : 0;
	u->parts = u->part ? ceil_div(u->lines, u->part) : u->lines * ceil_div(width, LARGE);
	u->pieces = bands;
	for (u->bands = 1; u->pieces > 1 && room_for(u) > ROOM; u->pieces = ceil_div(bands, u->bands)) u->bands *= 2;
}

static Run run_of(const struct pxlrt_fold *d)
{
	Run u = { .d = d, .groups = d->dim[0] * d->dim[1], .kept = d->dim[1], .r = d->dim[2], .c = d->dim[3], .pieces = 1, .parts = 1 };
	take_beside(&u);
	u.lines = u.c / d->width;
	if (u.r * u.c <= BLOCK_MAX) u.together = BLOCK_MAX / (u.r * u.c);
	else if (u.c == 1) cut_rows(&u);
	else cut_columns(&u);
	u.jobs = u.together ? ceil_div(u.groups, u.together) : u.groups * u.pieces * u.parts;
	u.at_once = d->dim[0] == 1 && u.pieces == 1 && u.bands <= 1;
	return u;
}

/* rows are cut at lines of a width that is not known yet: that makes at most twice as many pieces */
int rt_fold_fits(const struct pxlrt_fold *d)
{
	Run u = run_of(d);
	if (u.c == 1 && u.r > FOLD_PIECE) u.pieces = ceil_div(2 * u.r, FOLD_PIECE);
	return u.at_once || room_for(&u) <= ROOM;
}

/* --- windows -------------------------------------------------------------------------------------------------------- */

/* where the values of an end go, and what a band of columns has come to: behind the partial results, of which there may be some in the same scratch */
static void *window(RtLane *ln, int end) { return (char *)ln->scratch + ROOM + 2 * end * SIDE; }
static Block *band_from(const Run *u, RtLane *ln, int end, long column)
{
	return (Block *)(void *)((char *)window(ln, end) + SIDE + column * (long)class_size(u->end[end].cls));
}

/* where those of the window are that begins with element `first` of the space */
static const char *values(const Run *u, RtLane *ln, int end, long first)
{
	int from = u->d->end[end].from;
	return from < 0 ? window(ln, end) : at_elem(u->p[from], u->end[end].dtype, first);
}

static int make(const Run *u, RtLane *ln, long lo, long hi, long from, long to)
{
	void *p[PXLRT_FOLD_POINTERS];
	for (int i = 0; i < u->d->pointers; i++) p[i] = u->p[i];
	for (int i = 0; i < u->d->folds; i++) p[u->d->end[i].at] = window(ln, i);
	return u->body(ln->rt, &ln->pub, p, lo, hi, from, to);
}

/* --- results -------------------------------------------------------------------------------------------------------- */

/* room for what a piece of a group gives for end i */
static Acc *piece_of_group(const Run *u, const RtLane *owner, int i, long group, long piece)
{
	return (Acc *)owner->scratch + ((i * u->groups + group) * u->pieces + piece) * u->c;
}

/* all of the group's results from `at` on, n for each that are beside each other */
static void finish(const Run *u, int i, long group, Acc *out, long at, long n)
{
	const Fold *f = &u->end[i];
	if (u->beside > 1) fold_add_beside(f, out, n = u->c / u->beside);
	fold_store(f, out, NULL, n, group * (u->c / u->beside) + at);
}

static void start_all(const Fold *f, Acc *out, long n)
{
	Acc start = fold_start(f);
	for (long j = 0; j < n; j++) out[j] = start;
}

/* --- small groups ----------------------------------------------------------------------------------------------------- */

/* what is folded next lies in rows, `stride` elements apart */
static void set_rows(Fold *f, long rows, long stride)
{
	f->red.n = 1;
	f->red.dim[0] = f->red.count = rows;
	f->red.stride[0] = stride;
}

/* the columns of a group that lies at x */
static void fold_columns(const Run *u, const RtLane *owner, int i, long group, Fold *f, const char *x)
{
	Acc local[FOLD_COLS];
	Block acc;
	set_rows(f, u->r, u->c);
	for (long at = 0; at < u->c; at += FOLD_COLS) {
		long n = min_l(FOLD_COLS, u->c - at);
		Acc *out = u->at_once ? local : piece_of_group(u, owner, i, group, 0) + at;
		start_all(f, out, n);
		for (long r = 0; r < u->r; r += FOLD_BAND) {
			fold_band(f, at_elem(x, f->dtype, at), 1, n, r, min_l(r + FOLD_BAND, u->r), NULL, 0, &acc);
			fold_add_block(f, out, &acc, n);
		}
		if (u->at_once) finish(u, i, group, out, at, n);
	}
}

/* groups that are a row each */
static void fold_short(const Run *u, const RtLane *owner, int i, long group, long n, const char *x)
{
	const Fold *f = &u->end[i];
	Acc local[FOLD_COLS];
	for (long at = 0, k; at < n; at += k) {
		k = min_l(FOLD_COLS, n - at);
		Acc *out = u->at_once ? local : piece_of_group(u, owner, i, group + at, 0);
		for (long j = 0; j < k; j++) out[j] = fold_stretch(f, at_elem(x, f->dtype, (at + j) * u->r), 1, u->r, NULL);
		if (u->at_once) fold_store(f, out, NULL, k, group + at);
	}
}

static int job_together(const Run *u, const RtLane *owner, RtLane *ln, long job)
{
	long g0 = job * u->together, g1 = min_l(g0 + u->together, u->groups), group = u->r * u->c, lines = group / u->d->width;
	int st = make(u, ln, g0 * lines, g1 * lines, 0, u->d->width);
	for (int i = 0; i < u->d->folds && !st; i++) {
		const char *x = values(u, ln, i, g0 * group);
		Fold f = u->end[i];
		if (u->c == 1) fold_short(u, owner, i, g0, g1 - g0, x);
		else for (long g = g0; g < g1; g++) fold_columns(u, owner, i, g, &f, at_elem(x, f.dtype, (g - g0) * group));
	}
	return st;
}

/* --- pieces of rows --------------------------------------------------------------------------------------------------- */

/* columns [from, to) of rows [lo, hi) of the loop, window by window */
static int fold_lines(const Run *u, RtLane *ln, long lo, long hi, long from, long to, Acc *const *out)
{
	long width = u->d->width, rows = width < BLOCK_MAX ? BLOCK_MAX / width : 1;
	for (long r = lo; r < hi; r += rows)
		for (long c = from, last; c < to; c = last) {
			long end = min_l(r + rows, hi);
			last = to - c < BLOCK_MAX + BLOCK_MAX / 2 ? to : c + BLOCK_MAX;      /* no window for a few elements */
			int st = make(u, ln, r, end, c, last);
			if (st) return st;
			for (int i = 0; i < u->d->folds; i++) {
				Acc a = fold_stretch(&u->end[i], values(u, ln, i, r * width + c), 1, (end - r) * (last - c), NULL);
				fold_add(&u->end[i], out[i], &a);
			}
		}
	return 0;
}

static int job_rows(const Run *u, const RtLane *owner, RtLane *ln, long job)
{
	long width = u->d->width, group = job / u->pieces, piece = job % u->pieces, lines = u->r / width;
	long lo = group * lines, hi = lo + lines, from = 0, to = width;
	Acc local[PXLRT_FOLDS], *out[PXLRT_FOLDS];
	if (width <= FOLD_PIECE) {
		lo += piece * (FOLD_PIECE / width);
		hi = min_l(lo + FOLD_PIECE / width, hi);
	} else {
		long parts = ceil_div(width, FOLD_PIECE);
		lo += piece / parts;
		hi = lo + 1;
		from = piece % parts * FOLD_PIECE;
		to = min_l(from + FOLD_PIECE, width);
	}
	for (int i = 0; i < u->d->folds; i++) *(out[i] = u->at_once ? &local[i] : piece_of_group(u, owner, i, group, piece)) = fold_start(&u->end[i]);
	int st = fold_lines(u, ln, lo, hi, from, to, out);
	for (int i = 0; i < u->d->folds && u->at_once && !st; i++) finish(u, i, group, out[i], 0, 1);
	return st;
}

/* --- pieces of columns ------------------------------------------------------------------------------------------------- */

/* a part of a group's rows: columns [at, at + n), which are rows [line, line + lines) of the loop in each of them, columns [from, to) */
typedef struct Part { long at, n, line, lines, from, to; } Part;

static Part part_of(const Run *u, long part)
{
	long width = u->d->width, cuts = ceil_div(width, LARGE);
	Part p = { .lines = 1 };
	if (u->part) {
		p.line = part * u->part;
		p.lines = min_l(u->part, u->lines - p.line);
		p.to = width;
	} else {
		p.line = part / cuts;
		p.from = part % cuts * LARGE;
		p.to = min_l(p.from + LARGE, width);
	}
	p.at = p.line * width + p.from;
	p.n = p.lines * (p.to - p.from);
	return p;
}

/* rows [lo, hi) of a group, at most a band: what the ends have of them */
static int fold_rows(const Run *u, RtLane *ln, Fold *f, long group, const Part *p, long lo, long hi)
{
	long whole = p->lines == u->lines && p->n * (1 + BUNDLE) <= LARGE;       /* rows may be made one behind the other */
	long most = whole ? max_l((SMALL / p->n - 1) / BUNDLE, 1) * BUNDLE : 1;
	for (long r = lo, rows; r < hi; r += rows) {
		rows = min_l(most + (r == lo && whole), hi - r);
		long line = (group * u->r + r) * u->lines + p->line;
		int st = make(u, ln, line, line + rows * p->lines, p->from, p->to);
		if (st) return st;
		for (int i = 0; i < u->d->folds; i++) {
			const char *x = values(u, ln, i, (group * u->r + r) * u->c + p->at);
			set_rows(&f[i], rows, u->d->end[i].from < 0 ? p->n : u->c);
			for (long at = 0; at < p->n; at += FOLD_COLS)
				fold_band(&f[i], at_elem(x, f[i].dtype, at), 1, min_l(FOLD_COLS, p->n - at), 0, rows, NULL, r > lo, band_from(u, ln, i, at));
		}
	}
	return 0;
}

/* a band is all there is of columns, and may be what is wanted as it is */
static void finish_band(const Run *u, RtLane *ln, int i, long group, const Part *p)
{
	const Fold *f = &u->end[i];
	Acc out[FOLD_COLS];
	if (f->op == f->final && u->beside == 1) {
		f->rt->st[f->dtype](at_elem_mut(f->y, f->dtype, group * u->c + p->at), 1, band_from(u, ln, i, 0), p->n);
		return;
	}
	for (long at = 0; at < p->n; at += FOLD_COLS) {
		long n = min_l(FOLD_COLS, p->n - at);
		start_all(f, out, n);
		fold_add_block(f, out, band_from(u, ln, i, at), n);
		finish(u, i, group, out, p->at + at, n);
	}
}

static int job_columns(const Run *u, const RtLane *owner, RtLane *ln, long job)
{
	long group = job / u->parts / u->pieces, piece = job / u->parts % u->pieces, first = piece * u->bands * FOLD_BAND;
	long end = min_l(first + u->bands * FOLD_BAND, u->r);
	Part p = part_of(u, job % u->parts);
	Fold f[PXLRT_FOLDS];
	for (int i = 0; i < u->d->folds; i++) f[i] = u->end[i];
	for (long r = first; r < end; r += FOLD_BAND) {
		int st = fold_rows(u, ln, f, group, &p, r, min_l(r + FOLD_BAND, end));
		if (st) return st;
		for (int i = 0; i < u->d->folds && !u->at_once; i++) {
			Acc *out = piece_of_group(u, owner, i, group, piece) + p.at;
			if (r == first) start_all(&u->end[i], out, p.n);
			fold_add_block(&u->end[i], out, band_from(u, ln, i, 0), p.n);
		}
	}
	for (int i = 0; i < u->d->folds && u->at_once; i++) finish_band(u, ln, i, group, &p);
	return 0;
}

/* --- adding up ----------------------------------------------------------------------------------------------------------- */

static void add_pieces(const Fold *f, Acc *out, const Acc *piece, long n)
{
	int plain = f->cls == PXLRT_F32 && f->op != PXLRT_PROD && f->op != PXLRT_MAX && f->op != PXLRT_MIN;
	for (long j = 0; j < n && plain; j++) out[j].f += piece[j].f;
	for (long j = 0; j < n && !plain; j++) fold_add(f, &out[j], &piece[j]);
}

/* results of a kept index: columns [at, at + n) */
static void add_up(const Run *u, const RtLane *owner, int i, long k, long at, long n)
{
	const Fold *f = &u->end[i];
	Acc out[FOLD_COLS];
	start_all(f, out, n);
	for (long group = k; group < u->groups; group += u->kept)
		for (long piece = 0; piece < u->pieces; piece++) add_pieces(f, out, piece_of_group(u, owner, i, group, piece) + at, n);
	finish(u, i, k, out, at, n);
}

typedef struct Spread { const Run *u; const RtLane *owner; } Spread;

static int sums_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Spread *s = ctx;
	long cuts = ceil_div(s->u->c, FOLD_COLS);
	(void)ln;
	for (long j = lo; j < hi; j++) {
		long at = j % cuts * FOLD_COLS;
		for (int i = 0; i < s->u->d->folds; i++) add_up(s->u, s->owner, i, j / cuts, at, min_l(FOLD_COLS, s->u->c - at));
	}
	return 0;
}

static int jobs_body(RtLane *ln, void *ctx, long lo, long hi)
{
	const Spread *s = ctx;
	int st = 0;
	for (long j = lo; j < hi && !st; j++)
		st = s->u->together ? job_together(s->u, s->owner, ln, j) : s->u->c == 1 ? job_rows(s->u, s->owner, ln, j) : job_columns(s->u, s->owner, ln, j);
	return st;
}

int k_fold(struct pxlrt_lane *lane, const struct pxlrt_fold *d, pxlrt_rows body, void *const *p)
{
	RtLane *ln = rt_lane(lane);
	Run u = run_of(d);
	Spread s = { &u, ln };
	long size = max_l(u.groups * u.r * u.c / u.jobs, 1), cuts = ceil_div(u.c, FOLD_COLS);
	u.body = body;
	u.p = p;
	for (int i = 0; i < d->folds; i++) {
		u.end[i] = fold_of(ln, d->end[i].op, d->end[i].dtype, NULL, p[d->end[i].at]);
		u.end[i].total = d->dim[0] * d->dim[2];
		u.end[i].beside = u.beside;
		u.end[i].near = 1;
	}
	int st = span_run(ln, jobs_body, &s, u.jobs, max_l(d->grain / size, 1));
	if (st || u.at_once) return st;
	return span_run(ln, sums_body, &s, u.kept * cuts, piece_of(u.kept * cuts, (double)(u.groups / u.kept * u.pieces * min_l(u.c, FOLD_COLS))));
}
