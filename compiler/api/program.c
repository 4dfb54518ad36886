/* program.c — one program from the evaluator's IR to machine code, and what can be asked of it.
 *
 * The IR that the user wrote is kept as it is; passes, plan and code work on a clone. */
#include "compiler/api/internal.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/codegen/ship.h"
#include "compiler/ops/host_op.h"

/* --- building ------------------------------------------------------------------------------------------ */
typedef struct BuildCall {
	pxl_program *p;
	pxl_program_options o;
	RtErr err;
	pxl_status st;
} BuildCall;

static unsigned long passes_disabled(pxl_ctx *cx, const char *list, pxl_status *st)
{
	unsigned long bits = 0;
	while (list && *list) {
		size_t n = strcspn(list, ",");
		int found = -1;
		for (int i = 0; i < pass_count(); i++)
			if (strlen(pass_name(i)) == n && !strncmp(pass_name(i), list, n)) found = i;
		if (found < 0) {
			*st = cx_fail(cx, PXL_EINVAL, "there is no pass `%.*s`; `pxlc ops --passes` lists them", (int)n, list);
			return 0;
		}
		bits |= 1ul << found;
		list += n + (list[n] == ',');
	}
	return bits;
}

static const char *only_program(Unit *u)
{
	if (elab_program_count(u->elab) == 1) return elab_program_name(u->elab, 0);
	for (int i = 0; i < elab_program_count(u->elab); i++)
		if (!strcmp(elab_program_name(u->elab, i), "main")) return "main";
	return NULL;
}

static int has_program(Unit *u, const char *name)
{
	for (int i = 0; i < elab_program_count(u->elab); i++)
		if (!strcmp(elab_program_name(u->elab, i), name)) return 1;
	return 0;
}

static pxl_status no_program(Unit *u, const char *name)
{
	Buf b = buf_new(&u->mem);
	int n = elab_program_count(u->elab);
	const char **known = NEWN(&u->mem, const char *, n + 1);
	for (int i = 0; i < n; i++) {
		known[i] = elab_program_name(u->elab, i);
		buf_printf(&b, "%s`%s`", i ? ", " : "", known[i]);
	}
	if (n == 0) return cx_fail(u->cx, PXL_EINVAL, "this model declares no program");
	if (!name) return cx_fail(u->cx, PXL_EINVAL, "which program? this model has %s", b.s);
	return cx_fail(u->cx, PXL_EINVAL, "there is no program `%s`%s this model has %s", name, did_you_mean(&u->mem, name, known, n), b.s);
}

static pxl_status build_ir(Unit *u, BuildCall *c)
{
	const char *name = c->o.name ? c->o.name : only_program(u);
	if (!name || !has_program(u, name)) return no_program(u, c->o.name);
	c->p->name = cx_strdup(u->cx, name);
	if (!c->p->name) return cx_fail(u->cx, PXL_ENOMEM, "out of memory");
	drawing_begin(&c->p->drawing, &c->o, &u->mem);
	u->drawing = &c->p->drawing;
	elab_seed(u->elab, c->o.seed);
	c->p->ir = elab_program(u->elab, name, (const ElabSet *)c->o.sets, (int)c->o.nset, c->o.replicas);
	u->drawing = NULL;
	if (c->p->ir) return PXL_OK;
	return elab_bad_sets(u->elab) ? cx_fail(u->cx, PXL_EINVAL, "program `%s` cannot be set so", name) : PXL_EMODEL;
}

static void describe_program(pxl_program *p)
{
	const Module *m = p->mod;
	p->rt = (RtProgram){ .name = p->name, .main = p->jit ? jit_entry(p->jit) : NULL, .replicas = p->ir->local_replicas, .transfers = p->ir->transfers,
	                     .frame_bytes = p->plan->frame_bytes, .var_bytes = p->plan->var_bytes, .const_bytes = p->plan->const_bytes,
	                     .consts = m->consts, .nvar = m->nvar, .nstream = m->nstream, .nsite = m->nsite,
	                     .vars = m->vars, .streams = m->streams, .sites = m->sites,
	                     .nbuffer = m->nbuffer, .buffers = m->buffers, .remote_bytes = p->plan->remote_bytes,
	                     .nhost = m->nhost, .hosts = m->hosts };
	pxl_program_info *i = &p->info;
	i->name = p->name;
	i->jit = p->jit ? jit_kind(p->jit) : "";
	i->replicas = p->rt.replicas;
	i->transfers = p->rt.transfers;
	i->frame_bytes = p->plan->frame_bytes;
	i->lower_bound = p->plan->graph[0].lower_bound;
	i->var_bytes = p->plan->var_bytes + p->plan->fixed_bytes;
	i->const_bytes = p->plan->const_bytes;
	i->remote_bytes = p->plan->remote_bytes;
	i->peak_bytes = i->frame_bytes + i->var_bytes + i->const_bytes;
	for (int s = 0; s < m->nstream; s++)
		i->stream_bytes += m->streams[s].bytes * (size_t)p->rt.transfers * (size_t)p->rt.replicas;
}

static void stream_info(const pxl_program *p, const RtStream *s, pxl_info *out)
{
	*out = (pxl_info){ .name = s->name, .kind = s->is_input ? PXL_INPUT : PXL_OUTPUT, .dtype = (pxl_dtype)s->dtype,
	                   .nelem = s->nelem, .bytes = s->bytes, .entry_rank = s->rank, .used = s->used };
	int lead[2] = { p->rt.transfers, p->rt.replicas };
	for (int i = 0; i < 2; i++)
		if (lead[i] > 1) {
			out->dim[out->rank++] = lead[i];
			out->nelem *= (size_t)lead[i];
			out->bytes *= (size_t)lead[i];
		}
	for (int i = 0; i < s->rank && out->rank < PXL_MAX_RANK; i++) out->dim[out->rank++] = s->dim[i];
}

static void list_infos(pxl_program *p, Arena *mem)
{
	p->ninfo = p->rt.nstream + p->rt.nvar;
	p->infos = NEWN(mem, pxl_info, p->ninfo + 1);
	for (int i = 0; i < p->rt.nstream; i++) stream_info(p, &p->rt.streams[i], &p->infos[i]);
	for (int i = 0; i < p->rt.nvar; i++) {
		const RtVar *v = &p->rt.vars[i];
		pxl_info *o = &p->infos[p->rt.nstream + i];
		*o = (pxl_info){ .name = v->name, .kind = PXL_VARIABLE, .dtype = (pxl_dtype)v->dtype, .rank = v->rank,
		                 .nelem = v->nelem, .bytes = v->bytes, .entry_rank = v->rank, .used = 1 };
		memcpy(o->dim, v->dim, sizeof v->dim);
	}
}

/* sessions give every replica the same initial values, and take one value back */
static int one_group(Unit *u, const Ir *ir)
{
	for (int i = 0; i < ir->main->tensors.n; i++) {
		const Tensor *t = ir->main->tensors.at[i];
		if (t->kind != T_VARIABLE) continue;
		int several = ir->groupings.at[t->grouping]->count > 1;
		if (!several && (t->retrieval != ALL_REPLICAS || ir->replicas == 1)) continue;
		diag(&u->ds, E0122, t->at, several ? "variables with several groups of replicas (`%s`) cannot run yet" :
		     "a variable that is read from all replicas (`%s`) cannot run yet on more than one", t->name);
		return 0;
	}
	return 1;
}

static void tell_of_size(Unit *u, const pxl_program *p)
{
	size_t model[3] = { 0 }, state[3] = { 0 };           /* variables, numbers, bytes */
	char bytes[5][32];
	for (int i = 0; i < p->rt.nvar; i++) {
		const RtVar *v = &p->rt.vars[i];
		size_t *sum = v->state ? state : model;
		sum[0]++, sum[1] += v->nelem, sum[2] += v->bytes;
	}
	cx_log(u->cx, IN_COMPILE, LOG_INFO, "program `%s`: %zu parameters in %zu variables (%s), training state of %zu in %zu (%s)", p->rt.name, model[1], model[0],
	       bytes_text(bytes[0], model[2]), state[1], state[0], bytes_text(bytes[1], state[2]));
	cx_log(u->cx, IN_COMPILE, LOG_INFO, "program `%s`: memory %s (intermediates %s, constants %s), remote buffers %s, emitted C %s; built in %.1f ms", p->rt.name,
	       bytes_text(bytes[0], p->info.peak_bytes), bytes_text(bytes[1], p->info.frame_bytes), bytes_text(bytes[2], p->info.const_bytes),
	       bytes_text(bytes[3], p->info.remote_bytes), bytes_text(bytes[4], p->mod->len), now_ms() - p->began);
}

static void tell_of_cache(Unit *u, const pxl_program *p)
{
	const char *dir = u->cx->cache_dir, *kind = jit_kind(p->jit);
	if (jit_warning(p->jit)) cx_log(u->cx, IN_CACHE, LOG_WARN, "`%s`: %s", dir, jit_warning(p->jit));
	if (!strcmp(kind, "cc (cached)")) cx_log(u->cx, IN_CACHE, LOG_INFO, "program `%s`: a serialized executable is loaded from `%s`", p->rt.name, dir);
	else cx_log(u->cx, IN_COMPILE, LOG_DEBUG, "program `%s`: compiled by %s", p->rt.name, kind);
}

/* What the model loads and stores is expected, even where passes found that it never happens (R299): a loop of no turns, say. */
static void expect_streams(const Graph *g, char *seen, RtStream *streams)
{
	if (seen[g->index]) return;
	seen[g->index] = 1;
	for (int i = 0; i < g->ops.n; i++) {
		const Op *op = g->ops.at[i];
		for (int k = 0; k < op_transfers(op); k++) {
			const Stream *s = op_transfer(op, k).stream;
			if (s) streams[s->index].used = 1;
		}
		for (int k = 0; k < 2 && op->callee[k]; k++) expect_streams(op->callee[k], seen, streams);
	}
}

static pxl_status make_code(Unit *u, BuildCall *c)
{
	double start = now_ms();
	JitOptions jo = { .kind = c->o.jit == PXL_JIT_TCC ? JIT_TCC : c->o.jit == PXL_JIT_CC ? JIT_CC : JIT_AUTO,
	                  .cache_dir = u->cx->cache_dir, .alloc = cx_rt_alloc(u->cx) };
	if (jit_compile(c->p->mod, &jo, &c->p->jit, &c->err)) return cx_fail_rt(u->cx, &c->err);
	c->p->info.jit_ms = now_ms() - start;
	return PXL_OK;
}

static pxl_status compile_ir(Unit *u, BuildCall *c)
{
	pxl_program *p = c->p;
	pxl_status st = PXL_OK;
	PassOptions po = { .level = c->o.level, .verify = u->cx->opt.verify };
	po.disabled = passes_disabled(u->cx, c->o.no_pass, &st);
	if (st != PXL_OK) return st;
	if (!one_group(u, p->ir)) return PXL_EMODEL;
	po.times = p->times = NEWN(&u->mem, struct PassTime, pass_count() + 1);
	double t0 = now_ms();
	p->lowered = ir_clone(p->ir, &u->mem, NULL);
	p->lowered->bf16_products = c->o.matmul == PXL_MATMUL_BF16;
	if (!passes_run(p->lowered, &po)) return PXL_EMODEL;
	double planning = now_ms();
	if (!(p->plan = memplan(p->lowered, &u->mem))) return PXL_EMODEL;
	double t1 = now_ms();
	p->plan_ms = t1 - planning;
	if (!(p->mod = codegen(p->lowered, p->plan, &u->mem))) return PXL_EMODEL;
	p->mod->options = arena_printf(&u->mem, "level %d, %d replicas, matmul %d", c->o.level, p->ir->local_replicas, (int)c->o.matmul);
	expect_streams(p->ir->main, NEWN(&u->mem, char, p->ir->graphs.n + 1), p->mod->streams);
	p->info.passes_ms = t1 - t0;
	p->info.codegen_ms = now_ms() - t1;
	st = c->o.build_only == PXL_STAGE_C ? PXL_OK : make_code(u, c);
	if (st != PXL_OK) return st;
	describe_program(p);
	list_infos(p, &u->mem);
	if (u->cx->opt.verbose) tell_of_size(u, p);
	if (!p->jit) return PXL_OK;
	tell_of_cache(u, p);
	return tier_new(p, &c->o);
}

static pxl_status build(Unit *u, void *arg)
{
	BuildCall *c = arg;
	double start = c->p->began = now_ms();
	pxl_status st = build_ir(u, c);
	c->p->info.elaborate_ms = now_ms() - start;
	if (st == PXL_OK && c->o.build_only != PXL_STAGE_IR) st = compile_ir(u, c);
	c->p->info.compile_ms = u->load_ms + now_ms() - start;
	return st;
}

void unit_forget_diags(Unit *u)
{
	u->ds.at.n = 0;
	u->ds.errors = u->ds.warnings = 0;
	u->reported = 0;
}

static pxl_status check_sets(pxl_ctx *cx, const pxl_program_options *o)
{
	if (o->nset > MOST_LISTED) return cx_fail(cx, PXL_EINVAL, "%zu parameters are too many", o->nset);
	if (o->nset && !o->sets) return cx_fail(cx, PXL_EINVAL, "%zu parameters are announced, and none is given", o->nset);
	for (size_t i = 0; i < o->nset; i++)
		if (!o->sets[i].name || !o->sets[i].value) return cx_fail(cx, PXL_EINVAL, "parameter %zu has no name or no value", i);
	return PXL_OK;
}

pxl_status check_program_options(pxl_ctx *cx, const pxl_program_options *o)
{
	if (o->replicas < 0 || o->replicas > MOST_REPLICAS) return cx_fail(cx, PXL_EINVAL, "%d replicas: there are 1 to %d, or 0 for what the program says", o->replicas, MOST_REPLICAS);
	if (o->level < 0 || o->level > 2) return cx_fail(cx, PXL_EINVAL, "there is no level %d of optimisation: 0, 1 and 2 are", o->level);
	if ((unsigned)o->jit > PXL_JIT_CC) return cx_fail(cx, PXL_EINVAL, "there is no compiler %d (pxl_jit)", (int)o->jit);
	if ((unsigned)o->matmul > PXL_MATMUL_BF16) return cx_fail(cx, PXL_EINVAL, "there is no way %d to multiply matrices (pxl_matmul)", (int)o->matmul);
	if (o->build_only < 0 || o->build_only > PXL_STAGE_C) return cx_fail(cx, PXL_EINVAL, "there is no stage %d to stop at (pxl_stage)", o->build_only);
	if (o->dot_first < 0 || o->dot_count < 0) return cx_fail(cx, PXL_EINVAL, "ops %d and %d more of a schedule cannot be drawn: numbers are not negative", o->dot_first, o->dot_count);
	if (o->swap_after < -1) return cx_fail(cx, PXL_EINVAL, "swap_after is %lld: a number of steps, or -1 for never", (long long)o->swap_after);
	return check_sets(cx, o);
}

pxl_status program_build(pxl_model *m, const pxl_program_options *o, pxl_program **out)
{
	BuildCall c = { .o = *o };
	if (!(c.p = cx_alloc(m->cx, sizeof *c.p))) return cx_fail(m->cx, PXL_ENOMEM, "out of memory");
	atomic_init(&c.p->refs, 1);
	c.p->m = model_ref(m);
	c.p->seed = c.o.seed;
	pxl_status st = unit_guard(m->u, build, &c);
	if (st != PXL_OK) pxl_program_free(c.p);
	else *out = c.p;
	return st;
}

pxl_status pxl_program_new(pxl_model *m, const pxl_program_options *opt, pxl_program **out)
{
	if (!m) return PXL_EINVAL;
	pxl_program_options o = PXL_PROGRAM_OPTIONS_INIT;
	if (!out) return cx_fail(m->cx, PXL_EINVAL, "pxl_program_new needs a place for the program");
	if (options_take(m->cx, "pxl_program_options", &o, sizeof o, opt) != PXL_OK || check_program_options(m->cx, &o) != PXL_OK) return PXL_EINVAL;
	unit_forget_diags(m->u);
	return program_build(m, &o, out);
}

pxl_program *program_ref(pxl_program *p)
{
	atomic_fetch_add(&p->refs, 1);
	return p;
}

void pxl_program_free(pxl_program *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) != 1) return;
	pxl_model *m = p->m;
	tier_free(p);
	if (p->jit) jit_free(p->jit);
	cx_free(m->cx, p->name);
	cx_free(m->cx, p);
	pxl_model_free(m);
}

/* --- questions ------------------------------------------------------------------------------------------ */
void pxl_program_get_info(const pxl_program *p, pxl_program_info *out) 
{
	if (p && out) *out = p->info;
}

size_t pxl_count(const pxl_program *p) { return p ? (size_t)p->ninfo : 0; }

int pxl_find(const pxl_program *p, pxl_kind kind, const char *name)
{
	for (int i = 0; p && name && i < p->ninfo; i++)
		if ((kind == PXL_ANY || p->infos[i].kind == kind) && !strcmp(p->infos[i].name, name)) return i;
	return -1;
}

int pxl_get_info(const pxl_program *p, int index, pxl_info *out)
{
	if (!p || !out || index < 0 || index >= p->ninfo) return 0;
	*out = p->infos[index];
	return 1;
}

/* --- stages as text ---------------------------------------------------------------------------------------- */
typedef struct EmitCall { pxl_program *p; const char *stage, *after; Buf out; } EmitCall;

static pxl_status emit_ir(Unit *u, EmitCall *c)
{
	Ir *ir = c->p->ir;
	if (c->after && c->after[0]) {
		int known = 0;
		for (int i = 0; i < pass_count(); i++) known |= !strcmp(pass_name(i), c->after);
		if (!known) return cx_fail(u->cx, PXL_EINVAL, "there is no pass `%s`", c->after);
		ir = ir_clone(ir, &u->mem, NULL);
		if (!passes_run(ir, &(PassOptions){ .level = 2, .verify = u->cx->opt.verify, .stop_after = c->after })) return PXL_EMODEL;
	}
	ir_print(ir, &c->out);
	return PXL_OK;
}

static pxl_status emit_schedule(Unit *u, EmitCall *c)
{
	(void)u;
	for (int i = 0; i < c->p->ir->graphs.n; i++) {
		Graph *g = c->p->ir->graphs.at[i];
		print_schedule(g, &g->args, &c->out);
		buf_putc(&c->out, '\n');
	}
	return PXL_OK;
}

static pxl_status emit_dot(Unit *u, EmitCall *c)
{
	(void)u;
	for (int i = 0; i < c->p->ir->graphs.n; i++) ir_dot(c->p->ir->graphs.at[i], 0, -1, &c->out);
	return PXL_OK;
}

static pxl_status emit_code(Unit *u, EmitCall *c)
{
	(void)u;
	code_print(c->p->ir, &c->out);
	return PXL_OK;
}

static pxl_status emit_debug(Unit *u, EmitCall *c)
{
	(void)u;
	ir_debug(c->p->ir, &c->out);
	return PXL_OK;
}

static pxl_status emit_plan(Unit *u, EmitCall *c)
{
	if (!c->p->plan) return cx_fail(u->cx, PXL_EINVAL, "the program was only built, not compiled: there is no plan");
	plan_print(c->p->lowered, c->p->plan, &c->out);
	return PXL_OK;
}

static pxl_status emit_c(Unit *u, EmitCall *c)
{
	if (!c->p->mod) return cx_fail(u->cx, PXL_EINVAL, "the program was only built, not compiled: there is no C");
	buf_put(&c->out, c->p->mod->text, c->p->mod->len);
	return PXL_OK;
}

static void put_time(Buf *out, const char *what, const char *which, double ms) { buf_printf(out, "%-9s %-12s %10.3f ms\n", what, which, ms); }

static pxl_status emit_times(Unit *u, EmitCall *c)
{
	const pxl_program *p = c->p;
	if (!p->times) return cx_fail(u->cx, PXL_EINVAL, "the program was only built, not compiled: no pass ran");
	put_time(&c->out, "read", "", u->load_ms);
	put_time(&c->out, "elaborate", "", p->info.elaborate_ms);
	for (int i = 0; i < pass_count(); i++) put_time(&c->out, "pass", pass_name(i), p->times[i].ms);
	put_time(&c->out, "plan", "", p->plan_ms);
	put_time(&c->out, "emit", "", p->info.codegen_ms);
	put_time(&c->out, "jit", p->info.jit, p->info.jit_ms);
	put_time(&c->out, "all", "", p->info.compile_ms);
	return PXL_OK;
}

static const struct { const char *name; pxl_status (*emit)(Unit *u, EmitCall *c); } stages[] = {
	{ "ir", emit_ir }, { "schedule", emit_schedule }, { "dot", emit_dot }, { "code", emit_code }, { "debug", emit_debug }, { "plan", emit_plan }, { "c", emit_c }, { "times", emit_times },
};

static pxl_status emit(Unit *u, void *arg)
{
	EmitCall *c = arg;
	c->out = buf_new(&u->mem);
	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
		if (!strcmp(stages[i].name, c->stage)) return stages[i].emit(u, c);
	return cx_fail(u->cx, PXL_EINVAL, "there is no stage `%s`: ast, ir, schedule, dot, code, debug, plan, c and times can be printed", c->stage);
}

pxl_status pxl_emit(pxl_program *p, const char *stage, const char *after, const char **out)
{
	EmitCall c = { .p = p, .stage = stage, .after = after };
	if (!p) return PXL_EINVAL;
	if (!stage || !out) return cx_fail(p->m->cx, PXL_EINVAL, "pxl_emit needs a stage and a place for the text");
	if (after && *after && strcmp(stage, "ir")) return cx_fail(p->m->cx, PXL_EINVAL, "only `ir` is printed after a pass, not `%s`", stage);
	pxl_status st = unit_guard(p->m->u, emit, &c);
	if (st == PXL_OK) *out = c.out.s;
	return st;
}

/* --- as files ------------------------------------------------------------------------------------------------ */
typedef struct ShipCall { pxl_program *p; const char *dir; const char *const *files; size_t nfile; RtErr err; } ShipCall;

/* where the op is: the model's own C file, or one of those that the host gives; 0 after a message */
static int find_host(Unit *u, const ShipCall *c, const HostOp *h, ShipHost *out)
{
	Native *n;
	*out = (ShipHost){ h->file, h->at };
	for (size_t i = 0; i < c->nfile && !out->file; i++) {
		if (native_open(u->cx, BY_USER(c->files[i]), &n) != PXL_OK) return 0;
		out->at = native_find(n, h);
		if (out->at >= 0) out->file = native_file(n);
	}
	if (!out->file)
		cx_fail(u->cx, PXL_EINVAL, "program `%s` calls `%s`, an op of the host program: what is built to run by itself has no such function, unless its C file goes along",
		        c->p->name, h->name);
	return out->file != NULL;
}

static pxl_status ship_program(Unit *u, void *arg)
{
	ShipCall *c = arg;
	const Module *m = c->p->mod;
	ShipHost *hosts = NEWN(&u->mem, ShipHost, m->nhost + 1);
	for (int i = 0; i < m->nhost; i++)
		if (!find_host(u, c, m->hosts[i].op, &hosts[i])) return PXL_EINVAL;
	return ship(m, &c->p->rt, hosts, c->dir, &u->mem, &c->err) ? cx_fail_rt(u->cx, &c->err) : PXL_OK;
}

pxl_status pxl_ship(pxl_program *p, const char *dir) { return pxl_ship_files(p, dir, NULL, 0); }

pxl_status pxl_ship_files(pxl_program *p, const char *dir, const char *const *c_files, size_t n)
{
	ShipCall c = { .p = p, .dir = dir, .files = c_files, .nfile = n };
	if (!p) return PXL_EINVAL;
	if (!dir) return cx_fail(p->m->cx, PXL_EINVAL, "pxl_ship needs a folder");
	if (n > MOST_LISTED) return cx_fail(p->m->cx, PXL_EINVAL, "%zu C files are too many", n);
	for (size_t i = 0; i < n; i++)
		if (!c_files || !c_files[i]) return cx_fail(p->m->cx, PXL_EINVAL, "C file %zu has no name", i);
	if (!p->mod) return cx_fail(p->m->cx, PXL_EINVAL, "the program was only built, not compiled: there is nothing to ship");
	return unit_guard(p->m->u, ship_program, &c);
}
