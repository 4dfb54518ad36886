/* programs run at every level: passes must not change what a program computes */
#include "compiler/transforms/autodiff.h"
#include "tests/ir/exec.h"

static void test_add(int level)
{
	World w;
	float a[4] = { 1, 2, 3, 4 }, b[4] = { 10, 20, 30, 40 }, y[4] = { 0 };

	world_begin(&w);
	Build m = ir_build(w.ir->main);
	Tensor *s = b_op2(&m, OP_add, load(&m, "a", spec(DT_F32, 1, 4, 0)), load(&m, "b", spec(DT_F32, 1, 4, 0)));
	store(&m, "y", b_op2(&m, OP_mul, s, b_scalar(&m, DT_F32, 2)));
	Ran r = run_ir(&w, level, (Feed[]){ { "a", a, 4 }, { "b", b, 4 }, { "y", y, 4 } }, 3, 1);
	CHECK("", r.ok && y[0] == 22 && y[3] == 88);
	CHECK("", r.ok && r.plan->frame_bytes >= r.plan->graph[0].lower_bound);
	world_end(&w);
}

/* a variable counts the runs; the value before and after the update are both seen */
static void test_variable(int level)
{
	World w;
	float old[2] = { 0 }, now[2] = { 0 };

	world_begin(&w);
	Build m = ir_build(w.ir->main);
	Tensor *v = var_of(&w, &m, "v", 2, (float[]){ 1, 5 });
	m.seq = SEQ_TRUE;
	Tensor *before = b_op1(&m, OP_identity, v);
	Tensor *in[2] = { v, b_scalar(&m, DT_F32, 1) };
	Tensor *after = ir_op_inplace(&m, OP_add, in, 2, NULL, NULL)->out.at[0];
	store(&m, "old", before);
	store(&m, "now", after);
	Ran r = run_ir(&w, level, (Feed[]){ { "old", old, 2 }, { "now", now, 2 } }, 2, 3);
	CHECK("R134 R140", r.ok && old[0] == 3 && now[0] == 4 && now[1] == 8);
	world_end(&w);
}

/* by value the caller's tensor stays; by reference it changes (R160, R161) */
static void test_call(int level)
{
	World w;
	float one[2] = { 0 }, two[2] = { 0 };

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Tensor *x = ir_input(&b, spec(DT_F32, 1, 2, 0), "x", 0);
	Tensor *in[2] = { x, b_scalar(&b, DT_F32, 1) };
	ir_op_inplace(&b, OP_add, in, 2, NULL, NULL);
	Tensor *v = var_of(&w, &m, "v", 2, (float[]){ 1, 5 });
	m.seq = SEQ_TRUE;
	ir_call(&m, OP_call, g, NULL, &v, 1, NULL);
	store(&m, "one", v);
	Op *site = ir_call(&m, OP_call, g, NULL, &v, 1, NULL);
	ir_mark_modified(&m, site, 0, 0);
	store(&m, "two", v);
	Ran r = run_ir(&w, level, (Feed[]){ { "one", one, 2 }, { "two", two, 2 } }, 2, 1);
	CHECK("R160", r.ok && one[0] == 1 && one[1] == 5);
	CHECK("R161", r.ok && two[0] == 2 && two[1] == 6);
	world_end(&w);
}

/* y = x @ w + b under autodiff with a seed of ones */
static void test_linear_grad(int level)
{
	World w;
	float x[4] = { 1, 2, 3, 4 }, wt[4] = { 5, 6, 7, 8 }, dx[4], dw[4], db[2];

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "Linear");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Spec s = spec(DT_F32, 2, 2, 2);
	Tensor *in[3] = { ir_input(&b, s, "x", 0), ir_input(&b, s, "w", 0), ir_input(&b, spec(DT_F32, 1, 2, 0), "b", 0) };
	ir_output(&b, b_op2(&b, OP_add, b_matmul(&b, in[0], in[1]), in[2]));
	g->written_outputs = 1;
	GradInfo *gi = autodiff(&m, g, &(AutodiffOptions){ 0 });
	Tensor *p[3] = { load(&m, "x", s), load(&m, "w", s), b_zeros(&m, spec(DT_F32, 1, 2, 0)) };
	Op *fwd = ir_call(&m, OP_call, g, NULL, p, 3, NULL);
	Map *d = gradinfo_inputs_dict(&m, gi, fwd);
	Tensor *gin[8] = { b_broadcast(&m, b_scalar(&m, DT_F32, 1), s.shape) };
	for (int i = 1; i < gi->ins.n; i++) gin[i] = map_get(d, gi->graph->inputs.at[i]);
	Op *bwd = ir_call(&m, OP_call, gi->graph, NULL, gin, gi->ins.n, NULL);
	store(&m, "dx", bwd->out.at[0]);
	store(&m, "dw", bwd->out.at[1]);
	store(&m, "db", bwd->out.at[2]);
	Ran r = run_ir(&w, level, (Feed[]){ { "x", x, 4 }, { "w", wt, 4 }, { "dx", dx, 4 }, { "dw", dw, 4 }, { "db", db, 2 } }, 5, 1);
	CHECK("R243 R233", r.ok && dw[0] == 4 && dw[1] == 4 && dw[2] == 6 && dw[3] == 6);
	CHECK("R243", r.ok && dx[0] == 11 && dx[1] == 15 && dx[2] == 11 && dx[3] == 15);
	CHECK("R243 R244", r.ok && db[0] == 2 && db[1] == 2);
	world_end(&w);
}

static Graph *scale_body(World *w)
{
	Graph *g = ir_graph(w->ir, "Body");
	Build b = ir_build(g);
	Tensor *x = ir_input(&b, spec(DT_F32, 1, 2, 0), "x", 0), *v = ir_input(&b, spec(DT_F32, 1, 2, 0), "v", 0);

	ir_output(&b, b_op2(&b, OP_mul, x, v));
	g->written_outputs = 1;
	return g;
}

/* run f's gradient with a seed of ones: inputs are the streams a, b, …; gradients go to da, db, … */
static Ran run_grad(World *w, Graph *f, int level, int first, Feed *feeds, int n)
{
	static const char *const in_name[] = { "p", "a", "b", "c", "d" }, *const out_name[] = { "dp", "da", "db", "dc", "dd" };
	Build m = ir_build(w->ir->main);
	GradInfo *gi = autodiff(&m, f, &(AutodiffOptions){ .required = f->inputs.at + first, .nrequired = f->inputs.n - first });
	Tensor *in[8], *gin[16];
	int shift = !first;

	if (!gi) return show_diags(w), (Ran){ 0 };
	for (int i = 0; i < f->inputs.n; i++) in[i] = load(&m, in_name[i + shift], f->inputs.at[i]->spec);
	Op *fwd = ir_call(&m, OP_call, f, NULL, in, f->inputs.n, NULL);
	Map *d = gradinfo_inputs_dict(&m, gi, fwd);
	gin[0] = b_broadcast(&m, b_scalar(&m, DT_F32, 1), f->outputs.at[0]->spec.shape);
	for (int i = 1; i < gi->ins.n; i++) gin[i] = map_get(d, gi->graph->inputs.at[i]);
	Op *bwd = ir_call(&m, OP_call, gi->graph, NULL, gin, gi->ins.n, NULL);
	for (int i = 0; i < bwd->out.n; i++) store(&m, out_name[i + 1], bwd->out.at[i]);
	return run_ir(w, level, feeds, n, 1);
}

/* y = x * v ** 3 by a repeat: dx = v ** 3, dv = 3 x v ** 2 */
static void test_repeat_grad(int level)
{
	World w;
	float x[2] = { 2, 3 }, v[2] = { 2, -1 }, dx[2] = { 0 }, dv[2] = { 0 };

	world_begin(&w);
	Graph *body = scale_body(&w), *f = ir_graph(w.ir, "F");
	Build b = ir_build(f);
	Tensor *in[2] = { ir_input(&b, spec(DT_F32, 1, 2, 0), "x", 0), ir_input(&b, spec(DT_F32, 1, 2, 0), "v", 0) };
	ir_output(&b, ir_call(&b, OP_repeat, body, NULL, in, 2, b_attrs(&b, OP_repeat, "repeat_count", attr_int(3), NULL))->out.at[0]);
	f->written_outputs = 1;
	Ran r = run_grad(&w, f, level, 0, (Feed[]){ { "a", x, 2 }, { "b", v, 2 }, { "da", dx, 2 }, { "db", dv, 2 } }, 4);
	CHECK("R239", r.ok && dx[0] == 8 && dx[1] == -1 && dv[0] == 24 && dv[1] == 9);
	world_end(&w);
}

/* the branch not taken gets zeros */
static void test_conditional_grad(int level, unsigned char taken)
{
	World w;
	float x[2] = { 2, 3 }, v[2] = { 4, 5 }, x2[2] = { 6, 7 }, v2[2] = { 8, 9 }, d[4][2];

	world_begin(&w);
	Graph *body = scale_body(&w), *f = ir_graph(w.ir, "F");
	Build b = ir_build(f);
	Tensor *in[5] = { ir_input(&b, spec(DT_BOOL, 0, 0, 0), "p", 0) };
	for (int i = 1; i < 5; i++) in[i] = ir_input(&b, spec(DT_F32, 1, 2, 0), "t", 0);
	ir_output(&b, ir_call(&b, OP_conditional, body, body, in, 5, NULL)->out.at[0]);
	f->written_outputs = 1;
	Ran r = run_grad(&w, f, level, 1, (Feed[]){ { "p", &taken, 1 }, { "a", x, 2 }, { "b", v, 2 }, { "c", x2, 2 }, { "d", v2, 2 },
		{ "da", d[0], 2 }, { "db", d[1], 2 }, { "dc", d[2], 2 }, { "dd", d[3], 2 } }, 9);
	CHECK("R195", r.ok && d[0][0] == (taken ? 4 : 0) && d[1][1] == (taken ? 3 : 0) && d[2][0] == (taken ? 0 : 8) && d[3][1] == (taken ? 0 : 7));
	world_end(&w);
}

/* a body that writes an input by value: every turn starts from the original (R179) */
static void test_repeat_by_value(int level)
{
	World w;
	float y[2] = { 0 }, kept[2] = { 0 };

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Tensor *x = ir_input(&b, spec(DT_F32, 1, 2, 0), "x", 0), *v = ir_input(&b, spec(DT_F32, 1, 2, 0), "v", 0);
	Tensor *more = ir_op_inplace(&b, OP_add, (Tensor *[]){ v, b_scalar(&b, DT_F32, 1) }, 2, NULL, NULL)->out.at[0];
	ir_output(&b, b_op2(&b, OP_add, x, more));
	g->written_outputs = 1;
	Tensor *in[2] = { var_of(&w, &m, "x", 2, (float[]){ 0, 1 }), var_of(&w, &m, "v", 2, (float[]){ 10, 20 }) };
	m.seq = SEQ_TRUE;
	Op *loop = ir_call(&m, OP_repeat, g, NULL, in, 2, b_attrs(&m, OP_repeat, "repeat_count", attr_int(3), NULL));
	store(&m, "y", loop->out.at[0]);
	store(&m, "kept", in[1]);
	Ran r = run_ir(&w, level, (Feed[]){ { "y", y, 2 }, { "kept", kept, 2 } }, 2, 1);
	CHECK("R179", r.ok && y[0] == 33 && y[1] == 64 && kept[0] == 10 && kept[1] == 20);
	world_end(&w);
}

/* an output that is the input is a copy in the caller (R166) */
static void test_output_is_input(int level)
{
	World w;
	float y[2] = { 0 }, v[2] = { 0 };

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	ir_output(&b, ir_input(&b, spec(DT_F32, 1, 2, 0), "x", 0));
	g->written_outputs = 1;
	Tensor *x = var_of(&w, &m, "v", 2, (float[]){ 1, 2 });
	m.seq = SEQ_TRUE;
	Tensor *copy = ir_call(&m, OP_call, g, NULL, &x, 1, NULL)->out.at[0];
	Tensor *more = ir_op_inplace(&m, OP_add, (Tensor *[]){ x, x }, 2, NULL, NULL)->out.at[0];
	store(&m, "y", copy);
	store(&m, "more", more);
	Ran r = run_ir(&w, level, (Feed[]){ { "y", y, 2 }, { "more", v, 2 } }, 2, 1);
	CHECK("R166", r.ok && y[0] == 1 && y[1] == 2 && v[0] == 2 && v[1] == 4);
	world_end(&w);
}

/* writing a transposed view of the tensor being read: w.T += w must read the old w */
static void test_write_through_view(int level)
{
	World w;
	float y[4] = { 0 }, init[4] = { 1, 2, 3, 4 };

	world_begin(&w);
	Build m = ir_build(w.ir->main);
	HostArray *h = host_new(&w.mem, DT_F32, (Shape){ .rank = 2, .dim = { 2, 2 } });
	memcpy(host_bytes(&w.mem, h, 0), init, sizeof init);
	Tensor *v = ir_variable(&m, h, "v");
	m.seq = SEQ_TRUE;
	Tensor *t = ir_op_inplace(&m, OP_transpose, &v, 1, NULL, NULL)->out.at[0];
	ir_op_inplace(&m, OP_add, (Tensor *[]){ t, v }, 2, NULL, NULL);
	store(&m, "y", v);
	Ran r = run_ir(&w, level, (Feed[]){ { "y", y, 4 } }, 1, 1);
	CHECK("R139", r.ok && y[0] == 2 && y[1] == 5 && y[2] == 5 && y[3] == 8);
	world_end(&w);
}

/* f16 rounds after every op, fused or not */
static void test_rounding(int level)
{
	World w;
	uint16_t a = f32_to_f16(1), b = f32_to_f16(0.0004f), y = 0;

	world_begin(&w);
	Build m = ir_build(w.ir->main);
	Tensor *x = load(&m, "a", spec(DT_F16, 0, 0, 0)), *e = load(&m, "b", spec(DT_F16, 0, 0, 0)), *s = x;
	for (int i = 0; i < 8; i++) s = b_op2(&m, OP_add, s, e);        /* each step is below half a unit in the last place */
	store(&m, "y", b_op2(&m, OP_sub, s, x));
	Ran r = run_ir(&w, level, (Feed[]){ { "a", &a, 1 }, { "b", &b, 1 }, { "y", &y, 1 } }, 3, 1);
	CHECK("", r.ok && y == 0);
	world_end(&w);
}

/* a diamond of two shapes: groups must not form a cycle */
static void test_no_cycle(int level)
{
	World w;
	float a[2] = { 1, 2 }, y[2] = { 0 };

	world_begin(&w);
	Build m = ir_build(w.ir->main);
	Tensor *x = load(&m, "a", spec(DT_F32, 1, 2, 0)), *p = b_op1(&m, OP_exp, x);
	Tensor *q = b_op2(&m, OP_mul, p, b_sum(&m, p, 1, 0)), *z = b_op2(&m, OP_sub, b_op2(&m, OP_add, p, q), q);
	store(&m, "y", z);
	Ran r = run_ir(&w, level, (Feed[]){ { "a", a, 2 }, { "y", y, 2 } }, 2, 1);
	CHECK("", r.ok && fabsf(y[0] - expf(1)) < 1e-5f && fabsf(y[1] - expf(2)) < 1e-5f);
	int fused = 0;
	for (int i = 0; r.ok && i < r.ir->main->ops.n; i++) fused += r.ir->main->ops.at[i]->code == OP_fused;
	CHECK("", fused == (level < 2 ? 4 : 2));
	world_end(&w);
}

int main(void)
{
	for (int level = 0; level <= 2; level++) {
		test_add(level);
		test_variable(level);
		test_call(level);
		test_linear_grad(level);
		test_repeat_grad(level);
		test_conditional_grad(level, 1);
		test_conditional_grad(level, 0);
		test_repeat_by_value(level);
		test_output_is_input(level);
		test_write_through_view(level);
		test_rounding(level);
		test_no_cycle(level);
	}
	return check_done();
}
