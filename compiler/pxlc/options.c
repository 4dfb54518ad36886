/* options.c — one table of options: what each is called, what it means, and which commands take it.
 *
 * Parsing, the help texts and the refusal of options that a command has no use for are loops over this table. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/pxlc/cli.h"

typedef enum Kind { FLAG, WORD, NUMBER, COUNT, SOME, LIST } Kind;      /* COUNT: fits an int; SOME: and is at least 1 */
typedef struct Option { const char *name, *arg; Kind kind; size_t at; unsigned takers; const char *help; } Option;

#define AT(field) offsetof(Cli, field)
static const Option options[] = {
	{ "--program", "P", WORD, AT(program), RUN | EMIT | BENCH | BUILD, "which program; without it the only one, or `main`" },
	{ "--task", "T", WORD, AT(task), TASKS, "which task; without it the one named like the command" },
	{ "--epochs", "N", SOME, AT(epochs), TASKS, "passes over the data, instead of what the task says" },
	{ "--limit", "N", SOME, AT(limit), TASKS, "stop after N steps of this run" },
	{ "--steps", "N", SOME, AT(steps), BENCH, "how many steps to time" },
	{ "--resume", NULL, FLAG, AT(resume), TRAIN, "go on where the saved run stopped, bit for bit" },
	{ "--log", "F.jsonl", WORD, AT(log), TASKS, "append one JSON object per progress report to F" },
	{ "--after", "PASS", WORD, AT(after), EMIT, "print the IR as it is after this pass" },
	{ "--no-pass", "A,B", WORD, AT(no_pass), BUILDS, "leave out these passes; one that none can do without does as at -O0" },
	{ "--dot", "DIR", WORD, AT(dot), RUN | TASKS | CHECK, "draw the program's checkpoints into DIR, one Graphviz file per graph" },
	{ "--dot-checks", "A:B", WORD, AT(dot_checks), RUN | TASKS | CHECK, "only these checkpoints, and those of PXL_DOT_CHECKS; ALL: every one, as without this option" },
	{ "--dot-first", "N", COUNT, AT(dot_first), RUN | TASKS | CHECK, "draw each schedule from this op on" },
	{ "--dot-count", "N", COUNT, AT(dot_count), RUN | TASKS | CHECK, "draw so many ops of each schedule" },
	{ "--time-passes", NULL, FLAG, AT(time_passes), RUN | BENCH, "say on standard error where compiling took how long" },
	{ "--passes", NULL, FLAG, AT(passes), OPS, "list the passes instead" },
	{ "--check", NULL, FLAG, AT(check), FMT, "change nothing; exit 1 if the layout differs" },
	{ "-o", "PATH", WORD, AT(output), BUILD, "where the result goes" },
	{ "--set", "NAME=VALUE", LIST, AT(set), BUILDS, "a parameter of the program; may be repeated" },
	{ "--in", "STREAM=F.npy", LIST, AT(in), RUN, "data of an input stream; may be repeated" },
	{ "--out", "STREAM=F.npy", LIST, AT(out), RUN, "write an output stream to a file, or all to `--out DIR`" },
	{ "--seed", "N", NUMBER, AT(seed), BUILDS, "initial values, shuffling; 0 by default" },
	{ "--weights", "F", WORD, AT(weights), RUNS, "read the variables from a safetensors file first" },
	{ "--save", "F", WORD, AT(save), RUN | TASKS, "write the variables to a safetensors file at the end" },
	{ "--map", "[NAME=]PATH", LIST, AT(map), RUNS, "keep variables in files, mapped: NAME in PATH, or all in the folder PATH" },
	{ "--map-read", NULL, FLAG, AT(map_read), RUNS, "never write files of --map that are there" },
	{ "--data", "DIR", WORD, AT(data), TASKS, "where data sets are; also PXL_DATA_DIR" },
	{ "--threads", "N", COUNT, AT(threads), RUNS, "threads, at most and by default one per processor" },
	{ "--replicas", "N", SOME, AT(replicas), BUILDS, "replicas, instead of what the program says" },
	{ "--device", "NAME", WORD, AT(device), BUILDS, "cpu" },
	{ "--jit", "tcc|cc|auto", WORD, AT(jit), RUNS, "who compiles the emitted C; auto: tcc at once, cc behind it when the run is long" },
	{ "--matmul", "f32|bf16", WORD, AT(matmul), BUILDS, "bf16: f32 products of operands rounded to bf16, faster; convolutions and attention stay f32" },
	{ "-O0", NULL, FLAG, AT(level), BUILDS, "optimise nothing" },
	{ "-O1", NULL, FLAG, AT(level), BUILDS, "simplify, share, remove what is unused" },
	{ "-O2", NULL, FLAG, AT(level), BUILDS, "fuse as well; the default" },
	{ "--allow-path", "DIR", LIST, AT(allow_path), BUILDS, "let the model name files below DIR too; may be repeated" },
	{ "--allow-native", NULL, FLAG, AT(allow_native), BUILDS, "let the model name C files to run" },
	{ "--native", "F.c", LIST, AT(native), BUILDS, "ops of this C file, for the model's `host_op`; may be repeated" },
	{ "--max-errors", "N", SOME, AT(max_errors), BUILDS | FMT, "stop reporting after N errors (20)" },
	{ "--max-memory", "MIB", SOME, AT(max_memory), BUILDS | FMT, "memory that building a model may take (2048)" },
	{ "--json", NULL, FLAG, AT(json), ALL, "one JSON object on standard output, nothing else there" },
	{ "-q", NULL, FLAG, AT(quiet), ALL, "no progress, no notices" },
	{ "-v", NULL, FLAG, AT(verbose), ALL, "say what is built and of what size, with which data, where it is saved" },
	{ "--color", "auto|always|never", WORD, AT(color), ALL, "colour in diagnostics" },
	{ "--diag", "full|short", WORD, AT(diag), ALL, "form of diagnostics" },
	{ "--help", NULL, FLAG, AT(help), ALL, "this text" },
};
enum { NOPTION = sizeof options / sizeof *options };

static int takes(const Command *cmd, const Option *o) { return (o->takers & cmd->bit) != 0; }

/* "`pxlc run`, `pxlc train`" into text, which has room for all of them */
static const char *takers_text(const Option *o, char *text, size_t size)
{
	size_t n = 0;
	text[0] = 0;
	for (const Command *c = commands; c->name; c++)
		if (takes(c, o)) n += (size_t)snprintf(text + n, size - n, "%s`%s`", n ? ", " : "", c->name);
	return text;
}

/* what the command takes besides the options that all take */
static const char *own_options(const Command *cmd, char *text, size_t size)
{
	size_t n = 0;
	text[0] = 0;
	for (int i = 0; i < NOPTION; i++)
		if (takes(cmd, &options[i]) && options[i].takers != ALL) n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", options[i].name);
	return text;
}

static int of_no_use(const Cli *c, const Command *cmd, const Option *o)
{
	char own[640], others[160];
	own_options(cmd, own, sizeof own);
	return usage(c, "`pxlc %s` has no use for `%s`, an option of %s; %s%s", cmd->name, o->name, takers_text(o, others, sizeof others),
	             *own ? "its own are " : "it has none of its own", own);
}

static int unknown(const Cli *c, const Command *cmd, const char *word)
{
	const char *known[NOPTION];
	int n = 0;
	for (int i = 0; i < NOPTION; i++)
		if (takes(cmd, &options[i])) known[n++] = options[i].name;
	const char *near = pxl_nearest(word, known, n);
	if (near) return usage(c, "`pxlc %s` has no option `%s`; did you mean `%s`?", cmd->name, word, near);
	return usage(c, "`pxlc %s` has no option `%s`; `pxlc %s --help` lists them", cmd->name, word, cmd->name);
}

/* --- parsing ---------------------------------------------------------------------------------------------- */
static int parse_number(const Cli *c, const Option *o, const char *text, uint64_t *out)
{
	char *end;
	errno = 0;
	unsigned long long x = strtoull(text, &end, 0);
	if (!*text || *end || errno || strchr(text, '-')) return usage(c, "`%s` needs a number that is not negative, not `%s`", o->name, text);
	if (o->kind == SOME && x == 0) return usage(c, "`%s` needs a number of at least 1", o->name);
	if (o->kind != NUMBER && x > INT32_MAX) return usage(c, "`%s %s` is too large", o->name, text);
	*out = x;
	return 0;
}

static int list_add(Cli *c, List *l, const char *word)
{
	if (l->n == l->room) {
		int room = l->room ? l->room * 2 : 16;
		const char **more = realloc(l->at, (size_t)room * sizeof *more);
		if (!more) return failed(c, EXIT_FIT, "out of memory");
		l->at = more;
		l->room = room;
	}
	l->at[l->n++] = word;
	return 0;
}

static int store(Cli *c, const Option *o, const char *value)
{
	char *field = (char *)c + o->at;
	uint64_t x = 0;
	switch (o->kind) {
	case FLAG:
		if (!strncmp(o->name, "-O", 2)) *(int64_t *)(void *)field = o->name[2] - '0';
		else *(int *)(void *)field = 1;
		return 0;
	case WORD:
		*(const char **)(void *)field = value;
		return 0;
	case LIST: return list_add(c, (List *)(void *)field, value);
	default:
		if (parse_number(c, o, value, &x)) return EXIT_USAGE;
		*(uint64_t *)(void *)field = x;
		return 0;
	}
}

/* --name=value and --name value are the same; -O2 and friends are names of their own */
static int parse_option(Cli *c, const Command *cmd, int argc, char **argv, int *i)
{
	const char *word = argv[*i], *eq = strncmp(word, "--", 2) ? NULL : strchr(word, '=');
	size_t n = eq ? (size_t)(eq - word) : strlen(word);
	for (int k = 0; k < NOPTION; k++) {
		const Option *o = &options[k];
		if (strlen(o->name) != n || strncmp(o->name, word, n)) continue;
		if (!takes(cmd, o)) return of_no_use(c, cmd, o);
		if (o->kind == FLAG) return eq ? usage(c, "`%s` takes no value", o->name) : store(c, o, NULL);
		if (!eq && *i + 1 == argc) return usage(c, "`%s` needs a value: %s %s", o->name, o->name, o->arg);
		return store(c, o, eq ? eq + 1 : argv[++*i]);
	}
	return unknown(c, cmd, word);
}

static int one_of(const Cli *c, const char *name, const char *value, const char *const *words)
{
	char list[128] = "";
	for (int i = 0; words[i]; i++) {
		if (!value || !strcmp(value, words[i])) return 0;
		size_t n = strlen(list);
		snprintf(list + n, sizeof list - n, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	}
	return usage(c, "`%s` cannot be `%s`: it is %s", name, value, list);
}

static int check_words(const Cli *c)
{
	static const char *const jit[] = { "tcc", "cc", "auto", NULL }, *const color[] = { "auto", "always", "never", NULL };
	static const char *const diag[] = { "full", "short", NULL }, *const device[] = { "cpu", NULL }, *const matmul[] = { "f32", "bf16", NULL };
	if (one_of(c, "--jit", c->jit, jit) || one_of(c, "--color", c->color, color)) return EXIT_USAGE;
	return one_of(c, "--diag", c->diag, diag) || one_of(c, "--matmul", c->matmul, matmul) || one_of(c, "--device", c->device, device) ? EXIT_USAGE : 0;
}

static int split_sets(Cli *c)
{
	if (c->set.n && !(c->sets = calloc((size_t)c->set.n, sizeof *c->sets))) return failed(c, EXIT_FIT, "out of memory");
	for (int i = 0; i < c->set.n; i++) {
		char *text = (char *)c->set.at[i], *eq = strchr(text, '=');      /* argv is ours to change */
		if (!eq || eq == text) return usage(c, "`--set %s` has no `=`: write --set NAME=VALUE", text);
		*eq = 0;
		c->sets[i] = (pxl_set){ text, eq + 1 };
	}
	return 0;
}

static int split_maps(Cli *c)
{
	if (c->map.n && !(c->maps = calloc((size_t)c->map.n, sizeof *c->maps))) return failed(c, EXIT_FIT, "out of memory");
	for (int i = 0; i < c->map.n; i++) {
		char *text = (char *)c->map.at[i], *eq = strchr(text, '=');
		if (eq == text || !*text || (eq && !eq[1])) return usage(c, "`--map %s` lacks a name or a path: write --map NAME=PATH or --map PATH", text);
		if (eq) *eq = 0;
		c->maps[i] = (pxl_map){ eq ? text : NULL, eq ? eq + 1 : text, c->map_read ? PXL_MAP_READ_EXISTING : 0 };
	}
	return 0;
}

int asks_json(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json")) return 1;
	return 0;
}

int cli_parse(Cli *c, const Command *cmd, int argc, char **argv)
{
	c->command = cmd->name;
	c->level = 2;
	c->json_ahead = asks_json(argc, argv);
	int only_files = 0, code;
	for (int i = 0; i < argc; i++) {
		const char *a = argv[i];
		if (!only_files && !strcmp(a, "--")) {
			only_files = 1;
		} else if (!only_files && a[0] == '-' && a[1]) {
			if (!strcmp(a, "-h")) c->help = 1;
			else if ((code = parse_option(c, cmd, argc, argv, &i))) return code;
		} else if ((code = list_add(c, &c->files, a))) {
			return code;
		}
	}
	c->json_ahead = 0;
	if (!(code = check_words(c)) && !(code = split_sets(c))) code = split_maps(c);
	return code;
}

/* --- help ------------------------------------------------------------------------------------------------------ */
void put_padded(FILE *f, const char *text, int width)
{
	int used = 0;
	for (const char *p = text; *p; p++) used += (*p & 0xc0) != 0x80;       /* bytes that begin a character */
	fputs(text, f);
	do fputc(' ', f);
	while (++used < width);
}

static void option_lines(const Command *cmd, int everyones, FILE *f)
{
	for (int i = 0; i < NOPTION; i++) {
		const Option *o = &options[i];
		if ((o->takers == ALL) != everyones || !takes(cmd, o)) continue;
		char left[64];
		snprintf(left, sizeof left, "  %s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
		put_padded(f, left, 29);
		fprintf(f, "%s\n", o->help);
	}
}

void cli_help(const Command *cmd, FILE *f)
{
	char own[640];
	fprintf(f, "pxlc %s %s\n%s\n", cmd->name, cmd->args, cmd->summary);
	if (cmd->text) fprintf(f, "\n%s\n", cmd->text);
	if (*own_options(cmd, own, sizeof own)) {
		fprintf(f, "\nIts options:\n");
		option_lines(cmd, 0, f);
	}
	fprintf(f, "\nOptions of every command:\n");
	option_lines(cmd, 1, f);
}
