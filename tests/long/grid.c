/* grid.c — the whole generated grid of values under both compilers, and at -O0 besides. */
#include "tests/ops/grid/walk.h"

int main(void)
{
	Walk w = { .every = 1 };
	walk(&w);
	return check_done();
}
