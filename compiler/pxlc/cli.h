/* cli.h — what the subcommands share: the command line, messages, exit codes, printing of arrays.
 * pxlc knows the library through pxl.h alone. */
#ifndef PXLC_CLI_H
#define PXLC_CLI_H

#include <stdio.h>

#include "compiler/api/pxl.h"

enum { EXIT_DONE = 0, EXIT_MODEL = 1, EXIT_USAGE = 2, EXIT_FIT = 3, EXIT_IO = 4, EXIT_RUN = 5, EXIT_BUG = 70, EXIT_INTERRUPTED = 130 };

typedef struct List { const char **at; int n, room; } List;         /* repeatable options, as typed; kept till the end */

typedef struct Cli {
	const char *command;
	List files, set, in, out, native, map, allow_path;
	const char *program, *task, *output, *weights, *save, *data, *log, *device, *jit, *matmul, *color, *diag, *after, *no_pass, *dot, *dot_checks;
	int64_t dot_first, dot_count, epochs, limit, steps, threads, replicas, level, max_errors, max_memory;
	uint64_t seed;
	int json, quiet, verbose, resume, help, allow_native, passes, time_passes, check, map_read;
	int json_ahead;                            /* while parsing: --json is there, perhaps further on */
	enum { JSON_ALONE, JSON_MEMBERS, JSON_LIST } json_errors;   /* a failure is all the output; members of the object being written; one of several */
	int json_listed;                           /* JSON_LIST: how often something was added */
	char json_error[1024];                     /* and the first message */
	pxl_set *sets;                             /* --set, split at = */
	pxl_map *maps;                             /* --map, the same */
} Cli;

/* the commands as bits, for the table of options, which says who takes what */
enum {
	RUN = 1, TRAIN = 2, TEST = 4, CHECK = 8, EMIT = 16, BENCH = 32, OPS = 64, EXPLAIN = 128, BUILD = 256, FMT = 512,
	TASKS = TRAIN | TEST, RUNS = RUN | TASKS | BENCH, BUILDS = RUNS | CHECK | EMIT | BUILD, ALL = BUILDS | OPS | EXPLAIN | FMT
};

typedef struct Command {
	const char *name;
	unsigned bit;
	const char *args, *summary;
	int (*run)(Cli *c);
	const char *text;                              /* the rest of its help */
} Command;
extern const Command commands[];                       /* ends with name NULL */

/* --- options.c: 0, or an exit code after a message */
int  asks_json(int argc, char **argv);                 /* before anything is known to be right */
int  cli_parse(Cli *c, const Command *cmd, int argc, char **argv);
void cli_help(const Command *cmd, FILE *f);
void put_padded(FILE *f, const char *text, int width); /* in columns of a terminal, at least one blank behind it */

/* --- host.c: contexts and models with the command line's options; errors are printed and become exit codes */
typedef struct Host { Cli *c; pxl_ctx *cx; pxl_model *m; pxl_program *p; pxl_session *s; } Host;
int  host_context(Host *h, Cli *c);
int  host_model(Host *h, const char *file);            /* "-": standard input */
int  host_program(Host *h, pxl_stage upto);
int  host_session(Host *h, int for_timing);            /* with --weights loaded; for_timing: initial values need not be good */
void host_close(Host *h);
void host_warnings(Host *h);                           /* of the last call that built something */
int  host_fail(Host *h, pxl_status st);                /* prints what is known, returns the exit code */
int  host_fail_session(Host *h, pxl_status st);
pxl_program_options host_program_options(const Cli *c);
pxl_session_options host_session_options(const Cli *c);
int  exit_code(pxl_status st);
int  say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));     /* "pxlc: …" on standard error */
int  usage(const Cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));   /* says, returns EXIT_USAGE */
int  failed(Cli *c, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));   /* says, under --json too; returns code */
void json_list_begin(Cli *c);                          /* under --json: failures and warnings from here on become one object ... */
int  json_list_end(Cli *c);                            /* ... which ends here; flushes standard output */
int  finish_output(void);                              /* flushes standard output; EXIT_IO if that fails */

/* --- values.c */
void json_string(FILE *f, const char *s);
void json_number(FILE *f, double x);                   /* null for what JSON has no number for */
void print_number(FILE *f, double x);                  /* shortest form that reads back */
void spec_text(pxl_dtype t, int rank, const int64_t *dim, char *out, size_t size);     /* 256 bytes are enough */
void print_spec(FILE *f, pxl_dtype t, int rank, const int64_t *dim);
void print_array(FILE *f, pxl_dtype t, int rank, const int64_t *dim, const void *data);    /* long ones abridged */
void json_array(FILE *f, pxl_dtype t, int rank, const int64_t *dim, const void *data);

/* --- progress.c */
typedef struct Progress Progress;
int  progress_show(void *user, const pxl_progress *now);     /* a pxl_progress_fn; user is a Progress */
struct Progress { FILE *f; int quiet, tty, epoch, tenth; double last; int width; };
void progress_begin(Progress *p, const Cli *c);
void progress_end(Progress *p);
void interrupts_begin(void);                                 /* from now on the first SIGINT, SIGTERM or SIGHUP is only noted: */
void interrupts_end(void);
int  interrupted(void);

#endif
