/* window_random.c — convolutions and pools of random geometry against plain C, at -O0 and -O2.
 *
 * Half of the convolutions begin as one of the special cases that the compiler looks for (windows of one element, one
 * window that is all of the image) and then have one number changed, so that the conditions of these cases are met and
 * missed by one.  Which windows a pool has is counted here by their definition. */
#include "tests/ops/windows.h"

enum { CONVS = 300, SHAPED = 100, POOLS = 400, MOST_AXES = 3 };

static int below(unsigned *state, int n) { return (int)prog_random(state, 0, n); }

typedef struct Axis { int x, y, k, stride, dilation, begin; } Axis;
typedef struct Draw { int n, images, groups, c, m; DType t; Axis axis[MOST_AXES]; } Draw;

static int reach(const Axis *a) { return a->dilation * (a->k - 1) + 1; }
static int past(const Axis *a) { return (a->y - 1) * a->stride + reach(a) - a->x - a->begin; }      /* padding behind that the windows take */

/* --- geometry ------------------------------------------------------------------------------------------------------------- */

enum { ONE, WHOLE, ANY, STYLES };

static Axis draw_axis(unsigned *s, int style)
{
	Axis a = { 1 + below(s, 5), 1 + below(s, 4), 1 + below(s, 4), 1 + below(s, 3), 1, 0 };
	if (style == ONE) a.k = a.stride = 1, a.dilation = 1 + below(s, 2), a.y = a.x;
	if (style == WHOLE) a.k = a.x, a.y = 1;
	if (style == ANY) a.dilation = 1 + below(s, 3), a.begin = below(s, reach(&a));
	return a;
}

static void change_one(unsigned *s, Axis *a)
{
	int *of[] = { &a->x, &a->y, &a->k, &a->stride, &a->dilation, &a->begin };
	++*of[below(s, 6)];
}

static Draw draw_conv(unsigned *s)
{
	static const DType types[] = { DT_F32, DT_F32, DT_F64, DT_F16, DT_BF16 };
	Draw d = { 1 + below(s, MOST_AXES), 1 + below(s, 2), 1, 1 + below(s, 3), 1 + below(s, 3), types[below(s, 5)], { { 0 } } };
	int style = below(s, STYLES + 1);
	for (int i = 0; i < d.n; i++) d.axis[i] = draw_axis(s, style < STYLES ? style : below(s, STYLES));
	if (!below(s, 3)) d.groups = 1 + below(s, 3);
	if (below(s, 2)) change_one(s, &d.axis[below(s, d.n)]);
	return d;
}

static Shape shape_of(const Draw *d, int first, int second, char side)
{
	Shape s = { d->n + 2, { first, second } };
	for (int i = 0; i < d->n; i++) s.dim[i + 2] = side == 'x' ? d->axis[i].x : side == 'y' ? d->axis[i].y : d->axis[i].k;
	return s;
}

static Geometry geometry_of(const Draw *d, int pool)
{
	Geometry g = { .groups = d->groups };
	for (int i = 0; i < d->n; i++) {
		g.stride[i] = d->axis[i].stride;
		g.begin[i] = d->axis[i].begin;
		g.dilation[i] = pool ? d->axis[i].k : d->axis[i].dilation;
	}
	return g;
}

/* "name = [a, b, …], " of one number per axis, by its place in Axis */
static void put_list(char *text, size_t room, const char *name, const Draw *d, size_t member)
{
	size_t n = strlen(text);
	n += (size_t)snprintf(text + n, room - n, "%s = [", name);
	for (int i = 0; i < d->n; i++) n += (size_t)snprintf(text + n, room - n, "%s%d", i ? ", " : "", *(const int *)(const void *)((const char *)&d->axis[i] + member));
	snprintf(text + n, room - n, "], ");
}
#define LIST(text, name, member) put_list(text, sizeof text, name, d, offsetof(Axis, member))

static void put_padding(char *text, size_t room, const Draw *d, const int *end)
{
	size_t n = strlen(text);
	n += (size_t)snprintf(text + n, room - n, "padding = [");
	for (int i = 0; i < 2 * d->n; i++) n += (size_t)snprintf(text + n, room - n, "%s%d", i ? ", " : "", i < d->n ? d->axis[i].begin : end[i - d->n]);
	snprintf(text + n, room - n, "], ");
}

static void describe(const char *what, const Draw *d, int level)
{
	printf("%s at -O%d: %s, images %d, groups %d, c %d, m %d;", what, level, dtype_info[d->t].name, d->images, d->groups, d->c, d->m);
	for (int i = 0; i < d->n; i++)
		printf(" x %d y %d k %d stride %d dilation %d begin %d;", d->axis[i].x, d->axis[i].y, d->axis[i].k, d->axis[i].stride, d->axis[i].dilation, d->axis[i].begin);
	printf("\n");
}

/* --- running -------------------------------------------------------------------------------------------------------------- */

static Tensor *build(Prog *p, const char *op, Tensor **in, int n, const char *attrs)
{
	int inplace;
	const OpDef *d = def_by_name(op, &inplace);
	Tensor *y = ir_op(&p->t.b, d->id, in, n, scan_attrs(&p->t, d, attrs), 0)->out.at[0];
	prog_store(p, y);
	return y;
}

static double tolerance(DType t) { return t == DT_F64 ? 1e-12 : t == DT_F16 ? 3e-3 : t == DT_BF16 ? 3e-2 : 2e-5; }

static int agrees(const Prog *p, int out, Shape s, const double *want)
{
	const Array *y = &p->out[out];
	int ok = shape_eq(y->shape, s);
	for (int k = 0; ok && k < y->n; k++) ok = fabs(y->v[k] - want[k]) <= tolerance(y->dtype) * (1 + fabs(want[k]));
	return ok;
}

static double *zeros(Prog *p, Shape s) { return NEWN(&p->t.mem, double, shape_nelems(s) + 1); }

/* --- convolutions: the three maps, and the ops of the language where these have arguments for the same windows ------------------ */

/* conv pads behind as far as its windows go; conv_transpose makes up for less by output_padding */
static int has_conv(const Draw *d, int *end)
{
	int ok = 1;
	for (int i = 0; i < d->n; i++) ok = ok && (end[i] = past(&d->axis[i])) >= 0;
	return ok;
}

static int has_transpose(const Draw *d, int *end, int *more)
{
	int ok = 1;
	for (int i = 0; i < d->n; i++) {
		int e = past(&d->axis[i]);
		end[i] = e > 0 ? e : 0;
		more[i] = e < 0 ? -e : 0;
		ok = ok && d->axis[i].dilation == 1 && more[i] < d->axis[i].stride;
	}
	return ok;
}

static void transpose_attrs(const Draw *d, const int *end, const int *more, char *text, size_t room)
{
	put_list(text, room, "stride", d, offsetof(Axis, stride));
	put_padding(text, room, d, end);
	size_t n = strlen(text);
	n += (size_t)snprintf(text + n, room - n, "output_padding = [");
	for (int i = 0; i < d->n; i++) n += (size_t)snprintf(text + n, room - n, "%s%d", i ? ", " : "", more[i]);
	snprintf(text + n, room - n, "], groups = %d", d->groups);
}

static void build_convs(Prog *p, const Draw *d, Tensor *x, Tensor *w, Tensor *y, int *conv, int *transpose)
{
	char map[400] = "", size_x[500] = "", size_y[500] = "", size_k[500] = "", text[500] = "";
	int end[MOST_AXES], more[MOST_AXES];
	LIST(map, "stride", stride);
	LIST(map, "begin", begin);
	LIST(map, "dilation", dilation);
	snprintf(map + strlen(map), sizeof map - strlen(map), "groups = %d", d->groups);
	LIST(size_x, "size", x), LIST(size_y, "size", y), LIST(size_k, "size", k);
	build(p, "conv_forward", (Tensor *[]){ x, w }, 2, strcat(size_y, map));
	build(p, "conv_data", (Tensor *[]){ y, w }, 2, strcat(size_x, map));
	build(p, "conv_weight", (Tensor *[]){ x, y }, 2, strcat(size_k, map));
	if ((*conv = has_conv(d, end))) {
		LIST(text, "stride", stride);
		LIST(text, "dilation", dilation);
		put_padding(text, sizeof text, d, end);
		snprintf(text + strlen(text), sizeof text - strlen(text), "groups = %d", d->groups);
		build(p, "conv", (Tensor *[]){ x, w }, 2, text);
	}
	if ((*transpose = has_transpose(d, end, more))) {
		text[0] = 0;
		transpose_attrs(d, end, more, text, sizeof text);
		build(p, "conv_transpose", (Tensor *[]){ y, w }, 2, text);
	}
}

static int conv_agrees(const Draw *d, int level, int *convs, int *transposes)
{
	Prog p;
	int conv, transpose;
	Shape xs = shape_of(d, d->images, d->groups * d->c, 'x'), ys = shape_of(d, d->images, d->groups * d->m, 'y'), ws = shape_of(d, d->groups * d->m, d->c, 'k');
	Geometry g = geometry_of(d, 0);
	prog_open(&p);
	Tensor *x = prog_load(&p, (Spec){ .dtype = d->t, .shape = xs }), *w = prog_load(&p, (Spec){ .dtype = d->t, .shape = ws }), *y = prog_load(&p, (Spec){ .dtype = d->t, .shape = ys });
	build_convs(&p, d, x, w, y, &conv, &transpose);
	prog_fill(&p, -1, 1, 5, 1);
	prog_round(&p);
	double *to_y = zeros(&p, ys), *to_x = zeros(&p, xs), *to_w = zeros(&p, ws);
	meet(&g, xs, ys, ws, p.in[0].v, 0, p.in[1].v, to_y, FORWARD);
	meet(&g, xs, ys, ws, 0, p.in[2].v, p.in[1].v, to_x, DATA);
	meet(&g, xs, ys, ws, p.in[0].v, p.in[2].v, 0, to_w, WEIGHT);
	int ok = prog_compile(&p, level) && prog_run(&p) && agrees(&p, 0, ys, to_y) && agrees(&p, 1, xs, to_x) && agrees(&p, 2, ws, to_w);
	ok = ok && (!conv || agrees(&p, 3, ys, to_y)) && (!transpose || agrees(&p, 3 + conv, xs, to_x));
	if (!ok) describe("convolution", d, level);
	prog_close(&p);
	*convs += conv;
	*transposes += transpose;
	return ok;
}

static void convs(void)
{
	unsigned state = 3;
	int conv = 0, transpose = 0;
	for (int i = 0; i < CONVS; i++) {
		Draw d = draw_conv(&state);
		for (int level = 0; level <= 2; level += 2) CHECK("", conv_agrees(&d, level, &conv, &transpose));
	}
	CHECK("", conv > CONVS / 2 && transpose > CONVS / 4);
}

/* --- conv_transpose to a size that is asked for ---------------------------------------------------------------------------- */

/* what is too much is cropped, half at each end; what is too little is 0, at the end */
static void find_begin(Axis *a, int upper)
{
	int crop = a->stride * (a->y - 1) + a->k - a->x;
	a->begin = crop < 0 ? 0 : upper ? (crop + 1) / 2 : crop / 2;
}

static int shaped_agrees(const Draw *d, int upper, int level)
{
	Prog p;
	char attrs[500] = "";
	Shape xs = shape_of(d, d->images, d->groups * d->c, 'x'), ys = shape_of(d, d->images, d->groups * d->m, 'y'), ws = shape_of(d, d->groups * d->m, d->c, 'k');
	Geometry g = geometry_of(d, 0);
	prog_open(&p);
	Tensor *in[] = { prog_load(&p, (Spec){ .dtype = d->t, .shape = ys }), prog_load(&p, (Spec){ .dtype = d->t, .shape = ws }) };
	LIST(attrs, "stride", stride);
	LIST(attrs, "output_shape", x);
	snprintf(attrs + strlen(attrs), sizeof attrs - strlen(attrs), "pad_type = %s, groups = %d", upper ? "same_upper" : "same_lower", d->groups);
	build(&p, "conv_transpose", in, 2, attrs);
	prog_fill(&p, -1, 1, 5, 1);
	prog_round(&p);
	double *x = zeros(&p, xs);
	meet(&g, xs, ys, ws, 0, p.in[0].v, p.in[1].v, x, DATA);
	int ok = prog_compile(&p, level) && prog_run(&p) && agrees(&p, 0, xs, x);
	if (!ok) describe(attrs, d, level);
	prog_close(&p);
	return ok;
}

static void shaped(void)
{
	unsigned state = 7;
	int beyond = 0;
	for (int i = 0; i < SHAPED; i++) {
		Draw d = draw_conv(&state);
		int upper = below(&state, 2);
		for (int k = 0; k < d.n; k++) {
			d.axis[k].dilation = 1;
			d.axis[k].x = 1 + below(&state, 14);
			find_begin(&d.axis[k], upper);
			beyond += past(&d.axis[k]) < 0;
		}
		for (int level = 0; level <= 2; level += 2) CHECK("", shaped_agrees(&d, upper, level));
	}
	CHECK("", beyond > SHAPED / 4);
}

/* --- pools ------------------------------------------------------------------------------------------------------------------ */

/* Window o is there if it ends within image and padding; rounding up, also if the one before it leaves something of these over
 * and it begins before the padding behind. */
static int window_is_there(const Axis *a, int end, int ceil, int o)
{
	int all = a->begin + a->x + end, from = o * a->stride;
	if (!ceil) return from + a->k <= all;
	return from - a->stride + a->k < all && from < a->begin + a->x;
}

/* 0: a window of it would lie in padding only */
static int draw_pool(unsigned *s, Draw *d, int *end, int *ceil)
{
	static const DType types[] = { DT_F32, DT_F32, DT_F64, DT_F16, DT_BF16 };
	int real = 1;
	*d = (Draw){ 1 + below(s, MOST_AXES), 1 + below(s, 2), 1 + below(s, 2), 1, 1, types[below(s, 5)], { { 0 } } };
	*ceil = below(s, 3) != 0;
	for (int i = 0; i < d->n; i++) {
		Axis *a = &d->axis[i];
		*a = (Axis){ 1 + below(s, 7), 0, 1 + below(s, 4), 1 + below(s, 4), 1, 0 };
		a->begin = below(s, a->k);
		end[i] = below(s, a->k);
		while (window_is_there(a, end[i], *ceil, a->y)) a->y++;
		real = real && a->y > 0 && (a->y - 1) * a->stride < a->begin + a->x;
	}
	return real;
}

static void pool_refs(const Draw *d, const double *x, const double *dy, double *mean, double *most, double *dmean, double *dmost)
{
	Shape xs = shape_of(d, d->images, d->groups, 'x'), ys = shape_of(d, d->images, d->groups, 'y');
	Geometry g = geometry_of(d, 1);
	for (int i = 0; i < (int)shape_nelems(ys); i++) {
		int o[MAX_RANK];
		split(ys, i, o);
		Fold f = window(&g, xs, x, o, 0, dy[i], dmean);
		mean[i] = f.sum / f.n;
		most[i] = f.max;
		window(&g, xs, x, o, &most[i], dy[i], dmost);
	}
}

static void pool_attrs(const Draw *d, const int *end, char *text, size_t room)
{
	put_list(text, room, "kernel_size", d, offsetof(Axis, k));
	put_list(text, room, "stride", d, offsetof(Axis, stride));
	put_padding(text, room, d, end);
}

static int pool_agrees(const Draw *d, const int *end, int ceil, int level)
{
	Prog p;
	Shape xs = shape_of(d, d->images, d->groups, 'x'), ys = shape_of(d, d->images, d->groups, 'y');
	char attrs[500] = "", back[500] = "", sized[600] = "";
	prog_open(&p);
	pool_attrs(d, end, back, sizeof back);
	snprintf(attrs, sizeof attrs, "%sceil_mode = %s", back, ceil ? "true" : "false");
	back[strlen(back) - 2] = 0;
	LIST(sized, "size", x);
	strcat(sized, back);
	Tensor *x = prog_load(&p, (Spec){ .dtype = d->t, .shape = xs }), *dy = prog_load(&p, (Spec){ .dtype = d->t, .shape = ys });
	build(&p, "average_pool", &x, 1, attrs);
	Tensor *most = build(&p, "max_pool", &x, 1, attrs);
	int ok = !p.t.ds.errors && shape_eq(most->spec.shape, ys);
	if (ok) build(&p, "average_pool_grad", &dy, 1, sized), build(&p, "max_pool_grad", (Tensor *[]){ x, most, dy }, 3, back);
	prog_fill(&p, -1, 1, 5, 1);
	for (int i = 0; i < p.in[0].n; i++) p.in[0].v[i] = floor(p.in[0].v[i] * 4);           /* elements of a window are often equal */
	prog_round(&p);
	double *mean = zeros(&p, ys), *max = zeros(&p, ys), *dmean = zeros(&p, xs), *dmax = zeros(&p, xs);
	pool_refs(d, p.in[0].v, p.in[1].v, mean, max, dmean, dmax);
	ok = ok && prog_compile(&p, level) && prog_run(&p) && agrees(&p, 0, ys, mean) && agrees(&p, 1, ys, max) && agrees(&p, 2, xs, dmean) && agrees(&p, 3, xs, dmax);
	if (!ok) describe(attrs, d, level), printf("%s", bench_text(&p.t));
	prog_close(&p);
	return ok;
}

static int pool_refused(const Draw *d, const int *end, int ceil)
{
	Bench t;
	int inplace;
	char attrs[500] = "";
	bench_open(&t);
	const OpDef *op = def_by_name("max_pool", &inplace);
	pool_attrs(d, end, attrs, sizeof attrs);
	snprintf(attrs + strlen(attrs), sizeof attrs - strlen(attrs), "ceil_mode = %s", ceil ? "true" : "false");
	Tensor *x = ir_input(&t.b, (Spec){ .dtype = d->t, .shape = shape_of(d, d->images, d->groups, 'x') }, "x", 0);
	ir_op(&t.b, op->id, &x, 1, scan_attrs(&t, op, attrs), 0);
	int ok = t.ds.errors == 1 && t.ds.at.at[0]->code == E0310;
	if (!ok) describe(attrs, d, 0), printf("%s", bench_text(&t));
	bench_close(&t);
	return ok;
}

static void pools(void)
{
	unsigned state = 5;
	int refused = 0, rounded = 0, end[MOST_AXES], ceil;
	for (int i = 0; i < POOLS; i++) {
		Draw d;
		if (!draw_pool(&state, &d, end, &ceil)) {
			CHECK("", pool_refused(&d, end, ceil));
			refused++;
			continue;
		}
		rounded += ceil;
		for (int level = 0; level <= 2; level += 2) CHECK("", pool_agrees(&d, end, ceil, level));
	}
	CHECK("", refused > POOLS / 20 && rounded > POOLS / 3);
}

int main(void)
{
	convs();
	shaped();
	pools();
	return check_done();
}
