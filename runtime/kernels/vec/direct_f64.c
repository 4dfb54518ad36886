/* direct_f64.c — products of f64 that read b in place. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/vector_f64.h"
#include "runtime/kernels/vec/direct.h"
