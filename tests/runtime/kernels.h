/* kernels.h — lanes, pools and deterministic data for the tests of the kernels. */
#ifndef TESTS_RUNTIME_KERNELS_H
#define TESTS_RUNTIME_KERNELS_H

#include "runtime/kernels/kernels.h"
#include "runtime/session.h"
#include "tests/check.h"

#include <stdlib.h>

/* as much of a session as a fault needs: a program named `test` without source places */
typedef struct TestLane { RtLane lane; RtErr err; RtProgram p; struct RtSession s; } TestLane;

static inline void lane_open(TestLane *t, int threads, const struct pxlrt *rt)
{
	memset(t, 0, sizeof *t);
	t->lane.rt = rt;
	t->p.name = "test";
	t->s.p = &t->p;
	t->lane.s = &t->s;
	t->lane.site = -1;
	t->lane.scratch = rt_alloc(NULL, RT_SCRATCH_BYTES);
	t->lane.pool = threads > 1 ? rt_pool_new(threads, NULL, &t->err) : NULL;
}

static inline void lane_close(TestLane *t)
{
	rt_pool_free(t->lane.pool);
	rt_free(NULL, t->lane.scratch);
}

/* numbers in [-1, 1) from a counter */
static inline double noise(unsigned long i)
{
	unsigned long z = (i + 1) * 0x9E3779B97F4A7C15ul;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ul;
	z = (z ^ z >> 27) * 0x94D049BB133111EBul;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

static inline void *noise_array(DType t, long n, double scale, unsigned long salt)
{
	char *p = rt_alloc(NULL, dtype_size(t) * (size_t)(n + 16));
	for (long i = 0; i < n; i++) rt_set(t, p, (size_t)i, noise((unsigned long)i + salt * 1000003) * scale);
	return p;
}

/* every table that this machine can run, baseline first; returns how many, and says which */
static inline int all_tables(const struct pxlrt **out)
{
	const KernelTable *all[K_TABLES];
	int n = k_tables(all);
	printf("instruction sets:");
	for (int i = 0; i < n; i++) out[i] = &all[i]->pub, printf("%s %s", i ? "," : "", all[i]->isa.name);
	printf("\n");
	return n;
}

static inline double eps_of(DType t)
{
	return t == DT_F64 ? 0x1p-52 : t == DT_F32 ? 0x1p-23 : t == DT_F16 ? 0x1p-10 : t == DT_BF16 ? 0x1p-7 : 0;
}

/* got against want, relative to scale */
static inline int near(double got, double want, double tol)
{
	if (isnan(want)) return isnan(got);
	if (isinf(want)) return got == want;
	return fabs(got - want) <= tol;
}

#endif
