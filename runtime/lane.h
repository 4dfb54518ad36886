/* lane.h — the private side of a lane: what sessions and kernels share and emitted code never sees.
 *
 * A lane is one replica running on one thread.  `pxlrt_lane *` handed to an entry is the head of an
 * RtLane, so rt_lane() gets the rest.  Kernels need from it: the pool to spread over, scratch memory,
 * and a place to put a fault.  A pool worker runs a piece with a copy of the lane, so a fault in a piece
 * never races; the pool hands the fault of the lowest piece back to the real lane. */
#ifndef RUNTIME_LANE_H
#define RUNTIME_LANE_H

#include "runtime/runtime.h"

/* scratch every lane (and every pool worker) has, allocated when the session is made; see kernels/matmul.h */
enum { RT_SCRATCH_BYTES = 4 << 20 };

typedef struct RtLane {
	struct pxlrt_lane pub;               /* first: emitted code sees this */
	const struct pxlrt *rt;              /* the table this lane runs with */
	RtSession *s;
	RtPool *pool;                        /* NULL: one thread */
	void *scratch;                       /* RT_SCRATCH_BYTES, aligned to 64 */
	char *remote;                        /* entries of remote buffers */
	RtTraffic traffic;
	int site;                            /* where faults of the next calls happen: set by `at` */
	/* collectives of this run: begun and done, what is being done, the tensor shown to the others; over: it has ended.  Under s->lock */
	struct { uint64_t come, gone; const struct pxlrt_collective *d; const void *x; int over; } meet;
	RtErr err;                           /* the first fault of this run */
} RtLane;

static inline RtLane *rt_lane(struct pxlrt_lane *ln) { return (RtLane *)(void *)ln; }

/* --- implemented by session.c ------------------------------------------------------------------- */
/* record a fault at ln->site (keeps the first); returns RT_ERUN */
int  lane_fault(RtLane *ln, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int  lane_fault_at(struct pxlrt_lane *ln, int site, const char *what);       /* pxlrt.fault */
void lane_at(struct pxlrt_lane *ln, int site);
int  lane_host_load(struct pxlrt_lane *ln, int stream, const void **out);
int  lane_host_store(struct pxlrt_lane *ln, int stream, const void *x);
void *lane_host_room(struct pxlrt_lane *ln, int stream, void *own);
int  lane_remote_load(struct pxlrt_lane *ln, int buffer, int offset_dtype, const void *offset, void *y);
int  lane_remote_store(struct pxlrt_lane *ln, int buffer, int offset_dtype, const void *offset, const void *x);
int  lane_exchange(struct pxlrt_lane *ln, const struct pxlrt_transfer *t, int n, void *const *p);
int  lane_code_load(struct pxlrt_lane *ln, int segment);
int  lane_host_op(struct pxlrt_lane *ln, int host, const void *const *in, void *const *out);
int  lane_collective(struct pxlrt_lane *ln, const struct pxlrt_collective *d, const void *x, void *y);
int  lane_print(struct pxlrt_lane *ln, const struct pxlrt_print *d, const void *x);

/* --- implemented by kernels ----------------------------------------------------------------------- */
typedef void (*RtTextFn)(void *user, const char *text, size_t len);
/* the text of print_tensor, `title: values` and a newline, piece by piece */
void rt_print_tensor(const struct pxlrt_print *d, const void *x, RtTextFn out, void *user);

/* --- pool.c ------------------------------------------------------------------------------------------ */
/* threads - 1 workers (the caller of a job is the last); NULL with e filled when there is no memory or thread.
 * Several lanes may submit at once. */
RtPool *rt_pool_new(int threads, const RtAlloc *alloc, RtErr *e);
void    rt_pool_free(RtPool *p);                             /* takes NULL; no job may be running */
int     rt_pool_threads(const RtPool *p);                    /* 1 for NULL */
int     rt_processors(void);                                 /* that this process may use */

/* run body(ln, ctx, i) for i in [0, n); body may use ln->scratch.  Returns the status of the lowest i that failed. */
typedef int (*RtPoolBody)(RtLane *ln, void *ctx, long i);
int rt_pool_run(RtLane *ln, RtPoolBody body, void *ctx, long n);

#endif
