/* nested_session_contexts.c — whoever enters a session undoes only what entering did: the inner of two leaves it as it was. */
#include "guide.h"

static Guide g;

typedef struct Context { int did_attach; } Context;

static Context enter(void)
{
	Context c = { !pxl_is_attached(g.s) };
	must(&g, pxl_attach(g.s));
	return c;
}

static void leave(Context c)
{
	if (c.did_attach) must(&g, pxl_detach(g.s, 1));
}

static void report(const char *where) { printf("%-12s %s\n", where, pxl_is_attached(g.s) ? "attached" : "detached"); }

int main(void)
{
	g = guide_open("tensor_get_write.pxl", 1);
	report("before");
	Context outer = enter();
	report("outer");
	Context inner = enter();
	must(&g, pxl_run(g.s, 1));
	report("inner");
	leave(inner);
	report("outer again");
	leave(outer);
	report("after");
	guide_close(&g);
	return 0;
}
