/* jit_cc.c — machine code from the system's C compiler: slower to make, for those who want its checks or its speed.
 *
 * The module becomes a shared object (cc.c), which stays loaded as long as its code may run. */
#include "compiler/codegen/jit.h"

#include <dlfcn.h>
#include <string.h>

#include "compiler/codegen/cc.h"

#pragma GCC diagnostic ignored "-Wpedantic"          /* dlsym gives functions as void * */

/* -fno-strict-aliasing: frames hold tensors of many types, one after the other. Contraction would change bits. */
static const char *const flags[] = { "-std=c11", "-O3", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared" };

static int find_entry(Jit *j, RtErr *e)
{
	void *entry = dlsym(j->dl, "pxl_main");
	if (entry) {
		memcpy(&j->entry, &entry, sizeof entry);
		return RT_OK;
	}
	jit_cc_free(j);
	return rt_fail(e, RT_EINTERNAL, "the emitted C has no pxl_main");
}

int jit_cc(const Module *m, const JitOptions *o, Jit *j, RtErr *e)
{
	size_t len;
	char *text = jit_source(m, &o->alloc, &len);
	if (!text) return rt_fail(e, RT_ENOMEM, "no memory for the emitted C");
	CcLoaded made;
	int st = cc_load(&(CcJob){ .what = "emitted C", .text = text, .len = len, .flags = flags, .nflag = sizeof flags / sizeof *flags,
	                           .abi = PXLRT_ABI, .cache_dir = o->cache_dir }, &made, e);
	rt_free(&o->alloc, text);
	j->dl = made.dl;
	j->kind = made.kind;
	j->warning = made.warning;
	return st ? st : find_entry(j, e);
}

void jit_cc_free(Jit *j)
{
	if (j->dl) dlclose(j->dl);
	j->dl = NULL;
}
