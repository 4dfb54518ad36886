/* run.h — random graphs in every way they can be compiled and run, and what must be equal.
 *
 * To the bit: what libtcc and cc make of the same C, and any number of threads.  To a tolerance of the
 * element type: what the passes leave of a graph and what was written (sums are made in another order,
 * narrow floats keep more between fused ops), and graphs that are called against the same written out. */
#ifndef TESTS_GRAPHS_RUN_H
#define TESTS_GRAPHS_RUN_H

#include "compiler/api/pxl.h"
#include "tests/graphs/text.h"

#include <math.h>

typedef struct Config { const char *name; int level; pxl_jit jit; int threads, outline, like; } Config;
/* like: the configuration whose bits it must have; those that are like themselves are near the first */
static const Config configs[] = {
	{ "-O0, tcc, called", 0, PXL_JIT_TCC, 1, 1, 0 },
	{ "-O2, tcc, called", 2, PXL_JIT_TCC, 1, 1, 1 },
	{ "-O2, tcc, called, 3 threads", 2, PXL_JIT_TCC, 3, 1, 1 },
	{ "-O0, tcc, inline", 0, PXL_JIT_TCC, 1, 0, 3 },
	{ "-O2, tcc, inline", 2, PXL_JIT_TCC, 1, 0, 4 },
	{ "-O2, cc, called", 2, PXL_JIT_CC, 1, 1, 1 },
	{ "-O2, cc, inline, 3 threads", 2, PXL_JIT_CC, 3, 0, 4 },
	{ "-O0, cc, called", 0, PXL_JIT_CC, 1, 1, 0 },
};
enum { TCC_CONFIGS = 5, CONFIGS = sizeof configs / sizeof *configs, MOST_OUTS = 4096 };

typedef struct Out { char name[48]; pxl_dtype dtype; size_t n; unsigned char *data; } Out;
typedef struct Result { pxl_status st; char why[600]; int n; Out *out; } Result;

static inline void result_free(Result *r)
{
	for (int i = 0; i < r->n; i++) free(r->out[i].data);
	free(r->out);
	*r = (Result){ 0 };
}

static inline void result_fails(Result *r, pxl_ctx *cx, pxl_status st, const char *what)
{
	r->st = st;
	snprintf(r->why, sizeof r->why, "%s: %s %.400s", what, pxl_errmsg(cx), pxl_diag_count(cx) ? pxl_diag_text(cx, 0, PXL_DIAG_FULL) : "");
}

static inline void read_outs(Result *r, pxl_program *p, pxl_session *s)
{
	pxl_info info;
	r->out = calloc(MOST_OUTS, sizeof *r->out);
	for (int i = 0; r->out && pxl_get_info(p, i, &info) && r->n < MOST_OUTS; i++) {
		if (info.kind != PXL_OUTPUT) continue;
		Out *o = &r->out[r->n++];
		o->dtype = info.dtype;
		o->n = 1;
		for (int k = 0; k < info.rank; k++) o->n *= (size_t)info.dim[k];
		snprintf(o->name, sizeof o->name, "%s", info.name);
		o->data = calloc(o->n ? o->n : 1, pxl_dtype_size(o->dtype));
		pxl_status st = pxl_read(s, i, o->data, o->n * pxl_dtype_size(o->dtype));
		if (st) r->st = st;
	}
}

static inline Result run_text(const char *text, const Config *c)
{
	Result r = { 0 };
	pxl_ctx *cx = NULL;
	pxl_model *m = NULL;
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	pxl_set set = { "outline", c->outline ? "true" : "false" };
	pxl_options opt = PXL_OPTIONS_INIT;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	opt.verify = 1;
	opt.max_steps = 1 << 28;
	o.sets = &set, o.nset = 1, o.level = c->level, o.jit = c->jit, o.seed = 5;
	so.threads = c->threads;
	if (pxl_ctx_new(&opt, &cx)) return r.st = PXL_ENOMEM, r;
	pxl_status st = pxl_compile_memory(cx, "random.pxl", text, strlen(text), &m);
	if (!st) st = pxl_program_new(m, &o, &p);
	if (!st) st = pxl_session_new(p, &so, &s);
	if (st) result_fails(&r, cx, st, "compile");
	else if ((r.st = pxl_run(s, 1))) snprintf(r.why, sizeof r.why, "run: %s", pxl_session_errmsg(s));
	else read_outs(&r, p, s);
	pxl_session_free(s);
	pxl_program_free(p);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	return r;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */
static inline double out_at(const Out *o, size_t i)
{
	const unsigned char *p = o->data + i * pxl_dtype_size(o->dtype);
	uint64_t bits = 0;
	double d;
	float f;
	memcpy(&bits, p, pxl_dtype_size(o->dtype));
	switch (o->dtype) {
	case PXL_F64: memcpy(&d, p, 8); return d;
	case PXL_F32: memcpy(&f, p, 4); return f;
	case PXL_BF16: bits <<= 16; memcpy(&f, &bits, 4); return f;
	case PXL_F16: {
		int e = (int)(bits >> 10 & 31), frac = (int)(bits & 1023);
		double x = e == 31 ? (frac ? NAN : INFINITY) : e ? ldexp(1024 + frac, e - 25) : ldexp(frac, -24);
		return bits >> 15 ? -x : x;
	}
	case PXL_I8: return (int8_t)bits;
	case PXL_I16: return (int16_t)bits;
	case PXL_I32: return (int32_t)bits;
	case PXL_I64: return (double)(int64_t)bits;
	default: return (double)bits;
	}
}

static inline double tolerance(const Out *o)
{
	switch (o->dtype) {
	case PXL_F64: return 1e-3;
	case PXL_F32: return 2e-3;
	case PXL_F16: return 0.05;
	case PXL_BF16: return 0.2;
	default: return 0;
	}
}

static inline int out_bits(const Out *a, const Out *b)
{
	size_t size = pxl_dtype_size(a->dtype);
	for (size_t i = 0; i < a->n; i++)
		if (memcmp(a->data + i * size, b->data + i * size, size) && !(isnan(out_at(a, i)) && isnan(out_at(b, i)))) return 0;
	return 1;
}

static inline int out_near(const Out *a, const Out *b)
{
	double most = 1e-2;
	for (size_t i = 0; i < a->n; i++)
		if (isfinite(out_at(a, i)) && fabs(out_at(a, i)) > most) most = fabs(out_at(a, i));
	for (size_t i = 0; i < a->n; i++) {
		double x = out_at(a, i), y = out_at(b, i);
		if (x == y || (isnan(x) && isnan(y))) continue;
		if (!(fabs(x - y) <= tolerance(a) * most)) return 0;
	}
	return 1;
}

/* 1: as it should be; else why not */
static inline int results_agree(const Result *a, const Result *b, int bits, char *why, size_t size)
{
	if (a->st != b->st || a->n != b->n) {
		snprintf(why, size, "ends otherwise: %s", b->st ? b->why : a->st ? a->why : "other outputs");
		return 0;
	}
	for (int i = 0; i < a->n; i++) {
		const Out *x = &a->out[i], *y = &b->out[i];
		if (!strcmp(x->name, y->name) && x->n == y->n && x->dtype == y->dtype && (bits ? out_bits(x, y) : out_near(x, y))) continue;
		size_t at = 0;
		while (at + 1 < x->n && (out_at(x, at) == out_at(y, at) || (isnan(out_at(x, at)) && isnan(out_at(y, at))))) at++;
		snprintf(why, size, "%s differs: element %zu of %zu (%s) is %.9g and %.9g", x->name, at, x->n, pxl_dtype_name(x->dtype), out_at(x, at), out_at(y, at));
		return 0;
	}
	return 1;
}

/* all configurations up to `last` agree on the text; else why says which does not. -1: nothing of it runs */
static inline int text_agrees(const char *text, int last, char *why, size_t size)
{
	Result r[CONFIGS];
	int ok = 1;
	memset(r, 0, sizeof r);
	for (int i = 0; i < last && ok == 1; i++) {
		const Config *c = &configs[i];
		char how[800] = "";
		r[i] = run_text(text, c);
		if (i == 0 && r[0].st) {
			snprintf(why, size, "%s", r[0].why);
			ok = r[0].st == PXL_EINTERNAL ? 0 : -1;
		} else if (!results_agree(&r[c->like == i ? 0 : c->like], &r[i], c->like != i, how, sizeof how)) {
			snprintf(why, size, "%s against %s: %s", c->name, configs[c->like == i ? 0 : c->like].name, how);
			ok = 0;
		}
	}
	for (int i = 0; i < CONFIGS; i++) result_free(&r[i]);
	return ok;
}

#endif
