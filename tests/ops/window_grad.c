/* window_grad.c — gradients of convolutions, pooling, interpolate and roi_align against central differences, second
 * gradients included, and exact values where elements tie. */
#include "tests/ops/grad_run.h"

#define MAP "size = [4, 3], stride = [2, 1], begin = [1, 0], dilation = [1, 2], groups = 2"

static const GradCase cases[] = {
	{ "conv", "f64[2, 3, 7] f64[4, 3, 3]", "stride = 2, padding = [1, 0], dilation = 2", 3 }, { "conv", "f64[2, 2, 4, 5] f64[3, 2, 3, 2]", "padding = [1, 0, 2, 1]", 3 },
	{ "conv", "f64[1, 4, 5, 6] f64[6, 2, 3, 3]", "groups = 2, stride = [2, 3], dilation = [1, 2], padding = 2", 3 }, { "conv", "f64[2, 3, 4, 4] f64[3, 1, 2, 2]", "groups = 3", 3 },
	{ "conv", "f64[1, 2, 3, 4, 3] f64[2, 2, 2, 3, 2]", "stride = [1, 2, 2], padding = [0, 1, 1, 1, 1, 0]", 3 }, { "conv", "f64[1, 2, 5, 5] f64[2, 2, 3, 3]", "pad_type = same_upper, stride = 2", 3 },
	{ "conv", "f64[1, 2, 5, 5] f64[2, 2, 2, 2]", "pad_type = same_lower", 3 }, { "conv", "f64[1, 2, 6, 5] f64[2, 2, 3, 2]", "pad_type = valid, stride = [2, 3]", 3 },
	{ "conv", "f64[2, 3, 3, 2] f64[4, 3, 1, 1]", "", 3 }, { "conv", "f64[2, 3, 5, 4] f64[4, 3, 1, 1]", "stride = 2", 3 },
	{ "conv_transpose", "f64[2, 3, 4] f64[3, 2, 3]", "stride = 2, padding = [1, 2], output_padding = 1", 3 }, { "conv_transpose", "f64[1, 4, 3, 2] f64[4, 2, 2, 3]", "groups = 2, stride = [1, 3]", 3 },
	{ "conv_transpose", "f64[1, 2, 3, 3] f64[2, 1, 3, 3]", "stride = 2, output_shape = [4, 6], pad_type = same_upper", 3 }, { "conv_transpose", "f64[1, 2, 2, 2, 2] f64[2, 1, 2, 1, 2]", "stride = [2, 1, 3]", 3 },
	{ "conv_transpose", "f64[2, 3, 2, 2] f64[3, 4, 1, 1]", "", 3 },
	/* the gradients of gradients */
	{ "conv_forward", "f64[2, 4, 6, 7] f64[4, 2, 3, 3]", MAP, 3 }, { "conv_data", "f64[2, 4, 3, 2] f64[4, 2, 3, 2]", MAP, 3 },
	{ "conv_weight", "f64[1, 4, 6, 7] f64[1, 2, 3, 3]", "size = [2, 3], stride = [2, 1], begin = [1, 0], dilation = [1, 2], groups = 2", 3 },
	{ "average_pool", "f64[2, 2, 5, 4]", "kernel_size = [3, 2], stride = [2, 1], padding = [1, 1, 0, 1]" }, { "average_pool", "f64[1, 2, 7]", "kernel_size = 3, stride = 2, ceil_mode = true" },
	{ "average_pool", "f64[1, 1, 3, 4, 3]", "kernel_size = 2, auto_pad = same_upper" }, { "average_pool_grad", "f64[2, 2, 2, 5]", "size = [5, 4], kernel_size = [3, 2], stride = [2, 1], padding = [1, 1, 0, 1]" },
	{ "max_pool", "f64[2, 2, 5, 4]", "kernel_size = [3, 2], stride = [2, 1], padding = [1, 1, 0, 1]" }, { "max_pool", "f64[1, 2, 7]", "kernel_size = 3, stride = 2, ceil_mode = true" },
	{ "max_pool", "f64[1, 1, 4, 4, 3]", "kernel_size = 2, stride = 2, auto_pad = same_lower" },
	{ "interpolate", "f64[2, 3]", "" }, { "interpolate", "f64[1, 2, 3, 4]", "scale_factor = [1, 1, 2, 1.5]" }, { "interpolate", "f64[3, 4]", "scale_factor = [2, 0.5], nearest_mode = ceil, coordinate_transformation_mode = asymmetric" },
	{ "interpolate", "f64[3, 4]", "scale_factor = [2, 1.7], mode = linear" }, { "interpolate", "f64[3, 4]", "scale_factor = [2, 0.6], mode = linear, coordinate_transformation_mode = align_corners" },
	{ "interpolate", "f64[1, 3, 4]", "scale_factor = [2, 1.7, 2], mode = cubic" }, { "interpolate", "f64[5]", "scale_factor = [0.6], mode = cubic, coordinate_transformation_mode = pytorch_half_pixel" },
	{ "resize", "f64[3, 4]", "axis = 0, size = 6, factor = 2, mode = cubic, nearest_mode = floor, coordinate_transformation_mode = half_pixel" },
	{ "resize_grad", "f64[6, 4]", "axis = 0, size = 3, factor = 2, mode = linear, nearest_mode = floor, coordinate_transformation_mode = half_pixel" },
	{ "roi_align", "f64[2, 2, 4, 5] f64[3, 4] i32[3]", "output_size = [2, 2], spatial_scale = 0.5, sampling_ratio = 2", 1, 2, -2, 10 },
	{ "roi_align", "f64[2, 1, 4, 5] f64[3, 4] i32[3]", "output_size = [1, 2], spatial_scale = 0.5, sampling_ratio = 0", 1, 2, -2, 10 },
};

#define N(...) (const double[]){ __VA_ARGS__ }
#define ON(...) &(const GradCase){ __VA_ARGS__ }

static void ties(void)
{
	grad_exact("", ON("max_pool", "f64[1, 1, 4]", "kernel_size = 2"), N(3, 3, 1, 3), N(1, 2, 0, 1));
	grad_exact("", ON("max_pool", "f64[1, 1, 2, 2]", "kernel_size = 2"), N(5, 5, 5, 5), N(1, 1, 1, 1));
	grad_exact("", ON("average_pool", "f64[1, 1, 3]", "kernel_size = 3, padding = 1"), N(1, 2, 3), N(0.5 + 1.0 / 3, 0.5 + 1.0 / 3 + 0.5, 1.0 / 3 + 0.5));
}

static void covered(void)
{
	for (int id = 0; id < OP_COUNT; id++) {
		int found = !op_table[id]->grad || strcmp(op_table[id]->family, "window"), inplace;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) found |= def_by_name(cases[i].op, &inplace)->id == (OpCode)id;
		if (!found) printf("no case for %s\n", op_table[id]->name);
		CHECK("", found);
	}
}

int main(void)
{
	grad_cases("", cases, sizeof cases / sizeof *cases);
	ties();
	covered();
	return check_done();
}
