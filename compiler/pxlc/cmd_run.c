/* cmd_run.c — `pxlc run`: arrays from files into input streams, one run, outputs printed or written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/pxlc/commands.h"

/* --- inputs ---------------------------------------------------------------------------------------------- */
static int feed(Host *h, int index, const char *file)
{
	pxl_status st = pxl_write_npy(h->s, index, file);
	return st == PXL_OK ? 0 : host_fail_session(h, st);
}

static int no_stream(Host *h, pxl_kind kind, const char *name)
{
	pxl_info info;
	int n = 0;
	const char **known = malloc((pxl_count(h->p) + 1) * sizeof *known), *what = kind == PXL_INPUT ? "input" : "output";
	for (int i = 0; known && pxl_get_info(h->p, i, &info); i++)
		if (info.kind == kind) known[n++] = info.name;
	const char *near = pxl_nearest(name, known, n);
	if (near) {
		usage(h->c, "the program has no %s stream `%s`; did you mean `%s`?", what, name, near);
	} else {
		usage(h->c, "the program has no %s stream `%s`; it has%s", what, name, n ? ":" : " none");
		for (int i = 0; i < n; i++) fprintf(stderr, "  %s\n", known[i]);
	}
	free(known);
	return EXIT_USAGE;
}

static int is_fed(const Host *h, const char *name)
{
	size_t n = strlen(name);
	for (int k = 0; k < h->c->in.n; k++)
		if (!strncmp(h->c->in.at[k], name, n) && h->c->in.at[k][n] == '=') return 1;
	return 0;
}

/* what each input takes, and which are there */
static void show_inputs(Host *h)
{
	enum { COLUMNS = 3, SPEC = 256 };
	size_t most = pxl_count(h->p) + 1;
	const char **cells = malloc(most * COLUMNS * sizeof *cells);
	char *specs = malloc(most * SPEC);
	pxl_info info;
	int n = 1;
	if (cells && specs) {
		cells[0] = "input", cells[1] = "takes", cells[2] = "data";
		for (int i = 0; pxl_get_info(h->p, i, &info); i++) {
			if (info.kind != PXL_INPUT || !info.used) continue;
			char *spec = specs + (size_t)n * SPEC;
			spec_text(info.dtype, info.rank, info.dim, spec, SPEC);
			cells[COLUMNS * n] = info.name;
			cells[COLUMNS * n + 1] = spec;
			cells[COLUMNS * n++ + 2] = is_fed(h, info.name) ? "given" : "missing";
		}
		fputs(pxl_table(h->cx, cells, n, COLUMNS, NULL, 1), stderr);
	}
	free(cells);
	free(specs);
}

static int feed_all(Host *h)
{
	pxl_info info;
	for (int i = 0; i < h->c->in.n; i++) {
		char *text = (char *)h->c->in.at[i], *eq = strchr(text, '=');
		if (!eq) return usage(h->c, "`--in %s` has no `=`: write --in STREAM=FILE.npy", text);
		*eq = 0;
		int index = pxl_find(h->p, PXL_INPUT, text);
		if (index < 0) return no_stream(h, PXL_INPUT, text);
		int code = feed(h, index, eq + 1);
		if (code) return code;
		*eq = '=';
	}
	for (int i = 0; pxl_get_info(h->p, i, &info); i++) {
		if (info.kind != PXL_INPUT || !info.used) continue;
		if (is_fed(h, info.name)) continue;
		char spec[256] = "";
		spec_text(info.dtype, info.rank, info.dim, spec, sizeof spec);
		usage(h->c, "input `%s` has no data; give it %s with --in %s=FILE.npy", info.name, spec, info.name);
		show_inputs(h);
		return EXIT_USAGE;
	}
	return 0;
}

/* --- outputs ------------------------------------------------------------------------------------------------ */
/* where a stream goes: a file, or the folder of all that have none; NULL: nowhere */
static const char *out_path(Host *h, const char *name, int *is_folder)
{
	size_t n = strlen(name);
	const char *folder = NULL;
	*is_folder = 0;
	for (int i = 0; i < h->c->out.n; i++) {
		const char *o = h->c->out.at[i], *eq = strchr(o, '=');
		if (eq && (size_t)(eq - o) == n && !strncmp(o, name, n)) return eq + 1;
		if (!eq && !folder) folder = o;
	}
	*is_folder = folder != NULL;
	return folder;
}

static int check_outs(Host *h)
{
	char name[512];
	for (int i = 0; i < h->c->out.n; i++) {
		const char *o = h->c->out.at[i], *eq = strchr(o, '=');
		if (!eq) {
			if (mkdir(o, 0777) != 0 && errno != EEXIST) return failed(h->c, EXIT_IO, "cannot make the folder `%s`: %s", o, strerror(errno));
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)(eq - o), o);
		if (pxl_find(h->p, PXL_OUTPUT, name) < 0) return no_stream(h, PXL_OUTPUT, name);
	}
	return 0;
}

static int write_out(Host *h, const pxl_info *info, const void *data)
{
	int folder;
	const char *to = out_path(h, info->name, &folder);
	pxl_status st = !to      ? PXL_OK
			: folder ? pxl_npy_write_in(h->cx, to, info->name, info->dtype, info->rank, info->dim, data)
				 : pxl_npy_write(h->cx, to, info->dtype, info->rank, info->dim, data);
	return st == PXL_OK ? 0 : host_fail(h, st);
}

static int show_out(Host *h, const pxl_info *info, const void *data)
{
	int folder;
	if (h->c->json) {
		json_string(stdout, info->name);
		printf(": {\"dtype\": \"%s\", \"shape\": [", pxl_dtype_name(info->dtype));
		for (int i = 0; i < info->rank; i++) printf("%s%lld", i ? ", " : "", (long long)info->dim[i]);
		printf("], \"values\": ");
		json_array(stdout, info->dtype, info->rank, info->dim, data);
		printf("}");
	} else if (!out_path(h, info->name, &folder)) {
		printf("%s: ", info->name);
		print_spec(stdout, info->dtype, info->rank, info->dim);
		putchar('\n');
		print_array(stdout, info->dtype, info->rank, info->dim, data);
	}
	return 0;
}

static int each_out(Host *h, int (*put)(Host *h, const pxl_info *info, const void *data), const char *between)
{
	pxl_info info;
	int n = 0, code = 0;
	for (int i = 0; !code && pxl_get_info(h->p, i, &info); i++) {
		if (info.kind != PXL_OUTPUT || !info.used) continue;
		void *data = malloc(info.bytes + 1);
		pxl_status st = data ? pxl_read(h->s, i, data, info.bytes) : PXL_ENOMEM;
		if (n++) fputs(between, stdout);
		code = st == PXL_OK ? put(h, &info, data) : host_fail_session(h, st);
		free(data);
	}
	return code;
}

/* files before words: when one cannot be written, that is all there is to say */
static int put_outs(Host *h)
{
	int code = each_out(h, write_out, "");
	pxl_status st = !code && h->c->save ? pxl_save(h->s, h->c->save) : PXL_OK;
	if (st != PXL_OK) code = host_fail_session(h, st);
	if (code) return code;
	if (h->c->json) printf("{");
	code = each_out(h, show_out, h->c->json ? ", " : "");
	if (h->c->json) printf("}\n");
	return code;
}

static int run_once(Host *h)
{
	int code = feed_all(h);
	if (!code) code = check_outs(h);
	if (code) return code;
	pxl_status st = pxl_run(h->s, 1);
	if (st != PXL_OK) return host_fail_session(h, st);
	code = put_outs(h);
	if (!code && h->c->map.n && (st = pxl_detach(h->s, 1)) != PXL_OK) code = host_fail_session(h, st);
	return code ? code : finish_output();
}

int cmd_run(Cli *c)
{
	Host h;
	if (c->files.n != 1) return usage(c, "needs one model: pxlc run FILE");
	int code = host_context(&h, c);
	if (!code) code = host_model(&h, c->files.at[0]);
	if (!code) code = host_program(&h, PXL_STAGE_ALL);
	if (!code) code = host_session(&h, 0);
	if (!code) code = run_once(&h);
	host_close(&h);
	return code;
}
