/* kernel.c — `kernel` declarations: an expression of the model as the formula of one elementwise op.
 *
 * A call sorts the arguments (tensors and arrays are operands, numbers stand in the formula) and walks the
 * expression with them.  What is known then is computed then: conditions pick their branch, so a kernel may count down.
 * Kernels and `fn f(x) = …` that are called inside are written out in place. */
#include "compiler/elab/eval.h"
#include "compiler/ops/formula.h"
#include "compiler/ops/grad.h"

#include <math.h>
#include <string.h>

typedef struct Kernel {
	Elab *e;
	const Fn *fn;
	DType dtype;                     /* of the operands that are no truth values */
} Kernel;

typedef VEC(Tensor *) TensorList;
/* names of the formula being read: parameters, then whatever the declaration could see */
typedef struct Scope { Map args; Env *env; } Scope;

static const Formula *read_expr(Kernel *k, Scope *s, const Ast *a);

static Arena *mem(const Kernel *k) { return k->e->mem; }

static const Formula *bad(Kernel *k, Span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static const Formula *bad(Kernel *k, Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fail(k->e, E0208, at, "%s", arena_vprintf(mem(k), fmt, ap));
	va_end(ap);
	return NULL;
}

/* --- values ----------------------------------------------------------------------------------------------- */
static const Formula *number_of(Kernel *k, Value v, Span at, const char *what)
{
	if (is_error(v)) return NULL;
	if (v.kind == V_TENSOR) return bad(k, at, "%s is a tensor: a kernel gets its tensors as arguments", what);
	if (!is_number(v)) return bad(k, at, "%s is %s: in a kernel there are numbers and truth values only", what, v_describe(k->e, v));
	if (v.kind == V_INT && (v.u.i > 9007199254740992 || v.u.i < -9007199254740992)) return bad(k, at, "%s is beyond 2^53, where not every whole number is a float", what);
	return formula_number(mem(k), v_number(v), v.kind == V_BOOL);
}

static int want_number(Kernel *k, const Formula *f, Span at, const char *where)
{
	if (!f) return 0;
	if (f->truth) bad(k, at, "%s needs a number, and this is a truth value", where);
	return !f->truth;
}

static int want_truth(Kernel *k, const Formula *f, Span at, const char *where)
{
	if (!f) return 0;
	if (!f->truth) bad(k, at, "%s needs a truth value: a comparison, or a bool operand", where);
	return f->truth;
}

static const Formula *sized(Kernel *k, const Formula *f, Span at)
{
	if (!formula_too_large(f)) return f;
	fail(k->e, E0208, at, "`%s` is too large: its formula has more than %d parts, or nests deeper than %d", k->fn->name, FORMULA_SIZE, FORMULA_DEPTH);
	return NULL;
}

static const Formula *prim(Kernel *k, FusePrim p, const Formula *x, const Formula *y, const Formula *z, Span at)
{
	return sized(k, formula_prim(mem(k), p, x, y, z), at);
}

static int is_known(const Formula *f) { return f->kind == FORMULA_NUMBER; }

/* --- operators -------------------------------------------------------------------------------------------- */
static const struct { AstOp op; FusePrim prim; } arithmetic[] = {
	{ AO_ADD, FP_add }, { AO_SUB, FP_sub }, { AO_MUL, FP_mul }, { AO_DIV, FP_div }, { AO_MOD, FP_mod }, { AO_POW, FP_pow },
}, comparisons[] = {
	{ AO_EQ, FP_eq }, { AO_NE, FP_ne }, { AO_LT, FP_lt }, { AO_LE, FP_le }, { AO_GT, FP_gt }, { AO_GE, FP_ge },
}, logic[] = {
	{ AO_AND, FP_and }, { AO_OR, FP_or }, { AO_BITAND, FP_and }, { AO_BITOR, FP_or },
};

#define FIND(rows, wanted, out) \
	for (size_t i_ = 0; i_ < sizeof rows / sizeof *rows; i_++) \
		if (rows[i_].op == (wanted)) out = (int)rows[i_].prim

/* two numbers: as everywhere in the language */
static const Formula *host_binary(Kernel *k, const Ast *a, const Formula *x, const Formula *y)
{
	int whole = x->x == floor(x->x) && y->x == floor(y->x) && fabs(x->x) < 1e15 && fabs(y->x) < 1e15 && !dtype_is_float(k->dtype);
	Value u = x->truth ? v_bool(x->x != 0) : whole ? v_int((int64_t)x->x) : v_float(x->x);
	Value v = y->truth ? v_bool(y->x != 0) : whole ? v_int((int64_t)y->x) : v_float(y->x);
	return number_of(k, eval_binary(k->e, a->u.op.op, u, v, a->at), a->at, "the result");
}

/* towards minus infinity, which division of integers is anyway */
static const Formula *floor_div(Kernel *k, const Formula *x, const Formula *y, Span at)
{
	const Formula *q = prim(k, FP_div, x, y, NULL, at);
	return q && dtype_is_float(k->dtype) ? prim(k, FP_floor, q, NULL, NULL, at) : q;
}

static const Formula *binary(Kernel *k, Scope *s, const Ast *a)
{
	int p = -1, cmp = -1, log = -1;
	const char *op = arena_printf(mem(k), "`%s`", ast_op_text[a->u.op.op]);
	FIND(arithmetic, a->u.op.op, p);
	FIND(comparisons, a->u.op.op, cmp);
	FIND(logic, a->u.op.op, log);
	if (p < 0 && cmp < 0 && log < 0 && a->u.op.op != AO_IDIV) return bad(k, a->at, "%s does not work element by element", op);
	const Formula *x = read_expr(k, s, a->u.op.a), *y = x ? read_expr(k, s, a->u.op.b) : NULL;
	if (!x || !y) return NULL;
	if (log >= 0) {
		if (!want_truth(k, x, a->u.op.a->at, op) || !want_truth(k, y, a->u.op.b->at, op)) return NULL;
		return is_known(x) ? ((x->x != 0) == (log == FP_and) ? y : x) : is_known(y) ? ((y->x != 0) == (log == FP_and) ? x : y) : prim(k, (FusePrim)log, x, y, NULL, a->at);
	}
	int truths = (a->u.op.op == AO_EQ || a->u.op.op == AO_NE) && x->truth && y->truth;
	if (!truths && (!want_number(k, x, a->u.op.a->at, op) || !want_number(k, y, a->u.op.b->at, op))) return NULL;
	if (is_known(x) && is_known(y)) return host_binary(k, a, x, y);
	if (a->u.op.op == AO_IDIV) return floor_div(k, x, y, a->at);
	return prim(k, (FusePrim)(p >= 0 ? p : cmp), x, y, NULL, a->at);
}

static const Formula *unary(Kernel *k, Scope *s, const Ast *a)
{
	const char *op = arena_printf(mem(k), "`%s`", ast_op_text[a->u.op.op]);
	const Formula *x = read_expr(k, s, a->u.op.a);
	if (a->u.op.op == AO_NEG) return want_number(k, x, a->u.op.a->at, op) ? prim(k, FP_neg, x, NULL, NULL, a->at) : NULL;
	if (!want_truth(k, x, a->u.op.a->at, op)) return NULL;
	return is_known(x) ? formula_number(mem(k), x->x == 0, 1) : prim(k, FP_not, x, NULL, NULL, a->at);
}

static const Formula *conditional(Kernel *k, Scope *s, const Ast *a)
{
	const Formula *c = read_expr(k, s, a->u.cond.cond), *x, *y;
	if (!want_truth(k, c, a->u.cond.cond->at, "the condition")) return NULL;
	if (is_known(c)) return read_expr(k, s, c->x != 0 ? a->u.cond.then : a->u.cond.other);
	if (!(x = read_expr(k, s, a->u.cond.then)) || !(y = read_expr(k, s, a->u.cond.other))) return NULL;
	if (x->truth != y->truth) return bad(k, a->at, "one branch is a truth value, the other a number");
	return prim(k, FP_sel, c, x, y, a->at);
}

/* --- calls -------------------------------------------------------------------------------------------------- */
/* besides the primitives of one operand, which go by their own names */
static const struct { const char *name; FusePrim prim; } functions[] = {
	{ "negate", FP_neg }, { "min", FP_min }, { "max", FP_max }, { "minimum", FP_min }, { "maximum", FP_max }, { "pow", FP_pow }, { "fmod", FP_mod },
	{ "where", FP_sel }, { "bitwise_and", FP_bitwise_and }, { "bitwise_or", FP_bitwise_or }, { "bitwise_xor", FP_bitwise_xor },
};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static int by_own_name(FusePrim p) { return fuse_prim[p].arity == 1 && p != FP_neg && p != FP_not; }

/* -1: kernels have no such function; `known` gets those that they have */
static int find_function(const char *name, const char **known, int *n)
{
	*n = 0;
	for (int i = 0; i < NFUNCTIONS; i++) {
		if (!strcmp(functions[i].name, name)) return (int)functions[i].prim;
		known[(*n)++] = functions[i].name;
	}
	for (int p = 0; p < FP_COUNT; p++) {
		if (!by_own_name((FusePrim)p)) continue;
		if (!strcmp(fuse_prim[p].name, name)) return p;
		known[(*n)++] = fuse_prim[p].name;
	}
	return -1;
}

static const Formula *call_function(Kernel *k, Scope *s, const Ast *a, const char *name, FusePrim p)
{
	int n = fuse_prim[p].arity;
	const Formula *x[3] = { 0 };
	const char *what = arena_printf(mem(k), "`%s`", name);
	if (a->u.call.args.n != n) return bad(k, a->at, "%s takes %d argument%s in a kernel, %d given", what, n, n == 1 ? "" : "s", a->u.call.args.n);
	for (int j = 0; j < n; j++) {
		const Ast *arg = a->u.call.args.at[j];
		if (arg->u.arg.name || arg->u.arg.star) return bad(k, arg->at, "%s takes its arguments by position in a kernel", what);
		if (!(x[j] = read_expr(k, s, arg->u.arg.val))) return NULL;
		if (p == FP_sel && j == 0 ? !want_truth(k, x[j], arg->at, what) : p != FP_sel && !want_number(k, x[j], arg->at, what)) return NULL;
	}
	if (p == FP_sel && x[1]->truth != x[2]->truth) return bad(k, a->at, "one branch is a truth value, the other a number");
	int real = dtype_is_float(k->dtype);
	if (!prim_takes(p, real))
		return bad(k, a->at, "%s is for %s, and `%s` computes in %s here", what, real ? "integers" : "floating-point numbers",
		           k->fn->name, dtype_info[k->dtype].name);
	return prim(k, p, x[0], x[1], x[2], a->at);
}

static int param_of(const Fn *fn, const char *name)
{
	for (int i = 0; i < fn->params->n; i++)
		if (fn->params->at[i]->u.param.name == name) return i;
	return -1;
}

/* the formulas of the arguments of a kernel or function called inside; 0 after a diagnostic */
static int bind_inside(Kernel *k, Scope *s, const Ast *a, const Fn *fn, Scope *to)
{
	for (int j = 0; j < a->u.call.args.n; j++) {
		const Ast *arg = a->u.call.args.at[j];
		int i = arg->u.arg.name ? param_of(fn, arg->u.arg.name) : j < fn->params->n ? j : -1;
		if (i < 0 || arg->u.arg.star || map_has(&to->args, fn->params->at[i]->u.param.name)) {
			fail(k->e, E0208, arg->at, "`%s` does not take this argument", fn->name ? fn->name : "fn");
			return 0;
		}
		const Formula *f = read_expr(k, s, arg->u.arg.val);
		if (!f) return 0;
		map_set(mem(k), &to->args, fn->params->at[i]->u.param.name, (void *)(uintptr_t)f);
	}
	for (int i = 0; i < fn->params->n; i++) {
		const Ast *p = fn->params->at[i];
		const Formula *f = map_has(&to->args, p->u.param.name) ? map_get(&to->args, p->u.param.name) : p->u.param.init ? read_expr(k, to, p->u.param.init) : NULL;
		if (!f && p->u.param.init) return 0;
		if (!f) fail(k->e, E0203, a->at, "`%s` needs an argument for `%s`", fn->name ? fn->name : "fn", p->u.param.name);
		if (!f) return 0;
		map_set(mem(k), &to->args, p->u.param.name, (void *)(uintptr_t)f);
	}
	return 1;
}

static const Formula *write_out(Kernel *k, Scope *s, const Ast *a, const Fn *fn)
{
	Scope inner = { .env = fn->env };
	const Formula *f = NULL;
	if (!fn->is_expr) return bad(k, a->at, "`%s` has statements or contexts: a kernel calls kernels, and functions written as `fn f(x) = ...`", fn->name ? fn->name : "fn");
	if (!enter(k->e, a->at)) return NULL;
	if (bind_inside(k, s, a, fn, &inner)) f = read_expr(k, &inner, fn->body);
	leave(k->e);
	return f;
}

static const Formula *call(Kernel *k, Scope *s, const Ast *a)
{
	const char *name = a->u.call.fn->kind == A_NAME ? a->u.call.fn->u.name : NULL, *known[NFUNCTIONS + FP_COUNT];
	int n;
	if (!name) return bad(k, a->at, "a kernel calls functions by their names only");
	if (map_has(&s->args, name)) return bad(k, a->at, "`%s` is a parameter, no function", name);
	Value v = env_has(k->e, s->env, name) ? env_get(k->e, s->env, name, a->at) : v_unset();
	if (v.kind == V_FN) return write_out(k, s, a, v.u.fn);
	int p = find_function(name, known, &n);
	if (p >= 0) return call_function(k, s, a, name, (FusePrim)p);
	if (v.kind == V_UNSET) fail_unknown(k->e, E0101, a->u.call.fn->at, "function of kernels", name, known, n);
	else bad(k, a->at, "`%s` cannot be used in a kernel", name);
	return NULL;
}

/* --- expressions ---------------------------------------------------------------------------------------------- */
static const Formula *name(Kernel *k, Scope *s, const Ast *a)
{
	const char *what = arena_printf(mem(k), "`%s`", a->u.name);
	if (map_has(&s->args, a->u.name)) return map_get(&s->args, a->u.name);
	return number_of(k, env_get(k->e, s->env, a->u.name, a->at), a->at, what);
}

static const Formula *read_expr(Kernel *k, Scope *s, const Ast *a)
{
	if (!step(k->e, a->at)) return NULL;
	switch (a->kind) {
	case A_BOOL:   return formula_number(mem(k), a->u.b, 1);
	case A_INT:    return number_of(k, v_int(a->u.i), a->at, "the number");
	case A_FLOAT:  return formula_number(mem(k), a->u.f, 0);
	case A_NAME:   return name(k, s, a);
	case A_UNARY:  return unary(k, s, a);
	case A_BINARY: return binary(k, s, a);
	case A_COND:   return conditional(k, s, a);
	case A_CALL:   return call(k, s, a);
	case A_FIELD:  return number_of(k, eval(k->e, s->env, a), a->at, "the field");
	case A_ERROR:  return NULL;
	default:       return bad(k, a->at, "this cannot stand in a kernel, which computes one element from one element of each operand");
	}
}

/* --- arguments -------------------------------------------------------------------------------------------------- */
/* tensors say what is computed in; arrays beside them follow */
static int find_dtype(Kernel *k, Env *args)
{
	int seen = 0;
	k->dtype = DT_BOOL;
	for (int i = 0; i < k->fn->params->n; i++) {
		Value v = *(Value *)map_get(&args->vars, k->fn->params->at[i]->u.param.name);
		if (v.kind != V_TENSOR) continue;
		seen = 1;
		if (k->dtype == DT_BOOL) k->dtype = v.u.tensor->spec.dtype;
	}
	return seen;
}

static int is_array(Value v) { return v.kind == V_ARRAY || is_seq(v); }

/* an argument as formula and, if it is a tensor or an array, as operand; 0 after a diagnostic */
static int sort_argument(Kernel *k, const Ast *param, Value v, int tensors, Span at, Scope *s, TensorList *in)
{
	const char *what = arena_printf(mem(k), "`%s` of `%s`", param->u.param.name, k->fn->name);
	const Formula *f;
	if (v.kind == V_TENSOR || is_array(v)) {
		Tensor *t = v.kind == V_TENSOR ? v.u.tensor : constant_of(k->e, v, tensors ? (int)k->dtype : -1, NULL, at);
		if (!t || !in_graph(k->e, t, at, what)) return 0;
		if (!tensors && k->dtype == DT_BOOL) k->dtype = t->spec.dtype;
		f = formula_arg(mem(k), in->n, t->spec.dtype == DT_BOOL);
		vec_push(mem(k), in, t);
	} else f = number_of(k, v, at, what);
	if (f) map_set(mem(k), &s->args, param->u.param.name, (void *)(uintptr_t)f);
	return f != NULL;
}

static int sort_arguments(Kernel *k, Env *args, Span at, Scope *s, TensorList *in)
{
	int tensors = find_dtype(k, args), poison = 0;
	for (int i = 0; i < k->fn->params->n; i++) {
		const Ast *p = k->fn->params->at[i];
		if (!sort_argument(k, p, *(Value *)map_get(&args->vars, p->u.param.name), tensors, at, s, in)) return 0;
	}
	for (int i = 0; i < in->n; i++) poison |= in->at[i]->poison;
	if (!in->n) bad(k, at, "`%s` is given numbers only: a kernel works on tensors", k->fn->name);
	return in->n && !poison;
}

/* what a kernel of integers cannot have; the formula may have it from a number given to it */
static int check_types(Kernel *k, const Formula *f)
{
	const Formula *x = formula_misfit(f, dtype_is_float(k->dtype));
	if (!x) return 1;
	Buf b = buf_new(mem(k));
	formula_put(x, &b);
	bad(k, k->fn->body->at, "`%s` computes in %s here, which has no %s", k->fn->name, dtype_info[k->dtype].name, b.s);
	return 0;
}

static Value add_op(Kernel *k, const Formula *f, const TensorList *in, const Frame *frame)
{
	Elab *e = k->e;
	Build *b = &e->b;
	Buf text = buf_new(mem(k));
	formula_put(f, &text);
	b->at = frame->at;
	b->chain = frame->up;                            /* of this op the caller is the place, as of any other */
	Op *op = ir_op(b, OP_kernel, in->at, in->n, b_attrs(b, OP_kernel, "name", attr_str(k->fn->name), "expr", attr_str(text.s), NULL),
	               arena_printf(mem(k), "%s_out", k->fn->name));
	b->chain = frame;
	return op_results(e, op, 1);
}

Value run_kernel(Elab *e, const Fn *fn, Env *args)
{
	Kernel k = { e, fn, DT_BOOL };
	Scope s = { .env = fn->env };
	TensorList in = { 0 };
	const Frame *frame = e->b.chain;
	if (!building(e, frame->at, arena_printf(e->mem, "the kernel `%s` is used", fn->name)) || !sort_arguments(&k, args, frame->at, &s, &in)) return v_error();
	const Formula *f = read_expr(&k, &s, fn->body);
	if (!f || !check_types(&k, f)) return v_error();
	return add_op(&k, f, &in, frame);
}

/* --- declarations ------------------------------------------------------------------------------------------------- */
void declare_kernel(Elab *e, Env *env, const Ast *a)
{
	const Value *old = map_get(&env->vars, a->u.fn.name);
	for (int i = 0; i < a->u.fn.params.n; i++) {
		const Ast *p = a->u.fn.params.at[i];
		if (p->u.param.star == NO_STAR) continue;
		fail(e, E0208, p->at, "`%s` of the kernel `%s` takes several values: each operand of a kernel has a name", p->u.param.name, a->u.fn.name);
		return;
	}
	if (old) {
		fail(e, E0115, a->u.fn.name_at, "`%s` is declared twice", a->u.fn.name);
		return;
	}
	Fn *fn = NEW(e->mem, Fn);
	*fn = (Fn){ .name = a->u.fn.name, .params = &a->u.fn.params, .body = a->u.fn.body, .is_expr = 1, .kernel = 1, .env = env };
	env_set(e, env, fn->name, v_of(V_FN, fn));
}
