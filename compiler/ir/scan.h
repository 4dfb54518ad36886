/* scan.h — reading the textual IR token by token; any bytes may come. */
#ifndef COMPILER_IR_SCAN_H
#define COMPILER_IR_SCAN_H

#include "compiler/ir/ir.h"

/* After the first error every function does nothing and gives zeros, so callers need not ask each time. */
typedef struct Scan {
	Arena *mem;
	Intern *names;
	Diags *ds;
	const char *text;
	uint32_t src, at, end;
	uint32_t last;               /* where the last token began */
	int failed;
} Scan;

Span scan_span(const Scan *s, uint32_t lo);                  /* from lo to here */
Diag *scan_error(Scan *s, DiagCode code, Span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void scan_expected(Scan *s, const char *what);               /* "expected WHAT, found …" */

int  scan_peek(Scan *s);                                     /* next byte that is not blank or comment; -1 at the end */
int  scan_accept(Scan *s, char c);
void scan_expect(Scan *s, char c);
const char *scan_word(Scan *s, const char *what);            /* interned letters, digits, _; NULL after an error */
int  scan_accept_word(Scan *s, const char *word);
int  scan_one_of(Scan *s, const char *const *words, int n, const char *what);    /* index; 0 after an error */
int64_t scan_int(Scan *s, int64_t lo, int64_t hi);
uint64_t scan_bits(Scan *s, int wide_unsigned);              /* a 64-bit integer of either sign */
double scan_float(Scan *s);
const char *scan_string(Scan *s);                            /* interned; "" after an error */
Shape scan_shape(Scan *s);
Spec scan_spec(Scan *s);
DType scan_dtype(Scan *s);
HostArray *scan_host(Scan *s, Spec spec);                    /* what follows "= " */

#endif
