/* pool_f32.c — inner loops of pooling of f32. */
#include "runtime/kernels/vec/vec.h"
#define PT float
#define PS f32
#define PM(name) _mm512_##name##_ps
#define PCMP _mm512_cmp_ps_mask
#define PINT int32_t
#include "runtime/kernels/vec/pool.h"
