/* buf.c — see buf.h. */
#include "lang/base/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Buf buf_new(Arena *a)
{
	Buf b = { .mem = a };
	buf_put(&b, "", 0);
	return b;
}

static void reserve(Buf *b, size_t more)
{
	if (b->cap - b->n > more) return;
	size_t cap = b->cap ? b->cap * 2 : 64;
	while (cap - b->n <= more) cap *= 2;
	b->s = arena_grow(b->mem, b->s, b->n, cap);
	b->cap = cap;
}

void buf_put(Buf *b, const char *s, size_t n)
{
	reserve(b, n);
	if (n) memcpy(b->s + b->n, s, n);
	b->n += n;
	b->s[b->n] = 0;
}

void buf_puts(Buf *b, const char *s) { buf_put(b, s, strlen(s)); }
void buf_putc(Buf *b, char c) { buf_put(b, &c, 1); }

void buf_pad(Buf *b, char c, int n)
{
	for (int i = 0; i < n; i++) buf_putc(b, c);
}

void buf_vprintf(Buf *b, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n > 0) {
		reserve(b, (size_t)n);
		vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
}

void buf_printf(Buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

/* digits and exponent of the shortest "%.*e" that reads back; the host's locale may print a comma,
 * which is skipped like the point */
static int shortest(double x, char digits[32], int *exponent)
{
	char t[64];
	for (int p = 0; p < 17; p++) {
		snprintf(t, sizeof t, "%.*e", p, x);
		if (strtod(t, NULL) == x) break;
	}
	int n = 0;
	char *e = strchr(t, 'e');
	for (char *s = t; s < e; s++)
		if (*s >= '0' && *s <= '9') digits[n++] = *s;
	*exponent = atoi(e + 1);
	return n;
}

void buf_float(Buf *b, double x)
{
	if (isnan(x)) { buf_puts(b, "nan"); return; }
	if (signbit(x)) { buf_putc(b, '-'); x = -x; }
	if (isinf(x)) { buf_puts(b, "inf"); return; }
	char d[32];
	int e, n = shortest(x, d, &e);
	if (e < -4 || e >= 16) {
		buf_put(b, d, 1);
		if (n > 1) { buf_putc(b, '.'); buf_put(b, d + 1, (size_t)n - 1); }
		buf_printf(b, "e%c%02d", e < 0 ? '-' : '+', abs(e));
		return;
	}
	if (e < 0) {
		buf_puts(b, "0.");
		buf_pad(b, '0', -e - 1);
		buf_put(b, d, (size_t)n);
		return;
	}
	int whole = e + 1 < n ? e + 1 : n;
	buf_put(b, d, (size_t)whole);
	buf_pad(b, '0', e + 1 - whole);
	buf_putc(b, '.');
	if (n > whole) buf_put(b, d + whole, (size_t)(n - whole));
	else buf_putc(b, '0');
}

/* strtod wants the locale's decimal point: ask printf which one that is */
int text_float(const char *s, size_t n, double *out)
{
	char t[512], point[16];
	snprintf(point, sizeof point, "%.1f", 1.5);
	size_t used = 0, plen = strlen(point) - 2;
	if (n == 0 || n > sizeof t - sizeof point) return 0;
	for (size_t i = 0; i < n; i++) {
		if (!strchr("0123456789+-.eE", s[i])) return 0;
		if (s[i] != '.') t[used++] = s[i];
		else if (memchr(s, '.', i)) return 0;
		else memcpy(t + used, point + 1, plen), used += plen;
	}
	t[used] = 0;
	char *end;
	*out = strtod(t, &end);
	return *end == 0 && end != t;
}

void buf_json(Buf *b, const char *s, size_t n)
{
	buf_putc(b, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\') { buf_putc(b, '\\'); buf_putc(b, (char)c); }
		else if (c == '\n') buf_puts(b, "\\n");
		else if (c == '\t') buf_puts(b, "\\t");
		else if (c < 0x20) buf_printf(b, "\\u%04x", c);
		else buf_putc(b, (char)c);
	}
	buf_putc(b, '"');
}
