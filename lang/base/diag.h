/* diag.h — what is wrong with the user's model, kept as a list until somebody prints it.
 *
 *   Diag *d = diag(ds, E0301, op->at, "inner dimensions of `matmul` differ");
 *   diag_label(ds, d, "%d columns against %d rows", n, k);
 *   diag_note(ds, d, x->at, "left operand has shape %s", shape_str(...));
 *   diag_help(ds, d, (Span){0}, "transpose the right operand: `x @ w.T`");
 *
 * diag() never returns NULL; beyond max_errors the diagnostic is only counted.  Codes, their kinds
 * and long texts are rows of diag.def; a code never changes meaning. */
#ifndef LANG_BASE_DIAG_H
#define LANG_BASE_DIAG_H

#include "lang/base/buf.h"
#include "lang/base/source.h"

/* kinds of error as PopXL's rules name them */
typedef enum DiagKind { K_SYNTAX, K_NAME, K_TYPE, K_VALUE, K_RUNTIME, K_INDEX, K_NOTIMPL, K_LIMIT, K_IO, K_INTERNAL } DiagKind;
typedef enum DiagLevel { D_ERROR, D_WARNING, D_NOTE, D_HELP } DiagLevel;

typedef enum DiagCode {
#define DIAG(code, kind, title, text) code,
#include "lang/base/diag.def"
#undef DIAG
	DIAG_COUNT
} DiagCode;

typedef struct DiagInfo { const char *code; DiagKind kind; const char *title, *text; } DiagInfo;
extern const DiagInfo diag_table[DIAG_COUNT];
extern const char *const diag_kind_name[];               /* "ValueError" … */

typedef struct DiagSub { DiagLevel level; Span at; const char *text; } DiagSub;
typedef struct Diag {
	DiagCode code;
	DiagLevel level;       /* from the code's letter: E… or W… */
	Span at;
	const char *text, *label;
	VEC(DiagSub) sub;
} Diag;

typedef struct Diags {
	Arena *mem;
	const Sources *srcs;
	VEC(Diag *) at;
	int errors, warnings;
	int max_errors;        /* 0: 20 */
	Diag spare;            /* where diagnostics beyond the limit go */
} Diags;

Diag *diag(Diags *ds, DiagCode code, Span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void diag_label(Diags *ds, Diag *d, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void diag_note(Diags *ds, Diag *d, Span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void diag_help(Diags *ds, Diag *d, Span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* nearest of the candidates by edit distance, or NULL: for "did you mean" */
const char *nearest(const char *name, const char *const *candidates, int n);

enum { DIAG_SHORT = 1, DIAG_COLOR = 2 };
void diag_render(const Diags *ds, const Diag *d, int flags, Buf *out);
void diag_render_json(const Diags *ds, const Diag *d, Buf *out);     /* one object, no newline */
int  diag_find(const char *code);                                    /* -1: no such code */

#endif
