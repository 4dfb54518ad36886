/* variables.c — where a session's variables are, and when they move.
 *
 * Variables live twice: H, the host's copy, once; and D, the device's, in every lane.  `synced` says
 * that H holds what D holds.  A run clears it; fetching (D → H, from lane 0) sets it; nothing else
 * touches it.  Reading fetches first when attached and out of sync.
 *
 * Writing a variable updates H and the named variable in D, never the others: sending all of H while it
 * is out of date would silently undo what the device has learnt (PopXL does that; we chose not to).
 * Sending (H → D, all variables) is therefore left to attaching and to an explicit request.
 *
 * A variable that the program never writes has no copy of its own in D: lanes read H's, be it a mapped file.
 *
 * In H a variable has a home of its own: a piece of one block, or a file that the host has mapped (RtMap).  Fetching
 * writes such files through.  While one of them may only be read nothing is fetched at all (R137):
 * what is out of date is looked up on the device itself. */
#define _DEFAULT_SOURCE                      /* msync */
#include "runtime/session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* --- homes ---------------------------------------------------------------------------------------------------- */

static const RtMap *map_of(const RtOptions *o, int var)
{
	for (int i = 0; i < o->nmap; i++)
		if (o->maps[i].var == var) return &o->maps[i];
	return NULL;
}

static size_t room(const RtVar *v) { return (v->bytes + 63) / 64 * 64; }

/* SIZE_MAX when the sum does not fit in size_t */
size_t variables_bytes(const RtProgram *p, const RtOptions *o)
{
	size_t sum = 0;
	for (int i = 0; i < p->nvar; i++)
		if (!map_of(o, i) && __builtin_add_overflow(sum, room(&p->vars[i]), &sum)) return SIZE_MAX;
	return sum;
}

void variables_place(RtSession *s)
{
	char *next = s->host;
	for (int i = 0; i < s->p->nvar; i++) {
		const RtMap *m = map_of(&s->o, i);
		s->home[i] = m ? m->data : next;
		if (!m) next += room(&s->p->vars[i]);
		else s->read_only |= m->read_only;
		if (s->p->vars[i].fixed) s->fixed[s->p->vars[i].fixed - 1] = s->home[i];
	}
}

void variables_fill(RtSession *s)
{
	for (int i = 0; i < s->p->nvar; i++) {
		const RtVar *v = &s->p->vars[i];
		const RtMap *m = map_of(&s->o, i);
		if (m && !m->fresh) continue;
		if (s->o.rough) rt_init_fill_rough(&v->init, s->o.seed, v->dtype, s->home[i], v->nelem);
		else rt_init_fill(&v->init, s->o.seed, v->dtype, s->home[i], v->nelem);
	}
	s->synced = 1;
}

/* --- moving ----------------------------------------------------------------------------------------------------- */

static char *device_var(RtSession *s, int lane, const RtVar *v)
{
	if (v->fixed) return s->fixed[v->fixed - 1];
	return v->buffer ? remote_var(&s->lanes[lane], v) : s->lanes[lane].pub.vars + v->offset;
}

static void send(RtSession *s, int var)
{
	const RtVar *v = &s->p->vars[var];
	for (int k = 0; v->bytes && !v->fixed && k < s->p->replicas; k++) memcpy(device_var(s, k, v), s->home[var], v->bytes);
}

static void send_all(RtSession *s)                            /* H → D */
{
	for (int i = 0; i < s->p->nvar; i++) send(s, i);
	s->from_host++;
}

static int flush(const RtSession *s, RtErr *e)
{
	for (int i = 0; i < s->o.nmap; i++) {
		const RtMap *m = &s->o.maps[i];
		if (m->size && msync(m->base, m->size, MS_SYNC))
			return rt_fail(e, RT_EIO, "cannot write the file of variable `%s`: %s", s->p->vars[m->var].name, strerror(errno));
	}
	return RT_OK;
}

static int fetch_all(RtSession *s, RtErr *e)                  /* D → H: the lowest replica speaks for all */
{
	for (int i = 0; i < s->p->nvar; i++) {
		const RtVar *v = &s->p->vars[i];
		if (v->bytes && !v->fixed) memcpy(s->home[i], device_var(s, 0, v), v->bytes);
	}
	s->to_host++;
	s->synced = 1;
	return flush(s, e);
}

/* --- when they move ---------------------------------------------------------------------------------------------- */

int rt_session_attached(const RtSession *s) { return s->attached; }
int rt_session_transfers(const RtSession *s, int to_host) { return to_host ? s->to_host : s->from_host; }
int rt_session_synced(const RtSession *s) { return s->synced; }

int rt_session_attach(RtSession *s, RtErr *e)
{
	(void)e;
	if (s->attached) return RT_OK;
	s->attached = 1;
	remote_clear(s);
	send_all(s);
	return RT_OK;
}

int rt_session_detach(RtSession *s, int to_host, RtErr *e)
{
	if (!s->attached) return RT_OK;
	int st = to_host && !s->read_only ? fetch_all(s, e) : RT_OK;
	if (!st) s->attached = 0;
	return st;
}

int rt_session_weights_to_host(RtSession *s, RtErr *e)
{
	int st = session_must_be_attached(s, "fetch variables from the device", e);
	if (st) return st;
	if (s->read_only) return rt_fail(e, RT_EINVAL, "cannot fetch variables from the device: the file of one of them is mapped for reading alone");
	return fetch_all(s, e);
}

int rt_session_weights_from_host(RtSession *s, RtErr *e)
{
	int st = session_must_be_attached(s, "send variables to the device", e);
	if (!st) send_all(s);
	return st;
}

static const RtVar *var_at(const RtSession *s, int var, RtErr *e)
{
	if (var >= 0 && var < s->p->nvar) return &s->p->vars[var];
	rt_fail(e, RT_EINVAL, "there is no variable number %d: program `%s` has %d", var, s->p->name, s->p->nvar);
	return NULL;
}

static int check_bytes(const RtVar *v, size_t bytes, RtErr *e)
{
	char shape[128];
	if (bytes == v->bytes) return RT_OK;
	return rt_fail(e, RT_EINVAL, "variable `%s` is %s, %zu bytes; got %zu", v->name,
		shape_text(shape, sizeof shape, v->dtype, v->rank, v->dim), v->bytes, bytes);
}

const void *rt_session_view(RtSession *s, int var, RtErr *e)
{
	const RtVar *v = var_at(s, var, e);
	if (!v) return NULL;
	int behind = s->attached && !s->synced;
	if (behind && s->read_only) return device_var(s, 0, v);
	return behind && fetch_all(s, e) ? NULL : s->home[var];
}

int rt_session_read(RtSession *s, int var, void *out, size_t bytes, RtErr *e)
{
	const RtVar *v = var_at(s, var, e);
	if (!v || check_bytes(v, bytes, e)) return RT_EINVAL;
	const void *from = rt_session_view(s, var, e);
	if (!from) return e->status;
	if (bytes) memcpy(out, from, bytes);
	return RT_OK;
}

static int check_write(const RtSession *s, const RtWrite *w, RtErr *e)
{
	const RtVar *v = var_at(s, w->var, e);
	const RtMap *m = map_of(&s->o, w->var);
	if (!v || check_bytes(v, w->bytes, e)) return RT_EINVAL;
	if (m && m->read_only) return rt_fail(e, RT_EINVAL, "cannot write variable `%s`: its file is mapped for reading alone", v->name);
	return RT_OK;
}

int rt_session_write_all(RtSession *s, const RtWrite *w, int n, RtErr *e)
{
	int moved = 0, st = RT_OK;
	for (int i = 0; i < n && !st; i++) st = check_write(s, &w[i], e);
	for (int i = 0; i < n && !st; i++) {
		if (!w[i].bytes) continue;
		memcpy(s->home[w[i].var], w[i].data, w[i].bytes);
		if (s->attached) send(s, w[i].var), moved = 1;
	}
	s->from_host += moved;
	return st;
}

int rt_session_write(RtSession *s, int var, const void *data, size_t bytes, RtErr *e)
{
	return rt_session_write_all(s, &(RtWrite){ var, data, bytes }, 1, e);
}
