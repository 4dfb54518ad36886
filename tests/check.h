/* check.h — the few lines every C test shares.
 *
 *   CHECK("R48", got == want);          counts an assertion that shows rule R48
 *   CHECK("", x > 0);                   an assertion that names no rule
 *   int main(void) { …; return check_done(); }
 *
 * Each passed assertion that names rules is printed as `shown R48` for docs/coverage.md; a failed one
 * prints its place and text, and the program goes on.  One whose condition crashes prints its rules too.
 * A program in which nothing was checked fails.  One that cannot run here ends with check_skip("why"). */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int check_passed, check_failed;
static const char *check_where;          /* the file under test, when one program goes through many */

static struct { const char *ids, *file; int line; } check_now;      /* what is being asked, for the case that it crashes */

#define CHECK(ids, cond) (check_begin((ids), __FILE__, __LINE__), check_one((ids), !!(cond), #cond, __FILE__, __LINE__))
#define CHECK_STR(ids, got, want) (check_begin((ids), __FILE__, __LINE__), check_str((ids), (got), (want), __FILE__, __LINE__))

static inline void check_crashed(int sig)
{
	signal(sig, SIG_DFL);
	printf("%s:%d: failed%s%s: it crashed here, or behind it\n", check_now.file, check_now.line, check_now.ids[0] ? " " : "", check_now.ids);
	fflush(stdout);
	raise(sig);
}

static inline void check_begin(const char *ids, const char *file, int line)
{
#ifndef __SANITIZE_ADDRESS__                             /* which says more */
	if (!check_now.file) signal(SIGSEGV, check_crashed), signal(SIGBUS, check_crashed), signal(SIGFPE, check_crashed), signal(SIGABRT, check_crashed);
#endif
	check_now.ids = ids;
	check_now.file = file;
	check_now.line = line;
}

static inline void check_one(const char *ids, int ok, const char *text, const char *file, int line)
{
	if (ok) {
		check_passed++;
		if (ids[0]) printf("shown %s @%s\n", ids, check_where ? check_where : file);
		return;
	}
	check_failed++;
	printf("%s:%d: failed%s%s: %s\n", file, line, ids[0] ? " " : "", ids, text);
	fflush(stdout);
}

static inline void check_str(const char *ids, const char *got, const char *want, const char *file, int line)
{
	int ok = !strcmp(got, want);
	check_one(ids, ok, "texts are equal", file, line);
	if (!ok) printf("--- got\n%s\n--- want\n%s\n", got, want);
}

static inline int check_done(void)
{
	printf("checks %d passed, %d failed\n", check_passed, check_failed);
	return check_failed != 0 || check_passed == 0;
}

/* ends a program whose checks this machine cannot run */
static inline int check_skip(const char *why)
{
	printf("%s\n", why);
	return 77;
}

#endif
