/* grid_test.c — the generated grid of values, as much of it as every day has time for: every op × type × shape class
 * under libtcc, and of each op some of everything under the system's compiler.  With an op's name: that op, all of it. */
#include "tests/ops/grid/walk.h"

int main(int argc, char **argv)
{
	Walk w = { .every = 1 < argc ? 1 : 9, .only = 1 < argc ? argv[1] : 0 };
	walk(&w);
	return check_done();
}
