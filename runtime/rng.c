/* rng.c — initial values of variables.
 *
 * Number i of a stream is a pure function of (seed, name of the variable, draw, i): a 64-bit counter goes
 * through two keyed rounds of a multiply-and-shift mixer.  No state is carried, so any part of a tensor can
 * be made on its own.  Everything below the mixer is additions, multiplications, divisions and square
 * roots in double, each rounded as IEEE 754 says and never contracted: the bits are the same everywhere.
 *
 * Normals come in blocks of 128 by Box and Muller's method: word j of a block gives a radius and an angle,
 * hence elements j and 64 + j.  The loops are written to be vectorised: fixed counts, no branches. */
#include "runtime/runtime.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 64, BLOCK = 2 * PAIRS };

typedef struct Key { uint64_t a, b; } Key;

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static Key stream_key(uint64_t seed, const char *name, uint32_t draw)
{
	uint64_t h = 0xcbf29ce484222325u;                     /* FNV-1a of the name */
	for (const unsigned char *c = (const unsigned char *)(name ? name : ""); *c; c++) h = (h ^ *c) * 0x100000001b3u;
	uint64_t s = mix(seed + 0x9e3779b97f4a7c15u);
	return (Key){ mix(s ^ h), mix(mix(h + 0x632be59bd9b4e019u * (draw + 1u)) + s) };
}

static inline uint64_t word(Key k, uint64_t i)
{
	uint64_t z = (k.a + i * 0x9e3779b97f4a7c15u);
	z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
	return mix(z ^ k.b);
}

/* --- normals ---------------------------------------------------------------------------------------------- */

/* -2 ln u for u in (0, 1): u = m·2^e with m in [0.70, 1.42), ln m = 2 artanh((m - 1) / (m + 1)) */
static inline double minus_2_log(double u)
{
	uint64_t bits, e;
	double m, k;
	memcpy(&bits, &u, 8);
	e = (bits - 0x3fe6a09e667f3bcdu + (UINT64_C(1) << 63)) >> 52;      /* e + 2048 */
	bits -= (e << 52) - (UINT64_C(1) << 63);
	e |= 0x4330000000000000u;                             /* 2^52 + e + 2048, as a double */
	memcpy(&m, &bits, 8);
	memcpy(&k, &e, 8);
	double s = (m - 1) / (m + 1), z = s * s;
	double p = 1 + z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13))))));
	return -4 * s * p - (k - (4503599627370496.0 + 2048)) * 1.3862943611198906;
}

/* cosine and sine of (k + 1/2)·π/2·2^-29: quarter turns are taken off, the rest is within π/4 */
static inline void turn(uint32_t k, double *c, double *s)
{
	double a = ((double)(int32_t)(k & 0x3fffffff) - 536870911.5) * (1.5707963267948966 / 1073741824.0), z = a * a;
	double sn = a * (1 - z * (1.0 / 6 - z * (1.0 / 120 - z * (1.0 / 5040 - z * (1.0 / 362880 - z * (1.0 / 39916800))))));
	double cs = 1 - z * (1.0 / 2 - z * (1.0 / 24 - z * (1.0 / 720 - z * (1.0 / 40320 - z * (1.0 / 3628800 - z * (1.0 / 479001600))))));
	double x = k & 0x40000000 ? sn : cs, y = k & 0x40000000 ? -cs : sn;
	*c = k & 0x80000000 ? -x : x;
	*s = k & 0x80000000 ? -y : y;
}

static void normal_block(Key key, uint64_t block, double out[BLOCK])
{
	uint32_t hi[PAIRS], lo[PAIRS];
	for (int j = 0; j < PAIRS; j++) {
		uint64_t w = word(key, block * PAIRS + (uint64_t)j);
		hi[j] = (uint32_t)(w >> 32);
		lo[j] = (uint32_t)w;
	}
	for (int j = 0; j < PAIRS; j++) {
		double c, s, u = ((double)(int32_t)hi[j] + 2147483648.5) * (1.0 / 4294967296.0);
		double r = sqrt(minus_2_log(u));
		turn(lo[j], &c, &s);
		out[j] = r * c;
		out[PAIRS + j] = r * s;
	}
}

/* Numbers beyond two deviations are drawn again, each from a stream of its own. */
static void truncate_block(Key key, uint64_t block, double x[BLOCK])
{
	for (int j = 0; j < BLOCK; j++)
		for (uint32_t again = 1; !(fabs(x[j]) <= 2); again++) {
			uint64_t w = word((Key){ key.b, key.a + again }, block * BLOCK + (uint64_t)j);
			double s, u = ((double)(int32_t)(w >> 32) + 2147483648.5) * (1.0 / 4294967296.0);
			turn((uint32_t)w, &x[j], &s);
			x[j] *= sqrt(minus_2_log(u));
		}
}

static void uniform_block(Key key, uint64_t block, double out[BLOCK])
{
	for (int j = 0; j < BLOCK; j++)
		out[j] = (double)(int64_t)(word(key, block * BLOCK + (uint64_t)j) >> 11) * (1.0 / 9007199254740992.0);
}

/* --- storing -------------------------------------------------------------------------------------------------- */

/* the next number towards minus infinity, in the bits of a 16- or 32-bit float */
static void step_down(DType t, char *p)
{
	uint32_t bits = 0, sign = t == DT_F32 ? 0x80000000u : 0x8000u;
	size_t size = dtype_size(t);
	memcpy(&bits, p, size);
	bits = !(bits & ~sign) ? sign | 1 : bits & sign ? bits + 1 : bits - 1;
	memcpy(p, &bits, size);
}

static void store(DType t, void *out, size_t at, const double *x, size_t n)
{
	if (t == DT_F32)
		for (size_t i = 0; i < n; i++) ((float *)out)[at + i] = (float)x[i];
	else if (t == DT_F64)
		memcpy((double *)out + at, x, n * sizeof *x);
	else
		for (size_t i = 0; i < n; i++) rt_set(t, out, at + i, x[i]);
}

/* Rounding to the element type may reach `high`, which a uniform number never is. */
static void keep_below(DType t, void *out, size_t at, size_t n, double high)
{
	if (!dtype_is_float(t) || t == DT_F64) return;
	for (size_t i = at; i < at + n; i++)
		if (rt_get(t, out, i) >= high) step_down(t, (char *)out + i * dtype_size(t));
}

static void fill_random(const RtInit *r, Key key, DType t, void *out, size_t n)
{
	double x[BLOCK], scale = r->kind == INIT_UNIFORM ? r->b - r->a : r->b;
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t m = n - at < BLOCK ? n - at : BLOCK;
		if (r->kind == INIT_UNIFORM) uniform_block(key, at / BLOCK, x);
		else normal_block(key, at / BLOCK, x);
		if (r->kind == INIT_TRUNCATED) truncate_block(key, at / BLOCK, x);
		for (int j = 0; j < BLOCK; j++) x[j] = r->a + scale * x[j];
		store(t, out, at, x, m);
		if (r->kind == INIT_UNIFORM && r->a < r->b) keep_below(t, out, at, m, r->b);
	}
}

static void fill_steps(const RtInit *r, DType t, void *out, size_t n)      /* a + b·i, from i = 0 */
{
	double x[BLOCK], step = r->kind == INIT_ARANGE ? r->b : 0;
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t m = n - at < BLOCK ? n - at : BLOCK;
		for (size_t j = 0; j < m; j++) x[j] = r->a + step * (double)(at + j);
		store(t, out, at, x, m);
	}
}

void rt_init_fill(const RtInit *r, uint64_t seed, DType t, void *out, size_t n)
{
	if (!n) return;
	switch (r->kind) {
	case INIT_DATA:  memcpy(out, r->data, n * dtype_size(t)); break;
	case INIT_ZEROS: memset(out, 0, n * dtype_size(t)); break;
	case INIT_FULL: case INIT_ARANGE: fill_steps(r, t, out, n); break;
	case INIT_NORMAL: case INIT_UNIFORM: case INIT_TRUNCATED:
		fill_random(r, stream_key(seed, r->name, r->draw), t, out, n);
		break;
	}
}

void rt_init_fill_rough(const RtInit *r, uint64_t seed, DType t, void *out, size_t n)
{
	int random = r->kind == INIT_NORMAL || r->kind == INIT_UNIFORM || r->kind == INIT_TRUNCATED;
	size_t first = random && n > RT_ROUGH ? RT_ROUGH : n, size = dtype_size(t);
	rt_init_fill(r, seed, t, out, first);
	for (size_t at = first; at < n; at += first) memcpy((char *)out + at * size, out, (n - at < first ? n - at : first) * size);
}
