/* session_world.h — a model's text, one of its programs and a session, through pxl.h alone. */
#ifndef TESTS_API_SESSION_WORLD_H
#define TESTS_API_SESSION_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

typedef struct World { pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; } World;

/* ends the test where anything fails */
static inline World open_world(const char *model, const char *program, int level, const char *no_pass)
{
	World w = { 0 };
	pxl_program_options po = PXL_PROGRAM_OPTIONS_INIT;
	po.name = program;
	po.level = level;
	po.no_pass = no_pass;
	int ok = pxl_ctx_new(NULL, &w.cx) == PXL_OK && pxl_compile_memory(w.cx, "m.pxl", model, strlen(model), &w.m) == PXL_OK &&
	         pxl_program_new(w.m, &po, &w.p) == PXL_OK && pxl_session_new(w.p, NULL, &w.s) == PXL_OK;
	if (!ok) printf("%s: %s\n", program, pxl_errmsg(w.cx));
	for (size_t i = 0; i < pxl_diag_count(w.cx); i++) printf("%s\n", pxl_diag_text(w.cx, i, PXL_DIAG_SHORT));
	CHECK("", ok);
	if (!ok) exit(check_done());
	return w;
}

static inline void close_world(World *w)
{
	pxl_session_free(w->s);
	pxl_program_free(w->p);
	pxl_model_free(w->m);
	pxl_ctx_free(w->cx);
}

#endif
