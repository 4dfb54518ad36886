/* feed.c — arrays as a host has them, in memory or in a file, into inputs and variables: other ranks, 64-bit numbers,
 * more entries than one run takes.
 *
 * Shapes agree when they are equal once dimensions of 1 are left out; a stream of several transfers takes a longer
 * first dimension too and leaves the rest.  64-bit numbers, which is what hosts often have, are narrowed; an integer
 * that does not survive that is an error. */
#include "compiler/api/internal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/formats/formats.h"

static int shapes_agree(int ra, const int64_t *a, int rb, const int64_t *b)
{
	int i = 0, j = 0;
	for (;;) {
		while (i < ra && a[i] == 1) i++;
		while (j < rb && b[j] == 1) j++;
		if (i == ra || j == rb) return i == ra && j == rb;
		if (a[i++] != b[j++]) return 0;
	}
}

static int takes_shape(const pxl_program *p, const pxl_info *info, const pxl_array *a)
{
	if (shapes_agree(a->rank, a->dim, info->rank, info->dim)) return 1;
	if (info->kind != PXL_INPUT || p->rt.transfers == 1 || a->rank != info->rank || a->dim[0] < info->dim[0]) return 0;
	return !memcmp(a->dim + 1, info->dim + 1, (size_t)(a->rank - 1) * sizeof *a->dim);
}

static int takes_dtype(pxl_dtype own, pxl_dtype given)
{
	if (own == given) return 1;
	if (given == PXL_F64 || given == PXL_F32) return own == PXL_F32 || own == PXL_F16 || own == PXL_BF16 || own == PXL_F64;
	return given == PXL_I64 && own >= PXL_I8 && own <= PXL_U64;
}

/* the place of the first integer that `converted` does not hold exactly, or -1 */
static int64_t lost_integer(const pxl_info *info, const pxl_array *a, const void *converted)
{
	if (a->dtype != PXL_I64 || info->dtype == PXL_I64) return -1;
	for (size_t i = 0; i < info->nelem; i++)
		if (pxl_element(info->dtype, converted, i) != pxl_element(PXL_I64, a->data, i)) return (int64_t)i;
	return -1;
}

static void spec_text(char *out, size_t size, pxl_dtype t, int rank, const int64_t *dim)
{
	size_t n = (size_t)snprintf(out, size, "%s[", pxl_dtype_name(t));
	for (int i = 0; i < rank && n < size; i++) n += (size_t)snprintf(out + n, size - n, i ? ", %lld" : "%lld", (long long)dim[i]);
	if (n < size) snprintf(out + n, size - n, "]");
}

static pxl_status mismatch(pxl_session *s, const pxl_info *info, const pxl_array *a)
{
	static const char *const what[] = { "", "input", "output", "variable" };
	char given[200], wanted[200];
	spec_text(given, sizeof given, a->dtype, a->rank, a->dim);
	spec_text(wanted, sizeof wanted, info->dtype, info->rank, info->dim);
	return session_fail(s, PXL_EINVAL, "the array is %s, but %s `%s` takes %s", given, what[info->kind], info->name, wanted);
}

/* what the array says of itself; its numbers of elements and bytes may be left 0 */
static pxl_status check_array(pxl_session *s, const pxl_array *a)
{
	size_t n = 1, size = a ? pxl_dtype_size(a->dtype) : 0;
	if (!a) return session_fail(s, PXL_EINVAL, "no array");
	if (!size) return session_fail(s, PXL_EINVAL, "the array is of element type %d, which there is not", (int)a->dtype);
	if (a->rank < 0 || a->rank > PXL_MAX_RANK) return session_fail(s, PXL_EINVAL, "the array has %d dimensions: there are 0 to %d", a->rank, PXL_MAX_RANK);
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] < 0 || __builtin_mul_overflow(n, (size_t)a->dim[i], &n)) return session_fail(s, PXL_EINVAL, "dimension %d of the array is %lld", i, (long long)a->dim[i]);
	if ((a->nelem && a->nelem != n) || (a->bytes && a->bytes / size != n))
		return session_fail(s, PXL_EINVAL, "the array's dimensions make %zu elements, but it says %zu in %zu bytes", n, a->nelem, a->bytes);
	return n && !a->data ? session_fail(s, PXL_EINVAL, "the array has no data") : PXL_OK;
}

/* an input or a variable, and an array that it takes; info of it */
static pxl_status check_fit(pxl_session *s, int index, const pxl_array *a, pxl_info *info)
{
	if (!pxl_get_info(s->p, index, info))
		return session_fail(s, PXL_EINVAL, "cannot write index %d: there is no such input or variable", index);
	if (info->kind == PXL_OUTPUT)
		return session_fail(s, PXL_EINVAL, "`%s` is an output: it is read, not written", info->name);
	int fits = s->exact_dtypes ? info->dtype == a->dtype : takes_dtype(info->dtype, a->dtype);
	return fits && takes_shape(s->p, info, a) ? PXL_OK : mismatch(s, info, a);
}

pxl_status pxl_write_array(pxl_session *s, int index, const pxl_array *a)
{
	pxl_info info;
	if (!s) return PXL_EINVAL;
	pxl_status st = check_array(s, a);
	if (st == PXL_OK) st = check_fit(s, index, a, &info);
	if (st != PXL_OK) return st;
	if (info.dtype == a->dtype) return pxl_write(s, index, a->data, info.bytes);
	void *data = cx_alloc(s->p->m->cx, info.bytes + 1);
	if (!data) return session_fail(s, PXL_ENOMEM, "out of memory for `%s`", info.name);
	pxl_convert(info.dtype, data, a->dtype, a->data, info.nelem);
	int64_t lost = lost_integer(&info, a, data);
	if (lost < 0) st = pxl_write(s, index, data, info.bytes);
	else st = session_fail(s, PXL_EINVAL, "element %lld is %.0f, which does not fit `%s` of %s", (long long)lost,
		pxl_element(PXL_I64, a->data, (size_t)lost), info.name, pxl_dtype_name(info.dtype));
	cx_free(s->p->m->cx, data);
	return st;
}

/* --- from a file ------------------------------------------------------------------------------------------------ */
typedef struct Wanted { pxl_session *s; int index; } Wanted;

static pxl_array as_given(const pxl_info *info, const RtArray *a)
{
	pxl_array out = {
		.dtype = (pxl_dtype)a->dtype, .rank = a->rank, .nelem = a->nelem, .bytes = a->bytes, .data = a->data
	};
	memcpy(out.dim, a->dim, sizeof a->dim);
	if (npy_bits((DType)info->dtype, a->dtype)) out.dtype = info->dtype;
	return out;
}

/* The header decides; of more entries than a run takes only those are read. */
static int is_wanted(void *arg, RtArray *a, RtErr *e)
{
	const Wanted *w = arg;
	pxl_info info = { .name = NULL };
	pxl_get_info(w->s->p, w->index, &info);
	pxl_array given = as_given(&info, a);
	pxl_status st = check_fit(w->s, w->index, &given, &info);
	if (st != PXL_OK) return (int)st;                     /* e is the session's own */
	if (a->rank == info.rank && a->rank && a->dim[0] > info.dim[0]) a->dim[0] = info.dim[0];
	if (array_size(a->dtype, a->rank, a->dim, &a->nelem, &a->bytes)) return RT_OK;
	return rt_fail(e, RT_EINVAL, "the array is too large");
}

static pxl_status wrong_file(pxl_session *s, const char *path)
{
	char why[sizeof s->err.text];
	pxl_status st = s->err.status == PXL_EINVAL ? PXL_EIO : (pxl_status)s->err.status;
	memcpy(why, s->err.text, sizeof why);
	return strstr(why, path) ? st : session_fail(s, st, "`%.150s`: %s", path, why);
}

pxl_status pxl_write_npy(pxl_session *s, int index, const char *path)
{
	RtArray a = { 0 };
	RtSource *from;
	pxl_info info;
	if (!s) return PXL_EINVAL;
	if (!path) return session_fail(s, PXL_EINVAL, "pxl_write_npy needs a path");
	if (!pxl_get_info(s->p, index, &info))
		return session_fail(s, PXL_EINVAL, "cannot write index %d: there is no such input or variable", index);
	RtAlloc al = cx_rt_alloc(s->p->m->cx);
	if (source_open(BY_USER(path), &al, &from, &s->err)) return (pxl_status)s->err.status;
	int st = npy_read_from(from, &(ArrayCheck){ is_wanted, &(Wanted){ s, index } }, &al, &a, &s->err);
	source_close(from);
	if (st) return wrong_file(s, path);
	pxl_array given = as_given(&info, &a);
	pxl_status written = pxl_write_array(s, index, &given);
	array_free(&al, &a);
	return written == PXL_OK ? PXL_OK : wrong_file(s, path);
}
