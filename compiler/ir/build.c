/* build.c — adding ops: operands, attributes, shape rule, results, context, hooks, in this order.
 *
 * Building never fails: after a diagnostic the results are poison, which later ops take in silence, so
 * that one mistake costs one message.  The order that in_sequence asks for is made here too (R199). */
#include "compiler/ir/ir.h"

#include "compiler/ir/inside.h"
#include "compiler/ops/op.h"

#include <string.h>

/* --- the op itself ------------------------------------------------------------------------------------------ */

static int param_count(const OpDef *d)
{
	int n = 0;
	while (d->params[n].kind != P_END) n++;
	return n;
}

static int is_operand(ParamKind k) { return k == P_TENSOR || k == P_OPT_TENSOR || param_is_scalar(k); }

/* Fixed operand slots; absent ones at the end are filled with NULL so that op->in.at[slot] is always there. */
static int operand_slots(const OpDef *d)
{
	int n = 0;
	for (int i = 0; d->params[i].kind != P_END; i++) n += is_operand(d->params[i].kind);
	return n;
}

static void set_operands(Ir *ir, Op *op, Tensor *const *in, int nin)
{
	int slots = operand_slots(op_table[op->code]);
	for (int i = 0; i < nin || i < slots; i++) vec_push(ir->mem, &op->in, i < nin ? in[i] : NULL);
}

/* strings and lists are copied: the caller's may be short-lived */
static AttrVal keep_attr(Ir *ir, ParamKind kind, AttrVal v)
{
	if (kind == P_STR && v.s) v.s = intern_str(ir->names, v.s);
	if (kind == P_INTS || kind == P_SHAPE) v.ints.at = arena_dup(ir->mem, v.ints.at, (size_t)v.ints.n * sizeof *v.ints.at);
	if (kind == P_FLOATS) v.floats.at = arena_dup(ir->mem, v.floats.at, (size_t)v.floats.n * sizeof *v.floats.at);
	return v;
}

/* What the caller left unset takes the table's default, except a scalar that is given as a tensor. */
static void set_attrs(Ir *ir, Op *op, const AttrVal *given)
{
	const OpDef *d = op_table[op->code];
	int n = param_count(d), operand = 0;
	op->attr = NEWN(ir->mem, AttrVal, n ? n : 1);
	for (int i = 0; i < n; i++) {
		const Param *p = &d->params[i];
		int tensor = param_is_scalar(p->kind) && op->in.at[operand];
		operand += is_operand(p->kind);
		if (tensor) continue;
		op->attr[i] = given && given[i].set ? keep_attr(ir, p->kind, given[i]) : p->init;
	}
}

Op *new_op(const Build *b, int code, int inplace, Tensor *const *in, int nin, const AttrVal *attrs)
{
	Ir *ir = b->ir;
	Op *op = NEW(ir->mem, Op);
	op->id = ir->next_op++;
	op->code = code;
	op->inplace = inplace || (op_table[code]->traits & ONLY_INPLACE);
	op->graph = b->g;
	op->scope = b->scope ? intern_str(ir->names, b->scope) : "";
	op->ipu = b->ipu;
	op->tiles = b->tiles;
	op->exec = b->exec;
	op->at = b->at;
	op->chain = b->chain;
	if (b->ipu != 0 || b->tiles == TILES_IO) ir->placed = 1;
	set_operands(ir, op, in, nin);
	set_attrs(ir, op, attrs);
	return op;
}

/* --- results and their names (R52) ---------------------------------------------------------------------------- */

/* the operand's name, without the scope that will be put in front again */
static const char *without_scope(const Build *b, const char *name)
{
	size_t n = b->scope ? strlen(b->scope) : 0;
	return n && !strncmp(name, b->scope, n) && name[n] == '/' ? name + n + 1 : name;
}

/* of what a load takes its result from */
static const char *source_name(Arena *a, const Op *op)
{
	const OpDef *d = op_table[op->code];
	if (op->inplace) return NULL;
	for (int i = 0; d->params[i].kind != P_END; i++) {
		if (d->params[i].kind == P_STREAM && op->attr[i].p) return ((Stream *)op->attr[i].p)->name;
		if (d->params[i].kind == P_BUFFER && op->attr[i].p) return remote_name(a, op->attr[i].p, op->in.at[1]);
	}
	return NULL;
}

static const char *pattern_stem(const Build *b, const Op *op, const char *name)
{
	const char *stream = source_name(b->ir->mem, op);
	if (stream) return name ? name : stream;
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i]) return without_scope(b, op->in.at[i]->name);
	return name ? name : "t";
}

/* "%s" stands for the stem, "%t" for the result's dtype, "%d" for the attribute `destination` */
static const char *fill_pattern(Arena *a, const Op *op, const char *stem, DType t)
{
	Buf out = buf_new(a);
	for (const char *p = op_table[op->code]->out_name; *p; p++) {
		if (p[0] == '%' && (p[1] == 's' || p[1] == 't')) buf_puts(&out, *++p == 's' ? stem : dtype_info[t].popxl);
		else if (p[0] == '%' && p[1] == 'd') p++, buf_printf(&out, "%lld", (long long)op_attr(op, "destination")->i);
		else buf_putc(&out, *p);
	}
	return out.n ? out.s : "t";
}

/* A given name is taken as it is, except by loads: theirs is the stem (R51). */
static const char *result_name(const Build *b, const Op *op, const char *name, DType t)
{
	const OpDef *d = op_table[op->code];
	if (name && !(d->out_name && source_name(b->ir->mem, op))) return name;
	if (d->out_name) return fill_pattern(b->ir->mem, op, pattern_stem(b, op, name), t);
	return arena_printf(b->ir->mem, "%s_out", d->name);
}

Tensor *add_result(const Build *b, Op *op, Spec spec, const char *unique)
{
	Tensor *t = new_tensor(b, T_TENSOR, spec, unique);
	t->def = op;
	t->def_index = op->out.n;
	vec_push(b->ir->mem, &op->out, t);
	return t;
}

static void add_results(const Build *b, Op *op, const Spec *specs, int n, const char *name)
{
	for (int i = 0; i < n; i++) {
		const char *s = result_name(b, op, name, specs[i].dtype);
		if (n > 1) s = arena_printf(b->ir->mem, "%s_%d", s, i);
		add_result(b, op, specs[i], ir_name(b->g, ir_scoped(b, s)));
	}
}

Tensor *ir_new_result(Op *op, Spec spec, const char *name)
{
	Build b = ir_build(op->graph);
	b.at = op->at;
	b.chain = op->chain;
	return add_result(&b, op, spec, ir_name(op->graph, name ? name : "t"));
}

/* --- order asked for by in_sequence (R199) ---------------------------------------------------------------------- */

static void run_after(Ir *ir, Op *op, Op *first)
{
	if (first) vec_push(ir->mem, &op->after, first);
}

static void apply_sequence(const Build *b, Op *op)
{
	Graph *g = b->g;
	Ir *ir = b->ir;
	if (b->seq != SEQ_TRUE && b->seq != SEQ_FALSE) return;
	int fresh = 1;
	for (int e = 0; e < EXEC_COUNT; e++) fresh = fresh && !g->seq[e].n;
	if (fresh) vec_push(ir->mem, &ir->sequenced, g);
	if (b->seq == SEQ_TRUE) {
		for (int i = 0; i < g->seq[b->exec].n; i++) run_after(ir, op, g->seq[b->exec].at[i]);
		g->seq[b->exec].n = 0;
	} else {
		if (!g->seq[b->exec].n) vec_push(ir->mem, &g->seq[b->exec], NULL);
		run_after(ir, op, g->seq[b->exec].at[0]);
	}
	vec_push(ir->mem, &g->seq[b->exec], op);
}

void ir_end_sequence(Ir *ir)
{
	for (int i = 0; i < ir->sequenced.n; i++)
		for (int e = 0; e < EXEC_COUNT; e++) ir->sequenced.at[i]->seq[e].n = 0;
	ir->sequenced.n = 0;
}

/* --- hooks (R212) ------------------------------------------------------------------------------------------------- */

int ir_add_hook(Graph *g, OpHook fn, void *user)
{
	vec_push(g->ir->mem, &g->hooks, ((Hook){ ++g->next_hook, fn, user }));
	return g->next_hook;
}

int ir_remove_hook(Graph *g, int handle)
{
	for (int i = 0; i < g->hooks.n; i++) {
		if (g->hooks.at[i].handle != handle) continue;
		memmove(&g->hooks.at[i], &g->hooks.at[i + 1], (size_t)(g->hooks.n - i - 1) * sizeof(Hook));
		g->hooks.n--;
		return 1;
	}
	return 0;
}

/* a hook may remove itself, or add others, which then wait for the next op */
void run_hooks(Graph *g, Op *op)
{
	int last = g->next_hook;
	for (int i = 0; i < g->hooks.n && g->hooks.at[i].handle <= last; i++) {
		Hook h = g->hooks.at[i];
		h.fn(h.user, op);
		if (i >= g->hooks.n || g->hooks.at[i].handle != h.handle) i--;
	}
}

/* --- entering the graph ------------------------------------------------------------------------------------------- */

void enter_op(const Build *b, Op *op)
{
	Ir *ir = b->ir;
	if (ir->frozen) return;
	for (int i = 0; i < op->in.n; i++)
		if (op->in.at[i] && op->in.at[i]->graph == b->g) vec_push(ir->mem, &op->in.at[i]->uses, ((Use){ op, i }));
	for (int i = 0; i < 2; i++)
		if (op->callee[i] && (i == 0 || op->callee[1] != op->callee[0])) vec_push(ir->mem, &op->callee[i]->calls, op);
	vec_push(ir->mem, &b->g->ops, op);
	ir->stamp++;
	apply_sequence(b, op);
	run_hooks(b->g, op);
}

void poison_results(Op *op)
{
	for (int i = 0; i < op->out.n; i++) op->out.at[i]->poison = 1;
}

/* --- whole ops ---------------------------------------------------------------------------------------------------- */

static Op *build_op(Build *b, int code, int inplace, Tensor *const *in, int nin, const AttrVal *attrs, const char *name)
{
	const OpDef *d = op_table[code];
	int ok = ir_writable(b, "an op");
	Op *op = new_op(b, code, inplace, in, nin, attrs);
	Infer infer = { .b = b, .op = op, .def = d };
	if (ok && infer_run(&infer)) {
		add_results(b, op, infer.many ? infer.many : infer.out, infer.nout, name);
	} else {
		int n = d->nout == 0 || d->nout == -2 ? 1 : d->nout == -1 ? 0 : d->nout;
		Spec *unknown = NEWN(b->ir->mem, Spec, n ? n : 1);
		for (int i = 0; i < n; i++) unknown[i].dtype = DT_F32;
		add_results(b, op, unknown, n, name);
		poison_results(op);
	}
	enter_op(b, op);
	return op;
}

Op *ir_op(Build *b, int code, Tensor *const *in, int nin, const AttrVal *attrs, const char *name)
{
	return build_op(b, code, 0, in, nin, attrs, name);
}

Op *ir_op_inplace(Build *b, int code, Tensor *const *in, int nin, const AttrVal *attrs, const char *name)
{
	return build_op(b, code, 1, in, nin, attrs, name);
}
