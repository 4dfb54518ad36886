/* autodiff_rules.c — where gradient ops stand and in what order, what callees are asked for, what prints become. */
#include "tests/ir/ir_test.h"

#include "compiler/transforms/autodiff.h"

static Op *find(const Graph *g, int code)
{
	for (int i = 0; i < g->ops.n; i++)
		if (g->ops.at[i]->code == code) return g->ops.at[i];
	return NULL;
}

static int ordered(const Graph *g)
{
	int n = 0;
	for (int i = 0; i < g->ops.n; i++) n += g->ops.at[i]->after.n;
	return n;
}

/* y = tanh(exp(x)): exp on IPU 0, tanh on IPU 1's I/O tiles, in sequence */
static Graph *placed(Bench *t, int in_sequence)
{
	Graph *g = ir_graph(t->ir, "f");
	Build b = ir_build(g);
	b.seq = in_sequence ? SEQ_TRUE : SEQ_NONE;
	Tensor *x = ir_input(&b, spec_f32(1, 4, 0), "x", 0), *e = op1(&b, OP_exp, x);
	b.ipu = 1;
	b.tiles = TILES_IO;
	Tensor *y = op1(&b, OP_tanh, e);
	ir_output(&b, y);
	return g;
}

/* the one that op is constrained to run after, so many constraints back */
static const Op *before(const Op *op, int steps)
{
	for (; op && steps; steps--) op = op->after.n == 1 ? op->after.at[0] : NULL;
	return op;
}

static void places(void)
{
	Bench t;
	bench_open(&t);
	Graph *g = placed(&t, 1);
	CHECK("", ordered(g) == 1);
	GradInfo *gi = autodiff(&t.b, g, &(AutodiffOptions){ 0 });
	Op *of_tanh = find(gi->graph, OP_tanh_grad), *of_exp = find(gi->graph, OP_mul);
	CHECK("R254", of_tanh && of_tanh->ipu == 1 && of_tanh->tiles == TILES_IO);
	CHECK("R254", of_exp && of_exp->ipu == 0 && of_exp->tiles != TILES_IO);
	CHECK("R254", ordered(gi->graph) == 0);                  /* the forward order is not copied */

	Graph *h = placed(&t, 0);
	Build at = t.b;
	at.seq = SEQ_TRUE;
	at.ipu = 3;
	gi = autodiff(&at, h, &(AutodiffOptions){ 0 });
	of_tanh = find(gi->graph, OP_tanh_grad), of_exp = find(gi->graph, OP_mul);
	Op *from_one = find(gi->graph, OP_ipu_copy), *from_io = find(gi->graph, OP_io_tile_copy);
	/* that of the request is kept; between the two the gradient comes back to where the forward tensor is */
	CHECK("R254", before(of_exp, 1) == from_io && before(of_exp, 2) == from_one && before(of_exp, 3) == of_tanh);
	CHECK("R254", of_tanh->ipu == 1 && of_exp->ipu == 0);                         /* but not its place */
	bench_close(&t);
}

/* the callee has inputs x, w and integers i; the caller wants the gradient of x alone */
static void callee(void)
{
	Bench t;
	bench_open(&t);
	Graph *g = ir_graph(t.ir, "g"), *f = ir_graph(t.ir, "f");
	Build bg = ir_build(g), bf = ir_build(f);
	Spec ints = { .dtype = DT_I32, .shape = { .rank = 1, .dim = { 3 } } };
	Tensor *gx = ir_input(&bg, spec_f32(1, 4, 0), "x", 0), *gw = ir_input(&bg, spec_f32(1, 4, 0), "w", 0), *gi = ir_input(&bg, ints, "i", 0);
	Tensor *prod = b_op2(&bg, OP_mul, gx, gw);
	ir_output(&bg, b_op2(&bg, OP_gather, prod, gi));
	Tensor *in[3] = { ir_input(&bf, spec_f32(1, 4, 0), "x", 0), ir_input(&bf, spec_f32(1, 4, 0), "w", 0), ir_input(&bf, ints, "i", 0) };
	ir_output(&bf, ir_call(&bf, OP_call, g, NULL, in, 3, NULL)->out.at[0]);
	Map all = { 0 };
	GradInfo *info = autodiff(&t.b, f, &(AutodiffOptions){ .required = in, .nrequired = 1, .all = &all });
	GradInfo *inner = map_get(&all, g);
	CHECK("R252", info && info->outs.n == 1 && info->outs.at[0].fwd == in[0] && !t.ds.errors);
	CHECK("R252", inner && inner->outs.n == 2 && inner->outs.at[0].fwd == gx && inner->outs.at[1].fwd == gw);
	CHECK("R253", info && map_get(&all, f) == info && all.n == 2);
	bench_close(&t);
}

static void prints(void)
{
	Bench t;
	bench_open(&t);
	Graph *g = ir_graph(t.ir, "f");
	Build b = ir_build(g);
	Tensor *x = ir_input(&b, spec_f32(1, 4, 0), "x", 0);
	AttrVal *v = b_attrs(&b, OP_print_tensor, "title", attr_str("seen"), "print_gradient", attr_int(1), NULL);
	Op *p = ir_op(&b, OP_print_tensor, &x, 1, v, NULL);
	ir_output(&b, p->out.at[0]);
	GradInfo *gi = autodiff(&t.b, g, &(AutodiffOptions){ 0 });
	Op *q = find(gi->graph, OP_print_tensor);
	CHECK("R248", q && q->in.at[0] == gi->graph->inputs.at[0] && gi->graph->outputs.at[0] == q->out.at[0]);
	CHECK_STR("R248", op_attr(q, "title")->s, "seen_gradient");
	CHECK("R248", op_attr(q, "print_self")->i && !op_attr(q, "print_gradient")->i);
	CHECK_STR("R248", op_attr(p, "title")->s, "seen");
	bench_close(&t);
}

int main(void)
{
	places();
	callee();
	prints();
	return check_done();
}
