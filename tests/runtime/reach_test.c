/* reach_test.c — files that a model names while somebody else changes what the names mean.
 *
 * A thread exchanges two names all the time, and the files are written and read meanwhile. Whatever comes first,
 * nothing outside changes, nothing from outside is read, and no file is lost that is not the model's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "runtime/formats/formats.h"
#include "tests/deny.h"
#include "tests/runtime/files.h"

static RtRoot roots[REACH_ALLOWED];
static const RtReach reach = { roots, REACH_ALLOWED };
enum { ENOUGH = 30, AT_LEAST = 400, AT_MOST = 100000 };

static RtPlace in_reach(const char *path) { return (RtPlace){ .path = path, .reach = &reach, .base = REACH_CURRENT }; }

/* --- somebody else --------------------------------------------------------------------------------------------- */
typedef struct Swapper { const char *a, *b; atomic_int stop; pthread_t thread; } Swapper;

static int swap(const char *a, const char *b) { return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2); }

static void *keep_swapping(void *arg)
{
	Swapper *s = arg;
	while (!atomic_load(&s->stop)) swap(s->a, s->b), sched_yield();
	return NULL;
}

static void swapper_start(Swapper *s) { pthread_create(&s->thread, NULL, keep_swapping, s); }

static void swapper_stop(Swapper *s)
{
	atomic_store(&s->stop, 1);
	pthread_join(s->thread, NULL);
}

/* --- writing and reading ------------------------------------------------------------------------------------------ */
static const StItem item = { "w", DT_F32, 1, (const int64_t[]){ 1 }, (const float[]){ 7 } };

static int write_weights(const char *path, RtErr *e)
{
	RtPlace p = in_reach(path);
	return st_write(&p, &item, 1, NULL, 0, NULL, e);
}

static int read_first(const char *path, float *out, RtErr *e)
{
	RtPlace p = in_reach(path);
	RtSource *s;
	RtArray a = { 0 };
	int st = source_open(&p, NULL, &s, e);
	if (st) return st;
	st = npy_read_from(s, NULL, NULL, &a, e);
	source_close(s);
	if (!st) *out = *(float *)a.data;
	array_free(NULL, &a);
	return st;
}

static int is_text(const char *path, const char *text)
{
	char have[64] = "";
	size_t n = get_file(path, have, sizeof have - 1);
	return n == strlen(text) && !memcmp(have, text, n);
}

static int count_in(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	for (struct dirent *f; d && (f = readdir(d));) n += f->d_name[0] != '.';
	if (d) closedir(d);
	return n;
}

/* both ends were seen often */
static int enough(int done, int ok, int refused)
{
	return done >= AT_MOST || (done >= AT_LEAST && ok >= ENOUGH && refused >= ENOUGH);
}

static void begin(void)
{
	dir_begin();
	if (chdir(test_dir) || mkdir("in", 0755) || mkdir("out", 0755)) perror(test_dir), exit(1);
	put_file("out/x.safetensors", "outside", 7);
	CHECK("", !npy_write(BY_USER("out/secret.npy"), DT_F32, 1, (const int64_t[]){ 1 }, (const float[]){ 666 }, NULL,
			  NULL));
	if (chdir("in")) perror("in"), exit(1);
	roots[REACH_CURRENT] = (RtRoot){ .path = "." };
}

static void end(void)
{
	char cmd[200];
	snprintf(cmd, sizeof cmd, "rm -rf %s", test_dir);
	if (chdir("/") || system(cmd)) perror(test_dir);
}

/* `d` is a folder, or a link to the one outside */
static void test_folder_becomes_link(void)
{
	RtErr e;
	int ok = 0, refused = 0, other = 0;
	Swapper s = { .a = "d", .b = "l" };
	if (mkdir("d", 0755) || symlink("../out", "l")) perror("d"), exit(1);
	swapper_start(&s);
	for (int i = 0; !enough(i, ok, refused); i++) {
		int st = write_weights(i % 2 ? "d/x.safetensors" : "d/new.safetensors", &e);
		if (!st) ok++;
		else if (st == RT_EMODEL && strstr(e.text, "link")) refused++;
		else if (st != RT_EIO) other++;
	}
	swapper_stop(&s);
	CHECK("", ok >= ENOUGH && refused >= ENOUGH);
	CHECK("", other == 0);
	CHECK("", is_text("../out/x.safetensors", "outside") && count_in("../out") == 2);
}

/* the file itself is one, or a link to one outside */
static void test_file_becomes_link(void)
{
	RtErr e;
	int ok = 0, refused = 0;
	Swapper s = { .a = "f.safetensors", .b = "l.safetensors" };
	CHECK("", !write_weights("f.safetensors", &e));
	if (symlink("../out/x.safetensors", "l.safetensors")) perror("l"), exit(1);
	swapper_start(&s);
	for (int i = 0; !enough(i, ok, refused); i++) {
		int st = write_weights("f.safetensors", &e);
		if (!st) ok++;
		else refused++;
	}
	swapper_stop(&s);
	CHECK("", ok >= ENOUGH && refused >= ENOUGH);
	CHECK("", is_text("../out/x.safetensors", "outside") && count_in("../out") == 2);
}

static void test_read(void)
{
	RtErr e;
	int ok = 0, refused = 0, secret = 0;
	Swapper s = { .a = "x.npy", .b = "l.npy" };
	CHECK("", !npy_write(BY_USER("x.npy"), DT_F32, 1, (const int64_t[]){ 1 }, (const float[]){ 1 }, NULL, &e));
	if (symlink("../out/secret.npy", "l.npy")) perror("l"), exit(1);
	swapper_start(&s);
	for (int i = 0; !enough(i, ok, refused); i++) {
		float x = 0;
		int st = read_first("x.npy", &x, &e);
		if (!st) ok++, secret += x != 1;
		else refused++;
	}
	swapper_stop(&s);
	CHECK("", ok >= ENOUGH && refused >= ENOUGH);
	CHECK("", secret == 0);
}

/* a pipe that comes meanwhile does not make it wait */
static void test_pipe(void)
{
	RtErr e;
	int ok = 0, refused = 0;
	float x;
	Swapper s = { .a = "p.npy", .b = "fifo" };
	CHECK("", !npy_write(BY_USER("p.npy"), DT_F32, 1, (const int64_t[]){ 1 }, (const float[]){ 1 }, NULL, &e));
	if (mkfifo("fifo", 0666)) perror("fifo"), exit(1);
	swapper_start(&s);
	for (int i = 0; !enough(i, ok, refused); i++) {
		if (!read_first("p.npy", &x, &e)) ok++;
		else refused++;
	}
	swapper_stop(&s);
	CHECK("", ok >= ENOUGH && refused >= ENOUGH);
}

/* A file that is not the model's comes into the place of one that is, between the look at it and the end of writing. */
static void test_replaced(void)
{
	RtErr e;
	int ok = 0, refused = 0;
	Swapper s = { .a = "r.safetensors", .b = "note" };
	CHECK("", !write_weights("r.safetensors", &e));
	put_file("note", "precious", 8);
	swapper_start(&s);
	for (int i = 0; !enough(i, ok, refused); i++) {
		int st = write_weights("r.safetensors", &e);
		if (!st) ok++;
		else refused++;
	}
	swapper_stop(&s);
	CHECK("", ok >= ENOUGH && refused >= ENOUGH);
	CHECK("", is_text("note", "precious") + is_text("r.safetensors", "precious") == 1);
}

/* --- and somebody else's file that was not there before
 * ------------------------------------------------------------------ */
static void test_made_meanwhile(void)
{
	RtErr e;
	RtSink s;
	RtPlace p = in_reach("m.safetensors");
	CHECK("", !sink_open(&s, &p, &st_format, NULL, &e) && !sink_write(&s, "x", 1, &e));
	put_file("m.safetensors", "new", 3);
	CHECK("", sink_commit(&s, &e) == RT_EIO && strstr(e.text, "made meanwhile") && is_text("m.safetensors", "new"));
	CHECK("", !write_weights("k.safetensors", &e) &&
			  !sink_open(&s, (p = in_reach("k.safetensors"), &p), &st_format, NULL, &e) &&
			  !sink_write(&s, "x", 1, &e));
	put_file("k.safetensors", "new", 3);
	CHECK("", sink_commit(&s, &e) == RT_EMODEL && strstr(e.text, "no safetensors file") &&
			  is_text("k.safetensors", "new"));
	DIR *d = opendir(".");
	int left = 0;
	for (struct dirent *f; (f = readdir(d));) left += strstr(f->d_name, ".tmp-") && strchr("mk", f->d_name[1]);
	closedir(d);
	CHECK("", left == 0);
}

/* --- file systems and permissions
 * --------------------------------------------------------------------------------------- */
static void test_show(void)
{
	char out[64];
	CHECK_STR("", reach_show("a\nb\x1b[0m\xff.\xc3\xbc", out, sizeof out), "a\\x0ab\\x1b[0m\\xff.\xc3\xbc");
	char name[200];
	memset(name, 'x', sizeof name);
	strcpy(name + 190, "end");
	CHECK("", !strncmp(reach_show(name, out, sizeof out), "\xe2\x80\xa6x", 4) && strlen(out) < 40 &&
			  strstr(out, "xend"));
}

static void all(void)
{
	begin();
	test_folder_becomes_link();
	test_file_becomes_link();
	test_read();
	test_pipe();
	test_replaced();
	test_made_meanwhile();
	end();
}

static int in_child(unsigned nr)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (nr && !deny(nr, ENOSYS, 0)) puts("skipped: no seccomp filters here"), _exit(0);
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
	if (!access("/dev/shm", W_OK))
		strcpy(test_dir, "/dev/shm/pxl-test-XXXXXX"); /* where files are synced at once */
	alarm(300);                                           /* a pipe that is waited for */
	test_show();
	CHECK("", in_child(0));
	CHECK("", in_child(SYS_openat2));
	return check_done();
}
