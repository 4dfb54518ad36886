/* metric.c — see metric.h. */
#include "compiler/api/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sums_clear(Sums *s, int n)
{
	for (int i = 0; i < n; i++) s[i] = (Sums){ 0, 0, INFINITY, -INFINITY, NAN };
}

void sums_add(Sums *s, DType t, const void *data, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		double x = t == DT_F32 ? (double)((const float *)data)[i] : rt_get(t, data, i);
		sum += x;
		if (x < s->min || isnan(x)) s->min = x;
		if (x > s->max || isnan(x)) s->max = x;
	}
	s->sum += sum;
	s->count += (double)n;
	s->last = n ? sum / (double)n : NAN;
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

double metric_value(const Metric *m, const RtProgram *p, const Sums *sums, const RunFacts *facts)
{
	double a = m->a ? metric_value(m->a, p, sums, facts) : 0, b = m->b ? metric_value(m->b, p, sums, facts) : 0;
	switch (m->kind) {
	case M_NUM: return m->num;
	case M_AGG: return aggregate(m->agg, &sums[output_stream(p, m->stream)]);
	case M_SAMPLES: return (double)facts->samples;
	case M_STEPS: return (double)facts->steps;
	case M_SECONDS: return facts->seconds;
	case M_NEG: return -a;
	case M_ADD: return a + b;
	case M_SUB: return a - b;
	case M_MUL: return a * b;
	case M_DIV: return a / b;
	}
	return NAN;
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

/* as bits, which no locale touches */
void sums_text(const Sums *s, int n, Buf *out)
{
	for (int i = 0; i < n; i++) {
		const double field[] = { s[i].sum, s[i].count, s[i].min, s[i].max, s[i].last };
		for (int k = 0; k < 5; k++) {
			uint64_t bits;
			memcpy(&bits, &field[k], sizeof bits);
			buf_printf(out, "%016llx ", (unsigned long long)bits);
		}
	}
}

int sums_parse(Sums *s, int n, const char *text)
{
	for (int i = 0; i < n; i++) {
		double *field[] = { &s[i].sum, &s[i].count, &s[i].min, &s[i].max, &s[i].last };
		for (int k = 0; k < 5; k++) {
			char *end;
			uint64_t bits = strtoull(text, &end, 16);
			if (end == text) return 0;
			memcpy(field[k], &bits, sizeof bits);
			text = end;
		}
	}
	return 1;
}
