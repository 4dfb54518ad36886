/* scatter_test.c — scatter, its reductions, and windows at computed places: values against plain loops, gradients against central
 * differences, what duplicates and indices out of range do. */
#include "tests/ops/case_run.h"

/* --- the reference: one walk over the elements that are moved -------------------------------------------------- */

static void coords(Shape s, int k, int *c)
{
	for (int i = s.rank - 1; i >= 0; i--) c[i] = (int)(k % s.dim[i]), k /= (int)s.dim[i];
}

static int flat(Shape s, const int *c)
{
	int k = 0;
	for (int i = 0; i < s.rank; i++) k = k * (int)s.dim[i] + c[i];
	return k;
}

static int named(const Op *op, const char *name) { return !strcmp(op_def(op)->name, name); }
static int64_t number(const Op *op, const char *name) { return op_param(op_def(op), name) < 0 ? 0 : op_attr(op, name)->i; }

/* the index that belongs to element c of the moved ones */
static int index_of(const Array *idx, const int *c, int rank, int axis, int groups)
{
	int at[MAX_RANK] = { 0 };
	if (idx->shape.rank == rank) {
		for (int i = 0; i < rank; i++) at[i] = idx->shape.dim[i] == 1 ? 0 : c[i];
	} else if (groups > 1) {
		at[0] = c[0];
		at[1] = c[axis];
	} else {
		at[0] = c[axis];
	}
	return (int)idx->v[flat(idx->shape, at)];
}

static void combine(char mode, int first, double *y, double x)
{
	if (mode == 'n' || (first && mode != 's')) *y = x;
	else if (mode == 's') *y += x;
	else if (mode == 'a') *y = fmax(*y, x);
	else *y = fmin(*y, x);
}

static void r_scatter(Prog *p, const Op *op, double *y)
{
	int sparse = named(op, "sparse_accumulate"), into = named(op, "scatter_into"), reduce = !sparse && !into && !named(op, "scatter");
	const Array *data = &p->in[reduce ? 0 : sparse ? 1 : 2], *idx = &p->in[sparse ? 2 : 1], *start = reduce ? p->nin > 2 ? &p->in[2] : NULL : &p->in[0];
	const char *word = reduce ? op_attr(op, "reduction")->s : into ? op_attr(op, "mode")->s : sparse ? "sum" : "none";
	char mode = *word == 'm' ? word[1] : *word;
	int axis = (int)number(op, "axis"), groups = (int)number(op, "group_size"), c[MAX_RANK], n = p->out[0].n;
	char *touched = NEWN(&p->t.mem, char, n + 1);
	double f = sparse && op_attr(op, "f")->set ? op_attr(op, "f")->f : 1;
	for (int k = 0; k < n; k++) y[k] = start ? start->v[k] : 0;
	for (int k = 0; k < data->n; k++) {
		coords(data->shape, k, c);
		int inside = 1;
		for (int i = 0; i < idx->shape.rank && reduce && idx->shape.rank == data->shape.rank; i++) inside &= c[i] < idx->shape.dim[i];
		if (!inside) continue;
		int at = index_of(idx, c, data->shape.rank, axis, groups);
		if (at >= p->out[0].shape.dim[axis]) continue;
		c[axis] = at;
		int to = flat(p->out[0].shape, c);
		combine(mode, !start && !touched[to], &y[to], f * data->v[k]);
		touched[to] = 1;
	}
}

static void r_gather(Prog *p, const Op *op, double *y)
{
	int axis = (int)number(op, "axis"), groups = (int)number(op, "group_size"), read = named(op, "read_at"), c[MAX_RANK], at[MAX_RANK], from[MAX_RANK];
	const Array *t = &p->in[0], *idx = &p->in[1];
	int lead = groups > 1, inner = read ? 1 : idx->shape.rank - lead;
	for (int k = 0; k < p->out[0].n; k++) {
		coords(p->out[0].shape, k, c);
		for (int i = 0; i < t->shape.rank; i++) from[i] = i < axis ? c[i] : i > axis ? c[i + inner - 1] : 0;
		for (int i = 0; i < idx->shape.rank; i++) at[i] = read ? idx->shape.dim[i] == 1 ? 0 : c[i] : i < lead ? c[0] : c[axis + i - lead];
		from[axis] = (int)idx->v[flat(idx->shape, at)];
		y[k] = from[axis] < t->shape.dim[axis] ? t->v[flat(t->shape, from)] : 0;
	}
}

static void r_window(Prog *p, const Op *op, double *y)
{
	const AttrVal *axes = op_attr(op, "axes");
	const Array *t = &p->in[0], *index = &p->in[1];
	int update = named(op, "dynamic_update"), c[MAX_RANK];
	Shape window = update ? p->in[2].shape : p->out[0].shape;
	for (int k = 0; update && k < t->n; k++) y[k] = t->v[k];
	for (int k = 0; k < (int)shape_nelems(window); k++) {
		coords(window, k, c);
		for (int i = 0; i < axes->ints.n; i++) c[axes->ints.at[i]] += (int)index->v[i];
		if (update) y[flat(t->shape, c)] = p->in[2].v[k];
		else y[k] = t->v[flat(t->shape, c)];
	}
}

static const OpCase cases[] = {
	{ "scatter", "f32[5, 4] i32[3, 4] f32[3, 4]", "", "f32[5, 4]" }, { "scatter", "f64[3, 4, 5] i64[2, 7, 3] f64[2, 7, 3]", "axis = 1", "f64[3, 4, 5]", 4 },
	{ "scatter", "i8[6] u32[9] i8[9]", "", "i8[6]" }, { "scatter", "bf16[2, 5] i32[2, 2] bf16[2, 2]", "axis = -1", "bf16[2, 5]" }, { "scatter", "bool[5, 1] i8[2, 1] bool[2, 1]", "", "bool[5, 1]" },
	{ "scatter_reduce", "f32[6, 3] i32[6, 3]", "reduction = sum, axis_size = 5", "f32[5, 3]" }, { "scatter_reduce", "f32[6, 3] i32[6]", "reduction = sum, axis_size = 7", "f32[7, 3]" },
	{ "scatter_reduce", "f64[2, 6, 3] u32[6]", "reduction = max, axis = 1, axis_size = 5", "f64[2, 5, 3]" }, { "scatter_reduce", "f64[2, 6, 3] u32[2, 6, 3]", "reduction = min, axis = -2, axis_size = 6", "f64[2, 6, 3]" },
	{ "scatter_reduce", "f32[6, 3] i32[6, 3] f32[5, 3]", "reduction = max", "f32[5, 3]" }, { "scatter_reduce", "f32[6, 3] i32[6, 3] f32[5, 3]", "reduction = sum", "f32[5, 3]" },
	{ "scatter_reduce", "f32[6, 3] i32[6] f32[5, 3]", "reduction = none", "f32[5, 3]" }, { "scatter_reduce", "f32[6, 3] i32[4, 2] f32[5, 3]", "reduction = sum, enable_index_broadcast = false", "f32[5, 3]" },
	{ "scatter_reduce", "f16[40, 2] i32[40]", "reduction = sum, axis_size = 5", "f16[5, 2]", .tol = 4e-3 }, { "scatter_reduce", "i32[9] i64[9]", "reduction = min, axis_size = 6", "i32[6]" },
	{ "scatter_reduce", "u8[9] i64[9]", "reduction = max, axis_size = 6", "u8[6]" }, { "scatter_reduce", "i64[4, 2] i32[4]", "reduction = max, axis_size = 6", "i64[6, 2]" },
	{ "grouped_scatter_reduce", "f32[3, 6, 2] i32[3, 6]", "reduction = sum, axis = 1, axis_size = 5, group_size = 3", "f32[3, 5, 2]" },
	{ "grouped_scatter_reduce", "f32[3, 6, 2] i32[3, 6, 2]", "reduction = max, axis = 1, axis_size = 5, group_size = 3", "f32[3, 5, 2]" },
	{ "grouped_scatter_reduce", "f32[6, 2] i32[6]", "reduction = sum, axis_size = 5", "f32[5, 2]" },
	/* the data may be shorter than the initial values on the other axes */
	{ "scatter_reduce", "f32[6, 2] i32[6, 2] f32[5, 4]", "reduction = sum", "f32[5, 4]" }, { "scatter_reduce", "f64[2, 6, 1] i32[2, 6, 1] f64[3, 5, 4]", "reduction = max, axis = 1", "f64[3, 5, 4]" },
	{ "scatter_reduce", "f16[6, 2] i32[6] f16[5, 3]", "reduction = min", "f16[5, 3]" }, { "scatter_reduce", "i32[3, 4] i32[3, 4] i32[7, 6]", "reduction = none, axis = -1", "i32[7, 6]" },
	{ "scatter_reduce", "f32[6, 9] i32[4, 2] f32[5, 3]", "reduction = sum, enable_index_broadcast = false", "f32[5, 3]" },
	{ "grouped_scatter_reduce", "f32[3, 6, 2] i32[3, 6] f32[3, 5, 4]", "reduction = sum, axis = 1, group_size = 3", "f32[3, 5, 4]" },
	{ "scatter_reduce", "f32[6, 5] i32[6, 5] f32[5, 4]", "reduction = sum", "E0311" }, { "scatter_reduce", "f32[6, 2] i32[6] f32[5]", "reduction = sum", "E0311" },
	{ "scatter_reduce", "f32[6, 9] i32[4, 4] f32[5, 3]", "reduction = sum, enable_index_broadcast = false", "E0311" },
	{ "grouped_scatter_reduce", "f32[3, 6, 2] i32[3, 6] f32[4, 5, 2]", "reduction = sum, axis = 1, group_size = 3", "E0311" },
	{ "groupedgather", "f32[3, 5, 2] i32[3, 4]", "axis = 1, group_size = 3", "f32[3, 4, 2]" }, { "groupedgather", "f32[2, 3, 5] u32[2, 2, 3]", "axis = 2, group_size = 2", "f32[2, 3, 2, 3]" },
	{ "groupedgather", "f32[5, 2] i32[2, 3]", "", "f32[2, 3, 2]" }, { "groupedgather", "f16[2, 5] i64[2, 4]", "axis = 1, group_size = 2, zero_OOR = true", "f16[2, 4]", 8 },
	{ "sparse_accumulate_", "f32[5, 3] f32[6, 3] i32[6]", "", "f32[5, 3]" }, { "sparse_accumulate_", "f32[2, 5, 3] f16[2, 4, 3] u32[4]", "axis = 1, f = 0.5", "f32[2, 5, 3]", .tol = 1e-3 },
	{ "sparse_accumulate_", "f16[5, 3] f32[6, 3] i32[6]", "f = 0.25", "f16[5, 3]" }, { "sparse_accumulate_", "i32[5] i32[9] i32[9]", "", "i32[5]" },
	{ "scatter_into", "f32[5, 3] i32[4, 1] f32[4, 3]", "axis = 0, mode = max", "f32[5, 3]" }, { "scatter_into", "f32[5, 3] i32[4, 3] f32[4, 3]", "axis = 0, mode = none, lenient = true", "f32[5, 3]", 9 },
	{ "read_at", "f32[5, 3] i32[4, 1]", "shape = [4, 3], axis = 0", "f32[4, 3]" }, { "read_at", "f32[5, 3] i32[5, 6]", "shape = [5, 6], axis = 1, lenient = true", "f32[5, 6]", 5 },
	{ "dynamic_slice", "f32[7, 6] i32[1]", "axes = 0, sizes = 3", "f32[3, 6]" }, { "dynamic_slice", "f64[7, 6, 5] u8[2]", "axes = [2, 0], sizes = [1, 3], no_overlap = true", "f64[3, 6, 1]" },
	{ "dynamic_slice", "i16[9] i64[1]", "axes = -1, sizes = 5", "i16[5]" }, { "dynamic_update", "f32[7, 6] u32[2] f32[3, 2]", "axes = [0, 1], sizes = [3, 2]", "f32[7, 6]" },
	{ "dynamic_update_", "f64[3, 7] u32[1] f64[3, 2]", "axes = 1, sizes = 2", "f64[3, 7]" }, { "dynamic_update", "bf16[7] i32[1] bf16[3]", "axes = 0, sizes = 3", "bf16[7]" },
	{ "scatter", "f32[4] i32[2] f32[3]", "", "E0311" }, { "scatter", "f32[4, 2] i32[3] f32[3]", "", "E0311" }, { "scatter", "f32[4, 2] i32[3, 3] f32[3, 3]", "", "E0311" },
	{ "scatter", "f32[4] i32[2] f16[2]", "", "E0303" }, { "scatter", "f32[4] f32[2] f32[2]", "", "E0304" }, { "scatter", "f32[4] i32[2] f32[2]", "axis = 1", "E0305" },
	{ "scatter_reduce", "f32[4] i32[4]", "reduction = sum", "E0310" }, { "scatter_reduce", "f32[4] i32[4]", "reduction = mul, axis_size = 3", "E0310" }, { "scatter_reduce", "f32[4, 2] i32[3]", "reduction = sum, axis_size = 3", "E0311" },
	{ "scatter_reduce", "f32[4, 2] i32[4] f32[3, 1]", "reduction = sum", "E0311" }, { "scatter_reduce", "f32[4] i32[4] f16[3]", "reduction = sum", "E0303" },
	{ "scatter_reduce", "f32[4, 2] i32[4, 1]", "reduction = sum, axis_size = 3", "E0311" }, { "grouped_scatter_reduce", "f32[4, 2] i32[4]", "reduction = sum, axis_size = 3, group_size = 4", "E0310" },
	{ "groupedgather", "f32[4, 2] i32[3, 2]", "axis = 1, group_size = 4", "E0310" }, { "sparse_accumulate_", "f32[4, 2] f32[4, 2] i32[3]", "", "E0311" }, { "sparse_accumulate_", "f32[4, 2] f32[4, 2] i32[2, 2]", "", "E0311" },
	{ "dynamic_slice", "f32[4] i32[1]", "axes = 0, sizes = 5", "E0310" }, { "dynamic_slice", "f32[4] i32[2]", "axes = 0, sizes = 1", "E0311" }, { "dynamic_slice", "f32[4] i32[1]", "axes = 0, sizes = [1, 2]", "E0310" },
	{ "dynamic_slice", "f32[4] f32[1]", "axes = 0, sizes = 1", "E0304" }, { "dynamic_slice", "f32[4, 4] i32[2]", "axes = [0, 0], sizes = [1, 1]", "E0306" }, { "dynamic_update", "f32[4] i32[1] f32[3]", "axes = 0, sizes = 2", "E0311" },
	{ "dynamic_update", "f32[4] i32[1] f16[2]", "axes = 0, sizes = 2", "E0303" },
};

static void expect(Prog *p, const Op *op, double *const *y)
{
	const char *name = op_def(op)->name;
	(strstr(name, "dynamic") ? r_window : strstr(name, "gather") || strstr(name, "read") ? r_gather : r_scatter)(p, op, y[0]);
}

/* --- gradients ------------------------------------------------------------------------------------------------------ */

static const GradCase grads[] = {
	{ "scatter", "f64[5, 4] i32[3, 4] f64[3, 4]", "", 5 }, { "scatter", "f64[3, 4] i32[2, 9] f64[2, 9]", "axis = 1", 5, 4 },
	{ "scatter_reduce", "f64[6, 3] i32[6, 3]", "reduction = sum, axis_size = 5" }, { "scatter_reduce", "f64[6, 3] i32[6] f64[5, 3]", "reduction = sum", 5 },
	{ "scatter_reduce", "f64[6, 3] i32[6] f64[5, 3]", "reduction = none", 5 }, { "scatter_reduce", "f64[6, 3] i32[4, 2] f64[5, 3]", "reduction = sum, enable_index_broadcast = false", 5 },
	{ "scatter_reduce", "f64[6, 3] i32[6, 3] f64[5, 3]", "reduction = max", 5 }, { "scatter_reduce", "f64[2, 6] i32[6]", "reduction = min, axis = 1, axis_size = 5" },
	{ "scatter_reduce", "f64[6, 2] i32[6] f64[5, 3]", "reduction = sum", 5 }, { "scatter_reduce", "f64[6, 2] i32[6, 2] f64[5, 3]", "reduction = max", 5 }, { "scatter_reduce", "f64[2, 6] i32[6] f64[3, 5]", "reduction = none, axis = 1", 5 },
	{ "grouped_scatter_reduce", "f64[3, 6, 2] i32[3, 6]", "reduction = max, axis = 1, axis_size = 5, group_size = 3" },
	{ "groupedgather", "f64[3, 5, 2] i32[3, 4]", "axis = 1, group_size = 3" }, { "groupedgather", "f64[2, 5] i64[2, 4]", "axis = 1, group_size = 2, zero_OOR = true", .top = 8 },
	{ "scatter_into", "f64[5, 3] i32[4, 1] f64[4, 3]", "axis = 0, mode = min", 5 }, { "scatter_into", "f64[5, 3] i32[4, 3] f64[4, 3]", "axis = 0, mode = none, lenient = true", 5, 9 },
	{ "scatter_into", "f64[5, 3] i32[4, 3] f64[4, 3]", "axis = 0, mode = sum, lenient = true", 5, 9 }, { "read_at", "f64[5, 3] i32[4, 3]", "shape = [4, 3], axis = 0, lenient = true", 1, 9 },
	{ "dynamic_slice", "f64[7, 6] u32[2]", "axes = [1, 0], sizes = [2, 3]", .top = 4 }, { "dynamic_update", "f64[7, 6] u32[2] f64[3, 2]", "axes = [0, 1], sizes = [3, 2]", 5, 4 },
};

/* --- corners ----------------------------------------------------------------------------------------------------------- */

#define N(...) (const double[]){ __VA_ARGS__ }

static int ran(const char *op, const char *operands, const char *attrs, const double *in, double *out, char *why)
{
	Prog p;
	int ok = prog_given(&p, op, operands, attrs, in);
	ok = ok && prog_run(&p);
	for (int k = 0; ok && k < p.out[0].n; k++) out[k] = p.out[0].v[k];
	strcpy(why, p.err.text);
	prog_close(&p);
	return ok;
}

static void corners(void)
{
	double y[64];
	char why[1024];
	/* the last of duplicates wins; untouched places of an extreme are 0, touched ones keep −inf; NaN is largest */
	CHECK("", ran("scatter", "f32[2] i32[3] f32[3]", "", N(1, 2, 1, 1, 1, 7, 8, 9), y, why) && y[0] == 1 && y[1] == 9);
	CHECK("", ran("scatter_reduce", "f32[3] i32[3]", "reduction = max, axis_size = 3", N(-INFINITY, -2, -3, 0, 2, 2), y, why) && y[0] == -INFINITY && y[1] == 0 && y[2] == -2);
	CHECK("", ran("scatter_reduce", "f32[4] i32[4]", "reduction = max, axis_size = 2", N(1, NAN, 2, 3, 0, 0, 1, 1), y, why) && y[0] != y[0] && y[1] == 3);
	CHECK("", ran("scatter_reduce", "f32[4] i32[4]", "reduction = min, axis_size = 2", N(1, NAN, NAN, NAN, 0, 0, 1, 1), y, why) && y[0] == 1 && y[1] != y[1]);
	CHECK("", ran("scatter_reduce", "i8[3] i32[3]", "reduction = sum, axis_size = 1", N(100, 100, 100, 0, 0, 0), y, why) && y[0] == 44);
	CHECK("", ran("scatter_reduce", "u64[2] i32[2]", "reduction = min, axis_size = 2", N(5, 4, 1, 1), y, why) && y[0] == 0 && y[1] == 4);
	/* out of range */
	CHECK("", !ran("scatter", "f32[2] i32[1] f32[1]", "", N(1, 2, 2, 7), y, why) && strstr(why, "scatter: index 2 is out of range for an axis of 2"));
	CHECK("", !ran("scatter", "f32[2] i32[1] f32[1]", "", N(1, 2, -1, 7), y, why) && strstr(why, "index -1"));
	CHECK("", !ran("scatter_reduce", "f32[1] i32[1]", "reduction = sum, axis_size = 2", N(1, 5), y, why) && strstr(why, "index 5"));
	CHECK("", !ran("groupedgather", "f32[2, 3] i32[2, 1]", "axis = 1, group_size = 2", N(1, 2, 3, 4, 5, 6, 0, 3), y, why) && strstr(why, "index 3"));
	CHECK("", !ran("sparse_accumulate_", "f32[2] f32[1] i32[1]", "", N(1, 2, 3, 2), y, why) && strstr(why, "index 2"));
	CHECK("", !ran("dynamic_slice", "f32[4] i32[1]", "axes = 0, sizes = 2", N(1, 2, 3, 4, 3), y, why) && strstr(why, "dynamic_slice: a window of 2 from 3 on does not lie in an axis of 4"));
	CHECK("", !ran("dynamic_update", "f32[4] i32[1] f32[2]", "axes = 0, sizes = 2", N(1, 2, 3, 4, -1, 8, 9), y, why) && strstr(why, "from -1 on"));
	/* ties of an extreme give each the whole gradient; only the winner of duplicates gets one */
	grad_exact("", &(const GradCase){ "scatter_reduce", "f64[3] i32[3]", "reduction = max, axis_size = 2" }, N(3, 3, 1, 0, 0, 0), N(1, 1, 0));
	grad_exact("", &(const GradCase){ "scatter_reduce", "f64[3] i32[3]", "reduction = none, axis_size = 2" }, N(3, 3, 1, 0, 0, 1), N(0, 1, 1));
}

int main(void)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (int level = 0; level <= 2; level += 2) CHECK("", case_run(&cases[i], level, expect));
	grad_cases("A113", grads, COUNT_OF(grads));
	corners();
	CHECK("A113", family_covered("scatter", cases, COUNT_OF(cases), grads, COUNT_OF(grads)));
	return check_done();
}
