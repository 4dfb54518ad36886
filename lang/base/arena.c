/* arena.c — chunks of doubling size in a list; a large request gets a chunk of its own. */
#include "lang/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ArenaChunk {
	ArenaChunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

enum { FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = 1024 * 1024 };

void *alloc_libc(void *user, void *old, size_t size)
{
	(void)user;
	if (size == 0) {
		free(old);
		return NULL;
	}
	return realloc(old, size);
}

void arena_init(Arena *a, AllocFn fn, void *user)
{
	memset(a, 0, sizeof *a);
	a->fn = fn ? fn : alloc_libc;
	a->user = user;
}

void arena_free(Arena *a)
{
	for (ArenaChunk *c = a->head; c;) {
		ArenaChunk *next = c->next;
		a->fn(a->user, c, 0);
		c = next;
	}
	a->head = NULL;
	a->used = 0;
}

static ArenaChunk *add_chunk(Arena *a, size_t need)
{
	size_t size = a->head ? a->head->size * 2 : FIRST_CHUNK;
	if (size > LARGEST_CHUNK) size = LARGEST_CHUNK;
	if (size < need) size = need;
	ArenaChunk *c = a->fn(a->user, NULL, sizeof *c + size);
	if (!c) longjmp(*a->oom, OOM_SYSTEM);
	c->used = 0;
	c->size = size;
	c->next = a->head;
	a->head = c;
	return c;
}

void *arena_alloc(Arena *a, size_t size)
{
	if (size > SIZE_MAX / 2) longjmp(*a->oom, OOM_SYSTEM);
	size = (size + 15) & ~(size_t)15;
	if (a->limit && (size > a->limit || a->used > a->limit - size)) longjmp(*a->oom, OOM_LIMIT);
	ArenaChunk *c = a->head;
	if (!c || c->size - c->used < size) c = add_chunk(a, size);
	void *p = c->data + c->used;
	c->used += size;
	a->used += size;
	return memset(p, 0, size);
}

void *arena_allocn(Arena *a, size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes)) longjmp(*a->oom, OOM_SYSTEM);
	return arena_alloc(a, bytes);
}

void *arena_grow(Arena *a, void *old, size_t old_size, size_t size)
{
	void *p = arena_alloc(a, size);
	if (old_size) memcpy(p, old, old_size);
	return p;
}

void *arena_dup(Arena *a, const void *p, size_t size)
{
	void *q = arena_alloc(a, size ? size : 1);
	if (size) memcpy(q, p, size);
	return q;
}

char *arena_str(Arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);
	if (len) memcpy(p, s, len);
	return p;
}

char *arena_vprintf(Arena *a, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0) n = 0;
	char *p = arena_alloc(a, (size_t)n + 1);
	vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

char *arena_printf(Arena *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}

void vec_reserve(Arena *a, void **at, int *cap, int need, size_t size)
{
	if (need <= *cap) return;
	int next = *cap ? *cap * 2 : 4;
	if (next < need) next = need;
	*at = arena_grow(a, *at, (size_t)*cap * size, (size_t)next * size);
	*cap = next;
}
