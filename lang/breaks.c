/* breaks.c — where `pxlc fmt` puts line breaks of its own.
 *
 * A block stands on one line only if it was written on one and holds no other block; the branches of an `if` are
 * alike.  A line that is too long breaks where that is cheapest: at the braces of a block, else in as few brackets
 * as possible, and there rather after a comma than inside a sum or product. */
#include "lang/format.h"

/* --- tokens --------------------------------------------------------------------------------------------------- */
/* the next token but newlines */
static void next_piece(Parse *p, Piece *x)
{
	Token t;
	do layout_raw(p, &t); while (t.kind == T_NL);
	*x = (Piece){ .kind = t.kind, .at = t.at, .before = -1 };
	if (t.kind != T_STR_BEGIN) return;
	for (int depth = 1; depth && t.kind && t.kind != T_BAD;) {
		layout_raw(p, &t);
		depth += (t.kind == T_STR_BEGIN) - (t.kind == T_STR_END);
	}
	x->kind = T_STR_END;
	x->at.hi = t.at.hi;
}

static int count_lines(const char *s, uint32_t from, uint32_t to)
{
	int n = 0;
	while (from < to) n += s[from++] == '\n';
	return n;
}

int is_closer(int kind) { return kind == ')' || kind == ']' || kind == '}'; }

/* --- blocks ----------------------------------------------------------------------------------------------------- */
typedef struct Open { int piece, block; } Open;
typedef struct Blocks {
	Arena *mem;
	Pieces *ps;
	VEC(Open) open;
	int closed;            /* the `{` of the block that the last piece closed, or -1 */
	int otherwise;         /* the `{` of the block before the `else` whose own block is awaited, or -1 */
} Blocks;

static int opens_block(const Blocks *b, int i)
{
	const Piece *ps = b->ps->at;
	if (i == 0) return 0;
	if (ps[i - 1].kind == T_ELSE) return b->otherwise >= 0;
	return layout_ends_value(ps[i - 1].kind);
}

static void open_block(Blocks *b, int i)
{
	Piece *ps = b->ps->at;
	ps[i].opens_block = 1;
	ps[i].before = b->otherwise;
	b->otherwise = -1;
	for (int k = b->open.n - 1; k >= 0; k--)
		if (b->open.at[k].block) {
			ps[b->open.at[k].piece].spread = 1;
			break;
		}
}

static void note_piece(Blocks *b, int i)
{
	Piece *x = &b->ps->at[i];
	int closed = b->closed;
	b->closed = -1;
	if (x->kind == '(' || x->kind == '[' || x->kind == '{') {
		Open o = { i, x->kind == '{' && opens_block(b, i) };
		if (o.block) open_block(b, i);
		vec_push(b->mem, &b->open, o);
	} else if (is_closer(x->kind) && b->open.n) {
		Open o = vec_last(&b->open);
		b->open.n--;
		if (!o.block) return;
		Piece *first = &b->ps->at[o.piece];
		first->mate = i;
		first->spread |= first->line != x->line;
		b->closed = o.piece;
	} else if (x->kind == T_ELSE) b->otherwise = closed;
}

/* `if` and `else` alike */
static void join_branches(Pieces *ps)
{
	for (int i = ps->n - 1; i >= 0; i--)
		if (ps->at[i].before >= 0 && ps->at[i].spread) ps->at[ps->at[i].before].spread = 1;
	for (int i = 0; i < ps->n; i++)
		if (ps->at[i].before >= 0 && ps->at[ps->at[i].before].spread) ps->at[i].spread = 1;
}

Pieces format_pieces(Parse *p)
{
	Pieces ps = { 0 };
	Blocks b = { .mem = p->mem, .ps = &ps, .closed = -1, .otherwise = -1 };
	Piece x;
	int line = 0;
	uint32_t from = p->pos;
	do {
		next_piece(p, &x);
		line += count_lines(p->text->text, from, x.at.lo);
		from = x.at.lo;
		x.line = line;
		vec_push(p->mem, &ps, x);
		note_piece(&b, ps.n - 1);
	} while (x.kind && !p->stopped);
	join_branches(&ps);
	return ps;
}

/* --- lines ------------------------------------------------------------------------------------------------------ */
/* A break inside a block costs more than one at its braces: what is broken inside must have them on lines of their own. */
enum { AT_BRACES, AT_COMMA, AT_WORD, AT_SUM, AT_PRODUCT, AT_COMPARISON, AT_METHOD, AT_INNER_BRACES, PER_BRACKET };

static int after_operator(int kind)
{
	switch (kind) {
	case T_AND: case T_OR: return AT_WORD;
	case '+': case '-': case '|': case '&': return AT_SUM;
	case '*': case '/': case '%': case '@': case T_IDIV: return AT_PRODUCT;
	case '<': case '>': case T_EQ: case T_NE: case T_LE: case T_GE: return AT_COMPARISON;
	}
	return -1;
}

int break_price(const Pieces *ps, int i, const Level *top, int unary)
{
	int last = ps->at[i - 1].kind, kind = ps->at[i].kind, price;
	int in_brackets = top && !top->block;
	if (unary || is_closer(kind)) return -1;
	if (ps->at[i - 1].opens_block) {
		int inner = top->up && !top->up->block;
		return (inner ? AT_INNER_BRACES : AT_BRACES) + PER_BRACKET * (top->depth - 1);
	}
	if (last == ',') price = AT_COMMA;
	else if (in_brackets && (kind == T_FOR || kind == T_IF || kind == T_ELSE)) price = AT_WORD;
	else if (kind == '.' && is_closer(last)) price = AT_METHOD;
	else price = after_operator(last);
	return price < 0 ? -1 : price + PER_BRACKET * (top ? top->depth : 0);
}
