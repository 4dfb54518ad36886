/* fused.h — an elementwise group on its way to C: what fused_plan.c decides and fused.c writes. */
#ifndef CODEGEN_FUSED_H
#define CODEGEN_FUSED_H

#include "compiler/codegen/module.h"
#include "compiler/codegen/narrow.h"

typedef enum Walk { FLAT, SCALAR, ROWS, TILED } Walk;
typedef enum Mode { LINE, WIDE, NARROW_ROWS } Mode;

typedef struct Access {
	const Tensor *t;             /* NULL: absent operand, dropped result */
	DType dtype;
	int64_t stride[MAX_RANK];    /* in the iteration space; 0: broadcast */
	int64_t inner;               /* stride along the innermost dimension; TILED: between the elements of the tile */
	int64_t tile;                /* TILED: how many elements, a divisor of PXLRT_BLOCK; else 0 */
	Walk walk;
	int moves;                   /* ROWS, TILED: the row offset is not always 0 */
	int window;                  /* FLAT, but only what was asked for: values on their way to a fold */
	const char *name, *row;      /* pointers in the body: to the first element, to the row's */
	const char *block;           /* operand: block holding it, when loaded before the loop or row by row */
	int hoisted;                 /* that block is filled once */
} Access;

typedef struct Value {
	int needed, uses;            /* uses by other nodes */
	int last;                    /* index of the last node that reads it; nodes.n: the final store */
	int fma;                     /* this add is a multiply-add of the product below, or -1 */
	int absorbed;                /* this product is part of a multiply-add */
	int left_to_store;           /* only stored, as what it is: the store rounds or wraps */
	int direct;                  /* result it is computed into, or -1 */
	const char *at;              /* C expression of the block */
	int slot;                    /* temporary it lives in, or -1 */
} Value;

typedef struct Slot { int cls, busy; const char *name; } Slot;

typedef struct Fuse {
	Emit *e;
	const Op *op;
	const Pattern *p;
	Access *in, *out;
	int nin, nout;
	int64_t dim[MAX_RANK];       /* collapsed */
	int rank;
	unsigned folded;             /* bit i: dimension i is folded */
	int64_t rows, width;         /* rows * width elements */
	Mode mode;
	int64_t block;               /* elements of a block */
	int64_t block_rows;          /* NARROW_ROWS */
	int64_t piece;               /* WIDE: the most elements of a row that are one unit */
	int64_t units, grain;
	int tail;                    /* of a product: the function gets rows [lo, hi) and columns [from, to) */
	Value *v;
	VEC(Slot) slots;
	Buf head, body;              /* declarations and hoisted fills; what a block does */
	const char *pad;             /* indent of the block's lines */
	const char *index[MAX_RANK]; /* names of the row's coordinates */
	int uses_st;
} Fuse;

/* a class of values as C spells it, and as the table's members are reached */
typedef struct OwnClass { const char *member, *name, *ctype; int bytes; DType native; } OwnClass;
extern const OwnClass own_class[PXLRT_NOWN];

int is_native(DType t);
int reads_as_is(const Fuse *f, int i);                 /* load i: blocks may lie where the operand does */
int nargs(const FuseNode *n);
/* Integers: a zero divisor or a negative exponent is a fault of the run, found before the block is computed.  The entry that
 * looks for one, or NULL if the node cannot fail. */
const char *node_check(const Pattern *p, const FuseNode *n);
/* the result in which the folded values of `out` are stored as well, or -1: they go to a window */
int fold_source(const Fuse *f, int out);
/* may the two share memory */
int overlap(const Emit *e, const Tensor *a, const Tensor *b);

/* the iteration space, how operands are walked, which nodes are computed and where; 0: there are no elements */
int fuse_plan(Fuse *f);

#endif
