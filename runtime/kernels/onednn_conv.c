/* onednn_conv.c — large f32 convolutions by oneDNN, and with them the gradients for the data when the stride is 1.
 *
 * oneDNN is fastest on layouts of its own: the weights are brought into it once per call, in memory the caller gives
 * (`room`), and images one or a few at a time, in the lane's scratch; so memory is planned, and any number of threads gives
 * the same bits.  Its primitives are made anew at each call: it keeps the generated code itself.  Where anything is refused
 * our own loops serve. */
#include "runtime/kernels/blocked.h"
#include "runtime/kernels/onednn.h"

#include <string.h>

enum { TYPE_F32 = 3, TAG_ANY = 1, FORWARD_TRAINING = 64, DIRECT = 1, SCRATCHPAD_USER = 1, STREAM_DEFAULT = 1 };
enum { MD_SRC = 129, MD_WEIGHTS = 131, MD_DST = 133, MD_SCRATCHPAD = 136 };
enum { ARG_SRC = 1, ARG_DST = 17, ARG_WEIGHTS = 33, ARG_SCRATCHPAD = 80, ARG_FROM = 1, ARG_TO = 17 };
enum { ROOM = 3 << 20, AIM = 1 << 20, SCRATCHPAD = 512 << 10 };       /* images of a piece; what oneDNN itself may ask for */
_Static_assert(ROOM + SCRATCHPAD + 4096 <= RT_SCRATCH_BYTES, "the lane's scratch holds it");

/* larger than dnnl_memory_desc_t (696 bytes) and dnnl_convolution_desc_t (5976) */
typedef struct Desc { _Alignas(16) char bytes[1024]; } Desc;
typedef struct ConvDesc { _Alignas(16) char bytes[8192]; } ConvDesc;

enum { CONV, TAKE, GIVE, WEIGHTS, STEPS };
typedef struct Plan {
	const OneDnn *o;
	const struct pxlrt_window *d;
	long images;                         /* of a piece */
	Desc x, y, w;                        /* as they lie in the model's memory */
	void *pd, *step[STEPS];              /* the convolution; images in and out; weights */
	const void *bx, *by, *bw;            /* oneDNN's own layouts */
	size_t scratchpad;
	const float *in;
	float *out;
	void *room;
} Plan;

/* --- planning --------------------------------------------------------------------------------------------------------- */

static long spatial(const struct pxlrt_window *d, const long *dim)
{
	long n = 1;
	for (int i = 0; i < d->rank; i++) n *= dim[i];
	return n;
}

static double work_of(const struct pxlrt_window *d)
{
	return (double)(d->images * d->c * d->m) * (double)spatial(d, d->y) * (double)spatial(d, d->k);
}

static size_t image_bytes(const struct pxlrt_window *d) { return (size_t)(d->c * spatial(d, d->x) + d->m * spatial(d, d->y)) * 4; }

/* whole blocks of 16 channels on both sides, and enough to do */
static int suits(const struct pxlrt_window *d)
{
	return !is_blocked(d) && d->xtype == DT_F32 && d->ytype == DT_F32 && d->groups == 1 && d->rank <= 3 && d->c % 16 == 0 && d->m % 16 == 0 && work_of(d) >= 4e6 &&
	       image_bytes(d) <= ROOM;
}

/* the windows reach at most to the end of the padding that is said to be there */
static int paddings(const struct pxlrt_window *d, int64_t *before, int64_t *after)
{
	for (int i = 0; i < d->rank; i++) {
		before[i] = d->pad[i];
		after[i] = (d->y[i] - 1) * d->stride[i] + (d->k[i] - 1) * d->dilation[i] + 1 - d->x[i] - d->pad[i];
		if (before[i] < 0 || after[i] <= -d->stride[i]) return 0;
		if (after[i] < 0) after[i] = 0;
	}
	return 1;
}

/* plain and free descriptors of (first, second, space) */
static int describe(const OneDnn *o, int rank, long first, long second, const long *space, Desc *plain, Desc *any)
{
	int64_t dims[2 + PXLRT_MAXSPACE] = { first, second };
	for (int i = 0; i < rank; i++) dims[i + 2] = space[i];
	return !o->memory_desc_init_by_strides(plain, rank + 2, dims, TYPE_F32, NULL) && !o->memory_desc_init_by_tag(any, rank + 2, dims, TYPE_F32, TAG_ANY);
}

static int choose_conv(Plan *p)
{
	const struct pxlrt_window *d = p->d;
	Desc x, y, w;
	ConvDesc conv;
	void *attr = NULL;
	int64_t stride[PXLRT_MAXSPACE], dilation[PXLRT_MAXSPACE], before[PXLRT_MAXSPACE], after[PXLRT_MAXSPACE];
	for (int i = 0; i < d->rank; i++) stride[i] = d->stride[i], dilation[i] = d->dilation[i] - 1;
	if (!paddings(d, before, after) || !describe(p->o, d->rank, p->images, d->c, d->x, &p->x, &x) || !describe(p->o, d->rank, p->images, d->m, d->y, &p->y, &y) ||
	    !describe(p->o, d->rank, d->m, d->c, d->k, &p->w, &w)) return 0;
	if (p->o->dilated_convolution_forward_desc_init(&conv, FORWARD_TRAINING, DIRECT, &x, &w, NULL, &y, stride, dilation, before, after)) return 0;
	if (p->o->primitive_attr_create(&attr)) return 0;
	int st = p->o->primitive_attr_set_scratchpad_mode(attr, SCRATCHPAD_USER);
	if (!st) st = p->o->primitive_desc_create(&p->pd, &conv, attr, p->o->engine, NULL);
	p->o->primitive_attr_destroy(attr);
	if (st) return p->pd = NULL, 0;
	p->bx = p->o->primitive_desc_query_md(p->pd, MD_SRC, 0);
	p->by = p->o->primitive_desc_query_md(p->pd, MD_DST, 0);
	p->bw = p->o->primitive_desc_query_md(p->pd, MD_WEIGHTS, 0);
	const void *pad = p->o->primitive_desc_query_md(p->pd, MD_SCRATCHPAD, 0);
	p->scratchpad = pad ? p->o->memory_desc_get_size(pad) : 0;
	return p->bx && p->by && p->bw;
}

static int reorder(Plan *p, int step, const void *from, const void *to)
{
	void *pd = NULL;
	if (p->o->reorder_primitive_desc_create(&pd, from, p->o->engine, to, p->o->engine, NULL)) return 0;
	int st = p->o->primitive_create(&p->step[step], pd);
	p->o->primitive_desc_destroy(pd);
	if (st) p->step[step] = NULL;
	return !st;
}

static size_t rounded(size_t n) { return (n + 63) / 64 * 64; }

static int fits(const Plan *p)
{
	size_t x = p->o->memory_desc_get_size(p->bx), y = p->o->memory_desc_get_size(p->by), w = p->o->memory_desc_get_size(p->bw);
	return rounded(x) + rounded(y) <= ROOM && p->scratchpad <= SCRATCHPAD && w <= (size_t)(p->d->c * p->d->m * spatial(p->d, p->d->k)) * 4;
}

static int plan_open(Plan *p)
{
	if (!choose_conv(p) || !fits(p)) return 0;
	if (p->o->primitive_create(&p->step[CONV], p->pd)) return p->step[CONV] = NULL, 0;
	return reorder(p, TAKE, &p->x, p->bx) && reorder(p, GIVE, p->by, &p->y) && reorder(p, WEIGHTS, &p->w, p->bw);
}

static void plan_close(Plan *p)
{
	for (int i = 0; i < STEPS; i++)
		if (p->step[i]) p->o->primitive_destroy(p->step[i]);
	if (p->pd) p->o->primitive_desc_destroy(p->pd);
}

/* --- running ------------------------------------------------------------------------------------------------------------ */

typedef struct Place { int which; const void *desc; const void *data; } Place;

static int execute(const Plan *p, void *stream, int step, const Place *at, int n)
{
	DnnArg arg[4];
	int st = 0, made = 0;
	for (; made < n && !st; made++) {
		void *data = NULL;
		memcpy(&data, &at[made].data, sizeof data);      /* const: the library asks for no difference */
		arg[made].which = at[made].which;
		st = p->o->memory_create(&arg[made].memory, at[made].desc, p->o->engine, data);
	}
	if (!st) st = p->o->primitive_execute(p->step[step], stream, n, arg);
	for (int i = 0; i < made - (st && made < n); i++) p->o->memory_destroy(arg[i].memory);
	return st;
}

static int images(const Plan *p, RtLane *ln, void *stream, long i)
{
	const struct pxlrt_window *d = p->d;
	char *x = ln->scratch, *y = x + rounded(p->o->memory_desc_get_size(p->bx)), *pad = (char *)ln->scratch + ROOM;
	const float *in = p->in + i * p->images * d->c * spatial(d, d->x);
	float *out = p->out + i * p->images * d->m * spatial(d, d->y);
	const void *scratchpad = p->o->primitive_desc_query_md(p->pd, MD_SCRATCHPAD, 0);
	return execute(p, stream, TAKE, (Place[]){ { ARG_FROM, &p->x, in }, { ARG_TO, p->bx, x } }, 2) ||
	       execute(p, stream, CONV, (Place[]){ { ARG_SRC, p->bx, x }, { ARG_WEIGHTS, p->bw, p->room }, { ARG_DST, p->by, y }, { ARG_SCRATCHPAD, scratchpad, pad } },
	               p->scratchpad ? 4 : 3) ||
	       execute(p, stream, GIVE, (Place[]){ { ARG_FROM, p->by, y }, { ARG_TO, &p->y, out } }, 2);
}

/* on this thread alone, with OpenMP told so */
static int alone(const Plan *p, RtLane *ln, const float *w, long lo, long hi)
{
	void *stream = NULL;
	int had = p->o->threads_get(), st;
	p->o->threads_set(1);
	st = p->o->stream_create(&stream, p->o->engine, STREAM_DEFAULT);
	if (!st && w) st = execute(p, stream, WEIGHTS, (Place[]){ { ARG_FROM, &p->w, w }, { ARG_TO, p->bw, p->room } }, 2);
	for (long i = lo; i < hi && !st; i++) st = images(p, ln, stream, i);
	if (stream) p->o->stream_destroy(stream);
	p->o->threads_set(had);
	return st ? RT_EINTERNAL : 0;
}

static int pieces(RtLane *ln, void *ctx, long lo, long hi) { return alone(ctx, ln, NULL, lo, hi); }

/* a whole number of pieces, small enough for the second cache if an image is */
static long images_of(const struct pxlrt_window *d)
{
	long n = max_l(1, min_l(d->images, (long)(AIM / image_bytes(d))));
	while (d->images % n || (n > 1 && d->images / n < 8 && d->images >= 8)) n--;
	return n;
}

static int run(RtLane *ln, const struct pxlrt_window *d, const void *x, const void *w, void *y, void *room)
{
	Plan p = { .o = onednn(), .d = d, .in = x, .out = y, .room = room };
	if (!p.o->engine) return 0;
	p.images = images_of(d);
	long n = d->images / p.images;
	int had = p.o->threads_get();
	p.o->threads_set(1);                 /* primitives keep the number they were made under */
	int ok = plan_open(&p);
	p.o->threads_set(had);
	ok = ok && !alone(&p, ln, w, 0, 0) && !span_run(ln, pieces, &p, n, piece_of(n, work_of(d) / (double)n * 0.02));
	plan_close(&p);
	return ok;
}

int k_conv_onednn(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *x, const void *w, void *y, void *room)
{
	if (room && suits(d) && run(rt_lane(ln), d, x, w, y, room)) return 0;
	return k_conv(ln, d, x, w, y, room);
}

/* with stride 1 it is the convolution of y with the weights turned over */
int k_conv_data_onednn(struct pxlrt_lane *ln, const struct pxlrt_window *d, const void *y, const void *turned, void *x, void *room)
{
	struct pxlrt_window f = *d;
	f.xtype = d->ytype, f.ytype = d->xtype;
	f.c = d->m, f.m = d->c;
	int ones = 1;
	for (int i = 0; i < d->rank; i++) {
		ones = ones && d->stride[i] == 1;
		f.x[i] = d->y[i], f.y[i] = d->x[i];
		f.pad[i] = (d->k[i] - 1) * d->dilation[i] - d->pad[i];
	}
	if (room && ones && suits(&f) && run(rt_lane(ln), &f, y, turned, x, room)) return 0;
	return k_conv_data(ln, d, y, turned, x, room);
}
