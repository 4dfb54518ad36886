/* prim.c — the primitives of elementwise code, called now: what emitted code calls, so the bits are the same. */
#include "compiler/ops/formula.h"

#define CALL1(n, ...) case FP_##n: k->n(y, a[0], count); break;
#define CALL2(n, ...) case FP_##n: k->n(y, a[0], a[1], count); break;
#define CALL3(n, ...) case FP_##n: k->n(y, a[0], a[1], a[2], count); break;
#define CALL_ALL PXLRT_VEC1_ALL(CALL1) PXLRT_VEC2_ALL(CALL2) PXLRT_VEC3_ALL(CALL3)
#define CALL_INT CALL_ALL PXLRT_VEC1_INT(CALL1) PXLRT_VEC2_INT(CALL2)
#define CALL_FLOAT CALL_ALL PXLRT_VEC1_LOOP(CALL1) PXLRT_VEC1_FLOAT(CALL1) PXLRT_VEC2_FLOAT(CALL2) PXLRT_VEC3_FLOAT(CALL3)

void prim_f32(FusePrim p, float *y, float *const *a, long count)
{
	const struct pxlrt_f32 *k = rt_table()->f32;
	switch (p) { CALL_FLOAT default: break; }
}

void prim_f64(FusePrim p, double *y, double *const *a, long count)
{
	const struct pxlrt_f64 *k = rt_table()->f64;
	switch (p) { CALL_FLOAT default: break; }
}

void prim_i64(FusePrim p, long long *y, long long *const *a, long count)
{
	const struct pxlrt_i64 *k = rt_table()->i64;
	switch (p) { CALL_INT default: break; }
}

void prim_u64(FusePrim p, unsigned long long *y, unsigned long long *const *a, long count)
{
	const struct pxlrt_u64 *k = rt_table()->u64;
	switch (p) { CALL_INT default: break; }
}
