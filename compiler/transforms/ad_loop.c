/* ad_loop.c — the gradient of a repeat: a repeat over its turns from the last to the first.
 *
 * Its graph calls the gradient graph of the body once.  What a turn of it reads and hands on:
 *
 *   carried    the gradients of the body's outputs become those of its carried inputs; sums of the gradients
 *              of the other inputs; and a result of the forward turn, which is what the turn after it was
 *              given, hence what this loop read one turn ago
 *   rows       what a forward turn was given, and what came out of effects in it: the body hands these out
 *              as more outputs, and a repeat gives such outputs one row per turn (ad_keep_turns)
 *   the rest   is the same in every turn
 *
 * A repeat that reads rows itself, as those made here do, gives the gradients of the rows as rows. */
#include "compiler/transforms/ad.h"

typedef struct Loop {
	Grad *gr;
	Op *op;                      /* the forward repeat */
	GradInfo *gi;                /* of its body */
	Graph *body, *turn;
	int64_t count;
	int carried, nin;
	Build b;                     /* in turn */
	VEC(Tensor *) in;            /* operands of the loop, as the inputs of turn */
	VEC(int64_t) rows;           /* how each is read */
	VEC(Tensor *) out;           /* outputs of turn */
	Tensor **value, **dout;      /* Site's, in turn */
	Tensor **sum;                /* in turn, per input of the body that is not carried: its gradient so far */
} Loop;

static int64_t turns(const Op *op) { return op_attr(op, "repeat_count")->i; }

/* --- what a turn of the body has to hand out ------------------------------------------------------------------ */

/* the added output of the body that shows t; -1 */
static int added_output(const Graph *body, const Tensor *t)
{
	for (int k = body->written_outputs; k < body->outputs.n; k++)
		if (body->outputs.at[k] == t) return k;
	return -1;
}

/* the carried input whose value in every turn is needed for t, or NULL */
static Tensor *needed_state(const Graph *body, Tensor *t)
{
	if (t->input_index >= 0) return t->input_index < body->written_outputs ? t : NULL;
	if (added_output(body, t) >= 0) return NULL;
	for (int k = 0; k < body->written_outputs; k++)
		if (body->outputs.at[k] == t) return body->inputs.at[k];
	return NULL;
}

void ad_keep_turns(Autodiff *ad, Op *op)
{
	GradInfo *gi = ad_info_of(ad->run, op->callee[0]);

	for (int i = 0; gi && turns(op) && i < gi->ins.n; i++) {
		Tensor *t = gi->ins.at[i].type == CONN_FWD ? needed_state(gi->fwd, gi->ins.at[i].fwd) : NULL;
		if (t && added_output(gi->fwd, t) < 0) ir_add_output(gi->fwd, t, "autodiff_turns");
	}
}

/* --- inputs of a backward turn ---------------------------------------------------------------------------------- */

static Tensor *enter(Loop *l, Tensor *operand, Spec one, const char *name, int rows)
{
	vec_push(l->gr->ad->mem, &l->in, operand);
	vec_push(l->gr->ad->mem, &l->rows, rows);
	return ir_input(&l->b, one, name, 0);
}

static int expects(const GradInfo *gi, Connection type, const Tensor *t)
{
	for (int i = 0; i < gi->ins.n; i++)
		if (gi->ins.at[i].type == type && gi->ins.at[i].fwd == t) return 1;
	return 0;
}

/* which result of the body's gradient graph is the gradient of input k; -1 */
static int served(const GradInfo *gi, int k)
{
	for (int j = 0; j < gi->outs.n; j++)
		if (gi->outs.at[j].fwd->input_index == k) return j;
	return -1;
}

static const char *gradient_name(Loop *l, const Tensor *t)
{
	return arena_printf(l->gr->ad->mem, "Gradient___%s", t->name);
}

static int has_gradient(Loop *l, int k)
{
	return dtype_is_float(l->body->inputs.at[k]->spec.dtype) && (served(l->gi, k) >= 0 || expects(l->gi, CONN_FWD_GRAD, l->body->outputs.at[k]));
}

static void enter_gradients(Loop *l)
{
	for (int k = 0; k < l->carried; k++)
		if (has_gradient(l, k)) l->dout[k] = enter(l, grad_of(l->gr, l->op, k), ad_gradient_spec(l->body->outputs.at[k]), gradient_name(l, l->body->inputs.at[k]), 0);
	for (int k = l->carried; k < l->nin; k++) {
		Tensor *t = l->body->inputs.at[k];
		if (served(l->gi, k) < 0 || op_rows(l->op, k) || !grad_wanted(l->gr, l->op, k)) continue;
		Build z = ad_beside(&l->gr->b, t);
		l->sum[k] = enter(l, b_zeros(&z, t->spec), ad_gradient_spec(t), gradient_name(l, t), 0);
	}
}

/* is t needed as a result of the turn; an output that is an input is needed as what it was given */
static int needs_result(Loop *l, int k)
{
	Tensor *t = l->body->outputs.at[k];
	return t->input_index < 0 && added_output(l->body, t) < 0 && expects(l->gi, CONN_FWD, t);
}

static void enter_results(Loop *l)
{
	for (int k = 0; k < l->carried; k++)
		if (needs_result(l, k)) l->value[l->nin + k] = enter(l, grad_fwd(l->gr, l->op->out.at[k]), l->body->outputs.at[k]->spec, l->body->outputs.at[k]->name, 0);
}

/* a row for each turn, from the last on */
static Tensor *enter_rows(Loop *l, int k)
{
	Tensor *t = l->body->outputs.at[k];
	return enter(l, grad_fwd(l->gr, l->op->out.at[k]), t->spec, t->name, -1);
}

static void enter_states(Loop *l)
{
	for (int i = 0; i < l->gi->ins.n; i++) {
		Tensor *t = l->gi->ins.at[i].type == CONN_FWD ? needed_state(l->body, l->gi->ins.at[i].fwd) : NULL;
		if (t && !l->value[t->input_index]) l->value[t->input_index] = enter_rows(l, added_output(l->body, t));
	}
}

static void enter_rest(Loop *l)
{
	for (int k = l->carried; k < l->nin; k++) {
		Tensor *t = l->body->inputs.at[k];
		if (expects(l->gi, CONN_FWD, t)) l->value[k] = enter(l, grad_fwd(l->gr, l->op->in.at[k]), t->spec, t->name, -op_rows(l->op, k));
	}
	for (int k = l->carried; k < l->body->outputs.n; k++) {
		Tensor *t = l->body->outputs.at[k];
		if (t->input_index < 0 && expects(l->gi, CONN_FWD, t) && added_output(l->body, t) == k) l->value[l->nin + k] = enter_rows(l, k);
		if (grad_has(l->gr, l->op, k) && expects(l->gi, CONN_FWD_GRAD, t)) l->dout[k] = enter(l, grad_of(l->gr, l->op, k), ad_gradient_spec(t), gradient_name(l, t), -1);
	}
}

/* --- its outputs -------------------------------------------------------------------------------------------------- */

static void leave(Loop *l, Tensor *t)
{
	vec_push(l->gr->ad->mem, &l->out, t);
	ir_output(&l->b, t);
}

static Tensor *served_grad(Loop *l, const Op *call, int k)
{
	int j = served(l->gi, k);
	Build z = ad_beside(&l->b, l->body->inputs.at[k]);
	return j >= 0 ? call->out.at[j] : b_zeros(&z, l->body->inputs.at[k]->spec);
}

/* in the order of the carried inputs */
static void leave_carried(Loop *l, const Op *call)
{
	for (int k = 0; k < l->carried; k++)
		if (has_gradient(l, k)) leave(l, served_grad(l, call, k));
	for (int k = l->carried; k < l->nin; k++) {
		Build b = ad_beside(&l->b, l->body->inputs.at[k]);
		if (l->sum[k]) leave(l, b_op2(&b, OP_add, l->sum[k], served_grad(l, call, k)));
	}
	for (int k = 0; k < l->carried; k++)
		if (needs_result(l, k)) leave(l, l->value[k]);
	l->turn->written_outputs = l->turn->outputs.n;
}

static int gives_rows(Loop *l, int k)
{
	return op_rows(l->op, k) && served(l->gi, k) >= 0 && grad_wanted(l->gr, l->op, k);
}

static void leave_rows(Loop *l, const Op *call)
{
	int carried = l->turn->written_outputs;

	for (int k = l->carried; k < l->nin; k++)
		if (gives_rows(l, k)) leave(l, served_grad(l, call, k));
	l->turn->written_outputs = carried;
}

/* The loop's rows are in the order of its turns, the operand's in that in which they are read. */
static Tensor *turned(Loop *l, Tensor *rows)
{
	Build at = ad_beside(&l->gr->b, rows), *b = &at;
	int64_t start[2] = { l->count - 1, 0 }, step[2] = { -1, 1 }, n = shape_nelems(rows->spec.shape);
	Shape flat = { .rank = 2, .dim = { l->count, n / l->count } };
	Tensor *t = b_reshape(b, rows, flat);
	AttrVal *v = b_attrs(b, OP_pick, "start", attr_ints(b->ir->mem, start, 2), "step", attr_ints(b->ir->mem, step, 2),
	                     "shape", attr_ints(b->ir->mem, flat.dim, 2), NULL);

	return n ? b_reshape(b, ir_op(b, OP_pick, &t, 1, v, NULL)->out.at[0], rows->spec.shape) : rows;
}

static void add_gradients(Loop *l, const Op *loop)
{
	int at = 0;

	for (int k = 0; k < l->carried; k++)
		if (has_gradient(l, k)) grad_add(l->gr, l->op, k, loop->out.at[at++]);
	for (int k = l->carried; k < l->nin; k++)
		if (l->sum[k]) grad_add(l->gr, l->op, k, loop->out.at[at++]);
	at = l->turn->written_outputs;
	for (int k = l->carried; k < l->nin; k++) {
		if (!gives_rows(l, k)) continue;
		Tensor *rows = loop->out.at[at++];
		grad_add(l->gr, l->op, k, op_rows(l->op, k) > 0 ? turned(l, rows) : rows);
	}
}

/* --- the loop ------------------------------------------------------------------------------------------------------- */

static Loop begin(Grad *gr, Op *op, GradInfo *gi)
{
	Graph *body = op->callee[0];
	Loop l = { .gr = gr, .op = op, .gi = gi, .body = body, .b = gr->b, .carried = body->written_outputs, .nin = body->inputs.n };

	l.count = turns(op);
	l.turn = ir_graph_with_id(gr->b.ir, arena_printf(gr->b.ir->mem, "%s_turn", gi->graph->id));
	l.turn->at = op->at;
	l.b.g = l.turn;
	l.b.scope = "";
	l.value = NEWN(gr->ad->mem, Tensor *, body->inputs.n + body->outputs.n + 1);
	l.dout = NEWN(gr->ad->mem, Tensor *, body->outputs.n + 1);
	l.sum = NEWN(gr->ad->mem, Tensor *, body->inputs.n + 1);
	return l;
}

static void no_turns(Grad *gr, Op *op)
{
	for (int k = 0; k < op->callee[0]->written_outputs; k++)
		if (grad_has(gr, op, k)) grad_add(gr, op, k, grad_of(gr, op, k));
}

void ad_loop(Grad *gr, Op *op)
{
	GradInfo *gi = ad_info_of(gr->ad->run, op->callee[0]);
	Loop l;

	if (!turns(op)) no_turns(gr, op);
	if (!turns(op) || !gi) return;
	l = begin(gr, op, gi);
	enter_gradients(&l);
	enter_results(&l);
	enter_states(&l);
	enter_rest(&l);
	Grad inner = { l.b, gr->ad };
	Site s = { &inner, op, gi, 0, l.value, l.dout };
	Tensor **in = ad_operands(&s);
	if (gr->ad->failed) return;
	l.b = inner.b;
	Op *call = ir_call(&l.b, OP_call, gi->graph, NULL, in, gi->ins.n, NULL);
	leave_carried(&l, call);
	leave_rows(&l, call);
	AttrVal *v = b_attrs(&gr->b, OP_repeat, "repeat_count", attr_int(l.count), "_rows", attr_ints(gr->b.ir->mem, l.rows.at, l.rows.n), NULL);
	add_gradients(&l, ir_call(&gr->b, OP_repeat, l.turn, NULL, l.in.at, l.in.n, v));
}
