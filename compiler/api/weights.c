/* weights.c — a session's variables as a safetensors file, with a note of where a training run stands.
 *
 * Loading looks at every name, type and shape first and writes nothing unless all are right. */
#include "compiler/api/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/formats/formats.h"

/* --- saving --------------------------------------------------------------------------------------------- */
static int save_items(pxl_session *s, const RtPlace *to, StItem *items, const StMeta *meta, int nmeta)
{
	const RtProgram *p = &s->p->rt;
	RtAlloc al = cx_rt_alloc(s->p->m->cx);
	for (int i = 0; i < p->nvar; i++) {
		const RtVar *v = &p->vars[i];
		const void *data = rt_session_view(s->rt, i, &s->err);
		if (!data) return s->err.status;
		items[i] = (StItem){ v->name, v->dtype, v->rank, v->dim, data };
	}
	return st_write(to, items, p->nvar, meta, nmeta, &al, &s->err);
}

static int save(pxl_session *s, const RtPlace *to, const StMeta *meta, int nmeta)
{
	pxl_ctx *cx = s->p->m->cx;
	StItem *items = cx_alloc(cx, sizeof *items * ((size_t)s->p->rt.nvar + 1));
	if (!items) return rt_fail(&s->err, RT_ENOMEM, "out of memory while saving `%s`", to->path);
	int st = save_items(s, to, items, meta, nmeta);
	cx_free(cx, items);
	return st;
}

pxl_status pxl_save(pxl_session *s, const char *path) 
{
	if (!s) return PXL_EINVAL;
	if (!path) return session_fail(s, PXL_EINVAL, "pxl_save needs a path");
	return (pxl_status)save(s, BY_USER(path), NULL, 0);
}

int weights_save(pxl_session *s, const RtPlace *to, const Standing *at)
{
	char text[6][32];
	snprintf(text[0], 32, "%lld", (long long)at->total_step);
	snprintf(text[1], 32, "%lld", (long long)at->epoch);
	snprintf(text[2], 32, "%lld", (long long)at->position);
	snprintf(text[3], 32, "%llu", (unsigned long long)at->seed);
	snprintf(text[4], 32, "%llu", (unsigned long long)at->runs);
	snprintf(text[5], 32, "%lld", (long long)at->batch);
	StMeta meta[] = { { "pxl.step", text[0] }, { "pxl.epoch", text[1] }, { "pxl.position", text[2] }, { "pxl.seed", text[3] },
	                  { "pxl.runs", text[4] }, { "pxl.batch", text[5] }, { "pxl.epoch_sums", at->ranges[0] }, { "pxl.sums", at->ranges[1] } };
	return save(s, to, meta, sizeof meta / sizeof *meta);
}

/* --- loading --------------------------------------------------------------------------------------------- */
static void shape_text(int rank, const int64_t *dim, char out[128])
{
	int n = snprintf(out, 128, "[");
	for (int i = 0; i < rank && n < 100; i++) n += snprintf(out + n, (size_t)(128 - n), "%s%lld", i ? ", " : "", (long long)dim[i]);
	snprintf(out + n, (size_t)(128 - n), "]");
}

typedef struct Fit { const RtProgram *p; const StFile *f; const char *path; RtErr *e; } Fit;

/* A variable that the file lacks: an error, unless only what both have counts, or it is state and may start anew. */
static int may_lack(const RtVar *v, int partial) { return partial == PXL_SHARED || (partial == PXL_NEEDED && v->state); }

/* "`a`, `b` and 7 more": names of those variables that the file lacks and that may (or may not) be lacking; how many there are */
static int lacking(const Fit *t, int partial, int may, char *text, size_t size)
{
	enum { ROOM = 24 };                      /* for "and so many more" */
	size_t n = 0;
	int count = 0, named = 0;
	text[0] = 0;
	for (int i = 0; i < t->p->nvar; i++) {
		const RtVar *v = &t->p->vars[i];
		if (st_find(t->f, v->name) || may_lack(v, partial) != may) continue;
		if (count++ == named && n + strlen(v->name) + 4 + ROOM < size) {
			n += (size_t)snprintf(text + n, size - n, "%s`%s`", named ? ", " : "", v->name);
			named++;
		}
	}
	if (count > named) snprintf(text + n, size - n, "%s%d more", named ? " and " : "", count - named);
	return count;
}

static int check_entry(const Fit *t, const RtVar *v)
{
	const StEntry *e = st_find(t->f, v->name);
	char have[128], want[128];
	if (!e || (e->dtype == v->dtype && e->rank == v->rank && !memcmp(e->dim, v->dim, sizeof *v->dim * (size_t)v->rank))) return RT_OK;
	shape_text(e->rank, e->dim, have);
	shape_text(v->rank, v->dim, want);
	return rt_fail(t->e, RT_EIO, "`%s` holds `%s` as %s%s, but the program's is %s%s", t->path, v->name, dtype_info[e->dtype].name, have,
	               dtype_info[v->dtype].name, want);
}

static int find_var(const RtProgram *p, const char *name)
{
	for (int i = 0; i < p->nvar; i++)
		if (!strcmp(p->vars[i].name, name)) return i;
	return -1;
}

static int check_file(const Fit *t, int partial)
{
	char names[300];
	int missing = lacking(t, partial, 0, names, sizeof names);
	if (missing) return rt_fail(t->e, RT_EIO, "`%s` lacks %d of the %d variables of program `%s`: %s", t->path, missing, t->p->nvar, t->p->name, names);
	for (int i = 0; i < t->p->nvar; i++)
		if (check_entry(t, &t->p->vars[i])) return t->e->status;
	for (int i = 0; !partial && i < st_count(t->f); i++)
		if (find_var(t->p, st_entry(t->f, i)->name) < 0)
			return rt_fail(t->e, RT_EIO, "`%s` has a tensor `%s`, but the program has no such variable", t->path, st_entry(t->f, i)->name);
	return RT_OK;
}

int weights_check(const pxl_program *p, const RtPlace *from, int partial, RtErr *e)
{
	StFile *f;
	RtAlloc al = cx_rt_alloc(p->m->cx);
	if (st_open(from, &al, &f, e)) return e->status;
	int st = check_file(&(Fit){ &p->rt, f, from->path, e }, partial);
	st_close(f);
	return st;
}

static int read_all(pxl_session *s, const StFile *f, int partial, void *buffer)
{
	const RtProgram *p = &s->p->rt;
	for (int i = 0; i < p->nvar; i++) {
		const RtVar *v = &p->vars[i];
		const StEntry *e = st_find(f, v->name);
		if (!e && partial != PXL_NEEDED) continue;
		if (e && st_read(f, e, buffer, &s->err)) return s->err.status;
		if (!e) rt_init_fill(&v->init, s->p->seed, v->dtype, buffer, v->nelem);
		if (rt_session_write(s->rt, i, buffer, v->bytes, &s->err)) return s->err.status;
	}
	return RT_OK;
}

static void tell_of_state(const pxl_session *s, const StFile *f, const char *path)
{
	char names[900];
	RtErr none;
	int n = lacking(&(Fit){ &s->p->rt, f, path, &none }, PXL_NEEDED, 1, names, sizeof names);
	if (n) cx_log(s->p->m->cx, IN_SESSION, LOG_WARN, "`%s` lacks %d variable%s of the training's state, which start%s anew: %s", path, n, n == 1 ? "" : "s", n == 1 ? "s" : "", names);
}

static size_t largest(const RtProgram *p)
{
	size_t n = 1;
	for (int i = 0; i < p->nvar; i++)
		if (p->vars[i].bytes > n) n = p->vars[i].bytes;
	return n;
}

static int number(const StFile *f, const char *key, int64_t *out)
{
	const char *text = st_meta(f, key);
	char *end;
	if (!text) return 0;
	unsigned long long x = strtoull(text, &end, 10);
	*out = (int64_t)x;
	return *text && !*end;
}

static int read_standing(pxl_session *s, const StFile *f, const char *path, Standing *at)
{
	int64_t seed, runs;
	if (!number(f, "pxl.step", &at->total_step) || !number(f, "pxl.epoch", &at->epoch) || !number(f, "pxl.position", &at->position) ||
	    !number(f, "pxl.seed", &seed) || !number(f, "pxl.runs", &runs) || !number(f, "pxl.batch", &at->batch))
		return rt_fail(&s->err, RT_EIO, "`%s` does not say where its training stood, so it cannot be resumed; start from it with --weights instead", path);
	at->seed = (uint64_t)seed;
	at->runs = (uint64_t)runs;
	static const char *const keys[] = { "pxl.epoch_sums", "pxl.sums" };
	for (int i = 0; i < 2; i++) {
		const char *text = st_meta(f, keys[i]);
		at->ranges[i] = cx_strdup(s->p->m->cx, text ? text : "");
		if (!at->ranges[i]) return rt_fail(&s->err, RT_ENOMEM, "out of memory while loading `%s`", path);
	}
	return RT_OK;
}

int weights_load(pxl_session *s, const RtPlace *from, int partial, Standing *at)
{
	StFile *f;
	pxl_ctx *cx = s->p->m->cx;
	RtAlloc al = cx_rt_alloc(cx);
	if (st_open(from, &al, &f, &s->err)) return s->err.status;
	const char *path = from->path;
	void *buffer = NULL;
	int st = check_file(&(Fit){ &s->p->rt, f, path, &s->err }, partial);
	if (!st && at) st = read_standing(s, f, path, at);
	if (!st && !(buffer = cx_alloc(cx, largest(&s->p->rt)))) st = rt_fail(&s->err, RT_ENOMEM, "out of memory while loading `%s`", path);
	if (!st) st = read_all(s, f, partial, buffer);
	if (!st && partial == PXL_NEEDED) tell_of_state(s, f, path);
	cx_free(cx, buffer);
	st_close(f);
	return st;
}

pxl_status pxl_load(pxl_session *s, const char *path, int partial)
{
	if (!s) return PXL_EINVAL;
	if (!path) return session_fail(s, PXL_EINVAL, "pxl_load needs a path");
	if (partial < 0 || partial > PXL_NEEDED) return session_fail(s, PXL_EINVAL, "there is no way %d to load: 0, PXL_SHARED and PXL_NEEDED are", partial);
	return (pxl_status)weights_load(s, BY_USER(path), partial, NULL);
}
