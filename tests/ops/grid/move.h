/* move.h — rows of the grid that move elements: shapes, regions, and positions computed at run time. */
#ifndef TESTS_OPS_GRID_MOVE_H
#define TESTS_OPS_GRID_MOVE_H

#include "tests/ops/grid/fold.h"

/* --- shapes and regions ------------------------------------------------------------------------------------------------------ */

WHOLE(flat) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k); }
WHOLE(broadcast) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, paired(SX(0), SY(0), k)); }

WHOLE(transpose)
{
	int c[MAX_RANK], d[MAX_RANK];
	for (size_t k = 0; k < NX(0); k++) {
		coords(SX(0), k, c);
		for (int i = 0; i < SX(0).rank; i++) d[i] = c[ATTR("permutation")->ints.at[i]];
		Y(0, flat(SY(0), d)) = X(0, k);
	}
}

/* operand or result `part` of a tensor cut along the axis, its element k: where it lies in the whole */
static size_t in_whole(Shape whole, Shape part, int axis, size_t before, size_t k)
{
	int c[MAX_RANK];
	coords(part, k, c);
	c[axis] += (int)before;
	return flat(whole, c);
}
WHOLE(concat)
{
	int axis = (int)ATTR("axis")->i;
	size_t before = 0;
	for (int i = 0; i < u->nin; before += (size_t)SX(i).dim[axis], i++)
		for (size_t k = 0; k < NX(i); k++) Y(0, in_whole(SY(0), SX(i), axis, before, k)) = X(i, k);
}
WHOLE(stack)
{
	int axis = (int)ATTR("axis")->i, c[MAX_RANK], d[MAX_RANK];
	for (int i = 0; i < u->nin; i++)
		for (size_t k = 0; k < NX(i); k++) {
			coords(SX(i), k, c);
			for (int j = 0, q = 0; j < SY(0).rank; j++) d[j] = j == axis ? i : c[q++];
			Y(0, flat(SY(0), d)) = X(i, k);
		}
}
/* place of axis i that element c of the result comes from; -1: from nowhere, the constant stands there */
static int64_t pad_source(Unit *u, int i, int64_t c)
{
	const char *mode = ATTR("mode")->s;
	int64_t before = ATTR("padding")->ints.at[i], behind = ATTR("padding")->ints.at[SX(0).rank + i];
	int64_t lo = before < 0 ? -before : 0, n = SX(0).dim[i] - lo + (behind < 0 ? behind : 0), at = c - (before > 0 ? before : 0);
	if (at >= 0 && at < n) return lo + at;
	if (mode[0] == 'c') return -1;
	if (mode[0] == 'w') return lo + (at + n) % n;
	if (mode[0] == 'e') return lo + (at < 0 ? 0 : n - 1);
	return lo + (at < 0 ? -at : 2 * (n - 1) - at);
}
WHOLE(pad)
{
	int c[MAX_RANK], d[MAX_RANK];
	for (size_t k = 0; k < NY(0); k++) {
		int from = 1;
		coords(SY(0), k, c);
		for (int i = 0; i < SY(0).rank; i++) {
			int64_t at = pad_source(u, i, c[i]);
			from &= at >= 0;
			d[i] = (int)at;
		}
		Y(0, k) = from ? X(0, flat(SX(0), d)) : u->nin > 1 ? X(1, 0) : TYPE(0) == DT_BOOL ? ATTR("value")->f != 0 : (Num)ATTR("value")->f;
	}
}
WHOLE(split)
{
	int axis = (int)ATTR("axis")->i;
	size_t before = 0;
	for (int i = 0; i < u->nout; before += (size_t)SY(i).dim[axis], i++)
		for (size_t k = 0; k < NY(i); k++) Y(i, k) = X(0, in_whole(SX(0), SY(i), axis, before, k));
}

/* from + step · c, per axis */
static size_t strided(Shape to, Shape s, size_t k, const int *from, const int *step)
{
	int c[MAX_RANK];
	coords(s, k, c);
	for (int i = 0; i < s.rank; i++) c[i] = from[i] + step[i] * c[i];
	return flat(to, c);
}
#define REGION(name, from, step) WHOLE(name) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, strided(SX(0), SY(0), k, (int[])from, (int[])step)); }
#define AT(...) { __VA_ARGS__ }
REGION(slice_some, AT(1, 0), AT(1, 1)) REGION(slice_back, AT(4, 3), AT(-1, -1)) REGION(slice_axis, AT(0, 2, 0), AT(1, 1, 1)) REGION(slice_line, AT(16), AT(-1))
REGION(subsample, AT(0, 0), AT(2, 3)) REGION(subsample_three, AT(0, 0, 0), AT(2, 3, 1)) REGION(subsample_rows, AT(0, 0, 0), AT(2, 1, 1)) REGION(pick, AT(5, 0), AT(-2, 1))
WHOLE(place) { for (size_t k = 0; k < NX(0); k++) Y(0, strided(SY(0), SX(0), k, (int[]){ 4, 1 }, (int[]){ -2, 1 })) = X(0, k); }
WHOLE(zeros) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = 0; }

/* --- positions of an axis ------------------------------------------------------------------------------------------------------- */

WHOLE(gather)
{
	Lines l = lines_of(SX(0), (int)ATTR("axis")->i);
	for (size_t o = 0; o < l.outer; o++)
		for (size_t j = 0; j < NX(1); j++)
			for (size_t i = 0; i < l.inner; i++)
				Y(0, (o * NX(1) + j) * l.inner + i) = X(1, j) < (Num)l.n ? X(0, on_line(l, o, i, (size_t)X(1, j))) : 0;
}
WHOLE(groupedgather)
{
	size_t groups = (size_t)SX(1).dim[0], count = NX(1) / groups;
	Lines l = lines_of(SX(0), (int)ATTR("axis")->i);
	for (size_t o = 0; o < l.outer; o++)
		for (size_t j = 0; j < count; j++)
			for (size_t i = 0; i < l.inner; i++)
				Y(0, (o * count + j) * l.inner + i) = X(0, on_line(l, o, i, (size_t)X(1, o / (l.outer / groups) * count + j)));
}
/* adds elements of operand i, whose axis holds the places that operand 1 lists, to y */
static void add_slices(Unit *u, int i, Shape to, int axis, Num *y, Num factor)
{
	Lines l = lines_of(to, axis);
	for (size_t o = 0; o < l.outer; o++)
		for (size_t j = 0; j < NX(i == 0 ? 1 : 2); j++)
			for (size_t q = 0; q < l.inner; q++) {
				Num at = X(i == 0 ? 1 : 2, j), v = X(i, (o * NX(i == 0 ? 1 : 2) + j) * l.inner + q);
				if (at >= (Num)l.n) continue;
				size_t k = on_line(l, o, q, (size_t)at);
				y[k] = is_real(TYPE(0)) ? y[k] + factor * v : ring(TYPE(0), bits_of(y[k]) + bits_of(factor) * bits_of(v));
				M(0, k) += fabsl(v);
			}
}
WHOLE(scatter_add) { add_slices(u, 0, SY(0), (int)ATTR("axis")->i, u->want[0], 1); }
WHOLE(sparse) { w_flat(u); for (size_t k = 0; k < NX(0); k++) M(0, k) += fabsl(X(0, k)); add_slices(u, 1, SX(0), (int)ATTR("axis")->i, u->want[0], ATTR("f")->set ? (Num)ATTR("f")->f : 1); }
WHOLE(onehot)
{
	int axis = (int)ATTR("axis")->i, c[MAX_RANK], d[MAX_RANK];
	if (axis < 0) axis += SY(0).rank;
	for (size_t k = 0; k < NY(0); k++) {
		coords(SY(0), k, c);
		for (int i = 0, j = 0; i < SY(0).rank; i++) if (i != axis) d[j++] = c[i];
		Y(0, k) = X(2, X(0, flat(SX(0), d)) == c[axis]);
	}
}

/* place k of the small tensor, with its position of the axis read from operand 1 */
static size_t moved(Unit *u, Shape big, Shape small, size_t k, Num at)
{
	int c[MAX_RANK];
	coords(small, k, c);
	c[(int)ATTR("axis")->i] = (int)at;
	return flat(big, c);
}
WHOLE(scatter) { w_flat(u); for (size_t k = 0; k < NX(2); k++) Y(0, moved(u, SX(0), SX(2), k, X(1, k))) = X(2, k); }
WHOLE(read_at) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, moved(u, SX(0), SY(0), k, X(1, k))); }
WHOLE(scatter_reduce)
{
	char how = ATTR("reduction")->s[0] == 'm' ? ATTR("reduction")->s[1] : ATTR("reduction")->s[0];      /* sum, none, max, min */
	int given = u->nin > 2;
	char *touched = arena_alloc(u->op->graph->ir->mem, NY(0) + 1);
	Num start = how == 'a' ? -INFINITY : how == 'i' ? INFINITY : 0;
	for (size_t k = 0; k < NY(0); k++) Y(0, k) = given ? X(2, k) : start, M(0, k) = given ? fabsl(X(2, k)) : 0;
	for (size_t k = 0; k < NX(0); k++) {
		int c[MAX_RANK];
		coords(SX(0), k, c);
		size_t q = moved(u, SY(0), SX(0), k, NX(1) == NX(0) ? X(1, k) : X(1, (size_t)c[(int)ATTR("axis")->i]));
		Num y = Y(0, q), x = X(0, k);
		Y(0, q) = how == 'n' ? x : how == 'a' ? a_max(y, x) : how == 'i' ? a_min(y, x) : is_real(TYPE(0)) ? y + x : ring(TYPE(0), bits_of(y) + bits_of(x));
		M(0, q) += fabsl(x);
		touched[q] = 1;
	}
	for (size_t k = 0; k < NY(0); k++) if (!given && !touched[k]) Y(0, k) = 0;
}

static size_t window(Unit *u, Shape big, Shape small, size_t k)
{
	const AttrVal *axes = ATTR("axes");
	int c[MAX_RANK];
	coords(small, k, c);
	for (int i = 0; i < axes->ints.n; i++) c[axes->ints.at[i]] += (int)X(1, (size_t)i);
	return flat(big, c);
}
WHOLE(dynamic_slice) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, window(u, SX(0), SY(0), k)); }
WHOLE(dynamic_update) { w_flat(u); for (size_t k = 0; k < NX(2); k++) Y(0, window(u, SX(0), SX(2), k)) = X(2, k); }

/* --- rows --------------------------------------------------------------------------------------------------------------------------- */

#define MOVES(name, ref, list, ...) ROW(name, ref, T_ALL, list, .exact = 1, __VA_ARGS__)
#define RESHAPES { "T[3, 4]", "shape = [2, -1]" }, { "T[12]", "shape = [2, 3, 1, 2]" }, { "T[1]", "shape = []" }, { "T[]", "shape = [1, 1]" }, { "T[2, 1, 3, 1, 2, 1, 2, 2]", "shape = [12, 4]" }, { "T[90, 301]", "shape = [301, 90]" }
#define PERMUTES { "T[3, 4]", "" }, { "T[17]", "" }, { "T[]", "" }, { "T[2, 3, 4]", "permutation = [1, 2, 0]" }, { "T[2, 3, 4, 5]", "permutation = [0, 2, -1, 1]" }, { "T[2, 1, 3, 1, 2, 1, 2, 2]", "" }, \
	{ "T[33, 17]", "" }, { "T[90, 301]", "" }, { "T[3, 70, 131]", "permutation = [1, 0, 2]" }, { "T[3, 0, 2]", "" }
#define JOINS { "T[2, 3] T[1, 3] T[4, 3]", "" }, { "T[2, 3] T[2, 1]", "axis = -1" }, { "T[17]", "" }, { "T[3, 2, 2] T[3, 5, 2]", "axis = 1" }, { "T[0] T[3]", "" }, { "T[70, 131] T[70, 200]", "axis = 1" }

static const Row move_rows[] = {
	MOVES("reshape", flat, FORMS(RESHAPES)), MOVES("reshape_", flat, FORMS(RESHAPES)), MOVES("flatten", flat, FORMS({ "T[3, 4, 5]", "" }, { "T[]", "" }, { "T[3, 0]", "" })), MOVES("flatten_", flat, FORMS({ "T[3, 4, 5]", "" })),
	MOVES("squeeze", flat, FORMS({ "T[1, 4, 1]", "" }, { "T[3, 1, 2, 1]", "axes = [-1]" }, { "T[1]", "" })), MOVES("transpose", transpose, FORMS(PERMUTES)), MOVES("transpose_", transpose, FORMS(PERMUTES)),
	MOVES("concat", concat, FORMS(JOINS)), MOVES("concat_", concat, FORMS(JOINS)), MOVES("split", split, FORMS({ "T[4, 3]", "splits = 2" }, { "T[4, 6]", "splits = [1, 2, 3], axis = 1" }, { "T[3, 5, 2]", "splits = [4, 1], axis = -2" }, { "T[70, 400]", "splits = 2, axis = 1" })),
	MOVES("expand", broadcast, FORMS({ "T[3, 1]", "shape = [2, 3, 4]" }, { "T[]", "shape = [17]" }, { "T[1, 5]", "shape = [3, -1]" }, { "T[3, 1]", "shape = [3, 9001]" }, { "T[1]", "shape = [0]" }, { "T[3, 1]", "shape = [2, 1, 4]" },
		{ "T[2, 3]", "shape = [-1]" }, { "T[2, 1, 3]", "shape = [4, -1, 5, -1]" }, { "T[2, 3]", "shape = [2, 3]" })),
	MOVES("stack", stack, FORMS({ "T[2, 3] T[2, 3] T[2, 3]", "" }, { "T[2, 3] T[2, 3]", "axis = -1" }, { "T[4, 3, 2] T[4, 3, 2]", "axis = 1" }, { "T[] T[] T[]", "" }, { "T[17]", "axis = 1" }, { "T[3, 0] T[3, 0]", "axis = 1" },
		{ "T[90, 301] T[90, 301]", "axis = 2" }, { "T[2, 1, 2, 1, 2, 1, 2] T[2, 1, 2, 1, 2, 1, 2]", "axis = 3" })),
	MOVES("pad", pad, FORMS({ "T[3, 4]", "padding = [1, 0, 2, 3]" }, { "T[3, 4]", "padding = 2, value = 1" }, { "T[5]", "padding = [0, 2], value = 2" }, { "T[3, 4, 5]", "padding = [2, 1], axis = -1" }, { "T[3, 4]", "padding = [-1, 2, 1, -3]" },
		{ "T[3, 4]", "padding = [-1, -1, -1, 0]" }, { "T[2, 3] T[]", "padding = [1, 0, 0, 2]" }, { "T[2, 3] T[1]", "padding = [0, -1, 0, 0]" }, { "T[]", "padding = []" }, { "T[3, 0]", "padding = [0, 1, 0, 1]" }, { "T[3]", "padding = [-1, -2]" },
		{ "T[4]", "padding = [-4, 2], value = 1" }, { "T[90, 301]", "padding = 3" }, { "T[2, 1, 3, 1, 2, 1, 2, 2]", "padding = 1, axis = [2, -1]" },
		{ "T[3, 4]", "padding = [2, 3, 1, 2], mode = reflect" }, { "T[2, 3, 5]", "padding = [0, 1, -1, 1, -1, 3], mode = reflect" }, { "T[1, 4]", "padding = [0, 3, 0, 3], mode = reflect" }, { "T[70, 90]", "padding = 60, mode = reflect" },
		{ "T[3, 4]", "padding = [2, 3, 1, 5], mode = edge" }, { "T[1, 1]", "padding = 2, mode = edge" }, { "T[2, 3, 5]", "padding = [3, -1, 0, 1, 2, -2], mode = edge" }, { "T[70, 90]", "padding = 60, mode = edge" },
		{ "T[3, 4]", "padding = [2, 4, 3, 1], mode = wrap" }, { "T[2, 3, 5]", "padding = [-1, 0, 3, 1, -2, 3], mode = wrap" }, { "T[70, 90]", "padding = 60, mode = wrap" })),
	MOVES("slice", slice_some, FORMS({ "T[5, 4]", "start = [1, none], stop = [4, -1]" }, { "T[5, 4]", "start = 1" }, { "T[200, 300]", "start = 1" })), MOVES("slice", slice_back, FORMS({ "T[5, 4]", "step = [-1, -1]" })),
	MOVES("slice", slice_axis, FORMS({ "T[3, 7, 4]", "start = 2, stop = 6, axis = 1" })), MOVES("slice", slice_line, FORMS({ "T[17]", "step = -1" }, { "T[17]", "stop = 3, step = -1" })),
	MOVES("slice_", slice_some, FORMS({ "T[5, 4]", "start = 1" })), MOVES("slice_", slice_back, FORMS({ "T[5, 4]", "step = [-1, -1]" })),
	MOVES("subsample", subsample, FORMS({ "T[5, 4]", "strides = [2, 3]" }, { "T[301, 400]", "strides = [2, 3]" })), MOVES("subsample", subsample_three, FORMS({ "T[5, 4, 2]", "strides = [2, 3]" })), MOVES("subsample", subsample_rows, FORMS({ "T[5, 4, 2]", "strides = 2" })),
	MOVES("pick", pick, FORMS({ "T[6, 4]", "start = [5, 0], step = [-2, 1], shape = [3, 4]" })),
	MOVES("place", place, FORMS({ "T[3, 2]", "start = [4, 1], step = [-2, 1], shape = [5, 4]" })),
	ROW("init", zeros, BIT(F32), FORMS({ "", "shape = [5], dtype = f32" }, { "", "shape = [3, 0], dtype = i8" }, { "", "shape = [], dtype = bool" }, { "", "shape = [2, 3, 4], dtype = f64" }, { "", "shape = [33], dtype = u64" }, { "", "shape = [7], dtype = f8_143" }), .any = T_ALL),
	MOVES("gather", gather, FORMS({ "T[5, 3] i32[2, 2]<5", "" }, { "T[2, 5, 3] u32[4]<5", "axis = 1" }, { "T[5] i64[9]<9", "zero_OOR = true" }, { "T[5, 3] i32[]<3", "axis = -1" }, { "T[5, 3] i32[0]<5", "" }, { "T[70, 33] i32[900]<70", "" }, { "T[3, 900] u32[400]<900", "axis = 1" })),
	MOVES("tied_gather", gather, FORMS({ "T[5, 3] i32[4]<5", "" }, { "T[70, 33] i32[900]<70", "" })),
	ROW("groupedgather", groupedgather, T_ALL, FORMS({ "T[2, 5, 3] i32[2, 4]<5", "axis = 1, group_size = 2" }, { "T[3, 2, 7] i32[3, 2, 2]<7", "axis = 2, group_size = 3" }), .exact = 1),
	ROW("scatter_add", scatter_add, T_NUMBER, FORMS({ "T[6, 3] i32[6]<7", "shape = [5, 3], zero_OOR = true" }, { "T[2, 9, 3] i32[9]<4", "shape = [2, 4, 3], axis = 1" }, { "T[900, 7] i32[900]<31", "shape = [31, 7]" }), .any = T_ALL, .sums = 4),
	ROW("sparse_accumulate_", sparse, T_NUMBER, FORMS({ "T[5, 3] T[6, 3] i32[6]<5", "" }, { "T[2, 5, 3] T[2, 8, 3] u32[8]<5", "axis = 1, f = 3" }, { "T[70, 33] T[300, 33] i32[300]<70", "" }), .sums = 20, .plain_target = 1),
	ROW("onehot", onehot, T_I | T_U, FORMS({ "T[6]<6 - f32[2]", "num_classes = 4, axis = -1" }, { "T[2, 3]<5 - f16[2]", "num_classes = 5, axis = 0" }, { "T[2, 3]<5 - i8[2]", "num_classes = 3, axis = 1" }, { "T[]<5 - f64[2]", "num_classes = 3, axis = 0" }), .exact = 1),
	ROW("scatter", scatter, T_ALL, FORMS({ "T[5, 3] i32[4, 3]<5 T[4, 3]", "" }, { "T[3, 7] u32[2, 4]<7 T[2, 4]", "axis = 1" }, { "T[17] i64[5]<17 T[5]", "" }, { "T[90, 131] i32[80, 131]<90 T[80, 131]", "" }), .exact = 1),
	ROW("read_at", read_at, T_ALL, FORMS({ "T[5, 3] i32[4, 3]<5", "shape = [4, 3], axis = 0" }, { "T[3, 7] u32[2, 4]<7", "shape = [2, 4], axis = 1" }), .exact = 1),
	ROW("scatter_reduce", scatter_reduce, T_NUMBER, FORMS({ "T[6, 3] i32[6, 3]<5", "reduction = sum, axis_size = 5" }, { "T[6, 3] i32[6]<5", "reduction = sum, axis_size = 5" }, { "T[6, 3] i32[6, 3]<5 T[5, 3]", "reduction = sum" },
		{ "T[2, 9] i32[2, 9]<4", "reduction = max, axis = 1, axis_size = 4" }, { "T[2, 9] u32[9]<6 T[2, 6]", "reduction = min, axis = 1" }, { "T[9] i64[9]<20", "reduction = min, axis_size = 20" }, { "T[6, 3] i32[6, 3]<5 T[5, 3]", "reduction = none" }, { "T[300, 33] i32[300]<17", "reduction = sum, axis_size = 17" }), .sums = 20, .any = T_B),
	ROW("grouped_scatter_reduce", scatter_reduce, T_NUMBER, FORMS({ "T[2, 9] i32[2, 9]<4", "reduction = sum, axis = 1, axis_size = 4, group_size = 2" }, { "T[2, 9] i32[2, 9]<6 T[2, 6]", "reduction = max, axis = 1, group_size = 2" }), .sums = 20, .any = T_B),
	ROW("dynamic_slice", dynamic_slice, T_ALL, FORMS({ "T[7, 5] u32[1]<4", "axes = [0], sizes = [3], no_overlap = false" }, { "T[7, 5] i32[2]<3", "axes = [0, 1], sizes = [4, 2], no_overlap = true" }, { "T[3, 17] i64[1]<9", "axes = [1], sizes = [8], no_overlap = false" }, { "T[300, 131] i32[1]<100", "axes = [0], sizes = [200], no_overlap = false" }), .exact = 1),
	ROW("dynamic_update", dynamic_update, T_ALL, FORMS({ "T[7, 5] u32[1]<4 T[3, 5]", "axes = [0], sizes = [3], no_overlap = false" }, { "T[7, 5] i32[2]<3 T[4, 2]", "axes = [0, 1], sizes = [4, 2], no_overlap = true" }), .exact = 1),
	ROW("dynamic_update_", dynamic_update, T_ALL, FORMS({ "T[7, 5] u32[1]<4 T[3, 5]", "axes = [0], sizes = [3], no_overlap = false" }, { "T[3, 17] i64[1]<9 T[3, 8]", "axes = [1], sizes = [8], no_overlap = false" }), .exact = 1, .plain_target = 1),
};

#endif
