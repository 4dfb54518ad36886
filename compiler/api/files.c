/* files.c — arrays for hosts: .npy files, elements, conversions. */
#include "compiler/api/internal.h"

#include <string.h>

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

pxl_status pxl_npy_write(pxl_ctx *cx, const char *path, pxl_dtype t, int rank, const int64_t *dim, const void *data)
{
	RtErr e = { 0 };
	size_t n = 1;
	if (!cx) return PXL_EINVAL;
	RtAlloc al = cx_rt_alloc(cx);
	if ((unsigned)t >= DT_COUNT || rank < 0 || rank > PXL_MAX_RANK) return cx_fail(cx, PXL_EINVAL, "no such element type, or rank");
	for (int i = 0; dim && i < rank; i++) n = dim[i] < 0 ? 0 : n * (size_t)dim[i];
	if (!path || (rank && !dim) || (n && !data)) return cx_fail(cx, PXL_EINVAL, "pxl_npy_write needs a path, dimensions and data");
	return npy_write(path, (DType)t, rank, dim, data, &al, &e) ? cx_fail_rt(cx, &e) : PXL_OK;
}

void pxl_array_free(pxl_ctx *cx, pxl_array *a)
{
	if (!cx || !a) return;
	cx_free(cx, a->data);
	*a = (pxl_array){ .data = NULL };
}

double pxl_element(pxl_dtype t, const void *data, size_t i) { return data && (unsigned)t < DT_COUNT ? rt_get((DType)t, data, i) : 0; }

void pxl_convert(pxl_dtype to, void *dst, pxl_dtype from, const void *src, size_t n)
{
	if (!dst || !src || (unsigned)to >= DT_COUNT || (unsigned)from >= DT_COUNT) return;
	rt_convert((DType)to, dst, (DType)from, src, n);
}
