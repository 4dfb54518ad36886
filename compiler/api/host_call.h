/* host_call.h — an op's call as the runtime makes it, turned into one as pxl.h promises it.
 *
 * Part of two worlds, so it includes nothing: host_op.c includes it behind our headers, and shipped C behind
 * runtime/runtime.h and the copy of pxl.h that travels with it. */
static pxl_array host_array(DType t, int rank, const int64_t *dim, size_t nelem, void *data)
{
	pxl_array a;
	a.dtype = (pxl_dtype)t;
	a.rank = rank;
	for (int i = 0; i < PXL_MAX_RANK; i++) a.dim[i] = i < rank ? dim[i] : 0;
	a.nelem = nelem;
	a.bytes = nelem * dtype_size(t);
	a.data = data;
	return a;
}

static int host_call(const RtHost *h, pxl_host_fn run, void *user, int replica, const void *const *in, void *const *out, char *why, size_t size)
{
	pxl_array from[PXL_HOST_MAX], to[PXL_HOST_MAX];
	for (int i = 0; i < h->nin; i++) from[i] = host_array(h->in[i].dtype, h->in[i].rank, h->in[i].dim, h->in[i].nelem, (void *)(uintptr_t)in[i]);
	for (int i = 0; i < h->nout; i++) to[i] = host_array(h->out[i].dtype, h->out[i].rank, h->out[i].dim, h->out[i].nelem, out[i]);
	pxl_host_call c = { sizeof c, user, h->nin, h->nout, h->nnumber, from, to, h->numbers, replica, why, size };
	int failed = run(&c);
	why[size - 1] = 0;
	return failed;
}
