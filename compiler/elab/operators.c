/* operators.c — operators on host values; tensors and arrays go to their own files.
 * Ints have 64 bits and never wrap; `/` gives a float, `//` floors and `%` follows it. */
#include "compiler/elab/eval.h"

#include <math.h>
#include <string.h>

static Value bad_operands(Elab *e, AstOp op, Value a, Value b, Span at)
{
	Diag *d = fail_diag(e, E0107, at, "`%s` does not apply to %s and %s", ast_op_text[op], v_describe(e, a), v_describe(e, b));
	if (op == AO_ADD && (a.kind == V_STR || b.kind == V_STR))
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "write the value inside the string: \"... {value}\"");
	return v_error();
}

static Value overflow(Elab *e, AstOp op, int64_t a, int64_t b, Span at)
{
	return fail(e, E0108, at, "%lld %s %lld does not fit in 64 bits", (long long)a, ast_op_text[op], (long long)b);
}

/* as in Python: a result that is no number, or infinite though the operands are not, is an error */
static Value float_pow(Elab *e, double a, double b, Span at)
{
	double r = pow(a, b);
	const char *form = a < 0 ? "`(%s) ** %s`" : "`%s ** %s`";
	const char *shown = arena_printf(e->mem, form, v_text(e, v_float(a)), v_text(e, v_float(b)));
	if (a == 0 && b < 0) return fail(e, E0109, at, "zero to a negative power");
	if (isnan(r) && !isnan(a) && !isnan(b)) return fail(e, E0114, at, "%s is not a number", shown);
	if (isinf(r) && isfinite(a) && isfinite(b)) return fail(e, E0114, at, "%s is infinite", shown);
	return v_float(r);
}

static Value int_pow(Elab *e, int64_t a, int64_t b, Span at)
{
	int64_t r = 1, base = a;
	if (b < 0) return float_pow(e, (double)a, (double)b, at);
	for (int64_t n = b; n; n >>= 1) {
		if (n & 1 && __builtin_mul_overflow(r, base, &r)) return overflow(e, AO_POW, a, b, at);
		if (n > 1 && __builtin_mul_overflow(base, base, &base)) return overflow(e, AO_POW, a, b, at);
	}
	return v_int(r);
}

static Value int_divide(Elab *e, AstOp op, int64_t a, int64_t b, Span at)
{
	if (b == 0) return fail(e, E0109, at, "division of %lld by zero", (long long)a);
	if (op == AO_DIV) return v_float((double)a / (double)b);
	if (b == -1) {
		if (op == AO_MOD) return v_int(0);
		return a == INT64_MIN ? overflow(e, op, a, b, at) : v_int(-a);
	}
	int64_t q = a / b, r = a % b;
	if (r != 0 && (r < 0) != (b < 0)) { q--; r += b; }
	return v_int(op == AO_IDIV ? q : r);
}

static Value int_binary(Elab *e, AstOp op, int64_t a, int64_t b, Span at)
{
	int64_t r = 0;
	int over = 0;
	switch (op) {
	case AO_ADD: over = __builtin_add_overflow(a, b, &r); break;
	case AO_SUB: over = __builtin_sub_overflow(a, b, &r); break;
	case AO_MUL: over = __builtin_mul_overflow(a, b, &r); break;
	case AO_DIV: case AO_IDIV: case AO_MOD: return int_divide(e, op, a, b, at);
	case AO_POW:    return int_pow(e, a, b, at);
	case AO_BITOR:  return v_int(a | b);
	case AO_BITAND: return v_int(a & b);
	default:        return bad_operands(e, op, v_int(a), v_int(b), at);
	}
	return over ? overflow(e, op, a, b, at) : v_int(r);
}

static Value float_binary(Elab *e, AstOp op, double a, double b, Span at)
{
	if ((op == AO_DIV || op == AO_IDIV || op == AO_MOD) && b == 0) return fail(e, E0109, at, "division by zero");
	switch (op) {
	case AO_ADD:  return v_float(a + b);
	case AO_SUB:  return v_float(a - b);
	case AO_MUL:  return v_float(a * b);
	case AO_DIV:  return v_float(a / b);
	case AO_IDIV: return v_float(floor(a / b));
	case AO_MOD:  { double r = fmod(a, b); return v_float(r != 0 && (r < 0) != (b < 0) ? r + b : r); }
	case AO_POW:  return float_pow(e, a, b, at);
	default:      return bad_operands(e, op, v_float(a), v_float(b), at);
	}
}

/* --- order -------------------------------------------------------------------------------------------------------- */
/* -1, 0, 1; 2: not ordered (NaN); 3: these kinds have no order */
static int compare(Value a, Value b, int depth, int64_t *left)
{
	if (is_number(a) && is_number(b)) {
		if (a.kind != V_FLOAT && b.kind != V_FLOAT) {
			int64_t x = a.kind == V_INT ? a.u.i : a.u.b, y = b.kind == V_INT ? b.u.i : b.u.b;
			return (x > y) - (x < y);
		}
		double x = v_number(a), y = v_number(b);
		return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
	}
	if (a.kind != b.kind || depth > 100 || --*left < 0) return 3;
	if (a.kind == V_STR) {
		const Str *x = a.u.str, *y = b.u.str;
		int c = memcmp(x->s, y->s, (size_t)(x->len < y->len ? x->len : y->len));
		return c ? (c > 0) - (c < 0) : (x->len > y->len) - (x->len < y->len);
	}
	if (!is_seq(a)) return 3;
	const List *x = a.u.list, *y = b.u.list;
	for (int i = 0; i < x->n && i < y->n; i++) {
		int c = compare(x->at[i], y->at[i], depth + 1, left);
		if (c) return c;
	}
	return (x->n > y->n) - (x->n < y->n);
}

static Value ordered(Elab *e, AstOp op, Value a, Value b, Span at)
{
	int64_t left = 10000000;
	int c = compare(a, b, 0, &left);
	if (c == 3) return bad_operands(e, op, a, b, at);
	if (c == 2) return v_bool(0);
	switch (op) {
	case AO_LT: return v_bool(c < 0);
	case AO_LE: return v_bool(c <= 0);
	case AO_GT: return v_bool(c > 0);
	default:    return v_bool(c >= 0);
	}
}

/* --- containment --------------------------------------------------------------------------------------------------- */
static int text_in(const Str *needle, const Str *hay)
{
	for (int i = 0; i + needle->len <= hay->len; i++)
		if (!memcmp(hay->s + i, needle->s, (size_t)needle->len)) return 1;
	return 0;
}

static int list_has(const List *l, Value v)
{
	for (int i = 0; i < l->n; i++)
		if (values_equal(l->at[i], v)) return 1;
	return 0;
}

static Value graph_has(Elab *e, const Graph *g, Value v, Span at)
{
	if (v.kind != V_TENSOR) return fail(e, E0107, at, "a graph holds tensors, not %s", v_describe(e, v));
	return v_bool(v.u.tensor->graph == g);
}

static Value tree_has(Elab *e, const Tree *t, Value v)
{
	Value *x = NULL;
	const char *path = v.kind == V_STR ? v.u.str->s : v.kind == V_INT ? arena_printf(e->mem, "%lld", (long long)v.u.i) : "";
	while (t && *path) {
		size_t n = strcspn(path, ".");
		x = tree_child(t, intern(e->names, path, n));
		if (!x) return v_bool(0);
		path += n;
		if (!*path) return v_bool(1);
		path++;
		t = x->kind == V_TREE ? x->u.tree : NULL;
	}
	return v_bool(0);
}

static Value contains(Elab *e, Value a, Value b, Span at)
{
	switch (b.kind) {
	case V_LIST: case V_TUPLE: return v_bool(list_has(b.u.list, a));
	case V_STR:   return a.kind == V_STR ? v_bool(text_in(a.u.str, b.u.str)) : bad_operands(e, AO_IN, a, b, at);
	case V_TREE:  return tree_has(e, b.u.tree, a);
	case V_GRAPH: return graph_has(e, b.u.graph, a, at);
	case V_NAMED: return graph_has(e, b.u.named->graph, a, at);
	case V_DICT: {
		const void *key = dict_key(e->names, a);
		return key ? v_bool(dict_get(b.u.dict, key) != NULL) : fail(e, E0121, at, "%s cannot be a key", v_describe(e, a));
	}
	case V_RANGE: {
		const Range *r = b.u.range;
		if (a.kind != V_INT) return v_bool(0);
		int inside = r->step > 0 ? a.u.i >= r->start && a.u.i < r->stop : a.u.i <= r->start && a.u.i > r->stop;
		return v_bool(inside && ((__int128)a.u.i - r->start) % r->step == 0);
	}
	default: return bad_operands(e, AO_IN, a, b, at);
	}
}

/* --- sequences ------------------------------------------------------------------------------------------------------ */
static Value joined(Elab *e, Value a, Value b, Span at)
{
	if (a.kind == V_STR) {
		if (!may_take(e, (uint64_t)a.u.str->len + (uint64_t)b.u.str->len, at)) return v_error();
		Buf t = buf_new(e->mem);
		buf_put(&t, a.u.str->s, (size_t)a.u.str->len);
		buf_put(&t, b.u.str->s, (size_t)b.u.str->len);
		return v_str(e->mem, t.s, t.n);
	}
	if (!may_take(e, ((uint64_t)a.u.list->n + (uint64_t)b.u.list->n) * sizeof(Value), at)) return v_error();
	Value out = a.kind == V_LIST ? v_list(e->mem) : v_tuple(e->mem);
	for (int i = 0; i < a.u.list->n; i++) list_push(e->mem, out.u.list, a.u.list->at[i]);
	for (int i = 0; i < b.u.list->n; i++) list_push(e->mem, out.u.list, b.u.list->at[i]);
	return out;
}

static Value repeated(Elab *e, Value a, int64_t n, Span at)
{
	uint64_t one = a.kind == V_STR ? (uint64_t)a.u.str->len : (uint64_t)a.u.list->n * sizeof(Value), total;
	if (n < 0) n = 0;
	if (__builtin_mul_overflow(one, (uint64_t)n, &total)) total = UINT64_MAX;
	if (!may_take(e, total, at)) return v_error();
	if (a.kind == V_STR) {
		Buf t = buf_new(e->mem);
		buf_puts(&t, "");
		for (int64_t i = 0; i < n && one; i++) buf_put(&t, a.u.str->s, (size_t)one);
		return v_str(e->mem, t.s, t.n);
	}
	Value out = a.kind == V_LIST ? v_list(e->mem) : v_tuple(e->mem);
	for (int64_t i = 0; i < n && one; i++)
		for (int k = 0; k < a.u.list->n; k++) list_push(e->mem, out.u.list, a.u.list->at[k]);
	return out;
}

static Value merged(Elab *e, const Dict *a, const Dict *b)
{
	Value d = v_dict(e->mem);
	DICT_EACH(a, x) dict_set(e->mem, d.u.dict, dict_key(e->names, x->key), x->key, x->val);
	DICT_EACH(b, x) dict_set(e->mem, d.u.dict, dict_key(e->names, x->key), x->key, x->val);
	return d;
}

static int same_text_kind(Value a, Value b)
{
	return a.kind == b.kind && (a.kind == V_STR || a.kind == V_LIST || a.kind == V_TUPLE);
}

static Value host_binary(Elab *e, AstOp op, Value a, Value b, Span at)
{
	if (op >= AO_LT && op <= AO_GE) return ordered(e, op, a, b, at);
	if (a.kind == V_BOOL && b.kind == V_BOOL && (op == AO_BITOR || op == AO_BITAND))
		return v_bool(op == AO_BITOR ? a.u.b | b.u.b : a.u.b & b.u.b);
	if (is_number(a) && is_number(b)) {
		if (a.kind == V_FLOAT || b.kind == V_FLOAT) return float_binary(e, op, v_number(a), v_number(b), at);
		return int_binary(e, op, a.kind == V_INT ? a.u.i : a.u.b, b.kind == V_INT ? b.u.i : b.u.b, at);
	}
	if (op == AO_ADD && same_text_kind(a, b)) return joined(e, a, b, at);
	if (op == AO_MUL && (a.kind == V_STR || is_seq(a)) && b.kind == V_INT) return repeated(e, a, b.u.i, at);
	if (op == AO_MUL && a.kind == V_INT && (b.kind == V_STR || is_seq(b))) return repeated(e, b, a.u.i, at);
	if (op == AO_BITOR && a.kind == V_DICT && b.kind == V_DICT) return merged(e, a.u.dict, b.u.dict);
	return bad_operands(e, op, a, b, at);
}

static int makes_tensor(AstOp op, Value a, Value b)
{
	if (a.kind != V_TENSOR && b.kind != V_TENSOR) return 0;
	if (op != AO_EQ && op != AO_NE) return 1;
	/* comparing with none, a string, a dict … is a host question whose answer is no */
	Value o = a.kind == V_TENSOR ? b : a;
	return o.kind == V_TENSOR || is_number(o) || is_seq(o) || o.kind == V_ARRAY;
}

/* comparing one of these with anything else is a mistake (R2, R3, R386) */
static int only_among_themselves(Value v) { return v.kind == V_GRAPH || v.kind == V_IR || v.kind == V_GROUPING; }

Value eval_binary(Elab *e, AstOp op, Value a, Value b, Span at)
{
	switch (op) {
	case AO_IS:     return v_bool(values_same(a, b));
	case AO_IS_NOT: return v_bool(!values_same(a, b));
	case AO_IN:     return contains(e, a, b, at);
	case AO_NOT_IN: {
		Value v = contains(e, a, b, at);
		return is_error(v) ? v : v_bool(!v.u.b);
	}
	default: break;
	}
	if (makes_tensor(op, a, b)) return tensor_binary(e, op, a, b, at);
	if (a.kind == V_ARRAY || b.kind == V_ARRAY) return array_binary(e, op, a, b, at);
	if (op == AO_EQ || op == AO_NE) {
		if (a.kind != b.kind && (only_among_themselves(a) || only_among_themselves(b))) return bad_operands(e, op, a, b, at);
		int same = values_equal_or(a, b);
		if (same < 0) return fail(e, E0803, at, "these values are too large, or too deeply nested, to compare");
		return v_bool(same == (op == AO_EQ));
	}
	return host_binary(e, op, a, b, at);
}

Value eval_unary(Elab *e, AstOp op, Value a, Span at)
{
	if (a.kind == V_TENSOR) return tensor_unary(e, op, a, at);
	if (a.kind == V_ARRAY) return array_unary(e, op, a.u.array, at);
	if (op == AO_NEG && a.kind == V_FLOAT) return v_float(-a.u.f);
	if (op == AO_NEG && a.kind == V_INT) return a.u.i == INT64_MIN ? overflow(e, AO_SUB, 0, a.u.i, at) : v_int(-a.u.i);
	if (op == AO_INVERT && a.kind == V_INT) return v_int(~a.u.i);
	if (op == AO_INVERT && a.kind == V_BOOL) return v_bool(!a.u.b);
	return fail(e, E0107, at, "unary `%s` does not apply to %s", ast_op_text[op], v_describe(e, a));
}
