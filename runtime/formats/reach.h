/* reach.h — files that a model names, and the only way to them.
 *
 * A model is data from somewhere else. What it names must lie below one of a few folders: the model's own, the current
 * one, and those that its user allows. docs/trust.md has the rules. A path that the user typed is opened as it is. */
#ifndef RUNTIME_FORMATS_REACH_H
#define RUNTIME_FORMATS_REACH_H

#include <sys/stat.h>
#include <sys/types.h>

#include "runtime/base.h"

/* A folder below which a model may name files. */
typedef struct RtRoot {
	const char *path;                    /* as its user wrote it */
	const char *real;                    /* absolute, without links; NULL: found when it is needed */
	dev_t device; ino_t inode;           /* the folder that was meant; inode 0: whatever `path` leads to */
} RtRoot;

/* Places in `root`; a model without a folder has NULL as its path. */
enum { REACH_MODEL, REACH_CURRENT, REACH_ALLOWED };
typedef struct RtReach { const RtRoot *root; int n; } RtReach;

/* A path, and who named it. */
typedef struct RtPlace {
	const char *path;
	const RtReach *reach;                /* NULL: the user named it */
	int base;                            /* the root that a relative path begins at */
	int make_folders;                    /* missing folders on the way are made */
} RtPlace;
#define BY_USER(p) (&(RtPlace){ .path = (p) })

/* What kind of file a model may write, and replace. */
typedef struct RtFormat {
	const char *name;                    /* "safetensors" */
	const char *const *extensions;       /* ".safetensors", …, NULL */
	int (*holds)(int fd, const RtAlloc *al);     /* the file begins as this format does */
} RtFormat;

enum { REACH_NAME = 256 };
/* A name in a folder that is open. */
typedef struct RtSpot {
	int folder;                          /* O_PATH; the caller closes it */
	char name[REACH_NAME];
	int there;                           /* something has the name, and `info` describes it */
	struct stat info;
} RtSpot;

/* RT_EMODEL: the rules refuse the path; RT_EIO: the system does. `e` is not NULL. */
int reach_open(const RtPlace *p, const RtAlloc *al, RtErr *e);           /* a file for reading: its descriptor, or -1 */
int reach_spot(const RtPlace *p, const RtFormat *f, const RtAlloc *al, RtSpot *out, RtErr *e);     /* for writing */
int reach_may_replace(const RtPlace *p, const RtSpot *at, const RtFormat *f, const RtAlloc *al, RtErr *e);

/* The folder at `path` as a root, and open (O_PATH); texts in memory of `al`. RT_EIO: there is no such folder. */
int  root_open(const char *path, const RtAlloc *al, RtRoot *out, int *fd, RtErr *e);
void root_free(RtRoot *r, const RtAlloc *al);

/* For messages: control characters and bytes that are not UTF-8 are shown as \xNN, of a long path its end. */
const char *reach_show(const char *path, char *out, size_t size);
/* bytes of the valid character at p; 0: it is none */
size_t utf8_length(const unsigned char *p, const unsigned char *end);
#define SHOWN(path) reach_show((path), (char[320]){ 0 }, 320)

#endif
