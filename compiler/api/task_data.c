/* task_data.c — a task's samples: where they come from, and which stream takes which column. */
#include "compiler/api/task.h"

#include <stdlib.h>
#include <string.h>

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
		a.data = host_bytes(&t->m->u->mem, h, t->seed);
		if (data_add(t->data, k->arrays[i].column, &a, e)) return cx_fail_rt(t->m->cx, e);
	}
	return PXL_OK;
}

typedef struct Opening { Tm *t; int columns_only; } Opening;

static pxl_status open_data(Unit *u, void *arg)
{
	const Opening *o = arg;
	Tm *t = o->t;
	const Task *k = t->t;
	RtErr e = { 0 };
	RtAlloc al = cx_rt_alloc(u->cx);
	int split = k->split && !strcmp(k->split, "test") ? SPLIT_TEST : SPLIT_TRAIN;
	const char *dir = t->o.data_dir ? t->o.data_dir : getenv("PXL_DATA_DIR");
	if (o->columns_only && (k->data == DATA_MNIST || k->data == DATA_DIGITS))
		return data_columns(split, &al, &t->data, &e) ? cx_fail_rt(u->cx, &e) : PXL_OK;
	switch (k->data) {
	case DATA_NONE: return PXL_OK;
	case DATA_ARRAYS: return arrays_data(t, &al, &e);
	case DATA_DIGITS: return data_digits(split, k->shuffle, &al, &t->data, &e) ? cx_fail_rt(u->cx, &e) : PXL_OK;
	case DATA_MNIST: break;
	}
	if (data_mnist(dir && *dir ? dir : NULL, split, k->shuffle, &al, &t->data, &e)) return cx_fail_rt(u->cx, &e);
	if (strcmp(t->data->kind, "mnist"))
		cx_log(u->cx, IN_DATA, LOG_WARN, "no MNIST files found (--data DIR or PXL_DATA_DIR name their folder); using the built-in digits instead");
	return PXL_OK;
}

pxl_status task_open_data(Tm *t, int columns_only) { return unit_guard(t->m->u, open_data, &(Opening){ t, columns_only }); }

/* --- streams ------------------------------------------------------------------------------------------------------ */
static pxl_status no_column(Tm *t, const RtStream *s)
{
	char known[512] = "";
	for (int i = 0; t->data && i < t->data->ncolumn; i++)
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s`%s`", i ? ", " : "", t->data->column[i].name);
	return task_wrong(t, "program `%s` has an input stream `%s`, but the task's data has %s%s", t->p->name, s->name,
	               known[0] ? "only " : "no columns", known);
}

/* a stream's entry is [batch] + one sample, in any shape with as many elements */
static pxl_status stream_batch(Tm *t, const RtStream *s, const RtColumn *c)
{
	int64_t batch = s->rank ? s->dim[0] : 1;
	if (batch <= 0 || s->nelem != (size_t)batch * c->nelem)
		return task_wrong(t, "input stream `%s` takes %zu elements at a time, which is not a batch of samples of column `%s` (%zu elements each)",
		               s->name, s->nelem, c->name, c->nelem);
	if (t->batch && batch != t->batch)
		return task_wrong(t, "input stream `%s` takes %lld samples at a time, another stream %lld", s->name, (long long)batch, (long long)t->batch);
	t->batch = batch;
	return PXL_OK;
}

static pxl_status add_feed(Tm *t, int stream)
{
	const RtStream *s = &t->p->rt.streams[stream];
	Feed *f = &t->feeds[t->nfeed];
	*f = (Feed){ .stream = stream, .column = t->data ? data_column(t->data, s->name) : -1 };
	if (f->column < 0) return no_column(t, s);
	const RtColumn *c = &t->data->column[f->column];
	pxl_status st = stream_batch(t, s, c);
	if (st != PXL_OK) return st;
	if (dtype_is_float(c->dtype) != dtype_is_float(s->dtype))
		return task_wrong(t, "input stream `%s` is %s, but its data is %s", s->name, dtype_info[s->dtype].name, dtype_info[c->dtype].name);
	t->nfeed++;
	return PXL_OK;
}

pxl_status task_match(Tm *t)
{
	int n = t->p->rt.nstream;
	t->feeds = cx_alloc(t->m->cx, sizeof *t->feeds * ((size_t)n + 1));
	if (!t->feeds) return task_no_memory(t);
	for (int i = 0; i < n; i++) {
		const pxl_info *info = &t->p->infos[i];
		pxl_status st = info->used && info->kind == PXL_INPUT ? add_feed(t, i) : PXL_OK;
		if (st != PXL_OK) return st;
	}
	t->step_samples = t->batch * t->p->rt.transfers * t->p->rt.replicas;
	if (t->data && t->nfeed && (int64_t)t->data->n < t->step_samples)
		return task_wrong(t, "a step takes %lld samples, but the data has only %zu", (long long)t->step_samples, t->data->n);
	return PXL_OK;
}

static pxl_status connect_feed(Tm *t, Feed *f)
{
	pxl_ctx *cx = t->m->cx;
	const pxl_info *info = &t->p->infos[f->stream];
	DType have = t->data->column[f->column].dtype, want = t->p->rt.streams[f->stream].dtype;
	f->buffer = cx_alloc(cx, info->bytes);
	f->raw = have == want ? NULL : cx_alloc(cx, info->nelem * dtype_size(have));
	if (!f->buffer || (have != want && !f->raw)) return task_no_memory(t);
	return pxl_bind(t->s, f->stream, f->buffer, info->bytes) == PXL_OK ? PXL_OK : task_session_failed(t);
}

pxl_status task_connect(Tm *t)
{
	int n = t->p->rt.nstream;
	t->outs = cx_alloc(t->m->cx, sizeof *t->outs * ((size_t)n + 1));
	if (!t->outs) return task_no_memory(t);
	for (int i = 0; i < t->nfeed; i++) {
		pxl_status st = connect_feed(t, &t->feeds[i]);
		if (st != PXL_OK) return st;
	}
	for (int i = 0; i < n; i++) {
		const pxl_info *info = &t->p->infos[i];
		if (!info->used || info->kind == PXL_INPUT) continue;
		if (!(t->outs[i] = cx_alloc(t->m->cx, info->bytes))) return task_no_memory(t);
		if (pxl_bind(t->s, i, t->outs[i], info->bytes) != PXL_OK) return task_session_failed(t);
	}
	return PXL_OK;
}

/* --- a step ---------------------------------------------------------------------------------------------------------- */
void task_feed(Tm *t)
{
	for (int i = 0; i < t->nfeed; i++) {
		Feed *f = &t->feeds[i];
		data_fill(t->data, f->column, (size_t)t->at.position, (size_t)t->step_samples, f->raw ? f->raw : f->buffer);
		if (f->raw)
			rt_convert(t->p->rt.streams[f->stream].dtype, f->buffer, t->data->column[f->column].dtype, f->raw, t->p->infos[f->stream].nelem);
	}
}
