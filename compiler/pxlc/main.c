/* main.c — the command: a table of subcommands, and the way to them. */
#include <string.h>

#include "compiler/pxlc/commands.h"

const Command commands[] = {
	{ "run", RUN, "FILE", "Build a program, run it once, print what it puts out.", cmd_run,
	  "Each output stream is printed as `name: dtype[shape]` and its values, long ones abridged.\n"
	  "Inputs come from --in; with --out nothing is printed but what goes to files." },
	{ "train", TRAIN, "FILE", "Run the file's `train` task: progress, a summary, and what the task saves.", cmd_train,
	  "Ctrl-C, SIGTERM and SIGHUP (a closed terminal) save what the task saves and exit 130; --resume goes on from there. A loss that is\n"
	  "not a number ends the task with exit 5, and what an earlier run saved stays; `allow_nan = true` in the task goes on." },
	{ "test", TEST, "FILE", "Run the file's `test` task and print each metric as `name: value`.", cmd_test, NULL },
	{ "check", CHECK, "FILE…", "Say what is wrong with models, and nothing else.", cmd_check,
	  "Looks at what `run`, `train` and `test` would refuse before their first step, and runs nothing: every program is built, up to the\n"
	  "emitted C, with its default parameters or those of --set; every task is matched with its program: parameters, arrays in\n"
	  "files, streams, metrics, and weights that no task of the file saves. Not looked at: the files of MNIST, and whether the memory\n"
	  "of this machine is enough." },
	{ "emit", EMIT, "STAGE FILE", "Print a stage of the compiler: ast, ir, schedule, dot, code, debug, plan or c.", cmd_emit,
	  "The main graph comes first, then subgraphs in the order they were made." },
	{ "bench", BENCH, "FILE", "Time steps inside the process on random inputs, after a warm-up.", cmd_bench,
	  "Prints the median, the 20th and 80th percentile in microseconds, compile time and planned peak memory. Twenty steps warm up, or\n"
	  "as many as begin within one second, at least one; they are not timed. Inputs are drawn once, floats in [-1, 1), integers 0 or 1;\n"
	  "random initial values of a variable repeat after 65536 numbers." },
	{ "ops", OPS, "[NAME]", "The op table, or one op's page.", cmd_ops, NULL },
	{ "explain", EXPLAIN, "CODE", "What a diagnostic means, at length.", cmd_explain, NULL },
	{ "build", BUILD, "FILE -o DIR", "The emitted C, a header, a library and an example caller, for use without the compiler.", cmd_build, NULL },
	{ "fmt", FMT, "FILE…", "Lay out models in the house's way, in place; `-` filters standard input.", cmd_fmt, NULL },
	{ NULL, 0, NULL, NULL, NULL, NULL },
};

static void overview(FILE *f)
{
	fprintf(f, "pxlc %s — compiles and runs pxl models\n\nusage: pxlc COMMAND [options] FILE\n\n", pxl_version_text());
	for (const Command *c = commands; c->name; c++) {
		char left[40];
		snprintf(left, sizeof left, "  %s %s", c->name, c->args);
		put_padded(f, left, 20);
		fprintf(f, "%s\n", c->summary);
	}
	fprintf(f, "\n`pxlc COMMAND --help` tells a command's options. `-` reads a model from standard input.\n"
	           "Exit status: 0 done, 1 the model is wrong, 2 the command line is wrong, 3 does not fit, 4 input or output\n"
	           "failed, 5 the program failed while running, 70 a fault of ours, 130 interrupted.\n"
	           "Environment: PXL_CACHE_DIR (what the system's compiler made), PXL_CC, PXL_JIT_SWAP, PXL_DATA_DIR,\n"
	           "PXL_DOT_CHECKS, PXL_LOG_LEVEL, PXL_LOG_DEST, PXL_LOG_FORMAT, PXL_VERIFY, NO_COLOR; docs/api.md says what each does.\n");
}

static const Command *find(const char *name)
{
	for (const Command *c = commands; c->name; c++)
		if (!strcmp(c->name, name)) return c;
	return NULL;
}

static int no_command(const char *word, int json)
{
	Cli cli = { .json = json };                  /* no command */
	const char *known[32];
	int n = 0;
	for (const Command *c = commands; c->name; c++) known[n++] = c->name;
	const char *near = pxl_nearest(word, known, n);
	if (near) return usage(&cli, "there is no command `%s`; did you mean `%s`?", word, near);
	return usage(&cli, "there is no command `%s`; `pxlc --help` lists them", word);
}

int main(int argc, char **argv)
{
	static Cli cli;                              /* what its lists hold is never freed */
	if (argc < 2) {
		overview(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		const Command *c = argc > 2 ? find(argv[2]) : NULL;
		if (argc > 2 && !c) return no_command(argv[2], 0);
		if (c) cli_help(c, stdout);
		else overview(stdout);
		return finish_output();
	}
	if (!strcmp(argv[1], "--version")) {
		printf("pxlc %s\n", pxl_version_text());
		return finish_output();
	}
	const Command *c = find(argv[1]);
	if (!c) return no_command(argv[1], asks_json(argc - 1, argv + 1));
	int bad = cli_parse(&cli, c, argc - 2, argv + 2);
	if (cli.help) {
		cli_help(c, stdout);
		return finish_output();
	}
	return bad ? bad : c->run(&cli);
}
