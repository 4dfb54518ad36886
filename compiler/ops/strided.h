/* strided.h — what the emitters and view rules of data movement share (shape.c, region.c). */
#ifndef COMPILER_OPS_STRIDED_H
#define COMPILER_OPS_STRIDED_H

#include "compiler/codegen/emit.h"

void row_major(Shape s, int64_t *stride);                /* strides of contiguous data */
/* copy the elements of `shape` from src to dst: C expressions of element pointers, strides in elements */
void emit_strided(Emit *e, const Op *op, int size, Shape shape, const char *src, const int64_t *ss, const char *dst, const int64_t *ds);
const char *emit_offset(Emit *e, const char *ptr, int64_t elements);     /* "(ptr + 12)" */
void emit_zero(Emit *e, const Op *op, int out);          /* clear a result */
/* strides that show data of shape `from` as `to`, if such exist: 1, else 0 */
int restride(Shape from, const int64_t *stride, Shape to, int64_t *out);

#endif
