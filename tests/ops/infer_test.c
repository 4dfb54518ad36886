/* infer_test.c — what each op makes of shapes, dtypes and arguments, and which mistakes it refuses. */
#include "tests/ops/ops.h"

#define DEF(n) op_table[OP_##n]

/* one op: its results, or the code of the diagnostic */
typedef struct Case { const char *ids, *op, *operands, *attrs, *want; } Case;

static void run(const Case *c)
{
	Bench t;
	bench_open(&t);
	Op *op = bench_op(&t, c->op, c->operands, c->attrs);
	const char *got = t.ds.at.n ? bench_code(&t) : bench_specs(&t, op);
	if (strcmp(got, c->want)) printf("%s(%s; %s): got %s, want %s\n%s", c->op, c->operands, c->attrs, got, c->want, bench_text(&t));
	CHECK(c->ids, !strcmp(got, c->want));
	bench_close(&t);
}

static const Case cases[] = {
	/* unary */
	{ "", "abs", "f32[2, 3]", "", "f32[2, 3]" }, { "", "abs", "i8[2]", "", "i8[2]" }, { "", "abs", "u8[2]", "", "E0304" }, { "", "abs", "bool[2]", "", "E0304" },
	{ "", "exp", "i32[2]", "", "E0304" }, { "", "exp", "f16[]", "", "f16[]" }, { "", "log2", "f64[3]", "", "f64[3]" }, { "", "sqrt", "i32[]", "", "E0304" },
	{ "", "negate", "i64[2]", "", "i64[2]" }, { "", "negate", "bool[2]", "", "E0304" }, { "", "sign", "u8[2]", "", "u8[2]" },
	{ "R140", "relu_", "f32[4]", "", "f32[4]" }, { "R140", "gelu_", "i32[4]", "", "E0304" }, { "", "isnan", "f32[2]", "", "bool[2]" },
	{ "", "isfinite", "i32[2]", "", "E0304" }, { "", "logical_not", "f32[2]", "", "bool[2]" }, { "", "identity", "bool[2]", "", "bool[2]" },
	{ "", "clip", "f32[2]", "min = -1, max = 1", "f32[2]" }, { "", "clip", "f32[2]", "min = 2, max = 1", "E0310" }, { "", "clip", "i32[2]", "min = 0, max = 1", "i32[2]" },
	{ "", "clip", "u8[2]", "", "u8[2]" }, { "", "clip", "u8[2]", "min = -1", "E0310" }, { "", "clip", "i8[2]", "max = 128", "E0310" }, { "", "clip", "i32[2]", "min = 0.5", "E0310" }, { "", "clip", "i64[2]", "max = 9007199254740992", "E0310" },
	{ "", "clip", "i64[2]", "min = -9007199254740991", "i64[2]" }, { "", "clip", "i32[2]", "min = inf", "E0310" }, { "", "clip", "bool[2]", "", "E0304" },
	{ "", "asin", "f16[2]", "", "f16[2]" }, { "", "atan", "i32[2]", "", "E0304" }, { "", "recip", "i32[2]", "", "E0304" }, { "", "erf", "f8_143[2]", "", "E0304" }, { "R140", "sigmoid_", "bf16[2]", "", "bf16[2]" },
	{ "R140", "softplus_", "f32[2]", "beta = 2", "f32[2]" }, { "", "softplus", "f32[2]", "beta = 0", "E0310" }, { "", "softplus", "f32[2]", "threshold = nan", "E0310" }, { "", "softplus", "f32[2]", "beta = inf", "E0310" },
	{ "", "increment_mod", "i32[2]", "increment = 1, modulus = 3", "i32[2]" }, { "", "increment_mod", "f32[2]", "increment = 1, modulus = 0", "E0310" },
	{ "", "increment_mod", "i32[]", "increment = 1, modulus = 0.5", "E0310" }, { "", "increment_mod", "u8[2]", "increment = 1, modulus = 256", "E0310" }, { "", "increment_mod", "u8[2]", "increment = -1, modulus = 4", "E0310" },
	{ "", "increment_mod", "i8[2]", "increment = -128, modulus = 127.9", "i8[2]" }, { "", "detach", "i32[2]", "", "i32[2]" },
	{ "", "print_tensor", "f32[2]", "", "f32[2]" }, { "", "print_tensor", "f32[2]", "separator = ab", "E0310" }, { "", "print_tensor", "f32[2]", "float_format = hex", "E0310" },
	{ "", "print_tensor", "f32[2]", "digits = -1", "E0310" }, { "", "print_tensor", "f32[2]", "edge_items = -1", "E0310" },
	/* binary */
	{ "", "add", "f32[2, 3] f32[3]", "", "f32[2, 3]" }, { "", "add", "f32[2, 1] f32[3]", "", "f32[2, 3]" }, { "", "add", "f32[2] f32[3]", "", "E0302" },
	{ "", "add", "f32[2] f16[2]", "", "E0303" }, { "", "add", "bool[2] bool[2]", "", "E0304" }, { "R141", "add_", "f32[2, 3] f32[3]", "", "f32[2, 3]" },
	{ "R141", "add_", "f32[3] f32[2, 3]", "", "E0307" }, { "", "add_", "f32[2] f16[2]", "", "E0303" }, { "", "mul", "f16[2, 2] f32[]", "", "f16[2, 2]" },
	{ "", "mul", "f32[1] f16[2]", "", "f16[2]" }, { "", "mul", "f16[2] f32[2]", "", "E0303" }, { "", "sub", "i32[2] i32[]", "", "i32[2]" },
	{ "", "div", "i32[2] i32[2]", "", "i32[2]" }, { "", "fmod", "f32[2] f32[]", "", "f32[2]" }, { "", "pow", "f32[2] f32[]", "", "f32[2]" }, { "", "pow", "f16[2] f32[]", "", "E0303" },
	{ "", "maximum", "f32[2, 1] f32[3] f32[]", "", "f32[2, 3]" }, { "", "maximum", "", "", "E0314" }, { "", "maximum", "f32[2]", "", "f32[2]" }, { "", "maximum", "u8[2] u8[3, 1]", "", "u8[3, 2]" }, { "", "maximum", "bool[2]", "", "E0304" }, { "", "maximum", "i32[2] i64[2]", "", "E0303" },
	{ "", "minimum", "i64[2] i64[]", "", "i64[2]" }, { "", "minimum", "", "", "E0314" }, { "", "minimum", "f32[2] f32[3]", "", "E0302" },
	{ "", "bitwise_and", "i32[2, 1] i32[3]", "", "i32[2, 3]" }, { "", "bitwise_or", "bool[2] bool[]", "", "bool[2]" }, { "", "bitwise_xor", "f32[2] f32[2]", "", "E0304" }, { "", "bitwise_and", "i32[2] u32[2]", "", "E0303" },
	{ "", "bitwise_not", "bool[2]", "", "bool[2]" }, { "", "bitwise_not", "u64[2]", "", "u64[2]" }, { "", "bitwise_not", "f16[2]", "", "E0304" },
	{ "", "scaled_add", "f32[2] f16[2]", "", "f32[2]" }, { "", "scaled_add", "f32[2, 2] f32[2]", "", "E0311" }, { "", "scaled_add", "f32[2] f32[2] f32[]", "b = 2", "f32[2]" },
	{ "", "scaled_add", "f32[2] f32[2] f32[2]", "", "E0312" }, { "R140", "scaled_add_", "f16[2] f32[2] - f32[1]", "", "f16[2]" },
	/* comparison, logic, selection */
	{ "", "equal", "i32[2] i32[]", "", "bool[2]" }, { "", "equal", "i32[2] f32[2]", "", "E0303" }, { "", "greater", "f32[2] f32[3]", "", "E0302" },
	{ "", "less_equal", "f32[2, 1] f32[2]", "", "bool[2, 2]" }, { "", "logical_and", "f32[2] bool[]", "", "bool[2]" }, { "", "logical_or", "f32[2] i32[3]", "", "E0302" },
	{ "", "where", "bool[2, 1] f32[3] f32[]", "", "f32[2, 3]" }, { "", "where", "i32[2] i8[] i8[]", "", "i8[2]" }, { "", "where", "bool[2] f32[2] f16[2]", "", "E0303" },
	{ "", "where", "bool[2] f32[3] f32[]", "", "E0302" },
	/* reductions */
	{ "", "sum", "f32[2, 3]", "", "f32[]" }, { "", "sum", "f32[2, 3]", "axis = 1", "f32[2]" }, { "", "sum", "f32[2, 3]", "axis = -2, keepdims = true", "f32[1, 3]" },
	{ "", "sum", "f32[2, 3]", "axis = [1, -2]", "f32[]" }, { "", "sum", "f32[2, 3]", "axis = []", "f32[2, 3]" }, { "", "sum", "f32[2, 3]", "axis = 2", "E0305" },
	{ "", "sum", "f32[2, 3]", "axis = -3", "E0305" }, { "", "sum", "f32[2, 3]", "axis = [1, -1]", "E0306" }, { "", "sum", "bool[2]", "", "E0304" }, { "", "sum", "i8[2]", "", "i8[]" },
	{ "", "mean", "i32[4]", "", "i32[]" }, { "", "max", "i32[2, 2]", "axis = 0", "i32[2]" }, { "", "l1", "i32[2]", "", "E0304" }, { "", "logsumexp", "f16[2, 3]", "axis = [0]", "f16[3]" },
	{ "", "prod", "f32[]", "", "f32[]" }, { "", "argmax", "f32[2, 3]", "", "i32[3]" }, { "", "argmax", "f32[2, 3]", "dim = -1, keepdim = true", "i32[2, 1]" },
	{ "", "argmax", "f32[]", "", "E0305" }, { "", "argmin", "f32[2]", "axis = 1", "E0305" }, { "", "argmin", "bool[2]", "", "E0304" }, { "", "cumsum", "f32[2, 3]", "dim = -1", "f32[2, 3]" },
	{ "", "cumsum", "i8[2]", "", "E0304" }, { "", "cumsum", "f32[2]", "dim = 1", "E0305" }, { "", "lamb_square", "f16[2, 2]", "", "f32[]" }, { "", "lamb_square", "i32[2]", "", "E0304" },
	/* shape */
	{ "", "reshape", "f32[2, 6]", "shape = [3, -1]", "f32[3, 4]" }, { "", "reshape", "f32[2, 6]", "shape = []", "E0308" }, { "", "reshape", "f32[1]", "shape = []", "f32[]" },
	{ "", "reshape", "f32[2, 6]", "shape = [-1, -1]", "E0308" }, { "", "reshape", "f32[2, 6]", "shape = [0, 12]", "E0308" }, { "", "reshape", "f32[2, 6]", "shape = [-2, 6]", "E0308" },
	{ "", "reshape", "f32[2, 6]", "shape = [5]", "E0308" }, { "", "reshape", "f32[2, 6]", "shape = [5, -1]", "E0308" },
	{ "", "reshape", "f32[2]", "shape = [1, 1, 1, 1, 1, 1, 1, 1, 2]", "E0308" }, { "", "reshape", "f32[2]", "shape = [9223372036854775807, 9223372036854775807]", "E0308" },
	{ "", "flatten", "f32[2, 3]", "", "f32[6]" }, { "", "flatten", "f32[]", "", "f32[1]" }, { "R139", "flatten_", "f32[2, 3]", "", "f32[6]" },
	{ "", "squeeze", "f32[1, 2, 1]", "", "f32[2]" }, { "", "squeeze", "f32[1, 2, 1]", "axes = [-1]", "f32[1, 2]" }, { "", "squeeze", "f32[1, 2]", "axes = 1", "E0310" },
	{ "", "squeeze", "f32[1, 2]", "axes = [0, -2]", "E0306" }, { "", "squeeze", "f32[1, 2]", "axes = 2", "E0305" },
	{ "R115", "transpose", "f32[2, 3, 4]", "", "f32[4, 3, 2]" }, { "R115", "transpose", "f32[2, 3, 4]", "permutation = [0, -1, 1]", "f32[2, 4, 3]" },
	{ "", "transpose", "f32[2, 3]", "permutation = [0]", "E0309" }, { "", "transpose", "f32[2, 3]", "permutation = [0, 2]", "E0309" }, { "", "transpose", "f32[2, 3]", "permutation = [1, 1]", "E0309" },
	{ "", "concat", "f32[2, 3] f32[4, 3]", "", "f32[6, 3]" }, { "", "concat", "f32[2, 3] f32[2, 1]", "axis = -1", "f32[2, 4]" }, { "", "concat", "", "", "E0314" },
	{ "", "concat", "f32[2] f16[2]", "", "E0303" }, { "", "concat", "f32[2] f32[2, 1]", "", "E0313" }, { "", "concat", "f32[2, 3] f32[2, 4]", "", "E0311" }, { "", "concat", "f32[2]", "axis = 1", "E0305" },
	{ "", "concat", "f32[]", "", "E0305" }, { "R103", "concat", "f8_143[2] f8_143[2]", "", "f8_143[4]" }, { "R103", "concat", "f8_143[2] f8_152[2]", "", "E0303" },
	{ "", "split", "f32[4, 3]", "splits = 2", "f32[2, 3] f32[2, 3]" }, { "", "split", "f32[4, 3]", "splits = [1, 2], axis = -1", "f32[4, 1] f32[4, 2]" }, { "", "split", "f32[4]", "splits = [4]", "f32[4]" },
	{ "", "split", "f32[4]", "splits = 3", "E0316" }, { "", "split", "f32[4]", "splits = [3]", "E0316" }, { "", "split", "f32[4]", "splits = [5, -1]", "E0316" }, { "", "split", "f32[4]", "splits = 0", "E0316" },
	{ "", "split", "f32[4]", "splits = [4, 0]", "f32[4] f32[0]" }, { "", "split", "f32[4]", "splits = [5, -1]", "E0316" }, { "", "split", "f32[4]", "splits = 2, axis = 1", "E0305" },
	/* without elements: what cannot be defined is refused */
	{ "", "reshape", "f32[0, 3]", "shape = [3, 0, 2]", "f32[3, 0, 2]" }, { "", "reshape", "f32[0, 3]", "shape = [-1, 3]", "f32[0, 3]" }, { "", "reshape", "f32[0, 3]", "shape = [0, -1]", "E0308" },
	{ "", "reshape", "f32[2]", "shape = [0, -1]", "E0308" }, { "", "reshape", "f32[0]", "shape = [1]", "E0308" }, { "", "init", "", "shape = [0, 4611686018427387904, 4], dtype = f32", "E0319" },
	{ "", "max", "f32[0]", "", "E0311" }, { "", "min", "i32[3, 0]", "axis = 1", "E0311" }, { "", "max", "f32[3, 0]", "axis = 0", "f32[0]" }, { "", "max", "f32[0, 0]", "axis = 0", "E0311" },
	{ "", "max", "f32[0]", "axis = []", "f32[0]" }, { "", "argmax", "f32[0, 3]", "dim = 0", "E0311" }, { "", "argmin", "f32[0, 3]", "dim = 1", "i32[0]" }, { "", "median", "f32[2, 0]", "axis = 1", "E0311" },
	{ "", "mean", "f32[0]", "", "f32[]" }, { "", "mean", "i32[0]", "", "E0311" }, { "", "topk", "f32[0, 3]", "k = 0, axis = 0, largest = true, sorted = true", "f32[0, 3] i32[0, 3]" },
	{ "", "conv", "f32[0, 3, 4] f32[2, 3, 3]", "", "f32[0, 2, 2]" }, { "", "conv", "f32[2, 0, 4] f32[2, 0, 3]", "", "f32[2, 2, 2]" }, { "", "conv", "f32[2, 3, 0] f32[2, 3, 3]", "padding = 3", "E0310" },
	{ "", "conv", "f32[2, 3, 4] f32[2, 3, 0]", "", "E0310" }, { "", "conv_transpose", "f32[2, 3, 0] f32[3, 2, 3]", "", "E0310" }, { "", "conv_transpose", "f32[0, 3, 4] f32[3, 2, 3]", "", "f32[0, 2, 6]" },
	{ "", "max_pool", "f32[0, 3, 4]", "kernel_size = 2", "f32[0, 3, 3]" }, { "", "max_pool", "f32[2, 3, 0]", "kernel_size = 2, padding = 1", "E0310" }, { "", "average_pool", "f32[2, 0, 4]", "kernel_size = 2", "f32[2, 0, 3]" },
	{ "", "roi_align", "f32[2, 3, 4, 5] f32[0, 4] i32[0]", "output_size = [2, 3], spatial_scale = 1, sampling_ratio = 2", "f32[0, 3, 2, 3]" },
	{ "", "roi_align", "f32[2, 3, 0, 5] f32[1, 4] i32[1]", "output_size = [2, 3], spatial_scale = 1, sampling_ratio = 2", "E0310" }, { "", "interpolate", "f32[0, 3]", "scale_factor = [2, 2]", "f32[0, 6]" },
	{ "", "dynamic_slice", "f32[4, 3] u32[1]", "axes = [0], sizes = [0]", "f32[0, 3]" }, { "", "dynamic_slice", "f32[4, 3] u32[1]", "axes = [0], sizes = [-1]", "E0310" },
	{ "", "groupedgather", "f32[0, 5, 3] i32[0, 4]", "axis = 1, group_size = 0", "f32[0, 4, 3]" }, { "", "groupedgather", "f32[2, 5] i32[2, 4]", "axis = 1, group_size = 0", "E0310" },
	{ "", "shaped_dropout", "f32[0, 3] u32[2]", "shape = [0, 1], ratio = 0.5", "f32[0, 3]" }, { "", "random_normal", "u32[2]", "shape = [0, 3]", "f32[0, 3]" },
	/* slices */
	{ "", "slice", "f32[10]", "start = 2, stop = 5", "f32[3]" }, { "", "slice", "f32[10, 4]", "start = [-3, none], stop = [none, -1]", "f32[3, 3]" },
	{ "", "slice", "f32[10]", "start = 9, stop = 4, step = -1", "f32[5]" }, { "", "slice", "f32[10]", "step = -1", "f32[10]" }, { "", "slice", "f32[10]", "start = 99, stop = 4, step = -1", "f32[5]" },
	{ "", "slice", "f32[10]", "start = 3, stop = -99, step = -1", "f32[4]" }, { "", "slice", "f32[10]", "", "f32[10]" }, { "", "slice", "f32[10]", "start = 5, stop = 5", "f32[0]" },
	{ "", "slice", "f32[10]", "start = 5, stop = 99", "f32[5]" }, { "", "slice", "f32[10]", "step = 2", "E0315" }, { "", "slice", "f32[10]", "start = [1, 2], stop = 3", "E0315" },
	{ "", "slice", "f32[10]", "start = [1, 2]", "E0315" }, { "", "slice", "f32[2, 3]", "start = [0, 1], axis = [1, -1]", "E0306" }, { "", "slice", "f32[2, 3]", "start = 1, axis = 2", "E0305" },
	{ "", "slice", "f32[2, 3]", "start = 1, axis = -1", "f32[2, 2]" }, { "R139", "slice_", "f32[4]", "start = 1", "f32[3]" },
	{ "", "subsample", "f32[5, 4]", "strides = 2", "f32[3, 4]" }, { "", "subsample", "f32[5, 4]", "strides = [1, 3]", "f32[5, 2]" }, { "", "subsample", "f32[5]", "strides = [1, 1]", "E0310" },
	{ "", "subsample", "f32[5]", "strides = 0", "E0310" },
	/* creating, indexing */
	{ "R149", "init", "", "shape = [2, 3], dtype = f16", "f16[2, 3]" }, { "R149", "init", "", "shape = [2], dtype = f32, init_type = undef", "f32[2]" }, { "", "init", "", "shape = [2], dtype = f32, init_type = one", "E0310" },
	{ "", "init", "", "shape = [-2], dtype = f32", "E0308" }, { "", "init", "", "shape = [4611686018427387904, 4], dtype = f32", "E0319" },
	{ "", "gather", "f32[5, 3] i32[2, 2]", "", "f32[2, 2, 3]" }, { "", "gather", "f32[5, 3] u32[]", "axis = -1", "f32[5]" }, { "", "gather", "f32[5] f32[2]", "", "E0304" }, { "", "gather", "f32[] i32[2]", "", "E0305" },
	{ "", "gather", "f32[5] i8[2]", "", "E0304" }, { "", "tied_gather", "f32[5, 3] i64[4]", "axis = 1", "f32[5, 4]" }, { "", "gather", "f32[1, 1, 1, 1, 1] i32[1, 1, 1, 1, 1]", "", "E0313" },
	{ "", "onehot", "i32[2] - f32[2]", "num_classes = 5, axis = -1", "f32[2, 5]" }, { "", "onehot", "i32[2] - f32[2]", "num_classes = 5, axis = 0", "f32[5, 2]" }, { "", "onehot", "i32[2] - f32[3]", "num_classes = 5, axis = 0", "E0311" },
	{ "", "onehot", "f32[2] - f32[2]", "num_classes = 5, axis = 0", "E0304" }, { "", "onehot", "i32[2] i32[] f32[2]", "axis = 0", "E0310" }, { "", "onehot", "i32[2] - f32[2]", "num_classes = 0, axis = 0", "f32[0, 2]" }, { "", "onehot", "i32[2] - f32[2]", "num_classes = -1, axis = 0", "E0310" },
	{ "", "onehot", "i32[2] - f32[2]", "num_classes = 3, axis = 2", "E0305" },
	/* products */
	{ "", "matmul", "f32[2, 3] f32[3, 4]", "", "f32[2, 4]" }, { "", "matmul", "f32[3] f32[3, 4]", "", "f32[4]" }, { "", "matmul", "f32[2, 3] f32[3]", "", "f32[2]" }, { "", "matmul", "f32[3] f32[3]", "", "f32[]" },
	{ "", "matmul", "f32[5, 1, 2, 3] f32[7, 3, 4]", "", "f32[5, 7, 2, 4]" }, { "", "matmul", "f32[5, 2, 3] f32[3]", "", "f32[5, 2]" }, { "", "matmul", "f32[2, 3] f32[4, 3]", "", "E0301" },
	{ "", "matmul", "f32[2, 2, 3] f32[3, 3, 4]", "", "E0302" }, { "", "matmul", "f32[] f32[3]", "", "E0313" }, { "", "matmul", "f32[2, 3] f16[3, 4]", "", "E0303" }, { "", "matmul", "i32[2, 3] i32[3, 4]", "", "E0304" },
	{ "", "matmul", "f16[2, 3] f16[3, 4]", "output_type = f32", "f32[2, 4]" }, { "", "matmul", "f32[2, 3] f32[3, 4]", "available_memory_proportion = 1.5", "E0310" },
	{ "", "matmul", "f32[2, 3] f32[3, 4]", "partials_type = f64", "E0310" }, { "R100 R102", "matmul", "f8_143[2, 3] f8_143[3, 4]", "", "E0304" },
	/* windows; what they refuse is in tests/lang/op_windows.pxl, their sizes in window_test.c */
	{ "", "conv", "f32[2, 4, 6] f32[8, 4, 3]", "", "f32[2, 8, 4]" }, { "", "conv", "f16[2, 4, 6] f32[8, 4, 3]", "", "E0303" }, { "R100 R102", "conv", "f8_143[2, 4, 6] f8_143[8, 4, 3]", "", "E0304" },
	{ "", "conv", "f32[1, 1, 9223372036854775] f32[1, 1, 1]", "padding = 2147483647", "f32[1, 1, 9223376331822069]" }, { "", "conv", "f32[1, 1, 4] f32[1, 1, 2]", "dilation = 2147483647", "E0310" },
	{ "", "conv_transpose", "f32[1, 1, 4611686018427387] f32[1, 1, 2]", "stride = 2147483647", "E0319" }, { "", "conv", "f32[1, 1, 4] f32[1, 1, 2]", "stride = 2147483648", "E0310" },
	{ "R100", "conv_pow2scaled", "f8_143[2, 4, 6] f8_152[8, 4, 3] i32[]", "", "f16[2, 8, 4]" }, { "R100", "conv_pow2scaled", "f8_143[2, 4, 6] f16[8, 4, 3] i32[]", "", "E0304" },
	{ "", "conv_pow2scaled", "f8_143[2, 4, 6] f8_143[8, 4, 3] i32[1]", "", "E0312" }, { "", "conv_pow2scaled", "f8_143[2, 4, 6] f8_143[8, 4, 3] i64[]", "", "E0304" },
	{ "R100", "conv_transpose_pow2scaled", "f8_143[2, 4, 6] f8_143[4, 8, 3] i32[]", "", "f16[2, 8, 8]" }, { "", "conv_transpose_pow2scaled", "f32[2, 4, 6] f8_143[4, 8, 3] i32[]", "", "E0304" },
	{ "", "average_pool", "bf16[2, 4, 6]", "kernel_size = 2, stride = 2", "bf16[2, 4, 3]" }, { "", "interpolate", "f32[2, 3]", "scale_factor = [1e30, 1]", "E0319" },
	{ "", "roi_align", "f32[2, 3, 4, 4] f32[5, 4] i32[5]", "output_size = [2, 3], spatial_scale = 1, sampling_ratio = 2000", "E0310" },
	{ "", "roi_align", "f16[2, 3, 4, 4] f32[5, 4] i32[5]", "output_size = [2, 3], spatial_scale = 1, sampling_ratio = 2", "E0303" },
	/* attention */
	{ "", "attention", "f16[2, 3, 4] f16[2, 5, 4] f16[2, 5, 6]", "", "f16[2, 3, 6] f32[2, 3]" }, { "", "attention", "f64[3, 4] f64[5, 4] f64[5, 4] f64[5]", "causal = true", "f64[3, 4] f64[3]" },
	{ "", "attention", "i32[3, 4] i32[5, 4] i32[5, 4]", "", "E0304" }, { "", "attention", "f32[4] f32[4] f32[4]", "", "E0313" }, { "", "attention", "f32[3, 4] f32[5, 3] f32[5, 4]", "", "E0311" },
	{ "", "attention", "f32[3, 4] f32[1, 5, 4] f32[5, 4]", "", "E0311" }, { "", "attention", "f32[3, 4] f16[5, 4] f32[5, 4]", "", "E0303" }, { "", "attention", "f32[3, 4] f32[5, 4] f32[6, 4]", "", "E0311" },
	{ "", "attention", "f32[2, 3, 4] f32[5, 3, 4] f32[5, 3, 4]", "", "E0311" }, { "", "attention", "f32[3, 4] f32[5, 4] f32[5, 4] f32[3, 4]", "", "E0302" }, { "", "attention", "f32[3, 4] f32[5, 4] f32[5, 4] f32[1, 3, 5]", "", "E0302" },
	{ "", "attention", "f32[3, 4] f32[5, 4] f32[5, 4] f16[5]", "", "E0303" }, { "", "attention", "f32[3, 1025] f32[5, 1025] f32[5, 4]", "", "E0310" },
	/* softmax, losses */
	{ "", "softmax", "f32[2, 3]", "axis = -1", "f32[2, 3]" }, { "", "softmax", "f32[2, 3]", "axis = 2", "E0305" }, { "", "softmax", "i32[2, 3]", "axis = 1", "E0304" },
	{ "", "nll_loss", "f32[4, 3] i32[4]", "", "f32[]" }, { "", "nll_loss", "f32[4, 3] u32[4]", "reduction = none", "f32[4]" }, { "", "nll_loss", "f32[4, 3] i32[4]", "reduction = avg", "E0310" },
	{ "", "nll_loss", "f32[] i32[]", "", "E0313" }, { "", "nll_loss", "f32[4, 3] f32[4]", "", "E0304" }, { "", "nll_loss", "f32[4, 3] i32[3]", "", "E0318" }, { "", "nll_loss", "f32[4, 3] i32[4, 3]", "", "E0318" },
	{ "", "nll_loss_with_softmax_grad", "f32[4, 3] i32[4]", "loss_grad = 2", "f32[] f32[4, 3]" }, { "", "nll_loss_with_softmax_grad", "f16[4, 3] i32[4] f32[]", "", "f16[] f16[4, 3]" },
	{ "", "nll_loss_with_softmax_grad", "f32[4, 3] i32[4] f32[4]", "reduction = none", "f32[4] f32[4, 3]" }, { "", "nll_loss_with_softmax_grad", "f32[4, 3] i32[4] f32[4]", "", "E0312" },
	{ "A230 A231", "cross_entropy", "f32[2, 4, 3] i32[2, 4]", "", "f32[]" }, { "A231", "cross_entropy", "f32[2, 4, 3] i32[2, 4]", "reduction = none, ignore_index = 0", "f32[2, 4]" },
	{ "A232", "cross_entropy_with_grad", "f32[4, 3] i32[4] f32[]", "", "f32[] f32[4, 3]" }, { "A230", "cross_entropy", "f32[4, 3] i32[3]", "", "E0318" },
	/* random */
	{ "", "random_normal", "u32[2]", "shape = [3]", "f32[3]" }, { "", "random_normal", "u32[2]", "shape = [3], std = -1", "E0310" }, { "", "random_normal", "i32[2]", "shape = [3]", "E0317" },
	{ "", "random_uniform", "u32[2]", "shape = [3], dtype = f16", "f16[3]" }, { "", "random_uniform", "u32[2]", "shape = [3], low = 2, high = 1", "E0310" }, { "", "random_uniform", "u32[2]", "shape = [3], dtype = i32", "E0304" },
	{ "", "dropout", "f32[2, 3] u32[2]", "p = 0.5", "f32[2, 3]" }, { "", "dropout", "f32[2] u32[2]", "p = 1", "E0310" }, { "", "dropout", "f32[2] u32[2]", "p = -0.1", "E0310" }, { "", "dropout", "f32[2] u32[3]", "p = 0.1", "E0317" },
	{ "R442", "shaped_dropout", "f32[2, 3] u32[2]", "shape = [3], ratio = 0.5", "f32[2, 3]" }, { "R442", "shaped_dropout", "f32[3] u32[2]", "shape = [2, 3], ratio = 0.5", "E0302" },
	{ "", "split_random_seed", "u32[2]", "n = 3", "u32[2] u32[2] u32[2]" }, { "", "split_random_seed", "u32[2]", "n = 0", "E0310" }, { "", "split_random_seed", "u32[]", "", "E0317" },
	{ "", "create_random_seed", "u32[2] u32[]", "", "u32[2]" }, { "", "create_random_seed", "u32[2] i32[]", "", "E0317" },
	/* casts */
	{ "", "cast", "f32[2]", "data_type = i8", "i8[2]" }, { "R101", "cast", "f32[2]", "data_type = f8_143", "E0304" }, { "", "cast", "f8_152[2]", "data_type = f32", "E0304" },
	/* updates */
	{ "R140", "accumulate_", "f16[2] f32[2]", "", "f16[2]" }, { "", "accumulate_", "f32[2] f32[2] f32[2]", "", "E0312" }, { "", "accumulate_", "f32[2] f32[1]", "", "E0311" },
	{ "", "accumulate_square_", "f32[2] f32[2]", "f = 0.5", "f32[2]" }, { "", "accumulate_mean_", "f32[2] f32[2] f32[]", "", "f32[2]" }, { "", "accumulate_moving_average_", "f32[2] f32[2]", "f = 0.9", "f32[2]" },
	{ "", "accumulate_moving_average_square_", "f32[2] f32[3]", "f = 0.9", "E0311" }, { "R140", "accumulator_scale_", "f32[2]", "f = 0", "f32[2]" }, { "R140", "accumulator_zero_", "i32[2]", "", "i32[2]" },
	{ "R140", "copy_var_update_", "f32[2] f32[2]", "", "f32[2]" }, { "", "copy_var_update_", "f32[2] f16[2]", "", "E0303" }, { "", "copy_var_update_", "f32[2] f32[2, 1]", "", "E0311" },
	{ "A331", "adam_updater", "f16[2, 2] f32[2, 2] - f32[]", "beta1 = 0.9, beta2 = 0.999", "f16[2, 2]" }, { "", "adam_updater", "f32[2] f32[2] - f32[]", "beta1 = 0.9", "E0310" },
	{ "", "adam_updater", "f32[2] f32[2]", "weight_decay = 0.1", "E0310" }, { "", "adam_updater", "f16[2] f32[2] f32[2]", "weight_decay = 0.1", "f32[2]" }, { "", "adam_updater", "f32[2] f32[3]", "", "E0311" },
	{ "", "adam_updater", "f32[2] f32[2] - i32[]", "beta1 = 0.9, beta2 = 0.9", "E0312" }, { "", "adamax_updater", "f32[2] f32[2]", "", "E0310" }, { "", "lamb_updater", "f32[2] f32[2] f32[2] u32[]", "beta1 = 0.9, beta2 = 0.9", "f32[2]" },
	{ "", "adam_var_update", "f32[2] f32[2] f32[] f32[]", "learning_rate = 0.1", "f32[2]" }, { "", "adam_var_update", "f32[2] f32[2] f16[] f32[]", "learning_rate = 0.1", "E0312" },
	{ "R97", "pow2scale_then_cast", "f32[2, 3] i32[]", "data_type = f8_143", "f8_143[2, 3]" }, { "R97", "pow2scale_cast_to_fp8", "f16[] i32[]", "data_type = f8_152", "f8_152[]" },
	{ "R97", "pow2scale_then_cast", "f64[2] i32[]", "data_type = f8_143", "E0304" }, { "R97", "pow2scale_then_cast", "f32[2] i32[]", "data_type = f16", "E0304" },
	{ "R98", "pow2scale_then_cast", "f32[2] i32[1]", "data_type = f8_143", "E0312" }, { "R98", "pow2scale_then_cast", "f32[2] i8[]", "data_type = f8_143", "E0304" },
	{ "R97", "cast_then_pow2scale", "f8_143[2] i32[]", "data_type = f16", "f16[2]" }, { "R97", "pow2scale_cast_from_fp8", "f8_152[2] i32[]", "data_type = f32", "f32[2]" },
	{ "R97", "cast_then_pow2scale", "f8_143[2] i32[]", "data_type = f64", "E0304" }, { "R97", "cast_then_pow2scale", "f16[2] i32[]", "data_type = f32", "E0304" },
	{ "R98", "cast_then_pow2scale", "f8_143[2] i32[1]", "data_type = f16", "E0312" }, { "R98", "cast_then_pow2scale", "f8_143[2] u32[]", "data_type = f16", "E0304" },
	{ "R100", "matmul_pow2scaled", "f8_143[2, 3] f8_152[3, 4] i32[]", "", "f16[2, 4]" }, { "R100", "matmul_pow2scaled", "f8_143[2, 3] f16[3, 4] i32[]", "", "E0304" },
	{ "R98", "matmul_pow2scaled", "f8_143[2, 3] f8_152[3, 4] i32[1]", "", "E0312" }, { "", "matmul_pow2scaled", "f8_143[2, 3] f8_152[2, 4] i32[]", "", "E0301" },
	/* float8 is moved, not computed with */
	{ "R102", "add", "f8_143[2] f8_143[2]", "", "E0304" }, { "R102", "exp", "f8_152[2]", "", "E0304" }, { "R103", "reshape", "f8_143[4]", "shape = [2, 2]", "f8_143[2, 2]" }, { "R103", "gather", "f8_143[4] i32[2]", "", "f8_143[2]" },
	{ "R103", "slice", "f8_152[4]", "start = 1", "f8_152[3]" }, { "R103", "subsample", "f8_152[4]", "strides = 2", "f8_152[2]" }, { "R103", "split", "f8_152[4]", "splits = 2", "f8_152[2] f8_152[2]" },
	{ "R102", "where", "f8_143[2] f32[2] f32[2]", "", "E0304" }, { "R102", "where", "bool[2] f8_143[2] f8_152[2]", "", "E0303" }, { "R103", "where", "bool[2] f8_143[2] f8_143[]", "", "f8_143[2]" },
	{ "R103", "dynamic_slice", "f8_143[4] i32[1]", "axes = [0], sizes = [2]", "f8_143[2]" }, { "R103", "dynamic_update", "f8_152[4] i32[1] f8_152[2]", "axes = [0], sizes = [2]", "f8_152[4]" },
	{ "R103", "dynamic_update", "f8_152[4] i32[1] f8_143[2]", "axes = [0], sizes = [2]", "E0303" }, { "R103", "copy_var_update_", "f8_143[2] f8_143[2]", "", "f8_143[2]" },
	{ "R103", "copy_var_update_", "f8_143[2] f8_152[2]", "", "E0303" }, { "R103", "concat", "f8_143[2] f8_152[2]", "", "E0303" },
	{ "R102", "scatter_reduce", "f8_143[2] i32[2]", "reduction = none, axis_size = 3", "E0304" }, { "R102", "replicated_all_reduce", "f8_143[2]", "", "E0304" }, { "R102", "max", "f8_143[2]", "", "E0304" },
	{ "R103", "squeeze", "f8_152[1, 4]", "", "f8_152[4]" }, { "R103", "transpose", "f8_152[1, 4]", "", "f8_152[4, 1]" },
	/* more of the same elements, or fewer */
	{ "", "expand", "f32[3]", "shape = [2, 3]", "f32[2, 3]" }, { "", "broadcast_to", "i8[2, 1]", "shape = [4, -1, 3]", "i8[4, 2, 3]" }, { "", "expand", "f32[2, 3]", "shape = [1]", "f32[2, 3]" }, { "", "expand", "f32[2, 3]", "shape = [2]", "E0302" },
	{ "", "expand", "f32[3]", "shape = [-1, 3]", "E0310" }, { "", "expand", "f32[3]", "shape = [-2]", "E0310" }, { "", "expand", "f32[]", "shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]", "E0310" },
	{ "", "expand", "f32[1, 1]", "shape = [4294967296, 4294967296]", "E0319" }, { "R103", "expand", "f8_143[1]", "shape = [3]", "f8_143[3]" },
	{ "", "stack", "f32[2, 3] f32[2, 3]", "axis = -1", "f32[2, 3, 2]" }, { "", "stack", "bool[] bool[]", "", "bool[2]" }, { "", "stack", "f32[2] f32[3]", "", "E0311" }, { "", "stack", "f32[2] f16[2]", "", "E0303" },
	{ "", "stack", "", "", "E0314" }, { "", "stack", "f32[2]", "axis = 2", "E0305" }, { "", "stack", "f32[1, 1, 1, 1, 1, 1, 1, 1]", "", "E0313" },
	{ "", "pad", "f32[3, 4]", "padding = [1, 0, 2, 3]", "f32[6, 7]" }, { "", "pad", "u8[3, 4]", "padding = 1, axis = -1, value = 255", "u8[3, 6]" }, { "", "pad", "f32[3, 4]", "padding = [1, 2], axis = 0", "f32[6, 4]" },
	{ "", "pad", "f32[3, 4]", "padding = [-3, 0, 0, 0]", "f32[0, 4]" }, { "", "pad", "f32[3, 4]", "padding = [-2, 0, -2, 0]", "E0310" }, { "", "pad", "f32[3, 4]", "padding = [1, 2, 3]", "E0310" },
	{ "", "pad", "f32[3]", "padding = [1, none]", "E0310" }, { "", "pad", "f32[3]", "padding = 1, axis = 1", "E0305" }, { "", "pad", "f32[3, 3]", "padding = 1, axis = [0, -2]", "E0306" }, { "", "pad", "f32[3]", "padding = 1, mode = mirror", "E0310" },
	{ "", "pad", "f32[3]", "padding = [2, 0], mode = reflect", "f32[5]" }, { "", "pad", "f32[3]", "padding = [3, 0], mode = reflect", "E0310" }, { "", "pad", "f32[3]", "padding = [-1, 2], mode = reflect", "E0310" },
	{ "", "pad", "f32[3]", "padding = [3, 0], mode = wrap", "f32[6]" }, { "", "pad", "f32[3]", "padding = [4, 0], mode = wrap", "E0310" }, { "", "pad", "f32[0]", "padding = 1, mode = edge", "E0310" }, { "", "pad", "f32[0]", "padding = 1", "f32[2]" },
	{ "", "pad", "u8[3]", "padding = 1, value = 256", "E0310" }, { "", "pad", "f32[3] f16[]", "padding = 1", "E0303" }, { "", "pad", "f32[3] f32[2]", "padding = 1", "E0312" }, { "", "pad", "f32[3] f32[1]", "padding = 1", "f32[5]" },
	{ "R103", "pad", "f8_152[3]", "padding = 1", "f8_152[5]" }, { "", "pad", "f32[3]", "padding = [9223372036854775807, 1]", "E0319" }, { "", "log_softmax", "f16[2, 3]", "", "f16[2, 3]" }, { "", "log_softmax", "i32[3]", "", "E0304" },
	/* internal ops */
	{ "", "sum_n", "f32[2] f32[2] f32[2]", "", "f32[2]" },
	{ "", "pick", "f32[6, 4]", "start = [5, 0], step = [-2, 1], shape = [3, 4]", "f32[3, 4]" }, { "", "pick", "f32[6]", "start = [5], step = [1], shape = [2]", "E0315" },
	{ "", "place", "f32[3]", "start = [0], step = [2], shape = [5]", "f32[5]" }, { "", "place", "f32[3]", "start = [0], step = [2], shape = [4]", "E0315" },
	{ "", "gemm_acc", "f32[2, 4] f32[2, 3] f32[3, 4]", "alpha = -0.5", "f32[2, 4]" },
	{ "", "softmax_grad", "f32[2] f32[3]", "axis = 0", "E0311" }, { "", "scatter_add", "f32[2, 3] i32[2]", "shape = [5, 3]", "f32[5, 3]" },
};

/* --- what a message says -------------------------------------------------------------------------------------- */

static void message(void)
{
	static const char text[] = "image = input()\nw = param()\ny = image @ w\n";
	Bench t;
	bench_open(&t);
	uint32_t src = source_add(&t.srcs, "mlp.pxl", 0, text, sizeof text - 1);
	const Frame top = { "program `train`", { src, 0, 5 }, 0 }, net = { "Net.build", { src, 0, 5 }, &top }, lin = { "Linear.build", { src, 16, 17 }, &net };
	Spec a = { .dtype = DT_F32, .shape = { 2, { 32, 784 } } }, b = { .dtype = DT_F32, .shape = { 2, { 128, 784 } } };
	t.b.at = (Span){ src, 0, 5 };
	Tensor *x = ir_input(&t.b, a, "x", 0);
	t.b.at = (Span){ src, 16, 17 };
	Tensor *w = ir_input(&t.b, b, "w", 0);
	t.b.at = (Span){ src, 32, 41 };
	t.b.chain = &lin;
	Tensor *y = b_op2(&t.b, OP_matmul, x, w);
	CHECK_STR("", bench_text(&t),
		"error[E0301]: inner dimensions of `matmul` differ\n"
		" --> mlp.pxl:3:5\n"
		"  |\n"
		"3 | y = image @ w\n"
		"  |     ^^^^^^^^^ 784 columns against 128 rows\n"
		"note: left operand has shape f32[32, 784]\n"
		" --> mlp.pxl:1:1\n"
		"  |\n"
		"1 | image = input()\n"
		"  | ^^^^^\n"
		"note: right operand has shape f32[128, 784]\n"
		" --> mlp.pxl:2:1\n"
		"  |\n"
		"2 | w = param()\n"
		"  | ^\n"
		"note: in `Linear.build`, called from `Net.build` (mlp.pxl:2:1), called from program `train` (mlp.pxl:1:1)\n"
		"help: transpose the right operand: `x @ w.T`\n");
	b_op1(&t.b, OP_exp, y);
	CHECK("", t.ds.at.n == 1);       /* consumers of a failed op are silent */
	bench_close(&t);
}

static void constants(void)
{
	Bench t;
	bench_open(&t);
	Tensor *c = b_scalar(&t.b, DT_F32, 1);
	ir_op_inplace(&t.b, OP_exp, &c, 1, 0, 0);
	CHECK("R148", !strcmp(bench_code(&t), "E0322"));
	bench_close(&t);
}

static void other_graph(void)
{
	Bench t;
	bench_open(&t);
	Build other = ir_build(ir_graph(t.ir, "other"));
	Tensor *x = ir_input(&other, (Spec){ .dtype = DT_F32 }, "x", 0);
	b_op1(&t.b, OP_exp, x);
	CHECK("", !strcmp(bench_code(&t), "E0420"));
	bench_close(&t);
}

/* R118: operands known to be in different places */
static void places(void)
{
	Bench t;
	bench_open(&t);
	Tensor *x = ir_input(&t.b, (Spec){ .dtype = DT_F32 }, "x", 0), *a = b_op1(&t.b, OP_exp, x);
	t.b.ipu = 1;
	Tensor *c = b_op1(&t.b, OP_exp, ir_input(&t.b, (Spec){ .dtype = DT_F32 }, "z", 0));
	CHECK("R118", t.ds.at.n == 0);
	b_op2(&t.b, OP_add, a, c);
	CHECK("R118", !strcmp(bench_code(&t), "E0321"));
	bench_close(&t);
}

/* --- the table as a whole ---------------------------------------------------------------------------------------- */

static void complete(const OpDef *d)
{
	int way = d->emit || d->expr || d->lower || d->traits & CALLS || d->id == OP_fused || d->id == OP_code_copy;
	int grad = d->grad || d->traits & (NO_GRAD | GRAD_ERROR | CALLS);
	int ok = d->doc && d->doc[0] && d->formula && d->params && d->infer && d->type && d->family && way && grad;
	ok = ok && !(d->grad && d->traits & (NO_GRAD | GRAD_ERROR)) && (d->inplace == NO_INPLACE || d->type_inplace) && (d->inplace != VIEWS || d->view);
	if (!ok) printf("the block of %s lacks something\n", d->name);
	CHECK("", ok);
}

static void lookup(void)
{
	int inplace;
	CHECK("", op_find("add", &inplace) == DEF(add) && !inplace);
	CHECK("", op_find("add_", &inplace) == DEF(add) && inplace);
	CHECK("", op_find("clamp", &inplace) == DEF(clip) && op_find("rename", &inplace) == DEF(identity));
	CHECK("", op_find("var_updates.accumulate_", &inplace) == DEF(accumulate) && inplace);
	CHECK("", !op_find("accumulate", &inplace) && !op_find("sub_", &inplace) && !op_find("sum_n", &inplace) && !op_find("nothing", &inplace) && !op_find("", &inplace) && !op_find("_", &inplace));
	CHECK("", op_find("adam_var_update", &inplace) == DEF(adam_var_update) && inplace);
	CHECK("", op_param(DEF(argmax), "axis") == op_param(DEF(argmax), "dim") && op_param(DEF(sum), "keepdim") == 2 && op_param(DEF(sum), "x") == -1);
	CHECK("", op_operand(DEF(scaled_add), 3) == 3 && op_operand(DEF(clip), 1) == -1 && op_operand(DEF(host_store), 1) == 0);
}

static void names(void)
{
	OpName list[512];
	int n = op_names(list, 512), sorted = 1, found = 1;
	for (int i = 1; i < n; i++) sorted = sorted && strcmp(list[i - 1].name, list[i].name) < 0;
	for (int i = 0; i < n; i++) {
		int inplace;
		if (list[i].name == list[i].def->informed) continue;
		found = found && op_find(list[i].name, &inplace) == list[i].def && inplace == list[i].inplace;
	}
	CHECK("", n > 100 && sorted && found);
	CHECK("", op_names(list, 3) == n);
}

static void pages(void)
{
	Bench t;
	bench_open(&t);
	Buf b = buf_new(&t.mem);
	op_signature(DEF(softmax), 0, &b);
	CHECK_STR("", b.s, "softmax(t, axis: int)");
	b.n = 0;
	op_signature(DEF(scaled_add), 1, &b);
	CHECK_STR("", b.s, "scaled_add_(X, Y, a: float | tensor = 1.0, b: float | tensor = 1.0)");
	b.n = 0;
	op_page(DEF(clip), &b);
	CHECK("", strstr(b.s, "clip(t, min: float = -inf, max: float = inf)") && strstr(b.s, "also:     clamp"));
	bench_close(&t);
}

int main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run(&cases[i]);
	message();
	constants();
	other_graph();
	places();
	for (int i = 0; i < OP_COUNT; i++) complete(op_table[i]);
	lookup();
	names();
	pages();
	return check_done();
}
