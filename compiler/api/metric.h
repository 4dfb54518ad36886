/* metric.h — what `show` and `report` say about a run: aggregates of output streams, and expressions over them. */
#ifndef COMPILER_API_METRIC_H
#define COMPILER_API_METRIC_H

#include "compiler/api/internal.h"

typedef struct Sums { double sum, count, min, max, last; } Sums;     /* over every element of a stream's entries */

/* A stretch of a task: the current epoch, or the training from its first step, runs that it resumed included. All that a metric
 * is made of ranges over the same steps. */
typedef struct Range {
	int64_t samples, steps;
	double seconds;                      /* spent in these steps */
	Sums *sums;                          /* per stream */
} Range;

void   range_clear(Range *r, int nstream);
Sums   sums_of(DType t, const void *data, size_t n);                 /* one step's; last: the mean of these n. A NaN makes min and max NaN */
void   sums_add(Sums *s, const Sums *step);
double metric_value(const Metric *m, const RtProgram *p, const Range *r);
int    metric_uses(const Metric *m, MetricKind kind);
/* stream index a metric asks for that the program has no output for, as a name; NULL: all there. Sets wanted[stream]. */
const char *metric_streams(const Metric *m, const RtProgram *p, char *wanted);
/* A range as exact text, and back (1: it was one, of the same streams and metrics). Without `timed` the text does not depend on the clock. */
void   range_text(const Range *r, const RtProgram *p, const char *wanted, int timed, Buf *out);
int    range_parse(Range *r, const RtProgram *p, const char *wanted, const char *text);

#endif
