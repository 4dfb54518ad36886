/* rewrite_test.c — changing programs, copying them, refusing what may not be added, and the verifier. */
#include "tests/ir/ir_test.h"

typedef struct Two { Graph *g; Tensor *x, *y, *v; Op *inner, *a, *b; } Two;

/* a graph of two ops, called twice from main */
static Two two_calls(Bench *t)
{
	Two r = { 0 };
	Build g = ir_build(ir_graph(t->ir, "g"));
	r.g = g.g;
	r.x = ir_input(&g, spec_f32(1, 4, 0), "x", 0);
	r.inner = op1(&g, OP_exp, r.x)->def;
	r.y = op1(&g, OP_relu, r.inner->out.at[0]);
	ir_output(&g, r.y);
	r.v = var_f32(t, "v", 1, 4, 0);
	r.a = ir_call(&t->b, OP_call, r.g, NULL, &r.v, 1, NULL);
	r.b = ir_call(&t->b, OP_call, r.g, NULL, &r.a->out.at[0], 1, NULL);
	return r;
}

static void outputs(void)
{
	Bench t;
	bench_open(&t);
	Two r = two_calls(&t);
	Tensor *first = r.a->out.at[0];
	ir_add_output(r.g, r.inner->out.at[0], "autodiff_output");
	CHECK("R173 R223 R239", r.a->out.n == 2 && r.b->out.n == 2 && r.g->outputs.n == 2);
	CHECK("R240", r.a->out.at[0] == first && r.b->in.at[0] == first && first->def_index == 0);
	CHECK_STR("R52", r.a->out.at[1]->name, "autodiff_output__t1");
	CHECK_STR("R52", r.b->out.at[1]->name, "autodiff_output__t2");
	CHECK("R224", r.g->written_outputs == 1 && verified(&t));
	Build g = ir_build(r.g);
	ir_output(&g, r.x);
	CHECK("R26 R27", r.g->written_outputs == 2 && r.g->outputs.at[1] == r.x && r.a->out.n == 3 && r.a->out.at[2]->def_index == 2 && verified(&t));
	ir_output(&g, r.x);
	CHECK("R28", r.g->outputs.at[1] == r.x && r.g->outputs.at[2] == r.x && verified(&t));
	ir_remove_output(r.g, 3);
	CHECK("R240", r.g->outputs.n == 3 && r.a->out.n == 3 && verified(&t));
	ir_remove_output(r.g, 0);
	CHECK("", r.g->outputs.n == 3);                  /* a result of the call is used: nothing happens */
	bench_close(&t);
}

static void replacing(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0), *y = op1(&t.b, OP_exp, x), *z = op1(&t.b, OP_relu, y), *w = op2(&t.b, OP_add, z, z);
	Tensor *neg = op1(&t.b, OP_negate, z);
	ir_output(&t.b, z);
	ir_replace_uses(z, neg);
	CHECK("", w->def->in.at[0] == neg && w->def->in.at[1] == neg && neg->def->in.at[0] == z && t.ir->main->outputs.at[0] == neg && verified(&t));
	ir_set_input(w->def, 0, x);
	CHECK("", x->uses.n == 2 && neg->uses.n == 1 && verified(&t));
	bench_close(&t);
}

static void removing(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	t.b.seq = SEQ_TRUE;
	Op *op[6];
	for (int i = 0; i < 6; i++) op[i] = op1(&t.b, OP_exp, x)->def;
	ir_remove_op(op[1]);
	CHECK("R142", op[2]->after.n == 1 && op[2]->after.at[0] == op[0] && verified(&t));
	CHECK("R48", !map_has(&t.ir->main->names, intern_str(&t.names, "exp_out__t0")));
	char dead[5] = { 0, 1, 1, 0, 1 };
	ir_remove_ops(t.ir->main, dead);
	CHECK("R142", t.ir->main->ops.n == 2 && op[4]->after.n == 1 && op[4]->after.at[0] == op[0] && x->uses.n == 2 && verified(&t));
	Op *more = op1(&t.b, OP_exp, x)->def;
	CHECK("R55", more->id == 106 && verified(&t));
	bench_close(&t);
}

static void cloning(void)
{
	Bench t;
	bench_open(&t);
	Two r = two_calls(&t);
	ir_stream(&t.b, 1, spec_f32(1, 4, 0), "s");
	t.ir->frozen = 1;
	Map map = { 0 };
	Ir *c = ir_clone(t.ir, &t.mem, &map);
	Tensor *v = map_get(&map, r.v);
	CHECK("", v && v != r.v && v->graph == c->main && v->index == r.v->index && v->name == r.v->name && !c->frozen);
	CHECK("", c->main->ops.at[0]->callee[0] == c->graphs.at[1] && c->graphs.at[1] != r.g && c->main->ops.at[0]->id == r.a->id);
	Buf a = buf_new(&t.mem), b = buf_new(&t.mem), why = buf_new(&t.mem);
	ir_print(t.ir, &a);
	ir_print(c, &b);
	CHECK_STR("", a.s, b.s);
	CHECK("", ir_verify(c, &why));
	Build cb = ir_build(c->main);
	op1(&cb, OP_exp, v);
	CHECK("R4", ir_verify(c, &why) && verified(&t) && r.v->uses.n == 1 && v->uses.n == 2);
	bench_close(&t);
}

/* --- what is refused ------------------------------------------------------------------------------------------- */

static void refusals(void)
{
	Bench t;
	bench_open(&t);
	Two r = two_calls(&t);
	Tensor *bad = op1(&t.b, OP_exp, r.x);
	CHECK("R15", bad->poison && t.ds.errors == 1 && strstr(last_diag(&t)->label, "g_subgraph(0)"));
	int errors = t.ds.errors;
	CHECK("R15", op1(&t.b, OP_relu, bad)->poison && t.ds.errors == errors);
	ir_output(&t.b, r.x);
	CHECK("R26", diag_is(&t, E0420) && t.ir->main->outputs.n == 0);
	Build g = ir_build(r.g);
	CHECK("R32", !ir_variable(&g, host_scalar(&t.mem, DT_F32, 0), "v") && diag_is(&t, E0401) && ir_constant(&g, host_scalar(&t.mem, DT_F32, 0), "c"));
	CHECK("R34", ir_call(&g, OP_call, r.g, NULL, &r.x, 1, NULL)->out.at[0]->poison && diag_is(&t, E0428) && strstr(last_diag(&t)->label, "the graph being built"));
	Build h = ir_build(ir_graph(t.ir, "h"));
	Tensor *hx = ir_input(&h, r.x->spec, "x", 0);
	ir_call(&h, OP_call, r.g, NULL, &hx, 1, NULL);
	CHECK("R34", ir_call(&g, OP_call, h.g, NULL, &r.x, 1, NULL)->in.n == 1 && diag_is(&t, E0428) && strstr(last_diag(&t)->label, "recursive"));
	ir_call(&h, OP_call, t.ir->main, NULL, NULL, 0, NULL);
	CHECK("R157", diag_is(&t, E0428));
	ir_call(&t.b, OP_call, r.g, NULL, (Tensor *[]){ r.v, r.v }, 2, NULL);
	CHECK("R151", diag_is(&t, E0422));
	ir_call(&t.b, OP_call, r.g, NULL, NULL, 0, NULL);
	CHECK("R151 R156", diag_is(&t, E0423));
	Tensor *odd = var_f32(&t, "odd", 1, 5, 0);
	ir_call(&t.b, OP_call, r.g, NULL, &odd, 1, NULL);
	CHECK("R154", diag_is(&t, E0425));
	errors = t.ds.errors;
	ir_call(&t.b, OP_call, r.g, NULL, &r.x, 1, NULL);
	CHECK("R152", t.ds.errors == errors + 1);
	Build k = ir_build(ir_graph(t.ir, "k"));
	ir_output(&k, ir_input(&k, r.x->spec, "x", 1));
	Tensor *c = ir_constant(&t.b, host_scalar(&t.mem, DT_BOOL, 1), "c");
	ir_call(&t.b, OP_conditional, k.g, k.g, (Tensor *[]){ c, r.v, r.v }, 3, NULL);
	CHECK("R190", diag_is(&t, E0441));
	ir_input(&g, r.x->spec, "late", 0);
	CHECK("", diag_is(&t, E0403));
	bench_close(&t);
}

static void frozen(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	t.ir->frozen = 1;
	CHECK("R7", op1(&t.b, OP_exp, x)->poison && diag_is(&t, E0402) && t.ir->main->ops.n == 0 && x->uses.n == 0);
	CHECK("R7", !ir_variable(&t.b, host_scalar(&t.mem, DT_F32, 0), "v"));
	bench_close(&t);
}

static void nesting(void)
{
	Bench t;
	bench_open(&t);
	Graph *below = ir_graph(t.ir, "g");
	for (int i = 0; i < MOST_CALL_LEVELS; i++) {
		Build b = ir_build(ir_graph(t.ir, "g"));
		ir_call(&b, OP_call, below, NULL, NULL, 0, NULL);
		below = b.g;
	}
	CHECK("", t.ds.errors == 0);
	ir_call(&t.b, OP_call, below, NULL, NULL, 0, NULL);
	CHECK("", diag_is(&t, E0428));
	bench_close(&t);
}

/* --- the verifier ------------------------------------------------------------------------------------------------ */

static int says(Bench *t, const char *part)
{
	Buf why = buf_new(&t->mem);
	int ok = !ir_verify(t->ir, &why) && strstr(why.s, part);
	if (!ok) printf("verify says: %s, not %s\n", why.n ? why.s : "fine", part);
	return ok;
}

#define BROKEN(part, change) \
	do { \
		Bench t; \
		bench_open(&t); \
		Two r = two_calls(&t); \
		change; \
		CHECK("", says(&t, part)); \
		bench_close(&t); \
	} while (0)

static void verifier(void)
{
	BROKEN("use is not an operand", r.a->in.at[0] = r.a->out.at[0]);
	BROKEN("not all operands", r.v->uses.n = 0);
	BROKEN("operand 0 belongs to another graph", (ir_set_input(r.a, 0, NULL), r.a->in.at[0] = r.x));
	BROKEN("another number of outputs", r.g->outputs.n = 0);
	BROKEN("does not know this call", r.g->calls.n = 1);
	BROKEN("its name is not registered", r.v->name = "other");
	BROKEN("another tensor has its name", r.y->name = r.x->name);
	BROKEN("its index is taken", r.y->index = r.x->index);
	BROKEN("its id is taken", r.b->id = r.a->id);
	BROKEN("never given out", r.b->id = 1000);
	BROKEN("circle", (ir_set_input(r.inner, 0, r.y)));
	BROKEN("made by an op that failed", r.y->poison = 1);
	BROKEN("one origin", r.x->kind = T_CONSTANT);
	BROKEN("no host data", r.v->data = NULL);
	BROKEN("operand 0 is missing", ir_set_input(r.inner, 0, NULL));
	BROKEN("differs from the callee's output", r.y->spec.dtype = DT_F16);
	BROKEN("leads out of the graph", vec_push(&t.mem, &r.a->after, r.inner));
	BROKEN("calls itself", (r.inner->callee[0] = r.g, vec_push(&t.mem, &r.g->calls, r.inner), r.inner->code = OP_call));
}

static void dot(void)
{
	Bench t;
	bench_open(&t);
	Two r = two_calls(&t);
	op2_(&t.b, OP_add, r.v, r.b->out.at[0]);
	Buf b = buf_new(&t.mem);
	ir_dot(t.ir->main, 0, -1, &b);
	int boxes = 0, ovals = 0;
	for (const char *p = b.s; (p = strstr(p, "shape=box")); p++) boxes++;
	for (const char *p = b.s; (p = strstr(p, "shape=oval")); p++) ovals++;
	CHECK("R70", boxes == t.ir->main->ops.n && ovals == t.ir->main->tensors.n && !strncmp(b.s, "digraph ", 8));
	CHECK("R70", strstr(b.s, "color=purple") && strstr(b.s, "color=blue") && strstr(b.s, "g_subgraph(0)"));
	bench_close(&t);
}

/* one of everything, to the byte */
static void whole_drawing(void)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "f"));
	ir_output(&g, ir_input(&g, spec_f32(1, 4, 0), "in", 0));
	Buf sub = buf_new(&t.mem), b = buf_new(&t.mem);
	ir_dot(g.g, 0, -1, &sub);
	CHECK_STR("R70", sub.s, "digraph \"f_subgraph(0)\" {\n\tt0 [shape=oval, style=filled, fillcolor=palegreen, label=\"in\\nf32[4]\"];\n}\n");
	Tensor *v = var_f32(&t, "v", 1, 4, 0), *c = ir_constant(&t.b, host_new(&t.mem, DT_F32, (Shape){ 1, { 4 } }), "c");
	Stream *s = ir_stream(&t.b, 0, v->spec, "s");
	t.b.seq = SEQ_TRUE;
	t.b.ipu = 2;
	t.b.tiles = TILES_IO;
	Tensor *w = op2_(&t.b, OP_add, v, c), *x = op1_(&t.b, OP_detach, w);
	ir_call(&t.b, OP_call, g.g, NULL, &x, 1, NULL);
	ir_op(&t.b, OP_host_store, &x, 1, b_attrs(&t.b, OP_host_store, "d2h_stream", attr_ptr(s), NULL), NULL);
	ir_dot(t.ir->main, 0, -1, &b);
	CHECK_STR("R70", b.s,
	          "digraph \"main\" {\n"
	          "\tt1 [shape=oval, style=filled, fillcolor=lightblue, label=\"v\\nf32[4]\"];\n"
	          "\tt2 [shape=oval, style=filled, fillcolor=lightgrey, label=\"c\\nf32[4]\"];\n"
	          "\tt3 [shape=oval, style=filled, fillcolor=white, label=\"add_out\\nf32[4]\"];\n"
	          "\tt4 [shape=oval, style=filled, fillcolor=white, label=\"detach_out\\nf32[4]\"];\n"
	          "\tt5 [shape=oval, style=filled, fillcolor=white, label=\"in\\nf32[4]\"];\n"
	          "\to100 [shape=box, label=\"0: AddLhsInplace.100\\nipu 2, io tiles\"];\n"
	          "\tt1 -> o100 [color=purple];\n"
	          "\tt2 -> o100 [color=black];\n"
	          "\to100 -> t3 [color=blue];\n"
	          "\to101 [shape=box, label=\"1: DetachInplace.101\\nipu 2, io tiles\"];\n"
	          "\tt3 -> o101 [color=blue];\n"
	          "\to101 -> t4 [color=blue];\n"
	          "\to100 -> o101 [style=dashed];\n"
	          "\to102 [shape=box, label=\"2: Call.102\\nf_subgraph(0)\\nipu 2, io tiles\"];\n"
	          "\tt4 -> o102 [color=black];\n"
	          "\to102 -> t5 [color=black];\n"
	          "\to101 -> o102 [style=dashed];\n"
	          "\to103 [shape=box, label=\"3: HostStore.103\\nipu 2, io tiles\"];\n"
	          "\ts0 [shape=oval, style=filled, fillcolor=orange, label=\"s\"];\n"
	          "\to103 -> s0;\n"
	          "\tt4 -> o103 [color=black];\n"
	          "\to102 -> o103 [style=dashed];\n"
	          "}\n");
	b = buf_new(&t.mem);
	ir_dot(t.ir->main, 3, -1, &b);
	CHECK_STR("R71 R70", b.s,
	          "digraph \"main\" {\n"
	          "\tt4 [shape=oval, style=filled, fillcolor=white, label=\"detach_out\\nf32[4]\"];\n"
	          "\to103 [shape=box, label=\"3: HostStore.103\\nipu 2, io tiles\"];\n"
	          "\ts0 [shape=oval, style=filled, fillcolor=orange, label=\"s\"];\n"
	          "\to103 -> s0;\n"
	          "\tt4 -> o103 [color=black];\n"
	          "}\n");
	bench_close(&t);
}

int main(void)
{
	outputs();
	replacing();
	removing();
	cloning();
	refusals();
	frozen();
	nesting();
	verifier();
	dot();
	whole_drawing();
	return check_done();
}
