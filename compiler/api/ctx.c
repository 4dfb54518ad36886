/* ctx.c — contexts, errors, and the guard every call that compiles goes through. */
#include "compiler/api/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int pxl_version(void) { return PXL_VERSION_NUMBER; }

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
const char *pxl_version_text(void)
{
	return TEXT(PXL_VERSION_MAJOR) "." TEXT(PXL_VERSION_MINOR) "." TEXT(PXL_VERSION_PATCH);
}

const char *pxl_strstatus(pxl_status st)
{
	switch (st) {
#define X(name, number, text) case PXL_##name: return text;
	PXL_STATUS_MAP(X)
#undef X
	default: return "unknown status";
	}
}

/* the runtime counts its statuses and types the same way */
_Static_assert((int)PXL_ENOMEM == RT_ENOMEM && (int)PXL_EINTERNAL == RT_EINTERNAL && (int)PXL_ERUN == RT_ERUN, "statuses");
_Static_assert((int)PXL_F64 == DT_F64 && (int)PXL_BOOL == DT_BOOL && (int)PXL_F16 == DT_F16, "element types");

const char *pxl_dtype_name(pxl_dtype t) { return (unsigned)t < DT_COUNT ? dtype_info[t].name : "?"; }
size_t pxl_dtype_size(pxl_dtype t) { return (unsigned)t < DT_COUNT ? dtype_size(t) : 0; }

double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* --- memory ------------------------------------------------------------------------------------------ */
void *cx_alloc(pxl_ctx *cx, size_t size)
{
	RtAlloc a = cx_rt_alloc(cx);
	return rt_alloc(&a, size ? size : 1);
}

void cx_free(pxl_ctx *cx, void *p)
{
	RtAlloc a = cx_rt_alloc(cx);
	rt_free(&a, p);
}

char *cx_strdup(pxl_ctx *cx, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = cx_alloc(cx, n);
	return p ? memcpy(p, s, n) : NULL;
}

RtAlloc cx_rt_alloc(const pxl_ctx *cx)
{
	return (RtAlloc){ cx->opt.alloc, cx->opt.alloc_user };
}

/* --- options -------------------------------------------------------------------------------------------- */
/* Fields beyond the caller's size keep their defaults. A larger size than this library knows may ask for what it cannot do. */
pxl_status options_take(pxl_ctx *cx, const char *what, void *to, size_t known, const void *from)
{
	size_t size;
	if (!from) return PXL_OK;
	memcpy(&size, from, sizeof size);
	if (size < sizeof size) return cx ? cx_fail(cx, PXL_EINVAL, "the size of %s is %zu: begin with its _INIT macro", what, size) : PXL_EINVAL;
	if (size > known)
		return cx ? cx_fail(cx, PXL_EINVAL, "the size of %s is %zu, but this library knows %zu bytes of it: the program was compiled with a newer pxl.h",
		                    what, size, known) : PXL_EINVAL;
	memcpy(to, from, size);
	return PXL_OK;
}

/* --- contexts ------------------------------------------------------------------------------------------- */
pxl_status pxl_ctx_new(const pxl_options *opt, pxl_ctx **out)
{
	pxl_options o = PXL_OPTIONS_INIT;
	if (!out) return PXL_EINVAL;
	if (options_take(NULL, "", &o, sizeof o, opt) != PXL_OK || o.max_errors < 0 || o.max_steps < 0) return PXL_EINVAL;
	RtAlloc a = { o.alloc, o.alloc_user };
	pxl_ctx *cx = rt_alloc(&a, sizeof *cx);
	if (!cx) return PXL_ENOMEM;
	cx->opt = o;
	atomic_init(&cx->refs, 1);
	arena_init(&cx->text, o.alloc, o.alloc_user);
	const char *dir = o.cache_dir ? o.cache_dir : env_text("PXL_CACHE_DIR", "POPXL_CACHE_DIR");
	if (!dir) dir = env_text("POPART_CACHE_DIR", NULL);
	pxl_status st = dir && dir[0] && !(cx->cache_dir = cx_strdup(cx, dir)) ? PXL_ENOMEM : reach_allow(cx, &o);
	if (st != PXL_OK) {
		pxl_ctx_free(cx);
		return st;
	}
	log_begin(cx);
	*out = cx;
	return PXL_OK;
}

pxl_ctx *ctx_ref(pxl_ctx *cx)
{
	atomic_fetch_add(&cx->refs, 1);
	return cx;
}

/* A unit holds no reference to its context, so the last unit never keeps the context alive. */
void pxl_ctx_free(pxl_ctx *cx)
{
	if (!cx || atomic_fetch_sub(&cx->refs, 1) != 1) return;
	ctx_set_last(cx, NULL);
	arena_free(&cx->text);
	host_ops_free(cx);
	natives_free(cx);
	reach_forbid(cx);
	cx_free(cx, cx->cache_dir);
	cx_free(cx, cx);
}

const char *pxl_errmsg(const pxl_ctx *cx)
{
	return cx ? cx->errmsg[0] ? cx->errmsg : "no error" : "no context: out of memory, or options of a wrong size or with a negative number";
}

pxl_status cx_fail(pxl_ctx *cx, pxl_status st, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(cx->errmsg, sizeof cx->errmsg, fmt, ap);
	va_end(ap);
	return st;
}

pxl_status cx_fail_rt(pxl_ctx *cx, const RtErr *e)
{
	return cx_fail(cx, (pxl_status)e->status, "%s", e->text);
}

Arena *cx_text(pxl_ctx *cx)
{
	arena_free(&cx->text);
	return &cx->text;
}

/* --- units ------------------------------------------------------------------------------------------------ */
Unit *unit_new(pxl_ctx *cx, pxl_status *st)
{
	Unit *u = cx_alloc(cx, sizeof *u);
	if (!u) {
		*st = cx_fail(cx, PXL_ENOMEM, "out of memory");
		return NULL;
	}
	atomic_init(&u->refs, 1);
	u->alloc = cx->opt.alloc;
	u->alloc_user = cx->opt.alloc_user;
	u->cx = cx;
	arena_init(&u->mem, u->alloc, u->alloc_user);
	u->mem.limit = cx->opt.max_memory ? cx->opt.max_memory : (size_t)2 << 30;
	u->srcs.mem = &u->mem;
	u->ds.mem = &u->mem;
	u->ds.srcs = &u->srcs;
	u->ds.max_errors = cx->opt.max_errors;
	return u;
}

Unit *unit_ref(Unit *u)
{
	atomic_fetch_add(&u->refs, 1);
	return u;
}

void unit_unref(Unit *u)
{
	if (!u || atomic_fetch_sub(&u->refs, 1) != 1) return;
	RtAlloc a = { u->alloc, u->alloc_user };
	reach_end(u);
	arena_free(&u->mem);
	rt_free(&a, u);
}

void ctx_set_last(pxl_ctx *cx, Unit *u)
{
	Unit *old = cx->last;
	cx->last = u ? unit_ref(u) : NULL;
	unit_unref(old);
}

static void report_new(Unit *u)
{
	pxl_diag d;
	for (; u->reported < u->ds.at.n; u->reported++)
		if (u->cx->opt.diag && pxl_diag_get(u->cx, (size_t)u->reported, &d)) u->cx->opt.diag(u->cx->opt.diag_user, &d);
}

/* The diagnostic itself needs a little memory beyond the limit that was hit. */
static pxl_status over_limit(Unit *u, Span at)
{
	jmp_buf again;
	size_t limit = u->mem.limit;
	u->mem.limit = 0;
	u->mem.oom = &again;
	if (setjmp(again)) return cx_fail(u->cx, PXL_ENOMEM, "out of memory");
	diag(&u->ds, E0801, at, "building this model takes more than %zu MiB of memory", limit >> 20);
	report_new(u);
	return cx_fail(u->cx, PXL_EMODEL, "the model needs too much memory to build");
}

static pxl_status after_call(Unit *u, pxl_status st, int errors_before)
{
	report_new(u);
	int errors = u->ds.errors - errors_before;
	if (errors == 0) return st;
	if (st != PXL_OK && st != PXL_EMODEL) return st;
	return cx_fail(u->cx, PXL_EMODEL, errors == 1 ? "the model has an error" : "the model has %d errors", errors);
}

pxl_status unit_guard(Unit *u, UnitFn fn, void *arg)
{
	jmp_buf oom;
	int errors = u->ds.errors;
	if (u->broken) return cx_fail(u->cx, PXL_ENOMEM, "out of memory in an earlier call on this model");
	ctx_set_last(u->cx, u);
	u->mem.oom = &oom;
	int why = setjmp(oom);
	if (why == 0) return after_call(u, fn(u, arg), errors);
	u->broken = 1;
	if (why == OOM_LIMIT) return over_limit(u, (Span){ u->src, 0, 0 });
	return cx_fail(u->cx, PXL_ENOMEM, "out of memory");
}

/* --- diagnostics ---------------------------------------------------------------------------------------- */
size_t pxl_diag_count(const pxl_ctx *cx) { return cx && cx->last ? (size_t)cx->last->ds.at.n : 0; }

int pxl_diag_get(const pxl_ctx *cx, size_t i, pxl_diag *out)
{
	if (!out || i >= pxl_diag_count(cx)) return 0;
	const Diag *d = cx->last->ds.at.at[i];
	const Source *s = source_get(&cx->last->srcs, d->at.src);
	*out = (pxl_diag){ .code = diag_table[d->code].code, .kind = diag_kind_name[diag_table[d->code].kind],
	                   .is_error = d->level == D_ERROR, .message = d->text, .label = d->label ? d->label : "",
	                   .file = s ? s->name : "" };
	if (s) {
		source_locate(s, d->at.lo, &out->line, &out->column);
		out->offset = d->at.lo;
		out->length = d->at.hi - d->at.lo;
	}
	return 1;
}

const char *pxl_diag_text(pxl_ctx *cx, size_t i, int how)
{
	if (!cx || i >= pxl_diag_count(cx)) return "";
	jmp_buf oom;
	Arena *mem = cx_text(cx);
	mem->oom = &oom;
	if (setjmp(oom)) return "out of memory";
	Buf b = buf_new(mem);
	const Diags *ds = &cx->last->ds;
	if (how & PXL_DIAG_JSON) diag_render_json(ds, ds->at.at[i], &b);
	else diag_render(ds, ds->at.at[i], how & (DIAG_SHORT | DIAG_COLOR), &b);
	return b.s;
}

/* --- files ---------------------------------------------------------------------------------------------------- */
static pxl_status read_stream(pxl_ctx *cx, FILE *f, const char *path, size_t max, char **text, size_t *len)
{
	size_t cap = 0, n = 0;
	char *buf = NULL;
	for (;;) {
		if (n == cap) {
			size_t want = cap ? cap * 2 : 16384;
			char *more = want > max * 2 + 16384 ? NULL : cx_alloc(cx, want + 1);
			if (more && n) memcpy(more, buf, n);
			cx_free(cx, buf);
			buf = more;
			cap = want;
			if (!buf) return cx_fail(cx, PXL_ENOMEM, "out of memory reading `%s`", path);
		}
		size_t got = fread(buf + n, 1, cap - n, f);
		n += got;
		if (!got || n > max) break;
	}
	if (ferror(f) || n > max) {
		int why = errno;
		cx_free(cx, buf);
		return n > max ? cx_fail(cx, PXL_EIO, "`%s` is larger than %zu MiB: is it a model?", path, max >> 20)
		               : cx_fail(cx, PXL_EIO, "cannot read `%s`: %s", SHOWN(path), strerror(why));
	}
	buf[n] = 0;
	*text = buf;
	*len = n;
	return PXL_OK;
}

/* takes over fd */
static pxl_status read_fd(pxl_ctx *cx, int fd, const char *path, size_t max, char **text, size_t *len)
{
	struct stat sb;
	FILE *f = fdopen(fd, "rb");
	if (!f) return close(fd), cx_fail(cx, PXL_ENOMEM, "out of memory reading `%s`", path);
	pxl_status st = fstat(fd, &sb) == 0 && S_ISDIR(sb.st_mode)
		? cx_fail(cx, PXL_EIO, "cannot read `%s`: it is a directory", SHOWN(path))
		: read_stream(cx, f, path, max, text, len);
	fclose(f);
	return st;
}

pxl_status read_in(pxl_ctx *cx, int folder, const char *name, const char *path, size_t max, char **text, size_t *len)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return cx_fail(cx, PXL_EIO, "cannot open `%s`: %s", SHOWN(path), strerror(errno));
	return read_fd(cx, fd, path, max, text, len);
}

pxl_status read_file(pxl_ctx *cx, const RtPlace *p, size_t max, char **text, size_t *len)
{
	RtErr e;
	RtAlloc al = cx_rt_alloc(cx);
	if (!p->reach) return read_in(cx, AT_FDCWD, p->path, p->path, max, text, len);
	int fd = reach_open(p, &al, &e);
	return fd < 0 ? cx_fail_rt(cx, &e) : read_fd(cx, fd, p->path, max, text, len);
}
