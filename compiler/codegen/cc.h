/* cc.h — C text to a loaded shared object, by the system's compiler: emitted modules (jit_cc.c), and the C files that models
 * and hosts bring (compiler/api/native.c). */
#ifndef COMPILER_CODEGEN_CC_H
#define COMPILER_CODEGEN_CC_H

#include "runtime/base.h"

typedef struct CcJob {
	const char *what;                    /* "emitted C": for messages */
	const char *text; size_t len;
	const char *header;                  /* a file beside it that it may include, or NULL; */
	const char *header_text; size_t header_len;
	const char *const *flags; int nflag; /* all but -o and the file; those that begin with -l come last */
	int64_t abi;                         /* goes into the cache's key with the rest */
	const char *cache_dir;               /* NULL: the object goes to a private temporary directory */
} CcJob;
typedef struct CcLoaded {
	void *dl;                            /* for dlsym and dlclose */
	const char *kind;                    /* "cc", "cc (cached)" */
	const char *warning;                 /* of the cache, when something in it was passed over; or NULL */
} CcLoaded;
/* RT_OK; RT_EIO: no compiler, disk; RT_EINTERNAL: the compiler refused the text, with what it said */
int cc_load(const CcJob *job, CcLoaded *out, RtErr *e);

#endif
