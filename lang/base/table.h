/* table.h — rows of text in columns. */
#ifndef LANG_BASE_TABLE_H
#define LANG_BASE_TABLE_H

#include "lang/base/buf.h"

/* Cells row by row; columns are as wide as their widest cell, counted in characters, with `delimiter` between them. After the
 * first row, if it is a header, stands a rule of dashes. Lines end with a newline, and with no blanks before it. */
void text_table(const char *const *cells, int rows, int columns, const char *delimiter, int header, Buf *out);

#endif
