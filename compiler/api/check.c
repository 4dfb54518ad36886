/* check.c — pxl_check: what a run of the model would refuse before its first step.
 *
 * Every program is built as far as its C, with all of its parameters at their defaults or set by the host.  Every task is then
 * matched with its program: its data with the input streams, its metrics with the output streams, its weights with the
 * variables.  A program that only tasks can build, since a parameter has no default, is built for each of them.
 * Diagnostics add up, and each is reported once, although a program may be built several times. */
#include "compiler/api/task.h"

#include <string.h>

typedef struct Check {
	pxl_model *m;
	pxl_program_options o;               /* sets: scratch, what fits the program that is being built */
	const pxl_set *sets; size_t nset;    /* all that the host gave */
	pxl_set *fitting;
	pxl_program **alone;                 /* per program: built without a task; NULL: it cannot be, or is wrong */
	char *tried;                         /* per program: 1 it was built alone, or for a task */
	size_t left, before;                 /* memory that one build may take, and how much was in use before the first */
} Check;

static int program_number(const Check *c, const char *name)
{
	const Elab *e = c->m->u->elab;
	int i = 0;
	while (i < elab_program_count(e) && strcmp(elab_program_name(e, i), name)) i++;
	return i;
}

/* A run builds one program in a model that has built none: each build here may take as much. */
static void give_memory(Check *c)
{
	Arena *mem = &c->m->u->mem;
	mem->limit = c->left + (mem->used - c->before);
}

/* the sets that this program has parameters for */
static void choose_sets(Check *c, const char *program)
{
	c->o.name = program;
	c->o.sets = c->fitting;
	c->o.nset = 0;
	for (size_t i = 0; i < c->nset; i++)
		if (elab_program_takes(c->m->u->elab, program, c->sets[i].name)) c->fitting[c->o.nset++] = c->sets[i];
}

/* errors of the model are on its list, and the check goes on */
static pxl_status go_on(const Check *c, pxl_status st) { return st == PXL_EMODEL && !c->m->u->broken ? PXL_OK : st; }

/* --- programs ------------------------------------------------------------------------------------------------ */
static pxl_status check_program(Check *c, int i)
{
	const Elab *e = c->m->u->elab;
	const char *name = elab_program_name(e, i);
	choose_sets(c, name);
	if (elab_program_needs(e, name, (const ElabSet *)c->o.sets, (int)c->o.nset)) return PXL_OK;
	give_memory(c);
	c->tried[i] = 1;
	return go_on(c, program_build(c->m, &c->o, &c->alone[i]));
}

/* --- tasks --------------------------------------------------------------------------------------------------------- */
/* A file that a task of this model saves need not be there yet, and is replaced before it is read. */
static pxl_status is_saved(const Check *c, const char *path, int *out)
{
	const Elab *e = c->m->u->elab;
	pxl_status st = PXL_OK;
	*out = 0;
	for (int i = 0; i < elab_task_count(e) && st == PXL_OK && !*out; i++) {
		const char *saved;
		st = task_saved_by(c->m, elab_task_name(e, i), &saved);
		*out = saved && !strcmp(saved, path);
	}
	return st;
}

static pxl_status check_weights(const Check *c, Tm *t)
{
	RtErr e = { 0 };
	int later;
	const char *path = t->t->weights, *from = t->t->weights_task;
	pxl_status st = from ? task_saved_by(c->m, from, &path) : PXL_OK;
	if (st == PXL_OK && from && !path) return task_wrong(t, "task `%s` takes the weights of task `%s`, which saves none", t->t->name, from);
	if (st != PXL_OK || !path || (st = is_saved(c, path, &later)) != PXL_OK || later) return st;
	RtPlace place = reach_by_model(c->m->u, path, REACH_CURRENT);
	return weights_check(t->p, &place, PXL_NEEDED, &e) ? task_wrong(t, "%s", e.text) : PXL_OK;
}

static pxl_status task_program(Check *c, Tm *t)
{
	int i = program_number(c, t->t->program);
	choose_sets(c, t->t->program);
	t->o.program = c->o;
	if (!t->t->nset && c->tried[i]) {
		t->p = c->alone[i] ? program_ref(c->alone[i]) : NULL;
		return PXL_OK;
	}
	give_memory(c);
	c->tried[i] = 1;
	return task_make_program(t);
}

static pxl_status check_task(Check *c, const char *name)
{
	pxl_ctx *cx = c->m->cx;
	Tm *t = cx_alloc(cx, sizeof *t);
	if (!t) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	t->m = c->m;
	t->o = (pxl_task_options)PXL_TASK_OPTIONS_INIT;
	t->seed = c->o.seed;
	pxl_status st = task_find(c->m, name, &t->t);
	if (st == PXL_OK) st = task_program(c, t);
	if (st == PXL_OK && t->p) {
		st = go_on(c, task_open_data(t, 1));
		if (st == PXL_OK) st = go_on(c, task_match(t));
		if (st == PXL_OK) st = go_on(c, task_make_metrics(t));
		if (st == PXL_OK) st = go_on(c, check_weights(c, t));
	}
	pxl_program *p = t->p;
	task_memory_free(cx, t);
	pxl_program_free(p);
	return go_on(c, st);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */
static pxl_status check_sets(const Check *c)
{
	const Elab *e = c->m->u->elab;
	for (size_t k = 0; k < c->nset; k++) {
		int taken = 0;
		for (int i = 0; i < elab_program_count(e); i++) taken |= elab_program_takes(e, elab_program_name(e, i), c->sets[k].name);
		if (!taken) return cx_fail(c->m->cx, PXL_EINVAL, "no program of this model has a parameter `%s`", c->sets[k].name);
	}
	return PXL_OK;
}

static void tell_of_untried(Check *c, int i)
{
	const Elab *e = c->m->u->elab;
	const char *name = elab_program_name(e, i);
	if (c->tried[i]) return;
	choose_sets(c, name);
	cx_log(c->m->cx, IN_COMPILE, LOG_WARN, "program `%s` was not checked: its parameter `%s` has no default, and no task sets it", name,
	       elab_program_needs(e, name, (const ElabSet *)c->o.sets, (int)c->o.nset));
}

static pxl_status check_all(Check *c)
{
	const Elab *e = c->m->u->elab;
	pxl_status st = check_sets(c);
	for (int i = 0; i < elab_program_count(e) && st == PXL_OK; i++) st = check_program(c, i);
	for (int i = 0; i < elab_task_count(e) && st == PXL_OK; i++) st = check_task(c, elab_task_name(e, i));
	if (st != PXL_OK) return st;
	for (int i = 0; i < elab_program_count(e); i++) tell_of_untried(c, i);
	int errors = 0;
	for (int i = 0; i < c->m->u->ds.at.n; i++) errors += c->m->u->ds.at.at[i]->level == D_ERROR;
	if (!errors) return PXL_OK;
	return cx_fail(c->m->cx, PXL_EMODEL, errors == 1 ? "the model has an error" : "the model has %d errors", errors);
}

pxl_status pxl_check(pxl_model *m, const pxl_program_options *opt)
{
	if (!m) return PXL_EINVAL;
	Check c = { .m = m, .o = PXL_PROGRAM_OPTIONS_INIT };
	pxl_status st = options_take(m->cx, "pxl_program_options", &c.o, sizeof c.o, opt);
	if (st != PXL_OK || (st = check_program_options(m->cx, &c.o)) != PXL_OK) return st;
	size_t n = pxl_program_count(m), limit = m->u->mem.limit;
	c.o.build_only = PXL_STAGE_C;
	c.sets = c.o.sets;
	c.nset = c.o.nset;
	c.left = limit;
	c.before = m->u->mem.used;
	c.fitting = cx_alloc(m->cx, (c.nset + 1) * sizeof *c.fitting);
	c.alone = cx_alloc(m->cx, (n + 1) * sizeof *c.alone);
	c.tried = cx_alloc(m->cx, n + 1);
	unit_forget_diags(m->u);
	st = c.fitting && c.alone && c.tried ? check_all(&c) : cx_fail(m->cx, PXL_ENOMEM, "out of memory");
	for (size_t i = 0; c.alone && i < n; i++) pxl_program_free(c.alone[i]);
	cx_free(m->cx, c.fitting);
	cx_free(m->cx, c.alone);
	cx_free(m->cx, c.tried);
	m->u->mem.limit = limit;
	return st;
}
