/* ship.c — a compiled program as files, for use without the compiler.
 *
 *   NAME.c             the emitted C, and the tables a session reads: variables, streams, places, constants
 *   NAME.h             what is in it: an RtProgram and a number for every stream and variable
 *   example.c          a caller that runs it once
 *   native_0.c …       C files of the model, when it calls ops of theirs, with the pxl.h they include
 *   libpxlrt.a         the runtime: sessions and kernels; needs nothing but libc, libm and threads
 *   runtime/           its headers
 *   Makefile, README   `make` builds the example with any C11 compiler
 *
 * The library and the headers travel inside libpxl, so nothing has to be found at run time. */
#include "compiler/codegen/ship.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/codegen/module.h"
#include "compiler/ops/host_op.h"
#include "lang/embed.h"

extern const char runtime_archive[], runtime_archive_end[];      /* libpxlrt.a, byte for byte */

typedef struct Ship {
	const Module *m;
	const RtProgram *p;
	const ShipHost *hosts;
	VEC(const NativeFile *) files;                               /* those of the hosts, each once */
	const char *name, *dir;
	Arena *mem;
	Emit *e;                                                     /* for its literals */
	RtErr *err;
} Ship;

static int put_file(Ship *s, const char *name, const char *bytes, size_t n)
{
	const char *path = arena_printf(s->mem, "%s/%s", s->dir, name);
	FILE *f = fopen(path, "wb");
	int bad = !f || fwrite(bytes, 1, n, f) != n;
	if (f && fclose(f)) bad = 1;
	return bad ? rt_fail(s->err, RT_EIO, "cannot write `%s`: %s", path, strerror(errno)) : RT_OK;
}

static int make_dir(Ship *s, const char *path)
{
	struct stat st;
	if (!mkdir(path, 0777) || (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))) return RT_OK;
	return rt_fail(s->err, RT_EIO, "cannot make the directory `%s`: %s", path, strerror(errno));
}

/* --- tables as C ----------------------------------------------------------------------------------------------------- */
/* Eight bytes a word keep the text short; the machine that runs the model has the byte order of this one. */
static void put_bytes(Buf *b, const char *name, const void *data, size_t n)
{
	buf_printf(b, "static const unsigned long long %s[] = {", name);
	for (size_t i = 0; i < n || i == 0; i += 8) {
		uint64_t w = 0;
		if (n) memcpy(&w, (const char *)data + i, n - i < 8 ? n - i : 8);
		buf_printf(b, "%s0x%" PRIx64 "u,", i % 64 ? " " : "\n\t", w);
	}
	buf_puts(b, "\n};\n");
}

static void put_shape(Buf *b, int rank, const int64_t *dim)
{
	buf_printf(b, "%d, { ", rank);
	for (int i = 0; i < rank; i++) buf_printf(b, "%" PRId64 ", ", dim[i]);
	buf_puts(b, rank ? "}" : "0 }");
}

static void put_var(Ship *s, Buf *b, const RtVar *v, int i)
{
	buf_printf(b, "\t{ %s, %d, ", emit_cstr(s->e, v->name), (int)v->dtype);
	put_shape(b, v->rank, v->dim);
	buf_printf(b, ", %zu, %zu, %zu,\n\t  { (RtInitKind)%d, %s, ", v->nelem, v->bytes, v->offset, (int)v->init.kind, emit_float(s->e, v->init.a));
	buf_printf(b, "%s, %s, %u, ", emit_float(s->e, v->init.b), emit_cstr(s->e, v->init.name), (unsigned)v->init.draw);
	if (v->init.kind == INIT_DATA) buf_printf(b, "init_%d }", i);
	else buf_puts(b, "0 }");
	buf_printf(b, ", %d, %" PRId64 ", %d, %d },\n", v->buffer, v->entry, v->fixed, v->state);
}

static void put_vars(Ship *s, Buf *b)
{
	for (int i = 0; i < s->p->nvar; i++)
		if (s->p->vars[i].init.kind == INIT_DATA)
			put_bytes(b, arena_printf(s->mem, "init_%d", i), s->p->vars[i].init.data, s->p->vars[i].bytes);
	buf_printf(b, "static const RtVar vars[%d] = {\n", s->p->nvar + 1);
	for (int i = 0; i < s->p->nvar; i++) put_var(s, b, &s->p->vars[i], i);
	buf_puts(b, "\t{ 0 }\n};\n");
}

static void put_streams(Ship *s, Buf *b)
{
	buf_printf(b, "static const RtStream streams[%d] = {\n", s->p->nstream + 1);
	for (int i = 0; i < s->p->nstream; i++) {
		const RtStream *r = &s->p->streams[i];
		buf_printf(b, "\t{ %s, %d, %d, ", emit_cstr(s->e, r->name), r->is_input, (int)r->dtype);
		put_shape(b, r->rank, r->dim);
		buf_printf(b, ", %zu, %zu, %d },\n", r->nelem, r->bytes, r->used);
	}
	buf_puts(b, "\t{ 0 }\n};\n");
}

static void put_buffers(Ship *s, Buf *b)
{
	buf_printf(b, "static const RtBuffer buffers[%d] = {\n", s->p->nbuffer + 1);
	for (int i = 0; i < s->p->nbuffer; i++) {
		const RtBuffer *r = &s->p->buffers[i];
		buf_printf(b, "\t{ %d, ", (int)r->dtype);
		put_shape(b, r->rank, r->dim);
		buf_printf(b, ", %zu, %zu, %" PRId64 " },\n", r->bytes, r->offset, r->entries);
	}
	buf_puts(b, "\t{ 0 }\n};\n");
}

static void put_sites(Ship *s, Buf *b)
{
	buf_printf(b, "static const RtSite sites[%d] = {\n", s->p->nsite + 1);
	for (int i = 0; i < s->p->nsite; i++) {
		const RtSite *r = &s->p->sites[i];
		buf_printf(b, "\t{ %s, %d, %d, %s },\n", r->file ? emit_cstr(s->e, r->file) : "0", r->line, r->col, emit_cstr(s->e, r->op));
	}
	buf_puts(b, "\t{ 0 }\n};\n");
}

/* --- calls of native code: tables, and the files themselves ----------------------------------------------------------- */
static int number_of(Ship *s, const NativeFile *f)
{
	int i = 0;
	while (i < s->files.n && s->files.at[i] != f) i++;
	if (i == s->files.n) vec_push(s->mem, &s->files, f);
	return i;
}

static void put_host_args(Buf *b, const char *kind, int i, const RtHostArg *a, int n)
{
	buf_printf(b, "static const RtHostArg host_%s_%d[] = {\n", kind, i);
	for (int k = 0; k < n; k++) {
		buf_printf(b, "\t{ %d, ", (int)a[k].dtype);
		put_shape(b, a[k].rank, a[k].dim);
		buf_printf(b, ", %zu },\n", a[k].nelem);
	}
	buf_puts(b, "};\n");
}

static void put_hosts(Ship *s, Buf *b)
{
	static const char run[] =
		"static int run_native(const RtHost *h, int replica, const void *const *in, void *const *out, char *why, size_t size)\n"
		"{\n\tconst pxl_host_op *o = h->op;\n\treturn host_call(h, o->run, o->user, replica, in, out, why, size);\n}\n";
	int n = s->m->nhost;
	if (!n) return;
	buf_puts(b, "#include \"pxl.h\"\n#include \"host_call.h\"\n");
	buf_puts(b, run);
	for (int i = 0; i < s->files.n; i++) buf_printf(b, "extern const pxl_host_op %s_native_%d[];\n", s->name, i);
	for (int i = 0; i < n; i++) {
		const RtHost *h = &s->m->hosts[i];
		put_host_args(b, "in", i, h->in, h->nin);
		put_host_args(b, "out", i, h->out, h->nout);
		buf_printf(b, "static const double host_numbers_%d[] = { ", i);
		for (int k = 0; k < h->nnumber; k++) buf_printf(b, "%s, ", emit_float(s->e, h->numbers[k]));
		buf_puts(b, h->nnumber ? "};\n" : "0 };\n");
	}
	buf_printf(b, "static const RtHost hosts[%d] = {\n", n);
	for (int i = 0; i < n; i++) {
		const RtHost *h = &s->m->hosts[i];
		buf_printf(b, "\t{ &%s_native_%d[%d], run_native, %d, %d, %d, host_in_%d, host_out_%d, host_numbers_%d },\n", s->name,
		           number_of(s, s->hosts[i].file), s->hosts[i].at, h->nin, h->nout, h->nnumber, i, i, i);
	}
	buf_puts(b, "};\n");
}

/* Every file calls its table by the same name, so each gets one of its own for the linker. */
static int ship_natives(Ship *s)
{
	int st = 0;
	for (int i = 0; i < s->files.n && !st; i++) {
		const NativeFile *f = s->files.at[i];
		Buf b = buf_new(s->mem);
		buf_printf(&b, "#define pxl_native_ops %s_native_%d\n#line 1 \"native_%d.c\"\n", s->name, i, i);
		buf_put(&b, f->text, f->len);
		st = put_file(s, arena_printf(s->mem, "native_%d.c", i), b.s, b.n);
	}
	for (int i = 0; i < 2 && s->files.n && !st; i++) {
		static const char *const headers[] = { "compiler/api/pxl.h", "compiler/api/host_call.h" };
		const EmbeddedFile *h = embedded_file(headers[i]);
		st = put_file(s, strrchr(headers[i], '/') + 1, h->text, h->len);
	}
	return st;
}

static int ship_c(Ship *s)
{
	Buf b = buf_new(s->mem);
	buf_printf(&b, "/* %s.c — emitted by pxlc; see %s.h. */\n#include \"%s.h\"\n\n#define pxl_main %s_main\n", s->name, s->name, s->name, s->name);
	buf_put(&b, s->m->text, s->m->len);
	buf_printf(&b, "\n#line 1 \"%s-tables\"\n", s->name);
	put_vars(s, &b);
	put_streams(s, &b);
	put_buffers(s, &b);
	put_sites(s, &b);
	put_hosts(s, &b);
	put_bytes(&b, "consts", s->p->consts, s->p->const_bytes);
	buf_printf(&b, "\nconst RtProgram %s_program = {\n\t%s, pxl_main, %d, %d, %zu, %zu, %zu,\n\tconsts, %d, %d, %d, vars, streams, sites,\n\t%d, buffers, %zu, %d, %s\n};\n",
	           s->name, emit_cstr(s->e, s->p->name), s->p->replicas, s->p->transfers, s->p->frame_bytes, s->p->var_bytes,
	           s->p->const_bytes, s->p->nvar, s->p->nstream, s->p->nsite, s->p->nbuffer, s->p->remote_bytes, s->m->nhost, s->m->nhost ? "hosts" : "0");
	return put_file(s, arena_printf(s->mem, "%s.c", s->name), b.s, b.n);
}

/* --- the header --------------------------------------------------------------------------------------------------------- */
static void put_number(Ship *s, Buf *b, const char *kind, const char *name, int i, DType t, int rank, const int64_t *dim)
{
	Shape shape = { .rank = rank };
	memcpy(shape.dim, dim, sizeof shape.dim);
	buf_printf(b, "\t%s_%s_%s = %d,", s->name, kind, emit_name(s->e, name), i);
	emit_comment(b, "  ", arena_printf(s->mem, "%s: %s", name, spec_str(s->mem, t, shape)));
}

static void put_numbers(Ship *s, Buf *b)
{
	buf_puts(b, "enum {\n");
	s->e->taken = (Map){ 0 };
	for (int i = 0; i < s->p->nstream; i++) {
		const RtStream *r = &s->p->streams[i];
		put_number(s, b, r->is_input ? "in" : "out", r->name, i, r->dtype, r->rank, r->dim);
	}
	s->e->taken = (Map){ 0 };
	for (int i = 0; i < s->p->nvar; i++) {
		const RtVar *v = &s->p->vars[i];
		put_number(s, b, "var", v->name, i, v->dtype, v->rank, v->dim);
	}
	buf_puts(b, "};\n");
}

static int ship_h(Ship *s)
{
	Buf b = buf_new(s->mem);
	buf_printf(&b, "/* %s.h — a compiled pxl program. runtime/runtime.h says how to run it: rt_session_new, rt_session_run;\n"
	           " * example.c shows it. Link with libpxlrt.a and -lm -lpthread. */\n"
	           "#ifndef PXL_SHIPPED_%s_H\n#define PXL_SHIPPED_%s_H\n\n#include \"runtime/runtime.h\"\n\n"
	           "extern const RtProgram %s_program;\n\n/* numbers of streams (RtBind.stream) and variables (rt_session_read, rt_session_write) */\n",
	           s->name, s->name, s->name, s->name);
	put_numbers(s, &b);
	buf_puts(&b, "\n#endif\n");
	return put_file(s, arena_printf(s->mem, "%s.h", s->name), b.s, b.n);
}

/* --- example and Makefile ------------------------------------------------------------------------------------------------- */
static const char example[] =
	"/* example.c — runs the program once on zeros and prints the first values of each output. */\n"
	"#include <stdio.h>\n#include <stdlib.h>\n\n#include \"NAME.h\"\n\n"
	"int main(void)\n{\n"
	"\tconst RtProgram *p = &NAME_program;\n"
	"\tRtOptions o = { .seed = 0, .threads = 1};\n"
	"\tRtSession *s;\n\tRtErr e;\n"
	"\tif (rt_session_new(p, &o, &s, &e)) return fprintf(stderr, \"%s\\n\", e.text), 1;\n"
	"\tRtBind *bind = calloc((size_t)p->nstream + 1, sizeof *bind);\n"
	"\tint n = 0;\n"
	"\tfor (int i = 0; i < p->nstream; i++) {\n"
	"\t\tif (!p->streams[i].used) continue;\n"
	"\t\tsize_t count = p->streams[i].nelem * (size_t)p->transfers * (size_t)p->replicas;\n"
	"\t\tbind[n++] = (RtBind){ i, calloc(count + 1, 8), count };\n"
	"\t}\n"
	"\tif (rt_session_run(s, bind, n, &e)) return fprintf(stderr, \"%s\\n\", e.text), 1;\n"
	"\tfor (int i = 0; i < n; i++) {\n"
	"\t\tconst RtStream *r = &p->streams[bind[i].stream];\n"
	"\t\tif (r->is_input) continue;\n"
	"\t\tprintf(\"%s:\", r->name);\n"
	"\t\tfor (size_t k = 0; k < bind[i].count && k < 8; k++) printf(\" %g\", rt_get(r->dtype, bind[i].data, k));\n"
	"\t\tprintf(\"\\n\");\n"
	"\t}\n"
	"\tfor (int i = 0; i < n; i++) free(bind[i].data);\n"
	"\tfree(bind);\n\trt_session_free(s);\n\treturn 0;\n}\n";

static const char makefile[] =
	"# Builds the example. -ffp-contract=off keeps results the same on every machine.\n"
	"CC ?= cc\nCFLAGS ?= -O2\n\n"
	"example: example.c NAME.c NAME.h libpxlrt.a $(wildcard native_*.c)\n"
	"\t$(CC) -std=c11 $(CFLAGS) -ffp-contract=off -fno-strict-aliasing -I. -o $@ example.c NAME.c $(wildcard native_*.c) libpxlrt.a -lm -lpthread\n"
	"clean:\n\trm -f example\n.PHONY: clean\n";

static const char readme[] =
	"NAME: a compiled pxl program, for use without the compiler\n\n"
	"  make && ./example      builds the example and runs the program once on zeros\n\n"
	"NAME.c        the program as C, and the tables a session reads\n"
	"NAME.h        its RtProgram, and a number for every stream and variable\n"
	"libpxlrt.a    the runtime: sessions and kernels (this processor's architecture; needs libc, libm, threads)\n"
	"native_*.c    C files of the model, if it has any: their ops are called by the program\n"
	"runtime/      its headers; runtime.h says how sessions, streams and variables work\n\n"
	"In a program of your own: rt_session_new(&NAME_program, ...), then rt_session_run with an array for every stream\n"
	"that the program uses. Variables start as the model says (RtOptions.seed chooses the numbers) and are read and\n"
	"written by rt_session_read and rt_session_write; trained weights go in that way. Several sessions of one program\n"
	"may live side by side. Compile NAME.c with -ffp-contract=off -fno-strict-aliasing, as the Makefile does.\n";

static int put_template(Ship *s, const char *file, const char *text)
{
	Buf b = buf_new(s->mem);
	for (const char *at; (at = strstr(text, "NAME")); text = at + 4) {
		buf_put(&b, text, (size_t)(at - text));
		buf_puts(&b, s->name);
	}
	buf_puts(&b, text);
	return put_file(s, file, b.s, b.n);
}

static int ship_runtime(Ship *s)
{
	int st = put_file(s, "libpxlrt.a", runtime_archive, (size_t)(runtime_archive_end - runtime_archive));
	for (const EmbeddedFile *f = embedded_files; f->path && !st; f++)
		if (!strncmp(f->path, "runtime/", 8)) st = put_file(s, f->path, f->text, f->len);
	return st;
}

int ship(const Module *m, const RtProgram *p, const ShipHost *hosts, const char *dir, Arena *mem, RtErr *err)
{
	Intern names;
	intern_init(&names, mem);
	Ir ir = { .mem = mem, .names = &names };
	Emit e = { .mem = mem, .ir = &ir };
	Ship s = { .m = m, .p = p, .hosts = hosts, .name = safe_name(mem, p->name), .dir = dir, .mem = mem, .e = &e, .err = err };
	for (int i = 0; i < m->nhost; i++) number_of(&s, hosts[i].file);
	int st = make_dir(&s, dir);
	if (!st) st = make_dir(&s, arena_printf(mem, "%s/runtime", dir));
	if (!st) st = ship_c(&s);
	if (!st) st = ship_h(&s);
	if (!st) st = ship_natives(&s);
	if (!st) st = ship_runtime(&s);
	if (!st) st = put_template(&s, "example.c", example);
	if (!st) st = put_template(&s, "Makefile", makefile);
	if (!st) st = put_template(&s, "README", readme);
	return st;
}
