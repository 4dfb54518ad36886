/* tree.c — DotTree: an ordered nested map from names to leaves, addressed by dotted names (addons.md section 3).
 *
 * One type serves as NamedTensors and as named variable factories; `kind` decides which extra methods make
 * sense.  A subtree got by access is the live node: changing it changes the tree it hangs in. */
#include "compiler/elab/eval.h"

#include <stdlib.h>
#include <string.h>

Tree *tree_new(Elab *e, TreeKind kind)
{
	Tree *t = NEW(e->mem, Tree);
	t->kind = kind;
	return t;
}

Value v_tree(Tree *t) { return v_of(V_TREE, t); }
Value *tree_child(const Tree *t, const char *name) { return map_get(&t->map, name); }

static int is_segment(const char *s, size_t n)
{
	int digits = 1, word = n > 0 && !(s[0] >= '0' && s[0] <= '9');
	for (size_t i = 0; i < n; i++) {
		int digit = s[i] >= '0' && s[i] <= '9';
		digits = digits && digit;
		word = word && (digit || s[i] == '_' || ((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z'));
	}
	return n > 0 && (digits || word);
}

static int segments(const char *path)
{
	int n = 1;
	for (; *path; path++) n += *path == '.';
	return n;
}

/* the dotted path a key stands for; NULL after a diagnostic */
static const char *path_of(Elab *e, Value key, Span at)
{
	if (key.kind == V_INT && key.u.i >= 0) return arena_printf(e->mem, "%lld", (long long)key.u.i);
	if (key.kind != V_STR) {
		fail(e, E0436, at, "a name in a tree is a string or an int of at least 0, not %s", v_text(e, key));
		return NULL;
	}
	if (segments(key.u.str->s) > TREE_DEPTH) {
		fail(e, E0802, at, "trees are nested more than %d deep", TREE_DEPTH);
		return NULL;
	}
	for (const char *s = key.u.str->s;; s++) {
		size_t n = strcspn(s, ".");
		if (!is_segment(s, n)) {
			fail(e, E0436, at, "%s is not a name in a tree: each part is an identifier or digits", v_text(e, key));
			return NULL;
		}
		s += n;
		if (!*s) return key.u.str->s;
	}
}

static void put(Elab *e, Tree *t, const char *name, Value v)
{
	Value *old = tree_child(t, name);
	if (old) *old = v;
	else map_set(e->mem, &t->map, name, arena_dup(e->mem, &v, sizeof v));
}

void tree_merge(Elab *e, Tree *into, const Tree *from)
{
	for (int i = 0; i < from->map.n; i++) {
		if (!from->map.at[i].key) continue;
		Value v = *(Value *)from->map.at[i].val, *old = tree_child(into, from->map.at[i].key);
		if (old && old->kind == V_TREE && v.kind == V_TREE) tree_merge(e, old->u.tree, v.u.tree);
		else put(e, into, from->map.at[i].key, v);
	}
}

/* names are checked, `path` may be created: nothing fails from here on (A12) */
static void insert_path(Elab *e, Tree *t, const char *path, Value v)
{
	for (;;) {
		size_t n = strcspn(path, ".");
		const char *name = intern(e->names, path, n);
		Value *child = tree_child(t, name);
		if (!path[n]) {
			if (child && child->kind == V_TREE && v.kind == V_TREE) tree_merge(e, child->u.tree, v.u.tree);
			else put(e, t, name, v);
			return;
		}
		if (!child || child->kind != V_TREE) {
			put(e, t, name, v_tree(tree_new(e, t->kind)));
			child = tree_child(t, name);
			child->u.tree->level = t->level + 1;
		}
		t = child->u.tree;
		path += n + 1;
	}
}

/* Trees may share parts, so a small one may have very many paths: walks count as steps. */
static int holds(Elab *e, const Tree *t, const Tree *part)
{
	if (t == part || !step(e, e->at)) return 1;
	for (int i = 0; i < t->map.n; i++) {
		const Value *v = t->map.at[i].key ? t->map.at[i].val : NULL;
		if (v && v->kind == V_TREE && holds(e, v->u.tree, part)) return 1;
	}
	return 0;
}

/* t now hangs at this level or deeper; 0: too deep */
static int sink(Tree *t, int level)
{
	if (level <= t->level) return 1;
	if (level > TREE_DEPTH) return 0;
	t->level = level;
	for (int i = 0; i < t->map.n; i++) {
		const Value *v = t->map.at[i].key ? t->map.at[i].val : NULL;
		if (v && v->kind == V_TREE && !sink(v->u.tree, level + 1)) return 0;
	}
	return 1;
}

/* may v hang in t under path? */
static int may_hang(Elab *e, Tree *t, const char *path, Value v, Span at)
{
	if (v.kind == V_TREE && holds(e, v.u.tree, t)) {
		if (!e->stop) fail(e, E0114, at, "a tree cannot hold itself");
		return 0;
	}
	int level = t->level + segments(path);
	if (level <= TREE_DEPTH && (v.kind != V_TREE || sink(v.u.tree, level))) return 1;
	fail(e, E0802, at, "trees are nested more than %d deep", TREE_DEPTH);
	return 0;
}

/* --- dicts stand for trees (A22): their keys are names, and dicts inside them are subtrees ------------------------------- */
static int fill(Elab *e, Tree *t, const Dict *d, int depth, Span at)
{
	DICT_EACH(d, x) {
		const char *path = path_of(e, x->key, at);
		Value v = x->val;
		if (!path || !step(e, at)) return 0;         /* dicts may share parts, as trees may */
		if (depth > TREE_DEPTH) return fail(e, E0802, at, "trees are nested more than %d deep", TREE_DEPTH), 0;
		if (v.kind == V_DICT) {
			v = v_tree(tree_new(e, t->kind));
			if (!fill(e, v.u.tree, x->val.u.dict, depth + 1, at)) return 0;
		}
		if (!may_hang(e, t, path, v, at)) return 0;
		insert_path(e, t, path, v);
	}
	return 1;
}

static Tree *from_dict(Elab *e, const Dict *d, Span at)
{
	Tree *t = tree_new(e, TREE_ANY);
	return fill(e, t, d, 1, at) ? t : NULL;
}

Tree *want_tree(Elab *e, Value v, Span at, const char *what)
{
	if (v.kind == V_DICT) return from_dict(e, v.u.dict, at);
	return want_kind(e, v, V_TREE, at, what) ? v.u.tree : NULL;
}

int tree_insert(Elab *e, Tree *t, Value key, Value v, int overwrite, Span at)
{
	const char *path = path_of(e, key, at);
	if (!path || is_error(v)) return 0;
	if (v.kind == V_DICT) {
		Tree *branch = from_dict(e, v.u.dict, at);
		if (!branch) return 0;
		v = v_tree(branch);
	}
	const char *first = intern(e->names, path, strcspn(path, "."));
	if (tree_child(t, first) && !overwrite) {
		fail(e, E0431, at, "the tree already holds `%s`", first);
		return 0;
	}
	if (t->busy && !tree_child(t, first)) {
		fail(e, E0111, at, "this tree is being walked by a loop, so it cannot grow");
		return 0;
	}
	if (!may_hang(e, t, path, v, at)) return 0;
	insert_path(e, t, path, v);
	return 1;
}

int tree_insert_name(Elab *e, Tree *t, const char *name, Value v, int overwrite, Span at)
{
	return tree_insert(e, t, v_cstr(e->mem, name), v, overwrite, at);
}

/* --- access ------------------------------------------------------------------------------------------------------------ */
static Value missing(Elab *e, const Tree *t, const char *name, Span at)
{
	Buf b = buf_new(e->mem);
	buf_puts(&b, "");
	const char **known = NEWN(e->mem, const char *, t->map.n + 1);
	int n = 0;
	for (int i = 0; i < t->map.n; i++) {
		if (!t->map.at[i].key) continue;
		known[n] = t->map.at[i].key;
		buf_printf(&b, "%s`%s`", n ? ", " : "", known[n]);
		n++;
	}
	Diag *d = fail_diag(e, E0105, at, "no `%s` in this tree", name);
	if (n) diag_note(e->ds, d, (Span){ 0, 0, 0 }, "it holds %s", b.s);
	else diag_note(e->ds, d, (Span){ 0, 0, 0 }, "it is empty");
	const char *near = nearest(name, known, n);
	if (near) diag_help(e->ds, d, (Span){ 0, 0, 0 }, "did you mean `%s`?", near);
	return v_error();
}

/* a negative int counts back from the largest digit key (A14) */
static const char *from_the_end(Elab *e, const Tree *t, int64_t k)
{
	int64_t top = -1;
	for (int i = 0; i < t->map.n; i++) {
		const char *s = t->map.at[i].key;
		if (!s || strspn(s, "0123456789") != strlen(s) || strlen(s) > 15) continue;
		if (atoll(s) > top) top = atoll(s);
	}
	return arena_printf(e->mem, "%lld", (long long)(top + 1 + k));
}

static Value *look(Elab *e, const Tree *t, const char *path, Span at)
{
	for (;;) {
		size_t n = strcspn(path, ".");
		const char *name = intern(e->names, path, n);
		Value *v = tree_child(t, name);
		if (!v) {
			missing(e, t, name, at);
			return NULL;
		}
		if (!path[n]) return v;
		if (v->kind != V_TREE) {
			fail(e, E0105, at, "`%s` is a leaf of the tree, so it holds no `%s`", name, path + n + 1);
			return NULL;
		}
		t = v->u.tree;
		path += n + 1;
	}
}

static const char *lookup_path(Elab *e, const Tree *t, Value key, Span at)
{
	if (key.kind == V_INT && key.u.i < 0) return from_the_end(e, t, key.u.i);
	if (key.kind == V_STR) return key.u.str->s;
	return path_of(e, key, at);
}

Value tree_get(Elab *e, Tree *t, Value key, Span at)
{
	const char *path = lookup_path(e, t, key, at);
	Value *v = path ? look(e, t, path, at) : NULL;
	return v ? *v : v_error();
}

/* --- whole trees ---------------------------------------------------------------------------------------------------------- */
static void gather(Elab *e, const Tree *t, const char *prefix, Leaves *out)
{
	for (int i = 0; i < t->map.n && step(e, e->at); i++) {
		if (!t->map.at[i].key) continue;
		const Value *v = t->map.at[i].val;
		const char *name = *prefix ? arena_printf(e->mem, "%s.%s", prefix, (const char *)t->map.at[i].key) : t->map.at[i].key;
		if (v->kind == V_TREE) gather(e, v->u.tree, name, out);
		else {
			Leaf leaf = { name, *v };
			vec_push(e->mem, &out->at, leaf);
		}
	}
}

Leaves tree_leaves(Elab *e, const Tree *t)
{
	Leaves l = { 0 };
	gather(e, t, "", &l);
	return l;
}

static int by_name(const void *a, const void *b) { return strcmp(((const Leaf *)a)->name, ((const Leaf *)b)->name); }
static int by_tensor(const void *a, const void *b)
{
	return strcmp(((const Leaf *)a)->v.u.tensor->name, ((const Leaf *)b)->v.u.tensor->name);
}

void leaves_sort(Leaves *l)
{
	if (l->at.n) qsort(l->at.at, (size_t)l->at.n, sizeof *l->at.at, by_name);
}

Tree *tree_copy(Elab *e, const Tree *t)
{
	Tree *c = tree_new(e, t->kind);
	c->level = t->level;
	for (int i = 0; i < t->map.n && step(e, e->at); i++) {
		if (!t->map.at[i].key) continue;
		Value v = *(Value *)t->map.at[i].val;
		put(e, c, t->map.at[i].key, v.kind == V_TREE ? v_tree(tree_copy(e, v.u.tree)) : v);
	}
	return c;
}

static int holds_link(const Tree *t)
{
	if (t->linked) return 1;
	for (int i = 0; i < t->map.n; i++) {
		const Value *v = t->map.at[i].key ? t->map.at[i].val : NULL;
		if (v && v->kind == V_TREE && holds_link(v->u.tree)) return 1;
	}
	return 0;
}

/* leaves go at every depth; nodes stay where submodules hang (A26) */
void tree_clear_leaves(Tree *t)
{
	for (int i = 0; i < t->map.n; i++) {
		const void *key = t->map.at[i].key;
		if (!key) continue;
		const Value *v = t->map.at[i].val;
		if (v->kind == V_TREE && holds_link(v->u.tree)) tree_clear_leaves(v->u.tree);
		else map_del(&t->map, key);
	}
}

Value tree_dict(Elab *e, const Tree *t)
{
	Value d = v_dict(e->mem);
	Leaves l = tree_leaves(e, t);
	for (int i = 0; i < l.at.n; i++) {
		Value k = v_cstr(e->mem, l.at.at[i].name);
		dict_set(e->mem, d.u.dict, dict_key(e->names, k), k, l.at.at[i].v);
	}
	return d;
}

/* --- methods ---------------------------------------------------------------------------------------------------------------- */
#define T(c) ((c)->self.u.tree)

static int flag(Elab *e, const Call *c, int i, int *out)
{
	*out = 0;
	return !is_given(c->arg[i]) || want_bool(e, c->arg[i], c->at, "`overwrite`", out);
}

static Value do_insert(Elab *e, Call *c)
{
	int over;
	Value v = c->arg[1];
	if (!flag(e, c, 2, &over)) return v_error();
	tree_insert(e, T(c), c->arg[0], v, over, c->at);
	return v_none();
}

static Value do_get(Elab *e, Call *c)
{
	if (c->arg[1].kind == V_UNSET) return tree_get(e, T(c), c->arg[0], c->at);
	Value in = eval_binary(e, AO_IN, c->arg[0], c->self, c->at);
	return in.kind == V_BOOL && in.u.b ? tree_get(e, T(c), c->arg[0], c->at) : c->arg[1];
}

static Value do_contains(Elab *e, Call *c) { return eval_binary(e, AO_IN, c->arg[0], c->self, c->at); }

static Value do_update(Elab *e, Call *c)
{
	int over;
	Tree *other = flag(e, c, 1, &over) ? want_tree(e, c->arg[0], c->at, "the argument of `update`") : NULL;
	if (!other) return v_error();
	Tree *copy = tree_copy(e, other);
	for (int i = 0; i < copy->map.n; i++)
		if (tree_child(T(c), copy->map.at[i].key) && !over)
			return fail(e, E0431, c->at, "the tree already holds `%s`", (const char *)copy->map.at[i].key);
	for (int i = 0; i < copy->map.n; i++)
		if (!tree_insert_name(e, T(c), copy->map.at[i].key, *(Value *)copy->map.at[i].val, 1, c->at)) return v_error();
	return v_none();
}

static Value do_pop(Elab *e, Call *c)
{
	const char *path = lookup_path(e, T(c), c->arg[0], c->at);
	if (T(c)->busy) return fail(e, E0111, c->at, "this tree is being walked by a loop, so it cannot shrink");
	Value *v = path ? look(e, T(c), path, c->at) : NULL;
	if (!v) return v_error();
	Value out = *v;
	const char *dot = strrchr(path, '.');
	Tree *in = dot ? look(e, T(c), arena_printf(e->mem, "%.*s", (int)(dot - path), path), c->at)->u.tree : T(c);
	map_del(&in->map, intern_str(e->names, dot ? dot + 1 : path));
	return out;
}

static Value do_copy(Elab *e, Call *c) { return v_tree(tree_copy(e, T(c))); }

static Value do_filter(Elab *e, Call *c)
{
	List keys = { 0 };
	Tree *out = tree_new(e, T(c)->kind);
	if (!items_of(e, c->arg[0], c->at, &keys)) return v_error();
	for (int i = 0; i < keys.n; i++) {
		for (int k = 0; k < i; k++)
			if (values_equal(keys.at[i], keys.at[k])) return fail(e, E0431, c->at, "%s is listed twice", v_text(e, keys.at[i]));
		Value v = tree_get(e, T(c), keys.at[i], c->at);
		if (is_error(v)) return v;
		insert_path(e, out, lookup_path(e, T(c), keys.at[i], c->at), v.kind == V_TREE ? v_tree(tree_copy(e, v.u.tree)) : v);
	}
	return v_tree(out);
}

static Value children(Elab *e, const Call *c, int values)
{
	Value v = v_list(e->mem);
	v.u.list->label = values ? "dict_values" : "dict_keys";
	for (int i = 0; i < T(c)->map.n; i++)
		if (T(c)->map.at[i].key)
			list_push(e->mem, v.u.list, values ? *(Value *)T(c)->map.at[i].val : v_cstr(e->mem, T(c)->map.at[i].key));
	return v;
}

static Value flat(Elab *e, const Call *c, int values)
{
	Value v = v_list(e->mem);
	Leaves l = tree_leaves(e, T(c));
	for (int i = 0; i < l.at.n; i++) list_push(e->mem, v.u.list, values ? l.at.at[i].v : v_cstr(e->mem, l.at.at[i].name));
	return v;
}

static Value do_keys(Elab *e, Call *c)        { return children(e, c, 0); }
static Value do_values(Elab *e, Call *c)      { return children(e, c, 1); }
static Value do_keys_flat(Elab *e, Call *c)   { return flat(e, c, 0); }
static Value do_values_flat(Elab *e, Call *c) { return flat(e, c, 1); }
static Value do_len_flat(Elab *e, Call *c)    { return v_int(tree_leaves(e, T(c)).at.n); }
static Value do_to_dict(Elab *e, Call *c)     { return tree_dict(e, T(c)); }

static Value do_items(Elab *e, Call *c)
{
	Value v = v_list(e->mem);
	for (int i = 0; i < T(c)->map.n; i++) {
		if (!T(c)->map.at[i].key) continue;
		Value t = v_tuple(e->mem);
		list_push(e->mem, t.u.list, v_cstr(e->mem, T(c)->map.at[i].key));
		list_push(e->mem, t.u.list, *(Value *)T(c)->map.at[i].val);
		list_push(e->mem, v.u.list, t);
	}
	return v;
}

static Value do_unpack(Elab *e, Call *c)
{
	Leaves l = tree_leaves(e, T(c));
	leaves_sort(&l);
	Value names = v_tuple(e->mem), leaves = v_tuple(e->mem), out = v_tuple(e->mem);
	for (int i = 0; i < l.at.n; i++) {
		list_push(e->mem, names.u.list, v_cstr(e->mem, l.at.at[i].name));
		list_push(e->mem, leaves.u.list, l.at.at[i].v);
	}
	list_push(e->mem, out.u.list, names);
	list_push(e->mem, out.u.list, leaves);
	return out;
}

static Value do_map(Elab *e, Call *c)
{
	Leaves l = tree_leaves(e, T(c));
	Tree *out = tree_new(e, TREE_ANY);
	for (int i = 0; i < l.at.n; i++) {
		Value v = call1(e, c->arg[0], l.at.at[i].v, c->at);
		if (is_error(v) || !tree_insert_name(e, out, l.at.at[i].name, v, 1, c->at)) return v_error();
	}
	return v_tree(out);
}

static Value do_to_mapping(Elab *e, Call *c)
{
	Value d = v_dict(e->mem);
	Tree *other = want_tree(e, c->arg[0], c->at, "the argument of `to_mapping`");
	if (!other) return v_error();
	Leaves a = tree_leaves(e, T(c)), b = tree_leaves(e, other);
	Map by = { 0 };
	for (int i = 0; i < b.at.n; i++) map_set(e->mem, &by, intern_str(e->names, b.at.at[i].name), &b.at.at[i].v);
	for (int i = 0; i < a.at.n; i++) {
		Value *v = map_get(&by, intern_str(e->names, a.at.at[i].name));
		const void *key = dict_key(e->names, a.at.at[i].v);
		if (v && key) dict_set(e->mem, d.u.dict, key, a.at.at[i].v, *v);
	}
	return d;
}

/* --- trees of tensors -------------------------------------------------------------------------------------------------------- */
static Value get_tensors(Elab *e, Call *c)
{
	Leaves l = tree_leaves(e, T(c));
	Value out = v_tuple(e->mem);
	for (int i = 0; i < l.at.n; i++)
		if (l.at.at[i].v.kind != V_TENSOR) return fail(e, E0102, c->at, "`tensors` belongs to trees of tensors; this one holds %s", v_describe(e, l.at.at[i].v));
	if (l.at.n) qsort(l.at.at, (size_t)l.at.n, sizeof *l.at.at, by_tensor);
	for (int i = 0; i < l.at.n; i++) list_push(e->mem, out.u.list, l.at.at[i].v);
	return out;
}

static Value do_remap(Elab *e, Call *c)
{
	Leaves l = tree_leaves(e, T(c));
	Tree *out = tree_new(e, TREE_TENSORS);
	if (!want_kind(e, c->arg[0], V_DICT, c->at, "the argument of `remap`")) return v_error();
	for (int i = 0; i < l.at.n; i++) {
		DictEntry *x = dict_get(c->arg[0].u.dict, dict_key(e->names, l.at.at[i].v));
		if (!x) return fail(e, E0105, c->at, "`%s` has no entry in the map", l.at.at[i].name);
		insert_path(e, out, l.at.at[i].name, x->val);
	}
	return v_tree(out);
}

/* --- trees of factories -------------------------------------------------------------------------------------------------------- */
/* every factory becomes a variable, in alphabetical order of full names (A42) */
static Value do_init(Elab *e, Call *c)
{
	const char *prefix = NULL;
	if (is_given(c->arg[0]) && !want_str(e, c->arg[0], c->at, "`prefix` of `init`", &prefix)) return v_error();
	Leaves l = tree_leaves(e, T(c));
	leaves_sort(&l);
	Tree *out = tree_new(e, TREE_TENSORS);
	for (int i = 0; i < l.at.n; i++) {
		const char *name = l.at.at[i].name;
		if (l.at.at[i].v.kind != V_FACTORY) return fail(e, E0206, c->at, "`init` makes variables of factories; `%s` is %s", name, v_describe(e, l.at.at[i].v));
		const char *full = prefix ? arena_printf(e->mem, "%s.%s", prefix, name) : name;
		Tensor *t = factory_variable(e, l.at.at[i].v.u.factory, full, c->at);
		if (!t) return v_error();
		insert_path(e, out, name, v_of(V_TENSOR, t));
	}
	return v_tree(out);
}

/* which replicas share each variable: all of them, as long as a factory says nothing else (A36, A46) */
static Value get_groupings(Elab *e, Call *c)
{
	Leaves l = tree_leaves(e, T(c));
	Tree *out = tree_new(e, TREE_ANY);
	if (!building(e, c->at, "groups of replicas are asked for")) return v_error();
	for (int i = 0; i < l.at.n; i++) {
		GroupingOf g = { e->b.ir, 0 };
		if (l.at.at[i].v.kind != V_FACTORY) return fail(e, E0206, c->at, "`%s` is %s, not a variable factory", l.at.at[i].name, v_describe(e, l.at.at[i].v));
		insert_path(e, out, l.at.at[i].name, v_of(V_GROUPING, arena_dup(e->mem, &g, sizeof g)));
	}
	return v_tree(out);
}

/* the same, each into the buffer of its name (A44) */
static Value do_init_remote(Elab *e, Call *c)
{
	int64_t entry = 0;
	const char *prefix = NULL;
	Tree *buffers = want_tree(e, c->arg[0], c->at, "`buffers` of `init_remote`");
	if (!buffers) return v_error();
	if (is_given(c->arg[1]) && !want_int(e, c->arg[1], c->at, "`entry`", &entry)) return v_error();
	if (is_given(c->arg[2]) && !want_str(e, c->arg[2], c->at, "`prefix` of `init_remote`", &prefix)) return v_error();
	Leaves l = tree_leaves(e, T(c));
	leaves_sort(&l);
	Tree *out = tree_new(e, TREE_TENSORS);
	for (int i = 0; i < l.at.n; i++) {
		const char *name = l.at.at[i].name;
		if (l.at.at[i].v.kind != V_FACTORY) return fail(e, E0206, c->at, "`%s` is %s, not a variable factory", name, v_describe(e, l.at.at[i].v));
		Value buffer = tree_get(e, buffers, v_cstr(e->mem, name), c->at);
		if (is_error(buffer) || !want_kind(e, buffer, V_BUFFER, c->at, "an entry of `buffers`")) return v_error();
		const char *full = prefix ? arena_printf(e->mem, "%s.%s", prefix, name) : name;
		Tensor *t = factory_remote(e, l.at.at[i].v.u.factory, buffer.u.buffer, entry, full, c->at);
		if (!t) return v_error();
		insert_path(e, out, name, v_of(V_TENSOR, t));
	}
	return v_tree(out);
}

/* tensors that an op makes in the graph being built, in the tree's own order; nothing is drawn (A45) */
static Value init_by_op(Elab *e, Call *c, const char *type)
{
	const char *prefix = NULL;
	Leaves l = tree_leaves(e, T(c));
	Tree *out = tree_new(e, TREE_TENSORS);
	if (is_given(c->arg[0]) && !want_str(e, c->arg[0], c->at, "`prefix`", &prefix)) return v_error();
	for (int i = 0; i < l.at.n; i++) {
		const char *name = l.at.at[i].name;
		if (l.at.at[i].v.kind != V_FACTORY) return fail(e, E0206, c->at, "`%s` is %s, not a variable factory", name, v_describe(e, l.at.at[i].v));
		const Factory *f = l.at.at[i].v.u.factory;
		Value v = op_by_name(e, "init", c->at, 4, v_shape(e->mem, f->spec.shape), v_dtype(f->spec.dtype),
			v_cstr(e->mem, prefix ? arena_printf(e->mem, "%s.%s", prefix, name) : name), v_cstr(e->mem, type));
		if (is_error(v)) return v;
		insert_path(e, out, name, v);
	}
	return v_tree(out);
}

static Value do_init_zero(Elab *e, Call *c)  { return init_by_op(e, c, "zero"); }
static Value do_init_undef(Elab *e, Call *c) { return init_by_op(e, c, "undef"); }

const Builtin tree_methods[] = {
	{ "insert", "key value overwrite?", do_insert }, { "get", "key default?", do_get }, { "contains", "key", do_contains },
	{ "update", "other overwrite?", do_update }, { "pop", "key", do_pop }, { "copy", "", do_copy },
	{ "filter_keys", "keys", do_filter }, { "keys", "", do_keys }, { "values", "", do_values }, { "items", "", do_items },
	{ "keys_flat", "", do_keys_flat }, { "values_flat", "", do_values_flat }, { "len_flat", "", do_len_flat },
	{ "to_dict", "", do_to_dict }, { "named_tensors", NULL, do_to_dict }, { "unpack", "", do_unpack }, { "map", "f", do_map },
	{ "to_mapping", "other", do_to_mapping }, { "tensors", NULL, get_tensors }, { "remap", "map", do_remap },
	{ "init", "prefix?", do_init }, { "replica_groupings", NULL, get_groupings }, { "init_remote", "buffers entry? prefix?", do_init_remote }, { "init_zero", "prefix?", do_init_zero }, { "init_undef", "prefix?", do_init_undef }, { NULL, NULL, NULL }
};

/* --- making trees: DotTree(), NamedTensors(), from_dict, pack ------------------------------------------------------------------- */
static Value do_from_dict(Elab *e, Call *c)
{
	if (!want_kind(e, c->arg[0], V_DICT, c->at, "the argument of `from_dict`")) return v_error();
	Tree *t = from_dict(e, c->arg[0].u.dict, c->at);
	return t ? v_tree(t) : v_error();
}

static Value do_pack(Elab *e, Call *c)
{
	List names = { 0 }, leaves = { 0 };
	Tree *t = tree_new(e, TREE_ANY);
	if (!items_of(e, c->arg[0], c->at, &names) || !items_of(e, c->arg[1], c->at, &leaves)) return v_error();
	if (names.n != leaves.n) return fail(e, E0103, c->at, "%d names for %d values", names.n, leaves.n);
	for (int i = 0; i < names.n; i++) {
		const char *path = path_of(e, names.at[i], c->at);
		if (!path || !may_hang(e, t, path, leaves.at[i], c->at)) return v_error();
		insert_path(e, t, path, leaves.at[i]);
	}
	return v_tree(t);
}

static Value do_tree(Elab *e, Call *c)
{
	Call d = *c;
	Value named = c->arg[0];
	d.arg = &named;
	return do_from_dict(e, &d);
}

const Builtin tree_builtins[] = {
	{ "DotTree", "**entries", do_tree }, { "NamedTensors", "**entries", do_tree },
	{ "from_dict", "entries", do_from_dict }, { "pack", "names values", do_pack }, { NULL, NULL, NULL }
};
