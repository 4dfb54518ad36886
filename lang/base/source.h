/* source.h — the texts being compiled, and places in them.
 *
 * A span is a run of bytes in one source; every token, tree node and IR node carries one.  Lines and
 * columns are computed only when something is printed. */
#ifndef LANG_BASE_SOURCE_H
#define LANG_BASE_SOURCE_H

#include "lang/base/arena.h"

typedef struct Span { uint32_t src, lo, hi; } Span;     /* src 0: nowhere */

typedef struct Source {
	const char *name;      /* as the user wrote it: shown in messages */
	const char *path;      /* where `use` looks for neighbours; NULL for text from memory */
	const char *text;      /* NUL-terminated copy */
	size_t len;
	int embedded;          /* part of the standard library */
	uint32_t *line;        /* offset of each line's first byte */
	int nline;
} Source;

typedef struct Sources { Arena *mem; VEC(Source *) at; } Sources;

uint32_t source_add(Sources *ss, const char *name, const char *path, const char *text, size_t len);
const Source *source_get(const Sources *ss, uint32_t src);            /* NULL for 0 */
void source_locate(const Source *s, uint32_t off, int *line, int *col);   /* from 1; col in code points */
const char *source_line(const Source *s, int line, int *len);
Span span_join(Span a, Span b);

#endif
