/* render.c — a diagnostic as text: the headline, the line it is about, a caret under it, then notes and
 * help, each with its own line if it has a place.
 *
 *   error[E0301]: inner dimensions of `matmul` differ
 *     --> mlp.pxl:6:13
 *      |
 *    6 |         y = x @ w
 *      |             ^^^^^ 784 columns against 128 rows
 *
 * Bytes of the model are never trusted: what a terminal would act on is shown as `?`.  Tabs are echoed
 * under tabs, so carets stand right for any tab width; long lines are cut around the caret. */
#include "lang/base/diag.h"

#include <string.h>

enum { WIDEST = 100, LEAD = 36 };      /* columns shown of a long line; columns kept before its caret */

static const char *const level_text[] = {
	[D_ERROR] = "error", [D_WARNING] = "warning", [D_NOTE] = "note", [D_HELP] = "help",
};
static const char *const level_color[] = {
	[D_ERROR] = "\033[1;31m", [D_WARNING] = "\033[1;33m", [D_NOTE] = "\033[1;36m", [D_HELP] = "\033[1;32m",
};

typedef struct Page { const Diags *ds; Buf *out; int flags, gutter; } Page;

static void color(const Page *p, const char *code)
{
	if (p->flags & DIAG_COLOR) buf_puts(p->out, code);
}

/* length of the well-formed UTF-8 sequence at s (at most n bytes), or 0 */
static int utf8_len(const char *s, int n)
{
	unsigned char c = (unsigned char)*s;
	int k = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
	if (k == 0 || k > n) return 0;
	for (int i = 1; i < k; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80) return 0;
	return k;
}

/* C1 controls, line separators and the marks that turn the direction of text: never echoed */
static int unsafe_utf8(const char *s, int k)
{
	unsigned char a = (unsigned char)s[0], b = (unsigned char)s[1], c = k > 2 ? (unsigned char)s[2] : 0;
	if (k == 2) return a == 0xc2 && b < 0xa0;
	if (k != 3 || a != 0xe2) return 0;
	return (b == 0x80 && ((c >= 0xa8 && c <= 0xae) || c == 0x8e || c == 0x8f)) || (b == 0x81 && c >= 0xa6 && c <= 0xa9);
}

static void put_safe(Buf *out, const char *s, int n, const char *keep)
{
	for (int i = 0; i < n;) {
		int k = utf8_len(s + i, n - i);
		int bad = k == 0 || (k == 1 && ((unsigned char)s[i] < 0x20 || s[i] == 0x7f) && (!s[i] || !strchr(keep, s[i])));
		if (bad || (k > 1 && unsafe_utf8(s + i, k))) buf_putc(out, '?');
		else buf_put(out, s + i, (size_t)k);
		i += k ? k : 1;
	}
}

static void put_text(const Page *p, const char *s) { put_safe(p->out, s, (int)strlen(s), "\n\t"); }

static int digits(int n)
{
	int d = 1;
	while (n >= 10) n /= 10, d++;
	return d;
}

static int last_line(const Source *s, Span at)
{
	int line, col;
	source_locate(s, at.hi > at.lo ? at.hi - 1 : at.hi, &line, &col);
	return line;
}

/* the gutter is as wide as the largest line number that this diagnostic shows */
static int gutter_width(const Diags *ds, const Diag *d)
{
	int w = 1;
	for (int i = -1; i < d->sub.n; i++) {
		Span at = i < 0 ? d->at : d->sub.at[i].at;
		const Source *s = source_get(ds->srcs, at.src);
		int n = s ? digits(last_line(s, at)) : 1;
		if (n > w) w = n;
	}
	return w;
}

static void put_gutter(const Page *p, int line)
{
	color(p, "\033[1;34m");
	if (line) buf_pad(p->out, ' ', p->gutter - digits(line)), buf_printf(p->out, "%d |", line);
	else buf_pad(p->out, ' ', p->gutter + 1), buf_putc(p->out, '|');
	color(p, "\033[0m");
}

/* Part [from, to) of a line, chosen so that byte `lo` is in sight; cut at characters. */
static void window(const char *s, int len, int lo, int *from, int *to)
{
	*from = 0;
	*to = len;
	if (len <= WIDEST) return;
	if (lo > WIDEST - LEAD) *from = lo - LEAD;
	while (*from > 0 && ((unsigned char)s[*from] & 0xc0) == 0x80) --*from;
	if (*from + WIDEST < len) *to = *from + WIDEST;
	while (*to < len && ((unsigned char)s[*to] & 0xc0) == 0x80) ++*to;
}

static void put_carets(const Page *p, DiagLevel level, const char *s, int from, int to, int lo, int hi)
{
	buf_putc(p->out, ' ');
	if (from > 0) buf_pad(p->out, ' ', 4);
	for (int i = from; i < lo && i < to; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80) buf_putc(p->out, s[i] == '\t' ? '\t' : ' ');
	color(p, level_color[level]);
	int n = 0;
	for (int i = lo; i < hi && i < to; i++) n += ((unsigned char)s[i] & 0xc0) != 0x80;
	buf_pad(p->out, '^', n ? n : 1);
}

/* one line of the model with carets under bytes [lo, hi) of it */
static void put_line(const Page *p, DiagLevel level, const Source *src, int line, int lo, int hi, const char *label)
{
	int len, from, to;
	const char *s = source_line(src, line, &len);
	if (lo > len) lo = len;
	if (hi > len) hi = len;
	window(s, len, lo, &from, &to);
	put_gutter(p, line);
	if (to > from) buf_putc(p->out, ' ');
	if (from > 0) buf_puts(p->out, "... ");
	put_safe(p->out, s + from, to - from, "\t");
	if (to < len) buf_puts(p->out, " ...");
	buf_putc(p->out, '\n');
	put_gutter(p, 0);
	put_carets(p, level, s, from, to, lo, hi);
	if (label && *label) buf_putc(p->out, ' '), put_text(p, label);
	color(p, "\033[0m");
	buf_putc(p->out, '\n');
}

static int first_nonblank(const Source *s, int line)
{
	int len, i = 0;
	const char *t = source_line(s, line, &len);
	while (i < len && (t[i] == ' ' || t[i] == '\t')) i++;
	return i;
}

/* the place, and its line; of a span over several lines the first and the last */
static void put_snippet(const Page *p, DiagLevel level, Span at, const char *label)
{
	const Source *s = source_get(p->ds->srcs, at.src);
	if (!s) return;
	int line, col, end = last_line(s, at);
	source_locate(s, at.lo, &line, &col);
	color(p, "\033[1;34m");
	buf_pad(p->out, ' ', p->gutter);
	buf_puts(p->out, "-->");
	color(p, "\033[0m");
	buf_putc(p->out, ' ');
	put_text(p, s->name);
	buf_printf(p->out, ":%d:%d\n", line, col);
	put_gutter(p, 0);
	buf_putc(p->out, '\n');
	int lo = (int)(at.lo - s->line[line - 1]), hi = (int)(at.hi - s->line[line - 1]);
	if (end <= line) {
		put_line(p, level, s, line, lo, hi, label);
		return;
	}
	put_line(p, level, s, line, lo, hi, NULL);
	if (end > line + 1) buf_puts(p->out, "...\n");
	put_line(p, level, s, end, first_nonblank(s, end), (int)(at.hi - s->line[end - 1]), label);
}

static void render_short(const Page *p, const Diag *d)
{
	const Source *s = source_get(p->ds->srcs, d->at.src);
	if (s) {
		int line, col;
		source_locate(s, d->at.lo, &line, &col);
		put_text(p, s->name);
		buf_printf(p->out, ":%d:%d: ", line, col);
	}
	buf_printf(p->out, "%s[%s]: ", level_text[d->level], diag_table[d->code].code);
	put_safe(p->out, d->text, (int)strlen(d->text), "");
	if (d->label) buf_puts(p->out, ": "), put_safe(p->out, d->label, (int)strlen(d->label), "");
	buf_putc(p->out, '\n');
}

void diag_render(const Diags *ds, const Diag *d, int flags, Buf *out)
{
	Page p = { ds, out, flags, gutter_width(ds, d) };
	if (flags & DIAG_SHORT) {
		render_short(&p, d);
		return;
	}
	color(&p, level_color[d->level]);
	buf_printf(out, "%s[%s]", level_text[d->level], diag_table[d->code].code);
	color(&p, "\033[0;1m");
	buf_puts(out, ": ");
	put_text(&p, d->text);
	color(&p, "\033[0m");
	buf_putc(out, '\n');
	put_snippet(&p, d->level, d->at, d->label);
	for (int i = 0; i < d->sub.n; i++) {
		const DiagSub *s = &d->sub.at[i];
		color(&p, level_color[s->level]);
		buf_puts(out, level_text[s->level]);
		color(&p, "\033[0m");
		buf_puts(out, ": ");
		put_text(&p, s->text);
		buf_putc(out, '\n');
		put_snippet(&p, s->level, s->at, NULL);
	}
}

static void json_text(Buf *out, const char *key, const char *s)
{
	Buf safe = buf_new(out->mem);
	put_safe(&safe, s, (int)strlen(s), "\n\t");
	buf_printf(out, ",\"%s\":", key);
	buf_json(out, safe.s, safe.n);
}

/* columns and lines count from 1, offsets are bytes from 0; a diagnostic without a place has none of them */
static void json_place(const Diags *ds, Span at, Buf *out)
{
	const Source *s = source_get(ds->srcs, at.src);
	if (!s) return;
	int line, col, end_line, end_col;
	source_locate(s, at.lo, &line, &col);
	source_locate(s, at.hi, &end_line, &end_col);
	json_text(out, "file", s->name);
	buf_printf(out, ",\"line\":%d,\"column\":%d,\"end_line\":%d,\"end_column\":%d,\"offset\":%u,\"end_offset\":%u",
		line, col, end_line, end_col, (unsigned)at.lo, (unsigned)at.hi);
}

void diag_render_json(const Diags *ds, const Diag *d, Buf *out)
{
	const DiagInfo *info = &diag_table[d->code];
	buf_printf(out, "{\"level\":\"%s\",\"code\":\"%s\",\"kind\":\"%s\"", level_text[d->level], info->code, diag_kind_name[info->kind]);
	json_text(out, "message", d->text);
	if (d->label) json_text(out, "label", d->label);
	json_place(ds, d->at, out);
	buf_puts(out, ",\"notes\":[");
	for (int i = 0; i < d->sub.n; i++) {
		const DiagSub *s = &d->sub.at[i];
		buf_printf(out, "%s{\"level\":\"%s\"", i ? "," : "", level_text[s->level]);
		json_text(out, "message", s->text);
		json_place(ds, s->at, out);
		buf_putc(out, '}');
	}
	buf_puts(out, "]}");
}
