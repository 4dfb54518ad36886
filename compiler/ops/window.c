/* window.c — the arithmetic of windows: lists, sizes, padding. */
#include "compiler/ops/window.h"

#include <inttypes.h>

int window_rank(Infer *in, int operand)
{
	Shape s = infer_in(in, operand).shape;
	if (s.rank < 3) {
		Diag *d = infer_error(in, E0313, "`%s` works on images of rank 3 or more", in->def->name);
		diag_label(in->b->ir->ds, d, "axes are images, channels, and one or more of space; got %d", s.rank);
		return 0;
	}
	for (int i = 2; i < s.rank; i++) {
		if (s.dim[i]) continue;
		Diag *d = infer_error(in, E0310, "the images of `%s` are empty", in->def->name);
		diag_label(in->b->ir->ds, d, "spatial axis %d has length 0; only images and channels may number 0", i - 2);
		return 0;
	}
	return s.rank - 2;
}

static int list_error(Infer *in, const char *name, const char *what)
{
	Diag *d = infer_error(in, E0310, "invalid `%s` for `%s`", name, in->def->name);
	diag_label(in->b->ir->ds, d, "%s", what);
	return 0;
}

int window_list(Infer *in, const char *name, int n, int64_t least, int64_t neutral, int64_t *out)
{
	Arena *a = in->b->ir->mem;
	const AttrVal *v = op_attr(in->op, name);
	int one = v->set && v->i && v->ints.n == 1, empty = !v->set || (!v->i && v->ints.n == 0);
	if (!empty && !one && v->ints.n != n)
		return list_error(in, name, arena_printf(a, "expected %d number%s for %d spatial ax%s, got %d", n, n == 1 ? "" : "s", infer_in(in, 0).shape.rank - 2,
		                                         infer_in(in, 0).shape.rank == 3 ? "is" : "es", v->ints.n));
	for (int i = 0; i < n; i++) {
		out[i] = empty ? neutral : v->ints.at[one ? 0 : i];
		if (out[i] == NO_INT) return list_error(in, name, "`none` has no meaning here");
		if (out[i] < least) return list_error(in, name, arena_printf(a, "entries are at least %" PRId64 ", got %" PRId64, least, out[i]));
		if (out[i] > INT32_MAX) return list_error(in, name, arena_printf(a, "%" PRId64 " is too large", out[i]));
	}
	return 1;
}

/* --- sizes ------------------------------------------------------------------------------------------------------ */

static const char *const pad_types[] = { "not_set", "same_upper", "same_lower", "valid", 0 };
enum { NOT_SET, SAME_UPPER, SAME_LOWER, VALID };

static int64_t up(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : a / b; }     /* ⌈a / b⌉ */

static void same(Windows *w, int i, int64_t reach, int upper)
{
	w->y[i] = up(w->x[i], w->stride[i]);
	int64_t total = (w->y[i] - 1) * w->stride[i] + reach - w->x[i];
	if (total < 0) total = 0;
	w->begin[i] = upper ? total / 2 : total - total / 2;
	w->end[i] = total - w->begin[i];
}

/* Rounded up, the last window may go past the padding, which grows; windows that begin behind the last element do not count. */
static void as_given(Windows *w, int i, int64_t reach, int ceil)
{
	int64_t room = w->x[i] + w->begin[i] + w->end[i] - reach, s = w->stride[i], most = up(w->x[i] + w->begin[i], s);
	if (!ceil) {
		w->y[i] = room < 0 ? 0 : room / s + 1;
		return;
	}
	w->y[i] = up(room, s) + 1;
	if (w->y[i] > most) w->y[i] = most;
	w->end[i] = (w->y[i] - 1) * s + reach - w->x[i] - w->begin[i];
	if (w->end[i] < 0) w->end[i] = 0;
}

static int no_room(Infer *in, const Windows *w, int i, int64_t reach)
{
	Diag *d = infer_error(in, E0310, "a window of `%s` does not fit", in->def->name);
	diag_label(in->b->ir->ds, d, "along spatial axis %d it takes in %" PRId64 " elements, and there are %" PRId64, i, reach, w->x[i] + w->begin[i] + w->end[i]);
	return 0;
}

int window_sizes(Infer *in, Windows *w, const char *name, int ceil)
{
	int how = infer_word(in, name, pad_types);
	if (how < 0) return 0;
	for (int i = 0; i < w->n; i++) {
		int64_t reach = w->dilation[i] * (w->k[i] - 1) + 1;
		if (how == VALID) w->begin[i] = w->end[i] = 0;
		if (how == SAME_UPPER || how == SAME_LOWER) same(w, i, reach, how == SAME_UPPER);
		else as_given(w, i, reach, ceil && how == NOT_SET);
		if (w->y[i] < 1) return no_room(in, w, i, reach);
	}
	return 1;
}

struct pxlrt_window window_struct(const Windows *w, DType x, DType y, int64_t images, int64_t groups, int64_t c, int64_t m)
{
	struct pxlrt_window d = { (int)x, (int)y, w->n, images, groups, c, m, .xblock = w->xblock, .yblock = w->yblock, .relu = w->relu };
	for (int i = 0; i < w->n; i++) {
		d.x[i] = w->x[i];
		d.y[i] = w->y[i];
		d.k[i] = w->k[i];
		d.stride[i] = w->stride[i];
		d.pad[i] = w->begin[i];
		d.dilation[i] = w->dilation[i];
	}
	return d;
}

const char *window_static(Emit *e, const Windows *w, DType x, DType y, int64_t images, int64_t groups, int64_t c, int64_t m)
{
	return emit_static(e, "struct pxlrt_window", "{ %d, %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %s, %s, %s, %s, %s, %s, %d, %d, %d }", x, y, w->n,
		images, groups, c, m, emit_longs(e, w->x, w->n), emit_longs(e, w->y, w->n), emit_longs(e, w->k, w->n), emit_longs(e, w->stride, w->n),
		emit_longs(e, w->begin, w->n), emit_longs(e, w->dilation, w->n), w->xblock, w->yblock, w->relu);
}
