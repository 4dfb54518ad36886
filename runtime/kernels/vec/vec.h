/* vec.h — what the files of this folder hand to table.c.
 *
 * Each .c file here is compiled once per instruction set, with set_*.h in front of it (see the Makefile), and exports constant
 * tables whose names end in that set: VEC(fold) is fold_avx2.  table.c puts them together into one KernelTable per set.
 *
 * Every instruction set gives the same bits: loops keep one order of operations, two-way choices are selects, and reductions
 * use 64 explicit lanes that are combined in one order.  The result y of a loop may be any of its operands, exactly: elements
 * are read before they are written, so `ivdep` is true. */
#ifndef KERNELS_VEC_H
#define KERNELS_VEC_H

#include "runtime/kernels/vec/loops.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define VEC(name) JOIN(name, VEC_SET)

/* prims_*.c: the blocked primitives of pxlrt.h, by element type */
extern const struct pxlrt_f32 VEC(prims_f32);
extern const struct pxlrt_f64 VEC(prims_f64);
extern const struct pxlrt_i64 VEC(prims_i64);
extern const struct pxlrt_u64 VEC(prims_u64);
extern const struct pxlrt_i8 VEC(prims_i8);
extern const struct pxlrt_i16 VEC(prims_i16);
extern const struct pxlrt_i32 VEC(prims_i32);
extern const struct pxlrt_u8 VEC(prims_u8);
extern const struct pxlrt_u16 VEC(prims_u16);
extern const struct pxlrt_u32 VEC(prims_u32);

/* storage.c: memory to blocks and back, by dtype */
extern const pxlrt_load VEC(ld)[PXLRT_NDTYPE], VEC(get)[PXLRT_NDTYPE];
extern const pxlrt_store VEC(st)[PXLRT_NDTYPE], VEC(put)[PXLRT_NDTYPE];
extern const pxlrt_norm_block VEC(norm)[PXLRT_NDTYPE];

/* casts_float.c, casts_int.c, casts_narrow.c: from one element type to every dtype */
extern const pxlrt_cast VEC(cvt_f32)[PXLRT_NDTYPE], VEC(cvt_f64)[PXLRT_NDTYPE];
extern const pxlrt_cast VEC(cvt_i64)[PXLRT_NDTYPE], VEC(cvt_u64)[PXLRT_NDTYPE];
extern const pxlrt_cast VEC(cvt_i8)[PXLRT_NDTYPE], VEC(cvt_i16)[PXLRT_NDTYPE], VEC(cvt_i32)[PXLRT_NDTYPE];
extern const pxlrt_cast VEC(cvt_u8)[PXLRT_NDTYPE], VEC(cvt_u16)[PXLRT_NDTYPE], VEC(cvt_u32)[PXLRT_NDTYPE];

/* the other files: inner loops of the kernels, see kernels.h */
extern const FoldIsa VEC(fold);
extern const RowIsa VEC(row);
extern const GroupIsa_f32 VEC(group_f32);
extern const GroupIsa_f64 VEC(group_f64);
extern const PoolIsa_f32 VEC(pool_f32);
extern const PoolIsa_f64 VEC(pool_f64);
extern const DepthIsa VEC(depth);
extern const RandomIsa VEC(random);
extern const StreamIsa VEC(stream);
extern const OrderIsa VEC(order);
extern const struct GemmIsa VEC(gemm_f32), VEC(gemm_f64);
extern const struct GemmBf16 JOIN(gemm_bf16, BF16_SET);
extern const struct BlockIsa VEC(blocks);

#endif
