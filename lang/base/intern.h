/* intern.h — one copy of each name, so that names compare by pointer. */
#ifndef LANG_BASE_INTERN_H
#define LANG_BASE_INTERN_H

#include "lang/base/arena.h"

typedef struct Intern { Arena *mem; const char **slot; int n, nslot; } Intern;

void        intern_init(Intern *t, Arena *a);
const char *intern(Intern *t, const char *s, size_t len);
const char *intern_str(Intern *t, const char *s);

#endif
