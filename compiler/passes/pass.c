/* pass.c — runs the pipeline of passes.def. */
#include "compiler/passes/pass.h"

#include <string.h>
#include <time.h>

typedef struct PassRow { const char *name; int level; const char *doc; int (*run)(PassCx *cx); } PassRow;

static const PassRow rows[] = {
#define PASS(name, level, doc) { #name, level, doc, pass_##name },
#include "compiler/passes/passes.def"
#undef PASS
};
enum { NPASS = sizeof rows / sizeof *rows };

int pass_count(void) { return NPASS; }
const char *pass_name(int i) { return rows[i].name; }
const char *pass_doc(int i) { return rows[i].doc; }

int pass_bug(Ir *ir, Span at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag(ir->ds, E0999, at, "internal error: %s", arena_vprintf(ir->mem, fmt, ap));
	va_end(ap);
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int verified(Ir *ir, const char *pass)
{
	Buf why = buf_new(ir->mem);

	return ir_verify(ir, &why) ? 1 : pass_bug(ir, (Span){ 0 }, "after %s: %s", pass, why.s);
}

/* A pass of level 0 cannot be left out: nothing could be emitted.  Disabled, it does as at -O0, no more than it must. */
static int level_of(const PassOptions *o, int i)
{
	return o->disabled >> i & 1 ? 0 : o->level;
}

static int wanted(const PassOptions *o, int i)
{
	return rows[i].level <= level_of(o, i) && !(o->alone && o->disabled >> i & 1);
}

int passes_run(Ir *ir, const PassOptions *o)
{
	for (int i = 0; i < NPASS; i++) {
		PassCx cx = { ir, ir->mem, level_of(o, i) };
		double start = now_ms();
		int ok = !wanted(o, i) || rows[i].run(&cx);

		if (o->times) {
			o->times[i].name = rows[i].name;
			o->times[i].ms = now_ms() - start;
		}
		if (!ok || (o->verify && wanted(o, i) && !verified(ir, rows[i].name))) return 0;
		if (o->stop_after && !strcmp(o->stop_after, rows[i].name)) break;
	}
	return 1;
}
