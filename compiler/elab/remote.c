/* remote.c — remote buffers and remote variables in the language (semantics.md R327–R340). */
#include "compiler/elab/eval.h"

#include <string.h>

/* --- buffers ------------------------------------------------------------------------------------------------------------------ */
/* remote_buffer(spec, entries), or PopXL's remote_buffer(shape, dtype, entries) */
static Value do_buffer(Elab *e, Call *c)
{
	Value spec = c->arg[0], entries = c->arg[2];
	int64_t n = 1;
	Spec s;
	if (!building(e, c->at, "a remote buffer is made")) return v_error();
	if (spec.kind == V_SPEC || spec.kind == V_TENSOR) {
		if (is_given(c->arg[1]) && is_given(entries)) return fail(e, E0201, c->at, "`remote_buffer` takes a spec, or a shape and a dtype");
		if (is_given(c->arg[1])) entries = c->arg[1];
	} else {
		DType t;
		if (!want_dtype(e, c->arg[1], c->at, "`dtype` of `remote_buffer`", &t)) return v_error();
		spec = eval_index(e, v_dtype(t), &spec, 1, c->at);
	}
	if (!want_spec(e, spec, c->at, "the spec of `remote_buffer`", &s) || (is_given(entries) && !want_int(e, entries, c->at, "`entries`", &n))) return v_error();
	e->b.at = c->at;
	RemoteBuffer *b = ir_buffer(&e->b, s, n);
	return b ? v_of(V_BUFFER, b) : v_error();
}

/* --- variables ------------------------------------------------------------------------------------------------------------------ */
/* an initialiser takes its shape from the buffer; other data says its own */
static Value do_variable(Elab *e, Call *c)
{
	int64_t entry = 0;
	if (!want_kind(e, c->arg[1], V_BUFFER, c->at, "`remote_buffer` of `remote_variable`")) return v_error();
	RemoteBuffer *b = c->arg[1].u.buffer;
	if (is_given(c->arg[2]) && !want_int(e, c->arg[2], c->at, "`offset`", &entry)) return v_error();
	Value type = c->arg[3];
	if (!is_given(type) && (c->arg[0].kind == V_INIT || c->arg[0].kind == V_FN || c->arg[0].kind == V_RANGE)) type = v_spec(e->mem, b->spec);
	Value v = make_variable(e, (Value[]){ c->arg[0], type, c->arg[4], c->arg[5], c->arg[6], c->arg[7], v_unset(), v_unset(), c->arg[8] }, c->at);
	if (is_error(v)) return v;
	e->b.at = c->at;
	return ir_set_remote(&e->b, v.u.tensor, b, entry) ? v : v_error();
}

const Builtin remote_builtins[] = {
	{ "remote_buffer", "spec dtype? entries?", do_buffer }, { "remote_variable", "data remote_buffer offset? dtype? name? downcast? replica_grouping? retrieval_mode? state?", do_variable },
	{ NULL, NULL, NULL }
};

/* --- members of buffers ------------------------------------------------------------------------------------------------------------ */
#define B(c) ((c)->self.u.buffer)

static Value get_id(Elab *e, Call *c)      { (void)e; return v_int(B(c)->id + 1); }
static Value get_shape(Elab *e, Call *c)   { return v_shape(e->mem, B(c)->spec.shape); }
static Value get_dtype(Elab *e, Call *c)   { (void)e; return v_dtype(B(c)->spec.dtype); }
static Value get_spec(Elab *e, Call *c)    { return v_spec(e->mem, B(c)->spec); }
static Value get_entries(Elab *e, Call *c) { (void)e; return v_int(B(c)->entries); }
static Value get_meta(Elab *e, Call *c)    { return v_shape(e->mem, B(c)->spec.has_meta ? B(c)->spec.meta : (Shape){ 0 }); }

static Value do_validate(Elab *e, Call *c)
{
	if (!want_kind(e, c->arg[0], V_TENSOR, c->at, "the tensor")) return v_error();
	Spec x = c->arg[0].u.tensor->spec, s = B(c)->spec;
	if (x.dtype == s.dtype && shape_eq(x.shape, s.shape)) return v_none();
	Diag *d = fail_diag(e, E0641, c->at, "`%s` does not match buffer %d", c->arg[0].u.tensor->name, B(c)->id + 1);
	diag_label(e->ds, d, "%s for an entry of %s", spec_str(e->mem, x.dtype, x.shape), spec_str(e->mem, s.dtype, s.shape));
	diag_note(e->ds, d, B(c)->at, "the buffer is made here");
	return v_error();
}

static Value set_variable(Elab *e, Call *c)
{
	int64_t entry;
	if (!want_kind(e, c->arg[0], V_TENSOR, c->at, "`variable`") || !want_int(e, c->arg[1], c->at, "`entry`", &entry)) return v_error();
	e->b.at = c->at;
	return ir_set_remote(&e->b, c->arg[0].u.tensor, B(c), entry) ? v_none() : v_error();
}

static Value set_entries(Elab *e, Call *c)
{
	Spec s = B(c)->spec;
	int64_t n;
	if (!want_dtype(e, c->arg[0], c->at, "`tensor_dtype`", &s.dtype) || !want_shape(e, c->arg[1], c->at, "`tensor_shape`", &s.shape)) return v_error();
	if (!want_int(e, c->arg[2], c->at, "`entries`", &n)) return v_error();
	e->b.at = c->at;
	return ir_set_buffer(&e->b, B(c), s, n) ? v_none() : v_error();
}

/* Two signatures: which entry a variable stands for, and, as in PopXL, what the entries are. The first argument tells. */
static Value do_set_info(Elab *e, Call *c)
{
	static const Builtin forms[] = { { "set_remote_buffer_info", "variable entry", set_variable },
	                                 { "set_remote_buffer_info", "tensor_dtype tensor_shape entries", set_entries } };
	const Args *a = c->args;
	int of_variable = a->pos.n > 0 && a->pos.at[0].v.kind == V_TENSOR;
	for (int i = 0; i < a->named.n; i++) of_variable |= !strcmp(a->named.at[i].name, "variable");
	return call_builtin(e, &forms[!of_variable], c->self, c->args);
}

const Builtin buffer_methods[] = {
	{ "remote_buffer_id", NULL, get_id }, { "tensor_shape", NULL, get_shape }, { "tensor_dtype", NULL, get_dtype }, { "spec", NULL, get_spec },
	{ "entries", NULL, get_entries }, { "meta_shape", NULL, get_meta }, { "validate_tensor_matches_buffer", "t", do_validate },
	{ "set_remote_buffer_info", "*args **named", do_set_info }, { NULL, NULL, NULL }
};

void set_buffer_field(Elab *e, RemoteBuffer *b, const char *name, Value v, Span at)
{
	int64_t n;
	Shape s;
	e->b.at = at;
	if (!strcmp(name, "entries")) {
		if (want_int(e, v, at, "`entries`", &n)) ir_set_buffer(&e->b, b, b->spec, n);
	} else if (!strcmp(name, "meta_shape")) {
		if (!want_shape(e, v, at, "`meta_shape`", &s)) return;
		b->spec.has_meta = s.rank > 0;
		b->spec.meta = s;
	} else fail(e, E0113, at, "`%s` of a remote buffer cannot be assigned: only `entries` and `meta_shape` change", name);
}

/* --- where a tensor is (R114) --------------------------------------------------------------------------------------------------------- */
static void put(Elab *e, Value d, const char *key, Value v)
{
	Value k = v_cstr(e->mem, key);
	dict_set(e->mem, d.u.dict, dict_key(e->names, k), k, v);
}

Value tensor_location(Elab *e, const Tensor *t)
{
	Value d = v_dict(e->mem);
	put(e, d, "storage", v_cstr(e->mem, t->remote ? "OffChip" : "OnChip"));
	put(e, d, "remote_buffer_id", t->remote ? v_int(t->remote->id + 1) : v_none());
	put(e, d, "offset", t->remote ? v_int(t->entry) : v_none());
	put(e, d, "sharded", v_bool(0));
	return d;
}
