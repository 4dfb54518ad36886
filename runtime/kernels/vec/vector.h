/* vector.h — vectors of one element type: GT, GS its name, GI an integer of its size.  Included by vector_f32.h and
 * vector_f64.h. */
#include "runtime/kernels/matmul.h"

/* lanes are numbered by constants: a vector filled by a loop would be put together again each time */
#define LANES_2 0, 1
#define LANES_4 LANES_2, 2, 3
#define LANES_8 LANES_4, 4, 5, 6, 7
#define LANES_16 LANES_8, 8, 9, 10, 11, 12, 13, 14, 15

#define UNROLL _Pragma("GCC unroll 32")
/* x is in a register: a compiler that reads memory again in every use of x makes more loads than multiply-adds */
#if VEC_BYTES >= 32
#define HELD(x) __asm__("" : "+v"(x))
#else
#define HELD(x) (void)0
#endif
/* p steps on by one row; a compiler that sees through it keeps a pointer for each vector of a tile, in memory */
#define NEXT_ROW(p, ld) do { (p) += (ld); __asm__("" : "+r"(p)); } while (0)
#define GCAT2(a, b) a##_##b
#define GCAT(a, b) GCAT2(a, b)
#define G(name) GCAT(name, GS)
#define VT G(gvec)
#define VU G(gvec_unaligned)
#define VL ((int)(VEC_BYTES / sizeof(GT)))

typedef GT VT __attribute__((vector_size(VEC_BYTES)));
typedef GT VU __attribute__((vector_size(VEC_BYTES), aligned(sizeof(GT)), may_alias));
typedef GI G(gmask) __attribute__((vector_size(VEC_BYTES)));

/* the register tile: 24 accumulators of 32 registers, or 12 of 16 */
enum { TILE_ROWS = VEC_BYTES == 64 ? 8 : 4, TILE_VECS = VEC_BYTES == 64 ? 3 : VEC_BYTES == 32 ? 3 : 2 };

/* the first `n` elements, zeros behind */
VM VT G(part)(const GT *p, long n)
{
#if VEC_BYTES == 64
	return GPART((1u << n) - 1, p);
#else
	_Alignas(64) GT x[VEC_BYTES / sizeof(GT)] = { 0 };
	for (long i = 0; i < n; i++) x[i] = p[i];
	return *(VT *)x;
#endif
}

/* p[0, n) = beta p + x */
VM void G(put_part)(GT *p, VT x, long n, GT beta)
{
	_Alignas(64) GT v[VEC_BYTES / sizeof(GT)];
	if (n == VL) { *(VU *)p = beta == 0 ? x : x + *(VU *)p * beta; return; }
	*(VT *)v = x;
	for (long i = 0; i < n; i++) p[i] = beta == 0 ? v[i] : v[i] + beta * p[i];
}

/* lane l of merge(a, b, s): a[l] + a[l + s] where bit s of l is clear, else b[l - s] + b[l] */
VM VT G(merge)(VT a, VT b, const int s)
{
	const G(gmask) lane = { GLANES }, second = ((lane & s) != 0) & VL;
	const G(gmask) straight = lane + second, across = (lane ^ s) + second;
	return __builtin_shuffle(a, b, straight) + __builtin_shuffle(a, b, across);
}

/* a square of VL vectors turned over: the same pairing without the sums */
VM void G(turn)(VT *x)
{
	UNROLL for (int s = 1; s < VL; s *= 2)
		UNROLL for (int v = 0; v < VL; v++) {
			if (v & s) continue;
			const G(gmask) lane = { GLANES }, second = ((lane & s) != 0) & (VL - s);
			const G(gmask) low = lane + second, high = lane + s + second;
			VT p = x[v], q = x[v + s];
			x[v] = __builtin_shuffle(p, q, low);
			x[v + s] = __builtin_shuffle(p, q, high);
		}
}

/* VL vectors to one: lane l is the sum of x[l]'s lanes */
VM VT G(sums)(VT *x)
{
	UNROLL for (int s = 1; s < VL; s *= 2)
		UNROLL for (int v = 0; v < VL; v += 2 * s) x[v] = G(merge)(x[v], x[v + s], s);
	return x[0];
}
