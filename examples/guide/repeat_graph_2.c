/* repeat_graph_2.c — transfers in a loop: one array holds the entries of all turns, [turns, 2, 2]. */
#include "guide.h"

enum { TURNS = 8 };

int main(void)
{
	Guide g = guide_open("repeat_graph_2.pxl", 0);
	int xs = pxl_find(g.p, PXL_INPUT, "x"), ys = pxl_find(g.p, PXL_OUTPUT, "y"), wrong = 0;
	float x[TURNS][2][2], y[TURNS][2][2];
	pxl_info info;

	if (!pxl_get_info(g.p, xs, &info) || info.rank != 3 || info.dim[0] != TURNS) return 1;
	for (int i = 0; i < TURNS; i++)
		for (int j = 0; j < 4; j++) x[i][j / 2][j % 2] = (float)(i * i + j);
	must(&g, pxl_bind(g.s, xs, x, sizeof x));
	must(&g, pxl_bind(g.s, ys, y, sizeof y));
	must(&g, pxl_run(g.s, 1));
	for (int i = 0; i < TURNS; i++)                                /* y[i] = x[i] @ ones + ones */
		for (int j = 0; j < 4; j++) wrong += y[i][j / 2][j % 2] != x[i][j / 2][0] + x[i][j / 2][1] + 1;
	printf("%d turns, %d wrong\n", TURNS, wrong);
	guide_close(&g);
	return wrong != 0;
}
