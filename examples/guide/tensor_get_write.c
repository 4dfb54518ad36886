/* tensor_get_write.c — variables read and written by the host between runs. */
#include "guide.h"

int main(void)
{
	Guide g = guide_open("tensor_get_write.pxl", 0);
	int a = pxl_find(g.p, PXL_VARIABLE, "a"), b = pxl_find(g.p, PXL_VARIABLE, "b"), sum = pxl_find(g.p, PXL_OUTPUT, "sum");
	int32_t x, y, s, five = 5;

	must(&g, pxl_run(g.s, 1));
	must(&g, pxl_read(g.s, sum, &s, sizeof s));
	must(&g, pxl_read(g.s, a, &x, sizeof x));
	must(&g, pxl_read(g.s, b, &y, sizeof y));
	printf("sum = %d, a = %d, b = %d\n", s, x, y);

	must(&g, pxl_write(g.s, a, &five, sizeof five));
	must(&g, pxl_read(g.s, a, &x, sizeof x));
	must(&g, pxl_run(g.s, 1));
	must(&g, pxl_read(g.s, sum, &s, sizeof s));
	printf("a = %d, sum = %d\n", x, s);
	guide_close(&g);
	return 0;
}
