/* tensor_get_write_adv.c — when weights move: each line says how many times they have gone to the host and to the device.
 *
 * While the device may be ahead, reading fetches all variables at once, and then none is fetched again until the next run. */
#include "guide.h"

static Guide g;
static int a, b;

static int32_t get(int variable)
{
	int32_t x;
	must(&g, pxl_read(g.s, variable, &x, sizeof x));
	return x;
}

static void report(const char *what, int32_t x)
{
	pxl_traffic t = PXL_TRAFFIC_INIT;
	pxl_get_traffic(g.s, &t);
	printf("%-24s %d   to host %d, from host %d\n", what, x, (int)t.weights_to_host, (int)t.weights_from_host);
}

static void set(int32_t x) { must(&g, pxl_write(g.s, a, &x, sizeof x)); }
static void run(void) { must(&g, pxl_run(g.s, 1)); }

int main(void)
{
	g = guide_open("tensor_get_write.pxl", 1);
	a = pxl_find(g.p, PXL_VARIABLE, "a");
	b = pxl_find(g.p, PXL_VARIABLE, "b");
	set(5);
	report("written while detached", get(a));
	must(&g, pxl_attach(g.s));
	report("attached", get(a));
	run();
	report("after a run", get(a));
	report("the other one", get(b));
	set(5);
	report("written while attached", get(a));
	run();
	must(&g, pxl_detach(g.s, 1));
	report("detached", get(a));
	report("the other one", get(b));
	guide_close(&g);
	return 0;
}
