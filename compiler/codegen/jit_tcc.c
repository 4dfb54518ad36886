/* jit_tcc.c — machine code at once, through libtcc.  The only file that includes libtcc.h.
 *
 * libtcc keeps its state in static variables, calls exit() when memory runs out and leaks after errors.
 * None of that may reach a host, so the build links a copy of it (tcc.o in the Makefile) in which
 *   - malloc, calloc, realloc, free, exit and abort are the functions below: memory comes in chunks from the host's
 *     allocator and is dropped as a whole, and any attempt to give up jumps back to jit_tcc();
 *   - its writable data is a section of its own (tcc_bss), cleared before every use, so what an
 *     abandoned compile left behind is never seen;
 *   - stdout, stderr and environ are our variables, so that the copy can be part of a shared library;
 *   - its semaphore does nothing: we hold one lock for the process while it runs.
 * Code is relocated into pages of our own: nothing of libtcc stays alive while the code does. */
#define _DEFAULT_SOURCE                              /* MAP_ANONYMOUS */
#include "compiler/codegen/jit.h"

#include <libtcc.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wpedantic"          /* function pointers to void * for tcc_add_symbol */

/* --- the world as the copy of libtcc sees it; all of it used under `lock` alone ---------------------- */
typedef struct Chunk { struct Chunk *next; size_t used, size; } Chunk;
enum { HEAD = 16, CHUNK = 192 * 1024, LARGEST = 8 * 1024 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct World {
	const RtAlloc *alloc;
	Chunk *chunks;
	jmp_buf out;
	char text[384];              /* messages, joined */
} world;

enum { GAVE_UP = 1, NO_MEMORY = 2 };

extern char __start_tcc_bss[] __attribute__((visibility("hidden"))), __stop_tcc_bss[] __attribute__((visibility("hidden")));
FILE *jit_tcc_stdout, *jit_tcc_stderr;               /* libtcc's stdout and stderr */
char **jit_tcc_environ;

void *jit_tcc_malloc(size_t n);
void *jit_tcc_calloc(size_t n, size_t size);
void *jit_tcc_realloc(void *p, size_t n);
void  jit_tcc_release(void *p);
_Noreturn void jit_tcc_exit(int code);
_Noreturn void jit_tcc_abort(void);
int   jit_tcc_mprotect(void *p, size_t n, int prot);
int   jit_tcc_sem_init(void *s, int shared, unsigned n);
int   jit_tcc_sem_wait(void *s);
int   jit_tcc_sem_post(void *s);

static void *chunk_take(Chunk *c, size_t n)
{
	char *p = (char *)c + HEAD * 2 + c->used;
	c->used += n + HEAD;
	memcpy(p, &n, sizeof n);                     /* realloc must know how much to copy */
	return p + HEAD;
}

void *jit_tcc_malloc(size_t n)
{
	n = (n + 15) & ~(size_t)15;
	Chunk *c = world.chunks;
	if (!c || c->size - c->used < n + HEAD) {
		size_t size = c ? c->size * 2 : CHUNK;
		if (size > LARGEST) size = LARGEST;
		if (size < n + HEAD) size = n + HEAD;
		Chunk *fresh = n > (size_t)-1 / 2 ? NULL : rt_alloc(world.alloc, size + HEAD * 2);
		if (!fresh) longjmp(world.out, NO_MEMORY);
		*fresh = (Chunk){ c, 0, size };
		world.chunks = c = fresh;
	}
	return chunk_take(c, n);
}

void *jit_tcc_calloc(size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes)) longjmp(world.out, NO_MEMORY);
	return memset(jit_tcc_malloc(bytes), 0, bytes);
}

static int is_last(const Chunk *c, const char *p, size_t n)
{
	return p + n == (const char *)c + HEAD * 2 + c->used;
}

/* Blocks at a chunk's end grow and shrink in place: most of libtcc's do. */
void *jit_tcc_realloc(void *p, size_t n)
{
	if (!p) return jit_tcc_malloc(n);
	size_t old;
	memcpy(&old, (char *)p - HEAD, sizeof old);
	if (n <= old) return p;
	n = (n + 15) & ~(size_t)15;
	Chunk *c = world.chunks;
	if (is_last(c, p, old) && c->size - c->used >= n - old) {
		c->used += n - old;
		memcpy((char *)p - HEAD, &n, sizeof n);
		return p;
	}
	void *q = jit_tcc_malloc(n);
	memcpy(q, p, old);
	return q;
}

void jit_tcc_release(void *p)
{
	if (!p) return;
	size_t n;
	memcpy(&n, (char *)p - HEAD, sizeof n);
	if (is_last(world.chunks, p, n)) world.chunks->used -= n + HEAD;
}

void jit_tcc_exit(int code) { (void)code; longjmp(world.out, GAVE_UP); }
void jit_tcc_abort(void) { longjmp(world.out, GAVE_UP); }
int  jit_tcc_mprotect(void *p, size_t n, int prot) { (void)p; (void)n; (void)prot; return 0; }   /* we do, once */
int  jit_tcc_sem_init(void *s, int shared, unsigned n) { (void)s; (void)shared; (void)n; return 0; }
int  jit_tcc_sem_wait(void *s) { (void)s; return 0; }
int  jit_tcc_sem_post(void *s) { (void)s; return 0; }

static void on_message(void *user, const char *msg)
{
	(void)user;
	size_t n = strlen(world.text);
	snprintf(world.text + n, sizeof world.text - n, "%s%s", n ? "; " : "", msg);
}

/* --- what emitted code may link against ------------------------------------------------------------------
 * libtcc turns copies of structures and conversions of unsigned 64-bit integers into calls. */
static float u64_to_f32(unsigned long long x) { return (float)x; }
static double u64_to_f64(unsigned long long x) { return (double)x; }
static unsigned long long f32_to_u64(float x) { return (unsigned long long)x; }
static unsigned long long f64_to_u64(double x) { return (unsigned long long)x; }

static void add_symbols(TCCState *s)
{
	const struct { const char *name; const void *at; } sym[] = {
		{ "memcpy", (void *)memcpy }, { "memset", (void *)memset }, { "memmove", (void *)memmove },
		{ "__floatundisf", (void *)u64_to_f32 }, { "__floatundidf", (void *)u64_to_f64 },
		{ "__fixunssfdi", (void *)f32_to_u64 }, { "__fixunsdfdi", (void *)f64_to_u64 },
	};
	for (size_t i = 0; i < sizeof sym / sizeof *sym; i++) tcc_add_symbol(s, sym[i].name, sym[i].at);
}

/* --- compiling ----------------------------------------------------------------------------------------------- */
static size_t page_round(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (n + page - 1) / page * page;
}

static int refused(RtErr *e)
{
	return rt_fail(e, RT_EINTERNAL, "libtcc refused the emitted C: %s", world.text[0] ? world.text : "it gave no reason");
}

static int place_code(TCCState *s, Jit *j, RtErr *e)
{
	int need = tcc_relocate(s, NULL);
	if (need < 0) return refused(e);
	j->size = page_round((size_t)need + 64);
	void *p = mmap(NULL, j->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) return rt_fail(e, RT_ENOMEM, "no memory for %zu bytes of machine code", j->size);
	j->code = p;
	if (tcc_relocate(s, p) < 0) return refused(e);
	void *entry = tcc_get_symbol(s, "pxl_main");
	if (!entry) return rt_fail(e, RT_EINTERNAL, "the emitted C has no pxl_main");
	memcpy(&j->entry, &entry, sizeof entry);
	if (mprotect(p, j->size, PROT_READ | PROT_EXEC))
		return rt_fail(e, RT_EIO, "the system does not allow memory to be made executable; try --jit cc");
	return RT_OK;
}

static int compile(const char *text, Jit *j, RtErr *e)
{
	TCCState *s = tcc_new();
	tcc_set_error_func(s, NULL, on_message);
	tcc_set_options(s, "-Werror -nostdlib -nostdinc");
	tcc_set_output_type(s, TCC_OUTPUT_MEMORY);
	add_symbols(s);
	if (tcc_compile_string(s, text) < 0) return refused(e);
	return place_code(s, j, e);
}

/* Numbers in C have a point whatever the host's locale says. */
static int compile_in_c_locale(const char *text, Jit *j, RtErr *e)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c) return rt_fail(e, RT_ENOMEM, "no memory for the C locale");
	locale_t before = uselocale(c);
	volatile int st;
	switch (setjmp(world.out)) {
	case 0: st = compile(text, j, e); break;
	case NO_MEMORY: st = rt_fail(e, RT_ENOMEM, "no memory while compiling the emitted C"); break;
	default: st = refused(e);
	}
	uselocale(before);
	freelocale(c);
	return st;
}

static void world_begin(const RtAlloc *alloc)
{
	memset(__start_tcc_bss, 0, (size_t)(__stop_tcc_bss - __start_tcc_bss));
	jit_tcc_stdout = stdout;
	jit_tcc_stderr = stderr;
	static char *nothing[] = { NULL };
	jit_tcc_environ = nothing;
	world.alloc = alloc;
	world.chunks = NULL;
	world.text[0] = 0;
}

static void world_end(void)
{
	for (Chunk *c = world.chunks; c;) {
		Chunk *next = c->next;
		rt_free(world.alloc, c);
		c = next;
	}
	world.chunks = NULL;
}

int jit_tcc(const Module *m, const RtAlloc *alloc, Jit *j, RtErr *e)
{
	size_t len;
	char *text = jit_source(m, alloc, &len);
	if (!text) return rt_fail(e, RT_ENOMEM, "no memory for the emitted C");
	j->kind = "tcc";
	pthread_mutex_lock(&lock);
	world_begin(alloc);
	int st = compile_in_c_locale(text, j, e);
	world_end();
	pthread_mutex_unlock(&lock);
	rt_free(alloc, text);
	if (st) jit_tcc_free(j);
	return st;
}

void jit_tcc_free(Jit *j)
{
	if (j->code) munmap(j->code, j->size);
	j->code = NULL;
}
