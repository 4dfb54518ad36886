/* weights.h — variables in files, and where a training run stood when it was saved. */
#ifndef COMPILER_API_WEIGHTS_H
#define COMPILER_API_WEIGHTS_H

#include "compiler/api/internal.h"

typedef struct Standing {
	int64_t total_step, epoch, position;     /* epoch from 0; position in samples within it */
	int64_t batch;                           /* samples of a step: a resumed run must use the same */
	uint64_t seed, runs;
	char *ranges[2];                         /* what metrics added up over the epoch and over the training (range_text); cx memory */
} Standing;

/* runtime statuses; the message is in s->err */
int weights_save(pxl_session *s, const RtPlace *p, const Standing *at);
int weights_check(const pxl_program *p, const RtPlace *from, int partial, RtErr *e);  /* what loading would find, by the file's header */
int weights_load(pxl_session *s, const RtPlace *p, int partial, Standing *at);     /* at NULL: weights alone */

#endif
