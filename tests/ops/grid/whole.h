/* whole.h — all rows of the grid: a family is a table in a file of its own. */
#ifndef TESTS_OPS_GRID_WHOLE_H
#define TESTS_OPS_GRID_WHOLE_H

#include "tests/ops/grid/attend.h"
#include "tests/ops/grid/learn.h"
#include "tests/ops/grid/move.h"
#include "tests/ops/grid/order.h"
#include "tests/ops/grid/product.h"

typedef struct Rows { const Row *at; size_t n; } Rows;
#define ROWS(t) { t, sizeof t / sizeof *t }
static const Rows all_rows[] = { ROWS(each_rows), ROWS(fold_rows), ROWS(move_rows), ROWS(product_rows), ROWS(order_rows), ROWS(learn_rows), ROWS(attend_rows) };
enum { FAMILIES = sizeof all_rows / sizeof *all_rows };

#endif
