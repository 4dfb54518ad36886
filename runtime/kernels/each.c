/* each.c — spreading loops over the pool. */
#include "runtime/kernels/kernels.h"

typedef struct Span { SpanBody body; void *ctx; long n, grain; } Span;

static int span_piece(RtLane *ln, void *ctx, long i)
{
	Span *s = ctx;
	long lo = i * s->grain;
	return s->body(ln, s->ctx, lo, min_l(lo + s->grain, s->n));
}

int span_run(RtLane *ln, SpanBody body, void *ctx, long n, long grain)
{
	if (n <= 0) return 0;
	if (!ln->pool || n <= grain) return body(ln, ctx, 0, n);
	Span s = { body, ctx, n, grain };
	return rt_pool_run(ln, span_piece, &s, (n + grain - 1) / grain);
}

typedef struct Each {
	int (*body)(const struct pxlrt *, struct pxlrt_lane *, void *const *, long, long);
	void *const *p;
	long n, grain;
} Each;

static int each_piece(RtLane *ln, void *ctx, long i)
{
	Each *e = ctx;
	long lo = i * e->grain;
	return e->body(table_of(ln), &ln->pub, e->p, lo, min_l(lo + e->grain, e->n));
}

int k_each(struct pxlrt_lane *ln, int (*body)(const struct pxlrt *, struct pxlrt_lane *, void *const *, long, long), void *const *p, long n, long grain)
{
	Each e = { body, p, n, max_l(grain, 1) };
	return n <= 0 ? 0 : rt_pool_run(rt_lane(ln), each_piece, &e, (n + e.grain - 1) / e.grain);
}
