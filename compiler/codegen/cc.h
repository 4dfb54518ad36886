/* cc.h — C text to a loaded shared object, by the system's compiler: emitted modules (jit_cc.c), and the C files that models
 * and hosts bring (compiler/api/native.c). */
#ifndef COMPILER_CODEGEN_CC_H
#define COMPILER_CODEGEN_CC_H

#include <sys/types.h>

#include "compiler/codegen/cache.h"

typedef struct CcJob {
	const char *what;                    /* "emitted C": for messages */
	const char *text; size_t len;
	const char *header;                  /* a file beside it that it may include, or NULL; */
	const char *header_text; size_t header_len;
	const char *const *flags; int nflag; /* all but -o and the file; those that begin with -l come last */
	int64_t abi;                         /* goes into the cache's key with the rest, and so do */
	const char *options;                 /* these; or NULL */
	const char *cache_dir;               /* NULL: the object goes to a private temporary directory */
	int only_cached;                     /* what is in the cache, or CC_NONE: nothing is compiled */
	int background;                      /* at a low priority, out of reach of the terminal, and with an end by cc_cancel */
} CcJob;
typedef struct CcLoaded {
	void *dl;                            /* for dlsym and dlclose */
	const char *kind;                    /* "cc", "cc (cached)" */
	const char *warning;                 /* of the cache, when something in it was passed over; or NULL */
} CcLoaded;
/* RT_OK; RT_EIO: no compiler, disk; RT_EINTERNAL: the compiler refused the text, with what it said */
int cc_load(const CcJob *job, CcLoaded *out, RtErr *e);

/* The same step by step. What the job points to must stay until the end: a step that is not CC_BUSY, or cc_cancel.
 * Not in a fork of the process that began it: there steps give CC_NONE, and nothing is done. */
enum { CC_BUSY = -1, CC_NONE = -2 };                 /* still at work; there is no compiler, or nothing in the cache */
typedef struct CcWork { char dir[CACHE_PATH], c[CACHE_PATH], so[CACHE_PATH], log[CACHE_PATH], header[CACHE_PATH]; } CcWork;   /* a private directory */
typedef struct CcRun {
	CcLoaded made;                       /* after RT_OK */
	CcJob job;
	CcWork work;
	const char *dir;                     /* of the cache, if it is usable */
	CacheKey key, text_key;              /* text_key: the compiler not counted */
	int only, name, known;               /* the user names the compiler; which name is tried; it has answered */
	char cc[CACHE_PATH];
	pid_t pid, owner;                    /* 0: no process, `status` says how it ended */
	int status;
} CcRun;
int  cc_begin(CcRun *r, const CcJob *job, RtErr *e);     /* RT_OK; else it has ended, as cc_load would */
int  cc_step(CcRun *r, int wait, RtErr *e);
void cc_cancel(CcRun *r);                                /* stops and removes what is left; also after the end */

#endif
