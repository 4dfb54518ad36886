/* code_loading.c — what loads of code cost, and when which code has to be there: of both models, since a graph may be loaded by another. */
#include "guide.h"

static void run(const char *file)
{
	Guide g = guide_open(file, 0);
	pxl_traffic t = PXL_TRAFFIC_INIT;
	const char *when;
	float x = 1, y;
	int in = pxl_find(g.p, PXL_INPUT, "x");

	if (in >= 0) must(&g, pxl_bind(g.s, in, &x, sizeof x));
	must(&g, pxl_run(g.s, 3));
	must(&g, pxl_read(g.s, pxl_find(g.p, PXL_OUTPUT, "y"), &y, sizeof y));
	pxl_get_traffic(g.s, &t);
	must(&g, pxl_emit(g.p, "code", NULL, &when));
	printf("y = %g, code was loaded %llu times in 3 runs\n%s", y, (unsigned long long)t.code_loads, when);
	guide_close(&g);
}

int main(void)
{
	run("code_loading.pxl");
	run("code_loading_nested.pxl");
	return 0;
}
