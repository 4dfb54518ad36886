/* files.c — arrays for hosts: .npy files, elements, conversions. */
#include "compiler/api/internal.h"

#include <string.h>
#include <unistd.h>

#include "runtime/formats/formats.h"

pxl_status pxl_npy_read(pxl_ctx *cx, const char *path, pxl_array *out)
{
	RtErr e = { 0 };
	RtArray a = { 0 };
	if (!cx) return PXL_EINVAL;
	if (!path || !out) return cx_fail(cx, PXL_EINVAL, "pxl_npy_read needs a path and a place for the array");
	RtAlloc al = cx_rt_alloc(cx);
	if (npy_read(path, &al, &a, &e)) return cx_fail_rt(cx, &e);
	*out = (pxl_array){ .dtype = (pxl_dtype)a.dtype, .rank = a.rank, .nelem = a.nelem, .bytes = a.bytes, .data = a.data };
	memcpy(out->dim, a.dim, sizeof a.dim);
	return PXL_OK;
}

/* no array has so many bytes; 0: it may */
static int too_many(size_t n, size_t size)
{
	size_t bytes;
	return __builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX;
}

static pxl_status count_elements(pxl_ctx *cx, pxl_dtype t, int rank, const int64_t *dim, size_t *n)
{
	int huge = 0;
	*n = 1;
	for (int i = 0; i < rank; i++) {
		if (dim[i] < 0) return cx_fail(cx, PXL_EINVAL, "dimension %d is %lld", i, (long long)dim[i]);
		huge |= __builtin_mul_overflow(*n, (size_t)dim[i], n);
	}
	return huge || too_many(*n, dtype_size((DType)t)) ? cx_fail(cx, PXL_EINVAL, "no array has so many elements") : PXL_OK;
}

static pxl_status write_npy(pxl_ctx *cx, const RtPlace *p, pxl_dtype t, int rank, const int64_t *dim, const void *data)
{
	RtErr e = { 0 };
	size_t n;
	RtAlloc al = cx_rt_alloc(cx);
	if ((unsigned)t >= DT_COUNT) return cx_fail(cx, PXL_EINVAL, "there is no element type %d", (int)t);
	if (rank < 0 || rank > PXL_MAX_RANK) return cx_fail(cx, PXL_EINVAL, "%d dimensions: there are 0 to %d", rank, PXL_MAX_RANK);
	if (rank && !dim) return cx_fail(cx, PXL_EINVAL, "a .npy file needs dimensions");
	if (count_elements(cx, t, rank, dim, &n) != PXL_OK) return PXL_EINVAL;
	if (n && !data) return cx_fail(cx, PXL_EINVAL, "a .npy file needs data");
	return npy_write(p, (DType)t, rank, dim, data, &al, &e) ? cx_fail_rt(cx, &e) : PXL_OK;
}

pxl_status pxl_npy_write(pxl_ctx *cx, const char *path, pxl_dtype t, int rank, const int64_t *dim, const void *data)
{
	if (!cx) return PXL_EINVAL;
	if (!path) return cx_fail(cx, PXL_EINVAL, "pxl_npy_write needs a path");
	return write_npy(cx, BY_USER(path), t, rank, dim, data);
}

pxl_status pxl_npy_write_in(
	pxl_ctx *cx, const char *dir, const char *name, pxl_dtype t, int rank, const int64_t *shape, const void *data)
{
	RtErr e;
	int fd;
	if (!cx) return PXL_EINVAL;
	if (!dir || !name) return cx_fail(cx, PXL_EINVAL, "pxl_npy_write_in needs a folder and a name");
	RtAlloc al = cx_rt_alloc(cx);
	RtRoot root[REACH_ALLOWED] = { { .path = NULL } };
	if (root_open(dir, &al, &root[REACH_CURRENT], &fd, &e)) return cx_fail_rt(cx, &e);
	close(fd);
	char *file = cx_alloc(cx, strlen(name) + sizeof ".npy");
	if (file) strcat(strcpy(file, name), ".npy");
	for (char *c = file; c && *c; c++)
		if (*c == '/') *c = '%';
	RtPlace p = { .path = file, .reach = &(RtReach){ root, REACH_ALLOWED }, .base = REACH_CURRENT };
	pxl_status st = file ? write_npy(cx, &p, t, rank, shape, data) : cx_fail(cx, PXL_ENOMEM, "out of memory");
	cx_free(cx, file);
	root_free(&root[REACH_CURRENT], &al);
	return st;
}

void pxl_array_free(pxl_ctx *cx, pxl_array *a)
{
	if (!cx || !a) return;
	cx_free(cx, a->data);
	*a = (pxl_array){ .data = NULL };
}

double pxl_element(pxl_dtype t, const void *data, size_t i)
{
	return data && (unsigned)t < DT_COUNT && !too_many(i, dtype_size((DType)t)) ? rt_get((DType)t, data, i) : 0;
}

void pxl_convert(pxl_dtype to, void *dst, pxl_dtype from, const void *src, size_t n)
{
	if (!dst || !src || (unsigned)to >= DT_COUNT || (unsigned)from >= DT_COUNT) return;
	if (too_many(n, dtype_size((DType)to)) || too_many(n, dtype_size((DType)from))) return;
	rt_convert((DType)to, dst, (DType)from, src, n);
}
