/* gemm_f32.c — inner loops of products of f32. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/vector_f32.h"
#include "runtime/kernels/vec/gemm.h"
