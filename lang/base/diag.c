/* diag.c — collecting diagnostics.  What is printed of them is in render.c.
 *
 * Beyond the limit, or when the same is told of the same place (a loop makes one mistake many times), a
 * diagnostic is counted but not kept: its builder writes into `spare`, so that callers need not care. */
#include "lang/base/diag.h"

#include <stdlib.h>
#include <string.h>

const DiagInfo diag_table[DIAG_COUNT] = {
#define DIAG(code, kind, title, text) { #code, kind, title, text },
#include "lang/base/diag.def"
#undef DIAG
};

const char *const diag_kind_name[] = {
	[K_SYNTAX] = "SyntaxError", [K_NAME] = "NameError", [K_TYPE] = "TypeError", [K_VALUE] = "ValueError",
	[K_RUNTIME] = "RuntimeError", [K_INDEX] = "IndexError", [K_NOTIMPL] = "NotImplementedError",
	[K_LIMIT] = "LimitError", [K_IO] = "IOError", [K_INTERNAL] = "InternalError",
};

int diag_find(const char *code)
{
	for (int i = 0; i < DIAG_COUNT; i++)
		if (!strcmp(diag_table[i].code, code)) return i;
	return -1;
}

static int kept(const Diags *ds, const Diag *d) { return d != &ds->spare; }

static int to_keep(const Diags *ds, DiagCode code, DiagLevel level, Span at)
{
	int n = 0;
	for (int i = 0; i < ds->at.n; i++) {
		const Diag *d = ds->at.at[i];
		if (d->code == code && at.hi > at.lo && d->at.src == at.src && d->at.lo == at.lo && d->at.hi == at.hi) return 0;
		n += d->level == level;
	}
	return n < (ds->max_errors ? ds->max_errors : 20);
}

Diag *diag(Diags *ds, DiagCode code, Span at, const char *fmt, ...)
{
	DiagLevel level = diag_table[code].code[0] == 'W' ? D_WARNING : D_ERROR;
	Diag *d = &ds->spare;
	*(level == D_ERROR ? &ds->errors : &ds->warnings) += 1;
	if (to_keep(ds, code, level, at)) {
		d = NEW(ds->mem, Diag);
		vec_push(ds->mem, &ds->at, d);
	}
	*d = (Diag){ .code = code, .level = level, .at = at, .text = "" };
	if (!kept(ds, d)) return d;
	va_list ap;
	va_start(ap, fmt);
	d->text = arena_vprintf(ds->mem, fmt, ap);
	va_end(ap);
	return d;
}

void diag_label(Diags *ds, Diag *d, const char *fmt, ...)
{
	if (!kept(ds, d)) return;
	va_list ap;
	va_start(ap, fmt);
	d->label = arena_vprintf(ds->mem, fmt, ap);
	va_end(ap);
}

static void add_sub(Diags *ds, Diag *d, DiagLevel level, Span at, const char *fmt, va_list ap)
{
	if (!kept(ds, d)) return;
	DiagSub s = { level, at, arena_vprintf(ds->mem, fmt, ap) };
	vec_push(ds->mem, &d->sub, s);
}

void diag_note(Diags *ds, Diag *d, Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_sub(ds, d, D_NOTE, at, fmt, ap);
	va_end(ap);
}

void diag_help(Diags *ds, Diag *d, Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_sub(ds, d, D_HELP, at, fmt, ap);
	va_end(ap);
}

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : b < c ? b : c; }

enum { LONGEST_NAME = 64 };

/* Edits (insert, delete, replace, swap neighbours) that turn a into b; names are short, so three rows
 * on the stack will do. */
static int distance(const char *a, int n, const char *b, int m)
{
	int row[3][LONGEST_NAME + 1];
	for (int j = 0; j <= m; j++) row[0][j] = j;
	for (int i = 1; i <= n; i++) {
		int *now = row[i % 3], *before = row[(i + 2) % 3], *two = row[(i + 1) % 3];
		now[0] = i;
		for (int j = 1; j <= m; j++) {
			now[j] = min3(now[j - 1] + 1, before[j] + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two[j - 2] + 1 < now[j])
				now[j] = two[j - 2] + 1;
		}
	}
	return row[n % 3][m];
}

/* a third of the name may differ, at least one letter; the first of equally near candidates wins */
const char *nearest(const char *name, const char *const *candidates, int n)
{
	size_t len = strlen(name);
	if (len == 0 || len > LONGEST_NAME) return NULL;
	int best = (int)len / 3 + 1;
	if (len <= 2) best = 1;
	const char *found = NULL;
	for (int i = 0; i < n; i++) {
		size_t m = candidates[i] ? strlen(candidates[i]) : 0;
		if (m == 0 || m > LONGEST_NAME || abs((int)m - (int)len) > best) continue;
		int d = distance(name, (int)len, candidates[i], (int)m);
		if (d < best || (d == best && !found)) {
			if (d == (int)len && d == (int)m) continue;   /* nothing in common */
			best = d;
			found = candidates[i];
		}
	}
	return found;
}
