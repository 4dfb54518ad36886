/* depthwise.c — windows over one channel each: plane by plane, with nothing in between; see vec/depth.c. */
#include "runtime/kernels/conv.h"

enum { ROOM = 1 << 20 };

typedef struct Depthwise { const Conv *c; DepthPlane d; } Depthwise;

static void measure(const Conv *c, DepthPlane *d)
{
	for (int i = 0; i < 2; i++) {
		const ConvAxis *a = &c->axis[i];
		d->x[i] = a->source, d->y[i] = a->columns, d->k[i] = a->taps, d->step[i] = a->step, d->off[i] = a->off0;
	}
	const ConvAxis *a = &c->axis[1];
	d->gap = c->axis[0].doff;
	d->part = ceil_div(a->columns, DEPTH_COLUMNS) * DEPTH_COLUMNS + (a->taps - 1) * a->doff / a->step;
	for (long b = 0; b < a->taps; b++) d->tap[b] = b * a->doff % a->step * d->part + b * a->doff / a->step;
}

static int is_plain(const ConvAxis *a)
{
	return a->every == 1 && a->first == 0 && a->result == a->columns && a->taps > 0 && a->doff > 0;
}

int depthwise_fits(const Conv *c)
{
	if (c->chans != 1 || c->rank != 2 || c->xtype != DT_F32 || c->ytype != DT_F32) return 0;
	if (!is_plain(&c->axis[0]) || !is_plain(&c->axis[1]) || c->axis[1].taps > DEPTH_TAPS) return 0;
	DepthPlane d;
	measure(c, &d);
	return (double)d.x[0] * (double)d.step[1] * (double)d.part + DEPTH_COLUMNS <= (double)(ROOM / sizeof(float));
}

static int planes(RtLane *ln, void *ctx, long lo, long hi)
{
	const Depthwise *p = ctx;
	const DepthPlane *d = &p->d;
	const Conv *c = p->c;
	const Isa *isa = isa_of(ln);
	long taps = d->k[0] * d->k[1], staged = -1;
	for (long i = lo; i < hi; i++) {
		long plane = i / c->rows;
		if (plane != staged) isa->depth->stage(d, (const float *)(const void *)c->x + plane * d->x[0] * d->x[1], ln->scratch);
		staged = plane;
		isa->depth->plane(d, ln->scratch, (const float *)(const void *)c->w + i % (c->groups * c->rows) * taps,
		                 (float *)(void *)c->y + i * d->y[0] * d->y[1]);
	}
	return 0;
}

int depthwise_run(RtLane *ln, const Conv *c)
{
	Depthwise p = { .c = c };
	measure(c, &p.d);
	long n = c->images * c->groups * c->rows;
	double ns = (double)(p.d.y[0] * p.d.y[1]) * (double)(p.d.k[0] * p.d.k[1] + 4) * 0.03;
	return span_run(ln, planes, &p, n, piece_of(n, ns));
}
