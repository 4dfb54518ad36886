/* data.c — data sets for tasks: MNIST from its files, digits, and arrays a task brings along.
 *
 * The order of an epoch is Fisher and Yates' shuffle of 0 … n-1 by a counter-based generator keyed with
 * (seed, epoch), begun anew each time, so resuming in the middle of a run needs those two numbers alone. */
#include "runtime/formats/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- making ----------------------------------------------------------------------------------------------- */

int data_arrays(size_t n, int shuffle, const RtAlloc *al, RtData **out, RtErr *e)
{
	RtData *d = n > UINT32_MAX ? NULL : rt_alloc(al, sizeof *d);
	if (n > UINT32_MAX) return rt_fail(e, RT_EINVAL, "a data set of %zu samples is too large: %lu is the most", n, (unsigned long)UINT32_MAX);
	if (!d) return rt_fail(e, RT_ENOMEM, "out of memory for a data set");
	d->kind = "arrays";
	d->n = n;
	d->shuffle = shuffle;
	if (al) d->alloc = *al;
	for (int i = 0; i < 256; i++) d->table[i] = ((float)i / 255.0f - 0.1307f) / 0.3081f;
	if (shuffle && n && !(d->order = rt_alloc(al, n * sizeof *d->order))) {
		data_free(d);
		return rt_fail(e, RT_ENOMEM, "out of memory for the order of %zu samples", n);
	}
	data_epoch(d, 0, 0);
	*out = d;
	return RT_OK;
}

void data_free(RtData *d)
{
	if (!d) return;
	RtAlloc al = d->alloc;
	for (int i = 0; i < d->ncolumn; i++)
		if (d->column[i].owned) rt_free(&al, d->column[i].data);
	rt_free(&al, d->order);
	rt_free(&al, d);
}

/* Takes over the array's data on success. */
static int add_column(RtData *d, const char *name, RtArray *a, RtErr *e)
{
	if (d->ncolumn == DATA_MAX_COLUMNS) return rt_fail(e, RT_EINVAL, "a data set has at most %d columns", DATA_MAX_COLUMNS);
	if (data_column(d, name) >= 0) return rt_fail(e, RT_EINVAL, "the data set has a column `%s` already", name);
	RtColumn *c = &d->column[d->ncolumn];
	if (strlen(name) >= sizeof c->name) return rt_fail(e, RT_EINVAL, "the column name `%s` is too long", name);
	if (!a->rank || (size_t)a->dim[0] != d->n)
		return rt_fail(e, RT_EINVAL, "column `%s` has %lld samples, the data set has %zu", name, a->rank ? (long long)a->dim[0] : 1, d->n);
	*c = (RtColumn){ .dtype = a->dtype, .rank = a->rank - 1, .nelem = 1, .data = a->data, .owned = 1 };
	strcpy(c->name, name);
	for (int i = 1; i < a->rank; i++) c->nelem *= (size_t)(c->dim[i - 1] = a->dim[i]);
	d->ncolumn++;
	return RT_OK;
}

int data_add(RtData *d, const char *name, const RtArray *a, RtErr *e)
{
	RtArray copy = *a;
	copy.data = rt_alloc(&d->alloc, a->bytes ? a->bytes : 1);
	if (!copy.data) return rt_fail(e, RT_ENOMEM, "out of memory for column `%s`", name);
	if (a->bytes) memcpy(copy.data, a->data, a->bytes);
	int st = add_column(d, name, &copy, e);
	if (st) rt_free(&d->alloc, copy.data);
	return st;
}

/* --- images with labels ------------------------------------------------------------------------------------- */

/* Bytes become floats when batches are filled; labels are widened once. Takes over both arrays, whatever happens. */
static int image_set(const char *kind, RtArray *image, RtArray *label, int shuffle, const RtAlloc *al, RtData **out, RtErr *e)
{
	RtData *d = NULL;
	RtArray wide = { .dtype = DT_I32, .rank = 1, .dim = { image->dim[0] }, .nelem = label->nelem };
	int st = data_arrays((size_t)image->dim[0], shuffle, al, &d, e);
	if (!st && !(wide.data = rt_alloc(al, label->nelem * sizeof(int32_t) + 1))) st = rt_fail(e, RT_ENOMEM, "out of memory for labels");
	for (size_t i = 0; !st && i < label->nelem; i++) ((int32_t *)wide.data)[i] = ((unsigned char *)label->data)[i];
	if (!st && !(st = add_column(d, "image", image, e))) {
		image->data = NULL;
		d->column[0].dtype = DT_F32;
		d->column[0].use_table = 1;
		if (!(st = add_column(d, "label", &wide, e))) wide.data = NULL;
		d->kind = kind;
	}
	array_free(al, image);
	array_free(al, label);
	array_free(al, &wide);
	if (st) data_free(d);
	else *out = d;
	return st;
}

int data_digits(int split, int shuffle, const RtAlloc *al, RtData **out, RtErr *e)
{
	int64_t n = split == SPLIT_TRAIN ? DIGITS_TRAIN : DIGITS_TEST;
	RtArray image = { .dtype = DT_U8, .rank = 3, .dim = { n, 28, 28 }, .nelem = (size_t)n * 784 };
	RtArray label = { .dtype = DT_U8, .rank = 1, .dim = { n }, .nelem = (size_t)n };
	image.data = rt_alloc(al, image.nelem);
	label.data = rt_alloc(al, label.nelem);
	if (!image.data || !label.data) {
		array_free(al, &image);
		array_free(al, &label);
		return rt_fail(e, RT_ENOMEM, "out of memory for %lld digits", (long long)n);
	}
	for (int64_t i = 0; i < n; i++)
		((unsigned char *)label.data)[i] = (unsigned char)digit_sample(split, (uint32_t)i, (unsigned char *)image.data + i * 784);
	return image_set("digits", &image, &label, shuffle, al, out, e);
}

int data_columns(int split, const RtAlloc *al, RtData **out, RtErr *e)
{
	static const RtColumn columns[] = {
		{ .name = "image", .dtype = DT_F32, .rank = 2, .dim = { 28, 28 }, .nelem = 784, .use_table = 1 },
		{ .name = "label", .dtype = DT_I32, .nelem = 1 },
	};
	int st = data_arrays(split == SPLIT_TRAIN ? DIGITS_TRAIN : DIGITS_TEST, 0, al, out, e);
	if (st) return st;
	memcpy((*out)->column, columns, sizeof columns);
	(*out)->ncolumn = 2;
	return RT_OK;
}

/* --- the files ------------------------------------------------------------------------------------------------- */

static const char *const file_names[2][2] = {
	{ "train-images-idx3-ubyte", "train-labels-idx1-ubyte" },
	{ "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte" },
};

/* dir/name, dir/name.gz, and both under dir/mnist; 0 when there is none or the path is too long */
static int find_file(const char *dir, const char *name, char *path, size_t size)
{
	static const char *const sub[] = { "", "mnist/" }, *const end[] = { "", ".gz" };
	for (int i = 0; i < 4; i++) {
		int n = snprintf(path, size, "%s/%s%s%s", dir, sub[i / 2], name, end[i % 2]);
		if (n > 0 && (size_t)n < size && !access(path, F_OK)) return 1;
	}
	return 0;
}

typedef struct Pair { char (*path)[4096]; const RtArray *image; } Pair;

static int are_images(void *arg, RtArray *a, RtErr *e)
{
	const Pair *p = arg;
	if (a->dtype == DT_U8 && a->rank == 3 && a->dim[1] == 28 && a->dim[2] == 28) return RT_OK;
	return rt_fail(e, RT_EIO, "`%s` does not hold images of 28×28 bytes", p->path[0]);
}

static int are_labels(void *arg, RtArray *a, RtErr *e)
{
	const Pair *p = arg;
	if (a->dtype != DT_U8 || a->rank != 1)
		return rt_fail(e, RT_EIO, "`%s` does not hold a list of labels in bytes", p->path[1]);
	if (a->dim[0] == p->image->dim[0]) return RT_OK;
	return rt_fail(e, RT_EIO, "`%s` holds %lld images, but `%s` holds %lld labels", p->path[0],
		(long long)p->image->dim[0], p->path[1], (long long)a->dim[0]);
}

static int read_pair(char path[2][4096], const RtAlloc *al, RtArray *image, RtArray *label, RtErr *e)
{
	Pair p = { path, image };
	int st = idx_read(path[0], &(ArrayCheck){ are_images, &p }, al, image, e);
	if (st || (st = idx_read(path[1], &(ArrayCheck){ are_labels, &p }, al, label, e))) return st;
	for (size_t i = 0; i < label->nelem; i++)
		if (((unsigned char *)label->data)[i] > 9)
			return rt_fail(e, RT_EIO, "`%s` has label %d at %zu; digits go from 0 to 9", path[1], ((unsigned char *)label->data)[i], i);
	return RT_OK;
}

static int load_files(char path[2][4096], int shuffle, const RtAlloc *al, RtData **out, RtErr *e)
{
	RtArray image = { 0 }, label = { 0 };
	int st = read_pair(path, al, &image, &label, e);
	if (!st) return image_set("mnist", &image, &label, shuffle, al, out, e);
	array_free(al, &image);
	array_free(al, &label);
	return st;
}

int data_mnist(const char *dir, int split, int shuffle, const RtAlloc *al, RtData **out, RtErr *e)
{
	char path[2][4096], cache[2048];
	const char *home = getenv("HOME"), *const *name = file_names[split != SPLIT_TRAIN];
	int given = dir && *dir;
	if (!given) {
		int n = snprintf(cache, sizeof cache, "%s/.cache/pxl", home ? home : "");
		if (!home || !*home || (size_t)n >= sizeof cache) return data_digits(split, shuffle, al, out, e);
		dir = cache;
	}
	int images = find_file(dir, name[0], path[0], sizeof path[0]), labels = find_file(dir, name[1], path[1], sizeof path[1]);
	if (images && labels) return load_files(path, shuffle, al, out, e);
	if (!given && !images && !labels) return data_digits(split, shuffle, al, out, e);
	return rt_fail(e, RT_EIO, "there is no `%s` (or .gz) in `%s` or `%s/mnist`", name[images ? 1 : 0], dir, dir);
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

int data_column(const RtData *d, const char *name)
{
	for (int i = 0; i < d->ncolumn; i++)
		if (!strcmp(d->column[i].name, name)) return i;
	return -1;
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* A number below m from 32 random bits; the bias, m / 2^32, is beyond noticing. */
void data_epoch(RtData *d, uint64_t seed, uint64_t epoch)
{
	if (!d->order) return;
	uint64_t key = mix(mix(seed + 0x9e3779b97f4a7c15u) + epoch * 0xd1342543de82ef95u);
	for (size_t i = 0; i < d->n; i++) d->order[i] = (uint32_t)i;
	for (size_t m = d->n; m > 1; m--) {
		uint64_t word = mix(key + m * 0x9e3779b97f4a7c15u) >> 32;
		size_t k = (size_t)(word * m >> 32);
		uint32_t swap = d->order[k];
		d->order[k] = d->order[m - 1];
		d->order[m - 1] = swap;
	}
}

void data_fill(const RtData *d, int column, size_t pos, size_t n, void *out)
{
	const RtColumn *c = &d->column[column];
	size_t row = c->nelem * (c->use_table ? 1 : dtype_size(c->dtype));
	for (size_t i = 0; i < n; i++) {
		const unsigned char *from = (const unsigned char *)c->data + (d->order ? d->order[pos + i] : pos + i) * row;
		if (c->use_table) {
			float *to = (float *)out + i * c->nelem;
			for (size_t j = 0; j < c->nelem; j++) to[j] = d->table[from[j]];
		} else if (row) {
			memcpy((char *)out + i * row, from, row);
		}
	}
}
