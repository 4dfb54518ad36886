/* task.h — a run of a task, shared by task.c (from beginning to end), task_data.c (samples into streams) and
 * task_metrics.c (what is said of it). */
#ifndef COMPILER_API_TASK_H
#define COMPILER_API_TASK_H

#include <stdio.h>

#include "compiler/api/internal.h"
#include "compiler/api/metric.h"
#include "compiler/api/weights.h"
#include "runtime/formats/data.h"

typedef struct Feed { int stream, column; void *buffer, *raw; } Feed;     /* raw: the column's own type, when it is not the stream's */

/* everything a task run owns; kept by the model so that results stay valid until the next task */
typedef struct TaskMemory {
	pxl_model *m;                /* borrowed */
	const Task *t;
	pxl_task_options o;
	pxl_program *p;
	pxl_session *s;
	RtData *data;
	Feed *feeds; int nfeed;
	char *wanted, *shown;        /* per stream: some metric asks for it; one of `show` does */
	void **outs;                 /* per stream: where its entries land */
	Range epoch, whole;          /* `show` ranges over the one, `report` over the other */
	int timed;                   /* a metric uses `seconds` */
	pxl_metric *show, *report;
	const char **quoted;         /* names of `show` as JSON; the model's memory */
	Standing at;
	uint64_t seed;               /* of the order of samples: a resumed run goes on with the one it began with */
	int64_t batch, step_samples, epochs, from;       /* from: position in the epoch where this run began */
	double ticked, shown_at;     /* milliseconds: the last step's end; the last progress report */
	FILE *log;
	pxl_result result;
} TaskMemory;

typedef TaskMemory Tm;

pxl_status task_no_memory(Tm *t);
pxl_status task_session_failed(Tm *t);                           /* the session's message */
/* what is wrong with the model's task itself: a diagnostic at the task */
pxl_status task_wrong(Tm *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- task.c */
pxl_status task_find(pxl_model *m, const char *name, const Task **out);
pxl_status task_saved_by(pxl_model *m, const char *task, const char **path);     /* NULL: that task saves nothing */
pxl_status task_make_program(Tm *t);                             /* t->o.program says the rest */
void       task_close(Tm *t);                                    /* frees all but what a result is made of */

/* --- task_data.c */
pxl_status task_open_data(Tm *t, int columns_only);              /* columns_only: of data sets no samples, to check */
pxl_status task_match(Tm *t);                                    /* which column feeds which stream */
pxl_status task_connect(Tm *t);                                  /* their buffers, and those of outputs */
void       task_feed(Tm *t);                                     /* the samples of the next step */

/* --- task_metrics.c */
pxl_status task_make_metrics(Tm *t);
void       task_add_step(Tm *t);                                 /* the step just made counts */
int64_t    task_epoch_steps(const Tm *t);
void       task_fill_metrics(Tm *t, int final);
/* a float of `show` that is not a number, unless the task allows it: of the last step, or (final) also what metrics make of all of them */
pxl_status task_check_numbers(Tm *t, int final);
int        task_tell(Tm *t, int64_t step, int64_t steps, int epoch_done);      /* 1: the host asks to stop */

#endif
