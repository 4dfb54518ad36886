/* data.h — a data set as tasks see it: named columns, samples in a shuffled order, batches on demand.
 *
 *   int image = data_column(d, "image");
 *   for (epoch …) {
 *           data_epoch(d, seed, epoch);                      // the order is a pure function of (seed, epoch)
 *           for (pos = 0; pos + batch <= d->n; pos += batch) // the last partial batch is dropped
 *                   data_fill(d, image, pos, batch, x);      // allocates nothing
 *   }
 *
 * MNIST and digits keep their pixels as bytes; filling turns them into floats through a table of 256. */
#ifndef RUNTIME_FORMATS_DATA_H
#define RUNTIME_FORMATS_DATA_H

#include "runtime/formats/formats.h"

enum { DATA_MAX_COLUMNS = 16 };

typedef struct RtColumn {
	char name[64];
	DType dtype;                             /* of what data_fill gives */
	int rank;
	int64_t dim[MAX_RANK];                   /* of one sample */
	size_t nelem;                            /* of one sample */
	void *data;                              /* n samples; bytes when `table` is used */
	int use_table, owned;
} RtColumn;

typedef struct RtData {
	const char *kind;                        /* "mnist", "digits", "arrays" */
	size_t n;
	int ncolumn;
	RtColumn column[DATA_MAX_COLUMNS];
	float table[256];
	int shuffle;
	uint32_t *order;                         /* NULL: as stored */
	RtAlloc alloc;
} RtData;

enum { SPLIT_TRAIN, SPLIT_TEST };

/* Columns "image" f32[28, 28] and "label" i32[].  dir is looked at as it is and with /mnist added; files may end in .gz.
 * With dir NULL, ~/.cache/pxl is tried and then digits are made (`kind` says which); a dir without the files is RT_EIO. */
int  data_mnist(const char *dir, int split, int shuffle, const RtAlloc *al, RtData **out, RtErr *e);
int  data_digits(int split, int shuffle, const RtAlloc *al, RtData **out, RtErr *e);
/* the columns of both without their samples, for whoever only asks what fits */
int  data_columns(int split, const RtAlloc *al, RtData **out, RtErr *e);
/* an empty set of n samples, to which arrays [n, …] are added; they are copied */
int  data_arrays(size_t n, int shuffle, const RtAlloc *al, RtData **out, RtErr *e);
int  data_add(RtData *d, const char *name, const RtArray *a, RtErr *e);
void data_free(RtData *d);                                   /* takes NULL */

int  data_column(const RtData *d, const char *name);         /* -1: none */
/* the order of an epoch (from 0); as stored when the set is not shuffled */
void data_epoch(RtData *d, uint64_t seed, uint64_t epoch);
/* samples [pos, pos + n) of the epoch, one after the other; pos + n ≤ d->n */
void data_fill(const RtData *d, int column, size_t pos, size_t n, void *out);

/* --- digits.c: handwritten-like digits, a pure function of (split, i) ------------------------------------------ */
enum { DIGITS_TRAIN = 60000, DIGITS_TEST = 10000 };
int  digit_sample(int split, uint32_t i, unsigned char pixels[28 * 28]);      /* returns the label */

#endif
