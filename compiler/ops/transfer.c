/* transfer.c — what ops move between the device and the rest of the world, and the exchange that moves several things at once.
 *
 * op_transfer() says of any op what it moves, so that the exchange transform, the plan and the emitter need not know the ops.
 * A multi_exchange has the operands and results of the ops it was made of, one after the other, and lists them in an
 * attribute of five numbers each: kind, stream or buffer, does it overwrite its operand, and its place in the source. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

enum { PART_KIND, PART_INDEX, PART_WRITES, PART_SRC, PART_LO, PART_WIDTH };

static int is_load(TransferKind k) { return k == MOVE_HOST_LOAD || k == MOVE_REMOTE_LOAD; }
static int is_remote(TransferKind k) { return k == MOVE_REMOTE_LOAD || k == MOVE_REMOTE_STORE; }
static int operands_of(TransferKind k) { return is_remote(k) ? 2 : k != MOVE_CODE_LOAD; }

int constant_offset(const Tensor *t, int64_t *x)
{
	if (t->kind != T_CONSTANT || !t->data || !dtype_is_int(t->spec.dtype) || shape_nelems(t->spec.shape) != 1) return 0;
	*x = rt_get_int(t->spec.dtype, host_bytes(t->graph->ir->mem, t->data, t->graph->ir->seed), 0);
	return 1;
}

/* --- reading ops ------------------------------------------------------------------------------------------------ */

static const int64_t *parts_of(const Op *op, int *n)
{
	const AttrVal *a = op_attr(op, "parts");
	*n = a->ints.n / PART_WIDTH;
	return a->ints.at;
}

int op_transfers(const Op *op)
{
	int n;
	switch (op->code) {
	case OP_host_load: case OP_host_store: case OP_remote_load: case OP_remote_store: case OP_remote_code_load: case OP_load_segment: return 1;
	case OP_multi_exchange: return parts_of(op, &n), n;
	default: return 0;
	}
}

static Tensor *nth(Tensor *const *at, int n, int i) { return i < n ? at[i] : NULL; }

static void fill_tensors(const Op *op, Transfer *t)
{
	if (operands_of(t->kind)) t->t = nth(op->in.at, op->in.n, t->in_at);
	if (is_remote(t->kind)) t->offset = nth(op->in.at, op->in.n, t->in_at + 1);
	if (is_load(t->kind)) t->out = nth(op->out.at, op->out.n, t->out_at);
}

static Transfer single(const Op *op)
{
	static const int kinds[][2] = { { OP_host_load, MOVE_HOST_LOAD }, { OP_host_store, MOVE_HOST_STORE }, { OP_remote_load, MOVE_REMOTE_LOAD },
	                                { OP_remote_store, MOVE_REMOTE_STORE }, { OP_remote_code_load, MOVE_CODE_LOAD }, { OP_load_segment, MOVE_CODE_LOAD } };
	Transfer t = { .at = op->at, .writes = op->inplace };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i][0] == op->code) t.kind = (TransferKind)kinds[i][1];
	if (op->code == OP_remote_code_load) t.code = ((const Graph *)op_attr(op, "graph")->p)->index;
	else if (op->code == OP_load_segment) t.code = (int)op_attr(op, "segment")->i;
	else if (is_remote(t.kind)) t.buffer = op_attr(op, "remote_buffer")->p;
	else t.stream = op_attr(op, is_load(t.kind) ? "h2d_stream" : "d2h_stream")->p;
	fill_tensors(op, &t);
	return t;
}

/* The text of an IR may hold any numbers: what is out of range is left out. */
static Transfer read_part(const Op *op, const int64_t *p, int in, int out)
{
	const Ir *ir = op->graph->ir;
	int64_t index = p[PART_INDEX];
	Transfer t = { .kind = (TransferKind)p[PART_KIND], .writes = p[PART_WRITES] != 0, .in_at = in, .out_at = out,
	               .at = { (uint32_t)p[PART_SRC], (uint32_t)p[PART_LO], (uint32_t)p[PART_LO] } };
	if (t.kind == MOVE_CODE_LOAD) t.code = index >= 0 && index < INT32_MAX ? (int)index : -1;
	else if (is_remote(t.kind)) t.buffer = index >= 0 && index < ir->buffers.n ? ir->buffers.at[index] : NULL;
	else t.stream = index >= 0 && index < ir->streams.n ? ir->streams.at[index] : NULL;
	fill_tensors(op, &t);
	return t;
}

/* Steps over the parts of an exchange, counting operands and results: `at` starts as zeros. */
typedef struct Parts { int i, in, out; } Parts;

static int next_part(const Op *op, Parts *at, Transfer *t)
{
	int n;
	const int64_t *p = parts_of(op, &n);
	if (at->i >= n) return 0;
	*t = read_part(op, p + (size_t)at->i++ * PART_WIDTH, at->in, at->out);
	at->in += operands_of(t->kind);
	at->out += is_load(t->kind);
	return 1;
}

Transfer op_transfer(const Op *op, int i)
{
	Transfer t = { 0 };
	Parts at = { 0 };
	if (op->code != OP_multi_exchange) return single(op);
	while (i-- >= 0 && next_part(op, &at, &t)) continue;
	return t;
}

int op_hands_out(const Op *op, int out)
{
	Transfer t;
	Parts at = { 0 };
	if (op->code == OP_host_load) return 1;
	while (op->code == OP_multi_exchange && next_part(op, &at, &t))
		if (t.kind == MOVE_HOST_LOAD && t.out_at == out) return 1;
	return 0;
}

static int64_t index_of(const Transfer *t) { return t->buffer ? t->buffer->id : t->stream ? t->stream->index : t->code; }

AttrVal transfer_parts(Arena *a, Op *const *ops, int n)
{
	VEC(int64_t) p = { 0 };
	for (int i = 0; i < n; i++)
		for (int k = 0; k < op_transfers(ops[i]); k++) {
			Transfer t = op_transfer(ops[i], k);
			int64_t part[PART_WIDTH] = { (int64_t)t.kind, index_of(&t), t.writes, t.at.src, t.at.lo };
			for (int c = 0; c < PART_WIDTH; c++) vec_push(a, &p, part[c]);
		}
	return attr_ints(a, p.at, p.n);
}

/* --- the merged op ------------------------------------------------------------------------------------------------- */

static int known_kinds(const Op *op)
{
	const AttrVal *a = op_attr(op, "parts");
	if (a->ints.n == 0 || a->ints.n % PART_WIDTH) return 0;
	for (int i = 0; i < a->ints.n; i += PART_WIDTH)
		if (a->ints.at[i + PART_KIND] < 0 || a->ints.at[i + PART_KIND] >= MOVE_KINDS) return 0;
	return 1;
}

static int same_spec(const Tensor *t, Spec s) { return t->spec.dtype == s.dtype && shape_eq(t->spec.shape, s.shape); }

static int part_fits(const Transfer *t)
{
	Spec s = t->stream ? t->stream->spec : t->buffer ? t->buffer->spec : (Spec){ 0 };
	if (t->kind == MOVE_CODE_LOAD) return t->code >= 0 && !t->writes;
	if (!t->stream == !t->buffer || (t->stream && t->stream->is_input != is_load(t->kind))) return 0;
	if (t->t ? !same_spec(t->t, s) : !is_load(t->kind) || t->writes) return 0;
	if (t->writes && t->kind != MOVE_REMOTE_LOAD) return 0;
	return !is_remote(t->kind) || (t->offset && dtype_is_int(t->offset->spec.dtype) && shape_nelems(t->offset->spec.shape) == 1);
}

static int infer_exchange(Infer *in)
{
	Transfer t;
	Parts at = { 0 };
	if (!known_kinds(in->op)) return infer_error(in, E0310, "`multi_exchange` does not say what it moves"), 0;
	in->nout = 0;
	in->many = NEWN(in->b->ir->mem, Spec, op_transfers(in->op) + 1);
	while (next_part(in->op, &at, &t)) {
		if (!part_fits(&t)) return infer_error(in, E0310, "part %d of `multi_exchange` does not fit its tensors", at.i - 1), 0;
		if (is_load(t.kind)) in->many[in->nout++] = t.stream ? t.stream->spec : t.buffer->spec;
	}
	if (in->op->in.n == at.in) return 1;
	infer_error(in, E0310, "`multi_exchange` has %d operands for %d", in->op->in.n, at.in);
	return 0;
}

static int exchange_modifies(const Op *op, int operand)
{
	Transfer t;
	Parts at = { 0 };
	while (next_part(op, &at, &t))
		if (t.writes && t.in_at == operand) return 1;
	return 0;
}

static int exchange_shares(const Op *op, int out)
{
	Transfer t;
	Parts at = { 0 };
	while (next_part(op, &at, &t))
		if (t.writes && t.out_at == out) return t.in_at;
	return -1;
}

/* --- lowering and emission -------------------------------------------------------------------------------------------- */

/* plain loads give memory of their own: what they were to fill is dropped */
static int lower_exchange(Build *b, Op *op, Tensor **out)
{
	Tensor **in = NEWN(b->ir->mem, Tensor *, op->in.n + 1);
	int dropped = 0;
	Transfer t;
	Parts at = { 0 };
	for (int i = 0; i < op->in.n; i++) in[i] = op->in.at[i];
	while (next_part(op, &at, &t)) {
		if (!is_load(t.kind) || t.writes || !t.t) continue;
		in[t.in_at] = NULL;
		dropped = 1;
	}
	if (!dropped) return 0;
	Op *now = ir_op(b, OP_multi_exchange, in, op->in.n, op->attr, NULL);
	for (int i = 0; i < op->out.n; i++) out[i] = now->out.at[i];
	return 1;
}

/* one row of the descriptor, and the two pointers that go with it */
static void put_part(Emit *e, const Op *op, const Transfer *t, Buf *rows, Buf *pointers)
{
	static const char *const kinds[] = { "PXLRT_HOST_LOAD", "PXLRT_HOST_STORE", "PXLRT_REMOTE_LOAD", "PXLRT_REMOTE_STORE", "PXLRT_CODE_LOAD" };
	static const char *const names[] = { "host_load", "host_store", "remote_load", "remote_store", "remote_code_load" };
	const char *data = emit_ptr(e, is_load(t->kind) ? t->out : t->t);
	buf_printf(rows, "%s{ %s, %d, %d, %d }", rows->n ? ", " : "", kinds[t->kind], (int)index_of(t),
	           t->offset ? (int)t->offset->spec.dtype : 0, site_at(e, t->at.src ? t->at : op->at, names[t->kind]));
	buf_printf(pointers, "%s(void *)%s%s, ", pointers->n ? ", " : "", t->kind == MOVE_HOST_LOAD ? "&" : "", data);
	buf_printf(pointers, "%s%s", t->offset ? "(void *)" : "", t->offset ? emit_ptr(e, t->offset) : "0");
}

static void emit_exchange(Emit *e, const Op *op)
{
	Buf rows = buf_new(emit_mem(e)), pointers = buf_new(emit_mem(e));
	Transfer t;
	Parts parts = { 0 };
	while (next_part(op, &parts, &t)) put_part(e, op, &t, &rows, &pointers);
	const char *desc = emit_static(e, "struct pxlrt_transfer *const", "(const struct pxlrt_transfer[]){ %s }", rows.s);
	const char *at = emit_name(e, "moves");
	emit_line(e, "void *const %s[] = { %s };", at, pointers.s);
	emit_rt(e, op, "exchange(ln, %s, %d, %s)", desc, parts.i, at);
}

OPDEF(multi_exchange, .type = "MultiExchange", .family = "host_io", .params = PARAMS({ "parts", P_INTS }, { "ts", P_TENSORS }), .nout = -2,
	.traits = EFFECT | NO_GRAD | INTERNAL | ACROSS, .infer = infer_exchange, .modifies = exchange_modifies, .shares = exchange_shares, .lower = lower_exchange,
	.emit = emit_exchange,
	.doc = "Loads and stores in one step, made by `merge_exchange`: all loads happen before all stores.", .formula = "y = loads, then stores");

/* graphs get numbers as segments: those that code loads name (compiler/passes/trim.c) */
void exchange_set_code(Op *op, int part, int segment)
{
	int n;
	const int64_t *p = parts_of(op, &n);
	int64_t *now = NEWN(op->graph->ir->mem, int64_t, n * PART_WIDTH);
	for (int i = 0; i < n * PART_WIDTH; i++) now[i] = p[i];
	now[part * PART_WIDTH + PART_INDEX] = segment;
	op->attr[op_param(op_def(op), "parts")].ints.at = now;
}
