/* control.c — call, repeat, conditional: emitted functions calling each other.
 *
 * A callee gets the lane, a frame that lies in its caller's, a pointer per input and a pointer per
 * output.  By-value operands that a callee writes have been copied before (see plan.h), so every
 * operand goes in as it is; repeat alone keeps memory of its own behind the callee's frame:
 *
 *   carried values    iteration i reads what iteration i-1 wrote. Two buffers take turns, the result's
 *                     own and a second one, so that the last iteration writes the result's (R174).
 *   carried, by-ref   the body writes the parent's storage, so every result is copied there before
 *                     the next iteration (R181).
 *   other inputs that the body writes by value are fetched anew in every iteration (R179).
 *   rows              of operands and results that have one per iteration, the body sees the one whose turn it is. */
#include "compiler/codegen/module.h"

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }
static size_t spec_bytes(Spec s) { return (size_t)shape_nelems(s.shape) * dtype_size(s.dtype); }

static size_t callee_frame(const Op *op, const Plan *p)
{
	size_t most = 0;
	for (int i = 0; i < 2; i++)
		if (op->callee[i] && p->graph[op->callee[i]->index].frame_bytes > most) most = p->graph[op->callee[i]->index].frame_bytes;
	return align64(most);
}

static int ncarried(const Op *op) { return op->callee[0]->written_outputs; }
static int by_ref(const Op *op, int i) { return op_modifies(op, i); }

/* does repeat keep a buffer for operand i: a second home of a carried value, or the copy the body may spoil */
static int keeps_buffer(const Op *op, int i)
{
	if (by_ref(op, i)) return 0;
	return i < ncarried(op) || graph_modifies_input(op->callee[0], i);
}

size_t call_bytes(const Op *op, const Plan *p)
{
	size_t n = callee_frame(op, p);
	if (op->code != OP_repeat) return n;
	for (int i = 0; i < op->in.n; i++)
		if (keeps_buffer(op, i)) n += align64(spec_bytes(op->callee[0]->inputs.at[i]->spec));
	return n;
}

/* --- arguments ------------------------------------------------------------------------------------------------- */
typedef struct Args { Emit *e; const Op *op; Graph *g; Buf text; int packed, n; } Args;

static const char *frame_arg(Emit *e, const Graph *g, size_t frame)
{
	if (!e->plan->graph[g->index].frame_bytes) return "0";
	e->uses_fr = 1;
	return arena_printf(e->mem, "fr + %zu", frame);
}

static Args args_begin(Emit *e, const Op *op, Graph *g, size_t frame)
{
	Args a = { .e = e, .op = op, .g = g, .text = buf_new(e->mem), .packed = packed_params(g) };
	if (!a.packed) buf_printf(&a.text, "%s(rt, ln, %s", e->fn_name[g->index], frame_arg(e, g, frame));
	return a;
}

static void arg(Args *a, const char *expr)
{
	if (a->packed) buf_printf(&a->text, "%s%s(void *)(%s)", a->n ? "," : "", a->n % 4 ? " " : "\n\t\t", expr);
	else buf_printf(&a->text, ", %s", expr);
	a->n++;
}

/* The call as an expression.  Pointers of a graph with very many go through an array, which is declared here. */
static const char *args_end(Args *a, size_t frame, const char *pad)
{
	const char *array;
	if (!a->packed) return a->text.s;
	array = emit_name(a->e, "pointers");
	emit_line(a->e, "%svoid *const %s[] = {%s };", pad, array, a->text.s);
	return arena_printf(a->e->mem, "%s(rt, ln, %s, %s", a->e->fn_name[a->g->index], frame_arg(a->e, a->g, frame), array);
}

/* operand `in` as input i of the callee */
static void arg_in(Args *a, int i, int in)
{
	Tensor *t = a->op->in.at[in];
	const char *p = emit_ptr(a->e, t);
	if (graph_modifies_input(a->g, i) && tensor_is_const(a->e, t))
		emit_fail(a->e, a->op, "`%s` writes operand %d, which cannot be written", a->g->id, in);
	arg(a, p);
}

static void args_out(Args *a)
{
	for (int i = 0; i < a->g->outputs.n && i < a->op->out.n; i++) arg(a, emit_out(a->e, a->op, i));
}

static int fits(Emit *e, const Op *op, const Graph *g, int nin)
{
	if (g->inputs.n == nin && g->outputs.n == op->out.n) return 1;
	emit_fail(e, op, "call of `%s` with %d operands and %d results for %d inputs and %d outputs", g->id, nin, op->out.n,
	          g->inputs.n, g->outputs.n);
	return 0;
}

/* --- call, conditional ----------------------------------------------------------------------------------------- */
static const char *call_text(Emit *e, const Op *op, Graph *g, size_t frame, int first)
{
	Args a = args_begin(e, op, g, frame);
	for (int i = 0; i < g->inputs.n; i++) arg_in(&a, i, first + i);
	args_out(&a);
	e->uses_st = 1;
	return args_end(&a, frame, "");
}

void emit_call(Emit *e, const Op *op, size_t frame)
{
	Graph *g = op->callee[0];
	if (!fits(e, op, g, op->in.n)) return;
	emit_line(e, "if ((st = %s))) return st;", call_text(e, op, g, frame, 0));
}

/* operands: the condition, the inputs of then, the inputs of else (R189) */
void emit_conditional(Emit *e, const Op *op, size_t frame)
{
	Graph *then = op->callee[0], *other = op->callee[1];
	if (!fits(e, op, then, then->inputs.n) || !fits(e, op, other, op->in.n - 1 - then->inputs.n)) return;
	const char *yes = call_text(e, op, then, frame, 1), *no = call_text(e, op, other, frame, 1 + then->inputs.n);
	emit_line(e, "if (*%s) {", emit_in(e, op, 0));
	emit_line(e, "\tif ((st = %s))) return st;", yes);
	emit_line(e, "} else {");
	emit_line(e, "\tif ((st = %s))) return st;", no);
	emit_line(e, "}");
}

/* --- repeat ------------------------------------------------------------------------------------------------------ */
typedef struct Repeat {
	Emit *e;
	const Op *op;
	Graph *g;
	int64_t count;
	size_t frame;
	const char **buffer;         /* per operand: the memory kept behind the callee's frame, or NULL */
	const char **now, **to;      /* carried: names of the pointers read and written in this iteration */
} Repeat;

static void find_buffers(Repeat *r)
{
	size_t at = r->frame + callee_frame(r->op, r->e->plan);
	r->buffer = NEWN(r->e->mem, const char *, r->op->in.n + 1);
	r->now = NEWN(r->e->mem, const char *, r->op->in.n + 1);
	r->to = NEWN(r->e->mem, const char *, r->op->in.n + 1);
	for (int i = 0; i < r->op->in.n; i++) {
		Spec s = r->g->inputs.at[i]->spec;
		if (!keeps_buffer(r->op, i)) continue;
		r->buffer[i] = arena_printf(r->e->mem, "(%s *)(fr + %zu)", emit_ctype(s.dtype), at);
		r->e->uses_fr = 1;
		at += align64(spec_bytes(s));
	}
}

static void copy_line(Repeat *r, const char *pad, const char *to, const char *from, Spec s)
{
	if (spec_bytes(s)) emit_line(r->e, "%srt->memcpy(%s, %s, %zu);", pad, to, from, spec_bytes(s));
}

static int is_carried(const Repeat *r, int i) { return i < ncarried(r->op); }

/* where this turn's row begins; dir -1: the last turn reads the first */
static const char *row(Repeat *r, const char *base, Spec one, int dir)
{
	long long n = (long long)shape_nelems(one.shape);
	if (!dir || !n) return base;
	if (dir > 0) return arena_printf(r->e->mem, "%s + i * %lld", base, n);
	return arena_printf(r->e->mem, "%s + (%lld - i) * %lld", base, (long long)r->count - 1, n);
}

static const char *operand(Repeat *r, int i)
{
	return row(r, emit_in(r->e, r->op, i), r->g->inputs.at[i]->spec, op_rows(r->op, i));
}

/* no iteration: the results are the initial values (R176) */
static void copy_through(Repeat *r)
{
	for (int j = 0; j < ncarried(r->op); j++)
		copy_line(r, "", emit_out(r->e, r->op, j), emit_in(r->e, r->op, j), r->op->in.at[j]->spec);
}

static void declare_carried(Repeat *r)
{
	for (int j = 0; j < ncarried(r->op); j++) {
		Tensor *in = r->op->in.at[j];
		const char *type = emit_ctype(in->spec.dtype), *cv = tensor_is_const(r->e, in) ? "const " : "";
		if (!r->buffer[j]) continue;
		r->now[j] = emit_name(r->e, arena_printf(r->e->mem, "%s_now", in->name));
		r->to[j] = emit_name(r->e, arena_printf(r->e->mem, "%s_next", in->name));
		emit_line(r->e, "\t%s%s *%s = %s;", cv, type, r->now[j], emit_in(r->e, r->op, j));
	}
}

/* The last iteration, count - 1, writes the result; those before it take turns backwards from there. */
static void begin_turn(Repeat *r)
{
	for (int i = 0; i < r->op->in.n; i++) {
		Spec s = r->g->inputs.at[i]->spec;
		if (is_carried(r, i) && r->buffer[i])
			emit_line(r->e, "\t\t%s *%s = (%lld - i) %% 2 ? %s : %s;", emit_ctype(s.dtype), r->to[i], (long long)r->count - 1,
			          r->buffer[i], emit_out(r->e, r->op, i));
		else if (r->buffer[i]) copy_line(r, "\t\t", r->buffer[i], operand(r, i), s);
	}
}

static void call_body(Repeat *r)
{
	Args a = args_begin(r->e, r->op, r->g, r->frame);
	for (int i = 0; i < r->g->inputs.n; i++) {
		if (r->now[i]) arg(&a, r->now[i]);
		else if (r->buffer[i]) arg(&a, r->buffer[i]);
		else if (op_rows(r->op, i)) arg(&a, operand(r, i));
		else arg_in(&a, i, i);
	}
	for (int j = 0; j < r->g->outputs.n; j++) {
		const char *out = emit_out(r->e, r->op, j);
		if (is_carried(r, j)) arg(&a, r->to[j] ? r->to[j] : out);
		else arg(&a, row(r, out, r->g->outputs.at[j]->spec, 1));
	}
	emit_line(r->e, "\t\tif ((st = %s))) return st;", args_end(&a, r->frame, "\t\t"));
	r->e->uses_st = 1;
}

static void end_turn(Repeat *r)
{
	for (int j = 0; j < ncarried(r->op); j++) {
		if (r->now[j]) emit_line(r->e, "\t\t%s = %s;", r->now[j], r->to[j]);
		else {
			Spec s = r->op->in.at[j]->spec;
			emit_line(r->e, "\t\tif (i < %lld) rt->memcpy(%s, %s, %zu);", (long long)r->count - 1, emit_in(r->e, r->op, j),
			          emit_out(r->e, r->op, j), spec_bytes(s));
		}
	}
}

void emit_repeat(Emit *e, const Op *op, size_t frame)
{
	Repeat r = { .e = e, .op = op, .g = op->callee[0], .frame = frame, .count = op_attr(op, "repeat_count")->i };
	if (!fits(e, op, r.g, op->in.n)) return;
	find_buffers(&r);
	if (r.count == 0) {
		copy_through(&r);
		return;
	}
	emit_line(e, "{");
	declare_carried(&r);
	emit_line(e, "\tfor (long long i = 0; i < %lld; i++) {", (long long)r.count);
	begin_turn(&r);
	call_body(&r);
	end_turn(&r);
	emit_line(e, "\t}");
	emit_line(e, "}");
}
