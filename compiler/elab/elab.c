/* elab.c — the evaluator's door: loading a file, naming what it declares, and running a program's body. */
#include "compiler/elab/eval.h"

#include <math.h>
#include <string.h>

File *file_load(Elab *e, uint32_t src, const char *name);

static void add_builtins(Elab *e, const Builtin *b)
{
	for (; b->name; b++) {
		Value v = v_of(V_BUILTIN, (void *)(uintptr_t)b);
		map_set(e->mem, &e->builtins, intern_str(e->names, b->name), arena_dup(e->mem, &v, sizeof v));
	}
}

static void add_value(Elab *e, const char *name, Value v)
{
	map_set(e->mem, &e->builtins, intern_str(e->names, name), arena_dup(e->mem, &v, sizeof v));
}

static void add_names(Elab *e)
{
	static const Builtin *const tables[] = {
		core_builtins, host_builtins, float8_builtins, seed_builtins, array_builtins, tree_builtins, cache_builtins, graph_builtins, call_builtins, module_builtins,
		stream_builtins, context_builtins, grad_builtins, task_builtins, ir_builtins, variable_builtins, remote_builtins, host_op_builtins,
	};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) add_builtins(e, tables[i]);
	for (int t = 0; t < DT_COUNT; t++) add_value(e, dtype_info[t].name, v_dtype((DType)t));
	add_value(e, "inf", v_float(INFINITY));
	add_value(e, "nan", v_float(NAN));
	add_value(e, "pi", v_float(3.14159265358979323846));
}

Elab *elab_new(const ElabOptions *o)
{
	Elab *e = NEW(o->mem, Elab);
	e->o = *o;
	e->mem = o->mem;
	e->names = o->names;
	e->ds = o->ds;
	e->ret = v_none();
	add_names(e);
	return e;
}

void elab_seed(Elab *e, uint64_t seed) { e->o.seed = seed; }

int elab_file(Elab *e, uint32_t src)
{
	int errors = e->ds->errors;
	const Source *s = source_get(e->o.srcs, src);
	limits_reset(e);
	file_load(e, src, s->name);
	if (e->ds->errors == errors) check_tasks(e);
	return e->ds->errors == errors;
}

int elab_program_count(const Elab *e) { return e->programs.n; }
int elab_task_count(const Elab *e)    { return e->tasks.n; }

const char *elab_program_name(const Elab *e, int i)
{
	return i >= 0 && i < e->programs.n ? e->programs.at[i]->u.program.name : NULL;
}

const char *elab_task_name(const Elab *e, int i)
{
	return i >= 0 && i < e->tasks.n ? e->tasks.at[i]->u.task.name : NULL;
}

static const Ast *find_program(const Elab *e, const char *name)
{
	for (int i = 0; i < e->programs.n; i++)
		if (!strcmp(e->programs.at[i]->u.program.name, name)) return e->programs.at[i];
	return NULL;
}

const char *elab_program_param(Elab *e, const char *program, int i)
{
	const Ast *p = find_program(e, program);
	if (!p || i < 0 || i >= p->u.program.params.n) return NULL;
	Span at = p->u.program.params.at[i]->at;
	const Source *s = source_get(e->o.srcs, at.src);
	return arena_str(e->mem, s->text + at.lo, at.hi - at.lo);
}

int elab_program_takes(const Elab *e, const char *program, const char *param)
{
	const Ast *p = find_program(e, program);
	for (int i = 0; p && i < p->u.program.params.n; i++)
		if (!strcmp(p->u.program.params.at[i]->u.param.name, param)) return 1;
	return 0;
}

const char *elab_program_needs(const Elab *e, const char *program, const ElabSet *sets, int nset)
{
	const Ast *p = find_program(e, program);
	for (int i = 0; p && i < p->u.program.params.n; i++) {
		const Ast *x = p->u.program.params.at[i];
		int given = x->u.param.init || x->u.param.star;
		for (int k = 0; k < nset; k++) given |= !strcmp(sets[k].name, x->u.param.name);
		if (!given) return x->u.param.name;
	}
	return NULL;
}

/* --- running a program ------------------------------------------------------------------------------------------------------ */
static Value set_value(Elab *e, const ElabSet *set)
{
	uint32_t src = source_add(e->o.srcs, arena_printf(e->mem, "--set %s", set->name), NULL, set->value, strlen(set->value));
	Ast *a = lang_parse_expr(e->mem, e->names, e->ds, src);
	return a ? eval(e, &e->main->env, a) : v_error();
}

int program_param(Elab *e, const Ast *p, const char *name, Span at)
{
	const AstList *ps = &p->u.program.params;
	const char **known = NEWN(e->mem, const char *, ps->n + 1);
	for (int i = 0; i < ps->n; i++) {
		known[i] = ps->at[i]->u.param.name;
		if (!strcmp(known[i], name)) return 1;
	}
	Diag *d = fail_diag(e, E0705, at, "program `%s` has no parameter `%s`", p->u.program.name, name);
	const char *near = nearest(name, known, ps->n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	return 0;
}

/* later settings of one name win: the command line after the task */
static int set_args(Elab *e, const Ast *p, const ElabSet *sets, int nset, Args *args)
{
	for (int i = 0; i < nset; i++) {
		int later = 0;
		for (int k = i + 1; k < nset; k++) later |= !strcmp(sets[i].name, sets[k].name);
		if (later) continue;
		if (!program_param(e, p, sets[i].name, p->u.program.name_at)) return 0;
		Value v = set_value(e, &sets[i]);
		if (is_error(v)) return 0;
		args_add(e, args, sets[i].name, v, p->u.program.name_at);
	}
	return 1;
}

static int setting(Elab *e, Env *env, const Ast *s, int64_t max, int *out)
{
	Value v = eval(e, env, s->u.setting.val);
	int64_t n;
	if (is_error(v) || !want_int(e, v, s->at, arena_printf(e->mem, "`%s`", s->u.setting.name), &n)) return 0;
	if (n < 1 || n > max) {
		fail(e, E0114, s->at, "`%s` must be from 1 to %lld, not %lld", s->u.setting.name, (long long)max, (long long)n);
		return 0;
	}
	*out = (int)n;
	return 1;
}

static int apply_settings(Elab *e, Env *env, const Ast *p, int *replicas, int *transfers)
{
	static const char *const known[] = { "replicas", "host_transfers" };
	for (int i = 0; i < p->u.program.settings.n; i++) {
		const Ast *s = p->u.program.settings.at[i];
		int ok;
		if (!strcmp(s->u.setting.name, "replicas")) ok = setting(e, env, s, MOST_REPLICAS, replicas);
		else if (!strcmp(s->u.setting.name, "host_transfers")) ok = setting(e, env, s, MOST_TRANSFERS, transfers);
		else {
			fail_unknown_of(e, E0101, s->u.setting.name_at.src ? s->u.setting.name_at : s->at, "setting", s->u.setting.name, known, 2);
			ok = 0;
		}
		if (!ok) return 0;
	}
	return 1;
}

static Env *bind_program(Elab *e, const Ast *p, Args *args)
{
	Fn fn = { .name = p->u.program.name, .params = &p->u.program.params, .env = &e->main->env };
	Value *argv = bind_fn(e, &fn, args);
	if (!argv) return NULL;
	Env *env = env_new(e, &e->main->env);
	for (int i = 0; i < fn.params->n; i++) env_set(e, env, fn.params->at[i]->u.param.name, argv[i]);
	return env;
}

static void run_program(Elab *e, const Ast *p, Env *env)
{
	Frame *frame = NEW(e->mem, Frame);
	*frame = (Frame){ arena_printf(e->mem, "program `%s`", p->u.program.name), p->u.program.name_at, NULL, 0 };
	e->b.chain = frame;
	e->calls = 1;                            /* a program may `return`: nothing is done with the value */
	exec_block(e, env, p->u.program.body);
	e->calls = 0;
}

static int check_built(Elab *e, int errors)
{
	return e->ds->errors == errors && ir_check_ambiguity(e->b.ir) && e->ds->errors == errors;
}

int elab_bad_sets(const Elab *e) { return e->bad_sets; }

Ir *elab_program(Elab *e, const char *name, const ElabSet *sets, int nset, int replicas)
{
	const Ast *p = find_program(e, name);
	int errors = e->ds->errors, rf = 1, transfers = 1;
	Args args = { 0 };
	if (!p) {
		fail(e, E0703, (Span){ 0, 0, 0 }, "no program `%s`", name);
		return NULL;
	}
	limits_reset(e);
	memset(&e->b, 0, sizeof e->b);
	memset(&e->draws, 0, sizeof e->draws);
	e->arrays = 0;
	e->self = e->owner = NULL;
	args.at = e->at = p->u.program.name_at;
	Env *env = set_args(e, p, sets, nset, &args) ? bind_program(e, p, &args) : NULL;
	e->bad_sets = !env && nset > 0;
	if (!env || !apply_settings(e, env, p, &rf, &transfers)) return NULL;
	Ir *ir = ir_new(e->mem, e->names, e->ds, replicas > 0 ? replicas : rf);
	ir->transfers = transfers;
	ir->hosts = e->o.hosts;
	ir->number = e->built++;
	e->replicas_given = replicas > 0;
	ir->seed = e->o.seed;
	e->b = ir_build(ir->main);
	run_program(e, p, env);
	int ok = check_built(e, errors);
	memset(&e->b, 0, sizeof e->b);
	ir->frozen = ok;
	return ok ? ir : NULL;
}
