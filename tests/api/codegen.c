/* codegen.c — emitted C computes what the IR says: broadcast and strided operands, every class of numbers, in-place ops, calls,
 * repeats, conditionals; at every level, and the same bits from libtcc, gcc -O0 and gcc -O3 that traps on undefined behaviour.
 * And text from a model never becomes C. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/api/world.h"

/* a wrapper script stands for the compiler, so that flags can be added without the library knowing */
static const char *wrapper(const char *dir, const char *name, const char *cc_flags)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	fprintf(f, "#!/bin/sh\nexec gcc \"$@\" %s\n", cc_flags);
	fclose(f);
	chmod(path, 0700);
	return path;
}

/* SHOW=1: what was emitted, for reading */
static void show(World *w)
{
	if (getenv("SHOW") && w->mod) printf("%s\n", w->mod->text);
}

static char scripts[] = "/tmp/pxl-test-XXXXXX";

static void agree(World *w, const char *what)
{
	static const char *const way[] = { "-O0 -Wall -Wextra -Werror", "-O3 -fsanitize=undefined -fsanitize-undefined-trap-on-error" };
	uint64_t want = 0;
	for (int level = 0; level <= 2; level++) {
		int ok = compile(w, level) != NULL;
		forget(w);
		ok = ok && run_with(w, JIT_TCC, 1) == 0;
		if (level == 0) want = digest(w);
		check_one("", ok && digest(w) == want, what, __FILE__, __LINE__);
		forget(w);
		check_one("", ok && run_with(w, JIT_TCC, 3) == 0 && digest(w) == want, "three threads agree", __FILE__, __LINE__);
		if (!ok) return;
	}
	for (int i = 0; i < 2; i++) {
		setenv("PXL_CC", wrapper(scripts, i ? "ubsan" : "o0", way[i]), 1);
		forget(w);
		int ok = run_with(w, JIT_CC, 1) == 0 && digest(w) == want;
		check_one("", ok, i ? "gcc -O3 with UBSan agrees" : "gcc -O0 agrees", __FILE__, __LINE__);
		if (!ok) printf("%s: %s\n", what, w->mod->text);
		unsetenv("PXL_CC");
	}
	show(w);
}

/* --- elementwise ------------------------------------------------------------------------------------------------------ */
static void chain(void)
{
	World *w = world_new();
	Tensor *x = input(w, SPEC(DT_F32, 37, 500), -3, 0.001), *y = input(w, SPEC(DT_F32, 37, 500), 1, 0.5);
	Tensor *bias = input(w, SPEC(DT_F32, 500), 0.25, 0.01), *col = input(w, SPEC(DT_F32, 37, 1), 2, -0.125), *s = input(w, SCALAR(DT_F32), 3, 0);
	Tensor *t = op2(w, OP_add, op2(w, OP_mul, x, s), bias);
	int o = output(w, t), r = output(w, op2(w, OP_sub, op1(w, OP_abs, t), op2(w, OP_mul, y, col)));
	agree(w, "chain");
	int ok = 1;
	for (int i = 0; i < 37 * 500; i++) {
		float a = F32(w, 0, i) * 3.0f, b = a + F32(w, 2, i % 500), c = F32(w, 1, i) * F32(w, 3, i / 500);
		ok &= F32(w, o, i) == b && F32(w, r, i) == fabsf(b) - c;
	}
	CHECK("", ok);
	world_free(w);
}

/* rows shorter than a block, three dimensions, operands that do not merge */
static void narrow(void)
{
	World *w = world_new();
	Tensor *x = input(w, SPEC(DT_F32, 9, 5, 7), 0, 1), *mid = input(w, SPEC(DT_F32, 5, 1), 100, 10), *last = input(w, SPEC(DT_F32, 7), 0.5, 0.25);
	Tensor *outer = input(w, SPEC(DT_F32, 9, 1, 1), 1000, 1000);
	Tensor *turned = b_transpose(&w->b, input(w, SPEC(DT_F32, 9, 7, 5), -1, 0.5), NULL);
	int o = output(w, op2(w, OP_add, op2(w, OP_add, op2(w, OP_add, op2(w, OP_add, x, mid), last), outer), turned));
	agree(w, "narrow rows");
	int ok = 1;
	for (int i = 0; i < 9 * 5 * 7; i++) {
		int a = i / 35, b = i / 7 % 5, c = i % 7;
		ok &= F32(w, o, i) == F32(w, 0, i) + F32(w, 1, b) + F32(w, 2, c) + F32(w, 3, a) + F32(w, 4, a * 35 + c * 5 + b);
	}
	CHECK("", ok);
	world_free(w);
}

/* wide rows with transposed and broadcast operands, and one row long enough to be cut */
static void wide(void)
{
	World *w = world_new();
	Tensor *x = input(w, SPEC(DT_F32, 3, 2, 9000), 0, 1), *t = b_transpose(&w->b, input(w, SPEC(DT_F32, 9000, 2), 0, 2), NULL);
	Tensor *m = input(w, SPEC(DT_F32, 3, 1, 9000), 5, 3);
	int o = output(w, op2(w, OP_add, op2(w, OP_mul, x, t), m));
	agree(w, "wide rows");
	int ok = 1;
	for (int i = 0; i < 3 * 2 * 9000; i++)
		ok &= F32(w, o, i) == F32(w, 0, i) * F32(w, 1, i % 9000 * 2 + i / 9000 % 2) + F32(w, 2, i / 18000 * 9000 + i % 9000);
	CHECK("", ok);
	world_free(w);
}

/* every dtype rounds or wraps after each op, however ops are grouped */
static void dtypes(void)
{
	static const DType all[] = { DT_I8, DT_I16, DT_I32, DT_I64, DT_U8, DT_U16, DT_U32, DT_U64, DT_F16, DT_BF16, DT_F32, DT_F64 };
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
		World *w = world_new();
		Tensor *x = input(w, SPEC(all[k], 300), 1, 0.75), *y = input(w, SPEC(all[k], 300), 3, 1);
		Tensor *t = op2(w, OP_mul, op2(w, OP_mul, x, y), y);
		output(w, op2(w, OP_sub, t, x));
		output(w, op2(w, OP_greater, t, y));
		output(w, b_cast(&w->b, op2(w, OP_add, t, t), DT_F32));
		agree(w, dtype_info[all[k]].name);
		world_free(w);
	}
	World *w = world_new();
	Tensor *x = input(w, SPEC(DT_I8, 200), 0, 1);            /* 100 * 100 wraps in eight bits before the division */
	int o = output(w, op2(w, OP_add, op2(w, OP_mul, x, x), x));
	agree(w, "i8");
	CHECK("", ((signed char *)w->data[o])[100] == (signed char)(10000 + 100));
	world_free(w);
}

static void empty_and_single(void)
{
	World *w = world_new();
	Tensor *e = input(w, SPEC(DT_F32, 0, 4), 0, 0), *x = input(w, SCALAR(DT_F32), 2, 0), *y = input(w, SPEC(DT_F32, 1, 1), 5, 0);
	output(w, op2(w, OP_add, e, x));
	int o = output(w, op2(w, OP_mul, x, y));
	agree(w, "no elements, one element");
	CHECK("", F32(w, o, 0) == 10);
	world_free(w);
}

static void in_place(void)
{
	World *w = world_new();
	float init[6] = { 1, 2, 3, 4, 5, 6 };
	HostArray *h = host_new(&w->mem, DT_F32, SPEC(DT_F32, 2, 3).shape);
	memcpy(host_bytes(&w->mem, h, 0), init, sizeof init);
	Tensor *v = ir_variable(&w->b, h, "v"), *x = input(w, SPEC(DT_F32, 3), 10, 10);
	Tensor *pair[2] = { v, x };
	Tensor *u = ir_op_inplace(&w->b, OP_add, pair, 2, NULL, NULL)->out.at[0];
	int o = output(w, u);
	agree(w, "in-place addition");
	CHECK("", F32(w, o, 0) == 11 && F32(w, o, 5) == 36);
	world_free(w);
}

/* Programs at random: however ops are grouped and values placed, the bits are those of one op at a time. */
static unsigned pick(unsigned *state, unsigned n)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % n;
}

static Tensor *some_op(World *w, unsigned *rnd, Tensor *x, Tensor *y)
{
	static const OpCode two[] = { OP_add, OP_sub, OP_mul }, one[] = { OP_relu, OP_abs, OP_negate, OP_tanh, OP_gelu };
	switch (pick(rnd, 4)) {
	case 0:  return op1(w, one[pick(rnd, 5)], x);
	case 1:  return b_op3(&w->b, OP_where, op2(w, OP_greater, x, y), y, x);
	default: return op2(w, two[pick(rnd, 3)], x, y);
	}
}

static World *random_program(unsigned seed)
{
	World *w = world_new();
	unsigned rnd = seed * 7919 + 1;
	Spec full = SPEC(DT_F32, 6, 5, 40);
	Tensor *pool[64], *in[6] = { input(w, full, -1, 0.002), input(w, SPEC(DT_F32, 40), 0.5, 0.05), input(w, SPEC(DT_F32, 5, 1), -2, 1),
	                             input(w, SPEC(DT_F32, 6, 1, 1), 1, -0.3), input(w, SCALAR(DT_F32), 0.75, 0),
	                             b_transpose(&w->b, input(w, SPEC(DT_F32, 6, 40, 5), 0, 0.001), NULL) };
	HostArray *h = host_new(&w->mem, DT_F32, full.shape);
	for (size_t i = 0; i < 1200; i++) rt_set(DT_F32, host_bytes(&w->mem, h, 0), i, 0.01 * (double)i);
	Tensor *v = ir_variable(&w->b, h, "v");
	int n = 0;
	pool[n++] = in[0];
	pool[n++] = some_op(w, &rnd, in[0], in[5]);
	for (int i = 0; i < 3; i++) {
		v = ir_op_inplace(&w->b, OP_add, (Tensor *[]){ v, in[pick(&rnd, 6)] }, 2, NULL, NULL)->out.at[0];
		if (i == 2) pool[n++] = v;
	}
	while (n < 24) {
		Tensor *x = pool[pick(&rnd, (unsigned)n)], *y = pick(&rnd, 2) ? pool[pick(&rnd, (unsigned)n)] : in[pick(&rnd, 6)];
		pool[n++] = some_op(w, &rnd, x, y);
	}
	output(w, pool[n - 1]);
	output(w, op2(w, OP_add, pool[n - 2], pool[4 + pick(&rnd, 15)]));
	return w;
}

static void random_programs(void)
{
	for (unsigned seed = 0; seed < 30; seed++) {
		World *w = random_program(seed);
		uint64_t want = 0;
		for (int level = 0; level <= 2; level++) {
			forget(w);
			int ok = compile(w, level) && run_with(w, JIT_TCC, 1 + level) == 0;
			if (level == 0) want = digest(w);
			check_one("", ok && digest(w) == want, "a program at random gives the same bits at every level", __FILE__, __LINE__);
			if (!ok || digest(w) != want) printf("seed %u, level %d\n", seed, level);
		}
		show(w);
		world_free(w);
	}
}

/* integer division by zero is an error of the run that says where */
static void faults(void)
{
	World *w = world_new();
	Tensor *x = input(w, SPEC(DT_I32, 300), 0, 1), *y = input(w, SPEC(DT_I32, 300), -299, 1);
	output(w, op2(w, OP_div, x, y));
	CHECK("", compile(w, 2) != NULL && run_with(w, JIT_TCC, 1) == RT_ERUN);
	CHECK("", w->mod->nsite && strstr(w->error, ".pxl:2:2: div: integer division by zero"));
	world_free(w);
}

/* --- calls ------------------------------------------------------------------------------------------------------------- */
static Graph *affine(World *w)
{
	Graph *g = ir_graph(w->ir, "affine");
	Build b = ir_build(g);
	b.at = w->b.at;
	Spec s = SPEC(DT_F32, 4, 4);
	Tensor *x = ir_input(&b, s, "x", 0), *m = ir_input(&b, s, "m", 0), *c = ir_input(&b, s, "c", 0);
	ir_output(&b, b_op2(&b, OP_add, b_op2(&b, OP_mul, x, m), c));
	g->written_outputs = 1;
	return g;
}

static void calls(void)
{
	World *w = world_new();
	Graph *g = affine(w);
	Spec s = SPEC(DT_F32, 4, 4);
	Tensor *x = input(w, s, 1, 1), *m = input(w, s, 0.5, 0.5), *c = input(w, s, -1, 0.25);
	Tensor *y = ir_call(&w->b, OP_call, g, NULL, (Tensor *[]){ x, m, c }, 3, NULL)->out.at[0];
	int o = output(w, ir_call(&w->b, OP_call, g, NULL, (Tensor *[]){ y, y, x }, 3, NULL)->out.at[0]);
	agree(w, "calls");
	float a = 16.0f * 8.0f + 2.75f;
	CHECK("R155 R159", F32(w, o, 15) == a * a + 16.0f);
	world_free(w);
}

static void repeats(void)
{
	for (int count = 0; count < 5; count++) {
		World *w = world_new();
		Graph *g = affine(w);
		Spec s = SPEC(DT_F32, 4, 4);
		Tensor *x = input(w, s, 1, 1), *m = input(w, s, 0.5, 0.125), *c = input(w, s, -1, 0.25);
		AttrVal *at = b_attrs(&w->b, OP_repeat, "repeat_count", attr_int(count), NULL);
		int o = output(w, ir_call(&w->b, OP_repeat, g, NULL, (Tensor *[]){ x, m, c }, 3, at)->out.at[0]);
		int again = output(w, op2(w, OP_add, x, x));
		agree(w, "repeat");
		float y = 6;
		for (int i = 0; i < count; i++) y = y * (0.5f + 5 * 0.125f) + (-1 + 5 * 0.25f);
		CHECK("R174 R175 R176", F32(w, o, 5) == y && F32(w, again, 5) == 12);
		world_free(w);
	}
}

/* A body that writes an input which is the same in every iteration: by reference the sums pile up in the parent's variable,
 * by value each iteration starts from the original and the parent sees nothing. */
static void repeats_that_write(void)
{
	for (int by_ref = 0; by_ref < 2; by_ref++) {
		World *w = world_new();
		Spec s = SPEC(DT_F32, 3);
		Graph *g = ir_graph(w->ir, "body");
		Build b = ir_build(g);
		Tensor *x = ir_input(&b, s, "x", 0), *acc = ir_input(&b, s, "acc", by_ref);
		ir_output(&b, ir_op_inplace(&b, OP_add, (Tensor *[]){ acc, x }, 2, NULL, NULL)->out.at[0]);
		g->written_outputs = 1;
		HostArray *h = host_new(&w->mem, DT_F32, s.shape);
		rt_set(DT_F32, host_bytes(&w->mem, h, 0), 2, 100);
		Tensor *v = ir_variable(&w->b, h, "v"), *x0 = input(w, s, 1, 1), *x1 = input(w, s, 1, 0);
		Op *r = ir_call(&w->b, OP_repeat, g, NULL, (Tensor *[]){ x0, v }, 2, b_attrs(&w->b, OP_repeat, "repeat_count", attr_int(4), NULL));
		Tensor *after = op2(w, OP_add, v, x1);
		vec_push(&w->mem, &after->def->after, r);
		int o = output(w, after), last = output(w, r->out.at[0]);
		agree(w, "repeat that writes");
		CHECK(by_ref ? "R180" : "R160 R179", F32(w, o, 2) == (by_ref ? 825 : 101));
		CHECK("R166 R174", F32(w, last, 2) == (by_ref ? 824 : 403));
		world_free(w);
	}
}

static void conditionals(void)
{
	for (int yes = 0; yes < 2; yes++) {
		World *w = world_new();
		Graph *g[2];
		for (int k = 0; k < 2; k++) {
			g[k] = ir_graph(w->ir, k ? "other" : "then");
			Build b = ir_build(g[k]);
			Tensor *x = ir_input(&b, SPEC(DT_F32, 3), "x", 0);
			ir_output(&b, k ? b_op1(&b, OP_negate, x) : b_op2(&b, OP_add, x, x));
			g[k]->written_outputs = 1;
		}
		Tensor *c = input(w, SCALAR(DT_BOOL), yes, 0), *x = input(w, SPEC(DT_F32, 3), 5, 1), *y = input(w, SPEC(DT_F32, 3), 7, 1);
		int o = output(w, ir_call(&w->b, OP_conditional, g[0], g[1], (Tensor *[]){ c, x, y }, 3, NULL)->out.at[0]);
		agree(w, "conditional");
		CHECK("R186 R187 R189", F32(w, o, 2) == (yes ? 14 : -9));
		world_free(w);
	}
}

/* --- text ---------------------------------------------------------------------------------------------------------------- */
/* names that try to leave their comment, string or line; C's own words; names of our own functions */
static void injection(void)
{
	static const char *const nasty[] = {
		"*/ int evil; /*", "a\nint evil;", "x\"; int evil; //", "?" "?/\n", "int", "unix", "__LINE__", "rt", "fuse_1", "pxl_main", "desc_1",
		"\\", "\xc3\xa9", "1", "", "affine_1", "memcpy", "a_very_long_name_that_goes_on_and_on_and_on_until_it_is_cut_here_1",
		"a_very_long_name_that_goes_on_and_on_and_on_until_it_is_cut_here_2",
	};
	World *w = world_new();
	Tensor *y = input(w, SPEC(DT_F32, 3), 1, 1);
	for (size_t i = 0; i < sizeof nasty / sizeof *nasty; i++) {
		Graph *g = ir_graph(w->ir, nasty[i]);
		Build b = ir_build(g);
		b.at = w->b.at;
		Tensor *x = ir_input(&b, SPEC(DT_F32, 3), nasty[i], 0);
		ir_output(&b, ir_op(&b, OP_add, (Tensor *[]){ x, x }, 2, NULL, nasty[i])->out.at[0]);
		g->written_outputs = 1;
		y = ir_call(&w->b, OP_call, g, NULL, &y, 1, NULL)->out.at[0];
	}
	int o = output(w, y);
	agree(w, "names");
	CHECK("", F32(w, o, 0) == 524288);                       /* 2 to the number of names */
	CHECK("", w->mod && !strstr(w->mod->text, "*/ int evil") && !strstr(w->mod->text, "\nint evil") && !strstr(w->mod->text, "?" "?/"));
	world_free(w);
}

static void deterministic(void)
{
	const char *text[2];
	World *w[2];
	for (int k = 0; k < 2; k++) {
		w[k] = world_new();
		Graph *g = affine(w[k]);
		Spec s = SPEC(DT_F32, 4, 4);
		Tensor *x = input(w[k], s, 1, 1);
		Tensor *y = ir_call(&w[k]->b, OP_call, g, NULL, (Tensor *[]){ x, x, x }, 3, NULL)->out.at[0];
		output(w[k], op1(w[k], OP_gelu, y));
		text[k] = compile(w[k], 2) ? w[k]->mod->text : "";
	}
	CHECK_STR("", text[0], text[1]);
	CHECK("", w[0]->mod && w[1]->mod && w[0]->mod->hash == w[1]->mod->hash);
	world_free(w[0]);
	world_free(w[1]);
}

int main(void)
{
	if (!mkdtemp(scripts)) return 1;
	chain();
	narrow();
	wide();
	dtypes();
	empty_and_single();
	in_place();
	random_programs();
	faults();
	calls();
	repeats();
	repeats_that_write();
	conditionals();
	injection();
	deterministic();
	unlink(wrapper(scripts, "o0", ""));
	unlink(wrapper(scripts, "ubsan", ""));
	rmdir(scripts);
	return check_done();
}
