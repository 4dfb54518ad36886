/* session.c — a program placed in memory: its regions, and its runs. */
#include "runtime/session.h"

#include <inttypes.h>
#include <string.h>

/* --- memory ------------------------------------------------------------------------------------------- */

static int no_memory(RtErr *e, const char *what, size_t bytes)
{
	return rt_fail(e, RT_ENOMEM, "out of memory: no %zu bytes for %s", bytes, what);
}

/* SIZE_MAX when the sum does not fit in size_t */
static size_t session_bytes(const RtProgram *p, const RtOptions *o)
{
	size_t lane, all;
	if (__builtin_add_overflow(p->frame_bytes, p->var_bytes, &lane) ||
	    __builtin_add_overflow(lane, p->remote_bytes, &lane) ||
	    __builtin_add_overflow(lane, (size_t)RT_SCRATCH_BYTES, &lane) ||
	    __builtin_mul_overflow(lane, (size_t)p->replicas, &all) ||
	    __builtin_add_overflow(all, variables_bytes(p, o), &all) ||
	    __builtin_add_overflow(all, p->const_bytes, &all)) return SIZE_MAX;
	return all;
}

static int check_fits(const RtSession *s, RtErr *e)
{
	const RtProgram *p = s->p;
	size_t need = session_bytes(p, &s->o), have;
	if (need < (size_t)256 << 20 || s->o.alloc.fn) return RT_OK;
	have = rt_memory_free();
	if (need <= have) return RT_OK;
	return rt_fail(e, RT_EFIT, "program `%s` needs %.1f GB of memory and %.1f GB are available"
		" (intermediates %.1f GB, variables %.1f GB, constants %.1f GB, remote buffers %.1f GB, %d replica%s)", p->name,
		(double)need / 1e9, (double)have / 1e9, (double)p->frame_bytes / 1e9, (double)p->var_bytes / 1e9,
		(double)p->const_bytes / 1e9, (double)p->remote_bytes / 1e9, p->replicas, p->replicas == 1 ? "" : "s");
}

/* what the plan promises and everything below relies on */
static int check_program(const RtProgram *p, RtErr *e)
{
	if (p->replicas < 1 || p->transfers < 1)
		return rt_fail(e, RT_EINVAL, "program `%s`: replicas (%d) and host_transfers (%d) must be at least 1",
			p->name, p->replicas, p->transfers);
	for (int i = 0; i < p->nvar; i++) {
		const RtVar *v = &p->vars[i];
		size_t end;
		if (v->buffer && remote_check(p, v, e)) return e->status;
		if (v->fixed < 0 || v->fixed > p->nvar) return rt_fail(e, RT_EINTERNAL, "variable `%s` has no place of its own", v->name);
		if (v->buffer || v->fixed) continue;
		if (__builtin_add_overflow(v->offset, v->bytes, &end) || end > p->var_bytes)
			return rt_fail(e, RT_EINTERNAL, "variable `%s` lies outside its region", v->name);
	}
	return RT_OK;
}

static void *region(RtSession *s, size_t bytes, const char *what, RtErr *e)
{
	void *r = rt_alloc(&s->o.alloc, bytes ? bytes : 64);
	if (!r) no_memory(e, what, bytes);
	return r;
}

static int lane_memory(RtSession *s, int k, RtErr *e)
{
	RtLane *ln = &s->lanes[k];
	ln->s = s;
	ln->rt = rt_table();
	ln->pool = s->pool;
	ln->site = -1;
	ln->pub.replica = k;
	ln->pub.consts = s->consts;
	ln->pub.fixed = s->fixed;
	if (!(ln->pub.frame = region(s, s->p->frame_bytes, "intermediate tensors", e)) ||
	    !(ln->pub.vars = region(s, s->p->var_bytes, "variables", e)) ||
	    !(ln->remote = region(s, s->p->remote_bytes, "remote buffers", e)) ||
	    !(ln->scratch = region(s, RT_SCRATCH_BYTES, "scratch", e))) return e->status;
	return RT_OK;
}

static int session_memory(RtSession *s, RtErr *e)
{
	const RtProgram *p = s->p;
	size_t lanes = (size_t)p->replicas, streams = (size_t)p->nstream;
	if (!(s->host = region(s, variables_bytes(p, &s->o), "the host's copy of variables", e)) ||
	    !(s->home = region(s, (size_t)p->nvar * sizeof *s->home, "variables", e)) ||
	    !(s->fixed = region(s, (size_t)p->nvar * sizeof *s->fixed, "variables", e)) ||
	    !(s->consts = region(s, p->const_bytes, "constants", e)) ||
	    !(s->lanes = region(s, lanes * sizeof *s->lanes, "replicas", e)) ||
	    !(s->bound = region(s, streams * sizeof *s->bound, "streams", e)) ||
	    !(s->apart = region(s, streams, "streams", e)) ||
	    !(s->binds = region(s, streams * sizeof *s->binds, "streams", e)) ||
	    !(s->cursor = region(s, lanes * streams * sizeof *s->cursor, "streams", e))) return e->status;
	s->nbind = -1;
	variables_place(s);
	if (p->const_bytes) memcpy(s->consts, p->consts, p->const_bytes);
	for (int k = 0; k < p->replicas; k++)
		if (lane_memory(s, k, e)) return e->status;
	return RT_OK;
}

/* --- making and freeing ---------------------------------------------------------------------------------- */

/* no more than can run at once: threads that take turns only wake each other up */
static int thread_count(const RtOptions *o)
{
	int most = rt_processors();
	return o->threads > 0 && o->threads < most ? o->threads : most;
}

static int session_fill(RtSession *s, RtErr *e)
{
	int threads = thread_count(&s->o), st;
	if ((st = check_program(s->p, e)) || (st = check_fits(s, e))) return st;
	if (threads > 1 && !(s->pool = rt_pool_new(threads, &s->o.alloc, e))) return e->status;
	if ((st = session_memory(s, e)) || (st = lanes_start(s, e))) return st;
	variables_fill(s);
	return s->o.detached ? RT_OK : rt_session_attach(s, e);
}

int rt_session_new(const RtProgram *p, const RtOptions *o, RtSession **out, RtErr *e)
{
	static const RtOptions defaults;
	RtErr ignored;
	if (!e) e = &ignored;
	if (!o) o = &defaults;
	RtSession *s = rt_alloc(&o->alloc, sizeof *s);
	if (!s) return no_memory(e, "a session", sizeof *s);
	s->p = p;
	s->main = p->main;
	s->o = *o;
	pthread_mutex_init(&s->print_lock, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->start, NULL);
	pthread_cond_init(&s->done, NULL);
	pthread_cond_init(&s->met, NULL);
	int st = session_fill(s, e);
	if (st) rt_session_free(s);
	else *out = s;
	return st;
}

void rt_session_free(RtSession *s)
{
	if (!s) return;
	RtAlloc a = s->o.alloc;
	lanes_stop(s);
	rt_pool_free(s->pool);
	for (int k = 0; s->lanes && k < s->p->replicas; k++) {
		rt_free(&a, s->lanes[k].pub.frame);
		rt_free(&a, s->lanes[k].pub.vars);
		rt_free(&a, s->lanes[k].remote);
		rt_free(&a, s->lanes[k].scratch);
	}
	void *rest[] = { s->host, s->home, s->fixed, s->consts, s->lanes, s->bound, s->apart, s->binds, s->cursor };
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) rt_free(&a, rest[i]);
	pthread_mutex_destroy(&s->print_lock);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->start);
	pthread_cond_destroy(&s->done);
	pthread_cond_destroy(&s->met);
	rt_free(&a, s);
}

/* --- running ------------------------------------------------------------------------------------------------ */

int session_must_be_attached(const RtSession *s, const char *what, RtErr *e)
{
	if (s->attached) return RT_OK;
	return rt_fail(e, RT_EINVAL, "cannot %s: the session is detached from its device; attach it first", what);
}

int rt_session_run(RtSession *s, const RtBind *binds, int n, RtErr *e)
{
	int st = session_must_be_attached(s, "run", e);
	if (st || (st = streams_bind(s, binds, n, e))) return st;
	s->synced = 0;                                        /* even when the run fails: it may have got halfway */
	st = lanes_run(s, e);
	if (!st) s->runs++;
	return st;
}

void rt_session_use(RtSession *s, RtEntry main) { s->main = main; }

uint64_t rt_session_runs(const RtSession *s) { return s->runs; }
int rt_session_threads(const RtSession *s) { return rt_pool_threads(s->pool); }
void     rt_session_set_runs(RtSession *s, uint64_t runs) { s->runs = runs; }
