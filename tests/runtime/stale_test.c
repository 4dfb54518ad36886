/* stale_test.c — a save that was killed leaves a temporary file, and so does one who made a file to map; the next save to that name, or the next who
 * makes it, removes it, and nothing else. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/formats/formats.h"
#include "tests/check.h"

static const RtAlloc al;
static char dir[] = "/tmp/pxl-test-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[2][300];
	static int which;
	which = !which;
	snprintf(path[which], sizeof path[which], "%s/%s", dir, name);
	return path[which];
}

static int there(const char *name) { return !access(in_dir(name), F_OK); }

static void touch(const char *name)
{
	FILE *f = fopen(in_dir(name), "w");
	CHECK("", f && !fclose(f));
}

static int save(const char *name, const char *text)
{
	RtSink s;
	RtErr e;
	return !sink_open(&s, BY_USER(in_dir(name)), NULL, &al, &e) && !sink_write(&s, text, strlen(text), &e) &&
	       !sink_commit(&s, &e);
}

static int half_save(const char *name)
{
	RtSink s;
	RtErr e;
	return !sink_open(&s, BY_USER(in_dir(name)), NULL, &al, &e) && !sink_write(&s, "half", 4, &e);
}

static int make_map(FileMap *m, const char *name)
{
	const RtArray four = { .dtype = DT_F32, .rank = 1, .dim = { 4 }, .nelem = 4, .bytes = 16 };
	RtErr e;
	return !map_open(m, AT_FDCWD, in_dir(name), 0, &four, 0, &al, &e) && m->fresh;
}

static int half_mapped(const char *name)
{
	static FileMap m;
	return make_map(&m, name);
}

/* a process that does part of its work on `name` and then waits; its end of the pipe says when it has */
static pid_t half_done(int (*work)(const char *), const char *name)
{
	int pipes[2];
	char c;
	if (pipe(pipes)) return -1;
	pid_t pid = fork();
	if (!pid) {
		if (work(name) && write(pipes[1], "x", 1) == 1) pause();
		_exit(1);
	}
	CHECK("", pid > 0 && read(pipes[0], &c, 1) == 1);
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

static void end(pid_t pid)
{
	int status;
	CHECK("", !kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
}

static void test_maps(void)
{
	static FileMap m;
	char left[64], living[64];
	RtErr e;
	pid_t killed = half_done(half_mapped, "m.npy"), alive = half_done(half_mapped, "m.npy");
	snprintf(left, sizeof left, ".m.npy.tmp-%ld-0", (long)killed);
	snprintf(living, sizeof living, ".m.npy.tmp-%ld-0", (long)alive);
	end(killed);
	CHECK("R135", there(left) && there(living) && !there("m.npy"));
	CHECK("R135", make_map(&m, "m.npy") && !there(left) && there(living) && !there("m.npy"));
	CHECK("R135", !map_publish(&m, &e) && there("m.npy"));
	map_close(&m);
	end(alive);
	CHECK("R135", save("m.npy", "x") && !there(living));     /* who saves and who maps know each other's */
}

int main(void)
{
	char left[64], other[64], living[64];
	if (!mkdtemp(dir)) return 1;
	CHECK("", save("w.bin", "old"));
	pid_t killed = half_done(half_save, "w.bin"), alive = half_done(half_save, "w.bin"), elsewhere = half_done(half_save, "v.bin");
	snprintf(left, sizeof left, ".w.bin.tmp-%ld-0", (long)killed);
	snprintf(living, sizeof living, ".w.bin.tmp-%ld-0", (long)alive);
	snprintf(other, sizeof other, ".v.bin.tmp-%ld-0", (long)elsewhere);
	end(killed);
	end(elsewhere);
	CHECK("", there(left) && there(living) && there(other));
	touch(".w.bin.tmp-note");
	touch(".w.bin.tmp-0-1");
	touch(".w.bin.tmp-99999999999999-1");
	CHECK("", save("w.bin", "new"));
	CHECK("", !there(left));                                 /* its process is dead */
	CHECK("", there(living) && there(other));                /* one is at work, one is of another file */
	CHECK("", there(".w.bin.tmp-note") && there(".w.bin.tmp-0-1") && there(".w.bin.tmp-99999999999999-1"));
	end(alive);
	CHECK("", save("v.bin", "x") && !there(other) && there(living));
	test_maps();
	CHECK("", !chdir(dir));
	RtSink s;
	RtErr e;
	CHECK("", !sink_open(&s, BY_USER("w.bin"), NULL, &al, &e) && !sink_write(&s, "y", 1, &e) &&
			  !sink_commit(&s, &e) && !there(living)); /* without a folder in its name */
	char command[64];
	snprintf(command, sizeof command, "rm -r %s", dir);
	CHECK("", !system(command));
	return check_done();
}
