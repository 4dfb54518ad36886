/* emit.h — what op emitters are written with.  They run on the lowered copy of the IR, after the
 * memory plan: every tensor has a place, and operands of ops without the STRIDED trait are contiguous.
 *
 *   static void emit_softmax(Emit *e, const Op *op)
 *   {
 *           const char *d = emit_axis(e, op->in.at[0], axis_of(op));
 *           emit_rt(e, op, "softmax(ln, &%s, %s, %s)", d, emit_in(e, op, 0), emit_out(e, op, 0));
 *   }
 *
 * Nothing from the model is pasted raw: names are made safe by emit_name, strings by emit_cstr. */
#ifndef COMPILER_CODEGEN_EMIT_H
#define COMPILER_CODEGEN_EMIT_H

#include "compiler/ops/op.h"

/* C expression: typed pointer to operand i's first element; an absent operand is 0. The result of a host_load is a variable:
 * emit_rt(e, op, "host_load(ln, %d, (const void **)&%s)", stream->index, emit_out(e, op, 0)) sets it. */
const char *emit_in(Emit *e, const Op *op, int i);
const char *emit_out(Emit *e, const Op *op, int i);
const char *emit_ptr(Emit *e, const Tensor *t);
Layout      emit_layout(Emit *e, const Tensor *t);             /* strides for STRIDED emitters */
const char *emit_ctype(DType t);
void        emit_line(Emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `rt->at(ln, site); if ((st = rt-><call>)) return st;` with the op's source place; fmt starts with the entry's name */
void        emit_rt(Emit *e, const Op *op, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* a static const descriptor before the function; equal ones are shared. Returns its name */
const char *emit_static(Emit *e, const char *type, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
const char *emit_axis(Emit *e, const Tensor *t, int axis);     /* struct pxlrt_axis of t along axis */
const char *emit_longs(Emit *e, const int64_t *v, int n);      /* "{ 1, 2 }" */
const char *emit_doubles(Emit *e, const double *v, int n);
const char *emit_cstr(Emit *e, const char *s);                 /* a quoted C string literal */
int         emit_bf16(Emit *e, DType t);                       /* do products of this type round their operands to bf16 */
const char *emit_float(Emit *e, double x);                     /* exact C literal, inf and nan included */
int         emit_site(Emit *e, const Op *op);                  /* number of the op's source place */
int         site_at(Emit *e, Span at, const char *op);         /* the same for a part of an op: a fused group's, an exchange's */
/* the pattern of a gemm as a function that `matmul` calls, the list of pointers it is given, and where the product lies meanwhile */
typedef struct EmitTail { const char *name, *pointers; const Tensor *product; } EmitTail;
EmitTail    emit_tail(Emit *e, const Op *op);
struct HostOp;
int         emit_host(Emit *e, const Op *op, const struct HostOp *h);   /* number of what the runtime must know to call the host */
const char *emit_name(Emit *e, const char *want);              /* of a local variable: safe and unique in the current function */
Arena      *emit_mem(Emit *e);

#endif
