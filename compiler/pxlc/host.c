/* host.c — contexts, models, programs and sessions with the command line's options, and what goes wrong with them. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/pxlc/cli.h"

int say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("pxlc: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return 0;
}

/* --- failures under --json ----------------------------------------------------------------------------------- */
static void json_diags(pxl_ctx *cx)
{
	for (size_t i = 0; i < pxl_diag_count(cx); i++) printf("%s%s", i ? ", " : "", pxl_diag_text(cx, i, PXL_DIAG_JSON));
}

/* what cx reports, or the bare message where that is nothing, as items of the list that is open */
static void json_list(Cli *c, const char *message, pxl_ctx *cx)
{
	if (!c->json || (!message && !pxl_diag_count(cx))) return;
	if (c->json_listed++) printf(", ");
	if (message && !c->json_error[0]) snprintf(c->json_error, sizeof c->json_error, "%s", message);
	if (cx && pxl_diag_count(cx)) {
		json_diags(cx);
		return;
	}
	printf("{\"level\": \"error\", \"message\": ");
	json_string(stdout, message);
	printf("}");
}

static void json_failure(const Cli *c, const char *message, pxl_ctx *cx)
{
	int alone = c->json_errors == JSON_ALONE;
	if (!c->json && !c->json_ahead) return;
	printf(alone ? "{\"error\": " : ", \"error\": ");
	json_string(stdout, message);
	if (cx) {
		printf(", \"diagnostics\": [");
		json_diags(cx);
		printf("]");
	}
	if (alone) printf("}\n");
}

void json_list_begin(Cli *c)
{
	c->json_errors = JSON_LIST;
	if (c->json) printf("{\"diagnostics\": [");
}

int json_list_end(Cli *c)
{
	if (!c->json) return finish_output();
	printf("]");
	if (c->json_error[0]) {
		printf(", \"error\": ");
		json_string(stdout, c->json_error);
	}
	printf("}\n");
	return finish_output();
}

int usage(const Cli *c, const char *fmt, ...)
{
	char message[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	fprintf(stderr, "pxlc%s%s: %s\n", c->command ? " " : "", c->command ? c->command : "", message);
	json_failure(c, message, NULL);
	return EXIT_USAGE;
}

int failed(Cli *c, int code, const char *fmt, ...)
{
	char message[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	say("%s", message);
	if (c->json_errors == JSON_LIST) json_list(c, message, NULL);
	else json_failure(c, message, NULL);
	return code;
}

int exit_code(pxl_status st)
{
	switch (st) {
	case PXL_OK: return EXIT_DONE;
	case PXL_EMODEL: return EXIT_MODEL;
	case PXL_EINVAL: return EXIT_USAGE;
	case PXL_EFIT: case PXL_ENOMEM: return EXIT_FIT;
	case PXL_EIO: return EXIT_IO;
	case PXL_ERUN: return EXIT_RUN;
	case PXL_EINTR: return EXIT_INTERRUPTED;
	default: return EXIT_BUG;
	}
}

int finish_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_DONE;
	say("cannot write the results to standard output: is the disk full, or the reader gone?");
	return EXIT_IO;
}

/* --- diagnostics -------------------------------------------------------------------------------------------- */
static int diag_style(const Cli *c)
{
	int how = c->diag && !strcmp(c->diag, "short") ? PXL_DIAG_SHORT : PXL_DIAG_FULL;
	const char *no = getenv("NO_COLOR");
	int color = c->color && !strcmp(c->color, "always");
	if (!c->color || !strcmp(c->color, "auto")) color = isatty(2) && !(no && *no);
	return color ? how | PXL_DIAG_COLOR : how;
}

static void text_diags(Host *h)
{
	pxl_diag d;
	int errors = 0, warnings = 0;
	for (size_t i = 0; i < pxl_diag_count(h->cx); i++) {
		fputs(pxl_diag_text(h->cx, i, diag_style(h->c)), stderr);
		if (!pxl_diag_get(h->cx, i, &d)) continue;
		errors += d.is_error;
		warnings += !d.is_error;
	}
	if (errors > 1) fprintf(stderr, "%d errors\n", errors);
}

int host_fail(Host *h, pxl_status st)
{
	char message[1024];
	snprintf(message, sizeof message, "%s", pxl_errmsg(h->cx));
	if (h->c->json_errors == JSON_LIST) json_list(h->c, message, h->cx);
	else json_failure(h->c, message, h->cx);
	if (pxl_diag_count(h->cx)) text_diags(h);
	if (st != PXL_EMODEL || !pxl_diag_count(h->cx)) say("%s", message);
	return exit_code(st);
}

int host_fail_session(Host *h, pxl_status st)
{
	return failed(h->c, exit_code(st), "%s", pxl_session_errmsg(h->s));
}

void host_warnings(Host *h)
{
	if (h->c->json_errors == JSON_LIST) json_list(h->c, NULL, h->cx);
	if (!h->c->quiet && pxl_diag_count(h->cx)) text_diags(h);
}

/* --- objects ------------------------------------------------------------------------------------------------- */
static void model_prints(void *user, const char *text, size_t len)
{
	const Cli *c = user;
	int to_stdout = !c->json && (!strcmp(c->command, "run") || !strcmp(c->command, "train") || !strcmp(c->command, "test"));
	fwrite(text, 1, len, to_stdout ? stdout : stderr);
}

/* $PXL_LOG_DEST: stderr, stdout, or a file that grows */
static void library_says(void *user, const char *text, size_t len)
{
	(void)user;
	const char *to = getenv("PXL_LOG_DEST");
	if (!to || !*to) to = getenv("POPART_LOG_DEST");
	int own = to && *to && strcmp(to, "stderr") && strcmp(to, "stdout");
	FILE *f = own ? fopen(to, "a") : NULL;
	fwrite(text, 1, len, f ? f : to && !strcmp(to, "stdout") ? stdout : stderr);
	if (f) fclose(f);
}

/* which folder of --allow-path it is that made the context fail */
static int no_folder(Cli *c)
{
	struct stat info;
	for (int i = 0; i < c->allow_path.n; i++) {
		int missing = stat(c->allow_path.at[i], &info);
		if (missing || !S_ISDIR(info.st_mode))
			return failed(c, EXIT_IO, "cannot use the folder `%s` of --allow-path: %s", c->allow_path.at[i],
				strerror(missing ? errno : ENOTDIR));
	}
	return failed(c, EXIT_IO, "cannot use a folder of --allow-path");
}

int host_context(Host *h, Cli *c)
{
	*h = (Host){ .c = c };
	pxl_options o = PXL_OPTIONS_INIT;
	o.print = model_prints;
	o.print_user = c;
	o.log = library_says;
	o.max_errors = (int)c->max_errors;
	o.max_memory = (size_t)c->max_memory << 20;
	o.allow_native = c->allow_native;
	o.verbose = c->verbose;
	o.verify = getenv("PXL_VERIFY") != NULL;
	o.allow_paths = c->allow_path.at;
	o.nallow_paths = (size_t)c->allow_path.n;
	pxl_status made = pxl_ctx_new(&o, &h->cx);
	if (made == PXL_EIO) return no_folder(c);
	if (made != PXL_OK) return failed(c, EXIT_FIT, "out of memory");
	for (int i = 0; i < c->native.n; i++) {
		pxl_status st = pxl_native_file(h->cx, c->native.at[i]);
		if (st != PXL_OK) return host_fail(h, st);
	}
	return 0;
}

static char *read_stdin(size_t *len)
{
	size_t cap = 1 << 16, n = 0, got;
	char *text = malloc(cap);
	while (text && (got = fread(text + n, 1, cap - n, stdin)) > 0) {
		n += got;
		if (n < cap) continue;
		char *more = realloc(text, cap *= 2);
		if (!more) free(text);
		text = more;
	}
	*len = n;
	return text;
}

int host_model(Host *h, const char *file)
{
	pxl_status st;
	if (strcmp(file, "-")) {
		st = pxl_compile_file(h->cx, file, &h->m);
	} else {
		size_t len;
		char *text = read_stdin(&len);
		if (!text || ferror(stdin)) {
			free(text);
			return failed(h->c, EXIT_IO, "cannot read standard input");
		}
		st = pxl_compile_memory(h->cx, "<stdin>", text, len, &h->m);
		free(text);
	}
	if (st != PXL_OK) return host_fail(h, st);
	host_warnings(h);
	return 0;
}

pxl_program_options host_program_options(const Cli *c)
{
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	o.name = c->program;
	o.sets = c->sets;
	o.nset = (size_t)c->set.n;
	o.replicas = (int)c->replicas;
	o.seed = c->seed;
	o.level = (int)c->level;
	o.jit = !c->jit || !strcmp(c->jit, "auto") ? PXL_JIT_AUTO : !strcmp(c->jit, "tcc") ? PXL_JIT_TCC : PXL_JIT_CC;
	o.matmul = c->matmul && !strcmp(c->matmul, "bf16") ? PXL_MATMUL_BF16 : PXL_MATMUL_F32;
	o.no_pass = c->no_pass;
	o.dot_dir = c->dot;
	o.dot_checks = c->dot_checks;
	o.dot_first = (int)c->dot_first;
	o.dot_count = (int)c->dot_count;
	return o;
}

int host_program(Host *h, pxl_stage upto)
{
	pxl_program_options o = host_program_options(h->c);
	o.build_only = upto;
	const char *times;
	int waits = o.jit == PXL_JIT_CC && upto == PXL_STAGE_ALL;      /* for a C compiler, whose files are cleared away whatever happens */
	if (waits) interrupts_begin();
	pxl_status st = pxl_program_new(h->m, &o, &h->p);
	if (waits) interrupts_end();
	if (interrupted()) return EXIT_INTERRUPTED;
	if (st == PXL_OK && h->c->time_passes && (st = pxl_emit(h->p, "times", NULL, &times)) == PXL_OK) fputs(times, stderr);
	if (st != PXL_OK) return host_fail(h, st);
	host_warnings(h);
	return 0;
}

pxl_session_options host_session_options(const Cli *c)
{
	pxl_session_options o = PXL_SESSION_OPTIONS_INIT;
	o.threads = (int)c->threads;
	o.maps = c->maps;
	o.nmap = (size_t)c->map.n;
	return o;
}

int host_session(Host *h, int for_timing)
{
	pxl_session_options o = host_session_options(h->c);
	o.rough_start = for_timing;
	pxl_status st = pxl_session_new(h->p, &o, &h->s);
	if (st != PXL_OK) return host_fail(h, st);
	if (!h->c->weights) return 0;
	st = pxl_load(h->s, h->c->weights, PXL_NEEDED);
	return st == PXL_OK ? 0 : host_fail_session(h, st);
}

void host_close(Host *h)
{
	pxl_session_free(h->s);
	pxl_program_free(h->p);
	pxl_model_free(h->m);
	pxl_ctx_free(h->cx);
}
