/* reach.c — the folders below which models of a context may name files: a model's own, the current one, and those
 * that the host allows.  runtime/formats/reach.c keeps to them. */
#include "compiler/api/internal.h"

#include <string.h>
#include <unistd.h>

pxl_status reach_allow(pxl_ctx *cx, const pxl_options *o)
{
	RtErr e;
	int fd;
	RtAlloc al = cx_rt_alloc(cx);
	if (!(cx->allowed = cx_alloc(cx, (o->nallow_paths + 1) * sizeof *cx->allowed))) return PXL_ENOMEM;
	for (size_t i = 0; i < o->nallow_paths; i++) {
		if (!o->allow_paths || !o->allow_paths[i]) return PXL_EINVAL;
		if (root_open(o->allow_paths[i], &al, &cx->allowed[i], &fd, &e)) return (pxl_status)e.status;
		close(fd);
		cx->nallowed++;
	}
	return PXL_OK;
}

void reach_forbid(pxl_ctx *cx)
{
	RtAlloc al = cx_rt_alloc(cx);
	for (int i = 0; i < cx->nallowed; i++) root_free(&cx->allowed[i], &al);
	cx_free(cx, cx->allowed);
}

/* home: NULL for a model that comes from no file */
pxl_status reach_begin(Unit *u, RtRoot *home)
{
	pxl_ctx *cx = u->cx;
	RtRoot *r = cx_alloc(cx, (size_t)(REACH_ALLOWED + cx->nallowed) * sizeof *r);
	if (!r) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	if (home) {
		r[REACH_MODEL] = *home;
		*home = (RtRoot){ .path = NULL };
	}
	r[REACH_CURRENT] = (RtRoot){ .path = "." };
	for (int i = 0; i < cx->nallowed; i++) r[REACH_ALLOWED + i] = cx->allowed[i];
	u->reach = (RtReach){ r, REACH_ALLOWED + cx->nallowed };
	return PXL_OK;
}

void reach_end(Unit *u)
{
	RtAlloc al = { u->alloc, u->alloc_user };
	RtRoot *r = (RtRoot *)(uintptr_t)u->reach.root;
	if (r) root_free(&r[REACH_MODEL], &al);
	rt_free(&al, r);
}

RtPlace reach_by_model(const Unit *u, const char *path, int base)
{
	return (RtPlace){ .path = path, .reach = &u->reach, .base = base };
}
