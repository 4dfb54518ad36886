/* metric.c — see metric.h. */
#include "compiler/api/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Sums nothing = { 0, 0, INFINITY, -INFINITY, NAN };

void range_clear(Range *r, int nstream)
{
	*r = (Range){ .sums = r->sums };
	for (int i = 0; i < nstream; i++) r->sums[i] = nothing;
}

Sums sums_of(DType t, const void *data, size_t n)
{
	Sums s = nothing;
	for (size_t i = 0; i < n; i++) {
		double x = t == DT_F32 ? (double)((const float *)data)[i] : rt_get(t, data, i);
		s.sum += x;
		if (x < s.min || isnan(x)) s.min = x;
		if (x > s.max || isnan(x)) s.max = x;
	}
	s.count = (double)n;
	s.last = n ? s.sum / (double)n : NAN;
	return s;
}

void sums_add(Sums *s, const Sums *step)
{
	s->sum += step->sum;
	s->count += step->count;
	if (step->min < s->min || isnan(step->min)) s->min = step->min;
	if (step->max > s->max || isnan(step->max)) s->max = step->max;
	s->last = step->last;
}

static int output_stream(const RtProgram *p, const char *name)
{
	for (int i = 0; i < p->nstream; i++)
		if (!p->streams[i].is_input && !strcmp(p->streams[i].name, name)) return i;
	return -1;
}

static double aggregate(Aggregate how, const Sums *s)
{
	switch (how) {
	case AGG_MEAN: return s->sum / s->count;
	case AGG_SUM: return s->sum;
	case AGG_MIN: return s->count > 0 ? s->min : NAN;
	case AGG_MAX: return s->count > 0 ? s->max : NAN;
	case AGG_LAST: return s->last;
	}
	return NAN;
}

double metric_value(const Metric *m, const RtProgram *p, const Range *r)
{
	double a = m->a ? metric_value(m->a, p, r) : 0, b = m->b ? metric_value(m->b, p, r) : 0;
	switch (m->kind) {
	case M_NUM: return m->num;
	case M_AGG: return aggregate(m->agg, &r->sums[output_stream(p, m->stream)]);
	case M_SAMPLES: return (double)r->samples;
	case M_STEPS: return (double)r->steps;
	case M_SECONDS: return r->seconds;
	case M_NEG: return -a;
	case M_ADD: return a + b;
	case M_SUB: return a - b;
	case M_MUL: return a * b;
	case M_DIV: return a / b;
	}
	return NAN;
}

int metric_uses(const Metric *m, MetricKind kind)
{
	return m && (m->kind == kind || metric_uses(m->a, kind) || metric_uses(m->b, kind));
}

const char *metric_streams(const Metric *m, const RtProgram *p, char *wanted)
{
	if (!m) return NULL;
	if (m->kind == M_AGG) {
		int i = output_stream(p, m->stream);
		if (i < 0) return m->stream;
		wanted[i] = 1;
	}
	const char *missing = metric_streams(m->a, p, wanted);
	return missing ? missing : metric_streams(m->b, p, wanted);
}

/* --- as text ------------------------------------------------------------------------------------------------------ */
/* The streams that are summed up, by name: what was saved by a task with other metrics is of no use. */
static uint64_t streams_key(const RtProgram *p, const char *wanted)
{
	uint64_t key = 0;
	for (int i = 0; i < p->nstream; i++)
		if (wanted[i]) key = key * 31 + hash_bytes(p->streams[i].name, strlen(p->streams[i].name));
	return key;
}

/* numbers as bits, which no locale touches */
static void put_bits(Buf *out, double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	buf_printf(out, " %016llx", (unsigned long long)bits);
}

static int take_bits(const char **text, uint64_t *bits)
{
	char *end;
	*bits = strtoull(*text, &end, 16);
	int ok = end != *text;
	*text = end;
	return ok;
}

static int take_number(const char **text, double *x)
{
	uint64_t bits;
	if (!take_bits(text, &bits)) return 0;
	memcpy(x, &bits, sizeof bits);
	return 1;
}

void range_text(const Range *r, const RtProgram *p, const char *wanted, int timed, Buf *out)
{
	buf_printf(out, "%llx %llx %llx", (unsigned long long)streams_key(p, wanted), (unsigned long long)r->samples, (unsigned long long)r->steps);
	put_bits(out, timed ? r->seconds : 0);
	for (int i = 0; i < p->nstream; i++) {
		const double field[] = { r->sums[i].sum, r->sums[i].count, r->sums[i].min, r->sums[i].max, r->sums[i].last };
		for (int k = 0; wanted[i] && k < 5; k++) put_bits(out, field[k]);
	}
}

int range_parse(Range *r, const RtProgram *p, const char *wanted, const char *text)
{
	uint64_t key, samples, steps;
	if (!take_bits(&text, &key) || key != streams_key(p, wanted)) return 0;
	if (!take_bits(&text, &samples) || !take_bits(&text, &steps) || !take_number(&text, &r->seconds)) return 0;
	r->samples = (int64_t)samples;
	r->steps = (int64_t)steps;
	for (int i = 0; i < p->nstream; i++) {
		double *field[] = { &r->sums[i].sum, &r->sums[i].count, &r->sums[i].min, &r->sums[i].max, &r->sums[i].last };
		for (int k = 0; wanted[i] && k < 5; k++)
			if (!take_number(&text, field[k])) return 0;
	}
	return !*text && r->samples >= 0 && r->steps >= 0 && r->seconds >= 0;
}
