/* graphs.c — thousands of random graphs of 5 to 50 ops, in every way to compile and run them.
 *
 *   build/t-long/long/graphs [FIRST [HOW MANY [WAYS]]]       WAYS: only so many of them; the first ones need no C compiler */
#include "tests/graphs/check_graphs.h"

enum { BATCH = 25 };

int main(int argc, char **argv)
{
	Tally all = { 0 };
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int many = argc > 2 ? atoi(argv[2]) : 2000;
	int ways = argc > 3 ? atoi(argv[3]) : CONFIGS;
	for (int i = 0; i < many; i += BATCH) {
		check_batch(first + (uint64_t)i, many - i < BATCH ? many - i : BATCH, 5, 50, ways < CONFIGS ? ways : CONFIGS, &all);
		if (i / BATCH % 8 == 7) printf("%d graphs, %d wrong\n", all.graphs, all.wrong), fflush(stdout);
	}
	printf("%d graphs of %d values, %d did not run; %d against differences\n", all.graphs, all.ops, all.unrun, all.slopes);
	CHECK("", !all.wrong);
	return check_done();
}
