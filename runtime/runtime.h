/* runtime.h — what the compiler and the public API use of the runtime: programs, sessions, formats.
 *
 * An RtProgram describes compiled code and the memory it wants; it is made by compiler/codegen and
 * only read here.  An RtSession is one program placed in memory: lanes (one per replica), arenas
 * touched once, host copies of variables (H) beside the device's (D) with PopXL's rules of when
 * data moves (semantics.md R265–R311). */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include "runtime/base.h"
#include "runtime/pxlrt.h"

/* how a variable starts: data given by the model, or a recipe evaluated when a session is made */
typedef enum RtInitKind { INIT_DATA, INIT_ZEROS, INIT_FULL, INIT_NORMAL, INIT_UNIFORM, INIT_TRUNCATED, INIT_ARANGE } RtInitKind;
typedef struct RtInit {
	RtInitKind kind;
	double a, b;             /* FULL: a; NORMAL, TRUNCATED: mean, deviation; UNIFORM: low, high; ARANGE: start, step */
	const char *name;        /* stream of numbers: (seed, name, draw) */
	uint32_t draw;
	const void *data;        /* DATA: `bytes` bytes, borrowed from the program */
} RtInit;
/* n elements of dtype by the recipe; the same bits for the same (seed, name, draw) on every machine */
void rt_init_fill(const RtInit *r, uint64_t seed, DType t, void *out, size_t n);
enum { RT_ROUGH = 65536 };
void rt_init_fill_rough(const RtInit *r, uint64_t seed, DType t, void *out, size_t n);      /* random numbers repeat after RT_ROUGH */

typedef struct RtVar {
	const char *name;
	DType dtype;
	int rank;
	int64_t dim[MAX_RANK];
	size_t nelem, bytes, offset;         /* offset in the lane's variable region */
	RtInit init;
	int buffer;                          /* 0: a variable of the device. Else it stands for an entry of this remote buffer, counted */
	int64_t entry;                       /* from 1, and has no offset */
	int fixed;                           /* never written by the program: number of its pointer in pxlrt_lane, counted from 1; no offset */
	int state;                           /* of the training, not of the model: weights may lack it */
} RtVar;

typedef struct RtBuffer {
	DType dtype;
	int rank;
	int64_t dim[MAX_RANK];
	size_t bytes;                        /* of one entry */
	size_t offset;                       /* in the lane's remote region */
	int64_t entries;
} RtBuffer;

typedef struct RtStream {
	const char *name;
	int is_input;
	DType dtype;
	int rank;
	int64_t dim[MAX_RANK];
	size_t nelem, bytes;                 /* of one entry */
	int used;                            /* has a load or store in the program */
} RtStream;

typedef struct RtSite { const char *file; int line, col; const char *op; } RtSite;

/* One call of a function of the host: its arguments, all contiguous. `run` gives 0, or the reason in `why`; it may be called by
 * several replicas at once. */
typedef struct RtHostArg { DType dtype; int rank; int64_t dim[MAX_RANK]; size_t nelem; } RtHostArg;
typedef struct RtHost RtHost;
typedef int (*RtHostRun)(const RtHost *h, int replica, const void *const *in, void *const *out, char *why, size_t size);
struct RtHost {
	const void *op;                      /* the compiler's record of it */
	RtHostRun run;
	int nin, nout, nnumber;
	const RtHostArg *in, *out;
	const double *numbers;
};

typedef int (*RtEntry)(const struct pxlrt *rt, struct pxlrt_lane *ln);

typedef struct RtProgram {
	const char *name;
	RtEntry main;
	int replicas, transfers;             /* local replication factor; num_host_transfers */
	size_t frame_bytes, var_bytes, const_bytes;
	const void *consts;
	int nvar, nstream, nsite;
	const RtVar *vars;
	const RtStream *streams;
	const RtSite *sites;
	int nbuffer;
	const RtBuffer *buffers;
	size_t remote_bytes;                 /* of all entries, per replica */
	int nhost;
	const RtHost *hosts;
} RtProgram;

/* A variable whose host copy is not the session's own memory but pages of a file. The session never unmaps; its maker does, after
 * freeing it. */
typedef struct RtMap {
	int var;
	void *data;                          /* the variable's bytes */
	void *base; size_t size;             /* pages to flush after writing; size 0: none */
	int read_only, fresh;                /* fresh: holds no values yet, the session fills it */
} RtMap;

typedef struct RtOptions {
	uint64_t seed;
	int threads;                         /* at most; 0: all processors */
	int detached;                        /* weights stay with the host until rt_session_attach */
	int rough;                           /* random initial values repeat after RT_ROUGH numbers */
	RtAlloc alloc;
	void (*print)(void *user, const char *text, size_t len);   /* print_tensor's output; NULL drops it */
	void *print_user;
	const RtMap *maps; int nmap;         /* must outlive the session */
} RtOptions;

typedef struct RtSession RtSession;

/* The program must outlive the session.  New sessions are attached (unless asked otherwise): variables initialised, H in sync. */
int  rt_session_new(const RtProgram *p, const RtOptions *o, RtSession **out, RtErr *e);
void rt_session_free(RtSession *s);
int  rt_session_threads(const RtSession *s);

/* caller's arrays for one run: [transfer][replica][data] (size-1 dimensions left out), dtype as the stream's, aligned to
 * its element; `count` is the number of elements given (with several transfers more may be given than one run takes).
 * Outputs are computed in their arrays, where those share no memory with others: a run that fails leaves anything there.
 * Unbound outputs are dropped; every used input must be bound, and no unused stream may be. */
typedef struct RtBind { int stream; void *data; size_t count; } RtBind;
int  rt_session_run(RtSession *s, const RtBind *binds, int n, RtErr *e);

/* the same program compiled again: between runs, for this session alone */
void rt_session_use(RtSession *s, RtEntry main);

/* R274–R289: attach sends weights to the device, detach fetches them (if to_host) and forgets the device's.
 * Attaching what is attached and detaching what is detached do nothing; running and moving weights need an attached session. */
int  rt_session_attach(RtSession *s, RtErr *e);
int  rt_session_detach(RtSession *s, int to_host, RtErr *e);
int  rt_session_attached(const RtSession *s);
int  rt_session_synced(const RtSession *s);                    /* R133: the host's copy holds what the device's does */
int  rt_session_weights_to_host(RtSession *s, RtErr *e);
int  rt_session_weights_from_host(RtSession *s, RtErr *e);
int  rt_session_transfers(const RtSession *s, int to_host);   /* how many transfers happened so far: for R287; the first sending counts */
/* read fetches from the device first if attached and out of sync; write updates H, and if attached the named variable
 * (never the others: R288) on the device */
int  rt_session_read(RtSession *s, int var, void *out, size_t bytes, RtErr *e);
typedef struct RtWrite { int var; const void *data; size_t bytes; } RtWrite;
int  rt_session_write_all(RtSession *s, const RtWrite *w, int n, RtErr *e);       /* all in one transfer; none if one is wrong */
int  rt_session_write(RtSession *s, int var, const void *data, size_t bytes, RtErr *e);
const void *rt_session_view(RtSession *s, int var, RtErr *e);  /* the value itself, after the same fetch; valid till the next transfer */
/* how much runs have moved so far, all replicas together, by kind (pxlrt.h); exchanges: steps in which something moved */
typedef struct RtTraffic { uint64_t moves[PXLRT_MOVES], exchanges; } RtTraffic;
RtTraffic rt_session_traffic(const RtSession *s);
/* randomness carried by a session that `--resume` must restore: none beyond variables today; runs counts steps */
uint64_t rt_session_runs(const RtSession *s);
void     rt_session_set_runs(RtSession *s, uint64_t runs);

const struct pxlrt *rt_table(void);   /* the table emitted code is called with */

/* Do kernels take this window with its sides blocked as it says, and is that worth having?  Not asked of windows that are plain on
 * both sides, which always work.  Refused are types but f32, more than three spatial axes or 512 taps, one place's source beyond 1.5 MB, and
 * channels (of each group) on a blocked side, or on the side of the result, that are no whole blocks. */
enum { RT_CONV, RT_CONV_DATA, RT_CONV_WEIGHT };
int rt_conv_blocks(const struct pxlrt_window *d, int map);
int rt_pool_blocks(const struct pxlrt_window *d);              /* forward and back */

/* does a lane have room for what pieces of such a fold give; only `dim`, `width` and `folds` are looked at */
int rt_fold_fits(const struct pxlrt_fold *d);

/* a pool of threads shared by the sessions of a process that ask for the same size; NULL: run on the caller */
typedef struct RtPool RtPool;

#endif
