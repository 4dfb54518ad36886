/* names_test.c — ids and names of graphs, ops and tensors (semantics.md 1.1–1.6, 2.5). */
#include "tests/ir/ir_test.h"

static void graphs(void)
{
	Bench t;
	bench_open(&t);
	CHECK("R1", t.ir->graphs.n == 1 && t.ir->graphs.at[0] == t.ir->main);
	CHECK("R5", t.ir->replicas == 1 && t.ir->transfers == 1 && t.ir->local_replicas == 1);
	Graph *a = ir_graph(t.ir, "Linear"), *b = ir_graph(t.ir, "Linear"), *n = ir_graph(t.ir, "Net");
	CHECK_STR("R44", a->id, "Linear_subgraph(0)");
	CHECK_STR("R44", b->id, "Linear_subgraph(1)");
	CHECK_STR("R44", n->id, "Net_subgraph(2)");
	CHECK_STR("R44", t.ir->main->id, "");
	CHECK_STR("R45", ir_graph_with_id(t.ir, "Net_subgraph(2)_bwd")->id, "Net_subgraph(2)_bwd");
	CHECK_STR("R45", ir_graph_with_id(t.ir, "Net_subgraph(2)_bwd")->id, "Net_subgraph(2)_bwd_0");
	CHECK_STR("R42", graph_repr(&t.mem, a), "Graph[id=Linear_subgraph(0) name=Linear_subgraph(0)]");
	CHECK_STR("R42", graph_repr(&t.mem, t.ir->main), "Graph[id= name=]");
	bench_close(&t);
}

static void clashes(void)
{
	Bench t;
	bench_open(&t);
	CHECK_STR("R48", var_f32(&t, "bias", 1, 32, 0)->name, "bias");
	CHECK_STR("R48", var_f32(&t, "weight", 2, 4, 32)->name, "weight");
	CHECK_STR("R48", var_f32(&t, "bias", 1, 32, 0)->name, "bias__t0");
	CHECK_STR("R48", var_f32(&t, "weight", 2, 4, 32)->name, "weight__t1");
	CHECK_STR("R49", ir_constant(&t.b, host_scalar(&t.mem, DT_F32, 1), "bias")->name, "bias__t2");
	Build g = ir_build(ir_graph(t.ir, "g"));
	Tensor *in = ir_input(&g, spec_f32(1, 4, 0), "bias", 0);
	CHECK_STR("R49", in->name, "bias");
	CHECK_STR("R46", tensor_id(&t.mem, in), "g_subgraph(0)/bias");
	CHECK("R40", graph_find(g.g, "g_subgraph(0)/bias") == in && !graph_find(g.g, "bias") && !graph_find(g.g, "g_subgraph(0)/x"));
	CHECK_STR("R47", ir_input(&g, spec_f32(1, 4, 0), NULL, 0)->name, "t");
	CHECK_STR("R47", ir_constant(&t.b, host_scalar(&t.mem, DT_F32, 1), NULL)->name, "t");
	g.scope = "foo/bar";
	CHECK_STR("R54 R46", ir_input(&g, spec_f32(1, 4, 0), "x", 0)->name, "foo/bar/x");
	CHECK_STR("R54", op1(&g, OP_exp, in)->name, "foo/bar/exp_out");
	CHECK_STR("R53 R33", ir_stream(&g, 1, spec_f32(1, 4, 0), NULL)->name, "h2d_stream");
	CHECK_STR("R53", ir_stream(&t.b, 1, spec_f32(1, 4, 0), NULL)->name, "h2d_stream__t3");
	CHECK_STR("R53", ir_stream(&t.b, 0, spec_f32(1, 4, 0), NULL)->name, "d2h_stream");
	CHECK("R33", map_has(&t.ir->main->names, intern_str(&t.names, "h2d_stream")));
	CHECK("", verified(&t));
	bench_close(&t);
}

static void results(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 2, 2, 3);
	CHECK_STR("R52", op1(&t.b, OP_transpose, x)->name, "x_T");
	CHECK_STR("R52", ir_op(&t.b, OP_reshape, &x, 1, b_attrs(&t.b, OP_reshape, "shape", attr_ints(&t.mem, (int64_t[]){ 6 }, 1), NULL), NULL)->out.at[0]->name, "x_reshaped");
	CHECK_STR("R52", b_cast(&t.b, x, DT_F16)->name, "x_float16");
	CHECK_STR("R52", op2(&t.b, OP_add, x, x)->name, "add_out");
	CHECK_STR("R52 R48", op2(&t.b, OP_add, x, x)->name, "add_out__t0");
	Stream *s = ir_stream(&t.b, 1, spec_f32(1, 4, 0), "image");
	Op *load = ir_op(&t.b, OP_host_load, NULL, 0, b_attrs(&t.b, OP_host_load, "h2d_stream", attr_ptr(s), NULL), NULL);
	CHECK_STR("R51", load->out.at[0]->name, "image_hostload");
	load = ir_op(&t.b, OP_host_load, NULL, 0, b_attrs(&t.b, OP_host_load, "h2d_stream", attr_ptr(s), NULL), "pixels");
	CHECK_STR("R51", load->out.at[0]->name, "pixels_hostload");
	CHECK_STR("R42", tensor_repr(&t.mem, x), "Variable[x popxl.dtypes.float32 (2, 3)]");
	CHECK("R75", t.ir->main->tensors.at[0]->kind == T_VARIABLE && load->out.at[0]->kind == T_TENSOR);
	CHECK("", verified(&t));
	bench_close(&t);
}

static void ids(void)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "g"));
	Tensor *x = var_f32(&t, "x", 1, 4, 0), *in = ir_input(&g, x->spec, "x", 0);
	int first = op1(&t.b, OP_exp, x)->def->id;
	ir_output(&g, op1(&g, OP_exp, in));
	Op *call = ir_call(&t.b, OP_call, g.g, NULL, &x, 1, NULL);
	CHECK("R55 A86", first == 100 && g.g->ops.at[0]->id == 101 && call->id == 102);
	CHECK_STR("R50", call->out.at[0]->name, "exp_out__t0");
	Op *rep = ir_call(&t.b, OP_repeat, g.g, NULL, &x, 1, b_attrs(&t.b, OP_repeat, "repeat_count", attr_int(2), NULL));
	CHECK_STR("R50", rep->out.at[0]->name, "exp_out__t1");
	CHECK_STR("R45", rep->loop, "g_subgraph(0)__loop_wrapper_subgraph(1)");
	Build h = ir_build(ir_graph(t.ir, "h"));
	ir_output(&h, op1(&h, OP_relu, ir_input(&h, x->spec, "y", 0)));
	Tensor *cond = ir_constant(&t.b, host_scalar(&t.mem, DT_BOOL, 1), "c");
	Op *either = ir_call(&t.b, OP_conditional, g.g, h.g, (Tensor *[]){ cond, x, x }, 3, NULL);
	CHECK_STR("R50", either->out.at[0]->name, "exp_out_or_relu_out");
	CHECK("R155 R189", either->in.n == 3 && either->in.at[1] == x && either->in.at[2] == x && !either->out.at[0]->poison);
	CHECK("R41", g.g->calls.n == 3 && h.g->calls.n == 1);
	CHECK("", verified(&t) && t.ds.errors == 0);
	bench_close(&t);
}

int main(void)
{
	graphs();
	clashes();
	results();
	ids();
	return check_done();
}
