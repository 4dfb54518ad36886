/* task.c — tasks: what a host does with a program.  Fields are settings, not statements; `show` and `report` are
 * small expressions over the run, kept as Metric trees for the host to evaluate. */
#include "compiler/elab/eval.h"

#include <string.h>

typedef struct Reading { Elab *e; Task *t; Env *env; } Reading;

/* --- metrics ------------------------------------------------------------------------------------------------------------- */
static Metric *metric(Reading *r, MetricKind kind)
{
	Metric *m = NEW(r->e->mem, Metric);
	m->kind = kind;
	return m;
}

static const Metric *read_metric(Reading *r, const Ast *a, int depth);

static int aggregate_of(const char *name)
{
	static const char *const names[] = { [AGG_MEAN] = "mean", [AGG_SUM] = "sum", [AGG_MIN] = "min", [AGG_MAX] = "max", [AGG_LAST] = "last" };
	for (int i = 0; i < 5; i++)
		if (!strcmp(name, names[i])) return i;
	return -1;
}

static const Metric *bad_metric(Reading *r, Span at, const char *why)
{
	Diag *d = fail_diag(r->e, E0704, at, "not a metric: %s", why);
	diag_help(r->e->ds, d, (Span){ 0, 0, 0 }, "for instance `mean(loss)`, `sum(hits) / samples`, `steps / seconds`");
	return NULL;
}

static const Metric *read_aggregate(Reading *r, const Ast *a)
{
	const Ast *fn = a->u.call.fn, *arg = a->u.call.args.n == 1 ? a->u.call.args.at[0] : NULL;
	int agg = fn->kind == A_NAME ? aggregate_of(fn->u.name) : -1;
	if (agg < 0) return bad_metric(r, fn->at, "the aggregates are mean, sum, min, max and last");
	if (!arg || arg->u.arg.name || arg->u.arg.star || arg->u.arg.val->kind != A_NAME)
		return bad_metric(r, a->at, "an aggregate takes the name of one output stream");
	Metric *m = metric(r, M_AGG);
	m->agg = (Aggregate)agg;
	m->stream = arg->u.arg.val->u.name;
	return m;
}

static const Metric *number_metric(Reading *r, double x)
{
	Metric *m = metric(r, M_NUM);
	m->num = x;
	return m;
}

static const Metric *read_name(Reading *r, const Ast *a)
{
	if (!strcmp(a->u.name, "samples")) return metric(r, M_SAMPLES);
	if (!strcmp(a->u.name, "steps")) return metric(r, M_STEPS);
	if (!strcmp(a->u.name, "seconds")) return metric(r, M_SECONDS);
	Value *v = map_get(&r->env->vars, a->u.name);
	if (v && is_number(*v)) return number_metric(r, v_number(*v));
	return bad_metric(r, a->at, arena_printf(r->e->mem, "`%s` is an array over the run; say which aggregate, as in `mean(%s)`", a->u.name, a->u.name));
}

static const Metric *read_binary(Reading *r, const Ast *a, int depth)
{
	static const struct { AstOp op; MetricKind kind; } kinds[] = { { AO_ADD, M_ADD }, { AO_SUB, M_SUB }, { AO_MUL, M_MUL }, { AO_DIV, M_DIV } };
	for (int i = 0; i < 4; i++) {
		if (kinds[i].op != a->u.op.op) continue;
		Metric *m = metric(r, kinds[i].kind);
		m->a = read_metric(r, a->u.op.a, depth + 1);
		m->b = m->a ? read_metric(r, a->u.op.b, depth + 1) : NULL;
		return m->b ? m : NULL;
	}
	return bad_metric(r, a->at, "only + - * / combine metrics");
}

static const Metric *read_metric(Reading *r, const Ast *a, int depth)
{
	if (depth > AST_MAX_DEPTH) return bad_metric(r, a->at, "it is nested too deep");
	switch (a->kind) {
	case A_INT:    return number_metric(r, (double)a->u.i);
	case A_FLOAT:  return number_metric(r, a->u.f);
	case A_NAME:   return read_name(r, a);
	case A_CALL:   return read_aggregate(r, a);
	case A_BINARY: return read_binary(r, a, depth);
	case A_UNARY: {
		Metric *m = metric(r, M_NEG);
		if (a->u.op.op != AO_NEG) return bad_metric(r, a->at, "only `-` stands before a metric");
		m->a = read_metric(r, a->u.op.a, depth + 1);
		return m->a ? m : NULL;
	}
	default: return bad_metric(r, a->at, "this is not an expression over the run");
	}
}

static int read_metrics(Reading *r, const Ast *val, const char *field, int report)
{
	Elab *e = r->e;
	if (val->kind != A_DICT) {
		fail(e, E0702, val->at, "`%s` is a dict of names and metrics", field);
		return 0;
	}
	for (int i = 0; i < val->u.list.n; i++) {
		const Ast *item = val->u.list.at[i];
		NamedMetric n = { .at = item->u.item.val->at };
		Value key = eval(e, r->env, item->u.item.key);
		if (is_error(key) || !want_str(e, key, item->u.item.key->at, "the name of a metric", &n.name)) return 0;
		n.m = read_metric(r, item->u.item.val, 0);
		if (!n.m) return 0;
		if (report) vec_push(e->mem, &r->t->report, n);
		else vec_push(e->mem, &r->t->show, n);
	}
	return 1;
}

/* --- fields ------------------------------------------------------------------------------------------------------------------ */
static const Ast *find_program(Elab *e, const Ast *name)
{
	const char **known = NEWN(e->mem, const char *, e->programs.n + 1);
	for (int i = 0; i < e->programs.n; i++) {
		known[i] = e->programs.at[i]->u.program.name;
		if (known[i] == name->u.name) return e->programs.at[i];
	}
	fail_unknown_of(e, E0703, name->at, "program", name->u.name, known, e->programs.n);
	return NULL;
}

/* program = train, or train(batch = 32): the arguments are kept as text, like --set */
static int read_program(Reading *r, const Ast *val)
{
	Elab *e = r->e;
	const Ast *name = val->kind == A_CALL ? val->u.call.fn : val;
	if (name->kind != A_NAME) {
		fail(e, E0702, val->at, "`program` names a program of this file, as in `train` or `train(batch = 32)`");
		return 0;
	}
	const Ast *program = find_program(e, name);
	if (!program) return 0;
	r->t->program = name->u.name;
	int n = val->kind == A_CALL ? val->u.call.args.n : 0;
	r->t->sets = NEWN(e->mem, ElabSet, n + 1);
	for (int i = 0; i < n; i++) {
		const Ast *a = val->u.call.args.at[i];
		if (!a->u.arg.name || a->u.arg.star) {
			fail(e, E0702, a->at, "a task gives a program's parameters by name");
			return 0;
		}
		if (!program_param(e, program, a->u.arg.name, a->at)) return 0;
		const Source *s = source_get(e->o.srcs, a->u.arg.val->at.src);
		Span at = a->u.arg.val->at;
		r->t->sets[r->t->nset++] = (ElabSet){ a->u.arg.name, arena_str(e->mem, s->text + at.lo, at.hi - at.lo) };
	}
	return 1;
}

static int add_array(Reading *r, const char *column, Value v, Span at)
{
	Elab *e = r->e;
	HostArray *a = array_of(e, v, -1, 1, at);
	if (!a) return 0;
	if (a->shape.rank == 0) {
		fail(e, E0702, at, "column `%s` needs a first dimension that counts samples", column);
		return 0;
	}
	r->t->arrays[r->t->narray].column = column;
	r->t->arrays[r->t->narray++].array = a;
	return 1;
}

static int read_arrays(Reading *r, Value v, Span at)
{
	r->t->data = DATA_ARRAYS;
	r->t->arrays = arena_allocn(r->e->mem, (size_t)v.u.dict->map.n + 1, sizeof *r->t->arrays);
	DICT_EACH(v.u.dict, x) {
		if (x->key.kind != V_STR) {
			fail(r->e, E0702, at, "columns of data are named by strings");
			return 0;
		}
		if (!add_array(r, x->key.u.str->s, x->val, at)) return 0;
	}
	if (r->t->narray) return 1;
	fail(r->e, E0702, at, "`data` has no columns");
	return 0;
}

static int read_data(Reading *r, const Ast *val)
{
	Value v = eval(r->e, r->env, val);
	if (is_error(v)) return 0;
	if (v.kind == V_DICT) return read_arrays(r, v, val->at);
	if (v.kind != V_DATA) {
		Diag *d = fail_diag(r->e, E0702, val->at, "`data` is a data set or a dict of arrays, not %s", v_describe(r->e, v));
		diag_help(r->e->ds, d, (Span){ 0, 0, 0 }, "`use data`, then `mnist(\"train\")`, or `{ \"image\": npy(\"images.npy\") }`");
		return 0;
	}
	r->t->data = (DataKind)v.u.data->kind;
	r->t->split = v.u.data->split;
	r->t->shuffle = v.u.data->shuffle;
	return 1;
}

static int read_count(Reading *r, const Ast *val, const char *field, int64_t least, int64_t *out)
{
	Value v = eval(r->e, r->env, val);
	if (is_error(v) || !want_int(r->e, v, val->at, arena_printf(r->e->mem, "`%s`", field), out)) return 0;
	if (*out >= least) return 1;
	fail(r->e, E0114, val->at, "`%s` must be at least %lld", field, (long long)least);
	return 0;
}

static int read_flag(Reading *r, const Ast *val, const char *field, int *out)
{
	Value v = eval(r->e, r->env, val);
	return !is_error(v) && want_bool(r->e, v, val->at, arena_printf(r->e->mem, "`%s`", field), out);
}

static int read_file_name(Reading *r, const Ast *val, const char *field, const char **out, Span *at)
{
	*at = val->at;
	Value v = eval(r->e, r->env, val);
	return !is_error(v) && want_str(r->e, v, val->at, arena_printf(r->e->mem, "`%s`", field), out);
}

/* weights = "file.safetensors", or task.train: what that task ended with */
static int read_weights(Reading *r, const Ast *val)
{
	const Ast *obj = val->kind == A_FIELD ? val->u.field.obj : NULL;
	if (!obj || obj->kind != A_NAME || strcmp(obj->u.name, "task"))
		return read_file_name(r, val, "weights", &r->t->weights, &r->t->weights_at);
	const char **known = NEWN(r->e->mem, const char *, r->e->tasks.n + 1);
	for (int i = 0; i < r->e->tasks.n; i++) {
		known[i] = r->e->tasks.at[i]->u.task.name;
		if (known[i] == val->u.field.name) {
			r->t->weights_task = known[i];
			r->t->weights_at = val->at;
			return 1;
		}
	}
	fail_unknown_of(r->e, E0703, val->at, "task", val->u.field.name, known, r->e->tasks.n);
	return 0;
}

static const char *const field_names[] = { "program", "data", "epochs", "limit", "show", "report", "save", "weights", "allow_nan" };
enum { F_PROGRAM, F_DATA, F_EPOCHS, F_LIMIT, F_SHOW, F_REPORT, F_SAVE, F_WEIGHTS, F_ALLOW_NAN, NFIELD };

static int read_field(Reading *r, const Ast *f)
{
	int i = 0;
	const Ast *val = f->u.setting.val;
	while (i < NFIELD && strcmp(field_names[i], f->u.setting.name)) i++;
	switch (i) {
	case F_PROGRAM: return read_program(r, val);
	case F_DATA:    return read_data(r, val);
	case F_EPOCHS:  return read_count(r, val, "epochs", 1, &r->t->epochs);
	case F_LIMIT:   return read_count(r, val, "limit", 1, &r->t->limit);
	case F_SHOW:    return read_metrics(r, val, "show", 0);
	case F_REPORT:  return read_metrics(r, val, "report", 1);
	case F_SAVE:    return read_file_name(r, val, "save", &r->t->save, &r->t->save_at);
	case F_WEIGHTS: return read_weights(r, val);
	case F_ALLOW_NAN: return read_flag(r, val, "allow_nan", &r->t->allow_nan);
	default:
		fail_unknown_of(r->e, E0701, f->u.setting.name_at, "task field", f->u.setting.name, field_names, NFIELD);
		return 0;
	}
}

/* a task without `program` runs the program of its own name, if there is one, or the only one */
static const char *default_program(Elab *e, const Ast *task)
{
	for (int i = 0; i < e->programs.n; i++)
		if (e->programs.at[i]->u.program.name == task->u.task.name) return task->u.task.name;
	return e->programs.n == 1 ? e->programs.at[0]->u.program.name : NULL;
}

/* NULL after diagnostics; without data when only what can be known before a run is asked */
static Task *read_task(Elab *e, const Ast *a, int with_data)
{
	Task *t = NEW(e->mem, Task);
	*t = (Task){ .name = a->u.task.name, .epochs = 1, .at = a->at };
	Reading r = { e, t, &e->main->env };
	int ok = 1;                              /* no field stands twice: the parser has seen to that */
	e->loading_task = with_data;
	for (int i = 0; i < a->u.task.fields.n; i++)
		if (with_data || strcmp(a->u.task.fields.at[i]->u.setting.name, "data")) ok = read_field(&r, a->u.task.fields.at[i]) && ok;
	e->loading_task = 0;
	if (ok && !t->program && !(t->program = default_program(e, a))) {
		fail(e, E0703, a->u.task.name_at, "task `%s` does not say which program it runs", t->name);
		ok = 0;
	}
	return ok ? t : NULL;
}

void check_tasks(Elab *e)
{
	for (int i = 0; i < e->tasks.n && !e->stop; i++) read_task(e, e->tasks.at[i], 0);
}

static const Task *find_task(Elab *e, const char *name, int with_data)
{
	limits_reset(e);
	for (int i = 0; i < e->tasks.n; i++)
		if (!strcmp(e->tasks.at[i]->u.task.name, name)) return read_task(e, e->tasks.at[i], with_data);
	fail(e, E0703, (Span){ 0, 0, 0 }, "no task `%s`", name);
	return NULL;
}

const Task *elab_task(Elab *e, const char *name) { return find_task(e, name, 1); }

const char *elab_task_saves(Elab *e, const char *name)
{
	const Task *t = find_task(e, name, 0);
	return t ? t->save : NULL;
}

/* --- data sets: what lang/std/data.pxl is written with ---------------------------------------------------------------------------- */
static Value do_data_set(Elab *e, Call *c)
{
	const char *name;
	DataSet d = { 0 };
	if (!want_str(e, c->arg[0], c->at, "the data set", &name) || !want_str(e, c->arg[1], c->at, "the split", &d.split)) return v_error();
	if (is_given(c->arg[2]) && !want_bool(e, c->arg[2], c->at, "`shuffle`", &d.shuffle)) return v_error();
	d.kind = !strcmp(name, "mnist") ? DATA_MNIST : !strcmp(name, "digits") ? DATA_DIGITS : DATA_NONE;
	if (d.kind == DATA_NONE) return fail(e, E0702, c->at, "there is no data set `%s`: mnist and digits are known", name);
	if (strcmp(d.split, "train") && strcmp(d.split, "test")) return fail(e, E0702, c->at, "`%s` has the splits \"train\" and \"test\"", name);
	return v_of(V_DATA, arena_dup(e->mem, &d, sizeof d));
}

/* arrays from files: only inside a task, which thereby names the file */
static Value do_npy(Elab *e, Call *c)
{
	const char *path;
	HostArray *a = NULL;
	Buf why = buf_new(e->mem);
	buf_puts(&why, "");
	if (!want_str(e, c->arg[0], c->at, "the file", &path)) return v_error();
	if (!e->loading_task) return fail(e, E0706, c->at, "`%s`: files are read only where a task names them", path);
	if (!e->o.read_array) return fail(e, E0706, c->at, "`%s`: this host reads no files", path);
	int ok = e->o.read_array(e->o.user, path, &a, &why);
	return ok && a ? v_of(V_ARRAY, a) : fail(e, E0706, c->at, "the array cannot be read: %s", why.s);
}

const Builtin task_builtins[] = {
	{ "data_set", "name split shuffle?", do_data_set }, { "npy", "file", do_npy }, { NULL, NULL, NULL }
};
