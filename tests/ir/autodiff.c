/* autodiff — structure of gradient graphs, built through the IR's own interface. */
#include "compiler/ops/grad.h"
#include "compiler/transforms/autodiff.h"
#include "tests/check.h"

typedef struct World { Arena mem; Intern names; Sources srcs; Diags ds; Ir *ir; jmp_buf oom; } World;

static void world_begin(World *w)
{
	memset(w, 0, sizeof *w);
	arena_init(&w->mem, alloc_libc, NULL);
	w->mem.oom = &w->oom;
	intern_init(&w->names, &w->mem);
	w->srcs.mem = &w->mem;
	w->ds = (Diags){ .mem = &w->mem, .srcs = &w->srcs };
	w->ir = ir_new(&w->mem, &w->names, &w->ds, 1);
}

static void world_end(World *w) { arena_free(&w->mem); }

static Spec spec(DType t, int rank, int64_t a, int64_t b)
{
	return (Spec){ .dtype = t, .shape = { .rank = rank, .dim = { a, b } } };
}

/* y = x @ w + b */
static Graph *linear(World *w, Tensor **x, Tensor **weight, Tensor **bias)
{
	Graph *g = ir_graph(w->ir, "Linear");
	Build b = ir_build(g);

	*x = ir_input(&b, spec(DT_F32, 2, 2, 4), "x", 0);
	*weight = ir_input(&b, spec(DT_F32, 2, 4, 3), "weight", 0);
	*bias = ir_input(&b, spec(DT_F32, 1, 3, 0), "bias", 0);
	ir_output(&b, b_op2(&b, OP_add, b_matmul(&b, *x, *weight), *bias));
	g->written_outputs = g->outputs.n;
	return g;
}

static int well_formed(World *w)
{
	Buf why = buf_new(&w->mem);
	int ok = ir_verify(w->ir, &why);

	if (!ok) printf("%s\n", why.s);
	return ok;
}

static int has_diag(const World *w, DiagCode c)
{
	for (int i = 0; i < w->ds.at.n; i++)
		if (w->ds.at.at[i]->code == c) return 1;
	return 0;
}

static Tensor *variable(World *w, Build *b, Spec s, const char *name)
{
	return ir_variable(b, host_new(&w->mem, s.dtype, s.shape), name);
}

/* Element i of a list, or something that is none of it: a list that is too short fails the assertion, not the program. */
static Tensor nobody = { .name = "", .input_index = -1, .graph = NULL };
static Tensor *tensor_at(Tensor *const *at, int n, int i) { return i < n ? at[i] : &nobody; }
#define AT(list, i) tensor_at((list).at, (list).n, i)

static Expected expected_at(const Expected *at, int n, int i) { return i < n ? at[i] : (Expected){ (Connection)2, &nobody }; }
#define EXPECTED(list, i) expected_at((list).at, (list).n, i)

static GradInfo *record_of(const Map *all, const Graph *g)
{
	static GradInfo none;
	GradInfo *gi = map_get(all, g);
	return gi ? gi : &none;
}

/* R217: an entry for every input and output of the gradient graph, in their order: the same value, or its gradient */
static int in_step(const GradInfo *gi)
{
	const Graph *g = gi->graph;
	int ok = gi->ins.n == g->inputs.n && gi->outs.n == g->outputs.n;
	for (int i = 0; ok && i < gi->ins.n; i++) {
		const Expected *e = &gi->ins.at[i];
		const Tensor *t = g->inputs.at[i];
		char name[100];
		snprintf(name, sizeof name, "%s%s", e->type == CONN_FWD_GRAD ? "Gradient___" : "", e->fwd->name);
		ok = t->input_index == i && !strncmp(t->name, name, strlen(name)) && t->spec.dtype == e->fwd->spec.dtype && shape_eq(t->spec.shape, e->fwd->spec.shape);
	}
	for (int i = 0; ok && i < gi->outs.n; i++) ok = gi->outs.at[i].type == CONN_FWD_GRAD && shape_eq(g->outputs.at[i]->spec.shape, gi->outs.at[i].fwd->spec.shape);
	return ok;
}

static void test_linear(void)
{
	World w;
	Tensor *x, *wt, *bias;

	world_begin(&w);
	Graph *g = linear(&w, &x, &wt, &bias);
	Build at = ir_build(w.ir->main);
	int main_ops = w.ir->main->ops.n;
	AutodiffOptions o = { 0 };
	GradInfo *gi = autodiff(&at, g, &o);

	CHECK("R214 A100", gi && gi->graph != g && gi->graph != w.ir->main && w.ir->main->ops.n == main_ops);
	if (!gi) { world_end(&w); return; }
	CHECK("R215", gi->fwd == g && gi->graph->ir == w.ir);
	CHECK("R45", !strcmp(gi->graph->id, "Linear_subgraph(0)_bwd"));
	CHECK("R217", in_step(gi));
	CHECK("R218", gi->outs.n == 3 && gi->ins.n > 0 && EXPECTED(gi->ins, 0).fwd == g->outputs.at[0] && EXPECTED(gi->ins, 1).type != CONN_FWD_GRAD);
	for (int i = 0; i < 3; i++) CHECK("R218", EXPECTED(gi->outs, i).fwd == g->inputs.at[i]);
	CHECK("R219 A103", EXPECTED(gi->ins, 0).type == CONN_FWD_GRAD && EXPECTED(gi->ins, 0).fwd == g->outputs.at[0]);
	CHECK("R220", gi->ins.n == 3 && EXPECTED(gi->ins, 1).type == CONN_FWD && EXPECTED(gi->ins, 2).type == CONN_FWD);
	for (int i = 1; i < gi->ins.n; i++) CHECK("R220", gi->ins.at[i].fwd->graph == g && gi->ins.at[i].fwd->input_index >= 0);
	for (int i = 0; i < 3; i++) {
		CHECK("R221 A104", EXPECTED(gi->outs, i).type == CONN_FWD_GRAD && EXPECTED(gi->outs, i).fwd == g->inputs.at[i]);
		CHECK("R222", AT(gi->graph->outputs, i)->spec.dtype == DT_F32 && shape_eq(AT(gi->graph->outputs, i)->spec.shape, g->inputs.at[i]->spec.shape));
	}
	CHECK_STR("R236 R52", AT(gi->graph->outputs, 0)->name, "Gradient___x");
	CHECK_STR("R236 R52", AT(gi->graph->outputs, 1)->name, "Gradient___weight");
	CHECK_STR("R236", AT(gi->graph->inputs, 0)->name, "Gradient___add_out");
	CHECK("R223", g->outputs.n == 1);                       /* nothing from the inside is needed */
	CHECK("R214", well_formed(&w));
	world_end(&w);
}

/* required in another order, and only some */
static void test_required(void)
{
	World w;
	Tensor *x, *wt, *bias;

	world_begin(&w);
	Graph *g = linear(&w, &x, &wt, &bias);
	Build at = ir_build(w.ir->main);
	Tensor *req[2] = { bias, wt };
	GradInfo *gi = autodiff(&at, g, &(AutodiffOptions){ .required = req, .nrequired = 2 });

	CHECK("R221", gi && gi->outs.n == 2 && gi->outs.at[0].fwd == bias && gi->outs.at[1].fwd == wt);
	CHECK("R246", gi && gi->ins.n == 2 && gi->ins.at[1].fwd == x);       /* no product for x, so weight is not asked for */
	GradInfo *again = autodiff(&at, g, &(AutodiffOptions){ .required = req, .nrequired = 1 });
	CHECK("R45", gi && again && strcmp(again->graph->id, gi->graph->id));
	CHECK("", well_formed(&w));
	world_end(&w);
}

/* z = gelu(x @ w): the product is needed, so it becomes an output; calls made before follow */
static void test_stitching(void)
{
	World w;

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Tensor *x = ir_input(&b, spec(DT_F32, 2, 2, 4), "x", 0), *wt = ir_input(&b, spec(DT_F32, 2, 4, 3), "w", 0);
	Tensor *p = b_matmul(&b, x, wt), *y = b_op1(&b, OP_gelu, p);

	ir_output(&b, y);
	g->written_outputs = 1;
	Tensor *in[2] = { variable(&w, &m, x->spec, "x"), variable(&w, &m, wt->spec, "w") };
	Op *early = ir_call(&m, OP_call, g, NULL, in, 2, NULL);
	Tensor *result = early->out.at[0];
	GradInfo *gi = autodiff(&m, g, &(AutodiffOptions){ 0 });
	Op *late = ir_call(&m, OP_call, g, NULL, in, 2, NULL);

	CHECK("R214", gi && in_step(gi));
	CHECK("R223 A100", g->outputs.n == 2 && AT(g->outputs, 1) == p && g->written_outputs == 1);
	CHECK("R237 R239", early->out.n == 2 && late->out.n == 2);
	if (!gi) { world_end(&w); return; }
	CHECK("R240", early->out.at[0] == result && g->outputs.at[0] == y);
	CHECK("R52", strstr(AT(early->out, 1)->name, "autodiff_output") != NULL);
	Map *d = gradinfo_inputs_dict(&m, gi, early);
	CHECK("R232 A105", d && d->n == gi->ins.n - 1);
	for (int i = 1; d && i < gi->ins.n; i++) {
		Tensor *t = gi->ins.at[i].fwd, *got = map_get(d, gi->graph->inputs.at[i]);
		CHECK("R232", got == (t == x ? in[0] : t == wt ? in[1] : AT(early->out, 1)));
	}
	Tensor **gin = NEWN(&w.mem, Tensor *, gi->ins.n);
	gin[0] = b_zeros(&m, y->spec);
	for (int i = 1; i < gi->ins.n; i++) gin[i] = d ? map_get(d, AT(gi->graph->inputs, i)) : NULL;
	Op *bwd = ir_call(&m, OP_call, gi->graph, NULL, gin, gi->ins.n, NULL);
	Map *gm = gradinfo_fwd_graph_ins(&m, gi, bwd), *pm = gradinfo_fwd_parent_ins(&m, gi, early, bwd);
	CHECK("R234 A107", gm && map_get(gm, x) == AT(bwd->out, 0) && map_get(gm, wt) == AT(bwd->out, 1));
	CHECK("R235 A106", pm && map_get(pm, in[0]) == AT(bwd->out, 0) && map_get(pm, in[1]) == AT(bwd->out, 1));
	CHECK("R236", strstr(AT(bwd->out, 0)->name, "Gradient___x") != NULL);
	CHECK("R233", !w.ds.errors && well_formed(&w));
	CHECK("R232", !gradinfo_inputs_dict(&m, gi, bwd) && has_diag(&w, E0507));
	/* a later default request provides what the user wrote, not the added output */
	GradInfo *two = autodiff(&m, g, &(AutodiffOptions){ 0 });
	int n = 0;
	for (int i = 0; two && i < two->ins.n; i++) n += two->ins.at[i].type == CONN_FWD_GRAD;
	CHECK("R224", n == 1);
	world_end(&w);
}

static void test_sums(void)
{
	World w;

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Tensor *a = ir_input(&b, spec(DT_F32, 1, 4, 0), "a", 0);

	ir_output(&b, b_op2(&b, OP_add, a, a));
	g->written_outputs = 1;
	GradInfo *gi = autodiff(&m, g, &(AutodiffOptions){ 0 });
	Op *def = gi ? AT(gi->graph->outputs, 0)->def : NULL;
	CHECK("R242 A110", def && def->code == OP_sum_n && def->in.n == 2 && def->in.at[0] == def->in.at[1]);
	CHECK("", well_formed(&w));
	world_end(&w);
}

/* f calls g twice: one gradient graph, called twice */
static void test_nested(void)
{
	World w;
	Tensor *x, *wt, *bias;

	world_begin(&w);
	Graph *g = linear(&w, &x, &wt, &bias), *f = ir_graph(w.ir, "F");
	Build b = ir_build(f), m = ir_build(w.ir->main);
	Tensor *fx = ir_input(&b, x->spec, "x", 0), *fw = ir_input(&b, wt->spec, "w", 0), *fb = ir_input(&b, bias->spec, "b", 0);
	Tensor *in[3] = { fx, fw, fb };
	Tensor *p = ir_call(&b, OP_call, g, NULL, in, 3, NULL)->out.at[0], *q = ir_call(&b, OP_call, g, NULL, in, 3, NULL)->out.at[0];
	Map all = { 0 };

	ir_output(&b, b_op2(&b, OP_mul, p, q));
	f->written_outputs = 1;
	GradInfo *gi = autodiff(&m, f, &(AutodiffOptions){ .all = &all });
	int calls = 0;
	Graph *callee = NULL;
	for (int i = 0; gi && i < gi->graph->ops.n; i++) {
		Op *op = gi->graph->ops.at[i];
		if (op->code != OP_call) continue;
		CHECK("R192 A109", !callee || op->callee[0] == callee);
		callee = op->callee[0];
		calls++;
	}
	CHECK("R192 R251 A108 A109", calls == 2);
	CHECK("R253", gi && all.n == 2 && map_get(&all, f) == gi && callee && record_of(&all, g)->graph == callee);
	CHECK("R251", record_of(&all, g)->outs.n == 3);
	CHECK("R238", well_formed(&w) && !w.ds.errors);
	/* the callee's record may be given */
	Map given = { 0 }, all2 = { 0 };
	if (map_get(&all, g)) map_set(&w.mem, &given, g, map_get(&all, g));
	GradInfo *two = autodiff(&m, f, &(AutodiffOptions){ .called = &given, .all = &all2 });
	CHECK("R251", two && map_get(&all2, g) == map_get(&all, g));
	CHECK("R253", all2.n == 2 && map_get(&all2, g) && map_get(&all2, f) == two);      /* supplied ones too */
	g->not_differentiable = 1;
	CHECK("R230", autodiff(&m, f, &(AutodiffOptions){ .called = &given }) != NULL);
	CHECK("R230 A97", !autodiff(&m, f, &(AutodiffOptions){ 0 }) && has_diag(&w, E0506));
	world_end(&w);
}

static Graph *one_op(World *w, int code, DType t, Tensor **x)
{
	Graph *g = ir_graph(w->ir, "G");
	Build b = ir_build(g);

	*x = ir_input(&b, spec(t, 1, 4, 0), "x", 0);
	ir_output(&b, b_op1(&b, code, *x));
	g->written_outputs = 1;
	return g;
}

static void test_refusals(void)
{
	World w;
	Tensor *x;

	world_begin(&w);
	Build m = ir_build(w.ir->main);
	CHECK("R231", !autodiff(&m, w.ir->main, &(AutodiffOptions){ 0 }) && has_diag(&w, E0501));
	Graph *g = one_op(&w, OP_detach, DT_F32, &x);
	CHECK("R226 R247", !autodiff(&m, g, &(AutodiffOptions){ 0 }) && has_diag(&w, E0503));
	GradInfo *z = autodiff(&m, g, &(AutodiffOptions){ .zeros = 1 });
	CHECK("A104", z && z->outs.n == 1 && !strcmp(z->graph->outputs.at[0]->name, "Gradient___x"));
	CHECK("R219", has_diag(&w, W0501));
	Tensor *none = NULL;
	CHECK("R228", !autodiff(&m, g, &(AutodiffOptions){ .required = &none, .nrequired = 0 }) && has_diag(&w, E0505));

	Graph *h = one_op(&w, OP_relu, DT_F32, &x);
	Build b = ir_build(h);
	Tensor *other = w.ir->graphs.at[1]->inputs.at[0];
	int before = w.ds.errors;
	CHECK("R228", !autodiff(&m, h, &(AutodiffOptions){ .required = &other, .nrequired = 1 }) && w.ds.errors == before + 1);
	CHECK("R228", autodiff(&m, h, &(AutodiffOptions){ .provided = &h->inputs.at[0], .nprovided = 1 }) && has_diag(&w, W0502));
	ir_input(&b, spec(DT_I32, 0, 0, 0), "n", 0);
	before = w.ds.errors;
	CHECK("R226 R227 A101", !autodiff(&m, h, &(AutodiffOptions){ 0 }) && w.ds.errors == before + 1);
	CHECK("A101", strstr(vec_last(&w.ds.at)->text, "`n`") != NULL);
	CHECK("R227", autodiff(&m, h, &(AutodiffOptions){ .required = h->inputs.at, .nrequired = 1 }) != NULL);

	Tensor *in[2] = { x, b_scalar(&b, DT_F32, 1) };
	ir_op_inplace(&b, OP_add, in, 2, NULL, NULL);
	CHECK("R225", !autodiff(&m, h, &(AutodiffOptions){ .required = h->inputs.at, .nrequired = 1 }) && has_diag(&w, E0502));
	CHECK("R225", !strncmp(vec_last(&w.ds.at)->text, "The graph G_subgraph(1) contains a modifying op: `add_`", 54));
	world_end(&w);
}

/* an op without a gradient matters only on the way to a required tensor */
static void test_off_path(void)
{
	World w;

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Tensor *x = ir_input(&b, spec(DT_F32, 1, 4, 0), "x", 0), *y = ir_input(&b, spec(DT_F32, 1, 4, 0), "y", 0);
	Tensor *mask = b_cast(&b, b_op2(&b, OP_greater, y, x), DT_F32);

	ir_output(&b, b_op2(&b, OP_mul, x, mask));
	g->written_outputs = 1;
	GradInfo *gi = autodiff(&m, g, &(AutodiffOptions){ .required = &x, .nrequired = 1 });
	CHECK("R229 R247", gi && gi->outs.n == 1);
	CHECK("R229", well_formed(&w));
	world_end(&w);
}

/* on the way it is refused, by name and at its line, and nothing is built; other inputs have their gradients */
static void test_on_path(void)
{
	World w;

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G"), *outer = ir_graph(w.ir, "O");
	Build b = ir_build(g), m = ir_build(w.ir->main), ob = ir_build(outer);
	Tensor *x = ir_input(&b, spec(DT_F32, 1, 4, 0), "x", 0), *y = ir_input(&b, spec(DT_F32, 1, 4, 0), "y", 0);
	b.at = (Span){ 0, 7, 9 };
	Tensor *s = b_op2(&b, OP_apply_mask, b_op1(&b, OP_tanh, x), b_like(&b, x, 1));

	ir_output(&b, b_op2(&b, OP_mul, b_op1(&b, OP_exp, s), y));
	g->written_outputs = 1;
	int graphs = w.ir->graphs.n;
	CHECK("R229", !op_table[OP_apply_mask]->grad && !autodiff(&m, g, &(AutodiffOptions){ .required = &x, .nrequired = 1 }));
	CHECK("R229", w.ds.errors == 1 && w.ds.at.n == 1 && vec_last(&w.ds.at)->code == E0504 && w.ir->graphs.n == graphs);
	CHECK_STR("R229", w.ds.at.n ? vec_last(&w.ds.at)->text : "", "`apply_mask` has no gradient");
	CHECK("R229", w.ds.at.n && vec_last(&w.ds.at)->at.lo == 7 && strstr(vec_last(&w.ds.at)->label, "`x`"));
	CHECK("R229", autodiff(&m, g, &(AutodiffOptions){ .required = &y, .nrequired = 1 }) && w.ds.errors == 1);
	CHECK("R229", !autodiff(&m, g, &(AutodiffOptions){ 0 }) && w.ds.errors == 2);          /* both: x is among them */
	/* in a graph that is called, too */
	Tensor *in[2] = { ir_input(&ob, x->spec, "x", 0), ir_input(&ob, y->spec, "y", 0) };
	ir_output(&ob, ir_call(&ob, OP_call, g, NULL, in, 2, NULL)->out.at[0]);
	outer->written_outputs = 1;
	CHECK("R229", !autodiff(&m, outer, &(AutodiffOptions){ .required = in, .nrequired = 1 }) && w.ds.errors == 3 && vec_last(&w.ds.at)->code == E0504);
	CHECK("R229", autodiff(&m, outer, &(AutodiffOptions){ .required = in + 1, .nrequired = 1 }) && w.ds.errors == 3);
	world_end(&w);
}

/* a * 3 if c else a + 3: the gradient is asked for the state of each turn, and then needs none */
static Graph *straight_body(World *w)
{
	Graph *yes = ir_graph(w->ir, "Yes"), *no = ir_graph(w->ir, "No"), *body = ir_graph(w->ir, "Body");
	Build y = ir_build(yes), n = ir_build(no), b = ir_build(body);
	Tensor *a = ir_input(&y, spec(DT_F32, 1, 4, 0), "a", 0);

	ir_output(&y, b_op2(&y, OP_mul, a, b_like(&y, a, 3)));
	a = ir_input(&n, spec(DT_F32, 1, 4, 0), "a", 0);
	ir_output(&n, b_op2(&n, OP_add, a, b_like(&n, a, 3)));
	Tensor *in[3] = { NULL, ir_input(&b, spec(DT_F32, 1, 4, 0), "a", 0), NULL };
	in[0] = ir_input(&b, spec(DT_BOOL, 0, 0, 0), "c", 0);
	in[2] = in[1];
	ir_output(&b, ir_call(&b, OP_conditional, yes, no, in, 3, NULL)->out.at[0]);
	yes->written_outputs = no->written_outputs = body->written_outputs = 1;
	return body;
}

static void test_unneeded(void)
{
	World w;

	world_begin(&w);
	Graph *body = straight_body(&w), *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Tensor *in[2] = { ir_input(&b, spec(DT_F32, 1, 4, 0), "a", 0), ir_input(&b, spec(DT_BOOL, 0, 0, 0), "c", 0) };

	ir_output(&b, ir_call(&b, OP_repeat, body, NULL, in, 2, b_attrs(&b, OP_repeat, "repeat_count", attr_int(2), NULL))->out.at[0]);
	g->written_outputs = 1;
	GradInfo *gi = autodiff(&m, g, &(AutodiffOptions){ .required = in, .nrequired = 1 });
	CHECK("R217", gi && gi->graph->inputs.n == 2 && in_step(gi));
	CHECK("R217", gi && gi->ins.n == 2 && EXPECTED(gi->ins, 1).fwd == in[1]);
	CHECK("R217", well_formed(&w));
	world_end(&w);
}

/* only what is needed is asked for; a provided gradient stays, needed or not */
static void test_sides(void)
{
	World w;

	world_begin(&w);
	Graph *g = ir_graph(w.ir, "G");
	Build b = ir_build(g), m = ir_build(w.ir->main);
	Tensor *x = ir_input(&b, spec(DT_F32, 1, 2, 0), "x", 0), *y = ir_input(&b, spec(DT_F32, 1, 3, 0), "y", 0), *z = ir_input(&b, spec(DT_F32, 1, 5, 0), "z", 0);

	ir_output(&b, b_op2(&b, OP_mul, x, x));
	ir_output(&b, b_op1(&b, OP_exp, y));
	ir_output(&b, b_op1(&b, OP_sin, z));
	g->written_outputs = 3;
	GradInfo *gi = autodiff(&m, g, &(AutodiffOptions){ 0 });
	CHECK("R217", gi && in_step(gi) && gi->ins.n == 6);
	Tensor *req[2] = { z, x };
	gi = autodiff(&m, g, &(AutodiffOptions){ .required = req, .nrequired = 2 });
	CHECK("R217 R219", gi && in_step(gi) && gi->ins.n == 5 && has_diag(&w, W0501));      /* y's gradient has no effect, exp(y) is not asked for */
	for (int i = 0; gi && i < 3; i++) CHECK("R217 R219", EXPECTED(gi->ins, i).fwd == g->outputs.at[i] && EXPECTED(gi->ins, i).type == CONN_FWD_GRAD);
	for (int i = 3; gi && i < 5; i++) CHECK("R217", EXPECTED(gi->ins, i).fwd == x || EXPECTED(gi->ins, i).fwd == z);
	CHECK("R217 R221", gi && EXPECTED(gi->outs, 0).fwd == z && EXPECTED(gi->outs, 1).fwd == x);
	world_end(&w);
}

static Graph *square_body(World *w)
{
	Graph *g = ir_graph(w->ir, "Body");
	Build b = ir_build(g);
	Tensor *x = ir_input(&b, spec(DT_F32, 1, 4, 0), "x", 0), *v = ir_input(&b, spec(DT_F32, 1, 4, 0), "v", 0);

	ir_output(&b, b_op1(&b, OP_tanh, b_op2(&b, OP_mul, x, v)));
	g->written_outputs = 1;
	return g;
}

static void test_loops(void)
{
	World w;

	world_begin(&w);
	Graph *body = square_body(&w), *f = ir_graph(w.ir, "F"), *c = ir_graph(w.ir, "C");
	Build b = ir_build(f), m = ir_build(w.ir->main), cb = ir_build(c);
	Tensor *in[2] = { ir_input(&b, spec(DT_F32, 1, 4, 0), "x", 0), ir_input(&b, spec(DT_F32, 1, 4, 0), "v", 0) };
	AttrVal *attrs = b_attrs(&b, OP_repeat, "repeat_count", attr_int(3), NULL);

	ir_output(&b, ir_call(&b, OP_repeat, body, NULL, in, 2, attrs)->out.at[0]);
	f->written_outputs = 1;
	GradInfo *gi = autodiff(&m, f, &(AutodiffOptions){ 0 });
	int loops = 0;
	for (int i = 0; gi && i < gi->graph->ops.n; i++) loops += gi->graph->ops.at[i]->code == OP_repeat && op_attr(gi->graph->ops.at[i], "repeat_count")->i == 3;
	/* of what is inside a repeat's body nothing is handed out but what each turn was given */
	CHECK("R239 R241", gi && gi->outs.n == 2 && body->outputs.n == 2 && body->outputs.at[1] == body->inputs.at[0]);
	CHECK("R239", loops == 1 && f->outputs.n == 2 && f->outputs.at[1]->spec.shape.rank == 2 && f->outputs.at[1]->spec.shape.dim[0] == 3);
	CHECK("", well_formed(&w) && !w.ds.errors);

	Tensor *ci[5] = { ir_input(&cb, spec(DT_BOOL, 0, 0, 0), "p", 0) };
	for (int i = 1; i < 5; i++) ci[i] = ir_input(&cb, spec(DT_F32, 1, 4, 0), "t", 0);
	ir_output(&cb, ir_call(&cb, OP_conditional, body, body, ci, 5, NULL)->out.at[0]);
	c->written_outputs = 1;
	gi = autodiff(&m, c, &(AutodiffOptions){ .required = c->inputs.at + 1, .nrequired = 4 });
	int conds = 0;
	for (int i = 0; gi && i < gi->graph->ops.n; i++) conds += gi->graph->ops.at[i]->code == OP_conditional && gi->graph->ops.at[i]->out.n == 4;
	CHECK("R195 R196", gi && gi->outs.n == 4 && conds == 1);
	CHECK("R195", well_formed(&w) && !w.ds.errors);
	world_end(&w);
}

int main(void)
{
	test_linear();
	test_required();
	test_stitching();
	test_sums();
	test_nested();
	test_refusals();
	test_off_path();
	test_on_path();
	test_sides();
	test_unneeded();
	test_loops();
	return check_done();
}
