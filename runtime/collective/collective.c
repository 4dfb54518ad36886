/* collective.c — replicas at one table: each lays down its tensor, takes what it needs of the others', and leaves together.
 *
 * Replicas run one program, so the n-th collective of one is the n-th of every other.  A lane counts its collectives:
 * arriving it shows its tensor and what it is about to do, waits until every member has arrived, reads, and waits
 * until every member has read, since its tensor may be overwritten after.  A member whose n-th collective is
 * another one, or that has ended, is a fault, never a wait without end: the lane that is furthest behind
 * waits for nobody but lanes that run or have ended (R416). */
#include "runtime/kernels/kernels.h"
#include "runtime/session.h"

#include <string.h>

static RtLane *member(const RtLane *ln, const struct pxlrt_collective *d, int i)
{
	int r = ln->pub.replica, first = r / (d->stride * d->size) * (d->stride * d->size) + r % d->stride;
	return &ln->s->lanes[first + i * d->stride];
}
static int own_place(const RtLane *ln, const struct pxlrt_collective *d) { return ln->pub.replica / d->stride % d->size; }

/* --- coming and going --------------------------------------------------------------------------------------------- */

static int arrive(RtLane *ln, const struct pxlrt_collective *d, const void *x)
{
	RtSession *s = ln->s;
	int missing = -1, other = -1;
	pthread_mutex_lock(&s->lock);
	ln->meet.d = d;
	ln->meet.x = x;
	ln->meet.come++;
	pthread_cond_broadcast(&s->met);
	for (int i = 0; i < d->size && missing < 0; i++) {
		RtLane *m = member(ln, d, i);
		while (m->meet.come < ln->meet.come && !m->meet.over) pthread_cond_wait(&s->met, &s->lock);
		if (m->meet.come < ln->meet.come) missing = m->pub.replica;
		else if (m->meet.come != ln->meet.come || m->meet.d != d) other = m->pub.replica;
	}
	pthread_mutex_unlock(&s->lock);
	if (missing >= 0) return lane_fault(ln, "replica %d ended before it came to this collective", missing);
	if (other >= 0) return lane_fault(ln, "replica %d is at another collective: all members of a group take the same branches up to here", other);
	return RT_OK;
}

static void leave(RtLane *ln, const struct pxlrt_collective *d)
{
	RtSession *s = ln->s;
	pthread_mutex_lock(&s->lock);
	ln->meet.gone = ln->meet.come;
	pthread_cond_broadcast(&s->met);
	for (int i = 0; i < d->size; i++) {
		RtLane *m = member(ln, d, i);
		while (m->meet.gone < ln->meet.come && !m->meet.over) pthread_cond_wait(&s->met, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

void meet_begin(RtSession *s)
{
	for (int k = 0; k < s->p->replicas; k++) memset(&s->lanes[k].meet, 0, sizeof s->lanes[k].meet);
}

void meet_end(RtLane *ln)
{
	RtSession *s = ln->s;
	if (s->p->replicas == 1) return;
	pthread_mutex_lock(&s->lock);
	ln->meet.over = 1;
	pthread_cond_broadcast(&s->met);
	pthread_mutex_unlock(&s->lock);
}

/* --- reducing: members in order, block by block, so that each of them gets the same bits ------------------------------- */

enum { ADD, MEAN, MUL, MIN, MAX, AND, OR, SQUARE_ADD };          /* as compiler/ops/collective.c numbers them */

#define FLOOR_MEAN(v, n) do { T q = (v) / (T)(n); (v) = q - ((v) % (T)(n) < 0); } while (0)
#define PLAIN_MEAN(v, n) (v) /= (T)(n)
#define REDUCE(S, type, mean) \
static void join_##S(const struct pxlrt *rt, int how, void *to, void *from, long n) \
{ \
	typedef type T; \
	T *y = to, *x = from; \
	switch (how) { \
	case MUL: rt->S->mul(y, y, x, n); break; \
	case MIN: rt->S->min(y, y, x, n); break; \
	case MAX: rt->S->max(y, y, x, n); break; \
	case AND: for (long i = 0; i < n; i++) y[i] = (T)(y[i] != 0 && x[i] != 0); break; \
	case OR:  for (long i = 0; i < n; i++) y[i] = (T)(y[i] != 0 || x[i] != 0); break; \
	case SQUARE_ADD: rt->S->mul(x, x, x, n); rt->S->add(y, y, x, n); break; \
	default: rt->S->add(y, y, x, n); \
	} \
} \
static void begin_##S(int how, void *to, long n) \
{ \
	typedef type T; \
	T *y = to; \
	for (long i = 0; how == SQUARE_ADD && i < n; i++) y[i] *= y[i]; \
} \
static void end_##S(int how, int size, void *to, long n) \
{ \
	typedef type T; \
	T *y = to; \
	for (long i = 0; how == MEAN && i < n; i++) mean(y[i], size); \
}
REDUCE(f32, float, PLAIN_MEAN)
REDUCE(f64, double, PLAIN_MEAN)
REDUCE(i64, long long, FLOOR_MEAN)
REDUCE(u64, unsigned long long, PLAIN_MEAN)

static const struct {
	void (*begin)(int how, void *y, long n);
	void (*join)(const struct pxlrt *rt, int how, void *y, void *x, long n);
	void (*end)(int how, int size, void *y, long n);
} by_class[PXLRT_NCLASS] = { { begin_f32, join_f32, end_f32 }, { begin_f64, join_f64, end_f64 }, { begin_i64, join_i64, end_i64 }, { begin_u64, join_u64, end_u64 } };

typedef struct Work { const struct pxlrt_collective *d; RtLane *ln; long base; char *y; } Work;

static void reduce_block(const Work *w, long at, long n)
{
	const struct pxlrt_collective *d = w->d;
	const struct pxlrt *rt = table_of(w->ln);
	int cls = class_of(d->dtype);
	Block y, x;
	for (int i = 0; i < d->size; i++) {
		rt->ld[d->dtype](i ? &x : &y, at_elem(member(w->ln, d, i)->meet.x, d->dtype, w->base + at), 1, n);
		if (i) by_class[cls].join(rt, d->how, &y, &x, n);
		else by_class[cls].begin(d->how, &y, n);
	}
	by_class[cls].end(d->how, d->size, &y, n);
	rt->st[d->dtype](at_elem_mut(w->y, d->dtype, at), 1, &y, n);
}

static int reduce_body(RtLane *ln, void *ctx, long lo, long hi)
{
	(void)ln;
	for (long at = lo; at < hi; at += BLOCK_MAX) reduce_block(ctx, at, min_l(BLOCK_MAX, hi - at));
	return RT_OK;
}

/* y[0, n) from what members have from `base` on; zeros where that is past their end */
static int reduce(RtLane *ln, const struct pxlrt_collective *d, long base, char *y)
{
	long have = max_l(0, min_l(d->n, d->total - base)), size = (long)dtype_size(d->dtype);
	Work w = { d, ln, base, y };
	memset(y + have * size, 0, (size_t)((d->n - have) * size));
	return have ? span_run(ln, reduce_body, &w, have, piece_of(have, d->size)) : RT_OK;
}

/* --- moving ------------------------------------------------------------------------------------------------------------- */

/* blocks of all members side by side; what lies past `total` fills up a shard and is dropped */
static void gather(RtLane *ln, const struct pxlrt_collective *d, char *y)
{
	long size = (long)dtype_size(d->dtype);
	for (long o = 0; o < d->outer; o++)
		for (int i = 0; i < d->size; i++) {
			long at = (o * d->size + i) * d->n, n = min_l(d->n, d->total - at);
			if (n > 0) memcpy(y + at * size, (const char *)member(ln, d, i)->meet.x + o * d->n * size, (size_t)(n * size));
		}
}

static void own(const RtLane *ln, const struct pxlrt_collective *d, const char *x, char *y)
{
	long size = (long)dtype_size(d->dtype);
	for (long o = 0; o < d->outer; o++) {
		long at = (o * d->size + own_place(ln, d)) * d->n, n = max_l(0, min_l(d->n, d->total - at));
		if (n) memcpy(y + o * d->n * size, x + at * size, (size_t)(n * size));
		memset(y + (o * d->n + n) * size, 0, (size_t)((d->n - n) * size));
	}
}

int lane_collective(struct pxlrt_lane *pub, const struct pxlrt_collective *d, const void *x, void *y)
{
	RtLane *ln = rt_lane(pub);
	if (d->kind == PXLRT_OWN) return own(ln, d, x, y), RT_OK;
	int st = arrive(ln, d, x);
	if (st) return st;
	if (d->kind == PXLRT_ALL_GATHER) gather(ln, d, y);
	else st = reduce(ln, d, d->kind == PXLRT_REDUCE_SCATTER ? own_place(ln, d) * d->n : 0, y);
	leave(ln, d);
	return st;
}
