/* format.c — `pxlc fmt`: the same tokens, laid out anew.
 *
 * Works on tokens, not on the tree, so comments and line breaks stay the author's and the tree cannot
 * change.  What is ours: indentation (four blanks per open bracket or continued line), blanks between
 * tokens, at most one empty line.  What stays: where lines break, the column of a comment behind code,
 * and runs of blanks before `=`, since they are how people align.  Every rule looks only at what it
 * leaves unchanged, so formatting twice is formatting once. */
#include "lang/parse.h"
#include "lang/grammar.h"

#include <string.h>

enum { INDENT = 4 };

typedef struct Level { char kind; int block, indent; } Level;    /* an open bracket; indent of its line */

typedef struct Format {
	Parse *p;
	Buf *out;
	VEC(Level) open;
	int indent;                    /* of the current line, in steps */
	int started, on_line;          /* something was written: at all, on this line */
	Token last, before;            /* the tokens just written */
	int last_unary, last_block;    /* it was a prefix operator; it closed a block */
} Format;

static const Level *top(const Format *f) { return f->open.n ? &vec_last(&f->open) : NULL; }

/* at top level or in a block: a line is a statement, or goes one on */
static int among_statements(const Format *f) { return !top(f) || top(f)->block; }

static int is_closer(int kind) { return kind == ')' || kind == ']' || kind == '}'; }

static int line_indent(const Format *f, const Token *t)
{
	const Level *l = top(f);
	if (t && is_closer(t->kind) && l) return l->indent;
	int n = l ? l->indent + 1 : 0;
	int goes_on = t && (t->kind == '.' || layout_wants_more(f->last.kind)) && !f->last_unary;
	return among_statements(f) && f->started && goes_on ? n + 1 : n;
}

static void new_line(Format *f, int indent, int empty_before)
{
	if (f->started) buf_putc(f->out, '\n');
	if (f->started && empty_before) buf_putc(f->out, '\n');
	f->indent = indent;
	buf_pad(f->out, ' ', indent * INDENT);
	f->started = 1;
	f->on_line = 0;
}

static int prefix(const Format *f, const Token *t, int fresh)
{
	if (t->kind != '-' && t->kind != '~' && t->kind != '*' && t->kind != T_POW) return 0;
	if (fresh && among_statements(f) && !layout_wants_more(f->last.kind)) return 1;
	return !layout_ends_value(f->last.kind);
}

/* may b touch a? */
static int tight(const Format *f, const Token *b)
{
	int a = f->last.kind, k = b->kind;
	if (a == '(' || a == '[' || k == ')' || k == ']' || k == ',') return 1;
	if (a == ',') return 0;
	if (a == '.' || k == '.' || k == ':' || f->last_unary) return 1;
	if (a == ':') return top(f) && top(f)->kind == '[';
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

/* A comment up to the end of its line; returns the offset behind it. */
static uint32_t put_comment(Format *f, uint32_t at, uint32_t to)
{
	const char *s = f->p->text->text;
	uint32_t end = at;
	while (end < to && s[end] != '\n') end++;
	uint32_t used = end;
	while (used > at && (s[used - 1] == ' ' || s[used - 1] == '\t' || s[used - 1] == '\r')) used--;
	buf_put(f->out, s + at, used - at);
	f->on_line = 1;
	return end;
}

/* What stands between two tokens: comments are written, newlines counted.  A comment on a line of its own is
 * indented like a statement there. */
static int put_gap(Format *f, uint32_t from, uint32_t to)
{
	const char *s = f->p->text->text;
	int lines = 0;
	for (uint32_t i = from; i < to; i++) {
		if (s[i] == '\n') lines++;
		if (s[i] != '#') continue;
		if (lines || !f->started) {
			const Level *l = top(f);
			new_line(f, l ? l->indent + 1 : 0, lines > 1 && f->last.kind != '{');
		} else {
			uint32_t b = i;
			while (b > from && (s[b - 1] == ' ' || s[b - 1] == '\t')) b--;
			int n = blanks(s, b, i);
			buf_pad(f->out, ' ', n < 2 ? 2 : n);
		}
		i = put_comment(f, i, to) - 1;
		lines = 0;
		f->last.kind = f->last.kind == '{' ? T_NL : f->last.kind;      /* an empty line after it may stay */
	}
	return lines;
}

static int opens_block(const Format *f)
{
	if (f->last.kind == T_ELSE) return f->before.kind == '}' && f->last_block;
	return layout_ends_value(f->last.kind);
}

static void track(Format *f, const Token *t, int is_block)
{
	f->last_block = 0;
	if (t->kind == '(' || t->kind == '[' || t->kind == '{') {
		/* a block belongs to its statement, on whichever line of that it opens */
		int indent = !is_block || !among_statements(f) ? f->indent : top(f) ? top(f)->indent + 1 : 0;
		Level l = { (char)t->kind, is_block, indent };
		vec_push(f->p->mem, &f->open, l);
	} else if (is_closer(t->kind) && f->open.n) {
		f->last_block = vec_last(&f->open).block;
		f->open.n--;
	}
}

static void put_space(Format *f, const Token *t, uint32_t from)
{
	int n = tight(f, t) ? 0 : 1;
	if (t->kind == '=' && among_statements(f)) n = blanks(f->p->text->text, from, t->at.lo);
	if (t->kind == '=' && n == 0) n = 1;
	buf_pad(f->out, ' ', n);
}

static void put_token(Format *f, const Token *t, uint32_t from)
{
	int opened = f->last.kind, keep_block = f->last_block;
	int lines = put_gap(f, from, t->at.lo), fresh = lines > 0 || !f->started;
	if (t->kind == 0) return;
	if (fresh) new_line(f, line_indent(f, t), lines > 1 && f->last.kind != '{' && !is_closer(t->kind));
	else put_space(f, t, from);
	f->last.kind = opened;
	buf_put(f->out, f->p->text->text + t->at.lo, t->at.hi - t->at.lo);
	int unary = prefix(f, t, fresh), is_block = t->kind == '{' && opens_block(f);
	track(f, t, is_block);
	if (t->kind == T_ELSE) f->last_block = keep_block;
	f->before = f->last;
	f->last = *t;
	f->last_unary = unary;
}

/* the next token but newlines; a string with all its interpolations is one */
static void next(Parse *p, Token *t)
{
	do layout_raw(p, t); while (t->kind == T_NL);
	if (t->kind != T_STR_BEGIN) return;
	Token part = *t;
	for (int depth = 1; depth && part.kind;) {
		layout_raw(p, &part);
		depth += (part.kind == T_STR_BEGIN) - (part.kind == T_STR_END);
		if (part.kind == T_BAD) break;
	}
	t->kind = T_STR_END;
	t->at.hi = part.at.hi;
}

static void format(Format *f)
{
	Token t;
	uint32_t from = f->p->pos;
	do {
		next(f->p, &t);
		put_token(f, &t, from);
		from = t.at.hi;
	} while (t.kind && !f->p->stopped);
	if (f->started) buf_putc(f->out, '\n');
}

void ast_format(const Ast *a, const Source *src, Buf *out)
{
	Arena *mem = out->mem;
	Intern names;
	intern_init(&names, mem);
	Sources none = { .mem = mem };
	Diags unseen = { .mem = mem, .srcs = &none };
	Parse *p = NEW(mem, Parse);
	*p = (Parse){ .mem = mem, .names = &names, .ds = &unseen, .text = src, .src = a->at.src };
	Format f = { .p = p, .out = out };
	if (setjmp(p->fatal)) return;
	lex_open(p);
	format(&f);
}
