/* diag_text_test.c — the whole texts of diagnostics that no model text leads to. */
#include "tests/ir/ir_test.h"

#include "compiler/passes/pass.h"
#include "compiler/transforms/autodiff.h"

static const char *last_text(Bench *t)
{
	Buf b = buf_new(&t->mem);
	diag_render(&t->ds, last_diag(t), 0, &b);
	return b.s;
}

static void frozen(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	t.ir->frozen = 1;
	op1(&t.b, OP_exp, x);
	CHECK_STR("R7", last_text(&t),
		"error[E0402]: an op added to a program that a session owns\n");
	bench_close(&t);
}

static void cycle(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = var_f32(&t, "x", 1, 4, 0);
	Op *a = op1(&t.b, OP_exp, x)->def, *b = op1(&t.b, OP_relu, a->out.at[0])->def;
	vec_push(&t.mem, &a->after, b);
	schedule(t.ir->main, &t.mem);
	CHECK_STR("R206", last_text(&t),
		"error[E0405]: the order of ops contradicts itself\n"
		"note: `exp` (op 100) waits for `relu` (op 101)\n"
		"note: `relu` (op 101) waits for `exp` (op 100)\n");
	bench_close(&t);
}

static void by_hand(void)
{
	Bench t;
	bench_open(&t);
	Graph *f = ir_graph(t.ir, "f"), *g = ir_graph(t.ir, "g");
	Build bf = ir_build(f), bg = ir_build(g);
	Tensor *x = ir_input(&bf, spec_f32(1, 4, 0), "x", 0), *y = ir_input(&bg, spec_f32(1, 4, 0), "y", 0);
	ir_output(&bf, op1(&bf, OP_exp, x));
	Op *call = ir_call(&bg, OP_call, f, NULL, (Tensor *[]){ y }, 1, NULL);
	ir_output(&bg, call->out.at[0]);
	f->not_differentiable = 1;
	CHECK("", !autodiff(&t.b, g, &(AutodiffOptions){ 0 }));
	CHECK_STR("R230 A97", last_text(&t),
		"error[E0506]: graph `f_subgraph(0)` is marked as unsafe to autodiff\n"
		"note: the graph that calls it is differentiated here\n"
		"help: give the callee's gradient information in `called_graphs_grad_info`\n");
	bench_close(&t);
}

static void contradiction(void)
{
	Bench t;
	bench_open(&t);
	CHECK("", !pass_bug(t.ir, (Span){ 0 }, "after %s: %s", "fuse", "op 3 reads what nobody writes"));
	CHECK_STR("", last_text(&t), "error[E0999]: internal error: after fuse: op 3 reads what nobody writes\n");
	bench_close(&t);
}

int main(void)
{
	frozen();
	cycle();
	by_hand();
	contradiction();
	return check_done();
}
