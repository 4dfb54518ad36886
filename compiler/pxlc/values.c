/* values.c — numbers and arrays as text and as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/pxlc/cli.h"

enum { ABRIDGE_ABOVE = 1000, EDGE = 3 };

/* bytes of the character at s; 0: it is none in UTF-8 */
static int utf8_bytes(const unsigned char *s)
{
	int n = s[0] < 0x80                   ? 1
		: s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		: (s[0] & 0xf0) == 0xe0       ? 3
		: s[0] >= 0xf0 && s[0] < 0xf5 ? 4
					      : 0;
	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80) return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)))
		return 0; /* too long; half of a pair */
	return n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)) ? 0 : n;
}

/* JSON is UTF-8; names of files need not be. What is none becomes U+FFFD. */
void json_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		int n = utf8_bytes(s);
		if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
		else if (*s < 0x20) fprintf(f, "\\u%04x", *s);
		else if (!n) fputs("\\ufffd", f);
		else fwrite(s, 1, (size_t)n, f);
		s += n ? n : 1;
	}
	fputc('"', f);
}

/* the fewest digits that read back as the same number; 10 is not 1e+01 */
static void shortest(double x, char out[40])
{
	double size = fabs(x);
	for (int p = 1; p <= 17; p++) {
		snprintf(out, 40, "%.*g", p, x);
		if (strtod(out, NULL) == x && !(size < 1e15 && strchr(out, '+'))) return;
	}
}

void print_number(FILE *f, double x)
{
	char t[40];
	if (isnan(x)) fputs("nan", f);
	else if (isinf(x)) fputs(x < 0 ? "-inf" : "inf", f);
	else {
		shortest(x, t);
		fputs(t, f);
	}
}

void json_number(FILE *f, double x)
{
	if (isfinite(x)) print_number(f, x);
	else fputs("null", f);
}

void spec_text(pxl_dtype t, int rank, const int64_t *dim, char *out, size_t size)
{
	int n = snprintf(out, size, "%s[", pxl_dtype_name(t));
	for (int i = 0; i < rank; i++) n += snprintf(out + n, size - (size_t)n, "%s%lld", i ? ", " : "", (long long)dim[i]);
	snprintf(out + n, size - (size_t)n, "]");
}

void print_spec(FILE *f, pxl_dtype t, int rank, const int64_t *dim)
{
	char text[256];
	spec_text(t, rank, dim, text, sizeof text);
	fputs(text, f);
}

static int is_integer(pxl_dtype t) { return t >= PXL_I8 && t <= PXL_U64; }

static void element(FILE *f, pxl_dtype t, const void *data, size_t i, int json)
{
	double x = pxl_element(t, data, i);
	if (t == PXL_BOOL) fputs(x != 0 ? "true" : "false", f);
	else if (t == PXL_I64) fprintf(f, "%lld", ((const long long *)data)[i]);
	else if (t == PXL_U64) fprintf(f, "%llu", ((const unsigned long long *)data)[i]);
	else if (is_integer(t)) fprintf(f, "%.0f", x);
	else if (json) json_number(f, x);
	else if (t == PXL_F64 || !isfinite(x)) print_number(f, x);     /* a NaN has no sign worth showing */
	else fprintf(f, "%.*g", t == PXL_F32 ? 7 : 4, x);
}

typedef struct Printer { FILE *f; pxl_dtype t; int rank, json, abridge; const int64_t *dim; const void *data; } Printer;

static void nested(const Printer *p, int axis, size_t first)
{
	if (axis == p->rank) {
		element(p->f, p->t, p->data, first, p->json);
		return;
	}
	size_t step = 1;
	for (int i = axis + 1; i < p->rank; i++) step *= (size_t)p->dim[i];
	fputc('[', p->f);
	for (int64_t i = 0; i < p->dim[axis]; i++) {
		if (i) fputs(p->json || axis == p->rank - 1 ? ", " : ",\n", p->f);
		for (int k = 0; i && !p->json && axis < p->rank - 1 && k <= axis; k++) fputc(' ', p->f);
		if (p->abridge && p->dim[axis] > 2 * EDGE && i == EDGE) {
			fputs("…", p->f);
			i = p->dim[axis] - EDGE - 1;
		} else {
			nested(p, axis + 1, first + (size_t)i * step);
		}
	}
	fputc(']', p->f);
}

void print_array(FILE *f, pxl_dtype t, int rank, const int64_t *dim, const void *data)
{
	size_t n = 1;
	for (int i = 0; i < rank; i++) n *= (size_t)dim[i];
	nested(&(Printer){ f, t, rank, 0, n > ABRIDGE_ABOVE, dim, data }, 0, 0);
	fputc('\n', f);
}

void json_array(FILE *f, pxl_dtype t, int rank, const int64_t *dim, const void *data)
{
	nested(&(Printer){ f, t, rank, 1, 0, dim, data }, 0, 0);
}
