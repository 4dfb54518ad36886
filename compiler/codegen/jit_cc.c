/* jit_cc.c — machine code from the system's C compiler: slower to make, for those who want its checks or its speed.
 *
 * The module becomes a shared object (cc.c), which stays loaded as long as its code may run.  A swap is the same in the
 * background, for a program that already runs with libtcc's code. */
#include "compiler/codegen/jit.h"

#include <dlfcn.h>
#include <string.h>

#include "compiler/codegen/cc.h"

#pragma GCC diagnostic ignored "-Wpedantic"          /* dlsym gives functions as void * */

/* -fno-strict-aliasing: frames hold tensors of many types, one after the other. Contraction would change bits. */
static const char *const flags[] = { "-std=c11", "-O3", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared" };

static CcJob job_of(const Module *m, const JitOptions *o, const char *text, size_t len)
{
	return (CcJob){ .what = "emitted C", .text = text, .len = len, .flags = flags, .nflag = sizeof flags / sizeof *flags,
	                .abi = PXLRT_ABI, .options = m->options, .cache_dir = o->cache_dir };
}

static int find_entry(Jit *j, const CcLoaded *made, RtErr *e)
{
	j->dl = made->dl;
	j->kind = made->kind;
	j->warning = made->warning;
	void *entry = dlsym(j->dl, "pxl_main");
	if (entry) {
		memcpy(&j->entry, &entry, sizeof entry);
		return RT_OK;
	}
	jit_cc_free(j);
	return rt_fail(e, RT_EINTERNAL, "the emitted C has no pxl_main");
}

int jit_cc(const Module *m, const JitOptions *o, Jit *j, int only_cached, RtErr *e)
{
	size_t len;
	char *text = jit_source(m, &o->alloc, &len);
	if (!text) return rt_fail(e, RT_ENOMEM, "no memory for the emitted C");
	CcJob job = job_of(m, o, text, len);
	CcLoaded made;
	job.only_cached = only_cached;
	int st = cc_load(&job, &made, e);
	rt_free(&o->alloc, text);
	return st ? st : find_entry(j, &made, e);
}

void jit_cc_free(Jit *j)
{
	if (j->dl) dlclose(j->dl);
	j->dl = NULL;
}

/* --- in the background ------------------------------------------------------------------------------------------ */
struct JitSwap {
	RtAlloc alloc;
	char *text;
	CcRun run;
};

int jit_swap_begin(const Module *m, const JitOptions *o, JitSwap **out, RtErr *e)
{
	JitSwap *s = rt_alloc(&o->alloc, sizeof *s);
	if (!s) return rt_fail(e, RT_ENOMEM, "no memory for a compile in the background");
	size_t len;
	s->alloc = o->alloc;
	s->text = jit_source(m, &o->alloc, &len);
	CcJob job = job_of(m, o, s->text, len);
	job.background = 1;
	int st = s->text ? cc_begin(&s->run, &job, e) : rt_fail(e, RT_ENOMEM, "no memory for the emitted C");
	if (st) jit_swap_free(s);
	else *out = s;
	return st;
}

int jit_swap_step(JitSwap *s, int wait, Jit **out, RtErr *e)
{
	int st = cc_step(&s->run, wait, e);
	if (st) return st == CC_BUSY ? JIT_BUSY : st == CC_NONE ? JIT_NONE : st;
	Jit *j = rt_alloc(&s->alloc, sizeof *j);
	if (!j) {
		dlclose(s->run.made.dl);
		return rt_fail(e, RT_ENOMEM, "no memory for compiled code");
	}
	j->alloc = s->alloc;
	if ((st = find_entry(j, &s->run.made, e))) rt_free(&s->alloc, j);
	else *out = j;
	return st;
}

void jit_swap_free(JitSwap *s)
{
	if (!s) return;
	RtAlloc alloc = s->alloc;
	if (s->run.owner) cc_cancel(&s->run);
	rt_free(&alloc, s->text);
	rt_free(&alloc, s);
}
