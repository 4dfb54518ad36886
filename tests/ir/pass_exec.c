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

int main(void)
{
	for (int level = 0; level <= 2; level++) {
		test_add(level);
		test_variable(level);
		test_call(level);
		test_linear_grad(level);
	}
	return check_done();
}
