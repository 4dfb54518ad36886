/* tier.c — two compilers for one program: libtcc's code starts at once, and the system's compiler takes its place between steps.
 *
 * Nothing happens in the background but the compiler's own process: before a step a session looks whether it has ended, and
 * whoever finds its code ready publishes it for all sessions of the program.  Each takes it at the beginning of its next step.
 * Both give the same bits, so when that happens shows in nothing but time.
 *
 * Whether it pays is decided as one decides to buy instead of going on to rent: when the steps so far would have been faster
 * by as much as the compile costs.  Both are estimated from the emitted text, so the step at which the compiler is started
 * depends on the program alone. */
#include "compiler/api/internal.h"

#include <pthread.h>
#include <stdlib.h>

#define SAVED_NS 2.0                         /* by cc instead of libtcc, for a call that emitted code makes */
#define COMPILE_NS 30e6                      /* of processor time, and for a byte of text: */
#define COMPILE_NS_PER_BYTE 3e3
#define LOOK_MS 1.0                          /* between two looks */

struct Tier {
	pthread_mutex_t lock;                /* guards what follows the atomics */
	_Atomic(Jit *) better;               /* lives as long as the program */
	atomic_int over;                     /* nothing will come, or it has come */
	int64_t after;                       /* steps of a session that go before */
	int wait;                            /* the step that comes then waits for it */
	JitSwap *swap;
	double looked;
	int sessions;
};

static int64_t steps_to_pay(const Module *m)
{
	double steps = (COMPILE_NS + COMPILE_NS_PER_BYTE * (double)m->len) / (SAVED_NS * m->calls + 1e-3);
	return steps < 1e15 ? (int64_t)steps + 1 : -1;
}

/* $PXL_JIT_SWAP, for those who cannot set the option */
static int64_t wish(int64_t option)
{
	const char *v = option ? NULL : getenv("PXL_JIT_SWAP");
	return v && *v ? strtoll(v, NULL, 10) : option;
}

pxl_status tier_new(pxl_program *p, const pxl_program_options *o)
{
	pxl_ctx *cx = p->m->cx;
	int64_t at = wish(o->swap_after), pays = steps_to_pay(p->mod);
	if (o->jit != PXL_JIT_AUTO || jit_is_cc(p->jit) || at < 0 || (!at && pays < 0)) return PXL_OK;
	Tier *t = cx_alloc(cx, sizeof *t);
	if (!t) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	pthread_mutex_init(&t->lock, NULL);
	atomic_init(&t->better, NULL);
	atomic_init(&t->over, 0);
	t->wait = at > 0;
	t->after = at ? at : pays;
	p->tier = t;
	cx_log(cx, IN_COMPILE, LOG_DEBUG, "program `%s`: the system's compiler pays after %lld steps", p->name, (long long)pays);
	return PXL_OK;
}

void tier_free(pxl_program *p)
{
	Tier *t = p->tier;
	if (!t) return;
	jit_swap_free(t->swap);
	jit_free(atomic_load(&t->better));
	pthread_mutex_destroy(&t->lock);
	cx_free(p->m->cx, t);
	p->tier = NULL;
}

void tier_join(pxl_program *p)
{
	if (!p->tier) return;
	pthread_mutex_lock(&p->tier->lock);
	p->tier->sessions++;
	pthread_mutex_unlock(&p->tier->lock);
}

/* the last session to go takes a compile along that is still at work */
void tier_leave(pxl_program *p)
{
	Tier *t = p->tier;
	if (!t) return;
	pthread_mutex_lock(&t->lock);
	if (--t->sessions == 0) {
		jit_swap_free(t->swap);
		t->swap = NULL;
	}
	pthread_mutex_unlock(&t->lock);
}

static void gave_up(const pxl_program *p, int st, const RtErr *e)
{
	pxl_ctx *cx = p->m->cx;
	if (st == JIT_NONE) cx_log(cx, IN_COMPILE, LOG_DEBUG, "program `%s` stays with libtcc's code: there is no C compiler", p->name);
	else cx_log(cx, IN_COMPILE, LOG_WARN, "program `%s` stays with libtcc's code: %s", p->name, e->text);
}

/* under the lock: begin, or look */
static void advance(pxl_program *p)
{
	Tier *t = p->tier;
	pxl_ctx *cx = p->m->cx;
	RtErr e = { 0 };
	Jit *j = NULL;
	int st = RT_OK;
	double now = now_ms();
	if (atomic_load(&t->over) || (t->swap && !t->wait && now - t->looked < LOOK_MS)) return;
	t->looked = now;
	if (!t->swap) {
		JitOptions o = { .kind = JIT_CC, .cache_dir = cx->cache_dir, .alloc = cx_rt_alloc(cx) };
		cx_log(cx, IN_COMPILE, LOG_DEBUG, "program `%s`: the system's compiler is started", p->name);
		st = jit_swap_begin(p->mod, &o, &t->swap, &e);
		if (!st && !t->wait) return;
	}
	if (!st) st = jit_swap_step(t->swap, t->wait, &j, &e);
	if (st == JIT_BUSY) return;
	jit_swap_free(t->swap);
	t->swap = NULL;
	if (st) gave_up(p, st, &e);
	else atomic_store(&t->better, j);
	atomic_store(&t->over, 1);
}

void tier_before_step(pxl_session *s)
{
	Tier *t = s->p->tier;
	if (!t || s->settled) return;
	if (s->steps++ >= t->after && !atomic_load(&t->over)) {
		if (t->wait) pthread_mutex_lock(&t->lock);
		else if (pthread_mutex_trylock(&t->lock)) return;      /* another session is looking */
		advance(s->p);
		pthread_mutex_unlock(&t->lock);
	}
	if (!atomic_load(&t->over) || (t->wait && s->steps <= t->after)) return;
	Jit *j = atomic_load(&t->better);
	s->settled = 1;
	if (!j) return;
	s->jit = j;
	rt_session_use(s->rt, jit_entry(j));
	cx_log(s->p->m->cx, IN_COMPILE, LOG_DEBUG, "program `%s`: code of %s from run %llu on", s->p->name, jit_kind(j), (unsigned long long)rt_session_runs(s->rt) + 1);
}

const char *pxl_session_jit(const pxl_session *s) { return s ? jit_kind(s->jit ? s->jit : s->p->jit) : ""; }
