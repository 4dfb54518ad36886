/* parse.h — what the parts of the parser share; nobody outside lang/ includes it.
 *
 *   lexer.l    bytes → raw tokens            layout.c   where newlines count, brackets, recovery
 *   grammar.y  tokens → tree                 tree.c     nodes, and rules the grammar cannot say
 *   syntax.c   what a syntax error says      lang.c     the entry points */
#ifndef LANG_PARSE_H
#define LANG_PARSE_H

#include "lang/lang.h"

typedef union Value {
	Ast *ast;
	AstList list;
	int64_t i;
	double f;
	const char *name;
	struct { const char *s; int len; } text;
	AstOp op;
} Value;

typedef struct Token {
	int kind;              /* 0 at the end; else as in grammar.h */
	Span at;
	Value v;
	int first;             /* it is the first of its line */
} Token;

/* an open bracket: ( [ {, or " for the braces of an interpolation */
typedef struct Bracket { char kind; int block; uint32_t at, quote; } Bracket;

typedef struct Parse {
	Arena *mem;
	Intern *names;
	Diags *ds;
	const Source *text;
	uint32_t src;
	void *scanner;
	uint32_t pos;          /* offset of the byte the scanner reads next */
	uint32_t quote;        /* where the string being scanned began */
	Buf str;               /* its text so far */
	VEC(Bracket) open;
	Token last, prev;      /* the latest tokens the grammar got */
	uint32_t goes_on_at;   /* newlines before it do not count: a line there starts with a point */
	Token held;            /* taken back: comes next */
	int has_held, fresh;   /* fresh: a newline was passed over since `last` */
	int recover;           /* the grammar is in error: skip to the end of the statement */
	int forgot;            /* brackets dropped while recovering, whose closers are no news */
	uint32_t odd_open, odd_close;  /* the first `{` whose `}` is indented less than its line, and that `}` */
	int closing;           /* putting the `}` that are missing before a declaration */
	int stopped;           /* gave up: only the end follows, nothing more is said */
	int too_deep;
	AstList decls;         /* what became of the file */
	Ast *expr;
	jmp_buf fatal;         /* the scanner's own impossible errors */
} Parse;

/* lexer.l */
void lex_open(Parse *p);
int  lex_next(Parse *p, Token *t);
void lex_leave_string(Parse *p);

/* layout.c */
void layout_block(Parse *p);                       /* the `{` just read opens a block, not a dict */
void layout_forget(Parse *p);                      /* after an error: drop open ( and [ of this block */
void layout_broken_string(Parse *p);
const Bracket *layout_innermost(const Parse *p);   /* NULL: nothing is open */
int  layout_ends_value(int kind);                  /* can a token of this kind end an expression? */
int  layout_starts_statement(const Parse *p, const Token *t);
int  layout_wants_more(int kind);                  /* does the line go on after it? */
void layout_raw(Parse *p, Token *t);               /* for format.c: every token as it stands, newlines included */
void parse_stop(Parse *p);

/* syntax.c */
void syntax_error(Parse *p, const char *expected, int in_cond);
void syntax_late(Parse *p, const Token *t);          /* `{` or `else` a line too late; parsing goes on */
void syntax_missing(Parse *p, const Bracket *open, const Token *t);
void syntax_too_deep(Parse *p, Span at);

/* tree.c: all take their children over, and cut where the tree gets too deep */
Ast *tree_node(Parse *p, AstKind kind, Span at);
Ast *tree_list(Parse *p, AstKind kind, Span at, AstList list);
Ast *tree_name(Parse *p, const char *name, Span at);
Ast *tree_unary(Parse *p, AstOp op, Ast *a, Span at, Span op_at);
Ast *tree_binary(Parse *p, AstKind kind, AstOp op, Ast *a, Ast *b, Span op_at);
Ast *tree_cond(Parse *p, AstKind kind, Span at, Ast *cond, Ast *then, Ast *other);
/* around: contexts that the body runs in, as if it stood in `with around { … }` */
Ast *tree_fn(Parse *p, AstKind kind, Span at, const char *name, Span name_at, AstList params, AstList around, Ast *body, int is_expr);
Ast *tree_build(Parse *p, Span at, const char *name, Span name_at, AstList params, AstList around, Ast *body, int is_expr);
Ast *tree_lone(Parse *p, Ast *elem);               /* one value or target that makes no list: `*x` is none */
Ast *tree_param(Parse *p, Span at, const char *name, Span name_at, Star star, Ast *type, Ast *init);
Ast *tree_arg(Parse *p, Span at, const char *name, Star star, Ast *val);
Ast *tree_call(Parse *p, Span at, Ast *fn, AstList args);
Ast *tree_index(Parse *p, Span at, Ast *obj, AstList subs);
Ast *tree_slice(Parse *p, Span at, Ast *lo, Ast *hi, Ast *step);
Ast *tree_field(Parse *p, Span at, Ast *obj, const char *name, Span name_at);
Ast *tree_item(Parse *p, Ast *key, Ast *val);
Ast *tree_comp(Parse *p, Span at, Ast *body, AstList names, Ast *iter, Ast *cond);
Ast *tree_expr(Parse *p, AstKind kind, Span at, Ast *expr);
Ast *tree_assign(Parse *p, Ast *target, Ast *val);
Ast *tree_loop(Parse *p, AstKind kind, Span at, AstList names, Ast *iter, Ast *body);
Ast *tree_assert(Parse *p, Span at, Ast *cond, Ast *msg);
Ast *tree_with(Parse *p, Span at, AstList items, Ast *body);
Ast *tree_withitem(Parse *p, Span at, Ast *expr, const char *name, Span name_at);
Ast *tree_module(Parse *p, Span at, const char *name, Span name_at, AstList params, AstList members);
Ast *tree_program(Parse *p, Span at, const char *name, Span name_at, AstList params, AstList settings, Ast *body);
Ast *tree_setting(Parse *p, Span at, const char *name, Span name_at, Ast *val);
Ast *tree_fields(Parse *p, AstKind kind, Span at, const char *name, Span name_at, AstList fields);

#endif
