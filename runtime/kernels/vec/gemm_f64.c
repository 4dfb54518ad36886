/* gemm_f64.c — inner loops of products of f64. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/vector_f64.h"
#include "runtime/kernels/vec/gemm.h"
