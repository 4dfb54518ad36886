/* intern.c — see intern.h. */
#include "lang/base/intern.h"
#include "lang/base/map.h"

#include <string.h>

void intern_init(Intern *t, Arena *a)
{
	memset(t, 0, sizeof *t);
	t->mem = a;
}

static int find(const Intern *t, const char *s, size_t len)
{
	unsigned i = (unsigned)hash_bytes(s, len) & (unsigned)(t->nslot - 1);
	while (t->slot[i] && (strncmp(t->slot[i], s, len) != 0 || t->slot[i][len]))
		i = (i + 1) & (unsigned)(t->nslot - 1);
	return (int)i;
}

static void grow(Intern *t)
{
	Intern big = { .mem = t->mem, .nslot = t->nslot ? t->nslot * 2 : 256, .n = t->n };
	big.slot = NEWN(t->mem, const char *, big.nslot);
	for (int i = 0; i < t->nslot; i++)
		if (t->slot[i]) big.slot[find(&big, t->slot[i], strlen(t->slot[i]))] = t->slot[i];
	*t = big;
}

const char *intern(Intern *t, const char *s, size_t len)
{
	if ((t->n + 1) * 2 > t->nslot) grow(t);
	int i = find(t, s, len);
	if (!t->slot[i]) {
		t->slot[i] = arena_str(t->mem, s, len);
		t->n++;
	}
	return t->slot[i];
}

const char *intern_str(Intern *t, const char *s) { return intern(t, s, strlen(s)); }
