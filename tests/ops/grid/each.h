/* each.h — the grid's rows of elementwise ops: which types, and what one element is, in plain C of another kind than
 * the product's (long doubles, whole integers), one short function each. */
#ifndef TESTS_OPS_GRID_EACH_H
#define TESTS_OPS_GRID_EACH_H

#include "tests/ops/grid/grid.h"

#define BIT(t) (1u << DT_##t)
enum {
	T_B = BIT(BOOL), T_I = BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64), T_U = BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64),
	T_F = BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64), T_8 = BIT(F8_143) | BIT(F8_152),
	T_NUMBER = T_F | T_I | T_U, T_ANY = T_NUMBER | T_B, T_ALL = T_ANY | T_8
};

/* what is rounded once is given rounded: f64 by the machine, the others from more digits than they need */
#define ONCE(t, a, op, b) ((t) == DT_F64 ? (Num)((double)(a) op (double)(b)) : round_to(t, (a) op (b)))
#define EACH(name) static Num e_##name(const Num *x, DType t)
#define WHOLE_OR(t) if (!is_real(t))

/* --- one operand ------------------------------------------------------------------------------------------------------- */

EACH(abs) { WHOLE_OR(t) return ring(t, x[0] < 0 ? -bits_of(x[0]) : bits_of(x[0])); return fabsl(x[0]); }
EACH(negate) { WHOLE_OR(t) return ring(t, -bits_of(x[0])); return -x[0]; }
EACH(sign) { (void)t; return (x[0] > 0) - (x[0] < 0); }
EACH(ceil) { (void)t; return ceill(x[0]); }
EACH(floor) { (void)t; return floorl(x[0]); }
EACH(cos) { (void)t; return cosl(x[0]); }
EACH(sin) { (void)t; return sinl(x[0]); }
EACH(exp) { (void)t; return expl(x[0]); }
EACH(log) { (void)t; return logl(x[0]); }
EACH(log2) { (void)t; return log2l(x[0]); }
EACH(sqrt) { return t == DT_F64 ? (Num)sqrt((double)x[0]) : round_to(t, sqrtl(x[0])); }
EACH(tanh) { (void)t; return tanhl(x[0]); }
EACH(asin) { (void)t; return asinl(x[0]); }
EACH(acos) { (void)t; return acosl(x[0]); }
EACH(atan) { (void)t; return atanl(x[0]); }
EACH(erf) { (void)t; return erfl(x[0]); }
EACH(recip) { return ONCE(t, 1.0L, /, x[0]); }
EACH(sigmoid) { (void)t; return x[0] < 0 ? expl(x[0]) / (1 + expl(x[0])) : 1 / (1 + expl(-x[0])); }
EACH(softplus) { (void)t; return x[0] > 20 ? x[0] : log1pl(expl(x[0])); }
EACH(softplus_sharp) { (void)t; return 2 * x[0] > 3 ? x[0] : log1pl(expl(2 * x[0])) / 2; }
EACH(relu) { (void)t; return x[0] <= 0 ? 0 : x[0]; }
EACH(gelu) { (void)t; return 0.5L * x[0] * (1 + tanhl(0.797884560802865355879892119868763737L * (x[0] + 0.044715L * x[0] * x[0] * x[0]))); }
EACH(geluerf) { (void)t; return 0.5L * x[0] * erfcl(-x[0] / sqrtl(2)); }
EACH(swish) { (void)t; return x[0] / (1 + expl(-x[0])); }
EACH(same) { (void)t; return x[0]; }
EACH(isnan) { (void)t; return x[0] != x[0]; }
EACH(isinf) { (void)t; return x[0] == INFINITY || x[0] == -INFINITY; }
EACH(isfinite) { (void)t; return x[0] - x[0] == 0; }
EACH(not) { (void)t; return x[0] == 0; }
EACH(clip) { (void)t; return x[0] < -1 ? -1 : x[0] > 0.5L ? 0.5L : x[0]; }
EACH(clip_whole) { (void)t; return x[0] < -3 ? -3 : x[0] > 50 ? 50 : x[0]; }
EACH(at_least_two) { (void)t; return x[0] < 2 ? 2 : x[0]; }
EACH(bit_not) { return t == DT_BOOL ? x[0] == 0 : ring(t, ~bits_of(x[0])); }
EACH(zero) { (void)x, (void)t; return 0; }
EACH(half) { return round_to(t, x[0] * 0.5L); }
EACH(third) { return ring(t, 3 * bits_of(x[0])); }

static Num whole_mod(DType t, Num a, Num b)
{
	if (!is_signed(t)) return (Num)(bits_of(a) % bits_of(b));
	return b == -1 ? 0 : (Num)((int64_t)a % (int64_t)b);
}
EACH(increment_mod) { WHOLE_OR(t) return whole_mod(t, ring(t, bits_of(x[0]) + 2), 3); return fmodl(ONCE(t < DT_F32 ? DT_F32 : t, x[0], +, 2.0L), 3); }

static Num cast_to(DType to, Num x, DType from)
{
	if (to == DT_BOOL) return x != 0;
	if (is_real(to)) return to == DT_F64 ? (Num)(double)x : round_to(to, x);
	if (!is_real(from)) return ring(to, bits_of(x));
	return x != x ? 0 : x <= least(to) ? least(to) : x >= most(to) ? most(to) : truncl(x);
}
#define CAST(name, T) EACH(to_##name) { return cast_to(DT_##T, x[0], t); }
CAST(bool, BOOL) CAST(i8, I8) CAST(i16, I16) CAST(i32, I32) CAST(i64, I64) CAST(u8, U8) CAST(u16, U16) CAST(u32, U32) CAST(u64, U64)
CAST(f16, F16) CAST(bf16, BF16) CAST(f32, F32) CAST(f64, F64)
EACH(to_f8_143) { (void)t; return round_to(DT_F8_143, x[0]); }
EACH(to_f8_152) { (void)t; return round_to(DT_F8_152, x[0]); }

/* --- two and more ---------------------------------------------------------------------------------------------------------- */

EACH(add) { WHOLE_OR(t) return ring(t, bits_of(x[0]) + bits_of(x[1])); return ONCE(t, x[0], +, x[1]); }
EACH(sub) { WHOLE_OR(t) return ring(t, bits_of(x[0]) - bits_of(x[1])); return ONCE(t, x[0], -, x[1]); }
EACH(mul) { WHOLE_OR(t) return ring(t, bits_of(x[0]) * bits_of(x[1])); return ONCE(t, x[0], *, x[1]); }
EACH(div)
{
	if (is_real(t)) return ONCE(t, x[0], /, x[1]);
	if (!is_signed(t)) return (Num)(bits_of(x[0]) / bits_of(x[1]));
	if (x[1] == -1) return ring(t, -bits_of(x[0]));
	int64_t a = (int64_t)x[0], b = (int64_t)x[1];
	return (Num)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
EACH(fmod) { WHOLE_OR(t) return whole_mod(t, x[0], x[1]); return fmodl(x[0], x[1]); }
EACH(pow)
{
	uint64_t y = 1;
	if (is_real(t)) return powl(x[0], x[1]);
	for (int k = 0; k < (int)x[1]; k++) y *= bits_of(x[0]);
	return ring(t, y);
}
static Num larger(Num a, Num b) { return a != a ? a : b != b ? b : a > b ? a : b; }
EACH(maximum) { (void)t; return larger(larger(x[0], x[1]), x[2]); }
static Num smaller(Num a, Num b) { return a != a ? a : b != b ? b : a < b ? a : b; }
EACH(minimum) { (void)t; return smaller(smaller(x[0], x[1]), x[2]); }
EACH(bit_and) { return ring(t, bits_of(x[0]) & bits_of(x[1])); }
EACH(bit_or) { return ring(t, bits_of(x[0]) | bits_of(x[1])); }
EACH(bit_xor) { return ring(t, bits_of(x[0]) ^ bits_of(x[1])); }
EACH(sum_n) { return t == DT_F64 ? (Num)((double)x[0] + (double)x[1] + (double)x[2]) : t == DT_F32 ? (Num)((float)x[0] + (float)x[1] + (float)x[2]) : x[0] + x[1] + x[2]; }
EACH(scaled_add) { WHOLE_OR(t) return ring(t, 3 * bits_of(x[0]) + 2 * bits_of(x[1])); return 2 * x[0] - 0.5L * x[1]; }
EACH(relu_grad) { (void)t; return x[1] > 0 ? x[0] : 0; }
EACH(tanh_grad) { (void)t; return x[0] * (1 - x[1] * x[1]); }
EACH(gelu_grad)
{
	Num v = x[1], c = 0.797884560802865355879892119868763737L, u = tanhl(c * (v + 0.044715L * v * v * v));
	(void)t;
	return x[0] * (0.5L * (1 + u) + 0.5L * v * (1 - u * u) * c * (1 + 3 * 0.044715L * v * v));
}
EACH(geluerf_grad) { (void)t; return x[0] * (0.5L * erfcl(-x[1] / sqrtl(2)) + x[1] * expl(-x[1] * x[1] / 2) / sqrtl(2 * acosl(-1))); }
EACH(swish_grad) { Num s = 1 / (1 + expl(-x[1])); (void)t; return x[0] * (s + x[1] * s * (1 - s)); }
EACH(apply_mask) { return x[1] != 0 ? ONCE(t, x[0], *, x[1]) : 0; }
EACH(equal) { (void)t; return x[0] == x[1]; }
EACH(not_equal) { (void)t; return x[0] != x[1]; }
EACH(greater) { (void)t; return x[0] > x[1]; }
EACH(greater_equal) { (void)t; return x[0] >= x[1]; }
EACH(less) { (void)t; return x[0] < x[1]; }
EACH(less_equal) { (void)t; return x[0] <= x[1]; }
EACH(and) { (void)t; return x[0] != 0 && x[1] != 0; }
EACH(or) { (void)t; return x[0] != 0 || x[1] != 0; }
EACH(where) { (void)t; return x[0] != 0 ? x[1] : x[2]; }
EACH(second) { (void)t; return x[1]; }

/* updates of variables, with factors that every type holds */
EACH(add_quarter) { WHOLE_OR(t) return ring(t, bits_of(x[0]) + 3 * bits_of(x[1])); return x[0] + 0.25L * x[1]; }
EACH(add_square) { WHOLE_OR(t) return ring(t, bits_of(x[0]) + 3 * bits_of(x[1]) * bits_of(x[1])); return x[0] + 0.25L * x[1] * x[1]; }
EACH(mean) { (void)t; return 0.75L * x[0] + 0.25L * x[1]; }
EACH(mean_square) { (void)t; return 0.75L * x[0] + 0.25L * x[1] * x[1]; }

/* --- rows ------------------------------------------------------------------------------------------------------------------------- */

#define ONE(name, ref, mask, ...) { .op = name, .types = mask, .arity = 1, .each = e_##ref, __VA_ARGS__ }
#define TWO(name, ref, mask, ...) { .op = name, .types = mask, .arity = 2, .each = e_##ref, __VA_ARGS__ }
#define THREE(name, ref, mask, ...) { .op = name, .types = mask, .arity = 3, .each = e_##ref, __VA_ARGS__ }
#define TO(name) { .op = "cast", .types = T_ANY, .arity = 1, .each = e_to_##name, .attrs = "data_type = " #name, .lo = -300, .hi = 300, .exact = 1 }
#define UPDATE .same_shapes = 1, .sums = 4, .tame = 1

static const Row each_rows[] = {
	ONE("abs", abs, T_F | T_I), ONE("negate", negate, T_NUMBER, .exact = 1), ONE("sign", sign, T_NUMBER), ONE("ceil", ceil, T_F), ONE("floor", floor, T_F),
	ONE("cos", cos, T_F, .ulps = 1.5, .lo = -10, .hi = 10), ONE("sin", sin, T_F, .ulps = 1.5, .lo = -10, .hi = 10), ONE("exp", exp, T_F, .ulps = 2, .lo = -20, .hi = 20),
	ONE("log", log, T_F, .ulps = 1.5, .lo = 0.001, .hi = 20), ONE("log2", log2, T_F, .ulps = 1.5, .lo = 0.001, .hi = 20), ONE("sqrt", sqrt, T_F, .hi = 100),
	ONE("asin", asin, T_F, .ulps = 2.5, .lo = -1, .hi = 1), ONE("acos", acos, T_F, .ulps = 1.5, .lo = -1, .hi = 1), ONE("atan", atan, T_F, .ulps = 2.5, .lo = -10, .hi = 10),
	ONE("erf", erf, T_F, .ulps = 2.5), ONE("recip", recip, T_F), ONE("sigmoid", sigmoid, T_F, .ulps = 3.5, .lo = -20, .hi = 20), ONE("sigmoid_", sigmoid, T_F, .ulps = 3.5),
	ONE("softplus", softplus, T_F, .ulps = 3.5, .lo = -30, .hi = 30), ONE("softplus_", softplus, T_F, .ulps = 3.5), ONE("softplus", softplus_sharp, T_F, .attrs = "beta = 2, threshold = 3", .ulps = 3.5), ONE("tanh", tanh, T_F, .ulps = 2), ONE("relu", relu, T_F), ONE("gelu", gelu, T_F, .ulps = 1, .sums = 1, .plain_numbers = 1), ONE("geluerf", geluerf, T_F, .ulps = 4, .sums = 1, .plain_numbers = 1),
	ONE("swish", swish, T_F, .ulps = 3, .plain_numbers = 1), ONE("identity", same, T_ALL, .exact = 1), ONE("detach", same, T_ALL, .exact = 1), ONE("copy", same, T_ALL, .exact = 1),
	ONE("io_tile_copy", same, T_ALL, .exact = 1), ONE("ipu_copy", same, T_ALL, .exact = 1, .attrs = "destination = 1, source = 0"), ONE("print_tensor", same, T_ALL, .exact = 1, .attrs = "print_self = false"),
	ONE("isnan", isnan, T_F), ONE("isinf", isinf, T_F), ONE("isfinite", isfinite, T_F), ONE("logical_not", not, T_ANY), ONE("clip", clip, T_F, .attrs = "min = -1, max = 0.5"),
	ONE("clip", clip_whole, T_I, .attrs = "min = -3, max = 50"), ONE("clip", at_least_two, T_I | T_U, .attrs = "min = 2"), ONE("clip", same, T_I | T_U), ONE("bitwise_not", bit_not, T_I | T_U | T_B),
	ONE("increment_mod", increment_mod, T_NUMBER, .attrs = "increment = 2, modulus = 3"),
	ONE("exp_", exp, T_F, .ulps = 2), ONE("relu_", relu, T_F), ONE("gelu_", gelu, T_F, .ulps = 1, .sums = 1, .plain_numbers = 1), ONE("geluerf_", geluerf, T_F, .ulps = 4, .sums = 1, .plain_numbers = 1),
	ONE("swish_", swish, T_F, .ulps = 3, .plain_numbers = 1), ONE("increment_mod_", increment_mod, T_NUMBER, .attrs = "increment = 2, modulus = 3"), ONE("detach_", same, T_ALL, .exact = 1),
	TO(bool), TO(i8), TO(i16), TO(i32), TO(i64), TO(u8), TO(u16), TO(u32), TO(u64), TO(f16), TO(bf16), TO(f32), TO(f64),
	ONE("float8_values", same, T_8, .any = T_ALL), ONE("float8_round", to_f8_143, BIT(F32), .any = T_ALL, .attrs = "data_type = f8_143", .hi = 300), ONE("float8_round", to_f8_152, BIT(F32), .any = T_ALL, .attrs = "data_type = f8_152", .hi = 60000),
	TWO("add", add, T_NUMBER), TWO("sub", sub, T_NUMBER), TWO("mul", mul, T_NUMBER), TWO("div", div, T_NUMBER, .nonzero = 1, .lo1 = 0.5, .hi1 = 2), TWO("fmod", fmod, T_NUMBER, .nonzero = 1, .lo1 = 0.5, .hi1 = 2),
	TWO("pow", pow, T_F, .ulps = 1.5, .lo = 0.1, .hi = 4, .lo1 = -4, .hi1 = 4), TWO("pow", pow, T_I | T_U, .top1 = 9), THREE("maximum", maximum, T_NUMBER), THREE("minimum", minimum, T_NUMBER),
	TWO("bitwise_and", bit_and, T_I | T_U | T_B), TWO("bitwise_or", bit_or, T_I | T_U | T_B), TWO("bitwise_xor", bit_xor, T_I | T_U | T_B), THREE("sum_n", sum_n, T_F, .any = T_ALL, .sums = 1),
	TWO("add_", add, T_NUMBER), TWO("scaled_add", scaled_add, T_F, .attrs = "a = 2, b = -0.5", UPDATE), TWO("scaled_add", scaled_add, T_I | T_U, .attrs = "a = 3, b = 2", UPDATE),
	TWO("scaled_add_", scaled_add, T_F, .attrs = "a = 2, b = -0.5", UPDATE), TWO("scaled_add_", scaled_add, T_I | T_U, .attrs = "a = 3, b = 2", UPDATE),
	TWO("relu_grad", relu_grad, T_F), TWO("tanh_grad", tanh_grad, T_F, .ulps = 4, .lo1 = -0.7, .hi1 = 0.7, .tame = 1), TWO("gelu_grad", gelu_grad, T_F, .ulps = 8, .lo1 = -0.5, .hi1 = 4, .tame = 1),
	TWO("geluerf_grad", geluerf_grad, T_F, .ulps = 12, .lo1 = -0.5, .hi1 = 4, .tame = 1), TWO("swish_grad", swish_grad, T_F, .ulps = 8, .lo1 = -1, .hi1 = 4, .tame = 1), TWO("apply_mask", apply_mask, T_F, .any = T_ALL),
	TWO("equal", equal, T_ANY), TWO("not_equal", not_equal, T_ANY), TWO("greater", greater, T_ANY), TWO("greater_equal", greater_equal, T_ANY), TWO("less", less, T_ANY), TWO("less_equal", less_equal, T_ANY),
	TWO("logical_and", and, T_ANY), TWO("logical_or", or, T_ANY), THREE("where", where, T_ALL, .first_bool = 1, .exact = 1),
	TWO("accumulate_", add, T_NUMBER, UPDATE), TWO("accumulate_", add_quarter, T_F, .attrs = "f = 0.25", UPDATE), TWO("accumulate_square_", add_square, T_F, .attrs = "f = 0.25", UPDATE), TWO("accumulate_", add_quarter, T_I | T_U, .attrs = "f = 3", UPDATE), TWO("accumulate_square_", add_square, T_I | T_U, .attrs = "f = 3", UPDATE),
	TWO("accumulate_mean_", mean, T_F, .any = T_NUMBER, .attrs = "step = 3", UPDATE), TWO("accumulate_moving_average_", mean, T_F, .any = T_NUMBER, .attrs = "f = 0.75", UPDATE),
	TWO("accumulate_moving_average_square_", mean_square, T_F, .any = T_NUMBER, .attrs = "f = 0.75", UPDATE), TWO("blend", mean, T_F, .any = T_ALL, .attrs = "keep = 0.75, take = 0.25", UPDATE),
	ONE("accumulator_scale_", half, T_F, .attrs = "f = 0.5"), ONE("accumulator_scale_", third, T_I | T_U, .attrs = "f = 3"), ONE("accumulator_zero_", zero, T_ANY), TWO("copy_var_update_", second, T_ALL, .same_shapes = 1, .exact = 1),
};

#endif
