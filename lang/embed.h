/* embed.h — files that travel in the binary: the standard library and pxlrt.h (see tools/embed.sh). */
#ifndef LANG_EMBED_H
#define LANG_EMBED_H

#include <stddef.h>

/* name: `nn` for lang/std/nn.pxl; text ends with a NUL */
typedef struct EmbeddedFile { const char *path, *name, *text; size_t len; } EmbeddedFile;
extern const EmbeddedFile embedded_files[];        /* ends with path NULL */

#endif
