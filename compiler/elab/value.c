/* value.c — making, comparing and keying compile-time values. */
#include "compiler/elab/value.h"

#include <string.h>

const char *const vkind_name[V_COUNT] = {
#define KIND(id, text) text,
	VALUE_KINDS(KIND)
#undef KIND
};

Value v_str(Arena *a, const char *s, size_t len)
{
	Str *x = NEW(a, Str);
	x->s = arena_str(a, s, len);
	x->len = (int)len;
	return v_of(V_STR, x);
}

Value v_cstr(Arena *a, const char *s) { return v_str(a, s, strlen(s)); }
Value v_list(Arena *a)  { return v_of(V_LIST, NEW(a, List)); }
Value v_tuple(Arena *a) { return v_of(V_TUPLE, NEW(a, List)); }
Value v_dict(Arena *a)  { return v_of(V_DICT, NEW(a, Dict)); }

Value v_spec(Arena *a, Spec s) { return v_of(V_SPEC, arena_dup(a, &s, sizeof s)); }

Value v_shape(Arena *a, Shape s)
{
	Value t = v_tuple(a);
	for (int i = 0; i < s.rank; i++) list_push(a, t.u.list, v_int(s.dim[i]));
	return t;
}

Value v_tensors(Arena *a, Tensor *const *ts, int n)
{
	Value t = v_tuple(a);
	for (int i = 0; i < n; i++) list_push(a, t.u.list, v_of(V_TENSOR, ts[i]));
	return t;
}

Value v_method(Arena *a, Value self, const Builtin *fn)
{
	Method *m = NEW(a, Method);
	m->self = self;
	m->fn = fn;
	return v_of(V_METHOD, m);
}

void list_push(Arena *a, List *l, Value v) { vec_push(a, l, v); }

/* --- dicts: a key's text, interned, is its identity; numbers of equal value share one text --------------------- */
enum { KEY_DEPTH = 64, KEY_BYTES = 1 << 16 };       /* tuples may share parts many times over */
static int key_text(Buf *b, Value v, int depth)
{
	if (depth > KEY_DEPTH || b->n > KEY_BYTES) return 0;
	switch (v.kind) {
	case V_NONE:  buf_putc(b, 'n'); return 1;
	case V_BOOL:  buf_printf(b, "i%d", v.u.b); return 1;
	case V_INT:   buf_printf(b, "i%lld", (long long)v.u.i); return 1;
	case V_STR:   buf_printf(b, "s%d:", v.u.str->len); buf_put(b, v.u.str->s, (size_t)v.u.str->len); return 1;
	case V_DTYPE: buf_printf(b, "d%d", (int)v.u.dtype); return 1;
	case V_FLOAT:
		if (v.u.f >= -9e18 && v.u.f <= 9e18 && v.u.f == (double)(int64_t)v.u.f) buf_printf(b, "i%lld", (long long)v.u.f);
		else { buf_putc(b, 'f'); buf_float(b, v.u.f); }
		return 1;
	case V_SPEC: {
		const Spec *s = v.u.spec;
		const Shape *shape[2] = { &s->shape, s->has_meta ? &s->meta : NULL };
		buf_printf(b, "S%d", (int)s->dtype);
		for (int i = 0; i < 2; i++)
			for (int k = -1; shape[i] && k < shape[i]->rank; k++) buf_printf(b, "%c%lld", k < 0 ? '/' : ',', k < 0 ? 0 : (long long)shape[i]->dim[k]);
		return 1;
	}
	case V_TUPLE:
		buf_putc(b, '(');
		for (int i = 0; i < v.u.list->n; i++) {
			if (!key_text(b, v.u.list->at[i], depth + 1)) return 0;
			buf_putc(b, ',');
		}
		buf_putc(b, ')');
		return 1;
	case V_ERROR: case V_UNSET: case V_LIST: case V_DICT: case V_TREE: case V_ARRAY:
		return 0;
	default:                             /* an object: its address is its identity, and is never shown */
		buf_put(b, "p", 1);
		buf_put(b, (const char *)&v.u.p, sizeof v.u.p);
		return 1;
	}
}

const void *dict_key(Intern *names, Value v)
{
	switch (v.kind) {
	case V_ERROR: case V_UNSET: case V_LIST: case V_DICT: case V_TREE: case V_ARRAY: return NULL;
	case V_NONE: case V_BOOL: case V_INT: case V_FLOAT: case V_STR: case V_DTYPE: case V_SPEC: case V_TUPLE: break;
	default: return v.u.p;
	}
	Buf b = buf_new(names->mem);
	return key_text(&b, v, 0) ? intern(names, b.s, b.n) : NULL;
}

DictEntry *dict_get(const Dict *d, const void *key) { return key ? map_get(&d->map, key) : NULL; }

void dict_set(Arena *a, Dict *d, const void *key, Value k, Value v)
{
	DictEntry *old = map_get(&d->map, key);
	if (old) { old->val = v; return; }
	DictEntry *x = NEW(a, DictEntry);
	*x = (DictEntry){ k, v };
	map_set(a, &d->map, key, x);
}

/* --- equality ------------------------------------------------------------------------------------------------- */
/* Nested sharing can make a small list enormous, and a list may hold itself: comparing has a budget. */
typedef struct Compare { int depth; int64_t left; int deep; } Compare;
static int equal_at(Value a, Value b, Compare *c);

static int same_dict(const Dict *a, const Dict *b, Compare *c)
{
	if (a->map.live != b->map.live) return 0;
	for (int i = 0; i < a->map.n; i++) {
		if (!a->map.at[i].key) continue;
		const DictEntry *x = a->map.at[i].val, *y = map_get(&b->map, a->map.at[i].key);
		if (!y || !equal_at(x->val, y->val, c)) return 0;
	}
	return 1;
}

static int same_items(const List *a, const List *b, Compare *c)
{
	if (a->n != b->n) return 0;
	for (int i = 0; i < a->n; i++)
		if (!equal_at(a->at[i], b->at[i], c)) return 0;
	return 1;
}

static int same_number(Value a, Value b)
{
	if (a.kind == V_FLOAT || b.kind == V_FLOAT) return v_number(a) == v_number(b);
	int64_t x = a.kind == V_INT ? a.u.i : a.u.b, y = b.kind == V_INT ? b.u.i : b.u.b;
	return x == y;
}

int values_same(Value a, Value b)
{
	if (a.kind != b.kind) return 0;
	switch (a.kind) {
	case V_NONE:  return 1;
	case V_BOOL:  return a.u.b == b.u.b;
	case V_INT:   return a.u.i == b.u.i;
	case V_FLOAT: return a.u.f == b.u.f;
	case V_DTYPE: return a.u.dtype == b.u.dtype;
	case V_STR:   return values_equal(a, b);
	default:      return a.u.p == b.u.p;
	}
}

static int equal_parts(Value a, Value b, Compare *c)
{
	switch (a.kind) {
	case V_STR:   return a.u.str->len == b.u.str->len && !memcmp(a.u.str->s, b.u.str->s, (size_t)a.u.str->len);
	case V_LIST: case V_TUPLE: return a.u.list == b.u.list || same_items(a.u.list, b.u.list, c);
	case V_DICT:  return a.u.dict == b.u.dict || same_dict(a.u.dict, b.u.dict, c);
	case V_RANGE: return !memcmp(a.u.range, b.u.range, sizeof(Range));
	case V_GROUPING: return a.u.grouping->ir == b.u.grouping->ir && a.u.grouping->index == b.u.grouping->index;
	case V_SPEC:
		if (a.u.spec->dtype != b.u.spec->dtype || !shape_eq(a.u.spec->shape, b.u.spec->shape) || a.u.spec->has_meta != b.u.spec->has_meta) return 0;
		return !a.u.spec->has_meta || shape_eq(a.u.spec->meta, b.u.spec->meta);
	default:      return values_same(a, b);
	}
}

static int equal_at(Value a, Value b, Compare *c)
{
	if (is_number(a) && is_number(b)) return same_number(a, b);
	if (c->depth > 200) c->deep = 1;
	if (a.kind != b.kind || c->deep || c->left-- < 0) return 0;
	c->depth++;
	int same = equal_parts(a, b, c);
	c->depth--;
	return same;
}

int values_equal_or(Value a, Value b)
{
	Compare c = { 0, 10000000 };
	int same = equal_at(a, b, &c);
	return c.left < 0 || c.deep ? -1 : same;
}

int values_equal(Value a, Value b) { return values_equal_or(a, b) == 1; }
