/* guide.h — what the hosts of this folder share: a model's only program, compiled and in memory, or a message and the end.
 * Everything is done through pxl.h. */
#ifndef GUIDE_H
#define GUIDE_H

#include <pxl.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Guide { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; } Guide;

static void must(Guide *g, pxl_status st)
{
	if (st == PXL_OK) return;
	fprintf(stderr, "%s\n", g->s ? pxl_session_errmsg(g->s) : pxl_errmsg(g->cx));
	for (size_t i = 0; i < pxl_diag_count(g->cx); i++) fputs(pxl_diag_text(g->cx, i, PXL_DIAG_FULL), stderr);
	exit(1);
}

/* `detached`: no weights move until the host attaches the session */
static Guide guide_open(const char *file, int detached)
{
	Guide g = { NULL, NULL, NULL, NULL };
	pxl_session_options o = PXL_SESSION_OPTIONS_INIT;
	o.detached = detached;
	if (pxl_ctx_new(NULL, &g.cx) != PXL_OK) exit(1);
	must(&g, pxl_compile_file(g.cx, file, &g.m));
	must(&g, pxl_program_new(g.m, NULL, &g.p));
	must(&g, pxl_session_new(g.p, &o, &g.s));
	return g;
}

static void guide_close(Guide *g)
{
	pxl_session_free(g->s);
	pxl_program_free(g->p);
	pxl_model_free(g->m);
	pxl_ctx_free(g->cx);
}

#endif
