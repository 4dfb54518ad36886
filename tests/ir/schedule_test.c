/* schedule_test.c — order of execution, in_sequence, hooks, and the listings of the tutorial. */
#include "tests/ir/ir_test.h"

static int runs_before(Bench *t, Graph *g, const Op *a, const Op *b)
{
	Op **order = schedule(g, &t->mem);
	int x = -1, y = -1;
	for (int i = 0; order && i < g->ops.n; i++) {
		if (order[i] == a) x = i;
		if (order[i] == b) y = i;
	}
	return x >= 0 && x < y;
}

static int is_after(const Op *op, const Op *first)
{
	for (int i = 0; i < op->after.n; i++)
		if (op->after.at[i] == first) return 1;
	return 0;
}

/* --- listings ---------------------------------------------------------------------------------------------- */

static Tensor *linear(Bench *t, Build *b, Tensor *x, const char *prefix, int64_t in, int64_t out)
{
	Tensor *w = ir_input(b, spec_f32(2, in, out), "weight", 0), *bias = ir_input(b, spec_f32(1, out, 0), "bias", 0);
	map_set(&t->mem, &b->g->args, w, arena_printf(&t->mem, "%sweight", prefix));
	map_set(&t->mem, &b->g->args, bias, arena_printf(&t->mem, "%sbias", prefix));
	return op2(b, OP_add, op2(b, OP_matmul, x, w), bias);
}

static void single_linear(void)
{
	Bench t;
	bench_open(&t);
	Build b = ir_build(ir_graph(t.ir, "Linear"));
	Tensor *x = ir_input(&b, spec_f32(2, 2, 4), "x", 0);
	ir_output(&b, linear(&t, &b, x, "", 4, 32));
	CHECK_STR("R56 R57 R58 R59 R61 A81 A82 A83 A84 A86 A316", listing(&t, b.g),
	          "Graph : Linear_subgraph(0)\n"
	          "  (%1, weight=%2, bias=%3) -> (%5) {\n"
	          "    MatMul.100 (%1 [(2, 4) float32], %2 [(4, 32) float32]) -> (%4 [(2, 32) float32])\n"
	          "    Add.101 (%4 [(2, 32) float32], %3 [(32,) float32]) -> (%5 [(2, 32) float32])\n"
	          "  }");
	CHECK_STR("R56", listing(&t, t.ir->main), "Graph : \n  () -> () {\n    \n  }");
	bench_close(&t);
}

static Tensor *flat(Bench *t, Build *b, Tensor *x)
{
	return ir_op(b, OP_reshape, &x, 1, b_attrs(b, OP_reshape, "shape", attr_ints(&t->mem, (int64_t[]){ 1, 784 }, 2), NULL), NULL)->out.at[0];
}

static const char net_listing[] =
	"Graph : Net_subgraph(0)\n"
	"  (%1, fc1.weight=%2, fc1.bias=%3, fc2.weight=%4, fc2.bias=%5, fc3.weight=%6, fc3.bias=%7, fc4.weight=%8, fc4.bias=%9) -> (%21) {\n"
	"    Reshape.100 (%1 [(28, 28) float32]) -> (%10 [(1, 784) float32])\n"
	"    MatMul.101 (%10 [(1, 784) float32], %2 [(784, 512) float32]) -> (%11 [(1, 512) float32])\n"
	"    Add.102 (%11 [(1, 512) float32], %3 [(512,) float32]) -> (%12 [(1, 512) float32])\n"
	"    Gelu.103 (%12 [(1, 512) float32]) -> (%13 [(1, 512) float32])\n"
	"    MatMul.104 (%13 [(1, 512) float32], %4 [(512, 512) float32]) -> (%14 [(1, 512) float32])\n"
	"    Add.105 (%14 [(1, 512) float32], %5 [(512,) float32]) -> (%15 [(1, 512) float32])\n"
	"    Gelu.106 (%15 [(1, 512) float32]) -> (%16 [(1, 512) float32])\n"
	"    MatMul.107 (%16 [(1, 512) float32], %6 [(512, 512) float32]) -> (%17 [(1, 512) float32])\n"
	"    Add.108 (%17 [(1, 512) float32], %7 [(512,) float32]) -> (%18 [(1, 512) float32])\n"
	"    Gelu.109 (%18 [(1, 512) float32]) -> (%19 [(1, 512) float32])\n"
	"    MatMul.110 (%19 [(1, 512) float32], %8 [(512, 10) float32]) -> (%20 [(1, 10) float32])\n"
	"    Add.111 (%20 [(1, 10) float32], %9 [(10,) float32]) -> (%21 [(1, 10) float32])\n"
	"  }";

static void net(void)
{
	static const char *const fc[] = { "fc1.", "fc2.", "fc3.", "fc4." };
	static const int64_t size[] = { 784, 512, 512, 512, 10 };
	Bench t;
	bench_open(&t);
	Build b = ir_build(ir_graph(t.ir, "Net"));
	Tensor *x = flat(&t, &b, ir_input(&b, spec_f32(2, 28, 28), "x", 0));
	for (int i = 0; i < 4; i++) {
		x = linear(&t, &b, x, fc[i], size[i], size[i + 1]);
		if (i < 3) x = op1(&b, OP_gelu, x);
	}
	ir_output(&b, x);
	CHECK_STR("R62 A85 A319", listing(&t, b.g), net_listing);
	bench_close(&t);
}

static void bound_inputs(Bench *t, Build *b, const char *prefix, int64_t in, int64_t out, Tensor *made[2])
{
	made[0] = ir_input(b, spec_f32(2, in, out), "weight", 0);
	made[1] = ir_input(b, spec_f32(1, out, 0), "bias", 0);
	map_set(&t->mem, &b->g->args, made[0], arena_printf(&t->mem, "%sweight", prefix));
	map_set(&t->mem, &b->g->args, made[1], arena_printf(&t->mem, "%sbias", prefix));
}

static Tensor *called_linear(Build *b, Graph *callee, Tensor *x, Tensor *const p[2])
{
	return ir_call(b, OP_call, callee, NULL, (Tensor *[]){ x, p[0], p[1] }, 3, NULL)->out.at[0];
}

static void net_outlined(void)
{
	Bench t;
	Tensor *p[2];
	bench_open(&t);
	Build b = ir_build(ir_graph(t.ir, "NetOutlined"));
	Tensor *x = flat(&t, &b, ir_input(&b, spec_f32(2, 28, 28), "x", 0));
	x = op1(&b, OP_gelu, linear(&t, &b, x, "fc1.", 784, 512));
	Build l = ir_build(ir_graph(t.ir, "Linear"));
	ir_output(&l, linear(&t, &l, ir_input(&l, spec_f32(2, 1, 512), "x", 0), "", 512, 512));
	bound_inputs(&t, &b, "fc2.", 512, 512, p);
	x = op1(&b, OP_gelu, called_linear(&b, l.g, x, p));
	bound_inputs(&t, &b, "fc3.", 512, 512, p);
	x = op1(&b, OP_gelu, called_linear(&b, l.g, x, p));
	ir_output(&b, linear(&t, &b, x, "fc4.", 512, 10));
	CHECK_STR("R60 R63 R55 A84 A86 A320", listing(&t, b.g),
	          "Graph : NetOutlined_subgraph(0)\n"
	          "  (%1, fc1.weight=%2, fc1.bias=%3, fc2.weight=%4, fc2.bias=%5, fc3.weight=%6, fc3.bias=%7, fc4.weight=%8, fc4.bias=%9) -> (%19) {\n"
	          "    Reshape.100 (%1 [(28, 28) float32]) -> (%10 [(1, 784) float32])\n"
	          "    MatMul.101 (%10 [(1, 784) float32], %2 [(784, 512) float32]) -> (%11 [(1, 512) float32])\n"
	          "    Add.102 (%11 [(1, 512) float32], %3 [(512,) float32]) -> (%12 [(1, 512) float32])\n"
	          "    Gelu.103 (%12 [(1, 512) float32]) -> (%13 [(1, 512) float32])\n"
	          "    Call.106(Linear_subgraph(1)) (%13 [(1, 512) float32], %4 [(512, 512) float32], %5 [(512,) float32]) -> (%14 [(1, 512) float32])\n"
	          "    Gelu.107 (%14 [(1, 512) float32]) -> (%15 [(1, 512) float32])\n"
	          "    Call.108(Linear_subgraph(1)) (%15 [(1, 512) float32], %6 [(512, 512) float32], %7 [(512,) float32]) -> (%16 [(1, 512) float32])\n"
	          "    Gelu.109 (%16 [(1, 512) float32]) -> (%17 [(1, 512) float32])\n"
	          "    MatMul.110 (%17 [(1, 512) float32], %8 [(512, 10) float32]) -> (%18 [(1, 10) float32])\n"
	          "    Add.111 (%18 [(1, 10) float32], %9 [(10,) float32]) -> (%19 [(1, 10) float32])\n"
	          "  }");
	CHECK("A86", verified(&t));
	bench_close(&t);
}

static void loops_and_stores(void)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "body"));
	ir_output(&g, op1(&g, OP_relu, ir_input(&g, spec_f32(0, 0, 0), "x", 0)));
	Tensor *x = var_f32(&t, "x", 0, 0, 0);
	Op *rep = ir_call(&t.b, OP_repeat, g.g, NULL, &x, 1, b_attrs(&t.b, OP_repeat, "repeat_count", attr_int(3), NULL));
	Tensor *c = ir_constant(&t.b, host_scalar(&t.mem, DT_BOOL, 1), "c");
	ir_call(&t.b, OP_conditional, g.g, g.g, (Tensor *[]){ c, x, x }, 3, NULL);
	Stream *s = ir_stream(&t.b, 0, x->spec, "o");
	ir_op(&t.b, OP_host_store, &rep->out.at[0], 1, b_attrs(&t.b, OP_host_store, "d2h_stream", attr_ptr(s), NULL), NULL);
	CHECK_STR("R64 R60 A87", listing(&t, t.ir->main),
	          "Graph : \n"
	          "  () -> () {\n"
	          "    If.102 (%1 [() bool], %2 [() float32], %2 [() float32]) -> (%3 [() float32])\n"
	          "    Loop.101(body_subgraph(0)__loop_wrapper_subgraph(1)) (%2 [() float32]) -> (%4 [() float32])\n"
	          "    HostStore.103 (%4 [() float32]) -> ()\n"
	          "  }");
	bench_close(&t);
}

/* --- in_sequence ----------------------------------------------------------------------------------------------- */

static Op *next(Bench *t, SeqMode mode, OpCode code)
{
	t->b.seq = mode;
	Tensor *x = t->ir->main->tensors.at[0];
	return op2(&t->b, code, x, x)->def;
}

static void sequences(void)
{
	Bench t;
	bench_open(&t);
	var_f32(&t, "x", 1, 4, 0);
	Op *a = next(&t, SEQ_TRUE, OP_sub), *b = next(&t, SEQ_FALSE, OP_add), *c = next(&t, SEQ_FALSE, OP_mul), *d = next(&t, SEQ_TRUE, OP_div);
	CHECK("R198 R199 R200", is_after(b, a) && is_after(c, a) && !is_after(c, b) && is_after(d, b) && is_after(d, c));
	ir_end_sequence(t.ir);
	Op *e = next(&t, SEQ_TRUE, OP_add);
	CHECK("R201", e->after.n == 0);
	ir_end_sequence(t.ir);
	a = next(&t, SEQ_TRUE, OP_add), b = next(&t, SEQ_PASS, OP_sub), c = next(&t, SEQ_TRUE, OP_mul), d = next(&t, SEQ_TRUE, OP_div);
	CHECK("R198 R199 R200", b->after.n == 0 && is_after(c, a) && !is_after(c, b) && is_after(d, c) && d->after.n == 1);
	ir_end_sequence(t.ir);
	a = next(&t, SEQ_FALSE, OP_add), b = next(&t, SEQ_FALSE, OP_sub), c = next(&t, SEQ_TRUE, OP_mul);
	CHECK("R199", a->after.n == 0 && b->after.n == 0 && is_after(c, a) && is_after(c, b));
	ir_end_sequence(t.ir);
	a = next(&t, SEQ_TRUE, OP_add);
	t.b.exec = EXEC_WEIGHTS_FROM_HOST;
	b = next(&t, SEQ_TRUE, OP_sub);
	CHECK("R202", b->after.n == 0);
	CHECK("R142", runs_before(&t, t.ir->main, b, a));
	t.b.exec = EXEC_NORMAL;
	Build g = ir_build(ir_graph(t.ir, "g"));
	g.seq = SEQ_TRUE;
	Tensor *x = ir_input(&g, spec_f32(1, 4, 0), "x", 0);
	Op *p = op1(&g, OP_exp, x)->def, *q = op1(&g, OP_relu, x)->def;
	c = next(&t, SEQ_TRUE, OP_mul);
	CHECK("R203", is_after(q, p) && p->after.n == 0 && is_after(c, a) && c->after.n == 1);
	CHECK("R205", verified(&t));
	bench_close(&t);
}

static void cycle(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	Op *a = op1(&t.b, OP_exp, x)->def, *b = op1(&t.b, OP_relu, a->out.at[0])->def;
	vec_push(&t.mem, &a->after, b);
	CHECK("R206", !schedule(t.ir->main, &t.mem) && diag_is(&t, E0405));
	a->after.n = 0;
	CHECK("R206", schedule(t.ir->main, &t.mem) != NULL);
	a->exec = EXEC_WEIGHTS_TO_HOST;
	CHECK("R142 R206", !schedule(t.ir->main, &t.mem) && diag_is(&t, E0405));
	bench_close(&t);
}

static void liveness(void)
{
	Bench t;
	bench_open(&t);
	Tensor *big = var_f32(&t, "big", 1, 1000, 0), *small = var_f32(&t, "small", 1, 2, 0);
	Tensor *a = op2(&t.b, OP_add, big, big), *m = op2(&t.b, OP_mul, small, small);
	op1(&t.b, OP_relu, a), op1(&t.b, OP_relu, m);
	CHECK("R207", runs_before(&t, t.ir->main, m->def, a->def));
	vec_push(&t.mem, &m->def->after, a->def);
	CHECK("R207 R142", runs_before(&t, t.ir->main, a->def, m->def));
	Op **one = schedule(t.ir->main, &t.mem), **two = schedule(t.ir->main, &t.mem);
	CHECK("R207", !memcmp(one, two, (size_t)t.ir->main->ops.n * sizeof *one));
	bench_close(&t);
}

/* --- hooks and contexts -------------------------------------------------------------------------------------------- */

typedef struct Seen { int n, after; const Op *last; Graph *g; int self; } Seen;

static void note(void *user, Op *op)
{
	Seen *s = user;
	s->n++;
	s->after = op->after.n;
	s->last = op;
	if (s->self) ir_remove_hook(s->g, s->self);
}

static void hooks(void)
{
	Bench t;
	bench_open(&t);
	Seen s = { 0 }, once = { 0 };
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	op1(&t.b, OP_exp, x);
	int h = ir_add_hook(t.ir->main, note, &s), k = ir_add_hook(t.ir->main, note, &once);
	once.g = t.ir->main;
	once.self = k;
	CHECK("R212", h == 1 && k == 2 && s.n == 0);
	t.b.seq = SEQ_TRUE;
	op1(&t.b, OP_exp, x);
	const Op *made = op1(&t.b, OP_exp, x)->def;
	CHECK("R212 R213", s.n == 2 && s.last == made && s.after == 1 && once.n == 1);
	Build g = ir_build(ir_graph(t.ir, "g"));
	op1(&g, OP_exp, ir_input(&g, x->spec, "x", 0));
	CHECK("R212", s.n == 2);
	ir_call(&t.b, OP_call, g.g, NULL, &x, 1, NULL);
	CHECK("R213", s.n == 3);
	CHECK("R212", ir_remove_hook(t.ir->main, h) && !ir_remove_hook(t.ir->main, h) && !ir_remove_hook(t.ir->main, 99));
	op1(&t.b, OP_exp, x);
	CHECK("R212", s.n == 3);
	bench_close(&t);
}

static void places(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0), *lone = var_f32(&t, "lone", 1, 4, 0);
	CHECK("R117", tensor_ipu(lone) == IPU_UNKNOWN && tensor_tiles(lone) == TILES_UNDEFINED);
	t.b.ipu = 1;
	t.b.tiles = TILES_IO;
	Tensor *y = op1(&t.b, OP_exp, x);
	CHECK("R116 R208 R209", tensor_ipu(y) == 1 && tensor_tiles(y) == TILES_IO);
	CHECK("R117", tensor_ipu(x) == 1 && tensor_tiles(x) == TILES_IO);
	Build g = ir_build(ir_graph(t.ir, "g"));
	g.ipu = 2;
	Tensor *in = ir_input(&g, x->spec, "x", 0), *idle = ir_input(&g, x->spec, "idle", 0);
	ir_output(&g, op1(&g, OP_exp, in));
	Op *call = ir_call(&t.b, OP_call, g.g, NULL, (Tensor *[]){ lone, y }, 2, NULL);
	CHECK("R117", tensor_ipu(lone) == 2 && tensor_ipu(idle) == 1);
	CHECK("R120 R116", tensor_ipu(call->out.at[0]) == 2 && call->ipu == 1);
	int errors = t.ds.errors;
	CHECK("R118", op2(&t.b, OP_add, y, call->out.at[0])->poison && t.ds.errors == errors + 1);
	t.b.tiles = TILES_COMPUTE;
	Tensor *z = op1(&t.b, OP_exp, var_f32(&t, "z", 1, 4, 0)), *nowhere = var_f32(&t, "n", 1, 4, 0);
	CHECK("R118", op2(&t.b, OP_add, y, z)->poison && t.ds.errors == errors + 2);
	CHECK("R118", !op2(&t.b, OP_add, z, nowhere)->poison && t.ds.errors == errors + 2);
	bench_close(&t);
}

/* a hundred thousand ops in a moment, with and without writers */
static void large(void)
{
	enum { N = 100000 };
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0), *y = x;
	for (int i = 0; i < N; i++) y = op2(&t.b, OP_add, y, x);
	CHECK("R142", schedule(t.ir->main, &t.mem) != NULL && ir_check_ambiguity(t.ir));
	bench_close(&t);
}

int main(void)
{
	single_linear();
	net();
	net_outlined();
	loops_and_stores();
	sequences();
	cycle();
	liveness();
	hooks();
	places();
	large();
	return check_done();
}
