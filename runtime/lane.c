/* lane.c — lanes at work: one replica on one thread, and what it says when something goes wrong.
 *
 * The first lane runs on the caller's thread, the others on threads made with the session.  Every lane
 * runs to its own end, so which error is reported does not depend on timing: the lowest replica's. */
#include "runtime/session.h"

#include <stdio.h>
#include <string.h>

/* --- faults and prints ----------------------------------------------------------------------------------- */

static int fault_text(RtLane *ln, int site, const char *what)
{
	const RtProgram *p = ln->s->p;
	char replica[32] = "";
	if (ln->err.status) return RT_ERUN;                    /* the first one explains the rest */
	if (p->replicas > 1) snprintf(replica, sizeof replica, " (replica %d)", ln->pub.replica);
	if (site < 0 || site >= p->nsite)
		return rt_fail(&ln->err, RT_ERUN, "program `%s`: %s%s", p->name, what, replica);
	const RtSite *at = &p->sites[site];
	return rt_fail(&ln->err, RT_ERUN, "%s:%d:%d: %s: %s%s", at->file, at->line, at->col, at->op, what, replica);
}

int lane_fault(RtLane *ln, const char *fmt, ...)
{
	char what[384];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	return fault_text(ln, ln->site, what);
}

int  lane_fault_at(struct pxlrt_lane *ln, int site, const char *what) { return fault_text(rt_lane(ln), site, what); }
void lane_at(struct pxlrt_lane *ln, int site) { rt_lane(ln)->site = site; }

int lane_print(struct pxlrt_lane *pub, const struct pxlrt_print *d, const void *x)
{
	RtSession *s = rt_lane(pub)->s;
	if (!s->o.print) return RT_OK;
	pthread_mutex_lock(&s->print_lock);
	rt_print_tensor(d, x, s->o.print, s->o.print_user);
	pthread_mutex_unlock(&s->print_lock);
	return RT_OK;
}

int lane_host_op(struct pxlrt_lane *pub, int host, const void *const *in, void *const *out)
{
	RtLane *ln = rt_lane(pub);
	const RtHost *h = &ln->s->p->hosts[host];
	char why[256] = "";
	if (!h->run(h, pub->replica, in, out, why, sizeof why)) return RT_OK;
	return lane_fault(ln, "%s", why[0] ? why : "the host's function failed and gave no reason");
}

/* --- threads ------------------------------------------------------------------------------------------------- */

static void lane_run(RtLane *ln)
{
	ln->err.status = 0;
	ln->site = -1;
	int st = ln->s->main(ln->rt, &ln->pub);
	meet_end(ln);
	if (st && !ln->err.status) rt_fail(&ln->err, RT_EINTERNAL, "program `%s` stopped with status %d and no message", ln->s->p->name, st);
}

static void *lane_thread(void *arg)
{
	RtLane *ln = arg;
	RtSession *s = ln->s;
	uint64_t seen = 0;
	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (s->round == seen && !s->quit) pthread_cond_wait(&s->start, &s->lock);
		if (s->quit) break;
		seen = s->round;
		pthread_mutex_unlock(&s->lock);
		lane_run(ln);
		pthread_mutex_lock(&s->lock);
		if (--s->busy == 0) pthread_cond_signal(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int lanes_start(RtSession *s, RtErr *e)
{
	int n = s->p->replicas - 1;
	if (!n) return RT_OK;
	if (!(s->threads = rt_alloc(&s->o.alloc, (size_t)n * sizeof *s->threads)))
		return rt_fail(e, RT_ENOMEM, "out of memory for the threads of %d replicas", n + 1);
	for (; s->nthread < n; s->nthread++) {
		int err = pthread_create(&s->threads[s->nthread], NULL, lane_thread, &s->lanes[s->nthread + 1]);
		if (err) return rt_fail(e, RT_ENOMEM, "cannot start a thread for replica %d of %d: %s", s->nthread + 1, n + 1, strerror(err));
	}
	return RT_OK;
}

void lanes_stop(RtSession *s)
{
	pthread_mutex_lock(&s->lock);
	s->quit = 1;
	pthread_cond_broadcast(&s->start);
	pthread_mutex_unlock(&s->lock);
	for (int i = 0; i < s->nthread; i++) pthread_join(s->threads[i], NULL);
	rt_free(&s->o.alloc, s->threads);
}

int lanes_run(RtSession *s, RtErr *e)
{
	meet_begin(s);
	if (s->nthread) {
		pthread_mutex_lock(&s->lock);
		s->busy = s->nthread;
		s->round++;
		pthread_cond_broadcast(&s->start);
		pthread_mutex_unlock(&s->lock);
	}
	lane_run(&s->lanes[0]);
	if (s->nthread) {
		pthread_mutex_lock(&s->lock);
		while (s->busy) pthread_cond_wait(&s->done, &s->lock);
		pthread_mutex_unlock(&s->lock);
	}
	for (int k = 0; k < s->p->replicas; k++) {
		const RtErr *err = &s->lanes[k].err;
		if (err->status) return rt_fail(e, err->status, "%s", err->text);
	}
	return RT_OK;
}
