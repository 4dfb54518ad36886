/* variable.c — variable(data, …) and constant(data, …): host data, or a recipe of it, becomes a tensor. */
#include "compiler/elab/eval.h"

#include <math.h>
#include <string.h>

/* what the arguments say; `dtype` may be a spec: then an initialiser needs no shape of its own */
typedef struct DataArgs {
	Value data;
	const char *name;
	Spec spec;
	int narrow, has_spec;
	int dtype;                           /* -1: as the data says */
	int64_t scale;                       /* float8: stored as x · 2^scale */
	int nan;                             /* float8: what is too large becomes NaN, not the largest number */
} DataArgs;

/* --- float8 (R89, R90) ------------------------------------------------------------------------------------------------------ */
static HostArray *float8_data(Elab *e, DataArgs *d, Span at)
{
	HostArray *a = array_of(e, d->data, -1, 0, at);
	if (!a || a->dtype == (DType)d->dtype) return a;
	if (!dtype_is_float(a->dtype)) {
		fail(e, E0622, at, "%s data does not become %s", dtype_info[a->dtype].name, dtype_info[d->dtype].name);
		return NULL;
	}
	return float8_encode(e, a, (DType)d->dtype, (int)d->scale, d->nan);
}

static int float8_options(Elab *e, Call *c, int first, DataArgs *d)
{
	int given = is_given(c->arg[first]) || is_given(c->arg[first + 1]), is_f8 = d->dtype >= 0 && dtype_is_f8((DType)d->dtype);
	d->nan = 1;
	if (is_given(c->arg[first]) && !want_int(e, c->arg[first], c->at, "`log2_scale`", &d->scale)) return 0;
	if (is_given(c->arg[first + 1]) && !want_bool(e, c->arg[first + 1], c->at, "`nan_on_overflow`", &d->nan)) return 0;
	if (given && !is_f8) fail(e, E0621, c->at, "`%s` is for float8 data", is_given(c->arg[first]) ? "log2_scale" : "nan_on_overflow");
	else if (d->scale < -127 || d->scale > 127) fail(e, E0114, c->at, "`log2_scale` must be from -127 to 127, not %lld", (long long)d->scale);
	else return 1;
	return 0;
}

/* --- data --------------------------------------------------------------------------------------------------------------------- */
static int is_recipe(Value v) { return v.kind == V_INIT || v.kind == V_FN || v.kind == V_RANGE; }

static int dtype_arg(Elab *e, Value v, Span at, DataArgs *d)
{
	DType t;
	d->dtype = -1;
	d->has_spec = v.kind == V_SPEC || v.kind == V_TENSOR;
	if (d->has_spec) {
		if (!want_spec(e, v, at, "`dtype`", &d->spec)) return 0;
		if (dtype_is_f8(d->spec.dtype)) d->dtype = (int)d->spec.dtype;
	} else if (is_given(v)) {
		if (!want_dtype(e, v, at, "`dtype`", &t)) return 0;
		d->dtype = (int)t;
	}
	return 1;
}

static int take_data(Elab *e, DataArgs *d, Span at)
{
	int f8 = d->dtype >= 0 && dtype_is_f8((DType)d->dtype);
	int numbers = d->data.kind == V_RANGE && !d->has_spec;         /* with no shape given it is a list of its numbers */
	if ((is_recipe(d->data) && !numbers) || (d->has_spec && !f8)) return 1;
	HostArray *a = f8 ? float8_data(e, d, at) : array_of(e, d->data, d->dtype, d->narrow, at);
	if (!a) return 0;
	d->data = v_of(V_ARRAY, a);
	if (!d->has_spec) d->spec = (Spec){ .dtype = a->dtype, .shape = a->shape };
	d->has_spec = 1;
	return 1;
}

/* data, dtype, name, downcast, and from `f8` on the options of float8 */
static int data_args(Elab *e, Call *c, int f8, DataArgs *d)
{
	*d = (DataArgs){ .data = c->arg[0], .narrow = 1 };
	if (is_given(c->arg[2]) && !want_str(e, c->arg[2], c->at, "`name`", &d->name)) return 0;
	if (is_given(c->arg[3]) && !want_bool(e, c->arg[3], c->at, "`downcast`", &d->narrow)) return 0;
	if (!dtype_arg(e, c->arg[1], c->at, d) || !float8_options(e, c, f8, d)) return 0;
	if (!is_recipe(d->data) || !d->scale) return 1;
	fail(e, E0114, c->at, "`log2_scale` is for data, not for an initialiser");
	return 0;
}

static HostArray *data_of(Elab *e, DataArgs *d, Span at)
{
	const char *name = d->name ? d->name : "t";
	if (!take_data(e, d, at)) return NULL;
	Factory *f = factory_new(e, name, d->spec, d->data, 0, d->has_spec, at);
	if (f && d->dtype >= 0) f->spec.dtype = (DType)d->dtype;
	return f ? factory_sample(e, f, name, at) : NULL;
}

/* --- variables --------------------------------------------------------------------------------------------------------------------- */
static int retrieval(Elab *e, Value v, Span at, RetrievalMode *out)
{
	const char *s;
	*out = ONE_PER_GROUP;
	if (!is_given(v)) return 1;
	if (!want_str(e, v, at, "`retrieval_mode`", &s)) return 0;
	if (!strcmp(s, "all_replicas")) *out = ALL_REPLICAS;
	else if (strcmp(s, "one_per_group")) {
		fail(e, E0114, at, "`retrieval_mode` is \"one_per_group\" or \"all_replicas\", not \"%s\"", s);
		return 0;
	}
	return 1;
}

static int grouping_arg(Elab *e, Value v, Span at, int *out)
{
	*out = 0;
	if (!is_given(v)) return 1;
	if (!want_kind(e, v, V_GROUPING, at, "`replica_grouping`")) return 0;
	*out = v.u.grouping->index;
	if (v.u.grouping->ir == e->b.ir) return 1;
	fail(e, E0114, at, "these groups of replicas belong to another program");
	return 0;
}

/* R130: one value per group, side by side along a leading dimension that the tensor does not have */
static int drop_groups(Elab *e, Tensor *t, int grouping, Span at)
{
	Shape *s = &t->spec.shape;
	int groups = e->b.ir->groupings.at[grouping]->count;
	t->grouping = grouping;
	if (groups == 1) return 1;
	if (s->rank == 0 || s->dim[0] != groups) {
		Diag *d = fail_diag(e, E0620, at, "%d groups of replicas need data whose first dimension is %d", groups, groups);
		diag_label(e->ds, d, "it has shape %s", shape_str(e->mem, *s));
		return 0;
	}
	memmove(s->dim, s->dim + 1, (size_t)--s->rank * sizeof *s->dim);
	return 1;
}

static Value do_variable(Elab *e, Call *c)
{
	DataArgs d;
	RetrievalMode mode;
	int grouping, state = 0;
	if (!building(e, c->at, "a variable is made") || !data_args(e, c, 6, &d)) return v_error();
	if (!grouping_arg(e, c->arg[4], c->at, &grouping) || !retrieval(e, c->arg[5], c->at, &mode)) return v_error();
	if (is_given(c->arg[8]) && !want_bool(e, c->arg[8], c->at, "`state`", &state)) return v_error();
	HostArray *data = data_of(e, &d, c->at);
	Tensor *t = data ? ir_variable(&e->b, data, d.name) : NULL;
	if (!t || !drop_groups(e, t, grouping, c->at)) return v_error();
	t->retrieval = mode;
	t->state = state;
	return v_of(V_TENSOR, t);
}

Value make_variable(Elab *e, const Value *arg, Span at)
{
	Value own[9];
	memcpy(own, arg, sizeof own);
	return do_variable(e, &(Call){ v_unset(), own, NULL, at });
}

static Value do_constant(Elab *e, Call *c)
{
	DataArgs d;
	if (!building(e, c->at, "a constant is made") || !data_args(e, c, 4, &d)) return v_error();
	if (d.data.kind == V_ARRAY && dtype_is_f8(d.data.u.array->dtype) && d.dtype < 0)
		return fail(e, E0622, c->at, "a constant of float8 data needs `dtype = %s`", dtype_info[d.data.u.array->dtype].name);
	HostArray *data = data_of(e, &d, c->at);
	return data ? v_of(V_TENSOR, ir_constant(&e->b, data, d.name)) : v_error();
}

const Builtin variable_builtins[] = {
	{ "variable", "data dtype? name? downcast? replica_grouping? retrieval_mode? log2_scale? nan_on_overflow? state?", do_variable },
	{ "constant", "data dtype? name? downcast? log2_scale? nan_on_overflow?", do_constant }, { NULL, NULL, NULL }
};
