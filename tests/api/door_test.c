/* door_test.c — every path that a model names is opened by runtime/formats/reach.c, and by nothing else of the library.
 *
 * Functions of the C library that take paths are replaced here. What reach.c does is told by its form: one name, in a
 * folder that is open. A path with the mark in it that comes in any other form was opened by somebody else. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"

#pragma GCC diagnostic ignored "-Wpedantic"

/* --- what is watched ---------------------------------------------------------------------------------------------- */
static int watching, wrong, right;

static void look(const char *function, int at, const char *path)
{
	if (!watching || !path || !strstr(path, "MARK")) return;
	if (at >= 0 && !strchr(path, '/')) right++;
	else wrong++, fprintf(stderr, "%s(%d, \"%s\")\n", function, at, path);
}

#define NEXT(type, name, ...) type (*next)(__VA_ARGS__) = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static mode_t mode_of(int flags, va_list ap) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0; }

int open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = mode_of(flags, ap);
	va_end(ap);
	NEXT(int, "open", const char *, int, ...);
	look("open", AT_FDCWD, path);
	return next(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = mode_of(flags, ap);
	va_end(ap);
	NEXT(int, "openat", int, const char *, int, ...);
	look("openat", at, path);
	return next(at, path, flags, mode);
}

FILE *fopen(const char *path, const char *how)
{
	NEXT(FILE *, "fopen", const char *, const char *);
	look("fopen", AT_FDCWD, path);
	return next(path, how);
}

DIR *opendir(const char *path)
{
	NEXT(DIR *, "opendir", const char *);
	look("opendir", AT_FDCWD, path);
	return next(path);
}

#define ONE(type, name, more, pass)                                                                                    \
	type name(const char *path more)                                                                               \
	{                                                                                                              \
		NEXT(type, #name, const char *more);                                                                   \
		look(#name, AT_FDCWD, path);                                                                           \
		return next(path pass);                                                                                \
	}
#define COMMA ,
ONE(int, mkdir, COMMA mode_t mode, COMMA mode)
ONE(int, unlink, , )
ONE(int, rmdir, , )
ONE(int, remove, , )
ONE(int, creat, COMMA mode_t mode, COMMA mode)
ONE(int, truncate, COMMA off_t n, COMMA n)
ONE(int, chmod, COMMA mode_t mode, COMMA mode)

int rename(const char *from, const char *to)
{
	NEXT(int, "rename", const char *, const char *);
	look("rename", AT_FDCWD, from), look("rename", AT_FDCWD, to);
	return next(from, to);
}

int renameat(int a, const char *from, int b, const char *to)
{
	NEXT(int, "renameat", int, const char *, int, const char *);
	look("renameat", a, from), look("renameat", b, to);
	return next(a, from, b, to);
}

int link(const char *from, const char *to)
{
	NEXT(int, "link", const char *, const char *);
	look("link", AT_FDCWD, from), look("link", AT_FDCWD, to);
	return next(from, to);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
	NEXT(int, "linkat", int, const char *, int, const char *, int);
	look("linkat", a, from), look("linkat", b, to);
	return next(a, from, b, to, flags);
}

int unlinkat(int at, const char *path, int flags)
{
	NEXT(int, "unlinkat", int, const char *, int);
	look("unlinkat", at, path);
	return next(at, path, flags);
}

int mkdirat(int at, const char *path, mode_t mode)
{
	NEXT(int, "mkdirat", int, const char *, mode_t);
	look("mkdirat", at, path);
	return next(at, path, mode);
}

/* --- models that name files, everywhere they can --------------------------------------------------------------------
 */
static char top[64] = "/tmp/pxl-door-XXXXXX";

static void put(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(text, 1, n, f) != n || fclose(f)) perror(path), exit(1);
}

static const char program[] = "use MARKmodule\n"
			      "native \"MARKnative.c\"\n"
			      "program p() {\n"
			      "    x = host_load(h2d_stream(\"MARKin\", f32[1]))\n"
			      "    w = variable(double(1.0), name = \"MARKvariable\")\n"
			      "    dot_checkpoint(\"MARKdrawing\", \"MARKsub\")\n"
			      "    host_store(d2h_stream(\"MARKout\", f32[1]), x + w)\n"
			      "}\n"
			      "task train {\n    program = p\n    data = { \"MARKin\": npy(\"MARKdata.npy\") }\n    "
			      "save = \"MARKsave.st\"\n}\n"
			      "task test {\n    program = p\n    data = { \"MARKin\": npy(\"./MARKdata.npy\") }\n    "
			      "weights = task.train\n}\n"
			      "task again {\n    program = p\n    data = { \"MARKin\": npy(\"MARKlink.npy\") }\n    "
			      "weights = \"MARKlink.st\"\n    save = \"MARKsub/MARK.st\"\n}\n";

static const char module[] = "fn double(x) { return x * 2.0 }\n";
static const char native[] = "#include <pxl.h>\n"
			     "static int run(pxl_host_call *c) { (void)c; return 0; }\n"
			     "const pxl_host_op pxl_native_ops[] = { { PXL_HOST_OP_HEAD, .name = \"nothing\", .nin = "
			     "1, .nout = 1, .run = run }, PXL_HOST_OP_END };\n";

static void world(pxl_ctx *cx)
{
	if (!mkdtemp(top) || chdir(top) || mkdir("folder", 0755) || mkdir("MARKsub", 0755) ||
		symlink("MARKdata.npy", "MARKlink.npy") || symlink("MARKsave.st", "MARKlink.st"))
		perror(top), exit(1);
	put("model.pxl", program, sizeof program - 1);
	put("MARKmodule.pxl", module, sizeof module - 1);
	put("MARKnative.c", native, sizeof native - 1);
	CHECK("", pxl_npy_write(cx, "MARKdata.npy", PXL_F32, 2, (int64_t[]){ 2, 1 }, (float[]){ 1, 2 }) == PXL_OK);
}

static pxl_status run_task(pxl_model *m, const char *task, int resume)
{
	const pxl_result *r;
	pxl_task_options o = PXL_TASK_OPTIONS_INIT;
	pxl_map map = { NULL, "folder", 0 };
	o.task = task;
	o.program.jit = PXL_JIT_TCC;
	o.program.dot_dir = "folder";
	o.session.threads = 1;
	o.session.maps = &map;
	o.session.nmap = 1;
	o.resume = resume;
	return pxl_task_run(m, &o, &r);
}

int main(void)
{
	pxl_ctx *cx;
	pxl_model *m;
	pxl_options o = PXL_OPTIONS_INIT;
	o.allow_native = 1;
	CHECK("", pxl_ctx_new(&o, &cx) == PXL_OK);
	world(cx);
	watching = 1;
	pxl_status st = pxl_compile_file(cx, "model.pxl", &m);
	CHECK("", st == PXL_OK);
	if (st != PXL_OK) return printf("%s\n%s\n", pxl_errmsg(cx), pxl_diag_text(cx, 0, 0)), 1;
	static const char *const tasks[] = { "train", "test", "again", "train" };
	for (int i = 0; i < 4; i++) {
		st = run_task(m, tasks[i], i == 3);
		CHECK("", st == PXL_OK);
		if (st != PXL_OK) printf("%s: %s\n%s\n", tasks[i], pxl_errmsg(cx), pxl_diag_text(cx, 0, 0));
	}
	CHECK("", pxl_npy_write_in(cx, "folder", "MARKout", PXL_F32, 1, (int64_t[]){ 1 }, (float[]){ 1 }) == PXL_OK);
	watching = 0;
	for (size_t i = 0; i < 3; i++) {
		static const char *const made[] = { "folder/MARKvariable.npy", "folder/MARKsub/MARKdrawing_r.dot",
			"MARKsub/MARK.st" };
		CHECK("", !access(made[i], F_OK));
	}
	CHECK("", wrong == 0);
	CHECK("", right >= 20);
	pxl_model_free(m);
	pxl_ctx_free(cx);
	char cmd[100];
	snprintf(cmd, sizeof cmd, "rm -rf %s", top);
	if (chdir("/") || system(cmd)) perror(top);
	return check_done();
}
