/* metric.h — what `show` and `report` say about a run: aggregates of output streams, and expressions over them. */
#ifndef COMPILER_API_METRIC_H
#define COMPILER_API_METRIC_H

#include "compiler/api/internal.h"

typedef struct Sums { double sum, count, min, max, last; } Sums;     /* over every element of a stream's entries */

typedef struct RunFacts { int64_t samples, steps; double seconds; } RunFacts;

void   sums_clear(Sums *s, int n);
void   sums_add(Sums *s, DType t, const void *data, size_t n);       /* last: mean of these n */
double metric_value(const Metric *m, const RtProgram *p, const Sums *sums, const RunFacts *facts);
/* stream index a metric asks for that the program has no output for, as a name; NULL: all there. Sets wanted[stream]. */
const char *metric_streams(const Metric *m, const RtProgram *p, char *wanted);
/* exact text of n aggregates, and back (1: it was one) */
void   sums_text(const Sums *s, int n, Buf *out);
int    sums_parse(Sums *s, int n, const char *text);

#endif
