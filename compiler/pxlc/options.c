/* options.c — one table of options; each command names those it takes. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/pxlc/cli.h"

typedef enum Kind { FLAG, WORD, NUMBER, COUNT, SOME, LIST } Kind;      /* COUNT: fits an int; SOME: and is at least 1 */
typedef struct Option { const char *name, *arg; Kind kind; size_t at; int common; const char *help; } Option;

#define AT(field) offsetof(Cli, field)
static const Option options[] = {
	{ "--program", "P", WORD, AT(program), 0, "which program; without it the only one, or `main`" },
	{ "--task", "T", WORD, AT(task), 0, "which task; without it the one named like the command" },
	{ "--epochs", "N", SOME, AT(epochs), 0, "passes over the data, instead of what the task says" },
	{ "--limit", "N", SOME, AT(limit), 0, "stop after N steps of this run" },
	{ "--steps", "N", SOME, AT(steps), 0, "how many steps to time" },
	{ "--resume", NULL, FLAG, AT(resume), 0, "go on where the saved run stopped, bit for bit" },
	{ "--log", "F.jsonl", WORD, AT(log), 0, "append one JSON object per progress report to F" },
	{ "--after", "PASS", WORD, AT(after), 0, "print the IR as it is after this pass" },
	{ "--no-pass", "A,B", WORD, AT(no_pass), 0, "leave out these passes; one that none can do without does as at -O0" },
	{ "--dot", "DIR", WORD, AT(dot), 0, "draw the program's checkpoints into DIR, one Graphviz file per graph" },
	{ "--dot-checks", "A:B", WORD, AT(dot_checks), 0, "only these checkpoints, and those of PXL_DOT_CHECKS; ALL, or nothing said: all" },
	{ "--dot-first", "N", COUNT, AT(dot_first), 0, "draw each schedule from this op on" },
	{ "--dot-count", "N", COUNT, AT(dot_count), 0, "draw so many ops of each schedule" },
	{ "--time-passes", NULL, FLAG, AT(time_passes), 0, "say on standard error where compiling took how long" },
	{ "--passes", NULL, FLAG, AT(passes), 0, "list the passes instead" },
	{ "--check", NULL, FLAG, AT(check), 0, "change nothing; exit 1 if the layout differs" },
	{ "-o", "PATH", WORD, AT(output), 0, "where the result goes" },
	{ "--set", "NAME=VALUE", LIST, AT(set), 1, "a parameter of the program; may be repeated" },
	{ "--in", "STREAM=F.npy", LIST, AT(in), 1, "data of an input stream; may be repeated" },
	{ "--out", "STREAM=F.npy", LIST, AT(out), 1, "write an output stream to a file, or all to `--out DIR`" },
	{ "--seed", "N", NUMBER, AT(seed), 1, "initial values, shuffling; 0 if not given" },
	{ "--weights", "F", WORD, AT(weights), 1, "read the variables from a safetensors file first" },
	{ "--save", "F", WORD, AT(save), 1, "write the variables to a safetensors file at the end" },
	{ "--map", "[NAME=]PATH", LIST, AT(map), 1, "keep variables in files, mapped: NAME in PATH, or all in the folder PATH" },
	{ "--map-read", NULL, FLAG, AT(map_read), 1, "never write files of --map that are there" },
	{ "--data", "DIR", WORD, AT(data), 1, "where data sets are; also PXL_DATA_DIR" },
	{ "--threads", "N", COUNT, AT(threads), 1, "threads, one per processor at most; that many if not given" },
	{ "--replicas", "N", SOME, AT(replicas), 1, "replicas, instead of what the program says" },
	{ "--device", "NAME", WORD, AT(device), 1, "cpu" },
	{ "--jit", "tcc|cc|auto", WORD, AT(jit), 1, "who compiles the emitted C; auto: tcc at once, cc behind it when the run is long" },
	{ "--matmul", "f32|bf16", WORD, AT(matmul), 1, "bf16: f32 products of operands rounded to bf16, faster; convolutions and attention stay f32" },
	{ "-O0", NULL, FLAG, AT(level), 1, "optimise nothing" },
	{ "-O1", NULL, FLAG, AT(level), 1, "simplify, share, remove what is unused" },
	{ "-O2", NULL, FLAG, AT(level), 1, "fuse as well; what happens if nothing is said" },
	{ "--allow-native", NULL, FLAG, AT(allow_native), 1, "let the model name C files to run" },
	{ "--native", "F.c", LIST, AT(native), 1, "ops of this C file, for the model's `host_op`; may be repeated" },
	{ "--max-errors", "N", SOME, AT(max_errors), 1, "stop reporting after N errors (20)" },
	{ "--max-memory", "MIB", SOME, AT(max_memory), 1, "memory that building a model may take (2048)" },
	{ "--json", NULL, FLAG, AT(json), 1, "one JSON object on standard output, nothing else there" },
	{ "-q", NULL, FLAG, AT(quiet), 1, "no progress, no notices" },
	{ "-v", NULL, FLAG, AT(verbose), 1, "say more" },
	{ "--color", "auto|always|never", WORD, AT(color), 1, "colour in diagnostics" },
	{ "--diag", "full|short", WORD, AT(diag), 1, "form of diagnostics" },
	{ "--help", NULL, FLAG, AT(help), 1, "this text" },
};
enum { NOPTION = sizeof options / sizeof *options };

static int takes(const Command *cmd, const Option *o)
{
	if (o->common) return 1;
	size_t n = strlen(o->name);
	for (const char *s = cmd->options; s && *s; s += strcspn(s, " "), s += *s == ' ')
		if (!strncmp(s, o->name, n) && (s[n] == ' ' || !s[n])) return 1;
	return 0;
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
	case LIST: {
		List *l = (List *)(void *)field;
		if (l->n == MAX_LIST) return usage(c, "`%s` may be given at most %d times", o->name, MAX_LIST);
		l->at[l->n++] = value;
		return 0;
	}
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
		if (strlen(o->name) != n || strncmp(o->name, word, n) || !takes(cmd, o)) continue;
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
	int only_files = 0;
	for (int i = 0; i < argc; i++) {
		const char *a = argv[i];
		if (!only_files && !strcmp(a, "--")) {
			only_files = 1;
		} else if (!only_files && a[0] == '-' && a[1]) {
			if (!strcmp(a, "-h")) c->help = 1;
			else if (parse_option(c, cmd, argc, argv, &i)) return EXIT_USAGE;
		} else {
			if (c->files.n == MAX_LIST) return usage(c, "at most %d files", MAX_LIST);
			c->files.at[c->files.n++] = a;
		}
	}
	c->json_ahead = 0;
	return check_words(c) || split_sets(c) || split_maps(c) ? EXIT_USAGE : 0;
}

/* --- help ------------------------------------------------------------------------------------------------------ */
static void option_lines(const Command *cmd, int common, FILE *f)
{
	for (int i = 0; i < NOPTION; i++) {
		const Option *o = &options[i];
		if (o->common != common || !takes(cmd, o)) continue;
		char left[64];
		snprintf(left, sizeof left, "%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
		fprintf(f, "  %-26s %s\n", left, o->help);
	}
}

void cli_help(const Command *cmd, FILE *f)
{
	fprintf(f, "pxlc %s %s\n%s\n", cmd->name, cmd->args, cmd->summary);
	if (cmd->text) fprintf(f, "\n%s\n", cmd->text);
	if (cmd->options && *cmd->options) {
		fprintf(f, "\nIts options:\n");
		option_lines(cmd, 0, f);
	}
	fprintf(f, "\nCommon options:\n");
	option_lines(cmd, 1, f);
}
