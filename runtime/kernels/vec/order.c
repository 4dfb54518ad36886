/* order.c — how many keys are above each: 32 keys at a time against all. */
#include "runtime/kernels/vec/vec.h"

static void above(int *out, const int *key, long n)
{
	enum { GROUP = 32, VECS = 4 * GROUP / VEC_BYTES };
	typedef int Keys __attribute__((vector_size(VEC_BYTES)));
	for (long i = 0; i < n; i += GROUP) {
		Keys k[VECS], count[VECS] = { { 0 } };
		memcpy(k, key + i, sizeof k);
		for (long j = 0; j < n; j++)
			for (int v = 0; v < VECS; v++) count[v] -= key[j] > k[v];
		memcpy(out + i, count, sizeof count);
	}
}

const OrderIsa VEC(order) = { above };
