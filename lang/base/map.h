/* map.h — an ordered hash map from pointers (interned names, tensors, graphs) to pointers.
 *
 * Entries keep their insertion order and are walked by index, so nothing we print or emit ever
 * depends on an address.  A removed entry leaves a hole (key NULL) until the next growth. */
#ifndef LANG_BASE_MAP_H
#define LANG_BASE_MAP_H

#include "lang/base/arena.h"

typedef struct MapEntry { const void *key; void *val; } MapEntry;
typedef struct Map {
	MapEntry *at;          /* at[0..n), in insertion order; skip entries with key NULL */
	int n, cap;
	int live;              /* entries that are not holes */
	int *slot;             /* open addressing: index + 1 into at, 0 empty */
	int nslot;
} Map;

void *map_get(const Map *m, const void *key);            /* NULL: absent */
int   map_has(const Map *m, const void *key);
void  map_set(Arena *a, Map *m, const void *key, void *val);
int   map_del(Map *m, const void *key);                  /* 1: it was there */
uint64_t hash_bytes(const void *p, size_t n);            /* the same on every machine and run */

#endif
