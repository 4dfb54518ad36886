/* simple_addition.c — results in arrays of the session's, and in arrays of one's own.
 *
 *   cc simple_addition.c $(pkg-config --cflags --libs pxl) -o simple_addition && ./simple_addition */
#include "guide.h"

int main(void)
{
	Guide g = guide_open("simple_addition.pxl", 1);
	int a = pxl_find(g.p, PXL_INPUT, "a"), b = pxl_find(g.p, PXL_INPUT, "b"), sum = pxl_find(g.p, PXL_OUTPUT, "sum");
	float ten = 10, twenty = 20, result = 0, own = 0;

	/* the session keeps the result until it is read */
	must(&g, pxl_attach(g.s));
	must(&g, pxl_write(g.s, a, &ten, sizeof ten));
	must(&g, pxl_write(g.s, b, &twenty, sizeof twenty));
	must(&g, pxl_run(g.s, 1));
	must(&g, pxl_read(g.s, sum, &result, sizeof result));
	must(&g, pxl_detach(g.s, 1));

	/* entered again: the program writes straight into the array that is bound */
	must(&g, pxl_attach(g.s));
	must(&g, pxl_bind(g.s, sum, &own, sizeof own));
	must(&g, pxl_run(g.s, 1));
	must(&g, pxl_detach(g.s, 1));

	printf("%g + %g = %g, and %g again\n", ten, twenty, result, own);
	guide_close(&g);
	return 0;
}
