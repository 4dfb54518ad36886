/* infer.c — what shape rules share, and the checks that every op gets for free.
 *
 * A rule looks at operands and attributes, fills in->out and returns 1, or reports and returns 0.
 * infer_error() puts everything a reader needs beside the headline: each operand with its shape and the
 * place it came from, and the chain of calls that led here; rules only add a label and a help. */
#include "compiler/ops/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- diagnostics ------------------------------------------------------------------------------------ */

static void put_place(const Sources *ss, Span at, Buf *out)
{
	const Source *s = source_get(ss, at.src);
	int line, col;
	if (!s) return;
	source_locate(s, at.lo, &line, &col);
	buf_printf(out, " (%s:%d:%d)", s->name, line, col);
}

static void put_frame(const Frame *f, Buf *out)      /* names are quoted, phrases such as "program `train`" are not */
{
	int phrase = strchr(f->what, ' ') != 0;
	buf_printf(out, phrase ? "%s" : "`%s`", f->what);
}

void diag_chain(Diags *ds, Diag *d, const Frame *chain)
{
	Buf b = buf_new(ds->mem);
	/* a place directly in a program needs no chain; of a long one the ends matter */
	if (!chain || (!chain->up && !strncmp(chain->what, "program ", 8))) return;
	int n = 0, i = 0;
	for (const Frame *f = chain; f->up; f = f->up) n++;
	buf_puts(&b, "in ");
	put_frame(chain, &b);
	for (const Frame *f = chain; f->up; f = f->up, i++) {
		if (n > 8 && i == 4) buf_printf(&b, ", … (%d more calls)", n - 6);
		if (n > 8 && i >= 4 && i < n - 2) continue;
		buf_puts(&b, ", called from ");
		put_frame(f->up, &b);
		put_place(ds->srcs, f->at, &b);
	}
	diag_note(ds, d, (Span){ 0, 0, 0 }, "%s", b.s);
}

/* "left operand", "operand `t`", "operand `ts[1]`" */
static const char *operand_name(const Infer *in, int i)
{
	Arena *a = in->b->ir->mem;
	const Param *p = in->def->params;
	int n = 0;
	for (; p->kind != P_END; p++) {
		if (p->kind == P_TENSORS) return arena_printf(a, "operand `%s[%d]`", p->name, i - n);
		if (p->kind != P_TENSOR && p->kind != P_OPT_TENSOR && !param_is_scalar(p->kind)) continue;
		if (n++ == i) break;
	}
	if (p->kind == P_END) return arena_printf(a, "operand %d", i);
	if (i == 0 && !strcmp(p->name, "lhs")) return "left operand";
	if (i == 1 && !strcmp(p->name, "rhs")) return "right operand";
	return arena_printf(a, "operand `%s`", p->name);
}

enum { NOTED_OPERANDS = 6 };

Diag *infer_error(Infer *in, DiagCode code, const char *fmt, ...)
{
	Ir *ir = in->b->ir;
	va_list ap;
	va_start(ap, fmt);
	Diag *d = diag(ir->ds, code, in->b->at, "%s", arena_vprintf(ir->mem, fmt, ap));
	va_end(ap);
	for (int i = 0; i < in->op->in.n && i < NOTED_OPERANDS; i++) {
		const Tensor *t = in->op->in.at[i];
		if (t) diag_note(ir->ds, d, t->at, "%s has shape %s", operand_name(in, i), spec_str(ir->mem, t->spec.dtype, t->spec.shape));
	}
	diag_chain(ir->ds, d, in->b->chain);
	return d;
}

/* --- checks of every op ------------------------------------------------------------------------------- */

static int has_poison(const Infer *in)
{
	for (int i = 0; i < in->op->in.n; i++)
		if (in->op->in.at[i] && in->op->in.at[i]->poison) return 1;
	return 0;
}

static int check_graph(Infer *in)
{
	for (int i = 0; i < in->op->in.n; i++) {
		const Tensor *t = in->op->in.at[i];
		if (!t || t->graph == in->b->g) continue;
		Diag *d = infer_error(in, E0420, "%s of `%s` belongs to another graph", operand_name(in, i), op_said(in->op));
		diag_label(in->b->ir->ds, d, "built in %s, the operand is of %s", graph_title(in->b->g), graph_title(t->graph));
		diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, "hand it in as an input of the graph");
		return 0;
	}
	return 1;
}

/* operands known to be on different IPUs or tile sets; an unknown place goes with any */
static int check_places(Infer *in)
{
	int ipu = IPU_UNKNOWN;
	TileSet tiles = TILES_UNDEFINED;
	if (in->made_before || in->def->traits & ACROSS) return 1;
	for (int i = 0; i < in->op->in.n; i++) {
		const Tensor *t = in->op->in.at[i];
		if (!t) continue;
		int u = tensor_ipu(t);
		TileSet s = tensor_tiles(t);
		if ((u != IPU_UNKNOWN && ipu != IPU_UNKNOWN && u != ipu) || (s && tiles && s != tiles)) {
			if (u != ipu) infer_error(in, E0321, "operands of `%s` are on different IPUs: %d and %d", op_said(in->op), ipu, u);
			else infer_error(in, E0321, "operands of `%s` are on different tile sets: compute and io", op_said(in->op));
			return 0;
		}
		if (u != IPU_UNKNOWN) ipu = u;
		if (s) tiles = s;
	}
	return 1;
}

/* R336: remote variables are names for the host */
static int check_handles(Infer *in)
{
	for (int i = 0; i < in->op->in.n; i++) {
		const Tensor *t = in->op->in.at[i];
		if (!t || !t->remote) continue;
		Diag *d = infer_error(in, E0643, "`%s` uses the remote variable `%s`", op_said(in->op), t->name);
		diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, "load the entry first: `remote_load(buffer, %" PRId64 ")`", t->entry);
		return 0;
	}
	return 1;
}

static int check_constant(Infer *in)
{
	int writes = in->op->inplace && in->def->inplace == MODIFIES;
	for (int i = 0; i < in->op->in.n; i++) {
		const Tensor *t = in->op->in.at[i];
		int written = (i == 0 && writes) || (i < 32 && (in->def->writes >> i & 1));
		if (!t || !written || storage_root(in->op->in.at[i])->kind != T_CONSTANT) continue;
		infer_error(in, E0322, "`%s` writes a constant", op_said(in->op));
		return 0;
	}
	return 1;
}

/* float8 can be moved, not computed with */
static int check_float8(Infer *in)
{
	if (in->def->traits & (MOVES | CALLS | EFFECT | INTERNAL)) return 1;
	for (int i = 0; i < in->op->in.n; i++) {
		const Tensor *t = in->op->in.at[i];
		if (!t || !dtype_is_f8(t->spec.dtype)) continue;
		infer_error(in, E0304, "`%s` does not compute with %s", op_said(in->op), dtype_info[t->spec.dtype].name);
		return 0;
	}
	return 1;
}

static int check_sizes(Infer *in)
{
	const Spec *s = in->many ? in->many : in->out;
	for (int i = 0; i < in->nout; i++) {
		if (shape_legal(s[i].shape)) continue;
		infer_error(in, E0319, "the result of `%s` has too many elements: %s", op_said(in->op), shape_str(in->b->ir->mem, s[i].shape));
		return 0;
	}
	return 1;
}

int infer_run(Infer *in)
{
	if (has_poison(in)) return 0;
	in->nout = in->def->nout == 0 ? 1 : in->def->nout < 0 ? 0 : in->def->nout;
	return check_graph(in) && check_handles(in) && check_places(in) && check_constant(in) && check_float8(in) && in->def->infer(in) && check_sizes(in);
}

/* --- float8 ------------------------------------------------------------------------------------------------ */

int infer_need_float8(Infer *in, int i)
{
	DType t = infer_in(in, i).dtype;
	if (dtype_is_f8(t)) return 1;
	Diag *d = infer_error(in, E0304, "`%s` computes with float8 tensors", op_said(in->op));
	diag_label(in->b->ir->ds, d, "`%s` is of %s", in->def->params[i].name, dtype_info[t].name);
	return 0;
}

int infer_log2_scale(Infer *in, int i)
{
	Spec s = infer_in(in, i);
	if (s.dtype == DT_I32 && s.shape.rank == 0) return 1;
	Diag *d = infer_error(in, s.dtype == DT_I32 ? E0312 : E0304, "`log2_scale` of `%s` must be i32[]", op_said(in->op));
	diag_label(in->b->ir->ds, d, "got %s", spec_str(in->b->ir->mem, s.dtype, s.shape));
	return 0;
}

int fails_always(const Op *op) { (void)op; return 1; }

/* --- rules that many ops share -------------------------------------------------------------------------- */

/* the pass uses ir_new_result */
int infer_pattern(Infer *in)
{
	in->nout = 0;
	return 1;
}

int infer_nothing(Infer *in) { (void)in; return 1; }

int infer_same(Infer *in)
{
	in->out[0] = infer_in(in, 0);
	return 1;
}

static int equal_dtypes(Infer *in)
{
	Ir *ir = in->b->ir;
	DType t = infer_in(in, 0).dtype;
	for (int i = 1; i < in->op->in.n; i++) {
		DType u = infer_in(in, i).dtype;
		if (u == t) continue;
		Diag *d = infer_error(in, E0303, "operands of `%s` have different element types", op_said(in->op));
		diag_label(ir->ds, d, "%s against %s", dtype_info[t].name, dtype_info[u].name);
		diag_help(ir->ds, d, (Span){ 0, 0, 0 }, "convert one of them: `.cast(%s)`", dtype_info[t].name);
		return 0;
	}
	return 1;
}

static int broadcast_shapes(Infer *in, Shape *s)
{
	Ir *ir = in->b->ir;
	*s = infer_in(in, 0).shape;
	for (int i = 1; i < in->op->in.n; i++) {
		Shape u = infer_in(in, i).shape, sum;
		if (shape_broadcast(*s, u, &sum)) {
			*s = sum;
			continue;
		}
		Diag *d = infer_error(in, E0302, "shapes of the operands of `%s` do not broadcast", op_said(in->op));
		diag_label(ir->ds, d, "%s against %s", shape_str(ir->mem, *s), shape_str(ir->mem, u));
		return 0;
	}
	return 1;
}

/* R141: what is written can't grow */
static int keeps_shape(Infer *in, Shape s)
{
	Ir *ir = in->b->ir;
	if (!in->op->inplace || shape_eq(s, infer_in(in, 0).shape)) return 1;
	Diag *d = infer_error(in, E0307, "`%s` would change the shape of the tensor it writes", op_said(in->op));
	diag_label(ir->ds, d, "%s would become %s", shape_str(ir->mem, infer_in(in, 0).shape), shape_str(ir->mem, s));
	diag_help(ir->ds, d, (Span){ 0, 0, 0 }, "`%s` makes a new tensor", in->def->name);
	return 0;
}

/* a result of the broadcast shape keeps the meta shape of an operand that has that shape (R110) */
static void carry_meta(Infer *in)
{
	for (int i = 0; i < in->op->in.n; i++) {
		const Tensor *t = in->op->in.at[i];
		if (!t || !t->spec.has_meta || !shape_eq(t->spec.shape, in->out[0].shape)) continue;
		in->out[0].has_meta = 1;
		in->out[0].meta = t->spec.meta;
		return;
	}
}

int infer_broadcast(Infer *in)
{
	Shape s;
	if (!equal_dtypes(in) || !broadcast_shapes(in, &s) || !keeps_shape(in, s)) return 0;
	in->out[0] = (Spec){ .dtype = infer_in(in, 0).dtype, .shape = s };
	carry_meta(in);
	return 1;
}

int infer_compare(Infer *in)
{
	if (!infer_broadcast(in)) return 0;
	in->out[0].dtype = DT_BOOL;
	return 1;
}

/* the article goes with the word, so both are given */
static int need(Infer *in, int i, int ok, const char *what)
{
	DType t = infer_in(in, i).dtype;
	if (ok) return 1;
	Diag *d = infer_error(in, E0304, "`%s` needs %s tensor, got %s", op_said(in->op), what, dtype_info[t].name);
	diag_label(in->b->ir->ds, d, "%s is of %s", operand_name(in, i), dtype_info[t].name);
	return 0;
}

int infer_need_float(Infer *in, int i) { return need(in, i, dtype_is_float(infer_in(in, i).dtype), "a floating-point"); }
int infer_need_indices(Infer *in, int i)
{
	DType t = infer_in(in, i).dtype;
	if (t == DT_I32 || t == DT_U32 || t == DT_I64) return 1;
	Diag *d = infer_error(in, E0304, "indices of `%s` must be i32, u32 or i64", in->def->name);
	diag_label(in->b->ir->ds, d, "got %s", dtype_info[t].name);
	return 0;
}

int infer_need_int(Infer *in, int i)   { return need(in, i, dtype_is_int(infer_in(in, i).dtype), "an integer"); }
int infer_need_bits(Infer *in, int i)
{
	DType t = infer_in(in, i).dtype;
	return need(in, i, dtype_is_int(t) || t == DT_BOOL, "an integer or bool");
}
int infer_need_number(Infer *in, int i)
{
	DType t = infer_in(in, i).dtype;
	return need(in, i, dtype_is_float(t) || dtype_is_int(t), "a floating-point or integer");
}

int infer_equal_shapes(Infer *in, int i, int j)
{
	Ir *ir = in->b->ir;
	Shape a = infer_in(in, i).shape, b = infer_in(in, j).shape;
	if (shape_eq(a, b)) return 1;
	Diag *d = infer_error(in, E0311, "`%s` needs equal shapes", op_said(in->op));
	diag_label(ir->ds, d, "%s against %s; this op does not broadcast", shape_str(ir->mem, a), shape_str(ir->mem, b));
	return 0;
}

/* --- attributes ------------------------------------------------------------------------------------------- */

int infer_axis(Infer *in, int64_t axis, int rank, int *out)
{
	*out = (int)(axis < 0 ? axis + rank : axis);
	if (axis >= -rank && axis < rank) return 1;
	Diag *d = infer_error(in, E0305, "axis %" PRId64 " is out of range for `%s`", axis, op_said(in->op));
	if (rank) diag_label(in->b->ir->ds, d, "a tensor of rank %d has axes %d to %d", rank, -rank, rank - 1);
	else diag_label(in->b->ir->ds, d, "a scalar has no axes");
	return 0;
}

int infer_axes(Infer *in, const AttrVal *axes, int rank, unsigned *mask)
{
	*mask = axes->set ? 0 : (1u << rank) - 1;
	for (int i = 0; axes->set && i < axes->ints.n; i++) {
		int k;
		if (!infer_axis(in, axes->ints.at[i], rank, &k)) return 0;
		if (*mask >> k & 1) {
			infer_error(in, E0306, "axis %d is given twice to `%s`", k, op_said(in->op));
			return 0;
		}
		*mask |= 1u << k;
	}
	return 1;
}

void infer_set_ints(Infer *in, const char *name, const int64_t *v, int n)
{
	AttrVal *a = &in->op->attr[op_param(in->def, name)];
	a->set = 1;
	a->ints.at = arena_dup(in->b->ir->mem, v, (size_t)n * sizeof *v);
	a->ints.n = n;
}

void infer_set_int(Infer *in, const char *name, int64_t v)
{
	AttrVal *a = &in->op->attr[op_param(in->def, name)];
	a->set = 1;
	a->i = v;
}

int infer_dims(Infer *in, const char *name, Shape *out)
{
	const AttrVal *v = op_attr(in->op, name);
	if (v->ints.n > MAX_RANK) return infer_error(in, E0308, "a tensor has at most %d axes", MAX_RANK), 0;
	out->rank = v->ints.n;
	for (int i = 0; i < out->rank; i++) {
		out->dim[i] = v->ints.at[i];
		if (out->dim[i] < 0) return infer_error(in, E0308, "axis %d of `%s` has length %" PRId64, i, in->def->name, out->dim[i]), 0;
	}
	return 1;
}

int infer_scalar(Infer *in, const char *name)
{
	const Tensor *t = infer_tensor(in, op_operand(in->def, op_param(in->def, name)));
	if (!t || shape_nelems(t->spec.shape) == 1) return 1;
	Diag *d = infer_error(in, E0312, "`%s` of `%s` must be a number or a tensor of one element", name, op_said(in->op));
	diag_label(in->b->ir->ds, d, "it has shape %s", shape_str(in->b->ir->mem, t->spec.shape));
	return 0;
}

int infer_fits(Infer *in, const char *name)
{
	DType t = infer_in(in, 0).dtype;
	int sign = dtype_info[t].cls == 'i', bits = 8 * (int)dtype_size(t);
	double x = op_attr(in->op, name)->f;
	if (!dtype_is_int(t) || (trunc(x) >= (sign ? -ldexp(1, bits - 1) : 0) && trunc(x) < ldexp(1, bits - sign))) return 1;
	Buf b = buf_new(in->b->ir->mem);
	buf_float(&b, x);
	Diag *d = infer_error(in, E0310, "`%s` of `%s` does not fit the tensor", name, op_said(in->op));
	diag_label(in->b->ir->ds, d, "%s is no %s", b.s, dtype_info[t].name);
	return 0;
}

int infer_word(Infer *in, const char *name, const char *const *words)
{
	const AttrVal *v = op_attr(in->op, name);
	int n = 0;
	for (; words[n]; n++)
		if (v->set && !strcmp(v->s, words[n])) return n;
	Buf b = buf_new(in->b->ir->mem);
	for (int i = 0; i < n; i++) buf_printf(&b, "%s\"%s\"", i == 0 ? "" : i == n - 1 ? " or " : ", ", words[i]);
	Diag *d = infer_error(in, E0310, "invalid `%s` for `%s`: \"%s\"", name, op_said(in->op), v->set ? v->s : "");
	diag_label(in->b->ir->ds, d, "expected %s", b.s);
	return -1;
}

int infer_seed(Infer *in, int i)
{
	Spec s = infer_in(in, i);
	if (s.dtype == DT_U32 && s.shape.rank == 1 && s.shape.dim[0] == 2) return 1;
	Diag *d = infer_error(in, E0317, "the seed of `%s` must be u32[2]", op_said(in->op));
	diag_label(in->b->ir->ds, d, "got %s", spec_str(in->b->ir->mem, s.dtype, s.shape));
	return 0;
}
