/* kernel.c — the op that a `kernel` declaration of a model stands for: elementwise, with its formula as an attribute.
 * Gradients that are formulas, of kernels and of other ops, are such ops too.
 *
 * The formula is all there is to it: the shape rule is that of every elementwise op, the gradient is derived from
 * the formula and is again such an op, and fusion reads the formula where other ops have their `.expr`. */
#include "compiler/ops/formula.h"
#include "compiler/ops/grad.h"

#include <string.h>

static const char *truths(Arena *a, const Op *op)
{
	char *t = NEWN(a, char, op->in.n + 1);
	for (int i = 0; i < op->in.n; i++) t[i] = op->in.at[i]->spec.dtype == DT_BOOL;
	return t;
}

static const Formula *formula_of(Arena *a, const Op *op)
{
	const char *s = op_attr(op, "expr")->s;
	return s ? formula_parse(a, s, op->in.n, truths(a, op)) : NULL;
}

/* what a model can call a kernel: it stands in listings and in comments of the emitted C */
static int is_name(const char *s)
{
	return s && *s && strlen(s) < 200 && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == strlen(s);
}

/* bool operands are conditions, and say nothing about the dtype of the rest */
static int infer_dtypes(Infer *in, DType *out)
{
	const char *name = op_attr(in->op, "name")->s;
	*out = DT_BOOL;
	for (int i = 0; i < in->op->in.n; i++) {
		DType t = infer_in(in, i).dtype;
		if (t == DT_BOOL) continue;
		if (dtype_is_f8(t)) infer_error(in, E0304, "`%s` does not compute in %s", name, dtype_info[t].name);
		else if (*out != DT_BOOL && t != *out) infer_error(in, E0303, "operands of `%s` have different element types", name);
		else {
			*out = t;
			continue;
		}
		return 0;
	}
	return 1;
}

static int infer_shapes(Infer *in, Shape *out)
{
	Arena *mem = in->b->ir->mem;
	*out = infer_in(in, 0).shape;
	for (int i = 1; i < in->op->in.n; i++) {
		Shape s = infer_in(in, i).shape, was = *out;
		if (shape_broadcast(was, s, out)) continue;
		Diag *d = infer_error(in, E0302, "shapes of the operands of `%s` do not broadcast", op_attr(in->op, "name")->s);
		diag_label(in->b->ir->ds, d, "%s against %s", shape_str(mem, was), shape_str(mem, s));
		return 0;
	}
	return 1;
}

/* A model's kernels are checked where they are written (elab/kernel.c); what follows is for IR read as text. */
static int infer_formula(Infer *in, DType t)
{
	const Formula *f = formula_of(in->b->ir->mem, in->op);
	if (!f || !is_name(op_attr(in->op, "name")->s)) infer_error(in, E0310, "`kernel` needs a name and a formula over its operands");
	else if (formula_misfit(f, dtype_is_float(t))) infer_error(in, E0304, "`%s` does not compute in %s", op_attr(in->op, "name")->s, dtype_info[t].name);
	else if (!f->truth && t == DT_BOOL) infer_error(in, E0304, "`%s` needs an operand that is no truth value", op_attr(in->op, "name")->s);
	else {
		in->out[0].dtype = f->truth ? DT_BOOL : t;
		return 1;
	}
	return 0;
}

static int infer_kernel(Infer *in)
{
	DType t;
	if (!in->op->in.n) {
		infer_error(in, E0314, "`kernel` needs at least one tensor");
		return 0;
	}
	return infer_dtypes(in, &t) && infer_shapes(in, &in->out[0].shape) && infer_formula(in, t);
}

Tensor *b_formula(Build *b, const char *name, const char *expr, Tensor *const *in, int n)
{
	AttrVal *v = b_attrs(b, OP_kernel, "name", attr_str(name), "expr", attr_str(expr), NULL);
	return ir_op(b, OP_kernel, in, n, v, NULL)->out.at[0];
}

/* g d, where d is the derivative by one operand; of the operands only those go in that it reads */
static Tensor *slope(Grad *gr, Op *op, const char *name, const Formula *d)
{
	Arena *mem = gr->b.ir->mem;
	int n = op->in.n, count, *from = NEWN(mem, int, n + 1);
	const Formula *f = formula_prim(mem, FP_mul, formula_arg(mem, n, 0), d, NULL);
	f = formula_renumber(mem, f, n + 1, from, &count);
	Tensor **in = NEWN(mem, Tensor *, count + 1);
	for (int i = 0; i < count; i++) in[i] = from[i] == n ? grad_of(gr, op, 0) : grad_fwd(gr, op->in.at[from[i]]);
	Buf text = buf_new(mem);
	formula_put(f, &text);
	return b_formula(&gr->b, name, text.s, in, count);
}

void grad_formula(Grad *gr, Op *op, const char *name, const Formula *f)
{
	Arena *mem = gr->b.ir->mem;
	for (int i = 0; i < op->in.n; i++) {
		if (!grad_wanted(gr, op, i)) continue;
		const Formula *d = formula_diff(mem, f, i);
		if (formula_is(d, 0)) grad_add(gr, op, i, b_zeros(&gr->b, op->in.at[i]->spec));
		else if (formula_is(d, 1)) grad_add(gr, op, i, grad_of(gr, op, 0));
		else if (d->size + 2 > FORMULA_SIZE || d->depth + 1 > FORMULA_DEPTH) grad_refuse(gr, op, "its derivative is too large");
		else grad_add(gr, op, i, slope(gr, op, name, d));
	}
}

static void grad_kernel(Grad *gr, Op *op)
{
	Arena *mem = gr->b.ir->mem;
	const Formula *f = formula_of(mem, op);
	if (f->truth) grad_refuse(gr, op, "the result is a truth value");
	else grad_formula(gr, op, arena_printf(mem, "%s_grad", op_attr(op, "name")->s), f);
}

OPDEF(kernel, .type = "Kernel", .family = "control", .traits = PURE | ELTWISE | INTERNAL,
	.params = PARAMS({ "ts", P_TENSORS }, { "name", P_STR }, { "expr", P_STR }),
	.infer = infer_kernel, .grad = grad_kernel, .expr = "ts0", .flops = 8, .sample = { -2, 2 },
	.doc = "What a `kernel` declaration of a model computes: `expr` over the operands, element by element.", .formula = "y = expr(t0, t1, …)");
