/* use.c — files: parsing, running the top level, and `use`.
 *
 * A file's own names shadow what it uses; two imports that clash are an error at the second `use`.  Library
 * modules are files too: their text travels in the binary. */
#include "compiler/elab/eval.h"

#include <string.h>

File *file_load(Elab *e, uint32_t src, const char *name);

static void declare_module(Elab *e, File *f, const Ast *a)
{
	Class *c = NEW(e->mem, Class);
	*c = (Class){ a->u.module.name, a, &f->env };
	env_set(e, &f->env, a->u.module.name, v_of(V_CLASS, c));
}

static const Ast *named_in(const Ast *const *at, int n, const char *name, const char *(*name_of)(const Ast *))
{
	for (int i = 0; i < n; i++)
		if (name_of(at[i]) == name) return at[i];
	return NULL;
}

static const char *program_name(const Ast *a) { return a->u.program.name; }
static const char *task_name(const Ast *a)    { return a->u.task.name; }

static int fresh(Elab *e, const Ast *old, Span at, const char *what, const char *name)
{
	if (!old) return 1;
	Diag *d = fail_diag(e, E0115, at, "%s `%s` is declared twice", what, name);
	diag_note(e->ds, d, old->at, "the first one is here");
	return 0;
}

/* programs and tasks of the main file are what a host can run; those of used files are not seen */
static void declare_runnable(Elab *e, File *f, const Ast *a)
{
	if (f != e->main) return;
	if (a->kind == A_PROGRAM) {
		const Ast *old = named_in(e->programs.at, e->programs.n, a->u.program.name, program_name);
		if (fresh(e, old, a->u.program.name_at, "program", a->u.program.name)) vec_push(e->mem, &e->programs, a);
	} else {
		const Ast *old = named_in(e->tasks.at, e->tasks.n, a->u.task.name, task_name);
		if (fresh(e, old, a->u.task.name_at, "task", a->u.task.name)) vec_push(e->mem, &e->tasks, a);
	}
}

/* --- use ----------------------------------------------------------------------------------------------------------------- */
static int clash(Elab *e, File *f, const char *name, const File *from, Span at)
{
	Import *old = map_get(&f->imports, name);
	if (!old || old->from == from || map_has(&f->env.vars, name)) return 0;
	Diag *d = fail_diag(e, E0120, at, "`%s` is defined by `%s` and by `%s`", name, old->from->name, from->name);
	diag_help(e->ds, d, (Span){ 0, 0, 0 }, "define `%s` in this file, which shadows both", name);
	return 1;
}

static void import_names(Elab *e, File *f, const File *from, Span at)
{
	for (int i = 0; i < from->env.vars.n; i++) {
		const char *name = from->env.vars.at[i].key;
		if (!name || name[0] == '_' || clash(e, f, name, from, at)) continue;
		Import *im = NEW(e->mem, Import);
		*im = (Import){ *(Value *)from->env.vars.at[i].val, from };
		map_set(e->mem, &f->imports, name, im);
	}
}

static int not_found(Elab *e, const char *name, Span at)
{
	const char *known[64];
	int n = 0;
	while (n < 64 && (known[n] = lang_std_name(n))) n++;
	Diag *d = fail_diag(e, E0118, at, "no file `%s.pxl` beside this one, and no such library module", name);
	const char *near = nearest(name, known, n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	return 0;
}

/* source of `use name` in f: beside the file first, then in the library; 0 after a diagnostic */
static int find_module(Elab *e, const File *f, const char *name, Span at, uint32_t *src, const char **key)
{
	const Source *from = source_get(e->o.srcs, f->src);
	const char *path = NULL, *text = NULL;
	size_t len = 0;
	Buf why = buf_new(e->mem);
	int r = e->o.read_module && !from->embedded ? e->o.read_module(e->o.user, from, name, &path, &text, &len, &why) : 0;
	if (r < 0) {
		fail(e, E0118, at, "`%s.pxl` cannot be read: %s", name, why.s ? why.s : "unknown reason");
		return 0;
	}
	int embedded = r == 0;
	if (embedded) text = lang_std(name, &len);
	if (!text) return not_found(e, name, at);
	*key = intern_str(e->names, embedded ? arena_printf(e->mem, "<%s>", name) : path ? path : name);
	if (map_has(&e->files, *key)) return 1;
	*src = source_add(e->o.srcs, embedded ? arena_printf(e->mem, "<std>/%s.pxl", name) : path ? path : name, embedded ? NULL : path, text, len);
	e->o.srcs->at.at[*src - 1]->embedded = embedded;
	return 1;
}

static void use(Elab *e, File *f, const Ast *name)
{
	uint32_t src = 0;
	const char *key;
	if (!find_module(e, f, name->u.name, name->at, &src, &key)) {
		f->failed = 1;
		return;
	}
	File *m = map_get(&e->files, key);
	if (m && m->loading) {
		fail(e, E0119, name->at, "`%s` is being loaded already: files must not use each other in a circle", name->u.name);
		f->failed = 1;
		return;
	}
	if (!m) {
		m = NEW(e->mem, File);
		map_set(e->mem, &e->files, key, m);
		m->src = src;
		m->name = name->u.name;
		m->loading = 1;
		file_load(e, src, name->u.name);
	}
}

/* --- what the library would have given ----------------------------------------------------------------------------------- */
static const char *declared(const Ast *a)
{
	switch (a->kind) {
	case A_MODULE: return a->u.module.name;
	case A_FN: case A_KERNEL: return a->u.fn.name;
	case A_ASSIGN: return a->u.assign.target->kind == A_NAME ? a->u.assign.target->u.name : "_";
	default: return "_";
	}
}

static int declares(Elab *e, const char *module, const char *name)
{
	size_t len;
	const char *text = lang_std(module, &len);
	Diags unseen = { .mem = e->mem, .srcs = e->o.srcs };
	Ast *file = lang_parse(e->mem, e->names, &unseen, source_add(e->o.srcs, module, NULL, text, len));
	for (int i = 0; i < file->u.list.n; i++)
		if (declared(file->u.list.at[i]) == name) return 1;
	return 0;
}

const char *library_help(Elab *e, const char *name)
{
	for (int i = 0; lang_std_name(i) && name[0] != '_'; i++) {
		const char *module = lang_std_name(i);
		if (!strcmp(module, name)) return arena_printf(e->mem, "with `use %s` in the file its names stand alone, without `%s.`", name, name);
		if (declares(e, module, name)) return arena_printf(e->mem, "it is in the library: add `use %s` to the file", module);
	}
	return NULL;
}

/* --- running a file ---------------------------------------------------------------------------------------------------------- */
static void run_top(Elab *e, File *f, const Ast *a);

static void load_into(Elab *e, File *f)
{
	f->env.file = f;
	f->loading = 1;
	int errors = e->ds->errors;
	f->ast = lang_parse(e->mem, e->names, e->ds, f->src);
	f->failed = e->ds->errors != errors;
	if (f->failed) {                      /* parts are missing from the tree: running it would only report what follows from that */
		f->loading = 0;
		return;
	}
	for (int i = 0; f->ast && i < f->ast->u.list.n; i++)      /* modules and functions may be used before their line */
		if (f->ast->u.list.at[i]->kind == A_MODULE) {
			const Ast *m = f->ast->u.list.at[i];
			if (!map_has(&f->env.vars, m->u.module.name)) declare_module(e, f, m);
			else fail(e, E0115, m->u.module.name_at, "module `%s` is declared twice", m->u.module.name);
		} else if (f->ast->u.list.at[i]->kind == A_KERNEL) declare_kernel(e, &f->env, f->ast->u.list.at[i]);
		else if (f->ast->u.list.at[i]->kind == A_FN && f->ast->u.list.at[i]->u.fn.name)
			exec(e, &f->env, f->ast->u.list.at[i]);
	for (int i = 0; f->ast && i < f->ast->u.list.n && !e->stop; i++) run_top(e, f, f->ast->u.list.at[i]);
	f->loading = 0;
}

static void use_all(Elab *e, File *f, const Ast *a)
{
	for (int i = 0; i < a->u.names.n; i++) {
		const Ast *name = a->u.names.at[i];
		int errors = e->ds->errors;
		use(e, f, name);
		if (e->ds->errors != errors) {
			f->failed = 1;
			continue;
		}
		uint32_t src = 0;
		const char *key;
		if (!find_module(e, f, name->u.name, name->at, &src, &key)) continue;
		import_names(e, f, map_get(&e->files, key), name->at);
	}
}

static void run_top(Elab *e, File *f, const Ast *a)
{
	switch (a->kind) {
	case A_MODULE: break;
	case A_FN:     break;
	case A_USE:    use_all(e, f, a); break;
	case A_PROGRAM: case A_TASK: declare_runnable(e, f, a); break;
	case A_KERNEL: break;
	case A_NATIVE: declare_native(e, &f->env, a); break;
	case A_DEVICE: fail(e, E0122, a->at, "`device` declarations are not available yet"); break;
	case A_ERROR:  break;
	default:       exec(e, &f->env, a);
	}
}

File *file_load(Elab *e, uint32_t src, const char *name)
{
	File *f = NULL;
	for (int i = 0; i < e->files.n; i++) {
		File *x = e->files.at[i].val;
		if (x->src == src) f = x;
	}
	if (!f) {
		f = NEW(e->mem, File);
		f->src = src;
		f->name = name;
		if (!e->main) e->main = f;
		map_set(e->mem, &e->files, intern_str(e->names, arena_printf(e->mem, "#%u", src)), f);
	}
	Build was = e->b;
	memset(&e->b, 0, sizeof e->b);
	load_into(e, f);
	e->b = was;
	return f;
}
