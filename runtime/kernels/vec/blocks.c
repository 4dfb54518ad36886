/* blocks.c — inner loops on blocked tensors (blocked.h).
 *
 * Sixteen floats are one to four vectors (NB), so that memory looks the same whatever the instruction set.  Sums are chains
 * over k, or over places, in order: no tile shows in the bits. */
#include "runtime/kernels/blocked.h"
#include "runtime/kernels/vec/vec.h"
#include "runtime/kernels/vec/vector_f32.h"

typedef gvec_f32 BV;
typedef gvec_unaligned_f32 BU;
enum { BL = VEC_BYTES / 4, NB = 16 / BL };
#if VEC_BYTES == 64
#define BFMA(a, b, c) ((BV)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif VEC_BYTES == 32
#define BFMA(a, b, c) ((BV)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define BFMA(a, b, c) ((a) * (b) + (c))
#endif
#define EACH_VEC(v, V) UNROLL for (int v = 0; v < (V) * NB; v++)
#define VEC_AT(p, v, block) (*(BU *)((p) + (v) / NB * (block) + (v) % NB * BL))
#define VEC_OF(p, v, block) (*(const BU *)((p) + (v) / NB * (block) + (v) % NB * BL))

/* --- results ---------------------------------------------------------------------------------------------------------- */

/* keeps a NaN */
VM BV block_relu(BV x)
{
	__typeof__(x <= x) none = x <= (BV){ 0 };
	return (BV)((__typeof__(none))x & ~none);
}

/* P places × V blocks of the result in registers.  Inlined with constant P, V */
VM void block_tile(const int P, const int V, const BlockConv *c, const float *w, const float *x, float *y)
{
	BV acc[14][4];
	const long step = c->xstep, kn = c->kn, wblock = c->wblock;
	const long *off = c->off;
	UNROLL for (int p = 0; p < P; p++) EACH_VEC(v, V) acc[p][v] = (BV){ 0 };
	for (long k = 0; k < kn; k++, w += 16) {
		const float *at = x + off[k];
		BV row[4];
		EACH_VEC(v, V) row[v] = VEC_OF(w, v, wblock);
		UNROLL for (int p = 0; p < P; p++) {
			BV one = at[p * step] - (BV){ 0 };
			EACH_VEC(v, V) acc[p][v] = BFMA(one, row[v], acc[p][v]);
		}
	}
	UNROLL for (int p = 0; p < P; p++)
		EACH_VEC(v, V) {
			BU *to = &VEC_AT(y + p * c->ystep, v, c->yblock);
			BV sum = c->add ? (BV)*to + acc[p][v] : acc[p][v];
			if (c->bias) sum += VEC_OF(c->bias, v, 16);
			*to = c->relu ? block_relu(sum) : sum;
		}
}

#define PLACES(P, V) case P: block_tile(P, V, c, w, x, y); break;
#define PLACES_4(A, V) PLACES(A, V) PLACES(A + 1, V) PLACES(A + 2, V) PLACES(A + 3, V)

/* the registers hold so many places of V blocks */
VM long most_places(const int V) { return VEC_BYTES == 64 ? (V == 2 ? 14 : 7) : VEC_BYTES == 32 ? 6 : 2; }

VM void block_places(const int V, const BlockConv *c, const float *w, const float *x, float *y, long n)
{
	switch (n) {
	PLACES(1, V) PLACES(2, V)
#if VEC_BYTES >= 32
	PLACES_4(3, V)
#endif
#if VEC_BYTES == 64
	PLACES(7, V)
	default: if (V == 2) switch (n) { PLACES_4(8, 2) PLACES(12, 2) PLACES(13, 2) PLACES(14, 2) }
#endif
	}
}

/* rows are cut evenly */
VM void block_rows(const int V, const BlockConv *c, const float *w, float *y)
{
	long pieces = (c->n + most_places(V) - 1) / most_places(V);
	for (long r = 0; r < c->rows; r++)
		for (long i = 0, at = 0; i < pieces; i++) {
			long n = (c->n - at) / (pieces - i);
			block_places(V, c, w, c->x + r * c->xrow + at * c->xstep, y + r * c->yrow + at * c->ystep, n);
			at += n;
		}
}

static void block_conv(const BlockConv *all)
{
	BlockConv c = *all;
	for (long b = 0; b < c.blocks;) {
		long left = c.blocks - b;
		const float *w = c.w + b * c.wblock;
		float *y = c.y + b * c.yblock;
		c.bias = all->bias ? all->bias + b * 16 : NULL;
#if VEC_BYTES == 64
		if (left >= 4 && c.n <= 7) { block_rows(4, &c, w, y); b += 4; continue; }
		if (left >= 2) { block_rows(2, &c, w, y); b += 2; continue; }
#endif
		(void)left;
		block_rows(1, &c, w, y);
		b++;
	}
}

/* --- gradients for the weights -------------------------------------------------------------------------------------------- */

enum { BACK_ROWS = VEC_BYTES == 64 ? 8 : VEC_BYTES == 32 ? 6 : 2 };
VM long most_rows(const int V) { return V == 4 ? 6 : BACK_ROWS; }

VM void back_tile(const int R, const int V, const BlockBack *c, const long *off, const float *g0, float *sums)
{
	BV acc[BACK_ROWS][4];
	const float *x[BACK_ROWS];
	const long step = c->xstep, gblock = c->gblock;
	UNROLL for (int i = 0; i < R; i++) EACH_VEC(v, V) acc[i][v] = VEC_OF(sums + i * 16, v, c->sblock);
	for (long r = 0; r < c->rows; r++) {
		const float *g = g0 + r * c->grow;
		UNROLL for (int i = 0; i < R; i++) x[i] = c->x + off[i] + r * c->xrow;
		for (long p = 0, at = 0; p < c->n; p++, at += step, g += 16) {
			BV row[4];
			EACH_VEC(v, V) row[v] = VEC_OF(g, v, gblock);
			UNROLL for (int i = 0; i < R; i++) {
				BV one = x[i][at] - (BV){ 0 };
				EACH_VEC(v, V) acc[i][v] = BFMA(one, row[v], acc[i][v]);
			}
		}
	}
	UNROLL for (int i = 0; i < R; i++) EACH_VEC(v, V) VEC_AT(sums + i * 16, v, c->sblock) = acc[i][v];
}

#define BACK(R, V) case R: back_tile(R, V, c, c->off + k, g, sums + k * 16); break;

VM void back_rows(const int V, const BlockBack *c, const float *g, float *sums)
{
	long pieces = (c->kn + most_rows(V) - 1) / most_rows(V);
	for (long i = 0, k = 0, n; i < pieces; i++, k += n) {
		n = (c->kn - k) / (pieces - i);
		switch (n) {
		BACK(1, V) BACK(2, V)
#if VEC_BYTES >= 32
		BACK(3, V) BACK(4, V) BACK(5, V) BACK(6, V)
#endif
#if VEC_BYTES == 64
		default: if (V != 4) switch (n) { BACK(7, (V == 4 ? 1 : V)) BACK(8, (V == 4 ? 1 : V)) }
#endif
		}
	}
}

static void block_back(const BlockBack *c)
{
	long b = 0;
#if VEC_BYTES == 64
	for (; b + 4 <= c->blocks; b += 4) back_rows(4, c, c->g + b * c->gblock, c->sums + b * c->sblock);
	for (; b + 2 <= c->blocks; b += 2) back_rows(2, c, c->g + b * c->gblock, c->sums + b * c->sblock);
#endif
	for (; b < c->blocks; b++) back_rows(1, c, c->g + b * c->gblock, c->sums + b * c->sblock);
}

/* --- pooling ---------------------------------------------------------------------------------------------------------------- */

VM BV block_joined(BV p, BV q, const int max)
{
#if VEC_BYTES == 64
	if (max) return (BV)_mm512_mask_mov_ps((__m512)q, _mm512_cmp_ps_mask((__m512)p, (__m512)q, _CMP_GT_OQ) |
	                                                 _mm512_cmp_ps_mask((__m512)p, (__m512)p, _CMP_UNORD_Q), (__m512)p);
#endif
	if (!max) return p + q;
	__typeof__(p > q) first = (p > q) | (p != p);
	return (BV)(((__typeof__(first))p & first) | ((__typeof__(first))q & ~first));
}

/* one window, `taps` long from x on: down the rows first, then along; plane after plane */
VM void block_window(float *y, const float *x, const BlockRows *r, long taps, const int max)
{
	BV all[NB];
	UNROLL for (int v = 0; v < NB; v++) {
		int begun = 0;
		all[v] = (BV){ 0 };
		for (long k = 0; k < r->planes; k++)
			for (long t = 0; t < taps; t++, begun = 1) {
				const float *at = x + k * r->plane + t * 16 + v * BL;
				BV down = *(const BU *)at;
				for (long i = 1; i < r->rows; i++) down = block_joined(down, *(const BU *)(at + i * r->row), max);
				all[v] = begun ? block_joined(all[v], down, max) : down;
			}
		*(BU *)(y + v * BL) = max ? all[v] : all[v] / (float)(r->planes * r->rows * taps);
	}
}

VM void block_pool(float *y, const float *x, const BlockRows *r, const int max)
{
	const PoolAxis *a = r->axis;
	for (long j = 0; j < a->y; j++, y += 16) {
		long from = max_l(0, j * a->stride - a->pad), taps = pool_taps(a, j);
		if (r->planes == 1 && r->rows == 2 && taps == 2) {
			const BlockRows two = { a, 1, 2, r->plane, r->row };
			block_window(y, x + from * 16, &two, 2, max);
		} else block_window(y, x + from * 16, r, taps, max);
	}
}

static void block_pool_max(float *y, const float *x, const BlockRows *r) { block_pool(y, x, r, 1); }
static void block_pool_mean(float *y, const float *x, const BlockRows *r) { block_pool(y, x, r, 0); }

/* what window j gives the place whose vector is at dx and x; max: 0 of a mean, 1, or BEHIND_RELU if x came out of one */
enum { BEHIND_RELU = 2 };
VM BV block_part(const float *x, BV y, BV g, const int max)
{
	__typeof__(g == g) same = (BV)*(const BU *)x == y;
	if (max == BEHIND_RELU) same &= (BV)*(const BU *)x > (BV){ 0 };
	return max ? (BV)((__typeof__(same))g & same) : g;
}

/* window j and its `taps` places, which no other window sees */
VM void back_window(float *dx, const float *x, const float *y, const float *g, long taps, float share, const int max, int add)
{
	UNROLL for (int v = 0; v < NB; v++) {
		BV top = *(const BU *)(y + v * BL), part = *(const BU *)(g + v * BL);
		if (!max) part *= share / (float)taps;
		for (long t = 0; t < taps; t++) {
			long at = t * 16 + v * BL;
			*(BU *)(dx + at) = (add ? (BV)*(const BU *)(dx + at) : (BV){ 0 }) + block_part(x + at, top, part, max);
		}
	}
}

VM void back_apart(float *dx, const float *x, const float *y, const float *g, const PoolAxis *a, float share, const int max, int add)
{
	long p = 0;
	for (long j = 0; j < a->y; j++, p += a->k) {
		long taps = min_l(a->k, a->x - p), at = p * 16;
		if (taps == 2) back_window(dx + at, x + at, y + j * 16, g + j * 16, 2, share, max, add);
		else back_window(dx + at, x + at, y + j * 16, g + j * 16, taps, share, max, add);
	}
	if (!add && p < a->x) memset(dx + p * 16, 0, (size_t)(a->x - p) * 16 * sizeof(float));
}

/* place by place; windows from lo up to hi see it */
VM void block_pool_back(float *dx, const float *x, const float *y, const float *g, const PoolAxis *a, float share, const int max, int add)
{
	if (a->k == a->stride && !a->pad) {
		back_apart(dx, x, y, g, a, share, max, add);
		return;
	}
	for (long p = 0, lo = 0, hi = 0; p < a->x; p++) {
		while (hi < a->y && hi * a->stride - a->pad <= p) hi++;
		while (lo < hi && lo * a->stride - a->pad + a->k <= p) lo++;
		UNROLL for (int v = 0; v < NB; v++) {
			long at = p * 16 + v * BL;
			BV sum = add ? (BV)*(const BU *)(dx + at) : (BV){ 0 };
			for (long j = lo; j < hi; j++) {
				BV part = *(const BU *)(g + j * 16 + v * BL);
				if (!max) part *= share / (float)pool_taps(a, j);
				sum += block_part(x + at, (BV)*(const BU *)(y + j * 16 + v * BL), part, max);
			}
			*(BU *)(dx + at) = sum;
		}
	}
}

static void block_max_back(float *dx, const float *x, const float *y, const float *g, const PoolAxis *a, int add, int relu)
{
	if (relu) block_pool_back(dx, x, y, g, a, 1, BEHIND_RELU, add);
	else block_pool_back(dx, x, y, g, a, 1, 1, add);
}
static void block_mean_back(float *dx, const float *g, const PoolAxis *a, long rows, int add) { block_pool_back(dx, g, g, g, a, 1 / (float)rows, 0, add); }

/* --- layout --------------------------------------------------------------------------------------------------------------- */

/* squares turned over in registers */
static void block_open(float *dst, long row, const float *src, long n)
{
	for (long at = 0; at < n; at += BL)
		for (int c = 0; c < 16; c += BL) {
			BV x[BL];
			long places = min_l(BL, n - at);
			float *d = dst + c * row + at;
			if (places == BL) {
				UNROLL for (int v = 0; v < BL; v++) x[v] = *(const BU *)(src + (at + v) * 16 + c);
				turn_f32(x);
				UNROLL for (int v = 0; v < BL; v++) *(BU *)(d + v * row) = x[v];
			} else for (long v = 0; v < places; v++)
				for (int i = 0; i < BL; i++) d[i * row + v] = src[(at + v) * 16 + c + i];
		}
}

const BlockIsa VEC(blocks) = { .conv = block_conv, .back = block_back, .open = block_open,
	.pool_max = block_pool_max, .pool_mean = block_pool_mean, .max_back = block_max_back, .mean_back = block_mean_back };
