/* fold.h — the parts of reductions that reduce.c (of a tensor in memory) and fold.c (of what a loop makes) share.
 *
 * Both cut a fold alike and add the parts in the same order, so where they can be compared they give the same bits. */
#ifndef KERNELS_FOLD_H
#define KERNELS_FOLD_H

#include "runtime/kernels/kernels.h"

/* rows are folded FOLD_PIECE elements at a time, columns FOLD_BAND rows of up to FOLD_COLS columns */
enum { FOLD_PIECE = 4096, FOLD_BAND = 64, FOLD_COLS = 256 };
enum { FOLD_SUMEXP = 100 };

typedef struct Axes { int n; long dim[PXLRT_MAXRANK], stride[PXLRT_MAXRANK], count; } Axes;

typedef struct Fold {
	const struct pxlrt *rt;
	const Isa *isa;
	int op, dtype, cls;                  /* op is SUM, PROD, MAX, MIN, L1, SUMSQ or SUMEXP */
	Axes kept, red;
	long total;                          /* elements of a fold: red.count, unless rows are taken together */
	long beside;                         /* columns: rows that are taken as one */
	const char *x;
	char *y;
	int final;                           /* what the caller asked for */
	void *part;                          /* rows with one result: partials of its pieces */
	int near;                            /* what is folded is in the cache */
} Fold;

Fold fold_of(RtLane *ln, int op, int dtype, const void *x, void *y);         /* no axes yet */

/* partial results: an Acc for sums and products, a value of the class for extremes */
Acc  fold_start(const Fold *f);
void fold_add(const Fold *f, Acc *a, const Acc *b);
/* n elements, stride apart; m: what SUMEXP takes off each, a value of the class */
Acc  fold_stretch(const Fold *f, const char *x, long stride, long n, const void *m);
/* acc, n <= FOLD_COLS values of the class: rows [lo, hi) of f->red, n columns from base; more: on top of what it holds */
void fold_band(const Fold *f, const char *base, long stride, long n, long lo, long hi, const Block *m, int more, Block *acc);
void fold_add_block(const Fold *f, Acc *out, const Block *b, long n);
void fold_add_beside(const Fold *f, Acc *out, long n);                       /* the rows that were taken as one: n results are left */
/* the values of n <= BLOCK_MAX whole folds, elements [at, at + n) of the result; m: the maxima that SUMEXP took off, else NULL */
void fold_store(const Fold *f, const Acc *a, const double *m, long n, long at);

#endif
