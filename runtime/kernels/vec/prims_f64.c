/* prims_f64.c — the primitives of pxlrt.h on blocks of double. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/float_loops.h"

#define ALL1(name, f, i, u, slope) LOOP1(f64, double, name, f)
#define ALL2(name, f, i, u, slope) LOOP2(f64, double, name, f)
#define ALL3(name, f, i, u, slope) LOOP3(f64, double, name, f)
#define FLOAT1(name, f, slope) LOOP1(f64, double, name, f)
#define FLOAT2(name, f, slope) LOOP2(f64, double, name, f)
#define FLOAT3(name, f, slope) LOOP3(f64, double, name, f)
#define OF(name) name##_f64
#define LIBM(name) name
#define pow_f64 pow
PXLRT_VEC1_ALL(ALL1) PXLRT_VEC2_ALL(ALL2) PXLRT_VEC3_ALL(ALL3) PXLRT_VEC1_FLOAT(FLOAT1) PXLRT_VEC2_FLOAT(FLOAT2) PXLRT_VEC3_FLOAT(FLOAT3)
FILL(f64, double)
SINCOS(f64, double, sin, 0)
SINCOS(f64, double, cos, 1)
MODS(f64, double)
#define f64_mod f64_mod_block

#define SLOT(n, ...) .n = f64_##n,
const struct pxlrt_f64 VEC(prims_f64) = {
	PXLRT_VEC1_ALL(SLOT) PXLRT_VEC2_ALL(SLOT) PXLRT_VEC3_ALL(SLOT) SLOT(fill, )
	PXLRT_VEC1_LOOP(SLOT) PXLRT_VEC1_FLOAT(SLOT) PXLRT_VEC2_FLOAT(SLOT) PXLRT_VEC3_FLOAT(SLOT)
};
