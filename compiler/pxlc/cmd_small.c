/* cmd_small.c — the subcommands that only ask the library for a text: check, emit, ops, explain, build, fmt. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/pxlc/commands.h"

/* under --json an object of the text and what it is: {"stage": "c", "text": "…"} */
static int put_text(const Cli *c, const char *what, const char *which, const char *text)
{
	size_t n = strlen(text);
	if (c->json) {
		printf("{\"%s\": ", what);
		json_string(stdout, which);
		printf(", \"text\": ");
		json_string(stdout, text);
		printf("}\n");
		return finish_output();
	}
	fputs(text, stdout);
	if (n && text[n - 1] != '\n') putchar('\n');
	return finish_output();
}

/* --- check ------------------------------------------------------------------------------------------------ */
static int check_model(Host *h)
{
	pxl_program_options o = host_program_options(h->c);
	pxl_status st = pxl_check(h->m, &o);
	if (st != PXL_OK) return host_fail(h, st);
	host_warnings(h);
	return 0;
}

int cmd_check(Cli *c)
{
	if (c->files.n == 0) return usage(c, "needs models: pxlc check FILE…");
	int worst = 0;
	json_list_begin(c);
	for (int i = 0; i < c->files.n; i++) {
		Host h;
		int code = host_context(&h, c);
		if (!code) code = host_model(&h, c->files.at[i]);
		if (!code) code = check_model(&h);
		if (code > worst) worst = code;
		host_close(&h);
	}
	int code = json_list_end(c);
	return worst ? worst : code;
}

/* --- emit --------------------------------------------------------------------------------------------------- */
static int emit_stage(Host *h, const char *stage)
{
	const char *text;
	pxl_status st;
	if (!strcmp(stage, "ast")) {
		st = pxl_model_ast(h->m, &text);
	} else {
		int needs_plan = !strcmp(stage, "plan") || !strcmp(stage, "c");
		int code = host_program(h, needs_plan ? PXL_STAGE_C : PXL_STAGE_IR);
		if (code) return code;
		st = pxl_emit(h->p, stage, h->c->after, &text);
	}
	return st == PXL_OK ? put_text(h->c, "stage", stage, text) : host_fail(h, st);
}

int cmd_emit(Cli *c)
{
	static const char *const stages[] = { "ast", "ir", "schedule", "dot", "code", "debug", "plan", "c" };
	enum { NSTAGE = sizeof stages / sizeof *stages };
	char all[200] = "";
	for (int i = 0; i < NSTAGE; i++) snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "|" : "", stages[i]);
	if (c->files.n != 2) return usage(c, "needs a stage and a model: pxlc emit %s FILE", all);
	const char *stage = c->files.at[0];
	int known = 0;
	for (int i = 0; i < NSTAGE; i++) known |= !strcmp(stage, stages[i]);
	if (!known) {
		const char *near = pxl_nearest(stage, stages, NSTAGE);
		return usage(c, "there is no stage `%s`; %s%s%sthe stages are %s", stage, near ? "did you mean `" : "", near ? near : "",
		             near ? "`? " : "", all);
	}
	Host h;
	int code = host_context(&h, c);
	if (!code) code = host_model(&h, c->files.at[1]);
	if (!code) code = emit_stage(&h, stage);
	host_close(&h);
	return code;
}

/* --- ops, explain --------------------------------------------------------------------------------------------- */
static int describe(Cli *c, const char *what, const char *name)
{
	Host h;
	const char *text;
	int code = host_context(&h, c);
	if (code) return code;
	pxl_status st = pxl_describe(h.cx, what, name, &text);
	if (st != PXL_OK) {
		code = usage(c, "%s", pxl_errmsg(h.cx));
	} else if (strstr(what, ".json")) {
		fputs(text, stdout);
		putchar('\n');
		code = finish_output();
	} else {
		code = put_text(c, what, name ? name : "", text);
	}
	host_close(&h);
	return code;
}

int cmd_ops(Cli *c)
{
	if (c->files.n > 1) return usage(c, "takes at most one name: pxlc ops [NAME]");
	if (c->passes) return describe(c, "passes", NULL);
	if (c->files.n == 0) return describe(c, c->json ? "ops.json" : "ops", NULL);
	return describe(c, c->json ? "op.json" : "op", c->files.at[0]);
}

int cmd_explain(Cli *c)
{
	if (c->files.n != 1) return usage(c, "needs a code: pxlc explain E0301");
	return describe(c, "explain", c->files.at[0]);
}

/* --- build ------------------------------------------------------------------------------------------------------ */
int cmd_build(Cli *c)
{
	Host h;
	if (c->files.n != 1 || !c->output) return usage(c, "needs a model and a folder: pxlc build FILE -o DIR");
	int code = host_context(&h, c);
	if (!code) code = host_model(&h, c->files.at[0]);
	if (!code) code = host_program(&h, PXL_STAGE_C);
	if (!code) {
		pxl_status st = pxl_ship(h.p, c->output);
		code = st == PXL_OK ? 0 : host_fail(&h, st);
		if (!code && c->json) {
			printf("{\"model\": ");
			json_string(stdout, c->files.at[0]);
			printf(", \"folder\": ");
			json_string(stdout, c->output);
			printf("}\n");
		} else if (!code && !c->quiet) {
			printf("%s: see %s/README\n", c->files.at[0], c->output);
		}
	}
	host_close(&h);
	return code ? code : finish_output();
}

/* --- fmt ---------------------------------------------------------------------------------------------------------- */
static char *slurp(Cli *c, const char *file, size_t *len)
{
	FILE *f = strcmp(file, "-") ? fopen(file, "rb") : stdin;
	size_t cap = 1 << 16, got;
	char *text = f ? malloc(cap) : NULL;
	*len = 0;
	while (text && (got = fread(text + *len, 1, cap - *len, f)) > 0) {
		*len += got;
		if (*len < cap) continue;
		char *more = realloc(text, cap *= 2);
		if (!more) free(text);
		text = more;
	}
	if (!text || ferror(f)) {
		failed(c, EXIT_IO, "cannot read `%s`: %s", file, strerror(errno));
		free(text);
		text = NULL;
	}
	if (f && f != stdin) fclose(f);
	return text;
}

/* beside the file first, then in its place, so that nothing is lost when the disk is full */
static int replace_file(Cli *c, const char *file, const char *text)
{
	char tmp[4096];
	struct stat info;
	if (snprintf(tmp, sizeof tmp, "%s.XXXXXX", file) >= (int)sizeof tmp)
		return failed(c, EXIT_IO, "the name `%s` is too long", file);
	int fd = mkstemp(tmp);                               /* a new file, whatever lies there */
	FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
	int ok = f && fputs(text, f) >= 0 && !stat(file, &info) && !fchmod(fd, info.st_mode & 07777);
	if (f) ok = fclose(f) == 0 && ok;
	else if (fd >= 0) close(fd);
	if (ok && rename(tmp, file) == 0) return 0;
	int why = errno;
	if (fd >= 0) remove(tmp);
	return failed(c, EXIT_IO, "cannot write `%s`: %s", file, strerror(why));
}

/* under --json the members of the file's object; else the text, if it is a filter */
static void tell_formatted(const Cli *c, const char *file, const char *text, int same)
{
	int filter = !strcmp(file, "-") && !c->check;
	if (!c->json) {
		if (filter) fputs(text, stdout);
		else if (c->check && !same) say("`%s` is laid out differently", file);
		return;
	}
	printf(", \"changed\": %s", same ? "false" : "true");
	if (!filter) return;
	printf(", \"text\": ");
	json_string(stdout, text);
}

static int format_file(Cli *c, const char *file)
{
	Host h;
	size_t len;
	const char *text;
	char *old = slurp(c, file, &len);
	if (!old) return EXIT_IO;
	int code = host_context(&h, c);
	pxl_status st = code ? PXL_ENOMEM : pxl_format(h.cx, strcmp(file, "-") ? file : "<stdin>", old, len, &text);
	if (!code && st != PXL_OK) code = host_fail(&h, st);
	int same = !code && strlen(text) == len && !memcmp(text, old, len);
	int replaces = !c->check && strcmp(file, "-") && !same;
	if (!code && replaces) code = replace_file(c, file, text);
	if (!code) tell_formatted(c, file, text, same);
	if (!code && c->check && !same) code = EXIT_MODEL;
	free(old);
	host_close(&h);
	return code;
}

int cmd_fmt(Cli *c)
{
	int worst = 0;
	if (c->files.n == 0) return usage(c, "needs models: pxlc fmt FILE…");
	c->json_errors = JSON_MEMBERS;
	if (c->json) printf("{\"files\": [");
	for (int i = 0; i < c->files.n; i++) {
		if (c->json) printf("%s{\"file\": ", i ? ", " : "");
		if (c->json) json_string(stdout, c->files.at[i]);
		int code = format_file(c, c->files.at[i]);
		if (code > worst) worst = code;
		if (c->json) printf("}");
	}
	if (c->json) printf("]}\n");
	int code = finish_output();
	return worst ? worst : code;
}
