/* map.c — see map.h.  Slots hold positions, so growing rehashes and squeezes the holes out. */
#include "lang/base/map.h"

#include <string.h>

uint64_t hash_bytes(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = 0xcbf29ce484222325u;      /* FNV-1a */
	for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 0x100000001b3u;
	return h;
}

static unsigned hash_ptr(const void *p)
{
	uint64_t x = (uint64_t)(uintptr_t)p;
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	return (unsigned)x;
}

/* the slot that holds key, or the empty one where it would go */
static int find_slot(const Map *m, const void *key)
{
	unsigned i = hash_ptr(key) & (unsigned)(m->nslot - 1);
	while (m->slot[i] && m->at[m->slot[i] - 1].key != key) i = (i + 1) & (unsigned)(m->nslot - 1);
	return (int)i;
}

static const MapEntry *find(const Map *m, const void *key)
{
	if (!m->nslot || !key) return NULL;
	int s = m->slot[find_slot(m, key)];
	return s ? &m->at[s - 1] : NULL;
}

void *map_get(const Map *m, const void *key)
{
	const MapEntry *e = find(m, key);
	return e ? e->val : NULL;
}

int map_has(const Map *m, const void *key) { return find(m, key) != NULL; }

static void rehash(Arena *a, Map *m)
{
	int live = 0;
	for (int i = 0; i < m->n; i++)
		if (m->at[i].key) m->at[live++] = m->at[i];
	m->n = live;
	int want = 8;
	while (want < live * 4) want *= 2;
	m->slot = NEWN(a, int, want);
	m->nslot = want;
	for (int i = 0; i < m->n; i++) m->slot[find_slot(m, m->at[i].key)] = i + 1;
}

void map_set(Arena *a, Map *m, const void *key, void *val)
{
	MapEntry *e = (MapEntry *)find(m, key);
	if (e) {
		e->val = val;
		return;
	}
	if ((m->n + 1) * 2 > m->nslot) rehash(a, m);
	vec_reserve(a, (void **)&m->at, &m->cap, m->n + 1, sizeof *m->at);
	m->at[m->n++] = (MapEntry){ key, val };
	m->slot[find_slot(m, key)] = m->n;
	m->live++;
}

/* A hole keeps its slot: probing must not stop there.  Its key no longer matches anything. */
int map_del(Map *m, const void *key)
{
	MapEntry *e = (MapEntry *)find(m, key);
	if (!e) return 0;
	e->key = NULL;
	e->val = NULL;
	m->live--;
	return 1;
}
