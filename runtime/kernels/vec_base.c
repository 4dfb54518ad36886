/* vec_base.c — the primitives for the baseline of the machine's architecture. */
#define VEC_SET base
#define VEC_NAME table_base
#define VEC_LABEL "base"
#define VEC_BYTES 16
#include "runtime/kernels/vec.h"
