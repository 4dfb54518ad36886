/* remote_variable.c — a variable in streaming memory is read and written like any other. */
#include "guide.h"

int main(void)
{
	Guide g = guide_open("remote_variable.pxl", 0);
	int v = pxl_find(g.p, PXL_VARIABLE, "v"), out = pxl_find(g.p, PXL_OUTPUT, "out");
	int32_t stream, handle, forty = 40;

	must(&g, pxl_run(g.s, 1));
	must(&g, pxl_read(g.s, out, &stream, sizeof stream));
	must(&g, pxl_read(g.s, v, &handle, sizeof handle));
	printf("stream %d, handle %d\n", stream, handle);
	must(&g, pxl_write(g.s, v, &forty, sizeof forty));
	must(&g, pxl_run(g.s, 1));
	must(&g, pxl_read(g.s, v, &handle, sizeof handle));
	printf("handle %d\n", handle);
	guide_close(&g);
	return 0;
}
