/* buf.h — text that grows.  Always NUL-terminated; `buf.s` is never NULL once something was put. */
#ifndef LANG_BASE_BUF_H
#define LANG_BASE_BUF_H

#include "lang/base/arena.h"

typedef struct Buf { Arena *mem; char *s; size_t n, cap; } Buf;

Buf  buf_new(Arena *a);
void buf_put(Buf *b, const char *s, size_t n);
void buf_puts(Buf *b, const char *s);
void buf_putc(Buf *b, char c);
void buf_pad(Buf *b, char c, int n);
void buf_printf(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *b, const char *fmt, va_list ap);
/* shortest decimal that reads back as the same number, as Python prints it: 1.0, 0.05, 1e-07, inf;
 * independent of the locale */
void buf_float(Buf *b, double x);
/* reads digits with an optional point and exponent ("1", "0.5", "1e-07"), whatever the locale;
 * 0: that is not all of s */
int  text_float(const char *s, size_t n, double *out);
void buf_json(Buf *b, const char *s, size_t n);           /* quoted and escaped */

#endif
