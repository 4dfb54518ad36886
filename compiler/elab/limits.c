/* limits.c — a model is data to the machine that builds it: how long, how deep and how big it may get.
 *
 * Steps count statements, loop turns and calls.  Depth counts nested expressions, blocks and calls together,
 * so that C's stack is never at risk.  Memory counts what the arena handed out since the run began. */
#include "compiler/elab/eval.h"

enum { MAX_STEPS = 20 * 1000 * 1000, MAX_CALLS = 256, MAX_DEPTH = 2000 };

/* values may take a quarter of what the whole compiler may (--max-memory): passes need room too */
static uint64_t max_bytes(const Elab *e) { return e->mem->limit ? e->mem->limit / 4 : (uint64_t)1 << 29; }

void limits_reset(Elab *e)
{
	e->steps = 0;
	e->depth = e->calls = e->loops = 0;
	e->stop = 0;
	e->used_at_start = e->mem->used;
}

static int stop(Elab *e)
{
	e->stop = 1;
	return 0;
}

int step(Elab *e, Span at)
{
	if (e->stop) return 0;
	int64_t max = e->o.max_steps > 0 ? e->o.max_steps : MAX_STEPS;
	if (++e->steps > max) {
		fail(e, E0803, at, "evaluation takes more than %lld steps", (long long)max);
		return stop(e);
	}
	if (e->mem->used - e->used_at_start <= max_bytes(e)) return 1;
	Diag *d = fail_diag(e, E0801, at, "building the model takes more than %llu MB of memory", (unsigned long long)(max_bytes(e) >> 20));
	diag_help(e->ds, d, (Span){ 0, 0, 0 }, "--max-memory MIB gives the compiler more: four times what is wanted here");
	return stop(e);
}

int enter(Elab *e, Span at)
{
	if (e->stop) return 0;
	int calls = e->o.max_depth > 0 ? e->o.max_depth : MAX_CALLS;
	if (++e->depth <= MAX_DEPTH && e->calls <= calls) return 1;
	e->depth--;
	if (e->calls > calls) fail(e, E0802, at, "calls are nested more than %d deep", calls);
	else fail(e, E0802, at, "expressions are nested more than %d deep", MAX_DEPTH);
	return stop(e);
}

void leave(Elab *e) { e->depth--; }

int may_take(Elab *e, uint64_t bytes, Span at)
{
	if (bytes <= max_bytes(e) && e->mem->used - e->used_at_start + bytes <= max_bytes(e)) return 1;
	fail(e, E0801, at, "this needs %llu MB of memory, more than building a model may use", (unsigned long long)(bytes >> 20));
	return 0;
}
