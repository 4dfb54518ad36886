/* places_test.c — programs over two IPUs as data: tests/exec/two_ipus.pxl is built, and its IR looked at.
 *
 * Operands of an op are where the op is, apart from ops that take operands of any place; the text of the IR gives
 * the same program back. */
#include "compiler/elab/elab.h"
#include "tests/ir/ir_test.h"

typedef struct Model { Bench t; Elab *e; } Model;

static int model_open(Model *m, const char *path)
{
	FILE *f = fopen(path, "rb");
	static char text[1 << 16];
	bench_open(&m->t);
	if (!f) return 0;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	m->e = elab_new(&(ElabOptions){ .mem = &m->t.mem, .names = &m->t.names, .srcs = &m->t.srcs, .ds = &m->t.ds, .seed = 1 });
	return elab_file(m->e, source_add(&m->t.srcs, path, NULL, text, n));
}

static int in_place(const Op *op, const Tensor *t)
{
	int ipu = tensor_ipu(t), io = tensor_tiles(t) == TILES_IO;
	if (ipu == IPU_UNKNOWN || op->code == OP_io_tile_copy) return 1;
	if (ipu == op->ipu && io == (op->tiles == TILES_IO)) return 1;
	printf("graph `%s`: op %d (`%s`) on IPU %d reads `%s` on IPU %d\n", op->graph->id, op->id, op_said(op), op->ipu, t->name, ipu);
	return 0;
}

/* ops on IPU 1 or io tiles; -1: one has an operand elsewhere */
static int count_placed(const Ir *ir)
{
	int n = 0, ok = 1;
	for (int g = 0; g < ir->graphs.n; g++)
		for (int i = 0; i < ir->graphs.at[g]->ops.n; i++) {
			const Op *op = ir->graphs.at[g]->ops.at[i];
			n += op->ipu == 1 || op->tiles == TILES_IO;
			for (int k = 0; k < op->in.n; k++)
				if (op->in.at[k] && !op_is(op, ACROSS)) ok &= in_place(op, op->in.at[k]);
		}
	return ok ? n : -1;
}

static const char *printed(Bench *t, const Ir *ir)
{
	Buf b = buf_new(&t->mem);
	ir_print(ir, &b);
	return b.s;
}

static void read_back(Bench *t, const Ir *ir)
{
	const char *text = printed(t, ir);
	Ir *again = ir_parse(&t->mem, &t->names, &t->ds, source_add(&t->srcs, "t.ir", NULL, text, strlen(text)));
	CHECK("R120", again != NULL);
	if (again) CHECK_STR("R120", printed(t, again), text);
}

static void programs(void)
{
	static const char *const names[] = { "trained", "inside", "shared", "tiles", "remote" };
	Model m;
	CHECK("", model_open(&m, "tests/exec/two_ipus.pxl"));
	for (int i = 0; i < 5; i++) {
		m.t.ir = elab_program(m.e, names[i], NULL, 0, 0);
		CHECK("", m.t.ir != NULL);
		if (!m.t.ir) continue;
		CHECK("R120", verified(&m.t));
		CHECK("R116 R254", count_placed(m.t.ir) > 0);
		read_back(&m.t, m.t.ir);
	}
	bench_close(&m.t);
}

/* Where `a` is follows from its first user, and where `b` is from a user behind the op that reads both. */
static void placed_later(void)
{
	Bench t;
	bench_open(&t);
	Build g = ir_build(ir_graph(t.ir, "g"));
	Tensor *a = ir_input(&g, spec_f32(1, 2, 0), "a", 0), *b = ir_input(&g, spec_f32(1, 2, 0), "b", 0);
	op1(&g, OP_exp, a);
	g.ipu = 1;
	ir_output(&g, op2(&g, OP_add, a, b));
	CHECK("R118", !t.ds.errors && tensor_ipu(a) == 0 && tensor_ipu(b) == 1);
	read_back(&t, t.ir);
	bench_close(&t);
}

int main(void)
{
	programs();
	placed_later();
	return check_done();
}
