/* base.c — element types, errors and memory of the runtime. */
#define _DEFAULT_SOURCE                      /* madvise */
#include "runtime/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const DTypeInfo dtype_info[DT_COUNT] = {
#define DTYPE(id, name, popxl, size, ctype, cls) [DT_##id] = { name, popxl, #ctype, size, cls },
#include "runtime/dtype.def"
#undef DTYPE
};

int dtype_find(const char *name)
{
	static const struct { const char *alias; DType t; } aliases[] = {
		{ "half", DT_F16 }, { "float", DT_F32 }, { "double", DT_F64 },
	};
	for (int t = 0; t < DT_COUNT; t++)
		if (!strcmp(name, dtype_info[t].name) || !strcmp(name, dtype_info[t].popxl)) return t;
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcmp(name, aliases[i].alias)) return (int)aliases[i].t;
	return -1;
}

int rt_fail(RtErr *e, int status, const char *fmt, ...)
{
	if (e) {
		va_list ap;
		va_start(ap, fmt);
		e->status = status;
		vsnprintf(e->text, sizeof e->text, fmt, ap);
		va_end(ap);
	}
	return status;
}

enum { HUGE_PAGE = 2 << 20 };

/* Large blocks ask for large pages, where the system has them to give: touched for the first time, and looked up ever
 * after, they cost a fraction of the small ones. */
static void *take(size_t want)
{
	void *p;
	if (want < 2 * HUGE_PAGE) return malloc(want);
	if (posix_memalign(&p, HUGE_PAGE, want)) return NULL;
#if defined MADV_HUGEPAGE
	madvise(p, want / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
	return p;
}

/* The block's own start is kept in the word before the aligned address. */
void *rt_alloc(const RtAlloc *a, size_t size)
{
	size_t want;
	if (__builtin_add_overflow(size, 64 + sizeof(void *), &want)) return NULL;
	char *raw = a && a->fn ? a->fn(a->user, NULL, want) : take(want);
	if (!raw) return NULL;
	char *p = (char *)(((uintptr_t)raw + sizeof(void *) + 63) & ~(uintptr_t)63);
	memcpy(p - sizeof(void *), &raw, sizeof raw);
	return memset(p, 0, size);
}

void rt_free(const RtAlloc *a, void *p)
{
	if (!p) return;
	char *raw;
	memcpy(&raw, (char *)p - sizeof(void *), sizeof raw);
	if (a && a->fn) a->fn(a->user, raw, 0);
	else free(raw);
}

/* Asked before large blocks only: an over-committing kernel hands out more than there is, and kills who touches it. */
size_t rt_memory_free(void)
{
	char line[128];
	unsigned long long kb, avail = 0, limit = 0, used = 0;
	FILE *f = fopen("/proc/meminfo", "r");
	if (!f) return SIZE_MAX;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1) avail = kb * 1024;
	fclose(f);
	if ((f = fopen("/sys/fs/cgroup/memory.max", "r"))) {          /* "max" does not scan as a number */
		if (fscanf(f, "%llu", &limit) != 1) limit = 0;
		fclose(f);
	}
	if (limit && (f = fopen("/sys/fs/cgroup/memory.current", "r"))) {
		if (fscanf(f, "%llu", &used) == 1 && used < limit && limit - used < avail) avail = limit - used;
		fclose(f);
	}
	return avail ? (size_t)avail : SIZE_MAX;
}
