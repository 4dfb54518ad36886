/* syntax.c — what a syntax error says.
 *
 * bison tells the token it did not expect and which it did; the rows of `explain` know the mistakes
 * people make (a missing bracket, another language's words) and are asked in turn, the plain
 * "unexpected X" last.  A row returns 0 for "not mine". */
#include "lang/parse.h"
#include "lang/grammar.h"

#include <string.h>

typedef struct Wrong {
	Token t, before;               /* what was not expected, and the token before it */
	const char *expected;          /* may be NULL: too much to list */
	int in_cond;                   /* between the `if` and the `else` of an expression */
	const Bracket *open;           /* innermost open bracket */
} Wrong;

void syntax_too_deep(Parse *p, Span at)
{
	if (p->too_deep++) return;
	Diag *d = diag(p->ds, E0008, at, "this is nested too deeply");
	diag_help(p->ds, d, (Span){0}, "give parts of it names, in statements of their own");
}

static const char *source_text(const Parse *p, Span at) { return p->text->text + at.lo; }

static int is_word(const Parse *p, const Token *t, const char *word)
{
	size_t n = strlen(word);
	return t->at.hi - t->at.lo == n && !memcmp(source_text(p, t->at), word, n);
}

/* the token as the user sees it; NL may stand for the `}` or the end that follows it */
static const char *token_text(const Parse *p, const Token *t)
{
	size_t n = t->at.hi - t->at.lo;
	const char *s = source_text(p, t->at);
	if (t->kind == 0 || (t->kind == T_NL && n == 0)) return "end of file";
	if (t->kind == T_NL && *s != '}') return "end of line";
	if (t->kind == T_STR_BEGIN || t->kind == T_STR_TEXT) return "string";
	if (n > 40) return arena_printf(p->mem, "`%.*s…`", 37, s);
	return arena_printf(p->mem, "`%.*s`", (int)n, s);
}

static int is_closer(int kind) { return kind == ')' || kind == ']' || kind == '}' || kind == T_RERP; }

static int line_of(const Parse *p, uint32_t at)
{
	int line, col;
	source_locate(p->text, at, &line, &col);
	return line;
}

/* The token begins a line, or ends a file or block; or `if x {` was read as the `if` of an expression
 * that began on an earlier line. */
static int line_should_have_ended(const Parse *p, const Wrong *w)
{
	if (w->t.first || w->t.kind == T_NL || w->t.kind == 0) return 1;
	return w->in_cond && w->t.kind == '{' && line_of(p, w->open->at) < line_of(p, w->t.at.lo);
}

static char closer_of(const Bracket *b) { return b->kind == '(' ? ')' : b->kind == '[' ? ']' : '}'; }

static Span one_byte(const Parse *p, uint32_t at) { return (Span){ p->src, at, at + 1 }; }

void syntax_missing(Parse *p, const Bracket *b, const Token *t)
{
	int at_end = t->kind == 0 || (t->kind == T_NL && t->at.lo == t->at.hi);
	int more = t->first && t->kind != T_NL && !b->block && !is_closer(t->kind);
	int comma = more && !layout_starts_statement(p, t);
	Diag *d = diag(p->ds, E0006, t->at, "missing %s`%c`", comma ? "`,` or " : "", closer_of(b));
	if (at_end) diag_label(p->ds, d, "the file ends here");
	else if (more) diag_label(p->ds, d, "expected `,` or `%c` before this", closer_of(b));
	else diag_label(p->ds, d, "expected `%c` before this", closer_of(b));
	if (!b->block || p->odd_open <= b->at) {
		diag_note(p->ds, d, one_byte(p, b->at), "this `%c` is not closed", b->kind);
		return;
	}
	diag_note(p->ds, d, one_byte(p, p->odd_open), "it may be missing for this `{`");
	diag_note(p->ds, d, one_byte(p, p->odd_close), "which is closed here, with less indentation");
	p->odd_open = p->odd_close = 0;
}

/* `(`, `[` or `{` left open: told by the end of the file or block, a closer of another kind, or a line
 * that begins where `)` should have been */
static int missing_closer(Parse *p, const Wrong *w)
{
	const Bracket *b = w->open;
	if (!b || b->kind == '"') return 0;
	if (b->block ? w->t.kind != 0 : !(line_should_have_ended(p, w) || is_closer(w->t.kind))) return 0;
	if (!b->block && w->t.kind == closer_of(b)) return 0;
	syntax_missing(p, b, &w->t);
	return 1;
}

/* a closer without an opener; silent when its opener was forgotten in an earlier error */
static int stray_closer(Parse *p, const Wrong *w)
{
	int k = w->t.kind;
	if (!is_closer(k) || w->open) return 0;
	if (k != '}' && p->forgot > 0) {
		p->forgot--;
		return 1;
	}
	diag(p->ds, E0006, w->t.at, "unmatched %s", token_text(p, &w->t));
	return 1;
}

static int forgotten_closer(Parse *p, const Wrong *w)
{
	if ((w->t.kind != ')' && w->t.kind != ']') || p->forgot <= 0) return 0;
	p->forgot--;
	return 1;
}

static const struct { const char *word, *help; } foreign_words[] = {
	{ "def", "a function is written `fn f(x) { … }`" },
	{ "func", "a function is written `fn f(x) { … }`" },
	{ "function", "a function is written `fn f(x) { … }`" },
	{ "lambda", "a function value is written `fn(x) = …`" },
	{ "elif", "write `else if`, on the line of the `}` before it" },
	{ "elsif", "write `else if`, on the line of the `}` before it" },
	{ "class", "a layer is written `module M(…) { build(x) { … } }`" },
	{ "import", "a module file is imported with `use name`" },
	{ "from", "a module file is imported with `use name`" },
	{ "let", "a name is bound by `name = value`" },
	{ "var", "a name is bound by `name = value`" },
	{ "const", "a name is bound by `name = value`" },
	{ "print", "`print` is a function: `print(x)`" },
	{ "try", "there are no exceptions; a failed `assert` ends the program" },
	{ "raise", "there are no exceptions; a failed `assert` ends the program" },
	{ "del", "names live as long as their block's function" },
	{ "global", "a function cannot rebind a name of the file" },
	{ "nonlocal", "a function cannot rebind an outer name" },
	{ "yield", "a function returns once; build a list instead" },
	{ "switch", "write `if … { } else if … { }`" },
	{ "match", "write `if … { } else if … { }`" },
	{ "foreach", "write `for x in xs { … }`" },
	{ "do", "write `while … { … }`" },
	{ "struct", "values with fields are made by a `module`" },
};

/* Another language's keyword reads as a name, so the error is at it or right behind it. */
static int foreign_word(Parse *p, const Wrong *w)
{
	for (int k = 0; k < 2; k++) {
		const Token *t = k ? &w->t : &w->before;
		if (t->kind != T_NAME) continue;
		for (size_t i = 0; i < sizeof foreign_words / sizeof *foreign_words; i++) {
			if (!is_word(p, t, foreign_words[i].word)) continue;
			Diag *d = diag(p->ds, E0012, t->at, "`%s` is not pxl", foreign_words[i].word);
			diag_help(p->ds, d, (Span){0}, "%s", foreign_words[i].help);
			return 1;
		}
	}
	return 0;
}

static int ends_line(const Parse *p, uint32_t at)
{
	const char *s = p->text->text + at;
	while (*s == ' ' || *s == '\t' || *s == '\r') s++;
	return *s == '\n' || *s == '#' || *s == 0;
}

static int colon_block(Parse *p, const Wrong *w)
{
	if (w->t.kind != ':' || !ends_line(p, w->t.at.hi)) return 0;
	Diag *d = diag(p->ds, E0012, w->t.at, "a block does not begin with `:`");
	diag_help(p->ds, d, (Span){0}, "put the block in braces: `{ … }`");
	return 1;
}

void syntax_late(Parse *p, const Token *t)
{
	Diag *d = diag(p->ds, E0001, t->at, "%s at the start of a line", token_text(p, t));
	if (t->kind == '{') diag_help(p->ds, d, (Span){0}, "the `{` of a block stands on the line that it belongs to: `if c {`");
	else diag_help(p->ds, d, (Span){0}, "`else` stands on the line of the `}` before it: `} else {`");
}

static int late_else(Parse *p, const Wrong *w)
{
	if (w->t.kind != T_ELSE || !w->t.first) return 0;
	syntax_late(p, &w->t);
	return 1;
}

static int missing_else(Parse *p, const Wrong *w)
{
	if (!w->in_cond) return 0;
	Diag *d = diag(p->ds, E0001, w->t.at, "unexpected %s in a conditional expression", token_text(p, &w->t));
	diag_label(p->ds, d, "expected `else`");
	diag_help(p->ds, d, (Span){0}, "both values are given: `x if c else y`");
	return 1;
}

static int second_equals(Parse *p, const Wrong *w)
{
	if (w->t.kind != '=' || !layout_ends_value(w->before.kind)) return 0;
	Diag *d = diag(p->ds, E0007, w->t.at, "unexpected `=`");
	diag_help(p->ds, d, (Span){0}, "to compare, write `==`; an assignment is a statement, with one `=`");
	return 1;
}

static int misplaced_word(Parse *p, const Wrong *w)
{
	static const int heads[] = { T_MODULE, T_PROGRAM, T_TASK, T_DEVICE, T_KERNEL };
	const char *help = NULL, *expected = w->expected;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (w->before.kind == heads[i] && w->before.first) expected = "a name";
	switch (w->t.kind) {
	case T_BUILD: case T_BUILD_GRAD: help = "this name is reserved for the function of a module: `module M() { build(x) { … } }`"; break;
	case T_USE: help = "`use` stands at the top level of a file"; break;
	case T_WITH:
		if (w->before.kind == ')' && !w->t.first) {
			help = "contexts stand at a `fn` or at `build`: `build(x) with in_sequence() { … }`";
			break;
		}
		/* fall through */
	case T_IF: case T_FOR: case T_WHILE: case T_RETURN: case T_BREAK: case T_CONTINUE: case T_ASSERT:
		if (layout_ends_value(w->before.kind) && !(w->open && !w->open->block)) help = "a statement starts on a line of its own";
		break;
	case T_IN:
		if (w->before.kind == ',') break;
		/* fall through */
	case T_FN: case T_AS: case T_IS: case T_NONE: case T_TRUE: case T_FALSE: case T_AND: case T_OR:
		if (expected && !strncmp(expected, "a name", 6)) help = "this word is reserved; choose another name";
		break;
	}
	if (!help) return 0;
	Diag *d = diag(p->ds, E0001, w->t.at, "unexpected %s", token_text(p, &w->t));
	if (expected) diag_label(p->ds, d, "expected %s", expected);
	diag_help(p->ds, d, (Span){0}, "%s", help);
	return 1;
}

static int two_strings(Parse *p, const Wrong *w)
{
	if (w->t.kind != T_STR_BEGIN || w->before.kind != T_STR_END) return 0;
	Diag *d = diag(p->ds, E0001, w->t.at, "unexpected string after a string");
	diag_help(p->ds, d, (Span){0}, "strings are joined by `+`; a quote in a string is written `\\\"`");
	return 1;
}

static int empty_interpolation(Parse *p, const Wrong *w)
{
	if (w->t.kind != T_RERP || w->before.kind != T_LERP) return 0;
	Diag *d = diag(p->ds, E0001, span_join(w->before.at, w->t.at), "nothing to insert between `{` and `}`");
	diag_help(p->ds, d, (Span){0}, "a brace itself is written twice: `{{` or `}}`");
	return 1;
}

static int missing_params(Parse *p, const Wrong *w)
{
	if (w->t.kind != '{' || !w->expected || strcmp(w->expected, "`(`") != 0) return 0;
	Diag *d = diag(p->ds, E0001, w->t.at, "unexpected `{`");
	diag_label(p->ds, d, "expected `(`");
	diag_help(p->ds, d, (Span){0}, "parameters are listed even if there are none: `()`");
	return 1;
}

static int after_native(const Wrong *w) { return w->before.kind == T_NATIVE && w->before.first; }

static const char *about_for(const Wrong *w)
{
	if (w->open->kind == '(') return "a comprehension stands in [ ] or { }";
	if (w->open->kind == '{' && w->expected && !strcmp(w->expected, "`:`"))
		return "there are no sets: a comprehension in { } gives keys and values, `{k: v for k, v in xs}`";
	return "a comprehension has one `for`; nest another in its value";
}

/* what to do about some tokens in some places, when there is no row for it */
static const char *hint(const Wrong *w)
{
	int in_brackets = w->open && !w->open->block;
	if (after_native(w)) return "a C file is named by a string: `native \"file.c\"`";
	switch (w->t.kind) {
	case T_FOR: return in_brackets ? about_for(w) : NULL;
	case T_POW: return in_brackets && w->open->kind == '{' ? "dicts are merged by `|`: `a | {\"key\": value}`" : NULL;
	case ':': return in_brackets && w->open->kind == '"' ? "values are inserted as `print` shows them, without a format"
		: w->before.kind == T_NAME && w->before.first ? "only parameters have a declared type" : NULL;
	case '+': return layout_ends_value(w->before.kind) ? NULL : "`+` stands between two values";
	case '{': return w->expected && !strcmp(w->expected, "`=`") ? "a kernel is one expression: `kernel k(x) = …`" : NULL;
	case '.': case T_STR_BEGIN: return w->before.kind == T_USE || (w->expected && strstr(w->expected, "end of line or `,`"))
		? "`use` takes names of modules: `use nn, data`" : NULL;
	case T_NAME: return w->before.kind == T_NAME && w->before.first
		? "a statement is an assignment, a call, or starts with a keyword" : NULL;
	}
	return NULL;
}

static int unexpected(Parse *p, const Wrong *w)
{
	const char *expected = after_native(w) ? "a string" : w->expected;
	Diag *d = diag(p->ds, E0001, w->t.at, "unexpected %s", token_text(p, &w->t));
	if (expected) diag_label(p->ds, d, "expected %s", expected);
	if (hint(w)) diag_help(p->ds, d, (Span){0}, "%s", hint(w));
	return 1;
}

static int (*const explain[])(Parse *, const Wrong *) = {
	forgotten_closer, foreign_word, late_else, colon_block, empty_interpolation, missing_closer, stray_closer,
	missing_else, second_equals, two_strings, misplaced_word, missing_params, unexpected,
};

/* Called by the grammar; p->last is the token it could not use.  What the scanner has already reported
 * is not reported again. */
void syntax_error(Parse *p, const char *expected, int in_cond)
{
	const Bracket *open = layout_innermost(p);
	if (open && open->at == p->last.at.lo) open = p->open.n > 1 ? open - 1 : NULL;      /* the token itself */
	Wrong w = { p->last, p->prev, expected, in_cond, open };
	if (!p->stopped && w.t.kind != T_BAD)
		for (size_t i = 0; !explain[i](p, &w); i++) ;
	if (w.t.kind == T_NL) layout_forget(p);
	else p->recover = 1;
}
