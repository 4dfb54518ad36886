/* diag.c — collecting and rendering diagnostics. */
#include "lang/base/diag.h"

const DiagInfo diag_table[DIAG_COUNT] = {
#define DIAG(code, kind, title, text) { #code, kind, title, text },
#include "lang/base/diag.def"
#undef DIAG
};
