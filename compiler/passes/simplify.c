/* simplify.c — algebra that needs no arithmetic.
 *
 * Rules are rows: each looks at one op and gives the tensor that its result equals, making new ops if it
 * must, or NULL for "not mine".  A rule that gives an operand turns a copy into the original, so it runs
 * only where nobody writes either.  Ops are visited until nothing changes; new ops are visited too.
 * Zeros keep no sign here: x + 0 is x although -0 + 0 is 0. */
#include "compiler/passes/pass.h"

#include <math.h>
#include <string.h>

typedef struct Rule { int code; Tensor *(*apply)(Build *b, Op *op); const char *name; } Rule;

/* the number that every element of t has, looking through ops that only spread it */
static int number(const Tensor *t, double *x)
{
	for (int steps = 0; steps < 8 && t->def; steps++) {
		int code = t->def->code;
		if (t->def->inplace || (code != OP_expand && code != OP_reshape && code != OP_identity)) return 0;
		t = t->def->in.at[0];
	}
	return constant_value(t, x);
}

static int is_number(const Tensor *t, double want)
{
	double x;

	return t && number(t, &x) && x == want;
}

/* the operand, if it has the result's spec */
static Tensor *same(const Op *op, int i)
{
	Tensor *x = op->in.at[i];
	const Spec *y = &op->out.at[0]->spec;

	return x->spec.dtype == y->dtype && shape_eq(x->spec.shape, y->shape) ? x : NULL;
}

static Tensor *first(Build *b, Op *op) { (void)b; return same(op, 0); }

static Tensor *add_zero(Build *b, Op *op)
{
	(void)b;
	if (is_number(op->in.at[1], 0)) return same(op, 0);
	return is_number(op->in.at[0], 0) ? same(op, 1) : NULL;
}

static Tensor *sub_zero(Build *b, Op *op)
{
	(void)b;
	return is_number(op->in.at[1], 0) ? same(op, 0) : NULL;
}

static Tensor *mul_one(Build *b, Op *op)
{
	(void)b;
	if (is_number(op->in.at[1], 1)) return same(op, 0);
	return is_number(op->in.at[0], 1) ? same(op, 1) : NULL;
}

static Tensor *div_one(Build *b, Op *op)
{
	(void)b;
	return is_number(op->in.at[1], 1) ? same(op, 0) : NULL;
}

/* |y| where x is not -∞, else `far`: what pow gives where a root has -0 or a NaN */
static Tensor *root_power(Build *b, Tensor *x, Tensor *y, double far)
{
	return b_op3(b, OP_where, b_op2(b, OP_equal, x, b_like(b, x, -INFINITY)), b_like(b, x, far), b_op1(b, OP_abs, y));
}

/* f16 and bf16 would round between two products */
static Tensor *pow_float(Build *b, Tensor *x, double e)
{
	Tensor *one = b_like(b, x, 1);
	if (e == 3) return b_op2(b, OP_mul, b_op2(b, OP_mul, x, x), x);
	if (e == -1) return b_op2(b, OP_div, one, x);
	if (e == 0.5) return root_power(b, x, b_op1(b, OP_sqrt, x), INFINITY);
	return e == -0.5 ? root_power(b, x, b_op2(b, OP_div, one, b_op1(b, OP_sqrt, x)), 0) : NULL;
}

static Tensor *pow_small(Build *b, Op *op)
{
	Tensor *x = op->in.at[0];
	double e;

	if (!same(op, 0) || !number(op->in.at[1], &e)) return NULL;
	if (e == 1) return x;
	if (e == 2) return b_op2(b, OP_mul, x, x);
	return x->spec.dtype == DT_F32 || x->spec.dtype == DT_F64 ? pow_float(b, x, e) : NULL;
}

static Tensor *sum_few(Build *b, Op *op)
{
	Tensor *in[64];
	int n = 0;

	if (op->in.n > 64) return NULL;
	for (int i = 0; i < op->in.n; i++)
		if (!is_number(op->in.at[i], 0)) in[n++] = op->in.at[i];
	if (n == op->in.n || !n) return n == 1 ? same(op, 0) : NULL;
	if (!shape_eq(in[0]->spec.shape, op->out.at[0]->spec.shape)) return NULL;
	return n == 1 ? in[0] : ir_op(b, OP_sum_n, in, n, NULL, NULL)->out.at[0];
}

static Tensor *negate_twice(Build *b, Op *op)
{
	const Op *x = op->in.at[0]->def;

	(void)b;
	return x && x->code == OP_negate && !x->inplace ? x->in.at[0] : NULL;
}

static Tensor *reshape_twice(Build *b, Op *op)
{
	const Op *x = op->in.at[0]->def;

	if (same(op, 0)) return op->in.at[0];
	if (!x || x->code != OP_reshape || x->inplace) return NULL;
	return b_reshape(b, x->in.at[0], op->out.at[0]->spec.shape);
}

static int permutation(const Op *op, int *perm)
{
	const AttrVal *a = op_attr(op, "permutation");
	int rank = op->out.at[0]->spec.shape.rank;

	for (int i = 0; i < rank; i++) perm[i] = a->set && a->ints.n == rank ? (int)a->ints.at[i] : rank - 1 - i;
	return rank;
}

static Tensor *transpose_twice(Build *b, Op *op)
{
	const Op *x = op->in.at[0]->def;
	int outer[MAX_RANK], inner[MAX_RANK], perm[MAX_RANK], rank = permutation(op, outer), plain = 1;

	for (int i = 0; i < rank; i++) plain &= outer[i] == i;
	if (plain) return same(op, 0);
	if (!x || x->code != OP_transpose || x->inplace) return NULL;
	permutation(x, inner);
	plain = 1;
	for (int i = 0; i < rank; i++) {
		perm[i] = inner[outer[i]];
		plain &= perm[i] == i;
	}
	return plain ? x->in.at[0] : b_transpose(b, x->in.at[0], perm);
}

static const Rule rules[] = {
	{ OP_identity, first, "identity(x) = x" },
	{ OP_detach, first, "detach(x) = x" },
	{ OP_copy, first, "copy(x) = x" },
	{ OP_cast, first, "a cast to the same dtype" },
	{ OP_expand, first, "a broadcast to the same shape" },
	{ OP_squeeze, first, "nothing to squeeze" },
	{ OP_add, add_zero, "x + 0 = x" },
	{ OP_sub, sub_zero, "x - 0 = x" },
	{ OP_mul, mul_one, "x * 1 = x" },
	{ OP_div, div_one, "x / 1 = x" },
	{ OP_pow, pow_small, "powers that are products, quotients and roots" },
	{ OP_sum_n, sum_few, "a sum without its zeros" },
	{ OP_negate, negate_twice, "-(-x) = x" },
	{ OP_reshape, reshape_twice, "one reshape for two" },
	{ OP_transpose, transpose_twice, "one transpose for two" },
};

static int rewrite(Rewrite *rw, const Written *w, Op *op)
{
	Build b = build_at(op);
	int mark = rw->g->ops.n;

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		Tensor *t;
		int clear = 1;

		if (rules[i].code != op->code) continue;
		for (int k = 0; k < op->in.n; k++) clear &= !op->in.at[k] || !is_written(w, op->in.at[k]);
		if (!clear || is_written(w, op->out.at[0]) || !(t = rules[i].apply(&b, op))) continue;
		if (is_written(w, t)) continue;
		rewrite_replace(rw, op, &t, mark);
		return 1;
	}
	return 0;
}

int pass_simplify(PassCx *cx)
{
	for (int i = 0; i < cx->ir->graphs.n; i++) {
		Graph *g = cx->ir->graphs.at[i];
		Rewrite rw = rewrite_begin(cx, g);
		Written w = written_roots(cx, g);

		for (int k = 0; k < g->ops.n; k++) {
			Op *op = g->ops.at[k];
			if (!op->inplace && op->out.n == 1 && op_is(op, PURE) && !rewrite_has(&rw, op)) rewrite(&rw, &w, op);
		}
		rewrite_end(&rw);
	}
	return 1;
}
