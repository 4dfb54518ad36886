/* embed.h — files that travel in the binary: the standard library, and headers that C made or taken in by us includes (see tools/embed.sh). */
#ifndef LANG_EMBED_H
#define LANG_EMBED_H

#include <stddef.h>

/* name: `nn` for lang/std/nn.pxl; text ends with a NUL */
typedef struct EmbeddedFile { const char *path, *name, *text; size_t len; } EmbeddedFile;
extern const EmbeddedFile embedded_files[];        /* ends with path NULL */
const EmbeddedFile *embedded_file(const char *path);    /* NULL: it does not travel along */

#endif
