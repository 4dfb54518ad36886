/* storage_test.c — views, modifying ops, calls by reference, and programs whose result would be ambiguous. */
#include "tests/ir/ir_test.h"

static Tensor *slice_(Bench *t, Build *b, Tensor *x, int64_t lo, int64_t hi)
{
	AttrVal *a = b_attrs(b, OP_slice, "start", attr_ints(&t->mem, &lo, 1), "stop", attr_ints(&t->mem, &hi, 1), "axis", attr_ints(&t->mem, (int64_t[]){ 0 }, 1), NULL);
	return ir_op_inplace(b, OP_slice, &x, 1, a, NULL)->out.at[0];
}

static Tensor *reshape_(Bench *t, Build *b, Tensor *x, int64_t n)
{
	return ir_op_inplace(b, OP_reshape, &x, 1, b_attrs(b, OP_reshape, "shape", attr_ints(&t->mem, &n, 1), NULL), NULL)->out.at[0];
}

static void layouts(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 2, 4, 6), *one = ir_constant(&t.b, host_scalar(&t.mem, DT_F32, 1), "one");
	Tensor *v = op1_(&t.b, OP_transpose, x), *s = slice_(&t, &t.b, x, 1, 3), *m = op2_(&t.b, OP_add, s, one);
	Layout lv = layout_of(v), ls = layout_of(m);
	CHECK("R139", lv.root == x && lv.stride[0] == 1 && lv.stride[1] == 6 && lv.offset == 0);
	CHECK("R139 R140", ls.root == x && ls.offset == 6 && ls.stride[0] == 6 && ls.stride[1] == 1);
	CHECK("R140", op_modifies(m->def, 0) && !op_modifies(m->def, 1) && op_output_aliases(m->def, 0) == 0);
	CHECK("R139", !op_modifies(s->def, 0) && op_output_aliases(s->def, 0) == 0);
	Tensor *plain = op1(&t.b, OP_transpose, x), *sum = op2(&t.b, OP_add, x, one);
	CHECK("R140", storage_root(plain) == plain && storage_root(sum) == sum && !op_modifies(sum->def, 0) && op_output_aliases(plain->def, 0) == -1);
	CHECK("R139", layout_contiguous(&ls, m->spec.shape) && !layout_contiguous(&lv, v->spec.shape));
	Tensor *flat = reshape_(&t, &t.b, x, 24), *lost = reshape_(&t, &t.b, v, 24);
	CHECK("R139", storage_root(flat) == x && storage_root(lost) == lost && op_output_aliases(lost->def, 0) == -1);
	CHECK("R141", m->spec.dtype == s->spec.dtype && shape_eq(m->spec.shape, s->spec.shape));
	Tensor *row = var_f32(&t, "row", 1, 6, 0), *wide = var_f32(&t, "wide", 2, 4, 6);
	CHECK("R141", op2_(&t.b, OP_add, row, wide)->poison && t.ds.errors == 1 && diag_is(&t, E0307));
	CHECK("R141", !op2_(&t.b, OP_add, wide, row)->poison && t.ds.errors == 1);
	bench_close(&t);
}

/* --- ambiguity ------------------------------------------------------------------------------------------------ */

static int ambiguous(Bench *t)
{
	int errors = t->ds.errors, ok = ir_check_ambiguity(t->ir);
	if (ok) return 0;
	return t->ds.errors > errors && diag_is(t, E0406) && !strncmp(last_diag(t)->text, "Inplacing ambiguity detected.", 29);
}

typedef void (*Make)(Bench *t, Build *b, Tensor *x);

static void relu_then_add(Bench *t, Build *b, Tensor *x)
{
	op1_(b, OP_relu, x);
	op2_(b, OP_add, x, b_like(b, x, 1));
	(void)t;
}
static void relu_twice(Bench *t, Build *b, Tensor *x) { op1_(b, OP_relu, x), op1_(b, OP_relu, x), (void)t; }
static void relu_and_gelu(Bench *t, Build *b, Tensor *x) { op1_(b, OP_relu, x), op1_(b, OP_gelu, x), (void)t; }
static void add_and_copy(Bench *t, Build *b, Tensor *x)
{
	op2(b, OP_add, x, b_like(b, x, 5));
	op2_(b, OP_copy_var_update, x, b_zeros(b, x->spec));
	(void)t;
}
static void relu_and_relu_(Bench *t, Build *b, Tensor *x)
{
	Tensor *y = op1(b, OP_relu, x), *z = op1_(b, OP_relu, x);
	op2_(b, OP_add, y, z);
	(void)t;
}
static void through_view(Bench *t, Build *b, Tensor *x) { op1_(b, OP_relu, slice_(t, b, x, 0, 1)), op1(b, OP_exp, x); }
static void apart(Bench *t, Build *b, Tensor *x) { op1_(b, OP_relu, slice_(t, b, x, 0, 1)), op1(b, OP_exp, slice_(t, b, x, 2, 3)); }
static void relu_relu(Bench *t, Build *b, Tensor *x) { op2_(b, OP_add, op1(b, OP_relu, x), op1(b, OP_relu, x)), (void)t; }
static void chained(Bench *t, Build *b, Tensor *x) { op1_(b, OP_relu, op1_(b, OP_relu, x)), (void)t; }
static void sequenced(Bench *t, Build *b, Tensor *x)
{
	b->seq = SEQ_TRUE;
	relu_then_add(t, b, x);
	relu_and_relu_(t, b, x);
}

static void all_in_sequence(Bench *t, Build *b, Tensor *x)
{
	b->seq = SEQ_TRUE;
	relu_twice(t, b, x);
	relu_and_gelu(t, b, x);
	add_and_copy(t, b, x);
	through_view(t, b, x);
}

static int in_main(Make make)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	make(&t, &t.b, x);
	int r = ambiguous(&t);
	bench_close(&t);
	return r;
}

static int on_input(Make make)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "g"));
	make(&t, &g, ir_input(&g, spec_f32(1, 4, 0), "x", 1));
	int r = ambiguous(&t);
	bench_close(&t);
	return r;
}

/* on a tensor that an op of a subgraph made */
static int inside(Make make)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "g"));
	make(&t, &g, op1(&g, OP_exp, ir_input(&g, spec_f32(1, 4, 0), "x", 0)));
	int r = ambiguous(&t);
	bench_close(&t);
	return r;
}

static int on_load(Make make)
{
	Bench t;
	bench_open(&t);
	Stream *s = ir_stream(&t.b, 1, spec_f32(1, 4, 0), "s");
	make(&t, &t.b, ir_op(&t.b, OP_host_load, NULL, 0, b_attrs(&t.b, OP_host_load, "h2d_stream", attr_ptr(s), NULL), NULL)->out.at[0]);
	int r = ambiguous(&t);
	bench_close(&t);
	return r;
}

static void ambiguity(void)
{
	CHECK("R143 R144", in_main(relu_then_add) && on_input(relu_then_add) && on_load(relu_then_add));
	CHECK("R144", in_main(relu_twice) && on_input(relu_twice) && on_load(relu_twice));
	CHECK("R144", in_main(relu_and_gelu) && in_main(add_and_copy) && in_main(relu_and_relu_));
	CHECK("R144", inside(relu_then_add) && inside(relu_twice) && inside(relu_and_gelu) && inside(add_and_copy) && inside(relu_and_relu_));
	CHECK("R143", in_main(through_view));
	CHECK("R146", in_main(apart) && on_input(apart));
	CHECK("R145", !in_main(relu_relu) && !in_main(chained) && !in_main(sequenced) && !in_main(all_in_sequence) && !inside(all_in_sequence) && !on_input(sequenced) && !on_load(chained));
}

static void exec_orders(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	op1_(&t.b, OP_relu, x);
	t.b.exec = EXEC_ACCUMULATE_OUTER;
	op1(&t.b, OP_exp, x);
	CHECK("R143 R142", ir_check_ambiguity(t.ir));
	bench_close(&t);
}

static void constants_and_copies(void)
{
	Bench t;
	bench_open(&t);
	Tensor *c = ir_constant(&t.b, host_new(&t.mem, DT_F32, (Shape){ 1, { 4 } }), "c");
	CHECK("R148", op1_(&t.b, OP_relu, c)->poison && t.ds.errors == 1);
	bench_close(&t);
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 2, 4, 6);
	op1_(&t.b, OP_relu, reshape_(&t, &t.b, op1_(&t.b, OP_transpose, x), 24));
	CHECK("R139", ir_check_ambiguity(t.ir));
	c = ir_constant(&t.b, host_new(&t.mem, DT_F32, (Shape){ 1, { 24 } }), "c");
	Tensor *flat = t.ir->main->ops.at[1]->out.at[0];
	op1_(&t.b, OP_relu, ir_op_inplace(&t.b, OP_concat, (Tensor *[]){ flat, c }, 2, NULL, NULL)->out.at[0]);
	CHECK("R139 R148", !ir_check_ambiguity(t.ir) && t.ds.at.at[0]->code == E0407);
	bench_close(&t);
}

/* --- calls ----------------------------------------------------------------------------------------------------- */

static Graph *accumulate(Bench *t, int by_ref)
{
	Build g = ir_build(ir_graph(t->ir, "acc"));
	Tensor *x = ir_input(&g, spec_f32(1, 4, 0), "x", by_ref), *y = ir_input(&g, spec_f32(1, 4, 0), "y", 0);
	op2_(&g, OP_accumulate, reshape_(t, &g, x, 4), y);
	return g.g;
}

static void calls(void)
{
	Bench t;
	bench_open(&t);
	Tensor *v = var_f32(&t, "v", 1, 4, 0), *w = var_f32(&t, "w", 1, 4, 0);
	Graph *val = accumulate(&t, 0), *ref = accumulate(&t, 1);
	CHECK("R164", graph_modifies_input(val, 0) && !graph_modifies_input(val, 1));
	Op *a = ir_call(&t.b, OP_call, val, NULL, (Tensor *[]){ v, w }, 2, NULL);
	CHECK("R160", !op_modifies(a, 0) && !op_modifies(a, 1));
	Op *b = ir_call(&t.b, OP_call, ref, NULL, (Tensor *[]){ v, w }, 2, NULL);
	CHECK("R35 R36 R161 A76", op_modifies(b, 0) && !op_modifies(b, 1) && b->modified.at[0] == BY_REF);
	CHECK("R161 R162", ir_mark_modified(&t.b, a, 0, 1) && op_modifies(a, 0));
	CHECK("R162", ir_mark_modified(&t.b, a, 1, 1) && !op_modifies(a, 1));
	CHECK("R162", ir_mark_modified(&t.b, a, 1, 0) && op_modifies(a, 1));
	CHECK("R162", !ir_mark_modified(&t.b, a, 2, 0) && diag_is(&t, E0432));
	CHECK("R167 R143", !ir_check_ambiguity(t.ir));
	bench_close(&t);
	bench_open(&t);
	Tensor *c = ir_constant(&t.b, host_new(&t.mem, DT_F32, (Shape){ 1, { 4 } }), "c");
	ir_call(&t.b, OP_call, accumulate(&t, 0), NULL, (Tensor *[]){ c, c }, 2, NULL);
	CHECK("R148 R160", ir_check_ambiguity(t.ir));
	ir_call(&t.b, OP_call, accumulate(&t, 1), NULL, (Tensor *[]){ c, c }, 2, NULL);
	CHECK("R148", !ir_check_ambiguity(t.ir) && t.ds.at.at[0]->code == E0404);
	Tensor *part = slice_(&t, &t.b, c, 0, 2);
	CHECK("R148", op1_(&t.b, OP_relu, part)->poison && diag_is(&t, E0322));
	bench_close(&t);
}

static void nested_refs(void)
{
	Bench t;
	bench_open(&t);
	Graph *ref = accumulate(&t, 1);
	Build o = ir_build(ir_graph(t.ir, "outer")), p = ir_build(ir_graph(t.ir, "value"));
	Tensor *x = ir_input(&o, spec_f32(1, 4, 0), "x", 1), *y = ir_input(&o, x->spec, "y", 0);
	ir_call(&o, OP_call, ref, NULL, (Tensor *[]){ x, y }, 2, NULL);
	CHECK("R165", graph_modifies_input(o.g, 0) && !graph_modifies_input(o.g, 1));
	Tensor *u = ir_input(&p, x->spec, "x", 1), *z = ir_input(&p, x->spec, "y", 0);
	ir_call(&p, OP_call, accumulate(&t, 0), NULL, (Tensor *[]){ u, z }, 2, NULL);
	CHECK("R165", !graph_modifies_input(p.g, 0));
	Build r = ir_build(ir_graph(t.ir, "body"));
	Tensor *c = ir_input(&r, x->spec, "c", 1);
	ir_output(&r, op1(&r, OP_exp, c));
	Tensor *v = var_f32(&t, "v", 1, 4, 0);
	Op *rep = ir_call(&t.b, OP_repeat, r.g, NULL, &v, 1, b_attrs(&t.b, OP_repeat, "repeat_count", attr_int(2), NULL));
	CHECK("R181", op_modifies(rep, 0));
	CHECK("R180", !graph_modifies_input(r.g, 0));
	bench_close(&t);
}

/* Each level calls the one below twice: answered once per level, or never in our lifetime. */
static void many_paths(void)
{
	Bench t;
	bench_open(&t);
	Graph *below = ir_graph(t.ir, "g");
	Build b = ir_build(below);
	op1(&b, OP_exp, ir_input(&b, spec_f32(1, 4, 0), "x", 1));
	for (int i = 0; i < 60; i++) {
		b = ir_build(ir_graph(t.ir, "g"));
		Tensor *x = ir_input(&b, spec_f32(1, 4, 0), "x", 1);
		for (int k = 0; k < 2; k++) ir_call(&b, OP_call, below, NULL, &x, 1, NULL);
		below = b.g;
	}
	CHECK("R165", !graph_modifies_input(below, 0));
	bench_close(&t);
}

/* an output that is the callee's input is a new tensor in the caller */
static void outputs_are_copies(void)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "same"));
	ir_output(&g, ir_input(&g, spec_f32(1, 4, 0), "x", 1));
	Tensor *v = var_f32(&t, "v", 1, 4, 0);
	Op *call = ir_call(&t.b, OP_call, g.g, NULL, &v, 1, NULL);
	CHECK("R166 R27", op_output_aliases(call, 0) == -1 && storage_root(call->out.at[0]) == call->out.at[0]);
	Build e = ir_build(ir_graph(t.ir, "empty"));
	Op *none = ir_call(&t.b, OP_repeat, e.g, NULL, NULL, 0, b_attrs(&t.b, OP_repeat, "repeat_count", attr_int(2), NULL));
	CHECK("R27 R185", t.ds.errors == 0 && none->out.n == 0 && verified(&t));
	CHECK("R159", ir_call(&t.b, OP_call, g.g, NULL, &v, 1, NULL)->callee[0] == call->callee[0] && g.g->calls.n == 2);
	bench_close(&t);
}

static void stores_read(void)
{
	Bench t;
	bench_open(&t);
	Tensor *v = var_f32(&t, "v", 1, 4, 0);
	Stream *s = ir_stream(&t.b, 0, v->spec, "s");
	AttrVal *a = b_attrs(&t.b, OP_host_store, "d2h_stream", attr_ptr(s), NULL);
	ir_op(&t.b, OP_host_store, &v, 1, a, NULL);
	ir_op(&t.b, OP_host_store, &v, 1, a, NULL);
	CHECK("R147", ir_check_ambiguity(t.ir));
	op1_(&t.b, OP_relu, v);
	CHECK("R147 R143", ambiguous(&t));
	bench_close(&t);
}

static void twice_by_ref(void)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "two"));
	Tensor *x = ir_input(&g, spec_f32(1, 4, 0), "x", 1);
	ir_input(&g, x->spec, "y", 1);
	op1_(&g, OP_relu, x);
	Tensor *v = var_f32(&t, "v", 1, 4, 0);
	ir_call(&t.b, OP_call, g.g, NULL, (Tensor *[]){ v, v }, 2, NULL);
	CHECK("R163 R143", ambiguous(&t));
	bench_close(&t);
}

static void many_writers(void)
{
	enum { N = 3000 };
	Bench t;
	bench_open(&t);
	Tensor *v = var_f32(&t, "v", 1, 4, 0), *one = ir_constant(&t.b, host_scalar(&t.mem, DT_F32, 1), "one"), *x = v;
	for (int i = 0; i < N; i++) x = op2_(&t.b, OP_add, x, one);
	CHECK("R145", ir_check_ambiguity(t.ir));
	op1(&t.b, OP_exp, t.ir->main->ops.at[N / 2]->out.at[0]);
	CHECK("R143", ambiguous(&t));
	bench_close(&t);
}

int main(void)
{
	layouts();
	ambiguity();
	exec_orders();
	constants_and_copies();
	calls();
	nested_refs();
	many_paths();
	outputs_are_copies();
	stores_read();
	twice_by_ref();
	many_writers();
	return check_done();
}
