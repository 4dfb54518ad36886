/* print.c — the text of print_tensor.
 *
 * Two walks over the elements that will be shown: one finds the common format and the widest text, one writes.
 * Numbers come from printf, with whatever the locale uses for a decimal point put back to '.'. */
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Print {
	const struct pxlrt_print *d;
	const char *x;
	RtTextFn out;
	void *user;
	int summarise, format, decimals, width;
	double largest, smallest;            /* of the finite magnitudes shown, other than 0 */
	long column;
	int writing;
} Print;

static void text(Print *p, const char *s, size_t n) { p->out(p->user, s, n); p->column += (long)n; }

/* --- one number ------------------------------------------------------------------------------------------------- */

static void plain_point(char *s)
{
	char *to = s;
	for (const char *c = s; *c; c++) {
		if (strchr("0123456789+-einfa", *c)) *to++ = *c;
		else if (to == s || to[-1] != '.') *to++ = '.';
	}
	*to = 0;
}

static int is_float(int t) { return t == DT_F32 || t == DT_F64 || t == DT_F16 || t == DT_BF16 || t == DT_F8_143 || t == DT_F8_152; }

static void number(const Print *p, long i, char *s, size_t room)
{
	int t = p->d->dtype;
	if (t == DT_U64) snprintf(s, room, "%llu", (u64)rt_get_int((DType)t, p->x, (size_t)i));
	else if (!is_float(t)) snprintf(s, room, "%lld", (i64)rt_get_int((DType)t, p->x, (size_t)i));
	else {
		double v = rt_get((DType)t, p->x, (size_t)i);
		if (v != v) snprintf(s, room, "nan");
		else if (isinf(v)) snprintf(s, room, v < 0 ? "-inf" : "inf");
		else if (p->format == PXLRT_FORMAT_NONE) snprintf(s, room, "%.*g", p->decimals, v);
		else if (p->format == PXLRT_FORMAT_SCIENTIFIC) snprintf(s, room, "%.*e", p->decimals, v);
		else snprintf(s, room, "%.*f", p->decimals, v);
		plain_point(s);
	}
}

static void measure(Print *p, long i)
{
	double v = is_float(p->d->dtype) ? fabs(rt_get((DType)p->d->dtype, p->x, (size_t)i)) : 0;
	if (!(v > 0) || isinf(v)) return;
	if (v > p->largest) p->largest = v;
	if (v < p->smallest) p->smallest = v;
}

static void widen(Print *p, long i)
{
	char s[400];
	number(p, i, s, sizeof s);
	int n = (int)strlen(s);
	if (n > p->width) p->width = n;
}

static int int_digits(double v)
{
	int n = 1;
	for (; v >= 10 && n < 400; v /= 10) n++;
	return n;
}

/* fixed keeps `digits` significant ones of the largest number; scientific when that would be all zeros, or too long */
static void choose_format(Print *p)
{
	const struct pxlrt_print *d = p->d;
	p->format = d->format;
	int before = int_digits(p->largest);
	if (d->format == PXLRT_FORMAT_AUTO)
		p->format = before > (d->digits ? d->digits : 8) || (p->largest > 0 && p->smallest < 1e-4) ? PXLRT_FORMAT_SCIENTIFIC : PXLRT_FORMAT_FIXED;
	if (d->digits == 0) p->format = PXLRT_FORMAT_NONE;
	if (p->format == PXLRT_FORMAT_NONE) p->decimals = d->digits ? d->digits : d->dtype == DT_F64 ? 17 : d->dtype == DT_F32 ? 9 : 5;
	else if (p->format == PXLRT_FORMAT_SCIENTIFIC) p->decimals = d->digits - 1;
	else p->decimals = d->digits > before ? d->digits - before : 0;
}

/* --- the nest of brackets ------------------------------------------------------------------------------------------- */

static void new_line(Print *p, int depth)
{
	text(p, "\n", 1);
	p->column = 0;
	for (int i = 0; i < depth; i++) text(p, " ", 1);
}

/* a separator that is a space is not written where the line ends */
static void break_line(Print *p, int depth)
{
	if (p->d->sep != ' ') text(p, &p->d->sep, 1);
	new_line(p, depth);
}

/* an element or an ellipsis, after what separates it from the one before */
static void item(Print *p, int depth, int first, const char *s, int width)
{
	int n = (int)strlen(s), pad = width > n ? width - n : 0;
	if (!first && p->d->width > 0 && p->column + 1 + n + pad > p->d->width) break_line(p, depth);
	else if (!first) text(p, &p->d->sep, 1);
	while (pad-- > 0) text(p, " ", 1);
	text(p, s, (size_t)n);
}

static void walk(Print *p, int axis, long at, void (*visit)(Print *, long));

static void row(Print *p, int axis, long at, long i, void (*visit)(Print *, long))
{
	const struct pxlrt_print *d = p->d;
	char s[400];
	if (axis < d->rank - 1) {
		if (p->writing && i) break_line(p, axis + 1);
		walk(p, axis + 1, at * d->dim[axis] + i, visit);
	} else if (!p->writing) visit(p, at * d->dim[axis] + i);
	else {
		number(p, at * d->dim[axis] + i, s, sizeof s);
		item(p, axis + 1, i == 0, s, d->digits ? p->width : 0);
	}
}

static void ellipsis(Print *p, int axis)
{
	if (!p->writing) return;
	if (axis == p->d->rank - 1) {
		item(p, axis + 1, p->d->edge == 0, "...", 0);
		return;
	}
	if (p->d->edge) break_line(p, axis + 1);
	text(p, "...", 3);
}

/* axes from `axis` on, at row-major position `at` of the axes before */
static void walk(Print *p, int axis, long at, void (*visit)(Print *, long))
{
	const struct pxlrt_print *d = p->d;
	char s[400];
	if (d->rank == 0) {
		if (!p->writing) { visit(p, 0); return; }
		number(p, 0, s, sizeof s);
		item(p, 0, 1, s, 0);
		return;
	}
	long n = d->dim[axis];
	int cut = p->summarise && n > 2 * d->edge;
	if (p->writing) text(p, &d->open, 1);
	for (long i = 0; i < n; i++) {
		if (cut && i == d->edge) {
			ellipsis(p, axis);
			i = n - d->edge;
			if (i >= n) break;
		}
		row(p, axis, at, i, visit);
	}
	if (p->writing) text(p, &d->close, 1);
}

void rt_print_tensor(const struct pxlrt_print *d, const void *x, RtTextFn out, void *user)
{
	Print p = { .d = d, .x = x, .out = out, .user = user, .smallest = INFINITY };
	long n = 1;
	for (int i = 0; i < d->rank; i++) n *= d->dim[i];
	p.summarise = d->threshold > 0 && n > d->threshold;
	walk(&p, 0, 0, measure);
	choose_format(&p);
	walk(&p, 0, 0, widen);
	p.writing = 1;
	text(&p, d->title, strlen(d->title));
	text(&p, ": ", 2);
	if (d->rank > 1) new_line(&p, 0);
	p.column = 0;
	walk(&p, 0, 0, NULL);
	out(user, "\n", 1);
}
