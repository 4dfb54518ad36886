/* grammar.y — tokens to tree.
 *
 * LALR(1) without a conflict.  Spans join by themselves; actions only call tree.c, which owns all rules
 * that are not grammar.  `module program task device kernel native` are words of the grammar only where a
 * declaration starts, elsewhere they are names.  `{` that opens a block is told to layout.c, in a state
 * that needs no lookahead, so that the newline after it is already read as one of a block. */
%define api.pure full
%define api.prefix {tree_}
%define api.token.prefix {T_}
%define api.value.type {union Value}
%define api.location.type {Span}
%define parse.error custom
%locations
%param {Parse *p}
%expect 0

%code requires {
#include "lang/parse.h"
}
%code provides {
int tree_lex(Value *v, Span *at, Parse *p);
}
%code {
#include <string.h>

/* the parser's stack comes from the arena, since an arena out of memory jumps past yyparse's clean-up */
#define YYSTACK_ALLOC(size) arena_alloc(p->mem, (size_t)(size))
#define YYSTACK_ALLOC_MAXIMUM ((size_t)-1)
#define YYMAXDEPTH 4000
#define YYLLOC_DEFAULT(at, rhs, n) \
	((at) = (n) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n)) \
		: (Span){ YYRHSLOC(rhs, 0).src, YYRHSLOC(rhs, 0).hi, YYRHSLOC(rhs, 0).hi })
#define PUSH(list, x) vec_push(p->mem, &(list), (x))

static const AstList no_list;
static void tree_error(Span *at, Parse *p, const char *what);
static AstList one(Parse *p, Ast *a);
static AstList push(Parse *p, AstList list, Ast *a);
}

%token START_FILE START_EXPR BAD
%token NL "end of line"
%token <name> NAME "a name"
%token <i> INT "an integer"
%token <f> FLOAT "a number"
%token STR_BEGIN "a string" STR_END "`\"`" LERP "`{`" RERP "`}`"
%token <text> STR_TEXT "text"
%token IF "`if`" ELSE "`else`" FOR "`for`" WHILE "`while`" IN "`in`" IS "`is`" AND "`and`" OR "`or`" NOT "`not`"
%token BREAK "`break`" CONTINUE "`continue`" RETURN "`return`" ASSERT "`assert`" WITH "`with`" AS "`as`" FN "`fn`" USE "`use`"
%token TRUE "`true`" FALSE "`false`" NONE "`none`" BUILD "`build`" BUILD_GRAD "`build_grad`"
%token <name> MODULE "`module`" PROGRAM "`program`" TASK "`task`" DEVICE "`device`" KERNEL "`kernel`" NATIVE "`native`"
%token EQ "`==`" NE "`!=`" LE "`<=`" GE "`>=`" POW "`**`" IDIV "`//`"
%token <op> UPDATE "`+=`"

%type <name> name
%type <op> cmpop
%type <list> names targets nested settings setlist fields fieldlist members mbody params plist stmts around withs several args subs items parts
%type <ast> decl setting field member param block stmt simple compound ifs withitem exprs elem target cond expr or and not cmp chain bor band
%type <ast> sum mul un pow post arg sub oexpr atom item str named_value
%%
start: START_FILE decls
	| START_EXPR expr                  { p->expr = $2; }
	| START_EXPR expr NL               { p->expr = $2; }
	;
decls: %empty
	| decls decl                       { if ($2) PUSH(p->decls, $2); }
	;
decl: USE names NL                         { $$ = tree_list(p, A_USE, span_join(@1, @2), $2); }
	| MODULE name params mbody NL      { $$ = tree_module(p, span_join(@1, @4), $2, @2, $3, $4); }
	| PROGRAM name params settings block NL
		{ $$ = tree_program(p, span_join(@1, @5), $2, @2, $3, $4, $5); }
	| TASK name fields NL              { $$ = tree_fields(p, A_TASK, span_join(@1, @3), $2, @2, $3); }
	| DEVICE name fields NL            { $$ = tree_fields(p, A_DEVICE, span_join(@1, @3), $2, @2, $3); }
	| KERNEL name params '=' expr NL   { $$ = tree_fn(p, A_KERNEL, span_join(@1, @5), $2, @2, $3, no_list, $5, 1); }
	| NATIVE str NL                    { $$ = tree_expr(p, A_NATIVE, span_join(@1, @2), $2); }
	| stmt
	;
names: name                                { $$ = one(p, tree_name(p, $1, @1)); }
	| names ',' name                   { $$ = push(p, $1, tree_name(p, $3, @3)); }
	;
settings: %empty                           { $$ = no_list; }
	| setlist
	;
setlist: setting                           { $$ = one(p, $1); }
	| setlist ',' setting              { $$ = push(p, $1, $3); }
	;
setting: NAME expr                         { $$ = tree_setting(p, @$, $1, @1, $2); }
	;
fields: lbrace fieldlist '}'               { $$ = $2; }
	;
fieldlist: %empty                          { $$ = no_list; }
	| fieldlist field NL               { $$ = push(p, $1, $2); }
	| fieldlist error NL               { $$ = $1; yyerrok; }
	;
field: name '=' expr                       { $$ = tree_setting(p, @$, $1, @1, $3); }
	;
mbody: lbrace members '}'                  { $$ = $2; }
	;
members: %empty                            { $$ = no_list; }
	| members member                   { $$ = $2 ? push(p, $1, $2) : $1; }
	;
member: BUILD params around block NL       { $$ = tree_build(p, span_join(@1, @4), "build", @1, $2, $3, $4, 0); }
	| BUILD params around '=' expr NL  { $$ = tree_build(p, span_join(@1, @5), "build", @1, $2, $3, $5, 1); }
	| BUILD_GRAD params around block NL
		{ $$ = tree_build(p, span_join(@1, @4), "build_grad", @1, $2, $3, $4, 0); }
	| BUILD_GRAD params around '=' expr NL
		{ $$ = tree_build(p, span_join(@1, @5), "build_grad", @1, $2, $3, $5, 1); }
	| stmt
	;
around: %empty                             { $$ = no_list; }
	| WITH withs                       { $$ = $2; }
	;
params: '(' ')'                            { $$ = no_list; }
	| '(' plist opt_comma ')'          { $$ = $2; }
	;
plist: param                               { $$ = one(p, $1); }
	| plist ',' param                  { $$ = push(p, $1, $3); }
	;
param: name                                { $$ = tree_param(p, @$, $1, @1, NO_STAR, NULL, NULL); }
	| name ':' expr                    { $$ = tree_param(p, @$, $1, @1, NO_STAR, $3, NULL); }
	| name '=' expr                    { $$ = tree_param(p, @$, $1, @1, NO_STAR, NULL, $3); }
	| name ':' expr '=' expr           { $$ = tree_param(p, @$, $1, @1, NO_STAR, $3, $5); }
	| '*' name                         { $$ = tree_param(p, @$, $2, @2, STAR, NULL, NULL); }
	| '*' name ':' expr                { $$ = tree_param(p, @$, $2, @2, STAR, $4, NULL); }
	| POW name                         { $$ = tree_param(p, @$, $2, @2, STAR_STAR, NULL, NULL); }
	| POW name ':' expr                { $$ = tree_param(p, @$, $2, @2, STAR_STAR, $4, NULL); }
	;
opt_comma: %empty | ',' ;

lbrace: '{'                                { layout_block(p); }
	;
block: lbrace stmts '}'                    { $$ = tree_list(p, A_BLOCK, @$, $2); }
	;
stmts: %empty                              { $$ = no_list; }
	| stmts stmt                       { $$ = $2 ? push(p, $1, $2) : $1; }
	;
stmt: simple NL
	| compound NL
	| error NL                         { $$ = NULL; yyerrok; }
	;
simple: exprs                              { $$ = tree_expr(p, A_EXPR, @$, $1); }
	| exprs '=' exprs                  { $$ = tree_assign(p, $1, $3); }
	| expr UPDATE expr                 { $$ = tree_binary(p, A_UPDATE, $2, $1, $3, @2); }
	| RETURN                           { $$ = tree_node(p, A_RETURN, @$); }
	| RETURN exprs                     { $$ = tree_expr(p, A_RETURN, @$, $2); }
	| ASSERT cond                      { $$ = tree_assert(p, @$, $2, NULL); }
	| ASSERT cond ',' expr             { $$ = tree_assert(p, @$, $2, $4); }
	| BREAK                            { $$ = tree_node(p, A_BREAK, @$); }
	| CONTINUE                         { $$ = tree_node(p, A_CONTINUE, @$); }
	;
compound: ifs
	| FOR targets IN expr block        { $$ = tree_loop(p, A_FOR, @$, $2, $4, $5); }
	| WHILE cond block                 { $$ = tree_loop(p, A_WHILE, @$, no_list, $2, $3); }
	| WITH withs block                 { $$ = tree_with(p, @$, $2, $3); }
	| FN name params around block      { $$ = tree_fn(p, A_FN, @$, $2, @2, $3, $4, $5, 0); }
	| FN name params around '=' expr   { $$ = tree_fn(p, A_FN, @$, $2, @2, $3, $4, $6, 1); }
	;
ifs: IF cond block                         { $$ = tree_cond(p, A_IF, @$, $2, $3, NULL); }
	| IF cond block ELSE block         { $$ = tree_cond(p, A_IF, @$, $2, $3, $5); }
	| IF cond block ELSE ifs           { $$ = tree_cond(p, A_IF, @$, $2, $3, $5); }
	;
cond: expr
	| expr '=' expr {
		Diag *d = diag(p->ds, E0007, @2, "`=` in a condition");
		diag_help(p->ds, d, (Span){0}, "to compare, write `==`");
	}
	;
withs: withitem                            { $$ = one(p, $1); }
	| withs ',' withitem               { $$ = push(p, $1, $3); }
	;
withitem: expr                             { $$ = tree_withitem(p, @$, $1, NULL, (Span){0}); }
	| expr AS name                     { $$ = tree_withitem(p, @$, $1, $3, @3); }
	;

exprs: elem                                { $$ = tree_lone(p, $1); }
	| elem ','                         { $$ = tree_list(p, A_TUPLE, @$, one(p, $1)); }
	| several opt_comma                { $$ = tree_list(p, A_TUPLE, @$, $1); }
	;
several: elem ',' elem                     { $$ = push(p, one(p, $1), $3); }
	| several ',' elem                 { $$ = push(p, $1, $3); }
	;
elem: expr
	| '*' expr                         { $$ = tree_arg(p, @$, NULL, STAR, $2); }
	;
targets: target                            { $$ = $1->kind == A_TUPLE ? $1->u.list : one(p, $1); }
	| nested
	;
nested: target ',' target                  { $$ = push(p, one(p, $1), $3); }
	| nested ',' target                { $$ = push(p, $1, $3); }
	;
target: name                               { $$ = tree_name(p, $1, @1); }
	| '*' name                         { $$ = tree_arg(p, @$, NULL, STAR, tree_name(p, $2, @2)); }
	| '(' target ')'                   { $$ = $2; }
	| '(' nested opt_comma ')'         { $$ = tree_list(p, A_TUPLE, @$, $2); }
	;
expr: or
	| or IF or ELSE expr               { $$ = tree_cond(p, A_COND, @$, $3, $1, $5); }
	| FN params around '=' expr        { $$ = tree_fn(p, A_FN, @$, NULL, (Span){0}, $2, $3, $5, 1); }
	| FN params around block           { $$ = tree_fn(p, A_FN, @$, NULL, (Span){0}, $2, $3, $4, 0); }
	;
or: and
	| or OR and                        { $$ = tree_binary(p, A_BINARY, AO_OR, $1, $3, @2); }
	;
and: not
	| and AND not                      { $$ = tree_binary(p, A_BINARY, AO_AND, $1, $3, @2); }
	;
not: cmp
	| NOT not                          { $$ = tree_unary(p, AO_NOT, $2, @$, @1); }
	;
cmp: bor
	| chain
	;
chain: bor cmpop bor                       { $$ = tree_binary(p, A_BINARY, $2, $1, $3, @2); }
	| chain cmpop bor {
		Diag *d = diag(p->ds, E0009, @2, "comparisons do not chain");
		diag_label(p->ds, d, "the left side is already compared");
		diag_help(p->ds, d, (Span){0}, "write `a < b and b < c`, or put one comparison in parentheses");
		$$ = tree_binary(p, A_BINARY, $2, $1, $3, @2);
	}
	;
cmpop: IN                                  { $$ = AO_IN; }
	| NOT IN                           { $$ = AO_NOT_IN; }
	| IS                               { $$ = AO_IS; }
	| IS NOT                           { $$ = AO_IS_NOT; }
	| EQ                               { $$ = AO_EQ; }
	| NE                               { $$ = AO_NE; }
	| '<'                              { $$ = AO_LT; }
	| LE                               { $$ = AO_LE; }
	| '>'                              { $$ = AO_GT; }
	| GE                               { $$ = AO_GE; }
	;
bor: band
	| bor '|' band                     { $$ = tree_binary(p, A_BINARY, AO_BITOR, $1, $3, @2); }
	;
band: sum
	| band '&' sum                     { $$ = tree_binary(p, A_BINARY, AO_BITAND, $1, $3, @2); }
	;
sum: mul
	| sum '+' mul                      { $$ = tree_binary(p, A_BINARY, AO_ADD, $1, $3, @2); }
	| sum '-' mul                      { $$ = tree_binary(p, A_BINARY, AO_SUB, $1, $3, @2); }
	;
mul: un
	| mul '*' un                       { $$ = tree_binary(p, A_BINARY, AO_MUL, $1, $3, @2); }
	| mul '/' un                       { $$ = tree_binary(p, A_BINARY, AO_DIV, $1, $3, @2); }
	| mul IDIV un                      { $$ = tree_binary(p, A_BINARY, AO_IDIV, $1, $3, @2); }
	| mul '%' un                       { $$ = tree_binary(p, A_BINARY, AO_MOD, $1, $3, @2); }
	| mul '@' un                       { $$ = tree_binary(p, A_BINARY, AO_MATMUL, $1, $3, @2); }
	;
un: pow
	| '-' un                           { $$ = tree_unary(p, AO_NEG, $2, @$, @1); }
	| '~' un                           { $$ = tree_unary(p, AO_INVERT, $2, @$, @1); }
	;
pow: post
	| post POW un                      { $$ = tree_binary(p, A_BINARY, AO_POW, $1, $3, @2); }
	;
post: atom
	| post '.' name                    { $$ = tree_field(p, @$, $1, $3, @3); }
	| post '(' ')'                     { $$ = tree_call(p, @$, $1, no_list); }
	| post '(' args opt_comma ')'      { $$ = tree_call(p, @$, $1, $3); }
	| post '[' ']'                     { $$ = tree_index(p, @$, $1, no_list); }
	| post '[' subs opt_comma ']'      { $$ = tree_index(p, @$, $1, $3); }
	;
args: arg                                  { $$ = one(p, $1); }
	| args ',' arg                     { $$ = push(p, $1, $3); }
	;
arg: expr                                  { $$ = tree_arg(p, @$, NULL, NO_STAR, $1); }
	| named_value
	| '*' expr                         { $$ = tree_arg(p, @$, NULL, STAR, $2); }
	| POW expr                         { $$ = tree_arg(p, @$, NULL, STAR_STAR, $2); }
	;
named_value: name '=' expr                 { $$ = tree_arg(p, @$, $1, NO_STAR, $3); }
	;
subs: sub                                  { $$ = one(p, $1); }
	| subs ',' sub                     { $$ = push(p, $1, $3); }
	;
sub: expr
	| oexpr ':' oexpr                  { $$ = tree_slice(p, @$, $1, $3, NULL); }
	| oexpr ':' oexpr ':' oexpr        { $$ = tree_slice(p, @$, $1, $3, $5); }
	;
oexpr: %empty                              { $$ = NULL; }
	| expr
	;
atom: name                                 { $$ = tree_name(p, $1, @1); }
	| INT                              { $$ = tree_node(p, A_INT, @1); $$->u.i = $1; }
	| FLOAT                            { $$ = tree_node(p, A_FLOAT, @1); $$->u.f = $1; }
	| TRUE                             { $$ = tree_node(p, A_BOOL, @1); $$->u.b = 1; }
	| FALSE                            { $$ = tree_node(p, A_BOOL, @1); }
	| NONE                             { $$ = tree_node(p, A_NONE, @1); }
	| str
	| '(' ')'                          { $$ = tree_list(p, A_TUPLE, @$, no_list); }
	| '(' expr ')'                     { $$ = $2; }
	| '(' elem ',' ')'                 { $$ = tree_list(p, A_TUPLE, @$, one(p, $2)); }
	| '(' several opt_comma ')'        { $$ = tree_list(p, A_TUPLE, @$, $2); }
	| '[' ']'                          { $$ = tree_list(p, A_LIST, @$, no_list); }
	| '[' elem opt_comma ']'           { $$ = tree_list(p, A_LIST, @$, one(p, $2)); }
	| '[' several opt_comma ']'        { $$ = tree_list(p, A_LIST, @$, $2); }
	| '[' expr FOR targets IN or ']'   { $$ = tree_comp(p, @$, $2, $4, $6, NULL); }
	| '[' expr FOR targets IN or IF or ']'
		{ $$ = tree_comp(p, @$, $2, $4, $6, $8); }
	| '{' '}'                          { $$ = tree_list(p, A_DICT, @$, no_list); }
	| '{' items opt_comma '}'          { $$ = tree_list(p, A_DICT, @$, $2); }
	| '{' item FOR targets IN or '}'   { $$ = tree_comp(p, @$, $2, $4, $6, NULL); }
	| '{' item FOR targets IN or IF or '}'
		{ $$ = tree_comp(p, @$, $2, $4, $6, $8); }
	;
items: item                                { $$ = one(p, $1); }
	| items ',' item                   { $$ = push(p, $1, $3); }
	;
item: expr ':' expr                        { $$ = tree_item(p, $1, $3); }
	;
str: STR_BEGIN parts STR_END               { $$ = tree_list(p, A_STR, @$, $2); }
	;
parts: %empty                              { $$ = no_list; }
	| parts STR_TEXT {
		Ast *t = tree_node(p, A_TEXT, @2);
		t->u.text.s = $2.s;
		t->u.text.len = $2.len;
		$$ = push(p, $1, t);
	}
	| parts LERP expr RERP             { $$ = push(p, $1, $3); }
	;
name: NAME | MODULE | PROGRAM | TASK | DEVICE | KERNEL | NATIVE ;
%%

static AstList push(Parse *p, AstList list, Ast *a)
{
	PUSH(list, a);
	return list;
}

static AstList one(Parse *p, Ast *a) { return push(p, no_list, a); }

/* bison calls this for one reason only: the stack has reached YYMAXDEPTH */
static void tree_error(Span *at, Parse *p, const char *what)
{
	(void)what;
	syntax_too_deep(p, *at);
	parse_stop(p);
}

/* `'x'` is bison's name of a character token */
static void put_symbol(Buf *b, yysymbol_kind_t k)
{
	const char *s = yysymbol_name(k);
	if (b->n) buf_puts(b, " or ");
	if (s[0] == '\'') buf_printf(b, "`%c`", s[1]);
	else buf_puts(b, s);
}

static int has(const yysymbol_kind_t *k, int n, yysymbol_kind_t want)
{
	for (int i = 0; i < n; i++)
		if (k[i] == want) return 1;
	return 0;
}

/* What could stand here, in few words: kinds of things, or up to four tokens. */
static const char *expected(const yysymbol_kind_t *k, int n, Buf *b)
{
	if (has(k, n, YYSYMBOL_RETURN)) return "a statement";
	int value = has(k, n, YYSYMBOL_INT), name = has(k, n, YYSYMBOL_NAME), said = 0;
	if (value) buf_puts(b, "an expression");
	else if (name) buf_puts(b, "a name");
	for (int i = 0; i < n; i++) {
		const char *s = yysymbol_name(k[i]);
		if (value && !(s[0] == '\'' && strchr(")]}", s[1]))) continue;
		if (name && k[i] >= YYSYMBOL_MODULE && k[i] <= YYSYMBOL_NATIVE) continue;
		if (k[i] == YYSYMBOL_NAME || k[i] == YYSYMBOL_BAD || k[i] == YYSYMBOL_UPDATE) continue;
		if (++said > 4) return NULL;
		put_symbol(b, k[i]);
	}
	return b->n ? b->s : NULL;
}

static int yyreport_syntax_error(const yypcontext_t *cx, Parse *p)
{
	yysymbol_kind_t k[YYNTOKENS];
	int n = yypcontext_expected_tokens(cx, k, YYNTOKENS);
	Buf b = buf_new(p->mem);
	syntax_error(p, expected(k, n, &b), has(k, n, YYSYMBOL_ELSE) && has(k, n, YYSYMBOL_OR));
	return 0;
}
