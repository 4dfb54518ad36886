/* direct_f32.c — products of f32 that read b in place. */
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/vector_f32.h"
#include "runtime/kernels/vec/direct.h"
