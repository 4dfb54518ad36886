/* cache.h — private to cc.[ch]: shared objects on disk, found by what they were made from. */
#ifndef COMPILER_CODEGEN_CACHE_H
#define COMPILER_CODEGEN_CACHE_H

#include "runtime/base.h"

enum { CACHE_PATH = 1024 };

typedef struct CacheKey { uint64_t hi, lo; } CacheKey;
void cache_mix(CacheKey *k, const void *p, size_t n);

/* Is dir ours alone (made if it is missing)?  Code is loaded from it, so nobody else may write there. */
int cache_dir_usable(const char *dir);
/* 1 and the path of an intact object; 0: none; -1: one that is damaged (gone now) or not a file to read */
int cache_find(const char *dir, CacheKey k, char path[CACHE_PATH]);
/* Seal the object file `made` and move it into place; path gets where. 0: it could not be stored. */
int cache_store(const char *dir, CacheKey k, const char *made, char path[CACHE_PATH]);
/* A mark says that for this text, whoever compiled it, there is something: asking the compiler for its version may pay. */
void cache_mark(const char *dir, CacheKey k);
int  cache_is_marked(const char *dir, CacheKey k);

#endif
