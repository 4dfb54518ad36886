/* walk.h — walks rows × types × shape classes, and the op table, which must be covered.
 *
 * Every unit runs under libtcc; those that `with_cc` picks run under the system's compiler too and must give the same
 * bits.  tests/ops/grid_test.c picks some of every class, tests/long/grid.c all. */
#ifndef TESTS_OPS_GRID_WALK_H
#define TESTS_OPS_GRID_WALK_H

#include "tests/ops/grid/empty.h"

#include <stdlib.h>

/* --- shape classes of elementwise ops ------------------------------------------------------------------------------- */

typedef struct Class { int arity, special, large; const char *shape[3]; View view[3]; } Class;
static const Class classes[] = {
	{ 1, .shape = { "" } }, { 1, .shape = { "1" } }, { 1, .shape = { "7" } }, { 1, .shape = { "8" } }, { 1, .shape = { "15" } }, { 1, .shape = { "16" } },
	{ 1, .shape = { "17" } }, { 1, .shape = { "31" } }, { 1, .shape = { "33" } }, { 1, .shape = { "1000" } },
	{ 1, .shape = { "3,5" } }, { 1, .shape = { "2,3,7" } }, { 1, .shape = { "2,1,3,4" } }, { 1, .shape = { "2,2,1,3,2" } }, { 1, .shape = { "1,2,2,3,1,4" } },
	{ 1, .shape = { "2,1,2,2,1,2,3" } }, { 1, .shape = { "2,1,3,1,2,1,2,2" } }, { 1, .shape = { "0" } }, { 1, .shape = { "3,0,2" } }, { 1, .shape = { "0,5" }, .view = { TURNED, PART, SKIPPED } }, { 1, .shape = { "4,0" }, .view = { BACKWARD, EXPANDED, TURNED } }, { 1, .shape = { "0" }, .view = { PART, BACKWARD, EXPANDED } }, { 1, .special = 1, .shape = { "256" } },
	{ 1, .large = 1, .shape = { "40009" } }, { 1, .large = 1, .shape = { "3,9001" } }, { 1, .large = 1, .shape = { "9001,3" } },
	{ 1, .shape = { "5,7" }, .view = { TURNED, TURNED, TURNED } }, { 1, .shape = { "3,4,5" }, .view = { TURNED, PLAIN, BACKWARD } }, { 1, .shape = { "33" }, .view = { BACKWARD, PLAIN, SKIPPED } },
	{ 1, .shape = { "4,9" }, .view = { BACKWARD, TURNED, PART } }, { 1, .shape = { "17" }, .view = { SKIPPED, BACKWARD, PLAIN } }, { 1, .shape = { "5,9" }, .view = { SKIPPED, PART, EXPANDED } },
	{ 1, .shape = { "6,20" }, .view = { PART, PART, TURNED } }, { 1, .shape = { "6,300" }, .view = { PART, TURNED, PLAIN } }, { 1, .shape = { "4,9" }, .view = { EXPANDED, PLAIN, TURNED } }, { 1, .shape = { "17" }, .view = { EXPANDED, SKIPPED, BACKWARD } },
	{ 2, .shape = { "", "17", "" } }, { 2, .shape = { "1", "33", "1,33" } }, { 2, .shape = { "5", "3,5", "3,1" } }, { 2, .shape = { "3,5", "5", "1" } }, { 2, .shape = { "33", "", "33" } },
	{ 2, .shape = { "3,1", "1,17", "17" } }, { 2, .shape = { "4,1,3", "4,5,3", "5,1" } }, { 2, .shape = { "4,5,3", "5,1", "4,1,1" } }, { 2, .shape = { "2,1,3,1", "5,1,4", "4" } },
	{ 2, .shape = { "2,3,1,2,1,1,2,2", "3,2,1,2,1,1,1", "2,1" } }, { 2, .shape = { "3,0,2", "1,2", "" } }, { 2, .shape = { "0,3", "1,3", "1,1" } }, { 2, .shape = { "3,1", "1,0", "0" } }, { 2, .shape = { "1,40", "300,1", "40" } }, { 2, .shape = { "7,5", "5", "7,1" }, .view = { TURNED, BACKWARD, TURNED } },
	{ 2, .shape = { "3,1", "3,17", "17" }, .view = { TURNED, PLAIN, SKIPPED } }, { 2, .shape = { "4,5,3", "5,3", "4,1,3" }, .view = { PART, TURNED, BACKWARD } },
};
enum { CLASSES = sizeof classes / sizeof *classes };

static Shape shape_text(const char *s)
{
	Shape out = { 0 };
	while (*s) {
		char *end;
		out.dim[out.rank++] = strtoll(s, &end, 10);
		s = *end ? end + 1 : end;
	}
	return out;
}

/* operands of a class for a row; 0: the class is not for it */
static int class_operands(const Row *r, const Class *c, DType t, Spec *specs, View *views)
{
	size_t n = strlen(r->op);
	int writes = r->op[n - 1] == '_' || !strcmp(r->op, "blend"), whole = !((1u << t) & (T_F | T_8));
	if (c->arity > r->arity || (c->arity > 1 && r->same_shapes)) return 0;
	if (c->special && whole && !strcmp(r->op, "pow")) return 0;
	for (int i = 0; i < r->arity; i++) {
		specs[i] = (Spec){ .dtype = i == 0 && r->first_bool ? DT_BOOL : t, .shape = shape_text(c->shape[c->arity > 1 ? i : 0]) };
		views[i] = c->view[i];
		if (views[i] == EXPANDED && dtype_is_f8(t)) return 0;      /* nothing computes with float8, broadcasting included */
		if (i && writes && c->arity > 1 && specs[i].shape.rank > specs[0].shape.rank) return 0;
	}
	Shape y = specs[0].shape;
	for (int i = 1; i < r->arity; i++) shape_broadcast(y, specs[i].shape, &y);
	return !writes || (shape_eq(y, specs[0].shape) && views[0] != SKIPPED && views[0] != EXPANDED);
}

/* --- what is being collected ---------------------------------------------------------------------------------------------- */

typedef struct Walk {
	Grid tcc, both;                          /* open programs: units for libtcc alone, and for both compilers */
	int every;                               /* one of so many units goes to both; 1: all */
	const char *only;                        /* one op, for looking closer */
	long units, cc_units, programs, cc_programs;
	unsigned picked[OP_COUNT];
	Arena names;                             /* of attributes made here */
} Walk;

static void grid_finish(Walk *w, Grid *g)
{
	Code c;
	int cc = g == &w->both;
	if (!g->n) return;
	for (int i = 0; i < g->n; i++) {
		uint64_t state = unit_seed(g->u[i]);
		for (int k = 0; k < g->u[i]->nin; k++) fill_operand(g->u[i], k, &state);
		expect(g->u[i]);
	}
	g->tag = "-O2";
	int ok = grid_code(g, 2, &c);
	CHECK("", ok);
	if (ok) grid_check(g, &c, JIT_TCC, 2, "tcc -O2", 0);
	if (ok && cc) grid_check(g, &c, JIT_CC, 1, "cc -O2", 1);
	g->tag = "-O0";
	if (ok && (cc || w->every == 1)) {
		int low = grid_code(g, 0, &c);
		CHECK("", low);
		if (low) grid_check(g, &c, JIT_TCC, 1, "tcc -O0", 0);
	}
	w->programs++;
	w->cc_programs += cc;
	grid_close(g);
	grid_open(g);
}

static void walk_unit(Walk *w, const Row *r, const char *attrs, const Spec *specs, const View *views, const int *bounds, int n, const Class *c)
{
	int inplace, id = def_by_name(r->op, &inplace)->id, cc = (w->picked[id]++ + (unsigned)id) % (unsigned)w->every == 0;
	Grid *g = cc ? &w->both : &w->tcc;
	Unit *u = grid_add(g, r, attrs, specs, views, n);
	CHECK("", u);
	if (!u) {                                /* a diagnostic spoils the program it is in */
		grid_close(g);
		grid_open(g);
		return;
	}
	u->special = c && c->special;
	memcpy(u->bounds, bounds, sizeof u->bounds);
	w->units++;
	w->cc_units += cc;
	if (g->n == (getenv("GRID_SINGLE") ? 1 : GRID_UNITS) || g->elements > 2000000) grid_finish(w, g);
}

/* --- rows -------------------------------------------------------------------------------------------------------------------- */

static void walk_each(Walk *w, const Row *r)
{
	static const int free_range[GRID_IN];
	for (DType t = 0; t < DT_COUNT; t++)
		for (int i = 0; i < CLASSES && r->types >> t & 1; i++) {
			Spec specs[GRID_IN];
			View views[GRID_IN];
			if (classes[i].large && w->every > 1 && (int)(t + (size_t)r->op[0]) % 3 != i % 3) continue;      /* in turn */
			if (class_operands(r, &classes[i], t, specs, views)) walk_unit(w, r, r->attrs ? r->attrs : "", specs, views, free_range, r->arity, &classes[i]);
		}
}

/* "T[3, 5] i32[4]<3": specs, and for integers what they are below */
static int form_operands(const char *s, DType t, Spec *specs, int *bounds)
{
	int n = 0;
	for (s = skip_space(s); *s; s = skip_space(s), n++) {
		int any = *s == 'T';
		bounds[n] = 0;
		if (any) {
			char text[128];
			snprintf(text, sizeof text, "%s%s", dtype_info[t].name, s + 1);
			s += strchr(s, ']') + 1 - s;
			scan_spec(text, &specs[n]);
		} else if (*s == '-') {
			specs[n] = (Spec){ .dtype = DT_COUNT };
			s++;
		} else s = scan_spec(s, &specs[n]);
		if (*s == '<') bounds[n] = (int)strtol(s + 1, (char **)&s, 10);
	}
	return n;
}

/* operands lying as v says, as far as they can; 0: none can */
static int views_of(const Row *r, const Operands *o, View v, View *views)
{
	size_t len = strlen(r->op);
	int writes = r->op[len - 1] == '_' || !strcmp(r->op, "gemm_acc") || !strcmp(r->op, "adam_var_update"), fits = v == PLAIN;
	for (int i = 0; i < o->n; i++) {
		DType t = o->spec[i].dtype;
		views[i] = !o->bounds[i] && t != DT_COUNT && view_fits(v, o->spec[i].shape) && !(v == EXPANDED && dtype_is_f8(t)) ? v : PLAIN;
		if (i == 0 && writes && (v == SKIPPED || v == EXPANDED || r->plain_target)) views[i] = PLAIN;
		fits |= views[i] != PLAIN;
	}
	return fits && (v == PLAIN || shape_nelems(o->spec[0].shape) < 5000);
}

static Operands operands_of(const Form *f, DType t)
{
	Operands o = { .bounds = { 0 } };
	o.n = form_operands(f->operands, t, o.spec, o.bounds);
	return o;
}

static void walk_forms(Walk *w, const Row *r)
{
	for (DType t = 0; t < DT_COUNT; t++)
		for (const Form *f = r->forms; r->types >> t & 1 && f->operands; f++)
			for (View v = PLAIN; v < VIEW_COUNT; v++) {
				View views[GRID_IN];
				Operands o = operands_of(f, t);
				if (views_of(r, &o, v, views)) walk_unit(w, r, f->attrs, o.spec, views, o.bounds, o.n, 0);
			}
}

/* the form with a length made 0, under types and views in turn; returns whether the op takes it */
static int walk_zeroed(Walk *w, const Row *r, const Form *f, DType t, int64_t length, int turn)
{
	View views[GRID_IN];
	Operands o = operands_of(f, t);
	Arena *mem = &w->names;
	if (!zero_length(&o, length)) return 0;
	const char *attrs = takes(r, &o, f->attrs) ? f->attrs : zero_numbers(mem, f->attrs, length);
	if (!takes(r, &o, attrs)) return 0;
	if (!views_of(r, &o, (View)(turn % VIEW_COUNT), views)) views_of(r, &o, PLAIN, views);
	walk_unit(w, r, attrs, o.spec, views, o.bounds, o.n, 0);
	return 1;
}

static void walk_empty(Walk *w, const Row *r)
{
	int taken = 0, turn = 0, axes = 0;
	for (const Form *f = r->forms; f->operands; f++)
		for (DType t = 0; t < DT_COUNT; t++) {
			Operands o = operands_of(f, t);
			int64_t length[MAX_LENGTHS];
			int n = r->types >> t & 1 ? lengths_of(&o, length) : 0;
			for (int i = 0; i < n; i++, turn++) {
				axes = 1;
				if (w->every == 1 || turn % 4 == 0 || !taken) taken |= walk_zeroed(w, r, f, t, length[i], turn / 4);
			}
		}
	if (axes && !taken) printf("%s takes no operands without elements\n", r->op);
	CHECK("", !axes || taken);
}

static void walk_rows(Walk *w, const Row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (w->only && strcmp(w->only, rows[i].op)) continue;
		if (rows[i].each) walk_each(w, &rows[i]);
		else {
			walk_forms(w, &rows[i]);
			walk_empty(w, &rows[i]);
		}
	}
}

/* --- types that an op does not take -------------------------------------------------------------------------------------------- */

/* types that rows of this op test, or leave open */
static unsigned types_of(const char *op)
{
	unsigned m = 0;
	for (int f = 0; f < FAMILIES; f++)
		for (size_t i = 0; i < all_rows[f].n; i++)
			if (!strcmp(all_rows[f].at[i].op, op)) m |= all_rows[f].at[i].types | all_rows[f].at[i].any;
	return m;
}

static void refuse(const Row *r, DType t)
{
	Bench b;
	Tensor *in[GRID_IN];
	Spec specs[GRID_IN];
	int bounds[GRID_IN], n = r->arity, inplace;
	bench_open(&b);
	if (r->forms) n = form_operands(r->forms->operands, t, specs, bounds);
	for (int i = 0; i < n; i++) {
		if (!r->forms) specs[i] = (Spec){ .dtype = i == 0 && r->first_bool ? DT_BOOL : t, .shape = { 1, { 3 } } };
		in[i] = specs[i].dtype == DT_COUNT ? 0 : ir_input(&b.b, specs[i], "x", 0);
	}
	const OpDef *d = def_by_name(r->op, &inplace);
	AttrVal *v = scan_attrs(&b, d, r->forms ? r->forms->attrs : r->attrs ? r->attrs : "");
	if (inplace) ir_op_inplace(&b.b, d->id, in, n, v, 0);
	else ir_op(&b.b, d->id, in, n, v, 0);
	const char *text = bench_text(&b);
	int clear = b.ds.errors && strstr(text, d->name) && strstr(text, dtype_info[t].name);
	if (!clear) printf("%s takes %s, or does not say why not\n%s", r->op, dtype_info[t].name, text);
	CHECK("", clear);
	bench_close(&b);
}

static void refuse_rows(const Row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned takes = types_of(rows[i].op);
		int first = 1;
		for (size_t k = 0; k < i; k++) first &= strcmp(rows[k].op, rows[i].op) != 0;
		for (DType t = 0; first && t < DT_COUNT; t++)
			if (!(takes >> t & 1)) refuse(&rows[i], t);
	}
}

/* --- the op table ----------------------------------------------------------------------------------------------------------------- */

typedef struct Elsewhere { OpCode id; const char *file; } Elsewhere;         /* no values of their own, or a reference of another kind */
static const Elsewhere elsewhere[] = {
	{ OP_call, "tests/exec" }, { OP_repeat, "tests/exec" }, { OP_conditional, "tests/exec" }, { OP_fused, "every row at -O2" }, { OP_gemm, "tests/api/epilogue_test.c" }, { OP_kernel, "tests/exec/kernel.pxl" },
	{ OP_host_op, "tests/api/host_op_test.c" }, { OP_check_indices, "tests/api/faults_test.c" }, { OP_check_window, "tests/api/faults_test.c" }, { OP_host_load, "every row" }, { OP_host_store, "every row" }, { OP_remote_load, "tests/exec" }, { OP_remote_store, "tests/exec" },
	{ OP_multi_exchange, "tests/exec" }, { OP_remote_code_load, "tests/exec" }, { OP_load_segment, "tests/exec" }, { OP_code_copy, "tests/wrong" },
	{ OP_random_normal, "tests/ops/value_test.c" }, { OP_random_uniform, "tests/ops/value_test.c" }, { OP_dropout, "tests/ops/value_test.c" }, { OP_shaped_dropout, "tests/ops/value_test.c" },
	{ OP_conv_forward, "tests/ops/window_test.c" }, { OP_conv_run, "tests/ops/window_test.c" }, { OP_conv_data, "tests/ops/window_test.c" }, { OP_conv_weight, "tests/ops/window_test.c" },
	{ OP_to_blocks, "tests/api/layout_test.c" }, { OP_from_blocks, "tests/api/layout_test.c" }, { OP_conv_turn, "tests/ops/window_test.c" }, { OP_conv_gather, "tests/ops/window_test.c" }, { OP_conv_parts, "tests/ops/window_test.c" }, { OP_average_pool_grad, "tests/ops/window_test.c" }, { OP_max_pool_grad, "tests/ops/window_test.c" },
	{ OP_resize, "tests/ops/window_test.c" }, { OP_resize_grad, "tests/ops/window_test.c" }, { OP_roi_align_grad, "tests/ops/window_test.c" }, { OP_scatter_into, "tests/ops/scatter_test.c" },
	{ OP_all_reduce, "tests/api/collective_test.c" }, { OP_all_reduce_identical_inputs, "tests/api/collective_test.c" }, { OP_all_reduce_identical_grad_inputs, "tests/api/collective_test.c" },
	{ OP_replicated_all_reduce, "tests/api/collective_test.c" }, { OP_replicated_reduce_scatter, "tests/api/collective_test.c" }, { OP_replica_sharded_slice, "tests/api/collective_test.c" },
	{ OP_replicated_all_gather, "tests/api/collective_test.c" }, { OP_replicated_slice, "tests/api/collective_test.c" }, { OP_group_norm_grad, "tests/ops/norm_test.c" }, { OP_group_norm_parts, "tests/ops/norm_test.c" }, { OP_median_at, "row of median" },
	{ OP_dropout_mask, "tests/ops/value_test.c" }, { OP_split_random_seed, "tests/ops/value_test.c" }, { OP_create_random_seed, "tests/ops/value_test.c" },
};

static int has_row(int id)
{
	int inplace, found = 0;
	for (int f = 0; f < FAMILIES; f++)
		for (size_t i = 0; i < all_rows[f].n; i++) found |= (int)def_by_name(all_rows[f].at[i].op, &inplace)->id == id;
	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) found |= (int)elsewhere[i].id == id;
	return found;
}

static void covered(void)
{
	for (int id = 0; id < OP_COUNT; id++) {
		int found = has_row(id);
		if (!found) printf("no reference for %s: it wants a row in tests/ops/grid\n", op_table[id]->name);
		CHECK("", found);
	}
}

static void walk(Walk *w)
{
	arena_init(&w->names, alloc_libc, 0);
	grid_open(&w->tcc);
	grid_open(&w->both);
	for (int f = 0; f < FAMILIES; f++) walk_rows(w, all_rows[f].at, all_rows[f].n);
	grid_finish(w, &w->tcc);
	grid_finish(w, &w->both);
	grid_close(&w->tcc);
	grid_close(&w->both);
	arena_free(&w->names);
	for (int f = 0; !w->only && f < FAMILIES; f++) refuse_rows(all_rows[f].at, all_rows[f].n);
	if (!w->only) covered();
	printf("%ld units in %ld programs; %ld of them in %ld programs under cc\n", w->units, w->programs, w->cc_units, w->cc_programs);
}

#endif
