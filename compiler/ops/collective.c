/* collective.c — what replicas, and the IPUs of one replica, do together.
 *
 * Across IPUs a collective takes a list and gives a list; on the CPU it is a reduction of the list.  Across replicas
 * each of a group hands in its tensor, and members are ordered by replica number.  With one member nothing
 * crosses: those are lowered to ops on the member's own tensor.  The rest meet in runtime/collective. */
#include "compiler/codegen/emit.h"
#include "compiler/ops/grad.h"

#include <inttypes.h>
#include <string.h>

/* PXLRT_SUM and so on, as far as a collective has them */
static const char *const reductions[] = { "add", "mean", "mul", "min", "max", "and", "or", "square_add", 0 };
enum { ADD, MEAN, MUL, MIN, MAX, AND, OR, SQUARE_ADD };
static int reduction_of(const Op *op)
{
	for (int i = 0; reductions[i]; i++)
		if (!strcmp(op_attr(op, "op")->s, reductions[i])) return i;
	return ADD;
}

static int check_reduction(Infer *in)
{
	int how = infer_word(in, "op", reductions);
	return how >= 0 && (how == AND || how == OR || infer_need_number(in, 0));
}

static Tensor *is_set(Build *b, Tensor *x) { return x->spec.dtype == DT_BOOL ? x : b_op2(b, OP_not_equal, x, b_like(b, x, 0)); }

/* one member's reduction of its own tensor */
static Tensor *alone(Build *b, Tensor *x, int how)
{
	if (how == SQUARE_ADD) return b_op2(b, OP_mul, x, x);
	if (how == AND || how == OR) return b_cast(b, is_set(b, x), x->spec.dtype);
	return b_op1(b, OP_copy, x);
}

static int64_t elements(const Tensor *t) { return shape_nelems(t->spec.shape); }
static Shape flat_shape(int64_t n) { return (Shape){ .rank = 1, .dim = { n } }; }

/* --- across the IPUs of one replica -------------------------------------------------------------------------------- */

static int find_ipus(Infer *in)
{
	const AttrVal *given = op_attr(in->op, "ipus");
	int n = in->op->in.n;
	int64_t *ipus = NEWN(in->b->ir->mem, int64_t, n + 1);
	if (given->set && given->ints.n != n)
		return infer_error(in, E0310, "`%s` of %d tensors needs as many `ipus`, not %d", in->def->name, n, given->ints.n), 0;
	for (int i = 0; i < n; i++) {
		ipus[i] = given->set ? given->ints.at[i] : tensor_ipu(in->op->in.at[i]);
		if (ipus[i] >= 0 && ipus[i] != IPU_UNKNOWN) continue;
		Diag *d = infer_error(in, E0647, "the IPU of `%s` cannot be told", in->op->in.at[i]->name);
		diag_help(in->b->ir->ds, d, (Span){ 0, 0, 0 }, "say `ipus = [...]`, one number per tensor");
		return 0;
	}
	infer_set_ints(in, "ipus", ipus, n);
	return 1;
}

static int infer_all_reduce(Infer *in)
{
	int n = in->op->in.n;
	if (!n) return infer_error(in, E0310, "`%s` of no tensors", in->def->name), 0;
	if (!check_reduction(in) || !find_ipus(in)) return 0;
	in->nout = n;
	in->many = NEWN(in->b->ir->mem, Spec, n);
	for (int i = 0; i < n; i++) {
		in->many[i] = infer_in(in, i);
		if (in->many[i].dtype == in->many[0].dtype && shape_eq(in->many[i].shape, in->many[0].shape)) continue;
		infer_error(in, in->many[i].dtype == in->many[0].dtype ? E0311 : E0303, "the tensors of `%s` differ", in->def->name);
		return 0;
	}
	return 1;
}

static int ipu_of_result(const Op *op, int out) { return (int)op_attr(op, "ipus")->ints.at[out]; }

/* [n, elements], a row for each */
static Tensor *stack(Build *b, Tensor *const *ts, int n)
{
	Shape row = { .rank = 2, .dim = { 1, elements(ts[0]) } };
	Tensor **rows = NEWN(b->ir->mem, Tensor *, n);
	for (int i = 0; i < n; i++) rows[i] = b_reshape(b, ts[i], row);
	return n == 1 ? rows[0] : b_concat(b, rows, n, 0);
}

static Tensor *reduce_list(Build *b, const Op *op)
{
	static const OpCode folds[] = { [ADD] = OP_sum, [MEAN] = OP_mean, [MUL] = OP_prod, [MIN] = OP_min, [MAX] = OP_max, [SQUARE_ADD] = OP_sumsquare };
	Tensor *const *ts = op->in.at;
	int how = reduction_of(op), n = op->in.n;
	if (n == 1) return alone(b, ts[0], how);
	if (how == ADD) return ir_op(b, OP_sum_n, ts, n, 0, 0)->out.at[0];
	if (how == AND || how == OR) {
		Tensor *y = is_set(b, ts[0]);
		for (int i = 1; i < n; i++) y = b_op2(b, how == AND ? OP_logical_and : OP_logical_or, y, is_set(b, ts[i]));
		return b_cast(b, y, ts[0]->spec.dtype);
	}
	Tensor *rows = stack(b, ts, n);
	if (how == SQUARE_ADD && !dtype_is_float(rows->spec.dtype)) rows = b_op2(b, OP_mul, rows, rows), how = ADD;
	return b_reshape(b, b_reduce_op(b, folds[how], rows, 1, 0), ts[0]->spec.shape);
}

static int lower_all_reduce(Build *b, Op *op, Tensor **out)
{
	Tensor *y = reduce_list(b, op);
	for (int i = 0; i < op->out.n; i++) out[i] = y;
	return 1;
}

static int lower_identity(Build *b, Op *op, Tensor **out)
{
	for (int i = 0; i < op->out.n; i++) out[i] = b_op1(b, OP_copy, op->in.at[i]);
	return 1;
}

static int only_sums(Grad *gr, Op *op)
{
	if (reduction_of(op) == ADD) return 1;
	grad_refuse(gr, op, "only its sum (op = \"add\") has a gradient");
	return 0;
}

static void grad_by_reducing(Grad *gr, Op *op)
{
	Tensor **g = NEWN(gr->b.ir->mem, Tensor *, op->out.n);
	if (!only_sums(gr, op)) return;
	for (int i = 0; i < op->out.n; i++) g[i] = grad_of(gr, op, i);
	Op *sum = ir_op(&gr->b, OP_all_reduce, g, op->out.n, b_attrs(&gr->b, OP_all_reduce, "ipus", *op_attr(op, "ipus"), NULL), 0);
	for (int i = 0; i < op->in.n; i++) grad_add(gr, op, i, sum->out.at[i]);
}

static void grad_by_handing_on(Grad *gr, Op *op)
{
	for (int i = 0; i < op->in.n && only_sums(gr, op); i++) grad_add(gr, op, i, grad_of(gr, op, i));
}

#define REDUCTION { "op", P_STR, OPTIONAL, STR_DEFAULT("add") }
#define ACROSS_IPUS .family = "collective", .nout = -2, .traits = PURE | ACROSS, .infer = infer_all_reduce, .ipu = ipu_of_result, .sample = { -2, 2 }, \
	.params = PARAMS({ "ts", P_TENSORS }, { "ipus", P_INTS, OPTIONAL }, REDUCTION), .order = "ts ipus op"
#define IPUS_DOC " One tensor per IPU, of one shape and element type; `ipus` says which IPUs, where the tensors do not."
#define OPS_DOC " `op` is add, mean (rounded down for integers), mul, min, max, and, or (of what is not 0), or square_add, the sum of squares."

OPDEF(all_reduce, .type = "AllReduce", ACROSS_IPUS, .lower = lower_all_reduce, .grad = grad_by_reducing, .flops = 1,
	.doc = "The reduction of a list of tensors, one copy for each IPU." IPUS_DOC OPS_DOC, .formula = "y_i = sum_j x_j, dx_i = sum_j g_j");
OPDEF(all_reduce_identical_inputs, .type = "AllReduce", ACROSS_IPUS, .lower = lower_identity, .grad = grad_by_reducing, .flops = 1,
	.doc = "The entry of a block that several IPUs compute in parts: the tensors are the same already and stay as they are, but their gradients are reduced." IPUS_DOC,
	.formula = "y_i = x_i, dx_i = sum_j g_j");
OPDEF(all_reduce_identical_grad_inputs, .type = "AllReduce", ACROSS_IPUS, .lower = lower_all_reduce, .grad = grad_by_handing_on, .flops = 1,
	.doc = "The exit of a block that several IPUs compute in parts: the tensors are reduced, but their gradients are the same already and stay as they are." IPUS_DOC OPS_DOC,
	.formula = "y_i = sum_j x_j, dx_i = g_i");

/* --- across replicas: the group ------------------------------------------------------------------------------------- */

static const Grouping *group_of(const Op *op)
{
	const Ir *ir = op->graph->ir;
	return ir->groupings.at[op_attr(op, "group")->i];
}

/* how many members; 0 after a diagnostic */
static int64_t check_group(Infer *in)
{
	const Grouping *g = group_of(in->op);
	if (g->is_const) return g->size;
	infer_error(in, E0122, "`%s` over groups of replicas that no stride and size describe is not available yet", in->def->name);
	return 0;
}

static int64_t pieces(const Op *op, const Tensor *t) { return (elements(t) + group_of(op)->size - 1) / group_of(op)->size; }

/* a call of the kernel: the blocks of a tensor are [outer, n, inner], of which one member has one */
static void emit_collective(Emit *e, const Op *op, const char *kind, int how, int64_t outer, int64_t n, int64_t total)
{
	const Grouping *g = group_of(op);
	const char *d = emit_static(e, "struct pxlrt_collective", "{ PXLRT_%s, %d, %d, %d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 " }", kind, how,
	                            op->in.at[0]->spec.dtype, g->stride, g->size, outer, n, total);
	emit_rt(e, op, "collective(ln, &%s, %s, %s)", d, emit_in(e, op, 0), emit_out(e, op, 0));
}

/* product of the axes before `axis`, and from it on */
static int64_t before(Shape s, int axis)
{
	int64_t n = 1;
	for (int i = 0; i < axis; i++) n *= s.dim[i];
	return n;
}
static int64_t from(Shape s, int axis)
{
	int64_t n = 1;
	for (int i = axis; i < s.rank; i++) n *= s.dim[i];
	return n;
}

static AttrVal *group_attrs(Build *b, OpCode code, const Op *op, const char *name, AttrVal v)
{
	return b_attrs(b, code, "group", *op_attr(op, "group"), name, v, NULL);
}

#define GROUP { "group", P_GROUP, OPTIONAL, INT_DEFAULT(0) }
#define GROUP_DOC " `group` says which replicas belong together: none for all of them, or a replica grouping of constant stride and size."
#define ACROSS_REPLICAS .family = "collective", .traits = PURE, .sample = { -2, 2 }
#define MOVES_ACROSS_REPLICAS .family = "collective", .traits = PURE | MOVES, .sample = { -2, 2 }

/* --- replicated_all_reduce --------------------------------------------------------------------------------------------- */

static int infer_replicated_all_reduce(Infer *in) { return check_reduction(in) && check_group(in) && infer_same(in); }

/* Others read the operand while the result is written, so working in place takes a tensor besides. */
static int lower_replicated_all_reduce(Build *b, Op *op, Tensor **out)
{
	int how = reduction_of(op);
	if (group_of(op)->size > 1 && !op->inplace) return 0;
	if (group_of(op)->size == 1) out[0] = alone(b, op->in.at[0], how);
	else out[0] = ir_op(b, OP_replicated_all_reduce, op->in.at, 1, group_attrs(b, OP_replicated_all_reduce, op, "op", *op_attr(op, "op")), 0)->out.at[0];
	if (op->inplace) out[0] = ir_op_inplace(b, OP_copy_var_update, (Tensor *[]){ op->in.at[0], out[0] }, 2, 0, 0)->out.at[0];
	return 1;
}

static void grad_replicated_all_reduce(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0);
	if (only_sums(gr, op))
		grad_add(gr, op, 0, ir_op(b, OP_replicated_all_reduce, &g, 1, group_attrs(b, OP_replicated_all_reduce, op, "op", *op_attr(op, "op")), 0)->out.at[0]);
}

static void emit_replicated_all_reduce(Emit *e, const Op *op)
{
	int64_t n = elements(op->in.at[0]);
	emit_collective(e, op, "ALL_REDUCE", reduction_of(op), 1, n, n);
}

OPDEF(replicated_all_reduce, .type = "ReplicatedAllReduce", .type_inplace = "ReplicatedAllReduceInplace", ACROSS_REPLICAS, .inplace = MODIFIES,
	.params = PARAMS({ "t", P_TENSOR }, REDUCTION, GROUP), .infer = infer_replicated_all_reduce, .lower = lower_replicated_all_reduce,
	.grad = grad_replicated_all_reduce, .emit = emit_replicated_all_reduce, .flops = 1,
	.doc = "The reduction of what the replicas of a group have, on each of them." OPS_DOC GROUP_DOC, .formula = "y = sum over members of t, dt = sum over members of g");

/* --- replicated_reduce_scatter, replica_sharded_slice ---------------------------------------------------------------------- */

static int infer_piece(Infer *in, int shard)
{
	const Tensor *t = infer_tensor(in, 0);
	if (!check_group(in)) return 0;
	in->out[0] = (Spec){ .dtype = t->spec.dtype, .shape = flat_shape(pieces(in->op, t)) };
	if (shard) in->out[0].has_meta = 1, in->out[0].meta = t->spec.shape;
	return 1;
}
static int infer_reduce_scatter(Infer *in)
{
	return check_reduction(in) && infer_piece(in, (int)op_attr(in->op, "configure_output_for_replicated_tensor_sharding")->i);
}
static int infer_sharded_slice(Infer *in) { return infer_piece(in, 1); }

static int lower_reduce_scatter(Build *b, Op *op, Tensor **out)
{
	if (group_of(op)->size > 1) return 0;
	out[0] = b_reshape(b, alone(b, op->in.at[0], reduction_of(op)), op->out.at[0]->spec.shape);
	return 1;
}

static void emit_reduce_scatter(Emit *e, const Op *op)
{
	emit_collective(e, op, "REDUCE_SCATTER", reduction_of(op), 1, pieces(op, op->in.at[0]), elements(op->in.at[0]));
}

OPDEF(replicated_reduce_scatter, .type = "ReplicatedReduceScatter", .family = "collective", .traits = PURE | GRAD_ERROR, .sample = { -2, 2 },
	.params = PARAMS({ "t", P_TENSOR }, REDUCTION, GROUP, { "configure_output_for_replicated_tensor_sharding", P_BOOL, OPTIONAL, INT_DEFAULT(0) }),
	.infer = infer_reduce_scatter, .lower = lower_reduce_scatter, .emit = emit_reduce_scatter, .flops = 1,
	.doc = "The reduction of what the replicas of a group have, cut into pieces of equal length: the tensor is flattened and filled with zeros at its end; member i "
	       "keeps piece i. With `configure_output_for_replicated_tensor_sharding` the piece is a shard, whose `meta_shape` is the tensor's shape." OPS_DOC GROUP_DOC,
	.formula = "y = piece i of the sum over members of t");

static int lower_sharded_slice(Build *b, Op *op, Tensor **out)
{
	if (group_of(op)->size > 1) return 0;
	out[0] = b_reshape(b, b_op1(b, OP_copy, op->in.at[0]), op->out.at[0]->spec.shape);
	return 1;
}

/* of the flattened tensor, without what fills it up */
static void grad_sharded_slice(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *t = op->in.at[0];
	AttrVal *v = group_attrs(b, OP_replicated_all_gather, op, "output_shape", attr_str("concat"));
	Tensor *all = ir_op(b, OP_replicated_all_gather, &g, 1, v, 0)->out.at[0];
	if (elements(all) != elements(t)) all = b_slice(b, all, 0, 0, elements(t));
	grad_add(gr, op, 0, b_reshape(b, all, t->spec.shape));
}

static void emit_sharded_slice(Emit *e, const Op *op)
{
	emit_collective(e, op, "OWN", ADD, 1, pieces(op, op->in.at[0]), elements(op->in.at[0]));
}

OPDEF(replica_sharded_slice, .type = "ReplicaShardedSlice", MOVES_ACROSS_REPLICAS, .params = PARAMS({ "t", P_TENSOR }, GROUP), .infer = infer_sharded_slice,
	.lower = lower_sharded_slice, .grad = grad_sharded_slice, .emit = emit_sharded_slice,
	.doc = "A replica's own piece of its tensor, as a shard: flattened, filled with zeros at its end, and cut into as many pieces as the group has members; nothing is "
	       "reduced. `replicated_all_gather` puts the pieces together again." GROUP_DOC,
	.formula = "y = piece i of t, dt = the pieces g of all members");

/* --- replicated_all_gather ---------------------------------------------------------------------------------------------------- */

enum { AUTO, NEW_AXIS, CONCAT, META };
static int infer_all_gather(Infer *in)
{
	static const char *const shapes[] = { "auto", "new_axis", "concat", "meta_shape", 0 };
	Spec x = infer_in(in, 0);
	int64_t n = check_group(in);
	int form = infer_word(in, "output_shape", shapes), axis = 0;
	if (!n || form < 0) return 0;
	if (form == AUTO) form = x.has_meta ? META : CONCAT;
	if (form == CONCAT && !infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank, &axis)) return 0;
	if (form == NEW_AXIS && x.shape.rank == MAX_RANK) return infer_error(in, E0311, "`%s` of %d axes cannot get another", in->def->name, MAX_RANK), 0;
	if (form == META && (!x.has_meta || (shape_nelems(x.meta) + n - 1) / n != shape_nelems(x.shape)))
		return infer_error(in, E0310, "`%s` has no %s to gather into", in->op->in.at[0]->name, x.has_meta ? "`meta_shape` that pieces of this group fill" : "`meta_shape`"), 0;
	Shape y = form == META ? x.meta : x.shape;
	if (form == CONCAT && __builtin_mul_overflow(y.dim[axis], n, &y.dim[axis])) return infer_error(in, E0311, "the result of `%s` is too large", in->def->name), 0;
	if (form == NEW_AXIS) {
		y = (Shape){ .rank = x.shape.rank + 1, .dim = { n } };
		for (int i = 0; i < x.shape.rank; i++) y.dim[i + 1] = x.shape.dim[i];
	}
	in->out[0] = (Spec){ .dtype = x.dtype, .shape = y };
	infer_set_int(in, "axis", axis);
	in->op->attr[op_param(in->def, "output_shape")] = attr_str(shapes[form]);
	return 1;
}

static int lower_all_gather(Build *b, Op *op, Tensor **out)
{
	if (group_of(op)->size > 1) return 0;
	out[0] = b_reshape(b, b_op1(b, OP_copy, op->in.at[0]), op->out.at[0]->spec.shape);
	return 1;
}

static void grad_all_gather(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Tensor *g = grad_of(gr, op, 0), *y;
	if (op_attr(op, "output_shape")->s[0] == 'm') y = ir_op(b, OP_replica_sharded_slice, &g, 1, group_attrs(b, OP_replica_sharded_slice, op, "group", *op_attr(op, "group")), 0)->out.at[0];
	else y = ir_op(b, OP_replicated_slice, &g, 1, group_attrs(b, OP_replicated_slice, op, "axis", *op_attr(op, "axis")), 0)->out.at[0];
	grad_add(gr, op, 0, b_reshape(b, y, op->in.at[0]->spec.shape));
}

static void emit_all_gather(Emit *e, const Op *op)
{
	Shape x = op->in.at[0]->spec.shape;
	int axis = (int)op_attr(op, "axis")->i;
	emit_collective(e, op, "ALL_GATHER", ADD, before(x, axis), from(x, axis), elements(op->out.at[0]));
}

OPDEF(replicated_all_gather, .type = "ReplicatedAllGather", MOVES_ACROSS_REPLICAS,
	.params = PARAMS({ "t", P_TENSOR }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }, GROUP, { "output_shape", P_STR, OPTIONAL, STR_DEFAULT("auto") }),
	.infer = infer_all_gather, .lower = lower_all_gather, .grad = grad_all_gather, .emit = emit_all_gather,
	.doc = "What the replicas of a group have, put together in the order of their numbers, on each of them. `output_shape` says how: \"concat\" along `axis`, \"new_axis\" "
	       "in front, \"meta_shape\" from shards to the whole tensor; \"auto\" is meta_shape for a shard and concat for the rest. The gradient is a member's own part of g; "
	       "nothing is reduced." GROUP_DOC,
	.formula = "y = [t of member 0, t of member 1, ...], dt = block i of g");

/* --- replicated_slice ----------------------------------------------------------------------------------------------------------- */

static int infer_slice_of_group(Infer *in)
{
	Spec x = infer_in(in, 0);
	int64_t n = check_group(in);
	int axis;
	if (!n || !infer_axis(in, op_attr(in->op, "axis")->i, x.shape.rank, &axis)) return 0;
	if (x.shape.dim[axis] % n)
		return infer_error(in, E0310, "axis %d of `%s` cannot be cut into %" PRId64 " equal blocks: it has %" PRId64 " elements", axis, in->def->name, n, x.shape.dim[axis]), 0;
	infer_set_int(in, "axis", axis);
	in->out[0].dtype = x.dtype;
	for (int i = 0; i < x.shape.rank; i++) {
		int64_t d = i == axis ? x.shape.dim[i] / n : x.shape.dim[i];
		if (i != axis || d != 1) in->out[0].shape.dim[in->out[0].shape.rank++] = d;
	}
	return 1;
}

static void grad_slice_of_group(Grad *gr, Op *op)
{
	Build *b = &gr->b;
	Shape block = op->in.at[0]->spec.shape;
	block.dim[op_attr(op, "axis")->i] /= group_of(op)->size;
	Tensor *g = b_reshape(b, grad_of(gr, op, 0), block);
	AttrVal *v = b_attrs(b, OP_replicated_all_gather, "group", *op_attr(op, "group"), "axis", *op_attr(op, "axis"), "output_shape", attr_str("concat"), NULL);
	grad_add(gr, op, 0, ir_op(b, OP_replicated_all_gather, &g, 1, v, 0)->out.at[0]);
}

static void emit_slice_of_group(Emit *e, const Op *op)
{
	Shape x = op->in.at[0]->spec.shape;
	int axis = (int)op_attr(op, "axis")->i;
	emit_collective(e, op, "OWN", ADD, before(x, axis), from(x, axis) / group_of(op)->size, elements(op->in.at[0]));
}

OPDEF(replicated_slice, .type = "ReplicatedSlice", MOVES_ACROSS_REPLICAS, .params = PARAMS({ "t", P_TENSOR }, { "axis", P_INT, OPTIONAL, INT_DEFAULT(0) }, GROUP),
	.infer = infer_slice_of_group, .lower = lower_sharded_slice, .grad = grad_slice_of_group, .emit = emit_slice_of_group,
	.doc = "A replica's own block of `axis`, of as many equal blocks as the group has members; not a shard. An axis whose block is 1 long is dropped." GROUP_DOC,
	.formula = "y = block i of t, dt = the blocks g of all members");
