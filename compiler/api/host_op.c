/* host_op.c — functions of the host as ops: checked and copied when registered, called through what pxl.h promises. */
#include "compiler/api/internal.h"
#include "compiler/ops/host_op.h"

#include <stdlib.h>
#include <string.h>

/* the copy that a context keeps, with the strings behind it */
typedef struct Kept { HostOp op; pxl_host_fn infer, run; void *user; char text[]; } Kept;

_Static_assert((int)PXL_HOST_MAX == MOST_HOST_ARGS && (int)PXL_MAX_RANK == MAX_RANK, "limits of the header");

const char *host_op_name(const RtHost *h) { return ((const HostOp *)h->op)->name; }

/* --- calls --------------------------------------------------------------------------------------------------- */
static pxl_array array(DType t, int rank, const int64_t *dim, size_t nelem, void *data)
{
	pxl_array a = { .dtype = (pxl_dtype)t, .rank = rank, .nelem = nelem, .bytes = nelem * dtype_size(t), .data = data };
	memcpy(a.dim, dim, sizeof a.dim);
	return a;
}

static int call_infer(const HostOp *op, const Spec *in, const double *numbers, Spec *out, char *why, size_t size)
{
	const Kept *k = (const Kept *)(const void *)op;
	pxl_array from[MOST_HOST_ARGS], to[MOST_HOST_ARGS];
	for (int i = 0; i < op->nout; i++) {
		to[i] = array(in[0].dtype, in[0].shape.rank, in[0].shape.dim, 0, NULL);
		out[i] = (Spec){ .dtype = in[0].dtype, .shape = in[0].shape };
	}
	if (!k->infer) return 1;
	for (int i = 0; i < op->nin; i++) from[i] = array(in[i].dtype, in[i].shape.rank, in[i].shape.dim, (size_t)shape_nelems(in[i].shape), NULL);
	pxl_host_call c = { sizeof c, k->user, op->nin, op->nout, op->nparam, from, to, numbers, 0, why, size };
	int failed = k->infer(&c);
	why[size - 1] = 0;
	for (int i = 0; i < op->nout; i++) {
		out[i] = (Spec){ .dtype = (DType)to[i].dtype };
		out[i].shape.rank = to[i].rank;
		memcpy(out[i].shape.dim, to[i].dim, sizeof to[i].dim);
	}
	return !failed;
}

static int call_run(const RtHost *h, int replica, const void *const *in, void *const *out, char *why, size_t size)
{
	const Kept *k = h->op;
	pxl_array from[MOST_HOST_ARGS], to[MOST_HOST_ARGS];
	for (int i = 0; i < h->nin; i++) from[i] = array(h->in[i].dtype, h->in[i].rank, h->in[i].dim, h->in[i].nelem, (void *)(uintptr_t)in[i]);
	for (int i = 0; i < h->nout; i++) to[i] = array(h->out[i].dtype, h->out[i].rank, h->out[i].dim, h->out[i].nelem, out[i]);
	pxl_host_call c = { sizeof c, k->user, h->nin, h->nout, h->nnumber, from, to, h->numbers, replica, why, size };
	int failed = k->run(&c);
	why[size - 1] = 0;
	return failed;
}

/* --- registering ----------------------------------------------------------------------------------------------- */
static int is_name(const char *s)
{
	static const char letters[] = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	return s && *s && !strchr("0123456789", *s) && strlen(s) < 100 && strspn(s, letters) == strlen(s);
}

/* "x0 y0 dy0": how many operands, -1: not of this form; the numbers must be below those of the op */
static int read_operands(const char *s, const pxl_host_op *o, HostOperand *out, int max)
{
	int n = 0;
	for (s += strspn(s, " "); *s; s += strspn(s, " ")) {
		char *end;
		HostSource from = *s == 'x' ? HOST_IN : *s == 'y' ? HOST_OUT : HOST_GRAD;
		if (from == HOST_GRAD && strncmp(s, "dy", 2)) return -1;
		s += from == HOST_GRAD ? 2 : 1;
		if (n == max || *s < '0' || *s > '9') return -1;
		long at = strtol(s, &end, 10);
		if (at >= (from == HOST_IN ? o->nin : o->nout) || (*end && *end != ' ')) return -1;
		out[n++] = (HostOperand){ from, (int)at };
		s = end;
	}
	return n;
}

static int read_gradient(const pxl_host_op *o, HostOp *h)
{
	HostOperand to[MOST_HOST_ARGS];
	if (!o->grad) return 1;
	if (o->grad_in) h->ngrad_in = read_operands(o->grad_in, o, h->grad_in, MOST_HOST_ARGS);
	else
		for (HostSource f = HOST_IN; f <= HOST_GRAD; f++)
			for (int i = 0; i < (f == HOST_IN ? o->nin : o->nout); i++) h->grad_in[h->ngrad_in++] = (HostOperand){ f, i };
	h->ngrad_out = o->grad_out ? read_operands(o->grad_out, o, to, MOST_HOST_ARGS) : o->nin;
	for (int i = 0; i < h->ngrad_out; i++) {
		if (o->grad_out && to[i].from != HOST_IN) return 0;
		h->grad_out[i] = o->grad_out ? to[i].at : i;
		for (int k = 0; k < i; k++)
			if (h->grad_out[k] == h->grad_out[i]) return 0;
	}
	return h->ngrad_in > 0 && h->ngrad_in <= MOST_HOST_ARGS && h->ngrad_out > 0;
}

static pxl_status check(pxl_ctx *cx, const pxl_host_op *o)
{
	if (o->abi != PXL_HOST_ABI) return cx_fail(cx, PXL_EINVAL, "an op for version %d of the interface; this library has %d", o->abi, (int)PXL_HOST_ABI);
	if (!is_name(o->name)) return cx_fail(cx, PXL_EINVAL, "an op needs a name of letters, digits and `_`");
	if (host_op_find(cx->hosts, o->name)) return cx_fail(cx, PXL_EINVAL, "the op `%s` is registered already", o->name);
	if (!o->run) return cx_fail(cx, PXL_EINVAL, "the op `%s` has no function to run", o->name);
	if (o->nin < 1 || o->nin > MOST_HOST_ARGS || o->nout < 1 || o->nout > MOST_HOST_ARGS || o->nparam < 0 || o->nparam > MOST_HOST_ARGS)
		return cx_fail(cx, PXL_EINVAL, "the op `%s` must have 1 to %d operands and results, and at most as many parameters", o->name, MOST_HOST_ARGS);
	for (int i = 0; i < o->nparam; i++) {
		if (!is_name(o->params[i].name) || !strcmp(o->params[i].name, "op"))
			return cx_fail(cx, PXL_EINVAL, "parameter %d of the op `%s` needs a name of letters, digits and `_`, other than `op`", i, o->name);
		for (int k = 0; k < i; k++)
			if (!strcmp(o->params[i].name, o->params[k].name)) return cx_fail(cx, PXL_EINVAL, "the op `%s` has two parameters `%s`", o->name, o->params[i].name);
	}
	return PXL_OK;
}

static const char *keep(char **at, const char *s)
{
	if (!s) return NULL;
	size_t n = strlen(s) + 1;
	char *to = memcpy(*at, s, n);
	*at += n;
	return to;
}

static size_t length(const char *s) { return s ? strlen(s) + 1 : 0; }

pxl_status pxl_register_op(pxl_ctx *cx, const pxl_host_op *op)
{
	pxl_host_op o = PXL_HOST_OP_INIT;
	if (!cx) return PXL_EINVAL;
	if (!op) return cx_fail(cx, PXL_EINVAL, "pxl_register_op needs an op");
	memcpy(&o, op, op->size < sizeof o ? op->size : sizeof o);
	pxl_status st = check(cx, &o);
	if (st != PXL_OK) return st;
	size_t text = length(o.name) + length(o.version) + length(o.grad);
	for (int i = 0; i < o.nparam; i++) text += length(o.params[i].name);
	Kept *k = cx_alloc(cx, sizeof *k + text);
	if (!k) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	char *at = k->text;
	k->op = (HostOp){ .next = cx->hosts, .nin = o.nin, .nout = o.nout, .nparam = o.nparam, .infer = call_infer, .run = call_run };
	k->op.name = keep(&at, o.name);
	k->op.version = keep(&at, o.version);
	k->op.grad = keep(&at, o.grad);
	for (int i = 0; i < o.nparam; i++) k->op.params[i] = (HostParam){ keep(&at, o.params[i].name), o.params[i].optional, o.params[i].init };
	k->infer = o.infer;
	k->run = o.run;
	k->user = o.user;
	if (!read_gradient(&o, &k->op)) {
		cx_fail(cx, PXL_EINVAL, "the gradient of the op `%s`: `grad_in` is of the form \"x0 y0 dy0\", `grad_out` names operands, \"x0 x1\", each once", k->op.name);
		cx_free(cx, k);
		return PXL_EINVAL;
	}
	cx->hosts = &k->op;
	return PXL_OK;
}

void host_ops_free(pxl_ctx *cx)
{
	for (const HostOp *h = cx->hosts, *next; h; h = next) {
		next = h->next;
		cx_free(cx, (void *)(uintptr_t)h);
	}
}
