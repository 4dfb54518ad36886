/* table.c — rows of text in columns: measured first, then written. */
#include "lang/base/table.h"

#include <string.h>

/* characters, not bytes: what continues one in UTF-8 is not counted */
static int width_of(const char *s)
{
	int n = 0;
	for (; *s; s++) n += (*s & 0xc0) != 0x80;
	return n;
}

static void put_row(const char *const *cell, const int *width, int columns, const char *delimiter, Buf *out)
{
	size_t start = out->n;
	for (int k = 0; k < columns; k++) {
		if (k) buf_puts(out, delimiter);
		buf_puts(out, cell[k]);
		buf_pad(out, ' ', width[k] - width_of(cell[k]));
	}
	while (out->n > start && out->s[out->n - 1] == ' ') out->s[--out->n] = 0;
	buf_putc(out, '\n');
}

void text_table(const char *const *cells, int rows, int columns, const char *delimiter, int header, Buf *out)
{
	int *width = NEWN(out->mem, int, columns + 1), line = columns > 1 ? (columns - 1) * width_of(delimiter) : 0;
	for (int i = 0; i < rows * columns; i++)
		if (width[i % columns] < width_of(cells[i])) width[i % columns] = width_of(cells[i]);
	for (int k = 0; k < columns; k++) line += width[k];
	for (int i = 0; i < rows; i++) {
		put_row(cells + (size_t)i * (size_t)columns, width, columns, delimiter, out);
		if (i || !header) continue;
		buf_pad(out, '-', line);
		buf_putc(out, '\n');
	}
}
