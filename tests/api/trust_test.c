/* trust_test.c — a model that tries to get out of its folder.
 *
 * A world is made anew for each way: `in`, the model's folder, which is the current one, and `out`, where nothing may
 * change. Each way is a file system as a hostile archive could leave it, and a model. It must fail as the table says,
 * and leave the whole world as it was. All ways are gone through three times: with openat2(), and where that is missing
 * or forbidden. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/api/pxl.h"
#include "tests/check.h"
#include "tests/deny.h"

static char top[64] = "/tmp/pxl-trust-XXXXXX";

/* --- the world ------------------------------------------------------------------------------------------------- */
static void put(const char *path, const void *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n) printf("cannot make %s: %s\n", path, strerror(errno)), exit(1);
	close(fd);
}

static void make_socket(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a)) printf("no socket: %s\n", strerror(errno)), exit(1);
	close(fd);
}

/* a safetensors file of no tensors, and a .npy file of f32[2] */
static const char empty_weights[] = "\x08\0\0\0\0\0\0\0{}      ";
static size_t npy_text(char out[128])
{
	static const char header[] = "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
	memset(out, ' ', 128);
	memcpy(out, header, sizeof header - 1);
	out[127] = '\n';
	return 128;
}

static void put_npy(const char *path)
{
	char text[128 + 8] = { 0 };
	put(path, text, npy_text(text) + 8);
}

/* `verb a b; …`: ln TARGET NAME, hard OLD NAME, fifo, sock, dir, char, text, st, npy NAME */
static void step(char *s)
{
	char *verb = strtok(s, " "), *a = strtok(NULL, " "), *b = strtok(NULL, " ");
	int bad = 0;
	if (!strcmp(verb, "ln")) bad = symlink(a, b);
	else if (!strcmp(verb, "hard")) bad = link(a, b);
	else if (!strcmp(verb, "fifo")) bad = mkfifo(a, 0666);
	else if (!strcmp(verb, "dir")) bad = mkdir(a, 0755);
	else if (!strcmp(verb, "sock")) make_socket(a);
	else if (!strcmp(verb, "text")) put(a, "#!/bin/sh\nexit 0\n", 17);
	else if (!strcmp(verb, "st")) put(a, empty_weights, 16);
	else if (!strcmp(verb, "npy")) put_npy(a);
	else bad = errno = EINVAL;
	if (bad) printf("cannot %s %s %s: %s\n", verb, a, b ? b : "", strerror(errno)), exit(1);
}

static void setup(const char *steps)
{
	char all[1000], *next = all;
	snprintf(all, sizeof all, "%s", steps ? steps : "");
	for (char *s; (s = strsep(&next, ";"));)
		if (*s) step(s + (*s == ' '));
}

static void remove_all(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *f; d && (f = readdir(d));)
		if (strcmp(f->d_name, ".") && strcmp(f->d_name, "..")) remove_all(fd, f->d_name);
	if (d) closedir(d);
	unlinkat(at, name, d ? AT_REMOVEDIR : 0);
}

static void new_world(void)
{
	if (chdir(top) || (remove_all(AT_FDCWD, "in"), remove_all(AT_FDCWD, "out"), mkdir("in", 0755)) ||
		mkdir("out", 0755) || mkdir("out/sub", 0755))
		perror(top), exit(1);
	put("out/x.safetensors", empty_weights, 16);
	put("out/run.sh", "#!/bin/sh\n", 10);
	put_npy("out/x.npy");
	put("out/sub/m.pxl", "y = 1\n", 6);
	if (chdir("in")) perror("in"), exit(1);
}

/* everything below a folder that a write would change: names, kinds, sizes, inodes, times, links, contents */
static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3u;
	return h;
}

static uint64_t sum_of(int at, const char *name)
{
	struct stat s;
	char text[4096];
	if (fstatat(at, name, &s, AT_SYMLINK_NOFOLLOW)) return 0;
	uint64_t h = mix(mix(0xcbf29ce484222325u, name, strlen(name)), &s.st_mode, sizeof s.st_mode), all = 0;
	h = mix(mix(h, &s.st_ino, sizeof s.st_ino), &s.st_mtim, sizeof s.st_mtim);
	h = mix(mix(h, &s.st_nlink, sizeof s.st_nlink), &s.st_size, sizeof s.st_size);
	if (S_ISLNK(s.st_mode)) return mix(h, text, (size_t)readlinkat(at, name, text, sizeof text));
	if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) return h;
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (S_ISREG(s.st_mode)) h = mix(h, text, (size_t)read(fd, text, sizeof text));
	DIR *d = S_ISDIR(s.st_mode) ? fdopendir(fd) : NULL;
	for (struct dirent *f; d && (f = readdir(d));)
		if (strcmp(f->d_name, ".") && strcmp(f->d_name, "..")) all += sum_of(fd, f->d_name);
	if (d) closedir(d);
	else close(fd);
	return mix(h, &all, sizeof all);
}

/* --- ways out ---------------------------------------------------------------------------------------------------- */
typedef enum Kind { SAVE, WEIGHTS, DATA, USE, NATIVE, STREAM, DRAW, MAP } Kind;
typedef struct Way { Kind kind; const char *steps, *path; pxl_status want; const char *message; } Way;

#define OUT "is out of the model's reach"
#define LINK_OUT "a link leads to"
#define DOT "begins with a dot"
#define ENDS "whose names end in `.safetensors` or `.st`"
#define FOLDER "names a folder, not a file"
#define NOT_ST "it exists and is no safetensors file"
#define ORDINARY "models may name ordinary files alone"
#define LONG_255                                                                                                       \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const Way ways[] = {
	/* out as a text */
	{ SAVE, NULL, "/etc/cron.d/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "%/out/new.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "%/out/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "../out/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "../x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "./../out/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, "dir d", "d/../../out/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "nothing/../../out/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, ".//..//out//x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "../../../../../../../../../../../../../../etc/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "%/in/../out/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "%/inside/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "%/in/..", PXL_EMODEL, FOLDER },
	{ SAVE, NULL, "..", PXL_EMODEL, FOLDER },
	{ SAVE, NULL, "/", PXL_EMODEL, FOLDER },
	{ SAVE, NULL, "../IN/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "/proc/self/cwd/../out/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "/proc/self/cwd/x.safetensors", PXL_EMODEL, OUT },
	{ SAVE, NULL, "/proc/self/fd/1", PXL_EMODEL, OUT },
	{ SAVE, NULL, "/dev/stdout", PXL_EMODEL, OUT },
	{ SAVE, NULL, "/dev/fd/2", PXL_EMODEL, OUT },
	{ SAVE, NULL, "~/x.safetensors", PXL_EIO, "No such file" },
	{ SAVE, NULL, "$HOME/x.safetensors", PXL_EIO, "No such file" },
	{ WEIGHTS, NULL, "../out/x.safetensors", PXL_EMODEL, OUT },
	{ WEIGHTS, NULL, "%/out/x.safetensors", PXL_EMODEL, OUT },
	{ DATA, NULL, "../out/x.npy", PXL_EMODEL, OUT },
	{ DATA, NULL, "%/out/x.npy", PXL_EMODEL, OUT },
	{ DATA, NULL, "/proc/self/environ", PXL_EMODEL, OUT },
	{ NATIVE, NULL, "../out/run.sh", PXL_EMODEL, OUT },

	/* out through links */
	{ SAVE, "ln ../out/new.safetensors x.safetensors", "x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln ../out/x.safetensors x.safetensors", "x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln /nowhere/x.safetensors x.safetensors", "x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln ../out d", "d/x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln ../out d", "d//./x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "dir a; ln ../../out a/d", "a/d/x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln .. up", "up/out/x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln . here; ln here/../../out d", "d/x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "dir a; ln ../.. a/up; ln a/up/out d", "d/x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln /proc/self/cwd d", "d/x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln /proc/self/root d", "d/x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln /proc/self/fd/1 x.safetensors", "x.safetensors", PXL_EMODEL, LINK_OUT },
	{ SAVE, "ln b.safetensors a.safetensors; ln a.safetensors b.safetensors", "a.safetensors", PXL_EIO,
		"Too many levels" },
	{ SAVE, "ln d d", "d/x.safetensors", PXL_EIO, "Too many levels" },
	{ SAVE, "text run.sh; ln run.sh x.safetensors", "x.safetensors", PXL_EMODEL, ENDS },
	{ SAVE, "dir .git; ln .git d", "d/x.safetensors", PXL_EMODEL, DOT },
	{ SAVE, "ln .bashrc.st x.safetensors", "x.safetensors", PXL_EMODEL, DOT },
	{ WEIGHTS, "ln ../out/x.safetensors w.st", "w.st", PXL_EMODEL, LINK_OUT },
	{ DATA, "ln ../out/x.npy x.npy", "x.npy", PXL_EMODEL, LINK_OUT },
	{ DATA, "ln ../out d", "d/x.npy", PXL_EMODEL, LINK_OUT },
	{ USE, "ln ../out/sub/m.pxl m.pxl", "m", PXL_EMODEL, LINK_OUT },
	{ NATIVE, "ln ../out/run.sh f.c", "f.c", PXL_EMODEL, LINK_OUT },

	/* what is no file */
	{ SAVE, "fifo x.safetensors", "x.safetensors", PXL_EMODEL, "is a pipe" },
	{ SAVE, "sock x.safetensors", "x.safetensors", PXL_EMODEL, "is a socket" },
	{ SAVE, "dir x.safetensors", "x.safetensors", PXL_EMODEL, "is a folder" },
	{ WEIGHTS, "fifo w.st", "w.st", PXL_EMODEL, ORDINARY },
	{ DATA, "fifo x.npy", "x.npy", PXL_EMODEL, "is a pipe" },
	{ DATA, "sock x.npy", "x.npy", PXL_EMODEL, "is a socket" },
	{ DATA, "dir x.npy", "x.npy", PXL_EMODEL, "is a folder" },
	{ USE, "fifo m.pxl", "m", PXL_EMODEL, "is a pipe" },
	{ NATIVE, "fifo f.c", "f.c", PXL_EMODEL, "is a pipe" },

	/* names */
	{ SAVE, NULL, ".bashrc", PXL_EMODEL, DOT },
	{ SAVE, NULL, ".hidden.safetensors", PXL_EMODEL, DOT },
	{ SAVE, "dir .git", ".git/x.safetensors", PXL_EMODEL, DOT },
	{ SAVE, "dir a; dir a/.git", "a/.git/x.safetensors", PXL_EMODEL, DOT },
	{ SAVE, NULL, "...safetensors", PXL_EMODEL, DOT },
	{ SAVE, "dir \u200c.git", "\\u200c.git/x.safetensors", PXL_EMODEL, DOT },
	{ SAVE, "dir \ufeff\u200d.git", "\\ufeff\\u200d.git/x.safetensors", PXL_EMODEL, DOT },
	{ DATA, "dir .ssh; npy .ssh/x.npy", ".ssh/x.npy", PXL_EMODEL, DOT },
	{ SAVE, NULL, "run.sh", PXL_EMODEL, ENDS },
	{ SAVE, "text model.c", "model.c", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "m.pxl", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "lib.so", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "x.safetensors.sh", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "x.SAFETENSORS", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "x.safetensors ", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "x.safetensors.", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "safetensors", PXL_EMODEL, ENDS },
	{ SAVE, NULL, "x.safetensors/", PXL_EMODEL, FOLDER },
	{ SAVE, NULL, "x.safetensors/.", PXL_EMODEL, FOLDER },
	{ SAVE, "st x.safetensors", "x.safetensors/", PXL_EMODEL, FOLDER },
	{ SAVE, NULL, "a\\n.safetensors", PXL_EMODEL, "`a\\x0a.safetensors` has a control character" },
	{ SAVE, NULL, "a\\u0007\\u001b]0;x.safetensors", PXL_EMODEL, "control character" },
	{ SAVE, NULL, "a\\u0000.safetensors", PXL_EMODEL, "is not a character" },
	{ WEIGHTS, NULL, "", PXL_EMODEL, "is empty" },
	{ DATA, NULL, "", PXL_EMODEL, "is empty" },
	{ SAVE, NULL, LONG_255 ".safetensors", PXL_EIO, "File name too long" },
	{ SAVE, NULL, "5000*", PXL_EIO, "File name too long" },
	{ DATA, NULL, "5000*", PXL_EMODEL, "File name too long" },

	/* what may not be replaced */
	{ SAVE, "text x.safetensors", "x.safetensors", PXL_EMODEL, NOT_ST },
	{ SAVE, "npy x.safetensors", "x.safetensors", PXL_EMODEL, NOT_ST },
	{ SAVE, "hard ../out/run.sh x.safetensors", "x.safetensors", PXL_EMODEL, NOT_ST },
	{ SAVE, "text y; ln y x.safetensors", "x.safetensors", PXL_EMODEL, ENDS },

	/* names of streams, drawings and variables in folders that the host gives */
	{ STREAM, "dir d", "../../out/x", PXL_EMODEL, DOT },
	{ STREAM, "dir d", "a/../../out/x", PXL_OK, "d/a%..%..%out%x.npy" },
	{ STREAM, "dir d", ".hidden", PXL_EMODEL, DOT },
	{ STREAM, "dir d; ln ../../out/run.sh d/y.npy", "y", PXL_EMODEL, LINK_OUT },
	{ STREAM, "dir d; text d/y.npy", "y", PXL_EMODEL, "no .npy file" },
	{ STREAM, "dir d; fifo d/y.npy", "y", PXL_EMODEL, "is a pipe" },
	{ DRAW, "dir d", "../../out", PXL_EMODEL, "lies below the folder" },
	{ DRAW, "dir d; ln ../../out d/sub", "sub", PXL_EMODEL, LINK_OUT },
	{ DRAW, "dir d; dir d/sub; ln ../../../out/run.sh d/sub/here_r.dot", "sub", PXL_EMODEL, LINK_OUT },
	{ DRAW, "dir d; dir d/sub; text d/sub/here_r.dot", "sub", PXL_EMODEL, "no Graphviz file" },
	{ MAP, "dir d; ln ../../out/x.npy d/w.npy", "w", PXL_EIO, "it is a link" },
	{ MAP, "dir d; hard ../out/x.npy d/w.npy", "w", PXL_EIO, "another name (a hard link)" },
	{ MAP, "dir d; ln ../../out/new.npy d/w.npy", "w", PXL_EIO, "it is a link" },
	{ MAP, "dir d", "../../out/w", PXL_OK, "d/..%..%out%w.npy" },
};

/* --- one way ------------------------------------------------------------------------------------------------------ */
static pxl_ctx *cx;
static char said[8192];

static void keep_diags(void)
{
	for (size_t i = 0; i < pxl_diag_count(cx); i++) {
		size_t n = strlen(said);
		snprintf(said + n, sizeof said - n, "%.2000s\n", pxl_diag_text(cx, i, PXL_DIAG_FULL));
	}
}

static void new_context(const char *allowed)
{
	pxl_options o = PXL_OPTIONS_INIT;
	o.allow_native = 1;
	o.allow_paths = &allowed;
	o.nallow_paths = allowed != NULL;
	pxl_ctx_free(cx);
	said[0] = 0;
	if (pxl_ctx_new(&o, &cx) != PXL_OK) puts("no context"), exit(1);
}

/* `%` is the world's folder, `5000*` a path of 5,000 bytes */
static const char *spelled(const char *path, char out[6000])
{
	size_t n = 0;
	if (!strcmp(path, "5000*")) {
		for (; n < 5000; n++) out[n] = n % 100 == 99 ? '/' : 'a';
		return strcpy(out + n, ".st"), out;
	}
	for (; *path; path++) n += (size_t)(*path == '%' ? sprintf(out + n, "%s", top) : sprintf(out + n, "%c", *path));
	return out[n] = 0, out;
}

static void write_model(const Way *w)
{
	char text[8000], path[6000];
	const char *field = w->kind == SAVE ? "save" : "weights";
	int n = 0;
	spelled(w->path, path);
	if (w->kind == USE) n += sprintf(text + n, "use %s\n", path);
	if (w->kind == NATIVE) n += sprintf(text + n, "native \"%s\"\n", path);
	n += sprintf(text + n, "program p() {\n    w = variable([1.0, 2.0], name = \"%s\")\n    w += 1.0\n",
		w->kind == MAP ? path : "w");
	if (w->kind == DATA) n += sprintf(text + n, "    w = w + host_load(h2d_stream(\"x\", f32[1]))\n");
	n += sprintf(text + n, "    host_store(d2h_stream(\"y\", f32[2]), w * 1.0)\n");
	if (w->kind == DRAW) n += sprintf(text + n, "    dot_checkpoint(\"here\", \"%s\")\n", path);
	n += sprintf(text + n, "}\ntask train {\n    program = p\n");
	if (w->kind == DATA) n += sprintf(text + n, "    data = { \"x\": npy(\"%s\") }\n}\n", path);
	else if (w->kind <= WEIGHTS) n += sprintf(text + n, "    limit = 1\n    %s = \"%s\"\n}\n", field, path);
	else n += sprintf(text + n, "    limit = 1\n}\n");
	put("main.pxl", text, (size_t)n);
}

static pxl_status run_program(pxl_model *m, const Way *w)
{
	pxl_program *p = NULL;
	pxl_session *s = NULL;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	pxl_session_options so = PXL_SESSION_OPTIONS_INIT;
	pxl_map map = { NULL, "d", 0 };
	o.dot_dir = w->kind == DRAW ? "d" : NULL;
	o.jit = PXL_JIT_TCC;
	so.threads = 1;
	so.maps = &map;
	so.nmap = w->kind == MAP;
	pxl_status st = pxl_program_new(m, &o, &p);
	if (st == PXL_OK) st = pxl_session_new(p, &so, &s);
	pxl_session_free(s);
	pxl_program_free(p);
	return st;
}

static pxl_status run_task(pxl_model *m)
{
	const pxl_result *r;
	pxl_task_options o = PXL_TASK_OPTIONS_INIT;
	o.program.jit = PXL_JIT_TCC;
	o.session.threads = 1;
	return pxl_task_run(m, &o, &r);
}

static pxl_status try_way(const Way *w)
{
	pxl_model *m;
	char path[6000];
	float x[2] = { 1, 2 };
	if (w->kind == STREAM)
		return pxl_npy_write_in(cx, "d", spelled(w->path, path), PXL_F32, 1, (int64_t[]){ 2 }, x);
	pxl_status st = pxl_compile_file(cx, "main.pxl", &m);
	if (st != PXL_OK) return st;
	st = w->kind == DRAW || w->kind == MAP ? run_program(m, w) : run_task(m);
	pxl_model_free(m);
	return st;
}

static pxl_status go(const Way *w)
{
	pxl_status st = try_way(w);
	char why[1024];
	snprintf(why, sizeof why, "%s", pxl_errmsg(cx));
	keep_diags();
	size_t n = strlen(said);
	snprintf(said + n, sizeof said - n, "%s", why);
	return st;
}

static int same_way(const Way *w, pxl_status st, uint64_t before)
{
	if (st == w->want && (st == PXL_OK ? !access(w->message, F_OK)
					   : strstr(said, w->message) && sum_of(AT_FDCWD, "..") == before))
		return 1;
	printf("way of kind %d, `%.100s` (%s): status %d, wanted %d\n%.1000s\nwanted: %s\n", w->kind, w->path,
		w->steps ? w->steps : "", st, w->want, said, w->message);
	return 0;
}

static void every_way(void)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const Way *w = &ways[i];
		new_world();
		setup(w->steps);
		write_model(w);
		new_context(NULL);
		uint64_t all = sum_of(AT_FDCWD, ".."), out = sum_of(AT_FDCWD, "../out");
		pxl_status st = go(w);
		CHECK("", same_way(w, st, all) && sum_of(AT_FDCWD, "../out") == out);
	}
}

/* --- what is allowed ------------------------------------------------------------------------------------------------
 */
static const Way good[] = {
	{ SAVE, NULL, "x.safetensors", PXL_OK, "x.safetensors" },
	{ SAVE, NULL, "x.st", PXL_OK, "x.st" },
	{ SAVE, NULL, "x.c.safetensors", PXL_OK, "x.c.safetensors" },
	{ SAVE, NULL, "%/in/x.safetensors", PXL_OK, "x.safetensors" },
	{ SAVE, NULL, "%//in/./x.safetensors", PXL_OK, "x.safetensors" },
	{ SAVE, "dir a", "a/../x.safetensors", PXL_OK, "x.safetensors" },
	{ SAVE, "dir a", "../in/a/x.safetensors", PXL_OK, "a/x.safetensors" },
	{ SAVE, "dir a; ln a d", "d/x.safetensors", PXL_OK, "a/x.safetensors" },
	{ SAVE, "dir a; ln ../in/a d", "d/x.safetensors", PXL_OK, "a/x.safetensors" },
	{ SAVE, "ln y.safetensors x.safetensors", "x.safetensors", PXL_OK, "y.safetensors" },
	{ SAVE, "st y.safetensors; ln y.safetensors x.safetensors", "x.safetensors", PXL_OK, "y.safetensors" },
	{ SAVE, "st x.safetensors", "x.safetensors", PXL_OK, "x.safetensors" },
	{ SAVE, "hard ../out/x.safetensors x.safetensors", "x.safetensors", PXL_OK, "x.safetensors" },
	{ SAVE, NULL, "\\u00fc\\u4e2d.safetensors", PXL_OK, "\u00fc\u4e2d.safetensors" },
	{ DRAW, "dir d", "sub/deeper", PXL_OK, "d/sub/deeper/here_r.dot" },
	{ STREAM, "dir d; npy d/y.npy", "y", PXL_OK, "d/y.npy" },
};

/* the other name of a hard link keeps its file: a save replaces names, and never writes into a file that is there */
static void every_good_way(void)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct stat s;
		const Way *w = &good[i];
		new_world();
		setup(w->steps);
		write_model(w);
		new_context(NULL);
		pxl_status st = go(w);
		CHECK("", same_way(w, st, 0) && !lstat(w->message, &s) && s.st_size > 16 && s.st_nlink == 1);
		CHECK("", !stat("../out/x.safetensors", &s) && s.st_size == 16);
	}
}

/* a folder that the host allows, by its name and through links; and only that */
static void allowed_folder(void)
{
	static const Way allowed[] = {
		{ SAVE, NULL, "%/out/sub/x.safetensors", PXL_OK, "../out/sub/x.safetensors" },
		{ SAVE, NULL, "../out/sub/x.safetensors", PXL_OK, "../out/sub/x.safetensors" },
		{ SAVE, "ln ../out/sub d", "d/x.safetensors", PXL_OK, "../out/sub/x.safetensors" },
		{ SAVE, "ln ../link d", "d/x.safetensors", PXL_OK, "../out/sub/x.safetensors" },
		{ SAVE, NULL, "%/link/x.safetensors", PXL_OK, "../out/sub/x.safetensors" },
		{ SAVE, NULL, "../out/x.safetensors", PXL_EMODEL, OUT },
		{ SAVE, NULL, "../out/sub/../x.safetensors", PXL_EMODEL, OUT },
		{ SAVE, NULL, "../out/sub/m.pxl", PXL_EMODEL, ENDS },
	};
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
		char link[100];
		new_world();
		setup(allowed[i].steps);
		snprintf(link, sizeof link, "%s/link", top);
		unlink(link);
		if (symlink("out/sub", link)) perror("link"), exit(1);
		write_model(&allowed[i]);
		new_context(link);                            /* a link that its user names is followed */
		uint64_t all = sum_of(AT_FDCWD, "..");
		pxl_status st = go(&allowed[i]);
		CHECK("", same_way(&allowed[i], st, all));
		unlink(link);
	}
	pxl_options o = PXL_OPTIONS_INIT;
	pxl_ctx *none;
	const char *missing[] = { "nowhere", NULL };
	o.allow_paths = missing;
	o.nallow_paths = 1;
	CHECK("", pxl_ctx_new(&o, &none) == PXL_EIO);
	o.nallow_paths = 2;
	missing[0] = ".";
	CHECK("", pxl_ctx_new(&o, &none) == PXL_EINVAL);
}

/* --- where the model is, and where its user
 * ------------------------------------------------------------------------------ */
static pxl_status run_text(const char *task)
{
	pxl_model *m;
	char text[1000];
	new_context(NULL);
	snprintf(text, sizeof text,
		"program p() {\n    host_store(d2h_stream(\"y\", f32[1]), host_load(h2d_stream(\"x\", f32[1])) + "
		"variable(1.0, name = \"w\"))\n}\ntask train {\n    program = p\n%s\n}\n",
		task);
	pxl_status st = pxl_compile_memory(cx, "text", text, strlen(text), &m);
	if (st == PXL_OK) {
		st = run_task(m);
		keep_diags();
		pxl_model_free(m);
	}
	return st;
}

/* Arrays lie beside the model, what is saved in the current folder; `..` may lead from the one to the other. */
static void two_folders(void)
{
	pxl_model *m;
	static const char text[] =
		"program p() {\n    host_store(d2h_stream(\"y\", f32[1]), host_load(h2d_stream(\"x\", f32[1])) + "
		"variable(1.0, name = \"w\"))\n}\n"
		"task train {\n    program = p\n    data = { \"x\": npy(\"x.npy\") }\n    save = \"w.st\"\n}\n"
		"task other {\n    program = p\n    data = { \"x\": npy(\"../data/x.npy\") }\n    save = "
		"\"models/w.st\"\n}\n";
	new_world();
	setup("dir models; dir data; npy models/x.npy; npy data/x.npy");
	put("models/m.pxl", text, sizeof text - 1);
	for (int other = 0; other < 2; other++) {
		const pxl_result *r;
		pxl_task_options o = PXL_TASK_OPTIONS_INIT;
		o.task = other ? "other" : "train";
		new_context(NULL);
		CHECK("", pxl_compile_file(cx, "models/m.pxl", &m) == PXL_OK && pxl_task_run(m, &o, &r) == PXL_OK);
		CHECK("", !access(other ? "models/w.st" : "w.st", F_OK));
		pxl_model_free(m);
	}
	if (chdir("models")) perror("models");
	new_context(NULL);
	CHECK("", pxl_compile_file(cx, "m.pxl", &m) == PXL_OK);
	pxl_task_options o = PXL_TASK_OPTIONS_INIT;
	const pxl_result *r;
	o.task = "other";
	CHECK("", pxl_task_run(m, &o, &r) == PXL_EMODEL && (keep_diags(), strstr(said, OUT)));
	pxl_model_free(m);
}

/* A model that is no file has the current folder alone. Its folder is the one that its text came out of. */
static void no_folder(void)
{
	pxl_model *m;
	new_world();
	setup("npy x.npy; dir models; dir other");
	CHECK("", run_text("    data = { \"x\": npy(\"x.npy\") }\n    save = \"w.st\"") == PXL_OK &&
			  !access("w.st", F_OK));
	CHECK("", run_text("    data = { \"x\": npy(\"../out/x.npy\") }") == PXL_EMODEL && strstr(said, OUT));
	Way w = { SAVE, NULL, "%/moved/x.st", PXL_OK, "" };
	write_model(&w);
	if (rename("main.pxl", "models/main.pxl") || chdir("other")) perror("models");
	new_context(NULL);
	CHECK("", pxl_compile_file(cx, "../models/main.pxl", &m) == PXL_OK);
	CHECK("", run_task(m) == PXL_EMODEL && (keep_diags(), 1) && strstr(said, OUT));
	pxl_model_free(m);
	w.path = "%/in/models/x.st";
	if (chdir("..")) perror("in");
	write_model(&w);
	if (rename("main.pxl", "models/main.pxl") || chdir("other")) perror("models");
	new_context(NULL);
	CHECK("", pxl_compile_file(cx, "../models/main.pxl", &m) == PXL_OK);
	if (rename("../models", "../elsewhere") || symlink("../out", "../models")) perror("models");
	CHECK("", run_task(m) == PXL_EMODEL && (keep_diags(), 1) &&
			  strstr(said, "another one than when the model was read") && access("../../out/x.st", F_OK));
	pxl_model_free(m);
}

/* what the host names is its own affair */
static void named_by_host(void)
{
	pxl_model *m;
	const pxl_result *r;
	Way w = { SAVE, NULL, "../out/no.st", PXL_OK, "" };
	new_world();
	write_model(&w);
	new_context(NULL);
	pxl_task_options o = PXL_TASK_OPTIONS_INIT;
	o.save = "../out/.any.name";
	CHECK("", pxl_compile_file(cx, "main.pxl", &m) == PXL_OK && pxl_task_run(m, &o, &r) == PXL_OK &&
			  !access("../out/.any.name", F_OK));
	o.weights = "../out/.any.name";
	o.save = "";
	CHECK("", pxl_task_run(m, &o, &r) == PXL_OK && access("../out/no.st", F_OK));
	pxl_model_free(m);
}

/* --- the three ways to go down
 * --------------------------------------------------------------------------------------------- */
static void all(void)
{
	every_way();
	every_good_way();
	allowed_folder();
	two_folders();
	no_folder();
	named_by_host();
	pxl_ctx_free(cx);
	cx = NULL;
}

static int in_child(int err)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (err &&
			(!deny(SYS_openat2, err, 0) || syscall(SYS_openat2, -1, NULL, NULL, 0) != -1 || errno != err))
			puts("skipped: no seccomp filters here"), _exit(0);
		check_passed = check_failed = 0;
		all();
		int bad = check_done();
		fflush(stdout);
		_exit(bad);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
	umask(022);
	alarm(300);                                           /* a pipe that is waited for */
	if (!mkdtemp(top)) return perror(top), 1;
	fflush(stdout);
	CHECK("", in_child(0));
	CHECK("", in_child(ENOSYS));
	CHECK("", in_child(EPERM));
	CHECK("", sizeof ways / sizeof *ways >= 90);
	if (chdir("/")) perror("/");
	remove_all(AT_FDCWD, top);
	return check_done();
}
