/* embed.h — files that travel in the binary: the standard library and pxlrt.h (see tools/embed.sh). */
#ifndef LANG_EMBED_H
#define LANG_EMBED_H

#include <stddef.h>

typedef struct EmbeddedFile { const char *path, *text; size_t len; } EmbeddedFile;   /* text ends with a NUL */
extern const EmbeddedFile embedded_files[];                                          /* ends with path NULL */

#endif
