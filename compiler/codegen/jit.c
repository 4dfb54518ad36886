/* jit.c — from a module's text to a function: picks the compiler, owns the result.
 *
 * Emitted text includes pxlrt.h by name so that it reads well and can be shipped; here the header's own
 * text, which travels in the library, is pasted in its place, so nothing is looked up on disk. */
#include "compiler/codegen/jit.h"

#include <string.h>

#include "lang/embed.h"

static const EmbeddedFile *header(void)
{
	const EmbeddedFile *f = embedded_files;
	while (f->path && strcmp(f->path, "runtime/pxlrt.h")) f++;
	return f;
}

/* After the first line of the pasted header, messages about emitted code should still name emitted lines. */
static const char resume[] = "\n#line 2 \"model.c\"\n";
static const char include[] = "#include \"runtime/pxlrt.h\"\n";

char *jit_source(const Module *m, const RtAlloc *alloc, size_t *len)
{
	const EmbeddedFile *h = header();
	size_t skip = !strncmp(m->text, include, sizeof include - 1) ? sizeof include - 1 : 0;
	size_t nresume = sizeof resume - 1, nbody = m->len - skip;
	char *s = rt_alloc(alloc, h->len + nresume + nbody + 1);
	if (!s) return NULL;
	memcpy(s, h->text, h->len);
	memcpy(s + h->len, resume, nresume);
	memcpy(s + h->len + nresume, m->text + skip, nbody);
	*len = h->len + nresume + nbody;
	return s;
}

int jit_compile(const Module *m, const JitOptions *o, Jit **out, RtErr *e)
{
	Jit *j = rt_alloc(&o->alloc, sizeof *j);
	if (!j) return rt_fail(e, RT_ENOMEM, "no memory for compiled code");
	j->alloc = o->alloc;
	int st = RT_EIO;
	if (o->kind == JIT_CC) st = jit_cc(m, o, j, 0, e);
	else if (o->kind == JIT_AUTO && o->cache_dir) st = jit_cc(m, o, j, 1, NULL);     /* made by an earlier process */
	if (st && o->kind != JIT_CC) st = jit_tcc(m, &o->alloc, j, e);
	if (st) {
		rt_free(&o->alloc, j);
		return st;
	}
	*out = j;
	return RT_OK;
}

RtEntry jit_entry(const Jit *j) { return j->entry; }
int jit_is_cc(const Jit *j) { return j->dl != NULL; }
const char *jit_kind(const Jit *j) { return j->kind; }
const char *jit_warning(const Jit *j) { return j->warning; }

void jit_free(Jit *j)
{
	if (!j) return;
	RtAlloc alloc = j->alloc;
	if (j->dl) jit_cc_free(j);
	else jit_tcc_free(j);
	rt_free(&alloc, j);
}
