/* ast.h — the tree: kind plus union, a span on every node, nothing about ops or shapes.
 * Names are interned, so they compare by pointer.  Nodes live in the compile's arena. */
#ifndef LANG_AST_H
#define LANG_AST_H

#include "lang/base/arena.h"
#include "lang/base/buf.h"
#include "lang/base/source.h"

typedef struct Ast Ast;
typedef struct AstList { Ast **at; int n, cap; } AstList;        /* a VEC(Ast *) with a name */

/* AST(KIND, printed name): expressions, statements, declarations, parts */
#define AST_KINDS(AST) \
	AST(NONE, "none") AST(BOOL, "bool") AST(INT, "int") AST(FLOAT, "float") AST(STR, "str") AST(TEXT, "text") \
	AST(NAME, "name") AST(LIST, "list") AST(TUPLE, "tuple") AST(DICT, "dict") AST(ITEM, "item") AST(COMP, "comp") \
	AST(CALL, "call") AST(ARG, "arg") AST(INDEX, "index") AST(SLICE, "slice") AST(FIELD, "field") \
	AST(UNARY, "unary") AST(BINARY, "binary") AST(COND, "cond") AST(FN, "fn") AST(PARAM, "param") \
	AST(EXPR, "expr") AST(ASSIGN, "assign") AST(UPDATE, "update") AST(IF, "if") AST(FOR, "for") AST(WHILE, "while") \
	AST(BREAK, "break") AST(CONTINUE, "continue") AST(RETURN, "return") AST(ASSERT, "assert") AST(WITH, "with") \
	AST(WITHITEM, "withitem") AST(BLOCK, "block") \
	AST(USE, "use") AST(MODULE, "module") AST(PROGRAM, "program") AST(SETTING, "setting") AST(TASK, "task") \
	AST(DEVICE, "device") AST(KERNEL, "kernel") AST(NATIVE, "native") AST(BUILD, "build") AST(FILE, "file") AST(ERROR, "error")

typedef enum AstKind {
#define AST(k, name) A_##k,
	AST_KINDS(AST)
#undef AST
	A_COUNT
} AstKind;

/* operators of UNARY, BINARY and UPDATE, loosest first; AST_OPS(OP(ID, text)) */
#define AST_OPS(OP) \
	OP(OR, "or") OP(AND, "and") OP(NOT, "not") \
	OP(IN, "in") OP(NOT_IN, "not in") OP(IS, "is") OP(IS_NOT, "is not") \
	OP(EQ, "==") OP(NE, "!=") OP(LT, "<") OP(LE, "<=") OP(GT, ">") OP(GE, ">=") \
	OP(BITOR, "|") OP(BITAND, "&") OP(ADD, "+") OP(SUB, "-") \
	OP(MUL, "*") OP(DIV, "/") OP(IDIV, "//") OP(MOD, "%") OP(MATMUL, "@") OP(NEG, "-") OP(INVERT, "~") OP(POW, "**")

typedef enum AstOp {
#define OP(id, text) AO_##id,
	AST_OPS(OP)
#undef OP
	AO_COUNT
} AstOp;
extern const char *const ast_op_text[AO_COUNT];
extern const char *const ast_kind_name[A_COUNT];

typedef enum Star { NO_STAR, STAR, STAR_STAR } Star;             /* x, *x, **x */

enum { AST_MAX_DEPTH = 500 };  /* the parser cuts deeper trees with a diagnostic, so walks may recurse */

struct Ast {
	AstKind kind;
	int depth;             /* 1 + the deepest child's */
	Span at;
	union {
		int b;                                              /* BOOL */
		int64_t i;                                          /* INT: overflow was an error in the scanner */
		double f;                                           /* FLOAT */
		const char *name;                                   /* NAME */
		struct { const char *s; int len; } text;            /* TEXT: escapes and {{ }} already resolved */
		AstList list;                                       /* STR: TEXT and expressions; LIST TUPLE; DICT: ITEMs;
		                                                       BLOCK FILE: statements and declarations */
		struct { Ast *key, *val; } item;                    /* ITEM of a DICT */
		struct { Ast *body; AstList names; Ast *iter, *cond; } comp;      /* COMP: [body for names in iter if cond]; body an ITEM: a dict */
		struct { Ast *fn; AstList args; } call;             /* CALL: args are ARGs */
		struct { const char *name; Star star; Ast *val; } arg;            /* ARG: name NULL if positional; `*x` of a list or target too */
		struct { Ast *obj; AstList subs; } index;           /* INDEX: subs may be SLICEs; x[] has none */
		struct { Ast *lo, *hi, *step; } slice;              /* each may be NULL */
		struct { Ast *obj; const char *name; Span name_at; } field;
		struct { AstOp op; Ast *a, *b; Span op_at; } op;    /* UNARY: b NULL; BINARY; UPDATE: a op= b */
		struct { Ast *cond, *then, *other; } cond;          /* COND; IF: then a BLOCK, other NULL, BLOCK or IF */
		struct { const char *name; Span name_at; Star star; Ast *type, *init; } param;
		struct { const char *name; Span name_at; AstList params; Ast *body; int is_expr; } fn;
		                                                    /* FN: name NULL for a value; body BLOCK (of one WITH, if contexts
		                                                       stand at the function), or expression;
		                                                       KERNEL: body an expression; BUILD: name "build"/"build_grad" */
		Ast *expr;                                          /* EXPR; NATIVE: a STR; RETURN: NULL, or the value (several: a TUPLE) */
		struct { Ast *target, *val; } assign;               /* target NAME FIELD INDEX, or TUPLE/LIST of those, one maybe starred */
		struct { AstList names; Ast *iter, *body; } loop;   /* FOR: NAMEs, TUPLEs of them, one maybe starred; WHILE: iter is the condition */
		struct { Ast *cond, *msg; } check;                  /* ASSERT */
		struct { AstList items; Ast *body; } with;          /* WITHITEMs */
		struct { Ast *expr; const char *name; Span name_at; } withitem;
		AstList names;                                      /* USE: NAMEs */
		struct { const char *name; Span name_at; AstList params, members; Ast *build, *build_grad; } module;
		                                                    /* members: every statement but the BUILDs, in order */
		struct { const char *name; Span name_at; AstList params, settings; Ast *body; } program;
		struct { const char *name; Span name_at; Ast *val; } setting;     /* SETTING: of a program; field of TASK, DEVICE */
		struct { const char *name; Span name_at; AstList fields; } task;  /* TASK, DEVICE */
	} u;
};

void ast_print(const Ast *a, Buf *out);                     /* `pxlc emit ast`: one S-expression per line, indented */
enum { FORMAT_WIDTH = 120 };                                /* columns that `pxlc fmt` fills */
void ast_format(const Ast *a, const Source *src, int width, Buf *out);      /* src, which parsed to a, laid out anew */

#endif
