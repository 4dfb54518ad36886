/* fuse_expr.c — from an op's expression to nodes of a pattern.
 *
 * OpDef.expr is short text in the language of `kernel` (see fuse.h); this is its parser, by recursive
 * descent, with operands and attributes bound as names are met.  What is known while binding is
 * computed here, so that `f * x if set(f) else x` costs nothing at run time.  Precedence, loosest
 * first: if-else, or, and, not, comparison, + -, * / // %, unary -, **. */
#include <math.h>
#include <string.h>

#include "compiler/passes/fuse.h"

typedef struct Bind {
	Arena *mem;
	Pattern *p;
	const Op *op;
	const int *node;             /* per operand */
	int cls;                     /* class the op computes in */
	DType dtype;                 /* of operand 0: scalars are rounded to it */
	int real;                    /* integers with factors that are none: P_SCALARs stay as they are */
	const char *s;
	Buf *why;
	int failed;
	int first;                   /* nodes from here on are this op's */
	int skip;                    /* inside a branch that is not taken: names need not be set */
} Bind;

static int ternary(Bind *b);
static int primary(Bind *b);

static int fail(Bind *b, const char *what)
{
	if (!b->failed && b->why) buf_printf(b->why, "expression of `%s`: %s at `%s`", op_def(b->op)->name, what, b->s ? b->s : "");
	b->failed = 1;
	return 0;
}

int dtype_class(DType t)
{
	if (t == DT_F64) return PXLRT_F64;
	if (t == DT_U64) return PXLRT_U64;
	return dtype_is_float(t) || dtype_is_f8(t) ? PXLRT_F32 : PXLRT_I64;
}

static int is_float_class(int cls)
{
	return cls == PXLRT_F32 || cls == PXLRT_F64;
}

/* how much a class can hold: i64 < u64 < f32 < f64 */
static int width(int cls)
{
	return cls == PXLRT_I64 ? 0 : cls == PXLRT_U64 ? 1 : cls == PXLRT_F32 ? 2 : 3;
}

/* the type that fills a class: converting to it loses nothing more */
static DType class_dtype(int cls)
{
	static const DType of[PXLRT_NCLASS] = { [PXLRT_F32] = DT_F32, [PXLRT_F64] = DT_F64, [PXLRT_I64] = DT_I64, [PXLRT_U64] = DT_U64 };
	return of[cls];
}

/* --- nodes ------------------------------------------------------------------------------------------------- */

static int push(Arena *a, Pattern *p, FuseNode n)
{
	vec_push(a, &p->nodes, n);
	return p->nodes.n - 1;
}

int fuse_load(Arena *a, Pattern *p, int operand, DType t, Span at)
{
	for (int i = 0; i < p->nodes.n; i++)
		if (p->nodes.at[i].kind == FUSE_LOAD && p->nodes.at[i].operand == operand) return i;
	return push(a, p, (FuseNode){ .kind = FUSE_LOAD, .cls = dtype_class(t), .dtype = t, .operand = operand, .at = at });
}

static int constant(Arena *a, Pattern *p, int cls, double f, int64_t i, Span at)
{
	for (int k = 0; k < p->nodes.n; k++) {           /* bits compare, so that -0 and nan stay themselves */
		FuseNode *n = &p->nodes.at[k];
		if (n->kind == FUSE_CONST && n->cls == cls && n->i == i && !memcmp(&n->f, &f, sizeof f)) return k;
	}
	return push(a, p, (FuseNode){ .kind = FUSE_CONST, .cls = cls, .dtype = class_dtype(cls), .f = f, .i = i, .at = at });
}

int fuse_const(Arena *a, Pattern *p, DType t, double x, Span at)
{
	unsigned char raw[8] = { 0 };
	int cls = dtype_class(t);

	rt_set(t, raw, 0, x);
	if (is_float_class(cls)) return constant(a, p, cls, rt_get(t, raw, 0), 0, at);
	return constant(a, p, cls, 0, rt_get_int(t, raw, 0), at);
}

static int literal(Bind *b, double x)
{
	if (is_float_class(b->cls)) return constant(b->mem, b->p, b->cls, b->cls == PXLRT_F32 ? (float)x : x, 0, b->op->at);
	return fuse_const(b->mem, b->p, class_dtype(b->cls), x, b->op->at);
}

/* 1 and *x: the node is a number known now */
static int known(const Bind *b, int n, double *x)
{
	const FuseNode *c = &b->p->nodes.at[n];

	if (c->kind != FUSE_CONST) return 0;
	*x = is_float_class(c->cls) ? c->f : c->cls == PXLRT_U64 ? (double)(uint64_t)c->i : (double)c->i;
	return 1;
}

static int convert(Bind *b, int n, DType t)
{
	return push(b->mem, b->p, (FuseNode){ .kind = FUSE_CVT, .cls = dtype_class(t), .dtype = t, .arg = { n }, .at = b->op->at });
}

static int to_class(Bind *b, int n, int cls)
{
	double x;

	if (b->p->nodes.at[n].cls == cls) return n;
	if (known(b, n, &x)) return fuse_const(b->mem, b->p, class_dtype(cls), x, b->op->at);
	return convert(b, n, class_dtype(cls));
}

/* comparisons and negation of known numbers are known; other arithmetic is left to the kernels, whose bits count */
static int fold(FusePrim f, double x, double y, double *out)
{
	switch (f) {
	case FP_neg: *out = -x; return 1;
	case FP_eq: *out = x == y; return 1;
	case FP_ne: *out = x != y; return 1;
	case FP_lt: *out = x < y; return 1;
	case FP_le: *out = x <= y; return 1;
	case FP_gt: *out = x > y; return 1;
	case FP_ge: *out = x >= y; return 1;
	case FP_and: *out = x != 0 && y != 0; return 1;
	case FP_or: *out = x != 0 || y != 0; return 1;
	case FP_not: *out = x == 0; return 1;
	default: return 0;
	}
}

static int prim(Bind *b, FusePrim f, int x, int y, int z)
{
	FuseNode n = { .kind = FUSE_PRIM, .prim = f, .cls = b->cls, .dtype = class_dtype(b->cls), .at = b->op->at };
	double u, v = 0, r;

	if (b->failed) return 0;
	int real = is_float_class(b->cls);
	if (!prim_takes(f, real)) return fail(b, real ? "a function of integers on floats" : "a function of floats on integers");
	if (known(b, x, &u) && (fuse_prim[f].arity == 1 || known(b, y, &v)) && fuse_prim[f].arity < 3 && fold(f, u, v, &r))
		return literal(b, r);
	if (f == FP_mul && known(b, x, &u) && u == 1) return to_class(b, y, b->cls);      /* factors that were left out */
	n.arg[0] = to_class(b, x, b->cls);
	if (fuse_prim[f].arity > 1) n.arg[1] = to_class(b, y, b->cls);
	if (fuse_prim[f].arity > 2) n.arg[2] = to_class(b, z, b->cls);
	for (int i = b->first; i < b->p->nodes.n; i++) {         /* derivatives say many things twice */
		const FuseNode *m = &b->p->nodes.at[i];
		if (m->kind == FUSE_PRIM && m->prim == f && !memcmp(m->arg, n.arg, sizeof n.arg)) return i;
	}
	return push(b->mem, b->p, n);
}

/* --- names ------------------------------------------------------------------------------------------------- */

static void space(Bind *b)
{
	while (*b->s == ' ') b->s++;
}

static int take(Bind *b, const char *tok)
{
	size_t n = strlen(tok);

	space(b);
	if (strncmp(b->s, tok, n)) return 0;
	if (strchr("abcdefghijklmnopqrstuvwxyz", tok[0]) && (b->s[n] == '_' || strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", b->s[n])) && b->s[n]) return 0;
	b->s += n;
	return 1;
}

static int name(Bind *b, char *out, size_t cap)
{
	size_t n = 0;

	space(b);
	while ((b->s[n] >= 'a' && b->s[n] <= 'z') || (b->s[n] >= 'A' && b->s[n] <= 'Z') || b->s[n] == '_' || (n && b->s[n] >= '0' && b->s[n] <= '9')) n++;
	if (!n || n >= cap) return 0;
	memcpy(out, b->s, n);
	out[n] = 0;
	b->s += n;
	return 1;
}

static int given(const Op *op, int param)
{
	int i = op_operand(op_def(op), param);

	if (i >= 0 && i < op->in.n && op->in.at[i]) return 1;
	return op->attr && op->attr[param].set;
}

static int operand_node(Bind *b, int param, int i)
{
	int n = b->node[i];

	if (op_def(b->op)->params[param].kind == P_SCALAR && b->op->in.at[i]->spec.dtype != b->dtype && !b->real)
		n = convert(b, n, b->dtype);
	return to_class(b, n, b->cls);
}

/* a factor of integers may be beyond their dtype, since products wrap: -1 of u8 is 255 */
static int factor(Bind *b, double x)
{
	if (b->cls == PXLRT_U64 && x < 0 && x >= -9223372036854775808.0) return constant(b->mem, b->p, b->cls, 0, (int64_t)x, b->op->at);
	return literal(b, x);
}

static int bound(Bind *b, int param)
{
	const Param *q = &op_def(b->op)->params[param];
	int i = op_operand(op_def(b->op), param);

	if (i >= 0 && i < b->op->in.n && b->op->in.at[i]) return operand_node(b, param, i);
	if (!given(b->op, param)) return b->skip ? literal(b, 0) : fail(b, "a name that is not set");
	switch (q->kind) {
	case P_SCALAR:
		if (b->real || !is_float_class(b->cls)) return factor(b, b->op->attr[param].f);
		/* fall through */
	case P_FLOAT: return to_class(b, fuse_const(b->mem, b->p, b->dtype, b->op->attr[param].f, b->op->at), b->cls);
	case P_INT: case P_BOOL: return literal(b, (double)b->op->attr[param].i);
	default: return fail(b, "a parameter that is not a number");
	}
}

static int is_set(Bind *b, int fixed)
{
	const OpDef *def = op_def(b->op);
	char id[64];
	int param, i;

	if (!take(b, "(") || !name(b, id, sizeof id) || (param = op_param(def, id)) < 0 || !take(b, ")")) return fail(b, "expected a parameter");
	if (!fixed) return literal(b, given(b->op, param));
	i = op_operand(def, param);
	return literal(b, !(i >= 0 && i < b->op->in.n && b->op->in.at[i]) && given(b->op, param));
}

/* "ts2": an item of a list operand, the last one; its index in op->in, or -1 */
static int list_item(const Bind *b, const char *id)
{
	const Param *q = op_def(b->op)->params;

	for (int i = 0; q[i].kind != P_END; i++) {
		size_t n = strlen(q[i].name);
		if (q[i].kind != P_TENSORS || strncmp(id, q[i].name, n) || !id[n] || strlen(id + n) > 6) continue;
		int at = op_operand(op_def(b->op), i);
		for (int k = 0, x = 0; ; k++) {
			if (!id[n + (size_t)k]) return at + x < b->op->in.n ? at + x : -1;
			if (id[n + (size_t)k] < '0' || id[n + (size_t)k] > '9') break;
			x = 10 * x + id[n + (size_t)k] - '0';
		}
	}
	return -1;
}

/* fold(p, ts): the list operand is the last one, so it runs to the end of op->in */
static int fold_list(Bind *b)
{
	char id[64], list[64];
	int f, param, first, acc;

	if (!take(b, "(") || !name(b, id, sizeof id) || (f = fuse_prim_find(id, strlen(id))) < 0 || fuse_prim[f].arity != 2) return fail(b, "expected a function of two");
	if (!take(b, ",") || !name(b, list, sizeof list) || !take(b, ")")) return fail(b, "expected a list");
	param = op_param(op_def(b->op), list);
	first = param < 0 ? -1 : op_operand(op_def(b->op), param);
	if (first < 0 || first >= b->op->in.n) return fail(b, "expected a list operand");
	acc = operand_node(b, param, first);
	for (int i = first + 1; i < b->op->in.n && !b->failed; i++)
		acc = prim(b, (FusePrim)f, acc, operand_node(b, param, i), 0);
	return acc;
}

static int convert_to_result(Bind *b)
{
	int n;

	if (!take(b, "(")) return fail(b, "expected (");
	n = ternary(b);
	if (!take(b, ")")) return fail(b, "expected )");
	return b->failed ? 0 : convert(b, n, b->op->out.at[0]->spec.dtype);
}

/* wrap(e): an integer is brought to the result's dtype before it is used further, a float is not rounded twice */
static int wrapped(Bind *b)
{
	return is_float_class(b->cls) ? primary(b) : convert_to_result(b);
}

static int call(Bind *b, int f)
{
	int arg[3] = { 0 };

	if (!take(b, "(")) return fail(b, "expected (");
	for (int i = 0; i < fuse_prim[f].arity; i++) {
		if (i && !take(b, ",")) return fail(b, "expected ,");
		arg[i] = ternary(b);
	}
	if (!take(b, ")")) return fail(b, "expected )");
	return prim(b, (FusePrim)f, arg[0], arg[1], arg[2]);
}

static int named(Bind *b)
{
	const char *start = b->s;
	char id[64];
	int i;

	if (!name(b, id, sizeof id)) return fail(b, "expected a value");
	space(b);
	if ((i = op_param(op_def(b->op), id)) >= 0 && *b->s != '(') return bound(b, i);
	if ((i = list_item(b, id)) >= 0) return to_class(b, b->node[i], b->cls);
	if (!strcmp(id, "inf")) return literal(b, (double)INFINITY);
	if (!strcmp(id, "nan")) return literal(b, (double)NAN);
	if (!strcmp(id, "cast")) return convert_to_result(b);
	if (!strcmp(id, "wrap")) return wrapped(b);
	if (!strcmp(id, "set")) return is_set(b, 0);
	if (!strcmp(id, "fixed")) return is_set(b, 1);
	if (!strcmp(id, "fold")) return fold_list(b);
	if ((i = fuse_prim_find(id, strlen(id))) >= 0) return call(b, i);
	b->s = start;
	return fail(b, "unknown name");
}

/* --- grammar ----------------------------------------------------------------------------------------------- */

static int number(Bind *b)
{
	size_t n = strspn(b->s, "0123456789.");
	double x;

	if (b->s[n] == 'e') {
		n += strspn(b->s + n, "e+-");
		n += strspn(b->s + n, "0123456789");
	}
	if (!text_float(b->s, n, &x)) return fail(b, "bad number");
	b->s += n;
	return literal(b, x);
}

static int primary(Bind *b)
{
	int n;

	space(b);
	if ((*b->s >= '0' && *b->s <= '9') || *b->s == '.') return number(b);
	if (!take(b, "(")) return named(b);
	n = ternary(b);
	return take(b, ")") ? n : fail(b, "expected )");
}

static int unary(Bind *b);

static int power(Bind *b)
{
	int n = primary(b);

	return !b->failed && take(b, "**") ? prim(b, FP_pow, n, unary(b), 0) : n;
}

static int unary(Bind *b)
{
	return take(b, "-") ? prim(b, FP_neg, unary(b), 0, 0) : power(b);
}

static int product(Bind *b)
{
	int n = unary(b);

	while (!b->failed) {
		if (take(b, "//")) n = is_float_class(b->cls) ? prim(b, FP_floor, prim(b, FP_div, n, unary(b), 0), 0, 0) : prim(b, FP_div, n, unary(b), 0);
		else if (take(b, "*")) n = prim(b, FP_mul, n, unary(b), 0);
		else if (take(b, "/")) n = prim(b, FP_div, n, unary(b), 0);
		else if (take(b, "%")) n = prim(b, FP_mod, n, unary(b), 0);
		else break;
	}
	return n;
}

static int sum(Bind *b)
{
	int n = product(b);

	while (!b->failed) {
		if (take(b, "+")) n = prim(b, FP_add, n, product(b), 0);
		else if (take(b, "-")) n = prim(b, FP_sub, n, product(b), 0);
		else break;
	}
	return n;
}

static int comparison(Bind *b)
{
	static const struct { const char *tok; FusePrim f; } row[] = {
		{ "==", FP_eq }, { "!=", FP_ne }, { "<=", FP_le }, { ">=", FP_ge }, { "<", FP_lt }, { ">", FP_gt } };
	int n = sum(b);

	for (size_t i = 0; i < sizeof row / sizeof *row && !b->failed; i++)
		if (take(b, row[i].tok)) return prim(b, row[i].f, n, sum(b), 0);
	return n;
}

static int negation(Bind *b)
{
	return take(b, "not") ? prim(b, FP_not, negation(b), 0, 0) : comparison(b);
}

static int conjunction(Bind *b)
{
	int n = negation(b);

	while (!b->failed && take(b, "and")) n = prim(b, FP_and, n, negation(b), 0);
	return n;
}

static int disjunction(Bind *b)
{
	int n = conjunction(b);

	while (!b->failed && take(b, "or")) n = prim(b, FP_or, n, conjunction(b), 0);
	return n;
}

/* Is there an `if` after the coming operand, before the end of this nesting?  Looking ahead, because the
 * condition stands in the middle and decides whether what comes before it may be read at all. */
static int if_ahead(const Bind *b)
{
	int depth = 0;

	for (const char *s = b->s; *s; s++) {
		if (*s == '(') depth++;
		else if (*s == ')' && !depth--) return 0;
		else if (!depth && *s == ',') return 0;
		else if (!depth && !strncmp(s, " else ", 6)) return 0;
		else if (!depth && !strncmp(s, " if ", 4)) return (int)(s - b->s) + 4;
	}
	return 0;
}

static int ternary(Bind *b)
{
	const char *start = b->s, *end;
	int yes, no, c, take_yes, take_no, ahead = if_ahead(b);
	double x;

	if (!ahead) return disjunction(b);
	b->s += ahead;
	c = disjunction(b);
	if (b->failed || !take(b, "else")) return fail(b, "expected else");
	take_yes = known(b, c, &x) && x != 0;
	take_no = known(b, c, &x) && x == 0;
	b->skip += take_yes;
	no = ternary(b);
	b->skip -= take_yes;
	if (take_no || b->failed) return no;
	end = b->s;
	b->s = start;
	yes = disjunction(b);
	b->s = end;
	return take_yes ? yes : prim(b, FP_sel, c, yes, no);
}

/* --- entry --------------------------------------------------------------------------------------------------- */

/* Does an integer tensor meet factors, or another operand, that are no integers?  0.5 is not to become 0. */
static int mixes_real(const Op *op)
{
	const Param *q = op_def(op)->params;
	int any = 0, scalars = 0;

	if (!op->in.n || !op->in.at[0] || !dtype_is_int(op->in.at[0]->spec.dtype)) return 0;
	for (int i = 1; i < op->in.n; i++) any |= op->in.at[i] && dtype_is_float(op->in.at[i]->spec.dtype);
	for (int i = 0; q[i].kind != P_END; i++) {
		if (q[i].kind != P_SCALAR) continue;
		scalars = 1;
		any |= given(op, i) && (op->attr[i].f != floor(op->attr[i].f) || isinf(op->attr[i].f));
	}
	return any && scalars;
}

static int op_class(const Op *op)
{
	int cls = -1;

	if (mixes_real(op)) return PXLRT_F64;
	for (int i = 0; i < op->in.n; i++) {
		int c = op->in.at[i] ? dtype_class(op->in.at[i]->spec.dtype) : -1;
		if (c >= 0 && (cls < 0 || width(c) > width(cls))) cls = c;
	}
	return cls >= 0 ? cls : dtype_class(op->out.at[0]->spec.dtype);
}

/* the op's own value: of its result's dtype, whatever its class was */
static int finish(Bind *b, int n)
{
	DType t = b->op->out.at[0]->spec.dtype;
	FuseNode *v = &b->p->nodes.at[n];
	double x;

	if (v->kind == FUSE_CVT && v->dtype == t) return n;
	if (known(b, n, &x)) return fuse_const(b->mem, b->p, t, x, b->op->at);
	if (v->cls != dtype_class(t)) return convert(b, n, t);
	if (v->kind == FUSE_PRIM && (!v->norm || v->dtype == t)) {
		v->norm = 1;
		v->dtype = t;
		return n;
	}
	return v->dtype == t ? n : convert(b, n, t);
}

int fuse_bind(Arena *a, Pattern *p, const Op *op, const int *node, Buf *why)
{
	Bind b = { .mem = a, .p = p, .op = op, .node = node, .why = why, .s = op->code == OP_kernel ? op_attr(op, "expr")->s : op_def(op)->expr, .first = p->nodes.n };
	int n;

	b.cls = op_class(op);
	b.real = mixes_real(op);
	b.dtype = op->in.n && op->in.at[0] ? op->in.at[0]->spec.dtype : op->out.at[0]->spec.dtype;
	if (b.cls < 0 || !b.s) return fail(&b, "no class to compute in"), -1;
	n = ternary(&b);
	space(&b);
	if (!b.failed && *b.s) fail(&b, "text left over");
	if (b.failed) return -1;
	p->flops += op_def(op)->flops;
	return finish(&b, n);
}
