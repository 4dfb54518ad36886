/* factory.c — variable factories: recipes of variables, instantiated later and as often as wanted (addons.md section 4);
 * and streams. */
#include "compiler/elab/eval.h"

#include <string.h>

static HostArray *fixed(Elab *e, const Factory *f, Value v, Span at)
{
	HostArray *a = array_of(e, v, (int)f->spec.dtype, 1, at);
	if (!a) return NULL;
	if (a->shape.rank == 0 && f->spec.shape.rank) {          /* one number fills the variable */
		RtInit init = { .kind = INIT_FULL, .a = rt_get(a->dtype, host_bytes(e->mem, a, e->o.seed), 0) };
		HostArray *full = NEW(e->mem, HostArray);
		*full = (HostArray){ f->spec.dtype, f->spec.shape, init };
		return full;
	}
	if (shape_eq(a->shape, f->spec.shape)) return a;
	Diag *d = fail_diag(e, E0620, at, "initial value of `%s` has another shape", f->name);
	diag_label(e->ds, d, "%s against %s", shape_str(e->mem, a->shape), shape_str(e->mem, f->spec.shape));
	return NULL;
}

static HostArray *from_init(Elab *e, const Factory *f, const RtInit *init, const char *name)
{
	HostArray *a = NEW(e->mem, HostArray);
	name = intern_str(e->names, name);
	uintptr_t draw = (uintptr_t)map_get(&e->draws, name);    /* stored as count + 1, so that 0 is "never" */
	*a = (HostArray){ f->spec.dtype, f->spec.shape, *init };
	a->init.name = name;
	a->init.draw = (uint32_t)(draw ? draw - 1 : 0);
	map_set(e->mem, &e->draws, name, (void *)(draw ? draw + 1 : 2));
	return a;
}

/* the next sample: A33's generator, iterator or fixed data */
static Value next_sample(Elab *e, Factory *f, Span at)
{
	Args none = { 0 };
	none.at = at;
	uint32_t n = f->draws++;
	if (f->source.kind == V_FN) return n == 0 && f->kept.kind != V_UNSET ? f->kept : call_fn(e, f->source.u.fn, &none);
	if (f->source.kind != V_RANGE) return f->source;
	Value key = v_int(n);
	return eval_index(e, f->source, &key, 1, at);
}

HostArray *factory_sample(Elab *e, Factory *f, const char *name, Span at)
{
	Value v = next_sample(e, f, at);
	if (is_error(v)) return NULL;
	if (v.kind == V_INIT) return from_init(e, f, v.u.init, name);
	return fixed(e, f, v, at);
}

Tensor *factory_variable(Elab *e, Factory *f, const char *name, Span at)
{
	if (!building(e, at, "a variable is made")) return NULL;
	HostArray *data = factory_sample(e, f, name, at);
	Build b = e->b;
	b.g = b.ir->main;
	b.at = at;
	Tensor *t = data ? ir_variable(&b, data, name) : NULL;
	if (t) t->state = f->state;
	return t;
}

Tensor *factory_input(Elab *e, Factory *f, const char *name)
{
	return ir_input(&e->b, f->spec, name ? name : f->name, f->by_ref);
}

static int is_source(Value v)
{
	return is_number(v) || is_seq(v) || v.kind == V_ARRAY || v.kind == V_INIT || v.kind == V_FN || v.kind == V_RANGE;
}

/* A34: what is not said by a spec is learned from one sample, which the first instance then uses */
static int learn_spec(Elab *e, Factory *f, Span at)
{
	Value v = f->kept.kind != V_UNSET ? f->kept : f->source.kind == V_RANGE ? v_int(f->source.u.range->start) : f->source;
	if (v.kind == V_INIT) {
		fail(e, E0620, at, "the shape of `%s` is not known: give a spec, or the initialiser a shape", f->name);
		return 0;
	}
	HostArray *a = array_of(e, v, -1, 1, at);
	if (!a) return 0;
	f->spec.dtype = a->dtype;
	f->spec.shape = a->shape;
	return 1;
}

Factory *factory_new(Elab *e, const char *name, Spec spec, Value source, int by_ref, int has_spec, Span at)
{
	Factory *f = NEW(e->mem, Factory);
	*f = (Factory){ .name = intern_str(e->names, name), .spec = spec, .by_ref = by_ref, .source = source, .kept = v_unset() };
	if (!is_source(source)) {
		fail(e, E0620, at, "`%s` cannot start from %s", name, v_describe(e, source));
		return NULL;
	}
	if (source.kind == V_FN) {
		Args none = { 0 };
		none.at = at;
		f->kept = call_fn(e, source.u.fn, &none);
		if (is_error(f->kept)) return NULL;
		if (!is_source(f->kept) || f->kept.kind == V_FN || f->kept.kind == V_RANGE) {
			fail(e, E0620, at, "the function that starts `%s` gives %s", name, v_describe(e, f->kept));
			return NULL;
		}
	}
	return has_spec || learn_spec(e, f, at) ? f : NULL;
}

/* --- methods ---------------------------------------------------------------------------------------------------------------- */
#define F(c) ((c)->self.u.factory)

static Value get_name(Elab *e, Call *c)   { return v_cstr(e->mem, F(c)->name); }
static Value get_spec(Elab *e, Call *c)   { return v_spec(e->mem, F(c)->spec); }
static Value get_shape(Elab *e, Call *c)  { return v_shape(e->mem, F(c)->spec.shape); }
static Value get_dtype(Elab *e, Call *c)  { (void)e; return v_dtype(F(c)->spec.dtype); }
static Value get_by_ref(Elab *e, Call *c) { (void)e; return v_bool(F(c)->by_ref); }

static Value do_create_input(Elab *e, Call *c)
{
	const char *prefix = NULL;
	if (!building(e, c->at, "an input is made")) return v_error();
	if (is_given(c->arg[0]) && !want_str(e, c->arg[0], c->at, "`prefix`", &prefix)) return v_error();
	if (e->b.g == e->b.ir->main) return fail(e, E0421, c->at, "the main graph has no inputs: use `create_tensor`");
	return v_of(V_TENSOR, factory_input(e, F(c), prefix ? arena_printf(e->mem, "%s.%s", prefix, F(c)->name) : NULL));
}

static Value do_create_tensor(Elab *e, Call *c)
{
	const char *name = F(c)->name;
	if (is_given(c->arg[0]) && !want_str(e, c->arg[0], c->at, "`name`", &name)) return v_error();
	Tensor *t = factory_variable(e, F(c), name, c->at);
	return t ? v_of(V_TENSOR, t) : v_error();
}

/* a variable stored at one entry of a remote buffer (A40) */
Tensor *factory_remote(Elab *e, Factory *f, RemoteBuffer *b, int64_t entry, const char *name, Span at)
{
	Tensor *t = factory_variable(e, f, name, at);
	if (!t) return NULL;
	e->b.at = at;
	return ir_set_remote(&e->b, t, b, entry) ? t : NULL;
}

static Value do_create_remote(Elab *e, Call *c)
{
	const char *name = F(c)->name;
	int64_t entry = 0;
	if (!want_kind(e, c->arg[0], V_BUFFER, c->at, "`buffer` of `create_remote_tensor`")) return v_error();
	if (is_given(c->arg[1]) && !want_int(e, c->arg[1], c->at, "`entry`", &entry)) return v_error();
	if (is_given(c->arg[2]) && !want_str(e, c->arg[2], c->at, "`name`", &name)) return v_error();
	Tensor *t = factory_remote(e, F(c), c->arg[0].u.buffer, entry, name, c->at);
	return t ? v_of(V_TENSOR, t) : v_error();
}

const Builtin factory_methods[] = {
	{ "name", NULL, get_name }, { "spec", NULL, get_spec }, { "shape", NULL, get_shape }, { "dtype", NULL, get_dtype },
	{ "by_ref", NULL, get_by_ref }, { "create_input", "prefix?", do_create_input }, { "create_tensor", "name?", do_create_tensor },
	{ "create_remote_tensor", "buffer entry? name?", do_create_remote },
	{ NULL, NULL, NULL }
};

/* --- streams ------------------------------------------------------------------------------------------------------------------ */
/* h2d_stream(name, spec), and PopXL's (shape, dtype, name): what a value is says which of them it means. Slots: a name, a spec, a shape, a dtype */
enum { ST_NAME, ST_SPEC, ST_SHAPE, ST_DTYPE, ST_N };

static int stream_slot(Value v)
{
	return v.kind == V_STR ? ST_NAME : v.kind == V_DTYPE ? ST_DTYPE : is_seq(v) || v.kind == V_INT ? ST_SHAPE : ST_SPEC;
}

static int stream_arguments(Elab *e, Call *c, Value v[ST_N])
{
	static const char *const slots[ST_N] = { "name", "spec", "shape", "dtype" };
	memcpy(v, &c->arg[1], ST_N * sizeof *v);
	for (int i = 0; i < c->args->pos.n; i++) {
		int k = stream_slot(c->args->pos.at[i].v);
		if (is_given(v[k])) return fail(e, E0204, c->at, "the stream gets its %s twice", slots[k]), 0;
		v[k] = c->args->pos.at[i].v;
	}
	if (is_given(v[ST_SPEC]) && (is_given(v[ST_SHAPE]) || is_given(v[ST_DTYPE])))
		return fail(e, E0201, c->at, "a stream takes a spec, or a shape and a dtype"), 0;
	if (is_given(v[ST_SPEC]) || !is_given(v[ST_SHAPE])) return 1;
	DType t;
	if (!want_dtype(e, v[ST_DTYPE], c->at, "`dtype` of a stream", &t)) return 0;
	v[ST_SPEC] = eval_index(e, v_dtype(t), &v[ST_SHAPE], 1, c->at);
	return 1;
}

static Value stream(Elab *e, Call *c, int is_input)
{
	Value v[ST_N];
	const char *name = NULL;
	Spec s;
	if (!building(e, c->at, "a stream is made") || !stream_arguments(e, c, v)) return v_error();
	if (is_given(v[ST_NAME]) && !want_str(e, v[ST_NAME], c->at, "`name`", &name)) return v_error();
	if (!want_spec(e, v[ST_SPEC], c->at, "the spec of a stream", &s)) return v_error();
	if (name && !*name) return fail(e, E0114, c->at, "a stream's name must not be empty");
	Stream *st = ir_stream(&e->b, is_input, s, name);
	return st ? v_of(V_STREAM, st) : v_error();
}

static Value do_h2d(Elab *e, Call *c) { return stream(e, c, 1); }
static Value do_d2h(Elab *e, Call *c) { return stream(e, c, 0); }

const Builtin stream_builtins[] = {
	{ "h2d_stream", "*given name? spec? shape? dtype?", do_h2d }, { "d2h_stream", "*given name? spec? shape? dtype?", do_d2h }, { NULL, NULL, NULL }
};

#define S(c) ((c)->self.u.stream)
static Value st_name(Elab *e, Call *c)  { return v_cstr(e->mem, S(c)->name); }
static Value st_spec(Elab *e, Call *c)  { return v_spec(e->mem, S(c)->spec); }
static Value st_shape(Elab *e, Call *c) { return v_shape(e->mem, S(c)->spec.shape); }
static Value st_dtype(Elab *e, Call *c) { (void)e; return v_dtype(S(c)->spec.dtype); }

const Builtin stream_methods[] = {
	{ "name", NULL, st_name }, { "tensor_id", NULL, st_name }, { "spec", NULL, st_spec }, { "shape", NULL, st_shape }, { "dtype", NULL, st_dtype }, { NULL, NULL, NULL }
};
