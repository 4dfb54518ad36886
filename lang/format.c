/* format.c — `pxlc fmt`: the same tokens, laid out anew.
 *
 * Works on tokens, not on the tree, so comments stay the author's and the tree cannot change.  What is ours:
 * indentation (four blanks per open bracket or continued line), blanks between tokens, at most one empty line, the
 * braces of a block on lines of their own unless it fits on one line, and breaks in lines that are too long.  What
 * stays: all other line breaks, the distance of a comment behind code, and runs of blanks before `=`, since they are
 * how people align.
 *
 * Pieces are written one by one.  Each place where the line might break is remembered with the whole state, if it is
 * no dearer than the last one (breaks.c has the prices).  When the line gets too long, writing goes back to that place
 * and breaks there.  What decides is found again in the result, so formatting twice is formatting once. */
#include "lang/format.h"

#include <string.h>

enum { INDENT = 4 };
enum { LEFT_SIDE = 1 << 20 };      /* what a break left of `=`, or between `for` and `in`, costs more than any other */

/* all that changes while pieces are written */
typedef struct State {
	int i;                         /* the piece to write next */
	size_t written;                /* bytes of the output */
	const Level *top;              /* innermost open bracket */
	int indent, column;            /* of the current line, in steps; behind what is on it, comments not counted */
	int started;                   /* something was written */
	int last;                      /* kind of the piece written last */
	int unary;                     /* it was a prefix operator */
	int spread;                    /* the block closed last was spread, and what follows may be its `else` */
	int continues;                 /* the line goes on with a statement that begins above */
	int names;                     /* between `for` and `in` */
} State;

typedef struct Format {
	Parse *p;
	Buf *out;
	Pieces pieces;
	uint32_t from;                 /* where the text begins, behind a byte order mark */
	int width;
	State now, best;               /* best: the cheapest place to break the current line */
	int price;                     /* of it; -1: there is none yet */
} Format;

/* at top level or in a block: a line is a statement, or goes one on */
static int among_statements(const Format *f) { return !f->now.top || f->now.top->block; }
static int levels(const Format *f) { return f->now.top ? f->now.top->indent + 1 : 0; }

static int line_indent(const Format *f, int kind)
{
	if (is_closer(kind) && f->now.top) return f->now.top->indent;
	int goes_on = (kind == '.' || layout_wants_more(f->now.last)) && !f->now.unary;
	return levels(f) + (among_statements(f) && f->now.started && goes_on);
}

static void new_line(Format *f, int indent, int empty_before)
{
	State *s = &f->now;
	if (s->started) buf_putc(f->out, '\n');
	if (s->started && empty_before) buf_putc(f->out, '\n');
	buf_pad(f->out, ' ', indent * INDENT);
	s->indent = indent;
	s->column = indent * INDENT;
	s->started = 1;
	f->price = -1;
}

static int prefix(const Format *f, int kind, int fresh)
{
	if (kind != '-' && kind != '~' && kind != '*' && kind != T_POW) return 0;
	if (fresh && among_statements(f) && !layout_wants_more(f->now.last)) return 1;
	return !layout_ends_value(f->now.last);
}

/* may the piece touch the one before it? */
static int tight(const Format *f, int k)
{
	int a = f->now.last;
	if (a == '(' || a == '[' || k == ')' || k == ']' || k == ',') return 1;
	if (a == ',') return 0;
	if (a == '.' || k == '.' || k == ':' || f->now.unary) return 1;
	if (a == ':') return f->now.top && f->now.top->kind == '[';
	if (k == '(') return layout_ends_value(a) || a == T_FN || a == T_BUILD || a == T_BUILD_GRAD;
	if (k == '[') return layout_ends_value(a);
	return a == '{' && k == '}';
}

static int blanks(const char *s, uint32_t from, uint32_t to)
{
	int n = 0;
	while (from < to && (s[from] == ' ' || s[from] == '\t')) from++, n++;
	return n;
}

static int columns(const char *s, uint32_t from, uint32_t to)
{
	int n = 0;
	for (; from < to; from++) n += ((unsigned char)s[from] & 0xc0) != 0x80;
	return n;
}

/* A comment up to the end of its line; returns the offset behind it. */
static uint32_t put_comment(Format *f, uint32_t at, uint32_t to)
{
	const char *s = f->p->text->text;
	uint32_t end = at;
	while (end < to && s[end] != '\n') end++;
	uint32_t used = end;
	while (used > at && (s[used - 1] == ' ' || s[used - 1] == '\t' || s[used - 1] == '\r')) used--;
	buf_put(f->out, s + at, used - at);
	return end;
}

/* What stands between two pieces: comments are written, those on lines of their own indented like a statement there.
 * Returns how many lines end behind the last of them; `first`: only blanks stand between a `{` and what comes. */
static int put_gap(Format *f, uint32_t from, uint32_t to, int *first)
{
	const char *s = f->p->text->text;
	int lines = 0;
	*first = f->now.last == '{';
	for (uint32_t i = from; i < to; i++) {
		if (s[i] == '\n') lines++;
		if (s[i] != '#') continue;
		if (lines || !f->now.started) {
			new_line(f, levels(f), lines > 1 && !*first);
		} else {
			uint32_t b = i;
			while (b > from && (s[b - 1] == ' ' || s[b - 1] == '\t')) b--;
			int n = blanks(s, b, i);
			buf_pad(f->out, ' ', n < 2 ? 2 : n);
		}
		i = put_comment(f, i, to) - 1;
		lines = 0;
		*first = 0;
	}
	return lines;
}

/* --- pieces --------------------------------------------------------------------------------------------------- */
static void push_level(Format *f, const Piece *x)
{
	const Level *up = f->now.top;
	Level l = { up, x->kind, x->opens_block, x->spread, up ? up->depth + 1 : 1, f->now.indent };
	/* a block belongs to its statement, on whichever line of that it opens */
	if (l.block && among_statements(f)) {
		l.indent = levels(f);
		l.spread |= f->now.continues;
	}
	if (x->before >= 0) l.spread |= f->now.spread;
	f->now.top = arena_dup(f->p->mem, &l, sizeof l);
}

static void track(Format *f, const Piece *x)
{
	if (x->kind == '(' || x->kind == '[' || x->kind == '{') push_level(f, x);
	else if (is_closer(x->kind) && f->now.top) {
		f->now.spread = f->now.top->spread;
		f->now.top = f->now.top->up;
	}
}

/* the block whose `{` was written last gets its `}` on a line of its own */
static void spread(Format *f)
{
	Level l = *f->now.top;
	l.spread = 1;
	f->now.top = arena_dup(f->p->mem, &l, sizeof l);
}

static void put_space(Format *f, const Piece *x, uint32_t from)
{
	int n = tight(f, x->kind) ? 0 : 1;
	if (x->kind == '=' && among_statements(f)) n = blanks(f->p->text->text, from, x->at.lo);
	if (x->kind == '=' && n == 0) n = 1;
	buf_pad(f->out, ' ', n);
	f->now.column += n;
}

/* behind the `{` or before the `}` of a block that is spread; an empty one may have both on one line */
static int at_braces(const Format *f, const Piece *x)
{
	const Level *top = f->now.top;
	if (!top || !top->block || !top->spread) return 0;
	return x[-1].opens_block != (x->kind == '}');
}

static const Level *block_of(const Level *l)
{
	while (l && !l->block) l = l->up;
	return l;
}

/* What was remembered stands left of the `=` that was just written, in its statement. */
static void note_left_side(Format *f)
{
	int braces = f->price >= 0 && f->pieces.at[f->best.i - 1].opens_block;
	if (f->price >= 0 && !braces && among_statements(f) && block_of(f->best.top) == f->now.top) f->price += LEFT_SIDE;
}

static void remember(Format *f, State before)
{
	int price = break_price(&f->pieces, before.i, before.top, before.unary);
	if (price >= 0 && before.names) price += LEFT_SIDE;
	/* of equal places the last one, but of braces the first: then `else` follows */
	int worse = f->price >= 0 && (price > f->price || (price == f->price && f->pieces.at[before.i - 1].opens_block));
	if (price < 0 || worse) return;
	f->price = price;
	f->best = before;
}

static void put_piece(Format *f, int broken)
{
	State before = f->now;
	const Piece *x = &f->pieces.at[f->now.i];
	uint32_t from = f->now.i ? x[-1].at.hi : f->from;
	int first, lines = put_gap(f, from, x->at.lo, &first);
	f->now.i++;
	if (x->kind == 0) return;
	int fresh = broken || lines > 0 || !f->now.started || at_braces(f, x);
	if (broken && x[-1].opens_block) spread(f);
	if (fresh) {
		int indent = line_indent(f, x->kind);
		f->now.continues = !among_statements(f) || indent > levels(f);
		new_line(f, indent, lines > 1 && !first && !is_closer(x->kind));
	} else {
		remember(f, before);
		put_space(f, x, from);
	}
	int unary = prefix(f, x->kind, fresh);
	buf_put(f->out, f->p->text->text + x->at.lo, x->at.hi - x->at.lo);
	f->now.column += columns(f->p->text->text, x->at.lo, x->at.hi);
	if (x->kind == '=') note_left_side(f);
	if (x->kind == T_FOR || x->kind == T_IN) f->now.names = x->kind == T_FOR;
	track(f, x);
	f->now.last = x->kind;
	f->now.unary = unary;
	f->now.written = f->out->n;
}

static void format(Format *f)
{
	int broken = 0;
	while (f->now.i < f->pieces.n) {
		put_piece(f, broken);
		broken = f->now.column > f->width && f->price >= 0;
		if (!broken) continue;
		f->now = f->best;
		f->price = -1;
		f->out->n = f->now.written;
	}
	if (f->now.started) buf_putc(f->out, '\n');
}

void ast_format(const Ast *a, const Source *src, int width, Buf *out)
{
	Arena *mem = out->mem;
	Intern names;
	intern_init(&names, mem);
	Sources none = { .mem = mem };
	Diags unseen = { .mem = mem, .srcs = &none };
	Parse *p = NEW(mem, Parse);
	*p = (Parse){ .mem = mem, .names = &names, .ds = &unseen, .text = src, .src = a->at.src };
	Format f = { .p = p, .out = out, .width = width, .price = -1 };
	if (setjmp(p->fatal)) return;
	lex_open(p);
	f.from = p->pos;
	f.pieces = format_pieces(p);
	format(&f);
}
