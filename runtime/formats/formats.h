/* formats.h — arrays and weights in files: npy, IDX, safetensors; and files that appear whole or not at all.
 *
 * Readers take any bytes: what they cannot use ends in RT_EIO with a message that says what is wrong,
 * where, and what to do.  Memory is asked for only after the file has shown that it holds that much.
 * Writers go through a temporary file in the same directory, fsync and rename. */
#ifndef RUNTIME_FORMATS_FORMATS_H
#define RUNTIME_FORMATS_FORMATS_H

#include <signal.h>
#include <sys/types.h>

#include "runtime/formats/reach.h"

typedef struct RtArray { DType dtype; int rank; int64_t dim[MAX_RANK]; size_t nelem, bytes; void *data; } RtArray;
void array_free(const RtAlloc *al, RtArray *a);              /* data alone; takes an empty array */
/* product of dims and bytes, checked; 0 when it overflows or a dimension is negative */
int  array_size(DType t, int rank, const int64_t *dim, size_t *nelem, size_t *bytes);

/* --- file.c: bytes in, bytes out ------------------------------------------------------------------------ */

/* A source of bytes: a file or memory, gunzipped on the way when it starts as gzip does. */
typedef struct RtSource RtSource;
int  source_open(const RtPlace *p, const RtAlloc *al, RtSource **out, RtErr *e);
/* takes over fd, whatever happens */
int  source_fd(int fd, const char *name, const RtAlloc *al, RtSource **out, RtErr *e);
int  source_memory(const void *p, size_t n, const char *name, const RtAlloc *al, RtSource **out, RtErr *e);
void source_close(RtSource *s);                              /* takes NULL */
/* up to n bytes; *got < n only at the end of the data */
int  source_read(RtSource *s, void *out, size_t n, size_t *got, RtErr *e);
const char *source_name(const RtSource *s);
/* exactly n bytes into a fresh block. It grows as data arrives, so a lying header costs nothing; unless somebody wants
 * just so much, and it is made at once.  *got < n: the source ended early, and *out is NULL */
int  source_block(RtSource *s, size_t n, int wanted, void **out, size_t *got, RtErr *e);

/* Asked when a file's header has said what the array is, before its data is read; may cut the first dimension (of npy
 * alone). RT_OK, or a message. */
typedef struct ArrayCheck { int (*fits)(void *arg, RtArray *a, RtErr *e); void *arg; } ArrayCheck;

/* Writing beyond the process's limit of file sizes raises SIGXFSZ, which kills. Between these two the calling thread
 * gets EFBIG instead; the host's handlers stay as they are. errno is kept. */
typedef struct SizeLimit { sigset_t mask; int pending; } SizeLimit;
void size_limit_begin(SizeLimit *l);
void size_limit_end(SizeLimit *l);
/* All of a file that is no treasure: written in place. A path in `folder`, or AT_FDCWD. 0, or -1 and errno */
int  file_put(int folder, const char *path, const void *bytes, size_t n);

/* A file that replaces the one at `p` when committed; until then that is untouched, whatever happens.
 * What is not a regular file (a pipe, /dev/null) is written directly, unless a model names it: then only a file of the
 * format f is written, and only one of that format is replaced. f may be NULL where the user names the file. */
typedef struct RtSink {
	int fd, folder;                                      /* of the file's folder */
	int direct, there;                                   /* there: a file is replaced */
	char *path, *name, *temp;                            /* for messages; in the folder */
	const RtFormat *format;                              /* NULL: the user named the file */
	const RtAlloc *al;
} RtSink;
int  sink_open(RtSink *s, const RtPlace *p, const RtFormat *f, const RtAlloc *al, RtErr *e);
int  sink_write(RtSink *s, const void *p, size_t n, RtErr *e);
int  sink_commit(RtSink *s, RtErr *e);                       /* ends the sink either way */
void sink_abort(RtSink *s);
/* A new file beside `path` (in `folder`, or AT_FDCWD), locked, to be renamed to it; what killed processes left of such
 * is removed. Its name is in `temp`, which has room for the path and TEMP_MORE. -1: errno says why */
enum { TEMP_MORE = 64 };
int  temp_open(int folder, const char *path, char *temp, size_t size, int flags, mode_t mode);

/* --- npy.c ------------------------------------------------------------------------------------------------- */

/* Versions 1 to 3; bool, i1–i8, u1–u8, f2–f8 of either byte order; Fortran order is turned into C order.
 * NumPy has no bfloat16 and no 8-bit floats: they are written as their bits, `<u2` and `|u1`, and a
 * reader who expects them takes those (npy_bits). */
int npy_read(const char *path, const RtAlloc *al, RtArray *out, RtErr *e);
/* check may be NULL */
int npy_read_from(RtSource *s, const ArrayCheck *check, const RtAlloc *al, RtArray *out, RtErr *e);
int npy_write(const RtPlace *p, DType t, int rank, const int64_t *dim, const void *data, const RtAlloc *al, RtErr *e);
extern const RtFormat npy_format;
/* What a file holds, and where: nothing of its data is read. */
typedef struct NpyLayout { RtArray array; int fortran, swapped; size_t offset; } NpyLayout;
int npy_layout(RtSource *s, const RtAlloc *al, NpyLayout *out, RtErr *e);
int npy_bits(DType want, DType got);                         /* an array of `got` holds the bits of `want` */

/* --- map.c ---------------------------------------------------------------------------------------------------- */

/* A file's bytes as memory, shared with everybody who maps it. It begins with the data of one array of known type and shape, or
 * is a .npy file of it. */
typedef struct FileMap {
	char path[4096], temp[4096 + TEMP_MORE];             /* temp: its name in `folder` until it is published */
	int folder; size_t name;                             /* path + name in `folder`, or AT_FDCWD, is the file */
	void *data;                                          /* of the array */
	void *base; size_t size;                             /* of the whole file; 0 when it is empty */
	int read_only, fresh;                                /* fresh: made now, zeros */
	dev_t device; ino_t inode;                           /* which file it is, whatever its name */
} FileMap;
/* A file that is there is opened for reading and writing, or for reading alone; one that is missing is made. A model
 * names the files of a folder that the user gives: `folder` is open until they are published, and path + name is a name
 * in it. Such a file is not written if that would change another: no link, nor a file of several names. AT_FDCWD and 0:
 * the user names the file. */
int map_open(FileMap *m, int folder, const char *path, size_t name, const RtArray *want, int read_existing,
	const RtAlloc *al, RtErr *e);
int  map_publish(FileMap *m, RtErr *e);                      /* what was made gets its name, unless somebody else has made such a file meanwhile */
void map_close(FileMap *m);                                  /* what was made and not published is removed */

/* --- idx.c --------------------------------------------------------------------------------------------------- */

/* the MNIST family's format, gzip or plain: u8, i8, i16, i32, f32, f64 */
int idx_read(const char *path, const ArrayCheck *check, const RtAlloc *al, RtArray *out, RtErr *e);
int idx_read_from(RtSource *s, const ArrayCheck *check, const RtAlloc *al, RtArray *out, RtErr *e);

/* --- safetensors.c ------------------------------------------------------------------------------------------- */

typedef struct StEntry {
	const char *name;
	DType dtype;
	int rank;
	int64_t dim[MAX_RANK];
	size_t nelem, bytes;
	uint64_t offset;                                     /* in the file */
} StEntry;
typedef struct StFile StFile;
/* Reads the header alone; entries are sorted by name.  8-bit floats of pxl travel as U8 with a note in the
 * metadata; the format's own F8 types mean other numbers and are refused. */
int  st_open(const RtPlace *p, const RtAlloc *al, StFile **out, RtErr *e);
int  st_memory(const void *p, size_t n, const char *name, const RtAlloc *al, StFile **out, RtErr *e);
void st_close(StFile *f);                                    /* takes NULL */
int  st_count(const StFile *f);
const StEntry *st_entry(const StFile *f, int i);
const StEntry *st_find(const StFile *f, const char *name);   /* NULL: none */
const char *st_meta(const StFile *f, const char *key);       /* NULL: none */
int  st_read(const StFile *f, const StEntry *t, void *out, RtErr *e);   /* t->bytes bytes; touches nothing else of the file */

extern const RtFormat st_format;
typedef struct StItem { const char *name; DType dtype; int rank; const int64_t *dim; const void *data; } StItem;
typedef struct StMeta { const char *key, *value; } StMeta;   /* UTF-8 */
/* Sorted by name and by key; data starts at a multiple of 8. */
int  st_write(const RtPlace *p, const StItem *items, int n, const StMeta *meta, int nmeta, const RtAlloc *al, RtErr *e);

#endif
