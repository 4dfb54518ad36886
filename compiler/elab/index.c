/* index.c — x[i], x[a:b], and walking values item by item. */
#include "compiler/elab/eval.h"

#include <string.h>

Value make_slice(Elab *e, Value lo, Value hi, Value step_by)
{
	Value v = v_tuple(e->mem);
	list_push(e->mem, v.u.list, lo);
	list_push(e->mem, v.u.list, hi);
	list_push(e->mem, v.u.list, step_by);
	v.u.list->label = "slice";
	return v;
}

int is_slice(Value v) { return v.kind == V_TUPLE && v.u.list->label && !strcmp(v.u.list->label, "slice"); }

/* 1 and the position; 0 after a diagnostic */
static int place_of(Elab *e, Value key, int64_t n, Span at, int64_t *out)
{
	if (key.kind == V_TENSOR) {
		fail(e, E0117, at, "a tensor has no value while the model is built, so it cannot be an index here");
		return 0;
	}
	if (key.kind != V_INT) {
		fail(e, E0206, at, "an index must be an int, not %s", v_describe(e, key));
		return 0;
	}
	*out = key.u.i < 0 ? key.u.i + n : key.u.i;
	if (*out >= 0 && *out < n) return 1;
	fail(e, E0104, at, "index %lld is out of range for %lld items", (long long)key.u.i, (long long)n);
	return 0;
}

/* Python's rules for bounds that are absent, negative or beyond the ends */
static int slice_part(Elab *e, Value v, int64_t n, int64_t absent, int back, Span at, int64_t *out)
{
	*out = absent;
	if (v.kind == V_NONE) return 1;
	if (!want_int(e, v, at, "a bound of a slice", out)) return 0;
	if (*out < 0) *out = *out < -n ? -1 : *out + n;
	else if (*out > n) *out = n;
	if (*out < 0 && !back) *out = 0;
	if (back && *out >= n) *out = n - 1;
	return 1;
}

static int slice_range(Elab *e, Value s, int64_t n, Span at, Range *r)
{
	const Value *p = s.u.list->at;
	r->step = 1;
	if (p[2].kind != V_NONE && !want_int(e, p[2], at, "the step of a slice", &r->step)) return 0;
	if (r->step == 0 || r->step == INT64_MIN) {
		fail(e, E0114, at, "the step of a slice must not be %s", r->step ? "so large" : "zero");
		return 0;
	}
	int back = r->step < 0;
	return slice_part(e, p[0], n, back ? n - 1 : 0, back, at, &r->start) && slice_part(e, p[1], n, back ? -1 : n, back, at, &r->stop);
}

static Value list_index(Elab *e, Value obj, Value key, Span at)
{
	const List *l = obj.u.list;
	int64_t i;
	Range r;
	if (!is_slice(key)) return place_of(e, key, l->n, at, &i) ? l->at[i] : v_error();
	if (!slice_range(e, key, l->n, at, &r)) return v_error();
	Value out = obj.kind == V_LIST ? v_list(e->mem) : v_tuple(e->mem);
	for (i = r.start; r.step > 0 ? i < r.stop : i > r.stop; i += r.step) {
		list_push(e->mem, out.u.list, l->at[i]);
		if (r.step > l->n || r.step < -l->n) break;
	}
	return out;
}

static Value str_index(Elab *e, const Str *s, Value key, Span at)
{
	int64_t i;
	Range r;
	if (!is_slice(key)) return place_of(e, key, s->len, at, &i) ? v_str(e->mem, s->s + i, 1) : v_error();
	if (!slice_range(e, key, s->len, at, &r)) return v_error();
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	for (i = r.start; r.step > 0 ? i < r.stop : i > r.stop; i += r.step) {
		buf_putc(&b, s->s[i]);
		if (r.step > s->len || r.step < -s->len) break;
	}
	return v_str(e->mem, b.s, b.n);
}

static int64_t range_len(const Range *r)
{
	__int128 span = r->step > 0 ? (__int128)r->stop - r->start : (__int128)r->start - r->stop;
	__int128 by = r->step > 0 ? r->step : -(__int128)r->step;
	__int128 n = span <= 0 ? 0 : (span + by - 1) / by;
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static Value range_index(Elab *e, const Range *r, Value key, Span at)
{
	int64_t i;
	return place_of(e, key, range_len(r), at, &i) ? v_int(r->start + i * r->step) : v_error();
}

static Value dict_index(Elab *e, const Dict *d, Value key, Span at)
{
	const void *k = dict_key(e->names, key);
	if (!k) return fail(e, E0121, at, "%s cannot be a key", v_describe(e, key));
	DictEntry *x = dict_get(d, k);
	if (x) return x->val;
	if (key.kind != V_STR) return fail(e, E0105, at, "no key %s in this dict of %d entries", v_text(e, key), d->map.live);
	const char **known = NEWN(e->mem, const char *, d->map.live + 1);
	int n = 0;
	DICT_EACH(d, y) if (y->key.kind == V_STR) known[n++] = y->key.u.str->s;
	return fail_unknown(e, E0105, at, "key", key.u.str->s, known, n);
}

/* f32[8, 784], f32[], f32[shape] */
static Value dtype_index(Elab *e, DType t, Value *subs, int n, Span at)
{
	Spec s = { .dtype = t };
	Value dims = v_tuple(e->mem);
	if (n == 1 && (is_seq(subs[0]) && !is_slice(subs[0]))) dims = subs[0];
	else for (int i = 0; i < n; i++) list_push(e->mem, dims.u.list, subs[i]);
	if (!want_shape(e, dims, at, "a spec's shape", &s.shape)) return v_error();
	return shape_fits(e, t, s.shape, at) ? v_spec(e->mem, s) : v_error();
}

static Value children_index(Elab *e, const Instance *in, Value key, Span at)
{
	Value *items = map_get(&in->fields, intern_str(e->names, "items"));
	if (!items || !is_seq(*items)) return fail(e, E0107, at, "`%s` has no items", in->cls->name);
	return list_index(e, *items, key, at);
}

Value eval_index(Elab *e, Value obj, Value *subs, int n, Span at)
{
	if (obj.kind == V_TENSOR) return tensor_index(e, obj.u.tensor, subs, n, at);
	if (obj.kind == V_ARRAY) return array_index(e, obj.u.array, subs, n, at);
	if (obj.kind == V_DTYPE) return dtype_index(e, obj.u.dtype, subs, n, at);
	Value key = n == 1 ? subs[0] : v_unset();
	if (n != 1 && obj.kind == V_DICT) {              /* d[1, 2] is d[(1, 2)] */
		key = v_tuple(e->mem);
		for (int i = 0; i < n; i++) list_push(e->mem, key.u.list, subs[i]);
		n = 1;
	}
	if (n != 1) return fail(e, E0107, at, "%s takes one index, not %d", v_describe(e, obj), n);
	switch (obj.kind) {
	case V_LIST: case V_TUPLE: return list_index(e, obj, key, at);
	case V_STR:      return str_index(e, obj.u.str, key, at);
	case V_RANGE:    return range_index(e, obj.u.range, key, at);
	case V_DICT:     return dict_index(e, obj.u.dict, key, at);
	case V_SPEC:     return dict_index(e, spec_dict(e, obj.u.spec).u.dict, key, at);
	case V_TREE:     return tree_get(e, obj.u.tree, key, at);
	case V_AUX:      return aux_get(e, obj.u.hand, key, at);
	case V_INSTANCE: return children_index(e, obj.u.inst, key, at);
	default:         return fail(e, E0107, at, "%s cannot be indexed", v_describe(e, obj));
	}
}

void set_index(Elab *e, Value obj, Value key, Value v, Span at)
{
	int64_t i;
	if (obj.kind == V_LIST) {
		if (place_of(e, key, obj.u.list->n, at, &i)) obj.u.list->at[i] = v;
	} else if (obj.kind == V_DICT) {
		const void *k = dict_key(e->names, key);
		if (!k) fail(e, E0121, at, "%s cannot be a key", v_describe(e, key));
		else if (obj.u.dict->busy && !dict_get(obj.u.dict, k)) fail(e, E0111, at, "this dict is being walked by a loop, so it cannot grow");
		else dict_set(e->mem, obj.u.dict, k, key, v);
	} else if (obj.kind == V_TREE) {
		tree_insert(e, obj.u.tree, key, v, 1, at);
	} else if (obj.kind == V_AUX) {
		aux_set(e, obj.u.hand, key, v, at);
	} else if (obj.kind == V_VAR_GRAD) {
		var_grad_set(e, obj.u.hand, key, v, at);
	} else {
		Diag *d = fail_diag(e, E0113, at, "items of %s cannot be assigned", v_describe(e, obj));
		if (obj.kind == V_TENSOR) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "tensors are changed by ops: `slice_`, `dynamic_update_`, `copy_var_update_`");
	}
}

/* --- walking ------------------------------------------------------------------------------------------------------------ */
static int range_items(Elab *e, const Range *r, Span at, List *out)
{
	int64_t n = range_len(r);
	if (n > INT32_MAX || !may_take(e, (uint64_t)n * sizeof(Value), at)) {
		if (n > INT32_MAX) fail(e, E0801, at, "a loop over %lld numbers is more than building a model may do", (long long)n);
		return 0;
	}
	for (int64_t i = 0; i < n; i++) list_push(e->mem, out, v_int(r->start + i * r->step));
	return 1;
}

static int instance_items(Elab *e, const Instance *in, Span at, List *out)
{
	Value *items = map_get(&in->fields, intern_str(e->names, "items"));
	if (items && is_seq(*items)) return items_of(e, *items, at, out);
	fail(e, E0110, at, "`%s` is not a list of modules", in->cls->name);
	return 0;
}

static int array_items(Elab *e, HostArray *a, Span at, List *out)
{
	if (a->shape.rank == 0) {
		fail(e, E0110, at, "an array without dimensions has no items");
		return 0;
	}
	for (int64_t i = 0; i < a->shape.dim[0]; i++) {
		Value key = v_int(i), v = array_index(e, a, &key, 1, at);
		if (is_error(v) || !step(e, at)) return 0;
		list_push(e->mem, out, v);
	}
	return 1;
}

int items_of(Elab *e, Value v, Span at, List *out)
{
	switch (v.kind) {
	case V_LIST: case V_TUPLE:
		for (int i = 0; i < v.u.list->n; i++) list_push(e->mem, out, v.u.list->at[i]);
		return 1;
	case V_RANGE: return range_items(e, v.u.range, at, out);
	case V_DICT:
		DICT_EACH(v.u.dict, x) list_push(e->mem, out, x->key);
		return 1;
	case V_TREE:
		for (int i = 0; i < v.u.tree->map.n; i++)
			if (v.u.tree->map.at[i].key) list_push(e->mem, out, v_cstr(e->mem, v.u.tree->map.at[i].key));
		return 1;
	case V_STR:
		for (int i = 0; i < v.u.str->len; i++) list_push(e->mem, out, v_str(e->mem, v.u.str->s + i, 1));
		return 1;
	case V_ARRAY:    return array_items(e, v.u.array, at, out);
	case V_INSTANCE: return instance_items(e, v.u.inst, at, out);
	case V_TENSOR: {
		Diag *d = fail_diag(e, E0110, at, "a tensor has no items while the model is built");
		diag_label(e->ds, d, "this is %s", v_describe(e, v));
		diag_help(e->ds, d, (Span){ 0, 0, 0 }, "take slices: `[x[i] for i in range(len(x))]`");
		return 0;
	}
	default:
		fail(e, E0110, at, "%s has no items", v_describe(e, v));
		return 0;
	}
}

int loop_items(Elab *e, Value v, int names, Span at, List *out)
{
	if (names < 2 || (v.kind != V_DICT && v.kind != V_TREE)) return items_of(e, v, at, out);
	Value pairs = call_value(e, get_field(e, v, intern_str(e->names, "items"), at), &(Args){ .at = at });
	return !is_error(pairs) && items_of(e, pairs, at, out);
}
