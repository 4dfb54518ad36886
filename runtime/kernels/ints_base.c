/* ints_base.c — small integers for the baseline of the machine's architecture. */
#define VEC_SET base
#include "runtime/kernels/vec_ints.h"
