/* safetensors.c — any bytes as a safetensors file: every tensor it lists can be found, read, and shares nothing. */
#include "tests/fuzz/fuzz.h"

static void read_all(const StFile *f, size_t size)
{
	RtErr e;
	size_t sum = 0;
	for (int i = 0; i < st_count(f); i++) {
		const StEntry *t = st_entry(f, i);
		char *out = malloc(t->bytes + 1);
		MUST(st_find(f, t->name) == t && t->offset + t->bytes <= size && (sum += t->bytes) <= size);
		MUST(!i || strcmp(st_entry(f, i - 1)->name, t->name) < 0);
		MUST(out && !st_read(f, t, out, &e));
		MUST(touch(out, t->bytes) + 1 > 0 || t->bytes);
		free(out);
	}
	const char *step = st_meta(f, "step");
	MUST(!step || strlen(step) < size);
}

static void one(const uint8_t *data, size_t size, const RtAlloc *al)
{
	StFile *f = NULL;
	RtErr e = { 0 };
	int st = st_memory(data, size, "input.safetensors", al, &f, &e);
	if (st) check_error(st, &e);
	else read_all(f, size);
	MUST(!st == !!f);
	st_close(f);
}

FUZZ_READER(one)
