/* session.h — the inside of an RtSession, shared by session.c, variables.c, stream.c, lane.c and device/remote.c alone.
 *
 * One block of memory per lane holds its frame and its variables (D); the constants and the host's
 * copy of the variables (H) exist once.  Everything a run needs is allocated here when the session is
 * made, so running allocates nothing. */
#ifndef RUNTIME_SESSION_H
#define RUNTIME_SESSION_H

#include <pthread.h>

#include "runtime/lane.h"

struct RtSession {
	const RtProgram *p;
	RtEntry main;                        /* what runs execute: the program's own, or what took its place */
	RtOptions o;
	RtPool *pool;
	char *host, *consts;                 /* H but for what is mapped; constants */
	char **home;                         /* per variable: its place in H */
	char **fixed;                        /* those of variables that the program never writes: H is D for them */
	RtLane *lanes;                       /* p->replicas of them */
	char **bound;                        /* per stream: the caller's array in this run; NULL: none */
	char *apart;                         /* per stream: its array shares no byte with another */
	RtBind *binds; int nbind;            /* what was bound last, found right; -1: nothing */
	int64_t *cursor;                     /* [replica][stream]: next entry */
	int attached, synced;                /* synced: H holds what D holds */
	int read_only;                       /* a part of H must not be written: nothing is fetched */
	int to_host, from_host;              /* transfers so far */
	uint64_t runs;

	pthread_mutex_t print_lock;          /* one lane's text at a time */
	/* lanes beyond the first wait on threads of their own for the number of the round to change */
	pthread_mutex_t lock;
	pthread_cond_t start, done, met;     /* met: something about a collective changed */
	pthread_t *threads;
	int nthread, busy, quit;
	uint64_t round;
};

int session_must_be_attached(const RtSession *s, const char *what, RtErr *e);

/* --- variables.c */
size_t variables_bytes(const RtProgram *p, const RtOptions *o);  /* of the block in H */
void   variables_place(RtSession *s);
void   variables_fill(RtSession *s);                             /* initial values, into H */

/* --- lane.c: running the lanes */
int  lanes_start(RtSession *s, RtErr *e);        /* the threads of lanes 1…; on failure lanes_stop cleans up */
void lanes_stop(RtSession *s);
int  lanes_run(RtSession *s, RtErr *e);          /* every lane to its end; the error of the lowest that failed */

/* --- collective/collective.c */
void meet_begin(RtSession *s);                   /* before any lane runs */
void meet_end(RtLane *ln);                       /* releases those who wait for it */

/* --- stream.c: arrays of one run */
int  streams_bind(RtSession *s, const RtBind *binds, int n, RtErr *e);

/* --- device/remote.c: entries of remote buffers that variables stand for */
int    remote_check(const RtProgram *p, const RtVar *v, RtErr *e);
char  *remote_var(RtLane *ln, const RtVar *v);   /* its entry */
void   remote_clear(RtSession *s);

/* "f32[8, 784]" */
const char *shape_text(char *buf, size_t size, DType t, int rank, const int64_t *dim);

#endif
