/* numbers.c — ops of numbers alone: `sqrt(2.0)` is a number, as it is in Python.
 *
 * An elementwise op says in its expression (.expr, the language of `kernel`) what it computes for one element, so that
 * is computed here and now.  Operators are those of the language: ints stay ints and never wrap, `/` gives a float.
 * Functions are the primitives that f64 tensors are computed with, or the C library's where that is closer; those that
 * are flat but for steps (floor, ceil, sign) give ints. */
#include "compiler/elab/eval.h"
#include "compiler/ops/formula.h"

#include <math.h>
#include <string.h>

typedef struct Sum {
	Elab *e;
	const OpDef *def;
	const Value *val;            /* per parameter of the op */
	Span at;
} Sum;

static Value compute(const Sum *s, const Ast *a);

/* --- names ------------------------------------------------------------------------------------------------- */
static Value default_of(const Param *p)
{
	if (!p->init.set) return v_none();
	switch (p->kind) {
	case P_INT:  return v_int(p->init.i);
	case P_BOOL: return v_bool(p->init.i != 0);
	default:     return v_float(p->init.f);
	}
}

/* a parameter's number, or the numbers of a list parameter */
static Value named(const Sum *s, const char *name)
{
	int i = op_param(s->def, name);
	if (i < 0) return v_float(strcmp(name, "inf") ? NAN : INFINITY);
	const Param *p = &s->def->params[i];
	Value v = is_given(s->val[i]) ? s->val[i] : default_of(p);
	for (int k = 0; p->kind == P_TENSORS && is_seq(v) && k < v.u.list->n; k++)
		if (!is_number(v.u.list->at[k])) v = v.u.list->at[k];
	if (is_number(v) || is_seq(v)) return v;
	return fail(s->e, E0206, s->at, "`%s` of `%s` must be a number, not %s", p->name, s->def->name, v_describe(s->e, v));
}

/* --- functions ----------------------------------------------------------------------------------------------- */
static int is_whole(Value v) { return v.kind == V_INT || v.kind == V_BOOL; }

static int gives_steps(FusePrim p) { return fuse_prim[p].arity == 1 && !strcmp(fuse_prim[p].slope, "0.0"); }

static Value too_large(const Sum *s, Value x)
{
	return fail(s->e, E0108, s->at, "`%s` of %s does not fit in 64 bits", s->def->name, v_text(s->e, x));
}

static Value to_int(const Sum *s, double y, Value x)
{
	if (isnan(y)) return fail(s->e, E0114, s->at, "`%s` of %s is not a number", s->def->name, v_text(s->e, x));
	return y >= -9223372036854775808.0 && y < 9223372036854775808.0 ? v_int((int64_t)y) : too_large(s, x);
}

/* bools are numbers of one bit, if all are */
static Value bits(FusePrim p, const Value *x, long long y)
{
	int truths = 1;
	for (int i = 0; i < fuse_prim[p].arity; i++) truths &= x[i].kind == V_BOOL;
	return truths ? v_bool((int)(y & 1)) : v_int(y);
}

static Value whole_prim(const Sum *s, FusePrim p, const Value *x)
{
	long long in[3][16] = { { 0 } }, y[16];
	int n = fuse_prim[p].arity;
	if ((p == FP_div || p == FP_mod) && !v_number(x[1]))
		return fail(s->e, E0109, s->at, "`%s` of %s by zero", s->def->name, v_text(s->e, x[0]));
	for (int i = 0; i < n; i++) in[i][0] = x[i].kind == V_INT ? x[i].u.i : x[i].u.b;
	prim_i64(p, y, (long long *[]){ in[0], in[1], in[2] }, 1);
	if (fuse_prim_truth(p)) return v_bool(y[0] != 0);
	if (fuse_prim[p].types == OF_INTS) return bits(p, x, y[0]);
	return n == 1 && y[0] == INT64_MIN ? too_large(s, x[0]) : v_int(y[0]);      /* |-2^63| */
}

/* primitives that are good to a unit or two; numbers shall be those that Python prints */
static const struct { FusePrim p; double (*f)(double); } closer[] = {
	{ FP_exp, exp }, { FP_log, log }, { FP_tanh, tanh }, { FP_sin, sin }, { FP_cos, cos },
	{ FP_asin, asin }, { FP_acos, acos }, { FP_atan, atan }, { FP_erf, erf },
};

static Value float_prim(const Sum *s, FusePrim p, const Value *x)
{
	double in[3][16] = { { 0 } }, y[16];
	for (int i = 0; i < fuse_prim[p].arity; i++) in[i][0] = v_number(x[i]);
	prim_f64(p, y, (double *[]){ in[0], in[1], in[2] }, 1);
	for (size_t i = 0; i < sizeof closer / sizeof *closer; i++)
		if (closer[i].p == p) y[0] = closer[i].f(in[0][0]);
	if (fuse_prim_truth(p)) return v_bool(y[0] != 0);
	return gives_steps(p) ? to_int(s, y[0], x[0]) : v_float(y[0]);
}

static Value prim(const Sum *s, FusePrim p, const Value *x)
{
	int whole = 1;
	for (int i = 0; i < fuse_prim[p].arity; i++) whole &= is_whole(x[i]);
	if (p == FP_sel) return v_number(x[0]) != 0 ? x[1] : x[2];
	if (whole && prim_takes(p, 0)) return whole_prim(s, p, x);
	if (!whole && !prim_takes(p, 1)) return fail(s->e, E0206, s->at, "`%s` takes ints", s->def->name);
	return whole && gives_steps(p) ? v_int(x[0].kind == V_INT ? x[0].u.i : x[0].u.b) : float_prim(s, p, x);
}

static int find_prim(const Ast *name) { return fuse_prim_find(name->u.name, strlen(name->u.name)); }

/* fold(max, ts) */
static Value folded(const Sum *s, const Ast *a)
{
	int p = find_prim(a->u.call.args.at[0]->u.arg.val);
	Value ts = compute(s, a->u.call.args.at[1]->u.arg.val), acc = ts;
	for (int i = 0; is_seq(ts) && i < ts.u.list->n && !is_error(acc); i++)
		acc = i ? prim(s, (FusePrim)p, (Value[]){ acc, ts.u.list->at[i] }) : ts.u.list->at[0];
	return acc;
}

static Value call(const Sum *s, const Ast *a)
{
	const char *name = a->u.call.fn->u.name;
	Value x[3];
	if (!strcmp(name, "fold")) return folded(s, a);
	for (int i = 0; i < a->u.call.args.n && i < 3; i++)
		if (is_error(x[i] = compute(s, a->u.call.args.at[i]->u.arg.val))) return x[i];
	return strcmp(name, "wrap") ? prim(s, (FusePrim)find_prim(a->u.call.fn), x) : x[0];
}

/* --- expressions ----------------------------------------------------------------------------------------------- */
static Value binary(const Sum *s, const Ast *a)
{
	Value x = compute(s, a->u.op.a), y = is_error(x) ? x : compute(s, a->u.op.b);
	if (is_error(y)) return y;
	switch (a->u.op.op) {
	case AO_AND: return v_bool(v_number(x) != 0 && v_number(y) != 0);
	case AO_OR:  return v_bool(v_number(x) != 0 || v_number(y) != 0);
	default:     return eval_binary(s->e, a->u.op.op, x, y, s->at);
	}
}

static Value compute(const Sum *s, const Ast *a)
{
	switch (a->kind) {
	case A_INT:    return v_int(a->u.i);
	case A_FLOAT:  return v_float(a->u.f);
	case A_NAME:   return named(s, a->u.name);
	case A_CALL:   return call(s, a);
	case A_BINARY: return binary(s, a);
	case A_UNARY: {
		Value x = compute(s, a->u.op.a);
		return is_error(x) ? x : eval_unary(s->e, a->u.op.op, x, s->at);
	}
	default: {                                   /* a if c else b */
		Value c = compute(s, a->u.cond.cond);
		return is_error(c) ? c : compute(s, v_number(c) != 0 ? a->u.cond.then : a->u.cond.other);
	}
	}
}

/* --- the result -------------------------------------------------------------------------------------------------- */
static int is_operand(ParamKind k) { return k == P_TENSOR || k == P_TENSORS || param_is_scalar(k); }

/* is one of the operands so? */
static int some_operand(const Sum *s, int (*is)(double))
{
	for (int i = 0; s->def->params[i].kind != P_END; i++) {
		Value v = s->val[i];
		if (!is_operand(s->def->params[i].kind)) continue;
		if (is_number(v) && is(v_number(v))) return 1;
		for (int k = 0; is_seq(v) && k < v.u.list->n; k++)
			if (is(v_number(v.u.list->at[k]))) return 1;
	}
	return 0;
}

static int not_a_number(double x) { return x != x; }
static int not_finite(double x)   { return !isfinite(x); }

/* "sqrt(-1.0)" */
static const char *shown(const Sum *s)
{
	Buf b = buf_new(s->e->mem);
	int n = 0;
	buf_printf(&b, "%s(", s->def->name);
	for (int i = 0; s->def->params[i].kind != P_END; i++) {
		Value v = s->val[i];
		List one = { &v, 1, 1 }, *all = is_seq(v) ? v.u.list : &one;
		for (int k = 0; k < all->n; k++)
			if (is_number(all->at[k])) buf_printf(&b, "%s%s", n++ ? ", " : "", v_text(s->e, all->at[k]));
	}
	buf_putc(&b, ')');
	return b.s;
}

/* as in Python's math: what leaves the numbers is an error, unless it was given */
static Value checked(const Sum *s, Value y)
{
	if (y.kind != V_FLOAT) return y;
	if (isnan(y.u.f) && !some_operand(s, not_a_number)) return fail(s->e, E0114, s->at, "`%s` is not a number", shown(s));
	if (isinf(y.u.f) && !some_operand(s, not_finite)) return fail(s->e, E0114, s->at, "`%s` is infinite", shown(s));
	return y;
}

int op_takes_numbers(const OpDef *def)
{
	if (!def->expr || (def->traits & (PURE | ELTWISE | INTERNAL | ONLY_INPLACE)) != (PURE | ELTWISE)) return 0;
	for (const Param *p = def->params; p->kind != P_END; p++) {
		int number = is_operand(p->kind) || p->kind == P_FLOAT || p->kind == P_INT || p->kind == P_BOOL;
		if (!number && p->kind != P_STR && p->kind != P_HINT) return 0;
	}
	return 1;
}

Value op_of_numbers(Elab *e, const OpDef *def, const Value *val, Span at)
{
	Sum s = { e, def, val, at };
	Ast *a = map_get(&e->formulas, def);
	if (!a) {
		a = lang_parse_expr(e->mem, e->names, e->ds, source_add(e->o.srcs, def->name, NULL, def->expr, strlen(def->expr)));
		map_set(e->mem, &e->formulas, def, a);
	}
	Value y = compute(&s, a);
	return is_error(y) ? y : checked(&s, y);
}
