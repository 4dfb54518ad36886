/* graphs_test.c — some dozens of random graphs, the same ones every time; tests/long/graphs.c has thousands. */
#include "tests/graphs/check_graphs.h"

int main(void)
{
	Tally all = { 0 };
	check_batch(1, 8, 5, 30, CONFIGS, &all);
	check_batch(1000, 20, 5, 20, TCC_CONFIGS, &all);
	printf("%d graphs of %d values, %d did not run; %d against differences\n", all.graphs, all.ops, all.unrun, all.slopes);
	CHECK("R174 R192 R195 R239 R241", !all.wrong);
	CHECK("", all.unrun * 5 < all.graphs && all.slopes > 5);
	return check_done();
}
