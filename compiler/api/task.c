/* task.c — a task of a model: data into streams, steps, aggregates, saving, and going on where it stopped.
 *
 * A step is one run of the program: `batch` samples for each transfer and replica.  The order of an
 * epoch is a pure function of (seed, epoch), so a saved standing (epoch, position) is all that is
 * needed, besides the variables and the epoch's sums, to go on bit for bit. */
#include "compiler/api/task.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/formats/formats.h"

void task_close(Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	for (int i = 0; i < t->nfeed; i++) {
		cx_free(cx, t->feeds[i].buffer);
		cx_free(cx, t->feeds[i].raw);
	}
	for (int i = 0; t->outs && t->p && i < t->p->rt.nstream; i++) cx_free(cx, t->outs[i]);
	cx_free(cx, t->feeds);
	cx_free(cx, t->outs);
	cx_free(cx, t->wanted);
	cx_free(cx, t->shown);
	cx_free(cx, t->epoch.sums);
	cx_free(cx, t->whole.sums);
	for (int i = 0; i < 2; i++) cx_free(cx, t->at.ranges[i]);
	if (t->log) fclose(t->log);
	data_free(t->data);
	pxl_session_free(t->s);
	t->feeds = NULL, t->outs = NULL, t->wanted = t->shown = NULL, t->epoch.sums = t->whole.sums = NULL;
	t->at.ranges[0] = t->at.ranges[1] = NULL, t->log = NULL, t->data = NULL, t->s = NULL, t->nfeed = 0;
}

void task_memory_free(pxl_ctx *cx, struct TaskMemory *t)
{
	if (!t) return;
	task_close(t);
	cx_free(cx, t->show);
	cx_free(cx, t->report);
	cx_free(cx, t);
}

pxl_status task_no_memory(Tm *t) { return cx_fail(t->m->cx, PXL_ENOMEM, "out of memory for task `%s`", t->t->name); }
pxl_status task_session_failed(Tm *t) { return cx_fail(t->m->cx, (pxl_status)t->s->err.status, "%s", t->s->err.text); }

/* what is wrong with the model's task itself: a diagnostic at the task */
typedef struct Wrong { Tm *t; const char *text; } Wrong;

static pxl_status put_wrong(Unit *u, void *arg)
{
	const Wrong *w = arg;
	diag(&u->ds, E0707, w->t->t->at, "%s", w->text);
	return PXL_EMODEL;
}

pxl_status task_wrong(Tm *t, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return unit_guard(t->m->u, put_wrong, &(Wrong){ t, text });
}

typedef struct Refused { const char *text; Span at; } Refused;

static pxl_status put_refused(Unit *u, void *arg)
{
	const Refused *r = arg;
	Diag *d = diag(&u->ds, E0708, r->at, "%s", r->text);
	diag_help(&u->ds, d, (Span){ 0, 0, 0 },
		"whoever runs the model may name any file, with `--save` or `--weights`, and let it use a folder, with "
		"`--allow-path DIR`");
	return PXL_EMODEL;
}

/* --- the task and its program ------------------------------------------------------------------------------ */
typedef struct TaskQuery { const char *name; const Task *out; } TaskQuery;
typedef struct TaskSaved { const char *task, *path; } TaskSaved;

static pxl_status find(Unit *u, void *arg)
{
	TaskQuery *q = arg;
	Buf known = buf_new(&u->mem);
	int n = elab_task_count(u->elab);
	const char **names = NEWN(&u->mem, const char *, n + 1);
	for (int i = 0; i < n; i++) {
		names[i] = elab_task_name(u->elab, i);
		if (!strcmp(names[i], q->name)) {
			q->out = elab_task(u->elab, q->name);
			return q->out ? PXL_OK : PXL_EMODEL;
		}
		buf_printf(&known, "%s`%s`", i ? ", " : "", names[i]);
	}
	if (n == 0) return cx_fail(u->cx, PXL_EINVAL, "this model declares no task: a `task %s { … }` says which program to run on which data", q->name);
	return cx_fail(u->cx, PXL_EINVAL, "there is no task `%s`%s this model has %s", q->name, did_you_mean(&u->mem, q->name, names, n), known.s);
}

pxl_status task_find(pxl_model *m, const char *name, const Task **out)
{
	TaskQuery q = { name, NULL };
	pxl_status st = unit_guard(m->u, find, &q);
	*out = q.out;
	return st;
}

static pxl_status find_saved(Unit *u, void *arg)
{
	TaskSaved *q = arg;
	q->path = elab_task_saves(u->elab, q->task);
	return PXL_OK;
}

pxl_status task_saved_by(pxl_model *m, const char *task, const char **path)
{
	TaskSaved q = { task, NULL };
	pxl_status st = unit_guard(m->u, find_saved, &q);
	*path = q.path;
	return st;
}

/* the task's own parameters first, so that the command line's win */
pxl_status task_make_program(Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	pxl_program_options po = t->o.program;
	size_t n = (size_t)t->t->nset + po.nset;
	pxl_set *sets = cx_alloc(cx, (n + 1) * sizeof *sets);
	if (!sets) return task_no_memory(t);
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
	pxl_status st = program_build(t->m, &po, &t->p);
	cx_free(cx, sets);
	/* what the task itself sets is part of the model */
	if (st == PXL_EINVAL && t->o.program.nset == 0 && pxl_diag_count(cx)) return cx_fail(cx, PXL_EMODEL, "the model has an error");
	return st;
}

/* --- running ---------------------------------------------------------------------------------------------------------------- */
static pxl_status one_step(Tm *t)
{
	task_feed(t);
	if (pxl_run(t->s, 1) != PXL_OK) return task_session_failed(t);
	t->at.position += t->step_samples;
	t->at.total_step++;
	task_add_step(t);
	return task_check_numbers(t, 0);
}

/* --limit counts the steps of this run, the task's own limit those of the training, which may have begun in an earlier run */
static int at_limit(const Tm *t)
{
	if (t->o.limit) return t->result.steps >= t->o.limit;
	return t->t->limit && t->at.total_step >= t->t->limit;
}

static pxl_status one_epoch(Tm *t, int *stop)
{
	int64_t steps = task_epoch_steps(t), done = t->step_samples ? t->at.position / t->step_samples : t->at.position;
	if (t->data) data_epoch(t->data, t->seed, (uint64_t)t->at.epoch);
	while (done < steps && !at_limit(t) && !*stop) {
		pxl_status st = one_step(t);
		done++;
		int last = done == steps || at_limit(t);
		if (st == PXL_OK && last) st = task_check_numbers(t, 1);
		if (st != PXL_OK) return st;
		if (!t->step_samples) t->at.position = done;
		*stop = task_tell(t, done, steps, last);
	}
	if (done < steps) return PXL_OK;
	t->at.epoch++;
	t->at.position = 0;
	return PXL_OK;
}

static pxl_status all_epochs(Tm *t)
{
	int stop = 0;
	t->ticked = now_ms();
	t->from = t->at.position;
	while (t->at.epoch < t->epochs && !at_limit(t) && !stop) {
		/* here, not after an epoch: a run that stopped between two has the first one's sums in its file */
		if (t->at.position == 0) range_clear(&t->epoch, t->p->rt.nstream);
		pxl_status st = one_epoch(t, &stop);
		if (st != PXL_OK) return st;
		t->from = 0;
	}
	t->result.interrupted = stop;
	return PXL_OK;
}

/* --- beginning and end -------------------------------------------------------------------------------------------------------- */
/* path NULL: nowhere */
static RtPlace save_place(const Tm *t)
{
	if (t->o.save) return (RtPlace){ .path = *t->o.save ? t->o.save : NULL };
	if (!t->t->save || !*t->t->save) return (RtPlace){ .path = NULL };
	return reach_by_model(t->m->u, t->t->save, REACH_CURRENT);
}

/* a file that the task names: what the rules refuse is the model's mistake */
static pxl_status file_failed(Tm *t, const RtErr *e, Span at)
{
	if (e->status != RT_EMODEL) return cx_fail_rt(t->m->cx, e);
	return unit_guard(t->m->u, put_refused, &(Refused){ e->text, at });
}

/* Before the first step, so that no run is lost to a name: as if it were to be saved now. */
static pxl_status check_save(Tm *t)
{
	RtSink s;
	RtErr e;
	struct stat info;
	RtPlace to = save_place(t);
	RtAlloc al = cx_rt_alloc(t->m->cx);
	if (!to.path || (!to.reach && !stat(to.path, &info) && !S_ISREG(info.st_mode))) return PXL_OK;
	if (sink_open(&s, &to, &st_format, &al, &e)) return file_failed(t, &e, t->t->save_at);
	sink_abort(&s);
	return PXL_OK;
}

/* the file that another task saves: there to be read */
static pxl_status task_weights(Tm *t, RtPlace *out)
{
	RtErr e;
	RtAlloc al = cx_rt_alloc(t->m->cx);
	const char *path, *name = t->t->weights_task;
	pxl_status st = task_saved_by(t->m, name, &path);
	if (st != PXL_OK) return st;
	if (!path) return cx_fail(t->m->cx, PXL_EINVAL, "task `%s` takes the weights of task `%s`, which saves none; give them with --weights", t->t->name, name);
	*out = reach_by_model(t->m->u, path, REACH_CURRENT);
	int fd = reach_open(out, &al, &e);
	if (fd >= 0) return close(fd), PXL_OK;
	if (e.status == RT_EMODEL) return file_failed(t, &e, t->t->weights_at);
	return cx_fail(t->m->cx, PXL_EIO,
		"%s; that is what task `%s` saves: run that task first, or give a file with --weights", e.text, name);
}

static pxl_status weights_place(Tm *t, RtPlace *out)
{
	*out = (RtPlace){ .path = t->o.weights };
	if (t->o.weights) return PXL_OK;
	if (t->t->weights) *out = reach_by_model(t->m->u, t->t->weights, REACH_CURRENT);
	return t->t->weights_task ? task_weights(t, out) : PXL_OK;
}

static pxl_status resume(Tm *t)
{
	RtPlace from = t->o.weights ? *BY_USER(t->o.weights) : save_place(t);
	if (!from.path)
		return cx_fail(t->m->cx, PXL_EINVAL,
			"nothing to resume: task `%s` saves nothing, and no --weights or --save names a file",
			t->t->name);
	if (weights_load(t->s, &from, 0, &t->at)) return file_failed(t, &t->s->err, t->t->save_at);
	if (t->at.batch != t->step_samples)
		return cx_fail(t->m->cx, PXL_EINVAL,
			"`%s` was trained with %lld samples in a step, but this run takes %lld: resume with the same "
			"parameters",
			from.path, (long long)t->at.batch, (long long)t->step_samples);
	if (t->at.epoch < 0 || t->at.position < 0 || (t->step_samples && t->at.position % t->step_samples != 0))
		return cx_fail(t->m->cx, PXL_EIO, "`%s` says an impossible place for its training", from.path);
	t->seed = t->at.seed;
	rt_session_set_runs(t->s->rt, t->at.runs);
	int known = range_parse(&t->epoch, &t->p->rt, t->wanted, t->at.ranges[0]) && range_parse(&t->whole, &t->p->rt, t->wanted, t->at.ranges[1]);
	if (known) return PXL_OK;
	range_clear(&t->epoch, t->p->rt.nstream);
	range_clear(&t->whole, t->p->rt.nstream);
	return PXL_OK;
}

static pxl_status begin(Tm *t)
{
	RtPlace from;
	if (t->o.resume) return resume(t);
	pxl_status st = weights_place(t, &from);
	if (st != PXL_OK || !from.path) return st;
	return weights_load(t->s, &from, PXL_NEEDED, NULL) ? file_failed(t, &t->s->err, t->t->weights_at) : PXL_OK;
}

typedef struct SumsText { const Tm *t; char *out[2]; } SumsText;

static pxl_status write_sums(Unit *u, void *arg)
{
	SumsText *x = arg;
	const Range *const ranges[] = { &x->t->epoch, &x->t->whole };
	for (int i = 0; i < 2; i++) {
		Buf text = buf_new(&u->mem);
		range_text(ranges[i], &x->t->p->rt, x->t->wanted, x->t->timed, &text);
		x->out[i] = text.s;
	}
	return PXL_OK;
}

static pxl_status save(Tm *t, const RtPlace *to)
{
	SumsText sums = { t, { NULL } };
	pxl_status st = unit_guard(t->m->u, write_sums, &sums);
	if (st != PXL_OK) return st;
	Standing at = t->at;
	for (int i = 0; i < 2; i++) at.ranges[i] = sums.out[i];
	at.seed = t->seed;
	at.batch = t->step_samples;
	at.runs = rt_session_runs(t->s->rt);
	return weights_save(t->s, to, &at) ? file_failed(t, &t->s->err, t->t->save_at) : PXL_OK;
}

static double last_loss(const Tm *t)
{
	for (int i = 0; i < t->p->rt.nstream; i++)
		if (!t->p->rt.streams[i].is_input && !strcmp(t->p->rt.streams[i].name, "loss")) return t->epoch.sums[i].last;
	return t->t->show.n ? t->show[0].value : NAN;
}

static pxl_status finish(Tm *t)
{
	task_fill_metrics(t, 1);
	pxl_result *r = &t->result;
	pxl_program_info info;
	pxl_program_get_info(t->p, &info);
	r->task = t->t->name;
	r->program = t->p->name;
	r->data = t->data ? t->data->kind : "none";
	r->saved = "";
	r->it_per_s = r->seconds > 0 ? (double)r->steps / r->seconds : 0;
	r->samples_per_s = r->seconds > 0 ? (double)r->samples / r->seconds : 0;
	r->last_loss = last_loss(t);
	r->compile_ms = info.compile_ms;
	r->report = t->report;
	r->nreport = (size_t)t->t->report.n;
	r->show = t->show;
	r->nshow = (size_t)t->t->show.n;
	RtPlace to = save_place(t);
	if (!to.path) return PXL_OK;
	pxl_status st = save(t, &to);
	if (st == PXL_OK) r->saved = to.path;
	return st;
}

static pxl_status open_log(Tm *t)
{
	if (!t->o.log) return PXL_OK;
	t->log = fopen(t->o.log, t->o.resume ? "a" : "w");
	return t->log ? PXL_OK
		      : cx_fail(t->m->cx, PXL_EIO, "cannot write the log `%s`: %s", SHOWN(t->o.log), strerror(errno));
}

static pxl_status close_log(Tm *t)
{
	if (!t->log) return PXL_OK;
	int bad = fflush(t->log) != 0 || ferror(t->log);
	bad |= fclose(t->log) != 0;
	t->log = NULL;
	return bad ? cx_fail(t->m->cx, PXL_EIO, "cannot write all of the log `%s`: is the disk full?", t->o.log) : PXL_OK;
}

/* what is going to happen, for whoever wants to know (verbose) */
static void tell_of_task(const Tm *t)
{
	pxl_ctx *cx = t->m->cx;
	const char *to = save_place(t).path, *name = t->t->name;
	const char *from = t->o.weights ? t->o.weights : t->o.resume ? to : t->t->weights ? t->t->weights : t->t->weights_task;
	if (!t->data || !t->nfeed) cx_log(cx, IN_DATA, LOG_INFO, "task `%s`: no data", name);
	else cx_log(cx, IN_DATA, LOG_INFO, "task `%s`: data %s of %zu samples, %lld in a step, %zu left over in each epoch", name, t->data->kind, t->data->n,
	            (long long)t->step_samples, t->data->n % (size_t)t->step_samples);
	cx_log(cx, IN_SESSION, LOG_INFO, "task `%s`: %lld epoch%s of %lld steps, %lld steps done before%s%s%s; %s%s", name, (long long)t->epochs,
	       t->epochs == 1 ? "" : "s", (long long)task_epoch_steps(t), (long long)t->at.total_step, from ? ", weights of `" : "", from ? from : "",
	       from ? "`" : "", to ? "saves to " : "saves nothing", to ? to : "");
}

static pxl_status run_task(Tm *t)
{
	pxl_status st = task_make_program(t);
	if (st == PXL_OK) t->seed = t->p->seed;
	if (st == PXL_OK) st = pxl_session_new(t->p, &t->o.session, &t->s);
	if (st == PXL_OK) st = task_open_data(t, 0);
	if (st == PXL_OK) st = task_match(t);
	if (st == PXL_OK) st = task_connect(t);
	if (st == PXL_OK) st = task_make_metrics(t);
	if (st == PXL_OK) st = begin(t);
	if (st == PXL_OK) st = check_save(t);
	if (st == PXL_OK && t->m->cx->opt.verbose) tell_of_task(t);
	if (st == PXL_OK) st = open_log(t);
	if (st == PXL_OK) st = all_epochs(t);
	if (st == PXL_OK) st = finish(t);
	if (st == PXL_OK) st = close_log(t);
	if (st == PXL_OK && t->o.session.nmap && pxl_detach(t->s, 1) != PXL_OK) st = cx_fail_rt(t->m->cx, &t->s->err);
	return st;
}

/* The structures inside have no room to grow: theirs must be the sizes that this library knows. */
static pxl_status check_options(pxl_ctx *cx, const pxl_task_options *o)
{
	if (o->program.size != sizeof o->program || o->session.size != sizeof o->session)
		return cx_fail(cx, PXL_EINVAL, "the sizes of `program` and `session` in pxl_task_options are %zu and %zu, but this library's are %zu and %zu: begin with PXL_TASK_OPTIONS_INIT",
		               o->program.size, o->session.size, sizeof o->program, sizeof o->session);
	if (o->epochs < 0 || o->limit < 0) return cx_fail(cx, PXL_EINVAL, "numbers of epochs and steps are not negative");
	pxl_status st = check_program_options(cx, &o->program);
	return st == PXL_OK ? check_session_options(cx, &o->session) : st;
}

pxl_status pxl_task_run(pxl_model *m, const pxl_task_options *opt, const pxl_result **out)
{
	if (!m) return PXL_EINVAL;
	pxl_ctx *cx = m->cx;
	task_memory_free(cx, m->task);
	Tm *t = m->task = cx_alloc(cx, sizeof *t);
	if (!t) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	t->m = m;
	t->o = (pxl_task_options)PXL_TASK_OPTIONS_INIT;
	if (!out) return cx_fail(cx, PXL_EINVAL, "pxl_task_run needs a place for the result");
	pxl_status st = options_take(cx, "pxl_task_options", &t->o, sizeof t->o, opt);
	if (st != PXL_OK || (st = check_options(cx, &t->o)) != PXL_OK) return st;
	unit_forget_diags(m->u);
	st = task_find(m, t->o.task ? t->o.task : "train", &t->t);
	if (st != PXL_OK) return st;
	t->epochs = t->o.epochs ? t->o.epochs : t->t->epochs ? t->t->epochs : 1;
	st = run_task(t);
	task_close(t);
	pxl_program_free(t->p);          /* results name it by the task's own strings */
	t->p = NULL;
	t->result.program = t->t->program;
	if (st != PXL_OK) return st;
	*out = &t->result;
	return t->result.interrupted ? cx_fail(cx, PXL_EINTR, "interrupted after %lld steps", (long long)t->result.steps) : PXL_OK;
}
