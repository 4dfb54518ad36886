/* text_test.c — textual IR: what is printed is read back as the same program; what is wrong is said. */
#include "tests/ir/ir_test.h"

static const char *printed(Bench *t, const Ir *ir)
{
	Buf b = buf_new(&t->mem);
	ir_print(ir, &b);
	return b.s;
}

static Ir *parsed(Bench *t, const char *text)
{
	return ir_parse(&t->mem, &t->names, &t->ds, source_add(&t->srcs, "t.ir", NULL, text, strlen(text)));
}

static void same_again(Bench *t, const Ir *ir)
{
	const char *text = printed(t, ir);
	Ir *again = parsed(t, text);
	if (!again && t->ds.at.n) {
		Buf b = buf_new(&t->mem);
		diag_render(&t->ds, last_diag(t), DIAG_SHORT, &b);
		printf("%s\n%s", b.s, text);
	}
	CHECK("", again != NULL);
	if (again) CHECK_STR("", printed(t, again), text);
}

/* a bit of everything: kinds, data, attributes, calls by reference, contexts, constraints, streams */
static void round_trip(void)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "inner"));
	Tensor *x = ir_input(&g, spec_f32(2, 2, 3), "x", 0), *w = ir_input(&g, spec_f32(2, 2, 3), "w", 1);
	g.scope = "a/b";
	op2_(&g, OP_add, w, x);
	ir_output(&g, op2(&g, OP_matmul, x, op1(&g, OP_transpose, w)));
	map_set(&t.mem, &g.g->args, w, (void *)"fc1.weight");
	ir_add_output(g.g, x, "autodiff_output");
	Build *b = &t.b;
	HostArray *normal = host_new(&t.mem, DT_F32, x->spec.shape);
	normal->init = (RtInit){ .kind = INIT_NORMAL, .a = 0, .b = 0.02, .name = "w \"quoted\"\n", .draw = 3 };
	Tensor *v = ir_variable(b, normal, "v"), *u = var_f32(&t, "u", 2, 2, 3);
	u->state = 1;
	HostArray *odd = host_new(&t.mem, DT_F32, (Shape){ 1, { 3 } });
	rt_set(DT_F32, host_bytes(&t.mem, odd, 0), 0, 0.1);
	rt_set(DT_F32, host_bytes(&t.mem, odd, 0), 2, -INFINITY);
	Tensor *c = ir_constant(b, odd, "c");
	ir_constant(b, host_scalar(&t.mem, DT_F16, NAN), "n");
	ir_constant(b, host_scalar(&t.mem, DT_I64, -5), "i");
	HostArray *big = host_new(&t.mem, DT_U8, (Shape){ 1, { 40 } });
	memset(host_bytes(&t.mem, big, 0), 0xa7, 40);
	ir_constant(b, big, "big");
	Stream *s = ir_stream(b, 1, x->spec, "in"), *o = ir_stream(b, 0, x->spec, "out");
	ir_buffer(b, x->spec, 7);
	Tensor *h = ir_op(b, OP_host_load, NULL, 0, b_attrs(b, OP_host_load, "h2d_stream", attr_ptr(s), NULL), NULL)->out.at[0];
	b->seq = SEQ_TRUE;
	Op *call = ir_call(b, OP_call, g.g, NULL, (Tensor *[]){ h, v }, 2, NULL);
	b->ipu = 0;
	b->exec = EXEC_ACCUMULATE_OUTER;
	b->tiles = TILES_COMPUTE;
	op2_(b, OP_add, u, h);
	b->exec = EXEC_NORMAL;
	ir_mark_modified(b, call, 0, 0);
	Tensor *y = op1(b, OP_relu, call->out.at[1]);
	Op *red = ir_op(b, OP_sum, &y, 1, b_attrs(b, OP_sum, "axes", attr_ints(&t.mem, (int64_t[]){ 1 }, 1), NULL), NULL);
	ir_op(b, OP_host_store, &y, 1, b_attrs(b, OP_host_store, "d2h_stream", attr_ptr(o), NULL), NULL);
	ir_op(b, OP_softmax, &c, 1, b_attrs(b, OP_softmax, "axis", attr_int(-1), NULL), NULL);
	CHECK("", t.ds.errors == 0 && !red->out.at[0]->poison && verified(&t));
	same_again(&t, t.ir);
	Ir *again = parsed(&t, printed(&t, t.ir));
	int states = 0;
	for (int i = 0; again && i < again->main->tensors.n; i++) states += again->main->tensors.at[i]->state;
	CHECK("", states == 1);
	same_again(&t, ir_clone(t.ir, &t.mem, NULL));
	bench_close(&t);
}

static void by_hand(void)
{
	Bench t;
	bench_open(&t);
	Ir *ir = parsed(&t, "graph main { # names, ids and counters may be left out\n%0 variable f32[2] = zeros\n%1 f32[2] = exp(%0)\n}\n");
	CHECK("", ir && ir->main->ops.n == 1 && ir->main->ops.at[0]->id == 100 && !strcmp(ir->main->tensors.at[1]->name, "t1"));
	CHECK("", ir && ir->main->tensors.at[0]->uses.n == 1 && ir->ntensor == 2 && ir->next_op == 101);
	bench_close(&t);
}

static void refuse(const char *text, DiagCode code, const char *part)
{
	Bench t;
	bench_open(&t);
	Ir *ir = parsed(&t, text);
	int ok = !ir && t.ds.at.n && t.ds.at.at[0]->code == code && strstr(t.ds.at.at[0]->text, part);
	if (!ok) printf("for %s: %s\n", text, t.ds.at.n ? t.ds.at.at[0]->text : "no message");
	CHECK("", ok);
	bench_close(&t);
}

#define V "graph main {\n%0 variable f32[2] = zeros\n"

static void refusals(void)
{
	refuse("", E0408, "expected a graph, found the end");
	refuse("graph main {", E0408, "expected an op");
	refuse("\xff", E0408, "byte 0xff");
	refuse("graph \"x\" {}", E0409, "main graph stands first");
	refuse("graph main {}\ngraph main {}", E0409, "main graph stands first");
	refuse(V "%0 variable f32[2] = zeros\n}", E0409, "described twice");
	refuse(V "%1 f32[2] = exp(%7)\n}", E0409, "described nowhere");
	refuse(V "%1 f32[3] = exp(%0)\n}", E0409, "is f32[2], not f32[3]");
	refuse(V "%1 f32[2] = exp(%1)\n}", E0409, "circle");
	refuse(V "%1 f32[2] = expp(%0)\n}", E0408, "is no op");
	refuse(V "%1 f32[2] = exp()\n}", E0409, "operand 0 is missing");
	refuse(V "%1 f32[2] = exp(%0) {axis = 1}\n}", E0408, "no attribute `axis`");
	refuse(V "%1 f32[2] = exp(%0) after 9\n}", E0409, "op 9 is not in this graph");
	refuse(V "%1 f32[2] = call(%0) calls \"g\"\n}", E0409, "no graph `g`");
	refuse(V "%1 f32[2] = call(%0) calls \"\"\n}", E0409, "cannot be called here");
	refuse("graph main {}\ngraph \"g\" {\n call() calls \"g\"\n}", E0409, "circle");
	refuse("graph main {}\ngraph \"g\" {\n%0 variable f32[2] = zeros\n}", E0409, "variables live in the main graph");
	refuse("graph main {\n%0 constant f32[4] = [1.0, 2.0, 3.0]\n}", E0408, "expected `,`");
	refuse("graph main {\n%0 constant i8[1] = [200]\n}", E0408, "does not fit i8");
	refuse("graph main {\n%0 constant f32[99999999999, 99999999999] = zeros\n}", E0408, "too many elements");
	refuse("graph main {\n%0 constant f32[9999999999] = hex \"00\"\n}", E0408, "bytes expected");
	refuse("graph main {\n%0 \"a", E0408, "does not end");
	refuse("graph main {\n%99999999999 variable", E0408, "is not between");
	refuse("graph main {\n host_store()\n}", E0409, "required attribute");
	refuse("graph main {\n%0 f32[2] = host_load() {h2d_stream = stream 0}\n}", E0408, "is not between");
}

int main(void)
{
	round_trip();
	by_hand();
	refusals();
	return check_done();
}
