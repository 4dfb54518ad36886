/* containers.c — methods of strings, lists and dicts. */
#include "compiler/elab/eval.h"

#include <string.h>

/* --- strings ---------------------------------------------------------------------------------------------------------- */
static Value str_split(Elab *e, Call *c)
{
	const char *sep, *s = c->self.u.str->s;
	Value out = v_list(e->mem);
	if (!want_str(e, c->arg[0], c->at, "the separator", &sep)) return v_error();
	if (!*sep) return fail(e, E0114, c->at, "the separator must not be empty");
	for (const char *p; (p = strstr(s, sep)); s = p + strlen(sep)) list_push(e->mem, out.u.list, v_str(e->mem, s, (size_t)(p - s)));
	list_push(e->mem, out.u.list, v_cstr(e->mem, s));
	return out;
}

static Value str_join(Elab *e, Call *c)
{
	List items = { 0 };
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	if (!items_of(e, c->arg[0], c->at, &items)) return v_error();
	for (int i = 0; i < items.n; i++) {
		if (i) buf_put(&b, c->self.u.str->s, (size_t)c->self.u.str->len);
		value_show(e, items.at[i], 0, &b);
	}
	return v_str(e->mem, b.s, b.n);
}

static Value str_starts(Elab *e, Call *c)
{
	const char *s;
	if (!want_str(e, c->arg[0], c->at, "the prefix", &s)) return v_error();
	return v_bool(!strncmp(c->self.u.str->s, s, strlen(s)));
}

static Value str_ends(Elab *e, Call *c)
{
	const char *s;
	if (!want_str(e, c->arg[0], c->at, "the suffix", &s)) return v_error();
	size_t n = strlen(s), len = (size_t)c->self.u.str->len;
	return v_bool(n <= len && !memcmp(c->self.u.str->s + len - n, s, n));
}

static Value str_replace(Elab *e, Call *c)
{
	const char *from, *to, *s = c->self.u.str->s;
	if (!want_str(e, c->arg[0], c->at, "the text to replace", &from) || !want_str(e, c->arg[1], c->at, "the new text", &to)) return v_error();
	if (!*from) return fail(e, E0114, c->at, "the text to replace must not be empty");
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	for (const char *p; (p = strstr(s, from)); s = p + strlen(from)) {
		buf_put(&b, s, (size_t)(p - s));
		buf_puts(&b, to);
	}
	buf_puts(&b, s);
	return v_str(e->mem, b.s, b.n);
}

static Value str_case(Elab *e, const Call *c, char lo, char hi)
{
	Value v = v_str(e->mem, c->self.u.str->s, (size_t)c->self.u.str->len);
	char *s = arena_str(e->mem, v.u.str->s, (size_t)v.u.str->len);
	for (int i = 0; i < v.u.str->len; i++)
		if (s[i] >= lo && s[i] <= hi) s[i] ^= 32;
	v.u.str->s = s;
	return v;
}

static Value str_upper(Elab *e, Call *c) { return str_case(e, c, 'a', 'z'); }
static Value str_lower(Elab *e, Call *c) { return str_case(e, c, 'A', 'Z'); }

const Builtin str_methods[] = {
	{ "split", "sep", str_split }, { "join", "values", str_join }, { "startswith", "prefix", str_starts },
	{ "endswith", "suffix", str_ends }, { "replace", "old new", str_replace }, { "upper", "", str_upper },
	{ "lower", "", str_lower }, { NULL, NULL, NULL }
};

/* --- lists ------------------------------------------------------------------------------------------------------------- */
static int may_change(Elab *e, const Call *c)
{
	if (c->self.kind == V_LIST && !c->self.u.list->busy && !c->self.u.list->label) return 1;
	if (c->self.kind == V_TUPLE) fail(e, E0113, c->at, "a tuple does not change");
	else if (c->self.u.list->label) fail(e, E0113, c->at, "this list is a snapshot and does not change");
	else fail(e, E0111, c->at, "this list is being walked by a loop, so it cannot grow or shrink");
	return 0;
}

static Value list_append(Elab *e, Call *c)
{
	if (!may_change(e, c)) return v_error();
	list_push(e->mem, c->self.u.list, c->arg[0]);
	return v_none();
}

static Value list_extend(Elab *e, Call *c)
{
	List more = { 0 };
	if (!may_change(e, c) || !items_of(e, c->arg[0], c->at, &more)) return v_error();
	for (int i = 0; i < more.n; i++) list_push(e->mem, c->self.u.list, more.at[i]);
	return v_none();
}

static int list_place(Elab *e, const Call *c, int i, int n, int64_t *at)
{
	if (!want_int(e, c->arg[i], c->at, "the position", at)) return 0;
	if (*at < 0) *at += n;
	if (*at >= 0 && *at < n) return 1;
	fail(e, E0104, c->at, "position %s is out of range for %d items", v_text(e, c->arg[i]), n);
	return 0;
}

static Value list_insert(Elab *e, Call *c)
{
	List *l = c->self.u.list;
	int64_t at;
	if (!may_change(e, c) || !list_place(e, c, 0, l->n + 1, &at)) return v_error();
	list_push(e->mem, l, v_none());
	memmove(l->at + at + 1, l->at + at, (size_t)(l->n - 1 - at) * sizeof *l->at);
	l->at[at] = c->arg[1];
	return v_none();
}

static Value list_pop(Elab *e, Call *c)
{
	List *l = c->self.u.list;
	int64_t at = l->n - 1;
	if (!may_change(e, c)) return v_error();
	if (!l->n) return fail(e, E0104, c->at, "`pop` from an empty list");
	if (is_given(c->arg[0]) && !list_place(e, c, 0, l->n, &at)) return v_error();
	Value v = l->at[at];
	memmove(l->at + at, l->at + at + 1, (size_t)(l->n - 1 - at) * sizeof *l->at);
	l->n--;
	return v;
}

static Value list_find(Elab *e, Call *c)
{
	for (int i = 0; i < c->self.u.list->n; i++)
		if (values_equal(c->self.u.list->at[i], c->arg[0])) return v_int(i);
	return fail(e, E0105, c->at, "%s is not in the list", v_text(e, c->arg[0]));
}

static Value list_count(Elab *e, Call *c)
{
	int n = 0;
	(void)e;
	for (int i = 0; i < c->self.u.list->n; i++) n += values_equal(c->self.u.list->at[i], c->arg[0]);
	return v_int(n);
}

const Builtin list_methods[] = {
	{ "append", "value", list_append }, { "extend", "values", list_extend }, { "insert", "position value", list_insert },
	{ "pop", "position?", list_pop }, { "index", "value", list_find }, { "count", "value", list_count }, { NULL, NULL, NULL }
};

/* --- dicts -------------------------------------------------------------------------------------------------------------- */
static Value snapshot(Elab *e, const char *label)
{
	Value v = v_list(e->mem);
	v.u.list->label = label;
	return v;
}

static Value dict_keys(Elab *e, Call *c)
{
	Value v = snapshot(e, "dict_keys");
	DICT_EACH(c->self.u.dict, x) list_push(e->mem, v.u.list, x->key);
	return v;
}

static Value dict_values(Elab *e, Call *c)
{
	Value v = snapshot(e, "dict_values");
	DICT_EACH(c->self.u.dict, x) list_push(e->mem, v.u.list, x->val);
	return v;
}

static Value dict_items(Elab *e, Call *c)
{
	Value v = snapshot(e, "dict_items");
	DICT_EACH(c->self.u.dict, x) {
		Value t = v_tuple(e->mem);
		list_push(e->mem, t.u.list, x->key);
		list_push(e->mem, t.u.list, x->val);
		list_push(e->mem, v.u.list, t);
	}
	return v;
}

static Value dict_lookup(Elab *e, Call *c)
{
	const void *key = dict_key(e->names, c->arg[0]);
	DictEntry *x = dict_get(c->self.u.dict, key);
	if (!key) return fail(e, E0121, c->at, "%s cannot be a key", v_describe(e, c->arg[0]));
	return x ? x->val : c->arg[1].kind == V_UNSET ? v_none() : c->arg[1];
}

static Value dict_pop(Elab *e, Call *c)
{
	const void *key = dict_key(e->names, c->arg[0]);
	if (c->self.u.dict->busy) return fail(e, E0111, c->at, "this dict is being walked by a loop, so it cannot shrink");
	DictEntry *x = dict_get(c->self.u.dict, key);
	if (!x && c->arg[1].kind != V_UNSET) return c->arg[1];
	if (!x) return fail(e, E0105, c->at, "no key %s in the dict", v_text(e, c->arg[0]));
	map_del(&c->self.u.dict->map, key);
	return x->val;
}

static Value dict_update(Elab *e, Call *c)
{
	Value from = c->arg[0].kind == V_TREE ? tree_dict(e, c->arg[0].u.tree) : c->arg[0];
	if (!want_kind(e, from, V_DICT, c->at, "the argument of `update`")) return v_error();
	DICT_EACH(from.u.dict, x) set_index(e, c->self, x->key, x->val, c->at);
	return v_none();
}

static Value dict_copy(Elab *e, Call *c)
{
	Value d = v_dict(e->mem);
	DICT_EACH(c->self.u.dict, x) dict_set(e->mem, d.u.dict, dict_key(e->names, x->key), x->key, x->val);
	return d;
}

const Builtin dict_methods[] = {
	{ "keys", "", dict_keys }, { "values", "", dict_values }, { "items", "", dict_items }, { "get", "key default?", dict_lookup },
	{ "pop", "key default?", dict_pop }, { "update", "other", dict_update }, { "copy", "", dict_copy }, { NULL, NULL, NULL }
};
