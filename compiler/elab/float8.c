/* float8.c — float8 data on the host: host_pow2scale_then_cast, host_cast_then_pow2scale, and the scale that loses least.
 *
 * Scaling happens in double, where it is exact, and one rounding follows: the bytes are those of the ops. */
#include "compiler/elab/eval.h"

#include <math.h>
#include <string.h>

/* to f32 with the last bit set when something was lost: rounding once more then errs nowhere */
static float to_odd(double x)
{
	float f = (float)x;
	uint32_t u;
	if (isnan(x) || isinf(x) || (double)f == x) return f;
	memcpy(&u, &f, sizeof u);
	if (fabs((double)f) > fabs(x)) u--;
	u |= 1;
	memcpy(&f, &u, sizeof f);
	return f;
}

static uint8_t encode(DType t, double x, int scale, int nan) { return f32_to_f8(t, to_odd(ldexp(x, scale)), nan); }

HostArray *float8_encode(Elab *e, HostArray *from, DType t, int scale, int nan)
{
	HostArray *to = array_new(e, t, from->shape, e->at);
	const void *x = to ? array_bytes(e, from, e->at) : NULL;
	if (!x) return NULL;
	uint8_t *y = host_bytes(e->mem, to, e->o.seed);
	for (int64_t i = 0, n = shape_nelems(from->shape); i < n; i++) y[i] = encode(t, rt_get(from->dtype, x, (size_t)i), scale, nan);
	return to;
}

static HostArray *float8_decode(Elab *e, HostArray *from, DType t, int scale)
{
	HostArray *to = array_new(e, t, from->shape, e->at);
	const uint8_t *x = to ? array_bytes(e, from, e->at) : NULL;
	if (!x) return NULL;
	void *y = host_bytes(e->mem, to, e->o.seed);
	for (int64_t i = 0, n = shape_nelems(from->shape); i < n; i++) rt_set(t, y, (size_t)i, ldexp((double)f8_to_f32(from->dtype, x[i]), scale));
	return to;
}

/* --- arguments ---------------------------------------------------------------------------------------------------------------- */

static int scale_arg(Elab *e, Call *c, int i, int64_t *scale)
{
	*scale = 0;
	if (is_given(c->arg[i]) && !want_int(e, c->arg[i], c->at, "`log2_scale`", scale)) return 0;
	if (*scale >= -32 && *scale < 32) return 1;
	fail(e, E0114, c->at, "`log2_scale` must be from -32 to 31, not %lld", (long long)*scale);
	return 0;
}

/* host data of f16, f32 or f64: what becomes float8, and what float8 becomes */
static int is_wide(DType t) { return t == DT_F16 || t == DT_F32 || t == DT_F64; }

static HostArray *wide_arg(Elab *e, Call *c)
{
	HostArray *a = array_of(e, c->arg[0], -1, 0, c->at);
	if (!a || is_wide(a->dtype)) return a;
	fail(e, E0622, c->at, "%s data does not become float8: f16, f32 and f64 do", dtype_info[a->dtype].name);
	return NULL;
}

static int float8_arg(Elab *e, Call *c, DType *t)
{
	if (!want_dtype(e, c->arg[1], c->at, "`dtype`", t)) return 0;
	if (dtype_is_f8(*t)) return 1;
	fail(e, E0622, c->at, "the result is f8_143 or f8_152, not %s", dtype_info[*t].name);
	return 0;
}

/* --- the functions -------------------------------------------------------------------------------------------------------------- */

static Value do_encode(Elab *e, Call *c)
{
	DType t;
	int64_t scale;
	int nan = 1;
	if (!float8_arg(e, c, &t) || !scale_arg(e, c, 2, &scale)) return v_error();
	if (is_given(c->arg[3]) && !want_bool(e, c->arg[3], c->at, "`nan_on_overflow`", &nan)) return v_error();
	HostArray *a = wide_arg(e, c), *y = a ? float8_encode(e, a, t, (int)scale, nan) : NULL;
	return y ? v_of(V_ARRAY, y) : v_error();
}

static Value do_decode(Elab *e, Call *c)
{
	DType t;
	int64_t scale;
	if (!want_dtype(e, c->arg[1], c->at, "`dtype`", &t) || !scale_arg(e, c, 2, &scale)) return v_error();
	if (c->arg[0].kind != V_ARRAY || !dtype_is_f8(c->arg[0].u.array->dtype)) return fail(e, E0622, c->at, "the data is no array of float8");
	if (!is_wide(t)) return fail(e, E0622, c->at, "float8 data becomes f16, f32 or f64, not %s", dtype_info[t].name);
	HostArray *y = float8_decode(e, c->arg[0].u.array, t, (int)scale);
	return y ? v_of(V_ARRAY, y) : v_error();
}

/* --- host_fp8_mse_scale ------------------------------------------------------------------------------------------------------------ */

/* Numbers are counted by their binary exponents: bin i holds |x| from 2^(FIRST + i) up to twice that, bin 0 smaller ones too, the
 * last larger ones too. */
enum { FIRST = -126, BINS = 253, MOST_BIAS = 31, BIASES = 2 * MOST_BIAS + 1 };

/* the shares of the bins; numbers that are not finite do not count */
static void count_exponents(const HostArray *a, const void *x, double *share)
{
	int64_t n = shape_nelems(a->shape), counted = 0;
	for (int64_t i = 0; i < n; i++) {
		int e = 0;
		double v = rt_get(a->dtype, x, (size_t)i);
		if (!isfinite(v)) continue;
		frexp(v, &e);                                    /* |v| is in [2^(e - 1), 2^e) */
		e -= 1 + FIRST;
		share[v == 0 || e < 0 ? 0 : e < BINS ? e : BINS - 1]++;
		counted++;
	}
	for (int i = 0; counted && i < BINS; i++) share[i] /= (double)counted;
}

/* The mean square of what float8 of exponents `least` to `most` loses, by an estimate for each bin: all of a number below, its last
 * `bits` bits in between, what goes past 2^most above. */
static double lost_square(const double *share, int least, int most, int bits)
{
	double sum = 0;
	for (int i = 0; i < BINS; i++) {
		int e = FIRST + i;
		double x = ldexp(1, e), lost = e < least ? x : e <= most ? ldexp(x, -bits) : x - ldexp(1, most);
		sum += share[i] * lost * lost;
	}
	return sum;
}

/* PopXL's search (A250): of biases that lose equally little the middle one, which leaves as much room above as below */
static Value do_search(Elab *e, Call *c)
{
	DType t;
	HostArray *a = float8_arg(e, c, &t) ? wide_arg(e, c) : NULL;
	const void *x = a ? array_bytes(e, a, c->at) : NULL;
	double share[BINS] = { 0 }, lost[BIASES], best = (double)INFINITY;
	int equal[BIASES], n = 0, least, most;
	if (!x) return v_error();
	int bits = (a->dtype == DT_F16 ? 10 : 23) - (t == DT_F8_143 ? 3 : 2);
	frexp(f8_to_f32(t, 0x01), &least);
	frexp(f8_to_f32(t, 0x7f), &most);
	count_exponents(a, x, share);
	for (int i = 0; i < BIASES; i++) {
		int bias = i - MOST_BIAS;
		lost[i] = lost_square(share, least - 1 + bias, most - 1 + bias, bits);
		best = fmin(best, lost[i]);
	}
	for (int i = 0; i < BIASES; i++)
		if (lost[i] == best) equal[n++] = i - MOST_BIAS;
	Value out = v_tuple(e->mem);
	vec_push(e->mem, out.u.list, v_float(best));
	vec_push(e->mem, out.u.list, v_int(-equal[n / 2]));
	return out;
}

const Builtin float8_builtins[] = {
	{ "host_pow2scale_then_cast", "src dtype log2_scale? nan_on_overflow?", do_encode }, { "host_pow2scale_cast_to_fp8", "src dtype log2_scale? nan_on_overflow?", do_encode },
	{ "host_cast_then_pow2scale", "src dtype log2_scale?", do_decode }, { "host_pow2scale_cast_from_fp8", "src dtype log2_scale?", do_decode },
	{ "host_fp8_mse_scale", "src dtype", do_search }, { NULL, NULL, NULL }
};
