/* shape.c — shapes as values: comparison, broadcasting, text in the two spellings we print. */
#include "compiler/ir/ir.h"

#include <inttypes.h>

int shape_eq(Shape a, Shape b)
{
	if (a.rank != b.rank) return 0;
	for (int i = 0; i < a.rank; i++)
		if (a.dim[i] != b.dim[i]) return 0;
	return 1;
}

int64_t shape_nelems(Shape s)
{
	int64_t n = 1;
	int overflow = 0;
	for (int i = 0; i < s.rank; i++) {
		if (s.dim[i] == 0) return 0;
		if (s.dim[i] < 0 || __builtin_mul_overflow(n, s.dim[i], &n)) overflow = 1;
	}
	return overflow ? -1 : n;
}

/* The rule for the shape of any tensor: at most MAX_RANK axes, each of 0 elements or more, and few enough elements for
 * sizes in bytes to fit an int64_t.  Axes of length 0 are left out of that product, because strides of a tensor without
 * elements are products of its other axes and must fit too. */
int shape_legal(Shape s)
{
	int64_t n = 1;
	if (s.rank < 0 || s.rank > MAX_RANK) return 0;
	for (int i = 0; i < s.rank; i++)
		if (s.dim[i] < 0 || (s.dim[i] && __builtin_mul_overflow(n, s.dim[i], &n))) return 0;
	return n <= INT64_MAX / 16;
}

/* dimension i of s when s is aligned from the right in a shape of the given rank */
static int64_t dim_from_right(Shape s, int rank, int i)
{
	int j = i - (rank - s.rank);
	return j < 0 ? 1 : s.dim[j];
}

int shape_broadcast(Shape a, Shape b, Shape *out)
{
	Shape r = { .rank = a.rank > b.rank ? a.rank : b.rank };
	for (int i = 0; i < r.rank; i++) {
		int64_t x = dim_from_right(a, r.rank, i), y = dim_from_right(b, r.rank, i);
		if (x != y && x != 1 && y != 1) return 0;
		r.dim[i] = x == 1 ? y : x;
	}
	*out = r;
	return 1;
}

static void put_dims(Buf *b, Shape s)
{
	for (int i = 0; i < s.rank; i++) buf_printf(b, i ? ", %" PRId64 : "%" PRId64, s.dim[i]);
}

const char *shape_str(Arena *a, Shape s)
{
	Buf b = buf_new(a);
	buf_putc(&b, '[');
	put_dims(&b, s);
	buf_putc(&b, ']');
	return b.s;
}

const char *shape_tuple(Arena *a, Shape s)
{
	Buf b = buf_new(a);
	buf_putc(&b, '(');
	put_dims(&b, s);
	buf_puts(&b, s.rank == 1 ? ",)" : ")");
	return b.s;
}

const char *spec_str(Arena *a, DType t, Shape s)
{
	return arena_printf(a, "%s%s", dtype_info[t].name, shape_str(a, s));
}
