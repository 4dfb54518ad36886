/* host.c — making host arrays (zeros, ones, full, arange, normal, uniform, truncated_normal, array) and their methods.
 *
 * Without a shape, the same functions give an initialiser: a recipe whose shape, dtype and stream of random
 * numbers come from the variable that it starts. */
#include "compiler/elab/eval.h"

#include <math.h>
#include <string.h>

static Value recipe(Elab *e, Call *c, RtInit init, Value shape, Value dtype)
{
	DType t = DT_F32;
	Shape s;
	if (is_given(dtype) && !want_dtype(e, dtype, c->at, "`dtype`", &t)) return v_error();
	if (shape.kind == V_UNSET || shape.kind == V_NONE) return v_of(V_INIT, arena_dup(e->mem, &init, sizeof init));
	if (!want_shape(e, shape, c->at, "`shape`", &s) || !shape_fits(e, t, s, c->at)) return v_error();
	HostArray *a = NEW(e->mem, HostArray);
	init.name = "host";
	if (init.kind != INIT_ZEROS && init.kind != INIT_FULL && init.kind != INIT_ARANGE) init.draw = e->arrays++;
	*a = (HostArray){ t, s, init };
	return v_of(V_ARRAY, a);
}

static int number(Elab *e, Call *c, int i, const char *what, double absent, double *out)
{
	*out = absent;
	return !is_given(c->arg[i]) || want_float(e, c->arg[i], c->at, what, out);
}

static Value do_zeros(Elab *e, Call *c) { return recipe(e, c, (RtInit){ .kind = INIT_ZEROS }, c->arg[0], c->arg[1]); }
static Value do_ones(Elab *e, Call *c)  { return recipe(e, c, (RtInit){ .kind = INIT_FULL, .a = 1 }, c->arg[0], c->arg[1]); }

static Value do_full(Elab *e, Call *c)
{
	Value x = c->arg[0], shape = c->arg[1];
	if (is_seq(x) && is_number(shape)) {             /* full(shape, value), as in NumPy */
		x = c->arg[1];
		shape = c->arg[0];
	}
	RtInit init = { .kind = INIT_FULL };
	if (!want_float(e, x, c->at, "the value of `full`", &init.a)) return v_error();
	return recipe(e, c, init, shape, c->arg[2]);
}

static Value random_array(Elab *e, Call *c, RtInitKind kind, double a, double b)
{
	RtInit init = { .kind = kind };
	if (!number(e, c, 0, "the first parameter of the distribution", a, &init.a)) return v_error();
	if (!number(e, c, 1, "the second parameter of the distribution", b, &init.b)) return v_error();
	if (kind != INIT_UNIFORM && init.b < 0) return fail(e, E0114, c->at, "a deviation must not be negative");
	return recipe(e, c, init, c->arg[2], c->arg[3]);
}

static Value do_normal(Elab *e, Call *c)    { return random_array(e, c, INIT_NORMAL, 0, 1); }
static Value do_truncated(Elab *e, Call *c) { return random_array(e, c, INIT_TRUNCATED, 0, 1); }
static Value do_uniform(Elab *e, Call *c)   { return random_array(e, c, INIT_UNIFORM, 0, 1); }

static Value do_arange(Elab *e, Call *c)
{
	double lo, hi, by;
	if (!number(e, c, 0, "`arange`", 0, &lo) || !number(e, c, 1, "the stop of `arange`", 0, &hi) || !number(e, c, 2, "the step of `arange`", 1, &by)) return v_error();
	int ints = c->arg[0].kind == V_INT && (c->arg[1].kind != V_FLOAT) && c->arg[2].kind != V_FLOAT;
	if (!is_given(c->arg[1])) { hi = lo; lo = 0; }
	if (by == 0) return fail(e, E0114, c->at, "the step of `arange` must not be zero");
	double n = ceil((hi - lo) / by);
	if (!(n > 0)) n = 0;
	if (n > 1e9) return fail(e, E0804, c->at, "`arange` of %.0f numbers", n);
	Value shape = v_int((int64_t)n), t = is_given(c->arg[3]) ? c->arg[3] : v_dtype(ints ? DT_I32 : DT_F32);
	return recipe(e, c, (RtInit){ .kind = INIT_ARANGE, .a = lo, .b = by }, shape, t);
}

static Value do_array(Elab *e, Call *c)
{
	DType t = DT_F32;
	if (is_given(c->arg[1]) && !want_dtype(e, c->arg[1], c->at, "`dtype`", &t)) return v_error();
	HostArray *a = array_of(e, c->arg[0], is_given(c->arg[1]) ? (int)t : -1, 1, c->at);
	return a ? v_of(V_ARRAY, a) : v_error();
}

/* Arrays never change, so one may stand for its copy (R454). */
static Value do_to_numpy(Elab *e, Call *c)
{
	DType t = DT_F32;
	int downcast = 1, copy = 1;
	if (is_given(c->arg[1]) && !want_dtype(e, c->arg[1], c->at, "`dtype`", &t)) return v_error();
	if (is_given(c->arg[2]) && !want_bool(e, c->arg[2], c->at, "`downcast`", &downcast)) return v_error();
	if (is_given(c->arg[3]) && !want_bool(e, c->arg[3], c->at, "`copy`", &copy)) return v_error();
	HostArray *a = array_of(e, c->arg[0], is_given(c->arg[1]) ? (int)t : -1, downcast, c->at);
	return a ? v_of(V_ARRAY, a) : v_error();
}

static Value do_as_dtype(Elab *e, Call *c);

const Builtin host_builtins[] = {
	{ "zeros", "shape? dtype?", do_zeros }, { "ones", "shape? dtype?", do_ones }, { "full", "value shape? dtype?", do_full },
	{ "arange", "start stop? step? dtype?", do_arange }, { "normal", "mean? deviation? shape? dtype?", do_normal },
	{ "truncated_normal", "mean? deviation? shape? dtype?", do_truncated }, { "uniform", "low? high? shape? dtype?", do_uniform },
	{ "array", "values dtype?", do_array }, { "to_numpy", "x dtype? downcast? copy?", do_to_numpy }, { "as_dtype", "x", do_as_dtype }, { NULL, NULL, NULL }
};

/* --- methods of arrays -------------------------------------------------------------------------------------------------- */
static Value get_shape(Elab *e, Call *c) { return v_shape(e->mem, c->self.u.array->shape); }
static Value get_dtype(Elab *e, Call *c) { (void)e; return v_dtype(c->self.u.array->dtype); }
static Value get_rank(Elab *e, Call *c)  { (void)e; return v_int(c->self.u.array->shape.rank); }
static Value get_nelms(Elab *e, Call *c) { (void)e; return v_int(shape_nelems(c->self.u.array->shape)); }
static Value get_spec(Elab *e, Call *c)  { return v_spec(e->mem, (Spec){ .dtype = c->self.u.array->dtype, .shape = c->self.u.array->shape }); }

static Value do_reshape(Elab *e, Call *c)
{
	HostArray *a = c->self.u.array;
	int64_t *dims, known = 1, total = shape_nelems(a->shape);
	int n, hole = -1;
	if (!want_ints(e, c->arg[0], c->at, "`shape`", &dims, &n)) return v_error();
	if (n > MAX_RANK) return fail(e, E0804, c->at, "a shape of %d dimensions, more than %d", n, MAX_RANK);
	for (int i = 0; i < n; i++) {
		if (dims[i] == -1 && hole < 0) hole = i;
		else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known)) return fail(e, E0114, c->at, "bad dimension %lld", (long long)dims[i]);
	}
	if (hole >= 0) dims[hole] = known ? total / known : 0;
	Shape s = { .rank = n };
	for (int i = 0; i < n; i++) s.dim[i] = dims[i];
	if (shape_nelems(s) != total)
		return fail(e, E0114, c->at, "an array of shape %s has no shape %s", shape_str(e->mem, a->shape), shape_str(e->mem, s));
	HostArray *b = arena_dup(e->mem, a, sizeof *a);
	b->shape = s;
	return v_of(V_ARRAY, b);
}

static Value do_astype(Elab *e, Call *c)
{
	DType t;
	if (!want_dtype(e, c->arg[0], c->at, "`dtype`", &t)) return v_error();
	HostArray *a = array_cast(e, c->self.u.array, t);
	return a ? v_of(V_ARRAY, a) : v_error();
}

static Value get_T(Elab *e, Call *c)        { return array_transpose(e, c->self.u.array, v_unset(), c->at); }
static Value do_transpose(Elab *e, Call *c) { return array_transpose(e, c->self.u.array, c->arg[0], c->at); }
static Value do_split(Elab *e, Call *c)     { return array_split(e, c->self.u.array, c->arg[0], c->arg[1], c->at); }

static Value do_tolist(Elab *e, Call *c)
{
	HostArray *a = c->self.u.array;
	Value none = v_unset(), out = v_list(e->mem);
	if (a->shape.rank == 0) return array_index(e, a, &none, 0, c->at);
	for (int64_t i = 0; i < a->shape.dim[0]; i++) {
		Value key = v_int(i), v = array_index(e, a, &key, 1, c->at);
		if (v.kind == V_ARRAY) v = do_tolist(e, &(Call){ v, NULL, NULL, c->at });
		if (is_error(v) || !step(e, c->at)) return v_error();
		list_push(e->mem, out.u.list, v);
	}
	return out;
}

/* --- reductions: over everything, or along one axis ------------------------------------------------------------------------- */
typedef enum Fold { FOLD_SUM, FOLD_MEAN, FOLD_MIN, FOLD_MAX, FOLD_ARGMAX, FOLD_ARGMIN } Fold;

static double fold(Fold f, DType t, const void *p, int64_t at, int64_t n, int64_t stride)
{
	double best = 0, sum = 0;
	int64_t where = 0;
	for (int64_t i = 0; i < n; i++) {
		double x = rt_get(t, p, (size_t)(at + i * stride));
		sum += x;
		int better = i == 0 || (f == FOLD_MIN || f == FOLD_ARGMIN ? x < best : x > best);
		if (better) { best = x; where = i; }
	}
	switch (f) {
	case FOLD_SUM:  return sum;
	case FOLD_MEAN: return sum / (double)n;
	case FOLD_MIN: case FOLD_MAX: return best;
	default:        return (double)where;
	}
}

/* the sum of nothing is 0, its mean NaN */
static int needs_element(Fold f) { return f != FOLD_SUM && f != FOLD_MEAN; }

static DType fold_dtype(Fold f, DType t)
{
	if (f == FOLD_ARGMAX || f == FOLD_ARGMIN) return DT_I32;
	if (f == FOLD_MEAN && !dtype_is_float(t)) return DT_F32;
	return t == DT_BOOL && f == FOLD_SUM ? DT_I32 : t;
}

static Value reduced(Elab *e, Call *c, Fold f)
{
	HostArray *a = c->self.u.array;
	const void *p = array_bytes(e, c->self.u.array, c->at);
	int64_t axis = 0, n = shape_nelems(a->shape), inner = 1;
	if (!p) return v_error();
	DType t = fold_dtype(f, a->dtype);
	if (!is_given(c->arg[0])) {
		if (!n && needs_element(f)) return fail(e, E0114, c->at, "an empty array has no such value");
		double x = fold(f, a->dtype, p, 0, n, 1);
		return dtype_is_float(t) ? v_float(x) : v_int((int64_t)x);
	}
	if (!want_int(e, c->arg[0], c->at, "`axis`", &axis)) return v_error();
	if (axis < 0) axis += a->shape.rank;
	if (axis < 0 || axis >= a->shape.rank) return fail(e, E0104, c->at, "axis %s of an array of %d dimensions", v_text(e, c->arg[0]), a->shape.rank);
	Shape s = { 0 };
	for (int k = 0; k < a->shape.rank; k++)
		if (k != axis) s.dim[s.rank++] = a->shape.dim[k];
	for (int k = (int)axis + 1; k < a->shape.rank; k++) inner *= a->shape.dim[k];
	int64_t len = a->shape.dim[axis];
	if (!len && needs_element(f)) return fail(e, E0114, c->at, "an empty axis has no such value");
	HostArray *r = host_new(e->mem, t, s);
	for (int64_t i = 0, m = shape_nelems(s); i < m; i++)
		rt_set(t, host_bytes(e->mem, r, e->o.seed), (size_t)i, fold(f, a->dtype, p, i / inner * inner * len + i % inner, len, inner));
	return v_of(V_ARRAY, r);
}

static Value do_sum(Elab *e, Call *c)    { return reduced(e, c, FOLD_SUM); }
static Value do_mean(Elab *e, Call *c)   { return reduced(e, c, FOLD_MEAN); }
static Value do_min(Elab *e, Call *c)    { return reduced(e, c, FOLD_MIN); }
static Value do_max(Elab *e, Call *c)    { return reduced(e, c, FOLD_MAX); }
static Value do_argmax(Elab *e, Call *c) { return reduced(e, c, FOLD_ARGMAX); }
static Value do_argmin(Elab *e, Call *c) { return reduced(e, c, FOLD_ARGMIN); }

const Builtin array_methods[] = {
	{ "shape", NULL, get_shape }, { "dtype", NULL, get_dtype }, { "rank", NULL, get_rank }, { "nelms", NULL, get_nelms },
	{ "spec", NULL, get_spec }, { "T", NULL, get_T }, { "transpose", "permutation?", do_transpose }, { "split", "parts axis?", do_split }, { "reshape", "shape", do_reshape },
	{ "astype", "dtype", do_astype }, { "cast", "dtype", do_astype }, { "tolist", "", do_tolist }, { "sum", "axis?", do_sum },
	{ "mean", "axis?", do_mean }, { "min", "axis?", do_min }, { "max", "axis?", do_max }, { "argmax", "axis?", do_argmax },
	{ "argmin", "axis?", do_argmin }, { NULL, NULL, NULL }
};

/* --- dtypes and specs ---------------------------------------------------------------------------------------------------------- */
static Value dt_name(Elab *e, Call *c)     { return v_cstr(e->mem, dtype_info[c->self.u.dtype].name); }
static Value dt_size(Elab *e, Call *c)     { (void)e; return v_int(dtype_info[c->self.u.dtype].size); }
static Value dt_floating(Elab *e, Call *c) { (void)e; return v_bool(dtype_is_float(c->self.u.dtype) || dtype_is_f8(c->self.u.dtype)); }
static Value dt_int(Elab *e, Call *c)      { (void)e; return v_bool(dtype_is_int(c->self.u.dtype)); }
static Value dt_signed(Elab *e, Call *c)
{
	(void)e;
	char cls = dtype_info[c->self.u.dtype].cls;
	return v_bool(cls == 'i' || cls == 'f' || cls == '8');
}

static Value dt_complex(Elab *e, Call *c) { (void)e, (void)c; return v_bool(0); }       /* complex dtypes are refused (R84) */

/* a dtype, its name here or in PopXL, int, float, an array's (R82) */
static Value do_as_dtype(Elab *e, Call *c)
{
	DType t;
	Value v = c->arg[0];
	if (v.kind == V_ARRAY) return v_dtype(v.u.array->dtype);
	return want_dtype(e, v, c->at, "the argument of `as_dtype`", &t) ? v_dtype(t) : v_error();
}

const Builtin dtype_methods[] = {
	{ "name", NULL, dt_name }, { "size", NULL, dt_size }, { "is_floating_point", NULL, dt_floating }, { "is_int", NULL, dt_int },
	{ "is_signed", NULL, dt_signed }, { "is_complex", NULL, dt_complex }, { NULL, NULL, NULL }
};

static Value spec_shape(Elab *e, Call *c) { return v_shape(e->mem, c->self.u.spec->shape); }
static Value spec_dtype(Elab *e, Call *c) { (void)e; return v_dtype(c->self.u.spec->dtype); }
static Value spec_rank(Elab *e, Call *c)  { (void)e; return v_int(c->self.u.spec->shape.rank); }
static Value spec_nelms(Elab *e, Call *c) { (void)e; return v_int(shape_nelems(c->self.u.spec->shape)); }
static Value spec_meta(Elab *e, Call *c)  { return v_shape(e->mem, c->self.u.spec->has_meta ? c->self.u.spec->meta : (Shape){ 0 }); }

/* a spec is a map of three keys as well (R109) */
Value spec_dict(Elab *e, const Spec *s)
{
	static const char *const names[] = { "shape", "dtype", "meta_shape" };
	Value d = v_dict(e->mem), values[] = { v_shape(e->mem, s->shape), v_dtype(s->dtype), v_shape(e->mem, s->has_meta ? s->meta : (Shape){ 0 }) };
	for (int i = 0; i < 3; i++) {
		Value k = v_cstr(e->mem, names[i]);
		dict_set(e->mem, d.u.dict, dict_key(e->names, k), k, values[i]);
	}
	return d;
}

static Value through_dict(Elab *e, Call *c, const char *method)
{
	return call_value(e, get_field(e, spec_dict(e, c->self.u.spec), intern_str(e->names, method), c->at), &(Args){ .at = c->at });
}

static Value spec_keys(Elab *e, Call *c)   { return through_dict(e, c, "keys"); }
static Value spec_values(Elab *e, Call *c) { return through_dict(e, c, "values"); }
static Value spec_items(Elab *e, Call *c)  { return through_dict(e, c, "items"); }

const Builtin spec_methods[] = {
	{ "shape", NULL, spec_shape }, { "dtype", NULL, spec_dtype }, { "rank", NULL, spec_rank }, { "nelms", NULL, spec_nelms },
	{ "meta_shape", NULL, spec_meta }, { "keys", "", spec_keys }, { "values", "", spec_values }, { "items", "", spec_items }, { NULL, NULL, NULL }
};
