/* graphs.c — thousands of random graphs of 5 to 50 ops, in every way to compile and run them.
 *
 *   build/t-long/long/graphs [FIRST [HOW MANY]]       seeds are printed; a single one is FIRST 1 */
#include "tests/graphs/check_graphs.h"

enum { BATCH = 25 };

int main(int argc, char **argv)
{
	Tally all = { 0 };
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int many = argc > 2 ? atoi(argv[2]) : 2000;
	for (int i = 0; i < many; i += BATCH) check_batch(first + (uint64_t)i, many - i < BATCH ? many - i : BATCH, 5, 50, CONFIGS, &all);
	printf("%d graphs of %d values, %d did not run; %d against differences\n", all.graphs, all.ops, all.unrun, all.slopes);
	CHECK("", !all.wrong);
	return check_done();
}
