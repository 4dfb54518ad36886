/* table.c — the table of one instruction set. */
#include "runtime/kernels/vec/vec.h"

const KernelTable JOIN(table, BF16_SET) = {
	.pub = {
		.abi = PXLRT_ABI,
		.f32 = &VEC(prims_f32), .f64 = &VEC(prims_f64), .i64 = &VEC(prims_i64), .u64 = &VEC(prims_u64),
		.i8 = &VEC(prims_i8), .i16 = &VEC(prims_i16), .i32 = &VEC(prims_i32),
		.u8 = &VEC(prims_u8), .u16 = &VEC(prims_u16), .u32 = &VEC(prims_u32),
		.ld = VEC(ld), .st = VEC(st), .norm = VEC(norm), .get = VEC(get), .put = VEC(put),
		.cvt = {
			[PXLRT_F32] = VEC(cvt_f32), [PXLRT_F64] = VEC(cvt_f64), [PXLRT_I64] = VEC(cvt_i64), [PXLRT_U64] = VEC(cvt_u64),
			[PXLRT_I8] = VEC(cvt_i8), [PXLRT_I16] = VEC(cvt_i16), [PXLRT_I32] = VEC(cvt_i32),
			[PXLRT_U8] = VEC(cvt_u8), [PXLRT_U16] = VEC(cvt_u16), [PXLRT_U32] = VEC(cvt_u32),
		},
		.each = k_each, .fold = k_fold, .matmul = k_matmul, .reduce = k_reduce, .copy = k_copy, .argmax = k_argmax,
		.topk = k_topk, .median = k_median, .histogram = k_histogram,
		.softmax = k_softmax, .softmax_grad = k_softmax_grad, .cumsum = k_cumsum, .group_norm = k_group_norm, .group_norm_back = k_group_norm_back,
		.attention = k_attention, .attention_back = k_attention_back,
		.gather = k_gather, .scatter_add = k_scatter_add, .scatter = k_scatter, .window_copy = k_window_copy,
		.conv = k_conv, .conv_turn = k_conv_turn, .conv_data = k_conv_data, .conv_weight = k_conv_weight, .blocks = k_blocks,
		.pool = k_pool, .average_back = k_average_back, .max_back = k_max_back, .resize = k_resize, .roi = k_roi,
		.nll = k_nll, .nll_grad = k_nll_grad, .softmax_nll = k_softmax_nll,
		.random_normal = k_random_normal, .random_uniform = k_random_uniform, .dropout_mask = k_dropout_mask,
		.split_seed = k_split_seed,
		.host_load = lane_host_load, .host_store = lane_host_store, .host_room = lane_host_room, .remote_load = lane_remote_load, .remote_store = lane_remote_store,
		.exchange = lane_exchange, .collective = lane_collective, .code_load = lane_code_load, .print = lane_print, .host_op = lane_host_op,
		.divcheck = k_divcheck, .powcheck = k_powcheck, .pow2 = k_pow2, .fault = lane_fault_at, .at = lane_at,
		.memcpy = k_memcpy, .memset = k_memset,
	},
	.isa = {
		.name = VEC_LABEL, .fold = &VEC(fold), .row = &VEC(row), .group_f32 = &VEC(group_f32), .group_f64 = &VEC(group_f64),
		.pool_f32 = &VEC(pool_f32), .pool_f64 = &VEC(pool_f64), .depth = &VEC(depth), .random = &VEC(random),
		.stream = &VEC(stream), .order = &VEC(order), .gemm_f32 = &VEC(gemm_f32), .gemm_f64 = &VEC(gemm_f64),
		.gemm_bf16 = &JOIN(gemm_bf16, BF16_SET), .blocks = &VEC(blocks),
	},
};
