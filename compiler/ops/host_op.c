/* host_op.c — the op that a function in C stands for, whatever its name: one that the host registered, or of a C file.
 *
 * The host says shapes and gradient; this block asks it and holds it to what it says.  The results must depend
 * on operands and numbers alone, so equal ops are run once and unused ones never. */
#include "compiler/ops/host_op.h"

#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>
#include <string.h>

const HostOp *host_op_find(const HostOp *first, const char *name)
{
	const char *at = name ? strchr(name, '@') : NULL;
	size_t n = at ? (size_t)(at - name) : name ? strlen(name) : 0;
	for (; first && n; first = first->next) {
		if (strlen(first->name) != n || memcmp(first->name, name, n)) continue;
		if (!at || !strcmp(first->version ? first->version : "", at + 1)) return first;
	}
	return NULL;
}

static const HostOp *host_of(const Op *op) { return host_op_find(op->graph->ir->hosts, op_attr(op, "name")->s); }

/* --- shapes ------------------------------------------------------------------------------------------------------ */
static int check_result(Infer *in, const HostOp *h, int i, const Spec *s)
{
	int ok = (unsigned)s->dtype < DT_COUNT && shape_legal(s->shape);
	if (!ok) infer_error(in, E0325, "the host gave result %d of `%s` no possible shape or element type", i, h->name);
	return ok;
}

static int infer_host_op(Infer *in)
{
	const char *name = op_attr(in->op, "name")->s;
	const HostOp *h = host_of(in->op);
	const AttrVal *attr = op_attr(in->op, "numbers");
	Spec given[MOST_HOST_ARGS];
	char why[256] = "";
	if (!h) infer_error(in, E0325, "the host has registered no op `%s`", name ? name : "");
	else if (in->op->in.n != h->nin) infer_error(in, E0325, "`%s` takes %d operand%s, %d given", name, h->nin, h->nin == 1 ? "" : "s", in->op->in.n);
	else if (attr->floats.n != h->nparam) infer_error(in, E0325, "`%s` takes %d numbers, %d given", name, h->nparam, attr->floats.n);
	else {
		in->nout = h->nout;
		in->many = NEWN(in->b->ir->mem, Spec, h->nout);
		for (int i = 0; i < h->nin; i++) given[i] = infer_in(in, i);
		if (!h->infer(h, given, attr->floats.at, in->many, why, sizeof why)) {
			infer_error(in, E0325, "`%s` refuses its operands: %s", name, why[0] ? why : "it gave no reason");
			return 0;
		}
		for (int i = 0; i < h->nout; i++)
			if (!check_result(in, h, i, &in->many[i])) return 0;
		return 1;
	}
	return 0;
}

/* --- gradient ------------------------------------------------------------------------------------------------------ */
static Tensor *source(Grad *gr, Op *op, HostOperand s)
{
	if (s.from == HOST_GRAD) return grad_of(gr, op, s.at);
	return grad_fwd(gr, s.from == HOST_IN ? op->in.at[s.at] : op->out.at[s.at]);
}

static int gives(const HostOp *h, int operand)
{
	for (int i = 0; i < h->ngrad_out; i++)
		if (h->grad_out[i] == operand) return 1;
	return 0;
}

/* the rule is the host's: what it makes must look like what it is the gradient of */
static int add_results(Grad *gr, Op *op, const HostOp *h, const Op *back)
{
	for (int i = 0; i < h->ngrad_out; i++) {
		const Tensor *x = op->in.at[h->grad_out[i]], *g = back->out.at[i];
		if (g->poison) return 0;
		if (x->spec.dtype == g->spec.dtype && shape_eq(x->spec.shape, g->spec.shape)) continue;
		grad_refuse(gr, op, "its gradient op gives another shape or element type than the operand has");
		return 0;
	}
	for (int i = 0; i < h->ngrad_out; i++) grad_add(gr, op, h->grad_out[i], back->out.at[i]);
	return 1;
}

static void grad_host_op(Grad *gr, Op *op)
{
	const HostOp *h = host_of(op), *g = h ? host_op_find(op->graph->ir->hosts, h->grad) : NULL;
	Tensor *in[3 * MOST_HOST_ARGS];
	if (!h || !h->grad) {
		grad_refuse(gr, op, "the host registered no gradient for it");
		return;
	}
	for (int i = 0; i < h->nin; i++)
		if (grad_wanted(gr, op, i) && !gives(h, i)) {
			grad_refuse(gr, op, "the gradient that the host registered leaves this operand out");
			return;
		}
	if (!g || g->nin != h->ngrad_in || g->nout != h->ngrad_out || g->nparam != h->nparam) {
		grad_refuse(gr, op, "the op named as its gradient is not registered, or takes or gives other things than it says");
		return;
	}
	for (int i = 0; i < h->ngrad_in; i++) in[i] = source(gr, op, h->grad_in[i]);
	AttrVal *v = b_attrs(&gr->b, OP_host_op, "name", attr_str(h->grad), "numbers", *op_attr(op, "numbers"), NULL);
	add_results(gr, op, h, ir_op(&gr->b, OP_host_op, in, h->ngrad_in, v, NULL));
}

/* --- code ---------------------------------------------------------------------------------------------------------- */
/* Names, versions and numbers are no code, but another op is another program: what is kept of it is found by its text. */
static const char *what_it_is(Emit *e, const Op *op, const HostOp *h)
{
	Buf b = buf_new(emit_mem(e));
	const AttrVal *x = op_attr(op, "numbers");
	buf_printf(&b, "%s", h->name);
	if (h->version) buf_printf(&b, " version %s", h->version);
	if (h->file) buf_printf(&b, ", code %016" PRIx64, h->file->hash);
	for (int i = 0; i < x->floats.n; i++) {
		buf_printf(&b, ", %s = ", h->params[i].name);
		buf_float(&b, x->floats.at[i]);
	}
	return b.s;
}

static void emit_host_op(Emit *e, const Op *op)
{
	Buf in = buf_new(emit_mem(e)), out = buf_new(emit_mem(e));
	const char *from = emit_name(e, "operands"), *to = emit_name(e, "results");
	for (int i = 0; i < op->in.n; i++) buf_printf(&in, "%s%s", i ? ", " : "", emit_in(e, op, i));
	for (int i = 0; i < op->out.n; i++) buf_printf(&out, "%s%s", i ? ", " : "", emit_out(e, op, i));
	emit_line(e, "/* %s */", what_it_is(e, op, host_of(op)));
	emit_line(e, "const void *const %s[] = { %s };", from, in.s);
	emit_line(e, "void *const %s[] = { %s };", to, out.s);
	emit_rt(e, op, "host_op(ln, %d, %s, %s)", emit_host(e, op, host_of(op)), from, to);
}

OPDEF(host_op, .type = "HostOp", .family = "control", .traits = PURE | INTERNAL, .nout = -2,
	.params = PARAMS({ "ts", P_TENSORS }, { "name", P_STR }, { "numbers", P_FLOATS }),
	.infer = infer_host_op, .fails = fails_always, .grad = grad_host_op, .emit = emit_host_op, .flops = 1, .sample = { -2, 2 },
	.doc = "What a function of the host program computes, registered with `pxl_register_op` under `name`.", .formula = "y… = name(t…, numbers)");
