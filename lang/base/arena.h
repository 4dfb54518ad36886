/* arena.h — memory for one phase: allocate freely, free all at once.
 *
 * Everything between text and machine code lives in arenas, so passes never free and never test
 * for NULL: when memory runs out, arena_alloc() jumps to `oom`, which the entry point has set.
 * All memory comes from the host's hook (`AllocFn`), so a host can count it or make it fail. */
#ifndef LANG_BASE_ARENA_H
#define LANG_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* realloc in one function: old NULL allocates, size 0 frees; NULL means there is no memory */
typedef void *(*AllocFn)(void *user, void *old, size_t size);
void *alloc_libc(void *user, void *old, size_t size);

enum { OOM_SYSTEM = 1, OOM_LIMIT = 2 };        /* what setjmp(*oom) returns */

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
	ArenaChunk *head;
	AllocFn fn;
	void *user;
	size_t used;           /* bytes handed out */
	size_t limit;          /* 0: none; beyond it alloc jumps with OOM_LIMIT */
	jmp_buf *oom;          /* must be set before the first allocation */
} Arena;

void  arena_init(Arena *a, AllocFn fn, void *user);
void  arena_free(Arena *a);                      /* leaves it empty and usable again */
void *arena_alloc(Arena *a, size_t size);        /* zeroed, aligned to 16; never NULL */
void *arena_grow(Arena *a, void *old, size_t old_size, size_t size);
void *arena_dup(Arena *a, const void *p, size_t size);
char *arena_str(Arena *a, const char *s, size_t len);       /* copy, with a NUL */
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap);

#define NEW(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define NEWN(a, T, n)  ((T *)arena_allocn((a), (size_t)(n), sizeof(T)))
void *arena_allocn(Arena *a, size_t n, size_t size);        /* checks the product */

/* growing array: `VEC(Op *) ops; vec_push(mem, &ops, op); for (int i = 0; i < ops.n; i++) ops.at[i]` */
#define VEC(T) struct { T *at; int n, cap; }
#define vec_push(a, v, x) \
	(vec_reserve((a), (void **)&(v)->at, &(v)->cap, (v)->n + 1, sizeof *(v)->at), (v)->at[(v)->n++] = (x))
#define vec_last(v) ((v)->at[(v)->n - 1])
void vec_reserve(Arena *a, void **at, int *cap, int need, size_t size);

#endif
