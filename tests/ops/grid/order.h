/* order.h — rows of the grid for norms and order statistics. */
#ifndef TESTS_OPS_GRID_ORDER_H
#define TESTS_OPS_GRID_ORDER_H

#include "tests/ops/grid/fold.h"

/* --- norms -------------------------------------------------------------------------------------------------------------- */

static void normalise(Unit *u, size_t groups)
{
	size_t c = (size_t)SX(0).dim[1], n = NX(0) / (size_t)SX(0).dim[0] / groups, inner = NX(0) / (size_t)SX(0).dim[0] / c;
	for (size_t block = 0; block < (size_t)SX(0).dim[0] * groups; block++) {
		Num mean = 0, var = 0, most = 0;
		for (size_t k = block * n; k < (block + 1) * n; k++) mean += X(0, k) / (Num)n;
		for (size_t k = block * n; k < (block + 1) * n; k++) var += (X(0, k) - mean) * (X(0, k) - mean) / (Num)n, most = fmaxl(most, fabsl(X(0, k)));
		Num inv = 1 / sqrtl(var + 0.125L);
		for (size_t k = block * n; k < (block + 1) * n; k++) {
			size_t ch = k / inner % c;
			Y(0, k) = (X(0, k) - mean) * inv * X(1, ch) + X(2, ch);
			M(0, k) = (most + fabsl(mean)) * inv * fabsl(X(1, ch)) + fabsl(X(2, ch));
		}
	}
}
WHOLE(group_norm) { normalise(u, (size_t)ATTR("num_groups")->i); }
WHOLE(layer_norm) { normalise(u, 1); }
WHOLE(batch_norm)
{
	size_t c = (size_t)SX(0).dim[1], inner = NX(0) / (size_t)SX(0).dim[0] / c;
	for (size_t k = 0; k < NX(0); k++) {
		size_t ch = k / inner % c;
		Num r = X(1, ch) / sqrtl(X(4, ch) + 0.125L);
		Y(0, k) = (X(0, k) - X(3, ch)) * r + X(2, ch);
		M(0, k) = (fabsl(X(0, k)) + fabsl(X(3, ch))) * fabsl(r) + fabsl(X(2, ch));
	}
}

/* --- order: how many come before an element ----------------------------------------------------------------------------------- */

/* does value a at position i come before b at j: lower positions among equals */
static int before(Num a, size_t i, Num b, size_t j, int largest) { return a == b ? i < j : largest ? a > b : a < b; }

WHOLE(topk)
{
	Lines l = lines_of(SX(0), (int)ATTR("axis")->i), to = lines_of(SY(0), (int)ATTR("axis")->i);
	EACH_LINE for (size_t k = 0; k < l.n; k++) {
		Num x = X(0, on_line(l, o, i, k));
		size_t place = 0;
		for (size_t j = 0; j < l.n; j++) place += (size_t)before(X(0, on_line(l, o, i, j)), j, x, k, (int)ATTR("largest")->i);
		if (place >= to.n) continue;
		Y(0, on_line(to, o, i, place)) = x;
		Y(1, on_line(to, o, i, place)) = (Num)k;
	}
}
WHOLE(median)
{
	for (size_t k = 0; k < NX(0); k++) {
		size_t less = 0, n = 0, g = group_of(u, k);
		for (size_t j = 0; j < NX(0); j++)
			if (group_of(u, j) == g) n++, less += (size_t)before(X(0, j), j, X(0, k), k, 0);
		if (less == (n - 1) / 2) Y(0, g) = X(0, k);
	}
}
WHOLE(histogram)
{
	const AttrVal *levels = ATTR("levels");
	for (size_t k = 0; k < NX(0); k++) {
		size_t bin = 0;
		Num x = ATTR("absolute_of_input")->i ? fabsl(X(0, k)) : X(0, k);
		while (bin < (size_t)levels->floats.n && x >= (Num)levels->floats.at[bin]) bin++;
		Y(0, bin) += 1;
	}
}

#define EPS "eps = 0.125"
static const Row order_rows[] = {
	ROW("group_norm", group_norm, T_F, FORMS({ "T[2, 4, 5] T[4] T[4]", "num_groups = 2, " EPS }, { "T[3, 6] T[6] T[6]", "num_groups = 3, " EPS }, { "T[1, 2, 3, 3, 2] T[2] T[2]", "num_groups = 1, " EPS }, { "T[17, 8, 33] T[8] T[8]", "num_groups = 8, " EPS }), .sums = 10),
	ROW("layer_norm", layer_norm, T_F, FORMS({ "T[3, 17] T[17] T[17]", EPS }, { "T[2, 3, 5] T[3] T[3]", EPS }, { "T[90, 131] T[131] T[131]", EPS }, { "T[1, 1] T[1] T[1]", EPS }), .sums = 10),
	ROW("batch_norm_inference", batch_norm, T_F, FORMS({ "T[2, 3, 5] T[3] T[3] T[3] T[3]", "epsilon = 0.125" }, { "T[2, 3, 4, 5] T[3] T[3] T[3] T[3]", "epsilon = 0.125" }, { "T[7, 31, 33] T[31] T[31] T[31] T[31]", "epsilon = 0.125" }), .sums = 6, .lo = 0.5, .hi = 2),
	ROW("topk", topk, T_NUMBER, FORMS({ "T[17]", "k = 5, axis = 0, largest = true, sorted = true" }, { "T[3, 5, 2]", "k = 3, axis = 1, largest = false, sorted = true" }, { "T[4, 33]", "k = 33, axis = -1, largest = true, sorted = false" }, { "T[1]", "k = 1, axis = 0, largest = false, sorted = false" }, { "T[31, 131]", "k = 7, axis = 1, largest = true, sorted = true" }), .top = 20, .exact = 1),
	ROW("median", median, T_NUMBER, FORMS({ "T[17]", "" }, { "T[16]", "" }, { "T[3, 5, 2]", "axis = 1" }, { "T[3, 5, 2]", "axis = [2, 0], keepdims = true" }, { "T[1]", "" }, { "T[2, 2, 3, 2]", "axis = [0, 3]" }, { "T[4, 131]", "axis = 1" }), .top = 20, .exact = 1),
	ROW("histogram", histogram, T_F, FORMS({ "T[17]", "levels = [-1, 0, 0.5], absolute_of_input = false" }, { "T[3, 5, 2]", "levels = [0.25, 1], absolute_of_input = true" }, { "T[9001]", "levels = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5], absolute_of_input = false" })),
};

#endif
