/* leaky.c — leaky ReLU as native code: what leaky.pxl beside it names. */
#include <pxl.h>

/* written for f32; the result is like the operand */
static int only_f32(pxl_host_call *c) { return c->in[0].dtype != PXL_F32; }

static int leaky(pxl_host_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data, alpha = (float)c->numbers[0];
	for (size_t i = 0; i < c->in[0].nelem; i++) y[i] = x[i] >= 0 ? x[i] : alpha * x[i];
	return 0;
}

static int leaky_grad(pxl_host_call *c)
{
	const float *x = c->in[0].data, *dy = c->in[1].data;
	float *dx = c->out[0].data, alpha = (float)c->numbers[0];
	for (size_t i = 0; i < c->in[0].nelem; i++) dx[i] = x[i] >= 0 ? dy[i] : alpha * dy[i];
	return 0;
}

static const pxl_host_param alpha[] = { { "alpha", 1, 0.01, PXL_PARAM_FLOAT } };

const pxl_host_op pxl_native_ops[] = {
	{ PXL_HOST_OP_HEAD, .name = "leaky", .nin = 1, .nout = 1, .params = alpha, .nparam = 1, .infer = only_f32, .run = leaky,
	  .grad = "leaky_grad", .grad_in = "x0 dy0" },
	{ PXL_HOST_OP_HEAD, .name = "leaky_grad", .nin = 2, .nout = 1, .params = alpha, .nparam = 1, .infer = only_f32, .run = leaky_grad },
	PXL_HOST_OP_END
};
