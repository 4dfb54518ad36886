/* product.h — rows of the grid whose elements are sums of products: matrices, convolutions, and windows that pool. */
#ifndef TESTS_OPS_GRID_PRODUCT_H
#define TESTS_OPS_GRID_PRODUCT_H

#include "tests/ops/grid/fold.h"

/* --- matrices --------------------------------------------------------------------------------------------------------------- */

/* a vector on the left is a row, on the right a column */
static Shape as_matrix(Shape s, int right)
{
	if (s.rank > 1) return s;
	return right ? (Shape){ 2, { s.dim[0], 1 } } : (Shape){ 2, { 1, s.dim[0] } };
}

/* y += alpha · operand a × operand b */
static void multiply(Unit *u, int a, int b, Num alpha)
{
	Shape l = as_matrix(SX(a), 0), r = as_matrix(SX(b), 1), bl = l, br = r, batch;
	size_t m = (size_t)l.dim[l.rank - 2], n = (size_t)r.dim[r.rank - 1], d = (size_t)l.dim[l.rank - 1];
	bl.rank -= 2;
	br.rank -= 2;
	shape_broadcast(bl, br, &batch);
	for (size_t k = 0; k < NY(0); k++) {
		size_t q = k / (m * n), at = paired(bl, batch, q) * m * d + k / n % m * d, to = paired(br, batch, q) * d * n + k % n;
		for (size_t z = 0; z < d; z++) {
			Num v = alpha * X(a, at + z) * X(b, to + z * n);
			Y(0, k) += v;
			M(0, k) += fabsl(v);
		}
	}
}
WHOLE(matmul) { multiply(u, 0, 1, 1); }
WHOLE(matmul8) { multiply(u, 0, 1, ldexpl(1, (int)X(2, 0))); }
WHOLE(gemm_acc)
{
	multiply(u, 1, 2, (Num)ATTR("alpha")->f);
	for (size_t k = 0; k < NY(0); k++) Y(0, k) += X(0, k), M(0, k) += fabsl(X(0, k));
}

/* --- windows: attributes are read as they were written ---------------------------------------------------------------------------- */

static int per_axis(const AttrVal *v, int i, int none) { return !v->set || !v->ints.n ? none : (int)v->ints.at[v->ints.n == 1 ? 0 : i]; }

/* where window place k of result place o reads: its spatial axes into p; 0: outside */
static int reads(Unit *u, Shape x, const int *o, const int *k, int *p, int forward)
{
	for (int d = 0; d < x.rank - 2; d++) {
		p[d + 2] = o[d + 2] * per_axis(ATTR("stride"), d, 1) + k[d] * (forward ? per_axis(ATTR("dilation"), d, 1) : 1) - per_axis(ATTR("padding"), d, 0);
		if (p[d + 2] < 0 || p[d + 2] >= x.dim[d + 2]) return 0;
	}
	return 1;
}

/* forward: result and weight say what is read; else operand and weight say where it goes */
static void convolve(Unit *u, int forward, Num scale)
{
	Shape x = forward ? SX(0) : SY(0), y = forward ? SY(0) : SX(0), w = SX(1);
	int groups = ATTR("groups")->set ? (int)ATTR("groups")->i : 1, o[MAX_RANK], k[MAX_RANK], p[MAX_RANK];
	for (size_t i = 0; i < (size_t)shape_nelems(y); i++)
		for (size_t j = 0; j < NX(1); j++) {
			coords(y, i, o);
			coords(w, j, k);
			if (k[0] != o[1] || !reads(u, x, o, k + 2, p, forward)) continue;
			p[0] = o[0];
			p[1] = o[1] / (int)(w.dim[0] / groups) * (int)w.dim[1] + k[1];
			size_t q = flat(x, p), from = forward ? q : i, to = forward ? i : q;
			Y(0, to) += scale * X(0, from) * X(1, j);
			M(0, to) += fabsl(scale * X(0, from) * X(1, j));
		}
}
WHOLE(conv) { convolve(u, 1, 1); }
WHOLE(conv8) { convolve(u, 1, ldexpl(1, (int)X(2, 0))); }
WHOLE(conv_transpose) { convolve(u, 0, 1); }
WHOLE(conv_transpose8) { convolve(u, 0, ldexpl(1, (int)X(2, 0))); }

static void pool(Unit *u, int largest)
{
	Shape x = SX(0), window = { x.rank - 2, { 0 } };
	for (int d = 0; d < window.rank; d++) window.dim[d] = per_axis(ATTR("kernel_size"), d, 1);
	for (size_t i = 0; i < NY(0); i++) {
		int o[MAX_RANK], k[MAX_RANK], p[MAX_RANK];
		Num sum = 0, max = -INFINITY, n = 0;
		coords(SY(0), i, o);
		p[0] = o[0];
		p[1] = o[1];
		for (size_t j = 0; j < (size_t)shape_nelems(window); j++) {
			coords(window, j, k);
			if (!reads(u, x, o, k, p, 0)) continue;
			Num v = X(0, flat(x, p));
			sum += v;
			max = a_max(max, v);
			n++;
			M(0, i) += fabsl(v);
		}
		Y(0, i) = largest ? max : sum / n;
		M(0, i) /= n;
	}
}
WHOLE(average_pool) { pool(u, 0); }
WHOLE(max_pool) { pool(u, 1); }

/* twice as long along the last axis */
WHOLE(nearest) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k / 2); }
WHOLE(linear)
{
	size_t n = (size_t)SX(0).dim[SX(0).rank - 1];
	for (size_t k = 0; k < NY(0); k++) {
		size_t row = k / (2 * n), i = k % (2 * n), near = i / 2, far = i % 2 ? (near + 1 < n ? near + 1 : near) : near ? near - 1 : 0;
		Y(0, k) = 0.75L * X(0, row * n + near) + 0.25L * X(0, row * n + far);
		M(0, k) = fabsl(X(0, row * n + near)) + fabsl(X(0, row * n + far));
	}
}

/* bilinear samples, 2 × 2 per bin; regions are read as 0 to 4 */
static Num sample(Unit *u, size_t image, Num y, Num x, Num *size)
{
	int h = (int)SX(0).dim[2], w = (int)SX(0).dim[3];
	if (y < -1 || y > h || x < -1 || x > w) return 0;
	y = y < 0 ? 0 : y > h - 1 ? h - 1 : y;
	x = x < 0 ? 0 : x > w - 1 ? w - 1 : x;
	int y0 = (int)y, x0 = (int)x, y1 = y0 + 1 < h ? y0 + 1 : y0, x1 = x0 + 1 < w ? x0 + 1 : x0;
	Num b = y - y0, a = x - x0, v = 0;
	const int at[4] = { y0 * w + x0, y0 * w + x1, y1 * w + x0, y1 * w + x1 };
	const Num part[4] = { (1 - b) * (1 - a), (1 - b) * a, b * (1 - a), b * a };
	for (int i = 0; i < 4; i++) v += part[i] * X(0, image * (size_t)(h * w) + (size_t)at[i]), *size += fabsl(X(0, image * (size_t)(h * w) + (size_t)at[i]));
	return v;
}
WHOLE(roi_align)
{
	for (size_t k = 0; k < NY(0); k++) {
		int c[MAX_RANK];
		coords(SY(0), k, c);
		size_t roi = (size_t)c[0] * 4, image = (size_t)X(2, (size_t)c[0]) * (size_t)SX(0).dim[1] + (size_t)c[1];
		Num x1 = X(1, roi), y1 = X(1, roi + 1), w = fmaxl(X(1, roi + 2) - x1, 1), h = fmaxl(X(1, roi + 3) - y1, 1), bh = h / (Num)SY(0).dim[2], bw = w / (Num)SY(0).dim[3];
		for (int i = 0; i < 4; i++)
			Y(0, k) += sample(u, image, y1 + c[2] * bh + (i / 2 + 0.5L) * bh / 2, x1 + c[3] * bw + (i % 2 + 0.5L) * bw / 2, &M(0, k)) / 4;
	}
}

/* --- rows -------------------------------------------------------------------------------------------------------------------------- */

static const Row product_rows[] = {
	ROW("matmul", matmul, T_F, FORMS({ "T[3, 5] T[5, 4]", "" }, { "T[1, 1] T[1, 1]", "" }, { "T[5] T[5, 4]", "" }, { "T[3, 5] T[5]", "" }, { "T[17] T[17]", "" }, { "T[2, 3, 5] T[5, 4]", "" }, { "T[2, 1, 3, 5] T[4, 5, 2]", "" }, { "T[6, 5] T[2, 5, 3]", "" },
		{ "T[7, 33] T[33, 17]", "" }, { "T[16, 31] T[31, 8]", "" }, { "T[33, 15] T[15, 1]", "" }, { "T[0, 5] T[5, 4]", "" }, { "T[3, 0] T[0, 4]", "" }, { "T[2, 1, 2, 1, 3, 4] T[2, 1, 3, 4, 2]", "" }, { "T[70, 129] T[129, 90]", "" }), .sums = 12),
	ROW("matmul_pow2scaled", matmul8, T_8, FORMS({ "T[3, 5] f8_152[5, 4] i32[]<4", "" }, { "T[2, 3, 5] T[5, 4] i32[]<4", "" }, { "T[17] f8_143[17] i32[]<4", "" }, { "T[33, 17] f8_143[17, 31] i32[]<4", "" }), .sums = 8),
	ROW("gemm_acc", gemm_acc, T_F, FORMS({ "T[3, 4] T[3, 5] T[5, 4]", "alpha = -0.5" }, { "T[7, 17] T[7, 33] T[33, 17]", "" }), .any = T_ALL, .sums = 12, .plain_target = 1),
	ROW("conv", conv, T_F, FORMS({ "T[2, 3, 7] T[4, 3, 3]", "stride = 2, padding = [1, 0], dilation = 2" }, { "T[2, 2, 4, 5] T[3, 2, 3, 2]", "padding = [1, 0, 2, 1]" }, { "T[1, 4, 5, 6] T[6, 2, 3, 3]", "groups = 2, stride = [2, 3], dilation = [1, 2], padding = 2" },
		{ "T[2, 3, 4, 4] T[3, 1, 2, 2]", "groups = 3" }, { "T[1, 2, 3, 4, 3] T[2, 2, 2, 3, 2]", "stride = [1, 2, 2], padding = [0, 1, 1, 1, 1, 0]" }, { "T[2, 3, 5, 4] T[4, 3, 1, 1]", "stride = 2" }, { "T[2, 5, 17, 18] T[8, 5, 3, 3]", "padding = 1" }), .sums = 16),
	ROW("conv_transpose", conv_transpose, T_F, FORMS({ "T[2, 3, 4] T[3, 2, 3]", "stride = 2, padding = [1, 2], output_padding = 1" }, { "T[1, 4, 3, 2] T[4, 2, 2, 3]", "groups = 2, stride = [1, 3]" }, { "T[2, 3, 2, 2] T[3, 4, 1, 1]", "" }), .sums = 16),
	ROW("conv_pow2scaled", conv8, T_8, FORMS({ "T[1, 2, 4, 5] f8_143[3, 2, 3, 2] i32[]<4", "padding = 1" }, { "T[1, 2, 5, 5] T[2, 2, 2, 2] i32[]<4", "stride = 2" }), .sums = 8),
	ROW("conv_transpose_pow2scaled", conv_transpose8, T_8, FORMS({ "T[1, 2, 3, 3] f8_152[2, 1, 3, 3] i32[]<4", "stride = 2" }), .sums = 8),
	ROW("average_pool", average_pool, T_F, FORMS({ "T[2, 2, 5, 4]", "kernel_size = [3, 2], stride = [2, 1], padding = [1, 1, 0, 1]" }, { "T[1, 2, 7]", "kernel_size = 3, stride = 2" }, { "T[1, 1, 3, 4, 3]", "kernel_size = 2" }, { "T[2, 5, 33, 17]", "kernel_size = 3, stride = 2, padding = 1" }), .ulps = 1, .sums = 6),
	ROW("max_pool", max_pool, T_NUMBER, FORMS({ "T[2, 2, 5, 4]", "kernel_size = [3, 2], stride = [2, 1], padding = [1, 1, 0, 1]" }, { "T[1, 2, 7]", "kernel_size = 3, stride = 2" }, { "T[1, 1, 4, 4, 3]", "kernel_size = 2, stride = 2" }, { "T[2, 5, 33, 17]", "kernel_size = 3, stride = 2, padding = 1" })),
	ROW("interpolate", nearest, T_F, FORMS({ "T[17]", "scale_factor = [2]" }, { "T[3, 5]", "scale_factor = [1, 2]" }, { "T[2, 3, 4, 7]", "scale_factor = [1, 1, 1, 2]" })),
	ROW("interpolate", linear, T_F, FORMS({ "T[17]", "scale_factor = [2], mode = linear" }, { "T[3, 5]", "scale_factor = [1, 2], mode = linear" }, { "T[2, 3, 4, 7]", "scale_factor = [1, 1, 1, 2], mode = linear" }), .sums = 2),
	ROW("roi_align", roi_align, T_F, FORMS({ "T[2, 2, 4, 5] T[3, 4] i32[3]<2", "output_size = [2, 3], spatial_scale = 1, sampling_ratio = 2" }, { "T[1, 3, 9, 7] T[5, 4] i32[5]<1", "output_size = [1, 1], spatial_scale = 1, sampling_ratio = 2" }), .ulps = 1, .sums = 24),
};

#endif
