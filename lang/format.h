/* format.h — what the parts of `pxlc fmt` share: format.c writes tokens, breaks.c says where lines break. */
#ifndef LANG_FORMAT_H
#define LANG_FORMAT_H

#include "lang/parse.h"
#include "lang/grammar.h"

/* A token of the source.  A string with all its interpolations is one, of kind T_STR_END. */
typedef struct Piece {
	int kind;
	Span at;
	int line;              /* of its first byte */
	int opens_block;       /* it is the `{` of a block */
	int spread;            /* ... whose braces stand on different lines */
	int mate;              /* of `{` of a block: its `}`, 0 if there is none */
	int before;            /* of `{` after `else`: the `{` of the block before it, or -1 */
} Piece;
typedef struct Pieces { Piece *at; int n, cap; } Pieces;         /* a VEC(Piece) with a name; the end is the last */

/* an open bracket */
typedef struct Level {
	const struct Level *up;
	int kind;              /* '(', '[' or '{' */
	int block, spread;
	int depth;             /* how many are open */
	int indent;            /* of its line, in steps */
} Level;

int is_closer(int kind);
/* every token of p's text; which braces are blocks, and which of those spread over several lines */
Pieces format_pieces(Parse *p);
/* The price of a line break before piece i, whose line goes on otherwise; -1: none can stand there.  `unary`: the
 * piece before it is a prefix operator. */
int  break_price(const Pieces *ps, int i, const Level *top, int unary);

#endif
