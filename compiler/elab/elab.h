/* elab.h — runs the tree at compile time.  A host (compiler/api) loads a file, asks what it declares,
 * and has programs built and tasks evaluated. */
#ifndef COMPILER_ELAB_ELAB_H
#define COMPILER_ELAB_ELAB_H

#include "compiler/ir/ir.h"
#include "lang/lang.h"

typedef struct Elab Elab;
enum { MOST_REPLICAS = 65536 };

typedef struct ElabOptions {
	Arena *mem;
	Intern *names;
	Sources *srcs;
	Diags *ds;
	uint64_t seed;
	int allow_native;
	int64_t max_steps; int max_depth;            /* 0: defaults (see docs/language.md, Limits) */
	/* text of `use name` beside `from`: 1 found (text in arena), 0 not there, -1 unreadable (message in why) */
	int (*read_module)(void *user, const Source *from, const char *name, const char **path, const char **text, size_t *len, Buf *why);
	void (*print)(void *user, const char *text, size_t len);     /* the model's `print` */
	/* array in a .npy file that a task names, relative to the main file's folder: 1 read (bytes in arena), 0 with
	 * the message in why; NULL: no files may be read */
	int (*read_array)(void *user, const char *path, HostArray **out, Buf *why);
	/* dot_checkpoint: 1, or 0 with the message in why; save_dir NULL: where the last one was; NULL: nothing is drawn */
	int (*checkpoint)(void *user, const Ir *ir, const char *name, const char *save_dir, Buf *why);
	const struct HostOp *hosts;                  /* ops that the host registered, latest first (compiler/ops/host_op.h) */
	/* `native "file.c"`, found as the task's arrays are: its ops, also in front of *hosts (those that are not there yet). How many;
	 * -1 with the message in why. Only with allow_native */
	int (*read_native)(
		void *user, const char *path, const struct HostOp **hosts, const struct HostOp *const **ops, Buf *why);
	void *user;
} ElabOptions;

Elab *elab_new(const ElabOptions *o);
void  elab_seed(Elab *e, uint64_t seed);                     /* for host arrays drawn while building; before elab_program */
int   elab_file(Elab *e, uint32_t src);                      /* parse and run the top level; 0 after errors */
int   elab_program_count(const Elab *e);
const char *elab_program_name(const Elab *e, int i);         /* in order of declaration */
int   elab_task_count(const Elab *e);
const char *elab_task_name(const Elab *e, int i);
/* parameters of a program, for help texts: "batch: int = 8"; NULL after the last */
const char *elab_program_param(Elab *e, const char *program, int i);

/* --set NAME=VALUE: the value as the user typed it (any compile-time expression) */
typedef struct ElabSet { const char *name, *value; } ElabSet;
int elab_program_takes(const Elab *e, const char *program, const char *param);      /* has it such a parameter? */
/* the first parameter without a default that is not among the sets; NULL: there is none */
const char *elab_program_needs(const Elab *e, const char *program, const ElabSet *sets, int nset);
/* Run a program's body: its IR, checked and frozen; NULL after errors. replicas > 0 overrides the setting. */
Ir *elab_program(Elab *e, const char *name, const ElabSet *sets, int nset, int replicas);
int elab_bad_sets(const Elab *e);                            /* after NULL: the sets are to blame, not the model */

/* --- tasks ---------------------------------------------------------------------------------------------- */
/* host expressions over a run (`show`, `report`): a small tree evaluated after, or during, the run */
typedef enum MetricKind { M_NUM, M_AGG, M_SAMPLES, M_STEPS, M_SECONDS, M_NEG, M_ADD, M_SUB, M_MUL, M_DIV } MetricKind;
typedef enum Aggregate { AGG_MEAN, AGG_SUM, AGG_MIN, AGG_MAX, AGG_LAST } Aggregate;
typedef struct Metric Metric;
struct Metric { MetricKind kind; double num; Aggregate agg; const char *stream; const Metric *a, *b; };
typedef struct NamedMetric { const char *name; const Metric *m; Span at; } NamedMetric;

typedef enum DataKind { DATA_NONE, DATA_MNIST, DATA_DIGITS, DATA_ARRAYS } DataKind;
typedef struct Task {
	const char *name, *program;
	ElabSet *sets; int nset;                     /* parameters the task fixes: `program = train(batch = 32)` */
	DataKind data; const char *split; int shuffle;
	struct { const char *column; HostArray *array; } *arrays; int narray;
	int64_t epochs, limit;                       /* limit 0: none */
	VEC(NamedMetric) show, report;
	int allow_nan;                               /* `show` may be not a number; else the run fails */
	const char *save, *weights, *weights_task;   /* file names; `weights = task.train`: the task whose result is used */
	Span at, save_at, weights_at;
} Task;
const Task *elab_task(Elab *e, const char *name);            /* NULL after errors */
const char *elab_task_saves(Elab *e, const char *name);      /* the file that the task saves to; NULL: none. Reads no data */

#endif
