/* show.c — values as `print` writes them: containers in Python's form, tensors and graphs in PopXL's. */
#include "compiler/elab/eval.h"

#include <string.h>

enum { MAX_SHOWN = 1 << 20, MAX_NEST = 64 };         /* a list may hold itself, or share its parts many times over */

static void show(Elab *e, Value v, int quoted, int depth, Buf *out);

static void show_items(Elab *e, const List *l, int depth, Buf *out)
{
	for (int i = 0; i < l->n && out->n < MAX_SHOWN; i++) {
		if (i) buf_puts(out, ", ");
		show(e, l->at[i], 1, depth, out);
	}
}

static void show_list(Elab *e, Value v, int depth, Buf *out)
{
	const List *l = v.u.list;
	if (l->label) buf_printf(out, "%s(", l->label);
	buf_putc(out, v.kind == V_LIST ? '[' : '(');
	show_items(e, l, depth, out);
	if (v.kind == V_TUPLE && l->n == 1) buf_putc(out, ',');
	buf_putc(out, v.kind == V_LIST ? ']' : ')');
	if (l->label) buf_putc(out, ')');
}

static void show_dict(Elab *e, const Dict *d, int depth, Buf *out)
{
	int first = 1;
	buf_putc(out, '{');
	DICT_EACH(d, x) {
		if (!first) buf_puts(out, ", ");
		first = 0;
		show(e, x->key, 1, depth, out);
		buf_puts(out, ": ");
		show(e, x->val, 1, depth, out);
		if (out->n > MAX_SHOWN) break;
	}
	buf_putc(out, '}');
}

static void show_tree(Elab *e, const Tree *t, int depth, Buf *out)
{
	Leaves l = tree_leaves(e, t);
	buf_putc(out, '{');
	for (int i = 0; i < l.at.n && out->n < MAX_SHOWN; i++) {
		buf_printf(out, "%s'%s': ", i ? ", " : "", l.at.at[i].name);
		show(e, l.at.at[i].v, 1, depth, out);
	}
	buf_putc(out, '}');
}

static void show_str(const Str *s, Buf *out)
{
	char q = memchr(s->s, '\'', (size_t)s->len) && !memchr(s->s, '"', (size_t)s->len) ? '"' : '\'';
	buf_putc(out, q);
	for (int i = 0; i < s->len; i++) {
		unsigned char c = (unsigned char)s->s[i];
		if (c == '\n') buf_puts(out, "\\n");
		else if (c == '\t') buf_puts(out, "\\t");
		else if (c == '\r') buf_puts(out, "\\r");
		else if (c == '\\' || c == (unsigned char)q) buf_printf(out, "\\%c", c);
		else if (c < 32) buf_printf(out, "\\x%02x", c);
		else buf_putc(out, (char)c);
	}
	buf_putc(out, q);
}

/* the seed's form: every tensor prints as Tensor[...] without its graph's part (addons.md 30) */
static void show_tensor(Elab *e, const Tensor *t, Buf *out)
{
	buf_printf(out, "Tensor[%s popxl.dtypes.%s %s]", t->name, dtype_info[t->spec.dtype].popxl, shape_tuple(e->mem, t->spec.shape));
}

static void show_range(const Range *r, Buf *out)
{
	buf_printf(out, "range(%lld, %lld", (long long)r->start, (long long)r->stop);
	if (r->step != 1) buf_printf(out, ", %lld", (long long)r->step);
	buf_putc(out, ')');
}

static const char *fn_name(Value v)
{
	switch (v.kind) {
	case V_FN:      return v.u.fn->name ? v.u.fn->name : "fn";
	case V_BUILTIN: return v.u.builtin->name;
	case V_METHOD:  return v.u.method->fn ? v.u.method->fn->name : v.u.method->op.def->name;
	default:        return v.u.opfn->def->name;
	}
}

static void show_expected(const Expected *x, Buf *out)
{
	buf_printf(out, "(%s, %s)", x->type == CONN_FWD ? "Fwd" : "FwdGrad", x->fwd->name);
}

static void show_grad(Elab *e, const GradInfo *gi, Buf *out)
{
	buf_printf(out, "GradGraphInfo[\n  graph=%s\n  expected_inputs=[", graph_repr(e->mem, gi->graph));
	for (int i = 0; i < gi->ins.n; i++) {
		if (i) buf_puts(out, ", ");
		show_expected(&gi->ins.at[i], out);
	}
	buf_puts(out, "]\n  expected_outputs=[");
	for (int i = 0; i < gi->outs.n; i++) {
		if (i) buf_puts(out, ", ");
		show_expected(&gi->outs.at[i], out);
	}
	buf_puts(out, "]\n]");
}

static void show_object(Elab *e, Value v, Buf *out)
{
	switch (v.kind) {
	case V_DTYPE:    buf_puts(out, dtype_info[v.u.dtype].name); break;
	case V_SPEC:     buf_puts(out, spec_str(e->mem, v.u.spec->dtype, v.u.spec->shape)); break;
	case V_TENSOR:   show_tensor(e, v.u.tensor, out); break;
	case V_GRAPH:    buf_puts(out, graph_repr(e->mem, v.u.graph)); break;
	case V_STREAM:   buf_printf(out, "<%s %s>", v.u.stream->is_input ? "h2d_stream" : "d2h_stream", v.u.stream->name); break;
	case V_BUFFER:   buf_printf(out, "<RemoteBuffer %d>", v.u.buffer->id + 1); break;
	case V_FACTORY:  buf_printf(out, "<VariableFactory %s>", v.u.factory->name); break;
	case V_NAMED:    buf_printf(out, "<GraphWithNamedArgs %s>", v.u.named->graph->id); break;
	case V_BOUND:    buf_printf(out, "<BoundGraph %s>", v.u.bound->named->graph->id); break;
	case V_CALL:     buf_printf(out, "<CallSiteInfo %s>", v.u.op->callee[0] ? v.u.op->callee[0]->id : ""); break;
	case V_IR:       buf_printf(out, "Ir[id=%d]", v.u.ir->number); break;
	case V_GROUPING: grouping_show(v.u.grouping, out); break;
	case V_OP:       buf_printf(out, "<%s.%d>", op_type_name(v.u.op), v.u.op->id); break;
	case V_GRAD:     show_grad(e, v.u.grad, out); break;
	case V_EXPECTED: show_expected(v.u.expected, out); break;
	case V_CLASS:    buf_printf(out, "<module %s>", v.u.cls->name); break;
	case V_INSTANCE: buf_printf(out, "<%s>", v.u.inst->cls->name); break;
	case V_FN: case V_BUILTIN: case V_METHOD: case V_OPFN: buf_printf(out, "<fn %s>", fn_name(v)); break;
	default:         buf_printf(out, "<%s>", strchr(vkind_name[v.kind], ' ') ? strchr(vkind_name[v.kind], ' ') + 1 : vkind_name[v.kind]);
	}
}

static void show(Elab *e, Value v, int quoted, int depth, Buf *out)
{
	if (depth > MAX_NEST || out->n > MAX_SHOWN) {
		buf_puts(out, "...");
		return;
	}
	switch (v.kind) {
	case V_NONE:  buf_puts(out, "none"); break;
	case V_BOOL:  buf_puts(out, v.u.b ? "true" : "false"); break;
	case V_INT:   buf_printf(out, "%lld", (long long)v.u.i); break;
	case V_FLOAT: buf_float(out, v.u.f); break;
	case V_STR:
		if (quoted) show_str(v.u.str, out);
		else buf_put(out, v.u.str->s, (size_t)v.u.str->len);
		break;
	case V_LIST: case V_TUPLE: show_list(e, v, depth + 1, out); break;
	case V_DICT:  show_dict(e, v.u.dict, depth + 1, out); break;
	case V_TREE:  show_tree(e, v.u.tree, depth + 1, out); break;
	case V_RANGE: show_range(v.u.range, out); break;
	case V_ARRAY: array_show(e, v.u.array, out); break;
	default:      show_object(e, v, out);
	}
}

void value_show(Elab *e, Value v, int quoted, Buf *out)
{
	show(e, v, quoted, 0, out);
}
