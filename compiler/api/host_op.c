/* host_op.c — functions of the host as ops: checked and copied when registered, called through what pxl.h promises. */
#include "compiler/api/internal.h"
#include "compiler/ops/host_op.h"
#include "compiler/api/host_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the copy that a context keeps, with the strings behind it */
typedef struct Kept { HostOp op; pxl_host_fn infer, run; void *user; char text[]; } Kept;

_Static_assert((int)PXL_HOST_MAX == MOST_HOST_ARGS && (int)PXL_MAX_RANK == MAX_RANK, "limits of the header");

/* --- calls --------------------------------------------------------------------------------------------------- */
static int call_infer(const HostOp *op, const Spec *in, const double *numbers, Spec *out, char *why, size_t size)
{
	const Kept *k = (const Kept *)(const void *)op;
	pxl_array from[MOST_HOST_ARGS], to[MOST_HOST_ARGS];
	for (int i = 0; i < op->nout; i++) {
		to[i] = host_array(in[0].dtype, in[0].shape.rank, in[0].shape.dim, 0, NULL);
		out[i] = (Spec){ .dtype = in[0].dtype, .shape = in[0].shape };
	}
	if (!k->infer) return 1;
	for (int i = 0; i < op->nin; i++) from[i] = host_array(in[i].dtype, in[i].shape.rank, in[i].shape.dim, (size_t)shape_nelems(in[i].shape), NULL);
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
	return host_call(h, k->run, k->user, replica, in, out, why, size);
}

/* --- registering ----------------------------------------------------------------------------------------------- */
static const char letters[] = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.";

static int is_name(const char *s)
{
	return s && *s && !strchr("0123456789", *s) && strlen(s) < 100 && strspn(s, letters) == strlen(s) && !strpbrk(s, "-.");
}

static int is_version(const char *s) { return !s || (strlen(s) < 100 && strspn(s, letters) == strlen(s)); }

static const HostOp *with_version(const HostOp *list, const char *name, const char *version)
{
	char exact[256];
	snprintf(exact, sizeof exact, "%s@%s", name, version ? version : "");
	return host_op_find(list, exact);
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

static pxl_status check(pxl_ctx *cx, const HostOp *list, const pxl_host_op *o)
{
	if (o->abi != PXL_HOST_ABI) return cx_fail(cx, PXL_EINVAL, "an op for version %d of the interface; this library has %d", o->abi, (int)PXL_HOST_ABI);
	if (!is_name(o->name)) return cx_fail(cx, PXL_EINVAL, "an op needs a name of letters, digits and `_`");
	if (!is_version(o->version)) return cx_fail(cx, PXL_EINVAL, "the version of the op `%s` is of letters, digits, `_`, `-` and `.`", o->name);
	if (with_version(list, o->name, o->version))
		return cx_fail(cx, PXL_EINVAL, "the op `%s`%s%s is registered already", o->name, o->version ? " version " : "", o->version ? o->version : "");
	if (!o->run) return cx_fail(cx, PXL_EINVAL, "the op `%s` has no function to run", o->name);
	if (o->nin < 1 || o->nin > MOST_HOST_ARGS || o->nout < 1 || o->nout > MOST_HOST_ARGS || o->nparam < 0 || o->nparam > MOST_HOST_ARGS)
		return cx_fail(cx, PXL_EINVAL, "the op `%s` must have 1 to %d operands and results, and at most as many parameters", o->name, MOST_HOST_ARGS);
	if (o->nparam && !o->params) return cx_fail(cx, PXL_EINVAL, "the op `%s` announces %d parameters and lists none", o->name, o->nparam);
	for (int i = 0; i < o->nparam; i++) {
		if (!is_name(o->params[i].name) || !strcmp(o->params[i].name, "op"))
			return cx_fail(cx, PXL_EINVAL, "parameter %d of the op `%s` needs a name of letters, digits and `_`, other than `op`", i, o->name);
		if ((unsigned)o->params[i].kind > PXL_PARAM_BOOL) return cx_fail(cx, PXL_EINVAL, "the parameter `%s` of the op `%s` is of no known kind", o->params[i].name, o->name);
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

static size_t text_size(const pxl_host_op *o)
{
	size_t n = length(o->name) + length(o->version) + length(o->grad);
	for (int i = 0; i < o->nparam; i++) n += length(o->params[i].name);
	return n;
}

static void copy_op(Kept *k, const pxl_host_op *o)
{
	char *at = k->text;
	k->op = (HostOp){ .nin = o->nin, .nout = o->nout, .nparam = o->nparam, .infer = call_infer, .run = call_run };
	k->op.name = keep(&at, o->name);
	k->op.version = keep(&at, o->version);
	k->op.grad = keep(&at, o->grad);
	for (int i = 0; i < o->nparam; i++)
		k->op.params[i] = (HostParam){ keep(&at, o->params[i].name), o->params[i].optional, o->params[i].init, (HostParamKind)o->params[i].kind };
	k->infer = o->infer;
	k->run = o->run;
	k->user = o->user;
}

pxl_status host_op_add(pxl_ctx *cx, Arena *mem, const HostOp **list, const pxl_host_op *o, const NativeFile *file, int at)
{
	pxl_status st = check(cx, *list, o);
	if (st != PXL_OK) return st;
	size_t size = sizeof(Kept) + text_size(o);
	Kept *k = mem ? arena_alloc(mem, size) : cx_alloc(cx, size);
	if (!k) return cx_fail(cx, PXL_ENOMEM, "out of memory");
	copy_op(k, o);
	k->op.next = *list;
	k->op.file = file;
	k->op.at = at;
	if (read_gradient(o, &k->op)) {
		*list = &k->op;
		return PXL_OK;
	}
	cx_fail(cx, PXL_EINVAL, "the gradient of the op `%s`: `grad_in` is of the form \"x0 y0 dy0\", `grad_out` names operands, \"x0 x1\", each once", k->op.name);
	if (!mem) cx_free(cx, k);
	return PXL_EINVAL;
}

pxl_status pxl_register_op(pxl_ctx *cx, const pxl_host_op *op)
{
	pxl_host_op o = PXL_HOST_OP_INIT;
	if (!cx) return PXL_EINVAL;
	if (!op) return cx_fail(cx, PXL_EINVAL, "pxl_register_op needs an op");
	if (options_take(cx, "pxl_host_op", &o, sizeof o, op) != PXL_OK) return PXL_EINVAL;
	return host_op_add(cx, NULL, &cx->hosts, &o, NULL, 0);
}

void host_ops_free(pxl_ctx *cx)
{
	for (const HostOp *h = cx->hosts, *next; h; h = next) {
		next = h->next;
		cx_free(cx, (void *)(uintptr_t)h);
	}
}
