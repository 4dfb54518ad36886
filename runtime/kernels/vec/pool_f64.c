/* pool_f64.c — inner loops of pooling of f64. */
#include "runtime/kernels/vec/vec.h"
#define PT double
#define PS f64
#define PM(name) _mm512_##name##_pd
#define PCMP _mm512_cmp_pd_mask
#define PINT int64_t
#include "runtime/kernels/vec/pool.h"
