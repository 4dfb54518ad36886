/* plan_print.c — the memory plan as text (`pxlc emit plan`): regions, and per graph its frame against the
 * lower bound, what lives at the peak, and where every value lies and for how long. */
#include "compiler/passes/pass.h"

#include <inttypes.h>

static const char *space_name(const Place *p)
{
	static const char *const names[] = { [SPACE_NONE] = "-", [SPACE_FRAME] = "frame", [SPACE_VARS] = "vars", [SPACE_CONSTS] = "consts",
		[SPACE_PARAM] = "param", [SPACE_REMOTE] = "remote", [SPACE_STREAM] = "stream", [SPACE_FIXED] = "fixed",
		[SPACE_HOST] = "host" };
	return names[p->space];
}

static void put_place(const Place *p, Buf *out)
{
	if (p->space == SPACE_PARAM || p->space == SPACE_FIXED) buf_printf(out, "%-6s %10d", space_name(p), p->param);
	else if (p->space == SPACE_STREAM) buf_printf(out, "%-6s %10s", space_name(p), "");
	else buf_printf(out, "%-6s %10zu", space_name(p), p->offset);
}

static void put_value(const Plan *p, const GraphPlan *gp, const Tensor *t, Arena *mem, Buf *out)
{
	const Place *at = &p->place[t->index];

	buf_puts(out, "  ");
	put_place(at, out);
	buf_printf(out, " %10zu  ", at->bytes);
	if (in_frame(at)) buf_printf(out, "%5d-%-5d", gp->first[t->index], gp->last[t->index]);
	else buf_printf(out, "%11s", "");
	buf_printf(out, " %s %s\n", t->name, spec_str(mem, t->spec.dtype, t->spec.shape));
}

static int lives_at(const GraphPlan *gp, const Tensor *t, int step)
{
	return gp->first[t->index] <= step && step <= gp->last[t->index];
}

static void put_peak(const Ir *ir, const Plan *p, const Graph *g, Buf *out)
{
	const GraphPlan *gp = &p->graph[g->index];
	int n = 0;

	if (!gp->lower_bound || gp->peak_step >= gp->nop) return;
	buf_printf(out, "  at the peak, step %d (%s.%d):", gp->peak_step, op_type_name(gp->order[gp->peak_step]), gp->order[gp->peak_step]->id);
	for (int i = 0; i < g->tensors.n; i++) {
		const Tensor *t = g->tensors.at[i];
		if (!in_frame(&p->place[t->index]) || !lives_at(gp, t, gp->peak_step)) continue;
		buf_printf(out, "%s %s", n++ ? "," : "", t->name);
	}
	if (op_is(gp->order[gp->peak_step], CALLS)) buf_printf(out, "%s the frame of the call", n ? "," : "");
	buf_putc(out, '\n');
	(void)ir;
}

static void put_graph(const Ir *ir, const Plan *p, const Graph *g, Buf *out)
{
	const GraphPlan *gp = &p->graph[g->index];

	buf_printf(out, "graph %s: frame %zu bytes, lower bound %zu, %d ops\n", g->id[0] ? g->id : "main", gp->frame_bytes, gp->lower_bound, gp->nop);
	put_peak(ir, p, g, out);
	for (int i = 0; i < g->tensors.n; i++)
		if (p->place[g->tensors.at[i]->index].space != SPACE_NONE) put_value(p, gp, g->tensors.at[i], ir->mem, out);
}

static void put_buffers(const Ir *ir, const Plan *p, Buf *out)
{
	if (ir->buffers.n) buf_printf(out, "remote %zu bytes\n", p->remote_bytes);
	for (int i = 0; i < ir->buffers.n; i++) {
		const RemoteBuffer *b = ir->buffers.at[i];
		buf_printf(out, "  buffer %d at %zu: %" PRId64 " entries of %s\n", i + 1, p->buffer[i], b->entries, spec_str(ir->mem, b->spec.dtype, b->spec.shape));
	}
}

void plan_print(const Ir *ir, const Plan *p, Buf *out)
{
	buf_printf(out, "variables %zu bytes, constants %zu bytes, frame %zu bytes\n", p->var_bytes + p->fixed_bytes, p->const_bytes, p->frame_bytes);
	put_buffers(ir, p, out);
	for (int i = 0; i < ir->graphs.n; i++) {
		buf_putc(out, '\n');
		put_graph(ir, p, ir->graphs.at[i], out);
	}
}
