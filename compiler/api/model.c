/* model.c — files and texts become models: parsed, their top level run, programs and tasks known. */
#include "compiler/api/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/ops/host_op.h"
#include "runtime/formats/formats.h"

enum { MAX_MODEL_BYTES = 64 << 20 };

/* --- `use name` beside the model ------------------------------------------------------------------ */
static int read_module(void *user, const Source *from, const char *name, const char **path, const char **text, size_t *len, Buf *why)
{
	Unit *u = user;
	struct stat info;
	if (!from || !from->path) return 0;
	const char *slash = strrchr(from->path, '/');
	int dir = slash ? (int)(slash - from->path) + 1 : 0;
	char *file = arena_printf(&u->mem, "%.*s%s.pxl", dir, from->path, name);
	char *bytes;
	if (lstat(file, &info) != 0) return 0;               /* the library has it, perhaps */
	RtPlace p = reach_by_model(u, arena_printf(&u->mem, "%s.pxl", name), REACH_MODEL);
	if (read_file(u->cx, &p, MAX_MODEL_BYTES, &bytes, len) != PXL_OK) {
		buf_puts(why, u->cx->errmsg);
		return -1;
	}
	*path = file;
	*text = arena_str(&u->mem, bytes, *len);
	cx_free(u->cx, bytes);
	return 1;
}

/* --- arrays and C files: relative names are looked for beside the model ----------------------- */
static HostArray *kept_in(Unit *u, const RtArray *a)
{
	Shape s = { .rank = a->rank };
	memcpy(s.dim, a->dim, sizeof s.dim);
	HostArray *h = host_new(&u->mem, a->dtype, s);
	void *to = host_bytes(&u->mem, h, 0);
	if (a->bytes) memcpy(to, a->data, a->bytes);
	return h;
}

/* as much as the evaluator's values may take */
static int may_be_taken(void *user, RtArray *a, RtErr *e)
{
	const Unit *u = user;
	size_t most = u->mem.limit ? u->mem.limit / 4 : (size_t)1 << 29;
	if (a->bytes <= most) return RT_OK;
	return rt_fail(e, RT_EIO,
		"the file holds %zu MiB, and values of a model may take %zu; --max-memory MIB gives the compiler more: "
		"four times what is wanted here",
		a->bytes >> 20, most >> 20);
}

static int read_array(void *user, const char *path, HostArray **out, Buf *why)
{
	Unit *u = user;
	RtErr e = { 0 };
	RtArray a = { 0 };
	RtSource *s;
	RtAlloc al = cx_rt_alloc(u->cx);
	RtPlace p = reach_by_model(u, path, REACH_MODEL);
	int st = source_open(&p, &al, &s, &e);
	if (!st) {
		st = npy_read_from(s, &(ArrayCheck){ may_be_taken, u }, &al, &a, &e);
		source_close(s);
	}
	if (st) {
		buf_puts(why, e.text);
		return 0;
	}
	jmp_buf full, *outer = u->mem.oom;           /* the copy may find no room: then the file's own must still go */
	u->mem.oom = &full;
	int oom = setjmp(full);
	if (!oom) *out = kept_in(u, &a);
	u->mem.oom = outer;
	array_free(&al, &a);
	if (oom) longjmp(*outer, oom);
	return 1;
}

static int read_native(void *user, const char *path, const HostOp **hosts, const HostOp *const **ops, Buf *why)
{
	Unit *u = user;
	Native *n;
	RtPlace p = reach_by_model(u, path, REACH_MODEL);
	pxl_status st = native_open(u->cx, &p, &n);
	if (st == PXL_OK) st = native_add(u->cx, &u->mem, n, hosts);
	if (st != PXL_OK) {
		buf_puts(why, u->cx->errmsg);
		return -1;
	}
	const HostOp **at = NEWN(&u->mem, const HostOp *, native_count(n));
	for (int i = 0; i < native_count(n); i++) at[i] = native_op(n, i, *hosts);
	*ops = at;
	return native_count(n);
}

static void model_print(void *user, const char *text, size_t len)
{
	Unit *u = user;
	if (u->cx->opt.print) u->cx->opt.print(u->cx->opt.print_user, text, len);
}

static int model_checkpoint(void *user, const Ir *ir, const char *name, const char *save_dir, Buf *why)
{
	Unit *u = user;
	return !u->drawing || drawing_checkpoint(u->cx, u->drawing, ir, name, save_dir, &u->mem, why);
}

/* --- compiling ---------------------------------------------------------------------------------------- */
typedef struct Load { const char *name, *path, *text; size_t len; RtRoot *home; } Load;

static pxl_status load(Unit *u, void *arg)
{
	const Load *l = arg;
	intern_init(&u->names, &u->mem);
	u->src = source_add(&u->srcs, l->name, l->path, l->text, l->len);
	u->elab = elab_new(&(ElabOptions){ .mem = &u->mem, .names = &u->names, .srcs = &u->srcs, .ds = &u->ds,
	                                   .allow_native = u->cx->opt.allow_native, .hosts = u->cx->hosts, .max_steps = u->cx->opt.max_steps,
	                                   .read_module = read_module, .read_array = read_array, .read_native = read_native, .print = model_print,
	                                   .checkpoint = model_checkpoint, .user = u });
	return elab_file(u->elab, u->src) ? PXL_OK : PXL_EMODEL;
}

static pxl_status compile(pxl_ctx *cx, Load *l, pxl_model **out)
{
	pxl_status st;
	double start = now_ms();
	Unit *u = unit_new(cx, &st);
	if (!u) return st;
	st = reach_begin(u, l->home);
	if (st == PXL_OK) st = unit_guard(u, load, l);
	u->load_ms = now_ms() - start;
	pxl_model *m = st == PXL_OK ? cx_alloc(cx, sizeof *m) : NULL;
	if (!m) {
		unit_unref(u);
		return st == PXL_OK ? cx_fail(cx, PXL_ENOMEM, "out of memory") : st;
	}
	atomic_init(&m->refs, 1);
	m->cx = ctx_ref(cx);
	m->u = u;
	*out = m;
	return PXL_OK;
}

pxl_status pxl_compile_memory(pxl_ctx *cx, const char *name, const char *text, size_t len, pxl_model **out)
{
	if (!cx) return PXL_EINVAL;
	if (!text || !out) return cx_fail(cx, PXL_EINVAL, "pxl_compile_memory needs a text and a place for the model");
	if (len > MAX_MODEL_BYTES) return cx_fail(cx, PXL_EINVAL, "a model's text may have at most %d MiB", MAX_MODEL_BYTES >> 20);
	return compile(cx, &(Load){ name ? name : "<memory>", NULL, text, len, NULL }, out);
}

/* The text comes out of the folder that is the model's from then on, whatever becomes of the path. */
static pxl_status read_model(pxl_ctx *cx, const char *path, RtRoot *home, char **text, size_t *len)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = slash ? (size_t)(slash - path) + (slash == path) : 1;
	RtAlloc al = cx_rt_alloc(cx);
	RtErr e;
	int fd;
	char *folder = cx_alloc(cx, n + 1);
	if (!folder) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	memcpy(folder, slash ? path : ".", n);
	int st = root_open(folder, &al, home, &fd, &e);
	cx_free(cx, folder);
	if (st)
		return access(path, F_OK) ? cx_fail(cx, PXL_EIO, "cannot open `%s`: %s", SHOWN(path), strerror(errno))
					  : cx_fail_rt(cx, &e);
	pxl_status got = read_in(cx, fd, *name ? name : ".", path, MAX_MODEL_BYTES, text, len);
	close(fd);
	if (got != PXL_OK) root_free(home, &al);
	return got;
}

pxl_status pxl_compile_file(pxl_ctx *cx, const char *path, pxl_model **out)
{
	char *text;
	size_t len;
	RtRoot home;
	if (!cx) return PXL_EINVAL;
	if (!path || !out) return cx_fail(cx, PXL_EINVAL, "pxl_compile_file needs a path and a place for the model");
	ctx_set_last(cx, NULL);
	pxl_status st = read_model(cx, path, &home, &text, &len);
	if (st != PXL_OK) return st;
	st = compile(cx, &(Load){ path, path, text, len, &home }, out);
	RtAlloc al = cx_rt_alloc(cx);
	root_free(&home, &al);
	cx_free(cx, text);
	return st;
}

pxl_model *model_ref(pxl_model *m)
{
	atomic_fetch_add(&m->refs, 1);
	return m;
}

void pxl_model_free(pxl_model *m)
{
	if (!m || atomic_fetch_sub(&m->refs, 1) != 1) return;
	pxl_ctx *cx = m->cx;
	task_memory_free(cx, m->task);
	unit_unref(m->u);
	cx_free(cx, m);
	pxl_ctx_free(cx);
}

/* --- questions ------------------------------------------------------------------------------------------ */
size_t pxl_program_count(const pxl_model *m) { return m ? (size_t)elab_program_count(m->u->elab) : 0; }
size_t pxl_task_count(const pxl_model *m) { return m ? (size_t)elab_task_count(m->u->elab) : 0; }

const char *pxl_program_name(const pxl_model *m, size_t i)
{
	return i < pxl_program_count(m) ? elab_program_name(m->u->elab, (int)i) : NULL;
}

const char *pxl_task_name(const pxl_model *m, size_t i)
{
	return i < pxl_task_count(m) ? elab_task_name(m->u->elab, (int)i) : NULL;
}

typedef struct ParamQuery { const char *program; size_t i; const char *out; } ParamQuery;

static pxl_status query_param(Unit *u, void *arg)
{
	ParamQuery *q = arg;
	q->out = elab_program_param(u->elab, q->program, (int)q->i);
	return PXL_OK;
}

const char *pxl_program_param(pxl_model *m, const char *program, size_t i)
{
	ParamQuery q = { program, i, NULL };
	if (!m || !program) return NULL;
	return unit_guard(m->u, query_param, &q) == PXL_OK ? q.out : NULL;
}

static pxl_status print_ast(Unit *u, void *arg)
{
	Buf b = buf_new(&u->mem);
	ast_print(lang_parse(&u->mem, &u->names, &u->ds, u->src), &b);
	*(const char **)arg = b.s;
	return PXL_OK;
}

pxl_status pxl_model_ast(pxl_model *m, const char **out)
{
	if (!m) return PXL_EINVAL;
	if (!out) return cx_fail(m->cx, PXL_EINVAL, "pxl_model_ast needs a place for the text");
	return unit_guard(m->u, print_ast, (void *)out);
}

typedef struct FormatCall { const char *name, *text; size_t len; Buf out; } FormatCall;

static pxl_status format_text(Unit *u, void *arg)
{
	FormatCall *f = arg;
	intern_init(&u->names, &u->mem);
	u->src = source_add(&u->srcs, f->name, NULL, f->text, f->len);
	Ast *file = lang_parse(&u->mem, &u->names, &u->ds, u->src);
	f->out = buf_new(&u->mem);
	if (u->ds.errors == 0) ast_format(file, source_get(&u->srcs, u->src), FORMAT_WIDTH, &f->out);
	return PXL_OK;
}

/* The context keeps the unit, and so the text, as its last one. */
pxl_status pxl_format(pxl_ctx *cx, const char *name, const char *text, size_t len, const char **out)
{
	pxl_status st;
	if (!cx) return PXL_EINVAL;
	if (!text || !out) return cx_fail(cx, PXL_EINVAL, "pxl_format needs a text and a place for the new one");
	if (len > MAX_MODEL_BYTES) return cx_fail(cx, PXL_EINVAL, "a model's text may have at most %d MiB", MAX_MODEL_BYTES >> 20);
	FormatCall f = { name ? name : "<memory>", text, len, { 0 } };
	Unit *u = unit_new(cx, &st);
	if (!u) return st;
	st = unit_guard(u, format_text, &f);
	if (st == PXL_OK) *out = f.out.s;
	unit_unref(u);
	return st;
}
