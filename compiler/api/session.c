/* session.c — a program in memory: streams' buffers, runs, variables in and out of files.
 *
 * Streams live in the session's own buffers until the caller binds arrays of its own; own buffers are
 * made once, at the first need, so steady runs allocate nothing. */
#include "compiler/api/internal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/formats/formats.h"

pxl_status session_fail(pxl_session *s, pxl_status st, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	s->err.status = (int)st;
	vsnprintf(s->err.text, sizeof s->err.text, fmt, ap);
	va_end(ap);
	return st;
}

/* a runtime status, whose message is in s->err already */
static pxl_status status(int st) { return (pxl_status)st; }

const char *pxl_session_errmsg(const pxl_session *s) { return !s ? "no session" : s->err.text[0] ? s->err.text : "no error"; }

/* --- life ------------------------------------------------------------------------------------------------ */
static RtOptions rt_options(const pxl_program *p, const pxl_session_options *o)
{
	pxl_ctx *cx = p->m->cx;
	return (RtOptions){ .seed = p->seed, .threads = o->threads, .detached = o->detached, .rough = o->rough_start, .alloc = cx_rt_alloc(cx),
	                    .print = cx->opt.log, .print_user = cx->opt.log_user };
}

/* R67: the program as it was written, one checkpoint more */
static pxl_status draw_final(Unit *u, void *arg)
{
	pxl_program *p = arg;
	Buf why = buf_new(&u->mem);
	if (drawing_checkpoint(u->cx, &p->drawing, p->ir, "Final", NULL, &u->mem, &why)) return PXL_OK;
	return cx_fail(u->cx, PXL_EIO, "checkpoint `Final` cannot be drawn: %s", why.s);
}

static pxl_status start(pxl_session *s, const pxl_session_options *o)
{
	pxl_status st = maps_open(s, o);
	RtOptions ro = rt_options(s->p, o);
	maps_use(s, &ro);
	if (st != PXL_OK) return st;
	if (rt_session_new(&s->p->rt, &ro, &s->rt, &s->err)) return cx_fail_rt(s->p->m->cx, &s->err);
	return maps_publish(s);
}

pxl_status check_session_options(pxl_ctx *cx, const pxl_session_options *o)
{
	if (o->threads < 0 || o->threads > 1024) return cx_fail(cx, PXL_EINVAL, "threads must lie between 0 and 1024, not be %d", o->threads);
	if (o->nmap > MOST_LISTED) return cx_fail(cx, PXL_EINVAL, "%zu mappings are too many", o->nmap);
	if (o->nmap && !o->maps) return cx_fail(cx, PXL_EINVAL, "%zu mappings are announced, and none is given", o->nmap);
	for (size_t i = 0; i < o->nmap; i++) {
		if (!o->maps[i].path || !*o->maps[i].path) return cx_fail(cx, PXL_EINVAL, "mapping %zu has no path", i);
		if (o->maps[i].how & ~(PXL_MAP_READ_EXISTING | PXL_MAP_EMPTY)) return cx_fail(cx, PXL_EINVAL, "there is no way %d to map `%s` (PXL_MAP_...)", o->maps[i].how, o->maps[i].path);
	}
	return PXL_OK;
}

pxl_status pxl_session_new(pxl_program *p, const pxl_session_options *opt, pxl_session **out)
{
	if (!p) return PXL_EINVAL;
	pxl_ctx *cx = p->m->cx;
	pxl_session_options o = PXL_SESSION_OPTIONS_INIT;
	if (!out) return cx_fail(cx, PXL_EINVAL, "pxl_session_new needs a place for the session");
	if (options_take(cx, "pxl_session_options", &o, sizeof o, opt) != PXL_OK || check_session_options(cx, &o) != PXL_OK) return PXL_EINVAL;
	if (!p->jit) return cx_fail(cx, PXL_EINVAL, "the program was only built, not compiled: it cannot run");
	if (p->drawing.base && unit_guard(p->m->u, draw_final, p) != PXL_OK) return PXL_EIO;
	pxl_session *s = cx_alloc(cx, sizeof *s);
	size_t n = (size_t)p->rt.nstream + 1;
	if (s) {
		s->p = program_ref(p);
		tier_join(p);
		s->exact_dtypes = o.exact_dtypes;
		s->own = cx_alloc(cx, n * sizeof *s->own);
		s->bound = cx_alloc(cx, n * sizeof *s->bound);
		s->binds = cx_alloc(cx, n * sizeof *s->binds);
	}
	if (!s || !s->own || !s->bound || !s->binds) {
		pxl_session_free(s);
		return cx_fail(cx, PXL_ENOMEM, "out of memory");
	}
	pxl_status st = start(s, &o);
	if (st != PXL_OK) pxl_session_free(s);
	else {
		cx_log(cx, IN_SESSION, LOG_DEBUG, "program `%s`: a session of %d replica%s, %s", p->rt.name, p->rt.replicas, p->rt.replicas == 1 ? "" : "s",
		       o.detached ? "detached" : "attached");
		if (cx->opt.verbose) cx_log(cx, IN_SESSION, LOG_INFO, "program `%s`: runs the code of %s, threads %d, replicas %d", p->rt.name, jit_kind(p->jit),
		                            rt_session_threads(s->rt), p->rt.replicas);
		*out = s;
	}
	return st;
}

void pxl_session_free(pxl_session *s)
{
	if (!s) return;
	pxl_program *p = s->p;
	pxl_ctx *cx = p->m->cx;
	if (s->rt) rt_session_free(s->rt);
	maps_close(s);
	for (int i = 0; s->own && i < p->rt.nstream; i++) cx_free(cx, s->own[i]);
	cx_free(cx, s->own);
	cx_free(cx, s->bound);
	cx_free(cx, s->binds);
	cx_free(cx, s);
	tier_leave(p);
	pxl_program_free(p);
}

int pxl_session_threads(const pxl_session *s) { return s ? rt_session_threads(s->rt) : 0; }

/* --- data in and out -------------------------------------------------------------------------------------- */
static int is_variable(const pxl_session *s, int index) { return index >= s->p->rt.nstream; }

static pxl_status check(pxl_session *s, int index, size_t bytes, const char *verb)
{
	pxl_info i;
	if (!pxl_get_info(s->p, index, &i)) return session_fail(s, PXL_EINVAL, "cannot %s index %d: the program has %d streams and variables", verb, index, s->p->ninfo);
	if (bytes != i.bytes) return session_fail(s, PXL_EINVAL, "cannot %s `%s`: %zu bytes were given, its array has %zu", verb, i.name, bytes, i.bytes);
	return PXL_OK;
}

static void *own_buffer(pxl_session *s, int index)
{
	if (!s->own[index]) s->own[index] = cx_alloc(s->p->m->cx, s->p->infos[index].bytes);
	if (!s->own[index]) session_fail(s, PXL_ENOMEM, "out of memory for stream `%s`", s->p->infos[index].name);
	return s->own[index];
}

pxl_status pxl_write(pxl_session *s, int index, const void *data, size_t bytes)
{
	if (!s) return PXL_EINVAL;
	pxl_status st = check(s, index, bytes, "write");
	if (st != PXL_OK) return st;
	if (bytes && !data) return session_fail(s, PXL_EINVAL, "cannot write `%s`: no data", s->p->infos[index].name);
	if (is_variable(s, index)) return status(rt_session_write(s->rt, index - s->p->rt.nstream, data, bytes, &s->err));
	if (s->p->infos[index].kind != PXL_INPUT) return session_fail(s, PXL_EINVAL, "cannot write `%s`: it is an output", s->p->infos[index].name);
	if (!own_buffer(s, index)) return PXL_ENOMEM;
	if (bytes) memcpy(s->own[index], data, bytes);
	s->bound[index] = NULL;
	return PXL_OK;
}

pxl_status pxl_write_variables(pxl_session *s, const pxl_value *values, size_t n)
{
	if (!s) return PXL_EINVAL;
	if (n && !values) return session_fail(s, PXL_EINVAL, "pxl_write_variables needs a list of values");
	if (n > (size_t)s->p->rt.nvar) return session_fail(s, PXL_EINVAL, "%zu values for the %d variables of the program", n, s->p->rt.nvar);
	RtWrite *w = cx_alloc(s->p->m->cx, (n + 1) * sizeof *w);
	pxl_status st = w ? PXL_OK : session_fail(s, PXL_ENOMEM, "out of memory");
	for (size_t i = 0; i < n && st == PXL_OK; i++) {
		if ((st = check(s, values[i].index, values[i].bytes, "write")) != PXL_OK) break;
		if (!is_variable(s, values[i].index)) st = session_fail(s, PXL_EINVAL, "cannot write `%s` among variables: it is a stream", s->p->infos[values[i].index].name);
		else if (values[i].bytes && !values[i].data) st = session_fail(s, PXL_EINVAL, "cannot write `%s`: no data", s->p->infos[values[i].index].name);
		else w[i] = (RtWrite){ values[i].index - s->p->rt.nstream, values[i].data, values[i].bytes };
	}
	if (st == PXL_OK) st = status(rt_session_write_all(s->rt, w, (int)n, &s->err));
	cx_free(s->p->m->cx, w);
	return st;
}

pxl_status pxl_read(pxl_session *s, int index, void *out, size_t bytes)
{
	if (!s) return PXL_EINVAL;
	pxl_status st = check(s, index, bytes, "read");
	if (st != PXL_OK) return st;
	if (bytes && !out) return session_fail(s, PXL_EINVAL, "cannot read `%s`: no place for it", s->p->infos[index].name);
	if (is_variable(s, index)) return status(rt_session_read(s->rt, index - s->p->rt.nstream, out, bytes, &s->err));
	const void *from = s->bound[index] ? s->bound[index] : s->own[index];
	if (!from) return session_fail(s, PXL_EINVAL, "cannot read `%s`: nothing has been written to it yet", s->p->infos[index].name);
	if (bytes) memcpy(out, from, bytes);
	return PXL_OK;
}

pxl_status pxl_view(pxl_session *s, int index, const void **out)
{
	pxl_info i;
	if (!s) return PXL_EINVAL;
	if (!out || !pxl_get_info(s->p, index, &i) || !is_variable(s, index))
		return session_fail(s, PXL_EINVAL, "pxl_view needs the index of a variable and a place for the pointer");
	const void *data = rt_session_view(s->rt, index - s->p->rt.nstream, &s->err);
	if (!data) return status(s->err.status);
	*out = data;
	return PXL_OK;
}

pxl_status pxl_bind(pxl_session *s, int index, void *data, size_t bytes)
{
	pxl_info i;
	if (!s) return PXL_EINVAL;
	int known = pxl_get_info(s->p, index, &i), more = known && i.kind == PXL_INPUT && s->p->rt.transfers > 1 && bytes > i.bytes;
	pxl_status st = check(s, index, known && (!data || more) ? i.bytes : bytes, "bind");
	if (st != PXL_OK) return st;
	if (is_variable(s, index)) return session_fail(s, PXL_EINVAL, "cannot bind `%s`: it is a variable; read and write it instead", s->p->infos[index].name);
	size_t transfer = i.bytes / (size_t)s->p->rt.transfers;
	if (data && transfer && bytes % transfer)
		return session_fail(s, PXL_EINVAL, "cannot bind `%s`: %zu bytes are no whole number of transfers of %zu bytes", i.name, bytes, transfer);
	s->bound[index] = data;
	return PXL_OK;
}

/* --- running ------------------------------------------------------------------------------------------------ */
static pxl_status gather_binds(pxl_session *s, int *n)
{
	*n = 0;
	for (int i = 0; i < s->p->rt.nstream; i++) {
		const pxl_info *info = &s->p->infos[i];
		if (!info->used) continue;
		void *data = s->bound[i] ? s->bound[i] : s->own[i];
		if (!data && info->kind == PXL_INPUT && info->bytes) return session_fail(s, PXL_EINVAL, "input `%s` has no data: write or bind it before running", info->name);
		if (!data && !(data = own_buffer(s, i))) return PXL_ENOMEM;
		s->binds[(*n)++] = (RtBind){ i, data, info->nelem };
	}
	return PXL_OK;
}

pxl_status pxl_run(pxl_session *s, size_t times)
{
	int n;
	if (!s) return PXL_EINVAL;
	if (times > INT64_MAX) return session_fail(s, PXL_EINVAL, "cannot run %zu times: is it a negative number?", times);
	pxl_status st = gather_binds(s, &n);
	for (size_t i = 0; i < times && st == PXL_OK; i++) {
		tier_before_step(s);
		st = status(rt_session_run(s->rt, s->binds, n, &s->err));
	}
	return st;
}

uint64_t pxl_runs(const pxl_session *s) { return s ? rt_session_runs(s->rt) : 0; }

void pxl_get_traffic(const pxl_session *s, pxl_traffic *out)
{
	if (!s || !out) return;
	RtTraffic t = rt_session_traffic(s->rt);
	pxl_traffic now = { out->size, t.moves[PXLRT_HOST_LOAD], t.moves[PXLRT_HOST_STORE], t.moves[PXLRT_REMOTE_LOAD], t.moves[PXLRT_REMOTE_STORE],
	                    t.moves[PXLRT_CODE_LOAD], t.exchanges, (uint64_t)rt_session_transfers(s->rt, 1), (uint64_t)rt_session_transfers(s->rt, 0) };
	memcpy(out, &now, out->size < sizeof now ? out->size : sizeof now);
}

/* --- moving weights ---------------------------------------------------------------------------------------- */
pxl_status pxl_attach(pxl_session *s) { return !s ? PXL_EINVAL : status(rt_session_attach(s->rt, &s->err)); }
pxl_status pxl_detach(pxl_session *s, int to_host) { return !s ? PXL_EINVAL : status(rt_session_detach(s->rt, to_host, &s->err)); }
int pxl_is_attached(const pxl_session *s) { return s && rt_session_attached(s->rt); }
int pxl_in_sync(const pxl_session *s) { return s && rt_session_synced(s->rt); }
pxl_status pxl_weights_to_host(pxl_session *s) { return !s ? PXL_EINVAL : status(rt_session_weights_to_host(s->rt, &s->err)); }
pxl_status pxl_weights_from_host(pxl_session *s) { return !s ? PXL_EINVAL : status(rt_session_weights_from_host(s->rt, &s->err)); }

static int find_var(const RtProgram *p, const char *name)
{
	int i = 0;
	while (i < p->nvar && strcmp(p->vars[i].name, name)) i++;
	return i < p->nvar ? i : -1;
}

static void var_text(const RtVar *v, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%s[", dtype_info[v->dtype].name);
	for (int i = 0; i < v->rank && n < size; i++) n += (size_t)snprintf(out + n, size - n, i ? ", %lld" : "%lld", (long long)v->dim[i]);
	if (n < size) snprintf(out + n, size - n, "]");
}

static pxl_status copy_variable(pxl_session *to, int at, pxl_session *from, int i)
{
	const void *data = rt_session_view(from->rt, i, &from->err);
	if (!data) return session_fail(to, status(from->err.status), "%s", from->err.text);
	return status(rt_session_write(to->rt, at, data, from->p->rt.vars[i].bytes, &to->err));
}

pxl_status pxl_copy_variables(pxl_session *to, pxl_session *from, size_t *out)
{
	if (!to) return PXL_EINVAL;
	if (!from) return session_fail(to, PXL_EINVAL, "no session to copy from");
	const RtProgram *a = &from->p->rt, *b = &to->p->rt;
	char have[160], want[160];
	size_t copied = 0;
	for (int i = 0; i < a->nvar; i++) {
		const RtVar *x = &a->vars[i], *y = find_var(b, x->name) < 0 ? NULL : &b->vars[find_var(b, x->name)];
		if (!y || (x->dtype == y->dtype && x->rank == y->rank && !memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim))) continue;
		var_text(x, have, sizeof have);
		var_text(y, want, sizeof want);
		return session_fail(to, PXL_EINVAL, "`%s` of program `%s` is %s, that of program `%s` %s: nothing is copied", x->name, a->name, have, b->name, want);
	}
	for (int i = 0; i < a->nvar; i++) {
		int at = find_var(b, a->vars[i].name);
		pxl_status st = at < 0 ? PXL_OK : copy_variable(to, at, from, i);
		if (st != PXL_OK) return st;
		copied += at >= 0;
	}
	if (out) *out = copied;
	return PXL_OK;
}
