/* task_metrics.c — what is said of a task's run: metrics over streams, progress, the log. */
#include "compiler/api/task.h"

#include <math.h>
#include <string.h>

/* --- metrics ---------------------------------------------------------------------------------------------------------- */
static int check_metric(Unit *u, Tm *t, const NamedMetric *m)
{
	const RtProgram *p = &t->p->rt;
	const char *missing = metric_streams(m->m, p, t->wanted), *known[64];
	if (!missing) return 1;
	int n = 0;
	for (int i = 0; i < p->nstream && n < 64; i++)
		if (!p->streams[i].is_input) known[n++] = p->streams[i].name;
	Diag *d = diag(&u->ds, E0704, m->at, "program `%s` has no output stream `%s`", t->p->name, missing);
	const char *near = nearest(missing, known, n);
	if (near) diag_help(&u->ds, d, (Span){ 0 }, "did you mean `%s`?", near);
	return 0;
}

static const char *quoted(Unit *u, const char *name)
{
	Buf b = buf_new(&u->mem);
	buf_json(&b, name, strlen(name));
	return b.s;
}

static pxl_status check_metrics(Unit *u, void *arg)
{
	Tm *t = arg;
	int ok = 1;
	t->quoted = NEWN(&u->mem, const char *, t->t->show.n + 1);
	for (int i = 0; i < t->t->show.n; i++) t->quoted[i] = quoted(u, t->t->show.at[i].name);
	for (int i = 0; i < t->t->show.n; i++) ok &= check_metric(u, t, &t->t->show.at[i]);
	for (int i = 0; i < t->t->report.n; i++) ok &= check_metric(u, t, &t->t->report.at[i]);
	for (int i = 0; i < t->p->rt.nstream; i++)
		if (!strcmp(t->p->rt.streams[i].name, "loss")) t->wanted[i] = 1;
	return ok ? PXL_OK : PXL_EMODEL;
}

pxl_status task_make_metrics(Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	size_t n = (size_t)t->p->rt.nstream + 1;
	t->wanted = cx_alloc(cx, n);
	t->epoch_sums = cx_alloc(cx, n * sizeof(Sums));
	t->run_sums = cx_alloc(cx, n * sizeof(Sums));
	t->show = cx_alloc(cx, ((size_t)t->t->show.n + 1) * sizeof *t->show);
	t->report = cx_alloc(cx, ((size_t)t->t->report.n + 1) * sizeof *t->report);
	if (!t->wanted || !t->epoch_sums || !t->run_sums || !t->show || !t->report) return task_no_memory(t);
	sums_clear(t->epoch_sums, t->p->rt.nstream);
	sums_clear(t->run_sums, t->p->rt.nstream);
	return unit_guard(t->m->u, check_metrics, t);
}

void task_add_sums(Tm *t)
{
	const RtProgram *p = &t->p->rt;
	for (int i = 0; i < p->nstream; i++) {
		if (!t->wanted[i] || !t->outs[i]) continue;
		sums_add(&t->epoch_sums[i], p->streams[i].dtype, t->outs[i], t->p->infos[i].nelem);
		sums_add(&t->run_sums[i], p->streams[i].dtype, t->outs[i], t->p->infos[i].nelem);
	}
}

/* --- where it stands ------------------------------------------------------------------------------------------------------ */
int64_t task_epoch_steps(const Tm *t)
{
	if (!t->data || !t->nfeed) return t->limit ? t->limit : 1;
	return (int64_t)t->data->n / t->step_samples;
}

void task_fill_metrics(Tm *t, const RunFacts *facts, int final)
{
	for (int i = 0; i < t->t->show.n; i++)
		t->show[i] = (pxl_metric){ t->t->show.at[i].name, metric_value(t->t->show.at[i].m, &t->p->rt, t->epoch_sums, facts) };
	for (int i = 0; final && i < t->t->report.n; i++)
		t->report[i] = (pxl_metric){ t->t->report.at[i].name, metric_value(t->t->report.at[i].m, &t->p->rt, t->run_sums, facts) };
}

RunFacts task_facts(const Tm *t)
{
	return (RunFacts){ t->result.samples, t->result.steps, (now_ms() - t->started) * 1e-3 };
}

/* one JSON object a line */
static void write_log(Tm *t, int64_t step)
{
	fprintf(t->log, "{\"task\": \"%s\", \"epoch\": %lld, \"step\": %lld, \"total_step\": %lld", t->t->name, (long long)t->at.epoch + 1,
	        (long long)step, (long long)t->at.total_step);
	for (int i = 0; i < t->t->show.n; i++) {
		if (isfinite(t->show[i].value)) fprintf(t->log, ", %s: %.9g", t->quoted[i], t->show[i].value);
		else fprintf(t->log, ", %s: null", t->quoted[i]);
	}
	fprintf(t->log, "}\n");
}

/* 1: the host asks to stop */
int task_tell(Tm *t, int64_t step, int64_t steps, int epoch_done)
{
	double now = now_ms();
	int log_every = steps > 100 ? (int)(steps / 100) : 1, logging = t->log && (epoch_done || step % log_every == 0);
	int showing = epoch_done || t->result.steps == 1 || now - t->shown_at >= 100;
	if (!logging && !showing) return 0;
	RunFacts f = task_facts(t);
	task_fill_metrics(t, &f, 0);
	if (logging) write_log(t, step);
	if (!showing || !t->o.progress) return 0;
	t->shown_at = now;
	pxl_progress p = { .task = t->t->name, .epoch = t->at.epoch + 1, .epochs = t->epochs, .step = step, .steps = steps,
	                   .total_step = t->at.total_step, .seconds = f.seconds, .it_per_s = f.seconds > 0 ? (double)f.steps / f.seconds : 0,
	                   .metrics = t->show, .nmetric = (size_t)t->t->show.n, .epoch_done = epoch_done };
	return t->o.progress(t->o.progress_user, &p);
}
