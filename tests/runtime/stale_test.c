/* stale_test.c — a save that was killed leaves a temporary file; the next save to that name removes it, and nothing else. */
#define _DEFAULT_SOURCE
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
	return !sink_open(&s, in_dir(name), &al, &e) && !sink_write(&s, text, strlen(text), &e) && !sink_commit(&s, &e);
}

/* a process that writes part of `name` and then waits; its end of the pipe says when it has */
static pid_t half_saved(const char *name)
{
	int pipes[2];
	char c;
	if (pipe(pipes)) return -1;
	pid_t pid = fork();
	if (!pid) {
		RtSink s;
		RtErr e;
		if (!sink_open(&s, in_dir(name), &al, &e) && !sink_write(&s, "half", 4, &e) && write(pipes[1], "x", 1) == 1) pause();
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

int main(void)
{
	char left[64], other[64], living[64];
	if (!mkdtemp(dir)) return 1;
	CHECK("", save("w.bin", "old"));
	pid_t killed = half_saved("w.bin"), alive = half_saved("w.bin"), elsewhere = half_saved("v.bin");
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
	CHECK("", !chdir(dir));
	RtSink s;
	RtErr e;
	CHECK("", !sink_open(&s, "w.bin", &al, &e) && !sink_write(&s, "y", 1, &e) && !sink_commit(&s, &e) && !there(living));      /* without a folder in its name */
	char command[64];
	snprintf(command, sizeof command, "rm -r %s", dir);
	CHECK("", !system(command));
	return check_done();
}
