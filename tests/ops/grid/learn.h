/* learn.h — rows of the grid for losses, float8 with scales, and the optimisers' steps. */
#ifndef TESTS_OPS_GRID_LEARN_H
#define TESTS_OPS_GRID_LEARN_H

#include "tests/ops/grid/fold.h"

/* --- losses: operand 0 [items, classes], operand 1 labels, perhaps a factor -------------------------------------------------------- */

static int reduces(Unit *u) { return ATTR("reduction")->s[0]; }                         /* m, s, n */
static int counted(Unit *u, size_t r) { return !ATTR("ignore_index")->set || X(1, r) != (Num)ATTR("ignore_index")->i; }
static Num divisor(Unit *u)
{
	Num n = 0;
	if (reduces(u) != 'm') return 1;
	for (size_t r = 0; r < NX(1); r++) n += counted(u, r);
	return n < 1 && ATTR("ignore_index")->set ? 1 : n;
}
static size_t classes_of(Unit *u) { return (size_t)SX(0).dim[SX(0).rank - 1]; }
static Num least_probability(Unit *u) { return TYPE(0) == DT_F16 ? 6.104e-5L : 1e-7L; }

/* probability of class k of item r: given, or softmax of what is given */
static Num probability(Unit *u, size_t r, size_t k, int logits)
{
	size_t classes = classes_of(u);
	Num m = -INFINITY, s = 0;
	if (!logits) return X(0, r * classes + k);
	for (size_t j = 0; j < classes; j++) m = a_max(m, X(0, r * classes + j));
	for (size_t j = 0; j < classes; j++) s += expl(X(0, r * classes + j) - m);
	return expl(X(0, r * classes + k) - m) / s;
}

static void losses(Unit *u, int logits, int adds, int logs)
{
	Num sum = 0, eps = least_probability(u);
	for (size_t r = 0; r < NX(1); r++) {
		Num p = probability(u, r, (size_t)X(1, r), logits);
		Num l = !counted(u, r) ? 0 : logs ? -p : -logl(adds ? p + eps : p < eps ? eps : p);
		if (reduces(u) == 'n') Y(0, r) = l, M(0, r) = fabsl(l) + 1;
		sum += l;
	}
	if (reduces(u) != 'n') Y(0, 0) = sum / divisor(u), M(0, 0) = fabsl(sum) + 1;
}
static Num loss_factor(Unit *u, size_t r, Num number)
{
	return (u->nin < 3 ? number : NX(2) == 1 ? X(2, 0) : X(2, r)) / divisor(u);
}
/* gradient of the scores, as result i */
static void residuals(Unit *u, int i, int logits, Num number)
{
	size_t classes = classes_of(u);
	for (size_t k = 0; k < NX(0); k++) {
		size_t r = k / classes;
		Num g = loss_factor(u, r, number);
		Y(i, k) = counted(u, r) ? (probability(u, r, k % classes, logits) - (k % classes == (size_t)X(1, r))) * g : 0;
		M(i, k) = fabsl(g);
	}
}
WHOLE(nll) { losses(u, 0, 0, 0); }
WHOLE(nll_log) { losses(u, 0, 0, 1); }
WHOLE(nll_grad)
{
	size_t classes = classes_of(u);
	for (size_t r = 0; r < NX(1); r++)
		if (counted(u, r)) Y(0, r * classes + (size_t)X(1, r)) = -loss_factor(u, r, 1) / X(0, r * classes + (size_t)X(1, r));
}
WHOLE(nll_with) { losses(u, 0, 1, 0); residuals(u, 1, 0, (Num)ATTR("loss_grad")->f); }
WHOLE(ce) { losses(u, 1, 0, 0); }
WHOLE(ce_grad) { residuals(u, 0, 1, 1); }
WHOLE(ce_with) { losses(u, 1, 0, 0); residuals(u, 1, 1, (Num)ATTR("loss_scaling")->f); }

/* --- float8, with the power of 2 in operand 1 ---------------------------------------------------------------------------------------- */

WHOLE(scaled) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = round_to(u->out[0].spec.dtype, ldexpl(X(0, k), (int)X(1, 0))); }
WHOLE(power_of_2) { Y(0, 0) = ldexpl(1, (int)X(0, 0)); }
WHOLE(mul_f32) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k) * X(1, 0); }

/* --- optimisers: decays that floats hold, so that their powers are exact ------------------------------------------------------------- */

static Num one_minus_power(Num b, Num n) { return 1 - powl(b, n); }
WHOLE(adam)
{
	Num n = X(3, 0) + 1;
	for (size_t k = 0; k < NY(0); k++) {
		Y(0, k) = X(0, k) / one_minus_power(0.5L, n) / (sqrtl(X(1, k) / one_minus_power(0.75L, n)) + 0.125L) + 0.25L * X(2, k);
		M(0, k) = 10 + fabsl(X(2, k));
	}
}
WHOLE(adam_plain) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k) / (sqrtl(X(1, k)) + 0.125L), M(0, k) = fabsl(Y(0, k)); }
WHOLE(adamax) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k) / one_minus_power(0.5L, X(3, 0) + 1) / (X(1, k) + 0.125L), M(0, k) = fabsl(Y(0, k)); }
WHOLE(var_update)
{
	Num factor = round_to(TYPE(0), 0.25L * fminl(sqrtl(X(2, 0)), 0.5L) / sqrtl(X(3, 0)));
	for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k) - factor * X(1, k), M(0, k) = fabsl(X(0, k)) + fabsl(factor * X(1, k));
}
WHOLE(step)
{
	for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k) * X(2, 0) / (sqrtl(X(1, k) * X(3, 0)) + X(4, 0)), M(0, k) = fabsl(Y(0, k));
}
WHOLE(max_step) { for (size_t k = 0; k < NY(0); k++) Y(0, k) = X(0, k) * X(2, 0) / (X(1, k) + X(4, 0)), M(0, k) = fabsl(Y(0, k)); }

/* --- rows ----------------------------------------------------------------------------------------------------------------------------- */

#define SOME_LABELS { "T[4, 6] i32[4]<6", "" }, { "T[2, 3, 6] u32[2, 3]<6", "reduction = sum" }, { "T[8, 6] i32[8]<3", "ignore_index = 1" }, { "T[5, 17] i64[5]<4", "reduction = none, ignore_index = 2" }, { "T[1, 33] u8[1]<33", "" }, { "T[90, 131] i32[90]<131", "" }
#define SLOPES { "T[4, 6] i32[4]<6 T[]", "" }, { "T[5, 17] i32[5]<6 T[5]", "reduction = none" }, { "T[8, 33] u32[8]<3 T[]", "ignore_index = 1, reduction = sum" }
#define SCALES(to) { "T[] i32[]<4", "data_type = " to }, { "T[17] i32[]<4", "data_type = " to }, { "T[3, 5] i32[]<4", "data_type = " to }, { "T[2, 1, 3, 1, 2, 1, 2, 2] i32[]<4", "data_type = " to }, { "T[0] i32[]<4", "data_type = " to }, { "T[9001] i32[]<4", "data_type = " to }
#define ADAM(name, step) ROW(name, adam, T_F, FORMS({ "T[6] T[6] T[6] " step, "beta1 = 0.5, beta2 = 0.75, weight_decay = 0.25, epsilon = 0.125" }, { "T[5, 7] T[5, 7] T[5, 7] " step, "beta1 = 0.5, beta2 = 0.75, weight_decay = 0.25, epsilon = 0.125" }), .any = T_ANY, .sums = 16, .single = 1, .lo = 0.1, .hi = 2), \
	ROW(name, adam_plain, T_F, FORMS({ "T[6] T[6]", "epsilon = 0.125" }, { "T[3, 33] T[3, 33]", "epsilon = 0.125" }, { "T[9001] T[9001]", "epsilon = 0.125" }), .any = T_ANY, .sums = 16, .lo = 0.1, .hi = 2)

static const Row learn_rows[] = {
	ROW("nll_loss", nll, T_F, FORMS(SOME_LABELS), .ulps = 2, .sums = 8, .lo = 0.1, .hi = 1), ROW("nll_loss", nll_log, T_F, FORMS({ "T[4, 6] i32[4]<6", "log_prob = true" }), .ulps = 1, .sums = 4),
	ROW("nll_loss_grad", nll_grad, T_F, FORMS(SLOPES), .any = T_ALL, .ulps = 4, .lo = 0.1, .hi = 1),
	ROW("nll_loss_with_softmax_grad", nll_with, T_F, FORMS({ "T[4, 6] i32[4]<6", "loss_grad = 3" }, { "T[4, 6] i32[4]<6 T[1]", "ignore_index = 1" }, { "T[5, 17] u32[5]<4 T[5]", "reduction = none" }), .ulps = 2, .sums = 8, .lo = 0.1, .hi = 1),
	ROW("cross_entropy", ce, T_F, FORMS(SOME_LABELS), .ulps = 4, .sums = 16), ROW("cross_entropy_grad", ce_grad, T_F, FORMS(SLOPES), .any = T_ALL, .sums = 16),
	ROW("cross_entropy_with_grad", ce_with, T_F, FORMS({ "T[4, 6] i32[4]<6", "" }, { "T[4, 6] u32[4]<6 T[]", "reduction = sum" }, { "T[5, 17] i32[5]<6", "ignore_index = 0, loss_scaling = 8" }), .ulps = 2, .sums = 16),
	ROW("pow2scale_then_cast", scaled, BIT(F16) | BIT(F32), FORMS(SCALES("f8_143"), SCALES("f8_152")), .lo = -20, .hi = 20), ROW("cast_then_pow2scale", scaled, T_8, FORMS(SCALES("f16"), SCALES("f32")), .lo = -200, .hi = 200),
	ROW("power_of_2", power_of_2, BIT(I32), FORMS({ "T[]<31", "" }), .any = T_ALL), ROW("mul", mul_f32, BIT(F16), FORMS({ "T[33] f32[]", "" }, { "T[3, 5] f32[1]", "" })),
	ADAM("adam_updater", "f32[]<5"), ADAM("lamb_updater", "u32[]<5"), ROW("adamax_updater", adamax, T_F, FORMS({ "T[6] T[6] - u32[]<5", "beta1 = 0.5, epsilon = 0.125" }), .any = T_ANY, .sums = 16, .single = 1, .lo = 0.1, .hi = 2),
	ROW("adam_step", step, T_F, FORMS({ "T[33] T[33] f32[] f32[] f32[]", "dtype = f32" }), .any = T_ALL, .sums = 8, .single = 1, .lo = 0.1, .hi = 2), ROW("adamax_step", max_step, T_F, FORMS({ "T[33] T[33] f32[] f32[] f32[]", "dtype = f32" }), .any = T_ALL, .sums = 8, .single = 1, .lo = 0.1, .hi = 2),
	ROW("adam_var_update", var_update, T_F, FORMS({ "T[6] T[6] f32[] f32[]", "learning_rate = 0.25, max_weight_norm = 0.5" }, { "T[5, 7] T[5, 7] f32[] f32[]", "learning_rate = 0.25, max_weight_norm = 0.5" }), .any = T_ANY, .sums = 8, .single = 1, .lo = 0.1, .hi = 2),
};

#endif
