/* internal.h — what stands behind the opaque types of pxl.h.
 *
 * A Unit is one model's compile-time world: arena, names, sources, diagnostics, evaluator.  The
 * context keeps the last one alive so that its diagnostics can be asked for; models, programs and
 * sessions count references upwards, so hosts may free in any order. */
#ifndef COMPILER_API_INTERNAL_H
#define COMPILER_API_INTERNAL_H

#include <stdatomic.h>

#include "compiler/api/pxl.h"
#include "compiler/codegen/codegen.h"
#include "compiler/elab/elab.h"
#include "lang/lang.h"
#include "runtime/formats/reach.h"

/* least to most important; a context passes on what is at least its own level */
typedef enum LogLevel { LOG_TRACE, LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERR, LOG_CRITICAL, LOG_OFF } LogLevel;

/* what speaks, by the name that PXL_LOG_CONFIG gives it */
#define LOG_MODULES(X) X(COMPILE, "compile") X(CACHE, "cache") X(NATIVE, "native") X(SESSION, "session") X(DATA, "data")
typedef enum LogModule {
#define X(id, name) IN_##id,
	LOG_MODULES(X)
#undef X
	IN_COUNT
} LogModule;

typedef struct Unit {
	atomic_int refs;
	AllocFn alloc; void *alloc_user;
	Arena mem;
	Intern names;
	Sources srcs;
	Diags ds;
	Elab *elab;
	pxl_ctx *cx;                 /* borrowed: for the callbacks */
	struct Drawing *drawing;            /* of the program being built */
	uint32_t src;                /* the model's file */
	int broken;                  /* ran out of memory half way: only good for freeing */
	int reported;                /* diagnostics already given to the callback */
	RtReach reach;               /* where the model may name files (reach.c) */
	double load_ms;
} Unit;

struct pxl_ctx {
	atomic_int refs;
	pxl_options opt;
	char *cache_dir;
	LogLevel log_level[IN_COUNT];
	char errmsg[1024];
	RtRoot *allowed; int nallowed;       /* folders in which every model may name files */
	const struct HostOp *hosts;  /* latest first; grows only (host_op.c) */
	struct Native *natives;      /* C files that are loaded; grows only (native.c) */
	Unit *last;                  /* whose diagnostics are asked for; NULL before the first compile */
	Arena text;                  /* texts handed out that live till the next call */
};

struct pxl_model {
	atomic_int refs;
	pxl_ctx *cx;
	Unit *u;
	struct TaskMemory *task;     /* of the last task run: see task.c */
};

/* where a program is drawn, and which of its checkpoints are (dot.c) */
typedef struct Drawing {
	const char *base, *dir;      /* as the host gave it (NULL: nothing is drawn), and below it the last checkpoint's */
	const char *checks, *env;    /* lists split at `:`; NULL: not set */
	int first, count;
} Drawing;
void drawing_begin(Drawing *d, const pxl_program_options *o, Arena *mem);
/* 0: why says why not */
int  drawing_checkpoint(pxl_ctx *cx, Drawing *d, const Ir *ir, const char *name, const char *save_dir, Arena *mem,
                        Buf *why);

struct pxl_program {
	atomic_int refs;
	pxl_model *m;
	char *name;
	uint64_t seed;
	Drawing drawing;
	Ir *ir;                      /* as the user wrote it */
	Ir *lowered;
	Plan *plan;
	Module *mod;
	Jit *jit;                    /* what sessions start with */
	struct Tier *tier;           /* what may take its place (tier.c); NULL: nothing */
	RtProgram rt;
	pxl_program_info info;
	struct PassTime *times;      /* one per pass; NULL: none ran */
	double plan_ms, began;
	pxl_info *infos; int ninfo;  /* streams first, in stream order, then variables */
};

struct pxl_session {
	pxl_program *p;
	RtSession *rt;
	RtErr err;
	void **own;                  /* per stream: the session's buffer, made at the first write, run or read */
	void **bound;                /* per stream: the caller's array, or NULL */
	RtBind *binds;               /* scratch of pxl_run */
	int exact_dtypes;
	Jit *jit;                    /* whose code runs, when it is not the program's first; settled: that will not change any more */
	int settled;
	int64_t steps;               /* that have begun, while not settled */
	struct Maps *maps;           /* variables that live in files (map.c); NULL: none */
};
/* program.c: pxl_program_new in two steps; diagnostics are added to those that the model has */
pxl_status check_program_options(pxl_ctx *cx, const pxl_program_options *o);
pxl_status check_session_options(pxl_ctx *cx, const pxl_session_options *o);
enum { MOST_LISTED = 65536 };        /* parameters, mappings, files: more of them is a negative number, or rubbish */
pxl_status program_build(pxl_model *m, const pxl_program_options *o, pxl_program **out);
/* session.c: remembers why, gives st */
pxl_status session_fail(pxl_session *s, pxl_status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* tier.c: before the first session; as sessions come and go; before a step of a session */
typedef struct Tier Tier;
pxl_status tier_new(pxl_program *p, const pxl_program_options *o);
void       tier_free(pxl_program *p);
void       tier_join(pxl_program *p);
void       tier_leave(pxl_program *p);
void       tier_before_step(pxl_session *s);

/* map.c: open before the runtime's session is made, publish after; close after it is freed */
pxl_status maps_open(pxl_session *s, const pxl_session_options *o);
void       maps_use(const pxl_session *s, RtOptions *o);
pxl_status maps_publish(pxl_session *s);
void       maps_close(pxl_session *s);

/* memory of the context's hook, zeroed; NULL: none */
/* log.c */
void log_begin(pxl_ctx *cx);
void cx_log(pxl_ctx *cx, LogModule module, LogLevel level, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
const char *bytes_text(char out[32], size_t n);                  /* "1.5 MB" */
const char *env_text(const char *ours, const char *theirs);      /* NULL: neither is set, or empty; theirs may be NULL */

void  host_ops_free(pxl_ctx *cx);

/* --- native.c: C files with ops */
struct NativeFile;
typedef struct Native Native;
pxl_status native_open(pxl_ctx *cx, const RtPlace *p, Native **out); /* compiled and loaded, or found again */
/* the ops of n into a list that only grows at its front: all that it does not hold already. mem NULL: the context's
 * memory */
pxl_status native_add(pxl_ctx *cx, Arena *mem, const Native *n, const struct HostOp **list);
int  native_count(const Native *n);
const struct HostOp *native_op(const Native *n, int i, const struct HostOp *list);
int  native_find(const Native *n, const struct HostOp *h);                       /* its place in the table; -1: it has no such op */
const struct NativeFile *native_file(const Native *n);
void natives_free(pxl_ctx *cx);
/* --- host_op.c: an op checked and copied to the front of a list */
pxl_status host_op_add(pxl_ctx *cx, Arena *mem, const struct HostOp **list, const pxl_host_op *op, const struct NativeFile *file, int at);

void *cx_alloc(pxl_ctx *cx, size_t size);
void  cx_free(pxl_ctx *cx, void *p);
char *cx_strdup(pxl_ctx *cx, const char *s);
RtAlloc cx_rt_alloc(const pxl_ctx *cx);

pxl_status cx_fail(pxl_ctx *cx, pxl_status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
const char *did_you_mean(Arena *mem, const char *word, const char *const *known, int n);      /* "; did you mean `train`?", or ";" */
pxl_status cx_fail_rt(pxl_ctx *cx, const RtErr *e);              /* the runtime's message, its status */
Arena *cx_text(pxl_ctx *cx);                                     /* the text arena, emptied */

/* the caller's options over the defaults in `to`; cx NULL: no message */
pxl_status options_take(pxl_ctx *cx, const char *what, void *to, size_t known, const void *from);
pxl_ctx *ctx_ref(pxl_ctx *cx);
Unit *unit_new(pxl_ctx *cx, pxl_status *st);
Unit *unit_ref(Unit *u);
void  unit_unref(Unit *u);
void  ctx_set_last(pxl_ctx *cx, Unit *u);
pxl_model *model_ref(pxl_model *m);
pxl_program *program_ref(pxl_program *p);

/* Run fn with u's arena guarded: running out of memory, or over the limit, comes back as a status.
 * Afterwards new diagnostics have been handed to the callback, and errors make it PXL_EMODEL. */
typedef pxl_status (*UnitFn)(Unit *u, void *arg);
pxl_status unit_guard(Unit *u, UnitFn fn, void *arg);
/* Each call that builds reports its own diagnostics; those of earlier ones on the same model are forgotten. */
void unit_forget_diags(Unit *u);

double now_ms(void);
/* Whole files, NUL-terminated, from the context's hook; PXL_EIO with message. read_in: `name` in the folder `fd`, as
 * `path` in messages */
pxl_status read_file(pxl_ctx *cx, const RtPlace *p, size_t max, char **text, size_t *len);
pxl_status read_in(pxl_ctx *cx, int fd, const char *name, const char *path, size_t max, char **text, size_t *len);

/* --- reach.c: paths that the model names. PXL_EMODEL: the rules refuse one */
pxl_status reach_allow(pxl_ctx *cx, const pxl_options *o);       /* when the context is made */
void       reach_forbid(pxl_ctx *cx);
pxl_status reach_begin(Unit *u, RtRoot *home);                   /* home is taken over, and empty then */
void       reach_end(Unit *u);
RtPlace    reach_by_model(const Unit *u, const char *path, int base);    /* lives as long as both */
void task_memory_free(pxl_ctx *cx, struct TaskMemory *t);

#endif
