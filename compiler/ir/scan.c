/* scan.c — see scan.h.  Numbers are read without the locale; sizes are checked before memory is asked for. */
#include "compiler/ir/scan.h"

#include "compiler/ir/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- messages ------------------------------------------------------------------------------------------------ */

Span scan_span(const Scan *s, uint32_t lo) { return (Span){ s->src, lo, s->at > lo ? s->at : lo + (lo < s->end) }; }

Diag *scan_error(Scan *s, DiagCode code, Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	const char *text = arena_vprintf(s->mem, fmt, ap);
	va_end(ap);
	if (s->failed) return NULL;
	s->failed = 1;
	return diag(s->ds, code, at, "%s", text);
}

static int is_word(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

void scan_expected(Scan *s, const char *what)
{
	int c = scan_peek(s);
	uint32_t lo = s->at, hi = lo;
	if (s->failed) return;
	while (hi < s->end && hi - lo < 40 && is_word((unsigned char)s->text[hi])) hi++;
	if (c < 0) scan_error(s, E0408, scan_span(s, lo), "expected %s, found the end of the text", what);
	else if (hi > lo) scan_error(s, E0408, (Span){ s->src, lo, hi }, "expected %s, found `%.*s`", what, (int)(hi - lo), s->text + lo);
	else if (c >= 0x20 && c < 0x7f) scan_error(s, E0408, (Span){ s->src, lo, lo + 1 }, "expected %s, found `%c`", what, c);
	else scan_error(s, E0408, (Span){ s->src, lo, lo + 1 }, "expected %s, found byte 0x%02x", what, (unsigned)c);
}

/* --- bytes and words -------------------------------------------------------------------------------------------- */

int scan_peek(Scan *s)
{
	while (s->at < s->end) {
		char c = s->text[s->at];
		if (c == '#') while (s->at < s->end && s->text[s->at] != '\n') s->at++;
		else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') s->at++;
		else break;
	}
	s->last = s->at;
	return s->failed || s->at >= s->end ? -1 : (unsigned char)s->text[s->at];
}

int scan_accept(Scan *s, char c)
{
	if (scan_peek(s) != (unsigned char)c) return 0;
	s->at++;
	return 1;
}

void scan_expect(Scan *s, char c)
{
	char what[] = { '`', c, '`', 0 };
	if (!scan_accept(s, c)) scan_expected(s, what);
}

static size_t word_length(Scan *s)
{
	uint32_t hi;
	if (!is_word(scan_peek(s))) return 0;
	for (hi = s->at; hi < s->end && is_word((unsigned char)s->text[hi]); hi++) continue;
	return hi - s->at;
}

const char *scan_word(Scan *s, const char *what)
{
	size_t n = word_length(s);
	if (!n) {
		scan_expected(s, what);
		return NULL;
	}
	s->at += (uint32_t)n;
	return intern(s->names, s->text + s->last, n);
}

int scan_accept_word(Scan *s, const char *word)
{
	size_t n = word_length(s);
	if (n != strlen(word) || memcmp(s->text + s->at, word, n)) return 0;
	s->at += (uint32_t)n;
	return 1;
}

int scan_one_of(Scan *s, const char *const *words, int n, const char *what)
{
	for (int i = 0; i < n; i++)
		if (scan_accept_word(s, words[i])) return i;
	scan_expected(s, what);
	return 0;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

uint64_t scan_bits(Scan *s, int wide_unsigned)
{
	int minus = scan_accept(s, '-'), digits = 0, over = 0;
	uint64_t x = 0, limit = minus ? (uint64_t)1 << 63 : wide_unsigned ? UINT64_MAX : INT64_MAX;
	uint32_t lo = (scan_peek(s), s->at);
	if (s->failed) return 0;
	for (; s->at < s->end && s->text[s->at] >= '0' && s->text[s->at] <= '9'; s->at++, digits++)
		over |= __builtin_mul_overflow(x, (uint64_t)10, &x) || __builtin_add_overflow(x, (uint64_t)(s->text[s->at] - '0'), &x);
	if (!digits) scan_expected(s, "an integer");
	else if (over || x > limit) scan_error(s, E0408, scan_span(s, lo), "integer out of range");
	return minus ? 0 - x : x;
}

int64_t scan_int(Scan *s, int64_t lo, int64_t hi)
{
	uint32_t start = (scan_peek(s), s->at);
	int64_t x = (int64_t)scan_bits(s, 0);
	if (!s->failed && (x < lo || x > hi))
		scan_error(s, E0408, scan_span(s, start), "%" PRId64 " is not between %" PRId64 " and %" PRId64, x, lo, hi);
	return s->failed ? lo : x;
}

double scan_float(Scan *s)
{
	double x = 0;
	uint32_t lo = (scan_peek(s), s->at), hi;
	int minus = scan_accept(s, '-');
	if (scan_accept_word(s, "inf")) return minus ? -INFINITY : INFINITY;
	if (scan_accept_word(s, "nan")) return NAN;
	for (hi = s->at; hi < s->end && s->text[hi] && strchr("0123456789.eE+-", s->text[hi]); hi++) continue;
	if (s->failed || !text_float(s->text + s->at, hi - s->at, &x)) {
		scan_expected(s, "a number");
		return 0;
	}
	s->at = hi;
	s->last = lo;
	return minus ? -x : x;
}

/* --- strings ------------------------------------------------------------------------------------------------------- */

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9') return c - '0';
	if (c >= 'a' && c <= 'f') return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \u with four digits: below 0x80 only, which is all that is ever written */
static int scan_unicode(Scan *s)
{
	int x = 0;
	for (int i = 0; i < 4; i++) {
		int d = s->at < s->end ? hex_digit((unsigned char)s->text[s->at]) : -1;
		if (d < 0) return -1;
		x = x * 16 + d;
		s->at++;
	}
	return x > 0 && x < 0x80 ? x : -1;
}

static int scan_escape(Scan *s)
{
	int c = s->at < s->end ? s->text[s->at++] : 0;
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case '"': case '\\': return c;
	case 'u': return scan_unicode(s);
	default: return -1;
	}
}

const char *scan_string(Scan *s)
{
	Buf b = buf_new(s->mem);
	if (!scan_accept(s, '"')) scan_expected(s, "a string in quotes");
	uint32_t lo = s->last;
	while (!s->failed) {
		int c = s->at < s->end ? (unsigned char)s->text[s->at++] : -1;
		if (c == '"') break;
		if (c == '\\') c = scan_escape(s);
		if (c <= 0 || c == '\n') {
			if (c == '\n' && s->text[s->at - 1] != '\n') {
				buf_putc(&b, '\n');
				continue;
			}
			scan_error(s, E0408, (Span){ s->src, lo, lo + 1 }, "string does not end on its line, or has a bad escape");
			break;
		}
		buf_putc(&b, (char)c);
	}
	return s->failed || !b.n ? intern(s->names, "", 0) : intern(s->names, b.s, b.n);
}

/* --- shapes, dtypes, data --------------------------------------------------------------------------------------------- */

Shape scan_shape(Scan *s)
{
	Shape r = { 0 };
	uint32_t lo = (scan_peek(s), s->at);
	scan_expect(s, '[');
	if (scan_accept(s, ']')) return r;
	do {
		if (r.rank == MAX_RANK) scan_error(s, E0408, scan_span(s, lo), "more than %d dimensions", MAX_RANK);
		if (s->failed) return (Shape){ 0 };
		r.dim[r.rank++] = scan_int(s, 0, INT64_MAX / 16);
	} while (scan_accept(s, ','));
	scan_expect(s, ']');
	if (!shape_legal(r)) scan_error(s, E0408, scan_span(s, lo), "a shape with too many elements");
	return s->failed ? (Shape){ 0 } : r;
}

DType scan_dtype(Scan *s)
{
	const char *name = scan_word(s, "an element type");
	int t = name ? dtype_find(name) : -1;
	if (name && t < 0) scan_error(s, E0408, scan_span(s, s->last), "`%s` is no element type", name);
	return t < 0 ? DT_F32 : (DType)t;
}

Spec scan_spec(Scan *s)
{
	Spec spec = { .dtype = scan_dtype(s) };
	spec.shape = scan_shape(s);
	if (scan_accept_word(s, "meta")) {
		spec.has_meta = 1;
		spec.meta = scan_shape(s);
	}
	return spec;
}

static void scan_element(Scan *s, HostArray *h, unsigned char *p, size_t i)
{
	size_t size = dtype_size(h->dtype);
	if (dtype_is_float(h->dtype)) {
		rt_set(h->dtype, p, i, scan_float(s));
		return;
	}
	uint32_t lo = (scan_peek(s), s->at);
	uint64_t x = scan_bits(s, h->dtype == DT_U64);
	int sign = dtype_info[h->dtype].cls == 'i', bits = h->dtype == DT_BOOL ? 1 : (int)size * 8;
	int64_t v = (int64_t)x;
	if (bits < 64 && (sign ? v < -((int64_t)1 << (bits - 1)) || v >= (int64_t)1 << (bits - 1) : v < 0 || v >= (int64_t)1 << bits))
		scan_error(s, E0408, scan_span(s, lo), "%" PRId64 " does not fit %s", v, dtype_info[h->dtype].name);
	for (size_t k = 0; k < size; k++) p[i * size + k] = (unsigned char)(x >> (8 * k));
}

static void scan_list(Scan *s, HostArray *h)
{
	size_t n = (size_t)shape_nelems(h->shape);
	uint32_t lo = s->last;
	if (n > s->end - s->at) scan_error(s, E0408, scan_span(s, lo), "fewer elements than the shape needs");
	if (s->failed) return;
	unsigned char *p = host_bytes(s->mem, h, 0);
	for (size_t i = 0; i < n && !s->failed; i++) {
		if (i) scan_expect(s, ',');
		scan_element(s, h, p, i);
	}
	scan_expect(s, ']');
}

static void scan_hex(Scan *s, HostArray *h)
{
	size_t n = host_size(h);
	scan_expect(s, '"');
	uint32_t lo = s->last;
	if (n > (size_t)(s->end - s->at) / 2 || s->text[s->at + 2 * n] != '"') scan_error(s, E0408, scan_span(s, lo), "%zu bytes expected, in hexadecimal", n);
	if (s->failed) return;
	unsigned char *p = host_bytes(s->mem, h, 0);
	for (size_t i = 0; i < n; i++, s->at += 2) {
		int a = hex_digit((unsigned char)s->text[s->at]), b = hex_digit((unsigned char)s->text[s->at + 1]);
		if (a < 0 || b < 0) scan_error(s, E0408, scan_span(s, s->at), "not a hexadecimal digit");
		if (s->failed) return;
		p[i] = (unsigned char)(a << 4 | b);
	}
	s->at++;
}

static void scan_recipe(Scan *s, RtInit *r)
{
	r->kind = (RtInitKind)(1 + scan_one_of(s, text_init + 1, INIT_ARANGE, "host data"));
	if (r->kind == INIT_ZEROS) return;
	scan_expect(s, '(');
	r->a = scan_float(s);
	scan_expect(s, ',');
	r->b = scan_float(s);
	scan_expect(s, ',');
	if (!scan_accept_word(s, "_")) r->name = scan_string(s);
	scan_expect(s, ',');
	r->draw = (uint32_t)scan_int(s, 0, UINT32_MAX);
	scan_expect(s, ')');
}

HostArray *scan_host(Scan *s, Spec spec)
{
	HostArray *h = host_new(s->mem, spec.dtype, spec.shape);
	if (scan_accept(s, '[')) scan_list(s, h);
	else if (scan_accept_word(s, "hex")) scan_hex(s, h);
	else scan_recipe(s, &h->init);
	return h;
}
