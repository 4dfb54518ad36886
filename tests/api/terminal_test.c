/* terminal_test.c — the progress line on terminals of several widths: a pseudo terminal reads what `pxlc train` writes there. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static const char model[] = "program p() {\n"
                            "    x = host_load(h2d_stream(\"x\", f32[2]))\n"
                            "    host_store(d2h_stream(\"loss\", f32[2]), x * 1.0)\n"
                            "}\n"
                            "task train {\n"
                            "    program = p\n"
                            "    data    = { \"x\": arange(20.0) }\n"
                            "    show    = { \"loss\": mean(loss), \"größe\": last(loss), \"损失\": max(loss), \"bell\x07\": sum(loss) }\n"
                            "}\n";
static char shown[65536];

/* what pxlc writes to a terminal of so many columns; 0: one that does not say how many */
static void train(const char *path, int columns, const char *env)
{
	char pxlc[512];
	const char *build = getenv("BUILD");
	snprintf(pxlc, sizeof pxlc, "%s/pxlc", build ? build : "build");
	int master = posix_openpt(O_RDWR | O_NOCTTY), n = 0, status = -1;
	CHECK("", master >= 0 && !grantpt(master) && !unlockpt(master));
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK("", slave >= 0 && !ioctl(slave, TIOCSWINSZ, &(struct winsize){ .ws_col = (unsigned short)columns, .ws_row = 24 }));
	pid_t pid = fork();
	if (!pid) {
		dup2(slave, 2);
		close(master);
		close(slave);
		if (env) setenv("COLUMNS", env, 1);
		else unsetenv("COLUMNS");
		if (!freopen("/dev/null", "w", stdout)) _exit(9);
		execl(pxlc, "pxlc", "train", path, "--threads", "1", "--jit", "tcc", (char *)NULL);
		_exit(9);
	}
	close(slave);
	for (ssize_t got; n + 1 < (int)sizeof shown && (got = read(master, shown + n, sizeof shown - 1 - (size_t)n)) > 0;) n += (int)got;
	shown[n] = 0;
	close(master);
	CHECK("", waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* the last line that was drawn over itself, without what ends it */
static const char *last_line(char *out)
{
	const char *from = shown, *at;
	for (const char *p = shown; (p = strstr(p, "\033[K")); p++) from = p;
	for (at = from; at > shown && at[-1] != '\r' && at[-1] != '\n'; at--) ;
	size_t n = (size_t)(from - at);
	memcpy(out, at, n);
	out[n] = 0;
	return out;
}

/* columns: ASCII and letters of two bytes take one, the Chinese ones and the bar's blocks are told apart by their first byte */
static int width(const char *s)
{
	int n = 0;
	for (; *s; s++) n += ((unsigned char)*s & 0xc0) == 0x80 ? 0 : (unsigned char)*s >= 0xe4 && (unsigned char)*s <= 0xe9 ? 2 : 1;
	return n;
}

static const char whole[] = "Loss:9.5000 Größe:18.5000 损失:19.0000 Bell?:190.0000: 100%|██████████| 10/10 [00:00<00:00, ";

static void forms(const char *path)
{
	static const struct { int columns; const char *end; int whole; } rows[] = {
		{ 200, "it/s]", 1 }, { 81, "10/10 [00:00<00:00]", 0 }, { 70, "100% 10/10", 0 },
		{ 56, "Loss:9.5000 Größe:18.5000 损失:19.0000: 100% 10/10", 0 },
		{ 50, "Loss:9.5000 Größe:18.5000: 100% 10/10", 0 }, { 30, "Loss:9.5000: 100% 10/10", 0 }, { 20, "100% 10/10", 0 }, { 8, "100% 10", 0 },
	};
	char line[4096];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		train(path, rows[i].columns, NULL);
		last_line(line);
		size_t n = strlen(line), end = strlen(rows[i].end);
		CHECK("", width(line) < rows[i].columns);
		CHECK("", n >= end && !strcmp(line + n - end, rows[i].end));
		CHECK(rows[i].whole ? "A325" : "", rows[i].whole == !strncmp(line, whole, sizeof whole - 1));
	}
}

/* without a size of its own, and then 80 columns */
static void environment(const char *path)
{
	char line[4096];
	train(path, 0, "30");
	CHECK_STR("", last_line(line), "Loss:9.5000: 100% 10/10");
	train(path, 0, NULL);
	CHECK("", width(last_line(line)) <= 79 && width(line) > 60);
	train(path, 50, "30");                               /* what the terminal says itself goes before */
	CHECK_STR("", last_line(line), "Loss:9.5000 Größe:18.5000: 100% 10/10");
}

int main(void)
{
	char path[] = "/tmp/pxl_terminal_XXXXXX";
	int fd = mkstemp(path);
	CHECK("", fd >= 0 && write(fd, model, sizeof model - 1) == (ssize_t)sizeof model - 1 && !close(fd));
	forms(path);
	environment(path);
	unlink(path);
	return check_done();
}
