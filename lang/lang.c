/* lang.c — the entry points of lang/: a source in, its tree out; and the embedded standard library. */
#include "lang/parse.h"
#include "lang/grammar.h"
#include "lang/embed.h"

#include <string.h>

enum { LONGEST_SOURCE = 64 * 1024 * 1024 };

/* offset of the first byte that is not well-formed UTF-8, or -1 */
static long bad_utf8(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	for (size_t i = 0; i < len;) {
		unsigned c = s[i];
		size_t k = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
		if (k == 0 || k > len - i) return (long)i;
		for (size_t j = 1; j < k; j++)
			if ((s[i + j] & 0xc0) != 0x80) return (long)i;
		unsigned next = k > 2 ? s[i + 1] : 0;      /* overlong forms, surrogates, beyond U+10FFFF */
		if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) || (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f))
			return (long)i;
		i += k;
	}
	return -1;
}

/* Bytes that are no text at all get one message, not one each. */
static int readable(Parse *p)
{
	const Source *s = p->text;
	if (s->len > LONGEST_SOURCE) {
		diag(p->ds, E0008, (Span){ p->src, 0, 0 }, "the file is too long: %zu bytes, at most %d are read", s->len, LONGEST_SOURCE);
		return 0;
	}
	const char *nul = memchr(s->text, 0, s->len);
	long bad = bad_utf8(s->text, s->len);
	if (nul && (bad < 0 || nul - s->text < bad)) {
		uint32_t at = (uint32_t)(nul - s->text);
		Diag *d = diag(p->ds, E0002, (Span){ p->src, at, at + 1 }, "the file contains a zero byte");
		diag_note(p->ds, d, (Span){0}, "a model is a text file; this looks like something else");
		return 0;
	}
	if (bad >= 0) {
		Diag *d = diag(p->ds, E0002, (Span){ p->src, (uint32_t)bad, (uint32_t)bad + 1 }, "the file is not UTF-8 text");
		diag_label(p->ds, d, "byte 0x%02x does not belong here", (unsigned char)s->text[bad]);
		return 0;
	}
	return 1;
}

static int run(Parse *p, int start)
{
	if (!readable(p)) return 0;
	p->held.kind = start;
	p->held.at = (Span){ p->src, 0, 0 };
	p->has_held = 1;
	if (setjmp(p->fatal)) {
		diag(p->ds, E0001, (Span){ p->src, p->pos, p->pos }, "the scanner cannot go on here");
		return 0;
	}
	lex_open(p);
	return tree_parse(p) == 0;
}

static Parse *new_parse(Arena *mem, Intern *names, Diags *ds, uint32_t src)
{
	Parse *p = NEW(mem, Parse);
	p->mem = mem;
	p->names = names;
	p->ds = ds;
	p->src = src;
	p->text = source_get(ds->srcs, src);
	return p;
}

/* The scanner, the grammar and tree.c each report when they know, which is not always in the order of the
 * text.  Few diagnostics are kept, so inserting each in its place is quick. */
static void sort_by_place(Diags *ds, int from)
{
	for (int i = from + 1; i < ds->at.n; i++) {
		Diag *d = ds->at.at[i];
		int j = i;
		for (; j > from && ds->at.at[j - 1]->at.lo > d->at.lo; j--) ds->at.at[j] = ds->at.at[j - 1];
		ds->at.at[j] = d;
	}
}

Ast *lang_parse(Arena *mem, Intern *names, Diags *ds, uint32_t src)
{
	Parse *p = new_parse(mem, names, ds, src);
	int before = ds->at.n;
	run(p, T_START_FILE);
	sort_by_place(ds, before);
	return tree_list(p, A_FILE, (Span){ src, 0, (uint32_t)p->text->len }, p->decls);
}

Ast *lang_parse_expr(Arena *mem, Intern *names, Diags *ds, uint32_t src)
{
	Parse *p = new_parse(mem, names, ds, src);
	int before = ds->errors;
	return run(p, T_START_EXPR) && ds->errors == before ? p->expr : NULL;
}

const EmbeddedFile *embedded_file(const char *path)
{
	for (const EmbeddedFile *f = embedded_files; f->path; f++)
		if (!strcmp(f->path, path)) return f;
	return NULL;
}

static int is_std(const EmbeddedFile *f) { return !strncmp(f->path, "lang/std/", 9); }

const char *lang_std(const char *name, size_t *len)
{
	for (const EmbeddedFile *f = embedded_files; f->path; f++) {
		if (!is_std(f) || strcmp(f->name, name) != 0) continue;
		*len = f->len;
		return f->text;
	}
	return NULL;
}

/* embedded_files is sorted by path */
const char *lang_std_name(int i)
{
	for (const EmbeddedFile *f = embedded_files; f->path; f++)
		if (is_std(f) && i-- == 0) return f->name;
	return NULL;
}
