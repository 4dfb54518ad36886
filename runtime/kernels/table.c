/* table.c — picks the table for this machine's instruction set, and the entries too small for a file. */
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/vmath.h"

#include <string.h>

int k_tables(const KernelTable **out)
{
	int n = 0;
	out[n++] = &table_base;
#if defined __x86_64__
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) return n;
	out[n++] = &table_avx2;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
	    !__builtin_cpu_supports("avx512vl")) return n;
	out[n++] = &table_avx512;
	if (__builtin_cpu_supports("avx512bf16")) out[n++] = &table_avx512_bf16;
#endif
	return n;
}

const struct pxlrt *rt_table(void)
{
	const KernelTable *all[K_TABLES];
	int n = k_tables(all);
	return &all[n - 1]->pub;
}

void *k_memcpy(void *d, const void *s, unsigned long n) { return memcpy(d, s, n); }
void *k_memset(void *d, int c, unsigned long n) { return memset(d, c, n); }

int k_divcheck(struct pxlrt_lane *ln, int dtype, const void *b, long n, int site)
{
	for (long i = 0; i < n; i++)
		if (rt_get_int((DType)dtype, b, (size_t)i) == 0) return table_of(rt_lane(ln))->fault(ln, site, "integer division by zero");
	return 0;
}

int k_powcheck(struct pxlrt_lane *ln, int dtype, const void *e, long n, int site)
{
	if (dtype == DT_U64) return 0;
	for (long i = 0; i < n; i++)
		if (rt_get_int((DType)dtype, e, (size_t)i) < 0)
			return table_of(rt_lane(ln))->fault(ln, site, "integer power with a negative exponent");
	return 0;
}

int k_pow2(struct pxlrt_lane *ln, const int *s, float *y)
{
	if (*s < -32 || *s >= 32) return lane_fault(rt_lane(ln), "log2_scale is %d, not from -32 to 31", *s);
	*y = f32_bits((uint32_t)(127 + *s) << 23);
	return 0;
}
