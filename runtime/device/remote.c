/* remote.c — the memory beside the device: entries of remote buffers, and everything else that transfers move.
 *
 * Every lane has a region of its own, in which each buffer is a row of equal entries.  It starts as zeros whenever
 * a session attaches; then the entries that variables stand for get their values from H, like the
 * variables of the device (semantics.md R332, R334, R281).  An exchange is several transfers in one step: it
 * runs the loads first, so that what it stores cannot change what it loads (R261).
 *
 * Transfers are counted here and in stream.c, by kind; an exchange is one step however much it moves. */
#include "runtime/session.h"

#include <inttypes.h>
#include <string.h>

/* --- entries ------------------------------------------------------------------------------------------------- */

static char *entry_at(RtLane *ln, int buffer, int64_t i)
{
	const RtBuffer *b = &ln->s->p->buffers[buffer];
	return ln->remote + b->offset + (size_t)i * b->bytes;
}

/* NULL after a fault */
static char *find_entry(RtLane *ln, int buffer, int offset_dtype, const void *offset)
{
	const RtBuffer *b = &ln->s->p->buffers[buffer];
	int64_t i = rt_get_int((DType)offset_dtype, offset, 0);
	if (i >= 0 && i < b->entries) return entry_at(ln, buffer, i);
	lane_fault(ln, "remote buffer %d has no entry %" PRId64 ": its entries are 0 to %" PRId64, buffer + 1, i, b->entries - 1);
	return NULL;
}

static int load_entry(RtLane *ln, int buffer, int offset_dtype, const void *offset, void *y)
{
	const char *from = find_entry(ln, buffer, offset_dtype, offset);
	if (!from) return RT_ERUN;
	if (ln->s->p->buffers[buffer].bytes) memcpy(y, from, ln->s->p->buffers[buffer].bytes);
	ln->traffic.moves[PXLRT_REMOTE_LOAD]++;
	return RT_OK;
}

static int store_entry(RtLane *ln, int buffer, int offset_dtype, const void *offset, const void *x)
{
	char *to = find_entry(ln, buffer, offset_dtype, offset);
	if (!to) return RT_ERUN;
	if (ln->s->p->buffers[buffer].bytes) memcpy(to, x, ln->s->p->buffers[buffer].bytes);
	ln->traffic.moves[PXLRT_REMOTE_STORE]++;
	return RT_OK;
}

/* --- what emitted code calls ---------------------------------------------------------------------------------- */

int lane_remote_load(struct pxlrt_lane *pub, int buffer, int offset_dtype, const void *offset, void *y)
{
	rt_lane(pub)->traffic.exchanges++;
	return load_entry(rt_lane(pub), buffer, offset_dtype, offset, y);
}

int lane_remote_store(struct pxlrt_lane *pub, int buffer, int offset_dtype, const void *offset, const void *x)
{
	rt_lane(pub)->traffic.exchanges++;
	return store_entry(rt_lane(pub), buffer, offset_dtype, offset, x);
}

/* Code is in the process already: only the copy is accounted for (R362). */
int lane_code_load(struct pxlrt_lane *pub, int segment)
{
	(void)segment;
	rt_lane(pub)->traffic.moves[PXLRT_CODE_LOAD]++;
	rt_lane(pub)->traffic.exchanges++;
	return RT_OK;
}

static int move(struct pxlrt_lane *pub, const struct pxlrt_transfer *t, void *const *p)
{
	lane_at(pub, t->site);
	switch (t->kind) {
	case PXLRT_HOST_LOAD:    return lane_host_load(pub, t->index, p[0]);
	case PXLRT_HOST_STORE:   return lane_host_store(pub, t->index, p[0]);
	case PXLRT_REMOTE_LOAD:  return load_entry(rt_lane(pub), t->index, t->offset, p[1], p[0]);
	case PXLRT_REMOTE_STORE: return store_entry(rt_lane(pub), t->index, t->offset, p[1], p[0]);
	case PXLRT_CODE_LOAD:    return lane_code_load(pub, t->index);
	}
	return lane_fault(rt_lane(pub), "an exchange holds a transfer of unknown kind %d", t->kind);
}

int lane_exchange(struct pxlrt_lane *pub, const struct pxlrt_transfer *t, int n, void *const *p)
{
	RtLane *ln = rt_lane(pub);
	uint64_t before = ln->traffic.exchanges;
	int st = RT_OK;
	for (int stores = 0; stores < 2; stores++)
		for (int i = 0; i < n && !st; i++)
			if ((t[i].kind == PXLRT_HOST_STORE || t[i].kind == PXLRT_REMOTE_STORE) == stores) st = move(pub, &t[i], p + 2 * i);
	ln->traffic.exchanges = before + 1;
	return st;
}

/* --- variables that stand for entries --------------------------------------------------------------------------- */

int remote_check(const RtProgram *p, const RtVar *v, RtErr *e)
{
	const RtBuffer *b = v->buffer >= 1 && v->buffer <= p->nbuffer ? &p->buffers[v->buffer - 1] : NULL;
	if (b && v->bytes == b->bytes && v->entry >= 0 && v->entry < b->entries) return RT_OK;
	return rt_fail(e, RT_EINTERNAL, "variable `%s` stands for no entry of a remote buffer", v->name);
}

char *remote_var(RtLane *ln, const RtVar *v) { return entry_at(ln, v->buffer - 1, v->entry); }

void remote_clear(RtSession *s)
{
	for (int k = 0; k < s->p->replicas; k++)
		if (s->p->remote_bytes) memset(s->lanes[k].remote, 0, s->p->remote_bytes);
}

/* --- counting ------------------------------------------------------------------------------------------------------ */

RtTraffic rt_session_traffic(const RtSession *s)
{
	RtTraffic sum = { { 0 }, 0 };
	for (int k = 0; k < s->p->replicas; k++) {
		for (int i = 0; i < PXLRT_MOVES; i++) sum.moves[i] += s->lanes[k].traffic.moves[i];
		sum.exchanges += s->lanes[k].traffic.exchanges;
	}
	return sum;
}
