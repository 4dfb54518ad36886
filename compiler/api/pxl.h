/* pxl.h — compile and run pxl models inside a program.
 *
 *   pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s;
 *   if (pxl_ctx_new(NULL, &cx)) return 1;
 *   if (pxl_compile_file(cx, "add.pxl", &m) || pxl_program_new(m, NULL, &p) || pxl_session_new(p, NULL, &s)) {
 *           fprintf(stderr, "%s\n", pxl_errmsg(cx));
 *           return pxl_ctx_free(cx), 1;
 *   }
 *   int a = pxl_find(p, PXL_INPUT, "a"), y = pxl_find(p, PXL_OUTPUT, "y");
 *   pxl_write(s, a, data, sizeof data);
 *   pxl_run(s, 1);
 *   pxl_read(s, y, out, sizeof out);
 *   pxl_session_free(s); pxl_program_free(p); pxl_model_free(m); pxl_ctx_free(cx);
 *
 * Rules that hold everywhere
 *   - A function returns PXL_OK (0) or why not; pxl_errmsg() then has the whole story.  Functions that
 *     cannot fail return their value.  Outputs come last and are set only on success.
 *   - Every _new has a _free that takes NULL.  Objects are counted inside: freeing in any order is safe.
 *   - Pointers handed in are used only during the call, except buffers given to pxl_bind().
 *     Strings handed out belong to the object they were asked of and live as long as it does, unless said otherwise.
 *   - The library never prints, exits or aborts, and touches no global state but libtcc's, under a lock.
 *   - A context and what was made from it are used by one thread at a time; different contexts are independent.
 *     Sessions of one program may run in different threads at the same time once they have been created.
 *   - What is wrong with a call is PXL_EINVAL and a message, never a crash: nothing where something is wanted, numbers that nothing
 *     can be, values that an enumeration has not. What cannot be seen is believed: that memory is as large as the call says.
 *   - Structures that grow carry their size (the _INIT macros): an old caller meets a new library safely, and one that is newer
 *     than the library is refused. */
#ifndef PXL_H
#define PXL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PXL_API  __attribute__((visibility("default")))
#define PXL_MUST __attribute__((warn_unused_result))
#else
#define PXL_API
#define PXL_MUST
#endif

#define PXL_VERSION_MAJOR 0
#define PXL_VERSION_MINOR 1
#define PXL_VERSION_PATCH 0
#define PXL_VERSION_NUMBER (PXL_VERSION_MAJOR * 1000000 + PXL_VERSION_MINOR * 1000 + PXL_VERSION_PATCH)
PXL_API int         pxl_version(void);             /* of the library that runs */
PXL_API const char *pxl_version_text(void);        /* "0.1.0" */

/* X(NAME, number, text): numbers are never reused */
#define PXL_STATUS_MAP(X) \
	X(OK,        0, "fine") \
	X(ENOMEM,    1, "out of memory") \
	X(EMODEL,    2, "the model is wrong: see the diagnostics") \
	X(EINVAL,    3, "the call is wrong") \
	X(EIO,       4, "input or output failed") \
	X(ERUN,      5, "the program failed while running") \
	X(EFIT,      6, "the program does not fit the device") \
	X(EINTR,     7, "interrupted") \
	X(EINTERNAL, 8, "a fault of the library itself")
typedef enum pxl_status {
#define X(name, number, text) PXL_##name = number,
	PXL_STATUS_MAP(X)
#undef X
	PXL_STATUS_END
} pxl_status;
PXL_API const char *pxl_strstatus(pxl_status st);

typedef enum pxl_dtype {
	PXL_BOOL, PXL_I8, PXL_I16, PXL_I32, PXL_I64, PXL_U8, PXL_U16, PXL_U32, PXL_U64,
	PXL_F8_143, PXL_F8_152, PXL_F16, PXL_BF16, PXL_F32, PXL_F64
} pxl_dtype;
PXL_API const char *pxl_dtype_name(pxl_dtype t);   /* "f32" */
PXL_API size_t      pxl_dtype_size(pxl_dtype t);

enum { PXL_MAX_RANK = 8 };

typedef struct pxl_ctx     pxl_ctx;
typedef struct pxl_model   pxl_model;              /* a file: programs and tasks */
typedef struct pxl_program pxl_program;            /* one program, compiled */
typedef struct pxl_session pxl_session;            /* one program in memory, with its variables */

/* --- context ------------------------------------------------------------------------------------------ */
typedef struct pxl_diag {
	const char *code, *kind;                   /* "E0301", "ValueError" */
	int is_error;                              /* else a warning */
	const char *message, *label;               /* label may be "" */
	const char *file;                          /* "" when it is nowhere in particular */
	int line, column;                          /* from 1; 0 nowhere */
	size_t offset, length;                     /* bytes */
} pxl_diag;

/* realloc in one function: old NULL allocates, size 0 frees, NULL means no memory */
typedef void *(*pxl_alloc_fn)(void *user, void *old, size_t size);
typedef void (*pxl_text_fn)(void *user, const char *text, size_t len);
typedef void (*pxl_diag_fn)(void *user, const pxl_diag *d);

typedef struct pxl_options {
	size_t size;
	pxl_alloc_fn alloc; void *alloc_user;      /* NULL: the C library's; libtcc has its own, see docs/api.md */
	pxl_text_fn print;  void *print_user;      /* what a model prints while it is built; NULL drops it */
	pxl_text_fn log;    void *log_user;        /* print_tensor while running, and notices of the library, from any thread with a session; NULL drops it */
	pxl_diag_fn diag;   void *diag_user;       /* called for each diagnostic as it is made; NULL: only the list */
	const char *cache_dir;                     /* compiled code; NULL: $PXL_CACHE_DIR, else none */
	int max_errors;                            /* 0: 20 */
	int allow_native;                          /* models may name C files */
	int verify;                                /* check the IR after every pass */
	int64_t max_steps; size_t max_memory;      /* limits of building a model; 0: defaults */
	int verbose;                               /* the log says what is built, of what size, with which data (INFO, whatever $PXL_LOG_LEVEL says) */
	/* Folders below which models may name files, besides their own and the current one (docs/trust.md); one that is
	 * not there is EIO. Paths that the host itself gives need none of this. */
	const char *const *allow_paths; size_t nallow_paths;
} pxl_options;
#define PXL_OPTIONS_INIT \
	{ sizeof(pxl_options), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, 0 }

PXL_API PXL_MUST pxl_status pxl_ctx_new(const pxl_options *opt, pxl_ctx **out);    /* opt NULL: defaults */
PXL_API void        pxl_ctx_free(pxl_ctx *cx);
PXL_API const char *pxl_errmsg(const pxl_ctx *cx);           /* of the last failed call; never NULL; valid till the next call */
PXL_API size_t      pxl_diag_count(const pxl_ctx *cx);       /* of the last compile or program_new */
PXL_API int         pxl_diag_get(const pxl_ctx *cx, size_t i, pxl_diag *out);      /* 0: no such diagnostic */
enum { PXL_DIAG_FULL = 0, PXL_DIAG_SHORT = 1, PXL_DIAG_COLOR = 2, PXL_DIAG_JSON = 4 };
PXL_API const char *pxl_diag_text(pxl_ctx *cx, size_t i, int how);                 /* rendered; valid till the next call */

/* --- models ---------------------------------------------------------------------------------------------- */
PXL_API PXL_MUST pxl_status pxl_compile_file(pxl_ctx *cx, const char *path, pxl_model **out);
PXL_API PXL_MUST pxl_status pxl_compile_memory(pxl_ctx *cx, const char *name, const char *text, size_t len, pxl_model **out);
PXL_API void        pxl_model_free(pxl_model *m);
PXL_API size_t      pxl_program_count(const pxl_model *m);
PXL_API const char *pxl_program_name(const pxl_model *m, size_t i);                /* NULL: no such program */
PXL_API const char *pxl_program_param(pxl_model *m, const char *program, size_t i);   /* "batch: int = 8", NULL after the last */
PXL_API size_t      pxl_task_count(const pxl_model *m);
PXL_API const char *pxl_task_name(const pxl_model *m, size_t i);
PXL_API PXL_MUST pxl_status pxl_model_ast(pxl_model *m, const char **out);         /* the tree, printed */
/* the same text in the house's layout */
PXL_API PXL_MUST pxl_status pxl_format(pxl_ctx *cx, const char *name, const char *text, size_t len, const char **out);

/* --- programs ---------------------------------------------------------------------------------------------- */
typedef struct pxl_set { const char *name, *value; } pxl_set;     /* value as typed: "8", "0.05", "[1, 2]"; one that does not fit is EINVAL, with diagnostics */
/* Who compiles the emitted C. AUTO: libtcc, at once; a session that runs long enough goes over to the code of the system's compiler,
 * if there is one, between two steps. All give the same bits. */
typedef enum pxl_jit { PXL_JIT_AUTO, PXL_JIT_TCC, PXL_JIT_CC } pxl_jit;

/* What f32 matrix products are made of. BF16: operands are rounded to bf16 on their way, sums and results stay f32: up to twice as fast
 * where the processor multiplies bf16, slower elsewhere, with the same bits. Convolutions with windows of more than one element, and attention, stay f32. */
typedef enum pxl_matmul { PXL_MATMUL_F32, PXL_MATMUL_BF16 } pxl_matmul;

/* How far a program is built. IR: what the model says, with every error that the model itself can have. C: passes, the plan and the
 * emitted C as well; all of pxl_emit and pxl_ship work, and everything that is known before a run has been looked at. */
typedef enum pxl_stage { PXL_STAGE_ALL, PXL_STAGE_IR, PXL_STAGE_C } pxl_stage;

typedef struct pxl_program_options {
	size_t size;
	const char *name;                          /* NULL: the only one, or `main` */
	const pxl_set *sets; size_t nset;          /* parameters */
	int replicas;                              /* 0: as the program says */
	uint64_t seed;                             /* initial values of variables */
	int level;                                 /* 0, 1, 2 */
	pxl_jit jit;
	int build_only;                            /* a pxl_stage: where to stop. Only PXL_STAGE_ALL (0) gives a program that can run */
	const char *no_pass;                       /* comma-separated names of passes to leave out (one that none can do without: does as at -O0); NULL: none */
	/* drawings of the program in Graphviz' language: where dot_checkpoint() and the making of a session (checkpoint
	 * `Final`) put them. NULL: nowhere */
	const char *dot_dir;
	const char *dot_checks;                    /* "Foo:Bar", "ALL": those to draw, with those of $PXL_DOT_CHECKS; neither set: all */
	int dot_first, dot_count;                  /* only these ops of each schedule; count 0: all from the first on */
	/* PXL_JIT_AUTO: after how many steps of a session the system's compiler takes over from libtcc, the next step waiting for it.
	 * 0: in the background, when that pays ($PXL_JIT_SWAP may say otherwise); -1: never */
	int64_t swap_after;
	pxl_matmul matmul;
} pxl_program_options;
#define PXL_PROGRAM_OPTIONS_INIT { sizeof(pxl_program_options), NULL, NULL, 0, 0, 0, 2, PXL_JIT_AUTO, PXL_STAGE_ALL, NULL, NULL, NULL, 0, 0, 0, PXL_MATMUL_F32 }

PXL_API PXL_MUST pxl_status pxl_program_new(pxl_model *m, const pxl_program_options *opt, pxl_program **out);
PXL_API void        pxl_program_free(pxl_program *p);
/* What pxl_program_new, pxl_session_new and pxl_task_run would refuse before the first step, of the whole model: every program that
 * takes no parameters but those with defaults and those of opt->sets, and every task with its program, its arrays, its metrics and
 * its weights. Programs are built as far as PXL_STAGE_C; opt->name is not asked. All diagnostics together are the context's. Not looked at: data sets beyond their columns, and the memory of this machine. */
PXL_API PXL_MUST pxl_status pxl_check(pxl_model *m, const pxl_program_options *opt);

typedef struct pxl_program_info {
	const char *name, *jit;                    /* jit: "tcc", "cc", "cc (cached)"; "" without machine code */
	int replicas, transfers;
	double compile_ms;                         /* from text in memory to runnable code */
	double elaborate_ms, passes_ms, codegen_ms, jit_ms;
	size_t frame_bytes;                        /* planned memory of intermediates */
	size_t lower_bound;                        /* what no plan can go below */
	size_t var_bytes, const_bytes, stream_bytes;
	size_t peak_bytes;                         /* frame, variables and constants together, per replica */
	size_t remote_bytes;                       /* entries of remote buffers, per replica; not part of the peak */
} pxl_program_info;
PXL_API void pxl_program_get_info(const pxl_program *p, pxl_program_info *out);

typedef enum pxl_kind { PXL_ANY, PXL_INPUT, PXL_OUTPUT, PXL_VARIABLE } pxl_kind;
typedef struct pxl_info {
	const char *name;
	pxl_kind kind;
	pxl_dtype dtype;
	int rank;
	int64_t dim[PXL_MAX_RANK];                 /* of a stream: [transfers][replicas] in front where they are more than 1 */
	size_t nelem, bytes;                       /* of the whole array one run takes or gives */
	int entry_rank;                            /* trailing dimensions that belong to one entry */
	int used;                                  /* some op loads or stores it */
} pxl_info;
/* Inputs, outputs and variables are numbered together; look a number up once and use it. */
PXL_API size_t pxl_count(const pxl_program *p);
PXL_API int    pxl_find(const pxl_program *p, pxl_kind kind, const char *name);    /* -1: there is none */
PXL_API int    pxl_get_info(const pxl_program *p, int index, pxl_info *out);       /* 0: no such index */

/* Text of a stage: "ir", "schedule", "dot", "code", "debug", "plan", "c", "times" (where compiling took how long); of "ir", `after` names a
 * pass ("" or NULL: before any). */
PXL_API PXL_MUST pxl_status pxl_emit(pxl_program *p, const char *stage, const char *after, const char **out);
/* The emitted C, a header, a library and an example caller in `dir`, for use without the compiler. C files whose ops the program
 * calls go along. */
PXL_API PXL_MUST pxl_status pxl_ship(pxl_program *p, const char *dir);
/* the same for a program that calls ops which the host registered: C files that have them, as pxl_native_file takes them */
PXL_API PXL_MUST pxl_status pxl_ship_files(pxl_program *p, const char *dir, const char *const *c_files, size_t n);

/* --- sessions ------------------------------------------------------------------------------------------------ */
/* nelem and bytes of an array that is handed in may be left 0 */
typedef struct pxl_array { pxl_dtype dtype; int rank; int64_t dim[PXL_MAX_RANK]; size_t nelem, bytes; void *data; } pxl_array;

/* --- ops of the host ------------------------------------------------------------------------------------------
 * A function of the program becomes an op of its models: host_op("scale", x, by = 2.0).  Register it before
 * compiling the model; it stays as long as the context.  Results must depend on operands and numbers alone: equal
 * calls may be made once, unused ones never.  `run` is called by every replica, and every session, on its own
 * thread: it must bear several calls at once, and must not touch the context. */
enum { PXL_HOST_ABI = 2, PXL_HOST_MAX = 16 };      /* most operands, results and numbers */
typedef struct pxl_host_call {
	size_t size;
	void *user;
	int nin, nout, nnumber;
	const pxl_array *in;                       /* contiguous; data is only read, and NULL for infer */
	pxl_array *out;                            /* infer sets dtype, rank and dim; run fills data */
	const double *numbers;                     /* as `params` lists them */
	int replica;
	char *why; size_t why_size;                /* room for the reason of a failure */
} pxl_host_call;
typedef int (*pxl_host_fn)(pxl_host_call *c);      /* 0: done */
typedef enum pxl_param_kind { PXL_PARAM_FLOAT, PXL_PARAM_INT, PXL_PARAM_BOOL } pxl_param_kind;      /* what a model may give; all come as doubles */
typedef struct pxl_host_param { const char *name; int optional; double init; pxl_param_kind kind; } pxl_host_param;

typedef struct pxl_host_op {
	size_t size;
	int abi;                                   /* PXL_HOST_ABI */
	const char *name, *version;                /* a name as in the language; version NULL: none. `name` is the latest, `name@version` that one */
	int nin, nout;
	const pxl_host_param *params; int nparam;
	pxl_host_fn infer;                         /* NULL: every result is like the first operand */
	pxl_host_fn run;
	void *user;
	/* The registered op (by the time it is needed) that is its gradient, with the same params; NULL: none.  grad_in: its operands,
	 * "x0 y0 dy0" for first operand, first result, gradient of the first result; grad_out: what its results are the gradients of, "x0".
	 * NULL: all of them in this order, and all operands */
	const char *grad, *grad_in, *grad_out;
} pxl_host_op;
#define PXL_HOST_OP_INIT { sizeof(pxl_host_op), PXL_HOST_ABI, NULL, NULL, 1, 1, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL }
PXL_API PXL_MUST pxl_status pxl_register_op(pxl_ctx *cx, const pxl_host_op *op);

/* The same in a C file of its own, which a model names by `native "file.c"` (with allow_native) or the host by pxl_native_file. It
 * includes this header for its types, calls none of its functions, and ends with a table:
 *     const pxl_host_op pxl_native_ops[] = { { PXL_HOST_OP_HEAD, .name = "twice", .nin = 1, .nout = 1, .run = twice }, PXL_HOST_OP_END };
 * The system's C compiler makes an object of it, kept in the cache. What is loaded runs with the rights of the program. */
#define PXL_HOST_OP_HEAD sizeof(pxl_host_op), PXL_HOST_ABI
#define PXL_HOST_OP_END { 0, 0, NULL, NULL, 0, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL }
PXL_API PXL_MUST pxl_status pxl_native_file(pxl_ctx *cx, const char *path);      /* registers its ops */

/* Variables whose copy on the host is a file, mapped: nothing is read before it is used, and weights that come back from the device
 * are in the file. Where no file is one is made, with the variable's initial values; what a file holds wins over them. A file is
 * the variable's bytes and nothing else, or a .npy file of its element type and shape in C order. */
enum { PXL_MAP_READ_EXISTING = 1, PXL_MAP_EMPTY = 2 };       /* files that are there are never written; new ones are not filled */
typedef struct pxl_map {
	const char *variable;                      /* one variable; "blocks.*": all that begin so; NULL: all. The first rule that fits counts */
	const char *path;                          /* of one variable its file; else a folder of files NAME.npy, made if missing */
	int how;                                   /* PXL_MAP_..., added up */
} pxl_map;

typedef struct pxl_session_options {
	size_t size;
	int threads;                               /* at most; 0: one per processor; there are never more than that */
	int detached;                              /* attach it yourself: until then no weights move and nothing runs */
	int exact_dtypes;                          /* pxl_write_array narrows nothing: another element type is EINVAL */
	const pxl_map *maps; size_t nmap;          /* used only during the call */
	int rough_start;                           /* random initial values of a variable repeat after 65536 numbers: cheap, for timing alone */
} pxl_session_options;
#define PXL_SESSION_OPTIONS_INIT { sizeof(pxl_session_options), 0, 0, 0, NULL, 0, 0 }

PXL_API PXL_MUST pxl_status pxl_session_new(pxl_program *p, const pxl_session_options *opt, pxl_session **out);
PXL_API void pxl_session_free(pxl_session *s);
PXL_API int  pxl_session_threads(const pxl_session *s);      /* that it really uses */
PXL_API const char *pxl_session_jit(const pxl_session *s);   /* whose code its next run begins with: "tcc", "cc", "cc (cached)" */
/* why the last call on this session failed (sessions in several threads do not share pxl_errmsg) */
PXL_API const char *pxl_session_errmsg(const pxl_session *s);

/* Copy data in (inputs, variables) or out (outputs, variables); bytes must be the array's. Of an array without elements,
 * which has 0 bytes, data may be NULL. */
PXL_API PXL_MUST pxl_status pxl_write(pxl_session *s, int index, const void *data, size_t bytes);
PXL_API PXL_MUST pxl_status pxl_read(pxl_session *s, int index, void *out, size_t bytes);
/* Several variables in one transfer to the device; when one of them does not fit, none is written. */
typedef struct pxl_value { int index; const void *data; size_t bytes; } pxl_value;
/* at most as many values as the program has variables */
PXL_API PXL_MUST pxl_status pxl_write_variables(pxl_session *s, const pxl_value *values, size_t n);
/* The value of a variable itself, not a copy: read it before the next call on s. A mapped variable gives the pages of its file. */
PXL_API PXL_MUST pxl_status pxl_view(pxl_session *s, int index, const void **out);
/* Use the caller's array itself for a stream, without copies, in every run until bound anew (NULL: back to the session's
 * own). An input of several transfers may have more of them than a run takes. An output is computed in its array wherever the
 * array shares no memory with another that is bound: it changes while a run goes on, and after one that failed it holds
 * anything. */
PXL_API PXL_MUST pxl_status pxl_bind(pxl_session *s, int index, void *data, size_t bytes);      /* whole transfers */
/* The same as pxl_write for an array as the host has it: dimensions of 1 do not count, a stream of several transfers may get
 * more of them than a run takes, and 64-bit numbers are narrowed (an integer that does not fit is EINVAL). */
PXL_API PXL_MUST pxl_status pxl_write_array(pxl_session *s, int index, const pxl_array *a);
/* The same from a .npy file, through gzip too. What its header says is checked first, and no more is read than is
 * written. A file that does not fit is EIO. bf16 and float8 are held as their bits, <u2 and |u1. */
PXL_API PXL_MUST pxl_status pxl_write_npy(pxl_session *s, int index, const char *path);
PXL_API PXL_MUST pxl_status pxl_run(pxl_session *s, size_t times);
PXL_API uint64_t pxl_runs(const pxl_session *s);
/* What the runs of this session have moved so far, all replicas together. A merged exchange counts its parts by kind, and is one of `exchanges`. */
typedef struct pxl_traffic {
	size_t size;
	uint64_t host_loads, host_stores, remote_loads, remote_stores, code_loads;
	uint64_t exchanges;                        /* steps in which something moved */
	uint64_t weights_to_host, weights_from_host;   /* how often variables came from the device, and went there */
} pxl_traffic;
#define PXL_TRAFFIC_INIT { sizeof(pxl_traffic), 0, 0, 0, 0, 0, 0, 0, 0 }
PXL_API void     pxl_get_traffic(const pxl_session *s, pxl_traffic *out);       /* out->size set */

/* Variables by name, as safetensors. Loading checks every shape before writing any; what is missing on either side is an
 * error, unless `partial` says that only what both have counts (PXL_SHARED), or that the two need not come from the same
 * training (PXL_NEEDED): the file may hold more than the program has, and variables that the model made with `state = true`
 * get their initial value where the file lacks them, which a warning of the log says. Saving is atomic. */
enum { PXL_SHARED = 1, PXL_NEEDED = 2 };
PXL_API PXL_MUST pxl_status pxl_load(pxl_session *s, const char *path, int partial);
PXL_API PXL_MUST pxl_status pxl_save(pxl_session *s, const char *path);
/* Copy every variable whose name both have; *out (which may be NULL): how many. Two of one name but another dtype or shape: EINVAL, and
 * nothing is copied. */
PXL_API PXL_MUST pxl_status pxl_copy_variables(pxl_session *to, pxl_session *from, size_t *out);

/* When weights move (PopXL's rules): sessions start attached, unless made detached. While the file of a variable is mapped for
 * reading alone no weights come to the host: detaching leaves them out, asking for them is EINVAL, and reading looks on the device. */
PXL_API PXL_MUST pxl_status pxl_attach(pxl_session *s);
PXL_API PXL_MUST pxl_status pxl_detach(pxl_session *s, int weights_to_host);
PXL_API int      pxl_is_attached(const pxl_session *s);
PXL_API int      pxl_in_sync(const pxl_session *s);          /* the host's copy of the variables is what the device has: not since a run */
PXL_API PXL_MUST pxl_status pxl_weights_to_host(pxl_session *s);
PXL_API PXL_MUST pxl_status pxl_weights_from_host(pxl_session *s);

/* --- tasks: what `pxlc train` and `pxlc test` do ---------------------------------------------------------------- */
typedef struct pxl_metric { const char *name; double value; } pxl_metric;
typedef struct pxl_progress {
	const char *task;
	int64_t epoch, epochs;                     /* from 1 */
	int64_t step, steps;                       /* within the epoch: done, and to do */
	int64_t total_step;                        /* since the task began, earlier runs it resumed included */
	double seconds, it_per_s;
	const pxl_metric *metrics; size_t nmetric; /* what the task shows */
	int epoch_done;
} pxl_progress;
/* called after steps, at most some ten times a second and at the end of each epoch; nonzero asks the task to stop (and save) */
typedef int (*pxl_progress_fn)(void *user, const pxl_progress *now);

typedef struct pxl_task_options {
	size_t size;
	const char *task;                          /* NULL: "train" */
	int64_t epochs, limit;                     /* 0: as the task says; limit: steps of this run */
	const char *weights, *save;                /* NULL: as the task says; save "": nowhere */
	int resume;                                /* go on from `save` (or `weights`, if given): step, data position, variables */
	const char *log;                           /* JSON lines; NULL: none */
	const char *data_dir;                      /* NULL: $PXL_DATA_DIR, then ~/.cache/pxl */
	pxl_program_options program;               /* name is the task's */
	pxl_session_options session;
	pxl_progress_fn progress; void *progress_user;
} pxl_task_options;
#define PXL_TASK_OPTIONS_INIT { sizeof(pxl_task_options), NULL, 0, 0, NULL, NULL, 0, NULL, NULL, \
	PXL_PROGRAM_OPTIONS_INIT, PXL_SESSION_OPTIONS_INIT, NULL, NULL }

typedef struct pxl_result {
	const char *task, *program, *data;         /* data: "mnist", "digits", "arrays" or "none" */
	const char *saved;                         /* file, or "" */
	int64_t steps, samples;                    /* of this run; no steps and not interrupted: a resumed training had nothing left to do */
	double seconds, it_per_s, samples_per_s;   /* of this run's steps */
	double last_loss, compile_ms;
	const pxl_metric *report; size_t nreport;  /* over all of the training, earlier runs that it resumed included */
	const pxl_metric *show; size_t nshow;      /* over its last epoch */
	int interrupted;
} pxl_result;
/* Runs the task to its end, or to PXL_EINTR after saving. A NaN in what the task shows is PXL_ERUN, and nothing is saved, unless the
 * task says `allow_nan = true`. The result belongs to the model, till the next task. */
PXL_API PXL_MUST pxl_status pxl_task_run(pxl_model *m, const pxl_task_options *opt, const pxl_result **out);

/* --- arrays in files -------------------------------------------------------------------------------------------- */
PXL_API PXL_MUST pxl_status pxl_npy_read(pxl_ctx *cx, const char *path, pxl_array *out);     /* free with pxl_array_free */
PXL_API PXL_MUST pxl_status pxl_npy_write(pxl_ctx *cx, const char *path, pxl_dtype t, int rank, const int64_t *dim, const void *data);
/* NAME.npy in a folder of the host's, where a model chose the name, as it does for streams: `/` becomes `%`, no link
 * leads out of the folder, and a file that is there is replaced only if it is .npy as well. EMODEL: a name that can be
 * none */
PXL_API PXL_MUST pxl_status pxl_npy_write_in(
	pxl_ctx *cx, const char *dir, const char *name, pxl_dtype t, int rank, const int64_t *dim, const void *data);
PXL_API void   pxl_array_free(pxl_ctx *cx, pxl_array *a);
PXL_API double pxl_element(pxl_dtype t, const void *data, size_t i);                         /* as a double; 0 where there is none */
PXL_API void   pxl_convert(pxl_dtype to, void *dst, pxl_dtype from, const void *src, size_t n);   /* by the rules of `cast`; nothing, for a type that is none */

/* --- what the library knows about itself ------------------------------------------------------------------------ */
/* "ops" (all, one a line), "ops.json", "op" NAME, "op.json" NAME, "op.md" (the manual of all), "explain" CODE, "errors.md", "passes".
 * EINVAL for an unknown name, with the nearest one in the message. Valid till the next call on cx. */
PXL_API PXL_MUST pxl_status pxl_describe(pxl_ctx *cx, const char *what, const char *name, const char **out);
/* rows * columns cells, row by row, as lines in columns, with a rule of dashes under a header. Valid till the next call on cx; "" when memory runs out, or for a cell
 * that is NULL, numbers below 1, or more than 2^24 cells */
PXL_API const char *pxl_table(pxl_ctx *cx, const char *const *cells, int rows, int columns, const char *delimiter, int header);
/* the one of the known words that was probably meant, or NULL: for "did you mean" */
PXL_API const char *pxl_nearest(const char *word, const char *const *known, int n);

#ifdef __cplusplus
}
#endif
#endif
