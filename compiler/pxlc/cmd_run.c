/* cmd_run.c — `pxlc run`: arrays from files into input streams, one run, outputs printed or written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/pxlc/commands.h"

/* --- inputs ---------------------------------------------------------------------------------------------- */
/* shapes agree when they are equal once dimensions of 1 are left out */
static int shapes_agree(int ra, const int64_t *a, int rb, const int64_t *b)
{
	int i = 0, j = 0;
	for (;;) {
		while (i < ra && a[i] == 1) i++;
		while (j < rb && b[j] == 1) j++;
		if (i == ra || j == rb) return i == ra && j == rb;
		if (a[i++] != b[j++]) return 0;
	}
}

/* a file's type must be the stream's, or a wider one of the same sort, which is narrowed as PopXL does */
static int types_agree(pxl_dtype stream, pxl_dtype file)
{
	if (stream == file) return 1;
	if (file == PXL_F64 || file == PXL_F32) return stream == PXL_F32 || stream == PXL_F16 || stream == PXL_BF16 || stream == PXL_F64;
	return file == PXL_I64 && stream >= PXL_I8 && stream <= PXL_U64;
}

static int integers_fit(const pxl_info *info, const pxl_array *a, void *converted)
{
	if (a->dtype != PXL_I64 || info->dtype == PXL_I64) return 1;
	for (size_t i = 0; i < a->nelem; i++)
		if (pxl_element(info->dtype, converted, i) != pxl_element(PXL_I64, a->data, i)) return 0;
	return 1;
}

static int mismatch(const char *file, const pxl_array *a, const pxl_info *info)
{
	fprintf(stderr, "pxlc run: `%s` holds ", file);
	print_spec(stderr, a->dtype, a->rank, a->dim);
	fprintf(stderr, ", but input `%s` takes ", info->name);
	print_spec(stderr, info->dtype, info->rank, info->dim);
	fputc('\n', stderr);
	return EXIT_IO;
}

static int feed(Host *h, int index, const char *file)
{
	pxl_info info;
	pxl_array a;
	pxl_get_info(h->p, index, &info);
	pxl_status st = pxl_npy_read(h->cx, file, &a);
	if (st != PXL_OK) return host_fail(h, st);
	int code = 0;
	void *data = NULL;
	if (!types_agree(info.dtype, a.dtype) || !shapes_agree(a.rank, a.dim, info.rank, info.dim)) {
		code = mismatch(file, &a, &info);
	} else if (!(data = malloc(info.bytes + 1))) {
		say("out of memory reading `%s`", file);
		code = EXIT_FIT;
	} else {
		pxl_convert(info.dtype, data, a.dtype, a.data, a.nelem);
		if (!integers_fit(&info, &a, data)) {
			say("`%s` has integers that do not fit input `%s` of %s", file, info.name, pxl_dtype_name(info.dtype));
			code = EXIT_IO;
		} else if ((st = pxl_write(h->s, index, data, info.bytes)) != PXL_OK) {
			code = host_fail_session(h, st);
		}
	}
	free(data);
	pxl_array_free(h->cx, &a);
	return code;
}

static int no_stream(Host *h, pxl_kind kind, const char *name)
{
	const char *known[MAX_LIST];
	pxl_info info;
	int n = 0;
	for (int i = 0; pxl_get_info(h->p, i, &info) && n < MAX_LIST; i++)
		if (info.kind == kind) known[n++] = info.name;
	const char *near = pxl_nearest(name, known, n), *what = kind == PXL_INPUT ? "input" : "output";
	if (near) return usage(h->c, "the program has no %s stream `%s`; did you mean `%s`?", what, name, near);
	usage(h->c, "the program has no %s stream `%s`; it has%s", what, name, n ? ":" : " none");
	for (int i = 0; i < n; i++) fprintf(stderr, "  %s\n", known[i]);
	return EXIT_USAGE;
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
		size_t n = strlen(info.name);
		int given = 0;
		for (int k = 0; k < h->c->in.n; k++) given |= !strncmp(h->c->in.at[k], info.name, n) && h->c->in.at[k][n] == '=';
		if (given) continue;
		fprintf(stderr, "pxlc run: input `%s` has no data; give it ", info.name);
		print_spec(stderr, info.dtype, info.rank, info.dim);
		fprintf(stderr, " with --in %s=FILE.npy\n", info.name);
		return EXIT_USAGE;
	}
	return 0;
}

/* --- outputs ------------------------------------------------------------------------------------------------ */
static const char *out_file(Host *h, const char *name, char *path, size_t size)
{
	size_t n = strlen(name);
	for (int i = 0; i < h->c->out.n; i++) {
		const char *o = h->c->out.at[i], *eq = strchr(o, '=');
		if (eq && (size_t)(eq - o) == n && !strncmp(o, name, n)) return eq + 1;
		if (!eq && snprintf(path, size, "%s/%s.npy", o, name) < (int)size) return path;
	}
	return NULL;
}

static int check_outs(Host *h)
{
	char name[512];
	for (int i = 0; i < h->c->out.n; i++) {
		const char *o = h->c->out.at[i], *eq = strchr(o, '=');
		if (!eq) {
			if (mkdir(o, 0777) != 0 && errno != EEXIST) {
				say("cannot make the folder `%s`: %s", o, strerror(errno));
				return EXIT_IO;
			}
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)(eq - o), o);
		if (pxl_find(h->p, PXL_OUTPUT, name) < 0) return no_stream(h, PXL_OUTPUT, name);
	}
	return 0;
}

static int put_out(Host *h, const pxl_info *info, const void *data, int *first)
{
	char path[4096];
	const char *file = out_file(h, info->name, path, sizeof path);
	if (file) {
		pxl_status st = pxl_npy_write(h->cx, file, info->dtype, info->rank, info->dim, data);
		if (st != PXL_OK) return host_fail(h, st);
	}
	if (h->c->json) {
		printf("%s", *first ? "" : ", ");
		json_string(stdout, info->name);
		printf(": {\"dtype\": \"%s\", \"shape\": [", pxl_dtype_name(info->dtype));
		for (int i = 0; i < info->rank; i++) printf("%s%lld", i ? ", " : "", (long long)info->dim[i]);
		printf("], \"values\": ");
		json_array(stdout, info->dtype, info->rank, info->dim, data);
		printf("}");
	} else if (!file) {
		printf("%s: ", info->name);
		print_spec(stdout, info->dtype, info->rank, info->dim);
		putchar('\n');
		print_array(stdout, info->dtype, info->rank, info->dim, data);
	}
	*first = 0;
	return 0;
}

static int put_outs(Host *h)
{
	pxl_info info;
	int first = 1, code = 0;
	if (h->c->json) printf("{");
	for (int i = 0; !code && pxl_get_info(h->p, i, &info); i++) {
		if (info.kind != PXL_OUTPUT || !info.used) continue;
		void *data = malloc(info.bytes + 1);
		pxl_status st = data ? pxl_read(h->s, i, data, info.bytes) : PXL_ENOMEM;
		code = st == PXL_OK ? put_out(h, &info, data, &first) : host_fail_session(h, st);
		free(data);
	}
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
	if (!code && h->c->save && (st = pxl_save(h->s, h->c->save)) != PXL_OK) code = host_fail_session(h, st);
	return code ? code : finish_output();
}

int cmd_run(Cli *c)
{
	Host h;
	if (c->files.n != 1) return usage(c, "needs one model: pxlc run FILE");
	int code = host_context(&h, c);
	if (!code) code = host_model(&h, c->files.at[0]);
	if (!code) code = host_program(&h, 0);
	if (!code) code = host_session(&h);
	if (!code) code = run_once(&h);
	host_close(&h);
	return code;
}
