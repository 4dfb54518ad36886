/* layout.c — from raw tokens to those of the grammar: which newlines end a statement, which brackets
 * are open, and where to go on after an error.
 *
 * A newline counts at top level and in a block; not inside ( ), [ ] or the braces of a dict, not after
 * an operator or comma, not before a line that starts with a point.  Runs of newlines are one, and one
 * is put before the `}` of a block, so every statement ends alike.  The grammar says which `{` open
 * blocks (layout_block), as only it can tell them from dicts.
 *
 * After a syntax error the rest of the statement is skipped here.  Open ( and [ are forgotten at once,
 * so one missing parenthesis costs one message; braces are not, so a block or dict is skipped whole. */
#include "lang/parse.h"
#include "lang/grammar.h"

#include <string.h>

enum { MAX_OPEN = 200 };

void parse_stop(Parse *p)
{
	p->stopped = 1;
}

const Bracket *layout_innermost(const Parse *p)
{
	return p->open.n ? &p->open.at[p->open.n - 1] : NULL;
}

void layout_block(Parse *p)
{
	int n = p->open.n;
	if (p->last.first && (n < 2 || p->open.at[n - 2].block)) syntax_late(p, &p->last);
	if (n) p->open.at[n - 1].block = 1;
}

int layout_ends_value(int kind)
{
	switch (kind) {
	case T_NAME: case T_INT: case T_FLOAT: case T_TRUE: case T_FALSE: case T_NONE: case T_STR_END:
	case T_MODULE: case T_PROGRAM: case T_TASK: case T_DEVICE: case T_KERNEL: case T_NATIVE:
	case ')': case ']': case '}':
		return 1;
	}
	return 0;
}

int layout_wants_more(int kind)
{
	switch (kind) {
	case '+': case '-': case '*': case '/': case '%': case '@': case '|': case '&': case '~': case '<': case '>':
	case '=': case ',': case '.': case ':':
	case T_EQ: case T_NE: case T_LE: case T_GE: case T_POW: case T_IDIV: case T_UPDATE:
	case T_AND: case T_OR: case T_NOT: case T_IN: case T_IS:
		return 1;
	}
	return 0;
}

static int starts_name(char c) { return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_'; }

/* the next thing that is neither blank nor comment */
static const char *below(const Parse *p)
{
	const char *s = p->text->text + p->pos;
	for (;; s++) {
		if (*s == '#') while (*s && *s != '\n') s++;
		if (*s != ' ' && *s != '\t' && *s != '\r' && *s != '\n') return s;
	}
}

/* Does the line below go on with this one?  It does if it starts with `.name`; and if it starts with `{`, or
 * with `else` after `}`, somebody laid out a block in another style, which is said where the token is read.
 * The place is remembered, so that many empty lines are not looked through again and again. */
static int goes_on_below(Parse *p)
{
	if (p->pos <= p->goes_on_at) return 1;
	const char *s = below(p);
	int late_else = p->last.kind == '}' && !strncmp(s, "else", 4) && !starts_name(s[4]);
	if (!(s[0] == '.' && starts_name(s[1])) && s[0] != '{' && !late_else) return 0;
	p->goes_on_at = (uint32_t)(s - p->text->text);
	return 1;
}

static int in_interpolation(const Parse *p)
{
	for (int i = 0; i < p->open.n; i++)
		if (p->open.at[i].kind == '"') return 1;
	return 0;
}

/* A string ends on its line, interpolations included: leave it, and all that was open inside. */
void layout_broken_string(Parse *p)
{
	uint32_t at = p->quote;
	for (int i = 0; i < p->open.n; i++)
		if (p->open.at[i].kind == '"') {
			at = p->open.at[i].quote;
			p->open.n = i;
		}
	lex_leave_string(p);
	Diag *d = diag(p->ds, E0003, (Span){ p->src, at, at + 1 }, "string is not closed");
	diag_label(p->ds, d, "no closing `\"` on this line");
}

static void open_bracket(Parse *p, const Token *t)
{
	char kind = t->kind == T_LERP ? '"' : (char)t->kind;
	Bracket b = { kind, 0, t->at.lo, p->quote };
	vec_push(p->mem, &p->open, b);
	if (p->open.n <= MAX_OPEN) return;
	syntax_too_deep(p, t->at);
	parse_stop(p);
}

static int is_blank(char c) { return c == ' ' || c == '\t'; }

/* blanks at the start of the line of byte `at` */
static uint32_t indent_of(const Parse *p, uint32_t at)
{
	const char *s = p->text->text;
	uint32_t line = at, n = 0;
	while (line > 0 && s[line - 1] != '\n') line--;
	while (is_blank(s[line + n])) n++;
	return n;
}

/* Should a `}` turn out to be missing, it is likely where indentation and braces first disagree: here, if
 * this `}` begins its line, further left than the line of its `{` begins. */
static void note_odd_brace(Parse *p, const Bracket *open, uint32_t at)
{
	const char *s = p->text->text;
	uint32_t n = 0;
	while (n < at && is_blank(s[at - n - 1])) n++;
	int begins_line = n == at || s[at - n - 1] == '\n';
	if (p->odd_close || s[at] != '}' || !begins_line || n >= indent_of(p, open->at)) return;
	p->odd_open = open->at;
	p->odd_close = at;
}

/* A brace closes what stands open inside it; other brackets close only their own kind. */
static void close_bracket(Parse *p, const Token *t)
{
	int brace = t->kind == '}' || t->kind == T_RERP, i = p->open.n - 1;
	while (brace && i >= 0 && (p->open.at[i].kind == '(' || p->open.at[i].kind == '[')) i--;
	if (i < 0) return;
	char k = p->open.at[i].kind;
	int fits = t->kind == ')' ? k == '(' : t->kind == ']' ? k == '[' : t->kind == '}' ? k == '{' : k == '"';
	if (!fits) return;
	if (t->kind == '}') note_odd_brace(p, &p->open.at[i], t->at.lo);
	p->quote = p->open.at[i].quote;
	p->open.n = i;
}

static void track(Parse *p, const Token *t)
{
	switch (t->kind) {
	case '(': case '[': case '{': case T_LERP: open_bracket(p, t); break;
	case ')': case ']': case '}': case T_RERP: close_bracket(p, t); break;
	}
}

static int in_block(const Parse *p)
{
	return p->open.n == 0 || p->open.at[p->open.n - 1].block;
}

static void hold(Parse *p, const Token *t)
{
	p->held = *t;
	p->has_held = 1;
}

/* does `}` close a block, with brackets left open in between or not? */
static int closes_block(const Parse *p)
{
	int i = p->open.n - 1;
	while (i >= 0 && (p->open.at[i].kind == '(' || p->open.at[i].kind == '[')) i--;
	return i >= 0 && p->open.at[i].block;
}

static int newline_counts(Parse *p)
{
	int last = p->last.kind;
	if (!in_block(p) || last == T_NL || last == T_START_FILE || last == T_START_EXPR || last == '{') return 0;
	return !layout_wants_more(last) && !goes_on_below(p);
}

static void raw_token(Parse *p, Token *t)
{
	if (p->has_held) {
		*t = p->held;
		p->has_held = 0;
		return;
	}
	lex_next(p, t);
	if ((t->kind == T_NL || t->kind == 0) && in_interpolation(p)) {
		hold(p, t);
		layout_broken_string(p);
		t->kind = T_BAD;
	}
}

void layout_raw(Parse *p, Token *t)
{
	raw_token(p, t);
	track(p, t);
	p->last = *t;
}

/* the statement before the end of its block, or of the file, gets its newline here */
static int needs_newline(const Parse *p, const Token *t)
{
	int last = p->last.kind;
	if (last == T_NL || last == T_START_FILE || last == T_START_EXPR || last == '{') return 0;
	if (t->kind == '}') return closes_block(p);
	return t->kind == 0 && in_block(p);
}

/* `module M` at the left margin: a block that is still open was left open by mistake, and is closed here */
static int begins_declaration(const Parse *p, const Token *t)
{
	static const int heads[] = { T_MODULE, T_PROGRAM, T_TASK, T_DEVICE, T_KERNEL, T_NATIVE };
	const char *s = p->text->text;
	if (t->at.lo > 0 && s[t->at.lo - 1] != '\n') return 0;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (t->kind == heads[i]) return s[t->at.hi] == ' ' && (t->kind == T_NATIVE ? s[t->at.hi + 1] == '"' : starts_name(s[t->at.hi + 1]));
	return 0;
}

static int closes_early(const Parse *p, const Token *t)
{
	if (p->closing && p->last.kind == '}') return 1;
	return in_block(p) && p->open.n && begins_declaration(p, t);
}

static void next_token(Parse *p, Token *t)
{
	for (;;) {
		raw_token(p, t);
		if (t->kind != T_NL) break;
		if (newline_counts(p)) break;
		p->fresh = 1;
	}
	if (t->kind == 0) t->at.lo = t->at.hi = p->last.kind == T_NL ? p->last.at.lo : p->last.at.hi;
	if (needs_newline(p, t)) {
		hold(p, t);
		t->kind = T_NL;
	} else if (closes_early(p, t)) {
		if (!p->closing++) syntax_missing(p, layout_innermost(p), t);
		hold(p, t);
		t->kind = p->last.kind == T_NL ? '}' : T_NL;
	} else {
		p->closing = 0;
	}
	t->first = p->fresh || p->last.kind == T_NL || p->last.kind == T_START_FILE;
	if (t->kind == T_ELSE && p->fresh && p->last.kind == '}' && in_block(p)) syntax_late(p, t);
	p->fresh = 0;
	track(p, t);
	p->prev = p->last;
	p->last = *t;
}

/* Drops the ( and [ that the innermost block holds open, and with `dicts` its other braces too. */
static void forget(Parse *p, int dicts)
{
	int base = p->open.n;
	while (base > 0 && !p->open.at[base - 1].block) base--;
	int kept = base;
	p->forgot = 0;
	for (int i = base; i < p->open.n; i++) {
		if (p->open.at[i].kind == '(' || p->open.at[i].kind == '[') p->forgot++;
		else if (p->open.at[i].kind == '"' || !dicts) p->open.at[kept++] = p->open.at[i];
	}
	p->open.n = kept;
}

void layout_forget(Parse *p)
{
	forget(p, 0);
}

/* at the start of a line: a keyword of statements, or `name =` */
int layout_starts_statement(const Parse *p, const Token *t)
{
	switch (t->kind) {
	case T_IF: case T_FOR: case T_WHILE: case T_WITH: case T_RETURN: case T_ASSERT: case T_BREAK: case T_CONTINUE: case T_BUILD:
		return t->first;
	case T_NAME: {
		const char *s = p->text->text + t->at.hi;
		while (*s == ' ' || *s == '\t') s++;
		return t->first && s[0] == '=' && s[1] != '=';
	}
	}
	return 0;
}

/* the error stands on a new line, and what was open there is forgotten: the statement ended before it */
static int ended_before(const Parse *p, const Token *bad, int statement)
{
	if (!bad->first || !in_block(p) || bad->kind == T_BAD || bad->kind == '(' || bad->kind == '[') return 0;
	return statement || p->forgot;
}

/* Skip to the end of the statement.  What the scanner would say on the way is no news. */
static void skip_statement(Parse *p, Token *t)
{
	Token bad = p->last;
	Diags *ds = p->ds, unseen = { .mem = p->mem, .srcs = ds->srcs };
	int statement = layout_starts_statement(p, &bad);
	p->recover = 0;
	forget(p, statement);
	if (ended_before(p, &bad, statement && p->prev.kind != T_NL)) {
		hold(p, &bad);
		*t = bad;
		t->kind = T_NL;
		p->last = *t;
		return;
	}
	p->ds = &unseen;
	do next_token(p, t); while (t->kind != T_NL && t->kind != 0);
	p->ds = ds;
}

int tree_lex(Value *v, Span *at, Parse *p)
{
	Token t = { 0 };
	if (p->stopped) t.at = p->last.at;
	else if (p->recover) skip_statement(p, &t);
	else next_token(p, &t);
	if (p->stopped) t.kind = 0;
	*v = t.v;
	*at = t.at;
	return t.kind;
}
