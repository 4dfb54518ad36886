/* task.c — a task of a model: data into streams, steps, aggregates, saving, and going on where it stopped.
 *
 * A step is one run of the program: `batch` samples for each transfer and replica.  The order of an
 * epoch is a pure function of (seed, epoch), so a saved standing (epoch, position) is all that is
 * needed, besides the variables and the epoch's sums, to go on bit for bit. */
#include "compiler/api/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/api/metric.h"
#include "compiler/api/weights.h"
#include "runtime/formats/data.h"

typedef struct Feed { int stream, column; void *buffer, *raw; } Feed;     /* raw: the column's own type, when it is not the stream's */

/* everything a task run owns; kept by the model so that results stay valid until the next task */
typedef struct TaskMemory {
	pxl_model *m;                /* borrowed */
	const Task *t;
	pxl_task_options o;
	pxl_program *p;
	pxl_session *s;
	RtData *data;
	Feed *feeds; int nfeed;
	char *wanted;                /* per stream: some metric asks for it */
	void **outs;                 /* per stream: where its entries land */
	Sums *epoch_sums, *run_sums;
	pxl_metric *show, *report;
	Standing at;
	int64_t batch, step_samples, epochs, limit;
	double started, shown_at, spent_before;
	FILE *log;
	pxl_result result;
} TaskMemory;

typedef TaskMemory Tm;

static void close_run(pxl_ctx *cx, Tm *t)
{
	for (int i = 0; i < t->nfeed; i++) {
		cx_free(cx, t->feeds[i].buffer);
		cx_free(cx, t->feeds[i].raw);
	}
	for (int i = 0; t->outs && t->p && i < t->p->rt.nstream; i++) cx_free(cx, t->outs[i]);
	cx_free(cx, t->feeds);
	cx_free(cx, t->outs);
	cx_free(cx, t->wanted);
	cx_free(cx, t->epoch_sums);
	cx_free(cx, t->run_sums);
	cx_free(cx, t->at.sums);
	if (t->log) fclose(t->log);
	data_free(t->data);
	pxl_session_free(t->s);
	t->feeds = NULL, t->outs = NULL, t->wanted = NULL, t->epoch_sums = t->run_sums = NULL;
	t->at.sums = NULL, t->log = NULL, t->data = NULL, t->s = NULL, t->nfeed = 0;
}

void task_memory_free(pxl_ctx *cx, struct TaskMemory *t)
{
	if (!t) return;
	close_run(cx, t);
	cx_free(cx, t->show);
	cx_free(cx, t->report);
	cx_free(cx, t);
}

static pxl_status no_memory(Tm *t) { return cx_fail(t->m->cx, PXL_ENOMEM, "out of memory for task `%s`", t->t->name); }
static pxl_status session_failed(Tm *t) { return cx_fail(t->m->cx, (pxl_status)t->s->err.status, "%s", t->s->err.text); }

/* what is wrong with the model's task itself: a diagnostic at the task */
typedef struct Wrong { Tm *t; const char *text; } Wrong;

static pxl_status put_wrong(Unit *u, void *arg)
{
	const Wrong *w = arg;
	diag(&u->ds, E0707, w->t->t->at, "%s", w->text);
	return PXL_EMODEL;
}

static pxl_status wrong(Tm *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static pxl_status wrong(Tm *t, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return unit_guard(t->m->u, put_wrong, &(Wrong){ t, text });
}

/* --- the task and its program ------------------------------------------------------------------------------ */
typedef struct TaskQuery { const char *name; const Task *out; } TaskQuery;

static pxl_status find_task(Unit *u, void *arg)
{
	TaskQuery *q = arg;
	Buf known = buf_new(&u->mem);
	for (int i = 0; i < elab_task_count(u->elab); i++) {
		if (!strcmp(elab_task_name(u->elab, i), q->name)) {
			q->out = elab_task(u->elab, q->name);
			return q->out ? PXL_OK : PXL_EMODEL;
		}
		buf_printf(&known, "%s`%s`", i ? ", " : "", elab_task_name(u->elab, i));
	}
	if (elab_task_count(u->elab) == 0) return cx_fail(u->cx, PXL_EINVAL, "this model declares no task: a `task %s { … }` says which program to run on which data", q->name);
	return cx_fail(u->cx, PXL_EINVAL, "there is no task `%s`; this model has %s", q->name, known.s);
}

/* the task's own parameters first, so that the command line's win */
static pxl_status make_program(Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	pxl_program_options po = t->o.program;
	size_t n = (size_t)t->t->nset + po.nset;
	pxl_set *sets = cx_alloc(cx, (n + 1) * sizeof *sets);
	if (!sets) return no_memory(t);
	size_t k = 0;
	for (int i = 0; i < t->t->nset; i++) {
		int overridden = 0;
		for (size_t j = 0; j < po.nset; j++) overridden |= !strcmp(po.sets[j].name, t->t->sets[i].name);
		if (!overridden) sets[k++] = (pxl_set){ t->t->sets[i].name, t->t->sets[i].value };
	}
	for (size_t j = 0; j < po.nset; j++) sets[k++] = po.sets[j];
	po.name = t->t->program;
	po.sets = sets;
	po.nset = k;
	pxl_status st = pxl_program_new(t->m, &po, &t->p);
	cx_free(cx, sets);
	return st;
}

/* --- data ------------------------------------------------------------------------------------------------------- */
static pxl_status arrays_data(Tm *t, const RtAlloc *al, RtErr *e)
{
	const Task *k = t->t;
	size_t n = k->narray && k->arrays[0].array->shape.rank ? (size_t)k->arrays[0].array->shape.dim[0] : 0;
	if (data_arrays(n, k->shuffle, al, &t->data, e)) return cx_fail_rt(t->m->cx, e);
	for (int i = 0; i < k->narray; i++) {
		HostArray *h = k->arrays[i].array;
		RtArray a = { .dtype = h->dtype, .rank = h->shape.rank };
		memcpy(a.dim, h->shape.dim, sizeof a.dim);
		array_size(a.dtype, a.rank, a.dim, &a.nelem, &a.bytes);
		a.data = host_bytes(&t->m->u->mem, h, t->p->seed);
		if (data_add(t->data, k->arrays[i].column, &a, e)) return cx_fail_rt(t->m->cx, e);
	}
	return PXL_OK;
}

static void say(pxl_ctx *cx, const char *text)
{
	if (cx->opt.log) cx->opt.log(cx->opt.log_user, text, strlen(text));
}

static pxl_status open_data(Unit *u, void *arg)
{
	Tm *t = arg;
	const Task *k = t->t;
	RtErr e = { 0 };
	RtAlloc al = cx_rt_alloc(u->cx);
	int split = k->split && !strcmp(k->split, "test") ? SPLIT_TEST : SPLIT_TRAIN;
	const char *dir = t->o.data_dir ? t->o.data_dir : getenv("PXL_DATA_DIR");
	switch (k->data) {
	case DATA_NONE: return PXL_OK;
	case DATA_ARRAYS: return arrays_data(t, &al, &e);
	case DATA_DIGITS: return data_digits(split, k->shuffle, &al, &t->data, &e) ? cx_fail_rt(u->cx, &e) : PXL_OK;
	case DATA_MNIST: break;
	}
	if (data_mnist(dir && *dir ? dir : NULL, split, k->shuffle, &al, &t->data, &e)) return cx_fail_rt(u->cx, &e);
	if (strcmp(t->data->kind, "mnist"))
		say(u->cx, "pxl: no MNIST files found (--data DIR or PXL_DATA_DIR name their folder); using the built-in digits instead\n");
	return PXL_OK;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */
static pxl_status no_column(Tm *t, const RtStream *s)
{
	char known[512] = "";
	for (int i = 0; t->data && i < t->data->ncolumn; i++)
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s`%s`", i ? ", " : "", t->data->column[i].name);
	return wrong(t, "program `%s` has an input stream `%s`, but the task's data has %s%s", t->p->name, s->name,
	               known[0] ? "only " : "no columns", known);
}

/* a stream's entry is [batch] + one sample, in any shape with as many elements */
static pxl_status stream_batch(Tm *t, const RtStream *s, const RtColumn *c)
{
	int64_t batch = s->rank ? s->dim[0] : 1;
	if (batch <= 0 || s->nelem != (size_t)batch * c->nelem)
		return wrong(t, "input stream `%s` takes %zu elements at a time, which is not a batch of samples of column `%s` (%zu elements each)",
		               s->name, s->nelem, c->name, c->nelem);
	if (t->batch && batch != t->batch)
		return wrong(t, "input stream `%s` takes %lld samples at a time, another stream %lld", s->name, (long long)batch, (long long)t->batch);
	t->batch = batch;
	return PXL_OK;
}

static pxl_status add_feed(Tm *t, int stream)
{
	pxl_ctx *cx = t->m->cx;
	const RtStream *s = &t->p->rt.streams[stream];
	const pxl_info *info = &t->p->infos[stream];
	Feed *f = &t->feeds[t->nfeed];
	*f = (Feed){ .stream = stream, .column = t->data ? data_column(t->data, s->name) : -1 };
	if (f->column < 0) return no_column(t, s);
	const RtColumn *c = &t->data->column[f->column];
	pxl_status st = stream_batch(t, s, c);
	if (st != PXL_OK) return st;
	if (dtype_is_float(c->dtype) != dtype_is_float(s->dtype))
		return wrong(t, "input stream `%s` is %s, but its data is %s", s->name, dtype_info[s->dtype].name, dtype_info[c->dtype].name);
	t->nfeed++;
	f->buffer = cx_alloc(cx, info->bytes);
	f->raw = c->dtype == s->dtype ? NULL : cx_alloc(cx, info->nelem * dtype_size(c->dtype));
	if (!f->buffer || (c->dtype != s->dtype && !f->raw)) return no_memory(t);
	return pxl_bind(t->s, stream, f->buffer, info->bytes) == PXL_OK ? PXL_OK : session_failed(t);
}

static pxl_status connect_streams(Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	int n = t->p->rt.nstream;
	t->feeds = cx_alloc(cx, sizeof *t->feeds * ((size_t)n + 1));
	t->outs = cx_alloc(cx, sizeof *t->outs * ((size_t)n + 1));
	if (!t->feeds || !t->outs) return no_memory(t);
	for (int i = 0; i < n; i++) {
		const pxl_info *info = &t->p->infos[i];
		pxl_status st = PXL_OK;
		if (!info->used) continue;
		if (info->kind == PXL_INPUT) st = add_feed(t, i);
		else if (!(t->outs[i] = cx_alloc(cx, info->bytes))) st = no_memory(t);
		else if (pxl_bind(t->s, i, t->outs[i], info->bytes) != PXL_OK) st = session_failed(t);
		if (st != PXL_OK) return st;
	}
	t->step_samples = t->batch * t->p->rt.transfers * t->p->rt.replicas;
	if (t->data && t->nfeed && (int64_t)t->data->n < t->step_samples)
		return wrong(t, "a step takes %lld samples, but the data has only %zu", (long long)t->step_samples, t->data->n);
	return PXL_OK;
}

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

static pxl_status check_metrics(Unit *u, void *arg)
{
	Tm *t = arg;
	int ok = 1;
	for (int i = 0; i < t->t->show.n; i++) ok &= check_metric(u, t, &t->t->show.at[i]);
	for (int i = 0; i < t->t->report.n; i++) ok &= check_metric(u, t, &t->t->report.at[i]);
	for (int i = 0; i < t->p->rt.nstream; i++)
		if (!strcmp(t->p->rt.streams[i].name, "loss")) t->wanted[i] = 1;
	return ok ? PXL_OK : PXL_EMODEL;
}

static pxl_status make_metrics(Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	size_t n = (size_t)t->p->rt.nstream + 1;
	t->wanted = cx_alloc(cx, n);
	t->epoch_sums = cx_alloc(cx, n * sizeof(Sums));
	t->run_sums = cx_alloc(cx, n * sizeof(Sums));
	t->show = cx_alloc(cx, ((size_t)t->t->show.n + 1) * sizeof *t->show);
	t->report = cx_alloc(cx, ((size_t)t->t->report.n + 1) * sizeof *t->report);
	if (!t->wanted || !t->epoch_sums || !t->run_sums || !t->show || !t->report) return no_memory(t);
	sums_clear(t->epoch_sums, t->p->rt.nstream);
	sums_clear(t->run_sums, t->p->rt.nstream);
	return unit_guard(t->m->u, check_metrics, t);
}

static void add_sums(Tm *t)
{
	const RtProgram *p = &t->p->rt;
	for (int i = 0; i < p->nstream; i++) {
		if (!t->wanted[i] || !t->outs[i]) continue;
		sums_add(&t->epoch_sums[i], p->streams[i].dtype, t->outs[i], t->p->infos[i].nelem);
		sums_add(&t->run_sums[i], p->streams[i].dtype, t->outs[i], t->p->infos[i].nelem);
	}
}

/* --- where it stands ------------------------------------------------------------------------------------------------------ */
static int64_t epoch_steps(const Tm *t)
{
	if (!t->data || !t->nfeed) return t->limit ? t->limit : 1;
	return (int64_t)t->data->n / t->step_samples;
}

static void fill_metrics(Tm *t, const RunFacts *facts, int final)
{
	for (int i = 0; i < t->t->show.n; i++)
		t->show[i] = (pxl_metric){ t->t->show.at[i].name, metric_value(t->t->show.at[i].m, &t->p->rt, t->epoch_sums, facts) };
	for (int i = 0; final && i < t->t->report.n; i++)
		t->report[i] = (pxl_metric){ t->t->report.at[i].name, metric_value(t->t->report.at[i].m, &t->p->rt, t->run_sums, facts) };
}

static RunFacts facts(const Tm *t)
{
	return (RunFacts){ t->result.samples, t->result.steps, (now_ms() - t->started) * 1e-3 };
}

static void write_log(Tm *t, int64_t step)
{
	if (!t->log) return;
	fprintf(t->log, "{\"task\": \"%s\", \"epoch\": %lld, \"step\": %lld, \"total_step\": %lld", t->t->name, (long long)t->at.epoch + 1, (long long)step,
	        (long long)t->at.total_step);
	for (int i = 0; i < t->t->show.n; i++) {
		if (isfinite(t->show[i].value)) fprintf(t->log, ", \"%s\": %.9g", t->show[i].name, t->show[i].value);
		else fprintf(t->log, ", \"%s\": null", t->show[i].name);
	}
	fprintf(t->log, "}\n");
}

/* 1: the host asks to stop */
static int tell(Tm *t, int64_t step, int64_t steps, int epoch_done)
{
	double now = now_ms();
	int log_every = steps > 100 ? (int)(steps / 100) : 1, logging = t->log && (epoch_done || step % log_every == 0);
	int showing = epoch_done || t->result.steps == 1 || now - t->shown_at >= 100;
	if (!logging && !showing) return 0;
	RunFacts f = facts(t);
	fill_metrics(t, &f, 0);
	if (logging) write_log(t, step);
	if (!showing || !t->o.progress) return 0;
	t->shown_at = now;
	pxl_progress p = { .task = t->t->name, .epoch = t->at.epoch + 1, .epochs = t->epochs, .step = step, .steps = steps,
	                   .total_step = t->at.total_step, .seconds = f.seconds, .it_per_s = f.seconds > 0 ? (double)f.steps / f.seconds : 0,
	                   .metrics = t->show, .nmetric = (size_t)t->t->show.n, .epoch_done = epoch_done };
	return t->o.progress(t->o.progress_user, &p);
}

/* --- running ---------------------------------------------------------------------------------------------------------------- */
static void feed(Tm *t)
{
	for (int i = 0; i < t->nfeed; i++) {
		Feed *f = &t->feeds[i];
		data_fill(t->data, f->column, (size_t)t->at.position, (size_t)t->step_samples, f->raw ? f->raw : f->buffer);
		if (f->raw)
			rt_convert(t->p->rt.streams[f->stream].dtype, f->buffer, t->data->column[f->column].dtype, f->raw, t->p->infos[f->stream].nelem);
	}
}

static pxl_status one_step(Tm *t)
{
	feed(t);
	if (pxl_run(t->s, 1) != PXL_OK) return session_failed(t);
	add_sums(t);
	t->at.position += t->step_samples;
	t->at.total_step++;
	t->result.steps++;
	t->result.samples += t->nfeed ? t->step_samples : 0;
	return PXL_OK;
}

static int at_limit(const Tm *t) { return t->limit && t->result.steps >= t->limit; }

static pxl_status one_epoch(Tm *t, int *stop)
{
	int64_t steps = epoch_steps(t), done = t->step_samples ? t->at.position / t->step_samples : t->at.position;
	if (t->data) data_epoch(t->data, t->p->seed, (uint64_t)t->at.epoch);
	while (done < steps && !at_limit(t) && !*stop) {
		pxl_status st = one_step(t);
		if (st != PXL_OK) return st;
		done++;
		if (!t->step_samples) t->at.position = done;
		*stop = tell(t, done, steps, done == steps || at_limit(t));
	}
	if (done < steps) return PXL_OK;
	t->at.epoch++;
	t->at.position = 0;
	return PXL_OK;
}

static pxl_status all_epochs(Tm *t)
{
	int stop = 0;
	t->started = now_ms();
	while (t->at.epoch < t->epochs && !at_limit(t) && !stop) {
		pxl_status st = one_epoch(t, &stop);
		if (st != PXL_OK) return st;
		if (t->at.position == 0 && t->at.epoch < t->epochs && !at_limit(t) && !stop) sums_clear(t->epoch_sums, t->p->rt.nstream);
	}
	t->result.interrupted = stop;
	return PXL_OK;
}

/* --- beginning and end -------------------------------------------------------------------------------------------------------- */
static const char *save_path(const Tm *t)
{
	const char *path = t->o.save ? t->o.save : t->t->save;
	return path && *path ? path : NULL;
}

static pxl_status weights_path(Tm *t, const char **path)
{
	*path = t->o.weights ? t->o.weights : t->t->weights;
	if (*path || !t->t->weights_task) return PXL_OK;
	TaskQuery q = { t->t->weights_task, NULL };
	pxl_status st = unit_guard(t->m->u, find_task, &q);
	if (st != PXL_OK) return st;
	if (!q.out->save) return cx_fail(t->m->cx, PXL_EINVAL, "task `%s` takes the weights of task `%s`, which saves none; give them with --weights", t->t->name, q.name);
	*path = q.out->save;
	FILE *f = fopen(*path, "rb");
	if (!f) return cx_fail(t->m->cx, PXL_EIO, "cannot open `%s`, the weights that task `%s` saves: %s; run that task first, or give a file with --weights",
	                       *path, q.name, strerror(errno));
	fclose(f);
	return PXL_OK;
}

static pxl_status resume(Tm *t)
{
	const char *path = t->o.weights ? t->o.weights : save_path(t);
	if (!path) return cx_fail(t->m->cx, PXL_EINVAL, "nothing to resume: task `%s` saves nothing, and no --weights or --save names a file", t->t->name);
	if (weights_load(t->s, path, 0, &t->at)) return session_failed(t);
	if (t->at.batch != t->step_samples)
		return cx_fail(t->m->cx, PXL_EINVAL, "`%s` was trained with %lld samples in a step, but this run takes %lld: resume with the same parameters", path,
		               (long long)t->at.batch, (long long)t->step_samples);
	if (t->at.epoch < 0 || t->at.position < 0 || (t->step_samples && t->at.position % t->step_samples != 0))
		return cx_fail(t->m->cx, PXL_EIO, "`%s` says an impossible place for its training", path);
	t->p->seed = t->at.seed;
	rt_session_set_runs(t->s->rt, t->at.runs);
	if (t->at.sums && !sums_parse(t->epoch_sums, t->p->rt.nstream, t->at.sums)) sums_clear(t->epoch_sums, t->p->rt.nstream);
	return PXL_OK;
}

static pxl_status begin(Tm *t)
{
	const char *path;
	if (t->o.resume) return resume(t);
	pxl_status st = weights_path(t, &path);
	if (st != PXL_OK || !path) return st;
	return weights_load(t->s, path, 0, NULL) ? session_failed(t) : PXL_OK;
}

static pxl_status write_standing(Unit *u, void *arg)
{
	Tm *t = arg;
	Buf sums = buf_new(&u->mem);
	Standing at = t->at;
	sums_text(t->epoch_sums, t->p->rt.nstream, &sums);
	at.sums = sums.s;
	at.seed = t->p->seed;
	at.batch = t->step_samples;
	at.runs = rt_session_runs(t->s->rt);
	return weights_save(t->s, save_path(t), &at) ? session_failed(t) : PXL_OK;
}

static double last_loss(const Tm *t)
{
	for (int i = 0; i < t->p->rt.nstream; i++)
		if (!t->p->rt.streams[i].is_input && !strcmp(t->p->rt.streams[i].name, "loss")) return t->epoch_sums[i].last;
	return t->t->show.n ? t->show[0].value : NAN;
}

static pxl_status finish(Tm *t)
{
	RunFacts f = facts(t);
	fill_metrics(t, &f, 1);
	pxl_result *r = &t->result;
	pxl_program_info info;
	pxl_program_get_info(t->p, &info);
	r->task = t->t->name;
	r->program = t->p->name;
	r->data = t->data ? t->data->kind : "none";
	r->saved = "";
	r->seconds = f.seconds;
	r->it_per_s = f.seconds > 0 ? (double)r->steps / f.seconds : 0;
	r->samples_per_s = f.seconds > 0 ? (double)r->samples / f.seconds : 0;
	r->last_loss = last_loss(t);
	r->compile_ms = info.compile_ms;
	r->report = t->report;
	r->nreport = (size_t)t->t->report.n;
	r->show = t->show;
	r->nshow = (size_t)t->t->show.n;
	if (!save_path(t)) return PXL_OK;
	pxl_status st = unit_guard(t->m->u, write_standing, t);
	if (st == PXL_OK) r->saved = save_path(t);
	return st;
}

static pxl_status open_log(Tm *t)
{
	if (!t->o.log) return PXL_OK;
	t->log = fopen(t->o.log, t->o.resume ? "a" : "w");
	return t->log ? PXL_OK : cx_fail(t->m->cx, PXL_EIO, "cannot write the log `%s`: %s", t->o.log, strerror(errno));
}

static pxl_status close_log(Tm *t)
{
	if (!t->log) return PXL_OK;
	int bad = fflush(t->log) != 0 || ferror(t->log);
	bad |= fclose(t->log) != 0;
	t->log = NULL;
	return bad ? cx_fail(t->m->cx, PXL_EIO, "cannot write all of the log `%s`: is the disk full?", t->o.log) : PXL_OK;
}

static pxl_status run_task(Tm *t)
{
	pxl_status st = make_program(t);
	if (st == PXL_OK) st = pxl_session_new(t->p, &t->o.session, &t->s);
	if (st == PXL_OK) st = unit_guard(t->m->u, open_data, t);
	if (st == PXL_OK) st = connect_streams(t);
	if (st == PXL_OK) st = make_metrics(t);
	if (st == PXL_OK) st = begin(t);
	if (st == PXL_OK) st = open_log(t);
	if (st == PXL_OK) st = all_epochs(t);
	if (st == PXL_OK) st = finish(t);
	if (st == PXL_OK) st = close_log(t);
	return st;
}

pxl_status pxl_task_run(pxl_model *m, const pxl_task_options *opt, const pxl_result **out)
{
	if (!m || !out) return PXL_EINVAL;
	pxl_ctx *cx = m->cx;
	task_memory_free(cx, m->task);
	Tm *t = m->task = cx_alloc(cx, sizeof *t);
	if (!t) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	t->m = m;
	t->o = (pxl_task_options)PXL_TASK_OPTIONS_INIT;
	if (opt) memcpy(&t->o, opt, opt->size < sizeof t->o ? opt->size : sizeof t->o);
	TaskQuery q = { t->o.task ? t->o.task : "train", NULL };
	pxl_status st = unit_guard(m->u, find_task, &q);
	if (st != PXL_OK) return st;
	t->t = q.out;
	t->epochs = t->o.epochs ? t->o.epochs : q.out->epochs ? q.out->epochs : 1;
	t->limit = t->o.limit ? t->o.limit : q.out->limit;
	st = run_task(t);
	close_run(cx, t);
	pxl_program_free(t->p);          /* results name it by the task's own strings */
	t->p = NULL;
	t->result.program = t->t->program;
	if (st != PXL_OK) return st;
	*out = &t->result;
	return t->result.interrupted ? cx_fail(cx, PXL_EINTR, "interrupted after %lld steps", (long long)t->result.steps) : PXL_OK;
}
