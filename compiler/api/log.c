/* log.c — what the library has to say while it works: a level, a pattern, and the host's hook.
 *
 * The library itself writes nowhere.  The environment chooses how much reaches the hook and in which form;
 * PopART's names of these variables are understood where ours are not set (semantics.md R318–R320). */
#include "compiler/api/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = { "TRACE", "DEBUG", "INFO", "WARN", "ERR", "CRITICAL", "OFF" };

const char *env_text(const char *ours, const char *theirs)
{
	const char *v = getenv(ours);
	return v || !theirs ? v : getenv(theirs);
}

/* %v the message, %l its level, %n the library's name, %% itself; anything else stands for itself */
static size_t lay_out(char *out, size_t size, const char *pattern, LogLevel level, const char *text)
{
	size_t n = 0;
	for (const char *p = pattern; *p && n < size; p++) {
		const char *part = *p != '%' ? NULL : p[1] == 'v' ? text : p[1] == 'l' ? level_names[level] : p[1] == 'n' ? "pxl" : p[1] == '%' ? "%" : NULL;
		if (part) p++;
		n += (size_t)snprintf(out + n, size - n, "%.*s", part ? (int)strlen(part) : 1, part ? part : p);
	}
	return n < size ? n : size - 1;
}

void cx_log(pxl_ctx *cx, LogLevel level, const char *fmt, ...)
{
	char text[1200], line[1600];
	va_list ap;
	if (!cx->opt.log || level < cx->log_level) return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	const char *pattern = env_text("PXL_LOG_FORMAT", "POPART_LOG_FORMAT");
	size_t n = lay_out(line, sizeof line - 1, pattern ? pattern : "%n: %v", level, text);
	line[n++] = '\n';
	cx->opt.log(cx->opt.log_user, line, n);
}

void log_begin(pxl_ctx *cx)
{
	const char *want = env_text("PXL_LOG_LEVEL", "POPART_LOG_LEVEL");
	cx->log_level = LOG_WARN;
	for (int i = 0; want && i <= LOG_OFF; i++) {
		if (strcmp(want, level_names[i])) continue;
		cx->log_level = (LogLevel)i;
		return;
	}
	if (want && *want) cx_log(cx, LOG_WARN, "there is no log level `%s`; TRACE, DEBUG, INFO, WARN, ERR, CRITICAL and OFF are: WARN it is", want);
}
