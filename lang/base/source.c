/* source.c — see source.h. */
#include "lang/base/source.h"

#include <string.h>

uint32_t source_add(Sources *ss, const char *name, const char *path, const char *text, size_t len)
{
	Source *s = NEW(ss->mem, Source);
	s->name = arena_str(ss->mem, name, strlen(name));
	s->path = path ? arena_str(ss->mem, path, strlen(path)) : NULL;
	s->text = arena_str(ss->mem, text, len);
	s->len = len;
	int lines = 1;
	for (size_t i = 0; i < len; i++) lines += text[i] == '\n';
	s->line = NEWN(ss->mem, uint32_t, lines);
	s->nline = 1;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n') s->line[s->nline++] = (uint32_t)i + 1;
	vec_push(ss->mem, &ss->at, s);
	return (uint32_t)ss->at.n;
}

const Source *source_get(const Sources *ss, uint32_t src)
{
	return src && src <= (uint32_t)ss->at.n ? ss->at.at[src - 1] : NULL;
}

void source_locate(const Source *s, uint32_t off, int *line, int *col)
{
	if (off > s->len) off = (uint32_t)s->len;
	int lo = 0, hi = s->nline - 1;
	while (lo < hi) {
		int mid = (lo + hi + 1) / 2;
		if (s->line[mid] <= off) lo = mid;
		else hi = mid - 1;
	}
	*line = lo + 1;
	*col = 1;
	for (uint32_t i = s->line[lo]; i < off; i++) *col += ((unsigned char)s->text[i] & 0xc0) != 0x80;
}

const char *source_line(const Source *s, int line, int *len)
{
	const char *p = s->text + s->line[line - 1];
	size_t end = line < s->nline ? s->line[line] - 1 : s->len;
	*len = (int)(end - s->line[line - 1]);
	if (*len > 0 && p[*len - 1] == '\r') --*len;
	return p;
}

Span span_join(Span a, Span b)
{
	if (!a.src) return b;
	if (!b.src || a.src != b.src) return a;
	return (Span){ a.src, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}
