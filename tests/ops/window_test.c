/* window_test.c — convolution, pooling, interpolate and roi_align, compiled and run at -O0 and -O2, against plain C in
 * double; a case says itself which strides, pads and sizes its arguments come to.  A few numbers are PyTorch's. */
#include "tests/ops/windows.h"

typedef struct Case Case;
struct Case {
	const char *op, *operands, *attrs, *want;        /* want: the result's spec */
	void (*ref)(const Case *c, const Prog *p, double *y);
	Geometry g;
	double lo, hi;
	int top;
};

/* --- convolutions ------------------------------------------------------------------------------------------------------------ */

static void r_conv(const Case *c, const Prog *p, double *y) { meet(&c->g, p->in[0].shape, p->out[0].shape, p->in[1].shape, p->in[0].v, 0, p->in[1].v, y, FORWARD); }
static void r_data(const Case *c, const Prog *p, double *x) { meet(&c->g, p->out[0].shape, p->in[0].shape, p->in[1].shape, 0, p->in[0].v, p->in[1].v, x, DATA); }
static void scaled(const Prog *p, double *y) { for (int i = 0; i < p->out[0].n; i++) y[i] *= exp2(p->in[2].v[0]); }
static void r_conv8(const Case *c, const Prog *p, double *y) { r_conv(c, p, y), scaled(p, y); }
static void r_data8(const Case *c, const Prog *p, double *y) { r_data(c, p, y), scaled(p, y); }
static void r_weight(const Case *c, const Prog *p, double *w) { meet(&c->g, p->in[0].shape, p->in[1].shape, p->out[0].shape, p->in[0].v, p->in[1].v, 0, w, WEIGHT); }

/* --- pooling --------------------------------------------------------------------------------------------------------------- */

static void pool(const Case *c, const Prog *p, double *y, int largest)
{
	int o[MAX_RANK];
	for (int i = 0; i < p->out[0].n; i++) {
		split(p->out[0].shape, i, o);
		Fold f = window(&c->g, p->in[0].shape, p->in[0].v, o, 0, 0, 0);
		y[i] = largest ? f.max : f.sum / f.n;
	}
}
static void r_average(const Case *c, const Prog *p, double *y) { pool(c, p, y, 0); }
static void r_max(const Case *c, const Prog *p, double *y) { pool(c, p, y, 1); }
static void r_average_grad(const Case *c, const Prog *p, double *dx)
{
	int o[MAX_RANK];
	for (int i = 0; i < p->in[0].n; i++) {
		split(p->in[0].shape, i, o);
		window(&c->g, p->out[0].shape, 0, o, 0, p->in[0].v[i], dx);
	}
}
static void r_max_grad(const Case *c, const Prog *p, double *dx)
{
	int o[MAX_RANK];
	for (int i = 0; i < p->in[1].n; i++) {
		split(p->in[1].shape, i, o);
		window(&c->g, p->in[0].shape, p->in[0].v, o, &p->in[1].v[i], p->in[2].v[i], dx);
	}
}

/* --- interpolate: the product of the axes' weights, for every pair of places ------------------------------------------------- */

static int has(const char *attrs, const char *word) { return strstr(attrs, word) != 0; }

static double at_place(const char *how, int i, int n, int size, double f)
{
	if (has(how, "align_corners")) return size == 1 ? 0 : i * (n - 1.0) / (size - 1.0);
	if (has(how, "asymmetric")) return i / f;
	if (has(how, "pytorch") && n * f <= 1) return 0;
	return (i + 0.5) / f - 0.5;
}
static int clamp(double x, int n) { return x < 0 ? 0 : x > n - 1 ? n - 1 : (int)x; }
static double keys(double u)
{
	double A = -0.75;
	u = fabs(u);
	if (u <= 1) return (A + 2) * u * u * u - (A + 3) * u * u + 1;
	return u < 2 ? A * u * u * u - 5 * A * u * u + 8 * A * u - 4 * A : 0;
}
static double nearest_place(const char *how, double c)
{
	double frac = c - floor(c);
	if (has(how, "round_prefer_ceil")) return c >= 0 ? floor(c + 0.5) : -floor(-c + 0.5);
	if (has(how, "nearest_mode = floor")) return floor(c);
	if (has(how, "nearest_mode = ceil")) return ceil(c);
	return frac <= 0.5 ? floor(c) : ceil(c);
}
static double weight_of(const char *how, int i, int k, int n, int size, double f)
{
	if (f == 1) return i == k;
	double c = at_place(how, i, n, size, f), w = 0;
	if (has(how, "mode = cubic")) {
		for (int t = -1; t <= 2; t++) w += clamp(floor(c) + t, n) == k ? keys(c - (floor(c) + t)) : 0;
		return w;
	}
	if (!has(how, "mode = linear")) return clamp(nearest_place(how, c), n) == k;
	double u = (c < 0 ? 0 : c) - floor(c < 0 ? 0 : c);
	return (clamp(floor(c), n) == k ? 1 - u : 0) + (clamp(ceil(c), n) == k ? u : 0);
}
static void r_interpolate(const Case *c, const Prog *p, double *y)
{
	double f[MAX_RANK] = { 1, 1, 1, 1 };
	const char *s = strstr(c->attrs, "scale_factor = [");
	int o[MAX_RANK], k[MAX_RANK], rank = p->in[0].shape.rank;
	for (int i = 0; s && i < rank; i++) {
		char *end;
		f[i] = strtod(s + (i ? 1 : 16), &end);
		s = end;
	}
	for (int i = 0; i < p->out[0].n; i++)
		for (int j = 0; j < p->in[0].n; j++) {
			double w = 1;
			split(p->out[0].shape, i, o);
			split(p->in[0].shape, j, k);
			for (int d = 0; d < rank; d++) w *= weight_of(c->attrs, o[d], k[d], (int)p->in[0].shape.dim[d], (int)p->out[0].shape.dim[d], f[d]);
			y[i] += w * p->in[0].v[j];
		}
}

/* --- roi_align; scale 0.5 ------------------------------------------------------------------------------------------------------ */

static double bilinear(const double *x, int h, int w, double y0, double x0)
{
	if (y0 < -1 || y0 > h || x0 < -1 || x0 > w) return 0;
	y0 = fmax(y0, 0), x0 = fmax(x0, 0);
	if (y0 > h - 1) y0 = h - 1;
	if (x0 > w - 1) x0 = w - 1;
	int a = (int)y0, b = (int)x0, a1 = a + 1 < h ? a + 1 : a, b1 = b + 1 < w ? b + 1 : b;
	double u = y0 - a, v = x0 - b;
	return (1 - u) * ((1 - v) * x[a * w + b] + v * x[a * w + b1]) + u * ((1 - v) * x[a1 * w + b] + v * x[a1 * w + b1]);
}
static void r_roi(const Case *c, const Prog *p, double *y)
{
	Shape xs = p->in[0].shape, ys = p->out[0].shape;
	int o[MAX_RANK], h = (int)xs.dim[2], w = (int)xs.dim[3];
	for (int i = 0; i < p->out[0].n; i++) {
		split(ys, i, o);
		const double *r = p->in[1].v + 4 * o[0], *x = p->in[0].v + ((int)p->in[2].v[o[0]] * (int)xs.dim[1] + o[1]) * h * w;
		double x1 = r[0] * 0.5, y1 = r[1] * 0.5, rw = fmax(r[2] * 0.5 - x1, 1), rh = fmax(r[3] * 0.5 - y1, 1), bh = rh / (double)ys.dim[2], bw = rw / (double)ys.dim[3];
		int sy = c->g.groups ? c->g.groups : (int)ceil(bh), sx = c->g.groups ? c->g.groups : (int)ceil(bw);
		for (int a = 0; a < sy; a++)
			for (int b = 0; b < sx; b++) y[i] += bilinear(x, h, w, y1 + o[2] * bh + (a + 0.5) * bh / sy, x1 + o[3] * bw + (b + 0.5) * bw / sx) / (sy * sx);
	}
}

/* --- the cases -------------------------------------------------------------------------------------------------------------------- */

#define S(...) .stride = { __VA_ARGS__ }
#define B(...) .begin = { __VA_ARGS__ }
#define D(...) .dilation = { __VA_ARGS__ }      /* of a pool: its window */
#define G(n) .groups = n

static const Case cases[] = {
	{ "conv", "f32[2, 3, 5, 6] f32[4, 3, 3, 3]", "", "f32[2, 4, 3, 4]", r_conv },
	{ "conv", "f64[2, 3, 5, 6] f64[4, 3, 3, 2]", "stride = [2, 1], padding = [1, 0, 0, 2]", "f64[2, 4, 2, 7]", r_conv, { S(2, 1), B(1, 0) } },
	{ "conv", "f32[1, 4, 9, 9] f32[6, 2, 3, 3]", "dilation = [2, 3], groups = 2, padding = 2", "f32[1, 6, 9, 7]", r_conv, { D(2, 3), B(2, 2), G(2) } },
	{ "conv", "f32[2, 3, 10] f32[5, 3, 4]", "stride = 3, padding = [2, 1]", "f32[2, 5, 4]", r_conv, { S(3), B(2) } },
	{ "conv", "f32[1, 2, 4, 5, 6] f32[3, 2, 2, 3, 2]", "stride = [1, 2, 2], padding = [0, 1, 1, 1, 1, 0]", "f32[1, 3, 4, 3, 3]", r_conv, { S(1, 2, 2), B(0, 1, 1) } },
	{ "conv", "f32[1, 3, 6, 7] f32[2, 3, 3, 4]", "pad_type = same_upper", "f32[1, 2, 6, 7]", r_conv, { B(1, 1) } },
	{ "conv", "f32[1, 3, 6, 7] f32[2, 3, 3, 4]", "pad_type = same_lower", "f32[1, 2, 6, 7]", r_conv, { B(1, 2) } },
	{ "conv", "f32[1, 3, 6, 7] f32[2, 3, 3, 4]", "pad_type = same_upper, stride = [2, 2]", "f32[1, 2, 3, 4]", r_conv, { S(2, 2), B(0, 1) } },
	{ "conv", "f32[1, 3, 6, 7] f32[2, 3, 3, 4]", "pad_type = same_lower, stride = [2, 3]", "f32[1, 2, 3, 3]", r_conv, { S(2, 3), B(1, 2) } },
	{ "conv", "f32[1, 3, 7, 7] f32[2, 3, 1, 1]", "pad_type = same_upper, stride = [3, 4]", "f32[1, 2, 3, 2]", r_conv, { S(3, 4) } },
	{ "conv", "f32[1, 3, 7, 8] f32[2, 3, 3, 3]", "pad_type = same_upper, dilation = [2, 2]", "f32[1, 2, 7, 8]", r_conv, { D(2, 2), B(2, 2) } },
	{ "conv", "f32[1, 3, 7, 8] f32[2, 3, 3, 3]", "pad_type = valid, padding = [5, 5, 5, 5], dilation = [2, 1]", "f32[1, 2, 3, 6]", r_conv, { D(2, 1) } },
	{ "conv", "f16[2, 3, 5, 6] f16[4, 3, 3, 3]", "padding = 1", "f16[2, 4, 5, 6]", r_conv, { B(1, 1) } },
	{ "conv", "bf16[2, 3, 5, 6] bf16[4, 3, 3, 3]", "stride = [2, 2]", "bf16[2, 4, 2, 2]", r_conv, { S(2, 2) } },
	{ "conv", "f32[2, 5, 3, 4] f32[6, 5, 1, 1]", "", "f32[2, 6, 3, 4]", r_conv }, { "conv", "f16[2, 5, 3] f16[6, 5, 1]", "", "f16[2, 6, 3]", r_conv },
	{ "conv", "f64[3, 6, 5, 5] f64[6, 1, 3, 3]", "groups = 6, padding = 1", "f64[3, 6, 5, 5]", r_conv, { B(1, 1), G(6) } },
	{ "conv", "f32[2, 2, 3, 3] f32[2, 2, 5, 5]", "padding = 3", "f32[2, 2, 5, 5]", r_conv, { B(3, 3) } },
	{ "conv", "f32[0, 2, 3, 3] f32[2, 2, 2, 2]", "", "f32[0, 2, 2, 2]", r_conv },
	{ "conv_forward", "f32[2, 3, 5] f32[4, 3, 2]", "size = [6], stride = [1], begin = [1], dilation = [1], groups = 1", "f32[2, 4, 6]", r_conv, { B(1) } },
	{ "conv_transpose", "f32[2, 3, 4, 5] f32[3, 2, 3, 3]", "", "f32[2, 2, 6, 7]", r_data },
	{ "conv_transpose", "f64[2, 3, 4, 5] f64[3, 2, 3, 3]", "stride = [2, 3], padding = [1, 0, 0, 2]", "f64[2, 2, 8, 13]", r_data, { S(2, 3), B(1, 0) } },
	{ "conv_transpose", "f32[1, 4, 3, 3] f32[4, 3, 2, 2]", "stride = 3, output_padding = [2, 1], groups = 2", "f32[1, 6, 10, 9]", r_data, { S(3, 3), G(2) } },
	{ "conv_transpose", "f32[1, 2, 3, 3] f32[2, 1, 3, 3]", "stride = [2, 2], output_shape = [4, 4], pad_type = same_upper", "f32[1, 1, 4, 4]", r_data, { S(2, 2), B(2, 2) } },
	{ "conv_transpose", "f32[1, 2, 3, 3] f32[2, 1, 3, 3]", "stride = [2, 2], output_shape = [4, 4]", "f32[1, 1, 4, 4]", r_data, { S(2, 2), B(1, 1) } },
	{ "conv_transpose", "f32[1, 2, 3, 3] f32[2, 1, 3, 3]", "stride = [2, 2], output_shape = [1, 1, 4, 6], pad_type = same_lower", "f32[1, 1, 4, 6]", r_data, { S(2, 2), B(1, 0) } },
	{ "conv_transpose", "f32[1, 2, 6] f32[2, 3, 3]", "padding = [4, 1]", "f32[1, 3, 3]", r_data, { B(4) } },
	{ "conv_transpose", "f16[1, 2, 2, 3, 2] f16[2, 1, 2, 2, 2]", "stride = [1, 2, 2]", "f16[1, 1, 3, 6, 4]", r_data, { S(1, 2, 2) } },
	{ "conv_transpose", "f32[2, 5, 3, 4] f32[5, 6, 1, 1]", "", "f32[2, 6, 3, 4]", r_data }, { "conv_transpose", "f32[1, 2, 4, 4] f32[2, 3, 2, 2]", "stride = [3, 4]", "f32[1, 3, 11, 14]", r_data, { S(3, 4) } },
	{ "conv_data", "bf16[1, 2, 4] bf16[2, 3, 2]", "size = [9], stride = [2], begin = [0], dilation = [2], groups = 1", "bf16[1, 3, 9]", r_data, { S(2), D(2) } },
	{ "conv_weight", "f32[2, 4, 5, 5] f32[2, 6, 3, 3]", "size = [3, 3], stride = [2, 2], begin = [1, 1], dilation = [1, 1], groups = 2", "f32[6, 2, 3, 3]", r_weight, { S(2, 2), B(1, 1), G(2) } },
	{ "conv_weight", "f16[2, 4, 5] f16[2, 6, 3]", "size = [3], stride = [1], begin = [0], dilation = [1], groups = 1", "f16[6, 4, 3]", r_weight },
	{ "conv_weight", "f32[9, 3, 20, 20] f32[9, 5, 18, 18]", "size = [3, 3], stride = [1, 1], begin = [0, 0], dilation = [1, 1], groups = 1", "f32[5, 3, 3, 3]", r_weight },
	{ "conv", "f32[2, 16, 20, 20] f32[32, 16, 3, 3]", "padding = 1", "f32[2, 32, 20, 20]", r_conv, { B(1, 1) } },
	{ "conv_transpose", "f32[2, 32, 20, 20] f32[32, 16, 3, 3]", "padding = 1", "f32[2, 16, 20, 20]", r_data, { B(1, 1) } },
	{ "conv_pow2scaled", "f8_143[2, 10, 5, 5] f8_143[20, 10, 3, 3] i32[]", "", "f16[2, 20, 3, 3]", r_conv8 }, { "conv_pow2scaled", "f8_152[1, 2, 6] f8_143[4, 1, 3] i32[]", "groups = 2, padding = 1", "f16[1, 4, 6]", r_conv8, { B(1), G(2) } },
	{ "conv_transpose_pow2scaled", "f8_143[1, 3, 4, 4] f8_152[3, 2, 3, 3] i32[]", "stride = 2, padding = [1, 0, 0, 1]", "f16[1, 2, 8, 8]", r_data8, { S(2, 2), B(1, 0) } },
	/* pooling */
	{ "average_pool", "f32[2, 3, 5, 6]", "kernel_size = [2, 3]", "f32[2, 3, 4, 4]", r_average, { D(2, 3) } }, { "max_pool", "f32[2, 3, 5, 6]", "kernel_size = [2, 3]", "f32[2, 3, 4, 4]", r_max, { D(2, 3) } },
	{ "average_pool", "f64[2, 3, 7, 6]", "kernel_size = 3, stride = 2, padding = [1, 2, 1, 0]", "f64[2, 3, 4, 3]", r_average, { D(3, 3), S(2, 2), B(1, 2) } },
	{ "max_pool", "f64[2, 3, 7, 6]", "kernel_size = 3, stride = 2, padding = [1, 2, 1, 0]", "f64[2, 3, 4, 3]", r_max, { D(3, 3), S(2, 2), B(1, 2) } },
	{ "average_pool", "f32[1, 2, 8, 7]", "kernel_size = [3, 2], stride = [2, 3], ceil_mode = true", "f32[1, 2, 4, 3]", r_average, { D(3, 2), S(2, 3) } },
	{ "max_pool", "f32[1, 2, 8, 7]", "kernel_size = [3, 2], stride = [2, 3], ceil_mode = true", "f32[1, 2, 4, 3]", r_max, { D(3, 2), S(2, 3) } },
	/* a last window that begins behind the image is none, here along both axes, one, and for f16; one larger than the image is whole */
	{ "max_pool", "f32[1, 1, 2, 2]", "kernel_size = [1, 1], stride = [2, 2], ceil_mode = true", "f32[1, 1, 1, 1]", r_max, { D(1, 1), S(2, 2) } },
	{ "average_pool", "f32[2, 3, 4, 7]", "kernel_size = [2, 2], stride = [3, 3], padding = [1, 0, 1, 1], ceil_mode = true", "f32[2, 3, 2, 3]", r_average, { D(2, 2), S(3, 3), B(1, 0) } },
	{ "max_pool", "f16[2, 3, 4, 7]", "kernel_size = [2, 2], stride = [3, 5], padding = [0, 1, 1, 1], ceil_mode = true", "f16[2, 3, 2, 2]", r_max, { D(2, 2), S(3, 5), B(0, 1) } },
	{ "average_pool", "f32[1, 2, 2, 2]", "kernel_size = 3, stride = 2, ceil_mode = true", "f32[1, 2, 1, 1]", r_average, { D(3, 3), S(2, 2) } },
	{ "average_pool", "f32[1, 2, 6, 7]", "kernel_size = [3, 4], auto_pad = same_upper", "f32[1, 2, 6, 7]", r_average, { D(3, 4), B(1, 1) } },
	{ "max_pool", "f32[1, 2, 6, 7]", "kernel_size = [3, 4], auto_pad = same_lower, stride = 2", "f32[1, 2, 3, 4]", r_max, { D(3, 4), S(2, 2), B(1, 2) } },
	{ "max_pool", "f32[1, 2, 6, 7]", "kernel_size = [3, 4], auto_pad = valid, padding = 2, stride = 2", "f32[1, 2, 2, 2]", r_max, { D(3, 4), S(2, 2) } },
	{ "average_pool", "f16[2, 3, 9]", "kernel_size = 4, stride = 3", "f16[2, 3, 2]", r_average, { D(4), S(3) } }, { "max_pool", "bf16[1, 2, 4, 4, 5]", "kernel_size = 2, stride = [2, 2, 1]", "bf16[1, 2, 2, 2, 4]", r_max, { D(2, 2, 2), S(2, 2, 1) } },
	{ "average_pool", "f32[1, 1, 3, 4, 5]", "kernel_size = [2, 2, 3], padding = 1, dilation = 1, out_pads = 0", "f32[1, 1, 4, 5, 5]", r_average, { D(2, 2, 3), B(1, 1, 1) } },
	{ "average_pool", "f32[1, 1, 4, 5]", "kernel_size = [4, 5]", "f32[1, 1, 1, 1]", r_average, { D(4, 5) } },
	{ "average_pool_grad", "f32[2, 3, 4, 3]", "size = [7, 6], kernel_size = [3, 3], stride = [2, 2], padding = [1, 2, 1, 0]", "f32[2, 3, 7, 6]", r_average_grad, { D(3, 3), S(2, 2), B(1, 2) } },
	{ "max_pool_grad", "f64[2, 3, 7, 6] f64[2, 3, 4, 3] f64[2, 3, 4, 3]", "kernel_size = [3, 3], stride = [2, 2], padding = [1, 2, 1, 0]", "f64[2, 3, 7, 6]", r_max_grad, { D(3, 3), S(2, 2), B(1, 2) } },
	/* interpolate */
	{ "interpolate", "f32[1, 2, 3, 4]", "", "f32[1, 2, 3, 4]", r_interpolate }, { "interpolate", "f32[1, 2, 3, 4]", "scale_factor = [1, 1, 2, 2]", "f32[1, 2, 6, 8]", r_interpolate },
	{ "interpolate", "f32[2, 3, 5]", "scale_factor = [2, 1, 1.5]", "f32[4, 3, 7]", r_interpolate }, { "interpolate", "f64[2, 3, 5]", "scale_factor = [1, 1, 2.5], nearest_mode = round_prefer_ceil", "f64[2, 3, 12]", r_interpolate },
	{ "interpolate", "f64[2, 5]", "scale_factor = [1, 2], nearest_mode = floor, coordinate_transformation_mode = asymmetric", "f64[2, 10]", r_interpolate },
	{ "interpolate", "f64[2, 5]", "scale_factor = [3, 2], nearest_mode = ceil, coordinate_transformation_mode = asymmetric", "f64[6, 10]", r_interpolate },
	{ "interpolate", "f64[7, 5]", "scale_factor = [0.5, 0.4], coordinate_transformation_mode = align_corners", "f64[3, 2]", r_interpolate },
	{ "interpolate", "f32[1, 2, 3, 4]", "scale_factor = [1, 1, 2, 3], mode = linear", "f32[1, 2, 6, 12]", r_interpolate }, { "interpolate", "f16[5, 4]", "scale_factor = [1.3, 2.2], mode = linear", "f16[6, 8]", r_interpolate },
	{ "interpolate", "f64[5, 4]", "scale_factor = [1.3, 0.25], mode = linear, coordinate_transformation_mode = pytorch_half_pixel", "f64[6, 1]", r_interpolate },
	{ "interpolate", "f64[5, 4]", "scale_factor = [2, 0.3], mode = linear, coordinate_transformation_mode = align_corners", "f64[10, 1]", r_interpolate },
	{ "interpolate", "f64[2, 6]", "scale_factor = [1, 1.75], mode = linear, coordinate_transformation_mode = asymmetric", "f64[2, 10]", r_interpolate },
	{ "interpolate", "f32[1, 2, 3, 4]", "scale_factor = [1, 1, 2, 1.6], mode = cubic", "f32[1, 2, 6, 6]", r_interpolate }, { "interpolate", "f64[6, 5]", "scale_factor = [0.7, 2], mode = cubic, coordinate_transformation_mode = align_corners", "f64[4, 10]", r_interpolate },
	{ "interpolate", "f64[6, 5]", "scale_factor = [1.5, 3], mode = cubic, coordinate_transformation_mode = asymmetric", "f64[9, 15]", r_interpolate }, { "interpolate", "bf16[3]", "scale_factor = [2], mode = cubic", "bf16[6]", r_interpolate },
	/* roi_align */
	{ "roi_align", "f32[2, 3, 6, 7] f32[4, 4] i32[4]", "output_size = [2, 3], spatial_scale = 0.5, sampling_ratio = 2", "f32[4, 3, 2, 3]", r_roi, { G(2) }, -4, 16, 2 },
	{ "roi_align", "f64[2, 1, 6, 7] f64[5, 4] i32[5]", "output_size = [2, 2], spatial_scale = 0.5, sampling_ratio = 0", "f64[5, 1, 2, 2]", r_roi, { G(0) }, -3, 20, 2 },
	{ "roi_align", "f16[1, 2, 5, 5] f16[2, 4] i32[2]", "output_size = [1, 1], spatial_scale = 0.5, sampling_ratio = 3", "f16[2, 2, 1, 1]", r_roi, { G(3) }, 0, 8, 1 },
};

/* --- running --------------------------------------------------------------------------------------------------------------------------- */

static double tolerance(DType t) { return t == DT_F64 ? 1e-12 : t == DT_F16 ? 3e-3 : t == DT_BF16 ? 2e-2 : 2e-5; }

static int compare(const Case *c, Prog *p, int level)
{
	double *y = NEWN(&p->t.mem, double, p->out[0].n + 1), tol = tolerance(p->out[0].dtype);
	c->ref(c, p, y);
	for (int k = 0; k < p->out[0].n; k++) {
		double got = p->out[0].v[k];
		if (fabs(got - y[k]) <= tol * (1 + fabs(y[k]))) continue;
		printf("%s(%s; %s) at -O%d: [%d] is %.12g, not %.12g\n", c->op, c->operands, c->attrs, level, k, got, y[k]);
		return 0;
	}
	return 1;
}

static int run(const Case *c, int level)
{
	Prog p;
	prog_open(&p);
	Op *op = prog_op(&p, c->op, c->operands, c->attrs);
	const char *spec = bench_specs(&p.t, op);
	int ok = !strcmp(spec, c->want) || (printf("%s(%s; %s): got %s, want %s\n%s", c->op, c->operands, c->attrs, spec, c->want, bench_text(&p.t)), 0);
	ok = ok && prog_compile(&p, level);
	if (ok) {
		prog_fill(&p, c->hi ? c->lo : -1, c->hi ? c->hi : 1, c->top ? c->top : 5, 1);
		prog_round(&p);
	}
	ok = ok && prog_run(&p) && compare(c, &p, level);
	if (!ok) printf("%s(%s; %s) at -O%d failed %s\n", c->op, c->operands, c->attrs, level, p.err.text);
	prog_close(&p);
	return ok;
}

static void covered(void)
{
	for (int id = 0; id < OP_COUNT; id++) {
		int found = strcmp(op_table[id]->family, "window") != 0, inplace;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) found |= def_by_name(cases[i].op, &inplace)->id == (OpCode)id;
		/* what the ops above are lowered to */
		found |= id == OP_to_blocks || id == OP_from_blocks || id == OP_conv_run || id == OP_conv_turn || id == OP_conv_gather || id == OP_conv_parts || id == OP_resize || id == OP_resize_grad || id == OP_roi_align_grad;
		if (!found) printf("no case for %s\n", op_table[id]->name);
		CHECK("", found);
	}
}

/* --- exact numbers ------------------------------------------------------------------------------------------------------------------------ */

static void exact(const char *op, const char *operands, const char *attrs, const double *in, const double *want, double tol)
{
	Prog p;
	int ok = prog_given(&p, op, operands, attrs, in);
	ok = ok && prog_run(&p);
	for (int k = 0; ok && k < p.out[0].n; k++) {
		if (p.out[0].v[k] == want[k] || fabs(p.out[0].v[k] - want[k]) <= tol || (p.out[0].v[k] != p.out[0].v[k] && want[k] != want[k])) continue;
		printf("%s(%s; %s)[%d] is %.9g, not %.9g\n", op, operands, attrs, k, p.out[0].v[k], want[k]);
		ok = 0;
	}
	CHECK("", ok);
	prog_close(&p);
}
#define N(...) (const double[]){ __VA_ARGS__ }

static void corners(void)
{
	exact("max_pool", "f32[1, 1, 4]", "kernel_size = 2", N(NAN, 1, 2, INFINITY), N(NAN, 2, INFINITY), 0);
	exact("max_pool", "f32[1, 1, 2]", "kernel_size = 2", N(-INFINITY, -INFINITY), N(-INFINITY), 0);
	exact("conv_transpose", "f32[1, 1, 2] f32[1, 1, 2]", "stride = 3, output_padding = 2", N(1, 2, 3, 5), N(3, 5, 0, 6, 10, 0, 0), 0);
	/* 16-bit sums are in f32: 2048 + 1 + 1 would stay at 2048 */
	exact("conv", "f16[1, 3, 1] f16[1, 3, 1]", "", N(2048, 1, 1, 1, 1, 1), N(2050), 0);
	exact("conv", "f16[1, 1, 3] f16[1, 1, 3]", "", N(2048, 1, 1, 1, 1, 1), N(2050), 0);
	/* a region far larger than its image, and one far away */
	exact("roi_align", "f32[1, 1, 2, 2] f32[2, 4] i32[2]", "output_size = [1, 1], spatial_scale = 1, sampling_ratio = 0",
	      N(4, 4, 4, 4, -1e30, -1e30, 1e30, 1e30, 1e9, 1e9, 2e9, 2e9, 0, 0), N(0, 0), 0);
}

static void faults(void)
{
	static const char regions[] = "f32[1, 1, 2, 2] f32[1, 4] i32[1]", attrs[] = "output_size = [1, 1], spatial_scale = 1, sampling_ratio = 1";
	fault("conv_pow2scaled", "f8_143[1, 1, 1] f8_143[1, 1, 1] i32[]", "", N(1, 1, 32), "log2_scale is 32");
	fault("conv_pow2scaled", "f8_143[1, 1, 1] f8_143[1, 1, 1] i32[]", "", N(1, 1, -33), "log2_scale is -33");
	fault("roi_align", regions, attrs, N(1, 2, 3, 4, 0, 0, 1, 1, 1), "batch index 1 of region 0");
	fault("roi_align", regions, attrs, N(1, 2, 3, 4, 0, 0, 1, 1, -1), "batch index -1 of region 0");
	fault("roi_align", regions, attrs, N(1, 2, 3, 4, 0, NAN, 1, 1, 0), "not finite");
}

int main(void)
{
	faults();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK("", run(&cases[i], 0));
		CHECK("", run(&cases[i], 2));
	}
	covered();
	corners();
	return check_done();
}
