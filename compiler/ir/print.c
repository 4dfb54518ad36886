/* print.c — the textual IR, which parse.c reads back into the same program.
 *
 *   ir replicas 1 local 1 transfers 1 seed 0 ops 102 graphs 1 clashes 0 tensors 4
 *   stream 0 in "image" f32[8, 784]
 *   buffer 0 entries 2 f32[4]
 *   grouping 0 stride 1 size 1 count 1 const
 *   graph "" name "" {
 *   	%0 "w" variable f32[784, 10] = normal(0.0, 0.02, "w", 0)
 *   	%1 "c" constant f32[2] = [1.0, 2.0]
 *   	%2 "image_hostload" f32[8, 784] = host_load.100() {h2d_stream = stream 0}
 *   	%3 "matmul_out" f32[8, 10] = matmul.101(%2, %0)
 *   	outputs %3
 *   }
 *
 * `%n` is a tensor's index, unique in the program; the number after an op's name is its id; `_` an operand
 * that is absent, `none` an attribute that is unset though the table has a default for it.  Attributes that
 * have their default are left out.  Small arrays are written as numbers, recipes as recipes, large arrays
 * as the hexadecimal of their bytes in this machine's order. */
#include "compiler/ir/ir.h"

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* passes make patterns and know how they read (compiler/passes/fuse.h, a folder this one does not include) */
void pattern_print(const Pattern *p, Buf *out);

const char *const text_exec[EXEC_COUNT] = { "normal", "weights_from_host", "weights_to_host", "accumulate_outer" };
const char *const text_tiles[3] = { "none", "compute", "io" };
const char *const text_init[INIT_ARANGE + 1] = { "data", "zeros", "full", "normal", "uniform", "truncated", "arange" };

static void put_string(Buf *out, const char *s) { buf_json(out, s, strlen(s)); }

/* --- host data ---------------------------------------------------------------------------------------------- */

static int has_nan(const HostArray *h, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isnan(rt_get(h->dtype, h->init.data, i))) return 1;
	return 0;
}

static void put_number(Buf *out, const HostArray *h, size_t i)
{
	if (dtype_is_float(h->dtype)) buf_float(out, rt_get(h->dtype, h->init.data, i));
	else if (h->dtype == DT_U64) buf_printf(out, "%" PRIu64, (uint64_t)rt_get_int(h->dtype, h->init.data, i));
	else buf_printf(out, "%" PRId64, rt_get_int(h->dtype, h->init.data, i));
}

static void put_bytes(Buf *out, const unsigned char *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	buf_puts(out, "hex \"");
	for (size_t i = 0; i < n; i++) {
		buf_putc(out, digit[p[i] >> 4]);
		buf_putc(out, digit[p[i] & 15]);
	}
	buf_putc(out, '"');
}

static void put_data(Buf *out, const HostArray *h)
{
	enum { SMALL = 16 };
	size_t n = (size_t)shape_nelems(h->shape);
	if (n > SMALL || dtype_is_f8(h->dtype) || (dtype_is_float(h->dtype) && has_nan(h, n))) {
		put_bytes(out, h->init.data, host_size(h));
		return;
	}
	buf_putc(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (i) buf_puts(out, ", ");
		put_number(out, h, i);
	}
	buf_putc(out, ']');
}

static void put_host(Buf *out, const HostArray *h)
{
	const RtInit *r = &h->init;
	if (r->kind == INIT_DATA) {
		put_data(out, h);
		return;
	}
	buf_puts(out, text_init[r->kind]);
	if (r->kind == INIT_ZEROS) return;
	buf_putc(out, '(');
	buf_float(out, r->a);
	buf_puts(out, ", ");
	buf_float(out, r->b);
	buf_puts(out, ", ");
	if (r->name) put_string(out, r->name);
	else buf_putc(out, '_');
	buf_printf(out, ", %u)", r->draw);
}

/* --- tensors ------------------------------------------------------------------------------------------------- */

static void put_spec(Buf *out, Spec s)
{
	buf_puts(out, spec_str(out->mem, s.dtype, s.shape));
	if (s.has_meta) buf_printf(out, " meta %s", shape_str(out->mem, s.meta));
}

static void put_name(Buf *out, const Tensor *t)
{
	buf_printf(out, "%%%d ", t->index);
	put_string(out, t->name);
	buf_putc(out, ' ');
}

static void put_origin(Buf *out, const Tensor *t)
{
	buf_putc(out, '\t');
	put_name(out, t);
	buf_puts(out, t->kind == T_VARIABLE ? "variable " : t->kind == T_CONSTANT ? "constant " : "input ");
	put_spec(out, t->spec);
	if (t->by_ref) buf_puts(out, " by_ref");
	if (t->grouping) buf_printf(out, " grouping %d", t->grouping);
	if (t->retrieval == ALL_REPLICAS) buf_puts(out, " all_replicas");
	if (t->state) buf_puts(out, " state");
	if (t->remote) buf_printf(out, " buffer %d entry %" PRId64, t->remote->id, t->entry);
	if (t->poison) buf_puts(out, " poison");
	if (t->data) {
		buf_puts(out, " = ");
		put_host(out, t->data);
	}
	buf_putc(out, '\n');
}

static void put_list(Buf *out, const char *word, Tensor *const *at, int from, int to)
{
	if (from < to) buf_printf(out, "\t%s", word);
	for (int i = from; i < to; i++) buf_printf(out, "%s%%%d", i > from ? ", " : " ", at[i]->index);
	if (from < to) buf_putc(out, '\n');
}

/* --- ops -------------------------------------------------------------------------------------------------------- */

static void put_ints(Buf *out, const int64_t *at, int n)
{
	buf_putc(out, '[');
	for (int i = 0; i < n; i++) buf_printf(out, "%s%" PRId64, i ? ", " : "", at[i]);
	buf_putc(out, ']');
}

static void put_floats(Buf *out, const double *at, int n)
{
	buf_putc(out, '[');
	for (int i = 0; i < n; i++) {
		if (i) buf_puts(out, ", ");
		buf_float(out, at[i]);
	}
	buf_putc(out, ']');
}

static void put_attr_value(Buf *out, ParamKind kind, const AttrVal *a)
{
	switch (kind) {
	case P_INT: case P_COUNT: case P_GROUP: buf_printf(out, "%" PRId64, a->i); break;
	case P_BOOL: buf_puts(out, a->i ? "true" : "false"); break;
	case P_DTYPE: buf_puts(out, dtype_info[a->i].name); break;
	case P_FLOAT: case P_SCALAR: buf_float(out, a->f); break;
	case P_STR: put_string(out, a->s); break;
	case P_INTS: case P_SHAPE: put_ints(out, a->ints.at, a->ints.n); break;
	case P_FLOATS: put_floats(out, a->floats.at, a->floats.n); break;
	case P_STREAM: buf_printf(out, "stream %d", ((Stream *)a->p)->index); break;
	case P_BUFFER: buf_printf(out, "buffer %d", ((RemoteBuffer *)a->p)->id); break;
	case P_GRAPH:
		buf_puts(out, "graph ");
		put_string(out, ((const Graph *)a->p)->id);
		break;
	case P_ARRAY: {
		const HostArray *h = a->p;
		buf_printf(out, "%s = ", spec_str(out->mem, h->dtype, h->shape));
		put_host(out, h);
		break;
	}
	case P_PATTERN: {
		Buf text = buf_new(out->mem);
		pattern_print(a->p, &text);
		put_string(out, text.n ? text.s : "");
		break;
	}
	default: break;
	}
}

static int same_ints(const AttrVal *a, const AttrVal *b)
{
	return a->ints.n == b->ints.n && (!a->ints.n || !memcmp(a->ints.at, b->ints.at, (size_t)a->ints.n * sizeof *a->ints.at));
}

static int same_floats(const AttrVal *a, const AttrVal *b)
{
	return a->floats.n == b->floats.n && (!a->floats.n || !memcmp(a->floats.at, b->floats.at, (size_t)a->floats.n * sizeof *a->floats.at));
}

static int is_default(ParamKind kind, const AttrVal *a, const AttrVal *init)
{
	if (a->set != init->set) return 0;
	if (!a->set) return 1;
	switch (kind) {
	case P_INT: case P_COUNT: case P_BOOL: case P_DTYPE: case P_GROUP: return a->i == init->i;
	case P_FLOAT: case P_SCALAR: return !memcmp(&a->f, &init->f, sizeof a->f);
	case P_STR: return a->s && init->s && !strcmp(a->s, init->s);
	case P_INTS: case P_SHAPE: return same_ints(a, init);
	case P_FLOATS: return same_floats(a, init);
	default: return a->p == init->p;
	}
}

static void put_attrs(Buf *out, const Op *op)
{
	const Param *p = op_table[op->code]->params;
	int any = 0;
	for (int i = 0; p[i].kind != P_END; i++) {
		if (!text_attr_kind(op, p[i].kind) || is_default(p[i].kind, &op->attr[i], &p[i].init)) continue;
		buf_printf(out, "%s%s = ", any ? ", " : " {", p[i].name);
		if (op->attr[i].set) put_attr_value(out, p[i].kind, &op->attr[i]);
		else buf_puts(out, "none");
		any = 1;
	}
	if (any) buf_putc(out, '}');
}

/* what an op calls stands behind its attributes */
int text_attr_kind(const Op *op, ParamKind kind)
{
	return kind >= P_SCALAR && kind != P_HINT && (kind != P_GRAPH || !op_is(op, CALLS));
}

static void put_context(Buf *out, const Op *op)
{
	if (op->ipu) buf_printf(out, " ipu %d", op->ipu);
	if (op->tiles != TILES_COMPUTE) buf_printf(out, " tiles %s", text_tiles[op->tiles]);
	if (op->exec != EXEC_NORMAL) buf_printf(out, " exec %s", text_exec[op->exec]);
	if (op->scope && op->scope[0]) {
		buf_puts(out, " scope ");
		put_string(out, op->scope);
	}
	for (int i = 0; i < op->after.n; i++) buf_printf(out, "%s%d", i ? ", " : " after ", op->after.at[i]->id);
}

static void put_calls(Buf *out, const Op *op)
{
	for (int k = 0; k < 2 && op->callee[k]; k++) {
		buf_puts(out, k ? ", " : " calls ");
		put_string(out, op->callee[k]->id);
	}
	if (op->loop) {
		buf_puts(out, " loop ");
		put_string(out, op->loop);
	}
	for (int i = 0; i < op->modified.n; i++) buf_printf(out, "%s%d", i ? ", " : " modified [", op->modified.at[i]);
	if (op->modified.n) buf_putc(out, ']');
}

static void put_op(Buf *out, const Op *op)
{
	buf_putc(out, '\t');
	for (int i = 0; i < op->out.n; i++) {
		if (i) buf_puts(out, ", ");
		put_name(out, op->out.at[i]);
		put_spec(out, op->out.at[i]->spec);
		if (op->out.at[i]->poison) buf_puts(out, " poison");
	}
	if (op->out.n) buf_puts(out, " = ");
	buf_printf(out, "%s%s.%d(", op_table[op->code]->name, op->inplace ? "_" : "", op->id);
	for (int i = 0; i < op->in.n; i++) {
		if (i) buf_puts(out, ", ");
		if (op->in.at[i]) buf_printf(out, "%%%d", op->in.at[i]->index);
		else buf_putc(out, '_');
	}
	buf_putc(out, ')');
	put_attrs(out, op);
	put_calls(out, op);
	put_context(out, op);
	buf_putc(out, '\n');
}

/* --- graphs and what they share ------------------------------------------------------------------------------------ */

static void put_graph(Buf *out, const Graph *g)
{
	buf_puts(out, "graph ");
	put_string(out, g->id);
	buf_puts(out, " name ");
	put_string(out, g->name);
	buf_puts(out, g->not_differentiable ? " not_differentiable {\n" : " {\n");
	for (int i = 0; i < g->tensors.n; i++)
		if (!g->tensors.at[i]->def) put_origin(out, g->tensors.at[i]);
	for (int i = 0; i < g->ops.n; i++) put_op(out, g->ops.at[i]);
	put_list(out, "inputs", g->inputs.at, 0, g->inputs.n);
	put_list(out, "outputs", g->outputs.at, 0, g->written_outputs);
	put_list(out, "added", g->outputs.at, g->written_outputs, g->outputs.n);
	for (int i = 0; i < g->args.n; i++) {
		if (!g->args.at[i].key) continue;
		buf_printf(out, "\targ %%%d ", ((const Tensor *)g->args.at[i].key)->index);
		put_string(out, g->args.at[i].val);
		buf_putc(out, '\n');
	}
	buf_puts(out, "}\n");
}

static void put_grouping(Buf *out, const Grouping *g, int i)
{
	buf_printf(out, "grouping %d stride %d size %d count %d%s", i, g->stride, g->size, g->count, g->is_const ? " const" : "");
	for (int k = 0; k < g->assignment.n; k++) buf_printf(out, "%s%d", k ? ", " : " assignment [", g->assignment.at[k]);
	buf_puts(out, g->assignment.n ? "]\n" : "\n");
}

static void put_globals(Buf *out, const Ir *ir)
{
	for (int i = 0; i < ir->streams.n; i++) {
		const Stream *s = ir->streams.at[i];
		buf_printf(out, "stream %d %s ", i, s->is_input ? "in" : "out");
		put_string(out, s->name);
		buf_putc(out, ' ');
		put_spec(out, s->spec);
		buf_putc(out, '\n');
	}
	for (int i = 0; i < ir->buffers.n; i++) {
		buf_printf(out, "buffer %d entries %" PRId64 " ", i, ir->buffers.at[i]->entries);
		put_spec(out, ir->buffers.at[i]->spec);
		buf_putc(out, '\n');
	}
	for (int i = 0; i < ir->groupings.n; i++) put_grouping(out, ir->groupings.at[i], i);
}

void ir_print(const Ir *ir, Buf *out)
{
	buf_printf(out, "ir replicas %d local %d transfers %d seed %" PRIu64 " ops %d graphs %d clashes %d tensors %d\n", ir->replicas,
	           ir->local_replicas, ir->transfers, ir->seed, ir->next_op, ir->next_graph, ir->next_clash, ir->ntensor);
	put_globals(out, ir);
	for (int i = 0; i < ir->graphs.n; i++) put_graph(out, ir->graphs.at[i]);
}
