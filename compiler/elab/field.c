/* field.c — value.name: fields, properties and methods.  Each kind of value has one table of Builtins. */
#include "compiler/elab/eval.h"

#include <string.h>

const Builtin *methods_of(VKind kind)
{
	switch (kind) {
	case V_STR:      return str_methods;
	case V_LIST: case V_TUPLE: return list_methods;
	case V_DICT:     return dict_methods;
	case V_ARRAY:    return array_methods;
	case V_DTYPE:    return dtype_methods;
	case V_SPEC:     return spec_methods;
	case V_TENSOR:   return tensor_methods;
	case V_GRAPH:    return graph_methods;
	case V_STREAM:   return stream_methods;
	case V_TREE:     return tree_methods;
	case V_FACTORY:  return factory_methods;
	case V_NAMED:    return named_methods;
	case V_BOUND:    return bound_methods;
	case V_CALL:     return call_methods;
	case V_GRAD:     return grad_methods;
	case V_EXPECTED: return expected_methods;
	case V_CACHE:    return cache_methods;
	case V_INSTANCE: return instance_methods;
	case V_OP:       return op_methods;
	case V_IR:       return ir_methods;
	case V_GROUPING: return grouping_methods;
	case V_BUFFER:   return buffer_methods;
	default:         return NULL;
	}
}

static int add_names(const Map *m, const char **out, int n, int max)
{
	for (int i = 0; i < m->n && n < max; i++)
		if (m->at[i].key) out[n++] = m->at[i].key;
	return n;
}

static Value unknown_field(Elab *e, Value obj, const char *name, Span at)
{
	enum { MAX = 1024 };
	const char **known = NEWN(e->mem, const char *, MAX);
	int n = 0;
	for (const Builtin *b = methods_of(obj.kind); b && b->name && n < MAX; b++) known[n++] = b->name;
	if (obj.kind == V_INSTANCE) n = add_names(&obj.u.inst->fields, known, n, MAX);
	if (obj.kind == V_TENSOR) {
		OpName *ops = NEWN(e->mem, OpName, MAX);
		int nop = op_names(ops, MAX);
		for (int i = 0; i < nop && n < MAX; i++) known[n++] = ops[i].name;
	}
	const char *noun = arena_printf(e->mem, "field of %s:", v_describe(e, obj));
	return fail_unknown(e, E0102, at, noun, name, known, n);
}

static Value op_method(Elab *e, Value obj, const char *name)
{
	Method m = { .self = obj };
	m.op.def = op_find(name, &m.op.inplace);
	if (!m.op.def || m.op.def->traits & (INTERNAL | CALLS)) return v_unset();
	return v_of(V_METHOD, arena_dup(e->mem, &m, sizeof m));
}

static Value own_field(Elab *e, Value obj, const char *name, Span at)
{
	if (obj.kind == V_INSTANCE) {
		Value *v = map_get(&obj.u.inst->fields, name);
		if (v) return *v;
	}
	if (obj.kind == V_TREE) {
		Value *v = tree_child(obj.u.tree, name);
		if (v) return *v;
	}
	const Builtin *b = methods_of(obj.kind);
	/* NamedTensors.from_dict(..): the other makers of trees */
	if (obj.kind == V_BUILTIN && (!strcmp(obj.u.builtin->name, "NamedTensors") || !strcmp(obj.u.builtin->name, "DotTree"))) b = tree_builtins;
	for (; b && b->name; b++) {
		if (strcmp(b->name, name)) continue;
		if (b->sig) return v_method(e->mem, obj, b);
		return b->fn(e, &(Call){ obj, NULL, NULL, at });
	}
	return v_unset();
}

Value get_field(Elab *e, Value obj, const char *name, Span at)
{
	Value v = own_field(e, obj, name, at);
	if (v.kind == V_UNSET && obj.kind == V_TENSOR) v = op_method(e, obj, name);
	if (v.kind != V_UNSET) return v;
	if (obj.kind == V_INSTANCE && obj.u.inst->tainted) return v_error();
	if (obj.kind == V_AUX) return aux_get(e, obj.u.hand, v_cstr(e->mem, name), at);
	if (obj.kind == V_TREE) return tree_get(e, obj.u.tree, v_cstr(e->mem, name), at);
	return unknown_field(e, obj, name, at);
}

void set_field(Elab *e, Value obj, const char *name, Value v, Span at)
{
	if (obj.kind == V_INSTANCE) instance_assign(e, obj.u.inst, name, v, at);
	else if (obj.kind == V_AUX) aux_set(e, obj.u.hand, v_cstr(e->mem, name), v, at);
	else if (obj.kind == V_VAR_GRAD) var_grad_set(e, obj.u.hand, v_cstr(e->mem, name), v, at);
	else if (obj.kind == V_TREE) {
		if (!is_error(v)) tree_insert_name(e, obj.u.tree, name, v, 1, at);
	} else if (obj.kind == V_IR) ir_set_field(e, obj.u.ir, name, v, at);
	else if (obj.kind == V_BUFFER) {
		if (!is_error(v)) set_buffer_field(e, obj.u.buffer, name, v, at);
	} else fail(e, E0113, at, "fields of %s cannot be assigned", v_describe(e, obj));
}
