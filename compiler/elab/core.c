/* core.c — built-in functions on host values: print, len, range, and what Python users expect beside them. */
#include "compiler/elab/eval.h"
#include "lang/base/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static Value do_print(Elab *e, Call *c)
{
	const char *sep = " ", *end = "\n";
	if (is_given(c->arg[1]) && !want_str(e, c->arg[1], c->at, "`sep` of `print`", &sep)) return v_error();
	if (is_given(c->arg[2]) && !want_str(e, c->arg[2], c->at, "`end` of `print`", &end)) return v_error();
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	for (int i = 0; i < c->arg[0].u.list->n; i++) {
		if (i) buf_puts(&b, sep);
		value_show(e, c->arg[0].u.list->at[i], 0, &b);
	}
	buf_puts(&b, end);
	if (e->o.print) e->o.print(e->o.user, b.s, b.n);
	return v_none();
}

static Value do_len(Elab *e, Call *c)
{
	Value v = c->arg[0];
	List items = { 0 };
	switch (v.kind) {
	case V_STR:  return v_int(v.u.str->len);
	case V_LIST: case V_TUPLE: return v_int(v.u.list->n);
	case V_DICT: return v_int(v.u.dict->map.live);
	case V_TREE: return v_int(v.u.tree->map.live);
	case V_TENSOR:
		if (v.u.tensor->spec.shape.rank) return v_int(v.u.tensor->spec.shape.dim[0]);
		return fail(e, E0114, c->at, "a scalar tensor has no length");
	case V_ARRAY:
		if (v.u.array->shape.rank) return v_int(v.u.array->shape.dim[0]);
		return fail(e, E0114, c->at, "an array without dimensions has no length");
	case V_RANGE: case V_INSTANCE: return items_of(e, v, c->at, &items) ? v_int(items.n) : v_error();
	default: return fail(e, E0206, c->at, "%s has no length", v_describe(e, v));
	}
}

static Value do_range(Elab *e, Call *c)
{
	Range r = { 0, 0, 1 };
	if (!want_int(e, c->arg[0], c->at, "the argument of `range`", &r.stop)) return v_error();
	if (c->arg[1].kind != V_UNSET) {
		r.start = r.stop;
		if (!want_int(e, c->arg[1], c->at, "the stop of `range`", &r.stop)) return v_error();
	}
	if (c->arg[2].kind != V_UNSET && !want_int(e, c->arg[2], c->at, "the step of `range`", &r.step)) return v_error();
	if (r.step == 0) return fail(e, E0114, c->at, "the step of `range` must not be zero");
	return v_of(V_RANGE, arena_dup(e->mem, &r, sizeof r));
}

static Value pair(Elab *e, Value a, Value b)
{
	Value t = v_tuple(e->mem);
	list_push(e->mem, t.u.list, a);
	list_push(e->mem, t.u.list, b);
	return t;
}

static Value do_enumerate(Elab *e, Call *c)
{
	List items = { 0 };
	int64_t start = 0;
	if (is_given(c->arg[1]) && !want_int(e, c->arg[1], c->at, "`start` of `enumerate`", &start)) return v_error();
	if (!items_of(e, c->arg[0], c->at, &items)) return v_error();
	Value out = v_list(e->mem);
	for (int i = 0; i < items.n; i++) list_push(e->mem, out.u.list, pair(e, v_int(start + i), items.at[i]));
	return out;
}

static Value do_zip(Elab *e, Call *c)
{
	int n = c->arg[0].u.list->n, len = -1;
	List *parts = NEWN(e->mem, List, n + 1);
	for (int i = 0; i < n; i++) {
		if (!items_of(e, c->arg[0].u.list->at[i], c->at, &parts[i])) return v_error();
		if (len < 0 || parts[i].n < len) len = parts[i].n;
	}
	Value out = v_list(e->mem);
	for (int k = 0; k < len; k++) {
		Value t = v_tuple(e->mem);
		for (int i = 0; i < n; i++) list_push(e->mem, t.u.list, parts[i].at[k]);
		list_push(e->mem, out.u.list, t);
	}
	return out;
}

static Value seq_from(Elab *e, Call *c, Value out)
{
	if (c->arg[0].kind != V_UNSET && !items_of(e, c->arg[0], c->at, out.u.list)) return v_error();
	return out;
}

static Value do_list(Elab *e, Call *c)  { return seq_from(e, c, v_list(e->mem)); }
static Value do_tuple(Elab *e, Call *c) { return seq_from(e, c, v_tuple(e->mem)); }

static Value do_dict(Elab *e, Call *c)
{
	Value d = v_dict(e->mem);
	Value from = c->arg[0].kind == V_TREE ? tree_dict(e, c->arg[0].u.tree) : c->arg[0];
	if (from.kind == V_DICT) {
		DICT_EACH(from.u.dict, x) dict_set(e->mem, d.u.dict, dict_key(e->names, x->key), x->key, x->val);
	} else if (from.kind != V_UNSET) {
		List items = { 0 };
		if (!items_of(e, from, c->at, &items)) return v_error();
		for (int i = 0; i < items.n; i++) {
			if (!is_seq(items.at[i]) || items.at[i].u.list->n != 2) return fail(e, E0206, c->at, "`dict` takes pairs");
			const Value *p = items.at[i].u.list->at;
			const void *key = dict_key(e->names, p[0]);
			if (!key) return fail(e, E0121, c->at, "%s cannot be a key", v_describe(e, p[0]));
			dict_set(e->mem, d.u.dict, key, p[0], p[1]);
		}
	}
	DICT_EACH(c->arg[1].u.dict, x) dict_set(e->mem, d.u.dict, dict_key(e->names, x->key), x->key, x->val);
	return d;
}

/* --- numbers ------------------------------------------------------------------------------------------------------------ */
static Value scalar_of(Elab *e, Value v)
{
	if (v.kind != V_ARRAY || shape_nelems(v.u.array->shape) != 1) return v;
	const void *p = host_bytes(e->mem, v.u.array, e->o.seed);
	if (dtype_is_float(v.u.array->dtype)) return v_float(rt_get(v.u.array->dtype, p, 0));
	return v_int(rt_get_int(v.u.array->dtype, p, 0));
}

static Value do_int(Elab *e, Call *c)
{
	Value v = scalar_of(e, c->arg[0]);
	if (v.kind == V_INT) return v;
	if (v.kind == V_BOOL) return v_int(v.u.b);
	if (v.kind == V_FLOAT) {
		if (!(v.u.f > -9.3e18 && v.u.f < 9.2233720368547e18)) return fail(e, E0108, c->at, "%s does not fit in 64 bits", v_text(e, v));
		return v_int((int64_t)v.u.f);
	}
	if (v.kind == V_STR) {
		char *end;
		errno = 0;
		long long x = strtoll(v.u.str->s, &end, 10);
		if (v.u.str->len && !*end && !errno) return v_int(x);
	}
	return fail(e, E0114, c->at, "`int` cannot convert %s", v_text(e, v));
}

static Value do_float(Elab *e, Call *c)
{
	Value v = scalar_of(e, c->arg[0]);
	if (is_number(v)) return v_float(v_number(v));
	if (v.kind == V_STR) {
		static const struct { const char *s; double x; } words[] = { { "inf", INFINITY }, { "-inf", -INFINITY }, { "nan", NAN } };
		for (int i = 0; i < 3; i++)
			if (!strcmp(v.u.str->s, words[i].s)) return v_float(words[i].x);
	}
	return fail(e, E0114, c->at, "`float` cannot convert %s", v_text(e, v));
}

static Value do_str(Elab *e, Call *c)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	value_show(e, c->arg[0], 0, &b);
	return v_str(e->mem, b.s, b.n);
}

/* tensors and graphs as PopXL's repr writes them (R42), the rest as inside containers */
static Value do_repr(Elab *e, Call *c)
{
	Buf b = buf_new(e->mem);
	if (c->arg[0].kind == V_TENSOR) return v_cstr(e->mem, tensor_repr(e->mem, c->arg[0].u.tensor));
	value_show(e, c->arg[0], 1, &b);
	return v_str(e->mem, b.s, b.n);
}

static Value do_round(Elab *e, Call *c)
{
	double x;
	if (c->arg[0].kind == V_INT) return c->arg[0];
	if (!want_float(e, c->arg[0], c->at, "`round`", &x)) return v_error();
	x = nearbyint(x);
	return fabs(x) < 9.2e18 ? v_int((int64_t)x) : fail(e, E0108, c->at, "%s does not fit in 64 bits", v_text(e, c->arg[0]));
}

/* one list, or several values */
static int operands(Elab *e, Call *c, List *out)
{
	List *a = c->arg[0].u.list;
	if (a->n == 1) return items_of(e, a->at[0], c->at, out);
	*out = *a;
	return 1;
}

static Value of_tensors(Elab *e, Call *c, const char *what)
{
	Diag *d = fail_diag(e, E0206, c->at, "`%s` compares numbers, or takes one tensor and its axes", what);
	help_by_element(e, d, what, "a, b");
	return v_error();
}

static Value extreme(Elab *e, Call *c, AstOp op, const char *what)
{
	List x = { 0 };
	if (!operands(e, c, &x)) return v_error();
	if (!x.n) return fail(e, E0114, c->at, "`%s` of nothing", what);
	for (int i = 0; i < x.n; i++)
		if (x.at[i].kind == V_TENSOR) return of_tensors(e, c, what);
	Value best = x.at[0];
	for (int i = 1; i < x.n; i++) {
		Value less = eval_binary(e, op, x.at[i], best, c->at);
		if (is_error(less)) return less;
		if (less.kind != V_BOOL) return fail(e, E0206, c->at, "`%s` here takes numbers", what);
		if (less.u.b) best = x.at[i];
	}
	return best;
}

static int is_tensor_call(const Call *c)
{
	for (int i = 0; i < c->args->pos.n; i++)
		if (c->args->pos.at[i].v.kind == V_TENSOR) return 1;
	return 0;
}

/* min, max and sum name ops too: with a tensor among the arguments the op is meant */
static Value or_op(Elab *e, Call *c, const char *op, Value (*host)(Elab *, Call *))
{
	int inplace;
	const OpDef *def = op_find(op, &inplace);
	return def && is_tensor_call(c) ? call_op(e, def, inplace, c->args) : host(e, c);
}

static Value host_min(Elab *e, Call *c) { return extreme(e, c, AO_LT, "min"); }
static Value host_max(Elab *e, Call *c) { return extreme(e, c, AO_GT, "max"); }

static Value host_sum(Elab *e, Call *c)
{
	List x = { 0 };
	if (c->arg[0].u.list->n == 1 && c->arg[0].u.list->at[0].kind == V_ARRAY)
		return call_value(e, get_field(e, c->arg[0].u.list->at[0], intern_str(e->names, "sum"), c->at), &(Args){ .at = c->at });
	if (!operands(e, c, &x)) return v_error();
	Value sum = x.n && x.at[0].kind != V_INT ? x.at[0] : v_int(0);
	for (int i = x.n && x.at[0].kind != V_INT; i < x.n && !is_error(sum); i++) sum = eval_binary(e, AO_ADD, sum, x.at[i], c->at);
	return sum;
}


/* a tensor behind the first operand, or anything but one in front: not a reduction */
static int is_elementwise(const Call *c)
{
	const Args *a = c->args;
	if (!is_tensor_call(c) || a->pos.n < 2) return 0;
	VKind second = a->pos.at[1].v.kind;
	return a->pos.at[0].v.kind != V_TENSOR || second == V_TENSOR || second == V_ARRAY;
}

/* A number beside a tensor is an axis, wherever it stands: max(0, x) does not mean another thing than max(x, 0). */
static Value tensor_extreme(Elab *e, Call *c, const char *name, const char *by_element, Value (*host)(Elab *, Call *))
{
	const Args *a = c->args;
	if (!is_elementwise(c)) return or_op(e, c, name, host);
	for (int i = 0; i < a->pos.n; i++) {
		if (!is_number(a->pos.at[i].v)) continue;
		Diag *d = fail_diag(e, E0206, a->pos.at[i].at, "a number in a `%s` of tensors", name);
		diag_label(e->ds, d, "is no operand: behind one tensor it is an axis");
		help_by_element(e, d, name, arena_printf(e->mem, i ? "a, %s" : "%s, a", v_text(e, a->pos.at[i].v)));
		return v_error();
	}
	return or_op(e, c, by_element, host);
}
static Value tensor_min(Elab *e, Call *c) { return tensor_extreme(e, c, "min", "minimum", host_min); }
static Value tensor_max(Elab *e, Call *c) { return tensor_extreme(e, c, "max", "maximum", host_max); }
static Value tensor_sum(Elab *e, Call *c)
{
	List *a = c->arg[0].u.list;
	int list_of = a->n == 1 && is_seq(a->at[0]) && a->at[0].u.list->n && a->at[0].u.list->at[0].kind == V_TENSOR;
	return list_of ? host_sum(e, c) : or_op(e, c, "sum", host_sum);
}

/* --- order and logic ------------------------------------------------------------------------------------------------------ */
static Value do_sorted(Elab *e, Call *c)
{
	Value out = v_list(e->mem);
	List *l = out.u.list;
	if (!items_of(e, c->arg[0], c->at, l)) return v_error();
	for (int i = 1; i < l->n; i++)                   /* binary insertion: stable, and comparing may fail at any step */
		for (int k = i; k > 0; k--) {
			if (!step(e, c->at)) return v_error();
			Value less = eval_binary(e, AO_LT, l->at[k], l->at[k - 1], c->at);
			if (less.kind != V_BOOL) return is_error(less) ? less : fail(e, E0206, c->at, "`sorted` takes host values");
			if (!less.u.b) break;
			Value t = l->at[k];
			l->at[k] = l->at[k - 1];
			l->at[k - 1] = t;
		}
	return out;
}

static Value do_reversed(Elab *e, Call *c)
{
	List x = { 0 };
	if (!items_of(e, c->arg[0], c->at, &x)) return v_error();
	Value out = v_list(e->mem);
	for (int i = x.n - 1; i >= 0; i--) list_push(e->mem, out.u.list, x.at[i]);
	return out;
}

static Value all_or_any(Elab *e, Call *c, int any)
{
	List x = { 0 };
	if (!items_of(e, c->arg[0], c->at, &x)) return v_error();
	for (int i = 0; i < x.n; i++) {
		int b = eval_bool(e, x.at[i], c->at, any ? "an item of `any`" : "an item of `all`");
		if (b < 0) return v_error();
		if (b == any) return v_bool(any);
	}
	return v_bool(!any);
}

static Value do_all(Elab *e, Call *c) { return all_or_any(e, c, 0); }
static Value do_any(Elab *e, Call *c) { return all_or_any(e, c, 1); }

static Value do_map(Elab *e, Call *c)
{
	List x = { 0 };
	if (!items_of(e, c->arg[1], c->at, &x)) return v_error();
	Value out = v_list(e->mem);
	for (int i = 0; i < x.n; i++) {
		Value v = call1(e, c->arg[0], x.at[i], c->at);
		if (is_error(v)) return v;
		list_push(e->mem, out.u.list, v);
	}
	return out;
}

static Value do_type(Elab *e, Call *c)
{
	const char *s = vkind_name[c->arg[0].kind], *blank = strchr(s, ' ');
	return v_cstr(e->mem, blank ? blank + 1 : s);
}

static Value do_error(Elab *e, Call *c)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	value_show(e, c->arg[0], 0, &b);
	return fail(e, E0112, c->at, "%s", b.s);
}

typedef VEC(const char *) TextList;

/* --- tables ------------------------------------------------------------------------------------------------ */
/* the cells of one row behind those of the rows before; 0 after a diagnostic */
static int take_row(Elab *e, Value row, int number, int columns, Span at, TextList *out)
{
	List cells = { 0 };
	if (!items_of(e, row, at, &cells)) return 0;
	if (cells.n != columns) {
		fail(e, E0114, at, "row %d has %d cells, row 0 has %d", number, cells.n, columns);
		return 0;
	}
	for (int k = 0; k < cells.n; k++) {
		Buf b = buf_new(e->mem);
		buf_puts(&b, "");
		value_show(e, cells.at[k], 0, &b);
		vec_push(e->mem, out, b.s);
	}
	return 1;
}

static Value do_table(Elab *e, Call *c)
{
	const char *delimiter = " | ";
	int header = 1, columns = 0;
	List rows = { 0 }, first = { 0 };
	TextList cells = { 0 };
	if (is_given(c->arg[1]) && !want_str(e, c->arg[1], c->at, "`delimiter`", &delimiter)) return v_error();
	if (is_given(c->arg[2]) && !want_bool(e, c->arg[2], c->at, "`header`", &header)) return v_error();
	if (!items_of(e, c->arg[0], c->at, &rows)) return v_error();
	if (rows.n && !items_of(e, rows.at[0], c->at, &first)) return v_error();
	columns = first.n;
	for (int i = 0; i < rows.n; i++)
		if (!step(e, c->at) || !take_row(e, rows.at[i], i, columns, c->at, &cells)) return v_error();
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	text_table(cells.at, rows.n, columns, delimiter, header, &b);
	return v_str(e->mem, b.s, b.n);
}

const Builtin core_builtins[] = {
	{ "print", "*values sep? end?", do_print }, { "len", "x", do_len }, { "range", "start stop? step?", do_range },
	{ "enumerate", "values start?", do_enumerate }, { "zip", "*lists", do_zip }, { "list", "values?", do_list },
	{ "tuple", "values?", do_tuple }, { "dict", "values? **named", do_dict }, { "int", "x", do_int }, { "float", "x", do_float },
	{ "str", "x", do_str }, { "repr", "x", do_repr }, { "round", "x", do_round },
	{ "min", "*values **named", tensor_min }, { "max", "*values **named", tensor_max }, { "sum", "*values **named", tensor_sum },
	{ "sorted", "values", do_sorted }, { "reversed", "values", do_reversed }, { "all", "values", do_all }, { "any", "values", do_any },
	{ "map", "f values", do_map }, { "type", "x", do_type }, { "table_to_string", "rows delimiter? header?", do_table }, { "error", "message", do_error }, { NULL, NULL, NULL }
};
