/* log.c — what the library has to say while it works: a level, a pattern, and the host's hook.
 *
 * The library itself writes nowhere.  The environment chooses how much of each module reaches the hook and in which form;
 * PopART's names of these variables are understood where ours are not set (semantics.md R318–R320). */
#include "compiler/api/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = { "TRACE", "DEBUG", "INFO", "WARN", "ERR", "CRITICAL", "OFF" };

static const char *const module_names[] = {
#define X(id, name) name,
	LOG_MODULES(X)
#undef X
};

const char *env_text(const char *ours, const char *theirs)
{
	const char *v = getenv(ours);
	return v || !theirs ? v : getenv(theirs);
}

/* %v the message, %l its level, %m its module, %n the library's name, %% itself; anything else stands for itself */
static size_t lay_out(char *out, size_t size, const char *pattern, LogModule module, LogLevel level, const char *text)
{
	size_t n = 0;
	for (const char *p = pattern; *p && n < size; p++) {
		const char *part = *p != '%' ? NULL : p[1] == 'v' ? text : p[1] == 'l' ? level_names[level] : p[1] == 'm' ? module_names[module]
			: p[1] == 'n' ? "pxl" : p[1] == '%' ? "%" : NULL;
		if (part) p++;
		n += (size_t)snprintf(out + n, size - n, "%.*s", part ? (int)strlen(part) : 1, part ? part : p);
	}
	return n < size ? n : size - 1;
}

void cx_log(pxl_ctx *cx, LogModule module, LogLevel level, const char *fmt, ...)
{
	char text[1200], line[1600];
	va_list ap;
	if (!cx->opt.log || level < cx->log_level[module]) return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	const char *pattern = env_text("PXL_LOG_FORMAT", "POPART_LOG_FORMAT");
	size_t n = lay_out(line, sizeof line - 1, pattern ? pattern : "%n: %v", module, level, text);
	line[n++] = '\n';
	cx->opt.log(cx->opt.log_user, line, n);
}

const char *bytes_text(char out[32], size_t n)
{
	static const char *const units[] = { "bytes", "KB", "MB", "GB", "TB" };
	double x = (double)n;
	int u = 0;
	while (x >= 999.5 && u < 4) x /= 1000, u++;
	snprintf(out, 32, u && x < 9.95 ? "%.1f %s" : "%.0f %s", x, units[u]);
	return out;
}

/* LOG_OFF + 1: there is none of this name */
static LogLevel find_level(const char *name, size_t n)
{
	int i = 0;
	while (i <= LOG_OFF && (strlen(level_names[i]) != n || memcmp(level_names[i], name, n))) i++;
	return (LogLevel)i;
}

/* --- levels of modules: a file that holds {"cache": "DEBUG", "session": "OFF"} ------------------------------ */
static void blanks(const char **s) { *s += strspn(*s, " \t\r\n"); }

/* a string without escapes, which no name here has */
static int word(const char **s, const char **out, size_t *n)
{
	blanks(s);
	if (**s != '"') return 0;
	*out = ++*s;
	*n = strcspn(*s, "\"\\\n");
	*s += *n;
	return *(*s)++ == '"';
}

static int mark(const char **s, char c)
{
	blanks(s);
	if (**s != c) return 0;
	++*s;
	return 1;
}

static void set_level(pxl_ctx *cx, const char *path, const char *name, size_t n, const char *level, size_t nlevel)
{
	int m = 0;
	LogLevel l = find_level(level, nlevel);
	while (m < IN_COUNT && (strlen(module_names[m]) != n || memcmp(module_names[m], name, n))) m++;
	if (m == IN_COUNT) cx_log(cx, IN_COMPILE, LOG_WARN, "`%s` sets the log level of `%.*s`; modules are compile, cache, native, session and data", path, (int)n, name);
	else if (l > LOG_OFF) cx_log(cx, IN_COMPILE, LOG_WARN, "`%s` sets the log level `%.*s`, which is none", path, (int)nlevel, level);
	else cx->log_level[m] = l;
}

/* 0: it is not of that form; what stood before is set */
static int read_levels(pxl_ctx *cx, const char *path, const char *s)
{
	const char *name, *level;
	size_t n, nlevel;
	if (!mark(&s, '{')) return 0;
	if (!mark(&s, '}')) {
		do {
			if (!word(&s, &name, &n) || !mark(&s, ':') || !word(&s, &level, &nlevel)) return 0;
			set_level(cx, path, name, n, level, nlevel);
		} while (mark(&s, ','));
		if (!mark(&s, '}')) return 0;
	}
	blanks(&s);
	return !*s;
}

static void read_config(pxl_ctx *cx, const char *path)
{
	char *text;
	size_t len;
	if (read_file(cx, BY_USER(path), 1 << 20, &text, &len) != PXL_OK) {
		cx_log(cx, IN_COMPILE, LOG_WARN, "levels of the log: %s", cx->errmsg);
		cx->errmsg[0] = 0;
		return;
	}
	if (!read_levels(cx, path, text)) cx_log(cx, IN_COMPILE, LOG_WARN, "`%s` does not hold modules and their log levels, {\"cache\": \"DEBUG\"}", path);
	cx_free(cx, text);
}

void log_begin(pxl_ctx *cx)
{
	const char *want = env_text("PXL_LOG_LEVEL", "POPART_LOG_LEVEL"), *config = env_text("PXL_LOG_CONFIG", "POPART_LOG_CONFIG");
	LogLevel l = want ? find_level(want, strlen(want)) : LOG_WARN;
	LogLevel least = l > LOG_OFF ? LOG_WARN : l;
	if (cx->opt.verbose && least > LOG_INFO) least = LOG_INFO;
	for (int m = 0; m < IN_COUNT; m++) cx->log_level[m] = least;
	if (want && *want && l > LOG_OFF)
		cx_log(cx, IN_COMPILE, LOG_WARN, "there is no log level `%s`; TRACE, DEBUG, INFO, WARN, ERR, CRITICAL and OFF are: WARN it is", want);
	if (config && *config) read_config(cx, config);
}
