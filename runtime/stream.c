/* stream.c — the arrays of one run, and the cursors that walk them.
 *
 * A stream's array is [transfer][replica][entry].  The caller's own memory is used: a load hands out a
 * pointer into it, and what a store will take is computed in its place where the compiler saw that nothing
 * tells the difference (compiler/passes/store.c) and the array shares no memory with another of this run; else a
 * store copies.  Arrays bound again and again are checked once.  Every replica has a cursor per stream, set
 * back to 0 when a run begins and shared by all loads (or stores) of that stream in the order they
 * execute. */
#include "runtime/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *shape_text(char *buf, size_t size, DType t, int rank, const int64_t *dim)
{
	size_t n = (size_t)snprintf(buf, size, "%s[", dtype_info[t].name);
	for (int i = 0; i < rank && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%" PRId64, i ? ", " : "", dim[i]);
	if (n < size) snprintf(buf + n, size - n, "]");
	return buf;
}

/* --- binding ------------------------------------------------------------------------------------------ */

/* The shape of the array one run takes: transfers and replicas in front where they are more than 1. */
static const char *array_text(char *buf, size_t size, const RtProgram *p, const RtStream *st)
{
	int64_t dim[MAX_RANK + 2];
	int rank = 0;
	if (p->transfers > 1) dim[rank++] = p->transfers;
	if (p->replicas > 1) dim[rank++] = p->replicas;
	for (int i = 0; i < st->rank; i++) dim[rank++] = st->dim[i];
	return shape_text(buf, size, st->dtype, rank, dim);
}

static const char *way(const RtStream *st) { return st->is_input ? "input" : "output"; }

/* With more than one transfer a longer array is taken and its end left alone. */
static int bind_one(RtSession *s, const RtBind *b, RtErr *e)
{
	const RtProgram *p = s->p;
	const RtStream *st = &p->streams[b->stream];
	size_t row = st->nelem * (size_t)p->replicas, least = row * (size_t)p->transfers;
	char shape[160];
	if (s->bound[b->stream])
		return rt_fail(e, RT_EINVAL, "%s stream `%s` is given twice", way(st), st->name);
	if (p->transfers == 1 || !row ? b->count != least : b->count < least || b->count % row)
		return rt_fail(e, RT_EINVAL, "%s stream `%s` expects %s, %zu elements; got %zu", way(st), st->name,
			array_text(shape, sizeof shape, p, st), least, b->count);
	if (!b->data && least)
		return rt_fail(e, RT_EINVAL, "%s stream `%s` is bound to no array", way(st), st->name);
	if (b->count && (uintptr_t)b->data % dtype_size(st->dtype))
		return rt_fail(e, RT_EINVAL, "the array for %s stream `%s` is not aligned to its element's %zu bytes",
			way(st), st->name, dtype_size(st->dtype));
	s->bound[b->stream] = b->data ? b->data : s->consts;           /* an empty array may have no address */
	return RT_OK;
}

static void add_name(char *list, size_t size, const char *name)
{
	size_t n = strlen(list);
	snprintf(list + n, size - n, "%s`%s`", n ? ", " : "", name);
}

/* Exactly the inputs the program loads must be given; of the outputs it stores, those the caller wants. */
static int check_set(const RtSession *s, RtErr *e)
{
	char missing[160] = "", unexpected[160] = "";
	for (int i = 0; i < s->p->nstream; i++) {
		const RtStream *st = &s->p->streams[i];
		int given = s->bound[i] != NULL;
		if (given && !st->used) add_name(unexpected, sizeof unexpected, st->name);
		if (!given && st->used && st->is_input) add_name(missing, sizeof missing, st->name);
	}
	if (!*missing && !*unexpected) return RT_OK;
	return rt_fail(e, RT_EINVAL, "program `%s` got the wrong set of streams:%s%s%s%s%s", s->p->name,
		*missing ? " missing " : "", missing, *missing && *unexpected ? ";" : "",
		*unexpected ? " never loaded or stored by the program: " : "", unexpected);
}

static int meet(const RtSession *s, const RtBind *a, const RtBind *b)
{
	const char *x = a->data, *y = b->data;
	size_t nx = a->count * dtype_size(s->p->streams[a->stream].dtype), ny = b->count * dtype_size(s->p->streams[b->stream].dtype);
	return x < y + ny && y < x + nx;
}

/* Which outputs may be written while the step still runs: those whose array nobody reads or writes as another stream. */
static void find_apart(RtSession *s, const RtBind *binds, int n)
{
	for (int i = 0; i < n; i++) {
		int apart = !s->p->streams[binds[i].stream].is_input && binds[i].data;
		for (int k = 0; k < n && apart; k++) apart = k == i || !binds[k].data || !meet(s, &binds[i], &binds[k]);
		s->apart[binds[i].stream] = (char)apart;
	}
}

static int same_binds(const RtSession *s, const RtBind *b, int n)
{
	if (n != s->nbind) return 0;
	for (int i = 0; i < n; i++)
		if (b[i].stream != s->binds[i].stream || b[i].data != s->binds[i].data || b[i].count != s->binds[i].count) return 0;
	return 1;
}

int streams_bind(RtSession *s, const RtBind *binds, int n, RtErr *e)
{
	const RtProgram *p = s->p;
	if (p->nstream) memset(s->cursor, 0, (size_t)p->replicas * (size_t)p->nstream * sizeof *s->cursor);
	if (same_binds(s, binds, n)) return RT_OK;
	s->nbind = -1;
	if (p->nstream) {
		memset(s->bound, 0, (size_t)p->nstream * sizeof *s->bound);
		memset(s->apart, 0, (size_t)p->nstream);
	}
	for (int i = 0; i < n; i++) {
		if (binds[i].stream < 0 || binds[i].stream >= p->nstream)
			return rt_fail(e, RT_EINVAL, "there is no stream number %d: program `%s` has %d", binds[i].stream, p->name, p->nstream);
		int st = bind_one(s, &binds[i], e);
		if (st) return st;
	}
	if (check_set(s, e)) return e->status;
	find_apart(s, binds, n);
	if (n) memcpy(s->binds, binds, (size_t)n * sizeof *binds);
	s->nbind = n;
	return RT_OK;
}

/* --- what emitted code calls ----------------------------------------------------------------------------- */

/* the index of the next entry of this stream for this lane, or -1 after a fault */
static int64_t next_entry(RtLane *ln, int stream)
{
	const RtProgram *p = ln->s->p;
	if (stream < 0 || stream >= p->nstream) {
		lane_fault(ln, "there is no stream number %d", stream);
		return -1;
	}
	const RtStream *st = &p->streams[stream];
	int64_t *at = &ln->s->cursor[(size_t)ln->pub.replica * (size_t)p->nstream + (size_t)stream];
	if (*at >= p->transfers) {
		lane_fault(ln, "%s stream `%s`: %s number %" PRId64 " of this run, but a run has %d (setting `host_transfers`)",
			st->is_input ? "unable to fetch input data of" : "no room in", st->name,
			st->is_input ? "load" : "store", *at + 1, p->transfers);
		return -1;
	}
	return (*at)++ * p->replicas + ln->pub.replica;
}

int lane_host_load(struct pxlrt_lane *pub, int stream, const void **out)
{
	RtLane *ln = rt_lane(pub);
	int64_t i = next_entry(ln, stream);
	if (i < 0) return RT_ERUN;
	const char *base = ln->s->bound[stream];
	if (!base) return lane_fault(ln, "stream `%s` is not an input of this run", ln->s->p->streams[stream].name);
	ln->traffic.moves[PXLRT_HOST_LOAD]++;
	ln->traffic.exchanges++;
	*out = base + (size_t)i * ln->s->p->streams[stream].bytes;
	return RT_OK;
}

int lane_host_store(struct pxlrt_lane *pub, int stream, const void *x)
{
	RtLane *ln = rt_lane(pub);
	int64_t i = next_entry(ln, stream);
	if (i < 0) return RT_ERUN;
	ln->traffic.moves[PXLRT_HOST_STORE]++;
	ln->traffic.exchanges++;
	char *base = ln->s->bound[stream];
	size_t bytes = ln->s->p->streams[stream].bytes;
	/* a caller may bind one array both ways */
	if (base && bytes && base + (size_t)i * bytes != x) memmove(base + (size_t)i * bytes, x, bytes);
	return RT_OK;
}

/* One store too many is found when it is made. */
void *lane_host_room(struct pxlrt_lane *pub, int stream, void *own)
{
	const RtSession *s = rt_lane(pub)->s;
	const RtProgram *p = s->p;
	if (stream < 0 || stream >= p->nstream || !s->apart[stream]) return own;
	int64_t at = s->cursor[(size_t)pub->replica * (size_t)p->nstream + (size_t)stream];
	return at < p->transfers ? s->bound[stream] + (size_t)(at * p->replicas + pub->replica) * p->streams[stream].bytes : own;
}
