/* task_metrics.c — what is said of a task's run: metrics over streams, progress, the log. */
#include "compiler/api/task.h"

#include <math.h>
#include <string.h>

/* --- metrics ---------------------------------------------------------------------------------------------------------- */
static int check_metric(Unit *u, Tm *t, const NamedMetric *m, char *wanted)
{
	const RtProgram *p = &t->p->rt;
	const char *missing = metric_streams(m->m, p, wanted), *known[64];
	t->timed |= metric_uses(m->m, M_SECONDS);
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
	for (int i = 0; i < t->t->show.n; i++) ok &= check_metric(u, t, &t->t->show.at[i], t->shown);
	for (int i = 0; i < t->t->report.n; i++) ok &= check_metric(u, t, &t->t->report.at[i], t->wanted);
	for (int i = 0; i < t->p->rt.nstream; i++)
		if (t->shown[i] || !strcmp(t->p->rt.streams[i].name, "loss")) t->wanted[i] = 1;
	return ok ? PXL_OK : PXL_EMODEL;
}

pxl_status task_make_metrics(Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	size_t n = (size_t)t->p->rt.nstream + 1;
	t->wanted = cx_alloc(cx, n);
	t->shown = cx_alloc(cx, n);
	t->epoch.sums = cx_alloc(cx, n * sizeof(Sums));
	t->whole.sums = cx_alloc(cx, n * sizeof(Sums));
	t->show = cx_alloc(cx, ((size_t)t->t->show.n + 1) * sizeof *t->show);
	t->report = cx_alloc(cx, ((size_t)t->t->report.n + 1) * sizeof *t->report);
	if (!t->wanted || !t->shown || !t->epoch.sums || !t->whole.sums || !t->show || !t->report) return task_no_memory(t);
	range_clear(&t->epoch, t->p->rt.nstream);
	range_clear(&t->whole, t->p->rt.nstream);
	return unit_guard(t->m->u, check_metrics, t);
}

static void count_step(Range *r, int64_t samples, double seconds)
{
	r->steps++;
	r->samples += samples;
	r->seconds += seconds;
}

void task_add_step(Tm *t)
{
	const RtProgram *p = &t->p->rt;
	int64_t samples = t->nfeed ? t->step_samples : 0;
	double now = now_ms(), seconds = (now - t->ticked) * 1e-3;
	t->ticked = now;
	count_step(&t->epoch, samples, seconds);
	count_step(&t->whole, samples, seconds);
	t->result.steps++;
	t->result.samples += samples;
	t->result.seconds += seconds;
	for (int i = 0; i < p->nstream; i++) {
		if (!t->wanted[i] || !t->outs[i]) continue;
		Sums step = sums_of(p->streams[i].dtype, t->outs[i], t->p->infos[i].nelem);
		sums_add(&t->epoch.sums[i], &step);
		sums_add(&t->whole.sums[i], &step);
	}
}

void task_fill_metrics(Tm *t, int final)
{
	for (int i = 0; i < t->t->show.n; i++)
		t->show[i] = (pxl_metric){ t->t->show.at[i].name, metric_value(t->t->show.at[i].m, &t->p->rt, &t->epoch) };
	for (int i = 0; final && i < t->t->report.n; i++)
		t->report[i] = (pxl_metric){ t->t->report.at[i].name, metric_value(t->t->report.at[i].m, &t->p->rt, &t->whole) };
}

/* --- not a number ------------------------------------------------------------------------------------------------------ */
static pxl_status not_a_number(const Tm *t, const char *what, const char *name)
{
	return cx_fail(t->m->cx, PXL_ERUN, "task `%s`: %s `%s` is not a number after step %lld (epoch %lld); nothing is saved. A task with `allow_nan = true` goes on",
	               t->t->name, what, name, (long long)t->at.total_step, (long long)t->at.epoch + 1);
}

pxl_status task_check_numbers(Tm *t, int final)
{
	if (t->t->allow_nan) return PXL_OK;
	for (int i = 0; i < t->p->rt.nstream; i++)
		if (t->shown[i] && isnan(t->epoch.sums[i].max)) return not_a_number(t, "output", t->p->rt.streams[i].name);
	if (!final) return PXL_OK;
	task_fill_metrics(t, 0);
	for (int i = 0; i < t->t->show.n; i++)
		if (isnan(t->show[i].value)) return not_a_number(t, "metric", t->show[i].name);
	return PXL_OK;
}

/* --- where it stands ------------------------------------------------------------------------------------------------------ */
/* Without data an epoch is as long as the task's limit, or as --limit asks for beyond that. */
int64_t task_epoch_steps(const Tm *t)
{
	if (t->data && t->nfeed) return (int64_t)t->data->n / t->step_samples;
	int64_t own = t->t->limit ? t->t->limit : 1, asked = t->o.limit ? t->from + t->o.limit : 0;
	return asked > own ? asked : own;
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
	int log_every = steps > 100 ? (int)(steps / 100) : 1, logging = t->log && (epoch_done || step % log_every == 0);
	int showing = epoch_done || t->result.steps == 1 || t->ticked - t->shown_at >= 100;
	if (!logging && !showing) return 0;
	task_fill_metrics(t, 0);
	if (logging) write_log(t, step);
	if (!showing || !t->o.progress) return 0;
	t->shown_at = t->ticked;
	double seconds = t->result.seconds;
	pxl_progress p = { .task = t->t->name, .epoch = t->at.epoch + 1, .epochs = t->epochs, .step = step, .steps = steps,
	                   .total_step = t->at.total_step, .seconds = seconds, .it_per_s = seconds > 0 ? (double)t->result.steps / seconds : 0,
	                   .metrics = t->show, .nmetric = (size_t)t->t->show.n, .epoch_done = epoch_done };
	return t->o.progress(t->o.progress_user, &p);
}
